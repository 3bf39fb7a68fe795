/* Verifies the invariants of omap_int.h in one walk over the tree: for tests. O(n). */
#include "base/omap_int.h"

#include <stdbool.h>

struct omap_walk {
    const struct omap *map;
    const struct omap_leaf *leaf; /* the last one visited */
    uint64_t rank;                /* the last entry seen */
    const void *item;
    size_t count;
};

static bool omap_is_before(const struct omap *m, uint64_t rank_a, const void *a, uint64_t rank_b,
                           const void *b)
{
    return rank_a < rank_b || (rank_a == rank_b && m->order.cmp(m->order.ctx, a, b) < 0);
}

static const char *omap_check_leaf(struct omap_walk *w, const struct omap_leaf *leaf)
{
    const struct omap_node *n = &leaf->node;

    if (leaf->prev != w->leaf)
        return "a leaf does not point back at the previous leaf";
    if (w->leaf && w->leaf->next != leaf)
        return "a leaf does not point at the next leaf";
    for (unsigned i = 0; i < n->count; i++) {
        if (!n->items[i])
            return "a leaf holds an entry without item";
        if (w->item && !omap_is_before(w->map, w->rank, w->item, n->ranks[i], n->items[i]))
            return "entries are out of order";
        w->rank = n->ranks[i];
        w->item = n->items[i];
    }
    w->count += n->count;
    w->leaf = leaf;
    return NULL;
}

static const char *omap_check_below(struct omap_walk *w, struct omap_node *n, unsigned height)
{
    const struct omap_inner *in = omap_inner(n);
    const char *broken = NULL;

    if (n->count > OMAP_ENTRIES_MAX)
        return "a node is overfull";
    if (n == w->map->root ? n->count == 0 : n->count < OMAP_ENTRIES_MIN)
        return "a node has too few entries";
    if (height == 0)
        return omap_check_leaf(w, omap_leaf(n));
    for (unsigned i = 0; i <= n->count && !broken; i++) {
        broken = omap_check_below(w, in->children[i], height - 1);
        /* The same item, not only an equal one: the copy must not outlive the entry. */
        if (!broken && i < n->count && (n->items[i] != w->item || n->ranks[i] != w->rank))
            return "an inner entry is not the greatest below its child";
    }
    return broken;
}

const char *omap_check(const struct omap *m)
{
    struct omap_walk walk = { .map = m };
    const char *broken;

    if (!m->root)
        return m->count || m->height ? "an empty map counts entries" : NULL;
    if (m->height > OMAP_HEIGHT_MAX)
        return "the tree is too high";
    broken = omap_check_below(&walk, m->root, m->height);
    if (broken)
        return broken;
    if (walk.leaf->next)
        return "the last leaf points further";
    if (walk.count != m->count)
        return "the count is wrong";
    return NULL;
}
