/* The nodes, and the pods on each: assigned pods, and pods for which it is assumed.
 *
 * An assumed pod counts like an assigned one from the choice of the node until the cache shows the assignment
 * or the assumption is released. Nodes are sorted by name. */
#ifndef BERTH_SCHEDULER_NODES_H
#define BERTH_SCHEDULER_NODES_H

#include "api/node.h"
#include "api/pod.h"
#include "base/map.h"
#include "base/vec.h"

/* Resources that a pod requests or a node has; -1 for unlimited. */
struct needs {
    int64_t milli_cpu;
    int64_t memory;
    int64_t pods;
    int64_t claims; /* volumes that use a claim or a migrated plugin */
};

struct sched_node;

struct placed_pod {
    const struct pod *pod;   /* a reference */
    struct sched_node *node; /* exists, or was deleted */
    struct needs needs;
    bool is_assumed;
    size_t at; /* index in the node's list */
};

struct sched_node {
    const struct node *node; /* a reference; NULL: deleted, but pods are still on it */
    char *name;
    struct needs room; /* allocatable */
    struct needs used;
    VEC(struct placed_pod *) pods;
    bool is_reluctant; /* exists, and has a taint PreferNoSchedule */
};

struct nodes {
    VEC(struct sched_node *) all; /* existing nodes, by name */
    struct map by_name;           /* also deleted nodes that have pods */
    struct map pods;              /* placed_pod by the pod's uid */
    size_t reluctant;             /* existing nodes with is_reluctant */
};

void nodes_init(struct nodes *n, struct hash_seed seed);
void nodes_done(struct nodes *n);

/* Fail only without memory. */
int nodes_put(struct nodes *n, const struct node *node);
void nodes_remove(struct nodes *n, const char *name);
/* NULL when the node does not exist. */
struct sched_node *nodes_get(const struct nodes *n, const char *name);
/* The index in `all` of the first node after this name. */
size_t nodes_after(const struct nodes *n, const char *name);

/* Updates the pod from the cache: placed if it has a node and has not terminated; this also ends an
 * assumption. */
int nodes_put_pod(struct nodes *n, const struct pod *p);
void nodes_remove_pod(struct nodes *n, const char *uid);
/* Assumes the pod on the node. */
int nodes_assume(struct nodes *n, const struct pod *p, const char *node_name);
/* Ends the assumption; an assignment stays. */
void nodes_forget(struct nodes *n, const char *uid);
const struct placed_pod *nodes_placed(const struct nodes *n, const char *uid);

/* NULL when nodes and pods refer to each other and the sums are right, otherwise a description of the error.
 */
const char *nodes_check(const struct nodes *n);

/* The sum of all containers, or the largest init container if that is more. */
struct needs pod_needs(const struct pod *p);

#endif
