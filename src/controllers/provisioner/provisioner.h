/* What provisioners outside the binder have in common, run in this process: claims that name one of them get
 * a volume, and released volumes that it made go, with their storage.
 *
 * Making and removing storage are blocking functions on the pool; all the rest is here: which claims and
 * volumes are its own, the volume's object, events, and how often what failed is tried again. After fifteen
 * failures an item waits for the next resync.
 *
 * Storage is made before its volume is saved, under a name that follows from the claim, so that a crash
 * between the two is made good by the next try. Storage is removed after a last look at the server. */
#ifndef BERTH_CONTROLLERS_PROVISIONER_PROVISIONER_H
#define BERTH_CONTROLLERS_PROVISIONER_PROVISIONER_H

#include "api/claim.h"
#include "api/class.h"
#include "api/node.h"
#include "api/uid.h"
#include "api/volume.h"
#include "host/remove.h"
#include "io/pool.h"
#include "machinery/component_deps.h"
#include "plugins/reclaim_guard.h"

/* How a try left things. */
enum provision_state {
    PROVISION_FINISHED,      /* it is over: made, or nothing of it is there */
    PROVISION_IN_BACKGROUND, /* it may still be going on: asked again until it is known, claim or no claim */
    PROVISION_NO_CHANGE,     /* whatever it was before */
    PROVISION_RESCHEDULE,    /* over, and not to be had on that node: the scheduler is to choose another */
};

/* Which storage the volumes of a provisioner are on, for a type that checks this. Storage that is not the
 * right one now, or not there, is ERR_UNAVAILABLE: nothing is made or removed. */
struct storage_identity {
    char id[UID_BYTES]; /* found before by this process, "" for not yet; after success the one found now */
    /* The volumes that this provisioner has made, as the server knows them: collected only after a call that
     * failed and set needs_volumes. */
    struct object *const *volumes;
    size_t volumes_count;
    bool has_volumes;
    bool needs_volumes;
};

struct provision_job {
    const char *volume_name;
    const struct claim *claim;
    const struct storage_class *class;
    const struct node *node; /* selected; NULL for none */
    struct storage_identity *identity;
};

/* Both functions run on a worker, see their arguments and nothing else, and can be repeated. */
struct provisioner_type {
    /* Makes the storage and writes the volume's source, as members of its spec: `"nfs":{…}`. Of a failure
     * *state, which is PROVISION_FINISHED before, says what is left, and ERR_INVALID that another try will
     * fare no better. */
    int (*provision)(const void *ctx, const struct provision_job *q, const host_stop *stop,
                     struct buf *source, enum provision_state *state, struct error *err);
    /* Removes it, unless the guard refuses; what is not there is done. class: NULL when there is none of that
     * name. */
    int (*remove)(const void *ctx, const struct volume *v, const struct storage_class *class,
                  const struct host_guard *guard, struct storage_identity *identity, const host_stop *stop,
                  struct error *err);
    /* The annotation of its volumes with the identity's id; NULL: it checks no identity. */
    const char *identity_annotation;
    /* What is told by none: of a provision and of a removal. */
#define PROVISIONER_IGNORED ERR_OP_PENDING
};

struct provisioner_options {
    struct component_deps part;
    struct pool *pool;
    const struct provisioner_type *type;
    const void *ctx;  /* the type's; outlives the pool */
    const char *name; /* of classes' provisioner; borrowed */
    struct reclaim_rules reclaim;
};

struct provisioner;

int provisioner_new(const struct provisioner_options *o, struct provisioner **ret, struct error *err);
void provisioner_start(struct provisioner *p);
/* NULL when what it has in memory fits together, else what does not. For the simulator. */
const char *provisioner_check(const struct provisioner *p);
struct provisioner *provisioner_free(struct provisioner *p);
DEFINE_CLEANUP(struct provisioner, provisioner_free)

#endif
