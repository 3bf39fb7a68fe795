/* Which size a claim is expanded to: the rules for claims whose request has changed during an expansion.
 * Pure. */
#ifndef BERTH_CONTROLLERS_CSI_CSI_RESIZE_PLAN_H
#define BERTH_CONTROLLERS_CSI_CSI_RESIZE_PLAN_H

#include "api/claim.h"
#include "api/volume.h"

struct csi_resize_inputs {
    const struct claim *claim;
    const struct volume *volume;
    bool was_final;             /* the last call has failed for good: another size may be tried */
    bool expands_on_controller; /* the driver has the capability */
};

/* False: nothing to do, or the node's turn. */
bool csi_resize_decide(const struct csi_resize_inputs *in, struct quantity *ret);

#endif
