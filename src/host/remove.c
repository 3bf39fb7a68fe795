/* A walk (host/walk.h) that removes: an entry by its name in an open directory, a directory once it is empty.
 *
 * Each level is listed until nothing is left, at most WALK_ROUNDS_MAX times: a writer who is as fast as we
 * are gives ERR_BUSY, not a walk without end. A directory's size costs nothing, since entries are removed as
 * they are listed. */
#include "host/remove.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "host/guard.h"
#include "host/mount_table.h"
#include "host/safe_path.h"
#include "host/walk.h"
#include "io/file.h"

#define WALK_ROUNDS_MAX 64
#define VOLUME_DEPTH_MIN 2

/* Nobody is kept from removing a file by its mode, so EPERM needs an explanation. */
static int walk_cannot_remove(const struct walk *w, int dirfd, const char *name, int errnum,
                              struct error *err)
{
    const uint64_t fixed = STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND;
    char text[WALK_TEXT_BYTES];
    struct statx st;

    if (errnum == EPERM && statx(dirfd, name, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &st) == 0 &&
        (st.stx_attributes & fixed) != 0)
        return error_set(err, ERR_DENIED, "cannot remove %s: it is %s", walk_path(w, name, text),
                         st.stx_attributes & STATX_ATTR_IMMUTABLE ? "immutable" : "append-only");
    return walk_fail(w, errnum, "remove", name, err);
}

/* Down and up */

static int walk_enter(struct walk *w, const char *name, struct error *err)
{
    int upper = dirfd(walk_top(w)->dir);
    int fd = host_open_dir(upper, name, 0);

    if (fd == -EACCES && unlinkat(upper, name, AT_REMOVEDIR) == 0)
        return 0; /* an empty one need not be read */
    /* Gone, or no directory any more: the next round finds out. */
    if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP)
        return 0;
    if (fd < 0)
        return walk_fail(w, -fd, "open directory", name, err);
    return walk_push_take(w, fd, name, err);
}

/* Another look at the level at hand: something was left in it, or came. */
static int walk_again(struct walk *w, struct error *err)
{
    struct walk_level *top = walk_top(w);
    char text[WALK_TEXT_BYTES];

    if (++top->rounds >= WALK_ROUNDS_MAX)
        return error_set(err, ERR_BUSY, "somebody keeps writing to %s", walk_path(w, "", text));
    rewinddir(top->dir);
    top->found_some = false;
    return 0;
}

/* The listing is at its end. */
static int walk_leave(struct walk *w, struct error *err)
{
    const char *name;
    int r, upper;

    if (w->levels.count == 1) {
        if (walk_top(w)->found_some)
            return walk_again(w, err);
        walk_pop(w);
        return 0;
    }
    r = walk_reopen_upper(w, err);
    if (r < 0)
        return r;
    upper = dirfd(w->levels.items[w->levels.count - 2].dir);
    name = w->names.data + walk_top(w)->name_at;
    if (unlinkat(upper, name, AT_REMOVEDIR) == 0 || errno == ENOENT || errno == ENOTDIR) {
        walk_pop(w); /* what has taken its place is found by the next round above */
        return 0;
    }
    if (errno == ENOTEMPTY || errno == EEXIST)
        return walk_again(w, err);
    r = errno;
    char copy[NAME_MAX + 1];
    (void)snprintf(copy, sizeof copy, "%s", name);
    walk_pop(w);
    return walk_cannot_remove(w, upper, copy, r, err);
}

/* One entry */

static bool is_dir(int at, const char *name)
{
    struct stat st;

    return fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static int walk_remove(struct walk *w, const struct dirent *e, struct error *err)
{
    int fd = dirfd(walk_top(w)->dir);
    int errnum;

    if (e->d_type == DT_DIR)
        return walk_enter(w, e->d_name, err);
    if (unlinkat(fd, e->d_name, 0) == 0 || errno == ENOENT)
        return 0;
    errnum = errno;
    /* Not every file system lists types, and a file may be a directory by now. */
    if ((errnum == EISDIR || errnum == EPERM) && is_dir(fd, e->d_name))
        return walk_enter(w, e->d_name, err);
    return walk_cannot_remove(w, fd, e->d_name, errnum, err);
}

static int walk_step(struct walk *w, struct error *err)
{
    struct walk_level *top = walk_top(w);
    const struct dirent *e;

    if (walk_is_stopped(w))
        return error_set(err, ERR_CANCELLED, "'%s' was removed in part only", w->root);
    errno = 0;
    e = readdir(top->dir); /* each stream is used by one thread */
    if (!e && errno != 0)
        return walk_fail(w, errno, "list", "", err);
    if (!e)
        return walk_leave(w, err);
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
        return 0;
    top->found_some = true;
    return walk_remove(w, e, err);
}

/* Empties an open directory and closes it, on failure too. */
static int empty_take(int fd, const char *path, const host_stop *stop, struct error *err)
{
    struct walk w;
    int r;

    walk_init(&w, path, stop);
    r = walk_push_take(&w, fd, "", err);
    while (r == 0 && w.levels.count > 0)
        r = walk_step(&w, err);
    walk_end(&w);
    return r;
}

/* The volume itself */

static int clean_volume_path(const char *path, char ret[PATH_MAX], struct error *err)
{
    char clean[PATH_MAX];
    int r = host_clean_path(path, clean, err);

    if (r < 0)
        return r;
    if (host_path_depth(clean) < VOLUME_DEPTH_MIN)
        return error_set(err, ERR_INVALID, "'%s' is too near the root to be a volume's directory", path);
    memcpy(ret, clean, strlen(clean) + 1);
    return 0;
}

/* Words for what host_open_dir() refused. */
static int open_refused(int errnum, const char *path, struct error *err)
{
    if (errnum == ELOOP || errnum == ENOTDIR) /* the last component's link is ENOTDIR, too */
        return error_set(err, ERR_INVALID, "'%s' leads through a symbolic link or a file", path);
    if (errnum == EXDEV)
        return error_set(err, ERR_BUSY, "something is mounted at or above '%s'", path);
    return error_set_errno(err, errnum, "cannot open directory '%s'", path);
}

/* Opens the directory that holds the volume's: path without its last component, where *ret_name points. The
 * descriptor, or -errno. */
static int open_holder(const char *base, const char *path, const char **ret_name)
{
    _cleanup_(closep) int basefd = -1;
    const char *last = strrchr(path, '/'), *rest;
    char holder[PATH_MAX];

    (void)snprintf(holder, sizeof holder, "%.*s", (int)(last - path), path);
    *ret_name = last + 1;
    if (!base)
        return host_open_dir(AT_FDCWD, holder, HOST_OPEN_ANY_MOUNT);
    basefd = host_open_dir(AT_FDCWD, base, HOST_OPEN_ANY_MOUNT);
    if (basefd < 0 || strcmp(base, holder) == 0)
        return take_fd(&basefd);
    rest = holder + strlen(base);
    return host_open_dir(basefd, rest + (*rest == '/'), 0);
}

/* How a tree is removed. */
struct removal {
    bool is_own; /* nothing is asked before */
    const struct host_guard *guard;
    const host_stop *stop;
};

/* ENOTDIR may be a link or a file. Only a file may be a volume. */
static int remove_file(int holder, const char *name, const char *path, const struct removal *how,
                       struct error *err)
{
    _cleanup_(closep) int fd = host_open_below(holder, name, O_PATH, 0);
    struct stat st;
    int r = 0;

    if (fd == -ENOENT)
        return 0;
    if (fd < 0)
        return open_refused(-fd, path, err);
    if (fstat(fd, &st) < 0)
        return error_set_errno(err, errno, "cannot examine '%s'", path);
    if (S_ISLNK(st.st_mode))
        return error_set(err, ERR_INVALID, "'%s' is a symbolic link", path);
    if (!how->is_own)
        r = host_guard_check(how->guard, fd, path, err);
    if (r < 0)
        return r;
    if (unlinkat(holder, name, 0) < 0 && errno != ENOENT)
        return error_set_errno(err, errno, "cannot remove '%s'", path);
    return 0;
}

static int remove_dir(int holder, const char *name, const char *path, struct error *err)
{
    if (unlinkat(holder, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return 0;
    if (errno == ENOTEMPTY || errno == EEXIST)
        return error_set(err, ERR_BUSY, "somebody keeps writing to '%s'", path);
    return error_set_errno(err, errno, "cannot remove directory '%s'", path);
}

int host_empty_dir(const char *path, const struct host_guard *guard, const host_stop *stop, struct error *err)
{
    _cleanup_(closep) int holder = -1, fd = -1;
    char clean[PATH_MAX];
    const char *name;
    struct stat st;
    int r = clean_volume_path(path, clean, err);

    if (r < 0)
        return r;
    holder = open_holder(NULL, clean, &name);
    if (holder == -ENOENT)
        return 0;
    if (holder < 0)
        return open_refused(-holder, clean, err);
    fd = host_open_dir(holder, name, HOST_OPEN_ANY_MOUNT);
    if (fd == -ENOENT)
        return 0;
    if ((fd == -ENOTDIR || fd == -ELOOP) && fstatat(holder, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return error_set(err, ERR_INVALID, "'%s' is %s", clean,
                         S_ISLNK(st.st_mode) ? "a symbolic link" : "not a directory");
    if (fd < 0)
        return open_refused(-fd, clean, err);
    r = host_guard_check(guard, fd, clean, err);
    if (r == 0)
        r = host_check_unmounted(clean, /* at_too= */ false, err);
    return r < 0 ? r : empty_take(take_fd(&fd), clean, stop, err);
}

static int remove_at(int holder, const char *name, const char *path, const struct removal *how,
                     struct error *err)
{
    _cleanup_(closep) int fd = host_open_dir(holder, name, 0);
    int r = 0;

    if (fd == -ENOENT)
        return 0;
    if (fd == -ENOTDIR || fd == -ELOOP)
        return remove_file(holder, name, path, how, err);
    if (fd < 0)
        return open_refused(-fd, path, err);
    if (!how->is_own)
        r = host_guard_check(how->guard, fd, path, err);
    if (r == 0 && !how->is_own)
        r = host_check_unmounted(path, /* at_too= */ true, err);
    if (r == 0)
        r = empty_take(take_fd(&fd), path, how->stop, err);
    return r < 0 ? r : remove_dir(holder, name, path, err);
}

int host_remove_at(int dir, const char *name, const char *path, const host_stop *stop, struct error *err)
{
    return remove_at(dir, name, path, &(struct removal){ .is_own = true, .stop = stop }, err);
}

/* With clean paths. */
static int remove_below(const char *base, const char *path, const struct removal *how, struct error *err)
{
    _cleanup_(closep) int holder = -1;
    const char *name;

    holder = open_holder(base, path, &name);
    if (holder == -ENOENT)
        return 0;
    if (holder < 0)
        return open_refused(-holder, path, err);
    return remove_at(holder, name, path, how, err);
}

static int remove_tree(const char *base, const char *path, const struct removal *how, struct error *err)
{
    char clean[PATH_MAX], clean_base[PATH_MAX];
    int r = clean_volume_path(path, clean, err);

    if (r < 0)
        return r;
    if (!base)
        return remove_below(NULL, clean, how, err);
    r = host_clean_path(base, clean_base, err);
    if (r < 0)
        return r;
    if (!host_path_is_below(clean, clean_base))
        return error_set(err, ERR_INVALID, "'%s' is not below '%s'", clean, clean_base);
    return remove_below(clean_base, clean, how, err);
}

int host_remove_tree(const char *base, const char *path, const struct host_guard *guard,
                     const host_stop *stop, struct error *err)
{
    return remove_tree(base, path, &(struct removal){ .guard = guard, .stop = stop }, err);
}

int host_remove_own_tree(const char *base, const char *path, const host_stop *stop, struct error *err)
{
    return remove_tree(base, path, &(struct removal){ .is_own = true, .stop = stop }, err);
}
