/* The nodes, and what is on each: pods that are assigned to it, and pods that were promised it.
 *
 * A promise (assumed pod) counts like an assignment from the choice on, until the cache shows the assignment
 * or the promise is given back. Nodes are in the order of their names. */
#ifndef BERTH_SCHEDULER_NODES_H
#define BERTH_SCHEDULER_NODES_H

#include "api/node.h"
#include "api/pod.h"
#include "base/map.h"
#include "base/vec.h"

/* What a pod asks for, and what a node has; -1 for "as much as you like". */
struct needs {
    int64_t milli_cpu;
    int64_t memory;
    int64_t pods;
    int64_t claims; /* volumes that stand for one, or that became a CSI driver's */
};

struct sched_node;

struct placed_pod {
    const struct pod *pod;   /* a reference */
    struct sched_node *node; /* there, or gone */
    struct needs needs;
    bool is_assumed;
    size_t at; /* in the node's list */
};

struct sched_node {
    const struct node *node; /* a reference; NULL: pods are on it, but it is gone */
    char *name;
    struct needs room; /* allocatable */
    struct needs used;
    VEC(struct placed_pod *) pods;
    bool is_reluctant; /* there, and with a taint PreferNoSchedule */
};

struct nodes {
    VEC(struct sched_node *) all; /* that are there, by name */
    struct map by_name;           /* also those that are gone and have pods */
    struct map pods;              /* placed_pod by the pod's uid */
    size_t reluctant;             /* of those that are there */
};

void nodes_init(struct nodes *n, struct hash_seed seed);
void nodes_done(struct nodes *n);

/* Fail only without memory. */
int nodes_put(struct nodes *n, const struct node *node);
void nodes_remove(struct nodes *n, const char *name);
/* NULL when it is not there. */
struct sched_node *nodes_get(const struct nodes *n, const char *name);

/* The pod as the cache has it: placed when it has a node and has not ended; an assumption ends when it has.
 */
int nodes_put_pod(struct nodes *n, const struct pod *p);
void nodes_remove_pod(struct nodes *n, const char *uid);
/* The pod is promised the node. */
int nodes_assume(struct nodes *n, const struct pod *p, const char *node_name);
/* Gives the promise back; an assignment stays. */
void nodes_forget(struct nodes *n, const char *uid);
const struct placed_pod *nodes_placed(const struct nodes *n, const char *uid);

/* Of all containers at once, or of the hungriest one at the start. */
struct needs pod_needs(const struct pod *p);

#endif
