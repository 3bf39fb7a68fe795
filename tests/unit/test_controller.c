/* A controller's loop in virtual time: what a sync says decides when its key comes back. */
#include "tests/unit/test.h"

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "machinery/controller.h"
#include "tests/unit/aborts.h"

#define SYNCS_MAX 512

static struct error err;

struct world {
    struct manual_clock clock;
    struct loop *loop;
    struct controller *c;
    bool is_ready;
    unsigned asked; /* whether it is ready */
    enum sync_result answer;
    bool finishes_inside; /* a sync ends itself before it says SYNC_LATER */
    char synced[SYNCS_MAX][32];
    uint64_t synced_at_ns[SYNCS_MAX];
    size_t synced_count;
};

static enum sync_result sync_key(void *ctx, struct str key)
{
    struct world *w = ctx;

    assert_true(w->synced_count < SYNCS_MAX);
    (void)snprintf(w->synced[w->synced_count], sizeof w->synced[0], "%.*s", STR_ARG(key));
    w->synced_at_ns[w->synced_count++] = loop_now_ns(w->loop);
    if (w->finishes_inside) {
        controller_finish(w->c, key, w->answer);
        return SYNC_LATER;
    }
    return w->answer;
}

static bool is_ready(void *ctx)
{
    struct world *w = ctx;

    w->asked++;
    return w->is_ready;
}

static void world_open(struct world *w, struct controller_options o)
{
    *w = (struct world){ .is_ready = true };
    manual_clock_init(&w->clock, 7 * NS_PER_S, 0);
    ASSERT_OK(loop_new(&w->clock.clock, &w->loop, &err));
    o.queue.loop = w->loop;
    o.queue.name = "claims";
    o.sync = sync_key;
    o.is_ready = is_ready;
    o.ctx = w;
    ASSERT_OK(controller_new(&o, &w->c, &err));
}

static void world_done(struct world *w)
{
    w->c = controller_free(w->c);
    w->loop = loop_free(w->loop); /* asserts that no timer is armed and nothing deferred */
}

static void pass(struct world *w, uint64_t ns)
{
    loop_advance(w->loop, &w->clock, ns);
}

static void add(struct world *w, const char *key)
{
    controller_add(w->c, str_of(key));
}

static void add_many(struct world *w, unsigned keys_count)
{
    for (unsigned i = 0; i < keys_count; i++) {
        char key[16];

        (void)snprintf(key, sizeof key, "k%03u", i);
        add(w, key);
    }
}

TEST(keys_are_synced_in_order_and_once)
{
    _cleanup_(world_done) struct world w;

    world_open(&w, (struct controller_options){ 0 });
    add(&w, "b");
    add(&w, "a");
    add(&w, "b");
    ASSERT_INT(0, w.synced_count); /* not from inside the addition */
    pass(&w, 0);
    ASSERT_INT(2, w.synced_count);
    ASSERT_STR("b", w.synced[0]);
    ASSERT_STR("a", w.synced[1]);
    ASSERT_INT(0, workqueue_processing(controller_queue(w.c)));
    pass(&w, 1000 * NS_PER_S);
    ASSERT_INT(2, w.synced_count);
}

/* Somebody else was first: three times at once, then with the key's delay, until it ends otherwise. */
TEST(overtaken_key_comes_back_at_once_three_times)
{
    _cleanup_(world_done) struct world w;

    world_open(&w, (struct controller_options){ 0 });
    w.answer = SYNC_OVERTAKEN;
    add(&w, "a");
    pass(&w, 0);
    ASSERT_INT(4, w.synced_count);
    pass(&w, 4 * NS_PER_MS);
    ASSERT_INT(4, w.synced_count);
    pass(&w, NS_PER_MS);
    ASSERT_INT(5, w.synced_count);
    pass(&w, 9 * NS_PER_MS);
    ASSERT_INT(5, w.synced_count);
    w.answer = SYNC_DONE;
    pass(&w, NS_PER_MS);
    ASSERT_INT(6, w.synced_count);
    w.answer = SYNC_OVERTAKEN; /* all is forgotten */
    add(&w, "a");
    pass(&w, 0);
    ASSERT_INT(10, w.synced_count);
}

/* spec 3.3: a conflict is tried again at once, with the key's delay. */
TEST(what_fails_comes_back_later_and_later)
{
    static const uint64_t delays_ms[] = { 5, 10, 20, 40, 80 };
    _cleanup_(world_done) struct world w;

    world_open(&w, (struct controller_options){ 0 });
    w.answer = SYNC_AGAIN;
    add(&w, "a");
    pass(&w, 200 * NS_PER_MS);
    ASSERT_INT(6, w.synced_count);
    for (size_t i = 0; i < ARRAY_LEN(delays_ms); i++)
        ASSERT_INT(delays_ms[i] * NS_PER_MS, w.synced_at_ns[i + 1] - w.synced_at_ns[i]);
    w.answer = SYNC_DONE;
    pass(&w, 1000 * NS_PER_S);
    ASSERT_INT(7, w.synced_count);
    ASSERT_INT(0, workqueue_failures(controller_queue(w.c), STR_LIT("a")));
    w.answer = SYNC_AGAIN;
    add(&w, "a");
    pass(&w, 5 * NS_PER_MS);
    ASSERT_INT(9, w.synced_count);
    ASSERT_INT(5 * NS_PER_MS, w.synced_at_ns[8] - w.synced_at_ns[7]);
}

TEST(what_is_under_way_is_not_synced_again_before_its_end)
{
    _cleanup_(world_done) struct world w;

    world_open(&w, (struct controller_options){ 0 });
    w.answer = SYNC_LATER;
    add(&w, "a");
    pass(&w, 0);
    add(&w, "a");
    add(&w, "a");
    add(&w, "b"); /* others are not held up */
    pass(&w, 1000 * NS_PER_S);
    ASSERT_INT(2, w.synced_count);
    ASSERT_STR("b", w.synced[1]);
    w.answer = SYNC_DONE;
    controller_finish(w.c, STR_LIT("a"), SYNC_DONE);
    ASSERT_INT(2, w.synced_count); /* not from inside */
    pass(&w, 0);
    ASSERT_INT(3, w.synced_count);
    ASSERT_STR("a", w.synced[2]);
    controller_finish(w.c, STR_LIT("b"), SYNC_DONE);
    pass(&w, 1000 * NS_PER_S);
    ASSERT_INT(3, w.synced_count);
}

TEST(a_late_end_may_be_a_failure)
{
    _cleanup_(world_done) struct world w;

    world_open(&w, (struct controller_options){ 0 });
    w.answer = SYNC_LATER;
    add(&w, "a");
    pass(&w, NS_PER_S);
    controller_finish(w.c, STR_LIT("a"), SYNC_AGAIN);
    ASSERT_INT(1, workqueue_failures(controller_queue(w.c), STR_LIT("a")));
    pass(&w, 5 * NS_PER_MS - 1);
    ASSERT_INT(1, w.synced_count);
    pass(&w, 1);
    ASSERT_INT(2, w.synced_count);
    ASSERT_ABORTS(controller_finish(w.c, STR_LIT("a"), SYNC_LATER));
    ASSERT_ABORTS(controller_finish(w.c, STR_LIT("b"), SYNC_DONE));
}

/* spec 3.3: what the server refuses for good comes back after long, without counting as a failure. */
TEST(an_end_may_ask_for_a_moment)
{
    _cleanup_(world_done) struct world w;

    world_open(&w, (struct controller_options){ 0 });
    w.answer = SYNC_LATER;
    workqueue_add_limited(controller_queue(w.c), STR_LIT("a"));
    pass(&w, NS_PER_S);
    ASSERT_INT(1, workqueue_failures(controller_queue(w.c), STR_LIT("a")));
    controller_finish_after(w.c, STR_LIT("a"), 30 * NS_PER_S);
    ASSERT_INT(0, workqueue_failures(controller_queue(w.c), STR_LIT("a")));
    pass(&w, 30 * NS_PER_S - 1);
    ASSERT_INT(1, w.synced_count);
    pass(&w, 1);
    ASSERT_INT(2, w.synced_count);
    controller_finish_after(w.c, STR_LIT("a"), 0);
    pass(&w, 0);
    ASSERT_INT(3, w.synced_count);
}

TEST(a_sync_may_end_before_it_returns)
{
    _cleanup_(world_done) struct world w;

    world_open(&w, (struct controller_options){ .in_flight_max = 1 });
    w.finishes_inside = true;
    add(&w, "a");
    add(&w, "b");
    pass(&w, 0);
    ASSERT_INT(2, w.synced_count);
    w.answer = SYNC_AGAIN;
    add(&w, "a");
    pass(&w, 5 * NS_PER_MS);
    ASSERT_INT(4, w.synced_count);
}

/* --- Limits --- */

TEST(a_turn_has_a_budget)
{
    static const struct {
        unsigned turn_max, expected;
    } rows[] = { { 3, 3 }, { 0, 64 } };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(world_done) struct world w;

        world_open(&w, (struct controller_options){ .turn_max = rows[i].turn_max });
        add_many(&w, 4 * rows[i].expected);
        for (unsigned turn = 1; turn <= 4; turn++) {
            add(&w, "k000"); /* being told meanwhile brings no second budget */
            controller_wake(w.c);
            assert_true(loop_poll(w.loop) || turn == 4);
            ASSERT_INT(turn * rows[i].expected, w.synced_count);
        }
        pass(&w, 0);
        ASSERT_INT(4 * rows[i].expected + 1, w.synced_count);
        ASSERT_STR("k000", w.synced[w.synced_count - 1]);
    }
}

TEST(so_many_are_in_flight_and_no_more)
{
    static const struct {
        unsigned in_flight_max, expected;
    } rows[] = { { 2, 2 }, { 0, 256 } };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(world_done) struct world w;

        world_open(&w, (struct controller_options){ .in_flight_max = rows[i].in_flight_max });
        w.answer = SYNC_LATER;
        add_many(&w, rows[i].expected + 5);
        pass(&w, NS_PER_S);
        ASSERT_INT(rows[i].expected, w.synced_count);
        controller_finish(w.c, STR_LIT("k001"), SYNC_DONE);
        pass(&w, NS_PER_S);
        ASSERT_INT(rows[i].expected + 1, w.synced_count);
        controller_finish(w.c, STR_LIT("k000"), SYNC_AGAIN);
        w.answer = SYNC_DONE; /* the slot that is free now serves all the rest */
        pass(&w, NS_PER_S);
        ASSERT_INT(rows[i].expected + 6, w.synced_count);
        ASSERT_STR("k000", w.synced[w.synced_count - 1]);
    }
}

/* --- Readiness --- */

TEST(nothing_is_synced_before_the_caches_are)
{
    _cleanup_(world_done) struct world w;

    world_open(&w, (struct controller_options){ 0 });
    w.is_ready = false;
    add(&w, "a");
    pass(&w, 10 * NS_PER_S);
    controller_wake(w.c);
    pass(&w, 10 * NS_PER_S);
    ASSERT_INT(0, w.synced_count);
    ASSERT_INT(2, w.asked);
    w.is_ready = true;
    controller_wake(w.c);
    ASSERT_INT(0, w.synced_count); /* not from inside */
    pass(&w, 0);
    ASSERT_INT(1, w.synced_count);
    ASSERT_INT(3, w.asked);
    w.is_ready = false; /* once is enough */
    add(&w, "a");
    pass(&w, 0);
    ASSERT_INT(2, w.synced_count);
    ASSERT_INT(3, w.asked);
}

TEST(waking_an_idle_controller_is_harmless)
{
    _cleanup_(world_done) struct world w;

    world_open(&w, (struct controller_options){ 0 });
    controller_wake(w.c);
    assert_false(loop_poll(w.loop));
    add(&w, "a");
    controller_wake(w.c);
    controller_wake(w.c);
    pass(&w, 0);
    ASSERT_INT(1, w.synced_count);
}

/* --- The end --- */

TEST(a_controller_may_go_at_any_moment)
{
    for (unsigned turns = 0; turns < 4; turns++) {
        struct world w;

        world_open(&w, (struct controller_options){ .turn_max = 1 });
        w.answer = SYNC_LATER;
        add_many(&w, 5);
        workqueue_add_after(controller_queue(w.c), STR_LIT("later"), NS_PER_S);
        for (unsigned i = 0; i < turns; i++)
            (void)loop_poll(w.loop);
        w.c = controller_free(w.c);
        pass(&w, 10 * NS_PER_S);
        ASSERT_INT(turns, w.synced_count);
        world_done(&w);
    }
    assert_null(controller_free(NULL));
}

TEST_MAIN()
