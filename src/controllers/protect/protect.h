/* Protection: a deleted object that is in use is not removed.
 *
 * Volumes are protected while they are bound, claims while pods use them, VolumeAttributesClasses while
 * volumes or claims name them. Each gets a finalizer when it is created, which is removed when the object is
 * deleted and no longer used. Claims also get the condition Unused, if the server supports it. */
#ifndef BERTH_CONTROLLERS_PROTECT_PROTECT_H
#define BERTH_CONTROLLERS_PROTECT_PROTECT_H

#include "api/claim.h"
#include "api/pod.h"
#include "machinery/component_deps.h"

struct protect;

int protect_new(const struct component_deps *o, struct protect **ret, struct error *err);
void protect_start(struct protect *p);
struct protect *protect_free(struct protect *p);
DEFINE_CLEANUP(struct protect, protect_free)
/* NULL if the state in memory is consistent, else what is wrong. For the simulator. */
const char *protect_check(const struct protect *p);

/* True if the pod uses the claim: it blocks the removal of a deleted claim, and makes another one count as
 * used. Also for explanations. */
bool protect_is_user(const struct pod *p, const struct claim *c);

#endif
