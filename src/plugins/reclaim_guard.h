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
#include "machinery/write.h"

/* Of the process; borrowed. */
struct reclaim_rules {
    const struct guard_dirs *dirs; /* NULL for none */
    const char *node_name;         /* of the node agent in this process; NULL: there is none */
};

/* Released, and to be deleted. */
bool reclaim_is_to_go(const struct volume *v);
/* The last look before what a volume stands for is destroyed: at the server, not at a cache. The volume must
 * still be there, the same by uid, and to go; then the claim that had it must be gone, or be another by that
 * name. Both take the answer to a get; anything that cannot be learnt counts against it: an error says why.
 */
int reclaim_check_volume(const struct client_answer *a, const struct object *seen, struct error *err);
int reclaim_check_claim(const struct client_answer *a, const struct volume *v, struct error *err);

/* The cache of volumes, with the index that the guard needs. NULL without memory. */
struct informer *reclaim_volumes(struct informers *all, struct error *err);

/* On the loop. ERR_DENIED and the words when the volume's data is not known to be on this machine. The guard
 * may go to a worker. volumes is reclaim_volumes(). Costs a look at every volume with a path of this machine
 * and, for one of a file server, at every other volume of that server: a millisecond for 10,000. */
int reclaim_guard_new(const struct reclaim_rules *rules, const struct informer *volumes,
                      const struct informer *nodes, const struct volume *v, struct host_guard **ret,
                      struct error *err);

#endif
