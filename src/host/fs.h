/* Kinds of file systems, and private mount namespaces. Blocks briefly: call it from the pool. */
#ifndef BERTH_HOST_FS_H
#define BERTH_HOST_FS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum host_fs_kind { HOST_FS_OTHER, HOST_FS_TMPFS, HOST_FS_HUGETLBFS };

/* The kind of the file system of path. ret_block_bytes: NULL, or its block size; of hugetlbfs its page size.
 */
int host_fs_kind(const char *path, enum host_fs_kind *ret, uint64_t *ret_block_bytes, struct error *err);

/* True when this kernel supports tmpfs with noswap for this process. Queries the kernel and mounts nothing.
 */
bool host_tmpfs_takes_noswap(void);

/* Mounts made by this thread, and by threads started later, are visible only to them and end with them.
 * ERR_DENIED without the privilege. */
int host_enter_private_mounts(struct error *err);

#endif
