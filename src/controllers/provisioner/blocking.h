/* Types of storage whose functions block: they run on workers, as jobs (io/job.h). */
#ifndef BERTH_CONTROLLERS_PROVISIONER_BLOCKING_H
#define BERTH_CONTROLLERS_PROVISIONER_BLOCKING_H

#include "api/uid.h"
#include "controllers/provisioner_type.h"
#include "host/remove.h"
#include "io/pool.h"
#include "plugins/reclaim_guard.h"

/* Which storage the volumes of a provisioner are on, for a type that checks this. Storage that is not the
 * right one now, or not there, is ERR_UNAVAILABLE: nothing is created or removed. */
struct storage_identity {
    char id[UID_BYTES]; /* found before by this process, "" for not yet; after success the one found now */
    /* The volumes that this provisioner has created, as the server knows them: collected only after a call
     * that failed and set needs_volumes. */
    struct object *const *volumes;
    size_t volumes_count;
    bool has_volumes;
    bool needs_volumes;
};

/* Both functions run on a worker, access only their arguments, and can be repeated. */
struct blocking_type {
    /* Makes the storage and writes the volume's source, as members of its spec: `"nfs":{…}`. On failure
     * *state, which is PROVISION_FINISHED before, says what is left, and ERR_INVALID that another try will
     * fail as well. */
    int (*provision)(const void *ctx, const struct provisioner_request *q, struct storage_identity *identity,
                     const host_stop *stop, struct buf *source, enum provision_state *state,
                     struct error *err);
    /* Removes the storage, unless the guard refuses; missing storage counts as removed. class: NULL if it
     * does not exist. */
    int (*remove)(const void *ctx, const struct volume *v, const struct storage_class *class,
                  const struct host_guard *guard, struct storage_identity *identity, const host_stop *stop,
                  struct error *err);
    /* The annotation of its volumes with the identity's id; NULL: it checks no identity. */
    const char *identity_annotation;
};

/* The ctx of blocking_provisioner_type. All of it is borrowed; ctx outlives the pool. */
struct blocking_provisioner {
    const struct blocking_type *type;
    const void *ctx;
    struct pool *pool;
    struct reclaim_rules reclaim;
    const char *name;                       /* of the provisioner, which its volumes record */
    const struct informer *volumes, *nodes; /* set by blocking_provisioner_caches() */
    char identity[UID_BYTES];               /* of the storage, as found last; "": not yet */
};

/* Requests the caches of the guard: before the informers start. */
int blocking_provisioner_caches(struct blocking_provisioner *b, struct informers *all, struct error *err);

extern const struct provisioner_type blocking_provisioner_type;

#endif
