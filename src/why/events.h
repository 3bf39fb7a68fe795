/* Events out of a store, for explanations in the process that has it. */
#ifndef BERTH_WHY_EVENTS_H
#define BERTH_WHY_EVENTS_H

#include "store/store.h"
#include "why/world.h"

/* For struct why_world: ctx is the store. Looks at every event of the object's namespace: those of objects at
 * cluster scope are in "default". Says nothing when there is no memory. */
void why_each_stored_event(void *ctx, const struct object *about, struct why_event_slice *slice,
                           why_event_fn *fn, void *fn_ctx);

/* The event is about this very object: by uid, or by kind and name where the event has no uid. */
bool why_event_is_about(const struct event *e, const struct object *about);

#endif
