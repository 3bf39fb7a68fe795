/* The capacity of a CSI driver on the real API core, with a driver in this process: csi-17. */
#include "tests/unit/test_csi_part.h"

#define CAPACITIES "/apis/storage.k8s.io/v1/namespaces/kube-system/csistoragecapacities"
#define CSI_NODES "/apis/storage.k8s.io/v1/csinodes"
#define CSI_DRIVERS "/apis/storage.k8s.io/v1/csidrivers"
#define OURS                                                  \
    "'labels':{'csi.storage.k8s.io/drivername':'" FAKE_DRIVER \
    "','csi.storage.k8s.io/managed-by':'external-provisioner'}"
#define GIB ((int64_t)1 << 30)

/* --- Objects --- */

static void put_driver(struct parts *w)
{
    ASSERT_SENT(&w->served, 201, "POST", CSI_DRIVERS,
                "{'metadata':{'name':'" FAKE_DRIVER "'},'spec':{'storageCapacity':true}}");
}

static void put_class(struct parts *w, const char *name, const char *binding)
{
    char body[512];

    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'%s'},'provisioner':'" FAKE_DRIVER
                   "','parameters':{'csi.storage.k8s.io/fstype':'xfs','type':'%s'},'volumeBindingMode':'%s'}",
                   name, name, binding);
    ASSERT_SENT(&w->served, 201, "POST", CLASSES, body);
}

static void put_node(struct parts *w, const char *name, const char *zone)
{
    char body[512];

    (void)snprintf(body, sizeof body, "{'metadata':{'name':'%s','labels':{'zone':'%s','other':'x'}}}", name,
                   zone);
    ASSERT_SENT(&w->served, 201, "POST", NODES, body);
    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'%s'},'spec':{'drivers':[{'name':'" FAKE_DRIVER
                   "','nodeID':'%s','topologyKeys':['zone']}]}}",
                   name, name);
    ASSERT_SENT(&w->served, 201, "POST", CSI_NODES, body);
}

static void pass(struct parts *w, unsigned seconds)
{
    parts_pass_ns(w, (uint64_t)seconds * NS_PER_S);
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The objects: "CLASS ZONE CAPACITY MAX" each, sorted. */
static const char *capacities_words(struct parts *w)
{
    static char lines[64][128], text[8192];
    const char *order[64];
    size_t count, len = 0;

    ASSERT_SENT(&w->served, 200, "GET", CAPACITIES, NULL);
    count = got_items(&w->served);
    assert_true(count <= ARRAY_LEN(lines));
    for (size_t i = 0; i < count; i++) {
        char path[64];
        int at = 0;
        static const char *const members[] = { "storageClassName", "nodeTopology/matchLabels/zone",
                                               "capacity", "maximumVolumeSize" };

        for (size_t k = 0; k < ARRAY_LEN(members); k++) {
            (void)snprintf(path, sizeof path, "items/%zu/%s", i, members[k]);
            at += snprintf(lines[i] + at, sizeof lines[i] - (size_t)at, "%s%s", k ? " " : "",
                           got(&w->served, path));
        }
        order[i] = lines[i];
    }
    qsort(order, count, sizeof *order, compare_lines);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s\n", order[i]);
    return text;
}

#define ASSERT_CAPACITIES(w, expected) ASSERT_STR(expected, capacities_words(w))

/* The path of an object of a class. */
static const char *capacity_path(struct parts *w, const char *class_name)
{
    static char path[256];

    ASSERT_SENT(&w->served, 200, "GET", CAPACITIES, NULL);
    for (size_t i = 0; i < got_items(&w->served); i++) {
        char member[64];

        (void)snprintf(member, sizeof member, "items/%zu/storageClassName", i);
        if (strcmp(got(&w->served, member), class_name) != 0)
            continue;
        (void)snprintf(member, sizeof member, "items/%zu/metadata/name", i);
        (void)snprintf(path, sizeof path, CAPACITIES "/%s", got(&w->served, member));
        return path;
    }
    fail_msg("no capacity of class %s", class_name);
    return NULL;
}

static void with_ten_gib(struct fake_csi *f)
{
    f->capacity = 10 * GIB;
    f->topology = "zone=a";
}

static void begin(struct parts *w)
{
    settings = (struct csi_driver_settings){ 0 };
    the_function = &csi_provisioner_type;
    the_pod = NULL;
    fake_on_made = with_ten_gib;
    parts_init(w, &csi_part);
    pass(w, 1);
}

static void begin_with_zones(struct parts *w)
{
    begin(w);
    put_driver(w);
    put_node(w, "n", "a");
    put_node(w, "m", "b");
    put_class(w, "fast", "WaitForFirstConsumer");
    pass(w, 1);
}

static void end(struct parts *w)
{
    assert_careful(fake_of_parts());
    parts_done(w);
}

/* The requests of the part since the last time that write something. */
static unsigned count_writes(struct parts *w)
{
    unsigned count = 0;

    for (const char *at = buf_cstr(&w->log); *at; at = strchr(at, '\n') + 1)
        count += strstr(at, "csistoragecapacities") && strncmp(at, "GET", 3) != 0 &&
                 strstr(at, "csistoragecapacities") < strchr(at, '\n');
    buf_clear(&w->log);
    return count;
}

/* --- Objects come and go --- */

/* csi-17: one object for each class that waits and each segment, with everything of section 1g. */
TEST(csi_capacity_of_classes_and_segments)
{
    struct parts w;

    begin(&w);
    put_node(&w, "n", "a");
    put_node(&w, "o", "a");
    put_node(&w, "m", "b");
    put_class(&w, "fast", "WaitForFirstConsumer");
    put_class(&w, "now", "Immediate");
    pass(&w, 100);
    ASSERT_CAPACITIES(&w, ""); /* no CSIDriver asks for it */
    put_driver(&w);
    pass(&w, 1);
    ASSERT_CAPACITIES(&w, "fast a 10Gi -\nfast b 10Gi -\n");
    ASSERT_GOT(&w.served,
               "{'csi.storage.k8s.io/drivername':'" FAKE_DRIVER
               "','csi.storage.k8s.io/managed-by':'external-provisioner'}",
               "items/0/metadata/labels");
    assert_int_equal(strncmp(got(&w.served, "items/0/metadata/name"), "csisc-", 6), 0);
    ASSERT_GOT(&w.served, "-", "items/0/metadata/ownerReferences");
    /* Reserved keys are not removed here. */
    assert_non_null(strstr(fake_of_parts()->last, "p.csi.storage.k8s.io/fstype=xfs p.type=fast"));
    ASSERT_INT(2, count_calls("GetCapacity"));
    assert_metric(&w, "csistoragecapacities_desired_goal{driver_name=\"" FAKE_DRIVER "\"} 2");
    assert_metric(&w, "csistoragecapacities_desired_current{driver_name=\"" FAKE_DRIVER "\"} 2");
    assert_metric(&w, "csistoragecapacities_obsolete{driver_name=\"" FAKE_DRIVER "\"} 0");
    end(&w);
}

/* csi-17: with the setting also classes that bind at once; without capacity no class at all. */
TEST(csi_capacity_follows_the_settings)
{
    struct parts w;

    begin(&w);
    settings.has_capacity_for_immediate = true;
    settings.capacity_namespace = "default";
    w.is_dead = true;
    process_care(&w);
    put_driver(&w);
    put_node(&w, "n", "a");
    put_class(&w, "now", "Immediate");
    pass(&w, 1);
    ASSERT_CAPACITIES(&w, "");
    ASSERT_SENT(&w.served, 200, "GET", "/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities",
                NULL);
    ASSERT_GOT(&w.served, "now", "items/0/storageClassName");
    end(&w);

    begin(&w);
    settings.has_no_capacity = true;
    w.is_dead = true;
    process_care(&w);
    put_driver(&w);
    put_node(&w, "n", "a");
    put_class(&w, "fast", "WaitForFirstConsumer");
    pass(&w, 100);
    ASSERT_CAPACITIES(&w, "");
    end(&w);
}

/* csi-17: a driver without topology has one segment, which every node is in. */
TEST(csi_capacity_without_topology)
{
    struct parts w;

    begin(&w);
    put_driver(&w);
    ASSERT_SENT(&w.served, 201, "POST", NODES, "{'metadata':{'name':'n'}}");
    ASSERT_SENT(&w.served, 201, "POST", CSI_NODES,
                "{'metadata':{'name':'n'},'spec':{'drivers':[{'name':'" FAKE_DRIVER
                "','nodeID':'n','topologyKeys':null}]}}");
    fake_of_parts()->volume_max = GIB;
    put_class(&w, "fast", "WaitForFirstConsumer");
    pass(&w, 1);
    ASSERT_CAPACITIES(&w, "fast - 10Gi 1Gi\n");
    ASSERT_GOT(&w.served, "{}", "items/0/nodeTopology");
    fake_of_parts()->volume_max = 0;
    pass(&w, 60);
    ASSERT_CAPACITIES(&w, "fast - 10Gi -\n");
    end(&w);
}

/* csi-17: objects go with their class, with the last node of their segment, and with the driver's wish. */
TEST(csi_capacity_goes_with_class_and_segment)
{
    struct parts w;

    begin_with_zones(&w);
    put_class(&w, "slow", "WaitForFirstConsumer");
    pass(&w, 1);
    ASSERT_CAPACITIES(&w, "fast a 10Gi -\nfast b 10Gi -\nslow a 10Gi -\nslow b 10Gi -\n");
    ASSERT_SENT(&w.served, 200, "DELETE", CLASSES "/slow", NULL);
    pass(&w, 1);
    ASSERT_CAPACITIES(&w, "fast a 10Gi -\nfast b 10Gi -\n");
    ASSERT_SENT(&w.served, 200, "MERGE", NODES "/m", "{'metadata':{'labels':{'zone':'c'}}}");
    pass(&w, 1);
    ASSERT_CAPACITIES(&w, "fast a 10Gi -\nfast c 10Gi -\n");
    ASSERT_SENT(&w.served, 200, "DELETE", CSI_NODES "/m", NULL);
    pass(&w, 1);
    ASSERT_CAPACITIES(&w, "fast a 10Gi -\n");
    ASSERT_SENT(&w.served, 200, "MERGE", CSI_DRIVERS "/" FAKE_DRIVER, "{'spec':{'storageCapacity':false}}");
    pass(&w, 1);
    ASSERT_CAPACITIES(&w, "");
    end(&w);
}

/* csi-17: what is removed or changed by hand is as before; unchanged values are not written. */
TEST(csi_capacity_is_kept)
{
    const char *path;
    struct parts w;

    begin_with_zones(&w);
    (void)count_writes(&w);
    pass(&w, 600);
    ASSERT_INT(0, count_writes(&w));
    ASSERT_INT(2 + 2 * 10, count_calls("GetCapacity"));
    ASSERT_SENT(&w.served, 200, "DELETE", capacity_path(&w, "fast"), NULL);
    pass(&w, 0);
    ASSERT_CAPACITIES(&w, "fast a 10Gi -\nfast b 10Gi -\n");
    path = capacity_path(&w, "fast");
    ASSERT_SENT(&w.served, 200, "MERGE", path, "{'metadata':{'labels':null},'capacity':'1Mi'}");
    pass(&w, 60);
    ASSERT_CAPACITIES(&w, "fast a 10Gi -\nfast b 10Gi -\n");
    ASSERT_SENT(&w.served, 200, "GET", path, NULL);
    assert_non_null(strstr(got(&w.served, "metadata/labels"), FAKE_DRIVER));
    end(&w);
}

/* csi-17: objects that external-provisioner left are replaced, objects of others stay. */
TEST(csi_capacity_replaces_what_a_sidecar_left)
{
    struct parts w;

    begin(&w);
    put_driver(&w);
    fake_of_parts()->held = "GetCapacity";
    put_node(&w, "n", "a");
    put_class(&w, "fast", "WaitForFirstConsumer");
    ASSERT_SENT(&w.served, 201, "POST", CAPACITIES,
                "{'metadata':{'name':'csisc-x7k2p'," OURS "},'storageClassName':'fast','capacity':'5Gi',"
                "'nodeTopology':{'matchLabels':{'zone':'a'}}}");
    ASSERT_SENT(&w.served, 201, "POST", CAPACITIES,
                "{'metadata':{'name':'csisc-gone'," OURS "},'storageClassName':'gone','capacity':'5Gi',"
                "'nodeTopology':{'matchLabels':{'zone':'a'}}}");
    ASSERT_SENT(&w.served, 201, "POST", CAPACITIES,
                "{'metadata':{'name':'other'},'storageClassName':'fast','capacity':'7Gi'}");
    pass(&w, 1);
    ASSERT_CAPACITIES(&w, "fast - 7Gi -\nfast a 5Gi -\n"); /* until there is a better one */
    fake_of_parts()->held = NULL;
    fake_csi_release(fake_of_parts());
    pass(&w, 1);
    ASSERT_CAPACITIES(&w, "fast - 7Gi -\nfast a 10Gi -\n");
    end(&w);
}

/* --- Values --- */

static void put_claim(struct parts *w, const char *name, char ret[64])
{
    char body[1024];

    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'%s','annotations':{'volume.kubernetes.io/selected-node':'n',"
                   "'volume.kubernetes.io/storage-provisioner':'" FAKE_DRIVER "'}},'spec':{'accessModes':["
                   "'ReadWriteOnce'],'storageClassName':'fast','resources':{'requests':{'storage':'3Gi'}}}}",
                   name);
    ASSERT_SENT(&w->served, 201, "POST", CLAIMS, body);
    (void)snprintf(ret, 64, "%s", got(&w->served, "metadata/uid"));
}

/* The claim goes, and the binder releases its volume. */
static void drop_claim(struct parts *w, const char *name, const char *uid)
{
    char path[256];

    (void)snprintf(path, sizeof path, CLAIMS "/%s", name);
    ASSERT_SENT(&w->served, 200, "MERGE", path, "{'metadata':{'finalizers':null}}");
    ASSERT_SENT(&w->served, 200, "DELETE", path, NULL);
    (void)snprintf(path, sizeof path, VOLUMES "/pvc-%s/status", uid);
    ASSERT_SENT(&w->served, 200, "MERGE", path, "{'status':{'phase':'Released'}}");
}

/* csi-17: the capacity of a segment is read again after a creation and a deletion there; the capacity of a
 * class after a failure; others wait for the next minute. */
TEST(csi_capacity_follows_volumes)
{
    char uid[64], other[64];
    struct parts w;

    begin_with_zones(&w);
    put_claim(&w, "x", uid);
    pass(&w, 2);
    ASSERT_CAPACITIES(&w, "fast a 7Gi -\nfast b 10Gi -\n");
    pass(&w, 60);
    ASSERT_CAPACITIES(&w, "fast a 7Gi -\nfast b 7Gi -\n");
    drop_claim(&w, "x", uid);
    pass(&w, 2);
    ASSERT_CAPACITIES(&w, "fast a 10Gi -\nfast b 7Gi -\n");
    pass(&w, 60);
    buf_clear(&fake_of_parts()->log);
    fake_of_parts()->capacity = GIB;
    fail_next("CreateVolume", RPC_RESOURCE_EXHAUSTED, "full", 1);
    put_claim(&w, "y", other);
    pass(&w, 2);
    ASSERT_CAPACITIES(&w, "fast a 1Gi -\nfast b 1Gi -\n");
    end(&w);
}

static int64_t wrong_size;

static bool answer_wrongly(struct fake_csi *f, struct fake_request *q)
{
    Csi__V1__GetCapacityResponse out;

    (void)f;
    if (strcmp(q->method, "GetCapacity") != 0)
        return false;
    csi__v1__get_capacity_response__init(&out);
    out.available_capacity = wrong_size;
    ASSERT_OK(rpc_message_pack(&out.base, &q->answer, &err));
    return true;
}

/* csi-17: a driver that fails or answers nonsense leaves the objects as they are, and is asked again. */
TEST(csi_capacity_of_a_failing_driver)
{
    struct parts w;

    begin_with_zones(&w);
    fail_next("GetCapacity", RPC_INTERNAL, "broken", 1000);
    pass(&w, 120);
    ASSERT_CAPACITIES(&w, "fast a 10Gi -\nfast b 10Gi -\n");
    assert_true(count_calls("GetCapacity") < 40);
    fail_next(NULL, RPC_OK, NULL, 0);
    fake_of_parts()->capacity = 4 * GIB;
    pass(&w, 60);
    ASSERT_CAPACITIES(&w, "fast a 4Gi -\nfast b 4Gi -\n");
    wrong_size = -1;
    fake_of_parts()->serve = answer_wrongly;
    pass(&w, 120);
    ASSERT_CAPACITIES(&w, "fast a 4Gi -\nfast b 4Gi -\n");
    wrong_size = INT64_MAX;
    pass(&w, 60);
    ASSERT_CAPACITIES(&w, "fast a 9223372036854775807 -\nfast b 9223372036854775807 -\n");
    end(&w);
}

/* csi-17: there is a limit of objects, and of calls in flight. */
TEST(csi_capacity_has_a_limit)
{
    struct parts w;

    begin(&w);
    put_driver(&w);
    fake_of_parts()->held = "GetCapacity";
    for (unsigned i = 0; i < 101; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "n%u", i);
        put_node(&w, name, name);
        put_class(&w, name, "WaitForFirstConsumer");
    }
    pass(&w, 1);
    assert_metric(&w, "csistoragecapacities_desired_goal{driver_name=\"" FAKE_DRIVER "\"} 10000");
    ASSERT_INT(CSI_OTHERS_MAX, (int)fake_of_parts()->in_flight);
    end(&w);
}

/* csi-17: in a pod, the objects belong to the pod's controller, if that is in their namespace. */
TEST(csi_capacity_belongs_to_the_pod)
{
    struct parts w;

    begin(&w);
    the_pod = "me";
    settings.capacity_namespace = "default";
    ASSERT_SENT(&w.served, 201, "POST", "/api/v1/namespaces/default/pods",
                "{'metadata':{'name':'me','ownerReferences':[{'apiVersion':'apps/v1','kind':'ReplicaSet',"
                "'name':'rs','uid':'u-1','controller':true}]},"
                "'spec':{'containers':[{'name':'c','image':'i'}]}}");
    w.is_dead = true;
    process_care(&w);
    put_driver(&w);
    put_node(&w, "n", "a");
    put_class(&w, "fast", "WaitForFirstConsumer");
    pass(&w, 1);
    ASSERT_SENT(&w.served, 200, "GET", "/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities",
                NULL);
    ASSERT_GOT(&w.served,
               "[{'apiVersion':'apps/v1','kind':'ReplicaSet','name':'rs','uid':'u-1','controller':true}]",
               "items/0/metadata/ownerReferences");
    end(&w);
    the_pod = NULL;
}

/* --- Whatever fails, the end is the same --- */

static void publish_and_remove(struct parts *w)
{
    put_driver(w);
    put_node(w, "n", "a");
    put_node(w, "m", "b");
    put_class(w, "fast", "WaitForFirstConsumer");
    put_class(w, "slow", "WaitForFirstConsumer");
    pass(w, SETTLE_S);
    (void)fake_csi_add(fake_of_parts(), "by-other-means", 3 * GIB);
    pass(w, SETTLE_S);
    ASSERT_SENT(&w->served, 200, "DELETE", capacity_path(w, "fast"), NULL);
    ASSERT_SENT(&w->served, 200, "DELETE", CLASSES "/slow", NULL);
    pass(w, 600);
    ASSERT_CAPACITIES(w, "fast a 7Gi -\nfast b 7Gi -\n");
}

/* csi-17: each request and each call fails once, or the process ends with it. */
TEST(csi_capacity_ends_the_same_with_every_fault)
{
    settings = (struct csi_driver_settings){ 0 };
    the_function = &csi_provisioner_type;
    fake_on_made = with_ten_gib;
    assert_all_ends_the_same(&csi_part, publish_and_remove);
}

TEST_MAIN()
