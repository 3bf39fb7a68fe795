#include "daemon/manager.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/vec.h"
#include "controllers/attach/attach.h"
#include "controllers/binder/binder.h"
#include "controllers/ephemeral/ephemeral.h"
#include "controllers/expand/expand.h"
#include "controllers/protect/protect.h"
#include "controllers/stranded/stranded.h"
#include "daemon/provisioners.h"
#include "daemon/server_status.h"
#include "io/env.h"
#include "io/pool.h"
#include "node/agent.h"
#include "plugins/builtin.h"
#include "plugins/flex/prober.h"
#include "plugins/registry.h"
#include "scheduler/scheduler.h"

/* How often the caches are looked at until they are there, and how often it is said what is missing. */
#define SYNC_POLL_NS (20 * NS_PER_MS)
#define SYNC_SAY_NS (10 * NS_PER_S)
/* Workers of plugins: what hangs on one of them holds up no more than its like. */
#define WORKERS 4
#define WORKERS_QUEUE_MAX 1024
/* Of what attaches: a cloud takes its time, and a node that died has many volumes. */
#define ATTACH_WORKERS 16
#define ATTACH_QUEUE_MAX 100000
/* Of provisioners: their own, since erasing a disk takes hours. */
#define PROVISIONER_WORKERS 8
/* Of a node: a volume that hangs keeps one of them, a dead file server one for each of its volumes. There are
 * more than a node has pods, by a good deal: the others go on. They are started when they are needed. */
#define NODE_WORKERS POOL_THREADS_MAX

/* Data, root, static pods, drivers, and the end. */
#define OWN_DIRS_MAX 5

/* Claims and pods that are counted at once when the server is ready. */
#define COUNTED_MAX 20000

#define CANNOT_MOUNT_BYTES (IO_USER_NAME_BYTES + 80)

#define BOTH (MANAGER_CONTROLLERS | MANAGER_SCHEDULER)

/* What the parts read. */
static const struct {
    enum kind kind;
    unsigned parts;
    bool is_optional; /* a server may not have it, or not have it on */
} cached_kinds[] = {
    { KIND_VOLUME, BOTH, false },
    { KIND_CLAIM, BOTH, false },
    { KIND_CLASS, BOTH, false },
    { KIND_POD, BOTH, false },
    { KIND_NODE, BOTH, false },
    { KIND_ATTACHMENT, BOTH, false },
    { KIND_CSI_NODE, BOTH, false },
    { KIND_CSI_DRIVER, BOTH, false },
    { KIND_CSI_CAPACITY, MANAGER_SCHEDULER, false },
    { KIND_ATTRIBUTES_CLASS, MANAGER_CONTROLLERS, true },
};

struct manager {
    struct manager_options o;
    const char *own_dirs[OWN_DIRS_MAX];
    VEC(const char *) parent_dirs;
    struct guard_dirs dirs; /* the two above */
    struct pool *pool;
    struct informers *informers;
    struct informer *caches[ARRAY_LEN(cached_kinds)]; /* NULL: nobody reads it */
    struct binder *binder;
    struct pool *attach_pool;
    struct flex_prober *flex; /* NULL: there are no drivers */
    struct plugin_registry *attachable;
    struct attach *attach;
    struct protect *protect;
    struct expand *expand;
    struct ephemeral *ephemeral;
    struct stranded *stranded;
    struct scheduler *scheduler;
    struct pool *provisioner_pool; /* NULL: none is configured */
    struct provisioner *nfs[PROVISIONERS_NFS_MAX];
    struct local *local;
    struct pool *node_pool; /* NULL: no node */
    struct flex_prober *prober;
    struct plugin_registry *node_plugins;
    struct agent *agent;
    char cannot_mount[CANNOT_MOUNT_BYTES]; /* of the node; "" when it can */
    struct timer timer;
    uint64_t say_at_ns;
};

const char *manager_missing(const struct manager *m)
{
    for (size_t i = 0; i < ARRAY_LEN(cached_kinds); i++) {
        const struct informer *c = m->caches[i];

        if (c && !informer_is_synced(c) && !(cached_kinds[i].is_optional && informer_is_not_served(c)))
            return kind_info(cached_kinds[i].kind)->name;
    }
    return NULL;
}

size_t manager_objects(const struct manager *m)
{
    size_t count = 0;

    for (size_t i = 0; i < ARRAY_LEN(cached_kinds); i++)
        count += m->caches[i] ? informer_count(m->caches[i]) : 0;
    return count;
}

static const struct informer *cache_of(const struct manager *m, enum kind kind)
{
    for (size_t i = 0; i < ARRAY_LEN(cached_kinds); i++)
        if (cached_kinds[i].kind == kind)
            return m->caches[i];
    return NULL;
}

void manager_count_waiting(const struct manager *m, struct server_status *s)
{
    const struct informer *claims = cache_of(m, KIND_CLAIM), *pods = cache_of(m, KIND_POD),
                          *drivers = cache_of(m, KIND_CSI_DRIVER);
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

static void check_synced(void *ctx)
{
    struct manager *m = ctx;
    const char *missing = manager_missing(m);
    uint64_t now_ns = loop_now_ns(m->o.loop);

    if (!missing) {
        log_debug("caches synced", LOG_UINT("objects", manager_objects(m)));
        m->o.on_synced(m->o.ctx);
        return;
    }
    if (now_ns >= m->say_at_ns) {
        log_info("waiting for the caches", LOG_STR("kind", missing));
        m->say_at_ns = now_ns + SYNC_SAY_NS;
    }
    timer_arm_after(&m->timer, SYNC_POLL_NS);
}

static int open_caches(struct manager *m, struct error *err)
{
    struct informer_options o = { .loop = m->o.loop,
                                  .client = m->o.client,
                                  .metrics = m->o.metrics,
                                  .seed = m->o.seed,
                                  .streams_lists = m->o.streams_lists };
    int r = informers_new(&o, &m->informers, err);

    for (size_t i = 0; i < ARRAY_LEN(cached_kinds) && r == 0; i++) {
        if (!(cached_kinds[i].parts & m->o.parts))
            continue;
        m->caches[i] = informers_get(m->informers, cached_kinds[i].kind, err);
        if (!m->caches[i])
            r = -(int)err->code;
    }
    return r;
}

static const char *flex_dir(const struct manager *m)
{
    return m->o.controllers.flex_dir ? m->o.controllers.flex_dir : FLEX_DIR;
}

/* A machine where drivers cannot be looked for does without them. The usual place is not made for them, but
 * used as soon as somebody makes it. */
static struct flex_prober *open_flex(struct manager *m, struct pool *pool)
{
    const char *dir = flex_dir(m);
    bool makes_dir = m->o.controllers.flex_dir != NULL;
    struct host_tools tools = { 0 };
    struct flex_prober *p = NULL;
    struct error err;

    if (flex_prober_new(m->o.loop, pool, dir, makes_dir, &tools, &p, &err) < 0)
        log_warn("going on without FlexVolume drivers", LOG_STR("dir", dir), LOG_ERR(&err));
    return p;
}

static int open_attach(struct manager *m, const struct part_options *part, struct error *err)
{
    struct attach_options o = { .part = *part,
                                .no_force_detach_on_timeout = m->o.controllers.has_no_forced_detach,
                                .sync_period_ns = m->o.attach_sync_period_ns };
    int r = pool_new(m->o.loop, ATTACH_WORKERS, ATTACH_QUEUE_MAX, &m->attach_pool, err);

    if (r < 0)
        return r;
    m->flex = open_flex(m, m->attach_pool);
    r = registry_new(plugins_attachable, m->flex ? flex_prober_of(m->flex) : NULL, &m->attachable, err);
    if (r == 0 && err->code != ERR_NONE)
        return error_wrap(err, "could not initialize volume plugins for Attach/Detach Controller");
    o.pool = m->attach_pool;
    o.registry = m->attachable;
    return r < 0 ? r : attach_new(&o, &m->attach, err);
}

/* What no volume is ever reclaimed in, above, or given to a group: host/guard.h. */
static int find_dirs(struct manager *m, struct error *err)
{
    const struct provisioner_settings *s = m->o.provisioners;
    size_t own = 0;
    int r = vec_push(&m->parent_dirs, HOST_PATH_DIR);

    if (m->o.data_dir)
        m->own_dirs[own++] = m->o.data_dir;
    if (m->o.node && m->o.node->root) /* of a node agent beside this process, too */
        m->own_dirs[own++] = m->o.node->root;
    if (m->o.node && m->o.node->static_pods)
        m->own_dirs[own++] = m->o.node->static_pods;
    m->own_dirs[own++] = flex_dir(m);
    if (r == 0)
        r = vec_push(&m->parent_dirs, NFS_MOUNT_DIR);
    for (unsigned i = 0; s && i < s->nfs_count && r == 0; i++)
        r = vec_push(&m->parent_dirs, s->nfs[i].export.mount_dir);
    for (uint32_t i = 0; s && s->has_local && i < s->local.classes_count && r == 0; i++)
        r = vec_push(&m->parent_dirs, s->local.classes[i].mount_dir);
    if (r == 0)
        r = vec_push(&m->parent_dirs, NULL);
    if (r < 0)
        return error_no_memory(err);
    m->dirs = (struct guard_dirs){ .own = m->own_dirs, .parents = m->parent_dirs.items };
    return 0;
}

static struct reclaim_rules reclaim_rules(const struct manager *m)
{
    return (struct reclaim_rules){ &m->dirs, m->o.parts & MANAGER_NODE ? m->o.node_name : NULL };
}

static int open_controllers(struct manager *m, const struct part_options *part, struct error *err)
{
    struct binder_options b = { .part = *part,
                                .host = { .loop = m->o.loop,
                                          .pool = m->pool,
                                          .provisions_host_path = m->o.controllers.has_hostpath_provisioner },
                                .plugins = plugins_builtin,
                                .reclaim = reclaim_rules(m) };
    int r = binder_new(&b, &m->binder, err);

    if (r == 0)
        r = open_attach(m, part, err);
    if (r == 0)
        r = protect_new(part, &m->protect, err);
    if (r == 0)
        r = expand_new(part, expand_plugins_builtin, &m->expand, err);
    if (r == 0)
        r = ephemeral_new(part, &m->ephemeral, err);
    return r < 0 ? r : stranded_new(part, &m->stranded, err);
}

static struct part_options part_options(const struct manager *m)
{
    return (struct part_options){ .loop = m->o.loop,
                                  .clock = m->o.clock,
                                  .client = m->o.client,
                                  .informers = m->informers,
                                  .metrics = m->o.metrics,
                                  .seed = m->o.seed,
                                  .is_local = m->o.is_local,
                                  .server = m->o.server };
}

static int open_provisioners(struct manager *m, struct error *err)
{
    const struct provisioner_settings *s = m->o.provisioners;
    struct part_options part = part_options(m);
    int r;

    if (!s || (s->nfs_count == 0 && !s->has_local))
        return 0;
    r = pool_new(m->o.loop, PROVISIONER_WORKERS, WORKERS_QUEUE_MAX, &m->provisioner_pool, err);
    for (unsigned i = 0; i < s->nfs_count && r == 0; i++) {
        struct provisioner_options o = { .part = part,
                                         .pool = m->provisioner_pool,
                                         .type = &nfs_subdir_type,
                                         .ctx = &s->nfs[i].export,
                                         .name = s->nfs[i].name,
                                         .reclaim = reclaim_rules(m) };

        r = provisioner_new(&o, &m->nfs[i], err);
    }
    if (r == 0 && s->has_local) {
        struct local_options o = { .part = part,
                                   .pool = m->provisioner_pool,
                                   .config = &s->local,
                                   .node_name = m->o.node_name,
                                   .dirs = &m->dirs,
                                   .state_dir = m->o.state_dir };

        r = local_new(&o, &m->local, err);
    }
    return r;
}

/* Why this process cannot mount; "" when it can. */
static void find_mount_right(struct manager *m)
{
    char user[IO_USER_NAME_BYTES];

    if (io_may_mount())
        return;
    io_user_name(io_user(), user);
    (void)snprintf(m->cannot_mount, sizeof m->cannot_mount,
                   "mounting needs root, and this agent runs as %s (uid %u)", user, (unsigned)io_user());
}

static int open_node(struct manager *m, struct error *err)
{
    const struct node_flags *f = m->o.node;
    struct agent_options o = { .part = part_options(m),
                               .name = m->o.node_name,
                               .root = f->root,
                               .dirs = &m->dirs,
                               .hook = f->hook,
                               .static_pods = f->static_pods,
                               .sync_ns = m->o.sync_ns,
                               .attaches_itself = f->attaches_itself,
                               .cannot_mount = m->cannot_mount[0] ? m->cannot_mount : NULL,
                               .streams_lists = m->o.streams_lists };
    int r = pool_new(m->o.loop, NODE_WORKERS, WORKERS_QUEUE_MAX, &m->node_pool, err);

    if (r < 0)
        return r;
    m->prober = open_flex(m, m->node_pool);
    r = registry_new(plugins_of_node, m->prober ? flex_prober_of(m->prober) : NULL, &m->node_plugins, err);
    if (r < 0)
        return r;
    o.pool = m->node_pool;
    o.plugins = m->node_plugins;
    return agent_new(&o, &m->agent, err);
}

static int open_parts(struct manager *m, struct error *err)
{
    struct part_options part = part_options(m);
    struct scheduler_options s = { .part = part,
                                   .name = m->o.scheduler_name ? m->o.scheduler_name : SCHEDULER_NAME,
                                   .host = m->o.host ? m->o.host : "",
                                   .bind_timeout_ns = m->o.bind_timeout_ns };
    int r = m->o.parts & MANAGER_CONTROLLERS ? open_controllers(m, &part, err) : 0;

    return r == 0 && m->o.parts & MANAGER_SCHEDULER ? scheduler_new(&s, &m->scheduler, err) : r;
}

int manager_new(const struct manager_options *o, struct manager **ret, struct error *err)
{
    _cleanup_(manager_free_p) struct manager *m = calloc(1, sizeof *m);
    int r;

    if (!m)
        return error_no_memory(err);
    m->o = *o;
    timer_init(&m->timer, o->loop, check_synced, m);
    r = find_dirs(m, err);
    if (r == 0)
        r = pool_new(o->loop, WORKERS, WORKERS_QUEUE_MAX, &m->pool, err);
    if (r == 0)
        r = open_caches(m, err);
    if (r == 0)
        r = open_parts(m, err);
    if (r == 0 && o->parts & MANAGER_CONTROLLERS)
        r = open_provisioners(m, err);
    if (o->parts & MANAGER_NODE)
        find_mount_right(m);
    if (r == 0 && o->parts & MANAGER_NODE)
        r = open_node(m, err);
    if (r < 0)
        return r;
    *ret = TAKE(m);
    return 0;
}

struct manager *manager_stop(struct manager *m)
{
    timer_disarm(&m->timer);
    m->agent = agent_free(m->agent);
    m->scheduler = scheduler_free(m->scheduler);
    m->stranded = stranded_free(m->stranded);
    m->local = local_free(m->local);
    for (size_t i = 0; i < ARRAY_LEN(m->nfs); i++)
        m->nfs[i] = provisioner_free(m->nfs[i]);
    m->ephemeral = ephemeral_free(m->ephemeral);
    m->expand = expand_free(m->expand);
    m->protect = protect_free(m->protect);
    m->attach = attach_free(m->attach);
    m->attachable = registry_free(m->attachable);
    m->flex = flex_prober_free(m->flex);
    m->binder = binder_free(m->binder);
    m->informers = informers_free(m->informers);
    m->node_plugins = registry_free(m->node_plugins);
    m->prober = flex_prober_free(m->prober);
    return m;
}

struct manager *manager_free(struct manager *m)
{
    if (!m)
        return NULL;
    (void)manager_stop(m);
    m->node_pool = pool_free(m->node_pool);
    m->provisioner_pool = pool_free(m->provisioner_pool);
    m->attach_pool = pool_free(m->attach_pool);
    m->pool = pool_free(m->pool);
    vec_done(&m->parent_dirs);
    free(m);
    return NULL;
}

void manager_open(struct manager *m)
{
    informers_start(m->informers);
    m->say_at_ns = loop_now_ns(m->o.loop) + SYNC_SAY_NS;
    timer_arm_after(&m->timer, 0);
}

static void start_controllers(struct manager *m)
{
    binder_start(m->binder);
    attach_start(m->attach);
    protect_start(m->protect);
    expand_start(m->expand);
    ephemeral_start(m->ephemeral);
    stranded_start(m->stranded);
    for (size_t i = 0; i < ARRAY_LEN(m->nfs); i++)
        if (m->nfs[i])
            provisioner_start(m->nfs[i]);
    if (m->local)
        local_start(m->local);
}

void manager_start(struct manager *m)
{
    if (m->o.parts & MANAGER_CONTROLLERS)
        start_controllers(m);
    if (m->o.parts & MANAGER_SCHEDULER)
        scheduler_start(m->scheduler);
    if (m->o.parts & MANAGER_NODE)
        agent_start(m->agent);
}

int manager_check_node(const struct manager *m, struct error *err)
{
    return m->agent ? agent_check(m->agent, err) : 0;
}

void manager_write_stats(const struct manager *m, struct buf *out)
{
    if (m && m->agent)
        agent_write_stats(m->agent, out);
    else
        buf_add_cstr(out, "{}");
}

/* NULL at the end. */
static void list_provisioners(const struct manager *m, const char *ret[static PROVISIONERS_NFS_MAX + 1])
{
    size_t count = 0;

    for (size_t i = 0; m && i < ARRAY_LEN(m->nfs) && m->nfs[i]; i++)
        ret[count++] = m->o.provisioners->nfs[i].name;
    ret[count] = NULL;
}

void manager_write_provisioners(const struct manager *m, struct buf *out)
{
    const char *names[PROVISIONERS_NFS_MAX + 1];

    list_provisioners(m, names);
    buf_add_char(out, '[');
    for (size_t i = 0; names[i]; i++) {
        buf_add_cstr(out, i ? "," : "");
        json_write_string(out, str_of(names[i]));
    }
    buf_add_char(out, ']');
}

int manager_explain(const struct manager *m, const struct why_question *q, struct explanation **ret,
                    struct error *err)
{
    const char *provisioners[PROVISIONERS_NFS_MAX + 1];
    struct why_world w = { .provisioners = provisioners };

    list_provisioners(m, provisioners);
    if (!m || !(m->o.parts & BOTH) || manager_missing(m))
        return error_set(err, ERR_UNAVAILABLE, "the caches are not filled");
    w.clock = m->o.clock;
    w.binder = m->binder;
    w.scheduler = m->scheduler;
    w.agent = m->agent;
    w.flex_dir = flex_dir(m);
    w.attach = m->attach;
    w.each_event = m->o.each_event;
    w.ctx = m->o.events_ctx;
    for (size_t i = 0; i < ARRAY_LEN(cached_kinds); i++)
        w.caches[cached_kinds[i].kind] = m->caches[i];
    return explanation_new(&w, q, ret, err);
}
