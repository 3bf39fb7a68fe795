/* The loop's timers in order of their deadlines: a leftist heap through nodes that the owners embed.
 *
 * Nodes carry the links themselves, so adding cannot fail and costs no memory. In a leftist heap the way down
 * the right-hand links has at most log2(n + 1) steps, which bounds every operation, the worst case too:
 * adding and removing any node are O(log n), the first is O(1). Equal deadlines come out in the order they
 * were added. */
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
    uint32_t rank; /* nodes down the right-hand links, itself included; 0: in no heap */
};

/* Zeroed is empty, and so is a zeroed node out of every heap. */
struct timer_heap {
    struct timer_node *root;
    uint64_t seq; /* the next addition's */
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
