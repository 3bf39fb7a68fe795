/* Checks that a path in a data directory is a plain file of our own before it is opened, and reserves disk
 * space in such a file. The open descriptor is checked again, so that a path replaced in between is refused.
 */
#include "io/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "io/file.h"

static int check_is_own(const char *path, const struct stat *st, struct error *err)
{
    if (S_ISLNK(st->st_mode))
        return error_set(err, ERR_INVALID, "'%s' is a symbolic link: replace it with the file itself", path);
    if (!S_ISREG(st->st_mode))
        return error_set(err, ERR_INVALID, "'%s' is not a regular file: move it away", path);
    if (st->st_nlink != 1)
        return error_set(err, ERR_INVALID,
                         "'%s' has %ju names (hard links): remove the others, or replace it with a copy",
                         path, (uintmax_t)st->st_nlink);
    if (st->st_uid != geteuid() && geteuid() != 0)
        return error_set(err, ERR_DENIED,
                         "'%s' is owned by user %ju, but this process runs as user %ju: run as the owner, or "
                         "change the owner",
                         path, (uintmax_t)st->st_uid, (uintmax_t)geteuid());
    return 0;
}

int io_check_own_file(const char *path, struct error *err)
{
    struct stat st;

    if (lstat(path, &st) == 0)
        return check_is_own(path, &st, err);
    return errno == ENOENT ? 0 : error_set_errno(err, errno, "cannot examine '%s'", path);
}

static int open_own(const char *path, int flags, int *ret_fd, struct error *err)
{
    _cleanup_(fd_closep) int fd = -1;
    struct stat st;
    int r = io_check_own_file(path, err);

    if (r < 0)
        return r;
    fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | flags, 0600);
    if (fd < 0)
        return error_set_errno(err, errno, "cannot open '%s'", path);
    r = fstat(fd, &st) < 0 ? error_set_errno(err, errno, "cannot examine '%s'", path)
                           : check_is_own(path, &st, err);
    if (r == 0)
        *ret_fd = take_fd(&fd);
    return r;
}

int io_open_own_file(const char *path, int *ret_fd, struct error *err)
{
    return open_own(path, 0, ret_fd, err);
}

int io_make_own_file(const char *path, int *ret_fd, struct error *err)
{
    return open_own(path, O_CREAT, ret_fd, err);
}

int io_overwrite(int fd, struct str data)
{
    ssize_t n;

    do
        n = pwrite(fd, data.s, data.len, 0);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    return (size_t)n == data.len ? 0 : -ENOSPC;
}

int io_set_space(int fd, uint64_t bytes)
{
    struct stat st;
    int r;

    if (fstat(fd, &st) < 0)
        return -errno;
    if ((uint64_t)st.st_size > bytes)
        return ftruncate(fd, (off_t)bytes) < 0 ? -errno : 0;
    if ((uint64_t)st.st_size == bytes)
        return 0;
    /* If the file system does not support fallocate(), the library writes a byte to every block. */
    do
        r = posix_fallocate(fd, 0, (off_t)bytes);
    while (r == EINTR);
    if (r != 0)
        (void)!ftruncate(fd, st.st_size); /* releases what was allocated before the failure */
    return -r;
}

int io_space(int fd, uint64_t *ret_held, uint64_t *ret_free, struct error *err)
{
    struct statvfs disk;
    struct stat st;

    if (fstat(fd, &st) < 0 || fstatvfs(fd, &disk) < 0)
        return error_set_errno(err, errno, "cannot determine the free space of the disk");
    *ret_held = (uint64_t)st.st_size;
    *ret_free = (uint64_t)disk.f_bavail * disk.f_frsize;
    return 0;
}
