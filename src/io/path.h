/* Single steps on paths: is it there, a new file or directory under a name nobody can guess, into place,
 * away.
 *
 * For files that others write piece by piece, such as a database; what is written at once goes through
 * io/file.h. All of it blocks. Every error names the path. */
#ifndef BERTH_IO_PATH_H
#define BERTH_IO_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

/* Anything of that name, a dangling link too. */
int io_exists(const char *path, bool *ret, struct error *err);
/* The permission bits of the file, of what a link leads to. */
int io_mode(const char *path, mode_t *ret, struct error *err);
/* The path, put below the working directory when it is relative. Links and ".." stay in it. */
int io_absolute(const char *path, char ret[PATH_MAX], struct error *err);
/* True when both are there and are one file, by whatever names. */
bool io_is_same_file(const char *a, const char *b);
/* May this process make files in the directory? And whose it is. ERR_NOT_FOUND when it is not there. */
int io_may_write_dir(const char *dir, bool *ret, uid_t *ret_owner, struct error *err);
/* True when there is no such directory, or nothing in it but its lock and temporary files (io/file.h). */
int io_dir_is_free(const char *dir, bool *ret, struct error *err);

/* A new empty file, mode 0600, in the directory of path; its own path is in ret. */
int io_tmp_file_beside(const char *path, char ret[PATH_MAX], struct error *err);
/* The same; and until io_unguard_tmp() a signal that ends the process (io/end_signal.h) deletes the files
 * whose names are this one's with an ending. "" is the file itself. There is one such file at a time. */
int io_guarded_tmp_file_beside(const char *path, const char *const *endings, size_t count, char ret[PATH_MAX],
                               struct error *err);
void io_unguard_tmp(void);
/* Syncs the file, puts it in path's place and syncs the directory: whoever opens path sees the old file or
 * the new one, and the new one survives a power cut. */
int io_move_into_place(const char *file, const char *path, struct error *err);
/* Deletes the file if it is there. Best effort: for what was temporary. */
void io_discard_file(const char *path);

/* A new directory, mode 0700, below parent; its own path is in ret. */
int io_tmp_dir_below(const char *parent, char ret[PATH_MAX], struct error *err);
/* Deletes the directory and the files in it, but no directory below. Best effort. */
void io_discard_dir(const char *dir);

#endif
