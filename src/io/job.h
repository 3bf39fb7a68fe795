/* Blocking work for an owner that may go before it ends: begun on the loop, run on a worker, ended on the
 * loop. This is how everything but the store's own log runs what blocks.
 *
 * A job is embedded in what its function works with, which is allocated for it and goes with it: the function
 * sees that and nothing of its owner. An owner that goes drops the job, and the job goes when the function
 * has returned.
 *
 * The time limit counts from the beginning and asks, as a stop and a drop do: they set `stop`, which the
 * function looks at, and what has not started does not start. A function that hangs in the kernel is not over
 * and its job not done, since it may still act.
 *
 * At the end of the process nobody waits for what hangs: job_abandon_all() waits JOB_END_NS for what was told
 * to stop and names what is left. Abandoned work goes on until the process ends, so nothing that it sees may
 * be freed any more: whoever abandons a job ends the process with job_exit(). Its memory is not lost, it is
 * in the loop's list.
 *
 * A job knows its pool as the place that runs it and reports its end (pool_submit(), pool_cancel(),
 * pool_loop()), and nothing else: whoever runs jobs in virtual time replaces these three. */
#ifndef BERTH_IO_JOB_H
#define BERTH_IO_JOB_H

#include <stdatomic.h>

#include "base/error.h"
#include "io/loop.h"
#include "io/pool.h"

/* How long what was told to stop is waited for at the end of the process. A command that ignores SIGTERM
 * needs PROCESS_KILL_GRACE_NS of it. */
#define JOB_END_NS (3 * NS_PER_S)

struct job;

struct job_type {
    const char *name; /* what it does, for people: "pod cleanup" */
    /* On a worker; looks at j->stop. */
    int (*run)(struct job *j, struct error *err);
    /* On the loop: the job and all that it holds. */
    void (*free)(struct job *j);
};

/* On the loop, once. The job is freed when it returns. */
typedef void job_done_fn(void *ctx, struct job *j, int r, const struct error *err);

enum job_stop { JOB_GOES_ON, JOB_LIMIT_OVER, JOB_STOPPED, JOB_DROPPED };

/* Refused: by the pool, which has no room or no thread. */
enum job_state { JOB_IDLE, JOB_POOLED, JOB_REFUSED };

/* Zeroed; the owner sets the first three. */
struct job {
    const struct job_type *type;
    const char *about;    /* for which object; in the memory of the job; NULL: none */
    uint64_t limit_ns;    /* 0: none */
    atomic_int stop;      /* enum job_stop */
    enum job_state state; /* read in done only */

    /* The rest is job.c's. */
    TAILQ_ENTRY(job) link;
    bool is_ending;    /* done runs */
    job_done_fn *done; /* NULL: nobody waits for it */
    void *ctx;
    struct pool *pool;
    struct pool_work pooled;
    struct deferred refused; /* waits to be told */
    struct timer limit;
    uint64_t began_ns;
    uint64_t stopped_ns;
    struct error err;
};

/* done comes once, never from within this call. -ERR_UNAVAILABLE of a pool that does not take it: nothing was
 * done. -ERR_TIMEOUT of what fails after its limit. */
void job_begin(struct job *j, struct pool *pool, job_done_fn *done, void *ctx);

/* Asks it to end. Done comes as ever, with -ERR_CANCELLED if it never ran or heeded. */
void job_stop(struct job *j);

/* Ends the interest in it: done does not come any more, what runs is told to stop, and the job goes when it
 * has. Within its done, where it ends anyway, this does nothing. Takes NULL; always NULL. */
struct job *job_drop(struct job *j);

/* At the end of the process, when all owners have gone and the store is closed: drops all jobs of the loop,
 * and takes turns of it until they have ended, or were told to stop JOB_END_NS ago. Those that are left are
 * logged, one by one. How many. Takes NULL. */
size_t job_abandon_all(struct loop *l);
/* Ends the process as exit() does, but without the handlers of libraries that abandoned work may be in. */
_Noreturn void job_exit(int status);

#endif
