/* The provisioner of a driver, the part of external-provisioner: the provisioning loop (provisioner_type.h)
 * with CreateVolume and DeleteVolume as its storage, and the publisher of capacity. */
#include "controllers/csi/csi_provision_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/csi_objects.h"

#define RETRY_NS NS_PER_S
#define RECORD_NAME_BYTES_MAX 1024
#define RETRY_NS_MAX (300 * NS_PER_S)

uint64_t csi_call_limit_ns(const struct csi_provisioner *p)
{
    return p->o.settings->timeout_ns ? p->o.settings->timeout_ns : CSI_TIMEOUT_NS;
}

/* Provisioned by this driver, or created by hand for it. With a deployment per node: of this node. */
static bool owns_volume(const void *ctx, const struct volume *v)
{
    const struct csi_provisioner *p = ctx;
    const char *driver = csi_peer_name(p->o.peer), *by = object_annotation(&v->obj, ANN_PROVISIONED_BY);
    const struct object *node;
    struct error err;

    if (v->source.kind != SOURCE_CSI || strcmp(v->source.csi->driver, driver) != 0)
        return false;
    if (by && strcmp(by, driver) != 0 && !object_annotation_is(&v->obj, ANN_MIGRATED_TO, driver))
        return false;
    if (!p->o.node_name)
        return true;
    node = informer_get(p->inputs.nodes, "", p->o.node_name);
    return v->affinity && node &&
           node_affinity_check(v->affinity, node->labels.items, node->labels.count, &err) == 0;
}

const struct provisioner_type csi_storage_type = { .prepare = csi_provision_prepare,
                                                   .provision = csi_provision_start,
                                                   .provision_cancel = csi_provision_cancel,
                                                   .remove = csi_remove_start,
                                                   .remove_cancel = csi_remove_cancel,
                                                   .owns = owns_volume,
                                                   .finalizer = CSI_PROVISIONER_FINALIZER,
                                                   .has_data_sources = true };

/* --- Lifecycle --- */

static void provisioner_end(void *function)
{
    struct csi_provisioner *p = function;

    if (!p)
        return;
    if (p->loop)
        p->loop = p->o.loop->free(p->loop);
    p->capacity = csi_capacity_free(p->capacity);
    p->self_select = csi_self_select_free(p->self_select);
    p->source_guard = csi_source_guard_free(p->source_guard);
    recorder_free(p->recorder);
    buf_done(&p->record_name);
    free(p);
}

static int open_caches(struct csi_provisioner *p, struct error *err)
{
    struct informers *all = p->o.part.informers;

    p->volumes = informers_get(all, KIND_VOLUME, err);
    p->attachments = p->volumes ? informers_get(all, KIND_ATTACHMENT, err) : NULL;
    p->drivers = p->attachments ? informers_get(all, KIND_CSI_DRIVER, err) : NULL;
    p->inputs = (struct csi_plan_inputs){ .peer = p->o.peer, .settings = p->o.settings, .rng = &p->rng };
    p->inputs.nodes = p->drivers ? informers_get(all, KIND_NODE, err) : NULL;
    p->inputs.csi_nodes = p->inputs.nodes ? informers_get(all, KIND_CSI_NODE, err) : NULL;
    p->inputs.attributes_classes =
        p->inputs.csi_nodes ? informers_get(all, KIND_ATTRIBUTES_CLASS, err) : NULL;
    return p->inputs.attributes_classes ? csi_source_open_caches(all, &p->inputs.sources, err)
                                        : -(int)err->code;
}

static int open_loop(struct csi_provisioner *p, struct error *err)
{
    const struct csi_driver_settings *s = p->o.settings;
    struct provisioner_options o = {
        .part = p->o.part,
        .type = &csi_storage_type,
        .ctx = p,
        .name = csi_peer_name(p->o.peer),
        .name_prefix = s->name_prefix,
        .component = CSI_PROVISIONER_MANAGER,
        .record_ns = p->o.record_ns,
        .record_name = buf_cstr(&p->record_name),
        .node_name = p->o.node_name,
        .limits = { .retry_ns = s->retry_ns ? s->retry_ns : RETRY_NS,
                    .retry_ns_max = s->retry_ns_max ? s->retry_ns_max : RETRY_NS_MAX,
                    .slow_ns = s->retry_ns_max ? s->retry_ns_max : RETRY_NS_MAX,
                    .qps = -1,
                    .in_flight_max = s->creates_max ? s->creates_max : CSI_CREATES_MAX,
                    .has_no_failures_max = true,
                    .saves_until_done = true },
    };

    return p->o.loop->new (&o, &p->loop, err);
}

static int provisioner_begin(const struct csi_function_options *o, void **ret, struct error *err)
{
    struct csi_provisioner *p = calloc(1, sizeof *p);
    const char *driver = csi_peer_name(o->peer);
    int64_t now_ms = clock_real_ns(o->part.clock) / (int64_t)NS_PER_MS;
    int r;

    if (!p)
        return error_no_memory(err);
    p->o = *o;
    p->record_name = BUF_INIT(RECORD_NAME_BYTES_MAX);
    csi_record_name(driver, o->node_name, &p->record_name);
    rng_init(&p->rng, component_seed(&o->part, driver));
    (void)snprintf(p->identity, sizeof p->identity, "%" PRId64 "-%" PRIu64 "-%s%s%s", now_ms,
                   rng_below(&p->rng, 10000), driver, o->node_name ? "-" : "",
                   o->node_name ? o->node_name : "");
    r = buf_check(&p->record_name, "the name of a record", err);
    if (r == 0)
        r = open_caches(p, err);
    if (r == 0)
        r = component_api(&o->part, CSI_PROVISIONER_MANAGER, &p->api, err);
    p->api.rng = &p->rng;
    if (r == 0)
        r = component_recorder(&o->part, CSI_PROVISIONER_MANAGER, &p->recorder, err);
    if (r == 0)
        r = open_loop(p, err);
    if (r == 0 && csi_capacity_is_wanted(o->peer, o->settings))
        r = csi_capacity_new(o, &p->capacity, err);
    if (r == 0 && o->node_name)
        r = csi_self_select_new(o, &p->self_select, err);
    if (r == 0)
        r = csi_source_guard_new(o, &p->source_guard, err);
    if (r < 0)
        provisioner_end(p);
    else
        *ret = p;
    return r;
}

static void provisioner_run(void *function)
{
    struct csi_provisioner *p = function;

    p->o.loop->start(p->loop);
    if (p->capacity)
        csi_capacity_start(p->capacity);
    if (p->self_select)
        csi_self_select_start(p->self_select);
    csi_source_guard_start(p->source_guard);
}

static const char *provisioner_verify(const void *function)
{
    const struct csi_provisioner *p = function;
    const char *wrong = p->o.loop->check(p->loop);

    if (!wrong && p->capacity)
        wrong = csi_capacity_check(p->capacity);
    if (!wrong && p->self_select)
        wrong = csi_self_select_check(p->self_select);
    return wrong ? wrong : csi_source_guard_check(p->source_guard);
}

static bool provisioner_explain(const void *function, const struct object *about, struct csi_work_state *ret)
{
    const struct csi_provisioner *p = function;

    if (about->kind->kind == KIND_VOLUME ? !owns_volume(p, volume_of(about))
                                         : about->kind->kind != KIND_CLAIM)
        return false;
    ret->next_try_ns = p->o.loop->next_try_ns(p->loop, about);
    return true;
}

/* A driver that cannot provision still gets one, which says so in events. */
static bool is_wanted(const struct csi_peer *peer, const struct csi_driver_settings *s)
{
    (void)peer;
    (void)s;
    return true;
}

/* As external-provisioner names it: the driver's name, without slashes. */
static int write_lease_name(const char *driver, struct buf *ret, struct error *err)
{
    for (const char *c = driver; *c; c++)
        buf_add_char(ret, *c == '/' ? '-' : *c);
    return buf_check(ret, "lease name", err);
}

static int prepare_caches(const struct component_deps *part, struct error *err)
{
    int r = csi_capacity_prepare(part, err);

    return r < 0 ? r : csi_source_prepare(part->informers, err);
}

const struct csi_function_type csi_provisioner_type = { .name = "provisioner",
                                                        .is_per_node = true,
                                                        .lease_name = write_lease_name,
                                                        .prepare = prepare_caches,
                                                        .is_wanted = is_wanted,
                                                        .new = provisioner_begin,
                                                        .start = provisioner_run,
                                                        .free = provisioner_end,
                                                        .check = provisioner_verify,
                                                        .explain = provisioner_explain };
