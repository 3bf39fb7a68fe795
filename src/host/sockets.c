/* A bounded walk for sockets: HOST_SOCKETS_DEPTH_MAX levels, HOST_SOCKETS_MAX sockets and directories. Costs
 * one lstat() per entry. */
#include "host/sockets.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "host/dirs.h"
#include "io/sys.h"

struct search {
    struct arena *arena;
    VEC(struct host_socket) sockets;
    VEC(const char *) dirs;
};

static void search_done(struct search *s)
{
    vec_done(&s->sockets);
    vec_done(&s->dirs);
}

static int add_socket(struct search *s, const char *path, const struct stat *st, struct error *err)
{
    const struct host_socket one = { arena_dup(s->arena, str_of(path)), socket_id_of(st) };

    if (s->sockets.count == HOST_SOCKETS_MAX)
        return error_set(err, ERR_TOO_LARGE, "more than %d sockets", HOST_SOCKETS_MAX);
    return vec_push(&s->sockets, one) < 0 ? error_no_memory(err) : arena_check(s->arena, err);
}

static int walk_dir(struct search *s, const char *dir, unsigned depth, struct error *err);

static int visit_entry(struct search *s, const char *dir, const char *name, unsigned depth, struct error *err)
{
    char path[PATH_MAX];
    struct stat st;
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);

    if (name[0] == '.' || n < 0 || (size_t)n >= sizeof path || sys_lstat(path, &st) < 0)
        return 0;
    if (S_ISSOCK(st.st_mode))
        return add_socket(s, path, &st, err);
    return S_ISDIR(st.st_mode) && depth < HOST_SOCKETS_DEPTH_MAX ? walk_dir(s, path, depth + 1, err) : 0;
}

static int walk_dir(struct search *s, const char *dir, unsigned depth, struct error *err)
{
    struct texts names;
    struct error why;
    int r;

    if (s->dirs.count == HOST_SOCKETS_MAX)
        return error_set(err, ERR_TOO_LARGE, "more than %d directories", HOST_SOCKETS_MAX);
    if (vec_push(&s->dirs, arena_dup(s->arena, str_of(dir))) < 0)
        return error_no_memory(err);
    r = host_list_dir(dir, s->arena, HOST_DIRS_MAX, &names, &why);
    if (r == -ERR_NOT_FOUND && depth > 0)
        return 0;
    if (r < 0)
        return error_pass(err, &why);
    for (uint32_t i = 0; r == 0 && i < names.count; i++)
        r = visit_entry(s, dir, names.items[i], depth, err);
    return r;
}

int host_find_sockets(const char *dir, struct arena *a, struct host_sockets *ret, struct error *err)
{
    _cleanup_(search_done) struct search s = { .arena = a };
    struct host_socket *sockets;
    const char **dirs;
    int r = walk_dir(&s, dir, 0, err);

    if (r < 0)
        return r;
    sockets = arena_array(a, s.sockets.count, sizeof *sockets);
    dirs = arena_array(a, s.dirs.count, sizeof *dirs);
    r = arena_check(a, err);
    if (r < 0)
        return r;
    if (s.sockets.count)
        memcpy(sockets, s.sockets.items, s.sockets.count * sizeof *sockets);
    memcpy(dirs, s.dirs.items, s.dirs.count * sizeof *dirs);
    *ret = (struct host_sockets){ sockets, (uint32_t)s.sockets.count, { dirs, (uint32_t)s.dirs.count } };
    return 0;
}
