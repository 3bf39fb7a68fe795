/* Writes that look again: tries, delays and decisions over a scripted carrier. The same against the real
 * server: test_write_races.c. */
#include "tests/unit/test_client.h"

#include "machinery/api_write.h"
#include "machinery/controller.h"
#include "machinery/merge_patch.h"
#include "machinery/metrics.h"
#include "tests/unit/aborts.h"

/* A write, how its owner decides, and what became of it. */
struct writer {
    struct api_write write;
    struct world *world;
    struct rng rng;
    enum api_decision verdict; /* about what is there */
    enum api_decision verdict_of_nothing;
    unsigned decided;
    unsigned ended;
    enum api_outcome outcome;
    struct client_answer answer;
    char object_uid[16];
    bool restarts;
    bool overflows;
};

static enum api_decision writer_decide(void *ctx, const struct object *now, struct buf *body, struct error *e)
{
    struct writer *x = ctx;
    enum api_decision verdict = now ? x->verdict : x->verdict_of_nothing;

    x->decided++;
    if (verdict == API_REFUSE)
        (void)error_set(e, ERR_DENIED, "not ours");
    if (verdict == API_SEND && !now)
        buf_add_cstr(body, "new");
    if (verdict == API_SEND && now) {
        struct merge_patch p;

        merge_patch_begin(&p, body, now);
        ASSERT_OK(merge_patch_end(&p, &err));
    }
    if (x->overflows)
        (void)buf_grow(body, WRITE_BODY_BYTES_MAX + 1);
    return verdict;
}

static void writer_start(struct writer *x, enum client_verb verb, enum api_patience patience);

static void writer_done(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct writer *x = ctx;

    assert_false(api_write_is_active(&x->write));
    x->ended++;
    x->outcome = outcome;
    x->answer = *a;
    (void)snprintf(x->object_uid, sizeof x->object_uid, "%s", a->object ? a->object->uid : "");
    if (x->restarts) {
        x->restarts = false;
        writer_start(x, CLIENT_PATCH, API_FEW_FAST);
    }
}

static void writer_start(struct writer *x, enum client_verb verb, enum api_patience patience)
{
    unsigned ended = x->ended;
    char name[] = "v";
    struct api_write_options o = {
        .api = { .client = x->world->client, .loop = x->world->loop, .rng = &x->rng },
        .patience = patience,
        .request = { .verb = verb, .kind = kind_info(KIND_VOLUME), .name = name },
        .decide = writer_decide,
        .done = writer_done,
        .ctx = x
    };

    if (verb == CLIENT_DELETE)
        o.request.if_uid = "u1";
    api_write_start(&x->write, &o);
    name[0] = 'x'; /* it was copied */
    assert_true(api_write_is_active(&x->write));
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
#define PATCH(uid) "PATCH " PV "/v {\"metadata\":{\"uid\":\"" uid "\",\"resourceVersion\":\"5\"}}\n"

/* --- Patches --- */

TEST(patch_reads_decides_and_writes)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct writer x;

    writer_init(&x, w);
    writer_start(&x, CLIENT_PATCH, API_FEW_FAST);
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
        enum api_decision verdict;
        int r;
        const char *uid;
    } rows[] = { { API_AS_IT_IS, 0, "u1" }, { API_REFUSE, -ERR_DENIED, "" } };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(world_free_p) struct world *w = world_new();
        struct writer x;

        writer_init(&x, w);
        x.verdict = rows[i].verdict;
        writer_start(&x, CLIENT_PATCH, API_FEW_FAST);
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
    writer_start(&x, CLIENT_PATCH, API_FEW_FAST);
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
    writer_start(&x, CLIENT_PATCH, API_FEW_FAST);
    world_advance_ms(w, 0);
    for (unsigned n = 0; n < 5; n++) {
        at_ns[n] = clock_mono_ns(&w->time.clock);
        answer_object(w, "u1");
        ASSERT_INT(n, x.decided - 1);
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
        writer_start(&x, CLIENT_PATCH, API_FEW_FAST);
        answer_object(w, "u1");
        answer_conflict(w);
        assert_true(loop_next_timer_ns(w->loop, &at_ns));
        at_ns -= clock_mono_ns(&w->time.clock);
        least = at_ns < least ? at_ns : least;
        most = at_ns > most ? at_ns : most;
        api_write_cancel(&x.write);
    }
    assert_in_range(least, 9 * NS_PER_MS, 9200 * NS_PER_US);
    assert_in_range(most, 10800 * NS_PER_US, 11 * NS_PER_MS);
}

TEST(backoff_grows_fivefold_and_gives_up_after_four)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct writer x;

    writer_init(&x, w);
    writer_start(&x, CLIENT_PATCH, API_BACKOFF);
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
    writer_start(&x, CLIENT_PATCH, API_FEW_FAST);
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
    writer_start(&x, CLIENT_PATCH, API_FEW_FAST);
    answer_object(w, "u1");
    answer_lost(w);
    ASSERT_INT(0, x.ended);
    world_advance_ms(w, 20);
    x.verdict = API_AS_IT_IS; /* it had arrived */
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
    writer_start(&x, CLIENT_PATCH, API_FEW_FAST);
    answer_object(w, "u1");
    answer_lost(w);
    world_advance_ms(w, 20);
    answer_object(w, "u1");
    answer_lost(w);
    answer_object(w, "u1"); /* looked at once more before the owner hears */
    ASSERT_INT(1, x.ended);
    ASSERT_INT(API_UNCERTAIN, x.outcome);
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
        writer_start(&x, CLIENT_PATCH, API_FEW_FAST);
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
        writer_start(&x, verbs[i], API_FEW_FAST);
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
    writer_start(&x, CLIENT_CREATE, API_FEW_FAST);
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
    writer_start(&x, CLIENT_CREATE, API_FEW_FAST);
    answer_object(w, "u1");
    assert_text(&w->sent, "0.000 POST " PV " new\n");
    ASSERT_STR("u1", x.object_uid);
}

TEST(create_of_a_taken_name_is_decided_by_its_owner)
{
    static const struct {
        enum api_decision verdict;
        int r;
        const char *uid;
    } rows[] = { { API_AS_IT_IS, 0, "u1" }, { API_REFUSE, -ERR_DENIED, "" } };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(world_free_p) struct world *w = world_new();
        struct writer x;

        writer_init(&x, w);
        x.verdict = rows[i].verdict;
        writer_start(&x, CLIENT_CREATE, API_FEW_FAST);
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
    writer_start(&x, CLIENT_CREATE, API_FEW_FAST);
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
    x.verdict_of_nothing = API_REFUSE;
    writer_start(&x, CLIENT_CREATE, API_FEW_FAST);
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
        writer_start(&x, CLIENT_DELETE, API_FEW_FAST);
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
        writer_start(&x, CLIENT_DELETE, API_FEW_FAST);
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
    struct api_write_options o = { .api = { .client = w->client, .loop = w->loop, .rng = &x.rng },
                                   .patience = API_FEW_FAST };

    writer_init(&x, w);
    o.request = request_of(CLIENT_DELETE);
    o.request.if_uid = "u1";
    o.request.if_version = "4";
    o.done = writer_done;
    o.ctx = &x;
    api_write_start(&x.write, &o);
    answer_conflict(w);
    ASSERT_INT(1, x.ended);
    ASSERT_INT(-ERR_CONFLICT, x.answer.r);
}

/* --- Once: the owner decides again --- */

static enum api_decision decide_once(void *ctx, const struct object *now, struct buf *body, struct error *e)
{
    struct writer *x = ctx;

    (void)e;
    assert_non_null(now);
    x->decided++;
    buf_add_cstr(body, "{\"metadata\":{\"uid\":\"u1\"}}");
    return API_SEND;
}

static void writer_once(struct writer *x, const struct object *o, enum client_verb verb)
{
    struct api_write_options w = { .api = { .client = x->world->client, .loop = x->world->loop },
                                   .request = { .verb = verb },
                                   .object = o,
                                   .is_exact = verb == CLIENT_DELETE,
                                   .decide = verb == CLIENT_PATCH ? decide_once : NULL,
                                   .done = writer_done,
                                   .ctx = x };

    api_write_start(&x->write, &w);
    assert_true(api_write_is_active(&x->write));
}

#define ONCE "PATCH " PV "/v {\"metadata\":{\"uid\":\"u1\"}}\n"

TEST(write_of_an_object_as_read_is_sent_at_once)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    _cleanup_(object_unref_p) struct object *o = volume_of("u1", false);
    struct writer x;

    writer_init(&x, w);
    writer_once(&x, o, CLIENT_PATCH);
    assert_true(api_is_writing(&(struct api){ .client = w->client }, o));
    answer_object(w, "u1");
    assert_text(&w->sent, "0.000 " ONCE);
    ASSERT_INT(1, x.ended);
    ASSERT_INT(API_DONE, x.outcome);
    ASSERT_STR("u1", x.object_uid);
    assert_false(api_is_writing(&(struct api){ .client = w->client }, o));
}

/* What there is now comes with the end; of what is gone, that it is. */
TEST(owner_decides_again_on_what_is_there_now)
{
    static const struct {
        bool is_lost;
        const char *uid; /* of what the look finds; NULL: nothing, "": no answer */
        enum api_outcome outcome;
        int r;
    } rows[] = {
        { false, "u1", API_CONFLICT, -ERR_CONFLICT },    { false, "u2", API_CONFLICT, -ERR_CONFLICT },
        { false, NULL, API_REFUSED, -ERR_NOT_FOUND },    { false, "", API_CONFLICT, -ERR_CONFLICT },
        { true, "u1", API_UNCERTAIN, -ERR_UNAVAILABLE }, { true, NULL, API_REFUSED, -ERR_NOT_FOUND },
        { true, "", API_UNCERTAIN, -ERR_UNAVAILABLE },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(world_free_p) struct world *w = world_new();
        _cleanup_(object_unref_p) struct object *o = volume_of("u1", false);
        struct writer x;

        writer_init(&x, w);
        writer_once(&x, o, CLIENT_PATCH);
        if (rows[i].is_lost)
            answer_lost(w);
        else
            answer_conflict(w);
        ASSERT_INT(0, x.ended);
        if (!rows[i].uid)
            answer_missing(w);
        else if (rows[i].uid[0])
            answer_object(w, rows[i].uid);
        else
            answer_error(w, 0, ERR_UNAVAILABLE, false);
        assert_text(&w->sent, "0.000 " ONCE "0.000 " GET);
        ASSERT_INT(1, x.ended);
        ASSERT_INT(rows[i].outcome, x.outcome);
        ASSERT_INT(rows[i].r, x.answer.r);
        ASSERT_STR(rows[i].uid ? rows[i].uid : "", x.object_uid);
    }
}

/* The patch is written from the object as read while the write is started; nothing ends at once. */
TEST(owner_decides_on_the_object_as_read)
{
    static const struct {
        enum api_decision verdict;
        enum api_outcome outcome;
        int r;
        const char *uid;
        const char *sent;
    } rows[] = {
        { API_SEND, API_DONE, 0, "u1", "0.000 " PATCH("u1") },
        { API_AS_IT_IS, API_ALREADY, 0, "u1", "" },
        { API_REFUSE, API_REFUSED, -ERR_DENIED, "", "" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(world_free_p) struct world *w = world_new();
        _cleanup_(object_unref_p) struct object *o = volume_of("u1", false);
        struct writer x, other;

        writer_init(&x, w);
        writer_init(&other, w);
        x.verdict = rows[i].verdict;
        api_write_start(&x.write,
                        &(struct api_write_options){ .api = { .client = w->client, .loop = w->loop },
                                                     .request = { .verb = CLIENT_PATCH },
                                                     .object = o,
                                                     .decide = writer_decide,
                                                     .done = writer_done,
                                                     .ctx = &x });
        ASSERT_INT(1, x.decided);
        ASSERT_INT(0, x.ended);
        ASSERT_INT(rows[i].verdict == API_SEND, api_is_writing(&(struct api){ .client = w->client }, o));
        if (rows[i].verdict == API_SEND)
            answer_object(w, "u1");
        world_advance_ms(w, 0);
        ASSERT_INT(1, x.ended);
        ASSERT_INT(1, x.decided);
        ASSERT_INT(rows[i].outcome, x.outcome);
        ASSERT_INT(rows[i].r, x.answer.r);
        ASSERT_STR(rows[i].uid, x.object_uid);
        assert_text(&w->sent, rows[i].sent);
    }
}

/* What cannot be told at once is not told to who has cancelled. */
TEST(verdict_at_the_start_can_be_cancelled)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    _cleanup_(object_unref_p) struct object *o = volume_of("u1", false);
    struct writer x;

    writer_init(&x, w);
    x.verdict = API_AS_IT_IS;
    api_write_start(&x.write, &(struct api_write_options){ .api = { .client = w->client, .loop = w->loop },
                                                           .request = { .verb = CLIENT_PATCH },
                                                           .object = o,
                                                           .decide = writer_decide,
                                                           .done = writer_done,
                                                           .ctx = &x });
    api_write_cancel(&x.write);
    world_advance_ms(w, 0);
    ASSERT_INT(0, x.ended);
    assert_false(api_write_is_active(&x.write));
}

/* Hundreds of thousands of owners embed one. */
TEST(idle_write_is_small)
{
    assert_true(sizeof(struct api_write) <= 128);
}

static double counted(struct api *api, const char *cause)
{
    return metric_value(metric_of(api->retries, "berth-test", "finalizer", cause));
}

TEST(every_retry_is_counted)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    _cleanup_(object_unref_p) struct object *o = volume_of("u1", false);
    _cleanup_(metrics_free_p) struct metrics *m = metrics_new((struct hash_seed){ 1, 2 });
    struct api_write_options once = {
        .api = { .client = w->client, .loop = w->loop, .manager = "berth-test" },
        .request = { .verb = CLIENT_PATCH },
        .object = o,
        .decide = decide_once,
        .step = API_STEP_FINALIZER,
        .done = writer_done,
    };
    struct api_write_options patient = once;
    struct writer x, late;

    ASSERT_OK(api_count(&once.api, m, &err));
    writer_init(&x, w);
    writer_init(&late, w);

    /* The owner decides again. */
    once.ctx = &x;
    api_write_start(&x.write, &once);
    once.ctx = &late;
    api_write_start(&late.write, &once);
    answer_conflict(w);
    answer_object(w, "u1");
    world_advance_ms(w, 0);
    ASSERT_INT(API_CONFLICT, x.outcome);
    ASSERT_INT(API_CONFLICT, late.outcome);
    assert_true(counted(&once.api, "conflict") == 1);
    assert_true(counted(&once.api, "late") == 1);
    assert_true(counted(&once.api, "uncertain") == 0);
    assert_true(metric_value(metric_of(once.api.conflicts, "persistentvolumes", "finalizer")) == 1);

    /* The facility does: a conflict, then doubt. */
    patient.api = once.api;
    patient.api.rng = &x.rng;
    patient.request = request_of(CLIENT_PATCH);
    patient.object = NULL;
    patient.decide = writer_decide;
    patient.patience = API_FEW_FAST;
    patient.ctx = &x;
    api_write_start(&x.write, &patient);
    world_advance_ms(w, 0);
    answer_object(w, "u1");
    answer_conflict(w);
    world_advance_ms(w, 20);
    answer_object(w, "u1");
    answer_lost(w);
    ASSERT_INT(1, x.ended);
    assert_true(counted(&once.api, "conflict") == 2);
    assert_true(counted(&once.api, "uncertain") == 1);
    api_write_cancel(&x.write);
}

/* The owner as most are: a sync of a controller. */
struct synced {
    struct controller *controller;
    const struct object *object;
    struct writer writer;
    unsigned syncs;
};

static enum sync_result sync_patch(void *ctx, struct str key)
{
    struct synced *x = ctx;

    x->syncs++;
    return sync_once(x->controller, key,
                     &(struct api_write_options){ .request = { .verb = CLIENT_PATCH },
                                                  .object = x->object,
                                                  .decide = decide_once,
                                                  .decide_ctx = &x->writer },
                     NULL, NULL);
}

/* After a conflict the object is read, and the key comes back: three times at once, then with its delay. */
TEST(conflict_brings_the_key_back_at_once_three_times)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    _cleanup_(object_unref_p) struct object *o = volume_of("u1", false);
    _cleanup_(controller_free_p) struct controller *c = NULL;
    struct synced x = { .object = o };
    struct controller_options options = { .queue = { .loop = w->loop, .name = "claims", .base_ns = NS_PER_S },
                                          .sync = sync_patch,
                                          .ctx = &x,
                                          .api = { .client = w->client, .loop = w->loop } };

    writer_init(&x.writer, w);
    ASSERT_OK(controller_new(&options, &c, &err));
    x.controller = c;
    controller_add(c, STR_LIT("v"));
    for (unsigned n = 1; n <= 4; n++) {
        world_advance_ms(w, 0);
        ASSERT_INT(n, x.syncs);
        answer_conflict(w);
        answer_object(w, "u1");
    }
    world_advance_ms(w, 999);
    ASSERT_INT(4, x.syncs);
    world_advance_ms(w, 1);
    ASSERT_INT(5, x.syncs);
    answer_object(w, "u1");
    world_advance_ms(w, 5000);
    ASSERT_INT(5, x.syncs);
}

TEST(refusal_is_told_whole)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    _cleanup_(object_unref_p) struct object *o = volume_of("u1", false);
    struct status_info status = { .reason = "Forbidden" };
    struct client_answer a = answer_of(403, -1);
    struct writer x;

    writer_init(&x, w);
    writer_once(&x, o, CLIENT_PATCH);
    world_advance_ms(w, 0);
    a.r = error_set(&a.error, ERR_DENIED, "no");
    a.status = &status;
    world_end(w, a);
    ASSERT_INT(API_REFUSED, x.outcome);
    ASSERT_INT(403, x.answer.http_status);
    ASSERT_STR("Forbidden", x.answer.status->reason);
}

TEST(body_that_failed_is_told_later)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    _cleanup_(object_unref_p) struct object *o = volume_of("u1", false);
    struct writer x;

    writer_init(&x, w);
    api_write_start(&x.write, &(struct api_write_options){ .api = { .client = w->client, .loop = w->loop },
                                                           .request = { .verb = CLIENT_PATCH },
                                                           .object = o,
                                                           .failed = ERR_TOO_LARGE,
                                                           .done = writer_done,
                                                           .ctx = &x });
    ASSERT_INT(0, x.ended);
    world_advance_ms(w, 0);
    ASSERT_INT(API_REFUSED, x.outcome);
    ASSERT_INT(-ERR_TOO_LARGE, x.answer.r);
    assert_text(&w->sent, "");
}

/* The second was decided on what the first has changed: it is not even sent. */
TEST(writers_of_one_object_take_turns)
{
    for (unsigned cancels = 0; cancels < 2; cancels++) {
        _cleanup_(world_free_p) struct world *w = world_new();
        _cleanup_(object_unref_p) struct object *o = volume_of("u1", false), *other = volume_of("u2", false);
        struct writer first, second, third, fourth;

        writer_init(&first, w);
        writer_init(&second, w);
        writer_init(&third, w);
        writer_init(&fourth, w);
        writer_once(&first, o, CLIENT_PATCH);
        writer_once(&second, o, CLIENT_PATCH);
        writer_once(&third, o, CLIENT_DELETE);
        writer_once(&fourth, other, CLIENT_PATCH); /* another object's */
        world_advance_ms(w, 0);
        assert_text(&w->sent, "0.000 " ONCE "0.000 " ONCE);
        api_write_cancel(&second.write);
        if (cancels)
            api_write_cancel(&first.write);
        else
            answer_object(w, "u1");
        world_advance_ms(w, 0);
        ASSERT_INT(!cancels, first.ended);
        ASSERT_INT(0, second.ended);
        ASSERT_INT(0, second.decided); /* on what is about to change */
        ASSERT_INT(1, third.ended);
        ASSERT_INT(API_CONFLICT, third.outcome);
        ASSERT_INT(0, third.answer.http_status);
        ASSERT_INT(0, fourth.ended);
        api_write_cancel(&fourth.write);
    }
}

/* What holds whatever the first has made of it is sent when it is its turn. */
TEST(body_for_any_version_waits_for_its_turn)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    _cleanup_(object_unref_p) struct object *o = volume_of("u1", false);
    struct api_write_options once = { .api = { .client = w->client, .loop = w->loop },
                                      .request = { .verb = CLIENT_PATCH },
                                      .object = o,
                                      .decide = decide_once,
                                      .is_any_version = true,
                                      .done = writer_done };
    struct writer first, second, on_stack;

    writer_init(&first, w);
    writer_init(&second, w);
    writer_once(&first, o, CLIENT_PATCH);
    writer_init(&on_stack, w);
    once.ctx = &second;
    once.decide_ctx = &on_stack;
    api_write_start(&second.write, &once);
    ASSERT_INT(1, on_stack.decided); /* at the start, and what it has written is kept */
    world_advance_ms(w, 0);
    assert_text(&w->sent, "0.000 " ONCE);
    answer_object(w, "u1");
    answer_object(w, "u1");
    assert_text(&w->sent, "0.000 " ONCE);
    ASSERT_INT(1, second.ended);
    ASSERT_INT(API_DONE, second.outcome);
    ASSERT_INT(1, on_stack.decided);
}

/* One that is to go at once may have been on its way before. */
TEST(delete_with_a_grace_is_not_done_by_one_without)
{
    for (unsigned has_grace = 0; has_grace < 2; has_grace++) {
        _cleanup_(world_free_p) struct world *w = world_new();
        _cleanup_(object_unref_p) struct object *o = volume_of("u1", true);
        struct client_answer a = answer_of(200, -1);
        struct writer x;

        writer_init(&x, w);
        api_write_start(&x.write, &(struct api_write_options){
                                      .api = { .client = w->client, .loop = w->loop },
                                      .request = { .verb = CLIENT_DELETE, .has_grace = has_grace },
                                      .object = o,
                                      .done = writer_done,
                                      .ctx = &x });
        answer_lost(w);
        world_advance_ms(w, 0);
        a.object = o;
        world_end(w, a);
        ASSERT_INT(1, x.ended);
        ASSERT_INT(has_grace ? API_UNCERTAIN : API_ALREADY, x.outcome);
    }
}

/* One that reads first goes on when it is its turn. */
TEST(patient_writer_waits_and_reads_again)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    _cleanup_(object_unref_p) struct object *o = volume_of("u1", false);
    struct client_answer a = answer_of(200, -1);
    struct client_attempt *last;
    struct writer first, second;

    writer_init(&first, w);
    writer_init(&second, w);
    writer_start(&second, CLIENT_PATCH, API_FEW_FAST);
    world_advance_ms(w, 0);
    answer_object(w, "u1");
    answer_conflict(w); /* it waits for its next try */
    writer_once(&first, o, CLIENT_PATCH);
    world_advance_ms(w, 20);
    buf_clear(&w->sent);
    last = w->scripted.attempts[w->scripted.count - 1]; /* what the second reads */
    scripted_forget(&w->scripted, last);
    a.object = o;
    last->on_end(last, &a);
    assert_text(&w->sent, "");
    answer_object(w, "u1"); /* of the first */
    ASSERT_INT(API_DONE, first.outcome);
    answer_object(w, "u1");
    answer_object(w, "u1");
    assert_text(&w->sent, "0.020 " GET "0.020 " PATCH("u1"));
    ASSERT_INT(1, second.ended);
    ASSERT_INT(API_DONE, second.outcome);
}

TEST(exact_delete_carries_the_version_and_finds_out)
{
    static const struct {
        const char *uid;
        enum api_outcome outcome;
    } rows[] = { { "u1", API_CONFLICT }, { "u2", API_ALREADY }, { NULL, API_ALREADY } };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(world_free_p) struct world *w = world_new();
        _cleanup_(object_unref_p) struct object *o = volume_of("u1", false);
        struct writer x;

        writer_init(&x, w);
        writer_once(&x, o, CLIENT_DELETE);
        world_advance_ms(w, 0);
        ASSERT_STR("u1", w->scripted.attempts[0]->request->if_uid);
        ASSERT_STR("5", w->scripted.attempts[0]->request->if_version);
        answer_conflict(w);
        if (rows[i].uid)
            answer_object(w, rows[i].uid);
        else
            answer_missing(w);
        ASSERT_INT(rows[i].outcome, x.outcome);
    }
}

TEST(read_is_told_as_it_came)
{
    static const int codes[] = { 0, ERR_NOT_FOUND, ERR_UNAVAILABLE };

    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        _cleanup_(world_free_p) struct world *w = world_new();
        struct writer x;

        writer_init(&x, w);
        api_read(&x.write, &(struct api){ .client = w->client, .loop = w->loop }, KIND_VOLUME, "", "v",
                 writer_done, &x);
        if (codes[i])
            answer_error(w, 0, (enum err)codes[i], false);
        else
            answer_object(w, "u1");
        assert_text(&w->sent, "0.000 " GET);
        ASSERT_INT(-codes[i], x.answer.r);
        ASSERT_INT(codes[i] ? API_REFUSED : API_DONE, x.outcome);
    }
}

/* --- Owners --- */

static void reach(struct world *w, struct writer *x, unsigned point)
{
    writer_start(x, CLIENT_PATCH, API_FEW_FAST);
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
        api_write_cancel(&x.write);
        assert_false(api_write_is_active(&x.write));
        ASSERT_INT(0, w->scripted.count);
        assert_false(loop_next_timer_ns(w->loop, &at_ns));
        buf_clear(&w->sent);
        world_advance_ms(w, 60000);
        ASSERT_INT(0, x.ended);
        assert_text(&w->sent, "");
        api_write_cancel(&x.write); /* idle */
    }
}

TEST(write_may_be_started_anew_when_it_ends)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct writer x;

    writer_init(&x, w);
    x.restarts = true;
    writer_start(&x, CLIENT_PATCH, API_FEW_FAST);
    answer_missing(w);
    assert_true(api_write_is_active(&x.write));
    answer_object(w, "u1");
    answer_object(w, "u1");
    ASSERT_INT(2, x.ended);
}

static enum api_decision decide_without_precondition(void *ctx, const struct object *now, struct buf *body,
                                                     struct error *e)
{
    (void)ctx;
    (void)now;
    (void)e;
    buf_add_cstr(body, "{\"metadata\":{}}");
    return API_SEND;
}

TEST(promises_of_the_programmer)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    _cleanup_(object_unref_p) struct object *object = volume_of("u1", false);
    struct api_write_options o = { .api = { .client = w->client, .loop = w->loop }, .done = writer_done };
    struct api_write write = { 0 };
    struct writer x;

    writer_init(&x, w);
    writer_start(&x, CLIENT_PATCH, API_FEW_FAST);
    ASSERT_ABORTS(writer_start(&x, CLIENT_PATCH, API_FEW_FAST));
    api_write_cancel(&x.write);
    o.request = request_of(CLIENT_DELETE);
    ASSERT_ABORTS(api_write_start(&write, &o)); /* of any object of that name */
    o.request = request_of(CLIENT_PATCH);
    ASSERT_ABORTS(api_write_start(&write, &o)); /* without a decision */
    o.object = object;
    ASSERT_ABORTS(api_write_start(&write, &o)); /* without one, and nobody to wait for */
    o.decide = decide_without_precondition;
    ASSERT_ABORTS(api_write_start(&write, &o));
    o.object = NULL;
    o.decide = writer_decide;
    o.request = request_of(CLIENT_GET);
    ASSERT_ABORTS(api_write_start(&write, &o));
}

/* --- Before what cannot be undone --- */

TEST(only_the_server_proves_that_an_object_is_gone)
{
    _cleanup_(object_unref_p) struct object *volume = volume_of("u1", false);
    struct client_answer there = { .object = volume }, nothing = { 0 };
    static const enum err failures[] = { ERR_UNAVAILABLE, ERR_TIMEOUT,   ERR_DENIED,   ERR_UNAUTHORIZED,
                                         ERR_UNSUPPORTED, ERR_NO_MEMORY, ERR_INTERNAL, ERR_GONE };

    ASSERT_INT(LIVE_THERE, api_live_of(&there, "u1"));
    ASSERT_INT(LIVE_GONE, api_live_of(&there, "u2"));
    ASSERT_INT(LIVE_UNKNOWN, api_live_of(&nothing, "u1"));
    ASSERT_INT(LIVE_GONE, api_live_of(&(struct client_answer){ .r = -ERR_NOT_FOUND }, "u1"));
    for (size_t i = 0; i < ARRAY_LEN(failures); i++)
        ASSERT_INT(LIVE_UNKNOWN, api_live_of(&(struct client_answer){ .r = -(int)failures[i] }, "u1"));
}

TEST_MAIN()
