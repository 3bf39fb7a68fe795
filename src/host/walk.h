/* Trees that others may change while we walk over them, and may have built to hurt. Blocks: for the pool.
 *
 * Everything goes by descriptor: a directory is entered by host_open_dir() from an open one, without links
 * and within the mount. So whatever the tree is made into meanwhile, the walk stays in directories that were
 * below its root when it entered them.
 *
 * The levels are a list, not a recursion, and of them the WALK_OPEN_MAX deepest are open. A closed one is
 * opened again through ".." when the walk comes back up, and must then be the same directory: one that was
 * moved away in between ends the walk. A level costs 64 bytes and its name, an open one a descriptor and
 * 32 KiB; a directory's size costs nothing. */
#ifndef BERTH_HOST_WALK_H
#define BERTH_HOST_WALK_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/vec.h"
#include "host/remove.h"

#define WALK_TEXT_BYTES 400 /* of a path in an error */

/* Which directory it is. The mount counts: two of them may show the same one. */
struct walk_identity {
    uint64_t ino;
    uint64_t mount;
    uint32_t dev_major, dev_minor;
};

/* Of an open directory or file, O_PATH too. 0 or -errno. */
int walk_identify(int fd, struct walk_identity *ret);
bool walk_identity_eq(const struct walk_identity *a, const struct walk_identity *b);

struct walk_level {
    DIR *dir; /* NULL: closed, to be found again from the level below */
    struct walk_identity id;
    size_t name_at;  /* in walk.names; the first level has none */
    long place;      /* in the listing, of a closed one */
    uint32_t rounds; /* the remover's, as is */
    bool found_some; /* in this round */
};

struct walk {
    VEC(struct walk_level) levels; /* from the root down; all below levels_closed are closed */
    size_t levels_closed;
    struct buf names; /* each with its NUL */
    const char *root; /* its path, for errors */
    const host_stop *stop;
};

/* --- Visiting everything --- */

/* Both may end the walk with anything but 0. */
struct walk_visitor {
    /* What is no directory, by its name in an open one. */
    int (*file)(void *ctx, const struct walk *w, int dir, const char *name, struct error *err);
    /* A directory, after everything in it. */
    int (*dir)(void *ctx, const struct walk *w, int fd, struct error *err);
    void *ctx;
};

/* Visits everything in the open directory and at last itself; closes it, on failure too. What vanishes
 * meanwhile and what is mounted below is passed over; a directory that cannot be read is an error.
 * ERR_CANCELLED when stop is set. Returns what a visit ended it with, too. */
int walk_tree_take(int fd, const char *path, const host_stop *stop, const struct walk_visitor *v,
                   struct error *err);

/* --- For walks of another kind --- */

void walk_init(struct walk *w, const char *root, const host_stop *stop);
void walk_end(struct walk *w);
bool walk_is_stopped(const struct walk *w);

struct walk_level *walk_top(struct walk *w);
/* Adds an open directory, which is the walk's from now on, on failure too. name: "" for the first. */
int walk_push_take(struct walk *w, int fd, const char *name, struct error *err);
/* Opens the level above the top one if it was closed; 1 when it was. */
int walk_reopen_upper(struct walk *w, struct error *err);
void walk_pop(struct walk *w);

/* The path of `name` in the level at hand, quoted; of the level itself when name is "". */
const char *walk_path(const struct walk *w, const char *name, char ret[WALK_TEXT_BYTES]);
/* "cannot WHAT PATH: …"; a mount in the way is ERR_BUSY. */
int walk_fail(const struct walk *w, int errnum, const char *what, const char *name, struct error *err);
/* The path of `name` from the root on, "a/b/name"; of the level itself when name is "". False when it does
 * not fit. */
bool walk_relative(const struct walk *w, const char *name, char *ret, size_t size);

#endif
