/* Which kinds of volumes Berth's node agent can mount: with a plugin, a CSI driver or a FlexVolume driver.
 * The API accepts the other kinds too, for nodes with a kubelet. */
#ifndef BERTH_API_MOUNTABLE_H
#define BERTH_API_MOUNTABLE_H

#include "api/node.h"
#include "api/pod_volume.h"

/* True for SOURCE_NONE. */
bool source_is_mountable(enum volume_source_kind source);
/* True for an unknown kind. */
bool pod_volume_is_mountable(enum pod_volume_type type);

/* True if the node runs Berth's agent, not a kubelet. */
bool node_is_berths(const struct node *n);

#endif
