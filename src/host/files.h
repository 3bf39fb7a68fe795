/* What is at a path, who owns it, how much it holds. Blocks: for the pool. */
#ifndef BERTH_HOST_FILES_H
#define BERTH_HOST_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "host/guard.h"
#include "host/remove.h"

enum file_kind {
    FILE_MISSING,
    FILE_DIR,
    FILE_REGULAR,
    FILE_SOCKET,
    FILE_CHAR_DEVICE,
    FILE_BLOCK_DEVICE,
    FILE_OTHER
};

/* "Directory", "File", … as the API calls them; "" for the first and the last. */
extern const char *const file_kind_names[];

/* Follows links. A path that cannot be examined counts as missing only when it is not there. */
int host_file_kind(const char *path, enum file_kind *ret, struct error *err);

/* Makes the directory and its missing parents, those with 0750; exactly this mode for path itself, whatever
 * the umask, also when it was there and is ours. No link is followed. */
int host_make_path(const char *path, mode_t mode, struct error *err);

/* Makes an empty file, this mode less the umask; not its parents, and nothing where a link leads. One that is
 * there stays as it is: ERR_EXISTS for anything else. */
int host_make_file(const char *path, mode_t mode, struct error *err);

/* The contents of a regular file below the open directory `at`; anything else is ERR_INVALID, and no link is
 * followed nor another mount entered on the way. ret and bytes_max as io_read_file() has them. */
int host_read_below(int at, const char *path, size_t bytes_max, struct buf *ret, struct error *err);

struct ownership {
    gid_t gid;
    /* The path is an object's choice: host/guard.h is asked first. */
    bool is_guarded;
    const struct guard_dirs *dirs; /* NULL for none */
    bool is_read_only;             /* the group may read only */
    bool on_root_mismatch;         /* leave everything alone when the top already is as it should be */
    const host_stop *stop;
    /* After 30 s and then each 60 s by the clock, how far it is; on the same thread. Both NULL for none. */
    void (*progress)(void *ctx, uint64_t files_done);
    const struct clock *clock;
    void *ctx;
};

/* Gives everything in the tree to the group: files |= 0660 (0440), directories |= 0110 and setgid besides,
 * children before their parent, so that a walk that was interrupted is begun anew. Links get the group and
 * are not followed; other file systems mounted in it are not entered. What cannot be changed is passed over;
 * a directory that cannot be read is an error. *ret_walked: false when nothing had to be done. */
int host_own(const char *path, const struct ownership *o, bool *ret_walked, struct error *err);

/* Whose group the directory or file is; follows links. */
int host_group_of(const char *path, gid_t *ret, struct error *err);

struct host_usage {
    uint64_t capacity;
    uint64_t available;
    uint64_t used;
    uint64_t inodes;
    uint64_t inodes_free;
    uint64_t inodes_used;
};

/* Of the file system that path is on. */
int host_usage_of_fs(const char *path, struct host_usage *ret, struct error *err);
/* used and inodes_used of the tree itself (allocated blocks, one file system), the rest of its file system.
 * Files with several names count once, as long as there are less than a million of them. */
int host_usage_of_tree(const char *path, const host_stop *stop, struct host_usage *ret, struct error *err);

#endif
