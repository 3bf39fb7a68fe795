#include "sim/shrink.h"

#include <assert.h>
#include <string.h>

#include "base/rng.h"
#include "sim/ddmin.h"

/* What a fault and an act are worth in lines of the trace: a reader has to understand each of them. */
#define FAULT_LINES 20
#define ACTION_LINES 5
/* Of two runs that are the same, that is better which takes less to ask for: fewer steps, fewer kinds of
 * faults. */
#define STEPS_PER_LINE 50
/* One of so many runs is of another seed. */
#define SEARCH_SHARE 2
/* A run that takes longer than this has not failed in the same way. */
#define RUN_SECONDS_MAX 60

struct shrinking {
    struct sim_box *box;
    const struct shrink_limits *limits;
    uint64_t deadline_ns;
    struct shrunk *best;
    bool has_improved; /* in this round */
    struct error *err;
    int r;
};

static uint64_t score_of(const struct sim_options *o, const struct sim_report *r)
{
    return r->lines + (uint64_t)FAULT_LINES * r->faults_made +
           (uint64_t)ACTION_LINES * r->counts.actions_done + o->steps / STEPS_PER_LINE +
           (unsigned)__builtin_popcount(o->faults);
}

static bool is_exhausted(const struct shrinking *x)
{
    return x->r < 0 || x->best->runs >= x->limits->runs_max ||
           clock_mono_ns(x->limits->clock) >= x->deadline_ns;
}

/* True when this run fails in the same way and is smaller than the best, which it is from here on. */
static bool try_run(struct shrinking *x, struct sim_options o)
{
    struct shrunk *best = x->best;
    uint64_t score = score_of(&best->options, &best->report);

    if (is_exhausted(x))
        return false;
    best->runs++;
    o.lines_max = score;
    o.skips_recovery = !best->report.is_healed;
    x->r = sim_box_run_apart(x->box, &o, RUN_SECONDS_MAX, x->err);
    if (x->r < 0)
        return false;
    free(x->box->report.trace);
    x->box->report.trace = NULL;
    if (!x->box->report.has_failed || strcmp(x->box->report.rule, best->report.rule) != 0 ||
        score_of(&o, &x->box->report) >= score)
        return false;
    o.lines_max = 0;
    o.skips_recovery = false;
    best->options = o;
    best->report = x->box->report;
    x->has_improved = true;
    return true;
}

/* --- Other seeds --- */

/* About one of 2^rarity kinds. */
static unsigned draw_kinds(struct rng *r, unsigned kinds, unsigned rarity)
{
    for (unsigned i = 0; i < FAULT_COUNT; i++)
        if (rng_below(r, UINT64_C(1) << rarity) != 0)
            kinds &= ~(1U << i);
    return kinds;
}

/* The runs of other seeds, with fewer steps and kinds of faults: most failures take a coincidence, which is
 * lost when something of the run is left out, and some other run has it without half of that. */
static void search_seeds(struct shrinking *x)
{
    const struct sim_options found = x->best->options;
    unsigned runs_max = x->limits->runs_max / SEARCH_SHARE;
    struct rng r;

    rng_init(&r, found.seed);
    while (x->best->runs < runs_max && !is_exhausted(x)) {
        struct sim_options o = found;

        o.seed += x->best->runs + 1;
        o.steps = x->best->options.steps >> rng_below(&r, 2);
        o.faults = draw_kinds(&r, found.faults, (unsigned)rng_below(&r, 4));
        if (o.steps > 0)
            (void)try_run(x, o);
    }
}

/* --- Steps --- */

/* Half of them, or three quarters, and so on, as long as that helps. */
static void shrink_steps(struct shrinking *x)
{
    uint32_t less = x->best->options.steps / 2;

    while (less > 0 && !is_exhausted(x)) {
        struct sim_options o = x->best->options;

        o.steps -= less;
        less = try_run(x, o) ? x->best->options.steps / 2 : less / 2;
    }
}

/* --- Kinds of faults --- */

static bool is_enough_of_kinds(void *ctx, const uint32_t *kinds, size_t count)
{
    struct shrinking *x = ctx;
    struct sim_options o = x->best->options;

    o.faults = 0;
    for (size_t i = 0; i < count; i++)
        o.faults |= 1U << kinds[i];
    return try_run(x, o);
}

static void shrink_kinds(struct shrinking *x)
{
    uint32_t kinds[FAULT_COUNT];
    size_t count = 0;

    for (uint32_t i = 0; i < FAULT_COUNT; i++)
        if (x->best->options.faults & (1U << i))
            kinds[count++] = i;
    (void)ddmin(kinds, count, is_enough_of_kinds, x);
}

/* --- Faults and acts --- */

/* A try with these faults (acts) and no others; `without` is the set that the best run has. */
static bool try_numbers(struct shrinking *x, struct numbers *without, const uint32_t *items, size_t count)
{
    struct numbers tried = { 0 }, before;
    bool is_better;

    if (numbers_set_others(&tried, items, count) < 0) {
        x->r = error_no_memory(x->err);
        return false;
    }
    before = *without; /* the options point at *without: it is what is tried now */
    *without = tried;
    is_better = try_run(x, x->best->options);
    if (!is_better)
        *without = before;
    numbers_done(is_better ? &before : &tried);
    return is_better;
}

static bool is_enough_of_faults(void *ctx, const uint32_t *items, size_t count)
{
    struct shrinking *x = ctx;

    return try_numbers(x, &x->best->without_faults, items, count);
}

static bool is_enough_of_actions(void *ctx, const uint32_t *items, size_t count)
{
    struct shrinking *x = ctx;

    return try_numbers(x, &x->best->without_actions, items, count);
}

/* Of the numbers that the best run has, up to `last`, those that it needs. */
static void shrink_numbers(struct shrinking *x, const struct numbers *without, uint32_t last, ddmin_fn *fn)
{
    uint32_t *items = malloc(((size_t)last + 1) * sizeof *items);
    size_t count = 0;

    if (!items) {
        x->r = error_no_memory(x->err);
        return;
    }
    for (uint32_t n = 1; n <= last; n++)
        if (!numbers_has(without, n))
            items[count++] = n;
    (void)ddmin(items, count, fn, x);
    free(items);
}

/* --- All of it --- */

void shrunk_done(struct shrunk *s)
{
    numbers_done(&s->without_faults);
    numbers_done(&s->without_actions);
    free(s->report.trace);
    s->report.trace = NULL;
}

static void begin(struct shrunk *ret, const struct sim_options *o, const struct sim_report *failed)
{
    *ret = (struct shrunk){ .options = *o, .report = *failed };
    ret->report.trace = NULL;
    ret->options.without_faults = &ret->without_faults;
    ret->options.without_actions = &ret->without_actions;
    ret->options.tail = NULL;
}

int shrink(struct sim_box *b, const struct sim_options *o, const struct sim_report *failed,
           const struct shrink_limits *limits, struct shrunk *ret, struct error *err)
{
    struct shrinking x = { .box = b, .limits = limits, .best = ret, .err = err };

    assert(failed->has_failed && !o->without_faults && !o->without_actions);
    begin(ret, o, failed);
    x.deadline_ns = clock_mono_ns(limits->clock) + limits->seconds_max * (uint64_t)NS_PER_S;
    search_seeds(&x);
    do {
        x.has_improved = false;
        shrink_steps(&x);
        shrink_kinds(&x);
        shrink_numbers(&x, &ret->without_faults, ret->report.counts.faults_numbered, is_enough_of_faults);
        shrink_numbers(&x, &ret->without_actions, ret->report.counts.actions_numbered, is_enough_of_actions);
    } while (x.has_improved && !is_exhausted(&x));
    if (x.r == 0) /* once more, for its trace */
        x.r = sim_box_run_apart(b, &ret->options, /* seconds_max= */ 0, err);
    if (x.r < 0)
        return x.r;
    if (!b->report.has_failed)
        return error_set(err, ERR_INTERNAL, "the same run fails no more");
    ret->report = b->report;
    return 0;
}
