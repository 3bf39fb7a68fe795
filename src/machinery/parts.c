#include "machinery/parts.h"

#include <stdio.h>

#include "api/json_out.h"
#include "api/pod_claims.h"
#include "base/rng.h"

#define KEY_BYTES_MAX 1024

uint64_t part_seed(const struct part_options *o, const char *name)
{
    struct rng all, own;

    rng_init(&all, o->seed);
    rng_fork(&all, name, &own);
    return rng_u64(&own);
}

int part_recorder(const struct part_options *o, const char *component, struct recorder **ret,
                  struct error *err)
{
    struct recorder_options r = { .loop = o->loop,
                                  .clock = o->clock,
                                  .client = o->client,
                                  .metrics = o->metrics,
                                  .seed = part_seed(o, component),
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

int part_api(const struct part_options *o, const char *manager, struct api *ret, struct error *err)
{
    *ret = (struct api){ .client = o->client, .loop = o->loop, .manager = manager };
    return o->metrics ? api_count_conflicts(ret, o->metrics, err) : 0;
}

struct informer *part_indexed(struct informers *all, enum kind k, const struct informer_index *index,
                              struct error *err)
{
    struct informer *i = informers_get(all, k, err);
    int r;

    if (!i)
        return NULL;
    r = informer_add_index(i, index, err);
    return r < 0 && r != -ERR_EXISTS ? NULL : i; /* another part may have asked for it first */
}

struct informer *part_pods(struct informers *all, struct error *err)
{
    return part_indexed(all, KIND_POD, &pod_index, err);
}

void part_add(struct controller *c, const struct object *o)
{
    char key[KEY_BYTES_MAX];
    int len = snprintf(key, sizeof key, "%s%s%s", o->ns, o->ns[0] ? "/" : "", o->name);

    if (len > 0 && (size_t)len < sizeof key)
        controller_add(c, (struct str){ key, (size_t)len });
}

/* --- Writing --- */

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

void volume_write_capacity(struct buf *out, const struct quantity *size)
{
    json_out_object(out, "capacity");
    json_out_quantity(out, "storage", size);
    json_out_end_object(out);
}

void volume_write_class(struct buf *out, const char *class, enum reclaim_policy policy)
{
    json_out_text(out, "persistentVolumeReclaimPolicy", reclaim_policy_names[policy]);
    json_out_text(out, "storageClassName", class);
}

/* --- Numbers --- */

int part_operation_seconds(struct metrics *m, struct metric_family **ret, struct error *err)
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
