/* The provisioning loop: claims that name a provisioner of this process get a volume, and released volumes
 * that it made are deleted with their storage.
 *
 * A type (controllers/provisioner_type.h) makes and removes the storage. The loop decides which claims and
 * volumes are its own, writes the volume's object and events, and retries. After fifteen failures an item
 * waits for the next resync, unless its type goes on.
 *
 * Storage is made before its volume is saved, under a name that follows from the claim, so that the next try
 * completes what a crash interrupted. Storage is removed only after the volume and the claim were read from
 * the server once more. */
#ifndef BERTH_CONTROLLERS_PROVISIONER_PROVISIONER_H
#define BERTH_CONTROLLERS_PROVISIONER_PROVISIONER_H

#include "controllers/provisioner_type.h"

int provisioner_new(const struct provisioner_options *o, struct provisioner **ret, struct error *err);
void provisioner_start(struct provisioner *p);
/* NULL if its state in memory is consistent, else what is wrong. For the simulator. */
const char *provisioner_check(const struct provisioner *p);
struct provisioner *provisioner_free(struct provisioner *p);
DEFINE_CLEANUP(struct provisioner, provisioner_free)

extern const struct provisioner_loop provisioner_loop;

#endif
