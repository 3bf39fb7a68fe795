#include "plugins/work.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"

#define GIB ((uint64_t)1 << 30)
#define LIMIT_S_MAX ((uint64_t)365 * 24 * 3600) /* an exbibyte would overflow the clock */

static void work_free(struct plugin_work *w)
{
    timer_disarm(&w->limit);
    (void)object_unref((struct object *)(uintptr_t)w->about);
    w->guard = host_guard_free(w->guard);
    free(w);
}

/* On a worker. */
static int work_run(void *ctx)
{
    struct plugin_work *w = ctx;

    return w->task->run(w, &w->err);
}

/* What is told: the task's own failure, unless it was our doing. */
static int work_result(struct plugin_work *w, int r)
{
    if (r < 0 && atomic_load(&w->stop) == STOP_LIMIT)
        return error_set(&w->err, ERR_TIMEOUT, "not done within %" PRIu64 " s", w->limit_s);
    if (r == -ERR_CANCELLED && w->err.code == ERR_NONE)
        return error_set(&w->err, ERR_CANCELLED, "stopped before it began");
    if (r == 0 && w->task->tell)
        return w->task->tell(w, &w->op->volume, &w->err);
    return r;
}

static void work_done(void *ctx, int result)
{
    struct plugin_work *w = ctx;
    struct plugin_op *op = w->op;
    struct error err;
    int r;

    if (!op) {
        work_free(w);
        return;
    }
    r = work_result(w, result);
    err = w->err;
    op->work = NULL;
    op->drop = NULL;
    work_free(w); /* before done, which may free op */
    op->done(op, r, &err);
}

static void work_stop(struct plugin_work *w, enum plugin_stop why)
{
    atomic_store(&w->stop, why);
    (void)pool_cancel(w->host.pool, &w->pooled); /* what runs sees stop */
}

static void work_on_limit(void *ctx)
{
    work_stop(ctx, STOP_LIMIT);
}

static void work_drop(struct plugin_op *op)
{
    struct plugin_work *w = op->work;

    op->work = NULL;
    op->drop = NULL;
    w->op = NULL;
    timer_disarm(&w->limit);
    work_stop(w, STOP_DROPPED); /* work_done() comes later, and frees */
}

void plugin_work_begin(const struct plugin_host *h, const struct plugin_task *task,
                       const struct object *about, const char *path, uint64_t limit_s, struct plugin_op *op)
{
    struct plugin_work *w = calloc(1, sizeof *w);
    struct error err = { 0 };
    int r;

    assert(!op->drop);
    if (!w) {
        (void)error_no_memory(&err);
        plugin_op_fail(h, op, &err);
        return;
    }
    w->host = *h;
    w->about = object_ref(about);
    w->guard = TAKE(op->guard);
    w->task = task;
    w->op = op;
    w->limit_s = limit_s;
    if (path)
        (void)snprintf(w->path, sizeof w->path, "%s", path); /* a clean path fits */
    timer_init(&w->limit, h->loop, work_on_limit, w);
    r = pool_submit(h->pool, &w->pooled, work_run, work_done, w, &err);
    if (r < 0) {
        work_free(w);
        plugin_op_fail(h, op, &err);
        return;
    }
    if (limit_s > 0)
        timer_arm_after(&w->limit, limit_s * NS_PER_S);
    op->work = w;
    op->drop = work_drop;
}

/* Failures */

static void failure_on_turn(void *ctx)
{
    struct plugin_op *op = ctx;
    struct error err = op->failure;

    op->drop = NULL;
    op->done(op, -(int)err.code, &err);
}

static void failure_drop(struct plugin_op *op)
{
    op->drop = NULL;
    loop_undefer(&op->later);
}

void plugin_op_fail(const struct plugin_host *h, struct plugin_op *op, const struct error *err)
{
    assert(!op->drop);
    op->failure = *err;
    op->drop = failure_drop;
    deferred_init(&op->later, h->loop, failure_on_turn, op);
    loop_defer(&op->later);
}

uint64_t plugin_scrub_limit_s(const struct volume *v, uint64_t min_s, uint64_t per_gib_s)
{
    int64_t bytes = quantity_value(&v->capacity);
    uint64_t limit_s = bytes > 0 ? (uint64_t)bytes / GIB * per_gib_s : 0;

    if (limit_s < min_s)
        limit_s = min_s;
    return limit_s < LIMIT_S_MAX ? limit_s : LIMIT_S_MAX;
}
