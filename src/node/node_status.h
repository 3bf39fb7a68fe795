/* Labels, annotations and status of this machine's Node, compared with the server's version.
 *
 * Pure: machine information to JSON. Fields that other components write (taints, attached volumes, conditions
 * and resources with other names) are not in the patches and stay unchanged. */
#ifndef BERTH_NODE_NODE_STATUS_H
#define BERTH_NODE_NODE_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "api/node.h"
#include "base/buf.h"
#include "node/machine_info.h"

#define NODE_PODS_MAX 110
/* True while a mount in a volume's directory belongs to no volume. Absent until it was True once. */
#define NODE_UNKNOWN_MOUNTS "volumes.berth.io/unknown-mounts"
/* True while the agent is not permitted to mount. Absent until it was True once. */
#define NODE_CANNOT_MOUNT "volumes.berth.io/cannot-mount"
/* True while a volume plugin of the node is unusable. Absent until it was True once. */
#define NODE_BROKEN_PLUGINS "volumes.berth.io/broken-plugins"

/* The desired labels, annotations and status. */
struct desired_node {
    const char *name;
    const struct machine_info *facts;
    bool attaches_itself;
    const struct texts *in_use;   /* NULL: unknown, keeps the old value */
    const char *not_ready_reason; /* why the node is not ready; NULL: it is */
    bool is_starting;             /* not ready yet after a restart: a condition Ready that is True stays */
    const struct amounts *limits; /* of volumes, by plugin (api/volume_limit.h); NULL: not known, the old
                                     ones stay */
    const char *unknown_mounts;   /* mounts without a volume; "": none; NULL: unknown, keeps the condition */
    const char *cannot_mount;     /* why the agent cannot mount; NULL: it can */
    const char *broken_plugins;   /* the unusable plugins with reasons; NULL: none */
    struct timestamp now;
};

/* The body of a create request. It includes volumesInUse, since a controller would take a missing list for an
 * empty one. The rest of the status follows in a patch. */
void node_write_new(const struct desired_node *w, struct buf *out);

/* True when labels and annotations are as desired. */
bool node_meta_is_current(const struct desired_node *w, const struct object *now);
/* A merge patch that sets them. */
int node_write_meta_patch(const struct desired_node *w, const struct object *now, struct buf *out,
                          struct error *err);

/* True when the agent's state is as desired: readiness, volumesInUse, volume limits. */
bool node_state_is_current(const struct desired_node *w, const struct node *now);
/* True when the machine information is as desired. */
bool node_info_is_current(const struct desired_node *w, const struct node *now);
/* A strategic merge patch of the status: the conditions with a new heartbeat, and everything that differs. */
int node_write_status_patch(const struct desired_node *w, const struct node *now, struct buf *out,
                            struct error *err);

#endif
