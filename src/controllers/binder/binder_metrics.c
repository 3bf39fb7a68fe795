#include "controllers/binder/binder_metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controllers/binder/binder_int.h"
#include "machinery/metrics.h"

#define PLUGIN_UNKNOWN "N/A"
#define PLUGIN_CSI "kubernetes.io/csi"

static const double seconds_bounds[] = { .1, .25, .5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600 };
static const double bind_bounds[] = { .001, .0025, .005, .01, .025, .05, .1, .25,
                                      .5,   1,     2.5,  5,   10,   30,  60, 300 };
static const double match_bounds[] = { 2.5e-7, 5e-7, 1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 1e-4, 1e-3, 1e-2 };

static const char *const operation_names[] = { [LONG_PROVISION] = "provision", [LONG_DELETE] = "delete" };
static_assert(ARRAY_LEN(operation_names) == LONG_COUNT, "name every operation");

/* An operation that was started and has neither ended nor been dropped, for its duration. */
struct running_operation {
    uint64_t at_ns;
    const char *plugin; /* its name, behind the key: the plugin may be removed before the operation ends */
    char key[];
};

enum objects {
    OBJECTS_VOLUMES,
    OBJECTS_VOLUMES_BOUND,
    OBJECTS_VOLUMES_UNBOUND,
    OBJECTS_CLAIMS_BOUND,
    OBJECTS_CLAIMS_UNBOUND,
    OBJECTS_COUNT,
};

struct binder_metrics {
    struct binder *binder;
    struct metric_family *seconds;
    struct metric_family *errors;
    struct metric_family *errors_old;
    struct metric_family *calls;
    struct metric_family *objects[OBJECTS_COUNT];
    struct metric *bind;
    struct metric *match;
    struct metric *pending;
    struct metric *retroactive;
    struct metric *retroactive_errors;
    struct map running[LONG_COUNT];
};

static const char *const operation_labels[] = { "plugin_name", "operation_name", NULL };

static double read_waiting(void *ctx)
{
    const struct binder *b = ctx;

    return (double)waiting_count(b->waiting);
}

static const char *const kind_labels[] = { "plugin_name", "volume_mode", NULL };
static const char *const volume_labels[] = { "storage_class", NULL };
static const char *const claim_labels[] = { "namespace", "storage_class", "volume_attributes_class", NULL };

static int add_families(struct binder_metrics *m, struct metrics *to, struct error *err)
{
    const struct {
        struct metric_desc desc;
        struct metric_family **ret;
    } all[] = {
        { { "volume_operation_total_seconds",
            "Time from the start of provisioning or deleting a volume to its end.", METRIC_HISTOGRAM,
            operation_labels, seconds_bounds, ARRAY_LEN(seconds_bounds), 0 },
          &m->seconds },
        { { "volume_operation_errors_total", "Failed attempts to provision or delete a volume.",
            METRIC_COUNTER, operation_labels, NULL, 0, 0 },
          &m->errors },
        { { "volume_operation_total_errors", "Deprecated name of volume_operation_errors_total.",
            METRIC_COUNTER, operation_labels, NULL, 0, 0 },
          &m->errors_old },
        { { "pv_collector_total_pv_count", "PersistentVolumes by plugin and volume mode.", METRIC_GAUGE,
            kind_labels, NULL, 0, 0 },
          &m->objects[OBJECTS_VOLUMES] },
        { { "pv_collector_bound_pv_count", "PersistentVolumes in phase Bound.", METRIC_GAUGE, volume_labels,
            NULL, 0, 0 },
          &m->objects[OBJECTS_VOLUMES_BOUND] },
        { { "pv_collector_unbound_pv_count", "PersistentVolumes in any other phase.", METRIC_GAUGE,
            volume_labels, NULL, 0, 0 },
          &m->objects[OBJECTS_VOLUMES_UNBOUND] },
        { { "pv_collector_bound_pvc_count", "PersistentVolumeClaims in phase Bound.", METRIC_GAUGE,
            claim_labels, NULL, 0, 0 },
          &m->objects[OBJECTS_CLAIMS_BOUND] },
        { { "pv_collector_unbound_pvc_count", "PersistentVolumeClaims in any other phase.", METRIC_GAUGE,
            claim_labels, NULL, 0, 0 },
          &m->objects[OBJECTS_CLAIMS_UNBOUND] },
    };
    int r = 0;

    for (size_t i = 0; i < ARRAY_LEN(all) && r == 0; i++)
        r = metrics_share_family(to, &all[i].desc, all[i].ret, err);
    return r < 0 ? r : component_operation_seconds(to, &m->calls, err);
}

static int add_metrics(struct binder_metrics *m, struct metrics *to, struct error *err)
{
    const struct {
        struct metric_desc desc;
        struct metric **ret;
    } all[] = {
        { { "berth_bind_seconds", "Time from the creation of a claim to phase Bound.", METRIC_HISTOGRAM, NULL,
            bind_bounds, ARRAY_LEN(bind_bounds), 0 },
          &m->bind },
        { { "berth_match_seconds", "Time to find a volume for a claim.", METRIC_HISTOGRAM, NULL, match_bounds,
            ARRAY_LEN(match_bounds), 0 },
          &m->match },
        { { "berth_pending_claims", "Claims that are waiting for a volume.", METRIC_GAUGE, NULL, NULL, 0, 0 },
          &m->pending },
        { { "retroactive_storageclass_total", "Attempts to assign the default class to an existing claim.",
            METRIC_COUNTER, NULL, NULL, 0, 0 },
          &m->retroactive },
        { { "retroactive_storageclass_errors_total",
            "Failed attempts to assign the default class to an existing claim.", METRIC_COUNTER, NULL, NULL,
            0, 0 },
          &m->retroactive_errors },
    };
    int r = 0;

    for (size_t i = 0; i < ARRAY_LEN(all) && r == 0; i++)
        r = metrics_add_metric(to, &all[i].desc, all[i].ret, err);
    if (r == 0)
        metric_set_reader(m->pending, read_waiting, m->binder);
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
        map_init(&m->running[i], (struct hash_seed){ b->o.part.seed, (uint64_t)i });
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
    struct running_operation *running;

    if (!m)
        return NULL;
    if (m->pending)
        metric_set_reader(m->pending, NULL, NULL); /* the registry stays */
    for (int i = 0; i < LONG_COUNT; i++) {
        for (size_t at = 0; (running = map_next(&m->running[i], &at, NULL));)
            free(running);
        map_done(&m->running[i]);
    }
    free(m);
    return NULL;
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

void binder_metrics_matched(struct binder_metrics *m, uint64_t took_ns)
{
    if (m)
        metric_observe(m->match, (double)took_ns / 1e9);
}

uint64_t binder_metrics_matches(const struct binder_metrics *m)
{
    return m ? metric_count(m->match) : 0;
}

void binder_metrics_retroactive(struct binder_metrics *m, bool has_failed)
{
    if (!m)
        return;
    metric_add(m->retroactive, 1);
    if (has_failed)
        metric_add(m->retroactive_errors, 1);
}

/* --- Objects ---
 *
 * Counted as they come and go: a scrape that looked at 200,000 of them would hold up the loop. */

static const char *driver_of(const struct volume *v)
{
    return v->source.kind == SOURCE_CSI ? v->source.csi->driver : "";
}

static void count_volume(struct binder_metrics *m, const struct volume *v, double by)
{
    enum objects phase = v->phase == VOLUME_BOUND ? OBJECTS_VOLUMES_BOUND : OBJECTS_VOLUMES_UNBOUND;
    const char *plugin = NULL; /* the first that serves the source: "multiple plugins" would say less */
    char csi[METRIC_LABELS_BYTES_MAX];

    for (const struct volume_plugin *const *p = m->binder->o.plugins; *p && !plugin; p++)
        if ((*p)->can_support(*p, &(struct volume_spec){ .volume = v }))
            plugin = (*p)->name;
    if (v->source.kind == SOURCE_CSI) {
        (void)snprintf(csi, sizeof csi, PLUGIN_CSI ":%s", driver_of(v));
        plugin = csi;
    }
    metric_add(
        metric_of(m->objects[OBJECTS_VOLUMES], plugin ? plugin : PLUGIN_UNKNOWN, volume_mode_names[v->mode]),
        by);
    metric_add(metric_of(m->objects[phase], v->spec_class), by);
}

static bool volume_counts_as(const struct volume *a, const struct volume *b)
{
    return (a->phase == VOLUME_BOUND) == (b->phase == VOLUME_BOUND) && a->source.kind == b->source.kind &&
           a->mode == b->mode && strcmp(a->spec_class, b->spec_class) == 0 &&
           strcmp(driver_of(a), driver_of(b)) == 0;
}

void binder_metrics_volume(struct binder_metrics *m, const struct volume *old, const struct volume *v)
{
    if (!m || (old && v && volume_counts_as(old, v)))
        return;
    if (old)
        count_volume(m, old, -1);
    if (v)
        count_volume(m, v, 1);
}

static void count_claim(struct binder_metrics *m, const struct claim *c, double by)
{
    enum objects phase = c->phase == CLAIM_BOUND ? OBJECTS_CLAIMS_BOUND : OBJECTS_CLAIMS_UNBOUND;

    metric_add(metric_of(m->objects[phase], c->obj.ns, c->class, c->attributes_class), by);
}

static bool claim_counts_as(const struct claim *a, const struct claim *b)
{
    return (a->phase == CLAIM_BOUND) == (b->phase == CLAIM_BOUND) && strcmp(a->class, b->class) == 0 &&
           strcmp(a->attributes_class, b->attributes_class) == 0;
}

void binder_metrics_claim(struct binder_metrics *m, const struct claim *old, const struct claim *c)
{
    if (!m || (old && c && claim_counts_as(old, c)))
        return;
    if (old)
        count_claim(m, old, -1);
    if (c)
        count_claim(m, c, 1);
}

/* --- Long operations --- */

void binder_metrics_begin(struct binder_metrics *m, enum long_operation op, struct str key,
                          const char *plugin)
{
    struct running_operation *running;
    char *name;

    if (!m || map_get(&m->running[op], key))
        return;
    running = calloc(1, sizeof *running + key.len + 1 + strlen(plugin) + 1);
    if (!running)
        return; /* a number less */
    memcpy(running->key, key.s, key.len);
    name = running->key + key.len + 1;
    memcpy(name, plugin, strlen(plugin));
    running->plugin = name;
    running->at_ns = loop_now_ns(m->binder->o.part.loop);
    if (map_put(&m->running[op], (struct str){ running->key, key.len }, running, NULL) < 0)
        free(running);
}

void binder_metrics_failed(struct binder_metrics *m, enum long_operation op, struct str key)
{
    const struct running_operation *running = m ? map_get(&m->running[op], key) : NULL;

    if (!running)
        return;
    metric_add(metric_of(m->errors, running->plugin, operation_names[op]), 1);
    metric_add(metric_of(m->errors_old, running->plugin, operation_names[op]), 1);
}

void binder_metrics_end(struct binder_metrics *m, enum long_operation op, struct str key)
{
    struct running_operation *running = m ? map_remove(&m->running[op], key) : NULL;

    if (!running)
        return;
    metric_observe(metric_of(m->seconds, running->plugin, operation_names[op]),
                   (double)(loop_now_ns(m->binder->o.part.loop) - running->at_ns) / 1e9);
    free(running);
}

void binder_metrics_drop(struct binder_metrics *m, enum long_operation op, struct str key)
{
    if (m)
        free(map_remove(&m->running[op], key));
}

void binder_metrics_call(struct binder_metrics *m, const char *plugin, const char *operation,
                         uint64_t took_ns, bool has_failed)
{
    if (m)
        metric_observe(
            metric_of(m->calls, plugin, operation, has_failed ? PART_FAILURE : PART_SUCCESS, "false"),
            (double)took_ns / 1e9);
}
