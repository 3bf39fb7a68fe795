/* An index of volumes: finds the volume for a claim without visiting all volumes.
 *
 * Free volumes (no claim, Available, not being deleted) are in one ordered map per (access modes, class,
 * volume mode, attributes class), by exact capacity and name. Every user owns an index of one of two kinds:
 *
 * - volume_index_new(), for the binder and for explanations of its decisions. A match is a lower bound in the
 *   maps whose modes include the requested ones, fewest modes first; with a selector the search walks up from
 *   there. Volumes that are reserved for a claim, in any phase, are found by the claim's key. All other
 *   volumes, bound or released, cost nothing.
 * - volume_index_new_by_node(), for the scheduler. It has only free volumes; those whose node affinity names
 *   label values, such as kubernetes.io/hostname In [n1], are found by these values. A search on a node costs
 *   O(log n) of the node's own volumes and of those tied to no node, and one step for each that is large
 *   enough but rejected.
 *
 * In an index of the first kind a volume that was chosen for a claim is held: removed from the free volumes,
 * in memory, from the decision until the write of its claimRef was answered, or until the claim decides
 * again. A claim whose best match has another write in flight also holds that volume until the write ends:
 * the next claim gets another volume, or none. So no volume is the match of two claims in one process;
 * between processes the precondition of the write decides. The scheduler keeps its assumptions itself and
 * passes them to a search. */
#ifndef BERTH_VOLUMES_INDEX_H
#define BERTH_VOLUMES_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/siphash.h"
#include "volumes/match.h"

struct volume_index;

int volume_index_new(struct hash_seed seed, struct volume_index **ret, struct error *err);
int volume_index_new_by_node(struct hash_seed seed, struct volume_index **ret, struct error *err);
struct volume_index *volume_index_free(struct volume_index *index);
DEFINE_CLEANUP(struct volume_index, volume_index_free)

/* Adds the volume or replaces the one of the same name. Takes a reference. A hold stays until it is released.
 * Fails only with -ERR_NO_MEMORY, and changes nothing then. An index by node removes a volume that is not
 * free, and leaves out one for which there is no memory. */
int volume_index_put(struct volume_index *index, const struct volume *v, struct error *err);
void volume_index_remove(struct volume_index *index, const char *name);
/* NULL when the name is not indexed. */
const struct volume *volume_index_get(const struct volume_index *index, const char *name);
size_t volume_index_count(const struct volume_index *index);
/* Number of volumes that are free and not held. */
size_t volume_index_free_count(const struct volume_index *index);
/* NULL when the name is not indexed, not free, or held. */
const struct volume *volume_index_get_free(const struct volume_index *index, const char *name);

/* Whether the volume counts as Available while its phase is another: the write of Available is in flight or
 * will follow. Has no effect on a volume that is not indexed, has a claim or is being deleted. Never fails.
 */
void volume_index_expect(struct volume_index *index, const char *name, bool is_expected);

/* The volume that the stock binder would choose for the claim, ties by name; *ret is NULL when there is none.
 * Fails with ERR_INVALID for a selector that cannot be evaluated, if there is a volume to evaluate it for.
 * Reads is_delayed and awaits_class of the options. A claim with a data source gets only volumes that are
 * reserved for it. Volumes that are held for other claims are left out; one held for this claim (by uid)
 * counts as reserved for it. */
int volume_index_match(const struct volume_index *index, const struct claim *c, const struct match_options *o,
                       const struct volume **ret, struct error *err);

/* Holds the volume for the claim until volume_index_release(), or until the volume is removed. Holding it
 * again for the same claim has no effect. -ERR_BUSY when it is held for another claim, -ERR_NOT_FOUND,
 * -ERR_NO_MEMORY; nothing changes then. */
int volume_index_hold(struct volume_index *index, const char *name, const char *claim_uid);
/* Ends the hold for that claim; NULL: for any claim. Never fails; other holds stay. */
void volume_index_release(struct volume_index *index, const char *name, const char *claim_uid);

/* --- The invariant --- */

/* Whether the hold still has an owner that will end it. */
typedef bool volume_hold_is_owned_fn(void *ctx, const struct volume *v, struct str claim_uid);

/* NULL when every volume is in its place, all links lead both ways, all counts agree and every hold has an
 * owner (is_owned NULL: not checked); otherwise a description of the error. Visits all volumes; for the
 * simulator. */
const char *volume_index_check(const struct volume_index *index, volume_hold_is_owned_fn *is_owned,
                               void *ctx);
/* Only the part that depends on others: every hold has its owner. */
const char *volume_index_check_holds(const struct volume_index *index, volume_hold_is_owned_fn *is_owned,
                                     void *ctx);
/* Increases with each call that may change the index: a check at the same number would find the same. */
uint64_t volume_index_changes(const struct volume_index *index);

/* --- By node --- */

/* Volumes that must not be taken: assumed for other pods, or chosen for another claim of the same pod. */
typedef bool volume_is_taken_fn(void *ctx, const struct volume *v);

/* The smallest free volume for a claim whose class waits for its consumer, on a node with these labels; ties
 * by name. NULL for none, and for a claim with a data source. */
const struct volume *volume_index_find_on_node(const struct volume_index *index, const struct claim *c,
                                               const struct kvs *node_labels, volume_is_taken_fn *is_taken,
                                               void *ctx);

#endif
