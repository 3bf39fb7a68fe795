/* Claims before nodes are looked at: those that are missing, going, lost, unbound or another pod's; claims
 * that are bound; and claims of which only one pod may have one. */
#include "tests/unit/test_scheduler.h"

#include "tests/unit/test_binder_objects.h"

#include "tests/unit/test.h"

#define DELAYED "delayed"
#define OF_DELAYED ",'storageClassName':'" DELAYED "'"
#define OF_NONE ",'storageClassName':''"
#define NO_PROVISIONER "kubernetes.io/no-provisioner"
#define IMMEDIATE "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims."

/* One node, a class that waits for consumers. */
static void begin(struct world *w)
{
    scheduling_init(w);
    add_class(w, DELAYED, NO_PROVISIONER, "WaitForFirstConsumer", "");
    add_node(w, "n", "", "");
}

static void refused(struct world *w, const char *message)
{
    world_settle_for(w, 0);
    assert_pending(w, "p", "Unschedulable", message);
}

/* A pod p with a generic ephemeral volume v of a class. */
static void add_ephemeral_pod(struct world *w, const char *class)
{
    char body[1024];

    (void)snprintf(
        body, sizeof body,
        "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p'},'spec':{'containers':[{'name':'c',"
        "'image':'i'}],'volumes':[{'name':'v','ephemeral':{'volumeClaimTemplate':{'spec':{"
        "'accessModes':[" RWO "],'storageClassName':'%s','resources':{'requests':{'storage':'1Gi'}}"
        "}}}}]}}",
        class);
    ASSERT_SENT(&w->served, 201, "POST", PODS, body);
}

/* ",'ownerReferences':[…]" to the pod, and the annotations. */
static const char *owned_by(struct world *w, const char *pod, const char *annotations)
{
    static char text[512];

    look_at_pod(w, pod);
    (void)snprintf(
        text, sizeof text,
        ",'ownerReferences':[{'apiVersion':'v1','kind':'Pod','name':'%s','uid':'%s','controller':true"
        "}]%s",
        pod, got(&w->served, "metadata/uid"), annotations);
    return text;
}

static void drop_volume(struct world *w, const char *name)
{
    char path[256];

    (void)snprintf(path, sizeof path, VOLUMES "/%s", name);
    patch_volume(w, name, "", "{'metadata':{'finalizers':null}}");
    ASSERT_SENT(&w->served, 200, "DELETE", path, NULL);
    ASSERT_SENT(&w->served, 404, "GET", path, NULL);
}

/* --- Claims that will not do --- */

/* scheduler-14 */
TEST(scheduler_14_claim_missing)
{
    struct world w;

    begin(&w);
    world_start(&w);
    add_pod(&w, "p", "c", "", "");
    refused(&w, "0/1 nodes are available: persistentvolumeclaim \"c\" not found.");
    /* It comes, and so does the pod. */
    add_local(&w, "pv", "1Gi", DELAYED, "n");
    add_claim(&w, "c", "1Gi", RWO, OF_DELAYED);
    world_settle_for(&w, 1);
    assert_on(&w, "p", "n");
    assert_bound(&w, "c", "pv");
    world_done(&w);
}

/* scheduler-15 */
TEST(scheduler_15_ephemeral_claim_missing)
{
    struct world w;

    begin(&w);
    add_local(&w, "pv", "1Gi", DELAYED, "n");
    world_start(&w);
    add_ephemeral_pod(&w, DELAYED);
    refused(&w, "0/1 nodes are available: waiting for ephemeral volume controller to create the "
                "persistentvolumeclaim \"p-v\".");
    make_claim(&w, "p-v", owned_by(&w, "p", ""), OF_DELAYED);
    world_settle_for(&w, 1);
    assert_on(&w, "p", "n");
    assert_bound(&w, "p-v", "pv");
    world_done(&w);
}

/* scheduler-16 */
TEST(scheduler_16_ephemeral_claim_of_another)
{
    struct world w;

    begin(&w);
    world_start(&w);
    add_pod(&w, "other", "", "", "");
    make_claim(&w, "p-v", owned_by(&w, "other", ""), OF_DELAYED);
    add_ephemeral_pod(&w, DELAYED);
    refused(&w, "0/1 nodes are available: PVC default/p-v was not created for pod default/p (pod is not "
                "owner).");
    world_done(&w);
}

/* scheduler-17: bound, and the volume is taken away. */
TEST(scheduler_17_claim_lost)
{
    struct world w;

    begin(&w);
    add_volume(&w, "pv1", "1Gi", RWO, "");
    add_claim(&w, "c", "1Gi", RWO, OF_NONE);
    world_start(&w);
    world_settle_for(&w, 1);
    assert_bound(&w, "c", "pv1");
    drop_volume(&w, "pv1");
    world_settle_for(&w, 1);
    ASSERT_CLAIM(&w, "c", "Lost", "status/phase");
    add_pod(&w, "p", "c", "", "");
    refused(&w, "0/1 nodes are available: persistentvolumeclaim \"c\" bound to non-existent "
                "persistentvolume \"pv1\".");
    world_done(&w);
}

/* scheduler-18 */
TEST(scheduler_18_claim_deleting)
{
    struct world w;

    begin(&w);
    add_claim(&w, "c", "1Gi", RWO, OF_DELAYED);
    ASSERT_SENT(&w.served, 200, "DELETE", CLAIMS "/c", NULL);
    world_start(&w);
    add_pod(&w, "p", "c", "", "");
    refused(&w, "0/1 nodes are available: persistentvolumeclaim \"c\" is being deleted.");
    world_done(&w);
}

/* The first of the pod's claims that is wrong speaks, whatever is wrong with later ones. */
TEST(first_wrong_claim_speaks)
{
    struct world w;

    begin(&w);
    add_claim(&w, "going", "1Gi", RWO, OF_DELAYED);
    add_claim(&w, "unbound", "1Gi", RWO, OF_NONE);
    ASSERT_SENT(&w.served, 200, "DELETE", CLAIMS "/going", NULL);
    world_start(&w);
    add_pod(&w, "p", "unbound", "going", "");
    refused(&w, "0/1 nodes are available: persistentvolumeclaim \"going\" is being deleted.");
    world_done(&w);
}

/* --- Bound or not --- */

/* scheduler-19 */
TEST(scheduler_19_immediate_claim)
{
    struct world w;

    begin(&w);
    add_class(&w, "now", NO_PROVISIONER, "Immediate", "");
    add_claim(&w, "c", "1Gi", RWO, ",'storageClassName':'now'");
    world_start(&w);
    add_pod(&w, "p", "c", "", "");
    refused(&w, IMMEDIATE);
    add_local(&w, "pv", "1Gi", "now", "n");
    world_settle_for(&w, 30); /* the binder's next look */
    assert_bound(&w, "c", "pv");
    assert_on(&w, "p", "n");
    world_done(&w);
}

/* scheduler-20: the volume that the user named does not exist yet. */
TEST(scheduler_20_claim_names_its_volume)
{
    struct world w;

    begin(&w);
    add_claim(&w, "c", "1Gi", RWO, OF_DELAYED ",'volumeName':'pv'");
    world_start(&w);
    add_pod(&w, "p", "c", "", "");
    refused(&w, IMMEDIATE);
    add_local(&w, "pv", "1Gi", DELAYED, "n");
    world_settle_for(&w, 30);
    assert_bound(&w, "c", "pv");
    assert_on(&w, "p", "n");
    world_done(&w);
}

/* scheduler-21 */
TEST(scheduler_21_class_gone)
{
    struct world w;

    begin(&w);
    add_local(&w, "pv", "1Gi", DELAYED, "n");
    add_claim(&w, "c", "1Gi", RWO, OF_DELAYED);
    world_start(&w);
    ASSERT_SENT(&w.served, 200, "DELETE", CLASSES "/" DELAYED, NULL);
    /* The binder takes it for immediate too; it must not get that far. */
    fail_next(&w, TAP_ERROR, "PATCH " VOLUMES "/pv", 1000);
    add_pod(&w, "p", "c", "", "");
    refused(&w, IMMEDIATE);
    world_done(&w);
}

/* scheduler-22: the binder cannot write the claim's status. */
TEST(scheduler_22_phase_does_not_count)
{
    struct world w;

    begin(&w);
    add_volume(&w, "pv", "1Gi", RWO, "");
    add_claim(&w, "c", "1Gi", RWO, OF_NONE);
    world_start(&w);
    fail_next(&w, TAP_ERROR, "PATCH " CLAIMS "/c/status", 1000);
    world_settle_for(&w, 1);
    look_at_claim(&w, "c");
    ASSERT_GOT(&w.served, "Pending", "status/phase");
    ASSERT_GOT(&w.served, "pv", "spec/volumeName");
    assert_string_equal(annotation(&w, ANN_BIND_COMPLETED), "yes");
    add_pod(&w, "p", "c", "", "");
    world_settle_for(&w, 1);
    assert_on(&w, "p", "n");
    ASSERT_CLAIM(&w, "c", "Pending", "status/phase");
    world_done(&w);
}

/* scheduler-23: the volume belongs to another claim, so that the binder does not complete it. */
TEST(scheduler_23_not_completed)
{
    struct world w;

    begin(&w);
    make_volume(&w, "pv", "", HOST_PATH, ref_to("other", "another-uid"));
    add_claim(&w, "c", "1Gi", RWO, OF_DELAYED ",'volumeName':'pv'");
    world_start(&w);
    add_pod(&w, "p", "c", "", "");
    refused(&w, IMMEDIATE);
    look_at_claim(&w, "c");
    ASSERT_GOT(&w.served, "pv", "spec/volumeName");
    assert_string_equal(annotation(&w, ANN_BIND_COMPLETED), "-");
    world_done(&w);
}

/* A class of an older server, without a mode: an error and no verdict, so that the pod comes again by itself.
 */
TEST(class_without_mode)
{
    static const char message[] =
        "running PreFilter plugin \"VolumeBinding\": VolumeBindingMode not set for StorageClass \"old\"";
    struct world w;

    begin(&w);
    plant(&w, KIND_CLASS,
          "'name':'old','uid':'u-old','creationTimestamp':'2020-01-01T00:00:00Z'},'apiVersion':"
          "'storage.k8s.io/v1','kind':'StorageClass','provisioner':'" NO_PROVISIONER "'}");
    add_claim(&w, "c", "1Gi", RWO, ",'storageClassName':'old'");
    world_start(&w);
    add_pod(&w, "p", "c", "", "");
    world_settle_for(&w, 4); /* at 0, 1 and 3 seconds */
    assert_pending(&w, "p", "SchedulerError", message);
    ASSERT_INT(3, (int)number_of(&w, "scheduler_schedule_attempts_total{result=\"error\",profile=\""
                                     "default-scheduler\"}"));
    ASSERT_INT(3,
               (int)number_of(&w, "scheduler_volume_scheduling_stage_error_total{operation=\"predicate\"}"));
    world_done(&w);
}

/* --- Bound claims --- */

static void bind_local(struct world *w, const char *claim, const char *volume, const char *node)
{
    char rest[128];

    add_local(w, volume, "1Gi", "", node);
    (void)snprintf(rest, sizeof rest, OF_NONE ",'volumeName':'%s'", volume);
    add_claim(w, claim, "1Gi", RWO, rest);
    world_settle_for(w, 1);
    assert_bound(w, claim, volume);
}

/* scheduler-55 */
TEST(scheduler_55_bound_claim)
{
    struct world w;

    scheduling_init(&w);
    add_node(&w, "n0", "", "");
    add_node(&w, "n1", "", "");
    add_node(&w, "n2", "", "");
    world_start(&w);
    bind_local(&w, "c", "pv", "n1");
    add_pod(&w, "free", "c", "", "");
    world_settle_for(&w, 1);
    assert_on(&w, "free", "n1");
    ASSERT_SENT(&w.served, 200, "MERGE", NODES "/n1", "{'spec':{'unschedulable':true}}");
    add_pod(&w, "p", "c", "", "");
    refused(&w, "0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) didn't match "
                "PersistentVolume's node affinity.");
    world_done(&w);
}

/* scheduler-56: the volume is gone, and the binder could not say so yet. Of a claim that a volume names the
 * zones are asked before the nodes, and miss the volume; of an ephemeral one they are not. */
TEST(scheduler_56_volume_gone)
{
    static const char annotations[] = ",'annotations':{'" ANN_BIND_COMPLETED "':'yes'}";
    struct world w;

    begin(&w);
    world_start(&w);
    fail_next(&w, TAP_ERROR, "PATCH " CLAIMS, 1000);
    add_ephemeral_pod(&w, DELAYED);
    make_claim(&w, "p-v", owned_by(&w, "p", annotations), OF_DELAYED ",'volumeName':'pv1'");
    world_settle_for(&w, 1);
    assert_pending(&w, "p", "Unschedulable",
                   "0/1 nodes are available: 1 node(s) unavailable due to one or more pvc(s) bound to "
                   "non-existent pv(s).");
    make_claim(&w, "c", annotations, OF_DELAYED ",'volumeName':'pv1'");
    add_pod(&w, "q", "c", "", "");
    world_settle_for(&w, 0);
    assert_pending(&w, "q", "Unschedulable", "0/1 nodes are available: persistentvolume \"pv1\" not found.");
    world_done(&w);
}

/* scheduler-57 */
TEST(scheduler_57_claims_apart)
{
    struct world w;

    scheduling_init(&w);
    add_node(&w, "n1", "", "");
    add_node(&w, "n2", "", "");
    world_start(&w);
    bind_local(&w, "a", "pv-a", "n1");
    bind_local(&w, "b", "pv-b", "n2");
    add_pod(&w, "p", "a", "b", "");
    refused(&w, "0/2 nodes are available: 2 node(s) didn't match PersistentVolume's node affinity.");
    world_done(&w);
}

/* --- Claims that one pod has alone --- */

#define RWOP "'ReadWriteOncePod'"
#define ALONE                                                                                            \
    "0/2 nodes are available: 2 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod " \
    "access "                                                                                            \
    "mode already in-use by another pod."

/* A bound claim c, and a pod "first" on n1 that has it. */
static void begin_alone(struct world *w)
{
    scheduling_init(w);
    add_node(w, "n1", "", "");
    add_node(w, "n2", "", "");
    add_volume(w, "pv", "1Gi", RWOP, "");
    add_claim(w, "c", "1Gi", RWOP, OF_NONE);
    world_start(w);
    add_pod(w, "first", "c", "", ",'nodeName':'n1'");
    world_settle_for(w, 1);
    assert_bound(w, "c", "pv");
}

/* scheduler-58 */
TEST(scheduler_58_claim_in_use)
{
    struct world w;

    begin_alone(&w);
    set_pod_phase(&w, "first", "Running");
    add_pod(&w, "p", "c", "", "");
    refused(&w, ALONE);
    ASSERT_SENT(&w.served, 200, "DELETE", PODS "/first?gracePeriodSeconds=0", NULL);
    world_settle_for(&w, 1);
    assert_on(&w, "p", "n1");
    world_done(&w);
}

/* One that is going has it until it is gone. */
TEST(scheduler_58_terminating_pod_counts)
{
    struct world w;

    begin_alone(&w);
    ASSERT_SENT(&w.served, 200, "DELETE", PODS "/first", NULL);
    world_settle_for(&w, 0);
    look_at_pod(&w, "first");
    assert_string_not_equal(got(&w.served, "metadata/deletionTimestamp"), "-");
    add_pod(&w, "p", "c", "", "");
    refused(&w, ALONE);
    world_done(&w);
}

/* scheduler-59 */
TEST(scheduler_59_pod_ended)
{
    struct world w;

    begin_alone(&w);
    set_pod_phase(&w, "first", "Succeeded");
    world_settle_for(&w, 0);
    add_pod(&w, "p", "c", "", "");
    world_settle_for(&w, 0);
    assert_on(&w, "p", "n1");
    world_done(&w);
}

/* Two that wait: the first gets the node, and while it is on its way the second sees it. */
TEST(scheduler_58_promise_counts)
{
    struct world w;

    scheduling_init(&w);
    add_class(&w, DELAYED, "x.csi", "WaitForFirstConsumer", "");
    add_node(&w, "n1", "", "");
    add_node(&w, "n2", "", "");
    add_claim(&w, "c", "1Gi", RWOP, OF_DELAYED);
    world_start(&w);
    add_pod(&w, "first", "c", "", "");
    add_pod(&w, "p", "c", "", "");
    world_settle_for(&w, 0);
    assert_on(&w, "first", ""); /* nobody provisions */
    look_at_claim(&w, "c");
    assert_string_equal(annotation(&w, ANN_SELECTED_NODE), "n1");
    assert_pending(&w, "p", "Unschedulable", ALONE);
    world_done(&w);
}

TEST_MAIN()
