/* The diff of JSON values that refusals of changes carry. */
#include "tests/unit/test.h"

#include "api/json_diff.h"
#include "base/cleanup.h"

static struct error err;

static const char *diff(const char *before, const char *after)
{
    static struct buf out = { .len_max = (size_t)64 << 10 };
    _cleanup_(json_done_p) struct json d;
    json_ref a = 0, b = 0;

    json_init(&d, 16 << 20);
    buf_clear(&out);
    if (before)
        ASSERT_OK(json_parse(&d, str_of(before), &a, &err));
    if (after)
        ASSERT_OK(json_parse(&d, str_of(after), &b, &err));
    json_diff(&d, "x", a, b, &out);
    return buf_cstr(&out);
}

TEST(diff_lines)
{
    static const struct {
        const char *before, *after, *lines;
    } rows[] = {
        { "{\"a\":1}", "{\"a\":1}", "" },
        { "1", "2", "- x: 1\n+ x: 2\n" },
        { NULL, "{\"a\":1}", "+ x: {\"a\":1}\n" },
        { "\"s\"", NULL, "- x: \"s\"\n" },
        { "{\"a\":1,\"b\":2,\"c\":3}", "{\"c\":3,\"b\":5,\"d\":6}",
          "- x.a: 1\n- x.b: 2\n+ x.b: 5\n+ x.d: 6\n" },
        { "{\"a\":{\"b\":[1,2]}}", "{\"a\":{\"b\":[2,1]}}", "- x.a.b: [1,2]\n+ x.a.b: [2,1]\n" },
        { "{\"a\":{}}", "{\"a\":[]}", "- x.a: {}\n+ x.a: []\n" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_STR(rows[i].lines, diff(rows[i].before, rows[i].after));
}

TEST(diff_is_bounded)
{
    _cleanup_(buf_done_p) struct buf many = BUF_INIT(1 << 20), deep = BUF_INIT(1 << 20),
                                     huge = BUF_INIT(1 << 20);
    const char *lines;

    /* a long value is left out, what stands behind it is not */
    buf_addf(&huge, "{\"a\":\"%0600d\",\"b\":1}", 0);
    ASSERT_STR("- x.a: ...\n+ x.a: 1\n- x.b: 1\n+ x.b: 2\n", diff(buf_cstr(&huge), "{\"a\":1,\"b\":2}"));

    for (int i = 0; i < 5000; i++)
        buf_add_cstr(&deep, "{\"a\":");
    buf_add_cstr(&deep, "1");
    for (int i = 0; i < 5000; i++)
        buf_add_cstr(&deep, "}");
    ASSERT_STR("- x: ...\n+ x: 1\n", diff(buf_cstr(&deep), "1"));

    buf_add_cstr(&many, "{");
    for (int i = 0; i < 60; i++)
        buf_addf(&many, "%s\"k%d\":\"%0300d\"", i ? "," : "", i, i);
    buf_add_cstr(&many, "}");
    lines = diff(buf_cstr(&many), "{}");
    assert_true(strlen(lines) <= JSON_DIFF_BYTES_MAX + 4);
    ASSERT_STR("...\n", lines + strlen(lines) - 4);
}

TEST_MAIN()
