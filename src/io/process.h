/* Child processes: a fixed environment, bounded input and output, a time limit, one report on the loop.
 *
 * A child runs in a session and process group of its own, so that a limit reaches all it has started: SIGTERM
 * to the group, SIGKILL after a grace of PROCESS_KILL_GRACE_NS, and SIGKILL to what is left of the group once
 * the child itself is gone. A child that ends by itself leaves its background processes alone (a FUSE mount's
 * daemon must live on); if they hold its output open, the report waits PROCESS_PIPE_GRACE_NS for more and
 * then comes without them.
 *
 * The report comes exactly once, and not before the kernel has let go of the child: a child stuck in an
 * uninterruptible system call counts as running, since it may still act. The child has the descriptors 0, 1
 * and 2: all others are close-on-exec, or made so. Starting takes about a millisecond of the loop thread;
 * time goes by the loop's clock. */
#ifndef BERTH_IO_PROCESS_H
#define BERTH_IO_PROCESS_H

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
    const char *const *env;  /* NULL-terminated "NAME=value", all the child gets; NULL: nothing */
    const char *dir;         /* working directory; NULL: "/", so that no mount is kept busy */
    struct str input;        /* its standard input, at most PROCESS_INPUT_BYTES_MAX; s == NULL: /dev/null */
    size_t out_bytes_max;    /* of standard output and */
    size_t err_bytes_max;    /* standard error so many first bytes are kept, the rest is read and dropped */
    bool err_joins_out;      /* both through one pipe, in the order written: out has all, and err is out */
    uint64_t limit_ns;       /* above 0 */
};

/* The texts are NUL-terminated behind their length. Everything is gone when the callback returns. */
struct process_result {
    int exit_code;   /* -1 when a signal ended it */
    int term_signal; /* 0 when it exited */
    bool timed_out;  /* it was told to end because of limit_ns, however it then ended */
    bool cancelled;  /* the same because of process_cancel() */
    bool out_is_cut; /* there was more than out holds */
    bool err_is_cut;
    struct str out;
    struct str err;
    uint64_t limit_ns;
};

typedef void (*process_done_fn)(void *ctx, const struct process_result *result);

/* True when there is a program of this name in the directories ("/usr/bin:/bin"), or at this path when the
 * name has a '/'. */
bool process_has_program(const char *name, const char *dirs);

/* Starts a child. What cannot be started at all (no such command or directory, no permission, no descriptor)
 * is an error here, and done is not called. *ret is for process_cancel() and process_drop(), and valid until
 * done is called. */
int process_run(struct loop *l, const struct process_spec *spec, process_done_fn done, void *ctx,
                struct process **ret, struct error *err);

/* Ends the child as its time limit would, now. The report still comes, once it is gone; a child that had
 * ended already is reported as it ended. */
void process_cancel(struct process *p);

/* For an owner that goes: the child and its group are killed, and nobody is told. Waits for the end of the
 * child, which comes at once unless the kernel holds it, and then no longer than PROCESS_DROP_NS; p is gone
 * when it returns. Takes NULL; always NULL. */
struct process *process_drop(struct process *p);

/* 0 when the child exited with 0; otherwise its failure in words, with the first line of its standard error,
 * which is made printable. what names it: "mkfs.ext4". ERR_TIMEOUT, ERR_CANCELLED or ERR_IO. */
int process_result_check(const struct process_result *result, const char *what, struct error *err);

#endif
