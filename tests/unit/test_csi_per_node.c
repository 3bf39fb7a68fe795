/* The provisioner of a driver that is deployed per node, on the real API core: csi-18. The functions of two
 * nodes are in one process and share a driver, which is one driver per node in reality. */
#include "tests/unit/test_csi_part.h"

#define CSI_NODES "/apis/storage.k8s.io/v1/csinodes"
#define CSI_DRIVERS "/apis/storage.k8s.io/v1/csidrivers"
#define CAPACITIES "/apis/storage.k8s.io/v1/namespaces/kube-system/csistoragecapacities"
#define RECORD "/api/v1/namespaces/default/configmaps/berth-csi-fake.csi-"
#define GIB ((int64_t)1 << 30)

static void pass(struct parts *w, unsigned seconds)
{
    parts_pass_ns(w, (uint64_t)seconds * NS_PER_S);
}

static void put_node(struct parts *w, const char *name)
{
    char body[512];

    (void)snprintf(body, sizeof body, "{'metadata':{'name':'%s','labels':{'fake.csi/node':'%s'}}}", name,
                   name);
    ASSERT_SENT(&w->served, 201, "POST", NODES, body);
    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'%s'},'spec':{'drivers':[{'name':'" FAKE_DRIVER
                   "','nodeID':'%s','topologyKeys':['fake.csi/node']}]}}",
                   name, name);
    ASSERT_SENT(&w->served, 201, "POST", CSI_NODES, body);
}

static void put_class(struct parts *w, const char *binding)
{
    char body[512];

    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'c'},'provisioner':'" FAKE_DRIVER
                   "','volumeBindingMode':'%s','reclaimPolicy':'Delete'}",
                   binding);
    ASSERT_SENT(&w->served, 201, "POST", CLASSES, body);
}

static void put_claim(struct parts *w, const char *annotations)
{
    char body[1024];

    (void)snprintf(
        body, sizeof body,
        "{'metadata':{'name':'x','annotations':{'volume.kubernetes.io/storage-provisioner':'" FAKE_DRIVER
        "'%s}},'spec':{'accessModes':['ReadWriteOnce'],'storageClassName':'c',"
        "'resources':{'requests':{'storage':'3Gi'}}}}",
        annotations);
    ASSERT_SENT(&w->served, 201, "POST", CLAIMS, body);
}

/* The node that the claim names; "": none. */
static const char *selected_node(struct parts *w)
{
    static char node[64];
    const struct json *d = &w->served.doc;
    json_ref annotations;

    ASSERT_SENT(&w->served, 200, "GET", CLAIMS "/x", NULL);
    annotations = json_get(d, json_get(d, w->served.root, "metadata"), "annotations");
    (void)snprintf(node, sizeof node, "%.*s",
                   STR_ARG(json_get_text(d, annotations, "volume.kubernetes.io/selected-node")));
    return node;
}

static void with_room(struct fake_csi *f)
{
    f->capacity = 10 * GIB;
    f->topology = "fake.csi/node=b";
}

static void begin(struct parts *w, const char *binding)
{
    settings = (struct csi_driver_settings){ .is_node_deployment = true };
    the_function = &csi_provisioner_type;
    the_node = "a";
    the_other_node = "b";
    fake_on_made = with_room;
    parts_init(w, &csi_part);
    put_node(w, "a");
    put_node(w, "b");
    put_class(w, binding);
    pass(w, 1);
}

static void end(struct parts *w)
{
    assert_careful(fake_of_parts());
    parts_done(w);
    the_node = the_other_node = NULL;
}

/* csi-18: only the selected node creates the volume, and keeps the record of its calls. */
TEST(csi_per_node_serves_the_selected_node)
{
    struct parts w;

    begin(&w, "WaitForFirstConsumer");
    put_claim(&w, "");
    pass(&w, 600);
    ASSERT_INT(0, count_calls("CreateVolume"));
    ASSERT_STR("", selected_node(&w));
    ASSERT_SENT(&w.served, 200, "MERGE", CLAIMS "/x",
                "{'metadata':{'annotations':{'volume.kubernetes.io/selected-node':'b'}}}");
    pass(&w, 1);
    ASSERT_INT(1, count_calls("CreateVolume"));
    ASSERT_SENT(&w.served, 200, "GET", VOLUMES, NULL);
    assert_int_equal(got_items(&w.served), 1);
    assert_non_null(strstr(got(&w.served, "items/0/spec/csi/volumeAttributes"), "-fake.csi-b\""));
    ASSERT_SENT(&w.served, 200, "GET", RECORD "b", NULL);
    ASSERT_GOT(&w.served, "{'csi.berth.io/node':'b'}", "metadata/annotations");
    ASSERT_GONE(&w, RECORD "a");
    end(&w);
}

/* csi-18: a released volume is deleted by the node that its affinity names. */
TEST(csi_per_node_deletes_its_volumes)
{
    char path[256];
    struct parts w;

    begin(&w, "WaitForFirstConsumer");
    the_other_node = NULL; /* only a from here on */
    put_claim(&w, ",'volume.kubernetes.io/selected-node':'b'");
    pass(&w, 1);
    ASSERT_SENT(&w.served, 200, "GET", VOLUMES, NULL);
    (void)snprintf(path, sizeof path, VOLUMES "/%s/status", got(&w.served, "items/0/metadata/name"));
    ASSERT_SENT(&w.served, 200, "MERGE", CLAIMS "/x", "{'metadata':{'finalizers':null}}");
    w.is_dead = true;
    process_care(&w);
    ASSERT_SENT(&w.served, 200, "DELETE", CLAIMS "/x", NULL);
    ASSERT_SENT(&w.served, 200, "MERGE", path, "{'status':{'phase':'Released'}}");
    pass(&w, 600);
    ASSERT_INT(0, count_calls("DeleteVolume"));
    the_other_node = "b";
    w.is_dead = true;
    process_care(&w);
    pass(&w, 600);
    ASSERT_INT(1, count_calls("DeleteVolume"));
    ASSERT_INT(0, fake_csi_count_volumes(fake_of_parts()));
    end(&w);
}

/* csi-18: one node selects itself for a claim with immediate binding, not before 20 seconds. */
TEST(csi_per_node_selects_itself)
{
    struct parts w;

    begin(&w, "Immediate");
    put_claim(&w, "");
    pass(&w, 19);
    ASSERT_STR("", selected_node(&w));
    pass(&w, 60);
    assert_true(strcmp(selected_node(&w), "a") == 0 || strcmp(selected_node(&w), "b") == 0);
    ASSERT_INT(1, count_calls("CreateVolume"));
    ASSERT_INT(1, fake_csi_count_volumes(fake_of_parts()));
    end(&w);
}

/* csi-18: a node without room leaves the claim to others, and tries again. */
TEST(csi_per_node_without_room_waits)
{
    struct parts w;

    begin(&w, "Immediate");
    fake_of_parts()->capacity = 2 * GIB;
    put_claim(&w, "");
    pass(&w, 300);
    ASSERT_STR("", selected_node(&w));
    assert_true(count_calls("GetCapacity") < 20);
    fake_of_parts()->capacity = 10 * GIB;
    fake_of_parts()->volume_max = 2 * GIB;
    pass(&w, 300);
    ASSERT_STR("", selected_node(&w));
    fake_of_parts()->volume_max = 0;
    fail_next("GetCapacity", RPC_UNAVAILABLE, "away", 2);
    pass(&w, 300);
    ASSERT_INT(1, count_calls("CreateVolume"));
    end(&w);
}

/* csi-18: a node that turns out to be full is released, and another one is selected. */
TEST(csi_per_node_gives_a_claim_back)
{
    struct parts w;

    begin(&w, "Immediate");
    fail_next("CreateVolume", RPC_RESOURCE_EXHAUSTED, "full", 1);
    put_claim(&w, "");
    pass(&w, 600);
    ASSERT_INT(2, count_calls("CreateVolume"));
    ASSERT_INT(1, fake_csi_count_volumes(fake_of_parts()));
    end(&w);
}

/* csi-17, csi-18: each node publishes its own segment, with its own label. */
TEST(csi_per_node_publishes_its_capacity)
{
    struct parts w;

    begin(&w, "WaitForFirstConsumer");
    ASSERT_SENT(&w.served, 201, "POST", CSI_DRIVERS,
                "{'metadata':{'name':'" FAKE_DRIVER "'},'spec':{'storageCapacity':true}}");
    pass(&w, 1);
    ASSERT_SENT(&w.served, 200, "GET", CAPACITIES, NULL);
    assert_int_equal(got_items(&w.served), 2);
    assert_non_null(strstr(buf_cstr(&w.served.text), "external-provisioner-a"));
    assert_non_null(strstr(buf_cstr(&w.served.text), "external-provisioner-b"));
    end(&w);
}

static void provision_at_once(struct parts *w)
{
    put_claim(w, ""); /* first: its uid is the same in every run */
    put_node(w, "a");
    put_node(w, "b");
    put_class(w, "Immediate");
    ASSERT_SENT(&w->served, 200, "MERGE", CLAIMS "/x", "{'metadata':{'labels':{'class':'exists'}}}");
    pass(w, 2 * SETTLE_S);
    assert_true(selected_node(w)[0] != '\0');
    ASSERT_INT(1, fake_csi_count_volumes(fake_of_parts()));
    /* Which node and when is chance. */
    ASSERT_SENT(&w->served, 200, "MERGE", CLAIMS "/x",
                "{'metadata':{'annotations':{'volume.kubernetes.io/selected-node':'one'}}}");
    ASSERT_SENT(&w->served, 200, "GET", VOLUMES, NULL);
    assert_int_equal(got_items(&w->served), 1);
}

/* csi-18: each request and each call fails once, or the processes end with it: still one volume. */
TEST(csi_per_node_ends_the_same_with_every_fault)
{
    settings = (struct csi_driver_settings){ .is_node_deployment = true, .name_prefix = "pvc" };
    the_function = &csi_provisioner_type;
    the_node = "a";
    the_other_node = "b";
    fake_on_made = with_room;
    for (unsigned trouble = TROUBLE_NONE; trouble < TROUBLE_COUNT; trouble++) {
        _cleanup_(buf_done_p) struct buf ignored = BUF_INIT((size_t)16 << 20);
        unsigned count = parts_run(&csi_part, provision_at_once, TROUBLE_NONE, 0, &ignored);

        for (unsigned at = 1; trouble != TROUBLE_NONE && at <= count; at++) {
            buf_clear(&ignored);
            if (tests_take_turn())
                (void)parts_run(&csi_part, provision_at_once, (enum trouble)trouble, at, &ignored);
        }
    }
    the_node = the_other_node = NULL;
}

TEST_MAIN()
