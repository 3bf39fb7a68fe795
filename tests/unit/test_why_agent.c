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

/* How often the operation of that name failed, as the report has it; 0 for none. */
static int64_t failures_of(const char *operation)
{
    json_ref all = json_get(&said.doc, said.report, "operations");
    int64_t n = 0;

    for (json_ref o = json_first(&said.doc, all); o; o = json_next(&said.doc, o))
        if (str_is(json_get_text(&said.doc, o, "name"), operation))
            (void)json_int64(&said.doc, json_get(&said.doc, o, "failures"), &n);
    return n;
}

static int64_t events_of(const char *reason)
{
    json_ref all = json_get(&said.doc, said.report, "events");
    int64_t n = 0, one;

    for (json_ref e = json_first(&said.doc, all); e; e = json_next(&said.doc, e))
        if (str_is(json_get_text(&said.doc, e, "reason"), reason) &&
            json_int64(&said.doc, json_get(&said.doc, e, "count"), &one))
            n += one;
    return n;
}

static void assert_counts_agree(const char *operation, const char *reason)
{
    assert_true(failures_of(operation) > 1);
    ASSERT_INT(failures_of(operation), events_of(reason));
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
    assert_counts_agree("volume_mount", "FailedMount");
    ASSERT_TEXT("Next: the node retries in ");
    said_clear();
    bench_close();
}

/* What went wrong before is over: the events are there, and are not the cause. */
TEST(a_failure_that_is_over_is_not_told)
{
    bench_open();
    put_bound_disk("");
    disk_fails("set-up", 2, ERR_IO, "the disk is on fire");
    put_disk_pod("p", "d", NULL);
    pass(20);
    ask("p");
    ASSERT_SAID("none", "its volumes are ready, but its containers are not started");
    ASSERT_INT(2, events_of("FailedMount"));
    ASSERT_INT(0, failures_of("volume_mount"));
    said_clear();
    bench_close();
}

static void ask_elsewhere(const char *pod)
{
    struct onlooker x;

    onlooker_open(&x, &bench.w.served);
    say(&x.world, &(struct why_question){ .kind = KIND_POD, .ns = "default", .name = pod });
    onlooker_close(&x);
}

/* A pod that cannot end: the agent knows the operation, others the event. */
TEST(stuck_unmount_fails)
{
    bench_open();
    put_bound_disk("");
    put_disk_pod("p", "d", NULL);
    pass(5);
    disk_fails("tear-down", 100, ERR_UNAVAILABLE, "the driver is away");
    ASSERT_SENT(&bench.w.served, 200, "DELETE", PODS "/p", NULL);
    pass(20);
    ask("p");
    ASSERT_SAID("unmount-failed",
                "it is being deleted, and volume \"d\" cannot be unmounted: the driver is away");
    ASSERT_TEXT("pod default/p: Terminating on n1, because");
    ASSERT_TEXT("Next: the node retries in ");
    assert_counts_agree("volume_unmount", "FailedKillPod");
    ask_elsewhere("p");
    ASSERT_SAID("unmount-failed",
                "it is being deleted, and node n1 fails to terminate it: the driver is away");
    disk.fails_count = 0;
    pass(130);
    ASSERT_GONE(&bench.w, PODS "/p");
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
    ASSERT_SAID("none", "its volumes are ready, but its containers are not started");
    ASSERT_TEXT("Next: a container runtime on the node, or the --pod-hook command, starts them");
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
    ASSERT_SAID(
        "no-flex-driver",
        "volume \"v\": node n1 has no working FlexVolume driver disk; it is expected at /opt/flex/disk/disk");
    said_clear();
    bench_close();
}

TEST_MAIN()
