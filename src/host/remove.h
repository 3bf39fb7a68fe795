/* Removes the contents of a directory, and nothing else: never through a link, never across a mount point,
 * never outside the base, never what host/guard.h refuses. Blocks: call it from the pool.
 *
 * The path is absolute and without ".."; it has at least two components, since a volume at `/` or at one of
 * the directories directly below it (/etc, /home) is a mistake that would destroy the machine; none of them
 * is a link. Anything else is refused with ERR_INVALID before anything is changed.
 *
 * A mount below, another file system or a bind mount, is ERR_BUSY with its path, before anything is removed;
 * what is mounted or replaced meanwhile is not entered. A missing path is not an error. Removals are final,
 * and the call can be repeated. The first entry that cannot be removed ends the call with an error that names
 * it: an immutable file, a directory that cannot be read. So does a directory that another process keeps
 * filling: ERR_BUSY. */
#ifndef BERTH_HOST_REMOVE_H
#define BERTH_HOST_REMOVE_H

#include <stdatomic.h>

#include "base/error.h"

struct host_guard;

/* Set to any value but 0 by another thread, it ends the work at the next entry with ERR_CANCELLED. */
typedef atomic_int host_stop;

/* Removes everything below the directory `path`; the directory itself stays, and may be a mount point. guard:
 * checks the descriptor that is used, before anything is removed; NULL: checks only for the system's
 * directories. stop: NULL for none. */
int host_empty_dir(const char *path, const struct host_guard *guard, const host_stop *stop,
                   struct error *err);

/* The same for a mount: a directory that is not a mount point, or no longer one, is ERR_INVALID, and a
 * missing one is an error. */
int host_empty_mount(const char *path, const struct host_guard *guard, const host_stop *stop,
                     struct error *err);

/* Removes the directory with everything below it. It must not be a mount point: ERR_BUSY. Other files, but
 * not links, are removed too. base: path must be below it, on the same mount; NULL for none. */
int host_remove_tree(const char *base, const char *path, const struct host_guard *guard,
                     const host_stop *stop, struct error *err);

/* The same for a tree of ours that is removed in any case: without a guard, and without reading the mount
 * table, which takes 30 ms with 10,000 mounts. Mounts below are not entered either, but ERR_BUSY is returned
 * only when the walk reaches one; some of the tree is removed by then. */
int host_remove_own_tree(const char *base, const char *path, const host_stop *stop, struct error *err);

/* host_remove_tree() for one name in an open directory. path: its clean path, for the guard and for errors.
 */
int host_remove_guarded_at(int dir, const char *name, const char *path, const struct host_guard *guard,
                           const host_stop *stop, struct error *err);

/* The same for one name in an open directory of ours, without a guard: the mount table is not read, so
 * ERR_BUSY for a mount is returned only when the walk reaches it. path: for errors. */
int host_remove_at(int dir, const char *name, const char *path, const host_stop *stop, struct error *err);

#endif
