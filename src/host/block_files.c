/* Binds of and links to block devices. A device is opened first and bound by its descriptor, so that the
 * checked device is the one that is bound: replacing the path in between has no effect. */
#include "host/block_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/quote.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "host/dirs.h"
#include "host/files.h"
#include "io/file.h"
#include "io/sys.h"

#define DIR_MODE 0750
#define FILE_MODE 0750
#define REFERENCES_MAX 8 /* named in an error */
#define TEXT_BYTES 200
#define NAMES_BYTES 400

static int make_parent(const char *path, struct error *err)
{
    const char *last = strrchr(path, '/');
    char dir[PATH_MAX];

    if (!last || last == path || (size_t)(last - path) >= sizeof dir)
        return error_set(err, ERR_INVALID, "'%s' is not a valid file path", path);
    (void)snprintf(dir, sizeof dir, "%.*s", (int)(last - path), path);
    return host_make_path(dir, DIR_MODE, err);
}

static int open_device(const char *device, int *ret_fd, struct error *err)
{
    _cleanup_(fd_closep) int fd = sys_open(device, O_PATH | O_CLOEXEC, 0);
    struct stat st;

    if (fd < 0)
        return error_set_errno(err, errno, "cannot open '%s'", device);
    if (sys_fstat(fd, &st) < 0 || !S_ISBLK(st.st_mode))
        return error_set(err, ERR_INVALID, "'%s' is not a block device", device);
    *ret_fd = take_fd(&fd);
    return 0;
}

int block_bind(const struct host_tools *t, const char *device, const char *path, struct error *err)
{
    static const char *const bind_only[] = { "bind" };
    _cleanup_(fd_closep) int fd = -1;
    struct stat st;
    int r;

    if (sys_lstat(path, &st) == 0 && S_ISBLK(st.st_mode))
        return 0; /* already bound */
    r = open_device(device, &fd, err);
    if (r == 0)
        r = make_parent(path, err);
    if (r == 0)
        r = host_make_file(path, FILE_MODE, err);
    return r < 0 ? r : host_bind_fd(t, fd, path, (struct texts){ bind_only, 1 }, err);
}

int block_unbind(const struct host_tools *t, const char *path, struct error *err)
{
    return host_clean_mount_point(t, path, /* limit_ns= */ 0, err);
}

/* A correct link is not replaced: a pod may be about to open it. */
int block_link(const char *device, const char *path, struct error *err)
{
    char target[PATH_MAX];
    int r = make_parent(path, err);
    ssize_t len = r == 0 ? sys_readlink(path, target, sizeof target) : -1;

    if (len >= 0 && (size_t)len < sizeof target &&
        str_eq((struct str){ target, (size_t)len }, str_of(device)))
        return 0;
    if (r == 0)
        r = block_unlink(path, err);
    if (r < 0)
        return r;
    if (sys_symlink(device, path) < 0)
        return error_set_errno(err, errno, "cannot create link '%s'", path);
    return 0;
}

int block_link_first(const char *device, const char *path, struct error *err)
{
    struct stat st;

    if (sys_lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
        return 0;
    return block_link(device, path, err); /* refuses everything else that is there */
}

int block_unlink(const char *path, struct error *err)
{
    struct stat st;

    if (sys_lstat(path, &st) < 0)
        return errno == ENOENT ? 0 : error_set_errno(err, errno, "cannot examine '%s'", path);
    if (!S_ISLNK(st.st_mode))
        return error_set(err, ERR_EXISTS, "'%s' exists and is not a symbolic link", path);
    if (sys_unlink(path) < 0 && errno != ENOENT)
        return error_set_errno(err, errno, "cannot remove link '%s'", path);
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct names {
    VEC(char *) list;
};

static void names_done(struct names *n)
{
    for (size_t i = 0; i < n->list.count; i++)
        free(n->list.items[i]);
    vec_done(&n->list);
}

/* The names of all devices in the directory, sorted. */
static int list_devices(struct sys_dir *all, struct names *ret, struct error *err)
{
    struct stat st;

    for (const struct dirent *e; (e = sys_readdir(all));) {
        if (sys_fstatat(sys_dirfd(all), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISBLK(st.st_mode))
            continue;
        if (vec_push(&ret->list, NULL) < 0)
            return error_no_memory(err);
        char **name = &ret->list.items[ret->list.count - 1];
        *name = strdup(e->d_name);
        if (!*name)
            return error_no_memory(err);
    }
    if (ret->list.count > 0)
        qsort(ret->list.items, ret->list.count, sizeof *ret->list.items, compare_names);
    return 0;
}

int block_check_unbound(const char *dir, struct error *err)
{
    _cleanup_(sys_closedirp) struct sys_dir *all = sys_opendir(dir);
    _cleanup_(names_done) struct names names = { 0 };
    _cleanup_(buf_done_p) struct buf shown = BUF_INIT(NAMES_BYTES);
    char text[TEXT_BYTES];
    int r;

    if (!all && errno == ENOENT)
        return 0;
    if (!all)
        return error_set_errno(err, errno, "cannot list '%s'", dir);
    r = list_devices(all, &names, err);
    if (r < 0 || names.list.count == 0)
        return r;
    for (size_t i = 0; i < names.list.count && i < REFERENCES_MAX; i++)
        buf_addf(&shown, "%s%s", i ? " " : "", names.list.items[i]); /* truncated at worst */
    return error_set(err, ERR_BUSY, "the device %s is still referenced from other Pods [%s]",
                     quote_text(text, sizeof text, str_of(dir)), buf_cstr(&shown));
}
