/* Files that represent a block device: a file that it is bind-mounted on, and a symbolic link to it. Blocks:
 * call it from the pool. */
#ifndef BERTH_HOST_BLOCK_FILES_H
#define BERTH_HOST_BLOCK_FILES_H

#include "host/mount_syscall.h"

/* Bind-mounts the device on the file `path`, which is created, with its directory, if it is missing. An
 * existing bind stays. On failure nothing is mounted, and an empty file may remain. */
int block_bind(const struct host_tools *t, const char *device, const char *path, struct error *err);
/* Unmounts the bind and removes the file; a missing file is not an error. */
int block_unbind(const struct host_tools *t, const char *path, struct error *err);

/* Makes `path` a link to the device, replacing any link; ERR_EXISTS for anything else there. The directory is
 * created if it is missing. */
int block_link(const char *device, const char *path, struct error *err);
/* The same where there is no link yet: an existing one stays, wherever it leads. */
int block_link_first(const char *device, const char *path, struct error *err);
/* Removes a link, and only a link; a missing one is not an error. */
int block_unlink(const char *path, struct error *err);

/* ERR_BUSY, `the device "DIR" is still referenced from other Pods [A B]`, when the directory contains a
 * device. A missing directory contains none. */
int block_check_unbound(const char *dir, struct error *err);

#endif
