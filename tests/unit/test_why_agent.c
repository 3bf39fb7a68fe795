/* What is said of a pod where its node's agent runs in the same process: what only the agent knows. */
#include "tests/unit/test_node.h"

#include "tests/unit/test_said.h"

static void ask(const char *pod)
{
    struct onlooker x;

    onlooker_open(&x, &bench.w.served);
    x.world.agent = bench_agent();
    x.world.flex_dir = "/opt/flex";
    say(&x.world, &(struct why_question){ .kind = KIND_POD, .ns = "default", .name = pod });
    onlooker_close(&x);
}

/* Its claim is bound, as the binder would have said. */
static void put_bound_disk(const char *more)
{
    put_disk("d", "1Gi", more);
    ASSERT_SENT(&bench.w.served, 200, "MERGE", CLAIMS "/d",
                "{'metadata':{'annotations':{'" ANN_BIND_COMPLETED "':'yes'}}}");
    ASSERT_SENT(&bench.w.served, 200, "MERGE", VOLUMES "/d/status", "{'status':{'phase':'Bound'}}");
}

TEST(stuck_node_waits_for_the_controller)
{
    disk.is_attachable = true;
    bench_open();
    put_bound_disk("");
    put_disk_pod("p", "d", NULL);
    pass(5);
    ask("p");
    ASSERT_SAID("waits", "volume \"v\" waits for the controller to attach it");
    said_clear();
    bench_close();
}

TEST(stuck_mount_fails_and_is_tried_again)
{
    bench_open();
    put_bound_disk("");
    disk_fails("set-up", 100, ERR_IO, "the disk is on fire");
    put_disk_pod("p", "d", NULL);
    pass(20);
    ask("p");
    ASSERT_STR("mount-failed", said_member("cause"));
    ASSERT_TEXT("pod default/p: Pending on n1, because volume \"v\": the disk is on fire\n");
    ASSERT_TEXT("volume_mount, failed 1 time, next try in ");
    ASSERT_STR("the node tries again by itself", said_member("next"));
    said_clear();
    bench_close();
}

TEST(a_pod_whose_volumes_are_there_waits_for_nothing)
{
    bench_open();
    put_bound_disk("");
    put_disk_pod("p", "d", NULL);
    pass(5);
    ask("p");
    ASSERT_SAID("none", "its volumes are ready on node n1");
    ASSERT_TEXT("Next: whoever runs containers there starts them");
    said_clear();
    bench_close();
}

/* It is in this process: where it looks is known. */
TEST(stuck_flex_driver_is_not_where_the_agent_looks)
{
    bench_open();
    put_pod("p", "{'name':'v','flexVolume':{'driver':'disk'}}",
            "'volumeMounts':[{'name':'v','mountPath':'/v'}]", NULL);
    pass(5);
    ask("p");
    ASSERT_SAID("no-flex-driver",
                "volume \"v\": node n1 has no FlexVolume driver disk that works; it looks for "
                "/opt/flex/disk/disk");
    said_clear();
    bench_close();
}

TEST_MAIN()
