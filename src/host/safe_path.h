/* Paths that come from objects: cleaned as text, then opened so that no link and no mount leads elsewhere. */
#ifndef BERTH_HOST_SAFE_PATH_H
#define BERTH_HOST_SAFE_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* The same place without doubled and trailing slashes and without "." components. Refused with ERR_INVALID:
 * an empty path, a relative one, one with "..", one that is too long. Pure. */
int host_clean_path(const char *path, char ret[PATH_MAX], struct error *err);

/* The place that the path leads to, without links, "." and "..". What is not there is ERR_NOT_FOUND. Blocks.
 * For paths that people of the machine have set up; what objects may choose goes through host_open_dir(). */
int host_resolve_path(const char *path, char ret[PATH_MAX], struct error *err);

/* How many components a clean path has: 0 for "/". */
size_t host_path_depth(const char *clean);

/* True when the clean path `path` is below `base`; not when it is base itself. */
bool host_path_is_below(const char *path, const char *base);

/* What host_open_dir() may do on its way. Links are never followed. */
enum {
    HOST_OPEN_ANY_MOUNT = 1 << 0, /* cross into other mounts, bind mounts too */
    HOST_OPEN_PARENT = 1 << 1,    /* path is ".." */
};

/* Opens a directory for reading, from the directory `at` on; only an absolute path may have another root.
 * The descriptor, or -errno: -ELOOP for a link in front of the last component, -ENOTDIR for anything that is
 * no directory, -EXDEV for a mount that must not be crossed. */
int host_open_dir(int at, const char *path, unsigned flags);

/* Opens what is there, or with O_CREAT makes it, below the open directory `at`; no link is followed, not at
 * the end either, and no other mount entered. With O_PATH the end may be a link, and is opened itself. The
 * descriptor, or -errno as above. */
int host_open_below(int at, const char *path, int flags, mode_t mode);

/* Opens anything with O_PATH. Links are followed as long as they stay below `at`: -EXDEV for one that leads
 * out, also by an absolute path. Mounts are entered. The descriptor, or -errno. */
int host_open_within(int at, const char *path);

/* Makes the directory base/name and the missing parents of it, the new ones with this mode less the umask.
 * One that is there is taken if it is a directory of our own user. base must belong to us or to root, so that
 * nobody else can exchange what is in it: /tmp is everybody's. name is one component. Blocks. */
int host_make_dir(const char *base, const char *name, mode_t mode, struct error *err);

/* Makes the directory base/path and the missing parents of it, the new ones with exactly this mode. Links are
 * followed as long as they stay below base. path is relative, without ".."; "" is done. Blocks. */
int host_make_below(const char *base, const char *path, mode_t mode, struct error *err);

/* Removes an empty directory; nothing else. One that is not there is done. Blocks. */
int host_remove_empty_dir(const char *path, struct error *err);
/* The same for one name in an open directory. 0, or -errno: -ENOTDIR for a link, too. */
int host_remove_empty_at(int dir, const char *name);

#endif
