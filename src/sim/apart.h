/* Runs in a process of their own: one that ends by an assertion or a signal is a failed run with a trace. */
#ifndef BERTH_SIM_APART_H
#define BERTH_SIM_APART_H

#include <stdbool.h>

#include "io/isolate.h"
#include "sim/sim.h"
#include "sim/trace.h"

/* In memory of isolate_alloc(): the run under way, or the last one. */
struct sim_box {
    struct sim_options options;
    struct sim_report report; /* without a trace, but for sim_box_close() */
    bool is_running;
    struct trace_tail tail;
};

/* Runs it, in the child. */
void sim_box_run(struct sim_box *b, const struct sim_options *o);
/* Not in the child, which has ended so: a run that was under way has failed, and one that has failed has its
 * trace, which the caller frees. */
void sim_box_close(struct sim_box *b, const struct isolate_end *end);
/* Both, in a child for this run; what it says is not heard, and a run that takes longer than seconds_max has
 * not failed. Fails when there can be no child. */
int sim_box_run_apart(struct sim_box *b, const struct sim_options *o, unsigned seconds_max,
                      struct error *err);

#endif
