/* Sets of fields: their form, and what is done with two of them. */
#include "api/owned_fields.h"

#include "tests/unit/test.h"

#include "api/kind.h"
#include "api/owned_shape.h"
#include "base/cleanup.h"

#define BYTES_MAX ((size_t)8 << 20)

static struct error err;

static json_ref parse(struct json *d, const char *quoted)
{
    _cleanup_(freep) char *text = strdup(quoted);
    json_ref v = 0;

    assert_non_null(text);
    for (char *c = text; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    ASSERT_OK(json_parse(d, str_of(text), &v, &err));
    return v;
}

static void check_text(const struct json *d, json_ref v, const char *want)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(BYTES_MAX);

    if (v)
        json_write(d, v, &out);
    for (size_t i = 0; i < out.len; i++)
        out.data[i] = out.data[i] == '"' ? '\'' : out.data[i];
    ASSERT_STR(want, buf_cstr(&out));
}

struct set_row {
    const char *a, *b;
    const char *less, *all, *both; /* a - b, a + b, what is in both */
};

static const struct set_row set_rows[] = {
    { "{}", "{}", "{}", "{}", "" },
    { "{'f:a':{}}", "{}", "{'f:a':{}}", "{'f:a':{}}", "" },
    { "{}", "{'f:a':{}}", "{}", "{'f:a':{}}", "" },
    { "{'f:a':{}}", "{'f:a':{}}", "{}", "{'f:a':{}}", "{'f:a':{}}" },
    { "{'f:b':{}}", "{'f:a':{},'f:c':{}}", "{'f:b':{}}", "{'f:a':{},'f:b':{},'f:c':{}}", "" },
    { "{'f:a':{},'f:c':{}}", "{'f:b':{},'f:c':{}}", "{'f:a':{}}", "{'f:a':{},'f:b':{},'f:c':{}}",
      "{'f:c':{}}" },
    /* a place, and what is below it */
    { "{'f:a':{}}", "{'f:a':{'f:b':{}}}", "{'f:a':{}}", "{'f:a':{'.':{},'f:b':{}}}", "" },
    { "{'f:a':{'f:b':{}}}", "{'f:a':{}}", "{'f:a':{'f:b':{}}}", "{'f:a':{'.':{},'f:b':{}}}", "" },
    { "{'f:a':{'.':{},'f:b':{}}}", "{'f:a':{}}", "{'f:a':{'f:b':{}}}", "{'f:a':{'.':{},'f:b':{}}}",
      "{'f:a':{}}" },
    { "{'f:a':{'.':{},'f:b':{}}}", "{'f:a':{'f:b':{}}}", "{'f:a':{}}", "{'f:a':{'.':{},'f:b':{}}}",
      "{'f:a':{'f:b':{}}}" },
    { "{'f:a':{'.':{},'f:b':{},'f:c':{}}}", "{'f:a':{'.':{},'f:c':{}}}", "{'f:a':{'f:b':{}}}",
      "{'f:a':{'.':{},'f:b':{},'f:c':{}}}", "{'f:a':{'.':{},'f:c':{}}}" },
    { "{'f:a':{'f:b':{'f:c':{}}}}", "{'f:a':{'f:b':{'f:c':{}}}}", "{}", "{'f:a':{'f:b':{'f:c':{}}}}",
      "{'f:a':{'f:b':{'f:c':{}}}}" },
    { "{'f:a':{'k:{\\'n\\':1}':{'.':{},'f:n':{}},'v:\\'x\\'':{}}}",
      "{'f:a':{'k:{\\'n\\':1}':{},'v:\\'y\\'':{}}}", "{'f:a':{'k:{\\'n\\':1}':{'f:n':{}},'v:\\'x\\'':{}}}",
      "{'f:a':{'k:{\\'n\\':1}':{'.':{},'f:n':{}},'v:\\'x\\'':{},'v:\\'y\\'':{}}}",
      "{'f:a':{'k:{\\'n\\':1}':{}}}" },
};

TEST(sets_of_two)
{
    for (size_t i = 0; i < ARRAY_LEN(set_rows); i++) {
        const struct set_row *row = &set_rows[i];
        _cleanup_(json_done_p) struct json d;
        json_ref a, b, less, all;

        json_init(&d, BYTES_MAX);
        a = parse(&d, row->a);
        b = parse(&d, row->b);
        assert_true(owned_check(&d, a) && owned_check(&d, b));
        less = json_copy(&d, a);
        all = json_copy(&d, a);
        check_text(&d, owned_common(&d, a, b), row->both);
        check_text(&d, owned_common(&d, b, a), row->both);
        owned_subtract(&d, less, b);
        check_text(&d, less, row->less);
        owned_add(&d, all, json_copy(&d, b));
        check_text(&d, all, row->all);
        owned_add(&d, b, a);
        check_text(&d, b, row->all);
    }
}

TEST(nothing_is_an_empty_set)
{
    _cleanup_(json_done_p) struct json d;
    json_ref a;

    json_init(&d, BYTES_MAX);
    a = parse(&d, "{'f:a':{}}");
    owned_subtract(&d, a, 0);
    owned_subtract(&d, 0, a);
    owned_add(&d, a, 0);
    owned_add(&d, 0, a);
    ASSERT_INT(0, owned_common(&d, a, 0));
    assert_true(owned_is_empty(&d, 0));
    assert_false(owned_has_self(&d, 0));
    check_text(&d, a, "{'f:a':{}}");
}

static void add_path(void *ctx, struct str path)
{
    buf_addf(ctx, "%.*s\n", STR_ARG(path));
}

TEST(paths)
{
    _cleanup_(json_done_p) struct json d;
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(4096);

    json_init(&d, BYTES_MAX);
    owned_each_path(
        &d,
        parse(&d, "{'f:a':{'.':{},'f:b':{}},'f:metadata':{'f:finalizers':{'v:\\'x/y\\'':{}}},'f:spec':{"
                  "'f:p':{'k:{\\'a\\':80,\\'b\\':\\'TCP\\'}':{'.':{},'f:x':{}}},'f:q':{'i:3':{}}}}"),
        add_path, &out);
    ASSERT_STR(
        ".a\n.a.b\n.metadata.finalizers[=\"x/y\"]\n.spec.p[a=80,b=\"TCP\"]\n.spec.p[a=80,b=\"TCP\"].x\n"
        ".spec.q[3]\n",
        buf_cstr(&out));
}

TEST(long_paths_are_cut_short)
{
    _cleanup_(json_done_p) struct json d;
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(4096), text = BUF_INIT(BYTES_MAX);

    json_init(&d, BYTES_MAX);
    buf_add_cstr(&text, "{'f:a':{},'f:b");
    for (int i = 0; i < 20000; i++)
        buf_add_char(&text, 'b');
    buf_add_cstr(&text, "':{},'f:c':{}}");
    owned_each_path(&d, parse(&d, buf_cstr(&text)), add_path, &out);
    ASSERT_STR(".a\n…\n.c\n", buf_cstr(&out));
}

/* --- Which lists and types divide --- */

struct shape_row {
    enum kind kind;
    const char *path; /* through the items of lists as through objects */
    enum owned_shape shape;
    const char *keys; /* of a keyed list */
};

static const struct shape_row shape_rows[] = {
    { KIND_VOLUME, "metadata.labels", OWNED_MAP },
    { KIND_VOLUME, "metadata.ownerReferences", OWNED_KEYED, "uid" },
    { KIND_VOLUME, "metadata.finalizers", OWNED_SET },
    { KIND_VOLUME, "spec", OWNED_STRUCT },
    { KIND_VOLUME, "spec.capacity", OWNED_MAP },
    { KIND_VOLUME, "spec.accessModes", OWNED_WHOLE },
    { KIND_VOLUME, "spec.claimRef", OWNED_STRUCT },
    { KIND_VOLUME, "spec.nodeAffinity", OWNED_STRUCT },
    { KIND_VOLUME, "spec.nodeAffinity.required", OWNED_WHOLE },
    { KIND_VOLUME, "spec.csi", OWNED_STRUCT },
    { KIND_VOLUME, "spec.csi.volumeAttributes", OWNED_MAP },
    { KIND_VOLUME, "spec.csi.nodeStageSecretRef", OWNED_WHOLE },
    { KIND_VOLUME, "spec.mountOptions", OWNED_WHOLE },
    { KIND_CLAIM, "spec.selector", OWNED_WHOLE },
    { KIND_CLAIM, "spec.resources.requests", OWNED_MAP },
    { KIND_CLAIM, "spec.dataSource", OWNED_WHOLE },
    { KIND_CLAIM, "spec.dataSourceRef", OWNED_STRUCT },
    { KIND_CLAIM, "status.conditions", OWNED_KEYED, "type" },
    { KIND_CLAIM, "status.capacity", OWNED_MAP },
    { KIND_CLASS, "parameters", OWNED_MAP },
    { KIND_CLASS, "allowedTopologies", OWNED_WHOLE },
    { KIND_CSI_DRIVER, "spec.volumeLifecycleModes", OWNED_SET },
    { KIND_CSI_DRIVER, "spec.tokenRequests", OWNED_WHOLE },
    { KIND_CSI_NODE, "spec.drivers", OWNED_KEYED, "name" },
    { KIND_CSI_CAPACITY, "nodeTopology", OWNED_WHOLE },
    { KIND_SERVICE_ACCOUNT, "secrets", OWNED_KEYED, "name" },
    { KIND_SERVICE_ACCOUNT, "imagePullSecrets", OWNED_WHOLE },
    { KIND_EVENT, "involvedObject", OWNED_WHOLE },
    { KIND_EVENT, "source", OWNED_STRUCT },
    { KIND_NODE, "spec.taints", OWNED_WHOLE },
    { KIND_NODE, "spec.podCIDRs", OWNED_SET },
    { KIND_NODE, "status.addresses", OWNED_KEYED, "type" },
    { KIND_NAMESPACE, "spec.finalizers", OWNED_WHOLE },
    { KIND_POD, "spec.nodeSelector", OWNED_WHOLE },
    { KIND_POD, "spec.tolerations", OWNED_WHOLE },
    { KIND_POD, "spec.topologySpreadConstraints", OWNED_KEYED, "topologyKey whenUnsatisfiable" },
    { KIND_POD, "spec.containers", OWNED_KEYED, "name" },
    { KIND_POD, "spec.containers.ports", OWNED_KEYED, "containerPort protocol=TCP" },
    { KIND_POD, "spec.containers.volumeMounts", OWNED_KEYED, "mountPath" },
    { KIND_POD, "spec.containers.args", OWNED_WHOLE },
    { KIND_POD, "spec.volumes.secret.items", OWNED_WHOLE },
    { KIND_POD, "spec.imagePullSecrets", OWNED_KEYED, "name" },
    { KIND_POD, "spec.hostAliases", OWNED_KEYED, "ip" },
    { KIND_POD, "status.podIPs", OWNED_KEYED, "ip" },
    { KIND_POD, "status.hostIPs", OWNED_WHOLE },
    { KIND_POD, "status.containerStatuses", OWNED_WHOLE },
    { KIND_SNAPSHOT_CONTENT, "spec.volumeSnapshotRef", OWNED_WHOLE },
};

/* NULL when there is no such field. */
static const struct field *field_at(const struct schema *s, const char *path)
{
    struct str rest = str_of(path);
    const struct field *f = NULL;

    while (rest.s) {
        f = s ? schema_field(s, str_next(&rest, '.')) : NULL;
        s = f ? f->sub : NULL;
        if (!f)
            return NULL;
    }
    return f;
}

TEST(shapes_of_fields)
{
    for (size_t i = 0; i < ARRAY_LEN(shape_rows); i++) {
        const struct shape_row *row = &shape_rows[i];
        const struct field *f = field_at(kind_info(row->kind)->schema, row->path);
        enum owned_shape shape = owned_field_type(f).shape;
        if (!f || shape != row->shape)
            fail_msg("%s: %d, expected %d", row->path, f ? (int)shape : -1, row->shape);
        else if (shape == OWNED_KEYED)
            ASSERT_STR(row->keys, f->owned_keys ? f->owned_keys : f->merge_key);
    }
}

/* Unknown fields divide as objects do. */
TEST(shapes_of_unknown_fields)
{
    const struct field *f;
    struct owned_type t = owned_member_type(owned_type_of(NULL), STR_LIT("x"), &f);
    _cleanup_(json_done_p) struct json d;

    json_init(&d, BYTES_MAX);
    assert_null(f);
    assert_true(owned_divides(&d, t, parse(&d, "{}")));
    assert_false(owned_divides(&d, t, parse(&d, "[]")));
    assert_false(owned_divides(&d, t, parse(&d, "'x'")));
}

TEST_MAIN()
