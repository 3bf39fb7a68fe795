/* Paths from objects: normalised as text, then opened so that no link and no mount leads elsewhere. */
#ifndef BERTH_HOST_SAFE_PATH_H
#define BERTH_HOST_SAFE_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

/* Removes doubled and trailing slashes and "." components. Refused with ERR_INVALID: an empty path, a
 * relative one, one with "..", one that is too long. Pure. */
int host_clean_path(const char *path, char ret[PATH_MAX], struct error *err);

/* Resolves links, "." and "..". ERR_NOT_FOUND when the path does not exist. Blocks. For paths that the
 * administrator has set up; use host_open_dir() for paths from objects. */
int host_resolve_path(const char *path, char ret[PATH_MAX], struct error *err);

/* The number of components of a clean path: 0 for "/". */
size_t host_path_depth(const char *clean);

/* True when the clean path `path` is below `base`; not when it is base itself. */
bool host_path_is_below(const char *path, const char *base);

/* What host_open_dir() may cross. Links are never followed. */
enum {
    HOST_OPEN_ANY_MOUNT = 1 << 0, /* cross into other mounts, bind mounts too */
    HOST_OPEN_PARENT = 1 << 1,    /* path is ".." */
};

/* Opens a directory for reading, relative to the directory `at` or by an absolute path. The descriptor, or
 * -errno: -ELOOP for a link before the last component, -ENOTDIR for anything that is not a directory, -EXDEV
 * for a mount that must not be crossed. */
int host_open_dir(int at, const char *path, unsigned flags);

/* Opens an entry, or with O_CREAT creates a file, below the open directory `at`; no link is followed, not as
 * the last component either, and no other mount entered. With O_PATH the last component may be a link, which
 * is opened itself. The descriptor, or -errno as above. */
int host_open_below(int at, const char *path, int flags, mode_t mode);

/* Opens anything with O_PATH. Links are followed as long as they stay below `at`: -EXDEV for one that leads
 * out, also by an absolute path. Mounts are entered. The descriptor, or -errno. */
int host_open_within(int at, const char *path);

/* Creates the directory base/name and its missing parents, new ones with this mode less the umask. An
 * existing directory is accepted if it is owned by our user. base must be owned by us or root, so that no
 * other user can replace its contents: /tmp is writable for all. name is one component. Blocks. */
int host_make_dir(const char *base, const char *name, mode_t mode, struct error *err);

/* Creates the directory base/path and its missing parents, new ones with exactly this mode. Links are
 * followed as long as they stay below base. path is relative, without ".."; "" is allowed and does nothing.
 * Blocks. */
int host_make_below(const char *base, const char *path, mode_t mode, struct error *err);

/* Removes an empty directory; nothing else. A missing one is not an error. Blocks. */
int host_remove_empty_dir(const char *path, struct error *err);
/* The same for one name in an open directory. 0, or -errno: -ENOTDIR for a link, too. */
int host_remove_empty_at(int dir, const char *name);

#endif
