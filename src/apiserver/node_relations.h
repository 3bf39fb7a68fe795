/* The objects that a node uses: its pods, and through them claims, volumes, secrets, config maps, accounts.
 *
 * Costs a walk over the pods of a namespace; for the secrets of volumes over all pods. */
#ifndef BERTH_APISERVER_NODE_RELATIONS_H
#define BERTH_APISERVER_NODE_RELATIONS_H

#include <stdbool.h>

#include "api/json.h"
#include "api/kind.h"
#include "apiserver/access_lookup.h"
#include "base/str.h"

/* Whether the node uses the object: a pod that is bound to it; an attachment to it; a claim, secret, config
 * map or service account that one of its pods names; a volume bound to such a claim, and the secrets that the
 * volume names. Mirror pods count as pods of the node, but nothing that they name does. False for every other
 * kind. */
bool node_uses(const struct access_lookup *f, struct str node, enum kind kind, struct str ns,
               struct str name);

/* The pod; NULL when it does not exist. */
const struct pod *access_lookup_pod(const struct access_lookup *f, struct str ns, struct str name);

/* Whether the pod, as a tree, names a claim, secret, config map or service account; with name.s NULL any of
 * them. */
bool pod_names(const struct json *d, json_ref pod, enum kind kind, struct str name);

#endif
