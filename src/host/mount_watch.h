/* Reports that something was mounted or unmounted in this namespace. On the loop. */
#ifndef BERTH_HOST_MOUNT_WATCH_H
#define BERTH_HOST_MOUNT_WATCH_H

#include "base/cleanup.h"
#include "base/error.h"
#include "io/loop.h"

struct mount_watch;

/* Calls fn once for any number of changes. fn must not stop the watch. */
int mount_watch_start(struct loop *l, loop_fn fn, void *ctx, struct mount_watch **ret, struct error *err);
/* Takes NULL. */
struct mount_watch *mount_watch_stop(struct mount_watch *w);
DEFINE_CLEANUP(struct mount_watch, mount_watch_stop)

#endif
