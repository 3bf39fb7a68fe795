/* Jobs: blocking functions on a pool, with an owner that may disappear first, a time limit and a stop flag.
 *
 * All functions run on the loop thread except type->run(). A job is in the loop's list from job_begin() until
 * its function has returned and it is freed, so that at exit the remaining ones can be named. */
#include "io/job.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "io/loop_int.h"

/* The reported result: the function's own, unless a limit or a stop ended it. */
static int job_result(struct job *j, int r)
{
    if (r < 0 && atomic_load(&j->stop) == JOB_TIMED_OUT)
        return error_set(&j->err, ERR_TIMEOUT, "not finished within %" PRIu64 " s", j->limit_ns / NS_PER_S);
    if (r == -ERR_CANCELLED && j->err.code == ERR_NONE)
        return error_set(&j->err, ERR_CANCELLED, "cancelled before it started");
    return r;
}

static void job_end(struct job *j, int r)
{
    timer_disarm(&j->limit);
    TAILQ_REMOVE(loop_jobs(pool_loop(j->pool)), j, link);
    j->is_ending = true;
    if (j->done)
        j->done(j->ctx, j, job_result(j, r), &j->err);
    j->type->free(j);
}

static int job_run(void *ctx)
{
    struct job *j = ctx;

    return j->type->run(j, &j->err);
}

static void job_on_done(void *ctx, int result)
{
    job_end(ctx, result);
}

static void job_on_refused(void *ctx)
{
    struct job *j = ctx;

    job_end(j, -(int)j->err.code);
}

/* Keeps the first reason, except that a drop replaces it. */
static void job_request_stop(struct job *j, enum job_stop why)
{
    int none = JOB_NOT_STOPPED;

    if (atomic_compare_exchange_strong(&j->stop, &none, why))
        j->stopped_ns = loop_now_ns(pool_loop(j->pool));
    else if (why == JOB_DROPPED)
        atomic_store(&j->stop, why);
    if (j->state == JOB_POOLED)
        (void)pool_cancel(j->pool, &j->pooled); /* a running function sees stop */
}

static void job_on_limit(void *ctx)
{
    job_request_stop(ctx, JOB_TIMED_OUT);
}

void job_begin(struct job *j, struct pool *pool, job_done_fn *done, void *ctx)
{
    struct loop *l = pool_loop(pool);

    assert(j->type && done && j->state == JOB_IDLE);
    j->done = done;
    j->ctx = ctx;
    j->pool = pool;
    j->began_ns = loop_now_ns(l);
    timer_init(&j->limit, l, job_on_limit, j);
    deferred_init(&j->refused, l, job_on_refused, j);
    TAILQ_INSERT_TAIL(loop_jobs(l), j, link);
    j->state = JOB_POOLED;
    if (pool_submit(pool, &j->pooled, job_run, job_on_done, j, &j->err) < 0) {
        j->err.code = ERR_UNAVAILABLE; /* the function never started, whatever the reason */
        j->state = JOB_REFUSED;
        loop_defer(&j->refused);
    } else if (j->limit_ns > 0) {
        timer_arm_after(&j->limit, j->limit_ns);
    }
}

struct job *job_drop(struct job *j)
{
    if (!j || j->is_ending)
        return NULL;
    j->done = NULL;
    timer_disarm(&j->limit);
    job_request_stop(j, JOB_DROPPED);
    if (j->state == JOB_REFUSED) {
        loop_undefer(&j->refused);
        job_end(j, 0);
    }
    return NULL;
}

/* --- At exit --- */

static void on_wait_over(void *ctx)
{
    bool *is_over = ctx;

    *is_over = true;
}

/* Runs the loop until all jobs have ended, or JOB_END_NS after the last was asked to stop. */
static void job_await_all(struct loop *l)
{
    struct job_list *jobs = loop_jobs(l);
    bool is_over = TAILQ_EMPTY(jobs);
    uint64_t until_ns = 0;
    struct timer timer;
    struct job *j;

    TAILQ_FOREACH(j, jobs, link)
        until_ns = j->stopped_ns + JOB_END_NS > until_ns ? j->stopped_ns + JOB_END_NS : until_ns;
    timer_init(&timer, l, on_wait_over, &is_over);
    timer_arm(&timer, until_ns);
    while (!is_over && !TAILQ_EMPTY(jobs))
        loop_run_once(l);
    timer_disarm(&timer);
}

size_t job_abandon_all(struct loop *l)
{
    struct job_list *jobs;
    struct job *j, *next;
    size_t count = 0;

    if (!l)
        return 0;
    jobs = loop_jobs(l);
    for (j = TAILQ_FIRST(jobs); j; j = next) {
        next = TAILQ_NEXT(j, link);
        (void)job_drop(j);
    }
    job_await_all(l);
    TAILQ_FOREACH(j, jobs, link) {
        log_warn("job abandoned, still running", LOG_STR("job", j->type->name),
                 LOG_STR("about", j->about ? j->about : ""),
                 LOG_UINT("seconds", (loop_now_ns(l) - j->began_ns) / NS_PER_S));
        count++;
    }
    return count;
}

_Noreturn void job_exit(int status)
{
    (void)fflush(NULL);
    _exit(status);
}
