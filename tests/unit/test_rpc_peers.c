/* gRPC calls: against a driver that works, and against peers that do not. */
#include "tests/unit/test_csi_drivers.h"
#include "tests/unit/test_rpc.h"

#include "plugins/csi/csi_int.h"
#include "rpc/rpc_int.h"

#define METHOD "/csi.v1.Node/NodeGetInfo"

TEST(words_are_unescaped)
{
    static const struct {
        const char *sent, *expected;
    } rows[] = {
        { "plain", "plain" },     { "", "" },         { "a%20b", "a b" }, { "%25", "%" },
        { "100%", "100%" },       { "%2", "%2" },     { "%zz", "%zz" },   { "%C3%BC", "\xc3\xbc" },
        { "%c3%bc", "\xc3\xbc" }, { "a%00b", "a b" },
    };
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(64), small = BUF_INIT(3);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        rpc_words_read(str_of(rows[i].sent), &out);
        ASSERT_STR(rows[i].expected, buf_cstr(&out));
    }
    rpc_words_read(str_of("abcdef"), &small);
    ASSERT_INT(ERR_TOO_LARGE, small.failed); /* beyond the bound of headers */
}

/* Section 13.4: which codes leave it open what happened. */
TEST(codes_say_what_is_left)
{
    static const struct {
        unsigned code;
        enum err expected;
        const char *words;
    } rows[] = {
        { 1, ERR_UNCERTAIN, "rpc error: code = Canceled desc = w" },
        { 2, ERR_IO, "rpc error: code = Unknown desc = w" },
        { 3, ERR_INVALID, "rpc error: code = InvalidArgument desc = w" },
        { 4, ERR_UNCERTAIN, "rpc error: code = DeadlineExceeded desc = w" },
        { 5, ERR_NOT_FOUND, "rpc error: code = NotFound desc = w" },
        { 6, ERR_EXISTS, "rpc error: code = AlreadyExists desc = w" },
        { 7, ERR_DENIED, "rpc error: code = PermissionDenied desc = w" },
        { 8, ERR_UNCERTAIN, "rpc error: code = ResourceExhausted desc = w" },
        { 9, ERR_BUSY, "rpc error: code = FailedPrecondition desc = w" },
        { 10, ERR_UNCERTAIN, "rpc error: code = Aborted desc = w" },
        { 11, ERR_INVALID, "rpc error: code = OutOfRange desc = w" },
        { 12, ERR_UNSUPPORTED, "rpc error: code = Unimplemented desc = w" },
        { 13, ERR_INTERNAL, "rpc error: code = Internal desc = w" },
        { 14, ERR_UNCERTAIN, "rpc error: code = Unavailable desc = w" },
        { 15, ERR_IO, "rpc error: code = DataLoss desc = w" },
        { 16, ERR_UNAUTHORIZED, "rpc error: code = Unauthenticated desc = w" },
        { 17, ERR_IO, "rpc error: code = Unknown desc = w" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ASSERT_ERR(rows[i].expected, rpc_failure(rows[i].code, "w", &err));
        ASSERT_STR(rows[i].words, err.msg);
    }
}

/* --- Against the driver --- */

struct bench {
    struct rpc_bench rpc;
    struct test_driver driver;
    struct test_call call;
    struct test_worker worker;
    struct buf answer;
};

static void bench_done(struct bench *b)
{
    driver_stop(&b->driver);
    buf_done(&b->answer);
    rpc_bench_done(&b->rpc);
}

static void bench_init(struct bench *b)
{
    memset(b, 0, sizeof *b);
    b->answer = BUF_INIT(RPC_MESSAGE_BYTES_MAX);
    rpc_bench_init(&b->rpc);
    driver_init(&b->driver, b->rpc.d.path, "driver", "");
}

/* On the loop. */
static int call(struct bench *b, const char *socket, uint64_t limit_ns)
{
    test_call_start(&b->rpc, &b->call, socket, METHOD, STR_LIT(""), limit_ns);
    (void)test_call_await(&b->rpc, &b->call);
    buf_clear(&b->answer);
    buf_add_str(&b->answer, buf_str(&b->call.answer));
    test_call_done(&b->call);
    return b->call.r;
}

static int call_by_worker(struct bench *b, const char *socket, uint64_t limit_ns)
{
    int r;

    test_worker_start(&b->rpc, &b->worker, socket, METHOD, STR_LIT(""), limit_ns);
    r = test_worker_await(&b->worker, /* with_loop= */ true);
    buf_clear(&b->answer);
    if (r == 0)
        buf_add_str(&b->answer, buf_str(&b->worker.answer));
    test_worker_done(&b->worker);
    return r;
}

TEST(call_brings_the_answer)
{
    _cleanup_(bench_done) struct bench b;
    _cleanup_(rpc_message_free) ProtobufCMessage *m = NULL;

    bench_init(&b);
    driver_set(&b.driver, "node-info", "n1 7 zone=a");
    ASSERT_OK(call_by_worker(&b, b.driver.socket, LIMIT_NS));
    ASSERT_OK(csi_answer_read(CSI_NODE_INFO, buf_str(&b.answer), &m, &err));
    ASSERT_STR("n1", ((const Csi__V1__NodeGetInfoResponse *)(const void *)m)->node_id);
    ASSERT_STR("NodeGetInfo:0", driver_calls(&b.driver));
}

TEST(call_brings_the_failure)
{
    _cleanup_(bench_done) struct bench b;

    bench_init(&b);
    driver_set(&b.driver, "fail-NodeGetInfo",
               "9 not now: 100% \xc3\xbc"
               "ber");
    ASSERT_ERR(ERR_BUSY, call(&b, b.driver.socket, LIMIT_NS));
    ASSERT_STR("rpc error: code = FailedPrecondition desc = not now: 100% \xc3\xbc"
               "ber",
               err.msg);
}

TEST(call_goes_through_a_long_path)
{
    _cleanup_(bench_done) struct bench b;
    char dir[PATH_MAX], path[PATH_MAX + 16];

    bench_init(&b);
    (void)snprintf(
        dir, sizeof dir, "%s/%s", b.rpc.d.path,
        "a-directory-whose-name-is-so-long-that-no-address-of-a-socket-has-room-for-it-and-more-than-"
        "a-hundred-bytes");
    (void)snprintf(path, sizeof path, "%s/csi.sock", dir);
    assert_int_equal(mkdir(dir, 0755), 0);
    assert_int_equal(rename(b.driver.socket, path), 0);
    ASSERT_OK(call(&b, path, LIMIT_NS));
}

TEST(call_ends_at_its_limit_and_when_stopped)
{
    _cleanup_(bench_done) struct bench b;

    bench_init(&b);
    driver_set(&b.driver, "hold-NodeGetInfo", "");
    ASSERT_ERR(ERR_UNCERTAIN, call(&b, b.driver.socket, 50 * NS_PER_MS));
    ASSERT_STR("rpc error: code = DeadlineExceeded desc = context deadline exceeded", err.msg);
    ASSERT_ERR(ERR_UNCERTAIN, call_by_worker(&b, b.driver.socket, 50 * NS_PER_MS));
    ASSERT_STR("rpc error: code = DeadlineExceeded desc = context deadline exceeded", err.msg);
    atomic_store(&b.rpc.stop, 1);
    ASSERT_ERR(ERR_UNCERTAIN, call_by_worker(&b, b.driver.socket, LIMIT_NS));
    ASSERT_STR("rpc error: code = Canceled desc = context canceled", err.msg);
}

TEST(call_without_a_peer_is_unavailable)
{
    _cleanup_(bench_done) struct bench b;
    char path[PATH_MAX];

    bench_init(&b);
    (void)snprintf(path, sizeof path, "%s/nobody", b.rpc.d.path);
    ASSERT_ERR(ERR_UNCERTAIN, call(&b, path, LIMIT_NS));
    assert_non_null(strstr(err.msg, "rpc error: code = Unavailable desc = cannot connect to '"));
    driver_stop(&b.driver);
    ASSERT_ERR(ERR_UNCERTAIN, call(&b, b.driver.socket, LIMIT_NS)); /* the socket is there, nobody listens */
    ASSERT_ERR(ERR_UNCERTAIN, call(&b, "", LIMIT_NS));
}

/* --- Against peers that do not work --- */

/* Sends these bytes to whoever connects, `times` over, and then nothing any more, or says so. */
struct bad_peer {
    pthread_t thread;
    int listener;
    const void *bytes;
    size_t len;
    size_t times;
    bool stays;
    char path[TEST_PATH_BYTES + 64];
};

static void bad_peer_serve(const struct bad_peer *p, int fd)
{
    char in[4096];

    (void)recv(fd, in, sizeof in, 0);
    for (size_t i = 0; i < p->times; i++)
        if (send(fd, p->bytes, p->len, MSG_NOSIGNAL) < 0)
            break;
    if (!p->stays)
        (void)shutdown(fd, SHUT_WR);
    while (recv(fd, in, sizeof in, 0) > 0) /* closed with bytes unread, the connection would be reset */
        ;
    (void)close(fd);
}

/* One connection after the other: a call that the peer took back is made again. */
static void *bad_peer_run(void *ctx)
{
    const struct bad_peer *p = ctx;
    int fd;

    while ((fd = accept(p->listener, NULL, NULL)) >= 0)
        bad_peer_serve(p, fd);
    return NULL;
}

static void bad_peer_start(struct bad_peer *p, const struct test_dir *d)
{
    (void)snprintf(p->path, sizeof p->path, "%s/bad", d->path);
    p->listener = listen_at(p->path, 4);
    assert_int_equal(pthread_create(&p->thread, NULL, bad_peer_run, p), 0);
}

/* It waits for the end of the connection, which is the client's to close. */
static void bad_peer_end(struct bench *b, struct bad_peer *p)
{
    b->rpc.client = rpc_client_free(b->rpc.client);
    ASSERT_OK(rpc_client_new(b->rpc.loop, &b->rpc.client, &err));
    (void)shutdown(p->listener, SHUT_RDWR); /* which ends accept() */
    (void)pthread_join(p->thread, NULL);
    (void)close(p->listener);
}

#define SETTINGS "\0\0\0\4\0\0\0\0\0"
/* HEADERS of stream 1, whose block is what follows: ":status: 200" is byte 0x88. */
#define HEADERS(len, flags) "\0\0" len "\1" flags "\0\0\0\1"
#define DATA(len, flags) "\0\0" len "\0" flags "\0\0\0\1"

TEST(bad_peers_leave_it_open_what_happened)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *words;
    } rows[] = {
#define ROW(bytes, words) { bytes, sizeof(bytes) - 1, words }
        ROW("", "the connection was closed before an answer was received"),
        ROW("HTTP/1.1 400 Bad Request\r\n\r\n", ""),
        ROW(SETTINGS, "the connection was closed before an answer was received"),
        ROW(SETTINGS SETTINGS SETTINGS, "the connection was closed before an answer was received"),
        ROW("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", ""),
        ROW(SETTINGS HEADERS("\1", "\5") "\x88", "server closed the stream without sending trailers"),
        ROW(SETTINGS HEADERS("\1", "\5") "\x8d", "unexpected HTTP status code received from server: 404"),
        ROW(SETTINGS HEADERS("\2", "\5") "\x88\xff", ""),
        ROW(SETTINGS "\0\0\4\3\0\0\0\0\1\0\0\0\2", "unexpected HTTP status"), /* RST_STREAM */
        ROW(SETTINGS "\0\0\10\7\0\0\0\0\0\0\0\0\0\0\0\0\2", ""),              /* GOAWAY */
        /* A status, and no message or half of one. */
        ROW(SETTINGS HEADERS("\20", "\5") "\x88\0\013grpc-status\0010",
            "the answer contains no valid message"),
        ROW(SETTINGS HEADERS("\1", "\4") "\x88" DATA("\5", "\0") "\0\0\0\0\11" HEADERS(
                "\17", "\5") "\0\013grpc-status\0010",
            "the answer does not consist of one message"),
        ROW(SETTINGS HEADERS("\1", "\4") "\x88" DATA("\5", "\0") "\1\0\0\0\0" HEADERS(
                "\17", "\5") "\0\013grpc-status\0010",
            "the answer contains no valid message"),
#undef ROW
    };
    _cleanup_(bench_done) struct bench b;

    bench_init(&b);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct bad_peer p = { .bytes = rows[i].bytes, .len = rows[i].len, .times = 1 };

        bad_peer_start(&p, &b.rpc.d);
        ASSERT_ERR(ERR_UNCERTAIN, call(&b, p.path, LIMIT_NS));
        if (!strstr(err.msg, "code = Unavailable") || !strstr(err.msg, rows[i].words))
            fail_msg("row %zu: %s", i, err.msg);
        bad_peer_end(&b, &p);
    }
}

TEST(good_bytes_from_a_peer_are_an_answer)
{
    static const char bytes[] = SETTINGS HEADERS("\1", "\4") "\x88" DATA("\7", "\0") "\0\0\0\0\2hi" HEADERS(
        "\17", "\5") "\0\013grpc-status\0010";
    _cleanup_(bench_done) struct bench b;
    struct bad_peer p = { .bytes = bytes, .len = sizeof bytes - 1, .times = 1, .stays = true };

    bench_init(&b);
    bad_peer_start(&p, &b.rpc.d);
    ASSERT_OK(call(&b, p.path, LIMIT_NS));
    ASSERT_STR("hi", buf_cstr(&b.answer));
    bad_peer_end(&b, &p);
}

TEST(peer_that_stalls_ends_at_the_limit)
{
    _cleanup_(bench_done) struct bench b;
    struct bad_peer p = { .bytes = SETTINGS, .len = sizeof SETTINGS - 1, .times = 1, .stays = true };

    bench_init(&b);
    bad_peer_start(&p, &b.rpc.d);
    ASSERT_ERR(ERR_UNCERTAIN, call(&b, p.path, 50 * NS_PER_MS));
    ASSERT_STR("rpc error: code = DeadlineExceeded desc = context deadline exceeded", err.msg);
    bad_peer_end(&b, &p);
}

/* It minds no window, and would send a gigabyte. */
TEST(peer_that_floods_is_cut_off)
{
    static char bytes[9 + 16384] = { 0, 0x40, 0, 0, 0, 0, 0, 0, 1 };
    _cleanup_(bench_done) struct bench b;
    struct bad_peer p = { .bytes = bytes, .len = sizeof bytes, .times = 65536 };

    bench_init(&b);
    bad_peer_start(&p, &b.rpc.d);
    ASSERT_ERR(ERR_UNCERTAIN, call(&b, p.path, LIMIT_NS));
    bad_peer_end(&b, &p);
}

TEST(request_beyond_the_bound_is_not_sent)
{
    _cleanup_(bench_done) struct bench b;
    const struct rpc_request q = { .socket = "/nowhere",
                                   .method = METHOD,
                                   .message = { "", RPC_MESSAGE_BYTES_MAX + 1 },
                                   .limit_ns = LIMIT_NS };

    bench_init(&b);
    b.call.call.done = test_call_on_done;
    ASSERT_ERR(ERR_TOO_LARGE, rpc_call_start(b.rpc.client, &q, &b.call.call, &err));
}

/* --- Messages from outside --- */

TEST(answers_are_bounded_and_checked)
{
    _cleanup_(buf_done_p) struct buf many = BUF_INIT((size_t)32 << 20);
    _cleanup_(rpc_message_free) ProtobufCMessage *m = NULL;

    ASSERT_ERR(ERR_UNCERTAIN, csi_answer_read(CSI_NODE_INFO, STR_LIT("\xff\xff\xff"), &m, &err));
    ASSERT_STR("cannot decode response to /csi.v1.Node/NodeGetInfo", err.msg);
    ASSERT_ERR(ERR_UNCERTAIN, csi_answer_read(CSI_NODE_INFO,
                                              STR_LIT("\x0a\x7f"
                                                      "a"),
                                              &m, &err));
    /* Two bytes each on the wire, a struct each in memory. */
    for (size_t i = 0; i < (size_t)4 << 20; i++)
        buf_add(&many, "\x0a", 2);
    ASSERT_ERR(ERR_UNCERTAIN, csi_answer_read(CSI_NODE_CAPABILITIES, buf_str(&many), &m, &err));
    assert_null(m);
    /* What a newer driver says besides is passed over. */
    ASSERT_OK(csi_answer_read(CSI_NODE_INFO, STR_LIT("\x0a\x01n\xfa\x01\x02hi"), &m, &err));
    ASSERT_STR("n", ((const Csi__V1__NodeGetInfoResponse *)(const void *)m)->node_id);
}

TEST_MAIN()
