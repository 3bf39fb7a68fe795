/* Walks over trees that others may change meanwhile, or may have built as an attack. Blocks: call it from the
 * pool.
 *
 * All operations use descriptors: a directory is entered by host_open_dir() from an open one, without links
 * and within the mount. So whatever is changed meanwhile, the walk stays in directories that were below its
 * root when it entered them.
 *
 * The levels are a list, not a recursion, and the WALK_OPEN_MAX deepest of them are open. A closed one is
 * opened again through ".." when the walk returns to it, and must then be the same directory: one that was
 * moved meanwhile ends the walk. A level costs 64 bytes and its name, an open one also a descriptor and 32
 * KiB, whatever the size of the directory. */
#ifndef BERTH_HOST_TREE_WALK_H
#define BERTH_HOST_TREE_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/vec.h"
#include "host/remove.h"
#include "io/sys.h"

#define WALK_TEXT_BYTES 400 /* of a path in an error */

/* The identity of a directory, including its mount: two mounts may show the same directory. */
struct tree_walk_identity {
    uint64_t ino;
    uint64_t mount;
    uint32_t dev_major, dev_minor;
};

/* Identifies an open directory or file, O_PATH too. 0 or -errno. */
int tree_walk_identify(int fd, struct tree_walk_identity *ret);
bool tree_walk_identity_eq(const struct tree_walk_identity *a, const struct tree_walk_identity *b);

struct tree_walk_level {
    struct sys_dir *dir; /* NULL: closed, to be reopened from the level below */
    struct tree_walk_identity id;
    size_t name_at;  /* in walk.names; the first level has none */
    long place;      /* position in the listing, of a closed level */
    uint32_t rounds; /* used by remove.c, like */
    bool found_some; /* this: something was found in this round */
};

struct tree_walk {
    VEC(struct tree_walk_level) levels; /* from the root down; all below levels_closed are closed */
    size_t levels_closed;
    struct buf names; /* NUL-terminated */
    const char *root; /* its path, for errors */
    const host_stop *stop;
};

/* --- Visiting all entries --- */

/* Both end the walk if they return anything but 0. */
struct tree_walk_visitor {
    /* An entry that is not a directory, by its name in an open one. */
    int (*file)(void *ctx, const struct tree_walk *w, int dir, const char *name, struct error *err);
    /* A directory, after everything in it. */
    int (*dir)(void *ctx, const struct tree_walk *w, int fd, struct error *err);
    void *ctx;
};

/* Visits everything in the open directory and finally the directory itself; closes it, on failure too.
 * Entries that disappear meanwhile and mounts below are skipped; a directory that cannot be read is an error.
 * ERR_CANCELLED when stop is set. Returns the result of a visit that ended the walk. */
int tree_walk_run_take(int fd, const char *path, const host_stop *stop, const struct tree_walk_visitor *v,
                       struct error *err);

/* --- For other kinds of walks --- */

void tree_walk_init(struct tree_walk *w, const char *root, const host_stop *stop);
void tree_walk_end(struct tree_walk *w);
bool tree_walk_is_stopped(const struct tree_walk *w);

struct tree_walk_level *tree_walk_top(struct tree_walk *w);
/* Adds an open directory, which the walk owns from now on, on failure too. name: "" for the first. */
int tree_walk_push_take(struct tree_walk *w, int fd, const char *name, struct error *err);
/* Opens the level above the top one if it was closed; 1 when it was. */
int tree_walk_reopen_upper(struct tree_walk *w, struct error *err);
void tree_walk_pop(struct tree_walk *w);

/* The path of `name` in the current level, quoted; of the level itself when name is "". */
const char *tree_walk_path(const struct tree_walk *w, const char *name, char ret[WALK_TEXT_BYTES]);
/* "cannot WHAT PATH: …"; a mount in the way is ERR_BUSY. */
int tree_walk_fail(const struct tree_walk *w, int errnum, const char *what, const char *name,
                   struct error *err);
/* The path of `name` relative to the root, "a/b/name"; of the level itself when name is "". False when it
 * does not fit. */
bool tree_walk_relative(const struct tree_walk *w, const char *name, char *ret, size_t size);

#endif
