/* One HTTP request and its answer, as the handler (http.h) sees them.
 *
 * A request is complete when the handler gets it: its body is in memory. The handler answers once, at once or
 * later, and must not touch the request afterwards. An answer is either whole or a stream. */
#ifndef BERTH_HTTP_MESSAGE_H
#define BERTH_HTTP_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"
#include "http/stream.h"
#include "io/socket.h"

/* Limit of the body of a request. */
#define HTTP_BODY_BYTES_MAX ((size_t)3 << 20)

enum http_method {
    HTTP_GET,
    HTTP_HEAD,
    HTTP_POST,
    HTTP_PUT,
    HTTP_PATCH,
    HTTP_DELETE,
    HTTP_OTHER,
};

/* The subject of a client certificate that was signed by the client CA. */
struct peer {
    const char *common_name;
    const char *const *organizations; /* NULL-terminated */
};

struct http_request {
    enum http_method method;
    struct str target; /* as sent: path and query, still encoded; NUL-terminated */
    struct str body;
    bool body_is_too_large; /* it exceeds HTTP_BODY_BYTES_MAX and was dropped */
    bool is_tls;
    bool peer_is_invalid;      /* the client certificate is not valid for the client CA: there is no peer */
    const struct peer *peer;   /* NULL: none */
    struct socket_ip local_ip; /* the local address of the connection */
    /* The handler's data. release(), unless it is NULL, is called with it once: after the answer, or when the
     * client disconnected before the request was served. */
    void *work;
    void (*release)(void *work);
};

typedef void http_header_fn(void *ctx, struct str name, struct str value);

/* The first value of a request header, case-insensitive; .s is NULL when there is none. Headers are valid
 * until the answer, or until http_free(). */
struct str http_request_header(const struct http_request *r, const char *name);
/* Every request header, in the order received. */
void http_request_each_header(const struct http_request *r, http_header_fn *fn, void *ctx);

struct http_header {
    const char *name;
    const char *value;
};

struct http_answer {
    int status;
    const char *content_type; /* NULL: none */
    const struct http_header *headers;
    size_t headers_count;
    struct buf *body;      /* takes its bytes; NULL: empty */
    struct stream *stream; /* instead of a body; taken */
    bool
        client_is_known; /* the client has authenticated: the connection is no longer a stranger's (http.h) */
};

/* Sends the answer. Releases the request after everything that `a` points to has been read. */
void http_answer(struct http_request *r, const struct http_answer *a);

#endif
