/* Directories of volumes below the directory that an export is mounted at, whose users may write there.
 *
 * Everything goes by descriptor from the export's directory on: no link is followed, no other mount entered,
 * so nothing outside the export is ever made, renamed or removed. Paths are relative to the export; one that
 * is empty, has "..", or is the export itself is ERR_INVALID. Blocks: for the pool. */
#ifndef BERTH_HOST_EXPORT_DIR_H
#define BERTH_HOST_EXPORT_DIR_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/* Makes the directory and its missing parents, with exactly this mode, whatever the umask; one that is there
 * gets it too, its parents do not. */
int export_make(const char *base, const char *path, mode_t mode, struct error *err);

/* Whether the directory is there; ERR_EXISTS for anything else in its place. */
int export_has(const char *base, const char *path, bool *ret, struct error *err);

/* Renames the directory to `name` right below the export; ERR_EXISTS when something is there. */
int export_move_up(const char *base, const char *path, const char *name, struct error *err);

#endif
