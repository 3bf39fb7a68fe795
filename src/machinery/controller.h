/* A controller's loop: keys from a queue into its sync function, so many a turn, so many at once.
 *
 * A sync reads caches, takes the next step and returns; when the step is a request it says SYNC_LATER and
 * ends with controller_finish() when the answer is there. Meanwhile the key is worked on and no second sync
 * of it begins. What went wrong comes back after the key's delay. */
#ifndef BERTH_MACHINERY_CONTROLLER_H
#define BERTH_MACHINERY_CONTROLLER_H

#include "machinery/workqueue.h"

struct controller;

enum sync_result {
    SYNC_DONE,  /* nothing left to do for now: failures forgotten */
    SYNC_AGAIN, /* failed, or overtaken: again after the key's delay */
    SYNC_LATER, /* under way: controller_finish() follows */
};

struct controller_options {
    struct workqueue_options queue; /* on_ready and ctx are the controller's */
    /* Reads caches only. The key is borrowed for the call. */
    enum sync_result (*sync)(void *ctx, struct str key);
    void *ctx;
    unsigned in_flight_max; /* keys being worked on; 0: 256 */
    unsigned turn_max;      /* syncs in one turn of the loop; 0: 64 */
    /* Nothing is synced before this says yes; asked again at controller_wake(). NULL: at once. */
    bool (*is_ready)(void *ctx);
};

int controller_new(const struct controller_options *o, struct controller **ret, struct error *err);
struct controller *controller_free(struct controller *c);
DEFINE_CLEANUP(struct controller, controller_free)

struct workqueue *controller_queue(struct controller *c);
static inline void controller_add(struct controller *c, struct str key)
{
    workqueue_add(controller_queue(c), key);
}
/* The end of a sync that says SYNC_LATER: SYNC_DONE or SYNC_AGAIN. May come from inside the sync. */
void controller_finish(struct controller *c, struct str key, enum sync_result result);
/* The same as SYNC_DONE, and again after a while. */
void controller_finish_after(struct controller *c, struct str key, uint64_t delay_ns);
/* What is_ready() waits for may have come: a cache is synced. */
void controller_wake(struct controller *c);

#endif
