#include "host/dirs.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/vec.h"

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

typedef bool wanted_fn(DIR *d, const struct dirent *e);

static bool is_plain_dir(DIR *d, const struct dirent *e)
{
    return e->d_name[0] != '.' && is_dir(d, e);
}

static bool is_entry(DIR *d, const struct dirent *e)
{
    (void)d;
    return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

static int list(const char *path, wanted_fn *is_wanted, struct arena *a, uint32_t count_max,
                struct texts *ret, struct error *err)
{
    _cleanup_(vec_done_p) VEC(const char *) names = { 0 };
    _cleanup_(closedirp) DIR *d = opendir(path);
    const struct dirent *e;
    const char **items;

    if (!d)
        return error_set_errno(err, errno, "cannot open directory '%s'", path);
    while (errno = 0, (e = readdir(d))) {
        if (!is_wanted(d, e))
            continue;
        if (names.count == count_max)
            return error_set(err, ERR_TOO_LARGE, "directory '%s' has more than %u entries", path, count_max);
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

int host_list_dirs(const char *path, struct arena *a, struct texts *ret, struct error *err)
{
    return list(path, is_plain_dir, a, HOST_DIRS_MAX, ret, err);
}

int host_list_dir(const char *path, struct arena *a, uint32_t count_max, struct texts *ret, struct error *err)
{
    return list(path, is_entry, a, count_max, ret, err);
}

bool host_is_executable(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}
