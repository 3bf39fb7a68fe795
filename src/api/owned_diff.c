/* Compares two trees, or walks an applied body, and collects the places that a manager owns. Frames on the
 * stack represent the path; sets are only created when a place is added, so that unchanged parts allocate
 * nothing. Recursion is limited by OWNED_DEPTH_MAX. */
#include "api/owned_diff.h"

#include "api/json_int.h"
#include "api/owned_fields.h"
#include "api/owned_shape.h"
#include "base/cleanup.h"

enum side { SIDE_SET, SIDE_GONE, SIDE_COUNT };

/* A place on the path. Its sets are created when something below it is added. */
struct frame {
    struct frame *up;
    struct str name; /* a member's key, or an item's path element */
    bool is_item;
    bool had_parent; /* the parent existed before */
    unsigned depth;
    json_ref sets[SIDE_COUNT];
};

struct walk {
    struct json *d;
    const struct owned_scope *scope;
    bool names; /* for an applied body; else a difference */
    struct buf element;
    json_ref wrong; /* in an applied body: an item without a unique name; 0: none */
    bool is_duplicate;
};

static void diff_value(struct walk *w, struct frame *f, struct owned_type t, json_ref old, json_ref now);

/* --- Scope --- */

static bool is_one_of(struct str key, const char *const *names)
{
    for (; *names; names++)
        if (key.s[0] == (*names)[0] && str_is(key, *names))
            return true;
    return false;
}

bool owned_scope_skips(const struct owned_scope *s, bool in_metadata, struct str key)
{
    static const char *const servers[] = {
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "managedFields",
        "name",
        "namespace",
        "resourceVersion",
        "selfLink",
        "uid",
        NULL,
    };
    static const char *const headers[] = { "apiVersion", "kind", NULL };
    bool keeps_metadata = s->kind->kind == KIND_ATTACHMENT || (s->kind->flags & KIND_IS_CUSTOM);

    if (!key.len)
        return false;
    if (in_metadata)
        return is_one_of(key, servers);
    if (is_one_of(key, headers))
        return true;
    if (str_is(key, "status"))
        return s->kind->has_status && s->part == WRITE_MAIN;
    if (str_is(key, "metadata"))
        return s->part == WRITE_STATUS && keeps_metadata;
    return s->part == WRITE_STATUS;
}

static bool frame_is_metadata(const struct frame *f)
{
    return f->depth == 1 && str_is(f->name, "metadata");
}

static bool frame_skips(const struct walk *w, const struct frame *f, struct str key)
{
    return (f->depth == 0 || frame_is_metadata(f)) && owned_scope_skips(w->scope, f->depth == 1, key);
}

/* --- Sets --- */

static json_ref frame_set(struct walk *w, struct frame *f, enum side side)
{
    json_ref up, set;

    if (f->sets[side])
        return f->sets[side];
    up = f->up ? frame_set(w, f->up, side) : 0;
    set = json_new_object(w->d);
    if (f->up) {
        buf_clear(&w->element);
        buf_add_cstr(&w->element, f->is_item ? "" : "f:");
        buf_add_str(&w->element, f->name);
        if (w->element.failed)
            w->d->failed = w->element.failed;
        json_add_member(w->d, up, buf_str(&w->element), set);
    }
    f->sets[side] = set;
    return set;
}

static struct frame frame_below(struct frame *f, struct str name, bool is_item)
{
    return (struct frame){ .up = f, .name = name, .is_item = is_item, .depth = f->depth + 1 };
}

/* All places below a frame were visited. */
static void frame_sort(const struct walk *w, const struct frame *f)
{
    for (enum side side = SIDE_SET; side < SIDE_COUNT; side++)
        if (f->sets[side])
            json_sort_members(w->d, f->sets[side]);
}

/* --- Complete values --- */

static void mark_value(struct walk *w, struct frame *f, struct owned_type t, json_ref v, enum side side);

static void mark_items(struct walk *w, struct frame *f, struct owned_type t, json_ref list, enum side side)
{
    struct owned_parts parts;
    struct owned_type item_type = owned_item_type(t);

    owned_parts_init(w->d, t, list, /* from= */ 0, &parts);
    if (w->names && !w->wrong && (parts.nameless || parts.duplicate)) {
        w->is_duplicate = !parts.nameless;
        w->wrong = w->is_duplicate ? parts.duplicate : parts.nameless;
    }
    for (uint32_t i = 0; i < parts.count; i++) {
        struct frame below = frame_below(f, parts.items[i].name, /* is_item= */ true);
        mark_value(w, &below, item_type, parts.items[i].v, side);
    }
    owned_parts_done_p(&parts);
}

static void mark_members(struct walk *w, struct frame *f, struct owned_type t, json_ref object,
                         enum side side)
{
    for (json_ref v = json_first(w->d, object); v; v = json_next(w->d, v)) {
        const struct field *field;
        struct frame below = frame_below(f, json_key(w->d, v), /* is_item= */ false);
        if (!frame_skips(w, f, below.name))
            mark_value(w, &below, owned_member_type(t, below.name, &field), v, side);
    }
}

/* Adds v and everything in it. */
static void mark_value(struct walk *w, struct frame *f, struct owned_type t, json_ref v, enum side side)
{
    bool self = w->names ? f->is_item : !frame_is_metadata(f);

    if (w->d->failed)
        return;
    if (f->depth == OWNED_DEPTH_MAX || !owned_divides(w->d, t, v) ||
        (!json_first(w->d, v) && json_type(w->d, v) == JSON_OBJECT)) {
        (void)frame_set(w, f, side);
        return;
    }
    if (!json_first(w->d, v) && w->names)
        return; /* an empty list names nothing */
    if (self)
        json_add_member(w->d, frame_set(w, f, side), STR_LIT("."), json_new_object(w->d));
    if (json_type(w->d, v) == JSON_ARRAY)
        mark_items(w, f, t, v, side);
    else
        mark_members(w, f, t, v, side);
    frame_sort(w, f);
}

/* --- Differences --- */

/* A new member. Members that every object of the type has existed before, empty. */
static void diff_new(struct walk *w, struct frame *f, const struct field *field, struct owned_type t,
                     json_ref now)
{
    if (f->up->had_parent && field && (field->flags & FIELD_ALWAYS)) {
        if (owned_divides(w->d, t, now)) {
            f->had_parent = true;
            diff_value(w, f, t, /* old= */ 0, now);
            return;
        }
        if (json_is_empty(w->d, now))
            return;
    }
    mark_value(w, f, t, now, SIDE_SET);
}

static void diff_member(struct walk *w, struct frame *f, struct owned_type t, struct str name, json_ref old,
                        json_ref now)
{
    struct frame below = frame_below(f, name, /* is_item= */ false);
    const struct field *field;
    struct owned_type type;

    if (frame_skips(w, f, name))
        return;
    type = owned_member_type(t, name, &field);
    if (!old)
        diff_new(w, &below, field, type, now);
    else if (now)
        diff_value(w, &below, type, old, now);
    else
        mark_value(w, &below, type, old, SIDE_GONE);
}

/* Pairs parts by name. */
static void diff_parts(struct walk *w, struct frame *f, struct owned_type t, const struct owned_parts *olds,
                       const struct owned_parts *nows)
{
    bool are_items = t.shape == OWNED_KEYED || t.shape == OWNED_SET;
    uint32_t i = 0, j = 0;

    while (i < olds->count || j < nows->count) {
        int order = i == olds->count   ? 1
                    : j == nows->count ? -1
                                       : str_cmp(olds->items[i].name, nows->items[j].name);
        struct str name = order <= 0 ? olds->items[i].name : nows->items[j].name;
        json_ref old = order <= 0 ? olds->items[i++].v : 0, now = order >= 0 ? nows->items[j++].v : 0;
        struct frame below = frame_below(f, name, are_items);
        if (!are_items)
            diff_member(w, f, t, name, old, now);
        else if (old && now)
            diff_value(w, &below, owned_item_type(t), old, now);
        else
            mark_value(w, &below, owned_item_type(t), old ? old : now, old ? SIDE_GONE : SIDE_SET);
    }
}

/* Members from old_from and now_from on, which are in different order or only on one side. */
static void diff_apart(struct walk *w, struct frame *f, struct owned_type t, json_ref old, json_ref old_from,
                       json_ref now, json_ref now_from)
{
    struct owned_parts olds, nows;

    owned_parts_init(w->d, t, old_from ? old : 0, old_from, &olds);
    owned_parts_init(w->d, t, now_from ? now : 0, now_from, &nows);
    if (!w->d->failed)
        diff_parts(w, f, t, &olds, &nows);
    owned_parts_done_p(&olds);
    owned_parts_done_p(&nows);
}

static bool is_same_scalar(const struct json_node *a, const struct json_node *b)
{
    return a->type == b->type && !json_is_container(a) &&
           (a->type < JSON_NUMBER ||
            (a->text.len == b->text.len && memcmp(a->text.s, b->text.s, a->text.len) == 0));
}

/* Members are usually in the same order: as long as they are, no name is looked up. A write with few changes
 * spends most of its time here. */
static void diff_members(struct walk *w, struct frame *f, struct owned_type t, json_ref old, json_ref now)
{
    json_ref v = json_first(w->d, old), u = json_first(w->d, now);

    while (v && u) {
        const struct json_node *a = json_node(w->d, v), *b = json_node(w->d, u);
        json_ref next_v = a->next, next_u = b->next;
        if (a->key_len != b->key_len || memcmp(a->key, b->key, a->key_len) != 0)
            break;
        if (!is_same_scalar(a, b))
            diff_member(w, f, t, (struct str){ a->key, a->key_len }, v, u);
        v = next_v;
        u = next_u;
    }
    if (v || u)
        diff_apart(w, f, t, old, v, now, u);
}

static void diff_value(struct walk *w, struct frame *f, struct owned_type t, json_ref old, json_ref now)
{
    bool divides = owned_divides(w->d, t, now) && f->depth < OWNED_DEPTH_MAX;

    f->had_parent |= old != 0;
    if (w->d->failed)
        return;
    if (old && divides != (owned_divides(w->d, t, old) && f->depth < OWNED_DEPTH_MAX)) {
        mark_value(w, f, t, old, SIDE_GONE);
        mark_value(w, f, t, now, SIDE_SET);
    } else if (!divides) {
        if (!json_equal(w->d, old, now))
            (void)frame_set(w, f, SIDE_SET);
    } else if (json_type(w->d, now) == JSON_OBJECT) {
        diff_members(w, f, t, old, now);
        frame_sort(w, f);
    } else if (!json_equal(w->d, old, now)) {
        diff_apart(w, f, t, old, json_first(w->d, old), now, json_first(w->d, now));
        frame_sort(w, f);
    }
}

int owned_diff(struct json *d, const struct owned_scope *s, json_ref old, json_ref now, json_ref *ret_set,
               json_ref *ret_gone, struct error *err)
{
    struct walk w = { .d = d, .scope = s, .element = BUF_INIT(d->bytes_max) };
    /* A new custom resource is compared with nothing. */
    struct frame root = { .had_parent = !(s->kind->flags & KIND_IS_CUSTOM) };
    int r;

    diff_value(&w, &root, owned_type_of(s->kind->schema), old, now);
    buf_done(&w.element);
    r = json_check(d, err);
    if (r < 0)
        return r;
    *ret_set = root.sets[SIDE_SET];
    *ret_gone = root.sets[SIDE_GONE];
    return 0;
}

/* --- Names of an applied body --- */

static int named_wrong(const struct walk *w, struct error *err)
{
    _cleanup_(buf_done_p) struct buf path = BUF_INIT(ERROR_MSG_BYTES_MAX / 2);

    json_path_text(w->d, w->wrong, &path);
    return error_set(err, ERR_BAD_REQUEST, "%s: %s", path.failed ? "…" : buf_cstr(&path),
                     w->is_duplicate ? "an earlier item of the list has the same keys"
                                     : "the item lacks the keys that identify it");
}

int owned_named(struct json *d, const struct owned_scope *s, json_ref applied, json_ref *ret,
                struct error *err)
{
    struct walk w = { .d = d, .scope = s, .names = true, .element = BUF_INIT(d->bytes_max) };
    struct frame root = { .sets = { 0 } };
    int r;

    mark_members(&w, &root, owned_type_of(s->kind->schema), applied, SIDE_SET);
    frame_sort(&w, &root);
    buf_done(&w.element);
    r = json_check(d, err);
    if (r == 0 && w.wrong)
        r = named_wrong(&w, err);
    if (r < 0)
        return r;
    *ret = root.sets[SIDE_SET];
    return 0;
}
