/* The mount table of this process's namespace, read once and asked many times. Blocks: for the pool.
 *
 * Reading costs time with each mount (a few microseconds each); whoever looks at many paths reads it once.
 * Looking a path up then costs a binary search for each of its components. Kernels from 5.8 on give a
 * table that hangs together in one reading; older ones are not served. */
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
    const char *root;   /* what of its file system is mounted */
    const char *target; /* where; without the " (deleted)" that the kernel puts behind one that is gone */
    const char *type;
    const char *source; /* the device, or what was given as such */
    const char *options;
};

struct mount_table;

/* Of the current namespace. */
int mount_table_read(struct mount_table **ret, struct error *err);
/* Of a text like /proc/self/mountinfo's: for tests. A line that is none is ERR_INVALID. */
int mount_table_parse(struct str text, struct mount_table **ret, struct error *err);
struct mount_table *mount_table_free(struct mount_table *t);
DEFINE_CLEANUP(struct mount_table, mount_table_free)

size_t mount_table_count(const struct mount_table *t);
const struct mount_entry *mount_table_at(const struct mount_table *t, size_t i); /* in the kernel's order */

/* The last entry mounted right at the clean path; NULL for none. */
const struct mount_entry *mount_table_find(const struct mount_table *t, const char *path);
/* The entry that the clean path is in, or at: of all that are at it or above, the last. NULL only when there
 * is none. */
const struct mount_entry *mount_table_around(const struct mount_table *t, const char *path);

/* Calls fn with every other mount point that shows the same directory of the same file system as the clean
 * path, without links, does: binds of it. fn may return nonzero to end. */
void mount_table_refs(const struct mount_table *t, const char *path,
                      int (*fn)(void *ctx, const struct mount_entry *e), void *ctx);
/* True when something is mounted below the clean path, or, with at_too, at it. ret_where: NULL, or the first
 * by its path. */
bool mount_table_has_below(const struct mount_table *t, const char *path, bool at_too,
                           const struct mount_entry **ret_where);

/* ERR_BUSY, with the mount point in its words, when something is mounted below the clean path, or with at_too
 * right at it. Reads the table. */
int host_check_unmounted(const char *path, bool at_too, struct error *err);

#endif
