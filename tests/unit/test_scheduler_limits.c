/* What a node can have: volumes of a driver, disks that are not shared, and volumes of its zone. */
#include "tests/unit/test_scheduler.h"

#include "tests/unit/test_binder_objects.h"

#include "tests/unit/test.h"

#define CSI_NODES "/apis/storage.k8s.io/v1/csinodes"
#define FULL "0/1 nodes are available: 1 node(s) exceed max volume count."
#define NO_ZONE "0/1 nodes are available: 1 node(s) had no available volume zone."

static void begin(struct world *w, const char *labels)
{
    scheduling_init(w);
    add_node(w, "n", labels, "");
    world_start(w);
}

/* count "": the driver is there and has no limit. */
static void add_csi_node(struct world *w, const char *node, const char *count)
{
    char body[512], limit[64] = "";

    if (count[0])
        (void)snprintf(limit, sizeof limit, ",'allocatable':{'count':%s}", count);
    (void)snprintf(body, sizeof body,
                   "{'apiVersion':'storage.k8s.io/v1','kind':'CSINode','metadata':{'name':'%s'},'spec':{"
                   "'drivers':[{'name':'x.csi','nodeID':'%s'%s}]}}",
                   node, node, limit);
    ASSERT_SENT(&w->served, 201, "POST", CSI_NODES, body);
}

/* A volume pv-NAME with labels and a claim NAME that are bound to each other. */
static void add_pair(struct world *w, const char *name, const char *labels, const char *source)
{
    char volume[64], meta[512], rest[128];

    (void)snprintf(volume, sizeof volume, "pv-%s", name);
    (void)snprintf(meta, sizeof meta, ",'labels':{%s}", labels);
    (void)snprintf(rest, sizeof rest, ",'storageClassName':'','volumeName':'%s'", volume);
    make_volume(w, volume, meta, source, "");
    make_claim(w, name, "", rest);
    world_settle_for(w, 1);
    assert_bound(w, name, volume);
}

/* The same of driver x.csi; the handle is the claim's name. */
static void add_csi_pair(struct world *w, const char *name)
{
    char source[128];

    (void)snprintf(source, sizeof source, "'csi':{'driver':'x.csi','volumeHandle':'%s'}", name);
    add_pair(w, name, "", source);
}

static void add_placed(struct world *w, const char *name, const char *claim, const char *claim2)
{
    add_pod(w, name, claim, claim2, ",'nodeName':'n'");
    world_settle_for(w, 0);
}

static void add_waiting(struct world *w, const char *claim, const char *claim2)
{
    add_pod(w, "p", claim, claim2, "");
    world_settle_for(w, 0);
}

/* --- How many --- */

/* scheduler-60 */
TEST(scheduler_60_volume_count)
{
    struct world w;

    begin(&w, "");
    add_csi_node(&w, "n", "2");
    add_csi_pair(&w, "a");
    add_csi_pair(&w, "b");
    add_csi_pair(&w, "c");
    add_placed(&w, "p1", "a", "");
    add_placed(&w, "p2", "b", "a"); /* a counts once */
    add_waiting(&w, "c", "");
    assert_pending(&w, "p", "Unschedulable", FULL);
    add_pod(&w, "sharing", "a", "", "");
    world_settle_for(&w, 0);
    assert_on(&w, "sharing", "n");
    /* The node gets one free. */
    ASSERT_SENT(&w.served, 200, "DELETE", PODS "/p2?gracePeriodSeconds=0", NULL);
    world_settle_for(&w, 1);
    assert_on(&w, "p", "n");
    world_done(&w);
}

/* What a pod brings counts together, each volume once. */
TEST(scheduler_60_several_at_once)
{
    struct world w;

    begin(&w, "");
    add_csi_node(&w, "n", "2");
    add_csi_pair(&w, "a");
    add_csi_pair(&w, "b");
    add_csi_pair(&w, "c");
    add_placed(&w, "p1", "a", "");
    add_waiting(&w, "b", "c");
    assert_pending(&w, "p", "Unschedulable", FULL);
    add_pod(&w, "q", "b", "a", "");
    add_pod(&w, "r", "b", "b", "");
    world_settle_for(&w, 0);
    assert_on(&w, "q", "n");
    assert_on(&w, "r", "n");
    world_done(&w);
}

/* Volumes that are yet to be provisioned count by the class's driver; two pods of one claim share it. */
TEST(scheduler_60_volumes_to_come)
{
    struct world w;

    scheduling_init(&w);
    add_class(&w, "csi", "x.csi", "WaitForFirstConsumer", "");
    add_node(&w, "n", "", "");
    world_start(&w);
    add_csi_node(&w, "n", "1");
    make_claim(&w, "a", "", ",'storageClassName':'csi'");
    make_claim(&w, "b", "", ",'storageClassName':'csi'");
    add_placed(&w, "p1", "a", "");
    add_waiting(&w, "b", "");
    assert_pending(&w, "p", "Unschedulable", FULL);
    add_pod(&w, "sharing", "a", "", "");
    world_settle_for(&w, 0);
    look_at_claim(&w, "a"); /* it was chosen the node, and waits for the volume */
    assert_string_equal(annotation(&w, ANN_SELECTED_NODE), "n");
    world_done(&w);
}

/* scheduler-61 */
TEST(scheduler_61_attachments_count)
{
    static const char body[] =
        "{'apiVersion':'storage.k8s.io/v1','kind':'VolumeAttachment','metadata':{'name':"
        "'va'},'spec':{'attacher':'x.csi','nodeName':'n','source':{"
        "'persistentVolumeName':'pv-a'}}}";
    struct world w;

    begin(&w, "");
    add_csi_node(&w, "n", "1");
    add_csi_pair(&w, "a");
    add_csi_pair(&w, "b");
    ASSERT_SENT(&w.served, 201, "POST", ATTACHMENTS, body);
    world_settle_for(&w, 0);
    add_waiting(&w, "b", "");
    assert_pending(&w, "p", "Unschedulable", FULL);
    ASSERT_SENT(&w.served, 200, "DELETE", ATTACHMENTS "/va", NULL);
    world_settle_for(&w, 1);
    assert_on(&w, "p", "n");
    world_done(&w);
}

/* An attachment of a volume that a pod of the node has is the same volume. */
TEST(scheduler_61_attached_and_used)
{
    static const char body[] =
        "{'apiVersion':'storage.k8s.io/v1','kind':'VolumeAttachment','metadata':{'name':"
        "'va'},'spec':{'attacher':'x.csi','nodeName':'n','source':{"
        "'persistentVolumeName':'pv-a'}}}";
    struct world w;

    begin(&w, "");
    add_csi_node(&w, "n", "2");
    add_csi_pair(&w, "a");
    add_csi_pair(&w, "b");
    ASSERT_SENT(&w.served, 201, "POST", ATTACHMENTS, body);
    add_placed(&w, "p1", "a", "");
    add_waiting(&w, "b", "");
    assert_on(&w, "p", "n");
    world_done(&w);
}

/* scheduler-62, and other ways to be without a limit. */
TEST(scheduler_62_no_limit)
{
    static const struct {
        const char *csi_node;
        const char *count;
        const char *source;
    } rows[] = {
        { NULL, NULL, "'csi':{'driver':'x.csi','volumeHandle':'h'}" },
        { "other", "0", "'csi':{'driver':'x.csi','volumeHandle':'h'}" },
        { "n", "", "'csi':{'driver':'x.csi','volumeHandle':'h'}" },
        { "n", "0", "'csi':{'driver':'y.csi','volumeHandle':'h'}" }, /* not a driver of the node */
        { "n", "0", HOST_PATH },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world w;

        begin(&w, "");
        if (rows[i].csi_node)
            add_csi_node(&w, rows[i].csi_node, rows[i].count);
        add_pair(&w, "a", "", rows[i].source);
        add_waiting(&w, "a", "");
        assert_on(&w, "p", "n");
        world_done(&w);
    }
}

/* A limit of none at all, and one that grows. */
TEST(limit_grows)
{
    struct world w;

    begin(&w, "");
    add_csi_node(&w, "n", "0");
    add_csi_pair(&w, "a");
    add_waiting(&w, "a", "");
    assert_pending(&w, "p", "Unschedulable", FULL);
    ASSERT_SENT(&w.served, 200, "DELETE", CSI_NODES "/n", NULL);
    add_csi_node(&w, "n", "1");
    world_settle_for(&w, 1);
    assert_on(&w, "p", "n");
    world_done(&w);
}

/* --- FlexVolume drivers: the Node says --- */

#define FLEX "'flexVolume':{'driver':'acme/disk'}"

static void set_flex_limit(struct world *w, const char *count)
{
    char body[160];

    (void)snprintf(body, sizeof body, "{'status':{'allocatable':{'attachable-volumes-flex-acme_disk':%s}}}",
                   count);
    ASSERT_SENT(&w->served, 200, "MERGE", "/api/v1/nodes/n/status", body);
    world_settle_for(w, 0);
}

static void add_inline(struct world *w, const char *name, const char *node, const char *source)
{
    char body[512];

    (void)snprintf(body, sizeof body,
                   "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s'},'spec':{'containers':[{"
                   "'name':'c','image':'i'}],'volumes':[{'name':'v',%s}]%s}}",
                   name, source, node);
    ASSERT_SENT(&w->served, 201, "POST", PODS, body);
    world_settle_for(w, 0);
}

/* Claims' volumes count once, pods' own once for each pod. */
TEST(limit_of_a_flex_driver)
{
    struct world w;

    begin(&w, "");
    set_flex_limit(&w, "'2'");
    add_pair(&w, "a", "", FLEX);
    add_pair(&w, "b", "", FLEX);
    add_placed(&w, "p1", "a", "");
    add_inline(&w, "p2", ",'nodeName':'n'", FLEX);
    add_waiting(&w, "b", "");
    assert_pending(&w, "p", "Unschedulable", FULL);
    add_inline(&w, "q", "", FLEX);
    assert_pending(&w, "q", "Unschedulable", FULL);
    add_pod(&w, "sharing", "a", "", "");
    add_inline(&w, "other", "", "'flexVolume':{'driver':'acme/other'}");
    assert_on(&w, "sharing", "n");
    assert_on(&w, "other", "n");
    set_flex_limit(&w, "'3'"); /* the driver was replaced */
    world_settle_for(&w, 1);
    assert_on(&w, "p", "n");
    assert_pending(&w, "q", "Unschedulable", FULL);
    set_flex_limit(&w, "null");
    world_settle_for(&w, 5);
    assert_on(&w, "q", "n");
    world_done(&w);
}

/* --- Plugins that became CSI drivers --- */

static void add_migrating_node(struct world *w, const char *count)
{
    char body[512];

    (void)snprintf(
        body, sizeof body,
        "{'apiVersion':'storage.k8s.io/v1','kind':'CSINode','metadata':{'name':'n','annotations':{"
        "'storage.alpha.kubernetes.io/migrated-plugins':'kubernetes.io/aws-ebs,kubernetes.io/cinder'"
        "}},'spec':{'drivers':[{'name':'ebs.csi.aws.com','nodeID':'n','allocatable':{'count':%s}}]}}",
        count);
    ASSERT_SENT(&w->served, 201, "POST", CSI_NODES, body);
    world_settle_for(w, 0);
}

/* What names the plugin counts as what names the driver. */
TEST(limit_counts_volumes_that_have_moved)
{
    struct world w;

    begin(&w, "");
    add_migrating_node(&w, "2");
    add_pair(&w, "a", "", "'awsElasticBlockStore':{'volumeID':'aws://z/vol-1'}");
    add_pair(&w, "same", "", "'csi':{'driver':'ebs.csi.aws.com','volumeHandle':'vol-1'}");
    add_pair(&w, "b", "", "'awsElasticBlockStore':{'volumeID':'vol-3'}");
    add_placed(&w, "p1", "a", "");
    add_inline(&w, "p2", ",'nodeName':'n'", "'awsElasticBlockStore':{'volumeID':'vol-2'}");
    add_waiting(&w, "b", "");
    assert_pending(&w, "p", "Unschedulable", FULL);
    add_pod(&w, "sharing", "same", "", "");
    world_settle_for(&w, 0);
    assert_on(&w, "sharing", "n");
    world_done(&w);
}

/* A zone is the driver's where the node says that the driver serves the volume. */
TEST(topology_of_volumes_that_have_moved)
{
    static const char source[] =
        "'awsElasticBlockStore':{'volumeID':'v'},'nodeAffinity':{'required':{'nodeSelectorTerms':[{"
        "'matchExpressions':[{'key':'topology.kubernetes.io/zone','operator':'In','values':['a']}]}]}}";
    static const struct {
        const char *labels;
        bool is_migrating, is_refused;
    } rows[] = {
        { "'topology.ebs.csi.aws.com/zone':'a'", true, false },
        { "'topology.ebs.csi.aws.com/zone':'b','topology.kubernetes.io/zone':'a'", true, true },
        { "'topology.kubernetes.io/zone':'a'", false, false },
        { "'topology.ebs.csi.aws.com/zone':'a'", false, true },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world w;

        begin(&w, rows[i].labels);
        if (rows[i].is_migrating)
            add_migrating_node(&w, "9");
        add_pair(&w, "a", "", source);
        add_waiting(&w, "a", "");
        if (rows[i].is_refused)
            assert_pending(
                &w, "p", "Unschedulable",
                "0/1 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity.");
        else
            assert_on(&w, "p", "n");
        world_done(&w);
    }
}

/* --- Disks --- */

/* Two pods with volumes of their own that may be the same disk. */
TEST(inline_disks)
{
    static const struct {
        const char *a, *b;
        bool is_conflict;
    } rows[] = {
        { "'gcePersistentDisk':{'pdName':'d'}", "'gcePersistentDisk':{'pdName':'d'}", true },
        { "'gcePersistentDisk':{'pdName':'d','readOnly':true}", "'gcePersistentDisk':{'pdName':'d'}", true },
        { "'gcePersistentDisk':{'pdName':'d','readOnly':true}",
          "'gcePersistentDisk':{'pdName':'d','readOnly':true}", false },
        { "'gcePersistentDisk':{'pdName':'d'}", "'gcePersistentDisk':{'pdName':'e'}", false },
        { "'awsElasticBlockStore':{'volumeID':'d'}", "'awsElasticBlockStore':{'volumeID':'d'}", true },
        { "'awsElasticBlockStore':{'volumeID':'d','readOnly':true}",
          "'awsElasticBlockStore':{'volumeID':'d','readOnly':true}", true },
        { "'awsElasticBlockStore':{'volumeID':'d'}", "'awsElasticBlockStore':{'volumeID':'e'}", false },
        { "'gcePersistentDisk':{'pdName':'d'}", "'awsElasticBlockStore':{'volumeID':'d'}", false },
        { "'iscsi':{'targetPortal':'1.2.3.4','iqn':'iqn.2000-01.io.x:a','lun':0}",
          "'iscsi':{'targetPortal':'5.6.7.8','iqn':'iqn.2000-01.io.x:a','lun':1}", true },
        { "'iscsi':{'targetPortal':'1.2.3.4','iqn':'iqn.2000-01.io.x:a','lun':0}",
          "'iscsi':{'targetPortal':'1.2.3.4','iqn':'iqn.2000-01.io.x:b','lun':0}", false },
        { "'iscsi':{'targetPortal':'1.2.3.4','iqn':'iqn.2000-01.io.x:a','lun':0,'readOnly':true}",
          "'iscsi':{'targetPortal':'1.2.3.4','iqn':'iqn.2000-01.io.x:a','lun':0,'readOnly':true}", false },
        { "'rbd':{'monitors':['a','b'],'image':'i'}", "'rbd':{'monitors':['b','c'],'image':'i'}", true },
        { "'rbd':{'monitors':['a'],'image':'i'}", "'rbd':{'monitors':['a'],'image':'i','pool':'rbd'}", true },
        { "'rbd':{'monitors':['a'],'image':'i'}", "'rbd':{'monitors':['b'],'image':'i'}", false },
        { "'rbd':{'monitors':['a'],'image':'i'}", "'rbd':{'monitors':['a'],'image':'j'}", false },
        { "'rbd':{'monitors':['a'],'image':'i'}", "'rbd':{'monitors':['a'],'image':'i','pool':'x'}", false },
        { "'rbd':{'monitors':['a'],'image':'i','readOnly':true}",
          "'rbd':{'monitors':['a'],'image':'i','readOnly':true}", false },
        { "'emptyDir':{}", "'emptyDir':{}", false },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *const names[] = { "first", "p" }, *const sources[] = { rows[i].a, rows[i].b };
        char body[1024];
        struct world w;

        begin(&w, "");
        for (int k = 0; k < 2; k++) {
            (void)snprintf(
                body, sizeof body,
                "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s'},'spec':{'containers':[{"
                "'name':'c','image':'i'}],'volumes':[{'name':'e','emptyDir':{}},{'name':'v',%s}]}}",
                names[k], sources[k]);
            ASSERT_SENT(&w.served, 201, "POST", PODS, body);
            world_settle_for(&w, 0);
        }
        assert_on(&w, "first", "n");
        if (rows[i].is_conflict)
            assert_pending(&w, "p", "Unschedulable",
                           "0/1 nodes are available: 1 node(s) had no available disk.");
        else
            assert_on(&w, "p", "n");
        if (rows[i].is_conflict) { /* and it goes */
            ASSERT_SENT(&w.served, 200, "DELETE", PODS "/first?gracePeriodSeconds=0", NULL);
            world_settle_for(&w, 1);
            assert_on(&w, "p", "n");
        }
        world_done(&w);
    }
}

/* --- Zones --- */

#define GA "topology.kubernetes.io/"
#define BETA "failure-domain.beta.kubernetes.io/"

/* scheduler-63, scheduler-64 */
TEST(scheduler_63_64_zones)
{
    static const struct {
        const char *volume;
        const char *node;
        bool is_refused;
    } rows[] = {
        { "'" GA "zone':'a__b'", "'" GA "zone':'b'", false },
        { "'" GA "zone':'a__b'", "'" GA "zone':'a'", false },
        { "'" GA "zone':'a__b'", "'" GA "zone':'c'", true },
        { "'" GA "zone':'a__b'", "'" GA "zone':'a__b'", true },
        { "'" GA "zone':'a__b'", "", false },
        { "'" GA "zone':'a'", "'zone':'c'", false },
        { "'" GA "zone':'a'", "'" GA "region':'r'", true }, /* it has a zone's labels, but not this one */
        { "'" BETA "zone':'a'", "'" GA "zone':'a'", false },
        { "'" BETA "zone':'a'", "'" GA "zone':'b'", true },
        { "'" BETA "zone':'a'", "'" BETA "zone':'b','" GA "zone':'a'", true }, /* its own key comes first */
        { "'" GA "zone':'a'", "'" BETA "zone':'a'", true },
        { "'" GA "zone':'a','" GA "region':'r'", "'" GA "zone':'a','" GA "region':'r'", false },
        { "'" GA "zone':'a','" GA "region':'r'", "'" GA "zone':'a','" GA "region':'s'", true },
        { "'" BETA "region':'r'", "'" GA "region':'r'", false },
        { "", "'" GA "zone':'a'", false },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world w;

        begin(&w, rows[i].node);
        add_pair(&w, "a", rows[i].volume, HOST_PATH);
        add_waiting(&w, "a", "");
        if (rows[i].is_refused)
            assert_pending(&w, "p", "Unschedulable", NO_ZONE);
        else
            assert_on(&w, "p", "n");
        world_done(&w);
    }
}

/* A label without a value, or with an empty one among its values, says nothing. */
TEST(zone_label_says_nothing)
{
    static const char *const labels[] = { "'" GA "zone':''", "'" GA "zone':'a____b'" };

    for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
        struct world w;

        begin(&w, "'" GA "zone':'c'");
        add_pair(&w, "a", labels[i], HOST_PATH);
        add_waiting(&w, "a", "");
        assert_on(&w, "p", "n");
        world_done(&w);
    }
}

/* The node's label changes, and then the volume's. */
TEST(zone_changes)
{
    struct world w;

    begin(&w, "'" GA "zone':'c'");
    add_pair(&w, "a", "'" GA "zone':'a'", HOST_PATH);
    add_waiting(&w, "a", "");
    assert_pending(&w, "p", "Unschedulable", NO_ZONE);
    ASSERT_SENT(&w.served, 200, "MERGE", NODES "/n", "{'metadata':{'labels':{'" GA "zone':'a'}}}");
    world_settle_for(&w, 1);
    assert_on(&w, "p", "n");
    ASSERT_SENT(&w.served, 200, "MERGE", NODES "/n", "{'metadata':{'labels':{'" GA "zone':'d'}}}");
    add_pod(&w, "q", "a", "", "");
    world_settle_for(&w, 1);
    assert_pending(&w, "q", "Unschedulable", NO_ZONE);
    patch_volume(&w, "pv-a", "", "{'metadata':{'labels':{'" GA "zone':'d'}}}");
    world_settle_for(&w, 1);
    assert_on(&w, "q", "n");
    world_done(&w);
}

TEST_MAIN()
