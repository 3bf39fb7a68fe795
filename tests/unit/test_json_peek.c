#include "machinery/json_peek.h"

#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define TEXT                                                                                          \
    "{\"kind\":\"K\",\"n\":-1.5e3,\"empty\":{},\"list\":[1,[2,{\"a\":\"]\"}],\"}\"],\"say\":\"a\\\"," \
    "\\\\\",\"t\":true,\"deep\":{\"x\":null,\"list\":[],\"text\":\"\",\"deep\":{\"x\":2}},\"last\":0}"

static const struct {
    const char *keys[4]; /* NULL ends them */
    const char *expected;
} rows[] = {
    { { "kind" }, "\"K\"" },
    { { "n" }, "-1.5e3" },
    { { "empty" }, "{}" },
    { { "list" }, "[1,[2,{\"a\":\"]\"}],\"}\"]" },
    { { "say" }, "\"a\\\",\\\\\"" },
    { { "t" }, "true" },
    { { "deep", "x" }, "null" }, /* not the one further down */
    { { "deep", "list" }, "[]" },
    { { "deep", "text" }, "\"\"" },
    { { "deep", "deep", "x" }, "2" },
    { { "last" }, "0" },
    { { "x" }, "" },
    { { "empty", "x" }, "" },
    { { "list", "a" }, "" }, /* no object */
    { { "say", "a" }, "" },
    { { "las" }, "" },
    { { "lastly" }, "" },
};

TEST(a_members_text_is_found)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str got = json_peek_path(str_of(TEXT), rows[i].keys);

        if (!str_is(got, rows[i].expected))
            fail_msg("row %zu: \"%.*s\"", i, STR_ARG(got));
    }
}

TEST(the_whole_text_is_its_own_end)
{
    ASSERT_INT(0, json_peek(STR_LIT(""), "a").len);
    ASSERT_INT(0, json_peek(STR_LIT("{}"), "a").len);
    ASSERT_INT(0, json_peek(STR_LIT("[]"), "a").len);
    assert_true(str_is(json_peek(STR_LIT("{\"a\":{\"b\":[]}}"), "a"), "{\"b\":[]}"));
}

/* No text of ours is cut short; nothing beyond its end is read all the same. */
TEST(a_text_that_ends_anywhere_is_not_left)
{
    size_t len = sizeof(TEXT) - 1;

    for (size_t cut = 0; cut < len; cut++)
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            _cleanup_(freep) char *text = malloc(cut ? cut : 1);
            struct str got;

            assert_non_null(text);
            memcpy(text, TEXT, cut);
            got = json_peek_path((struct str){ text, cut }, rows[i].keys);
            assert_true(got.len <= cut);
        }
}

TEST_MAIN()
