#include "controllers/binder/ops.h"

#include <assert.h>
#include <stdlib.h>

#include "base/die.h"
#include "plugins/op_job.h"

/* The operation has been told its end. */
static void on_release(void *ctx)
{
    struct binder_op *x = ctx;

    TAILQ_REMOVE(&x->binder->ops, x, link);
    plugin_op_drop(&x->work); /* what it has begun it ends by itself */
    timer_disarm(&x->timer);
    api_write_cancel(&x->write);
    (void)object_unref(x->about);
    (void)object_unref(x->class);
    (void)object_unref(x->fresh);
    buf_done(&x->body);
    buf_done(&x->work.volume);
    x->work.guard = host_guard_free(x->work.guard);
    free(x->name);
    free(x);
}

static void on_cancel(void *ctx, struct pending_operation *op)
{
    struct error err;

    (void)ctx;
    operation_end(op, error_set(&err, ERR_CANCELLED, "cancelled"), &err);
}

void op_start(struct sync *s, const struct object *about, const char *name,
              const struct volume_plugin *plugin, void (*start)(void *ctx, struct pending_operation *op))
{
    _cleanup_(buf_done_p) struct buf key = BUF_INIT(1024), queue_key = BUF_INIT(1024);
    struct binder_op *x = calloc(1, sizeof *x);
    struct operation_work work = {
        .name = name, .start = start, .cancel = on_cancel, .release = on_release, .ctx = x
    };
    struct binder *b = s->ctx;
    struct error err;

    if (!x)
        die_with_reason(
            "no memory for an operation of the binder: its claim or volume would never be processed again");
    x->binder = b;
    x->plugin = plugin;
    x->about = object_ref(about);
    x->body = BUF_INIT(BINDER_BODY_BYTES_MAX);
    x->work.volume = BUF_INIT(BINDER_BODY_BYTES_MAX);
    TAILQ_INSERT_TAIL(&b->ops, x, link);
    work_key_format_operation(about, &key);
    if (operations_run(b->operations, &(struct operation_key){ buf_cstr(&key), "", "" }, &work, &err) == 0)
        return;
    on_release(x);
    binder_state(b, work_key_of(about, &queue_key))->waits_for_operation = true;
    s->rest = error_name(err.code);
}

void op_again(struct binder_op *x)
{
    _cleanup_(buf_done_p) struct buf name = BUF_INIT(1024);

    binder_state(x->binder, work_key_of(x->about, &name))->waits_for_operation = true;
}

void op_end(struct binder_op *x, int r, const struct error *err)
{
    assert(x->op && (r == 0 || err));
    if (r < 0)
        op_again(x);
    operation_end(x->op, r, err);
}

/* False when the volume must not be touched: then work.done is told. */
static bool op_check_guard(struct binder_op *x)
{
    struct binder *b = x->binder;
    struct error err;

    x->work.guard = host_guard_free(x->work.guard); /* of an earlier try */
    if (reclaim_guard_new(&b->o.reclaim, b->volumes, b->nodes, volume_of(x->fresh), &x->work.guard, &err) ==
        0)
        return true;
    plugin_op_fail(&b->o.host, &x->work, &err);
    return false;
}

void op_remove_storage(struct binder_op *x)
{
    if (op_check_guard(x))
        x->plugin->remove->remove(&x->binder->o.host, volume_of(x->fresh), &x->work);
}

void op_recycle_storage(struct binder_op *x)
{
    if (op_check_guard(x))
        x->plugin->recycle->recycle(&x->binder->o.host, volume_of(x->fresh), &x->work);
}

void op_get_volume(struct binder_op *x, const char *name, api_done_fn *done)
{
    api_read(&x->write, &x->binder->api, KIND_VOLUME, "", name, done, x);
}

void op_patch(struct binder_op *x, const struct object *o, const char *subresource, api_decide_fn *decide,
              api_done_fn *done)
{
    struct api_write_options w = { .api = x->binder->api,
                                   .request = { .verb = CLIENT_PATCH, .subresource = subresource },
                                   .object = o,
                                   .decide = decide,
                                   .informer = binder_informer(x->binder, o),
                                   .done = done,
                                   .ctx = x };

    api_write_start(&x->write, &w);
}
