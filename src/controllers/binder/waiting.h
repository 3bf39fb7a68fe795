/* Claims that wait for a volume, and the selection of the claim that a free volume wakes.
 *
 * A free volume wakes the claim with the largest request that it can serve, among the claims with its class,
 * volume mode and attributes class. Costs: O(log n), and one step for each claim that only its selector or
 * access modes exclude. A woken claim is not a candidate until it waits again, so that N volumes wake N
 * claims. */
#ifndef BERTH_CONTROLLERS_BINDER_WAITING_H
#define BERTH_CONTROLLERS_BINDER_WAITING_H

#include <stddef.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/siphash.h"
#include "volumes/match.h"

struct waiting_claims;

int waiting_new(struct hash_seed seed, struct waiting_claims **ret, struct error *err);
struct waiting_claims *waiting_free(struct waiting_claims *w);
DEFINE_CLEANUP(struct waiting_claims, waiting_free)

/* Which free volumes wake a claim. */
enum wants {
    WANTS_NO_VOLUME, /* claims of delayed classes: none */
    WANTS_UNPINNED,  /* volumes without node affinity */
    WANTS_ANY,
};

/* The claim waits in its current version. Takes a reference. Without memory the process exits, because a
 * forgotten claim would wait forever. */
void waiting_put(struct waiting_claims *w, const struct claim *c, enum wants wants);
void waiting_remove(struct waiting_claims *w, const char *ns, const char *name);
size_t waiting_count(const struct waiting_claims *w);
/* NULL if the maps are consistent, else what is wrong. */
const char *waiting_check(const struct waiting_claims *w);

/* The claim to wake for a free volume; NULL: none. The claim leaves its bucket. */
const struct claim *waiting_wake(struct waiting_claims *w, const struct volume *v);

/* Calls fn for all waiting claims with this class or without a class, in key order. */
typedef void waiting_fn(void *ctx, const struct claim *c);
void waiting_each_of_class(const struct waiting_claims *w, const char *class, waiting_fn *fn, void *ctx);

#endif
