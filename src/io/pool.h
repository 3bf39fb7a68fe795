/* Worker threads for blocking work: fsync, mounts, large files. Use io/job.h for such work.
 *
 * The loop thread submits; a worker runs the work; completion is reported to the loop thread as a callback.
 * Not libuv's global pool, because that one has four threads for the whole process and libuv itself needs
 * them: one dead NFS server would block all of them. Each subsystem may have its own pool, so that hanging
 * mounts do not delay the store's fsync.
 *
 * A work function accesses only what its ctx holds, and no other code touches that until completion was
 * reported. Work starts in the order of submission; the queue is bounded. */
#ifndef BERTH_IO_POOL_H
#define BERTH_IO_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "io/loop.h"

#define POOL_THREADS_MAX 256
/* At most so many threads stay idle; more end. */
#define POOL_IDLE_MAX 4

struct pool;

/* On a worker thread. May block. The result, 0 or -ERR_*, is passed to done; an error message goes into ctx.
 */
typedef int (*pool_work_fn)(void *ctx);
/* On the loop thread, once per submitted work: its result, or -ERR_CANCELLED when it never ran. */
typedef void (*pool_done_fn)(void *ctx, int result);

enum pool_work_state { POOL_WORK_IDLE, POOL_WORK_QUEUED, POOL_WORK_RUNNING, POOL_WORK_FINISHED };

/* Embedded by its owner, zeroed before its first use; must not be moved until done is called, which may free
 * it or submit it again. */
struct pool_work {
    TAILQ_ENTRY(pool_work) link;
    pool_work_fn work;
    pool_done_fn done;
    void *ctx;
    int result;
    enum pool_work_state state; /* the pool's lock guards it */
};

struct pool_runner;

/* Runs a pool's work instead of threads: the simulator does this in virtual time. */
struct pool_runner_type {
    /* As pool_submit(), pool_cancel() and pool_free(); work, done and ctx of w are set. */
    int (*submit)(struct pool_runner *r, struct pool_work *w, struct error *err);
    bool (*cancel)(struct pool_runner *r, struct pool_work *w);
    void (*free)(struct pool_runner *r);
};

struct pool_runner {
    const struct pool_runner_type *type;
};

/* Takes ownership of the runner, also on failure. */
int pool_new_with(struct loop *l, struct pool_runner *r, struct pool **ret, struct error *err);

/* threads: 1 to POOL_THREADS_MAX, each started by the first work that finds the others busy. queued_max: how
 * much work may be queued, at least 1. */
int pool_new(struct loop *l, size_t threads, size_t queued_max, struct pool **ret, struct error *err);
/* Cancels queued work, waits for running work, reports all of it (done is called from in here), and ends the
 * threads. Not from a done callback of this pool. Takes NULL. */
struct pool *pool_free(struct pool *p);
DEFINE_CLEANUP(struct pool, pool_free)

struct loop *pool_loop(const struct pool *p);

/* ERR_BUSY when queued_max works are queued: retry later. ERR_CANCELLED while the pool is being freed. The
 * reason when the first thread cannot be started. On failure done is not called. */
int pool_submit(struct pool *p, struct pool_work *w, pool_work_fn work, pool_done_fn done, void *ctx,
                struct error *err);

/* True when w had not started: it will not run, and done is called with -ERR_CANCELLED in a later turn. False
 * when it is running or finished: done is called as usual. */
bool pool_cancel(struct pool *p, struct pool_work *w);

/* Waits until nothing is queued or running, and reports all of it (done is called from in here). Blocks the
 * loop meanwhile: for the end of the program and for tests. Not from a done callback of this pool. */
void pool_drain(struct pool *p);
/* True when nothing is queued, running or to be reported. For tests whose work needs the loop meanwhile. */
bool pool_is_idle(struct pool *p);

#endif
