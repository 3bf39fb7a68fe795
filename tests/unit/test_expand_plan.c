/* What the expand controller decides, as a table: every state of a claim against volumes of every size. */
#include "tests/unit/test_kind.h"

#include "controllers/expand/expand_int.h"
#include "machinery/resize_patch.h"

static bool is_host_path(const struct volume_plugin *self, const struct volume_spec *s)
{
    (void)self;
    return spec_source(s).kind == SOURCE_HOST_PATH;
}

static int grow(const struct volume_plugin *self, const struct volume_env *env,
                const struct expand_request *q, uint64_t *ret_bytes, struct error *e)
{
    (void)self;
    (void)env;
    (void)q;
    (void)ret_bytes;
    return error_set(e, ERR_INTERNAL, "deciding asks nobody");
}

static const struct expand_table grows = { .expand = grow };
static const struct volume_plugin one = { .name = "a", .can_support = is_host_path, .expand = &grows };
static const struct volume_plugin two = { .name = "b", .can_support = is_host_path, .expand = &grows };
static const struct volume_plugin *const alone[] = { &one, NULL };
static const struct volume_plugin *const both[] = { &one, &two, NULL };

static struct plugin_registry *registry_of(const struct volume_plugin *const *all)
{
    struct plugin_registry *g = NULL;

    ASSERT_OK(registry_new(all, /* prober= */ NULL, &g, &err));
    return g;
}

static struct object *object_of(enum kind kind, const char *text)
{
    _cleanup_(buf_done_p) struct buf quoted = BUF_INIT(1 << 20);
    _cleanup_(json_done_p) struct json d;
    struct object *o;

    json_init(&d, 1 << 20);
    kind_quotes(text, &quoted);
    ASSERT_OK(object_decode(kind_info(kind), buf_str(&quoted), &d, &o, &err));
    return o;
}

static struct object *claim_with(const char *request, const char *capacity, const char *allocated,
                                 const char *resize)
{
    char text[1024];

    (void)snprintf(
        text, sizeof text,
        "{'metadata':{'name':'c','namespace':'n','uid':'u','resourceVersion':'7'},"
        "'spec':{'resources':{'requests':{'storage':'%s'}}},'status':{'capacity':{'storage':'%s'}%s%s%s"
        "%s%s%s}}",
        request, capacity, allocated[0] ? ",'allocatedResources':{'storage':'" : "", allocated,
        allocated[0] ? "'}" : "", resize[0] ? ",'allocatedResourceStatuses':{'storage':'" : "", resize,
        resize[0] ? "'}" : "");
    return object_of(KIND_CLAIM, text);
}

static struct object *volume_with(const char *capacity, const char *source, const char *before,
                                  const char *claim)
{
    char text[1024];

    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'v','uid':'w','resourceVersion':'8','annotations':{%s}},"
                   "'spec':{'capacity':{'storage':'%s'},%s,'claimRef':%s}}",
                   before[0] ? "'volume.alpha.kubernetes.io/pre-resize-capacity':'1Gi'" : "", capacity,
                   source, claim);
    return object_of(KIND_VOLUME, text);
}

#define OURS "{'namespace':'n','name':'c','uid':'u'}"
#define HOST_PATH "'hostPath':{'path':'/x'}"

/* The target sizes. PV smaller than the request first, then as large. */
TEST(expand_plan_aims_at_what_was_begun)
{
    static const struct {
        const char *volume;
        const char *resize;
        const char *allocated;
        enum expand_plan plan;
        const char *to;
    } rows[] = {
        { "1Gi", "ControllerResizeInProgress", "2Gi", EXPAND_TO, "2Gi" },
        { "1Gi", "NodeResizePending", "2Gi", EXPAND_TO, "2Gi" },
        { "1Gi", "NodeResizeInProgress", "2Gi", EXPAND_TO, "2Gi" },
        { "1Gi", "NodeResizeInfeasible", "2Gi", EXPAND_TO, "2Gi" },
        { "1Gi", "ControllerResizeInProgress", "", EXPAND_TO, "3Gi" },
        { "1Gi", "", "2Gi", EXPAND_TO, "3Gi" },
        { "1Gi", "", "", EXPAND_TO, "3Gi" },
        { "1Gi", "ControllerResizeInfeasible", "2Gi", EXPAND_TO, "3Gi" },
        { "3Gi", "NodeResizePending", "3Gi", EXPAND_NOTHING, "0" },
        { "3Gi", "NodeResizeInProgress", "3Gi", EXPAND_NOTHING, "0" },
        { "3Gi", "NodeResizeInfeasible", "3Gi", EXPAND_TO_NODE, "0" },
        { "4Gi", "ControllerResizeInProgress", "4Gi", EXPAND_TO, "4Gi" },
        { "4Gi", "ControllerResizeInfeasible", "4Gi", EXPAND_TO, "4Gi" },
        { "4Gi", "ControllerResizeInProgress", "", EXPAND_TO, "3Gi" },
        { "4Gi", "", "4Gi", EXPAND_TO, "4Gi" },
        { "4Gi", "", "", EXPAND_TO, "3Gi" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(registry_free_p) struct plugin_registry *g = registry_of(alone);
        _cleanup_(object_unref_p) struct object *c =
            claim_with("3Gi", "1Gi", rows[i].allocated, rows[i].resize);
        _cleanup_(object_unref_p) struct object *v = volume_with(rows[i].volume, HOST_PATH, "", OURS);
        _cleanup_(buf_done_p) struct buf to = BUF_INIT(QUANTITY_TEXT_BYTES_MAX);
        struct expand_decision d = expand_decide(g, claim_of(c), volume_of(v));

        quantity_format(&d.to, &to);
        if (d.plan != rows[i].plan || strcmp(buf_cstr(&to), rows[i].to) != 0)
            fail_msg("row %zu: plan %d to %s", i, (int)d.plan, buf_cstr(&to));
        assert_ptr_equal(&one, d.plugin);
    }
}

/* Whose it is, in order. */
TEST(expand_plan_asks_whose_it_is)
{
    static const struct {
        const char *request;
        const char *volume;
        const char *source;
        const char *before;
        const char *claim;
        const struct volume_plugin *const *plugins;
        enum expand_plan plan;
    } rows[] = {
        { "2Gi", "1Gi", HOST_PATH, "", "null", alone, EXPAND_NOT_BOUND },
        { "2Gi", "1Gi", HOST_PATH, "", "{'namespace':'m','name':'c','uid':'u'}", alone, EXPAND_NOT_BOUND },
        { "2Gi", "1Gi", HOST_PATH, "", "{'namespace':'n','name':'c','uid':'x'}", alone, EXPAND_NOT_BOUND },
        { "2Gi", "1Gi", HOST_PATH, "", "{'namespace':'n','name':'other','uid':'u'}", alone, EXPAND_TO },
        { "1Gi", "1Gi", HOST_PATH, "", "null", alone, EXPAND_NOT_BOUND },
        { "1Gi", "1Gi", HOST_PATH, "", OURS, alone, EXPAND_NOTHING },
        { "1Gi", "1Gi", HOST_PATH, "yes", OURS, alone, EXPAND_FORGET_SIZE },
        { "1Gi", "2Gi", HOST_PATH, "yes", OURS, alone, EXPAND_TO },
        { "1Gi", "1Gi", "'nfs':{'server':'s','path':'/'}", "", OURS, alone, EXPAND_NOTHING },
        { "1Gi", "1Gi", "'nfs':{'server':'s','path':'/'}", "yes", OURS, alone, EXPAND_OTHERS },
        { "2Gi", "1Gi", "'nfs':{'server':'s','path':'/'}", "", OURS, alone, EXPAND_OTHERS },
        { "2Gi", "1Gi", "'cinder':{'volumeID':'d'}", "", OURS, alone, EXPAND_MIGRATED },
        { "2Gi", "1Gi", HOST_PATH, "", OURS, both, EXPAND_OTHERS },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(registry_free_p) struct plugin_registry *g = registry_of(rows[i].plugins);
        _cleanup_(object_unref_p) struct object *c = claim_with(rows[i].request, "1Gi", "", "");
        _cleanup_(object_unref_p) struct object *v =
            volume_with(rows[i].volume, rows[i].source, rows[i].before, rows[i].claim);
        struct expand_decision d = expand_decide(g, claim_of(c), volume_of(v));

        if (d.plan != rows[i].plan || d.is_doubtful != (rows[i].plugins == both))
            fail_msg("row %zu: plan %d", i, (int)d.plan);
    }
}

TEST(expand_plan_names_plugins_that_do_not_agree)
{
    _cleanup_(registry_free_p) struct plugin_registry *all = registry_of(both), *single = registry_of(alone);
    _cleanup_(object_unref_p) struct object *v = volume_with("1Gi", HOST_PATH, "", OURS);
    struct volume_spec s = { .volume = volume_of(v) };
    const struct volume_plugin *found = NULL;

    ASSERT_ERR(ERR_CONFLICT, registry_expandable_by_spec(all, &s, &found, &err));
    ASSERT_STR("multiple volume plugins matched: a,b", err.msg);
    assert_null(found);
    ASSERT_OK(registry_expandable_by_spec(single, &s, &found, &err));
    assert_ptr_equal(&one, found);
}

/* What says so already is not written again; a condition that is true keeps its time. */
TEST(expand_patch_writes_what_changes)
{
    _cleanup_(object_unref_p) struct object *c = object_of(
        KIND_CLAIM, "{'metadata':{'name':'c','namespace':'n','uid':'u','resourceVersion':'7','annotations':"
                    "{'volume.kubernetes.io/storage-resizer':'a'}},'spec':{},'status':{'allocatedResources':"
                    "{'storage':'2Gi'},'allocatedResourceStatuses':{'storage':'ControllerResizeInProgress'},"
                    "'conditions':[{'type':'Resizing','status':'True'}]}}");
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(1 << 16);
    struct quantity same = quantity_of(INT64_C(2) << 30, QUANTITY_BINARY_SI);
    struct quantity more = quantity_of(INT64_C(3) << 30, QUANTITY_BINARY_SI);
    struct timestamp now = timestamp_of_ns(0);

    assert_true(expand_is_begun(claim_of(c), "a", &same));
    assert_false(expand_is_begun(claim_of(c), "a", &more));
    ASSERT_OK(expand_write_begun(claim_of(c), "a", &more, now, &out, &err));
    ASSERT_STR(kind_row("{'metadata':{'uid':'u','resourceVersion':'7','annotations':"
                        "{'volume.kubernetes.io/storage-resizer':'a'}},'status':{'conditions':[],"
                        "'allocatedResources':{'storage':'3Gi'},'allocatedResourceStatuses':{'storage':"
                        "'ControllerResizeInProgress'}}}"),
               buf_cstr(&out));
    assert_false(expand_is_begun(claim_of(c), "b", &same));
}

/* An object without a version is no ground for a patch. */
TEST(expand_patch_needs_preconditions)
{
    _cleanup_(object_unref_p) struct object *c = object_of(KIND_CLAIM, "{'metadata':{'name':'c'},'spec':{}}");
    _cleanup_(object_unref_p) struct object *v =
        object_of(KIND_VOLUME, "{'metadata':{'name':'v'},'spec':{}}");
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(1 << 16);
    struct quantity size = quantity_of(1, QUANTITY_BINARY_SI);
    struct timestamp now = timestamp_of_ns(0);

    ASSERT_ERR(ERR_INVALID, expand_write_begun(claim_of(c), "a", &size, now, &out, &err));
    ASSERT_ERR(ERR_INVALID, resize_write_node_pending(claim_of(c), now, &out, &err));
    ASSERT_ERR(ERR_INVALID, resize_write_done(claim_of(c), &size, &out, &err));
    ASSERT_ERR(ERR_INVALID, expand_write_resizer(claim_of(c), "a", &out, &err));
    ASSERT_ERR(ERR_INVALID, resize_write_capacity(volume_of(v), &size, NULL, &out, &err));
    ASSERT_ERR(ERR_INVALID, resize_write_forgotten(volume_of(v), &out, &err));
}

TEST_MAIN()
