/* The steps of an expansion:
 *
 *   read the volume from the server; decide; then, for a size,
 *   (a) claim: expansion in progress, target size     first, so that a retry uses the same size
 *   (b) the plugin expands the storage
 *   (c) volume: new size                              and the size from before, until the node has finished
 *   (d) claim: done, or waiting for the node
 *
 * Every step may be the last one before a crash; the next sync continues from what was written. */
#include "controllers/expand/expand_int.h"

#include <stdlib.h>
#include <string.h>

#include "api/migration.h"
#include "base/log.h"
#include "base/mutant.h"
#include "io/job.h"
#include "machinery/api_write.h"
#include "machinery/resize_patch.h"

struct claim_expansion {
    TAILQ_ENTRY(claim_expansion) link;
    struct expand *owner;
    struct object *claim;               /* as last read or answered */
    struct object *volume;              /* likewise; NULL before it was read */
    const struct volume_plugin *plugin; /* a reference; NULL: not searched yet, or none */
    struct job *job;                    /* call of the plugin; NULL: none */
    uint64_t started_ns;
    struct quantity before; /* size of the claim */
    struct quantity size;   /* target; after the call of the plugin, the size of the volume */
    struct api_write write;
    size_t key_len;
    char key[];
};

/* --- Lifecycle --- */

void expansion_free(struct claim_expansion *expansion)
{
    TAILQ_REMOVE(&expansion->owner->expansions, expansion, link);
    api_write_cancel(&expansion->write);
    expansion->job = job_drop(expansion->job);
    expansion->plugin = plugin_unref(expansion->plugin);
    (void)object_unref(expansion->claim);
    (void)object_unref(expansion->volume);
    free(expansion);
}

static void expansion_end(struct claim_expansion *expansion, enum sync_result result)
{
    controller_finish(expansion->owner->controller, (struct str){ expansion->key, expansion->key_len },
                      result);
    expansion_free(expansion);
}

static void expansion_fail(struct claim_expansion *expansion, const struct error *err)
{
    log_warn("cannot expand claim, will retry", LOG_STR("claim", expansion->key), LOG_ERR(err));
    expansion_end(expansion, SYNC_AGAIN);
}

/* The error is also recorded as an event of the claim. */
static void expansion_fail_with_event(struct claim_expansion *expansion, const struct error *err)
{
    recorder_event(expansion->owner->recorder, expansion->claim, EVENT_WARNING, "VolumeResizeFailed", "%s",
                   err->msg);
    expansion_fail(expansion, err);
}

static struct timestamp now_of(const struct claim_expansion *expansion)
{
    return timestamp_of_ns(clock_real_ns(expansion->owner->clock));
}

/* --- Writing --- */

/* Patches the claim's status, the claim or the volume. */
static void patch_object(struct claim_expansion *expansion, const struct object *o, const char *subresource,
                         api_decide_fn *decide, api_done_fn *done)
{
    struct api_write_options w = {
        .api = expansion->owner->api,
        .request = { .verb = CLIENT_PATCH, .subresource = subresource, .patch = CLIENT_PATCH_STRATEGIC },
        .object = o,
        .decide = decide,
        .step = API_STEP_RESIZE,
        .informer = o->kind->kind == KIND_CLAIM ? expansion->owner->claims : expansion->owner->volumes,
        .done = done,
        .ctx = expansion
    };

    api_write_start(&expansion->write, &w);
}

/* True if the write succeeded; the answer is stored as the current object. Otherwise the sync has ended;
 * after a conflict it starts again. */
static bool store_answer(struct claim_expansion *expansion, enum api_outcome outcome,
                         const struct client_answer *a)
{
    struct object **place;

    if (outcome == API_CONFLICT) {
        expansion_end(expansion, SYNC_OVERTAKEN);
    } else if (a->r == -ERR_NOT_FOUND) {
        expansion_end(expansion, SYNC_DONE);
    } else if (!api_write_succeeded(outcome) || !a->object) {
        expansion_fail_with_event(expansion, &a->error);
    } else {
        place = a->object->kind->kind == KIND_CLAIM ? &expansion->claim : &expansion->volume;
        (void)object_unref(*place);
        *place = object_ref(a->object);
        return true;
    }
    return false;
}

static void on_last_written(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct claim_expansion *expansion = ctx;

    if (store_answer(expansion, outcome, a))
        expansion_end(expansion, SYNC_DONE);
}

/* --- (d) --- */

static void on_done_written(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct claim_expansion *expansion = ctx;

    if (!store_answer(expansion, outcome, a))
        return;
    log_info("claim expanded", LOG_STR("claim", expansion->key));
    recorder_event(expansion->owner->recorder, expansion->claim, EVENT_NORMAL, "VolumeResizeSuccessful",
                   "ExpandVolume succeeded for volume %s", expansion->key);
    expansion_end(expansion, SYNC_DONE);
}

static bool needs_node(const struct claim_expansion *expansion)
{
    return expansion->plugin->expand->needs_fs_resize &&
           volume_of(expansion->volume)->mode != VOLUME_MODE_BLOCK;
}

static enum api_decision decide_node_pending(void *ctx, const struct object *now, struct buf *body,
                                             struct error *err)
{
    return api_decision_of(resize_write_node_pending(claim_of(now), now_of(ctx), body, err));
}

static void write_node_pending(struct claim_expansion *expansion)
{
    patch_object(expansion, expansion->claim, "status", decide_node_pending, on_last_written);
}

static enum api_decision decide_done(void *ctx, const struct object *now, struct buf *body, struct error *err)
{
    const struct claim_expansion *expansion = ctx;

    return api_decision_of(resize_write_done(claim_of(now), &expansion->size, body, err));
}

static void write_done(struct claim_expansion *expansion)
{
    patch_object(expansion, expansion->claim, "status", decide_done, on_done_written);
}

/* --- (c) --- */

static void on_size_written(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct claim_expansion *expansion = ctx;

    if (!store_answer(expansion, outcome, a))
        return;
    if (needs_node(expansion) && !MUTANT("expand-skips-the-node"))
        write_node_pending(expansion);
    else
        write_done(expansion);
}

/* The capacity of a volume is never decreased. */
static enum api_decision decide_size(void *ctx, const struct object *now, struct buf *body, struct error *err)
{
    const struct claim_expansion *expansion = ctx;
    const struct volume *v = volume_of(now);
    bool keeps = needs_node(expansion) && !object_annotation(now, ANN_PRE_RESIZE_CAPACITY);
    bool grows = quantity_cmp(&v->capacity, &expansion->size) < 0;

    if (!keeps && !grows)
        return API_AS_IT_IS;
    return api_decision_of(resize_write_capacity(v, grows ? &expansion->size : &v->capacity,
                                                 keeps ? &expansion->before : NULL, body, err));
}

/* --- (b) --- */

/* The data of the worker. */
struct plugin_expand {
    struct job job;
    const struct volume_plugin *plugin; /* a reference */
    struct object *volume;              /* a reference */
    struct volume_env env;
    struct expand_request request;
    uint64_t bytes; /* size of the volume after the call */
};

static int plugin_expand_run(struct job *j, struct error *err)
{
    struct plugin_expand *w = CONTAINER_OF(j, struct plugin_expand, job);

    return w->plugin->expand->expand(w->plugin, &w->env, &w->request, &w->bytes, err);
}

static void plugin_expand_free(struct job *j)
{
    struct plugin_expand *w = CONTAINER_OF(j, struct plugin_expand, job);

    w->plugin = plugin_unref(w->plugin);
    w->volume = object_unref(w->volume);
    free(w);
}

/* If the plugin provided exactly the requested size, its original notation is kept. */
static void on_expanded(void *ctx, struct job *j, int r, const struct error *err)
{
    const struct plugin_expand *w = CONTAINER_OF(j, struct plugin_expand, job);
    struct claim_expansion *expansion = ctx;
    uint64_t took_ns = loop_now_ns(expansion->owner->loop) - expansion->started_ns;
    struct error failure;

    expansion->job = NULL;
    if (expansion->owner->seconds)
        metric_observe(metric_of(expansion->owner->seconds, expansion->plugin->name, "expand_volume",
                                 r < 0 ? PART_FAILURE : PART_SUCCESS, "false"),
                       (double)took_ns / (double)NS_PER_S);
    if (r < 0) {
        (void)error_set(&failure, err->code, "error expanding volume \"%s\" of plugin \"%s\": %s",
                        expansion->key, expansion->plugin->name, err->msg);
        expansion_fail_with_event(expansion, &failure);
        return;
    }
    if (w->bytes != w->request.new_bytes)
        expansion->size = quantity_of((int64_t)w->bytes, QUANTITY_BINARY_SI);
    patch_object(expansion, expansion->volume, NULL, decide_size, on_size_written);
}

/* Without a time limit: plugins have their own. */
static void run_plugin(struct claim_expansion *expansion)
{
    static const struct job_type type = { "volume expansion", plugin_expand_run, plugin_expand_free };
    struct plugin_expand *w = calloc(1, sizeof *w);
    struct error err;

    expansion->started_ns = loop_now_ns(expansion->owner->loop);
    expansion->size = claim_of(expansion->claim)->allocated;
    if (!w) {
        (void)error_no_memory(&err);
        expansion_fail(expansion, &err);
        return;
    }
    w->plugin = plugin_ref(expansion->plugin);
    w->volume = object_ref(expansion->volume);
    w->env = (struct volume_env){
        .node_name = "", .tools.stop = &w->job.stop, .stop = &w->job.stop, .clock = expansion->owner->clock
    };
    w->request = (struct expand_request){ .spec.volume = volume_of(w->volume),
                                          .new_bytes = (uint64_t)quantity_value(&expansion->size),
                                          .old_bytes = (uint64_t)quantity_value(&expansion->before) };
    w->job.type = &type;
    w->job.about = w->volume->name;
    expansion->job = &w->job;
    job_begin(&w->job, expansion->owner->pool, on_expanded, expansion);
}

/* --- (a) --- */

static void on_begun_written(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct claim_expansion *expansion = ctx;

    if (store_answer(expansion, outcome, a))
        run_plugin(expansion);
}

static enum api_decision decide_begun(void *ctx, const struct object *now, struct buf *body,
                                      struct error *err)
{
    const struct claim_expansion *expansion = ctx;
    const struct claim *c = claim_of(now);

    if (expand_is_begun(c, expansion->plugin->name, &expansion->size))
        return API_AS_IT_IS;
    return api_decision_of(
        expand_write_begun(c, expansion->plugin->name, &expansion->size, now_of(expansion), body, err));
}

/* --- The decision --- */

static enum api_decision decide_resizer(void *ctx, const struct object *now, struct buf *body,
                                        struct error *err)
{
    const struct claim_expansion *expansion = ctx;
    const char *driver = migration_driver(migration_plugin(volume_of(expansion->volume)->source.kind));

    if (object_annotation_is(now, ANN_RESIZER, driver))
        return API_AS_IT_IS;
    return api_decision_of(expand_write_resizer(claim_of(now), driver, body, err));
}

static void hand_to_driver(struct claim_expansion *expansion)
{
    recorder_event(expansion->owner->recorder, expansion->claim, EVENT_NORMAL, "ExternalExpanding",
                   "CSI migration enabled for %s; waiting for external resizer to expand the pvc",
                   migration_plugin(volume_of(expansion->volume)->source.kind));
    patch_object(expansion, expansion->claim, NULL, decide_resizer, on_last_written);
}

static enum api_decision decide_forgotten(void *ctx, const struct object *now, struct buf *body,
                                          struct error *err)
{
    (void)ctx;
    return api_decision_of(resize_write_forgotten(volume_of(now), body, err));
}

static void start_plan(struct claim_expansion *expansion)
{
    struct expand_decision d =
        expand_decide(expansion->owner->registry, claim_of(expansion->claim), volume_of(expansion->volume));
    struct error err;

    expansion->plugin = plugin_ref(d.plugin);
    expansion->size = d.to;
    switch (d.plan) {
    case EXPAND_NOTHING:
        expansion_end(expansion, SYNC_DONE);
        break;
    case EXPAND_NOT_BOUND:
        (void)error_set(&err, ERR_CONFLICT, "persistent Volume is not bound to PVC being updated : %s",
                        expansion->key);
        expansion_fail(expansion, &err);
        break;
    case EXPAND_MIGRATED:
        hand_to_driver(expansion);
        break;
    case EXPAND_OTHERS:
        recorder_event(expansion->owner->recorder, expansion->claim,
                       d.is_doubtful ? EVENT_WARNING : EVENT_NORMAL, "ExternalExpanding",
                       "waiting for an external controller to expand this PVC");
        expansion_end(expansion, SYNC_DONE);
        break;
    case EXPAND_FOLLOW:
        write_done(expansion);
        break;
    case EXPAND_FORGET_SIZE:
        patch_object(expansion, expansion->volume, NULL, decide_forgotten, on_last_written);
        break;
    case EXPAND_TO_NODE:
        write_node_pending(expansion);
        break;
    case EXPAND_TO:
        patch_object(expansion, expansion->claim, "status", decide_begun, on_begun_written);
        break;
    }
}

/* --- The sync --- */

static void on_volume(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct claim_expansion *expansion = ctx;
    struct error err;

    if (outcome != API_DONE) {
        err = a->error;
        (void)error_wrap(&err, "failed to get PV \"%s\"", claim_of(expansion->claim)->volume_name);
        expansion_fail(expansion, &err);
        return;
    }
    expansion->volume = object_ref(a->object);
    start_plan(expansion);
}

/* Most claims have the requested size: the caches show that without a request. */
static bool is_quiet(const struct expand *e, const struct claim *c)
{
    const struct object *volume = informer_get(e->volumes, "", c->volume_name);

    return c->phase != CLAIM_BOUND || c->volume_name[0] == '\0' ||
           (expand_is_satisfied(c) && volume && !object_annotation(volume, ANN_PRE_RESIZE_CAPACITY));
}

enum sync_result expand_sync(void *ctx, struct str key)
{
    struct expand *e = ctx;
    const struct object *o = informer_get_key(e->claims, key);
    struct claim_expansion *expansion;

    if (!o || is_quiet(e, claim_of(o)))
        return SYNC_DONE;
    expansion = calloc(1, sizeof *expansion + key.len + 1);
    if (!expansion)
        return SYNC_AGAIN;
    expansion->owner = e;
    expansion->claim = object_ref(o);
    expansion->before = claim_of(o)->capacity;
    expansion->key_len = key.len;
    memcpy(expansion->key, key.s, key.len);
    TAILQ_INSERT_TAIL(&e->expansions, expansion, link);
    api_read(&expansion->write, &e->api, KIND_VOLUME, "", claim_of(o)->volume_name, on_volume, expansion);
    return SYNC_LATER;
}
