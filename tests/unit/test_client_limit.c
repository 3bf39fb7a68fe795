/* The client's limit on requests, and what it tells: observers, logs, warnings of the server. */
#include "tests/unit/test_client.h"

#include "client/client_warnings.h"

#define GET_V " GET " PV "/v\n"

/* --- The limit --- */

TEST(limit_lets_a_burst_pass_and_spaces_the_rest)
{
    _cleanup_(world_free_p) struct world *w = world_new_with(/* qps= */ 10, /* burst= */ 3, NULL);
    struct owner_call o[6];

    for (size_t i = 0; i < ARRAY_LEN(o); i++) {
        o[i] = OWNER(w, "o");
        send_verb(&o[i], CLIENT_GET);
    }
    assert_text(&w->sent, "0.000" GET_V "0.000" GET_V "0.000" GET_V);
    world_advance_ms(w, 1000);
    assert_text(&w->sent, "0.100" GET_V "0.200" GET_V "0.300" GET_V);
    while (w->scripted.count)
        world_answer(w, 200);
    /* 0.7 s gave the bucket its reserve back, and no more than that. */
    for (size_t i = 0; i < ARRAY_LEN(o); i++)
        send_verb(&o[i], CLIENT_GET);
    world_advance_ms(w, 100);
    assert_text(&w->sent, "1.000" GET_V "1.000" GET_V "1.000" GET_V "1.100" GET_V);
    for (size_t i = 0; i < ARRAY_LEN(o); i++)
        client_cancel(&o[i].call);
}

TEST(no_limit_without_a_rate)
{
    _cleanup_(world_free_p) struct world *w = world_new_with(/* qps= */ 0, /* burst= */ 1, NULL);
    struct owner_call o[100];

    for (size_t i = 0; i < ARRAY_LEN(o); i++) {
        o[i] = OWNER(w, "o");
        send_verb(&o[i], CLIENT_PATCH);
    }
    ASSERT_INT(ARRAY_LEN(o), w->scripted.count);
    for (size_t i = 0; i < ARRAY_LEN(o); i++)
        client_cancel(&o[i].call);
}

TEST(burst_of_none_is_one)
{
    _cleanup_(world_free_p) struct world *w = world_new_with(/* qps= */ 1, /* burst= */ 0, NULL);
    struct owner_call o = OWNER(w, "o");

    send_verb(&o, CLIENT_GET);
    world_answer(w, 200);
    ASSERT_INT(1, o.ended);
}

TEST(calls_leave_in_the_order_they_came)
{
    _cleanup_(world_free_p) struct world *w = world_new_with(/* qps= */ 1, /* burst= */ 1, NULL);
    struct owner_call o[5];
    char names[5][2];

    for (size_t i = 0; i < ARRAY_LEN(o); i++) {
        struct client_request q = request_of(CLIENT_GET);

        (void)snprintf(names[i], sizeof names[i], "%c", (char)('a' + (int)i));
        q.name = names[i];
        o[i] = OWNER(w, names[i]);
        owner_send(&o[i], &q);
    }
    client_cancel(&o[1].call); /* the head of the queue */
    client_cancel(&o[3].call); /* its middle */
    world_advance_ms(w, 5000);
    assert_text(&w->sent, "0.000 GET " PV "/a\n1.000 GET " PV "/c\n2.000 GET " PV "/e\n");
    while (w->scripted.count)
        world_answer(w, 200);
}

TEST(watches_and_urgent_calls_pass_by_the_limit)
{
    _cleanup_(world_free_p) struct world *w = world_new_with(/* qps= */ 1, /* burst= */ 1, NULL);
    struct client_request urgent = request_of(CLIENT_PATCH);
    struct owner_call a = OWNER(w, "a");
    struct owner_call b = OWNER(w, "b");
    struct owner_call watch = OWNER(w, "watch");
    struct owner_call lease = OWNER(w, "lease");

    send_verb(&a, CLIENT_GET);
    send_verb(&b, CLIENT_GET);
    send_verb(&watch, CLIENT_WATCH);
    urgent.is_urgent = true;
    owner_send(&lease, &urgent);
    assert_text(&w->sent, "0.000" GET_V "0.000 GET " PV "?watch=true\n0.000 PATCH " PV "/v {}\n");
    world_advance_ms(w, 1000); /* and cost no token */
    assert_text(&w->sent, "1.000" GET_V);
    while (w->scripted.count)
        world_answer(w, 200);
}

/* A token that was reserved for a call that is gone serves the next. */
TEST(token_is_not_lost_with_the_call_that_waited_for_it)
{
    _cleanup_(world_free_p) struct world *w = world_new_with(/* qps= */ 1, /* burst= */ 1, NULL);
    struct owner_call a = OWNER(w, "a");
    struct owner_call b = OWNER(w, "b");

    send_verb(&a, CLIENT_GET);
    world_answer(w, 200);
    for (unsigned n = 0; n < 10; n++) {
        send_verb(&b, CLIENT_GET);
        client_cancel(&b.call);
    }
    world_advance_ms(w, 400);
    send_verb(&b, CLIENT_GET);
    world_advance_ms(w, 5000);
    world_answer(w, 200);
    send_verb(&b, CLIENT_GET); /* the reserve is full again */
    assert_text(&w->sent, "0.000" GET_V "1.000" GET_V "5.400" GET_V);
    world_answer(w, 200);
}

/* And it is not had twice: the burst stays what it is. */
TEST(token_that_was_given_back_is_one)
{
    _cleanup_(world_free_p) struct world *w = world_new_with(/* qps= */ 1, /* burst= */ 2, NULL);
    struct owner_call o[4];

    for (size_t i = 0; i < ARRAY_LEN(o); i++) {
        o[i] = OWNER(w, "o");
        send_verb(&o[i], CLIENT_GET);
    }
    for (size_t i = 0; i < ARRAY_LEN(o); i++)
        client_cancel(&o[i].call);
    world_advance_ms(w, 10000);
    buf_clear(&w->sent);
    for (size_t i = 0; i < ARRAY_LEN(o); i++)
        send_verb(&o[i], CLIENT_GET);
    assert_text(&w->sent, "10.000" GET_V "10.000" GET_V);
    for (size_t i = 0; i < ARRAY_LEN(o); i++)
        client_cancel(&o[i].call);
}

/* Each retry passes the limit again. */
TEST(retry_waits_for_the_limit)
{
    _cleanup_(world_free_p) struct world *w = world_new_with(/* qps= */ 0.5, /* burst= */ 1, NULL);
    struct owner_call o = OWNER(w, "o");

    send_verb(&o, CLIENT_GET);
    world_end(w, answer_of(429, 1));
    world_advance_ms(w, 10000);
    assert_text(&w->sent, "0.000" GET_V "2.000" GET_V);
    /* The server's wish counts although the limit would allow it sooner. */
    world_end(w, answer_of(429, 3));
    world_advance_ms(w, 10000);
    assert_text(&w->sent, "13.000" GET_V);
    world_answer(w, 200);
}

/* --- What is told of it --- */

TEST(waits_are_logged_by_their_length)
{
    static const struct {
        double qps;
        const char *logged;
    } rows[] = {
        { 20, "" }, /* 50 ms: not worth a line */
        { 10, "DEBUG Waited before sending request ms=100 method=GET resource=persistentvolumes "
              "namespace=null name=v\n" },
        { 1, "DEBUG Waited before sending request ms=1000 method=GET resource=persistentvolumes "
             "namespace=null name=v\n" },
        { 0.5, "INFO Waited before sending request ms=2000 method=GET resource=persistentvolumes "
               "namespace=null name=v\n" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(world_free_p) struct world *w = world_new_with(rows[i].qps, /* burst= */ 1, NULL);
        struct owner_call a = OWNER(w, "a");
        struct owner_call b = OWNER(w, "b");

        send_verb(&a, CLIENT_GET);
        send_verb(&b, CLIENT_GET);
        world_advance_ms(w, 2000);
        assert_text(&w->logged, rows[i].logged);
        world_answer(w, 200);
        world_answer(w, 200);
    }
}

TEST(retries_are_logged_with_their_reason)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct client_request q = request_of(CLIENT_CREATE);
    struct owner_call o = OWNER(w, "o");

    q.kind = kind_info(KIND_CLAIM);
    q.ns = "shop";
    q.body = STR_LIT("{\"secret\":1}");
    owner_send(&o, &q);
    world_end(w, answer_of(429, 1));
    assert_text(&w->logged, "DEBUG request failed, retrying method=POST "
                            "resource=persistentvolumeclaims namespace=shop name=null after_ms=1000 "
                            "retry=1 error=\"said 429\"\n");
    world_advance_ms(w, 1000);
    world_end(w, answer_of(503, 2));
    assert_text(&w->logged, "INFO request failed, retrying method=POST "
                            "resource=persistentvolumeclaims namespace=shop name=null after_ms=2000 "
                            "retry=2 error=\"said 503\"\n");
    client_cancel(&o.call);
}

TEST(observer_sees_attempts_retries_and_waits)
{
    struct client_observer observer = { seen_attempt, seen_retry, seen_wait, NULL };
    _cleanup_(world_free_p) struct world *w = world_new_with(/* qps= */ 0.5, /* burst= */ 1, &observer);
    struct owner_call o = OWNER(w, "o");

    observer.ctx = w;
    send_verb(&o, CLIENT_PATCH);
    world_advance_ms(w, 300);
    world_end(w, answer_of(429, 1));
    assert_text(&w->seen, "PATCH waited 0 ms\nPATCH 429 after 300 ms\nretry PATCH 429\n");
    world_advance_ms(w, 5700);
    assert_text(&w->seen, "PATCH waited 700 ms\n");
    world_answer(w, 200);
    assert_text(&w->seen, "PATCH 200 after 4000 ms\n");

    send_verb(&o, CLIENT_RAW);
    world_end(w, failure_of(ERR_UNAVAILABLE, /* was_connected= */ false, false));
    assert_text(&w->seen, "GET waited 0 ms\nGET 0 after 0 ms\n");

    send_verb(&o, CLIENT_WATCH); /* passes by, and lasts as long as it may */
    world_advance_ms(w, 60000);
    world_answer(w, 200);
    assert_text(&w->seen, "GET 200\n");

    send_verb(&o, CLIENT_DELETE);
    world_advance_ms(w, 60000);
    assert_text(&w->seen, "DELETE waited 0 ms\nDELETE 0 after 30000 ms\n");

    send_verb(&o, CLIENT_GET);
    client_cancel(&o.call);
    assert_text(&w->seen, "GET waited 0 ms\n");
}

TEST(observer_may_leave_things_out)
{
    struct client_observer nothing = { 0 };
    _cleanup_(world_free_p) struct world *w = world_new_with(/* qps= */ 1, /* burst= */ 1, &nothing);
    struct owner_call o = OWNER(w, "o");

    send_verb(&o, CLIENT_GET);
    world_end(w, answer_of(429, 0));
    world_advance_ms(w, 1000);
    world_answer(w, 200);
    ASSERT_INT(1, o.ended);
}

/* --- Warnings --- */

static void warn(struct world *w, struct str text)
{
    struct client_attempt *a = w->scripted.attempts[0];

    a->on_warning(a, text);
}

/* machinery-16 */
TEST(machinery_16_warning_is_logged_once)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct owner_call o = OWNER(w, "o");

    for (unsigned n = 0; n < 100; n++) {
        send_verb(&o, CLIENT_GET);
        warn(w, STR_LIT("v1beta1 is deprecated"));
        if (n % 2)
            warn(w, STR_LIT("v1beta1 is deprecated, too"));
        world_answer(w, 200);
    }
    assert_text(&w->logged, "WARN warning from server warning=\"v1beta1 is deprecated\"\n"
                            "WARN warning from server warning=\"v1beta1 is deprecated, too\"\n");
}

TEST(texts_of_any_bytes_are_told_apart)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct owner_call o = OWNER(w, "o");
    static const struct str texts[] = { { "", 0 },          { "\0", 1 },       { "a", 1 },
                                        { "a\0", 2 },       { "\xff\xff", 2 }, { "12345678", 8 },
                                        { "123456789", 9 }, { "1234567\0", 8 } };

    send_verb(&o, CLIENT_GET);
    for (unsigned round = 0; round < 2; round++)
        for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
            buf_clear(&w->logged);
            warn(w, texts[i]);
            ASSERT_INT(round == 0, w->logged.len > 0);
        }
    client_cancel(&o.call);
}

TEST(warnings_are_bounded)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    static char big[CLIENT_WARNING_BYTES_MAX + 10];
    struct owner_call o = OWNER(w, "o");
    char text[32];

    send_verb(&o, CLIENT_GET);
    memset(big, 'w', sizeof big);
    warn(w, (struct str){ big, sizeof big });
    assert_true(w->logged.len > 0);
    buf_clear(&w->logged);
    warn(w, (struct str){ big, sizeof big - 1 }); /* the same as far as anybody looks */
    ASSERT_INT(0, w->logged.len);

    for (unsigned i = 1; i < CLIENT_WARNINGS_MAX; i++) {
        (void)snprintf(text, sizeof text, "warning %u", i);
        buf_clear(&w->logged);
        warn(w, str_of(text));
        assert_true(w->logged.len > 0);
    }
    buf_clear(&w->logged);
    warn(w, STR_LIT("one too many"));
    assert_text(&w->logged, "WARN too many different warnings from server, not logging more\n");
    warn(w, STR_LIT("and another"));
    warn(w, STR_LIT("warning 1"));
    assert_text(&w->logged, "");
    client_cancel(&o.call);
}

TEST_MAIN()
