/* Directories of volumes below the mount point of an export, whose users may write to it.
 *
 * All operations use descriptors, starting at the export's directory, which the caller has opened and checked
 * (host/mount_identity.h): no link is followed and no other mount entered, so nothing outside the export is
 * created, renamed or removed, also when it is unmounted meanwhile. Paths are relative to the export; one
 * that is empty, has "..", or is the export itself is ERR_INVALID. Blocks: call it from the pool. */
#ifndef BERTH_HOST_EXPORT_DIR_H
#define BERTH_HOST_EXPORT_DIR_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "host/guard.h"
#include "host/remove.h"

/* The export: its open directory, and the path for error messages. */
struct export_root {
    int fd;
    const char *path;
};

/* Creates the directory and its missing parents, with exactly this mode, regardless of the umask; an existing
 * directory gets the mode too, its parents do not. */
int export_make(struct export_root root, const char *path, mode_t mode, struct error *err);

/* Whether the directory exists; ERR_EXISTS for anything else of that name. */
int export_has(struct export_root root, const char *path, bool *ret, struct error *err);

/* Renames the directory to `name` directly below the export; ERR_EXISTS when that exists. guard: as for
 * host_remove_tree(). */
int export_move_up(struct export_root root, const char *path, const char *name,
                   const struct host_guard *guard, struct error *err);

/* Removes the directory with everything below it, as host_remove_tree(). */
int export_remove(struct export_root root, const char *path, const struct host_guard *guard,
                  const host_stop *stop, struct error *err);

#endif
