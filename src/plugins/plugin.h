/* The interface of a volume plugin: one table per capability, NULL for capabilities it does not have.
 *
 * There are three kinds of slots; each slot's comment names its kind.
 *   Pure: runs on the loop and only reads its arguments.
 *   Started: called on the loop; the work runs on the pool and ends once, on the loop, in plugin_op's done().
 *     Used by the binder.
 *   Blocking: runs on a worker thread; only uses its arguments, which do not change until it returns. Several
 *     may run at once, but never two for one volume. It checks env->stop between steps. Used by the node and
 *     the attach controller, as jobs of the pool.
 *
 * All work is idempotent and can be repeated after a crash: setting up a volume that is set up, or tearing
 * down one that does not exist, succeeds. Specs are views of immutable objects; take a reference to keep one.
 *
 * A built-in plugin is a constant. One that can be removed (a FlexVolume driver) is reference-counted: see
 * plugin_ref(). Slots get their plugin as `self`. */
#ifndef BERTH_PLUGINS_PLUGIN_H
#define BERTH_PLUGINS_PLUGIN_H

#include <stdbool.h>
#include <stdint.h>

#include "api/claim.h"
#include "api/class.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/volume.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "host/device.h"
#include "host/files.h"
#include "host/guard.h"
#include "host/mount_table.h"
#include "io/loop.h"
#include "io/pool.h"

/* The code of an error, also when wrapped, says in which state failed work left a volume:
 *   ERR_UNCERTAIN     it may still run, or have succeeded
 *   ERR_INCOMPLETE    it ended with a partial result: a volume exists, but not as requested
 *   ERR_UNAVAILABLE   it never started: the state is unchanged
 *   ERR_BUSY          in use, retry later; for a delete a Normal event; for an expansion "only when offline"
 *   ERR_INVALID       for an expansion: will never succeed with this size
 *   ERR_UNSUPPORTED   the driver has no such call
 * any other code: it ended without a result. */

/* --- Volumes --- */

/* A volume as plugins see it: a volume of a pod, or a PersistentVolume. Exactly one of the two is set. A
 * volume of a migrated in-tree plugin is its translation (api/migration.h), always a PersistentVolume. */
struct volume_spec {
    const struct pod_volume *inlined;
    const struct volume *volume;
    bool is_read_only; /* from the pod's source; for a PersistentVolume, from the claim in the pod */
    bool is_migrated;  /* volume is a translation */
    bool was_inlined;  /* of a volume of the pod: the API has no such PersistentVolume */
};

/* The PersistentVolume in the API; NULL for none. */
const struct volume *spec_persistent(const struct volume_spec *s);

/* The name of the pod's volume, or of the PersistentVolume. */
const char *spec_name(const struct volume_spec *s);
/* The source, if its kind exists in both or only in PersistentVolumes; else SOURCE_NONE. */
struct volume_source spec_source(const struct volume_spec *s);

/* --- For the binder: started --- */

/* What plugins get. */
struct volume_plugin;

struct plugin_host {
    struct loop *loop;
    struct pool *pool; /* for blocking work */
    /* Where the hostPath provisioner may create and delete directories; NULL: /tmp/hostpath_pv. Set by tests.
     */
    const char *host_path_dir;
    bool provisions_host_path; /* --enable-hostpath-provisioner */
    const char *mount_dir;     /* where exports are mounted for scrubbing; NULL: /run/berth/recycle */
    const char *commands_path; /* PATH for mount and umount; NULL: the system's. Both are set by tests */
};

/* Work in progress. Embedded by its owner, zeroed; must not move until done or dropped. */
struct plugin_op {
    /* Called once, from the loop, never from inside the call that started the work. May free op. */
    void (*done)(struct plugin_op *op, int r, const struct error *err);
    /* The result of a successful provision: a JSON object with the plugin's part of the PersistentVolume:
     * {"metadata": {"annotations": {...}}, "spec": {...}} without claimRef, class and reclaim policy. The
     * caller passes it initialised and empty. */
    struct buf volume;
    /* For a removal or a recycle: what must not be touched. Set by the caller, who frees it if the work has
     * not taken it. */
    struct host_guard *guard;

    /* Private to the plugin. */
    void (*drop)(struct plugin_op *op);
    void *work;
    struct deferred later; /* a failure that is reported later */
    struct error failure;  /* and its text */
};

/* Abandons the work: done() is not called any more, and op may be freed. Work that has not started does not
 * start; running work is requested to stop and ends on the pool (io/job.h). Nothing stays armed or deferred.
 * Accepts an op that was never started or is done. */
static inline void plugin_op_drop(struct plugin_op *op)
{
    if (op->drop)
        op->drop(op);
}

struct provision_request {
    const char *volume_name;
    const struct claim *claim;
    const struct storage_class *class;
    const struct node *node; /* selected; NULL for none */
};

struct provision_table {
    /* Whether it may provision at all: ERR_DENIED with a text. Pure. The claim is not checked here: an
     * invalid claim is reported as a failed provision. */
    int (*check)(const struct plugin_host *h, const struct provision_request *q, struct error *err);
    /* Creates the volume's storage. */
    void (*provision)(const struct plugin_host *h, const struct provision_request *q, struct plugin_op *op);
};

struct delete_table {
    /* Removes the storage of a volume; missing storage is not an error. */
    void (*remove)(const struct plugin_host *h, const struct volume *v, struct plugin_op *op);
};

struct recycle_table {
    /* Empties it for the next claim. */
    void (*recycle)(const struct plugin_host *h, const struct volume *v, struct plugin_op *op);
};

/* --- For nodes: blocking --- */

/* Where a call works, and with which tools. */
struct volume_env {
    const char *root;      /* the root of the node agent, clean and absolute; NULL on a controller */
    const char *node_name; /* "" if there is none */
    struct host_tools tools;
    const host_stop *stop; /* NULL for none */
    const struct clock *clock;
    const struct guard_dirs *dirs; /* never given to a group; NULL for none. Outlives all work */
    /* for reconstruct() of many volumes, read once; NULL: it reads the table */
    const struct mount_table *mounts;
    /* Records a Warning event for the pod. On the worker; copies. NULL: none. */
    void (*warn)(void *ctx, const char *reason, const char *message);
    void *warn_ctx;
};

/* For a worker: with this stop, texts in a, and without warn(), because the caller may be gone before the
 * work ends. Fields for which there was no memory are NULL, and the arena has failed. */
struct volume_env volume_env_copy(const struct volume_env *env, const host_stop *stop, struct arena *a);

/* An object that the pod's volume refers to, as it was at the start of the call. */
struct volume_content {
    const struct object *object; /* a ConfigMap or Secret; NULL: not fetched, or it is a token */
    struct str token;            /* of a service account */
    int64_t expires_real_ns;     /* and its expiry */
    uint8_t projection;          /* enum pod_projection_type */
    uint32_t index;              /* of the projection in its volume; 0 for a volume with one */
    int r;                       /* 0, or why it was not fetched; -ERR_NOT_FOUND: does not exist */
    struct error err;            /* with its text */
};

/* More data for a CSI driver: plugins/csi/request.h. */
struct csi_request;

struct set_up_request {
    struct volume_spec spec;
    const struct pod *pod;
    const struct csi_request *csi; /* NULL for volumes of other plugins */
    const struct node *node;       /* of this node; NULL: not known yet */
    const struct volume_content *contents;
    uint32_t contents_count;
    const char *device_path; /* of an attached volume; "" for none */
    int64_t fs_group;        /* -1 for none */
    int64_t fs_user;         /* the user of all containers, if they have one; -1 for none */
    bool on_root_mismatch;   /* of the group */
    bool is_remount;         /* it is set up already and must be updated */
    uint64_t random;         /* for names */
};

struct mount_attributes {
    bool is_read_only;
    bool is_managed; /* ownership may be changed */
};

struct pod_table {
    /* The path for containers. Pure. */
    int (*path)(const struct volume_plugin *self, const char *root, const char *pod_uid, const char *name,
                const struct volume_spec *spec, char ret[PATH_MAX], struct error *err);
    struct mount_attributes (*attributes)(const struct volume_plugin *self, const struct volume_spec *spec);
    /* Makes the volume available at that path, with the requested ownership. A failure leaves nothing there,
     * unless its code is ERR_UNCERTAIN or ERR_INCOMPLETE. */
    int (*set_up)(const struct volume_plugin *self, const struct volume_env *env,
                  const struct set_up_request *q, struct error *err);
    /* Removes it, with the directory; only needs the names. */
    int (*tear_down)(const struct volume_plugin *self, const struct volume_env *env, const char *name,
                     const char *pod_uid, struct error *err);
    /* ERR_UNSUPPORTED for volumes without usage. */
    int (*usage)(const struct volume_plugin *self, const struct volume_env *env, const char *path,
                 struct host_usage *ret, struct error *err);
};

struct device_request {
    struct volume_spec spec;
    const char *device_path;
    const char *mount_path;
    const struct csi_request *csi; /* NULL for volumes of other plugins */
};

/* Two-level mounts: mounted once per node, then bound for each pod. */
struct device_table {
    /* True if this volume is mounted as a device. Pure. NULL: all are. */
    bool (*can_mount)(const struct volume_plugin *self, const struct volume_spec *s);
    /* The mount point of the device. */
    int (*mount_path)(const struct volume_plugin *self, const struct volume_env *env,
                      const struct volume_spec *s, char ret[PATH_MAX], struct error *err);
    int (*mount)(const struct volume_plugin *self, const struct volume_env *env,
                 const struct device_request *q, enum format_failure *ret_why, struct error *err);
    int (*unmount)(const struct volume_plugin *self, const struct volume_env *env, const char *mount_path,
                   struct error *err);
    /* The volume whose device has its directory at mount_path, found after a restart without a pod: a
     * PersistentVolume with what is known from the disk. Nothing needs to be mounted there. Blocking. NULL:
     * cannot. */
    int (*reconstruct)(const struct volume_plugin *self, const struct volume_env *env, const char *mount_path,
                       struct object **ret, struct error *err);
};

struct attach_table {
    /* True if this volume is attached. Pure. NULL: all are. */
    bool (*can_attach)(const struct volume_plugin *self, const struct volume_spec *s);
    /* device: PATH_MAX bytes, "" if it has no path. ERR_EXISTS: attached to another node, whose name is in
     * ret_device. */
    int (*attach)(const struct volume_plugin *self, const struct volume_env *env, const struct volume_spec *s,
                  const char *node, char *ret_device, struct error *err);
    /* volume: the last part of the unique name. */
    int (*detach)(const struct volume_plugin *self, const struct volume_env *env, const char *volume,
                  const char *node, struct error *err);
    /* ERR_UNSUPPORTED: cannot be determined. */
    int (*is_attached)(const struct volume_plugin *self, const struct volume_env *env,
                       const struct volume_spec *s, const char *node, bool *ret, struct error *err);
    /* On the node: waits until the device exists. */
    int (*wait)(const struct volume_plugin *self, const struct volume_env *env, const struct volume_spec *s,
                const char *device, uint64_t limit_ns, char *ret_device, struct error *err);
};

struct block_request {
    struct volume_spec spec;
    const struct pod *pod;
    const struct csi_request *csi; /* NULL for volumes of other plugins */
};

struct block_paths;

/* Raw block volumes. The node creates the links and binds that are the same for all plugins. */
struct block_table {
    /* The path of the device, absolute. NULL with publish(). */
    int (*map)(const struct volume_plugin *self, const struct volume_env *env, const struct volume_spec *s,
               const char *device_path, char ret[PATH_MAX], struct error *err);
    int (*unmap)(const struct volume_plugin *self, const struct volume_env *env, const char *name,
                 const char *pod_uid, struct error *err);

    /* For plugins whose drivers publish the device, once to the node and then to each pod; else all NULL. */

    /* Replaces block_paths_of(). Pure. */
    int (*paths)(const struct volume_plugin *self, const char *root, const char *name, const char *pod_uid,
                 struct block_paths *ret, struct error *err);
    int (*stage)(const struct volume_plugin *self, const struct volume_env *env,
                 const struct block_request *q, struct error *err);
    /* Replaces map(); unmap() reverts it. */
    int (*publish)(const struct volume_plugin *self, const struct volume_env *env,
                   const struct block_request *q, char ret[PATH_MAX], struct error *err);
    /* When no pod uses it: before the global directory is removed. */
    int (*unstage)(const struct volume_plugin *self, const struct volume_env *env, const char *name,
                   struct error *err);

    /* The volume of that name, found after a restart by its global directory without a pod: a
     * PersistentVolume with what is known from the disk. Blocking. NULL: cannot. */
    int (*reconstruct)(const struct volume_plugin *self, const struct volume_env *env, const char *name,
                       struct object **ret, struct error *err);
};

struct expand_request {
    struct volume_spec spec;
    const char *device_path;
    const char *mount_path;        /* of the device */
    const char *pod_path;          /* the path in the pod that expands it; NULL if no driver needs it */
    const struct csi_request *csi; /* NULL for volumes of other plugins */
    uint64_t new_bytes;
    uint64_t old_bytes;
};

struct expand_table {
    bool needs_fs_resize; /* on the node, afterwards */
    /* Expands the storage, from the control plane. NULL: done by another component. Blocking. */
    int (*expand)(const struct volume_plugin *self, const struct volume_env *env,
                  const struct expand_request *q, uint64_t *ret_bytes, struct error *err);
    /* Expands the file system, on the node. *ret_done: false if there was nothing to expand yet. NULL:
     * nothing to do. */
    int (*expand_on_node)(const struct volume_plugin *self, const struct volume_env *env,
                          const struct expand_request *q, bool *ret_done, struct error *err);
};

/* Volumes of a pod whose size depends on the pod. */
struct resize_table {
    /* The desired size; 0: cannot be changed. node: NULL if unknown. Pure. */
    int64_t (*bytes)(const struct volume_spec *s, const struct pod *pod, const struct node *node);
    /* Changes the size of a volume that is set up. ERR_UNAVAILABLE if it is not. Blocking. */
    int (*resize)(const struct volume_env *env, const struct volume_spec *s, const struct pod *pod,
                  int64_t bytes, struct error *err);
};

/* The maximum number of volumes per node. */
struct limit_table {
    /* Calls fn for each limit of this node, with the name of its resource in the Node (api/volume_limit.h).
     * Does not call it if there is none. Pure. */
    void (*each)(const struct volume_plugin *self, void (*fn)(void *ctx, const char *key, uint32_t count),
                 void *ctx);
};

/* --- The plugin --- */

struct volume_plugin {
    const char *name; /* "kubernetes.io/host-path" */
    /* True if the plugin serves this source. Only checks which source is set. Pure. */
    bool (*can_support)(const struct volume_plugin *self, const struct volume_spec *s);
    /* The volume's name without the plugin, the same on all nodes. Pure. */
    int (*volume_name)(const struct volume_plugin *self, const struct volume_spec *s, struct buf *ret,
                       struct error *err);
    /* Whether the driver accepts the volume under its name: called before it is attached and before its
     * device is mounted. If it fails, nothing has been done. Blocking. NULL: always. */
    int (*check_name)(const struct volume_plugin *self, const struct volume_env *env,
                      const struct volume_spec *s, struct error *err);
    /* A volume of a pod, found after a restart by its directory (for a raw device, its link) in the pod's
     * directory, as an object: a PersistentVolume, or a Pod with only that volume, with what is known.
     * pod_uid is never empty: for volumes without a pod there are devices->reconstruct() and
     * block->reconstruct(). Blocking. NULL: cannot. */
    int (*reconstruct)(const struct volume_plugin *self, const struct volume_env *env, const char *name,
                       const char *pod_uid, bool is_block, struct object **ret, struct error *err);
    unsigned access_modes; /* ACCESS_*: allowed for a PersistentVolume; 0: only volumes of pods */
    bool takes_mount_options;
    bool requires_remount; /* its content follows objects: set up again at every sync of the pod */

    const struct provision_table *provision;
    const struct delete_table *remove;
    const struct recycle_table *recycle;
    const struct pod_table *pods;
    const struct device_table *devices;
    const struct attach_table *attach;
    const struct block_table *block;
    const struct expand_table *expand;
    const struct resize_table *resize;
    const struct limit_table *limits;

    /* For plugins that can be removed; NULL for constants. */
    void (*free)(struct volume_plugin *self);
    unsigned refs; /* only used on the loop */
};

/* Calls the slot; 0 if there is none. */
int plugin_check_name(const struct volume_plugin *p, const struct volume_env *env,
                      const struct volume_spec *s, struct error *err);

/* Constants are not counted. Only from the loop. */
const struct volume_plugin *plugin_ref(const struct volume_plugin *p);
const struct volume_plugin *plugin_unref(const struct volume_plugin *p);
DEFINE_CLEANUP(const struct volume_plugin, plugin_unref)

/* --- Helpers for plugins and their callers --- */

/* The mount options of a volume: those of the old annotation if present, else those of the spec; and `ours`,
 * which ends with NULL. Without options of the volume, ours are returned as they are; else all of them,
 * sorted and unique. */
int volume_mount_options(struct arena *a, const struct volume_spec *s, const char *const *ours,
                         struct texts *ret, struct error *err);
/* `mount options are not supported for this volume type`. Pure. */
int volume_check_mount_options(const struct volume_plugin *p, const struct volume_spec *s, struct error *err);
/* `no matching NodeSelectorTerms`: the volume is not reachable from the node. Pure. */
int volume_check_node(const struct volume_spec *s, const struct node *n, struct error *err);

/* A volume_name slot: the name in the spec. */
int volume_name_slot(const struct volume_plugin *self, const struct volume_spec *s, struct buf *ret,
                     struct error *err);

/* Objects for volumes found on disk after a restart, with what is known. source: the source as JSON,
 * `"nfs":{"path":"/x"}`; a failed buffer is an error. Names come from directories and may be anything. */
/* A Pod with that uid and one volume of that name. */
int reconstruct_pod(const char *volume, const char *pod_uid, const struct buf *source, struct object **ret,
                    struct error *err);
/* A PersistentVolume. */
int reconstruct_volume(const char *name, const struct buf *source, bool is_block, struct object **ret,
                       struct error *err);

#endif
