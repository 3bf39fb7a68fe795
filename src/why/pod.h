/* What the files about pods share. */
#ifndef BERTH_WHY_POD_H
#define BERTH_WHY_POD_H

#include "api/pod.h"
#include "machinery/pending_operations.h"
#include "scheduler/explain.h"
#include "why/world.h"

/* pod.c: an operation of the node's agent or of the attach controller; one without a name is none. */
void why_add_operation_state(struct report *r, const struct operation_state *op, uint64_t now_ns);

/* pod_schedule.c: what the scheduler says of the pod, as it was when the explanation first asked. NULL where
 * no scheduler is known, and without memory. */
struct schedule *why_schedule(const struct why_world *w, const struct pod *p);
/* pod_schedule.c: of a pod without a node. */
void why_scheduling(const struct why_world *w, struct report *r, const struct pod *p);

/* pod_volume.c: volume by volume, each a part of the report. x is what the scheduler says of a pod without a
 * node; NULL for one that has its node, or where no scheduler is known. */
struct pod_verdict {
    const struct pod_volume *volume; /* the first that keeps the pod back; NULL: none does */
    char cause[64];                  /* of its report */
    char sentence[WHY_LINE_BYTES_MAX];
    json_ref advice; /* of its report; 0 for none */
    bool fits_alone; /* each claim that waits for the pod would find a volume, were it alone */
};
void why_pod_volumes(const struct why_world *w, struct report *r, const struct pod *p,
                     const struct schedule *x, const struct pod_volume *about, struct pod_verdict *ret);
/* A claim that waits for its consumer: every volume with what keeps it from being chosen for the pod. True
 * when that is not what the pod waits for, and in `fine` what becomes of the claim; else the cause is told.
 */
bool why_delayed_claim(const struct why_world *w, struct report *r, const struct pod *p,
                       const struct claim *c, struct buf *fine);

/* pod_node.c: of a pod that has its node. */
void why_on_node(const struct why_world *w, struct report *r, const struct pod *p);

/* pod_attach.c: the pod's own volumes whose plugins became CSI drivers, where such a driver is missing. */
void why_inline_drivers(const struct why_world *w, struct report *r, const struct pod *p);
/* pod_attach.c: of a bound claim's volume, on the pod's node: the first step that is missing. */
void why_volume_on_node(const struct why_world *w, struct report *r, const struct pod *p,
                        const struct volume *v);

#endif
