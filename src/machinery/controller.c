/* The queue says when there is work, and the controller takes what its budget allows; for the rest it defers
 * itself to the next turn, so that whatever else is due gets its chance in between. With as many keys in
 * flight as may be it waits for a controller_finish(). */
#include "machinery/controller.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mutant.h"

#define CONTROLLER_IN_FLIGHT_MAX 256
#define CONTROLLER_TURN_MAX 64

struct controller {
    struct controller_options options;
    struct workqueue *queue;
    struct deferred again;
    bool is_again; /* deferred: what else calls leaves it to that, so that a turn's budget is spent once */
    bool is_ready;
};

/* The end of a sync in whatever way; key may be gone afterwards. */
static void controller_settle(struct controller *c, struct str key, enum sync_result result)
{
    if (result == SYNC_AGAIN && !MUTANT("controller-gives-up"))
        workqueue_add_limited(c->queue, key);
    else
        workqueue_forget(c->queue, key);
    workqueue_done(c->queue, key);
}

static void controller_defer(struct controller *c)
{
    c->is_again = true;
    loop_defer(&c->again);
}

static void controller_run(struct controller *c)
{
    struct str key;

    if (!c->is_ready)
        c->is_ready = !c->options.is_ready || c->options.is_ready(c->options.ctx);
    if (!c->is_ready)
        return;
    for (unsigned n = 0; n < c->options.turn_max; n++) {
        enum sync_result result;

        if (workqueue_processing(c->queue) >= c->options.in_flight_max ||
            workqueue_get(c->queue, &key) != WORKQUEUE_KEY)
            return;
        result = c->options.sync(c->options.ctx, key);
        if (result != SYNC_LATER)
            controller_settle(c, key, result);
    }
    if (workqueue_depth(c->queue) > 0)
        controller_defer(c);
}

static void controller_on_again(void *ctx)
{
    struct controller *c = ctx;

    c->is_again = false;
    controller_run(c);
}

static void controller_on_ready(void *ctx)
{
    struct controller *c = ctx;

    if (!c->is_again)
        controller_run(c);
}

int controller_new(const struct controller_options *o, struct controller **ret, struct error *err)
{
    _cleanup_(controller_free_p) struct controller *c = calloc(1, sizeof *c);
    struct workqueue_options queue = o->queue;
    int r;

    if (!c)
        return error_no_memory(err);
    c->options = *o;
    if (!c->options.in_flight_max)
        c->options.in_flight_max = CONTROLLER_IN_FLIGHT_MAX;
    if (!c->options.turn_max)
        c->options.turn_max = CONTROLLER_TURN_MAX;
    deferred_init(&c->again, queue.loop, controller_on_again, c);
    queue.on_ready = controller_on_ready;
    queue.ctx = c;
    r = workqueue_new(&queue, &c->queue, err);
    if (r < 0)
        return r;
    *ret = TAKE(c);
    return 0;
}

struct controller *controller_free(struct controller *c)
{
    if (!c)
        return NULL;
    loop_undefer(&c->again);
    workqueue_free(c->queue);
    free(c);
    return NULL;
}

struct workqueue *controller_queue(struct controller *c)
{
    return c->queue;
}

void controller_finish(struct controller *c, struct str key, enum sync_result result)
{
    assert(result != SYNC_LATER);
    controller_settle(c, key, result);
    controller_wake(c);
}

void controller_finish_after(struct controller *c, struct str key, uint64_t delay_ns)
{
    workqueue_add_after(c->queue, key, delay_ns);
    controller_finish(c, key, SYNC_DONE);
}

void controller_wake(struct controller *c)
{
    if (workqueue_depth(c->queue) > 0)
        controller_defer(c);
}
