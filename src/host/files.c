/* Kinds, creation and reading of files. host_make_path() descends from the root by descriptor: the directory
 * that is created or gets its mode is the one that was opened, even if the path is replaced meanwhile. */
#include "host/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "host/safe_path.h"
#include "io/file.h"
#include "io/sys.h"

#define PARENT_MODE 0750
#define MODE_BITS 07777

const char *const file_kind_names[] = {
    [FILE_MISSING] = "",      [FILE_DIR] = "Directory",          [FILE_REGULAR] = "File",
    [FILE_SOCKET] = "Socket", [FILE_CHAR_DEVICE] = "CharDevice", [FILE_BLOCK_DEVICE] = "BlockDevice",
    [FILE_OTHER] = "",
};

static enum file_kind kind_of_mode(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFDIR:
        return FILE_DIR;
    case S_IFREG:
        return FILE_REGULAR;
    case S_IFSOCK:
        return FILE_SOCKET;
    case S_IFCHR:
        return FILE_CHAR_DEVICE;
    case S_IFBLK:
        return FILE_BLOCK_DEVICE;
    default:
        return FILE_OTHER;
    }
}

int host_file_kind(const char *path, enum file_kind *ret, struct error *err)
{
    struct stat st;

    if (sys_stat(path, &st) == 0)
        *ret = kind_of_mode(st.st_mode);
    else if (errno == ENOENT || errno == ENOTDIR)
        *ret = FILE_MISSING;
    else
        return error_set_errno(err, errno, "cannot examine '%s'", path);
    return 0;
}

int host_group_of(const char *path, gid_t *ret, struct error *err)
{
    struct stat st;

    if (sys_stat(path, &st) < 0)
        return error_set_errno(err, errno, "cannot examine '%s'", path);
    *ret = st.st_gid;
    return 0;
}

/* Creating */

/* Opens the next directory of the path, which is created if it is missing: its descriptor, or -errno. */
static int open_or_make(int at, const char *name, mode_t mode)
{
    int fd = host_open_dir(at, name, HOST_OPEN_ANY_MOUNT);

    if (fd != -ENOENT)
        return fd;
    if (sys_mkdirat(at, name, mode) < 0 && errno != EEXIST)
        return -errno;
    return host_open_dir(at, name, HOST_OPEN_ANY_MOUNT);
}

static int set_mode(int fd, const char *path, mode_t mode, struct error *err)
{
    struct stat st;

    if (sys_fstat(fd, &st) < 0)
        return error_set_errno(err, errno, "cannot examine '%s'", path);
    if ((st.st_mode & MODE_BITS) == mode || st.st_uid != sys_geteuid())
        return 0;
    if (sys_fchmod(fd, mode) < 0)
        return error_set_errno(err, errno, "cannot set mode %04o of '%s'", (unsigned)mode, path);
    return 0;
}

static int make_refused(int errnum, const char *path, struct error *err)
{
    if (errnum == ELOOP || errnum == ENOTDIR)
        return error_set(err, ERR_INVALID, "'%s' leads through a symbolic link or a file", path);
    return error_set_errno(err, errnum, "cannot create directory '%s'", path);
}

int host_make_path(const char *path, mode_t mode, struct error *err)
{
    _cleanup_(fd_closep) int fd = -1;
    char clean[PATH_MAX];
    int r = host_clean_path(path, clean, err);

    if (r < 0)
        return r;
    fd = host_open_dir(AT_FDCWD, clean, HOST_OPEN_ANY_MOUNT);
    if (fd != -ENOENT)
        return fd < 0 ? make_refused(-fd, clean, err) : set_mode(fd, clean, mode, err);
    fd = host_open_dir(AT_FDCWD, "/", HOST_OPEN_ANY_MOUNT);
    for (struct str rest = str_of(clean + 1); fd >= 0 && rest.s;) {
        struct str part = str_next(&rest, '/');
        clean[part.s + part.len - clean] = '\0';
        int next = open_or_make(fd, part.s, rest.s ? PARENT_MODE : mode);
        (void)sys_close(fd);
        fd = next;
    }
    return fd < 0 ? make_refused(-fd, path, err) : set_mode(fd, path, mode, err);
}

int host_make_file(const char *path, mode_t mode, struct error *err)
{
    enum file_kind kind = FILE_MISSING;
    int fd = sys_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode), r;

    if (fd >= 0) {
        (void)sys_close(fd); /* nothing was written */
        return 0;
    }
    if (errno != EEXIST)
        return error_set_errno(err, errno, "cannot create file '%s'", path);
    r = host_file_kind(path, &kind, err);
    if (r < 0 || kind == FILE_REGULAR)
        return r;
    return error_set(err, ERR_EXISTS, "'%s' exists and is not a file", path);
}

int host_read_below(int at, const char *path, size_t bytes_max, struct buf *ret, struct error *err)
{
    _cleanup_(fd_closep) int fd =
        host_open_below(at, path, O_RDONLY | O_NONBLOCK, 0); /* a fifo must not block */
    struct stat st;

    if (fd < 0)
        return error_set_errno(err, -fd, "cannot open '%s'", path);
    if (sys_fstat(fd, &st) < 0)
        return error_set_errno(err, errno, "cannot examine '%s'", path);
    if (!S_ISREG(st.st_mode))
        return error_set(err, ERR_INVALID, "'%s' is not a regular file", path);
    return io_read_fd(fd, path, bytes_max, ret, err);
}
