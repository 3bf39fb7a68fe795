/* From a call to what the library sends. */
#include "apiserver/http_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "apiserver/gzip.h"
#include "apiserver/text_stream.h"
#include "apiserver/tls.h"
#include "apiserver/user.h"

static struct str http_header(const struct call *c, const char *name)
{
    const struct http_request *r = c->carrier_ctx;
    const char *value = NULL;
    size_t len = 0;

    if (!r->conn || MHD_lookup_connection_value_n(r->conn->mhd, MHD_HEADER_KIND, name, strlen(name), &value,
                                                  &len) == MHD_NO)
        return (struct str){ NULL, 0 };
    return str_trim((struct str){ value ? value : "", len }); /* the library leaves blanks at the end */
}

struct header_visit {
    call_header_fn *fn;
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

static void http_each_header(const struct call *c, call_header_fn *fn, void *ctx)
{
    const struct http_request *r = c->carrier_ctx;
    struct header_visit v = { fn, ctx };

    if (r->conn)
        (void)MHD_get_connection_values_n(r->conn->mhd, MHD_HEADER_KIND, visit_header, &v);
}

static bool answer_has_header(const struct call *c, const char *name)
{
    for (size_t i = 0; i < c->headers.count; i++)
        if (strcasecmp(c->headers.items[i].name, name) == 0)
            return true;
    return false;
}

/* What the library does not take (a line end in a value) is left out: an answer without it beats none. */
static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
    (void)MHD_add_response_header(response, name, value);
}

static void add_headers(struct MHD_Response *response, const struct http_request *r)
{
    const struct call *c = &r->call;

    if (c->content_type)
        add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, c->content_type);
    if (!answer_has_header(c, MHD_HTTP_HEADER_CACHE_CONTROL))
        add_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache, private");
    for (size_t i = 0; i < c->headers.count; i++)
        add_header(response, c->headers.items[i].name, c->headers.items[i].value);
    if (r->must_close || r->conn->http->is_quiet)
        add_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
}

static struct MHD_Response *buffer_response(struct buf *reply)
{
    size_t len = reply->len;
    struct MHD_Response *response;
    char *text;

    if (len == 0)
        return MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    text = buf_take(reply);
    if (!text)
        return NULL;
    response = MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE);
    if (!response)
        free(text);
    return response;
}

/* Takes the source, on failure (NULL) too. */
static struct MHD_Response *gzip_response(struct http_conn *c, struct stream *source)
{
    struct stream *s = source ? gzip_stream_new_take(source) : NULL;
    struct MHD_Response *response = s ? http_stream_response(c, s) : NULL;

    if (response)
        add_header(response, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
    return response;
}

static struct MHD_Response *reply_response(struct http_conn *c, struct buf *reply, bool is_packed)
{
    size_t len = reply->len;
    char *text;

    if (!is_packed) {
        http_conn_hold(c, reply->cap);
        return buffer_response(reply);
    }
    text = buf_take(reply);
    return gzip_response(c, text ? text_stream_new_take(text, len) : NULL);
}

static struct MHD_Response *make_response(struct http_request *r)
{
    struct call *c = &r->call;
    struct stream *s = TAKE(c->stream);
    bool is_long = (s ? s->is_document : c->reply.len >= HTTP_GZIP_BYTES_MIN) &&
                   !answer_has_header(c, MHD_HTTP_HEADER_CONTENT_ENCODING);
    bool is_packed = is_long && c->method != HTTP_HEAD &&
                     gzip_is_accepted(http_header(c, MHD_HTTP_HEADER_ACCEPT_ENCODING));
    struct MHD_Response *response;

    if (s && c->method == HTTP_HEAD)
        s->close(TAKE(s)); /* the library would send the last chunk of what has no body */
    if (s)
        response = is_packed ? gzip_response(r->conn, s) : http_stream_response(r->conn, s);
    else
        response = reply_response(r->conn, &c->reply, is_packed);
    if (response && is_long)
        add_header(response, MHD_HTTP_HEADER_VARY, MHD_HTTP_HEADER_ACCEPT_ENCODING);
    return response;
}

/* Without memory for an answer there is none: the connection ends. */
static void http_send(struct http_request *r)
{
    struct http_conn *c = r->conn;
    unsigned status = (unsigned)r->call.status;
    struct MHD_Response *response = make_response(r);

    if (response) {
        add_headers(response, r);
        if (MHD_queue_response(c->mhd, status, response) == MHD_NO)
            http_conn_end(c);
        MHD_destroy_response(response); /* the connection has it now */
    } else {
        http_conn_end(c);
    }
}

static void http_answer(struct call *call)
{
    struct http_request *r = call->carrier_ctx;

    assert(!r->is_answered);
    r->is_answered = true;
    if (r->conn && (r->conn->http->has_no_users || (call->user && call->user != &user_anonymous)))
        http_conn_trust(r->conn);
    if (r->conn)
        http_send(r);
    else if (call->stream)
        call->stream->close(call->stream);
    call_done(call);
    buf_done(&r->body);
    if (!r->conn) {
        (void)peer_free(r->peer);
        free(r);
    } else if (r->conn->is_suspended) {
        http_conn_resume(r->conn);
    }
}

const struct carrier http_carrier = {
    .header = http_header,
    .each_header = http_each_header,
    .answer = http_answer,
    .takes_documents = true,
};

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
