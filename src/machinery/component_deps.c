/* Helpers shared by all components: seeds, recorders, writers, shared indexes, parts of PersistentVolume
 * bodies and shared metrics.
 *
 * Nothing here keeps state; caches and metric families belong to the process. */
#include "machinery/component_deps.h"

#include <stdio.h>

#include "api/json_out.h"
#include "api/pod_claims.h"
#include "base/rng.h"
#include "machinery/merge_patch.h"

#define KEY_BYTES_MAX 1024

uint64_t component_seed(const struct component_deps *o, const char *name)
{
    struct rng all, own;

    rng_init(&all, o->seed);
    rng_fork(&all, name, &own);
    return rng_u64(&own);
}

int component_recorder(const struct component_deps *o, const char *component, struct recorder **ret,
                       struct error *err)
{
    struct recorder_options r = { .loop = o->loop,
                                  .clock = o->clock,
                                  .client = o->client,
                                  .metrics = o->metrics,
                                  .seed = component_seed(o, component),
                                  .is_local = o->is_local,
                                  .dialect = RECORDER_CORE,
                                  .component = component,
                                  .host = "" };

    return recorder_new(&r, ret, err);
}

/* --- Indexes --- */

static void index_pod(const struct object *o, index_emit_fn *emit, void *ctx)
{
    pod_claims(pod_of(o), emit, ctx);
}

static const struct informer_index pod_index = { PODS_BY_CLAIM, index_pod };

int component_api(const struct component_deps *o, const char *manager, struct api *ret, struct error *err)
{
    *ret = (struct api){ .client = o->client, .loop = o->loop, .manager = manager };
    return o->metrics ? api_count(ret, o->metrics, err) : 0;
}

struct informer *component_indexed(struct informers *all, enum kind k, const struct informer_index *index,
                                   struct error *err)
{
    struct informer *i = informers_get(all, k, err);
    int r;

    if (!i)
        return NULL;
    r = informer_add_index(i, index, err);
    return r < 0 && r != -ERR_EXISTS ? NULL : i; /* another component may have added the index first */
}

struct informer *component_pods(struct informers *all, struct error *err)
{
    return component_indexed(all, KIND_POD, &pod_index, err);
}

void component_add(struct controller *c, const struct object *o)
{
    char key[KEY_BYTES_MAX];
    int len = snprintf(key, sizeof key, "%s%s%s", o->ns, o->ns[0] ? "/" : "", o->name);

    if (len > 0 && (size_t)len < sizeof key)
        controller_add(c, (struct str){ key, (size_t)len });
}

/* --- Bodies --- */

void claim_ref_write(struct buf *out, const struct claim *c)
{
    json_out_object(out, "claimRef");
    json_out_text(out, "kind", "PersistentVolumeClaim");
    json_out_text(out, "apiVersion", "v1");
    json_out_text(out, "namespace", c->obj.ns);
    json_out_text(out, "name", c->obj.name);
    json_out_text(out, "uid", c->obj.uid);
    json_out_str(out, "resourceVersion", object_version(&c->obj));
    json_out_end_object(out);
}

void volume_write_begin(struct buf *out, const char *name)
{
    json_out_object(out, NULL);
    json_out_text(out, "apiVersion", "v1");
    json_out_text(out, "kind", "PersistentVolume");
    json_out_object(out, "metadata");
    json_out_text(out, "name", name);
}

void volume_write_class(struct buf *out, const char *class, enum reclaim_policy policy)
{
    json_out_text(out, "persistentVolumeReclaimPolicy", reclaim_policy_names[policy]);
    json_out_text(out, "storageClassName", class);
}

enum api_decision component_decide_no_node(void *ctx, const struct object *now, struct buf *body,
                                           struct error *err)
{
    struct merge_patch p;

    (void)ctx;
    merge_patch_begin(&p, body, now);
    merge_patch_annotation(&p, ANN_SELECTED_NODE, NULL);
    return api_decision_of(merge_patch_end(&p, err));
}

/* --- Metrics --- */

int component_operation_seconds(struct metrics *m, struct metric_family **ret, struct error *err)
{
    static const char *const labels[] = { "volume_plugin", "operation_name", "status", "migrated", NULL };
    static const double bounds[] = { .1, .25, .5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600 };
    static const struct metric_desc desc = {
        .name = "storage_operation_duration_seconds",
        .help = "Storage operation duration.",
        .type = METRIC_HISTOGRAM,
        .labels = labels,
        .bounds = bounds,
        .bounds_count = ARRAY_LEN(bounds),
    };

    return metrics_share_family(m, &desc, ret, err);
}
