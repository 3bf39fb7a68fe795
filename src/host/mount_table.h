/* The mount table of this process's namespace, read once and queried many times. Blocks: call it from the
 * pool.
 *
 * Reading costs a few microseconds per mount; a caller that checks many paths reads it once. A lookup then
 * costs a binary search per component of the path. Kernels from 5.8 on return a consistent table in one read;
 * older kernels are not supported. */
#ifndef BERTH_HOST_MOUNT_TABLE_H
#define BERTH_HOST_MOUNT_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/str.h"

struct mount_entry {
    int id;
    int parent_id;
    uint32_t dev_major;
    uint32_t dev_minor;
    const char *root; /* the part of its file system that is mounted */
    const char
        *target; /* mount point; without the " (deleted)" that the kernel appends when it was removed */
    const char *type;
    const char *source; /* the device, or whatever was given as the source */
    const char *options;
};

struct mount_table;

/* The table of the current namespace. */
int mount_table_read(struct mount_table **ret, struct error *err);
/* Parses a text like /proc/self/mountinfo: for tests. An invalid line is ERR_INVALID. */
int mount_table_parse(struct str text, struct mount_table **ret, struct error *err);
struct mount_table *mount_table_free(struct mount_table *t);
DEFINE_CLEANUP(struct mount_table, mount_table_free)

size_t mount_table_count(const struct mount_table *t);
const struct mount_entry *mount_table_at(const struct mount_table *t, size_t i); /* in the kernel's order */

/* The last entry mounted exactly at the clean path; NULL for none. */
const struct mount_entry *mount_table_find(const struct mount_table *t, const char *path);
/* The mount that contains the clean path: of all mounted at it or above, the last. NULL only when there is
 * none. */
const struct mount_entry *mount_table_around(const struct mount_table *t, const char *path);

/* Calls fn for every other mount point that shows the same directory of the same file system as the clean
 * path (without links): its bind mounts. fn may return nonzero to stop. */
void mount_table_refs(const struct mount_table *t, const char *path,
                      int (*fn)(void *ctx, const struct mount_entry *e), void *ctx);
/* True when something is mounted below the clean path, or, with at_too, at it. ret_where: NULL, or the first
 * in path order. */
bool mount_table_has_below(const struct mount_table *t, const char *path, bool at_too,
                           const struct mount_entry **ret_where);

/* ERR_BUSY, naming the mount point, when something is mounted below the clean path, or with at_too at it.
 * Reads the table. */
int host_check_unmounted(const char *path, bool at_too, struct error *err);

#endif
