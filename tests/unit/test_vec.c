/* The growing array. */
#include "tests/unit/test.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "tests/unit/aborts.h"

static struct error err;

struct pair {
    int a;
    int b;
};

TEST(vec_push_keeps_order_and_grows)
{
    _cleanup_(vec_done_p) VEC(size_t) v = { 0 };

    for (size_t i = 0; i < 1000; i++)
        ASSERT_OK(vec_push(&v, i * 3));
    ASSERT_INT(1000, v.count);
    assert_true(v.cap >= v.count);
    assert_true(v.cap <= 2 * v.count);
    for (size_t i = 0; i < v.count; i++)
        ASSERT_INT(i * 3, v.items[i]);
}

TEST(vec_push_takes_structs_with_commas)
{
    _cleanup_(vec_done_p) VEC(struct pair) v = { 0 };

    ASSERT_OK(vec_push(&v, (struct pair){ 1, 2 }));
    ASSERT_OK(vec_insert(&v, 0, (struct pair){ .a = 3, .b = 4 }));
    ASSERT_INT(3, v.items[0].a);
    ASSERT_INT(4, v.items[0].b);
    ASSERT_INT(2, v.items[1].b);
}

TEST(vec_insert_and_remove_at_every_place)
{
    for (size_t count = 0; count <= 9; count++)
        for (size_t at = 0; at <= count; at++) {
            _cleanup_(vec_done_p) VEC(int) v = { 0 };
            for (size_t i = 0; i < count; i++)
                ASSERT_OK(vec_push(&v, (int)i));
            ASSERT_OK(vec_insert(&v, at, -1));
            ASSERT_INT(count + 1, v.count);
            for (size_t i = 0; i < v.count; i++)
                ASSERT_INT(i < at ? (int)i : i == at ? -1 : (int)i - 1, v.items[i]);
            vec_remove(&v, at);
            ASSERT_INT(count, v.count);
            for (size_t i = 0; i < v.count; i++)
                ASSERT_INT((int)i, v.items[i]);
        }
}

/* The item is read after the array has moved and before the gap opens. */
TEST(vec_items_may_come_from_the_vector_itself)
{
    _cleanup_(vec_done_p) VEC(size_t) v = { 0 };

    ASSERT_OK(vec_push(&v, 5));
    for (size_t i = 1; i < 100; i++) {
        ASSERT_OK(vec_push(&v, v.items[i - 1] + 1));
        ASSERT_OK(vec_insert(&v, 0, v.items[i]));
        ASSERT_INT(5 + i, v.items[0]);
        vec_remove(&v, 0);
    }
}

TEST(vec_arguments_are_evaluated_once)
{
    _cleanup_(vec_done_p) VEC(int) vs[2] = { { 0 } };
    __auto_type v = &vs[0];
    int next = 7;

    ASSERT_OK(vec_push(v++, next++));
    ASSERT_INT(8, next);
    assert_ptr_equal(&vs[1], v);
    ASSERT_INT(1, vs[0].count);
    ASSERT_INT(0, vs[1].count);
}

TEST(vec_clear_keeps_memory_and_done_releases_it)
{
    VEC(int) v = { 0 };

    ASSERT_OK(vec_reserve(&v, 100));
    assert_true(v.cap >= 100);
    ASSERT_OK(vec_push(&v, 5));
    vec_clear(&v);
    ASSERT_INT(0, v.count);
    assert_true(v.cap >= 100);
    vec_done(&v);
    assert_null(v.items);
    ASSERT_INT(0, v.cap);
    ASSERT_OK(vec_push(&v, 6)); /* and may be used again */
    ASSERT_INT(6, v.items[0]);
    vec_done(&v);
}

TEST(vec_reserve_of_nothing_allocates_nothing)
{
    VEC(int) v = { 0 };

    ASSERT_OK(vec_reserve(&v, 0));
    assert_null(v.items);
}

/* Sizes whose product or sum passes what an object may have: refused before the allocator is asked. */
TEST(vec_reserve_refuses_overflow)
{
    static const size_t more[] = {
        SIZE_MAX,
        SIZE_MAX / sizeof(struct pair),
        SIZE_MAX / sizeof(struct pair) + 2,
        (size_t)PTRDIFF_MAX,
        SIZE_MAX - 1,
        PTRDIFF_MAX / sizeof(struct pair), /* fits alone, not with the one that is there */
    };
    _cleanup_(vec_done_p) VEC(struct pair) v = { 0 };

    ASSERT_OK(vec_push(&v, (struct pair){ 1, 2 }));
    for (size_t i = 0; i < ARRAY_LEN(more); i++) {
        size_t cap = v.cap;
        ASSERT_INT(-ERR_NO_MEMORY, vec_reserve(&v, more[i]));
        ASSERT_INT(cap, v.cap);
        ASSERT_INT(1, v.count);
        ASSERT_INT(2, v.items[0].b);
    }
}

/* The address sanitizer would rather end the test than return NULL for a size that no machine has. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

TEST(vec_without_memory_stays_as_it_was)
{
    _cleanup_(vec_done_p) VEC(struct pair) v = { 0 };

    ASSERT_OK(vec_push(&v, (struct pair){ 1, 2 }));
    size_t cap = v.cap;
    ASSERT_INT(-ERR_NO_MEMORY, vec_reserve(&v, PTRDIFF_MAX / sizeof(struct pair) - 2));
    ASSERT_INT(cap, v.cap);
    ASSERT_INT(1, v.count);
    ASSERT_INT(2, v.items[0].b);
}

TEST(vec_index_out_of_range_is_caught)
{
    _cleanup_(vec_done_p) VEC(int) v = { 0 };

    ASSERT_OK(vec_push(&v, 1));
    ASSERT_ABORTS(vec_remove(&v, 1));
    ASSERT_ABORTS((void)vec_insert(&v, 2, 5));
}

TEST_MAIN()
