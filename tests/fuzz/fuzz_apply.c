/* Field ownership on any stored object and any body: a plain write and a server-side apply. What comes out
 * can be read again, and the same write again changes nothing. The kind is the one that the stored object
 * names, a pod without one. */
#include "tests/fuzz/fuzz_patch.h"

#include "api/apply.h"
#include "api/kind.h"
#include "api/managed_fields.h"
#include "api/owned_fields.h"

#define WRITE_BYTES_MAX ((size_t)4 << 20)
/* An apply takes so many times what the document held before it: copies of the object, sets of fields. */
#define APPLY_GROWTH_MAX 8
#define APPLY_NODES_FREE 1000

/* Every entry's set is in canonical form: checking leaves it as it is. */
static void check_entries(struct json *d, json_ref object)
{
    json_ref list = json_path(d, object, "metadata", "managedFields");

    FUZZ_CHECK(!list || json_count(d, list) > 0);
    for (json_ref v = json_first(d, list); v; v = json_next(d, v)) {
        json_ref fields = json_get(d, v, "fieldsV1"), checked = json_copy(d, fields);
        struct buf before = BUF_INIT(WRITE_BYTES_MAX), after = BUF_INIT(WRITE_BYTES_MAX);
        FUZZ_CHECK(owned_check(d, checked));
        FUZZ_CHECK(!owned_is_empty(d, fields));
        json_write(d, fields, &before);
        json_write(d, checked, &after);
        FUZZ_CHECK(str_eq(buf_str(&before), buf_str(&after)));
        buf_done(&before);
        buf_done(&after);
    }
}

static void try_update(struct json *d, json_ref live, json_ref body, const struct managed_write *w)
{
    json_ref object = json_copy(d, body), again;
    struct error err;

    managed_fields_keep_reset(d, object);
    if (schema_normalize(w->kind->schema, d, object, SCHEMA_KEEP_UNKNOWN, NULL, &err) < 0)
        return;
    w->kind->set_defaults(d, object);
    FUZZ_CHECK(managed_fields_update(d, object, live, w, &err) == 0);
    check_tree(d, object);
    check_entries(d, object);
    again = json_copy(d, object);
    FUZZ_CHECK(managed_fields_update(d, again, object, w, &err) == 0);
    FUZZ_CHECK(json_equal(d, again, object));
}

static int apply(struct json *d, json_ref live, json_ref body, bool force, const struct managed_write *w,
                 json_ref *ret)
{
    struct apply_conflicts c = APPLY_CONFLICTS_INIT;
    struct patch_use before = patch_use(d);
    struct error err;
    int r = apply_merge(d, live, body, force, w, ret, &c, &err);

    FUZZ_CHECK(d->count <= before.nodes * APPLY_GROWTH_MAX + APPLY_NODES_FREE);
    FUZZ_CHECK(d->texts.used <= (before.text_bytes + before.nodes) * APPLY_GROWTH_MAX + APPLY_NODES_FREE);
    FUZZ_CHECK((r == -ERR_CONFLICT) == (c.causes.count > 0));
    FUZZ_CHECK(r == 0 || r == -ERR_CONFLICT || r == -ERR_BAD_REQUEST);
    if (r < 0)
        FUZZ_CHECK((int)err.code == -r);
    apply_conflicts_done_p(&c);
    return r;
}

static void try_apply(struct json *d, json_ref live, json_ref body, const struct managed_write *w)
{
    json_ref object = json_copy(d, body), done, again;
    struct error err;

    if (schema_normalize_applied(w->kind->schema, d, object, SCHEMA_KEEP_UNKNOWN, NULL, &err) < 0)
        return;
    if (apply(d, live, object, /* force= */ false, w, &done) != 0 &&
        apply(d, live, object, /* force= */ true, w, &done) != 0)
        return;
    check_result(d, done, 0, &err);
    check_entries(d, done);
    FUZZ_CHECK(apply(d, done, object, /* force= */ false, w, &again) == 0);
    FUZZ_CHECK(managed_fields_is_noop(d, again, done));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct managed_write w = { .manager = STR_LIT("m"), .now = { .seconds = 1 } };
    struct pair p = { .target = 0 };
    struct error err;

    if (pair_parse(&p, data, size)) {
        json_ref live = p.target;
        w.kind =
            kind_by_api_version(json_get_text(&p.d, live, "apiVersion"), json_get_text(&p.d, live, "kind"));
        w.kind = w.kind ? w.kind : kind_info(KIND_POD);
        w.subresource = json_get_text(&p.d, p.patch, "subresource");
        if (schema_normalize(w.kind->schema, &p.d, live, SCHEMA_KEEP_UNKNOWN, NULL, &err) < 0)
            live = 0;
        try_update(&p.d, live, p.patch, &w);
        try_apply(&p.d, live, p.patch, &w);
        w.manager = STR_LIT("kubectl");
        try_apply(&p.d, live, p.patch, &w);
    }
    json_done(&p.d);
    return 0;
}
