/* Builds a request from what the library has read.
 *
 * The library decodes paths and splits queries in place; the handler needs both as they were sent, so the
 * target is copied when the request line was read. The library is lenient: what could be parsed in more than
 * one way (two lengths, a length and chunks, blanks in names, lines without CRLF) is refused here.
 *
 * The life of an exchange: the request line is read (http_on_target), then headers and body
 * (http_on_request); it is queued (fair), then with the handler; the answer is sent; it ends
 * (http_on_completed). */
#include "http/http_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "http/head.h"
#include "http/tls.h"

/* Blanks and control characters: the library takes the last blank as the end of the target. */
static bool target_is_clean(const char *target)
{
    for (const char *at = target; *at; at++)
        if ((unsigned char)*at <= ' ' || *at == 0x7f)
            return false;
    return true;
}

static struct http_exchange *exchange_new(struct http_conn *c, const char *target)
{
    size_t len = strlen(target);
    struct http_exchange *exchange = calloc(1, sizeof *exchange + len + 1);

    if (!exchange)
        return NULL;
    memcpy(exchange->target, target, len);
    exchange->request.target = (struct str){ exchange->target, len };
    buf_init(&exchange->body, HTTP_BODY_BYTES_MAX);
    exchange->conn = c;
    return exchange;
}

void http_exchange_release(struct http_exchange *exchange)
{
    if (exchange->request.release)
        exchange->request.release(TAKE(exchange->request.work));
    exchange->request.release = NULL;
}

void http_exchange_free(struct http_exchange *exchange)
{
    http_exchange_release(exchange);
    buf_done(&exchange->body);
    (void)peer_free(exchange->peer);
    free(exchange);
}

void *http_on_target(void *ctx, const char *target, struct MHD_Connection *mhd)
{
    struct http *h = ctx;
    struct http_conn *c = http_conn_of(mhd);
    char *query = strchr((char *)(uintptr_t)target, '?');

    if (!c)
        return NULL;
    assert(!c->exchange);
    if (c->is_identified) /* the deadline of the first request started with the connection */
        http_conn_set_deadline(c, h->request_ms_max);
    c->exchange = exchange_new(c, target);
    /* The library is about to create a record per argument. A long list of them exhausts its memory, and then
     * it neither answers nor closes. It parses the line in place: cutting it here leaves no arguments. */
    if (query)
        query[1] = '\0';
    return c->exchange;
}

static enum http_method method_of(const char *name)
{
    static const char *const names[] = {
        [HTTP_GET] = "GET", [HTTP_HEAD] = "HEAD",   [HTTP_POST] = "POST",
        [HTTP_PUT] = "PUT", [HTTP_PATCH] = "PATCH", [HTTP_DELETE] = "DELETE",
    };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(names[i], name) == 0)
            return (enum http_method)i;
    return HTTP_OTHER;
}

/* The head */

struct head_facts {
    unsigned hosts;
    unsigned lengths;
    unsigned encodings;
    bool is_chunked;
    bool has_bad_name;
    bool has_bad_target;
    bool has_bad_line;
    bool expects_continue;
    uint64_t length;
};

/* RFC 9110's tchar. */
static bool is_token(const char *text, size_t len)
{
    static const char others[] = "!#$%&'*+-.^_`|~";

    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        bool is_alnum = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (!is_alnum && (c == '\0' || !strchr(others, c)))
            return false;
    }
    return len > 0;
}

static enum MHD_Result note_header(void *ctx, enum MHD_ValueKind kind, const char *name, size_t name_len,
                                   const char *value, size_t value_len)
{
    struct head_facts *f = ctx;

    (void)kind;
    value = value ? value : "";
    if (!is_token(name, name_len)) {
        f->has_bad_name = true;
    } else if (strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0) {
        f->hosts++;
    } else if (strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0) {
        f->lengths++;
        (void)str_to_uint64((struct str){ value, value_len }, &f->length); /* the library has parsed it too */
    } else if (strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0) {
        f->encodings++;
        f->is_chunked = strcasecmp(value, "chunked") == 0;
    } else if (strcasecmp(name, MHD_HTTP_HEADER_EXPECT) == 0) {
        f->expects_continue = strcasecmp(value, "100-continue") == 0;
    }
    return MHD_YES;
}

/* 0, or the status of a refusal and its reason. */
static unsigned find_fault(const struct http_exchange *exchange, const struct head_facts *f,
                           const char *version, const char **ret_text)
{
    bool is_1_0 = strcmp(version, MHD_HTTP_VERSION_1_0) == 0;

    if (exchange->request.target.len > exchange->conn->http->target_bytes_max) {
        *ret_text = "414 URI Too Long\n";
        return MHD_HTTP_URI_TOO_LONG;
    }
    if (f->encodings > 0 && !f->is_chunked) {
        *ret_text = "501 Not Implemented: unsupported transfer encoding\n";
        return MHD_HTTP_NOT_IMPLEMENTED;
    }
    *ret_text = "400 Bad Request\n";
    if (f->has_bad_line)
        *ret_text = "400 Bad Request: a header line does not end in CRLF, is folded or holds a control "
                    "character\n";
    else if (f->hosts > 1 || (f->hosts == 0 && !is_1_0))
        *ret_text = "400 Bad Request: one Host header is required\n";
    else if (f->lengths > 1 || f->encodings > 1 || (f->lengths > 0 && f->encodings > 0))
        *ret_text = "400 Bad Request: the length of the body is ambiguous\n";
    else if (!f->has_bad_name && !f->has_bad_target)
        return 0;
    return MHD_HTTP_BAD_REQUEST;
}

/* A hash of the user, not of the connection or of anything else that a client can have many of. */
static uint64_t flow_of(struct http_exchange *exchange)
{
    const struct http *h = exchange->conn->http;

    return h->identify ? siphash_hash(h->seed, str_of(h->identify(h->ctx, &exchange->request))) : 0;
}

/* Passes the request to the handler, now or when its turn comes. */
static enum MHD_Result request_submit(struct http_exchange *exchange)
{
    struct http_conn *c = exchange->conn;
    struct http *h = c->http;

    exchange->request.body = buf_str(&exchange->body);
    http_conn_set_deadline(c, UINT64_MAX);
    if (fair_submit(&h->fair, &exchange->turn, flow_of(exchange)))
        loop_defer(&h->run_fair);
    if (!exchange->is_answered)
        http_conn_suspend(c);
    return MHD_YES;
}

void http_on_turn(void *ctx, struct fair_item *item)
{
    struct http *h = ctx;
    struct http_exchange *exchange = CONTAINER_OF(item, struct http_exchange, turn);

    exchange->is_served = true;
    h->serve(h->ctx, &exchange->request);
}

/* The request is answered without its body: that is too large, and the client either has not begun to send it
 * or would send more than is read and dropped. */
static bool body_exceeds_limit(const struct head_facts *f)
{
    return f->length > HTTP_BODY_BYTES_MAX && (f->expects_continue || f->length > HTTP_DROP_BYTES_MAX);
}

/* The library's texts end at a NUL. In its memory the version follows the target after one blank. */
static bool target_is_whole(const struct http_exchange *exchange, const char *url, const char *version)
{
    return (uintptr_t)version - (uintptr_t)url == exchange->request.target.len + 1;
}

static enum MHD_Result request_begin(struct http_exchange *exchange, const char *url, const char *method,
                                     const char *version)
{
    struct http_conn *c = exchange->conn;
    struct head_facts facts = { 0 };
    const char *text = NULL;
    unsigned status;

    exchange->is_begun = true;
    http_conn_identify_peer(c);
    (void)MHD_get_connection_values_n(c->mhd, MHD_HEADER_KIND, note_header, &facts);
    exchange->request.method = method_of(method);
    exchange->request.is_tls = c->identity;
    exchange->request.local_ip = c->local_ip;
    exchange->request.peer = c->peer;
    exchange->request.peer_is_invalid = c->peer_is_invalid;
    facts.has_bad_target = !target_is_whole(exchange, url, version) || !target_is_clean(exchange->target);
    facts.has_bad_line = !http_head_is_clean(c->mhd, method, version);
    status = find_fault(exchange, &facts, version, &text);
    if (status != 0)
        return http_refuse(c, status, text);
    if (!body_exceeds_limit(&facts))
        return MHD_YES;
    exchange->request.body_is_too_large = true;
    exchange->must_close = true;
    return request_submit(exchange);
}

static enum MHD_Result request_add_body(struct http_exchange *exchange, const char *data, size_t len)
{
    if (!exchange->request.body_is_too_large && len > HTTP_BODY_BYTES_MAX - exchange->body.len) {
        exchange->request.body_is_too_large = true;
        exchange->must_close = true;
        exchange->dropped_bytes = exchange->body.len;
        buf_done(&exchange->body);
    }
    if (!exchange->request.body_is_too_large) {
        buf_add(&exchange->body, data, len);
        return exchange->body.failed ? MHD_NO : MHD_YES;
    }
    exchange->dropped_bytes += len;
    return exchange->dropped_bytes <= HTTP_DROP_BYTES_MAX ? MHD_YES : MHD_NO;
}

enum MHD_Result http_on_request(void *ctx, struct MHD_Connection *mhd, const char *url, const char *method,
                                const char *version, const char *data, size_t *len, void **request_ctx)
{
    struct http_exchange *exchange = *request_ctx;
    size_t data_len = *len;

    (void)ctx;
    (void)mhd;
    if (!exchange)
        return MHD_NO; /* out of memory */
    *len = 0;
    if (!exchange->is_begun)
        return request_begin(exchange, url, method, version);
    if (data_len > 0)
        return request_add_body(exchange, data, data_len);
    if (exchange->is_served)
        return MHD_NO; /* the library had no memory for the answer */
    return request_submit(exchange);
}

void http_exchange_detach(struct http_conn *c)
{
    struct http_exchange *exchange = TAKE(c->exchange);

    fair_cancel(&c->http->fair, &exchange->turn);
    if (exchange->is_served && !exchange->is_answered) {
        exchange->conn = NULL;
        exchange->peer = TAKE(c->peer); /* the request refers to it */
    } else {
        http_exchange_free(exchange);
    }
}

void http_on_completed(void *ctx, struct MHD_Connection *mhd, void **request_ctx,
                       enum MHD_RequestTerminationCode code)
{
    struct http *h = ctx;
    struct http_conn *c = http_conn_of(mhd);

    (void)code;
    *request_ctx = NULL;
    if (!c || !c->exchange)
        return;
    http_conn_hold(c, 0);
    http_exchange_detach(c);
    if (h->is_quiet)
        http_conn_end(c); /* a stream that had begun could not send `Connection: close` */
    else
        http_conn_set_deadline(c, c->is_stranger ? h->stranger_ms_max : h->idle_ms_max);
}
