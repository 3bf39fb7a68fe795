/* Assumptions: volumes and claims as they will be when the writes of pods that are being bound are done.
 *
 * An assumption holds as long as the cache has the version that it was made on: any other version shows the
 * result of the write. It belongs to the pod that made it. */
#ifndef BERTH_SCHEDULER_ASSUME_H
#define BERTH_SCHEDULER_ASSUME_H

#include "api/claim.h"
#include "api/volume.h"
#include "base/map.h"

struct assumed {
    struct map volumes;  /* by the volume's name */
    struct map by_claim; /* the same by the claim's uid */
    struct map claims;   /* by the claim's uid */
};

struct assumed_volume {
    const struct volume *volume; /* the version assumed on; a reference */
    char *claim_uid;
    char *pod_uid;
};

struct assumed_claim {
    const struct claim *claim; /* the version assumed on; a reference */
    char *node;
    char *pod_uid;
};

void assumed_init(struct assumed *a, struct hash_seed seed);
void assumed_done(struct assumed *a);

/* Assumes that the volume will be bound to the claim. -ERR_BUSY when it is assumed already, -ERR_NO_MEMORY.
 */
int assume_volume(struct assumed *a, const struct volume *v, const char *claim_uid, const char *pod_uid);
/* Assumes that the claim will be provisioned for the node. Errors as above. */
int assume_claim(struct assumed *a, const struct claim *c, const char *node, const char *pod_uid);

/* NULL for none. */
const struct assumed_volume *assumed_volume(const struct assumed *a, const char *name);
const struct assumed_volume *assumed_volume_of(const struct assumed *a, const char *claim_uid);
const struct assumed_claim *assumed_claim(const struct assumed *a, const char *claim_uid);

/* The cache has this version now: ends an assumption that was made on another one. True when there was one.
 */
bool assumed_observe_volume(struct assumed *a, const struct volume *v);
bool assumed_observe_claim(struct assumed *a, const struct claim *c);
/* Ends the assumption if this pod made it. True when there was one. */
bool assumed_release_volume(struct assumed *a, const char *name, const char *pod_uid);
bool assumed_release_claim(struct assumed *a, const char *claim_uid, const char *pod_uid);

/* NULL when every assumption is in all indexes, otherwise a description of the error. For the simulator, as
 * all checks that return text. */
const char *assumed_check(const struct assumed *a);

#endif
