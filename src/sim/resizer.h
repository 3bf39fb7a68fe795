/* An external resizer, as a model: it sees claims that ask for more than they have, grows the storage, and
 * says how far it is as the real one does: status and condition of the claim before it begins, the capacity
 * of the volume, then that it is the node's turn. What the node calls impossible it hands to the node again
 * after a while. Every step can be the last one: it goes on from what is written. */
#ifndef BERTH_SIM_RESIZER_H
#define BERTH_SIM_RESIZER_H

#include "sim/storage.h"

/* Volumes of the storage, "d0" of claim "cd0" and so on. */
struct sim_process *resizer_spawn(struct sim_storage *storage);

#endif
