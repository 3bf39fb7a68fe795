/* From a failing run to a smaller one: sets of numbers, delta debugging, the identity of invariants, and all
 * of them together on scenarios whose smallest failing run is known. */
#include "sim/shrink.h"

#include "io/clock.h"
#include "sim/ddmin.h"
#include "sim/objects.h"
#include "sim/rule.h"
#include "sim/sim_world.h"
#include "test.h"

/* --- Numbers --- */

TEST(numbers_are_read_and_written)
{
    static const struct {
        const char *text;
        const char *written;
    } rows[] = {
        { "1", "1" },         { "3,17-25,40-", "3,17-25,40-" },
        { "1-", "1-" },       { "1,2,3-5,7", "1-5,7" },
        { " 1 , 3 ", "1,3" }, { "4-4", "4" },
        { "1-3,4-", "1-" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(numbers_done_p) struct numbers n = { 0 };
        _cleanup_(buf_done_p) struct buf text = BUF_INIT(1000);
        struct error err;

        ASSERT_OK(numbers_parse(str_of(rows[i].text), &n, &err));
        numbers_format(&n, &text);
        ASSERT_STR(rows[i].written, buf_cstr(&text));
    }
}

TEST(numbers_refuse_what_is_none)
{
    static const struct {
        const char *text;
        const char *message;
    } rows[] = {
        { "", "'' is neither a positive number nor a range" },
        { "0", "'0' is neither a positive number nor a range" },
        { "x", "'x' is neither a positive number nor a range" },
        { "1,,2", "'' is neither a positive number nor a range" },
        { "-5", "'-5' is neither a positive number nor a range" },
        { "5-3", "'5-3' is neither a positive number nor a range" },
        { "1-2-3", "'1-2-3' is neither a positive number nor a range" },
        { "4294967295", "'4294967295' is neither a positive number nor a range" },
        { "2,1", "1 is not in ascending order" },
        { "1-5,5", "5 is not in ascending order" },
        { "3-,7", "7 is not in ascending order" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(numbers_done_p) struct numbers n = { 0 };
        struct error err = { 0 };

        ASSERT_ERR(ERR_INVALID, numbers_parse(str_of(rows[i].text), &n, &err));
        ASSERT_STR(rows[i].message, err.msg);
    }
}

TEST(numbers_know_what_they_have)
{
    _cleanup_(numbers_done_p) struct numbers n = { 0 };
    struct error err;

    assert_false(numbers_has(&n, 1));
    ASSERT_OK(numbers_parse(STR_LIT("3,17-25,40-"), &n, &err));
    for (uint32_t i = 1; i < 60; i++)
        assert_int_equal(i == 3 || (i >= 17 && i <= 25) || i >= 40, numbers_has(&n, i));
}

TEST(numbers_of_all_others)
{
    static const struct {
        uint32_t items[4];
        size_t count;
        const char *written;
    } rows[] = {
        { { 0 }, 0, "1-" },
        { { 1 }, 1, "2-" },
        { { 5 }, 1, "1-4,6-" },
        { { 1, 2, 4 }, 3, "3,5-" },
        { { 2, 3, 9, 10 }, 4, "1,4-8,11-" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(numbers_done_p) struct numbers n = { 0 };
        _cleanup_(buf_done_p) struct buf text = BUF_INIT(1000);

        assert_int_equal(0, numbers_set_others(&n, rows[i].items, rows[i].count));
        numbers_format(&n, &text);
        ASSERT_STR(rows[i].written, buf_cstr(&text));
    }
}

/* --- Delta debugging --- */

#define ITEMS 100

struct needs {
    uint32_t items[8];
    size_t count;
    unsigned asked;
};

static bool has_all(void *ctx, const uint32_t *items, size_t count)
{
    struct needs *n = ctx;
    size_t found = 0;

    n->asked++;
    for (size_t i = 0; i < count; i++) {
        assert_true(i == 0 || items[i] > items[i - 1]);
        for (size_t k = 0; k < n->count; k++)
            found += items[i] == n->items[k];
    }
    return found == n->count;
}

TEST(ddmin_finds_what_is_needed)
{
    static const struct needs rows[] = {
        { .count = 0 },
        { .items = { 1 }, .count = 1 },
        { .items = { 100 }, .count = 1 },
        { .items = { 37 }, .count = 1 },
        { .items = { 1, 100 }, .count = 2 },
        { .items = { 49, 50, 51 }, .count = 3 },
        { .items = { 3, 14, 15, 26, 53, 58, 89, 97 }, .count = 8 },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct needs n = rows[i];
        uint32_t items[ITEMS];
        size_t count;

        for (uint32_t k = 0; k < ITEMS; k++)
            items[k] = k + 1;
        count = ddmin_minimize(items, ITEMS, has_all, &n);
        assert_int_equal(n.count, count);
        for (size_t k = 0; k < count; k++)
            assert_int_equal(n.items[k], items[k]);
        assert_true(n.asked <= 1 + 30 * n.count); /* far fewer than one by one */
    }
}

TEST(ddmin_of_few_items)
{
    for (size_t of = 0; of < 4; of++)
        for (size_t needed = 0; needed <= of; needed++) {
            struct needs n = { .items = { 1, 2, 3 }, .count = needed };
            uint32_t items[] = { 1, 2, 3 };

            assert_int_equal(needed, ddmin_minimize(items, of, has_all, &n));
        }
}

static bool never(void *ctx, const uint32_t *items, size_t count)
{
    (void)items;
    (void)count;
    ++*(unsigned *)ctx;
    return false;
}

TEST(ddmin_keeps_all_that_nothing_helps)
{
    uint32_t items[ITEMS] = { 7 };
    unsigned asked = 0;

    assert_int_equal(ITEMS, ddmin_minimize(items, ITEMS, never, &asked));
    assert_int_equal(7, items[0]);
    assert_true(asked > ITEMS && asked < 3 * ITEMS);
}

/* --- Which invariant --- */

TEST(rule_is_the_format_or_the_text_behind_it)
{
    static const struct {
        const char *fmt;
        const char *text;
        const char *rule;
    } rows[] = {
        { "seat %s is free", "seat s1 is free", "seat %s is free" },
        { "two lead at once: %s and %s", "two lead at once: ann and bob", "two lead at once: %s and %s" },
        { "%s", "pod p1 goes to n2", "pod # goes to #" },
        { "%s", "the scheduler is not idle", "the scheduler is not idle" },
        { "not settled %d s after the healing: %s",
          "not settled 1800 s after the healing: pod p7 does not run",
          "not settled %d s after the healing: pod # does not run" },
        { "informer of %s: %s/%s@%lld: %s", "informer of pods: default/a@3: updated, and was not there",
          "informer of %s: %s/%s@%lld: updated, and was not there" },
        { "x: %s", "x: node n1: the directory of pod 01ab-22 is left",
          "x: node #: the directory of pod # is left" },
        { "x: %s", "x: ", "x: " },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char rule[200];

        rule_of_failure(rows[i].fmt, rows[i].text, rule, sizeof rule);
        ASSERT_STR(rows[i].rule, rule);
    }
}

TEST(rule_fits)
{
    char rule[8];

    rule_of_failure("%s", "pod p1 goes to n2 and on", rule, sizeof rule);
    ASSERT_STR("pod # g", rule);
    rule_of_failure("longer than that: %s", "longer than that: x", rule, sizeof rule);
    ASSERT_STR("longer ", rule);
}

/* --- Runs --- */

/* Acts and faults happen and are counted; what fails depends on which. */
static struct own {
    struct sim *sim;
    unsigned acts;
    bool has_crashed;
} own;

static void *own_begin(struct sim *s)
{
    own = (struct own){ .sim = s };
    return &own;
}

static void own_work(void *ctx)
{
    struct own *x = ctx;

    x->acts++;
    x->has_crashed = x->has_crashed || sim_has_fault(x->sim, &x->sim->faults, FAULT_CRASH, 20);
    objects_create_map(x->sim, x->acts == 5 ? "five" : "other", "l", "v");
}

static void own_end(void *ctx)
{
    (void)ctx;
}

static int own_settled(void *ctx, struct error *err)
{
    (void)ctx;
    (void)err;
    return 0;
}

static bool five_is_there(const struct own *x)
{
    return store_get(x->sim->server.store, KIND_CONFIG_MAP, OBJECTS_NS, "five");
}

static void fail_with_five(void *ctx)
{
    const struct own *x = ctx;

    if (five_is_there(x))
        sim_fail(x->sim, "five is there at step %u", x->sim->step);
}

static void die_with_five(void *ctx)
{
    const struct own *x = ctx;

    if (five_is_there(x))
        assert(!"five is there");
}

static void fail_with_both(void *ctx)
{
    const struct own *x = ctx;

    if (five_is_there(x) && x->has_crashed)
        sim_fail(x->sim, "five is there after a crash");
    else if (five_is_there(x) && x->acts > 100)
        sim_fail(x->sim, "something else");
}

#define OWN_SCENARIO \
    .name = "own", .begin = own_begin, .work = own_work, .settled = own_settled, .end = own_end

static void shrink_seed(const struct sim_scenario *c, unsigned runs_max, struct shrunk *ret)
{
    struct sim_options o = { .scenario = c, .seed = 3, .steps = 1000, .faults = FAULTS_ALL };
    struct shrink_limits limits = { runs_max, 60, clock_system() };
    struct shared_run *b = isolate_alloc(sizeof *b);
    struct sim_report failed;
    struct error err;

    assert_non_null(b);
    ASSERT_OK(shared_run_isolated(b, &o, /* seconds_max= */ 0, &err));
    failed = b->report;
    assert_true(failed.has_failed);
    ASSERT_OK(shrink_run(b, &o, &failed, &limits, ret, &err));
    assert_true(ret->report.has_failed);
    ASSERT_STR(failed.rule, ret->report.rule);
    assert_true(ret->runs <= runs_max);
    free(failed.trace);
    isolate_free(b, sizeof *b);
}

TEST(shrink_leaves_what_it_takes)
{
    static const struct sim_scenario scenario = { OWN_SCENARIO, .check = fail_with_five };
    struct shrunk s;
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(1000);

    shrink_seed(&scenario, 300, &s);
    assert_int_equal(0, s.report.faults_made);
    assert_int_equal(1, s.report.counts.actions_done);
    numbers_format(&s.without_actions, &text);
    ASSERT_STR("1-4,6-", buf_cstr(&text));
    assert_int_equal(0, s.options.faults);
    assert_true(s.report.lines < 10);
    assert_non_null(strstr(s.report.trace, "workload: create configmaps five"));
    assert_null(strstr(s.report.trace, "workload: create configmaps other"));
    shrunk_done(&s);
}

TEST(shrink_keeps_the_fault_that_it_takes)
{
    static const struct sim_scenario scenario = { OWN_SCENARIO, .check = fail_with_both };
    struct shrunk s;

    shrink_seed(&scenario, 300, &s);
    assert_int_equal(1U << FAULT_CRASH, s.options.faults);
    assert_int_equal(1, s.report.faults_made);
    assert_int_equal(1, s.report.counts.made_of[FAULT_CRASH]);
    shrunk_done(&s);
}

TEST(shrink_repeats_the_run)
{
    static const struct sim_scenario scenario = { OWN_SCENARIO, .check = fail_with_both };
    struct shrunk s;
    struct sim_report again;

    shrink_seed(&scenario, 100, &s);
    sim_run(&s.options, &again);
    assert_true(again.has_failed && again.digest == s.report.digest);
    ASSERT_STR(s.report.message, again.message);
    ASSERT_STR(s.report.trace, again.trace);
    free(again.trace);
    shrunk_done(&s);
}

TEST(shrink_reports_and_shrinks_a_run_that_dies)
{
    static const struct sim_scenario scenario = { OWN_SCENARIO, .check = die_with_five };
    struct shrunk s;

    shrink_seed(&scenario, 300, &s);
    assert_non_null(strstr(s.report.message, "the program crashed: "));
    assert_non_null(strstr(s.report.message, "five is there"));
    assert_int_equal(0, s.report.faults_made);
    assert_int_equal(1, s.report.counts.actions_done);
    assert_non_null(strstr(s.report.trace, "workload: create configmaps five"));
    shrunk_done(&s);
}

TEST(shrink_without_runs_has_the_run_as_it_was)
{
    static const struct sim_scenario scenario = { OWN_SCENARIO, .check = fail_with_five };
    struct shrunk s;

    shrink_seed(&scenario, 0, &s);
    assert_int_equal(0, s.runs);
    assert_int_equal(FAULTS_ALL, s.options.faults);
    assert_int_equal(5, s.report.counts.actions_done);
    shrunk_done(&s);
}

TEST(shared_run_isolated_that_takes_too_long_has_not_failed)
{
    struct sim_options o = {
        .scenario = sim_scenarios[0], .seed = 1, .steps = 100000000, .faults = FAULTS_ALL
    };
    struct shared_run *b = isolate_alloc(sizeof *b);
    struct error err;

    assert_non_null(b);
    ASSERT_OK(shared_run_isolated(b, &o, /* seconds_max= */ 1, &err));
    assert_false(b->report.has_failed);
    assert_null(b->report.trace);
    isolate_free(b, sizeof *b);
}

TEST_MAIN()
