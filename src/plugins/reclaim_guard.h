/* What must hold before the storage of a volume is emptied or removed, for every deleter and recycler.
 *
 * The data must be on this machine: a volume with a node affinity is reclaimed by a process whose node meets
 * it. The rest is judged by the worker, with the descriptor it works on: host/guard.h. It is told of all
 * other volumes that the cache has, except those that are on other machines by their affinity, and those that
 * are released to be emptied or deleted themselves: nobody has their data any more. */
#ifndef BERTH_PLUGINS_RECLAIM_GUARD_H
#define BERTH_PLUGINS_RECLAIM_GUARD_H

#include "api/volume.h"
#include "host/guard.h"
#include "machinery/informer.h"

/* Of the process; borrowed. */
struct reclaim_rules {
    const struct guard_dirs *dirs; /* NULL for none */
    const char *node_name;         /* of the node agent in this process; NULL: there is none */
};

/* On the loop. ERR_DENIED and the words when the volume's data is not known to be on this machine. The guard
 * may go to a worker. Costs a look at every volume of the cache. */
int reclaim_guard_new(const struct reclaim_rules *rules, const struct informer *volumes,
                      const struct informer *nodes, const struct volume *v, struct host_guard **ret,
                      struct error *err);

#endif
