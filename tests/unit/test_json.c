/* JSON documents: parsing, reading, editing, writing. */
#include "tests/unit/test.h"

#include "api/json.h"
#include "base/cleanup.h"

#define BYTES_MAX ((size_t)4 << 20)

static struct error err;

static json_ref parse(struct json *d, const char *text)
{
    json_ref v = 0;

    ASSERT_OK(json_parse(d, str_of(text), &v, &err));
    assert_true(v != 0);
    return v;
}

static char *text_of(const struct json *d, json_ref v, bool pretty)
{
    struct buf out = BUF_INIT(4 * BYTES_MAX);

    (pretty ? json_write_pretty : json_write)(d, v, &out);
    ASSERT_OK(buf_check(&out, "text", &err));
    return buf_take(&out);
}

#define ASSERT_JSON(expected, d, v)                                     \
    do {                                                                \
        _cleanup_(freep) char *have_ = text_of((d), (v), /*pretty=*/0); \
        ASSERT_STR((expected), have_);                                  \
    } while (0)

/* before, repeated n times, then middle, then after, repeated n times. */
static char *nested(const char *before, unsigned n, const char *middle, const char *after)
{
    struct buf b = BUF_INIT(BYTES_MAX);

    for (unsigned i = 0; i < n; i++)
        buf_add_cstr(&b, before);
    buf_add_cstr(&b, middle);
    for (unsigned i = 0; i < n; i++)
        buf_add_cstr(&b, after);
    return buf_take(&b);
}

/* {"k0":0,"k1":1,…}, in descending order when asked. */
static char *many_members(unsigned n, bool descending)
{
    struct buf b = BUF_INIT(BYTES_MAX);

    for (unsigned i = 0; i < n; i++) {
        unsigned k = descending ? n - 1 - i : i;
        buf_addf(&b, "%c\"k%u\":%u", i ? ',' : '{', k, k);
    }
    buf_add_char(&b, '}');
    return buf_take(&b);
}

/* --- Parsing --- */

TEST(texts_come_back_as_they_were)
{
    static const char *const texts[] = {
        "null",
        "true",
        "false",
        "0",
        "-0",
        "9223372036854775807",
        "-9223372036854775808",
        "18446744073709551616",
        "123456789012345678901234567890",
        "1.50",
        "1e5",
        "1E+05",
        "-2.5e-300",
        "1e-400",
        "\"\"",
        "\"a\"",
        "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\\u0000\"",
        "\"\x7f\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"",
        "[]",
        "{}",
        "[[],{},[[]],[{}]]",
        "{\"\":{\"\":\"\"}}",
        "{\"b\":1,\"a\":[1,2,{\"c\":null}],\"d\":{\"e\":false}}",
    };
    _cleanup_(json_done_p) struct json d;

    json_init(&d, BYTES_MAX);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        json_clear(&d);
        ASSERT_JSON(texts[i], &d, parse(&d, texts[i]));
    }
}

TEST(blanks_between_tokens_do_not_matter)
{
    _cleanup_(json_done_p) struct json d;

    json_init(&d, BYTES_MAX);
    ASSERT_JSON("{\"a\":[1,\"x\",{}],\"b\":\"y\"}", &d,
                parse(&d, " \t\r\n{ \"a\"\n:\t[ 1 , \"x\" , { } ] , \"b\" : \"y\" } \n"));
}

TEST(escapes_are_decoded)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        { "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t" },
        { "\"\\u0041\\u00e9\\u00E9\\u20AC\"", "A\xc3\xa9\xc3\xa9\xe2\x82\xac" },
        { "\"\\ud83d\\ude00!\"", "\xf0\x9f\x98\x80!" },
        { "\"\\uDBFF\\uDFFF\"", "\xf4\x8f\xbf\xbf" },
        { "\"\\ud83d\"", "\xef\xbf\xbd" },                               /* a high half alone */
        { "\"\\ude00x\"", "\xef\xbf\xbdx" },                             /* a low half alone */
        { "\"\\ud83d\\ud83d\\ude00\"", "\xef\xbf\xbd\xf0\x9f\x98\x80" }, /* the second one pairs */
        { "\"\\ud83d\\u0041\"", "\xef\xbf\xbd"
                                "A" },
        { "\"\\ud83d\\n\"", "\xef\xbf\xbd\n" },
        { "\"\\ud83dude00\"", "\xef\xbf\xbdude00" },
        { "\"\\\\ud83d\"", "\\ud83d" },
        { "\"x\\u00e9y\\u00e9z\"", "x\xc3\xa9y\xc3\xa9z" },
    };
    _cleanup_(json_done_p) struct json d;

    json_init(&d, BYTES_MAX);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str have = json_text(&d, parse(&d, rows[i].text));
        if (!str_is(have, rows[i].want))
            fail_msg("%s: '%.*s', expected '%s'", rows[i].text, STR_ARG(have), rows[i].want);
    }
}

TEST(an_escaped_nul_is_a_character)
{
    _cleanup_(json_done_p) struct json d;
    struct str text;
    json_ref v;

    json_init(&d, BYTES_MAX);
    v = parse(&d, "{\"a\\u0000b\":\"\\u0000\"}");
    text = json_text(&d, json_get_key(&d, v, (struct str){ "a\0b", 3 }));
    ASSERT_INT(1, text.len);
    ASSERT_INT(0, text.s[0]);
    ASSERT_INT(0, json_get(&d, v, "a"));
    ASSERT_JSON("{\"a\\u0000b\":\"\\u0000\"}", &d, v);
}

TEST(keys_are_decoded_too)
{
    _cleanup_(json_done_p) struct json d;
    json_ref v;

    json_init(&d, BYTES_MAX);
    v = parse(&d, "{\"a\\/\\u0062\":{\"\\n\":1}, \"plain\":\"\\t\"}");
    ASSERT_INT(JSON_NUMBER, json_type(&d, json_path(&d, v, "a/b", "\n")));
    assert_true(json_is_string(&d, json_get(&d, v, "plain"), "\t"));
}

TEST(errors_say_where_and_what)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        { "", "offset 0: parse error: premature EOF" },
        { "  ", "offset 2: parse error: premature EOF" },
        { "{", "offset 1: parse error: premature EOF" },
        { "{\"a\"", "offset 4, in a: parse error: premature EOF" },
        { "{\"a\":1", "offset 6: parse error: premature EOF" },
        { "[1,2", "offset 4: parse error: premature EOF" },
        { "{\"a\":1,}", "offset 8: parse error: invalid object key (must be a string)" },
        { "[1,]", "offset 4: parse error: unallowed token at this point in JSON text" },
        { "[1 2]", "offset 4: parse error: after array element, I expect ',' or ']'" },
        { "{\"a\" 1}",
          "offset 6, in a: parse error: object key and value must be separated by a colon (':')" },
        { "{} {}", "offset 4: parse error: trailing garbage" },
        { "1 x", "offset 3: parse error: trailing garbage" },
        { "01", "offset 2: parse error: trailing garbage" },
        { "{\"spec\":{\"a\":[1,{\"b\":tru}]}}",
          "offset 24, in spec.a[1].b: lexical error: invalid string in json text." },
        { "{\"a\":1e999}", "offset 10, in a: number out of range" },
        { "[[1,-1e999]]", "offset 10, in [0]: number out of range" },
        { "[1,\f2]", "offset 3: lexical error: invalid char in json text." },
        { "/* */ 1",
          "offset 0: lexical error: probable comment found in input text, comments are not enabled." },
    };
    _cleanup_(json_done_p) struct json d;
    json_ref v = 42;

    json_init(&d, BYTES_MAX);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ASSERT_ERR(ERR_BAD_REQUEST, json_parse(&d, str_of(rows[i].text), &v, &err));
        ASSERT_STR(rows[i].message, err.msg);
        ASSERT_INT(42, v);
    }
}

TEST(what_is_not_json_is_refused)
{
    static const char *const texts[] = {
        "nul",         "True",
        "NaN",         "Infinity",
        "-Infinity",   "'a'",
        "\"abc",       "\"a\nb\"",
        "\"a\tb\"",    "\"\\x\"",
        "\"\\u12g4\"", "\"\\u12\"",
        "\"\\",        "-",
        "+1",          ".5",
        "1.",          "1e",
        "1e+",         "0x10",
        "1_000",       "-01",
        "{1:2}",       "{a:1}",
        "[}",          "{]",
        "]",           ",",
        ":",           "[,1]",
        "{\"a\":}",    "{,}",
        "[1]]",        "\xef\xbb\xbf{}",
        "//x\n1",      "\"a\" b",
        "{\"a\":1 2}", "[\"a\":1]",
        "{\"a\"}",     "\v1",
        "1\f",         "\"a\vb\"",
        "[\xc2\xa0]",
    };
    _cleanup_(json_done_p) struct json d;
    json_ref v;

    json_init(&d, BYTES_MAX);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (json_parse(&d, str_of(texts[i]), &v, &err) != -ERR_BAD_REQUEST)
            fail_msg("'%s' was taken for JSON", texts[i]);
}

/* Compact texts are scanned, others go to yajl: a blank at the end makes the difference, and must make none.
 */
TEST(compact_texts_and_others_are_read_alike)
{
    static const char *const texts[] = {
        "{}",
        "[]",
        "[[],{},[[]],[{}]]",
        "{\"\":\"\"}",
        "{\"a\":{\"b\":[1,-2,0,-0,true,false,null,\"\"]},\"c\":[{\"d\":{}},{}]}",
        "[\"eight888\",\"seven77\",\"nine99999\",\"sixteen_sixteen_\"]",
        "[\"\\\"\",\"\\\\\",\"1234567\\n\",\"12345678\\u00e9\",\"\\/\\b\\f\\n\\r\\t\"]",
        "[\"\\ud83d\\ude00\",\"\\ud83d\",\"\\ude00\\ud83dx\",\"\\u0000\"]",
        "[\"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\",\"\x7f\"]",
        "{\"k:{\\\"type\\\":\\\"Ready\\\"}\":1}",
        "{\"a\":1,\"b\":2,\"a\":3,\"a\":{\"c\":4,\"c\":5}}",
        "[12345678901234567890123456789,1.5,1e5,{\"a\":\"\\u0041\"},0.0]",
    };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        _cleanup_(json_done_p) struct json d;
        _cleanup_(buf_done_p) struct buf blank = BUF_INIT(BYTES_MAX);
        _cleanup_(freep) char *left = NULL, *right = NULL;
        const json_ref *dropped;
        json_ref scanned, parsed;
        uint32_t twins;

        json_init(&d, BYTES_MAX);
        buf_addf(&blank, "%s ", texts[i]);
        scanned = parse(&d, texts[i]);
        twins = json_duplicates(&d, &dropped);
        parsed = parse(&d, buf_cstr(&blank));
        ASSERT_INT(2 * twins, json_duplicates(&d, &dropped));
        left = text_of(&d, scanned, false);
        right = text_of(&d, parsed, false);
        ASSERT_STR(right, left);
        assert_true(json_is_same(&d, scanned, parsed));
    }
}

/* Both ways are tried on a text that is not right; what the first had read is gone. */
TEST(a_refused_text_leaves_no_values)
{
    _cleanup_(json_done_p) struct json d;
    json_ref first, v = 0;

    json_init(&d, BYTES_MAX);
    ASSERT_ERR(ERR_BAD_REQUEST, json_parse(&d, STR_LIT("{\"a\":1,\"a\":[\"\\n\",}"), &v, &err));
    assert_int_equal(0, v);
    first = parse(&d, "[1]");
    ASSERT_JSON("[1]", &d, first);
    ASSERT_ERR(ERR_BAD_REQUEST, json_parse(&d, STR_LIT("[\"\\u0041\",\"\\x\"]"), &v, &err));
    ASSERT_STR("offset 12: lexical error: inside a string, '\\' occurs before a character which it may not.",
               err.msg);
    ASSERT_JSON("[1]", &d, first);
}

TEST(bad_utf8_is_refused)
{
    static const char *const texts[] = {
        "\"\xff\"",         "\"\x80\"", "\"\xc3\"",     "\"\xc0\x80\"",         "\"\xe0\x80\x80\"",
        "\"\xed\xa0\x80\"", "\"\xf8\"", "\"\xe2\x82\"", "\"\xf4\x90\x80\x80\"", "\xff",
    };
    _cleanup_(json_done_p) struct json d;
    json_ref v;

    json_init(&d, BYTES_MAX);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        ASSERT_ERR(ERR_BAD_REQUEST, json_parse(&d, str_of(texts[i]), &v, &err));
        ASSERT_STR(texts[i][0] == '"' ? "offset 1: the JSON text is not valid UTF-8"
                                      : "offset 0: the JSON text is not valid UTF-8",
                   err.msg);
    }
}

TEST(nul_bytes_are_refused)
{
    const struct str texts[] = {
        STR_LIT("\0"),
        STR_LIT("1\0"),
        STR_LIT("\0"
                "1"),
        STR_LIT("\"a\0b\""),
        STR_LIT("[1,\0"
                "2]"),
        STR_LIT("{}\0"),
    };
    _cleanup_(json_done_p) struct json d;
    json_ref v;

    json_init(&d, BYTES_MAX);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        ASSERT_ERR(ERR_BAD_REQUEST, json_parse(&d, texts[i], &v, &err));
}

TEST(every_prefix_of_an_object_is_refused)
{
    static const char whole[] = "{\"kind\":\"A\\u00e9\\n\",\"n\":-12.5e+3,\"l\":[true,false,null,{}],"
                                "\"o\":{\"x\":[]},\"\xe2\x82\xac\":\"\xf0\x9f\x98\x80\"}";
    _cleanup_(json_done_p) struct json d;
    json_ref v;

    json_init(&d, BYTES_MAX);
    for (size_t len = 0; len < sizeof whole - 1; len++) {
        /* A block of just that size: a read past its end is seen. */
        _cleanup_(freep) char *part = malloc(len + !len);
        memcpy(part, whole, len);
        ASSERT_ERR(ERR_BAD_REQUEST, json_parse(&d, (struct str){ part, len }, &v, &err));
        assert_true(err.msg[0] != '\0');
    }
    (void)parse(&d, whole);
}

TEST(depth_is_bounded)
{
    _cleanup_(freep) char *arrays = nested("[", JSON_DEPTH_MAX, "", "]");
    _cleanup_(freep) char *objects = nested("{\"a\":", JSON_DEPTH_MAX, "1", "}");
    _cleanup_(freep) char *deeper = nested("[", JSON_DEPTH_MAX + 1, "", "]");
    _cleanup_(freep) char *mixed = nested("[{\"a\":", JSON_DEPTH_MAX / 2, "{}", "}]");
    _cleanup_(json_done_p) struct json d;
    json_ref v;

    json_init(&d, BYTES_MAX);
    ASSERT_JSON(arrays, &d, parse(&d, arrays));
    ASSERT_JSON(objects, &d, parse(&d, objects));
    ASSERT_ERR(ERR_BAD_REQUEST, json_parse(&d, str_of(deeper), &v, &err));
    ASSERT_STR("offset 10001, in [0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]"
               "[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]"
               "[0][0][0][0][0][0][0][0]: exceeded max depth",
               err.msg);
    ASSERT_ERR(ERR_BAD_REQUEST, json_parse(&d, str_of(mixed), &v, &err));
    assert_non_null(strstr(err.msg, "exceeded max depth"));
}

TEST(deep_trees_compare_and_copy)
{
    _cleanup_(freep) char *objects = nested("{\"a\":", JSON_DEPTH_MAX, "1", "}");
    _cleanup_(freep) char *arrays = nested("[", JSON_DEPTH_MAX, "", "]");
    _cleanup_(json_done_p) struct json d;
    json_ref a, b, c;

    json_init(&d, BYTES_MAX);
    a = parse(&d, objects);
    b = json_copy(&d, a);
    c = parse(&d, arrays);
    assert_true(json_equal(&d, a, b));
    assert_true(json_equal(&d, c, json_copy(&d, c)));
    assert_false(json_equal(&d, a, c));
}

TEST(size_is_bounded)
{
    _cleanup_(json_done_p) struct json d;
    json_ref v;

    json_init(&d, 10);
    (void)parse(&d, "\"12345678\"");
    ASSERT_ERR(ERR_TOO_LARGE, json_parse(&d, STR_LIT("\"123456789\""), &v, &err));
    ASSERT_STR("the JSON text has 11 bytes, the limit is 10", err.msg);
    ASSERT_OK(json_check(&d, &err)); /* the document itself is none the worse */
    (void)parse(&d, "[1]");
}

TEST(a_text_of_nothing_but_values_fits_its_bound)
{
    for (size_t bytes = 3; bytes < 5000; bytes += 97) {
        _cleanup_(freep) char *text = malloc(bytes + 3);
        _cleanup_(json_done_p) struct json d;
        size_t len = 0;

        text[len++] = '[';
        for (; len < bytes; len += 2)
            memcpy(text + len, "0,", 2);
        text[len - 1] = ']';
        text[len] = '\0';
        json_init(&d, len);
        ASSERT_INT((len - 1) / 2, json_count(&d, parse(&d, text)));
        ASSERT_INT((len - 1) / 2, json_count(&d, parse(&d, text))); /* and so do target and patch */
    }
}

TEST(numbers_keep_their_text_up_to_a_bound)
{
    _cleanup_(freep) char *longest = nested("1", JSON_NUMBER_BYTES_MAX - 3, "e-9", "");
    _cleanup_(freep) char *longer = nested("0", JSON_NUMBER_BYTES_MAX - 1, "", "");
    _cleanup_(freep) char *fraction = NULL;
    _cleanup_(freep) char *finite = nested("9", 308, "", "");
    _cleanup_(freep) char *infinite = nested("9", 309, "", "");
    _cleanup_(json_done_p) struct json d;
    json_ref v;

    json_init(&d, BYTES_MAX);
    ASSERT_ERR(ERR_BAD_REQUEST, json_parse(&d, str_of(longest), &v, &err)); /* 1e509, roughly */
    assert_true(asprintf(&fraction, "0.%s", longer) > 0);
    ASSERT_ERR(ERR_BAD_REQUEST, json_parse(&d, str_of(fraction), &v, &err));
    ASSERT_STR("offset 513: number out of range", err.msg);
    fraction[JSON_NUMBER_BYTES_MAX] = '\0';
    ASSERT_JSON(fraction, &d, parse(&d, fraction));
    ASSERT_JSON(finite, &d, parse(&d, finite));
    ASSERT_ERR(ERR_BAD_REQUEST, json_parse(&d, str_of(infinite), &v, &err));
}

TEST(integers_are_read_whole)
{
    static const struct {
        const char *text;
        bool ok;
        int64_t value;
    } rows[] = {
        { "0", true, 0 },
        { "-0", true, 0 },
        { "9223372036854775807", true, INT64_MAX },
        { "-9223372036854775808", true, INT64_MIN },
        { "9223372036854775808", false, 0 },
        { "1.0", false, 0 },
        { "1e3", false, 0 },
        { "\"1\"", false, 0 },
        { "null", false, 0 },
    };
    _cleanup_(json_done_p) struct json d;

    json_init(&d, BYTES_MAX);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t value = 7;
        assert_true(json_int64(&d, parse(&d, rows[i].text), &value) == rows[i].ok);
        assert_true(value == (rows[i].ok ? rows[i].value : 7));
    }
}

/* --- Duplicates --- */

TEST(of_duplicates_the_last_one_wins)
{
    static const struct {
        const char *text, *want, *paths;
    } rows[] = {
        { "{\"a\":1,\"a\":2}", "{\"a\":2}", "a " },
        { "{\"a\":1,\"b\":2,\"a\":3,\"c\":4}", "{\"b\":2,\"a\":3,\"c\":4}", "a " },
        { "{\"a\":1,\"a\":2,\"a\":3}", "{\"a\":3}", "a a " },
        { "{\"\":1,\"\":2}", "{\"\":2}", " " },
        { "{\"x\":[{\"a\":{},\"a\":[]}]}", "{\"x\":[{\"a\":[]}]}", "x[0].a " },
        { "{\"a\":{\"b\":1,\"b\":2},\"a\":0}", "{\"a\":0}", "a.b a " },
        { "{\"a\":1,\"\\u0061\":2}", "{\"a\":2}", "a " }, /* the same key once decoded */
        { "{\"a\":1,\"A\":2,\"a\\u0000\":3}", "{\"a\":1,\"A\":2,\"a\\u0000\":3}", "" },
        { "[{\"a\":1},{\"a\":2}]", "[{\"a\":1},{\"a\":2}]", "" },
    };
    _cleanup_(json_done_p) struct json d;
    const json_ref *duplicates;

    json_init(&d, BYTES_MAX);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(buf_done_p) struct buf paths = BUF_INIT(1000);
        json_clear(&d);
        ASSERT_JSON(rows[i].want, &d, parse(&d, rows[i].text));
        for (uint32_t n = 0; n < json_duplicates(&d, &duplicates); n++) {
            json_path_text(&d, duplicates[n], &paths);
            buf_add_char(&paths, ' ');
        }
        ASSERT_STR(rows[i].paths, buf_cstr(&paths));
    }
}

TEST(many_members_settle_as_few_do)
{
    for (unsigned n = 2; n < 70; n += 3) { /* both sides of the size where sorting begins */
        _cleanup_(buf_done_p) struct buf text = BUF_INIT(BYTES_MAX), want = BUF_INIT(BYTES_MAX);
        _cleanup_(json_done_p) struct json d;
        const json_ref *duplicates;

        /* every key twice, the second time with another value */
        for (unsigned i = 0; i < 2 * n; i++)
            buf_addf(&text, "%c\"k%u\":%u", i ? ',' : '{', i * 7 % n, i);
        buf_add_char(&text, '}');
        for (unsigned i = n; i < 2 * n; i++)
            buf_addf(&want, "%c\"k%u\":%u", i == n ? '{' : ',', i * 7 % n, i);
        buf_add_char(&want, '}');
        json_init(&d, BYTES_MAX);
        json_ref v = parse(&d, buf_cstr(&text));
        if (n % 7) { /* else not every key comes up */
            ASSERT_JSON(buf_cstr(&want), &d, v);
            ASSERT_INT(n, json_count(&d, v));
            ASSERT_INT(n < JSON_DUPLICATES_MAX ? n : JSON_DUPLICATES_MAX, json_duplicates(&d, &duplicates));
            ASSERT_INT(v, json_parent(&d, duplicates[0]));
        }
    }
}

TEST(huge_objects_full_of_duplicates_settle)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(BYTES_MAX);
    _cleanup_(json_done_p) struct json d;
    json_ref v;

    for (unsigned i = 0; i < 200000; i++)
        buf_addf(&text, "%c\"k%u\":0", i ? ',' : '{', i % 100000);
    buf_add_char(&text, '}');
    json_init(&d, BYTES_MAX);
    v = parse(&d, buf_cstr(&text));
    ASSERT_INT(100000, json_count(&d, v));
    assert_true(json_get(&d, v, "k99999") != 0);
}

/* --- Reading --- */

TEST(reading_takes_what_is_not_there)
{
    _cleanup_(json_done_p) struct json d;
    int64_t value;

    json_init(&d, BYTES_MAX);
    ASSERT_INT(JSON_NONE, json_type(&d, 0)); /* an empty document has no nodes at all */
    ASSERT_INT(0, json_get(&d, 0, "a"));
    ASSERT_INT(0, json_first(&d, 0));
    ASSERT_INT(0, json_next(&d, 0));
    ASSERT_INT(0, json_at(&d, 0, 0));
    ASSERT_INT(0, json_count(&d, 0));
    ASSERT_INT(0, json_parent(&d, 0));
    ASSERT_INT(0, json_key(&d, 0).len);
    ASSERT_INT(0, json_text(&d, 0).len);
    ASSERT_INT(0, json_path(&d, 0, "a", "b"));
    assert_false(json_is_string(&d, 0, ""));
    assert_false(json_int64(&d, 0, &value));
    assert_true(json_equal(&d, 0, 0));
    ASSERT_JSON("null", &d, 0);
}

TEST(reading_by_name_and_index)
{
    _cleanup_(json_done_p) struct json d;
    json_ref v, list;

    json_init(&d, BYTES_MAX);
    v = parse(&d, "{\"spec\":{\"list\":[10,\"x\",null],\"s\":\"text\"},\"n\":5}");
    list = json_path(&d, v, "spec", "list");
    ASSERT_INT(3, json_count(&d, list));
    ASSERT_INT(2, json_count(&d, v));
    ASSERT_INT(JSON_NUMBER, json_type(&d, json_at(&d, list, 0)));
    ASSERT_INT(JSON_NULL, json_type(&d, json_at(&d, list, 2)));
    ASSERT_INT(0, json_at(&d, list, 3));
    ASSERT_INT(0, json_at(&d, list, UINT32_MAX));
    ASSERT_INT(0, json_at(&d, v, 0)); /* no array */
    ASSERT_INT(0, json_get(&d, list, "0"));
    ASSERT_INT(0, json_get(&d, json_get(&d, v, "n"), "x"));
    ASSERT_INT(0, json_path(&d, v, "spec", "none", "deeper"));
    ASSERT_INT(0, json_count(&d, json_get(&d, v, "n")));
    ASSERT_INT(0, json_first(&d, json_get(&d, v, "n")));
    ASSERT_INT(v, json_parent(&d, json_get(&d, v, "spec")));
    assert_true(str_is(json_key(&d, list), "list"));
    assert_true(str_is(json_get_text(&d, json_get(&d, v, "spec"), "s"), "text"));
    ASSERT_INT(0, json_get_text(&d, v, "n").len); /* a number is no text */
    assert_true(str_is(json_text(&d, json_get(&d, v, "n")), "5"));
    ASSERT_INT(0, json_key(&d, json_at(&d, list, 0)).len);
}

TEST(types_have_kubernetes_names)
{
    static const struct {
        const char *text, *name;
    } rows[] = {
        { "null", "null" },   { "true", "bool" }, { "false", "bool" }, { "1", "number" },
        { "\"\"", "string" }, { "[]", "array" },  { "{}", "object" },
    };
    _cleanup_(json_done_p) struct json d;

    json_init(&d, BYTES_MAX);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_STR(rows[i].name, json_type_name(json_type(&d, parse(&d, rows[i].text))));
}

TEST(equality)
{
    static const struct {
        const char *a, *b;
        bool equal;
    } rows[] = {
        { "null", "null", true },
        { "null", "false", false },
        { "true", "false", false },
        { "1", "1", true },
        { "1", "1.0", false }, /* by their text */
        { "1", "\"1\"", false },
        { "\"a\"", "\"\\u0061\"", true },
        { "\"a\"", "\"a\\u0000\"", false },
        { "[]", "{}", false },
        { "[1,2]", "[1,2]", true },
        { "[1,2]", "[2,1]", false },
        { "[1,2]", "[1]", false },
        { "{}", "{}", true },
        { "{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", true },
        { "{\"a\":1,\"b\":2}", "{\"b\":1,\"a\":2}", false },
        { "{\"a\":1}", "{\"a\":1,\"b\":2}", false },
        { "{\"a\":1}", "{\"b\":1}", false },
        { "{\"a\":null}", "{}", false },
        { "{\"x\":1,\"\":2}", "{\"\":2,\"x\":1}", true }, /* the empty key is a key */
        { "{\"x\":1,\"\":2}", "{\"y\":2,\"x\":1}", false },
        { "{\"a\":[{\"b\":{\"c\":[1,{}]}}]}", "{\"a\":[{\"b\":{\"c\":[1,{}]}}]}", true },
        { "{\"a\":[{\"b\":{\"c\":[1,{}]}}]}", "{\"a\":[{\"b\":{\"c\":[1,[]]}}]}", false },
    };
    _cleanup_(json_done_p) struct json d;

    json_init(&d, BYTES_MAX);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        json_ref a = parse(&d, rows[i].a), b = parse(&d, rows[i].b);
        if (json_equal(&d, a, b) != rows[i].equal || json_equal(&d, b, a) != rows[i].equal)
            fail_msg("%s and %s", rows[i].a, rows[i].b);
    }
}

TEST(sameness_is_equality_in_the_same_order)
{
    static const struct {
        const char *a, *b;
        bool same;
    } rows[] = {
        { "{}", "{}", true },
        { "[]", "{}", false },
        { "null", "null", true },
        { "true", "false", false },
        { "1", "1.0", false },
        { "\"1\"", "1", false },
        { "\"a\"", "\"b\"", false },
        { "{\"a\":1,\"b\":[{}]}", "{\"a\":1,\"b\":[{}]}", true },
        { "{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", false },
        { "{\"a\":{\"b\":[1,{\"c\":2}]},\"d\":3}", "{\"a\":{\"b\":[1,{\"c\":2}]},\"d\":4}", false },
        { "{\"a\":{\"b\":1}}", "{\"a\":{\"c\":1}}", false },
        { "[1,2]", "[1]", false },
        { "[[1],2]", "[[1,2]]", false },
    };
    _cleanup_(json_done_p) struct json d;

    json_init(&d, BYTES_MAX);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (json_is_same(&d, parse(&d, rows[i].a), parse(&d, rows[i].b)) != rows[i].same)
            fail_msg("'%s' and '%s'", rows[i].a, rows[i].b);
    assert_true(json_is_same(&d, 0, 0));
    assert_false(json_is_same(&d, parse(&d, "1"), 0));
    /* As a part, under whatever key. */
    json_ref v = parse(&d, "{\"x\":[1],\"y\":[1]}");
    assert_true(json_is_same(&d, json_get(&d, v, "x"), json_get(&d, v, "y")));
}

TEST(equality_of_many_members)
{
    _cleanup_(freep) char *up = many_members(50000, false), *down = many_members(50000, true);
    _cleanup_(json_done_p) struct json d;
    json_ref a, b;

    json_init(&d, BYTES_MAX);
    a = parse(&d, up);
    b = parse(&d, down);
    assert_true(json_equal(&d, a, b));
    json_replace(&d, json_first(&d, b), json_new_null(&d));
    assert_false(json_equal(&d, a, b));
}

TEST(paths_tell_where_a_value_stands)
{
    _cleanup_(json_done_p) struct json d;
    _cleanup_(buf_done_p) struct buf path = BUF_INIT(1000);
    json_ref v, at;

    json_init(&d, BYTES_MAX);
    v = parse(&d, "{\"spec\":{\"containers\":[{},{\"name\":\"x\",\"l\":[[7]]}]}}");
    json_path_text(&d, v, &path);
    ASSERT_STR("", buf_cstr(&path));
    at = json_at(&d, json_path(&d, v, "spec", "containers"), 1);
    json_path_text(&d, json_get(&d, at, "name"), &path);
    ASSERT_STR("spec.containers[1].name", buf_cstr(&path));
    buf_clear(&path);
    buf_add_cstr(&path, "at "); /* it appends */
    json_path_text(&d, json_at(&d, json_at(&d, json_get(&d, at, "l"), 0), 0), &path);
    ASSERT_STR("at spec.containers[1].l[0][0]", buf_cstr(&path));
}

/* --- Building and editing --- */

TEST(documents_can_be_built)
{
    _cleanup_(json_done_p) struct json d;
    json_ref v, list;

    json_init(&d, BYTES_MAX);
    v = json_new_object(&d);
    json_set_string(&d, v, "s", "a\"b");
    json_set(&d, v, "i", json_new_int(&d, INT64_MIN));
    json_set(&d, v, "n", json_new_number(&d, STR_LIT("1.50")));
    json_set(&d, v, "t", json_new_bool(&d, true));
    json_set(&d, v, "f", json_new_bool(&d, false));
    json_set(&d, v, "z", json_new_null(&d));
    list = json_new_array(&d);
    json_append(&d, list, json_new_string(&d, STR_LIT("")));
    json_append(&d, list, json_new_object(&d));
    json_set(&d, v, "l", list);
    json_set(&d, json_ensure_object(&d, json_ensure_object(&d, v, "x"), "y"), "k", json_new_int(&d, 0));
    ASSERT_OK(json_check(&d, &err));
    ASSERT_JSON("{\"s\":\"a\\\"b\",\"i\":-9223372036854775808,\"n\":1.50,\"t\":true,\"f\":false,\"z\":null,"
                "\"l\":[\"\",{}],\"x\":{\"y\":{\"k\":0}}}",
                &d, v);
}

TEST(setting_replaces_in_place)
{
    _cleanup_(json_done_p) struct json d;
    json_ref v, old;

    json_init(&d, BYTES_MAX);
    v = parse(&d, "{\"a\":1,\"b\":2,\"c\":3}");
    old = json_get(&d, v, "a");
    json_set_string(&d, v, "a", "x");
    json_set_string(&d, v, "c", "z");
    json_set_string(&d, v, "b", "y");
    json_set_string(&d, v, "d", "new");
    ASSERT_JSON("{\"a\":\"x\",\"b\":\"y\",\"c\":\"z\",\"d\":\"new\"}", &d, v);
    ASSERT_INT(4, json_count(&d, v));
    ASSERT_INT(0, json_parent(&d, old));
    ASSERT_JSON("1", &d, old);
    json_set(&d, v, "e", old); /* it can be used again */
    ASSERT_JSON("{\"a\":\"x\",\"b\":\"y\",\"c\":\"z\",\"d\":\"new\",\"e\":1}", &d, v);
    ASSERT_INT(JSON_OBJECT, json_type(&d, json_ensure_object(&d, v, "e"))); /* a number makes way */
    ASSERT_JSON("{\"a\":\"x\",\"b\":\"y\",\"c\":\"z\",\"d\":\"new\",\"e\":{}}", &d, v);
}

TEST(a_key_of_any_bytes_is_copied)
{
    _cleanup_(json_done_p) struct json d;
    char key[] = "a\0b";
    json_ref v;

    json_init(&d, BYTES_MAX);
    v = json_new_object(&d);
    json_set_key(&d, v, (struct str){ key, 3 }, json_new_int(&d, 1));
    memset(key, 'x', 3);
    json_set_key(&d, v, STR_LIT(""), json_new_int(&d, 2));
    ASSERT_JSON("{\"a\\u0000b\":1,\"\":2}", &d, v);
}

TEST(inserting_and_unlinking)
{
    _cleanup_(json_done_p) struct json d;
    json_ref v, one, last;

    json_init(&d, BYTES_MAX);
    v = parse(&d, "[1,2,3]");
    one = json_first(&d, v);
    json_insert(&d, v, one, json_new_int(&d, 0));
    json_insert(&d, v, json_at(&d, v, 2), json_new_string(&d, STR_LIT("m")));
    json_insert(&d, v, 0, json_new_int(&d, 4));
    ASSERT_JSON("[0,1,\"m\",2,3,4]", &d, v);
    ASSERT_INT(6, json_count(&d, v));
    last = json_at(&d, v, 5);
    json_unlink(&d, last);
    json_unlink(&d, json_first(&d, v));
    json_unlink(&d, json_at(&d, v, 1));
    ASSERT_JSON("[1,2,3]", &d, v);
    json_append(&d, v, last); /* the new end is known */
    ASSERT_JSON("[1,2,3,4]", &d, v);
    while (json_first(&d, v))
        json_unlink(&d, json_first(&d, v));
    ASSERT_JSON("[]", &d, v);
    json_append(&d, v, one);
    ASSERT_JSON("[1]", &d, v);
    json_unlink(&d, v); /* a root stands in nothing */
    json_unlink(&d, 0);
    ASSERT_JSON("[1]", &d, v);
}

TEST(a_member_moved_into_a_list_loses_its_key)
{
    _cleanup_(json_done_p) struct json d;
    json_ref v, list, a;

    json_init(&d, BYTES_MAX);
    v = parse(&d, "{\"a\":{\"k\":1},\"b\":[]}");
    a = json_get(&d, v, "a");
    list = json_get(&d, v, "b");
    json_unlink(&d, a);
    json_append(&d, list, a);
    ASSERT_JSON("{\"b\":[{\"k\":1}]}", &d, v);
    ASSERT_INT(0, json_key(&d, a).len);
}

TEST(removing_and_replacing)
{
    _cleanup_(json_done_p) struct json d;
    json_ref v;

    json_init(&d, BYTES_MAX);
    v = parse(&d, "{\"a\":1,\"b\":2,\"c\":[1,2]}");
    assert_true(json_remove(&d, v, "b"));
    assert_false(json_remove(&d, v, "b"));
    assert_false(json_remove(&d, 0, "b"));
    json_replace(&d, json_get(&d, v, "a"), json_new_array(&d));
    json_replace(&d, json_at(&d, json_get(&d, v, "c"), 1), json_new_null(&d));
    json_append(&d, json_get(&d, v, "c"), json_new_int(&d, 3));
    ASSERT_JSON("{\"a\":[],\"c\":[1,null,3]}", &d, v);
}

TEST(copies_are_independent)
{
    _cleanup_(json_done_p) struct json d;
    json_ref v, copy, inner;

    json_init(&d, BYTES_MAX);
    v = parse(&d, "{\"a\":{\"l\":[1,{\"x\":\"y\"},[],{}]},\"b\":2}");
    copy = json_copy(&d, v);
    assert_true(json_equal(&d, v, copy));
    json_set_string(&d, json_get(&d, copy, "a"), "l", "gone");
    ASSERT_JSON("{\"a\":{\"l\":[1,{\"x\":\"y\"},[],{}]},\"b\":2}", &d, v);
    inner = json_copy(&d, json_path(&d, v, "a", "l"));
    ASSERT_INT(0, json_parent(&d, inner));
    ASSERT_JSON("[1,{\"x\":\"y\"},[],{}]", &d, inner); /* not what stood behind it */
    ASSERT_JSON("2", &d, json_copy(&d, json_get(&d, v, "b")));
    ASSERT_INT(0, json_copy(&d, 0));
}

TEST(keeping_some_members)
{
    _cleanup_(json_done_p) struct json d;
    json_ref v, b;

    json_init(&d, BYTES_MAX);
    v = parse(&d, "{\"a\":1,\"b\":2,\"c\":3}");
    b = json_get(&d, v, "b");
    json_keep_members(&d, v, (json_ref[]){ json_get(&d, v, "c"), json_get(&d, v, "a") }, 2);
    ASSERT_JSON("{\"c\":3,\"a\":1}", &d, v);
    ASSERT_INT(2, json_count(&d, v));
    ASSERT_INT(v, json_parent(&d, b)); /* for reports */
    json_set_string(&d, v, "d", "");
    json_keep_members(&d, v, NULL, 0);
    ASSERT_JSON("{}", &d, v);
}

TEST(sorting_members)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        { "{}", "{}" },
        { "{\"a\":1}", "{\"a\":1}" },
        { "{\"b\":1,\"a\":2}", "{\"a\":2,\"b\":1}" },
        { "{\"ab\":1,\"a\":2,\"\":3,\"B\":4,\"\xc3\xa9\":5}",
          "{\"\":3,\"B\":4,\"a\":2,\"ab\":1,\"\xc3\xa9\":5}" },
        { "{\"b\":{\"z\":1,\"y\":2},\"a\":0}", "{\"a\":0,\"b\":{\"z\":1,\"y\":2}}" }, /* one level */
    };
    _cleanup_(freep) char *down = many_members(30000, true);
    _cleanup_(json_done_p) struct json d;
    json_ref v;

    json_init(&d, BYTES_MAX);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        v = parse(&d, rows[i].text);
        json_sort_members(&d, v);
        ASSERT_JSON(rows[i].want, &d, v);
    }
    v = parse(&d, down);
    json_sort_members(&d, v);
    ASSERT_INT(30000, json_count(&d, v));
    for (json_ref m = json_first(&d, v); json_next(&d, m); m = json_next(&d, m))
        assert_true(str_cmp(json_key(&d, m), json_key(&d, json_next(&d, m))) < 0);
}

TEST(building_sticks_at_the_first_failure)
{
    _cleanup_(json_done_p) struct json d;
    json_ref v, list;
    unsigned made = 0;

    json_init(&d, 100);
    v = parse(&d, "{\"a\":[]}");
    list = json_get(&d, v, "a");
    for (json_ref item; made < 100000 && (item = json_new_null(&d)); made++)
        json_append(&d, list, item);
    assert_true(made >= 100);
    assert_true(made < 1000);
    ASSERT_ERR(ERR_TOO_LARGE, json_check(&d, &err));
    ASSERT_STR("the JSON document is larger than 100 bytes", err.msg);
    ASSERT_INT(0, json_new_object(&d));
    ASSERT_INT(0, json_new_string(&d, STR_LIT("x")));
    ASSERT_INT(0, json_copy(&d, v));
    ASSERT_INT(0, json_ensure_object(&d, v, "b"));
    json_set(&d, v, "b", json_new_object(&d)); /* and these do nothing */
    json_append(&d, list, json_new_object(&d));
    ASSERT_INT(made, json_count(&d, list));
    ASSERT_INT(1, json_count(&d, v));
    ASSERT_ERR(ERR_TOO_LARGE, json_parse(&d, STR_LIT("1"), &v, &err));
    json_clear(&d);
    ASSERT_OK(json_check(&d, &err));
    ASSERT_JSON("{\"a\":[]}", &d, parse(&d, "{\"a\":[]}"));
}

TEST(texts_made_are_bounded_too)
{
    _cleanup_(json_done_p) struct json d;
    char text[90];
    json_ref v;

    memset(text, 'x', sizeof text);
    json_init(&d, 100);
    v = json_new_object(&d);
    for (int i = 0; i < 10; i++)
        json_set_key(&d, v, (struct str){ text, (size_t)(sizeof text - (size_t)i) }, json_new_null(&d));
    ASSERT_ERR(ERR_TOO_LARGE, json_check(&d, &err));
    assert_true(json_count(&d, v) >= 2);
    assert_true(json_count(&d, v) < 10);
}

/* --- Writing and reuse --- */

TEST(pretty_text_is_indented_by_two)
{
    _cleanup_(json_done_p) struct json d;
    _cleanup_(freep) char *text = NULL;

    json_init(&d, BYTES_MAX);
    text = text_of(&d, parse(&d, "{\"a\":[],\"b\":{},\"c\":[1,{\"d\":\"e\"}],\"f\":{\"g\":null}}"), true);
    ASSERT_STR("{\n  \"a\": [],\n  \"b\": {},\n  \"c\": [\n    1,\n    {\n      \"d\": \"e\"\n    }\n  ],\n"
               "  \"f\": {\n    \"g\": null\n  }\n}",
               text);
}

TEST(pretty_text_of_deep_trees)
{
    _cleanup_(freep) char *arrays = nested("[", 100, "1", "]");
    _cleanup_(freep) char *text = NULL;
    _cleanup_(json_done_p) struct json d;
    json_ref v;

    json_init(&d, BYTES_MAX);
    text = text_of(&d, parse(&d, arrays), true);
    ASSERT_OK(json_parse(&d, str_of(text), &v, &err)); /* blanks or not, it is the same */
    ASSERT_JSON(arrays, &d, v);
    assert_int_equal(200, strspn(strchr(text, '1') - 200, " "));
}

TEST(a_part_is_written_without_its_key)
{
    _cleanup_(json_done_p) struct json d;
    json_ref v;

    json_init(&d, BYTES_MAX);
    v = parse(&d, "{\"a\":{\"x\":[1]},\"b\":2}");
    ASSERT_JSON("{\"x\":[1]}", &d, json_get(&d, v, "a"));
    ASSERT_JSON("[1]", &d, json_path(&d, v, "a", "x"));
    ASSERT_JSON("2", &d, json_get(&d, v, "b"));
}

TEST(every_control_character_is_escaped)
{
    char text[32];
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(1000);
    _cleanup_(json_done_p) struct json d;
    json_ref v;

    for (int i = 0; i < 32; i++)
        text[i] = (char)i;
    json_write_string(&out, (struct str){ text, sizeof text });
    assert_non_null(strstr(buf_cstr(&out), "\\u0007\\b\\t\\n\\u000b\\f\\r\\u000e"));
    json_init(&d, BYTES_MAX);
    ASSERT_OK(json_parse(&d, buf_str(&out), &v, &err));
    assert_true(str_eq(json_text(&d, v), (struct str){ text, sizeof text }));
}

/* Messages repeat what was sent: the answer must be JSON all the same. */
TEST(bytes_that_are_no_text_are_replaced)
{
    static const struct {
        const char *expected, *text;
    } rows[] = {
        { "\"\xEF\xBF\xBD\"", "\x93" },
        { "\"caf\xC3\xA9 \xE2\x82\xAC\"", "caf\xC3\xA9 \xE2\x82\xAC" },
        { "\"12345678\xEF\xBF\xBD\\n9\"", "12345678\xFF\n9" },
        { "\"\xC3\xA9\xEF\xBF\xBD\"", "\xC3\xA9\xC3" },
        { "\"\xEF\xBF\xBD\xEF\xBF\xBD/\"", "\xC0\xAF/" },
        { "\"\xF0\x9F\x98\x80\"", "\xF0\x9F\x98\x80" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        _cleanup_(buf_done_p) struct buf out = BUF_INIT(1000);

        json_write_string(&out, str_of(rows[i].text));
        ASSERT_STR(rows[i].expected, buf_cstr(&out));
    }
}

TEST(writing_past_the_ceiling_fails)
{
    _cleanup_(json_done_p) struct json d;
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(5);

    json_init(&d, BYTES_MAX);
    json_write(&d, parse(&d, "[1,2,3]"), &out);
    ASSERT_ERR(ERR_TOO_LARGE, buf_check(&out, "text", &err));
}

TEST(several_texts_live_in_one_document)
{
    _cleanup_(json_done_p) struct json d;
    json_ref a, b;
    struct str text;

    json_init(&d, BYTES_MAX);
    a = parse(&d, "{\"a\":\"one\"}");
    text = json_get_text(&d, a, "a");
    for (int i = 0; i < 1000; i++) /* the nodes move; texts and references stay */
        b = parse(&d, "{\"b\":{\"c\":[\"two\"]}}");
    json_ref c = json_path(&d, b, "b", "c");
    json_unlink(&d, c);
    json_set(&d, a, "c", c);
    assert_true(str_is(text, "one"));
    ASSERT_JSON("{\"a\":\"one\",\"c\":[\"two\"]}", &d, a);
    ASSERT_JSON("{\"b\":{}}", &d, b);
}

TEST(a_document_can_be_used_again)
{
    _cleanup_(json_done_p) struct json d;
    const json_ref *duplicates;

    json_init(&d, BYTES_MAX);
    json_clear(&d);
    for (int i = 0; i < 100; i++) {
        json_ref v = parse(&d, "{\"a\":1,\"a\":[\"\\u00e9\"]}");
        ASSERT_INT(1, json_duplicates(&d, &duplicates));
        ASSERT_JSON("{\"a\":[\"\xc3\xa9\"]}", &d, v);
        json_clear(&d);
        ASSERT_INT(0, json_duplicates(&d, &duplicates));
    }
    ASSERT_ERR(ERR_BAD_REQUEST, json_parse(&d, STR_LIT("{\"a\":"), &(json_ref){ 0 }, &err));
    ASSERT_JSON("[1]", &d, parse(&d, "[1]")); /* a text that failed leaves the next ones alone */
    json_done(&d);
    ASSERT_JSON("[1]", &d, parse(&d, "[1]"));
}

TEST(sizes_are_those_of_the_text)
{
    static const char *const rows[] = {
        "null",
        "true",
        "false",
        "0",
        "-1.5e3",
        "\"\"",
        "\"x\"",
        "[]",
        "{}",
        "[[]]",
        "[1,2,3]",
        "{\"a\":1}",
        "{\"a\":{\"b\":[]},\"\":[{},null,true,false]}",
        "\"\\u0000\\u001f\\n\\t\\\"\\\\\"",
        "{\"\\n\xc3\xa9\":\"\xf0\x9f\x8e\x88 and some more than eight\"}",
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(json_done_p) struct json d;
        _cleanup_(buf_done_p) struct buf text = BUF_INIT(1000);
        json_ref root;

        json_init(&d, 1000);
        ASSERT_OK(json_parse(&d, str_of(rows[i]), &root, &err));
        json_write(&d, root, &text);
        ASSERT_INT(text.len, json_size(&d, root, SIZE_MAX));
        ASSERT_INT(text.len, json_size(&d, root, text.len));
        assert_true(json_size(&d, root, text.len - 1) >= text.len);
    }
}

/* Of a part of a document: its own key does not count, nor what stands behind it. */
TEST(sizes_of_parts)
{
    _cleanup_(json_done_p) struct json d;
    json_ref root, bytes;

    json_init(&d, 1000);
    ASSERT_OK(json_parse(&d, STR_LIT("{\"a\":[1,{\"b\":2}],\"c\":\"ddd\"}"), &root, &err));
    ASSERT_INT(strlen("[1,{\"b\":2}]"), json_size(&d, json_get(&d, root, "a"), SIZE_MAX));
    ASSERT_INT(strlen("\"ddd\""), json_size(&d, json_get(&d, root, "c"), SIZE_MAX));
    ASSERT_INT(4, json_size(&d, 0, SIZE_MAX));
    bytes = json_new_string(&d, (struct str){ "\xff\xc3", 2 }); /* no UTF-8: each becomes U+FFFD */
    ASSERT_INT(8, json_size(&d, bytes, SIZE_MAX));
}

/* One large request does not leave its memory with a document that is used for all. */
TEST(clearing_gives_back_what_is_out_of_the_ordinary)
{
    _cleanup_(json_done_p) struct json d;
    json_ref list, root;

    json_init(&d, (size_t)64 << 20);
    list = json_new_array(&d);
    for (int i = 0; i < 1 << 17; i++)
        json_append(&d, list, json_new_null(&d));
    for (int i = 0; i < 1 << 10; i++)
        (void)json_new_string(&d, (struct str){ (const char[8192]){ "x" }, 8192 });
    ASSERT_OK(json_check(&d, &err));
    json_clear(&d);
    assert_true(d.cap * sizeof *d.nodes <= (size_t)4 << 20);
    assert_null(d.texts.blocks);
    ASSERT_OK(json_parse(&d, STR_LIT("{\"a\":1}"), &root, &err));
    assert_true(json_get(&d, root, "a") > 0);
}

TEST_MAIN()
