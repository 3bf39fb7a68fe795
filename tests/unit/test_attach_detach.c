/* Letting go: when it is safe, when it is forced, and what happens when it fails. */
#include "tests/unit/test_attach.h"

#include "controllers/attach/attach_int.h"

#define V DISK("v")
#define FORCED(reason) \
    "attach_detach_controller_attachdetach_controller_forced_detaches{reason=\"" reason "\"} 1\n"

/* A volume of the plugin, attached to n1 and in use there. */
static void make_attached(struct parts *w)
{
    add_node(w, "n1");
    add_pair(w, "c", "v", RWO, NFS);
    add_pod(w, "p", "n1", CLAIMED("d", "c"));
    ASSERT_ATTACHED(w, "n1", V " ");
    set_in_use(w, "n1", "'" V "'");
    buf_clear(&w->log);
}

static void init_attached(struct parts *w)
{
    attach_init(w);
    make_attached(w);
}

static void assert_no_metric(const struct parts *w, const char *text)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT((size_t)16 << 20);

    metrics_write(w->metrics, &out);
    if (strstr(buf_cstr(&out), text))
        fail_msg("%s in\n%s", text, buf_cstr(&out));
}

/* attach-8: the status first, and nobody is asked. */
TEST(attach_forces_a_dead_node_after_six_minutes)
{
    struct parts w;

    init_attached(&w);
    set_ready(&w, "n1", false);
    drop_pod(&w, "p");
    pass_s(&w, 359);
    assert_asked(&w, "");
    ASSERT_INT(0, script.detaches);
    pass_s(&w, 2);
    assert_asked(&w, PATCH_1 PATCH_1);
    ASSERT_INT(1, script.detaches);
    ASSERT_STR("n1", script.detached_from);
    ASSERT_ATTACHED(&w, "n1", "");
    assert_metric(&w, FORCED("timeout"));
    parts_done(&w);
}

/* The six minutes are over while the node is well: its failure later is enough. */
TEST(attach_forces_at_once_when_the_time_was_over_before)
{
    struct parts w;

    init_attached(&w);
    drop_pod(&w, "p");
    pass_s(&w, 3600);
    ASSERT_INT(0, script.detaches);
    set_ready(&w, "n1", false);
    ASSERT_INT(1, script.detaches);
    parts_done(&w);
}

/* A pod that comes back resets the wait. */
TEST(attach_waits_anew_after_a_wish)
{
    struct parts w;

    init_attached(&w);
    set_ready(&w, "n1", false);
    drop_pod(&w, "p");
    pass_s(&w, 300);
    add_pod(&w, "q", "n1", CLAIMED("d", "c"));
    drop_pod(&w, "q");
    pass_s(&w, 300);
    ASSERT_INT(0, script.detaches);
    pass_s(&w, 61);
    ASSERT_INT(1, script.detaches);
    parts_done(&w);
}

/* attach-9 */
TEST(attach_never_forces_where_that_is_off_but_out_of_service)
{
    struct parts w;

    attach_init(&w);
    attach_options.no_force_detach_on_timeout = true;
    attach_restart(&w);
    make_attached(&w);
    set_ready(&w, "n1", false);
    drop_pod(&w, "p");
    pass_s(&w, 3600);
    ASSERT_INT(0, script.detaches);
    assert_asked(&w, "");
    ASSERT_DID(&w, 200, "MERGE", NODE_1,
               "{'spec':{'taints':[{'key':'node.kubernetes.io/out-of-service','effect':'NoExecute'}]}}");
    ASSERT_INT(1, script.detaches);
    assert_asked(&w, PATCH_1 PATCH_1);
    assert_metric(&w, FORCED("out-of-service"));
    parts_done(&w);
}

/* attach-10, attach-14: failures with their delays, until the wait is over and nobody is asked any more. */
TEST(attach_stops_asking_the_node_when_detaching_fails_for_long)
{
    struct parts w;

    init_attached(&w);
    script.fails = 100;
    drop_pod(&w, "p");
    set_in_use(&w, "n1", "");
    ASSERT_INT(1, script.detaches);
    assert_asked(&w, "PATCH " NODE_1 "/status\nGET " NODE_1 "\n");
    pass_ms(&w, 499);
    ASSERT_INT(1, script.detaches);
    pass_ms(&w, 2);
    ASSERT_INT(2, script.detaches); /* 500 ms */
    pass_ms(&w, 997);
    ASSERT_INT(2, script.detaches);
    pass_ms(&w, 2);
    ASSERT_INT(3, script.detaches); /* 1 s */
    pass_ms(&w, 2000);
    ASSERT_INT(4, script.detaches);
    assert_asked(&w, "GET " NODE_1 "\nGET " NODE_1 "\nGET " NODE_1 "\n");
    assert_no_metric(&w, "forced_detaches{");
    pass_s(&w, 350);
    buf_clear(&w.log);
    script.fails = 0;
    pass_s(&w, 130);
    assert_asked(&w, PATCH_1);
    assert_metric(&w, FORCED("timeout"));
    ASSERT_ATTACHED(&w, "n1", "");
    parts_done(&w);
}

/* attach-11: nothing is detached before the server has the status; and tried again. */
TEST(attach_does_not_detach_what_may_be_reported)
{
    static const enum trouble all[] = { TROUBLE_REFUSED, TROUBLE_LOST };
    struct parts w;

    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        attach_init(&w);
        make_attached(&w);
        drop_pod(&w, "p");
        w.trouble = all[i];
        w.at = w.count + 1;
        set_in_use(&w, "n1", "");
        assert_asked(&w, all[i] == TROUBLE_LOST ? "PATCH " NODE_1 "/status\nGET " NODE_1 "\n"
                                                : "PATCH " NODE_1 "/status\n");
        ASSERT_INT(0, script.detaches);
        pass_ms(&w, 101);
        assert_asked(&w, PATCH_1 "GET " NODE_1 "\n" PATCH_1);
        ASSERT_INT(1, script.detaches);
        ASSERT_ATTACHED(&w, "n1", "");
        parts_done(&w);
    }
}

/* attach-11: somebody wrote to the Node in between. It is read, and the report decided on that. */
TEST(attach_decides_a_report_on_the_node_that_is_there)
{
    struct parts w;

    init_attached(&w);
    drop_pod(&w, "p");
    w.trouble = TROUBLE_CONFLICT;
    w.at = w.count + 1;
    set_in_use(&w, "n1", "");
    assert_asked(&w, "PATCH " NODE_1 "/status\nGET " NODE_1 "\nPATCH " NODE_1 "/status\nGET " NODE_1
                     "\nPATCH " NODE_1 "/status\n"); /* the last one forgets what was remembered */
    ASSERT_INT(1, script.detaches);
    ASSERT_ATTACHED(&w, "n1", "");
    parts_done(&w);
}

/* A deletion whose answer was lost, and which the cache has not heard of: the attachment is not relied on. */
TEST(attach_does_not_rely_on_an_attachment_that_is_going)
{
    struct parts w;

    attach_init(&w);
    add_node(&w, "n1");
    add_pair(&w, "c", "v", RWO, CSI("h"));
    add_pod(&w, "p", "n1", CLAIMED("d", "c"));
    grant(&w, "h", "n1");
    ASSERT_ATTACHED(&w, "n1", CSI_V("h") " ");
    drop_pod(&w, "p");
    w.is_blind_to[KIND_ATTACHMENT] = true;
    w.trouble = TROUBLE_LOST;
    w.at = w.count + 3; /* behind the report and the look at the node */
    set_in_use(&w, "n1", "");
    ASSERT_SENT(&w.served, 200, "GET", attachment_path("h", "n1"), NULL);
    assert_true(strcmp(got(&w.served, "metadata/deletionTimestamp"), "-") != 0);
    add_pod(&w, "q", "n1", CLAIMED("d", "c"));
    pass_s(&w, 5);
    ASSERT_ATTACHED(&w, "n1", "");
    parts_done(&w);
}

/* The same, and the pod is back before the next try: attached as it was, without a call. */
TEST(attach_reports_again_what_was_not_detached)
{
    struct parts w;

    init_attached(&w);
    drop_pod(&w, "p");
    w.trouble = TROUBLE_LOST;
    w.at = w.count + 1;
    set_in_use(&w, "n1", "");
    ASSERT_ATTACHED(&w, "n1", ""); /* it did happen */
    add_pod(&w, "q", "n1", CLAIMED("d", "c"));
    pass_s(&w, 1);
    ASSERT_ATTACHED(&w, "n1", V " ");
    ASSERT_INT(1, script.attaches);
    ASSERT_INT(0, script.detaches);
    parts_done(&w);
}

/* attach-12: the caches have it still. */
TEST(attach_detaches_when_the_status_has_no_node)
{
    struct parts w;

    init_attached(&w);
    set_in_use(&w, "n1", "");
    w.is_blind_to[KIND_NODE] = true;
    ASSERT_DID(&w, 200, "DELETE", NODE_1, NULL);
    drop_pod(&w, "p");
    assert_asked(&w, PATCH_1 "GET " NODE_1 "\n" PATCH_1);
    ASSERT_INT(1, script.detaches);
    parts_done(&w);
}

/* attach-13, P3: the cache is behind, the server is asked. */
TEST(attach_does_not_detach_what_the_server_says_is_in_use)
{
    struct parts w;

    init_attached(&w);
    set_in_use(&w, "n1", "");
    w.is_blind_to[KIND_NODE] = true;
    set_in_use(&w, "n1", "'" V "'");
    buf_clear(&w.log);
    drop_pod(&w, "p");
    /* The Node that the report was decided on is not the one that is there: it is read, and decided anew. */
    assert_asked(&w, "PATCH " NODE_1 "/status\nGET " NODE_1 "\nPATCH " NODE_1 "/status\nGET " NODE_1 "\n");
    ASSERT_INT(0, script.detaches);
    ASSERT_ATTACHED(&w, "n1", "");
    ASSERT_INT(1, script.attaches);
    /* P5: wanted again, it is attached again before it is reported. */
    add_pod(&w, "q", "n1", CLAIMED("d", "c"));
    ASSERT_INT(2, script.attaches);
    ASSERT_ATTACHED(&w, "n1", V " ");
    parts_done(&w);
}

/* What the server said of the node counts also when the Node is gone before the cache has heard of it. */
TEST(attach_does_not_forget_what_the_server_said_is_in_use)
{
    struct parts w;

    init_attached(&w);
    set_in_use(&w, "n1", "");
    w.is_blind_to[KIND_NODE] = true;
    set_in_use(&w, "n1", "'" V "'");
    drop_pod(&w, "p");
    ASSERT_INT(0, script.detaches);
    ASSERT_DID(&w, 200, "DELETE", NODE_1, NULL);
    pass_s(&w, 300);
    ASSERT_INT(0, script.detaches);
    parts_done(&w);
}

/* Another process, which led before, detached it after what this one had heard of when it took over: that a
 * volume left the status is news of the volume. */
TEST(attach_attaches_again_what_left_the_status)
{
    struct parts w;

    init_attached(&w);
    ASSERT_INT(1, script.attaches);
    ASSERT_DID(&w, 200, "MERGE", NODE_1 "/status", "{'status':{'volumesAttached':null}}");
    ASSERT_INT(2, script.attaches);
    ASSERT_ATTACHED(&w, "n1", V " ");
    parts_done(&w);
}

/* A server that does not answer about the node is no permission. */
TEST(attach_does_not_detach_when_the_node_cannot_be_asked)
{
    struct parts w;

    init_attached(&w);
    drop_pod(&w, "p");
    w.trouble = TROUBLE_CONFLICT; /* 500 to who reads */
    w.at = w.count + 2;
    set_in_use(&w, "n1", "");
    assert_asked(&w, "PATCH " NODE_1 "/status\nGET " NODE_1 "\n");
    ASSERT_INT(0, script.detaches);
    pass_ms(&w, 501);
    ASSERT_INT(1, script.detaches);
    parts_done(&w);
}

/* attach-14's end: another operation does not wait for the delay of the first. */
TEST(attach_attaches_at_once_after_a_detach_that_failed)
{
    struct parts w;

    init_attached(&w);
    script.fails = 3;
    drop_pod(&w, "p");
    set_in_use(&w, "n1", "");
    pass_ms(&w, 1600);
    ASSERT_INT(3, script.detaches);
    ASSERT_ATTACHED(&w, "n1", "");
    add_pod(&w, "q", "n1", CLAIMED("d", "c"));
    ASSERT_INT(2, script.attaches);
    ASSERT_ATTACHED(&w, "n1", V " ");
    ASSERT_TOLD(&w, 1, "q", "SuccessfulAttachVolume", NULL);
    parts_done(&w);
}

/* attach-23: an attach that failed may have happened. */
TEST(attach_detaches_what_may_have_been_attached)
{
    struct parts w;

    attach_init(&w);
    add_node(&w, "n1");
    add_pair(&w, "c", "v", RWO, NFS);
    script.fails = 1;
    add_pod(&w, "p", "n1", CLAIMED("d", "c"));
    ASSERT_TOLD(&w, 1, "p", "FailedAttachVolume", "AttachVolume.Attach failed for volume \"v\" : no luck");
    ASSERT_ATTACHED(&w, "n1", "");
    drop_pod(&w, "p");
    pass_s(&w, 600);
    ASSERT_INT(1, script.attaches);
    ASSERT_INT(0, script.detaches); /* assumed to be in use until the node has spoken */
    set_in_use(&w, "n1", "");
    ASSERT_INT(1, script.detaches);
    parts_done(&w);
}

/* attach-24 */
TEST(attach_assumes_that_a_node_uses_what_it_was_given)
{
    struct parts w;

    attach_init(&w);
    add_node(&w, "n1");
    add_pair(&w, "c", "v", RWO, NFS);
    w.is_blind_to[KIND_NODE] = true;
    add_pod(&w, "p", "n1", CLAIMED("d", "c"));
    ASSERT_ATTACHED(&w, "n1", V " ");
    drop_pod(&w, "p");
    pass_s(&w, 3600);
    ASSERT_INT(0, script.detaches);
    w.is_blind_to[KIND_NODE] = false;
    set_in_use(&w, "n1", "");
    ASSERT_INT(1, script.detaches);
    parts_done(&w);
}

/* attach-35: {statuses, is over} of a pod that is being deleted. */
TEST(attach_knows_when_a_pod_is_over)
{
    static const struct {
        const char *statuses;
        bool is_over;
    } rows[] = {
        { "[{'name':'c','image':'i:1','imageID':'','ready':false,'restartCount':0,'state':{'waiting':{}}}]",
          true },
        { "[{'name':'c','image':'i:1','imageID':'','ready':true,'restartCount':0,'state':{'running':{}}}]",
          false },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct parts w;
        char body[512];

        attach_init(&w);
        make_attached(&w);
        set_in_use(&w, "n1", "");
        (void)snprintf(body, sizeof body, "{'status':{'containerStatuses':%s}}", rows[i].statuses);
        ASSERT_DID(&w, 200, "MERGE", POD_P "/status", body);
        ASSERT_INT(0, script.detaches);
        ASSERT_DID(&w, 200, "DELETE", POD_P "?gracePeriodSeconds=300", NULL);
        ASSERT_INT(rows[i].is_over, script.detaches);
        parts_done(&w);
    }
}

/* attach-36: the claim and the volume are gone before the pod is; it does not even take a minute. */
TEST(attach_forgets_pods_whose_volume_is_gone)
{
    struct parts w;

    init_attached(&w);
    set_in_use(&w, "n1", "");
    ASSERT_DID(&w, 200, "MERGE", VOLUMES "/v", "{'metadata':{'finalizers':null}}");
    ASSERT_DID(&w, 200, "DELETE", VOLUMES "/v", NULL);
    ASSERT_INT(0, script.detaches);
    drop_pod(&w, "p");
    ASSERT_INT(1, script.detaches);
    parts_done(&w);
}

/* attach-34: wishes of a pod that is not there, whose end nobody heard of. */
TEST(attach_drops_the_wishes_of_pods_that_are_gone)
{
    const struct object *pod, *volume;
    struct held_spec spec = { .holder = NULL };
    struct attach *a;
    struct parts w;

    init_attached(&w);
    set_in_use(&w, "n1", "");
    drop_pod(&w, "p");
    ASSERT_INT(1, script.detaches);
    add_pod(&w, "q", "n1", CLAIMED("d", "c"));
    a = ((struct attach_part *)w.part)->attach;
    pod = object_ref(informer_get(a->pods, "default", "q"));
    drop_pod(&w, "q");
    set_in_use(&w, "n1", "");
    ASSERT_INT(2, script.detaches);
    volume = informer_get(a->volumes, "", "v");
    spec.spec.volume = volume_of(volume);
    spec.holder = object_ref(volume);
    ASSERT_OK(attach_state_want(a, "n1", DISK("v"), &spec, pod, &err));
    ASSERT_OK(attach_state_want(a, "n1", DISK("v2"), &spec, pod, &err));
    parts_rest(&w);
    ASSERT_INT(4, script.attaches);
    set_in_use(&w, "n1", "");
    ASSERT_INT(2, script.detaches);
    pass_s(&w, 60);
    ASSERT_INT(4, script.detaches);
    assert_null(attach_pair(a, DISK("v"), "n1"));
    assert_null(attach_pair(a, DISK("v2"), "n1"));
    /* Nor on a node that is none. */
    ASSERT_ERR(ERR_NOT_FOUND, attach_state_want(a, "n9", DISK("v"), &spec, pod, &err));
    ASSERT_STR("no node with the name \"n9\" exists in the list of managed nodes", err.msg);
    held_spec_clear(&spec);
    (void)object_unref((struct object *)(uintptr_t)pod);
    parts_done(&w);
}

/* The same, until a list tells. */
TEST(attach_finds_pods_that_vanished)
{
    struct parts w;

    init_attached(&w);
    add_pair(&w, "c2", "v2", RWO, NFS);
    drop_pod(&w, "p");
    add_pod(&w, "q", "n1", CLAIMED("d", "c") "," CLAIMED("e", "c2"));
    set_in_use(&w, "n1", "");
    w.is_blind_to[KIND_POD] = true;
    drop_pod(&w, "q");
    ASSERT_INT(0, script.detaches);
    /* The next process knows from its list. */
    w.is_blind_to[KIND_POD] = false;
    attach_restart(&w);
    ASSERT_INT(2, script.detaches);
    ASSERT_ATTACHED(&w, "n1", "");
    parts_done(&w);
}

/* attach-37 */
TEST(attach_detaches_from_nodes_that_are_gone)
{
    static const bool in_use[] = { true, false };

    for (size_t i = 0; i < ARRAY_LEN(in_use); i++) {
        struct parts w;

        attach_init(&w);
        make_attached(&w);
        if (!in_use[i])
            set_in_use(&w, "n1", "");
        ASSERT_DID(&w, 200, "DELETE", NODE_1, NULL);
        ASSERT_INT(0, script.detaches); /* wanted */
        buf_clear(&w.log);
        drop_pod(&w, "p");
        ASSERT_INT(in_use[i] ? 0 : 1, script.detaches);
        pass_s(&w, 359);
        ASSERT_INT(in_use[i] ? 0 : 1, script.detaches);
        pass_s(&w, 2);
        ASSERT_INT(1, script.detaches);
        assert_asked(&w, in_use[i] ? "" : "GET " NODE_1 "\n"); /* there is no status to write */
        parts_done(&w);
    }
}

/* attach-38 */
TEST(attach_tells_a_node_that_was_made_anew)
{
    struct parts w;

    init_attached(&w);
    ASSERT_DID(&w, 200, "DELETE", NODE_1, NULL);
    add_node(&w, "n1");
    ASSERT_ATTACHED(&w, "n1", V " ");
    ASSERT_GOT(&w.served, "/dev/x", "status/volumesAttached/0/devicePath");
    ASSERT_INT(1, script.attaches);
    parts_done(&w);
}

/* Freed with a plugin at work and with writes on their way. */
TEST(attach_ends_in_the_middle_of_things)
{
    struct parts w;

    attach_init(&w);
    add_node(&w, "n1");
    add_pair(&w, "c", "v", RWO, NFS);
    add_pair(&w, "c2", "v2", RWO, CSI("h"));
    ASSERT_SENT(&w.served, 201, "POST", PODS,
                "{'metadata':{'name':'p'},'spec':{'nodeName':'n1','containers':[{'name':'c','image':'i:1'}],"
                "'volumes':[" CLAIMED("d", "c") "," CLAIMED("e", "c2") "]}}");
    attach_restart(&w);
    serve_attachments(&w);
    ASSERT_ATTACHED(&w, "n1", CSI_V("h") " " V " ");
    parts_done(&w);
}

TEST_MAIN()
