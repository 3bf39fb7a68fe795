/* Which directories are never emptied, removed or given to a group, whatever an object says. Blocks: for the
 * pool.
 *
 * A directory is judged by its descriptor, the one that is used for the work afterwards: by device and inode
 * of itself and of its ancestors, and by its path inside its file system, which bind mounts do not change.
 * Text counts where a path of another volume is not there. Refused with ERR_DENIED:
 *   - the system's directories (/, /home, /var, ...), and everything in those that hold nothing else (/etc,
 *     /usr, /boot, ...);
 *   - Berth's own directories, what contains them and what is in them;
 *   - directories that hold volumes (of provisioners), and what contains them;
 *   - what is or contains the path of another volume.
 * What cannot be examined is refused too.
 *
 * Costs a few hundred system calls, one reading of the mount table, and one more call per other volume with
 * a path of this machine. */
#ifndef BERTH_HOST_GUARD_H
#define BERTH_HOST_GUARD_H

#include "base/cleanup.h"
#include "base/error.h"

/* Directories of this process; the texts are borrowed. Lists end with NULL; NULL for an empty one. */
struct guard_dirs {
    const char *const *own;     /* no volume is in them */
    const char *const *parents; /* each holds directories of volumes */
};

struct host_guard;

/* dirs: NULL for none; outlives the guard. */
int host_guard_new(const struct guard_dirs *dirs, struct host_guard **ret, struct error *err);
struct host_guard *host_guard_free(struct host_guard *g);
DEFINE_CLEANUP(struct host_guard, host_guard_free)

/* Adds another volume whose data is to stay. server: "" for a path of this machine. Copies; what does not fit
 * is told by every later check. */
void host_guard_add_volume(struct host_guard *g, const char *name, const char *server, const char *path);

/* May the directory, block device or file behind fd be emptied or removed? path: how it was opened, clean. g:
 * NULL checks for the system's directories alone. */
int host_guard_check(const struct host_guard *g, int fd, const char *path, struct error *err);
/* The same for a path, cleaned and opened without following links. What is not there may be removed. */
int host_guard_check_path(const struct host_guard *g, const char *path, struct error *err);
/* The same for a block device. */
int host_guard_check_device(const struct host_guard *g, const char *path, struct error *err);
/* May the directory of a file server be emptied or removed? Compares server and path with those of the other
 * volumes, as text. Pure. */
int host_guard_check_export(const struct host_guard *g, const char *server, const char *path,
                            struct error *err);

/* May the directory be given to a group? Other volumes do not matter. dirs: NULL for none. */
int host_guard_check_owner(const struct guard_dirs *dirs, int fd, const char *path, struct error *err);

#endif
