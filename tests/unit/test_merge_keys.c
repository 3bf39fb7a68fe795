/* Strategic merge patch on the kinds' own schemas: which lists merge by which key, which merge as sets, and
 * which are replaced.
 *
 * One row a list. Each row is applied as a patch, so that a lost merge_key fails here; and each schema is
 * walked for lists that merge without a row, so that none comes by accident. */
#include "tests/unit/test.h"

#include "api/kind.h"
#include "api/patch.h"
#include "base/buf.h"
#include "base/cleanup.h"

#define TEXT_BYTES_MAX 4096

static struct error err;

enum merge { BY_KEY, AS_SET, REPLACED };

struct merge_row {
    enum kind kind;
    const char *path; /* through the items of lists as through objects */
    enum merge merge;
    const char *key;
};

static const struct merge_row merge_rows[] = {
    { KIND_CLAIM, "status.conditions", BY_KEY, "type" },
    { KIND_NODE, "status.conditions", BY_KEY, "type" },
    { KIND_NODE, "status.addresses", BY_KEY, "type" },
    { KIND_NODE, "spec.podCIDRs", AS_SET },
    { KIND_NAMESPACE, "status.conditions", BY_KEY, "type" },
    { KIND_POD, "status.conditions", BY_KEY, "type" },
    { KIND_POD, "status.podIPs", BY_KEY, "ip" },
    { KIND_POD, "status.hostIPs", BY_KEY, "ip" },
    { KIND_POD, "spec.volumes", BY_KEY, "name" },
    { KIND_POD, "spec.containers", BY_KEY, "name" },
    { KIND_POD, "spec.containers.env", BY_KEY, "name" },
    { KIND_POD, "spec.containers.ports", BY_KEY, "containerPort" },
    { KIND_POD, "spec.containers.volumeMounts", BY_KEY, "mountPath" },
    { KIND_POD, "spec.containers.volumeDevices", BY_KEY, "devicePath" },
    { KIND_POD, "spec.initContainers", BY_KEY, "name" },
    { KIND_POD, "spec.initContainers.env", BY_KEY, "name" },
    { KIND_POD, "spec.initContainers.ports", BY_KEY, "containerPort" },
    { KIND_POD, "spec.initContainers.volumeMounts", BY_KEY, "mountPath" },
    { KIND_POD, "spec.initContainers.volumeDevices", BY_KEY, "devicePath" },
    { KIND_POD, "spec.ephemeralContainers", BY_KEY, "name" },
    { KIND_POD, "spec.ephemeralContainers.env", BY_KEY, "name" },
    { KIND_POD, "spec.ephemeralContainers.ports", BY_KEY, "containerPort" },
    { KIND_POD, "spec.ephemeralContainers.volumeMounts", BY_KEY, "mountPath" },
    { KIND_POD, "spec.ephemeralContainers.volumeDevices", BY_KEY, "devicePath" },
    { KIND_POD, "spec.imagePullSecrets", BY_KEY, "name" },
    { KIND_POD, "spec.schedulingGates", BY_KEY, "name" },
    { KIND_POD, "spec.hostAliases", BY_KEY, "ip" },
    { KIND_POD, "spec.topologySpreadConstraints", BY_KEY, "topologyKey" },
    { KIND_POD, "spec.resourceClaims", BY_KEY, "name" },
    { KIND_POD, "status.resourceClaimStatuses", BY_KEY, "name" },
    { KIND_CSI_NODE, "spec.drivers", BY_KEY, "name" },
    { KIND_SERVICE_ACCOUNT, "secrets", BY_KEY, "name" },

    { KIND_VOLUME, "spec.accessModes", REPLACED },
    { KIND_VOLUME, "spec.mountOptions", REPLACED },
    { KIND_VOLUME, "spec.nodeAffinity.required.nodeSelectorTerms", REPLACED },
    { KIND_CLAIM, "spec.accessModes", REPLACED },
    { KIND_CLAIM, "status.accessModes", REPLACED },
    { KIND_CLAIM, "spec.selector.matchExpressions", REPLACED },
    { KIND_CLASS, "mountOptions", REPLACED },
    { KIND_CLASS, "allowedTopologies", REPLACED },
    { KIND_NODE, "spec.taints", REPLACED },
    { KIND_NODE, "status.volumesInUse", REPLACED },
    { KIND_NODE, "status.volumesAttached", REPLACED },
    { KIND_NODE, "status.images", REPLACED },
    { KIND_POD, "spec.tolerations", REPLACED },
    { KIND_POD, "spec.readinessGates", REPLACED },
    { KIND_POD, "status.containerStatuses", REPLACED },
    { KIND_NAMESPACE, "spec.finalizers", REPLACED },
    { KIND_CSI_DRIVER, "spec.volumeLifecycleModes", REPLACED },
    { KIND_CSI_DRIVER, "spec.tokenRequests", REPLACED },
    { KIND_CSI_NODE, "spec.drivers.topologyKeys", REPLACED },
    { KIND_SERVICE_ACCOUNT, "imagePullSecrets", REPLACED },
};

/* Of every kind there is. */
static const struct merge_row meta_rows[] = {
    { .path = "metadata.ownerReferences", BY_KEY, "uid" },
    { .path = "metadata.finalizers", AS_SET },
    { .path = "metadata.managedFields", REPLACED },
};

/* --- Applying a row --- */

/* The list at the path with this value, inside all that surrounds it. Items on the way have a key each. */
static void add_member(const struct schema *s, struct str path, const char *value, struct buf *out)
{
    struct str rest = path;
    const struct field *f = schema_field(s, str_next(&rest, '.'));

    if (!f) {
        fail_msg("%s has no %s", s->go_name, path.s);
        return; /* not reached, but the analyzers do not know */
    }
    buf_addf(out, "\"%s\":", f->name);
    if (!rest.s) {
        buf_add_cstr(out, value);
    } else if (f->type == FIELD_LIST) {
        buf_addf(out, "[{\"%s\":\"parent\",", f->merge_key);
        add_member(f->sub, rest, value, out);
        buf_add_cstr(out, "}]");
    } else {
        buf_add_char(out, '{');
        add_member(f->sub, rest, value, out);
        buf_add_char(out, '}');
    }
}

static char *text_with(const struct kind_info *k, const char *path, const char *value)
{
    struct buf out = BUF_INIT(TEXT_BYTES_MAX);

    buf_add_char(&out, '{');
    add_member(k->schema, str_of(path), value, &out);
    buf_add_char(&out, '}');
    assert_true(!out.failed);
    return buf_take(&out);
}

static void check_patch(const struct kind_info *k, const char *path, const char *target, const char *patch,
                        const char *want)
{
    _cleanup_(freep) char *target_text = text_with(k, path, target);
    _cleanup_(freep) char *patch_text = text_with(k, path, patch);
    _cleanup_(freep) char *want_text = text_with(k, path, want);
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(TEXT_BYTES_MAX);

    if (patch_apply_text(PATCH_STRATEGIC, k->schema, str_of(target_text), str_of(patch_text), &out, &err) < 0)
        fail_msg("%s %s: %s", k->name, path, err.msg);
    if (strcmp(want_text, buf_cstr(&out)) != 0)
        fail_msg("%s: %s + %s: %s, expected %s", k->name, target_text, patch_text, buf_cstr(&out), want_text);
}

/* The second of two items, changed. The first one's fate tells merging from replacing. */
static void check_keyed(const struct kind_info *k, const char *path, const char *key)
{
    bool is_number = strcmp(key, "containerPort") == 0;
    const char *quote = is_number ? "" : "\"";
    char target[200], patch[100], want[200], gone[100], first[100];

    (void)snprintf(first, sizeof first, "[{\"%s\":%s1%s}]", key, quote, quote);
    (void)snprintf(target, sizeof target, "[{\"%s\":%s1%s},{\"%s\":%s2%s}]", key, quote, quote, key, quote,
                   quote);
    (void)snprintf(patch, sizeof patch, "[{\"%s\":%s2%s,\"x\":3}]", key, quote, quote);
    (void)snprintf(want, sizeof want, "[{\"%s\":%s1%s},{\"%s\":%s2%s,\"x\":3}]", key, quote, quote, key,
                   quote, quote);
    (void)snprintf(gone, sizeof gone, "[{\"%s\":%s2%s,\"$patch\":\"delete\"}]", key, quote, quote);
    check_patch(k, path, target, patch, want);
    check_patch(k, path, target, gone, first);
}

static bool list_has_objects(const struct kind_info *k, const char *path)
{
    const struct schema *s = k->schema;
    struct str rest = str_of(path);
    const struct field *f = NULL;

    while (rest.s && s) {
        f = schema_field(s, str_next(&rest, '.'));
        s = f ? f->sub : NULL;
    }
    if (!f || f->type != FIELD_LIST) {
        fail_msg("%s is no list of %s", path, k->name);
        return false; /* not reached, but the analyzers do not know */
    }
    return f->item == FIELD_OBJECT;
}

static void check_row(const struct kind_info *k, const struct merge_row *row)
{
    bool has_objects = list_has_objects(k, row->path);

    if (row->merge == BY_KEY)
        check_keyed(k, row->path, row->key);
    else if (row->merge == AS_SET)
        check_patch(k, row->path, "[\"a\",\"b\"]", "[\"b\"]", "[\"a\",\"b\"]");
    else if (has_objects)
        check_patch(k, row->path, "[{\"name\":\"1\"},{\"name\":\"2\"}]", "[{\"name\":\"2\",\"x\":3}]",
                    "[{\"name\":\"2\",\"x\":3}]");
    else
        check_patch(k, row->path, "[\"a\",\"b\"]", "[\"b\"]", "[\"b\"]");
}

TEST(each_list_merges_as_its_row_says)
{
    for (size_t i = 0; i < ARRAY_LEN(merge_rows); i++)
        check_row(kind_info(merge_rows[i].kind), &merge_rows[i]);
}

TEST(metadata_of_every_kind_merges)
{
    for (int kind = 0; kind < KIND_COUNT; kind++)
        for (size_t i = 0; i < ARRAY_LEN(meta_rows); i++)
            check_row(kind_info((enum kind)kind), &meta_rows[i]);
}

static void check_texts(enum kind kind, const char *target, const char *patch, const char *want)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(TEXT_BYTES_MAX);

    ASSERT_OK(patch_apply_text(PATCH_STRATEGIC, kind_info(kind)->schema, str_of(target), str_of(patch), &out,
                               &err));
    ASSERT_STR(want, buf_cstr(&out));
}

TEST(sets_lose_members_by_directive_only)
{
    check_texts(KIND_VOLUME, "{\"metadata\":{\"finalizers\":[\"a/x\",\"b/x\"]}}",
                "{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":[\"a/x\"]}}",
                "{\"metadata\":{\"finalizers\":[\"b/x\"]}}");
    check_texts(KIND_NODE, "{\"spec\":{\"podCIDRs\":[\"10.0.0.0/24\",\"fd00::/64\"]}}",
                "{\"spec\":{\"$deleteFromPrimitiveList/podCIDRs\":[\"10.0.0.0/24\"]}}",
                "{\"spec\":{\"podCIDRs\":[\"fd00::/64\"]}}");
}

TEST(a_volume_of_a_pod_keeps_the_source_it_is_told_to)
{
    check_texts(KIND_POD, "{\"spec\":{\"volumes\":[{\"name\":\"v\",\"hostPath\":{\"path\":\"/\"}}]}}",
                "{\"spec\":{\"volumes\":[{\"$retainKeys\":[\"name\",\"emptyDir\"],\"name\":\"v\","
                "\"emptyDir\":{}}]}}",
                "{\"spec\":{\"volumes\":[{\"name\":\"v\",\"emptyDir\":{}}]}}");
}

/* --- No list merges without a row --- */

static bool is_expected(const struct field *f, const struct merge_row *row)
{
    if (row->merge == BY_KEY)
        return f->merge_key && strcmp(f->merge_key, row->key) == 0 && !(f->flags & FIELD_SET);
    return !f->merge_key && !(f->flags & FIELD_SET) == (row->merge == REPLACED);
}

/* The row of a list; NULL when there is none. */
static const struct merge_row *row_of(enum kind kind, const char *path)
{
    for (size_t i = 0; i < ARRAY_LEN(merge_rows); i++)
        if (merge_rows[i].kind == kind && strcmp(merge_rows[i].path, path) == 0)
            return &merge_rows[i];
    for (size_t i = 0; i < ARRAY_LEN(meta_rows); i++)
        if (str_has_suffix(str_of(path), meta_rows[i].path)) /* also of templates inside an object */
            return &meta_rows[i];
    return NULL;
}

/* Of a pod. */
static bool retains_keys(const char *path)
{
    return strcmp(path, "spec.volumes") == 0 || strcmp(path, "spec.resourceClaims") == 0 ||
           strcmp(path, "status.resourceClaimStatuses") == 0;
}

static void check_schema(enum kind kind, const struct schema *s, const char *up)
{
    for (const struct field *f = s->fields; f < s->fields + s->fields_count; f++) {
        static const struct merge_row replaced = { .merge = REPLACED };
        const struct merge_row *row;
        char path[512];
        assert_in_range(snprintf(path, sizeof path, "%s%s%s", up, up[0] ? "." : "", f->name), 1,
                        sizeof path - 1);
        row = row_of(kind, path);
        if (!is_expected(f, row ? row : &replaced))
            fail_msg("%s %s does not merge as it should", kind_info(kind)->name, path);
        if ((f->flags & FIELD_RETAIN_KEYS) && (kind != KIND_POD || !retains_keys(path)))
            fail_msg("%s %s retains keys", kind_info(kind)->name, path);
        if (f->sub)
            check_schema(kind, f->sub, path);
    }
}

TEST(every_other_list_is_replaced)
{
    for (int kind = 0; kind < KIND_COUNT; kind++)
        check_schema((enum kind)kind, kind_info((enum kind)kind)->schema, "");
}

TEST_MAIN()
