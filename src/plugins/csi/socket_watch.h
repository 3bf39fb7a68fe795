/* Reports changes in a directory of sockets and below it, and lists the sockets.
 *
 * One inotify instance per directory; directories beyond SOCKET_WATCHES_MAX, and changes that inotify misses,
 * are found by the periodic scan every SOCKET_WATCH_LOOK_NS. */
#ifndef BERTH_PLUGINS_CSI_SOCKET_WATCH_H
#define BERTH_PLUGINS_CSI_SOCKET_WATCH_H

#include "base/cleanup.h"
#include "host/sockets.h"
#include "io/loop.h"

#define SOCKET_WATCHES_MAX 32
#define SOCKET_WATCH_LOOK_NS (10 * NS_PER_S)

struct socket_watch;

/* on_change: from the loop, in a later turn, once for any number of changes. Creates the directory. */
int socket_watch_new(struct loop *l, const char *dir, loop_fn on_change, void *ctx, struct socket_watch **ret,
                     struct error *err);
/* Accepts NULL. */
struct socket_watch *socket_watch_free(struct socket_watch *w);
DEFINE_CLEANUP(struct socket_watch, socket_watch_free)

/* The existing sockets, in a; new directories are watched before they are listed. */
int socket_watch_list(struct socket_watch *w, struct arena *a, struct host_sockets *ret, struct error *err);

#endif
