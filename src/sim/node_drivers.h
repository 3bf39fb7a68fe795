/* The drivers of the scenarios node and attach, CSI and FlexVolume: their storages, their parts on the
 * machines, volumes and claims of theirs, and what must be left of them in the end. */
#ifndef BERTH_SIM_NODE_DRIVERS_H
#define BERTH_SIM_NODE_DRIVERS_H

#include "sim/csi_driver.h"
#include "sim/flex_driver.h"

#define DRIVERS_VOLUMES 3 /* of each kind */
#define DRIVERS_HEADS_MAX 2
#define DRIVERS_BLOCK 1 /* the CSI volume that is raw blocks, if any is */

struct node_drivers {
    struct sim *sim;
    struct sim_storage disks;  /* of CSI: volumes "d0", …, claims "cd0", … */
    struct sim_storage shares; /* of FlexVolume: "f0", …, "cf0", … */
    struct sim_csi_driver csi[STORAGE_NODES_MAX];
    struct flex_program flex[STORAGE_NODES_MAX];
    struct flex_program heads[DRIVERS_HEADS_MAX]; /* on the machines of controllers */
    unsigned heads_count;
    struct store_watcher watcher;
    struct sim_mark checked;
    const char *root; /* of the agents */
    bool is_csi_only; /* node_drivers_init_csi() */
    bool has_stages;  /* csi_driver.h */
    bool needs_attaching;
    bool flex_attaches; /* flex_driver.h */
    bool flex_mounts_devices;
    bool flex_is_slow;
    bool grows;       /* claims of CSI are grown; an external resizer is there */
    bool republishes; /* CSIDriver.spec.requiresRepublish */
};

void node_drivers_init(struct node_drivers *drivers, struct sim *s, const char *root);
/* Instead of node_drivers_init(): only a CSI driver, which needs attaching, for so many volumes, "d0", … The
 * scenario makes them and their claims itself, and may delete Nodes. */
void node_drivers_init_csi(struct node_drivers *drivers, struct sim *s, const char *root, unsigned volumes);
/* Before controllers start on their machine: it gets the program for attaching. */
void node_drivers_add_head(struct node_drivers *drivers, struct machine *m);
/* Before the node's agent starts. */
void node_drivers_add(struct node_drivers *drivers, struct machine *m);
/* After all nodes were added. */
void node_drivers_begin(struct node_drivers *drivers);
void node_drivers_end(struct node_drivers *drivers);

/* Pods get the claim's volume as a device. */
bool node_drivers_is_block(const struct node_drivers *drivers, const char *claim);
/* Somebody asks for more. */
void node_drivers_grow(struct node_drivers *drivers);

/* After each step: nothing is mounted that its node does not report as in use. */
void node_drivers_check(struct node_drivers *drivers);
/* True when the pod waits for a volume that another node keeps: for a pod, or because it cannot reconstruct it.
 */
bool node_drivers_must_wait(struct node_drivers *drivers, const struct object *pod);
/* Nothing is left of what no pod of a node has. */
int node_drivers_settled(struct node_drivers *drivers, struct error *err);

#endif
