/* Commands as workers run them: output in its order, exit codes, variables, endings. */
#include "tests/unit/test_io.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "host/command.h"

static struct error err;

/* A shell command with everything asked for. */
static int run(const char *script, struct buf *output, bool *is_cut, int *exit_code)
{
    const char *argv[] = { "sh", "-c", script, NULL };
    struct command c = {
        .what = "the script",
        .argv = argv,
        .limit_ns = 20 * NS_PER_S,
        .output = output,
        .output_is_cut = is_cut,
        .exit_code = exit_code,
    };

    return command_run(&c, &err);
}

TEST(output_comes_in_the_order_written)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(100);
    bool is_cut = true;
    int code = -1;

    buf_add_cstr(&out, "before ");
    ASSERT_OK(run("echo a; echo b >&2; echo c; exit 3", &out, &is_cut, &code));
    ASSERT_STR("before a\nb\nc\n", buf_cstr(&out));
    assert_false(is_cut);
    ASSERT_INT(3, code);
}

TEST(too_much_output_is_cut_and_said)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(1000);
    bool is_cut = false;
    int code = -1;

    ASSERT_OK(run("head -c 100000000 /dev/zero | tr '\\0' x; echo done >&2", &out, &is_cut, &code));
    ASSERT_INT(1000, out.len);
    assert_true(is_cut);
    ASSERT_INT(0, code);
    assert_false(out.failed);
}

TEST(an_exit_nobody_asks_for_is_a_failure_in_its_words)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(100);

    ASSERT_ERR(ERR_IO, run("echo why; exit 7", &out, NULL, NULL));
    ASSERT_STR("the script failed with exit code 7: why", err.msg);
    ASSERT_STR("why\n", buf_cstr(&out));
    ASSERT_ERR(ERR_IO, run("echo not this; echo why >&2; exit 7", NULL, NULL, NULL));
    ASSERT_STR("the script failed with exit code 7: why", err.msg);
}

TEST(a_signal_is_no_exit)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(100);
    int code = -5;

    ASSERT_ERR(ERR_IO, run("echo said; kill -9 $$", &out, NULL, &code));
    ASSERT_STR("the script was killed by signal 9", err.msg);
    ASSERT_STR("said\n", buf_cstr(&out));
    ASSERT_INT(-5, code);
}

TEST(limits_and_stops_are_no_exits)
{
    static const char *const argv[] = { "sh", "-c", "echo x; exec sleep 100", NULL };
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(100);
    atomic_int stop = 1;
    int code = -5;
    struct command c = {
        .what = "it", .argv = argv, .limit_ns = NS_PER_S, .output = &out, .exit_code = &code
    };

    ASSERT_ERR(ERR_TIMEOUT, command_run(&c, &err));
    ASSERT_STR("it did not end within 1000 ms", err.msg);
    ASSERT_STR("x\n", buf_cstr(&out));
    c.limit_ns = 100 * NS_PER_S;
    c.stop = &stop;
    ASSERT_ERR(ERR_CANCELLED, command_run(&c, &err));
    ASSERT_INT(-5, code);
}

TEST(variables_are_added)
{
    static const char *const argv[] = { "sh", "-c", "echo $A-$B-$LC_ALL-$HOME", NULL };
    static const char *const env[] = { "A=1", "B=two", NULL };
    const char *many[COMMAND_ENV_COUNT_MAX + 2] = { 0 };
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(100);
    struct command c = { .what = "it", .argv = argv, .env = env, .limit_ns = NS_PER_S * 20, .output = &out };

    ASSERT_OK(command_run(&c, &err));
    ASSERT_STR("1-two-C-\n", buf_cstr(&out));
    for (size_t i = 0; i < COMMAND_ENV_COUNT_MAX + 1; i++)
        many[i] = "A=1";
    c.env = many;
    ASSERT_ERR(ERR_TOO_LARGE, command_run(&c, &err));
    many[COMMAND_ENV_COUNT_MAX] = NULL;
    ASSERT_OK(command_run(&c, &err));
}

TEST(commands_that_are_not_there)
{
    static const char *const argv[] = { "no-such-command", NULL };
    struct command c = { .what = "it", .argv = argv, .limit_ns = NS_PER_S };

    ASSERT_ERR(ERR_NOT_FOUND, command_run(&c, &err));
}

TEST_MAIN()
