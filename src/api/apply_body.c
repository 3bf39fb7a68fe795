/* The steps of a server-side apply that change the object: merging the body, and pruning. */
#include "api/managed_int.h"

#include <stdlib.h>

#include "api/json_int.h"
#include "api/owned_fields.h"
#include "api/owned_shape.h"

/* --- Merging --- */

static void merge_value(struct json *d, struct owned_type t, json_ref target, json_ref from, unsigned depth);

static void merge_objects(struct json *d, struct owned_type t, json_ref target, json_ref from, unsigned depth)
{
    struct owned_parts parts;

    owned_parts_init(d, t, target, /* from= */ 0, &parts);
    for (json_ref v = json_first(d, from); v && !d->failed; v = json_first(d, from)) {
        struct str key = json_key(d, v);
        const struct owned_part *old = owned_parts_find(&parts, key);
        const struct field *field;
        json_unlink(d, v); /* it is the first member: no search */
        if (old)
            merge_value(d, owned_member_type(t, key, &field), old->v, v, depth + 1);
        else
            json_link(d, target, v);
    }
    owned_parts_done_p(&parts);
}

#define RANK_NONE UINT32_MAX

struct list_item {
    json_ref v;
    json_ref other; /* for an item of the body: the object's item of the same name; 0: none */
    uint32_t rank;  /* for an item of the object: its position in the body */
};

/* Links each item of either list to the item with the same name in the other. Items without a name have none.
 */
static void list_match(const struct owned_parts *olds, const struct owned_parts *news, struct list_item *old,
                       struct list_item *new)
{
    for (uint32_t i = 0, j = 0; i < olds->count && j < news->count;) {
        int order = str_cmp(olds->items[i].name, news->items[j].name);
        if (order == 0) {
            old[olds->items[i].position].rank = news->items[j].position;
            new[news->items[j].position].other = olds->items[i].v;
        }
        i += order <= 0;
        j += order >= 0;
    }
}

static struct list_item *list_items(const struct json *d, json_ref list)
{
    struct list_item *items = calloc(json_count(d, list) + 1, sizeof *items);
    uint32_t count = 0;

    for (json_ref v = json_first(d, list); v && items; v = json_next(d, v))
        items[count++] = (struct list_item){ v, 0, RANK_NONE };
    return items;
}

/* Fills the empty target with the items of both lists: those of the body in their order, and the object's own
 * items before the item that they preceded in the object. */
static void list_weave(struct json *d, struct owned_type t, json_ref target, const struct list_item *old,
                       uint32_t olds, const struct list_item *new, uint32_t news, unsigned depth)
{
    uint32_t i = 0, j = 0, shared = 0;

    while (i < olds || j < news) {
        while (shared < news && (shared < j || !new[shared].other))
            shared++; /* the next item of the body that is also in the object */
        if (i < olds && old[i].rank == RANK_NONE) {
            json_link(d, target, old[i++].v);
        } else if (i < olds && old[i].rank != shared) {
            i++; /* placed where the body has it */
        } else {
            if (new[j].other)
                merge_value(d, owned_item_type(t), new[j].other, new[j].v, depth + 1);
            json_link(d, target, new[j].other ? new[j].other : new[j].v);
            i += i < olds && old[i].rank == j;
            j++;
        }
    }
}

static void list_merge(struct json *d, struct owned_type t, json_ref target, json_ref from,
                       struct list_item *old, struct list_item *new, unsigned depth)
{
    uint32_t olds = json_count(d, target), news = json_count(d, from);
    struct owned_parts old_parts, new_parts;

    owned_parts_init(d, t, target, /* from= */ 0, &old_parts);
    owned_parts_init(d, t, from, /* from= */ 0, &new_parts);
    if (!d->failed) {
        list_match(&old_parts, &new_parts, old, new);
        json_relink(d, target, NULL, 0);
        json_relink(d, from, NULL, 0);
        list_weave(d, t, target, old, olds, new, news, depth);
    }
    owned_parts_done_p(&old_parts);
    owned_parts_done_p(&new_parts);
}

static void merge_lists(struct json *d, struct owned_type t, json_ref target, json_ref from, unsigned depth)
{
    struct list_item *old = list_items(d, target), *new = list_items(d, from);

    if (old && new)
        list_merge(d, t, target, from, old, new, depth);
    else
        d->failed = ERR_NO_MEMORY;
    free(old);
    free(new);
}

static void merge_value(struct json *d, struct owned_type t, json_ref target, json_ref from, unsigned depth)
{
    if (d->failed)
        return;
    if (depth >= OWNED_DEPTH_MAX || !owned_divides(d, t, target) || !owned_divides(d, t, from))
        json_become(d, target, from);
    else if (json_type(d, from) == JSON_OBJECT)
        merge_objects(d, t, target, from, depth);
    else
        merge_lists(d, t, target, from, depth);
}

void apply_body(struct json *d, const struct schema *s, json_ref target, json_ref body)
{
    merge_value(d, owned_type_of(s), target, body, 0);
}

/* --- Pruning --- */

struct prune {
    struct json *d;
    const struct owned_scope *scope;
};

/* True if the place is in the set, or is a field of a struct with a place below it in the set. */
static bool prune_has(const struct json *d, json_ref place, struct owned_type t)
{
    return place && (owned_has_self(d, place) || t.shape == OWNED_STRUCT);
}

/* Advances in the path elements to the one of the part; 0: none. */
static json_ref prune_seek(const struct json *d, json_ref *at, struct owned_type t,
                           const struct owned_part *part)
{
    int order = -1;

    while (*at && (order = owned_part_cmp(json_key(d, *at), t, part)) < 0)
        *at = json_next(d, *at);
    return *at && order == 0 ? *at : 0;
}

static struct owned_type part_type(struct owned_type t, const struct owned_part *part)
{
    const struct field *field;

    return t.shape == OWNED_KEYED || t.shape == OWNED_SET ? owned_item_type(t)
                                                          : owned_member_type(t, part->name, &field);
}

static void prune_value(struct prune *p, struct owned_type t, json_ref v, json_ref last, json_ref managed,
                        unsigned depth, bool in_metadata);

/* Prunes inside the part; true if the part stays. */
static bool prune_part(struct prune *p, struct owned_type t, const struct owned_part *part, json_ref last,
                       json_ref managed, unsigned depth)
{
    bool is_metadata = depth == 0 && str_is(part->name, "metadata");
    struct owned_type below = part_type(t, part);

    if (!is_metadata && prune_has(p->d, last, t) && !prune_has(p->d, managed, t))
        return false;
    if (!owned_first(p->d, last) || !owned_divides(p->d, below, part->v) || !json_first(p->d, part->v))
        return true;
    prune_value(p, below, part->v, last, managed, depth + 1, is_metadata);
    return json_first(p->d, part->v) || (managed && owned_has_self(p->d, managed));
}

static void prune_value(struct prune *p, struct owned_type t, json_ref v, json_ref last, json_ref managed,
                        unsigned depth, bool in_metadata)
{
    json_ref last_at = owned_first(p->d, last), managed_at = owned_first(p->d, managed);
    struct owned_parts parts;
    bool dropped = false;

    owned_parts_init(p->d, t, v, /* from= */ 0, &parts);
    for (uint32_t i = 0; i < parts.count && last_at; i++) {
        const struct owned_part *part = &parts.items[i];
        json_ref was = prune_seek(p->d, &last_at, t, part), is = prune_seek(p->d, &managed_at, t, part);
        if (!was || ((depth == 0 || in_metadata) && owned_scope_skips(p->scope, in_metadata, part->name)))
            continue;
        if (!prune_part(p, t, part, was, is, depth)) {
            json_drop(p->d, part->v);
            dropped = true;
        }
    }
    owned_parts_done_p(&parts);
    if (dropped)
        json_sweep(p->d, v);
}

void apply_prune(struct json *d, const struct owned_scope *s, json_ref object, json_ref last,
                 json_ref managed)
{
    struct prune p = { .d = d, .scope = s };

    prune_value(&p, owned_type_of(s->kind->schema), object, last, managed, /* depth= */ 0,
                /* in_metadata= */ false);
}
