/* What kinds of file systems there are, and a view of the mounts of one's own. Blocks a little: for the pool.
 */
#ifndef BERTH_HOST_FS_H
#define BERTH_HOST_FS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum host_fs_kind { HOST_FS_OTHER, HOST_FS_TMPFS, HOST_FS_HUGETLBFS };

/* The file system that path is on. ret_block_bytes: NULL, or its blocks; of hugetlbfs its pages. */
int host_fs_kind(const char *path, enum host_fs_kind *ret, uint64_t *ret_block_bytes, struct error *err);

/* True when this kernel mounts tmpfs, for us, so that it is never swapped out. Asks the kernel and mounts
 * nothing. */
bool host_tmpfs_takes_noswap(void);

/* What this thread, and those it starts from now on, mount is seen by nobody else and ends with them.
 * ERR_DENIED without the right to. */
int host_enter_private_mounts(struct error *err);

#endif
