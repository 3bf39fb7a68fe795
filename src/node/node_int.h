/* The agent's insides, for the files of node/ alone. */
#ifndef BERTH_NODE_NODE_INT_H
#define BERTH_NODE_NODE_INT_H

#include "base/rng.h"
#include "machinery/pending_operations.h"
#include "machinery/write.h"
#include "node/agent.h"
#include "node/contents.h"
#include "node/csi.h"
#include "node/mount_check.h"
#include "node/orphans.h"
#include "node/pod_life.h"
#include "node/reconstruct.h"
#include "node/register.h"
#include "node/static_pods.h"
#include "node/stats.h"
#include "node/unknown_mounts.h"
#include "node/world.h"

/* More errors of a pod than this are not kept. */
#define POD_ERRORS_MAX 10

struct populate_round;

/* A pod of this node: one that the server has, or had when it was last heard of, or one whose directory is
 * here. It stays until it is over, its volumes are gone and the server does not have it. */
struct node_pod {
    struct agent *agent;
    char *uid;
    struct object *object; /* as last heard of; NULL: nothing but its directory is known */
    bool is_known;         /* the server has it, on this node */
    struct node_mounts mounts;

    /* populate.c's. */
    struct populate_round *round; /* NULL: none under way */
    bool wants_round;             /* one more, behind the one under way */
    bool is_processed;            /* all volumes are wanted as they should be */
    bool had_round;               /* the first one is over, or was not needed */
    unsigned failures;            /* rounds in a row that ended with errors */
    char *errors[POD_ERRORS_MAX + 1];
    unsigned errors_count;
    struct timer sync; /* the next round without a cause, or after a failure */

    struct pod_life life; /* pod_life.h */
};

/* A volume on disk that could not be reconstructed. */
struct failed_volume {
    char *plugin;
    char *name;
    char *pod_uid;
};

struct agent {
    struct agent_options o;
    char root[PATH_MAX];
    struct volume_env env; /* copied into every job; its stop is the job's */
    struct rng rng;
    struct world world;
    struct operations *ops;
    TAILQ_HEAD(, node_op) running;
    struct recorder *recorder; /* "kubelet" */
    struct informer *pods;     /* of this node */
    struct informer *self;     /* the Node */
    struct informer_handler on_pods;
    struct informer_handler on_self;
    struct deferred pass;  /* of the reconciler */
    struct timer warnings; /* of workers: told now and then */

    /* What is known, and so what may be done. */
    bool has_scanned;  /* the directories were read */
    bool has_pods;     /* the first list of pods is in the world, and each had its round */
    bool has_attached; /* the node's status said what of the found volumes is attached */
    struct api_write self_read;
    struct timer self_retry;

    struct registration *registration;
    struct contents *contents;
    struct node_csi *csi;
    struct orphans *orphans;
    struct static_pods *static_pods; /* NULL: none */
    struct stats *stats;
    struct mount_check *mounts;
    uint64_t looks_begun; /* at the mount table */
    struct unknown_mounts unknown;
    bool has_told_mount_right;
    struct reconstruct *scan;         /* under way; NULL */
    VEC(struct failed_volume) failed; /* until they are asked to go, once */
    struct metric_family *operation_seconds;
    struct metric *forced, *forced_failures, *plugin_failures;
    char *broken_plugins; /* as reported last, in words; NULL or "": none */
    bool owes_plugin_event;
};

/* How the agent writes. */
static inline struct api agent_api(struct agent *a)
{
    return (struct api){
        .client = a->o.part.client, .loop = a->o.part.loop, .manager = NODE_FIELD_MANAGER, .rng = &a->rng
    };
}

/* --- agent.c --- */

/* Something changed: the reconciler looks at the world once this turn is over. */
void agent_touch(struct agent *a);
/* Is it to be brought up to date at every sync of its pod, and whenever what it shows changes? */
bool agent_requires_remount(const struct agent *a, const struct node_mount *m);
/* How large the volume is to be for its pod; 0: its size does not follow from the pod. */
int64_t agent_mount_bytes(const struct agent *a, const struct node_mount *m);
/* The Node as last heard of; NULL. */
const struct node *agent_node(const struct agent *a);

/* --- pods.c --- */

void pods_listen(struct agent *a);
/* The pod's record; NULL for none. */
struct node_pod *agent_pod(const struct agent *a, const char *uid);
struct node_pod *agent_add_pod(struct agent *a, const char *uid);
/* Drops the record if nothing is left of it. */
void agent_drop_pod(struct node_pod *p);
void pod_free(struct node_pod *p);
/* Notes when every pod had its first round. */
void pods_check_known(struct agent *a);
/* Of pods that are over nothing is wanted. */
void pods_unwant_over(struct agent *a);

/* --- found.c --- */

void found_take(struct agent *a, const struct found *found);
/* Asks whether what was found is attached, until there is an answer. A timer's callback. */
void found_ask_attached(void *agent);
void agent_clear_failed(struct agent *a);

/* --- populate.c --- */

/* The pod is to be looked at: its object changed, it waits, what it shows changed. */
void populate_pod(struct node_pod *p);
/* Ends a round under way and the timer: for a pod that goes. */
void populate_cancel(struct node_pod *p);
void populate_free_round(struct populate_round *r);

/* --- reconcile.c --- */

void reconcile(void *agent);
/* Unmounting may begin: all pods are known and so is what is attached. */
bool reconcile_may_unmount(const struct agent *a);

/* --- operate.c, attach.c, mount.c, unmount.c: what is done to a volume, each an operation of its own --- */

void volume_mark_unattachable(struct node_volume *v); /* at once */
void operate_verify(struct agent *a, struct node_volume *v);
void operate_attach(struct agent *a, struct node_volume *v);
/* Or maps a block volume. False when it is not its time. */
bool operate_mount(struct node_mount *m);
void operate_unmount(struct node_mount *m);
void operate_unmount_device(struct agent *a, struct node_volume *v);
void operate_detach(struct agent *a, struct node_volume *v);
void operate_grow(struct node_mount *m);
/* A volume that could not be reconstructed: its plugin is asked to take it away, once. */
void operate_force_unmount(struct agent *a, const char *plugin, const char *name, const char *pod_uid);
/* What workers have to say. A timer's callback. */
void operate_tell_warnings(void *agent);
/* All that run are dropped: for the end of the agent. */
void operate_cancel_all(struct agent *a);

/* The key of what is done for the pod, or with NULL for all. */
struct operation_key volume_key(const struct node_volume *v, const struct node_pod *p);

/* --- wait.c: what a pod waits for --- */

enum volumes_state {
    VOLUMES_READY,   /* all that its containers use are there */
    VOLUMES_WAITING, /* some are on their way */
    VOLUMES_FAILED,  /* some cannot even be wanted: p->errors says why */
};
enum volumes_state pod_volumes_state(const struct node_pod *p);
/* `unmounted volumes=[a b], unattached volumes=[], failed to process volumes=[]: CAUSE`, lists sorted. */
void pod_volumes_words(const struct node_pod *p, const char *cause, struct buf *out);
/* The mount that the pod calls so, if it is wanted; NULL. */
struct node_mount *pod_mount_named(const struct node_pod *p, const char *outer_name);
/* Nothing of the pod's volumes is there or may be. */
bool pod_is_unmounted(const struct node_pod *p);
/* True for a volume that a container of the pod uses: in *ret_is_block, as a device. */
bool pod_uses_volume(const struct pod *p, const char *outer_name, bool *ret_is_mounted, bool *ret_is_block);

#endif
