/* Mounting and unmounting. Blocks: call it from the pool.
 *
 * Mounts that the kernel makes without help (binds, tmpfs, a file system on a device) go through libmount in
 * this process. Mounts that need a server or a helper (nfs) run as a child process, `mount`, which a time
 * limit can end; so do options that mount(8) itself implements (loop, X-mount.mkdir). Nothing is read from
 * fstab, and nothing is written to /run/mount. The failures of both read like those of mount(8):
 *
 *     mount failed: exit status 32
 *     Mounting command: mount
 *     Mounting arguments: -t ext4 -o defaults /dev/sdb /x
 *     Output: mount: /x: ...
 *
 * except when the helper of the type is missing: "mount.nfs is not installed: install nfs-common". */
#ifndef BERTH_HOST_MOUNT_SYSCALL_H
#define BERTH_HOST_MOUNT_SYSCALL_H

#include <stdbool.h>
#include <stdint.h>

#include "api/object.h"
#include "base/error.h"
#include "host/command.h"

/* How commands are run: passed to all functions that run one. */
struct host_tools {
    const char *commands_path; /* the PATH of mount, mkfs, …; NULL: the system's */
    const atomic_int *stop;    /* any value but 0 ends a running command; NULL for none */
};

struct mount_plan {
    const char *source; /* "" for none */
    const char *target; /* an existing directory or file */
    const char *type;   /* "" for a bind mount and for detection by the kernel */
    struct texts options;
    struct texts secret_options; /* shown as <masked> in errors */
    uint64_t limit_ns;           /* limit of a child process; 0: two minutes */
};

/* Texts of failures: the process lacks the privilege to mount; */
#define MOUNT_NOT_PERMITTED "mounting needs root"
/* after the helper's name, and before the package that contains it. */
#define MOUNT_HELPER_MISSING " is not installed"
#define MOUNT_HELPER_PACKAGE ": install "

/* Mounts. With the option "bind" it takes two steps, since the first ignores all other options: the bind,
 * then a remount with them and with the flags of the source's mount (ro, nosuid, nodev, noexec, noatime,
 * nodiratime, relatime), which must not be lost. "remount" of a bind is dropped. When the second step fails,
 * the first is undone. ERR_UNCERTAIN for a child process that was ended: the mount may exist, or may appear
 * later. */
int host_mount(const struct host_tools *t, const struct mount_plan *plan, struct error *err);

/* Bind-mounts what an open descriptor (O_PATH too) refers to, whatever its present path. */
int host_bind_fd(const struct host_tools *t, int fd, const char *target, struct texts options,
                 struct error *err);

/* `unmount failed: …`. A target where nothing is mounted is not an error; a link is not followed. */
int host_unmount(const struct host_tools *t, const char *target, struct error *err);
/* The same as a child process with a time limit; after that with force. For mounts of a dead server. */
int host_unmount_forced(const struct host_tools *t, const char *target, uint64_t limit_ns, struct error *err);
/* Detaches the mount from the tree at once; the kernel ends it when it is no longer used. */
int host_unmount_lazily(const char *target, struct error *err);

/* Unmounts what is mounted at path and removes the directory, or the empty file, that it was mounted on; a
 * missing path is not an error. It never removes content: a directory or a file that is not empty is an
 * error. Texts: `Error checking path: …`, `failed to cleanup mount point …`. limit_ns: 0, or the time after
 * which force is used. */
int host_clean_mount_point(const struct host_tools *t, const char *path, uint64_t limit_ns,
                           struct error *err);

/* The state of a path; a link is not followed. No server is contacted, so that a dead one cannot block the
 * call: a dead mount that the kernel can answer for from memory counts as mounted. */
enum host_path_state {
    HOST_PATH_MISSING,
    HOST_PATH_PLAIN,
    HOST_PATH_MOUNTED, /* it is a mount point */
    /* Server or daemon is gone: ENOTCONN, ESTALE, EIO, EACCES, EHOSTDOWN, EWOULDBLOCK, ENODEV. */
    HOST_PATH_CORRUPTED,
};
int host_path_state(const char *path, enum host_path_state *ret, struct error *err);
bool host_is_corrupted_errno(int errnum);

/* Merges options of the user with ours: each once, sorted bytewise; empty options of the user are dropped. In
 * a. */
int host_join_options(struct arena *a, struct texts user, struct texts ours, struct texts *ret,
                      struct error *err);

#endif
