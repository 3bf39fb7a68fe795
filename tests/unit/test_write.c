/* Writes that look again: tries, delays and decisions over a scripted carrier. The same against the real
 * server: test_write_races.c. */
#include "tests/unit/test_client.h"

#include "machinery/merge_patch.h"
#include "machinery/write.h"
#include "tests/unit/aborts.h"

/* A write, how its owner decides, and what became of it. */
struct writer {
    struct write write;
    struct world *world;
    struct rng rng;
    enum write_verdict verdict; /* about what is there */
    enum write_verdict verdict_of_nothing;
    unsigned decided;
    unsigned ended;
    struct client_answer answer;
    char object_uid[16];
    bool restarts;
    bool overflows;
};

static enum write_verdict writer_decide(void *ctx, const struct object *now, struct buf *body,
                                        struct error *e)
{
    struct writer *x = ctx;
    enum write_verdict verdict = now ? x->verdict : x->verdict_of_nothing;

    x->decided++;
    if (verdict == WRITE_REFUSE)
        (void)error_set(e, ERR_DENIED, "not ours");
    if (verdict == WRITE_SEND)
        buf_addf(body, "%s", now ? now->uid : "new");
    if (x->overflows)
        (void)buf_grow(body, WRITE_BODY_BYTES_MAX + 1);
    return verdict;
}

static void writer_start(struct writer *x, enum client_verb verb, enum write_patience patience);

static void writer_done(void *ctx, const struct client_answer *a)
{
    struct writer *x = ctx;

    assert_false(write_is_active(&x->write));
    x->ended++;
    x->answer = *a;
    (void)snprintf(x->object_uid, sizeof x->object_uid, "%s", a->object ? a->object->uid : "");
    if (x->restarts) {
        x->restarts = false;
        writer_start(x, CLIENT_PATCH, WRITE_FEW_FAST);
    }
}

static void writer_start(struct writer *x, enum client_verb verb, enum write_patience patience)
{
    unsigned ended = x->ended;
    char name[] = "v";
    struct write_options o = { .client = x->world->client,
                               .loop = x->world->loop,
                               .rng = &x->rng,
                               .patience = patience,
                               .request = { .verb = verb, .kind = kind_info(KIND_VOLUME), .name = name },
                               .decide = writer_decide,
                               .done = writer_done,
                               .ctx = x };

    if (verb == CLIENT_DELETE)
        o.request.if_uid = "u1";
    write_start(&x->write, &o);
    name[0] = 'x'; /* it was copied */
    assert_true(write_is_active(&x->write));
    ASSERT_INT(ended, x->ended);
}

static void writer_init(struct writer *x, struct world *w)
{
    *x = (struct writer){ .world = w };
    rng_init(&x->rng, 1);
}

/* --- Answers --- */

static struct object *volume_of(const char *uid, bool is_deleting)
{
    _cleanup_(json_done_p) struct json d;
    char text[256];
    struct object *o = NULL;

    json_init(&d, 1 << 20);
    (void)snprintf(text, sizeof text,
                   "{\"kind\":\"PersistentVolume\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"v\","
                   "\"uid\":\"%s\",\"resourceVersion\":\"5\"%s}}",
                   uid, is_deleting ? ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"" : "");
    ASSERT_OK(object_decode(kind_info(KIND_VOLUME), str_of(text), &d, &o, &err));
    return o;
}

static void answer_object(struct world *w, const char *uid)
{
    _cleanup_(object_unref_p) struct object *o = volume_of(uid, false);
    struct client_answer a = answer_of(200, -1);

    world_advance_ms(w, 0);
    a.object = o;
    world_end(w, a);
}

static void answer_error(struct world *w, int http_status, enum err code, bool may_have_happened)
{
    struct client_answer a = answer_of(http_status, -1);

    world_advance_ms(w, 0);
    a.r = error_set(&a.error, code, "%s", error_name(code));
    a.may_have_happened = may_have_happened;
    world_end(w, a);
}

static void answer_conflict(struct world *w)
{
    answer_error(w, 409, ERR_CONFLICT, false);
}

static void answer_missing(struct world *w)
{
    answer_error(w, 404, ERR_NOT_FOUND, false);
}

static void answer_lost(struct world *w)
{
    answer_error(w, 0, ERR_UNAVAILABLE, true);
}

#define GET "GET " PV "/v\n"
#define PATCH(uid) "PATCH " PV "/v " uid "\n"

/* --- Patches --- */

TEST(patch_reads_decides_and_writes)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct writer x;

    writer_init(&x, w);
    writer_start(&x, CLIENT_PATCH, WRITE_FEW_FAST);
    answer_object(w, "u1");
    answer_object(w, "u1");
    assert_text(&w->sent, "0.000 " GET "0.000 " PATCH("u1"));
    ASSERT_INT(1, x.ended);
    ASSERT_INT(0, x.answer.r);
    ASSERT_STR("u1", x.object_uid);
}

TEST(patch_may_find_nothing_to_do_or_refuse)
{
    static const struct {
        enum write_verdict verdict;
        int r;
        const char *uid;
    } rows[] = { { WRITE_ALREADY, 0, "u1" }, { WRITE_REFUSE, -ERR_DENIED, "" } };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(world_free_p) struct world *w = world_new();
        struct writer x;

        writer_init(&x, w);
        x.verdict = rows[i].verdict;
        writer_start(&x, CLIENT_PATCH, WRITE_FEW_FAST);
        answer_object(w, "u1");
        ASSERT_INT(1, x.ended);
        ASSERT_INT(rows[i].r, x.answer.r);
        ASSERT_STR(rows[i].uid, x.object_uid);
        assert_text(&w->sent, "0.000 " GET);
    }
}

TEST(patch_of_nothing_is_not_found)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct writer x;

    writer_init(&x, w);
    writer_start(&x, CLIENT_PATCH, WRITE_FEW_FAST);
    answer_missing(w);
    ASSERT_INT(-ERR_NOT_FOUND, x.answer.r);
    ASSERT_INT(0, x.decided);
}

TEST(conflicts_are_tried_five_times_a_hundredth_of_a_second_apart)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    uint64_t at_ns[5];
    struct writer x;

    writer_init(&x, w);
    writer_start(&x, CLIENT_PATCH, WRITE_FEW_FAST);
    world_advance_ms(w, 0);
    for (unsigned n = 0; n < 5; n++) {
        at_ns[n] = clock_mono_ns(&w->time.clock);
        answer_object(w, "u1");
        ASSERT_INT(n, x.write.tries - 1);
        answer_conflict(w);
        while (n < 4 && w->scripted.count == 0)
            loop_advance(w->loop, &w->time, NS_PER_US);
    }
    ASSERT_INT(1, x.ended);
    ASSERT_INT(-ERR_CONFLICT, x.answer.r);
    ASSERT_INT(409, x.answer.http_status);
    ASSERT_INT(5, x.decided); /* anew each time */
    for (unsigned n = 1; n < 5; n++)
        assert_in_range(at_ns[n] - at_ns[n - 1], 9 * NS_PER_MS, 11 * NS_PER_MS + NS_PER_US);
}

/* The jitter reaches both sides of its range and never leaves it. */
TEST(delays_are_spread)
{
    uint64_t least = UINT64_MAX, most = 0;

    for (uint64_t seed = 0; seed < 300; seed++) {
        _cleanup_(world_free_p) struct world *w = world_new();
        struct writer x;
        uint64_t at_ns = 0;

        writer_init(&x, w);
        rng_init(&x.rng, seed);
        writer_start(&x, CLIENT_PATCH, WRITE_FEW_FAST);
        answer_object(w, "u1");
        answer_conflict(w);
        assert_true(loop_next_timer_ns(w->loop, &at_ns));
        at_ns -= clock_mono_ns(&w->time.clock);
        least = at_ns < least ? at_ns : least;
        most = at_ns > most ? at_ns : most;
        write_cancel(&x.write);
    }
    assert_in_range(least, 9 * NS_PER_MS, 9200 * NS_PER_US);
    assert_in_range(most, 10800 * NS_PER_US, 11 * NS_PER_MS);
}

TEST(backoff_grows_fivefold_and_gives_up_after_four)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct writer x;

    writer_init(&x, w);
    writer_start(&x, CLIENT_PATCH, WRITE_BACKOFF);
    for (unsigned n = 0; n < 4; n++) {
        answer_object(w, "u1");
        answer_conflict(w);
        world_advance_ms(w, 1000);
    }
    ASSERT_INT(1, x.ended);
    assert_text(&w->sent, "0.000 " GET "0.000 " PATCH("u1") "0.010 " GET "1.000 " PATCH(
                              "u1") "1.050 " GET "2.000 " PATCH("u1") "2.250 " GET "3.000 " PATCH("u1"));
}

TEST(decision_is_made_on_what_is_there_then)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct writer x;

    writer_init(&x, w);
    writer_start(&x, CLIENT_PATCH, WRITE_FEW_FAST);
    answer_object(w, "u1");
    answer_conflict(w);
    world_advance_ms(w, 20);
    buf_clear(&w->sent);
    answer_object(w, "u2");
    assert_text(&w->sent, "0.020 " PATCH("u2"));
    answer_object(w, "u2");
    ASSERT_INT(0, x.answer.r);
}

/* An answer that got lost: looking tells. */
TEST(lost_answer_is_looked_up)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct writer x;

    writer_init(&x, w);
    writer_start(&x, CLIENT_PATCH, WRITE_FEW_FAST);
    answer_object(w, "u1");
    answer_lost(w);
    ASSERT_INT(0, x.ended);
    world_advance_ms(w, 20);
    x.verdict = WRITE_ALREADY; /* it had arrived */
    answer_object(w, "u1");
    ASSERT_INT(1, x.ended);
    ASSERT_INT(0, x.answer.r);
    assert_false(x.answer.may_have_happened);
    ASSERT_INT(1, x.decided - 1);
}

/* A server that keeps losing answers is not asked five times. */
TEST(second_doubt_is_the_owners)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct writer x;

    writer_init(&x, w);
    writer_start(&x, CLIENT_PATCH, WRITE_FEW_FAST);
    answer_object(w, "u1");
    answer_lost(w);
    world_advance_ms(w, 20);
    answer_object(w, "u1");
    answer_lost(w);
    ASSERT_INT(1, x.ended);
    ASSERT_INT(-ERR_UNAVAILABLE, x.answer.r);
    assert_true(x.answer.may_have_happened);
}

/* What a failed look could not clear stays open, and what it cleared does not. */
TEST(doubt_ends_with_a_look)
{
    static const struct {
        int status;
        enum err code;
        bool is_open;
    } rows[] = { { 403, ERR_DENIED, true }, { 0, ERR_UNAVAILABLE, true }, { 404, ERR_NOT_FOUND, false } };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(world_free_p) struct world *w = world_new();
        struct writer x;

        writer_init(&x, w);
        writer_start(&x, CLIENT_PATCH, WRITE_FEW_FAST);
        answer_object(w, "u1");
        answer_lost(w);
        world_advance_ms(w, 20);
        answer_error(w, rows[i].status, rows[i].code, false);
        ASSERT_INT(1, x.ended);
        ASSERT_INT(-(int)rows[i].code, x.answer.r);
        ASSERT_INT(rows[i].is_open, x.answer.may_have_happened);
    }
}

TEST(other_answers_are_told_at_once)
{
    static const enum client_verb verbs[] = { CLIENT_PATCH, CLIENT_CREATE, CLIENT_DELETE };

    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        _cleanup_(world_free_p) struct world *w = world_new();
        struct writer x;

        writer_init(&x, w);
        writer_start(&x, verbs[i], WRITE_FEW_FAST);
        if (verbs[i] == CLIENT_PATCH)
            answer_object(w, "u1");
        answer_error(w, 403, ERR_DENIED, false);
        ASSERT_INT(1, x.ended);
        ASSERT_INT(-ERR_DENIED, x.answer.r);
    }
}

TEST(body_that_does_not_fit_is_an_error)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct writer x;

    writer_init(&x, w);
    x.overflows = true;
    writer_start(&x, CLIENT_CREATE, WRITE_FEW_FAST);
    world_advance_ms(w, 0);
    ASSERT_INT(-ERR_TOO_LARGE, x.answer.r);
    assert_text(&w->sent, "");
}

/* --- Creates --- */

TEST(create_writes_first)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct writer x;

    writer_init(&x, w);
    writer_start(&x, CLIENT_CREATE, WRITE_FEW_FAST);
    answer_object(w, "u1");
    assert_text(&w->sent, "0.000 POST " PV " new\n");
    ASSERT_STR("u1", x.object_uid);
}

TEST(create_of_a_taken_name_is_decided_by_its_owner)
{
    static const struct {
        enum write_verdict verdict;
        int r;
        const char *uid;
    } rows[] = { { WRITE_ALREADY, 0, "u1" }, { WRITE_REFUSE, -ERR_DENIED, "" } };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(world_free_p) struct world *w = world_new();
        struct writer x;

        writer_init(&x, w);
        x.verdict = rows[i].verdict;
        writer_start(&x, CLIENT_CREATE, WRITE_FEW_FAST);
        answer_error(w, 409, ERR_EXISTS, false);
        world_advance_ms(w, 20);
        answer_object(w, "u1");
        ASSERT_INT(1, x.ended);
        ASSERT_INT(rows[i].r, x.answer.r);
        ASSERT_STR(rows[i].uid, x.object_uid);
    }
}

/* Taken, and gone when looked for; five times over. */
TEST(create_gives_up_at_last)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct writer x;

    writer_init(&x, w);
    writer_start(&x, CLIENT_CREATE, WRITE_FEW_FAST);
    for (unsigned n = 0; n < 5; n++) {
        answer_error(w, 409, ERR_EXISTS, false);
        world_advance_ms(w, 20);
        if (n < 4)
            answer_missing(w);
    }
    ASSERT_INT(1, x.ended);
    ASSERT_INT(-ERR_EXISTS, x.answer.r);
}

TEST(create_refused_by_its_owner_sends_nothing)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct writer x;

    writer_init(&x, w);
    x.verdict_of_nothing = WRITE_REFUSE;
    writer_start(&x, CLIENT_CREATE, WRITE_FEW_FAST);
    world_advance_ms(w, 0);
    ASSERT_INT(1, x.ended);
    ASSERT_INT(-ERR_DENIED, x.answer.r);
    assert_text(&w->sent, "");
}

/* --- Deletes --- */

TEST(delete_ends_well_when_the_object_is_gone)
{
    static const enum err missing[] = { ERR_NONE, ERR_NOT_FOUND };

    for (size_t i = 0; i < ARRAY_LEN(missing); i++) {
        _cleanup_(world_free_p) struct world *w = world_new();
        struct writer x;

        writer_init(&x, w);
        writer_start(&x, CLIENT_DELETE, WRITE_FEW_FAST);
        if (missing[i])
            answer_missing(w);
        else
            answer_object(w, "u1");
        ASSERT_INT(1, x.ended);
        ASSERT_INT(0, x.answer.r);
        ASSERT_INT(0, x.decided);
        assert_text(&w->sent, "0.000 DELETE " PV "/v\n");
    }
}

/* After a lost answer or a conflict: who is there now? */
TEST(delete_looks_who_is_there)
{
    static const struct {
        const char *uid; /* NULL: nobody */
        bool is_deleting;
        bool sends_again;
    } rows[] = {
        { NULL, false, false }, { "u1", true, false }, { "u2", false, false }, { "u1", false, true }
    };

    for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
        _cleanup_(world_free_p) struct world *w = world_new();
        _cleanup_(object_unref_p) struct object *there = NULL;
        struct client_answer a = answer_of(200, -1);
        size_t row = i / 2;
        struct writer x;

        writer_init(&x, w);
        writer_start(&x, CLIENT_DELETE, WRITE_FEW_FAST);
        if (i % 2)
            answer_lost(w);
        else
            answer_conflict(w);
        world_advance_ms(w, 20);
        buf_clear(&w->sent);
        if (rows[row].uid) {
            there = volume_of(rows[row].uid, rows[row].is_deleting);
            a.object = there;
            world_end(w, a);
        } else {
            answer_missing(w);
        }
        ASSERT_INT(rows[row].sends_again ? 0 : 1, x.ended);
        if (rows[row].sends_again) {
            assert_text(&w->sent, "0.020 DELETE " PV "/v\n");
            answer_missing(w);
        }
        ASSERT_INT(0, x.answer.r);
    }
}

/* Who deletes a version wants to hear that there is another. */
TEST(delete_of_a_version_tells_the_conflict)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct writer x;
    struct write_options o = { .client = w->client, .loop = w->loop, .rng = &x.rng };

    writer_init(&x, w);
    o.request = request_of(CLIENT_DELETE);
    o.request.if_uid = "u1";
    o.request.if_version = "4";
    o.done = writer_done;
    o.ctx = &x;
    write_start(&x.write, &o);
    answer_conflict(w);
    ASSERT_INT(1, x.ended);
    ASSERT_INT(-ERR_CONFLICT, x.answer.r);
}

/* --- Owners --- */

static void reach(struct world *w, struct writer *x, unsigned point)
{
    writer_start(x, CLIENT_PATCH, WRITE_FEW_FAST);
    if (point > 0)
        world_advance_ms(w, 0); /* reading */
    if (point > 1)
        answer_object(w, "u1"); /* writing */
    if (point > 2)
        answer_conflict(w); /* waiting */
    if (point > 3)
        world_advance_ms(w, 20); /* reading again */
}

TEST(cancelled_write_is_not_heard_of_again)
{
    for (unsigned point = 0; point < 5; point++) {
        _cleanup_(world_free_p) struct world *w = world_new();
        uint64_t at_ns;
        struct writer x;

        writer_init(&x, w);
        reach(w, &x, point);
        write_cancel(&x.write);
        assert_false(write_is_active(&x.write));
        ASSERT_INT(0, w->scripted.count);
        assert_false(loop_next_timer_ns(w->loop, &at_ns));
        buf_clear(&w->sent);
        world_advance_ms(w, 60000);
        ASSERT_INT(0, x.ended);
        assert_text(&w->sent, "");
        write_cancel(&x.write); /* idle */
    }
}

TEST(write_may_be_started_anew_when_it_ends)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct writer x;

    writer_init(&x, w);
    x.restarts = true;
    writer_start(&x, CLIENT_PATCH, WRITE_FEW_FAST);
    answer_missing(w);
    assert_true(write_is_active(&x.write));
    answer_object(w, "u1");
    answer_object(w, "u1");
    ASSERT_INT(2, x.ended);
}

TEST(promises_of_the_programmer)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct write_options o = { .client = w->client, .loop = w->loop, .done = writer_done };
    struct write write = { 0 };
    struct writer x;

    writer_init(&x, w);
    writer_start(&x, CLIENT_PATCH, WRITE_FEW_FAST);
    ASSERT_ABORTS(writer_start(&x, CLIENT_PATCH, WRITE_FEW_FAST));
    write_cancel(&x.write);
    o.request = request_of(CLIENT_DELETE);
    ASSERT_ABORTS(write_start(&write, &o)); /* of any object of that name */
    o.request = request_of(CLIENT_PATCH);
    ASSERT_ABORTS(write_start(&write, &o)); /* without a decision */
    o.decide = writer_decide;
    o.request = request_of(CLIENT_GET);
    ASSERT_ABORTS(write_start(&write, &o));
}

/* --- Before what cannot be undone --- */

TEST(only_the_server_proves_that_an_object_is_gone)
{
    _cleanup_(object_unref_p) struct object *volume = volume_of("u1", false);
    struct client_answer there = { .object = volume }, nothing = { 0 };
    static const enum err failures[] = { ERR_UNAVAILABLE, ERR_TIMEOUT,   ERR_DENIED,   ERR_UNAUTHORIZED,
                                         ERR_UNSUPPORTED, ERR_NO_MEMORY, ERR_INTERNAL, ERR_GONE };

    ASSERT_INT(LIVE_THERE, write_live_of(&there, "u1"));
    ASSERT_INT(LIVE_GONE, write_live_of(&there, "u2"));
    ASSERT_INT(LIVE_UNKNOWN, write_live_of(&nothing, "u1"));
    ASSERT_INT(LIVE_GONE, write_live_of(&(struct client_answer){ .r = -ERR_NOT_FOUND }, "u1"));
    for (size_t i = 0; i < ARRAY_LEN(failures); i++)
        ASSERT_INT(LIVE_UNKNOWN, write_live_of(&(struct client_answer){ .r = -(int)failures[i] }, "u1"));
}

TEST_MAIN()
