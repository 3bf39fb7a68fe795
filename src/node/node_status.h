/* What the Node says of this machine: labels, annotations and status, beside what the server has of them.
 *
 * Pure: from facts to JSON. What others write into the Node (taints, attached volumes, conditions and
 * resources of other names) is not named and stays as it is. */
#ifndef BERTH_NODE_NODE_STATUS_H
#define BERTH_NODE_NODE_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "api/node.h"
#include "base/buf.h"
#include "node/machine.h"

#define NODE_PODS_MAX 110
/* True while something is mounted in a volume's place that belongs to no volume. Not there before that. */
#define NODE_UNKNOWN_MOUNTS "volumes.berth.io/unknown-mounts"
/* True while the agent has no right to mount. Not there before that. */
#define NODE_CANNOT_MOUNT "volumes.berth.io/cannot-mount"
/* True while a volume plugin of the node cannot be used. Not there before that. */
#define NODE_BROKEN_PLUGINS "volumes.berth.io/broken-plugins"

/* What is to stand there. */
struct node_wish {
    const char *name;
    const struct node_facts *facts;
    bool attaches_itself;
    const struct texts *in_use;   /* NULL: not known, the old value stays */
    const char *trouble;          /* why the node is not ready; NULL: it is */
    const struct amounts *limits; /* of volumes, by plugin (api/volume_limit.h); NULL: not known, the old
                                     ones stay */
    const char *unknown_mounts;   /* what is mounted and belongs to no volume; "": nothing; NULL: not known,
                                     the old condition stays */
    const char *cannot_mount;     /* why the agent cannot mount anything; NULL: it can */
    const char *broken_plugins;   /* which cannot be used, and why; NULL: none */
    struct timestamp now;
};

/* The body of a create: with what is in use from its first moment, or a controller could take that for
 * nothing. The rest of the status follows by itself. */
void node_write_new(const struct node_wish *w, struct buf *out);

/* The labels and annotations are as they should be. */
bool node_meta_is_right(const struct node_wish *w, const struct object *now);
/* A merge patch that makes them so. */
int node_write_meta_patch(const struct node_wish *w, const struct object *now, struct buf *out,
                          struct error *err);

/* What changes in the life of an agent is as it should be: readiness, what is in use, limits of volumes. */
bool node_state_is_right(const struct node_wish *w, const struct node *now);
/* What the machine is stands there as it should. */
bool node_facts_are_right(const struct node_wish *w, const struct node *now);
/* A strategic merge patch of the status: the conditions with a new heartbeat, and what else is not right. */
int node_write_status_patch(const struct node_wish *w, const struct node *now, struct buf *out,
                            struct error *err);

#endif
