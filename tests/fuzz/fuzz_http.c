/* Any bytes to the HTTP server, over a real connection: what reaches the handler is clean, every request is
 * answered, and the connection comes to its end with the client's.
 *
 * The first byte tells in how many pieces the rest is sent, and whether requests are answered late. NULs are
 * sent as ones: behind a NUL in a request line the library may wait for its time limit, which nobody here has
 * time for (tests/unit/test_http_limits.c has). */
#include "tests/fuzz/fuzz.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/vec.h"
#include "http/http.h"

#define INPUT_BYTES_MAX 8192
#define ANSWER_BYTES_MAX ((size_t)1 << 20)
#define TURNS_TO_ANSWER 2
#define TURNS_MAX 100000

static struct loop *loop;
static struct http *http;
static bool are_late;
static VEC(struct http_request *) late;

static void check_request(const struct http_request *r)
{
    FUZZ_CHECK(r->target.len > 0 && r->target.s[r->target.len] == '\0');
    for (size_t i = 0; i < r->target.len; i++)
        FUZZ_CHECK((unsigned char)r->target.s[i] > ' ');
    FUZZ_CHECK(r->body.len <= HTTP_BODY_BYTES_MAX);
    FUZZ_CHECK(!r->body_is_too_large || r->body.len == 0);
    FUZZ_CHECK(!r->peer && !r->peer_is_invalid);
}

static void note_header(void *ctx, struct str name, struct str value)
{
    struct buf *body = ctx;

    FUZZ_CHECK(name.len > 0);
    for (size_t i = 0; i < value.len; i++)
        FUZZ_CHECK((unsigned char)value.s[i] >= ' ' || value.s[i] == '\t');
    buf_add_str(body, name);
    buf_add_str(body, value);
}

static void answer(struct http_request *r)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(ANSWER_BYTES_MAX);

    http_request_each_header(r, note_header, &body);
    (void)http_request_header(r, "accept-encoding");
    http_answer(r, &(struct http_answer){ .status = 200, .content_type = "text/plain", .body = &body });
}

static void serve(void *ctx, struct http_request *r)
{
    (void)ctx;
    check_request(r);
    if (!are_late || vec_push(&late, r) < 0)
        answer(r);
}

static void start(void)
{
    struct http_options o = { .address = "127.0.0.1:0",
                              .serve = serve,
                              .memory_bytes = 4096 }; /* easily used up */
    struct error err;

    FUZZ_CHECK(loop_new(NULL, &loop, &err) == 0);
    o.loop = loop;
    FUZZ_CHECK(http_new(&o, &http, &err) == 0);
}

static void stop(void)
{
    http = http_free(http);
    loop = loop_free(loop);
    vec_done(&late);
}

static int connect_client(void)
{
    const char *port = strrchr(http_address(http), ':') + 1;
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct linger none = { .l_onoff = 1 }; /* thousands of runs must not use up the ports */
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    a.sin_port = htons((uint16_t)strtoul(port, NULL, 10));
    FUZZ_CHECK(fd >= 0);
    FUZZ_CHECK(connect(fd, (const struct sockaddr *)&a, sizeof a) == 0);
    FUZZ_CHECK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none) == 0);
    return fd;
}

static void run_turn(void)
{
    (void)loop_poll(loop);
    for (size_t i = 0; i < late.count; i++)
        answer(late.items[i]);
    vec_clear(&late);
}

static void drain(int fd)
{
    char data[4096];

    while (recv(fd, data, sizeof data, MSG_DONTWAIT) > 0) {
    }
}

static void send_piece(int fd, const uint8_t *data, size_t len)
{
    char text[INPUT_BYTES_MAX] = { 0 };

    FUZZ_CHECK(len <= sizeof text);
    for (size_t i = 0; i < len; i++)
        text[i] = (char)(data[i] ? data[i] : 1);
    (void)!send(fd, text, len, MSG_NOSIGNAL | MSG_DONTWAIT); /* the connection may have been refused by now */
    run_turn();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned how = size ? data[0] : 0;
    size_t piece = 1 + size / (1 + (how & 3));
    unsigned turns = 0;
    int fd;

    if (size > INPUT_BYTES_MAX)
        return 0;
    if (!http) {
        start();
        (void)atexit(stop);
    }
    are_late = how & 0x80;
    fd = connect_client();
    while (http_connections(http) == 0)
        run_turn();
    for (size_t at = 1; at < size; at += piece)
        send_piece(fd, data + at, size - at < piece ? size - at : piece);
    for (unsigned i = 0; i < TURNS_TO_ANSWER; i++) {
        drain(fd);
        run_turn();
    }
    (void)close(fd);
    while (http_connections(http) > 0) {
        run_turn();
        FUZZ_CHECK(++turns < TURNS_MAX);
    }
    return 0;
}
