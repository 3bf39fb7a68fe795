/* One step for one VolumeSnapshotContent, from the request that it needs first to the write that it ends
 * with:
 *
 *   create    the secret; the record; the mark, with the finalizer; CreateSnapshot; status; the mark is
 *             removed
 *   find      the secret; ListSnapshots; status
 *   unmark    the mark is removed
 *   delete    the secret; DeleteSnapshot; the handle is cleared; the finalizer is removed
 *   release   the finalizer is removed
 *   left      the content is gone, says the server; the secret; CreateSnapshot; DeleteSnapshot
 *
 * The mark and the finalizer are one write before the first CreateSnapshot: until its result is known the
 * content cannot disappear, and with it the only trace of a snapshot that may exist. A final failure removes
 * the mark, any other one leaves it. The status has one writer. Every write can be the last; the next sync
 * starts from what is written. */
#include "controllers/csi/csi_snapshotter_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/config.h"
#include "api/json_out.h"
#include "base/log.h"
#include "machinery/merge_patch.h"

#define NAME_PREFIX "snapshot-"

struct csi_snapshot_work {
    TAILQ_ENTRY(csi_snapshot_work) link;
    struct csi_snapshotter *snapshotter;
    enum csi_snapshot_step step;
    struct object *content; /* as read or answered last */
    bool is_left;           /* the content is gone, and its creation has no known result */
    bool had_status;        /* at the start: the driver, or a failure, was reported before */
    bool lacks_class;       /* CreateSnapshot is repeated for a content whose class is gone */
    struct arena arena;     /* of the secret's reference */
    struct secret_ref ref;  /* name "" for none */
    struct object *secret;  /* until the call is packed; NULL: none */
    struct call_record_write recorded;
    struct api_write write;
    struct csi_controller_call call;
    const char *handle; /* that CreateSnapshot answered; in the arena */
    uint64_t called_ns; /* 0: the driver is not called yet */
    /* For the bodies of writes. */
    struct error failure;
    const Csi__V1__Snapshot *found; /* while its answer is valid */
    size_t key_len;
    char key[];
};

static const struct snapshot_content *view_of(const struct csi_snapshot_work *w)
{
    return snapshot_content_of(w->content);
}

static enum csi_controller_method method_of(const struct csi_snapshot_work *w)
{
    return w->step == CSI_SNAPSHOT_DELETE ? CSI_DELETE_SNAPSHOT
           : w->step == CSI_SNAPSHOT_FIND ? CSI_LIST_SNAPSHOTS
                                          : CSI_CREATE_SNAPSHOT;
}

/* --- The end --- */

void csi_snapshot_free(struct csi_snapshot_work *w)
{
    TAILQ_REMOVE(&w->snapshotter->works, w, link);
    api_write_cancel(&w->write);
    csi_controller_call_cancel(&w->call);
    call_record_cancel(w->snapshotter->record, &w->recorded);
    (void)object_unref(w->content);
    (void)object_unref(w->secret);
    arena_done(&w->arena);
    free(w);
}

static void work_end(struct csi_snapshot_work *w, enum sync_result result)
{
    controller_finish(w->snapshotter->controller, (struct str){ w->key, w->key_len }, result);
    csi_snapshot_free(w);
}

/* The driver has answered. It is asked again later; what a deletion was waiting for follows at once. */
static void end_question(struct csi_snapshot_work *w)
{
    enum csi_snapshot_step next = csi_snapshot_next(view_of(w));
    bool is_asked_again = next == CSI_SNAPSHOT_CREATE || next == CSI_SNAPSHOT_FIND;

    if (next != CSI_SNAPSHOT_REST && !is_asked_again)
        controller_add(w->snapshotter->controller, (struct str){ w->key, w->key_len });
    work_end(w, is_asked_again ? SYNC_AGAIN : SYNC_DONE);
}

/* Nothing is left of a creation whose content is gone. Another one may have its name by now. */
static void end_left(struct csi_snapshot_work *w)
{
    struct str key = { w->key, w->key_len };

    csi_snapshot_creation_end(w->snapshotter, key);
    controller_add(w->snapshotter->controller, key);
    work_end(w, SYNC_DONE);
}

/* --- Writes --- */

static void patch_content(struct csi_snapshot_work *w, const char *subresource, api_decide_fn *decide,
                          api_done_fn *done)
{
    const struct csi_snapshotter *s = w->snapshotter;
    struct api_write_options options = {
        .api = s->api,
        .request = { .verb = CLIENT_PATCH, .kind = w->content->kind, .subresource = subresource },
        .object = w->content,
        .decide = decide,
        .decide_ctx = w,
        .patience = subresource ? API_ONCE : API_FEW_FAST,
        .step = subresource ? API_STEP_OTHER : API_STEP_FINALIZER,
        .is_any_version = subresource != NULL,
        .informer = s->contents,
        .done = done,
        .ctx = w
    };

    api_write_start(&w->write, &options);
}

static void keep_answer(struct csi_snapshot_work *w, const struct client_answer *a)
{
    if (!a->object)
        return;
    (void)object_unref(w->content);
    w->content = object_ref(a->object);
}

/* Of a write that had to succeed: true if it did. Otherwise the work has ended. */
static bool keep_written(struct csi_snapshot_work *w, enum api_outcome outcome, const struct client_answer *a,
                         const char *what)
{
    if (api_write_succeeded(outcome)) {
        keep_answer(w, a);
        return true;
    }
    if (a->r == -ERR_NOT_FOUND) { /* a creation that is recorded has to be brought to its end */
        work_end(w, csi_snapshot_creation(w->snapshotter, (struct str){ w->key, w->key_len }) ? SYNC_AGAIN
                                                                                              : SYNC_DONE);
        return false;
    }
    if (outcome == API_REFUSED)
        log_warn("cannot save VolumeSnapshotContent, will retry", LOG_STR("content", w->key),
                 LOG_STR("what", what), LOG_ERR(&a->error));
    work_end(w, SYNC_AGAIN);
    return false;
}

/* --- Failures --- */

/* A failure that is reported already stays with its time. */
static enum api_decision decide_failure(void *ctx, const struct object *now, struct buf *body,
                                        struct error *err)
{
    const struct csi_snapshot_work *w = ctx;
    struct merge_patch p;

    if (strcmp(snapshot_content_of(now)->error_message, w->failure.msg) == 0)
        return API_AS_IT_IS;
    merge_patch_begin_any(&p, body, now);
    merge_patch_member(&p, "status");
    json_out_object(body, NULL);
    json_out_object(body, "error");
    json_out_time(body, "time", timestamp_of_ns(clock_real_ns(w->snapshotter->o.part.clock)));
    json_out_text(body, "message", w->failure.msg);
    json_out_end_object(body);
    json_out_bool(body, "readyToUse", false);
    json_out_end_object(body);
    return api_decision_of(merge_patch_end(&p, err));
}

static void on_failure_written(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_snapshot_work *w = ctx;

    if (outcome == API_DONE)
        recorder_event(w->snapshotter->recorder, w->content, EVENT_WARNING,
                       w->had_status ? "SnapshotContentCheckandUpdateFailed" : "SnapshotCreationFailed", "%s",
                       w->failure.msg);
    else if (outcome != API_ALREADY && a->r != -ERR_NOT_FOUND)
        log_warn("cannot report a failed snapshot", LOG_STR("content", w->key), LOG_ERR(&a->error));
    work_end(w, SYNC_AGAIN);
}

/* A deletion that fails is told by an event: the status is about to be cleared. */
static void work_fail(struct csi_snapshot_work *w, const struct error *err)
{
    const char *what =
        w->had_status ? "Failed to check and update snapshot content" : "Failed to create snapshot";

    log_warn(w->step == CSI_SNAPSHOT_DELETE ? "cannot delete snapshot, will retry"
                                            : "snapshot is not ready, will retry",
             LOG_STR("content", w->key), LOG_STR("driver", csi_peer_name(w->snapshotter->o.peer)),
             LOG_ERR(err));
    if (w->is_left) { /* there is no object to report it on */
        work_end(w, SYNC_AGAIN);
        return;
    }
    if (w->step == CSI_SNAPSHOT_DELETE) {
        recorder_event(w->snapshotter->recorder, w->content, EVENT_WARNING, "SnapshotDeleteError",
                       "Failed to delete snapshot: %s", err->msg);
        work_end(w, SYNC_AGAIN);
        return;
    }
    (void)error_set(&w->failure, err->code, "%s: %s", what, err->msg);
    patch_content(w, "status", decide_failure, on_failure_written);
}

/* --- The mark --- */

static enum api_decision decide_marked(void *ctx, const struct object *now, struct buf *body,
                                       struct error *err)
{
    bool is_marked = object_annotation(now, ANN_SNAPSHOT_BEING_CREATED) != NULL;
    bool is_kept = object_has_finalizer(now, FINALIZER_SNAPSHOT_CONTENT);
    struct merge_patch p;

    (void)ctx;
    if (is_marked && (is_kept || now->is_deleting))
        return API_AS_IT_IS;
    if (now->is_deleting) {
        (void)error_set(err, ERR_BUSY, "the VolumeSnapshotContent is being deleted");
        return API_REFUSE;
    }
    merge_patch_begin(&p, body, now);
    if (!is_kept)
        merge_patch_add_finalizer(&p, now, FINALIZER_SNAPSHOT_CONTENT);
    merge_patch_annotation(&p, ANN_SNAPSHOT_BEING_CREATED, "yes");
    return api_decision_of(merge_patch_end(&p, err));
}

static enum api_decision decide_unmarked(void *ctx, const struct object *now, struct buf *body,
                                         struct error *err)
{
    struct merge_patch p;

    (void)ctx;
    if (!object_annotation(now, ANN_SNAPSHOT_BEING_CREATED))
        return API_AS_IT_IS;
    merge_patch_begin(&p, body, now);
    merge_patch_annotation(&p, ANN_SNAPSHOT_BEING_CREATED, NULL);
    return api_decision_of(merge_patch_end(&p, err));
}

static void on_unmarked(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_snapshot_work *w = ctx;

    if (keep_written(w, outcome, a, "annotation"))
        end_question(w);
}

/* Nothing of the creation is left. */
static void on_failure_unmarked(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_snapshot_work *w = ctx;
    struct error why = w->failure;

    if (!keep_written(w, outcome, a, "annotation"))
        return;
    csi_snapshot_creation_end(w->snapshotter, (struct str){ w->key, w->key_len });
    if (w->content->is_deleting)
        end_question(w);
    else
        work_fail(w, &why);
}

/* --- Status --- */

struct snapshot_report {
    const char *handle;
    bool is_ready;
    int64_t taken_ns;
    int64_t bytes; /* 0: unknown */
};

static struct snapshot_report report_of(const struct csi_snapshot_work *w)
{
    const Csi__V1__Snapshot *found = w->found;
    struct snapshot_report r = { .handle = view_of(w)->source_snapshot_handle, .is_ready = true };

    if (found && w->step == CSI_SNAPSHOT_CREATE)
        r.handle = found->snapshot_id;
    if (found) {
        r.is_ready = found->ready_to_use;
        r.bytes = found->size_bytes > 0 ? found->size_bytes : 0;
    }
    if (found && found->creation_time && found->creation_time->seconds > 0 &&
        found->creation_time->seconds < INT64_MAX / (int64_t)NS_PER_S - 1)
        r.taken_ns = found->creation_time->seconds * (int64_t)NS_PER_S + found->creation_time->nanos;
    else
        r.taken_ns = clock_real_ns(w->snapshotter->o.part.clock);
    return r;
}

/* What is there stays, but for the readiness. */
static enum api_decision decide_status(void *ctx, const struct object *now, struct buf *body,
                                       struct error *err)
{
    const struct csi_snapshot_work *w = ctx;
    const struct snapshot_content *c = snapshot_content_of(now);
    struct snapshot_report report = report_of(w);
    struct merge_patch p;

    if (c->snapshot_handle[0] && c->has_ready && c->is_ready == report.is_ready && c->taken_ns &&
        (c->has_restore_bytes || !report.bytes))
        return API_AS_IT_IS;
    merge_patch_begin_any(&p, body, now);
    merge_patch_member(&p, "status");
    json_out_object(body, NULL);
    if (c->snapshot_handle[0] == '\0')
        json_out_text(body, "snapshotHandle", report.handle);
    json_out_bool(body, "readyToUse", report.is_ready);
    if (!c->taken_ns)
        json_out_int(body, "creationTime", report.taken_ns);
    if (!c->has_restore_bytes && report.bytes)
        json_out_int(body, "restoreSize", report.bytes);
    if (report.is_ready && c->error_message[0])
        json_out_null(body, "error");
    json_out_end_object(body);
    return api_decision_of(merge_patch_end(&p, err));
}

static void delete_left(struct csi_snapshot_work *w);

static void on_status_written(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_snapshot_work *w = ctx;

    if (a->r == -ERR_NOT_FOUND && w->handle && view_of(w)->deletes) {
        delete_left(w);
        return;
    }
    if (!keep_written(w, outcome, a, "status"))
        return;
    csi_snapshot_creation_end(w->snapshotter, (struct str){ w->key, w->key_len });
    if (object_annotation(w->content, ANN_SNAPSHOT_BEING_CREATED))
        patch_content(w, NULL, decide_unmarked, on_unmarked);
    else
        end_question(w);
}

/* --- Create --- */

static void read_secret(struct csi_snapshot_work *w);

/* The snapshot was taken, and its content is gone. */
static void delete_left(struct csi_snapshot_work *w)
{
    w->is_left = true;
    w->step = CSI_SNAPSHOT_DELETE;
    read_secret(w);
}

/* The answer is valid until this returns: the body of the patch is written at once. */
static void keep_created(struct csi_snapshot_work *w, const Csi__V1__CreateSnapshotResponse *m)
{
    const char *handle = m->snapshot ? m->snapshot->snapshot_id : "";
    struct error err;

    if (handle[0] == '\0' || !str_is_utf8(str_of(handle))) {
        (void)error_set(&err, ERR_UNCERTAIN, "driver answered CreateSnapshot without a valid snapshot_id");
        work_fail(w, &err);
        return;
    }
    w->handle = arena_dup(&w->arena, str_of(handle));
    if (arena_check(&w->arena, &err) < 0) {
        work_fail(w, &err);
    } else if (w->is_left) {
        delete_left(w);
    } else {
        w->found = m->snapshot;
        patch_content(w, "status", decide_status, on_status_written);
        w->found = NULL;
    }
}

static void fail_creation(struct csi_snapshot_work *w, const struct csi_answer *a)
{
    bool is_final = a->outcome == CSI_FINAL || a->outcome == CSI_INFEASIBLE;
    struct error err;

    (void)error_set(&err, a->err->code, "failed to take snapshot of the volume %s: \"%s\"",
                    view_of(w)->volume_handle, a->err->msg);
    /* Without the parameters of its class this may be a snapshot of ours. */
    if (w->lacks_class && a->code == RPC_ALREADY_EXISTS)
        is_final = false;
    if (is_final && w->is_left) {
        end_left(w);
    } else if (is_final && object_annotation(w->content, ANN_SNAPSHOT_BEING_CREATED)) {
        w->failure = err;
        patch_content(w, NULL, decide_unmarked, on_failure_unmarked);
    } else {
        work_fail(w, &err);
    }
}

static void on_created(struct csi_controller_call *call, const struct csi_answer *a)
{
    struct csi_snapshot_work *w = CONTAINER_OF(call, struct csi_snapshot_work, call);

    if (a->outcome == CSI_NOT_SENT)
        work_end(w, SYNC_AGAIN);
    else if (a->outcome == CSI_DONE)
        keep_created(w, (const Csi__V1__CreateSnapshotResponse *)(const void *)a->message);
    else
        fail_creation(w, a);
}

/* The class's parameters. A class that was deleted is missed only by a snapshot that somebody wants. */
static int find_parameters(struct csi_snapshot_work *w, struct arena *a, struct kvs *ret, struct error *err)
{
    const struct csi_snapshotter *s = w->snapshotter;
    const struct snapshot_content *c = view_of(w);
    const struct object *o = c->class_name[0] ? informer_get(s->classes, "", c->class_name) : NULL;
    static const struct kvs none;

    if (c->class_name[0] == '\0')
        return error_set(err, ERR_INVALID, "the VolumeSnapshotContent has no volumeSnapshotClassName");
    if (!o && !c->obj.is_deleting && !w->is_left)
        return error_set(err, ERR_NOT_FOUND,
                         "failed to get input parameters to create snapshot for content %s: \"failed to "
                         "retrieve snapshot class %s from the informer\"",
                         c->obj.name, c->class_name);
    w->lacks_class = !o;
    return csi_snapshot_parameters(a, o ? &snapshot_class_of(o)->parameters : &none,
                                   s->o.settings->has_extra_metadata ? c : NULL, ret, err);
}

static int start_create(struct csi_snapshot_work *w, struct arena *a, struct csi_secrets secrets,
                        struct error *err)
{
    const struct snapshot_content *c = view_of(w);
    Csi__V1__CreateSnapshotRequest m;
    struct csi_pairs pairs;
    struct kvs parameters = { 0 };
    int r = find_parameters(w, a, &parameters, err);

    if (r < 0)
        return r;
    csi__v1__create_snapshot_request__init(&m);
    pairs = csi_pairs_of(a, parameters, 0);
    m.name = arena_printf(a, NAME_PREFIX "%s", c->snapshot_uid);
    m.source_volume_id = (char *)(uintptr_t)c->volume_handle; /* is not modified */
    m.parameters = pairs.items;
    m.n_parameters = pairs.count;
    m.secrets = secrets.items;
    m.n_secrets = secrets.count;
    r = arena_check(a, err);
    if (r < 0)
        return r;
    w->call.done = on_created;
    csi_controller_call_start(w->snapshotter->o.peer, &w->call, CSI_CREATE_SNAPSHOT, &m.base,
                              w->snapshotter->o.settings->snapshot_timeout_ns);
    return 0;
}

/* --- Find --- */

/* The snapshot that was asked for. A driver may know it by another form of its id, or list others, too. */
static const Csi__V1__Snapshot *find_listed(const Csi__V1__ListSnapshotsResponse *m, const char *handle)
{
    for (size_t i = 0; i < m->n_entries; i++) {
        const Csi__V1__Snapshot *found = m->entries[i]->snapshot;

        if (found && (m->n_entries == 1 || strcmp(found->snapshot_id, handle) == 0))
            return found;
    }
    return NULL;
}

static void on_listed(struct csi_controller_call *call, const struct csi_answer *a)
{
    struct csi_snapshot_work *w = CONTAINER_OF(call, struct csi_snapshot_work, call);
    const Csi__V1__ListSnapshotsResponse *m =
        (const Csi__V1__ListSnapshotsResponse *)(const void *)a->message;
    const char *handle = view_of(w)->source_snapshot_handle;
    struct error err;

    if (a->outcome == CSI_NOT_SENT) {
        work_end(w, SYNC_AGAIN);
        return;
    }
    if (a->outcome != CSI_DONE) {
        (void)error_set(&err, a->err->code, "failed to check the status of snapshot %s: \"%s\"", handle,
                        a->err->msg);
        work_fail(w, &err);
        return;
    }
    w->found = find_listed(m, handle);
    if (!w->found) {
        (void)error_set(&err, ERR_NOT_FOUND, "can not find snapshot for snapshotID %s", handle);
        work_fail(w, &err);
        return;
    }
    patch_content(w, "status", decide_status, on_status_written);
    w->found = NULL;
}

static void start_find(struct csi_snapshot_work *w, struct csi_secrets secrets)
{
    Csi__V1__ListSnapshotsRequest m;

    csi__v1__list_snapshots_request__init(&m);
    m.snapshot_id = (char *)(uintptr_t)view_of(w)->source_snapshot_handle; /* is not modified */
    m.secrets = secrets.items;
    m.n_secrets = secrets.count;
    w->call.done = on_listed;
    csi_controller_call_start(w->snapshotter->o.peer, &w->call, CSI_LIST_SNAPSHOTS, &m.base,
                              w->snapshotter->o.settings->snapshot_timeout_ns);
}

/* --- Delete --- */

static enum api_decision decide_released(void *ctx, const struct object *now, struct buf *body,
                                         struct error *err)
{
    struct merge_patch p;

    (void)ctx;
    if (!object_has_finalizer(now, FINALIZER_SNAPSHOT_CONTENT))
        return API_AS_IT_IS;
    merge_patch_begin(&p, body, now);
    merge_patch_remove_finalizer(&p, now, FINALIZER_SNAPSHOT_CONTENT);
    return api_decision_of(merge_patch_end(&p, err));
}

static void on_released(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_snapshot_work *w = ctx;

    if (keep_written(w, outcome, a, "finalizer"))
        work_end(w, SYNC_DONE);
}

static enum api_decision decide_cleared(void *ctx, const struct object *now, struct buf *body,
                                        struct error *err)
{
    static const char *const members[] = { "snapshotHandle", "readyToUse", "creationTime", "restoreSize" };
    struct merge_patch p;

    (void)ctx;
    merge_patch_begin_any(&p, body, now);
    merge_patch_member(&p, "status");
    json_out_object(body, NULL);
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        json_out_null(body, members[i]);
    json_out_end_object(body);
    return api_decision_of(merge_patch_end(&p, err));
}

static void on_cleared(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_snapshot_work *w = ctx;

    if (keep_written(w, outcome, a, "status"))
        patch_content(w, NULL, decide_released, on_released);
}

static void on_deleted(struct csi_controller_call *call, const struct csi_answer *a)
{
    struct csi_snapshot_work *w = CONTAINER_OF(call, struct csi_snapshot_work, call);

    if (a->outcome == CSI_DONE && w->is_left)
        end_left(w);
    else if (a->outcome == CSI_DONE)
        patch_content(w, "status", decide_cleared, on_cleared);
    else if (a->outcome == CSI_NOT_SENT)
        work_end(w, SYNC_AGAIN);
    else
        work_fail(w, a->err);
}

static void start_delete(struct csi_snapshot_work *w, struct csi_secrets secrets)
{
    Csi__V1__DeleteSnapshotRequest m;

    csi__v1__delete_snapshot_request__init(&m);
    m.snapshot_id = (char *)(uintptr_t)(w->is_left ? w->handle : view_of(w)->snapshot_handle); /* as above */
    m.secrets = secrets.items;
    m.n_secrets = secrets.count;
    w->call.done = on_deleted;
    csi_controller_call_start(w->snapshotter->o.peer, &w->call, CSI_DELETE_SNAPSHOT, &m.base,
                              w->snapshotter->o.settings->snapshot_timeout_ns);
}

/* --- Before the call --- */

static void call_driver(struct csi_snapshot_work *w)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(CSI_MEMORY_BYTES_MAX);
    struct csi_secrets secrets = { 0 };
    struct error err;
    int r = w->secret ? csi_secret_messages(&a, secret_of(w->secret), &secrets, &err) : 0;

    w->called_ns = loop_now_ns(w->snapshotter->o.part.loop);
    if (r == 0 && w->step == CSI_SNAPSHOT_CREATE)
        r = start_create(w, &a, secrets, &err);
    else if (r == 0 && w->step == CSI_SNAPSHOT_FIND)
        start_find(w, secrets);
    else if (r == 0)
        start_delete(w, secrets);
    w->secret = object_unref(w->secret);
    if (r < 0)
        work_fail(w, &err);
}

static void on_marked(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_snapshot_work *w = ctx;

    if (keep_written(w, outcome, a, "annotation"))
        call_driver(w);
}

static void on_recorded(struct call_record_write *recorded)
{
    struct csi_snapshot_work *w = CONTAINER_OF(recorded, struct csi_snapshot_work, recorded);

    patch_content(w, NULL, decide_marked, on_marked);
}

/* Before the first CreateSnapshot; a repeated one finds its entry. */
static void record_creation(struct csi_snapshot_work *w)
{
    struct csi_snapshotter *s = w->snapshotter;
    struct error err;

    w->recorded.done = on_recorded;
    if (csi_snapshot_creation(s, (struct str){ w->key, w->key_len }))
        on_recorded(&w->recorded);
    else if (csi_snapshot_creation_begin(s, w->content, &w->recorded, &err) < 0)
        work_fail(w, &err);
}

/* A snapshot whose handle is known needs no mark: only its readiness is asked for. */
static void go_on_with_secret(struct csi_snapshot_work *w)
{
    if (w->step == CSI_SNAPSHOT_CREATE && view_of(w)->snapshot_handle[0] == '\0' && !w->is_left)
        record_creation(w);
    else
        call_driver(w);
}

static void on_secret(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_snapshot_work *w = ctx;
    struct error err;

    if (outcome == API_DONE) {
        w->secret = object_ref(a->object);
        go_on_with_secret(w);
        return;
    }
    (void)error_set(&err, ERR_UNAVAILABLE, "error getting secret %s in namespace %s: %s", w->ref.name,
                    w->ref.ns, a->error.msg);
    work_fail(w, &err);
}

static void read_secret(struct csi_snapshot_work *w)
{
    if (w->ref.name[0])
        api_read(&w->write, &w->snapshotter->api, KIND_SECRET, w->ref.ns, w->ref.name, on_secret, w);
    else
        go_on_with_secret(w);
}

/* Of the annotations; both or none. */
static int find_secret(struct csi_snapshot_work *w, struct error *err)
{
    const char *name = object_annotation(w->content, ANN_SNAPSHOT_SECRET_NAME);
    const char *ns = object_annotation(w->content, ANN_SNAPSHOT_SECRET_NAMESPACE);

    if (!name || !ns)
        return 0;
    if (name[0] == '\0' || ns[0] == '\0')
        return error_set(err, ERR_INVALID,
                         "cannot retrieve secrets for snapshot content %s: secret name or namespace not "
                         "specified",
                         w->key);
    w->ref = (struct secret_ref){ arena_dup(&w->arena, str_of(ns)), arena_dup(&w->arena, str_of(name)) };
    return arena_check(&w->arena, err);
}

/* What can fail without the driver fails before the mark. */
static void begin_create(struct csi_snapshot_work *w)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(CSI_MEMORY_BYTES_MAX);
    const struct snapshot_content *c = view_of(w);
    struct kvs parameters = { 0 };
    struct error err;
    int r = find_parameters(w, &a, &parameters, &err);

    if (r == 0)
        r = find_secret(w, &err);
    if (r == 0 && c->snapshot_uid[0] == '\0')
        r = error_set(&err, ERR_INVALID, "corrupted snapshot object, it is missing UID");
    if (r < 0)
        work_fail(w, &err);
    else
        read_secret(w);
}

/* A driver that cannot list snapshots has every one that somebody names. */
static void begin_find(struct csi_snapshot_work *w)
{
    const struct csi_snapshotter *s = w->snapshotter;
    const struct snapshot_content *c = view_of(w);
    const struct object *o = c->class_name[0] ? informer_get(s->classes, "", c->class_name) : NULL;
    struct error err;
    int r = 0;

    if (!csi_peer_can(s->o.peer, CSI_ABILITY_LIST_SNAPSHOTS)) {
        patch_content(w, "status", decide_status, on_status_written);
        return;
    }
    if (!o && c->class_name[0])
        r = error_set(&err, ERR_NOT_FOUND, "failed to get snapshot class %s for snapshot content %s",
                      c->class_name, w->key);
    if (o)
        r = csi_snapshot_list_secret(&w->arena, &snapshot_class_of(o)->parameters, w->key, &w->ref, &err);
    if (r < 0)
        work_fail(w, &err);
    else
        read_secret(w);
}

static void begin_delete(struct csi_snapshot_work *w)
{
    struct error err;

    if (find_secret(w, &err) < 0)
        work_fail(w, &err);
    else
        read_secret(w);
}

/* A missing entry in a cache proves nothing: somebody may need the snapshot of a content that is there. */
static void on_content_read(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_snapshot_work *w = ctx;

    (void)outcome;
    if (api_live_of(a, w->content->uid) == LIVE_GONE)
        begin_create(w);
    else
        work_end(w, SYNC_AGAIN);
}

static void begin_left(struct csi_snapshot_work *w)
{
    w->is_left = true;
    w->step = CSI_SNAPSHOT_CREATE;
    api_read(&w->write, &w->snapshotter->api, KIND_SNAPSHOT_CONTENT, "", w->content->name, on_content_read,
             w);
}

/* --- The start --- */

bool csi_snapshot_start(struct csi_snapshotter *s, struct str key, const struct snapshot_content *c,
                        enum csi_snapshot_step step)
{
    struct csi_snapshot_work *w = calloc(1, sizeof *w + key.len + 1);

    if (!w)
        return false;
    memcpy(w->key, key.s, key.len);
    w->key_len = key.len;
    w->snapshotter = s;
    w->step = step;
    w->content = object_ref(&c->obj);
    w->had_status = c->has_ready || c->snapshot_handle[0] || c->error_message[0];
    w->arena = ARENA_INIT(CSI_MEMORY_BYTES_MAX);
    w->ref = (struct secret_ref){ "", "" };
    TAILQ_INSERT_TAIL(&s->works, w, link);
    if (step == CSI_SNAPSHOT_CREATE)
        begin_create(w);
    else if (step == CSI_SNAPSHOT_FIND)
        begin_find(w);
    else if (step == CSI_SNAPSHOT_DELETE)
        begin_delete(w);
    else if (step == CSI_SNAPSHOT_REST)
        begin_left(w);
    else if (step == CSI_SNAPSHOT_UNMARK)
        patch_content(w, NULL, decide_unmarked, on_unmarked);
    else
        patch_content(w, NULL, decide_released, on_released);
    return true;
}

bool csi_snapshot_explain(const struct csi_snapshotter *s, const char *name, struct csi_work_state *ret)
{
    const struct csi_snapshot_work *w;

    TAILQ_FOREACH(w, &s->works, link) {
        if (strcmp(w->key, name) != 0)
            continue;
        ret->call = w->called_ns ? csi_method_name(method_of(w)) : "";
        ret->is_in_flight = csi_controller_call_is_active(&w->call);
        ret->since_ns = w->called_ns;
        return true;
    }
    return false;
}

const char *csi_snapshot_check(const struct csi_snapshotter *s)
{
    const struct csi_snapshot_work *w;

    TAILQ_FOREACH(w, &s->works, link) {
        if (!workqueue_is_processing(controller_queue(s->controller), (struct str){ w->key, w->key_len }))
            return "a content is worked on whose key is not";
        if (!api_write_is_active(&w->write) && !csi_controller_call_is_active(&w->call) &&
            !w->recorded.is_active)
            return "a content waits for nothing";
    }
    return NULL;
}
