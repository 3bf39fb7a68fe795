/* Server-side apply: conflict detection, the order of the steps, and what kubectl is allowed to change.
 * Merging and pruning are in apply_body.c, ownership in managed_fields.c.
 *
 * All trees of an apply are in one JSON document; the live object and the applied body are not modified. At
 * most APPLY_CAUSES_MAX conflicts are listed, so that a response stays small. */
#include "api/apply.h"

#include <stdlib.h>

#include "api/managed_int.h"
#include "api/object.h"
#include "api/owned_fields.h"
#include "api/quote.h"
#include "base/cleanup.h"

/* The default field manager of kubectl apply. */
#define MANAGER_KUBECTL "kubectl"
/* Limit of all annotations together; beyond it the copy of the applied body is not stored. */
#define ANNOTATIONS_BYTES_MAX ((size_t)262144)

/* The state of one apply. */
struct apply {
    struct json *d;
    const struct managed_write *w;
    struct owned_scope scope;
    struct managed managed;
    json_ref live;
    json_ref applied;
    json_ref merged;
    json_ref named;   /* fields in the body; 0: none */
    json_ref set;     /* fields that the apply changes */
    json_ref gone;    /* fields that it removes */
    json_ref allowed; /* fields that kubectl may change although other managers own them */
    struct managed_entry *own;
};

/* --- Conflicts --- */

void apply_conflicts_done_p(struct apply_conflicts *c)
{
    vec_done(&c->causes);
    buf_done(&c->message);
    arena_done(&c->arena);
}

/* State while the conflicts with one entry are listed. */
struct conflict_list {
    struct apply_conflicts *c;
    char who[2 * MANAGER_BYTES_MAX * 4]; /* `"m"`, `"m" using v1` */
    uint32_t *total;
    struct buf lines;
    int r;
};

/* For managers that use Update instead of Apply, the API version is named too. */
static void conflict_who(const struct managed_entry *e, char *ret, size_t size)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(size - 1);
    char quoted[MANAGER_BYTES_MAX * 4];

    buf_add_cstr(&text, quote_text(quoted, sizeof quoted, e->manager));
    if (e->subresource.len)
        buf_addf(&text, " with subresource %s", quote_text(quoted, sizeof quoted / 2, e->subresource));
    if (!str_eq(e->operation, MANAGED_APPLY))
        buf_addf(&text, " using %.*s", STR_ARG(e->api_version));
    memcpy(ret, buf_cstr(&text), text.len + 1);
}

static void conflict_add(void *ctx, struct str path)
{
    struct conflict_list *l = ctx;
    struct status_cause cause = { .reason = "FieldManagerConflict" };

    ++*l->total;
    if (l->c->causes.count >= APPLY_CAUSES_MAX || l->r < 0)
        return;
    cause.message = arena_printf(&l->c->arena, "conflict with %s", l->who);
    cause.field = arena_dup(&l->c->arena, path);
    if (!cause.message || !cause.field || vec_push(&l->c->causes, cause) < 0) {
        l->r = -(int)(l->c->arena.failed ? l->c->arena.failed : ERR_NO_MEMORY);
        return;
    }
    buf_addf(&l->lines, "\n- %.*s", STR_ARG(path));
}

/* Adds the fields that one entry's manager would lose. */
static int conflict_entry(struct apply *a, const struct managed_entry *e, struct apply_conflicts *c,
                          uint32_t *total, struct buf *text)
{
    struct conflict_list l = { .c = c, .total = total, .lines = BUF_INIT(text->len_max) };
    json_ref common = owned_common(a->d, e->fields, a->set);

    owned_subtract(a->d, common, a->allowed);
    if (!owned_is_empty(a->d, common)) {
        conflict_who(e, l.who, sizeof l.who);
        owned_each_path(a->d, common, conflict_add, &l);
        buf_addf(text, "%sconflicts with %s:%s", text->len ? "\n" : "", l.who, buf_cstr(&l.lines));
    }
    buf_done(&l.lines);
    return l.r;
}

static int by_manager(const void *a, const void *b)
{
    const struct managed_entry *const *left = a, *const *right = b;

    return str_cmp((*left)->manager, (*right)->manager);
}

/* Lists the changed fields that other managers own, and counts them. */
static int apply_find_conflicts(struct apply *a, struct apply_conflicts *c, uint32_t *ret_total,
                                struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(c->message.len_max);
    const struct managed_entry *sorted[MANAGED_ENTRIES_MAX] = { NULL };
    size_t count = a->managed.entries.count;
    int r = 0;

    *ret_total = 0;
    for (size_t i = 0; i < count; i++)
        sorted[i] = &a->managed.entries.items[i];
    qsort(sorted, count, sizeof *sorted, by_manager);
    for (size_t i = 0; i < count && r == 0; i++)
        if (sorted[i] != a->own)
            r = conflict_entry(a, sorted[i], c, ret_total, &text);
    if (r == 0)
        r = json_check(a->d, err);
    else
        r = r == -ERR_NO_MEMORY ? error_no_memory(err) : error_set(err, ERR_TOO_LARGE, "too many conflicts");
    if (r < 0 || !*ret_total)
        return r;
    if (*ret_total == 1)
        buf_addf(&c->message, "Apply failed with 1 conflict: %s: %s", c->causes.items[0].message,
                 c->causes.items[0].field);
    else
        buf_addf(&c->message, "Apply failed with %u conflicts: %s", *ret_total, buf_cstr(&text));
    if (c->message.failed) { /* too long for a message: the causes contain most of it */
        buf_clear(&c->message);
        buf_addf(&c->message, "Apply failed with %u conflicts", *ret_total);
    }
    return buf_check(&c->message, "the list of conflicts", err);
}

/* --- kubectl --- */

/* Allows the fields of the body that kubectl last applied client-side, if they still have the same value. A
 * copy that cannot be parsed allows nothing. */
static int apply_allow_kubectl(struct apply *a, struct error *err)
{
    struct error ignored;
    json_ref copy =
        json_get(a->d, json_path(a->d, a->live, "metadata", "annotations"), LAST_APPLIED_ANNOTATION);
    json_ref body, merged, differs, gone;
    const struct schema *s = a->w->kind->schema;

    if (!str_is(a->w->manager, MANAGER_KUBECTL) || !copy)
        return 0;
    if (json_parse(a->d, json_text(a->d, copy), &body, &ignored) < 0 ||
        schema_normalize_applied(s, a->d, body, SCHEMA_KEEP_UNKNOWN, /* report= */ NULL, &ignored) < 0 ||
        owned_named(a->d, &a->scope, body, &a->allowed, &ignored) < 0)
        return json_check(a->d, err);
    merged = json_copy(a->d, a->live);
    apply_body(a->d, s, merged, body);
    if (schema_normalize(s, a->d, merged, SCHEMA_KEEP_UNKNOWN, /* report= */ NULL, &ignored) < 0 ||
        owned_diff(a->d, &a->scope, a->live, merged, &differs, &gone, &ignored) < 0) {
        a->allowed = 0;
        return json_check(a->d, err);
    }
    owned_subtract(a->d, a->allowed, differs);
    return json_check(a->d, err);
}

/* If the object has kubectl's copy of the applied body, it is updated, because client-side apply will read it
 * next time. */
static int apply_renew_copy(struct apply *a, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(a->d->bytes_max);
    json_ref annotations = json_path(a->d, a->merged, "metadata", "annotations");
    json_ref copy = json_get(a->d, annotations, LAST_APPLIED_ANNOTATION), body;
    size_t bytes = 0;

    if (!str_is(a->w->manager, MANAGER_KUBECTL) || !copy)
        return 0;
    body = json_copy(a->d, a->applied);
    (void)json_remove(a->d, json_path(a->d, body, "metadata", "annotations"), LAST_APPLIED_ANNOTATION);
    if (json_check(a->d, err) < 0)
        return -(int)err->code;
    json_write(a->d, body, &text);
    buf_add_char(&text, '\n');
    for (json_ref v = json_first(a->d, annotations); v; v = json_next(a->d, v))
        bytes += json_key(a->d, v).len + (v == copy ? text.len : json_text(a->d, v).len);
    if (text.failed || bytes > ANNOTATIONS_BYTES_MAX)
        json_unlink(a->d, copy);
    else
        json_replace(a->d, copy, json_new_string(a->d, buf_str(&text)));
    return json_check(a->d, err);
}

/* --- Applying --- */

/* The fields that any manager owns, with the fields of the body in place of those the manager applied before.
 */
static json_ref apply_owned(struct apply *a)
{
    json_ref all = json_new_object(a->d);

    owned_add(a->d, all, json_copy(a->d, a->named));
    for (size_t i = 0; i < a->managed.entries.count; i++)
        if (&a->managed.entries.items[i] != a->own)
            owned_add(a->d, all, json_copy(a->d, a->managed.entries.items[i].fields));
    return all;
}

/* Computes the merged object and its differences to the live one. */
static int apply_change(struct apply *a, struct error *err)
{
    struct json *d = a->d;
    const struct schema *s = a->w->kind->schema;
    int r;

    a->merged = a->live ? json_copy(d, a->live) : json_new_object(d);
    if (a->merged)
        apply_body(d, s, a->merged, json_copy(d, a->applied));
    a->managed.meta = a->merged ? json_ensure_object(d, a->merged, "metadata") : 0;
    if (json_check(d, err) < 0)
        return -(int)err->code;
    r = managed_read(&a->managed, json_get(d, a->managed.meta, "managedFields"), err);
    if (r < 0)
        return r;
    a->own = managed_find(&a->managed, MANAGED_APPLY);
    if (a->own)
        apply_prune(d, &a->scope, a->merged, a->own->fields, apply_owned(a));
    r = schema_normalize(s, d, a->merged, SCHEMA_KEEP_UNKNOWN, /* report= */ NULL, err);
    return r < 0 ? r : owned_diff(d, &a->scope, a->live, a->merged, &a->set, &a->gone, err);
}

/* Makes the manager own exactly the fields in the body. */
static int apply_own(struct apply *a, struct error *err)
{
    managed_lose(&a->managed, a->own, a->set, a->gone);
    if (!a->own)
        return a->named ? managed_add(&a->managed, MANAGED_APPLY, a->named, err) : 0;
    if (a->set || a->gone || !json_equal(a->d, a->own->fields, a->named))
        managed_touch(&a->managed, a->own);
    if (a->named)
        json_replace(a->d, a->own->fields, a->named);
    a->own->fields = a->named;
    return 0;
}

static int apply_run(struct apply *a, bool force, struct apply_conflicts *conflicts, struct error *err)
{
    uint32_t total = 0;
    int r = owned_named(a->d, &a->scope, a->applied, &a->named, err);

    if (r == 0)
        r = apply_change(a, err);
    if (r == 0 && !force)
        r = apply_allow_kubectl(a, err);
    if (r == 0 && !force)
        r = apply_find_conflicts(a, conflicts, &total, err);
    if (r == 0 && total)
        r = error_set(err, ERR_CONFLICT, "%s", buf_cstr(&conflicts->message));
    if (r == 0)
        r = apply_own(a, err);
    if (r == 0)
        r = managed_store(&a->managed, err);
    return r < 0 ? r : apply_renew_copy(a, err);
}

int apply_merge(struct json *d, json_ref live, json_ref applied, bool force, const struct managed_write *w,
                json_ref *ret, struct apply_conflicts *conflicts, struct error *err)
{
    struct apply a = {
        .d = d,
        .w = w,
        .scope = managed_scope(w),
        .managed = { .d = d, .w = w },
        .live = live,
        .applied = applied,
    };
    int r;

    if (json_path(d, applied, "metadata", "managedFields"))
        return error_set(err, ERR_BAD_REQUEST, "metadata.managedFields must be nil");
    r = apply_run(&a, force, conflicts, err);
    managed_done_p(&a.managed);
    if (r < 0)
        return r;
    *ret = a.merged;
    return 0;
}
