/* An answer that is produced while its client reads it: a watch, or a document too long to hold in memory.
 *
 * The handler of a request makes the stream; the carrier (an HTTP connection, or a client in this process)
 * pulls from it as fast as the client reads, so that a slow client holds back its own stream only. One
 * thread: every function runs on the loop. */
#ifndef BERTH_HTTP_STREAM_H
#define BERTH_HTTP_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What pull() returns besides a count. */
#define STREAM_END ((ssize_t)-1)
#define STREAM_FAILED ((ssize_t)-2)

struct stream {
    /* Writes up to room bytes and returns how many; 0: nothing for now, wake() will follow, or was called
     * already; STREAM_END; STREAM_FAILED: the rest cannot be made, and the client must not take what it has
     * for the whole. */
    ssize_t (*pull)(struct stream *s, char *to, size_t room);
    /* The client went away or the end was sent. Frees the stream. Called once, by the carrier. */
    void (*close)(struct stream *s);
    /* Set by the carrier before the first pull: there is something to pull. May be called at any time between
     * the answer and close(), also when it was called already; never calls pull() from inside. */
    void (*wake)(struct stream *s);
    /* Set by the carrier likewise: ends the connection at once, what was not sent yet is lost. For a client
     * that does not read. close() follows later, from the loop; no pull() comes before it. */
    void (*cut)(struct stream *s);
    /* How many bytes it holds because its client has not read on; 0 when it waits for an event and not for
     * its client. NULL: always 0. */
    size_t (*held)(const struct stream *s);
    bool is_document; /* of many bytes, and it ends: worth compressing */
    void *carrier;    /* the carrier's own */
};

#endif
