/* An ordered map: pointers to the user's items, sorted by the keys in the items.
 *
 * Each pointer is stored with a rank: a 64-bit digest of the key that preserves the order of keys (a
 * saturated capacity; the first eight bytes of a name). Ranks decide most comparisons inside the map's own
 * memory; only items of equal rank are compared by the user's function. An item's key and rank must not
 * change while it is in the map. The items are borrowed: the map never frees one, and an item must be removed
 * before it is freed.
 *
 * A B+tree with up to 62 entries per node: search, insert and remove take O(log n), a cursor step O(1). An
 * entry costs about 25 bytes with keys in random order, and at most 55; the smallest map that is not empty
 * costs 1 KiB, an empty one nothing. */
#ifndef BERTH_BASE_OMAP_H
#define BERTH_BASE_OMAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Negative, zero or positive as a comes before, with or after b. Called only when the ranks are equal. */
typedef int omap_cmp_fn(void *ctx, const void *a, const void *b);

struct omap_order {
    omap_cmp_fn *cmp; /* item with item; zero for the same key */
    omap_cmp_fn
        *cmp_key; /* compares a, the searched key, with b, an item; may be cmp when keys are items too */
    void *ctx;
};

struct omap_node;
struct omap_leaf;

struct omap {
    struct omap_node *root; /* NULL when empty */
    unsigned height;        /* levels above the leaves */
    size_t count;
    uint64_t version; /* counts changes, to detect stale cursors */
    struct omap_order order;
    void *(*alloc)(size_t bytes); /* malloc; tests make it fail */
};

/* A position in the map: at an entry, or past the end. Any change to the map makes it stale; using a stale
 * cursor fails an assertion. */
struct omap_cursor {
    const struct omap *map;
    const struct omap_leaf *leaf; /* NULL: past the end */
    unsigned at;
    uint64_t version;
};

void omap_init(struct omap *m, struct omap_order order);
/* Removes every item and releases the nodes. The map may be used again. */
void omap_clear(struct omap *m);
static inline void omap_done(struct omap *m)
{
    omap_clear(m);
}

/* Fails with -ERR_EXISTS when the map has an item with that key, or with -ERR_NO_MEMORY; then the map is
 * unchanged. */
int omap_insert(struct omap *m, uint64_t rank, void *item);

/* Removes the item with the same key as `item`. Returns it; NULL if there is none. */
void *omap_remove(struct omap *m, uint64_t rank, const void *item);

/* The item with this key, NULL when there is none. */
void *omap_find(const struct omap *m, uint64_t rank, const void *key);

/* These set the cursor to an entry and return its item, or to the end and return NULL.
 *
 *     for (v = omap_lower_bound(&m, bytes, NULL, &c); v; v = omap_next(&c)) */

/* The first entry that does not come before the key; key == NULL comes before all items of its rank. */
void *omap_lower_bound(const struct omap *m, uint64_t rank, const void *key, struct omap_cursor *ret);
void *omap_first(const struct omap *m, struct omap_cursor *ret);
void *omap_last(const struct omap *m, struct omap_cursor *ret);

/* The neighbouring entry. From the end, next moves to the first entry and prev to the last. */
void *omap_next(struct omap_cursor *c);
void *omap_prev(struct omap_cursor *c);

#endif
