/* Shrinks a failing run: finds a smaller run that violates the same invariant, with fewer steps in the fault
 * phase, fewer kinds of faults, fewer faults, fewer actions.
 *
 * A run without some fault or action is identical up to that point and differs afterwards, so each candidate
 * has to be run. Candidates are compared by a score: lines of the trace, plus a number of lines for each
 * fault and action. */
#ifndef BERTH_SIM_SHRINK_H
#define BERTH_SIM_SHRINK_H

#include "base/clock.h"
#include "sim/shared_run.h"

struct shrink_limits {
    unsigned runs_max;
    unsigned seconds_max;
    const struct clock *clock;
};

struct shrunk {
    struct sim_options options; /* of the smallest run; points to the numbers below: do not copy */
    struct numbers without_faults;
    struct numbers without_actions;
    struct sim_report report; /* of the smallest run; shrunk_done() frees its trace */
    unsigned runs;            /* number of runs that were tried */
};

void shrunk_done(struct shrunk *s);

/* Starts from a failed run that omits nothing, and its report, which may be in *run. If no smaller run is
 * found, the result is that run. Fails if there is no memory or no child process. */
int shrink_run(struct shared_run *run, const struct sim_options *o, const struct sim_report *failed,
               const struct shrink_limits *limits, struct shrunk *ret, struct error *err);

#endif
