/* The store on a log in memory: image, writes in flight, order, failures, history, iteration, watchers. */
#include "tests/unit/test_store.h"

#include "base/log.h"

#include "tests/unit/aborts.h"

#define CM KIND_CONFIG_MAP

/* A store in virtual time. */
struct world {
    struct manual_clock clock;
    struct loop *loop;
    struct store *store;
};

static struct world *world_open(const struct store_options *o)
{
    struct world *w = calloc(1, sizeof *w);
    struct error err = { 0 };

    assert_non_null(w);
    manual_clock_init(&w->clock, 0, 0);
    w->loop = new_loop(&w->clock.clock);
    ASSERT_OK(store_open_memory(w->loop, o, &w->store, &err));
    return w;
}

static void world_close(struct world **w)
{
    assert_null(store_check_image((*w)->store));
    (*w)->store = store_free((*w)->store);
    (*w)->loop = loop_free((*w)->loop);
    free(*w);
}

#define WORLD(name, ...) \
    _cleanup_(world_close) struct world *name = world_open(&(struct store_options){ __VA_ARGS__ })

static void world_run(struct world *w)
{
    while (loop_poll(w->loop)) {
    }
}

static void world_put(struct world *w, enum kind k, const char *ns, const char *name, const char *value)
{
    ASSERT_INT(0, put_in(w->loop, w->store, k, ns, name, value));
}

/* --- Reading and writing --- */

TEST(an_empty_store)
{
    WORLD(w, 0);
    struct error err = { 0 };

    assert_null(store_get(w->store, CM, "a", "b"));
    assert_null(store_get_newest(w->store, CM, "a", "b"));
    ASSERT_INT(0, store_revision(w->store));
    ASSERT_INT(0, store_history_start(w->store));
    ASSERT_INT(0, store_count(w->store, CM));
    ASSERT_STR("", iter_text(w->store, CM, NULL, "", "", 0));
    ASSERT_OK(store_check(w->store, &err));
}

TEST(what_is_written_is_read)
{
    WORLD(w, 0);

    world_put(w, CM, "a", "x", "one");
    ASSERT_STR("one", value_of(store_get(w->store, CM, "a", "x")));
    ASSERT_INT(1, store_revision(w->store));
    ASSERT_INT(1, store_count(w->store, CM));
    assert_null(store_get(w->store, CM, "a", "y"));
    assert_null(store_get(w->store, CM, "b", "x"));
    assert_null(store_get(w->store, KIND_SECRET, "a", "x"));
    world_put(w, CM, "a", "x", "two");
    ASSERT_STR("two", value_of(store_get(w->store, CM, "a", "x")));
    ASSERT_INT(1, store_count(w->store, CM));
    world_put(w, CM, "a", "x", NULL);
    assert_null(store_get(w->store, CM, "a", "x"));
    ASSERT_INT(0, store_count(w->store, CM));
    ASSERT_INT(3, store_revision(w->store));
}

TEST(a_write_in_flight_shows_to_writers_alone)
{
    WORLD(w, 0);
    struct put one = { 0 }, two = { 0 };

    put_submit(w->store, &one, CM, "a", "x", "one");
    assert_null(store_get(w->store, CM, "a", "x"));
    ASSERT_STR("one", value_of(store_get_newest(w->store, CM, "a", "x")));
    ASSERT_STR("", iter_text(w->store, CM, NULL, "", "", 0));
    ASSERT_INT(0, store_count(w->store, CM));
    ASSERT_INT(0, store_revision(w->store));
    assert_false(one.is_done); /* never from inside */
    world_run(w);
    assert_true(one.is_done);

    put_submit(w->store, &two, CM, "a", "x", NULL);
    ASSERT_STR("one", value_of(store_get(w->store, CM, "a", "x")));
    assert_null(store_get_newest(w->store, CM, "a", "x"));
    put_submit(w->store, &one, CM, "a", "x", "again");
    ASSERT_STR("again", value_of(store_get_newest(w->store, CM, "a", "x")));
    world_run(w);
    ASSERT_STR("again", value_of(store_get(w->store, CM, "a", "x")));
    ASSERT_STR("-a/x=deleted@2<one@1 +a/x=again@3", replay_text(w->store, CM, 1));
}

TEST(revisions_grow_and_may_have_gaps)
{
    WORLD(w, 0);

    ASSERT_INT(1, store_reserve(w->store));
    ASSERT_INT(2, store_reserve(w->store));
    world_put(w, CM, "a", "x", "one");
    ASSERT_INT(3, store_revision(w->store));
    ASSERT_INT(4, store_reserve(w->store));
}

TEST(ends_come_in_order_over_several_batches)
{
    WORLD(w, .batch_max = 4);
    struct put puts[11];
    unsigned order = 0;
    char name[16];

    memset(puts, 0, sizeof puts);
    for (unsigned i = 0; i < ARRAY_LEN(puts); i++) {
        puts[i].order = &order;
        (void)snprintf(name, sizeof name, "x%u", i % 3);
        put_submit(w->store, &puts[i], CM, "a", name, i == 3 ? NULL : "v");
    }
    (void)loop_poll(w->loop);
    ASSERT_INT(4, order); /* one batch a turn */
    world_run(w);
    for (unsigned i = 0; i < ARRAY_LEN(puts); i++)
        ASSERT_INT(i + 1, puts[i].ended_as);
}

TEST(freeing_finishes_what_is_in_flight)
{
    struct world *w = world_open(&(struct store_options){ .batch_max = 2 });
    struct put puts[5];

    memset(puts, 0, sizeof puts);
    for (unsigned i = 0; i < ARRAY_LEN(puts); i++)
        put_submit(w->store, &puts[i], CM, "a", "x", "v");
    world_close(&w);
    for (unsigned i = 0; i < ARRAY_LEN(puts); i++) {
        assert_true(puts[i].is_done);
        ASSERT_INT(0, puts[i].r);
    }
}

struct again {
    struct world *w;
    struct put first;
    struct put second;
};

static void again_on_done(void *ctx, int r, const struct error *err)
{
    struct again *a = ctx;

    (void)err;
    ASSERT_INT(0, r);
    put_submit(a->w->store, &a->second, CM, "a", "late", "v");
}

TEST(what_comes_while_closing_is_refused)
{
    struct again a = { .w = world_open(NULL) };
    struct object *o = make_object(CM, "a", "x", store_reserve(a.w->store), "v");

    store_submit(a.w->store, &a.first.write, o, false, again_on_done, &a);
    (void)object_unref(o);
    world_close(&a.w);
    assert_true(a.second.is_done);
    ASSERT_INT(-ERR_CANCELLED, a.second.r);
    ASSERT_STR("the store is being closed", a.second.err.msg);
}

static void *no_memory(size_t bytes)
{
    (void)bytes;
    return NULL;
}

TEST(no_memory_for_a_new_key_is_reported)
{
    WORLD(w, 0);
    struct put p = { 0 };

    w->store->image.kinds[CM].alloc = no_memory;
    put_submit(w->store, &p, CM, "a", "x", "v");
    assert_null(store_get_newest(w->store, CM, "a", "x"));
    assert_false(p.is_done);
    world_run(w);
    assert_true(p.is_done);
    ASSERT_INT(-ERR_NO_MEMORY, p.r);
    w->store->image.kinds[CM].alloc = malloc;
    world_put(w, CM, "a", "x", "v");
}

TEST(promises_are_checked)
{
    WORLD(w, 0);
    struct put p = { 0 };
    struct object *o = make_object(CM, "a", "x", 1, "v");
    struct object *event = make_object(KIND_EVENT_V1, "a", "x", 1, "v");

    ASSERT_ABORTS(store_submit(w->store, &p.write, o, false, put_on_done, &p)); /* not reserved */
    (void)store_reserve(w->store);
    ASSERT_ABORTS(store_submit(w->store, &p.write, event, false, put_on_done, &p));
    store_submit(w->store, &p.write, o, false, put_on_done, &p);
    ASSERT_ABORTS(put_submit(w->store, &p, CM, "a", "y", NULL)); /* deletes what is not there */
    ASSERT_ABORTS({
        struct put twice = { 0 };
        store_submit(w->store, &twice.write, o, false, put_on_done, &twice); /* its revision is used */
    });
    world_run(w);
    (void)object_unref(o);
    (void)object_unref(event);
}

/* --- A log that fails --- */

struct bad_log {
    unsigned calls;
    unsigned fails_at; /* the call that fails, counted from 1; 0: none */
    unsigned rows;
    unsigned drops_fail; /* so many calls of drop */
    unsigned drops_called;
    unsigned dropped;
    int64_t last_dropped;
    struct store_log_meta meta;
};

static int bad_append(void *ctx, const struct store_row *rows, size_t count, struct error *err)
{
    struct bad_log *b = ctx;

    (void)rows;
    b->calls++;
    if (b->calls == b->fails_at)
        return error_set(err, ERR_IO, "no luck");
    b->rows += (unsigned)count;
    return 0;
}

static int bad_drop(void *ctx, const int64_t *revisions, size_t count, const struct store_log_meta *meta,
                    struct error *err)
{
    struct bad_log *b = ctx;

    b->drops_called++;
    if (b->drops_called <= b->drops_fail)
        return error_set(err, ERR_IO, "no luck");
    for (size_t i = 0; i < count; i++) { /* in order and without a gap, whatever failed before */
        ASSERT_INT(b->last_dropped + 1, revisions[i]);
        b->last_dropped = revisions[i];
    }
    b->dropped += (unsigned)count;
    b->meta = *meta;
    return 0;
}

static int bad_load(void *ctx, struct store_log_meta *ret_meta, store_row_fn *fn, void *fn_ctx,
                    struct error *err)
{
    struct bad_log *b = ctx;

    if (b->fails_at == UINT32_MAX)
        return error_set(err, ERR_IO, "cannot read");
    *ret_meta = b->meta;
    return fn(fn_ctx, NULL, err);
}

static void bad_close(void *ctx)
{
    (void)ctx;
}

static const struct store_log_type bad_log_type = { bad_append, bad_drop, bad_load, bad_close };

static struct world *world_on(struct bad_log *b, const struct store_options *o, bool threaded)
{
    struct world *w = calloc(1, sizeof *w);
    struct error err = { 0 };

    assert_non_null(w);
    w->loop = new_loop(NULL);
    ASSERT_OK(store_new(w->loop, o, (struct store_log){ &bad_log_type, b }, threaded, -1, &w->store, &err));
    return w;
}

TEST(a_log_that_cannot_be_read_is_no_store)
{
    struct bad_log b = { .fails_at = UINT32_MAX };
    _cleanup_(loop_free_p) struct loop *l = new_loop(NULL);
    struct error err = { 0 };
    struct store *s = NULL;

    ASSERT_ERR(ERR_IO, store_new(l, NULL, (struct store_log){ &bad_log_type, &b }, true, -1, &s, &err));
    ASSERT_STR("cannot read", err.msg);
    assert_null(s);
}

TEST(the_counter_starts_where_the_log_says)
{
    struct bad_log b = { .meta = { .revision = 70, .history_start = 60 } };
    _cleanup_(world_close) struct world *w = world_on(&b, NULL, false);

    ASSERT_INT(70, store_revision(w->store));
    ASSERT_INT(60, store_history_start(w->store));
    ASSERT_INT(71, store_reserve(w->store));
}

/* Fail the n-th append, for every n: what failed left no trace, with all behind it, and the rest is there. */
static void check_failing(unsigned nth, bool threaded)
{
    struct bad_log b = { .fails_at = nth < 4 ? nth : 0 }; /* three batches; the fourth time none fails */
    struct store_options o = { .batch_max = 2 };
    _cleanup_(world_close) struct world *w = world_on(&b, &o, threaded);
    struct put puts[6];
    struct error err = { 0 };
    unsigned good = (nth - 1) * 2;

    memset(puts, 0, sizeof puts);
    put_submit(w->store, &puts[0], CM, "a", "x", "0");
    put_submit(w->store, &puts[1], CM, "a", "y", "1");
    put_submit(w->store, &puts[2], CM, "a", "x", "2");
    put_submit(w->store, &puts[3], CM, "a", "y", NULL);
    put_submit(w->store, &puts[4], CM, "a", "y", "4");
    put_submit(w->store, &puts[5], CM, "a", "z", "5");
    run_until(w->loop, &puts[5].is_done);
    for (unsigned i = 0; i < ARRAY_LEN(puts); i++) {
        assert_true(puts[i].is_done);
        ASSERT_INT(i < good ? 0 : -ERR_IO, puts[i].r);
        ASSERT_STR(i < good ? "" : "no luck", puts[i].err.msg);
    }
    static const char *const states[] = { "", "a/x=0@1 a/y=1@2", "a/x=2@3", "a/x=2@3 a/y=4@5 a/z=5@6" };
    ASSERT_STR(states[nth - 1], iter_text(w->store, CM, NULL, "", "", 0));
    ASSERT_INT(good, store_revision(w->store));
    ASSERT_INT(nth < 4 ? -ERR_IO : 0, store_check(w->store, &err));
    /* In flight is what is committed, now that nothing is. */
    ASSERT_STR(value_of(store_get(w->store, CM, "a", "x")),
               value_of(store_get_newest(w->store, CM, "a", "x")));
    ASSERT_STR(value_of(store_get(w->store, CM, "a", "y")),
               value_of(store_get_newest(w->store, CM, "a", "y")));
    /* And it goes on, without giving out a revision twice. */
    ASSERT_INT(0, put_in(w->loop, w->store, CM, "a", "w", "after"));
    ASSERT_INT(7, store_revision(w->store));
    ASSERT_OK(store_check(w->store, &err));
}

TEST(a_failure_takes_all_that_is_in_flight)
{
    for (unsigned nth = 1; nth <= 4; nth++) {
        check_failing(nth, false);
        check_failing(nth, true);
    }
}

struct retry {
    struct store *store;
    struct put put;
    struct store_write write;
    unsigned tries;
};

static void retry_on_done(void *ctx, int r, const struct error *err)
{
    struct retry *t = ctx;

    (void)err;
    ASSERT_INT(-ERR_IO, r);
    assert_null(store_get_newest(t->store, CM, "a", "x"));
    put_submit(t->store, &t->put, CM, "a", "x", "retried");
}

TEST(a_writer_may_try_again_at_once)
{
    struct bad_log b = { .fails_at = 1 };
    _cleanup_(world_close) struct world *w = world_on(&b, NULL, true);
    struct retry t = { .store = w->store };
    struct put other = { 0 };
    struct object *o = make_object(CM, "a", "x", store_reserve(w->store), "v");

    store_submit(w->store, &t.write, o, false, retry_on_done, &t);
    (void)object_unref(o);
    put_submit(w->store, &other, CM, "a", "y", "v");
    run_until(w->loop, &t.put.is_done);
    ASSERT_INT(0, t.put.r);
    ASSERT_INT(-ERR_IO, other.r);
    ASSERT_STR("a/x=retried@3", iter_text(w->store, CM, NULL, "", "", 0));
}

/* A store that nobody writes to finds out by itself when its log is well again. */
struct ailing {
    struct bad_log log;
    struct manual_clock clock;
    struct world world;
};

static void ailing_open(struct ailing *a)
{
    struct error err = { 0 };
    struct world *w = &a->world;

    manual_clock_init(&a->clock, 0, 0);
    w->loop = new_loop(&a->clock.clock);
    ASSERT_OK(
        store_new(w->loop, NULL, (struct store_log){ &bad_log_type, &a->log }, false, -1, &w->store, &err));
    a->log.fails_at = 1;
    ASSERT_INT(-ERR_IO, put_in(w->loop, w->store, CM, "a", "x", "v"));
}

static void ailing_close(struct ailing *a)
{
    a->world.store = store_free(a->world.store);
    a->world.loop = loop_free(a->world.loop); /* aborts when a timer was left */
}

TEST(a_log_that_failed_is_probed_until_it_works)
{
    struct ailing a = { .log.drops_fail = 2 };
    struct error err = { 0 };
    struct store *s;

    ailing_open(&a);
    s = a.world.store;
    loop_advance(a.world.loop, &a.clock, STORE_RETRY_NS - 1);
    ASSERT_INT(0, a.log.drops_called);
    loop_advance(a.world.loop, &a.clock, 1);
    ASSERT_INT(1, a.log.drops_called);
    ASSERT_ERR(ERR_IO, store_check(s, &err));
    ASSERT_STR("no luck", err.msg);
    loop_advance(a.world.loop, &a.clock, STORE_RETRY_NS);
    ASSERT_INT(2, a.log.drops_called);
    ASSERT_ERR(ERR_IO, store_check(s, &err));
    loop_advance(a.world.loop, &a.clock, STORE_RETRY_NS);
    ASSERT_INT(3, a.log.drops_called);
    ASSERT_OK(store_check(s, &err));
    ASSERT_INT(0, a.log.dropped);
    ASSERT_INT(4, a.log.meta.revision); /* one the log cannot have: the failed write's, then one a probe */
    ASSERT_INT(0, store_revision(s));   /* nothing was written */
    loop_advance(a.world.loop, &a.clock, 10 * STORE_RETRY_NS);
    ASSERT_INT(3, a.log.drops_called);
    ASSERT_INT(0, put_in(a.world.loop, s, CM, "a", "x", "v"));
    ASSERT_INT(5, store_revision(s));
    ailing_close(&a);
}

TEST(a_write_that_succeeds_spares_the_probe)
{
    struct ailing a = { 0 };
    struct error err = { 0 };

    ailing_open(&a);
    ASSERT_INT(0, put_in(a.world.loop, a.world.store, CM, "a", "x", "v"));
    ASSERT_OK(store_check(a.world.store, &err));
    loop_advance(a.world.loop, &a.clock, 10 * STORE_RETRY_NS);
    ASSERT_INT(0, a.log.drops_called);
    ailing_close(&a);
}

TEST(a_write_that_fails_puts_the_probe_off)
{
    struct ailing a = { 0 };

    ailing_open(&a);
    loop_advance(a.world.loop, &a.clock, STORE_RETRY_NS - 1);
    a.log.fails_at = 2;
    ASSERT_INT(-ERR_IO, put_in(a.world.loop, a.world.store, CM, "a", "x", "v"));
    loop_advance(a.world.loop, &a.clock, STORE_RETRY_NS - 1);
    ASSERT_INT(0, a.log.drops_called);
    loop_advance(a.world.loop, &a.clock, 1);
    ASSERT_INT(1, a.log.drops_called);
    ailing_close(&a);
}

TEST(a_store_that_waits_for_its_log_can_be_closed)
{
    struct ailing a = { 0 };

    ailing_open(&a);
    store_finish(a.world.store);
    loop_advance(a.world.loop, &a.clock, 2 * STORE_RETRY_NS);
    ASSERT_INT(0, a.log.drops_called);
    ailing_close(&a);
}

static void count_commits(void *ctx, uint64_t ns, size_t count)
{
    unsigned *counts = ctx;

    (void)ns;
    counts[0]++;
    counts[1] += (unsigned)count;
}

TEST(what_comes_in_one_turn_commits_together)
{
    struct bad_log b = { 0 };
    unsigned counts[2] = { 0, 0 };
    struct store_options o = { .on_commit = count_commits, .ctx = counts };
    _cleanup_(world_close) struct world *w = world_on(&b, &o, true);
    struct put puts[STORE_EAGER_COUNT];

    memset(puts, 0, sizeof puts);
    for (unsigned i = 0; i < STORE_EAGER_COUNT - 1; i++)
        put_submit(w->store, &puts[i], CM, "a", "x", "v");
    run_until(w->loop, &puts[STORE_EAGER_COUNT - 2].is_done);
    ASSERT_INT(1, counts[0]);
    ASSERT_INT(STORE_EAGER_COUNT - 1, counts[1]);
    ASSERT_INT(1, b.calls);
}

/* Many do not wait for the last of them: the first ones leave, the others follow together. */
TEST(much_that_comes_in_one_turn_commits_in_two_parts)
{
    struct bad_log b = { 0 };
    unsigned counts[2] = { 0, 0 };
    struct store_options o = { .on_commit = count_commits, .ctx = counts };
    _cleanup_(world_close) struct world *w = world_on(&b, &o, true);
    struct put puts[40];

    memset(puts, 0, sizeof puts);
    for (unsigned i = 0; i < ARRAY_LEN(puts); i++)
        put_submit(w->store, &puts[i], CM, "a", "x", "v");
    run_until(w->loop, &puts[39].is_done);
    ASSERT_INT(2, counts[0]);
    ASSERT_INT(40, counts[1]);
    ASSERT_INT(2, b.calls);
}

TEST(large_writes_are_spread_over_batches)
{
    struct bad_log b = { 0 };
    _cleanup_(world_close) struct world *w = world_on(&b, NULL, false);
    struct put puts[30];
    char *big = malloc((1 << 20) + 1);

    memset(puts, 0, sizeof puts);
    assert_non_null(big);
    memset(big, 'v', 1 << 20);
    big[1 << 20] = '\0';
    for (unsigned i = 0; i < ARRAY_LEN(puts); i++)
        put_submit(w->store, &puts[i], CM, "a", "x", big);
    free(big);
    run_until(w->loop, &puts[29].is_done);
    ASSERT_INT(2, b.calls); /* 16 and 14 */
    ASSERT_INT(30, b.rows);
}

/* --- History --- */

TEST(replay_gives_each_event_once_in_order)
{
    WORLD(w, 0);

    world_put(w, CM, "a", "x", "1");
    world_put(w, KIND_CLASS, "", "fast", "2");
    world_put(w, CM, "a", "x", "3");
    world_put(w, CM, "a", "x", NULL);
    ASSERT_STR("+a/x=1@1 ~a/x=3@3<1@1 -a/x=deleted@4<3@3", replay_text(w->store, CM, 0));
    ASSERT_STR("-a/x=deleted@4<3@3", replay_text(w->store, CM, 3));
    ASSERT_STR("", replay_text(w->store, CM, 4));
    ASSERT_STR("", replay_text(w->store, CM, 400));
    ASSERT_STR("+fast=2@2", replay_text(w->store, KIND_CLASS, 0));
    ASSERT_STR("+fast=2@2 ~a/x=3@3<1@1 -a/x=deleted@4<3@3", replay_text(w->store, KIND_COUNT, 1));
}

static bool replay_one(void *ctx, const struct store_event *ev)
{
    event_text(ctx, ev);
    return false;
}

TEST(a_replay_ends_when_it_is_told_to)
{
    WORLD(w, 0);
    _cleanup_(buf_done_p) struct buf seen = BUF_INIT(4096);
    struct error err = { 0 };

    for (unsigned i = 0; i < 3; i++)
        world_put(w, CM, "a", "x", "v");
    ASSERT_OK(store_replay(w->store, CM, 1, replay_one, &seen, &err));
    ASSERT_STR("~a/x=v@2<v@1", buf_cstr(&seen));
}

TEST(the_ring_forgets_the_oldest)
{
    WORLD(w, .history_count = 3);
    struct error err = { 0 };
    struct store_iter it;

    for (unsigned i = 0; i < 5; i++)
        world_put(w, CM, "a", "x", "v");
    ASSERT_INT(2, store_history_start(w->store));
    ASSERT_STR("~a/x=v@3<v@2 ~a/x=v@4<v@3 ~a/x=v@5<v@4", replay_text(w->store, CM, 2));
    ASSERT_ERR(ERR_GONE, store_replay(w->store, CM, 1, replay_to, NULL, &err));
    ASSERT_STR("too old resource version: 1 (2)", err.msg);
    ASSERT_STR("a/x=v@2", iter_text(w->store, CM, NULL, "", "", 2));
    ASSERT_ERR(ERR_GONE, store_iter_begin(&it, w->store, CM, NULL, str_of(""), str_of(""), 1, &err));
}

TEST(a_batch_larger_than_the_ring_reaches_the_watchers_whole)
{
    WORLD(w, .history_count = 2);
    struct store_watcher watcher;
    _cleanup_(buf_done_p) struct buf seen = BUF_INIT(4096);
    struct put puts[4];

    memset(puts, 0, sizeof puts);
    store_watch(w->store, &watcher, CM, event_text, NULL, &seen);
    for (unsigned i = 0; i < ARRAY_LEN(puts); i++)
        put_submit(w->store, &puts[i], CM, "a", "x", "v");
    world_run(w);
    ASSERT_STR("+a/x=v@1 ~a/x=v@2<v@1 ~a/x=v@3<v@2 ~a/x=v@4<v@3", buf_cstr(&seen));
    store_unwatch(w->store, &watcher);
}

TEST(rows_that_no_longer_matter_are_dropped_in_chunks)
{
    struct bad_log b = { 0 };
    struct store_options o = { .history_count = 8 };
    _cleanup_(world_close) struct world *w = world_on(&b, &o, true);
    unsigned count = 2 * STORE_DROP_COUNT + 100;
    struct put p = { 0 };

    /* Each write supersedes one row; that goes when the write itself falls out of the ring. */
    for (unsigned i = 0; i < count; i++)
        ASSERT_INT(0, put_in(w->loop, w->store, CM, "a", "x", "v"));
    put_submit(w->store, &p, CM, "a", "x", "v"); /* one more turn round for a drop under way */
    run_until(w->loop, &p.is_done);
    pool_drain(w->store->pool);
    ASSERT_INT(2 * STORE_DROP_COUNT, b.dropped);
    assert_true(b.meta.history_start > (int64_t)2 * STORE_DROP_COUNT);
    assert_true(b.meta.revision >= b.meta.history_start + 8);
}

/* Rows go in the order in which they ceased to matter: a later one must not go before an earlier one, or a
 * deletion would be forgotten before what it deleted. */
TEST(a_drop_that_fails_is_tried_again_before_any_other)
{
    struct bad_log b = { .drops_fail = 3 };
    struct store_options o = { .history_count = 1 };
    _cleanup_(world_close) struct world *w = world_on(&b, &o, false);
    struct error err = { 0 };

    for (unsigned i = 0; i < 3 * STORE_DROP_COUNT; i++)
        ASSERT_INT(0, put_in(w->loop, w->store, CM, "a", "x", "v"));
    while (loop_poll(w->loop)) {
    }
    ASSERT_INT(2 * STORE_DROP_COUNT, b.dropped);
    ASSERT_INT(5, b.drops_called); /* not again and again while nothing else happens */
    ASSERT_OK(store_check(w->store, &err));
}

/* --- Iteration --- */

TEST(iteration_is_ordered_and_bounded)
{
    WORLD(w, 0);

    world_put(w, CM, "b", "x", "1");
    world_put(w, CM, "a-b", "x", "2"); /* '-' comes before '/': the namespace is compared as a whole */
    world_put(w, CM, "a", "y", "3");
    world_put(w, CM, "a", "x", "4");
    world_put(w, CM, "a", "x-1", "5");
    world_put(w, CM, "averyveryverylong", "x", "6");
    const char *all = "a/x=4@4 a/x-1=5@5 a/y=3@3 a-b/x=2@2 averyveryverylong/x=6@6 b/x=1@1";
    ASSERT_STR(all, iter_text(w->store, CM, NULL, "", "", 0));
    ASSERT_STR("a/x=4@4 a/x-1=5@5 a/y=3@3", iter_text(w->store, CM, "a", "", "", 0));
    ASSERT_STR("a/x-1=5@5 a/y=3@3", iter_text(w->store, CM, "a", "a", "x-", 0));
    ASSERT_STR("a/y=3@3", iter_text(w->store, CM, "a", "a", "y", 0));
    ASSERT_STR("", iter_text(w->store, CM, "a", "a", "z", 0));
    ASSERT_STR("", iter_text(w->store, CM, "a", "b", "", 0));
    ASSERT_STR("", iter_text(w->store, CM, "none", "", "", 0));
    ASSERT_STR("averyveryverylong/x=6@6 b/x=1@1", iter_text(w->store, CM, NULL, "a-b", "xx", 0));
    ASSERT_STR("", iter_text(w->store, KIND_SECRET, NULL, "", "", 0));
    ASSERT_STR(all, iter_text(w->store, CM, NULL, "", "", 6));
    ASSERT_STR(all, iter_text(w->store, CM, NULL, "", "", 99));
}

/* A continue token says "behind this key": the key and a NUL byte. */
TEST(iteration_goes_on_behind_a_key)
{
    WORLD(w, 0);
    struct error err = { 0 };
    struct store_iter it;

    world_put(w, KIND_CLASS, "", "a", "1");
    world_put(w, KIND_CLASS, "", "a-", "2");
    ASSERT_OK(store_iter_begin(&it, w->store, KIND_CLASS, NULL, (struct str){ NULL, 0 },
                               (struct str){ "a\0", 2 }, 0, &err));
    ASSERT_STR("2", value_of(store_iter_next(&it)));
    assert_null(store_iter_next(&it));
    store_iter_done(&it);
}

TEST(iteration_survives_writes_submitted_meanwhile)
{
    WORLD(w, 0);
    struct put puts[200];
    struct error err = { 0 };
    struct store_iter it;
    const struct object *o;
    unsigned seen = 0;
    char name[16];

    memset(puts, 0, sizeof puts);
    for (unsigned i = 0; i < 100; i++) {
        (void)snprintf(name, sizeof name, "x%03u", i * 2);
        world_put(w, CM, "a", name, "v");
    }
    ASSERT_OK(store_iter_begin(&it, w->store, CM, "a", str_of(""), str_of(""), 0, &err));
    while ((o = store_iter_next(&it))) {
        put_submit(w->store, &puts[seen], CM, "a", o->name, NULL);
        (void)snprintf(name, sizeof name, "x%03u", seen * 2 + 1);
        put_submit(w->store, &puts[100 + seen], CM, "a", name, "new");
        seen++;
    }
    store_iter_done(&it);
    ASSERT_INT(100, seen);
    world_run(w);
    ASSERT_INT(100, store_count(w->store, CM));
}

/* A naive model: for each revision the whole state as a text. */
#define MODEL_KEYS 12
#define MODEL_STEPS 600
#define MODEL_HISTORY 200

struct model {
    int64_t revisions[MODEL_KEYS]; /* 0: not there */
};

static const char *model_text(const struct model *m, const char *ns)
{
    static struct buf out = { .len_max = 1 << 16 };
    static const char *const spaces[] = { "a", "b", "bb" };

    buf_clear(&out);
    for (unsigned i = 0; i < MODEL_KEYS; i++)
        if (m->revisions[i] && (!ns || strcmp(ns, spaces[i / 4]) == 0))
            buf_addf(&out, "%s%s/n%u=v%lld@%lld", out.len ? " " : "", spaces[i / 4], i % 4,
                     (long long)m->revisions[i], (long long)m->revisions[i]);
    return buf_cstr(&out);
}

static void model_step(struct world *w, struct model *m, struct rng *rng)
{
    static const char *const spaces[] = { "a", "b", "bb" };
    unsigned key = (unsigned)rng_below(rng, MODEL_KEYS);
    bool is_delete = m->revisions[key] && rng_chance(rng, 40);
    int64_t revision = store_revision(w->store) + 1;
    char name[16], value[32];

    (void)snprintf(name, sizeof name, "n%u", key % 4);
    (void)snprintf(value, sizeof value, "v%lld", (long long)revision);
    world_put(w, CM, spaces[key / 4], name, is_delete ? NULL : value);
    world_put(w, KIND_SECRET, "b", "noise", value); /* other kinds' events stand between */
    m->revisions[key] = is_delete ? 0 : revision;
}

TEST(old_revisions_read_as_they_were)
{
    WORLD(w, .history_count = MODEL_HISTORY);
    static struct model models[MODEL_STEPS + 1];
    struct error err = { 0 };
    struct store_iter it;
    struct rng rng;

    rng_init(&rng, 7);
    models[0] = (struct model){ 0 };
    for (unsigned i = 1; i <= MODEL_STEPS; i++) {
        models[i] = models[i - 1];
        model_step(w, &models[i], &rng);
        for (unsigned n = 0; n < 6; n++) {
            unsigned back = (unsigned)rng_below(&rng, i + 1);
            int64_t at = (int64_t)(i - back) * 2;
            if (at == 0 || at < store_history_start(w->store))
                continue;
            const char *ns = rng_chance(&rng, 50) ? "b" : NULL;
            ASSERT_STR(model_text(&models[i - back], ns), iter_text(w->store, CM, ns, "", "", at));
        }
    }
    ASSERT_INT(MODEL_STEPS * 2 - MODEL_HISTORY, store_history_start(w->store));
    ASSERT_ERR(ERR_GONE, store_iter_begin(&it, w->store, CM, NULL, str_of(""), str_of(""), 1, &err));
}

/* Snapshots of the present and of the past are opened and closed at random; each shows its own revision as
 * long as it is open, also when history has forgotten it. */
TEST(snapshots_stay_as_they_are)
{
    enum { OPEN_MAX = 8 };
    WORLD(w, .history_count = MODEL_HISTORY / 10);
    static struct model models[MODEL_STEPS + 1];
    struct store_snapshot open[OPEN_MAX] = { 0 };
    struct error err = { 0 };
    unsigned outlived = 0;
    struct rng rng;

    rng_init(&rng, 11);
    models[0] = (struct model){ 0 };
    for (unsigned i = 1; i <= MODEL_STEPS; i++) {
        struct store_snapshot *one = &open[rng_below(&rng, OPEN_MAX)];
        int64_t at = (int64_t)(i - rng_below(&rng, i < 9 ? i : 9)) * 2;

        models[i] = models[i - 1];
        model_step(w, &models[i], &rng);
        if (one->store && rng_chance(&rng, 20))
            store_snapshot_close(one);
        else if (!one->store)
            ASSERT_OK(store_snapshot_open(w->store, CM, rng_chance(&rng, 50) ? at : 0, one, &err));
        for (unsigned n = 0; n < OPEN_MAX; n++) {
            const char *ns = rng_chance(&rng, 30) ? "b" : NULL;

            if (!open[n].store)
                continue;
            outlived += open[n].revision < store_history_start(w->store);
            ASSERT_STR(model_text(&models[open[n].revision / 2], ns), snapshot_text(&open[n], ns, "", ""));
        }
    }
    assert_true(outlived > 100);
    for (unsigned n = 0; n < OPEN_MAX; n++)
        store_snapshot_close(&open[n]);
    ASSERT_INT(0, store_snapshots_bytes(w->store));
}

TEST(a_snapshot_is_read_on_from_where_it_was)
{
    WORLD(w, 0);
    struct store_snapshot snap;
    struct error err = { 0 };

    world_put(w, CM, "a", "x", "1");
    world_put(w, CM, "a", "y", "2");
    world_put(w, CM, "b", "x", "3");
    ASSERT_OK(store_snapshot_open(w->store, CM, 0, &snap, &err));
    ASSERT_INT(0, store_snapshots_bytes(w->store));
    world_put(w, CM, "a", "y", "4");
    world_put(w, CM, "a", "z", "5");
    world_put(w, CM, "b", "x", NULL);
    ASSERT_STR("a/y=2@2 b/x=3@3", snapshot_text(&snap, NULL, "a", "xx"));
    ASSERT_STR("b/x=3@3", snapshot_text(&snap, NULL, "a", "yy"));
    ASSERT_STR("b/x=3@3", snapshot_text(&snap, "b", "a", "yy"));
    ASSERT_STR("", snapshot_text(&snap, "c", "", ""));
    store_snapshot_close(&snap);
}

/* However often an object is written, a snapshot keeps one state of it. */
TEST(a_snapshot_keeps_what_it_shows_and_no_more)
{
    WORLD(w, .history_count = 4);
    struct store_snapshot first, second, third;
    struct error err = { 0 };
    size_t bytes;

    world_put(w, CM, "a", "x", "1");
    ASSERT_OK(store_snapshot_open(w->store, CM, 0, &first, &err));
    world_put(w, CM, "a", "x", "2");
    bytes = store_snapshots_bytes(w->store);
    assert_true(bytes > 0);
    for (unsigned i = 0; i < 20; i++)
        world_put(w, CM, "a", "x", "3");
    ASSERT_INT(bytes, store_snapshots_bytes(w->store));
    ASSERT_OK(store_snapshot_open(w->store, CM, 0, &second, &err));
    ASSERT_OK(store_snapshot_open(w->store, CM, 0, &third, &err));
    ASSERT_INT(bytes, store_snapshots_bytes(w->store));
    for (unsigned i = 0; i < 20; i++)
        world_put(w, CM, "a", "x", "4");
    ASSERT_STR("a/x=1@1", snapshot_text(&first, NULL, "", ""));
    ASSERT_STR("a/x=3@22", snapshot_text(&third, NULL, "", ""));
    store_snapshot_close(&second);
    store_snapshot_close(&second);
    store_snapshot_close(&third); /* the first one does not show what this one kept */
    ASSERT_INT(bytes, store_snapshots_bytes(w->store));
    ASSERT_STR("a/x=1@1", snapshot_text(&first, NULL, "", ""));
    store_snapshot_close(&first);
    ASSERT_INT(0, store_snapshots_bytes(w->store));
    ASSERT_ERR(ERR_GONE, store_snapshot_open(w->store, CM, 1, &first, &err));
}

TEST(old_revisions_begin_where_asked)
{
    WORLD(w, 0);

    world_put(w, CM, "a", "x", "1");
    world_put(w, CM, "a", "y", "2");
    world_put(w, CM, "a", "z", "3");
    world_put(w, CM, "a", "x", NULL);
    world_put(w, CM, "a", "y", "5");
    world_put(w, CM, "a", "y", NULL);
    world_put(w, CM, "a", "yy", "7");
    ASSERT_STR("a/y=2@2 a/z=3@3", iter_text(w->store, CM, NULL, "a", "y", 3));
    ASSERT_STR("a/x=1@1 a/y=2@2", iter_text(w->store, CM, NULL, "", "", 2));
    ASSERT_STR("a/y=2@2 a/z=3@3", iter_text(w->store, CM, NULL, "", "", 4));
    ASSERT_STR("a/y=5@5 a/z=3@3", iter_text(w->store, CM, NULL, "", "", 5));
    ASSERT_STR("a/z=3@3", iter_text(w->store, CM, NULL, "", "", 6));
    ASSERT_STR("a/yy=7@7 a/z=3@3", iter_text(w->store, CM, NULL, "", "", 7));
}

/* --- Watchers --- */

static void settled_text(void *ctx, int64_t revision)
{
    buf_addf(ctx, " |%lld", (long long)revision);
}

TEST(watchers_see_their_kind_and_the_end_of_each_batch)
{
    WORLD(w, 0);
    struct store_watcher one, all;
    _cleanup_(buf_done_p) struct buf seen = BUF_INIT(4096), seen_all = BUF_INIT(4096);
    struct put puts[3];

    memset(puts, 0, sizeof puts);
    world_put(w, CM, "a", "before", "0");
    store_watch(w->store, &one, CM, event_text, settled_text, &seen);
    store_watch(w->store, &all, KIND_COUNT, event_text, NULL, &seen_all);
    put_submit(w->store, &puts[0], CM, "a", "x", "2");
    put_submit(w->store, &puts[1], KIND_CLASS, "", "fast", "3");
    put_submit(w->store, &puts[2], CM, "a", "before", NULL);
    world_run(w);
    world_put(w, KIND_CLASS, "", "slow", "5");
    ASSERT_STR("+a/x=2@2 -a/before=deleted@4<0@1 |4 |5", buf_cstr(&seen));
    ASSERT_STR("+a/x=2@2 +fast=3@3 -a/before=deleted@4<0@1 +slow=5@5", buf_cstr(&seen_all));
    store_unwatch(w->store, &one);
    store_unwatch(w->store, &all);
    world_put(w, CM, "a", "x", "6");
    ASSERT_STR("+a/x=2@2 -a/before=deleted@4<0@1 |4 |5", buf_cstr(&seen));
}

/* A watcher that does something to the others when it is told. */
struct meddler {
    struct store *store;
    struct store_watcher watcher;
    struct store_watcher *unwatch; /* itself or another */
    struct store_watcher *watch;
    struct buf *watch_into;
    unsigned told;
};

static void meddler_event(void *ctx, const struct store_event *ev)
{
    struct meddler *m = ctx;

    /* By now everything of the batch is in the image. */
    ASSERT_INT(ev->is_delete, store_get(m->store, CM, ev->object->ns, ev->object->name) == NULL);
    m->told++;
    if (m->unwatch)
        store_unwatch(m->store, TAKE(m->unwatch));
    if (m->watch)
        store_watch(m->store, TAKE(m->watch), CM, event_text, settled_text, m->watch_into);
}

TEST(watchers_come_and_go_inside_callbacks)
{
    WORLD(w, 0);
    _cleanup_(buf_done_p) struct buf seen = BUF_INIT(4096);
    struct meddler first = { .store = w->store }, last = { .store = w->store };
    struct store_watcher next, late;
    struct put puts[2];

    memset(puts, 0, sizeof puts);
    store_watch(w->store, &first.watcher, CM, meddler_event, NULL, &first);
    store_watch(w->store, &next, CM, event_text, NULL, &seen);
    store_watch(w->store, &last.watcher, CM, meddler_event, NULL, &last);
    first.unwatch = &next; /* the one that would be told next */
    first.watch = &late;   /* sees nothing of this batch: it could have read it */
    first.watch_into = &seen;
    last.unwatch = &last.watcher; /* itself */
    put_submit(w->store, &puts[0], CM, "a", "x", "1");
    put_submit(w->store, &puts[1], CM, "a", "y", "2");
    world_run(w);
    ASSERT_INT(2, first.told);
    ASSERT_INT(1, last.told);
    ASSERT_STR(" |2", buf_cstr(&seen));
    world_put(w, CM, "a", "x", "3");
    ASSERT_STR(" |2 ~a/x=3@3<1@1 |3", buf_cstr(&seen));
    store_unwatch(w->store, &first.watcher);
    store_unwatch(w->store, &late);
}

struct writer {
    struct store *store;
    struct put put;
    bool wrote;
};

static void writer_event(void *ctx, const struct store_event *ev)
{
    struct writer *x = ctx;

    (void)ev;
    if (!x->wrote)
        put_submit(x->store, &x->put, CM, "a", "echo", "v");
    x->wrote = true;
}

TEST(a_watcher_may_write)
{
    WORLD(w, 0);
    struct writer x = { .store = w->store };
    struct store_watcher watcher;

    store_watch(w->store, &watcher, CM, writer_event, NULL, &x);
    world_put(w, CM, "a", "x", "v");
    world_run(w);
    assert_true(x.put.is_done);
    ASSERT_STR("a/echo=v@2 a/x=v@1", iter_text(w->store, CM, NULL, "", "", 0));
    store_unwatch(w->store, &watcher);
}

static void done_last(void *ctx, int r, const struct error *err)
{
    (void)err;
    buf_addf(ctx, " done(%d)", r);
}

TEST(watchers_hear_before_the_writer)
{
    WORLD(w, 0);
    _cleanup_(buf_done_p) struct buf seen = BUF_INIT(4096);
    struct store_watcher watcher;
    struct store_write write;
    struct object *o = make_object(CM, "a", "x", store_reserve(w->store), "v");

    store_watch(w->store, &watcher, CM, event_text, settled_text, &seen);
    store_submit(w->store, &write, o, false, done_last, &seen);
    (void)object_unref(o);
    world_run(w);
    ASSERT_STR("+a/x=v@1 |1 done(0)", buf_cstr(&seen));
    store_unwatch(w->store, &watcher);
}

/* --- A full disk --- */

/* Refuses rows that grow while it is full, and all of them when nothing is kept for the others. */
struct full_log {
    bool is_full;
    bool is_used_up;
    bool has_failed;
    bool is_broken; /* a failure of another kind */
    unsigned appends;
    unsigned probes;
};

static int full_append(void *ctx, const struct store_row *rows, size_t count, struct error *err)
{
    struct full_log *f = ctx;
    bool grows = false;

    f->appends++;
    for (size_t i = 0; i < count; i++)
        grows = grows || rows[i].grows;
    f->has_failed = !f->is_broken && f->is_full && (grows || f->is_used_up);
    if (f->is_broken)
        return error_set(err, ERR_IO, "broken");
    return f->has_failed ? error_set(err, ERR_IO, "no room") : 0;
}

static int full_drop(void *ctx, const int64_t *revisions, size_t count, const struct store_log_meta *meta,
                     struct error *err)
{
    struct full_log *f = ctx;

    (void)revisions;
    (void)count;
    (void)meta;
    f->probes++;
    f->has_failed = f->is_full;
    return f->has_failed ? error_set(err, ERR_IO, "no room") : 0;
}

static int full_load(void *ctx, struct store_log_meta *ret_meta, store_row_fn *fn, void *fn_ctx,
                     struct error *err)
{
    (void)ctx;
    *ret_meta = (struct store_log_meta){ 0 };
    return fn(fn_ctx, NULL, err);
}

static bool full_is_full(const void *ctx)
{
    const struct full_log *f = ctx;

    return f->has_failed;
}

static const struct store_log_type full_log_type = { full_append, full_drop, full_load, bad_close,
                                                     full_is_full };

static struct world *world_on_full(struct full_log *f, const struct store_options *o, bool threaded)
{
    struct world *w = calloc(1, sizeof *w);
    struct error err = { 0 };

    assert_non_null(w);
    w->loop = new_loop(NULL);
    ASSERT_OK(store_new(w->loop, o, (struct store_log){ &full_log_type, f }, threaded, -1, &w->store, &err));
    return w;
}

#define LONG_VALUE "a value that is longer than others"

static void check_full(bool threaded)
{
    struct full_log f = { 0 };
    _cleanup_(world_close) struct world *w = world_on_full(&f, NULL, threaded);
    struct put puts[9];
    struct error err = { 0 };

    memset(puts, 0, sizeof puts);
    ASSERT_INT(0, put_in(w->loop, w->store, CM, "a", "gone", "1"));
    ASSERT_INT(0, put_in(w->loop, w->store, CM, "a", "less", LONG_VALUE));
    ASSERT_INT(0, put_in(w->loop, w->store, CM, "a", "more", "3"));
    ASSERT_INT(0, put_in(w->loop, w->store, CM, "a", "same", "4"));
    ASSERT_INT(0, put_in(w->loop, w->store, CM, "a", "both", LONG_VALUE));
    f.is_full = true;
    put_submit(w->store, &puts[0], CM, "a", "gone", NULL);
    put_submit(w->store, &puts[1], CM, "a", "new", "2");
    put_submit(w->store, &puts[2], CM, "a", "new", NULL); /* built on what fails */
    put_submit(w->store, &puts[3], CM, "a", "less", "4");
    put_submit(w->store, &puts[4], CM, "a", "more", LONG_VALUE);
    put_submit(w->store, &puts[5], CM, "a", "same", "6");
    put_submit(w->store, &puts[6], CM, "a", "both", "7");
    put_submit(w->store, &puts[7], CM, "a", "both", LONG_VALUE);
    put_submit(w->store, &puts[8], CM, "a", "gone", "again"); /* a new one, after the deletion */
    for (unsigned i = 0; i < ARRAY_LEN(puts); i++) {
        bool fails = i == 1 || i == 2 || i == 4 || i == 5 || i == 7 || i == 8;
        run_until(w->loop, &puts[i].is_done);
        ASSERT_INT(fails ? -ERR_IO : 0, puts[i].r);
        ASSERT_STR(fails ? "no room" : "", puts[i].err.msg);
    }
    ASSERT_STR("a/both=7@12 a/less=4@9 a/more=3@3 a/same=4@4", iter_text(w->store, CM, NULL, "", "", 0));
    ASSERT_STR("7", value_of(store_get_newest(w->store, CM, "a", "both")));
    assert_null(store_get_newest(w->store, CM, "a", "gone"));
    assert_null(store_get_newest(w->store, CM, "a", "new"));
    ASSERT_ERR(ERR_IO, store_check(w->store, &err)); /* removing does not make it well */
    f.is_used_up = true;
    ASSERT_INT(-ERR_IO, put_in(w->loop, w->store, CM, "a", "less", NULL));
    f.is_full = false;
    ASSERT_INT(0, put_in(w->loop, w->store, CM, "a", "new", "2"));
    ASSERT_OK(store_check(w->store, &err));
}

TEST(a_full_disk_fails_what_grows_and_no_more)
{
    check_full(false);
    check_full(true);
}

/* What is in the queue behind a batch that fails. */
TEST(removals_behind_a_batch_that_fails_go_on)
{
    struct full_log f = { 0 };
    struct store_options o = { .batch_max = 2 };
    _cleanup_(world_close) struct world *w = world_on_full(&f, &o, true);
    struct put puts[40];

    memset(puts, 0, sizeof puts);
    for (unsigned i = 0; i < ARRAY_LEN(puts) / 2; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "n%u", i);
        ASSERT_INT(0, put_in(w->loop, w->store, CM, "a", name, "1"));
    }
    f.is_full = true;
    for (unsigned i = 0; i < ARRAY_LEN(puts); i++) {
        char name[16];
        (void)snprintf(name, sizeof name, i % 2 ? "other%u" : "n%u", i / 2);
        put_submit(w->store, &puts[i], CM, "a", name, i % 2 ? "grows" : NULL);
    }
    for (unsigned i = 0; i < ARRAY_LEN(puts); i++) {
        run_until(w->loop, &puts[i].is_done);
        ASSERT_INT(i % 2 ? -ERR_IO : 0, puts[i].r);
    }
    ASSERT_INT(0, store_count(w->store, CM));
}

/* Marking an object for deletion makes it longer, and is the beginning of its removal. */
TEST(an_object_may_be_marked_for_deletion_on_a_full_disk)
{
    static const char marked[] = "1\"},\"deletionTimestamp\":\"2026-01-02T03:04:05Z\",\"labels\":{\"a\":\"b";
    struct full_log f = { 0 };
    _cleanup_(world_close) struct world *w = world_on_full(&f, NULL, false);
    char large[2100];

    ASSERT_INT(0, put_in(w->loop, w->store, CM, "a", "x", "1"));
    f.is_full = true;
    ASSERT_INT(0, put_in(w->loop, w->store, CM, "a", "x", marked));
    assert_true(store_get(w->store, CM, "a", "x")->is_deleting);
    (void)snprintf(large, sizeof large, "%s%02000d", marked, 0); /* but not made large on the way */
    ASSERT_INT(-ERR_IO, put_in(w->loop, w->store, CM, "a", "x", large));
    ASSERT_INT(0, put_in(w->loop, w->store, CM, "a", "x", NULL));
}

/* --- What the log of the server says --- */

static void keep_line(void *ctx, const char *line, size_t len)
{
    buf_add(ctx, line, len);
}

static unsigned count_lines(const struct buf *text, const char *words)
{
    unsigned count = 0;

    for (const char *at = buf_cstr(text); (at = strstr(at, words)); at++)
        count++;
    return count;
}

static void count_refused(void *ctx, size_t count)
{
    *(size_t *)ctx += count;
}

TEST(refused_writes_leave_a_line_per_cause_and_ten_seconds)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(1 << 20);
    struct full_log f = { .is_full = true };
    struct manual_clock clock;
    size_t refused = 0;
    struct store_options o = { .on_refuse = count_refused, .ctx = &refused };
    struct world w;
    struct error err = { 0 };

    manual_clock_init(&clock, 0, 0);
    struct logger logger = { LOG_LEVEL_INFO, LOG_FORMAT_TEXT, &clock.clock, keep_line, &text };
    w.loop = new_loop(&clock.clock);
    ASSERT_OK(store_new(w.loop, &o, (struct store_log){ &full_log_type, &f }, false, -1, &w.store, &err));
    log_install(&logger);
    for (unsigned i = 0; i < 100; i++)
        ASSERT_INT(-ERR_IO, put_in(w.loop, w.store, CM, "a", "x", "1"));
    ASSERT_INT(1, count_lines(&text, "ERROR store refused writes writes=1 error=\"no room\" hint=\"free "
                                     "space on the disk of the data directory"));
    ASSERT_INT(1, count_lines(&text, "\n"));
    ASSERT_INT(100, refused);
    loop_advance(w.loop, &clock, STORE_REFUSAL_LOG_NS); /* a probe meanwhile */
    ASSERT_INT(1, count_lines(&text, "store refused writes writes=99"));
    ASSERT_INT(2, count_lines(&text, "\n"));
    loop_advance(w.loop, &clock, 3 * STORE_REFUSAL_LOG_NS); /* nobody writes */
    ASSERT_INT(2, count_lines(&text, "\n"));
    f.is_broken = true;
    ASSERT_INT(-ERR_IO, put_in(w.loop, w.store, CM, "a", "x", "1"));
    ASSERT_INT(1, count_lines(&text, "error=broken"));
    f = (struct full_log){ 0 };
    ASSERT_INT(0, put_in(w.loop, w.store, CM, "a", "x", "1"));
    ASSERT_INT(1, count_lines(&text, "INFO store accepts writes again"));
    log_install(NULL);
    (void)store_free(w.store);
    (void)loop_free(w.loop);
}

TEST_MAIN()
