/* Path resolution of a simulated machine.
 *
 * A path is resolved component by component, across mounts and symbolic links, with the flags of machine.h.
 * At most LINKS_MAX links are followed, which also bounds the recursion. /proc/self/fd/N is resolved to the
 * place of the open file. Cost: per component one search in the directory and one in the list of mounts. */
#include "sim/machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINKS_MAX 40
#define FD_PREFIX "/proc/self/fd/"

/* The state of one resolution. */
struct path_walk {
    struct machine *m;
    unsigned flags;
    struct machine_place start; /* PLACE_BENEATH: the walk must not leave it */
    struct machine_place at;
    unsigned links;
};

static struct machine_place root_of(const struct machine *m)
{
    struct machine_mount *first = TAILQ_FIRST(&m->mounts);

    return machine_top(m, (struct machine_place){ first, first->root });
}

struct machine_place machine_top(const struct machine *m, struct machine_place p)
{
    struct machine_mount *mount, *found;

    do {
        found = NULL;
        TAILQ_FOREACH(mount, &m->mounts, link)
            if (mount->parent == p.mount && mount->at == p.node)
                found = mount;
        if (found)
            p = (struct machine_place){ found, found->root };
    } while (found);
    return p;
}

static bool is_same_place(struct machine_place a, struct machine_place b)
{
    return a.mount == b.mount && a.node == b.node;
}

static int walk_up(struct path_walk *f)
{
    if ((f->flags & PLACE_BENEATH) && is_same_place(f->at, f->start))
        return EXDEV;
    while (f->at.node == f->at.mount->root) {
        if (!f->at.mount->parent)
            return 0; /* "/.." is "/" */
        if (f->flags & PLACE_NO_XDEV)
            return EXDEV;
        f->at = (struct machine_place){ f->at.mount->parent, f->at.mount->at };
    }
    if (!f->at.node->parent)
        return ENOENT;
    f->at.node = f->at.node->parent;
    return 0;
}

static int resolve_path(struct path_walk *f, const char *path, bool is_whole, char last[NAME_MAX + 1]);

static int follow_symlink(struct path_walk *f, const struct file_node *symlink, bool is_last,
                          char last[NAME_MAX + 1])
{
    if (f->flags & PLACE_NO_SYMLINKS || ++f->links > LINKS_MAX)
        return ELOOP;
    return resolve_path(f, buf_cstr(&symlink->data), is_last, last);
}

/* Resolves one component; is_last: it is the last one of the whole path. */
static int walk_down(struct path_walk *f, const char *name, bool is_last, char last[NAME_MAX + 1])
{
    struct machine_place next = { f->at.mount, NULL };

    if (!S_ISDIR(f->at.node->mode))
        return ENOTDIR;
    if (f->at.mount->tree->failure)
        return f->at.mount->tree->failure;
    next.node = tree_find(f->at.node, name);
    if (!next.node)
        return ENOENT;
    if (S_ISLNK(next.node->mode) && !(is_last && (f->flags & PLACE_NOFOLLOW)))
        return follow_symlink(f, next.node, is_last, last);
    next = machine_top(f->m, next);
    if (next.mount != f->at.mount && (f->flags & PLACE_NO_XDEV))
        return EXDEV;
    f->at = next;
    return 0;
}

/* Resolves a path from f->at, or from the root. is_whole: its last component is the last one of all. */
static int resolve_path(struct path_walk *f, const char *path, bool is_whole, char last[NAME_MAX + 1])
{
    struct str rest = str_of(path);
    char name[NAME_MAX + 1];
    bool is_last;
    int r = 0;

    if (path[0] == '\0')
        return ENOENT;
    if (path[0] == '/') {
        if (f->flags & PLACE_BENEATH)
            return EXDEV;
        f->at = root_of(f->m);
    }
    while (r == 0 && rest.s) {
        struct str part = str_next(&rest, '/');
        struct str more = rest;

        if (part.len == 0 || str_is(part, "."))
            continue;
        if (part.len > NAME_MAX)
            return ENAMETOOLONG;
        memcpy(name, part.s, part.len);
        name[part.len] = '\0';
        while (more.s && more.len > 0 && more.s[0] == '/')
            more = (struct str){ more.s + 1, more.len - 1 };
        is_last = is_whole && (!more.s || more.len == 0);
        if (is_last && (f->flags & PLACE_PARENT)) {
            (void)snprintf(last, NAME_MAX + 1, "%s", name);
            return S_ISDIR(f->at.node->mode) ? f->at.mount->tree->failure : ENOTDIR;
        }
        r = strcmp(name, "..") == 0 ? walk_up(f) : walk_down(f, name, is_last, last);
    }
    return r;
}

static int find_open_file(struct machine *m, const char *text, struct machine_place *ret)
{
    const struct machine_file *f = machine_file(m, (int)strtol(text, NULL, 10));

    if (!f)
        return ENOENT;
    *ret = f->place;
    return 0;
}

int machine_find(struct machine *m, int at, const char *path, unsigned flags, struct machine_place *ret,
                 char last[NAME_MAX + 1])
{
    struct path_walk f = { .m = m, .flags = flags };
    const struct machine_file *dir;
    int r;

    if (strncmp(path, FD_PREFIX, strlen(FD_PREFIX)) == 0)
        return find_open_file(m, path + strlen(FD_PREFIX), ret);
    if (at == AT_FDCWD) {
        f.at = root_of(m);
    } else {
        dir = machine_file(m, at);
        if (!dir)
            return EBADF;
        f.at = dir->place;
    }
    f.start = f.at;
    if (last)
        last[0] = '\0';
    r = resolve_path(&f, path, true, last);
    if (r == 0)
        *ret = f.at;
    return r;
}

void machine_path_of(const struct machine *m, struct machine_place p, char ret[PATH_MAX])
{
    char path[PATH_MAX] = "", longer[PATH_MAX];

    (void)m;
    for (;;) {
        const struct tree_entry *e;

        while (p.node == p.mount->root && p.mount->parent)
            p = (struct machine_place){ p.mount->parent, p.mount->at };
        if (p.node == p.mount->root)
            break;
        e = tree_entry_of(p.node);
        if (!e) { /* removed */
            ret[0] = '\0';
            return;
        }
        (void)snprintf(longer, sizeof longer, "/%s%.*s", e->name, (int)(sizeof longer - 2 - strlen(e->name)),
                       path);
        (void)snprintf(path, sizeof path, "%s", longer);
        p.node = p.node->parent;
    }
    (void)snprintf(ret, PATH_MAX, "%s", path[0] ? path : "/");
}
