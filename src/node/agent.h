/* The node agent: the volumes of the pods on this machine, brought before they start, kept while they run,
 * taken away after them, whatever crashes in between.
 *
 * It keeps, for every volume, what is wanted and what is (world.h), and makes the second the first
 * (reconcile.c). What is wanted follows from the pods (populate.c); what is, from its own work and after a
 * restart from the directories below its root (reconstruct.h). Everything is decided on the loop; what blocks
 * runs on the pool. It is driven by events: where nothing changes nothing is done. */
#ifndef BERTH_NODE_AGENT_H
#define BERTH_NODE_AGENT_H

#include "api/object.h"
#include "io/pool.h"
#include "machinery/parts.h"
#include "machinery/pending_operations.h"
#include "plugins/registry.h"

/* How often a pod is looked at without a cause: its claims may have grown, its tokens aged. */
#define AGENT_SYNC_NS (60 * NS_PER_S)

struct agent;

struct agent_options {
    struct part_options part; /* informers are not used: the agent has its own, of this node alone */
    struct pool *pool;
    struct plugin_registry *plugins; /* of a node; borrowed */
    const char *name;                /* of the node */
    const char *root;                /* made if it is missing; links are followed to it, never below it */
    const struct guard_dirs *dirs;   /* never given to a group; NULL for none. Outlives the pool */
    const char *commands_path;       /* the PATH of mount, mkfs, …; NULL: the system's */
    const char *hook;                /* a command that runs pods; NULL: somebody else does, or nobody */
    const char *static_pods;         /* a directory of manifests; NULL for none */
    const char *cannot_mount;        /* why nothing can be mounted; NULL: it can. Outlives the agent */
    uint64_t sync_ns;                /* 0: AGENT_SYNC_NS */
    bool attaches_itself;            /* volumes of this node are not the controller's to attach */
    bool streams_lists;              /* informer.h */
};

int agent_new(const struct agent_options *o, struct agent **ret, struct error *err);
/* Sends nothing. What workers do is told to end (io/job.h); mounts stay. Takes NULL. */
struct agent *agent_free(struct agent *a);
DEFINE_CLEANUP(struct agent, agent_free)

/* Looks at what is on disk, hears of its pods, registers the node, begins. */
void agent_start(struct agent *a);

/* 0 when the node is registered and knows its pods; else what it waits for. */
int agent_check(const struct agent *a, struct error *err);

/* How much of each volume is used, as JSON: what /stats/volumes answers. */
void agent_write_stats(const struct agent *a, struct buf *out);

/* A volume of a pod that its containers use and that is not mounted yet, or that a pod that ends still has
 * mounted; texts are borrowed. */
struct agent_wait {
    const char *volume;    /* as the pod calls it; "" for what concerns the whole pod */
    const char *waits_for; /* a step that others take; "" for none */
    bool is_unmount;       /* the pod ends: the volume is still to be unmounted */
    struct operation_state op;
};
typedef void agent_wait_fn(void *ctx, const struct agent_wait *w);
/* What the pod waits for on this node, in the order of its volumes: for explanations. False when the pod is
 * not known here. */
bool agent_each_wait(const struct agent *a, const char *pod_uid, agent_wait_fn *fn, void *ctx);

#endif
