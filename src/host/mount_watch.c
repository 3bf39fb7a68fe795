/* The kernel reports a change as an error condition of the open mount table, which is always readable
 * besides. So the watch requests an event that never occurs, and receives the error, which is always
 * reported. */
#include "host/mount_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "io/file.h"
#include "io/poll.h"
#include "io/sys.h"

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
    (void)fd_watch_update(w->watch, FD_DISCONNECT, &ignored); /* cannot fail: it was watched before */
    w->fn(w->ctx);
}

int mount_watch_start(struct loop *l, loop_fn fn, void *ctx, struct mount_watch **ret, struct error *err)
{
    struct mount_watch *w;
    int r;

    if (sys_here)
        return sys_here->calls->mount_watch_start(sys_here, l, fn, ctx, ret, err);
    w = calloc(1, sizeof *w);
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
    if (sys_here)
        return sys_here->calls->mount_watch_stop(sys_here, w);
    (void)fd_watch_stop(w->watch);
    fd_closep(&w->fd);
    free(w);
    return NULL;
}
