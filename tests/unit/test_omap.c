/* The ordered map: against a sorted array, at its edges, without memory. */
#include "tests/unit/test.h"

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/omap.h"
#include "base/omap_int.h"
#include "base/rng.h"
#include "tests/unit/aborts.h"

static struct error err;

struct item {
    uint64_t rank;
    unsigned name; /* decides among equal ranks */
};

static size_t compared; /* calls of the two below */

static int item_cmp(void *ctx, const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    ++*(size_t *)ctx;
    return (x->name > y->name) - (x->name < y->name);
}

static int item_cmp_key(void *ctx, const void *key, const void *b)
{
    const unsigned *name = key;
    const struct item *y = b;

    ++*(size_t *)ctx;
    return (*name > y->name) - (*name < y->name);
}

static const struct omap_order by_name = { item_cmp, item_cmp_key, &compared };

#define ASSERT_SOUND(m)                                \
    do {                                               \
        const char *broken_ = omap_check(m);           \
        if (broken_)                                   \
            fail_msg("%s: %s", "omap_check", broken_); \
    } while (0)

#define ITEMS 20000
static struct item items[ITEMS];

/* In order; `same` neighbours share a rank and are told apart by name. */
static void items_init(unsigned same)
{
    for (unsigned i = 0; i < ITEMS; i++)
        items[i] = (struct item){ .rank = i / same, .name = i };
}

static int insert(struct omap *m, struct item *item)
{
    return omap_insert(m, item->rank, item);
}

static void *remove_item(struct omap *m, const struct item *item)
{
    return omap_remove(m, item->rank, item);
}

/* The map holds items[from..to) and nothing else, seen from both ends. */
static void assert_holds(const struct omap *m, size_t from, size_t to)
{
    struct omap_cursor c;
    size_t i = from;

    ASSERT_SOUND(m);
    ASSERT_INT(to - from, m->count);
    for (const struct item *at = omap_first(m, &c); at; at = omap_next(&c))
        assert_ptr_equal(&items[i++], at);
    ASSERT_INT(to, i);
    for (const struct item *at = omap_last(m, &c); at; at = omap_prev(&c))
        assert_ptr_equal(&items[--i], at);
    ASSERT_INT(from, i);
}

TEST(omap_empty)
{
    unsigned name = 1;
    struct omap_cursor c;
    struct omap m;

    omap_init(&m, by_name);
    ASSERT_SOUND(&m);
    assert_null(omap_first(&m, &c));
    assert_null(omap_next(&c));
    assert_null(omap_last(&m, &c));
    assert_null(omap_prev(&c));
    assert_null(omap_lower_bound(&m, 0, NULL, &c));
    assert_null(omap_find(&m, 0, &name));
    assert_null(omap_remove(&m, 0, &items[0]));
    omap_clear(&m);
    omap_done(&m);
}

TEST(omap_ascending_then_from_the_front)
{
    struct omap m;

    items_init(3);
    omap_init(&m, by_name);
    for (size_t i = 0; i < ITEMS; i++)
        ASSERT_OK(insert(&m, &items[i]));
    assert_holds(&m, 0, ITEMS);
    for (size_t i = 0; i < ITEMS; i++) {
        assert_ptr_equal(&items[i], remove_item(&m, &items[i]));
        if (i % 1000 == 0)
            assert_holds(&m, i + 1, ITEMS);
    }
    assert_holds(&m, 0, 0);
    assert_null(m.root);
}

TEST(omap_descending_then_from_the_back)
{
    struct omap m;

    items_init(3);
    omap_init(&m, by_name);
    for (size_t i = ITEMS; i-- > 0;)
        ASSERT_OK(insert(&m, &items[i]));
    assert_holds(&m, 0, ITEMS);
    for (size_t i = ITEMS; i-- > 0;) {
        assert_ptr_equal(&items[i], remove_item(&m, &items[i]));
        if (i % 1000 == 0)
            assert_holds(&m, 0, i);
    }
    assert_null(m.root);
}

TEST(omap_refuses_duplicates)
{
    struct omap m;

    items_init(5);
    omap_init(&m, by_name);
    for (size_t i = 0; i < 1000; i++)
        ASSERT_OK(insert(&m, &items[i]));
    for (size_t i = 0; i < 1000; i++) {
        struct item twin = items[i];
        ASSERT_INT(-ERR_EXISTS, insert(&m, &twin));
    }
    assert_holds(&m, 0, 1000);
    omap_done(&m);
}

/* An equal item finds the one that is in, and that one comes back. */
TEST(omap_removes_by_key)
{
    struct omap m;

    items_init(5);
    omap_init(&m, by_name);
    for (size_t i = 0; i < 500; i++)
        ASSERT_OK(insert(&m, &items[i]));
    struct item twin = items[123], stranger = { .rank = 123, .name = 7 };
    assert_ptr_equal(&items[123], remove_item(&m, &twin));
    assert_null(remove_item(&m, &twin));
    assert_null(remove_item(&m, &stranger));
    ASSERT_INT(499, m.count);
    omap_done(&m);
}

/* Ranks that differ settle the order alone: the user's function is not called. */
TEST(omap_compares_items_only_on_equal_rank)
{
    struct omap_cursor c;
    struct omap m;

    items_init(1);
    omap_init(&m, by_name);
    compared = 0;
    for (size_t i = ITEMS; i-- > 0;)
        ASSERT_OK(insert(&m, &items[i]));
    assert_ptr_equal(&items[77], omap_lower_bound(&m, 77, NULL, &c));
    ASSERT_INT(0, compared);
    assert_ptr_equal(&items[77], omap_find(&m, 77, &items[77].name));
    assert_true(compared > 0);
    omap_done(&m);
}

TEST(omap_ranks_at_the_ends_of_their_range)
{
    static struct item ends[] = {
        { 0, 1 }, { 0, 2 }, { UINT64_MAX - 1, 1 }, { UINT64_MAX, 1 }, { UINT64_MAX, 2 }
    };
    unsigned one = 1, two = 2, three = 3;
    struct omap_cursor c;
    struct omap m;

    omap_init(&m, by_name);
    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        ASSERT_OK(insert(&m, &ends[i]));
    ASSERT_SOUND(&m);
    assert_ptr_equal(&ends[0], omap_lower_bound(&m, 0, NULL, &c));
    assert_ptr_equal(&ends[1], omap_lower_bound(&m, 0, &two, &c));
    assert_ptr_equal(&ends[2], omap_lower_bound(&m, 0, &three, &c));
    assert_ptr_equal(&ends[2], omap_lower_bound(&m, 1, NULL, &c));
    assert_ptr_equal(&ends[3], omap_lower_bound(&m, UINT64_MAX, NULL, &c));
    assert_ptr_equal(&ends[3], omap_lower_bound(&m, UINT64_MAX, &one, &c));
    assert_ptr_equal(&ends[4], omap_find(&m, UINT64_MAX, &two));
    assert_null(omap_find(&m, UINT64_MAX - 1, &two));
    assert_null(omap_lower_bound(&m, UINT64_MAX, &three, &c));
    assert_ptr_equal(&ends[4], omap_prev(&c)); /* the greatest below the key */
    omap_done(&m);
}

TEST(omap_cursor_goes_round)
{
    struct omap_cursor c;
    struct omap m;

    items_init(1);
    omap_init(&m, by_name);
    for (size_t i = 0; i < 200; i++)
        ASSERT_OK(insert(&m, &items[i]));
    assert_ptr_equal(&items[199], omap_last(&m, &c));
    assert_null(omap_next(&c));
    assert_ptr_equal(&items[0], omap_next(&c));
    assert_null(omap_prev(&c));
    assert_ptr_equal(&items[199], omap_prev(&c));
    for (size_t i = 199; i > 0; i--) { /* to and fro over every border between leaves */
        assert_ptr_equal(&items[i - 1], omap_prev(&c));
        assert_ptr_equal(&items[i], omap_next(&c));
        assert_ptr_equal(&items[i - 1], omap_prev(&c));
    }
    omap_done(&m);
}

TEST(omap_stale_cursor_is_caught)
{
    struct omap_cursor c;
    struct omap m;

    items_init(1);
    omap_init(&m, by_name);
    for (size_t i = 0; i < 10; i++)
        ASSERT_OK(insert(&m, &items[i]));
    (void)omap_first(&m, &c);
    ASSERT_INT(-ERR_EXISTS, insert(&m, &items[3])); /* changes nothing: the cursor holds */
    assert_null(remove_item(&m, &items[11]));
    assert_ptr_equal(&items[1], omap_next(&c));
    ASSERT_OK(insert(&m, &items[10]));
    ASSERT_ABORTS((void)omap_next(&c));
    (void)omap_first(&m, &c);
    assert_ptr_equal(&items[5], remove_item(&m, &items[5]));
    ASSERT_ABORTS((void)omap_prev(&c));
    (void)omap_first(&m, &c);
    omap_clear(&m);
    ASSERT_ABORTS((void)omap_next(&c));
}

/* An item may be freed once it is out: no copy of it may stay in an inner node. */
TEST(omap_keeps_no_trace_of_what_was_removed)
{
    enum { COUNT = 5000 };
    static struct item *own[COUNT];
    struct rng rng;
    struct omap m;

    rng_init(&rng, 4);
    omap_init(&m, by_name);
    for (unsigned i = 0; i < COUNT; i++) {
        own[i] = malloc(sizeof *own[i]);
        *own[i] = (struct item){ .rank = 1, .name = i }; /* one rank: every comparison reads an item */
        ASSERT_OK(insert(&m, own[i]));
    }
    for (size_t left = COUNT; left > 0; left--) {
        size_t pick = (size_t)rng_below(&rng, left);
        struct item *item = own[pick];
        own[pick] = own[left - 1];
        assert_ptr_equal(item, remove_item(&m, item));
        free(item);
    }
    assert_null(m.root);
}

/* --- Against a sorted array --- */

#define ORACLE_ITEMS 10000

struct oracle {
    struct item *items[ORACLE_ITEMS];
    size_t count;
};

static int full_cmp(const struct item *a, uint64_t rank, unsigned name)
{
    if (a->rank != rank)
        return a->rank < rank ? -1 : 1;
    return (a->name > name) - (a->name < name);
}

static size_t oracle_lower_bound(const struct oracle *o, uint64_t rank, unsigned name)
{
    size_t low = 0, high = o->count;

    while (low < high) {
        size_t mid = (low + high) / 2;
        if (full_cmp(o->items[mid], rank, name) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool oracle_has(const struct oracle *o, const struct item *item)
{
    size_t at = oracle_lower_bound(o, item->rank, item->name);

    return at < o->count && o->items[at] == item;
}

static void oracle_toggle(struct oracle *o, struct omap *m, struct item *item)
{
    size_t at = oracle_lower_bound(o, item->rank, item->name);

    if (oracle_has(o, item)) {
        assert_ptr_equal(item, remove_item(m, item));
        memmove(&o->items[at], &o->items[at + 1], (o->count - at - 1) * sizeof(struct item *));
        o->count--;
    } else {
        ASSERT_OK(insert(m, item));
        memmove(&o->items[at + 1], &o->items[at], (o->count - at) * sizeof(struct item *));
        o->items[at] = item;
        o->count++;
    }
}

static void assert_same_search(const struct oracle *o, const struct omap *m, uint64_t rank,
                               const unsigned *name)
{
    size_t at = oracle_lower_bound(o, rank, name ? *name : 0);
    const struct item *want = at < o->count ? o->items[at] : NULL;
    struct omap_cursor c;

    assert_ptr_equal(want, omap_lower_bound(m, rank, name, &c));
    assert_ptr_equal(at > 0 ? o->items[at - 1] : NULL, omap_prev(&c));
    assert_ptr_equal(at > 0 ? want : o->count ? o->items[0] : NULL, omap_next(&c));
    if (name)
        assert_ptr_equal(want && full_cmp(want, rank, *name) == 0 ? want : NULL, omap_find(m, rank, name));
}

static void assert_same_contents(const struct oracle *o, const struct omap *m)
{
    struct omap_cursor c;
    size_t i = 0;

    ASSERT_SOUND(m);
    ASSERT_INT(o->count, m->count);
    for (const struct item *at = omap_first(m, &c); at; at = omap_next(&c))
        assert_ptr_equal(o->items[i++], at);
    ASSERT_INT(o->count, i);
}

/* Items come and go. Each phase fills or empties one stretch of the order, long or short: full nodes come to
 * stand beside starved ones, so that all ways to split, share out and merge are taken. */
static void run_random_steps(uint64_t seed, unsigned same, int steps)
{
    static const size_t widths[] = { 40, 400, 4000, ORACLE_ITEMS };
    static struct oracle o;
    size_t from = 0, width = 0, phase_left = 0;
    unsigned fill_percent = 0;
    struct rng rng;
    struct omap m;

    rng_init(&rng, seed);
    items_init(same);
    omap_init(&m, by_name);
    o.count = 0;
    for (int step = 0; step < steps; step++, phase_left--) {
        if (phase_left == 0) {
            width = widths[rng_below(&rng, ARRAY_LEN(widths))];
            from = (size_t)rng_below(&rng, ORACLE_ITEMS - width + 1);
            fill_percent = rng_chance(&rng, 60) ? 97 : 3;
            phase_left = 2 * width;
        }
        struct item *item = &items[from + rng_below(&rng, width)];
        unsigned name = (unsigned)rng_below(&rng, ORACLE_ITEMS);
        if (oracle_has(&o, item) != rng_chance(&rng, fill_percent))
            oracle_toggle(&o, &m, item);
        assert_same_search(&o, &m, items[rng_below(&rng, ORACLE_ITEMS)].rank, NULL);
        assert_same_search(&o, &m, item->rank, rng_chance(&rng, 50) ? &name : &item->name);
        if (step % 1009 == 0)
            assert_same_contents(&o, &m);
    }
    while (o.count > 0) {
        oracle_toggle(&o, &m, o.items[rng_below(&rng, o.count)]);
        if (o.count % 1009 == 0)
            assert_same_contents(&o, &m);
    }
    assert_null(m.root);
}

TEST(omap_agrees_with_an_array_on_distinct_ranks)
{
    run_random_steps(1, 1, 100000);
}

TEST(omap_agrees_with_an_array_on_shared_ranks)
{
    run_random_steps(2, 300, 100000);
}

TEST(omap_agrees_with_an_array_on_one_rank)
{
    run_random_steps(3, ITEMS, 100000);
}

/* --- Without memory --- */

static size_t allocs_left;

static void *scarce_malloc(size_t bytes)
{
    if (allocs_left == 0)
        return NULL;
    allocs_left--;
    return malloc(bytes);
}

TEST(omap_without_memory_for_the_first_leaf)
{
    struct omap m;

    items_init(1);
    omap_init(&m, by_name);
    m.alloc = scarce_malloc;
    allocs_left = 0;
    ASSERT_INT(-ERR_NO_MEMORY, insert(&m, &items[0]));
    ASSERT_SOUND(&m);
    allocs_left = 1;
    ASSERT_OK(insert(&m, &items[0]));
    assert_holds(&m, 0, 1);
    omap_done(&m);
}

/* Every insertion is tried with 0, 1, 2 … allocations until it succeeds. Each failure must leave all as it
 * was; three levels fill up, so splits of leaves, of inner nodes and of the root all fail at each of their
 * allocations. */
TEST(omap_failed_insert_changes_nothing)
{
    size_t most = 0;
    struct omap m;

    items_init(2);
    omap_init(&m, by_name);
    m.alloc = scarce_malloc;
    for (size_t i = 0; i < ITEMS; i++) {
        size_t need = 0;
        for (;; need++) {
            allocs_left = need;
            uint64_t version = m.version;
            int r = insert(&m, &items[i]);
            if (r == 0)
                break;
            ASSERT_INT(-ERR_NO_MEMORY, r);
            ASSERT_INT(i, m.count);
            ASSERT_INT(version, m.version);
            assert_null(omap_find(&m, items[i].rank, &items[i].name));
            if (need > 0 || i % 50 == 0)
                ASSERT_SOUND(&m);
        }
        ASSERT_INT(0, allocs_left); /* took no more than it needed */
        most = need > most ? need : most;
    }
    assert_holds(&m, 0, ITEMS);
    ASSERT_INT(2, m.height);
    ASSERT_INT(3, most); /* a leaf, an inner node and a root */
    omap_done(&m);
}

/* The checker itself: each damage is noticed. Without this, ASSERT_SOUND might be passing on anything. */
TEST(omap_check_notices_damage)
{
    struct omap m;

    items_init(1);
    omap_init(&m, by_name);
    for (size_t i = 0; i < 1000; i++)
        ASSERT_OK(insert(&m, &items[i]));
    struct omap_inner *root = omap_inner(m.root);
    struct omap_leaf *first = omap_leaf(root->children[0]), *second = omap_leaf(root->children[1]);
    struct omap_leaf *last = omap_leaf(root->children[root->node.count]);

#define ASSERT_NOTICED(words, place, damage) \
    do {                                     \
        __typeof__(place) saved_ = (place);  \
        (place) = (damage);                  \
        assert_non_null(omap_check(&m));     \
        ASSERT_STR((words), omap_check(&m)); \
        (place) = saved_;                    \
        assert_null(omap_check(&m));         \
    } while (0)
    ASSERT_NOTICED("the count is wrong", m.count, 999);
    ASSERT_NOTICED("a node has too few entries", first->node.count, 3);
    ASSERT_NOTICED("a node is overfull", first->node.count, OMAP_ENTRIES_MAX + 1);
    ASSERT_NOTICED("entries are out of order", first->node.ranks[4], 2);
    ASSERT_NOTICED("a leaf holds an entry without item", first->node.items[4], NULL);
    ASSERT_NOTICED("a leaf does not point back at the previous leaf", second->prev, NULL);
    ASSERT_NOTICED("a leaf does not point at the next leaf", first->next, NULL);
    ASSERT_NOTICED("the last leaf points further", last->next, first);
    ASSERT_NOTICED("an inner entry is not the greatest below its child", root->node.items[2], &items[0]);
    ASSERT_NOTICED("an inner entry is not the greatest below its child", root->node.ranks[2], 5);
#undef ASSERT_NOTICED
    omap_done(&m);
}

TEST_MAIN()
