/* Log lines: both forms, escaping, cutting, levels. */
#include "tests/unit/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <yajl/yajl_parse.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/die.h"
#include "base/log.h"
#include "base/rng.h"
#include "tests/unit/aborts.h"

static struct error err;

#define ELLIPSIS "\xE2\x80\xA6"
#define TS "2026-01-02T03:04:05.678Z"

/* --- A logger into memory --- */

static char line[LOG_LINE_BYTES_MAX + 1];
static size_t line_len;
static int lines;

static void keep_line(void *ctx, const char *text, size_t len)
{
    assert_ptr_equal(&lines, ctx);
    assert_true(len <= LOG_LINE_BYTES_MAX);
    memcpy(line, text, len);
    line[len] = '\0';
    line_len = len;
    lines++;
}

static struct manual_clock now;
static struct logger logger = { .clock = &now.clock, .sink = keep_line, .ctx = &lines };

static void start(enum log_level level, enum log_format format)
{
    manual_clock_init(&now, 0, 1767323045678999999);
    logger.level = level;
    logger.format = format;
    log_install(&logger);
    lines = 0;
    line_len = 0;
    line[0] = '\0';
}

/* One text value under the key "v", as it stands in the line. */
static const char *value_of(enum log_format format, struct str value)
{
    static char text[LOG_LINE_BYTES_MAX + 1];
    const char *head = format == LOG_FORMAT_TEXT ? TS " INFO m v="
                                                 : "{\"ts\":\"" TS
                                                   "\",\"level\":\"info\",\"msg\":\"m\",\"v\":";
    size_t tail = format == LOG_FORMAT_TEXT ? 1 : 2;

    start(LOG_LEVEL_INFO, format);
    log_info("m", LOG_TEXT("v", value));
    ASSERT_INT(1, lines);
    assert_true(str_has_prefix(str_of(line), head));
    (void)snprintf(text, sizeof text, "%.*s", (int)(line_len - strlen(head) - tail), line + strlen(head));
    return text;
}

static bool is_json(const char *text, size_t len)
{
    static const yajl_callbacks none;
    yajl_handle h = yajl_alloc(&none, NULL, NULL);
    bool ok = yajl_parse(h, (const unsigned char *)text, len) == yajl_status_ok &&
              yajl_complete_parse(h) == yajl_status_ok;

    yajl_free(h);
    return ok;
}

/* A whole line: one line end, at its end; UTF-8; JSON where it says so. */
static void assert_well_formed(enum log_format format)
{
    assert_true(line_len > 0);
    assert_ptr_equal(line + line_len - 1, memchr(line, '\n', line_len));
    assert_true(str_is_utf8((struct str){ line, line_len }));
    for (size_t i = 0; i + 1 < line_len; i++)
        assert_false((unsigned char)line[i] < 0x20 || line[i] == 0x7F);
    if (format == LOG_FORMAT_JSON)
        assert_true(is_json(line, line_len));
}

/* --- The two forms --- */

TEST(log_text_form)
{
    start(LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
    log_info("claim bound", LOG_STR("claim", "shop/db"), LOG_STR("volume", "pv-1"), LOG_INT("ms", 5));
    ASSERT_STR(TS " INFO claim bound claim=shop/db volume=pv-1 ms=5\n", line);
}

TEST(log_json_form)
{
    start(LOG_LEVEL_INFO, LOG_FORMAT_JSON);
    log_info("claim bound", LOG_STR("claim", "shop/db"), LOG_STR("volume", "pv-1"), LOG_INT("ms", 5));
    ASSERT_STR("{\"ts\":\"" TS "\",\"level\":\"info\",\"msg\":\"claim bound\",\"claim\":\"shop/db\","
               "\"volume\":\"pv-1\",\"ms\":5}\n",
               line);
}

TEST(log_without_fields)
{
    start(LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
    log_info("ready");
    ASSERT_STR(TS " INFO ready\n", line);
    log_info("ready", LOG_END);
    ASSERT_STR(TS " INFO ready\n", line);
    start(LOG_LEVEL_INFO, LOG_FORMAT_JSON);
    log_info("ready");
    ASSERT_STR("{\"ts\":\"" TS "\",\"level\":\"info\",\"msg\":\"ready\"}\n", line);
}

/* The sentence stands without quotes in the text form, so its own need no escape there. */
TEST(log_message_keeps_its_quotes)
{
    const char *msg = "cannot read \"a\\b\", ignoring";

    start(LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
    log_info(msg);
    ASSERT_STR(TS " INFO cannot read \"a\\b\", ignoring\n", line);
    start(LOG_LEVEL_INFO, LOG_FORMAT_JSON);
    log_info(msg);
    ASSERT_STR("{\"ts\":\"" TS "\",\"level\":\"info\",\"msg\":\"cannot read \\\"a\\\\b\\\", ignoring\"}\n",
               line);
}

TEST(log_every_kind_of_field)
{
    static const char *const want[] = {
        [LOG_FORMAT_TEXT] =
            TS " WARN m i=-9223372036854775808 u=18446744073709551615 yes=true no=false none=null t=ab"
               " error=\"no answer in 5 ms\" token=***\n",
        [LOG_FORMAT_JSON] = "{\"ts\":\"" TS "\",\"level\":\"warn\",\"msg\":\"m\",\"i\":-9223372036854775808,"
                            "\"u\":18446744073709551615,\"yes\":true,\"no\":false,\"none\":null,\"t\":\"ab\","
                            "\"error\":\"no answer in 5 ms\",\"token\":\"***\"}\n",
    };

    error_set(&err, ERR_TIMEOUT, "no answer in 5 ms");
    for (int format = 0; format < LOG_FORMAT_COUNT; format++) {
        start(LOG_LEVEL_INFO, (enum log_format)format);
        log_warn("m", LOG_INT("i", INT64_MIN), LOG_UINT("u", UINT64_MAX), LOG_BOOL("yes", true),
                 LOG_BOOL("no", false), LOG_STR("none", NULL), LOG_TEXT("t", ((struct str){ "abc", 2 })),
                 LOG_ERR(&err), LOG_SECRET("token"));
        ASSERT_STR(want[format], line);
        assert_well_formed((enum log_format)format);
    }
}

TEST(log_time_before_1970_and_at_the_ends)
{
    static const struct {
        int64_t real_ns;
        const char *ts;
    } rows[] = {
        { 0, "1970-01-01T00:00:00.000Z" },         { 999999, "1970-01-01T00:00:00.000Z" },
        { -1, "1969-12-31T23:59:59.999Z" },        { -1000000000, "1969-12-31T23:59:59.000Z" },
        { INT64_MAX, "2262-04-11T23:47:16.854Z" }, { INT64_MIN, "1677-09-21T00:12:43.145Z" },
    };

    start(LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        manual_clock_set_real(&now, rows[i].real_ns);
        log_info("m");
        line[strlen(rows[i].ts)] = '\0';
        ASSERT_STR(rows[i].ts, line);
    }
}

/* --- Escaping --- */

TEST(log_values_are_quoted_and_escaped)
{
    static const struct {
        struct str value;
        const char *text;
        const char *json;
    } rows[] = {
        { { "", 0 }, "\"\"", "\"\"" },
        { { "pv-1", 4 }, "pv-1", "\"pv-1\"" },
        { { "{[',:;]}", 8 }, "{[',:;]}", "\"{[',:;]}\"" },
        { { "two words", 9 }, "\"two words\"", "\"two words\"" },
        { { "a=b", 3 }, "\"a=b\"", "\"a=b\"" },
        { { "say \"hi\"", 8 }, "\"say \\\"hi\\\"\"", "\"say \\\"hi\\\"\"" },
        { { "a\"b", 3 }, "\"a\\\"b\"", "\"a\\\"b\"" },
        { { "a\\b", 3 }, "\"a\\\\b\"", "\"a\\\\b\"" },
        { { "a\nb\tc\rd", 7 }, "\"a\\nb\\tc\\u000dd\"", "\"a\\nb\\tc\\u000dd\"" },
        { { "nul\0!", 5 }, "\"nul\\u0000!\"", "\"nul\\u0000!\"" },
        { { "\x1B[31m", 5 }, "\"\\u001b[31m\"", "\"\\u001b[31m\"" },
        { { "\x7F", 1 }, "\"\\u007f\"", "\"\\u007f\"" },
        /* C1: a terminal may take U+009B for the start of a command */
        { { "\xC2\x9B", 2 }, "\"\\u009b\"", "\"\\u009b\"" },
        { { "\xC2\xA0", 2 }, "\xC2\xA0", "\"\xC2\xA0\"" },
        { { "gr\xC3\xB6\xC3\x9F"
            "e",
            7 },
          "gr\xC3\xB6\xC3\x9F"
          "e",
          "\"gr\xC3\xB6\xC3\x9F"
          "e\"" },
        { { "\xF0\x9F\x9A\xA2", 4 }, "\xF0\x9F\x9A\xA2", "\"\xF0\x9F\x9A\xA2\"" },
        /* line separator, right-to-left override, isolate, mark */
        { { "\xE2\x80\xA8", 3 }, "\"\\u2028\"", "\"\\u2028\"" },
        { { "\xE2\x80\xAE", 3 }, "\"\\u202e\"", "\"\\u202e\"" },
        { { "\xE2\x81\xA6", 3 }, "\"\\u2066\"", "\"\\u2066\"" },
        { { "\xD8\x9C", 2 }, "\"\\u061c\"", "\"\\u061c\"" },
        /* not UTF-8: a stray byte, an overlong slash, a surrogate, a torn end */
        { { "a\xFF", 2 }, "\"a\\xff\"", "\"a\\\\xff\"" },
        { { "\xC0\xAF", 2 }, "\"\\xc0\\xaf\"", "\"\\\\xc0\\\\xaf\"" },
        { { "\xED\xA0\x80", 3 }, "\"\\xed\\xa0\\x80\"", "\"\\\\xed\\\\xa0\\\\x80\"" },
        { { "\xE2\x82", 2 }, "\"\\xe2\\x82\"", "\"\\\\xe2\\\\x82\"" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ASSERT_STR(rows[i].text, value_of(LOG_FORMAT_TEXT, rows[i].value));
        assert_well_formed(LOG_FORMAT_TEXT);
        ASSERT_STR(rows[i].json, value_of(LOG_FORMAT_JSON, rows[i].value));
        assert_well_formed(LOG_FORMAT_JSON);
    }
}

TEST(log_lines_cannot_be_forged)
{
    const char *evil = "x\n" TS " ERROR all is lost claim=shop/db";

    start(LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
    log_info("m", LOG_STR("v", evil));
    ASSERT_STR(TS " INFO m v=\"x\\n" TS " ERROR all is lost claim=shop/db\"\n", line);
    log_info(evil, LOG_STR(evil, "v"));
    assert_well_formed(LOG_FORMAT_TEXT);
    start(LOG_LEVEL_INFO, LOG_FORMAT_JSON);
    log_info("a\"},{\"b", LOG_STR("k\":1,\"level", "\",\"level\":\"error"));
    assert_well_formed(LOG_FORMAT_JSON);
    ASSERT_STR("{\"ts\":\"" TS "\",\"level\":\"info\",\"msg\":\"a\\\"},{\\\"b\",\"k\\\":1,\\\"level\":"
               "\"\\\",\\\"level\\\":\\\"error\"}\n",
               line);
}

/* Any bytes, in message, key and value, of any length: whole lines come out, and JSON is JSON. */
TEST(log_survives_random_bytes)
{
    static char msg[200], key[200], value[6000];
    struct rng r;

    rng_init(&r, 6);
    for (int i = 0; i < 3000; i++) {
        enum log_format format = i % 2 ? LOG_FORMAT_JSON : LOG_FORMAT_TEXT;
        size_t len = (size_t)rng_below(&r, sizeof value);
        rng_bytes(&r, msg, rng_below(&r, sizeof msg));
        rng_bytes(&r, key, rng_below(&r, sizeof key));
        rng_bytes(&r, value, len);
        start(LOG_LEVEL_TRACE, format);
        log_trace(msg, LOG_TEXT(key, ((struct str){ value, len })), LOG_STR("key", key), LOG_STR("msg", msg),
                  LOG_INT("i", i));
        ASSERT_INT(1, lines);
        assert_well_formed(format);
    }
}

/* --- Cutting --- */

TEST(log_long_values_are_cut_visibly)
{
    static char text[3 * LOG_VALUE_BYTES_MAX];
    static const size_t lengths[] = { LOG_VALUE_BYTES_MAX - 1, LOG_VALUE_BYTES_MAX, LOG_VALUE_BYTES_MAX + 1,
                                      sizeof text };

    memset(text, 'a', sizeof text);
    for (int format = 0; format < LOG_FORMAT_COUNT; format++)
        for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
            const char *value = value_of((enum log_format)format, (struct str){ text, lengths[i] });
            bool cut = lengths[i] > LOG_VALUE_BYTES_MAX;
            bool quoted = cut || format == LOG_FORMAT_JSON;
            size_t want = (cut ? LOG_VALUE_BYTES_MAX + strlen(ELLIPSIS) : lengths[i]) + (quoted ? 2 : 0);
            ASSERT_INT(want, strlen(value));
            ASSERT_INT(cut, str_has_suffix(str_of(value), "a" ELLIPSIS "\""));
            assert_well_formed((enum log_format)format);
        }
}

TEST(log_values_are_cut_between_characters)
{
    static const char euro[] = { '\xE2', '\x82', '\xAC' };
    static char text[2 * LOG_VALUE_BYTES_MAX];

    for (size_t shift = 0; shift < 3; shift++) {
        memset(text, 'a', shift);
        for (size_t i = shift; i + 3 <= sizeof text; i += 3)
            memcpy(text + i, euro, sizeof euro);
        const char *value = value_of(LOG_FORMAT_TEXT, (struct str){ text, shift + 1800 });
        assert_true(str_is_utf8(str_of(value)));
        assert_true(str_has_suffix(str_of(value), "\xE2\x82\xAC" ELLIPSIS "\""));
    }
}

/* Fields that do not fit are left out whole, with what stands behind them; the end says so. */
TEST(log_long_lines_are_cut_visibly)
{
    static char text[900];

    memset(text, 'b', sizeof text - 1);
    for (int format = 0; format < LOG_FORMAT_COUNT; format++) {
        start(LOG_LEVEL_INFO, (enum log_format)format);
        log_info("m", LOG_STR("a", text), LOG_STR("b", text), LOG_STR("c", text), LOG_STR("d", text),
                 LOG_STR("e", text), LOG_INT("f", 1));
        assert_true(str_has_suffix(str_of(line), format == LOG_FORMAT_JSON ? "b\",\"cut\":\"" ELLIPSIS "\"}\n"
                                                                           : "b " ELLIPSIS "\n"));
        assert_non_null(strstr(line, format == LOG_FORMAT_JSON ? ",\"d\":\"bb" : " d=bb"));
        assert_null(strstr(line, format == LOG_FORMAT_JSON ? "\"e\":" : " e="));
        assert_null(strstr(line, format == LOG_FORMAT_JSON ? "\"f\":" : " f="));
        assert_well_formed((enum log_format)format);
    }
}

/* Lines of every length about the limit: complete or marked, never past it. */
TEST(log_line_limit_is_exact)
{
    static char text[1000], last[1000];
    bool seen_whole = false, seen_cut = false;

    memset(text, 'b', 999);
    for (size_t len = 900; len < 1000; len++) {
        memset(last, 'z', len);
        last[len] = '\0';
        start(LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
        log_info("m", LOG_STR("a", text), LOG_STR("b", text), LOG_STR("c", text), LOG_STR("x", last),
                 LOG_STR("y", "0123456789012345678901234567890123456789012345678"));
        bool cut = strstr(line, ELLIPSIS) != NULL;
        seen_whole |= !cut;
        seen_cut |= cut;
        assert_true(line_len <= LOG_LINE_BYTES_MAX);
        assert_true(cut || strstr(line, "12345678\n"));
        assert_well_formed(LOG_FORMAT_TEXT);
    }
    assert_true(seen_whole);
    assert_true(seen_cut);
}

/* --- Levels, installation --- */

static int evaluations;

static int64_t evaluated(void)
{
    return ++evaluations;
}

TEST(log_levels_filter_and_cost_nothing_when_off)
{
    for (int level = 0; level < LOG_LEVEL_COUNT; level++) {
        start((enum log_level)level, LOG_FORMAT_TEXT);
        evaluations = 0;
        log_error("m", LOG_INT("n", evaluated()));
        log_warn("m", LOG_INT("n", evaluated()));
        log_info("m", LOG_INT("n", evaluated()));
        log_debug("m", LOG_INT("n", evaluated()));
        log_trace("m", LOG_INT("n", evaluated()));
        ASSERT_INT(level + 1, lines);
        ASSERT_INT(level + 1, evaluations);
    }
    assert_true(strstr(line, " TRACE m n=5\n"));
}

TEST(log_is_silent_without_logger)
{
    start(LOG_LEVEL_TRACE, LOG_FORMAT_TEXT);
    log_install(NULL);
    evaluations = 0;
    log_error("m", LOG_INT("n", evaluated()));
    ASSERT_INT(0, lines);
    ASSERT_INT(0, evaluations);
}

/* A macro that is one statement: the else belongs to the outer if. */
TEST(log_macros_are_statements)
{
    bool otherwise = false;

    start(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT);
    if (lines > 0)
        log_info("m");
    else
        otherwise = true;
    assert_true(otherwise);
}

TEST(log_level_and_format_names_parse)
{
    static const char *const names[] = { "error", "warn", "info", "debug", "trace" };
    static const char *const wrong[] = { "", "INFO", "information", "inf", " info", "0" };
    enum log_level level = LOG_LEVEL_COUNT;
    enum log_format format = LOG_FORMAT_COUNT;

    for (int i = 0; i < LOG_LEVEL_COUNT; i++) {
        ASSERT_OK(log_level_parse(names[i], &level, &err));
        ASSERT_INT(i, level);
    }
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        ASSERT_ERR(ERR_INVALID, log_level_parse(wrong[i], &level, &err));
        ASSERT_ERR(ERR_INVALID, log_format_parse(wrong[i], &format, &err));
    }
    ASSERT_INT(LOG_LEVEL_TRACE, level); /* untouched by the failures */
    ASSERT_INT(LOG_FORMAT_COUNT, format);
    ASSERT_OK(log_format_parse("json", &format, &err));
    ASSERT_INT(LOG_FORMAT_JSON, format);
    ASSERT_OK(log_format_parse("text", &format, &err));
    ASSERT_INT(LOG_FORMAT_TEXT, format);
    ASSERT_ERR(ERR_INVALID, log_level_parse("loud", &level, &err));
    ASSERT_STR("unknown log level 'loud': use error, warn, info, debug or trace", err.msg);
}

/* --- Threads --- */

#define THREAD_LINES 500

static atomic_uint whole_lines;

static void count_line(void *ctx, const char *text, size_t len)
{
    (void)ctx;
    if (len > 0 && memchr(text, '\n', len) == text + len - 1 &&
        str_has_prefix((struct str){ text, len }, TS " INFO m n="))
        atomic_fetch_add(&whole_lines, 1);
}

static void *log_many(void *arg)
{
    (void)arg;
    for (int i = 0; i < THREAD_LINES; i++)
        log_info("m", LOG_INT("n", i), LOG_STR("v", "x\ny"));
    return NULL;
}

TEST(log_threads_write_whole_lines)
{
    struct logger counting;
    pthread_t threads[4];

    start(LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
    counting = logger;
    counting.sink = count_line;
    log_install(&counting);
    atomic_store(&whole_lines, 0);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        ASSERT_INT(0, pthread_create(&threads[i], NULL, log_many, NULL));
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        ASSERT_INT(0, pthread_join(threads[i], NULL));
    ASSERT_INT(ARRAY_LEN(threads) * THREAD_LINES, atomic_load(&whole_lines));
    log_install(NULL);
}

TEST(die_ends_the_process_with_or_without_a_logger)
{
    start(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT);
    ASSERT_ABORTS(die_with_reason("nothing left"));
    log_install(NULL);
    ASSERT_ABORTS(die_with_reason("nothing left"));
}

TEST_MAIN()
