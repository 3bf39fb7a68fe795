/* A volume whose claim is gone, and that this provisioner made: its storage goes on the pool, then the
 * object. */
#include "controllers/provisioner/provisioner_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/die.h"
#include "base/log.h"
#include "base/mutant.h"

struct removal_work {
    struct job job;
    const struct provisioner_type *type;
    const void *ctx;
    struct object *volume, *class;
    struct host_guard *guard;
    struct error refusal; /* why nothing may be removed; ERR_NONE: it may */
};

static int removal_run(struct job *j, struct error *err)
{
    struct removal_work *w = CONTAINER_OF(j, struct removal_work, job);

    if (w->refusal.code != ERR_NONE) {
        *err = w->refusal;
        return -(int)err->code;
    }
    if (MUTANT("provisioner-leaves-directories"))
        return 0;
    return w->type->remove(w->ctx, volume_of(w->volume), (const struct storage_class *)(const void *)w->class,
                           w->guard, &j->stop, err);
}

static void removal_free(struct job *j)
{
    struct removal_work *w = CONTAINER_OF(j, struct removal_work, job);

    (void)object_unref(w->volume);
    (void)object_unref(w->class);
    w->guard = host_guard_free(w->guard);
    free(w);
}

static const struct job_type removal_type = { "storage removal", removal_run, removal_free };

void provisioner_begin_removal(struct provisioner_op *op, const struct object *volume, job_done_fn *done)
{
    struct provisioner *p = op->provisioner;
    const char *class = volume_of(volume)->class;
    const struct object *k = class[0] ? informer_get(p->classes, "", class) : NULL;
    struct removal_work *w = calloc(1, sizeof *w);

    if (!w)
        die_with_reason(
            "no memory for an operation of a provisioner: its claim or volume would never be processed "
            "again");
    w->job.type = &removal_type;
    w->type = p->o.type;
    w->ctx = p->o.ctx;
    w->volume = object_ref(volume);
    w->job.about = volume->name;
    w->class = k ? object_ref(k) : NULL;
    (void)reclaim_guard_new(&p->o.reclaim, p->volumes_cache, p->nodes, volume_of(volume), &w->guard,
                            &w->refusal); /* told by the job */
    op->job = &w->job;
    job_begin(&w->job, p->o.pool, done, op);
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

static void on_removed(void *ctx, struct job *j, int r, const struct error *err)
{
    struct provisioner_op *op = ctx;
    struct api_write_options w = { .api = op->provisioner->api,
                                   .request = { .verb = CLIENT_DELETE },
                                   .object = op->about,
                                   .done = on_deleted,
                                   .ctx = op };

    (void)j;
    op->job = NULL;
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
