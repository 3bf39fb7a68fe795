/* Worker threads for what blocks: fsync, mounts, large files. Whoever has such work uses io/job.h.
 *
 * The loop thread submits; a worker runs the work; its end comes back to the loop thread as a callback.
 * Threads of our own instead of libuv's global pool, because that one also serves libuv itself with four
 * threads for everybody: one dead NFS server would stop all of them. Each subsystem may have a pool of its
 * own size, so that hung mounts do not hold up the store's fsync.
 *
 * A work function sees only what its ctx holds, and nobody else touches that until its end has been reported.
 * Work starts in the order it was submitted; the queue of what has not started is bounded. */
#ifndef BERTH_IO_POOL_H
#define BERTH_IO_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "io/loop.h"

#define POOL_THREADS_MAX 256
/* So many threads wait for work; more than that end. */
#define POOL_IDLE_MAX 4

struct pool;

/* On a worker thread. May block. The result, 0 or -ERR_*, is handed to done; an error's words go into ctx. */
typedef int (*pool_work_fn)(void *ctx);
/* On the loop thread, once for each submitted work: its result, or -ERR_CANCELLED when it never ran. */
typedef void (*pool_done_fn)(void *ctx, int result);

enum pool_work_state { POOL_WORK_IDLE, POOL_WORK_QUEUED, POOL_WORK_RUNNING, POOL_WORK_FINISHED };

/* Embedded by its owner, zeroed before its first use; must stay where it is until done is called, which may
 * free or submit it again. */
struct pool_work {
    TAILQ_ENTRY(pool_work) link;
    pool_work_fn work;
    pool_done_fn done;
    void *ctx;
    int result;
    enum pool_work_state state; /* the pool's lock guards it */
};

/* threads: 1 to POOL_THREADS_MAX, each started by the first work that finds the others busy. queued_max: how
 * much work may wait for them, at least 1. */
int pool_new(struct loop *l, size_t threads, size_t queued_max, struct pool **ret, struct error *err);
/* Cancels what has not started, waits for what runs, reports all of it (done is called from in here), ends
 * the threads. Not from a done callback of this pool. Takes NULL. */
struct pool *pool_free(struct pool *p);
DEFINE_CLEANUP(struct pool, pool_free)

struct loop *pool_loop(const struct pool *p);

/* ERR_BUSY when queued_max works wait already: try later. ERR_CANCELLED while the pool is being freed. What
 * kept the first thread from being started. On failure done is not called. */
int pool_submit(struct pool *p, struct pool_work *w, pool_work_fn work, pool_done_fn done, void *ctx,
                struct error *err);

/* True when w had not started: it will not run, and its done comes with -ERR_CANCELLED in a later turn. False
 * when it runs or is through: its done comes as ever. */
bool pool_cancel(struct pool *p, struct pool_work *w);

/* Waits until nothing is queued or running, and reports it all (done is called from in here). It stops the
 * loop for as long: for the end of the program and for tests. Not from a done callback of this pool. */
void pool_drain(struct pool *p);
/* Nothing is queued, runs or waits to be reported. For tests whose work needs the loop meanwhile. */
bool pool_is_idle(struct pool *p);

#endif
