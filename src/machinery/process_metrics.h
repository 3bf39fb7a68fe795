/* Metrics of the process itself, under the usual Prometheus names: memory, file descriptors, CPU time, start
 * time. */
#ifndef BERTH_MACHINERY_PROCESS_METRICS_H
#define BERTH_MACHINERY_PROCESS_METRICS_H

#include "base/error.h"
#include "machinery/metrics.h"

/* Each scrape reads /proc; a value that cannot be read is NaN. */
int process_metrics_add(struct metrics *m, struct error *err);

#endif
