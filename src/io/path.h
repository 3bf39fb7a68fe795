/* Single operations on paths: existence, temporary files and directories under unpredictable names, atomic
 * replacement, removal.
 *
 * For files that are written piece by piece, such as a database; files that are written at once use
 * io/file.h. All functions block. Every error names the path. */
#ifndef BERTH_IO_PATH_H
#define BERTH_IO_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

/* True for any entry of that name, also a dangling link. */
int io_exists(const char *path, bool *ret, struct error *err);
/* The permission bits of the file; follows links. */
int io_mode(const char *path, mode_t *ret, struct error *err);
/* The path, prefixed with the working directory if it is relative. Links and ".." are not resolved. */
int io_absolute(const char *path, char ret[PATH_MAX], struct error *err);
/* True when both exist and are the same file. */
bool io_is_same_file(const char *a, const char *b);
/* Whether this process may create files in the directory, and the owner of the directory. ERR_NOT_FOUND when
 * it does not exist. */
int io_may_write_dir(const char *dir, bool *ret, uid_t *ret_owner, struct error *err);
/* True when the directory does not exist, or contains only its lock and temporary files (io/file.h). */
int io_dir_is_empty(const char *dir, bool *ret, struct error *err);

/* Creates an empty file, mode 0600, in the directory of path; ret is its path. */
int io_tmp_file_beside(const char *path, char ret[PATH_MAX], struct error *err);
/* The same; and until io_unguard_tmp() a signal that ends the process (io/end_signal.h) deletes the files
 * whose names are this one's with one of the endings. "" is the file itself. There is one such file at a
 * time. */
int io_guarded_tmp_file_beside(const char *path, const char *const *endings, size_t count, char ret[PATH_MAX],
                               struct error *err);
void io_unguard_tmp(void);
/* Syncs the file, renames it to path and syncs the directory: readers of path see the old file or the new
 * one, and the new one survives a power failure. */
int io_move_into_place(const char *file, const char *path, struct error *err);
/* Deletes the file if it exists. Best effort: for temporary files. */
void io_discard_file(const char *path);

/* Creates a directory, mode 0700, below parent; ret is its path. */
int io_tmp_dir_below(const char *parent, char ret[PATH_MAX], struct error *err);
/* Deletes the directory and the files in it, but no subdirectory. Best effort. */
void io_discard_dir(const char *dir);

#endif
