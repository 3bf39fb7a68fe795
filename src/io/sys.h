/* System calls that a simulated machine can replace: files, directories, mounts, devices, child processes,
 * watches.
 *
 * Every thread calls Linux until sys_enter() gives it another kernel. The simulator enters a model of a
 * machine around each turn of a simulated process and on the workers that run its jobs; elsewhere each call
 * costs one comparison. A descriptor, a directory stream, a watch and a child belong to the kernel that
 * created them.
 *
 * The calls have the arguments, results and errno of the functions that they are named after. Host, node,
 * plugins and the controllers that touch the machine call these and not libc (tests/tidy checks it). */
#ifndef BERTH_IO_SYS_H
#define BERTH_IO_SYS_H

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "io/dirwatch.h"
#include "io/process.h"

struct buf;
struct host_system; /* host/system.h */
struct mount_watch; /* host/mount_watch.h */
struct pool;
struct rpc_call; /* rpc/rpc.h */
struct rpc_client;
struct rpc_request;
struct rpc_watch;
struct sys;
struct sys_dir;

struct sys_calls {
    /* Files by path. */
    int (*openat)(struct sys *k, int at, const char *path, int flags, mode_t mode);
    int (*openat2)(struct sys *k, int at, const char *path, const struct open_how *how);
    int (*fstatat)(struct sys *k, int at, const char *path, struct stat *ret, int flags);
    int (*statx)(struct sys *k, int at, const char *path, int flags, unsigned mask, struct statx *ret);
    int (*statfs)(struct sys *k, const char *path, struct statfs *ret);
    int (*statvfs)(struct sys *k, const char *path, struct statvfs *ret);
    int (*access)(struct sys *k, const char *path, int mode);
    int (*chmod)(struct sys *k, const char *path, mode_t mode);
    int (*mkdirat)(struct sys *k, int at, const char *path, mode_t mode);
    int (*unlinkat)(struct sys *k, int at, const char *path, int flags);
    int (*renameat)(struct sys *k, int at, const char *path, int to_at, const char *to);
    int (*linkat)(struct sys *k, int at, const char *path, int to_at, const char *to);
    int (*symlinkat)(struct sys *k, const char *target, int at, const char *path);
    ssize_t (*readlinkat)(struct sys *k, int at, const char *path, char *ret, size_t size);
    int (*fchownat)(struct sys *k, int at, const char *path, uid_t uid, gid_t gid, int flags);
    char *(*realpath)(struct sys *k, const char *path); /* free() it */

    /* Descriptors. */
    int (*close)(struct sys *k, int fd);
    int (*dup)(struct sys *k, int fd); /* close-on-exec */
    ssize_t (*read)(struct sys *k, int fd, void *ret, size_t size);
    ssize_t (*write)(struct sys *k, int fd, const void *data, size_t len);
    ssize_t (*pwrite)(struct sys *k, int fd, const void *data, size_t len, off_t at);
    int (*fstat)(struct sys *k, int fd, struct stat *ret);
    int (*fchmod)(struct sys *k, int fd, mode_t mode);
    int (*fchown)(struct sys *k, int fd, uid_t uid, gid_t gid);
    int (*fsync)(struct sys *k, int fd);
    int (*fdatasync)(struct sys *k, int fd);
    int (*flock)(struct sys *k, int fd, int operation);
    int (*ioctl)(struct sys *k, int fd, unsigned long request, void *arg);

    /* Directories. fdopendir takes ownership of the descriptor when it succeeds. */
    struct sys_dir *(*fdopendir)(struct sys *k, int fd);
    const struct dirent *(*readdir)(struct sys *k, struct sys_dir *d);
    int (*dirfd)(struct sys *k, struct sys_dir *d);
    long (*telldir)(struct sys *k, struct sys_dir *d);
    void (*seekdir)(struct sys *k, struct sys_dir *d, long place);
    void (*closedir)(struct sys *k, struct sys_dir *d);

    /* Mounts. mount: like mount(8), with the options as one text; 0 or an errno. */
    int (*mount)(struct sys *k, const char *source, const char *target, const char *type,
                 const char *options);
    int (*umount2)(struct sys *k, const char *target, int flags);
    bool (*tmpfs_takes_noswap)(struct sys *k);

    /* User and privileges of this process. */
    uid_t (*geteuid)(struct sys *k);
    bool (*may_mount)(struct sys *k);
    ssize_t (*getrandom)(struct sys *k, void *ret, size_t size);

    /* io/process.h. process_wait() runs a child to its end, on a worker. */
    int (*process_run)(struct sys *k, struct loop *l, const struct process_spec *spec, process_done_fn done,
                       void *ctx, struct process **ret, struct error *err);
    void (*process_cancel)(struct sys *k, struct process *p);
    void (*process_drop)(struct sys *k, struct process *p);
    int (*process_wait)(struct sys *k, const struct process_spec *spec, const atomic_int *stop,
                        process_done_fn done, void *ctx, struct error *err);

    /* rpc/rpc.h: calls to peers behind the sockets of this machine. rpc_wait: code is an enum rpc_code. */
    int (*rpc_start)(struct sys *k, struct rpc_client *client, const struct rpc_request *q,
                     struct rpc_call *c, struct error *err);
    void (*rpc_cancel)(struct sys *k, struct rpc_call *c);
    int (*rpc_watch)(struct sys *k, struct rpc_client *client, const char *socket, struct rpc_watch *w,
                     struct error *err);
    void (*rpc_unwatch)(struct sys *k, struct rpc_watch *w);
    int (*rpc_wait)(struct sys *k, struct rpc_client *client, const struct rpc_request *q,
                    const atomic_int *stop, struct buf *ret, unsigned *ret_code, struct error *err);

    /* io/pool.h: workers that call this kernel. */
    int (*pool_new)(struct sys *k, struct loop *l, struct pool **ret, struct error *err);

    /* io/dirwatch.h. nearest: dirwatch_start_nearest(). */
    int (*dirwatch_start)(struct sys *k, struct loop *l, const char *path, bool nearest, dirwatch_fn fn,
                          void *ctx, struct dirwatch **ret, bool *ret_is_present, struct error *err);
    struct dirwatch *(*dirwatch_stop)(struct sys *k, struct dirwatch *w);

    /* Functions of host/ that query libraries or the whole machine. probe: the type of the file system on an
     * open device, "" for none, or its UUID; 0 or an errno. */
    int (*probe)(struct sys *k, int fd, bool wants_uuid, char *ret, size_t size);
    int (*system_read)(struct sys *k, struct host_system *ret, struct error *err);
    int (*mount_watch_start)(struct sys *k, struct loop *l, loop_fn fn, void *ctx, struct mount_watch **ret,
                             struct error *err);
    struct mount_watch *(*mount_watch_stop)(struct sys *k, struct mount_watch *w);
};

/* The first member of each kernel's own struct. */
struct sys {
    const struct sys_calls *calls;
};

/* This thread's kernel; NULL: Linux. For this header and the few functions that a kernel implements as a
 * whole. */
extern _Thread_local struct sys *sys_here;

/* Makes this thread call k; NULL: Linux. Returns the previous kernel, to be restored later. */
struct sys *sys_enter(struct sys *k);

static inline int sys_openat(int at, const char *path, int flags, mode_t mode)
{
    return sys_here ? sys_here->calls->openat(sys_here, at, path, flags, mode)
                    : openat(at, path, flags, mode);
}

static inline int sys_openat2(int at, const char *path, const struct open_how *how)
{
    return sys_here ? sys_here->calls->openat2(sys_here, at, path, how)
                    : (int)syscall(SYS_openat2, at, path, how, sizeof *how);
}

static inline int sys_fstatat(int at, const char *path, struct stat *ret, int flags)
{
    return sys_here ? sys_here->calls->fstatat(sys_here, at, path, ret, flags)
                    : fstatat(at, path, ret, flags);
}

static inline int sys_statx(int at, const char *path, int flags, unsigned mask, struct statx *ret)
{
    return sys_here ? sys_here->calls->statx(sys_here, at, path, flags, mask, ret)
                    : statx(at, path, flags, mask, ret);
}

static inline int sys_statfs(const char *path, struct statfs *ret)
{
    return sys_here ? sys_here->calls->statfs(sys_here, path, ret) : statfs(path, ret);
}

static inline int sys_statvfs(const char *path, struct statvfs *ret)
{
    return sys_here ? sys_here->calls->statvfs(sys_here, path, ret) : statvfs(path, ret);
}

static inline int sys_access(const char *path, int mode)
{
    return sys_here ? sys_here->calls->access(sys_here, path, mode) : access(path, mode);
}

static inline int sys_chmod(const char *path, mode_t mode)
{
    return sys_here ? sys_here->calls->chmod(sys_here, path, mode) : chmod(path, mode);
}

static inline int sys_mkdirat(int at, const char *path, mode_t mode)
{
    return sys_here ? sys_here->calls->mkdirat(sys_here, at, path, mode) : mkdirat(at, path, mode);
}

static inline int sys_unlinkat(int at, const char *path, int flags)
{
    return sys_here ? sys_here->calls->unlinkat(sys_here, at, path, flags) : unlinkat(at, path, flags);
}

static inline int sys_renameat(int at, const char *path, int to_at, const char *to)
{
    return sys_here ? sys_here->calls->renameat(sys_here, at, path, to_at, to)
                    : renameat(at, path, to_at, to);
}

static inline int sys_linkat(int at, const char *path, int to_at, const char *to)
{
    return sys_here ? sys_here->calls->linkat(sys_here, at, path, to_at, to)
                    : linkat(at, path, to_at, to, /* flags= */ 0);
}

static inline int sys_symlinkat(const char *target, int at, const char *path)
{
    return sys_here ? sys_here->calls->symlinkat(sys_here, target, at, path) : symlinkat(target, at, path);
}

static inline ssize_t sys_readlinkat(int at, const char *path, char *ret, size_t size)
{
    return sys_here ? sys_here->calls->readlinkat(sys_here, at, path, ret, size)
                    : readlinkat(at, path, ret, size);
}

static inline int sys_fchownat(int at, const char *path, uid_t uid, gid_t gid, int flags)
{
    return sys_here ? sys_here->calls->fchownat(sys_here, at, path, uid, gid, flags)
                    : fchownat(at, path, uid, gid, flags);
}

static inline char *sys_realpath(const char *path)
{
    return sys_here ? sys_here->calls->realpath(sys_here, path) : realpath(path, NULL);
}

static inline int sys_close(int fd)
{
    return sys_here ? sys_here->calls->close(sys_here, fd) : close(fd);
}

static inline int sys_dup(int fd)
{
    return sys_here ? sys_here->calls->dup(sys_here, fd) : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

static inline ssize_t sys_read(int fd, void *ret, size_t size)
{
    return sys_here ? sys_here->calls->read(sys_here, fd, ret, size) : read(fd, ret, size);
}

static inline ssize_t sys_write(int fd, const void *data, size_t len)
{
    return sys_here ? sys_here->calls->write(sys_here, fd, data, len) : write(fd, data, len);
}

static inline ssize_t sys_pwrite(int fd, const void *data, size_t len, off_t at)
{
    return sys_here ? sys_here->calls->pwrite(sys_here, fd, data, len, at) : pwrite(fd, data, len, at);
}

static inline int sys_fstat(int fd, struct stat *ret)
{
    return sys_here ? sys_here->calls->fstat(sys_here, fd, ret) : fstat(fd, ret);
}

static inline int sys_fchmod(int fd, mode_t mode)
{
    return sys_here ? sys_here->calls->fchmod(sys_here, fd, mode) : fchmod(fd, mode);
}

static inline int sys_fchown(int fd, uid_t uid, gid_t gid)
{
    return sys_here ? sys_here->calls->fchown(sys_here, fd, uid, gid) : fchown(fd, uid, gid);
}

static inline int sys_fsync(int fd)
{
    return sys_here ? sys_here->calls->fsync(sys_here, fd) : fsync(fd);
}

static inline int sys_fdatasync(int fd)
{
    return sys_here ? sys_here->calls->fdatasync(sys_here, fd) : fdatasync(fd);
}

static inline int sys_flock(int fd, int operation)
{
    return sys_here ? sys_here->calls->flock(sys_here, fd, operation) : flock(fd, operation);
}

static inline int sys_ioctl(int fd, unsigned long request, void *arg)
{
    return sys_here ? sys_here->calls->ioctl(sys_here, fd, request, arg) : ioctl(fd, request, arg);
}

static inline struct sys_dir *sys_fdopendir(int fd)
{
    return sys_here ? sys_here->calls->fdopendir(sys_here, fd) : (struct sys_dir *)fdopendir(fd);
}

static inline const struct dirent *sys_readdir(struct sys_dir *d)
{
    return sys_here ? sys_here->calls->readdir(sys_here, d) : readdir((DIR *)d);
}

static inline int sys_dirfd(struct sys_dir *d)
{
    return sys_here ? sys_here->calls->dirfd(sys_here, d) : dirfd((DIR *)d);
}

static inline long sys_telldir(struct sys_dir *d)
{
    return sys_here ? sys_here->calls->telldir(sys_here, d) : telldir((DIR *)d);
}

static inline void sys_seekdir(struct sys_dir *d, long place)
{
    if (sys_here)
        sys_here->calls->seekdir(sys_here, d, place);
    else
        seekdir((DIR *)d, place);
}

static inline void sys_closedir(struct sys_dir *d)
{
    if (sys_here)
        sys_here->calls->closedir(sys_here, d);
    else
        (void)closedir((DIR *)d);
}

static inline int sys_umount2(const char *target, int flags)
{
    return sys_here ? sys_here->calls->umount2(sys_here, target, flags) : umount2(target, flags);
}

static inline uid_t sys_geteuid(void)
{
    return sys_here ? sys_here->calls->geteuid(sys_here) : geteuid();
}

static inline ssize_t sys_getrandom(void *ret, size_t size)
{
    return sys_here ? sys_here->calls->getrandom(sys_here, ret, size) : getrandom(ret, size, 0);
}

/* CAP_SYS_ADMIN. */
bool sys_may_mount(void);
/* Whether tmpfs supports the option noswap. */
bool sys_tmpfs_takes_noswap(void);

/* --- Combinations of the calls above --- */

static inline int sys_open(const char *path, int flags, mode_t mode)
{
    return sys_openat(AT_FDCWD, path, flags, mode);
}

static inline int sys_stat(const char *path, struct stat *ret)
{
    return sys_fstatat(AT_FDCWD, path, ret, 0);
}

static inline int sys_lstat(const char *path, struct stat *ret)
{
    return sys_fstatat(AT_FDCWD, path, ret, AT_SYMLINK_NOFOLLOW);
}

static inline int sys_mkdir(const char *path, mode_t mode)
{
    return sys_mkdirat(AT_FDCWD, path, mode);
}

static inline int sys_rmdir(const char *path)
{
    return sys_unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

static inline int sys_unlink(const char *path)
{
    return sys_unlinkat(AT_FDCWD, path, 0);
}

static inline int sys_rename(const char *path, const char *to)
{
    return sys_renameat(AT_FDCWD, path, AT_FDCWD, to);
}

static inline int sys_symlink(const char *target, const char *path)
{
    return sys_symlinkat(target, AT_FDCWD, path);
}

static inline ssize_t sys_readlink(const char *path, char *ret, size_t size)
{
    return sys_readlinkat(AT_FDCWD, path, ret, size);
}

/* NULL with errno set when it cannot be opened. */
struct sys_dir *sys_opendir(const char *path);

/* For _cleanup_. */
static inline void sys_closedirp(struct sys_dir **d)
{
    if (*d)
        sys_closedir(*d);
}

#endif
