/* Quoted values in messages. */
#include "tests/unit/test.h"

#include "api/quote.h"
#include "base/cleanup.h"

TEST(quote_escapes)
{
    static const struct {
        const char *text;
        size_t len;
        const char *quoted;
    } rows[] = {
        { "", 0, "\"\"" },
        { "plain text", 10, "\"plain text\"" },
        { "a\"b\\c", 5, "\"a\\\"b\\\\c\"" },
        { "\a\b\t\n\v\f\r", 7, "\"\\a\\b\\t\\n\\v\\f\\r\"" },
        { "\0\x1f\x7f", 3, "\"\\x00\\x1f\\x7f\"" },
        { "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 9, "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"" },
        { "\xC2\x80\xC2\xA0\xC2\xAD\xC2\xB5", 8, "\"\\u0080\\u00a0\\u00ad\xC2\xB5\"" },
        { "a\xFFz", 3, "\"a\\xffz\"" },
        { "\xE2\x82", 2, "\"\\xe2\\x82\"" },
        { "\xC0\x80", 2, "\"\\xc0\\x80\"" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        /* from a block of just its size, so that a sanitizer sees a read past its end */
        _cleanup_(freep) char *copy = malloc(rows[i].len);
        char quoted[64];

        assert_true(copy || rows[i].len == 0);
        memcpy(copy, rows[i].text, rows[i].len);
        ASSERT_STR(rows[i].quoted, quote_text(quoted, sizeof quoted, (struct str){ copy, rows[i].len }));
    }
}

TEST(quote_is_cut_between_characters)
{
    for (size_t size = 3; size < 16; size++) {
        char quoted[16];
        struct str s = STR_LIT("ab\xE2\x82\xAC\n\xFF");

        memset(quoted, '#', sizeof quoted);
        quote_text(quoted, size, s);
        assert_true(strlen(quoted) < size);
        assert_true(str_is_utf8(str_of(quoted)));
        if (size < sizeof quoted)
            ASSERT_INT('#', quoted[size]);
    }
    char quoted[8];
    ASSERT_STR("\"abc\"", quote_text(quoted, 6, STR_LIT("abc")));
    ASSERT_STR("\"abc", quote_text(quoted, 5, STR_LIT("abc")));
    ASSERT_STR("\"ab", quote_text(quoted, 4, STR_LIT("abc")));
}

TEST_MAIN()
