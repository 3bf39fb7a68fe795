/* The ordered map's nodes: omap_node.c moves entries among them, omap.c finds its way and keeps the tree in
 * shape, omap_check.c proves it to the tests.
 *
 * Leaves hold the entries and are chained in order. An inner node with n entries has n + 1 children; entry i
 * is a copy of the greatest entry below child i, and what lies below child i + 1 is greater. So the first
 * entry that is not below a key leads straight to the leaf where the key belongs, with no test for equality
 * on the way down. */
#ifndef BERTH_BASE_OMAP_INT_H
#define BERTH_BASE_OMAP_INT_H

#include "base/omap.h"

/* 62 makes a leaf 1016 bytes: with malloc's own word, 1 KiB. */
#define OMAP_ENTRIES_MAX 62
/* Below a third a node is topped up from its neighbour or merged with it. A split leaves a half, so that
 * entries that come and go at the edge do not split and merge at each turn. The root alone may have fewer. */
#define OMAP_ENTRIES_MIN (OMAP_ENTRIES_MAX / 3)
/* 21 children to the 14th are more entries than memory can hold. */
#define OMAP_HEIGHT_MAX 14

/* What leaf and inner node begin with. Ranks stand together, apart from the items: a search reads ranks
 * alone. */
struct omap_node {
    unsigned count;
    uint64_t ranks[OMAP_ENTRIES_MAX];
    void *items[OMAP_ENTRIES_MAX];
};

struct omap_leaf {
    struct omap_node node;
    struct omap_leaf *prev;
    struct omap_leaf *next;
};

struct omap_inner {
    struct omap_node node;
    struct omap_node *children[OMAP_ENTRIES_MAX + 1];
};

static inline struct omap_leaf *omap_leaf(struct omap_node *n)
{
    return (struct omap_leaf *)(void *)n;
}

static inline struct omap_inner *omap_inner(struct omap_node *n)
{
    return (struct omap_inner *)(void *)n;
}

/* What a split hands to the level above: the entry that separates the halves, and the new right half. */
struct omap_rise {
    uint64_t rank;
    void *item;
    struct omap_node *right;
};

/* Put an entry before the one at `at`, where there is room; take one out; copy entry `from_at` over entry
 * `at`. */
void omap_node_insert(struct omap_node *n, unsigned at, uint64_t rank, void *item);
void omap_node_remove(struct omap_node *n, unsigned at);
void omap_inner_set(struct omap_inner *in, unsigned at, const struct omap_node *from, unsigned from_at);

/* Puts the new half of child `at` beside it. */
void omap_inner_insert(struct omap_inner *in, unsigned at, const struct omap_rise *rise);

/* Moves the upper half of a full leaf into `right`, a fresh node, and adds the new entry on its side. */
struct omap_rise omap_split_leaf(struct omap_leaf *left, struct omap_leaf *right, unsigned at, uint64_t rank,
                                 void *item);
/* The same for a full inner node whose child `at` was split into itself and rise->right. Its middle entry
 * goes up. */
struct omap_rise omap_split_inner(struct omap_inner *left, struct omap_inner *right, unsigned at,
                                  const struct omap_rise *rise);

/* Merge the children on both sides of entry `at` when they fit in one node (the right one is freed), else
 * share their entries out evenly. */
void omap_level_leaves(struct omap_inner *parent, unsigned at);
void omap_level_inners(struct omap_inner *parent, unsigned at);

/* NULL when every promise above holds, else the first that is broken. Visits everything; for tests. */
const char *omap_check(const struct omap *m);

#endif
