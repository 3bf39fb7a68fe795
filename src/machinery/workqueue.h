/* The work queue: keys to process, each at most once, however often it is added.
 *
 * Adding a queued key has no effect; a key that is added while in process is queued again when that is done.
 * So no key is processed twice at once, and no addition is lost. The order is first in, first out, except
 * that keys in the middle of their work precede keys that have not started. A key may also be added with a
 * delay, or with a delay that grows with its failures.
 *
 * Costs: every operation O(1), a delayed one O(log n), one allocation per key. */
#ifndef BERTH_MACHINERY_WORKQUEUE_H
#define BERTH_MACHINERY_WORKQUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/str.h"
#include "io/loop.h"

struct metrics;
struct workqueue;

/* Delay after a failure: base_ns, doubled each time, up to max_ns. */
struct workqueue_options {
    struct loop *loop;
    const char *name;        /* label of its metrics; outlives the queue */
    struct metrics *metrics; /* NULL: not counted */
    uint64_t seed;           /* for jitter and the table of keys: secret if names come from outside */
    uint64_t base_ns;        /* 0: 5 ms */
    uint64_t max_ns;         /* 0: 1000 s; Berth's controllers use WORKQUEUE_CONTROLLER_MAX_NS */
    unsigned jitter_percent; /* of the delay, in both directions */
    /* Rate limit of all keys per second, and its burst; 0: none. */
    double bucket_qps;
    unsigned bucket_burst;
    /* The first fast_count failures are retried after fast_ns, later ones after slow_ns, instead of doubling;
     * 0: doubling. */
    unsigned fast_count;
    uint64_t fast_ns;
    uint64_t slow_ns;
    /* A key is ready. Called from the loop, not from inside an addition. May be NULL. */
    void (*on_ready)(void *ctx);
    void *ctx;
};
#define WORKQUEUE_CONTROLLER_MAX_NS (60 * NS_PER_S)

int workqueue_new(const struct workqueue_options *o, struct workqueue **ret, struct error *err);
/* Accepts NULL. Keys in process are forgotten too. */
struct workqueue *workqueue_free(struct workqueue *q);
DEFINE_CLEANUP(struct workqueue, workqueue_free)

/* Keys are copied. Without memory the process exits, because a lost key would never be processed again. */
void workqueue_add(struct workqueue *q, struct str key);
/* Before all keys added by workqueue_add(), after those added by this. For a key that continues its work:
 * started work is finished before new work. */
void workqueue_add_first(struct workqueue *q, struct str key);
/* A key that is already delayed keeps the earlier time. 0: now. */
void workqueue_add_after(struct workqueue *q, struct str key, uint64_t delay_ns);
/* Adds the key with the delay of its failures, and counts one more failure. */
void workqueue_add_limited(struct workqueue *q, struct str key);
/* After a conflict: immediately, up to this many times in a row, then like a failure. */
#define WORKQUEUE_OVERTAKEN_MAX 3
void workqueue_add_overtaken(struct workqueue *q, struct str key);
/* Resets its failures; a queued key stays queued. */
void workqueue_forget(struct workqueue *q, struct str key);
unsigned workqueue_failures(const struct workqueue *q, struct str key);
/* When a delayed key becomes ready, loop time; 0: not delayed. For explanations. */
uint64_t workqueue_due_ns(const struct workqueue *q, struct str key);

enum workqueue_got { WORKQUEUE_EMPTY, WORKQUEUE_KEY };
/* The next key; workqueue_done() must follow, and the key is valid until then. */
enum workqueue_got workqueue_get(struct workqueue *q, struct str *ret_key);
/* The key is no longer in process. */
void workqueue_done(struct workqueue *q, struct str key);

/* Keys that are ready, and keys in process. */
size_t workqueue_depth(const struct workqueue *q);
size_t workqueue_processing(const struct workqueue *q);
bool workqueue_is_processing(const struct workqueue *q, struct str key);
/* NULL if all keys are consistent with their state, else what is wrong. Visits all keys; for the simulator,
 * like all checks that return a text. */
const char *workqueue_check(const struct workqueue *q);

#endif
