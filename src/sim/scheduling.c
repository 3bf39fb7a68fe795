#include "sim/scheduling.h"

#include <stdlib.h>

#include "machinery/metrics.h"
#include "scheduler/scheduler_int.h"

struct scheduling {
    struct informers *informers;
    struct informer_handler handlers[CACHE_KIND_COUNT];
    struct metrics *metrics;
    struct scheduler *scheduler;
    bool is_started;
};

static void on_synced(void *ctx)
{
    struct scheduling *x = ctx;

    if (x->is_started || !informers_are_synced(x->informers))
        return;
    x->is_started = true;
    scheduler_start(x->scheduler);
}

/* How long it waits for volumes is drawn anew with each start: some give up on what others see through. */
static void start_scheduler(struct scheduling *x, struct sim_process *p)
{
    static const uint64_t timeouts_ns[] = { 5 * NS_PER_S, 60 * NS_PER_S, SCHEDULER_BIND_TIMEOUT_NS };
    struct scheduler_options o = { .name = SCHEDULER_NAME, .host = "sim" };
    struct error err;

    o.bind_timeout_ns = timeouts_ns[p->seed / 2 % ARRAY_LEN(timeouts_ns)];
    o.part = (struct part_options){ .loop = p->loop,
                                    .clock = &p->clock.clock,
                                    .client = p->client,
                                    .informers = x->informers,
                                    .metrics = x->metrics,
                                    .seed = p->seed };
    if (scheduler_new(&o, &x->scheduler, &err) < 0)
        abort();
}

static void *scheduling_start(struct sim_process *p, void *ctx)
{
    struct scheduling *x = sim_alloc(sizeof *x);
    struct informer_options io = {
        .loop = p->loop, .client = p->client, .seed = p->seed, .streams_lists = p->seed % 2
    };
    struct error err;

    (void)ctx;
    x->metrics = metrics_new((struct hash_seed){ p->seed, 1 });
    if (!x->metrics || informers_new(&io, &x->informers, &err) < 0)
        abort();
    start_scheduler(x, p);
    for (size_t i = 0; i < CACHE_KIND_COUNT; i++) {
        x->handlers[i] = (struct informer_handler){ .on_synced = on_synced, .ctx = x };
        informer_add_handler(x->scheduler->caches[i], &x->handlers[i]);
    }
    informers_start(x->informers);
    return x;
}

static void scheduling_kill(void *state)
{
    struct scheduling *x = state;

    for (size_t i = 0; i < CACHE_KIND_COUNT; i++)
        informer_remove_handler(&x->handlers[i]);
    x->scheduler = scheduler_free(x->scheduler);
    x->informers = informers_free(x->informers);
    x->metrics = metrics_free(x->metrics);
    free(x);
}

const struct sim_program scheduling_program = { "scheduler", scheduling_start, scheduling_kill };

int scheduling_check(const void *state, struct error *err)
{
    const struct scheduling *x = state;

    return bindings_check(x->scheduler, err);
}

int scheduling_settled(const void *state, struct error *err)
{
    const struct scheduling *x = state;

    if (!x->is_started)
        return error_set(err, ERR_INTERNAL, "the scheduler has not started");
    if (x->scheduler->bindings_count > 0)
        return error_set(err, ERR_INTERNAL, "pods are on their way");
    return 0;
}
