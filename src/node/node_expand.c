/* One expansion run: read the claim, decide (node_expand_plan.c), record in the claim's status that it
 * begins, call the plugin on the pool, record the result. The first write reads, decides and patches in one
 * operation (machinery/api_write.h), so the patch is conditional on the version that was decided on. An
 * expansion costs a GET and a PATCH before the call and the same after it; a volume that is not due costs
 * nothing. */
#include "node/node_expand.h"

#include <stdlib.h>
#include <string.h>

#include "api/json_out.h"
#include "base/log.h"
#include "base/mutant.h"
#include "io/job.h"
#include "machinery/api_write.h"
#include "machinery/merge_patch.h"
#include "machinery/resize_patch.h"
#include "node/node_expand_int.h"
#include "node/node_int.h"

struct expand_run {
    struct agent *agent;
    struct node_mount *mount;
    bool in_use;
    bool is_read_only;
    void (*done)(void *ctx, enum expand_end end, const struct error *err);
    void *ctx;
    struct deferred later;   /* for a result without a request */
    struct held_spec spec;   /* with the newest known PersistentVolume */
    struct growth_plan plan; /* valid once the claim was read */
    struct object *claim;    /* as read, or as the last write left it */
    struct api_write write;
    struct growth_job *job;
    bool is_called;       /* the job is on the pool */
    struct error failure; /* of the call */
    struct growth_failure meaning;
};

/* The data of the worker. */
struct growth_job {
    struct job job;
    struct volume_env env;
    const struct volume_plugin *plugin; /* a reference */
    struct held_spec spec;
    char *device_path;
    char *mount_path;
    char *pod_path;
    struct csi_fetch csi;
    struct expand_run *run; /* until the plugin is called */
    uint64_t new_bytes;
    uint64_t old_bytes;
    bool is_done;
};

static void growth_free(struct job *j);

static uint64_t bytes_of(const struct quantity *q)
{
    int64_t value = quantity_value(q);

    return value > 0 ? (uint64_t)value : 0;
}

/* --- Results --- */

static void run_free(struct expand_run *run)
{
    api_write_cancel(&run->write);
    loop_undefer(&run->later);
    if (run->job && run->is_called)
        (void)job_drop(&run->job->job);
    else if (run->job)
        growth_free(&run->job->job);
    (void)object_unref(run->claim);
    held_spec_clear(&run->spec);
    free(run);
}

static void run_end(struct expand_run *run, enum expand_end end, const struct error *err)
{
    void (*done)(void *, enum expand_end, const struct error *) = run->done;
    struct error copy = { 0 };
    void *ctx = run->ctx;

    if (end == EXPAND_FAILED)
        copy = *err;
    run_free(run);
    done(ctx, end, &copy);
}

static void run_fail(struct expand_run *run, const struct error *err, const char *what)
{
    struct error words = *err;

    (void)error_wrap(&words, "%s claim '%s/%s'", what, run->spec.spec.volume->claim.ns,
                     run->spec.spec.volume->claim.name);
    run_end(run, EXPAND_FAILED, &words);
}

/* On this node the volume now has the size of its PersistentVolume. */
static void run_note_size(struct expand_run *run)
{
    struct node_volume *v = run->mount->volume;

    v->bytes = bytes_of(&run->spec.spec.volume->capacity);
    v->failed_to_grow = false;
}

/* Records the event on the pod and on the claim. */
static void run_record_events(const struct expand_run *run, enum event_type type, const char *reason,
                              const char *what)
{
    const struct object *about[] = { run->mount->pod->object, run->claim };

    for (size_t i = 0; i < ARRAY_LEN(about); i++)
        if (about[i])
            recorder_event(run->agent->recorder, about[i], type, reason,
                           "MountVolume.NodeExpandVolume %s for volume \"%s\" %s",
                           type == EVENT_NORMAL ? "succeeded" : "failed", spec_name(&run->spec.spec), what);
}

/* --- The claim's status --- */

/* A claim with the same name and another uid does not own this volume. */
static bool is_our_claim(const struct expand_run *run, const struct object *claim)
{
    return strcmp(claim->uid, run->spec.spec.volume->claim.uid) == 0;
}

static void run_write(struct expand_run *run, api_decide_fn *decide, api_done_fn *done)
{
    const struct claim_ref *ref = &run->spec.spec.volume->claim;
    struct api_write_options o = {
        .api = run->agent->api,
        .patience = API_BACKOFF,
        .request = { .verb = CLIENT_PATCH,
                     .kind = kind_info(KIND_CLAIM),
                     .ns = ref->ns,
                     .name = ref->name,
                     .subresource = "status",
                     .patch = CLIENT_PATCH_STRATEGIC },
        .decide = decide,
        .done = done,
        .ctx = run,
    };

    api_write_start(&run->write, &o);
}

static struct timestamp now_of(const struct expand_run *run)
{
    return timestamp_of_ns(clock_real_ns(run->agent->o.part.clock));
}

static enum api_decision decide_begin(void *ctx, const struct object *now, struct buf *body,
                                      struct error *err)
{
    struct expand_run *run = ctx;
    const struct claim *c = claim_of(now);
    struct merge_patch p;

    run->plan = is_our_claim(run, now) ? growth_plan(c, run->spec.spec.volume, run->in_use, run->is_read_only)
                                       : (struct growth_plan){ .what = GROWTH_NONE };
    if (run->plan.what != GROWTH_BEGIN)
        return API_AS_IT_IS;
    merge_patch_begin(&p, body, now);
    merge_patch_member(&p, "status");
    resize_patch_conditions(body, c, /* wanted= */ NULL, /* message= */ NULL, /* drops= */ false,
                            (struct timestamp){ 0 });
    resize_patch_status(body, RESIZE_NODE_IN_PROGRESS);
    json_out_end_object(body);
    return api_decision_of(merge_patch_end(&p, err));
}

static enum api_decision decide_done(void *ctx, const struct object *now, struct buf *body, struct error *err)
{
    struct expand_run *run = ctx;
    const struct claim *c = claim_of(now);
    bool is_said = c->resize == RESIZE_NONE && quantity_cmp(&c->capacity, &run->plan.to) >= 0;

    if (is_said || !is_our_claim(run, now))
        return API_AS_IT_IS;
    return api_decision_of(resize_write_done(c, &run->plan.to, body, err));
}

/* During the call another node may have expanded the volume, or the controller may have begun with another
 * size: then the failure says nothing about the claim. */
static bool is_still_meant(const struct expand_run *run, const struct claim *c)
{
    if (run->plan.what == GROWTH_HERE_TOO)
        return c->resize == RESIZE_NONE;
    return (c->resize == RESIZE_NODE_PENDING || c->resize == RESIZE_NODE_IN_PROGRESS) &&
           (!c->has_allocated || quantity_cmp(&c->allocated, &run->plan.to) == 0);
}

static enum api_decision decide_failed(void *ctx, const struct object *now, struct buf *body,
                                       struct error *err)
{
    struct expand_run *run = ctx;
    const struct claim *c = claim_of(now);
    struct merge_patch p;
    struct error words = run->failure;

    if (!is_our_claim(run, now) || !is_still_meant(run, c))
        return API_AS_IT_IS;
    (void)error_set(&words, words.code, "failed to expand pvc with %s", (const char *)run->failure.msg);
    merge_patch_begin(&p, body, now);
    merge_patch_member(&p, "status");
    resize_patch_conditions(body, c, CLAIM_NODE_RESIZE_ERROR, words.msg, /* drops= */ false, now_of(run));
    if (run->meaning.is_infeasible)
        resize_patch_status(body, RESIZE_NODE_INFEASIBLE);
    json_out_end_object(body);
    return api_decision_of(merge_patch_end(&p, err));
}

/* --- After the call --- */

static void run_succeed(struct expand_run *run)
{
    run_record_events(run, EVENT_NORMAL, "FileSystemResizeSuccessful", run->agent->o.name);
    run_note_size(run);
    run_end(run, EXPAND_DONE, NULL);
}

static void on_done_written(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct expand_run *run = ctx;

    if (!api_write_succeeded(outcome))
        run_fail(run, &a->error,
                 "volume expanded, but cannot update the status of"); /* the next attempt finds it expanded */
    else
        run_succeed(run);
}

static void run_end_failed(struct expand_run *run)
{
    if (run->meaning.is_refused) {
        run->mount->volume->refuses_growth = true;
        run_end(run, EXPAND_NOT_NEEDED, NULL);
    } else {
        run_end(run, EXPAND_FAILED, &run->failure);
    }
}

static void on_failure_written(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct expand_run *run = ctx;

    if (!api_write_succeeded(outcome))
        log_warn("cannot write expansion failure to claim status, ignoring",
                 LOG_STR("claim", run->claim->name), LOG_STR("namespace", run->claim->ns),
                 LOG_ERR(&a->error));
    run_end_failed(run);
}

static void run_take_failure(struct expand_run *run, const struct error *err)
{
    struct node_volume *v = run->mount->volume;

    run->failure = *err;
    run->meaning = growth_failure(&run->plan, claim_of(run->claim), err->code, v->failed_to_grow);
    if (run->meaning.is_over) {
        run_note_size(run);
        run_end(run, EXPAND_NOT_NEEDED, NULL);
    } else if (run->meaning.is_reported) {
        v->failed_to_grow = true;
        run_write(run, decide_failed, on_failure_written);
    } else {
        run_end_failed(run);
    }
}

static void on_called(void *ctx, struct job *j, int r, const struct error *err)
{
    struct expand_run *run = ctx;
    bool is_done = run->job->is_done;

    (void)j;
    run->job = NULL;
    if (r < 0)
        run_take_failure(run, err);
    else if (!is_done)
        run_end(run, EXPAND_LATER, NULL);
    else if (run->plan.what == GROWTH_HERE_TOO)
        run_succeed(run);
    else
        run_write(run, decide_done, on_done_written);
}

/* --- Plugin call --- */

static int growth_run(struct job *j, struct error *err)
{
    struct growth_job *g = CONTAINER_OF(j, struct growth_job, job);
    struct expand_request q = { .spec = g->spec.spec,
                                .device_path = g->device_path,
                                .mount_path = g->mount_path,
                                .pod_path = g->pod_path,
                                .csi = spec_source(&g->spec.spec).kind == SOURCE_CSI ? &g->csi.request : NULL,
                                .new_bytes = g->new_bytes,
                                .old_bytes = g->old_bytes };

    return g->plugin->expand->expand_on_node(g->plugin, &g->env, &q, &g->is_done, err);
}

static void growth_free(struct job *j)
{
    struct growth_job *g = CONTAINER_OF(j, struct growth_job, job);

    g->plugin = plugin_unref(g->plugin);
    held_spec_clear(&g->spec);
    csi_fetch_end(&g->csi);
    free(g->device_path);
    free(g->mount_path);
    free(g->pod_path);
    free(g);
}

static const struct job_type growth_type = { "volume expansion", growth_run, growth_free };

static void run_begin_call(struct expand_run *run)
{
    run->is_called = true;
    job_begin(&run->job->job, run->agent->o.pool, on_called, run);
}

static void on_csi_fetched(struct csi_fetch *f, int r, const struct error *err)
{
    struct growth_job *g = CONTAINER_OF(f, struct growth_job, csi);

    if (r < 0)
        run_end(g->run, EXPAND_FAILED, err);
    else
        run_begin_call(g->run);
}

static void run_call(struct expand_run *run)
{
    const struct node_volume *v = run->mount->volume;
    struct growth_job *g = calloc(1, sizeof *g);
    struct error err;

    if (g) {
        g->job.type = &growth_type;
        g->plugin = plugin_ref(v->plugin);
        held_spec_copy(&g->spec, &run->spec);
        g->device_path = strdup(v->device_path);
        g->job.about = g->mount_path =
            strdup(v->device_mount_path[0] ? v->device_mount_path : run->mount->path);
        g->pod_path = strdup(run->mount->path);
    }
    if (!g || !g->device_path || !g->mount_path || !g->pod_path) {
        if (g)
            growth_free(&g->job);
        (void)error_no_memory(&err);
        run_end(run, EXPAND_FAILED, &err);
        return;
    }
    g->env = run->agent->env;
    g->env.stop = &g->job.stop;
    g->env.tools.stop = &g->job.stop;
    g->new_bytes = bytes_of(&run->plan.to);
    g->old_bytes = bytes_of(&claim_of(run->claim)->capacity);
    run->job = g;
    if (spec_source(&g->spec.spec).kind != SOURCE_CSI) {
        run_begin_call(run);
        return;
    }
    g->run = run;
    g->csi.done = on_csi_fetched;
    csi_fetch(run->agent->csi, CSI_EXPAND, run->mount->pod->object, &g->spec.spec, run->mount->was_block,
              &g->csi);
}

/* --- Start --- */

static void on_begun(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct expand_run *run = ctx;

    if (!api_write_succeeded(outcome)) {
        run_fail(run, &a->error, "cannot start expanding the volume of");
        return;
    }
    run->claim = object_ref(a->object);
    if (run->plan.what == GROWTH_GO_ON && MUTANT("node-believes-that-it-grew")) {
        run_write(run, decide_done, on_done_written);
        return;
    }
    switch (run->plan.what) {
    case GROWTH_PLAIN:
    case GROWTH_BEGIN:
    case GROWTH_GO_ON:
    case GROWTH_HERE_TOO:
        run_call(run);
        return;
    case GROWTH_READ_ONLY:
        run_record_events(run, EVENT_WARNING, "FileSystemResizeFailed", "requested read-only file system");
        break;
    case GROWTH_NOT_NOW:
        run_end(run, EXPAND_LATER, NULL);
        return;
    case GROWTH_NONE:
    case GROWTH_OVER:
        run_note_size(run);
        break;
    case GROWTH_COUNT:
        break;
    }
    run_end(run, EXPAND_NOT_NEEDED, NULL);
}

static void on_not_due(void *ctx)
{
    run_end(ctx, EXPAND_NOT_NEEDED, NULL);
}

/* The newest version that a pod of this node has fetched. */
static const struct held_spec *newest_spec(const struct node_mount *m)
{
    return m->volume->wanted.spec.volume ? &m->volume->wanted : &m->wanted;
}

bool expand_is_due(const struct node_mount *m)
{
    const struct expand_table *t = m->volume->plugin->expand;
    const struct volume *v = newest_spec(m)->spec.volume;

    return v && v->claim.is_set && t && t->expand_on_node && t->needs_fs_resize &&
           !m->volume->refuses_growth && bytes_of(&v->capacity) > m->volume->bytes;
}

struct expand_run *expand_begin(struct agent *a, struct node_mount *m, bool in_use,
                                void (*done)(void *ctx, enum expand_end end, const struct error *err),
                                void *ctx)
{
    struct expand_run *run = calloc(1, sizeof *run);

    if (!run)
        return NULL;
    run->agent = a;
    run->mount = m;
    run->in_use = in_use;
    run->is_read_only = m->wanted.spec.is_read_only;
    run->done = done;
    run->ctx = ctx;
    deferred_init(&run->later, a->o.part.loop, on_not_due, run);
    if (expand_is_due(m)) {
        held_spec_copy(&run->spec, newest_spec(m));
        run_write(run, decide_begin, on_begun);
    } else {
        loop_defer(&run->later);
    }
    return run;
}

struct expand_run *expand_cancel(struct expand_run *run)
{
    if (run)
        run_free(run);
    return NULL;
}
