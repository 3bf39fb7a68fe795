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
    job_done_fn *done;
    struct identity_check check;
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
                           w->guard, &w->check.identity, &j->stop, err);
}

static void removal_free(struct job *j)
{
    struct removal_work *w = CONTAINER_OF(j, struct removal_work, job);

    (void)object_unref(w->volume);
    (void)object_unref(w->class);
    w->guard = host_guard_free(w->guard);
    identity_check_done(&w->check);
    free(w);
}

static const struct job_type removal_type = { "storage removal", removal_run, removal_free };

static void begin_removal(struct provisioner_op *op, const struct object *volume, job_done_fn *done,
                          bool needs_volumes)
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
    w->done = done;
    identity_check_init(&w->check, p, needs_volumes);
    w->volume = object_ref(volume);
    w->job.about = volume->name;
    w->class = k ? object_ref(k) : NULL;
    (void)reclaim_guard_new(&p->o.reclaim, p->volumes_cache, p->nodes, volume_of(volume), &w->guard,
                            &w->refusal); /* told by the job */
    op->job = &w->job;
    job_begin(&w->job, p->o.pool, done, op);
}

void provisioner_begin_removal(struct provisioner_op *x, const struct object *volume, job_done_fn *done)
{
    begin_removal(x, volume, done, /* needs_volumes= */ false);
}

bool provisioner_removal_goes_on(struct provisioner_op *op, struct job *j, int r)
{
    const struct removal_work *w = CONTAINER_OF(j, struct removal_work, job);

    if (identity_check_needs_volumes(&w->check, r)) {
        begin_removal(op, w->volume, w->done, /* needs_volumes= */ true);
        return true;
    }
    if (r == 0)
        provisioner_keep_identity(op->provisioner, &w->check);
    return false;
}

bool provisioner_may_delete(const struct provisioner *p, const struct volume *v)
{
    return reclaim_is_due(v) && object_annotation_is(&v->obj, ANN_PROVISIONED_BY, p->o.name);
}

static void op_failed(struct provisioner_op *x, const struct error *err)
{
    x->failure = *err;
    provisioner_op_fail(x, /* must_go_on= */ false);
}

static void on_deleted(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct provisioner_op *x = ctx;

    if (!api_write_succeeded(outcome)) {
        op_failed(x, &a->error);
        return;
    }
    recorder_event(x->provisioner->recorder, x->about, EVENT_NORMAL, "VolumeDeleted", "Volume deleted");
    log_info("volume deleted with its storage", LOG_STR("volume", x->key));
    provisioner_op_end(x);
}

static void on_removed(void *ctx, struct job *j, int r, const struct error *err)
{
    struct provisioner_op *x = ctx;
    struct api_write_options w = { .api = x->provisioner->api,
                                   .request = { .verb = CLIENT_DELETE },
                                   .object = x->about,
                                   .done = on_deleted,
                                   .ctx = x };

    x->job = NULL;
    if (provisioner_removal_goes_on(x, j, r))
        return;
    if (r == -PROVISIONER_IGNORED) {
        provisioner_op_end(x);
    } else if (r < 0) {
        recorder_event(x->provisioner->recorder, x->about, EVENT_WARNING, "VolumeFailedDelete", "%s",
                       err->msg);
        log_warn("volume not deleted", LOG_STR("volume", x->key), LOG_ERR(err));
        op_failed(x, err);
    } else {
        api_write_start(&x->write, &w);
    }
}

/* The last look (plugins/reclaim_guard.h): the claim … */
static void on_claim(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct provisioner_op *x = ctx;
    const struct volume *v = volume_of(x->fresh);
    struct error err;

    (void)outcome;
    if (reclaim_check_claim(a, v, &err) < 0)
        op_failed(x, &err);
    else if (provisioner_may_delete(x->provisioner, v))
        provisioner_begin_removal(x, x->fresh, on_removed);
    else
        provisioner_op_end(x); /* not ours any more */
}

/* … after the volume. */
static void on_volume(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct provisioner_op *x = ctx;
    struct error err;

    (void)outcome;
    if (reclaim_check_volume(a, x->about, &err) < 0) {
        op_failed(x, &err);
        return;
    }
    x->fresh = object_ref(a->object);
    api_read(&x->write, &x->provisioner->api, KIND_CLAIM, volume_of(x->fresh)->claim.ns,
             volume_of(x->fresh)->claim.name, on_claim, x);
}

enum sync_result provisioner_sync_volume(void *ctx, struct str key)
{
    struct provisioner *p = ctx;
    const struct object *o = informer_get_key(p->volumes_cache, key);
    struct provisioner_op *x;

    if (!o || !provisioner_may_delete(p, volume_of(o)))
        return SYNC_DONE;
    x = provisioner_op_new(p, p->volumes, key, o);
    api_read(&x->write, &p->api, KIND_VOLUME, "", o->name, on_volume, x);
    return SYNC_LATER;
}
