/* The files that stand for a block device: a file that it is bound to, a link that leads to it. Blocks: for
 * the pool. */
#ifndef BERTH_HOST_BLOCK_FILES_H
#define BERTH_HOST_BLOCK_FILES_H

#include "host/mount.h"

/* Binds the device to the file `path`, which is made, with its directory, where it is missing. What is bound
 * there already stays. On failure nothing is bound, and an empty file may stay. */
int block_bind(const struct host_tools *t, const char *device, const char *path, struct error *err);
/* Ends the bind and removes the file; what is not there is done. */
int block_unbind(const struct host_tools *t, const char *path, struct error *err);

/* Makes `path` a link to the device, in place of any link there; ERR_EXISTS for anything else there. The
 * directory is made where it is missing. */
int block_link(const char *device, const char *path, struct error *err);
/* Removes a link, and nothing but a link; one that is not there is done. */
int block_unlink(const char *path, struct error *err);

/* ERR_BUSY, `the device "DIR" is still referenced from other Pods [A B]`, when a device is in the directory.
 * One that is not there has none. */
int block_check_unbound(const char *dir, struct error *err);

#endif
