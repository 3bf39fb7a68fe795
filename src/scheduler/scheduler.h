/* The scheduler: a node for a pod, together with the volumes of its claims.
 *
 * A pod's turn is one step on the loop: filters over all nodes, scores, a choice, and the promise of the node
 * and of the volumes in memory. Then it goes on in the background: the volumes' and claims' writes, waiting
 * for the binder, the pod's binding. Many pods are under way at once; what fails gives its promises back and
 * the pod comes again. Only pods that name this scheduler and have no node are touched. */
#ifndef BERTH_SCHEDULER_SCHEDULER_H
#define BERTH_SCHEDULER_SCHEDULER_H

#include "machinery/parts.h"

#define SCHEDULER_NAME "default-scheduler"

/* How full a volume or pool should be: points from 0 to 100 (percent), scores from 0 to 10, upwards. */
struct shape_point {
    int32_t percent;
    int32_t score;
};

struct scheduler_options {
    struct part_options part;
    const char *name; /* of the pods' schedulerName; borrowed */
    const char *host; /* of events; borrowed */
    uint64_t bind_timeout_ns;
    const struct shape_point *shape; /* borrowed; none: volumes do not score */
    size_t shape_count;
    unsigned bindings_max; /* pods on their way at once; 0: 256 */
};
#define SCHEDULER_BIND_TIMEOUT_NS (600 * NS_PER_S)

struct scheduler;

int scheduler_new(const struct scheduler_options *o, struct scheduler **ret, struct error *err);
void scheduler_start(struct scheduler *s);
struct scheduler *scheduler_free(struct scheduler *s);
DEFINE_CLEANUP(struct scheduler, scheduler_free)

#endif
