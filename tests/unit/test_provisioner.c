/* What all provisioners share, with one that makes nothing and does as it is told. */
#include "tests/unit/test_provisioner.h"

/* What the next tries end with. */
static struct fake {
    int r; /* 0, or -ERR_* */
    enum provision_state state;
    unsigned fails; /* so many tries, then they go well */
    unsigned made, removed, remove_fails;
    int remove_r;
    char last[512];
    const char *id; /* of the storage; NULL: it has none */
    bool is_right;  /* the storage, when it is compared with the volumes */
    unsigned identified;
    size_t known;
} fake;

/* As a type that asks for the volumes when its storage is not the one that it found before. */
static int fake_identify(struct storage_identity *identity, struct error *e)
{
    if (!fake.id || strcmp(identity->id, fake.id) == 0)
        return 0;
    identity->needs_volumes = true;
    if (!identity->has_volumes)
        return error_set(e, ERR_UNAVAILABLE, "not identified yet");
    fake.identified++;
    fake.known = identity->volumes_count;
    if (!fake.is_right)
        return error_set(e, ERR_UNAVAILABLE, "another storage");
    (void)snprintf(identity->id, sizeof identity->id, "%s", fake.id);
    return 0;
}

static int fake_provision(const void *ctx, const struct provisioner_request *q,
                          struct storage_identity *identity, const host_stop *stop, struct buf *source,
                          enum provision_state *state, struct error *e)
{
    int r = fake_identify(identity, e);

    (void)ctx;
    (void)stop;
    if (r < 0)
        return r;
    fake.made++;
    (void)snprintf(fake.last, sizeof fake.last, "%s %s/%s %s %s", q->volume_name, q->claim->obj.ns,
                   q->claim->obj.name, q->class->obj.name, q->node ? q->node->obj.name : "-");
    if (fake.fails > 0) {
        fake.fails--;
        *state = fake.state;
        return error_set(e, (enum err)(-fake.r), "no luck");
    }
    buf_add_cstr(source, "\"nfs\":{\"server\":\"s\",\"path\":\"/x\"}");
    return 0;
}

static int fake_remove(const void *ctx, const struct volume *v, const struct storage_class *class,
                       const struct host_guard *guard, struct storage_identity *identity,
                       const host_stop *stop, struct error *e)
{
    int r = fake_identify(identity, e);

    (void)ctx;
    (void)guard;
    (void)stop;
    if (r < 0)
        return r;
    fake.removed++;
    (void)snprintf(fake.last, sizeof fake.last, "%s %s", v->obj.name, class ? class->obj.name : "-");
    if (fake.remove_fails > 0) {
        fake.remove_fails--;
        return error_set(e, (enum err)(-fake.remove_r), "stuck");
    }
    return 0;
}

static const struct blocking_type fake_type = { fake_provision, fake_remove, "test-storage" };

static int make(const struct component_deps *o, void **ret, struct error *e)
{
    return blocking_open(o, &fake_type, NULL, /* record= */ NULL, ret, e);
}

static void start(void *part)
{
    provisioner_start(part);
}

static void end(void *part)
{
    (void)provisioner_free(part);
    the_pool = pool_free(the_pool);
}

static const struct part_type type = { make, start, end };

static void begin(struct parts *w)
{
    fake = (struct fake){ 0 };
    parts_init(w, &type);
    put_class(w, "c", ",'mountOptions':['hard'],'reclaimPolicy':'Delete'");
}

/* A claim that gets its volume. */
static void make_one(struct parts *w)
{
    char uid[64];

    put_class(w, "c", ",'mountOptions':['hard']");
    put_claim(w, "x", "", "", uid);
    pass(w, 100);
    ASSERT_SENT(&w->served, 200, "GET", volume_path(uid), NULL);
}

TEST(provisioner_makes_a_volume)
{
    char uid[64], text[256];
    struct parts w;

    begin(&w);
    put_claim(&w, "x", "", "", uid);
    pass(&w, 1);
    ASSERT_THERE(&w, "Delete", volume_path(uid), "spec/persistentVolumeReclaimPolicy");
    ASSERT_GOT(&w.served, "{'pv.kubernetes.io/provisioned-by':'test.io/p'}", "metadata/annotations");
    ASSERT_GOT(&w.served, uid, "spec/claimRef/uid");
    ASSERT_GOT(&w.served, "x", "spec/claimRef/name");
    ASSERT_GOT(&w.served, "default", "spec/claimRef/namespace");
    ASSERT_GOT(&w.served, "c", "spec/storageClassName");
    ASSERT_GOT(&w.served, "3Gi", "spec/capacity/storage");
    ASSERT_GOT(&w.served, "['ReadWriteOnce','ReadOnlyMany']", "spec/accessModes");
    ASSERT_GOT(&w.served, "['hard']", "spec/mountOptions");
    ASSERT_GOT(&w.served, "/x", "spec/nfs/path");
    ASSERT_EVENT(&w, "Normal", "Provisioning",
                 "External provisioner is provisioning volume for claim \"default/x\"");
    (void)snprintf(text, sizeof text, "Successfully provisioned volume pvc-%s", uid);
    ASSERT_EVENT(&w, "Normal", "ProvisioningSucceeded", text);
    (void)snprintf(text, sizeof text, "pvc-%s default/x c -", uid);
    ASSERT_STR(text, fake.last);
    /* Once is enough, whoever writes the claim. */
    ASSERT_SENT(&w.served, 200, "MERGE", CLAIMS "/x", "{'metadata':{'labels':{'a':'b'}}}");
    pass(&w, 2000);
    ASSERT_INT(1, fake.made);
    parts_done(&w);
}

/* Claims of others, bound ones, and those without the annotation. */
TEST(provisioner_leaves_others_alone)
{
    char uid[64];
    struct parts w;

    begin(&w);
    put_class(&w, "other", "");
    put_claim(&w, "bound", "", ",'volumeName':'v'", uid);
    ASSERT_SENT(&w.served, 201, "POST", CLAIMS,
                "{'metadata':{'name':'theirs','annotations':{'volume.kubernetes.io/storage-provisioner':"
                "'test.io/q'}}," CLAIM_SPEC "}");
    ASSERT_SENT(&w.served, 201, "POST", CLAIMS, "{'metadata':{'name':'none'}," CLAIM_SPEC "}");
    pass(&w, 1000);
    ASSERT_INT(0, fake.made);
    assert_asked(&w, "");
    parts_done(&w);
}

/* The older annotation counts as well. */
TEST(provisioner_reads_the_beta_annotation)
{
    struct parts w;

    begin(&w);
    ASSERT_SENT(&w.served, 201, "POST", CLAIMS,
                "{'metadata':{'name':'x','annotations':{'volume.beta.kubernetes.io/storage-provisioner':"
                "'test.io/p'}},'spec':{'accessModes':['ReadWriteOnce'],'storageClassName':'c','resources':"
                "{'requests':{'storage':'1Gi'}}}}");
    pass(&w, 1);
    ASSERT_INT(1, fake.made);
    parts_done(&w);
}

TEST(provisioner_waits_for_the_scheduler)
{
    char uid[64], text[256];
    struct parts w;

    fake = (struct fake){ 0 };
    parts_init(&w, &type);
    put_class(&w, "c", ",'volumeBindingMode':'WaitForFirstConsumer'");
    put_claim(&w, "x", "", "", uid);
    pass(&w, 1000);
    ASSERT_INT(0, fake.made);
    ASSERT_SENT(&w.served, 201, "POST", NODES, "{'metadata':{'name':'n'}}");
    ASSERT_SENT(&w.served, 200, "MERGE", CLAIMS "/x",
                "{'metadata':{'annotations':{'volume.kubernetes.io/selected-node':'n'}}}");
    pass(&w, 1);
    (void)snprintf(text, sizeof text, "pvc-%s default/x c n", uid);
    ASSERT_STR(text, fake.last);
    ASSERT_SENT(&w.served, 200, "GET", volume_path(uid), NULL);
    parts_done(&w);
}

#define SELECTED_N ",'volume.kubernetes.io/selected-node':'n'"
#define UNSELECTED "{'volume.kubernetes.io/storage-provisioner':'test.io/p'}"

/* The node cannot be served, or is gone: another is to be chosen. */
TEST(provisioner_gives_the_node_back)
{
    char uid[64];
    struct parts w;

    fake = (struct fake){ 0 };
    parts_init(&w, &type);
    put_class(&w, "c", ",'volumeBindingMode':'WaitForFirstConsumer'");
    put_claim(&w, "gone", SELECTED_N, "", uid);
    pass(&w, 1);
    ASSERT_THERE(&w, UNSELECTED, CLAIMS "/gone", "metadata/annotations");
    ASSERT_EVENT(&w, "Warning", "ProvisioningFailed",
                 "failed to provision volume with StorageClass \"c\": failed to get target node: node \"n\" "
                 "not found");
    drop_claim(&w, CLAIMS "/gone");
    ASSERT_INT(0, fake.made);
    ASSERT_SENT(&w.served, 201, "POST", NODES, "{'metadata':{'name':'n'}}");
    fake = (struct fake){ .r = -ERR_UNAVAILABLE, .state = PROVISION_RESCHEDULE, .fails = 1 };
    put_claim(&w, "x", SELECTED_N, "", uid);
    pass(&w, 1);
    ASSERT_INT(1, fake.made);
    ASSERT_THERE(&w, UNSELECTED, CLAIMS "/x", "metadata/annotations");
    ASSERT_EVENT(&w, "Warning", "ProvisioningFailed",
                 "failed to provision volume with StorageClass \"c\": no luck");
    parts_done(&w);
}

/* What may be going on is asked for until it is known, and saved: then it can be found and removed. */
TEST(provisioner_brings_to_an_end_what_goes_on)
{
    char uid[64], other[64];
    struct parts w;

    begin(&w);
    fake = (struct fake){ .r = -ERR_TIMEOUT, .state = PROVISION_IN_BACKGROUND, .fails = 2 };
    put_claim(&w, "x", "", "", uid);
    pass(&w, 1);
    ASSERT_INT(1, fake.made);
    drop_claim(&w, CLAIMS "/x");
    put_claim(&w, "x", "", "", other); /* waits for the first one's end */
    pass(&w, 14);
    ASSERT_INT(2, fake.made);
    fake.state = PROVISION_NO_CHANGE;
    fake.fails = 1;
    pass(&w, 120);
    ASSERT_SENT(&w.served, 200, "GET", volume_path(uid), NULL);
    ASSERT_SENT(&w.served, 200, "GET", volume_path(other), NULL);
    ASSERT_INT(5, fake.made);
    parts_done(&w);
}

/* A claim that goes after a try that is over is not asked for any more. */
TEST(provisioner_forgets_what_is_over)
{
    char uid[64];
    struct parts w;

    begin(&w);
    fake = (struct fake){ .r = -ERR_IO, .fails = 100 };
    put_claim(&w, "x", "", "", uid);
    pass(&w, 1);
    drop_claim(&w, CLAIMS "/x");
    pass(&w, 2000);
    ASSERT_INT(1, fake.made);
    parts_done(&w);
}

TEST(provisioner_slows_down_for_the_infeasible)
{
    char uid[64];
    struct parts w;

    begin(&w);
    fake = (struct fake){ .r = -ERR_INVALID, .fails = 1 };
    put_claim(&w, "x", "", "", uid);
    pass(&w, 800);
    ASSERT_INT(1, fake.made);
    ASSERT_EVENT(&w, "Warning", "ProvisioningFailed",
                 "Volume provisioning failed with infeasible error. Retries will be delayed. failed to "
                 "provision volume with StorageClass \"c\": no luck");
    pass(&w, 250);
    ASSERT_INT(2, fake.made);
    parts_done(&w);
}

TEST(provisioner_says_nothing_of_what_is_ignored)
{
    char uid[64];
    struct parts w;

    begin(&w);
    fake = (struct fake){ .r = -PROVISIONER_IGNORED, .fails = 1000 };
    put_claim(&w, "x", "", "", uid);
    pass(&w, 100);
    ASSERT_INT(1, fake.made);
    ASSERT_INT(0, count_events(&w, "Warning", "ProvisioningFailed",
                               "failed to provision volume with StorageClass \"c\": no luck"));
    parts_done(&w);
}

/* 15 s, 30 s, … 1000 s; fifteen times, then with the resync of 15 minutes. */
TEST(provisioner_tries_again_less_and_less)
{
    static const struct {
        unsigned until, made;
    } rows[] = { { 1, 1 }, { 14, 1 }, { 16, 2 }, { 44, 2 }, { 47, 3 }, { 104, 3 }, { 107, 4 }, { 700, 6 } };
    unsigned now = 0;
    char uid[64];
    struct parts w;

    begin(&w);
    fake = (struct fake){ .r = -ERR_IO, .fails = UINT32_MAX };
    put_claim(&w, "x", "", "", uid);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        pass(&w, rows[i].until - now);
        now = rows[i].until;
        ASSERT_INT(rows[i].made, fake.made);
    }
    pass(&w, 8950 - now);
    ASSERT_INT(15, fake.made);
    pass(&w, 60);
    ASSERT_INT(16, fake.made);
    parts_done(&w);
}

/* The volume is there already: a lost answer, or another process. */
TEST(provisioner_takes_a_volume_that_exists_for_its_own)
{
    char uid[64], text[256];
    struct parts w;

    begin(&w);
    w.is_blind_to[KIND_VOLUME] = true;
    fake = (struct fake){ .r = -ERR_IO, .fails = 1 };
    put_claim(&w, "x", "", "", uid);
    pass(&w, 1);
    (void)snprintf(text, sizeof text, "{'metadata':{'name':'pvc-%s'}," VOLUME_SPEC "}", uid);
    ASSERT_SENT(&w.served, 201, "POST", VOLUMES, text);
    pass(&w, 20);
    (void)snprintf(text, sizeof text, "Successfully provisioned volume pvc-%s", uid);
    ASSERT_EVENT(&w, "Normal", "ProvisioningSucceeded", text);
    ASSERT_INT(0, fake.removed);
    parts_done(&w);
}

/* Nobody takes the volume: 10, 20, 40 and 80 s later; then the storage goes, and all begins anew. */
/* It would be an empty volume. */
TEST(provisioner_makes_nothing_for_a_data_source)
{
    static const char *const sources[] = {
        ",'dataSource':{'kind':'PersistentVolumeClaim','name':'old'}",
        ",'dataSourceRef':{'apiGroup':'x.io','kind':'Filler','name':'f'}",
    };

    for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
        struct parts w;
        char uid[64];

        begin(&w);
        put_claim(&w, "x", "", sources[i], uid);
        pass(&w, 100);
        ASSERT_INT(0, fake.made);
        ASSERT_SENT(&w.served, 404, "GET", volume_path(uid), NULL);
        ASSERT_EVENT(
            &w, "Warning", "ProvisioningFailed",
            "Volume provisioning failed with infeasible error. Retries will be delayed. failed to "
            "provision volume with StorageClass \"c\": plugin \"test.io/p\" is not a CSI plugin. Only "
            "CSI plugin can provision a claim with a datasource");
        parts_done(&w);
    }
}

TEST(provisioner_removes_what_it_cannot_save)
{
    char uid[64], message[256];
    struct parts w;

    begin(&w);
    fake = (struct fake){ .r = -ERR_IO, .fails = 1 };
    put_claim(&w, "x", "", "", uid);
    pass(&w, 14);
    w.served.log.fails_from = w.served.log.appends + 1;
    w.served.log.fails_to = UINT32_MAX;
    pass(&w, 149);
    ASSERT_INT(2, fake.made);
    ASSERT_INT(0, fake.removed);
    pass(&w, 5);
    ASSERT_INT(1, fake.removed);
    (void)snprintf(message, sizeof message, "pvc-%s c", uid);
    ASSERT_STR(message, fake.last);
    w.served.log.fails_from = 0;
    pass(&w, 60);
    ASSERT_INT(3, fake.made);
    ASSERT_SENT(&w.served, 200, "GET", volume_path(uid), NULL);
    parts_done(&w);
}

/* --- Deleting --- */

static const char *made_and_released(struct parts *w)
{
    static char path[256];
    char uid[64];

    put_claim(w, "x", "", "", uid);
    pass(w, 1);
    (void)snprintf(path, sizeof path, "%s", volume_path(uid));
    drop_claim(w, CLAIMS "/x");
    release(w, path);
    return path;
}

TEST(provisioner_deletes_what_it_made)
{
    const char *path;
    struct parts w;

    begin(&w);
    path = made_and_released(&w);
    pass(&w, 1);
    ASSERT_INT(1, fake.removed);
    ASSERT_GONE(&w, path);
    ASSERT_EVENT(&w, "Normal", "VolumeDeleted", "Volume deleted");
    parts_done(&w);
}

TEST(provisioner_tells_why_a_volume_stays)
{
    const char *path;
    struct parts w;

    begin(&w);
    fake.remove_r = -ERR_IO;
    fake.remove_fails = 1;
    path = made_and_released(&w);
    pass(&w, 1);
    ASSERT_INT(1, fake.removed);
    ASSERT_SENT(&w.served, 200, "GET", path, NULL);
    ASSERT_EVENT(&w, "Warning", "VolumeFailedDelete", "stuck");
    pass(&w, 15);
    ASSERT_INT(2, fake.removed);
    ASSERT_GONE(&w, path);
    parts_done(&w);
}

TEST(provisioner_skips_a_volume_that_is_ignored)
{
    const char *path;
    struct parts w;

    begin(&w);
    fake.remove_r = -PROVISIONER_IGNORED;
    fake.remove_fails = 10;
    path = made_and_released(&w);
    pass(&w, 500);
    ASSERT_INT(1, fake.removed);
    ASSERT_SENT(&w.served, 200, "GET", path, NULL);
    ASSERT_INT(0, count_events(&w, "Warning", "VolumeFailedDelete", "stuck"));
    parts_done(&w);
}

/* Nothing is removed for a volume that is kept, somebody's, another's, or whose claim lives. */
TEST(provisioner_removes_nothing_that_may_be_wanted)
{
    static const char *const bodies[] = {
        "'persistentVolumeReclaimPolicy':'Retain','claimRef':{'namespace':'default','name':'g','uid':'u'}",
        "'persistentVolumeReclaimPolicy':'Delete'",
        "'persistentVolumeReclaimPolicy':'Delete','claimRef':{'namespace':'default','name':'g'}",
        "'persistentVolumeReclaimPolicy':'Delete','claimRef':{'namespace':'default','name':'x','uid':'%s'}",
    };
    char uid[64], body[1024], spec[512], path[128];
    struct parts w;

    begin(&w);
    put_claim(&w, "x", "", ",'volumeName':'v'", uid);
    for (unsigned i = 0; i < ARRAY_LEN(bodies); i++) {
        const char *at = strstr(bodies[i], "%s");
        int len = at ? (int)(at - bodies[i]) : (int)strlen(bodies[i]);

        (void)snprintf(spec, sizeof spec, "%.*s%s%s", len, bodies[i], at ? uid : "", at ? at + 2 : "");
        (void)snprintf(
            body, sizeof body,
            "{'metadata':{'name':'v%u','annotations':{'pv.kubernetes.io/provisioned-by':'test.io/p'}},"
            "'spec':{'capacity':{'storage':'5Gi'},'accessModes':['ReadWriteOnce'],'hostPath':{'path':'/x'},"
            "%s}}",
            i, spec);
        ASSERT_SENT(&w.served, 201, "POST", VOLUMES, body);
        (void)snprintf(path, sizeof path, VOLUMES "/v%u", i);
        release(&w, path);
    }
    ASSERT_SENT(&w.served, 201, "POST", VOLUMES,
                "{'metadata':{'name':'theirs'},'spec':{'capacity':{'storage':'5Gi'},'accessModes':"
                "['ReadWriteOnce'],'hostPath':{'path':'/x'},'claimRef':{'namespace':'default','name':'g',"
                "'uid':'u'},'persistentVolumeReclaimPolicy':'Delete'}}");
    release(&w, VOLUMES "/theirs");
    pass(&w, 1000);
    ASSERT_INT(0, fake.removed);
    parts_done(&w);
}

/* The cache says released, the server knows better. */
TEST(provisioner_looks_once_more_before_it_removes)
{
    const char *path;
    struct parts w;

    begin(&w);
    fake.remove_r = -ERR_IO;
    fake.remove_fails = 1;
    path = made_and_released(&w);
    pass(&w, 1);
    w.is_blind_to[KIND_VOLUME] = true;
    ASSERT_SENT(&w.served, 200, "MERGE", path, "{'spec':{'persistentVolumeReclaimPolicy':'Retain'}}");
    pass(&w, 200);
    ASSERT_INT(1, fake.removed);
    ASSERT_SENT(&w.served, 200, "GET", path, NULL);
    parts_done(&w);
}

/* The cache has a claim that the server does not have any more. */
TEST(provisioner_looks_once_more_before_it_makes)
{
    char uid[64];
    struct parts w;

    begin(&w);
    fake.r = -ERR_IO;
    fake.fails = 1;
    put_claim(&w, "x", "", "", uid);
    pass(&w, 1);
    ASSERT_INT(1, fake.made);
    w.is_blind_to[KIND_CLAIM] = true;
    drop_claim(&w, CLAIMS "/x");
    pass(&w, 200);
    ASSERT_INT(1, fake.made);
    ASSERT_GONE(&w, volume_path(uid));
    parts_done(&w);
}

/* One that is released, too. */
static void make_and_drop(struct parts *w)
{
    char uid[64], path[256];

    make_one(w);
    ASSERT_SENT(&w->served, 200, "GET", CLAIMS "/x", NULL);
    (void)snprintf(uid, sizeof uid, "%s", got(&w->served, "metadata/uid"));
    (void)snprintf(path, sizeof path, "%s", volume_path(uid));
    drop_claim(w, CLAIMS "/x");
    release(w, path);
    pass(w, 200);
    ASSERT_GONE(w, path);
}

TEST(provisioner_ends_the_same_on_bad_days)
{
    fake = (struct fake){ 0 };
    assert_ends_the_same(&type, make_one);
    assert_ends_the_same(&type, make_and_drop);
}

/* --- The identity of the storage --- */

/* It is compared with the volumes once, recorded on each volume, and compared again when it has changed. */
TEST(storage_is_identified)
{
    char uid[64];
    struct parts w;

    begin(&w);
    fake.id = "6a6f5f0a-9b0c-4b55-8d4e-000000000001";
    fake.is_right = true;
    put_claim(&w, "x", "", "", uid);
    pass(&w, 1);
    ASSERT_THERE(&w, fake.id, volume_path(uid), "metadata/annotations/test-storage");
    ASSERT_INT(1, fake.identified);
    ASSERT_INT(0, fake.known);
    put_claim(&w, "y", "", "", uid);
    pass(&w, 1);
    ASSERT_INT(1, fake.identified);
    ASSERT_INT(2, fake.made);
    fake.id = "6a6f5f0a-9b0c-4b55-8d4e-000000000002";
    put_claim(&w, "z", "", "", uid);
    pass(&w, 1);
    ASSERT_INT(2, fake.identified);
    ASSERT_INT(2, fake.known);
    ASSERT_THERE(&w, fake.id, volume_path(uid), "metadata/annotations/test-storage");
    parts_done(&w);
}

/* Nothing is made or removed; both are tried again, and the objects stay. */
TEST(another_storage_is_refused)
{
    char uid[2][64], path[256];
    struct parts w;

    begin(&w);
    fake.id = "6a6f5f0a-9b0c-4b55-8d4e-000000000001";
    fake.is_right = true;
    put_claim(&w, "x", "", "", uid[0]);
    pass(&w, 1);
    (void)snprintf(path, sizeof path, "%s", volume_path(uid[0]));
    fake.id = "6a6f5f0a-9b0c-4b55-8d4e-000000000002";
    fake.is_right = false;
    put_claim(&w, "y", "", "", uid[1]);
    drop_claim(&w, CLAIMS "/x");
    release(&w, path);
    pass(&w, 20);
    ASSERT_EVENT(&w, "Warning", "ProvisioningFailed",
                 "failed to provision volume with StorageClass \"c\": another storage");
    ASSERT_EVENT(&w, "Warning", "VolumeFailedDelete", "another storage");
    ASSERT_SENT(&w.served, 200, "GET", path, NULL);
    ASSERT_GONE(&w, volume_path(uid[1]));
    ASSERT_INT(1, fake.made);
    ASSERT_INT(0, fake.removed);
    fake.is_right = true;
    pass(&w, 60);
    ASSERT_SENT(&w.served, 200, "GET", volume_path(uid[1]), NULL);
    ASSERT_GONE(&w, path);
    ASSERT_INT(2, fake.made);
    ASSERT_INT(1, fake.removed);
    parts_done(&w);
}

TEST_MAIN()
