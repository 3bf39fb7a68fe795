/* One attach or detach of a VolumeAttachment, step by step:
 *
 *   attach   finalizer of the volume; the secret; finalizer and node id of the attachment; publish; status
 *   detach   the secret; unpublish; finalizer of the attachment; status
 *
 * What a call needs later is written before the call: after a crash at any point the volume can be detached.
 * A detach removes the finalizer first and then writes the status: in the other order the change of the
 * status would start a second detach. Every step can be the last; the next sync starts from what is written.
 */
#include "controllers/csi/csi_attacher_int.h"

#include <stdlib.h>
#include <string.h>

#include "api/config.h"
#include "api/json_out.h"
#include "base/log.h"
#include "base/mutant.h"
#include "controllers/csi/csi_capability.h"
#include "machinery/merge_patch.h"

#define CONTEXT_BYTES_MAX ((size_t)256 << 10) /* of attachmentMetadata, by the rules of the API */
#define MESSAGE_BYTES_MAX 1024                /* of an error in the status, by the same rules */
#define NO_CODE (-1)

struct csi_attach_work {
    TAILQ_ENTRY(csi_attach_work) link;
    struct csi_attacher *attacher;
    bool is_detach;
    struct object *attachment; /* as read or answered last */
    struct object *volume;     /* with a CSI source */
    struct object *kept;       /* the object with the finalizer; NULL for an inline volume */
    struct object *secret;     /* until the call is packed; NULL: none */
    char *node_id;
    struct api_write write;
    struct csi_controller_call call;
    /* For the body of a write. */
    struct error failure;
    int64_t code; /* of a driver's failure, else NO_CODE */
    const Csi__V1__ControllerPublishVolumeResponse *published;
    size_t key_len;
    char key[];
};

static struct attachment *view_of(const struct csi_attach_work *w)
{
    return (struct attachment *)(void *)w->attachment;
}

/* --- The end --- */

void csi_attach_free(struct csi_attach_work *w)
{
    TAILQ_REMOVE(&w->attacher->works, w, link);
    api_write_cancel(&w->write);
    csi_controller_call_cancel(&w->call);
    (void)object_unref(w->attachment);
    (void)object_unref(w->volume);
    (void)object_unref(w->kept);
    (void)object_unref(w->secret);
    free(w->node_id);
    free(w);
}

static void work_end(struct csi_attach_work *w, enum sync_result result)
{
    controller_finish(w->attacher->controller, (struct str){ w->key, w->key_len }, result);
    csi_attach_free(w);
}

/* --- Writes --- */

/* The status has one writer: its patch waits for other writes instead of conflicting with them. */
static void patch_object(struct csi_attach_work *w, const struct object *o, const char *subresource,
                         api_decide_fn *decide, api_done_fn *done)
{
    struct csi_attacher *a = w->attacher;
    bool is_volume = o->kind->kind == KIND_VOLUME;
    struct api_write_options options = {
        .api = a->api,
        .request = { .verb = CLIENT_PATCH, .kind = o->kind, .subresource = subresource },
        .object = o,
        .decide = decide,
        .decide_ctx = w,
        .patience = subresource ? API_ONCE : API_FEW_FAST,
        .step = is_volume ? API_STEP_FINALIZER : API_STEP_ATTACHMENT,
        .is_any_version = subresource != NULL,
        .informer = is_volume ? a->volumes : a->attachments,
        .done = done,
        .ctx = w
    };

    api_write_start(&w->write, &options);
}

static void keep_answer(struct csi_attach_work *w, const struct client_answer *a)
{
    if (!a->object)
        return;
    (void)object_unref(w->attachment);
    w->attachment = object_ref(a->object);
}

/* --- Failures --- */

static void write_failure(const struct csi_attach_work *w, struct buf *body, struct timestamp now)
{
    _cleanup_(buf_done_p) struct buf message = BUF_INIT(MESSAGE_BYTES_MAX);

    buf_add_ends(&message, str_of(w->failure.msg), MESSAGE_BYTES_MAX);
    json_out_object(body, w->is_detach ? "detachError" : "attachError");
    json_out_time(body, "time", now);
    json_out_text(body, "message", buf_cstr(&message));
    if (w->code != NO_CODE)
        json_out_int(body, "errorCode", w->code);
    else
        json_out_null(body, "errorCode"); /* of an earlier failure */
    json_out_end_object(body);
}

static enum api_decision decide_failure(void *ctx, const struct object *now, struct buf *body,
                                        struct error *err)
{
    const struct csi_attach_work *w = ctx;
    struct merge_patch p;

    merge_patch_begin_any(&p, body, now);
    merge_patch_member(&p, "status");
    json_out_object(body, NULL);
    write_failure(w, body, timestamp_of_ns(clock_real_ns(w->attacher->o.part.clock)));
    json_out_end_object(body);
    return api_decision_of(merge_patch_end(&p, err));
}

/* A failure that could not be written is in the log. */
static void on_failure_written(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_attach_work *w = ctx;

    if (!api_write_succeeded(outcome))
        log_warn("cannot report a failed attachment", LOG_STR("attachment", w->key), LOG_ERR(&a->error));
    work_end(w, SYNC_AGAIN);
}

static void fail_with(struct csi_attach_work *w, const struct error *err, int64_t code)
{
    log_warn(w->is_detach ? "cannot detach volume, will retry" : "cannot attach volume, will retry",
             LOG_STR("attachment", w->key), LOG_STR("driver", csi_peer_name(w->attacher->o.peer)),
             LOG_ERR(err));
    w->failure = *err;
    w->code = code;
    patch_object(w, w->attachment, "status", decide_failure, on_failure_written);
}

static void work_fail(struct csi_attach_work *w, const struct error *err)
{
    fail_with(w, err, NO_CODE);
}

/* Of a write: only what the server has refused is worth telling. */
static void fail_write(struct csi_attach_work *w, enum api_outcome outcome, const struct client_answer *a,
                       const char *what)
{
    struct error err = a->error;

    if (outcome != API_REFUSED || a->http_status == 0 || a->r == -ERR_NOT_FOUND) {
        work_end(w, SYNC_AGAIN);
        return;
    }
    (void)error_wrap(&err, "%s", what);
    work_fail(w, &err);
}

/* Of the driver. */
static void fail_call(struct csi_attach_work *w, const struct csi_answer *a)
{
    if (a->outcome == CSI_NOT_SENT)
        work_end(w, SYNC_AGAIN);
    else
        fail_with(w, a->err, (int64_t)a->code);
}

/* --- Status after success --- */

/* Keys that the driver does not send any more are removed. */
static void write_context(const struct csi_attach_work *w, const struct attachment *now, struct buf *body)
{
    const Csi__V1__ControllerPublishVolumeResponse *m = w->published;

    json_out_object(body, "attachmentMetadata");
    for (size_t i = 0; i < m->n_publish_context; i++)
        json_out_text(body, m->publish_context[i]->key, m->publish_context[i]->value);
    for (uint32_t k = 0; k < now->metadata.count; k++) {
        size_t i = 0;

        while (i < m->n_publish_context &&
               strcmp(m->publish_context[i]->key, now->metadata.items[k].key) != 0)
            i++;
        if (i == m->n_publish_context)
            json_out_null(body, now->metadata.items[k].key);
    }
    json_out_end_object(body);
}

static enum api_decision decide_attached(void *ctx, const struct object *now, struct buf *body,
                                         struct error *err)
{
    const struct csi_attach_work *w = ctx;
    const struct attachment *va = (const struct attachment *)(const void *)now;
    struct merge_patch p;

    merge_patch_begin_any(&p, body, now);
    merge_patch_member(&p, "status");
    json_out_object(body, NULL);
    json_out_bool(body, "attached", true);
    if (w->published->n_publish_context > 0 || va->metadata.count > 0)
        write_context(w, va, body);
    json_out_null(body, "attachError");
    json_out_end_object(body);
    return api_decision_of(merge_patch_end(&p, err));
}

static enum api_decision decide_detached(void *ctx, const struct object *now, struct buf *body,
                                         struct error *err)
{
    struct merge_patch p;

    (void)ctx;
    merge_patch_begin_any(&p, body, now);
    merge_patch_member(&p, "status");
    json_out_object(body, NULL);
    json_out_bool(body, "attached", false);
    json_out_null(body, "attachmentMetadata");
    json_out_null(body, "detachError");
    json_out_end_object(body);
    return api_decision_of(merge_patch_end(&p, err));
}

/* An attachment that is gone needs no status. */
static void on_status_written(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    bool is_done = api_write_succeeded(outcome) || a->r == -ERR_NOT_FOUND;

    work_end(ctx, is_done ? SYNC_DONE : SYNC_AGAIN);
}

/* --- Detach: after the call --- */

static enum api_decision decide_unmarked(void *ctx, const struct object *now, struct buf *body,
                                         struct error *err)
{
    const struct csi_attach_work *w = ctx;
    struct merge_patch p;

    if (!object_has_finalizer(now, w->attacher->finalizer))
        return API_AS_IT_IS;
    merge_patch_begin(&p, body, now);
    merge_patch_remove_finalizer(&p, now, w->attacher->finalizer);
    return api_decision_of(merge_patch_end(&p, err));
}

static void on_unmarked(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_attach_work *w = ctx;

    if (a->r == -ERR_NOT_FOUND) {
        work_end(w, SYNC_DONE);
    } else if (!api_write_succeeded(outcome)) {
        fail_write(w, outcome, a, "could not save VolumeAttachment");
    } else {
        keep_answer(w, a);
        patch_object(w, w->attachment, "status", decide_detached, on_status_written);
    }
}

static void on_unpublished(struct csi_controller_call *c, const struct csi_answer *a)
{
    struct csi_attach_work *w = CONTAINER_OF(c, struct csi_attach_work, call);

    if (a->outcome == CSI_DONE && MUTANT("csi-reports-before-it-releases"))
        patch_object(w, w->attachment, "status", decide_detached, on_status_written);
    else if (a->outcome == CSI_DONE)
        patch_object(w, w->attachment, NULL, decide_unmarked, on_unmarked);
    else
        fail_call(w, a);
}

/* --- Attach: after the call --- */

static int check_context(const Csi__V1__ControllerPublishVolumeResponse *m, struct error *err)
{
    size_t bytes = 0;

    for (size_t i = 0; i < m->n_publish_context; i++) {
        const Csi__V1__Pair *p = m->publish_context[i];

        bytes += strlen(p->key) + strlen(p->value);
        if (!str_is_utf8(str_of(p->key)) || !str_is_utf8(str_of(p->value)))
            return error_set(err, ERR_INVALID, "the publish context of the driver is not valid UTF-8");
    }
    if (bytes > CONTEXT_BYTES_MAX)
        return error_set(err, ERR_TOO_LARGE, "the publish context of the driver has %zu bytes, more than %zu",
                         bytes, CONTEXT_BYTES_MAX);
    return 0;
}

/* The answer is valid until this returns: the body of the patch is written at once. */
static void on_published(struct csi_controller_call *c, const struct csi_answer *a)
{
    struct csi_attach_work *w = CONTAINER_OF(c, struct csi_attach_work, call);
    struct error err;

    if (a->outcome != CSI_DONE) {
        fail_call(w, a);
        return;
    }
    w->published = (const Csi__V1__ControllerPublishVolumeResponse *)(const void *)a->message;
    if (check_context(w->published, &err) < 0)
        work_fail(w, &err);
    else
        patch_object(w, w->attachment, "status", decide_attached, on_status_written);
    w->published = NULL;
}

/* --- The call --- */

static int pack_publish(struct csi_attach_work *w, struct arena *a, struct csi_secrets secrets,
                        Csi__V1__ControllerPublishVolumeRequest *m, struct error *err)
{
    const struct csi_peer *peer = w->attacher->o.peer;
    const struct csi_source *source = volume_of(w->volume)->source.csi;
    struct csi_pairs context = csi_pairs_of(a, source->attributes, 0);
    int r = csi_volume_capability(a, volume_of(w->volume),
                                  csi_peer_can(peer, CSI_ABILITY_SINGLE_NODE_MULTI_WRITER),
                                  &m->volume_capability, err);

    if (r == 0)
        r = arena_check(a, err);
    if (r < 0)
        return r;
    if (m->volume_capability->access_type_case == CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_MOUNT &&
        !source->fs_type[0])
        m->volume_capability->mount->fs_type = (char *)(uintptr_t)w->attacher->o.settings->default_fs_type;
    m->volume_id = (char *)(uintptr_t)source->handle; /* is not modified, like the others */
    m->node_id = w->node_id;
    m->readonly = source->is_read_only && csi_peer_can(peer, CSI_ABILITY_PUBLISH_READONLY);
    m->secrets = secrets.items;
    m->n_secrets = secrets.count;
    m->volume_context = context.items;
    m->n_volume_context = context.count;
    return 0;
}

static void call_driver(struct csi_attach_work *w)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(CSI_MEMORY_BYTES_MAX);
    const struct csi_function_options *o = &w->attacher->o;
    Csi__V1__ControllerPublishVolumeRequest publish;
    Csi__V1__ControllerUnpublishVolumeRequest unpublish;
    struct csi_secrets secrets = { 0 };
    struct error err;
    int r = w->secret ? csi_secret_messages(&a, secret_of(w->secret), &secrets, &err) : 0;

    csi__v1__controller_publish_volume_request__init(&publish);
    csi__v1__controller_unpublish_volume_request__init(&unpublish);
    if (r == 0 && !w->is_detach)
        r = pack_publish(w, &a, secrets, &publish, &err);
    if (r < 0) {
        work_fail(w, &err);
        return;
    }
    unpublish.volume_id = (char *)(uintptr_t)volume_of(w->volume)->source.csi->handle;
    unpublish.node_id = w->node_id;
    unpublish.secrets = secrets.items;
    unpublish.n_secrets = secrets.count;
    csi_controller_call_about(&w->call, w->attachment);
    w->call.done = w->is_detach ? on_unpublished : on_published;
    csi_controller_call_start(o->peer, &w->call,
                              w->is_detach ? CSI_CONTROLLER_UNPUBLISH : CSI_CONTROLLER_PUBLISH,
                              w->is_detach ? &unpublish.base : &publish.base, o->settings->attach_timeout_ns);
    w->secret = object_unref(w->secret);
}

/* --- Before the call --- */

static enum api_decision decide_marked(void *ctx, const struct object *now, struct buf *body,
                                       struct error *err)
{
    const struct csi_attach_work *w = ctx;
    bool has_finalizer = object_has_finalizer(now, w->attacher->finalizer);
    struct merge_patch p;

    if (has_finalizer && object_annotation_is(now, ANN_CSI_NODE_ID, w->node_id))
        return API_AS_IT_IS;
    if (now->is_deleting) {
        (void)error_set(err, ERR_BUSY, "the VolumeAttachment is being deleted");
        return API_REFUSE;
    }
    merge_patch_begin(&p, body, now);
    if (!has_finalizer)
        merge_patch_add_finalizer(&p, now, w->attacher->finalizer);
    merge_patch_annotation(&p, ANN_CSI_NODE_ID, w->node_id);
    return api_decision_of(merge_patch_end(&p, err));
}

static void on_marked(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_attach_work *w = ctx;

    if (!api_write_succeeded(outcome)) {
        fail_write(w, outcome, a, "could not save VolumeAttachment");
        return;
    }
    keep_answer(w, a);
    call_driver(w);
}

/* A detach also knows the node by what the attach has noted. */
static int find_node(struct csi_attach_work *w, struct error *err)
{
    const struct attachment *va = view_of(w);
    const char *id = csi_attacher_node_id(w->attacher, va);

    if (!id && w->is_detach)
        id = object_annotation(w->attachment, ANN_CSI_NODE_ID);
    if (!id)
        return error_set(err, ERR_NOT_FOUND, "CSINode %s does not contain driver %s", va->node_name,
                         csi_peer_name(w->attacher->o.peer));
    w->node_id = strdup(id);
    return w->node_id ? 0 : error_no_memory(err);
}

static void go_on_with_secret(struct csi_attach_work *w)
{
    struct error err;

    if (find_node(w, &err) < 0)
        work_fail(w, &err);
    else if (w->is_detach)
        call_driver(w);
    else
        patch_object(w, w->attachment, NULL, decide_marked, on_marked);
}

static void on_secret(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_attach_work *w = ctx;
    const struct secret_ref *ref = &volume_of(w->volume)->source.csi->secrets[CSI_SECRET_CONTROLLER_PUBLISH];
    struct error err;

    if (outcome == API_DONE) {
        w->secret = object_ref(a->object);
        go_on_with_secret(w);
        return;
    }
    (void)error_set(&err, ERR_UNAVAILABLE, "failed to load secret \"%s/%s\": %s", ref->ns, ref->name,
                    a->error.msg);
    work_fail(w, &err);
}

static void go_on_with_volume(struct csi_attach_work *w)
{
    const struct secret_ref *ref = &volume_of(w->volume)->source.csi->secrets[CSI_SECRET_CONTROLLER_PUBLISH];

    if (ref->name[0])
        api_read(&w->write, &w->attacher->api, KIND_SECRET, ref->ns, ref->name, on_secret, w);
    else
        go_on_with_secret(w);
}

static enum api_decision decide_kept(void *ctx, const struct object *now, struct buf *body, struct error *err)
{
    const struct csi_attach_work *w = ctx;
    struct merge_patch p;

    if (now->is_deleting) {
        (void)error_set(err, ERR_BUSY, "PersistentVolume \"%s\" is marked for deletion", now->name);
        return API_REFUSE;
    }
    if (object_has_finalizer(now, w->attacher->finalizer))
        return API_AS_IT_IS;
    merge_patch_begin(&p, body, now);
    merge_patch_add_finalizer(&p, now, w->attacher->finalizer);
    return api_decision_of(merge_patch_end(&p, err));
}

static void on_kept(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_attach_work *w = ctx;

    if (api_write_succeeded(outcome))
        go_on_with_volume(w);
    else if (a->r == -ERR_BUSY && a->http_status == 0)
        work_fail(w, &a->error); /* of decide_kept() */
    else
        fail_write(w, outcome, a, "could not add PersistentVolume finalizer");
}

/* --- The start --- */

bool csi_attach_start(struct csi_attacher *a, struct str key, const struct attachment *va)
{
    struct csi_attach_work *w = calloc(1, sizeof *w + key.len + 1);
    const struct object *kept = NULL;
    struct error err;
    int r;

    if (!w)
        return false;
    memcpy(w->key, key.s, key.len);
    w->key_len = key.len;
    w->attacher = a;
    w->is_detach = va->obj.is_deleting;
    w->attachment = object_ref(&va->obj);
    TAILQ_INSERT_TAIL(&a->works, w, link);
    r = csi_attacher_volume(a, va, &w->volume, &kept, &err);
    w->kept = kept ? object_ref(kept) : NULL;
    if (r < 0)
        work_fail(w, &err);
    else if (kept && !w->is_detach)
        patch_object(w, w->kept, NULL, decide_kept, on_kept);
    else
        go_on_with_volume(w);
    return true;
}

const char *csi_attach_check(const struct csi_attacher *a)
{
    const struct csi_attach_work *w;

    TAILQ_FOREACH(w, &a->works, link) {
        if (!workqueue_is_processing(controller_queue(a->controller), (struct str){ w->key, w->key_len }))
            return "an attachment is worked on whose key is not";
        if (!api_write_is_active(&w->write) && !csi_controller_call_is_active(&w->call))
            return "an attachment waits for nothing";
    }
    return NULL;
}
