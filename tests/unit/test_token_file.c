/* The file of static tokens: what lines mean, and what is refused with its line. */
#include "tests/unit/test_io.h"

#include <sys/stat.h>

#include "apiserver/token_file.h"
#include "apiserver/user.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"

static struct error err;

static struct token_file *parse(const char *text)
{
    struct token_file *f = NULL;

    ASSERT_OK(token_file_parse(str_of(text), &f, &err));
    return f;
}

/* "user/uid: group group", "" when nobody has the token. */
static const char *find(const struct token_file *f, const char *token)
{
    static char text[512];
    const struct user *u = token_file_find(f, str_of(token));
    size_t at = 0;

    text[0] = '\0';
    if (u)
        at = (size_t)snprintf(text, sizeof text, "%s/%s:", u->name, u->uid);
    for (const char *const *g = u ? u->groups : NULL; g && *g; g++)
        at += (size_t)snprintf(text + at, sizeof text - at, " %s", *g);
    return text;
}

TEST(lines)
{
    static const struct {
        const char *text;
        const char *token;
        const char *user;
    } rows[] = {
        { "secret,alice,7,\"a,b\"", "secret", "alice/7: a b system:authenticated" },
        { "secret,alice,7,\"a,b\"", "secre", "" },
        { "secret,alice,7,\"a,b\"", "secret7", "" },
        { "secret,alice,7,\"a,b\"", "", "" },
        { "secret,alice,7", "secret", "alice/7: system:authenticated" },
        { "secret,alice,7,", "secret", "alice/7: system:authenticated" },
        { "secret,alice,,staff", "secret", "alice/: staff system:authenticated" },
        { "secret,alice,7,\"a, b ,,c\"", "secret", "alice/7: a b c system:authenticated" },
        { "secret,alice,7,system:authenticated", "secret", "alice/7: system:authenticated" },
        { "\"a \"\"b\"\", c\",alice,7", "a \"b\", c", "alice/7: system:authenticated" },
        { "x,a,1\n\n  \r\ny,b,2\r\n", "x", "a/1: system:authenticated" },
        { "x,a,1\n\n  \r\ny,b,2\r\n", "y", "b/2: system:authenticated" },
        { "x,a,1\nx,b,2", "x", "b/2: system:authenticated" },
        { "x,system:anonymous,1", "x", "system:anonymous/1: system:unauthenticated" },
        { "", "", "" },
        { "\n\n", "", "" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(token_file_free_p) struct token_file *f = parse(rows[i].text);
        ASSERT_STR(rows[i].user, find(f, rows[i].token));
    }
}

TEST(wrong_lines)
{
    static const struct {
        const char *text;
        const char *message;
    } rows[] = {
        { "secret", "line 1: a line needs a token, a user and a uid" },
        { "secret,alice", "line 1: a line needs a token, a user and a uid" },
        { "a,b,c\n\nsecret,alice", "line 3: a line needs a token, a user and a uid" },
        { ",alice,7", "line 1: the token or the user is empty" },
        { "secret,,7", "line 1: the token or the user is empty" },
        { "secret,alice,7,a,b", "line 1: more than four fields: write all groups in one quoted field" },
        { "secret,alice,7,\"a,b", "line 1: a quote is not closed" },
        { "secret,alice,7,\"a\"b", "line 1: text after a closing quote" },
        { "secret,al\"ice,7", "line 1: a quote inside a field that is not quoted" },
    };
    struct token_file *f = NULL;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ASSERT_ERR(ERR_INVALID, token_file_parse(str_of(rows[i].text), &f, &err));
        ASSERT_STR(rows[i].message, err.msg);
        assert_null(f);
    }
    ASSERT_ERR(ERR_INVALID, token_file_parse((struct str){ "a\0b,c,d", 7 }, &f, &err));
    ASSERT_STR("line 1: contains a NUL byte", err.msg);
}

TEST(many_lines)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(TOKEN_FILE_BYTES_MAX);
    _cleanup_(token_file_free_p) struct token_file *f = NULL;

    for (int i = 0; i < 20000; i++)
        buf_addf(&text, "token%d,user%d,%d,\"a,b\"\n", i, i, i);
    ASSERT_OK(token_file_parse(buf_str(&text), &f, &err));
    ASSERT_STR("user0/0: a b system:authenticated", find(f, "token0"));
    ASSERT_STR("user19999/19999: a b system:authenticated", find(f, "token19999"));
    ASSERT_STR("", find(f, "token20000"));
}

TEST(files)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    _cleanup_(token_file_free_p) struct token_file *f = NULL;
    char message[1024];

    put_file(in_dir(&d, "tokens"), "x,a,1\n");
    ASSERT_OK(token_file_load(in_dir(&d, "tokens"), &f, &err));
    ASSERT_STR("a/1: system:authenticated", find(f, "x"));
    f = token_file_free(f);
    put_file(in_dir(&d, "tokens"), "verysecret,a\n");
    ASSERT_ERR(ERR_INVALID, token_file_load(in_dir(&d, "tokens"), &f, &err));
    (void)snprintf(message, sizeof message,
                   "cannot use '%s/tokens': line 1: a line needs a token, a user and a uid", d.path);
    ASSERT_STR(message, err.msg);
    assert_null(strstr(err.msg, "verysecret"));
    ASSERT_ERR(ERR_NOT_FOUND, token_file_load(in_dir(&d, "nothing"), &f, &err));
    assert_null(f);
}

static char logged[4096];

static void keep_line(void *ctx, const char *line, size_t len)
{
    size_t at = strlen(logged);

    (void)ctx;
    (void)snprintf(logged + at, sizeof logged - at, "%.*s", (int)len, line);
}

/* The warnings that loading a file of this mode gives. */
static const char *warnings_of(const char *path, mode_t mode)
{
    struct manual_clock clock;
    struct logger logger = { .level = LOG_LEVEL_WARN, .clock = &clock.clock, .sink = keep_line };
    _cleanup_(token_file_free_p) struct token_file *f = NULL;

    manual_clock_init(&clock, 0, 0);
    logged[0] = '\0';
    assert_int_equal(chmod(path, mode), 0);
    log_install(&logger);
    ASSERT_OK(token_file_load(path, &f, &err));
    log_install(NULL);
    return logged;
}

TEST(a_file_that_others_can_read_is_warned_of)
{
    static const mode_t bad[] = { 0644, 0640, 0604, 0620, 0601, 0444 };
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    const char *path = in_dir(&d, "tokens");
    char expected[1024];

    put_file(path, "verysecret,a,1\n");
    ASSERT_STR("", warnings_of(path, 0600));
    ASSERT_STR("", warnings_of(path, 0400));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        (void)snprintf(expected, sizeof expected,
                       "token file is accessible to other users path=%s mode=%04o fix=\"chmod 600 %s\"", path,
                       (unsigned)bad[i], path);
        if (!strstr(warnings_of(path, bad[i]), expected))
            fail_msg("%04o: '%s'", (unsigned)bad[i], logged);
        assert_null(strstr(logged, "verysecret"));
    }
}

TEST_MAIN()
