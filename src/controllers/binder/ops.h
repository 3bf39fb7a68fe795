/* The binder's long operations: provisioning, deleting, recycling. */
#ifndef BERTH_CONTROLLERS_BINDER_OPS_H
#define BERTH_CONTROLLERS_BINDER_OPS_H

#include "controllers/binder/binder_int.h"
#include "plugins/registry.h"

/* One operation under way: requests and plugin calls, one after the other. */
struct binder_op {
    TAILQ_ENTRY(binder_op) link;
    struct binder *binder;
    struct pending_operation *pending;
    const struct volume_plugin *plugin;
    struct object *about; /* the claim or volume that it began with */
    struct object *class; /* of a provision */
    struct object *fresh; /* the volume as the server had it when asked */
    struct api_write write;
    api_done_fn *go_on; /* when the last look has been taken */
    struct plugin_op work;
    struct timer timer;
    unsigned tries;
    struct error failure; /* of the last try */
    uint64_t began_ns;
    struct buf body; /* of the volume to be made */
    char *name;      /* of the volume */
};

/* Begins one for the sync's object, unless it runs already or waits for its next try. */
void op_start(struct sync *s, const struct object *about, const char *name,
              const struct volume_plugin *plugin,
              void (*start)(void *ctx, struct pending_operation *pending));
/* When it has ended, however, the object is looked at again; after a failure it always is. */
void op_again(struct binder_op *op);
void op_end(struct binder_op *op, int r, const struct error *err);

/* Removes the storage of the volume op->fresh, unless it must not be touched; ends in op->work.done, as the
 * plugin's work does. */
void op_remove_storage(struct binder_op *op);
/* The same, but empties it. */
void op_recycle_storage(struct binder_op *op);

/* Requests: done with the op as ctx. */
void op_get_volume(struct binder_op *op, const char *name, api_done_fn *done);
/* A patch of a claim or volume as it was read; decide has the op as ctx, too. */
void op_patch(struct binder_op *op, const struct object *o, const char *subresource, api_decide_fn *decide,
              api_done_fn *done);

#endif
