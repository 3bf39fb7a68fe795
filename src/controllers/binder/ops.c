#include "controllers/binder/ops.h"

#include <assert.h>
#include <stdlib.h>

#include "base/die.h"
#include "plugins/op_job.h"

/* The operation has been told its end. */
static void on_release(void *ctx)
{
    struct binder_op *op = ctx;

    TAILQ_REMOVE(&op->binder->ops, op, link);
    plugin_op_drop(&op->work); /* what it has begun it ends by itself */
    timer_disarm(&op->timer);
    api_write_cancel(&op->write);
    (void)object_unref(op->about);
    (void)object_unref(op->class);
    (void)object_unref(op->fresh);
    buf_done(&op->body);
    buf_done(&op->work.volume);
    op->work.guard = host_guard_free(op->work.guard);
    free(op->name);
    free(op);
}

static void on_cancel(void *ctx, struct pending_operation *op)
{
    struct error err;

    (void)ctx;
    operation_end(op, error_set(&err, ERR_CANCELLED, "cancelled"), &err);
}

void op_start(struct sync *s, const struct object *about, const char *name,
              const struct volume_plugin *plugin, void (*start)(void *ctx, struct pending_operation *pending))
{
    _cleanup_(buf_done_p) struct buf key = BUF_INIT(1024), queue_key = BUF_INIT(1024);
    struct binder_op *op = calloc(1, sizeof *op);
    struct operation_work work = {
        .name = name, .start = start, .cancel = on_cancel, .release = on_release, .ctx = op
    };
    struct binder *b = s->ctx;
    struct error err;

    if (!op)
        die_with_reason(
            "no memory for an operation of the binder: its claim or volume would never be processed again");
    op->binder = b;
    op->plugin = plugin;
    op->about = object_ref(about);
    op->body = BUF_INIT(BINDER_BODY_BYTES_MAX);
    op->work.volume = BUF_INIT(BINDER_BODY_BYTES_MAX);
    TAILQ_INSERT_TAIL(&b->ops, op, link);
    work_key_format_operation(about, &key);
    if (operations_run(b->operations, &(struct operation_key){ buf_cstr(&key), "", "" }, &work, &err) == 0)
        return;
    on_release(op);
    binder_state(b, work_key_of(about, &queue_key))->waits_for_operation = true;
    s->rest = error_name(err.code);
}

void op_again(struct binder_op *op)
{
    _cleanup_(buf_done_p) struct buf name = BUF_INIT(1024);

    binder_state(op->binder, work_key_of(op->about, &name))->waits_for_operation = true;
}

void op_end(struct binder_op *op, int r, const struct error *err)
{
    assert(op->pending && (r == 0 || err));
    if (r < 0)
        op_again(op);
    operation_end(op->pending, r, err);
}

/* False when the volume must not be touched: then work.done is told. */
static bool op_check_guard(struct binder_op *op)
{
    struct binder *b = op->binder;
    struct error err;

    op->work.guard = host_guard_free(op->work.guard); /* of an earlier try */
    if (reclaim_guard_new(&b->o.reclaim, b->volumes, b->nodes, volume_of(op->fresh), &op->work.guard, &err) ==
        0)
        return true;
    plugin_op_fail(&b->o.host, &op->work, &err);
    return false;
}

void op_remove_storage(struct binder_op *op)
{
    if (op_check_guard(op))
        op->plugin->remove->remove(&op->binder->o.host, volume_of(op->fresh), &op->work);
}

void op_recycle_storage(struct binder_op *op)
{
    if (op_check_guard(op))
        op->plugin->recycle->recycle(&op->binder->o.host, volume_of(op->fresh), &op->work);
}

void op_get_volume(struct binder_op *op, const char *name, api_done_fn *done)
{
    api_read(&op->write, &op->binder->api, KIND_VOLUME, "", name, done, op);
}

void op_patch(struct binder_op *op, const struct object *o, const char *subresource, api_decide_fn *decide,
              api_done_fn *done)
{
    struct api_write_options w = { .api = op->binder->api,
                                   .request = { .verb = CLIENT_PATCH, .subresource = subresource },
                                   .object = o,
                                   .decide = decide,
                                   .informer = binder_informer(op->binder, o),
                                   .done = done,
                                   .ctx = op };

    api_write_start(&op->write, &w);
}
