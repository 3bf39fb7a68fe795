#include "tests/unit/test_io.h"

#include "base/cleanup.h"
#include "io/timer_heap.h"

#define NODES 400
#define STEPS 20000

static uint64_t rng_state;

static uint64_t rng_next(void)
{
    rng_state = rng_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return rng_state >> 33;
}

/* Every node: parents right, no child before its parent, ranks as defined and higher on the left. Returns the
 * count. */
static size_t check_below(const struct timer_node *n, const struct timer_node *parent)
{
    if (!n)
        return 0;
    assert_ptr_equal(n->parent, parent);
    if (parent) {
        assert_true(n->at_ns >= parent->at_ns);
        if (n->at_ns == parent->at_ns)
            assert_true(n->seq > parent->seq);
    }
    uint32_t left = n->left ? n->left->rank : 0;
    uint32_t right = n->right ? n->right->rank : 0;
    assert_true(left >= right);
    assert_int_equal(n->rank, right + 1);
    return 1 + check_below(n->left, n) + check_below(n->right, n);
}

static const struct timer_node *earliest(const struct timer_node *nodes)
{
    const struct timer_node *best = NULL;

    for (size_t i = 0; i < NODES; i++) {
        const struct timer_node *n = &nodes[i];
        if (!timer_node_is_in_heap(n))
            continue;
        if (!best || n->at_ns < best->at_ns || (n->at_ns == best->at_ns && n->seq < best->seq))
            best = n;
    }
    return best;
}

TEST(heap_is_empty_when_zeroed)
{
    struct timer_heap h = { 0 };
    struct timer_node n = { 0 };

    assert_null(timer_heap_first(&h));
    assert_false(timer_node_is_in_heap(&n));
}

TEST(heap_gives_equal_deadlines_in_order_of_addition)
{
    struct timer_heap h = { 0 };
    struct timer_node nodes[100] = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(nodes); i++)
        timer_heap_add(&h, &nodes[i], 7);
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
        assert_ptr_equal(timer_heap_first(&h), &nodes[i]);
        timer_heap_remove(&h, &nodes[i]);
        assert_false(timer_node_is_in_heap(&nodes[i]));
    }
    assert_null(timer_heap_first(&h));
}

TEST(heap_takes_the_extremes)
{
    struct timer_heap h = { 0 };
    struct timer_node last = { 0 }, first = { 0 };

    timer_heap_add(&h, &last, UINT64_MAX);
    timer_heap_add(&h, &first, 0);
    assert_ptr_equal(timer_heap_first(&h), &first);
    timer_heap_remove(&h, &first);
    assert_ptr_equal(timer_heap_first(&h), &last);
}

/* Random additions and removals from anywhere, against a plain search. */
TEST(heap_agrees_with_a_linear_search)
{
    static struct timer_node nodes[NODES];
    struct timer_heap h = { 0 };
    size_t count = 0;

    rng_state = 42;
    for (unsigned step = 0; step < STEPS; step++) {
        struct timer_node *n = &nodes[rng_next() % NODES];
        if (timer_node_is_in_heap(n)) {
            timer_heap_remove(&h, n);
            count--;
        } else {
            timer_heap_add(&h, n, rng_next() % 50);
            count++;
        }
        assert_ptr_equal(timer_heap_first(&h), earliest(nodes));
        if (step % 16 == 0)
            assert_int_equal(check_below(h.root, NULL), count);
    }
    assert_true(count > NODES / 4); /* the test was about a heap that is neither empty nor full */
}

/* The orders that make a naive tree deep: ascending and descending. */
TEST(heap_keeps_its_right_side_short)
{
    static struct timer_node nodes[4096];

    for (int descending = 0; descending < 2; descending++) {
        struct timer_heap h = { 0 };
        for (size_t i = 0; i < ARRAY_LEN(nodes); i++)
            timer_heap_add(&h, &nodes[i], descending ? ARRAY_LEN(nodes) - i : i);
        assert_int_equal(check_below(h.root, NULL), ARRAY_LEN(nodes));
        assert_true(h.root->rank <= 13); /* log2(4097), rounded up */
        uint64_t at_ns = 0;
        while (timer_heap_first(&h)) {
            assert_true(timer_heap_first(&h)->at_ns >= at_ns);
            at_ns = timer_heap_first(&h)->at_ns;
            timer_heap_remove(&h, timer_heap_first(&h));
        }
    }
}

TEST_MAIN()
