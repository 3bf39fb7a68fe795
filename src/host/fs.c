#include "host/fs.h"

#include <errno.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "io/file.h"

int host_fs_kind(const char *path, enum host_fs_kind *ret, uint64_t *ret_block_bytes, struct error *err)
{
    struct statfs fs;
    uint32_t magic;

    if (statfs(path, &fs) < 0)
        return error_set_errno(err, errno, "cannot examine the file system of '%s'", path);
    magic = (uint32_t)fs.f_type;
    *ret = magic == TMPFS_MAGIC       ? HOST_FS_TMPFS
           : magic == HUGETLBFS_MAGIC ? HOST_FS_HUGETLBFS
                                      : HOST_FS_OTHER;
    if (ret_block_bytes)
        *ret_block_bytes = (uint64_t)fs.f_bsize;
    return 0;
}

/* A file system that is configured and never made tells what its kernel knows: the option came with 6.4 and
 * with some older kernels of distributions, and is refused in user namespaces. */
bool host_tmpfs_takes_noswap(void)
{
    _cleanup_(closep) int fd = fsopen("tmpfs", FSOPEN_CLOEXEC);

    return fd >= 0 && fsconfig(fd, FSCONFIG_SET_FLAG, "noswap", NULL, 0) == 0;
}

int host_enter_private_mounts(struct error *err)
{
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return error_set_errno(err, errno, "cannot have mounts of our own");
    return 0;
}
