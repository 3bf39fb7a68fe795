/* The HTTP server: requests and answers. */
#include "tests/unit/test_http.h"

TEST(addresses_are_told)
{
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);

    assert_true(str_has_prefix(str_of(http_address(w->http)), "127.0.0.1:"));
    assert_string_not_equal(http_address(w->http), "127.0.0.1:0");
}

TEST(a_taken_address_is_refused)
{
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);
    struct http_options o = {
        .loop = w->loop, .address = http_address(w->http), .serve = test_serve, .ctx = w
    };
    struct error err = { 0 };
    struct http *h = NULL;
    char expected[200];

    (void)snprintf(expected, sizeof expected, "cannot listen on %s: address already in use", o.address);
    ASSERT_ERR(ERR_BUSY, http_new(&o, &h, &err));
    ASSERT_STR(expected, err.msg);
    assert_null(h);
}

TEST(requests_come_as_they_were_sent)
{
    static const struct {
        const char *request;
        const char *echo;
    } rows[] = {
        { GET("/"), "GET / 0 " },
        { GET("/a/../b/./c//d/?x=1&x=2&y"), "GET /a/../b/./c//d/?x=1&x=2&y 0 " },
        { GET("/%2e%2e/%00%zz?a=%26+b"), "GET /%2e%2e/%00%zz?a=%26+b 0 " },
        { GET("http://test/absolute"), "GET http://test/absolute 0 " },
        { GET("*"), "GET * 0 " },
        { GET("/?"), "GET /? 0 " },
        { GET("/??a"), "GET /??a 0 " },
        { "POST /p HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n\r\nhello", "POST /p 5 hello" },
        { "PUT /p HTTP/1.1\r\nHost: t\r\nContent-Length: 0\r\n\r\n", "PUT /p 0 " },
        { "PATCH /p HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\n\r\n{}", "PATCH /p 2 {}" },
        { "DELETE /p HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\n\r\n{}", "DELETE /p 2 {}" },
        { "GET /p HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\n\r\n{}", "GET /p 2 {}" },
        { "OPTIONS /p HTTP/1.1\r\nHost: t\r\n\r\n", "OTHER /p 0 " },
        { "get /p HTTP/1.1\r\nHost: t\r\n\r\n", "OTHER /p 0 " },
        { "POST /p HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: "
          "chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n",
          "POST /p 5 abcde" },
        { "POST /p HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: Chunked\r\n\r\n1\r\na\r\n0\r\nTrailer: "
          "x\r\n\r\n",
          "POST /p 1 a" },
    };
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    _cleanup_(fd_closep) int fd = client_connect(w);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) { /* all on one connection */
        ASSERT_INT(200, client_ask(w, fd, &b, rows[i].request));
        ASSERT_STR(rows[i].echo, answer_body(&b));
        ASSERT_STR("text/plain", answer_header(&b, "Content-Type"));
        ASSERT_STR("no-cache, private", answer_header(&b, "Cache-Control"));
    }
    ASSERT_INT(1, http_connections(w->http));
}

TEST(requests_come_byte_by_byte)
{
    static const char request[] = "POST /p?q=%20 HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\n\r\nabc";
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    _cleanup_(fd_closep) int fd = client_connect(w);

    for (size_t i = 0; i < sizeof request - 1; i++) {
        client_send_bytes(w, fd, request + i, 1);
        (void)loop_poll(w->loop);
        (void)loop_poll(w->loop);
    }
    ASSERT_INT(200, client_read_answer(w, fd, &b));
    ASSERT_STR("POST /p?q=%20 3 abc", answer_body(&b));
}

TEST(requests_may_be_pipelined)
{
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    _cleanup_(fd_closep) int fd = client_connect(w);

    client_send(w, fd, GET("/1"));
    client_send(w, fd, GET("/late/2"));
    client_send(w, fd, GET("/3"));
    client_read_until(w, fd, &b, "GET /1 0 ");
    run_until(w->loop, &w->has_late);
    ASSERT_INT(2, w->served); /* the third waits for the second */
    test_answer_echo(w->late[0]);
    client_read_until(w, fd, &b, "GET /late/2 0 ");
    client_read_until(w, fd, &b, "GET /3 0 ");
}

TEST(headers_are_told)
{
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    _cleanup_(fd_closep) int fd = client_connect(w);

    ASSERT_INT(200,
               client_ask(w, fd, &b,
                          "GET /headers HTTP/1.1\r\nHost: t\r\nX-B: 1\r\nx-a:2 \r\nX-B: 3\r\nX-E:\r\n\r\n"));
    ASSERT_STR("Host=t\nX-B=1\nx-a=2\nX-B=3\nX-E=\n", answer_body(&b));
    ASSERT_INT(200, client_ask(w, fd, &b, "GET /header/x-b HTTP/1.1\r\nHost: t\r\nX-B: 1\r\nX-B: 3\r\n\r\n"));
    ASSERT_STR("1", answer_body(&b));
    ASSERT_INT(200, client_ask(w, fd, &b, "GET /header/x-b HTTP/1.1\r\nHost: t\r\nX-B:\r\n\r\n"));
    ASSERT_STR("", answer_body(&b));
    ASSERT_INT(200, client_ask(w, fd, &b, GET("/header/x-b")));
    ASSERT_STR("none", answer_body(&b));
}

TEST(answers_have_their_own_headers)
{
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    _cleanup_(fd_closep) int fd = client_connect(w);

    ASSERT_INT(404, client_ask(w, fd, &b, GET("/own")));
    ASSERT_STR("public", answer_header(&b, "Cache-Control"));
    ASSERT_STR("yes", answer_header(&b, "X-Good"));
    ASSERT_STR("", answer_header(&b, "X-Bad"));
    ASSERT_STR("0", answer_header(&b, "Content-Length"));
    ASSERT_STR("application/json", answer_header(&b, "Content-Type"));
}

TEST(heads_have_no_body)
{
    static const char *const paths[] = { "/x", "/big", "/stream", "/late" };
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);
    _cleanup_(fd_closep) int fd = client_connect(w);

    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
        char request[200];
        (void)snprintf(request, sizeof request,
                       "HEAD %s HTTP/1.1\r\nHost: t\r\nAccept-Encoding: gzip\r\n\r\n", paths[i]);
        client_send(w, fd, request);
        client_send(w, fd, GET("/after"));
        if (strcmp(paths[i], "/late") == 0) {
            run_until(w->loop, &w->has_late);
            test_answer_echo(w->late[0]);
        }
        client_read_until(w, fd, &b, "GET /after 0 ");
        /* Behind the first head comes the second answer and nothing else. */
        assert_true(str_has_prefix(str_of(answer_body(&b)), "HTTP/1.1 200 OK\r\n"));
    }
}

TEST(old_clients_are_served)
{
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    _cleanup_(fd_closep) int fd = client_connect(w);

    client_send(w, fd, "GET /old HTTP/1.0\r\n\r\n");
    client_read_to_end(w, fd, &b);
    ASSERT_STR("GET /old 0 ", answer_body(&b));
}

TEST(who_wants_to_close_is_let_go)
{
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    _cleanup_(fd_closep) int fd = client_connect(w);

    client_send(w, fd, "GET /x HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n");
    client_read_to_end(w, fd, &b);
    ASSERT_STR("close", answer_header(&b, "Connection"));
    ASSERT_STR("GET /x 0 ", answer_body(&b));
    AWAIT(w, http_connections(w->http) == 0);
}

TEST(late_answers_arrive)
{
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    int fds[20];

    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        char request[100];
        fds[i] = client_connect(w);
        (void)snprintf(request, sizeof request,
                       "PUT /late/%zu HTTP/1.1\r\nHost: t\r\nContent-Length: 1\r\n\r\nx", i);
        client_send(w, fds[i], request);
    }
    AWAIT(w, w->late_count == ARRAY_LEN(fds));
    for (size_t i = ARRAY_LEN(fds); i-- > 0;) {
        struct str value = http_request_header(w->late[i], "Content-Length");
        assert_true(str_is(value, "1")); /* headers last as long as the request */
        test_answer_echo(w->late[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        ASSERT_INT(200, client_read_answer(w, fds[i], &b));
        assert_true(str_has_prefix(str_of(answer_body(&b)), "PUT /late/"));
        ASSERT_INT(200, client_ask(w, fds[i], &b, GET("/again")));
        (void)close(fds[i]);
    }
}

TEST(an_answer_leaves_in_its_turn)
{
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);
    _cleanup_(fd_closep) int fd = client_connect(w);
    char data[4096];

    client_send(w, fd, GET("/late"));
    run_until(w->loop, &w->has_late);
    test_answer_echo(w->late[0]);
    (void)loop_poll(w->loop);
    assert_true(recv(fd, data, sizeof data, MSG_DONTWAIT) > 0);
}

TEST(a_client_may_leave_before_its_answer)
{
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);
    int fds[3];

    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        fds[i] = client_connect(w);
        client_send(w, fds[i], GET("/late"));
    }
    AWAIT(w, w->late_count == ARRAY_LEN(fds));
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        struct linger none = { .l_onoff = i == 1, .l_linger = 0 }; /* the second leaves with a reset */
        assert_int_equal(setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &none, sizeof none), 0);
        (void)close(fds[i]);
    }
    for (unsigned i = 0; i < 5; i++)
        (void)loop_poll(w->loop);
    assert_true(str_is(w->late[1]->target, "/late")); /* the request is untouched */
    test_answer_echo(w->late[0]);
    test_answer_echo(w->late[1]);
    test_answer_big(w->late[2], (size_t)4 << 20);
    AWAIT(w, http_connections(w->http) == 0);
}

TEST(requests_outlive_the_server)
{
    struct world *w = world_new((struct http_options){ 0 }, NULL);
    _cleanup_(fd_closep) int fd = client_connect(w);
    _cleanup_(fd_closep) int other = client_connect(w);
    _cleanup_(buf_done_p) struct buf headers = BUF_INIT(TEST_TEXT_MAX);
    struct http_request *r;

    client_send(w, fd, GET("/late"));
    client_send(w, other, GET("/late/stream"));
    AWAIT(w, w->late_count == 2);
    w->http = http_free(w->http);
    r = w->late[0];
    assert_null(http_request_header(r, "Host").s);
    http_request_each_header(r, test_note_header, &headers);
    ASSERT_INT(0, headers.len);
    test_answer_echo(r);
    test_answer_stream(w->late[1], &test_stream_new(w)->stream);
    world_free(w); /* looks whether the stream was closed */
}

TEST(freeing_ends_what_is_under_way)
{
    struct world *w = world_new((struct http_options){ 0 }, NULL);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    _cleanup_(fd_closep) int idle = client_connect(w);
    _cleanup_(fd_closep) int half = client_connect(w);
    _cleanup_(fd_closep) int stuck = client_connect(w);

    ASSERT_INT(200, client_ask(w, idle, &b, GET("/x")));
    client_send(w, half, "PUT /x HTTP/1.1\r\nHost: t\r\nContent-Length: 10\r\n\r\nabc");
    client_send(w, stuck, GET("/huge"));
    AWAIT(w, w->served == 2);
    ASSERT_INT(3, http_connections(w->http));
    world_free(w);
}

TEST(quiescing_lets_answers_out)
{
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    _cleanup_(fd_closep) int idle = client_connect(w);
    _cleanup_(fd_closep) int busy = client_connect(w);
    char address[SOCKET_ADDRESS_BYTES];
    struct error err = { 0 };
    int fd = -1;

    ASSERT_INT(200, client_ask(w, idle, &b, GET("/x")));
    client_send(w, busy, GET("/late"));
    run_until(w->loop, &w->has_late);
    http_quiesce(w->http);
    http_quiesce(w->http); /* once more does nothing */
    buf_clear(&b);
    client_read_to_end(w, idle, &b);
    ASSERT_INT(0, b.len);
    AWAIT(w, http_connections(w->http) == 1);
    ASSERT_OK(socket_listen(http_address(w->http), address, &fd, &err)); /* the address is free */
    (void)close(fd);
    test_answer_echo(w->late[0]);
    client_read_to_end(w, busy, &b);
    ASSERT_STR("close", answer_header(&b, "Connection"));
    ASSERT_STR("GET /late 0 ", answer_body(&b));
    AWAIT(w, http_connections(w->http) == 0);
}

TEST(many_connections_of_one_client_wait_their_turn)
{
    _cleanup_(world_free_p) struct world *w = world_new((struct http_options){ 0 }, NULL);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    int fds[24];

    /* A mebibyte each takes more than the client's time in a turn: the later ones are queued, none is lost.
     */
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        fds[i] = client_connect(w);
        client_send(w, fds[i], GET("/big"));
    }
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        ASSERT_INT(200, client_read_answer(w, fds[i], &b));
        ASSERT_INT((size_t)1 << 20, strlen(answer_body(&b)));
        (void)close(fds[i]);
    }
    ASSERT_INT(ARRAY_LEN(fds), w->served);
}

TEST(freeing_forgets_who_waits)
{
    struct world *w = world_new((struct http_options){ 0 }, NULL);
    int fds[64];

    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        fds[i] = client_connect(w);
        client_send(w, fds[i], GET("/big"));
    }
    while (w->served == 0)
        (void)loop_poll(w->loop);
    world_free(w);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        (void)close(fds[i]);
}

TEST_MAIN()
