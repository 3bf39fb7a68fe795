/* The scheduler's numbers. */
#ifndef BERTH_SCHEDULER_SCHEDULER_METRICS_H
#define BERTH_SCHEDULER_SCHEDULER_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct scheduler;
struct scheduler_metrics;

/* Without a registry nothing is counted: *ret is NULL, and everything below does nothing. */
int scheduler_metrics_new(struct scheduler *s, struct scheduler_metrics **ret, struct error *err);
struct scheduler_metrics *scheduler_metrics_free(struct scheduler_metrics *m);

/* From the pod's turn to its end. */
void scheduler_metrics_scheduled(struct scheduler_metrics *m, uint64_t took_ns);
void scheduler_metrics_not_scheduled(struct scheduler_metrics *m, bool is_refused);
/* From the last write to the claims' being bound. */
void scheduler_metrics_waited(struct scheduler_metrics *m, bool is_static, uint64_t took_ns);
enum scheduler_stage { STAGE_PREDICATE, STAGE_ASSUME, STAGE_BIND, STAGE_COUNT };
void scheduler_metrics_stage_failed(struct scheduler_metrics *m, enum scheduler_stage stage);

#endif
