/* The node agent: mounts the volumes of the pods on this machine before they start, keeps them up to date
 * while they run and unmounts them afterwards. It recovers from a crash at any point.
 *
 * For every volume it keeps the desired and the actual state (node_world.h) and reconciles the actual with
 * the desired state (reconcile_volumes.c). The desired state follows from the pods (populate_desired.c); the
 * actual state follows from its own operations and, after a restart, from the directories below its root
 * (reconstruct.h). All decisions are made on the loop; blocking calls run on the pool. The agent is driven by
 * events and does no work while nothing changes. */
#ifndef BERTH_NODE_AGENT_H
#define BERTH_NODE_AGENT_H

#include "api/object.h"
#include "io/pool.h"
#include "machinery/component_deps.h"
#include "machinery/pending_operations.h"
#include "plugins/registry.h"

/* Interval of periodic pod syncs: a claim may have been expanded, a token may need renewal. */
#define AGENT_SYNC_NS (60 * NS_PER_S)

struct agent;
struct csi_configured_driver;
struct csi_endpoints;
struct rpc_client;

struct agent_options {
    struct component_deps part; /* its informers are not used: the agent has its own, limited to this node */
    struct pool *pool;
    struct plugin_registry *plugins; /* of a node; borrowed */
    struct rpc_client *rpc;          /* for CSI drivers; outlives the pool */
    struct csi_endpoints *endpoints; /* for the controllers of CSI drivers; NULL: there are none */
    /* Drivers without a registrar: the agent registers them itself. Outlive the agent. */
    const struct csi_configured_driver *csi_drivers;
    size_t csi_drivers_count;
    const char *name; /* of the node */
    const char *root; /* created if missing; symbolic links are resolved up to it, never below it */
    const struct guard_dirs
        *dirs; /* directories whose group is never changed; NULL for none. Outlives the pool */
    const char *commands_path; /* the PATH of mount, mkfs, …; NULL: the system's */
    const char *hook;          /* the command that runs pods; NULL: another program runs them, or none */
    const char *static_pods;   /* a directory of manifests; NULL for none */
    const char *cannot_mount;  /* why nothing can be mounted; NULL: it can. Outlives the agent */
    uint64_t sync_ns;          /* 0: AGENT_SYNC_NS */
    bool attaches_itself;      /* this node attaches its volumes, not the controller */
    bool streams_lists;        /* informer.h */
};

int agent_new(const struct agent_options *o, struct agent **ret, struct error *err);
/* Sends nothing. Cancels running jobs (io/job.h); mounts stay. Accepts NULL. */
struct agent *agent_free(struct agent *a);
DEFINE_CLEANUP(struct agent, agent_free)

/* Scans the disk, lists the pods, registers the node and starts reconciling. */
void agent_start(struct agent *a);

/* 0 when the node is registered and its pods are listed; otherwise an error that names what is missing. */
int agent_check(const struct agent *a, struct error *err);
/* NULL when the records in memory are consistent, otherwise the violated invariant. For the simulator. */
const char *agent_check_world(const struct agent *a);

/* Writes the usage of each volume as JSON: the response of /stats/volumes. */
void agent_write_stats(const struct agent *a, struct buf *out);

/* A volume that a container of the pod uses and that is not mounted yet, or that a terminating pod still has
 * mounted. Texts are borrowed. */
struct agent_wait {
    const char *volume;    /* the name in the pod; "" for a wait of the whole pod */
    const char *waits_for; /* a step of another component; "" for none */
    bool is_unmount;       /* the pod is terminating: the volume is not unmounted yet */
    struct operation_state op;
};
typedef void agent_wait_fn(void *ctx, const struct agent_wait *w);
/* Calls fn for each wait of the pod on this node, in the order of its volumes. False when the pod is unknown
 * on this node. */
bool agent_each_wait(const struct agent *a, const char *pod_uid, agent_wait_fn *fn, void *ctx);

#endif
