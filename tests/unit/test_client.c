/* The client over a scripted carrier: how calls travel, wait, are tried again and end. */
#include "tests/unit/test_client.h"

#include "base/rng.h"
#include "client/client_request.h"
#include "tests/unit/aborts.h"

/* --- One call --- */

TEST(call_is_carried_and_its_end_told)
{
    static const struct {
        enum client_verb verb;
        const char *sent;
    } rows[] = {
        { CLIENT_GET, "0.000 GET " PV "/v\n" },
        { CLIENT_LIST, "0.000 GET " PV "\n" },
        { CLIENT_WATCH, "0.000 GET " PV "?watch=true\n" },
        { CLIENT_CREATE, "0.000 POST " PV " {}\n" },
        { CLIENT_PATCH, "0.000 PATCH " PV "/v {}\n" },
        { CLIENT_DELETE, "0.000 DELETE " PV "/v\n" },
        { CLIENT_RAW, "0.000 GET /version\n" },
    };

    static_assert(ARRAY_LEN(rows) == CLIENT_VERB_COUNT, "send every verb");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(world_free_p) struct world *w = world_new();
        struct owner_call o = OWNER(w, "o");

        send_verb(&o, rows[i].verb);
        assert_text(&w->sent, rows[i].sent);
        world_answer(w, 200);
        assert_text(&w->told, "0.000 o: ok\n");
        ASSERT_INT(200, o.answer.http_status);
    }
}

TEST(texts_are_copied)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    char texts[13][8];
    char body[] = "{'a':1}";
    struct client_request q = { .verb = CLIENT_PATCH, .kind = kind_info(KIND_CLAIM) };
    struct owner_call o = OWNER(w, "o");
    const char **fields[] = { &q.ns,
                              &q.name,
                              &q.subresource,
                              &q.path,
                              &q.label_selector,
                              &q.field_selector,
                              &q.resource_version,
                              &q.version_match,
                              &q.continue_token,
                              &q.field_manager,
                              &q.if_uid,
                              &q.if_version,
                              &q.propagation };
    const struct client_request *kept;

    static_assert(ARRAY_LEN(fields) == ARRAY_LEN(texts), "fill every text");
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        (void)snprintf(texts[i], sizeof texts[i], "t%zu", i);
        *fields[i] = texts[i];
    }
    q.body = str_of(body);
    owner_send(&o, &q);
    memset(texts, 'x', sizeof texts);
    memset(body, 'x', sizeof body);

    kept = w->scripted.attempts[0]->request;
    ASSERT_STR("t0", kept->ns);
    ASSERT_STR("t1", kept->name);
    ASSERT_STR("t2", kept->subresource);
    ASSERT_STR("t3", kept->path);
    ASSERT_STR("t4", kept->label_selector);
    ASSERT_STR("t5", kept->field_selector);
    ASSERT_STR("t6", kept->resource_version);
    ASSERT_STR("t7", kept->version_match);
    ASSERT_STR("t8", kept->continue_token);
    ASSERT_STR("t9", kept->field_manager);
    ASSERT_STR("t10", kept->if_uid);
    ASSERT_STR("t11", kept->if_version);
    ASSERT_STR("t12", kept->propagation);
    assert_true(str_is(kept->body, "{'a':1}"));
    client_cancel(&o.call);
}

TEST(owner_may_send_the_call_anew_or_free_it_when_it_ends)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct owner_call o = OWNER(w, "o");
    struct owner_call *lost = calloc(1, sizeof *lost);

    o.resends = true;
    send_verb(&o, CLIENT_GET);
    world_answer(w, 200);
    assert_text(&w->sent, "0.000 GET " PV "/v\n0.000 GET /again\n");
    world_answer(w, 200);
    ASSERT_INT(2, o.ended);

    assert_non_null(lost);
    *lost = OWNER(w, "lost");
    lost->frees = true;
    send_verb(lost, CLIENT_GET);
    world_answer(w, 200);
}

/* The deferred end leaves the same freedom. */
TEST(owner_may_send_anew_after_a_refusal)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct client_request q = request_of(CLIENT_GET);
    struct owner_call o = OWNER(w, "o");

    q.name = "..";
    o.resends = true;
    owner_send(&o, &q);
    (void)loop_poll(w->loop);
    assert_text(&w->sent, "0.000 GET /again\n");
    world_answer(w, 200);
    assert_text(&w->told, "0.000 o: invalid resource name '..': may not be '..'\n0.000 o: ok\n");
}

TEST(what_cannot_be_sent_is_told_and_not_sent)
{
    static const struct {
        const char *name;
        struct str body;
        const char *told;
    } rows[] = {
        { "a/b", { 0 }, "0.000 o: invalid resource name 'a/b': may not contain '/'\n" },
        { "", { 0 }, "0.000 o: resource name may not be empty\n" },
        { "v", { "x", CLIENT_REQUEST_BYTES_MAX }, "0.000 o: request is larger than 16777216 bytes\n" },
        { "v", { "x", CLIENT_REQUEST_BYTES_MAX + 1 }, "0.000 o: request is larger than 16777216 bytes\n" },
        { "v", { "x", SIZE_MAX }, "0.000 o: request is larger than 16777216 bytes\n" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(world_free_p) struct world *w = world_new();
        struct client_request q = request_of(CLIENT_PATCH);
        struct owner_call o = OWNER(w, "o");

        q.name = rows[i].name;
        q.body = rows[i].body;
        owner_send(&o, &q);
        world_advance_ms(w, 60000);
        assert_text(&w->told, rows[i].told);
        assert_text(&w->sent, "");
        assert_false(o.answer.may_have_happened);
        ASSERT_INT(0, o.answer.http_status);
        ASSERT_INT(-1, o.answer.retry_after_seconds);
    }
}

TEST(texts_that_find_no_room)
{
    _cleanup_(arena_done_p) struct arena small = ARENA_INIT(10);
    _cleanup_(arena_done_p) struct arena none = { .used_max = 100, .failed = ERR_NO_MEMORY };
    _cleanup_(arena_done_p) struct arena enough = ARENA_INIT(100);
    struct client_request q = request_of(CLIENT_PATCH);
    struct client_request copy = q;

    q.ns = "a-namespace";
    copy = q;
    ASSERT_ERR(ERR_TOO_LARGE, request_own_texts(&copy, &small, &err));
    copy = q;
    ASSERT_ERR(ERR_NO_MEMORY, request_own_texts(&copy, &none, &err));
    copy = q;
    ASSERT_OK(request_own_texts(&copy, &enough, &err));
    ASSERT_STR("a-namespace", copy.ns);
    assert_ptr_not_equal(q.ns, copy.ns);
    assert_null(copy.if_uid);
    ASSERT_INT(strlen("a-namespace") + 1 + strlen("v") + 1 + q.body.len + 1, enough.used);
}

TEST(promises_of_the_programmer)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct owner_call o = OWNER(w, "o");

    send_verb(&o, CLIENT_GET);
    ASSERT_ABORTS(send_verb(&o, CLIENT_GET));
    ASSERT_ABORTS(client_free(w->client));
    client_cancel(&o.call);
    client_cancel(&o.call); /* idle */
}

/* --- Deadlines --- */

TEST(deadline_ends_a_call)
{
    static const struct {
        enum client_verb verb;
        uint64_t deadline_ns;
        const char *told;
    } rows[] = {
        { CLIENT_GET, 0, "30.000 o: no answer within 30000 ms\n" },
        { CLIENT_LIST, 2 * NS_PER_S, "2.000 o: no answer within 2000 ms\n" },
        { CLIENT_RAW, NS_PER_MS, "0.001 o: no answer within 1 ms\n" },
        { CLIENT_CREATE, 0, "30.000 o: no answer within 30000 ms (maybe)\n" },
        { CLIENT_PATCH, 5 * NS_PER_S, "5.000 o: no answer within 5000 ms (maybe)\n" },
        { CLIENT_DELETE, 0, "30.000 o: no answer within 30000 ms (maybe)\n" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(world_free_p) struct world *w = world_new();
        struct client_request q = request_of(rows[i].verb);
        struct owner_call o = OWNER(w, "o");

        q.deadline_ns = rows[i].deadline_ns;
        owner_send(&o, &q);
        world_advance_ms(w, 100000);
        assert_text(&w->told, rows[i].told);
        ASSERT_INT(ERR_TIMEOUT, o.answer.error.code);
        ASSERT_INT(1, w->scripted.cancelled);
        ASSERT_INT(0, w->scripted.count);
    }
}

/* A moment that the clock never reaches. */
TEST(deadline_may_be_beyond_time)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct client_request q = request_of(CLIENT_GET);
    struct owner_call o = OWNER(w, "o");

    q.deadline_ns = UINT64_MAX;
    owner_send(&o, &q);
    world_advance_ms(w, 1000000);
    assert_text(&w->told, "");
    world_answer(w, 200);
    ASSERT_INT(1, o.ended);
}

TEST(deadline_covers_the_wait_for_the_limit)
{
    _cleanup_(world_free_p) struct world *w = world_new_with(/* qps= */ 0.01, /* burst= */ 1, NULL);
    struct owner_call first = OWNER(w, "first");
    struct owner_call second = OWNER(w, "second");

    send_verb(&first, CLIENT_PATCH);
    send_verb(&second, CLIENT_PATCH);
    world_answer(w, 200);
    world_advance_ms(w, 100000);
    assert_text(&w->told, "0.000 first: ok\n30.000 second: no answer within 30000 ms\n"); /* it never left */
}

/* --- Watches --- */

static void world_event(struct world *w, const char *version)
{
    struct client_attempt *a = w->scripted.attempts[0];

    a->on_event(a, &(struct client_event){ .type = CLIENT_BOOKMARK, .version = version });
}

TEST(watch_hands_on_events_and_has_no_deadline)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct owner_call o = OWNER(w, "o");

    send_verb(&o, CLIENT_WATCH);
    world_event(w, "7");
    world_advance_ms(w, 600000);
    world_event(w, "8");
    world_answer(w, 200);
    assert_text(&w->told, "o: event 7\no: event 8\n600.000 o: ok\n");
}

TEST(watch_may_be_cancelled_from_its_own_event)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct owner_call o = OWNER(w, "o");

    o.cancels = true;
    send_verb(&o, CLIENT_WATCH);
    world_event(w, "7");
    ASSERT_INT(1, w->scripted.cancelled);
    assert_false(client_call_is_active(&o.call));
    assert_text(&w->told, "o: event 7\n");
}

/* Its owner begins anew, from where it knows. */
TEST(watch_is_not_tried_again)
{
    struct client_answer answers[] = {
        answer_of(429, 1),
        answer_of(503, 0),
        failure_of(ERR_UNAVAILABLE, /* was_connected= */ true, /* may_have_happened= */ false),
    };

    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        _cleanup_(world_free_p) struct world *w = world_new();
        struct owner_call o = OWNER(w, "o");

        send_verb(&o, CLIENT_WATCH);
        world_end(w, answers[i]);
        ASSERT_INT(1, o.ended);
        world_advance_ms(w, 60000);
        assert_text(&w->sent, "0.000 GET " PV "?watch=true\n");
    }
}

/* --- Retries --- */

/* machinery-11 */
TEST(machinery_11_post_is_sent_again_when_the_server_says_when)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct owner_call o = OWNER(w, "o");

    send_verb(&o, CLIENT_CREATE);
    for (unsigned n = 0; n < CLIENT_RETRIES_MAX; n++) {
        char sent[64];

        (void)snprintf(sent, sizeof sent, "%u.000 POST " PV " {}\n", n);
        assert_text(&w->sent, sent);
        world_end(w, answer_of(429, 1));
        ASSERT_INT(0, o.ended);
        world_advance_ms(w, 999);
        assert_text(&w->sent, "");
        world_advance_ms(w, 1);
    }
    assert_text(&w->sent, "10.000 POST " PV " {}\n");
    world_end(w, answer_of(429, 1));
    assert_text(&w->told, "10.000 o: said 429\n");
    ASSERT_INT(429, o.answer.http_status);
    ASSERT_INT(1, o.answer.retry_after_seconds);
    world_advance_ms(w, 60000);
    assert_text(&w->sent, "");
}

/* machinery-12 */
TEST(machinery_12_patch_without_retry_after_is_not_sent_again)
{
    static const int statuses[] = { 429, 500, 502, 503, 504 };

    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        _cleanup_(world_free_p) struct world *w = world_new();
        struct owner_call o = OWNER(w, "o");

        send_verb(&o, CLIENT_PATCH);
        world_answer(w, statuses[i]);
        ASSERT_INT(1, o.ended);
        ASSERT_INT(statuses[i], o.answer.http_status);
        world_advance_ms(w, 60000);
        assert_text(&w->sent, "0.000 PATCH " PV "/v {}\n");
    }
}

/* machinery-13 */
TEST(machinery_13_write_that_lost_its_connection_is_not_sent_again)
{
    static const enum client_verb writes[] = { CLIENT_CREATE, CLIENT_PATCH, CLIENT_DELETE };

    for (size_t i = 0; i < ARRAY_LEN(writes); i++) {
        _cleanup_(world_free_p) struct world *w = world_new();
        struct owner_call o = OWNER(w, "o");

        send_verb(&o, writes[i]);
        buf_clear(&w->sent);
        world_end(w, failure_of(ERR_UNAVAILABLE, /* was_connected= */ true, /* may_have_happened= */ true));
        assert_text(&w->told, "0.000 o: connection reset (maybe)\n");
        world_advance_ms(w, 60000);
        assert_text(&w->sent, "");
    }
}

/* machinery-14 */
TEST(machinery_14_read_that_lost_its_connection_is_sent_each_second)
{
    static const enum client_verb reads[] = { CLIENT_GET, CLIENT_LIST, CLIENT_RAW };

    for (size_t i = 0; i < ARRAY_LEN(reads); i++) {
        _cleanup_(world_free_p) struct world *w = world_new();
        struct owner_call o = OWNER(w, "o");

        send_verb(&o, reads[i]);
        for (unsigned n = 0; n < CLIENT_RETRIES_MAX; n++) {
            world_end(w, failure_of(ERR_UNAVAILABLE, /* was_connected= */ true, false));
            world_advance_ms(w, 999);
            ASSERT_INT(0, w->scripted.count);
            world_advance_ms(w, 1);
            ASSERT_INT(1, w->scripted.count);
        }
        world_end(w, failure_of(ERR_UNAVAILABLE, /* was_connected= */ true, false));
        assert_text(&w->told, "10.000 o: connection reset\n");
    }
}

TEST(what_is_no_reason_to_try_again)
{
    struct client_answer answers[] = {
        answer_of(200, 1),
        answer_of(404, 1),
        answer_of(409, 1),
        answer_of(428, 1),
        answer_of(430, 1),
        answer_of(499, 1),
        answer_of(600, 1),
        answer_of(503, -1),
        failure_of(ERR_UNAVAILABLE, /* was_connected= */ false, false), /* refused */
        failure_of(ERR_TIMEOUT, /* was_connected= */ true, false),
        failure_of(ERR_DENIED, /* was_connected= */ true, false), /* a certificate that is not trusted */
    };

    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        _cleanup_(world_free_p) struct world *w = world_new();
        struct owner_call o = OWNER(w, "o");

        send_verb(&o, CLIENT_GET);
        world_end(w, answers[i]);
        ASSERT_INT(1, o.ended);
        ASSERT_INT(answers[i].http_status, o.answer.http_status);
    }
}

TEST(wait_that_the_server_asks_for_is_capped)
{
    static const struct {
        int status;
        int64_t seconds;
        uint64_t ms;
    } rows[] = {
        { 429, 0, 0 },      { 500, 1, 1000 },          { 599, 29, 29000 },        { 503, 30, 30000 },
        { 503, 31, 30000 }, { 429, INT32_MAX, 30000 }, { 429, INT64_MAX, 30000 },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(world_free_p) struct world *w = world_new();
        struct client_request q = request_of(CLIENT_DELETE);
        struct owner_call o = OWNER(w, "o");

        q.deadline_ns = 100 * NS_PER_S;
        owner_send(&o, &q);
        world_end(w, answer_of(rows[i].status, rows[i].seconds));
        if (rows[i].ms) {
            world_advance_ms(w, rows[i].ms - 1);
            ASSERT_INT(0, w->scripted.count);
        }
        world_advance_ms(w, 1);
        ASSERT_INT(1, w->scripted.count);
        world_answer(w, 200);
        ASSERT_INT(0, o.answer.r);
    }
}

TEST(deadline_covers_the_wait_for_the_next_try)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct client_request q = request_of(CLIENT_PATCH);
    struct owner_call o = OWNER(w, "o");

    q.deadline_ns = 5 * NS_PER_S;
    owner_send(&o, &q);
    world_end(w, answer_of(429, 3));
    world_advance_ms(w, 3000);
    world_end(w, answer_of(503, 3));
    world_advance_ms(w, 10000);
    assert_text(&w->told, "5.000 o: no answer within 5000 ms; last attempt: said 503\n");
    ASSERT_INT(ERR_TIMEOUT, o.answer.error.code);
    assert_text(&w->sent, "0.000 PATCH " PV "/v {}\n3.000 PATCH " PV "/v {}\n");
}

/* The deadline counts from sending, not from the last try. */
TEST(deadline_holds_for_the_last_try_too)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct owner_call o = OWNER(w, "o");

    send_verb(&o, CLIENT_PATCH);
    world_end(w, answer_of(429, 20));
    world_advance_ms(w, 29999);
    ASSERT_INT(1, w->scripted.count);
    ASSERT_INT(0, o.ended);
    world_advance_ms(w, 1);
    assert_text(&w->told, "30.000 o: no answer within 30000 ms; last attempt: said 429 (maybe)\n");
}

/* A try of which nobody knows whether it took effect is not forgotten because the next one failed. */
TEST(doubt_outlives_the_try)
{
    static const struct {
        int last;
        const char *told;
    } rows[] = { { 409, "1.000 o: said 409 (maybe)\n" }, { 200, "1.000 o: ok\n" } };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(world_free_p) struct world *w = world_new();
        struct client_answer unclear = answer_of(504, 1);
        struct owner_call o = OWNER(w, "o");

        unclear.may_have_happened = true;
        send_verb(&o, CLIENT_PATCH);
        world_end(w, unclear);
        world_advance_ms(w, 1000);
        world_answer(w, rows[i].last);
        assert_text(&w->told, rows[i].told);
    }
}

TEST(retries_of_a_call_begin_at_zero_each_time)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct owner_call o = OWNER(w, "o");

    for (unsigned round = 0; round < 2; round++) {
        send_verb(&o, CLIENT_CREATE);
        for (unsigned n = 0; n < CLIENT_RETRIES_MAX; n++) {
            world_end(w, answer_of(503, 0));
            world_advance_ms(w, 0);
        }
        world_answer(w, 200);
        ASSERT_INT(round + 1, o.ended);
        ASSERT_INT(0, o.answer.r);
    }
}

/* --- Cancelling --- */

/* Brings a call to each point of its life. */
static void reach_deferred(struct world *w, struct owner_call *o)
{
    struct client_request q = request_of(CLIENT_PATCH);

    (void)w;
    q.name = "..";
    owner_send(o, &q);
}

static void reach_sent(struct world *w, struct owner_call *o)
{
    (void)w;
    send_verb(o, CLIENT_PATCH);
}

static void reach_watching(struct world *w, struct owner_call *o)
{
    send_verb(o, CLIENT_WATCH);
    world_event(w, "1");
}

static void reach_waiting(struct world *w, struct owner_call *o)
{
    send_verb(o, CLIENT_PATCH);
    world_end(w, answer_of(429, 1));
}

static void reach_sent_again(struct world *w, struct owner_call *o)
{
    reach_waiting(w, o);
    world_advance_ms(w, 1000);
}

static void reach_queued(struct world *w, struct owner_call *o)
{
    struct owner_call before = OWNER(w, "before");

    send_verb(&before, CLIENT_GET);
    client_cancel(&before.call); /* and its token is gone */
    send_verb(o, CLIENT_PATCH);
}

static void reach_queued_again(struct world *w, struct owner_call *o)
{
    send_verb(o, CLIENT_PATCH);
    world_end(w, answer_of(429, 0));
    world_advance_ms(w, 0);
}

static void reach_gated(struct world *w, struct owner_call *o)
{
    w->is_gate_shut = true;
    client_set_gate(w->client, world_gate, w);
    send_verb(o, CLIENT_PATCH);
}

TEST(cancelled_call_is_not_heard_of_again)
{
    static const struct {
        void (*reach)(struct world *w, struct owner_call *o);
        bool is_carried;
    } rows[] = {
        { reach_deferred, false },     { reach_sent, true },       { reach_watching, true },
        { reach_waiting, false },      { reach_sent_again, true }, { reach_queued, false },
        { reach_queued_again, false }, { reach_gated, false },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(world_free_p) struct world *w = world_new_with(/* qps= */ 1, /* burst= */ 1, NULL);
        struct owner_call o = OWNER(w, "o");
        uint64_t at_ns;

        rows[i].reach(w, &o);
        assert_true(client_call_is_active(&o.call));
        ASSERT_INT(rows[i].is_carried, w->scripted.count);
        client_cancel(&o.call);
        ASSERT_INT(0, w->scripted.count);
        assert_false(loop_next_timer_ns(w->loop, &at_ns));
        memset(&o.call, 0, sizeof o.call); /* it owns nothing: a leak would show */
        buf_clear(&w->told);
        buf_clear(&w->sent);
        world_advance_ms(w, 100000);
        assert_text(&w->told, "");
        assert_text(&w->sent, "");
        ASSERT_INT(0, o.ended);
    }
}

/* --- The gate --- */

TEST(gate_holds_back_writes_alone)
{
    static const struct {
        enum client_verb verb;
        bool is_urgent;
        bool passes;
    } rows[] = {
        { CLIENT_GET, false, true },     { CLIENT_LIST, false, true },    { CLIENT_WATCH, false, true },
        { CLIENT_RAW, false, true },     { CLIENT_CREATE, false, false }, { CLIENT_PATCH, false, false },
        { CLIENT_DELETE, false, false }, { CLIENT_PATCH, true, true },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(world_free_p) struct world *w = world_new();
        struct client_request q = request_of(rows[i].verb);
        struct owner_call o = OWNER(w, "o");

        w->is_gate_shut = true;
        client_set_gate(w->client, world_gate, w);
        q.is_urgent = rows[i].is_urgent;
        owner_send(&o, &q);
        ASSERT_INT(rows[i].passes, w->scripted.count);
        if (rows[i].passes) {
            client_cancel(&o.call);
            continue;
        }
        (void)loop_poll(w->loop);
        assert_text(&w->told, "0.000 o: the term is over\n");
        ASSERT_INT(ERR_CANCELLED, o.answer.error.code);
    }
}

TEST(gate_that_is_open_or_gone_lets_pass)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct owner_call o = OWNER(w, "o");

    client_set_gate(w->client, world_gate, w);
    send_verb(&o, CLIENT_PATCH);
    world_answer(w, 200);
    ASSERT_INT(1, w->asked_gate);
    w->is_gate_shut = true;
    client_set_gate(w->client, NULL, NULL);
    send_verb(&o, CLIENT_PATCH);
    world_answer(w, 200);
    ASSERT_INT(2, o.ended);
}

/* machinery-52, machinery-53: no write after the term. */
TEST(machinery_53_write_in_the_queue_is_dropped_when_the_gate_shuts)
{
    _cleanup_(world_free_p) struct world *w = world_new_with(/* qps= */ 1, /* burst= */ 1, NULL);
    struct owner_call a = OWNER(w, "a");
    struct owner_call b = OWNER(w, "b");
    struct owner_call c = OWNER(w, "c");

    client_set_gate(w->client, world_gate, w);
    send_verb(&a, CLIENT_PATCH);
    send_verb(&b, CLIENT_PATCH);
    send_verb(&c, CLIENT_GET);
    world_answer(w, 200);
    w->is_gate_shut = true;
    world_advance_ms(w, 1000);
    /* The dropped one cost nothing: the read behind it has its place. */
    assert_text(&w->sent, "0.000 PATCH " PV "/v {}\n1.000 GET " PV "/v\n");
    assert_text(&w->told, "0.000 a: ok\n1.000 b: the term is over\n");
    world_answer(w, 200);
}

/* machinery-52, machinery-53 */
TEST(machinery_53_write_that_waits_for_a_retry_is_dropped_when_the_gate_shuts)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct owner_call o = OWNER(w, "o");

    client_set_gate(w->client, world_gate, w);
    send_verb(&o, CLIENT_PATCH);
    world_end(w, answer_of(429, 5));
    w->is_gate_shut = true;
    world_advance_ms(w, 60000);
    assert_text(&w->sent, "0.000 PATCH " PV "/v {}\n");
    assert_text(&w->told, "5.000 o: the term is over\n");
    ASSERT_INT(ERR_CANCELLED, o.answer.error.code);
}

/* --- Many --- */

TEST(thousands_are_under_way_at_once)
{
    enum { MANY = 10000 };
    _cleanup_(world_free_p) struct world *w = world_new();
    struct owner_call *o = calloc(MANY, sizeof *o);

    assert_non_null(o);
    for (size_t i = 0; i < MANY; i++) {
        o[i] = OWNER(w, "o");
        send_verb(&o[i], CLIENT_PATCH);
    }
    ASSERT_INT(MANY, w->scripted.count);
    while (w->scripted.count) {
        struct client_attempt *last = w->scripted.attempts[w->scripted.count - 1];
        struct client_answer answer = answer_of(200, -1);

        w->scripted.count--;
        last->on_end(last, &answer);
    }
    for (size_t i = 0; i < MANY; i++)
        ASSERT_INT(1, o[i].ended);
    free(o);
}

/* Whatever happens in whatever order: a call ends once, or is cancelled and never heard of again. */
struct chance {
    struct world *w;
    struct rng rng;
    struct owner_call calls[16];
    unsigned expected[16]; /* ends, the one that is still to come included */
};

static void chance_step(struct chance *x)
{
    size_t i = (size_t)rng_below(&x->rng, ARRAY_LEN(x->calls));
    struct owner_call *o = &x->calls[i];

    switch (rng_below(&x->rng, 6)) {
    case 0:
    case 1:
        if (!client_call_is_active(&o->call)) {
            send_verb(o, (enum client_verb)rng_below(&x->rng, CLIENT_VERB_COUNT));
            x->expected[i]++;
        }
        break;
    case 2:
        if (client_call_is_active(&o->call)) {
            client_cancel(&o->call);
            x->expected[i]--;
        }
        break;
    case 3:
        world_advance_ms(x->w, rng_below(&x->rng, 3000));
        break;
    case 4:
        x->w->is_gate_shut = rng_chance(&x->rng, 20);
        break;
    default:
        if (x->w->scripted.count)
            world_end(x->w,
                      rng_chance(&x->rng, 50)
                          ? answer_of(rng_chance(&x->rng, 50) ? 200 : 503, (int64_t)rng_below(&x->rng, 4) - 1)
                          : failure_of(ERR_UNAVAILABLE, rng_chance(&x->rng, 50), false));
    }
}

static void chance_check(const struct chance *x)
{
    for (size_t i = 0; i < ARRAY_LEN(x->calls); i++) {
        bool is_active = client_call_is_active(&x->calls[i].call);

        ASSERT_INT(x->expected[i], x->calls[i].ended + (is_active ? 1 : 0));
    }
}

TEST(every_call_ends_once_whatever_happens)
{
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct chance x = { .w = world_new_with(seed % 2 ? 3 : 0, 2, NULL) };

        rng_init(&x.rng, seed);
        client_set_gate(x.w->client, world_gate, x.w);
        for (size_t i = 0; i < ARRAY_LEN(x.calls); i++)
            x.calls[i] = OWNER(x.w, "x");
        for (unsigned n = 0; n < 500; n++) {
            chance_step(&x);
            chance_check(&x);
        }
        for (size_t i = 0; i < ARRAY_LEN(x.calls); i++)
            client_cancel(&x.calls[i].call);
        world_free(x.w);
    }
}

TEST_MAIN()
