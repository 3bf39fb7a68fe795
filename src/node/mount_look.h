/* What is mounted below the node's root at one moment: the mount table, read on a worker, and of each mount
 * point which plugin's volumes have their place there.
 *
 * Reading costs some microseconds for each mount of the machine, all of them on the worker. On the loop a
 * path is one look into a map. */
#ifndef BERTH_NODE_MOUNT_LOOK_H
#define BERTH_NODE_MOUNT_LOOK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/siphash.h"
#include "io/job.h"

struct mount_look;

struct mounted {
    const char *path;
    /* NULL: volumes have no place there. "": some volume has, whose plugin the path does not tell. */
    const char *plugin;
    /* The directory that the volume's records would name in place of path: where a driver puts what belongs
     * to a raw device, its global directory; else path itself. */
    const char *place;
};

/* root: clean, without links. NULL without memory. */
struct job *mount_look_job(const char *root, struct hash_seed seed);
/* From the job's done when it went well: the caller's, once. */
struct mount_look *mount_look_take(struct job *j);
/* Takes NULL. */
struct mount_look *mount_look_free(struct mount_look *k);
DEFINE_CLEANUP(struct mount_look, mount_look_free)

/* Something is mounted right at the path, which is below the root. */
bool mount_look_has(const struct mount_look *k, const char *path);
/* Of the whole machine. */
size_t mount_look_table_count(const struct mount_look *k);
/* All below the root, in the order of mounting. */
const struct mounted *mount_look_all(const struct mount_look *k, size_t *ret_count);

#endif
