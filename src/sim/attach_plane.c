/* The controllers of the attach scenario: binder, scheduler and attach controller in one process. */
#include "sim/scenario_attach.h"

#include <stdlib.h>

#include "controllers/attach/attach_int.h"
#include "controllers/binder/binder_int.h"
#include "machinery/metrics.h"
#include "scheduler/scheduler_int.h"

struct plane {
    struct informers *informers;
    struct informer_handler handlers[KIND_COUNT];
    unsigned handlers_count;
    struct metrics *metrics;
    struct plugin_registry *registry;
    struct binder *binder;
    struct scheduler *scheduler;
    struct attach *attach;
    bool is_started;
};

static void must(int r)
{
    if (r < 0)
        abort();
}

static void on_synced(void *ctx)
{
    struct plane *x = ctx;

    if (x->is_started || !informers_are_synced(x->informers))
        return;
    x->is_started = true;
    binder_start(x->binder);
    scheduler_start(x->scheduler);
    attach_start(x->attach);
}

static void make_parts(struct plane *x, const struct part_options *part)
{
    static const struct volume_plugin *const no_plugins[] = { NULL };
    struct binder_options b = { .part = *part, .plugins = no_plugins, .host = { .loop = part->loop } };
    struct scheduler_options s = {
        .part = *part, .name = SCHEDULER_NAME, .host = "sim", .bind_timeout_ns = SCHEDULER_BIND_TIMEOUT_NS
    };
    struct attach_options a = { .part = *part, .sync_period_ns = ATTACH_SYNC_PERIOD_NS };
    struct error err;

    must(registry_new(no_plugins, /* prober= */ NULL, &x->registry, &err));
    a.registry = x->registry;
    must(binder_new(&b, &x->binder, &err));
    must(scheduler_new(&s, &x->scheduler, &err));
    must(attach_new(&a, &x->attach, &err));
}

static void hear(struct plane *x, struct informer *i)
{
    struct informer_handler *h = &x->handlers[x->handlers_count++];

    *h = (struct informer_handler){ .on_synced = on_synced, .ctx = x };
    informer_add_handler(i, h);
}

static void *plane_start(struct sim_process *p, void *ctx)
{
    struct plane *x = sim_alloc(sizeof *x);
    struct informer_options io = {
        .loop = p->loop, .client = p->client, .seed = p->seed, .streams_lists = p->seed % 2
    };
    struct part_options part = { .loop = p->loop, .clock = &p->clock.clock, .client = p->client };
    struct error err;

    (void)ctx;
    x->metrics = metrics_new((struct hash_seed){ p->seed, 1 });
    if (!x->metrics)
        abort();
    must(informers_new(&io, &x->informers, &err));
    part.informers = x->informers;
    part.metrics = x->metrics;
    part.seed = p->seed;
    make_parts(x, &part);
    for (size_t i = 0; i < CACHE_KIND_COUNT; i++)
        hear(x, x->scheduler->caches[i]);
    informers_start(x->informers);
    return x;
}

static void plane_kill(void *state)
{
    struct plane *x = state;

    for (unsigned i = 0; i < x->handlers_count; i++)
        informer_remove_handler(&x->handlers[i]);
    x->attach = attach_free(x->attach);
    x->scheduler = scheduler_free(x->scheduler);
    x->binder = binder_free(x->binder);
    x->registry = registry_free(x->registry);
    x->informers = informers_free(x->informers);
    x->metrics = metrics_free(x->metrics);
    free(x);
}

const struct sim_program site_plane_program = { "plane", plane_start, plane_kill };

int site_plane_settled(const void *state, struct error *err)
{
    const struct plane *x = state;

    if (!x->is_started)
        return error_set(err, ERR_INTERNAL, "the controllers have not started");
    if (!TAILQ_EMPTY(&x->attach->ops))
        return error_set(err, ERR_INTERNAL, "the attach controller is at work");
    return 0;
}
