/* Reads events from a store, for explanations in the process that owns it. */
#ifndef BERTH_WHY_EVENTS_H
#define BERTH_WHY_EVENTS_H

#include "store/store.h"
#include "why/why_world.h"

/* For struct why_world; ctx is the store. Inspects every event of the object's namespace ("default" for
 * cluster-scoped objects). Reports nothing when memory is short. */
void why_each_stored_event(void *ctx, const struct object *about, struct why_event_slice *slice,
                           why_event_fn *fn, void *fn_ctx);

/* True when the event is about this object: by uid, or by kind and name if the event has no uid. */
bool why_event_is_about(const struct event *e, const struct object *about);

#endif
