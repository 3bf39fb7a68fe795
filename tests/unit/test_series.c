/* Series: when the count is written, and when an event is forgotten. */
#include "tests/unit/test.h"

#include "base/cleanup.h"
#include "machinery/series.h"

#define REAL_NS INT64_C(1700000000000000000)

static struct error err;

struct world {
    struct series_table t;
    uint64_t now_ns;
    struct buf totals; /* "name=count\n", as written */
    const struct series *got;
};

static void on_total(void *ctx, const struct series *s)
{
    buf_addf(ctx, "%s=%d\n", s->name, (int)s->count);
}

static void world_init(struct world *w)
{
    *w = (struct world){ .now_ns = 1000 * NS_PER_S, .totals = BUF_INIT(1 << 20) };
    series_init(&w->t, (struct hash_seed){ 1, 2 });
}

static void world_done(struct world *w)
{
    series_done(&w->t);
    buf_done(&w->totals);
}

/* As a timer would: stops at each moment when something is due. */
static void pass(struct world *w, uint64_t ns)
{
    uint64_t end_ns = w->now_ns + ns, at_ns;

    while (series_due_ns(&w->t, &at_ns) && at_ns <= end_ns) {
        w->now_ns = at_ns;
        series_run(&w->t, at_ns, on_total, &w->totals);
    }
    w->now_ns = end_ns;
}

static enum series_action event(struct world *w, const char *name)
{
    struct series_event e = { .key = str_of(name), .name = name, .ns = "shop", .body = STR_LIT("{body") };
    enum series_action action;

    series_run(&w->t, w->now_ns, on_total, &w->totals);
    ASSERT_OK(series_observe(&w->t, &e, w->now_ns, REAL_NS, &w->got, &action, &err));
    return action;
}

TEST(series_first_second_and_further)
{
    struct world w;

    world_init(&w);
    ASSERT_INT(SERIES_CREATE, event(&w, "a"));
    ASSERT_INT(1, w.got->count);
    ASSERT_STR("shop", w.got->ns);
    assert_true(str_is(w.got->body, "{body"));
    ASSERT_INT(SERIES_PATCH, event(&w, "a"));
    ASSERT_INT(2, w.got->count);
    assert_true(w.got->last_real_ns == REAL_NS);
    ASSERT_INT(SERIES_COUNT, event(&w, "a"));
    ASSERT_INT(SERIES_COUNT, event(&w, "a"));
    ASSERT_INT(4, w.got->count);
    ASSERT_INT(SERIES_CREATE, event(&w, "b"));
    ASSERT_STR("", buf_cstr(&w.totals));
    world_done(&w);
}

/* Six minutes from one to the next, and it is another event. */
TEST(series_is_over_when_quiet)
{
    struct world w;

    world_init(&w);
    (void)event(&w, "a");
    pass(&w, SERIES_QUIET_NS - 1);
    ASSERT_INT(SERIES_PATCH, event(&w, "a"));
    pass(&w, SERIES_QUIET_NS - 1);
    ASSERT_INT(SERIES_COUNT, event(&w, "a"));
    pass(&w, SERIES_QUIET_NS - 1);
    ASSERT_STR("", buf_cstr(&w.totals));
    pass(&w, 1);
    ASSERT_STR("a=3\n", buf_cstr(&w.totals));
    ASSERT_INT(0, lru_count(&w.t.all));
    ASSERT_INT(SERIES_CREATE, event(&w, "a"));
    world_done(&w);
}

TEST(series_ends_in_silence_when_all_is_written)
{
    struct world w;
    uint64_t at_ns = 5;

    world_init(&w);
    (void)event(&w, "lone");
    (void)event(&w, "two");
    (void)event(&w, "two");
    pass(&w, SERIES_QUIET_NS);
    ASSERT_STR("", buf_cstr(&w.totals));
    ASSERT_INT(0, lru_count(&w.t.all));
    ASSERT_INT(false, series_due_ns(&w.t, &at_ns));
    assert_true(at_ns == 5);
    world_done(&w);
}

TEST(series_is_refreshed_every_half_hour)
{
    struct world w;

    world_init(&w);
    for (unsigned minute = 0; minute < 75; minute++) {
        (void)event(&w, "a"); /* the second, after a minute, is written by itself */
        pass(&w, 60 * NS_PER_S);
    }
    /* At 31 and 61 minutes, when the events of these minutes have not come yet. */
    ASSERT_STR("a=31\na=61\n", buf_cstr(&w.totals));
    pass(&w, SERIES_QUIET_NS);
    ASSERT_STR("a=31\na=61\na=75\n", buf_cstr(&w.totals));
    world_done(&w);
}

TEST(series_are_refreshed_one_by_one)
{
    struct world w;

    world_init(&w);
    for (unsigned minute = 0; minute < 40; minute++) {
        (void)event(&w, "a");
        if (minute >= 3)
            (void)event(&w, "b");
        pass(&w, 60 * NS_PER_S);
    }
    ASSERT_STR("a=31\nb=31\n", buf_cstr(&w.totals));
    world_done(&w);
}

TEST(series_are_so_many)
{
    struct world w;
    char name[32];

    world_init(&w);
    for (unsigned n = 0; n < 3; n++)
        (void)event(&w, "old");
    for (unsigned i = 0; i < SERIES_MAX + 10; i++) {
        (void)snprintf(name, sizeof name, "n%u", i);
        ASSERT_INT(SERIES_CREATE, event(&w, name));
    }
    ASSERT_STR("old=3\n", buf_cstr(&w.totals));
    assert_true(lru_count(&w.t.all) <= SERIES_MAX);
    ASSERT_INT(SERIES_PATCH, event(&w, name));
    world_done(&w);
}

TEST_MAIN()
