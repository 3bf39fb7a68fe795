#include "tests/unit/test.h"

#include "base/bucket.h"
#include "base/clock.h"

TEST(a_bucket_starts_full_and_refills)
{
    struct bucket b;

    bucket_init(&b, 10, 3, 5 * NS_PER_S);
    for (int i = 0; i < 3; i++)
        assert_true(bucket_take(&b, 5 * NS_PER_S));
    assert_false(bucket_take(&b, 5 * NS_PER_S));
    assert_false(bucket_take(&b, 5 * NS_PER_S + 99 * NS_PER_MS));
    assert_true(bucket_take(&b, 5 * NS_PER_S + 100 * NS_PER_MS));
    assert_false(bucket_take(&b, 5 * NS_PER_S + 100 * NS_PER_MS));
}

TEST(a_bucket_holds_no_more_than_its_burst)
{
    struct bucket b;

    bucket_init(&b, 1000, 2, 0);
    assert_true(bucket_take(&b, 3600 * NS_PER_S));
    assert_true(bucket_take(&b, 3600 * NS_PER_S));
    assert_false(bucket_take(&b, 3600 * NS_PER_S));
}

TEST(small_refills_add_up)
{
    struct bucket b;

    bucket_init(&b, 1, 1, 0);
    assert_true(bucket_take(&b, 0));
    for (uint64_t ms = 1; ms < 1000; ms++)
        assert_false(bucket_take(&b, ms * NS_PER_MS));
    assert_true(bucket_take(&b, NS_PER_S));
}

TEST(reservations_queue_up)
{
    struct bucket b;

    bucket_init(&b, 10, 2, 0);
    assert_int_equal(bucket_reserve(&b, 0), 0);
    assert_int_equal(bucket_reserve(&b, 0), 0);
    assert_int_equal(bucket_reserve(&b, 0), 100 * NS_PER_MS);
    assert_int_equal(bucket_reserve(&b, 0), 200 * NS_PER_MS);
    assert_int_equal(bucket_reserve(&b, 100 * NS_PER_MS), 200 * NS_PER_MS);
    assert_false(bucket_take(&b, 100 * NS_PER_MS));
}

TEST(token_may_be_given_back)
{
    struct bucket b;

    bucket_init(&b, 10, 2, 0);
    assert_true(bucket_take(&b, 0));
    assert_true(bucket_take(&b, 0));
    assert_int_equal(bucket_reserve(&b, 0), 100 * NS_PER_MS);
    bucket_release(&b);
    assert_int_equal(bucket_reserve(&b, 0), 100 * NS_PER_MS);
    bucket_release(&b);
    bucket_release(&b);
    bucket_release(&b);
    bucket_release(&b); /* never more than the reserve */
    assert_true(bucket_take(&b, 0));
    assert_true(bucket_take(&b, 0));
    assert_false(bucket_take(&b, 0));
}

TEST(a_clock_that_stands_gives_nothing)
{
    struct bucket b;

    bucket_init(&b, 1, 1, 10 * NS_PER_S);
    assert_true(bucket_take(&b, 10 * NS_PER_S));
    assert_false(bucket_take(&b, 3 * NS_PER_S));
}

TEST_MAIN()
