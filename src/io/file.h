/* Files as a whole: replaced atomically, read up to a bound; directories made and locked.
 *
 * All of it blocks: at start-up call it straight, later from a worker of io/pool.h. Every error names the
 * path. */
#ifndef BERTH_IO_FILE_H
#define BERTH_IO_FILE_H

#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"

/* For _cleanup_ on a descriptor that starts at -1. */
static inline void closep(const int *fd)
{
    if (*fd >= 0)
        (void)close(*fd); /* nothing to do about it here; writers sync before */
}

/* The descriptor; *fd itself is -1 afterwards. */
static inline int take_fd(int *fd)
{
    int taken = *fd;

    *fd = -1;
    return taken;
}

/* Temporary files begin with this; one is left behind only by a crash, and may be deleted by whoever owns the
 * directory. */
#define IO_TMP_PREFIX ".berth-tmp-"

/* Makes `path` a regular file with this content and this mode, whatever the umask. Whoever opens path sees
 * the old file or the new one, whole; when it returns 0 the new one survives a power cut. On failure the old
 * file stays, with one exception: if the final sync of the directory fails, the new file is in place but may
 * not survive. */
int io_replace_file(const char *path, const void *data, size_t len, mode_t mode, struct error *err);
/* The same for `name`, without any '/', in the directory dirfd (opened for reading, not O_PATH). */
int io_replace_file_at(int dirfd, const char *name, const void *data, size_t len, mode_t mode,
                       struct error *err);

/* Replaces the contents of *ret by those of the file, at most bytes_max; a larger one is ERR_TOO_LARGE. Reads
 * to the end, so pipes and /proc work too. ret is an initialised buffer; its ceiling becomes bytes_max. */
int io_read_file(const char *path, size_t bytes_max, struct buf *ret, struct error *err);
/* The same of an open file, from where it stands; it stays open. path: how errors call it. */
int io_read_fd(int fd, const char *path, size_t bytes_max, struct buf *ret, struct error *err);

/* Makes the directory and its missing parents, all with this mode less the umask, and syncs each new entry. A
 * directory that is there stays as it is. */
int io_mkdirs(const char *path, mode_t mode, struct error *err);

#define IO_LOCK_NAME "lock"

/* Takes the directory for this process alone: an exclusive flock on DIR/lock, which holds our process id.
 * ERR_BUSY, "… is in use by process N", when another has it; where that one is dead, and only children that
 * it was about to start have the lock still, they are waited for, two seconds at most. Close *ret_fd to give
 * it back; the kernel does when we die. The lock file stays: deleting it would let two processes lock two
 * different files. */
int io_lock_dir(const char *dir, int *ret_fd, struct error *err);

/* Takes a file that is there for this process alone, whatever path others reach it by: another mount, a hard
 * link. Only programs that call this are kept out, not readers and writers. ERR_BUSY as above. A symbolic
 * link is refused. Keep *ret_fd open for as long as anything else in this process has the file open: closing
 * it would take away the POSIX locks that they have on it. */
int io_lock_file(const char *path, int *ret_fd, struct error *err);

/* Takes the lock that a file stands for, made if it is missing, and waits for it as long as somebody else has
 * it. Close *ret_fd to give it back. */
int io_wait_for_lock(const char *path, int *ret_fd, struct error *err);

#endif
