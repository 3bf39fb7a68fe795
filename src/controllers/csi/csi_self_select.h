/* Drivers that are deployed per node, and claims with immediate binding: no scheduler selects a node for
 * them, so one of the nodes selects itself. Each node waits for a random time, asks its driver whether there
 * is room, and writes its name into the claim (volume.kubernetes.io/selected-node); the first one wins, since
 * the write fails if the claim has changed. The provisioner of that node does the rest.
 *
 * Costs: one call and one request per claim and node, with growing delays. */
#ifndef BERTH_CONTROLLERS_CSI_CSI_SELF_SELECT_H
#define BERTH_CONTROLLERS_CSI_CSI_SELF_SELECT_H

#include "controllers/csi/csi_function.h"

struct csi_self_select;

/* node_name of the options is set. */
int csi_self_select_new(const struct csi_function_options *o, struct csi_self_select **ret,
                        struct error *err);
void csi_self_select_start(struct csi_self_select *s);
/* Accepts NULL. */
struct csi_self_select *csi_self_select_free(struct csi_self_select *s);
DEFINE_CLEANUP(struct csi_self_select, csi_self_select_free)
/* NULL if its queue is consistent, else what is wrong. For the simulator. */
const char *csi_self_select_check(const struct csi_self_select *s);

#endif
