/* The HTTP server: answers without an end known beforehand, and compressed ones. */
#include "tests/unit/test_http.h"

#include <zlib.h>

/* A client whose stream has begun: the head of the answer is in b. */
static int stream_open(struct world *w, struct buf *b)
{
    int fd = client_connect(w);

    client_send(w, fd, GET("/stream"));
    client_read_until(w, fd, b, "\r\n\r\n");
    ASSERT_INT(answer_head_len(b), b->len);
    ASSERT_STR("chunked", answer_header(b, "Transfer-Encoding"));
    ASSERT_STR("application/json", answer_header(b, "Content-Type"));
    buf_clear(b);
    return fd;
}

TEST(the_head_does_not_wait_for_an_event)
{
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);
    _cleanup_(fd_closep) int fd = client_connect(w);
    char data[4096];
    ssize_t n;

    client_send(w, fd, GET("/stream"));
    wait_for_fd(w, fd, FD_READ);
    n = recv(fd, data, sizeof data, MSG_DONTWAIT);
    assert_true(n > 4);
    assert_memory_equal(data + n - 4, "\r\n\r\n", 4);
}

TEST(events_go_out_one_by_one)
{
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    _cleanup_(fd_closep) int fd = stream_open(w, &b);
    struct test_stream *s = w->streams[0];

    for (unsigned i = 0; i < 5; i++) {
        char event[20], chunk[40];
        (void)snprintf(event, sizeof event, "event %u\n", i);
        (void)snprintf(chunk, sizeof chunk, "8\r\n%s\r\n", event);
        test_stream_add(s, event);
        client_read_until(w, fd, &b, chunk);
        ASSERT_STR(chunk, buf_cstr(&b));
        buf_clear(&b);
    }
    assert_true(s->pulls <= 11); /* one for each event, and one each that finds nothing */
    s->is_at_end = true;
    s->stream.wake(&s->stream);
    client_read_until(w, fd, &b, "0\r\n\r\n");
    ASSERT_STR("0\r\n\r\n", buf_cstr(&b));
    AWAIT(w, s->closes == 1);
    ASSERT_INT(200, client_ask(w, fd, &b, GET("/after"))); /* the connection lives on */
}

TEST(an_event_leaves_in_its_turn)
{
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    _cleanup_(fd_closep) int fd = stream_open(w, &b);
    char data[100];

    test_stream_add(w->streams[0], "x");
    (void)loop_poll(w->loop);
    ASSERT_INT(6, recv(fd, data, sizeof data, MSG_DONTWAIT));
}

TEST(waking_is_not_pulling)
{
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    _cleanup_(fd_closep) int fd = stream_open(w, &b);
    struct test_stream *s = w->streams[0];
    unsigned pulls = s->pulls;

    for (unsigned i = 0; i < 10; i++)
        test_stream_add(s, "x");
    ASSERT_INT(pulls, s->pulls);
    client_read_until(w, fd, &b, "\r\nxxxxxxxxxx\r\n");
    s->stream.wake(&s->stream); /* for nothing */
    for (unsigned i = 0; i < 3; i++)
        (void)loop_poll(w->loop);
    test_stream_add(s, "y");
    client_read_until(w, fd, &b, "y\r\n");
}

TEST(late_streams_may_be_woken_before_the_first_pull)
{
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    _cleanup_(fd_closep) int fd = client_connect(w);
    struct test_stream *s = test_stream_new(w);

    client_send(w, fd, GET("/late"));
    run_until(w->loop, &w->has_late);
    test_answer_stream(w->late[0], &s->stream);
    test_stream_add(s, "early");
    ASSERT_INT(0, s->pulls);
    client_read_until(w, fd, &b, "\r\n\r\n5\r\nearly\r\n");
    test_stream_add(s, "later");
    client_read_until(w, fd, &b, "5\r\nlater\r\n");
}

TEST(a_stream_may_wake_itself_while_it_is_pulled)
{
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    _cleanup_(fd_closep) int fd = stream_open(w, &b);
    struct test_stream *s = w->streams[0];

    s->wakes_itself = true;
    test_stream_add(s, "x");
    client_read_until(w, fd, &b, "1\r\nx\r\n");
}

TEST(long_events_come_in_pieces)
{
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    _cleanup_(fd_closep) int fd = client_connect(w);
    struct test_stream *s = test_stream_new(w);

    client_send(w, fd, "GET /late HTTP/1.0\r\n\r\n"); /* without chunks the text is as it was */
    run_until(w->loop, &w->has_late);
    for (unsigned i = 0; i < 200000; i++)
        buf_addf(&s->text, "%09u\n", i);
    s->piece_bytes = 5000;
    s->is_at_end = true;
    test_answer_stream(w->late[0], &s->stream);
    client_read_to_end(w, fd, &b);
    ASSERT_INT(2000000, strlen(answer_body(&b)));
    ASSERT_STR("000199999\n", answer_body(&b) + 2000000 - 10);
    AWAIT(w, s->closes == 1);
}

TEST(a_client_that_leaves_is_noticed)
{
    enum { CLOSES, HALF_CLOSES, RESETS, WAYS };

    for (int way = 0; way < WAYS; way++) {
        _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);
        _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
        struct linger none = { .l_onoff = way == RESETS, .l_linger = 0 };
        int fd = stream_open(w, &b);
        struct test_stream *s = w->streams[0];
        unsigned pulls = s->pulls;

        assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none), 0);
        if (way == HALF_CLOSES)
            assert_int_equal(shutdown(fd, SHUT_WR), 0);
        else
            (void)close(fd);
        AWAIT(w, s->closes == 1); /* without any event */
        ASSERT_INT(pulls, s->pulls);
        AWAIT(w, http_connections(w->http) == 0);
        if (way == HALF_CLOSES)
            (void)close(fd);
    }
}

TEST(an_idle_stream_is_cut)
{
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    _cleanup_(fd_closep) int fd = stream_open(w, &b);
    struct test_stream *s = w->streams[0];
    unsigned pulls = s->pulls;

    s->stream.cut(&s->stream);
    s->stream.wake(&s->stream); /* may still be called */
    s->stream.cut(&s->stream);
    ASSERT_INT(0, s->closes);
    AWAIT(w, s->closes == 1);
    ASSERT_INT(pulls, s->pulls);
    client_read_to_end(w, fd, &b);
    ASSERT_INT(0, b.len); /* no last chunk: the client knows that it was cut */
}

TEST(a_client_that_does_not_read_is_cut)
{
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);
    _cleanup_(fd_closep) int fd = client_connect(w);
    struct test_stream *s;
    unsigned pulls;

    client_send(w, fd, GET("/endless"));
    do { /* until the kernel's buffers are full */
        pulls = w->streams_count ? w->streams[0]->pulls : 0;
        for (unsigned i = 0; i < 10; i++)
            (void)loop_poll(w->loop);
    } while (pulls == 0 || w->streams[0]->pulls > pulls);
    s = w->streams[0];
    s->stream.wake(&s->stream);
    (void)loop_poll(w->loop);
    ASSERT_INT(pulls, s->pulls);
    ASSERT_INT(0, s->closes);
    s->stream.cut(&s->stream);
    AWAIT(w, s->closes == 1);
    AWAIT(w, http_connections(w->http) == 0);
}

TEST(a_stream_cut_at_once_is_closed)
{
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);
    _cleanup_(fd_closep) int fd = client_connect(w);
    struct test_stream *s = test_stream_new(w);

    client_send(w, fd, GET("/late"));
    run_until(w->loop, &w->has_late);
    test_answer_stream(w->late[0], &s->stream);
    s->stream.cut(&s->stream);
    AWAIT(w, s->closes == 1);
    ASSERT_INT(0, s->pulls);
}

TEST(many_streams_get_their_own)
{
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    int fds[200];

    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        fds[i] = stream_open(w, &b);
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = round; i < ARRAY_LEN(fds); i += 1 + round) {
            char event[20];
            (void)snprintf(event, sizeof event, "<%zu.%zu>", round, i);
            test_stream_add(w->streams[i], event);
        }
        for (size_t i = round; i < ARRAY_LEN(fds); i += 1 + round) {
            char event[20];
            (void)snprintf(event, sizeof event, "<%zu.%zu>\r\n", round, i);
            buf_clear(&b);
            client_read_until(w, fds[i], &b, event);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(fds); i += 2)
        (void)close(fds[i]);
    AWAIT(w, http_connections(w->http) == ARRAY_LEN(fds) / 2);
    for (size_t i = 1; i < ARRAY_LEN(fds); i += 2)
        (void)close(fds[i]);
}

/* Compressed answers */

static void unpack(const char *packed, size_t len, struct buf *ret)
{
    z_stream s = { 0 };
    char to[65536];
    int r = Z_OK;

    assert_int_equal(inflateInit2(&s, 15 + 16), Z_OK);
    s.next_in = (Bytef *)(uintptr_t)packed;
    s.avail_in = (unsigned)len;
    while (r == Z_OK) {
        s.next_out = (Bytef *)to;
        s.avail_out = sizeof to;
        r = inflate(&s, Z_NO_FLUSH);
        buf_add(ret, to, sizeof to - s.avail_out);
    }
    assert_int_equal(r, Z_STREAM_END);
    assert_int_equal(inflateEnd(&s), Z_OK);
}

TEST(long_answers_are_compressed_for_who_wants)
{
    static const struct {
        const char *request;
        bool is_packed;
        const char *vary;
    } rows[] = {
        { "GET /big HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n", true, "Accept-Encoding" },
        { "GET /big HTTP/1.0\r\nAccept-Encoding: deflate, gzip;q=0.1\r\n\r\n", true, "Accept-Encoding" },
        { "GET /big HTTP/1.0\r\nAccept-Encoding: gzip;q=0\r\n\r\n", false, "Accept-Encoding" },
        { "GET /big HTTP/1.0\r\n\r\n", false, "Accept-Encoding" },
        { "GET /small HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n", false, "" },
    };
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
        _cleanup_(buf_done_p) struct buf text = BUF_INIT(TEST_TEXT_MAX);
        _cleanup_(fd_closep) int fd = client_connect(w);

        client_send(w, fd, rows[i].request);
        client_read_to_end(w, fd, &b);
        ASSERT_STR(rows[i].vary, answer_header(&b, "Vary"));
        ASSERT_STR(rows[i].is_packed ? "gzip" : "", answer_header(&b, "Content-Encoding"));
        if (!rows[i].is_packed)
            continue;
        assert_true(b.len < 300000);
        unpack(answer_body(&b), b.len - answer_head_len(&b), &text);
        ASSERT_INT((size_t)1 << 20, text.len);
        ASSERT_STR("000000000065535\n", text.data + text.len - 16);
    }
}

TEST(compressed_answers_keep_the_connection)
{
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    _cleanup_(fd_closep) int fd = client_connect(w);

    client_send(w, fd, "GET /big HTTP/1.1\r\nHost: t\r\nAccept-Encoding: gzip\r\n\r\n");
    client_read_until(w, fd, &b, "\r\n0\r\n\r\n");
    ASSERT_STR("chunked", answer_header(&b, "Transfer-Encoding"));
    ASSERT_STR("gzip", answer_header(&b, "Content-Encoding"));
    ASSERT_INT(200, client_ask(w, fd, &b, GET("/after")));
}

TEST(a_client_may_leave_a_compressed_answer)
{
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    int fd = client_connect(w);

    client_send(w, fd, "GET /huge HTTP/1.1\r\nHost: t\r\nAccept-Encoding: gzip\r\n\r\n");
    client_read_until(w, fd, &b, "\r\n\r\n");
    (void)close(fd);
    AWAIT(w, http_connections(w->http) == 0);
}

TEST_MAIN()
