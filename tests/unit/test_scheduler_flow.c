/* The scheduler and the binder together: from a pod to its node and its volumes. */
#include "tests/unit/test_scheduler.h"

#include "tests/unit/test.h"

#define LOCAL "local-storage"
#define NO_PROVISIONER "kubernetes.io/no-provisioner"
#define WFFC "WaitForFirstConsumer"
#define CLASS_OF ",'storageClassName':'" LOCAL "'"

/* scheduler-72: the rows of the local flow, in their order. */
TEST(local_flow)
{
    struct world w;

    scheduling_init(&w);
    add_class(&w, LOCAL, NO_PROVISIONER, WFFC, "");
    add_node(&w, "my-node", "", "");
    add_node(&w, "other", "", "");
    add_local(&w, "example-local-pv", "5Gi", LOCAL, "my-node");
    add_claim(&w, "example-local-claim", "5Gi", RWO, CLASS_OF);
    world_start(&w);
    world_settle_for(&w, 1);
    ASSERT_VOLUME(&w, "example-local-pv", "Available", "status/phase");
    ASSERT_CLAIM(&w, "example-local-claim", "Pending", "status/phase");
    add_pod(&w, "p", "example-local-claim", "", "");
    world_settle_for(&w, 1);
    assert_on(&w, "p", "my-node");
    assert_bound(&w, "example-local-claim", "example-local-pv");
    look_at_claim(&w, "example-local-claim");
    assert_string_equal(annotation(&w, ANN_SELECTED_NODE), "-");
    assert_int_equal(count_events(&w, "p", "Scheduled", "Successfully assigned default/p to my-node"), 1);
    assert_int_equal(count_events(&w, "p", "FailedScheduling", NULL), 0);
    world_done(&w);
}

/* Somebody binds the claim to another volume while the pod waits for the one that was chosen: the pod does
 * not go where that one is. */
TEST(a_claim_bound_elsewhere_takes_its_pod_along)
{
    struct world w;

    scheduling_init(&w);
    add_class(&w, LOCAL, NO_PROVISIONER, WFFC, "");
    add_node(&w, "n1", "", "");
    add_node(&w, "n2", "", "");
    add_local(&w, "v1", "5Gi", LOCAL, "n1");
    add_local(&w, "v2", "5Gi", LOCAL, "n2");
    add_claim(&w, "c", "5Gi", RWO, CLASS_OF);
    world_start(&w);
    world_settle_for(&w, 1);
    w.binder = binder_free(w.binder);
    add_pod(&w, "p", "c", "", "");
    world_settle_for(&w, 1);
    ASSERT_VOLUME(&w, "v1", "c", "spec/claimRef/name");
    ASSERT_SENT(&w.served, 200, "MERGE", CLAIMS "/c",
                "{'metadata':{'annotations':{'" ANN_BIND_COMPLETED "':'yes'}},'spec':{'volumeName':'v2'}}");
    world_settle_for(&w, 0);
    assert_pending(
        &w, "p", "SchedulerError",
        "running PreBind plugin \"VolumeBinding\": binding volumes: pv \"v2\" node affinity doesn't "
        "match node \"n1\": no matching NodeSelectorTerms");
    world_settle_for(&w, 10);
    assert_on(&w, "p", "n2");
    world_done(&w);
}

TEST(scheduler_1_unschedulable_node)
{
    struct world w;

    scheduling_init(&w);
    add_node(&w, "n", "", "'unschedulable':true");
    world_start(&w);
    add_pod(&w, "p", "", "", "");
    world_settle_for(&w, 1);
    assert_pending(&w, "p", "Unschedulable", "0/1 nodes are available: 1 node(s) were unschedulable.");
    world_done(&w);
}

TEST_MAIN()
