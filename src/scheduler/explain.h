/* Why a pod has no node: the scheduler's own judges are asked as in its turn, of every node, and nothing is
 * promised, written or put off by it.
 *
 * The answer is of the turn in which it was asked. It holds references to the pod, nodes, claims and volumes
 * that it names, so that volumes may be judged by it in later turns, as long as the scheduler is there; what
 * pods on their way assume is looked up when a volume is judged. Costs: one judgement per node; a volume is
 * judged in O(log n) of the nodes, unless it is tied to nodes by something else than their names. */
#ifndef BERTH_SCHEDULER_EXPLAIN_H
#define BERTH_SCHEDULER_EXPLAIN_H

#include "api/claim.h"
#include "api/node.h"
#include "api/pod.h"
#include "base/vec.h"
#include "scheduler/scheduler.h"
#include "scheduler/verdict.h"
#include "volumes/match.h"

enum schedule_state {
    SCHEDULE_ENDED,   /* it has run, and needs no node */
    SCHEDULE_PLACED,  /* it has one */
    SCHEDULE_OTHERS,  /* its schedulerName is another's: the rules may be others too */
    SCHEDULE_GATED,   /* its scheduling gates are there */
    SCHEDULE_GOING,   /* it is being deleted, and will get no node */
    SCHEDULE_BINDING, /* a node is chosen, its volumes are on their way: see waits */
    SCHEDULE_REFUSED, /* as a whole: see refusal */
    SCHEDULE_NO_NODE, /* each node refuses it: see nodes */
    SCHEDULE_FAILED,  /* it cannot be judged: see message */
    SCHEDULE_FITS,    /* with its next turn it gets the node that is chosen */
    SCHEDULE_STATE_COUNT,
};

struct schedule_node {
    const struct node *node;
    struct verdict verdict; /* no reasons: it will do */
};

/* A claim that waited for its consumer, on the chosen node. */
struct schedule_claim {
    const struct claim *claim;
    const struct volume *volume; /* NULL: it is to be provisioned */
};

enum schedule_place { SCHEDULE_NOT_QUEUED, SCHEDULE_READY, SCHEDULE_RESTING, SCHEDULE_ASIDE };

struct schedule {
    const struct scheduler *s;
    const struct pod *pod;
    enum schedule_state state;
    enum refusal refusal;
    const struct pod_volume *about;  /* the volume of the pod that the refusal is about; NULL for none */
    struct buf message;              /* what the scheduler says of it, "" for nothing */
    VEC(struct schedule_node) nodes; /* by name; none where nodes were not asked */
    VEC(struct schedule_claim) claims;
    const char *chosen; /* the node's name; NULL for none */
    char *chosen_copy;  /* its memory */

    /* Of a scheduler that is at work. */
    bool is_live;
    enum schedule_place place;
    unsigned attempts;
    uint64_t rest_until_ns;    /* of one that rests */
    uint64_t since_ns;         /* of one set aside, or that binds */
    bool is_written;           /* of one that binds: it has written all and waits for others */
    uint64_t binding_until_ns; /* … and gives up then */

    size_t checks_left; /* of volumes against nodes */
};

/* The caches are followed from here on, as by scheduler_start(), and no pod is scheduled: for who has no
 * scheduler at work and wants explanations. scheduler_start() may follow. */
void scheduler_follow(struct scheduler *s);

/* -ERR_NO_MEMORY alone. */
int scheduler_explain(struct scheduler *s, const struct pod *p, struct schedule *ret, struct error *err);
void schedule_done(struct schedule *x);

/* Why a volume, all others aside, is not what a claim of the pod gets. */
struct schedule_volume {
    enum reject reject;      /* REJECT_NONE: from the node it could be taken … */
    const struct node *node; /* … this one; NULL when there is none */
    uint32_t reasons;        /* why the pod cannot go there; 0: it can */
    bool is_promised;        /* REJECT_TAKEN by a pod that is on its way */
};
/* Of a claim that waits for its consumer. With many volumes that reach no node the search is given up after
 * some millions of looks, and what is left is said to be out of reach. */
void schedule_judge_volume(struct schedule *x, const struct claim *c, const struct volume *v,
                           struct schedule_volume *ret);

#endif
