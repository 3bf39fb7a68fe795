/* Numbers are kept as things change: a scrape costs nothing. */
#include "controllers/attach/attach_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MAX 20000

struct attach_metrics {
    struct metric_family *seconds;
    struct metric_family *total;  /* pairs, wanted and actual */
    struct metric_family *in_use; /* of pods, by node */
    struct metric_family *forced;
};

static int add_families(struct attach_metrics *metrics, struct metrics *m, struct error *err)
{
    static const char *const total_labels[] = { "plugin_name", "state", NULL };
    static const char *const in_use_labels[] = { "node", "volume_plugin", NULL };
    static const char *const forced_labels[] = { "reason", NULL };
    static const struct metric_desc total = {
        .name = "attachdetach_controller_total_volumes",
        .help = "Number of volumes in the desired and the actual state, by plugin.",
        .type = METRIC_GAUGE,
        .labels = total_labels
    };
    static const struct metric_desc in_use = {
        .name = "storage_count_attachable_volumes_in_use",
        .help = "Number of attachable volumes that pods use, by node and plugin.",
        .type = METRIC_GAUGE,
        .labels = in_use_labels,
        .children_max = NODES_MAX
    };
    static const struct metric_desc forced = {
        .name = "attach_detach_controller_attachdetach_controller_forced_detaches",
        .help = "Number of forced detaches, by reason.",
        .type = METRIC_COUNTER,
        .labels = forced_labels
    };
    int r = component_operation_seconds(m, &metrics->seconds, err);

    if (r == 0)
        r = metrics_add_family(m, &total, &metrics->total, err);
    if (r == 0)
        r = metrics_add_family(m, &in_use, &metrics->in_use, err);
    return r < 0 ? r : metrics_add_family(m, &forced, &metrics->forced, err);
}

int attach_metrics_new(struct attach *a, struct error *err)
{
    struct attach_metrics *metrics;
    int r;

    if (!a->o.part.metrics)
        return 0;
    metrics = calloc(1, sizeof *metrics);
    if (!metrics)
        return error_no_memory(err);
    r = add_families(metrics, a->o.part.metrics, err);
    if (r < 0)
        free(metrics);
    else
        a->metrics = metrics;
    return r;
}

void attach_metrics_free(struct attach *a)
{
    free(a->metrics);
    a->metrics = NULL;
}

/* --- Counting --- */

char *attach_metrics_label(const char *name)
{
    struct str plugin, volume;
    struct error err;
    struct buf b = BUF_INIT(UNIQUE_NAME_BYTES_MAX);

    if (unique_name_split(name, &plugin, &volume, &err) < 0)
        plugin = str_of("UnknownAttachableVolumePlugin");
    buf_add_str(&b, plugin);
    if (str_is(plugin, CSI_PLUGIN)) {
        buf_add_char(&b, ':');
        buf_add_str(&b, str_next(&volume, '^'));
    }
    return buf_take(&b);
}

void attach_metrics_volume(struct attach *a, struct attach_volume *v)
{
    if (!a->metrics)
        return;
    v->wanted_count = metric_of(a->metrics->total, v->label, "desired_state_of_world");
    v->actual_count = metric_of(a->metrics->total, v->label, "actual_state_of_world");
}

void attach_metrics_wanted(const struct attach_pair *p, int more)
{
    if (p->volume->wanted_count)
        metric_add(p->volume->wanted_count, more);
}

void attach_metrics_actual(const struct attach_pair *p, int more)
{
    if (p->volume->actual_count)
        metric_add(p->volume->actual_count, more);
}

void attach_metrics_pod(const struct attach_pair *p, int more)
{
    const struct attach *a = p->volume->attach;

    if (a->metrics)
        metric_add(metric_of(a->metrics->in_use, p->node->name, p->volume->label), more);
}

void attach_metrics_forced(struct attach *a, const char *reason)
{
    if (a->metrics)
        metric_add(metric_of(a->metrics->forced, reason), 1);
}

void attach_metrics_operation(struct attach *a, const struct attach_operation *operation)
{
    double seconds = (double)(loop_now_ns(a->o.part.loop) - operation->began_ns) / (double)NS_PER_S;

    if (a->metrics)
        metric_observe(metric_of(a->metrics->seconds, operation->label, operation->name,
                                 operation->has_failed ? PART_FAILURE : PART_SUCCESS,
                                 operation->is_migrated ? "true" : "false"),
                       seconds);
}
