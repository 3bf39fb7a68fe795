/* The storage of a simulated site: volumes, the disks that they are, and which nodes have them attached.
 *
 * This is the truth behind attachers and drivers. What it must never see is a volume that is taken from a
 * node that has it mounted, or is being asked to mount it, unless somebody was entitled to do so by force: it
 * says so itself. An exclusive volume is refused to a second node. */
#ifndef BERTH_SIM_STORAGE_H
#define BERTH_SIM_STORAGE_H

#include "sim/attach_driver.h"
#include "sim/machine.h"

#define STORAGE_NODES_MAX ATTACH_NODES_MAX
#define STORAGE_VOLUMES_MAX ATTACH_VOLUMES_MAX

struct storage_volume {
    struct sim_disk disk; /* named "d0", "d1", …, as the volume */
    bool is_exclusive;
    bool is_block;                     /* pods get the disk itself */
    uint64_t fs_bytes;                 /* what of the disk its file system has: a node lets it grow */
    bool is_barred[STORAGE_NODES_MAX]; /* a node was told that it must not grow while it is in use there */
    bool is_attached[STORAGE_NODES_MAX];
    bool is_told[STORAGE_NODES_MAX];     /* the node heard of it since; for whoever looks after that */
    bool is_forced[STORAGE_NODES_MAX];   /* it may be taken away although it is mounted; until it is attached
                                            again. Set by the scenario */
    unsigned serials[STORAGE_NODES_MAX]; /* of the newest operation */
};

struct sim_storage {
    struct sim *sim;
    char prefix; /* of its volumes' names */
    struct machine *machines[STORAGE_NODES_MAX];
    unsigned nodes;
    struct storage_volume volumes[STORAGE_VOLUMES_MAX];
    unsigned count;
    unsigned serials;
    struct attach_driver_options attacher; /* of the program that serves it */
};

/* The last volume is for many nodes, the others for one at a time. */
void storage_init(struct sim_storage *x, struct sim *s, char prefix, unsigned volumes);
void storage_done(struct sim_storage *x);
/* Gives the node's number. */
unsigned storage_add_node(struct sim_storage *x, struct machine *m);

/* NULL: there is no such volume. */
struct storage_volume *storage_find(struct sim_storage *x, const char *name);
/* False: refused. One that is attached is. */
bool storage_attach(struct sim_storage *x, unsigned node, struct storage_volume *v);
void storage_detach(struct sim_storage *x, unsigned node, struct storage_volume *v);
/* Every node has every volume from now on, without asking. */
void storage_attach_all(struct sim_storage *x);

/* An external attacher for VolumeAttachments of the storage: the host's operations are its own from here on.
 */
struct sim_process *storage_spawn_attacher(struct sim_storage *x, const char *finalizer);

#endif
