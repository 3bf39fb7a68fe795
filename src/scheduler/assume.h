/* Promises: volumes and claims as they will be once the writes of pods on their way are done.
 *
 * A promise holds as long as the cache has the version that it was made on: any other version tells what
 * became of it. It belongs to the pod that made it. */
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
    const struct volume *volume; /* as it was; a reference */
    char *claim_uid;
    char *pod_uid;
};

struct assumed_claim {
    const struct claim *claim; /* as it was; a reference */
    char *node;
    char *pod_uid;
};

void assumed_init(struct assumed *a, struct hash_seed seed);
void assumed_done(struct assumed *a);

/* The volume will be the claim's. -ERR_BUSY when it is promised, -ERR_NO_MEMORY. */
int assume_volume(struct assumed *a, const struct volume *v, const char *claim_uid, const char *pod_uid);
/* The claim will be provisioned for the node. The same. */
int assume_claim(struct assumed *a, const struct claim *c, const char *node, const char *pod_uid);

/* NULL for none. */
const struct assumed_volume *assumed_volume(const struct assumed *a, const char *name);
const struct assumed_volume *assumed_volume_of(const struct assumed *a, const char *claim_uid);
const struct assumed_claim *assumed_claim(const struct assumed *a, const char *claim_uid);

/* The cache has this now: a promise on another version is over. True when there was one. */
bool assumed_see_volume(struct assumed *a, const struct volume *v);
bool assumed_see_claim(struct assumed *a, const struct claim *c);
/* Gives back what this pod was promised of it; nothing of others. True when there was one. */
bool assumed_restore_volume(struct assumed *a, const char *name, const char *pod_uid);
bool assumed_restore_claim(struct assumed *a, const char *claim_uid, const char *pod_uid);

#endif
