/* The drivers of the scenarios node and attach, CSI and FlexVolume: storages, processes and programs on the
 * machines, volumes and claims, invariants, and the expected final state. */
#ifndef BERTH_SIM_NODE_DRIVERS_H
#define BERTH_SIM_NODE_DRIVERS_H

#include "sim/csi_driver.h"
#include "sim/flex_driver.h"

#define DRIVERS_VOLUMES 3 /* per driver */
#define DRIVERS_PLANES_MAX 2
#define DRIVERS_BLOCK 1 /* the CSI volume that may be a raw block volume */

struct node_drivers {
    struct sim *sim;
    struct sim_storage disks;  /* of CSI: volumes "d0", …, claims "cd0", … */
    struct sim_storage shares; /* of FlexVolume: "f0", …, "cf0", … */
    struct sim_csi_driver csi[STORAGE_NODES_MAX];
    struct flex_program flex[STORAGE_NODES_MAX];
    struct flex_program planes_flex[DRIVERS_PLANES_MAX]; /* on the machines of controllers */
    unsigned planes_count;
    struct store_watcher watcher;
    struct sim_mark checked;
    const char *root; /* of the agents */
    bool is_csi_only; /* node_drivers_init_csi() */
    bool has_stages;  /* csi_driver.h */
    bool needs_attaching;
    bool flex_attaches; /* flex_driver.h */
    bool flex_mounts_devices;
    bool flex_is_slow;
    bool expands_claims; /* CSI claims are expanded, by an external resizer */
    bool republishes;    /* CSIDriver.spec.requiresRepublish */
};

void node_drivers_init(struct node_drivers *drivers, struct sim *s, const char *root);
/* Instead of node_drivers_init(): only a CSI driver that requires attach, with so many volumes, "d0", … The
 * scenario creates PersistentVolumes and claims itself, and may delete Nodes. */
void node_drivers_init_csi(struct node_drivers *drivers, struct sim *s, const char *root, unsigned volumes);
/* Adds a machine of controllers, before they start: installs the FlexVolume program. */
void node_drivers_add_plane(struct node_drivers *drivers, struct machine *m);
/* Adds a node, before its agent starts. */
void node_drivers_add(struct node_drivers *drivers, struct machine *m);
/* Starts the drivers, after all nodes were added. */
void node_drivers_begin(struct node_drivers *drivers);
void node_drivers_end(struct node_drivers *drivers);

/* True if the claim is for a raw block volume. */
bool node_drivers_is_block(const struct node_drivers *drivers, const char *claim);
/* Expands the request of a random claim. */
void node_drivers_expand_claim(struct node_drivers *drivers);

/* Checks that every mounted volume is reported as in use. Called after each step. */
void node_drivers_check(struct node_drivers *drivers);
/* True if the pod has to wait for a volume that another node keeps: for a pod, or because its agent cannot
 * reconstruct the mount. */
bool node_drivers_must_wait(struct node_drivers *drivers, const struct object *pod);
/* 0 if volumes that no pod uses are unmounted, detached and not reported, and expansions are complete. */
int node_drivers_settled(struct node_drivers *drivers, struct error *err);

#endif
