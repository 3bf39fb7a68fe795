/* Blocking work for an owner that may be freed before the work ends: begun on the loop, run on a worker,
 * completed on the loop. All blocking work except the store's own log runs as jobs.
 *
 * A job is embedded in the data of its function, which is allocated for it and freed with it: the function
 * accesses that data and nothing of its owner. An owner that is freed drops the job, and the job is freed
 * when its function has returned.
 *
 * The time limit counts from job_begin(). Limit, stop and drop are requests: they set `stop`, which the
 * function polls, and work that has not started does not start. A function that hangs in the kernel is not
 * finished and its job not done, since it may still act.
 *
 * The exit of the process does not wait for hanging work: job_abandon_all() waits JOB_END_NS for jobs that
 * were asked to stop, and logs the remaining ones. Abandoned work continues until the process ends, so
 * nothing that it uses may be freed: after abandoning jobs, end the process with job_exit(). Their memory is
 * reachable from the loop's list, so it is not a leak.
 *
 * Of its pool a job uses only pool_submit(), pool_cancel() and pool_loop(): a simulator that runs jobs in
 * virtual time replaces these three. */
#ifndef BERTH_IO_JOB_H
#define BERTH_IO_JOB_H

#include <stdatomic.h>

#include "base/error.h"
#include "io/loop.h"
#include "io/pool.h"

/* How long the exit of the process waits for jobs that were asked to stop. A command that ignores SIGTERM
 * needs PROCESS_KILL_GRACE_NS of it. */
#define JOB_END_NS (3 * NS_PER_S)

struct job;

struct job_type {
    const char *name; /* what it does, for log lines: "pod cleanup" */
    /* On a worker; polls j->stop. */
    int (*run)(struct job *j, struct error *err);
    /* On the loop: frees the job and all that it owns. */
    void (*free)(struct job *j);
};

/* On the loop, once. The job is freed when it returns. */
typedef void job_done_fn(void *ctx, struct job *j, int r, const struct error *err);

enum job_stop { JOB_NOT_STOPPED, JOB_TIMED_OUT, JOB_DROPPED };

/* JOB_REFUSED: by the pool, whose queue is full or which has no thread. */
enum job_state { JOB_IDLE, JOB_POOLED, JOB_REFUSED };

/* Zeroed; the owner sets the first three. */
struct job {
    const struct job_type *type;
    const char *about;    /* the object it works on; in the memory of the job; NULL: none */
    uint64_t limit_ns;    /* 0: none */
    atomic_int stop;      /* enum job_stop */
    enum job_state state; /* read in done only */

    /* Private to job.c. */
    TAILQ_ENTRY(job) link;
    bool is_ending;    /* the done callback is running */
    job_done_fn *done; /* NULL: dropped */
    void *ctx;
    struct pool *pool;
    struct pool_work pooled;
    struct deferred refused; /* reports a refusal in a later step of the loop */
    struct timer limit;
    uint64_t began_ns;
    uint64_t stopped_ns;
    struct error err;
};

/* done is called once, never from within this call. -ERR_UNAVAILABLE if the pool refuses the job: nothing was
 * done. -ERR_TIMEOUT if it fails after its limit. */
void job_begin(struct job *j, struct pool *pool, job_done_fn *done, void *ctx);

/* Ends the owner's interest: done is not called any more, a running function is asked to stop, and the job is
 * freed when it has. Within its own done callback this does nothing. Takes NULL; always returns NULL. */
struct job *job_drop(struct job *j);

/* At exit, when all owners are freed and the store is closed: drops all jobs of the loop, and runs the loop
 * until they have ended, or were asked to stop JOB_END_NS ago. Logs each of the remaining jobs and returns
 * their number. Takes NULL. */
size_t job_abandon_all(struct loop *l);
/* Ends the process like exit(), but without the exit handlers of libraries that abandoned work may be using.
 */
_Noreturn void job_exit(int status);

#endif
