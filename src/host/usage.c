/* How much a tree or a file system holds.
 *
 * Files with several names are kept aside and counted at the end, sorted by inode, so that each counts once;
 * there is room for LINKED_MAX of them (16 MiB), and when more than three quarters of it are different files,
 * later ones count by name: too much rather than too little. */
#include "host/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "host/safe_path.h"
#include "host/walk.h"

#define BLOCK_BYTES 512 /* of st_blocks, whatever the file system */
#define LINKED_MAX ((size_t)1 << 20)

struct linked {
    uint64_t ino;
    uint64_t bytes;
};

struct counting {
    dev_t dev;
    uint64_t bytes;
    uint64_t inodes;
    VEC(struct linked) linked;
    bool is_full;
};

static uint64_t times(uint64_t count, uint64_t size)
{
    uint64_t bytes;

    return __builtin_mul_overflow(count, size, &bytes) ? UINT64_MAX : bytes;
}

static int cmp_linked(const void *a, const void *b)
{
    const struct linked *x = a, *y = b;

    return (x->ino > y->ino) - (x->ino < y->ino);
}

/* Leaves each file once. */
static void drop_doubles(struct counting *c)
{
    size_t kept = 0;

    if (c->linked.count == 0)
        return;
    qsort(c->linked.items, c->linked.count, sizeof *c->linked.items, cmp_linked);
    for (size_t i = 0; i < c->linked.count; i++)
        if (kept == 0 || c->linked.items[kept - 1].ino != c->linked.items[i].ino)
            c->linked.items[kept++] = c->linked.items[i];
    c->linked.count = kept;
}

static int count_one(struct counting *c, const struct stat *st, struct error *err)
{
    uint64_t bytes = times((uint64_t)st->st_blocks, BLOCK_BYTES);

    if (st->st_nlink > 1 && !S_ISDIR(st->st_mode) && !c->is_full) {
        if (vec_push(&c->linked, (struct linked){ st->st_ino, bytes }) < 0)
            return error_no_memory(err);
        if (c->linked.count == LINKED_MAX) {
            drop_doubles(c);
            c->is_full = c->linked.count > LINKED_MAX / 4 * 3;
        }
        return 0;
    }
    c->bytes += bytes;
    c->inodes++;
    return 0;
}

static int count_file(void *ctx, const struct walk *w, int dir, const char *name, struct error *err)
{
    struct counting *c = ctx;
    struct stat st;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
        return errno == ENOENT ? 0 : walk_fail(w, errno, "examine", name, err);
    return st.st_dev == c->dev ? count_one(c, &st, err) : 0;
}

static int count_dir(void *ctx, const struct walk *w, int fd, struct error *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return walk_fail(w, errno, "examine", "", err);
    return count_one(ctx, &st, err);
}

static void usage_of_statfs(const struct statfs *s, struct host_usage *ret)
{
    uint64_t size = (uint64_t)s->f_bsize;

    *ret = (struct host_usage){
        .capacity = times(s->f_blocks, size),
        .available = times(s->f_bavail, size),
        .used = times(s->f_blocks > s->f_bfree ? s->f_blocks - s->f_bfree : 0, size),
        .inodes = s->f_files,
        .inodes_free = s->f_ffree,
        .inodes_used = s->f_files > s->f_ffree ? s->f_files - s->f_ffree : 0,
    };
}

int host_usage_of_fs(const char *path, struct host_usage *ret, struct error *err)
{
    struct statfs s;

    if (statfs(path, &s) < 0)
        return error_set_errno(err, errno, "cannot examine the file system of '%s'", path);
    usage_of_statfs(&s, ret);
    return 0;
}

int host_usage_of_tree(const char *path, const host_stop *stop, struct host_usage *ret, struct error *err)
{
    struct counting c = { 0 };
    struct walk_visitor visitor = { count_file, count_dir, &c };
    struct host_usage usage;
    struct stat st;
    int r = host_usage_of_fs(path, &usage, err), fd;

    if (r < 0)
        return r;
    fd = host_open_dir(AT_FDCWD, path, HOST_OPEN_ANY_MOUNT);
    if (fd < 0)
        return error_set_errno(err, -fd, "cannot open directory '%s'", path);
    c.dev = fstat(fd, &st) == 0 ? st.st_dev : 0;
    r = walk_tree_take(fd, path, stop, &visitor, err);
    if (r == 0) {
        drop_doubles(&c);
        for (size_t i = 0; i < c.linked.count; i++)
            c.bytes += c.linked.items[i].bytes;
        usage.used = c.bytes;
        usage.inodes_used = c.inodes + c.linked.count;
        *ret = usage;
    }
    vec_done(&c.linked);
    return r;
}
