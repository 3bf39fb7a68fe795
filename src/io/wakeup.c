/* A libuv async handle behind wakeup.h. The struct is freed when libuv has closed the handle. */
#include "io/wakeup.h"

#include <stdlib.h>
#include <uv.h>

#include "io/loop_int.h"

struct wakeup {
    uv_async_t async;
    loop_fn fn;
    void *ctx;
};

static void wakeup_on_async(uv_async_t *async)
{
    const struct wakeup *w = CONTAINER_OF(async, struct wakeup, async);

    w->fn(w->ctx);
}

static void wakeup_on_closed(uv_handle_t *handle)
{
    struct wakeup *w = CONTAINER_OF(handle, struct wakeup, async);

    free(w);
}

int wakeup_new(struct loop *l, loop_fn fn, void *ctx, struct wakeup **ret, struct error *err)
{
    struct wakeup *w = calloc(1, sizeof *w);
    int r;

    if (!w)
        return error_no_memory(err);
    w->fn = fn;
    w->ctx = ctx;
    r = uv_async_init(loop_uv(l), &w->async, wakeup_on_async);
    if (r < 0) {
        free(w);
        return error_set_errno(err, -r, "cannot create a wake-up of the event loop");
    }
    *ret = w;
    return 0;
}

struct wakeup *wakeup_free(struct wakeup *w)
{
    if (w)
        uv_close((uv_handle_t *)&w->async, wakeup_on_closed);
    return NULL;
}

void wakeup_send(struct wakeup *w)
{
    (void)uv_async_send(&w->async); /* cannot fail on an async handle */
}
