/* Performs the steps of group snapshots (group_plan.h): one request per sync, and the events that follow from
 * it. */
#include "controllers/snapshot/snapshot_int.h"

#include <string.h>

#include "base/log.h"
#include "controllers/snapshot/group_bodies.h"
#include "machinery/merge_patch.h"

/* What the decisions of writes need; valid while the write is started. */
struct group_write {
    const struct group_snapshot *group;
    const struct group_plan *plan;
    struct timestamp now;
};

static struct informer *cache_of(const struct snapshot_caches *w, enum kind k)
{
    switch ((int)k) {
    case KIND_GROUP_SNAPSHOT:
        return w->groups;
    case KIND_GROUP_SNAPSHOT_CONTENT:
        return w->group_contents;
    case KIND_SNAPSHOT:
        return w->snapshots;
    default:
        return w->contents;
    }
}

/* Sends a patch of the object; decide() is called before this returns. */
static enum sync_result send_patch(struct snapshot_controller *c, struct str key, const struct object *o,
                                   const char *subresource, api_decide_fn *decide,
                                   const struct group_write *write, sync_then_fn *then, const void *arg)
{
    struct api_write_options w = {
        .request = { .verb = CLIENT_PATCH, .subresource = subresource, .patch = CLIENT_PATCH_MERGE },
        .object = o,
        .decide = decide,
        .decide_ctx = write,
        .step = API_STEP_SNAPSHOT,
        .informer = cache_of(&c->caches, o->kind->kind)
    };

    return sync_once(c->groups, key, &w, then, arg);
}

/* --- Failures --- */

static enum api_decision decide_error(void *ctx, const struct object *now, struct buf *body,
                                      struct error *err)
{
    const struct group_write *w = ctx;

    return api_decision_of(group_write_error(group_snapshot_of(now), w->plan->failure.msg,
                                             w->plan->is_unready, w->now, body, err));
}

/* Records the event after its error is in the status; arg: the reason. */
static void on_error_written(const struct sync_request *request, enum api_outcome outcome,
                             const struct client_answer *a)
{
    const struct snapshot_controller *c = request->sync->ctx;

    if (outcome == API_DONE && a->object)
        recorder_event(c->recorder, a->object, EVENT_WARNING, request->arg, "%s",
                       group_snapshot_of(a->object)->error_message);
}

static enum sync_result write_failure(struct snapshot_controller *c, struct str key,
                                      const struct group_write *w)
{
    if (w->group->has_error && strcmp(w->group->error_message, w->plan->failure.msg) == 0)
        return SYNC_AGAIN;
    return send_patch(c, key, &w->group->obj, "status", decide_error, w, on_error_written, w->plan->reason);
}

/* --- New objects --- */

static void on_content_created(const struct sync_request *request, enum api_outcome outcome,
                               const struct client_answer *a)
{
    const struct snapshot_controller *c = request->sync->ctx;

    if (outcome == API_DONE)
        recorder_event(c->recorder, request->about, EVENT_NORMAL, "CreatingGroupSnapshot",
                       "Waiting for a group snapshot %s to be created by the CSI driver.",
                       request->sync->key);
    else if (a->r != -ERR_EXISTS) /* the next sync finds it */
        recorder_event(c->recorder, request->about, EVENT_WARNING, "CreateGroupSnapshotContentFailed",
                       "Error creating volume group snapshot content object for group snapshot %s: %s.",
                       request->sync->key, a->error.msg);
}

typedef int write_new_fn(const struct group_snapshot *g, const struct group_plan *p, struct buf *out,
                         struct error *err);

static enum sync_result create_object(struct snapshot_controller *c, struct str key,
                                      const struct group_write *write, struct group_plan *p, enum kind k,
                                      write_new_fn *write_new)
{
    bool is_content = k == KIND_GROUP_SNAPSHOT_CONTENT;
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(WRITE_BODY_BYTES_MAX);
    struct api_write_options w = { .request = { .verb = CLIENT_CREATE,
                                                .kind = kind_info(k),
                                                .ns = k == KIND_SNAPSHOT ? write->group->obj.ns : NULL,
                                                .name = is_content ? p->content_name : p->member_name },
                                   .step = API_STEP_SNAPSHOT,
                                   .informer = cache_of(&c->caches, k) };
    struct sync *sync;

    if (write_new(write->group, p, &body, &p->failure) < 0) {
        group_plan_bad_input(write->group, p);
        return write_failure(c, key, write);
    }
    log_info("creating object of group snapshot", LOG_TEXT("group", key), LOG_STR("kind", kind_info(k)->name),
             LOG_STR("name", w.request.name));
    w.body = buf_str(&body);
    sync = sync_begin(c->groups, key);
    (void)sync_send(sync, &w, &write->group->obj, is_content ? on_content_created : NULL, NULL);
    return sync_end(sync);
}

/* --- Patches --- */

static enum api_decision decide_class(void *ctx, const struct object *now, struct buf *body,
                                      struct error *err)
{
    const struct group_write *w = ctx;

    return api_decision_of(group_write_class(group_snapshot_of(now), w->plan->class->obj.name, body, err));
}

static enum api_decision decide_binding(void *ctx, const struct object *now, struct buf *body,
                                        struct error *err)
{
    const struct group_write *w = ctx;

    return api_decision_of(group_write_binding(group_snapshot_content_of(now), w->group, body, err));
}

static enum api_decision decide_status(void *ctx, const struct object *now, struct buf *body,
                                       struct error *err)
{
    const struct group_write *w = ctx;

    return api_decision_of(
        group_write_status(group_snapshot_of(now), group_snapshot_content_of(w->plan->content), body, err));
}

static enum api_decision decide_member_status(void *ctx, const struct object *now, struct buf *body,
                                              struct error *err)
{
    const struct group_write *w = ctx;

    return api_decision_of(group_write_member_status(snapshot_content_of(now), w->plan->member,
                                                     group_snapshot_content_of(w->plan->content)->handle,
                                                     body, err));
}

static enum api_decision decide_mark(void *ctx, const struct object *now, struct buf *body, struct error *err)
{
    (void)ctx;
    return api_decision_of(group_write_mark(group_snapshot_content_of(now), body, err));
}

static void on_status_written(const struct sync_request *request, enum api_outcome outcome,
                              const struct client_answer *a)
{
    const struct snapshot_controller *c = request->sync->ctx;
    const struct group_snapshot *was = group_snapshot_of(request->about), *is;

    if (outcome != API_DONE || !a->object)
        return;
    is = group_snapshot_of(a->object);
    if (timestamp_is_zero(was->taken) && !timestamp_is_zero(is->taken))
        recorder_event(c->recorder, a->object, EVENT_NORMAL, "GroupSnapshotCreated",
                       "GroupSnapshot %s was successfully created by the CSI driver.", request->sync->key);
    if (!was->is_ready && is->is_ready)
        recorder_event(c->recorder, a->object, EVENT_NORMAL, "GroupSnapshotReady",
                       "GroupSnapshot %s is ready to use.", request->sync->key);
}

/* --- Deletion --- */

/* Only this version: the policy of a content may have changed. */
static enum sync_result delete_object(struct snapshot_controller *c, struct str key, const struct object *o)
{
    struct api_write_options w = { .request = { .verb = CLIENT_DELETE },
                                   .object = o,
                                   .is_exact = true,
                                   .step = API_STEP_SNAPSHOT,
                                   .informer = cache_of(&c->caches, o->kind->kind) };

    log_info("deleting object of deleted group snapshot", LOG_TEXT("group", key),
             LOG_STR("kind", o->kind->name), LOG_STR("name", o->name));
    return sync_once(c->groups, key, &w, NULL, NULL);
}

static enum api_decision decide_release(void *ctx, const struct object *now, struct buf *body,
                                        struct error *err)
{
    struct merge_patch p;

    (void)ctx;
    merge_patch_begin(&p, body, now);
    merge_patch_remove_finalizer(&p, now, FINALIZER_GROUP_SNAPSHOT);
    return api_decision_of(merge_patch_end(&p, err));
}

/* The server was asked for the content. If it has one for this group, the cache gets it soon. */
static void on_content_read(const struct sync_request *request, enum api_outcome outcome,
                            const struct client_answer *a)
{
    const struct snapshot_controller *c = request->sync->ctx;
    struct api_write_options w = { .request = { .verb = CLIENT_PATCH, .patch = CLIENT_PATCH_MERGE },
                                   .object = request->about,
                                   .decide = decide_release,
                                   .step = API_STEP_FINALIZER,
                                   .informer = c->caches.groups };

    (void)outcome;
    if (a->r == -ERR_NOT_FOUND || (a->r == 0 && !group_is_of_content(group_snapshot_of(request->about),
                                                                     group_snapshot_content_of(a->object))))
        (void)sync_send(request->sync, &w, NULL, NULL, NULL);
    else
        sync_fail(request->sync);
}

static enum sync_result confirm_release(struct snapshot_controller *c, struct str key, const struct object *o,
                                        const struct group_plan *p)
{
    struct sync *s = sync_begin(c->groups, key);

    sync_read(s, KIND_GROUP_SNAPSHOT_CONTENT, "", p->content_name, o, on_content_read);
    return sync_end(s);
}

/* --- The sync --- */

static enum sync_result perform_step(struct snapshot_controller *c, struct str key, const struct object *o,
                                     struct group_plan *p)
{
    const struct group_write w = { group_snapshot_of(o), p, timestamp_of_ns(clock_real_ns(c->clock)) };

    switch (p->step) {
    case GROUP_REST:
    case GROUP_STEP_COUNT:
        return SYNC_DONE;
    case GROUP_FAIL:
        return write_failure(c, key, &w);
    case GROUP_WAIT:
        recorder_event(c->recorder, o, EVENT_WARNING, p->reason, "%s", p->failure.msg);
        return SYNC_AGAIN;
    case GROUP_SET_CLASS:
        return send_patch(c, key, o, NULL, decide_class, &w, NULL, NULL);
    case GROUP_ADD_FINALIZER:
        return sync_add_finalizer(c->groups, key, o, FINALIZER_GROUP_SNAPSHOT, c->caches.groups);
    case GROUP_CREATE_CONTENT:
        return create_object(c, key, &w, p, KIND_GROUP_SNAPSHOT_CONTENT, group_write_content);
    case GROUP_BIND_CONTENT:
        return send_patch(c, key, p->content, NULL, decide_binding, &w, NULL, NULL);
    case GROUP_CREATE_MEMBER:
        return create_object(c, key, &w, p, KIND_SNAPSHOT, group_write_member);
    case GROUP_CREATE_MEMBER_CONTENT:
        return create_object(c, key, &w, p, KIND_SNAPSHOT_CONTENT, group_write_member_content);
    case GROUP_REPORT_MEMBER:
        return send_patch(c, key, p->object, "status", decide_member_status, &w, NULL, NULL);
    case GROUP_COPY_STATUS:
        return send_patch(c, key, o, "status", decide_status, &w, on_status_written, NULL);
    case GROUP_MARK_CONTENT:
        return send_patch(c, key, p->content, NULL, decide_mark, &w, NULL, NULL);
    case GROUP_DELETE_CONTENT:
        return delete_object(c, key, p->content);
    case GROUP_DELETE_MEMBER:
        return delete_object(c, key, p->object);
    case GROUP_RELEASE:
        return sync_remove_finalizer(c->groups, key, o, FINALIZER_GROUP_SNAPSHOT, c->caches.groups);
    case GROUP_CONFIRM_RELEASE:
        return confirm_release(c, key, o, p);
    }
    return SYNC_DONE;
}

enum sync_result snapshot_sync_group(void *ctx, struct str key)
{
    struct snapshot_controller *c = ctx;
    const struct object *o = informer_get_key(c->caches.groups, key);
    struct group_plan plan;

    if (!o)
        return SYNC_DONE;
    group_plan_step(&c->caches, group_snapshot_of(o), &plan);
    return perform_step(c, key, o, &plan);
}
