/* The binder as a process of a simulated world, with a volume plugin whose storage is on the world's host.
 *
 * What the plugin does to storage is told to the scenario by the host's on_effect, by the names of
 * sim_binder_effect: a provision or a removal may take effect long after its process was killed, as a
 * driver's would. Emptying is done by the process itself: what was given up or died with its process has
 * no effect any more. */
#ifndef BERTH_SIM_SIM_BINDER_H
#define BERTH_SIM_SIM_BINDER_H

#include "api/volume.h"
#include "sim/sim_world.h"

#define BINDERY_PLUGIN "kubernetes.io/host-path"
#define BINDERY_PROVISION "provision"
#define BINDERY_REMOVE "remove"
#define BINDERY_RECYCLE "recycle"

extern const struct sim_program sim_binder_program_one;
extern const struct sim_program sim_binder_program_two;

/* The name of an effect is "SERIAL VOLUME UID"; uid "-" for a volume that is not there yet. */
struct sim_binder_effect {
    unsigned serial;
    char volume[64];
    char uid[64];
};
void sim_binder_effect_parse(const char *name, struct sim_binder_effect *ret);
/* Somebody waits for the work of that number yet. */
bool sim_binder_is_at_work(const void *state, unsigned serial);

/* It has begun to reclaim the volume: whoever changes his mind now may be too late. */
bool sim_binder_is_reclaiming(const void *state, const struct volume *v);

/* How often it has looked for a claim's volume since it started. */
uint64_t sim_binder_matches(const void *state);
/* 0 when it has nothing to do. */
int sim_binder_settled(const void *state, struct error *err);

#endif
