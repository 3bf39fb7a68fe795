/* An ordered map: pointers to the user's items, kept in the order of the keys that the items carry.
 *
 * Beside each pointer stands a rank: a 64-bit digest of the key that never orders two keys the wrong way
 * round (a capacity, saturated; the first eight bytes of a name). Ranks decide most comparisons inside the
 * map's own memory; only items of equal rank are compared by the user's function. An item's key and rank must
 * not change while it is in. The items are borrowed: the map never frees one, and one must be taken out
 * before it is freed.
 *
 * A B+tree with up to 62 entries a node: search, insert and remove take O(log n), a step of a cursor O(1). At
 * random an entry costs some 25 bytes, at worst 55; the smallest map that holds anything costs 1 KiB, an
 * empty one nothing. */
#ifndef BERTH_BASE_OMAP_H
#define BERTH_BASE_OMAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Negative, zero or positive as a comes before, with or after b. Called only when the ranks are equal. */
typedef int omap_cmp_fn(void *ctx, const void *a, const void *b);

struct omap_order {
    omap_cmp_fn *cmp;     /* item with item; zero for the same key */
    omap_cmp_fn *cmp_key; /* a, the key asked for, with b, an item; may be cmp, when keys are items too */
    void *ctx;
};

struct omap_node;
struct omap_leaf;

struct omap {
    struct omap_node *root; /* NULL when empty */
    unsigned height;        /* levels above the leaves */
    size_t count;
    uint64_t version; /* counts the changes, to catch stale cursors */
    struct omap_order order;
    void *(*alloc)(size_t bytes); /* malloc; tests make it fail */
};

/* A place in the map: on an entry, or off the end. Any change to the map makes it stale, and using it then is
 * a programmer's error that is asserted. */
struct omap_cursor {
    const struct omap *map;
    const struct omap_leaf *leaf; /* NULL: off the end */
    unsigned at;
    uint64_t version;
};

void omap_init(struct omap *m, struct omap_order order);
/* Forgets every item and releases the nodes. The map may be used again. */
void omap_clear(struct omap *m);
static inline void omap_done(struct omap *m)
{
    omap_clear(m);
}

/* Fails with -ERR_EXISTS when an item of that key is there and -ERR_NO_MEMORY, and changes nothing. */
int omap_insert(struct omap *m, uint64_t rank, void *item);

/* Takes out the item with the same key as `item`. Returns it, NULL when there is none. */
void *omap_remove(struct omap *m, uint64_t rank, const void *item);

/* The item with this key, NULL when there is none. */
void *omap_find(const struct omap *m, uint64_t rank, const void *key);

/* These put the cursor on an entry and return its item, or off the end and return NULL.
 *
 *     for (v = omap_lower_bound(&m, bytes, NULL, &c); v; v = omap_next(&c)) */

/* The first entry that does not come before the key; key == NULL stands before all items of its rank. */
void *omap_lower_bound(const struct omap *m, uint64_t rank, const void *key, struct omap_cursor *ret);
void *omap_first(const struct omap *m, struct omap_cursor *ret);
void *omap_last(const struct omap *m, struct omap_cursor *ret);

/* The neighbour. From off the end, next goes to the first entry and prev to the last. */
void *omap_next(struct omap_cursor *c);
void *omap_prev(struct omap_cursor *c);

#endif
