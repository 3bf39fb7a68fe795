/* Desired and actual state of attachments: one record per pair of volume and node.
 *
 * A pair exists while pods need the volume on the node, while the volume is or may be attached, or while an
 * operation runs. A volume exists while it has pairs; a node while it has pairs or its Node exists. Maps and
 * arrays are sorted by name, so that passes are deterministic. */
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

/* True if the volume may be attached to several nodes at once; also if its spec is unknown. */
bool attach_spec_is_shared(const struct held_spec *s);

/* --- The records --- */

enum pair_state { PAIR_DETACHED, PAIR_UNCERTAIN, PAIR_ATTACHED, PAIR_STATE_COUNT };

struct attach_pair {
    struct attach_volume *volume;
    struct attach_node *node;

    /* Desired state: wanted while pods is not empty. */
    struct held_spec wanted; /* spec of the first pod */
    VEC(struct object *) pods;
    bool is_multi_attach_reported; /* event recorded for an exclusive volume attached elsewhere */
    uint64_t tried;                /* value of attach.changes at the last attach attempt; 0: never */

    /* Actual state. */
    enum pair_state state;
    char *device;           /* NULL for "" */
    bool is_assumed_in_use; /* until the node has reported its volumes in use */
    bool is_detach_requested;
    uint64_t detach_requested_ns;
    struct timer unmount_timer; /* time that the node has for unmounting */

    /* Whether the node's status lists it; `report` is the number of the first report with that value. */
    bool is_reported;
    bool was_reported; /* since it was last known to be detached */
    uint64_t report;

    bool is_busy;     /* an operation is running */
    bool is_verified; /* a verification is running */
    uint64_t changes; /* value of attach.changes at the last state change */
};

struct attach_volume {
    TAILQ_ENTRY(attach_volume) link; /* in the list of marked volumes */
    struct attach *attach;
    VEC(struct attach_pair *) pairs; /* sorted by node name */
    struct held_spec spec;           /* of the attached volume; may be unknown after a restart */
    struct timer retry;
    bool is_marked;
    struct metric *wanted_count; /* NULL: not counted */
    struct metric *actual_count;
    char *label; /* for metrics: "kubernetes.io/csi:DRIVER", or the plugin's name */
    char name[];
};

struct attach_node {
    TAILQ_ENTRY(attach_node) link; /* in the list of nodes whose status must be written */
    struct attach *attach;
    VEC(struct attach_pair *) pairs; /* sorted by volume name */
    VEC(char *) in_use;              /* as the node last reported; sorted */
    bool is_in_use_old;              /* no memory for the last reported list */
    bool is_managed;                 /* it has the annotation that this controller attaches for it */
    bool exists;

    /* Reports, the contents of the node's status, are numbered: each change increments the number. */
    uint64_t report;
    uint64_t acknowledged;
    uint64_t sent;
    bool is_marked;
    bool may_match;            /* the status may be right already: compare before writing */
    bool has_annotation;       /* its annotation was written or found */
    bool is_unwritten;         /* not written by this process yet: lists what others attached */
    bool may_have_stale_write; /* an earlier write, by any process, may still take effect */
    bool is_fence_requested;   /* a detach waits until it cannot */
    bool was_reread;           /* after a conflict */
    struct object *known;      /* from the last answer; NULL: the cache is newer */
    struct api_write write;
    struct timer retry;
    uint64_t retry_ns;

    char name[];
};

/* --- All records --- */

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
/* Both create what does not exist. NULL without memory. */
struct attach_node *attach_state_node_get(struct attach *a, const char *name);
struct attach_pair *attach_pair_get(struct attach *a, const char *volume, const char *node);
/* Frees it if it is no longer needed, and then its volume and node. */
void attach_pair_settle(struct attach_pair *p);
void attach_state_node_settle(struct attach_node *n);

/* Marks the volume for the next pass, or at a given time; or all volumes of a node; or all volumes. */
void attach_state_mark(struct attach_volume *v);
void attach_state_mark_at(struct attach_volume *v, uint64_t at_ns);
void attach_state_mark_node(struct attach_node *n);
void attach_state_mark_all(struct attach *a);

static inline bool pair_is_wanted(const struct attach_pair *p)
{
    return p->pods.count > 0;
}
/* The index of the pod in p->pods; their number if it is not there. */
size_t pair_find_pod(const struct attach_pair *p, const char *uid);

/* --- Desired state --- */

/* ERR_NOT_FOUND: the node is not managed. The first pod determines the spec. */
int attach_state_want(struct attach *a, const char *node, const char *volume, const struct held_spec *spec,
                      const struct object *pod, struct error *err);
/* Removes the pod from all pairs of the node. */
void attach_state_forget_pod(struct attach *a, const char *node, const char *pod_uid);
/* Removes all pods. May free the pair. */
void attach_state_unwant(struct attach_pair *p);
/* Removes one pod by its index. May free the pair. */
void attach_state_unwant_pod(struct attach_pair *p, size_t index);

/* --- Actual state --- */

/* spec NULL: unknown. Takes over device; NULL for none. */
void attach_state_set_attached(struct attach_pair *p, const struct held_spec *spec, char *device);
void attach_state_set_uncertain(struct attach_pair *p, const struct held_spec *spec);
/* May free the pair. */
void attach_state_set_detached(struct attach_pair *p);
/* Adds it to the node's status, or removes it. */
void attach_state_report(struct attach_pair *p, bool is_reported);
/* The server has a report without the pair, and no earlier write can revert that. */
bool attach_state_is_unreported(const struct attach_pair *p);

/* Stores the list that the node reports. On ERR_NO_MEMORY nothing changes. */
int attach_state_set_in_use(struct attach_node *n, struct texts volumes);
/* The node reports the same list as before. */
void attach_state_confirm_in_use(struct attach_node *n);
bool attach_state_is_in_use(const struct attach_pair *p);

/* NULL if volumes, nodes, pairs, marks and report numbers are consistent, else what is wrong. For the
 * simulator. */
const char *attach_state_check(const struct attach *a);

#endif
