/* Generic ephemeral volumes: the claim that a pod's volume asks for is made for it, and goes with it.
 *
 * The claim is the pod's, by its owner reference: the garbage collector takes it away. One of the same name
 * that was not made for the pod is left alone, and the pod is told. */
#ifndef BERTH_CONTROLLERS_EPHEMERAL_EPHEMERAL_H
#define BERTH_CONTROLLERS_EPHEMERAL_EPHEMERAL_H

#include "machinery/component_deps.h"

struct ephemeral;

int ephemeral_new(const struct component_deps *o, struct ephemeral **ret, struct error *err);
void ephemeral_start(struct ephemeral *e);
/* NULL when what it has in memory fits together, else what does not. For the simulator. */
const char *ephemeral_check(const struct ephemeral *e);
struct ephemeral *ephemeral_free(struct ephemeral *e);
DEFINE_CLEANUP(struct ephemeral, ephemeral_free)

#endif
