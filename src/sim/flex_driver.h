/* The model of a FlexVolume driver: a program that the plugin runs on each node, and on the machine of the
 * controllers to attach and detach. A call that the protocol forbids fails the run. */
#ifndef BERTH_SIM_FLEX_DRIVER_H
#define BERTH_SIM_FLEX_DRIVER_H

#include "sim/storage.h"

#define FLEX_DRIVER "example.com/flex"

struct flex_program {
    struct sim_storage *storage;
    struct machine *machine;
    bool attaches;       /* it supports attach; otherwise it mounts in the directory of the pod */
    bool mounts_devices; /* it supports mountdevice; otherwise the node mounts the device */
    bool is_slow;        /* init fails often */
};

/* Installs the program on its machine. *p must live as long as the machine. */
void flex_program_install(struct flex_program *p);

#endif
