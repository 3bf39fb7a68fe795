/* The informers that all components of a process share: one per kind, created on first use. */
#include "machinery/informer.h"

#include <assert.h>
#include <stdlib.h>

#include "base/rng.h"

struct informers {
    struct informer_options options;
    struct informer *by_kind[KIND_COUNT];
    bool is_started;
};

int informers_new(const struct informer_options *o, struct informers **ret, struct error *err)
{
    struct informers *all = calloc(1, sizeof *all);

    if (!all)
        return error_no_memory(err);
    all->options = (struct informer_options){
        .loop = o->loop,
        .client = o->client,
        .metrics = o->metrics,
        .seed = o->seed,
        .streams_lists = o->streams_lists,
    };
    *ret = all;
    return 0;
}

struct informers *informers_free(struct informers *all)
{
    if (!all)
        return NULL;
    for (size_t k = 0; k < KIND_COUNT; k++)
        informer_free(all->by_kind[k]);
    free(all);
    return NULL;
}

struct informer *informers_get(struct informers *all, enum kind k, struct error *err)
{
    struct informer_options o = all->options;
    struct rng rng, own;

    if (all->by_kind[k])
        return all->by_kind[k];
    assert(!all->is_started);
    o.kind = kind_info(k);
    /* Seeded by name, so that other kinds do not influence this one. */
    rng_init(&rng, all->options.seed);
    rng_fork(&rng, o.kind->name, &own);
    o.seed = rng_u64(&own);
    (void)informer_new(&o, &all->by_kind[k], err); /* NULL stays NULL */
    return all->by_kind[k];
}

void informers_start(struct informers *all)
{
    assert(!all->is_started);
    all->is_started = true;
    for (size_t k = 0; k < KIND_COUNT; k++)
        if (all->by_kind[k])
            informer_start(all->by_kind[k]);
}

const struct kind_info *informers_waiting_for(const struct informers *all)
{
    for (size_t k = 0; k < KIND_COUNT; k++)
        if (all->by_kind[k] && !informer_is_synced(all->by_kind[k]))
            return kind_info((enum kind)k);
    return NULL;
}

bool informers_are_synced(const struct informers *all)
{
    return !informers_waiting_for(all);
}
