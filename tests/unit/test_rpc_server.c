/* The gRPC server: answers now and later, how calls end before their answer, limits, and clients that send
 * what is not gRPC or not HTTP/2. Its peers are the client of src/rpc, and raw bytes. */
#include "tests/unit/test_rpc.h"

#include "io/socket.h"
#include "rpc/message.h"
#include "rpc/rpc_server.h"
#include <rpc/proto/csi.pb-c.h>

#define HELD_MAX 300
#define MANY 200
#define LONG_NAME \
    "a-directory-whose-name-alone-leaves-no-room-for-a-name-of-a-socket-in-the-address-of-a-socket"

/* --- The methods: a name in, a name out --- */

struct service {
    struct rpc_bench b;
    struct rpc_server *server;
    char path[TEST_PATH_BYTES + 2 * sizeof LONG_NAME];
    struct rpc_served *held[HELD_MAX];
    unsigned held_count;
    unsigned cancelled;
    unsigned served;
};

static void answer_name(struct rpc_served *c, const char *name)
{
    Csi__V1__GetPluginInfoResponse answer;

    csi__v1__get_plugin_info_response__init(&answer);
    answer.name = (char *)(uintptr_t)name;
    rpc_served_answer(c, &answer.base);
}

static void serve_echo(void *ctx, struct rpc_served *c, const ProtobufCMessage *request)
{
    struct service *x = ctx;

    x->served++;
    answer_name(c, ((const Csi__V1__DeleteVolumeRequest *)request)->volume_id);
}

/* "CODE WORDS" */
static void serve_fail(void *ctx, struct rpc_served *c, const ProtobufCMessage *request)
{
    const char *text = ((const Csi__V1__DeleteVolumeRequest *)request)->volume_id;
    unsigned code = 0;
    int at = 0;

    (void)ctx;
    assert_int_equal(sscanf(text, "%u %n", &code, &at), 1);
    rpc_served_fail(c, (enum rpc_code)code, text + at);
}

static void hold_on_cancelled(void *owner)
{
    struct service *x = owner;

    x->cancelled++;
}

static void serve_hold(void *ctx, struct rpc_served *c, const ProtobufCMessage *request)
{
    struct service *x = ctx;

    (void)request;
    assert_true(x->held_count < HELD_MAX);
    x->held[x->held_count++] = c;
    rpc_served_defer(c, hold_on_cancelled, x);
}

static void serve_huge(void *ctx, struct rpc_served *c, const ProtobufCMessage *request)
{
    _cleanup_(freep) char *name = malloc(RPC_MESSAGE_BYTES_MAX + 1);

    (void)ctx;
    (void)request;
    assert_non_null(name);
    memset(name, 'x', RPC_MESSAGE_BYTES_MAX);
    name[RPC_MESSAGE_BYTES_MAX] = '\0';
    answer_name(c, name);
}

#define TEST_METHOD(title, fn)                                      \
    {                                                               \
        "/t.T/" title, &csi__v1__delete_volume_request__descriptor, \
            &csi__v1__get_plugin_info_response__descriptor, fn      \
    }
static const struct rpc_method methods[] = {
    TEST_METHOD("Echo", serve_echo),
    TEST_METHOD("Fail", serve_fail),
    TEST_METHOD("Hold", serve_hold),
    TEST_METHOD("Huge", serve_huge),
};

static int service_listen(struct service *x, const struct rpc_server_options *limits, const char *path)
{
    struct rpc_server_options o = limits ? *limits : (struct rpc_server_options){ 0 };

    o.loop = x->b.loop;
    o.path = path;
    o.methods = methods;
    o.methods_count = ARRAY_LEN(methods);
    o.ctx = x;
    return rpc_server_new(&o, &x->server, &err);
}

static void service_init(struct service *x, const struct rpc_server_options *limits)
{
    memset(x, 0, sizeof *x);
    rpc_bench_init(&x->b);
    (void)snprintf(x->path, sizeof x->path, "%s", in_dir(&x->b.d, "s"));
    ASSERT_OK(service_listen(x, limits, x->path));
}

static void service_done(struct service *x)
{
    (void)alarm(0);
    x->server = rpc_server_free(x->server);
    rpc_bench_done(&x->b);
}

/* --- Calls of the client --- */

static void start_named(struct service *x, struct test_call *t, const char *method, const char *name)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(RPC_MESSAGE_BYTES_MAX);
    Csi__V1__DeleteVolumeRequest request;

    csi__v1__delete_volume_request__init(&request);
    request.volume_id = (char *)(uintptr_t)name;
    ASSERT_OK(rpc_message_pack(&request.base, &text, &err));
    test_call_start(&x->b, t, x->path, method, buf_str(&text), LIMIT_NS);
}

static int ask_named(struct service *x, struct test_call *t, const char *method, const char *name)
{
    start_named(x, t, method, name);
    return test_call_await(&x->b, t);
}

static void assert_named(const struct test_call *t, const char *name)
{
    ProtobufCMessage *m =
        rpc_message_read(&csi__v1__get_plugin_info_response__descriptor, buf_str(&t->answer));

    assert_non_null(m);
    ASSERT_STR(name, ((const Csi__V1__GetPluginInfoResponse *)m)->name);
    rpc_message_free(&m);
}

static void assert_echo(struct service *x, const char *name)
{
    struct test_call t;

    ASSERT_OK(ask_named(x, &t, "/t.T/Echo", name));
    assert_named(&t, name);
    test_call_done(&t);
}

/* Ends a test that waits for too long; run_until() has a limit of its own. */
static void limit_waits(void)
{
    (void)signal(SIGALRM, test_on_deadline);
    (void)alarm(TEST_DEADLINE_S);
}

static void await_count(struct service *x, const unsigned *count, unsigned wanted)
{
    limit_waits();
    while (*count < wanted)
        loop_run_once(x->b.loop);
    ASSERT_INT(wanted, *count);
}

/* --- Raw clients --- */

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define END_STREAM 1U

static void raw_frame(struct buf *b, unsigned type, unsigned flags, unsigned stream, const void *data,
                      size_t len)
{
    const char head[] = { (char)(len >> 16),   (char)(len >> 8), (char)len, (char)type, (char)flags, 0, 0, 0,
                          (char)(stream & 255) };

    buf_add(b, head, sizeof head);
    buf_add(b, data, len);
}

static void raw_begin(struct buf *b)
{
    *b = BUF_INIT(8 << 20);
    buf_add_cstr(b, PREFACE);
    raw_frame(b, NGHTTP2_SETTINGS, 0, 0, "", 0);
}

struct raw_head {
    const char *method; /* NULL: POST */
    const char *path;   /* NULL: Echo */
    const char *type;   /* NULL: application/grpc */
    const char *timeout;
    unsigned floods; /* fields of 1,000 bytes */
};

static void raw_field(struct buf *b, const char *name, const char *value)
{
    assert_true(strlen(name) < 127 && strlen(value) < 127);
    buf_add_char(b, 0); /* a literal that is not indexed */
    buf_add_char(b, (char)strlen(name));
    buf_add_cstr(b, name);
    buf_add_char(b, (char)strlen(value));
    buf_add_cstr(b, value);
}

static void raw_flood(struct buf *b)
{
    char value[1000];

    memset(value, 'x', sizeof value);
    buf_add(b, "\0\1x\177\351\6", 6); /* 127 + 0x69 + (6 << 7) = 1,000 */
    buf_add(b, value, sizeof value);
}

static void raw_headers(struct buf *b, const struct raw_head *h, unsigned stream, unsigned flags)
{
    _cleanup_(buf_done_p) struct buf block = BUF_INIT(1 << 20);
    const size_t piece = 16000;

    raw_field(&block, ":method", h->method ? h->method : "POST");
    raw_field(&block, ":scheme", "http");
    raw_field(&block, ":path", h->path ? h->path : "/t.T/Echo");
    raw_field(&block, ":authority", "localhost");
    raw_field(&block, "content-type", h->type ? h->type : "application/grpc");
    raw_field(&block, "te", "trailers");
    if (h->timeout)
        raw_field(&block, "grpc-timeout", h->timeout);
    for (unsigned i = 0; i < h->floods; i++)
        raw_flood(&block);
    for (size_t at = 0; at < block.len; at += piece) {
        size_t left = block.len - at;
        unsigned last = left <= piece ? NGHTTP2_FLAG_END_HEADERS : 0;

        raw_frame(b, at == 0 ? NGHTTP2_HEADERS : NGHTTP2_CONTINUATION, (at == 0 ? flags : 0) | last, stream,
                  block.data + at, left < piece ? left : piece);
    }
}

struct raw_answer {
    bool is_closed;
    unsigned http_status;
    int grpc_status; /* -1: none */
    int goaway;      /* -1: none */
    int reset;       /* -1: none */
};

static void raw_read_field(struct raw_answer *a, const nghttp2_nv *nv)
{
    struct str name = { (const char *)nv->name, nv->namelen };
    struct str value = { (const char *)nv->value, nv->valuelen };
    uint64_t number = 0;

    (void)str_to_uint64(value, &number);
    if (str_is(name, ":status"))
        a->http_status = (unsigned)number;
    if (str_is(name, "grpc-status"))
        a->grpc_status = (int)number;
}

static void raw_read_block(struct raw_answer *a, nghttp2_hd_inflater *inflater, const uint8_t *data,
                           size_t len)
{
    int flags = 0;

    while (!(flags & NGHTTP2_HD_INFLATE_FINAL)) {
        nghttp2_nv nv;
        ssize_t n = nghttp2_hd_inflate_hd2(inflater, &nv, &flags, data, len, 1);

        assert_true(n >= 0);
        data += n;
        len -= (size_t)n;
        if (flags & NGHTTP2_HD_INFLATE_EMIT)
            raw_read_field(a, &nv);
    }
    (void)nghttp2_hd_inflate_end_headers(inflater);
}

/* What all frames say together. */
static struct raw_answer raw_read(const struct buf *in)
{
    struct raw_answer a = { .grpc_status = -1, .goaway = -1, .reset = -1 };
    nghttp2_hd_inflater *inflater = NULL;
    size_t at = 0;

    assert_int_equal(nghttp2_hd_inflate_new(&inflater), 0);
    while (in->len - at >= 9) {
        const uint8_t *f = (const uint8_t *)in->data + at;
        size_t len = (size_t)f[0] << 16 | (size_t)f[1] << 8 | f[2];

        if (in->len - at < 9 + len)
            break;
        if (f[3] == NGHTTP2_HEADERS)
            raw_read_block(&a, inflater, f + 9, len);
        if (f[3] == NGHTTP2_GOAWAY)
            a.goaway = f[9 + 7];
        if (f[3] == NGHTTP2_RST_STREAM)
            a.reset = f[9 + 3];
        at += 9 + len;
    }
    nghttp2_hd_inflate_del(inflater);
    return a;
}

struct raw_client {
    int fd;
    struct buf in;
    bool is_closed;
};

static void raw_connect(struct service *x, struct raw_client *c)
{
    limit_waits();
    *c = (struct raw_client){ .fd = -1, .in = BUF_INIT(8 << 20) };
    ASSERT_OK(socket_connect_unix(x->path, &c->fd, &err));
}

static void raw_close(struct raw_client *c)
{
    fd_closep(&c->fd);
    c->fd = -1;
    buf_done(&c->in);
}

/* A turn of the loop, then what has arrived. */
static struct raw_answer raw_turn(struct service *x, struct raw_client *c)
{
    struct raw_answer a;
    char data[4096];
    ssize_t n;

    (void)loop_poll(x->b.loop);
    while ((n = recv(c->fd, data, sizeof data, MSG_DONTWAIT)) > 0)
        buf_add(&c->in, data, (size_t)n);
    c->is_closed |= n == 0 || errno == ECONNRESET;
    a = raw_read(&c->in);
    a.is_closed = c->is_closed;
    return a;
}

static void raw_send(struct service *x, struct raw_client *c, struct str bytes)
{
    while (bytes.len > 0 && !c->is_closed) {
        ssize_t n = send(c->fd, bytes.s, bytes.len, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n > 0) {
            bytes.s += n;
            bytes.len -= (size_t)n;
        }
        (void)raw_turn(x, c);
    }
}

/* --- Answers --- */

TEST(call_is_answered)
{
    _cleanup_(service_done) struct service x;
    struct test_call t;

    service_init(&x, NULL);
    assert_echo(&x, "pvc-1");
    assert_echo(&x, "");
    ASSERT_INT(1, rpc_server_connections(x.server));
    ASSERT_ERR(ERR_UNSUPPORTED, ask_named(&x, &t, "/t.T/None", ""));
    ASSERT_INT(RPC_UNIMPLEMENTED, t.code);
    assert_false(t.is_own);
    test_call_done(&t);
    ASSERT_ERR(ERR_NOT_FOUND, ask_named(&x, &t, "/t.T/Fail", "5 100% of \xc3\xa4\n is gone"));
    ASSERT_STR("rpc error: code = NotFound desc = 100% of \xc3\xa4\n is gone", err.msg);
    test_call_done(&t);
}

TEST(large_messages_go_both_ways)
{
    _cleanup_(service_done) struct service x;
    _cleanup_(freep) char *name = malloc(RPC_SERVER_REQUEST_BYTES_MAX + 1);
    struct test_call t;

    assert_non_null(name);
    memset(name, 'n', RPC_SERVER_REQUEST_BYTES_MAX);
    name[RPC_SERVER_REQUEST_BYTES_MAX] = '\0';
    service_init(&x, NULL);
    ASSERT_ERR(ERR_UNCERTAIN, ask_named(&x, &t, "/t.T/Echo", name));
    ASSERT_INT(RPC_RESOURCE_EXHAUSTED, t.code);
    assert_false(t.is_own);
    test_call_done(&t);
    name[RPC_SERVER_REQUEST_BYTES_MAX - 8] = '\0';
    assert_echo(&x, name);
    ASSERT_ERR(ERR_UNCERTAIN, ask_named(&x, &t, "/t.T/Huge", ""));
    ASSERT_INT(RPC_RESOURCE_EXHAUSTED, t.code);
    assert_false(t.is_own);
    test_call_done(&t);
}

TEST(answers_come_later_in_any_order)
{
    static struct test_call calls[MANY];
    _cleanup_(service_done) struct service x;
    char text[16];

    service_init(&x, NULL);
    for (unsigned i = 0; i < MANY; i++)
        start_named(&x, &calls[i], "/t.T/Hold", "");
    await_count(&x, &x.held_count, MANY);
    assert_echo(&x, "between");
    for (unsigned i = MANY; i > 0; i--) {
        (void)snprintf(text, sizeof text, "%u", i - 1);
        answer_name(x.held[i - 1], text);
    }
    for (unsigned i = 0; i < MANY; i++) {
        ASSERT_OK(test_call_await(&x.b, &calls[i]));
        (void)snprintf(text, sizeof text, "%u", i);
        assert_named(&calls[i], text);
        test_call_done(&calls[i]);
    }
    ASSERT_INT(0, x.cancelled);
}

/* --- Cancelled calls --- */

TEST(handler_is_told_when_its_client_cancels_or_is_gone)
{
    _cleanup_(service_done) struct service x;
    struct test_call t, other;

    service_init(&x, NULL);
    start_named(&x, &t, "/t.T/Hold", "");
    start_named(&x, &other, "/t.T/Hold", "");
    await_count(&x, &x.held_count, 2);
    rpc_call_cancel(&t.call);
    await_count(&x, &x.cancelled, 1);
    answer_name(x.held[1], "still there");
    ASSERT_OK(test_call_await(&x.b, &other));
    test_call_done(&other);
    start_named(&x, &t, "/t.T/Hold", "");
    await_count(&x, &x.held_count, 3);
    rpc_call_cancel(&t.call);
    rpc_client_close(x.b.client);
    await_count(&x, &x.cancelled, 2);
    while (rpc_server_connections(x.server) > 0)
        loop_run_once(x.b.loop);
}

TEST(handler_is_told_when_its_server_ends)
{
    _cleanup_(service_done) struct service x;
    struct test_call t;

    service_init(&x, NULL);
    start_named(&x, &t, "/t.T/Hold", "");
    await_count(&x, &x.held_count, 1);
    x.server = rpc_server_free(x.server);
    ASSERT_INT(1, x.cancelled);
    ASSERT_ERR(ERR_UNCERTAIN, test_call_await(&x.b, &t));
    test_call_done(&t);
}

TEST(deadline_ends_a_call)
{
    _cleanup_(service_done) struct service x;
    struct raw_answer a = { .grpc_status = -1 };
    struct raw_client c;
    struct buf out;

    service_init(&x, NULL);
    raw_begin(&out);
    raw_headers(&out, &(struct raw_head){ .path = "/t.T/Hold", .timeout = "30m" }, 1, 0);
    raw_frame(&out, NGHTTP2_DATA, END_STREAM, 1, "\0\0\0\0\0", 5);
    raw_connect(&x, &c);
    raw_send(&x, &c, buf_str(&out));
    while (a.grpc_status < 0)
        a = raw_turn(&x, &c);
    ASSERT_INT(RPC_DEADLINE_EXCEEDED, a.grpc_status);
    ASSERT_INT(1, x.held_count);
    ASSERT_INT(1, x.cancelled);
    buf_done(&out);
    raw_close(&c);
}

/* --- The socket --- */

TEST(socket_has_a_long_path_and_is_removed_at_the_end)
{
    _cleanup_(service_done) struct service x;
    struct rpc_server *first;
    struct stat st;

    service_init(&x, NULL);
    first = x.server;
    ASSERT_ERR(ERR_BUSY, service_listen(&x, NULL, x.path));
    x.server = rpc_server_free(first);
    ASSERT_INT(-1, stat(x.path, &st));
    (void)snprintf(x.path, sizeof x.path, "%s/" LONG_NAME, x.b.d.path);
    ASSERT_INT(0, mkdir(x.path, 0700));
    (void)snprintf(x.path, sizeof x.path, "%s/" LONG_NAME "/s", x.b.d.path);
    ASSERT_OK(service_listen(&x, NULL, x.path));
    ASSERT_INT(0, stat(x.path, &st));
    ASSERT_INT(S_IFSOCK | 0600, st.st_mode);
    assert_echo(&x, "long");
}

TEST(socket_without_a_process_is_replaced_and_nothing_else)
{
    _cleanup_(service_done) struct service x;
    int fd;

    service_init(&x, NULL);
    x.server = rpc_server_free(x.server);
    fd = listen_at(x.path, 1);
    ASSERT_ERR(ERR_BUSY, service_listen(&x, NULL, x.path));
    (void)close(fd); /* killed: its file is left */
    ASSERT_OK(service_listen(&x, NULL, x.path));
    assert_echo(&x, "new");
    fd = listen_at(x.path, 1); /* another process takes the path */
    x.server = rpc_server_free(x.server);
    ASSERT_INT(0, access(x.path, F_OK));
    (void)close(fd);
    (void)unlink(x.path);
    put_file(x.path, "text");
    ASSERT_ERR(ERR_BUSY, service_listen(&x, NULL, x.path));
}

/* --- Limits --- */

TEST(idle_connection_is_replaced_and_a_busy_one_is_not)
{
    static const struct rpc_server_options limits = { .conns_max = 2 };
    _cleanup_(service_done) struct service x;
    struct raw_client idle, more;
    struct raw_answer a = { .goaway = -1 };
    struct test_call t;
    struct buf out;

    service_init(&x, &limits);
    start_named(&x, &t, "/t.T/Hold", "");
    await_count(&x, &x.held_count, 1);
    raw_connect(&x, &idle);
    raw_begin(&out);
    raw_send(&x, &idle, buf_str(&out));
    ASSERT_INT(2, rpc_server_connections(x.server));
    raw_connect(&x, &more);
    while (!a.is_closed)
        a = raw_turn(&x, &idle);
    ASSERT_INT(0, a.goaway);
    raw_headers(&out, &(struct raw_head){ .path = "/t.T/Hold" }, 1, 0);
    raw_send(&x, &more, buf_str(&out));
    raw_close(&idle);
    raw_connect(&x, &idle); /* now both have a call */
    while (!raw_turn(&x, &idle).is_closed)
        ;
    ASSERT_INT(2, rpc_server_connections(x.server));
    answer_name(x.held[0], "kept");
    ASSERT_OK(test_call_await(&x.b, &t));
    test_call_done(&t);
    buf_done(&out);
    raw_close(&idle);
    raw_close(&more);
}

TEST(streams_above_the_limit_are_refused)
{
    static const struct rpc_server_options limits = { .streams_max = 2 };
    _cleanup_(service_done) struct service x;
    struct raw_answer a = { .reset = -1 };
    struct raw_client c;
    struct buf out;

    service_init(&x, &limits);
    raw_begin(&out);
    for (unsigned i = 0; i < 3; i++) {
        raw_headers(&out, &(struct raw_head){ .path = "/t.T/Hold" }, 1 + 2 * i, 0);
        raw_frame(&out, NGHTTP2_DATA, END_STREAM, 1 + 2 * i, "\0\0\0\0\0", 5);
    }
    raw_connect(&x, &c);
    raw_send(&x, &c, buf_str(&out));
    while (a.reset < 0)
        a = raw_turn(&x, &c);
    ASSERT_INT(NGHTTP2_REFUSED_STREAM, a.reset);
    await_count(&x, &x.held_count, 2);
    buf_done(&out);
    raw_close(&c);
}

TEST(bytes_of_all_calls_are_bounded)
{
    static const struct rpc_server_options limits = { .held_bytes_max = 1000 };
    static const char zeros[900];
    _cleanup_(service_done) struct service x;
    struct raw_answer a = { .grpc_status = -1 };
    struct raw_client c;
    struct buf out;

    service_init(&x, &limits);
    raw_begin(&out);
    raw_headers(&out, &(struct raw_head){ .path = "/t.T/Echo" }, 1, 0);
    raw_frame(&out, NGHTTP2_DATA, 0, 1, "\0\0\0\4\0", 5); /* 1,024 bytes will follow */
    raw_frame(&out, NGHTTP2_DATA, 0, 1, zeros, sizeof zeros);
    raw_headers(&out, &(struct raw_head){ .path = "/t.T/Echo" }, 3, 0);
    raw_frame(&out, NGHTTP2_DATA, 0, 3, zeros, 200);
    raw_connect(&x, &c);
    raw_send(&x, &c, buf_str(&out));
    while (a.grpc_status < 0)
        a = raw_turn(&x, &c);
    ASSERT_INT(RPC_RESOURCE_EXHAUSTED, a.grpc_status);
    raw_close(&c);
    while (rpc_server_connections(x.server) > 0)
        (void)loop_poll(x.b.loop);
    assert_echo(&x, "released");
    buf_done(&out);
}

TEST(stalled_request_and_unread_answer_end)
{
    static const struct rpc_server_options limits = { .stall_ns = 20 * NS_PER_MS };
    _cleanup_(service_done) struct service x;
    struct raw_answer a = { .grpc_status = -1 };
    struct raw_client c;
    struct buf out;

    service_init(&x, &limits);
    raw_begin(&out);
    raw_headers(&out, &(struct raw_head){ 0 }, 1, 0);
    raw_connect(&x, &c);
    raw_send(&x, &c, buf_str(&out));
    while (a.grpc_status < 0)
        a = raw_turn(&x, &c);
    ASSERT_INT(RPC_DEADLINE_EXCEEDED, a.grpc_status);
    raw_close(&c);
    buf_done(&out);
    raw_begin(&out);
    raw_frame(&out, NGHTTP2_SETTINGS, 0, 0, "\0\4\0\0\0\0", 6); /* windows of no bytes */
    raw_headers(&out, &(struct raw_head){ 0 }, 1, 0);
    raw_frame(&out, NGHTTP2_DATA, END_STREAM, 1, "\0\0\0\0\3\12\1x", 8);
    raw_connect(&x, &c);
    raw_send(&x, &c, buf_str(&out));
    do
        a = raw_turn(&x, &c);
    while (a.reset < 0);
    ASSERT_INT(NGHTTP2_CANCEL, a.reset);
    ASSERT_INT(1, x.served);
    buf_done(&out);
    raw_close(&c);
}

/* --- Bad input --- */

TEST(client_that_reads_nothing_is_not_read)
{
    _cleanup_(service_done) struct service x;
    struct raw_client c;
    struct buf out;
    ssize_t n = 1;

    service_init(&x, NULL);
    raw_begin(&out);
    raw_connect(&x, &c);
    assert_int_equal(send(c.fd, out.data, out.len, MSG_NOSIGNAL), (ssize_t)out.len);
    buf_clear(&out);
    for (unsigned i = 0; i < 1000; i++)
        raw_frame(&out, NGHTTP2_PING, 0, 0, "12345678", 8);
    for (unsigned i = 0; i < 1000 && n > 0; i++) { /* 17 MB, if it is read */
        n = send(c.fd, out.data, out.len, MSG_DONTWAIT | MSG_NOSIGNAL);
        for (unsigned turns = 0; turns < 4; turns++)
            (void)loop_poll(x.b.loop);
    }
    assert_true(n < 0 && (errno == EAGAIN || errno == EPIPE));
    assert_echo(&x, "others are served");
    buf_done(&out);
    raw_close(&c);
}

struct bad_request {
    struct raw_head head;
    unsigned flags; /* of the headers */
    struct str data;
    unsigned http_status;
    int grpc_status;
};

#define BYTES(text)              \
    {                            \
        (text), sizeof(text) - 1 \
    }
static const struct bad_request bad_requests[] = {
    { { .method = "GET" }, END_STREAM, BYTES(""), 405, RPC_INTERNAL },
    { { .type = "text/html" }, 0, BYTES(""), 415, RPC_INVALID_ARGUMENT },
    { { .type = "application/grpcx" }, 0, BYTES(""), 415, RPC_INVALID_ARGUMENT },
    { { .type = "application/grpc+json" }, 0, BYTES(""), 415, RPC_INVALID_ARGUMENT },
    { { .type = "application/grpc+proto" }, 0, BYTES("\0\0\0\0\0"), 200, RPC_OK },
    { { .type = "application/grpc;a=b" }, 0, BYTES("\0\0\0\0\0"), 200, RPC_OK },
    { { .path = "/" }, 0, BYTES(""), 200, RPC_UNIMPLEMENTED },
    { { .path = "/t.T/echo" }, 0, BYTES(""), 200, RPC_UNIMPLEMENTED },
    { { .timeout = "" }, 0, BYTES(""), 200, RPC_INTERNAL },
    { { .timeout = "m" }, 0, BYTES(""), 200, RPC_INTERNAL },
    { { .timeout = "-1S" }, 0, BYTES(""), 200, RPC_INTERNAL },
    { { .timeout = "123456789n" }, 0, BYTES(""), 200, RPC_INTERNAL },
    { { .timeout = "5 s" }, 0, BYTES(""), 200, RPC_INTERNAL },
    { { .timeout = "99999999H" }, 0, BYTES("\0\0\0\0\0"), 200, RPC_OK },
    { { .floods = 70 }, 0, BYTES(""), 200, RPC_RESOURCE_EXHAUSTED },
    { { 0 }, END_STREAM, BYTES(""), 200, RPC_UNIMPLEMENTED },
    { { 0 }, 0, BYTES("\1\0\0\0\0"), 200, RPC_UNIMPLEMENTED },
    { { 0 }, 0, BYTES("\0\0\0\0\0\0\0\0\0\0"), 200, RPC_UNIMPLEMENTED },
    { { 0 }, 0, BYTES("\0\0\0"), 200, RPC_INTERNAL },
    { { 0 }, 0, BYTES("\0\0\0\0\3ab"), 200, RPC_INTERNAL },
    { { 0 }, 0, BYTES("\0\0\0\0\2\12\5"), 200, RPC_INTERNAL },
    { { 0 }, 0, BYTES("\0\377\377\377\377x"), 200, RPC_RESOURCE_EXHAUSTED },
};

TEST(what_is_not_grpc_gets_a_status)
{
    _cleanup_(service_done) struct service x;

    service_init(&x, NULL);
    for (size_t i = 0; i < ARRAY_LEN(bad_requests); i++) {
        const struct bad_request *row = &bad_requests[i];
        struct raw_answer a = { .grpc_status = -1 };
        struct raw_client c;
        struct buf out;

        raw_begin(&out);
        raw_headers(&out, &row->head, 1, row->flags);
        if (!(row->flags & END_STREAM))
            raw_frame(&out, NGHTTP2_DATA, END_STREAM, 1, row->data.s, row->data.len);
        raw_connect(&x, &c);
        raw_send(&x, &c, buf_str(&out));
        while (a.grpc_status < 0 && !a.is_closed)
            a = raw_turn(&x, &c);
        if (row->grpc_status != a.grpc_status || row->http_status != a.http_status)
            fail_msg("row %zu: status %d, HTTP %u", i, a.grpc_status, a.http_status);
        ASSERT_INT(-1, a.goaway);
        raw_close(&c);
        buf_done(&out);
    }
}

TEST(what_is_not_http2_gets_goaway)
{
    static const struct {
        struct str bytes;
        bool has_preface;
        int goaway;
    } rows[] = {
        { BYTES("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), false, NGHTTP2_PROTOCOL_ERROR },
        { BYTES("\26\3\1\2\0\1\0\1\374\3\3 a hello of TLS"), false, NGHTTP2_PROTOCOL_ERROR },
        { BYTES("\0\0\1\0\0\0\0\0\0x"), true, NGHTTP2_PROTOCOL_ERROR },           /* data without a stream */
        { BYTES("\0\0\1\0\0\0\0\0\1x"), true, NGHTTP2_PROTOCOL_ERROR },           /* of an idle stream */
        { BYTES("\1\0\0\0\0\0\0\0\1"), true, NGHTTP2_FRAME_SIZE_ERROR },          /* 64 KiB */
        { BYTES("\0\0\2\1\4\0\0\0\1\377\377"), true, NGHTTP2_COMPRESSION_ERROR }, /* no such index */
        { BYTES("\0\0\0\11\4\0\0\0\1"), true, NGHTTP2_PROTOCOL_ERROR },           /* a lone continuation */
        { BYTES("\0\0\4\10\0\0\0\0\0\0\0\0\0"), true, NGHTTP2_PROTOCOL_ERROR },   /* a window of +0 */
    };
    _cleanup_(service_done) struct service x;

    service_init(&x, NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct raw_answer a = { .goaway = -1 };
        struct raw_client c;
        struct buf out;

        raw_begin(&out);
        if (!rows[i].has_preface)
            buf_clear(&out);
        buf_add_str(&out, rows[i].bytes);
        raw_connect(&x, &c);
        raw_send(&x, &c, buf_str(&out));
        while (!a.is_closed)
            a = raw_turn(&x, &c);
        if (rows[i].goaway != a.goaway)
            fail_msg("row %zu: GOAWAY with %d", i, a.goaway);
        raw_close(&c);
        buf_done(&out);
    }
    while (rpc_server_connections(x.server) > 0)
        (void)loop_poll(x.b.loop);
    assert_echo(&x, "still serving");
}

TEST_MAIN()
