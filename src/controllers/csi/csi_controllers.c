/* Creates and frees the functions of CSI drivers.
 *
 * All decisions are made by one pass, settle_all(), from the states of peers and leaders. Callbacks only
 * request a pass, except that a lost lease ends its function at once. Nothing is freed from within its own
 * callback: a leader that has ended is freed by the next pass.
 *
 * Invariant: a function exists only while its driver is ready and served and its leader leads; it has no
 * leader if the driver is deployed per node. */
#include "controllers/csi/csi_controllers.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/vec.h"
#include "controllers/csi/csi_state.h"
#include "controllers/csi/csi_topology.h"
#include "machinery/leader.h"

/* How long a lost driver keeps its leases: as long as those of a sidecar that has ended would last. */
#define LINGER_NS (15 * NS_PER_S)
/* After a function could not be created. */
#define RETRY_NS (1 * NS_PER_S)
/* A driver that is not ready for so long is reported. */
#define UNWELL_NS (30 * NS_PER_S)
#define COMPONENT "berth-csi"
#define LEASE_BYTES_MAX 256
#define WHY_BYTES 256
/* With the server in this process nobody else competes for a lease but a stock sidecar. */
#define LOCAL_LEASE_NS (180 * NS_PER_S)
#define LOCAL_RENEW_NS (120 * NS_PER_S)
#define LOCAL_RETRY_NS (60 * NS_PER_S)
#define STOCK_RETRY_NS (5 * NS_PER_S)

struct served_driver;

/* One function of one driver. */
struct function_slot {
    struct served_driver *driver;
    const struct csi_function_type *type;
    struct leader *leader; /* NULL: not standing for election */
    void *function;        /* NULL: it does not work */
    bool is_wanted;
    bool is_over; /* the leader has ended and is to be freed */
    char lease[LEASE_BYTES_MAX];
};

/* One socket. */
struct served_driver {
    struct csi_controllers *owner;
    struct csi_known_endpoint endpoint; /* owns its texts */
    bool is_listed;                     /* by the endpoints, at the last pass */
    bool is_serving;
    bool is_per_node; /* decided when it becomes ready: works for this node, without leases */
    enum csi_refusal refusal;
    char not_served[WHY_BYTES];
    struct csi_driver_settings settings;
    struct csi_peer *peer;
    struct timer linger; /* armed: lost, and its leases are kept */
    struct timer retry;
    struct timer unwell; /* armed: not ready, and not reported yet */
    bool is_reported;
    struct csi_function_options options;
    struct csi_state_record record; /* not open where the server is in this process */
    bool has_record;
    struct function_slot functions[CSI_FUNCTIONS_MAX];
};

struct csi_controllers {
    struct csi_controllers_options o;
    size_t types_count;
    bool is_started;
    VEC(struct served_driver *) all; /* in the order in which the sockets became known */
    struct deferred settle;
    struct informer *csi_drivers;
    struct recorder *recorder;
    /* With is_for_node: what decides whether a driver is deployed per node. */
    struct informer *nodes, *csi_nodes;
    struct informer_handler on_nodes, on_csi_nodes;
};

/* --- Settings --- */

void csi_driver_settings_complete(struct csi_driver_settings *s)
{
    s->timeout_ns = s->timeout_ns ? s->timeout_ns : 10 * NS_PER_S;
    s->attach_timeout_ns = s->attach_timeout_ns ? s->attach_timeout_ns : 15 * NS_PER_S;
    s->snapshot_timeout_ns = s->snapshot_timeout_ns ? s->snapshot_timeout_ns : 60 * NS_PER_S;
    s->retry_ns = s->retry_ns ? s->retry_ns : 1 * NS_PER_S;
    s->retry_ns_max = s->retry_ns_max ? s->retry_ns_max : 300 * NS_PER_S;
    s->reconcile_ns = s->reconcile_ns ? s->reconcile_ns : 60 * NS_PER_S;
    s->capacity_poll_ns = s->capacity_poll_ns ? s->capacity_poll_ns : 60 * NS_PER_S;
    s->health_poll_ns = s->health_poll_ns ? s->health_poll_ns : 60 * NS_PER_S;
    s->default_fs_type = s->default_fs_type ? s->default_fs_type : "";
    s->capacity_namespace = s->capacity_namespace ? s->capacity_namespace : "kube-system";
    s->name_prefix = s->name_prefix ? s->name_prefix : "pvc";
}

/* Those of the settings file; NULL: none. */
static const struct csi_driver_settings *find_settings(const struct csi_controllers *c, const char *driver)
{
    for (size_t i = 0; i < c->o.drivers_count; i++)
        if (strcmp(c->o.drivers[i].name, driver) == 0)
            return &c->o.drivers[i];
    return NULL;
}

static void settle_later(struct csi_controllers *c)
{
    loop_defer(&c->settle);
}

/* --- Functions --- */

void csi_queue_name(const char *queue, const struct csi_peer *p, char to[static CSI_QUEUE_BYTES])
{
    (void)snprintf(to, CSI_QUEUE_BYTES, "%s/%s", queue, csi_peer_name(p)); /* names of drivers are short */
}

static void function_close(struct function_slot *f)
{
    if (!f->function)
        return;
    f->type->free(f->function);
    f->function = NULL;
    log_info("CSI function ends", LOG_STR("driver", csi_peer_name(f->driver->peer)),
             LOG_STR("function", f->type->name));
}

static void function_open(struct function_slot *f)
{
    struct served_driver *d = f->driver;
    struct error err;

    if (f->type->new (&d->options, &f->function, &err) < 0) {
        f->function = NULL;
        log_error("cannot start CSI function", LOG_STR("driver", csi_peer_name(d->peer)),
                  LOG_STR("function", f->type->name), LOG_ERR(&err));
        timer_arm_after(&d->retry, RETRY_NS);
        return;
    }
    log_info("CSI function works", LOG_STR("driver", csi_peer_name(d->peer)),
             LOG_STR("function", f->type->name));
    f->type->start(f->function);
}

/* --- Elections --- */

static void on_lease_held(void *ctx)
{
    struct function_slot *f = ctx;

    settle_later(f->driver->owner);
}

static void on_lease_ended(void *ctx, bool is_lost)
{
    struct function_slot *f = ctx;

    if (is_lost)
        log_warn("CSI lease lost", LOG_STR("lease", f->lease),
                 LOG_STR("reason", leader_last_error(f->leader)));
    function_close(f);
    f->is_over = true;
    settle_later(f->driver->owner);
}

static void on_lease_of_other(void *ctx, const char *holder)
{
    const struct function_slot *f = ctx;

    log_info("CSI function stands by: another process holds its lease",
             LOG_STR("driver", csi_peer_name(f->driver->peer)), LOG_STR("function", f->type->name),
             LOG_STR("lease", f->lease), LOG_STR("holder", holder));
}

static int name_lease(struct function_slot *f, struct error *err)
{
    _cleanup_(buf_done_p) struct buf name = BUF_INIT(LEASE_BYTES_MAX - 1);
    int r = f->type->lease_name(csi_peer_name(f->driver->peer), &name, err);

    if (r == 0)
        r = buf_check(&name, "the name of a lease", err);
    if (r == 0)
        (void)snprintf(f->lease, sizeof f->lease, "%s", buf_cstr(&name));
    return r;
}

static void election_begin(struct function_slot *f)
{
    const struct csi_controllers_options *o = &f->driver->owner->o;
    struct leader_options l = { .loop = o->part.loop,
                                .clock = o->part.clock,
                                .client = o->part.client,
                                .metrics = o->part.metrics,
                                .ns = o->lease_ns,
                                .name = f->lease,
                                .identity = o->identity,
                                .lease_ns = o->lease_duration_ns,
                                .renew_ns = o->renew_deadline_ns,
                                .retry_ns = o->retry_period_ns,
                                .wait_ns = STOCK_RETRY_NS,
                                .on_started = on_lease_held,
                                .on_stopped = on_lease_ended,
                                .on_standby = on_lease_of_other,
                                .ctx = f };
    struct error err;
    int r = name_lease(f, &err);

    if (o->part.is_local && !o->lease_duration_ns) {
        l.lease_ns = LOCAL_LEASE_NS;
        l.renew_ns = LOCAL_RENEW_NS;
        l.retry_ns = LOCAL_RETRY_NS;
    }
    l.seed = component_seed(&o->part, f->lease);
    if (r == 0)
        r = leader_new(&l, &f->leader, &err);
    if (r < 0) {
        log_error("cannot stand for election", LOG_STR("lease", f->lease), LOG_ERR(&err));
        timer_arm_after(&f->driver->retry, RETRY_NS);
        return;
    }
    leader_start(f->leader);
}

/* Without a release: the process ends, or continues with another socket of the driver. */
static void election_drop(struct function_slot *f)
{
    function_close(f);
    f->leader = leader_free(f->leader);
    f->is_over = false;
}

/* --- Drivers --- */

static void on_peer_change(void *ctx, struct csi_peer *p)
{
    struct served_driver *d = ctx;

    (void)p;
    settle_later(d->owner);
}

static void on_linger(void *ctx)
{
    struct served_driver *d = ctx;

    settle_later(d->owner);
}

/* On the CSIDriver, if there is one. */
static void on_unwell(void *ctx)
{
    struct served_driver *d = ctx;
    const char *name = csi_peer_name(d->peer)[0] ? csi_peer_name(d->peer) : d->endpoint.driver;
    const char *reason = csi_peer_last_error(d->peer);
    const struct object *o = name[0] ? informer_get(d->owner->csi_drivers, "", name) : NULL;

    d->is_reported = true;
    log_warn("CSI driver is not ready", LOG_STR("driver", name), LOG_STR("socket", d->endpoint.socket),
             LOG_STR("state", csi_peer_state_names[csi_peer_state(d->peer)]), LOG_STR("reason", reason));
    if (o)
        recorder_event(d->owner->recorder, o, EVENT_WARNING, "DriverNotReady",
                       "CSI driver is not ready for over %u s: %s", (unsigned)(UNWELL_NS / NS_PER_S),
                       reason[0] ? reason : csi_peer_state_names[csi_peer_state(d->peer)]);
}

static void watch_readiness(struct served_driver *d)
{
    if (csi_peer_state(d->peer) == CSI_PEER_READY) {
        timer_disarm(&d->unwell);
        d->is_reported = false;
    } else if (!d->is_reported && !timer_is_armed(&d->unwell)) {
        timer_arm_after(&d->unwell, UNWELL_NS);
    }
}

static struct served_driver *driver_free(struct served_driver *d)
{
    if (!d)
        return NULL;
    for (size_t i = 0; i < d->owner->types_count; i++)
        election_drop(&d->functions[i]);
    d->peer = csi_peer_free(d->peer);
    if (d->has_record)
        csi_state_close(&d->record);
    timer_disarm(&d->linger);
    timer_disarm(&d->retry);
    timer_disarm(&d->unwell);
    free((char *)(uintptr_t)d->endpoint.driver);
    free((char *)(uintptr_t)d->endpoint.socket);
    free(d);
    return NULL;
}

/* The limits of calls in flight are those of the driver that the endpoint names. */
static int open_peer(struct served_driver *d, struct error *err)
{
    const struct csi_controllers_options *o = &d->owner->o;
    const struct csi_driver_settings *s = find_settings(d->owner, d->endpoint.driver);
    const struct csi_peer_options p = { .loop = o->part.loop,
                                        .rpc = o->rpc,
                                        .metrics = o->part.metrics,
                                        .name = d->endpoint.driver[0] ? d->endpoint.driver : NULL,
                                        .socket = d->endpoint.socket,
                                        .creates_max = s ? s->creates_max : 0,
                                        .others_max = s ? s->others_max : 0,
                                        .on_change = on_peer_change,
                                        .ctx = d };

    return csi_peer_new(&p, &d->peer, err);
}

static int open_record(struct served_driver *d, struct error *err)
{
    if (d->owner->o.part.is_local)
        return 0;
    d->record = (struct csi_state_record){
        .part = d->owner->o.part, .by = d->owner->o.identity, .on_due = on_linger, .ctx = d
    };
    d->has_record = true;
    return csi_state_open(&d->record, err);
}

static struct served_driver *driver_new(struct csi_controllers *c, const struct csi_known_endpoint *known,
                                        struct error *err)
{
    struct served_driver *d = calloc(1, sizeof *d);

    if (!d) {
        (void)error_no_memory(err);
        return NULL;
    }
    d->owner = c;
    d->endpoint = (struct csi_known_endpoint){ known->origin, strdup(known->driver), strdup(known->socket) };
    for (size_t i = 0; i < c->types_count; i++)
        d->functions[i] = (struct function_slot){ .driver = d, .type = c->o.types[i] };
    timer_init(&d->linger, c->o.part.loop, on_linger, d);
    timer_init(&d->retry, c->o.part.loop, on_linger, d);
    timer_init(&d->unwell, c->o.part.loop, on_unwell, d);
    if (!d->endpoint.driver || !d->endpoint.socket) {
        (void)error_no_memory(err);
        return driver_free(d);
    }
    return open_peer(d, err) < 0 || open_record(d, err) < 0 ? driver_free(d) : d;
}

/* --- Endpoints --- */

/* A controller socket of the settings replaces the registered one of the driver. */
static bool is_endpoint_used(const struct csi_controllers *c, const struct csi_known_endpoint *known)
{
    const struct csi_driver_settings *s = find_settings(c, known->driver);

    return !s || (!s->is_off && (known->origin == CSI_FROM_SETTINGS || !s->socket));
}

static struct served_driver *find_driver(const struct csi_controllers *c,
                                         const struct csi_known_endpoint *known)
{
    for (size_t i = 0; i < c->all.count; i++) {
        const struct csi_known_endpoint *e = &c->all.items[i]->endpoint;

        if (strcmp(e->socket, known->socket) == 0 && strcmp(e->driver, known->driver) == 0)
            return c->all.items[i];
    }
    return NULL;
}

static void add_driver(struct csi_controllers *c, const struct csi_known_endpoint *known)
{
    struct served_driver *d = NULL;
    struct error err = { 0 };

    if (c->all.count >= CSI_DRIVERS_MAX)
        (void)error_set(&err, ERR_TOO_LARGE, "more than %d CSI drivers", CSI_DRIVERS_MAX);
    else
        d = driver_new(c, known, &err);
    if (d && vec_push(&c->all, d) < 0) {
        (void)error_no_memory(&err);
        d = driver_free(d);
    }
    if (!d) {
        log_error("cannot serve CSI driver", LOG_STR("socket", known->socket), LOG_ERR(&err));
        return;
    }
    d->is_listed = true;
}

/* The drivers are those of the endpoints. */
static void update_drivers(struct csi_controllers *c)
{
    size_t count = csi_endpoints_count(c->o.endpoints);

    for (size_t i = 0; i < c->all.count; i++)
        c->all.items[i]->is_listed = false;
    for (size_t i = 0; i < count; i++) {
        const struct csi_known_endpoint *known = csi_endpoints_at(c->o.endpoints, i);
        struct served_driver *d = find_driver(c, known);

        if (!is_endpoint_used(c, known))
            continue;
        if (d)
            d->is_listed = true;
        else
            add_driver(c, known);
    }
    for (size_t i = c->all.count; i > 0; i--)
        if (!c->all.items[i - 1]->is_listed) {
            (void)driver_free(c->all.items[i - 1]);
            vec_remove(&c->all, i - 1);
        }
}

/* --- The pass --- */

static bool is_ready(const struct served_driver *d)
{
    return csi_peer_state(d->peer) == CSI_PEER_READY;
}

/* Another socket of the same driver that serves it, or was known before and is ready too. */
static const struct served_driver *find_rival(const struct served_driver *d)
{
    const struct csi_controllers *c = d->owner;
    bool is_older = true;

    for (size_t i = 0; i < c->all.count; i++) {
        const struct served_driver *other = c->all.items[i];

        is_older = is_older && other != d;
        if (other != d && is_ready(other) && (other->is_serving || is_older) &&
            strcmp(csi_peer_name(other->peer), csi_peer_name(d->peer)) == 0)
            return other;
    }
    return NULL;
}

/* Of a ready driver. */
static bool is_per_node(const struct served_driver *d)
{
    const struct csi_controllers *c = d->owner;
    const struct csi_driver_settings *s = find_settings(c, csi_peer_name(d->peer));
    const struct csi_segments_request q = { .driver = csi_peer_name(d->peer),
                                            .node_name = c->o.node_name,
                                            .nodes = c->nodes,
                                            .csi_nodes = c->csi_nodes };

    if (!c->o.node_name)
        return false;
    return (s && s->is_node_deployment) || (c->o.is_for_node && csi_topology_is_of_node(&q));
}

/* Of a ready driver. ret: in words. */
static enum csi_refusal decide_service(const struct served_driver *d, char ret[WHY_BYTES])
{
    const struct csi_driver_settings *s = find_settings(d->owner, csi_peer_name(d->peer));
    const struct served_driver *rival = d->is_serving ? NULL : find_rival(d);

    ret[0] = '\0';
    if (s && s->is_off) {
        (void)snprintf(ret, WHY_BYTES, "the settings switch the controller of this driver off");
        return CSI_SWITCHED_OFF;
    }
    if (d->endpoint.origin == CSI_FROM_NODE && !csi_peer_can(d->peer, CSI_ABILITY_CONTROLLER)) {
        (void)snprintf(ret, WHY_BYTES, "the driver has no controller service");
        return CSI_WITHOUT_CONTROLLER;
    }
    if (d->owner->o.is_for_node && !is_per_node(d)) {
        (void)snprintf(
            ret, WHY_BYTES,
            "the driver is not deployed per node: it has other topology keys than the node's name");
        return CSI_NOT_PER_NODE;
    }
    if (!rival)
        return CSI_SERVED;
    (void)snprintf(ret, WHY_BYTES, "the driver is served through another socket, %.180s",
                   rival->endpoint.socket);
    return CSI_SECOND_SOCKET;
}

static void begin_service(struct served_driver *d)
{
    struct csi_controllers *c = d->owner;
    const struct csi_driver_settings *s = find_settings(c, csi_peer_name(d->peer));

    d->settings = s ? *s : (struct csi_driver_settings){ 0 };
    d->settings.name = csi_peer_name(d->peer);
    if (!d->settings.capacity_namespace)
        d->settings.capacity_namespace = c->o.lease_ns; /* that of the driver, or kube-system */
    csi_driver_settings_complete(&d->settings);
    d->is_per_node = is_per_node(d);
    d->options = (struct csi_function_options){ .part = c->o.part,
                                                .peer = d->peer,
                                                .settings = &d->settings,
                                                .loop = c->o.loop,
                                                .record_ns = c->o.lease_ns,
                                                .node_name = d->is_per_node ? c->o.node_name : NULL,
                                                .identity = c->o.identity,
                                                .pod_name = c->o.pod_name };
    /* Another socket has the leases of the driver if it was lost a moment ago. */
    for (size_t i = 0; i < c->all.count; i++) {
        struct served_driver *other = c->all.items[i];

        if (other == d || is_ready(other) || strcmp(csi_peer_name(other->peer), csi_peer_name(d->peer)) != 0)
            continue;
        timer_disarm(&other->linger);
        for (size_t k = 0; k < c->types_count; k++)
            election_drop(&other->functions[k]);
    }
    for (size_t i = 0; i < c->types_count; i++)
        d->functions[i].is_wanted = (d->functions[i].type->is_per_node || !d->is_per_node) &&
                                    d->functions[i].type->is_wanted(d->peer, &d->settings);
    log_info("CSI driver is ready", LOG_STR("driver", csi_peer_name(d->peer)),
             LOG_STR("socket", d->endpoint.socket));
}

/* Whether the driver is served through this socket now; why a ready one is not is in d->not_served. */
static void update_service(struct served_driver *d)
{
    bool was_serving = d->is_serving;
    char why[WHY_BYTES] = "";

    d->refusal = CSI_SERVED;
    if (is_ready(d)) {
        d->refusal = decide_service(d, why);
        if (strcmp(why, d->not_served) != 0 && why[0])
            log_warn("CSI driver is not served", LOG_STR("driver", csi_peer_name(d->peer)),
                     LOG_STR("socket", d->endpoint.socket), LOG_STR("reason", why));
    }
    (void)snprintf(d->not_served, sizeof d->not_served, "%s", why);
    d->is_serving = is_ready(d) && !why[0];
    if (d->is_serving && !was_serving) {
        timer_disarm(&d->linger);
        begin_service(d);
    } else if (was_serving && !d->is_serving && !is_ready(d)) {
        log_warn("CSI driver is lost", LOG_STR("driver", csi_peer_name(d->peer)),
                 LOG_STR("socket", d->endpoint.socket), LOG_STR("reason", csi_peer_last_error(d->peer)));
        timer_arm_after(&d->linger, LINGER_NS);
    }
}

/* A driver that is deployed per node has no rivals: they have other nodes. */
static bool may_work(const struct function_slot *f)
{
    return f->driver->is_per_node || (f->leader && leader_state(f->leader) == LEADER_LEADING);
}

static void update_function(struct function_slot *f)
{
    const struct served_driver *d = f->driver;
    bool needs_lease = f->is_wanted && !d->is_per_node;
    bool keeps_lease = needs_lease && (d->is_serving || timer_is_armed(&d->linger));

    if (f->is_over)
        election_drop(f);
    if (!d->is_serving || !f->is_wanted)
        function_close(f);
    if (!keeps_lease && f->leader)
        leader_stop(f->leader); /* on_lease_ended() follows, once */
    else if (d->is_serving && needs_lease && !f->leader)
        election_begin(f);
    if (d->is_serving && f->is_wanted && !f->function && may_work(f))
        function_open(f);
}

/* By the process that holds a lease of the driver. */
static void update_record(struct csi_controllers *c, size_t i)
{
    struct served_driver *d = c->all.items[i];
    struct csi_driver_state s;
    bool is_leader = false;

    for (size_t k = 0; k < c->types_count; k++)
        is_leader |= d->functions[k].leader && leader_state(d->functions[k].leader) == LEADER_LEADING;
    if (is_leader && d->has_record && csi_controllers_driver(c, i, &s))
        csi_state_update(&d->record, &s);
}

static void settle_all(void *ctx)
{
    struct csi_controllers *c = ctx;

    if (!c->is_started)
        return;
    update_drivers(c);
    for (size_t i = 0; i < c->all.count; i++) {
        watch_readiness(c->all.items[i]);
        update_service(c->all.items[i]);
    }
    for (size_t i = 0; i < c->all.count; i++)
        for (size_t k = 0; k < c->types_count; k++)
            update_function(&c->all.items[i]->functions[k]);
    for (size_t i = 0; i < c->all.count; i++)
        update_record(c, i);
}

/* --- Life --- */

static void on_endpoints(void *ctx)
{
    settle_later(ctx);
}

static void on_node_update(void *ctx, const struct object *old, const struct object *o)
{
    const struct csi_controllers *c = ctx;

    if (strcmp(o->name, c->o.node_name) == 0 && !kvs_equal(&old->labels, &o->labels))
        settle_later(ctx);
}

static void on_own_node(void *ctx, const struct object *o)
{
    const struct csi_controllers *c = ctx;

    if (strcmp(o->name, c->o.node_name) == 0)
        settle_later(ctx);
}

static int open_nodes(struct csi_controllers *c, struct error *err)
{
    if (!c->o.is_for_node)
        return 0;
    assert(c->o.node_name);
    c->nodes = informers_get(c->o.part.informers, KIND_NODE, err);
    c->csi_nodes = c->nodes ? informers_get(c->o.part.informers, KIND_CSI_NODE, err) : NULL;
    return c->csi_nodes ? 0 : -(int)err->code;
}

static void watch_nodes(struct csi_controllers *c)
{
    c->on_nodes =
        (struct informer_handler){ .on_update = on_node_update, .on_removed = on_own_node, .ctx = c };
    c->on_csi_nodes =
        (struct informer_handler){ .on_upsert = on_own_node, .on_removed = on_own_node, .ctx = c };
    if (!c->nodes)
        return;
    informer_add_handler(c->nodes, &c->on_nodes);
    informer_add_handler(c->csi_nodes, &c->on_csi_nodes);
}

int csi_controllers_new(const struct csi_controllers_options *o, struct csi_controllers **ret,
                        struct error *err)
{
    _cleanup_(csi_controllers_free_p) struct csi_controllers *c = calloc(1, sizeof *c);
    int r = 0;

    if (!c)
        return error_no_memory(err);
    c->o = *o;
    deferred_init(&c->settle, o->part.loop, settle_all, c);
    if (!o->part.is_local && !informers_get(o->part.informers, KIND_CSI_DRIVER, err))
        r = -(int)err->code;
    for (; r == 0 && o->types[c->types_count]; c->types_count++) {
        assert(c->types_count < CSI_FUNCTIONS_MAX);
        if (o->types[c->types_count]->prepare)
            r = o->types[c->types_count]->prepare(&o->part, err);
    }
    if (r == 0)
        r = open_nodes(c, err);
    if (r == 0)
        r = component_recorder(&o->part, COMPONENT, &c->recorder, err);
    c->csi_drivers = r == 0 ? informers_get(o->part.informers, KIND_CSI_DRIVER, err) : NULL;
    if (r == 0 && !c->csi_drivers)
        r = -(int)err->code;
    if (r < 0)
        return r;
    csi_endpoints_watch(o->endpoints, on_endpoints, c);
    *ret = TAKE(c);
    return 0;
}

void csi_controllers_start(struct csi_controllers *c)
{
    c->is_started = true;
    watch_nodes(c);
    settle_later(c);
}

struct csi_controllers *csi_controllers_free(struct csi_controllers *c)
{
    if (!c)
        return NULL;
    csi_endpoints_watch(c->o.endpoints, NULL, NULL);
    informer_remove_handler(&c->on_nodes);
    informer_remove_handler(&c->on_csi_nodes);
    for (size_t i = 0; i < c->all.count; i++)
        (void)driver_free(c->all.items[i]);
    vec_done(&c->all);
    loop_undefer(&c->settle);
    recorder_free(c->recorder);
    free(c);
    return NULL;
}

const char *csi_controllers_check(const struct csi_controllers *c)
{
    for (size_t i = 0; i < c->all.count; i++) {
        const struct served_driver *d = c->all.items[i];
        const char *wrong = csi_peer_check(d->peer);

        for (size_t k = 0; k < c->types_count && !wrong; k++) {
            const struct function_slot *f = &d->functions[k];

            if (f->function && !may_work(f))
                wrong = "a CSI function works without its lease";
            else if (f->function && f->type->check)
                wrong = f->type->check(f->function);
        }
        if (wrong)
            return wrong;
    }
    return NULL;
}

/* --- For explanations --- */

bool csi_controllers_driver(const struct csi_controllers *c, size_t i, struct csi_driver_state *ret)
{
    const struct served_driver *d;

    if (i >= c->all.count)
        return false;
    d = c->all.items[i];
    *ret = (struct csi_driver_state){ .name = csi_peer_name(d->peer),
                                      .socket = d->endpoint.socket,
                                      .state = csi_peer_state(d->peer),
                                      .since_ns = csi_peer_since_ns(d->peer),
                                      .last_error = csi_peer_last_error(d->peer),
                                      .calls_in_flight = csi_peer_calls_in_flight(d->peer),
                                      .peer = d->peer,
                                      .refusal = d->refusal,
                                      .not_served = d->not_served };
    if (!ret->name[0])
        ret->name = d->endpoint.driver;
    for (; ret->functions_count < c->types_count; ret->functions_count++) {
        const struct function_slot *f = &d->functions[ret->functions_count];

        ret->functions[ret->functions_count] =
            (struct csi_function_state){ .name = f->type->name,
                                         .lease = f->lease,
                                         .holder = f->leader ? leader_holder(f->leader) : "",
                                         .is_wanted = f->is_wanted,
                                         .is_working = f->function != NULL };
    }
    return true;
}

bool csi_controllers_explain(const struct csi_controllers *c, const char *driver, const char *function,
                             const struct object *about, struct csi_work_state *ret)
{
    for (size_t i = 0; i < c->all.count; i++) {
        const struct served_driver *d = c->all.items[i];

        if (!d->is_serving || strcmp(csi_peer_name(d->peer), driver) != 0)
            continue;
        for (size_t k = 0; k < c->types_count; k++) {
            const struct function_slot *f = &d->functions[k];

            if (!f->function || !f->type->explain || strcmp(f->type->name, function) != 0)
                continue;
            (void)csi_peer_explain(d->peer, about->uid, ret);
            return f->type->explain(f->function, about, ret);
        }
    }
    return false;
}
