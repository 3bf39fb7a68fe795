/* The node's lease, renewed every ten seconds as the node's heartbeat.
 *
 * Only this node should hold it: changes by other clients are overwritten. The lease is owned by the Node and
 * is deleted with it. */
#ifndef BERTH_NODE_NODE_LEASE_H
#define BERTH_NODE_NODE_LEASE_H

#include "base/cleanup.h"
#include "machinery/component_deps.h"

#define NODE_LEASE_NAMESPACE "kube-node-lease"
#define NODE_LEASE_SECONDS 40
#define NODE_LEASE_RENEW_NS (10 * NS_PER_S)

struct node_lease;

/* name: the node's; borrowed. */
int node_lease_new(const struct component_deps *o, const char *name, struct node_lease **ret,
                   struct error *err);
/* Sends nothing. Accepts NULL. */
struct node_lease *node_lease_free(struct node_lease *l);
DEFINE_CLEANUP(struct node_lease, node_lease_free)

/* The Node exists with this uid: starts renewing the lease. Idempotent for the same Node. */
void node_lease_keep(struct node_lease *l, const char *node_uid);
/* The Node was deleted: stops renewing, since the lease would be garbage-collected again. */
void node_lease_pause(struct node_lease *l);

#endif
