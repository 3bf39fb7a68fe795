/* Why a node does not take a pod, and the sentence that says it of all nodes. */
#ifndef BERTH_SCHEDULER_VERDICT_H
#define BERTH_SCHEDULER_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/taint.h"
#include "base/buf.h"

/* Who refused: what may help the pod later depends on it. */
enum judge {
    JUDGE_NODE_NAME,
    JUDGE_UNSCHEDULABLE,
    JUDGE_TAINTS,
    JUDGE_AFFINITY,
    JUDGE_RESOURCES,
    JUDGE_RESTRICTIONS,
    JUDGE_LIMITS,
    JUDGE_BINDING,
    JUDGE_ZONE,
    JUDGE_NO_NODES,
    JUDGE_COUNT,
};

extern const char *const judge_names[]; /* "VolumeBinding", as errors call them */

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

/* Why the whole pod has to wait, whatever the nodes are. */
enum refusal {
    REFUSAL_NONE,
    REFUSAL_NO_NODES,
    REFUSAL_NAMES,         /* the pod's affinity names nodes in a way that leaves none */
    REFUSAL_NO_CLAIM,      /* it does not exist */
    REFUSAL_CLAIM_AWAITED, /* of a volume that brings its own */
    REFUSAL_CLAIM_LOST,
    REFUSAL_CLAIM_DELETING,
    REFUSAL_FOREIGN_CLAIM, /* has the name of the pod's own, and is somebody else's */
    REFUSAL_UNBOUND,       /* and no consumer is waited for */
    REFUSAL_NO_CLASS,
    REFUSAL_NO_MODE, /* the class says not when to bind */
    REFUSAL_NO_VOLUME,
    REFUSAL_COUNT,
};

struct verdict {
    uint32_t reasons; /* 1 << enum reason; 0: the node will do */
    const struct taint *taint;
};

static inline struct verdict verdict_of(enum reason r)
{
    return (struct verdict){ .reasons = 1U << r };
}

/* The judges that the reasons of a mask come from: 1 << enum judge. */
uint32_t verdict_judges(uint32_t mask);

/* "volume-affinity", "claim-lost": for scripts that read `berth why`. */
const char *reason_word(enum reason r);
const char *refusal_word(enum refusal r);
/* What is the matter with one node, to be read behind its name: `has a taint that the pod does not tolerate`.
 */
const char *reason_of_node(enum reason r);
/* The first reason of a mask that is not 0. */
enum reason verdict_first(uint32_t mask);

/* `0/3 nodes are available: 1 node(s) were unschedulable, 2 …`: each reason with the number of its nodes, in
 * the order of the texts. */
void verdicts_write(const struct verdict *all, size_t count, struct buf *out);

#endif
