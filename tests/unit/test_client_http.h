/* What the tests of the HTTP carrier's client side share: a server on the same loop that says what the test
 * wants and notes what it was asked, sockets served by hand for peers that misbehave, and attempts. */
#ifndef BERTH_TESTS_TEST_CLIENT_HTTP_H
#define BERTH_TESTS_TEST_CLIENT_HTTP_H

#include "tests/unit/test_io.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "client/client.h"
#include "client/client_http.h"
#include "http/http.h"
#include "io/clock.h"
#include "io/poll.h"
#include "io/socket.h"

#define NET_TEXT_BYTES_MAX ((size_t)256 << 20)
#define NET_LATE_MAX 600

static struct error err;

/* A watch's answer, whose text the test supplies. */
struct net_stream {
    struct stream stream;
    struct buf text;
    size_t piece_bytes; /* at most this much a pull; 0: all */
    bool is_at_end;
    bool is_closed;
};

struct net {
    struct loop *loop;
    struct http *http;
    struct client_config config;
    struct manual_clock clock; /* of credentials */
    struct client_carrier *carrier;
    char server[200];
    struct http_client_options options;

    /* What the next requests are answered with. */
    int status;
    const char *body;
    const char *headers[8]; /* name, value, name, … */
    bool is_late;
    bool is_stream;

    struct buf seen; /* the last request: "METHOD target\nname=value\n…\nbody" */
    size_t served;
    struct http_request *late[NET_LATE_MAX];
    size_t late_count;
    struct net_stream stream;
    char peer[100];
};

/* --- The server --- */

static inline ssize_t net_pull(struct stream *stream, char *to, size_t room)
{
    struct net_stream *s = CONTAINER_OF(stream, struct net_stream, stream);
    size_t n = s->text.len < room ? s->text.len : room;

    if (s->piece_bytes && n > s->piece_bytes)
        n = s->piece_bytes;
    if (n == 0)
        return s->is_at_end ? -1 : 0;
    memcpy(to, s->text.data, n);
    memmove(s->text.data, s->text.data + n, s->text.len - n + 1);
    s->text.len -= n;
    return (ssize_t)n;
}

static inline void net_close(struct stream *stream)
{
    CONTAINER_OF(stream, struct net_stream, stream)->is_closed = true;
}

static inline void net_note_header(void *ctx, struct str name, struct str value)
{
    buf_addf(ctx, "%.*s=%.*s\n", STR_ARG(name), STR_ARG(value));
}

/* stream: NULL for the body. */
static inline void net_answer_with(struct net *n, struct http_request *r, struct stream *stream)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(NET_TEXT_BYTES_MAX);
    struct http_header headers[ARRAY_LEN(n->headers) / 2];
    size_t count = 0;

    for (size_t i = 0; n->headers[i]; i += 2)
        headers[count++] = (struct http_header){ n->headers[i], n->headers[i + 1] };
    buf_add_cstr(&body, n->body);
    http_answer(r, &(struct http_answer){ .status = stream ? 200 : n->status,
                                          .content_type = "application/json",
                                          .headers = headers,
                                          .headers_count = count,
                                          .body = &body,
                                          .stream = stream });
}

static inline void net_answer(struct net *n, struct http_request *r)
{
    net_answer_with(n, r, /* stream= */ NULL);
}

static inline void net_serve(void *ctx, struct http_request *r)
{
    static const char *const methods[] = { "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OTHER" };
    struct net *n = ctx;

    n->served++;
    buf_clear(&n->seen);
    buf_addf(&n->seen, "%s %.*s\n", methods[r->method], STR_ARG(r->target));
    http_request_each_header(r, net_note_header, &n->seen);
    buf_addf(&n->seen, "\n%.*s", STR_ARG(r->body));
    (void)snprintf(n->peer, sizeof n->peer, "%s", r->peer ? r->peer->common_name : "");
    if (n->is_late) {
        assert_true(n->late_count < NET_LATE_MAX);
        n->late[n->late_count++] = r;
    } else if (n->is_stream) {
        n->stream.is_closed = false;
        net_answer_with(n, r, &n->stream.stream);
    } else {
        net_answer(n, r);
    }
}

static inline void net_say(struct net *n, const char *text)
{
    buf_add_cstr(&n->stream.text, text);
    n->stream.stream.wake(&n->stream.stream);
}

/* --- A world with one client; a server only after net_listen() --- */

/* loop_clock: NULL for the system's. */
static inline struct net *net_new(const struct clock *loop_clock)
{
    struct net *n = calloc(1, sizeof *n);

    assert_non_null(n);
    assert_int_equal(unsetenv("http_proxy") | unsetenv("https_proxy") | unsetenv("HTTPS_PROXY") |
                         unsetenv("all_proxy") | unsetenv("ALL_PROXY"),
                     0);
    n->loop = new_loop(loop_clock);
    n->status = 200;
    n->body = "";
    buf_init(&n->seen, NET_TEXT_BYTES_MAX);
    buf_init(&n->stream.text, NET_TEXT_BYTES_MAX);
    n->stream.stream.pull = net_pull;
    n->stream.stream.close = net_close;
    manual_clock_init(&n->clock, NS_PER_S, 0);
    n->config.server = n->server;
    n->options =
        (struct http_client_options){ .loop = n->loop, .clock = &n->clock.clock, .config = &n->config };
    return n;
}

static inline void net_set_server(struct net *n, const char *address, const char *prefix)
{
    (void)snprintf(n->server, sizeof n->server, "%s://%s%s", n->config.is_tls ? "https" : "http", address,
                   prefix);
}

/* Options' loop, address and serve are set here. */
static inline void net_listen(struct net *n, struct http_options o)
{
    o.loop = n->loop;
    o.address = "127.0.0.1:0";
    o.serve = net_serve;
    o.ctx = n;
    ASSERT_OK(http_new(&o, &n->http, &err));
    n->config.is_tls = o.key_pem != NULL;
    net_set_server(n, http_address(n->http), "");
}

static inline void net_start_client(struct net *n)
{
    ASSERT_OK(http_client_new(&n->options, &n->carrier, &err));
}

static inline struct net *net_new_plain(void)
{
    struct net *n = net_new(NULL);

    net_listen(n, (struct http_options){ 0 });
    net_start_client(n);
    return n;
}

static inline struct net *net_free(struct net *n)
{
    if (n->carrier)
        n->carrier->type->free(n->carrier);
    n->http = http_free(n->http);
    loop_free(n->loop);
    buf_done(&n->seen);
    buf_done(&n->stream.text);
    free(n);
    return NULL;
}
DEFINE_CLEANUP(struct net, net_free)

#define AWAIT(net, condition)                    \
    do {                                         \
        (void)signal(SIGALRM, test_on_deadline); \
        (void)alarm(TEST_DEADLINE_S);            \
        while (!(condition))                     \
            loop_run_once((net)->loop);          \
        (void)alarm(0);                          \
    } while (0)

static inline bool net_saw(const struct net *n, const char *text)
{
    return strcasestr(buf_cstr(&n->seen), text) != NULL;
}

/* --- Attempts --- */

struct asked {
    struct client_attempt attempt;
    struct client_request q;
    struct net *net;
    struct client_answer answer; /* without what it borrowed */
    char object[64];             /* its name */
    char reason[64];             /* of the status */
    char text[256];
    struct buf told;          /* warnings and events, a line each */
    unsigned cancel_at_event; /* count from 1; 0: never */
    bool restarts;            /* when it cancels */
    unsigned events;
    unsigned ends;
    bool is_done;
};

static inline void ask_start(struct net *n, struct asked *a);

static inline void ask_on_event(struct client_attempt *attempt, const struct client_event *ev)
{
    static const char *const types[] = { "added", "modified", "deleted", "bookmark", "error", "unreadable" };
    struct asked *a = CONTAINER_OF(attempt, struct asked, attempt);

    a->events++;
    buf_addf(&a->told, "%s %s\n", types[ev->type], ev->object ? ev->object->name : ev->version);
    if (a->events == a->cancel_at_event) {
        a->net->carrier->type->cancel(a->net->carrier, attempt);
        a->is_done = true;
        if (a->restarts)
            a->net->carrier->type->start(a->net->carrier, attempt);
    }
}

static inline void ask_on_warning(struct client_attempt *attempt, struct str text)
{
    buf_addf(&CONTAINER_OF(attempt, struct asked, attempt)->told, "warning %.*s\n", STR_ARG(text));
}

static inline void ask_on_end(struct client_attempt *attempt, const struct client_answer *answer)
{
    struct asked *a = CONTAINER_OF(attempt, struct asked, attempt);

    a->answer = *answer;
    a->answer.status = NULL;
    a->answer.object = NULL;
    a->answer.list.items = NULL;
    a->ends++;
    a->is_done = true;
    (void)snprintf(a->object, sizeof a->object, "%s", answer->object ? answer->object->name : "");
    (void)snprintf(a->reason, sizeof a->reason, "%s", answer->status ? answer->status->reason : "");
    (void)snprintf(a->text, sizeof a->text, "%.*s", STR_ARG(answer->text));
}

static inline void ask_start(struct net *n, struct asked *a)
{
    a->net = n;
    a->attempt.request = &a->q;
    a->attempt.on_event = ask_on_event;
    a->attempt.on_end = ask_on_end;
    a->attempt.on_warning = ask_on_warning;
    buf_init(&a->told, NET_TEXT_BYTES_MAX);
    n->carrier->type->start(n->carrier, &a->attempt);
    assert_int_equal(a->ends, 0); /* never from inside */
}

static inline void ask_done(struct asked *a)
{
    buf_done(&a->told);
}

/* Sends it and waits for its end. */
static inline struct client_answer *ask(struct net *n, struct asked *a)
{
    ask_start(n, a);
    run_until(n->loop, &a->is_done);
    assert_int_equal(a->ends, 1);
    assert_int_equal(a->answer.r, -(int)a->answer.error.code);
    return &a->answer;
}

#define ASK_MAP(...)                                                          \
    {                                                                         \
        .q = {.kind = kind_info(KIND_CONFIG_MAP), .ns = "shop", __VA_ARGS__ } \
    }
#define ASK_RAW(p)                              \
    {                                           \
        .q = {.verb = CLIENT_RAW, .path = (p) } \
    }
#define MAP_TEXT(name) "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" name "\"}}"
#define EVENT_TEXT(type, name)                                                                       \
    "{\"type\":\"" type "\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{" \
    "\"name\":\"" name "\",\"resourceVersion\":\"5\"}}}\n"

/* --- Peers by hand --- */

struct hand {
    int listener;
    int fd;
    struct buf got;
};

static inline void hand_set_flag(void *ctx, unsigned events)
{
    (void)events;
    *(bool *)ctx = true;
}

static inline void wait_for_fd(struct net *n, int fd, unsigned events)
{
    struct fd_watch *watch = NULL;
    bool is_ready = false;

    ASSERT_OK(fd_watch_start(n->loop, fd, events, hand_set_flag, &is_ready, &watch, &err));
    run_until(n->loop, &is_ready);
    (void)fd_watch_stop(watch);
}

static inline void hand_init(struct hand *h, struct net *n)
{
    char address[SOCKET_ADDRESS_BYTES];

    *h = (struct hand){ .listener = -1, .fd = -1 };
    buf_init(&h->got, NET_TEXT_BYTES_MAX);
    ASSERT_OK(socket_listen("127.0.0.1:0", address, &h->listener, &err));
    net_set_server(n, address, "");
}

static inline void hand_done(struct hand *h)
{
    fd_closep(&h->fd);
    fd_closep(&h->listener);
    buf_done(&h->got);
}

static inline void hand_accept(struct hand *h, struct net *n)
{
    fd_closep(&h->fd);
    while ((h->fd = accept(h->listener, NULL, NULL)) < 0)
        wait_for_fd(n, h->listener, FD_READ);
    buf_clear(&h->got);
}

/* Reads until the text has come. */
static inline void hand_read(struct hand *h, struct net *n, const char *end)
{
    char data[65536];

    while (!h->got.data || !memmem(h->got.data, h->got.len, end, strlen(end))) {
        ssize_t len = recv(h->fd, data, sizeof data, MSG_DONTWAIT);
        if (len < 0 && errno == EAGAIN)
            wait_for_fd(n, h->fd, FD_READ);
        else if (len <= 0)
            fail_msg("the connection ended before '%s' came", end);
        else
            buf_add(&h->got, data, (size_t)len);
    }
}

static inline void hand_say(struct hand *h, const char *text)
{
    assert_int_equal(send(h->fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

static inline void hand_reset(struct hand *h)
{
    socket_abort(h->fd);
    fd_closep(&h->fd);
    h->fd = -1;
}

#endif
