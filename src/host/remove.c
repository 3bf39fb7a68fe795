/* A walk (host/tree_walk.h) that removes: an entry by its name in an open directory, a directory when it is
 * empty.
 *
 * Each level is listed until nothing is left, at most WALK_ROUNDS_MAX times: if another process creates files
 * as fast as they are removed, the result is ERR_BUSY and not an endless walk. Memory does not depend on the
 * size of a directory, since entries are removed as they are listed. */
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
#include "host/tree_walk.h"
#include "io/file.h"
#include "io/sys.h"

#define WALK_ROUNDS_MAX 64
#define VOLUME_DEPTH_MIN 2

/* The mode of a file does not prevent its removal, so EPERM needs an explanation. */
static int walk_cannot_remove(const struct tree_walk *w, int dirfd, const char *name, int errnum,
                              struct error *err)
{
    const uint64_t fixed = STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND;
    char text[WALK_TEXT_BYTES];
    struct statx st;

    if (errnum == EPERM && sys_statx(dirfd, name, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &st) == 0 &&
        (st.stx_attributes & fixed) != 0)
        return error_set(err, ERR_DENIED, "cannot remove %s: it is %s", tree_walk_path(w, name, text),
                         st.stx_attributes & STATX_ATTR_IMMUTABLE ? "immutable" : "append-only");
    return tree_walk_fail(w, errnum, "remove", name, err);
}

/* Down and up */

static int walk_enter(struct tree_walk *w, const char *name, struct error *err)
{
    int upper = sys_dirfd(tree_walk_top(w)->dir);
    int fd = host_open_dir(upper, name, 0);

    if (fd == -EACCES && sys_unlinkat(upper, name, AT_REMOVEDIR) == 0)
        return 0; /* it was empty and is removed */
    /* Removed, or no longer a directory: the next round finds out. */
    if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP)
        return 0;
    if (fd < 0)
        return tree_walk_fail(w, -fd, "open directory", name, err);
    return tree_walk_push_take(w, fd, name, err);
}

/* Lists the current level again: something was left in it, or was added. */
static int walk_again(struct tree_walk *w, struct error *err)
{
    struct tree_walk_level *top = tree_walk_top(w);
    char text[WALK_TEXT_BYTES];

    if (++top->rounds >= WALK_ROUNDS_MAX)
        return error_set(err, ERR_BUSY, "another process keeps writing to %s", tree_walk_path(w, "", text));
    sys_seekdir(top->dir, 0);
    top->found_some = false;
    return 0;
}

/* The end of the listing. */
static int walk_leave(struct tree_walk *w, struct error *err)
{
    const char *name;
    int r, upper;

    if (w->levels.count == 1) {
        if (tree_walk_top(w)->found_some)
            return walk_again(w, err);
        tree_walk_pop(w);
        return 0;
    }
    r = tree_walk_reopen_upper(w, err);
    if (r < 0)
        return r;
    upper = sys_dirfd(w->levels.items[w->levels.count - 2].dir);
    name = w->names.data + tree_walk_top(w)->name_at;
    if (sys_unlinkat(upper, name, AT_REMOVEDIR) == 0 || errno == ENOENT || errno == ENOTDIR) {
        tree_walk_pop(w); /* the next round above finds what replaced it */
        return 0;
    }
    if (errno == ENOTEMPTY || errno == EEXIST)
        return walk_again(w, err);
    r = errno;
    char copy[NAME_MAX + 1];
    (void)snprintf(copy, sizeof copy, "%s", name);
    tree_walk_pop(w);
    return walk_cannot_remove(w, upper, copy, r, err);
}

/* One entry */

static bool is_dir(int at, const char *name)
{
    struct stat st;

    return sys_fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static int walk_remove(struct tree_walk *w, const struct dirent *e, struct error *err)
{
    int fd = sys_dirfd(tree_walk_top(w)->dir);
    int errnum;

    if (e->d_type == DT_DIR)
        return walk_enter(w, e->d_name, err);
    if (sys_unlinkat(fd, e->d_name, 0) == 0 || errno == ENOENT)
        return 0;
    errnum = errno;
    /* Not every file system reports types, and a file may have become a directory. */
    if ((errnum == EISDIR || errnum == EPERM) && is_dir(fd, e->d_name))
        return walk_enter(w, e->d_name, err);
    return walk_cannot_remove(w, fd, e->d_name, errnum, err);
}

static int walk_step(struct tree_walk *w, struct error *err)
{
    struct tree_walk_level *top = tree_walk_top(w);
    const struct dirent *e;

    if (tree_walk_is_stopped(w))
        return error_set(err, ERR_CANCELLED, "'%s' was removed only in part", w->root);
    errno = 0;
    e = sys_readdir(top->dir); /* thread-safe: each stream is used by one thread */
    if (!e && errno != 0)
        return tree_walk_fail(w, errno, "list", "", err);
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
    struct tree_walk w;
    int r;

    tree_walk_init(&w, path, stop);
    r = tree_walk_push_take(&w, fd, "", err);
    while (r == 0 && w.levels.count > 0)
        r = walk_step(&w, err);
    tree_walk_end(&w);
    return r;
}

/* The root of the tree */

static int clean_volume_path(const char *path, char ret[PATH_MAX], struct error *err)
{
    char clean[PATH_MAX];
    int r = host_clean_path(path, clean, err);

    if (r < 0)
        return r;
    if (host_path_depth(clean) < VOLUME_DEPTH_MIN)
        return error_set(err, ERR_INVALID, "'%s' is too close to the root for a volume's directory", path);
    memcpy(ret, clean, strlen(clean) + 1);
    return 0;
}

/* Explains a failure of host_open_dir(). */
static int open_refused(int errnum, const char *path, struct error *err)
{
    if (errnum == ELOOP || errnum == ENOTDIR) /* a link as the last component is ENOTDIR too */
        return error_set(err, ERR_INVALID, "'%s' leads through a symbolic link or a file", path);
    if (errnum == EXDEV)
        return error_set(err, ERR_BUSY, "something is mounted at or above '%s'", path);
    return error_set_errno(err, errnum, "cannot open directory '%s'", path);
}

/* Opens the directory that contains the volume's: path without its last component, where *ret_name points.
 * The descriptor, or -errno. */
static int open_holder(const char *base, const char *path, const char **ret_name)
{
    _cleanup_(fd_closep) int basefd = -1;
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

/* Options of a removal. */
struct removal {
    bool is_own; /* no guard, no mount table */
    const struct host_guard *guard;
    const host_stop *stop;
};

/* ENOTDIR may be a link or a file. Only a file can be a volume. */
static int remove_file(int holder, const char *name, const char *path, const struct removal *how,
                       struct error *err)
{
    _cleanup_(fd_closep) int fd = host_open_below(holder, name, O_PATH, 0);
    struct stat st;
    int r = 0;

    if (fd == -ENOENT)
        return 0;
    if (fd < 0)
        return open_refused(-fd, path, err);
    if (sys_fstat(fd, &st) < 0)
        return error_set_errno(err, errno, "cannot examine '%s'", path);
    if (S_ISLNK(st.st_mode))
        return error_set(err, ERR_INVALID, "'%s' is a symbolic link", path);
    if (!how->is_own)
        r = host_guard_check(how->guard, fd, path, err);
    if (r < 0)
        return r;
    if (sys_unlinkat(holder, name, 0) < 0 && errno != ENOENT)
        return error_set_errno(err, errno, "cannot remove '%s'", path);
    return 0;
}

static int check_mount_root(int fd, const char *path, struct error *err)
{
    struct statx st;

    if (sys_statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &st) < 0)
        return error_set_errno(err, errno, "cannot examine '%s'", path);
    if ((st.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) && !(st.stx_attributes & STATX_ATTR_MOUNT_ROOT))
        return error_set(err, ERR_INVALID, "'%s' is no longer a mount point", path);
    return 0;
}

/* is_mount: the opened directory must be the root of a mount. */
static int empty_dir(const char *path, bool is_mount, const struct host_guard *guard, const host_stop *stop,
                     struct error *err)
{
    _cleanup_(fd_closep) int holder = -1, fd = -1;
    char clean[PATH_MAX];
    const char *name;
    struct stat st;
    int r = clean_volume_path(path, clean, err);

    if (r < 0)
        return r;
    holder = open_holder(NULL, clean, &name);
    if (holder == -ENOENT && !is_mount)
        return 0;
    if (holder < 0)
        return open_refused(-holder, clean, err);
    fd = host_open_dir(holder, name, HOST_OPEN_ANY_MOUNT);
    if (fd == -ENOENT && !is_mount)
        return 0;
    if ((fd == -ENOTDIR || fd == -ELOOP) && sys_fstatat(holder, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return error_set(err, ERR_INVALID, "'%s' is %s", clean,
                         S_ISLNK(st.st_mode) ? "a symbolic link" : "not a directory");
    if (fd < 0)
        return open_refused(-fd, clean, err);
    if (is_mount)
        r = check_mount_root(fd, clean, err);
    if (r == 0)
        r = host_guard_check(guard, fd, clean, err);
    if (r == 0)
        r = host_check_unmounted(clean, /* at_too= */ false, err);
    return r < 0 ? r : empty_take(take_fd(&fd), clean, stop, err);
}

int host_empty_dir(const char *path, const struct host_guard *guard, const host_stop *stop, struct error *err)
{
    return empty_dir(path, /* is_mount= */ false, guard, stop, err);
}

int host_empty_mount(const char *path, const struct host_guard *guard, const host_stop *stop,
                     struct error *err)
{
    return empty_dir(path, /* is_mount= */ true, guard, stop, err);
}

static int remove_at(int holder, const char *name, const char *path, const struct removal *how,
                     struct error *err)
{
    _cleanup_(fd_closep) int fd = host_open_dir(holder, name, 0);
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
    if (r < 0)
        return r;
    if (sys_unlinkat(holder, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return 0;
    if (errno == ENOTEMPTY || errno == EEXIST)
        return error_set(err, ERR_BUSY, "another process keeps writing to '%s'", path);
    return error_set_errno(err, errno, "cannot remove directory '%s'", path);
}

int host_remove_at(int dir, const char *name, const char *path, const host_stop *stop, struct error *err)
{
    return remove_at(dir, name, path, &(struct removal){ .is_own = true, .stop = stop }, err);
}

int host_remove_guarded_at(int dir, const char *name, const char *path, const struct host_guard *guard,
                           const host_stop *stop, struct error *err)
{
    char clean[PATH_MAX];
    int r = clean_volume_path(path, clean, err);

    return r < 0 ? r : remove_at(dir, name, clean, &(struct removal){ .guard = guard, .stop = stop }, err);
}

static int remove_tree(const char *base, const char *path, const struct removal *how, struct error *err)
{
    char clean[PATH_MAX], clean_base[PATH_MAX];
    _cleanup_(fd_closep) int holder = -1;
    const char *name;
    int r = clean_volume_path(path, clean, err);

    if (r == 0 && base)
        r = host_clean_path(base, clean_base, err);
    if (r < 0)
        return r;
    if (base && !host_path_is_below(clean, clean_base))
        return error_set(err, ERR_INVALID, "'%s' is not below '%s'", clean, clean_base);
    holder = open_holder(base ? clean_base : NULL, clean, &name);
    if (holder == -ENOENT)
        return 0;
    if (holder < 0)
        return open_refused(-holder, clean, err);
    return remove_at(holder, name, clean, how, err);
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
