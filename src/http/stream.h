/* An answer that is produced while its client reads it: a watch, or a document too long to hold in memory.
 *
 * The handler of a request creates the stream; the carrier (an HTTP connection, or a client in this process)
 * pulls from it as fast as the client reads, so that a slow client delays only its own stream.
 * Single-threaded: every function runs on the loop. */
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
     * already; STREAM_END; STREAM_FAILED: the rest cannot be produced, and the client must be able to detect
     * that the answer is incomplete. */
    ssize_t (*pull)(struct stream *s, char *to, size_t room);
    /* The client disconnected or the end was sent. Frees the stream. Called once, by the carrier. */
    void (*close)(struct stream *s);
    /* Set by the carrier before the first pull: there is something to pull. May be called at any time between
     * the answer and close(), also repeatedly; never calls pull() from inside. */
    void (*wake)(struct stream *s);
    /* Set by the carrier likewise: ends the connection at once and discards what was not sent. For a client
     * that does not read. close() follows later, from the loop; pull() is not called before it. */
    void (*cut)(struct stream *s);
    /* The bytes it holds because its client has not read on; 0 when it waits for an event and not for its
     * client. NULL: always 0. */
    size_t (*held)(const struct stream *s);
    bool is_document; /* of many bytes, and finite: worth compressing */
    void *carrier;    /* the carrier's data */
};

#endif
