/* Mounting and unmounting. Blocks: for the pool.
 *
 * What the kernel mounts by itself (binds, tmpfs, a file system on a device) goes through libmount in this
 * process. What needs a server or a helper (nfs) is a child process, `mount`, which a time limit can end; so
 * is what asks mount(8) itself for something (loop, X-mount.mkdir). No target is ever taken from fstab, and
 * nothing is written to /run/mount. The failures of both read as mount(8) would tell them:
 *
 *     mount failed: exit status 32
 *     Mounting command: mount
 *     Mounting arguments: -t ext4 -o defaults /dev/sdb /x
 *     Output: mount: /x: ...
 *
 * but for a type that mounts by a helper which is not there: "mount.nfs is not installed: install
 * nfs-common".
 */
#ifndef BERTH_HOST_MOUNT_H
#define BERTH_HOST_MOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "api/object.h"
#include "base/error.h"
#include "host/command.h"

/* How this machine's commands are run: handed down to all that runs one. */
struct host_tools {
    const char *commands_path; /* the PATH of mount, mkfs, …; NULL: the system's */
    const atomic_int *stop;    /* anything but 0 ends a command that runs; NULL for none */
};

struct mount_plan {
    const char *source; /* "" for none */
    const char *target; /* a directory or a file that is there */
    const char *type;   /* "" for a bind mount and for what the kernel finds out */
    struct texts options;
    struct texts secret_options; /* shown as <masked> in errors */
    uint64_t limit_ns;           /* of a child process; 0: two minutes */
};

/* In the words of a failure: the process may not mount at all; */
#define MOUNT_NOT_PERMITTED "mounting needs root"
/* behind the helper's name, and in front of the package that has it. */
#define MOUNT_HELPER_MISSING " is not installed"
#define MOUNT_HELPER_PACKAGE ": install "

/* Mounts. With the option "bind" it takes two steps, since the first ignores all other options: the bind,
 * then a remount with them and with the flags that the source's mount has (ro, nosuid, nodev, noexec,
 * noatime, nodiratime, relatime), which must not be lost. "remount" of a bind is dropped. When the second
 * step fails the first one is undone. */
int host_mount(const struct host_tools *t, const struct mount_plan *plan, struct error *err);

/* Bind-mounts what an open descriptor (O_PATH will do) stands for, whatever name it has by now. */
int host_bind_fd(const struct host_tools *t, int fd, const char *target, struct texts options,
                 struct error *err);

/* `unmount failed: …`. A target where nothing is mounted is done; one that is a link is not followed. */
int host_unmount(const struct host_tools *t, const char *target, struct error *err);
/* The same as a child process with a time limit; when that is over, by force. For what a dead server holds.
 */
int host_unmount_forced(const struct host_tools *t, const char *target, uint64_t limit_ns, struct error *err);
/* Takes the mount out of the tree now; the kernel ends it when nobody uses it any more. */
int host_unmount_lazily(const char *target, struct error *err);

/* Unmounts what is mounted at path and removes the directory, or the empty file, that it was mounted on; what
 * is not there is done. It never removes content: a directory or a file that is not empty is an error. Texts:
 * `Error checking path: …`, `failed to cleanup mount point …`. limit_ns: 0, or after so long by force. */
int host_clean_mount_point(const struct host_tools *t, const char *path, uint64_t limit_ns,
                           struct error *err);

/* What is at a path; a link is not followed. No server is asked, so that a dead one cannot hold it up: a dead
 * mount that the kernel can tell of from memory counts as mounted. */
enum host_path_state {
    HOST_PATH_MISSING,
    HOST_PATH_PLAIN,
    HOST_PATH_MOUNTED,   /* something is mounted right there */
    HOST_PATH_CORRUPTED, /* a mount whose server or daemon is gone: ENOTCONN, ESTALE, EIO, EACCES, EHOSTDOWN,
                            EWOULDBLOCK, ENODEV */
};
int host_path_state(const char *path, enum host_path_state *ret, struct error *err);
bool host_is_corrupted_errno(int errnum);

/* Options of users and of ours: each once, sorted bytewise; empty ones of the user's dropped. In a. */
int host_join_options(struct arena *a, struct texts user, struct texts ours, struct texts *ret,
                      struct error *err);

#endif
