/* What is wanted, and CSI volumes: from pods to VolumeAttachments and node status. */
#include "tests/unit/test_attach.h"

#include "base/log.h"
#include "controllers/attach/attach_int.h"

#define FIRST_NAME "csi-dd25992ab7d0b84ae8aeef79dda7137ee688b84b3dbdeb89157b9297d3b9765d"

static void make_csi_pod(struct parts *w)
{
    add_node(w, "n1");
    add_pair(w, "c", "v", RWO, CSI("h1"));
    add_pod(w, "p", "n1", CLAIMED("d", "c"));
}

/* attach-1, P5: reported only when it is attached. */
TEST(attach_makes_an_attachment_and_reports_it)
{
    struct parts w;

    attach_init(&w);
    make_csi_pod(&w);
    ASSERT_THERE(&w, DRIVER, ATTACHMENTS "/" FIRST_NAME, "spec/attacher");
    ASSERT_GOT(&w.served, "n1", "spec/nodeName");
    ASSERT_GOT(&w.served, "{'persistentVolumeName':'v'}", "spec/source");
    ASSERT_ATTACHED(&w, "n1", "");
    grant(&w, "h1", "n1");
    ASSERT_ATTACHED(&w, "n1", CSI_V("h1") " ");
    ASSERT_GOT(&w.served, "", "status/volumesAttached/0/devicePath");
    ASSERT_TOLD(&w, 1, "p", "SuccessfulAttachVolume", "AttachVolume.Attach succeeded for volume \"v\" ");
    assert_asked(&w, "POST " ATTACHMENTS "\nPATCH " NODE_1 "/status\n");
    assert_metric(
        &w, "storage_operation_duration_seconds_count{volume_plugin=\"kubernetes.io/csi:d.io\",operation_"
            "name=\"volume_attach\",status=\"success\",migrated=\"false\"} 1\n");
    assert_metric(
        &w, "attachdetach_controller_total_volumes{plugin_name=\"kubernetes.io/csi:d.io\",state=\"actual_"
            "state_of_world\"} 1\n");
    assert_metric(
        &w, "attachdetach_controller_total_volumes{plugin_name=\"kubernetes.io/csi:d.io\",state=\"desired_"
            "state_of_world\"} 1\n");
    assert_metric(
        &w,
        "storage_count_attachable_volumes_in_use{node=\"n1\",volume_plugin=\"kubernetes.io/csi:d.io\"} 1\n");
    /* At rest nothing is asked and nothing is written. */
    pass_s(&w, 3600);
    assert_asked(&w, "");
    parts_done(&w);
}

/* attach-2 */
TEST(attach_leaves_unmanaged_nodes_alone)
{
    struct parts w;

    attach_init(&w);
    ASSERT_DID(&w, 201, "POST", NODES, "{'metadata':{'name':'n1'}}");
    add_pair(&w, "c", "v", RWO, CSI("h1"));
    add_pod(&w, "p", "n1", CLAIMED("d", "c"));
    pass_s(&w, 600);
    assert_asked(&w, "");
    /* Its agent registers: the pods that are there already count. */
    ASSERT_DID(&w, 200, "MERGE", NODE_1, "{'metadata':{" MANAGED "}}");
    assert_attachment(&w, "h1", "n1", true);
    parts_done(&w);
}

/* attach-3, both orders of news. */
TEST(attach_hears_of_claims_that_are_bound)
{
    struct parts w;

    attach_init(&w);
    add_node(&w, "n1");
    add_pod(&w, "p", "n1", CLAIMED("d", "c"));
    assert_asked(&w, "");
    add_pair(&w, "c", "v", RWO, CSI("h1"));
    assert_attachment(&w, "h1", "n1", true);
    parts_done(&w);

    attach_init(&w);
    add_node(&w, "n1");
    add_pod(&w, "p", "n1", CLAIMED("d", "c"));
    ASSERT_DID(&w, 201, "POST", CLAIMS,
               "{'metadata':{'name':'c'},'spec':{'accessModes':[" RWO
               "],'volumeName':'v','resources':{'requests':{'storage':'1Gi'}}}}");
    ASSERT_DID(&w, 200, "MERGE", CLAIMS "/c/status", "{'status':{'phase':'Bound'}}");
    assert_asked(&w, "");
    char body[512];
    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'v'},'spec':{'capacity':{'storage':'1Gi'},'accessModes':[" RWO
                   "],'claimRef':{'namespace':'default','name':'c','uid':'%s'}," CSI("h1") "}}",
                   got(&w.served, "metadata/uid"));
    ASSERT_DID(&w, 201, "POST", VOLUMES, body);
    assert_attachment(&w, "h1", "n1", true);
    parts_done(&w);
}

/* attach-4: the other volume of the pod is served. */
TEST(attach_skips_a_volume_of_another_claim)
{
    struct parts w;

    attach_init(&w);
    add_node(&w, "n1");
    ASSERT_DID(&w, 201, "POST", VOLUMES,
               "{'metadata':{'name':'v'},'spec':{'capacity':{'storage':'1Gi'},'accessModes':[" RWO
               "],'claimRef':{'namespace':'default','name':'c','uid':'other'}," CSI("h1") "}}");
    ASSERT_DID(&w, 201, "POST", CLAIMS,
               "{'metadata':{'name':'c'},'spec':{'accessModes':[" RWO
               "],'volumeName':'v','resources':{'requests':{'storage':'1Gi'}}}}");
    ASSERT_DID(&w, 200, "MERGE", CLAIMS "/c/status", "{'status':{'phase':'Bound'}}");
    add_pair(&w, "c2", "v2", RWO, CSI("h2"));
    add_pod(&w, "p", "n1", CLAIMED("d", "c") "," CLAIMED("e", "c2"));
    assert_attachment(&w, "h1", "n1", false);
    assert_attachment(&w, "h2", "n1", true);
    parts_done(&w);
}

/* attach-5: a claim of the right name that was made for another pod. */
TEST(attach_skips_ephemeral_claims_of_other_pods)
{
    static const char *const owners[] = { "other", NULL };
    struct parts w;

    for (size_t i = 0; i < ARRAY_LEN(owners); i++) {
        char body[512];

        attach_init(&w);
        add_node(&w, "n1");
        add_pair(&w, "p-e", "v", RWO, CSI("h1"));
        add_pod(&w, "p", "n1",
                "{'name':'e','ephemeral':{'volumeClaimTemplate':{'spec':{'accessModes':[" RWO
                "],'resources':{'requests':{'storage':'1Gi'}}}}}}");
        assert_attachment(&w, "h1", "n1", false);
        ASSERT_SENT(&w.served, 200, "GET", POD_P, NULL);
        (void)snprintf(
            body, sizeof body,
            "{'metadata':{'ownerReferences':[{'apiVersion':'v1','kind':'Pod','name':'p','uid':'%s',"
            "'controller':true}]}}",
            owners[i] ? owners[i] : got(&w.served, "metadata/uid"));
        ASSERT_DID(&w, 200, "MERGE", CLAIMS "/p-e", body);
        assert_attachment(&w, "h1", "n1", !owners[i]);
        parts_done(&w);
    }
}

/* --- Words --- */

static struct buf said = { .len_max = 1 << 20 };

static void on_line(void *ctx, const char *line, size_t len)
{
    (void)ctx;
    buf_add(&said, line, len);
}

#define NEW_CLAIM                                          \
    "{'metadata':{'name':'c'},'spec':{'accessModes':[" RWO \
    "],'volumeName':'v','resources':{'requests':{'storage':'1Gi'}}}}"
#define NEW_VOLUME(ref)                                                                 \
    "{'metadata':{'name':'v'},'spec':{'capacity':{'storage':'1Gi'},'accessModes':[" RWO \
    "]," ref CSI("h1") "}}"

/* Section 5: why a volume is skipped, step by step until it is not. */
TEST(attach_says_why_a_volume_is_skipped)
{
    static const struct {
        const char *method;
        const char *target;
        const char *body;
        int status;
        const char *words;
    } rows[] = {
        { "MERGE", POD_P, "{'metadata':{'labels':{'a':'1'}}}", 200,
          "error processing PVC \"default\"/\"c\": failed to find PVC default/c in PVCInformer cache: "
          "persistentvolumeclaim \"c\" not found" },
        { "POST", CLAIMS, NEW_CLAIM, 201, NULL },
        { "MERGE", POD_P, "{'metadata':{'labels':{'a':'2'}}}", 200,
          "error processing PVC \"default\"/\"c\": PVC default/c has non-bound phase (\"Pending\") or empty "
          "pvc.Spec.VolumeName (\"v\")" },
        { "MERGE", CLAIMS "/c/status", "{'status':{'phase':'Bound'}}", 200,
          "error processing PVC \"default\"/\"c\": failed to find PV \"v\" in PVInformer cache: "
          "persistentvolume "
          "\"v\" not found" },
        { "POST", VOLUMES, NEW_VOLUME(""), 201, NULL },
        { "MERGE", POD_P, "{'metadata':{'labels':{'a':'3'}}}", 200,
          "error processing PVC \"default\"/\"c\": found PV object \"v\" but it has a nil pv.Spec.ClaimRef "
          "indicating it is not yet bound to the claim" },
        { "MERGE", VOLUMES "/v", "{'spec':{'claimRef':{'namespace':'default','name':'c','uid':'x'}}}", 200,
          "error processing PVC \"default\"/\"c\": found PV object \"v\" but its pv.Spec.ClaimRef.UID "
          "(\"x\") does "
          "not point to claim.UID (\"" },
    };
    struct logger logger = { .level = LOG_LEVEL_DEBUG, .sink = on_line };
    struct parts w;

    attach_init(&w);
    logger.clock = &w.served.clock.clock;
    add_node(&w, "n1");
    add_pod(&w, "p", "n1", CLAIMED("d", "c"));
    log_install(&logger);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char words[512], *to = words;

        buf_clear(&said);
        ASSERT_DID(&w, rows[i].status, rows[i].method, rows[i].target, rows[i].body);
        for (const char *from = rows[i].words ? rows[i].words : ""; *from; from++) {
            if (*from == '"')
                *to++ = '\\'; /* as a line has it */
            *to++ = *from;
        }
        *to = '\0';
        if (!strstr(buf_cstr(&said), words))
            fail_msg("row %zu: no %s in\n%s", i, words, buf_cstr(&said));
    }
    log_install(NULL);
    buf_done(&said);
    parts_done(&w);
}

/* attach-6; P2 and P3: the report, the server's word on the node, then the attachment. */
TEST(attach_detaches_when_the_pod_is_over)
{
    struct parts w;

    attach_init(&w);
    make_csi_pod(&w);
    grant(&w, "h1", "n1");
    set_in_use(&w, "n1", "");
    buf_clear(&w.log);
    ASSERT_DID(&w, 200, "MERGE", POD_P "/status", "{'status':{'phase':'Succeeded'}}");
    assert_asked(&w, "PATCH " NODE_1 "/status\nGET " NODE_1 "\nDELETE " ATTACHMENTS "/" FIRST_NAME "\n");
    ASSERT_ATTACHED(&w, "n1", "");
    assert_attachment(&w, "h1", "n1", true); /* its attacher is not through */
    release(&w, "h1", "n1");
    assert_attachment(&w, "h1", "n1", false);
    assert_metric(
        &w, "storage_operation_duration_seconds_count{volume_plugin=\"kubernetes.io/csi:d.io\",operation_"
            "name=\"volume_detach\",status=\"success\",migrated=\"false\"} 1\n");
    assert_metric(
        &w, "attachdetach_controller_total_volumes{plugin_name=\"kubernetes.io/csi:d.io\",state=\"actual_"
            "state_of_world\"} 0\n");
    assert_metric(
        &w,
        "storage_count_attachable_volumes_in_use{node=\"n1\",volume_plugin=\"kubernetes.io/csi:d.io\"} 0\n");
    pass_s(&w, 3600);
    assert_asked(&w, "");
    parts_done(&w);
}

/* attach-7 */
TEST(attach_waits_for_a_node_that_is_well)
{
    struct parts w;

    attach_init(&w);
    make_csi_pod(&w);
    grant(&w, "h1", "n1");
    set_in_use(&w, "n1", "'" CSI_V("h1") "'");
    drop_pod(&w, "p");
    buf_clear(&w.log);
    pass_s(&w, UINT64_C(5) * 3600);
    assert_asked(&w, "");
    ASSERT_ATTACHED(&w, "n1", CSI_V("h1") " ");
    set_in_use(&w, "n1", "");
    ASSERT_ATTACHED(&w, "n1", "");
    release(&w, "h1", "n1");
    assert_attachment(&w, "h1", "n1", false);
    parts_done(&w);
}

/* attach-19, attach-20: each node for itself, at once. */
TEST(attach_attaches_shared_volumes_to_several_nodes)
{
    static const char *const modes[] = { RWO ",'ReadWriteMany'", "'ReadOnlyMany'", "'ReadWriteMany'" };
    struct parts w;

    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        attach_init(&w);
        add_node(&w, "n1");
        add_node(&w, "n2");
        add_pair(&w, "c", "v", modes[i], CSI("h1"));
        add_pod(&w, "p", "n1", CLAIMED("d", "c"));
        add_pod(&w, "q", "n2", CLAIMED("d", "c"));
        assert_attachment(&w, "h1", "n1", true);
        assert_attachment(&w, "h1", "n2", true);
        grant(&w, "h1", "n2");
        grant(&w, "h1", "n1");
        ASSERT_ATTACHED(&w, "n1", CSI_V("h1") " ");
        ASSERT_ATTACHED(&w, "n2", CSI_V("h1") " ");
        parts_done(&w);
    }
}

/* attach-21: also while the first node's attachment is on its way out. */
TEST(attach_moves_an_exclusive_volume_one_step_after_the_other)
{
    struct parts w;

    attach_init(&w);
    make_csi_pod(&w);
    add_node(&w, "n2");
    grant(&w, "h1", "n1");
    set_in_use(&w, "n1", "");
    drop_pod(&w, "p");
    add_pod(&w, "q", "n2", CLAIMED("d", "c"));
    pass_s(&w, 60);
    assert_attachment(&w, "h1", "n2", false);
    release(&w, "h1", "n1");
    assert_attachment(&w, "h1", "n2", true);
    grant(&w, "h1", "n2");
    ASSERT_ATTACHED(&w, "n1", "");
    ASSERT_ATTACHED(&w, "n2", CSI_V("h1") " ");
    parts_done(&w);
}

/* attach-42 */
TEST(attach_gives_up_on_an_attacher_that_never_answers)
{
    struct parts w;

    attach_init(&w);
    make_csi_pod(&w);
    pass_s(&w, 119);
    ASSERT_TOLD(&w, 0, "p", "FailedAttachVolume", NULL);
    pass_ms(&w, 1500);
    ASSERT_TOLD(
        &w, 1, "p", "FailedAttachVolume",
        "AttachVolume.Attach failed for volume \"v\" : timed out waiting for external-attacher of d.io CSI "
        "driver to attach volume h1");
    /* Tried again: the attachment is there, and waited for. */
    grant(&w, "h1", "n1");
    pass_s(&w, 1);
    ASSERT_ATTACHED(&w, "n1", CSI_V("h1") " ");
    parts_done(&w);
}

/* Detaching: the words, and that the state is uncertain: attached again before it is reported. */
TEST(attach_gives_up_on_an_attacher_that_does_not_let_go)
{
    struct parts w;

    attach_init(&w);
    make_csi_pod(&w);
    grant(&w, "h1", "n1");
    set_in_use(&w, "n1", "");
    drop_pod(&w, "p");
    pass_s(&w, 121);
    assert_metric(
        &w, "storage_operation_duration_seconds_count{volume_plugin=\"kubernetes.io/csi:d.io\",operation_"
            "name=\"volume_detach\",status=\"fail-unknown\",migrated=\"false\"} 1\n");
    ASSERT_ATTACHED(&w, "n1", "");
    /* attach-43: a wish meanwhile */
    add_pod(&w, "q", "n1", CLAIMED("d", "c"));
    parts_rest(&w);
    pass_s(&w, 122);
    ASSERT_ATTACHED(&w, "n1", "");
    assert_true(count_of(&w, "q", "FailedAttachVolume",
                         "AttachVolume.Attach failed for volume \"v\" : volume attachment is being deleted") >
                0);
    release(&w, "h1", "n1");
    pass_s(&w, 123);
    assert_attachment(&w, "h1", "n1", true);
    ASSERT_GOT(&w.served, "-", "metadata/deletionTimestamp");
    parts_done(&w);
}

/* What the attacher complains of. */
TEST(attach_tells_what_the_attacher_says)
{
    struct parts w;

    attach_init(&w);
    make_csi_pod(&w);
    patch_attachment(&w, "h1", "n1", "/status",
                     "{'status':{'attached':false,'attachError':{'message':'rpc error: no room'}}}");
    ASSERT_TOLD(&w, 1, "p", "FailedAttachVolume",
                "AttachVolume.Attach failed for volume \"v\" : rpc error: no room");
    patch_attachment(&w, "h1", "n1", "/status", "{'status':{'attached':true,'attachError':null}}");
    pass_s(&w, 1);
    ASSERT_ATTACHED(&w, "n1", CSI_V("h1") " ");
    parts_done(&w);
}

/* attach-44: documented, and nothing breaks. */
TEST(attach_cannot_detach_handles_with_a_caret)
{
    struct parts w;

    attach_init(&w);
    add_node(&w, "n1");
    add_pair(&w, "c", "v", RWO, CSI("a^b"));
    add_pod(&w, "p", "n1", CLAIMED("d", "c"));
    grant(&w, "a^b", "n1");
    ASSERT_ATTACHED(&w, "n1", CSI_V("a^b") " ");
    set_in_use(&w, "n1", "");
    drop_pod(&w, "p");
    pass_s(&w, 60);
    assert_attachment(&w, "a^b", "n1", true);
    ASSERT_GOT(&w.served, "-", "metadata/deletionTimestamp");
    parts_done(&w);
}

/* attach-55 */
TEST(attach_reports_two_volumes_in_one_patch)
{
    struct parts w;

    attach_init(&w);
    add_node(&w, "n1");
    add_pair(&w, "c", "v", RWO, NFS);
    add_pair(&w, "c2", "v2", RWO, NFS);
    add_pod(&w, "p", "n1", CLAIMED("d", "c") "," CLAIMED("e", "c2"));
    assert_asked(&w, "PATCH " NODE_1 "/status\n");
    ASSERT_THERE(
        &w,
        "[{'name':'" DISK("v") "','devicePath':'/dev/x'},{'name':'" DISK("v2") "','devicePath':'/dev/x'}]",
        NODE_1, "status/volumesAttached");
    ASSERT_INT(2, script.attaches);
    parts_done(&w);
}

static void describe_driver(struct parts *w, bool is_attach_required)
{
    char body[256];

    (void)snprintf(body, sizeof body, "{'metadata':{'name':'" DRIVER "'},'spec':{'attachRequired':%s}}",
                   is_attach_required ? "true" : "false");
    ASSERT_DID(w, 201, "POST", DRIVERS, body);
}

/* Drivers whose volumes are there already; inline volumes of drivers; those that nobody attaches. */
TEST(attach_leaves_volumes_that_need_no_attaching)
{
    struct parts w;

    attach_init(&w);
    describe_driver(&w, false);
    add_node(&w, "n1");
    add_pair(&w, "c", "v", RWO, CSI("h1"));
    add_pair(&w, "c2", "v2", RWO, "'hostPath':{'path':'/x'}");
    add_pod(
        &w, "p", "n1",
        CLAIMED("d", "c") "," CLAIMED("e", "c2") ",{'name':'f','emptyDir':{}},{'name':'g','csi':{'driver':"
                                                 "'x.io'}}");
    pass_s(&w, 600);
    assert_asked(&w, "");
    parts_done(&w);
}

/* attach-32 */
TEST(attach_lets_go_of_what_needs_no_attaching_any_more)
{
    struct parts w;

    attach_init(&w);
    describe_driver(&w, true);
    make_csi_pod(&w);
    grant(&w, "h1", "n1");
    set_in_use(&w, "n1", "");
    ASSERT_DID(&w, 200, "DELETE", DRIVERS "/" DRIVER, NULL);
    describe_driver(&w, false);
    buf_clear(&w.log);
    pass_s(&w, 60);
    ASSERT_ATTACHED(&w, "n1", "");
    release(&w, "h1", "n1");
    assert_attachment(&w, "h1", "n1", false);
    pass_s(&w, 600);
    assert_attachment(&w, "h1", "n1", false);
    parts_done(&w);
}

/* attach-33 */
TEST(attach_detaches_without_the_drivers_description)
{
    struct parts w;

    attach_init(&w);
    describe_driver(&w, true);
    make_csi_pod(&w);
    grant(&w, "h1", "n1");
    ASSERT_DID(&w, 200, "DELETE", DRIVERS "/" DRIVER, NULL);
    set_in_use(&w, "n1", "");
    drop_pod(&w, "p");
    release(&w, "h1", "n1");
    assert_attachment(&w, "h1", "n1", false);
    parts_done(&w);
}

/* attach-30; and a server that cannot say is no proof. */
TEST(attach_verifies_attachments)
{
    struct parts w;

    attach_init(&w);
    attach_options.sync_period_ns = ATTACH_SYNC_PERIOD_NS;
    attach_restart(&w);
    make_csi_pod(&w);
    grant(&w, "h1", "n1");
    release(&w, "h1", "n1");
    pass_s(&w, 61);
    ASSERT_ATTACHED(&w, "n1", CSI_V("h1") " ");
    ASSERT_DID(&w, 200, "DELETE", attachment_path("h1", "n1"), NULL);
    w.trouble = TROUBLE_CONFLICT; /* 500 */
    w.at = w.count + 1;
    pass_s(&w, 60);
    ASSERT_ATTACHED(&w, "n1", CSI_V("h1") " ");
    pass_s(&w, 60);
    ASSERT_ATTACHED(&w, "n1", "");
    assert_attachment(&w, "h1", "n1", true); /* another one */
    grant(&w, "h1", "n1");
    ASSERT_ATTACHED(&w, "n1", CSI_V("h1") " ");
    parts_done(&w);
}

/* attach-28's last word and section 9: plugins are asked too. */
TEST(attach_verifies_volumes_of_plugins)
{
    struct parts w;

    attach_init(&w);
    attach_options.sync_period_ns = ATTACH_SYNC_PERIOD_NS;
    attach_restart(&w);
    add_node(&w, "n1");
    add_pair(&w, "c", "v", RWO, NFS);
    add_pod(&w, "p", "n1", CLAIMED("d", "c"));
    pass_s(&w, 60);
    ASSERT_INT(1, script.checks);
    ASSERT_INT(1, script.attaches);
    script.cannot_verify = true;
    pass_s(&w, 60);
    ASSERT_INT(2, script.checks);
    ASSERT_INT(1, script.attaches);
    script.cannot_verify = false;
    script.is_lost = true;
    pass_s(&w, 60);
    script.is_lost = false;
    ASSERT_INT(2, script.attaches);
    ASSERT_ATTACHED(&w, "n1", DISK("v") " ");
    assert_metric(&w, "operation_name=\"verify_volumes_are_attached_per_node\",status=\"success\"");
    parts_done(&w);
}

/* --- Turns --- */

static unsigned gone;

static void on_go(struct attach_slot *t)
{
    (void)t;
    gone++;
}

/* So many requests at once; the next goes when one is over, and who does not want its turn any more is passed
 * over. */
TEST(attach_lets_requests_take_turns)
{
    static struct attach_slot turns[ATTACH_REQUESTS_MAX + 3];
    struct attach *a;
    struct parts w;

    attach_init(&w);
    a = ((struct attach_part *)w.part)->attach;
    memset(turns, 0, sizeof turns);
    gone = 0;
    for (size_t i = 0; i < ARRAY_LEN(turns); i++)
        attach_slot_acquire(a, &turns[i], on_go);
    ASSERT_INT(ATTACH_REQUESTS_MAX, gone);
    attach_slot_release(a, &turns[ATTACH_REQUESTS_MAX]); /* it waits */
    ASSERT_INT(ATTACH_REQUESTS_MAX, gone);
    attach_slot_release(a, &turns[0]);
    ASSERT_INT(ATTACH_REQUESTS_MAX + 1, gone);
    assert_true(turns[ATTACH_REQUESTS_MAX].state == SLOT_NONE);
    assert_true(turns[ATTACH_REQUESTS_MAX + 1].state == SLOT_HELD);
    attach_slot_release(a, &turns[0]); /* it has none */
    ASSERT_INT(ATTACH_REQUESTS_MAX + 1, gone);
    for (size_t i = 0; i < ARRAY_LEN(turns); i++)
        attach_slot_release(a, &turns[i]);
    ASSERT_INT(ATTACH_REQUESTS_MAX + 2, gone);
    ASSERT_INT(0, a->slots_held);
    parts_done(&w);
}

/* More volumes than requests may be on their way: all of them come through. */
TEST(attach_attaches_more_volumes_than_go_at_once)
{
    enum { COUNT = ATTACH_REQUESTS_MAX + 44 };
    struct parts w;

    attach_init(&w);
    add_node(&w, "n1");
    w.is_blind_to[KIND_POD] = true; /* all of them are heard of together */
    for (unsigned i = 0; i < COUNT; i++) {
        char name[32], source[128], volume[128];

        (void)snprintf(name, sizeof name, "c%u", i);
        (void)snprintf(source, sizeof source, "'csi':{'driver':'" DRIVER "','volumeHandle':'h%u'}", i);
        add_pair(&w, name, name, RWO, source);
        (void)snprintf(volume, sizeof volume, "{'name':'d','persistentVolumeClaim':{'claimName':'c%u'}}", i);
        add_pod(&w, name, "n1", volume);
    }
    assert_asked(&w, "");
    w.is_blind_to[KIND_POD] = false;
    attach_restart(&w);
    ASSERT_SENT(&w.served, 200, "GET", ATTACHMENTS, NULL);
    ASSERT_INT(COUNT, got_items(&w.served));
    parts_done(&w);
}

/* What changes while it is asked about is left alone. */
TEST(attach_does_not_believe_old_answers)
{
    struct attach_pair *p;
    struct attach *a;
    struct parts w;

    attach_init(&w);
    attach_options.sync_period_ns = ATTACH_SYNC_PERIOD_NS;
    attach_restart(&w);
    add_node(&w, "n1");
    add_pair(&w, "c", "v", RWO, NFS);
    add_pod(&w, "p", "n1", CLAIMED("d", "c"));
    a = ((struct attach_part *)w.part)->attach;
    p = attach_pair(a, DISK("v"), "n1");
    script.is_lost = true;
    manual_clock_advance(&w.served.clock, ATTACH_SYNC_PERIOD_NS);
    for (unsigned i = 0; i < 100 && !p->is_verified; i++)
        (void)loop_poll(w.served.loop);
    assert_true(p->is_verified);
    attach_state_set_attached(p, &p->wanted, strdup("/dev/x"));
    parts_rest(&w);
    ASSERT_INT(1, script.checks);
    ASSERT_INT(1, script.attaches);
    assert_false(p->is_verified);
    parts_done(&w);
}

/* An attachment that the caches have not heard of is waited for all the same. */
TEST(attach_waits_for_attachments_that_it_did_not_know)
{
    static const char actual[] =
        "total_volumes{plugin_name=\"kubernetes.io/csi:d.io\",state=\"actual_state_of_world\"} ";
    char line[256];
    struct parts w;

    attach_init(&w);
    add_node(&w, "n1");
    set_in_use(&w, "n1", "'" CSI_V("h1") "'");
    ASSERT_DID(&w, 200, "MERGE", NODE_1 "/status",
               "{'status':{'volumesAttached':[{'name':'" CSI_V("h1") "','devicePath':''}]}}");
    attach_restart(&w);
    w.is_blind_to[KIND_ATTACHMENT] = true;
    ASSERT_DID(&w, 201, "POST", ATTACHMENTS,
               "{'metadata':{'name':'" FIRST_NAME "','finalizers':['x.io/y']},'spec':{'attacher':'" DRIVER
               "','nodeName':'n1','source':{'persistentVolumeName':'v'}}}");
    set_in_use(&w, "n1", "");
    (void)snprintf(line, sizeof line, "%s1\n", actual);
    assert_metric(&w, line);
    w.is_blind_to[KIND_ATTACHMENT] = false;
    release(&w, "h1", "n1");
    (void)snprintf(line, sizeof line, "%s0\n", actual);
    assert_metric(&w, line);
    parts_done(&w);
}

/* Section 15: volumes of plugins that became drivers. */
TEST(attach_translates_volumes_that_have_moved)
{
    struct parts w;

    attach_init(&w);
    add_node(&w, "n1");
    add_pair(&w, "c", "v", RWO, "'awsElasticBlockStore':{'volumeID':'aws://z/vol-1'}");
    add_pod(&w, "p", "n1", CLAIMED("d", "c"));
    ASSERT_THERE(&w, "ebs.csi.aws.com", ATTACHMENTS, "items/0/spec/attacher");
    ASSERT_GOT(&w.served, "v", "items/0/spec/source/persistentVolumeName");
    serve_attachments(&w);
    ASSERT_ATTACHED(&w, "n1", "kubernetes.io/csi/ebs.csi.aws.com^vol-1 ");
    assert_metric(&w, "operation_name=\"volume_attach\",status=\"success\",migrated=\"true\"} 1\n");
    parts_done(&w);
}

/* What no PersistentVolume has comes with its spec, and is on one node at a time. */
TEST(attach_translates_volumes_of_pods_that_have_moved)
{
    struct parts w;

    attach_init(&w);
    add_node(&w, "n1");
    add_node(&w, "n2");
    add_pod(&w, "p", "n1", "{'name':'d','awsElasticBlockStore':{'volumeID':'vol-1','fsType':'xfs'}}");
    ASSERT_THERE(&w, "ebs.csi.aws.com", ATTACHMENTS, "items/0/spec/attacher");
    ASSERT_GOT(&w.served, "vol-1", "items/0/spec/source/inlineVolumeSpec/csi/volumeHandle");
    ASSERT_GOT(&w.served, "xfs", "items/0/spec/source/inlineVolumeSpec/csi/fsType");
    ASSERT_GOT(&w.served, "ReadWriteOnce", "items/0/spec/source/inlineVolumeSpec/accessModes/0");
    ASSERT_GOT(&w.served, "-", "items/0/spec/source/persistentVolumeName");
    serve_attachments(&w);
    ASSERT_ATTACHED(&w, "n1", "kubernetes.io/csi/ebs.csi.aws.com^vol-1 ");
    assert_true(count_of(&w, "p", "SuccessfulAttachVolume",
                         "AttachVolume.Attach succeeded for volume \"ebs.csi.aws.com-vol-1\" ") > 0);
    add_pod(&w, "q", "n2", "{'name':'d','awsElasticBlockStore':{'volumeID':'vol-1'}}");
    pass_s(&w, 2);
    ASSERT_ATTACHED(&w, "n2", "");
    parts_done(&w);
}

TEST_MAIN()
