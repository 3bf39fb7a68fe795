/* Directories that are never emptied, removed or given to a group, whatever an object says. Blocks: call it
 * from the pool.
 *
 * A directory is checked by its descriptor, the one that is used for the work afterwards: by device and inode
 * of itself and of its ancestors, and by its path inside its file system, which bind mounts do not change.
 * The path as text is compared where the path of another volume does not exist. Refused with ERR_DENIED:
 *
 *   - the system's directories (/, /home, /var, ...), and everything below /etc, /usr, /boot and others that
 *     contain no volumes;
 *   - Berth's own directories, directories that contain them and everything in them;
 *   - directories that contain volumes (of provisioners), and directories above them;
 *   - the path of another volume, and directories that contain it.
 *
 * What cannot be examined is refused too.
 *
 * Costs a few hundred system calls, one read of the mount table, and one more call per other volume with a
 * path on this machine. */
#ifndef BERTH_HOST_GUARD_H
#define BERTH_HOST_GUARD_H

#include "base/cleanup.h"
#include "base/error.h"

/* Directories of this process; the texts are borrowed. Lists are NULL-terminated; NULL for an empty one. */
struct guard_dirs {
    const char *const *own;     /* contain no volumes */
    const char *const *parents; /* each contains directories of volumes */
};

struct host_guard;

/* dirs: NULL for none; must outlive the guard. */
int host_guard_new(const struct guard_dirs *dirs, struct host_guard **ret, struct error *err);
struct host_guard *host_guard_free(struct host_guard *g);
DEFINE_CLEANUP(struct host_guard, host_guard_free)

/* Adds another volume whose data must be kept. server: "" for a path on this machine. Copies the texts; if
 * that fails, every later check fails. */
void host_guard_add_volume(struct host_guard *g, const char *name, const char *server, const char *path);

/* Checks whether the directory, block device or file behind fd may be emptied or removed. path: how it was
 * opened, normalised. g: NULL checks only for the system's directories. */
int host_guard_check(const struct host_guard *g, int fd, const char *path, struct error *err);
/* The same for a block device. */
int host_guard_check_device(const struct host_guard *g, const char *path, struct error *err);
/* Checks whether the directory of a file server may be emptied or removed. Compares server and path with
 * those of the other volumes, as text. Pure. */
int host_guard_check_export(const struct host_guard *g, const char *server, const char *path,
                            struct error *err);

/* Checks whether the directory may be given to a group. Other volumes do not matter. dirs: NULL for none. */
int host_guard_check_owner(const struct guard_dirs *dirs, int fd, const char *path, struct error *err);

#endif
