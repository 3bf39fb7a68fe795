/* An index of volumes: the volume for a claim without looking at all of them.
 *
 * Free volumes (no claim, Available, not being deleted) are in one ordered map for each (access modes, class,
 * volume mode, attributes class), by exact capacity and name. Every user owns an index of one of two kinds:
 *
 * - volume_index_new(), for the binder and for explanations of what it does. A match is a lower bound in the
 *   maps whose modes include those asked for, fewest modes first; with a selector it walks up from there.
 *   Volumes that are reserved for a claim, in whatever phase, are found by the claim's key. All other
 * volumes, bound or released, cost nothing.
 * - volume_index_new_by_node(), for the scheduler. It has only free volumes; those whose node affinity names
 *   label values, such as kubernetes.io/hostname In [n1], are found by these values. A search on a node costs
 *   O(log n) of the node's own volumes and of those tied to no node, and one step for each that is large
 *   enough and yet refused.
 *
 * In an index of the first kind a volume that was chosen for a claim is held: taken out of the free ones, in
 * memory, from the decision until the write of its claimRef was answered, or until the claim decides again. A
 * claim whose best match has another write in flight holds it as well until that write ends: the next claim
 * gets another volume, or none. So no volume is the match of two claims in one process; between processes the
 * precondition of the write decides. The scheduler keeps its assumptions itself and passes them to a search.
 */
#ifndef BERTH_VOLUMES_INDEX_H
#define BERTH_VOLUMES_INDEX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/siphash.h"
#include "volumes/match.h"

struct volume_index;

int volume_index_new(struct hash_seed seed, struct volume_index **ret, struct error *err);
int volume_index_new_by_node(struct hash_seed seed, struct volume_index **ret, struct error *err);
struct volume_index *volume_index_free(struct volume_index *x);
DEFINE_CLEANUP(struct volume_index, volume_index_free)

/* The volume is now this, whatever the index had of that name. Takes a reference. A hold stays until it is
 * released. Fails only without memory, and changes nothing then.
 * In an index by node one that is not free is only removed, and one that there is no memory for is absent. */
int volume_index_put(struct volume_index *x, const struct volume *v, struct error *err);
void volume_index_remove(struct volume_index *x, const char *name);
/* What it has of that name; NULL. */
const struct volume *volume_index_get(const struct volume_index *x, const char *name);
size_t volume_index_count(const struct volume_index *x);
/* Free and not held. */
size_t volume_index_free_count(const struct volume_index *x);
/* What it has of that name, if it is free and not held; NULL. */
const struct volume *volume_index_get_free(const struct volume_index *x, const char *name);

/* Whether the volume counts as Available while its phase is another: the write of Available is in flight or
 * will follow. Nothing for a volume that is not there, has a claim or is being deleted. Never fails. */
void volume_index_expect(struct volume_index *x, const char *name, bool is_expected);

/* The one for the claim, as the stock binder would choose, ties by name; *ret NULL when there is none. Fails
 * with ERR_INVALID for a selector that cannot be evaluated, where there is a volume to ask it of.
 * Of the options is_delayed and awaits_class count. A claim with a data source gets only what is reserved
 * for it. Volumes that are held for other claims are left out; one held for this claim (by uid) counts as
 * reserved for it.
 */
int volume_index_match(const struct volume_index *x, const struct claim *c, const struct match_options *o,
                       const struct volume **ret, struct error *err);

/* From the decision on; until volume_index_release(), or the volume is removed. Again for the same claim it
 * is nothing new. -ERR_BUSY when it is held for another, -ERR_NOT_FOUND when there is none, -ERR_NO_MEMORY:
 * nothing changes. */
int volume_index_hold(struct volume_index *x, const char *name, const char *claim_uid);
/* Ends the hold for that claim; NULL: for any claim. Never fails; any other hold stays. */
void volume_index_release(struct volume_index *x, const char *name, const char *claim_uid);

/* --- By node --- */

/* What must not be taken: assumed for others, or chosen for another claim of the same pod. */
typedef bool volume_is_taken_fn(void *ctx, const struct volume *v);

/* The smallest free volume for a claim of a class that waits for its consumer, on a node of these labels;
 * ties by name. NULL for none, and for a claim with a data source. */
const struct volume *volume_index_find_on_node(const struct volume_index *x, const struct claim *c,
                                               const struct kvs *node_labels, volume_is_taken_fn *is_taken,
                                               void *ctx);

#endif
