/* The HTTP server: what is too large, too slow, too many or not HTTP. */
#include "tests/unit/test_http.h"

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>

#define MIB ((size_t)1 << 20)
#define FDS_LOOKED_AT 256
/* So little that the last piece fits whole: of a larger one the kernel sends a part when it looks again. */
#define NARROW_BYTES 4096

static void fill(struct buf *b, size_t len)
{
    char *at = buf_grow(b, len);

    assert_non_null(at);
    memset(at, 'x', len);
}

static void send_body(const struct world *w, int fd, const char *method, size_t len)
{
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(128 * MIB);

    buf_addf(&b, "%s /p HTTP/1.1\r\nHost: t\r\nContent-Length: %zu\r\n\r\n", method, len);
    fill(&b, len);
    client_send_bytes(w, fd, b.data, b.len);
}

TEST(the_largest_body_is_served)
{
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    _cleanup_(fd_closep) int fd = client_connect(w);

    send_body(w, fd, "POST", HTTP_BODY_BYTES_MAX);
    ASSERT_INT(200, client_read_answer(w, fd, &b));
    assert_false(w->last_was_too_large);
    ASSERT_INT(HTTP_BODY_BYTES_MAX, w->seen.len);
    ASSERT_INT(200, client_ask(w, fd, &b, GET("/after")));
}

TEST(one_byte_more_is_too_large)
{
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    _cleanup_(fd_closep) int fd = client_connect(w);

    send_body(w, fd, "PATCH", HTTP_BODY_BYTES_MAX + 1);
    client_read_to_end(w, fd, &b);
    assert_true(str_has_prefix(buf_str(&b), "HTTP/1.1 413 "));
    ASSERT_STR("close", answer_header(&b, "Connection"));
    ASSERT_STR("PATCH /p 0 ", answer_body(&b));
    assert_true(w->last_was_too_large);
}

static void send_chunks(const struct world *w, int fd, size_t total, size_t each)
{
    _cleanup_(buf_done_p) struct buf chunk = BUF_INIT(8 * MIB);

    client_send(w, fd, "POST /p HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n");
    buf_addf(&chunk, "%zx\r\n", each);
    fill(&chunk, each);
    buf_add_cstr(&chunk, "\r\n");
    for (size_t sent = 0; sent < total; sent += each)
        client_send_bytes(w, fd, chunk.data, chunk.len);
    client_send(w, fd, "0\r\n\r\n");
}

TEST(chunked_bodies_have_the_same_limit)
{
    static const struct {
        size_t total;
        bool is_too_large;
    } rows[] = { { HTTP_BODY_BYTES_MAX, false }, { HTTP_BODY_BYTES_MAX + MIB / 4, true } };
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
        _cleanup_(fd_closep) int fd = client_connect(w);
        send_chunks(w, fd, rows[i].total, MIB / 4);
        ASSERT_INT(rows[i].is_too_large ? 413 : 200, client_read_answer(w, fd, &b));
        ASSERT_INT(rows[i].is_too_large ? 0 : rows[i].total, w->seen.len);
    }
}

TEST(a_body_without_end_is_not_read_for_ever)
{
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    _cleanup_(fd_closep) int fd = client_connect(w);

    send_chunks(w, fd, HTTP_DROP_BYTES_MAX + 4 * MIB, 4 * MIB);
    client_read_to_end(w, fd, &b);
    ASSERT_INT(0, b.len);
    ASSERT_INT(0, w->served);
    AWAIT(w, http_connections(w->http) == 0);
}

TEST(hopeless_bodies_are_refused_before_they_are_sent)
{
    static const char *const rows[] = {
        "POST /p HTTP/1.1\r\nHost: t\r\nContent-Length: 3145729\r\nExpect: 100-continue\r\n\r\n",
        "POST /p HTTP/1.1\r\nHost: t\r\nContent-Length: 99999999999\r\n\r\n",
        "POST /late HTTP/1.1\r\nHost: t\r\nContent-Length: 99999999999\r\n\r\nxxxxxx",
    };
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
        _cleanup_(fd_closep) int fd = client_connect(w);
        client_send(w, fd, rows[i]);
        if (i == 2) {
            run_until(w->loop, &w->has_late);
            test_answer_echo(w->late[0]);
        }
        client_read_to_end(w, fd, &b);
        assert_true(str_has_prefix(buf_str(&b), "HTTP/1.1 413 "));
        ASSERT_STR("close", answer_header(&b, "Connection"));
    }
}

TEST(expectations_are_met)
{
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    _cleanup_(fd_closep) int fd = client_connect(w);

    client_send(w, fd, "POST /p HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    client_read_until(w, fd, &b, "\r\n\r\n");
    ASSERT_STR("HTTP/1.1 100 Continue\r\n\r\n", buf_cstr(&b));
    ASSERT_INT(0, w->served);
    ASSERT_INT(200, client_ask(w, fd, &b, "{}"));
    ASSERT_STR("POST /p 2 {}", answer_body(&b));
}

TEST(what_is_not_http_is_refused)
{
    static const struct {
        const char *request;
        int status; /* 0: the connection just ends */
    } rows[] = {
        { "GET /a b HTTP/1.1\r\nHost: t\r\n\r\n", 400 },
        { "GET /a\tb HTTP/1.1\r\nHost: t\r\n\r\n", 400 },
        { "GET /a\x01 HTTP/1.1\r\nHost: t\r\n\r\n", 400 },
        { "GET / HTTP/1.1\r\n\r\n", 400 },
        { "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400 },
        { "GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n", 400 },
        { "GET / HTTP/1.1\r\nHost: a\r\nX-A : b\r\n\r\n", 400 },
        { "GET / HTTP/1.1\r\nHost: a\r\nX\"A: b\r\n\r\n", 400 },
        { "GET / HTTP/9.9\r\nHost: a\r\n\r\n", 505 },
        { "GET / HTTP/1.1x\r\nHost: a\r\n\r\n", 400 },
        { "GET /\r\nHost: a\r\n\r\n", 400 },
        { "GET / FTP/1.1\r\nHost: a\r\n\r\n", 400 },
        { "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400 },
        { "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nab", 400 },
        { "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
          400 },
        { "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: "
          "chunked\r\n\r\n0\r\n\r\n",
          400 },
        { "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501 },
        { "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n", 501 },
        { "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400 },
        { "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x10\r\n\r\n", 400 },
        { "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \r\n\r\n", 400 },
        { "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n", 413 },
        { "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400 },
        { "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", 400 },
        { "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", 413 },
        { "GARBAGE\r\n\r\n", 0 },
        { "\x16\x03\x01\x02\x01\x01\x01\xfc\x03\x03\r\n\r\n", 0 }, /* TLS, to the wrong port */
    };
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
        _cleanup_(fd_closep) int fd = client_connect(w);
        char expected[30];

        client_send(w, fd, rows[i].request);
        client_read_to_end(w, fd, &b);
        (void)snprintf(expected, sizeof expected, "HTTP/1.1 %d ", rows[i].status);
        if (rows[i].status ? !str_has_prefix(buf_str(&b), expected) : b.len > 0)
            fail_msg("'%s': expected %d, answered '%s'", rows[i].request, rows[i].status, buf_cstr(&b));
    }
    ASSERT_INT(0, w->served);
    AWAIT(w, http_connections(w->http) == 0);
}

TEST(a_nul_does_not_hide_the_rest)
{
    static const char request[] = "GET /a\0b HTTP/1.1\r\nHost: t\r\n\r\n";
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    _cleanup_(fd_closep) int fd = client_connect(w);

    client_send_bytes(w, fd, request, sizeof request - 1);
    client_read_to_end(w, fd, &b);
    assert_true(str_has_prefix(buf_str(&b), "HTTP/1.1 400 "));
    ASSERT_INT(0, w->served);
}

/* What the library accepts and a proxy may read differently. Each row once as the first request of a
 * connection, and once behind another one. */
TEST(heads_that_can_be_read_in_two_ways_are_refused)
{
#define ROW(literal)                 \
    {                                \
        literal, sizeof(literal) - 1 \
    }
    static const struct {
        const char *request;
        size_t len;
    } rows[] = {
        ROW("GET / HTTP/1.1\nHost: t\n\n"),
        ROW("GET / HTTP/1.1\nHost: t\r\n\r\n"),
        ROW("GET / HTTP/1.1\r\nHost: t\n\r\n"),
        ROW("GET / HTTP/1.1\r\nHost: t\r\n\n"),
        ROW("GET / HTTP/1.1\r\nHost: t\r\nX-A: b\nX-B: c\r\n\r\n"),
        ROW("GET / HTTP/1.1\r\nHost: t\n\n"),
        ROW("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 2\n\r\nab"),
        ROW("GET / HTTP/1.0\r\n\n"),
        ROW("GET / HTTP/1.1\r\nHost: t\r\nX-A: b\r\n c\r\n\r\n"),
        ROW("GET / HTTP/1.1\r\nHost: t\r\nX-A: b\r\n\tc\r\nX-B: d\r\n\r\n"),
        ROW("GET / HTTP/1.1\r\nHost: t\r\nX-A: b\r\n \r\n\r\n"),
        ROW("GET / HTTP/1.1\r\nHost: t\r\nX-A: b\r\n c\r\n d\r\n\r\n"),
        ROW("GET / HTTP/1.1\r\nHost:\r\n t\r\n\r\n"),
        ROW("GET / HTTP/1.1\r\nHost: t\r\nX-A: b\0c\r\n\r\n"),
        ROW("GET / HTTP/1.1\r\nHost: t\0\r\n\r\n"),
        ROW("GET / HTTP/1.1\r\nHost: t\r\nX-A: b\0\0X-B: c\r\n\r\n"),
        ROW("GET / HTTP/1.1\r\nHost: t\r\nX-A: b\n\0X-B: c\r\n\r\n"),
        ROW("GET / HTTP/1.1\r\nHost: t\r\nX-A: b\0\0\0\0\r\n\r\n"),
        ROW("GET / HTTP/1.1\r\nHost: t\r\nX-A\0B: c\r\n\r\n"),
        ROW("GET / HTTP/1.1\0\r\nHost: t\r\n\r\n"),
        ROW("GET / HTTP/1.1\r\nHost: t\r\nX-A: b\rX-B: c\r\n\r\n"),
        ROW("GET / HTTP/1.1\r\nHost: t\r\nX-A: b\r\r\n\r\n"),
        ROW("GET / HTTP/1.1\r\nHost: t\r\nX-A: b\x7f\r\n\r\n"),
        ROW("GET / HTTP/1.1\r\nHost: t\r\nX-A: b\x1b[2J\r\n\r\n"),
    };
#undef ROW
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);

    for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
        _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
        _cleanup_(fd_closep) int fd = client_connect(w);
        size_t served = i % 2;

        w->served = 0;
        if (served)
            ASSERT_INT(200, client_ask(w, fd, &b, GET("/before?a=b&c")));
        buf_clear(&b);
        client_send_bytes(w, fd, rows[i / 2].request, rows[i / 2].len);
        client_read_to_end(w, fd, &b);
        if (!str_has_prefix(buf_str(&b), "HTTP/1.1 400 ") || w->served != served)
            fail_msg("row %zu: answered '%s', served %zu", i / 2, buf_cstr(&b), w->served);
    }
    AWAIT(w, http_connections(w->http) == 0);
}

TEST(unusual_heads_that_are_clear_are_served)
{
    static const char *const rows[] = {
        "GET /?a=b&c=%20 HTTP/1.1\r\nHost: t\r\n\r\n",
        "GET / HTTP/1.0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost:t\r\nX-A: \t b c\t \r\nX-B:\r\nX-C:   \r\nX-B: \xc3\xa4\xff:\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: t\r\nCookie: a=b; c; d=\"e;f\r\nCookie: g=h\r\n\r\n",
        "\r\nGET / HTTP/1.1\r\nHost: t\r\n\r\n",
    };
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
        _cleanup_(fd_closep) int fd = client_connect(w);

        client_send(w, fd, rows[i]);
        client_read_until(w, fd, &b, "\r\n");
        if (!str_has_prefix(buf_str(&b), "HTTP/1.1 200 "))
            fail_msg("'%s': answered '%s'", rows[i], buf_cstr(&b));
    }
}

/* "GET /" and `path_len` bytes more, and a header of value_len bytes. */
static void send_long(const struct world *w, int fd, size_t path_len, size_t value_len)
{
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(16 * MIB);

    buf_add_cstr(&b, "GET /");
    fill(&b, path_len);
    buf_add_cstr(&b, " HTTP/1.1\r\nHost: t\r\nX-Long: ");
    fill(&b, value_len);
    buf_add_cstr(&b, "\r\n\r\n");
    client_send_bytes(w, fd, b.data, b.len);
}

TEST(long_heads_are_served_and_longer_ones_refused)
{
    static const struct {
        size_t path_len;
        size_t value_len;
        const char *answer;
    } rows[] = {
        { 20000, 1000, "HTTP/1.1 200 " },
        { 1000, 20000, "HTTP/1.1 200 " },
        { HTTP_TARGET_BYTES_MAX, 0, "HTTP/1.1 414 " },
        { 2 * HTTP_MEMORY_BYTES, 0, "HTTP/1.1 414 " },
        { 0, 2 * HTTP_MEMORY_BYTES, "HTTP/1.1 431 " },
        { 60000, 60000, "HTTP/1.1 431 " },
    };
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
        _cleanup_(fd_closep) int fd = client_connect(w);
        send_long(w, fd, rows[i].path_len, rows[i].value_len);
        client_read_until(w, fd, &b, "\r\n");
        if (!str_has_prefix(buf_str(&b), rows[i].answer))
            fail_msg("%zu %zu: %.40s", rows[i].path_len, rows[i].value_len, buf_cstr(&b));
    }
}

TEST(the_memory_can_be_chosen)
{
    _cleanup_(world_free_p) struct world *w =
        world_new((struct http_options){ .memory_bytes = 4 * HTTP_MEMORY_BYTES }, NULL);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    _cleanup_(fd_closep) int fd = client_connect(w);

    send_long(w, fd, 60000, 200000);
    ASSERT_INT(200, client_read_answer(w, fd, &b));
}

TEST(many_small_things_in_a_head_are_no_trouble)
{
    static const struct {
        const char *begin;
        const char *repeat;
        const char *end;
        int status;
    } rows[] = {
        { "GET /?", "&", " HTTP/1.1\r\nHost: t\r\n\r\n", 200 },
        { "GET /?", "a&", " HTTP/1.1\r\nHost: t\r\n\r\n", 200 },
        { "GET / HTTP/1.1\r\nHost: t\r\n", "a:\r\n", "\r\n", 431 },
        { "GET / HTTP/1.1\r\nHost: t\r\nCookie: ", "a;", "\r\n\r\n", 431 },
        { "GET / HTTP/1.1\r\nHost: t\r\nX-A: b\r\n", " c\r\n", "\r\n", 431 },
    };
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(buf_done_p) struct buf request = BUF_INIT(MIB);
        _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
        _cleanup_(fd_closep) int fd = client_connect(w);
        char expected[30];

        buf_add_cstr(&request, rows[i].begin);
        while (request.len < 60000)
            buf_add_cstr(&request, rows[i].repeat);
        buf_add_cstr(&request, rows[i].end);
        client_send(w, fd, buf_cstr(&request));
        (void)snprintf(expected, sizeof expected, "HTTP/1.1 %d ", rows[i].status);
        client_read_until(w, fd, &b, "\r\n\r\n");
        if (!str_has_prefix(buf_str(&b), expected))
            fail_msg("row %zu: expected %d, answered '%.60s'", i, rows[i].status, buf_cstr(&b));
    }
}

/* Time */

static void pass(struct world *w, uint64_t ms)
{
    loop_advance(w->loop, w->clock, ms * NS_PER_MS);
}

static struct world *world_limited(struct http_options o, struct manual_clock *clock)
{
    manual_clock_init(clock, NS_PER_S, 0);
    return world_new(o, clock);
}

static struct world *world_with_clock(struct manual_clock *clock)
{
    return world_limited((struct http_options){ 0 }, clock);
}

TEST(a_request_must_come_to_its_end)
{
    static const char *const begun[] = {
        "",
        "GE",
        "GET / HTTP/1.1\r\n",
        "GET / HTTP/1.1\r\nHost: t\r\nX-",
        "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\n\r\nab",
        "POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n",
    };

    for (size_t i = 0; i < ARRAY_LEN(begun); i++) {
        struct manual_clock clock;
        _cleanup_(world_free_p) struct world *w = world_with_clock(&clock);
        _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
        _cleanup_(fd_closep) int fd = client_connect(w);

        AWAIT(w, http_connections(w->http) == 1);
        pass(w, HTTP_STRANGER_MS_MAX - 1000);
        client_send(w, fd, begun[i]); /* what comes in between changes nothing */
        pass(w, 999);
        ASSERT_INT(1, http_connections(w->http));
        pass(w, 1);
        AWAIT(w, http_connections(w->http) == 0);
        client_read_to_end(w, fd, &b);
        ASSERT_INT(0, w->served);
    }
}

/* The library takes the arguments behind a NUL for its own, runs out of memory over them, and then waits for
 * nothing: it is the deadline that ends it. */
TEST(even_a_connection_that_hangs_ends)
{
    struct manual_clock clock;
    _cleanup_(world_free_p) struct world *w = world_with_clock(&clock);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    _cleanup_(fd_closep) int fd = client_connect(w);

    buf_add_cstr(&b, GET("/late"));
    buf_add_cstr(&b, GET("/late"));
    buf_add_cstr(&b, "GET /");
    buf_add_char(&b, '\0');
    buf_add_char(&b, '?');
    while (b.len < 15000)
        buf_add_cstr(&b, "a&");
    buf_add_cstr(&b, " HTTP/1.1\r\nHost: t\r\n\r\n");
    client_send_bytes(w, fd, b.data, b.len);
    run_until(w->loop, &w->has_late);
    test_answer_echo(w->late[0]);
    AWAIT(w, w->late_count == 2);
    test_answer_echo(w->late[1]);
    for (unsigned i = 0; i < 20; i++)
        (void)loop_poll(w->loop);
    ASSERT_INT(1, http_connections(w->http));
    pass(w, HTTP_REQUEST_MS_MAX);
    AWAIT(w, (pass(w, 1), http_connections(w->http) == 0));
    ASSERT_INT(2, w->served);
}

TEST(further_requests_have_their_own_time)
{
    struct manual_clock clock;
    _cleanup_(world_free_p) struct world *w = world_with_clock(&clock);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    _cleanup_(fd_closep) int fd = client_connect(w);

    ASSERT_INT(200, client_ask(w, fd, &b, GET("/1")));
    pass(w, HTTP_REQUEST_MS_MAX * 2); /* idle */
    ASSERT_INT(200, client_ask(w, fd, &b, GET("/2")));
    pass(w, HTTP_REQUEST_MS_MAX * 2);
    client_send(w, fd, "GET /3 HTTP/1.1\r\n");
    pass(w, 0);
    pass(w, HTTP_REQUEST_MS_MAX - 1);
    ASSERT_INT(1, http_connections(w->http));
    pass(w, 1);
    AWAIT(w, http_connections(w->http) == 0);
}

TEST(idle_connections_end)
{
    struct manual_clock clock;
    _cleanup_(world_free_p) struct world *w = world_with_clock(&clock);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    _cleanup_(fd_closep) int fd = client_connect(w);

    ASSERT_INT(200, client_ask(w, fd, &b, GET("/1")));
    pass(w, HTTP_IDLE_MS_MAX - 1000);
    client_send(w, fd, "G"); /* a byte now and then does not help */
    pass(w, 999);
    ASSERT_INT(1, http_connections(w->http));
    pass(w, 1);
    AWAIT(w, http_connections(w->http) == 0);
}

TEST(the_server_may_take_its_time)
{
    struct manual_clock clock;
    _cleanup_(world_free_p) struct world *w = world_with_clock(&clock);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    _cleanup_(fd_closep) int late = client_connect(w);
    _cleanup_(fd_closep) int stream = client_connect(w);

    client_send(w, late, GET("/late"));
    client_send(w, stream, GET("/stream"));
    AWAIT(w, w->served == 2);
    pass(w, HTTP_IDLE_MS_MAX * 10);
    ASSERT_INT(2, http_connections(w->http));
    test_answer_echo(w->late[0]);
    ASSERT_INT(200, client_read_answer(w, late, &b));
    test_stream_add(w->streams[0], "event");
    client_read_until(w, stream, &b, "event\r\n");
}

/* The server's end of a client's connection. */
static int served_end_of(int client)
{
    struct sockaddr_storage own = { 0 }, peer = { 0 };
    socklen_t own_bytes = sizeof own, peer_bytes = sizeof peer;

    assert_int_equal(getsockname(client, (struct sockaddr *)&own, &own_bytes), 0);
    for (int fd = 0; fd < FDS_LOOKED_AT; fd++, peer_bytes = sizeof peer)
        if (getpeername(fd, (struct sockaddr *)&peer, &peer_bytes) == 0 && peer_bytes == own_bytes &&
            memcmp(&own, &peer, own_bytes) == 0)
            return fd;
    fail_msg("no connection is that of the client");
    return -1;
}

/* It takes no more, and of what it has nothing is under way: its kernel confirms nothing more either. */
static bool has_stalled(int fd)
{
    struct pollfd look = { .fd = fd, .events = POLLOUT };
    int unsent = 0, unconfirmed = 0;

    return poll(&look, 1, 0) == 0 && ioctl(fd, SIOCOUTQNSD, &unsent) == 0 &&
           ioctl(fd, SIOCOUTQ, &unconfirmed) == 0 && unsent > 0 && unsent == unconfirmed;
}

/* The kernel's buffers are full: nothing is pulled or sent any more. */
static void let_it_stall(struct world *w, int client)
{
    int fd = served_end_of(client);

    AWAIT(w, has_stalled(fd));
}

TEST(who_does_not_read_its_answer_is_cut)
{
    static const char *const requests[] = {
        GET("/huge"), GET("/endless"), "GET /huge HTTP/1.1\r\nHost: t\r\nAccept-Encoding: gzip\r\n\r\n"
    };

    for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
        struct manual_clock clock;
        _cleanup_(world_free_p) struct world *w = world_with_clock(&clock);
        _cleanup_(fd_closep) int fd = client_connect(w);

        client_send(w, fd, requests[i]);
        AWAIT(w, w->served == 1);
        let_it_stall(w, fd);
        pass(w, HTTP_UNREAD_MS_MAX - 1);
        ASSERT_INT(1, http_connections(w->http));
        for (unsigned n = 0; n < 3; n++) /* it is looked at now and then */
            pass(w, HTTP_UNREAD_MS_MAX / 3 + 1);
        AWAIT(w, http_connections(w->http) == 0);
    }
}

/* A client that takes a little now and then gets the whole answer, whatever time that takes. */
TEST(who_reads_slowly_gets_its_answer)
{
    struct manual_clock clock;
    _cleanup_(world_free_p) struct world *w = world_with_clock(&clock);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    _cleanup_(fd_closep) int fd = client_connect(w);

    client_send(w, fd, GET("/huge"));
    AWAIT(w, w->served == 1);
    for (unsigned i = 0; i < 20; i++) {
        for (unsigned n = 0; n < 12; n++) /* so much that the kernel makes room */
            assert_true(client_read(w, fd, &b));
        for (unsigned n = 0; n < 10; n++)
            (void)loop_poll(w->loop);
        pass(w, HTTP_UNREAD_MS_MAX / 2);
    }
    while (b.len < ((size_t)32 << 20) + answer_head_len(&b))
        assert_true(client_read(w, fd, &b));
    ASSERT_STR("000000002097151\n", b.data + b.len - 16);
}

/* Of answers that nobody reads so much is held and no more: the oldest go. Who reads loses nothing. */
TEST(unread_answers_are_bounded_in_all)
{
    enum { UNREAD = 20, ALLOWED = 8 };
    struct manual_clock clock; /* in time the server looks who has read something, which changes the order */
    _cleanup_(world_free_p) struct world *w =
        world_limited((struct http_options){ .held_bytes_max = (size_t)(ALLOWED + 1) << 20 }, &clock);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    _cleanup_(fd_closep) int reader = client_connect(w);
    int fds[UNREAD];

    client_send(w, reader, GET("/late"));
    run_until(w->loop, &w->has_late);
    for (size_t i = 0; i < UNREAD; i++) {
        fds[i] = client_connect_with(w, NARROW_BYTES);
        client_send(w, fds[i], GET("/endless"));
        AWAIT(w, w->streams_count == i + 1);
        let_it_stall(w, fds[i]);
    }
    AWAIT(w, http_connections(w->http) <= ALLOWED + 2);
    for (size_t i = 0; i < UNREAD; i++)
        ASSERT_INT(i < UNREAD - ALLOWED - 1, w->streams[i]->closes);
    test_answer_big(w->late[0], (size_t)1 << 20);
    ASSERT_INT(200, client_read_answer(w, reader, &b));
    ASSERT_INT(200, client_ask(w, reader, &b, GET("/after")));
    for (size_t i = 0; i < UNREAD; i++)
        (void)close(fds[i]);
}

TEST(a_stream_that_fails_does_not_look_complete)
{
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    _cleanup_(fd_closep) int fd = client_connect(w);

    client_send(w, fd, GET("/stream"));
    client_read_until(w, fd, &b, "\r\n\r\n");
    w->streams[0]->fails = true;
    test_stream_add(w->streams[0], "part");
    client_read_to_end(w, fd, &b);
    assert_non_null(strstr(b.data, "4\r\npart\r\n"));
    assert_null(strstr(b.data, "0\r\n\r\n"));
    AWAIT(w, w->streams[0]->closes == 1);
}

/* Number */

static bool is_ended(int fd)
{
    char data[4096];
    ssize_t n;

    while ((n = recv(fd, data, sizeof data, MSG_DONTWAIT)) > 0) {
    }
    return n == 0 || errno != EAGAIN;
}

/* Of 16 connections two may be strangers'. Whoever comes gets in, and the oldest stranger gives way. */
TEST(strangers_beyond_their_share_give_way)
{
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ .connections_max = 16 }, NULL);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    _cleanup_(fd_closep) int known = client_connect(w);
    int fds[8];

    ASSERT_INT(200, client_ask(w, known, &b, GET("/x")));
    ASSERT_INT(0, http_strangers(w->http));
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        fds[i] = client_connect(w);
        AWAIT(w, http_strangers(w->http) > 0);
        if (i % 3 == 1)
            ASSERT_INT(200, client_ask(w, fds[i], &b, GET("/stranger"))); /* changes nothing */
        else if (i % 3 == 2)
            client_send(w, fds[i], "GET /x HTTP/1.1\r\n");
        AWAIT(w, i < 2 || is_ended(fds[i - 2]));
        assert_true(http_strangers(w->http) <= 2);
        assert_false(is_ended(fds[i]));
        assert_true(i == 0 || !is_ended(fds[i - 1]));
    }
    ASSERT_INT(200, client_ask(w, known, &b, GET("/x")));
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        (void)close(fds[i]);
}

TEST(a_stranger_whose_request_is_served_stays)
{
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ .connections_max = 16 }, NULL);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    _cleanup_(fd_closep) int served = client_connect(w);
    int fds[6];

    client_send(w, served, GET("/late"));
    run_until(w->loop, &w->has_late);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        fds[i] = client_connect(w);
        for (unsigned n = 0; n < 20; n++)
            (void)loop_poll(w->loop);
    }
    test_answer_echo(w->late[0]);
    ASSERT_INT(200, client_read_answer(w, served, &b));
    ASSERT_INT(200, client_ask(w, served, &b, GET("/x"))); /* it is known by now */
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        (void)close(fds[i]);
}

/* Known clients beyond their limit are served from the strangers' share. */
TEST(connections_beyond_the_limit_give_way)
{
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ .connections_max = 3 }, NULL);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    int fds[5];

    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        fds[i] = client_connect(w);
        ASSERT_INT(200, client_ask(w, fds[i], &b, GET("/x")));
        for (unsigned n = 0; n < 20; n++)
            (void)loop_poll(w->loop);
        for (size_t n = 0; n <= i; n++)
            ASSERT_INT(n >= 2 && n < i, is_ended(fds[n]));
    }
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        (void)close(fds[i]);
}

TEST(idle_strangers_end_soon)
{
    struct manual_clock clock;
    _cleanup_(world_free_p) struct world *w = world_with_clock(&clock);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    _cleanup_(fd_closep) int fd = client_connect(w);

    ASSERT_INT(200, client_ask(w, fd, &b, GET("/stranger")));
    pass(w, HTTP_STRANGER_MS_MAX - 1);
    ASSERT_INT(1, http_connections(w->http));
    pass(w, 1);
    AWAIT(w, http_connections(w->http) == 0);
}

TEST_MAIN()
