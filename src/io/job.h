/* A blocking function on the pool for a controller or a node: begun on the loop, ended on the loop.
 *
 * A job is embedded at the beginning of what its function works with, which is allocated for it and goes with
 * it: so a controller may go while a worker is still busy. The function sees its job and nothing else of the
 * controller. */
#ifndef BERTH_IO_JOB_H
#define BERTH_IO_JOB_H

#include <stdatomic.h>

#include "base/error.h"
#include "io/loop.h"
#include "io/pool.h"

struct job;

struct job_type {
    /* On a worker; looks at j->stop. */
    int (*run)(struct job *j, struct error *err);
    /* On the loop: the job and all that it holds. */
    void (*free)(struct job *j);
};

struct job {
    const struct job_type *type;
    atomic_int stop;

    /* The rest is job.c's. */
    void (*done)(void *ctx, struct job *j, int r, const struct error *err);
    void *ctx;
    struct pool *pool;
    struct pool_work pooled;
    struct deferred later; /* a failure that waits to be told */
    bool is_queued;        /* on the pool, and not through */
    struct error err;
};

/* done comes once, never from within this call; the job is freed when it returns. -ERR_UNAVAILABLE of a pool
 * that does not take it: nothing was done. */
void job_begin(struct job *j, struct loop *l, struct pool *pool,
               void (*done)(void *ctx, struct job *j, int r, const struct error *err), void *ctx);

/* Ends the interest in it: done does not come any more, what runs is told to stop, and the job goes when it
 * has. Takes NULL; always NULL. */
struct job *job_drop(struct job *j);

#endif
