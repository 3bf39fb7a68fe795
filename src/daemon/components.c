/* Creates, starts and stops the components of a process, with the caches, worker pools and plugins that their
 * rows of the table need.
 *
 * Every cache is opened once, for all components that read it. Components are created and started in the
 * order of the table and stopped in the opposite order. */
#include "daemon/components.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/vec.h"
#include "daemon/server_status.h"
#include "daemon/settings.h"
#include "io/env.h"
#include "io/pool.h"
#include "plugins/builtin.h"
#include "plugins/csi/endpoints.h"
#include "plugins/flex/prober.h"
#include "plugins/registry.h"
#include "rpc/rpc.h"

/* Interval of checks whether the caches are synced: an eighth of the time waited so far, within these bounds,
 * so that a server that is away for long costs little. And of the log message that names a missing one. */
#define SYNC_POLL_NS (20 * NS_PER_MS)
#define SYNC_POLL_NS_MAX (500 * NS_PER_MS)
#define SYNC_LOG_NS (10 * NS_PER_S)

#define COMPONENTS_MAX 16
/* Data, root, static pods, drivers, and the terminating NULL. */
#define OWN_DIRS_MAX 5

/* Most claims and pods that are counted at once for the ready message. */
#define COUNTED_MAX 20000

#define CANNOT_MOUNT_BYTES (IO_USER_NAME_BYTES + 80)

/* A component of this process. */
struct running {
    const struct component *row;
    struct component_env env;
    struct flex_prober *flex; /* NULL: no drivers */
    void *component;
};

struct components {
    struct components_options o;
    const char *own_dirs[OWN_DIRS_MAX];
    VEC(const char *) parent_dirs;
    struct guard_dirs dirs; /* own_dirs and their number */
    char cannot_mount[CANNOT_MOUNT_BYTES];
    uint64_t kinds, kinds_optional; /* of all components of this process */
    struct rpc_client *rpc;
    struct csi_endpoints *endpoints;
    struct informers *informers;
    struct informer *caches[KIND_COUNT]; /* NULL: no component reads the kind */
    struct running running[COMPONENTS_MAX];
    size_t count;
    bool is_stopped;
    struct timer timer;
    uint64_t began_ns; /* to wait for the caches */
    uint64_t log_at_ns;
};

/* --- Caches --- */

const char *components_missing(const struct components *c)
{
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        const struct informer *i = c->caches[k];
        bool is_optional = !(c->kinds & COMPONENT_KIND(k));

        if (i && !informer_is_synced(i) && !(is_optional && informer_is_not_served(i)))
            return kind_info((enum kind)k)->name;
    }
    return NULL;
}

static void check_synced(void *ctx)
{
    struct components *c = ctx;
    const char *missing = components_missing(c);
    uint64_t now_ns = loop_now_ns(c->o.part.loop), delay_ns = (now_ns - c->began_ns) / 8;
    size_t objects = 0;

    if (!missing) {
        for (unsigned k = 0; k < KIND_COUNT; k++)
            objects += c->caches[k] ? informer_count(c->caches[k]) : 0;
        log_debug("caches synced", LOG_UINT("objects", objects));
        c->o.on_synced(c->o.ctx);
        return;
    }
    if (now_ns >= c->log_at_ns) {
        log_info("waiting for caches", LOG_STR("kind", missing));
        c->log_at_ns = now_ns + SYNC_LOG_NS;
    }
    delay_ns = delay_ns < SYNC_POLL_NS ? SYNC_POLL_NS : delay_ns;
    timer_arm_after(&c->timer, delay_ns < SYNC_POLL_NS_MAX ? delay_ns : SYNC_POLL_NS_MAX);
}

/* The only place that opens caches: those of all components of this process. */
static int open_caches(struct components *c, struct error *err)
{
    struct informer_options o = { .loop = c->o.part.loop,
                                  .client = c->o.part.client,
                                  .metrics = c->o.part.metrics,
                                  .seed = c->o.part.seed,
                                  .streams_lists = c->o.streams_lists };
    int r = informers_new(&o, &c->informers, err);

    for (unsigned k = 0; k < KIND_COUNT && r == 0; k++) {
        if (!((c->kinds | c->kinds_optional) & COMPONENT_KIND(k)))
            continue;
        c->caches[k] = informers_get(c->informers, (enum kind)k, err);
        if (!c->caches[k])
            r = -(int)err->code;
    }
    return r;
}

/* --- Needs of components --- */

static const char *flex_dir(const struct components *c)
{
    const char *dir = c->o.settings->controllers.flex_dir;

    return dir ? dir : FLEX_DIR;
}

/* Directories in and above which no volume is ever reclaimed or given to a group: host/guard.h. */
static int find_dirs(struct components *c, struct error *err)
{
    const struct daemon_settings *s = c->o.settings;
    const struct provisioner_settings *p = &s->provisioners;
    size_t own = 0;
    int r = vec_push(&c->parent_dirs, HOST_PATH_DIR);

    if (s->data_dir[0])
        c->own_dirs[own++] = s->data_dir;
    if (s->node.root) /* also for a node agent in another process */
        c->own_dirs[own++] = s->node.root;
    if (s->node.static_pods)
        c->own_dirs[own++] = s->node.static_pods;
    c->own_dirs[own++] = flex_dir(c);
    if (r == 0)
        r = vec_push(&c->parent_dirs, NFS_MOUNT_DIR);
    for (unsigned i = 0; i < p->nfs_count && r == 0; i++)
        r = vec_push(&c->parent_dirs, p->nfs[i].export.mount_dir);
    for (uint32_t i = 0; p->has_local && i < p->local.classes_count && r == 0; i++)
        r = vec_push(&c->parent_dirs, p->local.classes[i].mount_dir);
    if (r == 0)
        r = vec_push(&c->parent_dirs, NULL);
    if (r < 0)
        return error_no_memory(err);
    c->dirs = (struct guard_dirs){ .own = c->own_dirs, .parents = c->parent_dirs.items };
    return 0;
}

/* Without access to the driver directory the process continues without FlexVolume drivers. The default
 * directory is not created, but used as soon as it exists. */
static int open_plugins(const struct components *c, struct running *running, struct error *err)
{
    bool makes_dir = c->o.settings->controllers.flex_dir != NULL;
    struct host_tools tools = { 0 };
    const char *failure;
    struct error reason;
    int r;

    if (flex_prober_new(c->o.part.loop, running->env.pool, flex_dir(c), makes_dir, &tools, &running->flex,
                        &reason) < 0)
        log_warn("cannot watch FlexVolume drivers, continuing without them", LOG_STR("dir", flex_dir(c)),
                 LOG_ERR(&reason));
    r = registry_new(running->row->plugins, running->flex ? flex_prober_of(running->flex) : NULL,
                     &running->env.plugins, err);
    if (r < 0)
        return r;
    failure = registry_load_error(running->env.plugins); /* the node agent reports its own errors */
    if (failure[0] && running->row->plugins_failure)
        return error_set(err, ERR_INVALID, "%s: %s", running->row->plugins_failure, failure);
    return 0;
}

/* Of the process: one session per CSI driver. */
static int open_drivers(struct components *c, struct error *err)
{
    int r;

    if (c->o.beside) {
        c->rpc = c->o.beside->rpc;
        c->endpoints = c->o.beside->endpoints;
        return 0;
    }
    r = rpc_client_new(c->o.part.loop, &c->rpc, err);
    return r < 0 ? r : csi_endpoints_new(c->o.part.loop, &c->endpoints, err);
}

static int open_component(struct components *c, struct running *running, struct error *err)
{
    const struct component *row = running->row;
    const char *name = c->o.settings->node.name;
    int r = 0;

    running->env = (struct component_env){ .part = c->o.part,
                                           .settings = c->o.settings,
                                           .rpc = c->rpc,
                                           .endpoints = c->endpoints,
                                           .dirs = &c->dirs,
                                           .host = c->o.host,
                                           .identity = c->o.identity ? c->o.identity : c->o.host,
                                           .lease_ns = c->o.lease_ns ? c->o.lease_ns : DAEMON_LEASE_NAMESPACE,
                                           .node_name = name ? name : c->o.host,
                                           .cannot_mount = c->cannot_mount[0] ? c->cannot_mount : NULL,
                                           .streams_lists = c->o.streams_lists };
    running->env.part.informers = c->informers;
    running->env.reclaim_node = c->o.parts & DAEMON_NODE ? running->env.node_name : NULL;
    if (row->workers)
        r = pool_new(c->o.part.loop, row->workers, row->queue_max, &running->env.pool, err);
    if (r == 0 && row->plugins)
        r = open_plugins(c, running, err);
    return r < 0 ? r : row->new (&running->env, &running->component, err);
}

/* --- Lifecycle --- */

void components_begin(const struct daemon_settings *s)
{
    for (const struct component *row = daemon_components; row->name; row++)
        if (row->part & s->parts && row->begin)
            row->begin(s);
}

int components_new(const struct components_options *o, struct components **ret, struct error *err)
{
    _cleanup_(components_free_p) struct components *c = calloc(1, sizeof *c);
    char user[IO_USER_NAME_BYTES];
    int r;

    if (!c)
        return error_no_memory(err);
    c->o = *o;
    timer_init(&c->timer, o->part.loop, check_synced, c);
    for (const struct component *row = daemon_components; row->name; row++) {
        if (!(row->part & o->parts) || (row->is_wanted && !row->is_wanted(o->settings)))
            continue;
        assert(c->count < COMPONENTS_MAX);
        c->running[c->count++].row = row;
        c->kinds |= row->kinds;
        c->kinds_optional |= row->kinds_optional;
    }
    if (o->parts & DAEMON_NODE && !io_may_mount()) {
        io_user_name(io_user(), user);
        (void)snprintf(c->cannot_mount, sizeof c->cannot_mount,
                       "mounting needs root, and this agent runs as %s (uid %u)", user, (unsigned)io_user());
    }
    r = find_dirs(c, err);
    if (r == 0)
        r = open_drivers(c, err);
    if (r == 0)
        r = open_caches(c, err);
    for (size_t i = 0; i < c->count && r == 0; i++)
        r = open_component(c, &c->running[i], err);
    if (r < 0)
        return r;
    informers_start(c->informers);
    c->began_ns = loop_now_ns(o->part.loop);
    c->log_at_ns = c->began_ns + SYNC_LOG_NS;
    timer_arm_after(&c->timer, 0);
    *ret = TAKE(c);
    return 0;
}

struct components *components_stop(struct components *c)
{
    if (!c || c->is_stopped)
        return c;
    c->is_stopped = true;
    timer_disarm(&c->timer);
    for (size_t i = c->count; i-- > 0;)
        if (c->running[i].component)
            c->running[i].row->stop(c->running[i].component);
    c->informers = informers_free(c->informers);
    for (size_t i = c->count; i-- > 0;) {
        c->running[i].env.plugins = registry_free(c->running[i].env.plugins);
        c->running[i].flex = flex_prober_free(c->running[i].flex);
    }
    if (c->o.beside)
        return c;
    c->endpoints = csi_endpoints_free(c->endpoints);
    if (c->rpc)
        rpc_client_close(c->rpc); /* workers may still use it */
    return c;
}

struct components *components_free(struct components *c)
{
    if (!components_stop(c))
        return NULL;
    for (size_t i = c->count; i-- > 0;)
        c->running[i].env.pool = pool_free(c->running[i].env.pool);
    if (!c->o.beside)
        c->rpc = rpc_client_free(c->rpc);
    vec_done(&c->parent_dirs);
    free(c);
    return NULL;
}

void components_start(struct components *c)
{
    for (size_t i = 0; i < c->count; i++)
        c->running[i].row->start(c->running[i].component);
}

/* --- State for explanations --- */

struct why_world components_world(const struct components *c)
{
    static const char *const no_provisioners[] = { NULL };
    struct why_world w = { .provisioners = no_provisioners };

    if (!c)
        return w;
    w.clock = c->o.part.clock;
    w.each_event = c->o.each_event;
    w.ctx = c->o.events_ctx;
    w.store = c->o.store;
    w.flex_dir = flex_dir(c);
    for (size_t k = 0; k < KIND_COUNT; k++)
        w.caches[k] = c->caches[k];
    for (size_t i = 0; i < c->count; i++)
        if (c->running[i].row->explain)
            c->running[i].row->explain(c->running[i].component, &w);
    return w;
}

const char *components_check(const struct components *c, bool is_thorough)
{
    const char *wrong = NULL;

    for (size_t i = 0; c && i < c->count && !wrong; i++)
        if (c->running[i].row->check)
            wrong = c->running[i].row->check(c->running[i].component, is_thorough);
    return wrong;
}

void components_count_waiting(const struct components *c, struct server_status *s)
{
    const struct informer *claims = c->caches[KIND_CLAIM], *pods = c->caches[KIND_POD],
                          *drivers = c->caches[KIND_CSI_DRIVER];
    struct informer_cursor at;

    if (!claims || informer_count(claims) + informer_count(pods) > COUNTED_MAX)
        return;
    s->has_counts = true;
    for (const struct object *o = informer_first(claims, &at); o; o = informer_next(&at))
        s->claims_pending += server_status_claim_waits(claim_of(o));
    for (const struct object *o = informer_first(pods, &at); o; o = informer_next(&at))
        s->pods_waiting += server_status_pod_waits(pod_of(o));
    for (const struct object *o = informer_first(drivers, &at); o; o = informer_next(&at))
        server_status_add(&s->drivers, str_of(o->name));
}
