/* The queue of pods: who comes first, how long they rest, and what brings them back. */
#include "scheduler/queue.h"

#include "tests/unit/test_scheduler.h"

#include "tests/unit/test_binder_objects.h"

#include "tests/unit/test.h"

struct bench {
    struct manual_clock clock;
    struct loop *loop;
    struct pod_queue queue;
    unsigned ready; /* how often it was told */
};

static void on_ready(void *ctx)
{
    ((struct bench *)ctx)->ready++;
}

static void bench_init(struct bench *b)
{
    *b = (struct bench){ 0 };
    manual_clock_init(&b->clock, NS_PER_S, 0);
    ASSERT_OK(loop_new(&b->clock.clock, &b->loop, &err));
    queue_init(&b->queue, b->loop, (struct hash_seed){ 1, 2 }, on_ready, b);
}

static void bench_done(struct bench *b)
{
    assert_null(queue_check(&b->queue));
    queue_done(&b->queue);
    loop_free(b->loop);
}

static void pass(struct bench *b, uint64_t ms)
{
    loop_advance(b->loop, &b->clock, ms * NS_PER_MS);
}

static void put(struct bench *b, const char *name, int priority, bool is_changed)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(4096), whole = BUF_INIT(4096);
    _cleanup_(json_done_p) struct json d;
    struct object *o = NULL;

    json_init(&d, 1 << 20);
    buf_addf(&text,
             "{'metadata':{'name':'%s','namespace':'default','uid':'%s','resourceVersion':'1'},'spec':{"
             "'priority':%d,'containers':[]}}",
             name, name, priority);
    kind_quotes(buf_cstr(&text), &whole);
    ASSERT_OK(object_decode(kind_info(KIND_POD), buf_str(&whole), &d, &o, &err));
    queue_put(&b->queue, pod_of(o), is_changed);
    (void)object_unref(o);
}

/* The next one is this, or with NULL there is none. */
static struct queued_pod *take(struct bench *b, const char *name)
{
    struct queued_pod *x = queue_take(&b->queue);

    if (!name) {
        assert_null(x);
        return NULL;
    }
    assert_non_null(x);
    assert_string_equal(x->pod->obj.name, name);
    ASSERT_INT(QUEUE_IN_FLIGHT, x->place);
    return x;
}

static bool helps(void *ctx, const struct queued_pod *x)
{
    return x->filters & *(const uint32_t *)ctx;
}

static void move(struct bench *b, uint32_t filters)
{
    queue_requeue(&b->queue, helps, &filters);
}

static enum queue_place place_of(const struct bench *b, const char *name)
{
    return queue_get(&b->queue, name)->place;
}

/* --- Order --- */

TEST(by_priority_then_by_time)
{
    struct bench b;

    bench_init(&b);
    put(&b, "b", 0, true);
    put(&b, "a", 0, true);
    put(&b, "high", 1000, true);
    put(&b, "low", -5, true);
    put(&b, "highest", 2000000000, true);
    put(&b, "lowest", -2147483647 - 1, true);
    ASSERT_INT(6, b.ready);
    ASSERT_INT(6, b.queue.counts[QUEUE_READY]);
    take(&b, "highest");
    take(&b, "high");
    take(&b, "b");
    take(&b, "a");
    take(&b, "low");
    take(&b, "lowest");
    take(&b, NULL);
    ASSERT_INT(6, b.queue.counts[QUEUE_IN_FLIGHT]);
    bench_done(&b);
}

/* A newer version of a pod takes its place, with the newer priority. */
TEST(newer_version)
{
    struct bench b;

    bench_init(&b);
    put(&b, "a", 0, true);
    put(&b, "b", 0, true);
    put(&b, "a", 0, true); /* does not send it to the end */
    put(&b, "c", 0, true);
    put(&b, "c", 7, true);
    ASSERT_INT(3, b.queue.counts[QUEUE_READY]);
    take(&b, "c");
    take(&b, "a");
    take(&b, "b");
    take(&b, NULL);
    bench_done(&b);
}

TEST(removed_wherever_it_is)
{
    struct bench b;

    bench_init(&b);
    put(&b, "ready", -1, true);
    put(&b, "resting", 3, true);
    put(&b, "aside", 2, true);
    put(&b, "away", 1, true);
    queue_put_backoff(&b.queue, take(&b, "resting"));
    queue_put_unschedulable(&b.queue, take(&b, "aside"), 1);
    take(&b, "away");
    for (unsigned i = 0; i < QUEUE_PLACE_COUNT; i++)
        ASSERT_INT(1, b.queue.counts[i]);
    queue_remove(&b.queue, "ready");
    queue_remove(&b.queue, "resting");
    queue_remove(&b.queue, "aside");
    queue_remove(&b.queue, "away");
    queue_remove(&b.queue, "away");
    queue_remove(&b.queue, "unknown");
    for (unsigned i = 0; i < QUEUE_PLACE_COUNT; i++)
        ASSERT_INT(0, b.queue.counts[i]);
    assert_null(queue_get(&b.queue, "away"));
    pass(&b, 400000);
    move(&b, 1);
    take(&b, NULL);
    bench_done(&b);
}

/* --- Rest --- */

/* One second, doubled with each attempt, ten at most. */
TEST(rest_grows)
{
    static const uint64_t rests_ms[] = { 1000, 2000, 4000, 8000, 10000, 10000 };
    struct bench b;

    bench_init(&b);
    put(&b, "p", 0, true);
    for (size_t i = 0; i < ARRAY_LEN(rests_ms); i++) {
        queue_put_backoff(&b.queue, take(&b, "p"));
        pass(&b, rests_ms[i] - 1);
        take(&b, NULL);
        ASSERT_INT(QUEUE_BACKOFF, place_of(&b, "p"));
        pass(&b, 1);
    }
    take(&b, "p");
    bench_done(&b);
}

/* Those that rest come back each in its time, not in the order of their going. */
TEST(rests_end_in_their_order)
{
    struct queued_pod *a;
    struct bench b;

    bench_init(&b);
    put(&b, "a", 1, true);
    put(&b, "b", 0, true);
    queue_put_backoff(&b.queue, take(&b, "a"));
    pass(&b, 1000);
    a = take(&b, "a");
    queue_put_backoff(&b.queue, a); /* two seconds */
    queue_put_backoff(&b.queue, take(&b, "b"));
    pass(&b, 1000);
    take(&b, "b");
    take(&b, NULL);
    pass(&b, 1000);
    take(&b, "a");
    bench_done(&b);
}

/* What happens while it rests makes it rest no less. */
TEST(rest_holds)
{
    struct bench b;

    bench_init(&b);
    put(&b, "p", 0, true);
    queue_put_unschedulable(&b.queue, take(&b, "p"), 1);
    move(&b, 2);
    ASSERT_INT(QUEUE_UNSCHEDULABLE, place_of(&b, "p")); /* no help for it */
    move(&b, 1 | 2);
    ASSERT_INT(QUEUE_BACKOFF, place_of(&b, "p"));
    put(&b, "p", 0, true);
    ASSERT_INT(QUEUE_BACKOFF, place_of(&b, "p"));
    pass(&b, 999);
    take(&b, NULL);
    pass(&b, 1);
    take(&b, "p");
    bench_done(&b);
}

/* --- Aside --- */

TEST(help_after_the_rest_is_at_once)
{
    struct bench b;

    bench_init(&b);
    put(&b, "p", 0, true);
    put(&b, "q", 0, true);
    queue_put_unschedulable(&b.queue, take(&b, "p"), 1);
    queue_put_unschedulable(&b.queue, take(&b, "q"), 2);
    pass(&b, 5000);
    take(&b, NULL);
    b.ready = 0;
    move(&b, 1);
    ASSERT_INT(1, b.ready);
    take(&b, "p");
    take(&b, NULL);
    bench_done(&b);
}

/* Nothing helps: after five minutes it is tried all the same, at the next of the sweeps. */
TEST(sweep)
{
    struct bench b;

    bench_init(&b);
    put(&b, "p", 0, true);
    put(&b, "q", 0, true);
    queue_put_unschedulable(&b.queue, take(&b, "p"), 1);
    pass(&b, 10000);
    queue_put_unschedulable(&b.queue, take(&b, "q"), 1); /* its sweep comes 20 s after its five minutes */
    pass(&b, 289999);
    take(&b, NULL);
    pass(&b, 1);
    take(&b, "p");
    take(&b, NULL);
    pass(&b, 29999);
    take(&b, NULL);
    pass(&b, 1);
    take(&b, "q");
    bench_done(&b);
}

/* The sweeps go on after a time without anybody to sweep. */
TEST(sweep_begins_again)
{
    struct queued_pod *x;
    struct bench b;

    bench_init(&b);
    put(&b, "p", 0, true);
    queue_put_unschedulable(&b.queue, take(&b, "p"), 1);
    pass(&b, 300000);
    x = take(&b, "p");
    pass(&b, 100000);
    queue_put_unschedulable(&b.queue, x, 1);
    pass(&b, 300000);
    take(&b, "p");
    bench_done(&b);
}

/* Of the pod itself only what matters to scheduling brings it back. */
TEST(changes_of_the_pod)
{
    struct bench b;

    bench_init(&b);
    put(&b, "p", 0, true);
    queue_put_unschedulable(&b.queue, take(&b, "p"), 1);
    pass(&b, 5000);
    put(&b, "p", 0, false);
    take(&b, NULL);
    ASSERT_INT(QUEUE_UNSCHEDULABLE, place_of(&b, "p"));
    put(&b, "p", 0, true);
    take(&b, "p");
    bench_done(&b);
}

/* While it is under way nothing moves it; what failed comes again after its rest, whatever happened. */
TEST(under_way)
{
    struct queued_pod *x;
    struct bench b;

    bench_init(&b);
    put(&b, "p", 0, true);
    x = take(&b, "p");
    put(&b, "p", 5, true);
    move(&b, UINT32_MAX);
    take(&b, NULL);
    ASSERT_INT(5, x->pod->priority);
    queue_put_backoff(&b.queue, x);
    pass(&b, 1000);
    take(&b, "p");
    bench_done(&b);
}

/* --- With the scheduler --- */

/* Bound, and the cache does not show it yet when an older version of the pod comes: the pod is not scheduled
 * a second time. */
TEST(late_version_of_a_bound_pod)
{
    struct world w;

    scheduling_init(&w);
    add_node(&w, "a", "", "'unschedulable':true");
    add_node(&w, "b", "", "'unschedulable':true");
    add_pod(&w, "p", "", "", "");
    w.is_blind = true;
    w.blind_to = KIND_POD;
    fail_next(&w, TAP_LATE, "PATCH " PODS "/p/status", 1);
    world_start(&w);
    world_settle_for(&w, 1);
    ASSERT_SENT(&w.served, 200, "MERGE", NODES "/a", "{'spec':{'unschedulable':null}}");
    world_settle_for(&w, 1);
    assert_on(&w, "p", "a");
    ASSERT_SENT(&w.served, 200, "MERGE", NODES "/b", "{'spec':{'unschedulable':null}}");
    world_deliver_late(&w);
    world_settle_for(&w, 20);
    ASSERT_INT(1, (int)count_writes(&w, "POST " PODS "/p/binding"));
    world_done(&w);
}

TEST_MAIN()
