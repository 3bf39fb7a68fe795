/* The scheduler as a process of a simulated world. */
#ifndef BERTH_SIM_SCHEDULING_H
#define BERTH_SIM_SCHEDULING_H

#include "sim/world.h"

extern const struct sim_program scheduling_program;

/* What must hold after each step: bindings_check(). */
int scheduling_check(const void *state, struct error *err);
/* 0 when it has its caches and no pod is on its way. */
int scheduling_settled(const void *state, struct error *err);

#endif
