/* The simulator: the control plane in one thread and in virtual time, on a bad day.
 *
 * A world has one API server (the real one, on the memory store), programs that talk to it as processes of
 * their own (each with its loop, its clock and its client), the network between them and a host for long
 * operations. The seed decides everything: in which order who gets to run, how long what takes, what is lost,
 * who is killed. The same seed and the same program give the same run, step by step.
 *
 * A run has two halves. For so many steps everything goes wrong that the faults allow, and after each step
 * the scenario checks what must never be. Then the world heals, and the scenario says when everything is as
 * it should be: that must come about in bounded virtual time, and last. */
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

/* What runs in a world, and what must hold there. */
struct sim_scenario {
    const char *name;
    const char *summary;
    /* So many bad days on end, where it takes many steps before anything can go wrong; 0: one. */
    unsigned days;
    /* Its programs trust their caches: while one of them is behind they undo each other's work as fast as the
     * network allows, and that is no mistake. */
    bool may_fight;
    /* Steps in one second of virtual time that are no sign of running on the spot; 0: as many as a few
     * objects need. */
    uint32_t second_steps_max;
    /* When time passes only those get a turn whose timers are due: hours of it in few steps. */
    bool is_sparing;
    /* Leases are what it is about: requests for them are no quiet traffic. */
    bool is_about_leases;
    /* Starts the programs and makes the first objects. */
    void *(*begin)(struct sim *s);
    /* Now and then, while things go wrong: somebody changes something. */
    void (*work)(void *ctx);
    /* After every step: what must never be is told with sim_fail(). */
    void (*check)(void *ctx);
    /* Healed: 0 when everything is as it should be; else what is missing, in err. */
    int (*settled)(void *ctx, struct error *err);
    /* Frees its state. The programs are gone by now, the server is there yet. */
    void (*end)(void *ctx);
};

extern const struct sim_scenario sim_scenario_attach;
extern const struct sim_scenario sim_scenario_backlog;
extern const struct sim_scenario sim_scenario_binder;
extern const struct sim_scenario sim_scenario_caches;
extern const struct sim_scenario sim_scenario_controllers;
extern const struct sim_scenario sim_scenario_leader;
extern const struct sim_scenario sim_scenario_node;
extern const struct sim_scenario sim_scenario_scheduler;
extern const struct sim_scenario sim_scenario_seats;
extern const struct sim_scenario sim_scenario_staged;
/* All of them, NULL at the end. */
extern const struct sim_scenario *const sim_scenarios[];

struct sim_options {
    const struct sim_scenario *scenario;
    uint64_t seed;
    uint32_t steps;  /* before the healing */
    unsigned faults; /* bits of enum sim_fault */
    bool is_traced;  /* every line of the trace goes to standard output as it comes */
    /* By their numbers in the run, from 1 on; NULL: none. A fault that is left out is drawn and has no
     * effect, an act that is left out is gone through without requests: the dice stay the same, as long as
     * the world does. */
    const struct numbers *without_faults;
    const struct numbers *without_actions;
    /* The run ends, as if nothing were wrong, when its trace has more lines than that; 0: it goes on. */
    uint64_t lines_max;
    bool is_half;            /* it ends, as if nothing were wrong, when the world would heal */
    struct trace_tail *tail; /* where the end of the trace is kept; NULL: in memory of the run */
};

struct sim_report {
    bool has_failed;
    char message[SIM_MESSAGE_BYTES]; /* what was wrong */
    uint32_t step;                   /* when */
    uint64_t at_ns;                  /* the same in virtual time */
    uint64_t digest;                 /* of the whole trace: two runs that agree in it were the same */
    /* Which invariant: the same text for two failures of one kind, whatever the names and numbers in them. */
    char rule[SIM_MESSAGE_BYTES];
    unsigned faults_made;
    struct run_counts counts;
    bool is_healed; /* it has failed, or ended, after the healing */
    uint64_t lines; /* of the trace, without quiet traffic */
    /* The last lines of the trace of a run that failed, without quiet traffic; free() it. NULL otherwise. */
    char *trace;
};

void sim_run(const struct sim_options *o, struct sim_report *ret);

#endif
