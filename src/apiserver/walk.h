/* A walk over the stored objects that a selection means, by namespace and name.
 *
 * Where one object at most can be meant the walk goes straight to it and ends behind it; otherwise it looks
 * at every object of the kind, or of the namespace. Lives within one callback of the loop. */
#ifndef BERTH_APISERVER_WALK_H
#define BERTH_APISERVER_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "apiserver/resource.h"
#include "apiserver/selection.h"
#include "base/error.h"
#include "store/store.h"

struct walk {
    struct store_iter iter;
    const struct selection *selection;
    bool is_of_one; /* one key can be selected, and the walk begins there */
    /* For who does not walk to the end at once. */
    size_t steps_left;         /* so many objects are looked at before it pauses; 0: as many as there are */
    const struct object *seen; /* looked at last, selected or not */
    bool is_paused;            /* walk_next() returned NULL, and not at the end */
};

/* The kind that a resource's objects are stored as: both groups' events are one. The resource is stored. */
enum kind stored_kind(const struct resource *r);

/* From the first object that is not before (from_ns, from_name), as they were at that revision; 0 for now.
 * ERR_GONE when that is forgotten. */
int walk_begin(struct walk *w, const struct store *store, const struct resource *r, const struct selection *s,
               struct str from_ns, struct str from_name, int64_t at, struct error *err);
/* The same as of a snapshot of the resource's stored kind. */
int walk_begin_snapshot(struct walk *w, const struct store_snapshot *snap, const struct resource *r,
                        const struct selection *s, struct str from_ns, struct str from_name,
                        struct error *err);
/* NULL at the end. */
const struct object *walk_next(struct walk *w);
void walk_done(struct walk *w);

#endif
