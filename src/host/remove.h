/* Removing what is in a directory, and nothing else: never past a link, never past a mount point, never
 * outside the base, never what host/guard.h refuses. Blocks: for the pool.
 *
 * The path is absolute and without ".."; it has at least two components, since a volume at `/` or at one of
 * the directories right below it (/etc, /home) is a mistake whose price is the machine; none of them is a
 * link. Anything else is refused with ERR_INVALID before anything is touched.
 *
 * Something mounted below, another file system or a bind mount, is ERR_BUSY and named, before anything is
 * removed; what is mounted or exchanged while the work goes on is not entered. What is not there is done.
 * Whatever was removed stays so, and the call can be repeated. The first thing that cannot be removed ends
 * it with an error that names it: a file that is immutable, a directory that we may not read. So does a
 * directory that somebody keeps filling: ERR_BUSY. */
#ifndef BERTH_HOST_REMOVE_H
#define BERTH_HOST_REMOVE_H

#include <stdatomic.h>

#include "base/error.h"

struct host_guard;

/* Set to anything but 0 by another thread, it ends the work at the next entry with ERR_CANCELLED. */
typedef atomic_int host_stop;

/* Everything below the directory `path`; the directory itself stays, and may be a mount point. guard: asked
 * with the descriptor that is used, before anything is removed; NULL: for the system's directories alone.
 * stop: NULL for none. */
int host_empty_dir(const char *path, const struct host_guard *guard, const host_stop *stop,
                   struct error *err);

/* The same, and the directory, which must not be a mount point: ERR_BUSY. Anything else that is no directory
 * nor a link is removed too. base: path must be below it, on the same mount; NULL for none. */
int host_remove_tree(const char *base, const char *path, const struct host_guard *guard,
                     const host_stop *stop, struct error *err);

/* The same for a tree of ours that goes in any case: no guard is asked, and the mount table, which takes
 * 30 ms to read with 10,000 mounts, is not read. What is mounted below is not entered either, but it is
 * ERR_BUSY only once the work comes to it, and some of the rest is gone by then. */
int host_remove_own_tree(const char *base, const char *path, const host_stop *stop, struct error *err);

/* The same for one name in an open directory, for what is ours: the mount table is not read, so a mount is
 * ERR_BUSY only once the work comes to it. path: how errors call it. */
int host_remove_at(int dir, const char *name, const char *path, const host_stop *stop, struct error *err);

#endif
