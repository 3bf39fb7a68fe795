/* Child processes: a fixed environment, bounded input and output, a time limit, one report on the loop.
 *
 * A child runs in its own session and process group, so that a limit applies to everything it started:
 * SIGTERM to the group, SIGKILL after PROCESS_KILL_GRACE_NS, and SIGKILL to the rest of the group when the
 * child itself has ended. When a child exits without being asked to, its background processes are not killed
 * (the daemon of a FUSE mount must live on); if they keep its output open, the report waits
 * PROCESS_PIPE_GRACE_NS for more and then omits their output.
 *
 * The report is made exactly once, and not before the kernel has released the child: a child in an
 * uninterruptible system call counts as running, since it may still act. The child has the descriptors 0, 1
 * and 2: all others are close-on-exec, or made so. Starting takes about a millisecond of the loop thread;
 * time is measured by the loop's clock. */
#ifndef BERTH_IO_PROCESS_H
#define BERTH_IO_PROCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/str.h"
#include "io/loop.h"

#define PROCESS_KILL_GRACE_NS (2000 * NS_PER_MS)
#define PROCESS_PIPE_GRACE_NS (300 * NS_PER_MS)
#define PROCESS_DROP_NS (1000 * NS_PER_MS)
#define PROCESS_INPUT_BYTES_MAX ((size_t)1 << 20)

struct process;

/* Read during process_run() only. */
struct process_spec {
    const char *const *argv; /* NULL-terminated. argv[0] without '/' is searched in env's PATH */
    const char *const *env;  /* NULL-terminated "NAME=value", the whole environment; NULL: empty */
    const char *dir;         /* working directory; NULL: "/", so that no mount is kept busy */
    struct str input;        /* its standard input, at most PROCESS_INPUT_BYTES_MAX; s == NULL: /dev/null */
    size_t out_bytes_max;    /* limit of the kept standard output */
    size_t err_bytes_max;    /* and standard error; the rest is read and dropped */
    bool err_joins_out;      /* both through one pipe, in the order written: out has both, and err is out */
    uint64_t limit_ns;       /* above 0 */
};

/* The texts are NUL-terminated. Everything is freed when the callback returns. */
struct process_result {
    int exit_code;   /* -1 when a signal ended it */
    int term_signal; /* 0 when it exited */
    bool timed_out;  /* limit_ns was exceeded, however it then ended */
    bool cancelled;  /* process_cancel() was called, however it then ended */
    bool out_is_cut; /* there was more output than out holds */
    bool err_is_cut;
    struct str out;
    struct str err;
    uint64_t limit_ns;
};

typedef void (*process_done_fn)(void *ctx, const struct process_result *result);

/* True when a program of this name exists in the directories ("/usr/bin:/bin"), or at this path when the name
 * contains a '/'. */
bool process_has_program(const char *name, const char *dirs);

/* Starts a child. When it cannot be started (no such command or directory, no permission, no descriptor),
 * this fails and done is not called. *ret is for process_cancel() and process_drop(), and valid until done is
 * called. */
int process_run(struct loop *l, const struct process_spec *spec, process_done_fn done, void *ctx,
                struct process **ret, struct error *err);

/* Runs a child and waits until it has ended: on a worker, never on a loop's thread. done is called from in
 * here, unless this fails. stop: any value but 0 cancels the child; NULL for none. */
int process_wait(const struct process_spec *spec, const atomic_int *stop, process_done_fn done, void *ctx,
                 struct error *err);

/* Ends the child now, as its time limit would. The report is still made when the child has ended; a child
 * that had already ended is reported as it ended. */
void process_cancel(struct process *p);

/* For an owner that is being freed: kills the child and its group without a report. Waits for the end of the
 * child, which is immediate unless the kernel holds it, at most PROCESS_DROP_NS; p is freed on return. Takes
 * NULL; always returns NULL. */
struct process *process_drop(struct process *p);
/* The same for many, which are killed first and then awaited together: PROCESS_DROP_NS is for all of them. */
void process_drop_all(struct process *const *list, size_t count);

/* 0 when the child exited with 0; otherwise its failure as an error, with the first line of its standard
 * error, made printable. what names the command: "mkfs.ext4". ERR_TIMEOUT, ERR_CANCELLED or ERR_IO. */
int process_result_check(const struct process_result *result, const char *what, struct error *err);

#endif
