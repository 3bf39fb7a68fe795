/* The simulator itself: what it is asked for, that a seed is a run, and that what goes wrong is told. What it
 * finds is in tests/sim/mutants. */
#include "sim/sim.h"

#include <inttypes.h>
#include <stdio.h>

#include "sim/objects.h"
#include "sim/sim_world.h"
#include "test.h"

#define STEPS 300

static struct sim_report simulate(const struct sim_scenario *c, uint64_t seed, unsigned faults)
{
    struct sim_options o = { .scenario = c, .seed = seed, .steps = STEPS, .faults = faults };
    struct sim_report r;

    sim_run(&o, &r);
    return r;
}

static void assert_passed(const struct sim_report *r, const char *what)
{
    if (r->has_failed)
        fail_msg("%s: %s\n%s", what, r->message, r->trace);
    assert_null(r->trace);
}

/* --- Fault lists --- */

TEST(faults_lists)
{
    static const struct {
        const char *list;
        unsigned faults;
    } rows[] = {
        { "all", FAULTS_ALL },
        { "none", 0 },
        { "delay", 1U << FAULT_DELAY },
        { "delay,crash", 1U << FAULT_DELAY | 1U << FAULT_CRASH },
        { "crash,delay,crash", 1U << FAULT_DELAY | 1U << FAULT_CRASH },
        { " delay , crash ", 1U << FAULT_DELAY | 1U << FAULT_CRASH },
        { "none,host", 1U << FAULT_HOST },
        { "all,-crash", FAULTS_ALL & ~(1U << FAULT_CRASH) },
        { "all,-crash,-lag", FAULTS_ALL & ~(1U << FAULT_CRASH | 1U << FAULT_LAG) },
        { "all,-crash,crash", FAULTS_ALL },
        { "-crash", 0 },
        { "crash,-all", 0 },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        unsigned faults = 12345;
        struct error err;

        ASSERT_OK(faults_parse(str_of(rows[i].list), &faults, &err));
        if (faults != rows[i].faults)
            fail_msg("%s: %#x instead of %#x", rows[i].list, faults, rows[i].faults);
    }
}

TEST(faults_have_a_name_each)
{
    for (unsigned i = 0; i < FAULT_COUNT; i++) {
        unsigned faults;
        struct error err;

        ASSERT_OK(faults_parse(str_of(fault_names[i]), &faults, &err));
        assert_int_equal(1U << i, faults);
    }
}

TEST(faults_refusals)
{
    static const struct {
        const char *list;
        const char *message;
    } rows[] = {
        { "", "unknown fault ''" },
        { "x", "unknown fault 'x'" },
        { "delay,x,crash", "unknown fault 'x'" },
        { "delay,,crash", "unknown fault ''" },
        { "delay,", "unknown fault ''" },
        { "-", "unknown fault '-'" },
        { "all,--crash", "unknown fault '-crash'" },
        { "all,-none", "unknown fault 'none'" },
        { "Crash", "unknown fault 'Crash'" },
        { "crash delay", "unknown fault 'crash delay'" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        unsigned faults = 12345;
        struct error err = { 0 };

        ASSERT_ERR(ERR_INVALID, faults_parse(str_of(rows[i].list), &faults, &err));
        ASSERT_STR(rows[i].message, err.msg);
        assert_int_equal(12345, faults);
    }
}

/* --- A seed is a run --- */

TEST(sim_the_same_seed_is_the_same_run)
{
    for (size_t i = 0; sim_scenarios[i]; i++) {
        struct sim_report a = simulate(sim_scenarios[i], 3, FAULTS_ALL);
        struct sim_report b = simulate(sim_scenarios[i], 3, FAULTS_ALL);
        struct sim_report c = simulate(sim_scenarios[i], 4, FAULTS_ALL);

        assert_passed(&a, sim_scenarios[i]->name);
        assert_passed(&b, sim_scenarios[i]->name);
        assert_passed(&c, sim_scenarios[i]->name);
        assert_true(a.digest == b.digest);
        assert_true(a.step == b.step && a.at_ns == b.at_ns && a.faults_made == b.faults_made);
        assert_true(a.digest != c.digest);
        assert_true(a.step > STEPS && a.at_ns > 100 * NS_PER_S);
        assert_true(c.step > STEPS && c.at_ns > 700 * NS_PER_S); /* every fourth seed stays longer */
    }
}

TEST(sim_without_faults_nothing_goes_wrong)
{
    for (size_t i = 0; sim_scenarios[i]; i++) {
        struct sim_report r = simulate(sim_scenarios[i], 1, /* faults= */ 0);

        assert_passed(&r, sim_scenarios[i]->name);
        assert_int_equal(0, r.faults_made);
    }
}

TEST(sim_makes_each_fault)
{
    for (unsigned i = 0; i < FAULT_COUNT; i++) {
        unsigned made = 0;

        for (uint64_t seed = 1; seed < 30 && made == 0; seed++) {
            struct sim_report r =
                simulate(i == FAULT_REBOOT ? &sim_scenario_node : &sim_scenario_seats, seed, 1U << i);

            assert_passed(&r, fault_names[i]);
            made += r.faults_made;
        }
        if (made == 0)
            fail_msg("%s never happens", fault_names[i]);
    }
}

/* --- Scenarios of our own --- */

struct own {
    struct sim *sim;
    unsigned checks;
    unsigned works;
    unsigned starts;
    unsigned kills;
    struct sim_process *process;
};

static struct own own;

static void *own_begin(struct sim *s)
{
    own = (struct own){ .sim = s };
    return &own;
}

static void own_work(void *ctx)
{
    struct own *x = ctx;

    x->works++;
    objects_create_map(x->sim, "a", "l", "v");
}

static int own_settled(void *ctx, struct error *err)
{
    (void)ctx;
    (void)err;
    return 0;
}

static void own_end(void *ctx)
{
    (void)ctx;
}

#define OWN_SCENARIO .name = "own", .begin = own_begin, .work = own_work, .end = own_end

static void fail_at_37(void *ctx)
{
    struct own *x = ctx;

    if (++x->checks < 37)
        return;
    sim_fail(x->sim, "seen %u times", x->checks);
    sim_fail(x->sim, "and something that follows from it");
}

TEST(sim_reports_what_must_never_be)
{
    static const struct sim_scenario scenario = { OWN_SCENARIO, .check = fail_at_37, .settled = own_settled };
    struct sim_report r = simulate(&scenario, 1, FAULTS_ALL);

    assert_true(r.has_failed);
    ASSERT_STR("seen 37 times", r.message);
    assert_int_equal(37, r.step);
    assert_int_equal(37, own.checks); /* and not once more */
    assert_true(own.works > 0);
    assert_non_null(strstr(r.trace, " server starts\n"));
    assert_non_null(strstr(r.trace, " workload: create configmaps a "));
    assert_non_null(strstr(r.trace, "\n37 "));
    assert_non_null(strstr(r.trace, " WRONG: seen 37 times\n"));
    assert_non_null(strstr(r.trace, " WRONG: and something that follows from it\n"));
    free(r.trace);
}

static void make_noise(void *ctx)
{
    struct own *x = ctx;

    for (unsigned i = 0; i < 100; i++)
        sim_trace(x->sim, "noise %u", x->checks * 100 + i);
    if (++x->checks == 10)
        sim_fail(x->sim, "too loud");
}

TEST(sim_keeps_the_end_of_a_long_trace)
{
    static const struct sim_scenario scenario = { OWN_SCENARIO, .check = make_noise, .settled = own_settled };
    struct sim_report r = simulate(&scenario, 1, FAULTS_ALL);

    assert_true(r.has_failed);
    assert_null(strstr(r.trace, "noise 600\n"));
    assert_non_null(strstr(r.trace, "noise 700\n"));
    assert_non_null(strstr(r.trace, "noise 999\n"));
    assert_non_null(strstr(r.trace, "WRONG: too loud\n"));
    free(r.trace);
}

static int never_settled(void *ctx, struct error *err)
{
    (void)ctx;
    return error_set(err, ERR_INTERNAL, "a thing is missing");
}

TEST(sim_reports_what_never_comes_about)
{
    static const struct sim_scenario scenario = { OWN_SCENARIO, .settled = never_settled };
    struct sim_report r = simulate(&scenario, 1, FAULTS_ALL);

    assert_true(r.has_failed);
    ASSERT_STR("not settled 1800 s after the healing: a thing is missing", r.message);
    assert_true(r.at_ns >= 1800 * NS_PER_S);
    assert_non_null(strstr(r.trace, " healed\n"));
    free(r.trace);
}

/* Once when it is looked for, and once when it is judged: after that it is asked three times. */
static int settled_at_first(void *ctx, struct error *err)
{
    struct own *x = ctx;

    return ++x->checks <= 2 ? 0 : error_set(err, ERR_INTERNAL, "asked %u times", x->checks);
}

TEST(sim_reports_what_does_not_last)
{
    static const struct sim_scenario scenario = { OWN_SCENARIO, .settled = settled_at_first };
    struct sim_report r = simulate(&scenario, 1, FAULTS_ALL);

    assert_true(r.has_failed);
    ASSERT_STR("was settled and is not any more: asked 5 times", r.message);
    assert_non_null(strstr(r.trace, " settled\n"));
    free(r.trace);
}

static void count_check(void *ctx)
{
    struct own *x = ctx;

    if (!x->sim->is_healed)
        x->checks++;
}

TEST(sim_multiplies_the_fault_phase_by_the_factor_of_the_scenario)
{
    static const struct sim_scenario one = { OWN_SCENARIO, .check = count_check, .settled = own_settled };
    static const struct sim_scenario three = { OWN_SCENARIO, .check = count_check, .settled = own_settled,
                                               .steps_factor = 3 };
    unsigned of_one;

    assert_false(simulate(&one, 1, FAULTS_ALL).has_failed);
    of_one = own.checks;
    assert_false(simulate(&three, 1, FAULTS_ALL).has_failed);
    assert_int_equal(3 * of_one, own.checks);
}

/* --- Processes --- */

static struct deferred spinning;

static void spin(void *ctx)
{
    (void)ctx;
    loop_defer(&spinning);
}

static void *spinner_start(struct sim_process *p, void *ctx)
{
    deferred_init(&spinning, p->loop, spin, NULL);
    loop_defer(&spinning);
    return ctx;
}

static void spinner_kill(void *state)
{
    (void)state;
    loop_undefer(&spinning);
}

static void *begin_with_spinner(struct sim *s)
{
    static const struct sim_program spinner = { "spinner", spinner_start, spinner_kill };

    (void)own_begin(s);
    (void)sim_spawn(s, &spinner, &own);
    return &own;
}

TEST(sim_reports_who_runs_on_the_spot)
{
    static const struct sim_scenario scenario = {
        .name = "own", .begin = begin_with_spinner, .settled = own_settled, .end = own_end
    };
    struct sim_report r = simulate(&scenario, 1, 0);

    assert_true(r.has_failed);
    ASSERT_STR("busy loop: 2500 steps in one second", r.message);
    assert_true(r.step <= 2 * SIM_STEPS + 2500);
    free(r.trace);
}

static void *program_start(struct sim_process *p, void *ctx)
{
    struct own *x = ctx;

    (void)p;
    x->starts++;
    return x;
}

static void program_kill(void *state)
{
    struct own *x = state;

    x->kills++;
}

static const struct sim_program program = { "program", program_start, program_kill };

static void *begin_with_program(struct sim *s)
{
    (void)own_begin(s);
    own.process = sim_spawn(s, &program, &own);
    return &own;
}

static int program_runs(void *ctx, struct error *err)
{
    const struct own *x = ctx;

    return sim_process_is_live(x->process) ? 0 : error_set(err, ERR_INTERNAL, "it does not run");
}

TEST(sim_kills_and_starts_programs)
{
    static const struct sim_scenario scenario = {
        .name = "own", .begin = begin_with_program, .work = own_work, .settled = program_runs, .end = own_end
    };
    struct sim_report r = simulate(&scenario, 1, /* faults= */ 0);
    unsigned starts = 0;

    assert_passed(&r, "no faults");
    assert_int_equal(1, own.starts);
    assert_int_equal(1, own.kills);
    for (uint64_t seed = 1; seed < 20; seed++) {
        r = simulate(&scenario, seed, 1U << FAULT_CRASH | 1U << FAULT_PAUSE);
        assert_passed(&r, "crashes");
        assert_int_equal(own.starts, own.kills);
        starts += own.starts;
    }
    assert_true(starts > 20);
}

static void exit_once(void *ctx)
{
    struct own *x = ctx;

    if (++x->checks == 20)
        x->process->has_exited = true;
}

TEST(sim_starts_a_program_again_that_ended)
{
    static const struct sim_scenario scenario = { .name = "own",
                                                  .begin = begin_with_program,
                                                  .work = own_work,
                                                  .check = exit_once,
                                                  .settled = program_runs,
                                                  .end = own_end };
    struct sim_report r = simulate(&scenario, 1, /* faults= */ 0);

    assert_passed(&r, "an end in good order");
    assert_int_equal(2, own.starts);
    assert_int_equal(2, own.kills);
}

/* --- The server --- */

static int object_is_there(void *ctx, struct error *err)
{
    const struct own *x = ctx;

    if (!store_get(x->sim->server.store, KIND_CONFIG_MAP, OBJECTS_NS, "a"))
        return error_set(err, ERR_INTERNAL, "it is not there");
    return x->sim->server.starts > 0 ? 0 : error_set(err, ERR_INTERNAL, "nobody is there");
}

TEST(sim_keeps_what_was_stored_when_the_server_restarts)
{
    static const struct sim_scenario scenario = { .name = "own",
                                                  .begin = begin_with_program,
                                                  .work = own_work,
                                                  .settled = object_is_there,
                                                  .end = own_end };
    unsigned made = 0;

    for (uint64_t seed = 1; seed < 20; seed++) {
        struct sim_report r = simulate(&scenario, seed, 1U << FAULT_RESTART);

        assert_passed(&r, "restarts");
        made += r.faults_made;
    }
    assert_true(made > 0);
}

/* --- Lines of the trace --- */

static void __attribute__((format(printf, 2, 3))) assert_line(size_t room, const char *fmt, ...)
{
    char expected[64], line[64];
    va_list args, once_more;
    size_t len;

    memset(line, '#', sizeof line);
    va_start(args, fmt);
    va_copy(once_more, args);
    (void)vsnprintf(expected, room, fmt, args);
    len = trace_format(line, room, fmt, once_more);
    va_end(once_more);
    va_end(args);
    assert_string_equal(line, expected);
    assert_int_equal(len, strlen(expected));
    for (size_t i = room; i < sizeof line; i++)
        assert_int_equal(line[i], '#');
}

TEST(trace_format_writes_what_printf_writes)
{
    static const size_t rooms[] = { 1, 2, 3, 8, 64 };

    for (size_t i = 0; i < ARRAY_LEN(rooms); i++) {
        assert_line(rooms[i], "plain");
        assert_line(rooms[i], "%s%s %s", "", "a", "longer than some of it");
        assert_line(rooms[i], "%d %d %d", INT_MIN, -1, INT_MAX);
        assert_line(rooms[i], "%u:%u", 0U, UINT_MAX);
        assert_line(rooms[i], "%" PRIu64 " %" PRIu32, UINT64_MAX, UINT32_MAX);
        assert_line(rooms[i], "%s and %.*s", "one", 2, "others");
        assert_line(rooms[i], "%d is %5.1f %%", 7, 0.5);
        assert_line(rooms[i], "%zu %ld %s", (size_t)12, -3L, "end");
    }
}

TEST_MAIN()
