/* Volumes of plugins: each call blocks and runs as a job on the pool. A dropped call runs to its end. */
#include "controllers/attach/attach_int.h"

#include <stdlib.h>
#include <string.h>

#include "io/job.h"

struct plugin_call {
    struct job job;
    const struct volume_plugin *plugin; /* a reference */
    struct volume_env env;
    struct held_spec spec;
    char *volume; /* the plugin's name of the volume */
    char *node;
    bool is_attached;
    char *device;
};

static void call_free(struct job *j)
{
    struct plugin_call *c = CONTAINER_OF(j, struct plugin_call, job);

    held_spec_clear(&c->spec);
    c->plugin = plugin_unref(c->plugin);
    free(c->volume);
    free(c->node);
    free(c->device);
    free(c);
}

static void on_call_done(void *ctx, struct job *j, int r, const struct error *err)
{
    struct plugin_call *c = CONTAINER_OF(j, struct plugin_call, job);
    struct attach_work *w = ctx;

    w->work = NULL;
    w->is_attached = c->is_attached;
    w->device = TAKE(c->device);
    w->done(w, r, err);
}

/* Without a time limit: plugins have their own. */
static void start_call(struct attach_work *w, const struct job_type *type)
{
    struct plugin_call *c = calloc(1, sizeof *c);
    struct attach *a = w->attach;
    struct str plugin, volume;
    struct error err = { 0 };
    int r = c ? unique_name_split(w->volume, &plugin, &volume, &err) : error_no_memory(&err);

    if (r == 0) {
        c->volume = strndup(volume.s, volume.len);
        c->node = strdup(w->node);
        held_spec_copy(&c->spec, &w->spec);
        r = c->volume && c->node ? 0 : error_no_memory(&err);
    }
    if (r == 0 && !a->o.pool)
        r = error_set(&err, ERR_UNAVAILABLE, "no worker threads for volume plugins in this process");
    if (r < 0 || !c) {
        if (c)
            call_free(&c->job);
        attach_work_fail(w, &err);
        return;
    }
    c->plugin = plugin_ref(w->plugin);
    c->env = (struct volume_env){
        .node_name = "", .tools = a->o.tools, .stop = &c->job.stop, .clock = a->o.part.clock
    };
    c->env.tools.stop = &c->job.stop;
    c->job.type = type;
    c->job.about = c->volume;
    w->work = &c->job;
    job_begin(&c->job, a->o.pool, on_call_done, w);
}

static void plugin_drop(struct attach_work *w)
{
    w->work = job_drop(w->work);
}

/* Without memory for the device's name an attached volume is reported as a failure, and attached again. */
static int run_attach(struct job *j, struct error *err)
{
    struct plugin_call *c = CONTAINER_OF(j, struct plugin_call, job);
    char device[PATH_MAX] = "";
    int r = plugin_check_name(c->plugin, &c->env, &c->spec.spec, err);

    if (r == 0)
        r = c->plugin->attach->attach(c->plugin, &c->env, &c->spec.spec, c->node, device, err);
    if (device[0])
        c->device = strdup(device);
    return device[0] && !c->device ? error_no_memory(err) : r;
}

static int run_detach(struct job *j, struct error *err)
{
    struct plugin_call *c = CONTAINER_OF(j, struct plugin_call, job);

    return c->plugin->attach->detach(c->plugin, &c->env, c->volume, c->node, err);
}

static int run_verify(struct job *j, struct error *err)
{
    struct plugin_call *c = CONTAINER_OF(j, struct plugin_call, job);

    return c->plugin->attach->is_attached(c->plugin, &c->env, &c->spec.spec, c->node, &c->is_attached, err);
}

static void plugin_attach(struct attach_work *w)
{
    static const struct job_type type = { "volume attach", run_attach, call_free };

    start_call(w, &type);
}

static void plugin_detach(struct attach_work *w)
{
    static const struct job_type type = { "volume detach", run_detach, call_free };

    start_call(w, &type);
}

static void plugin_verify(struct attach_work *w)
{
    static const struct job_type type = { "attachment verification", run_verify, call_free };

    start_call(w, &type);
}

const struct attacher plugin_attacher = { plugin_attach, plugin_detach, plugin_verify, plugin_drop };
