/* The disk usage of a tree or a file system.
 *
 * Files with several names are collected and counted at the end, sorted by inode, so that each counts once;
 * there is room for LINKED_MAX of them (16 MiB), and when more than three quarters of it are different files,
 * later ones count once per name: the result is then too large rather than too small. */
#include "host/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/vec.h"
#include "host/safe_path.h"
#include "host/tree_walk.h"
#include "io/sys.h"

#define BLOCK_BYTES 512 /* unit of st_blocks on every file system */
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

static uint64_t multiply_saturated(uint64_t count, uint64_t size)
{
    uint64_t bytes;

    return __builtin_mul_overflow(count, size, &bytes) ? UINT64_MAX : bytes;
}

static int cmp_linked(const void *a, const void *b)
{
    const struct linked *left = a, *right = b;

    return (left->ino > right->ino) - (left->ino < right->ino);
}

/* Removes duplicates. */
static void drop_duplicates(struct counting *c)
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
    uint64_t bytes = multiply_saturated((uint64_t)st->st_blocks, BLOCK_BYTES);

    if (st->st_nlink > 1 && !S_ISDIR(st->st_mode) && !c->is_full) {
        if (vec_push(&c->linked, (struct linked){ st->st_ino, bytes }) < 0)
            return error_no_memory(err);
        if (c->linked.count == LINKED_MAX) {
            drop_duplicates(c);
            c->is_full = c->linked.count > LINKED_MAX / 4 * 3;
        }
        return 0;
    }
    c->bytes += bytes;
    c->inodes++;
    return 0;
}

static int count_file(void *ctx, const struct tree_walk *w, int dir, const char *name, struct error *err)
{
    struct counting *c = ctx;
    struct stat st;

    if (sys_fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
        return errno == ENOENT ? 0 : tree_walk_fail(w, errno, "examine", name, err);
    return st.st_dev == c->dev ? count_one(c, &st, err) : 0;
}

static int count_dir(void *ctx, const struct tree_walk *w, int fd, struct error *err)
{
    struct stat st;

    if (sys_fstat(fd, &st) < 0)
        return tree_walk_fail(w, errno, "examine", "", err);
    return count_one(ctx, &st, err);
}

int host_usage_of_fs(const char *path, struct host_usage *ret, struct error *err)
{
    struct statfs s;
    uint64_t size;

    if (sys_statfs(path, &s) < 0)
        return error_set_errno(err, errno, "cannot examine the file system of '%s'", path);
    size = (uint64_t)s.f_bsize;
    *ret = (struct host_usage){
        .capacity = multiply_saturated(s.f_blocks, size),
        .available = multiply_saturated(s.f_bavail, size),
        .used = multiply_saturated(s.f_blocks > s.f_bfree ? s.f_blocks - s.f_bfree : 0, size),
        .inodes = s.f_files,
        .inodes_free = s.f_ffree,
        .inodes_used = s.f_files > s.f_ffree ? s.f_files - s.f_ffree : 0,
    };
    return 0;
}

int host_usage_of_tree(const char *path, const host_stop *stop, struct host_usage *ret, struct error *err)
{
    struct counting c = { 0 };
    struct tree_walk_visitor visitor = { count_file, count_dir, &c };
    struct host_usage usage;
    struct stat st;
    int r = host_usage_of_fs(path, &usage, err), fd;

    if (r < 0)
        return r;
    fd = host_open_dir(AT_FDCWD, path, HOST_OPEN_ANY_MOUNT);
    if (fd < 0)
        return error_set_errno(err, -fd, "cannot open directory '%s'", path);
    c.dev = sys_fstat(fd, &st) == 0 ? st.st_dev : 0;
    r = tree_walk_run_take(fd, path, stop, &visitor, err);
    if (r == 0) {
        drop_duplicates(&c);
        for (size_t i = 0; i < c.linked.count; i++)
            c.bytes += c.linked.items[i].bytes;
        usage.used = c.bytes;
        usage.inodes_used = c.inodes + c.linked.count;
        *ret = usage;
    }
    vec_done(&c.linked);
    return r;
}
