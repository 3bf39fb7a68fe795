/* Attachment: a volume is attached to a node exactly when a pod there needs it.
 *
 * What is wanted follows from pods, claims, volumes and nodes; what is follows from operations, node status
 * and VolumeAttachments. Both meet in a pass over the volumes that something happened to: detaching first, so
 * that exclusive volumes can move, then attaching. Nothing polls: at rest only the slow pass that looks for
 * what was missed comes around, and the verification of what is attached.
 *
 * The order that everything depends on: a volume is taken out of the node's status.volumesAttached, and the
 * server has said so, before it is detached; the node is then asked from the server, not from a cache,
 * whether it uses the volume; and it is put back only after an attach that succeeded.
 *
 * CSI volumes are attached by way of VolumeAttachments, which an external attacher serves; those of other
 * plugins by calls on the pool. */
#ifndef BERTH_CONTROLLERS_ATTACH_ATTACH_H
#define BERTH_CONTROLLERS_ATTACH_ATTACH_H

#include "host/mount_syscall.h"
#include "io/pool.h"
#include "machinery/component_deps.h"
#include "machinery/pending_operations.h"
#include "plugins/registry.h"

#define ATTACH_SYNC_PERIOD_NS (60 * NS_PER_S)

struct attach;

struct attach_options {
    struct component_deps part;
    struct pool *pool;                /* NULL where no plugin attaches by itself */
    struct plugin_registry *registry; /* borrowed, as the pool */
    struct host_tools tools;          /* of plugins */
    bool no_force_detach_on_timeout;
    uint64_t sync_period_ns; /* of the verification; 0: never */
};

int attach_new(const struct attach_options *o, struct attach **ret, struct error *err);
void attach_start(struct attach *a);
/* NULL when what it has in memory fits together, else what does not. For the simulator. */
const char *attach_check(const struct attach *a);
/* What plugins have begun goes on; the pool is freed after this. */
struct attach *attach_free(struct attach *a);
DEFINE_CLEANUP(struct attach, attach_free)

/* A volume that a pod wants on a node; texts are borrowed. */
struct attach_wait {
    const char *volume; /* the PersistentVolume, or what the pod calls it */
    bool is_attached;
    const char *elsewhere; /* an exclusive one is attached to this node; NULL: to none */
    uint64_t forced_at_ns; /* by the loop: taken from there then, even if it still is in use; 0: never */
    bool is_used_there;    /* the other node says so */
    struct operation_state op;
};
typedef void attach_wait_fn(void *ctx, const struct attach_wait *w);
/* The volumes that the controller attaches for the pod, by their unique names: for explanations. */
void attach_each_wait(const struct attach *a, const char *node, const char *pod_uid, attach_wait_fn *fn,
                      void *ctx);

#endif
