/* Runs a command to its end, for functions that run on the pool. Blocks. */
#ifndef BERTH_HOST_COMMAND_H
#define BERTH_HOST_COMMAND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

#define COMMAND_ENV_COUNT_MAX 32

struct command {
    const char *what;        /* its name in errors: "mount -t nfs" */
    const char *const *argv; /* NULL-terminated */
    const char *const *env;  /* "NAME=value" besides PATH and LC_ALL, NULL-terminated; NULL for none */
    const char *path;        /* the PATH; NULL for the system's */
    uint64_t limit_ns;
    const atomic_int *stop; /* any value but 0 cancels it; NULL for none */

    /* Receives standard output and standard error, in the order written, however the command ended; as much
     * as the buffer can take, the rest is read and dropped. NULL: not needed. */
    struct buf *output;
    bool *output_is_cut; /* there was more output; NULL: not needed */
    /* If set, any exit code is a success of command_run(), and the caller decides. NULL: only 0 is a success.
     */
    int *exit_code;
};

/* Waits until the command has ended: 0 when it exited with 0, or with any code if exit_code is set.
 * ERR_NOT_FOUND when there is no such command, ERR_TIMEOUT, ERR_CANCELLED, else its failure with the first
 * line of its output. */
int command_run(const struct command *c, struct error *err);

/* Whether the command exists; path: as above. */
bool command_exists(const char *path, const char *name);

#endif
