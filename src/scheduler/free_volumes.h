/* Free volumes by the nodes that can reach them: the smallest for a claim on a node without looking at the
 * volumes of other nodes.
 *
 * A volume whose node affinity names label values, such as kubernetes.io/hostname In [n1], is kept under
 * those values; any other volume is looked at for every node. Under one value, as under none, volumes are in
 * the order of size and name. What is found there is still asked all rules (volumes/match.h): the places only
 * leave out what cannot match. So a search costs O(log n) of the node's own volumes and of those tied to no
 * node, and one step for each that is large enough and yet refused. */
#ifndef BERTH_SCHEDULER_FREE_VOLUMES_H
#define BERTH_SCHEDULER_FREE_VOLUMES_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/siphash.h"
#include "volumes/match.h"

struct free_volumes;

struct free_volumes *free_volumes_new(struct hash_seed seed);
struct free_volumes *free_volumes_free(struct free_volumes *f);
DEFINE_CLEANUP(struct free_volumes, free_volumes_free)

/* The volume is now this; one that is not free is only forgotten. Fails without memory: it is not found then.
 */
int free_volumes_put(struct free_volumes *f, const struct volume *v);
void free_volumes_remove(struct free_volumes *f, const char *name);

/* Free volumes of the class; for scoring and messages. */
bool free_volumes_has_class(const struct free_volumes *f, const char *class);

/* What must not be taken: promised to others, or chosen for another claim of the same pod. */
typedef bool volume_is_taken_fn(void *ctx, const struct volume *v);

/* The smallest free volume for a claim of a class that waits for its consumer, on a node of these labels;
 * ties by name. NULL for none, and for a claim with a data source. */
const struct volume *free_volumes_find(const struct free_volumes *f, const struct claim *c,
                                       const struct kvs *node_labels, volume_is_taken_fn *is_taken,
                                       void *ctx);

#endif
