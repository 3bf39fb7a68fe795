/* Creates, finds and renames directories below an export. Every step opens the next component relative to a
 * descriptor, without following links, since users of the export may replace directories at any time. */
#include "host/export_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "host/safe_path.h"
#include "io/file.h"
#include "io/sys.h"

/* A normalised path below the export: its directory and its last name. */
struct export_place {
    char path[PATH_MAX]; /* with a leading '/' */
    char *name;          /* after the last '/' in path */
};

/* Parses a path below the export. */
static int place_parse(const char *path, struct export_place *ret, struct error *err)
{
    char rooted[PATH_MAX];
    int n = snprintf(rooted, sizeof rooted, "/%s", path), r;

    if (n < 0 || (size_t)n >= sizeof rooted)
        return error_set(err, ERR_INVALID, "path is longer than %d bytes", PATH_MAX - 1);
    r = host_clean_path(rooted, ret->path, err);
    if (r < 0)
        return r;
    if (strcmp(ret->path, "/") == 0)
        return error_set(err, ERR_INVALID, "'%s' is the export itself", path);
    ret->name = strrchr(ret->path, '/') + 1;
    return 0;
}

/* Opens the directory `name` in an open one; creates it with this mode if it is missing. is_last: sets the
 * mode in any case. The descriptor or -errno. */
static int enter_dir(int at, const char *name, mode_t mode, bool is_last)
{
    bool is_new = sys_mkdirat(at, name, 0700) == 0;
    int fd;

    if (!is_new && errno != EEXIST)
        return -errno;
    fd = host_open_below(at, name, O_RDONLY | O_DIRECTORY, 0);
    if (fd >= 0 && (is_new || is_last) && sys_fchmod(fd, mode) < 0) {
        int reason = errno;

        fd_closep(&fd);
        return -reason;
    }
    return fd;
}

int export_make(struct export_root root, const char *path, mode_t mode, struct error *err)
{
    _cleanup_(fd_closep) int at = -1;
    struct export_place p;
    int r = place_parse(path, &p, err);

    if (r < 0)
        return r;
    at = host_open_dir(root.fd, ".", 0);
    if (at < 0)
        return error_set_errno(err, -at, "cannot open directory '%s'", root.path);
    for (char *name = p.path + 1; name;) {
        char *slash = strchr(name, '/');
        int fd;

        if (slash)
            *slash = '\0';
        fd = enter_dir(at, name, mode, !slash);
        fd_closep(&at);
        at = fd;
        if (fd < 0)
            return error_set_errno(err, -fd, "cannot create directory '%s' in '%s'", path, root.path);
        name = slash ? slash + 1 : NULL;
    }
    return 0;
}

/* Opens the directory that contains the place. The descriptor or -errno. */
static int open_parent(int base, struct export_place *p)
{
    int fd;

    if (p->name == p->path + 1)
        return host_open_dir(base, ".", 0);
    p->name[-1] = '\0';
    fd = host_open_dir(base, p->path + 1, 0);
    p->name[-1] = '/';
    return fd;
}

int export_has(struct export_root root, const char *path, bool *ret, struct error *err)
{
    _cleanup_(fd_closep) int fd = -1;
    struct export_place p;
    struct stat st;
    int r = place_parse(path, &p, err);

    if (r < 0)
        return r;
    fd = host_open_below(root.fd, p.path + 1, O_PATH, 0);
    if (fd == -ENOENT) {
        *ret = false;
        return 0;
    }
    if (fd < 0 || sys_fstat(fd, &st) < 0)
        return error_set_errno(err, fd < 0 ? -fd : errno, "cannot examine '%s' in '%s'", path, root.path);
    if (!S_ISDIR(st.st_mode))
        return error_set(err, ERR_EXISTS, "'%s' in '%s' is not a directory", path, root.path);
    *ret = true;
    return 0;
}

/* Moving a directory takes it from everyone else who has it: the guard checks it as for a removal. */
int export_move_up(struct export_root root, const char *path, const char *name,
                   const struct host_guard *guard, struct error *err)
{
    _cleanup_(fd_closep) int parent = -1, fd = -1;
    char whole[PATH_MAX * 2];
    struct export_place p;
    struct stat st;
    int r = place_parse(path, &p, err);

    if (r < 0)
        return r;
    parent = open_parent(root.fd, &p);
    fd = parent < 0 ? parent : host_open_dir(parent, p.name, 0);
    if (fd < 0)
        return error_set_errno(err, -fd, "cannot open directory '%s' in '%s'", path, root.path);
    (void)snprintf(whole, sizeof whole, "%s%s", root.path, p.path);
    r = host_guard_check(guard, fd, whole, err);
    if (r < 0)
        return r;
    /* Not RENAME_NOREPLACE, which NFS does not support; a directory that appears meanwhile is replaced only
     * if it is empty. */
    if (sys_fstatat(root.fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return error_set(err, ERR_EXISTS, "cannot rename '%s' in '%s' to '%s': target exists", path,
                         root.path, name);
    if (sys_renameat(parent, p.name, root.fd, name) < 0)
        return error_set_errno(err, errno, "cannot rename '%s' in '%s' to '%s'", path, root.path, name);
    return 0;
}

int export_remove(struct export_root root, const char *path, const struct host_guard *guard,
                  const host_stop *stop, struct error *err)
{
    _cleanup_(fd_closep) int parent = -1;
    char whole[PATH_MAX * 2];
    struct export_place p;
    int r = place_parse(path, &p, err);

    if (r < 0)
        return r;
    parent = open_parent(root.fd, &p);
    if (parent == -ENOENT)
        return 0;
    if (parent < 0)
        return error_set_errno(err, -parent, "cannot open the directory of '%s' in '%s'", path, root.path);
    (void)snprintf(whole, sizeof whole, "%s%s", root.path, p.path);
    return host_remove_guarded_at(parent, p.name, whole, guard, stop, err);
}
