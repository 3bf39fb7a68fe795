/* Pods that are stuck, one situation a test: the true cause comes first. */
#include "tests/unit/test_why_still.h"

#include "tests/unit/test_scheduler.h"

#define READY "True"

static void assert_pod(struct scene *x, const char *cause, const char *sentence)
{
    assert_scene(x, KIND_POD, "p", cause, sentence);
}

/* --- Not to be scheduled --- */

TEST(stuck_gated)
{
    struct scene x = { 0 };

    put_node(&x, "n1", "", "", READY);
    put_pod(&x, "p", "", ",'schedulingGates':[{'name':'a.io/one'},{'name':'b'}]", PENDING);
    assert_pod(&x, "gated", "it has scheduling gates: a.io/one, b");
    scene_close(&x);
}

TEST(stuck_other_scheduler)
{
    struct scene x = { 0 };

    put_node(&x, "n1", "", "", READY);
    put_pod(&x, "p", "", ",'schedulerName':'mine'", PENDING);
    assert_pod(&x, "other-scheduler", "it names scheduler \"mine\", which is not default-scheduler");
    scene_close(&x);
}

TEST(stuck_no_nodes)
{
    struct scene x = { 0 };

    put_pod(&x, "p", "", "", PENDING);
    assert_pod(&x, "no-nodes", "no node exists");
    scene_close(&x);
}

TEST(stuck_being_deleted_without_a_node)
{
    struct scene x = { 0 };

    put_node(&x, "n1", "", "", READY);
    put_pod(&x, "p", DELETED, "", PENDING);
    assert_pod(&x, "deleting", "it is being deleted, and is not scheduled any more");
    ASSERT_TEXT("pod default/p: Terminating, because");
    scene_close(&x);
}

/* Without a scheduler to ask, what one wrote. */
TEST(stuck_as_the_condition_says)
{
    struct scene x = { 0 };

    put_node(&x, "n1", "", "", READY);
    put_pod(&x, "p", "", "",
            PENDING ",'conditions':[{'type':'PodScheduled','status':'False','reason':'Unschedulable',"
                    "'message':'0/1 nodes are available: 1 Insufficient cpu.'}]");
    scene_open(&x);
    x.w.scheduler = NULL;
    scene_ask(&x, KIND_POD, "p");
    ASSERT_SAID("unschedulable", "0/1 nodes are available: 1 Insufficient cpu.");
    scene_close(&x);
}

/* --- Nodes --- */

TEST(stuck_taints_and_selectors)
{
    struct scene x = { 0 };

    put_node(&x, "n1", "", "'taints':[{'key':'a','value':'b','effect':'NoSchedule'}]", READY);
    put_node(&x, "n2", "", "'unschedulable':true", READY);
    put_node(&x, "n3", ",'disk':'hdd'", "", READY);
    put_pod(&x, "p", "", ",'nodeSelector':{'disk':'ssd'}", PENDING);
    assert_pod(
        &x, "node-affinity",
        "none of the 3 nodes is suitable; the closest, n3, is excluded by the pod's nodeSelector or node "
        "affinity: it lacks the label disk=ssd");
    ASSERT_TEXT("n1: has a taint that the pod does not tolerate: {a: b}\n");
    ASSERT_TEXT("n2: is closed to new pods (cordoned)\n");
    ASSERT_TEXT("the scheduler reports: 0/3 nodes are available");
    scene_close(&x);
}

TEST(stuck_only_node_is_full)
{
    struct scene x = { 0 };

    scene_put(
        &x, KIND_NODE,
        "{'apiVersion':'v1','kind':'Node','metadata':{'name':'small','uid':'u-s','resourceVersion':'1'},"
        "'status':{'allocatable':{'cpu':'1','memory':'1Gi','pods':'10'}}}");
    scene_put(&x, KIND_POD,
              "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p','namespace':'default','uid':'u-p',"
              "'resourceVersion':'1'},'spec':{'schedulerName':'default-scheduler','containers':[{'name':'c',"
              "'image':'i','resources':{'requests':{'cpu':'2'}}}]}}");
    assert_pod(&x, "cpu", "the only node, small, does not have enough free cpu");
    scene_close(&x);
}

/* --- Claims --- */

TEST(stuck_claim_missing)
{
    struct scene x = { 0 };

    put_node(&x, "n1", "", "", READY);
    put_pod(&x, "p", "", USES("db"), PENDING);
    assert_pod(&x, "no-such-claim", "claim db does not exist");
    ASSERT_TEXT("pvc default/db: missing, because it does not exist\n");
    scene_close(&x);
}

TEST(stuck_claim_unbound)
{
    struct scene x = { 0 };

    put_node(&x, "n1", "", "", READY);
    put_claim(&x, "db", "", ONCE ",'storageClassName':'fast'", "Pending");
    put_pod(&x, "p", "", USES("db"), PENDING);
    scene_open(&x);
    scene_ask(&x, KIND_POD, "p");
    ASSERT_STR("claim-unbound", said_member("cause"));
    if (strncmp(said_member("sentence"), "claim db is not bound: ", 23) != 0)
        fail_msg("%s", said_member("sentence"));
    ASSERT_TEXT("fast"); /* the claim's own story is told in its part */
    ASSERT_TEXT(
        "pod default/p: Pending, because claim db is not bound: StorageClass \"fast\" does not exist\n"
        "What you can do:\n"
        "  - Create the class: none exists yet.\n");
    ASSERT_TEXT("  pvc default/db: Pending\n"); /* and not the same once more */
    scene_close(&x);
}

TEST(stuck_claim_lost)
{
    struct scene x = { 0 };

    put_node(&x, "n1", "", "", READY);
    put_claim(&x, "db", ",'annotations':{'" ANN_BIND_COMPLETED "':'yes'}", ONCE ",'volumeName':'gone'",
              "Lost");
    put_pod(&x, "p", "", USES("db"), PENDING);
    assert_pod(&x, "claim-lost", "claim db: its volume gone was deleted");
    scene_close(&x);
}

TEST(stuck_claim_being_deleted)
{
    struct scene x = { 0 };

    put_node(&x, "n1", "", "", READY);
    put_claim(&x, "db", DELETED ",'finalizers':['" FINALIZER_CLAIM_PROTECTION "']", ONCE, "Pending");
    put_pod(&x, "p", "", USES("db"), PENDING);
    assert_pod(&x, "claim-deleting", "claim db: it is being deleted");
    scene_close(&x);
}

TEST(stuck_claim_of_an_ephemeral_volume)
{
    static const char *const volume =
        ",'volumes':[{'name':'scratch','ephemeral':{'volumeClaimTemplate':{'spec':"
        "{'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':"
        "'1Gi'}}}}}}]";
    struct scene x = { 0 }, y = { 0 };

    put_node(&x, "n1", "", "", READY);
    put_pod(&x, "p", "", volume, PENDING);
    assert_pod(&x, "claim-awaited", "claim p-scratch: it is created for the pod, and does not exist yet");
    scene_close(&x);
    put_node(&y, "n1", "", "", READY);
    put_claim(&y, "p-scratch", "", ONCE, "Pending");
    put_pod(&y, "p", "", volume, PENDING);
    assert_pod(&y, "claim-not-owned",
               "claim p-scratch: it has the name of the pod's own claim, but the pod does not own it");
    scene_close(&y);
}

TEST(stuck_volume_on_a_node_that_the_selector_excludes)
{
    struct scene x = { 0 };

    put_node(&x, "n1", ",'disk':'ssd'", "", READY);
    put_node(&x, "n2", "", "", READY);
    put_pair(&x, "db", ONCE, ON_NODE("n2"));
    put_pod(&x, "p", "", ",'nodeSelector':{'disk':'ssd'}" USES("db"), PENDING);
    assert_pod(
        &x, "volume-affinity",
        "volume pv-db of claim db can only be used from n2; n2 is excluded by the pod's nodeSelector or "
        "node affinity: it lacks the label disk=ssd");
    ASSERT_TEXT("Allow the pod on a node that can use its volume");
    scene_close(&x);
}

TEST(stuck_volume_whose_node_is_gone)
{
    struct scene x = { 0 };

    put_node(&x, "n1", "", "", READY);
    put_pair(&x, "db", ONCE, ON_NODE("n9"));
    put_pod(&x, "p", "", USES("db"), PENDING);
    assert_pod(
        &x, "node-gone",
        "volume pv-db of claim db needs a node labelled kubernetes.io/hostname=n9; the only node is n1");
    ASSERT_TEXT("- Add a node labelled kubernetes.io/hostname=n9; the volume cannot move.\n");
    scene_close(&x);
}

TEST(stuck_volumes_on_different_nodes)
{
    struct scene x = { 0 };

    put_node(&x, "n1", "", "", READY);
    put_node(&x, "n2", "", "", READY);
    put_pair(&x, "a", ONCE, ON_NODE("n1"));
    put_pair(&x, "b", ONCE, ON_NODE("n2"));
    put_pod(&x, "p", "",
            ",'volumes':[{'name':'a','persistentVolumeClaim':{'claimName':'a'}},{'name':'b',"
            "'persistentVolumeClaim':{'claimName':'b'}}]",
            PENDING);
    assert_pod(&x, "volumes-apart", "no node can use all of its volumes: pv-a on n1, pv-b on n2");
    scene_close(&x);
}

TEST(stuck_claim_for_one_pod_alone)
{
    struct scene x = { 0 };

    put_node(&x, "n1", "", "", READY);
    put_pair(&x, "db", ",'accessModes':['ReadWriteOncePod']", NFS);
    put_pod(&x, "other", "", ON_N1 USES("db"), "'phase':'Running'");
    put_pod(&x, "p", "", USES("db"), PENDING);
    assert_pod(&x, "in-use-by-another-pod",
               "claim db allows only one pod (ReadWriteOncePod), and pod other on n1 uses it");
    scene_close(&x);
}

TEST(stuck_zone)
{
    struct scene x = { 0 };

    put_node(&x, "n1", ",'topology.kubernetes.io/zone':'a'", "", READY);
    put_claim(&x, "db", ",'annotations':{'" ANN_BIND_COMPLETED "':'yes'}", ONCE ",'volumeName':'pv'",
              "Bound");
    put_volume(&x, "pv", ",'labels':{'topology.kubernetes.io/zone':'b'}", ONCE NFS OF_CLAIM("db"), "Bound");
    put_pod(&x, "p", "", USES("db"), PENDING);
    assert_pod(
        &x, "zone",
        "volume pv of claim db is in topology.kubernetes.io/zone=b, and no otherwise suitable node is");
    scene_close(&x);
}

TEST(stuck_volume_limit)
{
    struct scene x = { 0 };

    put_node(&x, "n1", "", "", READY);
    scene_put(&x, KIND_CSI_NODE,
              "{'apiVersion':'storage.k8s.io/v1','kind':'CSINode','metadata':{'name':'n1','uid':'u-k',"
              "'resourceVersion':'1'},'spec':{'drivers':[{'name':'d.io','nodeID':'x','allocatable':{'count':"
              "0}}]}}");
    put_pair(&x, "db", ONCE, CSI);
    put_pod(&x, "p", "", USES("db"), PENDING);
    assert_pod(&x, "volume-limit", "node n1 has reached its volume limit");
    ASSERT_TEXT("node n1 accepts 0 volumes of driver d.io\n");
    scene_close(&x);
}

/* --- Claims that wait for the pod --- */

TEST(stuck_free_volume_on_an_excluded_node)
{
    struct scene x = { 0 };

    put_node(&x, "n1", ",'disk':'ssd'", "", READY);
    put_node(&x, "n2", "", "", READY);
    put_class(&x, "slow", NEVER, LATER, "");
    put_claim(&x, "db", "", CLASSED("slow"), "Pending");
    put_volume(&x, "pv-4", "", CLASSED("slow") ON_NODE("n2"), "Available");
    put_volume(&x, "pv-5", "", CLASSED("fast") ON_NODE("n1"), "Available");
    put_volume(&x, "pv-6", "", CLASSED("slow") ON_NODE("n9"), "Available");
    put_volume(&x, "pv-7", "", CLASSED("slow") ON_NODE("n1") OF_CLAIM("else"), "Bound");
    put_pod(&x, "p", "", ",'nodeSelector':{'disk':'ssd'}" USES("db"), PENDING);
    assert_pod(&x, "no-volume",
               "claim db: no available volume can be used on a node where the pod can run; the closest is "
               "pv-4: node n2 is "
               "excluded by the pod's nodeSelector or node affinity");
    ASSERT_TEXT("pv-4: node n2 is excluded by the pod's nodeSelector or node affinity\n");
    ASSERT_TEXT("pv-5: volume has class fast, claim has slow\n");
    ASSERT_TEXT("pv-6: needs a node labelled kubernetes.io/hostname=n9\n");
    ASSERT_TEXT("pv-7: bound to default/else\n");
    scene_close(&x);
}

/* The same world, and the claim is asked for. */
TEST(stuck_claim_waits_for_a_pod_that_cannot_go_where_its_volume_is)
{
    struct scene x = { 0 };

    put_node(&x, "n1", ",'disk':'ssd'", "", READY);
    put_node(&x, "n2", "", "", READY);
    put_class(&x, "slow", NEVER, LATER, "");
    put_claim(&x, "db", "", CLASSED("slow"), "Pending");
    put_volume(&x, "pv-4", "", CLASSED("slow") ON_NODE("n2"), "Available");
    put_pod(&x, "p", "", ",'nodeSelector':{'disk':'ssd'}" USES("db"), PENDING);
    assert_scene(&x, KIND_CLAIM, "db", "node-affinity",
                 "no available volume can be used on a node where the pod can run; the closest is pv-4: node "
                 "n2 is excluded by "
                 "the pod's nodeSelector or node affinity");
    ASSERT_TEXT("it waits for pod p to be scheduled\n");
    scene_close(&x);
}

TEST(stuck_claim_waits_for_a_pod_that_cannot_go_anywhere)
{
    struct scene x = { 0 };

    put_node(&x, "n1", "", "'unschedulable':true", READY);
    put_class(&x, "fast", "d.io", LATER, "");
    put_claim(&x, "db", "", CLASSED("fast"), "Pending");
    put_pod(&x, "p", "", USES("db"), PENDING);
    assert_scene(&x, KIND_CLAIM, "db", "waits-for-scheduling", "it waits for pod p to be scheduled");
    ASSERT_TEXT("d.io provisions it for the node that is selected for the pod\n");
    still_start_scheduler(&x.s);
    scene_ask(&x, KIND_CLAIM, "db");
    ASSERT_SAID("waits-for-scheduling", "it waits for pod p to be scheduled");
    scene_close(&x);
}

TEST(stuck_two_claims_and_one_volume)
{
    struct scene x = { 0 };

    put_node(&x, "n1", "", "", READY);
    put_class(&x, "slow", NEVER, LATER, "");
    put_claim(&x, "a", "", CLASSED("slow"), "Pending");
    put_claim(&x, "b", "", CLASSED("slow"), "Pending");
    put_volume(&x, "pv", "", CLASSED("slow") ON_NODE("n1"), "Available");
    put_pod(&x, "p", "",
            ",'volumes':[{'name':'a','persistentVolumeClaim':{'claimName':'a'}},{'name':'b',"
            "'persistentVolumeClaim':{'claimName':'b'}}]",
            PENDING);
    assert_pod(&x, "too-few-volumes",
               "each of its claims fits some volume, but no node has volumes for all of them");
    scene_close(&x);
}

TEST(stuck_no_volume_at_all)
{
    struct scene x = { 0 };

    put_node(&x, "n1", "", "", READY);
    put_class(&x, "slow", NEVER, LATER, "");
    put_claim(&x, "db", "", CLASSED("slow"), "Pending");
    put_pod(&x, "p", "", USES("db"), PENDING);
    assert_pod(&x, "no-volume", "claim db: no PersistentVolume exists, and class slow provisions none");
    scene_close(&x);
}

TEST(stuck_driver_without_space)
{
    struct scene x = { 0 };

    put_node(&x, "n1", "", "", READY);
    put_class(&x, "fast", "d.io", LATER, "");
    scene_put(&x, KIND_CSI_DRIVER,
              "{'apiVersion':'storage.k8s.io/v1','kind':'CSIDriver','metadata':{'name':'d.io','uid':'u-d',"
              "'resourceVersion':'1'},'spec':{'storageCapacity':true}}");
    put_claim(&x, "db", "", CLASSED("fast"), "Pending");
    put_pod(&x, "p", "", USES("db"), PENDING);
    assert_pod(&x, "no-space",
               "claim db: driver d.io has too little free storage for 2Gi on nodes where the pod can run");
    scene_close(&x);
}

TEST(stuck_topologies_of_the_class)
{
    struct scene x = { 0 };

    put_node(&x, "n1", ",'zone':'a'", "", READY);
    put_class(&x, "fast", "d.io", LATER,
              ",'allowedTopologies':[{'matchLabelExpressions':[{'key':'zone','values':['b']}]}]");
    put_claim(&x, "db", "", CLASSED("fast"), "Pending");
    put_pod(&x, "p", "", USES("db"), PENDING);
    assert_pod(&x, "no-volume",
               "claim db: class fast provisions only in its allowedTopologies, and the pod cannot run there");
    scene_close(&x);
}

TEST(stuck_selected_node_is_closed)
{
    struct scene x = { 0 };

    put_node(&x, "n1", "", "'unschedulable':true", READY);
    put_node(&x, "n2", "", "", READY);
    put_class(&x, "fast", "d.io", LATER, "");
    put_claim(&x, "db", ",'annotations':{'" ANN_SELECTED_NODE "':'n1'}", CLASSED("fast"), "Pending");
    put_pod(&x, "p", "", USES("db"), PENDING);
    assert_pod(&x, "no-volume",
               "claim db: it is to be provisioned for node n1, selected before, which is closed to new pods "
               "(cordoned)");
    scene_close(&x);
}

/* --- The scheduler at work --- */

TEST(stuck_binding_is_under_way)
{
    struct scene x = { 0 };

    put_node(&x, "n1", "", "", READY);
    put_class(&x, "slow", NEVER, LATER, "");
    put_claim(&x, "db", "", CLASSED("slow"), "Pending");
    put_volume(&x, "pv", "", CLASSED("slow") ON_NODE("n1"), "Available");
    put_pod(&x, "p", "", USES("db"), PENDING);
    scene_open(&x);
    scene_ask(&x, KIND_POD, "p");
    ASSERT_SAID("about-to-be-scheduled", "node n1 is suitable, and the pod is about to be assigned to it");
    ASSERT_TEXT("no scheduler runs");
    still_start_scheduler(&x.s);
    scene_ask(&x, KIND_POD, "p");
    ASSERT_SAID("binding", "node n1 is selected, and the binding is being written");
    scene_ask(&x, KIND_CLAIM, "db");
    ASSERT_SAID("binding", "node n1 is selected for pod p; waiting for the volume");
    scene_close(&x);
}

TEST(stuck_set_aside)
{
    struct scene x = { 0 };

    put_node(&x, "n1", "", "", READY);
    put_pod(&x, "p", "", ",'nodeSelector':{'a':'b'}", PENDING);
    scene_open(&x);
    still_start_scheduler(&x.s);
    manual_clock_advance(&x.s.clock, 42 * NS_PER_S);
    scene_ask(&x, KIND_POD, "p");
    ASSERT_STR("node-affinity", said_member("cause"));
    ASSERT_TEXT("1 scheduling attempt, the last one 42 s ago\n");
    ASSERT_STR("the scheduler retries when a relevant object changes, or after 5 minutes",
               said_member("next"));
    scene_close(&x);
}

/* A scheduler that has written its part, and nobody who does the rest. */
static void ask_alone(struct world *w, enum kind k, const char *name)
{
    struct onlooker x;

    world_settle_for(w, 2);
    onlooker_open(&x, &w->served);
    x.world.scheduler = w->scheduler;
    say(&x.world, &(struct why_question){ .kind = k, .ns = "default", .name = name });
    onlooker_close(&x);
}

/* {provisioner, cause, what is said} */
TEST(stuck_nobody_finishes_what_the_scheduler_began)
{
    static const struct {
        const char *by;
        const char *cause;
        const char *sentence;
    } rows[] = {
        { NEVER, "binding", "node n1 is selected, and claim c is not yet bound to volume pv" },
        { "d.io", "provisioning", "node n1 is selected, and claim c is not yet provisioned there" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world w;

        scheduling_init(&w);
        w.is_alone = true;
        add_class(&w, "slow", rows[i].by, LATER, "");
        add_node(&w, "n1", "", "");
        if (strcmp(rows[i].by, NEVER) == 0)
            add_local(&w, "pv", "1Gi", "slow", "n1");
        ASSERT_SENT(&w.served, strcmp(rows[i].by, NEVER) == 0 ? 200 : 404, "MERGE", VOLUMES "/pv/status",
                    "{'status':{'phase':'Available'}}");
        add_claim(&w, "c", "1Gi", RWO, ",'storageClassName':'slow'");
        world_start(&w);
        add_pod(&w, "p", "c", "", "");
        ask_alone(&w, KIND_POD, "p");
        ASSERT_SAID(rows[i].cause, rows[i].sentence);
        ASSERT_STR("it is assigned to the node when they are bound; after 600 s a node is selected again",
                   said_member("next"));
        said_clear();
        world_done(&w);
    }
}

/* --- On its node --- */

TEST(stuck_node_gone)
{
    struct scene x = { 0 };

    put_pod(&x, "p", "", ON_N1, PENDING);
    assert_pod(&x, "node-gone", "its node n1 does not exist");
    ASSERT_TEXT("pod default/p: Pending on n1, because");
    scene_close(&x);
}

TEST(stuck_node_silent)
{
    struct scene x = { 0 }, y = { 0 };

    put_node(&x, "n1", "", "", "Unknown");
    put_pod(&x, "p", "", ON_N1, PENDING);
    assert_pod(&x, "node-silent", "its node n1 has not reported for 5m");
    scene_close(&x);
    put_node(&y, "n1", "", "", "Unknown");
    scene_put(&y, KIND_LEASE,
              "{'apiVersion':'coordination.k8s.io/v1','kind':'Lease','metadata':{'name':'n1','namespace':"
              "'kube-node-lease','uid':'u-l','resourceVersion':'1'},'spec':{'renewTime':"
              "'2025-12-31T23:50:00.000000Z'}}");
    put_pod(&y, "p", "", ON_N1, PENDING);
    assert_pod(&y, "node-silent", "its node n1 has not reported for 10m");
    scene_close(&y);
}

TEST(stuck_node_not_ready)
{
    struct scene x = { 0 };

    put_node(&x, "n1", "", "", "False");
    put_pod(&x, "p", "", ON_N1, "'phase':'Running'");
    assert_pod(&x, "node-not-ready", "its node n1 is not ready: disk is full");
    scene_close(&x);
}

#define CSI_NODE(drivers)                                                                     \
    "{'apiVersion':'storage.k8s.io/v1','kind':'CSINode','metadata':{'name':'n1','uid':'u-k'," \
    "'resourceVersion':'1'},'spec':{'drivers':[" drivers "]}}"
#define HAS_DRIVER "{'name':'d.io','nodeID':'x'}"
#define ATTACHMENT(name, node, status)                                                        \
    "{'apiVersion':'storage.k8s.io/v1','kind':'VolumeAttachment','metadata':{'name':'" name   \
    "','uid':'u-" name "','resourceVersion':'1'},'spec':{'attacher':'d.io','nodeName':'" node \
    "','source':{'persistentVolumeName':'pv-db'}},'status':{" status "}}"

/* A pod of n1 with a volume of a CSI driver. */
static void put_csi_pod(struct scene *x, const char *drivers)
{
    put_node(x, "n1", "", "", READY);
    scene_put(x, KIND_CSI_NODE, CSI_NODE("%s"), drivers);
    put_pair(x, "db", ONCE, CSI);
    put_pod(x, "p", "", ON_N1 USES("db"), PENDING);
}

TEST(stuck_driver_not_registered)
{
    struct scene x = { 0 };

    put_csi_pod(&x, "");
    put_pod(&x, "q", "", ON_N1 ",'volumes':[{'name':'d','cinder':{'volumeID':'v'}}]", PENDING);
    assert_pod(&x, "driver-not-registered", "claim db: CSI driver d.io is not registered on node n1");
    scene_ask(&x, KIND_POD, "q");
    ASSERT_SAID("driver-not-registered", "CSI driver cinder.csi.openstack.org is not registered on node n1");
    scene_close(&x);
}

TEST(stuck_nobody_attaches)
{
    struct scene x = { 0 };

    put_csi_pod(&x, HAS_DRIVER);
    assert_pod(&x, "not-attached",
               "claim db: volume pv-db is not attached to node n1, and no VolumeAttachment exists");
    scene_close(&x);
}

TEST(stuck_attacher_is_silent)
{
    struct scene x = { 0 };

    put_csi_pod(&x, HAS_DRIVER);
    still_add(&x.s, KIND_ATTACHMENT, ATTACHMENT("a", "n1", "'attached':false"));
    assert_pod(&x, "attaching", "claim db: volume pv-db is not attached to node n1 yet: waiting for d.io");
    scene_close(&x);
}

TEST(stuck_attach_fails)
{
    struct scene x = { 0 };

    put_csi_pod(&x, HAS_DRIVER);
    still_add(&x.s, KIND_ATTACHMENT,
              ATTACHMENT("a", "n1",
                         "'attached':false,'attachError':{'message':'no such disk','time':'" FIVE_MINUTES_AGO
                         "'}"));
    assert_pod(&x, "attach-failed", "claim db: volume pv-db cannot be attached to node n1: no such disk");
    ASSERT_TEXT("the error is 5m old\n");
    scene_close(&x);
}

TEST(stuck_attached_to_another_node)
{
    struct scene x = { 0 };

    put_csi_pod(&x, HAS_DRIVER);
    put_node(&x, "n2", "", "", READY);
    still_add(&x.s, KIND_ATTACHMENT, ATTACHMENT("b", "n2", "'attached':true"));
    put_pod(&x, "other", "", ",'nodeName':'n2'" USES("db"), "'phase':'Running'");
    assert_pod(&x, "attached-elsewhere",
               "claim db: volume pv-db can be attached to one node at a time, and is attached to n2, for "
               "pods: other on "
               "n2");
    scene_close(&x);
}

TEST(stuck_attached_and_not_mounted)
{
    struct scene x = { 0 };

    put_csi_pod(&x, HAS_DRIVER);
    still_add(&x.s, KIND_ATTACHMENT, ATTACHMENT("a", "n1", "'attached':true"));
    put_event(&x, "Pod", "p", "FailedMount",
              "MountVolume.MountDevice failed for volume pv-db : fsck found errors");
    assert_pod(&x, "mount-failed", "MountVolume.MountDevice failed for volume pv-db : fsck found errors");
    ASSERT_TEXT("reported by node n1 5m ago (FailedMount)\n");
    ASSERT_TEXT("volume pv-db is attached to node n1\n");
    scene_close(&x);
}

/* Said as it is, and advice of its own. */
TEST(stuck_without_a_mount_helper)
{
    struct scene x = { 0 };

    put_node(&x, "n1", "", "", READY);
    put_pod(&x, "p", "", ON_N1 ",'volumes':[{'name':'web','nfs':{'server':'fs.example','path':'/x'}}]",
            PENDING);
    put_event(&x, "Pod", "p", "FailedMount",
              "MountVolume.SetUp failed for volume \\\"web\\\" : mount.nfs is not installed: "
              "install nfs-common");
    assert_pod(&x, "mount-failed", "mount.nfs is not installed: install nfs-common");
    ASSERT_TEXT("Install nfs-common on node n1.");
    scene_close(&x);
}

/* A VolumeAttachment is a wish until its status says that it is attached. */
TEST(a_volume_is_attached_when_its_attachment_says_so)
{
    struct scene x = { 0 };

    put_csi_pod(&x, HAS_DRIVER);
    put_node(&x, "n2", "", "", READY);
    still_add(&x.s, KIND_ATTACHMENT, ATTACHMENT("a", "n1", "'attached':false"));
    still_add(&x.s, KIND_ATTACHMENT, ATTACHMENT("b", "n2", "'attached':true"));
    assert_scene(&x, KIND_VOLUME, "pv-db", WHY_NOTHING, "nothing is wrong");
    ASSERT_TEXT("  attached to: n2\n");
    ASSERT_TEXT("  not attached yet to: n1\n");
    scene_close(&x);
}

TEST(stuck_config_map_and_key_missing)
{
    struct scene x = { 0 }, y = { 0 };

    put_node(&x, "n1", "", "", READY);
    put_pod(&x, "p", "", ON_N1 ",'volumes':[{'name':'conf','configMap':{'name':'settings'}}]", PENDING);
    assert_pod(&x, "no-such-config-map", "volume conf: it does not exist");
    ASSERT_TEXT("ConfigMap default/settings: missing");
    scene_close(&x);
    put_node(&y, "n1", "", "", READY);
    scene_put(
        &y, KIND_SECRET,
        "{'apiVersion':'v1','kind':'Secret','metadata':{'name':'keys','namespace':'default','uid':'u-s',"
        "'resourceVersion':'1'},'data':{'a':'YQ=='}}");
    put_pod(&y, "p", "",
            ON_N1 ",'volumes':[{'name':'maybe','configMap':{'name':'settings','optional':true}},"
                  "{'name':'all','projected':{'sources':[{'secret':{'name':'keys','items':[{'key':'b',"
                  "'path':'b'}]}}]}}]",
            PENDING);
    assert_pod(&y, "no-such-key", "volume all: it has no key \"b\"");
    ASSERT_TEXT("ConfigMap default/settings: missing; it does not exist, and is optional");
    scene_close(&y);
}

TEST(stuck_condition_of_the_node)
{
    struct scene x = { 0 };

    put_node(&x, "n1", "", "", READY);
    put_pod(&x, "p", "", ON_N1,
            PENDING ",'conditions':[{'type':'volumes.berth.io/ready','status':'False','reason':"
                    "'WaitingForVolumes','message':'unmounted volumes=[a]'}]");
    assert_pod(&x, "volumes-not-ready", "node n1 reports WaitingForVolumes: unmounted volumes=[a]");
    scene_close(&x);
}

TEST(stuck_container_waits)
{
    struct scene x = { 0 };

    put_node(&x, "n1", "", "", READY);
    put_pod(&x, "p", "", ON_N1,
            PENDING
            ",'containerStatuses':[{'name':'c','image':'i','imageID':'','ready':false,'restartCount':0,"
            "'state':{'waiting':{'reason':'ImagePullBackOff'}}}]");
    assert_pod(&x, "container-waits", "container c is waiting: ImagePullBackOff");
    scene_close(&x);
}

TEST(stuck_node_has_not_started_it)
{
    struct scene x = { 0 };

    put_node(&x, "n1", "", "", READY);
    put_pod(&x, "p", "", ON_N1, PENDING);
    assert_pod(&x, "starting", "node n1 has not started it yet");
    scene_close(&x);
}

TEST(stuck_deleting_on_its_node)
{
    struct scene x = { 0 }, y = { 0 };

    put_node(&x, "n1", "", "", READY);
    put_pod(&x, "p", DELETED, ON_N1, "'phase':'Running'");
    assert_pod(&x, "deleting",
               "it is being deleted, and node n1 has to stop its containers and unmount its volumes");
    scene_close(&x);
    put_node(&y, "n1", "", "", READY);
    put_pod(&y, "p", DELETED ",'finalizers':['a.io/b']", ON_N1, "'phase':'Running'");
    assert_pod(&y, "finalizer", "it is being deleted, and waits for the component that set finalizer a.io/b");
    scene_close(&y);
}

/* --- What is over, and what goes on --- */

static void put_flex_pod(struct scene *x, const char *status)
{
    put_node(x, "n1", "", "", READY);
    put_pod(x, "p", "", ON_N1 ",'volumes':[{'name':'d','flexVolume':{'driver':'a/b'}}]", status);
    put_event(x, "Pod", "p", "FailedAttachVolume",
              "AttachVolume.Attach failed for volume \\\"d\\\" : attach command failed, reason: boom");
}

TEST(an_attachment_that_failed_before_it_succeeded_is_not_the_cause)
{
    struct scene x = { 0 }, y = { 0 }, z = { 0 };

    put_flex_pod(&x, PENDING);
    assert_pod(&x, "attach-failed", "attach command failed, reason: boom");
    scene_close(&x);
    put_flex_pod(&y, PENDING);
    put_event(&y, "Pod", "p", "SuccessfulAttachVolume",
              "AttachVolume.Attach succeeded for volume \\\"other\\\" ");
    assert_pod(&y, "attach-failed", "attach command failed, reason: boom");
    scene_close(&y);
    put_flex_pod(&z, PENDING);
    put_event(&z, "Pod", "p", "SuccessfulAttachVolume",
              "AttachVolume.Attach succeeded for volume \\\"d\\\" ");
    assert_pod(&z, "starting", "node n1 has not started it yet");
    scene_close(&z);
}

#define VOLUMES_READY                                                                                   \
    ",'conditions':[{'type':'volumes.berth.io/ready','status':'True','reason':'VolumesReady','message'" \
    ":''}]"

TEST(a_pod_whose_volumes_are_ready_is_not_blamed_on_what_was)
{
    struct scene x = { 0 }, y = { 0 };

    put_flex_pod(&x, PENDING VOLUMES_READY);
    assert_pod(&x, WHY_NOTHING, "its volumes are ready, but its containers are not started");
    scene_close(&x);
    put_node(&y, "n1", "", "", READY);
    put_pair(&y, "db", ONCE, NFS);
    put_claim(&y, "c", DELETED ",'finalizers':['" FINALIZER_CLAIM_PROTECTION "']", ONCE ",'volumeName':'v'",
              "Bound");
    put_volume(&y, "v", "", ONCE NFS OF_CLAIM("c"), "Bound");
    put_pod(&y, "p", "", ON_N1 USES("c"), PENDING VOLUMES_READY);
    assert_pod(&y, WHY_NOTHING, "its volumes are ready, but its containers are not started");
    ASSERT_TEXT("pvc default/c: Terminating, because it is being deleted, and is kept while pods use it: p");
    scene_close(&y);
}

TEST(a_container_that_waits_for_its_image_has_its_volumes)
{
    struct scene x = { 0 };

    put_flex_pod(&x, PENDING
                 ",'containerStatuses':[{'name':'c','image':'i','imageID':'','ready':false,'restartCount':0,"
                 "'state':{'waiting':{'reason':'ImagePullBackOff'}}}]");
    assert_pod(&x, "container-waits", "container c is waiting: ImagePullBackOff");
    scene_close(&x);
}

TEST(stuck_end_as_the_event_says)
{
    struct scene x = { 0 };

    put_node(&x, "n1", "", "", READY);
    put_pod(&x, "p", DELETED, ON_N1, "'phase':'Running'");
    put_event(&x, "Pod", "p", "FailedKillPod",
              "UnmountVolume.TearDown failed for volume \\\"d\\\" : driver d.io is not registered");
    assert_pod(&x, "unmount-failed",
               "it is being deleted, and node n1 fails to terminate it: driver d.io is not registered");
    scene_close(&x);
}

/* --- Claims without a pod, and their nodes --- */

TEST(stuck_claim_whose_volume_no_node_reaches)
{
    struct scene x = { 0 };

    put_node(&x, "vm", "", "", READY);
    put_class(&x, "slow", NEVER, LATER, "");
    put_claim(&x, "db", "", CLASSED("slow"), "Pending");
    put_volume(&x, "pv-9", "", CLASSED("slow") ON_NODE("my-node"), "Available");
    put_pod(&x, "p", "", USES("db"), PENDING);
    put_claim(&x, "alone", "", CLASSED("slow"), "Pending");
    assert_scene(
        &x, KIND_CLAIM, "alone", "node-gone",
        "volume pv-9 fits, but needs a node labelled kubernetes.io/hostname=my-node; the only node is vm");
    ASSERT_TEXT("- Add a node labelled kubernetes.io/hostname=my-node, or recreate volume pv-9");
    ASSERT_TEXT("- Create a pod in namespace default that uses the claim.\n");
    ASSERT_TEXT("its class \"slow\" waits for a pod that uses it, and no pod does\n");
    scene_ask(&x, KIND_CLAIM, "db");
    ASSERT_STR("node-gone", said_member("cause"));
    scene_ask(&x, KIND_POD, "p");
    ASSERT_SAID("no-volume", "claim db: no available volume can be used on a node where the pod can run; the "
                             "closest is pv-9: it needs a "
                             "node labelled kubernetes.io/hostname=my-node; the only node is vm");
    ASSERT_TEXT("    pv-9: needs a node labelled kubernetes.io/hostname=my-node\n");
    ASSERT_TEXT("  pvc default/db: Pending\n"); /* its sentence is the pod's */
    ASSERT_TEXT("What you can do:\n"
                "  - Add a node labelled kubernetes.io/hostname=my-node, or recreate volume pv-9 with a node "
                "affinity for an existing node.\n");
    scene_close(&x);
}

TEST(stuck_claim_without_a_pod_for_which_no_volume_fits)
{
    struct scene x = { 0 };

    put_node(&x, "n1", "", "", READY);
    put_class(&x, "slow", NEVER, LATER, "");
    put_claim(&x, "db", "", CLASSED("slow"), "Pending");
    put_volume(&x, "pv-1", "", CLASSED("fast") ON_NODE("n1"), "Available");
    assert_scene(&x, KIND_CLAIM, "db", "waits-for-consumer",
                 "its class \"slow\" waits for a pod that uses it, and no pod does");
    ASSERT_TEXT("no volume fits; the closest is pv-1: volume has class fast, claim has slow\n");
    ASSERT_TEXT("- Create a volume of at least 2Gi with access modes RWO and storageClassName slow.\n");
    scene_close(&x);
}

/* --- Provisioners --- */

TEST(stuck_provisioner_is_off)
{
    struct scene x = { 0 };

    put_class(&x, "std", "kubernetes.io/host-path", "Immediate", "");
    put_claim(&x, "db", "", CLASSED("std"), "Pending");
    put_event(
        &x, "PersistentVolumeClaim", "db", "ProvisioningFailed",
        "Failed to create provisioner: provisioning in volume plugin \\\"kubernetes.io/host-path\\\" is "
        "disabled");
    assert_scene(&x, KIND_CLAIM, "db", "provisioner-disabled",
                 "provisioner kubernetes.io/host-path is disabled in these controllers");
    ASSERT_TEXT("--enable-hostpath-provisioner");
    scene_close(&x);
}

TEST(a_migrated_provisioner_says_what_it_replaced)
{
    struct scene x = { 0 };

    put_class(&x, "ebs", "kubernetes.io/aws-ebs", "Immediate", "");
    put_claim(&x, "db", "", CLASSED("ebs"), "Pending");
    scene_open(&x);
    scene_ask(&x, KIND_CLAIM, "db");
    ASSERT_TEXT("provisioned by 'ebs.csi.aws.com' (which replaced kubernetes.io/aws-ebs)");
    scene_close(&x);
}

/* --- Nothing is wrong --- */

TEST(a_pod_that_runs_or_has_run_is_not_stuck)
{
    struct scene x = { 0 };

    put_node(&x, "n1", "", "", READY);
    put_pair(&x, "db", ONCE, NFS);
    put_pod(&x, "p", "", ON_N1 USES("db"), "'phase':'Running'");
    put_pod(&x, "q", "", ON_N1, "'phase':'Succeeded'");
    put_pod(&x, "f", "", ON_N1, "'phase':'Failed','reason':'Evicted','message':'no memory'");
    scene_open(&x);
    scene_ask(&x, KIND_POD, "p");
    ASSERT_SAID(WHY_NOTHING, "nothing is wrong");
    ASSERT_TEXT("pod default/p: Running on n1; nothing is wrong\n");
    ASSERT_TEXT("pvc default/db: Bound to pv-db;");
    scene_ask(&x, KIND_POD, "q");
    ASSERT_SAID(WHY_NOTHING, "it ran to completion");
    scene_ask(&x, KIND_POD, "f");
    ASSERT_SAID("failed", "it has failed: Evicted: no memory");
    scene_close(&x);
}

/* --- Volumes that a node has no plugin for --- */

static void put_node_run_by(struct scene *x, const char *name, const char *version)
{
    scene_put(
        x, KIND_NODE,
        "{'apiVersion':'v1','kind':'Node','metadata':{'name':'%s','uid':'u-%s','resourceVersion':'1'},"
        "'status':{'conditions':[{'type':'Ready','status':'True'}],'nodeInfo':{'kubeletVersion':'%s'}}}",
        name, name, version);
}

#define BERTHS "v1.36.4+berth.1.0.0"
#define NO_PLUGIN(volume) \
    "failed to get Plugin from volumeSpec for volume \\\"" volume "\\\" err=no volume plugin matched"

TEST(stuck_kind_that_berth_cannot_mount)
{
    struct scene x = { 0 };

    put_node_run_by(&x, "n1", BERTHS);
    put_pod(&x, "p", "", ON_N1 ",'volumes':[{'name':'d','iscsi':{'targetPortal':'t','iqn':'q','lun':1}}]",
            PENDING);
    put_event(&x, "Pod", "p", "FailedMount", NO_PLUGIN("d"));
    assert_pod(&x, "unmountable-kind",
               "Berth cannot mount iscsi volumes, and its agent runs node n1: volume \"d\"");
    ASSERT_TEXT("Use a volume type that Berth mounts (nfs, local, hostPath, or a CSI driver for this "
                "storage), or a node that a kubelet runs.\n");
    scene_close(&x);
}

TEST(stuck_claim_whose_volume_berth_cannot_mount)
{
    struct scene x = { 0 };

    put_node_run_by(&x, "n1", BERTHS);
    put_pair(&x, "c", ONCE, ",'rbd':{'image':'i','monitors':['m']}");
    put_pod(&x, "p", "", ON_N1 USES("c"), PENDING);
    assert_pod(&x, "unmountable-kind",
               "claim c: Berth cannot mount rbd volumes, and its agent runs node n1: volume \"pv-c\"");
    scene_ask(&x, KIND_CLAIM, "c");
    ASSERT_SAID("unmountable-kind", "Berth cannot mount rbd volumes, and its agent runs every node");
    scene_ask(&x, KIND_VOLUME, "pv-c");
    ASSERT_SAID("unmountable-kind", "Berth cannot mount rbd volumes, and its agent runs every node");
    scene_close(&x);
}

/* Some nodes can: it is a fact, and no fault of the volume. */
TEST(kind_that_some_nodes_can_mount)
{
    struct scene x = { 0 };

    put_node_run_by(&x, "n1", BERTHS);
    put_node_run_by(&x, "n2", "v1.36.4");
    put_pair(&x, "c", ONCE, ",'fc':{'wwids':['w']}");
    put_pod(&x, "p", "", ",'nodeName':'n2'" USES("c"), PENDING);
    assert_scene(&x, KIND_VOLUME, "pv-c", "none", "nothing is wrong");
    ASSERT_TEXT("Berth cannot mount fc volumes: of 2 nodes its agent runs 1\n");
    scene_ask(&x, KIND_POD, "p");
    ASSERT_SAID("starting", "node n2 has not started it yet");
    scene_close(&x);
}

TEST(stuck_flex_driver_missing)
{
    struct scene x = { 0 };

    put_node_run_by(&x, "n1", BERTHS);
    put_pod(&x, "p", "", ON_N1 ",'volumes':[{'name':'d','flexVolume':{'driver':'acme/disk'}}]", PENDING);
    put_event(&x, "Pod", "p", "FailedMount", NO_PLUGIN("d"));
    assert_pod(&x, "no-flex-driver",
               "volume \"d\": node n1 has no working FlexVolume driver acme/disk; it is expected at "
               "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/acme~disk/disk");
    ASSERT_TEXT("with --flex-dir, node n1 uses another directory\n");
    scene_close(&x);
}

/* The driver that a plugin became is not there. */
TEST(stuck_driver_of_a_plugin_that_moved)
{
    struct scene x = { 0 };

    put_node_run_by(&x, "n1", BERTHS);
    put_pair(&x, "c", ONCE, ",'awsElasticBlockStore':{'volumeID':'vol-1'}");
    put_pod(&x, "p", "", ON_N1 USES("c"), PENDING);
    assert_pod(&x, "driver-not-registered",
               "claim c: CSI driver ebs.csi.aws.com is not registered on node n1");
    scene_close(&x);
}

TEST_MAIN()
