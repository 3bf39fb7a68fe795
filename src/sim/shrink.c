/* The search for a smaller failing run.
 *
 * The best run so far is replaced only by a run that fails with the same rule and has a lower score: lines of
 * the trace, plus a fixed number of lines per fault and action, plus a little for steps and kinds of faults.
 * A candidate run stops when its trace has as many lines as the best score, because it cannot be better then.
 *
 * Cost: one child process and one run per candidate, limited by shrink_limits. */
#include "sim/shrink.h"

#include <assert.h>
#include <string.h>

#include "base/rng.h"
#include "sim/ddmin.h"

/* What a fault and an action count in lines of the trace: a reader has to understand each of them. */
#define FAULT_LINES 20
#define ACTION_LINES 5
/* Of two equal runs the one with fewer steps and kinds of faults is better: its command is shorter. */
#define STEPS_PER_LINE 50
/* One of so many runs uses another seed. */
#define SEARCH_SHARE 2
/* A run that takes longer than this counts as not failed. */
#define RUN_SECONDS_MAX 60

struct shrink_search {
    struct shared_run *run;
    const struct shrink_limits *limits;
    uint64_t deadline_ns;
    struct shrunk *best;
    bool has_improved; /* in the current round */
    struct error *err;
    int r;
};

static uint64_t score_of(const struct sim_options *o, const struct sim_report *r)
{
    return r->lines + (uint64_t)FAULT_LINES * r->faults_made +
           (uint64_t)ACTION_LINES * r->counts.actions_done + o->steps / STEPS_PER_LINE +
           (unsigned)__builtin_popcount(o->faults);
}

static bool is_exhausted(const struct shrink_search *search)
{
    return search->r < 0 || search->best->runs >= search->limits->runs_max ||
           clock_mono_ns(search->limits->clock) >= search->deadline_ns;
}

/* True if this run fails with the same rule and has a lower score; then it becomes the best run. */
static bool try_run(struct shrink_search *search, struct sim_options o)
{
    struct shrunk *best = search->best;
    uint64_t score = score_of(&best->options, &best->report);

    if (is_exhausted(search))
        return false;
    best->runs++;
    o.lines_max = score;
    o.skips_recovery = !best->report.is_healed;
    search->r = shared_run_isolated(search->run, &o, RUN_SECONDS_MAX, search->err);
    if (search->r < 0)
        return false;
    free(search->run->report.trace);
    search->run->report.trace = NULL;
    if (!search->run->report.has_failed || strcmp(search->run->report.rule, best->report.rule) != 0 ||
        score_of(&o, &search->run->report) >= score)
        return false;
    o.lines_max = 0;
    o.skips_recovery = false;
    best->options = o;
    best->report = search->run->report;
    search->has_improved = true;
    return true;
}

/* --- Other seeds --- */

/* Keeps about one of 2^rarity kinds. */
static unsigned draw_kinds(struct rng *r, unsigned kinds, unsigned rarity)
{
    for (unsigned i = 0; i < FAULT_COUNT; i++)
        if (rng_below(r, UINT64_C(1) << rarity) != 0)
            kinds &= ~(1U << i);
    return kinds;
}

/* Tries other seeds, with fewer steps and kinds of faults. Most failures need a coincidence, which disappears
 * when parts of the run are omitted; another seed may show it with fewer events. */
static void try_other_seeds(struct shrink_search *search)
{
    const struct sim_options found = search->best->options;
    unsigned runs_max = search->limits->runs_max / SEARCH_SHARE;
    struct rng r;

    rng_init(&r, found.seed);
    while (search->best->runs < runs_max && !is_exhausted(search)) {
        struct sim_options o = found;

        o.seed += search->best->runs + 1;
        o.steps = search->best->options.steps >> rng_below(&r, 2);
        o.faults = draw_kinds(&r, found.faults, (unsigned)rng_below(&r, 4));
        if (o.steps > 0)
            (void)try_run(search, o);
    }
}

/* --- Steps --- */

/* Tries half of the steps, then three quarters, and so on, as long as runs become smaller. */
static void shrink_steps(struct shrink_search *search)
{
    uint32_t less = search->best->options.steps / 2;

    while (less > 0 && !is_exhausted(search)) {
        struct sim_options o = search->best->options;

        o.steps -= less;
        less = try_run(search, o) ? search->best->options.steps / 2 : less / 2;
    }
}

/* --- Kinds of faults --- */

static bool is_enough_of_kinds(void *ctx, const uint32_t *kinds, size_t count)
{
    struct shrink_search *search = ctx;
    struct sim_options o = search->best->options;

    o.faults = 0;
    for (size_t i = 0; i < count; i++)
        o.faults |= 1U << kinds[i];
    return try_run(search, o);
}

static void shrink_kinds(struct shrink_search *search)
{
    uint32_t kinds[FAULT_COUNT];
    size_t count = 0;

    for (uint32_t i = 0; i < FAULT_COUNT; i++)
        if (search->best->options.faults & (1U << i))
            kinds[count++] = i;
    (void)ddmin_minimize(kinds, count, is_enough_of_kinds, search);
}

/* --- Faults and actions --- */

/* Tries these faults (or actions) and no others; `without` is the set that the best run omits. */
static bool try_numbers(struct shrink_search *search, struct numbers *without, const uint32_t *items,
                        size_t count)
{
    struct numbers tried = { 0 }, before;
    bool is_better;

    if (numbers_set_others(&tried, items, count) < 0) {
        search->r = error_no_memory(search->err);
        return false;
    }
    before = *without; /* the options point to *without, which is what is tried now */
    *without = tried;
    is_better = try_run(search, search->best->options);
    if (!is_better)
        *without = before;
    numbers_done(is_better ? &before : &tried);
    return is_better;
}

static bool is_enough_of_faults(void *ctx, const uint32_t *items, size_t count)
{
    struct shrink_search *search = ctx;

    return try_numbers(search, &search->best->without_faults, items, count);
}

static bool is_enough_of_actions(void *ctx, const uint32_t *items, size_t count)
{
    struct shrink_search *search = ctx;

    return try_numbers(search, &search->best->without_actions, items, count);
}

/* Reduces the numbers up to `last` that the best run does not omit. */
static void shrink_numbers(struct shrink_search *search, const struct numbers *without, uint32_t last,
                           ddmin_fn *fn)
{
    uint32_t *items = malloc(((size_t)last + 1) * sizeof *items);
    size_t count = 0;

    if (!items) {
        search->r = error_no_memory(search->err);
        return;
    }
    for (uint32_t n = 1; n <= last; n++)
        if (!numbers_has(without, n))
            items[count++] = n;
    (void)ddmin_minimize(items, count, fn, search);
    free(items);
}

/* --- The whole search --- */

void shrunk_done(struct shrunk *s)
{
    numbers_done(&s->without_faults);
    numbers_done(&s->without_actions);
    free(s->report.trace);
    s->report.trace = NULL;
}

static void shrunk_init(struct shrunk *ret, const struct sim_options *o, const struct sim_report *failed)
{
    *ret = (struct shrunk){ .options = *o, .report = *failed };
    ret->report.trace = NULL;
    ret->options.without_faults = &ret->without_faults;
    ret->options.without_actions = &ret->without_actions;
    ret->options.tail = NULL;
}

int shrink_run(struct shared_run *run, const struct sim_options *o, const struct sim_report *failed,
               const struct shrink_limits *limits, struct shrunk *ret, struct error *err)
{
    struct shrink_search search = { .run = run, .limits = limits, .best = ret, .err = err };

    assert(failed->has_failed && !o->without_faults && !o->without_actions);
    shrunk_init(ret, o, failed);
    search.deadline_ns = clock_mono_ns(limits->clock) + limits->seconds_max * (uint64_t)NS_PER_S;
    try_other_seeds(&search);
    do {
        search.has_improved = false;
        shrink_steps(&search);
        shrink_kinds(&search);
        shrink_numbers(&search, &ret->without_faults, ret->report.counts.faults_numbered,
                       is_enough_of_faults);
        shrink_numbers(&search, &ret->without_actions, ret->report.counts.actions_numbered,
                       is_enough_of_actions);
    } while (search.has_improved && !is_exhausted(&search));
    if (search.r == 0) /* run again for the trace */
        search.r = shared_run_isolated(run, &ret->options, /* seconds_max= */ 0, err);
    if (search.r < 0)
        return search.r;
    if (!run->report.has_failed)
        return error_set(err, ERR_INTERNAL, "the same run does not fail again");
    ret->report = run->report;
    return 0;
}
