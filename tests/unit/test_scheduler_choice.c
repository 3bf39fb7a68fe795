/* Which node a pod gets of those that will do: best score, then fewest pods, then by name. The scheduler
 * leaves out nodes that cannot be better; nobody must notice. */
#include "tests/unit/test_scheduler.h"

#include "tests/unit/test.h"

#define PREFERS_B                                                                                           \
    ",'affinity':{'nodeAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':1,"          \
    "'preference':{'matchExpressions':[{'key':'kubernetes.io/hostname','operator':'In','values':['b']}]}}]" \
    "}}"
#define RELUCTANT "'taints':[{'key':'k','effect':'PreferNoSchedule'}]"

static void place(struct world *w, const char *name, const char *spec, const char *node)
{
    add_pod(w, name, "", "", spec);
    world_settle_for(w, 1);
    assert_on(w, name, node);
}

/* section 9: fewest pods, then the name; a node that is closed has fewest and is passed over. */
TEST(pods_spread)
{
    static const char *const nodes[] = { "a", "b", "d", "a", "b" };
    struct world w;
    char name[16];

    scheduling_init(&w);
    add_node(&w, "a", "", "");
    add_node(&w, "b", "", "");
    add_node(&w, "c", "", "'unschedulable':true");
    add_node(&w, "d", "", "");
    world_start(&w);
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
        (void)snprintf(name, sizeof name, "p%zu", i);
        place(&w, name, "", nodes[i]);
    }
    world_done(&w);
}

/* section 9: a preference weighs more than how many pods there are. */
TEST(a_preferred_node_is_taken_again)
{
    struct world w;

    scheduling_init(&w);
    add_node(&w, "a", "", "");
    add_node(&w, "b", "", "");
    world_start(&w);
    place(&w, "p1", PREFERS_B, "b");
    place(&w, "p2", PREFERS_B, "b");
    place(&w, "p3", "", "a");
    world_done(&w);
}

/* section 9: a taint that would rather not weighs more than pods, as long as it or its node is there. */
TEST(a_reluctant_node_comes_last)
{
    struct world w;

    scheduling_init(&w);
    add_node(&w, "a", "", RELUCTANT);
    add_node(&w, "b", "", "");
    add_node(&w, "c", "", RELUCTANT);
    world_start(&w);
    place(&w, "p1", "", "b");
    place(&w, "p2", "", "b");
    ASSERT_SENT(&w.served, 200, "MERGE", NODES "/a", "{'spec':{'taints':null}}");
    ASSERT_SENT(&w.served, 200, "MERGE", NODES "/b", "{'spec':{" RELUCTANT "}}");
    place(&w, "p3", "", "a");
    place(&w, "p4", "", "a");
    place(&w, "p5", "", "a");
    ASSERT_SENT(&w.served, 200, "DELETE", NODES "/b", NULL);
    ASSERT_SENT(&w.served, 200, "DELETE", NODES "/c", NULL);
    add_node(&w, "b", "", "");
    place(&w, "p6", "", "b");
    world_done(&w);
}

TEST_MAIN()
