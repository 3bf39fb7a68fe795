/* The loop's timers in order of their deadlines: a leftist heap of nodes that the owners embed.
 *
 * Nodes contain the links, so adding cannot fail and allocates nothing. The path of right-hand links has at
 * most log2(n + 1) steps, which bounds every operation: adding and removing any node are O(log n) in the
 * worst case, the first is O(1). Equal deadlines are returned in the order in which they were added. */
#ifndef BERTH_IO_TIMER_HEAP_H
#define BERTH_IO_TIMER_HEAP_H

#include <stdbool.h>
#include <stdint.h>

struct timer_node {
    struct timer_node *parent;
    struct timer_node *left;
    struct timer_node *right;
    uint64_t at_ns;
    uint64_t seq;  /* counts additions to the heap: breaks ties */
    uint32_t rank; /* nodes along the right-hand links, itself included; 0: in no heap */
};

/* All zeroes is an empty heap, or a node in no heap. */
struct timer_heap {
    struct timer_node *root;
    uint64_t seq; /* number of the next addition */
};

/* n is in no heap. */
void timer_heap_add(struct timer_heap *h, struct timer_node *n, uint64_t at_ns);
/* n is in h. */
void timer_heap_remove(struct timer_heap *h, struct timer_node *n);

/* The earliest, or NULL. */
static inline struct timer_node *timer_heap_first(const struct timer_heap *h)
{
    return h->root;
}

static inline bool timer_node_is_in_heap(const struct timer_node *n)
{
    return n->rank > 0;
}

#endif
