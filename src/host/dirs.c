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

int host_list_dirs(const char *path, struct arena *a, struct texts *ret, struct error *err)
{
    _cleanup_(vec_done_p) VEC(const char *) names = { 0 };
    _cleanup_(closedirp) DIR *d = opendir(path);
    const struct dirent *e;

    if (!d)
        return error_set_errno(err, errno, "cannot open directory '%s'", path);
    while (errno = 0, (e = readdir(d))) {
        if (e->d_name[0] == '.' || !is_dir(d, e))
            continue;
        if (names.count == HOST_DIRS_MAX)
            return error_set(err, ERR_TOO_LARGE, "directory '%s' holds more than %d directories", path,
                             HOST_DIRS_MAX);
        if (vec_push(&names, arena_dup(a, str_of(e->d_name))) < 0)
            return error_no_memory(err);
    }
    if (errno)
        return error_set_errno(err, errno, "cannot read directory '%s'", path);
    if (names.count > 0)
        qsort(names.items, names.count, sizeof *names.items, compare);
    const char **items = arena_array(a, names.count, sizeof *items);
    if (arena_check(a, err) < 0)
        return -(int)err->code;
    if (names.count > 0)
        memcpy(items, names.items, names.count * sizeof *items);
    *ret = (struct texts){ items, (uint32_t)names.count };
    return 0;
}

bool host_is_executable(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}
