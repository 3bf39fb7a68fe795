/* A command and its end, for functions that run on the pool. Blocks. */
#ifndef BERTH_HOST_COMMAND_H
#define BERTH_HOST_COMMAND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

#define COMMAND_ENV_COUNT_MAX 32

struct command {
    const char *what;        /* how errors call it: "mount -t nfs" */
    const char *const *argv; /* ends with NULL */
    const char *const *env;  /* "NAME=value" besides PATH and LC_ALL, ends with NULL; NULL for none */
    const char *path;        /* of the commands; NULL for the system's */
    uint64_t limit_ns;
    const atomic_int *stop; /* anything but 0 ends it; NULL for none */

    /* What it wrote on standard output and standard error, in that order of writing, is added here once it
     * ran, however it ended; as much as the buffer may still take, and the rest is read and dropped. NULL:
     * nobody wants it. */
    struct buf *output;
    bool *output_is_cut; /* there was more; NULL: nobody asks */
    /* Asked for, any exit is a success of command_run(), and the caller judges. NULL: 0 alone is one. */
    int *exit_code;
};

/* Waits until the command has ended: 0 when it exited with 0, or at all if exit_code is asked for.
 * ERR_NOT_FOUND when there is no such command, ERR_TIMEOUT, ERR_CANCELLED, else its failure with the first
 * line of what it said. */
int command_run(const struct command *c, struct error *err);

/* Whether there is such a command; path: as above. */
bool command_exists(const char *path, const char *name);

#endif
