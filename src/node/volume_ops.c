/* Runs volume operations: an operation holds its key in pending_operations while its stages run on workers,
 * one at a time. A stage owns copies of everything it uses. Warnings of workers are collected by a timer and
 * recorded as events. */
#include "node/volume_ops.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* Interval for collecting warnings of workers. */
#define WARNINGS_POLL_NS (5 * NS_PER_S)
/* Per stage; further ones are dropped. */
#define WARNING_BYTES_MAX 4096

struct op_warning {
    struct op_warning *next;
    char *reason;
    char *message;
};

struct operation_key volume_key(const struct node_volume *v, const struct node_pod *p)
{
    return (struct operation_key){ .volume = v->name, .pod = p ? p->uid : "", .node = "" };
}

/* --- Warnings of workers --- */

static void warning_free(struct op_warning *w)
{
    free(w->reason);
    free(w->message);
    free(w);
}

/* On the worker. */
static void stage_warn(void *ctx, const char *reason, const char *message)
{
    struct stage *s = ctx;
    struct op_warning *w = calloc(1, sizeof *w);

    if (!w)
        return;
    w->reason = strdup(reason);
    w->message = strndup(message, WARNING_BYTES_MAX);
    if (!w->reason || !w->message) {
        warning_free(w);
        return;
    }
    w->next = atomic_load(&s->warnings);
    while (!atomic_compare_exchange_weak(&s->warnings, &w->next, w))
        ;
}

/* Records the warnings as events, oldest first; dropped when the operation has ended. */
static void stage_report(struct stage *s)
{
    struct op_warning *all = atomic_exchange(&s->warnings, NULL), *oldest = NULL, *next;
    struct node_op *op = s->op;

    for (; all; all = next) {
        next = all->next;
        all->next = oldest;
        oldest = all;
    }
    for (; oldest; oldest = next) {
        next = oldest->next;
        if (op && s->pod)
            recorder_event(op->agent->recorder, s->pod, EVENT_WARNING, oldest->reason, "%s", oldest->message);
        warning_free(oldest);
    }
}

/* --- Stages --- */

void stage_free(struct stage *s)
{
    if (!s)
        return;
    stage_report(s);
    volume_sources_fetch_end(&s->fetch);
    csi_fetch_end(&s->csi);
    held_spec_clear(&s->spec);
    object_unref(s->pod);
    object_unref(s->node);
    s->plugin = plugin_unref(s->plugin);
    free(s->pod_uid);
    free(s->name);
    free(s->root);
    free(s);
}

static void stage_job_free(struct job *j)
{
    stage_free(CONTAINER_OF(j, struct stage, job));
}

static int stage_run(struct job *j, struct error *err)
{
    struct stage *s = CONTAINER_OF(j, struct stage, job);

    return s->fn(s, err);
}

static const struct job_type stage_type = { "node operation", stage_run, stage_job_free };

static void stage_on_done(void *ctx, struct job *j, int r, const struct error *err)
{
    struct node_op *op = ctx;
    struct stage *s = CONTAINER_OF(j, struct stage, job);

    stage_report(s);
    op->stage = NULL;
    s->done(op, s, r, err); /* op may be freed */
    s->op = NULL;
}

struct stage *stage_new(struct node_op *op, const struct volume_plugin *p, const struct held_spec *spec,
                        const char *name, const char *pod_uid)
{
    struct stage *s = calloc(1, sizeof *s);
    const struct object *node = informer_get(op->agent->self, "", op->agent->o.name);

    if (!s)
        return NULL;
    s->op = op;
    s->env = op->agent->env;
    s->env.stop = &s->job.stop;
    s->env.tools.stop = &s->job.stop;
    s->env.warn = stage_warn;
    s->env.warn_ctx = s;
    s->plugin = plugin_ref(p);
    s->node = node ? object_ref(node) : NULL;
    if (spec)
        held_spec_copy(&s->spec, spec);
    if (op->mount && op->mount->pod->object)
        s->pod = object_ref(op->mount->pod->object);
    s->name = strdup(name);
    s->pod_uid = strdup(pod_uid);
    s->env.root = s->root = strdup(op->agent->root);
    if (!s->name || !s->pod_uid || !s->root) {
        stage_free(s);
        return NULL;
    }
    return s;
}

void stage_begin(struct stage *s, stage_fn *fn, stage_done_fn *done)
{
    struct agent *a = s->op->agent;

    assert(!s->op->stage && !s->job.type); /* one after the other, each once */
    s->fn = fn;
    s->done = done;
    s->op->stage = s;
    s->job.type = &stage_type;
    (void)snprintf(s->about, sizeof s->about, "%s of %s for pod %s", s->op->name, s->name, s->pod_uid);
    s->job.about = s->about; /* a truncated text is sufficient */
    job_begin(&s->job, a->o.pool, stage_on_done, s->op);
    if (!timer_is_armed(&a->warnings))
        timer_arm_after(&a->warnings, WARNINGS_POLL_NS);
}

static const struct {
    const char *prefix;
    bool touches;
} steps[] = {
    [STEP_NONE] = { "", false },
    [STEP_WAIT_FOR_ATTACH] = { "MountVolume.WaitForAttach failed", false },
    [STEP_MAP_WAIT_FOR_ATTACH] = { "MapVolume.WaitForAttach failed", false },
    [STEP_DEVICE_MOUNT_PATH] = { "MountVolume.GetDeviceMountPath failed", false },
    [STEP_MOUNT_DEVICE] = { "MountVolume.MountDevice failed", true },
    [STEP_SET_UP_DEVICE] = { "MapVolume.SetUpDevice failed", true },
    [STEP_MAP_POD_DEVICE] = { "MapVolume.MapPodDevice failed", false },
    [STEP_MAP_BLOCK] = { "MapVolume.MapBlockVolume failed", true },
    [STEP_CLEAN_SUB_PATHS] = { "UnmountVolume failed", false },
    [STEP_TEAR_DOWN] = { "UnmountVolume.TearDown failed", true },
    [STEP_UNMAP_BLOCK] = { "UnmapVolume.UnmapBlockVolume failed", true },
    [STEP_UNMAP_POD_DEVICE] = { "UnmapVolume.UnmapPodDevice failed", true },
    [STEP_UNMOUNT_DEVICE_BEGIN] = { "UnmountDevice failed", false },
    [STEP_CHECK_REFERENCES] = { "GetDeviceMountRefs check failed", false },
    [STEP_UNMOUNT_DEVICE] = { "UnmountDevice failed", true },
    [STEP_CHECK_UNBOUND] = { "UnmapDevice failed", false },
    [STEP_UNMAP_DEVICE] = { "UnmapDevice failed", true },
};
static_assert(ARRAY_LEN(steps) == STEP_COUNT, "describe every step");

bool stage_has_touched(const struct stage *s)
{
    return steps[s->step].touches;
}

const char *stage_prefix(const struct stage *s)
{
    return steps[s->step].prefix;
}

/* --- Data for CSI drivers --- */

const struct csi_request *stage_csi(const struct stage *s)
{
    return spec_source(&s->spec.spec).kind == SOURCE_CSI ? &s->csi.request : NULL;
}

static void on_csi_fetched(struct csi_fetch *f, int r, const struct error *err)
{
    struct stage *s = CONTAINER_OF(f, struct stage, csi);
    struct node_op *op = s->op;

    if (r < 0 || !op->mount->is_wanted) {
        struct error copy = *err;

        node_op_end(op, r, &copy); /* frees the stage */
        return;
    }
    f->request.is_reconstructed = op->mount->is_found;
    op->stage = NULL; /* now owned by the job */
    stage_begin(s, s->fn, s->done);
}

void stage_begin_step(struct stage *s, enum csi_step step, stage_fn *fn, stage_done_fn *done)
{
    if (spec_source(&s->spec.spec).kind != SOURCE_CSI) {
        stage_begin(s, fn, done);
        return;
    }
    s->fn = fn;
    s->done = done;
    s->op->stage = s;
    s->csi.done = on_csi_fetched;
    csi_fetch(s->op->agent->csi, step, s->pod, &s->spec.spec, s->is_block, &s->csi);
}

void volume_op_report_warnings(void *agent)
{
    struct agent *a = agent;

    for (struct node_op *op = TAILQ_FIRST(&a->running); op; op = TAILQ_NEXT(op, link))
        if (op->stage && op->stage->job.type)
            stage_report(op->stage);
    if (!TAILQ_EMPTY(&a->running))
        timer_arm_after(&a->warnings, WARNINGS_POLL_NS);
}

/* --- Operations --- */

struct node_op *node_op_begin(struct agent *a, struct node_volume *v, struct node_mount *m,
                              const struct operation_key *key, const char *name)
{
    struct node_op *op = calloc(1, sizeof *op);
    struct error err;

    assert(!m || (m->volume == v && m->pod->agent == a));
    if (!op)
        return NULL; /* the reconciler retries */
    op->agent = a;
    op->name = name;
    op->volume = v;
    op->mount = m;
    op->began_ns = loop_now_ns(a->o.part.loop);
    if (operations_start(a->ops, key, name, &op->pending, &err) < 0) {
        free(op);
        return NULL;
    }
    TAILQ_INSERT_TAIL(&a->running, op, link);
    log_debug("operation started", LOG_STR("operation", name), LOG_STR("volume", key->volume),
              LOG_STR("pod", key->pod));
    return op;
}

static void node_op_free(struct node_op *op)
{
    TAILQ_REMOVE(&op->agent->running, op, link);
    api_write_cancel(&op->read);
    op->expand = expand_cancel(op->expand);
    if (op->stage) {
        op->stage->op = NULL;
        if (op->stage->job.type)
            (void)job_drop(&op->stage->job);
        else
            stage_free(op->stage);
    }
    free(op);
}

static void node_op_observe(const struct node_op *op, int r)
{
    struct agent *a = op->agent;
    double seconds = (double)(loop_now_ns(a->o.part.loop) - op->began_ns) / NS_PER_S;
    const char *plugin = op->volume ? op->volume->plugin->name : "<n/a>";
    bool is_migrated =
        op->volume && (op->volume->wanted.spec.is_migrated || op->volume->spec.spec.is_migrated);

    if (a->operation_seconds)
        metric_observe(metric_of(a->operation_seconds, plugin, op->name,
                                 r < 0 && !error_is_expected(r) ? PART_FAILURE : PART_SUCCESS,
                                 is_migrated ? "true" : "false"),
                       seconds);
}

void node_op_end(struct node_op *op, int r, const struct error *err)
{
    struct agent *a = op->agent;
    struct node_pod *p = op->mount ? op->mount->pod : NULL;

    assert(op->pending && (r == 0 || err));
    node_op_observe(op, r);
    if (r < 0 && !error_is_expected(r) && !op->is_wait)
        log_warn("operation failed", LOG_STR("operation", op->name),
                 LOG_STR("volume", op->volume ? op->volume->name : ""), LOG_STR("pod", p ? p->uid : ""),
                 LOG_ERR(err));
    operation_end(op->pending, r, err);
    node_op_free(op);
    agent_touch(a);
    if (r < 0) /* the operations record successes */
        mount_check_settle(a->mounts);
    if (p)
        pod_life_sync(p);
}

void node_op_fail(struct node_op *op, const char *reason, const char *prefix, int r, const struct error *err)
{
    const struct held_spec *h = op->mount ? &op->mount->wanted : &op->volume->wanted;
    struct error words;

    (void)error_set(&words, err->code, "%s for volume \"%s\" : %s", prefix,
                    h->holder ? spec_name(&h->spec) : "nil", (const char *)err->msg);
    if (op->mount && op->mount->pod->object)
        recorder_event(op->agent->recorder, op->mount->pod->object, EVENT_WARNING, reason, "%s", words.msg);
    node_op_end(op, r, &words);
}

void volume_op_cancel_all(struct agent *a)
{
    struct node_op *next;

    for (struct node_op *op = TAILQ_FIRST(&a->running); op; op = next) {
        next = TAILQ_NEXT(op, link);
        node_op_free(op); /* the operations are freed as a whole */
    }
}
