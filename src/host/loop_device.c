/* Loop devices, found and made through the kernel alone.
 *
 * One of a file is known by the path that the kernel shows for it: two bind mounts of one block device are
 * one inode and two files here, since each pod's bind has a loop device of its own. Finding and making is one
 * step for all threads and processes that use this file: an flock on the control device, which nobody but
 * root can open, so that nobody else can hold it up. */
#include "host/device.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "io/file.h"

#define LOOP_CONTROL "/dev/loop-control"
#define LOOP_TRIES_MAX 64 /* others may take the free one that we were told of */

static void closedirp(DIR **d)
{
    if (*d)
        (void)closedir(*d); /* nothing was written */
}

/* What the kernel shows as the file behind a loop device; false when it has none. */
static bool backing_file(const char *name, struct buf *ret)
{
    static const char deleted[] = " (deleted)";
    struct error ignored;
    char path[64 + NAME_MAX];
    struct str file;

    (void)snprintf(path, sizeof path, "/sys/block/%s/loop/backing_file", name);
    if (io_read_file(path, PATH_MAX + sizeof deleted, ret, &ignored) < 0)
        return false;
    file = buf_str(ret);
    if (str_has_suffix(file, "\n"))
        file.len--;
    if (str_has_suffix(file, deleted))
        file.len -= sizeof deleted - 1;
    ret->len = file.len;
    return true;
}

/* The loop device with the lowest number whose file is one of the two. */
static int find_by_path(const char *given, const char *resolved, char ret[PATH_MAX], struct error *err)
{
    _cleanup_(closedirp) DIR *all = opendir("/sys/block");
    _cleanup_(buf_done_p) struct buf file = BUF_INIT(0);
    uint64_t lowest = UINT64_MAX, number;

    if (!all)
        return error_set_errno(err, errno, "cannot list block devices");
    for (struct dirent *e; (e = readdir(all));) {
        if (strncmp(e->d_name, "loop", 4) != 0 || !str_to_uint64(str_of(e->d_name + 4), &number))
            continue;
        if (number >= lowest || !backing_file(e->d_name, &file))
            continue;
        if (str_is(buf_str(&file), given) || str_is(buf_str(&file), resolved))
            lowest = number;
    }
    if (lowest == UINT64_MAX)
        return error_set(err, ERR_NOT_FOUND, "no loop device has '%s'", given);
    (void)snprintf(ret, PATH_MAX, "/dev/loop%llu", (unsigned long long)lowest);
    return 0;
}

int loop_find(const char *file, char ret[PATH_MAX], struct error *err)
{
    _cleanup_(freep) char *resolved = realpath(file, NULL);

    return find_by_path(file, resolved ? resolved : file, ret, err);
}

/* Gives the free loop device of that number the file. 0 or -errno. */
static int configure(int number, int file_fd, const char *file, bool is_read_only)
{
    struct loop_config config = { .fd = (__u32)file_fd };
    _cleanup_(closep) int fd = -1;
    char device[32];

    (void)snprintf(device, sizeof device, "/dev/loop%d", number);
    fd = open(device, (is_read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    config.info.lo_flags = is_read_only ? LO_FLAGS_READ_ONLY : 0;
    (void)snprintf((char *)config.info.lo_file_name, LO_NAME_SIZE, "%s", file); /* for people; may be cut */
    return ioctl(fd, LOOP_CONFIGURE, &config) < 0 ? -errno : 0;
}

static int attach(int control, const char *file, bool is_read_only, char ret[PATH_MAX], struct error *err)
{
    _cleanup_(closep) int file_fd = -1;
    struct stat st;
    int r = -EBUSY;

    if (stat(file, &st) < 0)
        return error_set_errno(err, errno, "cannot examine '%s'", file);
    if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode)) /* opening a fifo would hold us */
        return error_set(err, ERR_INVALID, "'%s' is neither a file nor a block device", file);
    file_fd = open(file, (is_read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NONBLOCK);
    if (file_fd < 0)
        return error_set_errno(err, errno, "cannot open '%s'", file);
    for (int tries = 0; tries < LOOP_TRIES_MAX && r == -EBUSY; tries++) {
        int number = ioctl(control, LOOP_CTL_GET_FREE);
        if (number < 0)
            return error_set_errno(err, errno, "cannot find a free loop device");
        r = configure(number, file_fd, file, is_read_only);
        if (r == 0)
            (void)snprintf(ret, PATH_MAX, "/dev/loop%d", number);
    }
    return r < 0 ? error_set_errno(err, -r, "cannot attach '%s' to a loop device", file) : 0;
}

int loop_attach(const char *file, bool is_read_only, char ret[PATH_MAX], struct error *err)
{
    _cleanup_(closep) int control = -1;
    int r;

    control = open(LOOP_CONTROL, O_RDWR | O_CLOEXEC);
    if (control < 0)
        return error_set_errno(err, errno, "cannot open '%s'", LOOP_CONTROL);
    do
        r = flock(control, LOCK_EX);
    while (r < 0 && errno == EINTR);
    if (r < 0)
        return error_set_errno(err, errno, "cannot lock '%s'", LOOP_CONTROL);
    r = loop_find(file, ret, err);
    return r == -ERR_NOT_FOUND ? attach(control, file, is_read_only, ret, err) : r;
}

/* 0 or -errno. */
static int clear(const char *device)
{
    _cleanup_(closep) int fd = -1;

    fd = open(device, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    return ioctl(fd, LOOP_CLR_FD, 0) < 0 ? -errno : 0;
}

int loop_detach(const char *device, struct error *err)
{
    int r = clear(device);

    if (r < 0 && r != -ENOENT && r != -ENXIO) /* no such device, or nothing behind it */
        return error_set_errno(err, -r, "cannot detach '%s'", device);
    return 0;
}
