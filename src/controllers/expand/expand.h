/* Expansion: a bound claim that asks for more gets it.
 *
 * The plugin of the volume makes it larger; where the file system on it must grow too, that is the node's,
 * and the claim says so until it is done. What was begun is written down first (status.allocatedResources),
 * so that whoever goes on after a crash or a failure aims at the same size. Volumes that no plugin here
 * expands belong to an external controller; the claim is told. For local, hostPath and NFS volumes none will
 * come: whoever has grown the storage raises the capacity of the volume, and the claim follows. */
#ifndef BERTH_CONTROLLERS_EXPAND_EXPAND_H
#define BERTH_CONTROLLERS_EXPAND_EXPAND_H

#include "io/pool.h"
#include "machinery/component_deps.h"
#include "plugins/plugin.h"

struct expand;

struct expand_options {
    struct component_deps part;
    struct pool *pool; /* for plugins; borrowed */
    /* Those that expand have the table (plugins/plugin.h). Ends with NULL; borrowed. Drivers of FlexVolumes
     * are looked for nowhere: their volumes grow on their nodes. */
    const struct volume_plugin *const *plugins;
};

/* Whether no controller makes such a volume larger, here or outside. Pure. */
bool expand_is_by_hand(const struct volume *v);

int expand_new(const struct expand_options *o, struct expand **ret, struct error *err);
void expand_start(struct expand *e);
/* NULL when what it has in memory fits together, else what does not. For the simulator. */
const char *expand_check(const struct expand *e);
/* What plugins have begun goes on; the pool is freed after this. */
struct expand *expand_free(struct expand *e);
DEFINE_CLEANUP(struct expand, expand_free)

#endif
