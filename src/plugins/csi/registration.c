/* Registration of CSI drivers: finds sockets, runs the registrars, and writes API objects for one driver at a
 * time.
 *
 * Invariant: all changes of the Node and the CSINode go through one csi_install, one after another. */
#include "plugins/csi/registration.h"

#include <stdio.h>
#include <string.h>

#include "plugins/csi/registration_int.h"

#define REGISTRY_DIR "plugins_registry"
#define READY_BACKOFF_NS (30 * NS_PER_MS)
#define READY_BACKOFF_NS_MAX (10 * NS_PER_S)
#define SCAN_BYTES_MAX ((size_t)8 << 20)
#define TOPOLOGY_MAX 64

/* --- API objects --- */

static void on_installed(void *ctx, int r, const struct error *err)
{
    struct csi_registration *g = ctx;
    struct registrar *registrar = g->installing;

    g->installing = NULL;
    loop_defer(&g->pump);
    if (registrar) {
        registrar_on_installed(registrar, r, err);
    } else if (r < 0) {
        csi_report_failure(g, "CSINode is not yet initialized", err->msg);
        csi_retry_later(&g->ready_retry, &g->ready_backoff_ns, READY_BACKOFF_NS, READY_BACKOFF_NS_MAX);
    } else {
        g->is_ready = true;
        if (g->o.on_ready)
            g->o.on_ready(g->o.ctx);
    }
}

/* The segments, sorted, with unique keys; duplicates in a driver's response are dropped. */
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

static void install_for(struct csi_registration *g, struct registrar *registrar)
{
    struct kv pairs[TOPOLOGY_MAX];
    struct csi_install_options o = {
        .what = CSI_INSTALL_NODE,
        .api = g->api,
        .node_name = g->node_name,
        .done = on_installed,
        .ctx = g,
    };

    if (registrar) {
        o.what = registrar->state == REGISTRAR_INSTALLING ? CSI_INSTALL_DRIVER : CSI_UNINSTALL_DRIVER;
        o.driver = registrar->driver;
    }
    if (o.what == CSI_INSTALL_DRIVER) {
        o.node_id = registrar->info->node_id;
        o.topology = topology_of(registrar->info, pairs);
        o.volumes_max = registrar->info->max_volumes_per_node;
    }
    g->installing = registrar;
    csi_install_start(&g->install, &o);
}

/* True if it waits for a change of the API objects. */
static bool wants_install(const struct registrar *registrar)
{
    return registrar->state == REGISTRAR_INSTALLING ||
           ((registrar->state == REGISTRAR_UNDOING || registrar->state == REGISTRAR_LEAVING) &&
            !timer_is_armed(&registrar->retry));
}

static void start_next_install(struct csi_registration *g)
{
    if (csi_install_is_active(&g->install))
        return;
    if (!g->is_ready) {
        if (!timer_is_armed(&g->ready_retry))
            install_for(g, NULL);
        return;
    }
    for (size_t i = 0; i < g->all.count && !csi_install_is_active(&g->install); i++) {
        struct registrar *registrar = g->all.items[i];
        if (!wants_install(registrar))
            continue;
        /* another socket has the driver now */
        if (registrar->state != REGISTRAR_INSTALLING && registrar_has_other(registrar))
            registrar_on_installed(registrar, 0, NULL);
        else
            install_for(g, registrar);
    }
}

/* --- Sockets --- */

static struct registrar *find_registrar(const struct csi_registration *g, const char *path)
{
    for (size_t i = 0; i < g->all.count; i++)
        if (!g->all.items[i]->configured && strcmp(g->all.items[i]->path, path) == 0)
            return g->all.items[i];
    return NULL;
}

static void update_sockets(struct csi_registration *g, const struct host_sockets *sockets)
{
    for (size_t i = 0; i < g->all.count; i++)
        g->all.items[i]->socket_exists = g->all.items[i]->configured != NULL;
    for (uint32_t i = 0; i < sockets->count; i++) {
        struct registrar *registrar = find_registrar(g, sockets->items[i].path);
        if (!registrar) {
            registrar = registrar_new(g, sockets->items[i].path, /* configured= */ NULL);
            if (registrar && vec_push(&g->all, registrar) < 0)
                registrar = registrar_free(registrar);
        }
        if (!registrar)
            continue; /* no memory: the next scan finds it again */
        if (!socket_id_is_same(&registrar->current,
                               &sockets->items[i].id)) { /* another socket: without delay */
            timer_disarm(&registrar->retry);
            registrar->backoff_ns = 0;
        }
        registrar->socket_exists = true;
        registrar->current = sockets->items[i].id;
    }
}

static void on_sockets(void *ctx)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(SCAN_BYTES_MAX);
    struct csi_registration *g = ctx;
    struct host_sockets sockets;
    struct error err = { 0 };

    if (socket_watch_list(g->watch, &a, &sockets, &err) < 0) {
        csi_report_failure(g, REGISTRY_DIR, err.msg);
        return; /* a failed scan does not prove that a socket is gone */
    }
    update_sockets(g, &sockets);
    loop_defer(&g->pump);
}

/* Continues a registrar that waits for nothing else. False: it can be freed. */
static bool registrar_step(struct registrar *registrar)
{
    if (registrar->state == REGISTRAR_IDLE && !registrar->socket_exists)
        return false;
    if (registrar->state == REGISTRAR_IDLE && registrar->owner->is_ready &&
        !timer_is_armed(&registrar->retry))
        registrar_ask(registrar);
    else if (registrar->state == REGISTRAR_REGISTERED &&
             (!registrar->socket_exists || registrar->must_restart ||
              !socket_id_is_same(&registrar->current, &registrar->served)))
        registrar_leave(registrar);
    else if (registrar->state == REGISTRAR_REGISTERED && registrar->configured &&
             !rpc_watch_is_active(&registrar->watch) && !timer_is_armed(&registrar->retry))
        registrar_reconnect(registrar);
    return true;
}

static void on_pump(void *ctx)
{
    struct csi_registration *g = ctx;

    for (size_t i = g->all.count; i > 0; i--)
        if (!registrar_step(g->all.items[i - 1])) {
            (void)registrar_free(g->all.items[i - 1]);
            vec_remove(&g->all, i - 1);
        }
    start_next_install(g);
}

/* --- Lifecycle --- */

bool csi_registration_is_ready(const struct csi_registration *g)
{
    return g->is_ready;
}

void csi_registration_refresh(struct csi_registration *g, const char *driver)
{
    for (size_t i = 0; i < g->all.count; i++) {
        struct registrar *registrar = g->all.items[i];
        if (registrar->state == REGISTRAR_REGISTERED && !registrar->must_restart &&
            strcmp(registrar->driver, driver) == 0)
            registrar_describe(registrar);
    }
}

static void on_ready_retry(void *ctx)
{
    struct csi_registration *g = ctx;

    loop_defer(&g->pump);
}

static int add_configured(struct csi_registration *g, struct error *err)
{
    for (size_t i = 0; i < g->o.configured_count; i++) {
        const struct csi_configured_driver *one = &g->o.configured[i];
        struct registrar *registrar = registrar_new(g, one->socket, one);

        if (!registrar || vec_push(&g->all, registrar) < 0) {
            (void)registrar_free(registrar);
            return error_no_memory(err);
        }
    }
    return 0;
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
        return error_set(err, ERR_INVALID, "path '%s' is too long", o->root);
    g->api =
        (struct api){ .client = o->client, .loop = o->loop, .manager = CSI_INSTALL_MANAGER, .rng = &g->rng };
    r = o->metrics ? api_count(&g->api, o->metrics, err) : 0;
    if (r == 0)
        r = socket_watch_new(o->loop, dir, on_sockets, g, &g->watch, err);
    if (r == 0)
        r = add_configured(g, err);
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
