/* Operations that need several system calls, and the switch between Linux and a simulated kernel. */
#include "io/sys.h"

#include <errno.h>
#include <linux/capability.h>

_Thread_local struct sys *sys_here;

struct sys *sys_enter(struct sys *k)
{
    struct sys *before = sys_here;

    sys_here = k;
    return before;
}

bool sys_may_mount(void)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = { 0 };

    if (sys_here)
        return sys_here->calls->may_mount(sys_here);
    return syscall(SYS_capget, &head, sets) == 0 && sets[0].effective & 1U << CAP_SYS_ADMIN;
}

/* Creates the context of a tmpfs without mounting it, to test whether the kernel supports the option: noswap
 * came with 6.4 and with some older kernels of distributions, and is refused in user namespaces. */
bool sys_tmpfs_takes_noswap(void)
{
    int fd;
    bool takes;

    if (sys_here)
        return sys_here->calls->tmpfs_takes_noswap(sys_here);
    fd = fsopen("tmpfs", FSOPEN_CLOEXEC);
    takes = fd >= 0 && fsconfig(fd, FSCONFIG_SET_FLAG, "noswap", NULL, 0) == 0;
    if (fd >= 0)
        (void)close(fd); /* nothing was written */
    return takes;
}

struct sys_dir *sys_opendir(const char *path)
{
    int fd = sys_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0), errnum;
    struct sys_dir *d = fd < 0 ? NULL : sys_fdopendir(fd);

    if (fd >= 0 && !d) {
        errnum = errno;
        (void)sys_close(fd); /* nothing was written */
        errno = errnum;
    }
    return d;
}
