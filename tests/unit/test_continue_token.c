/* Continue tokens: round trips, the form, garbage and forgery. */
#include "tests/unit/test.h"

#include "api/base64.h"
#include "apiserver/continue_token.h"
#include "base/cleanup.h"

static struct error err;

TEST(token_comes_back_as_it_was)
{
    static const struct {
        int64_t revision, left;
        const char *ns, *name;
    } rows[] = {
        { 1, -1, "", "pv-1" },
        { 12, 3, "shop", "db" },
        { INT64_MAX, INT64_MAX, "a", "b/c" },
        { CONTINUE_AT_NEWEST, -1, "shop", "db" },
        { 5, 0, "", "with \"quotes\" \\ and \xc3\xa4\xc3\xb6" },
        { 5, 7, "n", "~~~>>>~~" }, /* digits that differ in the base64 of URLs */
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_done_p) struct arena a = ARENA_INIT(1 << 20);
        _cleanup_(buf_done_p) struct buf text = BUF_INIT(CONTINUE_TOKEN_BYTES_MAX);
        struct continue_token t;

        continue_token_write(&(struct continue_token){ rows[i].revision, str_of(rows[i].ns),
                                                       str_of(rows[i].name), rows[i].left },
                             &text);
        ASSERT_INT(ERR_NONE, text.failed);
        for (const char *c = buf_cstr(&text); *c; c++)
            if (strchr("+/= \n", *c))
                fail_msg("'%c' in %s needs escaping in a URL", *c, buf_cstr(&text));
        ASSERT_OK(continue_token_read(buf_str(&text), &a, &t, &err));
        ASSERT_INT(rows[i].revision, t.revision);
        ASSERT_INT(rows[i].left, t.left);
        assert_true(str_is(t.ns, rows[i].ns));
        /* The NUL behind the name: the page begins behind it. */
        ASSERT_INT(strlen(rows[i].name) + 1, t.name.len);
        assert_memory_equal(rows[i].name, t.name.s, t.name.len);
    }
}

TEST(token_is_what_the_api_says)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(CONTINUE_TOKEN_BYTES_MAX), json = BUF_INIT(1024);

    continue_token_write(&(struct continue_token){ 12, STR_LIT("shop"), STR_LIT("db"), -1 }, &text);
    while (text.len % 4)
        buf_add_char(&text, '=');
    ASSERT_OK(base64_decode(buf_str(&text), &json, &err));
    ASSERT_STR("{\"v\":\"meta.k8s.io/v1\",\"rv\":12,\"start\":\"shop/db\\u0000\"}", buf_cstr(&json));
}

static int read_text(const char *text, struct continue_token *ret)
{
    static struct arena a = ARENA_INIT(1 << 20);

    arena_clear(&a);
    return continue_token_read(str_of(text), &a, ret, &err);
}

static int read_json(const char *json, struct continue_token *ret)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(1 << 20);

    base64_encode(str_of(json), &text);
    return read_text(buf_cstr(&text), ret);
}

TEST(garbage_is_refused)
{
    static const char *const rows[] = {
        "",
        "x",
        "!!!!",
        "a b c",
        "\xff\xfe",
        "e30",
        "bnVsbA==",
        "W10===",
        "AAAAAA",
        "=======",
        "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MQ",
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct continue_token t = { .revision = 77 };
        ASSERT_ERR(ERR_BAD_REQUEST, read_text(rows[i], &t));
        ASSERT_INT(77, t.revision);
        if (strncmp(err.msg, "continue key is not valid: ", 27) != 0)
            fail_msg("%s: %s", rows[i], err.msg);
    }
}

TEST(hostile_tokens_are_refused)
{
    static const struct {
        const char *json, *message;
    } rows[] = {
        { "{}", "continue key is not valid: unknown version" },
        { "[]", "continue key is not valid: unknown version" },
        { "{\"v\":\"meta.k8s.io/v2\",\"rv\":1,\"start\":\"a\"}",
          "continue key is not valid: unknown version" },
        { "{\"v\":\"meta.k8s.io/v1\",\"start\":\"a\"}",
          "continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)" },
        { "{\"v\":\"meta.k8s.io/v1\",\"rv\":0,\"start\":\"a\"}",
          "continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)" },
        { "{\"v\":\"meta.k8s.io/v1\",\"rv\":-2,\"start\":\"a\"}",
          "continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)" },
        { "{\"v\":\"meta.k8s.io/v1\",\"rv\":1e3,\"start\":\"a\"}",
          "continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)" },
        { "{\"v\":\"meta.k8s.io/v1\",\"rv\":99999999999999999999,\"start\":\"a\"}",
          "continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)" },
        { "{\"v\":\"meta.k8s.io/v1\",\"rv\":1}",
          "continue key is not valid: encoded start key empty (version meta.k8s.io/v1)" },
        { "{\"v\":\"meta.k8s.io/v1\",\"rv\":1,\"start\":7}",
          "continue key is not valid: encoded start key empty (version meta.k8s.io/v1)" },
    };
    struct continue_token t;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ASSERT_ERR(ERR_BAD_REQUEST, read_json(rows[i].json, &t));
        ASSERT_STR(rows[i].message, err.msg);
    }
}

/* Tokens of other makers have no count, or a senseless one. */
TEST(what_is_left_may_be_unknown)
{
    static const char *const rows[] = { "", ",\"left\":-5", ",\"left\":\"3\"", ",\"left\":1.5",
                                        ",\"left\":null" };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(buf_done_p) struct buf json = BUF_INIT(1024);
        struct continue_token t;

        buf_addf(&json, "{\"v\":\"meta.k8s.io/v1\",\"rv\":4,\"start\":\"a/b\"%s}", rows[i]);
        ASSERT_OK(read_json(buf_cstr(&json), &t));
        ASSERT_INT(-1, t.left);
        assert_true(str_is(t.ns, "a"));
        assert_true(str_is(t.name, "b")); /* without a NUL it begins at the name itself */
    }
}

TEST(a_long_token_is_refused_unread)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(1 << 20);
    struct continue_token t;

    for (int i = 0; i < CONTINUE_TOKEN_BYTES_MAX + 4; i++)
        buf_add_char(&text, 'A');
    ASSERT_ERR(ERR_BAD_REQUEST, read_text(buf_cstr(&text), &t));
    ASSERT_STR("continue key is not valid: too long", err.msg);
    text.data[CONTINUE_TOKEN_BYTES_MAX] = '\0';
    ASSERT_ERR(ERR_BAD_REQUEST, read_text(buf_cstr(&text), &t));
}

/* A name that no server stores: the writer says that it cannot. */
TEST(a_name_too_long_for_a_token)
{
    _cleanup_(buf_done_p) struct buf name = BUF_INIT(1 << 20), text = BUF_INIT(CONTINUE_TOKEN_BYTES_MAX);

    for (int i = 0; i < CONTINUE_TOKEN_BYTES_MAX; i++)
        buf_add_char(&name, 'a');
    continue_token_write(&(struct continue_token){ 1, STR_LIT(""), buf_str(&name), -1 }, &text);
    ASSERT_INT(ERR_TOO_LARGE, text.failed);
}

TEST_MAIN()
