/* Functions that the files about pods share. */
#ifndef BERTH_WHY_POD_H
#define BERTH_WHY_POD_H

#include "api/pod.h"
#include "machinery/pending_operations.h"
#include "scheduler/explain.h"
#include "why/why_world.h"

/* pod_node.c: adds an operation of the node's agent or of the attach controller; does nothing when it has no
 * name. */
void why_add_operation_state(struct why_report *r, const struct operation_state *op, uint64_t now_ns);

/* pod_schedule.c: the scheduler's explanation for the pod. NULL where there is no scheduler, and while it is
 * not complete: the pass is then repeated. */
struct schedule *why_schedule(const struct why_world *w, const struct pod *p);
/* pod_schedule.c: for a pod without a node. */
void why_scheduling(const struct why_world *w, struct why_report *r, const struct pod *p);

/* pod_volume.c: adds each volume as a part of the report. x is the scheduler's answer for a pod without a
 * node; NULL for a pod with a node, or where there is no scheduler. */
struct pod_filter_result {
    const struct pod_volume *volume; /* the first volume that blocks the pod; NULL: none */
    char cause[64];                  /* of that volume's report */
    char sentence[WHY_LINE_BYTES_MAX];
    json_ref advice; /* of that volume's report; 0 for none */
    bool fits_alone; /* each claim that waits for the pod would find a volume if it were the only one */
};
void why_pod_volumes(const struct why_world *w, struct why_report *r, const struct pod *p,
                     const struct schedule *schedule, const struct pod_volume *about,
                     struct pod_filter_result *ret);
/* For a claim that waits for its consumer: every volume with the reason why it is not chosen for the pod.
 * Returns true when the claim does not block the pod, with its next step in `fine`; otherwise the cause is in
 * the report. */
bool why_delayed_claim(const struct why_world *w, struct why_report *r, const struct pod *p,
                       const struct claim *c, struct buf *fine);

/* pod_attach.c: reports missing CSI drivers of the pod's inline volumes whose plugins were migrated. */
void why_inline_drivers(const struct why_world *w, struct why_report *r, const struct pod *p);
/* pod_attach.c: for a bound claim's volume on the pod's node: the first step that is missing. */
void why_volume_on_node(const struct why_world *w, struct why_report *r, const struct pod *p,
                        const struct volume *v);

#endif
