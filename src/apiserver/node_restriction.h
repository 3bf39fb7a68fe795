/* Admission of writes of nodes: only their own node, pods, leases and drivers, and nothing that would extend
 * a node's access. Other users are not affected.
 *
 * The roles (roles.h) decide which kinds a node may access; the contents of the objects are checked here. */
#ifndef BERTH_APISERVER_NODE_RESTRICTION_H
#define BERTH_APISERVER_NODE_RESTRICTION_H

#include "api/json.h"
#include "api/object.h"
#include "apiserver/access_lookup.h"
#include "apiserver/authorize.h"
#include "base/error.h"

/* One write. A patch is checked as the update that results from it. */
struct restricted_write {
    const struct access *access;
    const struct kind_info *kind;
    const struct object *old; /* NULL for a creation */
    struct json *d;           /* the old object is parsed into it too */
    json_ref object;          /* as it would be stored; the body of a subresource; 0 for a deletion */
};

/* The part that depends only on the old object. Checked first: the errors of a patch that does not apply and
 * of failed preconditions reveal the stored object. w->object is not read. 0, or ERR_DENIED as below. */
int node_restriction_target(const struct user *u, const struct restricted_write *w, struct error *err);

/* 0, or ERR_DENIED with the whole message of the response. */
int node_restriction(const struct user *u, const struct restricted_write *w, const struct access_lookup *f,
                     struct error *err);

/* The same for PersistentVolumes written by CSI sidecars (group berth:csi, except members of system:masters).
 *
 * A volume with another source can name any directory of the machine that recycles or deletes it. Therefore
 * the group can only create volumes with a csi source, cannot set the reclaim policy Recycle, and cannot
 * change the claim or the reclaim policy of volumes with other sources. That sources are immutable is
 * validated for every user (volume.c). */
int csi_restriction(const struct user *u, const struct restricted_write *w, struct error *err);

/* The same for the CSI controllers of a node (berth:csi-node:NAME, except members of system:masters): volumes
 * whose affinity names the node, for claims whose selected node it is; of claims only the selected node; the
 * node's own capacity objects and records of calls. */
int csi_node_restriction(const struct user *u, const struct restricted_write *w,
                         const struct access_lookup *f, struct error *err);

#endif
