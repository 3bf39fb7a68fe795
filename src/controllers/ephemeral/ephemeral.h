/* Generic ephemeral volumes: creates the claim that a volume of a pod describes.
 *
 * The pod owns the claim (owner reference), so that the garbage collector deletes it with the pod. An
 * existing claim of the same name that was not created for the pod is not used, and the pod gets an event. */
#ifndef BERTH_CONTROLLERS_EPHEMERAL_EPHEMERAL_H
#define BERTH_CONTROLLERS_EPHEMERAL_EPHEMERAL_H

#include "machinery/component_deps.h"

struct ephemeral;

int ephemeral_new(const struct component_deps *o, struct ephemeral **ret, struct error *err);
void ephemeral_start(struct ephemeral *e);
/* NULL if the state in memory is consistent, else what is wrong. For the simulator. */
const char *ephemeral_check(const struct ephemeral *e);
struct ephemeral *ephemeral_free(struct ephemeral *e);
DEFINE_CLEANUP(struct ephemeral, ephemeral_free)

#endif
