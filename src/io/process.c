/* A small state machine over a child and two pipes.
 *
 *     RUNNING --limit, cancel--> TERMINATING --grace--> KILLED
 *        |                            |                    |
 *        +---------- child exits -----+--------------------+---> DRAINING --pipes at end, grace--> REPORTED
 *
 * One timer serves the state it is in. The struct is freed when libuv has closed its handles, a turn after
 * the report.
 *
 * posix_spawn() and a pidfd instead of uv_spawn(): that one forks, which copies the page tables and stopped
 * the loop for 34 ms a child with 400 MB resident, where posix_spawn() takes one; and it reaps the
 * child before it tells of it, so that the number of its group might be another's by the time the rest of the
 * group is killed.
 *
 * Input is a file in memory, not a pipe: it needs no writing from the loop, and a child that does not read it
 * costs nothing. Output goes through real pipes, not libuv's socket pairs, because a socket cannot be opened
 * again as /dev/stderr, which shell scripts like to do. */
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
#include "io/file.h"
#include "io/loop_int.h"

#define PROCESS_READ_BYTES 16384
#define PROCESS_SAID_BYTES_MAX 200

enum process_state {
    PROCESS_RUNNING,
    PROCESS_TERMINATING,
    PROCESS_KILLED,
    PROCESS_DRAINING, /* the child is gone, its pipes are not at their end */
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
    uv_poll_t exit_poll; /* on pidfd: readable once the child has ended */
    int pidfd;           /* -1: none, and no exit_poll */
    pid_t pid;
    struct process_stream out;
    struct process_stream err; /* never open when it joins out */
    bool err_joins_out;
    enum process_state state;
    struct timer timer;
    unsigned handles_count; /* libuv handles that are not closed yet: the struct must stay */
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

/* Lets go of everything; the struct follows when libuv is through with it. */
static void process_close(struct process *p)
{
    timer_disarm(&p->timer);
    stream_close(&p->out);
    stream_close(&p->err);
    if (p->pidfd >= 0) {
        uv_close((uv_handle_t *)&p->exit_poll, process_on_closed); /* leaves epoll here and now, */
        (void)close(take_fd(&p->pidfd));                           /* so the descriptor can go too */
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

/* Keeps what fits. Without memory the output is cut as well. */
static void stream_keep(struct process_stream *s, const char *data, size_t len)
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
        stream_keep(s, data->base, (size_t)n);
    if (n >= 0)
        return; /* 0 is libuv's "nothing just now" */
    stream_close(s);
    if (p->state == PROCESS_DRAINING && !p->out.is_open && !p->err.is_open)
        process_report(p);
}

/* Makes a pipe, reads from it on the loop, and gives the child's end. */
static int stream_open(struct process *p, struct loop *l, struct process_stream *s, size_t bytes_max,
                       int *ret_fd, struct error *err)
{
    _cleanup_(closep) int read_fd = -1;
    _cleanup_(closep) int write_fd = -1;
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

/* The child's standard error goes where its output goes. */
static int stream_join(int out_fd, int *ret_fd, struct error *err)
{
    int fd = fcntl(out_fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

    if (fd < 0)
        return error_set_errno(err, errno, "cannot duplicate a descriptor");
    *ret_fd = fd;
    return 0;
}

/* Ending */

/* Only while the child has not been reaped: until then its number, and so its group's, cannot be given to
 * another. */
static void process_kill_group(struct process *p, int signum)
{
    (void)kill(-p->pid, signum); /* fails when nobody is left, which is as well */
}

static void process_enter_terminating(struct process *p)
{
    p->state = PROCESS_TERMINATING;
    process_kill_group(p, SIGTERM);
    timer_arm_after(&p->timer, PROCESS_KILL_GRACE_NS);
}

static void process_enter_killed(struct process *p)
{
    p->state = PROCESS_KILLED;
    process_kill_group(p, SIGKILL);
}

static void process_enter_draining(struct process *p)
{
    p->state = PROCESS_DRAINING;
    timer_arm_after(&p->timer, PROCESS_PIPE_GRACE_NS);
    if (!p->out.is_open && !p->err.is_open)
        process_report(p);
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
        process_enter_killed(p);
        break;
    case PROCESS_DRAINING:
        process_report(p);
        break;
    case PROCESS_KILLED:
    case PROCESS_REPORTED:
        assert(false); /* the timer is not armed in these states */
    }
}

/* Takes the exit status; the child has ended, so it does not block. */
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

    (void)status; /* an error of the poll leaves nothing better than to wait for the child here */
    (void)events;
    if (p->state != PROCESS_RUNNING)
        process_kill_group(p, SIGKILL); /* what outlives its leader has had its SIGTERM too */
    process_reap(p);
    (void)uv_poll_stop(exit_poll); /* the descriptor would be readable for ever */
    process_enter_draining(p);
}

void process_cancel(struct process *p)
{
    assert(p->state != PROCESS_REPORTED);
    if (p->state != PROCESS_RUNNING)
        return; /* ending already */
    p->result.cancelled = true;
    process_enter_terminating(p);
}

struct process *process_drop(struct process *p)
{
    struct pollfd ended;

    if (!p)
        return NULL;
    assert(p->state != PROCESS_REPORTED);
    if (p->state != PROCESS_DRAINING) { /* else it is reaped, and its number may be another's */
        ended = (struct pollfd){ .fd = p->pidfd, .events = POLLIN };
        process_kill_group(p, SIGKILL);
        if (poll(&ended, 1, (int)(PROCESS_DROP_NS / NS_PER_MS)) > 0)
            process_reap(p);
    }
    p->state = PROCESS_REPORTED;
    process_close(p);
    return NULL;
}

/* Starting */

/* The input as a file without a name, read from its start. */
static int input_open(struct str input, int *ret_fd, struct error *err)
{
    _cleanup_(closep) int fd = -1;
    size_t done = 0;

    if (input.len > PROCESS_INPUT_BYTES_MAX)
        return error_set(err, ERR_TOO_LARGE, "its input of %zu bytes is larger than %zu", input.len,
                         PROCESS_INPUT_BYTES_MAX);
    fd = input.s ? memfd_create("berth-input", MFD_CLOEXEC) : open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_set_errno(err, errno, "cannot create its input");
    while (done < input.len) { /* pwrite leaves the position at the start */
        ssize_t n = pwrite(fd, input.s + done, input.len - done, (off_t)done);
        if (n < 0 && errno != EINTR)
            return error_set_errno(err, errno, "cannot write its input");
        done += n > 0 ? (size_t)n : 0;
    }
    *ret_fd = take_fd(&fd);
    return 0;
}

/* With one of our own 0 to 2 closed, a new descriptor may take its number, and the child's setup would
 * overwrite it. */
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

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* In path, the first program of this name in the directories; false when there is none. */
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

/* Gives the command's path: argv[0] itself when it has a '/', else the first that can be run in the PATH of
 * env. */
static int command_find(const struct process_spec *spec, char path[PATH_MAX], struct error *err)
{
    const char *name = spec->argv[0];
    struct str dirs = { NULL, 0 };
    int n = snprintf(path, PATH_MAX, "%s", name);

    if (n < 0 || n >= PATH_MAX)
        return error_set_errno(err, ENAMETOOLONG, "the command is too long");
    if (strchr(name, '/'))
        return 0;
    for (const char *const *var = spec->env; var && *var; var++)
        if (strncmp(*var, "PATH=", 5) == 0)
            dirs = str_of(*var + 5);
    return find_in_dirs(name, dirs, path) ? 0 : error_set(err, ERR_NOT_FOUND, "no such command in its PATH");
}

/* Whoever started us may have left SIGCHLD ignored, and then the kernel would throw the exit status away. */
static void keep_exit_statuses(void)
{
    struct sigaction action;

    if (sigaction(SIGCHLD, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
        (void)signal(SIGCHLD, SIG_DFL);
}

/* posix_spawn() asks for char *const *, from the days before const, and changes nothing. */
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
    char path[PATH_MAX];
    int r;

    r = command_find(spec, path, err);
    if (r < 0)
        return r;
    keep_exit_statuses();
    /* Ours are all close-on-exec; this is for what a library opened, or whoever started us left open. */
    (void)close_range(3, UINT_MAX, CLOSE_RANGE_CLOEXEC);
    (void)posix_spawn_file_actions_init(&actions); /* neither of the two can fail in glibc */
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

/* Learns of the child's end from the loop. A child that cannot be watched must not run. */
static int process_watch(struct process *p, struct loop *l, struct error *err)
{
    int r;

    p->pidfd = pidfd_open(p->pid, 0);
    r = p->pidfd < 0 ? -errno : uv_poll_init(loop_uv(l), &p->exit_poll, p->pidfd);
    if (r < 0) {
        closep(&p->pidfd);
        p->pidfd = -1;
        process_kill_group(p, SIGKILL);
        process_reap(p);
        return error_set_errno(err, -r, "cannot watch it");
    }
    p->exit_poll.data = p;
    p->handles_count++;
    (void)uv_poll_start(&p->exit_poll, UV_READABLE, process_on_exit); /* cannot fail on an open handle */
    return 0;
}

static int process_start(struct process *p, struct loop *l, const struct process_spec *spec,
                         struct error *err)
{
    _cleanup_(closep) int in_fd = -1;
    _cleanup_(closep) int out_fd = -1;
    _cleanup_(closep) int err_fd = -1;
    int *const fds[] = { &in_fd, &out_fd, &err_fd };
    int r;

    r = input_open(spec->input, &in_fd, err);
    if (r == 0)
        r = stream_open(p, l, &p->out, spec->out_bytes_max, &out_fd, err);
    if (r == 0 && spec->err_joins_out)
        r = stream_join(out_fd, &err_fd, err);
    else if (r == 0)
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

/* Results */

/* The first line of what a child said, for an error message. A child may say anything: what is not printable
 * becomes a blank, and in a text that is not UTF-8 every byte beyond ASCII becomes '?'. */
static void said_first_line(struct str said, char line[PROCESS_SAID_BYTES_MAX + 1])
{
    struct str rest = str_trim(said);
    struct str first = str_next(&rest, '\n');
    size_t len = first.len < PROCESS_SAID_BYTES_MAX ? first.len : PROCESS_SAID_BYTES_MAX;

    while (len > 0 && len < first.len && ((unsigned char)first.s[len] & 0xC0) == 0x80)
        len--; /* not through the middle of a character */
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
    char said[PROCESS_SAID_BYTES_MAX + 1];

    if (result->timed_out)
        return error_set(err, ERR_TIMEOUT, "%s did not end within %" PRIu64 " ms", what,
                         result->limit_ns / NS_PER_MS);
    if (result->cancelled)
        return error_set(err, ERR_CANCELLED, "%s was cancelled", what);
    if (result->term_signal)
        return error_set(err, ERR_IO, "%s was killed by signal %d", what, result->term_signal);
    if (result->exit_code == 0)
        return 0;
    said_first_line(result->err, said);
    return error_set(err, ERR_IO, "%s failed with exit code %d%s%s", what, result->exit_code,
                     said[0] ? ": " : "", said);
}
