/* A run: read the claim from the server, decide (expand_plan.c), say that it begins, call the plugin on the
 * pool, say how it went. The first write reads, decides and says in one (machinery/write.h), so that what is
 * decided on is what the patch is conditional on. A growth costs a get and a patch before the call, the same
 * after it; one that is not due costs nothing. */
#include "node/expand.h"

#include <stdlib.h>
#include <string.h>

#include "api/json_out.h"
#include "base/log.h"
#include "io/job.h"
#include "machinery/merge_patch.h"
#include "machinery/resize_patch.h"
#include "machinery/write.h"
#include "node/expand_int.h"
#include "node/node_int.h"

struct expand_run {
    struct agent *agent;
    struct node_mount *mount;
    bool in_use;
    bool is_read_only;
    void (*done)(void *ctx, enum expand_end end, const struct error *err);
    void *ctx;
    struct deferred later;   /* of an end without a request */
    struct held_spec spec;   /* with the newest PersistentVolume that is known */
    struct growth_plan plan; /* once the claim was read */
    struct object *claim;    /* as it was then, or was left by the last write */
    struct api_write write;
    struct growth_job *job;
    bool is_called;       /* the job is on the pool */
    struct error failure; /* of the call */
    struct growth_failure meaning;
};

/* What the worker sees. */
struct growth_job {
    struct job job;
    struct volume_env env;
    const struct volume_plugin *plugin; /* a reference */
    struct held_spec spec;
    char *device_path;
    char *mount_path;
    char *pod_path;
    struct csi_fetch csi;
    struct expand_run *run; /* until it is called */
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

/* --- The end --- */

static void run_free(struct expand_run *x)
{
    api_write_cancel(&x->write);
    loop_undefer(&x->later);
    if (x->job && x->is_called)
        (void)job_drop(&x->job->job);
    else if (x->job)
        growth_free(&x->job->job);
    (void)object_unref(x->claim);
    held_spec_clear(&x->spec);
    free(x);
}

static void run_end(struct expand_run *x, enum expand_end end, const struct error *err)
{
    void (*done)(void *, enum expand_end, const struct error *) = x->done;
    struct error copy = { 0 };
    void *ctx = x->ctx;

    if (end == EXPAND_FAILED)
        copy = *err;
    run_free(x);
    done(ctx, end, &copy);
}

static void run_fail(struct expand_run *x, const struct error *err, const char *what)
{
    struct error words = *err;

    (void)error_wrap(&words, "%s claim '%s/%s'", what, x->spec.spec.volume->claim.ns,
                     x->spec.spec.volume->claim.name);
    run_end(x, EXPAND_FAILED, &words);
}

/* The volume is as large as its PersistentVolume says, as far as this node is concerned. */
static void run_note_size(struct expand_run *x)
{
    struct node_volume *v = x->mount->volume;

    v->bytes = bytes_of(&x->spec.spec.volume->capacity);
    v->failed_to_grow = false;
}

/* To the people of the pod and of the claim. */
static void run_tell(const struct expand_run *x, enum event_type type, const char *reason, const char *what)
{
    const struct object *about[] = { x->mount->pod->object, x->claim };

    for (size_t i = 0; i < ARRAY_LEN(about); i++)
        if (about[i])
            recorder_event(x->agent->recorder, about[i], type, reason,
                           "MountVolume.NodeExpandVolume %s for volume \"%s\" %s",
                           type == EVENT_NORMAL ? "succeeded" : "failed", spec_name(&x->spec.spec), what);
}

/* --- The claim's status --- */

/* Another claim of that name has nothing to do with this volume. */
static bool is_our_claim(const struct expand_run *x, const struct object *claim)
{
    return strcmp(claim->uid, x->spec.spec.volume->claim.uid) == 0;
}

static void run_write(struct expand_run *x, api_decide_fn *decide, api_done_fn *done)
{
    const struct claim_ref *ref = &x->spec.spec.volume->claim;
    struct api_write_options o = {
        .api = agent_api(x->agent),
        .patience = API_BACKOFF,
        .request = { .verb = CLIENT_PATCH,
                     .kind = kind_info(KIND_CLAIM),
                     .ns = ref->ns,
                     .name = ref->name,
                     .subresource = "status",
                     .patch = CLIENT_PATCH_STRATEGIC },
        .decide = decide,
        .done = done,
        .ctx = x,
    };

    api_write_start(&x->write, &o);
}

static enum api_verdict verdict_of(int r)
{
    return r < 0 ? API_REFUSE : API_SEND;
}

static struct timestamp now_of(const struct expand_run *x)
{
    return timestamp_of_ns(clock_real_ns(x->agent->o.part.clock));
}

static enum api_verdict decide_begin(void *ctx, const struct object *now, struct buf *body, struct error *err)
{
    struct expand_run *x = ctx;
    const struct claim *c = claim_of(now);
    struct merge_patch p;

    x->plan = is_our_claim(x, now) ? growth_plan(c, x->spec.spec.volume, x->in_use, x->is_read_only)
                                   : (struct growth_plan){ .what = GROWTH_NONE };
    if (x->plan.what != GROWTH_BEGIN)
        return API_AS_IT_IS;
    merge_patch_begin(&p, body, now);
    merge_patch_member(&p, "status");
    resize_patch_conditions(body, c, /* wanted= */ NULL, /* message= */ NULL, /* drops= */ false,
                            (struct timestamp){ 0 });
    resize_patch_status(body, RESIZE_NODE_IN_PROGRESS);
    json_out_end_object(body);
    return verdict_of(merge_patch_end(&p, err));
}

static enum api_verdict decide_done(void *ctx, const struct object *now, struct buf *body, struct error *err)
{
    struct expand_run *x = ctx;
    const struct claim *c = claim_of(now);
    bool is_said = c->resize == RESIZE_NONE && quantity_cmp(&c->capacity, &x->plan.to) >= 0;

    if (is_said || !is_our_claim(x, now))
        return API_AS_IT_IS;
    return verdict_of(resize_write_done(c, &x->plan.to, body, err));
}

static enum api_verdict decide_failed(void *ctx, const struct object *now, struct buf *body,
                                      struct error *err)
{
    struct expand_run *x = ctx;
    const struct claim *c = claim_of(now);
    struct merge_patch p;
    struct error words = x->failure;

    if (!is_our_claim(x, now))
        return API_AS_IT_IS;
    (void)error_set(&words, words.code, "failed to expand pvc with %s", (const char *)x->failure.msg);
    merge_patch_begin(&p, body, now);
    merge_patch_member(&p, "status");
    resize_patch_conditions(body, c, CLAIM_NODE_RESIZE_ERROR, words.msg, /* drops= */ false, now_of(x));
    if (x->meaning.is_infeasible)
        resize_patch_status(body, RESIZE_NODE_INFEASIBLE);
    json_out_end_object(body);
    return verdict_of(merge_patch_end(&p, err));
}

/* --- After the call --- */

static void run_succeed(struct expand_run *x)
{
    run_tell(x, EVENT_NORMAL, "FileSystemResizeSuccessful", x->agent->o.name);
    run_note_size(x);
    run_end(x, EXPAND_DONE, NULL);
}

static void on_said_done(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct expand_run *x = ctx;

    if (!api_went_well(outcome))
        run_fail(x, &a->error, "the volume has grown; cannot say so on"); /* the next try finds it grown */
    else
        run_succeed(x);
}

static void run_end_failed(struct expand_run *x)
{
    if (x->meaning.is_refused) {
        x->mount->volume->refuses_growth = true;
        run_end(x, EXPAND_NOT_NEEDED, NULL);
    } else {
        run_end(x, EXPAND_FAILED, &x->failure);
    }
}

static void on_said_failed(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct expand_run *x = ctx;

    if (!api_went_well(outcome))
        log_warn("cannot say on the claim that its volume could not grow, ignoring",
                 LOG_STR("claim", x->claim->name), LOG_STR("namespace", x->claim->ns), LOG_ERR(&a->error));
    run_end_failed(x);
}

static void run_take_failure(struct expand_run *x, const struct error *err)
{
    struct node_volume *v = x->mount->volume;

    x->failure = *err;
    x->meaning = growth_failure(&x->plan, claim_of(x->claim), err->code, v->failed_to_grow);
    if (x->meaning.is_over) {
        run_note_size(x);
        run_end(x, EXPAND_NOT_NEEDED, NULL);
    } else if (x->meaning.is_told) {
        v->failed_to_grow = true;
        run_write(x, decide_failed, on_said_failed);
    } else {
        run_end_failed(x);
    }
}

static void on_called(void *ctx, struct job *j, int r, const struct error *err)
{
    struct expand_run *x = ctx;
    bool is_done = x->job->is_done;

    (void)j;
    x->job = NULL;
    if (r < 0)
        run_take_failure(x, err);
    else if (!is_done)
        run_end(x, EXPAND_LATER, NULL);
    else if (x->plan.what == GROWTH_HERE_TOO)
        run_succeed(x);
    else
        run_write(x, decide_done, on_said_done);
}

/* --- The call --- */

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

static const struct job_type growth_type = { "growth of a volume", growth_run, growth_free };

static void run_begin_call(struct expand_run *x)
{
    x->is_called = true;
    job_begin(&x->job->job, x->agent->o.pool, on_called, x);
}

static void on_csi_fetched(struct csi_fetch *f, int r, const struct error *err)
{
    struct growth_job *g = CONTAINER_OF(f, struct growth_job, csi);

    if (r < 0)
        run_end(g->run, EXPAND_FAILED, err);
    else
        run_begin_call(g->run);
}

static void run_call(struct expand_run *x)
{
    const struct node_volume *v = x->mount->volume;
    struct growth_job *g = calloc(1, sizeof *g);
    struct error err;

    if (g) {
        g->job.type = &growth_type;
        g->plugin = plugin_ref(v->plugin);
        held_spec_copy(&g->spec, &x->spec);
        g->device_path = strdup(v->device_path);
        g->job.about = g->mount_path =
            strdup(v->device_mount_path[0] ? v->device_mount_path : x->mount->path);
        g->pod_path = strdup(x->mount->path);
    }
    if (!g || !g->device_path || !g->mount_path || !g->pod_path) {
        if (g)
            growth_free(&g->job);
        (void)error_no_memory(&err);
        run_end(x, EXPAND_FAILED, &err);
        return;
    }
    g->env = x->agent->env;
    g->env.stop = &g->job.stop;
    g->env.tools.stop = &g->job.stop;
    g->new_bytes = bytes_of(&x->plan.to);
    g->old_bytes = bytes_of(&claim_of(x->claim)->capacity);
    x->job = g;
    if (spec_source(&g->spec.spec).kind != SOURCE_CSI) {
        run_begin_call(x);
        return;
    }
    g->run = x;
    g->csi.done = on_csi_fetched;
    csi_fetch(x->agent->csi, CSI_EXPAND, x->mount->pod->object, &g->spec.spec, x->mount->was_block, &g->csi);
}

/* --- The beginning --- */

static void on_begun(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct expand_run *x = ctx;

    if (!api_went_well(outcome)) {
        run_fail(x, &a->error, "cannot begin to grow the volume of");
        return;
    }
    x->claim = object_ref(a->object);
    switch (x->plan.what) {
    case GROWTH_PLAIN:
    case GROWTH_BEGIN:
    case GROWTH_GO_ON:
    case GROWTH_HERE_TOO:
        run_call(x);
        return;
    case GROWTH_READ_ONLY:
        run_tell(x, EVENT_WARNING, "FileSystemResizeFailed", "requested read-only file system");
        break;
    case GROWTH_NOT_NOW:
        run_end(x, EXPAND_LATER, NULL);
        return;
    case GROWTH_NONE:
    case GROWTH_OVER:
        run_note_size(x);
        break;
    case GROWTH_COUNT:
        break;
    }
    run_end(x, EXPAND_NOT_NEEDED, NULL);
}

static void on_not_due(void *ctx)
{
    run_end(ctx, EXPAND_NOT_NEEDED, NULL);
}

/* The newest that a pod of this node has heard of. */
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
    struct expand_run *x = calloc(1, sizeof *x);

    if (!x)
        return NULL;
    x->agent = a;
    x->mount = m;
    x->in_use = in_use;
    x->is_read_only = m->wanted.spec.is_read_only;
    x->done = done;
    x->ctx = ctx;
    deferred_init(&x->later, a->o.part.loop, on_not_due, x);
    if (expand_is_due(m)) {
        held_spec_copy(&x->spec, newest_spec(m));
        run_write(x, decide_begin, on_begun);
    } else {
        loop_defer(&x->later);
    }
    return x;
}

struct expand_run *expand_cancel(struct expand_run *x)
{
    if (x)
        run_free(x);
    return NULL;
}
