/* Files in a data directory: what they must be, writes in place, and reserved disk space.
 *
 * An own file is a regular file with one name that is owned by the user of this process; root also accepts
 * files of other users, such as those of a service that ran under a dynamic user before. Anything else was
 * put there by hand: through a symbolic link or a second name another program may write to it, and files that
 * belong beside it (the journal of a database) would be searched elsewhere.
 *
 * All functions block. Every error names the path. */
#ifndef BERTH_IO_OWN_FILE_H
#define BERTH_IO_OWN_FILE_H

#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

/* Refuses a path that exists and is not an own file. */
int io_check_own_file(const char *path, struct error *err);
/* Opens an own file for reading and writing; ERR_NOT_FOUND when it does not exist. */
int io_open_own_file(const char *path, int *ret_fd, struct error *err);
/* The same, but creates an empty file when none exists. */
int io_make_own_file(const char *path, int *ret_fd, struct error *err);

/* Overwrites the beginning of the file, in one call and without a sync: 0 or -errno. */
int io_overwrite(int fd, struct str data);

/* Sets the length of the file and allocates disk blocks for all of it; a shorter length releases blocks. 0 or
 * -errno: -ENOSPC when the disk has too little space. A failure to grow leaves the length unchanged. */
int io_set_space(int fd, uint64_t bytes);
/* The bytes allocated to the file, and the bytes that unprivileged users may still write to its disk. */
int io_space(int fd, uint64_t *ret_held, uint64_t *ret_free, struct error *err);

#endif
