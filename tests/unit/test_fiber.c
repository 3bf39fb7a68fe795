/* Functions that stop in the middle and go on. */
#include "io/fiber.h"

#include <errno.h>
#include <string.h>

#include "test.h"

#define FIBERS 40
#define TURNS 5

struct counter {
    struct fiber *fiber;
    unsigned stops; /* before it ends */
    unsigned turns; /* so far */
    struct counter *inner;
    bool has_kept; /* what it had on its stack, and errno */
};

static void count(void *ctx)
{
    struct counter *c = ctx;
    char text[8192];

    memset(text, (int)c->stops, sizeof text);
    errno = (int)c->stops;
    c->has_kept = true;
    for (; c->turns < c->stops; c->turns++) {
        fiber_stop(c->fiber);
        c->has_kept = c->has_kept && text[0] == (char)c->stops && text[sizeof text - 1] == (char)c->stops &&
                      errno == (int)c->stops;
    }
}

static struct fiber *begin(struct counter *c)
{
    c->fiber = fiber_new(count, c);
    assert_true(c->fiber);
    return c->fiber;
}

TEST(runs_to_its_end)
{
    struct counter c = { .stops = 0 };
    _cleanup_(fiber_free_p) struct fiber *f = begin(&c);

    assert_true(!c.has_kept);
    assert_true(!fiber_run(f));
    assert_true(c.has_kept);
}

TEST(goes_on_where_it_stopped)
{
    struct counter c = { .stops = 2 };
    _cleanup_(fiber_free_p) struct fiber *f = begin(&c);

    errno = ENOENT;
    assert_true(fiber_run(f));
    ASSERT_INT(0, c.turns);
    assert_true(fiber_run(f));
    ASSERT_INT(1, c.turns);
    assert_true(!fiber_run(f));
    ASSERT_INT(2, c.turns);
    assert_true(c.has_kept);
    ASSERT_INT(ENOENT, errno);
}

TEST(may_end_before_it_began)
{
    struct counter c = { .stops = 2 };

    c.fiber = begin(&c);
    assert_true(!fiber_free(c.fiber));
    assert_true(!fiber_free(NULL));
}

/* More than stacks are kept for, twice: some of them on stacks that others had. */
TEST(many_take_turns)
{
    for (unsigned round = 0; round < 2; round++) {
        struct counter counters[FIBERS] = { 0 };

        for (unsigned i = 0; i < FIBERS; i++) {
            counters[i].stops = TURNS + i % 2;
            (void)begin(&counters[i]);
        }
        for (unsigned turn = 0; turn <= TURNS + 1; turn++)
            for (unsigned i = 0; i < FIBERS; i++)
                if (counters[i].turns < counters[i].stops || turn == 0)
                    ASSERT_INT(turn < counters[i].stops, fiber_run(counters[i].fiber));
        for (unsigned i = 0; i < FIBERS; i++) {
            assert_true(counters[i].has_kept);
            ASSERT_INT(counters[i].stops, counters[i].turns);
            assert_true(!fiber_free(counters[i].fiber));
        }
    }
}

static void run_inner(void *ctx)
{
    struct counter *c = ctx;

    while (fiber_run(c->inner->fiber))
        fiber_stop(c->fiber);
    c->turns++;
}

TEST(one_runs_another)
{
    struct counter inner = { .stops = 3 }, outer = { .inner = &inner };
    _cleanup_(fiber_free_p) struct fiber *a = begin(&inner);
    _cleanup_(fiber_free_p) struct fiber *b = outer.fiber = fiber_new(run_inner, &outer);

    (void)a;
    assert_true(b);
    for (unsigned i = 0; i < inner.stops; i++)
        assert_true(fiber_run(b));
    assert_true(!fiber_run(b));
    assert_true(inner.has_kept);
    ASSERT_INT(1, outer.turns);
}

TEST_MAIN()
