/* Conditions for emptying or removing the storage of a volume, for every deleter and recycler.
 *
 * The data must be on this machine: a volume with a node affinity is only reclaimed by a process whose node
 * matches it. The worker checks the rest, with the descriptor it works on: host/guard.h. It gets all other
 * cached volumes, except those on other machines by their affinity, and those that are released to be deleted
 * or recycled themselves, because their data is no longer needed. */
#ifndef BERTH_PLUGINS_RECLAIM_GUARD_H
#define BERTH_PLUGINS_RECLAIM_GUARD_H

#include "api/volume.h"
#include "host/guard.h"
#include "machinery/api_write.h"
#include "machinery/informer.h"

/* Of the process; borrowed. */
struct reclaim_rules {
    const struct guard_dirs *dirs; /* NULL for none */
    const char *node_name;         /* of the node agent in this process; NULL: none */
};

/* Released and to be deleted. finalizer: of the caller; a volume whose object is being deleted is due as long
 * as it has it. NULL: it is not. */
bool reclaim_is_due(const struct volume *v, const char *finalizer);
/* The last checks before storage is destroyed, against the server instead of a cache. The volume must still
 * exist with the same uid and be due; then its claim must be gone, or replaced by another of the same name.
 * Both take the answer to a get; if something cannot be determined, the result is an error with the reason.
 */
int reclaim_check_volume(const struct client_answer *a, const struct object *seen, const char *finalizer,
                         struct error *err);
int reclaim_check_claim(const struct client_answer *a, const struct volume *v, struct error *err);

/* The cache of volumes, with the index of the guard. NULL without memory. */
struct informer *reclaim_volumes(struct informers *all, struct error *err);

/* On the loop. ERR_DENIED with a reason if the volume's data is not known to be on this machine. The guard
 * may be passed to a worker. volumes is reclaim_volumes(). Costs: visits every volume with a path on this
 * machine and, for a volume of a file server, every other volume of that server: a millisecond for 10,000. */
int reclaim_guard_new(const struct reclaim_rules *rules, const struct informer *volumes,
                      const struct informer *nodes, const struct volume *v, struct host_guard **ret,
                      struct error *err);

#endif
