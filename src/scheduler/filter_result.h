/* Why a node does not fit a pod, and the message that summarizes the reasons of all nodes. */
#ifndef BERTH_SCHEDULER_FILTER_RESULT_H
#define BERTH_SCHEDULER_FILTER_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/taint.h"
#include "base/buf.h"
#include "base/vec.h"

/* The filter that rejected: it decides which changes requeue the pod. */
enum filter {
    FILTER_NODE_NAME,
    FILTER_UNSCHEDULABLE,
    FILTER_TAINTS,
    FILTER_AFFINITY,
    FILTER_RESOURCES,
    FILTER_RESTRICTIONS,
    FILTER_LIMITS,
    FILTER_BINDING,
    FILTER_ZONE,
    FILTER_NO_NODES,
    FILTER_COUNT,
};

extern const char *const filter_names[]; /* "VolumeBinding", as in errors */

/* The reasons of nodes, one bit each. */
enum reason {
    REASON_NODE_NAME,
    REASON_UNSCHEDULABLE,
    REASON_TAINT, /* with the taint */
    REASON_AFFINITY,
    REASON_ABSENT, /* the pod's affinity names other nodes */
    REASON_PODS,
    REASON_CPU,
    REASON_MEMORY,
    REASON_POD_ALONE, /* ReadWriteOncePod */
    REASON_DISK,
    REASON_VOLUME_COUNT,
    REASON_VOLUME_AFFINITY,
    REASON_NO_VOLUME,
    REASON_NO_SPACE,
    REASON_VOLUME_GONE,
    REASON_ZONE,
    REASON_COUNT,
};

/* Why the whole pod must wait, on any node. */
enum refusal {
    REFUSAL_NONE,
    REFUSAL_NO_NODES,
    REFUSAL_NAMES,         /* the pod's affinity names nodes so that none is left */
    REFUSAL_NO_CLAIM,      /* the claim does not exist */
    REFUSAL_CLAIM_AWAITED, /* the claim of an ephemeral volume does not exist yet */
    REFUSAL_CLAIM_LOST,
    REFUSAL_CLAIM_DELETING,
    REFUSAL_FOREIGN_CLAIM, /* has the name of the pod's ephemeral claim, and belongs to another owner */
    REFUSAL_UNBOUND,       /* binding mode Immediate, and not bound */
    REFUSAL_NO_CLASS,
    REFUSAL_NO_MODE, /* the class has no binding mode */
    REFUSAL_NO_VOLUME,
    REFUSAL_COUNT,
};

struct filter_result {
    uint32_t reasons; /* 1 << enum reason; 0: the node fits */
    const struct taint *taint;
};

static inline struct filter_result filter_result_of(enum reason r)
{
    return (struct filter_result){ .reasons = 1U << r };
}

/* The reasons of all nodes that were filtered. */
struct filter_counts {
    uint32_t nodes;
    uint32_t reasons; /* that any node has: 1 << enum reason */
    uint32_t by_reason[REASON_COUNT];
};

static inline void filter_counts_add(struct filter_counts *c, uint32_t reasons)
{
    c->nodes++;
    c->reasons |= reasons;
    for (; reasons; reasons &= reasons - 1)
        c->by_reason[__builtin_ctz(reasons)]++;
}

/* A node that passed all filters. */
struct scored {
    const char *name; /* borrowed from the object */
    size_t pods;
    int64_t taints;
    int64_t affinity;
    int64_t volumes; /* -1: not scored */
};

struct filtered_nodes {
    struct filter_counts counts;
    VEC(struct scored) fitting; /* in the order of names */
    int64_t taints_max;
    int64_t affinity_max;
};

/* The filters that the reasons of a mask come from: 1 << enum filter. */
uint32_t filter_result_filters(uint32_t mask);

/* "volume-affinity", "claim-lost": for scripts that parse `berth why`. */
const char *reason_word(enum reason r);
const char *refusal_word(enum refusal r);
/* Describes one node, as the predicate of a sentence with its name: `has a taint that the pod does not
 * tolerate`. */
const char *reason_of_node(enum reason r);
/* The first reason of a mask that is not 0. */
enum reason filter_result_first(uint32_t mask);

/* `0/3 nodes are available: 1 node(s) were unschedulable, 2 …`: each reason with the number of its nodes,
 * sorted by text. */
void filter_counts_write(const struct filter_counts *c, struct buf *out);

#endif
