/* The event loop: the only place where the control plane waits.
 *
 * One thread, the one that calls loop_run(), owns the loop and all state of the control plane. Every callback
 * runs on it, to its end, without locks. Blocking work (fsync, mount, a large file) runs on the workers of
 * io/pool.h; children run under io/process.h; directory changes come from io/dirwatch.h. All of them report
 * back as callbacks on this thread. No function here may be called from another thread.
 *
 * A turn of the loop is, in this order:
 *   1. wait for I/O (without blocking when there is work left) and run its callbacks;
 *   2. run the timers that are due, by deadline, equal ones in the order they were armed;
 *   3. run the deferred callbacks that were queued when this step began, first in, first out;
 *   4. run the before-sleep hooks: the turn's changes are made durable, then answered, before the next wait.
 * A callback that arms a timer in the past, or defers itself, therefore runs again in the next turn and does
 * not starve others.
 *
 * Time: loop_now_ns() is read once per turn, after the wait, so that all callbacks of a turn agree on it.
 * Without an injected clock the loop follows the system clock and sleeps until the next timer. With an
 * injected clock timers follow only that clock, and the loop never sleeps for them: the code that advances
 * the clock also runs the turns. loop_advance() does both, for tests; a simulator with more to decide between
 * two moments calls loop_next_timer_ns(), advances its clock and calls loop_poll().
 *
 * Costs: arming and disarming are O(log n) without allocation, also for a million timers; deferring is O(1).
 * Sleeps are rounded up to the millisecond, so a timer is up to one millisecond late, never early. */
#ifndef BERTH_IO_LOOP_H
#define BERTH_IO_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "io/timer_heap.h"

struct loop;

typedef void (*loop_fn)(void *ctx);
typedef void (*loop_signal_fn)(void *ctx, int signum);

/* clock: NULL for the system's. It is borrowed until loop_free(). */
int loop_new(const struct clock *clock, struct loop **ret, struct error *err);
/* Everything that used the loop must be released before: timers disarmed, nothing deferred, no pool, child or
 * watch left. Takes NULL. */
struct loop *loop_free(struct loop *l);
DEFINE_CLEANUP(struct loop, loop_free)

/* Runs turns until loop_stop(); if that was called before, returns at once. */
void loop_run(struct loop *l);
/* Ends loop_run() after the current turn, its hooks included. */
void loop_stop(struct loop *l);

/* One turn that may sleep in step 1. */
void loop_run_once(struct loop *l);
/* One turn that does not sleep. True when a deferred callback or a due timer needs another turn. */
bool loop_poll(struct loop *l);

/* Advances the clock that l was created with by ns, stopping at every deadline in between, and runs turns at
 * each stop until there is nothing left to do. Does not wait for I/O, but handles what has arrived. */
void loop_advance(struct loop *l, struct manual_clock *clock, uint64_t ns);

/* True on the thread that runs the loop: the one that called loop_new(), or loop_run() since. Callable from
 * any thread. */
bool loop_is_own_thread(struct loop *l);

/* The monotonic time of this turn. Between turns it is the clock's. */
uint64_t loop_now_ns(struct loop *l);

/* A callback at a given time. Embedded by its owner, who disarms it before it is freed; fn may rearm it or
 * free the owner. */
struct timer {
    struct timer_node node;
    struct loop *loop;
    loop_fn fn;
    void *ctx;
};

void timer_init(struct timer *t, struct loop *l, loop_fn fn, void *ctx);
/* Fires once, at at_ns of the loop's clock; a time in the past means now. An armed timer is moved. */
void timer_arm(struct timer *t, uint64_t at_ns);
void timer_arm_after(struct timer *t, uint64_t delay_ns);
/* Also for an idle or a zeroed timer; nothing else is needed to release it. */
void timer_disarm(struct timer *t);

static inline bool timer_is_armed(const struct timer *t)
{
    return timer_node_is_in_heap(&t->node);
}

/* The earliest armed deadline. False, and *ret_ns untouched, when no timer is armed. */
bool loop_next_timer_ns(const struct loop *l, uint64_t *ret_ns);

/* A callback in step 3 of the turn: typically marks the object that embeds it as dirty. */
struct deferred {
    TAILQ_ENTRY(deferred) link;
    uint64_t round; /* the round of step 3 in which it was queued; 0: not queued */
    struct loop *loop;
    loop_fn fn;
    void *ctx;
};

void deferred_init(struct deferred *d, struct loop *l, loop_fn fn, void *ctx);
/* Queues d once: if it is queued already, it keeps its place. May be deferred again from its own callback. */
void loop_defer(struct deferred *d);
/* Removes d from the queue if it is queued. Also for a zeroed one. */
void loop_undefer(struct deferred *d);

/* Runs at the end of every turn, and before the first, whether or not the loop is going to sleep. In the
 * order they were added. A hook may defer and arm; it may remove itself, but no other hook. */
struct loop_hook {
    TAILQ_ENTRY(loop_hook) link;
    loop_fn fn;
    void *ctx;
};

void loop_add_before_sleep(struct loop *l, struct loop_hook *hook, loop_fn fn, void *ctx);
void loop_remove_before_sleep(struct loop *l, struct loop_hook *hook);

#define LOOP_SIGNALS_MAX 4

/* From now on signum calls fn on the loop instead of its default action, until loop_free(). One callback per
 * signal, at most LOOP_SIGNALS_MAX signals. */
int loop_on_signal(struct loop *l, int signum, loop_signal_fn fn, void *ctx, struct error *err);

#endif
