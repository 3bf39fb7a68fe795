/* Framework for provisioners in this process: creates volumes for claims whose class names the provisioner,
 * and deletes released volumes that it created, with their storage.
 *
 * A provisioner type has two blocking functions, which create and delete storage on the pool. The framework
 * does the rest: it selects claims and volumes, creates and deletes objects, records events and retries.
 * After fifteen failures an object is retried at the next resync.
 *
 * Storage is created before its PersistentVolume, under a name derived from the claim, so that a retry after
 * a crash in between finds it. Storage is deleted only after a last check against the server. */
#ifndef BERTH_CONTROLLERS_PROVISIONER_PROVISIONER_H
#define BERTH_CONTROLLERS_PROVISIONER_PROVISIONER_H

#include "api/claim.h"
#include "api/class.h"
#include "api/node.h"
#include "api/volume.h"
#include "host/remove.h"
#include "io/pool.h"
#include "machinery/component_deps.h"
#include "plugins/reclaim_guard.h"

/* The state after a try. */
enum provision_state {
    PROVISION_FINISHED,      /* done, or nothing was created */
    PROVISION_IN_BACKGROUND, /* may be in progress: repeated until the result is known, claim or not */
    PROVISION_NO_CHANGE,     /* unchanged */
    PROVISION_RESCHEDULE,    /* failed, and impossible on this node: the scheduler must select another */
};

struct provision_job {
    const char *volume_name;
    const struct claim *claim;
    const struct storage_class *class;
    const struct node *node; /* selected; NULL for none */
};

/* Both functions run on a worker, use only their arguments, and are idempotent. */
struct provisioner_type {
    /* Creates the storage and writes the volume's source, as members of its spec: `"nfs":{…}`. After a
     * failure *state (initially PROVISION_FINISHED) says what is left; ERR_INVALID means that a retry would
     * fail too. */
    int (*provision)(const void *ctx, const struct provision_job *q, const host_stop *stop,
                     struct buf *source, enum provision_state *state, struct error *err);
    /* Deletes it, unless the guard refuses; missing storage is not an error. class: NULL if it does not
     * exist. */
    int (*remove)(const void *ctx, const struct volume *v, const struct storage_class *class,
                  const struct host_guard *guard, const host_stop *stop, struct error *err);
    /* An error code that ends a provision or removal without an event and without a retry. */
#define PROVISIONER_IGNORED ERR_OP_PENDING
};

struct provisioner_options {
    struct component_deps part;
    struct pool *pool;
    const struct provisioner_type *type;
    const void *ctx;  /* for the type; must outlive the pool */
    const char *name; /* as classes name it; borrowed */
    struct reclaim_rules reclaim;
};

struct provisioner;

int provisioner_new(const struct provisioner_options *o, struct provisioner **ret, struct error *err);
void provisioner_start(struct provisioner *p);
/* NULL if the state in memory is consistent, else what is wrong. For the simulator. */
const char *provisioner_check(const struct provisioner *p);
struct provisioner *provisioner_free(struct provisioner *p);
DEFINE_CLEANUP(struct provisioner, provisioner_free)

#endif
