/* What scalars mean: every row was checked against kubectl, except where it says otherwise. */
#include "tests/unit/test.h"

#include "api/json.h"
#include "api/yaml.h"
#include "api/yaml_int.h"
#include "base/cleanup.h"

#define TEST_BYTES_MAX (1u << 20)

/* The JSON of a YAML text, or the error's words. */
static const char *json_of(const char *text)
{
    static char answer[8192];
    struct buf out = BUF_INIT(sizeof answer - 1);
    struct error err = { 0 };
    struct json d;
    json_ref v;

    json_init(&d, TEST_BYTES_MAX);
    if (yaml_parse(&d, str_of(text), &v, &err) == 0)
        json_write(&d, v, &out);
    else
        buf_add_cstr(&out, err.msg);
    (void)snprintf(answer, sizeof answer, "%s", buf_cstr(&out));
    buf_done(&out);
    json_done(&d);
    return answer;
}

static const char *json_of_value(const char *scalar)
{
    char text[4096];

    (void)snprintf(text, sizeof text, "- %s\n", scalar);
    return json_of(text);
}

static const char *json_of_key(const char *scalar)
{
    char text[4096];

    (void)snprintf(text, sizeof text, "%s: 1\n", scalar);
    return json_of(text);
}

static void check_values(const char *const rows[][2], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char expected[4096];
        const char *actual = json_of_value(rows[i][0]);
        (void)snprintf(expected, sizeof expected, "[%s]", rows[i][1]);
        if (strcmp(expected, actual) != 0)
            fail_msg("%s: read as %s, expected %s", rows[i][0], actual, expected);
    }
}

TEST(words_are_nulls_and_booleans)
{
    static const char *const rows[][2] = {
        { "", "null" },
        { "~", "null" },
        { "null", "null" },
        { "Null", "null" },
        { "NULL", "null" },
        { "nULL", "\"nULL\"" },
        { "nil", "\"nil\"" },
        { "# no value", "null" },
        { "y", "true" },
        { "Y", "true" },
        { "yes", "true" },
        { "Yes", "true" },
        { "YES", "true" },
        { "yES", "\"yES\"" },
        { "true", "true" },
        { "True", "true" },
        { "TRUE", "true" },
        { "tRUE", "\"tRUE\"" },
        { "on", "true" },
        { "On", "true" },
        { "ON", "true" },
        { "oN", "\"oN\"" },
        { "n", "false" },
        { "N", "false" },
        { "no", "false" },
        { "No", "false" },
        { "NO", "false" },
        { "nO", "\"nO\"" },
        { "false", "false" },
        { "False", "false" },
        { "FALSE", "false" },
        { "off", "false" },
        { "Off", "false" },
        { "OFF", "false" },
        { "oFF", "\"oFF\"" },
        { "yes!", "\"yes!\"" },
        { "falsely", "\"falsely\"" },
    };
    check_values(rows, ARRAY_LEN(rows));
}

TEST(integers_become_decimal)
{
    static const char *const rows[][2] = {
        { "0", "0" },
        { "7", "7" },
        { "-7", "-7" },
        { "+7", "7" },
        { "1_000", "1000" },
        { "1_", "1" },
        { "-_1", "-1" },
        { "_1", "\"_1\"" },
        { "0x1F", "31" },
        { "0X1f", "31" },
        { "-0x1F", "-31" },
        { "+0x1F", "31" },
        { "0x_1", "1" },
        { "0x", "\"0x\"" },
        { "0xG", "\"0xG\"" },
        { "0b101", "5" },
        { "0B101", "5" },
        { "-0b101", "-5" },
        { "0b-101", "-5" },
        { "0b+101", "5" },
        { "-0b-1", "\"-0b-1\"" },
        { "0b102", "\"0b102\"" },
        { "0b", "\"0b\"" },
        { "0o17", "15" },
        { "0O17", "15" },
        { "-0o17", "-15" },
        { "0o8", "\"0o8\"" },
        { "017", "15" },
        { "-017", "-15" },
        { "00", "0" },
        { "-0x0", "0" },
        { "+", "\"+\"" },
        { "--1", "\"--1\"" },
        { "1-1", "\"1-1\"" },
        { "12 34", "\"12 34\"" },
        { "9223372036854775807", "9223372036854775807" },
        { "-9223372036854775808", "-9223372036854775808" },
        { "18446744073709551615", "18446744073709551615" },
        { "0x8000000000000000", "9223372036854775808" },
        { "0xFFFFFFFFFFFFFFFF", "18446744073709551615" },
        { "-0x8000000000000000", "-9223372036854775808" },
        { "-0x8000000000000001", "\"-0x8000000000000001\"" },
        { "+0xFFFFFFFFFFFFFFFF", "\"+0xFFFFFFFFFFFFFFFF\"" },
        { "0x10000000000000000", "\"0x10000000000000000\"" },
    };
    check_values(rows, ARRAY_LEN(rows));
}

TEST(floats_become_json_numbers)
{
    static const char *const rows[][2] = {
        { "1.5", "1.5" },
        { "-1.5", "-1.5" },
        { "+1.5", "1.5" },
        { ".5", "0.5" },
        { "-.5", "-0.5" },
        { "+.5", "0.5" },
        { "1.", "1" },
        { "1.e5", "1e5" },
        { ".5e-3", "0.5e-3" },
        { "1e3", "1e3" },
        { "1E+3", "1E+3" },
        { "1_000.5", "1000.5" },
        { "1e1_0", "1e10" },
        { ".5_0", "0.50" },
        { "._5", "\"._5\"" },
        { ".5_", "\".5_\"" },
        { ".5__0", "\".5__0\"" },
        { "007.5", "7.5" },
        { "08", "8" },
        { "-0999", "-999" },
        { ".", "\".\"" },
        { "..5", "\"..5\"" },
        { ".e5", "\".e5\"" },
        { "1e", "\"1e\"" },
        { "1e+", "\"1e+\"" },
        { "e5", "\"e5\"" },
        { "1.2.3", "\"1.2.3\"" },
        { "0x1p3", "\"0x1p3\"" },
        { "1e308", "1e308" },
        { "1e309", "\"1e309\"" },
        { "-1e400", "\"-1e400\"" },
        { ".1e400", "\".1e400\"" },
        { "1e-400", "1e-400" },
        { "12:30", "\"12:30\"" },
        { "190:20:30.15", "\"190:20:30.15\"" },
    };
    check_values(rows, ARRAY_LEN(rows));
}

/* kubectl rewrites these through a 64-bit float; here the digits stay. */
TEST(numbers_that_are_json_keep_their_text)
{
    static const char *const rows[][2] = {
        { "-0", "-0" },
        { "1.50", "1.50" },
        { "0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827" },
        { "12345678901234567890123", "12345678901234567890123" },
        { "-9223372036854775809", "-9223372036854775809" },
        { "+18446744073709551616", "18446744073709551616" },
        { "1E5", "1E5" },
    };
    check_values(rows, ARRAY_LEN(rows));
}

TEST(long_digits_are_numbers_up_to_the_json_limit)
{
    struct yaml_scalar s;
    char text[JSON_NUMBER_BYTES_MAX + 2];

    memset(text, '0', sizeof text);
    text[1] = '.';
    yaml_resolve((struct str){ text, JSON_NUMBER_BYTES_MAX }, &s);
    ASSERT_INT(YAML_KIND_FLOAT, s.kind);
    ASSERT_INT(JSON_NUMBER_BYTES_MAX, strlen(s.number));
    yaml_resolve((struct str){ text, JSON_NUMBER_BYTES_MAX + 1 }, &s);
    ASSERT_INT(YAML_KIND_STRING, s.kind);
    yaml_resolve((struct str){ text + 1, JSON_NUMBER_BYTES_MAX - 1 }, &s);
    ASSERT_INT(YAML_KIND_FLOAT, s.kind);
    yaml_resolve((struct str){ text + 1, JSON_NUMBER_BYTES_MAX },
                 &s); /* with the 0 in front it would be too long */
    ASSERT_INT(YAML_KIND_STRING, s.kind);
}

TEST(what_is_not_finite_is_refused)
{
    static const char *const rows[] = { ".inf", ".Inf", ".INF", "+.inf", "-.Inf", ".nan", ".NaN", ".NAN" };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_non_null(strstr(json_of_value(rows[i]), "is not a JSON number"));
    ASSERT_STR("[\".iNF\"]", json_of_value(".iNF"));
    ASSERT_STR("line 1, column 4, in [0]: unsupported value: -.inf is not a JSON number",
               json_of("- [-.inf]"));
}

TEST(timestamps_and_quoted_scalars_are_strings)
{
    static const char *const rows[][2] = {
        { "2001-01-01", "\"2001-01-01\"" },
        { "2024-05-01T10:00:00Z", "\"2024-05-01T10:00:00Z\"" },
        { "2001-12-14 21:59:43.10", "\"2001-12-14 21:59:43.10\"" },
        { "\"1\"", "\"1\"" },
        { "'1'", "\"1\"" },
        { "\"true\"", "\"true\"" },
        { "'~'", "\"~\"" },
        { "\"\"", "\"\"" },
        { "'it''s'", "\"it's\"" },
        { "\"a\\tb\\x41\\u00e9\\n\"", "\"a\\tbA\303\251\\n\"" },
        { "\"\\0\"", "\"\\u0000\"" },
        { "|\n  12\n", "\"12\\n\"" },
        { ">-\n  a\n  b\n", "\"a b\"" },
        { "a\n  b", "\"a b\"" },
        { "=", "\"=\"" },
        { "<<", "\"<<\"" },
        { "5Gi", "\"5Gi\"" },
        { "1.2.3.4", "\"1.2.3.4\"" },
        { "http://x/y#z", "\"http://x/y#z\"" },
    };
    check_values(rows, ARRAY_LEN(rows));
}

TEST(tags_decide_the_type)
{
    static const char *const rows[][2] = {
        { "!!str 1", "\"1\"" },
        { "!!str true", "\"true\"" },
        { "!!str", "\"\"" },
        { "!!int \"3\"", "3" },
        { "!!int 0x10", "16" },
        { "!!float 3", "3" },
        { "!!float \"1.5\"", "1.5" },
        { "!!bool \"yes\"", "true" },
        { "!!bool off", "false" },
        { "!!null", "null" },
        { "!!null \"~\"", "null" },
        { "!!binary aGVsbG8=", "\"hello\"" },
        { "!!binary |\n  aGVs\n  bG8=\n", "\"hello\"" },
        { "!!timestamp 2001-01-01", "\"2001-01-01\"" },
        { "!custom 12", "\"12\"" },
        { "!!set x", "\"x\"" },
        { "!<tag:yaml.org,2002:str> 5", "\"5\"" },
        { "! \"12\"", "\"12\"" },
        { "! 12", "\"12\"" },
        { "!!map {a: 1}", "{\"a\":1}" },
        { "!custom [1]", "[1]" },
        { "!!set {a, b}", "{\"a\":null,\"b\":null}" },
    };
    check_values(rows, ARRAY_LEN(rows));
}

TEST(tags_that_lie_are_refused)
{
    static const char *const rows[][2] = {
        { "!!int x", "cannot decode !!str `x` as a !!int" },
        { "!!int 1.5", "cannot decode !!float `1.5` as a !!int" },
        { "!!bool 1", "cannot decode !!int `1` as a !!bool" },
        { "!!null x", "cannot decode !!str `x` as a !!null" },
        { "!!float true", "cannot decode !!bool `true` as a !!float" },
        { "!!timestamp now", "cannot decode !!str `now` as a !!timestamp" },
        { "!!int \"a\\nb\"", "cannot decode !!str `a` as a !!int" },
        { "!!binary \"?\"", "!!binary value contains invalid base64 data" },
        { "!!binary /w==", "!!binary value is not UTF-8 text" },
        { "!!float .inf", "is not a JSON number" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (!strstr(json_of_value(rows[i][0]), rows[i][1]))
            fail_msg("%s: %s, expected %s", rows[i][0], json_of_value(rows[i][0]), rows[i][1]);
}

TEST(excerpts_keep_whole_characters)
{
    char text[] = "!!int x\303\251\303\251\303\251\303\251\303\251\303\251\303\251\303\251\303\251\303\251"
                  "\303\251\303\251\303\251\303\251\303\251\303\251\303\251\303\251\303\251\303\251\303\251"
                  "\303\251\303\251\303\251\303\251\303\251\303\251\303\251\303\251\303\251\303\251\303\251"
                  "\303\251\303\251\303\251";
    const char *message;

    message = json_of_value(text);
    assert_true(str_is_utf8(str_of(message)));
    assert_non_null(strstr(message, "\303\251` as a !!int"));
}

TEST(keys_become_strings)
{
    static const char *const rows[][2] = {
        { "a", "a" },
        { "1", "1" },
        { "-0", "0" },
        { "0x10", "16" },
        { "017", "15" },
        { "18446744073709551615", "18446744073709551615" }, /* kubectl refuses this one */
        { "1.50", "1.5" },
        { "3.14159265358979", "3.1415927" },
        { "100000.5", "100000.5" },
        { "1234567.0", "1.234567e+06" },
        { "0.0001", "0.0001" },
        { "0.00001", "1e-05" },
        { "-2.5", "-2.5" },
        { "0.0", "0" },
        { "1e20", "1e+20" },
        { "1e300", ".inf" },
        { "-1e300", "-.inf" },
        { "1000000000000000000000", "1e+21" },
        { ".inf", ".inf" },
        { "-.INF", "-.inf" },
        { ".NaN", ".nan" },
        { "true", "true" },
        { "y", "true" },
        { "Off", "false" },
        { "\"y\"", "y" },
        { "'1.50'", "1.50" },
        { "2001-01-01", "2001-01-01" },
        { "!!str 1", "1" },
        { "!!int \"0x10\"", "16" },
        { "\"<<\"", "<<" },
        { "\"\"", "" },
        { "? a b", "a b" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char expected[256];
        (void)snprintf(expected, sizeof expected, "{\"%s\":1}", rows[i][1]);
        if (strncmp(rows[i][0], "? ", 2) == 0) {
            ASSERT_STR(expected, json_of("? a b\n: 1\n"));
        } else if (strcmp(expected, json_of_key(rows[i][0])) != 0) {
            fail_msg("%s: read as %s, expected %s", rows[i][0], json_of_key(rows[i][0]), expected);
        }
    }
}

TEST(keys_that_cannot_be_strings_are_refused)
{
    ASSERT_STR("line 1, column 1: null cannot be a map key", json_of_key("~"));
    ASSERT_STR("line 1, column 2: null cannot be a map key", json_of("?\n: 1\n"));
    ASSERT_STR("line 1, column 5, in a: invalid map key: a list cannot be a key", json_of("a: {[b]: 1}"));
    ASSERT_STR("line 1, column 3: invalid map key: a map cannot be a key", json_of("? {a: b}\n: 1\n"));
    ASSERT_STR("line 1, column 1: unsupported value: .inf is not a JSON number", json_of_key("&a .inf"));
}

TEST(ambiguous_strings)
{
    static const char *const ambiguous[] = {
        "",
        "~",
        "null",
        "y",
        "No",
        "on",
        "1",
        "-1",
        "0x1F",
        "1_0",
        "017",
        "08",
        "1.5",
        ".5",
        "1e5",
        ".inf",
        ".NaN",
        "2001-01-01",
        "1:30",
        "-1:2:3",
        "1_:5",
        "190:20:3.1",
        "2024-1-2 3:4:5",
        "2024-01-02T03:04:05Z",
        "2024-01-02t03:04:05.123+01:00",
        "0b-1",
    };
    static const char *const plain[] = {
        "a",
        "nope",
        "yes!",
        "0x",
        "1e400",
        "-",
        "1:60",
        "1:",
        ":30",
        "1:2.x",
        "5Gi",
        "2001-13-01",
        "2001-1-32",
        "2001-01-01T",
        "2024-01-02T03:04:05",
        "2024-1-2 3:4:5.",
        "20240-1-1",
        "2024-01-02T03:04:05+1",
        "2024-01-02T24:00:00Z",
        "<<",
        "=",
        "1.2.3",
        "v1",
    };

    for (size_t i = 0; i < ARRAY_LEN(ambiguous); i++)
        if (!yaml_is_ambiguous(str_of(ambiguous[i])))
            fail_msg("\"%s\" would stay a string", ambiguous[i]);
    for (size_t i = 0; i < ARRAY_LEN(plain); i++)
        if (yaml_is_ambiguous(str_of(plain[i])))
            fail_msg("\"%s\" would not stay a string", plain[i]);
}

TEST_MAIN()
