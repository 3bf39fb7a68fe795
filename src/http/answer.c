/* Converts an answer to a libmicrohttpd response: headers, compression, streams. The library copies or takes
 * over everything it needs, so the answer may be freed when http_answer() returns. */
#include "http/http_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "http/gzip.h"
#include "http/text_stream.h"

static struct http_exchange *exchange_of(const struct http_request *r)
{
    return CONTAINER_OF((struct http_request *)(uintptr_t)r, struct http_exchange, request);
}

struct str http_request_header(const struct http_request *r, const char *name)
{
    const struct http_conn *c = exchange_of(r)->conn;
    const char *value = NULL;
    size_t len = 0;

    if (!c ||
        MHD_lookup_connection_value_n(c->mhd, MHD_HEADER_KIND, name, strlen(name), &value, &len) == MHD_NO)
        return (struct str){ NULL, 0 };
    return str_trim((struct str){ value ? value : "", len }); /* the library does not strip trailing blanks */
}

struct header_visit {
    http_header_fn *fn;
    void *ctx;
};

static enum MHD_Result visit_header(void *ctx, enum MHD_ValueKind kind, const char *name, size_t name_len,
                                    const char *value, size_t value_len)
{
    const struct header_visit *v = ctx;

    (void)kind;
    v->fn(v->ctx, (struct str){ name, name_len }, str_trim((struct str){ value ? value : "", value_len }));
    return MHD_YES;
}

void http_request_each_header(const struct http_request *r, http_header_fn *fn, void *ctx)
{
    const struct http_conn *c = exchange_of(r)->conn;
    struct header_visit v = { fn, ctx };

    if (c)
        (void)MHD_get_connection_values_n(c->mhd, MHD_HEADER_KIND, visit_header, &v);
}

static bool answer_has_header(const struct http_answer *a, const char *name)
{
    for (size_t i = 0; i < a->headers_count; i++)
        if (strcasecmp(a->headers[i].name, name) == 0)
            return true;
    return false;
}

/* A header that the library refuses (a line end in a value) is left out: an answer without it is better than
 * none. */
static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
    (void)MHD_add_response_header(response, name, value);
}

static void add_headers(struct MHD_Response *response, const struct http_exchange *exchange,
                        const struct http_answer *a)
{
    if (a->content_type)
        add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, a->content_type);
    if (!answer_has_header(a, MHD_HTTP_HEADER_CACHE_CONTROL))
        add_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache, private");
    for (size_t i = 0; i < a->headers_count; i++)
        add_header(response, a->headers[i].name, a->headers[i].value);
    if (exchange->must_close || exchange->conn->http->is_quiet)
        add_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
}

static struct MHD_Response *buffer_response(struct buf *body)
{
    size_t len = body ? body->len : 0;
    struct MHD_Response *response;
    char *text;

    if (len == 0)
        return MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    text = buf_take(body);
    if (!text)
        return NULL;
    response = MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE);
    if (!response)
        free(text);
    return response;
}

/* Takes ownership of the source, also on failure (NULL). */
static struct MHD_Response *gzip_response(struct http_conn *c, struct stream *source)
{
    struct stream *s = source ? gzip_stream_new_take(source) : NULL;
    struct MHD_Response *response = s ? http_stream_response(c, s) : NULL;

    if (response)
        add_header(response, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
    return response;
}

static struct MHD_Response *body_response(struct http_conn *c, struct buf *body, bool is_packed)
{
    size_t len;
    char *text;

    if (!is_packed) {
        http_conn_hold(c, body ? body->cap : 0);
        return buffer_response(body);
    }
    len = body->len;
    text = buf_take(body);
    return gzip_response(c, text ? text_stream_new_take(text, len) : NULL);
}

static struct MHD_Response *make_response(const struct http_exchange *exchange, const struct http_answer *a)
{
    const struct http_request *r = &exchange->request;
    struct stream *s = a->stream;
    bool is_long = (s ? s->is_document : a->body && a->body->len >= HTTP_GZIP_BYTES_MIN) &&
                   !answer_has_header(a, MHD_HTTP_HEADER_CONTENT_ENCODING);
    bool is_packed = is_long && r->method != HTTP_HEAD &&
                     gzip_is_accepted(http_request_header(r, MHD_HTTP_HEADER_ACCEPT_ENCODING));
    struct MHD_Response *response;

    if (s && r->method == HTTP_HEAD)
        s->close(TAKE(s)); /* otherwise the library would send a final chunk for an answer without a body */
    if (s)
        response = is_packed ? gzip_response(exchange->conn, s) : http_stream_response(exchange->conn, s);
    else
        response = body_response(exchange->conn, a->body, is_packed);
    if (response && is_long)
        add_header(response, MHD_HTTP_HEADER_VARY, MHD_HTTP_HEADER_ACCEPT_ENCODING);
    return response;
}

/* If there is no memory for an answer, the connection is closed. */
static void answer_send(const struct http_exchange *exchange, const struct http_answer *a)
{
    struct MHD_Response *response = make_response(exchange, a);

    if (response) {
        add_headers(response, exchange, a);
        if (MHD_queue_response(exchange->conn->mhd, (unsigned)a->status, response) == MHD_NO)
            http_conn_end(exchange->conn);
        MHD_destroy_response(response); /* the connection holds a reference now */
    } else {
        http_conn_end(exchange->conn);
    }
}

void http_answer(struct http_request *r, const struct http_answer *a)
{
    struct http_exchange *exchange = exchange_of(r);

    assert(!exchange->is_answered);
    exchange->is_answered = true;
    if (exchange->conn && a->client_is_known)
        http_conn_trust(exchange->conn);
    if (exchange->conn)
        answer_send(exchange, a);
    else if (a->stream)
        a->stream->close(a->stream);
    http_exchange_release(exchange);
    buf_done(&exchange->body);
    if (!exchange->conn)
        http_exchange_free(exchange);
    else if (exchange->conn->is_suspended)
        http_conn_resume(exchange->conn);
}

enum MHD_Result http_refuse(struct http_conn *c, unsigned status, const char *text)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);
    enum MHD_Result queued;

    if (!response)
        return MHD_NO;
    add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain; charset=utf-8");
    add_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    queued = MHD_queue_response(c->mhd, status, response);
    MHD_destroy_response(response);
    return queued;
}
