/* The attach controller: attaches a volume to a node while a pod on the node needs it, and detaches it
 * afterwards.
 *
 * The desired state follows from pods, claims, volumes and nodes; the actual state from operations, node
 * status and VolumeAttachments. A pass compares both for volumes that have changed: it detaches first, so
 * that exclusive volumes can move, then attaches. Nothing polls; only a periodic pass for missed changes and
 * the verification of attached volumes run on timers.
 *
 * Invariant: before a volume is detached it is removed from the node's status.volumesAttached, the server has
 * acknowledged that write, and a read from the server (not the cache) shows that the node does not use the
 * volume. It is added again only after a successful attach.
 *
 * CSI volumes are attached through VolumeAttachments, which an external attacher serves; volumes of other
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
    struct pool *pool;                /* NULL if no plugin attaches */
    struct plugin_registry *registry; /* borrowed, as the pool */
    struct host_tools tools;          /* of plugins */
    bool no_force_detach_on_timeout;
    uint64_t sync_period_ns; /* interval of the verification; 0: never */
};

int attach_new(const struct attach_options *o, struct attach **ret, struct error *err);
void attach_start(struct attach *a);
/* NULL if the state in memory is consistent, else what is wrong. For the simulator. */
const char *attach_check(const struct attach *a);
/* Calls of plugins that have started continue; free the pool after this. */
struct attach *attach_free(struct attach *a);
DEFINE_CLEANUP(struct attach, attach_free)

/* A volume that a pod needs on a node; texts are borrowed. */
struct attach_wait {
    const char *volume; /* the PersistentVolume, or the name of the pod's volume */
    bool is_attached;
    const char *elsewhere; /* exclusive, and attached to this other node; NULL: not attached */
    uint64_t forced_at_ns; /* loop time: detached from there even if in use; 0: never */
    bool is_used_there;    /* according to the status of the other node */
    struct operation_state op;
};
typedef void attach_wait_fn(void *ctx, const struct attach_wait *w);
/* Calls fn for each volume that the controller attaches for the pod, in the order of unique names. For
 * explanations. */
void attach_each_wait(const struct attach *a, const char *node, const char *pod_uid, attach_wait_fn *fn,
                      void *ctx);

#endif
