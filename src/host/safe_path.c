/* Paths are resolved by openat2(), since a check of the text is not enough: a directory may be replaced by a
 * link between the check and the use. The kernel refuses links, mounts and escapes while it resolves. There
 * is no fallback for kernels without it (before 5.6): they return an error. */
#include "host/safe_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "io/file.h"
#include "io/sys.h"

#define OPEN_TRIES_MAX 100

int host_clean_path(const char *path, char ret[PATH_MAX], struct error *err)
{
    struct str rest = str_of(path);
    size_t len = 0;

    if (rest.len == 0)
        return error_set(err, ERR_INVALID, "the path is empty");
    if (path[0] != '/')
        return error_set(err, ERR_INVALID, "'%s' is not an absolute path", path);
    if (rest.len >= PATH_MAX) /* normalising only makes it shorter */
        return error_set(err, ERR_INVALID, "the path has %zu bytes, more than %d", rest.len, PATH_MAX - 1);
    char clean[PATH_MAX];
    while (rest.s) {
        struct str part = str_next(&rest, '/');
        if (part.len == 0 || str_is(part, "."))
            continue;
        if (str_is(part, ".."))
            return error_set(err, ERR_INVALID, "'%s' must not contain '..'", path);
        clean[len++] = '/';
        memcpy(clean + len, part.s, part.len);
        len += part.len;
    }
    if (len == 0)
        clean[len++] = '/';
    memcpy(ret, clean, len);
    ret[len] = '\0';
    return 0;
}

int host_resolve_path(const char *path, char ret[PATH_MAX], struct error *err)
{
    _cleanup_(freep) char *resolved = sys_realpath(path);

    if (!resolved)
        return error_set_errno(err, errno, "cannot resolve '%s'", path);
    if (strlen(resolved) >= PATH_MAX)
        return error_set(err, ERR_INVALID, "'%s' resolves to a path that is too long", path);
    memcpy(ret, resolved, strlen(resolved) + 1);
    return 0;
}

size_t host_path_depth(const char *clean)
{
    size_t depth = 0;

    if (clean[1] == '\0')
        return 0;
    for (; *clean; clean++)
        depth += *clean == '/';
    return depth;
}

bool host_path_is_below(const char *path, const char *base)
{
    size_t len = strlen(base);

    if (base[1] == '\0') /* "/" */
        return path[1] != '\0';
    return strncmp(path, base, len) == 0 && path[len] == '/' && path[len + 1] != '\0';
}

/* The descriptor or -errno. EAGAIN: a rename or mount happened meanwhile, and the kernel could not determine
 * whether the path escapes. */
static int open_how(int at, const char *path, struct open_how how)
{
    int tries = 0, fd;

    how.flags |= O_CLOEXEC;
    how.resolve |= RESOLVE_NO_MAGICLINKS;
    do
        fd = sys_openat2(at, path, &how);
    while (fd < 0 && (errno == EINTR || (errno == EAGAIN && tries++ < OPEN_TRIES_MAX)));
    return fd < 0 ? -errno : fd;
}

int host_open_dir(int at, const char *path, unsigned flags)
{
    struct open_how how = {
        .flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
        .resolve = RESOLVE_NO_SYMLINKS,
    };

    if (!(flags & HOST_OPEN_ANY_MOUNT))
        how.resolve |= RESOLVE_NO_XDEV;
    if (path[0] != '/' && !(flags & HOST_OPEN_PARENT))
        how.resolve |= RESOLVE_BENEATH;
    return open_how(at, path, how);
}

int host_open_below(int at, const char *path, int flags, mode_t mode)
{
    return open_how(at, path,
                    (struct open_how){
                        .flags = (unsigned)(flags | O_NOFOLLOW),
                        .mode = flags & O_CREAT ? mode : 0,
                        .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV | RESOLVE_BENEATH,
                    });
}

int host_open_within(int at, const char *path)
{
    return open_how(at, path, (struct open_how){ .flags = O_PATH, .resolve = RESOLVE_BENEATH });
}

/* Creating */

/* An existing entry was created by an earlier attempt, or is not ours to use. */
static int check_made_before(int basefd, const char *base, const char *name, struct error *err)
{
    struct stat st;

    if (sys_fstatat(basefd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return error_set_errno(err, errno, "cannot examine '%s/%s'", base, name);
    if (!S_ISDIR(st.st_mode))
        return error_set(err, ERR_EXISTS, "'%s/%s' exists and is not a directory", base, name);
    if (st.st_uid != sys_geteuid())
        return error_set(err, ERR_EXISTS, "directory '%s/%s' exists and is owned by user %u", base, name,
                         (unsigned)st.st_uid);
    return 0;
}

static int check_base(int basefd, const char *base, struct error *err)
{
    struct stat st;

    if (sys_fstat(basefd, &st) < 0)
        return error_set_errno(err, errno, "cannot examine '%s'", base);
    if (st.st_uid != sys_geteuid() && st.st_uid != 0)
        return error_set(err, ERR_DENIED,
                         "directory '%s' is owned by user %u, who could replace its contents", base,
                         (unsigned)st.st_uid);
    return 0;
}

int host_make_dir(const char *base, const char *name, mode_t mode, struct error *err)
{
    _cleanup_(fd_closep) int basefd = -1;
    int r;

    if (name[0] == '\0' || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return error_set(err, ERR_INVALID, "'%s' is not a valid name of a directory", name);
    r = io_mkdirs(base, mode, err);
    if (r < 0)
        return r;
    basefd = host_open_dir(AT_FDCWD, base, HOST_OPEN_ANY_MOUNT);
    if (basefd == -ELOOP || basefd == -ENOTDIR)
        return error_set(err, ERR_INVALID, "'%s' is or leads through a symbolic link", base);
    if (basefd < 0)
        return error_set_errno(err, -basefd, "cannot open directory '%s'", base);
    r = check_base(basefd, base, err);
    if (r < 0)
        return r;
    if (sys_mkdirat(basefd, name, mode) < 0) {
        if (errno != EEXIST)
            return error_set_errno(err, errno, "cannot create directory '%s/%s'", base, name);
        return check_made_before(basefd, base, name, err);
    }
    if (sys_fsync(basefd) < 0)
        return error_set_errno(err, errno, "cannot sync directory '%s'", base);
    return 0;
}

/* Creates one directory if it is missing. */
static int make_one(int parent, const char *name, mode_t mode)
{
    _cleanup_(fd_closep) int fd = -1;

    if (sys_mkdirat(parent, name, mode) < 0)
        return errno == EEXIST ? 0 : -errno;
    fd = host_open_below(parent, name, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return fd;
    return sys_fchmod(fd, mode) < 0 ? -errno : 0; /* regardless of the umask */
}

/* Creates the directory `name` in `parent` and opens it by its whole path, since only a resolution from the
 * top shows whether a link escapes. The descriptor, or -errno. */
static int step_below(int top, int parent, const char *name, const char *path, mode_t mode)
{
    _cleanup_(fd_closep) int fd = -1;
    struct stat st;
    int r = make_one(parent, name, mode);

    if (r < 0)
        return r;
    fd = host_open_within(top, path);
    if (fd < 0)
        return fd;
    if (sys_fstat(fd, &st) < 0)
        return -errno;
    return S_ISDIR(st.st_mode) ? take_fd(&fd) : -ENOTDIR;
}

int host_make_below(const char *base, const char *path, mode_t mode, struct error *err)
{
    _cleanup_(fd_closep) int top = host_open_dir(AT_FDCWD, base, HOST_OPEN_ANY_MOUNT), at = -1;
    char name[NAME_MAX + 1], done[PATH_MAX] = "";
    struct str rest = str_of(path);
    size_t len = 0;
    int fd;

    if (top < 0)
        return error_set_errno(err, -top, "cannot open directory '%s'", base);
    if (rest.len >= sizeof done)
        return error_set(err, ERR_INVALID, "the path has %zu bytes, more than %d", rest.len, PATH_MAX - 1);
    while (rest.s) {
        struct str part = str_next(&rest, '/');
        if (part.len == 0 || str_is(part, "."))
            continue;
        if (part.len > NAME_MAX || str_is(part, ".."))
            return error_set(err, ERR_INVALID, "'%s' is not a path below '%s'", path, base);
        (void)snprintf(name, sizeof name, "%.*s", STR_ARG(part));
        len += (size_t)snprintf(done + len, sizeof done - len, "%s%s", len ? "/" : "", name);
        fd = step_below(top, at < 0 ? top : at, name, done, mode);
        if (fd < 0)
            return error_set_errno(err, -fd, "cannot create directory '%s/%s'", base, done);
        fd_closep(&at);
        at = fd;
    }
    return 0;
}

int host_remove_empty_dir(const char *path, struct error *err)
{
    if (sys_rmdir(path) < 0 && errno != ENOENT)
        return error_set_errno(err, errno, "cannot remove directory '%s'", path);
    return 0;
}

int host_remove_empty_at(int dir, const char *name)
{
    return sys_unlinkat(dir, name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : -errno;
}
