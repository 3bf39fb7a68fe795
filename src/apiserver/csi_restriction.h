/* Admission of what the sidecars of CSI drivers write, group berth:csi: volumes of their drivers, and nothing
 * that makes this server or a node act on other storage. It does not concern anybody else, nor administrators
 * who are in the group too.
 *
 * A volume of another source may name any directory of the machine that recycles or deletes it. So the group
 * creates CSI volumes alone, never sets the reclaim policy Recycle, and leaves the claim and the reclaim
 * policy of other volumes as they are. That a source does not change is checked for everybody (volume.c). */
#ifndef BERTH_APISERVER_CSI_RESTRICTION_H
#define BERTH_APISERVER_CSI_RESTRICTION_H

#include "apiserver/node_restriction.h"

/* 0, or ERR_DENIED with the whole message of the answer. */
int csi_restriction(const struct user *u, const struct restricted_write *w, struct error *err);

#endif
