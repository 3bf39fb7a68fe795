/* Strategic merge patch: lists.
 *
 * There are three kinds: keyed lists (items are maps that are merged by their merge key), sets of scalars,
 * and all others, which are replaced. The merged list is then sorted: by $setElementOrder, or else by the
 * patch. Items in the patch have its order, other items of the target stay between their old neighbours, and
 * a new item comes as early as possible. */
#include "api/patch.h"

#include "api/json_int.h"
#include "api/patch_int.h"
#include "base/cleanup.h"

/* Space for the rest of the error text. */
#define LIST_MAP_TEXT_MAX (ERROR_MSG_BYTES_MAX - 160)

static const char *list_key(const struct field *f)
{
    return f ? f->merge_key : NULL;
}

static int list_no_key(struct patch_run *r, json_ref item, const char *key)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(LIST_MAP_TEXT_MAX);

    patch_write_go(r->d, item, &text);
    return error_set(r->err, ERR_BAD_REQUEST, "map: %s%s does not contain declared merge key: %s",
                     buf_cstr(&text), text.failed ? "…" : "", key);
}

/* The label by which an item is merged: the merge key of a map; items of a set must be scalars. */
static int list_label(struct patch_run *r, const struct field *f, json_ref item, struct patch_label *ret)
{
    const char *key = list_key(f);

    if (patch_label_item(r->d, item, key, ret))
        return 0;
    if (key && json_type(r->d, item) == JSON_OBJECT)
        return list_no_key(r, item, key);
    return error_set(r->err, ERR_BAD_REQUEST, "list '%s' cannot hold an item of type %s", f->name,
                     json_type_name(json_type(r->d, item)));
}

/* --- Order --- */

#define ORDER_UNLISTED UINT32_MAX

struct order_item {
    json_ref node;
    uint32_t rank; /* position in the requested order */
    uint32_t position;
};

/* By rank, so that unlisted items come last; there, and for equal ranks, in their old order. */
static int order_item_cmp(const void *a, const void *b)
{
    const struct order_item *left = a, *right = b;

    if (left->rank != right->rank)
        return left->rank < right->rank ? -1 : 1;
    return (left->position > right->position) - (left->position < right->position);
}

static int order_index(struct patch_run *r, const struct field *f, json_ref order, uint32_t lookups,
                       struct patch_index *ret)
{
    const char *key = list_key(f);

    for (json_ref v = json_first(r->d, order); key && v; v = json_next(r->d, v)) {
        struct patch_label label;
        int e = list_label(r, f, v, &label);
        if (e < 0)
            return e;
    }
    return patch_index_init(r, ret, order, key, lookups);
}

/* Fills the empty list with the listed items in their order, and the unlisted ones between them. */
static void order_interleave(struct json *d, json_ref list, const struct order_item *listed,
                             uint32_t listed_count, const struct order_item *others, uint32_t others_count,
                             uint32_t old)
{
    uint32_t i = 0, j = 0;

    while (i < others_count || j < listed_count) {
        bool first = i < others_count && j < listed_count && others[i].position < listed[j].position &&
                     listed[j].position < old;
        json_link(d, list, first || j == listed_count ? others[i++].node : listed[j++].node);
    }
}

/* Sorts a list whose first `old` items are those of the target by the ranks of its items' labels. */
static int list_arrange(struct patch_run *r, const struct field *f, json_ref list, uint32_t old,
                        const struct patch_index *ranks)
{
    uint32_t count = json_count(r->d, list), listed = 0, position = 0;
    _cleanup_(freep) struct order_item *items = malloc((count + 1) * sizeof *items);

    if (!items)
        return error_no_memory(r->err);
    for (json_ref v = json_first(r->d, list); v; v = json_next(r->d, v), position++) {
        struct patch_label label;
        const struct patch_entry *rank =
            patch_label_item(r->d, v, list_key(f), &label) ? patch_index_find(ranks, label) : NULL;
        items[position] = (struct order_item){ v, rank ? rank->position : ORDER_UNLISTED, position };
        listed += rank != NULL;
    }
    qsort(items, count, sizeof *items, order_item_cmp);
    json_relink(r->d, list, NULL, 0);
    order_interleave(r->d, list, items, listed, items + listed, count - listed, old);
    return patch_charge(r, (uint64_t)count * PATCH_SORT_STEPS);
}

int patch_list_order(struct patch_run *r, const struct field *f, json_ref list, uint32_t old, json_ref order)
{
    _cleanup_(patch_index_done_p) struct patch_index ranks = { .entries = NULL };
    int e = order_index(r, f, order, json_count(r->d, list), &ranks);

    return e < 0 ? e : list_arrange(r, f, list, old, &ranks);
}

/* The patch's own items must be listed in the same order; otherwise the patch contradicts itself. */
static int list_check_order(struct patch_run *r, const struct field *f, json_ref patch, json_ref order)
{
    _cleanup_(patch_index_done_p) struct patch_index ranks = { .entries = NULL };
    uint32_t least = 0;
    int e = order_index(r, f, order, json_count(r->d, patch), &ranks);

    if (e < 0 || !ranks.count)
        return e;
    for (json_ref v = json_first(r->d, patch); v; v = json_next(r->d, v)) {
        enum patch_directive directive;
        struct patch_label label;
        e = patch_directive(r, v, &directive);
        if (e < 0)
            return e;
        if (directive == PATCH_DO_DELETE || directive == PATCH_DO_REPLACE)
            continue;
        e = list_label(r, f, v, &label);
        if (e < 0)
            return e;
        const struct patch_entry *rank = patch_index_find(&ranks, label);
        if (!rank || rank->position < least)
            return error_set(
                r->err, ERR_BAD_REQUEST,
                "the items of list '%s' in the patch are not in the order of its '$setElementOrder/%s'",
                f->name, f->name);
        least = rank->position;
    }
    return 0;
}

/* --- Merging --- */

int patch_list_delete(struct patch_run *r, json_ref list, json_ref values)
{
    _cleanup_(patch_index_done_p) struct patch_index gone = { .entries = NULL };
    struct patch_label label;
    int e;

    if (json_type(r->d, values) != JSON_ARRAY)
        return error_set(r->err, ERR_BAD_REQUEST, "'%.*s' must be a list", STR_ARG(json_key(r->d, values)));
    if (json_type(r->d, list) != JSON_ARRAY)
        return 0;
    e = patch_index_init(r, &gone, values, NULL, json_count(r->d, list));
    if (e < 0)
        return e;
    for (json_ref v = json_first(r->d, list); v; v = json_next(r->d, v))
        if (patch_label_item(r->d, v, NULL, &label) && patch_index_find(&gone, label))
            json_drop(r->d, v);
    json_sweep(r->d, list);
    return patch_charge(r, json_count(r->d, list));
}

/* Checks the patch of a keyed list: every item is a map, has the key unless it only has the directive
 * "replace", and has no unknown directive. */
static int keyed_check(struct patch_run *r, const struct field *f, json_ref patch, bool *replaces,
                       bool *deletes)
{
    *replaces = *deletes = false;
    for (json_ref v = json_first(r->d, patch); v; v = json_next(r->d, v)) {
        enum patch_directive directive;
        struct patch_label label;
        int e = patch_directive(r, v, &directive);
        if (e == 0 && directive != PATCH_DO_REPLACE)
            e = list_label(r, f, v, &label);
        if (e < 0)
            return e;
        *replaces |= directive == PATCH_DO_REPLACE;
        *deletes |= directive == PATCH_DO_DELETE;
    }
    return 0;
}

/* Removes items with the directive "delete" from the patch, and all items with their key from the target. */
static int keyed_delete(struct patch_run *r, const struct field *f, json_ref target, json_ref patch)
{
    _cleanup_(patch_index_done_p) struct patch_index gone = { .entries = NULL };
    json_ref deletes = json_new_array(r->d);
    struct patch_label label;
    uint32_t count = json_count(r->d, patch);
    int e;

    if (!deletes)
        return json_check(r->d, r->err);
    for (uint32_t i = 0; i < count; i++) { /* once through the list */
        json_ref v = json_first(r->d, patch);
        bool is_delete = json_is_string(r->d, json_get(r->d, v, "$patch"), "delete");
        json_unlink(r->d, v);
        json_link(r->d, is_delete ? deletes : patch, v);
    }
    e = patch_index_init(r, &gone, deletes, f->merge_key, json_count(r->d, target));
    if (e < 0)
        return e;
    for (json_ref v = json_first(r->d, target); v; v = json_next(r->d, v))
        if (patch_label_item(r->d, v, f->merge_key, &label) && patch_index_find(&gone, label))
            json_drop(r->d, v);
    json_sweep(r->d, target);
    return patch_charge(r, json_count(r->d, target));
}

/* Merges each item of the patch into the target's first item with the same label. A new label appends its
 * first item, and further items with that label are merged into it. Items of sets have no contents to merge.
 */
static int list_merge_items(struct patch_run *r, const struct field *f, json_ref target, json_ref patch)
{
    _cleanup_(patch_index_done_p) struct patch_index olds = { .entries = NULL };
    _cleanup_(patch_index_done_p) struct patch_index news = { .entries = NULL };
    uint32_t mark = r->count, count = json_count(r->d, patch);
    int e = patch_index_init(r, &olds, target, list_key(f), count);

    if (e == 0)
        e = patch_index_init(r, &news, patch, list_key(f), count);
    for (json_ref v = json_first(r->d, patch); e == 0 && v; v = json_first(r->d, patch)) {
        struct patch_label label;
        e = list_label(r, f, v, &label);
        if (e < 0)
            break;
        const struct patch_entry *found = patch_index_find(&olds, label);
        if (!found)
            found = patch_index_find(&news, label);
        json_unlink(r->d, v); /* it is the first item: no search */
        if (found->node == v)
            json_link(r->d, target, v);
        if (list_key(f))
            e = patch_push(r, found->node, found->node == v ? 0 : v, f->sub);
    }
    patch_keep_order(r, mark); /* merges into one item are done in the order of the patch */
    return e;
}

static int list_replace(struct patch_run *r, const struct field *f, json_ref target, json_ref patch)
{
    json_become(r->d, target, patch);
    return patch_push(r, target, 0, f && f->type == FIELD_LIST ? f->sub : NULL);
}

int patch_list(struct patch_run *r, const struct field *f, json_ref target, json_ref patch, json_ref order)
{
    _cleanup_(patch_index_done_p) struct patch_index ranks = { .entries = NULL };
    bool keyed = list_key(f) != NULL, set = f && (f->flags & FIELD_SET), replaces = !keyed && !set,
         deletes = false;
    uint32_t old;
    int e = 0;

    if (keyed)
        e = keyed_check(r, f, patch, &replaces, &deletes);
    if (e == 0 && order && (keyed || set))
        e = list_check_order(r, f, patch, order);
    if (e == 0 && deletes && !replaces)
        e = keyed_delete(r, f, target, patch);
    old = replaces ? 0 : json_count(r->d, target);
    if (e == 0 && !replaces && !order)
        e = order_index(r, f, patch, old + json_count(r->d, patch), &ranks);
    if (e < 0)
        return e;
    e = replaces ? list_replace(r, f, target, patch) : list_merge_items(r, f, target, patch);
    if (e == 0 && order)
        e = patch_list_order(r, f, target, old, order);
    else if (e == 0 && !replaces)
        e = list_arrange(r, f, target, old, &ranks);
    return e;
}
