/* Generic ephemeral volumes: the claim that a pod's volume asks for is made for it, and goes with it.
 *
 * The claim is the pod's, by its owner reference: the garbage collector takes it away. One of the same name
 * that was not made for the pod is left alone, and the pod is told. */
#ifndef BERTH_CONTROLLERS_EPHEMERAL_EPHEMERAL_H
#define BERTH_CONTROLLERS_EPHEMERAL_EPHEMERAL_H

#include "machinery/parts.h"

struct ephemeral;

int ephemeral_new(const struct part_options *o, struct ephemeral **ret, struct error *err);
void ephemeral_start(struct ephemeral *e);
struct ephemeral *ephemeral_free(struct ephemeral *e);
DEFINE_CLEANUP(struct ephemeral, ephemeral_free)

#endif
