/* The ordered map's nodes: omap_node.c moves entries between them, omap.c searches and balances the tree,
 * omap_check.c verifies it for tests.
 *
 * Leaves hold the entries and are linked in order. An inner node with n entries has n + 1 children; entry i
 * is a copy of the greatest entry below child i, and all entries below child i + 1 are greater. So the first
 * entry that is not below a key leads straight to the leaf where the key belongs, with no test for equality
 * on the way down. */
#ifndef BERTH_BASE_OMAP_INT_H
#define BERTH_BASE_OMAP_INT_H

#include "base/omap.h"

/* 62 makes a leaf 1016 bytes: with malloc's own word, 1 KiB. */
#define OMAP_ENTRIES_MAX 62
/* A node with fewer entries than a third is refilled from its neighbour or merged with it. A split leaves two
 * halves, so insertions and removals at the limit do not split and merge each time. Only the root may have
 * fewer. */
#define OMAP_ENTRIES_MIN (OMAP_ENTRIES_MAX / 3)
/* 21 children to the 14th are more entries than memory can hold. */
#define OMAP_HEIGHT_MAX 14

/* What leaf and inner node begin with. Ranks are stored apart from the items, because a search reads only
 * ranks. */
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

/* The result of a split for the level above: the separating entry, and the new right half. */
struct omap_rise {
    uint64_t rank;
    void *item;
    struct omap_node *right;
};

/* Insert an entry before the one at `at`, where there is room; remove one; copy entry `from_at` over entry
 * `at`. */
void omap_node_insert(struct omap_node *n, unsigned at, uint64_t rank, void *item);
void omap_node_remove(struct omap_node *n, unsigned at);
void omap_inner_set(struct omap_inner *in, unsigned at, const struct omap_node *from, unsigned from_at);

/* Inserts the new right half of child `at`. */
void omap_inner_insert(struct omap_inner *in, unsigned at, const struct omap_rise *rise);

/* Moves the upper half of a full leaf into `right`, a fresh node, and adds the new entry on its side. */
struct omap_rise omap_split_leaf(struct omap_leaf *left, struct omap_leaf *right, unsigned at, uint64_t rank,
                                 void *item);
/* The same for a full inner node whose child `at` was split into itself and rise->right. Its middle entry
 * moves up. */
struct omap_rise omap_split_inner(struct omap_inner *left, struct omap_inner *right, unsigned at,
                                  const struct omap_rise *rise);

/* Merge the children on both sides of entry `at` when they fit in one node (the right one is freed), else
 * distribute their entries evenly. */
void omap_level_leaves(struct omap_inner *parent, unsigned at);
void omap_level_inners(struct omap_inner *parent, unsigned at);

/* NULL when every invariant above holds, else a description of the first violation. Visits every node; for
 * tests. */
const char *omap_check(const struct omap *m);

#endif
