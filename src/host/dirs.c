#include "host/dirs.h"

#include <dirent.h>
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

static void closedirp(DIR **d)
{
    if (*d)
        (void)closedir(*d); /* read only */
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Not every file system says what its entries are. */
static bool is_dir(DIR *d, const struct dirent *e)
{
    struct stat st;

    if (e->d_type == DT_DIR)
        return true;
    if (e->d_type != DT_UNKNOWN && e->d_type != DT_LNK)
        return false;
    return fstatat(dirfd(d), e->d_name, &st, 0) == 0 && S_ISDIR(st.st_mode);
}

/* What cannot be examined is a directory: of a mount whose server is gone nothing else is known. */
static unsigned kind_of(DIR *d, const struct dirent *e)
{
    struct stat st;

    if (e->d_type != DT_UNKNOWN)
        return e->d_type == DT_DIR   ? HOST_LIST_DIRS
               : e->d_type == DT_LNK ? HOST_LIST_LINKS
                                     : HOST_LIST_OTHERS;
    if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISDIR(st.st_mode))
        return HOST_LIST_DIRS;
    return S_ISLNK(st.st_mode) ? HOST_LIST_LINKS : HOST_LIST_OTHERS;
}

/* Which entries count, and which of them are listed. */
struct listing {
    bool (*counts)(DIR *d, const struct dirent *e);
    unsigned kinds; /* 0: all that count */
    uint32_t count_max;
};

static bool is_plain_dir(DIR *d, const struct dirent *e)
{
    return e->d_name[0] != '.' && is_dir(d, e);
}

static bool is_entry(DIR *d, const struct dirent *e)
{
    (void)d;
    return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

static int list(DIR *d, const char *path, const struct listing *l, struct arena *a, struct texts *ret,
                struct error *err)
{
    _cleanup_(vec_done_p) VEC(const char *) names = { 0 };
    const struct dirent *e;
    const char **items;
    uint32_t count = 0;

    while (errno = 0, (e = readdir(d))) {
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
        qsort(items, names.count, sizeof *items, compare);
    }
    *ret = (struct texts){ items, (uint32_t)names.count };
    return 0;
}

static int list_path(const char *path, const struct listing *l, struct arena *a, struct texts *ret,
                     struct error *err)
{
    _cleanup_(closedirp) DIR *d = opendir(path);

    if (!d)
        return error_set_errno(err, errno, "cannot open directory '%s'", path);
    return list(d, path, l, a, ret, err);
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
    _cleanup_(closep) int fd = host_open_dir(at, path, 0);
    _cleanup_(closedirp) DIR *d = NULL;

    if (fd < 0)
        return error_set_errno(err, -fd, "cannot open directory '%s'", path);
    d = fdopendir(fd);
    if (!d)
        return error_set_errno(err, errno, "cannot read directory '%s'", path);
    (void)take_fd(&fd); /* it is d's */
    return list(d, path, &l, a, ret, err);
}

bool host_is_executable(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}
