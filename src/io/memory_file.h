/* Content that a library accepts only as a file, kept in memory: for keys that must not be written to a disk.
 *
 * The path is in /proc/self/fd, so it works only in this process, and only until the descriptor is closed. It
 * can be opened any number of times. */
#ifndef BERTH_IO_MEMORY_FILE_H
#define BERTH_IO_MEMORY_FILE_H

#include "base/error.h"
#include "base/str.h"
#include "io/file.h"

/* "/proc/self/fd/" and a number. */
#define MEMORY_FILE_PATH_BYTES 40

/* `name` is for messages and shows up in /proc. The file is read-only. */
int memory_file(const char *name, struct str content, char ret_path[MEMORY_FILE_PATH_BYTES], int *ret_fd,
                struct error *err);

#endif
