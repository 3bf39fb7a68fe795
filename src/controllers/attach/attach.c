#include "controllers/attach/attach.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "controllers/attach/attach_int.h"

#define COMPONENT "attachdetach-controller"
/* Volumes looked at in one turn of the loop. */
#define TURN_MAX 512

/* --- The pass --- */

void attach_wake(struct attach *a)
{
    loop_defer(&a->pass);
}

/* No other process has this seed, and no other write of this one this number. */
void attach_fence_number(struct attach *a, char to[static ATTACH_FENCE_BYTES])
{
    (void)snprintf(to, ATTACH_FENCE_BYTES, "%" PRIx64 "-%" PRIx64, part_seed(&a->o.part, "attach-fence"),
                   ++a->changes);
}

/* The status of nodes is written behind all that changes it: one patch a node. */
static void run_pass(void *ctx)
{
    struct attach *a = ctx;
    struct worlds_volume *v;

    for (unsigned n = 0; n < TURN_MAX && (v = TAILQ_FIRST(&a->worlds.marked_volumes)); n++) {
        v->is_marked = false;
        TAILQ_REMOVE(&a->worlds.marked_volumes, v, link);
        attach_reconcile(a, v);
    }
    attach_status_write(a);
    if (!TAILQ_EMPTY(&a->worlds.marked_volumes))
        attach_wake(a);
}

/* --- Turns --- */

/* Whoever gives its turn back from inside go() is served by the loop that is there already. */
static void next_turns(struct attach *a)
{
    struct attach_turn *t;

    if (a->is_stopping || a->is_turning)
        return;
    a->is_turning = true;
    while (a->turns < ATTACH_TURNS_MAX && (t = TAILQ_FIRST(&a->waiting_turns))) {
        TAILQ_REMOVE(&a->waiting_turns, t, link);
        t->state = TURN_TAKEN;
        a->turns++;
        t->go(t);
    }
    a->is_turning = false;
}

void attach_turn_take(struct attach *a, struct attach_turn *t, void (*go)(struct attach_turn *t))
{
    assert(t->state == TURN_NONE);
    t->go = go;
    t->state = TURN_WAITS;
    TAILQ_INSERT_TAIL(&a->waiting_turns, t, link);
    next_turns(a);
}

void attach_turn_give(struct attach *a, struct attach_turn *t)
{
    if (t->state == TURN_WAITS)
        TAILQ_REMOVE(&a->waiting_turns, t, link);
    else if (t->state == TURN_TAKEN)
        a->turns--;
    t->state = TURN_NONE;
    next_turns(a);
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
    return attach_inputs_open(a, err);
}

int attach_new(const struct attach_options *o, struct attach **ret, struct error *err)
{
    _cleanup_(attach_free_p) struct attach *a = calloc(1, sizeof *a);
    struct operations_options n = { .loop = o->part.loop, .clock = o->part.clock };
    int r;

    if (!a)
        return error_no_memory(err);
    a->o = *o;
    TAILQ_INIT(&a->ops);
    TAILQ_INIT(&a->verifications);
    TAILQ_INIT(&a->waiting_turns);
    deferred_init(&a->pass, o->part.loop, run_pass, a);
    worlds_init(a);
    csi_attach_init(a);
    r = open_caches(a, err);
    if (r == 0)
        r = part_api(&o->part, ATTACH_MANAGER, &a->api, err);
    if (r == 0)
        r = part_recorder(&o->part, COMPONENT, &a->recorder, err);
    if (r == 0)
        r = operations_new(&n, &a->operations, err);
    if (r == 0)
        r = attach_metrics_new(a, err);
    if (r < 0)
        return r;
    *ret = TAKE(a);
    return 0;
}

void attach_start(struct attach *a)
{
    attach_recover(a);
    attach_inputs_start(a);
    attach_populate_start(a);
    attach_verify_start(a);
    worlds_mark_all(a);
}

struct attach *attach_free(struct attach *a)
{
    if (!a)
        return NULL;
    a->is_stopping = true;
    attach_inputs_stop(a);
    attach_populate_stop(a);
    attach_verify_stop(a);
    attach_operate_stop(a);
    worlds_done(a);
    csi_attach_done(a);
    loop_undefer(&a->pass);
    operations_free(a->operations);
    recorder_free(a->recorder);
    attach_metrics_free(a);
    free(a);
    return NULL;
}
