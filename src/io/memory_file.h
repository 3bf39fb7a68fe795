/* Content that a library wants as a file, without a file: for keys that must not reach a disk.
 *
 * The path leads into this process' own descriptors and is good for it alone. It can be opened again and
 * again until the descriptor is closed. */
#ifndef BERTH_IO_MEMORY_FILE_H
#define BERTH_IO_MEMORY_FILE_H

#include "base/error.h"
#include "base/str.h"
#include "io/file.h"

/* "/proc/self/fd/" and a number. */
#define MEMORY_FILE_PATH_BYTES 40

/* `name` is for messages and for who looks into /proc. Read-only from here on. */
int memory_file(const char *name, struct str content, char ret_path[MEMORY_FILE_PATH_BYTES], int *ret_fd,
                struct error *err);

#endif
