/* The model of an external resizer: it watches claims that request more than their capacity, expands the
 * storage, and reports progress like the real one: status and condition of the claim before it starts, then
 * the capacity of the volume, then that the node has to expand the file system. If the node reports an
 * expansion as infeasible, it is retried after a while. It can be killed at any step and continues from what
 * the API has. */
#ifndef BERTH_SIM_RESIZER_H
#define BERTH_SIM_RESIZER_H

#include "sim/storage.h"

/* Starts a resizer for the volumes of the storage; the claim of "d0" is "cd0". */
struct sim_process *resizer_spawn(struct sim_storage *storage);

#endif
