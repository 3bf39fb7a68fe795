/* The binder as a simulated process, with a volume plugin whose storage is on the simulated host.
 *
 * The scenario gets the effects of the plugin's operations from on_effect of the host, with names of the form
 * sim_binder_effect. A provision or a removal may take effect long after its process was killed, like that of
 * a driver. Recycling is done by the process itself: it has no effect after it was cancelled or its process
 * killed. */
#ifndef BERTH_SIM_SIM_BINDER_H
#define BERTH_SIM_SIM_BINDER_H

#include "api/volume.h"
#include "sim/sim_world.h"

#define SIM_BINDER_PLUGIN "kubernetes.io/host-path"
#define SIM_BINDER_PROVISION "provision"
#define SIM_BINDER_REMOVE "remove"
#define SIM_BINDER_RECYCLE "recycle"

extern const struct sim_program sim_binder_program_one;
extern const struct sim_program sim_binder_program_two;

/* The name of an effect is "SERIAL VOLUME UID"; uid "-" for a volume that does not exist yet. */
struct sim_binder_effect {
    unsigned serial;
    char volume[64];
    char uid[64];
};
void sim_binder_effect_parse(const char *name, struct sim_binder_effect *ret);
/* True while the binder waits for the work with that number. */
bool sim_binder_has_work(const void *state, unsigned serial);

/* True if it has started to reclaim the volume: a change of the policy may be too late. */
bool sim_binder_is_reclaiming(const void *state, const struct volume *v);

/* How often it has searched a volume for a claim since it started. */
uint64_t sim_binder_matches(const void *state);
/* 0 if it has started and is idle. */
int sim_binder_settled(const void *state, struct error *err);

#endif
