/* The life of a pod on this node, as far as its volumes are concerned: from the first wanted volume to the
 * removal of its directory.
 *
 *   volumes   volumes are mounted; an event reports the reason when that takes too long
 *   prepare   subPath mounts are bound, and the state file pods/UID/berth.json is written
 *   setup     the hook starts the containers; skipped without a hook. Back to volumes when a mount is lost
 *             while no hook runs
 *   ready     the condition volumes.berth.io/ready is True; back to volumes when a mount is lost
 *   teardown  the pod is being deleted, has terminated or no longer exists: the state file says not ready,
 *             and the hook stops the containers; once no container is reported as running, is_over is set
 *   cleanup   the state file says not ready, and the volumes are unmounted; then the directory is removed,
 *             and the pod, if it is being deleted
 *
 * The state file says ready only while every mount that it lists exists. A mount that was there before a
 * restart counts as existing until it is found to be lost (ready_files.h).
 *
 * Every stage can be repeated after a crash: the state file records whether the hook was called. Nothing
 * happens before the directories were read (has_scanned), and pods that the server has not listed are left
 * unchanged until all pods are listed (has_pods); the agent syncs every pod at both times. */
#ifndef BERTH_NODE_POD_LIFE_H
#define BERTH_NODE_POD_LIFE_H

#include "base/error.h"
#include "base/str.h"
#include "io/loop.h"
#include "machinery/api_write.h"
#include "node/state_file.h"
#include "node/wait_log.h"

struct agent;
struct node_pod;
struct job;
struct process;

/* How long volumes may take before an event is recorded, and between two such events. */
#define POD_WAIT_NS (123 * NS_PER_S)
/* How long before the pod's condition reports the wait: most volumes are mounted earlier. */
#define POD_WAIT_QUIET_NS (1 * NS_PER_S)
/* Retry delay after failures: initial value, doubled up to the maximum. */
#define POD_RETRY_NS (10 * NS_PER_S)
#define POD_RETRY_NS_MAX (300 * NS_PER_S)

/* A subPath mount of a container. */
struct pod_part {
    char *volume; /* its name in the pod */
    char *path;   /* where */
};
struct pod_parts {
    struct pod_part *items;
    uint32_t count;
};
void pod_parts_done(struct pod_parts *p);

enum pod_stage {
    POD_STAGE_VOLUMES,
    POD_STAGE_PREPARE,
    POD_STAGE_SETUP,
    POD_STAGE_READY,
    POD_STAGE_TEARDOWN,
    POD_STAGE_CLEANUP,
    POD_STAGE_COUNT,
};
bool pod_stage_may_follow(enum pod_stage from, enum pod_stage next);

/* Why the condition volumes.berth.io/ready is as it is: True for the first, False for the others. */
enum pod_reason {
    POD_REASON_NONE, /* not known yet */
    POD_REASON_READY,
    POD_REASON_WAITING,
    POD_REASON_VOLUMES_FAILED,
    POD_REASON_PREPARE_FAILED,
    POD_REASON_HOOK_FAILED,
    POD_REASON_LIMIT_EXCEEDED, /* the pod has failed for it */
    POD_REASON_COUNT,
};

struct pod_life {
    enum pod_stage stage;
    bool is_over;        /* no container runs: no volume is wanted (pod_may_be_unmounted()) */
    bool is_set_up;      /* the hook's setup was started, now or before a restart: a teardown is required */
    bool is_clean;       /* its directory is removed */
    bool is_sent;        /* the server accepted the deletion */
    bool has_read_files; /* its files were read again for the teardown */
    bool has_lost_state; /* its state file cannot be read */

    struct job *job; /* prepares, writes, or cleans up; NULL */
    struct process *hook;
    struct timer timer; /* of the wait for volumes, and of retries */
    struct deferred sync;
    unsigned failures;   /* consecutive, of this stage */
    uint64_t waiting_ns; /* start of the wait for volumes */
    uint32_t containers; /* number of prepared containers */
    struct pod_parts parts;
    char *missing;           /* missing hostPaths found by the preparation, as a text; NULL for none */
    bool has_lost_mount;     /* a mount that the state file lists may not exist */
    bool says_ready;         /* the state file on disk says ready, or may do so after a failed write */
    bool failed_to_withdraw; /* the last write that should have changed this failed */
    uint64_t ready_snapshot; /* snapshots_begun when they were bound: mount_check.h */
    struct wait_log wait;    /* for its volumes */
    char *reported_cause;    /* of the last event about volumes that cannot be processed, */
    unsigned reported_round; /* and the populate round of that event */

    struct pod_state state;  /* the state file */
    struct object *manifest; /* from pod.json, when the pod's object is unknown */

    /* The condition, maintained by pod_report.c. */
    enum pod_reason reason;
    char *message;
    enum pod_reason written_reason; /* the reason that the server has */
    bool has_written;               /* the condition was written by this process */
    unsigned refusals;
    struct api_write write; /* of the status, or the pod's deletion */
    struct timer again;     /* retry of the write */

    struct api_write limit_read; /* pod_capacity.c: reads the attachment of */
    unsigned limit_volume;       /* the n-th volume that is not attached */
};

void pod_life_init(struct node_pod *p);
/* At the end of the agent: kills the hooks of all pods, and waits once for those that the kernel holds. */
void pod_life_drop_hooks(struct agent *a);
/* Ends everything in progress without calling back. */
void pod_life_done(struct node_pod *p);
/* No container runs, and the state file does not say ready. */
bool pod_may_be_unmounted(const struct node_pod *p);
/* The pod or one of its volumes changed: runs the stage at the end of this loop iteration. */
void pod_life_sync(struct node_pod *p);
/* The text of its state file before a restart; "" for none. An invalid one counts as unreadable. */
void pod_life_restore(struct node_pod *p, struct str state);
/* The state file exists and cannot be read: the hook counts as called, so that the volumes stay mounted until
 * its teardown succeeds. */
void pod_life_restore_unreadable(struct node_pod *p, const char *why);

#endif
