/* Scenario leader: three processes compete for one lease. At most one of them considers itself the leader,
 * and finally one leads. A suspended process does not count: it cannot act. */
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

struct leader_scenario {
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

    sim_trace(c->process->sim, "%s stops leading%s", c->identity, is_lost ? ": lost" : "");
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

static void *leader_scenario_begin(struct sim *s)
{
    struct leader_scenario *scenario = sim_alloc(sizeof *scenario);

    scenario->sim = s;
    for (unsigned i = 0; i < CANDIDATES; i++)
        scenario->candidates[i] = sim_spawn(s, &programs[i], NULL);
    return scenario;
}

/* Sometimes the leader stops cleanly. */
static void leader_scenario_work(void *ctx)
{
    struct leader_scenario *scenario = ctx;
    struct sim_process *p = scenario->candidates[rng_below(&scenario->sim->work, CANDIDATES)];
    const struct candidate *c = p->state;

    if (rng_below(&scenario->sim->work, 10) != 0 || !sim_process_is_live(p) ||
        leader_state(c->leader) != LEADER_LEADING)
        return;
    sim_trace(scenario->sim, "%s is asked to stop", c->identity);
    leader_stop(c->leader);
    p->has_work = true;
}

static unsigned count_leaders(const struct leader_scenario *scenario, const char *ret[static CANDIDATES])
{
    unsigned count = 0;

    for (unsigned i = 0; i < CANDIDATES; i++) {
        const struct candidate *c = scenario->candidates[i]->state;

        /* A suspended process cannot act, even if its lease looks valid to it. */
        if (sim_process_is_live(scenario->candidates[i]) && leader_is_valid(c->leader))
            ret[count++] = c->identity;
    }
    return count;
}

static void leader_scenario_check(void *ctx)
{
    struct leader_scenario *scenario = ctx;
    const char *who[CANDIDATES];

    if (count_leaders(scenario, who) > 1)
        sim_fail(scenario->sim, "two lead at once: %s and %s", who[0], who[1]);
}

static int leader_scenario_settled(void *ctx, struct error *err)
{
    const char *who[CANDIDATES];

    if (count_leaders(ctx, who) != 1)
        return error_set(err, ERR_INTERNAL, "no process leads");
    return 0;
}

const struct sim_scenario sim_scenario_leader = {
    .name = "leader",
    .traces_leases = true,
    .begin = leader_scenario_begin,
    .work = leader_scenario_work,
    .check = leader_scenario_check,
    .settled = leader_scenario_settled,
    .end = free,
};
