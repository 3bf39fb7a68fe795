/* One entry a key, found by a hash map, whatever the key is doing:
 *
 *     dirty       wants looking at; unless it is worked on too, it is in a list of the ready
 *     processing  got and not done; in the list of those worked on
 *     waiting     in the heap of those that become dirty at a moment
 *
 * Any of these may hold together, but a key is in one list at most. An entry goes when none of them holds and
 * no failures are counted. One timer of the loop stands for the whole heap.
 *
 * Time is the loop's, which stands still during a turn: work that begins and ends in one turn took nothing.
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
#include "io/timer_heap.h"
#include "machinery/metrics.h"

#define WORKQUEUE_BASE_NS (5 * NS_PER_MS)
#define WORKQUEUE_MAX_NS (1000 * NS_PER_S)

struct entry {
    struct timer_node waiting;
    TAILQ_ENTRY(entry) link; /* of first or ready when dirty, of working when processing */
    uint64_t dirty_at_ns;
    uint64_t got_at_ns;
    unsigned failures;
    unsigned overtaken; /* in a row */
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
    struct entry_list first; /* come before ready */
    struct entry_list ready;
    size_t ready_count;        /* of both */
    struct entry_list working; /* the one that began first is first */
    size_t working_count;
    uint64_t working_since_ns; /* the sum of got_at_ns over them, modulo 2^64 */
    struct timer_heap waiting;
    struct timer timer; /* for the first of waiting */
    struct deferred note;
    struct bucket bucket;
    struct rng rng;
    struct metric *metrics[QUEUE_METRIC_COUNT]; /* all NULL when nothing is counted */
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
    [QUEUE_ADDS] = { "workqueue_adds_total", "Keys that were added and not queued already.", METRIC_COUNTER,
                     NULL },
    [QUEUE_RETRIES] = { "workqueue_retries_total", "Keys that were added for later.", METRIC_COUNTER, NULL },
    [QUEUE_WAIT_SECONDS] = { "workqueue_queue_duration_seconds", "How long keys waited to be worked on.",
                             METRIC_HISTOGRAM, NULL },
    [QUEUE_WORK_SECONDS] = { "workqueue_work_duration_seconds", "How long keys were worked on.",
                             METRIC_HISTOGRAM, NULL },
    [QUEUE_DEPTH] = { "workqueue_depth", "Keys that are ready to be worked on.", METRIC_GAUGE, read_depth },
    [QUEUE_UNFINISHED] = { "workqueue_unfinished_work_seconds",
                           "How long the keys being worked on have been so, summed up.", METRIC_GAUGE,
                           read_unfinished },
    [QUEUE_LONGEST] = { "workqueue_longest_running_processor_seconds",
                        "How long the key longest worked on has been so.", METRIC_GAUGE, read_longest },
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

/* The registry outlives the queue: what it would read is left at nothing. */
static void remove_readers(struct workqueue *q)
{
    for (size_t i = 0; i < QUEUE_METRIC_COUNT; i++)
        if (q->metrics[i] && queue_metrics[i].read)
            metric_set_reader(q->metrics[i], NULL, NULL);
}

static void count(struct workqueue *q, enum queue_metric which)
{
    if (q->metrics[which])
        metric_add(q->metrics[which], 1);
}

static void observe(struct workqueue *q, enum queue_metric which, uint64_t ns)
{
    if (q->metrics[which])
        metric_observe(q->metrics[which], seconds_of(ns));
}

/* --- Birth and death --- */

static void on_note(void *ctx);
static void on_due(void *ctx);

int workqueue_new(const struct workqueue_options *o, struct workqueue **ret, struct error *err)
{
    _cleanup_(workqueue_free_p) struct workqueue *q = calloc(1, sizeof *q);
    int r;

    assert(o->jitter_percent <= 100);
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
    remove_readers(q);
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
        die("no memory for a key in a work queue: it would never be processed again");
    e->len = key.len;
    if (key.len)
        memcpy(e->key, key.s, key.len);
    if (map_put(&q->entries, entry_key(e), e, NULL) < 0)
        die("no memory for a key in a work queue: it would never be processed again");
    return e;
}

/* Lets go of an entry that nothing holds any more. */
static void entry_settle(struct workqueue *q, struct entry *e)
{
    if (e->is_dirty || e->is_processing || e->failures || e->overtaken || timer_node_is_in_heap(&e->waiting))
        return;
    (void)map_remove(&q->entries, entry_key(e));
    free(e);
}

/* --- What is ready --- */

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
    count(q, QUEUE_ADDS);
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
    TAILQ_REMOVE(entry_list_of(q, e), e, link);
    q->ready_count--;
    e->is_dirty = false;
    e->goes_first = false;
    e->is_processing = true;
    e->got_at_ns = loop_now_ns(q->options.loop);
    TAILQ_INSERT_TAIL(&q->working, e, link);
    q->working_count++;
    q->working_since_ns += e->got_at_ns;
    observe(q, QUEUE_WAIT_SECONDS, e->got_at_ns - e->dirty_at_ns);
    *ret_key = entry_key(e);
    return WORKQUEUE_KEY;
}

void workqueue_done(struct workqueue *q, struct str key)
{
    struct entry *e = entry_find(q, key);

    assert(e);
    assert(e->is_processing);
    TAILQ_REMOVE(&q->working, e, link);
    q->working_count--;
    q->working_since_ns -= e->got_at_ns;
    e->is_processing = false;
    observe(q, QUEUE_WORK_SECONDS, loop_now_ns(q->options.loop) - e->got_at_ns);
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

/* --- What waits for a moment --- */

static void rearm(struct workqueue *q)
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
    rearm(q);
}

static void entry_wait(struct workqueue *q, struct entry *e, uint64_t delay_ns)
{
    uint64_t now_ns = loop_now_ns(q->options.loop);
    uint64_t at_ns = delay_ns < UINT64_MAX - now_ns ? now_ns + delay_ns : UINT64_MAX;

    count(q, QUEUE_RETRIES);
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
    rearm(q);
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

static uint64_t with_jitter(struct workqueue *q, uint64_t delay_ns)
{
    uint64_t reach_ns = delay_ns / 100 * q->options.jitter_percent;

    return reach_ns ? delay_ns - reach_ns + rng_below(&q->rng, 2 * reach_ns + 1) : delay_ns;
}

void workqueue_add_limited(struct workqueue *q, struct str key)
{
    uint64_t delay_ns, bucket_ns;
    struct entry *e = entry_get(q, key);

    delay_ns = with_jitter(q, failure_delay_ns(&q->options, e->failures));
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
