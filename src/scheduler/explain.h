/* Explains why a pod has no node: runs the scheduler's own filters on every node. Nothing is assumed, written
 * or delayed by it.
 *
 * The explanation is made in steps, so that many nodes do not block the loop. It describes the moment of the
 * last step, except that a node counts as it was when it was filtered. It holds references to the pod, nodes,
 * claims and volumes that it names, so volumes can be filtered with it later, as long as the scheduler exists;
 * assumptions are looked up when a volume is filtered. Costs: all filters once per node; per step, the filters
 * of the whole pod; O(log n) of the nodes per volume, unless its node affinity uses something else than host
 * names. */
#ifndef BERTH_SCHEDULER_EXPLAIN_H
#define BERTH_SCHEDULER_EXPLAIN_H

#include "api/claim.h"
#include "api/node.h"
#include "api/pod.h"
#include "base/vec.h"
#include "scheduler/filter_result.h"
#include "scheduler/scheduler.h"
#include "volumes/match.h"

enum schedule_state {
    SCHEDULE_ENDED,   /* has terminated, and needs no node */
    SCHEDULE_PLACED,  /* has a node */
    SCHEDULE_OTHERS,  /* names another scheduler, whose rules may differ */
    SCHEDULE_GATED,   /* has scheduling gates */
    SCHEDULE_GOING,   /* is being deleted, and gets no node */
    SCHEDULE_BINDING, /* a node is chosen, its claims are being bound: see claims */
    SCHEDULE_REFUSED, /* the whole pod is rejected: see refusal */
    SCHEDULE_NO_NODE, /* every node rejects it: see nodes */
    SCHEDULE_FAILED,  /* filtering failed: see message */
    SCHEDULE_FITS,    /* its next attempt gets the chosen node */
    SCHEDULE_STATE_COUNT,
};

struct schedule_node {
    const struct node *node;
    struct filter_result verdict; /* no reasons: the node passed all filters */
};

/* A claim that waited for its consumer, on the chosen node. */
struct schedule_claim {
    const struct claim *claim;
    const struct volume *volume; /* NULL: to be provisioned */
};

enum schedule_place { SCHEDULE_NOT_QUEUED, SCHEDULE_READY, SCHEDULE_RESTING, SCHEDULE_ASIDE };

struct schedule {
    struct scheduler *s;
    const struct pod *pod;
    enum schedule_state state;
    enum refusal refusal;
    const struct pod_volume *about;  /* the volume of the pod that caused the refusal; NULL for none */
    struct buf message;              /* the scheduler's message, "" for none */
    VEC(struct schedule_node) nodes; /* by name; empty if nodes were not filtered */
    VEC(struct schedule_claim) claims;
    char *chosen; /* the node's name; NULL for none */

    /* Only if the scheduler runs. */
    bool is_live;
    enum schedule_place place;
    unsigned attempts;
    uint64_t rest_until_ns;    /* end of the backoff */
    uint64_t since_ns;         /* unschedulable or binding since */
    bool is_written;           /* binding: all writes are done, it waits for the binder or a provisioner */
    uint64_t binding_until_ns; /* binding: end of the wait */

    struct filtered_nodes filtered; /* so far */
    bool has_restarted;
    size_t checks_left; /* checks of volumes against nodes that are left */
};

/* Follows the caches from now on, as scheduler_start() does, without scheduling pods: for programs that only
 * explain. scheduler_start() may follow. */
void scheduler_follow(struct scheduler *s);

void schedule_begin(struct schedule *plan, struct scheduler *s, const struct pod *p);
/* Filters the next nodes, at most nodes_max (above 0). 1 when the explanation is complete; 0 when nodes are
 * left. Fails only with -ERR_NO_MEMORY. */
int schedule_step(struct schedule *plan, size_t nodes_max, struct error *err);
/* At any time after schedule_begin(). */
void schedule_done(struct schedule *plan);

/* Why a claim of the pod does not get a volume, regardless of other volumes. */
struct schedule_volume {
    enum reject reject;      /* REJECT_NONE: can be taken from the node … */
    const struct node *node; /* … this one; NULL when there is none */
    uint32_t reasons;        /* why the pod cannot run there; 0: it can */
    bool is_assumed;         /* REJECT_TAKEN by an assumption of another pod */
};
/* For a claim that waits for its consumer. With many volumes that no node reaches the search ends after
 * CHECKS_MAX checks, and the remaining volumes are reported as unreachable. */
void schedule_filter_volume(struct schedule *plan, const struct claim *c, const struct volume *v,
                            struct schedule_volume *ret);

#endif
