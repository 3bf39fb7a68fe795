/* Protection: what is in use does not go, although somebody deleted it.
 *
 * Volumes stay while they are bound, claims while pods use them, attributes classes while volumes or claims
 * name them: each carries a finalizer from its first moment on, which is taken away once it is deleted and
 * nobody needs it any more. On the way claims get their condition Unused, where the server has it. */
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
/* NULL when what it has in memory fits together, else what does not. For the simulator. */
const char *protect_check(const struct protect *p);

/* The pod uses the claim: one that is being deleted stays for it, one that stays is called used. For who
 * explains it, too. */
bool protect_is_user(const struct pod *p, const struct claim *c);

#endif
