/* The agent's data structures, internal to node/. */
#ifndef BERTH_NODE_NODE_INT_H
#define BERTH_NODE_NODE_INT_H

#include "base/rng.h"
#include "host/system.h"
#include "machinery/api_write.h"
#include "machinery/pending_operations.h"
#include "node/agent.h"
#include "node/csi.h"
#include "node/mount_check.h"
#include "node/node_world.h"
#include "node/orphans.h"
#include "node/pod_life.h"
#include "node/reconstruct.h"
#include "node/register.h"
#include "node/static_pods.h"
#include "node/stats.h"
#include "node/unknown_mounts.h"
#include "node/volume_sources.h"

/* Maximum number of errors kept per pod. */
#define POD_ERRORS_MAX 10

struct populate_round;

/* A pod of this node: it exists on the server, or did when last seen, or has a directory on this machine. The
 * record exists until the pod has terminated, its volumes are unmounted and the server does not have it. */
struct node_pod {
    struct agent *agent;
    char *uid;
    struct object *object; /* last known version; NULL: only its directory is known */
    bool is_known;         /* the server has it, assigned to this node */
    struct node_mounts mounts;

    /* Private to populate_desired.c. */
    struct populate_round *round; /* NULL: none in progress */
    bool wants_round;             /* another round follows the one in progress */
    bool is_processed;            /* all its volumes are in the desired state */
    bool had_round;               /* the first round has ended, or was not needed */
    unsigned failures;            /* consecutive rounds that ended with errors */
    char *errors[POD_ERRORS_MAX + 1];
    unsigned errors_count;
    struct timer sync; /* the next periodic round, or the retry after a failure */

    struct pod_life life; /* pod_life.h */
};

/* Delay before the unmount of volumes that could not be reconstructed is tried again. */
#define FAILED_RETRY_NS (60 * NS_PER_S)

/* A volume on disk that could not be reconstructed. */
struct failed_volume {
    char *plugin;
    char *name;
    char *pod_uid;
    bool is_reported;   /* the missing plugin was logged */
    bool is_unmounting; /* its operation runs */
    uint64_t retry_at_ns;
};

struct agent {
    struct agent_options o;
    char root[PATH_MAX];
    char boot_id[HOST_FACT_BYTES]; /* of the machine */
    struct volume_env env;         /* copied into every job; its stop is the job's */
    struct rng rng;
    struct node_world world;
    struct operations *ops;
    TAILQ_HEAD(, node_op) running;
    struct recorder *recorder; /* "kubelet" */
    struct informer *pods;     /* of this node */
    struct informer *self;     /* the Node */
    struct informer_handler on_pods;
    struct informer_handler on_self;
    struct deferred pass;  /* of the reconciler */
    struct timer warnings; /* collects warnings of workers periodically */

    /* What is known, which determines what may be done. */
    bool has_scanned;  /* the pod directories were read */
    bool has_pods;     /* the first list of pods is processed, each with a round */
    bool has_attached; /* the node's status was compared with the volumes found on disk */
    struct api_write self_read;
    struct timer self_retry;

    struct registration *registration;
    struct volume_sources *contents;
    struct node_csi *csi;
    struct orphans *orphans;
    struct static_pods *static_pods; /* NULL: none */
    struct stats *stats;
    struct mount_check *mounts;
    uint64_t snapshots_begun; /* snapshots of the mount table */
    struct unknown_mounts unknown;
    bool has_reported_mount_right;
    struct reconstruct *scan;         /* in flight; NULL */
    VEC(struct failed_volume) failed; /* until their pods have terminated: then one forced cleanup each */
    struct timer failed_retry;        /* for those that are still mounted, or whose plugin is missing */
    struct api api;                   /* for requests of the agent */
    struct metric_family *operation_seconds;
    struct metric *forced, *forced_failures, *plugin_failures;
    char *broken_plugins; /* as last reported; NULL or "": none */
    bool needs_plugin_event;
};

/* --- agent.c --- */

/* Something changed: runs the reconciler at the end of this loop iteration. */
void agent_touch(struct agent *a);
/* True when the volume is set up again at every sync of its pod and whenever its content changes. */
bool agent_requires_remount(const struct agent *a, const struct node_mount *m);
/* The size of the volume as requested by its pod; 0: its size does not depend on the pod. */
int64_t agent_mount_bytes(const struct agent *a, const struct node_mount *m);
/* The last known version of the Node; NULL. */
const struct node *agent_node(const struct agent *a);

/* --- pods.c --- */

void pods_listen(struct agent *a);
/* The pod's record; NULL for none. */
struct node_pod *agent_pod(const struct agent *a, const char *uid);
struct node_pod *agent_add_pod(struct agent *a, const char *uid);
/* Frees the record if nothing refers to the pod any more. */
void agent_drop_pod(struct node_pod *p);
void pod_free(struct node_pod *p);
/* Sets has_pods once every pod had its first round. */
void pods_check_known(struct agent *a);
/* Removes terminated pods from the desired state. */
void pods_unwant_over(struct agent *a);

/* --- restore.c --- */

void restore_take(struct agent *a, const struct node_restored *found);
/* Compares the volumes found on disk with the node's status, with retries. A timer callback. */
void restore_ask_attached(void *agent);
void agent_drop_failed(struct agent *a, size_t i);
void agent_clear_failed(struct agent *a);

/* --- populate_desired.c --- */

/* Starts a round for the pod: its object changed, a volume is missing, or a volume's content changed. */
void populate_pod(struct node_pod *p);
/* Ends a round in progress and disarms the timer, for a pod that is freed. */
void populate_cancel(struct node_pod *p);
void populate_free_round(struct populate_round *r);

/* --- reconcile_volumes.c --- */

void reconcile_volumes(void *agent);
/* Unmounting is allowed: all pods are listed and the attachments are known. */
bool reconcile_may_unmount(const struct agent *a);

/* --- volume_ops.c, node_attach.c, mount_ops.c, unmount_ops.c: volume operations --- */

void volume_mark_unattachable(struct node_volume *v); /* immediately */
void volume_op_verify(struct agent *a, struct node_volume *v);
void volume_op_attach(struct agent *a, struct node_volume *v);
/* Mounts, or maps a block volume. False when the operation cannot start now. */
bool volume_op_mount(struct node_mount *m);
void volume_op_unmount(struct node_mount *m);
void volume_op_unmount_device(struct agent *a, struct node_volume *v);
void volume_op_detach(struct agent *a, struct node_volume *v);
void volume_op_grow(struct node_mount *m);
/* Starts the removal of a volume that could not be reconstructed, by its plugin. False: the plugin is not
 * registered now, or the operation cannot start yet. */
bool volume_op_force_unmount(struct agent *a, struct failed_volume *f);
/* Collects warnings of workers. A timer callback. */
void volume_op_report_warnings(void *agent);
/* Drops all running operations, at the end of the agent. */
void volume_op_cancel_all(struct agent *a);

/* The key of operations for the pod, or with NULL for the volume as a whole. */
struct operation_key volume_key(const struct node_volume *v, const struct node_pod *p);

/* --- pod_wait.c: causes of waits --- */

enum volumes_state {
    VOLUMES_READY,   /* all volumes that its containers use are mounted */
    VOLUMES_WAITING, /* some are being mounted */
    VOLUMES_FAILED,  /* some cannot be added to the desired state: see p->errors */
};
enum volumes_state pod_volumes_state(const struct node_pod *p);
/* `unmounted volumes=[a b], unattached volumes=[], failed to process volumes=[]: CAUSE`, lists sorted. */
void pod_write_volumes_state(const struct node_pod *p, const char *cause, struct buf *out);
/* The wanted mount with this name in the pod; NULL. */
struct node_mount *pod_mount_named(const struct node_pod *p, const char *outer_name);
/* No volume of the pod is or may be mounted. */
bool pod_is_unmounted(const struct node_pod *p);
/* True when a container of the pod uses the volume; *ret_is_block: as a device. */
bool pod_uses_volume(const struct pod *p, const char *outer_name, bool *ret_is_mounted, bool *ret_is_block);

#endif
