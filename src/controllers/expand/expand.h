/* The expand controller: expands the volume of a bound claim that requests more than it has.
 *
 * The volume's plugin expands the storage; if the file system must be expanded too, the node does that, and
 * the claim has a condition until then. The target size is recorded first (status.allocatedResources), so
 * that a retry after a crash or a failure uses the same size. Volumes that no plugin of this process expands
 * belong to an external controller; the claim gets an event. For local, hostPath and NFS volumes there is
 * none: the administrator expands the storage and increases the capacity of the volume, and the claim
 * follows. */
#ifndef BERTH_CONTROLLERS_EXPAND_EXPAND_H
#define BERTH_CONTROLLERS_EXPAND_EXPAND_H

#include "io/pool.h"
#include "machinery/component_deps.h"
#include "plugins/plugin.h"

struct expand;

struct expand_options {
    struct component_deps part;
    struct pool *pool; /* for plugins; borrowed */
    /* Those with an expand table (plugins/plugin.h) are used. Ends with NULL; borrowed. FlexVolume drivers
     * are not searched: their volumes are expanded on the nodes. */
    const struct volume_plugin *const *plugins;
};

/* True if no controller, internal or external, expands such a volume. Pure. */
bool expand_is_by_hand(const struct volume *v);

int expand_new(const struct expand_options *o, struct expand **ret, struct error *err);
void expand_start(struct expand *e);
/* NULL if the state in memory is consistent, else what is wrong. For the simulator. */
const char *expand_check(const struct expand *e);
/* Calls of plugins that have started continue; free the pool after this. */
struct expand *expand_free(struct expand *e);
DEFINE_CLEANUP(struct expand, expand_free)

#endif
