/* From a run that fails to a smaller one that breaks the same invariant: fewer steps before the healing,
 * fewer kinds of faults, fewer faults, fewer acts.
 *
 * A run that leaves something out is the same run up to there and another one after that: whether it fails is
 * found out by trying. What counts is a score: lines of the trace, and more for each fault and act. */
#ifndef BERTH_SIM_SHRINK_H
#define BERTH_SIM_SHRINK_H

#include "base/clock.h"
#include "sim/apart.h"

struct shrink_limits {
    unsigned runs_max;
    unsigned seconds_max;
    const struct clock *clock;
};

struct shrunk {
    struct sim_options options; /* of the smallest run; points at the numbers below: not to be moved */
    struct numbers without_faults;
    struct numbers without_actions;
    struct sim_report report; /* of it; the trace is the caller's to free */
    unsigned runs;            /* that it took */
};

void shrunk_done(struct shrunk *s);

/* From a run without anything left out, and its report, in *b or elsewhere. In the worst case the result is
 * that run. Fails for lack of memory or children. */
int shrink(struct sim_box *b, const struct sim_options *o, const struct sim_report *failed,
           const struct shrink_limits *limits, struct shrunk *ret, struct error *err);

#endif
