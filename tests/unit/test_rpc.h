/* For the tests of src/rpc: a client on a loop, calls that are awaited, and a server in a thread whose
 * methods misbehave by name.
 *
 *   echo      answers with the request
 *   hold      answers when `release` is called, the last one first
 *   release   answers at once
 *   headers   answers with the values of `x-note` and `grpc-timeout`, a line each
 *   stream    "N BYTES": N messages of BYTES bytes each, as fast as the window allows
 *   refuse    RST_STREAM with REFUSED_STREAM the first time, then as echo
 *   goaway    GOAWAY that takes this stream back, and the end of the connection, the first time; then as echo
 *   away      GOAWAY after which this stream is still answered
 *   half      half of a message, and the end of the connection
 *   huge      a message that claims to have 17 MiB
 *   status    "CODE WORDS": that status
 *   flood     more header fields than are taken
 *   never     no answer
 *   twice     two messages */
#ifndef BERTH_TESTS_TEST_RPC_H
#define BERTH_TESTS_TEST_RPC_H

#include "tests/unit/test_io.h"

#include <limits.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "io/clock.h"
#include "rpc/framing.h"
#include "rpc/rpc.h"

#define LIMIT_NS (20 * NS_PER_S)
#define SERVER_CONNS_MAX 16
#define SERVER_STREAMS_MAX 512

static struct error err;

/* --- The server --- */

struct server_stream {
    int32_t id; /* 0: free */
    bool is_held;
    char method[64];
    char note[256];
    char timeout[32];
    struct buf in;
    struct buf out;
    size_t sent;
    unsigned messages; /* yet to come */
    size_t message_bytes;
    char status[16];
    struct buf words;
};

struct server_conn {
    struct server *server;
    int fd;    /* -1: free */
    bool ends; /* once all is sent */
    nghttp2_session *h2;
    struct server_stream streams[SERVER_STREAMS_MAX];
};

struct server {
    pthread_t thread;
    int listener;
    int stop[2];
    char path[TEST_PATH_BYTES + 64];
    struct server_conn *conns;
    unsigned refusals, goaways;
    atomic_uint accepted, resets, requests, sent_bytes;
};

static inline struct server_stream *server_stream(struct server_conn *c, int32_t id)
{
    for (size_t i = 0; i < SERVER_STREAMS_MAX; i++)
        if (c->streams[i].id == id)
            return &c->streams[i];
    return NULL;
}

static inline ssize_t server_on_source(nghttp2_session *h2, int32_t id, uint8_t *data, size_t len,
                                       uint32_t *flags, nghttp2_data_source *source, void *ctx)
{
    struct server_conn *c = ctx;
    struct server_stream *s = source->ptr;
    const nghttp2_nv trailers[] = { rpc_header("grpc-status", s->status),
                                    rpc_header("grpc-message", buf_cstr(&s->words)) };
    size_t n;

    if (s->sent == s->out.len && s->messages > 0) {
        static const char zeros[1 << 20];
        s->messages--;
        buf_clear(&s->out);
        s->sent = 0;
        rpc_frame_add(&s->out, (struct str){ zeros, s->message_bytes });
    }
    n = s->out.len - s->sent < len ? s->out.len - s->sent : len;
    if (n > 0)
        memcpy(data, s->out.data + s->sent, n);
    s->sent += n;
    c->server->sent_bytes += (unsigned)n;
    if (s->sent == s->out.len && c->ends)
        return n > 0 ? (ssize_t)n : NGHTTP2_ERR_DEFERRED;
    if (s->sent == s->out.len && s->messages == 0) {
        *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
        (void)nghttp2_submit_trailer(h2, id, trailers, ARRAY_LEN(trailers));
    }
    return (ssize_t)n;
}

/* With what is in out, and the status. */
static inline void server_answer(struct server_conn *c, struct server_stream *s, unsigned status)
{
    const nghttp2_nv headers[] = { rpc_header(":status", "200"),
                                   rpc_header("content-type", "application/grpc") };
    nghttp2_data_provider source = { .source.ptr = s, .read_callback = server_on_source };

    (void)snprintf(s->status, sizeof s->status, "%u", status);
    assert_int_equal(nghttp2_submit_response(c->h2, s->id, headers, ARRAY_LEN(headers), &source), 0);
}

static inline void server_flood(struct server_conn *c, const struct server_stream *s)
{
    static nghttp2_nv headers[2000]; /* of 40 bytes each, as HTTP/2 counts them */

    headers[0] = rpc_header(":status", "200");
    for (size_t i = 1; i < ARRAY_LEN(headers); i++)
        headers[i] = rpc_header("x-flood", "x");
    assert_int_equal(nghttp2_submit_response(c->h2, s->id, headers, ARRAY_LEN(headers), NULL), 0);
}

/* The last one first, each on its way before the next. */
static inline void server_release(struct server_conn *c)
{
    for (size_t i = SERVER_STREAMS_MAX; i > 0; i--) {
        struct server_stream *s = &c->streams[i - 1];
        if (s->id != 0 && s->is_held) {
            s->is_held = false;
            server_answer(c, s, 0);
        }
    }
}

static inline void server_serve(struct server_conn *c, struct server_stream *s)
{
    struct str message = { s->in.data + RPC_PREFIX_BYTES, s->in.len - RPC_PREFIX_BYTES };
    const char *m = s->method;
    char text[512];
    unsigned status = 0;

    assert_true(s->in.len >= RPC_PREFIX_BYTES);
    c->server->requests++;
    (void)snprintf(text, sizeof text, "%.*s", (int)message.len, message.s);
    if (strcmp(m, "/t/headers") == 0) {
        (void)snprintf(text, sizeof text, "%s\n%s\n", s->note, s->timeout);
        message = str_of(text);
    }
    if (strcmp(m, "/t/never") == 0)
        return;
    if (strcmp(m, "/t/refuse") == 0 && c->server->refusals++ == 0) {
        (void)nghttp2_submit_rst_stream(c->h2, 0, s->id, NGHTTP2_REFUSED_STREAM);
        return;
    }
    if (strcmp(m, "/t/goaway") == 0 && c->server->goaways++ == 0) {
        (void)nghttp2_submit_goaway(c->h2, 0, s->id - 2, 0, NULL, 0);
        c->ends = true;
        return;
    }
    if (strcmp(m, "/t/flood") == 0) {
        server_flood(c, s);
        return;
    }
    if (strcmp(m, "/t/away") == 0)
        (void)nghttp2_submit_goaway(c->h2, 0, s->id, 0, NULL, 0);
    if (strcmp(m, "/t/stream") == 0) {
        assert_int_equal(sscanf(text, "%u %zu", &s->messages, &s->message_bytes), 2);
    } else if (strcmp(m, "/t/status") == 0) {
        int at = 0;
        assert_int_equal(sscanf(text, "%u %n", &status, &at), 1);
        for (size_t i = (size_t)at; i < message.len; i++)
            buf_add_char(&s->words, message.s[i]);
    } else if (strcmp(m, "/t/half") == 0) {
        buf_add(&s->out, "\0\0\0\0\12half", 9);
        c->ends = true;
    } else if (strcmp(m, "/t/huge") == 0) {
        buf_add(&s->out, "\0\1\20\0\0x", 6);
    } else {
        rpc_frame_add(&s->out, message);
    }
    if (strcmp(m, "/t/twice") == 0)
        rpc_frame_add(&s->out, message);
    if (strcmp(m, "/t/release") == 0)
        server_release(c);
    if (strcmp(m, "/t/hold") == 0)
        s->is_held = true;
    else
        server_answer(c, s, status);
}

static inline int server_on_header(nghttp2_session *h2, const nghttp2_frame *frame, const uint8_t *name,
                                   size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                                   void *ctx)
{
    struct str key = { (const char *)name, name_len };
    struct server_stream *s = server_stream(ctx, frame->hd.stream_id);

    (void)h2;
    (void)flags;
    if (!s) {
        s = server_stream(ctx, 0);
        assert_non_null(s);
        *s = (struct server_stream){ .id = frame->hd.stream_id,
                                     .in = BUF_INIT(RPC_MESSAGE_BYTES_MAX + RPC_PREFIX_BYTES),
                                     .out = BUF_INIT(2 * RPC_MESSAGE_BYTES_MAX),
                                     .words = BUF_INIT(1 << 20) };
    }
    if (str_is(key, ":path"))
        (void)snprintf(s->method, sizeof s->method, "%.*s", (int)value_len, (const char *)value);
    if (str_is(key, "x-note"))
        (void)snprintf(s->note, sizeof s->note, "%.*s", (int)value_len, (const char *)value);
    if (str_is(key, "grpc-timeout"))
        (void)snprintf(s->timeout, sizeof s->timeout, "%.*s", (int)value_len, (const char *)value);
    return 0;
}

static inline int server_on_data(nghttp2_session *h2, uint8_t flags, int32_t id, const uint8_t *data,
                                 size_t len, void *ctx)
{
    (void)h2;
    (void)flags;
    buf_add(&server_stream(ctx, id)->in, data, len);
    return 0;
}

static inline int server_on_frame(nghttp2_session *h2, const nghttp2_frame *frame, void *ctx)
{
    (void)h2;
    if ((frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS) &&
        (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        server_serve(ctx, server_stream(ctx, frame->hd.stream_id));
    return 0;
}

static inline int server_on_close(nghttp2_session *h2, int32_t id, uint32_t why, void *ctx)
{
    struct server_conn *c = ctx;
    struct server_stream *s = server_stream(c, id);

    (void)h2;
    if (!s)
        return 0;
    c->server->resets += why == NGHTTP2_CANCEL;
    buf_done(&s->in);
    buf_done(&s->out);
    buf_done(&s->words);
    s->id = 0;
    return 0;
}

static inline void server_conn_end(struct server_conn *c)
{
    for (size_t i = 0; i < SERVER_STREAMS_MAX; i++)
        if (c->streams[i].id != 0)
            (void)server_on_close(c->h2, c->streams[i].id, 0, c);
    nghttp2_session_del(c->h2);
    (void)close(c->fd);
    c->fd = -1;
}

static inline void server_accept(struct server *x)
{
    static const nghttp2_settings_entry limit = { NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 300 };
    nghttp2_session_callbacks *callbacks;
    struct server_conn *c = x->conns;

    while (c->fd >= 0)
        c++;
    assert_true(c < x->conns + SERVER_CONNS_MAX);
    memset(c->streams, 0, sizeof c->streams);
    c->server = x;
    c->ends = false;
    c->fd = accept4(x->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    assert_true(c->fd >= 0);
    x->accepted++;
    assert_int_equal(nghttp2_session_callbacks_new(&callbacks), 0);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, server_on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, server_on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, server_on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, server_on_close);
    assert_int_equal(nghttp2_session_server_new(&c->h2, callbacks, c), 0);
    nghttp2_session_callbacks_del(callbacks);
    (void)nghttp2_submit_settings(c->h2, NGHTTP2_FLAG_NONE, &limit, 1);
}

/* False: the connection is over. */
static inline bool server_conn_turn(struct server_conn *c)
{
    static uint8_t in[65536];
    const uint8_t *out;
    ssize_t n = recv(c->fd, in, sizeof in, 0);

    if (n == 0 || (n < 0 && errno != EAGAIN))
        return false;
    if (n > 0 && nghttp2_session_mem_recv(c->h2, in, (size_t)n) < 0)
        return false;
    while ((n = nghttp2_session_mem_send(c->h2, &out)) > 0) {
        struct pollfd room = { .fd = c->fd, .events = POLLOUT };
        for (ssize_t at = 0, k; at<n; at += k> 0 ? k : 0) {
            k = send(c->fd, out + at, (size_t)(n - at), MSG_NOSIGNAL);
            if (k < 0 && (errno != EAGAIN || poll(&room, 1, 1000) < 0))
                return false;
        }
    }
    return !c->ends;
}

static inline void *server_run(void *ctx)
{
    struct server *x = ctx;

    for (;;) {
        struct pollfd fds[SERVER_CONNS_MAX + 2] = { { .fd = x->stop[0], .events = POLLIN },
                                                    { .fd = x->listener, .events = POLLIN } };
        for (size_t i = 0; i < SERVER_CONNS_MAX; i++)
            fds[i + 2] = (struct pollfd){ .fd = x->conns[i].fd, .events = POLLIN };
        (void)poll(fds, ARRAY_LEN(fds), -1);
        if (fds[0].revents)
            break;
        if (fds[1].revents)
            server_accept(x);
        for (size_t i = 0; i < SERVER_CONNS_MAX; i++)
            if (fds[i + 2].revents && !server_conn_turn(&x->conns[i]))
                server_conn_end(&x->conns[i]);
    }
    for (size_t i = 0; i < SERVER_CONNS_MAX; i++)
        if (x->conns[i].fd >= 0)
            server_conn_end(&x->conns[i]);
    return NULL;
}

/* In place of what is there. */
static inline int listen_at(const char *path, int backlog)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(strlen(path) < sizeof a.sun_path);
    memcpy(a.sun_path, path, strlen(path) + 1);
    (void)unlink(path);
    assert_int_equal(bind(fd, (const struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(fd, backlog), 0);
    return fd;
}

static inline void server_start(struct server *x, const char *path)
{
    memset(x, 0, sizeof *x);
    (void)snprintf(x->path, sizeof x->path, "%s", path);
    x->listener = listen_at(path, 64);
    x->conns = calloc(SERVER_CONNS_MAX, sizeof *x->conns);
    assert_non_null(x->conns);
    for (size_t i = 0; i < SERVER_CONNS_MAX; i++)
        x->conns[i].fd = -1;
    assert_int_equal(pipe(x->stop), 0);
    assert_int_equal(pthread_create(&x->thread, NULL, server_run, x), 0);
}

/* As if it had been killed: connections end, the socket stays. */
static inline void server_end(struct server *x)
{
    if (!x->conns)
        return;
    (void)close(x->stop[1]);
    (void)pthread_join(x->thread, NULL);
    (void)close(x->stop[0]);
    (void)close(x->listener);
    free(x->conns);
    x->conns = NULL;
}

/* --- The client --- */

struct rpc_bench {
    struct test_dir d;
    struct loop *loop;
    struct rpc_client *client;
    struct server server;
    atomic_int stop;
};

static inline void rpc_bench_init(struct rpc_bench *b)
{
    memset(b, 0, sizeof *b);
    b->d = test_dir_new();
    b->loop = new_loop(NULL);
    ASSERT_OK(rpc_client_new(b->loop, &b->client, &err));
}

static inline void rpc_bench_done(struct rpc_bench *b)
{
    b->client = rpc_client_free(b->client);
    b->loop = loop_free(b->loop);
    server_end(&b->server);
    test_dir_done(&b->d);
}

/* A call whose end is kept. */
struct test_call {
    struct rpc_call call;
    bool is_done;
    unsigned order; /* of its end, from 1 */
    int r;
    enum rpc_code code;
    bool is_own, is_unsent;
    size_t words_len;
    struct error err;
    struct buf answer;
};

static unsigned ended;

static inline void test_call_on_done(struct rpc_call *c, const struct rpc_result *result)
{
    struct test_call *t = CONTAINER_OF(c, struct test_call, call);

    assert_false(t->is_done);
    assert_int_equal(result->r < 0, result->code != RPC_OK);
    t->is_done = true;
    t->order = ++ended;
    t->r = result->r;
    t->code = result->code;
    t->is_own = result->is_own;
    t->is_unsent = result->is_unsent;
    t->words_len = strlen(result->words);
    t->err = *result->err;
    t->answer = BUF_INIT(RPC_MESSAGE_BYTES_MAX);
    buf_add_str(&t->answer, result->message);
}

static inline void test_call_start(struct rpc_bench *b, struct test_call *t, const char *socket,
                                   const char *method, struct str message, uint64_t limit_ns)
{
    const struct rpc_request q = {
        .socket = socket, .method = method, .message = message, .limit_ns = limit_ns
    };

    memset(t, 0, sizeof *t);
    t->call.done = test_call_on_done;
    ASSERT_OK(rpc_call_start(b->client, &q, &t->call, &err));
}

/* Waits for its end; the answer in *t. */
static inline int test_call_await(struct rpc_bench *b, struct test_call *t)
{
    run_until(b->loop, &t->is_done);
    err = t->err;
    return t->r;
}

static inline void test_call_done(struct test_call *t)
{
    buf_done(&t->answer);
}

/* One call to the server of the bench. */
static inline int ask(struct rpc_bench *b, struct test_call *t, const char *method, const char *message)
{
    test_call_start(b, t, b->server.path, method, str_of(message), LIMIT_NS);
    return test_call_await(b, t);
}

/* --- A worker that waits --- */

struct test_worker {
    struct rpc_bench *b;
    pthread_t thread;
    struct rpc_request q;
    struct buf answer;
    int r;
    enum rpc_code code;
    struct error err;
    atomic_bool is_done;
};

static inline void *test_worker_run(void *ctx)
{
    struct test_worker *w = ctx;

    w->r = rpc_wait(w->b->client, &w->q, &w->b->stop, &w->answer, &w->code, &w->err);
    w->is_done = true;
    return NULL;
}

static inline void test_worker_start(struct rpc_bench *b, struct test_worker *w, const char *socket,
                                     const char *method, struct str message, uint64_t limit_ns)
{
    memset(w, 0, sizeof *w);
    w->b = b;
    w->q =
        (struct rpc_request){ .socket = socket, .method = method, .message = message, .limit_ns = limit_ns };
    w->answer = BUF_INIT(1);
    assert_int_equal(pthread_create(&w->thread, NULL, test_worker_run, w), 0);
}

/* The loop runs meanwhile, unless it stands still. */
static inline int test_worker_await(struct test_worker *w, bool with_loop)
{
    (void)signal(SIGALRM, test_on_deadline);
    (void)alarm(TEST_DEADLINE_S);
    while (!w->is_done) {
        if (with_loop)
            (void)loop_poll(w->b->loop);
        (void)poll(NULL, 0, 1);
    }
    (void)alarm(0);
    (void)pthread_join(w->thread, NULL);
    err = w->err;
    return w->r;
}

static inline void test_worker_done(struct test_worker *w)
{
    buf_done(&w->answer);
}

#endif
