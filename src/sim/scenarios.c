/* The list of all scenarios, in the order in which they run. */
#include "sim/sim.h"

#include <stddef.h>

const struct sim_scenario *const sim_scenarios[] = {
    &sim_scenario_attach,      &sim_scenario_backlog, &sim_scenario_binder, &sim_scenario_caches,
    &sim_scenario_controllers, &sim_scenario_csi,     &sim_scenario_leader, &sim_scenario_node,
    &sim_scenario_scheduler,   &sim_scenario_seats,   &sim_scenario_staged, NULL,
};
