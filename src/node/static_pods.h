/* Pods from a directory of manifests, for a machine where nobody writes to the API: each file is a pod on
 * this node, under its own name with the node's behind it, made when the file comes, replaced when it changes
 * and deleted when it goes. */
#ifndef BERTH_NODE_STATIC_PODS_H
#define BERTH_NODE_STATIC_PODS_H

#include "io/pool.h"
#include "machinery/informer.h"
#include "machinery/parts.h"

struct static_pods;

struct static_pods_options {
    struct part_options part;
    struct pool *pool;
    const char *dir;
    const char *node_name;
    struct informer *pods; /* of this node */
};

int static_pods_new(const struct static_pods_options *o, struct static_pods **ret, struct error *err);
/* Takes NULL. */
struct static_pods *static_pods_free(struct static_pods *s);
DEFINE_CLEANUP(struct static_pods, static_pods_free)

/* The pods' informer is synced. */
void static_pods_start(struct static_pods *s);

#endif
