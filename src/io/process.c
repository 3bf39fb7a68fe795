/* A small state machine over a child and two pipes.
 *
 *     RUNNING --limit, cancel--> TERMINATING --grace--> KILLED
 *        |                            |                    |
 *        +---------- child exits -----+--------------------+---> DRAINING --pipes at end, grace--> REPORTED
 *
 * One timer serves whichever state the child is in. The struct is freed when libuv has closed its handles, a
 * turn after the report.
 *
 * posix_spawn() and a pidfd, not uv_spawn(): that one forks, which copies the page tables and blocked the
 * loop for 34 ms per child with 400 MB resident, where posix_spawn() takes 1 ms. It also reaps the child
 * before it reports the exit, so that the id of its process group could be reused before the rest of the
 * group is killed.
 *
 * Input is a file in memory, not a pipe: the loop need not write it, and a child that does not read it costs
 * nothing. Output uses real pipes, not libuv's socket pairs, because a socket cannot be reopened as
 * /dev/stderr, which shell scripts do. */
#include "io/process.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/close_range.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "io/clock.h"
#include "io/file.h"
#include "io/loop_int.h"
#include "io/sys.h"

#define PROCESS_READ_BYTES 16384
#define PROCESS_LINE_BYTES_MAX 200

enum process_state {
    PROCESS_RUNNING,
    PROCESS_TERMINATING,
    PROCESS_KILLED,
    PROCESS_DRAINING, /* the child has ended, its pipes are not at their end */
    PROCESS_REPORTED,
};

struct process_stream {
    uv_pipe_t pipe;
    struct process *process;
    struct buf text;
    bool is_open;
    bool is_cut;
};

struct process {
    uv_poll_t exit_poll; /* on pidfd: readable when the child has ended */
    int pidfd;           /* -1: none, and no exit_poll */
    pid_t pid;
    struct process_stream out;
    struct process_stream err; /* never opened when err_joins_out is set */
    bool err_joins_out;
    enum process_state state;
    struct timer timer;
    unsigned handles_count; /* open libuv handles: the struct must stay */
    process_done_fn done;
    void *ctx;
    struct process_result result;
    char scratch[PROCESS_READ_BYTES]; /* one read at a time, of either stream */
};

static void process_free(struct process *p)
{
    buf_done(&p->out.text);
    buf_done(&p->err.text);
    free(p);
}

static void process_on_closed(uv_handle_t *handle)
{
    struct process *p = handle->data;

    if (--p->handles_count == 0)
        process_free(p);
}

static void stream_close(struct process_stream *s)
{
    if (!s->is_open)
        return;
    s->is_open = false;
    uv_close((uv_handle_t *)&s->pipe, process_on_closed);
}

/* Closes everything; the struct is freed when libuv has closed its handles. */
static void process_close(struct process *p)
{
    timer_disarm(&p->timer);
    stream_close(&p->out);
    stream_close(&p->err);
    if (p->pidfd >= 0) {
        uv_close((uv_handle_t *)&p->exit_poll, process_on_closed); /* removes it from epoll at once, */
        (void)close(take_fd(&p->pidfd));                           /* so the descriptor can be closed too */
    }
    if (p->handles_count == 0)
        process_free(p);
}

static void process_report(struct process *p)
{
    p->state = PROCESS_REPORTED;
    p->result.out = buf_str(&p->out.text);
    p->result.err = buf_str(p->err_joins_out ? &p->out.text : &p->err.text);
    p->result.out_is_cut = p->out.is_cut;
    p->result.err_is_cut = p->err_joins_out ? p->out.is_cut : p->err.is_cut;
    p->done(p->ctx, &p->result);
    process_close(p);
}

/* Output */

static void stream_on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
    struct process *p = handle->data;

    (void)suggested;
    *ret = uv_buf_init(p->scratch, sizeof p->scratch);
}

/* Keeps what fits. Out of memory truncates the output too. */
static void stream_append(struct process_stream *s, const char *data, size_t len)
{
    size_t room = s->text.len_max - s->text.len;

    if (len > room) {
        s->is_cut = true;
        len = room;
    }
    buf_add(&s->text, data, len);
    if (s->text.failed)
        s->is_cut = true;
}

static void stream_on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *data)
{
    struct process_stream *s = CONTAINER_OF(stream, struct process_stream, pipe);
    struct process *p = s->process;

    if (n > 0)
        stream_append(s, data->base, (size_t)n);
    if (n >= 0)
        return; /* 0 is libuv's "nothing to read now" */
    stream_close(s);
    if (p->state == PROCESS_DRAINING && !p->out.is_open && !p->err.is_open)
        process_report(p);
}

/* Creates a pipe, reads from it on the loop, and returns the child's end. */
static int stream_open(struct process *p, struct loop *l, struct process_stream *s, size_t bytes_max,
                       int *ret_fd, struct error *err)
{
    _cleanup_(fd_closep) int read_fd = -1;
    _cleanup_(fd_closep) int write_fd = -1;
    int fds[2], r;

    if (pipe2(fds, O_CLOEXEC) < 0)
        return error_set_errno(err, errno, "cannot create a pipe");
    read_fd = fds[0];
    write_fd = fds[1];
    buf_init(&s->text, bytes_max);
    s->process = p;
    (void)uv_pipe_init(loop_uv(l), &s->pipe, /* ipc= */ 0); /* cannot fail */
    s->pipe.data = p;
    s->is_open = true;
    p->handles_count++;
    r = uv_pipe_open(&s->pipe, read_fd);
    if (r < 0)
        return error_set_errno(err, -r, "cannot open a pipe");
    (void)take_fd(&read_fd); /* uv_close() closes it now */
    r = uv_read_start((uv_stream_t *)&s->pipe, stream_on_alloc, stream_on_read);
    if (r < 0)
        return error_set_errno(err, -r, "cannot read from a pipe");
    *ret_fd = take_fd(&write_fd);
    return 0;
}

/* Ending */

/* Only while the child has not been reaped: until then its process id, and so its group's, cannot be reused.
 */
static void process_kill_group(struct process *p, int signum)
{
    (void)kill(-p->pid, signum); /* fails when no process is left, which is fine */
}

static void process_enter_terminating(struct process *p)
{
    p->state = PROCESS_TERMINATING;
    process_kill_group(p, SIGTERM);
    timer_arm_after(&p->timer, PROCESS_KILL_GRACE_NS);
}

static void process_on_timer(void *ctx)
{
    struct process *p = ctx;

    switch (p->state) {
    case PROCESS_RUNNING:
        p->result.timed_out = true;
        process_enter_terminating(p);
        break;
    case PROCESS_TERMINATING:
        p->state = PROCESS_KILLED;
        process_kill_group(p, SIGKILL);
        break;
    case PROCESS_DRAINING:
        process_report(p);
        break;
    case PROCESS_KILLED:
    case PROCESS_REPORTED:
        assert(false); /* the timer is not armed in these states */
    }
}

/* Reads the exit status; the child has ended, so this does not block. */
static void process_reap(struct process *p)
{
    int status = 0;
    pid_t pid;

    do
        pid = waitpid(p->pid, &status, 0);
    while (pid < 0 && errno == EINTR);
    p->result.exit_code = pid >= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    p->result.term_signal = pid >= 0 && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void process_on_exit(uv_poll_t *exit_poll, int status, int events)
{
    struct process *p = CONTAINER_OF(exit_poll, struct process, exit_poll);

    (void)status; /* on an error of the poll the best that is left is to wait for the child here */
    (void)events;
    if (p->state != PROCESS_RUNNING)
        process_kill_group(p, SIGKILL); /* processes that outlive their leader have had their SIGTERM */
    process_reap(p);
    (void)uv_poll_stop(exit_poll); /* the descriptor stays readable */
    p->state = PROCESS_DRAINING;
    timer_arm_after(&p->timer, PROCESS_PIPE_GRACE_NS);
    if (!p->out.is_open && !p->err.is_open)
        process_report(p);
}

void process_cancel(struct process *p)
{
    if (sys_here) {
        sys_here->calls->process_cancel(sys_here, p);
        return;
    }
    assert(p->state != PROCESS_REPORTED);
    if (p->state != PROCESS_RUNNING)
        return; /* ending already */
    p->result.cancelled = true;
    process_enter_terminating(p);
}

/* In PROCESS_DRAINING the child is reaped, and its process id may be reused. */
static bool process_has_child(const struct process *p)
{
    assert(p->state != PROCESS_REPORTED);
    return p->state != PROCESS_DRAINING;
}

/* Waits for a child that was killed. */
static void process_await_end(struct process *p, uint64_t until_ns)
{
    struct pollfd ended = { .fd = p->pidfd, .events = POLLIN };
    uint64_t now_ns = clock_mono_ns(clock_system());

    if (poll(&ended, 1, now_ns < until_ns ? (int)((until_ns - now_ns) / NS_PER_MS) : 0) > 0)
        process_reap(p);
}

void process_drop_all(struct process *const *list, size_t count)
{
    uint64_t until_ns;

    if (sys_here) {
        for (size_t i = 0; i < count; i++)
            sys_here->calls->process_drop(sys_here, list[i]);
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (process_has_child(list[i]))
            process_kill_group(list[i], SIGKILL);
    until_ns = clock_mono_ns(clock_system()) + PROCESS_DROP_NS;
    for (size_t i = 0; i < count; i++) {
        if (process_has_child(list[i]))
            process_await_end(list[i], until_ns);
        list[i]->state = PROCESS_REPORTED;
        process_close(list[i]);
    }
}

struct process *process_drop(struct process *p)
{
    if (p)
        process_drop_all(&p, 1);
    return NULL;
}

/* Starting */

/* The input as an unnamed file, positioned at its start. */
static int input_open(struct str input, int *ret_fd, struct error *err)
{
    _cleanup_(fd_closep) int fd = -1;
    size_t done = 0;

    if (input.len > PROCESS_INPUT_BYTES_MAX)
        return error_set(err, ERR_TOO_LARGE, "input of %zu bytes is larger than %zu", input.len,
                         PROCESS_INPUT_BYTES_MAX);
    fd = input.s ? memfd_create("berth-input", MFD_CLOEXEC) : open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_set_errno(err, errno, "cannot create the input file");
    while (done < input.len) { /* pwrite leaves the position at the start */
        ssize_t n = pwrite(fd, input.s + done, input.len - done, (off_t)done);
        if (n < 0 && errno != EINTR)
            return error_set_errno(err, errno, "cannot write the input file");
        done += n > 0 ? (size_t)n : 0;
    }
    *ret_fd = take_fd(&fd);
    return 0;
}

/* If one of our own descriptors 0 to 2 is closed, a new descriptor may get its number, and the setup of the
 * child would overwrite it. */
static int raise_above_stdio(int *fd, struct error *err)
{
    int raised;

    if (*fd > STDERR_FILENO)
        return 0;
    raised = fcntl(*fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (raised < 0)
        return error_set_errno(err, errno, "cannot duplicate a descriptor");
    (void)close(*fd);
    *fd = raised;
    return 0;
}

static bool is_program(const char *path)
{
    struct stat st;

    return sys_stat(path, &st) == 0 && S_ISREG(st.st_mode) && sys_access(path, X_OK) == 0;
}

/* path: the first program of this name in the directories; false when there is none. */
static bool find_in_dirs(const char *name, struct str dirs, char path[PATH_MAX])
{
    while (dirs.s) {
        struct str dir = str_next(&dirs, ':');
        int n = snprintf(path, PATH_MAX, "%.*s/%s", STR_ARG(dir), name);

        if (dir.len > 0 && n >= 0 && n < PATH_MAX && is_program(path))
            return true;
    }
    return false;
}

bool process_has_program(const char *name, const char *dirs)
{
    char path[PATH_MAX];

    return strchr(name, '/') ? is_program(name) : find_in_dirs(name, str_of(dirs), path);
}

/* Finds the command's path: argv[0] itself when it contains a '/', else the first executable in the PATH of
 * env. */
static int command_find(const struct process_spec *spec, char path[PATH_MAX], struct error *err)
{
    const char *name = spec->argv[0];
    struct str dirs = { NULL, 0 };
    int n = snprintf(path, PATH_MAX, "%s", name);

    if (n < 0 || n >= PATH_MAX)
        return error_set_errno(err, ENAMETOOLONG, "path of the command is too long");
    if (strchr(name, '/'))
        return 0;
    for (const char *const *var = spec->env; var && *var; var++)
        if (strncmp(*var, "PATH=", 5) == 0)
            dirs = str_of(*var + 5);
    return find_in_dirs(name, dirs, path) ? 0 : error_set(err, ERR_NOT_FOUND, "command not found in PATH");
}

/* posix_spawn() takes char *const * for historical reasons and changes nothing. */
static char *const *without_const(const char *const *list)
{
    return (char *const *)(uintptr_t)list;
}

/* All signals at their defaults and unblocked, a session of its own, fds as 0 to 2; 0 or an errno. */
static int child_prepare(posix_spawnattr_t *attr, posix_spawn_file_actions_t *actions, const char *dir,
                         const int fds[3])
{
    sigset_t none, all;
    int r;

    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    (void)posix_spawnattr_setsigmask(attr, &none);
    (void)posix_spawnattr_setsigdefault(attr, &all);
    r = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    for (int i = 0; i < 3 && r == 0; i++)
        r = posix_spawn_file_actions_adddup2(actions, fds[i], i);
    return r ? r : posix_spawn_file_actions_addchdir_np(actions, dir);
}

static int child_spawn(const struct process_spec *spec, const int fds[3], pid_t *ret_pid, struct error *err)
{
    static char *const no_env[] = { NULL };
    const char *dir = spec->dir ? spec->dir : "/";
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    struct sigaction action;
    char path[PATH_MAX];
    int r;

    r = command_find(spec, path, err);
    if (r < 0)
        return r;
    /* SIGCHLD may be inherited as ignored: the kernel would then discard the exit status. */
    if (sigaction(SIGCHLD, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
        (void)signal(SIGCHLD, SIG_DFL);
    /* Our own descriptors are close-on-exec; this covers those that a library opened or the parent left open.
     */
    (void)close_range(3, UINT_MAX, CLOSE_RANGE_CLOEXEC);
    (void)posix_spawn_file_actions_init(&actions); /* neither can fail in glibc */
    (void)posix_spawnattr_init(&attr);
    r = child_prepare(&attr, &actions, dir, fds);
    if (r == 0)
        r = posix_spawn(ret_pid, path, &actions, &attr, without_const(spec->argv),
                        spec->env ? without_const(spec->env) : no_env);
    (void)posix_spawnattr_destroy(&attr);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (r != 0)
        return error_set_errno(err, r, "in directory '%s'", dir);
    return 0;
}

/* Watches the child on the loop. A child that cannot be watched must not run. */
static int process_watch(struct process *p, struct loop *l, struct error *err)
{
    int r;

    p->pidfd = pidfd_open(p->pid, 0);
    r = p->pidfd < 0 ? -errno : uv_poll_init(loop_uv(l), &p->exit_poll, p->pidfd);
    if (r < 0) {
        fd_closep(&p->pidfd);
        p->pidfd = -1;
        process_kill_group(p, SIGKILL);
        process_reap(p);
        return error_set_errno(err, -r, "cannot watch the process");
    }
    p->exit_poll.data = p;
    p->handles_count++;
    (void)uv_poll_start(&p->exit_poll, UV_READABLE, process_on_exit); /* cannot fail on an open handle */
    return 0;
}

static int process_start(struct process *p, struct loop *l, const struct process_spec *spec,
                         struct error *err)
{
    _cleanup_(fd_closep) int in_fd = -1;
    _cleanup_(fd_closep) int out_fd = -1;
    _cleanup_(fd_closep) int err_fd = -1;
    int *const fds[] = { &in_fd, &out_fd, &err_fd };
    int r;

    r = input_open(spec->input, &in_fd, err);
    if (r == 0)
        r = stream_open(p, l, &p->out, spec->out_bytes_max, &out_fd, err);
    if (r == 0 && spec->err_joins_out) {
        err_fd = fcntl(out_fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        if (err_fd < 0)
            r = error_set_errno(err, errno, "cannot duplicate a descriptor");
    } else if (r == 0)
        r = stream_open(p, l, &p->err, spec->err_bytes_max, &err_fd, err);
    for (size_t i = 0; i < ARRAY_LEN(fds) && r == 0; i++)
        r = raise_above_stdio(fds[i], err);
    if (r == 0)
        r = child_spawn(spec, (const int[]){ in_fd, out_fd, err_fd }, &p->pid, err);
    if (r < 0)
        return r;
    return process_watch(p, l, err);
}

int process_run(struct loop *l, const struct process_spec *spec, process_done_fn done, void *ctx,
                struct process **ret, struct error *err)
{
    struct process *p;
    int r;

    assert(spec->argv[0]);
    assert(spec->limit_ns > 0);
    if (sys_here)
        return sys_here->calls->process_run(sys_here, l, spec, done, ctx, ret, err);
    p = calloc(1, sizeof *p);
    if (!p)
        return error_no_memory(err);
    p->done = done;
    p->ctx = ctx;
    p->result.limit_ns = spec->limit_ns;
    p->err_joins_out = spec->err_joins_out;
    timer_init(&p->timer, l, process_on_timer, p);
    p->pidfd = -1;
    r = process_start(p, l, spec, err);
    if (r < 0) {
        process_close(p);
        return error_wrap(err, "cannot start '%s'", spec->argv[0]);
    }
    timer_arm_after(&p->timer, spec->limit_ns);
    *ret = p;
    return 0;
}

/* Waiting: a worker has no loop, so it creates one while the child runs. That costs a few descriptors and 50
 * us, and the child gets the same environment, limits and termination as elsewhere. */

#define PROCESS_STOP_POLL_NS (50 * NS_PER_MS) /* how soon stop is noticed */

struct process_waiter {
    const atomic_int *stop;
    struct loop *loop;
    struct process *process;
    struct timer look;
    process_done_fn done;
    void *ctx;
};

static void waiter_poll_stop(void *ctx)
{
    struct process_waiter *w = ctx;

    if (atomic_load(w->stop) != 0)
        process_cancel(w->process);
    else
        timer_arm_after(&w->look, PROCESS_STOP_POLL_NS);
}

static void waiter_on_end(void *ctx, const struct process_result *result)
{
    struct process_waiter *w = ctx;

    timer_disarm(&w->look);
    w->done(w->ctx, result);
    loop_stop(w->loop);
}

int process_wait(const struct process_spec *spec, const atomic_int *stop, process_done_fn done, void *ctx,
                 struct error *err)
{
    _cleanup_(loop_free_p) struct loop *l = NULL;
    struct process_waiter w = { .stop = stop, .done = done, .ctx = ctx };
    int r;

    if (sys_here)
        return sys_here->calls->process_wait(sys_here, spec, stop, done, ctx, err);
    r = loop_new(/* clock= */ NULL, &l, err);
    if (r < 0)
        return r;
    w.loop = l;
    timer_init(&w.look, l, waiter_poll_stop, &w);
    r = process_run(l, spec, waiter_on_end, &w, &w.process, err);
    if (r < 0)
        return r;
    if (stop)
        timer_arm_after(&w.look, PROCESS_STOP_POLL_NS);
    loop_run(l);
    return 0;
}

/* Results */

/* The first line of a child's output, for an error message. Output may be anything: characters that are not
 * printable become blanks, and in text that is not UTF-8 every byte beyond ASCII becomes '?'. */
static void output_first_line(struct str output, char line[PROCESS_LINE_BYTES_MAX + 1])
{
    struct str rest = str_trim(output);
    struct str first = str_next(&rest, '\n');
    size_t len = first.len < PROCESS_LINE_BYTES_MAX ? first.len : PROCESS_LINE_BYTES_MAX;

    while (len > 0 && len < first.len && ((unsigned char)first.s[len] & 0xC0) == 0x80)
        len--; /* do not cut inside a character */
    bool is_utf8 = str_is_utf8((struct str){ first.s, len });
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)first.s[i];
        if (c < ' ' || c == 0x7F)
            line[i] = ' ';
        else
            line[i] = c > 0x7F && !is_utf8 ? '?' : first.s[i];
    }
    line[len] = '\0';
}

int process_result_check(const struct process_result *result, const char *what, struct error *err)
{
    char first_line[PROCESS_LINE_BYTES_MAX + 1];

    if (result->timed_out)
        return error_set(err, ERR_TIMEOUT, "%s did not end within %" PRIu64 " ms", what,
                         result->limit_ns / NS_PER_MS);
    if (result->cancelled)
        return error_set(err, ERR_CANCELLED, "%s was cancelled", what);
    if (result->term_signal)
        return error_set(err, ERR_IO, "%s was killed by signal %d", what, result->term_signal);
    if (result->exit_code == 0)
        return 0;
    output_first_line(result->err, first_line);
    return error_set(err, ERR_IO, "%s failed with exit code %d%s%s", what, result->exit_code,
                     first_line[0] ? ": " : "", first_line);
}
