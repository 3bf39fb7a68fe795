/* Files in a directory of ours: what they must be, written in place, and space that is kept in one.
 *
 * A file of our own is a regular file with one name that belongs to the user of this process; root also takes
 * files of other users, such as those of a service that ran under a dynamic user before. Anything else was
 * put there by hand: behind a symbolic link or a second name another program may write, and what belongs
 * beside the file (the journal of a database) is looked for elsewhere.
 *
 * All of it blocks. Every error names the path. */
#ifndef BERTH_IO_OWN_FILE_H
#define BERTH_IO_OWN_FILE_H

#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

/* Refuses a path that is there and is no file of our own. */
int io_check_own_file(const char *path, struct error *err);
/* Opens a file of our own for reading and writing; ERR_NOT_FOUND when there is none. */
int io_open_own_file(const char *path, int *ret_fd, struct error *err);
/* The same; an empty file is made when there is none. */
int io_make_own_file(const char *path, int *ret_fd, struct error *err);

/* Writes data over the beginning of the file, in one call and without a sync: 0 or -errno. */
int io_overwrite(int fd, struct str data);

/* Makes the file so many bytes long, with blocks of the disk behind all of them; shorter gives blocks back.
 * 0 or -errno: -ENOSPC when the disk has not as much. A failure to grow leaves the file as long as it was. */
int io_set_space(int fd, uint64_t bytes);
/* How much the file holds, and how much others than the administrator may still write to its disk. */
int io_space(int fd, uint64_t *ret_held, uint64_t *ret_free, struct error *err);

#endif
