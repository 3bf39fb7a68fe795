/* The kernel tells of a change as an error of the open table, besides that it can be read, which it always
 * can. So the watch asks for what never comes, and takes the error that comes unasked. */
#include "host/mount_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "io/file.h"
#include "io/poll.h"

#define MOUNTINFO "/proc/self/mountinfo"

struct mount_watch {
    int fd;
    struct fd_watch *watch;
    loop_fn fn;
    void *ctx;
};

static void on_event(void *ctx, unsigned events)
{
    struct mount_watch *w = ctx;
    struct error ignored;

    (void)events;
    (void)fd_watch_update(w->watch, FD_DISCONNECT, &ignored); /* it was watched before */
    w->fn(w->ctx);
}

int mount_watch_start(struct loop *l, loop_fn fn, void *ctx, struct mount_watch **ret, struct error *err)
{
    struct mount_watch *w = calloc(1, sizeof *w);
    int r;

    if (!w)
        return error_no_memory(err);
    w->fn = fn;
    w->ctx = ctx;
    w->fd = open(MOUNTINFO, O_RDONLY | O_CLOEXEC);
    r = w->fd < 0 ? error_set_errno(err, errno, "cannot open '%s'", MOUNTINFO)
                  : fd_watch_start(l, w->fd, FD_DISCONNECT, on_event, w, &w->watch, err);
    if (r < 0)
        mount_watch_stop(w);
    else
        *ret = w;
    return r;
}

struct mount_watch *mount_watch_stop(struct mount_watch *w)
{
    if (!w)
        return NULL;
    (void)fd_watch_stop(w->watch);
    closep(&w->fd);
    free(w);
    return NULL;
}
