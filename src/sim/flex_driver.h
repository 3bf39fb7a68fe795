/* A FlexVolume driver, as a model: a program that the plugin runs on each node, and on the machine of the
 * controllers for attaching. What it may not be asked for it complains of. */
#ifndef BERTH_SIM_FLEX_DRIVER_H
#define BERTH_SIM_FLEX_DRIVER_H

#include "sim/storage.h"

#define FLEX_DRIVER "example.com/flex"

struct flex_program {
    struct sim_storage *storage;
    struct machine *machine;
    bool attaches;       /* else it mounts where a pod has the volume */
    bool mounts_devices; /* else the node does */
    bool is_slow;        /* it is not ready, as a rule, when it is asked for the first time */
};

/* Installs the program on its machine, where it stays. */
void flex_program_install(struct flex_program *p);

#endif
