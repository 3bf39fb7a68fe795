/* Blocking work: its ends, its limits, owners that go meanwhile, and the end of the process. */
#include "tests/unit/test_io.h"

#include <sched.h>

#include "base/buf.h"
#include "base/log.h"
#include "io/clock.h"
#include "io/job.h"
#include "plugins/plugin.h"

struct fixture;

/* What a worker sees. */
struct work {
    struct job job;
    struct fixture *f;
    int (*fn)(struct work *w, struct error *e);
    const struct volume_plugin *plugin; /* a reference */
};

struct fixture {
    struct loop *loop;
    struct pool *pool;
    bool drops_in_done;
    unsigned ended;
    unsigned freed;
    int r;
    struct error said;
    atomic_bool is_running;
    atomic_bool is_free_to_go; /* of what hangs */
    atomic_uint runs;
};

static struct error err;

static int work_run(struct job *j, struct error *e)
{
    struct work *w = CONTAINER_OF(j, struct work, job);

    atomic_fetch_add(&w->f->runs, 1);
    atomic_store(&w->f->is_running, true);
    return w->fn(w, e);
}

static void work_free(struct job *j)
{
    struct work *w = CONTAINER_OF(j, struct work, job);

    w->f->freed++;
    (void)plugin_unref(w->plugin);
    free(w);
}

static const struct job_type work_type = { "test work", work_run, work_free };

static void on_done(void *ctx, struct job *j, int r, const struct error *said)
{
    struct fixture *f = ctx;

    ASSERT_INT(0, f->freed); /* it is there */
    f->ended++;
    f->r = r;
    f->said = *said;
    if (f->drops_in_done)
        assert_null(job_drop(j));
    loop_stop(f->loop);
}

static void fixture_init(struct fixture *f, const struct clock *clock, size_t queued_max)
{
    *f = (struct fixture){ .loop = new_loop(clock) };
    ASSERT_OK(pool_new(f->loop, 1, queued_max, &f->pool, &err));
}

static void fixture_done(struct fixture *f)
{
    atomic_store(&f->is_free_to_go, true);
    f->pool = pool_free(f->pool);
    f->loop = loop_free(f->loop);
}

static struct work *work_new(struct fixture *f, int (*fn)(struct work *w, struct error *e), uint64_t limit_ns)
{
    struct work *w = calloc(1, sizeof *w);

    assert_non_null(w);
    *w = (struct work){ .job = { .type = &work_type, .about = "thing", .limit_ns = limit_ns },
                        .f = f,
                        .fn = fn };
    return w;
}

static struct job *begin(struct fixture *f, int (*fn)(struct work *w, struct error *e), uint64_t limit_ns)
{
    struct work *w = work_new(f, fn, limit_ns);

    job_begin(&w->job, f->pool, on_done, f);
    ASSERT_INT(0, f->ended); /* never from within */
    return &w->job;
}

static void await_running(const struct fixture *f)
{
    (void)signal(SIGALRM, test_on_deadline);
    (void)alarm(TEST_DEADLINE_S);
    while (!atomic_load(&f->is_running))
        (void)sched_yield();
    (void)alarm(0);
}

static int succeed(struct work *w, struct error *e)
{
    (void)w;
    (void)e;
    return 0;
}

static int refuse(struct work *w, struct error *e)
{
    (void)w;
    return error_set(e, ERR_DENIED, "not here");
}

/* Until it is told to stop. */
static int go_on(struct work *w, struct error *e)
{
    while (atomic_load(&w->job.stop) == JOB_NOT_STOPPED)
        (void)sched_yield();
    return error_set(e, ERR_CANCELLED, "stopped");
}

/* The same, but what it did was done when it looked. */
static int go_on_to_the_end(struct work *w, struct error *e)
{
    (void)go_on(w, e);
    return 0;
}

/* Whatever it is told. */
static int hang(struct work *w, struct error *e)
{
    while (!atomic_load(&w->f->is_free_to_go))
        (void)sched_yield();
    return error_set(e, ERR_IO, "let go of");
}

TEST(the_end_comes_on_the_loop)
{
    static const struct {
        int (*fn)(struct work *w, struct error *e);
        int r;
        const char *says;
    } rows[] = { { succeed, 0, "" }, { refuse, -ERR_DENIED, "not here" } };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fixture f;

        fixture_init(&f, NULL, 1);
        (void)begin(&f, rows[i].fn, 0);
        loop_run(f.loop);
        ASSERT_INT(1, f.ended);
        ASSERT_INT(rows[i].r, f.r);
        ASSERT_STR(rows[i].says, f.said.msg);
        ASSERT_INT(1, f.freed);
        fixture_done(&f);
    }
}

TEST(a_limit_asks_it_to_stop)
{
    struct fixture f;

    fixture_init(&f, NULL, 1);
    (void)begin(&f, go_on, NS_PER_MS);
    loop_run(f.loop);
    ASSERT_INT(-ERR_TIMEOUT, f.r);
    ASSERT_STR("not finished within 0 s", f.said.msg);
    fixture_done(&f);
}

/* A limit that came too late changes nothing. */
TEST(what_ends_well_is_done_whatever_the_limit)
{
    struct manual_clock clock;
    struct fixture f;

    manual_clock_init(&clock, NS_PER_S, 0);
    fixture_init(&f, &clock.clock, 1);
    (void)begin(&f, go_on_to_the_end, NS_PER_MS);
    await_running(&f); /* what has not started by then never does */
    manual_clock_advance(&clock, NS_PER_MS);
    loop_run(f.loop);
    ASSERT_INT(1, f.ended);
    ASSERT_INT(0, f.r);
    fixture_done(&f);
}

/* It may still act. */
TEST(what_hangs_is_not_over_at_its_limit)
{
    struct manual_clock clock;
    struct fixture f;

    manual_clock_init(&clock, NS_PER_S, 0);
    fixture_init(&f, &clock.clock, 1);
    (void)begin(&f, hang, 5 * NS_PER_S);
    await_running(&f);
    loop_advance(f.loop, &clock, 60 * NS_PER_S);
    ASSERT_INT(0, f.ended);
    atomic_store(&f.is_free_to_go, true);
    loop_run(f.loop);
    ASSERT_INT(-ERR_TIMEOUT, f.r);
    ASSERT_STR("not finished within 5 s", f.said.msg);
    fixture_done(&f);
}

TEST(within_its_end_a_drop_is_nothing)
{
    struct fixture f;

    fixture_init(&f, NULL, 1);
    f.drops_in_done = true;
    (void)begin(&f, succeed, 0);
    loop_run(f.loop);
    ASSERT_INT(1, f.ended);
    ASSERT_INT(1, f.freed);
    assert_null(job_drop(NULL));
    fixture_done(&f);
}

/* One runs, one waits, and for the third there is no room: that is told, too, and later. */
TEST(a_full_pool_is_told_later)
{
    struct job *others[2];
    struct fixture f, o;

    fixture_init(&f, NULL, 1);
    o = (struct fixture){ .loop = f.loop, .pool = f.pool };
    others[0] = begin(&o, go_on, 0);
    await_running(&o);
    others[1] = begin(&o, go_on, 0);
    (void)begin(&f, succeed, 0);
    loop_run(f.loop);
    ASSERT_INT(1, f.ended);
    ASSERT_INT(-ERR_UNAVAILABLE, f.r);
    ASSERT_STR("the worker pool's queue is full (1 waiting)", f.said.msg);
    assert_null(job_drop(others[0]));
    assert_null(job_drop(others[1]));
    fixture_done(&f);
    ASSERT_INT(0, o.ended);
    ASSERT_INT(2, o.freed);
}

static unsigned plugins_freed;

static void count_free(struct volume_plugin *self)
{
    (void)self;
    plugins_freed++;
}

/* A driver that is replaced lives as long as one of its calls. */
TEST(a_plugin_is_kept_until_the_end)
{
    struct volume_plugin p = { .name = "vendor.io/d", .free = count_free, .refs = 1 };
    struct fixture f;
    struct work *w;

    plugins_freed = 0;
    fixture_init(&f, NULL, 1);
    w = work_new(&f, succeed, 0);
    w->plugin = plugin_ref(&p);
    job_begin(&w->job, f.pool, on_done, &f);
    (void)plugin_unref(&p);
    ASSERT_INT(0, plugins_freed);
    loop_run(f.loop);
    ASSERT_INT(1, plugins_freed);
    fixture_done(&f);
}

/* --- All orders --- */

enum act { ACT_LIMIT, ACT_DROP, ACT_COUNT };

/* Where a job is when things begin to happen to it. */
enum place { PLACE_WAITS, PLACE_HEEDS, PLACE_HANGS, PLACE_REFUSED, PLACE_COUNT };

#define LIMIT_NS (5 * NS_PER_S)

/* What occupies the only worker; freed with the pool. */
static struct job *occupy(struct fixture *other, const struct fixture *f)
{
    struct job *j;

    *other = (struct fixture){ .loop = f->loop, .pool = f->pool };
    j = begin(other, hang, 0);
    await_running(other);
    return j;
}

static struct job *begin_at(struct fixture *f, enum place place, struct fixture *busy, struct fixture *full)
{
    struct job *j;

    if (place == PLACE_WAITS || place == PLACE_REFUSED)
        (void)occupy(busy, f);
    if (place == PLACE_REFUSED) {
        *full = (struct fixture){ .loop = f->loop, .pool = f->pool };
        (void)begin(full, succeed, 0);
    }
    j = begin(f, place == PLACE_HANGS ? hang : go_on, LIMIT_NS);
    if (place == PLACE_HEEDS || place == PLACE_HANGS)
        await_running(f);
    return j;
}

/* The job, if it is there still; it may end at any act. */
static void act_on(struct fixture *f, struct manual_clock *clock, struct job **j, enum act act)
{
    if (f->freed) {
        *j = NULL;
        return;
    }
    if (act == ACT_LIMIT)
        loop_advance(f->loop, clock, LIMIT_NS);
    else
        *j = job_drop(*j);
}

static void play(enum place place, const enum act *acts, size_t count)
{
    struct fixture f, busy = { 0 }, full = { 0 };
    bool is_dropped = false;
    struct manual_clock clock;
    struct job *j;

    manual_clock_init(&clock, NS_PER_S, 0);
    fixture_init(&f, &clock.clock, 1);
    j = begin_at(&f, place, &busy, &full);
    for (size_t i = 0; i < count && j; i++) {
        act_on(&f, &clock, &j, acts[i]);
        is_dropped = acts[i] == ACT_DROP && f.ended == 0;
    }
    atomic_store(&busy.is_free_to_go, true);
    while (loop_poll(f.loop))
        ;
    if (count == 0 && (place == PLACE_HEEDS || place == PLACE_WAITS)) /* it runs until it is asked */
        loop_advance(f.loop, &clock, LIMIT_NS);
    fixture_done(&f);
    ASSERT_INT(is_dropped ? 0 : 1, f.ended);
    ASSERT_INT(1, f.freed);
    if (place == PLACE_REFUSED || (place == PLACE_WAITS && count))
        ASSERT_INT(0, atomic_load(&f.runs));
}

/* Told once, or not at all once it was dropped; freed once; what was stopped while it waited never runs. */
TEST(any_order_of_limit_and_drop)
{
    for (enum place place = 0; place < PLACE_COUNT; place++) {
        play(place, NULL, 0);
        for (enum act a = 0; a < ACT_COUNT; a++) {
            play(place, &a, 1);
            for (enum act b = 0; b < ACT_COUNT; b++) {
                play(place, (enum act[]){ a, b }, 2);
                for (enum act c = 0; c < ACT_COUNT; c++)
                    play(place, (enum act[]){ a, b, c }, 3);
            }
        }
    }
}

/* --- The end of the process --- */

struct logged {
    struct logger logger;
    struct buf text;
};

static void keep_log(void *ctx, const char *line, size_t len)
{
    buf_add(ctx, line, len);
}

static void logged_begin(struct logged *l)
{
    l->text = BUF_INIT(4096);
    l->logger = (struct logger){
        .level = LOG_LEVEL_INFO, .clock = clock_system(), .sink = keep_log, .ctx = &l->text
    };
    log_install(&l->logger);
}

static void logged_end(struct logged *l)
{
    log_install(NULL);
    buf_done(&l->text);
}

TEST(nothing_is_abandoned_when_all_ends)
{
    struct logged l;
    struct fixture f;

    logged_begin(&l);
    fixture_init(&f, NULL, 1);
    ASSERT_INT(0, job_abandon_all(f.loop));
    (void)begin(&f, go_on, 0); /* its owner forgot it */
    await_running(&f);
    (void)job_drop(begin(&f, go_on, 0));
    (void)begin(&f, go_on, 0);
    (void)begin(&f, go_on, 0); /* refused */
    ASSERT_INT(0, job_abandon_all(f.loop));
    ASSERT_INT(0, f.ended);
    ASSERT_INT(4, f.freed);
    ASSERT_INT(1, atomic_load(&f.runs));
    fixture_done(&f);
    ASSERT_STR("", buf_cstr(&l.text));
    logged_end(&l);
}

/* What hangs is left with all that it has, by name; what waits behind it never runs. Nothing of it is lost:
 * it is freed here when the work is let go of. */
TEST(what_hangs_is_abandoned_by_name)
{
    struct manual_clock clock;
    struct logged l;
    struct fixture f;
    const char *line;
    struct job *j;

    logged_begin(&l);
    manual_clock_init(&clock, NS_PER_S, 0);
    fixture_init(&f, &clock.clock, 1);
    j = begin(&f, hang, 0);
    await_running(&f);
    manual_clock_advance(&clock, 7 * NS_PER_S);
    (void)job_drop(j);
    (void)job_drop(begin(&f, succeed, 0));
    (void)job_drop(begin(&f, succeed, 0)); /* refused */
    manual_clock_advance(&clock, JOB_END_NS);
    ASSERT_INT(1, job_abandon_all(f.loop));
    ASSERT_INT(0, f.ended);
    ASSERT_INT(2, f.freed);
    ASSERT_INT(1, atomic_load(&f.runs));
    line = strstr(buf_cstr(&l.text), "job abandoned, still running");
    assert_non_null(line);
    assert_non_null(strstr(line, "job=\"test work\" about=thing seconds=10"));
    assert_null(strstr(line + 1, "job abandoned")); /* one line a job */
    logged_end(&l);
    fixture_done(&f);
    ASSERT_INT(0, f.ended);
    ASSERT_INT(3, f.freed);
}

/* What ends while it is waited for is not abandoned. */
static void let_go(void *ctx)
{
    struct fixture *f = ctx;

    atomic_store(&f->is_free_to_go, true);
}

TEST(what_ends_in_time_is_waited_for)
{
    struct fixture f;
    struct timer t;

    fixture_init(&f, NULL, 1);
    (void)begin(&f, hang, 0);
    await_running(&f);
    timer_init(&t, f.loop, let_go, &f);
    timer_arm_after(&t, 20 * NS_PER_MS);
    ASSERT_INT(0, job_abandon_all(f.loop));
    ASSERT_INT(1, f.freed);
    fixture_done(&f);
}

TEST_MAIN()
