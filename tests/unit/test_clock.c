/* The clock that is set by hand. */
#include "tests/unit/test.h"

#include "base/clock.h"
#include "tests/unit/aborts.h"

TEST(manual_clock_stands_until_it_is_moved)
{
    struct manual_clock m;

    manual_clock_init(&m, 5, -7);
    for (int i = 0; i < 3; i++) {
        ASSERT_INT(5, clock_mono_ns(&m.clock));
        ASSERT_INT(-7, clock_real_ns(&m.clock));
    }
    manual_clock_advance(&m, 2 * NS_PER_MS);
    ASSERT_INT(2000005, clock_mono_ns(&m.clock));
    ASSERT_INT(1999993, clock_real_ns(&m.clock));
}

TEST(manual_clock_wall_jumps_do_not_touch_monotonic_time)
{
    struct manual_clock m;

    manual_clock_init(&m, NS_PER_S, 0);
    manual_clock_set_real(&m, -3600 * (int64_t)NS_PER_S);
    ASSERT_INT(NS_PER_S, clock_mono_ns(&m.clock));
    ASSERT_INT(-3600 * (int64_t)NS_PER_S, clock_real_ns(&m.clock));
}

TEST(manual_clock_end_of_time_is_caught)
{
    struct manual_clock m;

    manual_clock_init(&m, 0, INT64_MAX);
    ASSERT_ABORTS(manual_clock_advance(&m, 1));
    manual_clock_init(&m, UINT64_MAX, 0);
    ASSERT_ABORTS(manual_clock_advance(&m, 1));
}

TEST_MAIN()
