/* Volumes on loop files: an image per volume, its loop device, and a file system on it. Only for drivers
 * whose state has `loop`; the volumes of others are directories. */
#include "csi_driver.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/loop.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEVICE_BYTES 64

bool disk_is_used(void)
{
    return access(state_path("loop"), F_OK) == 0;
}

static const char *image_of(const char *volume)
{
    char name[700];

    (void)snprintf(name, sizeof name, "disks/%s", volume);
    (void)mkdir(state_path("disks"), 0755);
    return state_path(name);
}

/* Makes the image, or makes it larger. */
bool disk_size(const char *volume, int64_t bytes)
{
    int fd = open(image_of(volume), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct stat st;
    bool is_done = fd >= 0 && fstat(fd, &st) == 0 && (st.st_size >= bytes || ftruncate(fd, bytes) == 0);

    if (fd >= 0)
        (void)close(fd);
    return is_done;
}

/* The device of a volume, "" if it has none. */
const char *disk_device(const char *volume)
{
    static char device[LINE_BYTES];
    char name[700];

    (void)snprintf(name, sizeof name, "device-%s", volume);
    return state_setting(name, "", device);
}

bool driver_run(const char *const *argv)
{
    int status = 0;
    pid_t pid;

    (void)signal(SIGCHLD, SIG_DFL); /* the end of this one is awaited */
    pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);

        (void)dup2(null, 1);
        (void)dup2(null, 2);
        (void)execvp(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool set_up_device(int image, char ret[DEVICE_BYTES])
{
    struct loop_config config = { .fd = (uint32_t)image };
    int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    bool is_done = false;

    for (int tries = 0; control >= 0 && !is_done && tries < 20; tries++) {
        int n = ioctl(control, LOOP_CTL_GET_FREE), fd;

        (void)snprintf(ret, DEVICE_BYTES, "/dev/loop%d", n);
        fd = n >= 0 ? open(ret, O_RDWR | O_CLOEXEC) : -1;
        is_done = fd >= 0 && ioctl(fd, LOOP_CONFIGURE, &config) == 0;
        if (fd >= 0)
            (void)close(fd);
    }
    if (control >= 0)
        (void)close(control);
    return is_done;
}

bool disk_attach(const char *volume)
{
    char device[DEVICE_BYTES], name[700];
    int image;
    FILE *f;
    bool is_done;

    if (disk_device(volume)[0])
        return true;
    image = open(image_of(volume), O_RDWR | O_CLOEXEC);
    is_done = image >= 0 && set_up_device(image, device);
    if (image >= 0)
        (void)close(image);
    if (!is_done)
        return false;
    (void)snprintf(name, sizeof name, "device-%s", volume);
    f = fopen(state_path(name), "we");
    if (!f || fputs(device, f) < 0 || fclose(f) != 0)
        driver_die(name);
    return true;
}

void disk_detach(const char *volume)
{
    int fd = disk_device(volume)[0] ? open(disk_device(volume), O_RDONLY | O_CLOEXEC) : -1;
    char name[700];

    if (fd >= 0) {
        (void)ioctl(fd, LOOP_CLR_FD);
        (void)close(fd);
    }
    (void)snprintf(name, sizeof name, "device-%s", volume);
    (void)unlink(state_path(name));
}

void disk_remove(const char *volume)
{
    disk_detach(volume);
    (void)unlink(image_of(volume));
}

/* A device without a file system gets one. */
bool disk_format(const char *volume)
{
    const char *device = disk_device(volume);
    const char *const probe[] = { "blkid", device, NULL };
    const char *const mkfs[] = { "mkfs.ext4", "-q", "-F", device, NULL };

    return driver_run(probe) || driver_run(mkfs);
}

/* The device and what is on it get the size of the image. */
bool disk_grow(const char *volume, bool has_files)
{
    const char *device = disk_device(volume);
    const char *const resize[] = { "resize2fs", device, NULL };
    int fd = device[0] ? open(device, O_RDWR | O_CLOEXEC) : -1;
    bool is_done = fd >= 0 && ioctl(fd, LOOP_SET_CAPACITY) == 0;

    if (fd >= 0)
        (void)close(fd);
    return is_done && (!has_files || driver_run(resize));
}
