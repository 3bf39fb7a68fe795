/* HTTP/2 is nghttp2's: it is fed what came from the socket and says what to send. Here is the little that
 * gRPC puts on top: a length in front of the message, and a status in the headers at the end. */
#include "plugins/csi/grpc.h"

#include <assert.h>
#include <inttypes.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "io/unix_stream.h"

#define PREFIX_BYTES 5 /* not compressed, and the length */
#define READ_BYTES 16384
#define NUMBER_BYTES 24
#define STATUS_NONE UINT64_MAX
#define WINDOW_BYTES (1 << 20) /* what may be on its way: a few messages */

/* --- Statuses --- */

static const struct {
    const char *name;
    enum err err;
} codes[] = {
    [GRPC_OK] = { "OK", ERR_NONE },
    [GRPC_CANCELLED] = { "Canceled", ERR_CANCELLED },
    [GRPC_UNKNOWN] = { "Unknown", ERR_IO },
    [GRPC_INVALID_ARGUMENT] = { "InvalidArgument", ERR_INVALID },
    [GRPC_DEADLINE_EXCEEDED] = { "DeadlineExceeded", ERR_TIMEOUT },
    [GRPC_NOT_FOUND] = { "NotFound", ERR_NOT_FOUND },
    [GRPC_ALREADY_EXISTS] = { "AlreadyExists", ERR_EXISTS },
    [GRPC_PERMISSION_DENIED] = { "PermissionDenied", ERR_DENIED },
    [GRPC_RESOURCE_EXHAUSTED] = { "ResourceExhausted", ERR_TIMEOUT },
    [GRPC_FAILED_PRECONDITION] = { "FailedPrecondition", ERR_BUSY },
    [GRPC_ABORTED] = { "Aborted", ERR_TIMEOUT },
    [GRPC_OUT_OF_RANGE] = { "OutOfRange", ERR_INVALID },
    [GRPC_UNIMPLEMENTED] = { "Unimplemented", ERR_UNSUPPORTED },
    [GRPC_INTERNAL] = { "Internal", ERR_INTERNAL },
    [GRPC_UNAVAILABLE] = { "Unavailable", ERR_TIMEOUT },
    [GRPC_DATA_LOSS] = { "DataLoss", ERR_IO },
    [GRPC_UNAUTHENTICATED] = { "Unauthenticated", ERR_UNAUTHORIZED },
};
static_assert(ARRAY_LEN(codes) == GRPC_CODE_COUNT, "name every code");

int grpc_failure(uint64_t code, const char *words, struct error *err)
{
    size_t i = code < ARRAY_LEN(codes) ? (size_t)code : (size_t)GRPC_UNKNOWN;

    assert(code != GRPC_OK);
    return error_set(err, codes[i].err, "rpc error: code = %s desc = %s", codes[i].name, words);
}

static int hex_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void grpc_unescape(struct str sent, char *ret, size_t size)
{
    size_t out = 0;

    for (size_t i = 0; i < sent.len && out + 1 < size; i++) {
        char c = sent.s[i];
        if (c == '%' && i + 2 < sent.len && hex_of(sent.s[i + 1]) >= 0 && hex_of(sent.s[i + 2]) >= 0) {
            c = (char)(hex_of(sent.s[i + 1]) * 16 + hex_of(sent.s[i + 2]));
            i += 2;
        }
        ret[out++] = c ? c : ' '; /* a text in C */
    }
    ret[out] = '\0';
}

/* --- One call --- */

struct exchange {
    const struct grpc_call *call;
    nghttp2_session *session;
    struct unix_stream stream;
    char timeout[NUMBER_BYTES];
    unsigned char prefix[PREFIX_BYTES];
    struct str request;
    size_t sent;       /* of prefix and request */
    struct str output; /* bytes of the session that wait for the socket */
    struct buf answer; /* prefix and message, as they came */
    uint64_t http_status;
    uint64_t status; /* STATUS_NONE until it comes */
    char words[GRPC_WORDS_BYTES_MAX];
    bool is_closed; /* the stream is through */
    uint32_t reset; /* why, when the peer broke it off */
};

static int unavailable(const char *words, struct error *err)
{
    return grpc_failure(GRPC_UNAVAILABLE, words, err);
}

/* What the socket says, as gRPC would. */
static int socket_failure(int r, const struct error *why, struct error *err)
{
    if (r == -ERR_TIMEOUT)
        return grpc_failure(GRPC_DEADLINE_EXCEEDED, "context deadline exceeded", err);
    if (r == -ERR_CANCELLED)
        return grpc_failure(GRPC_CANCELLED, "context canceled", err);
    return unavailable(why->msg, err);
}

static void prefix_write(unsigned char prefix[PREFIX_BYTES], size_t len)
{
    prefix[0] = 0;
    for (size_t i = 0; i < 4; i++)
        prefix[1 + i] = (unsigned char)(len >> (24 - 8 * i));
}

/* nghttp2 asks for what is to be sent. */
static ssize_t on_source(nghttp2_session *session, int32_t id, uint8_t *data, size_t len, uint32_t *flags,
                         nghttp2_data_source *source, void *ctx)
{
    struct exchange *x = ctx;
    size_t total = PREFIX_BYTES + x->request.len, n = 0;

    (void)session;
    (void)id;
    (void)source;
    while (n < len && x->sent < total) {
        bool is_prefix = x->sent < PREFIX_BYTES;
        size_t at = is_prefix ? x->sent : x->sent - PREFIX_BYTES;
        size_t left = (is_prefix ? PREFIX_BYTES : x->request.len) - at;
        size_t part = left < len - n ? left : len - n;
        memcpy(data + n, (is_prefix ? (const char *)x->prefix : x->request.s) + at, part);
        n += part;
        x->sent += part;
    }
    if (x->sent == total)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags, void *ctx)
{
    struct str key = { (const char *)name, name_len }, text = { (const char *)value, value_len };
    struct exchange *x = ctx;
    uint64_t number = 0;

    (void)session;
    (void)frame;
    (void)flags;
    if (str_is(key, ":status") && str_to_uint64(text, &number))
        x->http_status = number;
    else if (str_is(key, "grpc-status"))
        x->status = str_to_uint64(text, &number) ? number : GRPC_UNKNOWN;
    else if (str_is(key, "grpc-message"))
        grpc_unescape(text, x->words, sizeof x->words);
    return 0;
}

/* A message that is too large fails the buffer, and the exchange looks at that after each read. */
static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data, size_t len,
                   void *ctx)
{
    struct exchange *x = ctx;

    (void)session;
    (void)flags;
    (void)id;
    buf_add(&x->answer, data, len);
    return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t why, void *ctx)
{
    struct exchange *x = ctx;

    (void)session;
    (void)id;
    x->is_closed = true;
    x->reset = why;
    return 0;
}

static int session_new(struct exchange *x, struct error *err)
{
    const nghttp2_settings_entry settings[] = {
        { NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
        { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW_BYTES },
    };
    nghttp2_session_callbacks *callbacks = NULL;
    int code = nghttp2_session_callbacks_new(&callbacks);

    if (code == 0) {
        nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
        code = nghttp2_session_client_new(&x->session, callbacks, x);
        nghttp2_session_callbacks_del(callbacks);
    }
    if (code == 0)
        code = nghttp2_submit_settings(x->session, NGHTTP2_FLAG_NONE, settings, ARRAY_LEN(settings));
    return code < 0 ? error_no_memory(err) : 0;
}

static nghttp2_nv header(const char *name, const char *value)
{
    return (nghttp2_nv){ (uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name), strlen(value),
                         NGHTTP2_NV_FLAG_NONE };
}

static int submit(struct exchange *x, struct error *err)
{
    nghttp2_data_provider source = { .read_callback = on_source };
    const nghttp2_nv headers[] = {
        header(":method", "POST"),
        header(":scheme", "http"),
        header(":path", x->call->method),
        header(":authority", "localhost"),
        header("content-type", "application/grpc"),
        header("te", "trailers"),
        header("grpc-timeout", x->timeout),
        header("user-agent", "berth"),
    }; /* the session copies them */

    prefix_write(x->prefix, x->request.len);
    return nghttp2_submit_request(x->session, NULL, headers, ARRAY_LEN(headers), &source, NULL) < 0
               ? error_no_memory(err)
               : 0;
}

/* Writes what the session has to say, as far as the socket takes it: all of it before anything is read, so
 * that an answer never comes before its question. */
static int flush(struct exchange *x, struct error *err)
{
    struct error why = { 0 };
    const uint8_t *data = NULL;
    ssize_t len;
    size_t n;

    for (;;) {
        if (x->output.len == 0) {
            len = nghttp2_session_mem_send(x->session, &data);
            if (len < 0)
                return unavailable(nghttp2_strerror((int)len), err);
            x->output = (struct str){ (const char *)data, (size_t)len };
        }
        if (x->output.len == 0)
            return 0;
        if (unix_stream_write(&x->stream, x->output.s, x->output.len, &n, &why) < 0)
            return unavailable(why.msg, err);
        if (n == 0)
            return 0;
        x->output.s += n;
        x->output.len -= n;
    }
}

/* What the peer sent. */
static int feed(struct exchange *x, const uint8_t *data, size_t len, struct error *err)
{
    ssize_t used = nghttp2_session_mem_recv(x->session, data, len);

    if (used < 0)
        return unavailable(nghttp2_strerror((int)used), err);
    if (x->answer.failed == ERR_TOO_LARGE)
        return grpc_failure(GRPC_RESOURCE_EXHAUSTED, "received message larger than max", err);
    return x->answer.failed ? error_no_memory(err) : 0;
}

static int take_in(struct exchange *x, struct error *err)
{
    uint8_t data[READ_BYTES];
    struct error why = { 0 };
    bool is_empty = false;
    size_t n = 0;

    if (unix_stream_read(&x->stream, data, sizeof data, &n, &is_empty, &why) < 0)
        return unavailable(why.msg, err);
    if (is_empty)
        return 0;
    if (n == 0)
        return unavailable("the connection was closed before an answer came", err);
    return feed(x, data, n, err);
}

static int exchange_run(struct exchange *x, struct error *err)
{
    bool has_bytes = false, has_room = false;
    struct error why = { 0 };
    int r;

    while (!x->is_closed) {
        r = flush(x, err);
        if (r < 0)
            return r;
        if (x->output.len == 0 && !nghttp2_session_want_read(x->session) &&
            !nghttp2_session_want_write(x->session))
            return unavailable("the peer does not speak HTTP/2", err);
        r = unix_stream_wait(&x->stream, x->output.len > 0, &has_bytes, &has_room, &why);
        if (r < 0)
            return socket_failure(r, &why, err);
        r = has_bytes ? take_in(x, err) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

/* The status first: a call that failed may have sent anything. */
static int exchange_end(struct exchange *x, struct buf *ret, struct error *err)
{
    const unsigned char *prefix = (const unsigned char *)x->answer.data;
    char words[64];
    size_t len;

    if (x->status != STATUS_NONE && x->status != GRPC_OK)
        return grpc_failure(x->status, x->words, err);
    if (x->http_status != 200) {
        (void)snprintf(words, sizeof words, "unexpected HTTP status code received from server: %" PRIu64,
                       x->http_status);
        return unavailable(words, err);
    }
    if (x->reset != NGHTTP2_NO_ERROR || x->status == STATUS_NONE)
        return unavailable("server closed the stream without sending trailers", err);
    if (x->answer.len < PREFIX_BYTES || prefix[0] != 0)
        return unavailable("the answer holds no message that can be read", err);
    len = (size_t)prefix[1] << 24 | (size_t)prefix[2] << 16 | (size_t)prefix[3] << 8 | prefix[4];
    if (len != x->answer.len - PREFIX_BYTES)
        return unavailable("the answer is not one message", err);
    buf_clear(ret);
    ret->len_max = GRPC_MESSAGE_BYTES_MAX;
    buf_add(ret, x->answer.data + PREFIX_BYTES, len);
    return buf_check(ret, "the answer", err);
}

static void exchange_done(struct exchange *x)
{
    nghttp2_session_del(x->session);
    unix_stream_close(&x->stream);
    buf_done(&x->answer);
}

static struct exchange exchange_of(const struct grpc_call *c, struct str request)
{
    struct exchange x = {
        .call = c,
        .stream = { .fd = -1 },
        .request = request,
        .answer = BUF_INIT(PREFIX_BYTES + GRPC_MESSAGE_BYTES_MAX),
        .status = STATUS_NONE,
    };

    /* The protocol has room for eight digits. */
    (void)snprintf(x.timeout, sizeof x.timeout, "%" PRIu64 "m", c->limit_ns / NS_PER_MS % 100000000);
    return x;
}

int grpc_call(const struct grpc_call *c, struct str request, struct buf *ret, struct error *err)
{
    _cleanup_(exchange_done) struct exchange x = exchange_of(c, request);
    struct error why = { 0 };
    int r;

    if (request.len > GRPC_MESSAGE_BYTES_MAX)
        return error_set(err, ERR_TOO_LARGE, "a request of %zu bytes is too large", request.len);
    r = unix_stream_open(c->socket, c->limit_ns, c->stop, &x.stream, &why);
    if (r < 0)
        return socket_failure(r, &why, err);
    r = session_new(&x, err);
    if (r == 0)
        r = submit(&x, err);
    if (r == 0)
        r = exchange_run(&x, err);
    return r < 0 ? r : exchange_end(&x, ret, err);
}

int grpc_read(struct str sent, struct buf *ret, struct error *err)
{
    const struct grpc_call c = { .socket = "", .method = "/", .limit_ns = NS_PER_S };
    _cleanup_(exchange_done) struct exchange x = exchange_of(&c, STR_LIT(""));
    const uint8_t *said = NULL;
    int r = session_new(&x, err);

    if (r == 0)
        r = submit(&x, err);
    while (r == 0 && nghttp2_session_mem_send(x.session, &said) > 0)
        ;
    if (r == 0)
        r = feed(&x, (const uint8_t *)sent.s, sent.len, err);
    if (r == 0 && !x.is_closed)
        r = unavailable("the connection was closed before an answer came", err);
    return r < 0 ? r : exchange_end(&x, ret, err);
}
