/* Volumes of plugins: blocking calls, on the pool. A call that nobody waits for any more ends by itself. */
#include "controllers/attach/attach_int.h"

#include <stdlib.h>
#include <string.h>

#include "plugins/call.h"

struct plugin_work {
    struct plugin_call call;
    struct attach_work *owner; /* NULL: nobody waits */
    /* The worker's while it runs; of the loop before and after. */
    struct held_spec spec;
    char *volume; /* as the plugin calls it */
    char *node;
    bool is_attached;
    char *device;
};

static void work_free(struct plugin_work *x)
{
    held_spec_clear(&x->spec);
    free(x->volume);
    free(x->node);
    free(x->device);
    free(x);
}

static void end(struct plugin_work *x, int r, const struct error *err)
{
    struct attach_work *w = x->owner;
    struct error why = *err;

    if (!w) {
        work_free(x);
        return;
    }
    w->work = NULL;
    w->is_attached = x->is_attached;
    w->device = TAKE(x->device);
    work_free(x);
    w->done(w, r, &why);
}

static void on_call_done(struct plugin_call *c, int r, const struct error *err)
{
    end(CONTAINER_OF(c, struct plugin_work, call), r, err);
}

static int work_open(struct plugin_work *x, const struct attach_work *w, struct error *err)
{
    struct str plugin, volume;
    int r = unique_name_split(w->volume, &plugin, &volume, err);

    if (r < 0)
        return r;
    x->volume = strndup(volume.s, volume.len);
    x->node = strdup(w->node);
    held_spec_copy(&x->spec, &w->spec);
    if (!x->volume || !x->node)
        return error_no_memory(err);
    if (!w->attach->o.pool)
        return error_set(err, ERR_UNAVAILABLE, "there are no workers for plugins here");
    return 0;
}

static void begin(struct attach_work *w, plugin_call_fn *fn)
{
    struct plugin_work *x = calloc(1, sizeof *x);
    struct attach *a = w->attach;
    struct volume_env env = { .node_name = "", .tools = a->o.tools, .clock = a->o.part.clock };
    struct error err = { 0 };
    int r = x ? work_open(x, w, &err) : error_no_memory(&err);

    if (r < 0 || !x) {
        if (x)
            work_free(x);
        attach_work_fail(w, &err);
        return;
    }
    x->owner = w;
    x->call.done = on_call_done;
    w->work = x;
    /* Without a limit: plugins have their own. */
    plugin_call_begin(a->o.part.loop, a->o.pool, w->plugin, &env, fn, /* limit_ns= */ 0, &x->call);
}

static void plugin_drop(struct attach_work *w)
{
    struct plugin_work *x = w->work;

    w->work = NULL;
    x->owner = NULL;
    if (x->call.later.round == 0) {
        plugin_call_stop(&x->call);
        return;
    }
    loop_undefer(&x->call.later); /* the pool did not take it */
    x->call.plugin = plugin_unref(x->call.plugin);
    work_free(x);
}

/* --- On the worker --- */

static struct plugin_work *work_of(struct plugin_call *c)
{
    return CONTAINER_OF(c, struct plugin_work, call);
}

/* A device whose name is lost for lack of memory is attached all the same: a failure, and once more. */
static int run_attach(struct plugin_call *c, const struct volume_env *env, struct error *err)
{
    struct plugin_work *x = work_of(c);
    char device[PATH_MAX] = "";
    int r = plugin_check_name(c->plugin, env, &x->spec.spec, err);

    if (r == 0)
        r = c->plugin->attach->attach(c->plugin, env, &x->spec.spec, x->node, device, err);
    if (device[0])
        x->device = strdup(device);
    return device[0] && !x->device ? error_no_memory(err) : r;
}

static int run_detach(struct plugin_call *c, const struct volume_env *env, struct error *err)
{
    const struct plugin_work *x = work_of(c);

    return c->plugin->attach->detach(c->plugin, env, x->volume, x->node, err);
}

static int run_verify(struct plugin_call *c, const struct volume_env *env, struct error *err)
{
    struct plugin_work *x = work_of(c);

    return c->plugin->attach->is_attached(c->plugin, env, &x->spec.spec, x->node, &x->is_attached, err);
}

static void plugin_attach(struct attach_work *w)
{
    begin(w, run_attach);
}

static void plugin_detach(struct attach_work *w)
{
    begin(w, run_detach);
}

static void plugin_verify(struct attach_work *w)
{
    begin(w, run_verify);
}

const struct attacher plugin_attacher = { plugin_attach, plugin_detach, plugin_verify, plugin_drop };
