/* A queue of submitted work and a list of finished work, guarded by one lock. A thread is started when work
 * finds none idle. POOL_IDLE_MAX threads stay; the others end when they are idle, so that the stacks needed
 * in a burst or for hanging work are released.
 *
 * Signals are not blocked in the workers: libuv's handlers restart system calls and work on any thread, while
 * a blocked mask would be inherited by helpers that a library starts from a worker (mount.nfs, for example),
 * which then could not be terminated. */
#include "io/pool.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "io/loop_int.h"
#include "io/sys.h"

TAILQ_HEAD(pool_list, pool_work);

struct pool {
    struct loop *loop;
    struct pool_runner *runner; /* NULL: the threads below */
    uv_async_t wakeup;          /* sent by workers; uv_async_send() may be called from any thread */
    size_t queued_max;
    bool delivering; /* a done callback runs; loop thread only */

    pthread_mutex_t lock; /* guards everything below and each work's state and result */
    pthread_cond_t work_added;
    pthread_cond_t work_finished;
    pthread_cond_t thread_left;
    struct pool_list queued;
    struct pool_list finished;
    size_t queued_count;
    size_t running_count;
    size_t finished_count;
    bool stopping;

    size_t threads_max;
    size_t threads_count; /* those without work are waiting for it, or about to */
    pthread_t left;       /* the last thread that ended; the next one, or pool_free(), joins it */
    bool has_left;
};

/* Under the lock. */
static void pool_finish(struct pool *p, struct pool_work *w, int result)
{
    w->state = POOL_WORK_FINISHED;
    w->result = result;
    TAILQ_INSERT_TAIL(&p->finished, w, link);
    p->finished_count++;
}

/* Under the lock. */
static void pool_unqueue(struct pool *p, struct pool_work *w)
{
    assert(w->state == POOL_WORK_QUEUED);
    TAILQ_REMOVE(&p->queued, w, link);
    p->queued_count--;
}

/* Under the lock, which it releases. Each ending thread joins the previous one, so that only one remains to
 * be joined. */
static void pool_end_thread(struct pool *p)
{
    pthread_t before = p->left;
    bool has_before = p->has_left;

    p->left = pthread_self();
    p->has_left = true;
    p->threads_count--;
    pthread_cond_signal(&p->thread_left);
    pthread_mutex_unlock(&p->lock); /* from here on only this thread uses its state */
    if (has_before)
        (void)pthread_join(before, NULL);
}

static void *pool_worker(void *arg)
{
    struct pool *p = arg;

    pthread_mutex_lock(&p->lock);
    for (;;) {
        struct pool_work *w = TAILQ_FIRST(&p->queued);
        if (!w && (p->stopping || p->threads_count - p->running_count > POOL_IDLE_MAX))
            break;
        if (!w) {
            pthread_cond_wait(&p->work_added, &p->lock);
            continue;
        }
        pool_unqueue(p, w);
        w->state = POOL_WORK_RUNNING;
        p->running_count++;
        pthread_mutex_unlock(&p->lock);
        int result = w->work(w->ctx);
        pthread_mutex_lock(&p->lock);
        p->running_count--;
        pool_finish(p, w, result);
        pthread_cond_signal(&p->work_finished);
        (void)uv_async_send(&p->wakeup); /* cannot fail on an async handle */
    }
    pool_end_thread(p);
    return NULL;
}

/* Reports one finished work. False when there is none. */
static bool pool_deliver_one(struct pool *p)
{
    struct pool_work *w;

    pthread_mutex_lock(&p->lock);
    w = TAILQ_FIRST(&p->finished);
    if (w) {
        TAILQ_REMOVE(&p->finished, w, link);
        p->finished_count--;
        w->state = POOL_WORK_IDLE;
    }
    pthread_mutex_unlock(&p->lock);
    if (!w)
        return false;
    p->delivering = true;
    w->done(w->ctx, w->result); /* w may be freed after this */
    p->delivering = false;
    return true;
}

/* Only what is finished now: done callbacks that keep submitting quick work must not block the loop in this
 * turn. */
static void pool_on_wakeup(uv_async_t *wakeup)
{
    struct pool *p = CONTAINER_OF(wakeup, struct pool, wakeup);
    size_t count, left;

    pthread_mutex_lock(&p->lock);
    count = p->finished_count;
    pthread_mutex_unlock(&p->lock);
    while (count > 0 && pool_deliver_one(p))
        count--;
    pthread_mutex_lock(&p->lock);
    left = p->finished_count;
    pthread_mutex_unlock(&p->lock);
    if (left > 0)
        (void)uv_async_send(&p->wakeup);
}

static void pool_on_closed(uv_handle_t *handle)
{
    struct pool *p = CONTAINER_OF(handle, struct pool, wakeup);

    free(p);
}

/* Under the lock. Starts a thread when more works are queued than threads are idle. Failure to start one is
 * an error only if there is no thread yet: otherwise the work waits for a busy thread. */
static int pool_start_thread(struct pool *p, struct error *err)
{
    pthread_t thread;
    char name[16];
    int r;

    if (p->threads_count == p->threads_max || p->queued_count <= p->threads_count - p->running_count)
        return 0;
    r = pthread_create(&thread, NULL, pool_worker, p);
    if (r != 0 && p->threads_count > 0)
        return 0;
    if (r != 0)
        return error_set_errno(err, r, "cannot start a worker thread");
    (void)snprintf(name, sizeof name, "berth-work-%zu", p->threads_count); /* at most 15 characters */
    (void)pthread_setname_np(thread, name);                                /* shown by top */
    p->threads_count++;
    return 0;
}

int pool_new(struct loop *l, size_t threads, size_t queued_max, struct pool **ret, struct error *err)
{
    struct pool *p;
    int r;

    assert(threads > 0);
    assert(threads <= POOL_THREADS_MAX);
    assert(queued_max > 0);
    if (sys_here)
        return sys_here->calls->pool_new(sys_here, l, ret, err);
    p = calloc(1, sizeof *p);
    if (!p)
        return error_no_memory(err);
    p->loop = l;
    p->queued_max = queued_max;
    p->threads_max = threads;
    TAILQ_INIT(&p->queued);
    TAILQ_INIT(&p->finished);
    r = uv_async_init(loop_uv(l), &p->wakeup, pool_on_wakeup);
    if (r < 0) {
        free(p);
        return error_set_errno(err, -r, "cannot create a worker pool");
    }
    /* With default attributes these cannot fail on Linux. */
    (void)pthread_mutex_init(&p->lock, NULL);
    (void)pthread_cond_init(&p->work_added, NULL);
    (void)pthread_cond_init(&p->work_finished, NULL);
    (void)pthread_cond_init(&p->thread_left, NULL);
    *ret = p;
    return 0;
}

int pool_new_with(struct loop *l, struct pool_runner *r, struct pool **ret, struct error *err)
{
    struct pool *p = calloc(1, sizeof *p);

    if (!p) {
        r->type->free(r);
        return error_no_memory(err);
    }
    p->loop = l;
    p->runner = r;
    *ret = p;
    return 0;
}

struct pool *pool_free(struct pool *p)
{
    struct pool_work *w;

    if (!p)
        return NULL;
    if (p->runner) {
        p->runner->type->free(p->runner);
        free(p);
        return NULL;
    }
    assert(!p->delivering);
    pthread_mutex_lock(&p->lock);
    p->stopping = true;
    while ((w = TAILQ_FIRST(&p->queued))) {
        pool_unqueue(p, w);
        pool_finish(p, w, -ERR_CANCELLED);
    }
    pthread_cond_broadcast(&p->work_added);
    while (p->threads_count > 0)
        pthread_cond_wait(&p->thread_left, &p->lock);
    pthread_mutex_unlock(&p->lock);
    if (p->has_left)
        (void)pthread_join(p->left, NULL);
    while (pool_deliver_one(p)) {
    }
    (void)pthread_cond_destroy(&p->thread_left);
    (void)pthread_cond_destroy(&p->work_finished);
    (void)pthread_cond_destroy(&p->work_added);
    (void)pthread_mutex_destroy(&p->lock);
    uv_close((uv_handle_t *)&p->wakeup, pool_on_closed);
    return NULL;
}

struct loop *pool_loop(const struct pool *p)
{
    return p->loop;
}

/* Under the lock. */
static int pool_enqueue(struct pool *p, struct pool_work *w, struct error *err)
{
    int r;

    assert(w->state == POOL_WORK_IDLE);
    if (p->stopping)
        return error_set(err, ERR_CANCELLED, "the worker pool is shutting down");
    if (p->queued_count >= p->queued_max)
        return error_set(err, ERR_BUSY, "the worker pool's queue is full (%zu waiting)", p->queued_count);
    w->state = POOL_WORK_QUEUED;
    TAILQ_INSERT_TAIL(&p->queued, w, link);
    p->queued_count++;
    r = pool_start_thread(p, err);
    if (r < 0) {
        pool_unqueue(p, w);
        w->state = POOL_WORK_IDLE;
        return r;
    }
    pthread_cond_signal(&p->work_added);
    return 0;
}

int pool_submit(struct pool *p, struct pool_work *w, pool_work_fn work, pool_done_fn done, void *ctx,
                struct error *err)
{
    int r;

    w->work = work;
    w->done = done;
    w->ctx = ctx;
    if (p->runner)
        return p->runner->type->submit(p->runner, w, err);
    pthread_mutex_lock(&p->lock);
    r = pool_enqueue(p, w, err);
    pthread_mutex_unlock(&p->lock);
    return r;
}

bool pool_cancel(struct pool *p, struct pool_work *w)
{
    bool cancelled = false;

    if (p->runner)
        return p->runner->type->cancel(p->runner, w);
    pthread_mutex_lock(&p->lock);
    if (w->state == POOL_WORK_QUEUED) {
        pool_unqueue(p, w);
        pool_finish(p, w, -ERR_CANCELLED);
        cancelled = true;
    }
    pthread_mutex_unlock(&p->lock);
    if (cancelled)
        (void)uv_async_send(&p->wakeup);
    return cancelled;
}

void pool_drain(struct pool *p)
{
    bool busy = true;

    assert(!p->delivering);
    while (busy) {
        while (pool_deliver_one(p)) {
        }
        pthread_mutex_lock(&p->lock);
        while (p->finished_count == 0 && p->queued_count + p->running_count > 0)
            pthread_cond_wait(&p->work_finished, &p->lock);
        busy = p->finished_count > 0;
        pthread_mutex_unlock(&p->lock);
    }
}

bool pool_is_idle(struct pool *p)
{
    bool is_idle;

    pthread_mutex_lock(&p->lock);
    is_idle = p->queued_count + p->running_count + p->finished_count == 0;
    pthread_mutex_unlock(&p->lock);
    return is_idle;
}
