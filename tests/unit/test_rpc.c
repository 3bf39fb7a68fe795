/* The gRPC client: many calls on one session, how they end, and peers that come, go and are replaced. */
#include "tests/unit/test_rpc.h"

#define MANY 200

static void bench_with_server(struct rpc_bench *b)
{
    rpc_bench_init(b);
    server_start(&b->server, in_dir(&b->d, "s"));
}

/* --- Answers --- */

TEST(call_is_answered)
{
    _cleanup_(rpc_bench_done) struct rpc_bench b;
    struct test_call t;

    bench_with_server(&b);
    ASSERT_OK(ask(&b, &t, "/t/echo", "hello"));
    ASSERT_STR("hello", buf_cstr(&t.answer));
    ASSERT_INT(RPC_OK, t.code);
    test_call_done(&t);
    ASSERT_OK(ask(&b, &t, "/t/echo", ""));
    ASSERT_INT(0, t.answer.len);
    test_call_done(&t);
    ASSERT_INT(1, b.server.accepted);
}

TEST(message_of_many_frames_goes_both_ways)
{
    _cleanup_(rpc_bench_done) struct rpc_bench b;
    _cleanup_(freep) char *bytes = malloc(RPC_MESSAGE_BYTES_MAX);
    struct test_call t;

    bench_with_server(&b);
    assert_non_null(bytes);
    for (size_t i = 0; i < RPC_MESSAGE_BYTES_MAX; i++)
        bytes[i] = (char)(i * 31 >> 3);
    test_call_start(&b, &t, b.server.path, "/t/echo", (struct str){ bytes, RPC_MESSAGE_BYTES_MAX }, LIMIT_NS);
    ASSERT_OK(test_call_await(&b, &t));
    ASSERT_INT(RPC_MESSAGE_BYTES_MAX, t.answer.len);
    assert_memory_equal(bytes, t.answer.data, RPC_MESSAGE_BYTES_MAX);
    test_call_done(&t);
}

TEST(many_calls_share_a_session_and_end_in_any_order)
{
    static struct test_call calls[MANY];
    _cleanup_(rpc_bench_done) struct rpc_bench b;
    struct test_call release;
    char text[16];

    bench_with_server(&b);
    for (unsigned i = 0; i < MANY; i++) {
        (void)snprintf(text, sizeof text, "%u", i);
        test_call_start(&b, &calls[i], b.server.path, "/t/hold", str_of(text), LIMIT_NS);
    }
    ended = 0;
    ASSERT_OK(ask(&b, &release, "/t/release", ""));
    test_call_done(&release);
    for (unsigned i = 0; i < MANY; i++) {
        ASSERT_OK(test_call_await(&b, &calls[i]));
        (void)snprintf(text, sizeof text, "%u", i);
        ASSERT_STR(text, buf_cstr(&calls[i].answer));
        if (i > 0)
            assert_true(calls[i].order < calls[i - 1].order); /* the last one came first */
        test_call_done(&calls[i]);
    }
    ASSERT_INT(1, b.server.accepted);
}

TEST(metadata_and_deadline_are_sent)
{
    static const struct rpc_metadata metadata[] = { { "x-other", "1" }, { "x-note", "seen" } };
    _cleanup_(rpc_bench_done) struct rpc_bench b;
    struct test_call t = { .call.done = test_call_on_done };

    bench_with_server(&b);
    const struct rpc_request q = { .socket = b.server.path,
                                   .method = "/t/headers",
                                   .message = STR_LIT(""),
                                   .limit_ns = 20 * NS_PER_S,
                                   .metadata = metadata,
                                   .metadata_count = ARRAY_LEN(metadata) };
    ASSERT_OK(rpc_call_start(b.client, &q, &t.call, &err));
    ASSERT_OK(test_call_await(&b, &t));
    ASSERT_STR("seen\n20000m\n", buf_cstr(&t.answer));
    test_call_done(&t);
    test_call_start(&b, &t, b.server.path, "/t/headers", STR_LIT(""), /* limit_ns= */ 0);
    ASSERT_OK(test_call_await(&b, &t));
    ASSERT_STR("\n\n", buf_cstr(&t.answer));
    test_call_done(&t);
}

/* The code as it is, and all of the words. */
TEST(failure_carries_its_code_and_its_words)
{
    static const struct {
        const char *message;
        enum rpc_code code;
        enum err expected;
        const char *words;
    } rows[] = {
        { "1 x", RPC_CANCELLED, ERR_UNCERTAIN, "rpc error: code = Canceled desc = x" },
        { "4 x", RPC_DEADLINE_EXCEEDED, ERR_UNCERTAIN, "rpc error: code = DeadlineExceeded desc = x" },
        { "5 x", RPC_NOT_FOUND, ERR_NOT_FOUND, "rpc error: code = NotFound desc = x" },
        { "8 x", RPC_RESOURCE_EXHAUSTED, ERR_UNCERTAIN, "rpc error: code = ResourceExhausted desc = x" },
        { "9 50%25", RPC_FAILED_PRECONDITION, ERR_BUSY, "rpc error: code = FailedPrecondition desc = 50%" },
        { "10 x", RPC_ABORTED, ERR_UNCERTAIN, "rpc error: code = Aborted desc = x" },
        { "14 x", RPC_UNAVAILABLE, ERR_UNCERTAIN, "rpc error: code = Unavailable desc = x" },
        { "99 x", RPC_UNKNOWN, ERR_IO, "rpc error: code = Unknown desc = x" },
    };
    _cleanup_(rpc_bench_done) struct rpc_bench b;
    static char text[12000];
    struct test_call t;

    bench_with_server(&b);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ASSERT_ERR(rows[i].expected, ask(&b, &t, "/t/status", rows[i].message));
        ASSERT_INT(rows[i].code, t.code);
        ASSERT_STR(rows[i].words, err.msg);
        assert_false(t.is_own);
        test_call_done(&t);
    }
    memset(text, 'w', sizeof text - 1);
    memcpy(text, "13 ", 3);
    test_call_start(&b, &t, b.server.path, "/t/status", str_of(text), LIMIT_NS);
    ASSERT_ERR(ERR_INTERNAL, test_call_await(&b, &t));
    ASSERT_INT(RPC_INTERNAL, t.code);
    ASSERT_INT(sizeof text - 1 - 3, t.words_len);
    test_call_done(&t);
}

/* --- Streams --- */

struct streamed {
    struct test_call t;
    unsigned count;
    size_t bytes;
    unsigned hold_at, cancel_at; /* 0: never */
};

static void on_message(struct rpc_call *c, struct str message)
{
    struct streamed *x = CONTAINER_OF(c, struct streamed, t.call);

    x->count++;
    x->bytes += message.len;
    if (x->count == x->hold_at)
        rpc_call_hold(c);
    if (x->count == x->cancel_at)
        rpc_call_cancel(c);
}

static void stream_start(struct rpc_bench *b, struct streamed *x, const char *message)
{
    const struct rpc_request q = {
        .socket = b->server.path, .method = "/t/stream", .message = str_of(message), .limit_ns = LIMIT_NS
    };

    x->t.call.done = test_call_on_done;
    x->t.call.on_message = on_message;
    ASSERT_OK(rpc_call_start(b->client, &q, &x->t.call, &err));
}

TEST(streamed_answers_come_in_order_and_end)
{
    _cleanup_(rpc_bench_done) struct rpc_bench b;
    struct streamed x = { 0 }, none = { 0 };

    bench_with_server(&b);
    stream_start(&b, &x, "3000 5000"); /* more than all windows */
    ASSERT_OK(test_call_await(&b, &x.t));
    ASSERT_INT(3000, x.count);
    ASSERT_INT(3000 * 5000, x.bytes);
    test_call_done(&x.t);
    stream_start(&b, &none, "0 0");
    ASSERT_OK(test_call_await(&b, &none.t));
    ASSERT_INT(0, none.count);
    test_call_done(&none.t);
}

/* What is not listened to stays with the peer, but for a window, and holds up no other call. */
TEST(held_stream_holds_back_its_peer_and_nobody_else)
{
    _cleanup_(rpc_bench_done) struct rpc_bench b;
    struct streamed x = { .hold_at = 10 };
    struct test_call t;

    bench_with_server(&b);
    stream_start(&b, &x, "1000 100000");
    while (x.count < 10)
        loop_run_once(b.loop);
    for (unsigned i = 0; i < 20; i++) {
        ASSERT_OK(ask(&b, &t, "/t/echo", "hello"));
        test_call_done(&t);
    }
    ASSERT_INT(10, x.count);
    assert_false(x.t.is_done);
    assert_true(b.server.sent_bytes < 10000000); /* of 100 MB */
    rpc_call_resume(&x.t.call);
    ASSERT_OK(test_call_await(&b, &x.t));
    ASSERT_INT(1000, x.count);
    test_call_done(&x.t);
    ASSERT_INT(1, b.server.accepted);
}

TEST(stream_can_be_cancelled_from_its_message)
{
    _cleanup_(rpc_bench_done) struct rpc_bench b;
    struct streamed x = { .cancel_at = 5 };
    struct test_call t;

    bench_with_server(&b);
    stream_start(&b, &x, "1000 100000");
    while (x.count < 5)
        loop_run_once(b.loop);
    assert_false(rpc_call_is_active(&x.t.call));
    ASSERT_OK(ask(&b, &t, "/t/echo", ""));
    test_call_done(&t);
    ASSERT_INT(5, x.count);
    ASSERT_INT(1, b.server.resets);
    assert_false(x.t.is_done);
}

TEST(message_beyond_the_bound_ends_the_call)
{
    _cleanup_(rpc_bench_done) struct rpc_bench b;
    struct test_call t = { .call.done = test_call_on_done };
    struct streamed x = { .t.call = { .done = test_call_on_done, .on_message = on_message } };

    bench_with_server(&b);
    ASSERT_ERR(ERR_UNCERTAIN, ask(&b, &t, "/t/huge", ""));
    ASSERT_STR("rpc error: code = ResourceExhausted desc = received message larger than max", err.msg);
    test_call_done(&t);
    const struct rpc_request small = { .socket = b.server.path,
                                       .method = "/t/echo",
                                       .message = STR_LIT("12345"),
                                       .limit_ns = LIMIT_NS,
                                       .answer_bytes_max = 4 };
    t = (struct test_call){ .call.done = test_call_on_done };
    ASSERT_OK(rpc_call_start(b.client, &small, &t.call, &err));
    ASSERT_ERR(ERR_UNCERTAIN, test_call_await(&b, &t));
    ASSERT_INT(RPC_RESOURCE_EXHAUSTED, t.code);
    test_call_done(&t);
    ASSERT_OK(rpc_call_start(b.client, &small, &x.t.call, &err)); /* the same of a streaming answer */
    ASSERT_ERR(ERR_UNCERTAIN, test_call_await(&b, &x.t));
    ASSERT_INT(RPC_RESOURCE_EXHAUSTED, x.t.code);
    test_call_done(&x.t);
    ASSERT_INT(0, x.count);
    ASSERT_ERR(ERR_UNCERTAIN, ask(&b, &t, "/t/flood", ""));
    ASSERT_STR("rpc error: code = ResourceExhausted desc = the headers of the answer are too large", err.msg);
    test_call_done(&t);
    ASSERT_ERR(ERR_UNCERTAIN, ask(&b, &t, "/t/twice", "x"));
    ASSERT_STR("rpc error: code = Unavailable desc = the answer does not consist of one message", err.msg);
    test_call_done(&t);
    ASSERT_OK(ask(&b, &t, "/t/echo", "still there"));
    test_call_done(&t);
    ASSERT_INT(1, b.server.accepted);
}

/* --- Deadlines and cancellation --- */

TEST(deadline_ends_one_call_and_no_other)
{
    _cleanup_(rpc_bench_done) struct rpc_bench b;
    struct test_call slow, held, release;

    bench_with_server(&b);
    test_call_start(&b, &held, b.server.path, "/t/hold", STR_LIT("h"), LIMIT_NS);
    test_call_start(&b, &slow, b.server.path, "/t/hold", STR_LIT("s"), 30 * NS_PER_MS);
    ASSERT_ERR(ERR_UNCERTAIN, test_call_await(&b, &slow));
    ASSERT_INT(RPC_DEADLINE_EXCEEDED, slow.code);
    ASSERT_STR("rpc error: code = DeadlineExceeded desc = context deadline exceeded", err.msg);
    ASSERT_OK(ask(&b, &release, "/t/release", "")); /* its answer would come late, and is passed over */
    ASSERT_OK(test_call_await(&b, &held));
    ASSERT_STR("h", buf_cstr(&held.answer));
    ASSERT_INT(1, b.server.resets);
    ASSERT_INT(1, b.server.accepted);
    test_call_done(&slow);
    test_call_done(&held);
    test_call_done(&release);
}

TEST(cancelled_calls_are_never_reported)
{
    _cleanup_(rpc_bench_done) struct rpc_bench b;
    struct test_call early, sent, over, t;

    bench_with_server(&b);
    test_call_start(&b, &early, b.server.path, "/t/echo", STR_LIT("x"), LIMIT_NS);
    rpc_call_cancel(&early.call); /* before a byte has left */
    rpc_call_cancel(&early.call);
    ASSERT_OK(ask(&b, &t, "/t/echo", ""));
    test_call_done(&t);
    ASSERT_INT(1, b.server.requests);
    test_call_start(&b, &sent, b.server.path, "/t/hold", STR_LIT("x"), LIMIT_NS);
    while (b.server.requests < 2)
        (void)loop_poll(b.loop);
    rpc_call_cancel(&sent.call);
    test_call_start(&b, &over, b.server.path, "/t/echo", STR_LIT("x"), LIMIT_NS);
    while (!over.call.is_closed)
        (void)loop_poll(b.loop) /* answered, and perhaps reported already */;
    rpc_call_cancel(&over.call);
    ASSERT_OK(ask(&b, &t, "/t/release", ""));
    test_call_done(&t);
    assert_false(early.is_done || sent.is_done);
    ASSERT_INT(1, b.server.resets);
    ASSERT_INT(1, b.server.accepted);
    if (over.is_done)
        test_call_done(&over);
}

TEST(calls_and_requests_are_bounded)
{
    static struct test_call calls[RPC_CALLS_MAX];
    _cleanup_(rpc_bench_done) struct rpc_bench b;
    struct rpc_request q = { .method = "/t/never", .message = STR_LIT("") };
    struct test_call t = { .call.done = test_call_on_done };

    bench_with_server(&b);
    for (size_t i = 0; i < RPC_CALLS_MAX; i++) /* most of them wait for the peer's own limit */
        test_call_start(&b, &calls[i], b.server.path, "/t/never", STR_LIT(""), 0);
    q.socket = b.server.path;
    ASSERT_ERR(ERR_UNAVAILABLE, rpc_call_start(b.client, &q, &t.call, &err));
    while (b.server.requests < 300)
        (void)loop_poll(b.loop);
    ASSERT_INT(300, b.server.requests);
    for (size_t i = 0; i < RPC_CALLS_MAX; i++)
        rpc_call_cancel(&calls[i].call);
    ASSERT_OK(ask(&b, &t, "/t/echo", ""));
    test_call_done(&t);
    t = (struct test_call){ .call.done = test_call_on_done };
    q.message = (struct str){ "", RPC_MESSAGE_BYTES_MAX + 1 };
    ASSERT_ERR(ERR_TOO_LARGE, rpc_call_start(b.client, &q, &t.call, &err));
}

/* --- Peers that go --- */

/* A stream that the peer has refused, or took back, was not seen: the call is made again, once. */
TEST(call_that_the_peer_has_not_seen_is_made_again)
{
    _cleanup_(rpc_bench_done) struct rpc_bench b;
    struct test_call t;

    bench_with_server(&b);
    ASSERT_OK(ask(&b, &t, "/t/refuse", "x"));
    ASSERT_STR("x", buf_cstr(&t.answer));
    test_call_done(&t);
    ASSERT_INT(1, b.server.accepted);
    ASSERT_OK(ask(&b, &t, "/t/goaway", "y"));
    ASSERT_STR("y", buf_cstr(&t.answer));
    test_call_done(&t);
    ASSERT_INT(2, b.server.accepted);
    ASSERT_OK(ask(&b, &t, "/t/away", "z")); /* which is answered, and the last one of that session */
    ASSERT_STR("z", buf_cstr(&t.answer));
    test_call_done(&t);
    ASSERT_OK(ask(&b, &t, "/t/echo", ""));
    test_call_done(&t);
    ASSERT_INT(3, b.server.accepted);
}

TEST(connection_that_ends_leaves_it_open_what_happened)
{
    _cleanup_(rpc_bench_done) struct rpc_bench b;
    struct test_call held, t;

    bench_with_server(&b);
    test_call_start(&b, &held, b.server.path, "/t/hold", STR_LIT("h"), LIMIT_NS);
    while (b.server.requests < 1)
        (void)loop_poll(b.loop);
    ASSERT_ERR(ERR_UNCERTAIN, ask(&b, &t, "/t/half", ""));
    ASSERT_STR("rpc error: code = Unavailable desc = the connection was closed before an answer was received",
               err.msg);
    test_call_done(&t);
    ASSERT_ERR(ERR_UNCERTAIN, test_call_await(&b, &held)); /* it was on the same connection */
    ASSERT_INT(RPC_UNAVAILABLE, held.code);
    assert_true(held.is_own && !held.is_unsent);
    test_call_done(&held);
    ASSERT_INT(2, b.server.requests); /* neither was made again */
    ASSERT_OK(ask(&b, &t, "/t/echo", ""));
    test_call_done(&t);
    ASSERT_INT(2, b.server.accepted);
}

TEST(peer_that_is_started_again_is_found)
{
    _cleanup_(rpc_bench_done) struct rpc_bench b;
    struct test_call t;

    bench_with_server(&b);
    for (unsigned i = 0; i < 3; i++) {
        ASSERT_OK(ask(&b, &t, "/t/echo", "x"));
        test_call_done(&t);
        server_end(&b.server);
        ASSERT_ERR(ERR_UNCERTAIN, ask(&b, &t, "/t/echo", "x")); /* the socket is there, nobody listens */
        assert_non_null(strstr(err.msg, "rpc error: code = Unavailable desc = cannot connect to '"));
        assert_true(t.is_own && t.is_unsent);
        test_call_done(&t);
        server_start(&b.server, in_dir(&b.d, "s"));
    }
}

/* The old one still serves its connections, and another has its path. */
TEST(replaced_peer_gets_the_next_call)
{
    _cleanup_(rpc_bench_done) struct rpc_bench b;
    struct server old;
    struct test_call held, t;

    rpc_bench_init(&b);
    server_start(&old, in_dir(&b.d, "s"));
    test_call_start(&b, &held, old.path, "/t/hold", STR_LIT("h"), LIMIT_NS);
    while (old.requests < 1)
        (void)loop_poll(b.loop);
    server_start(&b.server, in_dir(&b.d, "s"));
    ASSERT_OK(ask(&b, &t, "/t/echo", "x"));
    test_call_done(&t);
    ASSERT_INT(1, b.server.requests);
    ASSERT_INT(1, old.requests);
    assert_false(held.is_done); /* it stays with the one that has it */
    server_end(&old);
    ASSERT_ERR(ERR_UNCERTAIN, test_call_await(&b, &held));
    test_call_done(&held);
    ASSERT_INT(0, unlink(b.server.path)); /* nobody has the path */
    ASSERT_ERR(ERR_UNCERTAIN, ask(&b, &t, "/t/echo", "x"));
    test_call_done(&t);
}

TEST(idle_session_is_closed)
{
    struct manual_clock clock;
    struct rpc_bench b = { .d = test_dir_new() };
    struct test_call t;

    manual_clock_init(&clock, NS_PER_S, 0);
    b.loop = new_loop(&clock.clock);
    ASSERT_OK(rpc_client_new(b.loop, &b.client, &err));
    server_start(&b.server, in_dir(&b.d, "s"));
    ASSERT_OK(ask(&b, &t, "/t/echo", ""));
    test_call_done(&t);
    loop_advance(b.loop, &clock, RPC_IDLE_NS / 2);
    ASSERT_OK(ask(&b, &t, "/t/echo", ""));
    test_call_done(&t);
    loop_advance(b.loop, &clock, RPC_IDLE_NS * 3 / 4);
    ASSERT_OK(ask(&b, &t, "/t/echo", ""));
    test_call_done(&t);
    ASSERT_INT(1, b.server.accepted);
    loop_advance(b.loop, &clock, 2 * RPC_IDLE_NS);
    ASSERT_OK(ask(&b, &t, "/t/echo", ""));
    test_call_done(&t);
    ASSERT_INT(2, b.server.accepted);
    rpc_bench_done(&b);
}

struct test_watch {
    struct rpc_watch watch;
    bool has_ended;
    char why[128];
};

static void test_watch_ended(struct rpc_watch *w, const char *why)
{
    struct test_watch *t = CONTAINER_OF(w, struct test_watch, watch);

    assert_false(t->has_ended);
    assert_false(rpc_watch_is_active(w));
    t->has_ended = true;
    (void)snprintf(t->why, sizeof t->why, "%s", why);
}

static void test_watch_start(const struct rpc_bench *b, struct test_watch *t)
{
    *t = (struct test_watch){ .watch.ended = test_watch_ended };
    ASSERT_OK(rpc_watch_start(b->client, in_dir(&b->d, "s"), &t->watch, &err));
    assert_false(t->has_ended);
}

TEST(watched_session_stays_open_and_its_end_is_reported)
{
    struct manual_clock clock;
    struct rpc_bench b = { .d = test_dir_new() };
    struct test_watch w, stopped;
    struct test_call t;

    manual_clock_init(&clock, NS_PER_S, 0);
    b.loop = new_loop(&clock.clock);
    ASSERT_OK(rpc_client_new(b.loop, &b.client, &err));
    server_start(&b.server, in_dir(&b.d, "s"));
    test_watch_start(&b, &w);
    test_watch_start(&b, &stopped);
    ASSERT_OK(ask(&b, &t, "/t/echo", ""));
    test_call_done(&t);
    loop_advance(b.loop, &clock, 10 * RPC_IDLE_NS);
    ASSERT_OK(ask(&b, &t, "/t/echo", ""));
    test_call_done(&t);
    ASSERT_INT(1, b.server.accepted);
    rpc_watch_stop(&stopped.watch);
    server_end(&b.server);
    run_until(b.loop, &w.has_ended);
    assert_string_equal(w.why, "the connection was closed before an answer was received");
    assert_false(stopped.has_ended);
    test_watch_start(&b, &w); /* nobody listens */
    run_until(b.loop, &w.has_ended);
    assert_non_null(strstr(w.why, "refused"));
    rpc_watch_stop(&w.watch);
    rpc_bench_done(&b);
}

TEST(watch_ends_when_the_session_takes_no_more_calls)
{
    struct rpc_bench b;
    struct test_watch w;
    struct server old;
    struct test_call t;

    rpc_bench_init(&b);
    server_start(&old, in_dir(&b.d, "s"));
    test_watch_start(&b, &w);
    test_call_start(&b, &t, old.path, "/t/away", STR_LIT(""), LIMIT_NS);
    ASSERT_OK(test_call_await(&b, &t));
    test_call_done(&t);
    run_until(b.loop, &w.has_ended);
    test_watch_start(&b, &w);
    server_start(&b.server, in_dir(&b.d, "s")); /* the old one goes on, and another has its path */
    ASSERT_OK(ask(&b, &t, "/t/echo", ""));
    test_call_done(&t);
    run_until(b.loop, &w.has_ended);
    server_end(&old);
    rpc_bench_done(&b);
}

/* Of a session that was opened for it, and before its end is reported. */
TEST(stopped_watch_is_never_reported)
{
    struct rpc_bench b;
    struct test_watch w, other;

    rpc_bench_init(&b);
    test_watch_start(&b, &w); /* nobody listens: its end is on its way */
    test_watch_start(&b, &other);
    rpc_watch_stop(&w.watch);
    run_until(b.loop, &other.has_ended);
    assert_false(w.has_ended);
    rpc_watch_stop(&w.watch);
    server_start(&b.server, in_dir(&b.d, "s"));
    test_watch_start(&b, &w);
    rpc_watch_stop(&w.watch);
    (void)loop_poll(b.loop);
    assert_false(w.has_ended);
    rpc_bench_done(&b);
}

/* A queue that is full, of a program that accepts nobody: there is no word when there is room. */
TEST(full_queue_is_waited_for)
{
    _cleanup_(rpc_bench_done) struct rpc_bench b, other;
    struct test_call first, t;
    struct pollfd queue = { .events = POLLIN };
    int peer;

    rpc_bench_init(&b);
    rpc_bench_init(&other); /* with a session of its own */
    queue.fd = listen_at(in_dir(&b.d, "s"), 0);
    test_call_start(&other, &first, in_dir(&b.d, "s"), "/t/echo", STR_LIT(""), LIMIT_NS);
    test_call_start(&b, &t, in_dir(&b.d, "s"), "/t/echo", STR_LIT(""), 50 * NS_PER_MS);
    ASSERT_ERR(ERR_UNCERTAIN, test_call_await(&b, &t));
    ASSERT_INT(RPC_DEADLINE_EXCEEDED, t.code);
    test_call_done(&t);
    test_call_start(&b, &t, in_dir(&b.d, "s"), "/t/echo", STR_LIT(""), LIMIT_NS);
    peer = accept(queue.fd, NULL, NULL);
    while (poll(&queue, 1, 0) == 0)
        loop_run_once(b.loop);
    rpc_call_cancel(&t.call);
    rpc_call_cancel(&first.call);
    (void)close(peer);
    (void)close(queue.fd);
}

/* --- Workers --- */

TEST(worker_waits_for_its_answer)
{
    _cleanup_(rpc_bench_done) struct rpc_bench b;
    struct test_worker w;

    bench_with_server(&b);
    test_worker_start(&b, &w, b.server.path, "/t/echo", STR_LIT("hello"), LIMIT_NS);
    ASSERT_OK(test_worker_await(&w, /* with_loop= */ true));
    ASSERT_STR("hello", buf_cstr(&w.answer));
    ASSERT_INT(RPC_OK, w.code);
    test_worker_done(&w);
    test_worker_start(&b, &w, b.server.path, "/t/status", STR_LIT("9 no"), LIMIT_NS);
    ASSERT_ERR(ERR_BUSY, test_worker_await(&w, true));
    ASSERT_INT(RPC_FAILED_PRECONDITION, w.code);
    ASSERT_STR("rpc error: code = FailedPrecondition desc = no", err.msg);
    test_worker_done(&w);
    test_worker_start(&b, &w, b.server.path, "/t/echo", (struct str){ "", RPC_MESSAGE_BYTES_MAX + 1 },
                      LIMIT_NS);
    ASSERT_ERR(ERR_TOO_LARGE, test_worker_await(&w, true));
    test_worker_done(&w);
    ASSERT_INT(1, b.server.accepted);
}

TEST(many_workers_share_a_session)
{
    enum { WORKERS = 50 };
    static struct test_worker workers[WORKERS];
    _cleanup_(rpc_bench_done) struct rpc_bench b;
    struct test_call release;

    bench_with_server(&b);
    for (size_t i = 0; i < WORKERS; i++)
        test_worker_start(&b, &workers[i], b.server.path, "/t/hold", STR_LIT("x"), LIMIT_NS);
    while (b.server.requests < WORKERS)
        (void)loop_poll(b.loop);
    ASSERT_OK(ask(&b, &release, "/t/release", ""));
    test_call_done(&release);
    for (size_t i = 0; i < WORKERS; i++) {
        ASSERT_OK(test_worker_await(&workers[i], true));
        ASSERT_STR("x", buf_cstr(&workers[i].answer));
        test_worker_done(&workers[i]);
    }
    ASSERT_INT(1, b.server.accepted);
}

/* It leaves whether or not the loop runs; the call is taken back when it does. */
TEST(worker_leaves_at_its_limit_and_when_stopped)
{
    static const bool rows[] = { true, false };
    _cleanup_(rpc_bench_done) struct rpc_bench b;
    struct test_worker w;
    struct test_call t;

    bench_with_server(&b);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        b.stop = 0;
        test_worker_start(&b, &w, b.server.path, "/t/never", STR_LIT(""), 50 * NS_PER_MS);
        ASSERT_ERR(ERR_UNCERTAIN, test_worker_await(&w, rows[i]));
        ASSERT_INT(RPC_DEADLINE_EXCEEDED, w.code);
        ASSERT_STR("rpc error: code = DeadlineExceeded desc = context deadline exceeded", err.msg);
        test_worker_done(&w);
        test_worker_start(&b, &w, b.server.path, "/t/never", STR_LIT(""), LIMIT_NS);
        for (unsigned seen = b.server.requests; rows[i] && b.server.requests == seen;)
            (void)loop_poll(b.loop);
        b.stop = 1;
        ASSERT_ERR(ERR_UNCERTAIN, test_worker_await(&w, rows[i]));
        ASSERT_INT(RPC_CANCELLED, w.code);
        ASSERT_STR("rpc error: code = Canceled desc = context canceled", err.msg);
        test_worker_done(&w);
        test_worker_start(&b, &w, b.server.path, "/t/never", STR_LIT(""), LIMIT_NS); /* stopped before */
        ASSERT_ERR(ERR_UNCERTAIN, test_worker_await(&w, rows[i]));
        test_worker_done(&w);
    }
    ASSERT_OK(ask(&b, &t, "/t/echo", ""));
    test_call_done(&t);
    /* The stopped one and the echo, and perhaps the one with 50 ms: of those that never began, none. */
    assert_in_range(b.server.requests, 2, 3);
    assert_in_range(b.server.resets, 1, 2);
}

TEST(closed_client_ends_its_workers)
{
    _cleanup_(rpc_bench_done) struct rpc_bench b;
    struct test_worker sent, handed, late;

    bench_with_server(&b);
    test_worker_start(&b, &sent, b.server.path, "/t/never", STR_LIT(""), LIMIT_NS);
    while (b.server.requests < 1)
        (void)loop_poll(b.loop);
    test_worker_start(&b, &handed, b.server.path, "/t/never", STR_LIT(""), LIMIT_NS);
    rpc_client_close(b.client);
    test_worker_start(&b, &late, b.server.path, "/t/never", STR_LIT(""), LIMIT_NS);
    ASSERT_ERR(ERR_UNCERTAIN, test_worker_await(&sent, /* with_loop= */ false));
    ASSERT_INT(RPC_CANCELLED, sent.code);
    ASSERT_ERR(ERR_UNCERTAIN, test_worker_await(&handed, false));
    ASSERT_INT(RPC_CANCELLED, handed.code);
    ASSERT_ERR(ERR_UNCERTAIN, test_worker_await(&late, false));
    ASSERT_INT(RPC_CANCELLED, late.code);
    test_worker_done(&sent);
    test_worker_done(&handed);
    test_worker_done(&late);
}

TEST_MAIN()
