/* What becomes of a volume whose claim is gone: kept, emptied for the next, or removed with its storage.
 *
 * Before anything is done to the storage the server is asked once more for the volume, and it must still be
 * released: the claim that it names is gone, or has another. What must not be touched in any case, whatever
 * the volume says, is plugins/reclaim_guard.h's to refuse. */
#include "controllers/binder/ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_out.h"
#include "api/migration.h"
#include "api/pod_claims.h"
#include "base/log.h"
#include "base/mutant.h"
#include "controllers/binder/binder_metrics.h"

/* Conflicts that are answered by looking again at once. */
#define CONFLICTS_MAX 3

/* --- Failed, and why --- */

static void on_failed(const struct sync_request *request, enum api_outcome outcome,
                      const struct client_answer *a)
{
    const struct binder *b = request->sync->ctx;
    const char *reason = request->arg;

    if (outcome == API_DONE && a->object)
        recorder_event(b->recorder, a->object, EVENT_WARNING, reason, "%s", volume_of(a->object)->message);
}

/* In a sync: an event only when the phase changes. */
static void fail_volume(struct sync *s, const struct volume *v, const char *reason, const char *message)
{
    s->rest = volume_rest_names[VOLUME_REST_FAILING];
    (void)set_volume_phase(s, v, VOLUME_FAILED, message, on_failed, reason);
}

/* --- The status of a volume, written by an operation --- */

static void on_marked(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct binder_op *op = ctx;
    struct error err;

    if (outcome == API_DONE && a->object)
        recorder_event(op->binder->recorder, a->object, EVENT_WARNING, op->name, "%s",
                       volume_of(a->object)->message);
    (void)error_set(&err, ERR_IO, "%s", buf_cstr(&op->body));
    op_end(op, -ERR_IO, &err);
}

static enum api_decision decide_failed(void *ctx, const struct object *now, struct buf *body,
                                       struct error *err)
{
    const struct binder_op *op = ctx;
    struct merge_patch p;

    merge_patch_begin(&p, body, now);
    merge_patch_member(&p, "status");
    json_out_object(body, NULL);
    json_out_text(body, "phase", "Failed");
    json_out_text(body, "message", buf_cstr(&op->body));
    json_out_end_object(body);
    return api_decision_of(merge_patch_end(&p, err));
}

/* The volume becomes Failed with these words, unless it is; then the operation ends with them. */
static void op_fail_volume(struct binder_op *op, const char *reason, const struct error *why)
{
    const struct volume *v = binder_volume(op->binder, op->about->name);

    if (!v || v->phase == VOLUME_FAILED || strcmp(v->obj.uid, op->about->uid) != 0) {
        op_end(op, -(int)why->code, why);
        return;
    }
    free(op->name);
    op->name = strdup(reason);
    buf_clear(&op->body);
    buf_add_cstr(&op->body, why->msg);
    op_patch(op, &v->obj, "status", decide_failed, on_marked);
}

/* --- Deleting --- */

/* The object may stay for a while: others have finalizers too. */
static void note_reclaimed(struct binder_op *op)
{
    const struct volume *v = binder_volume(op->binder, op->about->name);
    struct key_state *s;

    if (!v || strcmp(v->obj.uid, op->about->uid) != 0)
        return; /* gone already, and nothing to be known of it */
    s = binder_state(op->binder, volume_key(op->about->name));
    free(s->reclaimed);
    s->reclaimed = strdup(op->about->uid);
}

static bool is_reclaimed(const struct binder *b, const struct volume *v)
{
    const struct key_state *s = binder_find_state(b, volume_key(v->obj.name));

    return s && s->reclaimed && strcmp(s->reclaimed, v->obj.uid) == 0;
}

bool reclaim_has_begun(const struct binder *b, const struct volume *v)
{
    _cleanup_(buf_done_p) struct buf key = BUF_INIT(1024);

    work_key_format_operation(&v->obj, &key);
    return operations_is_pending(b->operations, &(struct operation_key){ buf_cstr(&key), "", "" }) ||
           is_reclaimed(b, v);
}

static void on_deleted(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct binder_op *op = ctx;

    if (!api_write_succeeded(outcome)) {
        log_error("cannot delete volume, its storage is already deleted", LOG_STR("volume", op->about->name),
                  LOG_ERR(&a->error));
        op_end(op, a->r, &a->error);
        return;
    }
    note_reclaimed(op);
    recorder_event(op->binder->recorder, op->about, EVENT_NORMAL, "VolumeDeleted", "Volume deleted");
    op_end(op, 0, NULL);
}

static void delete_object(struct binder_op *op)
{
    struct api_write_options w = { .api = op->binder->api,
                                   .request = { .verb = CLIENT_DELETE },
                                   .object = op->about,
                                   .done = on_deleted,
                                   .ctx = op };

    api_write_start(&op->write, &w);
}

static void remove_reclaim_finalizer(struct binder_op *op, const struct object *volume);

static void on_finalizer_removed(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct binder_op *op = ctx;

    if (outcome == API_CONFLICT && a->object && ++op->tries <= CONFLICTS_MAX)
        remove_reclaim_finalizer(op, a->object); /* somebody touched it: no failure */
    else if (api_write_succeeded(outcome) || a->r == -ERR_NOT_FOUND)
        delete_object(op);
    else
        op_fail_volume(op, "VolumeFailedDelete", &a->error);
}

static enum api_decision decide_reclaim_finalizer(void *ctx, const struct object *now, struct buf *body,
                                                  struct error *err)
{
    struct merge_patch p;

    (void)ctx;
    merge_patch_begin(&p, body, now);
    merge_patch_remove_finalizer(&p, now, FINALIZER_RECLAIM);
    return api_decision_of(merge_patch_end(&p, err));
}

/* The storage is gone: the finalizer that held the volume for it may go. */
static void remove_reclaim_finalizer(struct binder_op *op, const struct object *volume)
{
    if (strcmp(volume->uid, op->about->uid) != 0 || !object_has_finalizer(volume, FINALIZER_RECLAIM))
        delete_object(op);
    else
        op_patch(op, volume, NULL, decide_reclaim_finalizer, on_finalizer_removed);
}

static void on_volume_reread(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct binder_op *op = ctx;

    if (outcome == API_DONE)
        remove_reclaim_finalizer(op, a->object);
    else if (a->r == -ERR_NOT_FOUND)
        delete_object(op);
    else
        op_fail_volume(op, "VolumeFailedDelete", &a->error);
}

static void on_removed(struct plugin_op *work, int r, const struct error *err)
{
    struct binder_op *op = CONTAINER_OF(work, struct binder_op, work);
    struct binder *b = op->binder;

    binder_metrics_call(b->metrics, op->plugin->name, "volume_delete",
                        loop_now_ns(b->o.part.loop) - op->began_ns, r < 0);
    if (r == 0) {
        log_info("storage of volume deleted", LOG_STR("volume", op->about->name));
        op_get_volume(op, op->about->name, on_volume_reread);
        return;
    }
    binder_metrics_failed(b->metrics, LONG_DELETE, str_of(op->about->name));
    if (err->code == ERR_BUSY) {
        recorder_event(b->recorder, op->about, EVENT_NORMAL, "VolumeDelete", "%s", err->msg);
        op_end(op, r, err);
    } else {
        op_fail_volume(op, "VolumeFailedDelete", err);
    }
}

static void op_not_released(struct binder_op *op)
{
    struct error err;

    (void)error_set(&err, ERR_CONFLICT, "volume \"%s\" is no longer released", op->about->name);
    op_end(op, -ERR_CONFLICT, &err); /* the cache will say so too, by the next try */
}

/* The last look before the storage goes: the volume as the server has it … */
static void on_volume_read(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct binder_op *op = ctx;
    const struct volume *v;

    if (outcome != API_DONE) {
        op_end(op, a->r, &a->error); /* gone, and the cache will say so too; or not to be seen */
        return;
    }
    v = volume_of(a->object);
    /* Nor when somebody has decided since to keep it. */
    if (strcmp(v->obj.uid, op->about->uid) != 0 || v->reclaim != volume_of(op->about)->reclaim ||
        !decide_is_released(v, binder_claim(op->binder, v->claim.ns, v->claim.name))) {
        op_not_released(op);
        return;
    }
    op->fresh = object_ref(a->object);
    api_read(&op->write, &op->binder->api, KIND_CLAIM, v->claim.ns, v->claim.name, op->go_on, op);
}

/* … and its claim: a cache that is behind is no proof that nobody has it. */
static bool check_still_released(struct binder_op *op, const struct client_answer *a)
{
    const struct claim *c = a->object ? claim_of(a->object) : NULL;

    if (a->r < 0 && a->r != -ERR_NOT_FOUND) {
        op_end(op, a->r, &a->error);
        return false;
    }
    if (!decide_is_released(volume_of(op->fresh), c)) {
        op_not_released(op);
        return false;
    }
    return true;
}

static void on_claim_for_delete(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct binder_op *op = ctx;

    (void)outcome;
    if (!check_still_released(op, a))
        return;
    op->began_ns = loop_now_ns(op->binder->o.part.loop);
    op->work.done = on_removed;
    op_remove_storage(op);
}

static void start_delete(void *ctx, struct pending_operation *pending)
{
    struct binder_op *op = ctx;

    op->pending = pending;
    op->go_on = on_claim_for_delete;
    if (MUTANT("binder-deletes-without-a-look")) {
        op->fresh = object_ref(op->about);
        on_claim_for_delete(op, API_REFUSED, &(struct client_answer){ 0 });
        return;
    }
    op_get_volume(op, op->about->name, on_volume_read);
}

/* Who is said to delete it: a plugin, or whoever its class names. */
static const char *deleter_name(const struct binder *b, const struct volume *v,
                                const struct volume_plugin *plugin)
{
    const struct storage_class *k = v->class[0] ? binder_class(b, v->class) : NULL;
    const char *driver = k ? migration_driver(k->provisioner) : NULL;

    if (plugin)
        return plugin->name;
    return driver ? driver : k ? k->provisioner : "N/A";
}

static void reclaim_delete(struct sync *s, const struct volume *v)
{
    struct binder *b = s->ctx;
    const struct volume_plugin *plugin;
    struct error err;

    s->rest = volume_rest_names[VOLUME_REST_RECLAIMING];
    if (is_reclaimed(b, v))
        return;
    if (decide_deleter(b->o.plugins, v, &plugin, &err) < 0) {
        fail_volume(s, v, "VolumeFailedDelete", err.msg);
        return;
    }
    binder_metrics_begin(b->metrics, LONG_DELETE, str_of(v->obj.name), deleter_name(b, v, plugin));
    if (plugin)
        op_start(s, &v->obj, "delete", plugin, start_delete);
    else
        s->rest = volume_rest_names[VOLUME_REST_OUTSIDE];
}

/* --- Recycling --- */

static void free_volume(struct binder_op *op, const struct object *volume);

static void on_freed(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct binder_op *op = ctx;

    if (outcome == API_CONFLICT && a->object && ++op->tries <= CONFLICTS_MAX) {
        free_volume(op, a->object);
        return;
    }
    if (outcome == API_DONE && a->object)
        recorder_event(op->binder->recorder, a->object, EVENT_NORMAL, "VolumeReclaimed", "Volume reclaimed");
    op_end(op, a->r, &a->error); /* what could not be saved is emptied again */
}

/* Nobody's again, or kept for the next claim of that name when somebody wanted it so; still as it was when it
 * was emptied, but for what others wrote. */
static void free_volume(struct binder_op *op, const struct object *volume)
{
    const struct volume *v = volume_of(volume);

    if (strcmp(volume->uid, op->about->uid) != 0 || !v->claim.is_set ||
        strcmp(v->claim.uid, volume_of(op->fresh)->claim.uid) != 0)
        op_end(op, 0, NULL); /* another story: the next sync reads it */
    else
        op_patch(op, volume, NULL, decide_unbind, on_freed);
}

static void on_recycled(struct plugin_op *work, int r, const struct error *err)
{
    struct binder_op *op = CONTAINER_OF(work, struct binder_op, work);
    struct error failed;

    if (r < 0 && !MUTANT("binder-takes-failure-for-emptied")) {
        (void)error_set(&failed, err->code, "Recycle failed: %s", err->msg);
        op_fail_volume(op, "VolumeFailedRecycle", &failed);
        return;
    }
    recorder_event(op->binder->recorder, op->fresh, EVENT_NORMAL, "VolumeRecycled", "Volume recycled");
    free_volume(op, op->fresh);
}

/* Pods that use the name of the claim, as "ns/a,ns/b"; "" when there is none, or a new claim has the name:
 * then they use that one's volume. */
static void users_of(const struct binder *b, const struct volume *v, struct buf *out)
{
    struct informer_cursor at;
    char key[CLAIM_KEY_BYTES_MAX];

    if (binder_claim(b, v->claim.ns, v->claim.name))
        return;
    (void)snprintf(key, sizeof key, "%s/%s", v->claim.ns, v->claim.name);
    for (const struct object *o = informer_first_by(b->pods, PODS_BY_CLAIM, str_of(key), &at); o;
         o = informer_next(&at))
        if (!pod_is_terminated(pod_of(o)))
            buf_addf(out, "%s%s/%s", out->len ? "," : "", o->ns, o->name);
}

static void on_claim_for_recycle(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    _cleanup_(buf_done_p) struct buf users = BUF_INIT(RECORDER_MESSAGE_BYTES_MAX);
    struct binder_op *op = ctx;
    struct error err;

    (void)outcome;
    if (!check_still_released(op, a))
        return;
    users_of(op->binder, volume_of(op->fresh), &users);
    if (users.len) {
        (void)error_set(&err, ERR_BUSY, "Volume is used by pods: %s", buf_cstr(&users));
        recorder_event(op->binder->recorder, op->fresh, EVENT_NORMAL, "VolumeFailedRecycle", "%s", err.msg);
        op_end(op, -ERR_BUSY, &err);
        return;
    }
    op->work.done = on_recycled;
    MUTANT("binder-frees-without-emptying") ? on_recycled(&op->work, 0, &err) : op_recycle_storage(op);
}

static void start_recycle(void *ctx, struct pending_operation *pending)
{
    struct binder_op *op = ctx;

    op->pending = pending;
    op->go_on = on_claim_for_recycle;
    op_get_volume(op, op->about->name, on_volume_read);
}

static void reclaim_recycle(struct sync *s, const struct volume *v)
{
    struct binder *b = s->ctx;
    const struct volume_plugin *plugin;
    struct error err;

    s->rest = volume_rest_names[VOLUME_REST_RECLAIMING];
    if (plugins_by_source(b->o.plugins, &(struct volume_spec){ .volume = v }, &plugin, &err) < 0 ||
        !plugin->recycle)
        fail_volume(s, v, "VolumeFailedRecycle", "No recycler plugin found for the volume!");
    else
        op_start(s, &v->obj, "recycle", plugin, start_recycle);
}

/* --- All of it --- */

void reclaim_volume(struct sync *s, const struct volume *v)
{
    const char *driver = object_annotation(&v->obj, ANN_MIGRATED_TO);

    if (driver && driver[0]) {
        s->rest = volume_rest_names[VOLUME_REST_OUTSIDE];
        return;
    }
    switch ((enum reclaim_policy)v->reclaim) {
    case RECLAIM_RETAIN:
        s->rest = volume_rest_names[VOLUME_REST_RETAINED];
        return;
    case RECLAIM_DELETE:
        reclaim_delete(s, v);
        return;
    case RECLAIM_RECYCLE:
        reclaim_recycle(s, v);
        return;
    case RECLAIM_UNKNOWN:
    case RECLAIM_COUNT:
        break;
    }
    fail_volume(s, v, "VolumeUnknownReclaimPolicy", "Volume has unrecognized PersistentVolumeReclaimPolicy");
}
