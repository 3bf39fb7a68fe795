/* System calls of a simulated machine (io/sys.h).
 *
 * Functions named call_* have the signature and the result of the system call, with errno set. Calls of a
 * worker go through worker_call() first, where they may be delayed or fail. A descriptor is the index of an
 * open file plus MACHINE_FD_MIN; closing a descriptor twice fails the run. Descriptors below MACHINE_FD_MIN
 * belong to libraries that use the real kernel. */
#include "sim/machine.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "host/system.h"
#include "sim/machine_rpc.h"
#include "sim/sim_world.h"
#include "sim/worker.h"

#define MOUNTINFO "/proc/self/mountinfo"
#define MOUNTINFO_BYTES_MAX ((size_t)1 << 20)
#define BLOCK_BYTES 4096
#define DISK_MAJOR 250

/* Returns 0, or sets errno and returns -1. */
static int set_errno(int errnum)
{
    if (errnum == 0)
        return 0;
    errno = errnum;
    return -1;
}

/* --- Descriptors --- */

struct machine_file *machine_file(const struct machine *m, int fd)
{
    size_t i = (size_t)(fd - MACHINE_FD_MIN);

    return fd >= MACHINE_FD_MIN && i < m->files.count && m->files.items[i]->owner ? m->files.items[i] : NULL;
}

static int file_new(struct machine *m, struct machine_place p, int flags, struct machine_file **ret)
{
    struct machine_file *f = NULL;
    size_t i;

    for (i = 0; i < m->files.count && m->files.items[i]->owner; i++)
        ;
    if (i == m->files.count) {
        f = sim_alloc(sizeof *f);
        if (vec_push(&m->files, f) < 0)
            abort();
    }
    f = m->files.items[i];
    *f = (struct machine_file){ .owner = sim_process_current(), .place = p, .flags = flags };
    f->text = BUF_INIT(MOUNTINFO_BYTES_MAX);
    if (ret)
        *ret = f;
    return MACHINE_FD_MIN + (int)i;
}

static void file_close(struct machine_file *f)
{
    buf_done(&f->text);
    f->owner = NULL;
}

void machine_lose_process(struct machine *m, const struct sim_process *p)
{
    for (size_t i = 0; i < m->files.count; i++)
        if (m->files.items[i]->owner == p)
            file_close(m->files.items[i]);
}

static int call_close(struct sys *k, int fd)
{
    struct machine_file *f = machine_file(machine_of(k), fd);

    if (!f && fd < MACHINE_FD_MIN)
        return close(fd); /* opened by a library, with the real kernel */
    if (!f) {
        sim_fail(machine_of(k)->sim, "%s: descriptor %d is closed twice", machine_of(k)->name, fd);
        return set_errno(EBADF);
    }
    file_close(f);
    return 0;
}

static int call_dup(struct sys *k, int fd)
{
    struct machine *m = machine_of(k);
    const struct machine_file *f = machine_file(m, fd);

    return f ? file_new(m, f->place, f->flags, NULL) : set_errno(EBADF);
}

/* --- Opening --- */

static bool is_writing(int flags)
{
    return (flags & O_ACCMODE) != O_RDONLY && !(flags & O_PATH);
}

static int create_file(struct machine *m, struct machine_place dir, const char *name, mode_t mode,
                       struct machine_place *ret)
{
    if (dir.mount->is_read_only)
        return EROFS;
    *ret = (struct machine_place){ dir.mount, tree_add(dir.node, name, S_IFREG | (mode & 07777)) };
    machine_entry_changed(m, dir.node, name);
    return 0;
}

static int find_or_create(struct machine *m, int at, const char *path, int flags, mode_t mode, unsigned how,
                          struct machine_place *ret)
{
    struct machine_place dir;
    char name[NAME_MAX + 1];
    int r = machine_find(m, at, path, how, ret, NULL);

    if (r == 0 && (flags & O_CREAT) && (flags & O_EXCL))
        return EEXIST;
    if (r != ENOENT || !(flags & O_CREAT))
        return r;
    r = machine_find(m, at, path, how | PLACE_PARENT, &dir, name);
    return r ? r : create_file(m, dir, name, mode, ret);
}

static int check_opened(struct machine_place p, int flags)
{
    if (S_ISLNK(p.node->mode) && !(flags & O_PATH))
        return ELOOP;
    if ((flags & O_DIRECTORY) && !S_ISDIR(p.node->mode))
        return ENOTDIR;
    if (is_writing(flags) && S_ISDIR(p.node->mode))
        return EISDIR;
    if (is_writing(flags) && p.mount->is_read_only && !S_ISBLK(p.node->mode))
        return EROFS;
    return p.mount->tree->failure;
}

static int open_at(struct machine *m, int at, const char *path, int flags, mode_t mode, unsigned how)
{
    struct machine_file *f = NULL;
    struct machine_place p;
    int fd, r;

    if (strcmp(path, MOUNTINFO) == 0) {
        fd = file_new(m, (struct machine_place){ TAILQ_FIRST(&m->mounts), TAILQ_FIRST(&m->mounts)->root },
                      flags, &f);
        f->is_kernels = true;
        machine_write_mounts(m, &f->text);
        return fd;
    }
    if (flags & O_NOFOLLOW || (flags & O_CREAT && flags & O_EXCL))
        how |= PLACE_NOFOLLOW;
    r = find_or_create(m, at, path, flags, mode, how, &p);
    if (r == 0)
        r = check_opened(p, flags);
    if (r)
        return set_errno(r);
    if (flags & O_TRUNC && S_ISREG(p.node->mode)) {
        buf_clear(&p.node->data);
        p.node->is_synced = false;
    }
    return file_new(m, p, flags, NULL);
}

static int call_openat(struct sys *k, int at, const char *path, int flags, mode_t mode)
{
    int r = worker_call(machine_of(k), flags & O_CREAT ? "create" : "open", path);

    return r ? set_errno(r) : open_at(machine_of(k), at, path, flags, mode, 0);
}

static int call_openat2(struct sys *k, int at, const char *path, const struct open_how *how)
{
    unsigned flags = 0;
    int r = worker_call(machine_of(k), how->flags & O_CREAT ? "create" : "open", path);

    if (r)
        return set_errno(r);
    if (how->resolve & RESOLVE_NO_SYMLINKS)
        flags |= PLACE_NO_SYMLINKS;
    if (how->resolve & RESOLVE_NO_XDEV)
        flags |= PLACE_NO_XDEV;
    if (how->resolve & RESOLVE_BENEATH)
        flags |= PLACE_BENEATH;
    return open_at(machine_of(k), at, path, (int)how->flags, (mode_t)how->mode, flags);
}

/* --- Status --- */

static int find_at(struct machine *m, int at, const char *path, int flags, struct machine_place *ret)
{
    const struct machine_file *f;
    int r;

    if (path[0] == '\0' && (flags & AT_EMPTY_PATH)) {
        f = machine_file(m, at);
        if (!f)
            return EBADF;
        *ret = f->place;
        return 0;
    }
    r = machine_find(m, at, path, flags & AT_SYMLINK_NOFOLLOW ? PLACE_NOFOLLOW : 0, ret, NULL);
    return r ? r : ret->mount->tree->failure;
}

static void fill_stat(const struct file_node *n, struct stat *ret)
{
    *ret = (struct stat){ .st_dev = makedev(0, n->tree->dev),
                          .st_ino = n->ino,
                          .st_mode = n->mode,
                          .st_nlink = n->parent ? 1 : 0,
                          .st_uid = n->uid,
                          .st_gid = n->gid,
                          .st_rdev = n->device ? makedev(DISK_MAJOR, n->device) : 0,
                          .st_size = (off_t)n->data.len,
                          .st_blocks = (blkcnt_t)(n->data.len + 511) / 512,
                          .st_blksize = BLOCK_BYTES };
}

static int call_fstatat(struct sys *k, int at, const char *path, struct stat *ret, int flags)
{
    struct machine_place p;
    int r = worker_call(machine_of(k), "stat", path);

    if (r == 0)
        r = find_at(machine_of(k), at, path, flags, &p);
    if (r == 0)
        fill_stat(p.node, ret);
    return set_errno(r);
}

static int call_fstat(struct sys *k, int fd, struct stat *ret)
{
    const struct machine_file *f = machine_file(machine_of(k), fd);

    if (!f)
        return set_errno(EBADF);
    fill_stat(f->place.node, ret);
    if (f->is_kernels)
        ret->st_mode = S_IFREG | 0444;
    return 0;
}

static int call_statx(struct sys *k, int at, const char *path, int flags, unsigned mask, struct statx *ret)
{
    struct machine_place p;
    int r = worker_call(machine_of(k), "statx", path);

    (void)mask;
    if (r == 0)
        r = find_at(machine_of(k), at, path, flags, &p);
    if (r)
        return set_errno(r);
    *ret = (struct statx){ .stx_mask = STATX_BASIC_STATS | STATX_MNT_ID | STATX_BTIME,
                           .stx_attributes_mask = STATX_ATTR_MOUNT_ROOT,
                           .stx_attributes =
                               p.node == p.mount->root ? (unsigned long long)STATX_ATTR_MOUNT_ROOT : 0,
                           .stx_mode = (uint16_t)p.node->mode,
                           .stx_ino = p.node->ino,
                           .stx_size = p.node->data.len,
                           .stx_uid = p.node->uid,
                           .stx_gid = p.node->gid,
                           .stx_dev_minor = p.node->tree->dev,
                           .stx_mnt_id = (unsigned long long)p.mount->id };
    ret->stx_btime.tv_sec = p.node->created_ns / (int64_t)NS_PER_S;
    ret->stx_btime.tv_nsec = (uint32_t)(p.node->created_ns % (int64_t)NS_PER_S);
    return 0;
}

static int call_statfs(struct sys *k, const char *path, struct statfs *ret)
{
    struct machine_place p;
    int r = worker_call(machine_of(k), "statfs", path);

    if (r == 0)
        r = find_at(machine_of(k), AT_FDCWD, path, 0, &p);
    if (r)
        return set_errno(r);
    memset(ret, 0, sizeof *ret);
    ret->f_type = strcmp(p.mount->tree->type, "tmpfs") == 0 ? TMPFS_MAGIC : EXT4_SUPER_MAGIC;
    ret->f_bsize = BLOCK_BYTES;
    ret->f_blocks = ret->f_bfree = ret->f_bavail = 1 << 20;
    ret->f_files = ret->f_ffree = 1 << 16;
    return 0;
}

static int call_statvfs(struct sys *k, const char *path, struct statvfs *ret)
{
    struct machine_place p;
    int r = worker_call(machine_of(k), "statvfs", path);

    if (r == 0)
        r = find_at(machine_of(k), AT_FDCWD, path, 0, &p);
    if (r)
        return set_errno(r);
    memset(ret, 0, sizeof *ret);
    ret->f_bsize = ret->f_frsize = BLOCK_BYTES;
    ret->f_blocks = ret->f_bfree = ret->f_bavail = 1 << 20;
    ret->f_flag = p.mount->is_read_only ? ST_RDONLY : 0;
    return 0;
}

static int call_access(struct sys *k, const char *path, int mode)
{
    struct machine_place p;
    int r = find_at(machine_of(k), AT_FDCWD, path, 0, &p);

    if (r == 0 && (mode & X_OK) && !S_ISDIR(p.node->mode) && !(p.node->mode & 0111))
        r = EACCES;
    return set_errno(r);
}

static ssize_t call_readlinkat(struct sys *k, int at, const char *path, char *ret, size_t size)
{
    static const char prefix[] = "/proc/self/fd/";
    struct machine *m = machine_of(k);
    char text[PATH_MAX];
    struct machine_place p;
    size_t len;
    int r = machine_find(m, at, path, PLACE_NOFOLLOW, &p, NULL);

    if (r)
        return set_errno(r);
    if (strncmp(path, prefix, strlen(prefix)) == 0) {
        machine_path_of(m, p, text);
    } else {
        if (!S_ISLNK(p.node->mode))
            return set_errno(EINVAL);
        (void)snprintf(text, sizeof text, "%s", buf_cstr(&p.node->data));
    }
    len = strlen(text) < size ? strlen(text) : size;
    memcpy(ret, text, len);
    return (ssize_t)len;
}

static char *call_realpath(struct sys *k, const char *path)
{
    struct machine *m = machine_of(k);
    struct machine_place p;
    char text[PATH_MAX];
    int r = worker_call(m, "realpath", path);

    if (r == 0)
        r = machine_find(m, AT_FDCWD, path, 0, &p, NULL);
    if (r) {
        errno = r;
        return NULL;
    }
    machine_path_of(m, p, text);
    return strdup(text);
}

/* --- Changes --- */

/* Finds the directory and the name of a new entry. */
static int find_parent(struct machine *m, int at, const char *path, struct machine_place *ret,
                       char name[NAME_MAX + 1])
{
    int r = machine_find(m, at, path, PLACE_PARENT, ret, name);

    if (r)
        return r;
    if (name[0] == '\0')
        return EEXIST; /* "/", "." */
    return ret->mount->is_read_only ? EROFS : ret->mount->tree->failure;
}

static int add_node(struct machine *m, int at, const char *path, mode_t mode, const char *target)
{
    struct machine_place dir;
    struct file_node *n;
    char name[NAME_MAX + 1];
    int r = find_parent(m, at, path, &dir, name);

    if (r)
        return r;
    if (tree_find(dir.node, name))
        return EEXIST;
    n = tree_add(dir.node, name, mode);
    if (target)
        buf_add_cstr(&n->data, target);
    machine_entry_changed(m, dir.node, name);
    return 0;
}

static int call_mkdirat(struct sys *k, int at, const char *path, mode_t mode)
{
    int r = worker_call(machine_of(k), "mkdir", path);

    return set_errno(r ? r : add_node(machine_of(k), at, path, S_IFDIR | (mode & 07777), NULL));
}

static int call_symlinkat(struct sys *k, const char *target, int at, const char *path)
{
    int r = worker_call(machine_of(k), "symlink", path);

    return set_errno(r ? r : add_node(machine_of(k), at, path, S_IFLNK | 0777, target));
}

static bool is_mount_point(const struct machine *m, const struct file_node *n)
{
    const struct machine_mount *mount;

    TAILQ_FOREACH(mount, &m->mounts, link)
        if (mount->at == n)
            return true;
    return false;
}

static int check_removal(const struct machine *m, const struct file_node *n, bool is_dir)
{
    if (!n)
        return ENOENT;
    if (is_dir && !S_ISDIR(n->mode))
        return ENOTDIR;
    if (!is_dir && S_ISDIR(n->mode))
        return EISDIR;
    if (is_mount_point(m, n))
        return EBUSY;
    return is_dir && !tree_is_empty(n) ? ENOTEMPTY : 0;
}

static int call_unlinkat(struct sys *k, int at, const char *path, int flags)
{
    struct machine *m = machine_of(k);
    struct machine_place dir;
    struct file_node *n = NULL;
    char name[NAME_MAX + 1];
    int r = worker_call(m, flags & AT_REMOVEDIR ? "rmdir" : "unlink", path);

    if (r == 0)
        r = find_parent(m, at, path, &dir, name);
    if (r == 0) {
        n = tree_find(dir.node, name);
        r = check_removal(m, n, flags & AT_REMOVEDIR);
    }
    if (r == 0) {
        tree_remove(n);
        machine_entry_changed(m, dir.node, name);
    }
    return set_errno(r);
}

static int call_renameat(struct sys *k, int at, const char *path, int to_at, const char *to)
{
    struct machine *m = machine_of(k);
    struct machine_place from, dir;
    struct file_node *n, *old;
    char name[NAME_MAX + 1], to_name[NAME_MAX + 1];
    int r = worker_call(m, "rename", path);

    if (r == 0)
        r = find_parent(m, at, path, &from, name);
    if (r == 0)
        r = find_parent(m, to_at, to, &dir, to_name);
    if (r)
        return set_errno(r);
    n = tree_find(from.node, name);
    old = tree_find(dir.node, to_name);
    if (!n)
        return set_errno(ENOENT);
    if (from.mount != dir.mount)
        return set_errno(EXDEV);
    if (is_mount_point(m, n) || (old && is_mount_point(m, old)))
        return set_errno(EBUSY);
    if (old && S_ISDIR(old->mode) && !tree_is_empty(old))
        return set_errno(ENOTEMPTY);
    tree_move(n, dir.node, to_name);
    machine_entry_changed(m, from.node, name);
    machine_entry_changed(m, dir.node, to_name);
    return 0;
}

/* There are no hard links: the second name leads to a copy, which is the same for a file that is complete. */
static int call_linkat(struct sys *k, int at, const char *path, int to_at, const char *to)
{
    struct machine *m = machine_of(k);
    struct machine_place from, dir;
    struct file_node *n, *copy;
    char name[NAME_MAX + 1], to_name[NAME_MAX + 1];
    int r = worker_call(m, "link", path);

    if (r == 0)
        r = find_parent(m, at, path, &from, name);
    if (r == 0)
        r = find_parent(m, to_at, to, &dir, to_name);
    if (r)
        return set_errno(r);
    n = tree_find(from.node, name);
    if (!n || S_ISDIR(n->mode))
        return set_errno(n ? EPERM : ENOENT);
    if (tree_find(dir.node, to_name))
        return set_errno(EEXIST);
    if (from.mount != dir.mount)
        return set_errno(EXDEV);
    copy = tree_add(dir.node, to_name, n->mode);
    buf_add_str(&copy->data, buf_str(&n->data));
    if (n->is_synced)
        tree_sync(copy);
    machine_entry_changed(m, dir.node, to_name);
    return 0;
}

static int set_mode(struct machine_place p, mode_t mode)
{
    if (p.mount->is_read_only)
        return EROFS;
    p.node->mode = (p.node->mode & S_IFMT) | (mode & 07777);
    return 0;
}

static int call_chmod(struct sys *k, const char *path, mode_t mode)
{
    struct machine_place p;
    int r = find_at(machine_of(k), AT_FDCWD, path, 0, &p);

    return set_errno(r ? r : set_mode(p, mode));
}

static int call_fchmod(struct sys *k, int fd, mode_t mode)
{
    const struct machine_file *f = machine_file(machine_of(k), fd);

    return set_errno(!f ? EBADF : set_mode(f->place, mode));
}

static int set_owner(struct machine_place p, uid_t uid, gid_t gid)
{
    if (p.mount->is_read_only)
        return EROFS;
    if (uid != (uid_t)-1)
        p.node->uid = uid;
    if (gid != (gid_t)-1)
        p.node->gid = gid;
    return 0;
}

static int call_fchownat(struct sys *k, int at, const char *path, uid_t uid, gid_t gid, int flags)
{
    struct machine_place p;
    int r = worker_call(machine_of(k), "chown", path);

    if (r == 0)
        r = find_at(machine_of(k), at, path, flags, &p);
    return set_errno(r ? r : set_owner(p, uid, gid));
}

static int call_fchown(struct sys *k, int fd, uid_t uid, gid_t gid)
{
    const struct machine_file *f = machine_file(machine_of(k), fd);

    return set_errno(!f ? EBADF : set_owner(f->place, uid, gid));
}

/* --- Reading and writing --- */

static ssize_t call_read(struct sys *k, int fd, void *ret, size_t size)
{
    struct machine_file *f = machine_file(machine_of(k), fd);
    const struct buf *data;
    size_t len;

    if (!f)
        return set_errno(EBADF);
    if (!f->is_kernels && S_ISDIR(f->place.node->mode))
        return set_errno(EISDIR);
    if (f->place.mount->tree->failure)
        return set_errno(f->place.mount->tree->failure);
    data = f->is_kernels ? &f->text : &f->place.node->data;
    len = f->at < data->len ? data->len - f->at : 0;
    len = len < size ? len : size;
    if (len > 0)
        memcpy(ret, data->data + f->at, len);
    f->at += len;
    return (ssize_t)len;
}

static ssize_t write_at(struct machine_file *f, const void *data, size_t len, size_t at)
{
    struct buf *b = &f->place.node->data;

    if (f->place.mount->tree->failure)
        return set_errno(f->place.mount->tree->failure);
    if (S_ISBLK(f->place.node->mode))
        return (ssize_t)len; /* the contents of a disk are its tree */
    if (at + len > TREE_FILE_BYTES_MAX)
        return set_errno(ENOSPC);
    while (b->len < at)
        buf_add(b, "", 1);
    if (at < b->len) {
        size_t over = b->len - at < len ? b->len - at : len;

        memcpy(b->data + at, data, over);
        buf_add(b, (const char *)data + over, len - over);
    } else {
        buf_add(b, data, len);
    }
    f->place.node->is_synced = false;
    return (ssize_t)len;
}

static ssize_t call_write(struct sys *k, int fd, const void *data, size_t len)
{
    struct machine_file *f = machine_file(machine_of(k), fd);
    ssize_t n;
    int r = worker_call(machine_of(k), "write", "");

    if (r || !f)
        return set_errno(r ? r : EBADF);
    n = write_at(f, data, len, f->at);
    f->at += n > 0 ? (size_t)n : 0;
    return n;
}

static ssize_t call_pwrite(struct sys *k, int fd, const void *data, size_t len, off_t at)
{
    struct machine_file *f = machine_file(machine_of(k), fd);
    int r = worker_call(machine_of(k), "write", "");

    return r || !f ? set_errno(r ? r : EBADF) : write_at(f, data, len, (size_t)at);
}

static int call_fsync(struct sys *k, int fd)
{
    struct machine_file *f = machine_file(machine_of(k), fd);
    int r = worker_call(machine_of(k), "fsync", "");

    if (r || !f)
        return set_errno(r ? r : EBADF);
    tree_sync(f->place.node);
    return 0;
}

static int call_flock(struct sys *k, int fd, int operation)
{
    (void)k;
    (void)fd;
    (void)operation;
    return 0; /* only one process per machine uses locks */
}

static int call_ioctl(struct sys *k, int fd, unsigned long request, void *arg)
{
    struct machine *m = machine_of(k);
    const struct machine_file *f = machine_file(m, fd);
    const struct sim_disk *d = f ? machine_disk_of(m, f->place.node) : NULL;
    int r;

    if (f && machine_loop_ioctl(m, f, request, arg, &r))
        return r < 0 ? set_errno(-r) : r;
    if (!d)
        return set_errno(f ? ENOTTY : EBADF);
    if (request == BLKGETSIZE64)
        *(uint64_t *)arg = d->bytes;
    else if (request == BLKROGET)
        *(int *)arg = 0;
    else
        return set_errno(ENOTTY);
    return 0;
}

/* --- Directories --- */

struct sys_dir {
    int fd;
    long place;
    struct dirent entry;
};

static struct sys_dir *call_fdopendir(struct sys *k, int fd)
{
    const struct machine_file *f = machine_file(machine_of(k), fd);
    struct sys_dir *d;

    if (!f || !S_ISDIR(f->place.node->mode)) {
        errno = f ? ENOTDIR : EBADF;
        return NULL;
    }
    d = sim_alloc(sizeof *d);
    d->fd = fd;
    return d;
}

static unsigned char dirent_type(mode_t mode)
{
    return S_ISDIR(mode)    ? DT_DIR
           : S_ISLNK(mode)  ? DT_LNK
           : S_ISREG(mode)  ? DT_REG
           : S_ISBLK(mode)  ? DT_BLK
           : S_ISSOCK(mode) ? DT_SOCK
                            : DT_UNKNOWN;
}

static const struct dirent *call_readdir(struct sys *k, struct sys_dir *d)
{
    const struct machine_file *f = machine_file(machine_of(k), d->fd);
    const struct tree_entry *e;

    if (!f || f->place.mount->tree->failure) {
        errno = f ? f->place.mount->tree->failure : EBADF;
        return NULL;
    }
    TAILQ_FOREACH(e, &f->place.node->entries, link)
        if (e->place > d->place)
            break;
    if (!e)
        return NULL;
    d->place = e->place;
    d->entry.d_ino = e->node->ino;
    d->entry.d_type = dirent_type(e->node->mode);
    (void)snprintf(d->entry.d_name, sizeof d->entry.d_name, "%s", e->name);
    return &d->entry;
}

static int call_dirfd(struct sys *k, struct sys_dir *d)
{
    (void)k;
    return d->fd;
}

static long call_telldir(struct sys *k, struct sys_dir *d)
{
    (void)k;
    return d->place;
}

static void call_seekdir(struct sys *k, struct sys_dir *d, long place)
{
    (void)k;
    d->place = place;
}

static void call_closedir(struct sys *k, struct sys_dir *d)
{
    (void)call_close(k, d->fd); /* nothing was written */
    free(d);
}

/* --- Mounts, devices, the machine --- */

static int call_mount(struct sys *k, const char *source, const char *target, const char *type,
                      const char *options)
{
    int r = worker_call(machine_of(k), "mount", target);

    return r ? r : machine_mount(machine_of(k), source, target, type, options);
}

static int call_umount2(struct sys *k, const char *target, int flags)
{
    int r = worker_call(machine_of(k), "umount", target);

    return set_errno(r ? r : machine_unmount(machine_of(k), target, flags));
}

static bool call_yes(struct sys *k)
{
    (void)k;
    return true;
}

static bool call_no(struct sys *k)
{
    (void)k;
    return false;
}

static uid_t call_geteuid(struct sys *k)
{
    (void)k;
    return 0;
}

static ssize_t call_getrandom(struct sys *k, void *ret, size_t size)
{
    unsigned char *bytes = ret;

    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)rng_below(&machine_of(k)->rng, 256);
    return (ssize_t)size;
}

static int call_probe(struct sys *k, int fd, bool wants_uuid, char *ret, size_t size)
{
    struct machine *m = machine_of(k);
    const struct machine_file *f = machine_file(m, fd);
    const struct sim_disk *d = f ? machine_disk_of(m, f->place.node) : NULL;

    if (!d)
        return EIO;
    (void)snprintf(ret, size, "%s", !d->tree ? "" : wants_uuid ? d->name : d->tree->type);
    return 0;
}

static int call_system_read(struct sys *k, struct host_system *ret, struct error *err)
{
    const struct machine *m = machine_of(k);

    (void)err;
    *ret = (struct host_system){ .kernel = "6.1.0-sim",
                                 .architecture = "amd64",
                                 .os_image = "sim",
                                 .machine_id = "",
                                 .address = "127.0.0.1",
                                 .cpus = 2,
                                 .memory_bytes = (uint64_t)4 << 30 };
    (void)snprintf(ret->machine_id, sizeof ret->machine_id, "%s", m->name);
    (void)snprintf(ret->system_uuid, sizeof ret->system_uuid, "%s", m->name);
    (void)snprintf(ret->boot_id, sizeof ret->boot_id, "%s-%" PRIu64, m->name, m->boots);
    return 0;
}

const struct sys_calls machine_calls = {
    .openat = call_openat,
    .openat2 = call_openat2,
    .fstatat = call_fstatat,
    .statx = call_statx,
    .statfs = call_statfs,
    .statvfs = call_statvfs,
    .access = call_access,
    .chmod = call_chmod,
    .mkdirat = call_mkdirat,
    .unlinkat = call_unlinkat,
    .renameat = call_renameat,
    .linkat = call_linkat,
    .symlinkat = call_symlinkat,
    .readlinkat = call_readlinkat,
    .fchownat = call_fchownat,
    .realpath = call_realpath,
    .close = call_close,
    .dup = call_dup,
    .read = call_read,
    .write = call_write,
    .pwrite = call_pwrite,
    .fstat = call_fstat,
    .fchmod = call_fchmod,
    .fchown = call_fchown,
    .fsync = call_fsync,
    .fdatasync = call_fsync,
    .flock = call_flock,
    .ioctl = call_ioctl,
    .fdopendir = call_fdopendir,
    .readdir = call_readdir,
    .dirfd = call_dirfd,
    .telldir = call_telldir,
    .seekdir = call_seekdir,
    .closedir = call_closedir,
    .mount = call_mount,
    .umount2 = call_umount2,
    .tmpfs_takes_noswap = call_no,
    .geteuid = call_geteuid,
    .may_mount = call_yes,
    .getrandom = call_getrandom,
    .pool_new = machine_pool_new,
    .process_run = machine_process_run,
    .process_cancel = machine_process_cancel,
    .process_drop = machine_process_drop,
    .process_wait = machine_process_wait,
    .rpc_start = machine_rpc_start,
    .rpc_cancel = machine_rpc_cancel,
    .rpc_watch = machine_rpc_watch,
    .rpc_unwatch = machine_rpc_unwatch,
    .rpc_wait = machine_rpc_wait,
    .dirwatch_start = machine_dirwatch_start,
    .dirwatch_stop = machine_dirwatch_stop,
    .probe = call_probe,
    .system_read = call_system_read,
    .mount_watch_start = machine_mount_watch_start,
    .mount_watch_stop = machine_mount_watch_stop,
};
