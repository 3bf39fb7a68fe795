/* A connection to a Unix socket for a worker that waits: with a deadline, and a flag that ends the waiting.
 *
 * The deadline is the machine's, since what is waited for is another program. Nothing here blocks longer than
 * UNIX_STREAM_LOOK_MS without a look at the flag. */
#ifndef BERTH_IO_UNIX_STREAM_H
#define BERTH_IO_UNIX_STREAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define UNIX_STREAM_LOOK_MS 20

struct unix_stream {
    int fd;                 /* -1: closed */
    uint64_t until_ns;      /* of the system's monotonic clock */
    const atomic_int *stop; /* anything but 0 ends the waiting; NULL for none */
};

/* Takes a path that is too long for a socket's address, too. limit_ns: of all that follows. ERR_UNAVAILABLE:
 * nobody listens there. ERR_TIMEOUT, ERR_CANCELLED. */
int unix_stream_open(const char *path, uint64_t limit_ns, const atomic_int *stop, struct unix_stream *ret,
                     struct error *err);
/* Takes a closed one, too. */
void unix_stream_close(struct unix_stream *s);

/* Until there is something to read, or the peer's end; or, when that is wanted, room to write. ERR_TIMEOUT,
 * ERR_CANCELLED. */
int unix_stream_wait(const struct unix_stream *s, bool wants_room, bool *ret_has_bytes, bool *ret_has_room,
                     struct error *err);

/* What is there now, at most len bytes; 0 at the peer's end. *ret_is_empty: nothing is there yet. */
int unix_stream_read(const struct unix_stream *s, void *data, size_t len, size_t *ret, bool *ret_is_empty,
                     struct error *err);
/* As much as there is room for now. */
int unix_stream_write(const struct unix_stream *s, const void *data, size_t len, size_t *ret,
                      struct error *err);

#endif
