/* The stack of levels of a walk, and a walk that visits every entry. Invariant: the levels above the
 * WALK_OPEN_MAX deepest are closed, and all their names together are bounded, so depth costs no descriptors.
 */
#include "host/tree_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "api/quote.h"
#include "base/cleanup.h"
#include "host/safe_path.h"
#include "io/file.h"
#include "io/sys.h"

#define WALK_OPEN_MAX 32
#define WALK_NAMES_BYTES_MAX ((size_t)64 << 20) /* 250,000 levels of the longest names */

void tree_walk_init(struct tree_walk *w, const char *root, const host_stop *stop)
{
    *w = (struct tree_walk){ .root = root, .stop = stop, .names = BUF_INIT(WALK_NAMES_BYTES_MAX) };
}

struct tree_walk_level *tree_walk_top(struct tree_walk *w)
{
    return &w->levels.items[w->levels.count - 1];
}

void tree_walk_pop(struct tree_walk *w)
{
    struct tree_walk_level *top = tree_walk_top(w);

    if (top->dir)
        sys_closedir(top->dir); /* nothing was written */
    w->names.len = top->name_at;
    w->levels.count--;
    if (w->levels_closed > w->levels.count)
        w->levels_closed = w->levels.count;
}

void tree_walk_end(struct tree_walk *w)
{
    while (w->levels.count > 0)
        tree_walk_pop(w);
    vec_done(&w->levels);
    buf_done(&w->names);
}

bool tree_walk_is_stopped(const struct tree_walk *w)
{
    return w->stop && atomic_load_explicit(w->stop, memory_order_relaxed) != 0;
}

/* Errors contain the place, which may be longer than any path that the kernel accepts. */

static const char *level_name(const struct tree_walk *w, size_t level)
{
    return w->names.data + w->levels.items[level].name_at;
}

const char *tree_walk_path(const struct tree_walk *w, const char *name, char ret[WALK_TEXT_BYTES])
{
    _cleanup_(buf_done_p) struct buf path = BUF_INIT(WALK_TEXT_BYTES);

    buf_add_cstr(&path, w->root); /* failures are sticky, and checked below */
    for (size_t i = 1; i < w->levels.count && !path.failed; i++)
        buf_addf(&path, "/%s", level_name(w, i));
    if (name[0] != '\0')
        buf_addf(&path, "/%s", name);
    if (path.failed) {
        buf_clear(&path);
        buf_addf(&path, "%.*s/.../%s", WALK_TEXT_BYTES / 4, w->root, name);
    }
    return quote_text(ret, WALK_TEXT_BYTES, buf_str(&path));
}

int tree_walk_fail(const struct tree_walk *w, int errnum, const char *what, const char *name,
                   struct error *err)
{
    char text[WALK_TEXT_BYTES];

    if (errnum == EBUSY || errnum == EXDEV)
        return error_set(err, ERR_BUSY, "something is mounted at %s", tree_walk_path(w, name, text));
    if (errnum == EAGAIN) /* the kernel's retries and ours are used up */
        return error_set(err, ERR_BUSY, "cannot %s %s: directories around it are being moved", what,
                         tree_walk_path(w, name, text));
    return error_set_errno(err, errnum, "cannot %s %s", what, tree_walk_path(w, name, text));
}

bool tree_walk_relative(const struct tree_walk *w, const char *name, char *ret, size_t size)
{
    size_t len = 0;

    for (size_t i = 1; i <= w->levels.count; i++) {
        const char *part = i < w->levels.count ? level_name(w, i) : name;
        size_t part_len = strlen(part), slash = len > 0 && part_len > 0;
        if (len + slash + part_len >= size)
            return false;
        if (slash)
            ret[len++] = '/';
        memcpy(ret + len, part, part_len);
        len += part_len;
    }
    ret[len] = '\0';
    return true;
}

/* Down and up */

int tree_walk_identify(int fd, struct tree_walk_identity *ret)
{
    struct statx st;

    if (sys_statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &st) < 0)
        return -errno;
    *ret = (struct tree_walk_identity){ st.stx_ino, st.stx_mask & STATX_MNT_ID ? st.stx_mnt_id : 0,
                                        st.stx_dev_major, st.stx_dev_minor };
    return 0;
}

bool tree_walk_identity_eq(const struct tree_walk_identity *a, const struct tree_walk_identity *b)
{
    return a->ino == b->ino && a->mount == b->mount && a->dev_major == b->dev_major &&
           a->dev_minor == b->dev_minor;
}

int tree_walk_push_take(struct tree_walk *w, int fd, const char *name, struct error *err)
{
    _cleanup_(fd_closep) int taken = fd;
    struct tree_walk_level next = { .name_at = w->names.len }, *upper;
    int r = tree_walk_identify(fd, &next.id);

    if (r < 0)
        return tree_walk_fail(w, -r, "examine", name, err);
    if (vec_reserve(&w->levels, 1) < 0)
        return error_no_memory(err);
    buf_add(&w->names, name, strlen(name) + 1);
    r = buf_check(&w->names, "the path of nested directories", err);
    if (r < 0)
        return r;
    next.dir = sys_fdopendir(fd);
    if (!next.dir)
        return tree_walk_fail(w, errno, "list", name, err);
    (void)take_fd(&taken);
    w->levels.items[w->levels.count++] = next;
    if (w->levels.count - w->levels_closed <= WALK_OPEN_MAX)
        return 0;
    upper = &w->levels.items[w->levels_closed++];
    upper->place = sys_telldir(upper->dir); /* stays valid after the descriptor is closed */
    sys_closedir(upper->dir);
    upper->dir = NULL;
    return 0;
}

int tree_walk_reopen_upper(struct tree_walk *w, struct error *err)
{
    struct tree_walk_level *top = tree_walk_top(w), *upper = top - 1;
    _cleanup_(fd_closep) int fd = -1;
    char text[WALK_TEXT_BYTES];
    struct tree_walk_identity id = { 0 };
    int r;

    if (upper->dir)
        return 0;
    fd = host_open_dir(sys_dirfd(top->dir), "..", HOST_OPEN_PARENT);
    r = fd < 0 ? fd : tree_walk_identify(fd, &id);
    if (r < 0)
        return tree_walk_fail(w, -r, "open", "..", err);
    if (!tree_walk_identity_eq(&id, &upper->id))
        return error_set(err, ERR_CONFLICT, "%s was moved during the walk", tree_walk_path(w, "", text));
    upper->dir = sys_fdopendir(fd);
    if (!upper->dir)
        return tree_walk_fail(w, errno, "list", "..", err);
    (void)take_fd(&fd);
    w->levels_closed = w->levels.count - 2;
    return 1;
}

/* Visiting */

static int visit_entry(struct tree_walk *w, const struct dirent *e, const struct tree_walk_visitor *v,
                       struct error *err)
{
    int upper = sys_dirfd(tree_walk_top(w)->dir), fd;

    if (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN)
        return v->file(v->ctx, w, upper, e->d_name, err);
    fd = host_open_dir(upper, e->d_name, 0);
    if (fd == -ENOENT || fd == -EXDEV) /* removed meanwhile, or a mount point */
        return 0;
    if (fd == -ENOTDIR || fd == -ELOOP)
        return v->file(v->ctx, w, upper, e->d_name, err);
    if (fd < 0)
        return tree_walk_fail(w, -fd, "open directory", e->d_name, err);
    return tree_walk_push_take(w, fd, e->d_name, err);
}

static int visit_end(struct tree_walk *w, const struct tree_walk_visitor *v, struct error *err)
{
    struct tree_walk_level *upper;
    int r = v->dir(v->ctx, w, sys_dirfd(tree_walk_top(w)->dir), err);

    if (r != 0)
        return r;
    if (w->levels.count == 1) {
        tree_walk_pop(w);
        return 0;
    }
    r = tree_walk_reopen_upper(w, err);
    if (r < 0)
        return r;
    tree_walk_pop(w);
    upper = tree_walk_top(w);
    if (r > 0)
        sys_seekdir(upper->dir, upper->place);
    return 0;
}

static int visit_step(struct tree_walk *w, const struct tree_walk_visitor *v, struct error *err)
{
    const struct dirent *e;

    if (tree_walk_is_stopped(w))
        return error_set(err, ERR_CANCELLED, "cancelled while walking '%s'", w->root);
    errno = 0;
    e = sys_readdir(tree_walk_top(w)->dir); /* thread-safe: each stream is used by one thread */
    if (!e && errno != 0)
        return tree_walk_fail(w, errno, "list", "", err);
    if (!e)
        return visit_end(w, v, err);
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
        return 0;
    return visit_entry(w, e, v, err);
}

int tree_walk_run_take(int fd, const char *path, const host_stop *stop, const struct tree_walk_visitor *v,
                       struct error *err)
{
    struct tree_walk w;
    int r;

    tree_walk_init(&w, path, stop);
    r = tree_walk_push_take(&w, fd, "", err);
    while (r == 0 && w.levels.count > 0)
        r = visit_step(&w, v, err);
    tree_walk_end(&w);
    return r;
}
