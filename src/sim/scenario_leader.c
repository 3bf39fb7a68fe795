/* Leadership: three processes want one lease. At no moment do two believe that they hold it, and when all is
 * well somebody does. */
#include "sim/sim_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machinery/leader.h"

#define CANDIDATES 3

struct candidate {
    struct sim_process *process;
    struct leader *leader;
    char identity[64];
};

struct scenario {
    struct sim *sim;
    struct sim_process *candidates[CANDIDATES];
};

static void on_started(void *ctx)
{
    struct candidate *c = ctx;

    sim_trace(c->process->sim, "%s leads", c->identity);
}

static void on_stopped(void *ctx, bool is_lost)
{
    struct candidate *c = ctx;

    sim_trace(c->process->sim, "%s leads no more%s", c->identity, is_lost ? ": lost" : "");
    c->process->has_exited = true;
}

static void *candidate_start(struct sim_process *p, void *ctx)
{
    struct candidate *c = sim_alloc(sizeof *c);
    struct leader_options o = { .loop = p->loop,
                                .clock = &p->clock.clock,
                                .client = p->client,
                                .seed = p->seed,
                                .ns = "kube-system",
                                .name = "berth-controllers",
                                .identity = c->identity,
                                .on_started = on_started,
                                .on_stopped = on_stopped,
                                .ctx = c };
    struct error err;

    (void)ctx;
    c->process = p;
    (void)snprintf(c->identity, sizeof c->identity, "%s_%u", p->program->name, p->starts);
    if (leader_new(&o, &c->leader, &err) < 0)
        abort();
    leader_start(c->leader);
    return c;
}

static void candidate_kill(void *state)
{
    struct candidate *c = state;

    c->leader = leader_free(c->leader);
    free(c);
}

static const struct sim_program programs[CANDIDATES] = {
    { "ann", candidate_start, candidate_kill },
    { "bob", candidate_start, candidate_kill },
    { "eve", candidate_start, candidate_kill },
};

static void *begin(struct sim *s)
{
    struct scenario *x = sim_alloc(sizeof *x);

    x->sim = s;
    for (unsigned i = 0; i < CANDIDATES; i++)
        x->candidates[i] = sim_spawn(s, &programs[i], NULL);
    return x;
}

/* Now and then one of them ends in good order. */
static void work(void *ctx)
{
    struct scenario *x = ctx;
    struct sim_process *p = x->candidates[rng_below(&x->sim->work, CANDIDATES)];
    const struct candidate *c = p->state;

    if (rng_below(&x->sim->work, 10) != 0 || !sim_process_is_live(p) ||
        leader_state(c->leader) != LEADER_LEADING)
        return;
    sim_trace(x->sim, "%s is asked to stop", c->identity);
    leader_stop(c->leader);
    p->has_work = true;
}

static unsigned count_leaders(const struct scenario *x, const char *ret[static CANDIDATES])
{
    unsigned count = 0;

    for (unsigned i = 0; i < CANDIDATES; i++) {
        const struct candidate *c = x->candidates[i]->state;

        /* One that stands still does not act, whatever it would believe. */
        if (sim_process_is_live(x->candidates[i]) && leader_is_valid(c->leader))
            ret[count++] = c->identity;
    }
    return count;
}

static void check(void *ctx)
{
    struct scenario *x = ctx;
    const char *who[CANDIDATES];

    if (count_leaders(x, who) > 1)
        sim_fail(x->sim, "two lead at once: %s and %s", who[0], who[1]);
}

static int settled(void *ctx, struct error *err)
{
    const char *who[CANDIDATES];

    if (count_leaders(ctx, who) != 1)
        return error_set(err, ERR_INTERNAL, "nobody leads");
    return 0;
}

const struct sim_scenario sim_scenario_leader = {
    .name = "leader",
    .traces_leases = true,
    .summary = "of three processes one leads",
    .begin = begin,
    .work = work,
    .check = check,
    .settled = settled,
    .end = free,
};
