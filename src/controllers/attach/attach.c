/* The attach controller: its passes, the limit of concurrent requests, and its lifecycle.
 *
 * A pass handles the volumes that were marked since the last one (attach_reconcile.c), at most
 * VOLUMES_PER_PASS_MAX, and then writes the status of the nodes that changed (attached_report.c). The rest
 * waits for the next turn of the loop. A pass without marked volumes or nodes costs nothing. */
#include "controllers/attach/attach.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "controllers/attach/attach_int.h"

#define COMPONENT "attachdetach-controller"
/* The maximum number of volumes per turn of the loop. */
#define VOLUMES_PER_PASS_MAX 512

/* --- The pass --- */

void attach_wake(struct attach *a)
{
    loop_defer(&a->pass);
}

/* The number is unique: other processes have other seeds, and other writes of this process other counts. */
void attach_fence_number(struct attach *a, char to[static ATTACH_FENCE_BYTES])
{
    (void)snprintf(to, ATTACH_FENCE_BYTES, "%" PRIx64 "-%" PRIx64, component_seed(&a->o.part, "attach-fence"),
                   ++a->changes);
}

/* Reconciles the marked volumes, then writes node status: one patch per node for all changes of the pass. */
static void run_pass(void *ctx)
{
    struct attach *a = ctx;
    struct attach_volume *v;

    for (unsigned n = 0; n < VOLUMES_PER_PASS_MAX && (v = TAILQ_FIRST(&a->state.marked_volumes)); n++) {
        v->is_marked = false;
        TAILQ_REMOVE(&a->state.marked_volumes, v, link);
        attach_reconcile(a, v);
    }
    attach_status_write(a);
    if (!TAILQ_EMPTY(&a->state.marked_volumes))
        attach_wake(a);
}

/* --- Limit of requests in flight --- */

/* go() may release slots again: the outermost call grants them, so that the recursion is bounded. */
static void grant_slots(struct attach *a)
{
    struct attach_slot *t;

    if (a->is_stopping || a->is_granting)
        return;
    a->is_granting = true;
    while (a->slots_held < ATTACH_REQUESTS_MAX && (t = TAILQ_FIRST(&a->waiting_slots))) {
        TAILQ_REMOVE(&a->waiting_slots, t, link);
        t->state = SLOT_HELD;
        a->slots_held++;
        t->go(t);
    }
    a->is_granting = false;
}

void attach_slot_acquire(struct attach *a, struct attach_slot *t, void (*go)(struct attach_slot *t))
{
    assert(t->state == SLOT_NONE);
    t->go = go;
    t->state = SLOT_WAITING;
    TAILQ_INSERT_TAIL(&a->waiting_slots, t, link);
    grant_slots(a);
}

void attach_slot_release(struct attach *a, struct attach_slot *t)
{
    assert(t->state != SLOT_HELD || a->slots_held > 0);
    if (t->state == SLOT_WAITING)
        TAILQ_REMOVE(&a->waiting_slots, t, link);
    else if (t->state == SLOT_HELD)
        a->slots_held--;
    t->state = SLOT_NONE;
    grant_slots(a);
}

/* --- Lifecycle --- */

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
    return attach_handlers_open(a, err);
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
    TAILQ_INIT(&a->waiting_slots);
    deferred_init(&a->pass, o->part.loop, run_pass, a);
    attach_state_init(a);
    csi_attach_init(a);
    r = open_caches(a, err);
    if (r == 0)
        r = component_api(&o->part, ATTACH_MANAGER, &a->api, err);
    if (r == 0)
        r = component_recorder(&o->part, COMPONENT, &a->recorder, err);
    if (r == 0)
        r = operations_new(&n, &a->operations, err);
    if (r == 0)
        r = attach_metrics_new(a, err);
    if (r < 0)
        return r;
    *ret = TAKE(a);
    return 0;
}

static void on_recovered(struct attach *a)
{
    attach_handlers_start(a);
    attach_verify_start(a);
    attach_state_mark_all(a);
}

void attach_start(struct attach *a)
{
    assert(!a->is_stopping && !a->start.done); /* once */
    attach_recover(a, on_recovered);
}

struct attach *attach_free(struct attach *a)
{
    if (!a)
        return NULL;
    a->is_stopping = true;
    attach_recover_stop(a);
    attach_handlers_stop(a);
    attach_verify_stop(a);
    attach_op_stop(a);
    attach_state_done(a);
    csi_attach_done(a);
    loop_undefer(&a->pass);
    operations_free(a->operations);
    recorder_free(a->recorder);
    attach_metrics_free(a);
    free(a);
    return NULL;
}
