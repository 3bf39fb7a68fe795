/* Loop devices, found and created through the kernel's interfaces.
 *
 * A loop device is identified by the backing path that the kernel shows for it: two bind mounts of one block
 * device are one inode, but two files here, since the bind of each pod has its own loop device. Finding and
 * creating is serialised between all threads and processes that use this file by an flock on the control
 * device, which only root can open, so that no other user can block it. */
#include "host/device.h"

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
#include "host/dirs.h"
#include "io/file.h"
#include "io/sys.h"

#define LOOP_CONTROL "/dev/loop-control"
#define LOOP_TRIES_MAX 64 /* another process may take the free device first */

/* The backing file of a loop device; false when it has none. */
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

/* The loop device with the lowest number whose backing file is one of the two. */
static int find_by_path(const char *given, const char *resolved, char ret[PATH_MAX], struct error *err)
{
    _cleanup_(sys_closedirp) struct sys_dir *all = sys_opendir("/sys/block");
    _cleanup_(buf_done_p) struct buf file = BUF_INIT(0);
    uint64_t lowest = UINT64_MAX, number;

    if (!all)
        return error_set_errno(err, errno, "cannot list block devices");
    for (const struct dirent *e; (e = sys_readdir(all));) {
        if (strncmp(e->d_name, "loop", 4) != 0 || !str_to_uint64(str_of(e->d_name + 4), &number))
            continue;
        if (number >= lowest || !backing_file(e->d_name, &file))
            continue;
        if (str_is(buf_str(&file), given) || str_is(buf_str(&file), resolved))
            lowest = number;
    }
    if (lowest == UINT64_MAX)
        return error_set(err, ERR_NOT_FOUND, "no loop device is attached to '%s'", given);
    (void)snprintf(ret, PATH_MAX, "/dev/loop%llu", (unsigned long long)lowest);
    return 0;
}

int loop_find(const char *file, char ret[PATH_MAX], struct error *err)
{
    _cleanup_(freep) char *resolved = sys_realpath(file);

    return find_by_path(file, resolved ? resolved : file, ret, err);
}

/* Attaches the file to the free loop device of that number. 0 or -errno. */
static int configure_device(int number, int file_fd, const char *file, bool is_read_only)
{
    struct loop_config config = { .fd = (__u32)file_fd };
    _cleanup_(fd_closep) int fd = -1;
    char device[32];

    (void)snprintf(device, sizeof device, "/dev/loop%d", number);
    fd = sys_open(device, (is_read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    config.info.lo_flags = is_read_only ? LO_FLAGS_READ_ONLY : 0;
    (void)snprintf((char *)config.info.lo_file_name, LO_NAME_SIZE, "%s",
                   file); /* informational; may be truncated */
    return sys_ioctl(fd, LOOP_CONFIGURE, &config) < 0 ? -errno : 0;
}

static int attach_free_device(int control, const char *file, bool is_read_only, char ret[PATH_MAX],
                              struct error *err)
{
    _cleanup_(fd_closep) int file_fd = -1;
    struct stat st;
    int r = -EBUSY;

    if (sys_stat(file, &st) < 0)
        return error_set_errno(err, errno, "cannot examine '%s'", file);
    if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode)) /* opening a fifo would block */
        return error_set(err, ERR_INVALID, "'%s' is neither a file nor a block device", file);
    file_fd = sys_open(file, (is_read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NONBLOCK, 0);
    if (file_fd < 0)
        return error_set_errno(err, errno, "cannot open '%s'", file);
    for (int tries = 0; tries < LOOP_TRIES_MAX && r == -EBUSY; tries++) {
        int number = sys_ioctl(control, LOOP_CTL_GET_FREE, NULL);
        if (number < 0)
            return error_set_errno(err, errno, "cannot find a free loop device");
        r = configure_device(number, file_fd, file, is_read_only);
        if (r == 0)
            (void)snprintf(ret, PATH_MAX, "/dev/loop%d", number);
    }
    return r < 0 ? error_set_errno(err, -r, "cannot attach '%s' to a loop device", file) : 0;
}

int loop_attach(const char *file, bool is_read_only, char ret[PATH_MAX], struct error *err)
{
    _cleanup_(fd_closep) int control = -1;
    int r;

    control = sys_open(LOOP_CONTROL, O_RDWR | O_CLOEXEC, 0);
    if (control < 0)
        return error_set_errno(err, errno, "cannot open '%s'", LOOP_CONTROL);
    do
        r = sys_flock(control, LOCK_EX);
    while (r < 0 && errno == EINTR);
    if (r < 0)
        return error_set_errno(err, errno, "cannot lock '%s'", LOOP_CONTROL);
    r = loop_find(file, ret, err);
    return r == -ERR_NOT_FOUND ? attach_free_device(control, file, is_read_only, ret, err) : r;
}

int loop_detach(const char *device, struct error *err)
{
    _cleanup_(fd_closep) int fd = sys_open(device, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);

    if ((fd < 0 || sys_ioctl(fd, LOOP_CLR_FD, NULL) < 0) && errno != ENOENT && errno != ENXIO)
        return error_set_errno(err, errno, "cannot detach '%s'", device);
    return 0; /* also when the device does not exist or is not attached */
}
