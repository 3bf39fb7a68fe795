/* Directories of volumes below the mount point of an export, whose users may write to it.
 *
 * All operations use descriptors, starting at the export's directory: no link is followed and no other mount
 * entered, so nothing outside the export is created, renamed or removed. Paths are relative to the export;
 * one that is empty, has "..", or is the export itself is ERR_INVALID. Blocks: call it from the pool. */
#ifndef BERTH_HOST_EXPORT_DIR_H
#define BERTH_HOST_EXPORT_DIR_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/* Creates the directory and its missing parents, with exactly this mode, regardless of the umask; an existing
 * directory gets the mode too, its parents do not. */
int export_make(const char *base, const char *path, mode_t mode, struct error *err);

/* Whether the directory exists; ERR_EXISTS for anything else of that name. */
int export_has(const char *base, const char *path, bool *ret, struct error *err);

/* Renames the directory to `name` directly below the export; ERR_EXISTS when that exists. */
int export_move_up(const char *base, const char *path, const char *name, struct error *err);

#endif
