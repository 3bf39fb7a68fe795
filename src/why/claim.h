/* What the files about claims share. */
#ifndef BERTH_WHY_CLAIM_H
#define BERTH_WHY_CLAIM_H

#include "api/claim.h"
#include "controllers/binder/decide.h"
#include "why/candidates.h"
#include "why/world.h"

/* claim.c: there is a StorageClass. */
bool why_has_classes(const struct why_world *w);

/* claim.c: no volume fits, and none is made. */
void why_no_volume(struct report *r, const struct claim *c, const struct candidates *x);

/* claim.c: how the binder looks for the claim's volume. */
int why_search(const struct why_world *w, const struct claim *c, struct match_options *ret,
               struct error *err);

/* claim_provision.c: d is one of those that provision, or say why nobody does. */
void why_provisioning(const struct why_world *w, struct report *r, const struct claim *c,
                      const struct claim_decision *d, const struct candidates *x);

/* claim_life.c: of a claim that is bound; and of one that is being deleted. */
void why_growth(const struct why_world *w, struct report *r, const struct claim *c);
void why_deletion(const struct why_world *w, struct report *r, const struct claim *c);

#endif
