/* The node's lease: renewed each ten seconds, it says that the node lives.
 *
 * Nobody else is to hold it: whoever wrote into it is overwritten. It belongs to the Node and goes with it.
 */
#ifndef BERTH_NODE_NODE_LEASE_H
#define BERTH_NODE_NODE_LEASE_H

#include "base/cleanup.h"
#include "machinery/parts.h"

#define NODE_LEASE_NAMESPACE "kube-node-lease"
#define NODE_LEASE_SECONDS 40
#define NODE_LEASE_RENEW_NS (10 * NS_PER_S)

struct node_lease;

/* name: the node's; borrowed. */
int node_lease_new(const struct part_options *o, const char *name, struct node_lease **ret,
                   struct error *err);
/* Sends nothing. Takes NULL. */
struct node_lease *node_lease_free(struct node_lease *l);
DEFINE_CLEANUP(struct node_lease, node_lease_free)

/* The Node is there, under this uid: from now on the lease is renewed. A second call for the same Node does
 * nothing. */
void node_lease_keep(struct node_lease *l, const char *node_uid);
/* The Node is gone: its lease would go with it again and again. */
void node_lease_pause(struct node_lease *l);

#endif
