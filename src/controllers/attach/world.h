/* The two worlds in one: for each volume and node what is wanted, and what is.
 *
 * A pair is there while pods want the volume on the node, while it is or may be attached, or while something
 * is being done about it. Volumes and nodes are there while they have pairs; a node also while it exists.
 * All of it is in the order of names. */
#ifndef BERTH_CONTROLLERS_ATTACH_WORLD_H
#define BERTH_CONTROLLERS_ATTACH_WORLD_H

#include <sys/queue.h>

#include "base/omap.h"
#include "base/vec.h"
#include "client/client.h"
#include "io/loop.h"
#include "plugins/plugin.h"

struct attach;
struct metric;

/* --- Specs that are kept --- */

/* object: the PersistentVolume, or the pod whose volume it is; NULL: no spec. */
struct spec_ref {
    struct volume_spec spec;
    struct object *object;
};

void spec_ref_set(struct spec_ref *to, const struct spec_ref *from);
void spec_ref_done(struct spec_ref *s);
static inline void spec_ref_done_p(struct spec_ref *s)
{
    spec_ref_done(s);
}
/* For texts: "nil" for none. */
const char *spec_ref_name(const struct spec_ref *s);
/* The volume may be attached to several nodes at once. Without a spec nobody knows, and it may. */
bool spec_ref_is_shared(const struct spec_ref *s);

/* --- The records --- */

enum pair_state { PAIR_DETACHED, PAIR_UNCERTAIN, PAIR_ATTACHED, PAIR_STATE_COUNT };

struct world_pair {
    struct world_volume *volume;
    struct world_node *node;

    /* Wanted: while there are pods. */
    struct spec_ref wanted; /* of the first pod */
    VEC(struct object *) pods;
    bool is_refusal_told; /* of an exclusive volume that is elsewhere */

    /* Is. */
    enum pair_state state;
    char *device;           /* NULL for "" */
    bool is_assumed_in_use; /* until the node has spoken */
    bool is_detach_asked;
    uint64_t detach_asked_ns;
    struct timer patience; /* the wait for the node to unmount */

    /* Said of it in the node's status; `report` is the number of the report that says so first. */
    bool is_reported;
    uint64_t report;

    bool is_busy;     /* an operation has it */
    bool is_verified; /* being looked at */
    uint64_t changes; /* of its state */
};

struct world_volume {
    TAILQ_ENTRY(world_volume) link; /* among those to be looked at */
    struct attach *attach;
    VEC(struct world_pair *) pairs; /* by the names of nodes */
    struct spec_ref spec;           /* of what is attached; may be unknown after a restart */
    struct timer retry;
    bool is_marked;
    struct metric *wanted_count; /* NULL: nothing is counted */
    struct metric *actual_count;
    char *label; /* of metrics: "kubernetes.io/csi:DRIVER", or the plugin's name */
    char name[];
};

struct world_node {
    TAILQ_ENTRY(world_node) link; /* among those whose status is to be written */
    struct attach *attach;
    VEC(struct world_pair *) pairs; /* by the names of volumes */
    VEC(char *) in_use;             /* as the node said last; sorted */
    bool is_managed;                /* the controller attaches for it */
    bool exists;

    /* The status: reports are numbered, each change makes another. */
    uint64_t report;
    uint64_t acknowledged;
    uint64_t sent;
    bool is_marked;
    bool may_be_right; /* its status may say so already: compare before writing */
    bool is_doubtful;  /* the last write may or may not have happened */
    struct client_call call;
    struct timer retry;
    uint64_t retry_ns;

    char name[];
};

/* --- The world --- */

struct world {
    struct omap volumes;
    struct omap nodes;
    TAILQ_HEAD(, world_volume) marked_volumes;
    TAILQ_HEAD(, world_node) marked_nodes;
};

void world_init(struct attach *a);
void world_done(struct attach *a);

struct world_node *world_node(const struct attach *a, const char *name);
struct world_volume *world_volume(const struct attach *a, const char *name);
struct world_pair *world_pair(const struct attach *a, const char *volume, const char *node);
/* These make what is not there. NULL without memory. */
struct world_node *world_node_get(struct attach *a, const char *name);
struct world_pair *world_pair_get(struct attach *a, const char *volume, const char *node);
/* Goes if nothing is left of it, and with it its volume and node. */
void world_pair_settle(struct world_pair *p);
void world_node_settle(struct world_node *n);

/* The volume is to be looked at, or will be at a moment; all volumes of the node are. */
void world_mark(struct world_volume *v);
void world_mark_at(struct world_volume *v, uint64_t at_ns);
void world_mark_node(struct world_node *n);
void world_mark_all(struct attach *a);

static inline bool pair_is_wanted(const struct world_pair *p)
{
    return p->pods.count > 0;
}

/* --- Wanted --- */

/* ERR_NOT_FOUND: the node is not managed. A volume that is wanted keeps its first spec, a pod its object. */
int world_want(struct attach *a, const char *node, const char *volume, const struct spec_ref *spec,
               const struct object *pod, struct error *err);
/* None of the node's volumes is wanted by this pod any more. */
void world_forget_pod(struct attach *a, const char *node, const char *pod_uid);
/* Nobody wants it any more. May take the pair away. */
void world_unwant(struct world_pair *p);
/* By its index. May take the pair away. */
void world_unwant_pod(struct world_pair *p, size_t index);

/* --- Is --- */

/* spec NULL: not known. device is taken over; NULL for none. */
void world_set_attached(struct world_pair *p, const struct spec_ref *spec, char *device);
void world_set_uncertain(struct world_pair *p, const struct spec_ref *spec);
/* May take the pair away. */
void world_set_detached(struct world_pair *p);
/* In the node's status, or not. */
void world_report(struct world_pair *p, bool is_reported);
/* The server has the last report in which the pair was taken out. */
bool world_is_unreported(const struct world_pair *p);

/* As the node says. ERR_NO_MEMORY: it stays as it was. */
int world_set_in_use(struct world_node *n, struct texts volumes);
bool world_is_in_use(const struct world_pair *p);

#endif
