/* Static pods from a directory of manifests: each file is a pod on this node, with the node's name appended
 * to its own. It is created when the file is added, replaced when it changes and deleted when it is
 * removed. */
#ifndef BERTH_NODE_STATIC_PODS_H
#define BERTH_NODE_STATIC_PODS_H

#include "io/pool.h"
#include "machinery/component_deps.h"
#include "machinery/informer.h"

struct static_pods;

struct static_pods_options {
    struct component_deps part;
    struct pool *pool;
    const char *dir;
    const char *node_name;
    struct informer *pods; /* of this node */
};

int static_pods_new(const struct static_pods_options *o, struct static_pods **ret, struct error *err);
/* Accepts NULL. */
struct static_pods *static_pods_free(struct static_pods *s);
DEFINE_CLEANUP(struct static_pods, static_pods_free)

/* The pods' informer is synced. */
void static_pods_start(struct static_pods *s);

#endif
