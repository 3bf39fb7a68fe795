/* The steps, and what a crash after each leaves for the next call:
 *
 *   write     DIR/..VERSION with all files           an unused version: removed
 *   link      DIR/..data_tmp -> ..VERSION            the same, and a link: replaced or removed
 *   publish   ..data_tmp renamed over ..data         readers see the new version
 *   links     DIR/NAME -> ..data/NAME                missing ones are created, also when nothing else changed
 *   clean up  unused links and versions              found by listing DIR, whatever left them
 *
 * The directory is opened once, and all operations use that descriptor, without links and within the mount.
 * The target of ..data is used only when it is the name of a version, so that it cannot lead elsewhere,
 * neither for comparing nor for removing. A write costs O(n log n) for n files; one that changes nothing
 * reads the old version and lists the two directories. */
#include "host/atomic_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/quote.h"
#include "base/arena.h"
#include "base/civil.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "host/remove.h"
#include "host/safe_path.h"
#include "host/tree_walk.h"
#include "io/file.h"
#include "io/sys.h"

#define DATA "..data"
#define DATA_TMP "..data_tmp"
#define FILE_PATH_BYTES_MAX 4096
#define FILE_NAME_BYTES_MAX 255
#define VERSION_BYTES 64
#define VERSION_TRIES_MAX 100
#define DIR_MODE 0755
#define PATHS_BYTES_MAX ((size_t)64 << 20)
#define READ_BYTES 16384

/* A file under its normalised path. */
struct item {
    const char *path;
    const struct atomic_file *file;
};

struct writing {
    const char *dir;
    int fd;
    struct item *items; /* sorted by path, each once */
    size_t count;
    char old[VERSION_BYTES]; /* "" for none */
    char new[VERSION_BYTES];
};

/* Paths */

static int check_path(const char *path, struct error *err)
{
    struct str rest = str_of(path), first = { 0 };
    char text[16];

    if (rest.len == 0)
        return error_set(err, ERR_INVALID, "invalid path: must not be empty: %s",
                         quote_text(text, sizeof text, rest));
    if (path[0] == '/')
        return error_set(err, ERR_INVALID, "invalid path: must be relative path: %s", path);
    if (rest.len > FILE_PATH_BYTES_MAX)
        return error_set(err, ERR_INVALID, "invalid path: must be less than or equal to %d characters",
                         FILE_PATH_BYTES_MAX);
    while (rest.s) {
        struct str part = str_next(&rest, '/');
        if (str_is(part, ".."))
            return error_set(err, ERR_INVALID, "invalid path: must not contain '..': %s", path);
        if (part.len > FILE_NAME_BYTES_MAX)
            return error_set(err, ERR_INVALID,
                             "invalid path: filenames must be less than or equal to %d characters",
                             FILE_NAME_BYTES_MAX);
        /* "./..data" is the same as "..data". */
        if (!first.s && part.len > 0 && !str_is(part, "."))
            first = part;
    }
    if (!first.s)
        return error_set(err, ERR_INVALID, "invalid path: must not be empty: \"%s\"", path);
    if (first.len > 2 && first.s[0] == '.' && first.s[1] == '.')
        return error_set(err, ERR_INVALID, "invalid path: must not start with '..': %s", path);
    return 0;
}

int atomic_files_check(const struct atomic_files *files, struct error *err)
{
    for (size_t i = 0; i < files->count; i++) {
        int r = check_path(files->items[i].path, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Removes empty and "." components. NULL when out of memory. */
static const char *clean_path(struct arena *a, const char *path)
{
    struct str rest = str_of(path);
    char *clean = arena_dup(a, rest);
    size_t len = 0;

    while (clean && rest.s) {
        struct str part = str_next(&rest, '/');
        if (part.len == 0 || str_is(part, "."))
            continue;
        if (len > 0)
            clean[len++] = '/';
        memcpy(clean + len, part.s, part.len);
        len += part.len;
        clean[len] = '\0';
    }
    return clean;
}

/* By path; of files with the same path the later one comes first. */
static int cmp_items(const void *a, const void *b)
{
    const struct item *left = a, *right = b;
    int r = strcmp(left->path, right->path);

    return r != 0 ? r : (left->file < right->file) - (left->file > right->file);
}

/* True when there is a file with that path or, with below, one in a directory with that path. */
static bool has_item(const struct writing *w, const char *path, bool below)
{
    size_t from = 0, to = w->count, len = strlen(path);

    while (from < to) {
        size_t mid = from + (to - from) / 2;
        const char *at = w->items[mid].path;
        int r = strncmp(at, path, len);
        if (r == 0)
            r = (unsigned char)at[len] - (below ? '/' : '\0');
        if (r == 0)
            return true;
        if (r < 0)
            from = mid + 1;
        else
            to = mid;
    }
    return false;
}

static int gather_files(struct writing *w, const struct atomic_files *files, struct arena *a,
                        struct error *err)
{
    size_t kept = 0;

    w->items = arena_array(a, files->count, sizeof *w->items);
    for (size_t i = 0; !a->failed && i < files->count; i++)
        w->items[i] = (struct item){ clean_path(a, files->items[i].path), &files->items[i] };
    if (a->failed)
        return arena_check(a, err);
    if (files->count > 0)
        qsort(w->items, files->count, sizeof *w->items, cmp_items);
    for (size_t i = 0; i < files->count; i++)
        if (kept == 0 || strcmp(w->items[kept - 1].path, w->items[i].path) != 0)
            w->items[kept++] = w->items[i];
    w->count = kept;
    for (size_t i = 0; i < kept; i++)
        if (has_item(w, w->items[i].path, /* below= */ true))
            return error_set(err, ERR_INVALID, "invalid path: both a file and a directory: %s",
                             w->items[i].path);
    return 0;
}

/* Opens a subdirectory, with make creates it if it is missing: its descriptor, or -errno. */
static int open_next(int at, struct str part, bool make)
{
    _cleanup_(fd_closep) int fd = -1;
    char name[FILE_NAME_BYTES_MAX + 1];
    bool is_new;

    (void)snprintf(name, sizeof name, "%.*s", STR_ARG(part));
    is_new = make && sys_mkdirat(at, name, 0700) == 0;
    fd = host_open_dir(at, name, 0);
    if (fd >= 0 && is_new && sys_fchmod(fd, DIR_MODE) < 0) /* regardless of the umask */
        return -errno;
    return take_fd(&fd);
}

/* Opens the directory of the file `path` below `at`; *ret_name is the file's name in it. The descriptor, or
 * -errno. */
static int open_parent(int at, const char *path, bool make, const char **ret_name)
{
    struct str rest = str_of(path), part = str_next(&rest, '/');
    int fd = sys_dup(at);

    if (fd < 0)
        return -errno;
    while (fd >= 0 && rest.s) {
        int next = open_next(fd, part, make);
        (void)sys_close(fd);
        fd = next;
        part = str_next(&rest, '/');
    }
    *ret_name = part.s;
    return fd;
}

/* The old version */

/* "..2026_11_16_05_49_00.123": true for names that make_version() creates. */
static bool is_version(const char *name)
{
    static const char shape[] = "..dddd_dd_dd_dd_dd_dd.";
    size_t len = sizeof shape - 1;

    for (size_t i = 0; i < len; i++)
        if (shape[i] == 'd' ? name[i] < '0' || name[i] > '9' : name[i] != shape[i])
            return false;
    return name[len] != '\0' && strspn(name + len, "0123456789") == strlen(name + len);
}

/* The version that ..data refers to; "" when there is none, or the link refers to anything else. */
static int read_current(struct writing *w, struct error *err)
{
    char target[VERSION_BYTES];
    ssize_t len = sys_readlinkat(w->fd, DATA, target, sizeof target);

    w->old[0] = '\0';
    if (len < 0 && errno == ENOENT)
        return 0;
    if (len < 0 && errno == EINVAL)
        return error_set(err, ERR_EXISTS, "'%s/" DATA "' exists and is not a symbolic link", w->dir);
    if (len < 0)
        return error_set_errno(err, errno, "cannot read link '%s/" DATA "'", w->dir);
    if ((size_t)len == sizeof target)
        return 0;
    target[len] = '\0';
    if (is_version(target))
        memcpy(w->old, target, (size_t)len + 1);
    return 0;
}

static bool has_bytes(int fd, struct str bytes)
{
    char chunk[READ_BYTES];
    struct stat st;

    if (sys_fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size != bytes.len)
        return false;
    for (size_t at = 0; at < bytes.len;) {
        ssize_t n = sys_read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0 || (size_t)n > bytes.len - at || memcmp(chunk, bytes.s + at, (size_t)n) != 0)
            return false;
        at += (size_t)n;
    }
    return true;
}

static bool is_same_file(int old, const struct item *item)
{
    _cleanup_(fd_closep) int parent = -1, fd = -1;
    const char *name = "";

    parent = open_parent(old, item->path, /* make= */ false, &name);
    if (parent < 0)
        return false;
    fd = host_open_below(parent, name, O_RDONLY | O_NONBLOCK, 0); /* a fifo must not block us */
    return fd >= 0 && has_bytes(fd, item->file->bytes);
}

/* Ends the walk at the first path that the new version does not contain. */
#define STALE 1

static int stale_path(void *ctx, const struct tree_walk *at, const char *name, bool is_dir)
{
    char path[FILE_PATH_BYTES_MAX + 1];

    if (!tree_walk_relative(at, name, path, sizeof path))
        return STALE;
    if (path[0] == '\0') /* the version directory itself */
        return 0;
    return has_item(ctx, path, is_dir) ? 0 : STALE;
}

static int stale_file(void *ctx, const struct tree_walk *at, int dir, const char *name, struct error *err)
{
    (void)dir;
    (void)err;
    return stale_path(ctx, at, name, /* is_dir= */ false);
}

static int stale_dir(void *ctx, const struct tree_walk *at, int fd, struct error *err)
{
    (void)fd;
    (void)err;
    return stale_path(ctx, at, "", /* is_dir= */ true);
}

/* Whether the current version contains exactly these files. */
static int is_current(const struct writing *w, bool *ret, struct error *err)
{
    struct tree_walk_visitor visitor = { stale_file, stale_dir, (void *)(uintptr_t)w };
    _cleanup_(fd_closep) int old = -1;
    int r;

    *ret = false;
    if (w->old[0] == '\0')
        return 0;
    old = host_open_dir(w->fd, w->old, 0);
    if (old < 0) /* replaced, whatever it is */
        return 0;
    for (size_t i = 0; i < w->count; i++)
        if (!is_same_file(old, &w->items[i]))
            return 0;
    r = tree_walk_run_take(take_fd(&old), w->dir, /* stop= */ NULL, &visitor, err);
    if (r < 0)
        return r;
    *ret = r != STALE;
    return 0;
}

/* The new version */

/* Creates the version's directory: its descriptor, or a negative error. */
static int make_version(struct writing *w, const struct atomic_write *how, struct error *err)
{
    _cleanup_(fd_closep) int fd = -1;
    struct civil c;
    int r = -EEXIST;

    if (!civil_from_unix(how->now_real_ns / (int64_t)NS_PER_S, &c))
        return error_set(err, ERR_INTERNAL, "the system clock is out of range");
    for (unsigned i = 0; r == -EEXIST && i < VERSION_TRIES_MAX; i++) {
        (void)snprintf(w->new, sizeof w->new, "..%04d_%02d_%02d_%02d_%02d_%02d.%" PRIu64, c.year, c.month,
                       c.day, c.hour, c.minute, c.second, how->random + i);
        r = sys_mkdirat(w->fd, w->new, 0700) < 0 ? -errno : 0;
    }
    if (r < 0) {
        w->new[0] = '\0'; /* an existing directory is not ours to remove */
        return error_set_errno(err, -r, "cannot create a directory in '%s'", w->dir);
    }
    fd = host_open_dir(w->fd, w->new, 0);
    if (fd < 0)
        return error_set_errno(err, -fd, "cannot open directory '%s/%s'", w->dir, w->new);
    if (sys_fchmod(fd, DIR_MODE) < 0)
        return error_set_errno(err, errno, "cannot set the mode of '%s/%s'", w->dir, w->new);
    return take_fd(&fd);
}

/* 0 or -errno. */
static int fill_file(int fd, const struct atomic_file *f)
{
    for (size_t at = 0; at < f->bytes.len;) {
        ssize_t n = sys_write(fd, f->bytes.s + at, f->bytes.len - at);
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0)
            at += (size_t)n;
    }
    if (f->uid >= 0 && sys_fchown(fd, (uid_t)f->uid, (gid_t)-1) < 0)
        return -errno;
    return sys_fchmod(fd, f->mode) < 0 ? -errno : 0; /* regardless of the umask */
}

static int write_file(int version, const struct item *item)
{
    _cleanup_(fd_closep) int parent = -1, fd = -1;
    const char *name = "";

    parent = open_parent(version, item->path, /* make= */ true, &name);
    if (parent < 0)
        return parent;
    fd = host_open_below(parent, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
    return fd < 0 ? fd : fill_file(fd, item->file);
}

static int write_version(struct writing *w, const struct atomic_write *how, struct error *err)
{
    _cleanup_(fd_closep) int version = make_version(w, how, err);

    if (version < 0)
        return version;
    for (size_t i = 0; i < w->count; i++) {
        int r = write_file(version, &w->items[i]);
        if (r < 0)
            return error_set_errno(err, -r, "cannot write '%s/%s'", w->dir, w->items[i].path);
    }
    return how->set_owner ? how->set_owner(how->ctx, err) : 0;
}

static int remove_version(const struct writing *w, const char *name, struct error *err)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof path, "%s/%s", w->dir, name); /* for errors: may be truncated */
    return host_remove_at(w->fd, name, path, /* stop= */ NULL, err);
}

static int replace_version(struct writing *w, const struct atomic_write *how, struct error *err)
{
    int r = write_version(w, how, err);

    if (r == 0)
        (void)sys_unlinkat(w->fd, DATA_TMP, 0); /* a crash may have left one */
    if (r == 0 && sys_symlinkat(w->new, w->fd, DATA_TMP) < 0)
        r = error_set_errno(err, errno, "cannot create link '%s/" DATA_TMP "'", w->dir);
    if (r == 0 && sys_renameat(w->fd, DATA_TMP, w->fd, DATA) < 0)
        r = error_set_errno(err, errno, "cannot replace '%s/" DATA "'", w->dir);
    if (r < 0 && w->new[0] != '\0') {
        struct error second = { 0 }; /* the first failure is reported; the next call cleans up */
        (void)sys_unlinkat(w->fd, DATA_TMP, 0);
        (void)remove_version(w, w->new, &second);
    }
    return r;
}

/* Links and leftovers */

/* True when DIR/name is our link. */
static bool is_our_link(const struct writing *w, const char *name)
{
    char target[sizeof DATA + 1 + FILE_NAME_BYTES_MAX + 1], wanted[sizeof target];
    ssize_t len = sys_readlinkat(w->fd, name, target, sizeof target);
    int n = snprintf(wanted, sizeof wanted, DATA "/%s", name);

    return len > 0 && len == n && memcmp(target, wanted, (size_t)len) == 0;
}

static int make_link(const struct writing *w, const char *name, struct error *err)
{
    char target[sizeof DATA + 1 + FILE_NAME_BYTES_MAX + 1];
    struct stat st;

    (void)snprintf(target, sizeof target, DATA "/%s", name);
    if (sys_symlinkat(target, w->fd, name) == 0)
        return 0;
    if (errno != EEXIST)
        return error_set_errno(err, errno, "cannot create link '%s/%s'", w->dir, name);
    if (is_our_link(w, name))
        return 0;
    if (sys_fstatat(w->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISLNK(st.st_mode))
        return 0; /* a directory: another volume is mounted inside this one */
    if (sys_unlinkat(w->fd, name, 0) < 0 || sys_symlinkat(target, w->fd, name) < 0)
        return error_set_errno(err, errno, "cannot replace link '%s/%s'", w->dir, name);
    return 0;
}

static int make_links(const struct writing *w, struct error *err)
{
    char name[FILE_NAME_BYTES_MAX + 1], last[FILE_NAME_BYTES_MAX + 1] = "";

    for (size_t i = 0; i < w->count; i++) {
        const char *path = w->items[i].path;

        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(path, "/"), path);
        if (strcmp(name, last) == 0)
            continue;
        int r = make_link(w, name, err);
        if (r < 0)
            return r;
        memcpy(last, name, sizeof last);
    }
    return 0;
}

static int tidy_entry(const struct writing *w, const char *current, bool is_published, const char *name,
                      struct error *err)
{
    if (is_version(name))
        return strcmp(name, current) == 0 ? 0 : remove_version(w, name, err);
    if (!is_published || (strcmp(name, DATA_TMP) != 0 &&
                          (has_item(w, name, false) || has_item(w, name, true) || !is_our_link(w, name))))
        return 0;
    if (sys_unlinkat(w->fd, name, 0) < 0 && errno != ENOENT)
        return error_set_errno(err, errno, "cannot remove link '%s/%s'", w->dir, name);
    return 0;
}

/* Removes all versions except the current one and, once the new one is current, links to files that it does
 * not contain. */
static int remove_leftovers(const struct writing *w, const char *current, bool is_published,
                            struct error *err)
{
    int fd = host_open_dir(w->fd, ".", 0), r = 0;
    struct sys_dir *dir = fd < 0 ? NULL : sys_fdopendir(fd);
    const struct dirent *e;

    if (!dir) {
        r = error_set_errno(err, fd < 0 ? -fd : errno, "cannot list '%s'", w->dir);
        fd_closep(&fd);
        return r;
    }
    while (r == 0 && (e = sys_readdir(dir)))
        r = tidy_entry(w, current, is_published, e->d_name, err);
    sys_closedir(dir);
    return r;
}

/* The complete write */

static int bring_up_to_date(struct writing *w, const struct atomic_write *how, bool *ret_changed,
                            struct error *err)
{
    bool is_done = false;
    int r = read_current(w, err);

    if (r == 0)
        r = is_current(w, &is_done, err);
    if (r == 0 && !is_done)
        r = remove_leftovers(w, w->old, /* is_published= */ false,
                             err); /* leftovers of a crash may fill the disk */
    if (r == 0 && !is_done)
        r = replace_version(w, how, err);
    if (r == 0)
        r = make_links(w, err);
    if (r == 0)
        r = remove_leftovers(w, is_done ? w->old : w->new, /* is_published= */ true, err);
    if (r == 0)
        *ret_changed = !is_done;
    return r;
}

int atomic_files_write(const char *dir, const struct atomic_files *files, const struct atomic_write *how,
                       bool *ret_changed, struct error *err)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(PATHS_BYTES_MAX);
    _cleanup_(fd_closep) int fd = -1;
    struct writing w = { .dir = dir };
    int r = atomic_files_check(files, err);

    if (r == 0)
        r = gather_files(&w, files, &a, err);
    if (r < 0)
        return r;
    fd = host_open_dir(AT_FDCWD, dir, HOST_OPEN_ANY_MOUNT);
    if (fd == -ELOOP || fd == -ENOTDIR)
        return error_set(err, ERR_INVALID, "'%s' is not a directory, or leads through a symbolic link", dir);
    if (fd < 0)
        return error_set_errno(err, -fd, "cannot open directory '%s'", dir);
    w.fd = fd;
    return bring_up_to_date(&w, how, ret_changed, err);
}
