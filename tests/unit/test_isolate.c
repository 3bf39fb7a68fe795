/* Code in a child process: how it ends, what it says, what it leaves in shared memory. */
#include "io/isolate.h"

#include <signal.h>
#include <unistd.h>

#include "test.h"

struct shared {
    int number;
    unsigned ticks;
};

static struct isolate_end isolate(int (*run)(void *ctx), void *ctx, unsigned seconds_max)
{
    struct isolated what = { .run = run, .ctx = ctx, .seconds_max = seconds_max };
    struct isolate_end end;
    struct error err;

    ASSERT_OK(isolate_run(&what, &end, &err));
    return end;
}

static int set_number(void *ctx)
{
    struct shared *s = ctx;

    s->number = 42;
    return 7;
}

TEST(isolate_has_a_status_and_shares_memory)
{
    struct shared own = { 0 }, *s = isolate_alloc(sizeof *s);
    struct isolate_end end;

    assert_non_null(s);
    assert_int_equal(0, s->number);
    end = isolate(set_number, s, 0);
    assert_int_equal(7, end.status);
    assert_int_equal(0, end.signal);
    ASSERT_STR("", end.output);
    assert_int_equal(42, s->number);
    (void)isolate(set_number, &own, 0);
    assert_int_equal(0, own.number); /* the child's copy */
    isolate_free(s, sizeof *s);
}

static int speak_and_die(void *ctx)
{
    (void)ctx;
    (void)signal(SIGABRT, SIG_DFL); /* cmocka's handler would end the test */
    (void)fprintf(stderr, "first\nlast words\n");
    abort();
}

TEST(isolate_hears_why_it_died)
{
    struct isolate_end end = isolate(speak_and_die, NULL, 0);

    assert_int_equal(-1, end.status);
    assert_int_equal(SIGABRT, end.signal);
    ASSERT_STR("first\nlast words\n", end.output);
}

static int speak_much(void *ctx)
{
    (void)ctx;
    for (unsigned i = 0; i < 20000; i++)
        (void)fprintf(stderr, "line %u\n", i);
    return 0;
}

TEST(isolate_keeps_the_end_of_much)
{
    struct isolate_end end = isolate(speak_much, NULL, 0);
    size_t len = strlen(end.output);

    assert_int_equal(0, end.status);
    assert_int_equal(ISOLATE_OUTPUT_BYTES - 1, len);
    ASSERT_STR("line 19999\n", end.output + len - strlen("line 19999\n"));
}

static int wait_for_ever(void *ctx)
{
    (void)ctx;
    while (pause())
        ;
    return 0;
}

TEST(isolate_kills_what_takes_too_long)
{
    struct isolate_end end = isolate(wait_for_ever, NULL, 1);

    assert_int_equal(SIGKILL, end.signal);
}

static int wait_for_ticks(void *ctx)
{
    const volatile struct shared *s = ctx;

    while (s->ticks < 2)
        ;
    return 0;
}

static void count_tick(void *ctx)
{
    volatile struct shared *s = ctx;

    s->ticks++;
}

TEST(isolate_ticks_while_it_waits)
{
    struct shared *s = isolate_alloc(sizeof *s);
    struct isolated what = { .run = wait_for_ticks, .on_tick = count_tick, .ctx = s };
    struct isolate_end end;
    struct error err;

    assert_non_null(s);
    ASSERT_OK(isolate_run(&what, &end, &err));
    assert_int_equal(0, end.status);
    assert_true(s->ticks >= 2);
    isolate_free(s, sizeof *s);
}

TEST_MAIN()
