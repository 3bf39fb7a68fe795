/* Shared by the files of the HTTP server.
 *
 * http.c drives the library; conn.c has connections and their streams; request.c reads requests; answer.c
 * sends answers.
 *
 * A pending request holds its connection in the library: it is suspended while the request is queued or with
 * the handler, and the library does not touch a suspended connection, whatever the client does. So the
 * headers of a request are valid until it is answered, with one exception: http_free(). */
#ifndef BERTH_HTTP_HTTP_INT_H
#define BERTH_HTTP_HTTP_INT_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "http/fair.h"
#include "http/http.h"
#include "http/message.h"
#include "http/tls.h"
#include "io/loop.h"
#include "io/poll.h"
#include "io/socket.h"

struct http_stream;

struct http_conn {
    TAILQ_ENTRY(http_conn) link;     /* in http.conns */
    TAILQ_ENTRY(http_conn) stranger; /* in http.strangers */
    struct http *http;
    struct MHD_Connection *mhd;
    int fd;
    struct http_exchange *exchange; /* pending: from its first line to the end of its answer */
    struct peer *peer;
    struct tls_identity *identity; /* of its TLS session; NULL: none */
    struct tls_entry entry;        /* of its TLS session */
    struct socket_ip local_ip;
    uint64_t deadline_ns;
    struct timer alarm;             /* at or before deadline_ns */
    TAILQ_ENTRY(http_conn) holding; /* while held_bytes is not 0 */
    size_t held_bytes;              /* of an answer that its client has not read yet */
    uint64_t progress_ns;           /* last time that it was seen to read */
    uint64_t acked_bytes;           /* acknowledged by its kernel, at the last check */
    bool is_stranger;               /* no authenticated request was received on it */
    bool is_identified;             /* peer and local_ip are set */
    bool peer_is_invalid;
    bool is_suspended;
    bool is_ended; /* shut down by us: the library has not noticed yet */
};

TAILQ_HEAD(http_conns, http_conn);

/* A request and its answer. */
struct http_exchange {
    struct http_request request;
    struct http_conn *conn; /* NULL when the connection ended first */
    struct fair_item turn;
    struct buf body;
    uint64_t dropped_bytes;
    struct peer *peer; /* the connection's, when that ended first */
    bool is_begun;     /* its headers are complete */
    bool is_served;    /* the handler has or had it */
    bool is_answered;
    bool must_close; /* no further request on this connection */
    char target[];
};

struct http {
    struct loop *loop;
    http_serve_fn *serve;
    http_identify_fn *identify; /* NULL: all requests share one flow */
    void *ctx;
    struct hash_seed seed;
    uint64_t request_ms_max;
    uint64_t idle_ms_max;
    size_t target_bytes_max;
    struct tls_identity *identity; /* for new connections; NULL: plain HTTP */
    struct MHD_Daemon *daemon;
    struct fd_watch *watch;   /* the library's epoll descriptor */
    struct timer alarm;       /* when the library wants to run */
    struct deferred run;      /* the library has work */
    struct deferred run_fair; /* requests are queued */
    struct loop_hook on_turn;
    struct http_conns conns;
    unsigned conns_count;
    struct http_conns strangers; /* by age */
    unsigned strangers_count;
    unsigned strangers_max;
    unsigned known_max; /* limit of the others */
    uint64_t stranger_ms_max;
    struct http_conns holders; /* of answers, by the time of their last progress */
    size_t held_bytes;         /* of all of them */
    size_t held_bytes_max;
    uint64_t unread_ms_max;
    struct timer stalled;           /* the first of them may be over its time */
    struct deferred enforce_limits; /* too many bytes are held, or there are too many strangers */
    bool is_quiet;
    bool is_running; /* the library is running */
    char address[SOCKET_ADDRESS_BYTES];
    char library_error[200]; /* the library's last error message during the start */
    struct fair fair;
};

/* conn.c */

/* Called by the library: a connection begins or has ended. */
void http_on_connection(void *ctx, struct MHD_Connection *mhd, void **socket_ctx,
                        enum MHD_ConnectionNotificationCode code);
struct http_conn *http_conn_of(struct MHD_Connection *mhd);
/* Its client has authenticated: it is no longer a stranger, if there is room among the others. */
void http_conn_trust(struct http_conn *c);
/* The next request must be complete within this time; UINT64_MAX: no deadline. */
void http_conn_set_deadline(struct http_conn *c, uint64_t ms);
/* Determines peer and local address, once. */
void http_conn_identify_peer(struct http_conn *c);
void http_conn_suspend(struct http_conn *c);
void http_conn_resume(struct http_conn *c);
/* Shuts the connection down; the library cleans up later. A request that is with the handler stays valid. */
void http_conn_end(struct http_conn *c);
/* Records that so much memory is held for the answer, whose client has just read some or is about to begin.
 * 0: none any more. */
void http_conn_hold(struct http_conn *c, size_t bytes);
/* End connections: answers that are not read; too many bytes held or too many strangers. */
void http_on_stalled(void *ctx);
void http_on_too_much(void *ctx);
/* An answer that is pulled from s. Takes ownership of s, also on failure (NULL). */
struct MHD_Response *http_stream_response(struct http_conn *c, struct stream *s);

/* request.c */

/* Called by the library: a request line was read; a part of a request was read; a request has ended. */
void *http_on_target(void *ctx, const char *target, struct MHD_Connection *mhd);
enum MHD_Result http_on_request(void *ctx, struct MHD_Connection *mhd, const char *url, const char *method,
                                const char *version, const char *data, size_t *len, void **request_ctx);
void http_on_completed(void *ctx, struct MHD_Connection *mhd, void **request_ctx,
                       enum MHD_RequestTerminationCode code);
/* Called by the fair queue: it is this request's turn. */
void http_on_turn(void *ctx, struct fair_item *item);
/* Detaches the connection from its exchange. */
void http_exchange_detach(struct http_conn *c);
/* Releases the handler's data of the request. */
void http_exchange_release(struct http_exchange *exchange);
void http_exchange_free(struct http_exchange *exchange);

/* answer.c */

/* Answers a request without passing it to the handler, and ends its connection. */
enum MHD_Result http_refuse(struct http_conn *c, unsigned status, const char *text);

#endif
