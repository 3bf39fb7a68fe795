/* Runs in a child process: an assertion or a signal there is a failed run with a trace. */
#ifndef BERTH_SIM_SHARED_RUN_H
#define BERTH_SIM_SHARED_RUN_H

#include <stdbool.h>

#include "io/isolate.h"
#include "sim/sim.h"
#include "sim/trace.h"

/* The current run, or the last one. In memory of isolate_alloc(), which parent and child share. */
struct shared_run {
    struct sim_options options;
    struct sim_report report; /* the trace is NULL until shared_run_finish() */
    bool is_running;
    struct trace_tail tail;
};

/* Runs it; called in the child. */
void shared_run_execute(struct shared_run *run, const struct sim_options *o);
/* Called in the parent after the child has ended. A run that was in progress has failed; the report of a
 * failed run gets its trace, which the caller frees. */
void shared_run_finish(struct shared_run *run, const struct isolate_end *end);
/* Both, in a child for this run, whose output is discarded. A run that takes longer than seconds_max counts
 * as not failed; 0: no limit. Fails if no child can be created. */
int shared_run_isolated(struct shared_run *run, const struct sim_options *o, unsigned seconds_max,
                        struct error *err);

#endif
