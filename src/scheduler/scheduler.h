/* The scheduler: chooses a node for a pod, together with the volumes of its claims.
 *
 * An attempt is one step on the loop: filters over all nodes, scores, a choice, and the assumption of the
 * node and the volumes in memory. The rest runs in the background: the writes of volumes and claims, waiting
 * for the binder, the pod's binding. Many pods are bound at the same time; a failure releases the assumptions
 * and requeues the pod. Only pods that name this scheduler and have no node are touched. */
#ifndef BERTH_SCHEDULER_SCHEDULER_H
#define BERTH_SCHEDULER_SCHEDULER_H

#include "machinery/component_deps.h"

#define SCHEDULER_NAME "default-scheduler"

/* How full a volume or pool should be: utilization from 0 to 100 percent, scores from 0 to 10, ascending. */
struct shape_point {
    int32_t percent;
    int32_t score;
};

struct scheduler_options {
    struct component_deps part;
    const char *name; /* schedulerName of the pods; borrowed */
    const char *host; /* source of events; borrowed */
    uint64_t bind_timeout_ns;
    const struct shape_point *shape; /* borrowed; none: volumes do not score */
    size_t shape_count;
    unsigned bindings_max; /* pods being bound at the same time; 0: 256 */
};
#define SCHEDULER_BIND_TIMEOUT_NS (600 * NS_PER_S)

struct scheduler;

int scheduler_new(const struct scheduler_options *o, struct scheduler **ret, struct error *err);
void scheduler_start(struct scheduler *s);
/* NULL when its state in memory is consistent, otherwise a description of the error: assumptions, bindings,
 * queue, nodes and, if is_thorough, the index of free volumes. For the simulator. */
const char *scheduler_check(const struct scheduler *s, bool is_thorough);
struct scheduler *scheduler_free(struct scheduler *s);
DEFINE_CLEANUP(struct scheduler, scheduler_free)

#endif
