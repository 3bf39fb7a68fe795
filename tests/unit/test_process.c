/* Real children of /bin/sh. Where a time limit matters the loop has a clock that is set by hand, so that
 * nothing is waited for but the children themselves. */
#include "tests/unit/test_io.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "io/file.h"
#include "io/loop.h"
#include "io/process.h"

#define SECOND NS_PER_S
#define HOUR (3600 * NS_PER_S)

static const char *const plain_env[] = { "PATH=/usr/bin:/bin", NULL };

/* The result, kept beyond the callback. */
struct outcome {
    bool is_done;
    unsigned reports;
    struct process_result result;
    struct buf out, err;
};

static void on_done(void *ctx, const struct process_result *result)
{
    struct outcome *o = ctx;

    o->is_done = true;
    o->reports++;
    o->result = *result;
    assert_int_equal(result->out.s[result->out.len], '\0');
    assert_int_equal(result->err.s[result->err.len], '\0');
    buf_add_str(&o->out, result->out);
    buf_add_str(&o->err, result->err);
    assert_int_equal(o->out.failed, ERR_NONE);
    assert_int_equal(o->err.failed, ERR_NONE);
}

struct world {
    struct manual_clock time;
    struct loop *loop;
    struct outcome o;
    struct process *process;
};

static struct world *world_new(void)
{
    struct world *w = calloc(1, sizeof *w);

    assert_non_null(w);
    manual_clock_init(&w->time, 0, 0);
    w->loop = new_loop(&w->time.clock);
    buf_init(&w->o.out, 1 << 24);
    buf_init(&w->o.err, 1 << 24);
    return w;
}

static struct world *world_free(struct world *w)
{
    loop_free(w->loop);
    buf_done(&w->o.out);
    buf_done(&w->o.err);
    free(w);
    return NULL;
}
DEFINE_CLEANUP(struct world, world_free)

static void start(struct world *w, const struct process_spec *spec)
{
    struct error err = { 0 };

    ASSERT_OK(process_run(w->loop, spec, on_done, &w->o, &w->process, &err));
}

static struct process_spec sh_spec(const char *const *argv)
{
    return (struct process_spec){
        .argv = argv, .env = plain_env, .out_bytes_max = 65536, .err_bytes_max = 65536, .limit_ns = HOUR
    };
}

#define SH(script) ((const char *const[]){ "sh", "-c", (script), NULL })

/* Runs the script to its end. */
static void run_sh(struct world *w, const char *script)
{
    struct process_spec spec = sh_spec(SH(script));

    start(w, &spec);
    run_until(w->loop, &w->o.is_done);
    assert_int_equal(w->o.reports, 1);
}

/* Waits for the child to create the file. */
static void await_file(struct world *w, const char *path)
{
    (void)signal(SIGALRM, test_on_deadline);
    (void)alarm(TEST_DEADLINE_S);
    while (access(path, F_OK) != 0)
        (void)loop_poll(w->loop);
    (void)alarm(0);
}

static pid_t read_pid(const char *path)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(0);
    struct error err = { 0 };
    int64_t pid = 0;

    ASSERT_OK(io_read_file(path, 32, &text, &err));
    assert_true(str_to_int64(str_trim(buf_str(&text)), &pid));
    assert_true(pid > 1);
    return (pid_t)pid;
}

/* A killed grandchild is a zombie until the init process, or whoever stands for it, reaps it. */
static bool is_alive(pid_t pid)
{
    char path[64], state = 0;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    bool is_read = fscanf(f, "%*d (%*[^)]) %c", &state) == 1;
    (void)fclose(f);
    return is_read && state != 'Z' && state != 'X';
}

static void await_death(pid_t pid)
{
    (void)signal(SIGALRM, test_on_deadline);
    (void)alarm(TEST_DEADLINE_S);
    while (is_alive(pid)) {
    }
    (void)alarm(0);
}

/* Ends */

TEST(exit_codes_and_signals)
{
    static const struct {
        const char *script;
        int exit_code, term_signal;
    } rows[] = {
        { "exit 0", 0, 0 },      { "exit 3", 3, 0 },          { "exit 255", 255, 0 },
        { "kill -9 $$", -1, 9 }, { "kill -TERM $$", -1, 15 }, { "nonexistent-command", 127, 0 },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(world_free_p) struct world *w = world_new();
        run_sh(w, rows[i].script);
        assert_int_equal(w->o.result.exit_code, rows[i].exit_code);
        assert_int_equal(w->o.result.term_signal, rows[i].term_signal);
        assert_false(w->o.result.timed_out);
        assert_false(w->o.result.cancelled);
    }
}

TEST(output_and_errors_are_kept_apart)
{
    _cleanup_(world_free_p) struct world *w = world_new();

    run_sh(w, "echo one; echo two >&2; echo three > /dev/stderr; printf 'a\\0b'");
    assert_int_equal(w->o.out.len, 7);
    assert_memory_equal(w->o.out.data, "one\na\0b", 7);
    ASSERT_STR("two\nthree\n", buf_cstr(&w->o.err));
    assert_false(w->o.result.out_is_cut);
    assert_false(w->o.result.err_is_cut);
}

TEST(several_children_at_once)
{
    enum { COUNT = 8 };
    _cleanup_(world_free_p) struct world *w = world_new();
    struct outcome outcomes[COUNT] = { 0 };
    struct error err = { 0 };

    for (size_t i = 0; i < COUNT; i++) {
        char script[32];
        struct process *p;
        (void)snprintf(script, sizeof script, "echo %zu; exit %zu", i, i);
        struct process_spec spec = sh_spec(SH(script));
        buf_init(&outcomes[i].out, 64);
        ASSERT_OK(process_run(w->loop, &spec, on_done, &outcomes[i], &p, &err));
    }
    for (size_t i = 0; i < COUNT; i++) {
        char expected[8];
        run_until(w->loop, &outcomes[i].is_done);
        (void)snprintf(expected, sizeof expected, "%zu\n", i);
        ASSERT_STR(expected, buf_cstr(&outcomes[i].out));
        assert_int_equal(outcomes[i].result.exit_code, (int)i);
        buf_done(&outcomes[i].out);
        buf_done(&outcomes[i].err);
    }
}

/* Bounds */

TEST(output_is_cut_but_the_child_is_not_held_up)
{
    static const struct {
        size_t written, kept_max;
    } rows[] = { { 0, 0 }, { 1, 0 }, { 10, 10 }, { 11, 10 }, { 3000000, 100000 }, { 100000, 3000000 } };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(world_free_p) struct world *w = world_new();
        char script[128];
        (void)snprintf(script, sizeof script, "head -c %zu /dev/zero; head -c %zu /dev/zero >&2",
                       rows[i].written, rows[i].written);
        struct process_spec spec = sh_spec(SH(script));
        spec.out_bytes_max = rows[i].kept_max;
        spec.err_bytes_max = rows[i].kept_max;
        start(w, &spec);
        run_until(w->loop, &w->o.is_done);
        bool cut = rows[i].written > rows[i].kept_max;
        assert_int_equal(w->o.result.exit_code, 0);
        assert_int_equal(w->o.out.len, cut ? rows[i].kept_max : rows[i].written);
        assert_int_equal(w->o.err.len, w->o.out.len);
        assert_int_equal(w->o.result.out_is_cut, cut);
        assert_int_equal(w->o.result.err_is_cut, cut);
    }
}

TEST(input_reaches_the_child_whole)
{
    static const size_t sizes[] = { 0, 1, 65536, 65537, PROCESS_INPUT_BYTES_MAX };
    static char input[PROCESS_INPUT_BYTES_MAX];

    for (size_t i = 0; i < sizeof input; i++)
        input[i] = (char)('a' + i % 23);
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        _cleanup_(world_free_p) struct world *w = world_new();
        struct process_spec spec = sh_spec(SH("cat"));
        spec.input = (struct str){ input, sizes[i] };
        spec.out_bytes_max = sizeof input + 1;
        start(w, &spec);
        run_until(w->loop, &w->o.is_done);
        assert_int_equal(w->o.out.len, sizes[i]);
        if (sizes[i] > 0)
            assert_memory_equal(w->o.out.data, input, sizes[i]);
    }
}

TEST(input_may_be_left_unread)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct process_spec spec = sh_spec(SH("exec true"));
    static char input[500000];

    spec.input = (struct str){ input, sizeof input };
    start(w, &spec);
    run_until(w->loop, &w->o.is_done);
    assert_int_equal(w->o.result.exit_code, 0);
}

TEST(input_is_empty_without_one)
{
    _cleanup_(world_free_p) struct world *w = world_new();

    run_sh(w, "cat; readlink /proc/self/fd/0");
    ASSERT_STR("/dev/null\n", buf_cstr(&w->o.out));
}

/* Surroundings */

TEST(environment_is_what_was_given)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    static const char *const env[] = { "B=2", "A=one = two", NULL };
    struct process_spec spec = sh_spec((const char *const[]){ "/usr/bin/env", NULL });

    assert_int_equal(setenv("BERTH_TEST_SECRET", "x", 1), 0);
    spec.env = env;
    start(w, &spec);
    run_until(w->loop, &w->o.is_done);
    ASSERT_STR("B=2\nA=one = two\n", buf_cstr(&w->o.out));
}

TEST(environment_is_empty_without_one)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct process_spec spec = sh_spec((const char *const[]){ "/usr/bin/env", NULL });

    spec.env = NULL;
    start(w, &spec);
    run_until(w->loop, &w->o.is_done);
    assert_int_equal(w->o.result.exit_code, 0);
    ASSERT_STR("", buf_cstr(&w->o.out));
}

TEST(directory_is_the_root_or_the_one_given)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct process_spec spec = sh_spec(SH("pwd"));

    start(w, &spec);
    run_until(w->loop, &w->o.is_done);
    w->o.is_done = false;
    spec.dir = "/usr";
    start(w, &spec);
    run_until(w->loop, &w->o.is_done);
    ASSERT_STR("/\n/usr\n", buf_cstr(&w->o.out));
}

TEST(descriptors_are_the_standard_three)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    _cleanup_(fd_closep) int careless =
        open("/dev/null", O_RDONLY); /* as a library might, without O_CLOEXEC */

    assert_true(careless >= 0);
    run_sh(w, "exec ls /proc/self/fd");
    ASSERT_STR("0\n1\n2\n3\n", buf_cstr(&w->o.out)); /* 3 is ls's own, on the directory it lists */
}

TEST(group_and_signals_are_the_childs_own)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    sigset_t blocked, before;

    assert_int_equal(sigemptyset(&blocked), 0);
    assert_int_equal(sigaddset(&blocked, SIGUSR1), 0);
    assert_int_equal(sigprocmask(SIG_BLOCK, &blocked, &before), 0);
    /* Its pid is its group's, and no signal is blocked. */
    run_sh(w,
           "read -r _ _ _ _ group _ < /proc/$$/stat; test $group = $$ && exec grep SigBlk /proc/self/status");
    assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
    ASSERT_STR("SigBlk:\t0000000000000000\n", buf_cstr(&w->o.out));
}

/* As left by whoever started us: the status would be lost. */
TEST(exit_code_is_known_though_sigchld_was_ignored)
{
    _cleanup_(world_free_p) struct world *w = world_new();

    (void)signal(SIGCHLD, SIG_IGN);
    run_sh(w, "exit 5");
    assert_int_equal(w->o.result.exit_code, 5);
}

/* In a process without standard descriptors the new ones get their numbers. */
static int run_without_stdio(struct world *w)
{
    struct process_spec spec = sh_spec(SH("cat; echo out; echo err >&2"));
    struct error err = { 0 };

    for (int fd = 0; fd < 3; fd++)
        (void)close(fd);
    spec.input = STR_LIT("in ");
    if (process_run(w->loop, &spec, on_done, &w->o, &w->process, &err) < 0)
        return 1;
    run_until(w->loop, &w->o.is_done);
    if (strcmp(buf_cstr(&w->o.out), "in out\n") != 0)
        return 2;
    return strcmp(buf_cstr(&w->o.err), "err\n") == 0 ? 0 : 3;
}

TEST(standard_descriptors_may_be_closed)
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        _exit(run_without_stdio(world_new()));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* The given PATH is searched, not ours, in its order; what cannot be run is passed over. */
TEST(command_is_searched_in_the_given_path)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    char path[TEST_PATH_BYTES * 5];
    struct process_spec spec = sh_spec((const char *const[]){ "tool", NULL });
    struct error err = { 0 };

    for (int i = 0; i < 3; i++)
        assert_int_equal(mkdir(in_dir(&d, (const char *[]){ "a", "b", "c" }[i]), 0755), 0);
    put_file(in_dir(&d, "a/tool"), "not for running");
    put_file(in_dir(&d, "b/tool"), "#!/bin/sh\necho b $0\n");
    put_file(in_dir(&d, "c/tool"), "#!/bin/sh\necho c\n");
    assert_int_equal(chmod(in_dir(&d, "b/tool"), 0755), 0);
    assert_int_equal(chmod(in_dir(&d, "c/tool"), 0755), 0);
    (void)snprintf(path, sizeof path, "PATH=:/nonexistent:%s/a:%s/b:%s/c", d.path, d.path, d.path);
    spec.dir = in_dir(&d, "c"); /* an empty part of PATH does not mean the working directory */
    spec.env = (const char *const[]){ "HOME=/", path, NULL };
    start(w, &spec);
    run_until(w->loop, &w->o.is_done);
    assert_memory_equal(w->o.out.data, "b ", 2);
    spec.env = (const char *const[]){ "HOME=/", NULL };
    ASSERT_ERR(ERR_NOT_FOUND, process_run(w->loop, &spec, on_done, &w->o, &w->process, &err));
    ASSERT_STR("cannot start 'tool': command not found in PATH", err.msg);
    spec.env = NULL;
    ASSERT_ERR(ERR_NOT_FOUND, process_run(w->loop, &spec, on_done, &w->o, &w->process, &err));
}

/* Not starting */

TEST(what_cannot_start_is_an_error_at_once)
{
    static const struct {
        const char *command, *dir;
        enum err code;
        const char *msg;
    } rows[] = {
        { "/nonexistent", NULL, ERR_NOT_FOUND,
          "cannot start '/nonexistent': in directory '/': No such file or directory" },
        { "nonexistent", NULL, ERR_NOT_FOUND, "cannot start 'nonexistent': command not found in PATH" },
        { "/etc/passwd", NULL, ERR_DENIED,
          "cannot start '/etc/passwd': in directory '/': Permission denied" },
        { "/bin/true", "/nonexistent", ERR_NOT_FOUND,
          "cannot start '/bin/true': in directory '/nonexistent': No such file or directory" },
    };
    _cleanup_(world_free_p) struct world *w = world_new();

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = { 0 };
        struct process_spec spec = sh_spec((const char *const[]){ rows[i].command, NULL });
        spec.dir = rows[i].dir;
        ASSERT_ERR(rows[i].code, process_run(w->loop, &spec, on_done, &w->o, &w->process, &err));
        ASSERT_STR(rows[i].msg, err.msg);
    }
    (void)loop_poll(w->loop);
    assert_int_equal(w->o.reports, 0);
    assert_null(w->process);
}

TEST(input_beyond_the_bound_is_refused)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct process_spec spec = sh_spec(SH("cat"));
    struct error err = { 0 };

    spec.input = (struct str){ "", PROCESS_INPUT_BYTES_MAX + 1 };
    ASSERT_ERR(ERR_TOO_LARGE, process_run(w->loop, &spec, on_done, &w->o, &w->process, &err));
    ASSERT_STR("cannot start 'sh': input of 1048577 bytes is larger than 1048576", err.msg);
}

/* Starting with n descriptors left, for every n until it succeeds: each failure is reported, none leaks. */
TEST(starting_without_descriptors_fails_cleanly)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct process_spec spec = sh_spec(SH("exit 0"));
    int held[64] = { 0 };
    size_t count = 0, left = 0;
    int r = -1;

    spec.input = (struct str){ "x", 1 };
    run_sh(w, "exit 0"); /* so that libuv has made what it makes once */
    w->o.is_done = false;
    while (count < ARRAY_LEN(held))
        held[count++] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct rlimit old, tight;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    tight = old;
    tight.rlim_cur = (rlim_t)held[count - 1] + 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    for (; r < 0 && left < 20; left++) {
        struct error err = { 0 };
        r = process_run(w->loop, &spec, on_done, &w->o, &w->process, &err);
        if (r < 0) {
            assert_non_null(strstr(err.msg, "cannot start 'sh': "));
            assert_non_null(strstr(err.msg, "Too many open files"));
            (void)loop_poll(w->loop);
            (void)close(held[--count]);
        }
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(r, 0);
    assert_in_range(left, 5, 10); /* input, two pipes of two, and libuv's own */
    run_until(w->loop, &w->o.is_done);
    while (count > 0)
        (void)close(held[--count]);
}

/* Limits */

TEST(limit_terminates_the_whole_group)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    static const char script[] = "sleep 1000 & echo $! > tmp; mv tmp pid; wait";
    struct process_spec spec = sh_spec(SH(script));
    spec.dir = d.path;
    spec.limit_ns = 10 * SECOND;
    start(w, &spec);
    await_file(w, in_dir(&d, "pid"));
    w->time.mono_ns = 10 * SECOND - 1;
    (void)loop_poll(w->loop);
    assert_true(is_alive(read_pid(in_dir(&d, "pid"))));
    assert_false(w->o.is_done);
    w->time.mono_ns = 10 * SECOND;
    run_until(w->loop, &w->o.is_done);
    assert_true(w->o.result.timed_out);
    assert_int_equal(w->o.result.term_signal, SIGTERM);
    assert_int_equal(w->o.result.exit_code, -1);
    await_death(read_pid(in_dir(&d, "pid")));
}

/* Whoever goes is told nothing, and leaves nobody behind. */
TEST(dropped_children_are_gone)
{
    static const char *const scripts[] = {
        "trap '' TERM; sleep 1000 & echo $! > tmp; mv tmp pid; wait", /* runs */
        "sleep 1000 & echo $! > tmp; mv tmp pid; exit 0",             /* has ended, its output has not */
    };

    assert_null(process_drop(NULL));
    for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
        _cleanup_(world_free_p) struct world *w = world_new();
        _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
        struct process_spec spec = sh_spec(SH(scripts[i]));
        pid_t pid;

        spec.dir = d.path;
        start(w, &spec);
        await_file(w, in_dir(&d, "pid"));
        pid = read_pid(in_dir(&d, "pid"));
        for (unsigned n = 0; i == 1 && n < 100; n++)
            (void)loop_poll(w->loop);
        assert_null(process_drop(w->process));
        (void)loop_poll(w->loop);
        assert_false(w->o.is_done);
        if (i == 0)
            await_death(pid);
        else
            (void)kill(pid, SIGKILL);
    }
}

TEST(many_are_dropped_together)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    const struct process_spec running = sh_spec(SH("trap '' TERM; while :; do sleep 1; done"));
    const struct process_spec ended = sh_spec(SH("true"));
    struct process *list[3];

    for (size_t i = 0; i < ARRAY_LEN(list); i++) {
        start(w, i == 1 ? &ended : &running);
        list[i] = w->process;
    }
    process_drop_all(list, ARRAY_LEN(list));
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* all are reaped */
    assert_int_equal(errno, ECHILD);
    (void)loop_poll(w->loop);
    assert_false(w->o.is_done);
    process_drop_all(NULL, 0);
}

TEST(limit_kills_who_ignores_the_first_signal)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    static const char script[] = "trap 'echo still here; > asked' TERM; > up; while :; do sleep 0.01; done";
    struct process_spec spec = sh_spec(SH(script));
    spec.dir = d.path;
    spec.limit_ns = SECOND;
    start(w, &spec);
    await_file(w, in_dir(&d, "up"));
    w->time.mono_ns = SECOND;
    await_file(w, in_dir(&d, "asked"));
    assert_false(w->o.is_done);
    w->time.mono_ns = SECOND + PROCESS_KILL_GRACE_NS;
    run_until(w->loop, &w->o.is_done);
    assert_true(w->o.result.timed_out);
    assert_int_equal(w->o.result.term_signal, SIGKILL);
    ASSERT_STR("still here\n", buf_cstr(&w->o.out));
}

/* The child goes at the first signal, its child does not: that one must not outlive the limit. */
TEST(limit_kills_what_the_child_leaves_behind)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    static const char script[] =
        "(trap '' TERM; > up; while :; do sleep 0.01; done) & echo $! > tmp; mv tmp pid; wait";
    struct process_spec spec = sh_spec(SH(script));
    spec.dir = d.path;
    spec.limit_ns = SECOND;
    start(w, &spec);
    await_file(w, in_dir(&d, "up"));
    await_file(w, in_dir(&d, "pid"));
    w->time.mono_ns = SECOND;
    run_until(w->loop, &w->o.is_done);
    assert_true(w->o.result.timed_out);
    await_death(read_pid(in_dir(&d, "pid")));
}

TEST(limit_lets_a_polite_child_choose_its_code)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    static const char script[] = "trap 'exit 7' TERM; > up; while :; do sleep 0.01; done";
    struct process_spec spec = sh_spec(SH(script));
    spec.dir = d.path;
    spec.limit_ns = SECOND;
    start(w, &spec);
    await_file(w, in_dir(&d, "up"));
    w->time.mono_ns = SECOND;
    run_until(w->loop, &w->o.is_done);
    assert_true(w->o.result.timed_out);
    assert_int_equal(w->o.result.exit_code, 7);
}

TEST(cancel_ends_the_child_and_reports_once)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct process_spec spec = sh_spec(SH("exec sleep 1000"));

    start(w, &spec);
    process_cancel(w->process);
    process_cancel(w->process);
    assert_int_equal(w->o.reports, 0);
    run_until(w->loop, &w->o.is_done);
    assert_true(w->o.result.cancelled);
    assert_false(w->o.result.timed_out);
    assert_int_equal(w->o.result.term_signal, SIGTERM);
    assert_int_equal(w->o.reports, 1);
}

TEST(limit_works_by_the_system_clock)
{
    _cleanup_(loop_free_p) struct loop *l = new_loop(NULL);
    struct process_spec spec = sh_spec(SH("exec sleep 1000"));
    struct outcome o = { 0 };
    struct process *p;
    struct error err = { 0 };

    spec.limit_ns = SECOND / 50;
    ASSERT_OK(process_run(l, &spec, on_done, &o, &p, &err));
    run_until(l, &o.is_done);
    assert_true(o.result.timed_out);
    buf_done(&o.out);
    buf_done(&o.err);
}

/* Background processes */

/* A grandchild with the pipes open: the report waits the grace, by the clock, and no longer; the grandchild
 * lives on. */
TEST(background_process_does_not_hold_the_report)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    static const char script[] = "sleep 1000 & echo $! > pid; echo hello; exit 4";
    struct process_spec spec = sh_spec(SH(script));
    spec.dir = d.path;
    start(w, &spec);
    await_file(w, in_dir(&d, "pid"));
    uint64_t at_ns = HOUR;
    (void)signal(SIGALRM, test_on_deadline);
    (void)alarm(TEST_DEADLINE_S);
    while (loop_next_timer_ns(w->loop, &at_ns) &&
           at_ns == HOUR) /* until the child's end has armed the grace */
        loop_run_once(w->loop);
    (void)alarm(0);
    assert_int_equal(at_ns, PROCESS_PIPE_GRACE_NS);
    (void)loop_poll(w->loop);
    assert_false(w->o.is_done);
    process_cancel(w->process); /* too late to matter */
    w->time.mono_ns = PROCESS_PIPE_GRACE_NS;
    (void)loop_poll(w->loop);
    assert_true(w->o.is_done);
    assert_int_equal(w->o.result.exit_code, 4);
    assert_false(w->o.result.cancelled);
    assert_false(w->o.result.timed_out);
    ASSERT_STR("hello\n", buf_cstr(&w->o.out));
    pid_t pid = read_pid(in_dir(&d, "pid"));
    assert_true(is_alive(pid));
    assert_int_equal(kill(pid, SIGKILL), 0);
}

TEST(background_process_without_the_pipes_delays_nothing)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    static const char script[] = "sleep 1000 > /dev/null 2>&1 & echo $! > pid";
    struct process_spec spec = sh_spec(SH(script));
    spec.dir = d.path;
    start(w, &spec);
    run_until(w->loop, &w->o.is_done); /* the clock stands still: no grace can have passed */
    assert_int_equal(kill(read_pid(in_dir(&d, "pid")), SIGKILL), 0);
}

/* Output closed early is no end: the child is still waited for. */
TEST(child_that_closes_its_output_is_awaited)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    static const char script[] =
        "exec > /dev/null 2>&1; > up; while ! test -e go; do sleep 0.01; done; exit 9";
    struct process_spec spec = sh_spec(SH(script));
    spec.dir = d.path;
    start(w, &spec);
    await_file(w, in_dir(&d, "up"));
    (void)loop_poll(w->loop);
    assert_false(w->o.is_done);
    put_file(in_dir(&d, "go"), "");
    run_until(w->loop, &w->o.is_done);
    assert_int_equal(w->o.result.exit_code, 9);
}

/* Results in words */

TEST(results_in_words)
{
    char long_line[600], long_words[600];
    memset(long_line, 'x', sizeof long_line - 1);
    long_line[sizeof long_line - 1] = '\0';
    (void)snprintf(long_words, sizeof long_words, "mkfs failed with exit code 1: %.200s", long_line);
    const struct {
        struct process_result result;
        enum err code;
        const char *msg;
    } rows[] = {
        { { .exit_code = 0 }, ERR_NONE, "" },
        { { .exit_code = 3 }, ERR_IO, "mkfs failed with exit code 3" },
        { { .exit_code = 3, .err = STR_LIT("\n no such device \nmore\n") },
          ERR_IO,
          "mkfs failed with exit code 3: no such device " },
        { { .exit_code = 1, .err = STR_LIT("a\tb\033[31m\177c") },
          ERR_IO,
          "mkfs failed with exit code 1: a b [31m c" },
        { { .exit_code = 1, .err = STR_LIT("caf\303\251") },
          ERR_IO,
          "mkfs failed with exit code 1: caf\303\251" },
        { { .exit_code = 1, .err = STR_LIT("caf\351") }, ERR_IO, "mkfs failed with exit code 1: caf?" },
        { { .exit_code = 1, .err = { long_line, 599 } }, ERR_IO, long_words },
        { { .exit_code = -1, .term_signal = 11 }, ERR_IO, "mkfs was killed by signal 11" },
        { { .exit_code = -1, .term_signal = 15, .timed_out = true, .limit_ns = 3 * SECOND },
          ERR_TIMEOUT,
          "mkfs did not end within 3000 ms" },
        { { .exit_code = 0, .timed_out = true, .limit_ns = SECOND / 2 },
          ERR_TIMEOUT,
          "mkfs did not end within 500 ms" },
        { { .exit_code = -1, .term_signal = 15, .cancelled = true }, ERR_CANCELLED, "mkfs was cancelled" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = { 0 };
        assert_int_equal(process_result_check(&rows[i].result, "mkfs", &err), -(int)rows[i].code);
        ASSERT_STR(rows[i].msg, err.msg);
    }
}

TEST_MAIN()
