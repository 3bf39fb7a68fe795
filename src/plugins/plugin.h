/* What a volume plugin can do: one table a capability, absent ones NULL.
 *
 * There are three kinds of slots, and each says which it is.
 *   Pure: on the loop; looks at its arguments only.
 *   Begun: on the loop; the work goes to the pool, and ends in plugin_op's done on the loop, once. The
 * binder's. Blocking: on a worker, for as long as it takes; sees its arguments and nothing else, which stay
 * as they are until it returns; several may run at once, never two for one volume. It looks at env->stop
 * between steps. A job brings them to the pool. The node's and the attach controller's.
 *
 * Whatever work does can be repeated after a crash: set up of what is set up is done, tear down of what is
 * not there too. Specs are views of immutable objects; whoever needs one longer takes a reference.
 *
 * A plugin that is compiled in is a constant. One that comes and goes (a FlexVolume driver) is counted: see
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

/* How failed work left things is said by the code, wherever it is wrapped:
 *   ERR_UNCERTAIN     it may still be going on, or be done: the state is uncertain
 *   ERR_TIMEOUT       the same
 *   ERR_CANCELLED     the same
 *   ERR_UNAVAILABLE   it never began: the state is what it was
 *   ERR_BUSY          still in use, later; of a delete a Normal event; of an expansion "only when offline"
 *   ERR_INVALID       of an expansion: never at this size
 *   ERR_UNSUPPORTED   the driver has no such call
 * all others: it is over, and not done. */

/* True for a code that leaves open what happened. */
static inline bool plugin_is_uncertain(int r)
{
    return r == -ERR_UNCERTAIN || r == -ERR_TIMEOUT || r == -ERR_CANCELLED;
}

/* --- Volumes --- */

/* A volume as plugins see it: one of a pod's own, or a PersistentVolume. Exactly one of the two is set. One
 * whose plugin became a CSI driver is the translation (api/migration.h), a PersistentVolume in any case. */
struct volume_spec {
    const struct pod_volume *inlined;
    const struct volume *volume;
    bool is_read_only; /* the pod's source says so; of a PersistentVolume, that of the claim in the pod */
    bool is_migrated;  /* volume is a translation; */
    bool was_inlined;  /* of a volume of the pod: no such PersistentVolume exists in the API */
};

/* The PersistentVolume that the API has of it; NULL for none. */
const struct volume *spec_persistent(const struct volume_spec *s);

/* The name of the pod's volume, or of the PersistentVolume. */
const char *spec_name(const struct volume_spec *s);
/* The source, of the kinds that both can have and those of PersistentVolumes alone; SOURCE_NONE otherwise. */
struct volume_source spec_source(const struct volume_spec *s);

/* --- For the binder: begun --- */

/* What plugins are given. */
struct volume_plugin;

struct plugin_host {
    struct loop *loop;
    struct pool *pool; /* for what blocks */
    /* Where the hostPath provisioner may make and delete directories; NULL: /tmp/hostpath_pv. Tests set it.
     */
    const char *host_path_dir;
    bool provisions_host_path; /* --enable-hostpath-provisioner */
    const char *mount_dir;     /* where exports are mounted to be scrubbed; NULL: /run/berth/recycle */
    const char *commands_path; /* the PATH of mount and umount; NULL: the system's. Tests set both */
};

/* Work under way. Embedded by its owner, zeroed; stays where it is until done or dropped. */
struct plugin_op {
    /* Once, from the loop, never from within the call that began the work. May free op. */
    void (*done)(struct plugin_op *op, int r, const struct error *err);
    /* Of a provision that went well: a JSON object that holds what the plugin decides of the
     * PersistentVolume: {"metadata": {"annotations": {...}}, "spec": {...}} without claimRef, class and
     * reclaim policy. Of whoever begins it, initialised and empty. */
    struct buf volume;
    /* Of a removal or a recycling: what must not be touched. Set by whoever begins it, who frees what the
     * work has not taken. */
    struct host_guard *guard;

    /* The plugin's. */
    void (*drop)(struct plugin_op *op);
    void *work;
    struct deferred later; /* a failure that waits to be told, and */
    struct error failure;  /* its words */
};

/* Ends the interest in the work: done is not called any more, and op may go. What has not started does not;
 * what runs is told to stop and ends on the pool by itself (io/job.h). Nothing is armed or
 * deferred for it afterwards. Takes an op that was never begun or is done. */
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
    /* May it provision at all: ERR_DENIED and the words. Pure. Of the claim nothing is judged here, since
     * what is wrong with a claim is told as a failed provision. */
    int (*check)(const struct plugin_host *h, const struct provision_request *q, struct error *err);
    /* Makes the volume's storage. */
    void (*provision)(const struct plugin_host *h, const struct provision_request *q, struct plugin_op *op);
};

struct delete_table {
    /* Removes the storage behind a volume; one that is not there is done. */
    void (*remove)(const struct plugin_host *h, const struct volume *v, struct plugin_op *op);
};

struct recycle_table {
    /* Empties it for the next user. */
    void (*recycle)(const struct plugin_host *h, const struct volume *v, struct plugin_op *op);
};

/* --- For nodes: blocking --- */

/* Where and with what a call works. */
struct volume_env {
    const char *root;      /* the node agent's directory, clean and absolute; NULL on a controller */
    const char *node_name; /* "" where there is none */
    struct host_tools tools;
    const host_stop *stop; /* NULL for none */
    const struct clock *clock;
    const struct guard_dirs *dirs;    /* never given to a group; NULL for none. Outlives all work */
    const struct mount_table *mounts; /* for reconstruct() of many volumes, read once; NULL: it reads it */
    /* Tells the pod's people: a Warning. On the worker; copies. NULL: nobody listens. */
    void (*warn)(void *ctx, const char *reason, const char *message);
    void *warn_ctx;
};

/* For a worker: with this stop, texts in a, and nobody to warn, since whoever began the work may be gone
 * before it ends. What memory lacked for is NULL, and the arena knows. */
struct volume_env volume_env_copy(const struct volume_env *env, const host_stop *stop, struct arena *a);

/* What files show: an object that the pod's volume refers to, as it was when the call began. */
struct volume_content {
    const struct object *object; /* a ConfigMap or Secret; NULL when it could not be had, or it is a token */
    struct str token;            /* of a service account, */
    int64_t expires_real_ns;     /* and its end */
    uint8_t projection;          /* enum pod_projection_type */
    uint32_t index;              /* of the projection in its volume; 0 for a volume with one */
    int r;                       /* why it could not be had, -ERR_NOT_FOUND for one that does not exist, */
    struct error err;            /* with the words; 0 when it could */
};

/* What a CSI driver is told besides, and what had to be fetched for it: plugins/csi/request.h. */
struct csi_request;

struct set_up_request {
    struct volume_spec spec;
    const struct pod *pod;
    const struct csi_request *csi; /* NULL for volumes of other plugins */
    const struct node *node;       /* this one; NULL when it is not known yet */
    const struct volume_content *contents;
    uint32_t contents_count;
    const char *device_path; /* of what is attached; "" for none */
    int64_t fs_group;        /* -1 for none */
    int64_t fs_user;         /* the one user of all containers; -1 for none */
    bool on_root_mismatch;   /* of the group */
    bool is_remount;         /* it is set up already, and to be brought up to date */
    uint64_t random;         /* for names */
};

struct mount_attributes {
    bool is_read_only;
    bool is_managed; /* ownership may be changed */
};

struct pod_table {
    /* Where containers find it. Pure. */
    int (*path)(const struct volume_plugin *self, const char *root, const char *pod_uid, const char *name,
                const struct volume_spec *spec, char ret[PATH_MAX], struct error *err);
    struct mount_attributes (*attributes)(const struct volume_plugin *self, const struct volume_spec *spec);
    /* Brings the volume to that path, owned as asked. A failure leaves nothing mounted, unless its code says
     * that it may still be going on. */
    int (*set_up)(const struct volume_plugin *self, const struct volume_env *env,
                  const struct set_up_request *q, struct error *err);
    /* Takes it away, the directory too; needs no more than the names. */
    int (*tear_down)(const struct volume_plugin *self, const struct volume_env *env, const char *name,
                     const char *pod_uid, struct error *err);
    /* ERR_UNSUPPORTED for volumes that have none. */
    int (*usage)(const struct volume_plugin *self, const struct volume_env *env, const char *path,
                 struct host_usage *ret, struct error *err);
};

struct device_request {
    struct volume_spec spec;
    const char *device_path;
    const char *mount_path;
    const struct csi_request *csi; /* NULL for volumes of other plugins */
};

/* Two-level mounts: once a node, then bound for each pod. */
struct device_table {
    /* Whether this volume has a device step. Pure. */
    bool (*can_mount)(const struct volume_plugin *self, const struct volume_spec *s);
    /* Where the device is mounted. */
    int (*mount_path)(const struct volume_plugin *self, const struct volume_env *env,
                      const struct volume_spec *s, char ret[PATH_MAX], struct error *err);
    int (*mount)(const struct volume_plugin *self, const struct volume_env *env,
                 const struct device_request *q, enum format_failure *ret_why, struct error *err);
    int (*unmount)(const struct volume_plugin *self, const struct volume_env *env, const char *mount_path,
                   struct error *err);
    /* The volume whose device has its directory at mount_path, found after a restart without any pod: a
     * PersistentVolume with as much as the disk tells. Whether something is mounted there does not matter.
     * Blocking. NULL: cannot. */
    int (*reconstruct)(const struct volume_plugin *self, const struct volume_env *env, const char *mount_path,
                       struct object **ret, struct error *err);
};

struct attach_table {
    bool (*can_attach)(const struct volume_plugin *self, const struct volume_spec *s); /* pure */
    /* device: PATH_MAX bytes, "" when there is no name for it. ERR_EXISTS: the volume is attached to another
     * node, whose name is in ret_device then. */
    int (*attach)(const struct volume_plugin *self, const struct volume_env *env, const struct volume_spec *s,
                  const char *node, char *ret_device, struct error *err);
    /* volume: the last part of the volume's unique name. */
    int (*detach)(const struct volume_plugin *self, const struct volume_env *env, const char *volume,
                  const char *node, struct error *err);
    /* ERR_UNSUPPORTED: nobody knows. */
    int (*is_attached)(const struct volume_plugin *self, const struct volume_env *env,
                       const struct volume_spec *s, const char *node, bool *ret, struct error *err);
    /* On the node: until the device is there. */
    int (*wait)(const struct volume_plugin *self, const struct volume_env *env, const struct volume_spec *s,
                const char *device, uint64_t limit_ns, char *ret_device, struct error *err);
};

struct block_request {
    struct volume_spec spec;
    const struct pod *pod;
    const struct csi_request *csi; /* NULL for volumes of other plugins */
};

struct block_paths;

/* Raw block volumes. The node makes the links and binds that are the same for all plugins. */
struct block_table {
    /* The device of the volume, absolute. NULL where it is published. */
    int (*map)(const struct volume_plugin *self, const struct volume_env *env, const struct volume_spec *s,
               const char *device_path, char ret[PATH_MAX], struct error *err);
    int (*unmap)(const struct volume_plugin *self, const struct volume_env *env, const char *name,
                 const char *pod_uid, struct error *err);

    /* Of plugins whose drivers bring the device, once to the node and then to each pod; else all NULL. */

    /* In place of block_paths_of(). Pure. */
    int (*paths)(const struct volume_plugin *self, const char *root, const char *name, const char *pod_uid,
                 struct block_paths *ret, struct error *err);
    int (*stage)(const struct volume_plugin *self, const struct volume_env *env,
                 const struct block_request *q, struct error *err);
    /* In place of map; unmap takes it back. */
    int (*publish)(const struct volume_plugin *self, const struct volume_env *env,
                   const struct block_request *q, char ret[PATH_MAX], struct error *err);
    /* Once no pod has it: before the global directory goes. */
    int (*unstage)(const struct volume_plugin *self, const struct volume_env *env, const char *name,
                   struct error *err);

    /* The volume of that name, found after a restart by its global directory without any pod: a
     * PersistentVolume with as much as the disk tells. Blocking. NULL: cannot. */
    int (*reconstruct)(const struct volume_plugin *self, const struct volume_env *env, const char *name,
                       struct object **ret, struct error *err);
};

struct expand_request {
    struct volume_spec spec;
    const char *device_path;
    const char *mount_path;        /* of the device */
    const char *pod_path;          /* where the pod that grows it has it; NULL when no driver asks for it */
    const struct csi_request *csi; /* NULL for volumes of other plugins */
    uint64_t new_bytes;
    uint64_t old_bytes;
};

struct expand_table {
    bool needs_fs_resize; /* on the node, afterwards */
    /* The storage itself, from the control plane. NULL: it grows by itself. */
    int (*expand)(const struct volume_plugin *self, const struct volume_env *env,
                  const struct expand_request *q, uint64_t *ret_bytes, struct error *err);
    /* The file system, on the node. *ret_done: false when there was nothing to grow yet. NULL: nothing to do.
     */
    int (*expand_on_node)(const struct volume_plugin *self, const struct volume_env *env,
                          const struct expand_request *q, bool *ret_done, struct error *err);
};

/* Volumes of a pod whose size follows from the pod. */
struct resize_table {
    /* How large the volume is to be; 0: that cannot be changed. node: NULL when it is not known. Pure. */
    int64_t (*bytes)(const struct volume_spec *s, const struct pod *pod, const struct node *node);
    /* Gives one that is set up another size. ERR_UNAVAILABLE while it is not. Blocking. */
    int (*resize)(const struct volume_env *env, const struct volume_spec *s, const struct pod *pod,
                  int64_t bytes, struct error *err);
};

/* How many volumes a node can have. */
struct limit_table {
    /* Calls fn with each limit of this node, under the name of its resource in the Node (api/volume_limit.h).
     * A plugin that has none here calls nothing. Pure. */
    void (*each)(const struct volume_plugin *self, void (*fn)(void *ctx, const char *key, uint32_t count),
                 void *ctx);
};

/* --- The plugin --- */

struct volume_plugin {
    const char *name; /* "kubernetes.io/host-path" */
    /* True when the plugin serves this source. Looks at which source is set and nothing else. Pure. */
    bool (*can_support)(const struct volume_plugin *self, const struct volume_spec *s);
    /* What the volume is called apart from the plugin, the same on all nodes. Pure. */
    int (*volume_name)(const struct volume_plugin *self, const struct volume_spec *s, struct buf *ret,
                       struct error *err);
    /* Whether the driver itself accepts the volume under its name: asked before it is attached, and before
     * its device is mounted. Nothing is done yet when it fails. Blocking. NULL: it always does. */
    int (*check_name)(const struct volume_plugin *self, const struct volume_env *env,
                      const struct volume_spec *s, struct error *err);
    /* A volume of a pod, found after a restart by the directory (of a raw device, the link) in the pod's
     * own, as an object: a PersistentVolume, or a Pod with that one volume. As much of it as can be known.
     * pod_uid is a pod's, never empty: volumes without a pod are devices->reconstruct() and
     * block->reconstruct(). Blocking. NULL: cannot. */
    int (*reconstruct)(const struct volume_plugin *self, const struct volume_env *env, const char *name,
                       const char *pod_uid, bool is_block, struct object **ret, struct error *err);
    unsigned access_modes; /* ACCESS_*: those a PersistentVolume may have; 0 for pods' volumes only */
    bool takes_mount_options;
    bool requires_remount; /* its contents follow objects: set up again at every sync of the pod */

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

    /* Of plugins that come and go; NULL for constants. */
    void (*free)(struct volume_plugin *self);
    unsigned refs; /* the loop's */
};

/* As the slot; 0 without one. */
int plugin_check_name(const struct volume_plugin *p, const struct volume_env *env,
                      const struct volume_spec *s, struct error *err);

/* Constants are not counted. From the loop only. */
const struct volume_plugin *plugin_ref(const struct volume_plugin *p);
const struct volume_plugin *plugin_unref(const struct volume_plugin *p);
DEFINE_CLEANUP(const struct volume_plugin, plugin_unref)

#endif
