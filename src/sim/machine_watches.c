/* Watches of a simulated machine: of directories and of the mount table.
 *
 * A change defers the callback of each matching watch to the loop of its process. A directory watch reports
 * only that the directory must be scanned again, or that the nearest existing parent has changed; it never
 * names an entry. */
#include "sim/machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sim/sim_world.h"
#include "sim/worker.h"

struct dirwatch {
    TAILQ_ENTRY(dirwatch) link;
    struct machine *machine;
    struct sim_process *owner;
    struct file_node *dir;
    struct deferred notification;
    dirwatch_fn fn;
    void *ctx;
    bool is_gone;
};

struct mount_watch {
    TAILQ_ENTRY(mount_watch) link;
    struct machine *machine;
    struct sim_process *owner;
    struct deferred notification;
    loop_fn fn;
    void *ctx;
};

static void dirwatch_notify(void *ctx)
{
    struct dirwatch *w = ctx;

    w->fn(w->ctx, w->is_gone ? DIRWATCH_GONE : DIRWATCH_RESCAN, NULL); /* may stop the watch */
}

/* Finds the directory, or its nearest existing parent. */
static int find_nearest(struct machine *m, const char *path, bool nearest, struct machine_place *ret,
                        bool *ret_is_there)
{
    char text[PATH_MAX];
    char *slash;
    int r = machine_find(m, AT_FDCWD, path, 0, ret, NULL);

    (void)snprintf(text, sizeof text, "%s", path);
    if (ret_is_there)
        *ret_is_there = r == 0;
    while (r == ENOENT && nearest && (slash = strrchr(text, '/')) && slash[1]) {
        slash[slash == text ? 1 : 0] = '\0';
        r = machine_find(m, AT_FDCWD, text, 0, ret, NULL);
    }
    return r == 0 && !S_ISDIR(ret->node->mode) ? ENOTDIR : r;
}

int machine_dirwatch_start(struct sys *k, struct loop *l, const char *path, bool nearest, dirwatch_fn fn,
                           void *ctx, struct dirwatch **ret, bool *ret_is_there, struct error *err)
{
    struct machine *m = machine_of(k);
    struct machine_place p;
    struct dirwatch *w;
    int r = find_nearest(m, path, nearest, &p, ret_is_there);

    if (r)
        return error_set_errno(err, r, "cannot watch directory '%s'", path);
    w = sim_alloc(sizeof *w);
    *w = (struct dirwatch){
        .machine = m, .owner = sim_process_current(), .dir = p.node, .fn = fn, .ctx = ctx
    };
    w->is_gone = nearest && !*ret_is_there; /* the only event of such a watch */
    deferred_init(&w->notification, l, dirwatch_notify, w);
    TAILQ_INSERT_TAIL(&m->dirwatches, w, link);
    *ret = w;
    return 0;
}

struct dirwatch *machine_dirwatch_stop(struct sys *k, struct dirwatch *w)
{
    TAILQ_REMOVE(&machine_of(k)->dirwatches, w, link);
    loop_undefer(&w->notification);
    free(w);
    return NULL;
}

void machine_entry_changed(struct machine *m, struct file_node *dir, const char *name)
{
    struct dirwatch *w;

    (void)name;
    TAILQ_FOREACH(w, &m->dirwatches, link)
        if (w->dir == dir) {
            loop_defer(&w->notification);
            w->owner->has_work = true;
        }
}

static void mount_watch_notify(void *ctx)
{
    struct mount_watch *w = ctx;

    w->fn(w->ctx);
}

int machine_mount_watch_start(struct sys *k, struct loop *l, loop_fn fn, void *ctx, struct mount_watch **ret,
                              struct error *err)
{
    struct machine *m = machine_of(k);
    struct mount_watch *w = sim_alloc(sizeof *w);

    (void)err;
    *w = (struct mount_watch){ .machine = m, .owner = sim_process_current(), .fn = fn, .ctx = ctx };
    deferred_init(&w->notification, l, mount_watch_notify, w);
    TAILQ_INSERT_TAIL(&m->mount_watches, w, link);
    *ret = w;
    return 0;
}

struct mount_watch *machine_mount_watch_stop(struct sys *k, struct mount_watch *w)
{
    TAILQ_REMOVE(&machine_of(k)->mount_watches, w, link);
    loop_undefer(&w->notification);
    free(w);
    return NULL;
}

void machine_mounts_changed(struct machine *m)
{
    struct mount_watch *w;

    TAILQ_FOREACH(w, &m->mount_watches, link) {
        loop_defer(&w->notification);
        w->owner->has_work = true;
    }
}
