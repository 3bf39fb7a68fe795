/* Whole files: atomic replacement, bounded reads; creating and locking directories.
 *
 * All functions block: call them directly at startup, later from a worker of io/pool.h. Every error names the
 * path. */
#ifndef BERTH_IO_FILE_H
#define BERTH_IO_FILE_H

#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"

/* For _cleanup_ on a descriptor that starts at -1. */
void fd_closep(const int *fd);

/* The descriptor; *fd itself is -1 afterwards. */
static inline int take_fd(int *fd)
{
    int taken = *fd;

    *fd = -1;
    return taken;
}

/* Prefix of temporary files. A crash may leave one behind; the owner of the directory may delete it. */
#define IO_TMP_PREFIX ".berth-tmp-"

/* Makes `path` a regular file with this content and this mode, regardless of the umask. Readers see the old
 * file or the new one, complete; after it returns 0 the new file survives a power failure. On failure the old
 * file stays, with one exception: if the final sync of the directory fails, the new file is in place but may
 * not survive. */
int io_replace_file(const char *path, const void *data, size_t len, mode_t mode, struct error *err);
/* The same for `name`, without any '/', in the directory dirfd (opened for reading, not O_PATH). */
int io_replace_file_at(int dirfd, const char *name, const void *data, size_t len, mode_t mode,
                       struct error *err);

/* The same for a file that does not exist yet: of several processes that do this at once, one succeeds, also
 * on a file server. ERR_EXISTS, and nothing is changed, when there is anything of that name. A file system
 * without hard links does not exclude others. */
int io_create_file_at(int dirfd, const char *name, const void *data, size_t len, mode_t mode,
                      struct error *err);

/* Replaces the contents of *ret by those of the file, at most bytes_max; a larger one is ERR_TOO_LARGE. Reads
 * to the end, so pipes and /proc work too. ret is an initialised buffer; its limit becomes bytes_max. */
int io_read_file(const char *path, size_t bytes_max, struct buf *ret, struct error *err);
/* The same for an open file, from its current position; it stays open. path: for error messages. */
int io_read_fd(int fd, const char *path, size_t bytes_max, struct buf *ret, struct error *err);

/* Creates the directory and its missing parents, all with this mode less the umask, and syncs each new entry.
 * An existing directory is not changed. */
int io_mkdirs(const char *path, mode_t mode, struct error *err);

#define IO_LOCK_NAME "lock"

/* Locks the directory for this process: an exclusive flock on DIR/lock, which contains our process id.
 * ERR_BUSY, "… is in use by process N", when another process holds it. If that process is dead and only
 * children that it was about to start hold the lock, waits for them, two seconds at most. Close *ret_fd to
 * release it; the kernel does so when the process dies. The lock file is never deleted: otherwise two
 * processes could lock two different files. */
int io_lock_dir(const char *dir, int *ret_fd, struct error *err);

/* Locks an existing file for this process, whatever path others reach it by: another mount, a hard link. The
 * lock excludes only programs that call this function, not readers and writers. ERR_BUSY as above. A symbolic
 * link is refused. Keep *ret_fd open as long as anything else in this process has the file open: closing it
 * would drop the POSIX locks that this process holds on the file. */
int io_lock_file(const char *path, int *ret_fd, struct error *err);

/* Takes an exclusive lock on the file, which is created if it is missing, and waits as long as another
 * process holds it. Close *ret_fd to release it. */
int io_wait_for_lock(const char *path, int *ret_fd, struct error *err);

#endif
