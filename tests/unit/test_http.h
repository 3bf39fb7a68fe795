/* What the tests of the HTTP server share: a server that does as the path says, and clients on real sockets.
 *
 * Server and clients take turns on one thread: whoever waits for the other lets the loop run. */
#ifndef BERTH_TESTS_TEST_HTTP_H
#define BERTH_TESTS_TEST_HTTP_H

#include "tests/unit/test_io.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "http/http.h"
#include "io/poll.h"
#include "io/socket.h"

#define TEST_CALLS_MAX 600
#define TEST_TEXT_MAX ((size_t)64 << 20)

/* A stream whose text the test supplies. */
struct test_stream {
    struct stream stream;
    struct buf text;    /* not pulled yet */
    size_t piece_bytes; /* at most this much a pull; 0: all */
    bool is_at_end;
    bool wakes_itself; /* in its next pull, which finds nothing */
    bool is_endless;   /* always has more */
    bool fails;        /* after its text */
    size_t held;       /* what it says that it holds */
    unsigned pulls;
    unsigned closes;
};

struct world {
    struct loop *loop;
    struct manual_clock *clock; /* NULL: the system's */
    struct http *http;
    struct http_request *late[TEST_CALLS_MAX]; /* handed over by paths that begin with /late */
    size_t late_count;
    bool has_late;
    size_t served;
    struct test_stream *streams[TEST_CALLS_MAX];
    size_t streams_count;
    struct buf seen; /* the body of the last request */
    bool last_was_too_large;
    bool last_peer_is_invalid;
    char last_peer[200]; /* "CN: O, O" */
};

static inline ssize_t test_stream_pull(struct stream *stream, char *to, size_t room)
{
    struct test_stream *s = CONTAINER_OF(stream, struct test_stream, stream);
    size_t n = s->text.len < room ? s->text.len : room;

    s->pulls++;
    if (s->is_endless) {
        memset(to, 'x', room);
        return (ssize_t)room;
    }
    if (s->wakes_itself) {
        s->wakes_itself = false;
        stream->wake(stream);
        return 0;
    }
    if (s->piece_bytes && n > s->piece_bytes)
        n = s->piece_bytes;
    if (n == 0 && s->fails)
        return STREAM_FAILED;
    if (n == 0)
        return s->is_at_end ? STREAM_END : 0;
    memcpy(to, s->text.data, n);
    memmove(s->text.data, s->text.data + n, s->text.len - n + 1);
    s->text.len -= n;
    return (ssize_t)n;
}

static inline size_t test_stream_held(const struct stream *stream)
{
    return CONTAINER_OF((struct stream *)(uintptr_t)stream, struct test_stream, stream)->held;
}

/* The test frees it: it wants to count the calls. */
static inline void test_stream_close(struct stream *stream)
{
    CONTAINER_OF(stream, struct test_stream, stream)->closes++;
}

static inline struct test_stream *test_stream_new(struct world *w)
{
    struct test_stream *s = calloc(1, sizeof *s);

    assert_non_null(s);
    assert_true(w->streams_count < TEST_CALLS_MAX);
    buf_init(&s->text, TEST_TEXT_MAX);
    s->stream.pull = test_stream_pull;
    s->stream.close = test_stream_close;
    s->stream.held = test_stream_held;
    w->streams[w->streams_count++] = s;
    return s;
}

static inline void test_stream_add(struct test_stream *s, const char *text)
{
    buf_add_cstr(&s->text, text);
    s->stream.wake(&s->stream);
}

static inline void test_note_peer(struct world *w, const struct http_request *r)
{
    struct buf b = BUF_INIT(sizeof w->last_peer - 1);

    w->last_peer_is_invalid = r->peer_is_invalid;
    if (r->peer) {
        buf_add_cstr(&b, r->peer->common_name);
        for (size_t i = 0; r->peer->organizations[i]; i++)
            buf_addf(&b, "%s%s", i == 0 ? ": " : ", ", r->peer->organizations[i]);
    }
    (void)snprintf(w->last_peer, sizeof w->last_peer, "%s", buf_cstr(&b));
    buf_done(&b);
}

static inline void test_note_header(void *ctx, struct str name, struct str value)
{
    buf_addf(ctx, "%.*s=%.*s\n", STR_ARG(name), STR_ARG(value));
}

/* Requests whose path begins with /stranger come from nobody who is known. */
static inline bool test_client_is_known(const struct http_request *r)
{
    return !str_has_prefix(r->target, "/stranger");
}

static inline void test_answer(struct http_request *r, int status, const char *content_type, struct buf *body)
{
    http_answer(r, &(struct http_answer){ .status = status,
                                          .content_type = content_type,
                                          .body = body,
                                          .client_is_known = test_client_is_known(r) });
}

static inline void test_answer_stream(struct http_request *r, struct stream *s)
{
    http_answer(r, &(struct http_answer){ .status = 200,
                                          .content_type = "application/json",
                                          .stream = s,
                                          .client_is_known = test_client_is_known(r) });
}

static inline void test_answer_echo(struct http_request *r)
{
    static const char *const methods[] = { "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OTHER" };
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(TEST_TEXT_MAX);

    buf_addf(&body, "%s %.*s %zu %.*s", methods[r->method], STR_ARG(r->target), r->body.len,
             (int)(r->body.len < 100 ? r->body.len : 100), r->body.s);
    test_answer(r, r->body_is_too_large ? 413 : 200, "text/plain", &body);
}

static inline void test_answer_big(struct http_request *r, size_t len)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(TEST_TEXT_MAX);

    for (size_t i = 0; i < len / 16; i++)
        buf_addf(&body, "%015zu\n", i);
    test_answer(r, 200, "text/plain", &body);
}

static inline void test_answer_header(struct http_request *r, const char *name)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(TEST_TEXT_MAX);
    struct str value = http_request_header(r, name);

    buf_addf(&body, "%s", value.s ? "" : "none");
    buf_add_str(&body, value);
    test_answer(r, 200, "text/plain", &body);
}

static inline void test_answer_headers(struct http_request *r)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(TEST_TEXT_MAX);

    http_request_each_header(r, test_note_header, &body);
    test_answer(r, 200, "text/plain", &body);
}

static inline void test_answer_own_headers(struct http_request *r)
{
    static const struct http_header headers[] = { { "Cache-Control", "public" },
                                                  { "X-Bad", "a\nb: c" },
                                                  { "X-Good", "yes" } };

    http_answer(r, &(struct http_answer){ .status = 404,
                                          .content_type = "application/json",
                                          .headers = headers,
                                          .headers_count = ARRAY_LEN(headers),
                                          .client_is_known = true });
}

static inline void test_serve(void *ctx, struct http_request *r)
{
    struct world *w = ctx;

    w->served++;
    w->last_was_too_large = r->body_is_too_large;
    test_note_peer(w, r);
    buf_clear(&w->seen);
    buf_add_str(&w->seen, r->body);
    if (str_has_prefix(r->target, "/late")) {
        assert_true(w->late_count < TEST_CALLS_MAX);
        w->late[w->late_count++] = r;
        w->has_late = true;
    } else if (str_has_prefix(r->target, "/stream")) {
        test_answer_stream(r, &test_stream_new(w)->stream);
    } else if (str_has_prefix(r->target, "/endless")) {
        struct test_stream *s = test_stream_new(w);
        s->is_endless = true;
        s->held = 1000000;
        test_answer_stream(r, &s->stream);
    } else if (str_has_prefix(r->target, "/big")) {
        test_answer_big(r, (size_t)1 << 20);
    } else if (str_has_prefix(r->target, "/huge")) {
        test_answer_big(r, (size_t)32 << 20);
    } else if (str_has_prefix(r->target, "/headers")) {
        test_answer_headers(r);
    } else if (str_has_prefix(r->target, "/header/")) {
        test_answer_header(r, r->target.s + strlen("/header/"));
    } else if (str_has_prefix(r->target, "/own")) {
        test_answer_own_headers(r);
    } else {
        test_answer_echo(r);
    }
}

static inline struct world *world_new(struct http_options o, struct manual_clock *clock)
{
    struct world *w = calloc(1, sizeof *w);
    struct error err = { 0 };

    assert_non_null(w);
    w->clock = clock;
    w->loop = new_loop(clock ? &clock->clock : NULL);
    buf_init(&w->seen, TEST_TEXT_MAX);
    o.loop = w->loop;
    o.address = o.address ? o.address : "127.0.0.1:0";
    o.serve = test_serve;
    o.ctx = w;
    o.seed = (struct hash_seed){ 1, 2 };
    ASSERT_OK(http_new(&o, &w->http, &err));
    return w;
}

static inline struct world *world_free(struct world *w)
{
    w->http = http_free(w->http);
    for (size_t i = 0; i < w->streams_count; i++) {
        assert_int_equal(w->streams[i]->closes, 1);
        buf_done(&w->streams[i]->text);
        free(w->streams[i]);
    }
    loop_free(w->loop);
    buf_done(&w->seen);
    free(w);
    return NULL;
}
DEFINE_CLEANUP(struct world, world_free)

/* Clients */

/* With so much room for what it has yet to read; 0: what the kernel gives it. */
static inline int client_connect_with(const struct world *w, int room_bytes)
{
    const char *port = strrchr(http_address(w->http), ':') + 1;
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    a.sin_port = htons((uint16_t)strtoul(port, NULL, 10));
    assert_true(fd >= 0);
    if (room_bytes)
        assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room_bytes, sizeof room_bytes), 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

static inline int client_connect(const struct world *w)
{
    return client_connect_with(w, 0);
}

static inline void test_set_flag(void *ctx, unsigned events)
{
    (void)events;
    *(bool *)ctx = true;
}

/* Lets the server work until fd is ready. */
static inline void wait_for_fd(const struct world *w, int fd, unsigned events)
{
    struct error err = { 0 };
    struct fd_watch *watch = NULL;
    bool is_ready = false;

    ASSERT_OK(fd_watch_start(w->loop, fd, events, test_set_flag, &is_ready, &watch, &err));
    run_until(w->loop, &is_ready);
    (void)fd_watch_stop(watch);
}

static inline void client_send_bytes(const struct world *w, int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN) {
            wait_for_fd(w, fd, FD_WRITE);
            continue;
        }
        if (n < 0)
            return; /* the server has ended it: the test looks at what it has said */
        data += n;
        len -= (size_t)n;
    }
}

static inline void client_send(const struct world *w, int fd, const char *text)
{
    client_send_bytes(w, fd, text, strlen(text));
}

/* One read's worth into b; false at the end. */
static inline bool client_read(const struct world *w, int fd, struct buf *b)
{
    char data[65536];
    ssize_t n;

    while ((n = recv(fd, data, sizeof data, MSG_DONTWAIT)) < 0 && errno == EAGAIN)
        wait_for_fd(w, fd, FD_READ);
    if (n <= 0)
        return false;
    buf_add(b, data, (size_t)n);
    assert_int_equal(b->failed, ERR_NONE);
    return true;
}

/* Reads until the text holds `end`; fails the test when the connection ends before. */
static inline void client_read_until(const struct world *w, int fd, struct buf *b, const char *end)
{
    while (!b->data || !memmem(b->data, b->len, end, strlen(end)))
        if (!client_read(w, fd, b))
            fail_msg("the connection ended before '%s' came: '%s'", end, buf_cstr(b));
}

static inline void client_read_to_end(const struct world *w, int fd, struct buf *b)
{
    while (client_read(w, fd, b)) {
    }
}

/* The value of a header of the answer that b begins with; "" when there is none. */
static inline const char *answer_header(const struct buf *b, const char *name)
{
    static char values[4][256];
    static unsigned next;
    char *value = values[next++ % 4];
    struct str rest = buf_str(b);

    value[0] = '\0';
    while (rest.s) {
        struct str line = str_trim(str_next(&rest, '\n'));
        struct str key = str_next(&line, ':');
        if (key.len == 0)
            break;
        if (key.len == strlen(name) && strncasecmp(key.s, name, key.len) == 0 && line.s)
            (void)snprintf(value, sizeof values[0], "%.*s", STR_ARG(str_trim(line)));
    }
    return value;
}

static inline size_t answer_head_len(const struct buf *b)
{
    const char *at = b->data ? memmem(b->data, b->len, "\r\n\r\n", 4) : NULL;

    return at ? (size_t)(at - b->data) + 4 : 0;
}

/* One whole answer with a Content-Length into *b, which is emptied first; returns its status. What comes
 * behind it stays in *b, too: keep one request under way. */
static inline int client_read_answer(const struct world *w, int fd, struct buf *b)
{
    size_t head, len;

    buf_clear(b);
    client_read_until(w, fd, b, "\r\n\r\n");
    head = answer_head_len(b);
    len = strtoul(answer_header(b, "Content-Length"), NULL, 10);
    while (b->len < head + len)
        if (!client_read(w, fd, b))
            fail_msg("the connection ended within an answer");
    assert_true(str_has_prefix(buf_str(b), "HTTP/1.1 "));
    return (int)strtol(b->data + 9, NULL, 10);
}

static inline const char *answer_body(const struct buf *b)
{
    return buf_cstr(b) + answer_head_len(b);
}

/* One request and its answer on a connection; returns the status. */
static inline int client_ask(const struct world *w, int fd, struct buf *b, const char *request)
{
    client_send(w, fd, request);
    return client_read_answer(w, fd, b);
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: test\r\n\r\n"

/* Lets the server work until the condition holds. Use: AWAIT(w, http_connections(w->http) == 0); */
#define AWAIT(w, condition)                      \
    do {                                         \
        (void)signal(SIGALRM, test_on_deadline); \
        (void)alarm(TEST_DEADLINE_S);            \
        while (!(condition))                     \
            (void)loop_poll((w)->loop);          \
        (void)alarm(0);                          \
    } while (0)

#endif
