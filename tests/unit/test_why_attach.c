/* What is said of a pod where the attach controller runs in the same process: what only it knows. */
#include "tests/unit/test_attach.h"

#include "tests/unit/test_said.h"

static void ask(struct parts *w, const char *pod)
{
    struct onlooker x;

    onlooker_open(&x, &w->served);
    x.world.attach = ((struct attach_part *)w->part)->attach;
    say(&x.world, &(struct why_question){ .kind = KIND_POD, .ns = "default", .name = pod });
    onlooker_close(&x);
}

static void open_world(struct parts *w)
{
    attach_init(w);
    add_node(w, "n1");
    add_node(w, "n2");
    add_pair(w, "c", "v", RWO, NFS);
    ASSERT_SENT(&w->served, 200, "MERGE", VOLUMES "/v/status", "{'status':{'phase':'Bound'}}");
}

static void close_world(struct parts *w)
{
    said_clear();
    parts_done(w);
}

TEST(stuck_exclusive_volume_is_held_by_another_node)
{
    struct parts w;

    open_world(&w);
    add_pod(&w, "p", "n1", CLAIMED("d", "c"));
    set_in_use(&w, "n1", "'" DISK("v") "'");
    add_pod(&w, "q", "n2", CLAIMED("d", "c"));
    ask(&w, "q");
    ASSERT_SAID("attached-elsewhere",
                "claim c: volume v can be attached to one node at a time, and is attached to n1, "
                "for pods: p on n1");
    ASSERT_TEXT("node n1 reports that it still uses the volume\n");
    drop_pod(&w, "p");
    ask(&w, "q");
    ASSERT_SAID("attached-elsewhere",
                "claim c: volume v can be attached to one node at a time, and is attached to n1");
    ASSERT_TEXT("node n1 has 360 s left to unmount it\n");
    ASSERT_TEXT("kubectl taint node n1 node.kubernetes.io/out-of-service");
    close_world(&w);
}

TEST(stuck_attach_fails_and_is_tried_again)
{
    struct parts w;

    open_world(&w);
    script.fails = 3;
    script.says = "no such disk";
    add_pod(&w, "p", "n1", CLAIMED("d", "c"));
    ask(&w, "p");
    ASSERT_STR("attach-failed", said_member("cause"));
    ASSERT_TEXT("claim c: volume v cannot be attached: ");
    ASSERT_TEXT("no such disk");
    ASSERT_TEXT("volume_attach, failed 1 time, next try in 1s");
    close_world(&w);
}

TEST_MAIN()
