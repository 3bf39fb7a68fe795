/* Watches a directory tree for sockets: one inotify watch per directory, and a periodic scan for what the
 * watches miss. */
#include "plugins/csi/socket_watch.h"

#include <string.h>

#include "base/vec.h"
#include "io/dirwatch.h"
#include "io/file.h"

#define DIR_MODE 0755

struct watched {
    struct socket_watch *owner;
    struct dirwatch *watch; /* NULL: the directory is gone */
    char path[];
};

struct socket_watch {
    struct loop *loop;
    loop_fn on_change;
    void *ctx;
    struct deferred changed;
    struct timer look;
    VEC(struct watched *) all;
    char dir[];
};

static struct watched *watched_free(struct watched *watched)
{
    watched->watch = dirwatch_stop(watched->watch);
    free(watched);
    return NULL;
}

static void on_event(void *ctx, enum dirwatch_event event, const char *name)
{
    struct watched *watched = ctx;

    if (event == DIRWATCH_CHANGED && name[0] == '.')
        return;
    if (event == DIRWATCH_GONE)
        watched->watch = dirwatch_stop(watched->watch);
    loop_defer(&watched->owner->changed);
}

static void on_scan_timer(void *ctx)
{
    struct socket_watch *w = ctx;

    timer_arm_after(&w->look, SOCKET_WATCH_LOOK_NS);
    loop_defer(&w->changed);
}

/* True if it is watched from now on. A directory that cannot be watched is scanned periodically. */
static bool watch_dir(struct socket_watch *w, const char *path)
{
    size_t len = strlen(path) + 1;
    struct error ignored = { 0 };
    struct watched *watched;

    for (size_t i = 0; i < w->all.count; i++)
        if (strcmp(w->all.items[i]->path, path) == 0)
            return false;
    if (w->all.count >= SOCKET_WATCHES_MAX)
        return false;
    watched = calloc(1, sizeof *watched + len);
    if (!watched)
        return false;
    watched->owner = w;
    memcpy(watched->path, path, len);
    if (dirwatch_start(w->loop, path, on_event, watched, &watched->watch, &ignored) < 0 ||
        vec_push(&w->all, watched) < 0) {
        (void)watched_free(watched);
        return false;
    }
    return true;
}

int socket_watch_list(struct socket_watch *w, struct arena *a, struct host_sockets *ret, struct error *err)
{
    bool has_new = false;
    int r = io_mkdirs(w->dir, DIR_MODE, err);

    for (size_t i = w->all.count; i > 0; i--)
        if (!w->all.items[i - 1]->watch) { /* removed */
            (void)watched_free(w->all.items[i - 1]);
            vec_remove(&w->all, i - 1);
        }
    if (r < 0)
        return r;
    (void)watch_dir(w, w->dir);
    r = host_find_sockets(w->dir, a, ret, err);
    for (uint32_t i = 0; r == 0 && i < ret->dirs.count; i++)
        has_new = watch_dir(w, ret->dirs.items[i]) || has_new;
    if (has_new) /* changes before the watch started were missed */
        loop_defer(&w->changed);
    return r;
}

int socket_watch_new(struct loop *l, const char *dir, loop_fn on_change, void *ctx, struct socket_watch **ret,
                     struct error *err)
{
    size_t len = strlen(dir) + 1;
    _cleanup_(socket_watch_free_p) struct socket_watch *w = NULL;
    int r = io_mkdirs(dir, DIR_MODE, err);

    if (r < 0)
        return r;
    w = calloc(1, sizeof *w + len);
    if (!w)
        return error_no_memory(err);
    w->loop = l;
    w->on_change = on_change;
    w->ctx = ctx;
    memcpy(w->dir, dir, len);
    deferred_init(&w->changed, l, on_change, ctx);
    timer_init(&w->look, l, on_scan_timer, w);
    on_scan_timer(w);
    *ret = TAKE(w);
    return 0;
}

struct socket_watch *socket_watch_free(struct socket_watch *w)
{
    if (!w)
        return NULL;
    loop_undefer(&w->changed);
    timer_disarm(&w->look);
    for (size_t i = 0; i < w->all.count; i++)
        (void)watched_free(w->all.items[i]);
    vec_done(&w->all);
    free(w);
    return NULL;
}
