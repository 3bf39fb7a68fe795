/* Performs the steps of snapshots (snapshot_plan.h): one request per sync, and the events that follow from
 * it. */
#include "controllers/snapshot/snapshot_int.h"

#include <string.h>

#include "base/log.h"
#include "controllers/snapshot/snapshot_bodies.h"
#include "machinery/merge_patch.h"

/* What the decisions of writes need; valid while the write is started. */
struct snapshot_write {
    const struct snapshot *snapshot;
    const struct snapshot_plan *plan;
    struct timestamp now;
};

/* Sends a patch of the object; decide() is called before this returns. */
static enum sync_result send_patch(struct snapshot_controller *c, struct str key, const struct object *o,
                                   const char *subresource, api_decide_fn *decide,
                                   const struct snapshot_write *write, sync_then_fn *then, const void *arg)
{
    struct api_write_options w = {
        .request = { .verb = CLIENT_PATCH, .subresource = subresource, .patch = CLIENT_PATCH_MERGE },
        .object = o,
        .decide = decide,
        .decide_ctx = write,
        .step = API_STEP_SNAPSHOT,
        .informer = o->kind->kind == KIND_SNAPSHOT ? c->caches.snapshots : c->caches.contents
    };

    return sync_once(c->snapshots, key, &w, then, arg);
}

/* --- Failures --- */

static enum api_decision decide_error(void *ctx, const struct object *now, struct buf *body,
                                      struct error *err)
{
    const struct snapshot_write *w = ctx;

    return api_decision_of(
        snapshot_write_error(snapshot_of(now), w->plan->failure.msg, w->plan->is_unready, w->now, body, err));
}

/* Records the event after its error is in the status; arg: the reason. */
static void on_error_written(const struct sync_request *request, enum api_outcome outcome,
                             const struct client_answer *a)
{
    const struct snapshot_controller *c = request->sync->ctx;

    if (outcome == API_DONE && a->object)
        recorder_event(c->recorder, a->object, EVENT_WARNING, request->arg, "%s",
                       snapshot_of(a->object)->error_message);
}

/* An error that the status already has is not written again: the key is retried. */
static enum sync_result write_failure(struct snapshot_controller *c, struct str key,
                                      const struct snapshot_write *w)
{
    if (w->snapshot->has_error && strcmp(w->snapshot->error_message, w->plan->failure.msg) == 0)
        return SYNC_AGAIN;
    return send_patch(c, key, &w->snapshot->obj, "status", decide_error, w, on_error_written,
                      w->plan->reason);
}

/* --- Class and content --- */

static enum api_decision decide_class(void *ctx, const struct object *now, struct buf *body,
                                      struct error *err)
{
    const struct snapshot_write *w = ctx;

    return api_decision_of(snapshot_write_class(snapshot_of(now), w->plan->class->obj.name, body, err));
}

static void on_content_created(const struct sync_request *request, enum api_outcome outcome,
                               const struct client_answer *a)
{
    const struct snapshot_controller *c = request->sync->ctx;

    if (outcome == API_DONE)
        recorder_event(c->recorder, request->about, EVENT_NORMAL, "CreatingSnapshot",
                       "Waiting for a snapshot %s to be created by the CSI driver.", request->sync->key);
    else if (a->r != -ERR_EXISTS) /* the next sync finds it */
        recorder_event(c->recorder, request->about, EVENT_WARNING, "CreateSnapshotContentFailed",
                       "Error creating volume snapshot content object for snapshot %s: %s.",
                       request->sync->key, a->error.msg);
}

static enum sync_result create_content(struct snapshot_controller *c, struct str key,
                                       const struct snapshot *s, struct snapshot_plan *p)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(WRITE_BODY_BYTES_MAX);
    struct api_write_options w = { .request = { .verb = CLIENT_CREATE,
                                                .kind = kind_info(KIND_SNAPSHOT_CONTENT),
                                                .name = p->content_name },
                                   .step = API_STEP_SNAPSHOT,
                                   .informer = c->caches.contents };
    struct sync *sync;

    if (snapshot_write_content(s, p, &body, &p->failure) < 0) {
        struct snapshot_write failed = { s, p, timestamp_of_ns(clock_real_ns(c->clock)) };

        snapshot_plan_bad_input(s, p);
        return write_failure(c, key, &failed);
    }
    log_info("creating content of snapshot", LOG_TEXT("snapshot", key), LOG_STR("content", p->content_name));
    w.body = buf_str(&body);
    sync = sync_begin(c->snapshots, key);
    (void)sync_send(sync, &w, &s->obj, on_content_created, NULL);
    return sync_end(sync);
}

static enum api_decision decide_binding(void *ctx, const struct object *now, struct buf *body,
                                        struct error *err)
{
    const struct snapshot_write *w = ctx;

    return api_decision_of(snapshot_write_binding(snapshot_content_of(now), w->snapshot, body, err));
}

/* --- Status --- */

static enum api_decision decide_status(void *ctx, const struct object *now, struct buf *body,
                                       struct error *err)
{
    const struct snapshot_write *w = ctx;

    return api_decision_of(
        snapshot_write_status(snapshot_of(now), snapshot_content_of(w->plan->content), body, err));
}

static void on_status_written(const struct sync_request *request, enum api_outcome outcome,
                              const struct client_answer *a)
{
    const struct snapshot_controller *c = request->sync->ctx;
    const struct snapshot *was = snapshot_of(request->about), *is;

    if (outcome != API_DONE || !a->object)
        return;
    is = snapshot_of(a->object);
    if (timestamp_is_zero(was->taken) && !timestamp_is_zero(is->taken))
        recorder_event(c->recorder, a->object, EVENT_NORMAL, "SnapshotCreated",
                       "Snapshot %s was successfully created by the CSI driver.", request->sync->key);
    if (!was->is_ready && is->is_ready)
        recorder_event(c->recorder, a->object, EVENT_NORMAL, "SnapshotReady", "Snapshot %s is ready to use.",
                       request->sync->key);
}

/* --- Deletion --- */

static enum api_decision decide_mark(void *ctx, const struct object *now, struct buf *body, struct error *err)
{
    (void)ctx;
    return api_decision_of(snapshot_write_mark(snapshot_content_of(now), body, err));
}

static void on_content_deleted(const struct sync_request *request, enum api_outcome outcome,
                               const struct client_answer *a)
{
    const struct snapshot_controller *c = request->sync->ctx;
    const struct object *o = informer_get_key(c->caches.snapshots, str_of(request->sync->key));

    (void)a;
    if (o && outcome == API_REFUSED)
        recorder_event(c->recorder, o, EVENT_WARNING, "SnapshotContentObjectDeleteError",
                       "Failed to delete snapshot content API object");
}

/* Only this version: its policy may have changed. */
static enum sync_result delete_content(struct snapshot_controller *c, struct str key, const struct object *o)
{
    struct api_write_options w = { .request = { .verb = CLIENT_DELETE },
                                   .object = o,
                                   .is_exact = true,
                                   .step = API_STEP_SNAPSHOT,
                                   .informer = c->caches.contents };

    log_info("deleting content of deleted snapshot", LOG_TEXT("snapshot", key), LOG_STR("content", o->name));
    return sync_once(c->snapshots, key, &w, on_content_deleted, NULL);
}

static enum api_decision decide_release(void *ctx, const struct object *now, struct buf *body,
                                        struct error *err)
{
    const struct snapshot_plan *plan = ctx;
    struct merge_patch p;

    merge_patch_begin(&p, body, now);
    merge_patch_remove_finalizers(&p, now, plan->released);
    return api_decision_of(merge_patch_end(&p, err));
}

static void send_release(struct sync *s, const struct object *o, const struct snapshot_plan *p)
{
    const struct snapshot_controller *c = s->ctx;
    struct api_write_options w = { .request = { .verb = CLIENT_PATCH, .patch = CLIENT_PATCH_MERGE },
                                   .object = o,
                                   .decide = decide_release,
                                   .decide_ctx = p,
                                   .step = API_STEP_FINALIZER,
                                   .informer = c->caches.snapshots };

    (void)sync_send(s, &w, NULL, NULL, NULL);
}

/* The server was asked for the content. If it has one for this snapshot, the cache gets it soon. */
static void on_content_read(const struct sync_request *request, enum api_outcome outcome,
                            const struct client_answer *a)
{
    static const struct snapshot_plan release = {
        .released = { FINALIZER_SNAPSHOT_SOURCE, FINALIZER_SNAPSHOT_IN_GROUP, FINALIZER_SNAPSHOT_BOUND }
    };
    const struct object *o = request->about;

    (void)outcome;
    if (a->r == -ERR_NOT_FOUND ||
        (a->r == 0 && !snapshot_is_of_content(snapshot_of(o), snapshot_content_of(a->object))))
        send_release(request->sync, o, &release);
    else
        sync_fail(request->sync);
}

static enum sync_result release_snapshot(struct snapshot_controller *c, struct str key,
                                         const struct object *o, const struct snapshot_plan *p)
{
    struct sync *s = sync_begin(c->snapshots, key);

    if (p->step == SNAPSHOT_CONFIRM_RELEASE)
        sync_read(s, KIND_SNAPSHOT_CONTENT, "", p->content_name, o, on_content_read);
    else
        send_release(s, o, p);
    return sync_end(s);
}

/* --- The sync --- */

static enum sync_result perform_step(struct snapshot_controller *c, struct str key, const struct object *o,
                                     struct snapshot_plan *p)
{
    const struct snapshot_write w = { snapshot_of(o), p, timestamp_of_ns(clock_real_ns(c->clock)) };

    switch (p->step) {
    case SNAPSHOT_REST:
    case SNAPSHOT_STEP_COUNT:
        return SYNC_DONE;
    case SNAPSHOT_FAIL:
        return write_failure(c, key, &w);
    case SNAPSHOT_WAIT:
        recorder_event(c->recorder, o, EVENT_WARNING, p->reason, "%s", p->failure.msg);
        return SYNC_AGAIN;
    case SNAPSHOT_SET_CLASS:
        return send_patch(c, key, o, NULL, decide_class, &w, NULL, NULL);
    case SNAPSHOT_ADD_FINALIZER:
        return sync_add_finalizer(c->snapshots, key, o, p->finalizer, c->caches.snapshots);
    case SNAPSHOT_PROTECT_CLAIM:
        return sync_add_finalizer(c->snapshots, key, &p->claim->obj, FINALIZER_SNAPSHOT_CLAIM,
                                  c->caches.claims);
    case SNAPSHOT_CREATE_CONTENT:
        return create_content(c, key, snapshot_of(o), p);
    case SNAPSHOT_BIND_CONTENT:
        return send_patch(c, key, p->content, NULL, decide_binding, &w, NULL, NULL);
    case SNAPSHOT_COPY_STATUS:
        return send_patch(c, key, o, "status", decide_status, &w, on_status_written, NULL);
    case SNAPSHOT_MARK_CONTENT:
        return send_patch(c, key, p->content, NULL, decide_mark, &w, NULL, NULL);
    case SNAPSHOT_DELETE_CONTENT:
        return delete_content(c, key, p->content);
    case SNAPSHOT_RELEASE:
    case SNAPSHOT_CONFIRM_RELEASE:
        return release_snapshot(c, key, o, p);
    }
    return SYNC_DONE;
}

enum sync_result snapshot_sync(void *ctx, struct str key)
{
    struct snapshot_controller *c = ctx;
    const struct object *o = informer_get_key(c->caches.snapshots, key);
    struct snapshot_plan plan;

    if (!o)
        return SYNC_DONE;
    snapshot_plan_step(&c->caches, snapshot_of(o), &plan);
    return perform_step(c, key, o, &plan);
}
