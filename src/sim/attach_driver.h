/* The model of an external attacher, and its interface to the storage. */
#ifndef BERTH_SIM_ATTACH_DRIVER_H
#define BERTH_SIM_ATTACH_DRIVER_H

#include <stdbool.h>

#include "sim/sim_world.h"

#define ATTACH_NODES_MAX 6
#define ATTACH_VOLUMES_MAX 6
#define ATTACH_NAME_BYTES 80

/* Names of host operations: the storage attaches a volume to a node, or detaches it. */
#define ATTACH_DO "attach"
#define ATTACH_UNDO "detach"

/* Nodes are named "n0", "n1", …; volumes have their own prefix. */
struct attach_driver_options {
    unsigned nodes;
    unsigned volumes;
    char volume_prefix;
    const char *finalizer;
    bool (*is_attached)(void *ctx, unsigned node, unsigned volume);
    /* True if the storage would refuse to attach it there: another node has it. */
    bool (*is_refused)(void *ctx, unsigned node, unsigned volume);
    /* Writes the name of the next host operation. */
    void (*name_op)(void *ctx, unsigned node, unsigned volume, char to[static ATTACH_NAME_BYTES]);
    void *ctx;
};

/* ctx: struct attach_driver_options. */
extern const struct sim_program attach_driver_program;

/* Parses "v2". False if the prefix differs or the number is not below count. */
bool attach_number(const char *name, char prefix, unsigned count, unsigned *ret);

#endif
