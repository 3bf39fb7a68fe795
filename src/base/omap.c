/* The ordered map: search, cursors, insertion and removal on a B+tree. The structure and its invariants are
 * in omap_int.h. An insertion allocates all nodes that it may need before it changes anything, so that it
 * succeeds or leaves the map as it was. Costs are in omap.h. */
#include "base/omap.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/omap_int.h"

static_assert(sizeof(struct omap_leaf) <= 1016, "a leaf fits 1 KiB");

/* A search target: an item or a key, and the function that compares it with items. */
struct omap_probe {
    uint64_t rank;
    const void *key; /* NULL: before all of its rank */
    omap_cmp_fn *cmp;
    void *ctx;
};

/* The path from the root to a leaf: the inner nodes, and which child of each. */
struct omap_path {
    struct omap_inner *nodes[OMAP_HEIGHT_MAX];
    unsigned at[OMAP_HEIGHT_MAX];
};

/* Nodes allocated before the first change, so that a split cannot fail half way. */
struct omap_spares {
    struct omap_leaf *leaf;
    struct omap_inner *inner[OMAP_HEIGHT_MAX];
    unsigned inner_count;
};

void omap_init(struct omap *m, struct omap_order order)
{
    assert(order.cmp);
    assert(order.cmp_key);
    *m = (struct omap){ .order = order, .alloc = malloc };
}

/* Recursion goes as deep as the tree is high: OMAP_HEIGHT_MAX at most. */
static void omap_free_below(struct omap_node *n, unsigned height)
{
    if (height > 0)
        for (unsigned i = 0; i <= n->count; i++)
            omap_free_below(omap_inner(n)->children[i], height - 1);
    free(n);
}

void omap_clear(struct omap *m)
{
    if (m->root)
        omap_free_below(m->root, m->height);
    m->root = NULL;
    m->height = 0;
    m->count = 0;
    m->version++;
}

/* --- Searching --- */

/* The number of ascending ranks below `rank`. Halves without a branch on the data: the outcome is random, so
 * a branch predictor would be wrong every other time (57 ns instead of 38 for a search among 1,000). */
static unsigned omap_ranks_below(const uint64_t *ranks, unsigned count, uint64_t rank)
{
    const uint64_t *base = ranks;

    if (count == 0)
        return 0;
    while (count > 1) {
        unsigned half = count / 2;
        base += (size_t)(base[half - 1] < rank) * half;
        count -= half;
    }
    return (unsigned)(base - ranks) + (*base < rank);
}

/* The first entry that is not below the probe; *ret_found is whether it matches the probe. */
static unsigned omap_node_seek(const struct omap_node *n, const struct omap_probe *p, bool *ret_found)
{
    unsigned at = omap_ranks_below(n->ranks, n->count, p->rank);
    unsigned end = at;

    *ret_found = false;
    if (!p->key)
        return at;
    while (end < n->count && n->ranks[end] == p->rank)
        end++;
    while (at < end) {
        unsigned mid = at + (end - at) / 2;
        int r = p->cmp(p->ctx, p->key, n->items[mid]);
        if (r == 0) {
            *ret_found = true;
            return mid;
        }
        if (r > 0)
            at = mid + 1;
        else
            end = mid;
    }
    return at;
}

/* Prefetches all ranks of a node. Halving would wait for one cache line after another: at 1,000,000 entries a
 * search takes 290 ns instead of 430. */
static inline void omap_prefetch(const struct omap_node *n)
{
    for (unsigned i = 7; i < OMAP_ENTRIES_MAX; i += 8)
        __builtin_prefetch(&n->ranks[i]);
}

/* The leaf where the probe belongs, and the path to it. The map is not empty. */
static struct omap_leaf *omap_descend(const struct omap *m, const struct omap_probe *p, struct omap_path *ret)
{
    struct omap_node *n = m->root;
    bool found;

    for (unsigned level = 0; level < m->height; level++) {
        ret->nodes[level] = omap_inner(n);
        ret->at[level] = omap_node_seek(n, p, &found);
        n = omap_inner(n)->children[ret->at[level]];
        omap_prefetch(n);
    }
    return omap_leaf(n);
}

void *omap_find(const struct omap *m, uint64_t rank, const void *key)
{
    struct omap_probe probe = { rank, key, m->order.cmp_key, m->order.ctx };
    const struct omap_leaf *leaf;
    struct omap_path path;
    bool found;
    unsigned at;

    assert(key);
    if (!m->root)
        return NULL;
    leaf = omap_descend(m, &probe, &path);
    at = omap_node_seek(&leaf->node, &probe, &found);
    return found ? leaf->node.items[at] : NULL;
}

/* --- Cursors --- */

static void *omap_cursor_set(struct omap_cursor *c, const struct omap *m, const struct omap_leaf *leaf,
                             unsigned at)
{
    *c = (struct omap_cursor){ m, leaf, at, m->version };
    return leaf ? leaf->node.items[at] : NULL;
}

void *omap_lower_bound(const struct omap *m, uint64_t rank, const void *key, struct omap_cursor *ret)
{
    struct omap_probe probe = { rank, key, m->order.cmp_key, m->order.ctx };
    const struct omap_leaf *leaf;
    struct omap_path path;
    bool found;
    unsigned at;

    if (!m->root)
        return omap_cursor_set(ret, m, NULL, 0);
    leaf = omap_descend(m, &probe, &path);
    at = omap_node_seek(&leaf->node, &probe, &found);
    /* The position after the entries of a leaf is greater than every entry: the leaf is the last one. */
    return omap_cursor_set(ret, m, at < leaf->node.count ? leaf : NULL, at);
}

void *omap_first(const struct omap *m, struct omap_cursor *ret)
{
    struct omap_node *n = m->root;

    for (unsigned level = 0; level < m->height; level++)
        n = omap_inner(n)->children[0];
    return omap_cursor_set(ret, m, omap_leaf(n), 0);
}

void *omap_last(const struct omap *m, struct omap_cursor *ret)
{
    struct omap_node *n = m->root;

    for (unsigned level = 0; level < m->height; level++)
        n = omap_inner(n)->children[n->count];
    return omap_cursor_set(ret, m, omap_leaf(n), n ? n->count - 1 : 0);
}

void *omap_next(struct omap_cursor *c)
{
    assert(c->version == c->map->version);
    if (!c->leaf)
        return omap_first(c->map, c);
    if (c->at + 1 < c->leaf->node.count)
        return omap_cursor_set(c, c->map, c->leaf, c->at + 1);
    return omap_cursor_set(c, c->map, c->leaf->next, 0);
}

void *omap_prev(struct omap_cursor *c)
{
    const struct omap_leaf *prev;

    assert(c->version == c->map->version);
    if (!c->leaf)
        return omap_last(c->map, c);
    if (c->at > 0)
        return omap_cursor_set(c, c->map, c->leaf, c->at - 1);
    prev = c->leaf->prev;
    return omap_cursor_set(c, c->map, prev, prev ? prev->node.count - 1 : 0);
}

/* --- Inserting --- */

static void omap_spares_done(struct omap_spares *spares)
{
    while (spares->inner_count > 0)
        free(spares->inner[--spares->inner_count]);
    free(spares->leaf);
}

/* Allocates what splitting a full leaf needs: a leaf, an inner node for each full one above it, and a new
 * root. */
static int omap_spares_init(struct omap_spares *spares, const struct omap *m, const struct omap_path *path)
{
    unsigned level = m->height;
    unsigned want;

    while (level > 0 && path->nodes[level - 1]->node.count == OMAP_ENTRIES_MAX)
        level--;
    want = m->height - level + (level == 0);
    assert(m->height + (level == 0) <= OMAP_HEIGHT_MAX);
    *spares = (struct omap_spares){ .leaf = m->alloc(sizeof *spares->leaf) };
    if (!spares->leaf)
        return -ERR_NO_MEMORY;
    while (spares->inner_count < want) {
        struct omap_inner *in = m->alloc(sizeof *in);
        if (!in) {
            omap_spares_done(spares);
            return -ERR_NO_MEMORY;
        }
        spares->inner[spares->inner_count++] = in;
    }
    return 0;
}

static struct omap_inner *omap_spares_take(struct omap_spares *spares)
{
    assert(spares->inner_count > 0);
    return spares->inner[--spares->inner_count];
}

/* Adds the separator of a split child to the nodes above it, from the lowest up, splitting full ones. */
static void omap_rise_up(struct omap *m, const struct omap_path *path, struct omap_rise rise,
                         struct omap_spares *spares)
{
    struct omap_inner *root;

    for (unsigned level = m->height; level > 0; level--) {
        struct omap_inner *in = path->nodes[level - 1];
        unsigned at = path->at[level - 1];
        if (in->node.count < OMAP_ENTRIES_MAX) {
            omap_inner_insert(in, at, &rise);
            return;
        }
        rise = omap_split_inner(in, omap_spares_take(spares), at, &rise);
    }
    root = omap_spares_take(spares);
    root->node.count = 0;
    root->children[0] = m->root;
    omap_inner_insert(root, 0, &rise);
    m->root = &root->node;
    m->height++;
}

/* The first leaf of an empty map, itself empty. */
static int omap_plant(struct omap *m)
{
    struct omap_leaf *leaf = m->alloc(sizeof *leaf);

    if (!leaf)
        return -ERR_NO_MEMORY;
    leaf->node.count = 0;
    leaf->prev = leaf->next = NULL;
    m->root = &leaf->node;
    return 0;
}

int omap_insert(struct omap *m, uint64_t rank, void *item)
{
    struct omap_probe probe = { rank, item, m->order.cmp, m->order.ctx };
    struct omap_spares spares;
    struct omap_leaf *leaf;
    struct omap_path path;
    bool found;
    unsigned at;
    int r;

    assert(item);
    if (!m->root) {
        r = omap_plant(m);
        if (r < 0)
            return r;
    }
    leaf = omap_descend(m, &probe, &path);
    at = omap_node_seek(&leaf->node, &probe, &found);
    if (found)
        return -ERR_EXISTS;
    if (leaf->node.count < OMAP_ENTRIES_MAX) {
        omap_node_insert(&leaf->node, at, rank, item);
    } else {
        r = omap_spares_init(&spares, m, &path);
        if (r < 0)
            return r;
        omap_rise_up(m, &path, omap_split_leaf(leaf, spares.leaf, at, rank, item), &spares);
        assert(spares.inner_count == 0);
    }
    m->count++;
    m->version++;
    return 0;
}

/* --- Removing --- */

/* The greatest entry of the leaf was removed. Its copy is in the lowest node above that has a child further
 * right; it must not outlive the item. */
static void omap_replace_separator(const struct omap *m, const struct omap_path *path,
                                   const struct omap_leaf *leaf)
{
    for (unsigned level = m->height; level > 0; level--) {
        struct omap_inner *in = path->nodes[level - 1];
        if (path->at[level - 1] < in->node.count) {
            omap_inner_set(in, path->at[level - 1], &leaf->node, leaf->node.count - 1);
            return;
        }
    }
}

/* Refills or merges the nodes of the path that have too few entries, from the leaf up, and removes a root
 * with one child. */
static void omap_rebalance(struct omap *m, const struct omap_path *path, const struct omap_node *n)
{
    for (unsigned level = m->height; level > 0 && n->count < OMAP_ENTRIES_MIN; level--) {
        struct omap_inner *parent = path->nodes[level - 1];
        unsigned at = path->at[level - 1];
        if (at == parent->node.count)
            at--; /* the last child has a neighbour on its left only */
        if (level == m->height)
            omap_level_leaves(parent, at);
        else
            omap_level_inners(parent, at);
        n = &parent->node;
    }
    if (m->height > 0 && m->root->count == 0) {
        struct omap_node *only = omap_inner(m->root)->children[0];
        free(m->root);
        m->root = only;
        m->height--;
    }
}

void *omap_remove(struct omap *m, uint64_t rank, const void *item)
{
    struct omap_probe probe = { rank, item, m->order.cmp, m->order.ctx };
    struct omap_leaf *leaf;
    struct omap_path path;
    void *removed;
    bool found;
    unsigned at;

    assert(item);
    if (!m->root)
        return NULL;
    leaf = omap_descend(m, &probe, &path);
    at = omap_node_seek(&leaf->node, &probe, &found);
    if (!found)
        return NULL;
    removed = leaf->node.items[at];
    omap_node_remove(&leaf->node, at);
    if (--m->count == 0) {
        omap_clear(m);
        return removed;
    }
    if (at == leaf->node.count)
        omap_replace_separator(m, &path, leaf);
    omap_rebalance(m, &path, &leaf->node);
    m->version++;
    return removed;
}
