/* Runs code that may end its process in a child that begins as a copy of this one.
 *
 * The child's changes to memory are private, except in memory of isolate_alloc(). This process must have one
 * thread when the child is started. The child is killed when this process ends. */
#ifndef BERTH_IO_ISOLATE_H
#define BERTH_IO_ISOLATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define ISOLATE_OUTPUT_BYTES 4096

struct isolated {
    /* In the child; its result is the child's exit status, 0 to 255. */
    int (*run)(void *ctx);
    /* In this process, several times per second while the child runs; may be NULL. */
    void (*on_tick)(void *ctx);
    void *ctx;
    bool copies_stderr;   /* copy the child's standard error to this process's as it is written */
    unsigned seconds_max; /* the child is killed then; 0: no limit */
};

struct isolate_end {
    int status;                        /* its exit status; -1 when a signal ended it */
    int signal;                        /* 0: none */
    char output[ISOLATE_OUTPUT_BYTES]; /* the end of what it wrote to standard error */
};

/* Waits for the child to end. Fails when the child cannot be started. */
int isolate_run(const struct isolated *what, struct isolate_end *ret, struct error *err);

/* Zeroed memory that this process shares with children started later; NULL on failure. */
void *isolate_alloc(size_t bytes);
void isolate_free(void *memory, size_t bytes);

#endif
