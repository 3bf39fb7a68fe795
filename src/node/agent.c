/* Start-up order: read the pod directories, read the mount table for mounts that belong to none of them, then
 * start the informers for this node's pods and for the Node. Each pod gets a first populate round, and the
 * volumes found on disk are compared with the Node's status. Only then is unmounting allowed and volumesInUse
 * written. */
#include "node/agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "host/safe_path.h"
#include "io/file.h"
#include "node/node_int.h"

#define COMPONENT "kubelet"
/* Maximum number of plugins with a volume limit: the number of resources that a Node may have. */
#define LIMITS_MAX 64

void agent_touch(struct agent *a)
{
    loop_defer(&a->pass);
}

const struct node *agent_node(const struct agent *a)
{
    const struct object *o = informer_get(a->self, "", a->o.name);

    return o ? node_of(o) : NULL;
}

int64_t agent_mount_bytes(const struct agent *a, const struct node_mount *m)
{
    const struct resize_table *t = m->volume->plugin->resize;

    return t && m->wanted.holder && m->pod->object
               ? t->bytes(&m->wanted.spec, pod_of(m->pod->object), agent_node(a))
               : 0;
}

static void agent_pass(void *ctx)
{
    struct agent *a = ctx;

    pods_check_known(a);
    pods_unwant_over(a);
    reconcile_volumes(a);
}

bool agent_requires_remount(const struct agent *a, const struct node_mount *m)
{
    return m->volume->plugin->requires_remount || node_csi_requires_remount(a->csi, &m->wanted.spec);
}

/* A ConfigMap, Secret or token of the pod changed. */
static void on_contents_changed(void *ctx, const char *pod_uid)
{
    struct agent *a = ctx;
    struct node_pod *p = agent_pod(a, pod_uid);

    for (struct node_mount *m = p ? TAILQ_FIRST(&p->mounts) : NULL; m; m = TAILQ_NEXT(m, of_pod))
        if (m->is_wanted && agent_requires_remount(a, m))
            m->needs_remount = true;
    agent_touch(a);
}

/* --- The Node --- */

static void on_self(void *ctx, const struct object *o)
{
    struct agent *a = ctx;

    (void)o;
    node_csi_open(a->csi);
    agent_touch(a);
}

static bool is_in_use(const struct node_volume *v)
{
    return (v->is_attachable && volume_is_wanted(v)) || (v->is_held && v->attach != ATTACH_NO);
}

/* The names stay valid until the next loop iteration; the caller writes them before that. */
static bool list_volumes_in_use(void *ctx, struct arena *arena, struct texts *ret)
{
    struct agent *a = ctx;
    const struct unknown_mounts *u = &a->unknown;
    size_t kept = 0, count = a->world.volumes.count + u->in_use.count;
    const char **names = arena_alloc(arena, (count + 1) * sizeof *names);
    struct omap_cursor at;
    const struct node_volume *v = omap_first(&a->world.volumes, &at);

    *ret = (struct texts){ 0 };
    if (!a->has_attached || !a->has_pods || !names)
        return false;
    ret->items = names;
    while (v || kept < u->in_use.count) { /* both are sorted */
        const char *other = kept < u->in_use.count ? u->in_use.items[kept] : NULL;
        int order = !v ? 1 : !other ? -1 : strcmp(v->name, other);
        bool is_kept = order >= 0 && unknown_mounts_keep(a, other);

        if (is_kept || (order <= 0 && is_in_use(v)))
            names[ret->count++] = order <= 0 ? v->name : other;
        if (order <= 0)
            v = omap_next(&at);
        if (order >= 0)
            kept++;
    }
    return true;
}

static const char *unknown_mounts(void *ctx)
{
    const struct agent *a = ctx;

    if (!a->has_attached)
        return NULL;
    return a->unknown.words ? a->unknown.words : "";
}

/* Recorded once, as soon as the Node exists. */
static void report_mount_right(struct agent *a)
{
    const struct object *node = informer_get(a->self, "", a->o.name);

    if (!a->o.cannot_mount || a->has_reported_mount_right || !node)
        return;
    a->has_reported_mount_right = true;
    recorder_event(a->recorder, node, EVENT_WARNING, "MountNotPermitted", "%s", a->o.cannot_mount);
}

struct limit_list {
    struct arena *arena;
    struct amount items[LIMITS_MAX];
    uint32_t count;
};

static void add_limit(void *ctx, const char *key, uint32_t count)
{
    struct limit_list *l = ctx;

    if (l->count < LIMITS_MAX)
        l->items[l->count++] =
            (struct amount){ arena_dup(l->arena, str_of(key)), quantity_of(count, QUANTITY_DECIMAL_SI) };
}

static void list_volume_limits(void *ctx, struct arena *a, struct amounts *ret)
{
    const struct agent *agent = ctx;
    struct limit_list l = { .arena = a };
    struct amount *items;

    registry_each_limit(agent->o.plugins, add_limit, &l);
    items = arena_array(a, l.count, sizeof *items);
    if (items)
        memcpy(items, l.items, l.count * sizeof *items);
    *ret = (struct amounts){ items, items ? l.count : 0 };
}

/* Events and log lines report changes; the condition reports the current state. */
static const char *check_plugins(void *ctx)
{
    struct agent *a = ctx;
    const char *now = registry_load_error(a->o.plugins);
    const struct node *n = agent_node(a);

    if (strcmp(now, a->broken_plugins ? a->broken_plugins : "") != 0) {
        node_world_set_text(&a->broken_plugins, now);
        if (now[0] && a->plugin_failures)
            metric_add(a->plugin_failures, 1);
        if (now[0])
            log_warn("volume plugin unusable", LOG_STR("reason", now));
        else
            log_info("all volume plugins usable again");
        a->needs_plugin_event = now[0];
    }
    if (a->needs_plugin_event && n) { /* at start the Node does not exist yet */
        recorder_event(a->recorder, &n->obj, EVENT_WARNING, "PluginsBroken", "%s", now);
        a->needs_plugin_event = false;
    }
    return now[0] ? now : NULL;
}

/* Once it is out of the list, the controllers may have it detached. */
static void on_withdrawing(void *ctx, struct texts names)
{
    struct agent *a = ctx;
    struct omap_cursor at;
    uint32_t i = 0;

    /* Both are sorted. */
    for (struct node_volume *v = omap_first(&a->world.volumes, &at); v; v = omap_next(&at)) {
        while (i < names.count && strcmp(names.items[i], v->name) < 0)
            i++;
        if (i < names.count && strcmp(names.items[i], v->name) == 0)
            continue;
        v->is_reported = false;
        v->was_withdrawn = true;
    }
}

static void on_reported(void *ctx, struct texts names)
{
    struct agent *a = ctx;
    struct omap_cursor at;
    bool is_news = false;
    uint32_t i = 0;

    report_mount_right(a);
    /* Both are sorted. */
    for (struct node_volume *v = omap_first(&a->world.volumes, &at); v; v = omap_next(&at)) {
        while (i < names.count && strcmp(names.items[i], v->name) < 0)
            i++;
        bool was_reported = v->is_reported;
        v->is_reported = i < names.count && strcmp(names.items[i], v->name) == 0;
        is_news |= v->is_reported != was_reported;
    }
    if (is_news) /* reconcile_volumes() reports in turn, so do not loop on unchanged lists */
        agent_touch(a);
}

static int is_ready(void *ctx, struct error *err)
{
    const struct agent *a = ctx;

    if (!a->has_scanned || !a->has_pods)
        return error_set(err, ERR_UNAVAILABLE,
                         "volumes of this node not known yet: scanning the disk or listing pods");
    return node_csi_check(a->csi, err);
}

/* --- CSI --- */

/* Whether a volume needs to be attached is known from here on, so the pods can be listed. */
static void on_drivers_known(void *ctx)
{
    struct agent *a = ctx;

    informer_start(a->pods);
}

/* Populates the pods of the driver's volumes again: the driver may have registered or changed its
 * requirements. */
static void on_driver_changed(void *ctx, const char *driver)
{
    struct agent *a = ctx;
    struct omap_cursor at;

    for (struct node_volume *v = omap_first(&a->world.volumes, &at); v; v = omap_next(&at)) {
        struct volume_source source = { 0 };

        if (v->wanted.holder)
            source = spec_source(&v->wanted.spec);
        if (source.kind != SOURCE_CSI || strcmp(source.csi->driver, driver) != 0)
            continue;
        for (struct node_mount *m = TAILQ_FIRST(&v->mounts); m; m = TAILQ_NEXT(m, of_volume))
            if (m->is_wanted && m->state != MOUNT_DONE)
                populate_pod(m->pod);
    }
    agent_touch(a);
}

static void on_csi_ready(void *ctx)
{
    agent_touch(ctx); /* the reconciler reports */
}

/* --- Start and end --- */

static void on_failed_retry(void *agent)
{
    agent_touch(agent);
}

/* This process has mounted nothing yet: a mount without a record is left over from an earlier process. */
static void on_mounts_known(void *agent)
{
    struct agent *a = agent;

    a->has_scanned = true;
    informer_start(a->self);
    node_csi_start(a->csi);
    registration_start(a->registration);
    stats_start(a->stats);
    timer_arm_after(&a->self_retry, 0);
}

static void on_disk_scanned(void *ctx, const struct node_restored *found, int r, const struct error *err)
{
    struct agent *a = ctx;

    if (r < 0)
        log_error("cannot read pod directories, earlier mounts are unknown", LOG_ERR(err));
    restore_take(a, found);
    mount_check_start(a->mounts, on_mounts_known);
}

static void agent_on_settled(void *ctx, struct str volume)
{
    struct agent *a = ctx;

    (void)volume;
    agent_touch(a);
    mount_check_settle(a->mounts);
}

static enum pod_hold pod_hold(void *ctx, const char *pod_uid)
{
    const struct node_pod *p = agent_pod(ctx, pod_uid);

    if (!p)
        return POD_HOLD_NONE;
    return p->is_known || !p->life.is_over ? POD_HOLD_KNOWN : POD_HOLD_VOLUMES;
}

static int open_informers(struct agent *a, struct error *err)
{
    const struct component_deps *part = &a->o.part;
    char pods[512], self[512];
    struct informer_options o = { .loop = part->loop,
                                  .client = part->client,
                                  .metrics = part->metrics,
                                  .seed = component_seed(part, "node"),
                                  .kind = &pod_kind,
                                  .field_selector = pods,
                                  .streams_lists = a->o.streams_lists };
    int r;

    (void)snprintf(pods, sizeof pods, "spec.nodeName=%s", a->o.name);
    (void)snprintf(self, sizeof self, "metadata.name=%s", a->o.name);
    r = informer_new(&o, &a->pods, err);
    o.kind = &node_kind;
    o.field_selector = self;
    if (r == 0)
        r = informer_new(&o, &a->self, err);
    if (r < 0)
        return r;
    a->on_self = (struct informer_handler){ .on_upsert = on_self, .ctx = a };
    pods_listen(a);
    informer_add_handler(a->self, &a->on_self);
    return 0;
}

static int open_recorder(struct agent *a, struct error *err)
{
    const struct component_deps *part = &a->o.part;

    return recorder_new(&(struct recorder_options){ .loop = part->loop,
                                                    .clock = part->clock,
                                                    .client = part->client,
                                                    .metrics = part->metrics,
                                                    .seed = component_seed(part, COMPONENT),
                                                    .is_local = part->is_local,
                                                    .dialect = RECORDER_CORE,
                                                    .component = COMPONENT,
                                                    .host = a->o.name },
                        &a->recorder, err);
}

static int open_metrics(struct agent *a, struct error *err)
{
    struct metrics *m = a->o.part.metrics;
    int r = m ? component_operation_seconds(m, &a->operation_seconds, err) : 0;

    if (m && r == 0)
        r = metrics_add_metric(m,
                               &(struct metric_desc){ .name = "force_cleaned_failed_volume_operations_total",
                                                      .help = "Cleanups of volumes on disk that "
                                                              "could not be reconstructed.",
                                                      .type = METRIC_COUNTER },
                               &a->forced, err);
    if (m && r == 0)
        r = metrics_add_metric(
            m,
            &(struct metric_desc){ .name = "force_cleaned_failed_volume_operation_errors_total",
                                   .help = "Failed cleanups of volumes that could not be reconstructed.",
                                   .type = METRIC_COUNTER },
            &a->forced_failures, err);
    if (m && r == 0)
        r = metrics_add_metric(m,
                               &(struct metric_desc){ .name = "berth_volume_plugin_failures_total",
                                                      .help = "Number of times that a volume plugin of "
                                                              "the node became unusable.",
                                                      .type = METRIC_COUNTER },
                               &a->plugin_failures, err);
    return r;
}

static int open_csi(struct agent *a, struct error *err)
{
    const struct node_csi_options o = { .part = a->o.part,
                                        .plugins = a->o.plugins,
                                        .rpc = a->o.rpc,
                                        .endpoints = a->o.endpoints,
                                        .configured = a->o.csi_drivers,
                                        .configured_count = a->o.csi_drivers_count,
                                        .contents = a->contents,
                                        .root = a->root,
                                        .node_name = a->o.name,
                                        .streams_lists = a->o.streams_lists,
                                        .known = on_drivers_known,
                                        .changed = on_driver_changed,
                                        .ready = on_csi_ready,
                                        .ctx = a };

    return node_csi_new(&o, &a->csi, err);
}

static int open_modules(struct agent *a, struct error *err)
{
    struct registration_options r = { .part = a->o.part,
                                      .pool = a->o.pool,
                                      .name = a->o.name,
                                      .root = a->root,
                                      .self = a->self,
                                      .cannot_mount = a->o.cannot_mount,
                                      .attaches_itself = a->o.attaches_itself,
                                      .in_use = list_volumes_in_use,
                                      .withdrawing = on_withdrawing,
                                      .reported = on_reported,
                                      .is_ready = is_ready,
                                      .unknown_mounts = unknown_mounts,
                                      .limits = list_volume_limits,
                                      .broken_plugins = check_plugins,
                                      .ctx = a };
    struct volume_sources_options c = { .part = a->o.part, .changed = on_contents_changed, .ctx = a };
    struct orphans_options o = {
        .part = a->o.part, .pool = a->o.pool, .env = &a->env, .hold = pod_hold, .ctx = a
    };
    struct static_pods_options s = {
        .part = a->o.part, .pool = a->o.pool, .dir = a->o.static_pods, .node_name = a->o.name, .pods = a->pods
    };
    int e = registration_new(&r, &a->registration, err);

    if (e == 0)
        e = volume_sources_new(&c, &a->contents, err);
    if (e == 0)
        e = open_csi(a, err);
    if (e == 0)
        e = mount_check_new(a, &a->mounts, err);
    if (e == 0)
        e = orphans_new(&o, &a->orphans, err);
    if (e == 0 && s.dir)
        e = static_pods_new(&s, &a->static_pods, err);
    return e < 0 ? e : stats_new(a, &a->stats, err);
}

/* Resolves the root to a path without symbolic links. */
static int open_root(struct agent *a, struct error *err)
{
    int r = io_mkdirs(a->o.root, 0755, err);

    if (r == 0)
        r = host_resolve_path(a->o.root, a->root, err);
    if (r < 0)
        return error_wrap(err, "the node's directory '%s'", a->o.root);
    host_boot_id(a->boot_id);
    a->env = (struct volume_env){ .root = a->root,
                                  .dirs = a->o.dirs,
                                  .node_name = a->o.name,
                                  .tools.commands_path = a->o.commands_path,
                                  .clock = a->o.part.clock };
    return 0;
}

int agent_new(const struct agent_options *o, struct agent **ret, struct error *err)
{
    _cleanup_(agent_free_p) struct agent *a = calloc(1, sizeof *a);
    struct operations_options n = { .loop = o->part.loop, .clock = o->part.clock };
    int r;

    if (!a)
        return error_no_memory(err);
    a->o = *o;
    if (!a->o.sync_ns)
        a->o.sync_ns = AGENT_SYNC_NS;
    node_world_init(&a->world);
    TAILQ_INIT(&a->running);
    rng_init(&a->rng, component_seed(&o->part, "agent"));
    deferred_init(&a->pass, o->part.loop, agent_pass, a);
    timer_init(&a->warnings, o->part.loop, volume_op_report_warnings, a);
    timer_init(&a->self_retry, o->part.loop, restore_ask_attached, a);
    timer_init(&a->failed_retry, o->part.loop, on_failed_retry, a);
    n.on_settled = agent_on_settled;
    n.ctx = a;
    r = open_root(a, err);
    if (r == 0)
        r = component_api(&o->part, NODE_FIELD_MANAGER, &a->api, err);
    a->api.rng = &a->rng;
    if (r == 0)
        r = operations_new(&n, &a->ops, err);
    if (r == 0)
        r = open_recorder(a, err);
    if (r == 0)
        r = open_metrics(a, err);
    if (r == 0)
        r = open_informers(a, err);
    if (r == 0)
        r = open_modules(a, err);
    if (r < 0)
        return r;
    *ret = TAKE(a);
    return 0;
}

void agent_start(struct agent *a)
{
    struct reconstruct_options o = { .loop = a->o.part.loop,
                                     .pool = a->o.pool,
                                     .plugins = a->o.plugins,
                                     .env = &a->env,
                                     .metrics = a->o.part.metrics,
                                     .done = on_disk_scanned,
                                     .ctx = a };
    struct error err;
    static const struct node_restored nothing;

    if (reconstruct_new(&o, &a->scan, &err) < 0)
        on_disk_scanned(a, &nothing, -(int)err.code, &err);
}

struct agent *agent_free(struct agent *a)
{
    struct omap_cursor at;

    if (!a)
        return NULL;
    loop_undefer(&a->pass);
    timer_disarm(&a->warnings);
    timer_disarm(&a->self_retry);
    api_write_cancel(&a->self_read);
    a->scan = reconstruct_free(a->scan);
    a->mounts = mount_check_free(a->mounts);
    a->static_pods = static_pods_free(a->static_pods);
    a->stats = stats_free(a->stats);
    a->orphans = orphans_free(a->orphans);
    a->registration = registration_free(a->registration);
    volume_op_cancel_all(a);
    pod_life_drop_hooks(a);
    for (struct node_pod *p = omap_first(&a->world.pods, &at); p; p = omap_next(&at))
        pod_free(p);
    node_world_done(&a->world);
    a->csi = node_csi_free(a->csi);
    a->contents = volume_sources_free(a->contents);
    a->pods = informer_free(a->pods);
    a->self = informer_free(a->self);
    a->ops = operations_free(a->ops);
    a->recorder = recorder_free(a->recorder);
    agent_clear_failed(a);
    unknown_mounts_done(&a->unknown);
    free(a->broken_plugins);
    free(a);
    return NULL;
}

int agent_check(const struct agent *a, struct error *err)
{
    if (!a->has_scanned)
        return error_set(err, ERR_UNAVAILABLE, "waiting for the scan of pod directories");
    if (!a->has_pods)
        return error_set(err, ERR_UNAVAILABLE, "waiting for the pods of node %s", a->o.name);
    return registration_is_done(a->registration)
               ? 0
               : error_set(err, ERR_UNAVAILABLE, "waiting for node %s to be registered", a->o.name);
}

void agent_write_stats(const struct agent *a, struct buf *out)
{
    stats_write(a->stats, out);
}
