/* The life of a pod on this node, as far as its volumes are concerned: from the moment its volumes are
 * wanted to the one where nothing of it is left.
 *
 *   volumes   they are brought; what keeps them is told in an event when it takes too long
 *   prepare   parts of volumes (subPath) are bound, and the state file is written: pods/UID/berth.json
 *   setup     the hook starts what runs in it; without a hook nothing to do
 *   ready     the condition volumes.berth.io/ready is True; back to volumes when a mount is lost
 *   teardown  the pod is being deleted, has ended or is gone: the hook ends what runs; then, and once no
 *             container is reported to run, is_over is set: the volumes may go
 *   cleanup   the volumes are gone: the directory is removed, and the pod, if it is being deleted, too
 *
 * All of it can begin anew after a crash: the state file says whether the hook was called. Nothing happens
 * before the directories were read (has_scanned), and nothing to a pod that the server has not told of before
 * all pods are known (has_pods): the agent has every pod looked at when either comes. */
#ifndef BERTH_NODE_POD_LIFE_H
#define BERTH_NODE_POD_LIFE_H

#include "base/error.h"
#include "base/str.h"
#include "io/loop.h"
#include "machinery/write.h"
#include "node/state_file.h"
#include "node/wait_log.h"

struct node_pod;
struct job;
struct process;

/* How long volumes may take before the pod's people are told, each time. */
#define POD_WAIT_NS (123 * NS_PER_S)
/* … and before the pod's condition says so: most are there sooner, and need no word. */
#define POD_WAIT_QUIET_NS (1 * NS_PER_S)
/* After a failure: from, doubled up to. */
#define POD_RETRY_NS (10 * NS_PER_S)
#define POD_RETRY_NS_MAX (300 * NS_PER_S)

/* A part of a volume (subPath) that is bound for a container. */
struct pod_part {
    char *volume; /* as the pod calls it */
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
    POD_REASON_NONE, /* nothing is to be said yet */
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
    bool is_over;        /* nothing runs any more: its volumes may be taken away */
    bool is_set_up;      /* the hook's setup was begun, now or before a restart: its teardown is owed */
    bool is_clean;       /* its directory is gone */
    bool is_sent;        /* the server was asked to remove it, and agreed */
    bool has_asked;      /* its files were read again for the teardown */
    bool has_lost_state; /* its state file cannot be read */

    struct job *job; /* prepares, writes, or cleans up; NULL */
    struct process *hook;
    struct timer timer; /* of the wait for volumes, and of tries after failures */
    struct deferred look;
    unsigned failures;   /* in a row, of this stage */
    uint64_t waiting_ns; /* since when the volumes are waited for */
    uint32_t containers; /* so many were prepared */
    struct pod_parts parts;
    char *missing;        /* what was not there when it was prepared, in words; NULL for nothing */
    bool has_lost_part;   /* one of them was unmounted by another program */
    uint64_t ready_look;  /* so many looks at the mount table had begun when they were bound: mount_check.h */
    struct wait_log wait; /* for its volumes */
    char *told_words;     /* of the last event about volumes that cannot be wanted, */
    unsigned told_round;  /* and of which of populate's tries */

    struct pod_state state;  /* the state file */
    struct object *manifest; /* of pod.json, where the pod's object is not known */

    /* What the condition says: pod_tell.c's. */
    enum pod_reason reason;
    char *message;
    enum pod_reason said; /* the one that the server has */
    bool has_written;     /* the condition was written by this process */
    unsigned refusals;
    struct api_write write; /* of the status, or of the pod's end */
    struct timer again;     /* the next try to write it */

    struct api_write room; /* pod_room.c's: of the attachment of */
    unsigned room_at;      /* the so-manieth volume that waits */
};

void pod_life_init(struct node_pod *p);
/* Ends what it has under way and tells nobody. */
void pod_life_done(struct node_pod *p);
/* Something of the pod or its volumes changed: looked at once this turn is over. */
void pod_life_look(struct node_pod *p);
/* What its state file said before a restart; "" for none. One that is damaged counts as unreadable. */
void pod_life_restore(struct node_pod *p, struct str state);
/* There is a state file that cannot be read: the hook counts as called, so that the volumes stay until its
 * teardown went well. */
void pod_life_restore_unreadable(struct node_pod *p, const char *why);

#endif
