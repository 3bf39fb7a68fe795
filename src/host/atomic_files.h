/* A directory of files that changes atomically from one version to the next. Blocks: call it from the pool.
 *
 * The files are in a subdirectory, DIR/..2026_11_16_05_49_00.123456789; DIR/..data is a link to it, and
 * DIR/NAME a link to ..data/NAME. A new version is written beside the old one and ..data is renamed over: a
 * reader that opened ..data once sees one complete version. After a crash at any point the next call
 * completes the change. */
#ifndef BERTH_HOST_ATOMIC_FILES_H
#define BERTH_HOST_ATOMIC_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/str.h"

struct atomic_file {
    const char *path; /* relative, any depth */
    struct str bytes;
    mode_t mode;
    int64_t uid; /* -1: not changed */
};

struct atomic_files {
    const struct atomic_file *items;
    size_t count; /* of files with the same path the last one wins */
};

struct atomic_write {
    int64_t now_real_ns; /* names the version */
    uint64_t random;     /* part of the version's name */
    /* Called when everything is written and not visible yet; NULL for nothing. */
    int (*set_owner)(void *ctx, struct error *err);
    void *ctx;
};

/* `invalid path: …` for invalid paths; nothing is written. */
int atomic_files_check(const struct atomic_files *files, struct error *err);

/* Makes dir, which must exist, contain exactly these files. *ret_changed: whether a new version was created;
 * a change of only modes and owners creates none. */
int atomic_files_write(const char *dir, const struct atomic_files *files, const struct atomic_write *how,
                       bool *ret_changed, struct error *err);

#endif
