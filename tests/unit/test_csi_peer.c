/* One CSI driver as its controllers see it: its states, its capabilities, and the calls of its owners. */
#include "tests/unit/test_csi_fake.h"

#include "controllers/csi/csi_peer.h"

#define OTHER_SOCKET "/run/other/csi.sock"
#define LIMIT_NS (10 * NS_PER_S)
#define CALLS_MAX 256

/* The rest of tests/unit/test_parts.h needs a server; a peer does not. */
static struct bench {
    struct manual_clock clock;
    struct loop *loop;
    struct rpc_client *rpc;
    struct metrics *metrics;
    struct fake_csi fake, other;
    struct csi_peer *peer;
    unsigned changes;
} b;

static void count_change(void *ctx, struct csi_peer *p)
{
    struct bench *x = ctx;

    assert_true(!x->peer || p == x->peer);
    x->changes++;
}

static void bench_init(void)
{
    memset(&b, 0, sizeof b);
    manual_clock_init(&b.clock, NS_PER_S, 0);
    ASSERT_OK(loop_new(&b.clock.clock, &b.loop, &err));
    ASSERT_OK(rpc_client_new(b.loop, &b.rpc, &err));
    b.metrics = metrics_new((struct hash_seed){ 3, 4 });
    assert_non_null(b.metrics);
    fake_csi_init(&b.fake, b.loop, FAKE_SOCKET);
    fake_csi_init(&b.other, b.loop, OTHER_SOCKET);
}

static void bench_done(void)
{
    b.peer = csi_peer_free(b.peer);
    fake_csi_done(&b.fake);
    fake_csi_done(&b.other);
    b.metrics = metrics_free(b.metrics);
    b.rpc = rpc_client_free(b.rpc);
    b.loop = loop_free(b.loop);
}

/* Lets time pass, with turns at every moment where something happens. */
static void pass(uint64_t ns)
{
    loop_advance(b.loop, &b.clock, ns);
    if (b.peer)
        assert_null(csi_peer_check(b.peer));
}

static void open_peer(const struct csi_peer_options *more)
{
    struct csi_peer_options o = *more;

    o.loop = b.loop;
    o.rpc = b.rpc;
    o.metrics = b.metrics;
    o.on_change = count_change;
    o.ctx = &b;
    ASSERT_OK(csi_peer_new(&o, &b.peer, &err));
    pass(0);
}

static void open_ready(void)
{
    open_peer(&(struct csi_peer_options){ .socket = FAKE_SOCKET });
    assert_int_equal(csi_peer_state(b.peer), CSI_PEER_READY);
}

static void assert_metric_of(const char *line)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT((size_t)16 << 20);

    metrics_write(b.metrics, &text);
    if (!strstr(buf_cstr(&text), line))
        fail_msg("no %s in\n%s", line, buf_cstr(&text));
}

/* --- Calls whose ends are kept --- */

struct kept_call {
    struct csi_controller_call call;
    unsigned order; /* of its end, from 1; 0: not ended */
    enum csi_outcome outcome;
    enum rpc_code code;
    char text[ERROR_MSG_BYTES_MAX];
    char words[256];
    unsigned again; /* so many times from its end */
};

static unsigned ended;
static struct kept_call calls[CALLS_MAX];

static void start_call(struct kept_call *k);

static void keep_end(struct csi_controller_call *c, const struct csi_answer *a)
{
    struct kept_call *k = CONTAINER_OF(c, struct kept_call, call);

    assert_false(csi_controller_call_is_active(c));
    assert_int_equal(a->outcome == CSI_DONE, a->message != NULL);
    k->order = ++ended;
    k->outcome = a->outcome;
    k->code = a->code;
    (void)snprintf(k->text, sizeof k->text, "%s", a->outcome == CSI_DONE ? "" : a->err->msg);
    (void)snprintf(k->words, sizeof k->words, "%s", a->outcome == CSI_DONE ? "" : a->words);
    if (k->again > 0) {
        k->again--;
        start_call(k);
    }
}

static void start_call(struct kept_call *k)
{
    Csi__V1__DeleteVolumeRequest m;
    char id[32];

    csi__v1__delete_volume_request__init(&m);
    (void)snprintf(id, sizeof id, "v%u", (unsigned)(k - calls));
    m.volume_id = id;
    k->order = 0;
    k->call.done = keep_end;
    csi_controller_call_start(b.peer, &k->call, CSI_DELETE_VOLUME, &m.base, LIMIT_NS);
    assert_int_equal(k->order, 0); /* never from within the start */
}

static void start_calls(size_t count)
{
    ended = 0;
    memset(calls, 0, sizeof calls);
    for (size_t i = 0; i < count; i++)
        start_call(&calls[i]);
}

/* --- Explanations --- */

static void start_about(struct kept_call *k, unsigned uid)
{
    char text[32];
    const struct object o = { .uid = text };

    (void)snprintf(text, sizeof text, "u%u", uid);
    csi_controller_call_about(&k->call, &o);
    start_call(k);
}

/* Of each object, until a later call succeeds or too many others have failed. */
TEST(failed_calls_are_remembered)
{
    struct csi_work_state work;

    bench_init();
    open_ready();
    ended = 0;
    memset(calls, 0, sizeof calls);
    assert_false(csi_peer_explain(b.peer, "u0", &work));
    b.fake.held = "DeleteVolume";
    start_about(&calls[0], 0);
    pass(2 * NS_PER_S);
    assert_true(csi_peer_explain(b.peer, "u0", &work));
    assert_true(work.is_in_flight);
    ASSERT_STR("DeleteVolume", work.call);
    b.fake.held = NULL;
    b.fake.fails.method = "DeleteVolume";
    b.fake.fails.code = RPC_FAILED_PRECONDITION;
    b.fake.fails.words = "in use";
    b.fake.fails.times = 1 + CSI_FAILURES_MAX;
    fake_csi_release(&b.fake);
    pass(NS_PER_MS);
    assert_true(csi_peer_explain(b.peer, "u0", &work));
    assert_false(work.is_in_flight);
    ASSERT_STR("in use", work.last_error);
    assert_int_equal(work.outcome, CSI_FINAL);
    assert_int_equal(work.code, RPC_FAILED_PRECONDITION);
    for (unsigned i = 1; i <= CSI_FAILURES_MAX; i++) {
        start_about(&calls[0], i);
        pass(NS_PER_MS);
    }
    assert_false(csi_peer_explain(b.peer, "u0", &work)); /* the oldest */
    assert_true(csi_peer_explain(b.peer, "u1", &work));
    start_about(&calls[0], 1);
    pass(NS_PER_MS);
    assert_int_equal(calls[0].outcome, CSI_DONE);
    assert_false(csi_peer_explain(b.peer, "u1", &work));
    assert_true(csi_peer_explain(b.peer, "u2", &work));
    bench_done();
}

/* --- Classes --- */

TEST(codes_have_classes)
{
    static const struct {
        enum csi_controller_method method;
        enum rpc_code code;
        enum csi_outcome outcome;
    } rows[] = {
        { CSI_CREATE_VOLUME, RPC_OK, CSI_DONE },
        { CSI_CREATE_VOLUME, RPC_CANCELLED, CSI_IN_PROGRESS },
        { CSI_CREATE_VOLUME, RPC_DEADLINE_EXCEEDED, CSI_IN_PROGRESS },
        { CSI_CREATE_VOLUME, RPC_UNAVAILABLE, CSI_IN_PROGRESS },
        { CSI_CREATE_VOLUME, RPC_ABORTED, CSI_IN_PROGRESS },
        { CSI_CREATE_VOLUME, RPC_RESOURCE_EXHAUSTED, CSI_EXHAUSTED },
        { CSI_CREATE_VOLUME, RPC_INVALID_ARGUMENT, CSI_INFEASIBLE },
        { CSI_CREATE_VOLUME, RPC_OUT_OF_RANGE, CSI_FINAL },
        { CSI_CREATE_VOLUME, RPC_NOT_FOUND, CSI_FINAL },
        { CSI_CREATE_VOLUME, RPC_UNKNOWN, CSI_FINAL },
        { CSI_CREATE_VOLUME, RPC_ALREADY_EXISTS, CSI_FINAL },
        { CSI_CREATE_VOLUME, RPC_PERMISSION_DENIED, CSI_FINAL },
        { CSI_CREATE_VOLUME, RPC_FAILED_PRECONDITION, CSI_FINAL },
        { CSI_CREATE_VOLUME, RPC_UNIMPLEMENTED, CSI_FINAL },
        { CSI_CREATE_VOLUME, RPC_INTERNAL, CSI_FINAL },
        { CSI_CREATE_VOLUME, RPC_DATA_LOSS, CSI_FINAL },
        { CSI_CREATE_VOLUME, RPC_UNAUTHENTICATED, CSI_FINAL },
        { CSI_CONTROLLER_EXPAND, RPC_INVALID_ARGUMENT, CSI_INFEASIBLE },
        { CSI_CONTROLLER_EXPAND, RPC_OUT_OF_RANGE, CSI_INFEASIBLE },
        { CSI_CONTROLLER_EXPAND, RPC_NOT_FOUND, CSI_INFEASIBLE },
        { CSI_CONTROLLER_EXPAND, RPC_FAILED_PRECONDITION, CSI_FINAL },
        { CSI_CONTROLLER_MODIFY, RPC_INVALID_ARGUMENT, CSI_INFEASIBLE },
        { CSI_CONTROLLER_MODIFY, RPC_OUT_OF_RANGE, CSI_FINAL },
        { CSI_CONTROLLER_PUBLISH, RPC_INVALID_ARGUMENT, CSI_FINAL },
        { CSI_CONTROLLER_PUBLISH, RPC_RESOURCE_EXHAUSTED, CSI_EXHAUSTED },
        { CSI_DELETE_VOLUME, RPC_INVALID_ARGUMENT, CSI_FINAL },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(csi_error_class(rows[i].method, rows[i].code), rows[i].outcome);
    ASSERT_STR("ControllerPublishVolume", csi_method_name(CSI_CONTROLLER_PUBLISH));
    ASSERT_STR("InvalidArgument", rpc_code_name(RPC_INVALID_ARGUMENT));
}

/* --- States --- */

TEST(driver_without_a_socket_is_absent)
{
    bench_init();
    open_peer(&(struct csi_peer_options){ .name = FAKE_DRIVER });
    pass(NS_PER_S);
    assert_int_equal(csi_peer_state(b.peer), CSI_PEER_ABSENT);
    ASSERT_STR("", csi_peer_name(b.peer));
    ASSERT_STR("", csi_peer_socket(b.peer));
    assert_false(csi_peer_can(b.peer, CSI_ABILITY_CONTROLLER));
    bench_done();
}

TEST(driver_becomes_ready_with_its_capabilities)
{
    uint64_t next;

    bench_init();
    b.fake.plugin = FAKE_BIT(1);
    b.fake.controller = FAKE_BIT(1) | FAKE_BIT(9);
    b.fake.node = FAKE_BIT(3);
    open_ready();
    ASSERT_STR(FAKE_DRIVER, csi_peer_name(b.peer));
    ASSERT_STR(FAKE_SOCKET, csi_peer_socket(b.peer));
    ASSERT_STR("", csi_peer_last_error(b.peer));
    for (int a = 0; a < CSI_ABILITY_COUNT; a++)
        assert_int_equal(csi_peer_can(b.peer, (enum csi_ability)a),
                         a == CSI_ABILITY_CONTROLLER || a == CSI_ABILITY_CREATE_DELETE_VOLUME ||
                             a == CSI_ABILITY_EXPAND_VOLUME || a == CSI_ABILITY_NODE_EXPAND);
    assert_true(b.changes > 0);
    assert_false(loop_next_timer_ns(b.loop, &next)); /* at rest nothing wakes up */
    bench_done();
}

TEST(every_capability_is_read)
{
    bench_init();
    open_ready();
    for (int a = 0; a < CSI_ABILITY_COUNT; a++)
        assert_true(csi_peer_can(b.peer, (enum csi_ability)a));
    bench_done();
}

TEST(driver_without_services_is_ready)
{
    bench_init();
    b.fake.plugin = b.fake.node = 0;
    open_ready();
    for (int a = 0; a < CSI_ABILITY_COUNT; a++)
        assert_false(csi_peer_can(b.peer, (enum csi_ability)a));
    bench_done();
}

TEST(driver_is_probed_each_second_until_it_is_ready)
{
    bench_init();
    b.fake.is_not_ready = true;
    open_peer(&(struct csi_peer_options){ .socket = FAKE_SOCKET });
    assert_int_equal(csi_peer_state(b.peer), CSI_PEER_PROBING);
    ASSERT_STR("Probe: the driver reports that it is not ready", csi_peer_last_error(b.peer));
    pass(5 * NS_PER_S);
    assert_int_equal(csi_peer_state(b.peer), CSI_PEER_PROBING);
    assert_int_equal(loop_now_ns(b.loop) - csi_peer_since_ns(b.peer), 5 * NS_PER_S);
    b.fake.is_not_ready = false;
    pass(NS_PER_S);
    assert_int_equal(csi_peer_state(b.peer), CSI_PEER_READY);
    assert_int_equal(b.fake.sessions, 1);
    assert_metric_of("csi_sidecar_operations_seconds_count{driver_name=\"unknown-driver\","
                     "method_name=\"/csi.v1.Identity/Probe\",grpc_status_code=\"OK\"} 7\n");
    bench_done();
}

TEST(driver_that_hangs_is_probed_again)
{
    bench_init();
    b.fake.held = "Probe";
    open_peer(&(struct csi_peer_options){ .socket = FAKE_SOCKET });
    assert_int_equal(csi_peer_state(b.peer), CSI_PEER_CONNECTING);
    b.fake.fails.method = "GetPluginCapabilities";
    b.fake.fails.code = RPC_DEADLINE_EXCEEDED;
    b.fake.fails.words = "slow";
    b.fake.fails.times = 2;
    fake_csi_release(&b.fake);
    pass(0);
    assert_int_equal(csi_peer_state(b.peer), CSI_PEER_PROBING);
    ASSERT_STR("GetPluginCapabilities: rpc error: code = DeadlineExceeded desc = slow",
               csi_peer_last_error(b.peer));
    pass(2 * NS_PER_S);
    assert_int_equal(csi_peer_state(b.peer), CSI_PEER_READY);
    bench_done();
}

TEST(driver_that_is_not_there_is_tried_again)
{
    bench_init();
    fake_csi_end(&b.fake);
    open_peer(&(struct csi_peer_options){ .socket = FAKE_SOCKET });
    pass(60 * NS_PER_S);
    assert_int_equal(csi_peer_state(b.peer), CSI_PEER_CONNECTING);
    ASSERT_STR("no connection to " FAKE_SOCKET ": connection refused", csi_peer_last_error(b.peer));
    fake_csi_begin(&b.fake);
    pass(NS_PER_S);
    assert_int_equal(csi_peer_state(b.peer), CSI_PEER_READY);
    bench_done();
}

/* csi-34 */
TEST(restarted_driver_is_asked_again)
{
    bench_init();
    b.fake.controller = FAKE_BIT(1);
    open_ready();
    assert_false(csi_peer_can(b.peer, CSI_ABILITY_EXPAND_VOLUME));
    b.changes = 0;
    fake_csi_end(&b.fake);
    pass(0);
    assert_int_equal(csi_peer_state(b.peer), CSI_PEER_LOST);
    /* Until it is ready again: an expansion that begins now must not be left to the node. */
    assert_true(csi_peer_can(b.peer, CSI_ABILITY_CREATE_DELETE_VOLUME));
    assert_int_equal(b.changes, 1);
    b.fake.controller = FAKE_BIT(9);
    fake_csi_begin(&b.fake);
    pass(20 * NS_PER_MS);
    assert_int_equal(csi_peer_state(b.peer), CSI_PEER_READY);
    assert_false(csi_peer_can(b.peer, CSI_ABILITY_CREATE_DELETE_VOLUME));
    assert_true(csi_peer_can(b.peer, CSI_ABILITY_EXPAND_VOLUME));
    assert_int_equal(b.fake.sessions, 2);
    bench_done();
}

TEST(driver_must_have_a_good_name)
{
    static const struct {
        const char *name;
        const char *expected;
        const char *error;
    } rows[] = {
        { "other.csi", FAKE_DRIVER,
          "GetPluginInfo: the driver at " FAKE_SOCKET
          " reports the name \"other.csi\", expected \"" FAKE_DRIVER "\"" },
        { "", NULL, "GetPluginInfo: the driver at " FAKE_SOCKET " reports an invalid name" },
        { "a b", NULL, "GetPluginInfo: the driver at " FAKE_SOCKET " reports an invalid name" },
        { "a\n", NULL, "GetPluginInfo: the driver at " FAKE_SOCKET " reports an invalid name" },
        { "0123456789012345678901234567890123456789012345678901234567890123", NULL,
          "GetPluginInfo: the driver at " FAKE_SOCKET " reports an invalid name" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bench_init();
        b.fake.name = rows[i].name;
        open_peer(&(struct csi_peer_options){ .socket = FAKE_SOCKET, .name = rows[i].expected });
        pass(3 * NS_PER_S);
        assert_int_equal(csi_peer_state(b.peer), CSI_PEER_PROBING);
        ASSERT_STR(rows[i].error, csi_peer_last_error(b.peer));
        bench_done();
    }
}

TEST(socket_can_change)
{
    bench_init();
    b.other.name = "other.csi";
    open_ready();
    ASSERT_OK(csi_peer_set_socket(b.peer, FAKE_SOCKET, &err)); /* the same: nothing to do */
    assert_int_equal(csi_peer_state(b.peer), CSI_PEER_READY);
    ASSERT_OK(csi_peer_set_socket(b.peer, OTHER_SOCKET, &err));
    assert_int_equal(csi_peer_state(b.peer), CSI_PEER_CONNECTING);
    pass(0);
    assert_int_equal(csi_peer_state(b.peer), CSI_PEER_READY);
    ASSERT_STR("other.csi", csi_peer_name(b.peer));
    ASSERT_OK(csi_peer_set_socket(b.peer, NULL, &err));
    pass(60 * NS_PER_S);
    assert_int_equal(csi_peer_state(b.peer), CSI_PEER_ABSENT);
    assert_int_equal(b.fake.sessions, 1);
    assert_int_equal(b.other.sessions, 1);
    ASSERT_OK(csi_peer_set_socket(b.peer, FAKE_SOCKET, &err));
    pass(0);
    assert_int_equal(csi_peer_state(b.peer), CSI_PEER_READY);
    bench_done();
}

/* A registrar has told that it is back: nobody waits for the next second. */
TEST(same_socket_is_tried_at_once)
{
    bench_init();
    fake_csi_end(&b.fake);
    open_peer(&(struct csi_peer_options){ .socket = FAKE_SOCKET });
    pass(60 * NS_PER_S);
    fake_csi_begin(&b.fake);
    ASSERT_OK(csi_peer_set_socket(b.peer, FAKE_SOCKET, &err));
    pass(0);
    assert_int_equal(csi_peer_state(b.peer), CSI_PEER_READY);
    bench_done();
}

TEST(peer_can_be_freed_in_every_state)
{
    for (unsigned turns = 0; turns < 16; turns++) {
        bench_init();
        ASSERT_OK(csi_peer_new(
            &(struct csi_peer_options){
                .loop = b.loop, .rpc = b.rpc, .socket = FAKE_SOCKET, .on_change = count_change, .ctx = &b },
            &b.peer, &err));
        for (unsigned i = 0; i < turns; i++)
            (void)loop_poll(b.loop);
        bench_done();
    }
}

/* --- Calls --- */

TEST(calls_are_bounded_and_wait_in_order)
{
    bench_init();
    open_peer(&(struct csi_peer_options){ .socket = FAKE_SOCKET, .others_max = 2 });
    b.fake.delay_ns = NS_PER_S;
    start_calls(5);
    pass(0);
    assert_int_equal(csi_peer_calls_in_flight(b.peer), 2);
    assert_metric_of("berth_csi_calls_in_flight{driver=\"" FAKE_DRIVER "\"} 2\n");
    pass(NS_PER_S);
    assert_int_equal(ended, 2);
    pass(2 * NS_PER_S);
    assert_int_equal(ended, 5);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(calls[i].order, i + 1);
        assert_int_equal(calls[i].outcome, CSI_DONE);
    }
    assert_int_equal(b.fake.most_in_flight, 2);
    assert_called(&b.fake, "DeleteVolume v0 OK\nDeleteVolume v1 OK\nDeleteVolume v2 OK\n"
                           "DeleteVolume v3 OK\nDeleteVolume v4 OK\n");
    assert_metric_of("berth_csi_calls_in_flight{driver=\"" FAKE_DRIVER "\"} 0\n");
    assert_metric_of("csi_sidecar_operations_seconds_count{driver_name=\"" FAKE_DRIVER
                     "\",method_name=\"/csi.v1.Controller/DeleteVolume\",grpc_status_code=\"OK\"} 5\n");
    assert_metric_of("csi_sidecar_operations_seconds_sum{driver_name=\"" FAKE_DRIVER
                     "\",method_name=\"/csi.v1.Controller/DeleteVolume\",grpc_status_code=\"OK\"} 5\n");
    bench_done();
}

/* csi-38: the limit of creations is another one. */
TEST(creations_have_their_own_limit)
{
    Csi__V1__CreateVolumeRequest m;

    csi__v1__create_volume_request__init(&m);
    bench_init();
    open_ready();
    b.fake.held = "CreateVolume";
    start_calls(CSI_OTHERS_MAX + 1);
    pass(0);
    assert_int_equal(b.fake.most_in_flight, CSI_OTHERS_MAX);
    memset(calls, 0, sizeof calls);
    for (unsigned i = 0; i < CSI_CREATES_MAX + 20; i++) {
        calls[i].call.done = keep_end;
        csi_controller_call_start(b.peer, &calls[i].call, CSI_CREATE_VOLUME, &m.base, LIMIT_NS);
    }
    pass(0);
    assert_int_equal(csi_peer_calls_in_flight(b.peer), CSI_CREATES_MAX);
    for (unsigned i = 0; i < CSI_CREATES_MAX + 20; i++)
        csi_controller_call_cancel(&calls[i].call);
    assert_int_equal(csi_peer_calls_in_flight(b.peer), 0);
    bench_done();
}

TEST(nothing_is_sent_to_a_driver_that_is_not_ready)
{
    bench_init();
    b.fake.is_not_ready = true;
    open_peer(&(struct csi_peer_options){ .socket = FAKE_SOCKET, .name = FAKE_DRIVER });
    start_calls(1);
    calls[0].again = 3; /* a call may be made again from its end */
    pass(0);
    assert_int_equal(calls[0].order, 4);
    assert_int_equal(calls[0].outcome, CSI_NOT_SENT);
    ASSERT_STR("CSI driver " FAKE_DRIVER
               " is not ready (probing): Probe: the driver reports that it is not ready",
               calls[0].text);
    assert_called(&b.fake, "");
    bench_done();
}

/* What is in flight is uncertain, what waits was never sent. */
TEST(loss_ends_all_calls)
{
    bench_init();
    open_peer(&(struct csi_peer_options){ .socket = FAKE_SOCKET, .others_max = 2 });
    b.fake.held = "DeleteVolume";
    start_calls(4);
    pass(0);
    fake_csi_end(&b.fake);
    pass(0);
    assert_int_equal(ended, 4);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(calls[i].outcome, i < 2 ? CSI_IN_PROGRESS : CSI_NOT_SENT);
    assert_int_equal(calls[0].code, RPC_UNAVAILABLE);
    ASSERT_STR("", calls[0].words); /* the driver said nothing */
    bench_done();
}

TEST(request_that_cannot_be_packed_is_not_sent)
{
    Csi__V1__DeleteVolumeRequest m;

    csi__v1__delete_volume_request__init(&m);
    bench_init();
    open_ready();
    memset(calls, 0, sizeof calls);
    m.volume_id = malloc(RPC_MESSAGE_BYTES_MAX + 1);
    assert_non_null(m.volume_id);
    memset(m.volume_id, 'x', RPC_MESSAGE_BYTES_MAX);
    m.volume_id[RPC_MESSAGE_BYTES_MAX] = '\0';
    calls[0].call.done = keep_end;
    csi_controller_call_start(b.peer, &calls[0].call, CSI_DELETE_VOLUME, &m.base, LIMIT_NS);
    pass(0);
    assert_int_equal(calls[0].outcome, CSI_NOT_SENT);
    free(m.volume_id);
    bench_done();
}

/* Refused, waiting, in flight, ended; each before and after some turns. */
TEST(call_can_be_cancelled_at_every_point)
{
    for (unsigned turns = 0; turns < 8; turns++)
        for (unsigned which = 0; which < 4; which++) {
            bench_init();
            open_peer(&(struct csi_peer_options){ .socket = FAKE_SOCKET, .others_max = 2 });
            if (which == 3) {
                fake_csi_end(&b.fake);
                pass(0);
            }
            start_calls(4);
            for (unsigned i = 0; i < turns; i++)
                (void)loop_poll(b.loop);
            csi_controller_call_cancel(&calls[which].call);
            csi_controller_call_cancel(&calls[which].call);
            calls[which].call.done = NULL;
            pass(NS_PER_S);
            for (unsigned i = 0; i < 4; i++)
                assert_true(i == which || calls[i].order > 0);
            bench_done();
        }
}

static struct kept_call *victim;

static void cancel_victim(struct csi_controller_call *c, const struct csi_answer *a)
{
    (void)c;
    (void)a;
    csi_controller_call_cancel(&victim->call);
    ended++;
}

TEST(call_can_be_cancelled_from_the_end_of_another)
{
    for (unsigned which = 1; which < 4; which++) {
        bench_init();
        open_peer(&(struct csi_peer_options){ .socket = FAKE_SOCKET, .others_max = 2 });
        start_calls(4);
        victim = &calls[which];
        calls[0].call.done = cancel_victim;
        pass(0);
        assert_int_equal(ended, 3);
        assert_int_equal(calls[which].order, 0);
        bench_done();
        bench_init(); /* the same with calls that are refused */
        open_peer(&(struct csi_peer_options){ 0 });
        start_calls(4);
        victim = &calls[which];
        calls[0].call.done = cancel_victim;
        pass(0);
        assert_int_equal(ended, 3);
        bench_done();
    }
}

static bool answer_garbage(struct fake_csi *f, struct fake_request *q)
{
    (void)f;
    if (strcmp(q->method, "DeleteVolume") != 0)
        return false;
    buf_add_cstr(&q->answer, "\377\377\377");
    return true;
}

static bool answer_too_much(struct fake_csi *f, struct fake_request *q)
{
    (void)f;
    if (strcmp(q->method, "DeleteVolume") != 0)
        return false;
    (void)buf_grow(&q->answer, CSI_ANSWER_BYTES_MAX + 1);
    return true;
}

TEST(answers_that_cannot_be_read_leave_it_open_what_happened)
{
    bench_init();
    open_ready();
    b.fake.serve = answer_garbage;
    start_calls(1);
    pass(0);
    assert_int_equal(calls[0].outcome, CSI_IN_PROGRESS);
    assert_int_equal(calls[0].code, RPC_INTERNAL);
    b.fake.serve = answer_too_much;
    start_calls(1);
    pass(0);
    assert_int_equal(calls[0].outcome, CSI_IN_PROGRESS);
    assert_int_equal(calls[0].code, RPC_RESOURCE_EXHAUSTED);
    assert_metric_of("csi_sidecar_operations_seconds_count{driver_name=\"" FAKE_DRIVER
                     "\",method_name=\"/csi.v1.Controller/DeleteVolume\","
                     "grpc_status_code=\"ResourceExhausted\"} 1\n");
    assert_int_equal(csi_peer_state(b.peer), CSI_PEER_READY);
    bench_done();
}

TEST(failure_of_a_driver_carries_its_words)
{
    bench_init();
    open_ready();
    b.fake.fails.method = "DeleteVolume";
    b.fake.fails.code = RPC_RESOURCE_EXHAUSTED;
    b.fake.fails.words = "all disks are full";
    b.fake.fails.times = 1;
    start_calls(1);
    pass(0);
    assert_int_equal(calls[0].outcome, CSI_EXHAUSTED);
    ASSERT_STR("all disks are full", calls[0].words);
    ASSERT_STR("rpc error: code = ResourceExhausted desc = all disks are full", calls[0].text);
    ASSERT_STR("DeleteVolume: rpc error: code = ResourceExhausted desc = all disks are full",
               csi_peer_last_error(b.peer));
    bench_done();
}

TEST_MAIN()
