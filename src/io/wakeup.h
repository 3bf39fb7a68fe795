/* A callback on the loop that any thread can request: the way a worker passes something to the loop thread.
 *
 * Requests made before the callback has run are merged into one. The callback runs in step 1 of a turn. */
#ifndef BERTH_IO_WAKEUP_H
#define BERTH_IO_WAKEUP_H

#include "base/error.h"
#include "io/loop.h"

struct wakeup;

int wakeup_new(struct loop *l, loop_fn fn, void *ctx, struct wakeup **ret, struct error *err);
/* On the loop thread. The callback does not run any more; no thread may call wakeup_send() at this point.
 * Takes NULL. */
struct wakeup *wakeup_free(struct wakeup *w);

/* On any thread. */
void wakeup_send(struct wakeup *w);

#endif
