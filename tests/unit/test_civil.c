/* Seconds and the calendar. */
#include "tests/unit/test.h"

#include "base/civil.h"
#include "base/cleanup.h"
#include "base/rng.h"

static const struct {
    int64_t seconds;
    struct civil civil;
} dates[] = {
    { 0, { 1970, 1, 1, 0, 0, 0 } },
    { -1, { 1969, 12, 31, 23, 59, 59 } },
    { 951782399, { 2000, 2, 28, 23, 59, 59 } },
    { 951782400, { 2000, 2, 29, 0, 0, 0 } },
    { 951868800, { 2000, 3, 1, 0, 0, 0 } },
    { 1000000000, { 2001, 9, 9, 1, 46, 40 } },
    { 1709164800, { 2024, 2, 29, 0, 0, 0 } },
    { 1735689599, { 2024, 12, 31, 23, 59, 59 } },
    { INT32_MAX, { 2038, 1, 19, 3, 14, 7 } },
    { INT32_MIN, { 1901, 12, 13, 20, 45, 52 } },
    { 4107542399, { 2100, 2, 28, 23, 59, 59 } }, /* no leap year */
    { 4107542400, { 2100, 3, 1, 0, 0, 0 } },
    { -11644473600, { 1601, 1, 1, 0, 0, 0 } },
    { -12219292800, { 1582, 10, 15, 0, 0, 0 } },
    { -12219292801, { 1582, 10, 14, 23, 59, 59 } }, /* proleptic: no days are missing */
    { CIVIL_UNIX_MIN, { 1, 1, 1, 0, 0, 0 } },
    { CIVIL_UNIX_MAX, { 9999, 12, 31, 23, 59, 59 } },
};

TEST(civil_known_dates)
{
    for (size_t i = 0; i < ARRAY_LEN(dates); i++) {
        struct civil c;
        int64_t seconds = 0;
        assert_true(civil_from_unix(dates[i].seconds, &c));
        assert_memory_equal(&dates[i].civil, &c, sizeof c);
        assert_true(civil_to_unix(&dates[i].civil, &seconds));
        ASSERT_INT(dates[i].seconds, seconds);
    }
}

static int month_days(int year, int month)
{
    if (month == 2)
        return year % 400 == 0 || (year % 4 == 0 && year % 100 != 0) ? 29 : 28;
    return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

/* Every day of the range, counted one after the other by the rules of the calendar. */
TEST(civil_counts_every_day)
{
    int64_t seconds = CIVIL_UNIX_MIN;

    for (int year = 1; year <= 9999; year++)
        for (int month = 1; month <= 12; month++)
            for (int day = 1; day <= month_days(year, month); day++, seconds += 86400) {
                struct civil want = { year, month, day, 0, 0, 0 }, c;
                int64_t back = 0;
                if (!civil_from_unix(seconds, &c) || memcmp(&want, &c, sizeof c) != 0)
                    fail_msg("%lld is not %d-%d-%d", (long long)seconds, year, month, day);
                if (!civil_to_unix(&want, &back) || back != seconds)
                    fail_msg("%d-%d-%d is not %lld", year, month, day, (long long)seconds);
            }
    ASSERT_INT(CIVIL_UNIX_MAX + 1, seconds);
}

TEST(civil_round_trips_any_second)
{
    struct rng r;

    rng_init(&r, 1);
    for (int i = 0; i < 100000; i++) {
        int64_t seconds = CIVIL_UNIX_MIN + (int64_t)rng_below(&r, CIVIL_UNIX_MAX - CIVIL_UNIX_MIN + 1);
        int64_t back = 0;
        struct civil c;
        assert_true(civil_from_unix(seconds, &c));
        assert_true(civil_to_unix(&c, &back));
        ASSERT_INT(seconds, back);
    }
}

TEST(civil_refuses_what_is_no_date)
{
    static const struct civil rows[] = {
        { 0, 1, 1, 0, 0, 0 },
        { 10000, 1, 1, 0, 0, 0 },
        { -1, 1, 1, 0, 0, 0 },
        { 2024, 0, 1, 0, 0, 0 },
        { 2024, 13, 1, 0, 0, 0 },
        { 2024, 1, 0, 0, 0, 0 },
        { 2024, 1, 32, 0, 0, 0 },
        { 2024, 4, 31, 0, 0, 0 },
        { 2024, 2, 30, 0, 0, 0 },
        { 2023, 2, 29, 0, 0, 0 },
        { 2100, 2, 29, 0, 0, 0 },
        { 2024, 1, 1, 24, 0, 0 },
        { 2024, 1, 1, -1, 0, 0 },
        { 2024, 1, 1, 0, 60, 0 },
        { 2024, 1, 1, 0, -1, 0 },
        { 2024, 1, 1, 0, 0, 60 },
        { 2024, 1, 1, 0, 0, -1 },
        { INT32_MAX, 1, 1, 0, 0, 0 },
        { 2024, INT32_MIN, 1, 0, 0, 0 },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t seconds = 5;
        assert_false(civil_to_unix(&rows[i], &seconds));
        ASSERT_INT(5, seconds);
    }
}

TEST(civil_refuses_seconds_out_of_range)
{
    static const int64_t rows[] = { CIVIL_UNIX_MIN - 1, CIVIL_UNIX_MAX + 1, INT64_MIN, INT64_MAX };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct civil c = { .year = 5 };
        assert_false(civil_from_unix(rows[i], &c));
        ASSERT_INT(5, c.year);
    }
}

TEST_MAIN()
