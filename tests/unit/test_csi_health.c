/* The conditions of a CSI driver's volumes, on the real API core, with a driver in this process. */
#include "tests/unit/test_csi_part.h"

#define DISK_FAILS "disk is failing" /* what the driver says */
#define NORMAL "The Volume returns to the healthy state"

static unsigned ability_bits;

static void set_bits(struct fake_csi *f)
{
    f->controller = ability_bits;
}

#define LISTS (FAKE_BIT(3) | FAKE_BIT(11))
#define GETS (FAKE_BIT(12) | FAKE_BIT(11))

static void pass(struct parts *w, unsigned seconds)
{
    parts_pass_ns(w, (uint64_t)seconds * NS_PER_S);
}

/* A volume with its claim, bound. */
static void put_bound(struct parts *w, const char *name)
{
    char body[1024], path[256], uid[64];

    (void)fake_csi_add(fake_of_parts(), name, 1);
    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'%s'},'spec':{'accessModes':['ReadWriteOnce'],'volumeName':'%s',"
                   "'storageClassName':'','resources':{'requests':{'storage':'1Gi'}}}}",
                   name, name);
    ASSERT_SENT(&w->served, 201, "POST", CLAIMS, body);
    (void)snprintf(uid, sizeof uid, "%s", got(&w->served, "metadata/uid"));
    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'%s'},'spec':{'accessModes':['ReadWriteOnce'],"
                   "'capacity':{'storage':'1Gi'},'csi':{'driver':'" FAKE_DRIVER
                   "','volumeHandle':'%s'},'claimRef':{'namespace':'default','name':'%s','uid':'%s'}}}",
                   name, name, name, uid);
    ASSERT_SENT(&w->served, 201, "POST", VOLUMES, body);
    (void)snprintf(path, sizeof path, VOLUMES "/%s/status", name);
    ASSERT_SENT(&w->served, 200, "MERGE", path, "{'status':{'phase':'Bound'}}");
}

static void begin(struct parts *w, unsigned abilities)
{
    settings = (struct csi_driver_settings){ 0 };
    the_function = &csi_health_type;
    ability_bits = abilities;
    fake_on_made = set_bits;
    parts_init(w, &csi_part);
    put_bound(w, "a");
    put_bound(w, "b");
    pass(w, 1);
}

static void end(struct parts *w)
{
    assert_careful(fake_of_parts());
    parts_done(w);
}

static void check_conditions(unsigned abilities, size_t page)
{
    struct parts w;

    begin(&w, abilities);
    fake_of_parts()->page = page;
    pass(&w, 120);
    ASSERT_INT(0, (int)count_events(&w, "Normal", "VolumeConditionNormal", NORMAL));
    fake_csi_volume(fake_of_parts(), "b")->is_abnormal = true;
    pass(&w, 600);
    ASSERT_EVENT(&w, "Warning", "VolumeConditionAbnormal", DISK_FAILS); /* once, and of b only */
    ASSERT_GOT(&w.served, "b", "items/0/involvedObject/name");
    ASSERT_GOT(&w.served, "PersistentVolumeClaim", "items/0/involvedObject/kind");
    assert_metric(&w, "berth_csi_volume_abnormal{driver=\"" FAKE_DRIVER "\"} 1");
    fake_csi_volume(fake_of_parts(), "b")->is_abnormal = false;
    pass(&w, 60);
    ASSERT_EVENT(&w, "Normal", "VolumeConditionNormal", NORMAL);
    assert_metric(&w, "berth_csi_volume_abnormal{driver=\"" FAKE_DRIVER "\"} 0");
    end(&w);
}

/* The driver lists its volumes, in one page or in several. */
TEST(csi_health_of_listed_volumes)
{
    check_conditions(LISTS, 0);
    check_conditions(LISTS, 1);
}

/* The driver cannot list: it is asked about each volume. */
TEST(csi_health_of_single_volumes)
{
    check_conditions(GETS, 0);
}

static unsigned questions;

static bool count_questions(struct fake_csi *f, struct fake_request *q)
{
    (void)f;
    questions += strcmp(q->method, "ListVolumes") == 0 || strcmp(q->method, "ControllerGetVolume") == 0;
    return false;
}

/* One round per minute; none without bound volumes. */
TEST(csi_health_asks_once_per_minute)
{
    struct parts w;

    begin(&w, LISTS);
    questions = 0;
    fake_of_parts()->serve = count_questions;
    pass(&w, 600);
    ASSERT_INT(10, questions);
    ASSERT_SENT(&w.served, 200, "MERGE", VOLUMES "/a/status", "{'status':{'phase':'Released'}}");
    ASSERT_SENT(&w.served, 200, "MERGE", VOLUMES "/b/status", "{'status':{'phase':'Released'}}");
    pass(&w, 600);
    ASSERT_INT(10, questions);
    end(&w);
}

/* A driver that fails says nothing about its volumes; a volume that it does not know neither. */
TEST(csi_health_of_a_failing_driver)
{
    struct parts w;

    begin(&w, GETS);
    fake_csi_volume(fake_of_parts(), "b")->is_abnormal = true;
    fake_csi_volume(fake_of_parts(), "a")->id[0] =
        '\0'; /* NotFound: the others are asked about all the same */
    pass(&w, 60);
    ASSERT_EVENT(&w, "Warning", "VolumeConditionAbnormal", DISK_FAILS);
    fake_csi_volume(fake_of_parts(), "b")->is_abnormal = false;
    fail_next("ControllerGetVolume", RPC_UNAVAILABLE, "gone", 3);
    pass(&w, 120);
    ASSERT_INT(0, (int)count_events(&w, "Normal", "VolumeConditionNormal", NORMAL));
    pass(&w, 120);
    ASSERT_EVENT(&w, "Normal", "VolumeConditionNormal", NORMAL);
    end(&w);
}

/* A volume that is deleted while it is abnormal is not counted any more. */
TEST(csi_health_forgets_deleted_volumes)
{
    struct parts w;

    begin(&w, LISTS);
    fake_csi_volume(fake_of_parts(), "b")->is_abnormal = true;
    pass(&w, 60);
    assert_metric(&w, "berth_csi_volume_abnormal{driver=\"" FAKE_DRIVER "\"} 1");
    ASSERT_SENT(&w.served, 200, "MERGE", VOLUMES "/b", "{'metadata':{'finalizers':null}}");
    ASSERT_SENT(&w.served, 200, "DELETE", VOLUMES "/b", NULL);
    pass(&w, 1);
    assert_metric(&w, "berth_csi_volume_abnormal{driver=\"" FAKE_DRIVER "\"} 0");
    end(&w);
}

/* A list that never ends, and one that cannot be read. */
static bool list_for_ever(struct fake_csi *f, struct fake_request *q)
{
    Csi__V1__ListVolumesResponse out;

    (void)f;
    if (strcmp(q->method, "ListVolumes") != 0)
        return false;
    questions++;
    csi__v1__list_volumes_response__init(&out);
    out.next_token = (char *)(uintptr_t) "more";
    ASSERT_OK(rpc_message_pack(&out.base, &q->answer, &err));
    return true;
}

TEST(csi_health_of_a_list_without_an_end)
{
    struct parts w;

    begin(&w, LISTS);
    questions = 0;
    fake_of_parts()->serve = list_for_ever;
    pass(&w, 60);
    ASSERT_INT(10000, questions);
    fake_of_parts()->serve = NULL;
    fake_csi_volume(fake_of_parts(), "b")->is_abnormal = true;
    pass(&w, 60);
    ASSERT_EVENT(&w, "Warning", "VolumeConditionAbnormal", DISK_FAILS);
    end(&w);
}

/* Drivers without the capability have no such function. */
TEST(csi_health_is_wanted)
{
    static const struct {
        unsigned abilities;
        bool is_wanted;
    } rows[] = {
        { LISTS, true }, { GETS, true }, { FAKE_BIT(3) | FAKE_BIT(12), false }, { FAKE_BIT(11), false }
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct parts w;

        begin(&w, rows[i].abilities);
        assert_int_equal(the_function->is_wanted(((struct part *)w.part)->peer, &settings),
                         rows[i].is_wanted);
        end(&w);
    }
}

TEST_MAIN()
