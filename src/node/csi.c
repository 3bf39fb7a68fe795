/* Invariants: the plugin is in the registry from the start, without drivers; drivers are added only after the
 * Node exists and its CSINode can be written. A driver with a period for its volume limit has a timer while
 * it is registered. */
#include "node/csi.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "node/csi_int.h"
#include "plugins/csi/endpoints.h"

/* --- The plugin --- */

static void counted_free(struct volume_plugin *self)
{
    struct counted_plugin *p = (struct counted_plugin *)(void *)self;

    p->drivers = csi_drivers_free(p->drivers);
    free(p);
}

const struct object *node_csi_driver_object(const struct node_csi *c, const char *driver)
{
    return informer_get(c->drivers, "", driver);
}

const struct csi_driver *node_csi_driver(const struct node_csi *c, const char *driver)
{
    return (const struct csi_driver *)(const void *)node_csi_driver_object(c, driver);
}

static bool is_attach_required(void *ctx, const char *driver)
{
    const struct csi_driver *d = node_csi_driver(ctx, driver);

    return !d || d->attach_required;
}

static int open_plugin(struct node_csi *c, struct error *err)
{
    const struct csi_facts facts = { is_attach_required, c };
    struct counted_plugin *p = calloc(1, sizeof *p);
    int r;

    if (!p)
        return error_no_memory(err);
    r = csi_drivers_new(&p->drivers, err);
    if (r < 0) {
        counted_free(&p->csi.plugin);
        return r;
    }
    csi_plugin_init(&p->csi, p->drivers, c->o.rpc, &facts);
    p->csi.plugin.free = counted_free;
    p->csi.plugin.refs = 1;
    c->plugin = p;
    return registry_add(c->o.plugins, &p->csi.plugin, err);
}

bool node_csi_requires_remount(const struct node_csi *c, const struct volume_spec *s)
{
    struct volume_source source = spec_source(s);

    return source.kind == SOURCE_CSI && csi_requires_remount(node_csi_driver(c, source.csi->driver));
}

/* --- Periodic refresh of limits --- */

static void clock_on_time(void *ctx)
{
    struct driver_clock *k = ctx;
    const struct csi_driver *d = node_csi_driver(k->owner, k->driver);

    csi_registration_refresh(k->owner->registration, k->driver);
    if (d && d->allocatable_period_seconds > 0)
        timer_arm_after(&k->timer, (uint64_t)d->allocatable_period_seconds * NS_PER_S);
}

static void clock_free(struct driver_clock *k)
{
    timer_disarm(&k->timer);
    free(k->driver);
    free(k);
}

static size_t clock_at(const struct node_csi *c, const char *driver)
{
    size_t i = 0;

    while (i < c->clocks.count && strcmp(c->clocks.items[i]->driver, driver) != 0)
        i++;
    return i;
}

/* Without memory the driver has no timer until it registers again. */
static void clock_add(struct node_csi *c, const char *driver)
{
    struct driver_clock *k = calloc(1, sizeof *k);

    if (!k)
        return;
    k->owner = c;
    k->driver = strdup(driver);
    timer_init(&k->timer, c->o.part.loop, clock_on_time, k);
    if (!k->driver || vec_push(&c->clocks, k) < 0)
        clock_free(k);
}

/* The driver was registered, or its CSIDriver changed. */
static void clock_set(struct node_csi *c, const char *driver)
{
    const struct csi_driver *d = node_csi_driver(c, driver);
    size_t at = clock_at(c, driver);

    if (at == c->clocks.count)
        return; /* not registered */
    if (d && d->allocatable_period_seconds > 0)
        timer_arm_after(&c->clocks.items[at]->timer, (uint64_t)d->allocatable_period_seconds * NS_PER_S);
    else
        timer_disarm(&c->clocks.items[at]->timer);
}

void node_csi_refresh(struct node_csi *c, const char *driver)
{
    if (c->registration)
        csi_registration_refresh(c->registration, driver);
}

/* --- Driver registration --- */

static void on_registration_failed(void *ctx, const char *message)
{
    (void)ctx;
    log_warn("CSI driver registration failed", LOG_STR("reason", message));
}

/* Without memory the controllers of this process learn of the driver when it registers again. */
static void publish_endpoint(struct node_csi *c, const char *driver, bool is_registered)
{
    struct csi_endpoint found;
    struct error err;

    if (!c->o.endpoints)
        return;
    if (!is_registered)
        csi_endpoints_remove(c->o.endpoints, CSI_FROM_NODE, driver);
    else if (csi_drivers_find(c->plugin->drivers, driver, &found, &err) < 0 ||
             csi_endpoints_put(c->o.endpoints,
                               &(struct csi_known_endpoint){ CSI_FROM_NODE, driver, found.socket }, &err) < 0)
        log_error("cannot publish the socket of a CSI driver", LOG_STR("driver", driver), LOG_ERR(&err));
}

static void on_registered(void *ctx, const char *driver, bool is_registered)
{
    struct node_csi *c = ctx;
    size_t at = clock_at(c, driver);

    log_info(is_registered ? "CSI driver registered" : "CSI driver unregistered", LOG_STR("driver", driver));
    publish_endpoint(c, driver, is_registered);
    if (is_registered) {
        if (at == c->clocks.count)
            clock_add(c, driver);
        clock_set(c, driver);
    } else if (at < c->clocks.count) {
        clock_free(c->clocks.items[at]);
        vec_remove(&c->clocks, at);
    }
    c->o.changed(c->o.ctx, driver);
}

static void on_ready(void *ctx)
{
    struct node_csi *c = ctx;

    c->o.ready(c->o.ctx);
}

void node_csi_open(struct node_csi *c)
{
    const struct csi_registration_options o = {
        .loop = c->o.part.loop,
        .rpc = c->o.rpc,
        .client = c->o.part.client,
        .metrics = c->o.part.metrics,
        .drivers = c->plugin->drivers,
        .configured = c->o.configured,
        .configured_count = c->o.configured_count,
        .root = c->o.root,
        .node_name = c->o.node_name,
        .seed = component_seed(&c->o.part, "csi"),
        .complain = on_registration_failed,
        .on_change = on_registered,
        .on_ready = on_ready,
        .ctx = c,
    };
    struct error err;

    if (!c->registration && csi_registration_new(&o, &c->registration, &err) < 0)
        log_error("cannot watch CSI driver registrations",
                  LOG_ERR(&err)); /* the next event of the Node retries */
}

int node_csi_check(const struct node_csi *c, struct error *err)
{
    if (c->registration && csi_registration_is_ready(c->registration))
        return 0;
    return error_set(err, ERR_UNAVAILABLE, "CSINode is not yet initialized");
}

/* --- CSIDrivers --- */

static void on_driver_add(void *ctx, const struct object *o, bool is_initial)
{
    struct node_csi *c = ctx;

    clock_set(c, o->name);
    if (!is_initial)
        c->o.changed(c->o.ctx, o->name);
}

static void on_driver(void *ctx, const struct object *o)
{
    on_driver_add(ctx, o, /* is_initial= */ false);
}

static void on_drivers_synced(void *ctx)
{
    struct node_csi *c = ctx;

    c->o.known(c->o.ctx);
}

void node_csi_start(struct node_csi *c)
{
    informer_start(c->drivers);
}

static int open_drivers(struct node_csi *c, struct error *err)
{
    const struct component_deps *part = &c->o.part;
    const struct informer_options o = { .loop = part->loop,
                                        .client = part->client,
                                        .metrics = part->metrics,
                                        .seed = component_seed(part, "csi-drivers"),
                                        .kind = &csi_driver_kind,
                                        .streams_lists = c->o.streams_lists };
    int r = informer_new(&o, &c->drivers, err);

    if (r < 0)
        return r;
    c->handler = (struct informer_handler){ .on_add = on_driver_add,
                                            .on_upsert = on_driver,
                                            .on_removed = on_driver,
                                            .on_synced = on_drivers_synced,
                                            .ctx = c };
    informer_add_handler(c->drivers, &c->handler);
    return 0;
}

/* --- Start and end --- */

/* --- Metrics --- */

/* A call to the node service of a driver has ended. */
static void on_node_call(void *ctx, const struct rpc_observed *o)
{
    const struct node_csi *c = ctx;
    const char *migrated, *driver = csi_note_read(o->note, &migrated);

    metric_observe(metric_of(c->seconds, driver, o->method, rpc_code_name(o->code), migrated),
                   (double)o->duration_ns / (double)NS_PER_S);
}

static int open_metrics(struct node_csi *c, struct error *err)
{
    static const char *const labels[] = { "driver_name", "method_name", "grpc_status_code", "migrated",
                                          NULL };
    static const double bounds[] = { 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600 };
    static const struct metric_desc desc = {
        .name = "csi_operations_seconds",
        .help = "Container Storage Interface operation duration with gRPC error code status total",
        .type = METRIC_HISTOGRAM,
        .labels = labels,
        .bounds = bounds,
        .bounds_count = ARRAY_LEN(bounds),
    };
    int r = c->o.part.metrics ? metrics_share_family(c->o.part.metrics, &desc, &c->seconds, err) : 0;

    if (r == 0 && c->seconds)
        rpc_client_observe(c->o.rpc, on_node_call, c);
    return r;
}

int node_csi_new(const struct node_csi_options *o, struct node_csi **ret, struct error *err)
{
    _cleanup_(node_csi_free_p) struct node_csi *c = calloc(1, sizeof *c);
    int r;

    if (!c)
        return error_no_memory(err);
    c->o = *o;
    r = open_drivers(c, err);
    if (r == 0)
        r = open_plugin(c, err);
    if (r == 0)
        r = open_metrics(c, err);
    if (r < 0)
        return r;
    *ret = TAKE(c);
    return 0;
}

struct node_csi *node_csi_free(struct node_csi *c)
{
    if (!c)
        return NULL;
    assert(c->fetches == 0);
    if (c->seconds)
        rpc_client_observe(c->o.rpc, NULL, NULL);
    c->registration = csi_registration_free(c->registration);
    for (size_t i = 0; i < c->clocks.count; i++)
        clock_free(c->clocks.items[i]);
    vec_done(&c->clocks);
    c->drivers = informer_free(c->drivers);
    if (c->plugin) {
        c->plugin->csi.facts = (struct csi_facts){ 0 }; /* the informer is freed */
        (void)plugin_unref(&c->plugin->csi.plugin);
    }
    free(c);
    return NULL;
}
