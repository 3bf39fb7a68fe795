/* A volume whose claim is gone, and that this provisioner made: its storage goes on the pool, then the
 * object. */
#include "controllers/provisioner/provisioner_int.h"

#include <string.h>

#include "base/log.h"
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

bool provisioner_may_delete(const struct provisioner *p, const struct volume *v)
{
    return reclaim_is_due(v) && object_annotation_is(&v->obj, ANN_PROVISIONED_BY, p->o.name);
}

static void op_failed(struct provisioner_op *op, const struct error *err)
{
    op->failure = *err;
    provisioner_op_fail(op, /* must_go_on= */ false);
}

static void on_deleted(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct provisioner_op *op = ctx;

    if (!api_write_succeeded(outcome)) {
        op_failed(op, &a->error);
        return;
    }
    recorder_event(op->provisioner->recorder, op->about, EVENT_NORMAL, "VolumeDeleted", "Volume deleted");
    log_info("volume deleted with its storage", LOG_STR("volume", op->key));
    provisioner_op_end(op);
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

/* The last look (plugins/reclaim_guard.h): the claim … */
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
        provisioner_op_end(op); /* not ours any more */
}

/* … after the volume. */
static void on_volume(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct provisioner_op *op = ctx;
    struct error err;

    (void)outcome;
    if (reclaim_check_volume(a, op->about, &err) < 0) {
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
    struct provisioner_op *op;

    if (!o || !provisioner_may_delete(p, volume_of(o)))
        return SYNC_DONE;
    op = provisioner_op_new(p, p->volumes, key, o);
    api_read(&op->write, &p->api, KIND_VOLUME, "", o->name, on_volume, op);
    return SYNC_LATER;
}
