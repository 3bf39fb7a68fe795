/* Deletes a released volume of this provisioner: first its storage on the pool, then the object. Both the
 * volume and its claim are read from the server before. */
#include "controllers/provisioner/provisioner_int.h"

#include <string.h>

#include "base/log.h"
#include "machinery/merge_patch.h"
#include "plugins/reclaim_guard.h"

void provisioner_begin_removal(struct provisioner_op *op, const struct object *volume,
                               void (*done)(struct removal_call *c, int r, const struct error *err))
{
    const struct provisioner *p = op->provisioner;
    const char *class = volume_of(volume)->class;
    const struct object *k = class[0] ? informer_get(p->classes, "", class) : NULL;

    op->removal.done = done;
    p->o.type->remove(p->o.ctx, volume_of(volume), (const struct storage_class *)(const void *)k,
                      &op->removal);
}

static bool owns_volume(const struct provisioner *p, const struct volume *v)
{
    return p->o.type->owns ? p->o.type->owns(p->o.ctx, v)
                           : object_annotation_is(&v->obj, ANN_PROVISIONED_BY, p->o.name);
}

/* The finalizer keeps a volume that is to be deleted with its storage until the storage is removed, whoever
 * deletes the object. 1: missing, -1: present and not wanted, 0: as it should be. */
static int finalizer_change(const struct provisioner *p, const struct volume *v)
{
    const char *finalizer = p->o.type->finalizer;
    bool has = finalizer && texts_have(&v->obj.finalizers, finalizer);

    if (!finalizer || !owns_volume(p, v))
        return 0;
    if (v->reclaim == RECLAIM_DELETE)
        return v->phase == VOLUME_BOUND && !v->obj.is_deleting && !has ? 1 : 0;
    return has ? -1 : 0;
}

bool provisioner_concerns(const struct provisioner *p, const struct volume *v)
{
    return provisioner_may_delete(p, v) || finalizer_change(p, v) != 0;
}

bool provisioner_may_delete(const struct provisioner *p, const struct volume *v)
{
    return reclaim_is_due(v, p->o.type->finalizer) && owns_volume(p, v);
}

static void op_failed(struct provisioner_op *op, const struct error *err)
{
    op->failure = *err;
    provisioner_op_fail(op, /* must_go_on= */ false);
}

static void op_deleted(struct provisioner_op *op)
{
    recorder_event(op->provisioner->recorder, op->about, EVENT_NORMAL, "VolumeDeleted", "Volume deleted");
    log_info("volume deleted with its storage", LOG_STR("volume", op->key));
    provisioner_op_end(op);
}

static enum api_decision decide_without_finalizer(void *ctx, const struct object *now, struct buf *body,
                                                  struct error *err)
{
    const struct provisioner_op *op = ctx;
    const char *finalizer = op->provisioner->o.type->finalizer;
    struct merge_patch p;

    if (strcmp(now->uid, op->about->uid) != 0 || !texts_have(&now->finalizers, finalizer))
        return API_AS_IT_IS;
    merge_patch_begin(&p, body, now);
    merge_patch_remove_finalizer(&p, now, finalizer);
    return api_decision_of(merge_patch_end(&p, err));
}

static void on_released(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct provisioner_op *op = ctx;

    if (api_write_succeeded(outcome) || a->r == -ERR_NOT_FOUND)
        op_deleted(op);
    else
        op_failed(op, &a->error);
}

/* The object is being deleted; without the finalizer it is gone. */
static void on_deleted(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct provisioner_op *op = ctx;
    struct api_write_options w = {
        .api = op->provisioner->api,
        .request = { .verb = CLIENT_PATCH, .kind = kind_info(KIND_VOLUME), .name = op->about->name },
        .decide = decide_without_finalizer,
        .patience = API_BACKOFF,
        .step = API_STEP_FINALIZER,
        .informer = op->provisioner->volumes_cache,
        .done = on_released,
        .ctx = op
    };

    if (!api_write_succeeded(outcome))
        op_failed(op, &a->error);
    else if (op->provisioner->o.type->finalizer)
        api_write_start(&op->write, &w);
    else
        op_deleted(op);
}

static void on_removed(struct removal_call *c, int r, const struct error *err)
{
    struct provisioner_op *op = CONTAINER_OF(c, struct provisioner_op, removal);
    struct api_write_options w = { .api = op->provisioner->api,
                                   .request = { .verb = CLIENT_DELETE },
                                   .object = op->about,
                                   .done = on_deleted,
                                   .ctx = op };

    if (r == -PROVISIONER_IGNORED) {
        provisioner_op_end(op);
    } else if (r < 0) {
        recorder_event(op->provisioner->recorder, op->about, EVENT_WARNING, "VolumeFailedDelete", "%s",
                       err->msg);
        log_warn("volume not deleted", LOG_STR("volume", op->key), LOG_ERR(err));
        op_failed(op, err);
    } else {
        api_write_start(&op->write, &w);
    }
}

/* The last checks (plugins/reclaim_guard.h): the claim … */
static void on_claim(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct provisioner_op *op = ctx;
    const struct volume *v = volume_of(op->fresh);
    struct error err;

    (void)outcome;
    if (reclaim_check_claim(a, v, &err) < 0)
        op_failed(op, &err);
    else if (provisioner_may_delete(op->provisioner, v))
        provisioner_begin_removal(op, op->fresh, on_removed);
    else
        provisioner_op_end(op); /* no longer ours */
}

/* … after the volume. */
static void on_volume(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct provisioner_op *op = ctx;
    struct error err;

    (void)outcome;
    if (reclaim_check_volume(a, op->about, op->provisioner->o.type->finalizer, &err) < 0) {
        op_failed(op, &err);
        return;
    }
    op->fresh = object_ref(a->object);
    api_read(&op->write, &op->provisioner->api, KIND_CLAIM, volume_of(op->fresh)->claim.ns,
             volume_of(op->fresh)->claim.name, on_claim, op);
}

enum sync_result provisioner_sync_volume(void *ctx, struct str key)
{
    struct provisioner *p = ctx;
    const struct object *o = informer_get_key(p->volumes_cache, key);
    int change = o ? finalizer_change(p, volume_of(o)) : 0;
    struct provisioner_op *op;

    if (change > 0)
        return sync_add_finalizer(p->volumes, key, o, p->o.type->finalizer, p->volumes_cache);
    if (change < 0)
        return sync_remove_finalizer(p->volumes, key, o, p->o.type->finalizer, p->volumes_cache);
    if (!o || !provisioner_may_delete(p, volume_of(o)))
        return SYNC_DONE;
    op = provisioner_op_new(p, p->volumes, key, o);
    api_read(&op->write, &p->api, KIND_VOLUME, "", o->name, on_volume, op);
    return SYNC_LATER;
}
