/* Tells when something changed in a directory of sockets or below it, and says what is there.
 *
 * One inotify instance a directory; directories beyond SOCKET_WATCHES_MAX, and what the kernel cannot tell,
 * are seen at the next look, which comes every SOCKET_WATCH_LOOK_NS. */
#ifndef BERTH_PLUGINS_CSI_SOCKET_WATCH_H
#define BERTH_PLUGINS_CSI_SOCKET_WATCH_H

#include "base/cleanup.h"
#include "host/sockets.h"
#include "io/loop.h"

#define SOCKET_WATCHES_MAX 32
#define SOCKET_WATCH_LOOK_NS (10 * NS_PER_S)

struct socket_watch;

/* on_change: on the loop, in a later turn; once for any number of changes. Makes the directory. */
int socket_watch_new(struct loop *l, const char *dir, loop_fn on_change, void *ctx, struct socket_watch **ret,
                     struct error *err);
/* Takes NULL. */
struct socket_watch *socket_watch_free(struct socket_watch *w);
DEFINE_CLEANUP(struct socket_watch, socket_watch_free)

/* What is there now, in a; directories that are new are watched from before the look on. */
int socket_watch_list(struct socket_watch *w, struct arena *a, struct host_sockets *ret, struct error *err);

#endif
