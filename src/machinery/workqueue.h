/* The work queue: keys that want looking at, each once, however often it was said.
 *
 * A key that is added while it waits is there already; one that is added while it is worked on comes back
 * once that is done. So no key is worked on twice at once, and no addition is lost. First come, first served,
 * but for keys in the middle of their work, which pass those that have not begun; a key may also come at a
 * later moment, or after a delay that grows with its failures.
 *
 * Costs: every operation O(1), a delayed one O(log n), an allocation a key. */
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

/* Delays after failures: base, doubled each time, up to the ceiling. */
struct workqueue_options {
    struct loop *loop;
    const char *name;        /* label of its metrics: a literal */
    struct metrics *metrics; /* NULL: nothing is counted */
    uint64_t seed;           /* of jitter, and of the table of keys: secret where names come from outside */
    uint64_t base_ns;        /* 0: 5 ms */
    uint64_t max_ns;         /* 0: 1000 s; Berth's controllers say WORKQUEUE_CONTROLLER_MAX_NS */
    unsigned jitter_percent; /* of the delay, up and down */
    /* All keys together: so many a second, and a reserve; 0: no such limit. */
    double bucket_qps;
    unsigned bucket_burst;
    /* Of the first failures, so many come back after fast_ns, later ones after slow_ns, instead of doubling;
     * 0: doubling. */
    unsigned fast_count;
    uint64_t fast_ns;
    uint64_t slow_ns;
    /* There is something to get. On the loop, not from inside an addition. May be NULL. */
    void (*on_ready)(void *ctx);
    void *ctx;
};
#define WORKQUEUE_CONTROLLER_MAX_NS (60 * NS_PER_S)

int workqueue_new(const struct workqueue_options *o, struct workqueue **ret, struct error *err);
/* Takes NULL. Keys that are worked on are forgotten too. */
struct workqueue *workqueue_free(struct workqueue *q);
DEFINE_CLEANUP(struct workqueue, workqueue_free)

/* Keys are copied. Without memory the process ends: a key that is lost would never be looked at again. */
void workqueue_add(struct workqueue *q, struct str key);
/* Before all that were added plainly, behind those that were added like this. For a key that goes on with
 * what it began: what was begun ends before more is. */
void workqueue_add_first(struct workqueue *q, struct str key);
/* A key that waits already keeps the earlier moment. 0: now. */
void workqueue_add_after(struct workqueue *q, struct str key, uint64_t delay_ns);
/* Later by what its failures make it, and one more failure. */
void workqueue_add_limited(struct workqueue *q, struct str key);
/* Somebody else was first: now, up to so many times in a row, then as a failure. */
#define WORKQUEUE_OVERTAKEN_MAX 3
void workqueue_add_overtaken(struct workqueue *q, struct str key);
/* Its failures are forgotten; where it is queued it stays. */
void workqueue_forget(struct workqueue *q, struct str key);
unsigned workqueue_failures(const struct workqueue *q, struct str key);
/* When a key that waits for its delay comes, by the loop; 0 for one that does not wait. For explanations. */
uint64_t workqueue_due_ns(const struct workqueue *q, struct str key);

enum workqueue_got { WORKQUEUE_EMPTY, WORKQUEUE_KEY };
/* The next key, to be given back with workqueue_done(); it lives until then. */
enum workqueue_got workqueue_get(struct workqueue *q, struct str *ret_key);
/* The key was got and is not worked on any more. */
void workqueue_done(struct workqueue *q, struct str key);

/* Ready to be got, and got and not done. */
size_t workqueue_depth(const struct workqueue *q);
size_t workqueue_processing(const struct workqueue *q);

#endif
