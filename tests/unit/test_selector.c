/* Label selectors: from text, from parts, matching. */
#include "tests/unit/test.h"

#include "api/selector.h"
#include "base/cleanup.h"

static struct error err;

#define ARENA_BYTES_MAX (1 << 20)

#define NAME_PART                                                                                         \
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " \
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "  \
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
#define LABEL_VALUE                                                                                          \
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and "     \
    "must "                                                                                                  \
    "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used " \
    "for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

static const struct kv labels[] = {
    { "disk", "ssd" }, { "empty", "" },  { "env", "prod" }, { "example.com/rack", "r1" },
    { "in", "notin" }, { "size", "10" }, { "word", "ten" },
};

TEST(kv_lookup)
{
    struct kv pairs[] = { { "b", "2" }, { "a/b", "3" }, { "a", "1" }, { "B", "0" } };

    assert_null(kv_get(NULL, 0, "a"));
    kv_sort(NULL, 0);
    kv_sort(pairs, ARRAY_LEN(pairs));
    ASSERT_STR("B", pairs[0].key);
    ASSERT_STR("a", pairs[1].key);
    ASSERT_STR("a/b", pairs[2].key);
    ASSERT_STR("b", pairs[3].key);
    for (size_t n = 0; n <= ARRAY_LEN(pairs); n++)
        for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
            const char *value = kv_get(pairs, n, pairs[i].key);
            assert_true(i < n ? value == pairs[i].value : value == NULL);
        }
    assert_null(kv_get(pairs, ARRAY_LEN(pairs), ""));
    assert_null(kv_get(pairs, ARRAY_LEN(pairs), "a/"));
    assert_null(kv_get(pairs, ARRAY_LEN(pairs), "zzz"));
}

/* Text, whether it selects the labels above, and the text it is written as. */
static const struct {
    const char *text;
    bool matches;
    const char *written;
} texts[] = {
    { "", true, "" },
    { "  \t\r\n", true, "" },
    { "disk=ssd", true, "disk in (ssd)" },
    { "disk==ssd", true, "disk in (ssd)" },
    { " disk = ssd ", true, "disk in (ssd)" },
    { "disk=hdd", false, "disk in (hdd)" },
    { "disk!=hdd", true, "disk notin (hdd)" },
    { "disk!=ssd", false, "disk notin (ssd)" },
    { "absent!=x", true, "absent notin (x)" },
    { "absent=", false, "absent in ()" },
    { "empty=", true, "empty in ()" },
    { "empty!=", false, "empty notin ()" },
    { "disk in (ssd,hdd)", true, "disk in (hdd,ssd)" },
    { "disk in(hdd)", false, "disk in (hdd)" },
    { "disk in (ssd,ssd)", true, "disk in (ssd)" },
    { "disk notin (ssd)", false, "disk notin (ssd)" },
    { "disk notin (hdd,nvme)", true, "disk notin (hdd,nvme)" },
    { "absent in (a)", false, "absent in (a)" },
    { "absent notin (a)", true, "absent notin (a)" },
    { "empty in ()", true, "empty in ()" },
    { "empty in (,)", true, "empty in ()" },
    { "empty in (a,)", true, "empty in (,a)" },
    { "empty in (,a)", true, "empty in (,a)" },
    { "empty in (a,,b)", true, "empty in (,a,b)" },
    { "empty in (a,b)", false, "empty in (a,b)" },
    { "empty in (,,a)", true, "empty in (,a)" },
    { "disk", true, "disk" },
    { "absent", false, "absent" },
    { "empty", true, "empty" },
    { "!disk", false, "!disk" },
    { "! absent", true, "!absent" },
    { "size>5", true, "size>5" },
    { "size>10", false, "size>10" },
    { "size<11", true, "size<11" },
    { "size < 10", false, "size<10" },
    { "word>1", false, "word>1" },
    { "absent<1", false, "absent<1" },
    { "disk=ssd,env in (prod,test),!absent,size>1", true, "disk in (ssd),env in (prod,test),!absent,size>1" },
    { "disk=ssd,env=test", false, "disk in (ssd),env in (test)" },
    { "disk,disk=ssd,disk!=hdd", true, "disk,disk in (ssd),disk notin (hdd)" },
    { "example.com/rack=r1", true, "example.com/rack in (r1)" },
    /* words that are operators elsewhere */
    { "in", true, "in" },
    { "in=notin", true, "in in (notin)" },
    { "in in (in,notin)", true, "in in (in,notin)" },
    { "!in", false, "!in" },
    { "notin notin (in)", true, "notin notin (in)" },
};

TEST(selector_texts)
{
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        _cleanup_(arena_done_p) struct arena a = ARENA_INIT(ARENA_BYTES_MAX);
        _cleanup_(buf_done_p) struct buf out = BUF_INIT(1024), twice = BUF_INIT(1024);
        struct label_selector sel, again;

        ASSERT_OK(label_selector_parse(str_of(texts[i].text), &a, &sel, &err));
        if (label_selector_matches(&sel, labels, ARRAY_LEN(labels)) != texts[i].matches)
            fail_msg("'%s' should%s match", texts[i].text, texts[i].matches ? "" : " not");
        label_selector_format(&sel, &out);
        ASSERT_INT(ERR_NONE, out.failed);
        ASSERT_STR(texts[i].written, buf_cstr(&out));
        ASSERT_OK(label_selector_parse(buf_str(&out), &a, &again, &err));
        label_selector_format(&again, &twice);
        ASSERT_INT(ERR_NONE, twice.failed);
        ASSERT_STR(texts[i].written, buf_cstr(&twice));
    }
}

/* Parses a block of just its size, so that a sanitizer sees a read past its end. */
static int parse_exact(const char *text, struct arena *a, struct label_selector *ret)
{
    struct str given = str_of(text);
    _cleanup_(freep) char *copy = malloc(given.len ? given.len : 1);

    assert_non_null(copy);
    memcpy(copy, text, given.len);
    return label_selector_parse((struct str){ copy, given.len }, a, ret, &err);
}

#define PARSE "unable to parse requirement: "
#define OPERATORS "expected: in, notin, =, ==, !=, gt, lt"

TEST(selector_texts_refused)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        { "a=\xFF", PARSE "the selector is not valid UTF-8" },
        { ",", "found ',', expected: !, identifier, or 'end of string'" },
        { "=a", "found '=', expected: !, identifier, or 'end of string'" },
        { "(a)", "found '(', expected: !, identifier, or 'end of string'" },
        { "a,", "found '', expected: identifier after ','" },
        { "a,,b", "found ',', expected: identifier after ','" },
        { "a=b,=c", "found '=', expected: identifier after ','" },
        { "a=b c", "found 'c', expected: ',' or 'end of string'" },
        { "a in (b) c", "found 'c', expected: ',' or 'end of string'" },
        { "!a=b", "found '=', expected: ',' or 'end of string'" },
        { "!a in (b)", "found 'in', expected: ',' or 'end of string'" },
        { "!", PARSE "found '', expected: identifier" },
        { "!!a", PARSE "found '!', expected: identifier" },
        { "!,a", PARSE "found ',', expected: identifier" },
        { "a b", PARSE "found 'b', " OPERATORS },
        { "a (b)", PARSE "found '(', " OPERATORS },
        { "a!b", PARSE "found '!', " OPERATORS },
        { "a==(b)", PARSE "found '(', expected: identifier" },
        { "a=!b", PARSE "found '!', expected: identifier" },
        { "a===b", PARSE "found '=', expected: identifier" },
        { "a in", PARSE "found '' expected: '('" },
        { "a in b", PARSE "found 'b' expected: '('" },
        { "a in (", PARSE "found '', expected: ',', ')' or identifier" },
        { "a in (=", PARSE "found '=', expected: ',', ')' or identifier" },
        { "a in (b", PARSE "found '', expected: ',' or ')'" },
        { "a in (b c)", PARSE "found 'c', expected: ',' or ')'" },
        { "a in (b,", PARSE "found '', expected: ',', or identifier" },
        { "a in (b,=)", PARSE "found '=', expected: ',', or identifier" },
        { "a in (b,,)", PARSE "found ')', expected: ',', or identifier" },
        { "a/b/c", PARSE
          "<nil>: Invalid value: \"a/b/c\": a valid label key must consist of alphanumeric characters, '-', "
          "'_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  "
          "or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an "
          "optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')" },
        { "-a", PARSE "<nil>: Invalid value: \"-a\": " NAME_PART },
        { "a,!b_", PARSE "<nil>: Invalid value: \"b_\": " NAME_PART },
        { "/a", PARSE "<nil>: Invalid value: \"/a\": prefix part must be non-empty" },
        { "/", PARSE "<nil>: Invalid value: \"/\": prefix part must be non-empty; name part must be "
                     "non-empty; " NAME_PART },
        { "a=-b", PARSE "values[0][a]: Invalid value: \"-b\": " LABEL_VALUE },
        { "a in (y,-x,y)", PARSE "values[0][a]: Invalid value: \"-x\": " LABEL_VALUE },
        { "a in (0,b@)", PARSE "values[1][a]: Invalid value: \"b@\": " LABEL_VALUE },
        { "a>b",
          PARSE "values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer" },
        { "a<",
          PARSE "values[0]: Invalid value: \"\": for 'Gt', 'Lt' operators, the value must be an integer" },
        { "a>99999999999999999999",
          PARSE "values[0]: Invalid value: \"99999999999999999999\": for 'Gt', 'Lt' "
                "operators, the value must be an integer" },
        { "a>-5", PARSE "values[0][a]: Invalid value: \"-5\": " LABEL_VALUE },
        { "a>+5", PARSE "values[0][a]: Invalid value: \"+5\": " LABEL_VALUE },
        { "a>_",
          PARSE "[values[0]: Invalid value: \"_\": for 'Gt', 'Lt' operators, the value must be an integer, "
                "values[0][a]: Invalid value: \"_\": " LABEL_VALUE "]" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_done_p) struct arena a = ARENA_INIT(ARENA_BYTES_MAX);
        struct label_selector sel = { .count = 99 };

        ASSERT_ERR(ERR_BAD_REQUEST, parse_exact(rows[i].text, &a, &sel));
        if (strlen(rows[i].message) < sizeof err.msg)
            ASSERT_STR(rows[i].message, err.msg);
        else
            assert_memory_equal(rows[i].message, err.msg, 400); /* cut */
        ASSERT_INT(99, sel.count);
    }
}

TEST(selector_text_with_a_nul_is_refused)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(ARENA_BYTES_MAX);
    struct label_selector sel;

    ASSERT_ERR(ERR_BAD_REQUEST, label_selector_parse((struct str){ "a=b\0,c=d", 8 }, &a, &sel, &err));
    ASSERT_STR(PARSE "values[0][a]: Invalid value: \"b\\x00\": " LABEL_VALUE, err.msg);
}

#define VALUES(...)                                \
    .values = (const struct str[]){ __VA_ARGS__ }, \
    .values_count = sizeof((const struct str[]){ __VA_ARGS__ }) / sizeof(struct str)

/* Table 4.1 with the labels above. */
TEST(selector_parts)
{
    const struct {
        struct requirement_parts parts;
        bool matches;
    } rows[] = {
        { { STR_LIT("disk"), STR_LIT("In"), VALUES(STR_LIT("ssd"), STR_LIT("hdd")) }, true },
        { { STR_LIT("disk"), STR_LIT("In"), VALUES(STR_LIT("hdd")) }, false },
        { { STR_LIT("absent"), STR_LIT("In"), VALUES(STR_LIT("")) }, false }, /* "" is not absence */
        { { STR_LIT("empty"), STR_LIT("In"), VALUES(STR_LIT("")) }, true },
        { { STR_LIT("absent"), STR_LIT("NotIn"), VALUES(STR_LIT("x")) }, true },
        { { STR_LIT("disk"), STR_LIT("NotIn"), VALUES(STR_LIT("x")) }, true },
        { { STR_LIT("disk"), STR_LIT("NotIn"), VALUES(STR_LIT("x"), STR_LIT("ssd")) }, false },
        { { STR_LIT("disk"), STR_LIT("Exists"), NULL, 0 }, true },
        { { STR_LIT("absent"), STR_LIT("Exists"), NULL, 0 }, false },
        { { STR_LIT("empty"), STR_LIT("Exists"), NULL, 0 }, true },
        { { STR_LIT("disk"), STR_LIT("DoesNotExist"), NULL, 0 }, false },
        { { STR_LIT("absent"), STR_LIT("DoesNotExist"), NULL, 0 }, true },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_done_p) struct arena a = ARENA_INIT(ARENA_BYTES_MAX);
        struct label_selector sel = { 0 };
        ASSERT_OK(label_selector_add(&sel, &a, &rows[i].parts, &err));
        if (label_selector_matches(&sel, labels, ARRAY_LEN(labels)) != rows[i].matches)
            fail_msg("row %zu", i);
    }
}

TEST(selector_requirements_are_anded)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(ARENA_BYTES_MAX);
    struct label_selector sel = { 0 };

    assert_true(label_selector_matches(&sel, labels, ARRAY_LEN(labels)));
    assert_true(label_selector_matches(&sel, NULL, 0));
    for (int i = 0; i < 20; i++) {
        ASSERT_OK(label_selector_add_label(&sel, &a, STR_LIT("disk"), STR_LIT("ssd"), &err));
        assert_true(label_selector_matches(&sel, labels, ARRAY_LEN(labels)));
    }
    assert_false(label_selector_matches(&sel, NULL, 0));
    ASSERT_OK(label_selector_add_label(&sel, &a, STR_LIT("empty"), STR_LIT(""), &err));
    assert_true(label_selector_matches(&sel, labels, ARRAY_LEN(labels)));
    ASSERT_OK(label_selector_add_label(&sel, &a, STR_LIT("absent"), STR_LIT(""), &err));
    assert_false(label_selector_matches(&sel, labels, ARRAY_LEN(labels)));
}

TEST(selector_parts_refused)
{
    const struct {
        struct requirement_parts parts;
        const char *message;
    } rows[] = {
        { { STR_LIT("a"), STR_LIT("Is"), NULL, 0 }, "\"Is\" is not a valid label selector operator" },
        { { STR_LIT("a"), STR_LIT("in"), NULL, 0 }, "\"in\" is not a valid label selector operator" },
        { { STR_LIT("a"), STR_LIT(""), NULL, 0 }, "\"\" is not a valid label selector operator" },
        { { STR_LIT("a"), STR_LIT("Gt"), VALUES(STR_LIT("1")) },
          "\"Gt\" is not a valid label selector operator" },
        { { STR_LIT("a"), STR_LIT("In"), NULL, 0 },
          "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty" },
        { { STR_LIT("a"), STR_LIT("NotIn"), NULL, 0 },
          "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty" },
        { { STR_LIT("a"), STR_LIT("Exists"), VALUES(STR_LIT("x"), STR_LIT("y")) },
          "values: Invalid value: [\"x\",\"y\"]: values set must be empty for exists and does not exist" },
        { { STR_LIT("a"), STR_LIT("DoesNotExist"), VALUES(STR_LIT("")) },
          "values: Invalid value: [\"\"]: values set must be empty for exists and does not exist" },
        { { STR_LIT("a b"), STR_LIT("Exists"), NULL, 0 }, "key: Invalid value: \"a b\": " NAME_PART },
        { { STR_LIT(""), STR_LIT("Exists"), NULL, 0 },
          "key: Invalid value: \"\": name part must be non-empty; " NAME_PART },
        { { STR_LIT("a"), STR_LIT("In"), VALUES(STR_LIT("x"), STR_LIT("y!")) },
          "values[1][a]: Invalid value: \"y!\": " LABEL_VALUE },
        { { STR_LIT("/a"), STR_LIT("In"), NULL, 0 },
          "[key: Invalid value: \"/a\": prefix part must be non-empty, values: Invalid value: null: for "
          "'in', "
          "'notin' operators, values set can't be empty]" },
    };
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(ARENA_BYTES_MAX);
    struct label_selector sel = { 0 };

    ASSERT_OK(label_selector_add_label(&sel, &a, STR_LIT("disk"), STR_LIT("ssd"), &err));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ASSERT_ERR(ERR_INVALID, label_selector_add(&sel, &a, &rows[i].parts, &err));
        ASSERT_STR(rows[i].message, err.msg);
        ASSERT_INT(1, sel.count);
    }
    ASSERT_ERR(ERR_INVALID, label_selector_add_label(&sel, &a, STR_LIT("a"), STR_LIT("b c"), &err));
    ASSERT_STR("values[0][a]: Invalid value: \"b c\": " LABEL_VALUE, err.msg);
}

TEST(selector_messages_survive_their_ceiling)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(ARENA_BYTES_MAX);
    struct label_selector sel = { 0 };
    struct str values[300];

    /* the place where the list is cut moves through a value */
    for (size_t shift = 0; shift < 16; shift++) {
        for (size_t i = 0; i < ARRAY_LEN(values); i++)
            values[i] = (struct str){ "bad value bad value", 9 + (i == 0 ? shift % 10 : 0) };
        struct requirement_parts moved = { STR_LIT("a"), STR_LIT("Exists"), values, 38 + shift / 10 };
        ASSERT_ERR(ERR_INVALID, label_selector_add(&sel, &a, &moved, &err));
    }
    for (size_t i = 0; i < ARRAY_LEN(values); i++)
        values[i] = STR_LIT("bad value");
    struct requirement_parts parts = { STR_LIT("a"), STR_LIT("Exists"), values, ARRAY_LEN(values) };
    ASSERT_ERR(ERR_INVALID, label_selector_add(&sel, &a, &parts, &err));
    ASSERT_INT(0, strncmp(err.msg, "[values: Invalid value: [\"bad value\",\"bad value\",", 48));
    ASSERT_INT(sizeof err.msg - 1, strlen(err.msg));
    /* a cut never goes through a character */
    for (size_t shift = 0; shift < 4; shift++) {
        char key[600];
        for (size_t i = 0; i < sizeof key; i++)
            key[i] = "\xE2\x82\xAC"[(i + shift) % 3];
        size_t start = (3 - shift % 3) % 3;
        struct requirement_parts long_key = {
            { key + start, (sizeof key - start) / 3 * 3 }, STR_LIT("In"), values, 3
        };
        ASSERT_ERR(ERR_INVALID, label_selector_add(&sel, &a, &long_key, &err));
        assert_true(str_is_utf8(str_of(err.msg)));
        long_key.key.len = 300 + 3 * shift;
        ASSERT_ERR(ERR_INVALID, label_selector_add(&sel, &a, &long_key, &err));
        assert_true(str_is_utf8(str_of(err.msg)));
    }
}

TEST(selector_out_of_memory_is_an_error)
{
    struct requirement_parts parts = { STR_LIT("key"), STR_LIT("In"), VALUES(STR_LIT("v1"), STR_LIT("v2")) };
    bool failed = false, ok = false;

    for (size_t bytes = 0; bytes < 1500; bytes++) {
        _cleanup_(arena_done_p) struct arena a = ARENA_INIT(bytes), b = ARENA_INIT(bytes);
        struct label_selector sel = { 0 };
        int r = label_selector_add(&sel, &a, &parts, &err);
        assert_true(r == 0 || r == -ERR_TOO_LARGE);
        ASSERT_INT(r == 0 ? 1 : 0, sel.count);
        r = label_selector_parse(STR_LIT("a in (b,c),d,e=f,g!=h,i,j"), &b, &sel, &err);
        assert_true(r == 0 || r == -ERR_TOO_LARGE);
        failed = failed || r < 0;
        ok = ok || r == 0;
    }
    assert_true(failed);
    assert_true(ok);
}

/* Many values and many labels: every value is found, and nothing else. */
TEST(selector_with_many_values)
{
    enum { COUNT = 2000 };
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(ARENA_BYTES_MAX);
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(ARENA_BYTES_MAX);
    struct label_selector sel;

    buf_add_cstr(&text, "k in (");
    for (int i = 0; i < COUNT; i++)
        buf_addf(&text, "%sv%d", i ? "," : "", (i * 7919) % COUNT);
    buf_add_cstr(&text, ")");
    ASSERT_OK(label_selector_parse(buf_str(&text), &a, &sel, &err));
    ASSERT_INT(1, sel.count);
    ASSERT_INT(COUNT, sel.items[0].values_count);
    for (int i = -1; i <= COUNT; i++) {
        char value[16];
        struct kv label = { "k", value };
        snprintf(value, sizeof value, "v%d", i);
        ASSERT_INT(i >= 0 && i < COUNT, label_selector_matches(&sel, &label, 1));
    }
}

TEST_MAIN()
