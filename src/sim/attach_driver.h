/* An external attacher, as a model, and what it needs to know of the storage behind it. */
#ifndef BERTH_SIM_ATTACH_DRIVER_H
#define BERTH_SIM_ATTACH_DRIVER_H

#include <stdbool.h>

#include "sim/sim_world.h"

#define ATTACH_NODES_MAX 6
#define ATTACH_VOLUMES_MAX 6
#define ATTACH_NAME_BYTES 80

/* Of host operations: the storage attaches a volume to a node, or detaches it. */
#define ATTACH_DO "attach"
#define ATTACH_UNDO "detach"

/* Nodes are called "n0", "n1", …, volumes alike. */
struct attach_driver_options {
    unsigned nodes;
    unsigned volumes;
    char volume_prefix;
    const char *finalizer;
    bool (*is_attached)(void *ctx, unsigned node, unsigned volume);
    /* The storage would not attach it there: another node has it. */
    bool (*is_refused)(void *ctx, unsigned node, unsigned volume);
    /* The name of the next host operation. */
    void (*name_op)(void *ctx, unsigned node, unsigned volume, char to[static ATTACH_NAME_BYTES]);
    void *ctx;
};

/* With its options. */
extern const struct sim_program attach_driver_program;

/* Of "v2". False when it is none of that prefix, or too great. */
bool attach_number(const char *name, char prefix, unsigned count, unsigned *ret);

#endif
