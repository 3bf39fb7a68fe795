/* What the process itself costs, under the names every Prometheus client gives it: memory, descriptors, CPU
 * time, start. */
#ifndef BERTH_MACHINERY_PROCESS_METRICS_H
#define BERTH_MACHINERY_PROCESS_METRICS_H

#include "base/error.h"
#include "machinery/metrics.h"

/* Each scrape reads /proc; what it cannot say is NaN. */
int process_metrics_add(struct metrics *m, struct error *err);

#endif
