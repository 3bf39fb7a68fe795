/* What the scheduler's files share: its state, one pod's turn, and a pod on its way to its node. */
#ifndef BERTH_SCHEDULER_SCHEDULER_INT_H
#define BERTH_SCHEDULER_SCHEDULER_INT_H

#include "api/attachment.h"
#include "api/class.h"
#include "api/csi.h"
#include "base/vec.h"
#include "machinery/write.h"
#include "scheduler/assume.h"
#include "scheduler/nodes.h"
#include "scheduler/queue.h"
#include "scheduler/scheduler.h"
#include "scheduler/scheduler_metrics.h"
#include "scheduler/verdict.h"
#include "volumes/index.h"

#define SCHEDULER_MANAGER "berth-scheduler"
#define SCHEDULER_MESSAGE_BYTES_MAX ((size_t)1 << 20)

/* Indexes of the caches. */
#define VOLUMES_BY_CLAIM "scheduler-claim"    /* "namespace/name" of what has it, or it is kept for */
#define CAPACITIES_BY_CLASS "scheduler-class" /* storageClassName */
#define ATTACHMENTS_BY_NODE "scheduler-node"  /* spec.nodeName */

enum cache_kind {
    CACHE_PODS,
    CACHE_NODES,
    CACHE_VOLUMES,
    CACHE_CLAIMS,
    CACHE_CLASSES,
    CACHE_CSI_NODES,
    CACHE_CSI_DRIVERS,
    CACHE_CAPACITIES,
    CACHE_ATTACHMENTS,
    CACHE_KIND_COUNT,
};

struct binding;
struct schedule;

struct scheduler {
    struct scheduler_options o;
    struct api api;
    struct informer *caches[CACHE_KIND_COUNT];
    struct informer_handler handlers[CACHE_KIND_COUNT];
    struct recorder *recorder;
    struct scheduler_metrics *metrics;
    struct nodes nodes;
    struct volume_index *free; /* volumes, by node */
    struct assumed assumed;
    struct pod_queue queue;
    struct deferred turn;
    TAILQ_HEAD(, binding) bindings;
    TAILQ_HEAD(, report) reports; /* conditions on their way */
    size_t bindings_count;
    VEC(struct verdict) verdicts; /* scratch of a turn, one a node */
    bool is_following;            /* the caches tell it what happens */
    bool is_started;
};

static inline const struct pod *cached_pod(const struct scheduler *s, const char *ns, const char *name)
{
    const struct object *o = informer_get(s->caches[CACHE_PODS], ns, name);

    return o ? pod_of(o) : NULL;
}

static inline const struct claim *cached_claim(const struct scheduler *s, const char *ns, const char *name)
{
    const struct object *o = informer_get(s->caches[CACHE_CLAIMS], ns, name);

    return o ? claim_of(o) : NULL;
}

static inline const struct volume *cached_volume(const struct scheduler *s, const char *name)
{
    const struct object *o = informer_get(s->caches[CACHE_VOLUMES], "", name);

    return o ? volume_of(o) : NULL;
}

const struct storage_class *cached_class(const struct scheduler *s, const char *name);

/* Ours to schedule: no node, our name, not ended, no gates. */
bool scheduler_wants(const struct scheduler *s, const struct pod *p);
/* volumeName and the annotation of a completed bind; the phase does not count. */
bool claim_is_fully_bound(const struct claim *c);
/* By its own word, and of the claim's class. */
bool volume_is_kept_for(const struct volume *v, const struct claim *c);

/* --- One pod's turn (cycle.c) --- */

/* A claim of the pod. */
struct cycle_claim {
    const struct pod_volume *volume;
    const struct claim *claim;
    const struct storage_class *class; /* of one that is delayed */
    const struct volume *bound;        /* of one that is bound; NULL: the volume is gone */
    const struct volume *migrated;     /* the same as its CSI driver knows it; NULL: it has none */
    const char *selected_node;         /* written or promised; NULL for none */
    bool is_bound;
    bool is_kept_elsewhere;          /* from the node at hand the volume kept for it cannot be reached */
    uint32_t kept_first, kept_count; /* in the cycle's kept */
};

/* A volume that is kept for, or promised to, a claim of the pod. */
struct kept_volume {
    const struct volume *volume;
    bool is_promised;
};

/* A zone label of a volume, and the values that nodes may have. */
struct zone_rule {
    const char *key;
    struct str values; /* joined with "__" */
};

/* A volume of a driver that may have a limit; borrowed for the turn. */
struct driver_use {
    const char *driver;
    const char *handle;        /* of a FlexVolume driver, the volume's name; NULL: it is not there yet … */
    const struct claim *claim; /* … and this is whose it will be */
    const struct pod *pod;     /* of a FlexVolume driver, and the pod's own; NULL: others may have it too */
    bool is_flex;
};

/* Translations of volumes whose plugins became CSI drivers, until they are released. */
struct migrated_volumes {
    VEC(struct object *) items;
};

void migrated_volumes_done(struct migrated_volumes *m);
/* The volume as its CSI driver knows it: itself, or its translation. NULL: it has no such driver. */
const struct volume *volume_of_driver(const struct volume *v, struct migrated_volumes *m);
/* The node says that it leaves volumes of the source's plugin to the CSI driver. */
bool node_migrates(const struct scheduler *s, const char *node, enum volume_source_kind source);

enum cycle_result { CYCLE_FITS, CYCLE_REFUSED, CYCLE_FAILED, CYCLE_DROPPED };

struct cycle {
    struct scheduler *s;
    const struct pod *pod;
    struct needs needs;
    VEC(struct cycle_claim) claims; /* of all its claim volumes, in the pod's order */
    VEC(struct kept_volume) kept;
    VEC(uint32_t) by_size; /* delayed claims that no node was selected for, smallest request first */
    VEC(const struct volume *) chosen; /* on the node at hand, by claim; NULL: to be provisioned */
    VEC(struct zone_rule) zones;
    VEC(struct driver_use) uses; /* volumes of drivers that the pod would bring */
    struct migrated_volumes migrated;
    bool has_claims;
    bool has_disks;         /* inline volumes that nodes cannot share */
    bool is_alone_conflict; /* a ReadWriteOncePod claim is in use */
    bool looks_at_all;      /* every node gets its verdict, in the order of the nodes */
    bool has_unbound;

    /* The result. */
    struct sched_node *node;
    uint32_t judges;
    enum judge failed_judge;
    enum refusal refusal;           /* of the whole pod */
    const struct pod_volume *about; /* which volume of the pod it is because of; NULL: none of them */
    struct buf message;
};

void cycle_init(struct cycle *c, struct scheduler *s, const struct pod *p);
void cycle_done(struct cycle *c);
/* Chooses; nothing is promised yet. */
enum cycle_result cycle_run(struct cycle *c);

/* Why the whole pod is refused, who says so and of which of its volumes; NULL: of none. */
struct refused {
    enum refusal why;
    enum judge judge;
    const struct pod_volume *about;
};

/* A whole attempt's end before nodes are looked at: says the message of a judge. Returns CYCLE_REFUSED. */
enum cycle_result cycle_refuse(struct cycle *c, struct refused x, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* `running PreFilter plugin "J": …`. Returns CYCLE_FAILED. */
enum cycle_result cycle_fail(struct cycle *c, enum judge j, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Pod-wide judgements: CYCLE_FITS to go on. */
enum cycle_result check_restrictions(struct cycle *c);
enum cycle_result check_binding(struct cycle *c);
enum cycle_result check_zones(struct cycle *c);
enum cycle_result check_limits(struct cycle *c);

/* Judgements of one node, 0 or reasons. */
struct verdict judge_node(const struct cycle *c, const struct sched_node *n);
uint32_t judge_restrictions(const struct cycle *c, const struct sched_node *n);
uint32_t judge_limits(const struct cycle *c, const struct sched_node *n);
/* Fills c->chosen when it returns 0. */
uint32_t judge_binding(struct cycle *c, const struct sched_node *n);
uint32_t judge_zones(const struct cycle *c, const struct sched_node *n);

/* The nodes that the pod's affinity names, as a filter: true when the node is one of them or none are named.
 */
bool affinity_names(const struct pod *p, const char *node_name);
bool affinity_is_contradictory(const struct pod *p);

/* Scores: score.c. */
int64_t score_taints(const struct pod *p, const struct node *n);
int64_t score_affinity(const struct pod *p, const struct node *n);
/* Of what is in c->chosen; -1 when there is nothing to score. */
int64_t score_volumes(const struct cycle *c);

/* --- On the way to the node (bind.c) --- */

/* Promises the node and the volumes of c->chosen and sends the writes. False: it could not, the message says
 * why. */
bool binding_begin(struct cycle *c, struct queued_pod *x);
void bindings_free(struct scheduler *s);
/* The invariant of assumptions: of one version, no volume is written by two bindings for different claims.
 * Costs the square of the bindings: for the simulator. */
int bindings_check(const struct scheduler *s, struct error *err);
/* Of a pod on its way: its state, its node and what it waits for. -ERR_NO_MEMORY alone. */
int binding_tell(const struct scheduler *s, struct schedule *x);
/* Something about it has changed: those that wait look again. */
void bindings_see_claim(struct scheduler *s, const struct claim *c);
void bindings_see_volume(struct scheduler *s, const struct volume *v);
void bindings_see_node(struct scheduler *s, const char *name);
void bindings_see_pod(struct scheduler *s, const char *uid);

/* --- What people see (report.c) --- */

/* The condition, when it says anything new, and the event. reason: "Unschedulable" or "SchedulerError". */
void report_failure(struct scheduler *s, struct queued_pod *x, const char *reason, struct str message);
void report_scheduled(struct scheduler *s, const struct pod *p, const char *node);
void reports_free(struct scheduler *s);

/* --- What helps whom (hints.c) --- */

void hints_install(struct scheduler *s);
/* A pod on its way has given its promises back. */
void hints_given_back(struct scheduler *s);

/* A turn soon. */
void scheduler_wake(struct scheduler *s);
/* The attempt is over: refused (with the judges), or failed. */
void scheduler_attempt_over(struct scheduler *s, const char *pod_uid, bool is_refused, uint32_t judges,
                            struct str message);

#endif
