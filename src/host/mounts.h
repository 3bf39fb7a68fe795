/* What is mounted where, as far as removing and scrubbing must know it. Blocks a little: for the pool. */
#ifndef BERTH_HOST_MOUNTS_H
#define BERTH_HOST_MOUNTS_H

#include <stdbool.h>

#include "base/error.h"
#include "base/str.h"

/* True when something is mounted right at path, a bind mount of the same file system too. Does not ask a
 * server, so that a dead one cannot hold it up. A last component that is a link is not followed. */
int host_is_mount_point(const char *path, bool *ret, struct error *err);

/* ERR_BUSY, with the mount point in its words, when something is mounted below the clean path, or with at_too
 * right at it. */
int host_check_unmounted(const char *path, bool at_too, struct error *err);

/* The same over the text of a mount table (/proc/PID/mountinfo). Pure. Lines that are none are passed over.
 */
int host_check_mount_table(struct str table, const char *path, bool at_too, struct error *err);

#endif
