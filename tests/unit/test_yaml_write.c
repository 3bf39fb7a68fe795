/* Writing: the shape of `kubectl get -o yaml`, and everything written reads as what it was. */
#include "tests/unit/test.h"

#include "api/json.h"
#include "api/yaml.h"
#include "base/cleanup.h"
#include "base/rng.h"

#define TEST_BYTES_MAX (4u << 20)

static struct error err;

static const char *yaml_of(const char *json_text, bool sorted)
{
    static char answer[16384];
    struct buf out = BUF_INIT(sizeof answer - 1);
    struct json d;
    json_ref v;

    json_init(&d, TEST_BYTES_MAX);
    ASSERT_OK(json_parse(&d, str_of(json_text), &v, &err));
    if (sorted)
        yaml_sort(&d, v);
    ASSERT_OK(yaml_write(&d, v, &out, &err));
    (void)snprintf(answer, sizeof answer, "%s", buf_cstr(&out));
    buf_done(&out);
    json_done(&d);
    return answer;
}

static void check_rows(const char *const rows[][2], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i][1], yaml_of(rows[i][0], false)) != 0)
            fail_msg("%s\nwritten as\n%s\nexpected\n%s", rows[i][0], yaml_of(rows[i][0], false), rows[i][1]);
}

TEST(shapes)
{
    static const char *const rows[][2] = {
        { "{}", "{}\n" },
        { "[]", "[]\n" },
        { "null", "null\n" },
        { "true", "true\n" },
        { "\"a\"", "a\n" },
        { "[1,-2.50,1e5,12345678901234567890,true,false,null]",
          "- 1\n- -2.50\n- 1e5\n- 12345678901234567890\n- true\n- false\n- null\n" },
        { "{\"b\":{},\"a\":[]}", "b: {}\na: []\n" },
        { "{\"metadata\":{\"finalizers\":[\"a\",\"b\"],\"name\":\"x\"}}",
          "metadata:\n  finalizers:\n  - a\n  - b\n  name: x\n" },
        { "[[1,[2,3]],{\"a\":[{\"b\":1,\"c\":2}]},[],{}]",
          "- - 1\n  - - 2\n    - 3\n- a:\n  - b: 1\n    c: 2\n- []\n- {}\n" },
        { "{\"a\":{\"b\":{\"c\":null}}}", "a:\n  b:\n    c: null\n" },
    };
    check_rows(rows, ARRAY_LEN(rows));
}

/* The expected texts are kubectl's own. */
TEST(strings_are_quoted_when_they_must_be)
{
    static const char *const rows[][2] = {
        { "[\"a\",\"a b\",\"a:b\",\"-a\",\"it's\",\"a\\\\b\",\"5Gi\",\"<<\",\"=\",\"\303\251\"]",
          "- a\n- a b\n- a:b\n- -a\n- it's\n- a\\b\n- 5Gi\n- <<\n- =\n- \303\251\n" },
        { "[\"\",\"~\",\"null\",\"y\",\"no\",\"true\",\"1\",\"0x1F\",\"1_000\",\"0777\",\"08\",\"1e5\",\"."
          "5\",\".inf\"]",
          "- \"\"\n- \"~\"\n- \"null\"\n- \"y\"\n- \"no\"\n- \"true\"\n- \"1\"\n- \"0x1F\"\n- \"1_000\"\n- "
          "\"0777\"\n"
          "- \"08\"\n- \"1e5\"\n- \".5\"\n- \".inf\"\n" },
        { "[\"1:30\",\"2001-01-01\",\"2024-01-01T00:00:00Z\",\"2024-01-01T00:00:00\"]",
          "- \"1:30\"\n- \"2001-01-01\"\n- \"2024-01-01T00:00:00Z\"\n- 2024-01-01T00:00:00\n" },
        { "[\"x: y\",\"a:\",\"x #y\",\"- a\",\"? "
          "b\",\"*a\",\"&a\",\"@a\",\"%a\",\"`a\",\",a\",\"[a\",\"{a\",\"!a\",\"|\"]",
          "- 'x: y'\n- 'a:'\n- 'x #y'\n- '- a'\n- '? b'\n- '*a'\n- '&a'\n- '@a'\n- '%a'\n- '`a'\n- ',a'\n- "
          "'[a'\n"
          "- '{a'\n- '!a'\n- '|'\n" },
        { "[\" x\",\"x \",\"'a'\",\"\\\"a\\\"\",\"---\",\"...\"]",
          "- ' x'\n- 'x '\n- '''a'''\n- '\"a\"'\n- '---'\n- '...'\n" },
        { "[\"a\\tb\",\"a\\rb\",\"a\\u0000b\",\"a\\u0085b\",\"\\ufeff\",\"\xF0\x9F\x98\x80\",\"a \\nb\"]",
          "- \"a\\tb\"\n- \"a\\rb\"\n- \"a\\0b\"\n- \"a\\Nb\"\n- \"\\uFEFF\"\n- \"\\U0001F600\"\n- \"a "
          "\\nb\"\n" },
        { "{\"\":1,\"1\":2,\"y\":3,\"<<\":4,\"a b\":5,\"a: b\":6}",
          "\"\": 1\n\"1\": 2\n\"y\": 3\n\"<<\": 4\na b: 5\n'a: b': 6\n" },
    };
    check_rows(rows, ARRAY_LEN(rows));
}

TEST(several_lines_are_literal_blocks)
{
    static const char *const rows[][2] = {
        { "{\"a\":\"x\\ny\",\"b\":\"x\\ny\\n\",\"c\":\"x\\n\\n\",\"d\":1}",
          "a: |-\n  x\n  y\nb: |\n  x\n  y\nc: |+\n  x\n\nd: 1\n" },
        { "{\"a\":\" x\\ny\",\"b\":\"\\nx\"}", "a: |2-\n   x\n  y\nb: |2-\n\n  x\n" },
        { "[\"x\\n\\n\"]", "- |+\n  x\n\n" },
        { "{\"a\\nb\":1}", "? |-\n  a\n  b\n: 1\n" },
    };
    check_rows(rows, ARRAY_LEN(rows));
}

TEST(long_strings_fold_at_80_columns)
{
    static const char *const rows[][2] = {
        { "{\"message\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb "
          "cccccccccccccccccccccccc "
          "dddddddddddd eeeeeeeeeeeeeee\"}",
          "message: aaaaaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb "
          "cccccccccccccccccccccccc\n"
          "  dddddddddddd eeeeeeeeeeeeeee\n" },
        { "{\"message\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaa: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb "
          "cccccccccccccccccccccccc "
          "dddddddddddd eeeeeeeeeeeeeee\"}",
          "message: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaa: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb "
          "cccccccccccccccccccccccc\n"
          "  dddddddddddd eeeeeeeeeeeeeee'\n" },
    };
    check_rows(rows, ARRAY_LEN(rows));
}

TEST(sorting_is_natural)
{
    ASSERT_STR("a1: 1\na2: 1\na10: 1\n", yaml_of("{\"a10\":1,\"a2\":1,\"a1\":1}", true));
    ASSERT_STR("b-1: 1\nb.1: 1\nb_: 1\nb1: 1\nbA: 1\nba: 1\n",
               yaml_of("{\"ba\":1,\"bA\":1,\"b1\":1,\"b_\":1,\"b.1\":1,\"b-1\":1}", true));
    ASSERT_STR("a00: 1\na1: 1\na01: 1\na001: 1\na11: 1\na100: 1\n",
               yaml_of("{\"a100\":1,\"a11\":1,\"a001\":1,\"a01\":1,\"a1\":1,\"a00\":1}", true));
    ASSERT_STR("\"~\": 1\ne: 1\nz: 1\n\303\251: 1\n",
               yaml_of("{\"\303\251\":1,\"z\":1,\"~\":1,\"e\":1}", true));
    ASSERT_STR("a: 1\na-b: 1\nab: 1\n", yaml_of("{\"ab\":1,\"a-b\":1,\"a\":1}", true));
    ASSERT_STR("a1b: 1\na2: 1\na10: 1\n", yaml_of("{\"a2\":1,\"a10\":1,\"a1b\":1}", true));
    ASSERT_STR("a:\n- w: 1\n  x: 2\n- z\nb:\n  c: 1\n  d: 2\n",
               yaml_of("{\"b\":{\"d\":2,\"c\":1},\"a\":[{\"x\":2,\"w\":1},\"z\"]}", true));
}

TEST(a_subtree_is_written_without_its_siblings)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(TEST_BYTES_MAX);
    struct json d;
    json_ref v;

    json_init(&d, TEST_BYTES_MAX);
    ASSERT_OK(json_parse(&d, STR_LIT("{\"a\":{\"c\":1,\"b\":[2]},\"z\":3}"), &v, &err));
    yaml_sort(&d, json_get(&d, v, "a"));
    ASSERT_OK(yaml_write(&d, json_get(&d, v, "a"), &out, &err));
    ASSERT_OK(yaml_write(&d, json_path(&d, v, "a", "c"), &out, &err)); /* appended */
    ASSERT_OK(yaml_write(&d, /* absent */ 0, &out, &err));
    ASSERT_STR("b:\n- 2\nc: 1\n1\nnull\n", buf_cstr(&out));
    json_done(&d);
}

TEST(too_long_a_text_is_an_error)
{
    struct buf out = BUF_INIT(10);
    struct json d;
    json_ref v;

    json_init(&d, TEST_BYTES_MAX);
    ASSERT_OK(json_parse(&d, STR_LIT("[\"0123456789\"]"), &v, &err));
    ASSERT_ERR(ERR_TOO_LARGE, yaml_write(&d, v, &out, &err));
    ASSERT_STR("YAML text is larger than 10 bytes", err.msg);
    buf_done(&out);
    json_done(&d);
}

/* --- Random trees --- */

static struct rng rng;

static unsigned random_below(unsigned n)
{
    return (unsigned)rng_below(&rng, n);
}

static const char *const parts[] = {
    "a",
    "B",
    "word ",
    "\n",
    " ",
    "  ",
    ": ",
    ":",
    "#",
    " #",
    "- ",
    "-",
    "?",
    ",",
    "[",
    "]",
    "{",
    "}",
    "&",
    "*",
    "!",
    "|",
    ">",
    "'",
    "\"",
    "%",
    "@",
    "`",
    "\t",
    "\r",
    "\\",
    "0",
    "12",
    ".",
    "1e5",
    "_",
    "+",
    "---",
    "...",
    "=",
    "<<",
    "~",
    "y",
    "null",
    "true",
    "off",
    "0x1F",
    "\303\251",
    "\xE2\x80\xA8",
    "\xC2\x85",
    "\xEF\xBB\xBF",
    "\xF0\x9F\x98\x80",
    "\x01",
    "\x7F",
    "2001-01-01",
    "\n\n",
    "lorem ipsum dolor sit amet ",
    "0123456789012345678901234567890123456789",
};

static struct str random_text(struct buf *out)
{
    static const unsigned lengths[] = { 0, 1, 1, 2, 3, 5, 12, 40 };
    unsigned count = lengths[random_below(ARRAY_LEN(lengths))];

    buf_clear(out);
    while (count--)
        buf_add_cstr(out, parts[random_below(ARRAY_LEN(parts))]);
    if (random_below(20) == 0)
        buf_add(out, "\0", 1);
    return buf_str(out);
}

static json_ref random_number(struct json *d)
{
    static const char *const numbers[] = { "0",
                                           "-0",
                                           "1",
                                           "-17",
                                           "1.50",
                                           "1e5",
                                           "1E-7",
                                           "-0.0",
                                           "1e308",
                                           "0e99",
                                           "18446744073709551615",
                                           "123456789012345678901234" };

    return json_new_number(d, str_of(numbers[random_below(ARRAY_LEN(numbers))]));
}

static json_ref random_tree(struct json *d, unsigned depth, struct buf *scratch)
{
    unsigned kind = random_below(depth ? 10 : 6), members = random_below(5);
    json_ref v;

    if (kind < 3)
        return json_new_string(d, random_text(scratch));
    if (kind == 3)
        return random_number(d);
    if (kind == 4)
        return json_new_bool(d, random_below(2));
    if (kind == 5)
        return json_new_null(d);
    v = kind < 8 ? json_new_array(d) : json_new_object(d);
    while (members--) {
        json_ref child = random_tree(d, depth - 1, scratch);
        if (kind < 8)
            json_append(d, v, child);
        else
            json_set_key(d, v, random_text(scratch), child);
    }
    return v;
}

TEST(random_trees_survive)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(TEST_BYTES_MAX), scratch = BUF_INIT(TEST_BYTES_MAX);
    struct json d;

    json_init(&d, TEST_BYTES_MAX);
    for (unsigned i = 0; i < 3000; i++) {
        json_ref v, again = 0;
        rng_init(&rng, i);
        json_clear(&d);
        buf_clear(&text);
        v = json_new_array(&d); /* a null alone would be no document */
        json_append(&d, v, random_tree(&d, 5, &scratch));
        if (random_below(2))
            yaml_sort(&d, v);
        ASSERT_OK(json_check(&d, &err));
        ASSERT_OK(yaml_write(&d, v, &text, &err));
        if (yaml_parse(&d, buf_str(&text), &again, &err) < 0 || !json_equal(&d, v, again))
            fail_msg("seed %u: %s\n%s", i, again ? "read as something else" : err.msg, buf_cstr(&text));
    }
    json_done(&d);
}

TEST(deep_trees_survive)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(TEST_BYTES_MAX);
    struct json d;
    json_ref v, again;

    json_init(&d, TEST_BYTES_MAX);
    v = json_new_string(&d, STR_LIT("bottom\nline"));
    for (int i = 0; i < YAML_DEPTH_MAX; i++) {
        json_ref outer = i % 2 ? json_new_array(&d) : json_new_object(&d);
        if (i % 2)
            json_append(&d, outer, v);
        else
            json_set(&d, outer, "k", v);
        v = outer;
    }
    ASSERT_OK(yaml_write(&d, v, &text, &err));
    ASSERT_OK(yaml_parse(&d, buf_str(&text), &again, &err));
    assert_true(json_equal(&d, v, again));
    json_done(&d);
}

TEST_MAIN()
