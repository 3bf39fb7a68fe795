/* Why a claim is as it is. */
#include "why/world.h"

#include "api/claim.h"

void why_claim(const struct why_world *w, struct report *r, const struct object *claim)
{
    report_state(r, "%s", claim_phase_name((enum claim_phase)claim_of(claim)->phase));
    why_add_events(w, r, claim);
}
