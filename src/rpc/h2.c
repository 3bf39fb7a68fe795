/* A session's HTTP/2 with nghttp2: bytes in, bytes out, and their effects on calls.
 *
 * Flow control: the connection's window is updated as bytes arrive, so that a call whose owner does not
 * consume its messages does not block others. A stream's window is updated at once for a unary answer, and
 * when messages have been delivered for a streaming one. */
#include "rpc/rpc_int.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "rpc/framing.h"

#define STREAM_WINDOW_BYTES (1 << 20)
#define SESSION_WINDOW_BYTES (4 << 20)
#define FIXED_HEADERS 8
#define NUMBER_BYTES 24
#define TIMEOUT_MS_MAX 99999999 /* the protocol allows eight digits */

static struct rpc_call *call_of(nghttp2_session *h2, int32_t stream)
{
    return nghttp2_session_get_stream_user_data(h2, stream);
}

static void rpc_h2_leave(struct rpc_call *c)
{
    struct rpc_session *s = c->session;

    TAILQ_REMOVE(&s->calls, c, link);
    s->calls_count--;
    c->session = NULL;
}

void rpc_h2_reset(struct rpc_call *c)
{
    struct rpc_session *s = c->session;

    (void)nghttp2_session_set_stream_user_data(s->h2, c->stream, NULL);
    /* Out of memory: the peer is not notified, and its answer is ignored. */
    (void)nghttp2_submit_rst_stream(s->h2, NGHTTP2_FLAG_NONE, c->stream, NGHTTP2_CANCEL);
    rpc_h2_leave(c);
    rpc_session_flush_later(s);
}

/* From within nghttp2: ends the stream and reports the reason to the owner. */
static void abort_stream(struct rpc_call *c, enum rpc_code code, const char *words)
{
    rpc_call_fail(c, code, words);
    if (c->client)
        rpc_client_add_event(c->client, c);
    rpc_h2_reset(c);
}

/* --- Callbacks of nghttp2 --- */

static ssize_t on_source(nghttp2_session *h2, int32_t stream, uint8_t *data, size_t len, uint32_t *flags,
                         nghttp2_data_source *source, void *ctx)
{
    struct rpc_call *c = call_of(h2, stream);
    size_t n;

    (void)source;
    (void)ctx;
    if (!c) /* cancelled: its reset is being sent */
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    n = c->out.len - c->sent < len ? c->out.len - c->sent : len;
    memcpy(data, c->out.data + c->sent, n);
    c->sent += n;
    if (c->sent == c->out.len)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

static int on_header(nghttp2_session *h2, const nghttp2_frame *frame, const uint8_t *name, size_t name_len,
                     const uint8_t *value, size_t value_len, uint8_t flags, void *ctx)
{
    struct str key = { (const char *)name, name_len }, text = { (const char *)value, value_len };
    struct rpc_call *c = call_of(h2, frame->hd.stream_id);
    uint64_t number = 0;

    (void)flags;
    (void)ctx;
    if (!c)
        return 0;
    c->headers_bytes += name_len + value_len + 32; /* as HTTP/2 counts them */
    if (c->headers_bytes > RPC_HEADERS_BYTES_MAX)
        abort_stream(c, RPC_RESOURCE_EXHAUSTED, "the headers of the answer are too large");
    else if (str_is(key, ":status") && str_to_uint64(text, &number))
        c->http_status = number;
    else if (str_is(key, "grpc-status"))
        c->status = str_to_uint64(text, &number) ? number : RPC_UNKNOWN;
    else if (str_is(key, "grpc-message"))
        rpc_words_read(text, &c->words);
    return 0;
}

/* NULL, or why the call cannot continue. A unary answer is checked as it arrives, so that a length above the
 * limit ends the call before its bytes are buffered. */
static const char *check_input(const struct rpc_call *c)
{
    struct str message;

    if (c->in.failed || (c->client && c->client->held_bytes > RPC_HELD_BYTES_MAX))
        return "too many bytes of answers are buffered";
    if (c->on_message)
        return NULL; /* checked by client_on_deliver() */
    if (c->in.len > RPC_PREFIX_BYTES + c->answer_bytes_max ||
        rpc_frame_read(buf_str(&c->in), c->answer_bytes_max, &message) == RPC_FRAME_TOO_LARGE)
        return RPC_WORDS_TOO_LARGE;
    return NULL;
}

static int on_data(nghttp2_session *h2, uint8_t flags, int32_t stream, const uint8_t *data, size_t len,
                   void *ctx)
{
    struct rpc_call *c = call_of(h2, stream);
    const char *wrong;

    (void)flags;
    (void)ctx;
    (void)nghttp2_session_consume_connection(h2, len);
    if (!c)
        return 0;
    buf_add(&c->in, data, len);
    if (c->client && !c->in.failed)
        c->client->held_bytes += len;
    wrong = check_input(c);
    c->unacknowledged += len;
    if (wrong)
        abort_stream(c, RPC_RESOURCE_EXHAUSTED, wrong);
    else if (!c->on_message)
        rpc_h2_acknowledge(c);
    else if (c->client)
        rpc_client_add_event(c->client, c);
    return 0;
}

void rpc_h2_close(struct rpc_call *c, uint32_t why)
{
    c->reset = why;
    c->is_closed = true;
    rpc_h2_leave(c);
    if (c->client)
        rpc_client_add_event(c->client, c);
}

static int on_close(nghttp2_session *h2, int32_t stream, uint32_t why, void *ctx)
{
    struct rpc_call *c = call_of(h2, stream);

    (void)ctx;
    if (c)
        rpc_h2_close(c, why);
    return 0;
}

/* A request that nghttp2 could not send: the peer accepts no more streams, or the stream ids are used up. */
static int on_not_sent(nghttp2_session *h2, const nghttp2_frame *frame, int why, void *ctx)
{
    struct rpc_session *s = ctx;
    struct rpc_call *c;

    (void)h2;
    if (frame->hd.type != NGHTTP2_HEADERS)
        return 0;
    if (why == NGHTTP2_ERR_START_STREAM_NOT_ALLOWED || why == NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE)
        s->takes_calls = false;
    TAILQ_FOREACH(c, &s->calls, link)
        if (c->stream == frame->hd.stream_id) {
            rpc_h2_close(c, NGHTTP2_REFUSED_STREAM);
            break;
        }
    return 0;
}

static int on_frame(nghttp2_session *h2, const nghttp2_frame *frame, void *ctx)
{
    struct rpc_session *s = ctx;

    (void)h2;
    if (frame->hd.type == NGHTTP2_GOAWAY)
        s->takes_calls = false;
    return 0;
}

/* --- Sessions --- */

static int new_session(struct rpc_session *s, const nghttp2_session_callbacks *callbacks)
{
    nghttp2_option *option = NULL;
    int r = nghttp2_option_new(&option);

    if (r < 0)
        return r;
    nghttp2_option_set_no_auto_window_update(option, 1);
    r = nghttp2_session_client_new2(&s->h2, callbacks, s, option);
    nghttp2_option_del(option);
    return r;
}

int rpc_h2_open(struct rpc_session *s, struct error *err)
{
    const nghttp2_settings_entry settings[] = {
        { NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
        { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW_BYTES },
        { NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, RPC_HEADERS_BYTES_MAX },
    };
    nghttp2_session_callbacks *callbacks = NULL;
    int r = nghttp2_session_callbacks_new(&callbacks);

    TAILQ_INIT(&s->calls);
    s->takes_calls = true;
    if (r == 0) {
        nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
        nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, on_not_sent);
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
        r = new_session(s, callbacks);
        nghttp2_session_callbacks_del(callbacks);
    }
    if (r == 0)
        r = nghttp2_submit_settings(s->h2, NGHTTP2_FLAG_NONE, settings, ARRAY_LEN(settings));
    if (r == 0)
        r = nghttp2_session_set_local_window_size(s->h2, NGHTTP2_FLAG_NONE, 0, SESSION_WINDOW_BYTES);
    return r < 0 ? error_no_memory(err) : 0;
}

bool rpc_h2_submit(struct rpc_session *s, struct rpc_call *c)
{
    nghttp2_data_provider source = { .read_callback = on_source };
    uint64_t limit_ms = c->limit_ns / NS_PER_MS;
    nghttp2_nv headers[FIXED_HEADERS + 64];
    char timeout[NUMBER_BYTES];
    size_t n = 0;

    assert(c->metadata_count <= ARRAY_LEN(headers) - FIXED_HEADERS);
    headers[n++] = rpc_header(":method", "POST");
    headers[n++] = rpc_header(":scheme", "http");
    headers[n++] = rpc_header(":path", c->method);
    headers[n++] = rpc_header(":authority", "localhost");
    headers[n++] = rpc_header("content-type", "application/grpc");
    headers[n++] = rpc_header("te", "trailers");
    headers[n++] = rpc_header("user-agent", "berth");
    (void)snprintf(timeout, sizeof timeout, "%" PRIu64 "m",
                   limit_ms < TIMEOUT_MS_MAX ? limit_ms : (uint64_t)TIMEOUT_MS_MAX);
    if (c->limit_ns > 0)
        headers[n++] = rpc_header("grpc-timeout", timeout);
    for (size_t i = 0; i < c->metadata_count; i++)
        headers[n++] = rpc_header(c->metadata[i].name, c->metadata[i].value);
    c->stream = nghttp2_submit_request(s->h2, NULL, headers, n, &source, c); /* copies the headers */
    if (c->stream < 0)
        return false;
    c->session = s;
    TAILQ_INSERT_TAIL(&s->calls, c, link);
    s->calls_count++;
    return true;
}

void rpc_h2_acknowledge(struct rpc_call *c)
{
    if (c->session && c->unacknowledged > 0)
        (void)nghttp2_session_consume_stream(c->session->h2, c->stream, c->unacknowledged);
    c->unacknowledged = 0;
}

const char *rpc_h2_feed(struct rpc_session *s, struct str bytes)
{
    ssize_t used = nghttp2_session_mem_recv(s->h2, (const uint8_t *)bytes.s, bytes.len);

    return used < 0 ? nghttp2_strerror((int)used) : NULL;
}

const char *rpc_h2_fill(struct rpc_session *s, struct buf *out, size_t bytes)
{
    const uint8_t *data = NULL;
    ssize_t len = 1;

    while (len > 0 && out->len < bytes) {
        len = nghttp2_session_mem_send(s->h2, &data);
        if (len > 0)
            buf_add(out, data, (size_t)len);
    }
    if (out->failed)
        return "out of memory";
    return len < 0 ? nghttp2_strerror((int)len) : NULL;
}

bool rpc_h2_is_over(const struct rpc_session *s)
{
    return !nghttp2_session_want_read(s->h2) && !nghttp2_session_want_write(s->h2);
}

int rpc_read(struct str sent, struct buf *ret, struct error *err)
{
    const struct rpc_request q = {
        .socket = "", .method = "/", .message = STR_LIT(""), .limit_ns = NS_PER_S
    };
    struct rpc_session s = { .fd = -1 };
    struct rpc_call c = { 0 };
    struct rpc_result result;
    struct buf said = BUF_INIT(1 << 20);
    int r = rpc_call_prepare(&c, &q, err);

    if (r < 0)
        return r;
    rpc_call_rewind(&c);
    r = rpc_h2_open(&s, err);
    if (r == 0 && !rpc_h2_submit(&s, &c))
        r = error_no_memory(err);
    if (r == 0) {
        const char *wrong = rpc_h2_fill(&s, &said, said.len_max / 2);
        if (!wrong)
            wrong = rpc_h2_feed(&s, sent);
        rpc_call_fail(&c, RPC_UNAVAILABLE, wrong ? wrong : RPC_WORDS_CLOSED);
        result = rpc_call_result(&c, err);
        r = result.r;
        buf_clear(ret);
        ret->len_max = RPC_MESSAGE_BYTES_MAX;
        if (r == 0)
            buf_add_str(ret, result.message);
    }
    if (c.session)
        rpc_h2_leave(&c);
    nghttp2_session_del(s.h2);
    buf_done(&said);
    rpc_call_release(&c);
    return r;
}
