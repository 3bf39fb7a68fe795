/* Claims that wait for a volume, and which of them a volume that became free can help.
 *
 * By (class, volume mode, attributes class), in each the claims by what they ask for: a free volume wakes the
 * claim with the largest request that it can serve. O(log n), and a step for each claim that only a selector
 * or its access modes refuse. A claim that was woken is no candidate before it has looked and waits again: so
 * many volumes wake so many claims. */
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
    WANTS_NO_VOLUME, /* as those of delayed classes: all but that */
    WANTS_UNPINNED,  /* those without node affinity */
    WANTS_ANY,
};

/* The claim waits, as it is now. Takes a reference. Without memory the process ends: a claim that is
 * forgotten would wait for ever. */
void waiting_put(struct waiting_claims *w, const struct claim *c, enum wants wants);
void waiting_remove(struct waiting_claims *w, const char *ns, const char *name);
size_t waiting_count(const struct waiting_claims *w);
/* NULL when every claim is found in all the ways there are, else what is wrong. */
const char *waiting_check(const struct waiting_claims *w);

/* The claim to wake for a volume that is free; NULL for none. It is given once. */
const struct claim *waiting_wake(struct waiting_claims *w, const struct volume *v);

/* All that wait with this class, and all that have none; in the order of their keys. */
typedef void waiting_fn(void *ctx, const struct claim *c);
void waiting_each_of_class(const struct waiting_claims *w, const char *class, waiting_fn *fn, void *ctx);

#endif
