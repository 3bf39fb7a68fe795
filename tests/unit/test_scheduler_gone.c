/* A node that is removed and made again, under volumes that live on it. */
#include "tests/unit/test_scheduler.h"

#include "tests/unit/test.h"

#define LOCAL "local"
#define NO_PROVISIONER "kubernetes.io/no-provisioner"
#define WFFC "WaitForFirstConsumer"
#define OF_LOCAL ",'storageClassName':'" LOCAL "'"

static void begin(struct world *w)
{
    scheduling_init(w);
    add_class(w, LOCAL, NO_PROVISIONER, WFFC, "");
    add_node(w, "n1", "", "");
    add_node(w, "n2", "", "");
    add_local(w, "v", "1Gi", LOCAL, "n1");
    add_claim(w, "c", "1Gi", RWO, OF_LOCAL);
    world_start(w);
    world_settle_for(w, 1);
}

/* scheduler-55 with the node gone: a pod whose data is there waits for it, and goes on when it is back. */
TEST(pods_wait_for_the_node_of_their_data)
{
    struct world w;

    begin(&w);
    add_pod(&w, "p", "c", "", "");
    world_settle_for(&w, 1);
    assert_on(&w, "p", "n1");
    ASSERT_SENT(&w.served, 200, "DELETE", NODES "/n1", NULL);
    add_pod(&w, "q", "c", "", "");
    world_settle_for(&w, 1);
    assert_pending(&w, "q", "Unschedulable",
                   "0/1 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity.");
    add_node(&w, "n1", "", "");
    world_settle_for(&w, 2); /* within its rest, not after five minutes */
    assert_on(&w, "q", "n1");
    assert_bound(&w, "c", "v");
    world_done(&w);
}

/* The only volume is on a node that is gone: it is not chosen before its node is back. */
TEST(volumes_of_nodes_that_are_gone_are_not_chosen)
{
    struct world w;

    begin(&w);
    ASSERT_SENT(&w.served, 200, "DELETE", NODES "/n1", NULL);
    add_pod(&w, "p", "c", "", "");
    world_settle_for(&w, 1);
    assert_pending(&w, "p", "Unschedulable",
                   "0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind.");
    ASSERT_VOLUME(&w, "v", "Available", "status/phase");
    add_node(&w, "n1", "", "");
    world_settle_for(&w, 2);
    assert_on(&w, "p", "n1");
    assert_bound(&w, "c", "v");
    world_done(&w);
}

TEST_MAIN()
