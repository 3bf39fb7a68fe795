/* The model of the node part of a CSI driver: a process with two sockets, one for the registrar of the node
 * agent and one for the Node service.
 *
 * It mounts and unmounts on its simulated machine. Its calls are idempotent, and its only state is the mount
 * table, so it can be killed at any time. A call that the protocol forbids fails the run: staging a volume
 * that is not attached, publishing one that is not staged, unstaging a published one, other arguments for the
 * same path. */
#ifndef BERTH_SIM_CSI_DRIVER_H
#define BERTH_SIM_CSI_DRIVER_H

#include <rpc/proto/csi.pb-c.h>

#include "sim/machine_rpc.h"
#include "sim/storage.h"

#define CSI_DRIVER "disk.example.com"
#define CSI_ZONE_KEY "disk.example.com/zone"
#define CSI_FINALIZER "external-attacher/disk-example-com"

/* The arguments of a stage or publish call, by path, until the volume is unstaged or unpublished. */
struct csi_use {
    TAILQ_ENTRY(csi_use) link;
    char arguments[256];
    char path[];
};

struct sim_csi_driver {
    struct sim_storage *storage;
    struct machine *machine;
    unsigned node;    /* its number in the storage */
    const char *root; /* the root directory of the agent */
    bool has_stages;  /* it has the stage capability; otherwise it mounts when it publishes */
    const char *zone; /* where its machine is, as CSI_ZONE_KEY; NULL: anywhere */

    /* Set by csi_driver_begin(): */
    struct sim_process *process;
    struct machine_peer *registration;
    struct machine_peer *service;
    TAILQ_HEAD(, csi_use) uses;
    uint64_t boots; /* of the machine when `uses` was started */
};

/* Starts the process. The first fields are set by the caller. */
void csi_driver_begin(struct sim_csi_driver *d);
void csi_driver_end(struct sim_csi_driver *d);

/* --- csi_service.c: the Node service --- */

/* The topology of one zone. */
struct csi_zone {
    Csi__V1__Topology topology;
    Csi__V1__Pair pair;
    Csi__V1__Pair *segments[1];
};
void csi_zone_init(struct csi_zone *z, const char *zone);

extern const struct machine_peer_type csi_service_type; /* ctx: the driver */
/* Forgets all arguments, as after a reboot. */
void csi_uses_forget(struct sim_csi_driver *d);

#endif
