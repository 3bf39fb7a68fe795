/* Internals of patches: a work list, a budget, and an index of members and items. */
#ifndef BERTH_API_PATCH_INT_H
#define BERTH_API_PATCH_INT_H

#include <stdlib.h>

#include "api/patch.h"

/* Merge patch into target. patch 0: the target came from the patch and must be cleaned of nulls (and
 * directives). */
struct patch_work {
    json_ref target;
    json_ref patch;
    const struct schema *schema; /* of the target, or of its items if it is a list; NULL: unknown */
};

/* One application of a patch. Merging a map pushes the maps below it on the stack, so that there is no
 * recursion. The last work is done first. */
struct patch_run {
    struct json *d;
    struct error *err;
    struct patch_work *stack;
    uint32_t count;
    uint32_t cap;
    uint64_t steps;
    size_t copied; /* bytes copied by all copy operations of a JSON patch */
};

static inline void patch_run_done_p(struct patch_run *r)
{
    free(r->stack);
}

/* The cost of sorting one item in steps: the number of comparisons for lists of relevant size. */
#define PATCH_SORT_STEPS 16

/* Charges steps to the budget; fails if it is exhausted. */
int patch_charge(struct patch_run *r, uint64_t steps);
int patch_push(struct patch_run *r, json_ref target, json_ref patch, const struct schema *s);
/* The work added since `mark` (an earlier r->count) is done in the order it was added. */
void patch_keep_order(struct patch_run *r, uint32_t mark);

/* The name by which a child is found: a member's key, an item's scalar, or the scalar of its merge key. */
struct patch_label {
    struct str text;
    enum json_type type;
};

static inline struct patch_label patch_label_name(struct str name)
{
    return (struct patch_label){ name, JSON_STRING };
}

/* The label of an item: the value of its member `field`, or the item itself if field is NULL. False if that
 * is absent, null, a list or a map. */
bool patch_label_item(const struct json *d, json_ref item, const char *field, struct patch_label *ret);

struct patch_entry {
    struct patch_label label;
    json_ref node;
    uint32_t position; /* among the container's children */
};

#define PATCH_INDEX_FEW 16

/* The children of a container by label, at the time of creation; children may move afterwards. */
struct patch_index {
    struct patch_entry few[PATCH_INDEX_FEW];
    struct patch_entry *entries; /* inline if few, else allocated */
    uint32_t count;
    bool sorted;
};

/* For an object: the members whose key starts with `by`, labelled with the rest; NULL for all. For an array:
 * the items with a label, by the field `by` or (NULL) by themselves. The number of `lookups` decides whether
 * to sort. */
int patch_index_init(struct patch_run *r, struct patch_index *index, json_ref container, const char *by,
                     uint32_t lookups);
void patch_index_done_p(struct patch_index *index);
/* The first child with that label, or NULL. */
const struct patch_entry *patch_index_find(const struct patch_index *index, struct patch_label label);

/* --- Strategic merge: patch_strategic.c does the maps, patch_list.c the lists --- */

enum patch_directive { PATCH_NONE, PATCH_DO_MERGE, PATCH_DO_REPLACE, PATCH_DO_DELETE };

/* The value of v's "$patch". */
int patch_directive(struct patch_run *r, json_ref v, enum patch_directive *ret);

/* Merges the array `patch` into the array `target`, the value of field f (NULL: unknown), and sorts the
 * result according to `order` (0: none). */
int patch_list(struct patch_run *r, const struct field *f, json_ref target, json_ref patch, json_ref order);
/* Reorders a list whose first `old` items are those of the target: the items in `order` come in that order,
 * others stay before the old items that they preceded. */
int patch_list_order(struct patch_run *r, const struct field *f, json_ref list, uint32_t old, json_ref order);
/* Removes the scalars in `values` from the list. */
int patch_list_delete(struct patch_run *r, json_ref list, json_ref values);

#endif
