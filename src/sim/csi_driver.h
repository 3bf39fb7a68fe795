/* The part of a CSI driver that runs on a node, as a model: a process of its own behind two sockets, one for
 * the registrar of the node's agent and one for the Node service.
 *
 * It mounts and unmounts on its machine for real, repeats what it is asked twice, and keeps no state but the
 * mount table, so that it may be killed at any time. What the agent may not ask for it complains of: staging
 * what is not attached, publishing what is not staged, unstaging what is published, other arguments for the
 * same path. */
#ifndef BERTH_SIM_CSI_DRIVER_H
#define BERTH_SIM_CSI_DRIVER_H

#include "sim/machine_rpc.h"
#include "sim/storage.h"

#define CSI_DRIVER "disk.example.com"
#define CSI_FINALIZER "external-attacher/disk-example-com"

/* What the agent asked for at a path, until it asks to take it away. */
struct csi_use {
    TAILQ_ENTRY(csi_use) link;
    char arguments[256];
    char path[];
};

struct sim_csi_driver {
    struct sim_storage *storage;
    struct machine *machine;
    unsigned node;    /* in the storage */
    const char *root; /* the agent's */
    bool has_stages;  /* else it mounts where it publishes */

    /* The rest is its own. */
    struct sim_process *process;
    struct machine_peer *registration;
    struct machine_peer *service;
    TAILQ_HEAD(, csi_use) uses;
    uint64_t boots; /* of the machine, when uses were noted */
};

/* The first lines are set. */
void csi_driver_begin(struct sim_csi_driver *d);
void csi_driver_end(struct sim_csi_driver *d);

/* --- csi_service.c: the Node service --- */

extern const struct machine_peer_type csi_service_type; /* ctx: the driver */
/* Nothing is known of what was before. */
void csi_uses_forget(struct sim_csi_driver *d);

#endif
