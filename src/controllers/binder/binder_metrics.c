#include "controllers/binder/binder_metrics.h"

#include <stdlib.h>
#include <string.h>

#include "controllers/binder/binder_int.h"
#include "machinery/metrics.h"

static const double seconds_bounds[] = { .1, .25, .5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600 };
static const double bind_bounds[] = { .001, .0025, .005, .01, .025, .05, .1, .25,
                                      .5,   1,     2.5,  5,   10,   30,  60, 300 };

static const char *const operation_names[] = { [LONG_PROVISION] = "provision", [LONG_DELETE] = "delete" };
static_assert(ARRAY_LEN(operation_names) == LONG_COUNT, "name every operation");

/* When something long began. */
struct beginning {
    uint64_t at_ns;
    const char *plugin; /* of a plugin, or of a class: a copy */
    char key[];
};

struct binder_metrics {
    struct binder *binder;
    struct metric_family *seconds;
    struct metric_family *errors;
    struct metric_family *errors_old;
    struct metric_family *calls;
    struct metric_family *conflicts;
    struct metric *bind;
    struct metric *retroactive;
    struct metric *retroactive_errors;
    struct map begun[LONG_COUNT];
};

static const char *const operation_labels[] = { "plugin_name", "operation_name", NULL };
static const char *const conflict_labels[] = { "object", "step", NULL };

static double read_waiting(void *ctx)
{
    const struct binder *b = ctx;

    return (double)waiting_count(b->waiting);
}

static int add_families(struct binder_metrics *m, struct metrics *to, struct error *err)
{
    static const struct metric_desc seconds = {
        "volume_operation_total_seconds",
        "From the start of provisioning or deleting a volume to its end.",
        METRIC_HISTOGRAM,
        operation_labels,
        seconds_bounds,
        ARRAY_LEN(seconds_bounds),
        0
    };
    static const struct metric_desc errors = { "volume_operation_errors_total",
                                               "Tries of provisioning or deleting a volume that failed.",
                                               METRIC_COUNTER,
                                               operation_labels,
                                               NULL,
                                               0,
                                               0 };
    static const struct metric_desc errors_old = {
        "volume_operation_total_errors",
        "The same as volume_operation_errors_total, by its old name.",
        METRIC_COUNTER,
        operation_labels,
        NULL,
        0,
        0
    };
    static const struct metric_desc conflicts = { "berth_write_conflicts_total",
                                                  "Writes that somebody else was quicker than.",
                                                  METRIC_COUNTER,
                                                  conflict_labels,
                                                  NULL,
                                                  0,
                                                  0 };
    int r = metrics_share_family(to, &seconds, &m->seconds, err);

    if (r == 0)
        r = metrics_share_family(to, &errors, &m->errors, err);
    if (r == 0)
        r = metrics_share_family(to, &errors_old, &m->errors_old, err);
    if (r == 0)
        r = metrics_share_family(to, &conflicts, &m->conflicts, err);
    return r < 0 ? r : part_operation_seconds(to, &m->calls, err);
}

static int add_metric(struct metrics *to, const char *name, const char *help, enum metric_type type,
                      struct metric **ret, struct error *err)
{
    struct metric_desc desc = { .name = name, .help = help, .type = type };

    if (type == METRIC_HISTOGRAM) {
        desc.bounds = bind_bounds;
        desc.bounds_count = ARRAY_LEN(bind_bounds);
    }
    return metrics_add_metric(to, &desc, ret, err);
}

static int add_metrics(struct binder_metrics *m, struct metrics *to, struct error *err)
{
    struct metric *pending;
    int r = add_metric(to, "berth_bind_seconds", "From a claim's creation to Bound.", METRIC_HISTOGRAM,
                       &m->bind, err);

    if (r == 0)
        r = add_metric(to, "retroactive_storageclass_total",
                       "Claims that were to get the default class later.", METRIC_COUNTER, &m->retroactive,
                       err);
    if (r == 0)
        r = add_metric(to, "retroactive_storageclass_errors_total", "Of those, the ones that failed.",
                       METRIC_COUNTER, &m->retroactive_errors, err);
    if (r == 0)
        r = add_metric(to, "berth_pending_claims", "Claims that wait for a volume.", METRIC_GAUGE, &pending,
                       err);
    if (r == 0)
        metric_set_reader(pending, read_waiting, m->binder);
    return r;
}

int binder_metrics_new(struct binder *b, struct binder_metrics **ret, struct error *err)
{
    struct binder_metrics *m;
    int r;

    if (!b->o.part.metrics) {
        *ret = NULL;
        return 0;
    }
    m = calloc(1, sizeof *m);
    if (!m)
        return error_no_memory(err);
    m->binder = b;
    for (int i = 0; i < LONG_COUNT; i++)
        map_init(&m->begun[i], (struct hash_seed){ b->o.part.seed, (uint64_t)i });
    r = add_families(m, b->o.part.metrics, err);
    if (r == 0)
        r = add_metrics(m, b->o.part.metrics, err);
    if (r < 0) {
        (void)binder_metrics_free(m);
        return r;
    }
    *ret = m;
    return 0;
}

struct binder_metrics *binder_metrics_free(struct binder_metrics *m)
{
    struct beginning *x;

    if (!m)
        return NULL;
    for (int i = 0; i < LONG_COUNT; i++) {
        for (size_t at = 0; (x = map_next(&m->begun[i], &at, NULL));)
            free(x);
        map_done(&m->begun[i]);
    }
    free(m);
    return NULL;
}

void binder_metrics_conflict(struct binder_metrics *m, const struct kind_info *k, const char *step,
                             bool is_conflict)
{
    if (m && is_conflict)
        metric_add(metric_of(m->conflicts, k->plural, step), 1);
}

void binder_metrics_bound(struct binder_metrics *m, const struct claim *c)
{
    int64_t now_ns;
    double took;

    if (!m)
        return;
    now_ns = clock_real_ns(m->binder->o.part.clock);
    took = (double)now_ns / 1e9 - (double)c->obj.created.seconds;
    metric_observe(m->bind, took > 0 ? took : 0);
}

void binder_metrics_retroactive(struct binder_metrics *m, bool has_failed)
{
    if (!m)
        return;
    metric_add(m->retroactive, 1);
    if (has_failed)
        metric_add(m->retroactive_errors, 1);
}

/* --- Long operations --- */

void binder_metrics_begin(struct binder_metrics *m, enum long_operation op, struct str key,
                          const char *plugin)
{
    struct beginning *x;
    char *name;

    if (!m || map_get(&m->begun[op], key))
        return;
    x = calloc(1, sizeof *x + key.len + 1 + strlen(plugin) + 1);
    if (!x)
        return; /* a number less */
    memcpy(x->key, key.s, key.len);
    name = x->key + key.len + 1;
    memcpy(name, plugin, strlen(plugin));
    x->plugin = name;
    x->at_ns = loop_now_ns(m->binder->o.part.loop);
    if (map_put(&m->begun[op], (struct str){ x->key, key.len }, x, NULL) < 0)
        free(x);
}

void binder_metrics_failed(struct binder_metrics *m, enum long_operation op, struct str key)
{
    const struct beginning *x = m ? map_get(&m->begun[op], key) : NULL;

    if (!x)
        return;
    metric_add(metric_of(m->errors, x->plugin, operation_names[op]), 1);
    metric_add(metric_of(m->errors_old, x->plugin, operation_names[op]), 1);
}

void binder_metrics_end(struct binder_metrics *m, enum long_operation op, struct str key)
{
    struct beginning *x = m ? map_remove(&m->begun[op], key) : NULL;

    if (!x)
        return;
    metric_observe(metric_of(m->seconds, x->plugin, operation_names[op]),
                   (double)(loop_now_ns(m->binder->o.part.loop) - x->at_ns) / 1e9);
    free(x);
}

void binder_metrics_drop(struct binder_metrics *m, enum long_operation op, struct str key)
{
    if (m)
        free(map_remove(&m->begun[op], key));
}

void binder_metrics_call(struct binder_metrics *m, const char *plugin, const char *operation,
                         uint64_t took_ns, bool has_failed)
{
    if (m)
        metric_observe(
            metric_of(m->calls, plugin, operation, has_failed ? PART_FAILURE : PART_SUCCESS, "false"),
            (double)took_ns / 1e9);
}
