/* Exports the statistics: JSON, and metrics that are computed when they are scraped. */
#include "node/stats_int.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "api/json_out.h"

/* Maximum number of claims with metrics. */
#define SERIES_MAX 10000

static const struct {
    const char *metric, *help, *json;
    size_t offset;
    bool is_of_devices;
} numbers[] = {
    { "kubelet_volume_stats_capacity_bytes", "Capacity in bytes of the volume.", "capacityBytes",
      offsetof(struct host_usage, capacity), true },
    { "kubelet_volume_stats_available_bytes", "Number of available bytes in the volume.", "availableBytes",
      offsetof(struct host_usage, available), false },
    { "kubelet_volume_stats_used_bytes", "Number of used bytes in the volume.", "usedBytes",
      offsetof(struct host_usage, used), false },
    { "kubelet_volume_stats_inodes", "Maximum number of inodes in the volume.", "inodes",
      offsetof(struct host_usage, inodes), false },
    { "kubelet_volume_stats_inodes_free", "Number of free inodes in the volume.", "inodesFree",
      offsetof(struct host_usage, inodes_free), false },
    { "kubelet_volume_stats_inodes_used", "Number of used inodes in the volume.", "inodesUsed",
      offsetof(struct host_usage, inodes_used), false },
};
static_assert(ARRAY_LEN(numbers) == STATS_NUMBERS, "a row a number");

/* --- JSON --- */

static uint64_t number_of(const struct host_usage *u, unsigned at)
{
    uint64_t value;

    memcpy(&value, (const char *)u + numbers[at].offset, sizeof value);
    return value;
}

static void write_numbers(struct buf *out, const struct stats_record *r)
{
    json_out_time(out, "time", timestamp_of_ns(r->real_ns));
    for (unsigned i = 0; i < STATS_NUMBERS; i++) {
        if (r->is_block && !numbers[i].is_of_devices)
            continue;
        json_out_key(out, numbers[i].json);
        buf_addf(out, "%" PRIu64, number_of(&r->usage, i));
    }
}

static void write_volume(struct buf *out, const struct node_mount *m, const char *name,
                         const struct stats_record *r)
{
    const struct volume *v = m->spec.spec.volume;

    json_out_object(out, NULL);
    json_out_text(out, "name", name);
    json_out_text(out, "plugin", m->volume->plugin->name);
    json_out_text(out, "path", m->path);
    if (v && v->claim.is_set) {
        json_out_object(out, "claim");
        json_out_text(out, "name", v->claim.name);
        json_out_text(out, "namespace", v->claim.ns);
        json_out_end_object(out);
    }
    if (r && r->is_known)
        write_numbers(out, r);
    if (r && r->last_error)
        json_out_text(out, "error", r->last_error);
    json_out_end_object(out);
}

/* One entry per name of the volume in the pod. */
static void write_mount(const struct stats *s, struct buf *out, const struct node_mount *m)
{
    const struct stats_record *r = stats_record(s, m);

    for (size_t i = 0; i < m->outer_names.count || i == 0; i++)
        write_volume(out, m, m->outer_names.count ? m->outer_names.items[i] : spec_name(&m->spec.spec), r);
}

static void write_pod(const struct stats *s, struct buf *out, const struct node_pod *p)
{
    json_out_object(out, NULL);
    json_out_object(out, "podRef");
    json_out_text(out, "name", p->object ? p->object->name : "");
    json_out_text(out, "namespace", p->object ? p->object->ns : "");
    json_out_text(out, "uid", p->uid);
    json_out_end_object(out);
    json_out_array(out, "volumes");
    for (const struct node_mount *m = TAILQ_FIRST(&p->mounts); m; m = TAILQ_NEXT(m, of_pod))
        if (m->state == MOUNT_DONE)
            write_mount(s, out, m);
    json_out_end_array(out);
    json_out_end_object(out);
}

void stats_write(const struct stats *s, struct buf *out)
{
    struct omap_cursor at;

    json_out_object(out, NULL);
    json_out_text(out, "node", s->agent->o.name);
    json_out_array(out, "pods");
    for (const struct node_pod *p = omap_first(&s->agent->world.pods, &at); p; p = omap_next(&at))
        write_pod(s, out, p);
    json_out_end_array(out);
    json_out_end_object(out);
}

/* --- Metrics --- */

static void collect_number(void *ctx, struct metric_sink *to)
{
    const struct stats_series *series = ctx;
    const struct stats *s = series->stats;

    for (size_t i = 0; i < s->round.count; i++) {
        const struct stats_record *r = s->round.items[i];

        if (r->is_first && r->is_known && (!r->is_block || numbers[series->at].is_of_devices) &&
            stats_mount(s, r))
            metric_emit(to, (double)number_of(&r->usage, series->at), r->claim_ns, r->claim_name);
    }
}

struct plugin_count {
    const char *plugin;
    unsigned wanted, there;
};

/* The number of wanted and of mounted volumes per plugin. */
static void collect_volumes(void *ctx, struct metric_sink *to)
{
    const struct stats *s = ctx;
    _cleanup_(vec_done_p) VEC(struct plugin_count) counts = { 0 };
    struct omap_cursor at;

    for (const struct node_volume *v = omap_first(&s->agent->world.volumes, &at); v; v = omap_next(&at)) {
        size_t i = 0;

        while (i < counts.count && strcmp(counts.items[i].plugin, v->plugin->name) < 0)
            i++;
        if ((i == counts.count || strcmp(counts.items[i].plugin, v->plugin->name) != 0) &&
            vec_insert(&counts, i, (struct plugin_count){ .plugin = v->plugin->name }) < 0)
            return;
        for (const struct node_mount *m = TAILQ_FIRST(&v->mounts); m; m = TAILQ_NEXT(m, of_volume)) {
            counts.items[i].wanted += m->is_wanted;
            counts.items[i].there += m->state == MOUNT_DONE;
        }
    }
    for (size_t i = 0; i < counts.count; i++) {
        metric_emit(to, counts.items[i].there, counts.items[i].plugin, "actual_state_of_world");
        metric_emit(to, counts.items[i].wanted, counts.items[i].plugin, "desired_state_of_world");
    }
}

static int open_series(struct stats *s, struct metrics *m, struct error *err)
{
    static const char *const of_claims[] = { "namespace", "persistentvolumeclaim", NULL };
    int r = 0;

    for (unsigned i = 0; i < STATS_NUMBERS && r == 0; i++) {
        struct metric_desc desc = { .name = numbers[i].metric,
                                    .help = numbers[i].help,
                                    .type = METRIC_GAUGE,
                                    .labels = of_claims,
                                    .children_max = SERIES_MAX };

        s->series[i] = (struct stats_series){ .stats = s, .at = i };
        r = metrics_add_family(m, &desc, &s->series[i].family, err);
        if (r == 0)
            metric_set_collector(s->series[i].family, collect_number, &s->series[i]);
    }
    return r;
}

int stats_open_metrics(struct stats *s, struct metrics *m, struct error *err)
{
    static const double bounds[] = { 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10 };
    static const char *const of_sources[] = { "metric_source", NULL };
    static const char *const of_volumes[] = { "plugin_name", "state", NULL };
    int r = open_series(s, m, err);

    if (r == 0)
        r = metrics_add_family(m,
                               &(struct metric_desc){ .name = "volume_manager_total_volumes",
                                                      .help = "Number of volumes in Volume Manager",
                                                      .type = METRIC_GAUGE,
                                                      .labels = of_volumes },
                               &s->volumes, err);
    if (r == 0) {
        metric_set_collector(s->volumes, collect_volumes, s);
        r = metrics_add_family(
            m,
            &(struct metric_desc){ .name = "kubelet_volume_metric_collection_duration_seconds",
                                   .help = "Duration in seconds to calculate volume stats",
                                   .type = METRIC_HISTOGRAM,
                                   .labels = of_sources,
                                   .bounds = bounds,
                                   .bounds_count = ARRAY_LEN(bounds) },
            &s->seconds, err);
    }
    return r;
}

void stats_close_metrics(struct stats *s)
{
    for (unsigned i = 0; i < STATS_NUMBERS; i++)
        if (s->series[i].family)
            metric_set_collector(s->series[i].family, NULL, NULL);
    if (s->volumes)
        metric_set_collector(s->volumes, NULL, NULL);
}
