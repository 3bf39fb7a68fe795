/* A place is the identity of what a descriptor refers to: device and inode, and the device of the mount with
 * the path inside its file system. The ancestors of a directory are read through "..", so the path by which
 * it was opened does not matter. They end at the root of a bind mount's target, not at that of its source:
 * there the path inside the file system is compared.
 *
 * Other volumes mostly share a parent directory. It is opened once; an entry in it that is neither a link nor
 * a mount point costs one call. */
#include "host/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/vec.h"
#include "host/mount_table.h"
#include "host/safe_path.h"
#include "host/tree_walk.h"
#include "io/file.h"
#include "io/sys.h"

#define VOLUMES_BYTES_MAX ((size_t)256 << 20)
#define ANCESTORS_MAX PATH_MAX

struct host_guard {
    const struct guard_dirs *dirs;
    struct buf volumes; /* name, server and path of each, NUL-terminated */
};

/* --- The other volumes --- */

int host_guard_new(const struct guard_dirs *dirs, struct host_guard **ret, struct error *err)
{
    struct host_guard *g = calloc(1, sizeof *g);

    if (!g)
        return error_no_memory(err);
    g->dirs = dirs;
    g->volumes = BUF_INIT(VOLUMES_BYTES_MAX);
    *ret = g;
    return 0;
}

struct host_guard *host_guard_free(struct host_guard *g)
{
    if (!g)
        return NULL;
    buf_done(&g->volumes);
    free(g);
    return NULL;
}

void host_guard_add_volume(struct host_guard *g, const char *name, const char *server, const char *path)
{
    buf_add(&g->volumes, name, strlen(name) + 1); /* failures are sticky, and every check tests for them */
    buf_add(&g->volumes, server, strlen(server) + 1);
    buf_add(&g->volumes, path, strlen(path) + 1);
}

struct guard_volume {
    const char *name, *server, *path;
};

/* *at: the next volume; starts with the first. False when there is none. */
static bool next_volume(const struct host_guard *g, const char **at, struct guard_volume *ret)
{
    if (*at == g->volumes.data + g->volumes.len)
        return false;
    ret->name = *at;
    ret->server = ret->name + strlen(ret->name) + 1;
    ret->path = ret->server + strlen(ret->server) + 1;
    *at = ret->path + strlen(ret->path) + 1;
    return true;
}

/* --- Places --- */

struct guard_place {
    struct tree_walk_identity id;
    bool is_dir;
    dev_t device; /* of a block device; else 0 */
    /* Inside its file system: */
    bool has_inner;
    uint32_t dev_major, dev_minor;
    char inner[PATH_MAX * 2];
};

/* Does not clear the text, which is long. */
static void place_init(struct guard_place *p)
{
    p->id = (struct tree_walk_identity){ 0 };
    p->is_dir = false;
    p->device = 0;
    p->has_inner = false;
    p->dev_major = p->dev_minor = 0;
}

static bool is_same_inode(const struct guard_place *a, const struct tree_walk_identity *b)
{
    return a->id.ino == b->ino && a->id.dev_major == b->dev_major && a->id.dev_minor == b->dev_minor;
}

/* The mount of the descriptor. The path only would find the wrong one below a later mount. */
static const struct mount_entry *find_mount(const struct mount_table *t, uint64_t id, const char *path)
{
    const struct mount_entry *e = mount_table_around(t, path);

    if (e && (uint64_t)e->id == id)
        return e;
    for (size_t i = 0; i < mount_table_count(t); i++)
        if ((uint64_t)mount_table_at(t, i)->id == id)
            return mount_table_at(t, i);
    return NULL;
}

/* Sets the path inside the file system, unless the mount table does not contain the mount. */
static void find_inner(int fd, const struct mount_table *t, struct guard_place *p)
{
    char link[64], path[PATH_MAX];
    const struct mount_entry *e;
    const char *rest;
    ssize_t len;

    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    len = sys_readlink(link, path, sizeof path - 1);
    if (len <= 0 || path[0] != '/')
        return;
    path[len] = '\0';
    e = find_mount(t, p->id.mount, path);
    if (!e || (strcmp(path, e->target) != 0 && !host_path_is_below(path, e->target)))
        return;
    rest = path + (strcmp(e->target, "/") == 0 ? 0 : strlen(e->target));
    if (strcmp(rest, "/") == 0)
        rest = "";
    (void)snprintf(p->inner, sizeof p->inner, "%s%s", strcmp(e->root, "/") == 0 && rest[0] ? "" : e->root,
                   rest);
    p->dev_major = e->dev_major;
    p->dev_minor = e->dev_minor;
    p->has_inner = true;
}

/* 0 or -errno. */
static int place_of(int fd, const struct mount_table *t, struct guard_place *ret)
{
    struct stat st;
    int r = tree_walk_identify(fd, &ret->id);

    if (r < 0)
        return r;
    if (sys_fstat(fd, &st) < 0)
        return -errno;
    ret->is_dir = S_ISDIR(st.st_mode);
    ret->device = S_ISBLK(st.st_mode) ? st.st_rdev : 0;
    ret->has_inner = false;
    find_inner(fd, t, ret);
    return 0;
}

/* The same for a path; follows links. The descriptor, or -errno. */
static int open_place(const char *path, const struct mount_table *t, struct guard_place *ret)
{
    int fd = sys_open(path, O_PATH | O_CLOEXEC, 0), r;

    place_init(ret);
    if (fd < 0)
        return -errno;
    r = place_of(fd, t, ret);
    if (r < 0) {
        (void)sys_close(fd);
        return r;
    }
    return fd;
}

/* True when `in` is `out` or below it, inside one file system. */
static bool is_inner_in(const struct guard_place *in, const struct guard_place *out)
{
    if (!in->has_inner || !out->has_inner || in->dev_major != out->dev_major ||
        in->dev_minor != out->dev_minor)
        return false;
    return strcmp(in->inner, out->inner) == 0 || host_path_is_below(in->inner, out->inner);
}

/* Calls fn for each ancestor of the open directory, from its parent to the root, until fn returns nonzero,
 * which is returned; else 0 or -errno. */
static int each_ancestor(int fd, int (*fn)(void *ctx, const struct tree_walk_identity *id), void *ctx)
{
    _cleanup_(fd_closep) int at = sys_openat(fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    struct tree_walk_identity below = { 0 }, id;

    if (at < 0)
        return -errno;
    for (unsigned i = 0; i < ANCESTORS_MAX; i++) {
        int upper = sys_openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC, 0), r;

        if (upper < 0)
            return -errno;
        fd_closep(&at);
        at = upper;
        r = tree_walk_identify(at, &id);
        if (r == 0)
            r = fn(ctx, &id);
        if (r != 0 || tree_walk_identity_eq(&below, &id)) /* the root is its own parent */
            return r;
        below = id;
    }
    return -ELOOP;
}

static int on_ancestor_of_dir(void *volume, const struct tree_walk_identity *id)
{
    return is_same_inode(volume, id);
}

/* The checked volume, and what the check uses. */
struct check {
    int fd;
    const char *path;
    struct guard_place volume;
    VEC(struct tree_walk_identity) ancestors; /* of the volume */
    struct mount_table *mounts;
};

enum relation { APART, SAME, INSIDE, AROUND };

/* The relation of the volume to a directory. 0 or -errno. */
static int find_relation(const struct check *c, int dir_fd, const struct guard_place *dir, enum relation *ret)
{
    const struct guard_place *volume = &c->volume;
    int r;

    *ret = APART;
    if (is_same_inode(volume, &dir->id) || (is_inner_in(volume, dir) && is_inner_in(dir, volume)))
        *ret = SAME;
    else if (is_inner_in(volume, dir))
        *ret = INSIDE;
    else if (volume->is_dir && is_inner_in(dir, volume))
        *ret = AROUND;
    for (size_t i = 0; i < c->ancestors.count && *ret == APART; i++)
        if (is_same_inode(dir, &c->ancestors.items[i]))
            *ret = INSIDE;
    if (*ret != APART || !volume->is_dir || !dir->is_dir)
        return 0;
    r = each_ancestor(dir_fd, on_ancestor_of_dir, (void *)(uintptr_t)volume);
    if (r > 0)
        *ret = AROUND;
    return r == -EACCES || r >= 0 ? 0 : r; /* a directory that we may not search cannot be removed */
}

static int on_ancestor_of_volume(void *ctx, const struct tree_walk_identity *id)
{
    struct check *c = ctx;

    return vec_push(&c->ancestors, *id) < 0 ? -ENOMEM : 0;
}

static int check_begin(struct check *c, int fd, const char *path, struct error *err)
{
    int r = mount_table_read(&c->mounts, err);

    c->fd = fd;
    c->path = path;
    if (r < 0)
        return r;
    r = place_of(fd, c->mounts, &c->volume);
    if (r == 0 && c->volume.is_dir)
        r = each_ancestor(fd, on_ancestor_of_volume, c);
    return r < 0 ? error_set_errno(err, -r, "cannot examine '%s'", path) : 0;
}

static void check_done(struct check *c)
{
    vec_done(&c->ancestors);
    c->mounts = mount_table_free(c->mounts);
}

/* --- Directories that cannot be a volume --- */

/* The relation of the volume to a directory of this machine; a missing or inaccessible directory is
 * unrelated. */
static int find_relation_to(const struct check *c, const char *dir, enum relation *ret, struct error *err)
{
    _cleanup_(fd_closep) int fd = -1;
    struct guard_place place;
    int r = 0;

    *ret = APART;
    fd = open_place(dir, c->mounts, &place);
    if (fd == -ENOENT || fd == -ENOTDIR || fd == -EACCES)
        return 0;
    r = fd < 0 ? fd : find_relation(c, fd, &place, ret);
    return r < 0 ? error_set_errno(err, -r, "cannot compare '%s' with '%s'", c->path, dir) : 0;
}

static int check_system(const struct check *c, struct error *err)
{
    static const struct {
        const char *path;
        bool is_whole; /* nothing below it can be a volume either */
    } dirs[] = {
        { "/", false },          { "/bin", true },      { "/boot", true },      { "/dev", false },
        { "/dev/shm", false },   { "/etc", true },      { "/home", false },     { "/lib", true },
        { "/lib32", true },      { "/lib64", true },    { "/libx32", true },    { "/media", false },
        { "/mnt", false },       { "/opt", false },     { "/proc", true },      { "/root", false },
        { "/run", false },       { "/sbin", true },     { "/srv", false },      { "/sys", true },
        { "/tmp", false },       { "/usr", true },      { "/var", false },      { "/var/cache", false },
        { "/var/lib", false },   { "/var/log", false }, { "/var/mail", false }, { "/var/opt", false },
        { "/var/spool", false }, { "/var/tmp", false },
    };
    enum relation how;

    for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
        int r = find_relation_to(c, dirs[i].path, &how, err);

        if (r < 0)
            return r;
        if (how == SAME || how == AROUND)
            return error_set(err, ERR_DENIED, "'%s' %s the system directory '%s'", c->path,
                             how == SAME ? "is" : "contains", dirs[i].path);
        if (how == INSIDE && dirs[i].is_whole)
            return error_set(err, ERR_DENIED, "'%s' is inside the system directory '%s'", c->path,
                             dirs[i].path);
    }
    return 0;
}

static int check_dirs(const struct check *c, const struct guard_dirs *dirs, struct error *err)
{
    static const char *const words[] = { [SAME] = "is", [INSIDE] = "is inside", [AROUND] = "contains" };
    enum relation how;
    int r = check_system(c, err);

    for (const char *const *dir = dirs ? dirs->own : NULL; dir && *dir && r == 0; dir++) {
        r = find_relation_to(c, *dir, &how, err);
        if (r == 0 && how != APART)
            r = error_set(err, ERR_DENIED, "'%s' %s Berth's own directory '%s'", c->path, words[how], *dir);
    }
    for (const char *const *dir = dirs ? dirs->parents : NULL; dir && *dir && r == 0; dir++) {
        r = find_relation_to(c, *dir, &how, err);
        if (r == 0 && (how == SAME || how == AROUND))
            r = error_set(err, ERR_DENIED, "'%s' %s '%s', which holds the directories of other volumes",
                          c->path, words[how], *dir);
    }
    return r;
}

/* --- Other volumes --- */

/* The parent directory of the last one. */
struct parent {
    char path[PATH_MAX];
    int fd; /* -1: none, or it could not be opened */
    struct guard_place place;
};

/* A lookup on a file server that does not answer blocks. The volume's own server is used anyway. */
static bool is_on_another_server(const struct check *c, const char *path)
{
    static const char *const types[] = { "nfs", "nfs4", "cifs", "smb3", "ceph", "glusterfs", "afs" };
    const struct mount_entry *e = mount_table_around(c->mounts, path);

    if (!e || (e->dev_major == c->volume.dev_major && e->dev_minor == c->volume.dev_minor))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (strcmp(e->type, types[i]) == 0)
            return true;
    return strncmp(e->type, "fuse.", 5) == 0;
}

static void open_parent(const struct check *c, const char *path, size_t len, struct parent *p)
{
    if (strlen(p->path) == len && strncmp(p->path, path, len) == 0)
        return;
    fd_closep(&p->fd);
    p->fd = -1;
    (void)snprintf(p->path, sizeof p->path, "%.*s", (int)len, path);
    if (!is_on_another_server(c, p->path))
        p->fd = open_place(p->path, c->mounts, &p->place);
}

/* The place of a normalised path that is at least two levels below "/". 0, or -errno: -ENOENT when it does
 * not exist. */
static int locate_volume(const struct check *c, const char *path, struct parent *p, int *ret_fd,
                         struct guard_place *ret)
{
    const char *name = strrchr(path, '/') + 1;
    struct statx st;

    *ret_fd = -1;
    place_init(ret);
    open_parent(c, path, name == path + 1 ? 1 : (size_t)(name - 1 - path), p);
    if (p->fd < 0)
        return -ENOENT; /* compared as text if it cannot be opened */
    if (sys_statx(p->fd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_TYPE | STATX_INO | STATX_MNT_ID,
                  &st) < 0)
        return -errno;
    if (!p->place.has_inner || S_ISLNK(st.stx_mode) || st.stx_mnt_id != p->place.id.mount) {
        *ret_fd = is_on_another_server(c, path) ? -ENOENT : open_place(path, c->mounts, ret);
        return *ret_fd < 0 ? *ret_fd : 0;
    }
    ret->id = (struct tree_walk_identity){ st.stx_ino, st.stx_mnt_id, st.stx_dev_major, st.stx_dev_minor };
    ret->is_dir = S_ISDIR(st.stx_mode);
    ret->device = S_ISBLK(st.stx_mode) ? makedev(st.stx_rdev_major, st.stx_rdev_minor) : 0;
    ret->has_inner = true;
    ret->dev_major = p->place.dev_major;
    ret->dev_minor = p->place.dev_minor;
    (void)snprintf(ret->inner, sizeof ret->inner, "%.*s/%s", PATH_MAX,
                   strcmp(p->place.inner, "/") == 0 ? "" : p->place.inner, name);
    return 0;
}

static int refuse_shared(const char *path, const struct guard_volume *v, bool is_same, struct error *err)
{
    return error_set(err, ERR_DENIED,
                     is_same ? "'%s' is also the path of volume \"%s\""
                             : "'%s' contains the path of volume \"%s\"",
                     path, v->name);
}

static int check_volume(const struct check *c, const struct guard_volume *v, struct parent *p,
                        struct error *err)
{
    char clean[PATH_MAX];
    struct guard_place place;
    struct error ignored;
    int fd, r;

    if (host_clean_path(v->path, clean, &ignored) < 0)
        return 0; /* nothing can be mounted from it */
    if (strcmp(clean, c->path) == 0 || host_path_is_below(clean, c->path))
        return refuse_shared(c->path, v, strcmp(clean, c->path) == 0, err);
    r = locate_volume(c, clean, p, &fd, &place);
    if (r == 0 &&
        (is_same_inode(&c->volume, &place.id) || (c->volume.device != 0 && c->volume.device == place.device)))
        r = refuse_shared(c->path, v, /* is_same= */ true, err);
    else if (r == 0 && c->volume.is_dir && is_inner_in(&place, &c->volume))
        r = refuse_shared(c->path, v, /* is_same= */ false, err);
    else if (r == 0 && c->volume.is_dir && place.is_dir && fd >= 0 &&
             each_ancestor(fd, on_ancestor_of_dir, (void *)(uintptr_t)&c->volume) > 0)
        r = refuse_shared(c->path, v, /* is_same= */ false, err);
    else
        r = 0;
    if (fd >= 0)
        (void)sys_close(fd);
    return r;
}

static int check_other_volumes(const struct check *c, const struct host_guard *g, struct error *err)
{
    struct parent p = { .fd = -1 };
    const char *at = g->volumes.data;
    struct guard_volume v;
    int r = buf_check(&g->volumes, "the paths of other volumes", err);

    while (r == 0 && next_volume(g, &at, &v))
        if (v.server[0] == '\0')
            r = check_volume(c, &v, &p, err);
    fd_closep(&p.fd);
    return r;
}

/* --- Complete checks --- */

int host_guard_check(const struct host_guard *g, int fd, const char *path, struct error *err)
{
    _cleanup_(check_done) struct check c = { 0 };
    int r = check_begin(&c, fd, path, err);

    if (r == 0)
        r = check_dirs(&c, g ? g->dirs : NULL, err);
    return r == 0 && g ? check_other_volumes(&c, g, err) : r;
}

int host_guard_check_device(const struct host_guard *g, const char *path, struct error *err)
{
    _cleanup_(fd_closep) int fd = sys_open(path, O_PATH | O_CLOEXEC, 0);
    _cleanup_(check_done) struct check c = { 0 };
    int r = fd < 0 ? error_set_errno(err, errno, "cannot open '%s'", path) : check_begin(&c, fd, path, err);

    return r == 0 && g ? check_other_volumes(&c, g, err) : r;
}

int host_guard_check_export(const struct host_guard *g, const char *server, const char *path,
                            struct error *err)
{
    const char *at = g ? g->volumes.data : NULL;
    char clean[PATH_MAX], other[PATH_MAX];
    struct guard_volume v;
    struct error ignored;
    int r = host_clean_path(path, clean, err);

    if (r == 0 && g)
        r = buf_check(&g->volumes, "the paths of other volumes", err);
    while (r == 0 && g && next_volume(g, &at, &v)) {
        if (strcmp(v.server, server) != 0 || host_clean_path(v.path, other, &ignored) < 0)
            continue;
        if (strcmp(other, clean) == 0 || host_path_is_below(other, clean))
            r = refuse_shared(clean, &v, strcmp(other, clean) == 0, err);
    }
    return r;
}

int host_guard_check_owner(const struct guard_dirs *dirs, int fd, const char *path, struct error *err)
{
    _cleanup_(check_done) struct check c = { 0 };
    int r = check_begin(&c, fd, path, err);

    return r < 0 ? r : check_dirs(&c, dirs, err);
}
