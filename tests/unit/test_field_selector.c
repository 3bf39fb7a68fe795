/* Field selectors. */
#include "tests/unit/test.h"

#include "api/field_selector.h"
#include "base/cleanup.h"

static struct error err;

#define ARENA_BYTES_MAX (1 << 20)

static const char *get_field(void *ctx, const char *field)
{
    unsigned *asked = ctx;

    (*asked)++;
    if (strcmp(field, "metadata.name") == 0)
        return "db";
    if (strcmp(field, "status.phase") == 0)
        return "Running";
    if (strcmp(field, "spec.nodeName") == 0)
        return "";
    if (strcmp(field, "odd") == 0)
        return "a,b=c\\d";
    return NULL;
}

TEST(field_selector_texts)
{
    static const struct {
        const char *text;
        bool matches;
        const char *written;
    } rows[] = {
        { "", true, "" },
        { ",", true, "" },
        { "metadata.name=db", true, "metadata.name=db" },
        { "metadata.name==db", true, "metadata.name=db" },
        { "metadata.name=web", false, "metadata.name=web" },
        { "metadata.name!=web", true, "metadata.name!=web" },
        { "metadata.name!=db", false, "metadata.name!=db" },
        { "status.phase!=Succeeded,status.phase!=Failed", true,
          "status.phase!=Succeeded,status.phase!=Failed" },
        { "metadata.name=db,status.phase=Failed", false, "metadata.name=db,status.phase=Failed" },
        { ",metadata.name=db,,", true, "metadata.name=db" },
        { "spec.nodeName=", true, "spec.nodeName=" },
        { "spec.nodeName!=", false, "spec.nodeName!=" },
        { "spec.nodeName=n1", false, "spec.nodeName=n1" },
        { "odd=a\\,b\\=c\\\\d", true, "odd=a\\,b\\=c\\\\d" },
        { "odd!=a\\,b\\=c\\\\d", false, "odd!=a\\,b\\=c\\\\d" },
        { "odd=a\\,b", false, "odd=a\\,b" },
        { "metadata.name=!db", false, "metadata.name=!db" },
        { "unset=", true, "unset=" },
        { "unset!=x", true, "unset!=x" },
        { " metadata.name=db", false, " metadata.name=db" }, /* blanks belong to the field */
        { "=", true, "=" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_done_p) struct arena a = ARENA_INIT(ARENA_BYTES_MAX);
        _cleanup_(buf_done_p) struct buf out = BUF_INIT(1024);
        struct field_selector sel;
        unsigned asked = 0;

        ASSERT_OK(field_selector_parse(str_of(rows[i].text), &a, &sel, &err));
        if (field_selector_matches(&sel, get_field, &asked) != rows[i].matches)
            fail_msg("'%s' should%s match", rows[i].text, rows[i].matches ? "" : " not");
        assert_true(asked <= sel.count);
        field_selector_format(&sel, &out);
        ASSERT_INT(ERR_NONE, out.failed);
        ASSERT_STR(rows[i].written, buf_cstr(&out));
    }
}

/* Parses a block of just its size, so that a sanitizer sees a read past its end. */
static int parse_exact(const char *text, struct arena *a, struct field_selector *ret)
{
    struct str given = str_of(text);
    _cleanup_(freep) char *copy = malloc(given.len ? given.len : 1);

    assert_non_null(copy);
    memcpy(copy, text, given.len);
    return field_selector_parse((struct str){ copy, given.len }, a, ret, &err);
}

TEST(field_selector_texts_refused)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        { "a=\xFF", "invalid selector: not valid UTF-8" },
        { "metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'" },
        { "a=b,c", "invalid selector: 'a=b,c'; can't understand 'c'" },
        { "a!b", "invalid selector: 'a!b'; can't understand 'a!b'" },
        { "a=b=c", "invalid field selector: unescaped character in value: 61" },
        { "a===b", "invalid field selector: unescaped character in value: 61" },
        { "a=b\\n", "invalid field selector: invalid escape sequence: \\n" },
        { "a=\\\xC3\xA9x", "invalid field selector: invalid escape sequence: \\\xC3\xA9" },
        { "a=b\\", "invalid field selector: invalid escape sequence: \\" },
        { "a=b\\\\\\", "invalid field selector: invalid escape sequence: \\" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_done_p) struct arena a = ARENA_INIT(ARENA_BYTES_MAX);
        struct field_selector sel = { .count = 99 };
        ASSERT_ERR(ERR_BAD_REQUEST, parse_exact(rows[i].text, &a, &sel));
        ASSERT_STR(rows[i].message, err.msg);
        ASSERT_INT(99, sel.count);
    }
}

TEST(field_selector_bytes_are_not_mistaken)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(ARENA_BYTES_MAX);
    struct field_selector sel;
    unsigned asked = 0;

    ASSERT_OK(field_selector_parse((struct str){ "metadata.name=db\0x", 18 }, &a, &sel, &err));
    assert_false(field_selector_matches(&sel, get_field, &asked));
    ASSERT_ERR(ERR_BAD_REQUEST,
               field_selector_parse((struct str){ "metadata.name\0x=db", 18 }, &a, &sel, &err));
    ASSERT_ERR(ERR_BAD_REQUEST, field_selector_parse((struct str){ "a=b\\\0", 5 }, &a, &sel, &err));
}

TEST(field_selector_unknown_fields)
{
    static const char *const pod[] = { "metadata.name", "metadata.namespace", "spec.nodeName", NULL };
    static const struct {
        const char *text;
        const char *const *known;
        const char *message;
    } rows[] = {
        { "", NULL, NULL },
        { "metadata.name=a,metadata.namespace!=b", NULL, NULL },
        { "metadata.name=a,spec.nodeName=b", pod, NULL },
        { "spec.nodeName=b", NULL,
          "\"spec.nodeName\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"" },
        { "metadata.name=a,status.phase=b", pod, "field label not supported: status.phase" },
        { "=b", pod, "field label not supported: " },
        { "a\"b=c", NULL,
          "\"a\\\"b\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_done_p) struct arena a = ARENA_INIT(ARENA_BYTES_MAX);
        struct field_selector sel;

        ASSERT_OK(field_selector_parse(str_of(rows[i].text), &a, &sel, &err));
        if (!rows[i].message) {
            ASSERT_OK(field_selector_check(&sel, rows[i].known, &err));
            continue;
        }
        ASSERT_ERR(ERR_BAD_REQUEST, field_selector_check(&sel, rows[i].known, &err));
        ASSERT_STR(rows[i].message, err.msg);
    }
}

TEST(field_selector_pinned_fields)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(ARENA_BYTES_MAX);
    struct field_selector sel;
    struct str value = STR_LIT("untouched");

    ASSERT_OK(
        field_selector_parse(STR_LIT("x!=y,metadata.name=db,metadata.namespace!=shop"), &a, &sel, &err));
    assert_false(field_selector_requires(&sel, "metadata.namespace", &value));
    assert_false(field_selector_requires(&sel, "y", &value));
    assert_true(str_is(value, "untouched"));
    assert_true(field_selector_requires(&sel, "metadata.name", &value));
    assert_true(str_is(value, "db"));
}

TEST(field_selector_out_of_memory_is_an_error)
{
    bool failed = false, ok = false;

    for (size_t bytes = 0; bytes < 600; bytes++) {
        _cleanup_(arena_done_p) struct arena a = ARENA_INIT(bytes);
        struct field_selector sel;
        int r = field_selector_parse(STR_LIT("a=b,c=d,e!=f,g=h,i=j"), &a, &sel, &err);
        assert_true(r == 0 || r == -ERR_TOO_LARGE);
        failed = failed || r < 0;
        ok = ok || r == 0;
    }
    assert_true(failed);
    assert_true(ok);
}

TEST_MAIN()
