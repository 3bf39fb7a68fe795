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
#include "plugins/flex/prober.h"
#include "plugins/registry.h"

/* How often the caches are looked at until they are there, and how often it is said what is missing. */
#define SYNC_POLL_NS (20 * NS_PER_MS)
#define SYNC_SAY_NS (10 * NS_PER_S)

#define COMPONENTS_MAX 16
/* Data, root, static pods, drivers, and the end. */
#define OWN_DIRS_MAX 5

/* Claims and pods that are counted at once when the server is ready. */
#define COUNTED_MAX 20000

#define CANNOT_MOUNT_BYTES (IO_USER_NAME_BYTES + 80)

/* A row of the table at work. */
struct running {
    const struct component *row;
    struct component_env env;
    struct flex_prober *flex; /* NULL: there are no drivers */
    void *component;
};

struct components {
    struct components_options o;
    const char *own_dirs[OWN_DIRS_MAX];
    VEC(const char *) parent_dirs;
    struct guard_dirs dirs; /* the two above */
    char cannot_mount[CANNOT_MOUNT_BYTES];
    uint64_t kinds, kinds_optional; /* of all that run */
    struct informers *informers;
    struct informer *caches[KIND_COUNT]; /* NULL: nobody reads it */
    struct running running[COMPONENTS_MAX];
    size_t count;
    struct timer timer;
    uint64_t say_at_ns;
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
    uint64_t now_ns = loop_now_ns(c->o.part.loop);
    size_t objects = 0;

    if (!missing) {
        for (unsigned k = 0; k < KIND_COUNT; k++)
            objects += c->caches[k] ? informer_count(c->caches[k]) : 0;
        log_debug("caches synced", LOG_UINT("objects", objects));
        c->o.on_synced(c->o.ctx);
        return;
    }
    if (now_ns >= c->say_at_ns) {
        log_info("waiting for the caches", LOG_STR("kind", missing));
        c->say_at_ns = now_ns + SYNC_SAY_NS;
    }
    timer_arm_after(&c->timer, SYNC_POLL_NS);
}

/* The one place where caches are asked for: those of all components that run. */
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

/* --- What components need --- */

static const char *flex_dir(const struct components *c)
{
    const char *dir = c->o.settings->controllers.flex_dir;

    return dir ? dir : FLEX_DIR;
}

/* What no volume is ever reclaimed in, above, or given to a group: host/guard.h. */
static int find_dirs(struct components *c, struct error *err)
{
    const struct daemon_settings *s = c->o.settings;
    const struct provisioner_settings *p = &s->provisioners;
    size_t own = 0;
    int r = vec_push(&c->parent_dirs, HOST_PATH_DIR);

    if (s->data_dir[0])
        c->own_dirs[own++] = s->data_dir;
    if (s->node.root) /* of a node agent beside this process, too */
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

static void find_mount_right(struct components *c)
{
    char user[IO_USER_NAME_BYTES];

    if (!(c->o.parts & DAEMON_NODE) || io_may_mount())
        return;
    io_user_name(io_user(), user);
    (void)snprintf(c->cannot_mount, sizeof c->cannot_mount,
                   "mounting needs root, and this agent runs as %s (uid %u)", user, (unsigned)io_user());
}

/* A machine where drivers cannot be looked for does without them. The usual place is not made for them, but
 * used as soon as somebody makes it. */
static struct flex_prober *open_flex(const struct components *c, struct pool *pool)
{
    bool makes_dir = c->o.settings->controllers.flex_dir != NULL;
    struct host_tools tools = { 0 };
    struct flex_prober *p = NULL;
    struct error err;

    if (flex_prober_new(c->o.part.loop, pool, flex_dir(c), makes_dir, &tools, &p, &err) < 0)
        log_warn("going on without FlexVolume drivers", LOG_STR("dir", flex_dir(c)), LOG_ERR(&err));
    return p;
}

static int open_plugins(const struct components *c, struct running *x, struct error *err)
{
    const char *complaint;
    int r;

    x->flex = open_flex(c, x->env.pool);
    r = registry_new(x->row->plugins, x->flex ? flex_prober_of(x->flex) : NULL, &x->env.plugins, err);
    if (r < 0)
        return r;
    complaint = registry_complaint(x->env.plugins); /* the node agent reports its own */
    if (complaint[0] && x->row->plugins_failure)
        return error_set(err, ERR_INVALID, "%s: %s", x->row->plugins_failure, complaint);
    return 0;
}

static int open_component(struct components *c, struct running *x, struct error *err)
{
    const struct component *row = x->row;
    const char *name = c->o.settings->node.name;
    int r = 0;

    x->env = (struct component_env){ .part = c->o.part,
                                     .settings = c->o.settings,
                                     .dirs = &c->dirs,
                                     .host = c->o.host,
                                     .node_name = name ? name : c->o.host,
                                     .cannot_mount = c->cannot_mount[0] ? c->cannot_mount : NULL,
                                     .streams_lists = c->o.streams_lists };
    x->env.part.informers = c->informers;
    x->env.reclaim_node = c->o.parts & DAEMON_NODE ? x->env.node_name : NULL;
    if (row->workers)
        r = pool_new(c->o.part.loop, row->workers, row->queue_max, &x->env.pool, err);
    if (r == 0 && row->plugins)
        r = open_plugins(c, x, err);
    return r < 0 ? r : row->new (&x->env, &x->component, err);
}

/* --- Life --- */

static void select_components(struct components *c)
{
    for (const struct component *row = daemon_components; row->name; row++) {
        if (!(row->part & c->o.parts) || (row->is_wanted && !row->is_wanted(c->o.settings)))
            continue;
        assert(c->count < COMPONENTS_MAX);
        c->running[c->count++].row = row;
        c->kinds |= row->kinds;
        c->kinds_optional |= row->kinds_optional;
    }
}

int components_new(const struct components_options *o, struct components **ret, struct error *err)
{
    _cleanup_(components_free_p) struct components *c = calloc(1, sizeof *c);
    int r;

    if (!c)
        return error_no_memory(err);
    c->o = *o;
    timer_init(&c->timer, o->part.loop, check_synced, c);
    select_components(c);
    find_mount_right(c);
    r = find_dirs(c, err);
    if (r == 0)
        r = open_caches(c, err);
    for (size_t i = 0; i < c->count && r == 0; i++)
        r = open_component(c, &c->running[i], err);
    if (r < 0)
        return r;
    informers_start(c->informers);
    c->say_at_ns = loop_now_ns(o->part.loop) + SYNC_SAY_NS;
    timer_arm_after(&c->timer, 0);
    *ret = TAKE(c);
    return 0;
}

struct components *components_stop(struct components *c)
{
    if (!c || !c->informers)
        return c;
    timer_disarm(&c->timer);
    for (size_t i = c->count; i-- > 0;)
        if (c->running[i].component)
            c->running[i].row->stop(c->running[i].component);
    c->informers = informers_free(c->informers);
    for (size_t i = c->count; i-- > 0;) {
        c->running[i].env.plugins = registry_free(c->running[i].env.plugins);
        c->running[i].flex = flex_prober_free(c->running[i].flex);
    }
    return c;
}

struct components *components_free(struct components *c)
{
    if (!components_stop(c))
        return NULL;
    for (size_t i = c->count; i-- > 0;)
        c->running[i].env.pool = pool_free(c->running[i].env.pool);
    vec_done(&c->parent_dirs);
    free(c);
    return NULL;
}

void components_start(struct components *c)
{
    for (size_t i = 0; i < c->count; i++)
        c->running[i].row->start(c->running[i].component);
}

/* --- What they know --- */

struct why_world components_world(const struct components *c)
{
    static const char *const no_provisioners[] = { NULL };
    struct why_world w = { .provisioners = no_provisioners };

    if (!c)
        return w;
    w.clock = c->o.part.clock;
    w.each_event = c->o.each_event;
    w.ctx = c->o.events_ctx;
    w.flex_dir = flex_dir(c);
    for (size_t k = 0; k < KIND_COUNT; k++)
        w.caches[k] = c->caches[k];
    for (size_t i = 0; i < c->count; i++)
        if (c->running[i].row->explain)
            c->running[i].row->explain(c->running[i].component, &w);
    return w;
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
