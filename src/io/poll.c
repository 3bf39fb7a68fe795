/* Descriptor watches on libuv's poll handles. The struct is freed when libuv has closed the handle, a turn
 * after fd_watch_stop(). Costs one epoll entry per watch. */
#include "io/poll.h"

#include <assert.h>
#include <stdlib.h>
#include <uv.h>

#include "io/loop_int.h"

struct fd_watch {
    uv_poll_t poll;
    int fd;
    fd_watch_fn fn;
    void *ctx;
};

static const struct {
    unsigned ours;
    int uvs;
} fd_events[] = {
    { FD_READ, UV_READABLE },
    { FD_WRITE, UV_WRITABLE },
    { FD_DISCONNECT, UV_DISCONNECT },
};

static void fd_watch_on_closed(uv_handle_t *handle)
{
    struct fd_watch *w = CONTAINER_OF(handle, struct fd_watch, poll);

    free(w);
}

static void fd_watch_on_event(uv_poll_t *poll, int status, int events)
{
    const struct fd_watch *w = CONTAINER_OF(poll, struct fd_watch, poll);
    unsigned seen = status < 0 ? FD_ERROR : 0; /* libuv has stopped the handle then */

    for (size_t i = 0; i < ARRAY_LEN(fd_events) && status >= 0; i++)
        if (events & fd_events[i].uvs)
            seen |= fd_events[i].ours;
    w->fn(w->ctx, seen);
}

int fd_watch_update(struct fd_watch *w, unsigned events, struct error *err)
{
    int wanted = 0;
    int r;

    assert(events > 0);
    assert((events & ~(FD_READ | FD_WRITE | FD_DISCONNECT)) == 0);
    for (size_t i = 0; i < ARRAY_LEN(fd_events); i++)
        if (events & fd_events[i].ours)
            wanted |= fd_events[i].uvs;
    r = uv_poll_start(&w->poll, wanted, fd_watch_on_event);
    if (r < 0)
        return error_set_errno(err, -r, "cannot watch descriptor %d", w->fd);
    return 0;
}

int fd_watch_start(struct loop *l, int fd, unsigned events, fd_watch_fn fn, void *ctx, struct fd_watch **ret,
                   struct error *err)
{
    struct fd_watch *w = calloc(1, sizeof *w);
    int r;

    if (!w)
        return error_no_memory(err);
    w->fd = fd;
    w->fn = fn;
    w->ctx = ctx;
    r = uv_poll_init(loop_uv(l), &w->poll, fd);
    if (r < 0) {
        free(w);
        return error_set_errno(err, -r, "cannot watch descriptor %d", fd);
    }
    r = fd_watch_update(w, events, err);
    if (r < 0) {
        (void)fd_watch_stop(w);
        return r;
    }
    *ret = w;
    return 0;
}

struct fd_watch *fd_watch_stop(struct fd_watch *w)
{
    if (!w)
        return NULL;
    uv_close((uv_handle_t *)&w->poll, fd_watch_on_closed); /* removes it from epoll at once */
    return NULL;
}
