/* After a restart, and whatever goes wrong at any request: the end is the same. */
#include "tests/unit/test_attach.h"

#define V DISK("v")

static void make_csi_pod(struct parts *w)
{
    add_node(w, "n1");
    add_pair(w, "c", "v", RWO, CSI("h"));
    add_pod(w, "p", "n1", CLAIMED("d", "c"));
}

/* What a node's status says, put there by hand. */
static void set_attached(struct parts *w, const char *node, const char *list)
{
    char path[128], body[512];

    (void)snprintf(path, sizeof path, NODES "/%s/status", node);
    (void)snprintf(body, sizeof body, "{'status':{'volumesAttached':[%s]}}", list);
    ASSERT_DID(w, 200, "MERGE", path, body);
}

/* A restart in which nothing has happened writes nothing. */
TEST(attach_starts_without_a_write)
{
    struct parts w;

    attach_init(&w);
    make_csi_pod(&w);
    grant(&w, "h", "n1");
    set_in_use(&w, "n1", "'" CSI_V("h") "'");
    buf_clear(&w.log);
    attach_restart(&w);
    pass_s(&w, 600);
    assert_asked(&w, "");
    ASSERT_ATTACHED(&w, "n1", CSI_V("h") " ");
    parts_done(&w);
}

/* attach-25: nobody knows more than the name. */
TEST(attach_detaches_what_only_a_status_knows)
{
    struct parts w;

    attach_init(&w);
    add_node(&w, "n1");
    set_attached(&w, "n1",
                 "{'name':'" CSI_V("h") "','devicePath':''},{'name':'" V "','devicePath':'/dev/y'}");
    buf_clear(&w.log);
    attach_restart(&w);
    ASSERT_ATTACHED(&w, "n1", "");
    ASSERT_INT(1, script.detaches);
    assert_metric(
        &w, "attachdetach_controller_total_volumes{plugin_name=\"kubernetes.io/csi:d.io\",state=\"actual_"
            "state_of_world\"} 0\n");
    pass_s(&w, 60);
    parts_done(&w);
}

/* A cache that is behind at the start hears of what the leader before has attached when it leads already. */
TEST(attach_takes_over_what_it_hears_of_late)
{
    struct parts w;

    attach_init(&w);
    add_node(&w, "n1");
    attach_restart(&w);
    set_attached(&w, "n1", "{'name':'" V "','devicePath':'/dev/y'}");
    pass_s(&w, 60);
    ASSERT_ATTACHED(&w, "n1", "");
    ASSERT_INT(1, script.detaches);
    parts_done(&w);
}

/* A process whose caches are filled and that does not lead yet. */
static void restart_as_follower(struct parts *w)
{
    process_kill(w);
    process_start(w);
    w->is_started = true;
    parts_rest(w);
}

static void begin_to_lead(struct parts *w)
{
    w->is_started = false;
    parts_rest(w);
}

/* The leader before attached it to another node; the cache has not heard of that, and the server has. */
TEST(attach_asks_the_server_what_is_attached_before_it_begins)
{
    struct parts w;

    attach_init(&w);
    add_node(&w, "n1");
    add_node(&w, "n2");
    add_pair(&w, "c", "v", RWO, NFS);
    restart_as_follower(&w);
    add_pod(&w, "p", "n2", CLAIMED("d", "c"));
    w.is_blind_to[KIND_NODE] = true;
    set_attached(&w, "n1", "{'name':'" V "','devicePath':'/dev/y'}");
    set_in_use(&w, "n1", "'" V "'");
    begin_to_lead(&w);
    pass_s(&w, 60);
    ASSERT_INT(0, script.attaches);
    ASSERT_INT(0, script.detaches);
    attach_restart(&w);
    w.is_blind_to[KIND_NODE] = false;
    set_in_use(&w, "n1", "");
    pass_s(&w, 1);
    ASSERT_STR("n1", script.detached_from);
    ASSERT_INT(1, script.attaches);
    ASSERT_STR("n2", script.attached_to);
    parts_done(&w);
}

TEST(attach_begins_when_the_server_answers)
{
    struct parts w;

    attach_init(&w);
    add_node(&w, "n1");
    add_pair(&w, "c", "v", RWO, NFS);
    restart_as_follower(&w);
    add_pod(&w, "p", "n1", CLAIMED("d", "c"));
    w.is_down = true;
    begin_to_lead(&w);
    pass_s(&w, 60);
    ASSERT_INT(0, script.attaches);
    w.is_down = false;
    pass_s(&w, 60);
    ASSERT_INT(1, script.attaches);
    w.is_down = true;
    attach_restart(&w); /* which ends while it waits */
    pass_s(&w, 1);
    parts_done(&w);
}

/* What it has taken from the list itself does not come back with an old version. */
TEST(attach_takes_over_nothing_once_it_has_written)
{
    struct parts w;

    attach_init(&w);
    add_node(&w, "n1");
    set_attached(&w, "n1", "{'name':'" V "','devicePath':'/dev/y'}");
    attach_restart(&w);
    pass_s(&w, 60);
    ASSERT_INT(1, script.detaches);
    set_attached(&w, "n1", "{'name':'" V "','devicePath':'/dev/y'}");
    pass_s(&w, 60);
    ASSERT_INT(1, script.detaches);
    parts_done(&w);
}

/* Names that nobody can do anything about stay, and nothing breaks. */
TEST(attach_keeps_names_that_it_does_not_know)
{
    struct parts w;

    attach_init(&w);
    add_node(&w, "n1");
    set_attached(&w, "n1", "{'name':'x','devicePath':''},{'name':'no.io/such/v','devicePath':''}");
    attach_restart(&w);
    pass_s(&w, 600);
    ASSERT_ATTACHED(&w, "n1", "x no.io/such/v ");
    parts_done(&w);
}

/* Nothing but the attachment knows of a pod's own volume whose pod is gone. */
TEST(attach_detaches_a_volume_of_a_pod_that_is_gone)
{
    static const char disk[] = "{'name':'d','awsElasticBlockStore':{'volumeID':'vol-1'}}";
    struct parts w;

    attach_init(&w);
    add_node(&w, "n1");
    add_pod(&w, "p", "n1", disk);
    ASSERT_THERE(&w, "ebs.csi.aws.com", ATTACHMENTS, "items/0/spec/attacher");
    attach_restart(&w);
    pass_s(&w, 60);
    ASSERT_THERE(&w, "ebs.csi.aws.com", ATTACHMENTS, "items/0/spec/attacher"); /* it is still wanted */
    process_kill(&w);
    ASSERT_SENT(&w.served, 200, "DELETE", PODS "/p?gracePeriodSeconds=0", NULL);
    process_start(&w);
    parts_rest(&w);
    set_in_use(&w, "n1", "");
    ASSERT_DID(&w, 200, "GET", ATTACHMENTS, NULL);
    ASSERT_INT(0, got_items(&w.served));
    parts_done(&w);
}

/* attach-26 */
TEST(attach_takes_up_an_attachment_that_was_not_reported)
{
    struct parts w;

    attach_init(&w);
    make_csi_pod(&w);
    process_kill(&w); /* behind the attachment */
    ASSERT_SENT(&w.served, 200, "MERGE", attachment_path("h", "n1"), FINALIZED);
    char path[320];
    (void)snprintf(path, sizeof path, "%s/status", attachment_path("h", "n1"));
    ASSERT_SENT(&w.served, 200, "MERGE", path, "{'status':{'attached':true}}");
    buf_clear(&w.log);
    process_start(&w);
    parts_rest(&w);
    /* It is written to first: a deletion that the process before had sent is refused from there on. */
    (void)snprintf(path, sizeof path, "PATCH %s\nPATCH " NODE_1 "/status\n", attachment_path("h", "n1"));
    assert_asked(&w, path);
    ASSERT_ATTACHED(&w, "n1", CSI_V("h") " ");
    parts_done(&w);
}

/* What the process before had sent of a node may arrive yet: the Node is changed before anything is detached,
 * although it says nothing of the volume. */
TEST(attach_proves_that_nothing_is_reported_late)
{
    struct parts w;
    char asked[512];

    attach_init(&w);
    make_csi_pod(&w);
    drop_pod(&w, "p");
    attach_restart(&w);
    buf_clear(&w.log);
    set_in_use(&w, "n1", "'x'");
    (void)snprintf(asked, sizeof asked, "PATCH " NODE_1 "/status\nGET " NODE_1 "\nDELETE %s\n",
                   attachment_path("h", "n1"));
    assert_asked(&w, asked);
    assert_attachment(&w, "h", "n1", false);
    ASSERT_SENT(&w.served, 200, "GET", NODE_1, NULL);
    assert_true(strstr(buf_cstr(&w.served.text), "volumes.berth.io/attach-fence") != NULL);
    parts_done(&w);
}

/* An attachment that nobody here has asked for: its making was given up on, and arrived all the same. */
TEST(attach_takes_away_an_attachment_that_arrived_late)
{
    struct parts w;
    char body[512];

    attach_init(&w);
    add_node(&w, "n1");
    add_pair(&w, "c", "v", RWO, CSI("h"));
    (void)snprintf(
        body, sizeof body,
        "{'apiVersion':'storage.k8s.io/v1','kind':'VolumeAttachment','metadata':{'name':'%s'},'spec':{"
        "'attacher':'" DRIVER "','nodeName':'n1','source':{'persistentVolumeName':'v'}}}",
        strrchr(attachment_path("h", "n1"), '/') + 1);
    ASSERT_DID(&w, 201, "POST", ATTACHMENTS, body);
    pass_s(&w, 61);
    assert_attachment(&w, "h", "n1", true); /* the node may use it, for all that is known */
    set_in_use(&w, "n1", "");
    assert_attachment(&w, "h", "n1", false);
    parts_done(&w);
}

/* attach-27: the wait begins with the process. */
TEST(attach_waits_for_a_dead_node_from_its_own_start)
{
    struct parts w;

    attach_init(&w);
    make_csi_pod(&w);
    grant(&w, "h", "n1");
    set_in_use(&w, "n1", "'" CSI_V("h") "'");
    set_attached(&w, "n1", "");
    set_ready(&w, "n1", false);
    drop_pod(&w, "p");
    pass_s(&w, 300);
    attach_restart(&w);
    buf_clear(&w.log);
    pass_s(&w, 359);
    assert_asked(&w, "");
    pass_s(&w, 2);
    release(&w, "h", "n1");
    assert_attachment(&w, "h", "n1", false);
    assert_metric(&w, "forced_detaches{reason=\"timeout\"} 1\n");
    parts_done(&w);
}

/* attach-28: what the volume is comes from the pod, and verification asks about it. */
TEST(attach_learns_from_pods_what_is_attached)
{
    struct parts w;

    attach_init(&w);
    attach_options.sync_period_ns = ATTACH_SYNC_PERIOD_NS;
    add_node(&w, "n1");
    add_pair(&w, "c", "v", RWO, NFS);
    add_pod(&w, "p", "n1", CLAIMED("d", "c"));
    set_attached(&w, "n1", "{'name':'" V "','devicePath':'/dev/x'},{'name':'" DISK("z") "','devicePath':''}");
    set_in_use(&w, "n1", "'" V "','" DISK("z") "'");
    attach_restart(&w);
    pass_s(&w, 61);
    ASSERT_INT(1, script.checks); /* nobody knows what z is */
    ASSERT_ATTACHED(&w, "n1", V " " DISK("z") " ");
    ASSERT_INT(1, script.attaches);
    parts_done(&w);
}

/* attach-29; and an attachment by an inline spec. */
TEST(attach_passes_over_attachments_of_volumes_that_are_gone)
{
    struct parts w;

    attach_init(&w);
    add_node(&w, "n1");
    ASSERT_DID(&w, 201, "POST", ATTACHMENTS,
               "{'metadata':{'name':'a'},'spec':{'attacher':'" DRIVER
               "','nodeName':'n1','source':{'persistentVolumeName':'gone'}}}");
    ASSERT_DID(&w, 201, "POST", ATTACHMENTS,
               "{'metadata':{'name':'b'},'spec':{'attacher':'" DRIVER
               "','nodeName':'n1','source':{'inlineVolumeSpec':{'accessModes':[" RWO "]," CSI("i") "}}}}");
    attach_restart(&w);
    set_in_use(&w, "n1", "");
    pass_s(&w, 600);
    assert_asked(&w, "");
    parts_done(&w);
}

/* Section 19: the process ends when the node's status is written and the attachment is not deleted. */
TEST(attach_ends_a_detach_that_another_process_began)
{
    static const bool is_wanted[] = { false, true };

    for (size_t i = 0; i < ARRAY_LEN(is_wanted); i++) {
        struct parts w;

        attach_init(&w);
        make_csi_pod(&w);
        grant(&w, "h", "n1");
        w.trouble = TROUBLE_CRASH_SENT;
        drop_pod(&w, "p");
        w.at = w.count + 1;
        set_in_use(&w, "n1", ""); /* the write of the status is its last */
        if (is_wanted[i])
            add_pod(&w, "q", "n1", CLAIMED("d", "c"));
        set_in_use(&w, "n1", "");
        serve_attachments(&w);
        pass_s(&w, 130);
        serve_attachments(&w);
        ASSERT_ATTACHED(&w, "n1", is_wanted[i] ? CSI_V("h") " " : "");
        assert_attachment(&w, "h", "n1", is_wanted[i]);
        parts_done(&w);
    }
}

/* P2: a write that was lost did happen, and the cache does not know. It is written again before the detach,
 * although the cache says what is to be said. */
TEST(attach_does_not_take_an_old_cache_for_an_answer)
{
    struct parts w;

    attach_init(&w);
    add_node(&w, "n1");
    add_pair(&w, "c", "v", RWO, NFS);
    ASSERT_DID(&w, 200, "MERGE", NODE_1,
               "{'spec':{'taints':[{'key':'node.kubernetes.io/out-of-service','effect':'NoExecute'}]}}");
    attach_restart(&w);
    w.is_blind_to[KIND_NODE] = true;
    w.trouble = TROUBLE_LOST;
    w.at = w.count + 1;
    add_pod(&w, "p", "n1", CLAIMED("d", "c"));
    ASSERT_ATTACHED(&w, "n1", V " ");
    drop_pod(&w, "p");
    ASSERT_INT(0, script.detaches);
    pass_s(&w, 1);
    ASSERT_INT(1, script.detaches);
    ASSERT_ATTACHED(&w, "n1", "");
    assert_asked(&w, PATCH_1 "GET " NODE_1 "\n" PATCH_1 PATCH_1); /* looked at after the lost answer */
    parts_done(&w);
}

/* --- What a node's annotation remembers --- */

#define REMEMBERED "volumes.berth.io/may-be-attached"

static bool is_remembered(struct parts *w, const char *text)
{
    ASSERT_SENT(&w->served, 200, "GET", NODE_1, NULL);
    return strstr(got(&w->served, "metadata/annotations"), text) != NULL;
}

/* A process that ends when the node is told and the disk is not detached. */
static void end_before_the_detach(struct parts *w)
{
    add_node(w, "n1");
    add_pair(w, "c", "v", RWO, NFS);
    add_pod(w, "p", "n1", CLAIMED("d", "c"));
    assert_false(is_remembered(w, REMEMBERED));
    script.fails = 1;
    drop_pod(w, "p");
    set_in_use(w, "n1", "");
    ASSERT_INT(1, script.detaches);
    process_kill(w);
    script_clear();
    ASSERT_ATTACHED(w, "n1", "");
    assert_true(is_remembered(w, "\"" REMEMBERED "\":\"[\\\"" V "\\\"]\""));
}

TEST(attach_remembers_what_it_was_detaching)
{
    struct parts w;

    attach_init(&w);
    end_before_the_detach(&w);
    process_start(&w);
    parts_rest(&w);
    ASSERT_INT(1, script.detaches);
    ASSERT_STR("n1", script.detached_from);
    assert_false(is_remembered(&w, REMEMBERED));
    attach_restart(&w);
    ASSERT_INT(1, script.detaches);
    parts_done(&w);
}

/* P5: told again only after another attach. */
TEST(attach_takes_back_what_it_was_detaching)
{
    struct parts w;

    attach_init(&w);
    end_before_the_detach(&w);
    add_pod(&w, "q", "n1", CLAIMED("d", "c"));
    buf_clear(&w.log);
    process_start(&w);
    parts_rest(&w);
    ASSERT_INT(1, script.attaches);
    ASSERT_INT(0, script.detaches);
    ASSERT_ATTACHED(&w, "n1", V " ");
    assert_false(is_remembered(&w, REMEMBERED));
    parts_done(&w);
}

/* A node that still uses it keeps it, as any other. */
TEST(attach_keeps_what_it_was_detaching_while_it_is_in_use)
{
    struct parts w;

    attach_init(&w);
    end_before_the_detach(&w);
    set_in_use(&w, "n1", "'" V "'");
    process_start(&w);
    parts_rest(&w);
    pass_s(&w, 600);
    ASSERT_INT(0, script.detaches);
    set_in_use(&w, "n1", "");
    ASSERT_INT(1, script.detaches);
    parts_done(&w);
}

/* CSI volumes have attachments to be remembered by. */
TEST(attach_remembers_no_csi_volumes)
{
    struct parts w;

    attach_init(&w);
    make_csi_pod(&w);
    grant(&w, "h", "n1");
    drop_pod(&w, "p");
    set_in_use(&w, "n1", "");
    ASSERT_ATTACHED(&w, "n1", "");
    assert_false(is_remembered(&w, REMEMBERED));
    release(&w, "h", "n1");
    assert_false(is_remembered(&w, REMEMBERED));
    parts_done(&w);
}

/* Anybody who may write nodes may have written it. */
TEST(attach_reads_what_is_remembered_with_care)
{
    static const char *const texts[] = { "",       "x",       "{}",          "[",         "[1,null,{},[]]",
                                         "[\"\"]", "[[[[[[]", "{\"a\":[1]}", "\"" V "\"", "[\"\\u0000\"]" };
    struct parts w;

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        _cleanup_(buf_done_p) struct buf body = BUF_INIT(4096);

        attach_init(&w);
        add_node(&w, "n1");
        buf_add_cstr(&body, "{\"metadata\":{\"annotations\":{\"" REMEMBERED "\":");
        json_write_string(&body, str_of(texts[i]));
        buf_add_cstr(&body, "}}}");
        ASSERT_DID(&w, 200, "MERGE", NODE_1, buf_cstr(&body));
        attach_restart(&w);
        ASSERT_INT(0, script.detaches);
        add_pair(&w, "c", "v", RWO, NFS);
        add_pod(&w, "p", "n1", CLAIMED("d", "c"));
        ASSERT_ATTACHED(&w, "n1", V " ");
        parts_done(&w);
    }
}

/* --- Trouble at every request --- */

/* A volume of a driver comes, moves and goes. */
static void move_csi(struct parts *w)
{
    make_csi_pod(w);
    add_node(w, "n2");
    parts_settle(w);
    serve_attachments(w);
    parts_settle(w);
    ASSERT_ATTACHED(w, "n1", CSI_V("h") " ");
    set_in_use(w, "n1", "'" CSI_V("h") "'");
    add_pod(w, "q", "n2", CLAIMED("d", "c"));
    drop_pod(w, "p");
    parts_settle(w);
    assert_attachment(w, "h", "n2", false);
    set_in_use(w, "n1", "");
    parts_settle(w);
    set_in_use(w, "n1", ""); /* a process that began after the last word waits for another */
    parts_settle(w);
    serve_attachments(w);
    parts_settle(w);
    ASSERT_ATTACHED(w, "n1", "");
    ASSERT_ATTACHED(w, "n2", CSI_V("h") " ");
    drop_pod(w, "q");
    set_in_use(w, "n2", "");
    parts_settle(w);
    set_in_use(w, "n2", "");
    parts_settle(w);
    serve_attachments(w);
    parts_settle(w);
    assert_attachment(w, "h", "n2", false);
    ASSERT_ATTACHED(w, "n2", "");
}

TEST(attach_moves_csi_volumes_whatever_goes_wrong)
{
    script_clear();
    attach_options = (struct attach_options){ 0 };
    assert_ends_the_same(&attach_type, move_csi);
}

/* The same of a plugin. */
static void move_disk(struct parts *w)
{
    script_clear();
    add_node(w, "n1");
    add_node(w, "n2");
    add_pair(w, "c", "v", RWO, NFS);
    add_pod(w, "p", "n1", CLAIMED("d", "c"));
    parts_settle(w);
    ASSERT_ATTACHED(w, "n1", V " ");
    set_in_use(w, "n1", "'" V "'");
    drop_pod(w, "p");
    add_pod(w, "q", "n2", CLAIMED("d", "c"));
    parts_settle(w);
    ASSERT_ATTACHED(w, "n2", "");
    ASSERT_INT(0, script.detaches);
    set_in_use(w, "n1", "");
    parts_settle(w);
    ASSERT_ATTACHED(w, "n1", "");
    ASSERT_ATTACHED(w, "n2", V " ");
    /* Nobody is left who knows of a disk whose process ended between the status and the detach. */
    if (w->trouble != TROUBLE_CRASH_SENT && w->trouble != TROUBLE_CRASH_ANSWERED)
        assert_true(script.detaches >= 1);
}

TEST(attach_moves_disks_whatever_goes_wrong)
{
    attach_options = (struct attach_options){ 0 };
    assert_ends_the_same(&attach_type, move_disk);
}

/* Two volumes, one of them on two nodes; a node dies, and is made anew. */
static void lose_a_node(struct parts *w)
{
    add_node(w, "n1");
    add_node(w, "n2");
    add_pair(w, "c", "v", "'ReadWriteMany'", CSI("h"));
    add_pair(w, "c2", "v2", RWO, CSI("h2"));
    add_pod(w, "p", "n1", CLAIMED("d", "c") "," CLAIMED("e", "c2"));
    add_pod(w, "q", "n2", CLAIMED("d", "c"));
    parts_settle(w);
    serve_attachments(w);
    parts_settle(w);
    ASSERT_ATTACHED(w, "n1", CSI_V("h") " " CSI_V("h2") " ");
    ASSERT_ATTACHED(w, "n2", CSI_V("h") " ");
    set_in_use(w, "n1", "'" CSI_V("h") "','" CSI_V("h2") "'");
    set_in_use(w, "n2", "'" CSI_V("h") "'");
    set_ready(w, "n1", false);
    drop_pod(w, "p");
    add_pod(w, "r", "n2", CLAIMED("e", "c2"));
    parts_settle(w);
    ASSERT_ATTACHED(w, "n1", CSI_V("h") " " CSI_V("h2") " "); /* five minutes */
    ASSERT_DID(w, 200, "DELETE", NODE_1, NULL);
    add_node(w, "n1");
    for (unsigned i = 0; i < 3; i++) { /* not in use any more, or the time is over */
        parts_settle(w);
        set_in_use(w, "n1", "");
        serve_attachments(w);
    }
    parts_settle(w);
    ASSERT_ATTACHED(w, "n1", "");
    ASSERT_ATTACHED(w, "n2", CSI_V("h") " " CSI_V("h2") " ");
}

TEST(attach_survives_a_lost_node_whatever_goes_wrong)
{
    script_clear();
    attach_options = (struct attach_options){ 0 };
    assert_ends_the_same(&attach_type, lose_a_node);
}

/* What verification finds is put right. */
static void lose_an_attachment(struct parts *w)
{
    make_csi_pod(w);
    parts_settle(w);
    serve_attachments(w);
    parts_settle(w);
    ASSERT_DID(w, 200, "DELETE", attachment_path("h", "n1"), NULL);
    parts_settle(w);
    serve_attachments(w);
    parts_settle(w);
    ASSERT_ATTACHED(w, "n1", CSI_V("h") " ");
    assert_attachment(w, "h", "n1", true);
}

TEST(attach_verifies_whatever_goes_wrong)
{
    script_clear();
    attach_options = (struct attach_options){ .sync_period_ns = ATTACH_SYNC_PERIOD_NS };
    assert_ends_the_same(&attach_type, lose_an_attachment);
}

TEST_MAIN()
