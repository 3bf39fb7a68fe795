/* Types of storage whose functions block: they run on workers, as jobs (io/job.h). */
#ifndef BERTH_CONTROLLERS_PROVISIONER_BLOCKING_H
#define BERTH_CONTROLLERS_PROVISIONER_BLOCKING_H

#include "controllers/provisioner_type.h"
#include "host/remove.h"
#include "io/pool.h"
#include "plugins/reclaim_guard.h"

/* Both functions run on a worker, access only their arguments, and can be repeated. */
struct blocking_type {
    /* Makes the storage and writes the volume's source, as members of its spec: `"nfs":{…}`. On failure
     * *state, which is PROVISION_FINISHED before, says what is left, and ERR_INVALID that another try will
     * fail as well. */
    int (*provision)(const void *ctx, const struct provisioner_request *q, const host_stop *stop,
                     struct buf *source, enum provision_state *state, struct error *err);
    /* Removes the storage, unless the guard refuses; missing storage counts as removed. class: NULL if it
     * does not exist. */
    int (*remove)(const void *ctx, const struct volume *v, const struct storage_class *class,
                  const struct host_guard *guard, const host_stop *stop, struct error *err);
};

/* The ctx of blocking_provisioner_type. All of it is borrowed; ctx outlives the pool. */
struct blocking_provisioner {
    const struct blocking_type *type;
    const void *ctx;
    struct pool *pool;
    struct reclaim_rules reclaim;
    const struct informer *volumes, *nodes; /* set by blocking_provisioner_caches() */
};

/* Requests the caches of the guard: before the informers start. */
int blocking_provisioner_caches(struct blocking_provisioner *b, struct informers *all, struct error *err);

extern const struct provisioner_type blocking_provisioner_type;

#endif
