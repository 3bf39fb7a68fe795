/* The event loop: the one place where the control plane waits.
 *
 * One thread, the one that calls loop_run(), owns the loop and all state of the control plane. Every callback
 * runs on it, to its end, without locks. Whatever may block (fsync, mount, a large file) is handed to the
 * workers of io/pool.h; children run under io/process.h; changes of directories come from io/dirwatch.h. All
 * of them report back as callbacks on this thread. No function here may be called from another thread.
 *
 * A turn of the loop is, in this order:
 *   1. wait for I/O (not at all when there is work left) and run its callbacks: see first, decide after;
 *   2. run the timers that are due, by deadline, equal ones in the order they were armed;
 *   3. run the deferred callbacks that were waiting when this step began, first come first served;
 *   4. run the before-sleep hooks: what the turn did is made durable, then answered, before the next wait.
 * A callback that arms a timer in the past, or defers itself, therefore comes back in the next turn and
 * starves nobody.
 *
 * Time: loop_now_ns() is read once a turn, after the wait, so that all callbacks of a turn agree on it.
 * Without a clock of its own the loop follows the system's and sleeps until the next timer. With an injected
 * clock timers follow that clock alone, and the loop never sleeps for them: whoever moves the clock takes the
 * turns. loop_advance() does both, as a test wants it; a simulator with more to decide between two moments
 * asks loop_next_timer_ns(), moves its clock and calls loop_poll().
 *
 * Costs: arming and disarming are O(log n) without allocation, a million timers are fine; deferring is O(1).
 * Sleeps are rounded up to the millisecond, so a timer is late by up to one, never early. */
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
/* All that used the loop is gone by now: timers disarmed, nothing deferred, no pool, child or watch left.
 * Takes NULL. */
struct loop *loop_free(struct loop *l);
DEFINE_CLEANUP(struct loop, loop_free)

/* Takes turns until loop_stop(); a stop asked for beforehand ends it before its first turn. */
void loop_run(struct loop *l);
/* Ends loop_run() after the turn under way, its hooks included. */
void loop_stop(struct loop *l);

/* One turn that may sleep in step 1. */
void loop_run_once(struct loop *l);
/* One turn that does not sleep. True when a deferred callback or a due timer waits for another one. */
bool loop_poll(struct loop *l);

/* Lets ns pass by the clock that l was made with, stopping at every deadline on the way, and takes turns at
 * each stop until there is nothing left to do. Does not wait for I/O, but runs what has arrived. */
void loop_advance(struct loop *l, struct manual_clock *clock, uint64_t ns);

/* True on the thread that runs the loop: the one that called loop_new(), or loop_run() since. Any thread may
 * ask. */
bool loop_is_own_thread(struct loop *l);

/* The turn's now, monotonic. Between turns it is the clock's. */
uint64_t loop_now_ns(struct loop *l);

/* A callback at a moment. Embedded by its owner, who disarms it before it goes; fn may rearm it or free the
 * owner. */
struct timer {
    struct timer_node node;
    struct loop *loop;
    loop_fn fn;
    void *ctx;
};

void timer_init(struct timer *t, struct loop *l, loop_fn fn, void *ctx);
/* Fires once, at at_ns of the loop's clock; a moment that has passed is now. An armed timer is moved. */
void timer_arm(struct timer *t, uint64_t at_ns);
void timer_arm_after(struct timer *t, uint64_t delay_ns);
/* Takes an idle timer and a zeroed one too; nothing else is needed to release it. */
void timer_disarm(struct timer *t);

static inline bool timer_is_armed(const struct timer *t)
{
    return timer_node_is_in_heap(&t->node);
}

/* The earliest armed deadline. False, and *ret_ns untouched, when no timer is armed. */
bool loop_next_timer_ns(const struct loop *l, uint64_t *ret_ns);

/* A callback as soon as the running one and its like are through: the dirty mark of whatever embeds it. */
struct deferred {
    TAILQ_ENTRY(deferred) link;
    uint64_t round; /* the round of step 3 in which it was queued; 0: not queued */
    struct loop *loop;
    loop_fn fn;
    void *ctx;
};

void deferred_init(struct deferred *d, struct loop *l, loop_fn fn, void *ctx);
/* Queues d, once: deferred again before it ran, it keeps its place. May be deferred anew from its own
 * callback. */
void loop_defer(struct deferred *d);
/* Takes d out of the queue if it is there. Takes a zeroed one too. */
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

/* From now on signum ends in fn on the loop instead of its default action, until loop_free(). One callback a
 * signal, at most LOOP_SIGNALS_MAX signals. */
int loop_on_signal(struct loop *l, int signum, loop_signal_fn fn, void *ctx, struct error *err);

#endif
