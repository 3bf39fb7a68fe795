/* The settings of the node agent, as flags of `berth node` and of `berth serve`. */
#ifndef BERTH_CLI_NODE_FLAGS_H
#define BERTH_CLI_NODE_FLAGS_H

#include <stdint.h>

#include "cli/flags.h"
#include "daemon/settings.h"

#define NODE_GROUP "This node"
#define NODE_FLAG(type, field, name, value, help) FLAG_IN(NODE_GROUP, type, node.field, name, value, help)
/* All but the name and the root, whose defaults differ. type: a struct with a `struct node_flags node`. */
#define NODE_FLAGS(type)                                                                                  \
    NODE_FLAG(type, hook, "pod-hook", "CMD",                                                              \
              "a command that runs pods: called with setup and teardown, the pod on its standard input"), \
        NODE_FLAG(type, static_pods, "static-pods", "DIR",                                                \
                  "a directory of manifests: each is a pod of this "                                      \
                  "node"),                                                                                \
        NODE_FLAG(type, sync, "sync-frequency", "SECONDS",                                                \
                  "how often a pod's volumes are looked at without a cause; default 60"),                 \
        FLAG_ON_IN(NODE_GROUP, type, node.attaches_itself, "node-attaches",                               \
                   "the node attaches its volumes itself instead of waiting for the controller")

/* What --sync-frequency says, in *ret_ns. CLI_OK, or CLI_USAGE after a complaint in the verb's name. */
int node_flags_check(const char *verb, const struct node_flags *f, uint64_t *ret_ns);

#endif
