/* Long operations of the binder: provision, delete, recycle. */
#ifndef BERTH_CONTROLLERS_BINDER_OPS_H
#define BERTH_CONTROLLERS_BINDER_OPS_H

#include "controllers/binder/binder_int.h"
#include "plugins/registry.h"

/* An operation in progress: a sequence of requests and plugin calls. */
struct binder_op {
    TAILQ_ENTRY(binder_op) link;
    struct binder *binder;
    struct pending_operation *pending;
    const struct volume_plugin *plugin;
    struct object *about; /* the claim or volume it was started for */
    struct object *class; /* of a provision */
    struct object *fresh; /* the volume as read from the server */
    struct api_write write;
    api_done_fn *continue_after_check; /* gets the claim, as read from the server */
    struct plugin_op work;
    struct timer timer;
    unsigned tries;
    struct error failure; /* of the last try */
    uint64_t began_ns;
    struct buf body; /* of the volume to create */
    char *name;      /* of the volume */
};

/* Starts an operation for the sync's object, unless one is running or delayed after a failure; then the
 * object is requeued when it may be started. */
void op_start(struct sync *s, const struct object *about, const char *name,
              const struct volume_plugin *plugin,
              void (*start)(void *ctx, struct pending_operation *pending));
/* Requeues the object when the operation has ended; after a failure that always happens. */
void op_again(struct binder_op *op);
void op_end(struct binder_op *op, int r, const struct error *err);

/* Deletes the storage of the volume op->fresh, unless the guard refuses; the result is passed to
 * op->work.done(). */
void op_remove_storage(struct binder_op *op);
/* The same, but erases the data. */
void op_recycle_storage(struct binder_op *op);

/* Both pass the op to done() as ctx. */
void op_get_volume(struct binder_op *op, const char *name, api_done_fn *done);
/* Patches a claim or volume as read; decide() also gets the op as ctx. */
void op_patch(struct binder_op *op, const struct object *o, const char *subresource, api_decide_fn *decide,
              api_done_fn *done);

#endif
