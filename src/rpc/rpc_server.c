/* The gRPC server: its listening socket, its connections with nghttp2, and the calls on them.
 *
 * A call exists from the first header of its stream until the stream is closed. Handlers are called from
 * server_on_deliver() and from timers only, never from within nghttp2. One timer per call limits, one after
 * the other, the arrival of the request, the work of the handler (if the client has set a deadline) and the
 * reading of the answer.
 *
 * Invariant: a connection is freed by its own callbacks of the loop, as their last step, by the listener to
 * make room, and with the server; so no code below nghttp2 uses a freed one. */
#include "rpc/rpc_server.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <string.h>

#include "io/path.h"
#include "io/poll.h"
#include "io/socket.h"
#include "rpc/framing.h"
#include "rpc/message.h"

#define READ_BYTES 32768
#define READS_MAX 8 /* per turn */
#define OUT_BYTES 65536
#define OUT_BYTES_MAX ((size_t)1 << 20)
#define ACCEPTS_MAX 16 /* per turn */
#define ACCEPT_RETRY_NS (100 * NS_PER_MS)
#define WORDS_BYTES_MAX ((size_t)8 << 10)
#define HEADER_OVERHEAD 32 /* as HTTP/2 counts a field */
#define NUMBER_BYTES 24

TAILQ_HEAD(served_list, rpc_served);
TAILQ_HEAD(conn_list, rpc_conn);

enum served_stage {
    SERVED_ARRIVING,
    SERVED_QUEUED,    /* complete: to be passed to its handler */
    SERVED_HANDLED,   /* with its handler */
    SERVED_CANCELLED, /* without a stream: the handler is to be notified */
    SERVED_ANSWERED,
};

struct rpc_served {
    struct rpc_server *server;
    struct rpc_conn *conn; /* NULL when cancelled */
    TAILQ_ENTRY(rpc_served) link;
    TAILQ_ENTRY(rpc_served) event; /* while queued or cancelled */
    enum served_stage stage;
    int32_t stream;
    const struct rpc_method *method; /* NULL: unknown */
    bool is_post;
    bool is_grpc;
    bool is_whole; /* the client has ended its side of the stream */
    bool has_bad_timeout;
    uint64_t timeout_ns; /* UINT64_MAX: none */
    uint64_t deadline_ns;
    size_t headers_bytes;
    struct timer limit;
    struct buf in;  /* prefix and message */
    struct buf out; /* prefix and message */
    size_t sent;
    void (*cancelled)(void *owner);
    void *owner;
};

struct rpc_conn {
    struct rpc_server *server;
    TAILQ_ENTRY(rpc_conn) link; /* those without calls in the order in which they became idle */
    int fd;
    struct fd_watch *watch;
    nghttp2_session *h2;
    struct served_list calls;
    struct buf out; /* taken from nghttp2, not written to the socket yet */
    struct deferred flush;
    bool is_refused; /* its input is not HTTP/2: it ends when GOAWAY is sent */
    bool is_dead;
    bool wants_room; /* waits for room to write, and does not read */
};

struct rpc_server {
    struct rpc_server_options options;
    int fd;
    struct fd_watch *watch; /* NULL: no descriptors were left, retry waits */
    struct timer retry;
    struct socket_id id;
    struct conn_list conns;
    unsigned conns_count;
    struct served_list events;
    struct deferred deliver;
    bool is_delivering;
    size_t held_bytes;
    char path[];
};

/* --- Calls: their memory and their stages --- */

static void served_drop_event(struct rpc_served *c)
{
    if (c->stage == SERVED_QUEUED || c->stage == SERVED_CANCELLED)
        TAILQ_REMOVE(&c->server->events, c, event);
}

static void served_add_event(struct rpc_served *c, enum served_stage stage)
{
    c->stage = stage;
    TAILQ_INSERT_TAIL(&c->server->events, c, event);
    loop_defer(&c->server->deliver);
}

static void served_drop_input(struct rpc_served *c)
{
    c->server->held_bytes -= c->in.len;
    buf_done(&c->in);
}

static void served_free(struct rpc_served *c)
{
    served_drop_event(c);
    served_drop_input(c);
    c->server->held_bytes -= c->out.len;
    buf_done(&c->out);
    timer_disarm(&c->limit);
    free(c);
}

/* Its stream is closed, or will be without it. */
static void served_leave_stream(struct rpc_served *c)
{
    struct rpc_conn *conn = c->conn;

    TAILQ_REMOVE(&conn->calls, c, link);
    if (TAILQ_EMPTY(&conn->calls)) {
        TAILQ_REMOVE(&conn->server->conns, conn, link);
        TAILQ_INSERT_TAIL(&conn->server->conns, conn, link);
    }
    c->conn = NULL;
    timer_disarm(&c->limit);
    if (c->stage == SERVED_HANDLED)
        served_add_event(c, SERVED_CANCELLED);
    else
        served_free(c);
}

/* The client does not read its answer. */
static void served_abandon(struct rpc_served *c)
{
    struct rpc_conn *conn = c->conn;

    (void)nghttp2_session_set_stream_user_data(conn->h2, c->stream, NULL);
    /* Out of memory: the client is not notified, and its limit ends the call. */
    (void)nghttp2_submit_rst_stream(conn->h2, NGHTTP2_FLAG_NONE, c->stream, NGHTTP2_CANCEL);
    loop_defer(&conn->flush);
    served_leave_stream(c);
}

/* --- Answers --- */

static ssize_t served_on_source(nghttp2_session *h2, int32_t stream, uint8_t *data, size_t len,
                                uint32_t *flags, nghttp2_data_source *source, void *ctx)
{
    struct rpc_served *c = nghttp2_session_get_stream_user_data(h2, stream);
    const nghttp2_nv trailers[] = { rpc_header("grpc-status", "0") };
    size_t n;

    (void)source;
    (void)ctx;
    if (!c) /* reset: the frame is being sent */
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    n = c->out.len - c->sent < len ? c->out.len - c->sent : len;
    memcpy(data, c->out.data + c->sent, n);
    c->sent += n;
    if (c->sent == c->out.len) {
        *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
        if (nghttp2_submit_trailer(h2, stream, trailers, ARRAY_LEN(trailers)) < 0)
            return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    return (ssize_t)n;
}

/* r: of the submission. The client must read the answer within the limit. */
static void served_finish(struct rpc_served *c, int r)
{
    struct rpc_conn *conn = c->conn;

    served_drop_event(c);
    served_drop_input(c);
    c->stage = SERVED_ANSWERED;
    if (r < 0) /* out of memory; without this frame the timer ends the call */
        (void)nghttp2_submit_rst_stream(conn->h2, NGHTTP2_FLAG_NONE, c->stream, NGHTTP2_INTERNAL_ERROR);
    timer_arm_after(&c->limit, c->server->options.stall_ns);
    loop_defer(&conn->flush);
}

/* A status without a message. */
static void served_refuse(struct rpc_served *c, const char *http_status, enum rpc_code code,
                          const char *words)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(WORDS_BYTES_MAX);
    char number[NUMBER_BYTES];

    (void)snprintf(number, sizeof number, "%u", (unsigned)code);
    rpc_words_write(str_of(words), &text);
    const nghttp2_nv headers[] = { rpc_header(":status", http_status),
                                   rpc_header("content-type", "application/grpc"),
                                   rpc_header("grpc-status", number),
                                   rpc_header("grpc-message", buf_cstr(&text)) };

    served_finish(c, nghttp2_submit_response(c->conn->h2, c->stream, headers, ARRAY_LEN(headers), NULL));
}

void rpc_served_fail(struct rpc_served *c, enum rpc_code code, const char *words)
{
    assert(code != RPC_OK && c->conn && c->stage != SERVED_ANSWERED);
    served_refuse(c, "200", code, words);
}

static int pack_answer(const ProtobufCMessage *answer, struct buf *out, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(RPC_MESSAGE_BYTES_MAX);
    int r = rpc_message_pack(answer, &text, err);

    if (r < 0)
        return r;
    rpc_frame_add(out, buf_str(&text));
    return buf_check(out, "an answer", err);
}

void rpc_served_answer(struct rpc_served *c, const ProtobufCMessage *answer)
{
    const nghttp2_nv headers[] = { rpc_header(":status", "200"),
                                   rpc_header("content-type", "application/grpc"),
                                   rpc_header("grpc-accept-encoding", "identity") };
    nghttp2_data_provider source = { .read_callback = served_on_source };
    struct rpc_server *s = c->server;
    struct error err = { 0 };

    assert(c->stage == SERVED_HANDLED && answer->descriptor == c->method->answer);
    c->out = BUF_INIT(RPC_PREFIX_BYTES + RPC_MESSAGE_BYTES_MAX);
    if (pack_answer(answer, &c->out, &err) < 0 || c->out.len > s->options.held_bytes_max - s->held_bytes) {
        buf_done(&c->out);
        rpc_served_fail(c, RPC_RESOURCE_EXHAUSTED, "the answer is too large");
        return;
    }
    s->held_bytes += c->out.len;
    served_finish(c, nghttp2_submit_response(c->conn->h2, c->stream, headers, ARRAY_LEN(headers), &source));
}

void rpc_served_defer(struct rpc_served *c, void (*cancelled)(void *owner), void *owner)
{
    assert(c->stage == SERVED_HANDLED);
    c->cancelled = cancelled;
    c->owner = owner;
}

static void served_on_limit(void *ctx)
{
    struct rpc_served *c = ctx;

    if (c->stage == SERVED_ANSWERED) {
        served_abandon(c);
        return;
    }
    if (c->stage == SERVED_HANDLED)
        c->cancelled(c->owner);
    rpc_served_fail(c, RPC_DEADLINE_EXCEEDED, "the deadline has passed");
}

/* --- Requests --- */

static void served_dispatch(struct rpc_served *c)
{
    const struct rpc_server_options *o = &c->server->options;
    struct str bytes = buf_str(&c->in), text = { 0 };
    enum rpc_frame frame = rpc_frame_read(bytes, o->request_bytes_max, &text);
    ProtobufCMessage *request = NULL;

    TAILQ_REMOVE(&c->server->events, c, event);
    c->stage = SERVED_HANDLED;
    if (frame == RPC_FRAME_COMPRESSED) {
        rpc_served_fail(c, RPC_UNIMPLEMENTED, "compressed messages are not supported");
    } else if (bytes.len == 0 || (frame == RPC_FRAME_WHOLE && text.len != bytes.len - RPC_PREFIX_BYTES)) {
        rpc_served_fail(c, RPC_UNIMPLEMENTED, "the request does not consist of one message");
    } else if (frame != RPC_FRAME_WHOLE) {
        rpc_served_fail(c, RPC_INTERNAL, "the request ends within a message");
    } else {
        request = rpc_message_read(c->method->request, text);
        served_drop_input(c);
        if (!request)
            rpc_served_fail(c, RPC_INTERNAL, "the request is not a valid message");
        else
            c->method->serve(o->ctx, c, request);
        assert(c->stage == SERVED_ANSWERED || c->cancelled); /* see rpc_serve_fn */
    }
    rpc_message_free(&request);
}

static void server_on_deliver(void *ctx)
{
    struct rpc_server *s = ctx;
    struct rpc_served *c;

    s->is_delivering = true;
    while ((c = TAILQ_FIRST(&s->events))) {
        if (c->stage == SERVED_QUEUED) {
            served_dispatch(c);
        } else {
            assert(c->server == s && c->stage == SERVED_CANCELLED);
            c->cancelled(c->owner);
            served_free(c);
        }
    }
    s->is_delivering = false;
}

/* --- Callbacks of nghttp2 --- */

static int conn_on_begin_headers(nghttp2_session *h2, const nghttp2_frame *frame, void *ctx)
{
    struct rpc_conn *conn = ctx;
    struct rpc_server *s = conn->server;
    struct rpc_served *c;

    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    c = calloc(1, sizeof *c);
    if (!c)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    c->server = s;
    c->conn = conn;
    c->stream = frame->hd.stream_id;
    c->timeout_ns = UINT64_MAX;
    c->in = BUF_INIT(RPC_PREFIX_BYTES + s->options.request_bytes_max);
    timer_init(&c->limit, s->options.loop, served_on_limit, c);
    timer_arm_after(&c->limit, s->options.stall_ns);
    TAILQ_INSERT_TAIL(&conn->calls, c, link);
    (void)nghttp2_session_set_stream_user_data(h2, c->stream, c); /* the stream exists */
    return 0;
}

static const struct rpc_method *server_find_method(const struct rpc_server *s, struct str name)
{
    for (size_t i = 0; i < s->options.methods_count; i++)
        if (str_is(name, s->options.methods[i].name))
            return &s->options.methods[i];
    return NULL;
}

/* "application/grpc", alone, with "+proto" or with parameters. */
static bool content_is_grpc(struct str type)
{
    static const struct str plain = STR_LIT("application/grpc"), proto = STR_LIT("application/grpc+proto");
    size_t len = str_has_prefix(type, "application/grpc+proto") ? proto.len : plain.len;

    return str_has_prefix(type, plain.s) && (type.len == len || type.s[len] == ';');
}

static int conn_on_header(nghttp2_session *h2, const nghttp2_frame *frame, const uint8_t *name,
                          size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags, void *ctx)
{
    struct str key = { (const char *)name, name_len }, text = { (const char *)value, value_len };
    struct rpc_served *c = nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id);
    struct rpc_conn *conn = ctx;

    (void)flags;
    if (!c || c->stage != SERVED_ARRIVING)
        return 0;
    c->headers_bytes += name_len + value_len + HEADER_OVERHEAD;
    if (c->headers_bytes > RPC_HEADERS_BYTES_MAX)
        rpc_served_fail(c, RPC_RESOURCE_EXHAUSTED, "the headers of the request are too large");
    else if (frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0; /* trailers: none has a meaning */
    else if (str_is(key, ":method"))
        c->is_post = str_is(text, "POST");
    else if (str_is(key, ":path"))
        c->method = server_find_method(conn->server, text);
    else if (str_is(key, "content-type"))
        c->is_grpc = content_is_grpc(text);
    else if (str_is(key, "grpc-timeout"))
        c->has_bad_timeout = !rpc_timeout_read(text, &c->timeout_ns);
    return 0;
}

/* The headers are complete: the call is refused, or its message is awaited. */
static void served_check_headers(struct rpc_served *c)
{
    uint64_t now_ns = loop_now_ns(c->server->options.loop);

    if (!c->is_post)
        served_refuse(c, "405", RPC_INTERNAL, "the method of the request is not POST");
    else if (!c->is_grpc)
        served_refuse(c, "415", RPC_INVALID_ARGUMENT, "the content type is not application/grpc");
    else if (!c->method)
        rpc_served_fail(c, RPC_UNIMPLEMENTED, "there is no such method");
    else if (c->has_bad_timeout)
        rpc_served_fail(c, RPC_INTERNAL, "grpc-timeout is malformed");
    c->deadline_ns = c->timeout_ns < UINT64_MAX - now_ns ? now_ns + c->timeout_ns : UINT64_MAX;
    if (c->stage == SERVED_ARRIVING && c->timeout_ns < c->server->options.stall_ns)
        timer_arm(&c->limit, c->deadline_ns);
}

static void served_end_request(struct rpc_served *c)
{
    if (c->deadline_ns == UINT64_MAX)
        timer_disarm(&c->limit);
    else
        timer_arm(&c->limit, c->deadline_ns);
    served_add_event(c, SERVED_QUEUED);
}

static int conn_on_frame(nghttp2_session *h2, const nghttp2_frame *frame, void *ctx)
{
    struct rpc_served *c = nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id);

    (void)ctx;
    if (!c || (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA))
        return 0;
    if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
        c->is_whole = true;
    if (c->stage == SERVED_ARRIVING && frame->hd.type == NGHTTP2_HEADERS &&
        frame->headers.cat == NGHTTP2_HCAT_REQUEST)
        served_check_headers(c);
    if (c->stage == SERVED_ARRIVING && c->is_whole)
        served_end_request(c);
    return 0;
}

static int conn_on_data(nghttp2_session *h2, uint8_t flags, int32_t stream, const uint8_t *data, size_t len,
                        void *ctx)
{
    struct rpc_served *c = nghttp2_session_get_stream_user_data(h2, stream);
    struct rpc_server *s = ((struct rpc_conn *)ctx)->server;
    struct str message;

    (void)flags;
    if (!c || c->stage != SERVED_ARRIVING)
        return 0;
    if (len > s->options.held_bytes_max - s->held_bytes) {
        rpc_served_fail(c, RPC_RESOURCE_EXHAUSTED, "too many bytes of requests and answers are held");
        return 0;
    }
    buf_add(&c->in, data, len);
    if (!c->in.failed)
        s->held_bytes += len;
    if (c->in.failed ||
        rpc_frame_read(buf_str(&c->in), s->options.request_bytes_max, &message) == RPC_FRAME_TOO_LARGE)
        rpc_served_fail(c, RPC_RESOURCE_EXHAUSTED, "the request is too large");
    return 0;
}

/* A client that is still sending is asked to stop. Not earlier: nghttp2 would drop the answer. */
static int conn_on_sent(nghttp2_session *h2, const nghttp2_frame *frame, void *ctx)
{
    const struct rpc_served *c = nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id);

    (void)ctx;
    if (c && !c->is_whole && frame->hd.type == NGHTTP2_HEADERS && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        (void)nghttp2_submit_rst_stream(h2, NGHTTP2_FLAG_NONE, c->stream, NGHTTP2_NO_ERROR);
    return 0;
}

static int conn_on_close(nghttp2_session *h2, int32_t stream, uint32_t why, void *ctx)
{
    struct rpc_served *c = nghttp2_session_get_stream_user_data(h2, stream);

    (void)why;
    (void)ctx;
    if (c)
        served_leave_stream(c);
    return 0;
}

/* --- Connections --- */

static void conn_free(struct rpc_conn *conn)
{
    struct rpc_served *c, *next;

    for (c = TAILQ_FIRST(&conn->calls); c; c = next) {
        next = TAILQ_NEXT(c, link);
        served_leave_stream(c);
    }
    TAILQ_REMOVE(&conn->server->conns, conn, link);
    conn->server->conns_count--;
    loop_undefer(&conn->flush);
    nghttp2_session_del(conn->h2);
    conn->watch = fd_watch_stop(conn->watch);
    fd_closep(&conn->fd);
    buf_done(&conn->out);
    free(conn);
}

static void conn_read(struct rpc_conn *conn)
{
    uint8_t data[READ_BYTES];

    for (unsigned i = 0; i < READS_MAX && !conn->is_refused && !conn->is_dead; i++) {
        ssize_t used, n = socket_read(conn->fd, data, sizeof data);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            conn->is_dead = true;
            return;
        }
        used = nghttp2_session_mem_recv(conn->h2, data, (size_t)n);
        if (used < 0) {
            conn->is_refused = true;
            (void)nghttp2_session_terminate_session(
                conn->h2, used == NGHTTP2_ERR_FLOODED ? NGHTTP2_ENHANCE_YOUR_CALM : NGHTTP2_PROTOCOL_ERROR);
        }
        if ((size_t)n < sizeof data)
            return;
    }
}

/* Takes bytes from nghttp2, as long as there is room for them. */
static void conn_fill(struct rpc_conn *conn)
{
    const uint8_t *data = NULL;
    ssize_t len = 1;

    while (len > 0 && conn->out.len < OUT_BYTES) {
        len = nghttp2_session_mem_send(conn->h2, &data);
        if (len > 0)
            buf_add(&conn->out, data, (size_t)len);
    }
    if (len < 0 || conn->out.failed)
        conn->is_dead = true;
}

static void conn_write(struct rpc_conn *conn)
{
    while (!conn->is_dead) {
        ssize_t n;

        conn_fill(conn);
        if (conn->is_dead || conn->out.len == 0)
            return;
        n = socket_write(conn->fd, conn->out.data, conn->out.len);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n < 0) {
            conn->is_dead = true;
            return;
        }
        memmove(conn->out.data, conn->out.data + n, conn->out.len - (size_t)n);
        buf_cut(&conn->out, conn->out.len - (size_t)n);
    }
}

/* Writes, and frees the connection when it is over. */
static void conn_flush(void *ctx)
{
    struct rpc_conn *conn = ctx;
    struct error ignored = { 0 };
    bool wants_room;

    conn_write(conn);
    wants_room = conn->out.len > 0;
    if (conn->is_dead ||
        (!wants_room && !nghttp2_session_want_read(conn->h2) && !nghttp2_session_want_write(conn->h2))) {
        conn_free(conn);
        return;
    }
    if (wants_room != conn->wants_room &&
        fd_watch_update(conn->watch, wants_room ? FD_WRITE : FD_READ, &ignored) == 0)
        conn->wants_room = wants_room;
}

static void conn_on_fd(void *ctx, unsigned events)
{
    struct rpc_conn *conn = ctx;

    if (events & FD_READ)
        conn_read(conn);
    if (events & FD_ERROR)
        conn->is_dead = true;
    conn_flush(conn);
}

static int conn_open_h2(struct rpc_conn *conn)
{
    const nghttp2_settings_entry settings[] = {
        { NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, conn->server->options.streams_max },
        { NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, RPC_HEADERS_BYTES_MAX },
    };
    nghttp2_session_callbacks *callbacks = NULL;
    int r = nghttp2_session_callbacks_new(&callbacks);

    if (r < 0)
        return r;
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, conn_on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, conn_on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, conn_on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, conn_on_data);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, conn_on_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, conn_on_close);
    r = nghttp2_session_server_new(&conn->h2, callbacks, conn);
    nghttp2_session_callbacks_del(callbacks);
    if (r == 0)
        r = nghttp2_submit_settings(conn->h2, NGHTTP2_FLAG_NONE, settings, ARRAY_LEN(settings));
    return r;
}

/* Owns fd from here on. Out of memory: the client sees the connection end. */
static void server_add_conn(struct rpc_server *s, int fd)
{
    struct rpc_conn *conn = calloc(1, sizeof *conn);
    struct error ignored = { 0 };

    if (!conn) {
        fd_closep(&fd);
        return;
    }
    conn->server = s;
    conn->fd = fd;
    conn->out = BUF_INIT(OUT_BYTES_MAX);
    TAILQ_INIT(&conn->calls);
    deferred_init(&conn->flush, s->options.loop, conn_flush, conn);
    TAILQ_INSERT_TAIL(&s->conns, conn, link);
    s->conns_count++;
    if (conn_open_h2(conn) < 0 ||
        fd_watch_start(s->options.loop, fd, FD_READ, conn_on_fd, conn, &conn->watch, &ignored) < 0)
        conn_free(conn);
    else
        loop_defer(&conn->flush);
}

/* --- The server --- */

/* False: all connections have calls. */
static bool server_make_room(struct rpc_server *s)
{
    struct rpc_conn *conn;

    if (s->conns_count < s->options.conns_max)
        return true;
    TAILQ_FOREACH(conn, &s->conns, link)
        if (TAILQ_EMPTY(&conn->calls)) {
            (void)nghttp2_session_terminate_session(conn->h2, NGHTTP2_NO_ERROR);
            conn_write(conn);
            conn_free(conn);
            return true;
        }
    return false;
}

static void server_on_connect(void *ctx, unsigned events)
{
    struct rpc_server *s = ctx;

    (void)events;
    for (unsigned i = 0; i < ACCEPTS_MAX; i++) {
        struct error err = { 0 };
        int fd = -1;
        int r = socket_accept(s->fd, &fd, &err);

        if (r == -ERR_BUSY)
            return;
        if (r < 0) { /* no descriptors: the condition holds, but nothing can be done about it now */
            s->watch = fd_watch_stop(s->watch);
            timer_arm_after(&s->retry, ACCEPT_RETRY_NS);
            return;
        }
        if (server_make_room(s))
            server_add_conn(s, fd);
        else
            fd_closep(&fd);
    }
}

static void server_on_retry(void *ctx)
{
    struct rpc_server *s = ctx;
    struct error ignored = { 0 };

    if (fd_watch_start(s->options.loop, s->fd, FD_READ, server_on_connect, s, &s->watch, &ignored) < 0)
        timer_arm_after(&s->retry, ACCEPT_RETRY_NS);
}

static void server_set_limits(struct rpc_server_options *o)
{
    o->conns_max = o->conns_max ? o->conns_max : RPC_SERVER_CONNS_MAX;
    o->streams_max = o->streams_max ? o->streams_max : RPC_SERVER_STREAMS_MAX;
    o->request_bytes_max = o->request_bytes_max ? o->request_bytes_max : RPC_SERVER_REQUEST_BYTES_MAX;
    o->held_bytes_max = o->held_bytes_max ? o->held_bytes_max : RPC_HELD_BYTES_MAX;
    o->stall_ns = o->stall_ns ? o->stall_ns : RPC_SERVER_STALL_NS;
}

int rpc_server_new(const struct rpc_server_options *o, struct rpc_server **ret, struct error *err)
{
    size_t len = strlen(o->path) + 1;
    struct rpc_server *s = calloc(1, sizeof *s + len);
    int r;

    if (!s)
        return error_no_memory(err);
    memcpy(s->path, o->path, len);
    s->options = *o;
    s->options.path = s->path;
    server_set_limits(&s->options);
    s->fd = -1;
    TAILQ_INIT(&s->conns);
    TAILQ_INIT(&s->events);
    timer_init(&s->retry, o->loop, server_on_retry, s);
    deferred_init(&s->deliver, o->loop, server_on_deliver, s);
    r = socket_listen_unix(s->path, &s->fd, err);
    if (r == 0)
        (void)socket_identify(s->path, &s->id); /* without it the file is not removed */
    if (r == 0)
        r = fd_watch_start(o->loop, s->fd, FD_READ, server_on_connect, s, &s->watch, err);
    if (r < 0) {
        (void)rpc_server_free(s);
        return r;
    }
    *ret = s;
    return 0;
}

struct rpc_server *rpc_server_free(struct rpc_server *s)
{
    struct rpc_conn *conn;
    struct socket_id id;

    if (!s)
        return NULL;
    assert(!s->is_delivering);
    timer_disarm(&s->retry);
    s->watch = fd_watch_stop(s->watch);
    if (s->fd >= 0 && socket_identify(s->path, &id) && socket_id_is_same(&id, &s->id))
        io_discard_file(s->path);
    fd_closep(&s->fd);
    while ((conn = TAILQ_FIRST(&s->conns))) {
        assert(conn->server == s);
        conn_free(conn);
    }
    server_on_deliver(s); /* tells handlers about their cancelled calls */
    loop_undefer(&s->deliver);
    assert(s->held_bytes == 0);
    free(s);
    return NULL;
}

unsigned rpc_server_connections(const struct rpc_server *s)
{
    return s->conns_count;
}
