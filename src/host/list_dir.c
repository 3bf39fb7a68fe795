#include "host/list_dir.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"

static void closedirp(DIR **d)
{
    if (*d)
        (void)closedir(*d);
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int host_list_dir(const char *path, struct arena *a, uint32_t count_max, struct texts *ret, struct error *err)
{
    _cleanup_(vec_done_p) VEC(const char *) names = { 0 };
    _cleanup_(closedirp) DIR *d = opendir(path);
    const char **items;

    if (!d)
        return error_set_errno(err, errno, "cannot read directory '%s'", path);
    for (struct dirent *e; (void)(errno = 0), (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (names.count == count_max)
            return error_set(err, ERR_TOO_LARGE, "directory '%s' has more than %u entries", path, count_max);
        if (vec_push(&names, arena_dup(a, str_of(e->d_name))) < 0)
            return error_no_memory(err);
    }
    if (errno != 0)
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
