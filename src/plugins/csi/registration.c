/* Invariants: a socket has at most one call on the pool; all changes of the API's objects go through one
 * csi_install, one after the other; the table of drivers holds a driver from describing until it leaves. */
#include "plugins/csi/registration.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "base/vec.h"
#include "plugins/csi/csi_int.h"
#include "plugins/csi/install.h"
#include "plugins/csi/pooled_call.h"
#include "plugins/csi/socket_watch.h"

#define REGISTRY_DIR "plugins_registry"
#define GET_INFO_LIMIT_NS (1 * NS_PER_S)
#define NOTIFY_LIMIT_NS (5 * NS_PER_S)
#define BACKOFF_NS (500 * NS_PER_MS)
#define BACKOFF_NS_MAX (122 * NS_PER_S)
#define READY_BACKOFF_NS (30 * NS_PER_MS)
#define READY_BACKOFF_NS_MAX (10 * NS_PER_S)
#define SCAN_BYTES_MAX ((size_t)8 << 20)
#define TOPOLOGY_MAX 64

enum registrar_state {
    REGISTRAR_IDLE,
    REGISTRAR_ASKING,
    REGISTRAR_DESCRIBING,
    REGISTRAR_INSTALLING,
    REGISTRAR_UNDOING,
    REGISTRAR_CONFIRMING,
    REGISTRAR_REFUSING,
    REGISTRAR_REGISTERED,
    REGISTRAR_LEAVING,
};

struct registrar {
    struct csi_registration *owner;
    enum registrar_state state;
    bool is_there;             /* the socket, at the last look */
    bool is_told;              /* to on_change: registered */
    bool must_begin_anew;      /* its place in the table is lost */
    struct host_socket there;  /* that one */
    struct host_socket served; /* the one that is being registered */
    struct csi_pooled *call;
    struct timer retry;
    uint64_t backoff_ns; /* 0: nothing has failed */
    char refusal[ERROR_MSG_BYTES_MAX * 2];
    char driver[CSI_DRIVER_NAME_BYTES]; /* "" until it is in the table */
    char endpoint[PATH_MAX];
    Csi__V1__NodeGetInfoResponse *info; /* between describing and the end of installing */
    char path[];
};

struct csi_registration {
    struct csi_registration_options o;
    struct socket_watch *watch;
    struct rng rng;
    struct csi_install install;
    struct registrar *installing; /* whose; NULL for the node's own */
    bool is_ready;
    struct timer ready_retry;
    uint64_t ready_backoff_ns;
    VEC(struct registrar *) all;
    struct deferred pump; /* looks at all of them */
    char *node_name;
};

static void begin_refuse(struct registrar *x);
static void begin_undo(struct registrar *x);

static void complain(const struct csi_registration *g, const char *about, const char *what)
{
    char message[ERROR_MSG_BYTES_MAX * 3];

    if (!g->o.complain)
        return;
    (void)snprintf(message, sizeof message, "%s: %s", about, what);
    g->o.complain(g->o.ctx, message);
}

/* --- States --- */

/* Looks at all of them in a later turn: what one waited for may be there. */
static void set_state(struct registrar *x, enum registrar_state next)
{
    x->state = next;
    loop_defer(&x->owner->pump);
}

/* Twice as long each time. */
static void retry_later(struct timer *t, uint64_t *backoff_ns, uint64_t first_ns, uint64_t max_ns)
{
    *backoff_ns = *backoff_ns ? *backoff_ns * 2 : first_ns;
    if (*backoff_ns > max_ns)
        *backoff_ns = max_ns;
    timer_arm_after(t, *backoff_ns);
}

static void enter_idle_after_failure(struct registrar *x)
{
    retry_later(&x->retry, &x->backoff_ns, BACKOFF_NS, BACKOFF_NS_MAX);
    set_state(x, REGISTRAR_IDLE);
}

static void drop_info(struct registrar *x)
{
    if (x->info)
        protobuf_c_message_free_unpacked(&x->info->base, NULL);
    x->info = NULL;
}

/* Does another socket stand for the same driver? Then it stays in the table when this one goes. */
static bool has_other(const struct registrar *x)
{
    for (size_t i = 0; i < x->owner->all.count; i++) {
        const struct registrar *y = x->owner->all.items[i];
        if (y != x && strcmp(y->driver, x->driver) == 0)
            return true;
    }
    return false;
}

/* --- Calls on the pool --- */

static void on_call(void *ctx, int r, ProtobufCMessage **answer, const struct error *err);

static int call_begin(struct registrar *x, enum csi_method method, const char *socket, uint64_t limit_ns,
                      const char *refusal, struct error *err)
{
    const struct csi_pooled_options o = {
        .pool = x->owner->o.pool,
        .method = method,
        .socket = socket,
        .limit_ns = limit_ns,
        .refusal = refusal,
        .done = on_call,
        .ctx = x,
    };

    assert(!x->call);
    return csi_pooled_begin(&o, &x->call, err);
}

/* --- The steps: each begins, and names the state --- */

static void begin_ask(struct registrar *x)
{
    struct error err = { 0 };

    x->served = x->there;
    if (call_begin(x, CSI_REGISTRATION_INFO, x->path, GET_INFO_LIMIT_NS, NULL, &err) < 0) {
        complain(x->owner, x->path, err.msg);
        enter_idle_after_failure(x);
        return;
    }
    set_state(x, REGISTRAR_ASKING);
}

static void begin_describe(struct registrar *x)
{
    struct error err = { 0 };

    if (call_begin(x, CSI_NODE_INFO, x->endpoint, CSI_CALL_LIMIT_NS, NULL, &err) < 0) {
        (void)snprintf(x->refusal, sizeof x->refusal,
                       "RegisterPlugin error -- plugin registration failed with err: %s", err.msg);
        begin_undo(x);
        return;
    }
    set_state(x, REGISTRAR_DESCRIBING);
}

/* Out of the table. Another socket that stands for the same driver begins anew, since the table had one. */
static void forget_driver(struct registrar *x)
{
    struct csi_registration *g = x->owner;

    csi_drivers_remove(g->o.drivers, x->driver);
    for (size_t i = 0; i < g->all.count; i++) {
        struct registrar *y = g->all.items[i];
        if (y != x && strcmp(y->driver, x->driver) == 0)
            y->must_begin_anew = true;
    }
}

/* The driver is forgotten, and what the API may know of it. */
static void begin_undo(struct registrar *x)
{
    drop_info(x);
    forget_driver(x);
    set_state(x, REGISTRAR_UNDOING);
}

static void begin_leave(struct registrar *x)
{
    struct csi_registration *g = x->owner;

    forget_driver(x);
    if (g->o.on_change && x->is_told)
        g->o.on_change(g->o.ctx, x->driver, false);
    x->is_told = x->must_begin_anew = false;
    set_state(x, REGISTRAR_LEAVING);
}

static void begin_confirm(struct registrar *x)
{
    struct error err = { 0 };

    if (call_begin(x, CSI_REGISTRATION_NOTIFY, x->path, NOTIFY_LIMIT_NS, NULL, &err) < 0)
        begin_leave(x);
    else
        set_state(x, REGISTRAR_CONFIRMING);
}

/* Whether it hears of it or not: it is asked again later. */
static void begin_refuse(struct registrar *x)
{
    struct error err = { 0 };

    complain(x->owner, x->path, x->refusal);
    if (call_begin(x, CSI_REGISTRATION_NOTIFY, x->path, NOTIFY_LIMIT_NS, x->refusal, &err) < 0)
        enter_idle_after_failure(x);
    else
        set_state(x, REGISTRAR_REFUSING);
}

/* --- What came of a step --- */

static int take_in(struct registrar *x, const Pluginregistration__PluginInfo *m, struct error *err)
{
    const struct texts versions = { (const char *const *)m->supported_versions,
                                    (uint32_t)m->n_supported_versions };
    struct csi_drivers *drivers = x->owner->o.drivers;
    struct csi_version version;
    int r = csi_drivers_check(drivers, "ValidatePlugin", m->name, versions, &version, err);

    if (r < 0)
        return r;
    (void)snprintf(x->endpoint, sizeof x->endpoint, "%s", m->endpoint[0] ? m->endpoint : x->path);
    r = csi_drivers_put(drivers, m->name, x->endpoint, version, err);
    if (r == 0)
        (void)snprintf(x->driver, sizeof x->driver, "%s", m->name);
    return r;
}

static void on_asked(struct registrar *x, const Pluginregistration__PluginInfo *m)
{
    struct error err = { 0 };

    if (strcmp(m->type, "CSIPlugin") != 0) {
        (void)snprintf(x->refusal, sizeof x->refusal,
                       "RegisterPlugin error -- no handler registered for plugin type: %.64s at socket %s",
                       m->type, x->path);
        begin_refuse(x);
    } else if (take_in(x, m, &err) < 0) {
        (void)snprintf(x->refusal, sizeof x->refusal,
                       "RegisterPlugin error -- plugin validation failed with err: %s", err.msg);
        begin_refuse(x);
    } else {
        begin_describe(x);
    }
}

static void fail_registration(struct registrar *x, const char *why)
{
    (void)snprintf(x->refusal, sizeof x->refusal,
                   "RegisterPlugin error -- plugin registration failed with err: %s", why);
    begin_undo(x);
}

static void on_described(struct registrar *x, ProtobufCMessage **answer)
{
    x->info = (Csi__V1__NodeGetInfoResponse *)(void *)TAKE(*answer);
    if (x->info->max_volumes_per_node < 0)
        complain(x->owner, x->driver, "the number of volumes that it reports is negative");
    set_state(x, REGISTRAR_INSTALLING);
}

static void on_confirmed(struct registrar *x, int r)
{
    struct csi_registration *g = x->owner;

    if (r < 0) {
        x->backoff_ns = x->backoff_ns ? x->backoff_ns : BACKOFF_NS / 2; /* doubled when it has left */
        begin_leave(x);
        return;
    }
    x->backoff_ns = 0;
    x->is_told = true;
    set_state(x, REGISTRAR_REGISTERED);
    if (g->o.on_change)
        g->o.on_change(g->o.ctx, x->driver, true);
}

static void on_call(void *ctx, int r, ProtobufCMessage **answer, const struct error *err)
{
    struct registrar *x = ctx;

    x->call = NULL;
    if (x->state == REGISTRAR_ASKING && r == 0) {
        on_asked(x, (const Pluginregistration__PluginInfo *)(const void *)*answer);
    } else if (x->state == REGISTRAR_ASKING) {
        complain(x->owner, x->path, err->msg);
        enter_idle_after_failure(x);
    } else if (x->state == REGISTRAR_DESCRIBING && r == 0) {
        on_described(x, answer);
    } else if (x->state == REGISTRAR_DESCRIBING) {
        fail_registration(x, err->msg);
    } else if (x->state == REGISTRAR_CONFIRMING) {
        on_confirmed(x, r);
    } else {
        assert(x->state == REGISTRAR_REFUSING);
        enter_idle_after_failure(x);
    }
}

/* --- The API's objects --- */

/* What was failed for has its words already; what is left behind is no worse than before. */
static void on_undone(struct registrar *x)
{
    x->driver[0] = '\0';
    begin_refuse(x);
}

static void on_left(struct registrar *x, int r, const struct error *err)
{
    if (r < 0 && !x->is_there) {
        complain(x->owner, x->path, err->msg);
        retry_later(&x->retry, &x->backoff_ns, BACKOFF_NS, BACKOFF_NS_MAX);
        return;
    }
    x->driver[0] = '\0';
    if (x->is_there && host_socket_is_same(&x->there, &x->served) && x->backoff_ns)
        retry_later(&x->retry, &x->backoff_ns, BACKOFF_NS, BACKOFF_NS_MAX); /* it could not be told */
    set_state(x, REGISTRAR_IDLE);
}

static void on_installed(void *ctx, int r, const struct error *err)
{
    struct csi_registration *g = ctx;
    struct registrar *x = g->installing;

    g->installing = NULL;
    loop_defer(&g->pump);
    if (x && x->state == REGISTRAR_INSTALLING && r < 0) {
        fail_registration(x, err->msg);
    } else if (x && x->state == REGISTRAR_INSTALLING) {
        drop_info(x);
        begin_confirm(x);
    } else if (x && x->state == REGISTRAR_UNDOING) {
        on_undone(x);
    } else if (x) {
        on_left(x, r, err);
    } else if (r < 0) {
        complain(g, "CSINode is not yet initialized", err->msg);
        retry_later(&g->ready_retry, &g->ready_backoff_ns, READY_BACKOFF_NS, READY_BACKOFF_NS_MAX);
    } else {
        g->is_ready = true;
    }
}

/* The segments, sorted, each key once: what is not so in a driver's answer is dropped. */
static struct kvs topology_of(const Csi__V1__NodeGetInfoResponse *info, struct kv pairs[TOPOLOGY_MAX])
{
    const Csi__V1__Topology *t = info->accessible_topology;
    uint32_t count = 0;

    for (size_t i = 0; t && i < t->n_segments && count < TOPOLOGY_MAX; i++) {
        uint32_t at = 0;
        while (at < count && strcmp(pairs[at].key, t->segments[i]->key) != 0)
            at++;
        pairs[at] = (struct kv){ t->segments[i]->key, t->segments[i]->value };
        count += at == count;
    }
    kv_sort(pairs, count);
    return (struct kvs){ pairs, count };
}

static void install_for(struct csi_registration *g, struct registrar *x)
{
    struct kv pairs[TOPOLOGY_MAX];
    struct csi_install_options o = {
        .what = CSI_INSTALL_NODE,
        .loop = g->o.loop,
        .client = g->o.client,
        .rng = &g->rng,
        .node_name = g->node_name,
        .done = on_installed,
        .ctx = g,
    };

    if (x) {
        o.what = x->state == REGISTRAR_INSTALLING ? CSI_INSTALL_DRIVER : CSI_UNINSTALL_DRIVER;
        o.driver = x->driver;
    }
    if (o.what == CSI_INSTALL_DRIVER) {
        o.node_id = x->info->node_id;
        o.topology = topology_of(x->info, pairs);
        o.volumes_max = x->info->max_volumes_per_node;
    }
    g->installing = x;
    csi_install_start(&g->install, &o);
}

/* True when it waits for the API's objects. */
static bool wants_install(const struct registrar *x)
{
    return x->state == REGISTRAR_INSTALLING ||
           ((x->state == REGISTRAR_UNDOING || x->state == REGISTRAR_LEAVING) && !timer_is_armed(&x->retry));
}

static void pump_install(struct csi_registration *g)
{
    if (csi_install_is_active(&g->install))
        return;
    if (!g->is_ready) {
        if (!timer_is_armed(&g->ready_retry))
            install_for(g, NULL);
        return;
    }
    for (size_t i = 0; i < g->all.count && !csi_install_is_active(&g->install); i++) {
        struct registrar *x = g->all.items[i];
        if (!wants_install(x))
            continue;
        if (x->state != REGISTRAR_INSTALLING && has_other(x)) { /* the other one's, now */
            if (x->state == REGISTRAR_UNDOING)
                on_undone(x);
            else
                on_left(x, 0, NULL);
            continue;
        }
        install_for(g, x);
    }
}

/* --- Sockets --- */

static struct registrar *registrar_free(struct registrar *x)
{
    x->call = csi_pooled_drop(x->call);
    timer_disarm(&x->retry);
    drop_info(x);
    free(x);
    return NULL;
}

static void on_retry(void *ctx)
{
    struct registrar *x = ctx;

    loop_defer(&x->owner->pump);
}

static struct registrar *find(const struct csi_registration *g, const char *path)
{
    for (size_t i = 0; i < g->all.count; i++)
        if (strcmp(g->all.items[i]->path, path) == 0)
            return g->all.items[i];
    return NULL;
}

/* NULL without memory: the next look finds it again. */
static struct registrar *add(struct csi_registration *g, const char *path)
{
    size_t len = strlen(path) + 1;
    struct registrar *x = calloc(1, sizeof *x + len);

    if (!x)
        return NULL;
    x->owner = g;
    memcpy(x->path, path, len);
    timer_init(&x->retry, g->o.loop, on_retry, x);
    if (vec_push(&g->all, x) < 0)
        return registrar_free(x);
    return x;
}

static void take_note(struct csi_registration *g, const struct host_sockets *sockets)
{
    for (size_t i = 0; i < g->all.count; i++)
        g->all.items[i]->is_there = false;
    for (uint32_t i = 0; i < sockets->count; i++) {
        struct registrar *x = find(g, sockets->items[i].path);
        if (!x)
            x = add(g, sockets->items[i].path);
        if (!x)
            continue;
        if (!host_socket_is_same(&x->there, &sockets->items[i])) { /* another one: at once */
            timer_disarm(&x->retry);
            x->backoff_ns = 0;
        }
        x->is_there = true;
        x->there = sockets->items[i];
        x->there.path = NULL; /* the arena's */
    }
}

static void on_sockets(void *ctx)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(SCAN_BYTES_MAX);
    struct csi_registration *g = ctx;
    struct host_sockets sockets;
    struct error err = { 0 };

    if (socket_watch_list(g->watch, &a, &sockets, &err) < 0) {
        complain(g, REGISTRY_DIR, err.msg);
        return; /* it cannot be said that anything is gone */
    }
    take_note(g, &sockets);
    loop_defer(&g->pump);
}

/* What it waits for, if it waits for nobody else. False: nothing is left of it. */
static bool registrar_look(struct registrar *x)
{
    if (x->state == REGISTRAR_IDLE && !x->is_there)
        return false;
    if (x->state == REGISTRAR_IDLE && x->owner->is_ready && !timer_is_armed(&x->retry))
        begin_ask(x);
    else if (x->state == REGISTRAR_REGISTERED &&
             (!x->is_there || x->must_begin_anew || !host_socket_is_same(&x->there, &x->served)))
        begin_leave(x);
    return true;
}

static void on_pump(void *ctx)
{
    struct csi_registration *g = ctx;

    for (size_t i = g->all.count; i > 0; i--)
        if (!registrar_look(g->all.items[i - 1])) {
            (void)registrar_free(g->all.items[i - 1]);
            vec_remove(&g->all, i - 1);
        }
    pump_install(g);
}

/* --- Life --- */

bool csi_registration_is_ready(const struct csi_registration *g)
{
    return g->is_ready;
}

static void on_ready_retry(void *ctx)
{
    struct csi_registration *g = ctx;

    loop_defer(&g->pump);
}

int csi_registration_new(const struct csi_registration_options *o, struct csi_registration **ret,
                         struct error *err)
{
    _cleanup_(csi_registration_free_p) struct csi_registration *g = calloc(1, sizeof *g);
    char dir[PATH_MAX];
    int n = snprintf(dir, sizeof dir, "%s/" REGISTRY_DIR, o->root), r;

    if (!g)
        return error_no_memory(err);
    g->o = *o;
    deferred_init(&g->pump, o->loop, on_pump, g);
    timer_init(&g->ready_retry, o->loop, on_ready_retry, g);
    rng_init(&g->rng, o->seed);
    g->node_name = strdup(o->node_name);
    if (!g->node_name)
        return error_no_memory(err);
    if (n < 0 || (size_t)n >= sizeof dir)
        return error_set(err, ERR_INVALID, "'%s' is too long a path", o->root);
    r = socket_watch_new(o->loop, dir, on_sockets, g, &g->watch, err);
    if (r < 0)
        return r;
    loop_defer(&g->pump);
    *ret = TAKE(g);
    return 0;
}

struct csi_registration *csi_registration_free(struct csi_registration *g)
{
    if (!g)
        return NULL;
    csi_install_cancel(&g->install);
    g->watch = socket_watch_free(g->watch);
    loop_undefer(&g->pump);
    timer_disarm(&g->ready_retry);
    for (size_t i = 0; i < g->all.count; i++)
        (void)registrar_free(g->all.items[i]);
    vec_done(&g->all);
    free(g->node_name);
    free(g);
    return NULL;
}
