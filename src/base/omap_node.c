/* Moves entries within a node of the ordered map and between neighbours. Nothing here allocates or fails.
 * Each function is O(entries of a node). */
#include "base/omap_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void omap_node_insert(struct omap_node *n, unsigned at, uint64_t rank, void *item)
{
    size_t behind = n->count - at;

    assert(n->count < OMAP_ENTRIES_MAX);
    memmove(&n->ranks[at + 1], &n->ranks[at], behind * sizeof *n->ranks);
    memmove(&n->items[at + 1], &n->items[at], behind * sizeof *n->items);
    n->ranks[at] = rank;
    n->items[at] = item;
    n->count++;
}

void omap_node_remove(struct omap_node *n, unsigned at)
{
    assert(at < n->count);
    size_t behind = n->count - at - 1;
    memmove(&n->ranks[at], &n->ranks[at + 1], behind * sizeof *n->ranks);
    memmove(&n->items[at], &n->items[at + 1], behind * sizeof *n->items);
    n->count--;
}

/* Copies `many` entries of `from`, starting at `at`, to the end of `to`. */
static void omap_node_append(struct omap_node *to, const struct omap_node *from, unsigned at, unsigned many)
{
    assert(to->count + many <= OMAP_ENTRIES_MAX);
    memcpy(&to->ranks[to->count], &from->ranks[at], many * sizeof *to->ranks);
    memcpy(&to->items[to->count], &from->items[at], many * sizeof *to->items);
    to->count += many;
}

static void omap_move_children(struct omap_node **to, struct omap_node **from, size_t many)
{
    memmove(to, from, many * sizeof(struct omap_node *));
}

void omap_inner_insert(struct omap_inner *in, unsigned at, const struct omap_rise *rise)
{
    size_t behind = in->node.count - at;

    omap_node_insert(&in->node, at, rise->rank, rise->item);
    omap_move_children(&in->children[at + 2], &in->children[at + 1], behind);
    in->children[at + 1] = rise->right;
}

/* Removes entry `at` and the child on its right. */
static void omap_inner_remove(struct omap_inner *in, unsigned at)
{
    size_t behind = in->node.count - at - 1;

    omap_move_children(&in->children[at + 1], &in->children[at + 2], behind);
    omap_node_remove(&in->node, at);
}

void omap_inner_set(struct omap_inner *in, unsigned at, const struct omap_node *from, unsigned from_at)
{
    in->node.ranks[at] = from->ranks[from_at];
    in->node.items[at] = from->items[from_at];
}

struct omap_rise omap_split_leaf(struct omap_leaf *left, struct omap_leaf *right, unsigned at, uint64_t rank,
                                 void *item)
{
    unsigned half = OMAP_ENTRIES_MAX / 2;

    right->node.count = 0;
    omap_node_append(&right->node, &left->node, half, OMAP_ENTRIES_MAX - half);
    left->node.count = half;
    if (at <= half)
        omap_node_insert(&left->node, at, rank, item);
    else
        omap_node_insert(&right->node, at - half, rank, item);
    right->prev = left;
    right->next = left->next;
    if (left->next)
        left->next->prev = right;
    left->next = right;
    unsigned last = left->node.count - 1;
    return (struct omap_rise){ left->node.ranks[last], left->node.items[last], &right->node };
}

struct omap_rise omap_split_inner(struct omap_inner *left, struct omap_inner *right, unsigned at,
                                  const struct omap_rise *rise)
{
    unsigned half = OMAP_ENTRIES_MAX / 2;
    unsigned moved = OMAP_ENTRIES_MAX - half - 1;
    struct omap_rise up = { left->node.ranks[half], left->node.items[half], &right->node };

    right->node.count = 0;
    omap_node_append(&right->node, &left->node, half + 1, moved);
    omap_move_children(right->children, &left->children[half + 1], moved + 1);
    left->node.count = half;
    if (at <= half)
        omap_inner_insert(left, at, rise);
    else
        omap_inner_insert(right, at - half - 1, rise);
    return up;
}

void omap_level_leaves(struct omap_inner *parent, unsigned at)
{
    struct omap_leaf *left = omap_leaf(parent->children[at]);
    struct omap_leaf *right = omap_leaf(parent->children[at + 1]);

    if (left->node.count + right->node.count <= OMAP_ENTRIES_MAX) {
        omap_node_append(&left->node, &right->node, 0, right->node.count);
        left->next = right->next;
        if (right->next)
            right->next->prev = left;
        omap_inner_remove(parent, at);
        free(right);
        return;
    }
    while (left->node.count + 1 < right->node.count) {
        omap_node_append(&left->node, &right->node, 0, 1);
        omap_node_remove(&right->node, 0);
    }
    while (right->node.count + 1 < left->node.count) {
        unsigned last = --left->node.count;
        omap_node_insert(&right->node, 0, left->node.ranks[last], left->node.items[last]);
    }
    omap_inner_set(parent, at, &left->node, left->node.count - 1);
}

/* Moves one child from the right node to the left: the parent's entry moves down, the right node's first
 * moves up. */
static void omap_rotate_left(struct omap_inner *parent, unsigned at, struct omap_inner *left,
                             struct omap_inner *right)
{
    size_t behind = right->node.count;

    left->children[left->node.count + 1] = right->children[0];
    omap_node_append(&left->node, &parent->node, at, 1);
    omap_inner_set(parent, at, &right->node, 0);
    omap_move_children(&right->children[0], &right->children[1], behind);
    omap_node_remove(&right->node, 0);
}

static void omap_rotate_right(struct omap_inner *parent, unsigned at, struct omap_inner *left,
                              struct omap_inner *right)
{
    size_t behind = right->node.count + 1;

    omap_node_insert(&right->node, 0, parent->node.ranks[at], parent->node.items[at]);
    omap_move_children(&right->children[1], &right->children[0], behind);
    right->children[0] = left->children[left->node.count];
    omap_inner_set(parent, at, &left->node, left->node.count - 1);
    left->node.count--;
}

/* omap_level_leaves() for inner nodes. A merge moves the parent's entry down between the two. */
void omap_level_inners(struct omap_inner *parent, unsigned at)
{
    struct omap_inner *left = omap_inner(parent->children[at]);
    struct omap_inner *right = omap_inner(parent->children[at + 1]);

    if (left->node.count + right->node.count < OMAP_ENTRIES_MAX) {
        omap_node_append(&left->node, &parent->node, at, 1);
        omap_move_children(&left->children[left->node.count], right->children, right->node.count + 1);
        omap_node_append(&left->node, &right->node, 0, right->node.count);
        omap_inner_remove(parent, at);
        free(right);
        return;
    }
    while (left->node.count + 1 < right->node.count)
        omap_rotate_left(parent, at, left, right);
    while (right->node.count + 1 < left->node.count)
        omap_rotate_right(parent, at, left, right);
}
