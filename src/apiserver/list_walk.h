/* A walk over the stored objects of a selection, by namespace and name.
 *
 * If at most one object can match, the walk starts and ends there; otherwise it visits every object of the
 * kind, or of the namespace. Must end within one callback of the loop. */
#ifndef BERTH_APISERVER_LIST_WALK_H
#define BERTH_APISERVER_LIST_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "apiserver/resource.h"
#include "apiserver/selection.h"
#include "base/error.h"
#include "store/store.h"

struct list_walk {
    struct store_iter iter;
    const struct selection *selection;
    bool is_of_one; /* one key can match, and the walk begins there */
    /* For callers that pause the walk. */
    size_t steps_left;         /* number of objects visited before it pauses; 0: no limit */
    const struct object *seen; /* last object visited, selected or not */
    bool is_paused;            /* list_walk_next() returned NULL, and not at the end */
};

/* The kind under which a resource's objects are stored: events of both groups are one kind. The resource must
 * be stored. */
enum kind stored_kind(const struct resource *r);

/* From the first object that is not before (from_ns, from_name), at that revision; 0 for the newest. ERR_GONE
 * when the revision is too old. */
int list_walk_begin(struct list_walk *w, const struct store *store, const struct resource *r,
                    const struct selection *s, struct str from_ns, struct str from_name, int64_t at,
                    struct error *err);
/* The same for a snapshot of the resource's stored kind. */
int list_walk_begin_snapshot(struct list_walk *w, const struct store_snapshot *snap, const struct resource *r,
                             const struct selection *s, struct str from_ns, struct str from_name,
                             struct error *err);
/* NULL at the end. */
const struct object *list_walk_next(struct list_walk *w);
void list_walk_done(struct list_walk *w);

#endif
