#include "host/export_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "host/safe_path.h"
#include "io/file.h"

/* A path below the export, cleaned: its directory and its last name. */
struct place {
    char path[PATH_MAX]; /* with a leading '/' */
    char *name;          /* behind the last '/' in it */
};

static int place_of(const char *path, struct place *ret, struct error *err)
{
    char rooted[PATH_MAX];
    int n = snprintf(rooted, sizeof rooted, "/%s", path), r;

    ret->path[0] = '\0';
    ret->name = ret->path;
    if (n < 0 || (size_t)n >= sizeof rooted)
        return error_set(err, ERR_INVALID, "the path has more than %d bytes", PATH_MAX - 1);
    r = host_clean_path(rooted, ret->path, err);
    if (r < 0)
        return r;
    if (strcmp(ret->path, "/") == 0)
        return error_set(err, ERR_INVALID, "'%s' is the export itself", path);
    ret->name = strrchr(ret->path, '/') + 1;
    return 0;
}

static int open_base(const char *base, int *ret, struct error *err)
{
    int fd = host_open_dir(AT_FDCWD, base, HOST_OPEN_ANY_MOUNT);

    if (fd < 0)
        return error_set_errno(err, -fd, "cannot open directory '%s'", base);
    *ret = fd;
    return 0;
}

/* The directory `name` in an open one; made, with this mode, where it is missing. is_last: gets the mode in
 * any case. The descriptor or -errno. */
static int enter(int at, const char *name, mode_t mode, bool is_last)
{
    bool is_new = mkdirat(at, name, 0700) == 0;
    int fd;

    if (!is_new && errno != EEXIST)
        return -errno;
    fd = host_open_below(at, name, O_RDONLY | O_DIRECTORY, 0);
    if (fd >= 0 && (is_new || is_last) && fchmod(fd, mode) < 0) {
        int reason = errno;

        closep(&fd);
        return -reason;
    }
    return fd;
}

int export_make(const char *base, const char *path, mode_t mode, struct error *err)
{
    _cleanup_(closep) int at = -1;
    struct place p;
    int r = place_of(path, &p, err);

    if (r == 0)
        r = open_base(base, &at, err);
    for (char *name = p.path + 1; r == 0 && name;) {
        char *slash = strchr(name, '/');
        int fd;

        if (slash)
            *slash = '\0';
        fd = enter(at, name, mode, !slash);
        closep(&at);
        at = fd;
        if (fd < 0)
            return error_set_errno(err, -fd, "cannot create directory '%s' in '%s'", path, base);
        name = slash ? slash + 1 : NULL;
    }
    return r;
}

/* Opens the directory that the place is in. The descriptor or -errno. */
static int open_parent(int base, struct place *p)
{
    int fd;

    if (p->name == p->path + 1)
        return host_open_dir(base, ".", 0);
    p->name[-1] = '\0';
    fd = host_open_dir(base, p->path + 1, 0);
    p->name[-1] = '/';
    return fd;
}

int export_has(const char *base, const char *path, bool *ret, struct error *err)
{
    _cleanup_(closep) int top = -1, fd = -1;
    struct place p;
    struct stat st;
    int r = place_of(path, &p, err);

    if (r == 0)
        r = open_base(base, &top, err);
    if (r < 0)
        return r;
    fd = host_open_below(top, p.path + 1, O_PATH, 0);
    if (fd == -ENOENT) {
        *ret = false;
        return 0;
    }
    if (fd < 0 || fstat(fd, &st) < 0)
        return error_set_errno(err, fd < 0 ? -fd : errno, "cannot examine '%s' in '%s'", path, base);
    if (!S_ISDIR(st.st_mode))
        return error_set(err, ERR_EXISTS, "'%s' in '%s' is not a directory", path, base);
    *ret = true;
    return 0;
}

int export_move_up(const char *base, const char *path, const char *name, struct error *err)
{
    _cleanup_(closep) int top = -1, parent = -1;
    struct place p;
    struct stat st;
    int r = place_of(path, &p, err);

    if (r == 0)
        r = open_base(base, &top, err);
    if (r < 0)
        return r;
    parent = open_parent(top, &p);
    if (parent < 0)
        return error_set_errno(err, -parent, "cannot open the directory of '%s' in '%s'", path, base);
    /* Not RENAME_NOREPLACE, which NFS does not have; what comes meanwhile is replaced only if it is an empty
     * directory. */
    if (fstatat(top, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return error_set(err, ERR_EXISTS, "cannot rename '%s' in '%s' to '%s': it exists", path, base, name);
    if (renameat(parent, p.name, top, name) < 0)
        return error_set_errno(err, errno, "cannot rename '%s' in '%s' to '%s'", path, base, name);
    return 0;
}
