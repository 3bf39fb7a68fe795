/* The turn of the loop, timers and deferred callbacks; libuv waits for and dispatches I/O.
 *
 * Timers are not libuv's: those count in milliseconds of a clock that cannot be replaced, and their memory
 * must outlive an asynchronous close, which an embedded timer cannot guarantee. A single libuv timer, the
 * alarm, ends the sleep. */
#include "io/loop.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <uv.h>

#include "io/clock.h"
#include "io/loop_int.h"

/* The alarm is set even without timers: a libuv loop with nothing active would not sleep at all. */
#define LOOP_SLEEP_MS_MAX 3600000

struct loop_signal {
    uv_signal_t handle;
    loop_signal_fn fn;
    void *ctx;
};

TAILQ_HEAD(deferred_list, deferred);
TAILQ_HEAD(hook_list, loop_hook);

struct loop {
    uv_loop_t uv;
    uv_timer_t alarm;
    struct loop_signal signals[LOOP_SIGNALS_MAX];
    size_t signals_count;
    const struct clock *clock;
    uint64_t now_ns; /* valid while now_is_known */
    bool now_is_known;
    bool in_turn;
    bool stop;
    struct timer_heap timers;
    struct deferred_list deferred;
    uint64_t round; /* of step 3; starts at 1, so that 0 can mean "not queued" */
    struct hook_list hooks;
    struct job_list jobs;
    _Atomic(pthread_t) thread; /* the thread that runs it */
};

int loop_new(const struct clock *clock, struct loop **ret, struct error *err)
{
    struct loop *l = calloc(1, sizeof *l);
    int r;

    if (!l)
        return error_no_memory(err);
    r = uv_loop_init(&l->uv);
    if (r < 0) {
        free(l);
        return error_set_errno(err, -r, "cannot create the event loop");
    }
    (void)uv_timer_init(&l->uv, &l->alarm); /* cannot fail */
    l->clock = clock ? clock : clock_system();
    TAILQ_INIT(&l->deferred);
    TAILQ_INIT(&l->hooks);
    TAILQ_INIT(&l->jobs);
    l->round = 1;
    atomic_store(&l->thread, pthread_self());
    *ret = l;
    return 0;
}

static void loop_check_closing(uv_handle_t *handle, void *ctx)
{
    (void)ctx;
    assert(uv_is_closing(handle)); /* otherwise a child or a watch was not stopped */
    (void)handle;
}

struct loop *loop_free(struct loop *l)
{
    if (!l)
        return NULL;
    assert(!l->in_turn);
    assert(!timer_heap_first(&l->timers));
    assert(TAILQ_EMPTY(&l->deferred));
    assert(TAILQ_EMPTY(&l->hooks));
    assert(TAILQ_EMPTY(&l->jobs));
    uv_close((uv_handle_t *)&l->alarm, NULL);
    for (size_t i = 0; i < l->signals_count; i++)
        uv_close((uv_handle_t *)&l->signals[i].handle, NULL);
    uv_walk(&l->uv, loop_check_closing, NULL);
    while (uv_loop_close(&l->uv) == UV_EBUSY)
        (void)uv_run(&l->uv, UV_RUN_ONCE); /* close callbacks, here and from earlier stops */
    free(l);
    return NULL;
}

uv_loop_t *loop_uv(struct loop *l)
{
    return &l->uv;
}

struct job_list *loop_jobs(struct loop *l)
{
    return &l->jobs;
}

/* Turns */

uint64_t loop_now_ns(struct loop *l)
{
    if (!l->in_turn)
        return clock_mono_ns(l->clock);
    if (!l->now_is_known) {
        l->now_ns = clock_mono_ns(l->clock);
        l->now_is_known = true;
    }
    return l->now_ns;
}

static bool loop_has_work(struct loop *l)
{
    const struct timer_node *first = timer_heap_first(&l->timers);

    return !TAILQ_EMPTY(&l->deferred) || (first && first->at_ns <= clock_mono_ns(l->clock));
}

/* How long the loop may sleep, rounded up so that no timer is early. */
static uint64_t loop_sleep_ms(struct loop *l)
{
    const struct timer_node *first = timer_heap_first(&l->timers);
    uint64_t now_ns = clock_mono_ns(l->clock); /* not the turn's now, since the turn itself took time */

    if (!first || l->clock != clock_system())
        return LOOP_SLEEP_MS_MAX;
    if (first->at_ns <= now_ns)
        return 0;
    uint64_t delay_ns = first->at_ns - now_ns;
    uint64_t ms = delay_ns / NS_PER_MS + (delay_ns % NS_PER_MS != 0);
    return ms < LOOP_SLEEP_MS_MAX ? ms : LOOP_SLEEP_MS_MAX;
}

static void loop_on_alarm(uv_timer_t *alarm)
{
    (void)alarm; /* its only purpose is to end the sleep */
}

static void loop_wait(struct loop *l, bool may_sleep)
{
    if (!may_sleep || loop_has_work(l)) {
        (void)uv_run(&l->uv, UV_RUN_NOWAIT);
        return;
    }
    uv_update_time(&l->uv); /* the alarm counts from libuv's cached time */
    (void)uv_timer_start(&l->alarm, loop_on_alarm, loop_sleep_ms(l), /* repeat= */ 0);
    (void)uv_run(&l->uv, UV_RUN_ONCE);
}

static void loop_fire_timers(struct loop *l)
{
    uint64_t now_ns = loop_now_ns(l);
    uint64_t seq_end = l->timers.seq; /* timers armed by the callbacks are for the next turn */
    struct timer_node *first;

    while ((first = timer_heap_first(&l->timers)) && first->at_ns <= now_ns && first->seq < seq_end) {
        struct timer *t = CONTAINER_OF(first, struct timer, node);
        timer_heap_remove(&l->timers, first);
        t->fn(t->ctx);
    }
}

static void loop_run_deferred(struct loop *l)
{
    uint64_t round = ++l->round;
    struct deferred *d;

    while ((d = TAILQ_FIRST(&l->deferred)) && d->round < round) {
        loop_undefer(d);
        d->fn(d->ctx);
    }
}

static void loop_run_hooks(struct loop *l)
{
    struct loop_hook *next;

    for (struct loop_hook *hook = TAILQ_FIRST(&l->hooks); hook; hook = next) {
        next = TAILQ_NEXT(hook, link); /* the hook may remove itself */
        hook->fn(hook->ctx);
    }
}

static void loop_turn(struct loop *l, bool may_sleep)
{
    assert(!l->in_turn); /* not reentrant: a callback must not run the loop */
    l->in_turn = true;
    l->now_is_known = false;
    loop_wait(l, may_sleep);
    loop_fire_timers(l);
    loop_run_deferred(l);
    loop_run_hooks(l);
    l->in_turn = false;
}

bool loop_is_own_thread(struct loop *l)
{
    return pthread_equal(atomic_load(&l->thread), pthread_self());
}

void loop_run(struct loop *l)
{
    atomic_store(&l->thread, pthread_self());
    loop_run_hooks(l); /* for work done before the loop ran */
    while (!l->stop)
        loop_turn(l, /* may_sleep= */ true);
    l->stop = false;
}

void loop_stop(struct loop *l)
{
    l->stop = true;
}

void loop_run_once(struct loop *l)
{
    loop_run_hooks(l);
    loop_turn(l, /* may_sleep= */ true);
}

bool loop_poll(struct loop *l)
{
    loop_turn(l, /* may_sleep= */ false);
    return loop_has_work(l);
}

void loop_advance(struct loop *l, struct manual_clock *clock, uint64_t ns)
{
    uint64_t end_ns = clock->mono_ns + ns;
    uint64_t at_ns = 0;

    assert(l->clock == &clock->clock);
    while (loop_poll(l)) {
    }
    while (clock->mono_ns < end_ns) {
        bool has_timer = loop_next_timer_ns(l, &at_ns) && at_ns < end_ns;
        manual_clock_advance(clock, (has_timer ? at_ns : end_ns) - clock->mono_ns);
        while (loop_poll(l)) {
        }
    }
}

/* Timers */

void timer_init(struct timer *t, struct loop *l, loop_fn fn, void *ctx)
{
    *t = (struct timer){ .loop = l, .fn = fn, .ctx = ctx };
}

/* Never earlier than now: ties are broken by the order of arming, so a timer that rearms itself for the past
 * runs after all that were due before it. */
void timer_arm(struct timer *t, uint64_t at_ns)
{
    uint64_t now_ns = loop_now_ns(t->loop);

    timer_disarm(t);
    timer_heap_add(&t->loop->timers, &t->node, at_ns > now_ns ? at_ns : now_ns);
}

void timer_arm_after(struct timer *t, uint64_t delay_ns)
{
    uint64_t now_ns = loop_now_ns(t->loop);

    timer_arm(t, delay_ns < UINT64_MAX - now_ns ? now_ns + delay_ns : UINT64_MAX);
}

void timer_disarm(struct timer *t)
{
    if (timer_is_armed(t))
        timer_heap_remove(&t->loop->timers, &t->node);
}

bool loop_next_timer_ns(const struct loop *l, uint64_t *ret_ns)
{
    const struct timer_node *first = timer_heap_first(&l->timers);

    if (!first)
        return false;
    *ret_ns = first->at_ns;
    return true;
}

/* Deferred callbacks and hooks */

void deferred_init(struct deferred *d, struct loop *l, loop_fn fn, void *ctx)
{
    *d = (struct deferred){ .loop = l, .fn = fn, .ctx = ctx };
}

void loop_defer(struct deferred *d)
{
    if (d->round > 0)
        return;
    d->round = d->loop->round;
    TAILQ_INSERT_TAIL(&d->loop->deferred, d, link);
}

void loop_undefer(struct deferred *d)
{
    if (d->round == 0)
        return;
    d->round = 0;
    TAILQ_REMOVE(&d->loop->deferred, d, link);
}

void loop_add_before_sleep(struct loop *l, struct loop_hook *hook, loop_fn fn, void *ctx)
{
    *hook = (struct loop_hook){ .fn = fn, .ctx = ctx };
    TAILQ_INSERT_TAIL(&l->hooks, hook, link);
}

void loop_remove_before_sleep(struct loop *l, struct loop_hook *hook)
{
    TAILQ_REMOVE(&l->hooks, hook, link);
}

/* Signals */

static void loop_on_uv_signal(uv_signal_t *handle, int signum)
{
    const struct loop_signal *s = CONTAINER_OF(handle, struct loop_signal, handle);

    s->fn(s->ctx, signum);
}

int loop_on_signal(struct loop *l, int signum, loop_signal_fn fn, void *ctx, struct error *err)
{
    struct loop_signal *s = &l->signals[l->signals_count];
    int r;

    assert(l->signals_count < LOOP_SIGNALS_MAX);
    r = uv_signal_init(&l->uv, &s->handle);
    if (r < 0)
        return error_set_errno(err, -r, "cannot watch for signal %d", signum);
    l->signals_count++; /* from here on loop_free() closes the handle */
    s->fn = fn;
    s->ctx = ctx;
    r = uv_signal_start(&s->handle, loop_on_uv_signal, signum);
    if (r < 0)
        return error_set_errno(err, -r, "cannot watch for signal %d", signum);
    return 0;
}
