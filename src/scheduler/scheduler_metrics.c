/* The scheduler's metrics, under the names of the stock scheduler, and berth_scheduler_prebind_wait_seconds.
 * Without a registry all functions do nothing. */
#include "scheduler/scheduler_int.h"

#include <stdlib.h>

struct scheduler_metrics {
    const struct scheduler *s;
    struct metric_family *attempts;
    struct metric_family *seconds;
    struct metric_family *pending;
    struct metric_family *stages;
    struct metric_family *waits;
};

static const double seconds_bounds[] = { .001, .002, .004,  .008,  .016,  .032,  .064,  .128,
                                         .256, .512, 1.024, 2.048, 4.096, 8.192, 16.384 };
static const char *const attempt_labels[] = { "result", "profile", NULL };
static const char *const queue_labels[] = { "queue", NULL };
static const char *const stage_labels[] = { "operation", NULL };
static const char *const wait_labels[] = { "kind", NULL };
static const char *const stage_names[] = {
    [STAGE_PREDICATE] = "predicate", [STAGE_ASSUME] = "assume", [STAGE_BIND] = "bind"
};
static_assert(ARRAY_LEN(stage_names) == STAGE_COUNT, "name every stage");

static double seconds_of_ns(uint64_t ns)
{
    return (double)ns / (double)NS_PER_S;
}

static double read_ready(void *ctx)
{
    return (double)((const struct scheduler *)ctx)->queue.counts[QUEUE_READY];
}

static double read_backoff(void *ctx)
{
    return (double)((const struct scheduler *)ctx)->queue.counts[QUEUE_BACKOFF];
}

static double read_unschedulable(void *ctx)
{
    return (double)((const struct scheduler *)ctx)->queue.counts[QUEUE_UNSCHEDULABLE];
}

static double read_gated(void *ctx)
{
    const struct scheduler *s = ctx;
    struct informer_cursor at;
    double count = 0;

    for (const struct object *o = informer_first(s->caches[CACHE_PODS], &at); o; o = informer_next(&at))
        count += pod_of(o)->scheduling_gates_count > 0 && pod_of(o)->node_name[0] == '\0';
    return count;
}

static int add_families(struct scheduler_metrics *m, struct metrics *to, struct error *err)
{
    static const struct metric_desc descs[] = {
        { "scheduler_schedule_attempts_total", "Attempts to schedule pods, by result.", METRIC_COUNTER,
          attempt_labels, NULL, 0, 0 },
        { "scheduler_scheduling_attempt_duration_seconds",
          "Time from the start of an attempt until the pod is bound.", METRIC_HISTOGRAM, attempt_labels,
          seconds_bounds, ARRAY_LEN(seconds_bounds), 0 },
        { "scheduler_pending_pods", "Pending pods, by queue.", METRIC_GAUGE, queue_labels, NULL, 0, 0 },
        { "scheduler_volume_scheduling_stage_error_total", "Volume scheduling failures, by stage.",
          METRIC_COUNTER, stage_labels, NULL, 0, 0 },
        { "berth_scheduler_prebind_wait_seconds",
          "Time from the last write of a binding until the pod's claims are bound.", METRIC_HISTOGRAM,
          wait_labels, seconds_bounds, ARRAY_LEN(seconds_bounds), 0 },
    };
    struct metric_family **const families[] = { &m->attempts, &m->seconds, &m->pending, &m->stages,
                                                &m->waits };
    int r = 0;

    static_assert(ARRAY_LEN(descs) == ARRAY_LEN(families), "one per metric");
    for (size_t i = 0; i < ARRAY_LEN(descs) && r == 0; i++)
        r = metrics_add_family(to, &descs[i], families[i], err);
    return r;
}

int scheduler_metrics_new(struct scheduler *s, struct scheduler_metrics **ret, struct error *err)
{
    static const struct {
        const char *queue;
        metric_read_fn *read;
    } readers[] = { { "active", read_ready },
                    { "backoff", read_backoff },
                    { "unschedulable", read_unschedulable },
                    { "gated", read_gated } };
    struct scheduler_metrics *m;
    int r;

    if (!s->o.part.metrics)
        return 0;
    m = calloc(1, sizeof *m);
    if (!m)
        return error_no_memory(err);
    m->s = s;
    r = add_families(m, s->o.part.metrics, err);
    if (r < 0) {
        free(m);
        return r;
    }
    for (size_t i = 0; i < ARRAY_LEN(readers); i++)
        metric_set_reader(metric_of(m->pending, readers[i].queue), readers[i].read, s);
    *ret = m;
    return 0;
}

struct scheduler_metrics *scheduler_metrics_free(struct scheduler_metrics *m)
{
    static const char *const queues[] = { "active", "backoff", "unschedulable", "gated" };

    for (size_t i = 0; m && i < ARRAY_LEN(queues); i++)
        metric_set_reader(metric_of(m->pending, queues[i]), NULL, NULL);
    free(m);
    return NULL;
}

void scheduler_metrics_scheduled(struct scheduler_metrics *m, uint64_t took_ns)
{
    if (!m)
        return;
    metric_add(metric_of(m->attempts, "scheduled", m->s->o.name), 1);
    metric_observe(metric_of(m->seconds, "scheduled", m->s->o.name), seconds_of_ns(took_ns));
}

void scheduler_metrics_not_scheduled(struct scheduler_metrics *m, bool is_refused)
{
    if (m)
        metric_add(metric_of(m->attempts, is_refused ? "unschedulable" : "error", m->s->o.name), 1);
}

void scheduler_metrics_waited(struct scheduler_metrics *m, bool is_static, uint64_t took_ns)
{
    if (m)
        metric_observe(metric_of(m->waits, is_static ? "static" : "dynamic"), seconds_of_ns(took_ns));
}

void scheduler_metrics_stage_failed(struct scheduler_metrics *m, enum scheduler_stage stage)
{
    if (m)
        metric_add(metric_of(m->stages, stage_names[stage]), 1);
}
