/* Which kinds of volumes Berth's node agent can mount: by a plugin of its own, by a CSI driver or by a
 * FlexVolume driver. The API takes the others too, for nodes that a kubelet runs. */
#ifndef BERTH_API_MOUNTABLE_H
#define BERTH_API_MOUNTABLE_H

#include "api/node.h"
#include "api/pod_volume.h"

/* SOURCE_NONE is no kind, and true. */
bool source_is_mountable(enum volume_source_kind source);
/* True too for a kind that nobody here knows. */
bool pod_volume_is_mountable(enum pod_volume_type type);

/* Berth's agent runs the node, not a kubelet. */
bool node_is_berths(const struct node *n);

#endif
