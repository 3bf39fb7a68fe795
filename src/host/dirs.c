/* Bounded listings of directories, sorted by name. A listing costs O(n log n), and one more call per entry
 * where the file system does not report types. */
#include "host/dirs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "host/safe_path.h"
#include "io/file.h"
#include "io/sys.h"

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* An entry that cannot be examined counts as a directory: of a mount with a dead server nothing else is
 * known. */
static unsigned kind_of(struct sys_dir *d, const struct dirent *e)
{
    struct stat st;

    if (e->d_type != DT_UNKNOWN)
        return e->d_type == DT_DIR   ? HOST_LIST_DIRS
               : e->d_type == DT_LNK ? HOST_LIST_LINKS
                                     : HOST_LIST_OTHERS;
    if (sys_fstatat(sys_dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISDIR(st.st_mode))
        return HOST_LIST_DIRS;
    return S_ISLNK(st.st_mode) ? HOST_LIST_LINKS : HOST_LIST_OTHERS;
}

/* Which entries are counted, and which of them are listed. */
struct listing {
    bool (*counts)(struct sys_dir *d, const struct dirent *e);
    unsigned kinds; /* 0: all that are counted */
    uint32_t count_max;
};

/* Not every file system reports the types of its entries. */
static bool is_plain_dir(struct sys_dir *d, const struct dirent *e)
{
    struct stat st;

    if (e->d_name[0] == '.' || (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN && e->d_type != DT_LNK))
        return false;
    return e->d_type == DT_DIR || (sys_fstatat(sys_dirfd(d), e->d_name, &st, 0) == 0 && S_ISDIR(st.st_mode));
}

static bool is_entry(struct sys_dir *d, const struct dirent *e)
{
    (void)d;
    return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

static int list_entries(struct sys_dir *d, const char *path, const struct listing *l, struct arena *a,
                        struct texts *ret, struct error *err)
{
    _cleanup_(vec_done_p) VEC(const char *) names = { 0 };
    const struct dirent *e;
    const char **items;
    uint32_t count = 0;

    while (errno = 0, (e = sys_readdir(d))) {
        if (!l->counts(d, e))
            continue;
        if (count++ == l->count_max)
            return error_set(err, ERR_TOO_LARGE, "directory '%s' has more than %u entries", path,
                             l->count_max);
        if (l->kinds && !(l->kinds & kind_of(d, e)))
            continue;
        if (vec_push(&names, arena_dup(a, str_of(e->d_name))) < 0)
            return error_no_memory(err);
    }
    if (errno)
        return error_set_errno(err, errno, "cannot read directory '%s'", path);
    items = arena_array(a, names.count, sizeof *items);
    if (arena_check(a, err) < 0)
        return -(int)err->code;
    if (names.count > 0) {
        memcpy(items, names.items, names.count * sizeof *items);
        qsort(items, names.count, sizeof *items, compare_names);
    }
    *ret = (struct texts){ items, (uint32_t)names.count };
    return 0;
}

static int list_path(const char *path, const struct listing *l, struct arena *a, struct texts *ret,
                     struct error *err)
{
    _cleanup_(sys_closedirp) struct sys_dir *d = sys_opendir(path);

    if (!d)
        return error_set_errno(err, errno, "cannot open directory '%s'", path);
    return list_entries(d, path, l, a, ret, err);
}

int host_list_dirs(const char *path, struct arena *a, struct texts *ret, struct error *err)
{
    struct listing l = { .counts = is_plain_dir, .count_max = HOST_DIRS_MAX };

    return list_path(path, &l, a, ret, err);
}

int host_list_dir(const char *path, struct arena *a, uint32_t count_max, struct texts *ret, struct error *err)
{
    struct listing l = { .counts = is_entry, .count_max = count_max };

    return list_path(path, &l, a, ret, err);
}

int host_list_below(int at, const char *path, unsigned kinds, struct arena *a, uint32_t count_max,
                    struct texts *ret, struct error *err)
{
    struct listing l = { .counts = is_entry, .kinds = kinds, .count_max = count_max };
    _cleanup_(fd_closep) int fd = host_open_dir(at, path, 0);
    _cleanup_(sys_closedirp) struct sys_dir *d = NULL;

    if (fd < 0)
        return error_set_errno(err, -fd, "cannot open directory '%s'", path);
    d = sys_fdopendir(fd);
    if (!d)
        return error_set_errno(err, errno, "cannot read directory '%s'", path);
    (void)take_fd(&fd); /* d owns it now */
    return list_entries(d, path, &l, a, ret, err);
}

bool host_is_executable(const char *path)
{
    struct stat st;

    return sys_stat(path, &st) == 0 && S_ISREG(st.st_mode) && sys_access(path, X_OK) == 0;
}
