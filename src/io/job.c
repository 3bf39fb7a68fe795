#include "io/job.h"

#include <assert.h>

static void job_end(struct job *j, int r)
{
    struct error err = j->err;

    if (r == -ERR_CANCELLED && err.code == ERR_NONE)
        (void)error_set(&err, ERR_CANCELLED, "stopped before it began");
    j->is_queued = false;
    if (j->done)
        j->done(j->ctx, j, r, &err);
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

static void job_on_failure(void *ctx)
{
    struct job *j = ctx;

    job_end(j, -(int)j->err.code);
}

void job_begin(struct job *j, struct loop *l, struct pool *pool,
               void (*done)(void *ctx, struct job *j, int r, const struct error *err), void *ctx)
{
    assert(j->type && done);
    j->done = done;
    j->ctx = ctx;
    j->pool = pool;
    atomic_store(&j->stop, 0);
    deferred_init(&j->later, l, job_on_failure, j);
    if (pool_submit(pool, &j->pooled, job_run, job_on_done, j, &j->err) < 0) {
        j->err.code = ERR_UNAVAILABLE; /* whatever the reason: it never began */
        loop_defer(&j->later);
    } else {
        j->is_queued = true;
    }
}

struct job *job_drop(struct job *j)
{
    if (!j)
        return NULL;
    j->done = NULL;
    atomic_store(&j->stop, 1);
    if (j->is_queued) {
        (void)pool_cancel(j->pool, &j->pooled); /* what runs sees stop; its end frees it */
    } else {
        loop_undefer(&j->later);
        j->type->free(j);
    }
    return NULL;
}
