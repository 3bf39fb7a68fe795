/* Maps statfs() magic numbers to kinds, and creates a private mount namespace with unshare(). */
#include "host/fs.h"

#include <errno.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/statfs.h>

#include "base/cleanup.h"
#include "io/sys.h"

int host_fs_kind(const char *path, enum host_fs_kind *ret, uint64_t *ret_block_bytes, struct error *err)
{
    struct statfs fs;
    uint32_t magic;

    if (sys_statfs(path, &fs) < 0)
        return error_set_errno(err, errno, "cannot examine the file system of '%s'", path);
    magic = (uint32_t)fs.f_type;
    *ret = magic == TMPFS_MAGIC       ? HOST_FS_TMPFS
           : magic == HUGETLBFS_MAGIC ? HOST_FS_HUGETLBFS
                                      : HOST_FS_OTHER;
    if (ret_block_bytes)
        *ret_block_bytes = (uint64_t)fs.f_bsize;
    return 0;
}

bool host_tmpfs_takes_noswap(void)
{
    return sys_tmpfs_takes_noswap();
}

int host_enter_private_mounts(struct error *err)
{
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return error_set_errno(err, errno, "cannot create a private mount namespace");
    return 0;
}
