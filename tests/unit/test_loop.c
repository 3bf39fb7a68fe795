#include "tests/unit/test_io.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "io/clock.h"
#include "io/loop.h"
#include "io/random.h"

/* A letter in the log for each callback: "ab" reads a before b. */
struct world {
    struct manual_clock time;
    struct loop *loop;
    struct buf log;
};

static struct world *world_new(void)
{
    struct world *w = calloc(1, sizeof *w);

    assert_non_null(w);
    manual_clock_init(&w->time, 1000, 0);
    w->loop = new_loop(&w->time.clock);
    buf_init(&w->log, 4096);
    return w;
}

static struct world *world_free(struct world *w)
{
    loop_free(w->loop);
    buf_done(&w->log);
    free(w);
    return NULL;
}
DEFINE_CLEANUP(struct world, world_free)

static void assert_log(struct world *w, const char *expected)
{
    ASSERT_STR(expected, buf_cstr(&w->log));
    buf_clear(&w->log);
}

static void turn_at(struct world *w, uint64_t now_ns)
{
    w->time.mono_ns = now_ns;
    (void)loop_poll(w->loop);
}

/* A timer, a deferred callback and a hook with a name. */
struct actor {
    struct world *w;
    char name;
    struct timer timer;
    struct deferred deferred;
    struct loop_hook hook;
    struct actor *other; /* what the callbacks below act on */
    unsigned repeats;
};

static void actor_log(void *ctx)
{
    struct actor *a = ctx;

    buf_add_char(&a->w->log, a->name);
}

static void actor_log_and_disarm_other(void *ctx)
{
    struct actor *a = ctx;

    actor_log(a);
    timer_disarm(&a->other->timer);
}

static void actor_log_and_rearm_past(void *ctx)
{
    struct actor *a = ctx;

    actor_log(a);
    if (a->repeats-- > 0)
        timer_arm(&a->timer, 0);
}

static void actor_log_after_a_second(void *ctx)
{
    struct actor *a = ctx;

    actor_log(a);
    if (a->repeats-- > 0)
        timer_arm_after(&a->timer, NS_PER_S);
}

static void actor_log_and_defer_itself(void *ctx)
{
    struct actor *a = ctx;

    actor_log(a);
    if (a->repeats-- > 0)
        loop_defer(&a->deferred);
}

static void actor_log_and_defer_other(void *ctx)
{
    struct actor *a = ctx;

    actor_log(a);
    loop_defer(&a->other->deferred);
}

static void actor_log_and_undefer_other(void *ctx)
{
    struct actor *a = ctx;

    actor_log(a);
    loop_undefer(&a->other->deferred);
}

static void actor_log_and_remove_hook(void *ctx)
{
    struct actor *a = ctx;

    actor_log(a);
    loop_remove_before_sleep(a->w->loop, &a->hook);
}

static void actor_log_and_stop(void *ctx)
{
    struct actor *a = ctx;

    actor_log(a);
    loop_stop(a->w->loop);
}

static struct actor actor(struct world *w, char name)
{
    return (struct actor){ .w = w, .name = name };
}

static void actor_timer(struct actor *a, loop_fn fn, uint64_t at_ns)
{
    timer_init(&a->timer, a->w->loop, fn, a);
    timer_arm(&a->timer, at_ns);
}

static void actor_defer(struct actor *a, loop_fn fn)
{
    deferred_init(&a->deferred, a->w->loop, fn, a);
    loop_defer(&a->deferred);
}

/* Timers */

TEST(timers_fire_by_deadline_then_by_arming)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct actor a = actor(w, 'a'), b = actor(w, 'b'), c = actor(w, 'c'), d = actor(w, 'd');

    actor_timer(&a, actor_log, 3000);
    actor_timer(&b, actor_log, 2000);
    actor_timer(&c, actor_log, 2000);
    actor_timer(&d, actor_log, 9000);
    turn_at(w, 1999);
    assert_log(w, "");
    turn_at(w, 3000);
    assert_log(w, "bca");
    assert_false(timer_is_armed(&a.timer));
    assert_true(timer_is_armed(&d.timer));
    timer_disarm(&d.timer);
    turn_at(w, 10000);
    assert_log(w, "");
}

TEST(timer_moves_when_armed_again)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct actor a = actor(w, 'a');

    actor_timer(&a, actor_log, 2000);
    timer_arm(&a.timer, 4000);
    turn_at(w, 3000);
    assert_log(w, "");
    timer_arm(&a.timer, 3500);
    turn_at(w, 3500);
    assert_log(w, "a");
}

TEST(timer_disarms_another_that_is_due)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct actor a = actor(w, 'a'), b = actor(w, 'b'), c = actor(w, 'c');

    a.other = &b;
    actor_timer(&a, actor_log_and_disarm_other, 2000);
    actor_timer(&b, actor_log, 2000);
    actor_timer(&c, actor_log, 2000);
    turn_at(w, 2000);
    assert_log(w, "ac");
}

TEST(timer_in_the_past_waits_for_the_next_turn_and_starves_nobody)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct actor a = actor(w, 'a'), b = actor(w, 'b');

    a.repeats = 2;
    actor_timer(&a, actor_log_and_rearm_past, 2000);
    actor_timer(&b, actor_log, 2500);
    w->time.mono_ns = 3000;
    assert_true(loop_poll(w->loop));
    assert_log(w, "ab");
    assert_true(loop_poll(w->loop));
    assert_log(w, "a");
    assert_false(loop_poll(w->loop));
    assert_log(w, "a");
}

TEST(timer_after_a_delay_counts_from_the_turns_now)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct actor a = actor(w, 'a');
    uint64_t at_ns = 0;

    timer_init(&a.timer, w->loop, actor_log, &a);
    assert_false(loop_next_timer_ns(w->loop, &at_ns));
    timer_arm_after(&a.timer, 500);
    assert_true(loop_next_timer_ns(w->loop, &at_ns));
    assert_int_equal(at_ns, 1500);
    timer_arm_after(&a.timer, UINT64_MAX - 10); /* would overflow: never, not at once */
    assert_true(loop_next_timer_ns(w->loop, &at_ns));
    assert_true(at_ns == UINT64_MAX);
    timer_disarm(&a.timer);
    timer_disarm(&a.timer);
}

TEST(timer_zeroed_can_be_disarmed)
{
    struct timer t = { 0 };
    struct deferred d = { 0 };

    timer_disarm(&t);
    loop_undefer(&d);
    assert_false(timer_is_armed(&t));
}

struct owned {
    struct timer timer;
    bool *fired;
};

static void owned_on_timer(void *ctx)
{
    struct owned *o = ctx;

    *o->fired = true;
    free(o);
}

TEST(timer_callback_may_free_its_owner)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct owned *o = calloc(1, sizeof *o);
    bool fired = false;

    assert_non_null(o);
    o->fired = &fired;
    timer_init(&o->timer, w->loop, owned_on_timer, o);
    timer_arm(&o->timer, 2000);
    turn_at(w, 2000);
    assert_true(fired);
}

TEST(advance_stops_at_every_deadline)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct actor a = actor(w, 'a'), b = actor(w, 'b'), c = actor(w, 'c'), d = actor(w, 'd');

    actor_timer(&c, actor_log, 90 * NS_PER_S);
    actor_timer(&a, actor_log_after_a_second, 5 * NS_PER_S);
    actor_timer(&b, actor_log_and_defer_other, 7 * NS_PER_S);
    b.other = &d;
    deferred_init(&d.deferred, w->loop, actor_log, &d);
    a.repeats = 3;
    loop_advance(w->loop, &w->time, 4 * NS_PER_S);
    assert_log(w, "");
    loop_advance(w->loop, &w->time, 6 * NS_PER_S); /* at 5, 6, 7 (armed later than b), 8 */
    assert_log(w, "aabada");
    assert_int_equal(w->time.mono_ns, 10 * NS_PER_S + 1000);
    loop_advance(w->loop, &w->time, 80 * NS_PER_S - 1000); /* to the very moment */
    assert_log(w, "c");
    loop_advance(w->loop, &w->time, 0);
    actor_defer(&a, actor_log);
    loop_advance(w->loop, &w->time, 0); /* no time, but turns */
    assert_log(w, "a");
}

struct counter {
    struct timer timer;
    struct world *w;
    unsigned *count;
    uint64_t at_ns;
};

static void counter_on_timer(void *ctx)
{
    struct counter *c = ctx;

    assert_true(c->at_ns <= c->w->time.mono_ns);
    (*c->count)++;
}

TEST(timers_by_the_hundred_thousand)
{
    enum { COUNT = 200000 };
    _cleanup_(world_free_p) struct world *w = world_new();
    struct counter *counters = calloc(COUNT, sizeof *counters);
    unsigned fired = 0;

    assert_non_null(counters);
    for (uint64_t i = 0; i < COUNT; i++) {
        struct counter *c = &counters[i];
        *c = (struct counter){ .w = w, .count = &fired, .at_ns = 2000 + (i * 7919) % COUNT };
        timer_init(&c->timer, w->loop, counter_on_timer, c);
        timer_arm(&c->timer, c->at_ns);
    }
    for (size_t i = 0; i < COUNT; i += 4)
        timer_disarm(&counters[i].timer);
    turn_at(w, 2000 + COUNT / 2);
    assert_in_range(fired, 1, COUNT / 2);
    turn_at(w, 2000 + COUNT);
    assert_int_equal(fired, COUNT / 4 * 3);
    free(counters);
}

static void set_flag(void *ctx)
{
    *(bool *)ctx = true;
}

TEST(timer_by_the_system_clock_is_never_early)
{
    _cleanup_(loop_free_p) struct loop *l = new_loop(NULL);
    bool fired = false;
    struct timer t;
    uint64_t start_ns = loop_now_ns(l);

    timer_init(&t, l, set_flag, &fired);
    timer_arm_after(&t, 3 * NS_PER_MS + 1);
    run_until(l, &fired);
    assert_true(loop_now_ns(l) - start_ns > 3 * NS_PER_MS);
}

/* Now */

/* Time goes on while callbacks run: a nanosecond with each reading. */
static uint64_t ticking_mono_ns(void *ctx)
{
    return (*(uint64_t *)ctx)++;
}

struct witness {
    struct loop *loop;
    struct timer timer, late;
    struct deferred deferred;
    struct loop_hook hook;
    uint64_t seen_ns; /* the first now of the turn */
    unsigned seen;
    bool late_fired;
};

static void witness_look(void *ctx)
{
    struct witness *v = ctx;

    if (v->seen++ == 0)
        v->seen_ns = loop_now_ns(v->loop);
    assert_true(loop_now_ns(v->loop) == v->seen_ns);
}

TEST(now_is_one_within_a_turn)
{
    uint64_t time_ns = 1000;
    const struct clock ticking = { .mono_ns = ticking_mono_ns, .real_ns = NULL, .ctx = &time_ns };
    _cleanup_(loop_free_p) struct loop *l = new_loop(&ticking);
    struct witness v = { .loop = l };

    assert_int_equal(loop_now_ns(l), 1000); /* between turns it is the clock's */
    assert_int_equal(loop_now_ns(l), 1001);
    timer_init(&v.timer, l, witness_look, &v);
    timer_init(&v.late, l, set_flag, &v.late_fired);
    deferred_init(&v.deferred, l, witness_look, &v);
    loop_add_before_sleep(l, &v.hook, witness_look, &v);
    timer_arm(&v.timer, 2000);
    timer_arm(&v.late, 2001);
    loop_defer(&v.deferred);
    time_ns = 2000;
    (void)loop_poll(l);
    assert_int_equal(v.seen, 3);
    assert_int_equal(v.seen_ns, 2000);
    assert_false(v.late_fired); /* due by the clock, not by the turn's now */
    v.seen = 0;
    (void)loop_poll(l);
    assert_true(v.late_fired);
    loop_remove_before_sleep(l, &v.hook);
}

/* Deferred callbacks */

TEST(deferred_run_in_order_and_once)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct actor a = actor(w, 'a'), b = actor(w, 'b'), c = actor(w, 'c');

    actor_defer(&a, actor_log);
    actor_defer(&b, actor_log);
    actor_defer(&c, actor_log);
    loop_defer(&a.deferred);
    loop_undefer(&b.deferred);
    assert_false(loop_poll(w->loop));
    assert_log(w, "ac");
    (void)loop_poll(w->loop);
    assert_log(w, "");
    loop_undefer(&c.deferred);
}

TEST(deferred_from_a_timer_runs_in_the_same_turn)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct actor t = actor(w, 't'), d = actor(w, 'd');

    t.other = &d;
    deferred_init(&d.deferred, w->loop, actor_log, &d);
    actor_timer(&t, actor_log_and_defer_other, 2000);
    turn_at(w, 2000);
    assert_log(w, "td");
}

TEST(deferred_from_a_deferred_waits_for_the_next_turn)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct actor a = actor(w, 'a'), b = actor(w, 'b'), c = actor(w, 'c');

    a.repeats = 1;
    b.other = &c;
    deferred_init(&c.deferred, w->loop, actor_log, &c);
    actor_defer(&a, actor_log_and_defer_itself);
    actor_defer(&b, actor_log_and_defer_other);
    assert_true(loop_poll(w->loop));
    assert_log(w, "ab");
    assert_false(loop_poll(w->loop));
    assert_log(w, "ac");
}

TEST(deferred_takes_another_out_of_the_running_round)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct actor a = actor(w, 'a'), b = actor(w, 'b'), c = actor(w, 'c');

    a.other = &b;
    actor_defer(&a, actor_log_and_undefer_other);
    actor_defer(&b, actor_log);
    actor_defer(&c, actor_log);
    (void)loop_poll(w->loop);
    assert_log(w, "ac");
}

/* Hooks, running, stopping */

TEST(hooks_run_last_in_the_order_added)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct actor h = actor(w, 'h'), i = actor(w, 'i'), d = actor(w, 'd');

    loop_add_before_sleep(w->loop, &h.hook, actor_log_and_remove_hook, &h);
    loop_add_before_sleep(w->loop, &i.hook, actor_log, &i);
    actor_defer(&d, actor_log);
    (void)loop_poll(w->loop);
    assert_log(w, "dhi");
    (void)loop_poll(w->loop);
    assert_log(w, "i");
    loop_remove_before_sleep(w->loop, &i.hook);
}

/* The loop must not sleep on what a hook has deferred, nor before a hook has seen what was done ahead of the
 * first turn. */
TEST(hooks_keep_the_loop_awake)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct actor h = actor(w, 'h'), d = actor(w, 'd');

    h.other = &d;
    deferred_init(&d.deferred, w->loop, actor_log_and_stop, &d);
    loop_add_before_sleep(w->loop, &h.hook, actor_log_and_defer_other, &h);
    loop_run(w->loop);
    assert_log(w, "hdh");
    loop_remove_before_sleep(w->loop, &h.hook);
    loop_undefer(&d.deferred);
}

TEST(run_ends_at_once_when_stopped_before)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct actor d = actor(w, 'd');

    actor_defer(&d, actor_log_and_stop);
    loop_stop(w->loop);
    loop_run(w->loop);
    assert_log(w, "");
    loop_run(w->loop); /* the stop was used up */
    assert_log(w, "d");
}

TEST(run_finishes_the_turn_when_stopped)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct actor a = actor(w, 'a'), b = actor(w, 'b'), h = actor(w, 'h');

    actor_defer(&a, actor_log_and_stop);
    actor_defer(&b, actor_log);
    loop_add_before_sleep(w->loop, &h.hook, actor_log, &h);
    loop_run(w->loop);
    assert_log(w, "habh");
    loop_remove_before_sleep(w->loop, &h.hook);
}

/* Signals */

struct caught {
    bool any;
    int signum;
};

static void on_signal(void *ctx, int signum)
{
    struct caught *c = ctx;

    c->any = true;
    c->signum = signum;
}

TEST(signals_arrive_on_the_loop)
{
    _cleanup_(loop_free_p) struct loop *l = new_loop(NULL);
    struct error err = { 0 };
    struct caught term = { 0 }, interrupt = { 0 };

    ASSERT_OK(loop_on_signal(l, SIGTERM, on_signal, &term, &err));
    ASSERT_OK(loop_on_signal(l, SIGINT, on_signal, &interrupt, &err));
    assert_int_equal(raise(SIGTERM), 0);
    run_until(l, &term.any);
    assert_int_equal(term.signum, SIGTERM);
    assert_false(interrupt.any);
    assert_int_equal(raise(SIGINT), 0);
    run_until(l, &interrupt.any);
    assert_int_equal(interrupt.signum, SIGINT);
}

TEST(signals_that_cannot_be_caught_are_refused)
{
    _cleanup_(loop_free_p) struct loop *l = new_loop(NULL);
    struct error err = { 0 };
    struct caught c = { 0 };

    assert_true(loop_on_signal(l, SIGKILL, on_signal, &c, &err) < 0);
    ASSERT_STR("cannot watch for signal 9: Invalid argument", err.msg);
}

/* The system's clock and entropy */

TEST(system_clock_runs_forward_in_this_century)
{
    const struct clock *c = clock_system();
    uint64_t a_ns = clock_mono_ns(c);

    assert_true(clock_mono_ns(c) >= a_ns);
    assert_true(clock_real_ns(c) > INT64_C(1577836800) * 1000000000); /* 2020 */
}

TEST(a_thread_that_works_spends_its_time)
{
    uint64_t a_ns = clock_thread_cpu_ns();
    unsigned turns = 0;

    assert_true(a_ns > 0);
    while (clock_thread_cpu_ns() == a_ns)
        assert_true(++turns < 1000000000);
    assert_true(clock_thread_cpu_ns() > a_ns);
}

TEST(random_fills_all_of_it)
{
    unsigned char a[1000] = { 0 }, b[1000] = { 0 };
    unsigned zeros = 0;
    struct error err = { 0 };

    ASSERT_OK(io_random(a, sizeof a - 1, &err));
    ASSERT_OK(io_random(b, sizeof b, &err));
    assert_memory_not_equal(a, b, sizeof a);
    assert_int_equal(a[sizeof a - 1], 0); /* and no more than that */
    for (size_t i = 0; i < sizeof b; i++)
        zeros += b[i] == 0;
    assert_true(zeros < 100);
    ASSERT_OK(io_random(NULL, 0, &err));
}

TEST_MAIN()
