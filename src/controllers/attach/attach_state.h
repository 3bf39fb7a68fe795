/* The two worlds in one: for each volume and node what is wanted, and what is.
 *
 * A pair is there while pods want the volume on the node, while it is or may be attached, or while something
 * is being done about it. Volumes and nodes are there while they have pairs; a node also while it exists.
 * All of it is in the order of names. */
#ifndef BERTH_CONTROLLERS_ATTACH_ATTACH_STATE_H
#define BERTH_CONTROLLERS_ATTACH_ATTACH_STATE_H

#include <sys/queue.h>

#include "base/omap.h"
#include "base/vec.h"
#include "client/client.h"
#include "io/loop.h"
#include "machinery/api_write.h"
#include "plugins/held_spec.h"

struct attach;
struct metric;

/* The volume may be attached to several nodes at once. Without a spec nobody knows, and it may. */
bool attach_spec_is_shared(const struct held_spec *s);

/* --- The records --- */

enum pair_state { PAIR_DETACHED, PAIR_UNCERTAIN, PAIR_ATTACHED, PAIR_STATE_COUNT };

struct attach_pair {
    struct attach_volume *volume;
    struct attach_node *node;

    /* Wanted: while there are pods. */
    struct held_spec wanted; /* of the first pod */
    VEC(struct object *) pods;
    bool is_multi_attach_reported; /* of an exclusive volume that is elsewhere */
    uint64_t tried;                /* when an attach last began, counted as changes are; 0: never */

    /* Is. */
    enum pair_state state;
    char *device;           /* NULL for "" */
    bool is_assumed_in_use; /* until the node has spoken */
    bool is_detach_asked;
    uint64_t detach_asked_ns;
    struct timer unmount_timer; /* the wait for the node to unmount */

    /* Said of it in the node's status; `report` is the number of the report that says so first. */
    bool is_reported;
    bool was_reported; /* since it was last known to be detached */
    uint64_t report;

    bool is_busy;     /* an operation has it */
    bool is_verified; /* being looked at */
    uint64_t changes; /* of its state */
};

struct attach_volume {
    TAILQ_ENTRY(attach_volume) link; /* among those to be looked at */
    struct attach *attach;
    VEC(struct attach_pair *) pairs; /* by the names of nodes */
    struct held_spec spec;           /* of what is attached; may be unknown after a restart */
    struct timer retry;
    bool is_marked;
    struct metric *wanted_count; /* NULL: nothing is counted */
    struct metric *actual_count;
    char *label; /* of metrics: "kubernetes.io/csi:DRIVER", or the plugin's name */
    char name[];
};

struct attach_node {
    TAILQ_ENTRY(attach_node) link; /* among those whose status is to be written */
    struct attach *attach;
    VEC(struct attach_pair *) pairs; /* by the names of volumes */
    VEC(char *) in_use;              /* as the node said last; sorted */
    bool is_in_use_old;              /* the node has said more since */
    bool is_managed;                 /* the controller attaches for it */
    bool exists;

    /* The status: reports are numbered, each change makes another. */
    uint64_t report;
    uint64_t acknowledged;
    uint64_t sent;
    bool is_marked;
    bool may_match;            /* its status may say so already: compare before writing */
    bool has_annotation;       /* something was written in its annotation at some time */
    bool is_inherited;         /* this process has not written it: it lists what others attached */
    bool may_have_stale_write; /* one that was sent before, by whomever, may still arrive */
    bool is_fence_requested;   /* … and somebody waits until it cannot */
    bool was_reread;           /* after a conflict */
    struct object *known;      /* as last answered; NULL: the cache knows better */
    struct api_write write;
    struct timer retry;
    uint64_t retry_ns;

    char name[];
};

/* --- The worlds --- */

struct attach_state {
    struct omap volumes;
    struct omap nodes;
    TAILQ_HEAD(, attach_volume) marked_volumes;
    TAILQ_HEAD(, attach_node) marked_nodes;
};

void attach_state_init(struct attach *a);
void attach_state_done(struct attach *a);

struct attach_node *attach_node(const struct attach *a, const char *name);
struct attach_pair *attach_pair(const struct attach *a, const char *volume, const char *node);
/* These make what is not there. NULL without memory. */
struct attach_node *attach_state_node_get(struct attach *a, const char *name);
struct attach_pair *attach_pair_get(struct attach *a, const char *volume, const char *node);
/* Goes if nothing is left of it, and with it its volume and node. */
void attach_pair_settle(struct attach_pair *p);
void attach_state_node_settle(struct attach_node *n);

/* The volume is to be looked at, or will be at a moment; all volumes of the node are. */
void attach_state_mark(struct attach_volume *v);
void attach_state_mark_at(struct attach_volume *v, uint64_t at_ns);
void attach_state_mark_node(struct attach_node *n);
void attach_state_mark_all(struct attach *a);

static inline bool pair_is_wanted(const struct attach_pair *p)
{
    return p->pods.count > 0;
}
/* The index of a pod among those that want it; their count when it does not. */
size_t pair_find_pod(const struct attach_pair *p, const char *uid);

/* --- Wanted --- */

/* ERR_NOT_FOUND: the node is not managed. A volume that is wanted keeps its first spec, a pod its object. */
int attach_state_want(struct attach *a, const char *node, const char *volume, const struct held_spec *spec,
                      const struct object *pod, struct error *err);
/* None of the node's volumes is wanted by this pod any more. */
void attach_state_forget_pod(struct attach *a, const char *node, const char *pod_uid);
/* Nobody wants it any more. May take the pair away. */
void attach_state_unwant(struct attach_pair *p);
/* By its index. May take the pair away. */
void attach_state_unwant_pod(struct attach_pair *p, size_t index);

/* --- Is --- */

/* spec NULL: not known. device is taken over; NULL for none. */
void attach_state_set_attached(struct attach_pair *p, const struct held_spec *spec, char *device);
void attach_state_set_uncertain(struct attach_pair *p, const struct held_spec *spec);
/* May take the pair away. */
void attach_state_set_detached(struct attach_pair *p);
/* In the node's status, or not. */
void attach_state_report(struct attach_pair *p, bool is_reported);
/* The server has the last report in which the pair was taken out, and nothing older can undo that. */
bool attach_state_is_unreported(const struct attach_pair *p);

/* As the node says: what was assumed is known then. ERR_NO_MEMORY: it stays as it was. */
int attach_state_set_in_use(struct attach_node *n, struct texts volumes);
/* The node says the same as before. */
void attach_state_confirm_in_use(struct attach_node *n);
bool attach_state_is_in_use(const struct attach_pair *p);

/* NULL when both worlds fit together, else what does not: pairs linked both ways, states that may be at once,
 * marks, numbers of reports. For the simulator. */
const char *attach_state_check(const struct attach *a);

#endif
