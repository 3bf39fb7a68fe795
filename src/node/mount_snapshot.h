/* The mounts below the node's root at one moment: the mount table, read on a worker, with the plugin that
 * owns the directory of each mount point.
 *
 * Reading costs some microseconds per mount of the machine, all on the worker. On the loop, looking up a path
 * is one map lookup. */
#ifndef BERTH_NODE_MOUNT_SNAPSHOT_H
#define BERTH_NODE_MOUNT_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/siphash.h"
#include "io/job.h"

struct mount_snapshot;

struct mounted {
    const char *path;
    /* NULL: not in a volume directory. "": in one, but the path does not contain the plugin. */
    const char *plugin;
    /* The directory that the volume's records use instead of path: for data of a driver for a raw device, the
     * device's global directory; otherwise path itself. */
    const char *place;
};

/* root: normalized, without symbolic links. NULL when out of memory. */
struct job *mount_snapshot_job(const char *root, struct hash_seed seed);
/* For the job's done callback after success: passes ownership to the caller, once. */
struct mount_snapshot *mount_snapshot_take(struct job *j);
/* Accepts NULL. */
struct mount_snapshot *mount_snapshot_free(struct mount_snapshot *k);
DEFINE_CLEANUP(struct mount_snapshot, mount_snapshot_free)

/* True when the path, which is below the root, is a mount point. */
bool mount_snapshot_has(const struct mount_snapshot *k, const char *path);
/* The number of mounts of the whole machine. */
size_t mount_snapshot_table_count(const struct mount_snapshot *k);
/* All below the root, in the order of mounting. */
const struct mounted *mount_snapshot_all(const struct mount_snapshot *k, size_t *ret_count);

#endif
