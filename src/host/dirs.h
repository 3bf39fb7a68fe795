/* Listing directories. Blocks briefly: for local paths, otherwise call it from the pool. Links in the path
 * are followed: for directories that the administrator has set up. */
#ifndef BERTH_HOST_DIRS_H
#define BERTH_HOST_DIRS_H

#include <dirent.h>
#include <stdbool.h>

#include "api/object.h"
#include "base/arena.h"
#include "base/error.h"

#define HOST_DIRS_MAX 4096

/* The names of the directories directly below path, links to directories too, sorted bytewise, in a. Names
 * that begin with '.' are left out. More than HOST_DIRS_MAX are ERR_TOO_LARGE. */
int host_list_dirs(const char *path, struct arena *a, struct texts *ret, struct error *err);
/* The same for all entries except "." and ".."; more than count_max is ERR_TOO_LARGE. */
int host_list_dir(const char *path, struct arena *a, uint32_t count_max, struct texts *ret,
                  struct error *err);

/* The kinds of entries that host_list_below() lists. */
enum {
    HOST_LIST_DIRS = 1 << 0,
    HOST_LIST_LINKS = 1 << 1,
    HOST_LIST_OTHERS = 1 << 2,
    HOST_LIST_ALL = HOST_LIST_DIRS | HOST_LIST_LINKS | HOST_LIST_OTHERS,
};
/* The names of those kinds in the directory `path` below the open directory `at`, sorted bytewise, in a. For
 * untrusted directories: no link is followed and no mount entered, and a directory with more than count_max
 * entries, of whatever kind, is ERR_TOO_LARGE without being read to its end. */
int host_list_below(int at, const char *path, unsigned kinds, struct arena *a, uint32_t count_max,
                    struct texts *ret, struct error *err);

/* True for a regular file that this process may execute; links are followed. */
bool host_is_executable(const char *path);

#endif
