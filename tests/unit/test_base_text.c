/* Errors, slices, buffers, arenas. */
#include "tests/unit/test.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/str.h"

static struct error err;

TEST(error_wrap_puts_context_in_front)
{
    ASSERT_INT(-ERR_TIMEOUT, error_set(&err, ERR_TIMEOUT, "no answer in %d ms", 15));
    ASSERT_INT(-ERR_TIMEOUT, error_wrap(&err, "claim '%s'", "shop/db"));
    ASSERT_STR("claim 'shop/db': no answer in 15 ms", err.msg);
    assert_true(err.code == ERR_TIMEOUT);
}

TEST(error_may_quote_what_it_said)
{
    (void)error_set(&err, ERR_NOT_FOUND, "no such plugin");
    ASSERT_INT(-ERR_INVALID, error_set(&err, ERR_INVALID, "volume 'v': err=%s", (const char *)err.msg));
    ASSERT_STR("volume 'v': err=no such plugin", err.msg);
}

TEST(error_too_long_is_cut_between_characters)
{
    char text[ERROR_MSG_BYTES_MAX + 16];

    memset(text, 'a', sizeof text);
    for (size_t shift = 0; shift < 3; shift++) {
        size_t at = ERROR_MSG_BYTES_MAX - 2 - shift;
        memset(text, 'a', sizeof text);
        memcpy(text + at, "\xE2\x82\xAC", 3);
        text[sizeof text - 1] = '\0';
        error_set(&err, ERR_IO, "%s", text);
        assert_true(str_is_utf8(str_of(err.msg)));
        assert_true(strlen(err.msg) >= at);
    }
}

/* What mount(8) says comes behind two long paths. */
TEST(error_has_room_for_paths_and_their_cause)
{
    char path[1024];

    memset(path, 'p', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    (void)error_set(&err, ERR_IO, "%s: %s: the cause", path, path);
    (void)error_wrap(&err, "volume '%s'", path);
    ASSERT_INT(3 * (sizeof path - 1) + strlen("volume '': : : the cause"), strlen(err.msg));
    assert_true(str_has_suffix(str_of(err.msg), ": the cause"));
}

TEST(error_errno_picks_code_and_text)
{
    ASSERT_INT(-ERR_NOT_FOUND, error_set_errno(&err, 2, "open '%s'", "x"));
    ASSERT_STR("open 'x': No such file or directory", err.msg);
    ASSERT_STR("not-found", error_name(err.code));
}

TEST(error_expected_outcomes)
{
    for (int code = ERR_NONE; code < ERR_COUNT; code++)
        ASSERT_INT(code == ERR_OP_PENDING || code == ERR_BACKOFF, error_is_expected(-code));
}

TEST(str_next_visits_every_part)
{
    struct str rest = STR_LIT("a,,b,");
    const char *want[] = { "a", "", "b", "" };
    size_t n = 0;

    while (rest.s) {
        struct str part = str_next(&rest, ',');
        assert_true(n < ARRAY_LEN(want));
        assert_true(str_is(part, want[n++]));
    }
    ASSERT_INT(ARRAY_LEN(want), n);
}

TEST(str_numbers)
{
    static const struct {
        const char *text;
        bool ok;
        int64_t value;
    } rows[] = {
        { "0", true, 0 },
        { "-5", true, -5 },
        { "9223372036854775807", true, INT64_MAX },
        { "-9223372036854775808", true, INT64_MIN },
        { "9223372036854775808", false, 0 },
        { "-9223372036854775809", false, 0 },
        { "", false, 0 },
        { "-", false, 0 },
        { "+5", false, 0 },
        { " 5", false, 0 },
        { "5 ", false, 0 },
        { "0x5", false, 0 },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t value = 0;
        if (str_to_int64(str_of(rows[i].text), &value) != rows[i].ok || value != rows[i].value)
            fail_msg("'%s' gave %lld", rows[i].text, (long long)value);
    }
    uint64_t big;
    assert_true(str_to_uint64(STR_LIT("18446744073709551615"), &big));
    assert_true(big == UINT64_MAX);
    assert_false(str_to_uint64(STR_LIT("18446744073709551616"), &big));
}

TEST(str_utf8)
{
    static const struct {
        const char *text;
        bool ok;
    } rows[] = {
        { "", true },
        { "plain", true },
        { "\xC2\xA0\xE2\x82\xAC\xF0\x9F\x98\x80", true },
        { "\xED\x9F\xBF\xEE\x80\x80\xF4\x8F\xBF\xBF", true },
        { "\xC0\x80", false },         /* overlong NUL */
        { "\xE0\x9F\xBF", false },     /* overlong */
        { "\xED\xA0\x80", false },     /* surrogate */
        { "\xF4\x90\x80\x80", false }, /* beyond U+10FFFF */
        { "\xF0\x8F\xBF\xBF", false }, /* overlong */
        { "a\x80", false },
        { "\xE2\x82", false }, /* truncated */
        { "\xFF", false },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (str_is_utf8(str_of(rows[i].text)) != rows[i].ok)
            fail_msg("row %zu", i);
}

TEST(str_order_trim_affixes)
{
    assert_true(str_cmp(STR_LIT("a"), STR_LIT("ab")) < 0);
    assert_true(str_cmp(STR_LIT("b"), STR_LIT("ab")) > 0);
    assert_true(str_cmp(STR_LIT(""), STR_LIT("")) == 0);
    assert_true(str_is(str_trim(STR_LIT(" \t a b\r\n")), "a b"));
    assert_true(str_is(str_trim(STR_LIT("  ")), ""));
    assert_true(str_has_prefix(STR_LIT("kubernetes.io/x"), "kubernetes.io/"));
    assert_false(str_has_prefix(STR_LIT("kube"), "kubernetes.io/"));
    assert_true(str_has_suffix(STR_LIT("a.yaml"), ".yaml"));
}

TEST(buf_stops_at_its_ceiling_and_stays_failed)
{
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(8);

    buf_add_cstr(&b, "12345678");
    ASSERT_INT(ERR_NONE, b.failed);
    ASSERT_STR("12345678", buf_cstr(&b));
    buf_add_char(&b, '9');
    ASSERT_INT(ERR_TOO_LARGE, b.failed);
    buf_add(&b, "", 0);
    ASSERT_INT(ERR_TOO_LARGE, b.failed);
    ASSERT_ERR(ERR_TOO_LARGE, buf_check(&b, "request body", &err));
    ASSERT_STR("request body is larger than 8 bytes", err.msg);
    assert_null(buf_take(&b));
    buf_clear(&b);
    buf_addf(&b, "%d-%s", 42, "x");
    ASSERT_INT(ERR_NONE, b.failed);
    ASSERT_STR("42-x", buf_cstr(&b));
}

TEST(buf_take_gives_a_string_even_when_empty)
{
    struct buf b = BUF_INIT(100);
    _cleanup_(freep) char *empty = buf_take(&b);

    ASSERT_STR("", empty);
    buf_add_cstr(&b, "x");
    _cleanup_(freep) char *full = buf_take(&b);
    ASSERT_STR("x", full);
    ASSERT_INT(0, b.len);
}

TEST(arena_keeps_everything_until_done)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(1 << 20);
    char *texts[1000];

    for (int i = 0; i < 1000; i++) {
        texts[i] = arena_printf(&a, "text %d", i);
        uint64_t *number = arena_alloc(&a, sizeof *number);
        assert_non_null(number);
        ASSERT_INT(0, (uintptr_t)number % 8);
        ASSERT_INT(0, *number);
        *number = UINT64_MAX;
    }
    for (int i = 0; i < 1000; i++) {
        char want[32];
        snprintf(want, sizeof want, "text %d", i);
        ASSERT_STR(want, texts[i]);
    }
    arena_clear(&a);
    ASSERT_INT(0, a.used);
    ASSERT_STR("again", arena_dup(&a, STR_LIT("again")));
}

/* What was handed out in several blocks fits one of the size that is named, and fills it but for padding. */
TEST(arena_packed_bytes_are_enough)
{
    _cleanup_(arena_done_p) struct arena first = ARENA_INIT(1 << 20), second = ARENA_INIT(1 << 20);
    struct arena *const passes[] = { &first, &second };
    const char *low = NULL, *high = NULL;

    for (size_t pass = 0; pass < 2; pass++) {
        if (pass == 1)
            arena_reserve(&second, arena_packed_bytes(&first));
        for (int i = 0; i < 300; i++) {
            char *text = arena_printf(passes[pass], "%d", i * i);
            uint64_t *number = arena_alloc(passes[pass], sizeof *number);
            low = i == 0 ? text : low;
            high = (const char *)(number + 1);
        }
    }
    assert_true(high > low);
    assert_true((size_t)(high - low) <= arena_packed_bytes(&first));
    assert_true(arena_packed_bytes(&first) - (size_t)(high - low) < 128);
}

TEST(arena_ceiling_sticks)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(100);

    assert_non_null(arena_alloc(&a, 60));
    assert_null(arena_alloc(&a, 60));
    assert_null(arena_alloc(&a, 1));
    ASSERT_ERR(ERR_TOO_LARGE, arena_check(&a, &err));
    arena_clear(&a);
    assert_null(arena_array(&a, SIZE_MAX / 2, 16));
}

TEST_MAIN()
