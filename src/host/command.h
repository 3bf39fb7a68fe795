/* A command and its end, for functions that run on the pool. Blocks. */
#ifndef BERTH_HOST_COMMAND_H
#define BERTH_HOST_COMMAND_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/error.h"

struct command {
    const char *what;        /* how errors call it: "mount -t nfs" */
    const char *const *argv; /* ends with NULL */
    const char *path;        /* of the commands; NULL for the system's */
    uint64_t limit_ns;
    const atomic_int *stop; /* anything but 0 ends it; NULL for none */
};

/* Waits until the command has ended: 0 when it exited with 0. ERR_TIMEOUT, ERR_CANCELLED, else its failure
 * with the first line of what it said. */
int command_run(const struct command *c, struct error *err);

#endif
