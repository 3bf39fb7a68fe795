/* The scheduler's loop and lifecycle: takes ready pods from the queue and runs one attempt per pod.
 *
 * One step of the loop runs attempts until TURN_NODES_MAX nodes were filtered, and is deferred while
 * bindings_max pods are being bound. */
#include "scheduler/scheduler.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/pod_claims.h"
#include "base/log.h"
#include "scheduler/explain.h"
#include "scheduler/scheduler_int.h"

#define BINDINGS_MAX 256
/* Nodes filtered in one step of the loop, not counting the last pod's: a few milliseconds. */
#define TURN_NODES_MAX 10000

/* --- The scheduling step --- */

void scheduler_wake(struct scheduler *s)
{
    if (s->is_started)
        loop_defer(&s->turn);
}

void scheduler_attempt_over(struct scheduler *s, const char *pod_uid, bool is_refused, uint32_t filters,
                            struct str message)
{
    struct queued_pod *queued = queue_get(&s->queue, pod_uid);

    scheduler_metrics_not_scheduled(s->metrics, is_refused);
    if (queued) {
        report_failure(s, queued, is_refused ? "Unschedulable" : "SchedulerError", message);
        if (is_refused)
            queue_put_unschedulable(&s->queue, queued, filters);
        else
            queue_put_backoff(&s->queue, queued);
    }
    scheduler_wake(s); /* a binding ended, so another can start */
}

/* The pod is being deleted and needs no node. */
static void drop_deleting(struct scheduler *s, const struct pod *p)
{
    _cleanup_(buf_done_p) struct buf message = BUF_INIT(SCHEDULER_MESSAGE_BYTES_MAX);

    buf_addf(&message, "skip schedule deleting pod: %s/%s", p->obj.ns, p->obj.name);
    recorder_record(s->recorder, &(struct recorded){ .about = &p->obj,
                                                     .type = EVENT_WARNING,
                                                     .reason = "FailedScheduling",
                                                     .action = "Scheduling",
                                                     .message = buf_str(&message) });
    queue_remove(&s->queue, p->obj.uid);
}

/* Returns the number of filtered nodes. */
static size_t schedule_pod(struct scheduler *s, struct queued_pod *queued)
{
    const struct pod *p = pod_of(object_ref(&queued->pod->obj));
    enum cycle_result r;
    struct cycle c;
    size_t filtered;

    cycle_init(&c, s, p);
    r = cycle_run(&c);
    if (r == CYCLE_FITS && binding_begin(&c, queued))
        log_debug("node chosen for pod", LOG_STR("pod", p->obj.name), LOG_STR("node", c.node->name));
    else
        scheduler_attempt_over(s, p->obj.uid, r == CYCLE_REFUSED, c.filters, buf_str(&c.message));
    if (r == CYCLE_FAILED)
        scheduler_metrics_stage_failed(s->metrics, STAGE_PREDICATE);
    filtered = c.filtered.counts.nodes;
    cycle_done(&c);
    (void)object_unref((struct object *)(uintptr_t)&p->obj);
    return filtered;
}

static void on_turn(void *ctx)
{
    struct scheduler *s = ctx;
    size_t filtered = 0;
    struct queued_pod *queued;

    while (filtered < TURN_NODES_MAX && s->bindings_count < s->o.bindings_max &&
           (queued = queue_take(&s->queue))) {
        if (queued->pod->obj.is_deleting) {
            drop_deleting(s, queued->pod);
            continue;
        }
        filtered += schedule_pod(s, queued) + 1;
    }
    if (s->queue.counts[QUEUE_READY] > 0 && s->bindings_count < s->o.bindings_max)
        loop_defer(&s->turn);
}

static void on_ready(void *ctx)
{
    scheduler_wake(ctx);
}

/* --- Lifecycle --- */

static void index_volume(const struct object *o, index_emit_fn *emit, void *ctx)
{
    _cleanup_(buf_done_p) struct buf key = BUF_INIT(CLAIM_KEY_BYTES_MAX);

    volume_claim_key(volume_of(o), &key);
    if (key.len > 0 && !key.failed)
        emit(ctx, buf_str(&key));
}

static void index_capacity(const struct object *o, index_emit_fn *emit, void *ctx)
{
    emit(ctx, str_of(((const struct csi_capacity *)(const void *)o)->class_name));
}

static void index_attachment(const struct object *o, index_emit_fn *emit, void *ctx)
{
    emit(ctx, str_of(((const struct attachment *)(const void *)o)->node_name));
}

static const struct informer_index volumes_index = { VOLUMES_BY_CLAIM, index_volume };
static const struct informer_index capacities_index = { CAPACITIES_BY_CLASS, index_capacity };
static const struct informer_index attachments_index = { ATTACHMENTS_BY_NODE, index_attachment };

static int open_caches(struct scheduler *s, struct error *err)
{
    static const struct {
        enum kind kind;
        const struct informer_index *index;
    } rows[CACHE_KIND_COUNT] = {
        [CACHE_NODES] = { KIND_NODE, NULL },
        [CACHE_VOLUMES] = { KIND_VOLUME, &volumes_index },
        [CACHE_CLAIMS] = { KIND_CLAIM, NULL },
        [CACHE_CLASSES] = { KIND_CLASS, NULL },
        [CACHE_CSI_NODES] = { KIND_CSI_NODE, NULL },
        [CACHE_CSI_DRIVERS] = { KIND_CSI_DRIVER, NULL },
        [CACHE_CAPACITIES] = { KIND_CSI_CAPACITY, &capacities_index },
        [CACHE_ATTACHMENTS] = { KIND_ATTACHMENT, &attachments_index },
    };
    struct informers *all = s->o.part.informers;

    s->caches[CACHE_PODS] = component_pods(all, err);
    if (!s->caches[CACHE_PODS])
        return -(int)err->code;
    for (size_t i = CACHE_PODS + 1; i < CACHE_KIND_COUNT; i++) {
        s->caches[i] = rows[i].index ? component_indexed(all, rows[i].kind, rows[i].index, err)
                                     : informers_get(all, rows[i].kind, err);
        if (!s->caches[i])
            return -(int)err->code;
    }
    return 0;
}

static int scheduler_open(struct scheduler *s, struct error *err)
{
    struct recorder_options recorder = { .loop = s->o.part.loop,
                                         .clock = s->o.part.clock,
                                         .client = s->o.part.client,
                                         .metrics = s->o.part.metrics,
                                         .seed = component_seed(&s->o.part, "scheduler-recorder"),
                                         .dialect = RECORDER_SERIES,
                                         .component = s->o.name,
                                         .host = s->o.host,
                                         .is_local = s->o.part.is_local };
    int r = open_caches(s, err);

    if (r == 0)
        r = component_api(&s->o.part, SCHEDULER_MANAGER, &s->api, err);
    if (r == 0)
        r = recorder_new(&recorder, &s->recorder, err);
    return r < 0 ? r : scheduler_metrics_new(s, &s->metrics, err);
}

int scheduler_new(const struct scheduler_options *o, struct scheduler **ret, struct error *err)
{
    struct hash_seed seed = { component_seed(&o->part, "scheduler"),
                              component_seed(&o->part, "scheduler-2") };
    _cleanup_(scheduler_free_p) struct scheduler *s = calloc(1, sizeof *s);
    int r;

    if (!s)
        return error_no_memory(err);
    s->o = *o;
    if (s->o.bindings_max == 0)
        s->o.bindings_max = BINDINGS_MAX;
    TAILQ_INIT(&s->bindings);
    TAILQ_INIT(&s->reports);
    nodes_init(&s->nodes, seed);
    assumed_init(&s->assumed, seed);
    queue_init(&s->queue, o->part.loop, seed, on_ready, s);
    deferred_init(&s->turn, o->part.loop, on_turn, s);
    r = volume_index_new_by_node(seed, &s->free, err);
    if (r == 0)
        r = scheduler_open(s, err);
    if (r < 0)
        return r;
    *ret = TAKE(s);
    return 0;
}

void scheduler_follow(struct scheduler *s)
{
    if (s->is_following)
        return;
    s->is_following = true;
    hints_install(s);
}

void scheduler_start(struct scheduler *s)
{
    assert(!s->is_started);
    s->is_started = true;
    scheduler_follow(s);
    scheduler_wake(s);
}

const char *scheduler_check(const struct scheduler *s, bool is_thorough)
{
    const char *wrong = assumed_check(&s->assumed);

    if (!wrong)
        wrong = bindings_check_assumed(s);
    if (!wrong)
        wrong = queue_check(&s->queue);
    if (!wrong && is_thorough)
        wrong = nodes_check(&s->nodes);
    return !wrong && is_thorough ? volume_index_check(s->free, NULL, NULL) : wrong;
}

struct scheduler *scheduler_free(struct scheduler *s)
{
    if (!s)
        return NULL;
    for (size_t i = 0; i < CACHE_KIND_COUNT; i++)
        informer_remove_handler(&s->handlers[i]);
    loop_undefer(&s->turn);
    bindings_free(s);
    reports_free(s);
    queue_done(&s->queue);
    assumed_done(&s->assumed);
    s->free = volume_index_free(s->free);
    nodes_done(&s->nodes);
    scheduler_metrics_free(s->metrics);
    recorder_free(s->recorder);
    free(s);
    return NULL;
}
