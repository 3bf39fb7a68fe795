/* Implementation of the work queue: one entry per key, found by a hash map.
 *
 *     dirty       must be processed; unless in process too, it is in a list of ready keys
 *     processing  taken and not done; in the list of keys in process
 *     waiting     in the heap of keys that become dirty at a given time
 *
 * Any combination is possible, but a key is in at most one list. An entry is freed when none applies and no
 * failures are counted. One timer of the loop serves the whole heap.
 *
 * Time is the loop's, which is constant during a turn: work that starts and ends in one turn takes no time.
 */
#include "machinery/workqueue.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/bucket.h"
#include "base/clock.h"
#include "base/die.h"
#include "base/map.h"
#include "base/mutant.h"
#include "base/rng.h"
#include "base/tailq.h"
#include "io/timer_heap.h"
#include "machinery/metrics.h"

#define WORKQUEUE_BASE_NS (5 * NS_PER_MS)
#define WORKQUEUE_MAX_NS (1000 * NS_PER_S)

struct entry {
    struct timer_node waiting;
    TAILQ_ENTRY(entry) link; /* in first or ready if dirty, in working if processing */
    uint64_t dirty_at_ns;
    uint64_t got_at_ns;
    unsigned failures;
    unsigned overtaken; /* consecutive */
    bool is_dirty;
    bool is_processing;
    bool goes_first;
    size_t len;
    char key[];
};
TAILQ_HEAD(entry_list, entry);

enum queue_metric {
    QUEUE_ADDS,
    QUEUE_RETRIES,
    QUEUE_WAIT_SECONDS,
    QUEUE_WORK_SECONDS,
    QUEUE_DEPTH,
    QUEUE_UNFINISHED,
    QUEUE_LONGEST,
    QUEUE_METRIC_COUNT,
};

struct workqueue {
    struct workqueue_options options;
    struct map entries;      /* by key */
    struct entry_list first; /* before ready */
    struct entry_list ready;
    size_t ready_count;        /* of both lists */
    struct entry_list working; /* in start order */
    size_t working_count;
    uint64_t working_since_ns; /* the sum of their got_at_ns, modulo 2^64 */
    struct timer_heap waiting;
    struct timer timer; /* for the first waiting key */
    struct deferred note;
    struct bucket bucket;
    struct rng rng;
    struct metric *metrics[QUEUE_METRIC_COUNT]; /* all NULL: not counted */
};

/* --- Metrics --- */

static double seconds_of(uint64_t ns)
{
    return (double)ns / (double)NS_PER_S;
}

static double read_depth(void *ctx)
{
    const struct workqueue *q = ctx;

    return (double)q->ready_count;
}

static double read_unfinished(void *ctx)
{
    const struct workqueue *q = ctx;

    return seconds_of(q->working_count * loop_now_ns(q->options.loop) - q->working_since_ns);
}

static double read_longest(void *ctx)
{
    const struct workqueue *q = ctx;
    const struct entry *first = TAILQ_FIRST(&q->working);

    return first ? seconds_of(loop_now_ns(q->options.loop) - first->got_at_ns) : 0;
}

static const char *const label_names[] = { "name", NULL };
static const double bounds[] = { 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10 };

static const struct {
    const char *name;
    const char *help;
    enum metric_type type;
    metric_read_fn *read;
} queue_metrics[] = {
    [QUEUE_ADDS] = { "workqueue_adds_total",
                     "Keys added to the queue, without keys that were queued already.", METRIC_COUNTER,
                     NULL },
    [QUEUE_RETRIES] = { "workqueue_retries_total", "Keys added with a delay.", METRIC_COUNTER, NULL },
    [QUEUE_WAIT_SECONDS] = { "workqueue_queue_duration_seconds", "Time that keys waited in the queue.",
                             METRIC_HISTOGRAM, NULL },
    [QUEUE_WORK_SECONDS] = { "workqueue_work_duration_seconds", "Time to process a key.", METRIC_HISTOGRAM,
                             NULL },
    [QUEUE_DEPTH] = { "workqueue_depth", "Keys in the queue.", METRIC_GAUGE, read_depth },
    [QUEUE_UNFINISHED] = { "workqueue_unfinished_work_seconds",
                           "Sum of the times that the keys in process have been in process.", METRIC_GAUGE,
                           read_unfinished },
    [QUEUE_LONGEST] = { "workqueue_longest_running_processor_seconds",
                        "Time that the oldest key in process has been in process.", METRIC_GAUGE,
                        read_longest },
};
static_assert(ARRAY_LEN(queue_metrics) == QUEUE_METRIC_COUNT, "describe every metric");

static int add_metrics(struct workqueue *q, struct error *err)
{
    for (size_t i = 0; i < QUEUE_METRIC_COUNT; i++) {
        bool has_bounds = queue_metrics[i].type == METRIC_HISTOGRAM;
        struct metric_desc desc = {
            .name = queue_metrics[i].name,
            .help = queue_metrics[i].help,
            .type = queue_metrics[i].type,
            .labels = label_names,
            .bounds = has_bounds ? bounds : NULL,
            .bounds_count = has_bounds ? ARRAY_LEN(bounds) : 0,
        };
        struct metric_family *family;
        int r = metrics_share_family(q->options.metrics, &desc, &family, err);

        if (r < 0)
            return r;
        q->metrics[i] = metric_of(family, q->options.name);
        if (queue_metrics[i].read)
            metric_set_reader(q->metrics[i], queue_metrics[i].read, q);
    }
    return 0;
}

static void count_event(struct workqueue *q, enum queue_metric which)
{
    if (q->metrics[which])
        metric_add(q->metrics[which], 1);
}

static void observe_duration(struct workqueue *q, enum queue_metric which, uint64_t ns)
{
    if (q->metrics[which])
        metric_observe(q->metrics[which], seconds_of(ns));
}

/* --- Lifecycle --- */

static void on_note(void *ctx);
static void on_due(void *ctx);

int workqueue_new(const struct workqueue_options *o, struct workqueue **ret, struct error *err)
{
    _cleanup_(workqueue_free_p) struct workqueue *q = calloc(1, sizeof *q);
    int r;

    assert(o->jitter_percent <= 100);
    assert(o->bucket_qps <= 0 || o->bucket_burst > 0);
    if (!q)
        return error_no_memory(err);
    q->options = *o;
    if (!q->options.base_ns)
        q->options.base_ns = WORKQUEUE_BASE_NS;
    if (!q->options.max_ns)
        q->options.max_ns = WORKQUEUE_MAX_NS;
    rng_init(&q->rng, o->seed);
    map_init(&q->entries, (struct hash_seed){ rng_u64(&q->rng), rng_u64(&q->rng) });
    TAILQ_INIT(&q->first);
    TAILQ_INIT(&q->ready);
    TAILQ_INIT(&q->working);
    timer_init(&q->timer, o->loop, on_due, q);
    deferred_init(&q->note, o->loop, on_note, q);
    if (o->bucket_qps > 0)
        bucket_init(&q->bucket, o->bucket_qps, o->bucket_burst, loop_now_ns(o->loop));
    if (o->metrics) {
        r = add_metrics(q, err);
        if (r < 0)
            return r;
    }
    *ret = TAKE(q);
    return 0;
}

struct workqueue *workqueue_free(struct workqueue *q)
{
    struct entry *e;

    if (!q)
        return NULL;
    /* The registry outlives the queue: values that are read from it are set to zero. */
    for (size_t i = 0; i < QUEUE_METRIC_COUNT; i++)
        if (q->metrics[i] && queue_metrics[i].read)
            metric_set_reader(q->metrics[i], NULL, NULL);
    timer_disarm(&q->timer);
    loop_undefer(&q->note);
    for (size_t at = 0; (e = map_next(&q->entries, &at, NULL));)
        free(e);
    map_done(&q->entries);
    free(q);
    return NULL;
}

/* --- Entries --- */

static struct str entry_key(const struct entry *e)
{
    return (struct str){ e->key, e->len };
}

static struct entry *entry_find(const struct workqueue *q, struct str key)
{
    return map_get(&q->entries, key);
}

static struct entry *entry_get(struct workqueue *q, struct str key)
{
    struct entry *e = entry_find(q, key);

    if (e)
        return e;
    e = calloc(1, sizeof *e + key.len);
    if (!e)
        die_with_reason("no memory for a key in a work queue: it would never be processed again");
    e->len = key.len;
    if (key.len)
        memcpy(e->key, key.s, key.len);
    if (map_put(&q->entries, entry_key(e), e, NULL) < 0)
        die_with_reason("no memory for a key in a work queue: it would never be processed again");
    return e;
}

/* Frees an entry that is no longer needed. */
static void entry_settle(struct workqueue *q, struct entry *e)
{
    if (e->is_dirty || e->is_processing || e->failures || e->overtaken || timer_node_is_in_heap(&e->waiting))
        return;
    (void)map_remove(&q->entries, entry_key(e));
    free(e);
}

/* --- Ready keys --- */

static void on_note(void *ctx)
{
    struct workqueue *q = ctx;

    q->options.on_ready(q->options.ctx);
}

static struct entry_list *entry_list_of(struct workqueue *q, const struct entry *e)
{
    return e->goes_first ? &q->first : &q->ready;
}

static void entry_make_ready(struct workqueue *q, struct entry *e)
{
    assert(e->is_dirty);
    assert(!e->is_processing);
    TAILQ_INSERT_TAIL(entry_list_of(q, e), e, link);
    q->ready_count++;
    if (q->options.on_ready)
        loop_defer(&q->note);
}

static void entry_make_dirty(struct workqueue *q, struct entry *e)
{
    if (e->is_dirty || (e->is_processing && MUTANT("workqueue-loses-adds")))
        return;
    count_event(q, QUEUE_ADDS);
    e->is_dirty = true;
    e->dirty_at_ns = loop_now_ns(q->options.loop);
    if (!e->is_processing)
        entry_make_ready(q, e);
}

void workqueue_add(struct workqueue *q, struct str key)
{
    entry_make_dirty(q, entry_get(q, key));
}

void workqueue_add_first(struct workqueue *q, struct str key)
{
    struct entry *e = entry_get(q, key);

    if (e->is_dirty && !e->is_processing && !e->goes_first) {
        TAILQ_REMOVE(&q->ready, e, link);
        TAILQ_INSERT_TAIL(&q->first, e, link);
    }
    e->goes_first = true;
    entry_make_dirty(q, e);
}

enum workqueue_got workqueue_get(struct workqueue *q, struct str *ret_key)
{
    struct entry *e = TAILQ_EMPTY(&q->first) ? TAILQ_FIRST(&q->ready) : TAILQ_FIRST(&q->first);

    if (!e)
        return WORKQUEUE_EMPTY;
    assert(e->is_dirty && !e->is_processing && q->ready_count > 0);
    TAILQ_REMOVE(entry_list_of(q, e), e, link);
    if (!(e->goes_first && MUTANT("workqueue-miscounts-ready")))
        q->ready_count--;
    e->is_dirty = false;
    e->goes_first = false;
    e->is_processing = true;
    e->got_at_ns = loop_now_ns(q->options.loop);
    TAILQ_INSERT_TAIL(&q->working, e, link);
    q->working_count++;
    q->working_since_ns += e->got_at_ns;
    observe_duration(q, QUEUE_WAIT_SECONDS, e->got_at_ns - e->dirty_at_ns);
    *ret_key = entry_key(e);
    return WORKQUEUE_KEY;
}

void workqueue_done(struct workqueue *q, struct str key)
{
    struct entry *e = entry_find(q, key);

    assert(e);
    assert(e->is_processing && q->working_count > 0);
    if (!(e->is_dirty && MUTANT("workqueue-links-twice")))
        TAILQ_REMOVE(&q->working, e, link);
    q->working_count--;
    q->working_since_ns -= e->got_at_ns;
    e->is_processing = false;
    observe_duration(q, QUEUE_WORK_SECONDS, loop_now_ns(q->options.loop) - e->got_at_ns);
    if (e->is_dirty && !MUTANT("workqueue-keeps-dirty-keys"))
        entry_make_ready(q, e);
    entry_settle(q, e);
}

size_t workqueue_depth(const struct workqueue *q)
{
    return q->ready_count;
}

size_t workqueue_processing(const struct workqueue *q)
{
    return q->working_count;
}

bool workqueue_is_processing(const struct workqueue *q, struct str key)
{
    const struct entry *e = entry_find(q, key);

    return e && e->is_processing;
}

/* --- Delayed keys --- */

static void rearm_timer(struct workqueue *q)
{
    const struct timer_node *first = timer_heap_first(&q->waiting);

    if (!first)
        timer_disarm(&q->timer);
    else if (!timer_is_armed(&q->timer) || q->timer.node.at_ns != first->at_ns)
        timer_arm(&q->timer, first->at_ns);
}

static void on_due(void *ctx)
{
    struct workqueue *q = ctx;
    uint64_t now_ns = loop_now_ns(q->options.loop);
    struct timer_node *first;

    while ((first = timer_heap_first(&q->waiting)) && first->at_ns <= now_ns) {
        timer_heap_remove(&q->waiting, first);
        entry_make_dirty(q, CONTAINER_OF(first, struct entry, waiting));
    }
    rearm_timer(q);
}

static void entry_wait(struct workqueue *q, struct entry *e, uint64_t delay_ns)
{
    uint64_t now_ns = loop_now_ns(q->options.loop);
    uint64_t at_ns = delay_ns < UINT64_MAX - now_ns ? now_ns + delay_ns : UINT64_MAX;

    count_event(q, QUEUE_RETRIES);
    if (delay_ns == 0) {
        entry_make_dirty(q, e);
        return;
    }
    if (timer_node_is_in_heap(&e->waiting)) {
        if (e->waiting.at_ns <= at_ns)
            return;
        timer_heap_remove(&q->waiting, &e->waiting);
    }
    timer_heap_add(&q->waiting, &e->waiting, at_ns);
    rearm_timer(q);
}

void workqueue_add_after(struct workqueue *q, struct str key, uint64_t delay_ns)
{
    entry_wait(q, entry_get(q, key), delay_ns);
}

/* --- Failures --- */

static uint64_t failure_delay_ns(const struct workqueue_options *o, unsigned failures)
{
    if (o->fast_count)
        return failures < o->fast_count ? o->fast_ns : o->slow_ns;
    if (failures >= 64 || o->base_ns > o->max_ns >> failures)
        return o->max_ns;
    return o->base_ns << failures;
}

void workqueue_add_limited(struct workqueue *q, struct str key)
{
    struct entry *e = entry_get(q, key);
    uint64_t delay_ns = failure_delay_ns(&q->options, e->failures), bucket_ns;
    uint64_t reach_ns = delay_ns / 100 * q->options.jitter_percent;

    if (reach_ns)
        delay_ns += rng_below(&q->rng, 2 * reach_ns + 1) - reach_ns;
    if (e->failures < UINT_MAX)
        e->failures++;
    if (q->options.bucket_qps > 0) {
        bucket_ns = bucket_reserve(&q->bucket, loop_now_ns(q->options.loop));
        delay_ns = bucket_ns > delay_ns ? bucket_ns : delay_ns;
    }
    entry_wait(q, e, delay_ns);
}

void workqueue_forget(struct workqueue *q, struct str key)
{
    struct entry *e = entry_find(q, key);

    if (!e)
        return;
    e->failures = e->overtaken = 0;
    entry_settle(q, e);
}

void workqueue_add_overtaken(struct workqueue *q, struct str key)
{
    struct entry *e = entry_get(q, key);

    if (e->overtaken >= WORKQUEUE_OVERTAKEN_MAX) {
        workqueue_add_limited(q, key);
        return;
    }
    e->overtaken++;
    e->failures = 0;
    workqueue_add(q, key);
}

unsigned workqueue_failures(const struct workqueue *q, struct str key)
{
    const struct entry *e = entry_find(q, key);

    return e ? e->failures : 0;
}

uint64_t workqueue_due_ns(const struct workqueue *q, struct str key)
{
    const struct entry *e = entry_find(q, key);

    return e && timer_node_is_in_heap(&e->waiting) ? e->waiting.at_ns : 0;
}

/* --- Invariant check --- */

struct queue_sums {
    size_t ready, working, waiting;
    uint64_t since_ns;
};

static const char *entry_check(const struct workqueue *q, const struct entry *e, struct queue_sums *sums)
{
    const struct timer_node *first = timer_heap_first(&q->waiting);
    bool is_waiting = timer_node_is_in_heap(&e->waiting);

    if (!e->is_dirty && !e->is_processing && !is_waiting && !e->failures && !e->overtaken)
        return "an unused key was not freed";
    if (is_waiting && (!first || first->at_ns > e->waiting.at_ns))
        return "a delayed key is not in a heap, or not in order";
    sums->ready += e->is_dirty && !e->is_processing;
    sums->working += e->is_processing;
    sums->waiting += is_waiting;
    sums->since_ns += e->is_processing ? e->got_at_ns : 0;
    return NULL;
}

static const char *lists_check(const struct workqueue *q, const struct queue_sums *sums)
{
    size_t first = 0, ready = 0, working = 0, link = offsetof(struct entry, link);

    if (!tailq_is_sound(&q->first, link, q->entries.count, &first) ||
        !tailq_is_sound(&q->ready, link, q->entries.count, &ready) ||
        !tailq_is_sound(&q->working, link, q->entries.count, &working))
        return "a list of keys is not linked both ways";
    if (first + ready != q->ready_count || sums->ready != q->ready_count)
        return "the number of ready keys is wrong";
    if (working != q->working_count || sums->working != q->working_count)
        return "the number of keys in process is wrong";
    return sums->since_ns == q->working_since_ns ? NULL : "the sum of times of keys in process is wrong";
}

const char *workqueue_check(const struct workqueue *q)
{
    struct queue_sums sums = { 0 };
    const char *wrong = NULL;
    const struct entry *e;
    struct str key;

    for (size_t at = 0; !wrong && (e = map_next(&q->entries, &at, &key));)
        wrong = str_eq(key, entry_key(e)) ? entry_check(q, e, &sums) : "a key is stored under another key";
    if (!wrong)
        wrong = lists_check(q, &sums);
    if (wrong)
        return wrong;
    for (e = TAILQ_FIRST(&q->first); e; e = TAILQ_NEXT(e, link))
        if (!e->is_dirty || e->is_processing || !e->goes_first)
            return "a key in the list of priority keys does not belong there";
    for (e = TAILQ_FIRST(&q->ready); e; e = TAILQ_NEXT(e, link))
        if (!e->is_dirty || e->is_processing || e->goes_first)
            return "a key in the list of ready keys is not ready";
    for (e = TAILQ_FIRST(&q->working); e; e = TAILQ_NEXT(e, link))
        if (!e->is_processing)
            return "a key in the list of keys in process is not in process";
    return (sums.waiting > 0) == timer_is_armed(&q->timer) ? NULL : "delayed keys and the timer do not agree";
}
