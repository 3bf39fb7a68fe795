/* Host operations.
 *
 * The moments of effect and end, and whether the operation fails, are drawn when it starts. An operation
 * never reports success before its effect. It is freed when both moments have passed; an operation of a
 * killed process stays until its effect, or is dropped.
 *
 * Cost: every call visits all operations; there are few. */
#include "sim/host.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim_world.h"

struct host_op {
    TAILQ_ENTRY(host_op) link;
    struct sim_host *host;
    struct sim_process *process; /* NULL: the end was reported, or the process was killed */
    char what[32];
    char name[128];
    uint64_t effect_ns; /* UINT64_MAX: no effect, or it has happened */
    uint64_t end_ns;    /* UINT64_MAX: not reported, or there is no process to report it to */
    bool has_failed;
    host_done_fn *done;
    void *ctx;
};

void host_init(struct sim_host *h, struct sim *s)
{
    *h = (struct sim_host){ .sim = s };
    TAILQ_INIT(&h->ops);
    rng_init(&h->rng, rng_u64(&s->faults));
}

static void host_op_free(struct host_op *op)
{
    TAILQ_REMOVE(&op->host->ops, op, link);
    free(op);
}

void host_done(struct sim_host *h)
{
    struct host_op *op, *next;

    for (op = TAILQ_FIRST(&h->ops); op; op = next) {
        next = TAILQ_NEXT(op, link);
        host_op_free(op);
    }
}

static bool draw_host_fault(struct sim_host *h, unsigned percent)
{
    return sim_has_fault(h->sim, &h->rng, FAULT_HOST, h->is_unreliable ? 3 * percent : percent);
}

static void draw_times(struct host_op *op)
{
    struct sim_host *h = op->host;
    uint64_t now_ns = h->sim->now_ns, usual = now_ns + rng_below(&h->rng, 50 * NS_PER_MS);

    op->effect_ns = op->end_ns = usual;
    if (draw_host_fault(h, 15)) /* slow */
        op->effect_ns = op->end_ns = now_ns + rng_below(&h->rng, 60 * NS_PER_S);
    if (draw_host_fault(h, 10)) { /* fails, before or after the effect */
        op->has_failed = true;
        if (rng_chance(&h->rng, 50))
            op->effect_ns = UINT64_MAX;
    }
    if (draw_host_fault(h, 5)) /* hangs */
        op->end_ns = UINT64_MAX;
    if (draw_host_fault(h, 5)) /* succeeds after the timeout */
        op->effect_ns = now_ns + rng_below(&h->rng, 300 * NS_PER_S);
    if (op->effect_ns != UINT64_MAX && op->effect_ns > op->end_ns)
        op->has_failed = true; /* success is not reported before the effect */
}

struct host_op *host_start(struct sim_host *h, struct sim_process *p, const char *what, const char *name,
                           host_done_fn *done, void *ctx)
{
    struct host_op *op = sim_alloc(sizeof *op), *other;

    TAILQ_FOREACH(other, &h->ops, link)
        if (other->process == p && other->done && strcmp(other->name, name) == 0)
            sim_fail(h->sim, "two operations at once for %s: %s and %s", name, other->what, what);
    op->host = h;
    op->process = p;
    (void)snprintf(op->what, sizeof op->what, "%s", what);
    (void)snprintf(op->name, sizeof op->name, "%s", name);
    op->done = done;
    op->ctx = ctx;
    draw_times(op);
    TAILQ_INSERT_TAIL(&h->ops, op, link);
    sim_trace(h->sim, "host starts %s %s", what, name);
    if (h->on_begin)
        h->on_begin(h->ctx, what, name);
    return op;
}

void host_cancel(struct host_op *op)
{
    op->has_failed = true;
    op->end_ns = op->host->sim->now_ns;
}

void host_lose_process(struct sim_host *h, const struct sim_process *p)
{
    struct host_op *op, *next;

    for (op = TAILQ_FIRST(&h->ops); op; op = next) {
        next = TAILQ_NEXT(op, link);
        if (op->process != p)
            continue;
        op->process = NULL;
        op->done = NULL;
        op->end_ns = UINT64_MAX;
        if (rng_chance(&h->rng, 50) || op->effect_ns == UINT64_MAX)
            host_op_free(op);
    }
}

static bool is_op_due(const struct host_op *op)
{
    uint64_t now_ns = op->host->sim->now_ns;

    if (op->effect_ns <= now_ns)
        return true;
    return op->end_ns <= now_ns && op->process && sim_process_is_live(op->process);
}

size_t host_due(struct sim_host *h)
{
    const struct host_op *op;
    size_t count = 0;

    TAILQ_FOREACH(op, &h->ops, link)
        count += is_op_due(op);
    return count;
}

static void host_op_end(struct host_op *op)
{
    struct error err;
    int r = 0;
    host_done_fn *done = op->done;
    void *ctx = op->ctx;

    if (op->has_failed)
        r = error_set(&err, ERR_IO, "%s %s: injected failure", op->what, op->name);
    sim_trace(op->host->sim, "host ends %s %s: %s", op->what, op->name, r < 0 ? err.msg : "ok");
    op->process->has_work = true;
    op->done = NULL;
    op->process = NULL;
    op->end_ns = UINT64_MAX;
    if (op->effect_ns == UINT64_MAX)
        host_op_free(op);
    done(ctx, r, &err);
}

void host_deliver(struct sim_host *h, size_t which)
{
    struct host_op *op;

    TAILQ_FOREACH(op, &h->ops, link)
        if (is_op_due(op) && which-- == 0)
            break;
    assert(op);
    if (op->effect_ns > h->sim->now_ns) {
        host_op_end(op);
        return;
    }
    op->effect_ns = UINT64_MAX;
    sim_trace(h->sim, "host performs %s %s", op->what, op->name);
    if (h->on_effect)
        h->on_effect(h->ctx, op->what, op->name);
    if (!op->done)
        host_op_free(op);
}

uint64_t host_next_ns(const struct sim_host *h)
{
    const struct host_op *op;
    uint64_t next = UINT64_MAX;

    TAILQ_FOREACH(op, &h->ops, link) {
        if (op->effect_ns < op->end_ns && op->effect_ns > h->sim->now_ns && op->effect_ns < next)
            next = op->effect_ns;
        if (op->end_ns > h->sim->now_ns && op->end_ns < next)
            next = op->end_ns;
    }
    return next;
}

size_t host_pending(const struct sim_host *h)
{
    const struct host_op *op;
    size_t count = 0;

    TAILQ_FOREACH(op, &h->ops, link)
        count += op->process != NULL;
    return count;
}
