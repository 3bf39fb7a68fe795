#include "controllers/attach/attach.h"

#include <stdlib.h>
#include <string.h>

#include "controllers/attach/attach_int.h"

#define COMPONENT "attachdetach-controller"
/* Volumes looked at in one turn of the loop. */
#define TURN_MAX 512

/* --- The pass --- */

void attach_wake(struct attach *a)
{
    loop_defer(&a->pass);
}

/* The status of nodes is written behind all that changes it: one patch a node. */
static void run_pass(void *ctx)
{
    struct attach *a = ctx;
    struct world_volume *v;

    for (unsigned n = 0; n < TURN_MAX && (v = TAILQ_FIRST(&a->world.marked_volumes)); n++) {
        v->is_marked = false;
        TAILQ_REMOVE(&a->world.marked_volumes, v, link);
        reconcile_volume(a, v);
    }
    node_status_write(a);
    if (!TAILQ_EMPTY(&a->world.marked_volumes))
        attach_wake(a);
}

/* --- Life --- */

static int open_caches(struct attach *a, struct error *err)
{
    const struct {
        enum kind kind;
        struct informer **to;
    } caches[] = {
        { KIND_NODE, &a->nodes },
        { KIND_CLAIM, &a->claims },
        { KIND_VOLUME, &a->volumes },
        { KIND_CSI_DRIVER, &a->csi_drivers },
        { KIND_ATTACHMENT, &a->attachments },
    };

    for (size_t i = 0; i < ARRAY_LEN(caches); i++) {
        *caches[i].to = informers_get(a->o.part.informers, caches[i].kind, err);
        if (!*caches[i].to)
            return -(int)err->code;
    }
    return inputs_open(a, err);
}

int attach_new(const struct attach_options *o, struct attach **ret, struct error *err)
{
    _cleanup_(attach_free_p) struct attach *a = calloc(1, sizeof *a);
    struct nested_options n = { .loop = o->part.loop, .clock = o->part.clock };
    int r;

    if (!a)
        return error_no_memory(err);
    a->o = *o;
    TAILQ_INIT(&a->ops);
    TAILQ_INIT(&a->verifications);
    deferred_init(&a->pass, o->part.loop, run_pass, a);
    world_init(a);
    csi_init(a);
    r = open_caches(a, err);
    if (r == 0)
        r = part_recorder(&o->part, COMPONENT, &a->recorder, err);
    if (r == 0)
        r = nested_new(&n, &a->nested, err);
    if (r == 0)
        r = attach_metrics_new(a, err);
    if (r < 0)
        return r;
    *ret = TAKE(a);
    return 0;
}

void attach_start(struct attach *a)
{
    recover(a);
    inputs_start(a);
    populate_start(a);
    verify_start(a);
    world_mark_all(a);
}

struct attach *attach_free(struct attach *a)
{
    if (!a)
        return NULL;
    inputs_stop(a);
    populate_stop(a);
    verify_stop(a);
    operate_stop(a);
    world_done(a);
    csi_done(a);
    loop_undefer(&a->pass);
    nested_free(a->nested);
    recorder_free(a->recorder);
    attach_metrics_free(a);
    free(a);
    return NULL;
}
