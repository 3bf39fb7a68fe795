/* The table of components, and the programs that are selections from it.
 *
 * A new component is a row here and a folder of its own; CONTRIBUTING.md has the steps. Rows are in the order
 * in which components are created and started. */
#include "daemon/components.h"

#include <stdlib.h>
#include <string.h>

#include "controllers/attach/attach.h"
#include "controllers/binder/binder.h"
#include "controllers/csi/csi_controllers.h"
#include "controllers/ephemeral/ephemeral.h"
#include "controllers/expand/expand.h"
#include "controllers/local/local.h"
#include "controllers/protect/protect.h"
#include "controllers/provisioner/blocking.h"
#include "controllers/provisioner/provisioner.h"
#include "controllers/snapshot/snapshots.h"
#include "controllers/stranded/stranded.h"
#include "daemon/settings.h"
#include "io/env.h"
#include "node/agent.h"
#include "node/ready_files.h"
#include "plugins/registry.h"
#include "scheduler/scheduler.h"

#define QUEUE_MAX 1024
/* Cloud APIs are slow, and a failed node has many volumes. */
#define ATTACH_WORKERS 16
#define ATTACH_QUEUE_MAX 100000
/* A hanging volume occupies one of them, an unreachable file server one per volume: there are many more than
 * a node has pods. Threads are started when needed. */
#define NODE_WORKERS POOL_THREADS_MAX

/* --- Functions of rows --- */

/* Functions of a component of type struct x, from the functions of its header. */
#define COMPONENT_NEW(x, x_new, ...)                                                   \
    static int new_##x(const struct component_env *env, void **ret, struct error *err) \
    {                                                                                  \
        struct x *c = NULL;                                                            \
        int r = x_new(__VA_ARGS__, &c, err);                                           \
                                                                                       \
        *ret = c;                                                                      \
        return r;                                                                      \
    }
#define COMPONENT_LIFE(x, x_start, x_free) \
    static void start_##x(void *c)         \
    {                                      \
        x_start(c);                        \
    }                                      \
    static void stop_##x(void *c)          \
    {                                      \
        (void)x_free(c); /* NULL */        \
    }
/* A component without options of its own, and one with options. */
#define COMPONENT_PLAIN(x, x_new, x_start, x_free) \
    COMPONENT_NEW(x, x_new, &env->part)            \
    COMPONENT_LIFE(x, x_start, x_free)
#define COMPONENT_WITH(x, x_new, x_start, x_free, ...)                                 \
    COMPONENT_NEW(x, x_new, (&(struct x##_options){ .part = env->part, __VA_ARGS__ })) \
    COMPONENT_LIFE(x, x_start, x_free)
/* A component that explanations read. */
#define COMPONENT_EXPLAINS(x)                             \
    static void explain_##x(void *c, struct why_world *w) \
    {                                                     \
        w->x = c;                                         \
    }

/* A component that the simulator checks. */
#define COMPONENT_CHECKS(x, ...)                                  \
    static const char *check_##x(const void *c, bool is_thorough) \
    {                                                             \
        (void)is_thorough;                                        \
        return __VA_ARGS__;                                       \
    }

COMPONENT_CHECKS(protect, protect_check(c))
COMPONENT_PLAIN(protect, protect_new, protect_start, protect_free)
COMPONENT_CHECKS(ephemeral, ephemeral_check(c))
COMPONENT_PLAIN(ephemeral, ephemeral_new, ephemeral_start, ephemeral_free)
COMPONENT_CHECKS(stranded, stranded_check(c))
COMPONENT_PLAIN(stranded, stranded_new, stranded_start, stranded_free)

COMPONENT_CHECKS(expand, expand_check(c))
COMPONENT_WITH(expand, expand_new, expand_start, expand_free, .pool = env->pool, .plugins = plugins_builtin)

COMPONENT_CHECKS(snapshots, snapshots_check(c))
COMPONENT_WITH(snapshots, snapshots_new, snapshots_start, snapshots_free, .identity = env->identity,
               .lease_ns = env->lease_ns, .lease_duration_ns = env->settings->lease_duration_ns,
               .renew_deadline_ns = env->settings->renew_deadline_ns,
               .retry_period_ns = env->settings->retry_period_ns)

COMPONENT_EXPLAINS(binder)
COMPONENT_CHECKS(binder, binder_check(c, is_thorough))
COMPONENT_WITH(binder, binder_new, binder_start, binder_free,
               .host = { .loop = env->part.loop,
                         .pool = env->pool,
                         .provisions_host_path = env->settings->controllers.has_hostpath_provisioner },
               .plugins = plugins_builtin, .reclaim = { env->dirs, env->reclaim_node })

COMPONENT_EXPLAINS(attach)
COMPONENT_CHECKS(attach, attach_check(c))
COMPONENT_WITH(attach, attach_new, attach_start, attach_free, .pool = env->pool, .registry = env->plugins,
               .no_force_detach_on_timeout = env->settings->controllers.has_no_forced_detach,
               .sync_period_ns = env->settings->attach_sync_ns)

COMPONENT_CHECKS(local, local_check(c))
COMPONENT_WITH(local, local_new, local_start, local_free, .pool = env->pool,
               .config = &env->settings->provisioners.local, .node_name = env->node_name, .dirs = env->dirs,
               .state_dir = env->settings->state_dir)

COMPONENT_EXPLAINS(scheduler)
COMPONENT_CHECKS(scheduler, scheduler_check(c, is_thorough))
COMPONENT_WITH(scheduler, scheduler_new, scheduler_start, scheduler_free,
               .name = env->settings->scheduler_name ? env->settings->scheduler_name : SCHEDULER_NAME,
               .host = env->host, .bind_timeout_ns = env->settings->bind_timeout_ns)

COMPONENT_EXPLAINS(agent)
COMPONENT_CHECKS(agent, agent_check_world(c))
COMPONENT_WITH(agent, agent_new, agent_start, agent_free, .pool = env->pool, .plugins = env->plugins,
               .rpc = env->rpc, .endpoints = env->endpoints, .csi_drivers = env->settings->csi.configured,
               .csi_drivers_count = env->settings->csi.configured_count, .name = env->node_name,
               .root = env->settings->node.root, .dirs = env->dirs, .hook = env->settings->node.hook,
               .static_pods = env->settings->node.static_pods, .sync_ns = env->settings->node_sync_ns,
               .attaches_itself = env->settings->node.attaches_itself, .cannot_mount = env->cannot_mount,
               .streams_lists = env->streams_lists)

static void begin_agent(const struct daemon_settings *s)
{
    ready_files_check(s->node.root);
}

/* --- Provisioners: one section of settings for all of them --- */

static int read_provisioners(const struct json *d, json_ref section, struct daemon_settings *s,
                             struct error *err)
{
    return provisioners_read(d, section, &s->provisioners, err);
}

/* --- Directories of NFS exports: one provisioner for each --- */

struct nfs {
    struct blocking_provisioner exports[PROVISIONERS_NFS_MAX];
    struct provisioner *provisioners[PROVISIONERS_NFS_MAX];
    const char *names[PROVISIONERS_NFS_MAX + 1];
};

static bool has_nfs(const struct daemon_settings *s)
{
    return s->provisioners.nfs_count > 0;
}

static int new_nfs(const struct component_env *env, void **ret, struct error *err)
{
    const struct provisioner_settings *s = &env->settings->provisioners;
    struct nfs *n = calloc(1, sizeof *n);
    int r = n ? 0 : error_no_memory(err);

    *ret = n;
    for (unsigned i = 0; i < s->nfs_count && r == 0; i++) {
        struct provisioner_options o = { .part = env->part,
                                         .type = &blocking_provisioner_type,
                                         .ctx = &n->exports[i],
                                         .name = s->nfs[i].name };

        n->names[i] = o.name;
        n->exports[i] = (struct blocking_provisioner){ .type = &nfs_subdir_type,
                                                       .ctx = &s->nfs[i].export,
                                                       .name = s->nfs[i].name,
                                                       .pool = env->pool,
                                                       .reclaim = { env->dirs, env->reclaim_node } };
        r = blocking_provisioner_caches(&n->exports[i], env->part.informers, err);
        if (r == 0)
            r = provisioner_new(&o, &n->provisioners[i], err);
    }
    return r;
}

static void start_nfs(void *c)
{
    const struct nfs *n = c;

    for (size_t i = 0; n->names[i]; i++)
        provisioner_start(n->provisioners[i]);
}

static void stop_nfs(void *c)
{
    struct nfs *n = c;

    for (size_t i = 0; n->names[i]; i++)
        n->provisioners[i] = provisioner_free(n->provisioners[i]);
    free(n);
}

static const char *check_nfs(const void *c, bool is_thorough)
{
    const struct nfs *n = c;
    const char *wrong = NULL;

    (void)is_thorough;
    for (size_t i = 0; n->names[i] && !wrong; i++)
        wrong = provisioner_check(n->provisioners[i]);
    return wrong;
}

static void explain_nfs(void *c, struct why_world *w)
{
    const struct nfs *n = c;

    w->provisioners = n->names;
}

/* --- Controllers of CSI drivers --- */

static const struct csi_function_type *const csi_functions[] = { &csi_provisioner_type, &csi_attacher_type,
                                                                 &csi_resizer_type,     &csi_snapshotter_type,
                                                                 &csi_health_type,      NULL };

static const struct csi_function_type *const csi_node_functions[] = { &csi_provisioner_type, NULL };

static int read_csi(const struct json *d, json_ref section, struct daemon_settings *s, struct error *err)
{
    return csi_settings_read(d, section, &s->csi, err);
}

/* Without a node agent no driver registers: only sockets of the settings are served. */
static bool has_csi(const struct daemon_settings *s)
{
    return !s->csi.is_off && (s->parts & DAEMON_NODE || csi_settings_have_sockets(&s->csi));
}

static int put_sockets(const struct component_env *env, struct error *err)
{
    const struct csi_settings *s = &env->settings->csi;
    int r = 0;

    for (size_t i = 0; i < s->sockets_count && r == 0; i++)
        r = csi_endpoints_put(env->endpoints,
                              &(struct csi_known_endpoint){ CSI_FROM_SETTINGS, "", s->sockets[i] }, err);
    for (size_t i = 0; i < s->drivers_count && r == 0; i++)
        if (s->drivers[i].socket)
            r = csi_endpoints_put(
                env->endpoints,
                &(struct csi_known_endpoint){ CSI_FROM_SETTINGS, s->drivers[i].name, s->drivers[i].socket },
                err);
    return r;
}

/* What all CSI controllers have in common. */
static struct csi_controllers_options csi_options(const struct component_env *env)
{
    const struct daemon_settings *s = env->settings;

    return (struct csi_controllers_options){ .part = env->part,
                                             .rpc = env->rpc,
                                             .endpoints = env->endpoints,
                                             .drivers = s->csi.drivers,
                                             .drivers_count = s->csi.drivers_count,
                                             .loop = &provisioner_loop,
                                             .node_name = s->parts & DAEMON_NODE ? env->node_name : NULL,
                                             .identity = env->identity,
                                             .lease_ns = env->lease_ns,
                                             .lease_duration_ns = s->lease_duration_ns,
                                             .renew_deadline_ns = s->renew_deadline_ns,
                                             .retry_period_ns = s->retry_period_ns };
}

static int open_csi(const struct component_env *env, const struct csi_controllers_options *o, void **ret,
                    struct error *err)
{
    struct csi_controllers *c = NULL;
    int r = put_sockets(env, err);

    if (r == 0)
        r = csi_controllers_new(o, &c, err);
    *ret = c;
    return r;
}

static int new_csi(const struct component_env *env, void **ret, struct error *err)
{
    struct csi_controllers_options o = csi_options(env);

    o.types = csi_functions;
    o.pod_name = env->settings->parts == DAEMON_CSI ? io_env("POD_NAME") : NULL;
    return open_csi(env, &o, ret, err);
}

/* Of drivers that are deployed per node. */
static int new_csi_node(const struct component_env *env, void **ret, struct error *err)
{
    struct csi_controllers_options o = csi_options(env);

    o.types = csi_node_functions;
    o.is_for_node = true;
    return open_csi(env, &o, ret, err);
}

COMPONENT_LIFE(csi, csi_controllers_start, csi_controllers_free)
COMPONENT_CHECKS(csi, csi_controllers_check(c))
COMPONENT_EXPLAINS(csi)

static bool has_local(const struct daemon_settings *s)
{
    return s->provisioners.has_local;
}

/* --- The table --- */

#define VOLUMES COMPONENT_KIND(KIND_VOLUME)
#define CLAIMS COMPONENT_KIND(KIND_CLAIM)
#define CLASSES COMPONENT_KIND(KIND_CLASS)
#define PODS COMPONENT_KIND(KIND_POD)
#define NODES COMPONENT_KIND(KIND_NODE)
#define CSI \
    (COMPONENT_KIND(KIND_ATTACHMENT) | COMPONENT_KIND(KIND_CSI_NODE) | COMPONENT_KIND(KIND_CSI_DRIVER))
#define SNAPSHOTS                                                            \
    (COMPONENT_KIND(KIND_SNAPSHOT) | COMPONENT_KIND(KIND_SNAPSHOT_CONTENT) | \
     COMPONENT_KIND(KIND_SNAPSHOT_CLASS))
#define GROUP_SNAPSHOTS                                                                  \
    (COMPONENT_KIND(KIND_GROUP_SNAPSHOT) | COMPONENT_KIND(KIND_GROUP_SNAPSHOT_CONTENT) | \
     COMPONENT_KIND(KIND_GROUP_SNAPSHOT_CLASS))

#define LIFE(x) .new = new_##x, .start = start_##x, .stop = stop_##x
#define NEEDS_WORKERS(count, queue) .workers = (count), .queue_max = (queue)
#define CONTROLLER(x) .name = #x, .part = DAEMON_CONTROLLERS, .lease = "berth-controllers", LIFE(x)
/* With its own workers, since erasing a disk takes hours. */
#define PROVISIONER(x)                                                                                 \
    CONTROLLER(x), .section = "provisioners", .read_section = read_provisioners, .is_wanted = has_##x, \
                   NEEDS_WORKERS(8, QUEUE_MAX)

const struct component daemon_components[] = {
    { CONTROLLER(binder), .kinds = VOLUMES | CLAIMS | CLASSES | PODS | NODES, NEEDS_WORKERS(4, QUEUE_MAX),
      .explain = explain_binder, .check = check_binder },
    { CONTROLLER(attach), .kinds = VOLUMES | CLAIMS | PODS | NODES | CSI,
      NEEDS_WORKERS(ATTACH_WORKERS, ATTACH_QUEUE_MAX), .plugins = plugins_attachable,
      .plugins_failure = "could not initialize volume plugins for Attach/Detach Controller",
      .explain = explain_attach, .check = check_attach },
    { CONTROLLER(protect), .kinds = VOLUMES | CLAIMS | PODS,
      .kinds_optional = COMPONENT_KIND(KIND_ATTRIBUTES_CLASS), .check = check_protect },
    { CONTROLLER(expand), .kinds = VOLUMES | CLAIMS, NEEDS_WORKERS(10, QUEUE_MAX), .check = check_expand },
    { CONTROLLER(ephemeral), .kinds = CLAIMS | PODS, .check = check_ephemeral },
    /* It also has the lease of the stock snapshot-controller while it works. */
    { CONTROLLER(snapshots), .kinds = VOLUMES | CLAIMS, .kinds_optional = SNAPSHOTS | GROUP_SNAPSHOTS,
      .check = check_snapshots },
    { CONTROLLER(stranded), .kinds = VOLUMES | CLAIMS | NODES, .check = check_stranded },
    { PROVISIONER(nfs), .kinds = VOLUMES | CLAIMS | CLASSES | NODES, .explain = explain_nfs,
      .check = check_nfs },
    { .name = "csi",
      .part = DAEMON_CSI,
      LIFE(csi),
      .kinds = VOLUMES | CLAIMS | CLASSES | PODS | NODES | CSI | COMPONENT_KIND(KIND_CSI_CAPACITY),
      .kinds_optional = COMPONENT_KIND(KIND_ATTRIBUTES_CLASS) | SNAPSHOTS,
      .section = "csi",
      .read_section = read_csi,
      .is_wanted = has_csi,
      .explain = explain_csi,
      .check = check_csi },
    { .name = "csi-node",
      .part = DAEMON_CSI_NODE,
      .new = new_csi_node,
      .start = start_csi,
      .stop = stop_csi,
      .kinds = VOLUMES | CLAIMS | CLASSES | NODES | CSI | COMPONENT_KIND(KIND_CSI_CAPACITY),
      .kinds_optional = COMPONENT_KIND(KIND_ATTRIBUTES_CLASS) | SNAPSHOTS,
      .is_wanted = has_csi,
      .check = check_csi },
    { PROVISIONER(local), .kinds = VOLUMES | CLASSES | NODES, .check = check_local },
    { .name = "scheduler",
      .part = DAEMON_SCHEDULER,
      .lease = "berth-scheduler",
      LIFE(scheduler),
      .kinds = VOLUMES | CLAIMS | CLASSES | PODS | NODES | CSI | COMPONENT_KIND(KIND_CSI_CAPACITY),
      .explain = explain_scheduler,
      .check = check_scheduler },
    /* It has its own caches, restricted to one node. */
    { .name = "node",
      .part = DAEMON_NODE,
      .begin = begin_agent,
      LIFE(agent),
      NEEDS_WORKERS(NODE_WORKERS, QUEUE_MAX),
      .plugins = plugins_of_node,
      .section = "csi",
      .read_section = read_csi,
      .explain = explain_agent,
      .check = check_agent },
    { 0 },
};

/* --- Selections --- */

const struct daemon_program daemon_serve = { "serve",
                                             DAEMON_CONTROLLERS | DAEMON_SCHEDULER | DAEMON_NODE | DAEMON_CSI,
                                             true };
const struct daemon_program daemon_controllers = { "controllers", DAEMON_CONTROLLERS | DAEMON_CSI, false };
const struct daemon_program daemon_scheduler = { "scheduler", DAEMON_SCHEDULER, false };
const struct daemon_program daemon_node = { "node", DAEMON_NODE, false };

const struct daemon_program *const daemon_parts[] = { &daemon_controllers, &daemon_scheduler, &daemon_node,
                                                      NULL };

const char *daemon_lease(unsigned parts)
{
    for (const struct component *c = daemon_components; c->name; c++)
        if (c->part & parts && c->lease)
            return c->lease;
    return NULL;
}

int daemon_read_section(const struct daemon_program *p, const char *name, const struct json *d,
                        json_ref section, struct daemon_settings *s, struct error *err)
{
    for (const struct component *c = daemon_components; c->name; c++) {
        if (c->part & p->parts && c->section && strcmp(c->section, name) == 0) {
            int r = c->read_section(d, section, s, err);

            return r < 0 ? r : 1;
        }
    }
    return 0;
}
