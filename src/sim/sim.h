/* The simulator: the control plane in one thread and in virtual time, with injected faults.
 *
 * A world has one API server (the real one, on the memory store), client programs as separate simulated
 * processes (each with its loop, its clock and its client), the network between them, and a host for long
 * operations. The seed determines everything: which process runs next, how long operations take, which
 * messages are lost, which processes are killed. The same seed and the same program give the same run, step
 * by step.
 *
 * A run has two phases. In the fault phase, of a given number of steps, faults are injected, and the scenario
 * checks its invariants after each step. Then the world heals: in the recovery phase no faults are injected,
 * and the scenario must reach its expected final state within bounded virtual time, and keep it. */
#ifndef BERTH_SIM_SIM_H
#define BERTH_SIM_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "sim/fault.h"
#include "sim/numbers.h"
#include "sim/trace.h"

#define SIM_STEPS 1500
#define SIM_MESSAGE_BYTES ERROR_MSG_BYTES_MAX

struct sim;

/* What runs in a world, and its invariants. */
struct sim_scenario {
    const char *name;
    /* The length of the fault phase in multiples of sim_options.steps, for scenarios that need many steps
     * before a failure is possible; 0: one. */
    unsigned steps_factor;
    /* While the cache of one program is stale, its programs may undo each other's writes without delay. This
     * is not a failure: the number of steps per second is not limited. */
    bool may_livelock;
    /* More steps than this in one second of virtual time fail the run as a busy loop; 0: a limit for a few
     * dozen objects. */
    uint32_t second_steps_max;
    /* When time advances, only processes with a due timer get a turn: hours pass in few steps. */
    bool wakes_due_only;
    /* The scenario tests leases: requests for them are not quiet lines of the trace. */
    bool traces_leases;
    /* Starts the programs and creates the first objects. Returns the state of the scenario, the ctx below. */
    void *(*begin)(struct sim *s);
    /* In the fault phase, at random moments: one action of the workload. NULL: none. */
    void (*work)(void *ctx);
    /* After every step: calls sim_fail() for each violated invariant. NULL: none. */
    void (*check)(void *ctx);
    /* In the recovery phase: 0 when the final state is reached; otherwise err says what is missing. */
    int (*settled)(void *ctx, struct error *err);
    /* Frees the state. The programs have been killed, the server still runs. */
    void (*end)(void *ctx);
};

extern const struct sim_scenario sim_scenario_attach;
extern const struct sim_scenario sim_scenario_backlog;
extern const struct sim_scenario sim_scenario_binder;
extern const struct sim_scenario sim_scenario_caches;
extern const struct sim_scenario sim_scenario_controllers;
extern const struct sim_scenario sim_scenario_csi;
extern const struct sim_scenario sim_scenario_leader;
extern const struct sim_scenario sim_scenario_node;
extern const struct sim_scenario sim_scenario_scheduler;
extern const struct sim_scenario sim_scenario_seats;
extern const struct sim_scenario sim_scenario_staged;
/* All of them; the last item is NULL. */
extern const struct sim_scenario *const sim_scenarios[];

struct sim_options {
    const struct sim_scenario *scenario;
    uint64_t seed;
    uint32_t steps;  /* of the fault phase, before steps_factor */
    unsigned faults; /* bits of enum sim_fault */
    bool is_traced;  /* print every line of the trace to standard output at once */
    /* Faults and actions to omit, by their numbers in the run, from 1; NULL: none. An omitted fault is drawn
     * and has no effect; an omitted action runs and sends no requests. The random numbers stay the same until
     * the world differs. */
    const struct numbers *without_faults;
    const struct numbers *without_actions;
    /* The run ends without a failure when its trace has more lines than this; 0: no limit. */
    uint64_t lines_max;
    bool skips_recovery;     /* the run ends without a failure after the fault phase */
    struct trace_tail *tail; /* where the end of the trace is kept; NULL: in memory of the run */
};

struct sim_report {
    bool has_failed;
    char message[SIM_MESSAGE_BYTES]; /* the violated invariant */
    uint32_t step;                   /* when */
    uint64_t at_ns;                  /* the same in virtual time */
    uint64_t digest;                 /* of the whole trace: equal for two identical runs */
    /* Identifies the invariant: equal for two failures that differ only in names and numbers (rule.h). */
    char rule[SIM_MESSAGE_BYTES];
    unsigned faults_made;
    struct run_counts counts;
    bool is_healed; /* the run failed, or ended, in the recovery phase */
    uint64_t lines; /* of the trace, without quiet ones */
    /* The end of the trace of a failed run, without quiet lines; the caller frees it. NULL otherwise. */
    char *trace;
};

void sim_run(const struct sim_options *o, struct sim_report *ret);

#endif
