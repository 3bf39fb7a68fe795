/* What the kinds of patches share: a list of work, a budget, and an index for finding members and items. */
#ifndef BERTH_API_PATCH_INT_H
#define BERTH_API_PATCH_INT_H

#include <stdlib.h>

#include "api/patch.h"

/* Merge patch into target. A patch of 0 means: the target came out of the patch, clean it of nulls (and
 * directives). */
struct patch_work {
    json_ref target;
    json_ref patch;
    const struct schema *schema; /* of the target, or of its items when it is a list; NULL: not known */
};

/* One application of a patch. Merging a map leaves the maps below it on the stack, so there is no recursion.
 * The last work added is done first. */
struct patch_run {
    struct json *d;
    struct error *err;
    struct patch_work *stack;
    uint32_t count;
    uint32_t cap;
    uint64_t steps;
    size_t copied; /* bytes, by all copy operations of a JSON patch */
};

static inline void patch_run_done_p(struct patch_run *r)
{
    free(r->stack);
}

/* What sorting one thing costs in steps: as many comparisons, for lists of the size that matters. */
#define PATCH_SORT_STEPS 16

/* Takes steps from the budget; fails when it is spent. */
int patch_charge(struct patch_run *r, uint64_t steps);
int patch_push(struct patch_run *r, json_ref target, json_ref patch, const struct schema *s);
/* The work added since `mark` (an earlier r->count) will be done in the order it was added. */
void patch_keep_order(struct patch_run *r, uint32_t mark);

/* The name a child is found by: a member's key, an item's scalar, or the scalar that its merge key holds. */
struct patch_label {
    struct str text;
    enum json_type type;
};

static inline struct patch_label patch_label_name(struct str name)
{
    return (struct patch_label){ name, JSON_STRING };
}

/* An item's label: the value of its member `field`, or the item itself when field is NULL. False when that is
 * absent, null, a list or a map. */
bool patch_label_item(const struct json *d, json_ref item, const char *field, struct patch_label *ret);

struct patch_entry {
    struct patch_label label;
    json_ref node;
    uint32_t position; /* among the container's children */
};

#define PATCH_INDEX_FEW 16

/* The children of one container by label, as they were when it was made; children may move meanwhile. */
struct patch_index {
    struct patch_entry few[PATCH_INDEX_FEW];
    struct patch_entry *entries; /* few, or malloc'd */
    uint32_t count;
    bool sorted;
};

/* Of an object: the members whose key begins with `by`, under what follows; NULL for all. Of an array: the
 * items that have a label, by the field `by` or (NULL) by themselves. For `lookups` lookups, which decides
 * whether to sort. */
int patch_index_init(struct patch_run *r, struct patch_index *index, json_ref container, const char *by,
                     uint32_t lookups);
void patch_index_done_p(struct patch_index *index);
/* The first child with that label, or NULL. */
const struct patch_entry *patch_index_find(const struct patch_index *index, struct patch_label label);

/* --- Strategic merge: patch_strategic.c does the maps, patch_list.c the lists --- */

enum patch_directive { PATCH_NONE, PATCH_DO_MERGE, PATCH_DO_REPLACE, PATCH_DO_DELETE };

/* What v's "$patch" says. */
int patch_directive(struct patch_run *r, json_ref v, enum patch_directive *ret);

/* Merges the array `patch` into the array `target`, the value of field f (NULL: not known), and puts the
 * result into `order` (0: none). */
int patch_list(struct patch_run *r, const struct field *f, json_ref target, json_ref patch, json_ref order);
/* Reorders a list whose first `old` items are the target's: what `order` lists comes in that order, what it
 * does not list stays in front of the old items that it stood in front of. */
int patch_list_order(struct patch_run *r, const struct field *f, json_ref list, uint32_t old, json_ref order);
/* Takes the scalars in `values` out of the list. */
int patch_list_delete(struct patch_run *r, json_ref list, json_ref values);

#endif
