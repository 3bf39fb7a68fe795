/* Fair queuing between users, without allocation. A flow is in the busy list exactly while items are queued
 * in it. */
#include "http/fair.h"

#include <assert.h>
#include <stddef.h>

void fair_init(struct fair *f, const struct clock *clock, fair_run_fn *run, void *ctx)
{
    *f = (struct fair){ .clock = clock, .run = run, .ctx = ctx };
    TAILQ_INIT(&f->busy);
    for (size_t i = 0; i < FAIR_FLOWS; i++)
        TAILQ_INIT(&f->flows[i].items);
}

void fair_begin_turn(struct fair *f)
{
    f->turn++;
}

static void flow_run(struct fair *f, struct fair_flow *flow, struct fair_item *item)
{
    uint64_t began_ns = clock_mono_ns(f->clock);

    f->run(f->ctx, item);
    flow->used_ns += clock_mono_ns(f->clock) - began_ns;
}

bool fair_submit(struct fair *f, struct fair_item *item, uint64_t key)
{
    struct fair_flow *flow = &f->flows[key % FAIR_FLOWS];

    assert(!item->flow);
    if (flow->turn != f->turn) {
        flow->turn = f->turn;
        flow->used_ns = 0;
    }
    if (TAILQ_EMPTY(&flow->items) && flow->used_ns < FAIR_FLOW_NS) {
        flow_run(f, flow, item);
        return false;
    }
    if (TAILQ_EMPTY(&flow->items))
        TAILQ_INSERT_TAIL(&f->busy, flow, link);
    TAILQ_INSERT_TAIL(&flow->items, item, link);
    item->flow = flow;
    return true;
}

void fair_cancel(struct fair *f, struct fair_item *item)
{
    struct fair_flow *flow = item->flow;

    if (!flow)
        return;
    TAILQ_REMOVE(&flow->items, item, link);
    item->flow = NULL;
    if (TAILQ_EMPTY(&flow->items))
        TAILQ_REMOVE(&f->busy, flow, link);
}

/* Moves the flow to the end of the list before it runs its first item: the item may submit and cancel others.
 */
static void run_next(struct fair *f)
{
    struct fair_flow *flow = TAILQ_FIRST(&f->busy);
    struct fair_item *item = TAILQ_FIRST(&flow->items);

    fair_cancel(f, item);
    if (!TAILQ_EMPTY(&flow->items)) {
        TAILQ_REMOVE(&f->busy, flow, link);
        TAILQ_INSERT_TAIL(&f->busy, flow, link);
    }
    flow_run(f, flow, item);
}

bool fair_run_queued(struct fair *f)
{
    uint64_t began_ns = clock_mono_ns(f->clock);

    while (!TAILQ_EMPTY(&f->busy) && clock_mono_ns(f->clock) - began_ns < FAIR_ROUND_NS)
        run_next(f);
    return !TAILQ_EMPTY(&f->busy);
}
