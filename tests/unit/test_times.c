/* RFC 3339 and ages. */
#include "tests/unit/test.h"

#include "api/times.h"
#include "base/cleanup.h"

static struct error err;

static const char *text_of(struct timestamp t, bool micro)
{
    static char text[64];
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(sizeof text - 1);

    (micro ? timestamp_format_micro : timestamp_format)(t, &out);
    ASSERT_INT(ERR_NONE, out.failed);
    memcpy(text, buf_cstr(&out), out.len + 1);
    return text;
}

TEST(times_are_read)
{
    static const struct {
        const char *text;
        int64_t seconds;
        int32_t nanos;
        const char *out, *micro;
    } rows[] = {
        { "1970-01-01T00:00:00Z", 0, 0, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z" },
        { "2024-02-29T23:59:59Z", 1709251199, 0, "2024-02-29T23:59:59Z", "2024-02-29T23:59:59.000000Z" },
        { "2024-05-01T10:00:00.5Z", 1714557600, 500000000, "2024-05-01T10:00:00Z",
          "2024-05-01T10:00:00.500000Z" },
        { "2024-05-01T10:00:00,25Z", 1714557600, 250000000, "2024-05-01T10:00:00Z",
          "2024-05-01T10:00:00.250000Z" },
        { "2024-05-01T10:00:00.123456Z", 1714557600, 123456000, "2024-05-01T10:00:00Z",
          "2024-05-01T10:00:00.123456Z" },
        { "2024-05-01T10:00:00.1234567899999Z", 1714557600, 123456789, "2024-05-01T10:00:00Z",
          "2024-05-01T10:00:00.123456Z" },
        { "2024-05-01T12:00:00+02:00", 1714557600, 0, "2024-05-01T10:00:00Z", "2024-05-01T10:00:00.000000Z" },
        { "2024-05-01T04:30:00.75-05:30", 1714557600, 750000000, "2024-05-01T10:00:00Z",
          "2024-05-01T10:00:00.750000Z" },
        { "2024-05-01T10:00:00-00:00", 1714557600, 0, "2024-05-01T10:00:00Z", "2024-05-01T10:00:00.000000Z" },
        { "2024-05-01T9:00:00Z", 1714554000, 0, "2024-05-01T09:00:00Z", "2024-05-01T09:00:00.000000Z" },
        { "2024-05-01T10:00:00+24:60", 1714467600, 0, "2024-04-30T09:00:00Z", "2024-04-30T09:00:00.000000Z" },
        { "1969-12-31T23:59:59.999999999Z", -1, 999999999, "1969-12-31T23:59:59Z",
          "1969-12-31T23:59:59.999999Z" },
        { "0001-01-01T00:00:00Z", -62135596800, 0, "0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000Z" },
        { "9999-12-31T23:59:59Z", 253402300799, 0, "9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000000Z" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct timestamp t;
        ASSERT_OK(timestamp_parse(str_of(rows[i].text), &t, &err));
        if (t.seconds != rows[i].seconds || t.nanos != rows[i].nanos)
            fail_msg("'%s': %lld and %d", rows[i].text, (long long)t.seconds, t.nanos);
        ASSERT_STR(rows[i].out, text_of(t, false));
        ASSERT_STR(rows[i].micro, text_of(t, true));
    }
}

#define AS " as \"2006-01-02T15:04:05Z07:00\": cannot parse "

TEST(times_are_refused_in_gos_words)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        { "abc", "parsing time \"abc\"" AS "\"abc\" as \"2006\"" },
        { "", "parsing time \"\"" AS "\"\" as \"2006\"" },
        { "202", "parsing time \"202\"" AS "\"202\" as \"2006\"" },
        { "2a24-01-01T00:00:00Z",
          "parsing time \"2a24-01-01T00:00:00Z\"" AS "\"2a24-01-01T00:00:00Z\" as \"2006\"" },
        { "2024", "parsing time \"2024\"" AS "\"\" as \"-\"" },
        { "2024/05/01", "parsing time \"2024/05/01\"" AS "\"/05/01\" as \"-\"" },
        { "2024-5-01T00:00:00Z", "parsing time \"2024-5-01T00:00:00Z\"" AS "\"5-01T00:00:00Z\" as \"01\"" },
        { "2024-05-01", "parsing time \"2024-05-01\"" AS "\"\" as \"T\"" },
        { "2024-05-01 10:00:00Z", "parsing time \"2024-05-01 10:00:00Z\"" AS "\" 10:00:00Z\" as \"T\"" },
        { "2024-05-01t10:00:00Z", "parsing time \"2024-05-01t10:00:00Z\"" AS "\"t10:00:00Z\" as \"T\"" },
        { "2024-05-01T1000", "parsing time \"2024-05-01T1000\"" AS "\"00\" as \":\"" },
        { "2024-05-01T10:0:00Z", "parsing time \"2024-05-01T10:0:00Z\"" AS "\"0:00Z\" as \"04\"" },
        { "2024-05-01T10:00:0Z", "parsing time \"2024-05-01T10:00:0Z\"" AS "\"0Z\" as \"05\"" },
        { "2024-05-01T10:00:00", "parsing time \"2024-05-01T10:00:00\"" AS "\"\" as \"Z07:00\"" },
        { "2024-05-01T10:00:00.5", "parsing time \"2024-05-01T10:00:00.5\"" AS "\"\" as \"Z07:00\"" },
        { "2024-05-01T10:00:00.Z", "parsing time \"2024-05-01T10:00:00.Z\"" AS "\".Z\" as \"Z07:00\"" },
        { "2024-05-01T10:00:00+0200",
          "parsing time \"2024-05-01T10:00:00+0200\"" AS "\"+0200\" as \"Z07:00\"" },
        { "2024-05-01T10:00:00+2:00",
          "parsing time \"2024-05-01T10:00:00+2:00\"" AS "\"+2:00\" as \"Z07:00\"" },
        { "2024-05-01T10:00:00z", "parsing time \"2024-05-01T10:00:00z\"" AS "\"z\" as \"Z07:00\"" },
        { "2024-13-01T10:00:00Z", "parsing time \"2024-13-01T10:00:00Z\": month out of range" },
        { "2024-00-01T10:00:00Z", "parsing time \"2024-00-01T10:00:00Z\": month out of range" },
        { "2024-05-32T10:00:00Z", "parsing time \"2024-05-32T10:00:00Z\": day out of range" },
        { "2024-05-00T10:00:00Z", "parsing time \"2024-05-00T10:00:00Z\": day out of range" },
        { "2023-02-29T10:00:00Z", "parsing time \"2023-02-29T10:00:00Z\": day out of range" },
        { "2024-05-01T24:00:00Z", "parsing time \"2024-05-01T24:00:00Z\": hour out of range" },
        { "2024-05-01T10:60:00Z", "parsing time \"2024-05-01T10:60:00Z\": minute out of range" },
        { "2016-12-31T23:59:60Z", "parsing time \"2016-12-31T23:59:60Z\": second out of range" },
        { "2024-05-01T10:00:00+25:00",
          "parsing time \"2024-05-01T10:00:00+25:00\": time zone offset hour out of range" },
        { "2024-05-01T10:00:00+00:61",
          "parsing time \"2024-05-01T10:00:00+00:61\": time zone offset minute out of range" },
        { "2024-05-01T10:00:00Z ", "parsing time \"2024-05-01T10:00:00Z \": extra text: \" \"" },
        { "2024-05-01T10:00:00+02:00x", "parsing time \"2024-05-01T10:00:00+02:00x\": extra text: \"x\"" },
        { "0000-01-01T00:00:00Z", "parsing time \"0000-01-01T00:00:00Z\": year out of range" },
        { "0001-01-01T00:00:00+01:00", "parsing time \"0001-01-01T00:00:00+01:00\": year out of range" },
        { "9999-12-31T23:59:59-00:01", "parsing time \"9999-12-31T23:59:59-00:01\": year out of range" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct timestamp t = { 7, 7 };
        ASSERT_ERR(ERR_BAD_REQUEST, timestamp_parse(str_of(rows[i].text), &t, &err));
        ASSERT_STR(rows[i].message, err.msg);
        ASSERT_INT(7, t.seconds);
    }
}

TEST(times_from_a_clock)
{
    struct timestamp t = timestamp_of_ns(1714557600123456789);

    ASSERT_STR("2024-05-01T10:00:00.123456Z", text_of(t, true));
    t = timestamp_of_ns(-1);
    assert_true(t.seconds == -1 && t.nanos == 999999999);
    t = timestamp_of_ns(-1000000000);
    assert_true(t.seconds == -1 && t.nanos == 0);
    assert_true(timestamp_is_zero(timestamp_of_ns(0)));
    assert_false(timestamp_is_zero(timestamp_of_ns(1)));
}

TEST(times_are_ordered)
{
    static const struct timestamp order[] = { { -2, 0 }, { -1, 0 }, { -1, 5 }, { 0, 0 }, { 0, 1 }, { 1, 0 } };

    for (int i = 0; i < (int)ARRAY_LEN(order); i++)
        for (int j = 0; j < (int)ARRAY_LEN(order); j++)
            ASSERT_INT((i > j) - (i < j), timestamp_cmp(order[i], order[j]));
}

#define MINUTE INT64_C(60)
#define HOUR INT64_C(3600)
#define DAY INT64_C(86400)
#define YEAR (365 * DAY)

TEST(durations_for_people)
{
    static const struct {
        int64_t seconds;
        const char *text;
    } rows[] = {
        { INT64_MIN, "<invalid>" },
        { -2, "<invalid>" },
        { -1, "0s" },
        { 0, "0s" },
        { 119, "119s" },
        { 120, "2m" },
        { 185, "3m5s" },
        { 10 * MINUTE - 1, "9m59s" },
        { 10 * MINUTE, "10m" },
        { 10 * MINUTE + 5, "10m" },
        { 3 * HOUR - 1, "179m" },
        { 3 * HOUR, "3h" },
        { 3 * HOUR + 60, "3h1m" },
        { 8 * HOUR - 1, "7h59m" },
        { 8 * HOUR, "8h" },
        { 8 * HOUR + MINUTE, "8h" },
        { 48 * HOUR - 1, "47h" },
        { 48 * HOUR, "2d" },
        { 51 * HOUR, "2d3h" },
        { 8 * DAY - 1, "7d23h" },
        { 8 * DAY, "8d" },
        { 8 * DAY + HOUR, "8d" },
        { 2 * YEAR - 1, "729d" },
        { 2 * YEAR, "2y" },
        { 2 * YEAR + 40 * DAY, "2y40d" },
        { 8 * YEAR - 1, "7y364d" },
        { 8 * YEAR, "8y" },
        { 8 * YEAR + 300 * DAY, "8y" },
        { 100 * YEAR, "100y" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(buf_done_p) struct buf out = BUF_INIT(64);
        duration_human(rows[i].seconds, &out);
        ASSERT_INT(ERR_NONE, out.failed);
        ASSERT_STR(rows[i].text, buf_cstr(&out));
    }
}

TEST(ages)
{
    static const struct {
        struct timestamp t;
        const char *text;
    } rows[] = {
        { { 0, 0 }, "<unknown>" },     { { 940, 0 }, "60s" },
        { { 940, 600000000 }, "59s" }, { { 1000, 100000000 }, "0s" },
        { { 1000, 900000000 }, "0s" }, { { 1001, 999999999 }, "0s" },
        { { 1002, 400000000 }, "0s" }, { { 1002, 500000000 }, "<invalid>" },
        { { 1003, 0 }, "<invalid>" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(buf_done_p) struct buf out = BUF_INIT(64);
        timestamp_age(rows[i].t, (struct timestamp){ 1000, 500000000 }, &out);
        ASSERT_INT(ERR_NONE, out.failed);
        ASSERT_STR(rows[i].text, buf_cstr(&out));
    }
}

TEST(durations_are_written_as_go_does)
{
    static const struct {
        int64_t ns;
        const char *text;
    } rows[] = {
        { 0, "0s" },
        { 1, "1ns" },
        { 999, "999ns" },
        { 1000, "1µs" },
        { 1001, "1.001µs" },
        { 999999, "999.999µs" },
        { 1000000, "1ms" },
        { 1500000, "1.5ms" },
        { 500000000, "500ms" },
        { 999999999, "999.999999ms" },
        { 1000000000, "1s" },
        { 1000000001, "1.000000001s" },
        { 1100000000, "1.1s" },
        { 59999999999, "59.999999999s" },
        { 60000000000, "1m0s" },
        { 122000000000, "2m2s" },
        { 90500000000, "1m30.5s" },
        { 3600000000000, "1h0m0s" },
        { 7323000000000, "2h2m3s" },
        { 360000000000000, "100h0m0s" },
        { -1, "-1ns" },
        { -122000000000, "-2m2s" },
        { INT64_MAX, "2562047h47m16.854775807s" },
        { INT64_MIN, "-2562047h47m16.854775808s" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        _cleanup_(buf_done_p) struct buf out = BUF_INIT(64);
        duration_write(rows[i].ns, &out);
        ASSERT_INT(ERR_NONE, out.failed);
        ASSERT_STR(rows[i].text, buf_cstr(&out));
    }
}

TEST(a_duration_that_does_not_fit_is_told)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(5);

    duration_write(3600000000000, &out);
    ASSERT_INT(ERR_TOO_LARGE, out.failed);
}

TEST_MAIN()
