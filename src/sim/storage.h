/* The storage backend of a scenario: volumes, their disks, and the nodes that have them attached.
 *
 * This is the true state behind attachers and drivers. Detaching a volume from a node that has it mounted, or
 * whose driver was asked to mount it, fails the run, unless the scenario allows it by force. An exclusive
 * volume cannot be attached to a second node. */
#ifndef BERTH_SIM_STORAGE_H
#define BERTH_SIM_STORAGE_H

#include "sim/attach_driver.h"
#include "sim/machine.h"

#define STORAGE_NODES_MAX ATTACH_NODES_MAX
#define STORAGE_VOLUMES_MAX 24

struct storage_volume {
    struct sim_disk disk; /* has the name of the volume: "d0", "d1", …; "": a place for storage_create() */
    bool is_exclusive;
    bool is_block;                            /* a raw block volume: pods get the disk itself */
    uint64_t fs_bytes;                        /* size of its file system, which a node expands */
    bool is_expand_barred[STORAGE_NODES_MAX]; /* the driver has refused to expand it while in use there */
    bool is_attached[STORAGE_NODES_MAX];
    bool is_reported[STORAGE_NODES_MAX]; /* the Node has listed it as attached; set by node_drivers.c */
    /* May be detached while it is mounted, until it is attached again. Set by the scenario. */
    bool is_forced[STORAGE_NODES_MAX];
    unsigned serials[STORAGE_NODES_MAX]; /* of the newest host operation */
};

struct sim_storage {
    struct sim *sim;
    char prefix; /* of the names of its volumes */
    struct machine *machines[STORAGE_NODES_MAX];
    unsigned nodes;
    struct storage_volume volumes[STORAGE_VOLUMES_MAX];
    unsigned count;
    unsigned serials;
    struct attach_driver_options attacher; /* of the attacher */
};

/* The last volume is shared; the others are exclusive. */
void storage_init(struct sim_storage *storage, struct sim *s, char prefix, unsigned volumes);
void storage_done(struct sim_storage *storage);
/* Returns the number of the node. */
unsigned storage_add_node(struct sim_storage *storage, struct machine *m);

/* A volume that a driver makes, and its removal. NULL: there is no space. */
struct storage_volume *storage_create(struct sim_storage *storage, const char *name, uint64_t bytes,
                                      bool is_exclusive);
void storage_delete(struct sim_storage *storage, struct storage_volume *v);

/* NULL: there is no such volume. */
struct storage_volume *storage_find(struct sim_storage *storage, const char *name);
/* False: refused, because another node has it. True if it is attached already. */
bool storage_attach(struct sim_storage *storage, unsigned node, struct storage_volume *v);
void storage_detach(struct sim_storage *storage, unsigned node, struct storage_volume *v);
/* Attaches every volume to every node, for drivers without attach. */
void storage_attach_all(struct sim_storage *storage);

/* Starts an external attacher for the storage. It uses the callbacks of the host (host.h). */
struct sim_process *storage_spawn_attacher(struct sim_storage *storage, const char *finalizer);

#endif
