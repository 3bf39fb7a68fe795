/* The scheduler between its events, its requests and its deaths: what brings a pod back, what a restart
 * finds, who else may have bound it. */
#include "tests/unit/test_scheduler.h"

#include "scheduler/scheduler_int.h"

#include "tests/unit/test_binder_objects.h"
#include "tests/unit/test_binder_replay.h"

#define LOCAL "local-storage"
#define NO_PROVISIONER "kubernetes.io/no-provisioner"
#define WFFC "WaitForFirstConsumer"
#define CLASS_OF ",'storageClassName':'" LOCAL "'"
#define NONE_FOUND "0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind."
#define BINDING "POST " PODS "/p/binding"

/* --- What brings a pod back --- */

/* scheduler-65: within its rest, which is one second after the first try. */
TEST(scheduler_65_a_label_of_a_node)
{
    struct world w;

    scheduling_init(&w);
    add_node(&w, "n1", "", "");
    add_pod(&w, "p", "", "", ",'nodeSelector':{'x':'y'}");
    world_start(&w);
    world_settle_for(&w, 120);
    assert_pending(&w, "p", "Unschedulable",
                   "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.");
    assert_times(1, count_events(&w, "p", "FailedScheduling", NULL));
    ASSERT_SENT(&w.served, 200, "MERGE", NODES "/n1", "{'metadata':{'labels':{'x':'y'}}}");
    world_settle_for(&w, plan.fault == TAP_NONE ? 2 : 60);
    assert_on(&w, "p", "n1");
    world_done(&w);
}

static const char *uid_of_pod(struct world *w, const char *name)
{
    return cached_pod(w->scheduler, "default", name)->obj.uid;
}

/* How often that was recorded, repetitions included. */
static long event_times(struct world *w, const char *object, const char *reason)
{
    char path[128];
    long times = 0;

    ASSERT_SENT(&w->served, 200, "GET", "/api/v1/events", NULL);
    for (size_t i = 0, n = got_items(&w->served); i < n; i++) {
        const char *count;

        (void)snprintf(path, sizeof path, "items/%zu/involvedObject/name", i);
        if (strcmp(got(&w->served, path), object) != 0)
            continue;
        (void)snprintf(path, sizeof path, "items/%zu/reason", i);
        if (strcmp(got(&w->served, path), reason) != 0)
            continue;
        (void)snprintf(path, sizeof path, "items/%zu/series/count", i);
        count = got(&w->served, path);
        times += strcmp(count, "-") == 0 ? 1 : strtol(count, NULL, 10);
    }
    return times;
}

/* What is created beside a pod has it tried again at once: the same failure is one event. */
TEST(the_same_failure_is_recorded_once_in_a_while)
{
    struct world w;

    if (plan.fault != TAP_NONE)
        return;
    scheduling_init(&w);
    add_class(&w, LOCAL, NO_PROVISIONER, WFFC, "");
    add_node(&w, "n1", "", "");
    add_claim(&w, "c", "5Gi", RWO, CLASS_OF);
    add_pod(&w, "p", "c", "", "");
    world_start(&w);
    world_rest(&w);
    ASSERT_INT(1, queue_get(&w.scheduler->queue, uid_of_pod(&w, "p"))->attempts);
    ASSERT_INT(1, event_times(&w, "p", "FailedScheduling"));
    add_local(&w, "small", "1Gi", LOCAL, "n1");
    world_settle_for(&w, 2);
    ASSERT_INT(2, queue_get(&w.scheduler->queue, uid_of_pod(&w, "p"))->attempts);
    ASSERT_INT(1, event_times(&w, "p", "FailedScheduling"));
    world_settle_for(&w, 10);
    add_local(&w, "smaller", "1Mi", LOCAL, "n1");
    world_settle_for(&w, 400);
    assert_true(event_times(&w, "p", "FailedScheduling") > 1);
    world_done(&w);
}

static void build_local(struct world *w, bool is_alone)
{
    scheduling_init(w);
    w->is_alone = is_alone;
    add_class(w, LOCAL, NO_PROVISIONER, WFFC, "");
    add_node(w, "n1", "", "");
    add_local(w, "pv", "5Gi", LOCAL, "n1");
    add_claim(w, "c", "5Gi", RWO, CLASS_OF);
    add_pod(w, "p", "c", "", "");
}

/* scheduler-66: the pod has been refused, and its attempt is not over yet: the answer to its condition is
 * still on its way. */
TEST(scheduler_66_an_event_while_the_pod_is_tried)
{
    struct world w;

    build_local(&w, true);
    world_start(&w);
    fail_next(&w, TAP_LATE, "PATCH " PODS "/p/status", 1);
    world_rest(&w);
    assert_non_null(w.tap->late);
    set_phase(&w, "pv", "Available");
    world_rest(&w);
    world_deliver_late(&w);
    world_settle_for(&w, 2);
    ASSERT_VOLUME(&w, "pv", "c", "spec/claimRef/name");
    world_done(&w);
}

/* scheduler-66: the same of one that is on its way to its node, with a volume that it does not get. */
TEST(scheduler_66_an_event_while_the_pod_is_bound)
{
    struct world w;

    build_local(&w, true);
    set_phase(&w, "pv", "Available");
    world_start(&w);
    fail_next(&w, TAP_LATE, "PATCH " VOLUMES "/pv", 1);
    world_rest(&w);
    add_local(&w, "other", "5Gi", LOCAL, "n1");
    set_phase(&w, "other", "Available");
    patch_volume(&w, "pv", "", "{'spec':{'claimRef':{'name':'foreign','uid':'u'}}}");
    world_rest(&w);
    world_deliver_late(&w);
    patch_volume(&w, "pv", "", "{'spec':{'claimRef':{'uid':null}}}");
    world_settle_for(&w, 5);
    ASSERT_VOLUME(&w, "other", "c", "spec/claimRef/name");
    world_done(&w);
}

/* What else the queue's table names, each for a pod that it concerns: within its rest. */
TEST(what_brings_a_pod_back)
{
    static const struct {
        const char *what, *method, *path, *body;
        int status;
    } rows[] = {
        { "a volume of the class", "POST", VOLUMES,
          "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'new'},'spec':{'capacity':{"
          "'storage':'9Gi'},'accessModes':['ReadWriteOnce'],'storageClassName':'" LOCAL "'," HOST_PATH "}}",
          201 },
        { "the volume's phase", "MERGE", VOLUMES "/pv/status", "{'status':{'phase':'Available'}}", 200 },
        { "a node", "POST", NODES,
          "{'apiVersion':'v1','kind':'Node','metadata':{'name':'n2','labels':{'free':'yes'}}}", 201 },
        { "a node's labels", "MERGE", NODES "/n1", "{'metadata':{'labels':{'free':'yes'}}}", 200 },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world w;

        build_local(&w, true);
        add_volume(&w, "tied", "5Gi", RWO,
                   CLASS_OF ",'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':"
                            "'free','operator':'Exists'}]}]}}");
        set_phase(&w, "tied", "Available");
        world_start(&w);
        world_settle_for(&w, 60);
        assert_pending(&w, "p", "Unschedulable", NONE_FOUND);
        ASSERT_SENT(&w.served, rows[i].status, rows[i].method, rows[i].path, rows[i].body);
        if (i == 0)
            set_phase(&w, "new", "Available");
        world_settle_for(&w, 3);
        if (count_writes(&w, "PATCH " VOLUMES) != 1)
            fail_msg("%s: %s", rows[i].what, buf_cstr(&w.log));
        world_done(&w);
    }
}

/* A class that comes after its claim, and allows more than it did. */
TEST(a_class_brings_a_pod_back)
{
    struct world w;

    scheduling_init(&w);
    add_node(&w, "n1", "'zone':'b'", "");
    add_claim(&w, "c", "5Gi", RWO, CLASS_OF);
    add_pod(&w, "p", "c", "", "");
    world_start(&w);
    world_settle_for(&w, 60);
    assert_pending(&w, "p", "Unschedulable",
                   "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.");
    add_class(&w, LOCAL, "x.csi", WFFC,
              ",'allowedTopologies':[{'matchLabelExpressions':[{'key':'zone','values':['a']}]}]");
    world_settle_for(&w, 60);
    assert_pending(&w, "p", "Unschedulable", NONE_FOUND);
    ASSERT_SENT(&w.served, 200, "DELETE", CLASSES "/" LOCAL, NULL);
    add_class(&w, LOCAL, "x.csi", WFFC, "");
    world_settle_for(&w, 60);
    look_at_claim(&w, "c");
    assert_string_equal(annotation(&w, ANN_SELECTED_NODE), "n1");
    world_done(&w);
}

/* --- Deaths --- */

/* scheduler-67: the binder lives on, and finishes what was begun while the pod comes again. */
TEST(scheduler_67_killed_after_the_volume_was_written)
{
    struct world w;

    build_local(&w, true);
    add_local(&w, "pv0", "5Gi", LOCAL, "n1"); /* comes before the other by name */
    set_phase(&w, "pv", "Available");
    set_phase(&w, "pv0", "Pending");
    world_start(&w);
    fail_next(&w, TAP_CRASH, "PATCH " VOLUMES "/pv?", 1);
    w.is_alone = false; /* from the restart on */
    world_settle(&w);
    ASSERT_INT(0, w.failing_count);
    assert_on(&w, "p", "n1");
    assert_bound(&w, "c", "pv");
    ASSERT_VOLUME(&w, "pv0", "-", "spec/claimRef");
    ASSERT_INT(1, count_writes(&w, "PATCH " VOLUMES "/pv?fieldManager=berth-scheduler"));
    ASSERT_INT(1, count_writes(&w, BINDING));
    world_done(&w);
}

/* scheduler-68: nobody tells of it then. */
TEST(scheduler_68_killed_after_the_binding)
{
    struct world w;

    build_local(&w, false);
    world_start(&w);
    fail_next(&w, TAP_CRASH, BINDING, 1);
    world_settle(&w);
    ASSERT_INT(0, w.failing_count);
    assert_on(&w, "p", "n1");
    assert_bound(&w, "c", "pv");
    ASSERT_INT(1, count_writes(&w, BINDING));
    ASSERT_INT(0, count_events(&w, "p", "Scheduled", NULL));
    world_done(&w);
}

/* --- The pod's binding --- */

/* Somebody binds the pod before the scheduler does, and its cache does not hear of it. */
static void play_bound_by_another(const char *node, unsigned told)
{
    struct world w;
    char body[256];

    scheduling_init(&w);
    add_node(&w, "n1", "", "");
    add_pod(&w, "p", "", "", "");
    w.is_blind = true;
    w.blind_to = KIND_POD;
    world_start(&w);
    (void)snprintf(body, sizeof body,
                   "{'apiVersion':'v1','kind':'Binding','metadata':{'name':'p'},'target':{'kind':'Node',"
                   "'name':'%s'}}",
                   node);
    ASSERT_SENT(&w.served, 201, "POST", PODS "/p/binding", body);
    world_settle(&w);
    assert_on(&w, "p", node);
    ASSERT_INT(1, count_writes(&w, BINDING));
    ASSERT_INT(told, count_events(&w, "p", "Scheduled", NULL));
    ASSERT_INT(0, count_events(&w, "p", "FailedScheduling", NULL));
    world_done(&w);
}

TEST(scheduler_69_already_assigned)
{
    play_bound_by_another("n1", 1);
    play_bound_by_another("elsewhere", 0);
}

/* Section 12: nobody knows, so the pod is asked; what cannot be asked either is tried again. */
TEST(an_answer_that_is_lost)
{
    struct world w;

    scheduling_init(&w);
    add_node(&w, "n1", "", "");
    add_pod(&w, "p", "", "", "");
    world_start(&w);
    fail_next(&w, TAP_LOSE, BINDING, 1);
    world_settle(&w);
    assert_on(&w, "p", "n1");
    ASSERT_INT(1, count_writes(&w, BINDING));
    ASSERT_INT(1, count_events(&w, "p", "Scheduled", "Successfully assigned default/p to n1"));
    world_done(&w);
}

/* A pod that goes is not bound: the server says so, and so does the pod, until it is dropped. */
TEST(a_pod_that_goes_is_not_bound)
{
    struct world w;

    scheduling_init(&w);
    add_node(&w, "n1", "", "");
    add_pod(&w, "p", "", "", "");
    ASSERT_SENT(&w.served, 200, "MERGE", PODS "/p", "{'metadata':{'finalizers':['example.com/held']}}");
    w.is_blind = true;
    w.blind_to = KIND_POD;
    world_start(&w);
    ASSERT_SENT(&w.served, 200, "DELETE", PODS "/p", NULL);
    world_settle_for(&w, 1);
    assert_pending(&w, "p", "SchedulerError",
                   "running Bind plugin \"DefaultBinder\": Operation cannot be fulfilled on pods/binding "
                   "\"p\": pod p is being deleted, cannot be assigned to a host");
    world_settle(&w);
    ASSERT_INT(1, count_writes(&w, BINDING));
    ASSERT_INT(1, count_events(&w, "p", "FailedScheduling", "skip schedule deleting pod: default/p"));
    world_done(&w);
}

/* --- From one end to the other --- */

/* scheduler-72: the rows of the flow in their order, the later ones without any time passing: nothing polls.
 */
TEST(scheduler_72_the_local_flow)
{
    struct world w;

    scheduling_init(&w);
    add_class(&w, LOCAL, NO_PROVISIONER, WFFC, "");
    add_node(&w, "my-node", "", "");
    add_node(&w, "other", "", "");
    world_start(&w);
    add_local(&w, "example-local-pv", "5Gi", LOCAL, "my-node");
    add_claim(&w, "example-local-claim", "5Gi", RWO, CLASS_OF);
    world_still(&w);
    ASSERT_VOLUME(&w, "example-local-pv", "Available", "status/phase");
    ASSERT_GOT(&w.served, "['kubernetes.io/pv-protection']", "metadata/finalizers");
    ASSERT_CLAIM(&w, "example-local-claim", "Pending", "status/phase");
    ASSERT_GOT(&w.served, "['kubernetes.io/pvc-protection']", "metadata/finalizers");
    assert_times(1, count_events(&w, "example-local-claim", "WaitForFirstConsumer",
                                 "waiting for first consumer to be created before binding"));
    world_recount(&w);
    add_pod(&w, "p", "example-local-claim", "", "");
    world_still(&w);
    assert_on(&w, "p", "my-node");
    assert_bound(&w, "example-local-claim", "example-local-pv");
    assert_string_equal(annotation(&w, ANN_BOUND_BY_CONTROLLER), "yes");
    look_at_claim(&w, "example-local-claim");
    assert_string_equal(annotation(&w, ANN_BOUND_BY_CONTROLLER), "yes");
    assert_string_equal(annotation(&w, ANN_SELECTED_NODE), "-");
    ASSERT_GOT(&w.served, "['ReadWriteOnce']", "status/accessModes");
    ASSERT_GOT(&w.served, "5Gi", "status/capacity/storage");
    if (plan.fault == TAP_NONE)
        ASSERT_STR("PATCH " VOLUMES "/example-local-pv?fieldManager=berth-scheduler\n"
                   "PATCH " VOLUMES "/example-local-pv/status?fieldManager=berth-binder\n"
                   "PATCH " CLAIMS "/example-local-claim?fieldManager=berth-binder\n" BINDING
                   "?fieldManager=berth-scheduler\n"
                   "PATCH " CLAIMS "/example-local-claim/status?fieldManager=berth-binder\n",
                   buf_cstr(&w.log));
    assert_times(1, count_events(&w, "p", "Scheduled", "Successfully assigned default/p to my-node"));
    world_done(&w);
}

/* Row 7 of section 15: a second pod goes where the volume is. */
TEST(a_second_pod_of_the_claim)
{
    struct world w;

    build_local(&w, false);
    add_node(&w, "n0", "", ""); /* the first by name, and with the fewest pods */
    world_start(&w);
    world_settle(&w);
    assert_on(&w, "p", "n1");
    add_pod(&w, "q", "c", "", "");
    add_pod(&w, "r", "c", "", ",'nodeSelector':{'kubernetes.io/hostname':'n0'}");
    world_settle(&w);
    assert_on(&w, "q", "n1");
    assert_pending(&w, "r", "Unschedulable",
                   "0/2 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity, 1 "
                   "node(s) didn't match Pod's node affinity/selector.");
    world_done(&w);
}

static const struct unfit unfit[] = {
    { "scheduler_66_an_event_while_the_pod_is_tried", FAULT_ANY, "is about a fault of its own" },
    { "scheduler_66_an_event_while_the_pod_is_bound", FAULT_ANY, "is about a fault of its own" },
    { "what_brings_a_pod_back", FAULT_ANY, "is about time" },
    { "a_class_brings_a_pod_back", FAULT_ANY, "the binder misses the class as long as one looks" },
    { "scheduler_67_killed_after_the_volume_was_written", FAULT_ANY, "is about a fault of its own" },
    { "scheduler_68_killed_after_the_binding", FAULT_ANY, "is about a fault of its own" },
    { "scheduler_69_already_assigned", FAULT_ANY, "is about a moment" },
    { "an_answer_that_is_lost", FAULT_ANY, "is about a fault of its own" },
    { "a_pod_that_goes_is_not_bound", FAULT_ANY, "is about a moment" },
    { 0 },
};

REPLAYED_MAIN(unfit)
