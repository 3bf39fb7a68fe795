/* The expand controller: event handlers and lifecycle. Its queue has the keys of claims; at most
 * IN_FLIGHT_MAX expansions run at once, because plugins block workers of the pool. */
#include "controllers/expand/expand.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mutant.h"
#include "controllers/expand/expand_int.h"
#include "machinery/pending_operations.h"

#define QUEUE "volume_expand"
/* Limits the work of plugins, not only requests. */
#define IN_FLIGHT_MAX 10

/* --- Event handlers --- */

static void on_claim_add(void *ctx, const struct object *o, bool is_initial)
{
    struct expand *e = ctx;

    (void)is_initial;
    if (claim_of(o)->phase == CLAIM_BOUND)
        component_add(e->controller, o);
}

/* The requested size has changed, or the actual size has grown. */
static void on_claim_update(void *ctx, const struct object *old, const struct object *o)
{
    const struct claim *was = claim_of(old), *is = claim_of(o);

    if (quantity_cmp(&was->request, &is->request) != 0 || quantity_cmp(&was->capacity, &is->capacity) < 0)
        on_claim_add(ctx, o, /* is_initial= */ false);
}

/* The volume still has the size from before an expansion that is complete: the change of the claim may have
 * arrived before that of the volume. */
static void on_volume_add(void *ctx, const struct object *o, bool is_initial)
{
    struct expand *e = ctx;
    const struct volume *v = volume_of(o);
    const struct object *claim;

    (void)is_initial;
    if (!v->claim.is_set || !object_annotation(o, ANN_PRE_RESIZE_CAPACITY))
        return;
    claim = informer_get(e->claims, v->claim.ns, v->claim.name);
    if (claim && expand_is_satisfied(claim_of(claim)))
        on_claim_add(ctx, claim, /* is_initial= */ false);
}

/* The user may have increased the capacity of the volume, which its claim waits for. */
static void on_volume_update(void *ctx, const struct object *old, const struct object *o)
{
    const struct volume *v = volume_of(o);
    struct expand *e = ctx;
    const struct object *claim;

    if (!object_annotation(old, ANN_PRE_RESIZE_CAPACITY))
        on_volume_add(ctx, o, /* is_initial= */ false);
    if (quantity_cmp(&volume_of(old)->capacity, &v->capacity) >= 0 || !v->claim.is_set)
        return;
    claim = informer_get(e->claims, v->claim.ns, v->claim.name);
    if (claim && expand_is_by_hand(v) && !expand_is_satisfied(claim_of(claim)) &&
        !MUTANT("expand-overlooks-grown-volumes"))
        on_claim_add(ctx, claim, /* is_initial= */ false);
}

/* --- Lifecycle --- */

int expand_new(const struct expand_options *o, struct expand **ret, struct error *err)
{
    _cleanup_(expand_free_p) struct expand *e = calloc(1, sizeof *e);
    struct controller_options c = { .queue = { .loop = o->part.loop,
                                               .name = QUEUE,
                                               .metrics = o->part.metrics,
                                               .seed = component_seed(&o->part, QUEUE),
                                               .base_ns = OPERATION_BACKOFF_NS,
                                               .max_ns = OPERATION_BACKOFF_NS_MAX },
                                    .sync = expand_sync,
                                    .ctx = e,
                                    .in_flight_max = IN_FLIGHT_MAX };
    int r;

    if (!e)
        return error_no_memory(err);
    e->clock = o->part.clock;
    e->loop = o->part.loop;
    e->pool = o->pool;
    TAILQ_INIT(&e->expansions);
    e->claims = informers_get(o->part.informers, KIND_CLAIM, err);
    e->volumes = e->claims ? informers_get(o->part.informers, KIND_VOLUME, err) : NULL;
    if (!e->volumes)
        return -(int)err->code;
    r = registry_new(o->plugins, /* prober= */ NULL, &e->registry, err);
    if (r == 0)
        r = component_api(&o->part, "berth-expand", &e->api, err);
    if (r == 0)
        r = component_recorder(&o->part, QUEUE, &e->recorder, err);
    if (r == 0 && o->part.metrics)
        r = component_operation_seconds(o->part.metrics, &e->seconds, err);
    if (r == 0)
        r = controller_new(&c, &e->controller, err);
    if (r == 0)
        *ret = TAKE(e);
    return r;
}

const char *expand_check(const struct expand *e)
{
    return controller_check(e->controller);
}

void expand_start(struct expand *e)
{
    assert(!e->claims_handler.informer); /* once */
    e->claims_handler =
        (struct informer_handler){ .on_add = on_claim_add, .on_update = on_claim_update, .ctx = e };
    e->volumes_handler =
        (struct informer_handler){ .on_add = on_volume_add, .on_update = on_volume_update, .ctx = e };
    informer_add_handler(e->claims, &e->claims_handler);
    informer_add_handler(e->volumes, &e->volumes_handler);
}

struct expand *expand_free(struct expand *e)
{
    if (!e)
        return NULL;
    informer_remove_handler(&e->claims_handler);
    informer_remove_handler(&e->volumes_handler);
    while (!TAILQ_EMPTY(&e->expansions))
        expansion_free(TAILQ_FIRST(&e->expansions));
    controller_free(e->controller);
    recorder_free(e->recorder);
    registry_free(e->registry);
    free(e);
    return NULL;
}
