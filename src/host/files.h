/* Files and directories: kind, creation, ownership, disk usage. Blocks: call it from the pool. */
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

/* "Directory", "File", … as in the API; "" for the first and the last. */
extern const char *const file_kind_names[];

/* Follows links. A path that cannot be examined counts as missing only when it does not exist. */
int host_file_kind(const char *path, enum file_kind *ret, struct error *err);

/* Creates the directory and its missing parents, those with mode 0750; path itself gets exactly this mode,
 * regardless of the umask, also when it existed and is ours. No link is followed. */
int host_make_path(const char *path, mode_t mode, struct error *err);

/* Creates an empty file, this mode less the umask; not its parents, and not through a link. An existing file
 * is not changed; ERR_EXISTS for anything else. */
int host_make_file(const char *path, mode_t mode, struct error *err);

/* The contents of a regular file below the open directory `at`; anything else is ERR_INVALID, and no link is
 * followed and no other mount entered. ret and bytes_max as in io_read_file(). */
int host_read_below(int at, const char *path, size_t bytes_max, struct buf *ret, struct error *err);

struct ownership {
    gid_t gid;
    /* The path comes from an object: check it with host/guard.h first. */
    bool is_guarded;
    const struct guard_dirs *dirs; /* NULL for none */
    bool is_read_only;             /* read access for the group only */
    bool on_root_mismatch;         /* do nothing when the root of the tree is already correct */
    const host_stop *stop;
    /* Called on the same thread after 30 s and then every 60 s of the clock. Both NULL for none. */
    void (*progress)(void *ctx, uint64_t files_done);
    const struct clock *clock;
    void *ctx;
};

/* Gives the group access to everything in the tree: files |= 0660 (0440), directories also |= 0110 and
 * setgid, children before their parent, so that an interrupted walk is repeated. Links get the group and are
 * not followed; other file systems mounted in it are not entered. Entries that cannot be changed are skipped;
 * a directory that cannot be read is an error. *ret_walked: false when nothing had to be done. */
int host_own(const char *path, const struct ownership *o, bool *ret_walked, struct error *err);

/* The group of the directory or file; follows links. */
int host_group_of(const char *path, gid_t *ret, struct error *err);

struct host_usage {
    uint64_t capacity;
    uint64_t available;
    uint64_t used;
    uint64_t inodes;
    uint64_t inodes_free;
    uint64_t inodes_used;
};

/* The file system of path. */
int host_usage_of_fs(const char *path, struct host_usage *ret, struct error *err);
/* used and inodes_used of the tree itself (allocated blocks, one file system), the rest of its file system.
 * Files with several names count once, as long as there are less than a million of them. */
int host_usage_of_tree(const char *path, const host_stop *stop, struct host_usage *ret, struct error *err);

#endif
