/* The HTTP server: requests over TCP, plain or with TLS, for a handler that answers them.
 *
 * libmicrohttpd reads and writes HTTP/1.1; the loop drives it through its epoll descriptor, so that
 * everything runs on the loop's thread. A request is passed to serve() when its body is complete, and may be
 * answered there or at any later time; an answer is sent in the same turn. Users are served fairly (fair.h).
 *
 * All input is untrusted: sizes, counts and times are bounded below, and an ambiguous request is refused with
 * 400.
 *
 * Costs: a connection holds HTTP_MEMORY_BYTES (and 10 to 20 KiB more with TLS), all of which the library
 * zeroes after every request, so a limit for longer headers costs all connections:
 * docs/decisions/004-http-memory.md. */
#ifndef BERTH_HTTP_HTTP_H
#define BERTH_HTTP_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/siphash.h"
#include "http/message.h"
#include "io/loop.h"

/* Per connection: request line and headers, which must fit, and a piece of the answer. */
#define HTTP_MEMORY_BYTES ((size_t)96 << 10)
/* Limit of the request's path and parameters: selectors may be long. */
#define HTTP_TARGET_BYTES_MAX ((size_t)64 << 10)
/* Of a body that is too large this much is read and dropped, so that the client can read the answer. */
#define HTTP_DROP_BYTES_MAX ((uint64_t)64 << 20)
/* More than 4096 watches, and the strangers. */
#define HTTP_CONNECTIONS_MAX 5120
/* Strangers are clients that have not authenticated yet (http_answer.client_is_known). They may have one
 * connection in HTTP_STRANGERS_SHARE, and at most this many. Above that the oldest one is closed to make room
 * for the next. */
#define HTTP_STRANGERS_SHARE 8
#define HTTP_STRANGERS_MAX 512
/* From the start of a connection to the end of its first request, and between requests of a stranger. */
#define HTTP_STRANGER_MS_MAX UINT64_C(10000)
/* From the start of a further request to its end. */
#define HTTP_REQUEST_MS_MAX UINT64_C(30000)
/* Between requests. */
#define HTTP_IDLE_MS_MAX UINT64_C(180000)
/* While a client reads nothing of its answer; watches have limits of their own. */
#define HTTP_UNREAD_MS_MAX UINT64_C(30000)
/* Limit of all answers that their clients have not read yet: above it, the one whose client has read nothing
 * for the longest time is ended. */
#define HTTP_HELD_BYTES_MAX ((size_t)64 << 20)
#define HTTP_GZIP_BYTES_MIN ((size_t)128 << 10)

struct http;

/* The handler owns the request until it answers: message.h. */
typedef void http_serve_fn(void *ctx, struct http_request *r);

/* The user that makes the request, from its headers and certificate: requests of one user share a flow
 * (fair.h). The text is used before the next call. Called once, before http_serve_fn. */
typedef const char *http_identify_fn(void *ctx, struct http_request *r);

struct http_options {
    struct loop *loop;
    const struct clock *clock; /* measures the time that requests use; NULL: the system's */
    const char *address;       /* "127.0.0.1:7443", "[::1]:0": port 0 is any free one */
    /* PEM, for TLS; all NULL: plain HTTP. With a client CA, client certificates are requested, not required.
     */
    const char *key_pem;
    const char *cert_pem;
    const char *client_ca_pem;
    http_serve_fn *serve;
    http_identify_fn *identify; /* NULL: all requests share one flow */
    void *ctx;
    struct hash_seed seed; /* secret: of the hash of users */
    /* 0: the defaults above. */
    size_t memory_bytes;
    unsigned connections_max;
    uint64_t stranger_ms_max;
    uint64_t request_ms_max;
    uint64_t idle_ms_max;
    uint64_t unread_ms_max;
    size_t held_bytes_max;
};

int http_new(const struct http_options *o, struct http **ret, struct error *err);
/* Ends every connection and closes all streams. Not from inside serve() or a stream. A request that is still
 * with the handler stays valid, without headers, until the handler answers it. Takes NULL. */
struct http *http_free(struct http *h);
DEFINE_CLEANUP(struct http, http_free)

/* For a server with TLS: new connections use these (PEM), existing ones keep theirs. On failure nothing
 * changes. */
int http_set_identity(struct http *h, const char *key_pem, const char *cert_pem, const char *client_ca_pem,
                      struct error *err);

/* The listening address: host:port. */
const char *http_address(const struct http *h);

/* Shutdown: accepts no more connections, ends those without a pending request, and the others after their
 * answer. Not from inside serve() or a stream. */
void http_quiesce(struct http *h);

/* The number of connections, and of those of strangers. */
unsigned http_connections(const struct http *h);
unsigned http_strangers(const struct http *h);

#endif
