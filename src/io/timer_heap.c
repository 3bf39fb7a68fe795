/* A leftist heap: adding and removing merge two heaps along their right-hand links. Nothing here allocates or
 * fails. */
#include "io/timer_heap.h"

#include <assert.h>
#include <stddef.h>

static uint32_t timer_node_rank(const struct timer_node *n)
{
    return n ? n->rank : 0;
}

/* Puts the child of higher rank on the left. True when this changed the rank of n itself. */
static bool timer_node_lean_left(struct timer_node *n)
{
    if (timer_node_rank(n->left) < timer_node_rank(n->right)) {
        struct timer_node *child = n->left;
        n->left = n->right;
        n->right = child;
    }
    uint32_t rank = timer_node_rank(n->right) + 1;
    bool changed = rank != n->rank;
    n->rank = rank;
    return changed;
}

/* Merges two heaps; the caller sets the parent of the result. Recursion follows right-hand links only: 40
 * levels for a million nodes. */
static struct timer_node *timer_node_merge(struct timer_node *a, struct timer_node *b)
{
    if (!a)
        return b;
    if (!b)
        return a;
    if (b->at_ns != a->at_ns ? b->at_ns < a->at_ns : b->seq < a->seq) {
        struct timer_node *first = b;
        b = a;
        a = first;
    }
    a->right = timer_node_merge(a->right, b);
    a->right->parent = a;
    (void)timer_node_lean_left(a); /* a's parent reads a's rank later */
    return a;
}

void timer_heap_add(struct timer_heap *h, struct timer_node *n, uint64_t at_ns)
{
    assert(!timer_node_is_in_heap(n));
    *n = (struct timer_node){ .at_ns = at_ns, .seq = h->seq++, .rank = 1 };
    h->root = timer_node_merge(h->root, n);
    h->root->parent = NULL;
}

void timer_heap_remove(struct timer_heap *h, struct timer_node *n)
{
    struct timer_node *parent = n->parent;
    struct timer_node *rest;

    assert(timer_node_is_in_heap(n));
    rest = timer_node_merge(n->left, n->right);
    if (rest)
        rest->parent = parent;
    if (!parent)
        h->root = rest;
    else if (parent->left == n)
        parent->left = rest;
    else
        parent->right = rest;
    while (parent && timer_node_lean_left(parent))
        parent = parent->parent;
    *n = (struct timer_node){ 0 };
}
