/* Functions that the files about claims share. */
#ifndef BERTH_WHY_CLAIM_H
#define BERTH_WHY_CLAIM_H

#include "api/claim.h"
#include "controllers/binder/decide.h"
#include "why/candidates.h"
#include "why/why_world.h"

/* claim.c: a StorageClass exists. */
bool why_has_classes(const struct why_world *w);

/* claim.c: no volume fits, and none is provisioned. */
void why_no_volume(struct why_report *r, const struct claim *c, const struct candidates *found);

/* claim.c: the options of the binder's search for the claim's volume. */
int why_search(const struct why_world *w, const struct claim *c, struct match_options *ret,
               struct error *err);

/* claim_provision.c: d is a provisioning decision, or the reason why there is no provisioner. */
void why_provisioning(const struct why_world *w, struct why_report *r, const struct claim *c,
                      const struct claim_decision *d, const struct candidates *found);

/* claim_life.c: for a bound claim, and for a claim that is being deleted. */
void why_growth(const struct why_world *w, struct why_report *r, const struct claim *c);
void why_deletion(const struct why_world *w, struct why_report *r, const struct claim *c);

#endif
