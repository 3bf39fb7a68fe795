/* Runs a function in a forked child and collects its exit status and the end of its standard error. The
 * caller must have one thread only, since fork() copies just the calling thread. The parent polls a pipe
 * every TICK_MS. */
#include "io/isolate.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "io/clock.h"

#define TICK_MS 200

void *isolate_alloc(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

void isolate_free(void *memory, size_t bytes)
{
    if (memory)
        (void)munmap(memory, bytes);
}

/* In the child. */
static _Noreturn void run_child(const struct isolated *what, const int fds[2])
{
    const struct rlimit none = { 0 };

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!what->copies_stderr)
        (void)setrlimit(RLIMIT_CORE, &none); /* one of many runs: its core dump is not needed */
    (void)dup2(fds[1], STDERR_FILENO);
    (void)close(fds[0]);
    (void)close(fds[1]);
    exit(what->run(what->ctx)); /* flushes its output */
}

/* Appends to the kept output, dropping its beginning when it is full. */
static void keep_output(struct isolate_end *end, const char *text, size_t len)
{
    size_t has = strlen(end->output), room = sizeof end->output - 1, drop;

    if (len > room) {
        text += len - room;
        len = room;
    }
    drop = has + len > room ? has + len - room : 0;
    memmove(end->output, end->output + drop, has - drop);
    memcpy(end->output + has - drop, text, len);
    end->output[has - drop + len] = '\0';
}

/* False at the end of the child's output. */
static bool read_output(const struct isolated *what, int fd, struct isolate_end *ret)
{
    char text[1024];
    ssize_t n = read(fd, text, sizeof text);

    if (n < 0)
        return errno == EINTR;
    if (n > 0 && what->copies_stderr)
        (void)fwrite(text, 1, (size_t)n, stderr);
    if (n > 0)
        keep_output(ret, text, (size_t)n);
    return n > 0;
}

static void read_until_end(const struct isolated *what, pid_t child, int fd, struct isolate_end *ret)
{
    uint64_t begin_ns = clock_mono_ns(clock_system());
    struct pollfd p = { .fd = fd, .events = POLLIN };
    bool is_open = true;

    while (is_open) {
        if (poll(&p, 1, TICK_MS) > 0)
            is_open = read_output(what, fd, ret);
        if (what->on_tick)
            what->on_tick(what->ctx);
        if (what->seconds_max &&
            clock_mono_ns(clock_system()) - begin_ns > what->seconds_max * (uint64_t)NS_PER_S)
            (void)kill(child, SIGKILL);
    }
}

int isolate_run(const struct isolated *what, struct isolate_end *ret, struct error *err)
{
    int fds[2], status = 0, r;
    pid_t child;

    *ret = (struct isolate_end){ .status = -1 };
    if (pipe2(fds, O_CLOEXEC) < 0)
        return error_set_errno(err, errno, "cannot create a pipe");
    (void)fflush(NULL); /* otherwise both processes would print it */
    child = fork();
    r = child < 0 ? error_set_errno(err, errno, "cannot fork") : 0;
    if (child == 0)
        run_child(what, fds);
    (void)close(fds[1]);
    if (r == 0)
        read_until_end(what, child, fds[0], ret);
    (void)close(fds[0]);
    while (r == 0 && waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            r = error_set_errno(err, errno, "cannot wait for a child");
    if (r < 0)
        return r;
    if (WIFEXITED(status))
        ret->status = WEXITSTATUS(status);
    else
        ret->signal = WTERMSIG(status);
    return 0;
}
