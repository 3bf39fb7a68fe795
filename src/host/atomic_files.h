/* A directory of files that changes from one version to the next in one step. Blocks: for the pool.
 *
 * The files live in a directory of their own, DIR/..2026_11_16_05_49_00.123456789; DIR/..data is a link to
 * it, and DIR/NAME a link to ..data/NAME. A new version is written beside the old one and ..data is renamed
 * over: whoever opened ..data once sees one version, whole. After a crash at any point the next call
 * finishes. */
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
    int64_t uid; /* -1: stays ours */
};

struct atomic_files {
    const struct atomic_file *items;
    size_t count; /* of one path the last counts */
};

struct atomic_write {
    int64_t now_real_ns; /* names the version */
    uint64_t random;     /* the same */
    /* Called once all is written and before anybody sees it; NULL for nothing. */
    int (*set_owner)(void *ctx, struct error *err);
    void *ctx;
};

/* `invalid path: …` for the paths that are refused; nothing is written then. */
int atomic_files_check(const struct atomic_files *files, struct error *err);

/* Makes dir, which must be there, hold exactly these files. *ret_changed: whether a new version was made;
 * modes and owners alone make none. */
int atomic_files_write(const char *dir, const struct atomic_files *files, const struct atomic_write *how,
                       bool *ret_changed, struct error *err);

#endif
