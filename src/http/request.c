/* From what the library has read to a request.
 *
 * The library decodes paths and takes queries apart in place; the handler wants both as they were sent, so
 * the target is copied when the request line has come. It is lenient in what it accepts: what could be read
 * in more than one way (two lengths, a length and chunks, blanks in names, lines without CRLF) is refused
 * here.
 *
 * The life of an exchange: the request's line comes (http_on_target), its headers and body (http_on_request),
 * it waits for its turn (fair), it is with the handler, the answer is sent, it is over (http_on_completed).
 */
#include "http/http_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "http/head.h"
#include "http/tls.h"

/* Blanks and control characters: the library takes the last blank for the end of the target. */
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
    struct http_exchange *x = calloc(1, sizeof *x + len + 1);

    if (!x)
        return NULL;
    memcpy(x->target, target, len);
    x->request.target = (struct str){ x->target, len };
    buf_init(&x->body, HTTP_BODY_BYTES_MAX);
    x->conn = c;
    return x;
}

void http_exchange_release(struct http_exchange *x)
{
    if (x->request.release)
        x->request.release(TAKE(x->request.work));
    x->request.release = NULL;
}

void http_exchange_free(struct http_exchange *x)
{
    http_exchange_release(x);
    buf_done(&x->body);
    (void)peer_free(x->peer);
    free(x);
}

void *http_on_target(void *ctx, const char *target, struct MHD_Connection *mhd)
{
    struct http *h = ctx;
    struct http_conn *c = http_conn_of(mhd);
    char *query = strchr((char *)(uintptr_t)target, '?');

    if (!c)
        return NULL;
    assert(!c->exchange);
    if (c->is_known) /* the first one's time has been running since the connection began */
        http_conn_set_deadline(c, h->request_ms_max);
    c->exchange = exchange_new(c, target);
    /* The library is about to make a record of each argument. A long list of them exhausts its memory, and
     * then it neither answers nor closes. The line is its own to write in: let there be no arguments. */
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
        (void)str_to_uint64((struct str){ value, value_len }, &f->length); /* the library has read it, too */
    } else if (strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0) {
        f->encodings++;
        f->is_chunked = strcasecmp(value, "chunked") == 0;
    } else if (strcasecmp(name, MHD_HTTP_HEADER_EXPECT) == 0) {
        f->expects_continue = strcasecmp(value, "100-continue") == 0;
    }
    return MHD_YES;
}

/* 0, or the status of a refusal and why. */
static unsigned find_fault(const struct http_exchange *x, const struct head_facts *f, const char *version,
                           const char **ret_text)
{
    bool is_1_0 = strcmp(version, MHD_HTTP_VERSION_1_0) == 0;

    if (x->request.target.len > x->conn->http->target_bytes_max) {
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

/* Of the user, not of the connection nor of anything else that a client can have many of. */
static uint64_t flow_of(struct http_exchange *x)
{
    const struct http *h = x->conn->http;

    return h->identify ? siphash13(h->seed, str_of(h->identify(h->ctx, &x->request))) : 0;
}

/* Gives the request to the handler, now or when its turn comes. */
static enum MHD_Result request_submit(struct http_exchange *x)
{
    struct http_conn *c = x->conn;
    struct http *h = c->http;

    x->request.body = buf_str(&x->body);
    http_conn_set_deadline(c, UINT64_MAX);
    if (fair_submit(&h->fair, &x->turn, flow_of(x)))
        loop_defer(&h->run_fair);
    if (!x->is_answered)
        http_conn_suspend(c);
    return MHD_YES;
}

void http_on_turn(void *ctx, struct fair_item *item)
{
    struct http *h = ctx;
    struct http_exchange *x = CONTAINER_OF(item, struct http_exchange, turn);

    x->is_served = true;
    h->serve(h->ctx, &x->request);
}

/* The request is answered without its body: that is too large, and the client either has not begun to send it
 * or would send more than is read and dropped. */
static bool body_exceeds_limit(const struct head_facts *f)
{
    return f->length > HTTP_BODY_BYTES_MAX && (f->expects_continue || f->length > HTTP_DROP_BYTES_MAX);
}

/* Texts end at a NUL for the library. In its memory the version stands behind the target, a blank between. */
static bool target_is_whole(const struct http_exchange *x, const char *url, const char *version)
{
    return (uintptr_t)version - (uintptr_t)url == x->request.target.len + 1;
}

static enum MHD_Result request_begin(struct http_exchange *x, const char *url, const char *method,
                                     const char *version)
{
    struct http_conn *c = x->conn;
    struct head_facts facts = { 0 };
    const char *text = NULL;
    unsigned status;

    x->is_begun = true;
    http_conn_know(c);
    (void)MHD_get_connection_values_n(c->mhd, MHD_HEADER_KIND, note_header, &facts);
    x->request.method = method_of(method);
    x->request.is_tls = c->identity;
    x->request.local_ip = c->local_ip;
    x->request.peer = c->peer;
    x->request.peer_is_invalid = c->peer_is_invalid;
    facts.has_bad_target = !target_is_whole(x, url, version) || !target_is_clean(x->target);
    facts.has_bad_line = !http_head_is_clean(c->mhd, method, version);
    status = find_fault(x, &facts, version, &text);
    if (status != 0)
        return http_refuse(c, status, text);
    if (!body_exceeds_limit(&facts))
        return MHD_YES;
    x->request.body_is_too_large = true;
    x->must_close = true;
    return request_submit(x);
}

static enum MHD_Result request_add_body(struct http_exchange *x, const char *data, size_t len)
{
    if (!x->request.body_is_too_large && len > HTTP_BODY_BYTES_MAX - x->body.len) {
        x->request.body_is_too_large = true;
        x->must_close = true;
        x->dropped_bytes = x->body.len;
        buf_done(&x->body);
    }
    if (!x->request.body_is_too_large) {
        buf_add(&x->body, data, len);
        return x->body.failed ? MHD_NO : MHD_YES;
    }
    x->dropped_bytes += len;
    return x->dropped_bytes <= HTTP_DROP_BYTES_MAX ? MHD_YES : MHD_NO;
}

enum MHD_Result http_on_request(void *ctx, struct MHD_Connection *mhd, const char *url, const char *method,
                                const char *version, const char *data, size_t *len, void **request_ctx)
{
    struct http_exchange *x = *request_ctx;
    size_t data_len = *len;

    (void)ctx;
    (void)mhd;
    if (!x)
        return MHD_NO; /* there was no memory for it */
    *len = 0;
    if (!x->is_begun)
        return request_begin(x, url, method, version);
    if (data_len > 0)
        return request_add_body(x, data, data_len);
    if (x->is_served)
        return MHD_NO; /* the library had no memory for the answer */
    return request_submit(x);
}

void http_exchange_leave(struct http_conn *c)
{
    struct http_exchange *x = TAKE(c->exchange);

    fair_cancel(&c->http->fair, &x->turn);
    if (x->is_served && !x->is_answered) {
        x->conn = NULL;
        x->peer = TAKE(c->peer); /* the request points to it */
    } else {
        http_exchange_free(x);
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
    http_exchange_leave(c);
    if (h->is_quiet)
        http_conn_end(c); /* a stream that began before could not say `Connection: close` */
    else
        http_conn_set_deadline(c, c->is_stranger ? h->stranger_ms_max : h->idle_ms_max);
}
