/* Shared by the scheduler's files: its state, one attempt to schedule a pod, and a pod that is being bound.
 */
#ifndef BERTH_SCHEDULER_SCHEDULER_INT_H
#define BERTH_SCHEDULER_SCHEDULER_INT_H

#include "api/attachment.h"
#include "api/class.h"
#include "api/csi.h"
#include "base/vec.h"
#include "machinery/api_write.h"
#include "scheduler/assume.h"
#include "scheduler/filter_result.h"
#include "scheduler/nodes.h"
#include "scheduler/queue.h"
#include "scheduler/scheduler.h"
#include "volumes/index.h"

#define SCHEDULER_MANAGER "berth-scheduler"
#define SCHEDULER_MESSAGE_BYTES_MAX ((size_t)1 << 20)

/* Indexes of the caches. */
#define VOLUMES_BY_CLAIM \
    "scheduler-claim" /* "namespace/name" of the claim that it is bound to or reserved for */
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
    struct volume_index *free; /* free volumes, by node */
    struct assumed assumed;
    struct pod_queue queue;
    struct deferred turn;
    TAILQ_HEAD(, binding) bindings;
    TAILQ_HEAD(, condition_write) reports; /* conditions in flight */
    size_t bindings_count;
    bool is_following; /* receives the events of the caches */
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

/* Whether this scheduler handles the pod: no node, our schedulerName, not terminated, no gates. */
bool scheduler_handles_pod(const struct scheduler *s, const struct pod *p);
/* Has volumeName and the annotation of a completed bind; the phase does not count. */
bool claim_is_fully_bound(const struct claim *c);
/* By its claimRef, and of the claim's class. */
bool volume_is_reserved_for(const struct volume *v, const struct claim *c);

/* --- One attempt (cycle.c) --- */

/* A claim of the pod. */
struct cycle_claim {
    const struct pod_volume *volume;
    const struct claim *claim;
    const struct storage_class *class; /* of a delayed claim */
    const struct volume *bound;        /* of a bound claim; NULL: the volume does not exist */
    const struct volume *migrated;     /* the same as its CSI driver sees it; NULL: no migration */
    const char *selected_node;         /* annotated or assumed; NULL for none */
    bool is_bound;
    bool is_reserved_elsewhere; /* the volume reserved for it cannot be reached from the present node */
    uint32_t reserved_first, reserved_count; /* range in the cycle's reserved */
};

/* A volume that is reserved or assumed for a claim of the pod. */
struct reserved_volume {
    const struct volume *volume;
    bool is_assumed;
};

/* A zone label of a volume, and the values that a node may have. */
struct zone_rule {
    const char *key;
    struct str values; /* joined with "__" */
};

/* A volume of a driver that may have a limit; borrowed during the attempt. */
struct driver_use {
    const char *driver;
    const char *handle;        /* of a FlexVolume driver, the volume's name; NULL: not provisioned yet … */
    const struct claim *claim; /* … and this is its claim */
    const struct pod
        *pod; /* of a FlexVolume driver, a volume of the pod's own; NULL: other pods may use it too */
    bool is_flex;
};

/* Translations of volumes of migrated in-tree plugins, until they are released. */
struct migrated_volumes {
    VEC(struct object *) items;
};

void migrated_volumes_done(struct migrated_volumes *m);
/* The volume as its CSI driver sees it: itself, or its translation. NULL: it has no such driver. */
const struct volume *volume_of_driver(const struct volume *v, struct migrated_volumes *m);
/* The node reports that it leaves volumes of the source's plugin to the CSI driver. */
bool node_migrates(const struct scheduler *s, const char *node, enum volume_source_kind source);

enum cycle_result { CYCLE_FITS, CYCLE_REFUSED, CYCLE_FAILED, CYCLE_DROPPED };

struct cycle {
    struct scheduler *s;
    const struct pod *pod;
    struct needs needs;
    VEC(struct cycle_claim) claims; /* all its claim volumes, in the pod's order */
    VEC(struct reserved_volume) reserved;
    VEC(uint32_t) by_size;             /* delayed claims without a selected node, smallest request first */
    VEC(const struct volume *) chosen; /* on the present node, by claim; NULL: to be provisioned */
    VEC(struct zone_rule) zones;
    VEC(struct driver_use) uses; /* volumes of drivers that the pod adds to a node */
    struct migrated_volumes migrated;
    bool has_claims;
    bool has_disks;             /* inline volumes that cannot be mounted twice on a node */
    bool is_exclusive_conflict; /* a ReadWriteOncePod claim is in use */
    bool has_unbound;

    /* Result. */
    struct filtered_nodes filtered;
    struct sched_node *node;
    uint32_t filters;
    enum filter failed_filter;
    enum refusal refusal;           /* why the whole pod is rejected */
    const struct pod_volume *about; /* the volume of the pod that caused the refusal; NULL: none */
    struct buf message;
};

void cycle_init(struct cycle *c, struct scheduler *s, const struct pod *p);
void cycle_done(struct cycle *c);
/* Chooses a node; assumes nothing yet. */
enum cycle_result cycle_run(struct cycle *c);

/* Its parts, for an attempt whose nodes are filtered a few at a time (explain.c): the filters of the whole
 * pod; of one node, which fails only without memory; the choice. */
enum cycle_result cycle_check_pod(struct cycle *c);
int cycle_filter_node(struct cycle *c, const struct sched_node *n, struct filter_result *ret);
/* CYCLE_FITS or CYCLE_REFUSED. node is NULL if the chosen one has changed since it was filtered. */
enum cycle_result cycle_choose(struct cycle *c);

/* Why the whole pod is rejected, by which filter, and because of which volume (NULL: none). */
struct refused {
    enum refusal why;
    enum filter filter;
    const struct pod_volume *about;
};

/* Ends an attempt before nodes are filtered, with the message of a filter. Returns CYCLE_REFUSED. */
enum cycle_result cycle_refuse(struct cycle *c, struct refused x, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* `running PreFilter plugin "J": …`. Returns CYCLE_FAILED. */
enum cycle_result cycle_fail(struct cycle *c, enum filter j, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Filters of the whole pod: CYCLE_FITS to continue. */
enum cycle_result check_restrictions(struct cycle *c);
enum cycle_result check_binding(struct cycle *c);
enum cycle_result check_zones(struct cycle *c);
enum cycle_result check_limits(struct cycle *c);

/* Filters of one node: 0 or reasons. */
struct filter_result filter_node(const struct cycle *c, const struct sched_node *n);
uint32_t filter_restrictions(const struct cycle *c, const struct sched_node *n);
uint32_t filter_limits(const struct cycle *c, const struct sched_node *n);
/* Fills c->chosen when it returns 0. */
uint32_t filter_binding(struct cycle *c, const struct sched_node *n);
uint32_t filter_zones(const struct cycle *c, const struct sched_node *n);

/* Filter by the nodes that the pod's affinity names: true when it names this node or none. */
bool affinity_names(const struct pod *p, const char *node_name);
bool affinity_is_contradictory(const struct pod *p);

/* Scores (score.c). */
int64_t score_taints(const struct pod *p, const struct node *n);
int64_t score_affinity(const struct pod *p, const struct node *n);
/* Scores c->chosen; -1 when there is nothing to score. */
int64_t score_volumes(const struct cycle *c);

/* --- Binding a pod (pod_binding.c) --- */

/* Assumes the node and the volumes of c->chosen and starts the writes. False: failed, the reason is in the
 * message. */
bool binding_begin(struct cycle *c, struct queued_pod *queued);
void bindings_free(struct scheduler *s);
/* Invariant of assumptions: no version of a volume is written by two bindings for different claims. Costs the
 * square of the bindings: for the simulator. */
int bindings_check(const struct scheduler *s, struct error *err);
/* NULL when every binding has its assumptions and every assumption its binding, otherwise a description of
 * the error. */
const char *bindings_check_assumed(const struct scheduler *s);
/* Fills in the state, the node and the unbound claims of a pod that is being bound. Fails only with
 * -ERR_NO_MEMORY. */
int binding_report(const struct scheduler *s, struct schedule *plan);
/* Adds to an explanation (explain.c). Fail only with -ERR_NO_MEMORY. */
int schedule_add_claim(struct schedule *plan, const struct claim *c, const struct volume *v);
int schedule_choose(struct schedule *plan, const char *node);
/* The object changed: checks the waiting bindings that use it. */
void bindings_recheck_claim(struct scheduler *s, const struct claim *c);
void bindings_recheck_volume(struct scheduler *s, const struct volume *v);
void bindings_recheck_node(struct scheduler *s, const char *name);
void bindings_recheck_pod(struct scheduler *s, const char *uid);

/* --- Conditions and events (report.c) --- */

/* Writes the condition if it changed, and the event. reason: "Unschedulable" or "SchedulerError". */
void report_failure(struct scheduler *s, struct queued_pod *queued, const char *reason, struct str message);
void report_scheduled(struct scheduler *s, const struct pod *p, const char *node);
void reports_free(struct scheduler *s);

/* --- Handlers of cache events (hints.c) --- */

void hints_install(struct scheduler *s);
/* A failed binding has released its assumptions. */
void hints_on_released(struct scheduler *s);

/* Runs the scheduling step soon. */
void scheduler_wake(struct scheduler *s);
/* The attempt is over: rejected (by these filters), or failed. */
void scheduler_attempt_over(struct scheduler *s, const char *pod_uid, bool is_refused, uint32_t filters,
                            struct str message);

/* --- Metrics (scheduler_metrics.c) --- */

/* Without a registry *ret is NULL, and the functions below do nothing. */
int scheduler_metrics_new(struct scheduler *s, struct scheduler_metrics **ret, struct error *err);
struct scheduler_metrics *scheduler_metrics_free(struct scheduler_metrics *m);

/* From the start of the attempt to the end of the binding. */
void scheduler_metrics_scheduled(struct scheduler_metrics *m, uint64_t took_ns);
void scheduler_metrics_not_scheduled(struct scheduler_metrics *m, bool is_refused);
/* From the last write until the claims are bound. */
void scheduler_metrics_waited(struct scheduler_metrics *m, bool is_static, uint64_t took_ns);
enum scheduler_stage { STAGE_PREDICATE, STAGE_ASSUME, STAGE_BIND, STAGE_COUNT };
void scheduler_metrics_stage_failed(struct scheduler_metrics *m, enum scheduler_stage stage);

#endif
