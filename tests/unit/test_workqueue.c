/* The work queue in virtual time: each rule by itself, then all of them at random against a naive model. */
#include "tests/unit/test.h"

#include <stdbool.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/rng.h"
#include "machinery/metrics.h"
#include "machinery/workqueue.h"
#include "tests/unit/aborts.h"

static struct error err;

struct world {
    struct manual_clock clock;
    struct loop *loop;
    struct metrics *metrics;
    struct workqueue *q;
    unsigned told; /* calls of on_ready */
};

static void on_ready(void *ctx)
{
    struct world *w = ctx;

    w->told++;
}

static void world_open(struct world *w, struct workqueue_options o)
{
    *w = (struct world){ 0 };
    manual_clock_init(&w->clock, 7 * NS_PER_S, 0);
    ASSERT_OK(loop_new(&w->clock.clock, &w->loop, &err));
    w->metrics = metrics_new((struct hash_seed){ 1, 2 });
    assert_non_null(w->metrics);
    o.loop = w->loop;
    o.name = "claims";
    o.metrics = w->metrics;
    o.on_ready = on_ready;
    o.ctx = w;
    ASSERT_OK(workqueue_new(&o, &w->q, &err));
}

static void world_done(struct world *w)
{
    if (w->q)
        assert_null(workqueue_check(w->q));
    w->q = workqueue_free(w->q);
    w->metrics = metrics_free(w->metrics);
    w->loop = loop_free(w->loop); /* asserts that no timer is armed and nothing deferred */
}

static void pass(struct world *w, uint64_t ns)
{
    loop_advance(w->loop, &w->clock, ns);
    if (w->q)
        assert_null(workqueue_check(w->q));
}

static void add(struct world *w, const char *key)
{
    workqueue_add(w->q, str_of(key));
}

static void add_first(struct world *w, const char *key)
{
    workqueue_add_first(w->q, str_of(key));
}

static void add_after(struct world *w, const char *key, uint64_t delay_ns)
{
    workqueue_add_after(w->q, str_of(key), delay_ns);
}

static void add_limited(struct world *w, const char *key)
{
    workqueue_add_limited(w->q, str_of(key));
}

static void done(struct world *w, const char *key)
{
    workqueue_done(w->q, str_of(key));
}

#define ASSERT_NONE(w)                                              \
    do {                                                            \
        struct str none_;                                           \
        ASSERT_INT(WORKQUEUE_EMPTY, workqueue_get((w)->q, &none_)); \
    } while (0)

#define ASSERT_GET(w, key)                                         \
    do {                                                           \
        struct str got_;                                           \
        ASSERT_INT(WORKQUEUE_KEY, workqueue_get((w)->q, &got_));   \
        if (!str_is(got_, key))                                    \
            fail_msg("got %.*s, expected %s", STR_ARG(got_), key); \
    } while (0)

/* Gets the key and is through with it. */
#define ASSERT_RUN(w, key)  \
    do {                    \
        ASSERT_GET(w, key); \
        done(w, key);       \
    } while (0)

/* Lives until the next call. */
static const char *metrics_text(const struct world *w)
{
    static struct buf out = { .len_max = 1 << 20 };

    buf_clear(&out);
    metrics_write(w->metrics, &out);
    return buf_cstr(&out);
}

#define ASSERT_METRIC(w, line)                                     \
    do {                                                           \
        if (!strstr(metrics_text(w), "\n" line "\n"))              \
            fail_msg("no line %s in:\n%s", line, metrics_text(w)); \
    } while (0)

/* --- Adding, getting, done --- */

/* machinery-33 */
TEST(a_key_added_three_times_runs_once)
{
    _cleanup_(world_done) struct world w;

    world_open(&w, (struct workqueue_options){ 0 });
    for (int i = 0; i < 3; i++)
        add(&w, "a");
    ASSERT_INT(1, workqueue_depth(w.q));
    ASSERT_RUN(&w, "a");
    ASSERT_NONE(&w);
    ASSERT_METRIC(&w, "workqueue_adds_total{name=\"claims\"} 1");
}

/* machinery-34 */
TEST(a_key_added_while_it_is_worked_on_runs_once_more)
{
    _cleanup_(world_done) struct world w;

    world_open(&w, (struct workqueue_options){ 0 });
    add(&w, "a");
    ASSERT_GET(&w, "a");
    for (int i = 0; i < 5; i++)
        add(&w, "a");
    ASSERT_INT(0, workqueue_depth(w.q));
    ASSERT_NONE(&w);
    done(&w, "a");
    ASSERT_INT(1, workqueue_depth(w.q));
    ASSERT_RUN(&w, "a");
    ASSERT_NONE(&w);
    ASSERT_METRIC(&w, "workqueue_adds_total{name=\"claims\"} 2");
}

TEST(first_come_first_served)
{
    _cleanup_(world_done) struct world w;

    world_open(&w, (struct workqueue_options){ 0 });
    add(&w, "c");
    add(&w, "a");
    add(&w, "b");
    add(&w, "c");
    ASSERT_GET(&w, "c");
    add(&w, "c"); /* comes back behind the others, though it was added before d */
    add(&w, "d");
    ASSERT_RUN(&w, "a");
    done(&w, "c");
    ASSERT_RUN(&w, "b");
    ASSERT_RUN(&w, "d");
    ASSERT_RUN(&w, "c");
    ASSERT_NONE(&w);
}

TEST(what_goes_on_passes_what_has_not_begun)
{
    _cleanup_(world_done) struct world w;

    world_open(&w, (struct workqueue_options){ 0 });
    add(&w, "a");
    add(&w, "b");
    add(&w, "c");
    ASSERT_GET(&w, "a");
    add(&w, "a"); /* an echo, and then the word that counts */
    add_first(&w, "a");
    ASSERT_INT(2, workqueue_depth(w.q));
    done(&w, "a");
    add_first(&w, "c"); /* from behind the others, and behind those that went before it */
    add_first(&w, "d");
    add_first(&w, "c");
    add(&w, "c");
    ASSERT_INT(4, workqueue_depth(w.q));
    ASSERT_GET(&w, "a");
    add(&w, "a"); /* once only: this time it waits like the others */
    done(&w, "a");
    ASSERT_RUN(&w, "c");
    ASSERT_RUN(&w, "d");
    ASSERT_RUN(&w, "b");
    ASSERT_RUN(&w, "a");
    ASSERT_NONE(&w);
    ASSERT_METRIC(&w, "workqueue_adds_total{name=\"claims\"} 6");
}

TEST(keys_are_copied_and_may_be_empty_or_hold_anything)
{
    _cleanup_(world_done) struct world w;
    char text[] = "shop/db";
    struct str got;

    world_open(&w, (struct workqueue_options){ 0 });
    workqueue_add(w.q, str_of(text));
    memset(text, 'x', sizeof text - 1);
    add(&w, "");
    workqueue_add(w.q, STR_LIT("a\0b"));
    workqueue_add(w.q, STR_LIT("a\0c"));
    ASSERT_RUN(&w, "shop/db");
    ASSERT_RUN(&w, "");
    ASSERT_INT(WORKQUEUE_KEY, workqueue_get(w.q, &got));
    assert_true(str_eq(got, STR_LIT("a\0b")));
    workqueue_done(w.q, got); /* by the queue's own memory */
    ASSERT_INT(WORKQUEUE_KEY, workqueue_get(w.q, &got));
    assert_true(str_eq(got, STR_LIT("a\0c")));
    workqueue_done(w.q, STR_LIT("a\0c"));
}

TEST(only_what_was_got_can_be_done)
{
    _cleanup_(world_done) struct world w;

    world_open(&w, (struct workqueue_options){ 0 });
    add(&w, "a");
    ASSERT_ABORTS(done(&w, "a"));
    ASSERT_ABORTS(done(&w, "b"));
    ASSERT_RUN(&w, "a");
    ASSERT_ABORTS(done(&w, "a"));
}

/* --- Being told --- */

TEST(several_additions_are_told_once_and_from_the_loop)
{
    _cleanup_(world_done) struct world w;

    world_open(&w, (struct workqueue_options){ 0 });
    add(&w, "a");
    add(&w, "b");
    ASSERT_INT(0, w.told);
    pass(&w, 0);
    ASSERT_INT(1, w.told);
    add(&w, "a"); /* is there already */
    pass(&w, 0);
    ASSERT_INT(1, w.told);
    ASSERT_GET(&w, "a");
    add(&w, "a"); /* cannot be got now */
    pass(&w, 0);
    ASSERT_INT(1, w.told);
    done(&w, "a");
    pass(&w, 0);
    ASSERT_INT(2, w.told);
    add_after(&w, "c", NS_PER_S);
    pass(&w, NS_PER_S - 1);
    ASSERT_INT(2, w.told);
    pass(&w, 1);
    ASSERT_INT(3, w.told);
}

TEST(a_queue_that_goes_tells_nobody)
{
    struct world w;

    world_open(&w, (struct workqueue_options){ 0 });
    add(&w, "a");
    ASSERT_GET(&w, "a");
    add(&w, "b");
    add_after(&w, "c", NS_PER_S);
    add_limited(&w, "d");
    w.q = workqueue_free(w.q);
    pass(&w, 10 * NS_PER_S);
    ASSERT_INT(0, w.told);
    assert_null(workqueue_free(NULL));
    world_done(&w);
}

TEST(a_queue_needs_neither_metrics_nor_a_listener)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(workqueue_free_p) struct workqueue *q = NULL;
    struct str got;

    world_open(&w, (struct workqueue_options){ 0 });
    ASSERT_OK(workqueue_new(&(struct workqueue_options){ .loop = w.loop, .name = "bare" }, &q, &err));
    workqueue_add(q, STR_LIT("a"));
    workqueue_add_limited(q, STR_LIT("b"));
    pass(&w, NS_PER_S);
    ASSERT_INT(2, workqueue_depth(q));
    ASSERT_INT(WORKQUEUE_KEY, workqueue_get(q, &got));
    workqueue_done(q, got);
    assert_null(strstr(metrics_text(&w), "bare"));
}

/* --- Later --- */

/* machinery-37 */
TEST(of_two_moments_the_earlier_counts)
{
    _cleanup_(world_done) struct world w;

    world_open(&w, (struct workqueue_options){ 0 });
    add_after(&w, "a", 10 * NS_PER_S);
    add_after(&w, "a", NS_PER_S);
    add_after(&w, "a", 5 * NS_PER_S);
    pass(&w, NS_PER_S - 1);
    ASSERT_NONE(&w);
    pass(&w, 1);
    ASSERT_RUN(&w, "a");
    pass(&w, 20 * NS_PER_S);
    ASSERT_NONE(&w);
    ASSERT_METRIC(&w, "workqueue_retries_total{name=\"claims\"} 3");
    ASSERT_METRIC(&w, "workqueue_adds_total{name=\"claims\"} 1");
}

/* machinery-38 */
TEST(an_addition_now_does_not_cancel_a_later_one)
{
    _cleanup_(world_done) struct world w;

    world_open(&w, (struct workqueue_options){ 0 });
    add_after(&w, "a", NS_PER_S);
    add(&w, "a");
    ASSERT_RUN(&w, "a");
    ASSERT_NONE(&w);
    pass(&w, NS_PER_S);
    ASSERT_RUN(&w, "a");
    pass(&w, 10 * NS_PER_S);
    ASSERT_NONE(&w);
}

TEST(a_moment_that_comes_while_the_key_is_worked_on_waits_for_the_end)
{
    _cleanup_(world_done) struct world w;

    world_open(&w, (struct workqueue_options){ 0 });
    add(&w, "a");
    ASSERT_GET(&w, "a");
    add_after(&w, "a", NS_PER_MS);
    pass(&w, NS_PER_S);
    ASSERT_NONE(&w);
    done(&w, "a");
    ASSERT_RUN(&w, "a");
    ASSERT_NONE(&w);
}

TEST(moments_come_in_order_and_equal_ones_as_they_were_added)
{
    _cleanup_(world_done) struct world w;

    world_open(&w, (struct workqueue_options){ 0 });
    add_after(&w, "late", 3 * NS_PER_S);
    add_after(&w, "b", NS_PER_S);
    add_after(&w, "a", NS_PER_S);
    add_after(&w, "soon", NS_PER_MS);
    add_after(&w, "never", UINT64_MAX);
    add_after(&w, "now", 0);
    ASSERT_RUN(&w, "now");
    pass(&w, NS_PER_MS);
    ASSERT_RUN(&w, "soon");
    pass(&w, 3 * NS_PER_S);
    ASSERT_RUN(&w, "b");
    ASSERT_RUN(&w, "a");
    ASSERT_RUN(&w, "late");
    pass(&w, 1000000 * NS_PER_S);
    ASSERT_NONE(&w);
}

/* --- Failures --- */

/* Asserts that the failure brings the key back after exactly this delay. */
static void assert_delay(struct world *w, const char *key, uint64_t delay_ns)
{
    add_limited(w, key);
    assert_int_equal(w->clock.mono_ns + delay_ns, workqueue_due_ns(w->q, str_of(key)));
    pass(w, delay_ns - 1);
    if (workqueue_depth(w->q) > 0)
        fail_msg("%s is back before %llu ns", key, (unsigned long long)delay_ns);
    pass(w, 1);
    assert_int_equal(0, workqueue_due_ns(w->q, str_of(key)));
    ASSERT_RUN(w, key);
}

/* machinery-35 */
TEST(delays_double_and_are_forgotten)
{
    _cleanup_(world_done) struct world w;

    world_open(&w, (struct workqueue_options){ 0 });
    for (unsigned i = 0; i < 5; i++) {
        ASSERT_INT(i, workqueue_failures(w.q, STR_LIT("a")));
        assert_delay(&w, "a", 5 * NS_PER_MS << i);
    }
    assert_delay(&w, "b", 5 * NS_PER_MS); /* each key has its own */
    workqueue_forget(w.q, STR_LIT("a"));
    workqueue_forget(w.q, STR_LIT("unknown"));
    ASSERT_INT(0, workqueue_failures(w.q, STR_LIT("a")));
    ASSERT_INT(1, workqueue_failures(w.q, STR_LIT("b")));
    ASSERT_INT(0, workqueue_failures(w.q, STR_LIT("unknown")));
    ASSERT_INT(0, workqueue_due_ns(w.q, STR_LIT("unknown")));
    assert_delay(&w, "a", 5 * NS_PER_MS);
    ASSERT_METRIC(&w, "workqueue_retries_total{name=\"claims\"} 7");
}

/* machinery-36 */
TEST(delays_have_a_ceiling)
{
    static const struct {
        uint64_t base_ns, max_ns, expected_ns;
        unsigned failures;
    } rows[] = {
        { 0, 0, 1000 * NS_PER_S, 30 },
        { 0, WORKQUEUE_CONTROLLER_MAX_NS, 60 * NS_PER_S, 30 },
        { 0, WORKQUEUE_CONTROLLER_MAX_NS, 60 * NS_PER_S, 200 },
        { 0, WORKQUEUE_CONTROLLER_MAX_NS, 40960 * NS_PER_MS, 13 },
        { 0, WORKQUEUE_CONTROLLER_MAX_NS, 60 * NS_PER_S, 14 },
        { NS_PER_S, 8 * NS_PER_S, 8 * NS_PER_S, 3 },
        { NS_PER_S, 8 * NS_PER_S, 8 * NS_PER_S, 4 },
        { 9 * NS_PER_S, 8 * NS_PER_S, 8 * NS_PER_S, 0 },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(world_done) struct world w;

        world_open(&w, (struct workqueue_options){ .base_ns = rows[i].base_ns, .max_ns = rows[i].max_ns });
        add(&w, "a");
        for (unsigned n = 0; n < rows[i].failures; n++)
            add_limited(&w, "a");
        pass(&w, 2000 * NS_PER_S);
        ASSERT_RUN(&w, "a");
        assert_delay(&w, "a", rows[i].expected_ns);
        ASSERT_INT(rows[i].failures + 1, workqueue_failures(w.q, STR_LIT("a")));
    }
}

TEST(forgetting_leaves_the_key_where_it_is)
{
    _cleanup_(world_done) struct world w;

    world_open(&w, (struct workqueue_options){ 0 });
    add_limited(&w, "waits");
    add_limited(&w, "queued");
    add(&w, "queued");
    workqueue_forget(w.q, STR_LIT("waits"));
    workqueue_forget(w.q, STR_LIT("queued"));
    ASSERT_RUN(&w, "queued");
    pass(&w, 5 * NS_PER_MS);
    ASSERT_GET(&w, "waits");
    workqueue_forget(w.q, STR_LIT("waits"));
    done(&w, "waits");
}

TEST(first_tries_can_be_fast_and_later_ones_slow)
{
    _cleanup_(world_done) struct world w;

    world_open(
        &w, (struct workqueue_options){ .fast_count = 3, .fast_ns = 2 * NS_PER_MS, .slow_ns = 9 * NS_PER_S });
    for (int i = 0; i < 3; i++)
        assert_delay(&w, "a", 2 * NS_PER_MS);
    for (int i = 0; i < 3; i++)
        assert_delay(&w, "a", 9 * NS_PER_S);
    workqueue_forget(w.q, STR_LIT("a"));
    assert_delay(&w, "a", 2 * NS_PER_MS);
}

/* machinery-40 */
TEST(all_keys_together_are_limited)
{
    _cleanup_(world_done) struct world w;
    struct str got;

    world_open(&w, (struct workqueue_options){ .bucket_qps = 10, .bucket_burst = 100 });
    for (int i = 0; i < 150; i++) {
        char key[8];

        (void)snprintf(key, sizeof key, "k%03d", i);
        add_limited(&w, key);
    }
    pass(&w, 5 * NS_PER_MS - 1);
    ASSERT_INT(0, workqueue_depth(w.q));
    pass(&w, 1);
    ASSERT_INT(100, workqueue_depth(w.q));
    pass(&w, 95 * NS_PER_MS - 1);
    for (size_t n = 100; n < 150; n++) {
        ASSERT_INT(n, workqueue_depth(w.q));
        pass(&w, 1);
        ASSERT_INT(n + 1, workqueue_depth(w.q));
        pass(&w, 100 * NS_PER_MS - 1);
    }
    for (int i = 0; i < 150; i++) {
        char key[8];

        (void)snprintf(key, sizeof key, "k%03d", i);
        ASSERT_RUN(&w, key);
    }
    ASSERT_INT(WORKQUEUE_EMPTY, workqueue_get(w.q, &got));
}

/* The delay of the first failure of each of some keys. */
static void first_delays(uint64_t seed, unsigned jitter_percent, uint64_t *delays, size_t delays_count)
{
    _cleanup_(world_done) struct world w;

    world_open(
        &w, (struct workqueue_options){ .seed = seed, .jitter_percent = jitter_percent, .base_ns = 1000000 });
    for (size_t i = 0; i < delays_count; i++) {
        uint64_t at_ns = 0;

        add_limited(&w, "a");
        assert_true(loop_next_timer_ns(w.loop, &at_ns));
        delays[i] = at_ns - w.clock.mono_ns;
        pass(&w, delays[i]);
        workqueue_forget(w.q, STR_LIT("a"));
        ASSERT_RUN(&w, "a");
    }
}

TEST(delays_are_jittered_up_and_down_by_the_seed)
{
    uint64_t a[200], b[200], least = UINT64_MAX, most = 0;

    first_delays(1, 10, a, ARRAY_LEN(a));
    first_delays(1, 10, b, ARRAY_LEN(b));
    assert_memory_equal(a, b, sizeof a);
    first_delays(2, 10, b, ARRAY_LEN(b));
    assert_memory_not_equal(a, b, sizeof a);
    for (size_t i = 0; i < ARRAY_LEN(a); i++) {
        assert_in_range(a[i], 900000, 1100000);
        least = a[i] < least ? a[i] : least;
        most = a[i] > most ? a[i] : most;
    }
    assert_true(least < 910000);
    assert_true(most > 1090000);
}

/* --- Metrics --- */

/* machinery-67 */
TEST(gauges_return_to_nothing_when_idle)
{
    _cleanup_(world_done) struct world w;

    world_open(&w, (struct workqueue_options){ 0 });
    ASSERT_METRIC(&w, "workqueue_depth{name=\"claims\"} 0");
    add(&w, "a");
    add(&w, "b");
    add(&w, "c");
    ASSERT_METRIC(&w, "workqueue_depth{name=\"claims\"} 3");
    ASSERT_GET(&w, "a");
    pass(&w, 2 * NS_PER_S);
    ASSERT_GET(&w, "b");
    pass(&w, NS_PER_S / 2);
    ASSERT_INT(2, workqueue_processing(w.q));
    ASSERT_METRIC(&w, "workqueue_depth{name=\"claims\"} 1");
    ASSERT_METRIC(&w, "workqueue_unfinished_work_seconds{name=\"claims\"} 3");
    ASSERT_METRIC(&w, "workqueue_longest_running_processor_seconds{name=\"claims\"} 2.5");
    done(&w, "a");
    ASSERT_METRIC(&w, "workqueue_unfinished_work_seconds{name=\"claims\"} 0.5");
    ASSERT_METRIC(&w, "workqueue_longest_running_processor_seconds{name=\"claims\"} 0.5");
    done(&w, "b");
    ASSERT_RUN(&w, "c");
    ASSERT_METRIC(&w, "workqueue_depth{name=\"claims\"} 0");
    ASSERT_METRIC(&w, "workqueue_unfinished_work_seconds{name=\"claims\"} 0");
    ASSERT_METRIC(&w, "workqueue_longest_running_processor_seconds{name=\"claims\"} 0");
}

TEST(durations_are_observed)
{
    _cleanup_(world_done) struct world w;

    world_open(&w, (struct workqueue_options){ 0 });
    add(&w, "a");
    pass(&w, 50 * NS_PER_MS);
    ASSERT_GET(&w, "a");
    add(&w, "a"); /* waits from now on, worked on or not */
    pass(&w, 3 * NS_PER_S);
    done(&w, "a");
    ASSERT_RUN(&w, "a");
    ASSERT_METRIC(&w, "workqueue_queue_duration_seconds_bucket{name=\"claims\",le=\"0.01\"} 0");
    ASSERT_METRIC(&w, "workqueue_queue_duration_seconds_bucket{name=\"claims\",le=\"0.1\"} 1");
    ASSERT_METRIC(&w, "workqueue_queue_duration_seconds_bucket{name=\"claims\",le=\"10\"} 2");
    ASSERT_METRIC(&w, "workqueue_queue_duration_seconds_sum{name=\"claims\"} 3.05");
    ASSERT_METRIC(&w, "workqueue_work_duration_seconds_bucket{name=\"claims\",le=\"1e-08\"} 1");
    ASSERT_METRIC(&w, "workqueue_work_duration_seconds_bucket{name=\"claims\",le=\"1\"} 1");
    ASSERT_METRIC(&w, "workqueue_work_duration_seconds_bucket{name=\"claims\",le=\"+Inf\"} 2");
    ASSERT_METRIC(&w, "workqueue_work_duration_seconds_sum{name=\"claims\"} 3");
}

TEST(queues_share_their_families_and_may_go_before_the_registry)
{
    _cleanup_(world_done) struct world w;
    struct workqueue *other = NULL;
    struct workqueue_options o = { 0 };

    world_open(&w, (struct workqueue_options){ 0 });
    o.loop = w.loop;
    o.metrics = w.metrics;
    o.name = "volumes";
    ASSERT_OK(workqueue_new(&o, &other, &err));
    workqueue_add(other, STR_LIT("v"));
    ASSERT_METRIC(&w, "workqueue_depth{name=\"claims\"} 0");
    ASSERT_METRIC(&w, "workqueue_depth{name=\"volumes\"} 1");
    other = workqueue_free(other);
    ASSERT_METRIC(&w, "workqueue_depth{name=\"volumes\"} 0");
    ASSERT_METRIC(&w, "workqueue_adds_total{name=\"volumes\"} 1");
    ASSERT_OK(workqueue_new(&o, &other, &err)); /* as after a restart of its owner */
    workqueue_add(other, STR_LIT("v"));
    ASSERT_METRIC(&w, "workqueue_depth{name=\"volumes\"} 1");
    ASSERT_METRIC(&w, "workqueue_adds_total{name=\"volumes\"} 2");
    other = workqueue_free(other);
}

/* --- At random, against a model --- */

#define MODEL_KEYS 5
#define MODEL_ROUNDS 20
#define MODEL_STEPS 10000

/* The rules written down without any thought of cost. */
struct model {
    bool is_dirty[MODEL_KEYS];
    bool is_processing[MODEL_KEYS];
    uint64_t at_ns[MODEL_KEYS]; /* 0: does not wait */
    unsigned seq[MODEL_KEYS];   /* breaks ties between moments */
    unsigned failures[MODEL_KEYS];
    size_t queue[MODEL_KEYS];
    size_t queue_count;
    bool goes_first[MODEL_KEYS];
    unsigned seq_next;
    uint64_t now_ns;
    unsigned told;
    bool is_to_tell;
    unsigned owed[MODEL_KEYS]; /* additions since the key was last got: none may be lost */
};

static void model_append(struct model *m, size_t k)
{
    size_t at = 0;

    assert_true(m->queue_count < MODEL_KEYS);
    while (at < m->queue_count && (!m->goes_first[k] || m->goes_first[m->queue[at]]))
        at++;
    memmove(m->queue + at + 1, m->queue + at, (m->queue_count++ - at) * sizeof *m->queue);
    m->queue[at] = k;
    m->is_to_tell = true;
}

static void model_add(struct model *m, size_t k)
{
    m->owed[k]++;
    if (m->is_dirty[k])
        return;
    m->is_dirty[k] = true;
    if (!m->is_processing[k])
        model_append(m, k);
}

static void model_add_first(struct model *m, size_t k)
{
    bool was_to_tell = m->is_to_tell;
    size_t at = 0;

    while (at < m->queue_count && m->queue[at] != k)
        at++;
    if (at < m->queue_count && !m->goes_first[k]) {
        memmove(m->queue + at, m->queue + at + 1, (--m->queue_count - at) * sizeof *m->queue);
        m->goes_first[k] = true;
        model_append(m, k);
        m->is_to_tell = was_to_tell; /* it was ready before */
    }
    m->goes_first[k] = true;
    model_add(m, k);
}

static void model_add_after(struct model *m, size_t k, uint64_t delay_ns)
{
    if (delay_ns == 0) {
        model_add(m, k);
    } else if (m->at_ns[k] == 0 || m->now_ns + delay_ns < m->at_ns[k]) {
        m->at_ns[k] = m->now_ns + delay_ns;
        m->seq[k] = m->seq_next++;
    }
}

static uint64_t model_fail(struct model *m, size_t k)
{
    uint64_t delay_ns = 5 * NS_PER_MS;

    for (unsigned i = 0; i < m->failures[k] && delay_ns < 100 * NS_PER_MS; i++)
        delay_ns *= 2;
    m->failures[k]++;
    return delay_ns < 100 * NS_PER_MS ? delay_ns : 100 * NS_PER_MS;
}

static void model_tell(struct model *m)
{
    m->told += m->is_to_tell;
    m->is_to_tell = false;
}

static bool model_is_before(const struct model *m, size_t a, size_t b)
{
    return m->at_ns[a] != m->at_ns[b] ? m->at_ns[a] < m->at_ns[b] : m->seq[a] < m->seq[b];
}

static void model_pass(struct model *m, uint64_t ns)
{
    uint64_t end_ns = m->now_ns + ns;

    model_tell(m);
    for (;;) {
        size_t first = MODEL_KEYS;

        for (size_t k = 0; k < MODEL_KEYS; k++)
            if (m->at_ns[k] && m->at_ns[k] <= end_ns && (first == MODEL_KEYS || model_is_before(m, k, first)))
                first = k;
        if (first == MODEL_KEYS || m->at_ns[first] > m->now_ns)
            model_tell(m); /* all of one moment are told together */
        if (first == MODEL_KEYS)
            break;
        m->now_ns = m->at_ns[first];
        m->at_ns[first] = 0;
        model_add(m, first);
    }
    m->now_ns = end_ns;
}

static struct str key_of(size_t k)
{
    static const char *const names[MODEL_KEYS] = { "shop/a", "shop/b", "c", "", "a-longer-one/named-so" };

    return str_of(names[k]);
}

static void both_get(struct world *w, struct model *m)
{
    struct str got = { 0 };
    enum workqueue_got r = workqueue_get(w->q, &got);

    if (m->queue_count == 0) {
        ASSERT_INT(WORKQUEUE_EMPTY, r);
    } else {
        size_t k = m->queue[0];

        ASSERT_INT(WORKQUEUE_KEY, r);
        assert_true(str_eq(key_of(k), got));
        assert_false(m->is_processing[k]); /* never twice at once */
        assert_true(m->owed[k] > 0);
        memmove(m->queue, m->queue + 1, --m->queue_count * sizeof *m->queue);
        m->is_dirty[k] = m->goes_first[k] = false;
        m->is_processing[k] = true;
        m->owed[k] = 0;
    }
}

static void both_done(struct world *w, struct model *m, size_t k)
{
    if (!m->is_processing[k])
        return;
    workqueue_done(w->q, key_of(k));
    m->is_processing[k] = false;
    if (m->is_dirty[k])
        model_append(m, k);
}

static void both_pass(struct world *w, struct model *m, uint64_t ns)
{
    pass(w, ns);
    model_pass(m, ns);
    ASSERT_INT(m->told, w->told);
}

static void both_step(struct world *w, struct model *m, struct rng *rng)
{
    size_t k = (size_t)rng_below(rng, MODEL_KEYS);
    uint64_t delay_ns = rng_below(rng, 12) * NS_PER_MS; /* often equal moments */

    switch (rng_below(rng, 9)) {
    case 0:
        workqueue_add(w->q, key_of(k));
        model_add(m, k);
        break;
    case 1:
        workqueue_add_after(w->q, key_of(k), delay_ns);
        model_add_after(m, k, delay_ns);
        break;
    case 2:
        workqueue_add_limited(w->q, key_of(k));
        model_add_after(m, k, model_fail(m, k));
        break;
    case 3:
        workqueue_forget(w->q, key_of(k));
        m->failures[k] = 0;
        break;
    case 4:
    case 5:
        both_get(w, m);
        break;
    case 6:
        both_done(w, m, k);
        break;
    case 7:
        workqueue_add_first(w->q, key_of(k));
        model_add_first(m, k);
        break;
    default:
        both_pass(w, m, rng_below(rng, 4) * 2 * NS_PER_MS);
        break;
    }
}

static void both_compare(const struct world *w, const struct model *m)
{
    size_t processing = 0;

    ASSERT_INT(m->queue_count, workqueue_depth(w->q));
    for (size_t k = 0; k < MODEL_KEYS; k++) {
        processing += m->is_processing[k];
        ASSERT_INT(m->failures[k], workqueue_failures(w->q, key_of(k)));
        /* Whatever was asked for is on its way. */
        assert_true(!m->owed[k] || m->is_dirty[k]);
    }
    ASSERT_INT(processing, workqueue_processing(w->q));
}

static void both_drain(struct world *w, struct model *m)
{
    while (workqueue_depth(w->q) || workqueue_processing(w->q)) {
        both_get(w, m);
        both_compare(w, m);
        for (size_t k = 0; k < MODEL_KEYS; k++)
            both_done(w, m, k);
        both_compare(w, m);
    }
    for (size_t k = 0; k < MODEL_KEYS; k++)
        ASSERT_INT(0, m->owed[k]); /* none lost */
}

TEST(random_operations_agree_with_a_model)
{
    for (uint64_t seed = 1; seed <= MODEL_ROUNDS; seed++) {
        _cleanup_(world_done) struct world w;
        struct model m = { 0 };
        struct rng rng;

        rng_init(&rng, seed);
        world_open(&w, (struct workqueue_options){ .seed = seed, .max_ns = 100 * NS_PER_MS });
        m.now_ns = w.clock.mono_ns;
        for (unsigned step = 0; step < MODEL_STEPS; step++) {
            both_step(&w, &m, &rng);
            both_compare(&w, &m);
        }
        both_drain(&w, &m);
    }
}

TEST_MAIN()
