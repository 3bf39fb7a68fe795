/* Operations in virtual time: one at a time for a key, and after a failure not at once again. */
#include "tests/unit/test.h"

#include <stdbool.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/rng.h"
#include "machinery/pending_operations.h"
#include "tests/unit/aborts.h"

#define TRACE_BYTES 512

static struct error err;

struct world {
    struct manual_clock clock;
    struct loop *loop;
    struct operations *all;
    char trace[TRACE_BYTES];      /* what happened, in order */
    struct pending_operation *op; /* the last that was started */
    const char *next;             /* on_settled() starts this */
    bool ends_inside;             /* of start, with r */
    bool ends_when_cancelled;
    struct pending_operation *other; /* ends when one is cancelled */
    bool tries_when_done;            /* done() starts another */
    int r;
};

static void note(struct world *w, const char *what, struct str key)
{
    size_t len = strlen(w->trace);

    assert_true(len + strlen(what) + key.len + 3 < sizeof w->trace);
    (void)snprintf(w->trace + len, sizeof w->trace - len, "%s%s %.*s", len ? ", " : "", what, STR_ARG(key));
}

/* What happened since the last time is exactly this. */
#define ASSERT_TRACE(w, expected)           \
    do {                                    \
        ASSERT_STR((expected), (w)->trace); \
        (w)->trace[0] = '\0';               \
    } while (0)

#define KEY(volume) (&(struct operation_key){ volume, "", "" })

/* When all that failed for a key may be tried again; 0 for now. */
static void note_retry(void *ctx, const struct operation_state *s)
{
    uint64_t *at_ns = ctx;

    if (s->retry_at_ns > *at_ns)
        *at_ns = s->retry_at_ns;
}

static uint64_t retry_at_ns(const struct operations *all, const char *key)
{
    uint64_t at_ns = 0;

    operations_each(all, KEY(key), note_retry, &at_ns);
    return at_ns;
}

static int start(struct world *w, const char *key, const char *name);

static int words(int r, struct error *e)
{
    return r < 0 ? error_set(e, (enum err)(-r), "no luck") : 0;
}

static void on_start(void *ctx, struct pending_operation *op)
{
    struct world *w = ctx;
    struct error e = { 0 };

    w->op = op;
    note(w, "start", operation_volume(op));
    if (w->ends_inside)
        operation_end(op, words(w->r, &e), &e);
}

static void on_cancel(void *ctx, struct pending_operation *op)
{
    struct world *w = ctx;

    note(w, "cancel", operation_volume(op));
    if (w->other)
        operation_end(TAKE(w->other), 0, NULL);
    if (w->ends_when_cancelled)
        operation_end(op, error_set(&err, ERR_CANCELLED, "cancelled"), &err);
}

static void on_done(void *ctx, struct str key, int r, const struct error *e)
{
    struct world *w = ctx;
    char what[16 + ERROR_MSG_BYTES_MAX];

    (void)snprintf(what, sizeof what, "done %s", r < 0 ? e->msg : "well");
    note(w, what, key);
    if (w->tries_when_done)
        ASSERT_ERR(ERR_OP_PENDING, start(w, "a", "other"));
}

static void on_release(void *ctx)
{
    note(ctx, "release", STR_LIT(""));
}

static int start(struct world *w, const char *key, const char *name)
{
    const struct operation_work work = {
        .name = name,
        .start = on_start,
        .cancel = on_cancel,
        .done = on_done,
        .release = on_release,
        .ctx = w,
    };

    return operations_run(w->all, KEY(key), &work, &err);
}

static void on_settled(void *ctx, struct str key)
{
    struct world *w = ctx;

    note(w, "settled", key);
    if (w->next)
        ASSERT_OK(start(w, "a", TAKE(w->next)));
}

static void world_open(struct world *w)
{
    *w = (struct world){ 0 };
    /* 2026-11-15T19:06:05.790281Z */
    manual_clock_init(&w->clock, 7 * NS_PER_S, INT64_C(1794769565790281000));
    ASSERT_OK(loop_new(&w->clock.clock, &w->loop, &err));
    ASSERT_OK(operations_new(&(struct operations_options){ .loop = w->loop,
                                                           .clock = &w->clock.clock,
                                                           .has_delay_per_name = true,
                                                           .on_settled = on_settled,
                                                           .ctx = w },
                             &w->all, &err));
}

static void world_done(struct world *w)
{
    if (w->all)
        assert_null(operations_check(w->all));
    w->all = operations_free(w->all);
    w->loop = loop_free(w->loop); /* asserts that no timer is armed and nothing deferred */
}

static void pass(struct world *w, uint64_t ns)
{
    loop_advance(w->loop, &w->clock, ns);
}

static void end(struct world *w, int r)
{
    struct error e = { 0 };

    operation_end(TAKE(w->op), words(r, &e), &e);
}

/* Starts an operation that fails at once. */
static void fail_now(struct world *w, const char *key, const char *name)
{
    ASSERT_OK(start(w, key, name));
    end(w, -ERR_IO);
    w->trace[0] = '\0';
}

/* --- One at a time --- */

TEST(an_operation_runs_and_its_key_is_told)
{
    _cleanup_(world_done) struct world w;

    world_open(&w);
    ASSERT_OK(start(&w, "a", "provision"));
    ASSERT_TRACE(&w, "start a");
    assert_true(operations_is_pending(w.all, KEY("a")));
    assert_false(operations_is_pending(w.all, KEY("b")));
    ASSERT_INT(1, operations_pending(w.all));
    pass(&w, 1000 * NS_PER_S);
    ASSERT_TRACE(&w, "");
    end(&w, 0);
    ASSERT_TRACE(&w, "done well a, release ");
    assert_false(operations_is_pending(w.all, KEY("a")));
    ASSERT_INT(0, operations_pending(w.all));
    pass(&w, 0);
    ASSERT_TRACE(&w, "settled a");
    pass(&w, 1000 * NS_PER_S);
    ASSERT_TRACE(&w, "");
}

TEST(a_second_start_for_a_key_is_refused)
{
    _cleanup_(world_done) struct world w;

    world_open(&w);
    ASSERT_OK(start(&w, "a", "provision"));
    ASSERT_ERR(ERR_OP_PENDING, start(&w, "a", "provision"));
    ASSERT_STR(
        "Failed to create operation with name {volumeName:a podName: nodeName:}. An operation with that name "
        "is already executing.",
        err.msg);
    ASSERT_ERR(ERR_OP_PENDING, start(&w, "a", "delete"));
    assert_true(error_is_expected(-ERR_OP_PENDING));
    ASSERT_TRACE(&w, "start a");
    end(&w, 0);
    ASSERT_OK(start(&w, "a", "provision"));
    end(&w, 0);
}

TEST(keys_do_not_wait_for_one_another)
{
    _cleanup_(world_done) struct world w;
    struct pending_operation *first;

    world_open(&w);
    ASSERT_OK(start(&w, "a", "provision"));
    first = w.op;
    ASSERT_OK(start(&w, "b", "provision"));
    ASSERT_INT(2, operations_pending(w.all));
    end(&w, 0);
    operation_end(first, 0, NULL);
    ASSERT_TRACE(&w, "start a, start b, done well b, release , done well a, release ");
    pass(&w, 0);
    ASSERT_TRACE(&w, "settled b, settled a");
}

TEST(an_operation_may_end_inside_its_start)
{
    _cleanup_(world_done) struct world w;

    world_open(&w);
    w.ends_inside = true;
    ASSERT_OK(start(&w, "a", "provision"));
    ASSERT_TRACE(&w, "start a, done well a, release ");
    w.r = -ERR_IO;
    ASSERT_OK(start(&w, "b", "provision"));
    ASSERT_TRACE(&w, "start b, done no luck b, release ");
    ASSERT_ERR(ERR_BACKOFF, start(&w, "b", "provision"));
}

TEST(nobody_starts_another_before_the_first_is_done)
{
    _cleanup_(world_done) struct world w;

    world_open(&w);
    w.tries_when_done = true;
    ASSERT_OK(start(&w, "a", "provision"));
    end(&w, 0);
    ASSERT_TRACE(&w, "start a, done well a, release ");
}

TEST(callbacks_may_be_left_out)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(operations_free_p) struct operations *bare = NULL;
    struct operation_work work = { .name = "x", .start = on_start, .ctx = &w };

    world_open(&w);
    ASSERT_OK(
        operations_new(&(struct operations_options){ .loop = w.loop, .clock = &w.clock.clock }, &bare, &err));
    ASSERT_OK(operations_run(bare, KEY("k"), &work, &err));
    end(&w, -ERR_IO);
    ASSERT_ERR(ERR_BACKOFF, operations_run(bare, KEY("k"), &work, &err));
    pass(&w, NS_PER_S);
    ASSERT_OK(operations_run(bare, KEY("k"), &work, &err));
    bare = operations_free(bare);
    end(&w, 0);
    ASSERT_TRACE(&w, "start k, start k");
}

/* --- Not at once again --- */

TEST(delays_double_up_to_the_ceiling)
{
    static const struct {
        uint64_t ms;
        const char *text;
    } rows[] = {
        { 500, "500ms" }, { 1000, "1s" },   { 2000, "2s" },    { 4000, "4s" },     { 8000, "8s" },
        { 16000, "16s" }, { 32000, "32s" }, { 64000, "1m4s" }, { 122000, "2m2s" }, { 122000, "2m2s" },
    };
    _cleanup_(world_done) struct world w;

    world_open(&w);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char expected[64];

        fail_now(&w, "a", "provision");
        ASSERT_INT(w.clock.mono_ns + rows[i].ms * NS_PER_MS, retry_at_ns(w.all, "a"));
        pass(&w, rows[i].ms * NS_PER_MS - 1);
        ASSERT_ERR(ERR_BACKOFF, start(&w, "a", "provision"));
        (void)snprintf(expected, sizeof expected, " (%s). Last error: \"no luck\".", rows[i].text);
        ASSERT_STR(expected, strstr(err.msg, " ("));
        ASSERT_TRACE(&w, "");
        pass(&w, 1);
        ASSERT_TRACE(&w, "settled a");
        ASSERT_INT(0, retry_at_ns(w.all, "a"));
    }
}

TEST(a_refusal_says_until_when)
{
    static const char expected[] =
        "Failed to create operation with name {\"a\" \"\" \"\"}. An operation with that name failed at "
        "2026-11-15T19:06:05.790281Z. No retries permitted until 2026-11-15T19:06:06.290281Z (500ms). Last "
        "error: "
        "\"no luck\".";
    _cleanup_(world_done) struct world w;

    world_open(&w);
    fail_now(&w, "a", "provision");
    ASSERT_ERR(ERR_BACKOFF, start(&w, "a", "provision"));
    ASSERT_STR(expected, err.msg);
    assert_true(error_is_expected(-ERR_BACKOFF));
    pass(&w, 100 * NS_PER_MS);
    manual_clock_set_real(&w.clock, 0); /* the same words for the same failure: events add up */
    ASSERT_ERR(ERR_BACKOFF, start(&w, "a", "provision"));
    ASSERT_STR(expected, err.msg);
    manual_clock_set_real(&w.clock, INT64_MAX);
    fail_now(&w, "b", "provision");
    ASSERT_ERR(ERR_BACKOFF, start(&w, "b", "provision"));
    assert_non_null(strstr(err.msg, "No retries permitted until 2262-04-11T23:47:16.854775Z (500ms)."));
    manual_clock_set_real(&w.clock, 0);
}

TEST(the_delay_belongs_to_the_name)
{
    _cleanup_(world_done) struct world w;

    world_open(&w);
    fail_now(&w, "a", "attach");
    ASSERT_OK(start(&w, "a", "detach"));
    end(&w, 0);
    ASSERT_ERR(ERR_BACKOFF, start(&w, "a", "attach")); /* another's success says nothing */
    w.trace[0] = '\0';
    pass(&w, 0);
    ASSERT_TRACE(&w, "settled a");
    fail_now(&w, "a", "detach");
    pass(&w, 500 * NS_PER_MS);
    fail_now(&w, "a", "attach");
    ASSERT_ERR(ERR_BACKOFF, start(&w, "a", "attach"));
    assert_non_null(strstr(err.msg, " (1s)."));
    ASSERT_INT(w.clock.mono_ns + NS_PER_S, retry_at_ns(w.all, "a"));
    ASSERT_OK(start(&w, "b", "attach")); /* and to the key */
    end(&w, 0);
}

TEST(a_success_forgets_the_failures)
{
    _cleanup_(world_done) struct world w;

    world_open(&w);
    for (unsigned i = 0; i < 3; i++) {
        fail_now(&w, "a", "provision");
        pass(&w, 500 * NS_PER_MS << i);
    }
    ASSERT_OK(start(&w, "a", "provision"));
    end(&w, 0);
    fail_now(&w, "a", "provision");
    ASSERT_INT(w.clock.mono_ns + 500 * NS_PER_MS, retry_at_ns(w.all, "a"));
}

TEST(failures_are_forgotten_after_a_long_rest)
{
    static const struct {
        uint64_t rest_ns, delay_ns;
    } rows[] = {
        { 2 * OPERATION_BACKOFF_NS_MAX - 1, NS_PER_S },
        { 2 * OPERATION_BACKOFF_NS_MAX, 500 * NS_PER_MS },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(world_done) struct world w;

        world_open(&w);
        fail_now(&w, "a", "provision");
        pass(&w, rows[i].rest_ns);
        ASSERT_TRACE(&w, "settled a"); /* once: being forgotten is not told */
        fail_now(&w, "a", "provision");
        ASSERT_INT(w.clock.mono_ns + rows[i].delay_ns, retry_at_ns(w.all, "a"));
    }
}

TEST(an_operation_that_takes_long_remembers_its_failures)
{
    _cleanup_(world_done) struct world w;

    world_open(&w);
    fail_now(&w, "a", "provision");
    pass(&w, NS_PER_S);
    ASSERT_OK(start(&w, "a", "provision"));
    pass(&w, 3600 * NS_PER_S);
    end(&w, -ERR_TIMEOUT);
    ASSERT_INT(w.clock.mono_ns + NS_PER_S, retry_at_ns(w.all, "a"));
}

TEST(delays_can_be_set)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(operations_free_p) struct operations *quick = NULL;
    static const uint64_t delays_ns[] = { 3, 6, 10, 10 };
    const struct operation_work work = { .name = "x", .start = on_start, .ctx = &w };
    struct operations_options o = { 0 };

    world_open(&w);
    o = (struct operations_options){
        .loop = w.loop, .clock = &w.clock.clock, .backoff_ns = 3, .backoff_ns_max = 10
    };
    ASSERT_OK(operations_new(&o, &quick, &err));
    for (size_t i = 0; i < ARRAY_LEN(delays_ns); i++) {
        ASSERT_OK(operations_run(quick, KEY("a"), &work, &err));
        end(&w, -ERR_IO);
        ASSERT_INT(w.clock.mono_ns + delays_ns[i], retry_at_ns(quick, "a"));
        pass(&w, delays_ns[i]);
    }
    o.backoff_ns = 11;
    ASSERT_ABORTS((void)operations_new(&o, &quick, &err));
}

/* --- Being told --- */

TEST(the_next_may_start_when_the_key_is_told)
{
    _cleanup_(world_done) struct world w;

    world_open(&w);
    ASSERT_OK(start(&w, "a", "attach"));
    end(&w, 0);
    w.next = "mount";
    w.trace[0] = '\0';
    pass(&w, 0);
    ASSERT_TRACE(&w, "settled a, start a");
    end(&w, 0);
    ASSERT_OK(start(&w, "a", "mount"));
    w.trace[0] = '\0';
    pass(&w, 0);
    ASSERT_TRACE(&w, ""); /* another has begun meanwhile */
    end(&w, 0);
    pass(&w, 0);
    ASSERT_TRACE(&w, "done well a, release , settled a");
}

/* What could not be told because another operation ran is told at its end, however that ends. */
TEST(a_delay_that_ends_while_another_runs_is_not_lost)
{
    static const struct {
        int r;
        const char *trace;
    } rows[] = {
        { 0, "done well a, release , settled a" },
        { -ERR_IO, "done no luck a, release , settled a" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(world_done) struct world w;

        world_open(&w);
        fail_now(&w, "a", "attach");
        ASSERT_OK(start(&w, "a", "detach"));
        w.trace[0] = '\0';
        pass(&w, NS_PER_S);
        ASSERT_TRACE(&w, "");
        end(&w, rows[i].r);
        pass(&w, 0);
        ASSERT_TRACE(&w, rows[i].trace);
        pass(&w, 500 * NS_PER_MS);
        ASSERT_TRACE(&w, rows[i].r < 0 ? "settled a" : "");
    }
}

TEST(what_was_to_be_told_when_another_began_is_not_lost)
{
    _cleanup_(world_done) struct world w;

    world_open(&w);
    ASSERT_OK(start(&w, "a", "attach"));
    end(&w, 0);
    ASSERT_OK(start(&w, "a", "detach"));
    w.trace[0] = '\0';
    pass(&w, 0);
    ASSERT_TRACE(&w, "");
    end(&w, -ERR_IO);
    pass(&w, 0);
    ASSERT_TRACE(&w, "done no luck a, release , settled a");
}

/* --- The end --- */

TEST(operations_that_go_leave_theirs_to_end_alone)
{
    struct world w;
    struct pending_operation *first;

    world_open(&w);
    fail_now(&w, "c", "provision");
    ASSERT_OK(start(&w, "d", "provision"));
    end(&w, 0);
    ASSERT_OK(start(&w, "a", "provision"));
    first = w.op;
    ASSERT_OK(start(&w, "b", "provision"));
    w.trace[0] = '\0';
    w.all = operations_free(w.all);
    ASSERT_TRACE(&w, "cancel a, cancel b");
    pass(&w, 1000 * NS_PER_S);
    assert_true(str_is(operation_volume(first), "a"));
    operation_end(first, 0, NULL);
    end(&w, -ERR_IO);
    ASSERT_TRACE(&w, "release , release ");
    assert_null(operations_free(NULL));
    world_done(&w);
}

TEST(operations_that_go_may_end_inside_the_cancellation)
{
    struct world w;

    world_open(&w);
    w.ends_when_cancelled = true;
    ASSERT_OK(start(&w, "a", "provision"));
    ASSERT_OK(start(&w, "b", "provision"));
    w.trace[0] = '\0';
    w.all = operations_free(w.all);
    ASSERT_TRACE(&w, "cancel a, release , cancel b, release ");
    pass(&w, 1000 * NS_PER_S);
    ASSERT_TRACE(&w, "");
    world_done(&w);
}

TEST(operations_that_go_may_end_inside_anothers_cancellation)
{
    struct world w;

    world_open(&w);
    ASSERT_OK(start(&w, "a", "provision"));
    ASSERT_OK(start(&w, "b", "provision"));
    w.other = TAKE(w.op);
    w.trace[0] = '\0';
    ASSERT_OK(start(&w, "c", "provision"));
    w.ends_when_cancelled = true;
    w.all = operations_free(w.all);
    ASSERT_TRACE(&w, "start c, cancel a, release , release , cancel c, release ");
    pass(&w, 1000 * NS_PER_S);
    ASSERT_TRACE(&w, "");
    world_done(&w);
}

/* --- At random --- */

#define RANDOM_KEYS 4
#define RANDOM_STEPS 100000

struct random_world {
    struct manual_clock clock;
    struct loop *loop;
    struct operations *all;
    struct pending_operation *running[RANDOM_KEYS];
    bool is_owed[RANDOM_KEYS]; /* an operation has ended, and nobody was told that the next may start */
    uint64_t retry_at_ns[RANDOM_KEYS];
};

static size_t random_index(struct str key)
{
    return (size_t)(key.s[0] - 'a');
}

static void random_start(void *ctx, struct pending_operation *op)
{
    struct random_world *w = ctx;
    size_t k = random_index(operation_volume(op));

    assert_null(w->running[k]);
    assert_true(w->clock.mono_ns >= w->retry_at_ns[k]);
    w->running[k] = op;
}

static void random_settled(void *ctx, struct str key)
{
    struct random_world *w = ctx;
    size_t k = random_index(key);

    assert_null(w->running[k]);
    if (w->clock.mono_ns >= w->retry_at_ns[k])
        w->is_owed[k] = false;
}

static void random_try(struct random_world *w, size_t k)
{
    const char key[] = { (char)('a' + k), '\0' };
    const struct operation_work work = { .name = "x", .start = random_start, .ctx = w };
    bool was_running = w->running[k];
    int r = operations_run(w->all, KEY(key), &work, &err);

    if (was_running)
        ASSERT_INT(-ERR_OP_PENDING, r);
    else
        ASSERT_INT(w->clock.mono_ns < w->retry_at_ns[k] ? -ERR_BACKOFF : 0, r);
}

static void random_end(struct random_world *w, size_t k, bool is_well)
{
    const char key[] = { (char)('a' + k), '\0' };
    struct pending_operation *op = TAKE(w->running[k]);

    if (!op)
        return;
    w->is_owed[k] = true;
    operation_end(op, is_well ? 0 : error_set(&err, ERR_IO, "x"), &err);
    w->retry_at_ns[k] = retry_at_ns(w->all, key);
    assert_true(is_well == (w->retry_at_ns[k] == 0));
}

static void note_state(void *ctx, const struct operation_state *s)
{
    struct buf *out = ctx;

    buf_addf(out, "%s%s failed %u, from %llu ms, again at %llu ms: '%s'\n", s->name,
             s->is_running ? " runs," : "", s->failures, (unsigned long long)(s->began_ns / NS_PER_MS),
             (unsigned long long)(s->retry_at_ns / NS_PER_MS), s->message);
}

static const char *states_of(struct world *w, const char *key, struct buf *out)
{
    buf_clear(out);
    operations_each(w->all, KEY(key), note_state, out);
    return buf_cstr(out);
}

TEST(what_is_known_of_a_key)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(4096);
    _cleanup_(world_done) struct world w;
    uint64_t from;
    char expected[256];

    world_open(&w);
    from = w.clock.mono_ns / NS_PER_MS;
    ASSERT_STR("", states_of(&w, "k", &out));
    fail_now(&w, "k", "x");
    pass(&w, NS_PER_S);
    ASSERT_INT(0, start(&w, "k", "x"));
    (void)snprintf(expected, sizeof expected, "x runs, failed 1, from %llu ms, again at 0 ms: '%s'\n",
                   (unsigned long long)(from + 1000), "no luck");
    ASSERT_STR(expected, states_of(&w, "k", &out));
    end(&w, -ERR_IO);
    (void)snprintf(expected, sizeof expected, "x failed 2, from %llu ms, again at %llu ms: '%s'\n",
                   (unsigned long long)(from + 1000), (unsigned long long)(from + 2000), "no luck");
    ASSERT_STR(expected, states_of(&w, "k", &out));
    pass(&w, 2 * OPERATION_BACKOFF_NS_MAX);
    ASSERT_STR("", states_of(&w, "k", &out));
}

TEST(at_random_no_key_runs_twice_and_each_end_is_told)
{
    struct random_world w = { 0 };
    struct rng rng;

    rng_init(&rng, 4);
    manual_clock_init(&w.clock, NS_PER_S, 0);
    ASSERT_OK(loop_new(&w.clock.clock, &w.loop, &err));
    ASSERT_OK(operations_new(
        &(struct operations_options){
            .loop = w.loop, .clock = &w.clock.clock, .on_settled = random_settled, .ctx = &w },
        &w.all, &err));
    for (unsigned step = 0; step < RANDOM_STEPS; step++) {
        size_t k = (size_t)rng_below(&rng, RANDOM_KEYS);

        if (rng_chance(&rng, 40))
            random_try(&w, k);
        else if (rng_chance(&rng, 60))
            random_end(&w, k, rng_chance(&rng, 30));
        else
            loop_advance(w.loop, &w.clock, rng_below(&rng, 40) * 100 * NS_PER_MS);
    }
    for (size_t k = 0; k < RANDOM_KEYS; k++)
        random_end(&w, k, true);
    loop_advance(w.loop, &w.clock, OPERATION_BACKOFF_NS_MAX);
    for (size_t k = 0; k < RANDOM_KEYS; k++)
        assert_false(w.is_owed[k]);
    w.all = operations_free(w.all);
    w.loop = loop_free(w.loop);
}

TEST_MAIN()
