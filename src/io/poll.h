/* Watching a descriptor that a library owns: its epoll set, or a socket that it reads and writes.
 *
 * The callback runs on the loop, in step 1 of its turn, as long as the condition holds: a callback that does
 * not handle the condition must stop the watch or reduce its events. A descriptor has at most one watch per
 * loop. The watch never reads, writes or closes the descriptor; stop it before the descriptor is closed. */
#ifndef BERTH_IO_POLL_H
#define BERTH_IO_POLL_H

#include "base/cleanup.h"
#include "base/error.h"
#include "io/loop.h"

struct fd_watch;

#define FD_READ 1U
#define FD_WRITE 2U
/* The peer has closed the connection, or will send nothing more. */
#define FD_DISCONNECT 4U
/* Cannot be requested and is always reported: the descriptor is in error (a connection was reset) and this is
 * the last event until fd_watch_update(). Never combined with others. */
#define FD_ERROR 8U

/* May stop or update the watch. */
typedef void (*fd_watch_fn)(void *ctx, unsigned events);

/* Makes fd non-blocking. */
int fd_watch_start(struct loop *l, int fd, unsigned events, fd_watch_fn fn, void *ctx, struct fd_watch **ret,
                   struct error *err);
/* Replaces the events; at least one. */
int fd_watch_update(struct fd_watch *w, unsigned events, struct error *err);
/* No event is reported after it, and the descriptor may be closed at once. Takes NULL. */
struct fd_watch *fd_watch_stop(struct fd_watch *w);
DEFINE_CLEANUP(struct fd_watch, fd_watch_stop)

#endif
