/* Watching a descriptor that is somebody else's: a library's epoll set, a socket that a library reads and
 * writes.
 *
 * The callback runs on the loop, in step 1 of its turn, as long as the condition holds: whoever does not act
 * on it stops the watch or asks for less. A descriptor has at most one watch on a loop. The watch never
 * reads, writes or closes the descriptor; it must be stopped before the descriptor is closed. */
#ifndef BERTH_IO_POLL_H
#define BERTH_IO_POLL_H

#include "base/cleanup.h"
#include "base/error.h"
#include "io/loop.h"

struct fd_watch;

#define FD_READ 1U
#define FD_WRITE 2U
/* The other side has closed, or has announced that it will send nothing more. */
#define FD_DISCONNECT 4U
/* Never asked for, always told: the descriptor is in error (a connection was reset) and this is the last
 * event until fd_watch_update(). Comes alone. */
#define FD_ERROR 8U

/* May stop or update the watch. */
typedef void (*fd_watch_fn)(void *ctx, unsigned events);

/* Makes fd non-blocking. */
int fd_watch_start(struct loop *l, int fd, unsigned events, fd_watch_fn fn, void *ctx, struct fd_watch **ret,
                   struct error *err);
/* Other events from now on; at least one. */
int fd_watch_update(struct fd_watch *w, unsigned events, struct error *err);
/* No event comes after it, and the descriptor may be closed at once. Takes NULL. */
struct fd_watch *fd_watch_stop(struct fd_watch *w);
DEFINE_CLEANUP(struct fd_watch, fd_watch_stop)

#endif
