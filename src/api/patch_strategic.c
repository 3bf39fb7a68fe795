/* Strategic merge patch: maps. Lists are in patch_list.c.
 *
 * Everything that the patch adds to the target is cleaned of nulls and directives: members of new or replaced
 * maps, new list items, and replaced lists. In new lists an item with "$patch": "delete" or "replace" is left
 * out. */
#include "api/patch.h"

#include "api/json_int.h"
#include "api/patch_int.h"
#include "base/cleanup.h"

#define RETAIN_KEYS "$retainKeys"
#define SET_ORDER "$setElementOrder/"
#define DELETE_FROM "$deleteFromPrimitiveList/"

enum member_kind { MEMBER_PLAIN, MEMBER_DIRECTIVE, MEMBER_UNKNOWN_DIRECTIVE };

static enum member_kind member_kind(struct str key)
{
    if (!key.len || key.s[0] != '$')
        return MEMBER_PLAIN;
    return str_is(key, "$patch") || str_is(key, RETAIN_KEYS) || str_has_prefix(key, SET_ORDER) ||
                   str_has_prefix(key, DELETE_FROM)
               ? MEMBER_DIRECTIVE
               : MEMBER_UNKNOWN_DIRECTIVE;
}

/* Free-form maps may have keys that look like a directive; in structs such a key is always a directive. */
static int member_is_plain(struct patch_run *r, const struct schema *s, struct str key, bool *ret)
{
    enum member_kind kind = member_kind(key);

    if (kind == MEMBER_UNKNOWN_DIRECTIVE && s)
        return error_set(r->err, ERR_BAD_REQUEST, "unknown directive in patch: '%.*s'", STR_ARG(key));
    *ret = kind != MEMBER_DIRECTIVE;
    return 0;
}

int patch_directive(struct patch_run *r, json_ref v, enum patch_directive *ret)
{
    static const char *const names[] = {
        [PATCH_DO_MERGE] = "merge",
        [PATCH_DO_REPLACE] = "replace",
        [PATCH_DO_DELETE] = "delete",
    };
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(ERROR_MSG_BYTES_MAX / 2);
    json_ref directive = json_get(r->d, v, "$patch");

    *ret = PATCH_NONE;
    if (!directive)
        return 0;
    for (enum patch_directive i = PATCH_DO_MERGE; i <= PATCH_DO_DELETE; i++)
        if (json_is_string(r->d, directive, names[i]))
            *ret = i;
    if (*ret != PATCH_NONE)
        return 0;
    patch_write_go(r->d, directive, &text);
    return error_set(r->err, ERR_BAD_REQUEST, "unknown directive in patch: '$patch: %s'", buf_cstr(&text));
}

static const struct schema *schema_below(const struct field *f)
{
    return f && (f->type == FIELD_OBJECT || f->type == FIELD_LIST) ? f->sub : NULL;
}

/* --- Cleaning --- */

/* Whether v, a value from the patch, is part of the result. */
static int clean_keeps(struct patch_run *r, json_ref v, bool is_item, bool *ret)
{
    enum patch_directive directive = PATCH_NONE;
    int e = json_type(r->d, v) == JSON_OBJECT ? patch_directive(r, v, &directive) : 0;

    *ret = directive != PATCH_DO_DELETE && !(is_item && directive == PATCH_DO_REPLACE);
    return e;
}

static int clean_child(struct patch_run *r, const struct patch_work *w, json_ref v, bool *keep)
{
    bool is_item = json_type(r->d, w->target) == JSON_ARRAY;
    const struct schema *s = w->schema;
    int e = 0;

    *keep = true;
    if (!is_item) {
        e = member_is_plain(r, s, json_key(r->d, v), keep);
        if (json_type(r->d, v) == JSON_NULL)
            *keep = false;
        s = s ? schema_below(schema_field(s, json_key(r->d, v))) : NULL;
    }
    if (e == 0 && *keep)
        e = clean_keeps(r, v, is_item, keep);
    if (e == 0 && *keep && json_is_container(json_node(r->d, v)))
        e = patch_push(r, v, 0, s);
    return e;
}

/* Removes nulls and directives from one map or list, and pushes the values below it as work. */
static int strategic_clean(struct patch_run *r, const struct patch_work *w)
{
    bool dropped = false;

    for (json_ref v = json_first(r->d, w->target); v; v = json_next(r->d, v)) {
        bool keep;
        int e = clean_child(r, w, v, &keep);
        if (e < 0)
            return e;
        if (!keep) {
            json_drop(r->d, v);
            dropped = true;
        }
    }
    if (dropped)
        json_sweep(r->d, w->target);
    return 0;
}

/* --- Maps --- */

/* The merge of one map. */
struct map_merge {
    struct patch_run *r;
    const struct schema *schema;
    json_ref target;
    struct patch_index members; /* of the target */
    struct patch_index orders;  /* the patch's $setElementOrder lists, by field */
    struct patch_index deletes; /* its $deleteFromPrimitiveList lists, by field */
    bool dropped;
};

static void map_merge_done_p(struct map_merge *m)
{
    patch_index_done_p(&m->members);
    patch_index_done_p(&m->orders);
    patch_index_done_p(&m->deletes);
}

/* The target's member of that name; 0 if there is none (any more). */
static json_ref map_member(const struct map_merge *m, struct str name)
{
    const struct patch_entry *e = patch_index_find(&m->members, patch_label_name(name));

    return e && json_type(m->r->d, e->node) != JSON_NONE ? e->node : 0;
}

static void map_drop(struct map_merge *m, json_ref old)
{
    if (old) {
        json_drop(m->r->d, old);
        m->dropped = true;
    }
}

/* Makes v, a value of the patch in no container, the member in place of old (0: none). */
static int map_put_member(struct map_merge *m, const struct field *f, json_ref old, json_ref v)
{
    struct json *d = m->r->d;
    bool keep;
    int e = clean_keeps(m->r, v, /* is_item= */ false, &keep);

    if (e < 0)
        return e;
    if (!keep) {
        map_drop(m, old);
        return 0;
    }
    if (old) {
        json_become(d, old, v);
        v = old;
    } else {
        json_link(d, m->target, v);
    }
    return json_is_container(json_node(d, v)) ? patch_push(m->r, v, 0, schema_below(f)) : 0;
}

/* A list of the patch. If the target has none and an order is requested, it is merged into an empty list. */
static int map_merge_list(struct map_merge *m, const struct field *f, json_ref old, json_ref v)
{
    struct json *d = m->r->d;
    const struct patch_entry *found = patch_index_find(&m->orders, patch_label_name(json_key(d, v)));
    json_ref order = found ? found->node : 0;
    int e;

    if (json_type(d, old) != JSON_ARRAY) {
        json_ref items = order ? json_new_array(d) : 0;
        if (!items)
            return order ? json_check(d, m->r->err) : map_put_member(m, f, old, v);
        json_become(d, items, v);
        e = map_put_member(m, f, old, v);
        if (e < 0)
            return e;
        old = old ? old : v;
        v = items;
    }
    e = patch_list(m->r, f, old, v, order);
    if (order)
        json_drop(d, order); /* used: map_order_rest() must not see it */
    return e;
}

static int map_merge_member(struct map_merge *m, json_ref v)
{
    struct json *d = m->r->d;
    struct str name = json_key(d, v);
    const struct field *f = m->schema ? schema_field(m->schema, name) : NULL;
    json_ref old = map_member(m, name);

    switch (json_type(d, v)) {
    case JSON_NULL:
        map_drop(m, old);
        return 0;
    case JSON_ARRAY:
        return map_merge_list(m, f, old, v);
    case JSON_OBJECT:
        if (json_type(d, old) == JSON_OBJECT)
            return patch_push(m->r, old, v, schema_below(f));
        return map_put_member(m, f, old, v);
    case JSON_FALSE:
    case JSON_TRUE:
    case JSON_NUMBER:
    case JSON_STRING:
    case JSON_NONE:
        break;
    }
    return map_put_member(m, f, old, v);
}

/* Orders for lists that the patch does not change otherwise. */
static int map_order_rest(struct map_merge *m)
{
    const struct json *d = m->r->d;

    for (uint32_t i = 0; i < m->orders.count; i++) {
        const struct patch_entry *order = &m->orders.entries[i];
        const struct field *f = m->schema ? schema_field(m->schema, order->label.text) : NULL;
        json_ref list = map_member(m, order->label.text);
        if (json_type(d, order->node) == JSON_NONE || json_type(d, list) != JSON_ARRAY)
            continue;
        int e = patch_list_order(m->r, f, list, json_count(d, list), order->node);
        if (e < 0)
            return e;
    }
    return 0;
}

static int map_delete_from(struct map_merge *m)
{
    for (uint32_t i = 0; i < m->deletes.count; i++) {
        const struct patch_entry *values = &m->deletes.entries[i];
        json_ref list = map_member(m, values->label.text);
        int e = patch_list_delete(m->r, list, values->node);
        if (e < 0)
            return e;
    }
    return 0;
}

static int map_merge_init(struct map_merge *m, json_ref patch)
{
    uint32_t count = json_count(m->r->d, patch);
    int e = patch_index_init(m->r, &m->members, m->target, NULL, count);

    if (e == 0)
        e = patch_index_init(m->r, &m->orders, patch, SET_ORDER, count);
    if (e == 0)
        e = patch_index_init(m->r, &m->deletes, patch, DELETE_FROM, 0);
    for (uint32_t i = 0; e == 0 && i < m->orders.count; i++)
        if (json_type(m->r->d, m->orders.entries[i].node) != JSON_ARRAY)
            e = error_set(m->r->err, ERR_BAD_REQUEST, "'" SET_ORDER "%.*s' must be a list",
                          STR_ARG(m->orders.entries[i].label.text));
    return e;
}

static int map_merge_members(struct map_merge *m, json_ref patch)
{
    struct json *d = m->r->d;
    int e = map_merge_init(m, patch);

    for (json_ref v = json_first(d, patch); e == 0 && v; v = json_first(d, patch)) {
        bool plain = false;
        json_unlink(d, v); /* it is the first member: no search */
        e = member_is_plain(m->r, m->schema, json_key(d, v), &plain);
        if (e == 0 && plain)
            e = map_merge_member(m, v);
    }
    if (e == 0)
        e = map_order_rest(m);
    if (e == 0)
        e = map_delete_from(m); /* last, so that these items are removed in any case */
    if (m->dropped)
        json_sweep(d, m->target);
    return e;
}

/* Removes the members from the target that $retainKeys does not name. Members that the patch sets must be
 * named. */
static int map_retain_keys(struct patch_run *r, json_ref target, json_ref patch)
{
    _cleanup_(patch_index_done_p) struct patch_index names = { .entries = NULL };
    struct json *d = r->d;
    json_ref list = json_get(d, patch, RETAIN_KEYS);
    int e;

    if (!list)
        return 0;
    if (json_type(d, list) != JSON_ARRAY)
        return error_set(r->err, ERR_BAD_REQUEST, "'" RETAIN_KEYS "' must be a list of keys");
    e = patch_index_init(r, &names, list, NULL, json_count(d, target) + json_count(d, patch));
    if (e < 0)
        return e;
    for (json_ref v = json_first(d, patch); v; v = json_next(d, v))
        if (json_type(d, v) != JSON_NULL && member_kind(json_key(d, v)) != MEMBER_DIRECTIVE &&
            !patch_index_find(&names, patch_label_name(json_key(d, v))))
            return error_set(r->err, ERR_BAD_REQUEST,
                             "the patch sets '%.*s', which its " RETAIN_KEYS " does not name",
                             STR_ARG(json_key(d, v)));
    for (json_ref v = json_first(d, target); v; v = json_next(d, v))
        if (!patch_index_find(&names, patch_label_name(json_key(d, v))))
            json_drop(d, v);
    json_sweep(d, target);
    return patch_charge(r, json_count(d, target));
}

static int strategic_map(struct patch_run *r, const struct patch_work *w)
{
    _cleanup_(map_merge_done_p) struct map_merge m = { .r = r, .schema = w->schema, .target = w->target };
    enum patch_directive directive;
    int e = patch_directive(r, w->patch, &directive);

    if (e < 0)
        return e;
    if (directive == PATCH_DO_DELETE) {
        json_relink(r->d, w->target, NULL, 0);
        return 0;
    }
    if (directive == PATCH_DO_REPLACE) {
        json_become(r->d, w->target, w->patch);
        return patch_push(r, w->target, 0, w->schema);
    }
    e = map_retain_keys(r, w->target, w->patch);
    return e < 0 ? e : map_merge_members(&m, w->patch);
}

int patch_strategic(const struct schema *s, struct json *d, json_ref target, json_ref patch,
                    struct error *err)
{
    _cleanup_(patch_run_done_p) struct patch_run r = { .d = d, .err = err };
    int e;

    assert(!json_parent(d, target));
    assert(!json_parent(d, patch));
    if (json_type(d, target) != JSON_OBJECT || json_type(d, patch) != JSON_OBJECT)
        return error_set(err, ERR_BAD_REQUEST,
                         "a strategic merge patch must be an object for an object, not %s for %s",
                         json_type_name(json_type(d, patch)), json_type_name(json_type(d, target)));
    e = patch_push(&r, target, patch, s);
    while (e == 0 && r.count) {
        struct patch_work w = r.stack[--r.count];
        e = w.patch ? strategic_map(&r, &w) : strategic_clean(&r, &w);
    }
    return e < 0 ? e : json_check(d, err);
}
