/* How far a work is: the lines of a terminal and the plain ones, in virtual time. */
#include "tests/unit/test.h"

#include <stdbool.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/pace.h"
#include "cli/cli.h"
#include "cli/progress.h"

const struct cli_verb *const cli_verbs[] = { NULL };

#define GIB (UINT64_C(1) << 30)

/* --- Pace --- */

TEST(pace_is_the_average_since_it_began)
{
    struct pace p = { 0 };
    int64_t left;

    assert_true(pace_rate(&p, NS_PER_S, 100) == 0); /* never begun */
    pace_begin(&p, 10 * NS_PER_S, 1000);
    pace_begin(&p, 20 * NS_PER_S, 0);                                 /* changes nothing */
    assert_true(pace_rate(&p, 10 * NS_PER_S + NS_PER_MS, 5000) == 0); /* too early */
    assert_true(pace_rate(&p, 12 * NS_PER_S, 1000) == 0);             /* nothing was done */
    assert_true(pace_rate(&p, 12 * NS_PER_S, 500) == 0);              /* nor by going back */
    assert_true(pace_rate(&p, 9 * NS_PER_S, 5000) == 0);
    assert_true(pace_rate(&p, 12 * NS_PER_S, 1400) == 200);
    assert_false(pace_seconds_left(&p, 12 * NS_PER_S, 1000, 2000, &left));
    assert_false(pace_seconds_left(&p, 12 * NS_PER_S, 1400, 1300, &left)); /* more than all */
    assert_false(pace_seconds_left(&p, 12 * NS_PER_S, 1400, UINT64_MAX, &left));
    assert_true(pace_seconds_left(&p, 12 * NS_PER_S, 1400, 2000, &left));
    ASSERT_INT(3, left);
    assert_true(pace_seconds_left(&p, 12 * NS_PER_S, 1400, 1400, &left));
    ASSERT_INT(0, left);
}

TEST(a_hundred_percent_is_all)
{
    static const struct {
        uint64_t done, total;
        unsigned percent;
    } rows[] = {
        { 0, 1, 0 },
        { 1, 3, 33 },
        { 2, 3, 66 },
        { 999, 1000, 99 },
        { 1, 1, 100 },
        { 5, 1, 100 },
        { UINT64_MAX - 1, UINT64_MAX, 99 },
        { UINT64_MAX, UINT64_MAX, 100 },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_INT(rows[i].percent, pace_percent(rows[i].done, rows[i].total));
}

/* --- A screen that remembers --- */

struct screen {
    struct progress_screen s;
    struct manual_clock clock;
    unsigned columns;
    struct buf said; /* "~LINE" drawn, "~" taken away, "LINE" said; a line each */
    unsigned draws;
};

static unsigned columns_of(void *ctx)
{
    return ((struct screen *)ctx)->columns;
}

static void on_show(void *ctx, struct str line)
{
    struct screen *x = ctx;

    assert_true(line.len < x->columns || x->s.has_colors);
    x->draws++;
    buf_addf(&x->said, "~%.*s\n", STR_ARG(line));
}

static void on_clear(void *ctx)
{
    buf_add_cstr(&((struct screen *)ctx)->said, "~\n");
}

static void on_say(void *ctx, struct str line)
{
    buf_addf(&((struct screen *)ctx)->said, "%.*s\n", STR_ARG(line));
}

static void screen_init(struct screen *x, unsigned columns)
{
    *x = (struct screen){ .columns = columns, .said = BUF_INIT(1 << 20) };
    manual_clock_init(&x->clock, 1000 * NS_PER_S, 0);
    x->s = (struct progress_screen){ .clock = &x->clock.clock,
                                     .is_terminal = columns > 0,
                                     .columns = columns_of,
                                     .show = on_show,
                                     .clear = on_clear,
                                     .say = on_say,
                                     .ctx = x };
}

static void screen_done(struct screen *x)
{
    buf_done(&x->said);
}

static void pass(struct screen *x, uint64_t ms)
{
    manual_clock_advance(&x->clock, ms * NS_PER_MS);
}

#define ASSERT_SAID(x, text)                    \
    do {                                        \
        ASSERT_STR(text, buf_cstr(&(x)->said)); \
        buf_clear(&(x)->said);                  \
    } while (0)

static const struct progress_work bytes = { .label = "copying", .kind = PROGRESS_BYTES };
static const struct progress_work things = { .label = "making", .kind = PROGRESS_THINGS };

/* --- Plain lines --- */

TEST(short_work_says_nothing_in_a_pipe)
{
    _cleanup_(screen_done) struct screen x;
    struct progress_bar p;

    screen_init(&x, 0);
    progress_begin(&p, &x.s, &bytes);
    for (unsigned i = 0; i < 19; i++) {
        pass(&x, 100);
        progress_set(&p, i, 20);
    }
    progress_end(&p, true);
    ASSERT_SAID(&x, "");
}

TEST(a_line_after_two_seconds_then_every_five)
{
    _cleanup_(screen_done) struct screen x;
    struct progress_bar p;

    screen_init(&x, 0);
    progress_begin(&p, &x.s, &bytes);
    for (uint64_t ms = 100; ms <= 10000; ms += 100) {
        pass(&x, 100);
        progress_set(&p, 10 * GIB * ms / 10000, 10 * GIB);
    }
    progress_end(&p, true);
    ASSERT_SAID(&x, "copying: 20%, 2.0 of 10.0 GiB, 1.0 GiB/s, 8s left\n"
                    "copying: 70%, 7.0 of 10.0 GiB, 1.0 GiB/s, 3s left\n"
                    "copying: 10.0 GiB in 10s, 1.0 GiB/s\n");
}

TEST(a_failure_is_not_summed_up)
{
    _cleanup_(screen_done) struct screen x;
    struct progress_bar p;

    screen_init(&x, 0);
    progress_begin(&p, &x.s, &things);
    pass(&x, 4000);
    progress_set(&p, 2, 8);
    progress_end(&p, false);
    ASSERT_SAID(&x, "making: 25%, 2 of 8, 0.5/s, 12s left\n");
}

TEST(an_unknown_total_is_counted)
{
    _cleanup_(screen_done) struct screen x;
    struct progress_bar p;

    screen_init(&x, 0);
    progress_begin(&p, &x.s, &things);
    pass(&x, 4000);
    progress_set(&p, 100, 0);
    pass(&x, 4000);
    progress_tick(&p); /* too early */
    pass(&x, 1000);
    progress_tick(&p);
    progress_end(&p, true);
    ASSERT_SAID(&x, "making: 100, 25/s, 4s\n"
                    "making: 100, 11/s, 9s\n"
                    "making: 100 in 9s, 11/s\n");
    /* Nothing but time: a check, say. */
    progress_begin(&p, &x.s, &bytes);
    pass(&x, 3000);
    progress_set(&p, 0, 0);
    progress_end(&p, true);
    ASSERT_SAID(&x, "copying: 0 B, 3s\n");
}

TEST(waits_say_nothing_in_a_pipe)
{
    _cleanup_(screen_done) struct screen x;
    const struct progress_work wait = { .label = "waiting", .kind = PROGRESS_WAIT };
    struct progress_work only = things;
    struct progress_bar p;

    only.is_terminal_only = true;
    screen_init(&x, 0);
    for (int i = 0; i < 2; i++) {
        progress_begin(&p, &x.s, i ? &only : &wait);
        for (unsigned s = 0; s < 100; s++) {
            pass(&x, 1000);
            progress_set(&p, s, 100);
        }
        progress_end(&p, true);
        ASSERT_SAID(&x, "");
    }
}

/* --- On a terminal --- */

TEST(a_bar_is_drawn_and_taken_away)
{
    _cleanup_(screen_done) struct screen x;
    struct progress_bar p;

    screen_init(&x, 80);
    progress_begin(&p, &x.s, &bytes);
    pass(&x, 299);
    progress_set(&p, GIB, 4 * GIB); /* not for a moment's work */
    ASSERT_SAID(&x, "");
    pass(&x, 701);
    progress_set(&p, GIB, 4 * GIB);
    ASSERT_SAID(&x, "~copying  [=======>                     ]   25%  1.0/4.0 GiB  1.0 GiB/s  3s left\n");
    pass(&x, 99);
    progress_set(&p, 2 * GIB, 4 * GIB); /* ten times a second is enough */
    ASSERT_SAID(&x, "");
    pass(&x, 901);
    progress_set(&p, 2 * GIB, 4 * GIB);
    ASSERT_SAID(&x, "~copying  [==============>              ]   50%  2.0/4.0 GiB  1.0 GiB/s  2s left\n");
    pass(&x, 2000);
    progress_set(&p, 4 * GIB, 4 * GIB);
    ASSERT_SAID(&x, "~copying  [=============================]  100%  4.0/4.0 GiB  1.0 GiB/s  0s left\n");
    progress_end(&p, true);
    ASSERT_SAID(&x, "~\ncopying: 4.0 GiB in 4s, 1.0 GiB/s\n");
}

TEST(at_most_ten_draws_a_second)
{
    _cleanup_(screen_done) struct screen x;
    struct progress_bar p;

    screen_init(&x, 80);
    progress_begin(&p, &x.s, &things);
    for (unsigned ms = 0; ms < 5000; ms++) {
        pass(&x, 1);
        progress_set(&p, ms, 5000);
    }
    assert_in_range(x.draws, 40, 50);
}

TEST(short_work_leaves_nothing_on_a_terminal)
{
    _cleanup_(screen_done) struct screen x;
    struct progress_bar p;

    screen_init(&x, 80);
    progress_begin(&p, &x.s, &things);
    pass(&x, 1000);
    progress_set(&p, 1, 2);
    buf_clear(&x.said);
    progress_end(&p, true);
    ASSERT_SAID(&x, "~\n");
}

TEST(a_wait_tells_the_time)
{
    _cleanup_(screen_done) struct screen x;
    struct progress_work wait = { .label = "waiting", .kind = PROGRESS_WAIT, .timeout_ns = 30 * NS_PER_S };
    struct progress_bar p;

    screen_init(&x, 60);
    progress_begin(&p, &x.s, &wait);
    progress_set(&p, 1, 4);
    pass(&x, 12000);
    progress_tick(&p);
    ASSERT_SAID(&x, "~waiting  [======>                  ]   25%  1/4  12s of 30s\n");
    progress_end(&p, true);
    ASSERT_SAID(&x, "~\n"); /* what it waited for is told by others */

    wait.timeout_ns = PROGRESS_FOREVER;
    progress_begin(&p, &x.s, &wait);
    progress_set(&p, 0, 1);
    pass(&x, 135000);
    progress_tick(&p);
    ASSERT_SAID(&x, "~waiting  [>                             ]    0%  0/1  2m15s\n");
}

TEST(a_narrow_terminal_has_less)
{
    static const struct {
        unsigned columns;
        const char *line;
    } rows[] = {
        { 200,
          "~copying  [=========>                            ]   25%  1.0/4.0 GiB  1.0 GiB/s  3s left\n" },
        { 60, "~copying  [==>      ]   25%  1.0/4.0 GiB  1.0 GiB/s  3s left\n" },
        { 55, "~copying   25%  1.0/4.0 GiB  1.0 GiB/s  3s left\n" },
        { 46, "~copying   25%  1.0/4.0 GiB  1.0 GiB/s\n" },
        { 33, "~copying   25%  1.0/4.0 GiB\n" },
        { 20, "~copying   25%\n" },
        { 10, "~copying  \n" },
        { 4, "~cop\n" },
        { 1, "~\n" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(screen_done) struct screen x;
        struct progress_bar p;

        screen_init(&x, rows[i].columns);
        progress_begin(&p, &x.s, &bytes);
        pass(&x, 1000);
        progress_set(&p, GIB, 4 * GIB);
        ASSERT_SAID(&x, rows[i].line);
    }
}

TEST(the_bar_does_not_dance)
{
    _cleanup_(screen_done) struct screen x;
    struct progress_bar p;

    screen_init(&x, 60);
    progress_begin(&p, &x.s, &things);
    pass(&x, 1000);
    progress_set(&p, 1000, 100000);
    ASSERT_SAID(&x, "~making  [>           ]    1%  1000/100000  1000/s  99s left\n");
    pass(&x, 1000);
    progress_set(&p, 99999, 100000);
    ASSERT_SAID(&x, "~making  [==========>]   99%  99999/100000  50000/s  0s left\n");
    pass(&x, 1000);
    progress_set(&p, 5, 10); /* there would be room again */
    ASSERT_SAID(&x, "~making  [=====>     ]   50%  5/10  1.7/s  3s left\n");
}

TEST(colours_only_where_wanted)
{
    _cleanup_(screen_done) struct screen x;
    struct progress_bar p;

    screen_init(&x, 45);
    x.s.has_colors = true;
    progress_begin(&p, &x.s, &things);
    pass(&x, 1000);
    progress_set(&p, 1, 2);
    ASSERT_SAID(&x, "~making  [\033[32m===>\033[0m   ]   50%  1/2  1.0/s  1s left\n");
}

TEST(few_things_are_no_progress)
{
    _cleanup_(screen_done) struct screen x;
    struct progress_work many = things;
    struct progress_bar p;

    many.total_min = 50;
    screen_init(&x, 80);
    progress_begin(&p, &x.s, &many);
    pass(&x, 5000);
    progress_set(&p, 10, 49);
    ASSERT_SAID(&x, "");
    progress_end(&p, true);
    ASSERT_SAID(&x, "~\n"); /* nothing was shown, so nothing is summed up */
    progress_begin(&p, &x.s, &many);
    pass(&x, 5000);
    progress_set(&p, 10, 50);
    ASSERT_INT(1, x.draws);
}

TEST_MAIN()
