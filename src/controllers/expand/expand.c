#include "controllers/expand/expand.h"

#include <stdlib.h>

#include "controllers/expand/expand_int.h"
#include "machinery/pending_operations.h"

#define QUEUE "volume_expand"
/* Plugins' work, not requests alone. */
#define IN_FLIGHT_MAX 10

/* --- What to look at --- */

static void on_claim_add(void *ctx, const struct object *o, bool is_initial)
{
    struct expand *e = ctx;

    (void)is_initial;
    if (claim_of(o)->phase == CLAIM_BOUND)
        part_add(e->controller, o);
}

/* It asks for something else, or got something. */
static void on_claim_update(void *ctx, const struct object *old, const struct object *o)
{
    const struct claim *was = claim_of(old), *is = claim_of(o);

    if (quantity_cmp(&was->request, &is->request) != 0 || quantity_cmp(&was->capacity, &is->capacity) < 0)
        on_claim_add(ctx, o, /* is_initial= */ false);
}

/* The size before an expansion that is over: the claim's own news may have come sooner than the volume's. */
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

/* Somebody has said that there is more of it: its claim may be waiting for that. */
static void on_volume_grown(struct expand *e, const struct volume *v)
{
    const struct object *claim = v->claim.is_set ? informer_get(e->claims, v->claim.ns, v->claim.name) : NULL;

    if (claim && expand_is_by_hand(v) && !expand_is_satisfied(claim_of(claim)))
        on_claim_add(e, claim, /* is_initial= */ false);
}

static void on_volume_update(void *ctx, const struct object *old, const struct object *o)
{
    if (!object_annotation(old, ANN_PRE_RESIZE_CAPACITY))
        on_volume_add(ctx, o, /* is_initial= */ false);
    if (quantity_cmp(&volume_of(old)->capacity, &volume_of(o)->capacity) < 0)
        on_volume_grown(ctx, volume_of(o));
}

/* --- Life --- */

static int expand_open(struct expand *e, const struct part_options *o, struct error *err)
{
    struct controller_options c = { .queue = { .loop = o->loop,
                                               .name = QUEUE,
                                               .metrics = o->metrics,
                                               .seed = part_seed(o, QUEUE),
                                               .base_ns = OPERATION_BACKOFF_NS,
                                               .max_ns = OPERATION_BACKOFF_NS_MAX },
                                    .sync = expand_sync,
                                    .ctx = e,
                                    .in_flight_max = IN_FLIGHT_MAX };
    int r;

    e->claims = informers_get(o->informers, KIND_CLAIM, err);
    e->volumes = e->claims ? informers_get(o->informers, KIND_VOLUME, err) : NULL;
    if (!e->volumes)
        return -(int)err->code;
    r = part_recorder(o, QUEUE, &e->recorder, err);
    if (r == 0 && o->metrics)
        r = part_operation_seconds(o->metrics, &e->seconds, err);
    if (r == 0)
        r = controller_new(&c, &e->controller, err);
    return r;
}

int expand_new(const struct part_options *o, const struct expand_plugin *const *plugins, struct expand **ret,
               struct error *err)
{
    _cleanup_(expand_free_p) struct expand *e = calloc(1, sizeof *e);
    int r;

    if (!e)
        return error_no_memory(err);
    e->clock = o->clock;
    e->loop = o->loop;
    e->plugins = plugins;
    TAILQ_INIT(&e->expansions);
    r = part_api(o, "berth-expand", &e->api, err);
    if (r == 0)
        r = expand_open(e, o, err);
    if (r < 0)
        return r;
    *ret = TAKE(e);
    return 0;
}

void expand_start(struct expand *e)
{
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
    free(e);
    return NULL;
}
