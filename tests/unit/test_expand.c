/* The expand controller against the whole API server, with plugins that do as they are told. */
#include "tests/unit/test_io.h"
#include "tests/unit/test_parts.h"

#include <sched.h>
#include <stdatomic.h>

#include "controllers/expand/expand.h"
#include "plugins/registry.h"

#define CLAIM_C CLAIMS "/c"
#define VOLUME_V VOLUMES "/v"

/* --- The plugins --- */

/* Workers write; the tests look while none runs, or while the slow one waits. */
static struct {
    unsigned calls;
    unsigned fails; /* so many more */
    unsigned cancelled;
    unsigned wrong;      /* two at a time for a claim, or another volume */
    atomic_bool is_slow; /* ends when this does */
    atomic_bool is_running;
    char to[64];
    char from[64];
} script;

static void keep_quantity(uint64_t bytes, char *out, size_t out_bytes)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(QUANTITY_TEXT_BYTES_MAX);
    struct quantity q = quantity_of((int64_t)bytes, QUANTITY_BINARY_SI);

    quantity_format(&q, &text);
    (void)snprintf(out, out_bytes, "%s", buf_cstr(&text));
}

static int script_expand(const struct volume_plugin *self, const struct volume_env *env,
                         const struct expand_request *q, uint64_t *ret_bytes, struct error *e)
{
    int r = 0;

    (void)self;
    if (strcmp(spec_name(&q->spec), "v") != 0 || atomic_load(&script.is_running))
        script.wrong++;
    script.calls++;
    keep_quantity(q->new_bytes, script.to, sizeof script.to);
    keep_quantity(q->old_bytes, script.from, sizeof script.from);
    atomic_store(&script.is_running, true);
    while (atomic_load(&script.is_slow) && atomic_load(env->stop) == 0)
        (void)sched_yield();
    if (atomic_load(env->stop) != 0) {
        script.cancelled++;
        r = error_set(e, ERR_CANCELLED, "stopped");
    } else if (script.fails > 0) {
        script.fails--;
        r = error_set(e, ERR_IO, "no room");
    } else {
        *ret_bytes = q->new_bytes;
    }
    atomic_store(&script.is_running, false);
    return r;
}

static bool is_host_path(const struct volume_plugin *self, const struct volume_spec *s)
{
    (void)self;
    return spec_source(s).kind == SOURCE_HOST_PATH;
}

static const struct expand_table grows = { .expand = script_expand };
static const struct expand_table grows_formatted = { .needs_fs_resize = true, .expand = script_expand };
static const struct volume_plugin plain = { .name = "test.io/plain",
                                            .can_support = is_host_path,
                                            .expand = &grows };
static const struct volume_plugin formatted = { .name = "test.io/formatted",
                                                .can_support = is_host_path,
                                                .expand = &grows_formatted };
static const struct volume_plugin *const plain_plugins[] = { &plain, NULL };
static const struct volume_plugin *const formatted_plugins[] = { &formatted, NULL };
static const struct volume_plugin *const both_plugins[] = { &plain, &formatted, NULL };

/* --- The part --- */

static const struct volume_plugin *const *plugins;
static struct pool *the_pool;

static int make(const struct component_deps *o, void **ret, struct error *e)
{
    struct expand_options options = { .part = *o, .plugins = plugins };
    struct expand *x = NULL;
    int r;

    ASSERT_OK(pool_new(o->loop, 2, 64, &the_pool, &err));
    the_parts->pool = atomic_load(&script.is_slow) ? NULL : the_pool;
    options.pool = the_pool;
    r = expand_new(&options, &x, e);
    if (r == 0)
        *ret = x;
    return r;
}

static void start(void *part)
{
    expand_start(part);
}

static void end(void *part)
{
    the_parts->pool = NULL;
    (void)expand_free(part);
    the_pool = pool_free(the_pool);
    ASSERT_INT(0, script.wrong);
}

static const struct part_type expand_type = { make, start, end };

static void expand_init(struct parts *w, const struct volume_plugin *const *which)
{
    memset(&script, 0, sizeof script);
    plugins = which;
    parts_init(w, &expand_type);
}

/* From here on the plugin waits for script_end(), and time passes meanwhile. */
static void script_hold(struct parts *w)
{
    w->pool = NULL;
    atomic_store(&script.is_slow, true);
}

static void script_await(void)
{
    (void)signal(SIGALRM, test_on_deadline);
    (void)alarm(TEST_DEADLINE_S);
    while (!atomic_load(&script.is_running))
        (void)sched_yield();
    (void)alarm(0);
}

static void script_end(struct parts *w)
{
    atomic_store(&script.is_slow, false);
    w->pool = the_pool;
}

/* --- The pair --- */

#define BEFORE(size) "{'volume.alpha.kubernetes.io/pre-resize-capacity':'" size "'}"
#define HOST_PATH "'hostPath':{'path':'/x'}"

/* A claim that is bound, 1Gi of 1Gi. */
static void make_pair_of(struct parts *w, const char *source, const char *mode)
{
    char body[1024];

    ASSERT_SENT(&w->served, 201, "POST", CLASSES,
                "{'metadata':{'name':'s'},'provisioner':'x.io/y','allowVolumeExpansion':true}");
    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'c'},'spec':{'accessModes':['ReadWriteOnce'],'storageClassName':'s',"
                   "'volumeMode':'%s','volumeName':'v','resources':{'requests':{'storage':'1Gi'}}}}",
                   mode);
    ASSERT_SENT(&w->served, 201, "POST", CLAIMS, body);
    (void)snprintf(
        body, sizeof body,
        "{'metadata':{'name':'v'},'spec':{'capacity':{'storage':'1Gi'},'accessModes':['ReadWriteOnce'],"
        "'storageClassName':'s','volumeMode':'%s','claimRef':{'namespace':'default','name':'c','uid':'%s'"
        "},%s}}",
        mode, got(&w->served, "metadata/uid"), source);
    ASSERT_SENT(&w->served, 201, "POST", VOLUMES, body);
    ASSERT_DONE(w, 200, "MERGE", CLAIM_C "/status",
                "{'status':{'phase':'Bound','accessModes':['ReadWriteOnce'],'capacity':{'storage':'1Gi'}}}");
}

static void make_pair(struct parts *w)
{
    make_pair_of(w, HOST_PATH, "Filesystem");
}

static void ask_for(struct parts *w, const char *size)
{
    char body[128];

    (void)snprintf(body, sizeof body, "{'spec':{'resources':{'requests':{'storage':'%s'}}}}", size);
    ASSERT_DONE(w, 200, "MERGE", CLAIM_C, body);
}

/* The condition of that type in the last answer; its member, "-" for none. */
static const char *condition(struct parts *w, const char *type, const char *member)
{
    char path[128];

    for (unsigned i = 0; i < 8; i++) {
        (void)snprintf(path, sizeof path, "status/conditions/%u/type", i);
        if (strcmp(got(&w->served, path), type) != 0)
            continue;
        (void)snprintf(path, sizeof path, "status/conditions/%u/%s", i, member);
        return got(&w->served, path);
    }
    return "-";
}

/* --- Plain growth --- */

static void grow(struct parts *w)
{
    make_pair(w);
    ask_for(w, "2Gi");
    ASSERT_THERE(w, "2Gi", CLAIM_C, "status/capacity/storage");
}

/* S137 */
TEST(expand_grows_a_claim)
{
    struct parts w;

    expand_init(&w, plain_plugins);
    make_pair(&w);
    assert_asked(&w, ""); /* it has what it asks for */
    script_hold(&w);
    ASSERT_DONE(&w, 200, "MERGE", CLAIM_C "/status",
                "{'status':{'conditions':[{'type':'NodeResizeError','status':'True'},"
                "{'type':'Other','status':'True','message':'m'}]}}");
    ask_for(&w, "2Gi");
    ASSERT_THERE(&w, "1Gi", CLAIM_C, "status/capacity/storage");
    ASSERT_STR("True", condition(&w, "Resizing", "status"));
    ASSERT_STR("-", condition(&w, "NodeResizeError", "status"));
    ASSERT_STR("m", condition(&w, "Other", "message"));
    ASSERT_GOT(&w.served, "ControllerResizeInProgress", "status/allocatedResourceStatuses/storage");
    ASSERT_GOT(&w.served, "2Gi", "status/allocatedResources/storage");
    ASSERT_GOT(&w.served, "{'volume.kubernetes.io/storage-resizer':'test.io/plain'}", "metadata/annotations");
    script_await();
    ASSERT_STR("2Gi", script.to);
    ASSERT_STR("1Gi", script.from);
    script_end(&w);
    parts_settle(&w);
    ASSERT_THERE(&w, "2Gi", CLAIM_C, "status/capacity/storage");
    ASSERT_STR("-", condition(&w, "Resizing", "status"));
    ASSERT_STR("m", condition(&w, "Other", "message"));
    ASSERT_GOT(&w.served, "-", "status/allocatedResourceStatuses");
    ASSERT_GOT(&w.served, "2Gi", "status/allocatedResources/storage");
    ASSERT_THERE(&w, "2Gi", VOLUME_V, "spec/capacity/storage");
    ASSERT_GOT(&w.served, "-", "metadata/annotations");
    ASSERT_EVENT(&w, "Normal", "VolumeResizeSuccessful", "ExpandVolume succeeded for volume default/c");
    ASSERT_INT(1, script.calls);
    assert_asked(&w, "GET " VOLUME_V "\nPATCH " CLAIM_C "/status\nPATCH " VOLUME_V "\nPATCH " CLAIM_C
                     "/status\n");
    assert_metric(&w,
                  "storage_operation_duration_seconds_count{volume_plugin=\"test.io/plain\",operation_name="
                  "\"expand_volume\",status=\"success\",migrated=\"false\"} 1\n");
    parts_done(&w);
}

/* Freed with a plugin at work: nobody waits for it. */
TEST(expand_ends_while_a_plugin_works)
{
    struct parts w;

    expand_init(&w, plain_plugins);
    make_pair(&w);
    script_hold(&w);
    ask_for(&w, "2Gi");
    script_await();
    process_kill(&w);
    ASSERT_INT(1, script.cancelled);
    script_end(&w);
    process_start(&w);
    parts_settle(&w);
    ASSERT_THERE(&w, "2Gi", CLAIM_C, "status/capacity/storage");
    ASSERT_INT(2, script.calls);
    parts_done(&w);
}

/* --- With a file system --- */

/* The node has done its part. */
static void finish_on_node(struct parts *w, const char *size)
{
    char body[256];

    (void)snprintf(
        body, sizeof body,
        "{'status':{'capacity':{'storage':'%s'},'allocatedResourceStatuses':null,'conditions':null}}", size);
    ASSERT_DONE(w, 200, "MERGE", CLAIM_C "/status", body);
}

static void grow_on_node(struct parts *w)
{
    make_pair(w);
    ask_for(w, "2Gi");
    ASSERT_THERE(w, BEFORE("1Gi"), VOLUME_V, "metadata/annotations");
    finish_on_node(w, "2Gi");
    ASSERT_THERE(w, "-", VOLUME_V, "metadata/annotations");
}

/* S138 */
TEST(expand_leaves_the_file_system_to_the_node)
{
    struct parts w;

    expand_init(&w, formatted_plugins);
    make_pair(&w);
    ask_for(&w, "2Gi");
    ASSERT_THERE(&w, "1Gi", CLAIM_C, "status/capacity/storage");
    ASSERT_STR("True", condition(&w, "FileSystemResizePending", "status"));
    ASSERT_STR("Waiting for user to (re-)start a pod to finish file system resize of volume on node.",
               condition(&w, "FileSystemResizePending", "message"));
    ASSERT_STR("True", condition(&w, "Resizing", "status")); /* older ones are kept */
    ASSERT_GOT(&w.served, "NodeResizePending", "status/allocatedResourceStatuses/storage");
    ASSERT_GOT(&w.served, "2Gi", "status/allocatedResources/storage");
    ASSERT_THERE(&w, "2Gi", VOLUME_V, "spec/capacity/storage");
    ASSERT_GOT(&w.served, BEFORE("1Gi"), "metadata/annotations");
    buf_clear(&w.log);
    finish_on_node(&w, "2Gi");
    ASSERT_THERE(&w, "-", VOLUME_V, "metadata/annotations");
    ASSERT_INT(1, script.calls);
    assert_asked(&w, "GET " VOLUME_V "\nPATCH " VOLUME_V "\n");
    parts_done(&w);
}

/* What is written by another process may be heard of in any order: the volume's news last. */
TEST(expand_forgets_the_size_before_when_it_hears_of_it_late)
{
    struct parts w;

    expand_init(&w, formatted_plugins);
    make_pair(&w);
    ASSERT_DONE(&w, 200, "MERGE", VOLUME_V, "{'metadata':{'annotations':" BEFORE("500Mi") "}}");
    ASSERT_THERE(&w, "-", VOLUME_V, "metadata/annotations");
    parts_done(&w);
}

/* Block volumes have no file system. */
TEST(expand_grows_a_block_volume_at_once)
{
    struct parts w;

    expand_init(&w, formatted_plugins);
    make_pair_of(&w, HOST_PATH, "Block");
    ask_for(&w, "2Gi");
    ASSERT_THERE(&w, "2Gi", CLAIM_C, "status/capacity/storage");
    ASSERT_THERE(&w, "-", VOLUME_V, "metadata/annotations");
    parts_done(&w);
}

/* FlexVolume: the node's alone, and nothing to ask of a plugin. */
TEST(expand_leaves_flex_volumes_to_the_node)
{
    struct parts w;

    expand_init(&w, plugins_builtin);
    make_pair_of(&w, "'flexVolume':{'driver':'a/b'}", "Filesystem");
    ask_for(&w, "2Gi");
    ASSERT_THERE(&w, "NodeResizePending", CLAIM_C, "status/allocatedResourceStatuses/storage");
    ASSERT_STR("True", condition(&w, "FileSystemResizePending", "status"));
    ASSERT_THERE(&w, "2Gi", VOLUME_V, "spec/capacity/storage");
    parts_done(&w);
}

/* --- Failures --- */

/* S139 */
TEST(expand_goes_on_to_the_size_it_began)
{
    struct parts w;

    expand_init(&w, plain_plugins);
    make_pair(&w);
    script.fails = 1000;
    ask_for(&w, "2Gi");
    ASSERT_THERE(&w, "ControllerResizeInProgress", CLAIM_C, "status/allocatedResourceStatuses/storage");
    ASSERT_EVENT(&w, "Warning", "VolumeResizeFailed",
                 "error expanding volume \"default/c\" of plugin \"test.io/plain\": no room");
    ASSERT_GOT(&w.served, "volume_expand", "items/0/source/component");
    assert_true(script.calls > 2);
    ask_for(&w, "3Gi"); /* what was begun comes first */
    ASSERT_STR("2Gi", script.to);
    ASSERT_THERE(&w, "2Gi", CLAIM_C, "status/allocatedResources/storage");
    script.fails = 0;
    parts_settle(&w);
    ASSERT_STR("3Gi", script.to);
    ASSERT_THERE(&w, "3Gi", CLAIM_C, "status/capacity/storage");
    assert_metric(&w, "status=\"fail-unknown\"");
    parts_done(&w);
}

/* S140 */
TEST(expand_takes_the_new_request_where_the_old_was_impossible)
{
    struct parts w;

    expand_init(&w, plain_plugins);
    make_pair(&w);
    script.fails = 1000;
    ask_for(&w, "100Gi");
    ASSERT_SENT(&w.served, 200, "MERGE", CLAIM_C "/status",
                "{'status':{'allocatedResourceStatuses':{'storage':'ControllerResizeInfeasible'}}}");
    script.fails = 0;
    ask_for(&w, "2Gi");
    ASSERT_STR("2Gi", script.to);
    ASSERT_THERE(&w, "2Gi", CLAIM_C, "status/capacity/storage");
    ASSERT_GOT(&w.served, "2Gi", "status/allocatedResources/storage");
    parts_done(&w);
}

/* A node that found it impossible is to try again. */
TEST(expand_sends_it_back_to_the_node)
{
    struct parts w;

    expand_init(&w, formatted_plugins);
    make_pair(&w);
    ask_for(&w, "3Gi");
    ASSERT_DONE(&w, 200, "MERGE", CLAIM_C "/status",
                "{'status':{'allocatedResourceStatuses':{'storage':'NodeResizeInfeasible'}}}");
    ask_for(&w, "2Gi");
    ASSERT_THERE(&w, "NodeResizePending", CLAIM_C, "status/allocatedResourceStatuses/storage");
    ASSERT_INT(1, script.calls);
    parts_done(&w);
}

/* A volume that is another's, and one that is not there. */
TEST(expand_leaves_alone_what_is_not_the_claims)
{
    struct parts w;

    expand_init(&w, plain_plugins);
    make_pair(&w);
    ASSERT_DONE(&w, 200, "MERGE", VOLUME_V, "{'spec':{'claimRef':{'uid':'another'}}}");
    ask_for(&w, "2Gi");
    ASSERT_INT(0, script.calls);
    assert_null(strstr(buf_cstr(&w.log), "PATCH"));
    ASSERT_SENT(&w.served, 200, "MERGE", VOLUME_V, "{'metadata':{'finalizers':null}}");
    ASSERT_DONE(&w, 200, "DELETE", VOLUME_V, NULL);
    ask_for(&w, "3Gi");
    ASSERT_INT(0, script.calls);
    assert_null(strstr(buf_cstr(&w.log), "PATCH"));
    parts_done(&w);
}

/* --- Others' volumes --- */

/* S141 */
TEST(expand_leaves_csi_volumes_to_their_driver)
{
    struct parts w;

    expand_init(&w, plain_plugins);
    make_pair_of(&w, "'csi':{'driver':'d.io','volumeHandle':'h'}", "Filesystem");
    ask_for(&w, "2Gi");
    ASSERT_EVENT(&w, "Normal", "ExternalExpanding", "waiting for an external controller to expand this PVC");
    ASSERT_GOT(&w.served, "1", "items/0/count");
    assert_asked(&w, "GET " VOLUME_V "\n"); /* and not again */
    parts_done(&w);
}

#define BY_HAND_NODE                                                                                         \
    ",'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'k','operator':'Exists'}" \
    "]}]}}"

static void raise_volume(struct parts *w, const char *size)
{
    char body[128];

    (void)snprintf(body, sizeof body, "{'spec':{'capacity':{'storage':'%s'}}}", size);
    ASSERT_DONE(w, 200, "MERGE", VOLUME_V, body);
}

/* Nobody expands these but people: the claim follows the capacity that they write, once it is enough. */
TEST(expand_follows_volumes_that_people_grow)
{
    static const struct {
        const char *source, *mode, *expected;
    } rows[] = {
        { HOST_PATH, "Filesystem", "3Gi" },
        { "'nfs':{'server':'s','path':'/x'}", "Filesystem", "3Gi" },
        { "'local':{'path':'/dev/x'}" BY_HAND_NODE, "Block", "3Gi" },
        { "'local':{'path':'/x'}" BY_HAND_NODE, "Filesystem", "1Gi" }, /* the node's to say */
        { "'iscsi':{'targetPortal':'p','iqn':'iqn.2001-04.com.example:x','lun':0}", "Filesystem", "1Gi" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct parts w;

        expand_init(&w, plugins_builtin);
        make_pair_of(&w, rows[i].source, rows[i].mode);
        ask_for(&w, "2Gi");
        ASSERT_EVENT(&w, "Normal", "ExternalExpanding",
                     "waiting for an external controller to expand this PVC");
        raise_volume(&w, "1536Mi");
        ASSERT_THERE(&w, "1Gi", CLAIM_C, "status/capacity/storage");
        raise_volume(&w, "3Gi");
        ASSERT_THERE(&w, rows[i].expected, CLAIM_C, "status/capacity/storage");
        if (strcmp(rows[i].expected, "3Gi") == 0)
            ASSERT_EVENT(&w, "Normal", "VolumeResizeSuccessful",
                         "ExpandVolume succeeded for volume default/c");
        parts_done(&w);
    }
}

static void grow_migrated(struct parts *w)
{
    make_pair_of(w, "'awsElasticBlockStore':{'volumeID':'d'}", "Filesystem");
    ask_for(w, "2Gi");
    ASSERT_THERE(w, "{'volume.kubernetes.io/storage-resizer':'ebs.csi.aws.com'}", CLAIM_C,
                 "metadata/annotations");
}

/* S141 */
TEST(expand_hands_migrated_volumes_to_the_driver)
{
    struct parts w;

    expand_init(&w, plain_plugins);
    grow_migrated(&w);
    ASSERT_EVENT(
        &w, "Normal", "ExternalExpanding",
        "CSI migration enabled for kubernetes.io/aws-ebs; waiting for external resizer to expand the pvc");
    assert_asked(&w, "GET " VOLUME_V "\nPATCH " CLAIM_C "\n");
    ask_for(&w, "3Gi");
    assert_asked(&w, "GET " VOLUME_V "\n");
    parts_done(&w);
}

TEST(expand_warns_when_plugins_do_not_agree)
{
    struct parts w;

    expand_init(&w, both_plugins);
    make_pair(&w);
    ask_for(&w, "2Gi");
    ASSERT_EVENT(&w, "Warning", "ExternalExpanding", "waiting for an external controller to expand this PVC");
    ASSERT_INT(0, script.calls);
    parts_done(&w);
}

/* --- Bad days --- */

TEST(expand_ends_the_same_on_bad_days)
{
    memset(&script, 0, sizeof script);
    plugins = plain_plugins;
    assert_ends_the_same(&expand_type, grow);
    assert_ends_the_same(&expand_type, grow_migrated);
    plugins = formatted_plugins;
    assert_ends_the_same(&expand_type, grow_on_node);
}

TEST_MAIN()
