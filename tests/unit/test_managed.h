/* What the tests of field ownership share: one stored object and writes to it, in the order of the server.
 *
 * Texts have ' for ". managedFields are shown as lines of `manager operation[/subresource] second fieldsV1`;
 * every write happens a second after the one before. */
#ifndef BERTH_TESTS_TEST_MANAGED_H
#define BERTH_TESTS_TEST_MANAGED_H

#include "tests/unit/test.h"

#include "api/kind.h"
#include "api/managed_fields.h"
#include "api/patch.h"
#include "base/cleanup.h"

#define BYTES_MAX ((size_t)8 << 20)

static struct error err;

struct world {
    const struct kind_info *kind;
    struct buf text; /* the stored object; empty: there is none */
    int64_t second;  /* of the last write */
    struct buf shown;
    struct buf message; /* of the last apply that failed, and its causes */
};

static struct world *world_new(enum kind kind)
{
    struct world *w = malloc(sizeof *w);

    assert_non_null(w);
    *w = (struct world){ .kind = kind_info(kind),
                         .text = BUF_INIT(BYTES_MAX),
                         .shown = BUF_INIT(BYTES_MAX),
                         .message = BUF_INIT(BYTES_MAX) };
    return w;
}

static struct world *world_free(struct world *w)
{
    if (!w)
        return NULL;
    buf_done(&w->text);
    buf_done(&w->shown);
    buf_done(&w->message);
    free(w);
    return NULL;
}
DEFINE_CLEANUP(struct world, world_free)

static json_ref parse(struct json *d, const char *quoted)
{
    _cleanup_(freep) char *text = strdup(quoted);
    json_ref v = 0;

    assert_non_null(text);
    for (char *c = text; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    if (json_parse(d, str_of(text), &v, &err) < 0)
        fail_msg("%s: %s", text, err.msg);
    return v;
}

/* Appends a value with ' for ". */
static void show(const struct json *d, json_ref v, struct buf *out)
{
    size_t start = out->len;

    json_write(d, v, out);
    for (size_t i = start; i < out->len; i++)
        out->data[i] = out->data[i] == '"' ? '\'' : out->data[i];
}

static json_ref world_live(const struct world *w, struct json *d)
{
    json_ref v = 0;

    if (w->text.len)
        ASSERT_OK(json_parse(d, buf_str(&w->text), &v, &err));
    return v;
}

static struct managed_write world_write(struct world *w, const char *manager, const char *subresource)
{
    w->second++;
    return (struct managed_write){ .kind = w->kind,
                                   .manager = str_of(manager),
                                   .subresource = str_of(subresource),
                                   .now = { .seconds = w->second } };
}

/* Prepares and stores an object whose managedFields are done. */
static void world_store(struct world *w, struct json *d, json_ref object, json_ref live,
                        const char *subresource)
{
    enum write_part part = strcmp(subresource, "status") == 0 ? WRITE_STATUS : WRITE_MAIN;
    struct timestamp now = { .seconds = w->second };

    if (live)
        w->kind->prepare_update(d, object, live, part, now);
    else
        w->kind->prepare_create(d, object, now);
    ASSERT_OK(schema_normalize(w->kind->schema, d, object, SCHEMA_DROP_UNKNOWN, NULL, &err));
    if (live && managed_fields_is_noop(d, object, live))
        return;
    buf_clear(&w->text);
    json_write(d, object, &w->text);
    assert_false(w->text.failed);
}

static void world_put_tree(struct world *w, struct json *d, json_ref object, json_ref live,
                           const char *manager, const char *subresource)
{
    struct managed_write write = world_write(w, manager, subresource);

    managed_fields_keep_reset(d, object);
    ASSERT_OK(schema_normalize(w->kind->schema, d, object, SCHEMA_DROP_UNKNOWN, NULL, &err));
    w->kind->set_defaults(d, object);
    ASSERT_OK(managed_fields_update(d, object, live, &write, &err));
    world_store(w, d, object, live, subresource);
}

/* Creates or replaces. */
static void world_put(struct world *w, const char *manager, const char *subresource, const char *body)
{
    _cleanup_(json_done_p) struct json d;

    json_init(&d, BYTES_MAX);
    world_put_tree(w, &d, parse(&d, body), world_live(w, &d), manager, subresource);
}

static void world_patch_as(struct world *w, enum patch_type type, const char *manager,
                           const char *subresource, const char *patch)
{
    _cleanup_(json_done_p) struct json d;
    json_ref live, object, p;

    json_init(&d, BYTES_MAX);
    live = world_live(w, &d);
    object = json_copy(&d, live);
    p = parse(&d, patch);
    ASSERT_OK(type == PATCH_JSON ? patch_json(&d, object, p, &err) : patch_merge(&d, object, p, &err));
    world_put_tree(w, &d, object, live, manager, subresource);
}

static void world_patch(struct world *w, const char *manager, const char *patch)
{
    world_patch_as(w, PATCH_MERGE, manager, "", patch);
}

/* The managers as lines. */
static const char *world_owners(struct world *w)
{
    _cleanup_(json_done_p) struct json d;
    json_ref list;

    json_init(&d, BYTES_MAX);
    list = json_path(&d, world_live(w, &d), "metadata", "managedFields");
    buf_clear(&w->shown);
    for (json_ref v = json_first(&d, list); v; v = json_next(&d, v)) {
        struct timestamp t = { .seconds = -1 };
        struct str sub = json_get_text(&d, v, "subresource"), time = json_get_text(&d, v, "time");
        if (time.len)
            ASSERT_OK(timestamp_parse(time, &t, &err));
        assert_true(json_is_string(&d, json_get(&d, v, "fieldsType"), "FieldsV1"));
        buf_addf(&w->shown, "%s%.*s %.*s%s%.*s %d ", w->shown.len ? "\n" : "",
                 STR_ARG(json_get_text(&d, v, "manager")), STR_ARG(json_get_text(&d, v, "operation")),
                 sub.len ? "/" : "", STR_ARG(sub), (int)t.seconds);
        show(&d, json_get(&d, v, "fieldsV1"), &w->shown);
    }
    return buf_cstr(&w->shown);
}

#define ASSERT_OWNERS(w, expected) ASSERT_STR((expected), world_owners(w))

/* The value at a path of member names with dots between them; "" for none. */
static const char *world_value(struct world *w, const char *path)
{
    _cleanup_(json_done_p) struct json d;
    struct str rest = str_of(path);
    json_ref v;

    json_init(&d, BYTES_MAX);
    v = world_live(w, &d);
    while (rest.s)
        v = json_get_key(&d, v, str_next(&rest, '.'));
    buf_clear(&w->shown);
    if (v)
        show(&d, v, &w->shown);
    return buf_cstr(&w->shown);
}

#define ASSERT_VALUE(w, path, expected) ASSERT_STR((expected), world_value((w), (path)))

#endif
