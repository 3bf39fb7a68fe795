/* Admission of PersistentVolumes written by CSI sidecars (group berth:csi). Other users, and members of
 * system:masters, are not restricted.
 *
 * A volume with another source can name any directory of the machine that recycles or deletes it. Therefore
 * the group creates volumes with a csi source only, cannot set the reclaim policy Recycle, and cannot change
 * the claim or the reclaim policy of volumes with other sources. That sources are immutable is validated for
 * every user (volume.c). */
#ifndef BERTH_APISERVER_CSI_RESTRICTION_H
#define BERTH_APISERVER_CSI_RESTRICTION_H

#include "apiserver/node_restriction.h"

/* 0, or ERR_DENIED with the whole message of the answer. */
int csi_restriction(const struct user *u, const struct restricted_write *w, struct error *err);

#endif
