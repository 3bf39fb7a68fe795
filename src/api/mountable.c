/* Tables of the volume kinds that the node agent cannot mount. A kind that gets a plugin is removed here
 * (CONTRIBUTING.md, Add a volume plugin). */
#include "api/mountable.h"

#include <string.h>

/* Kinds without a plugin in the node agent, without a CSI driver that replaced it, and without another
 * driver. */
static const bool unmountable_sources[SOURCE_COUNT] = {
    [SOURCE_GLUSTERFS] = true, [SOURCE_FLOCKER] = true,    [SOURCE_RBD] = true, [SOURCE_QUOBYTE] = true,
    [SOURCE_CEPHFS] = true,    [SOURCE_ISCSI] = true,      [SOURCE_FC] = true,  [SOURCE_PHOTON] = true,
    [SOURCE_SCALE_IO] = true,  [SOURCE_STORAGE_OS] = true,
};
static const bool unmountable_in_pods[POD_VOLUME_TYPE_COUNT] = {
    [POD_VOLUME_GIT_REPO] = true, [POD_VOLUME_ISCSI] = true,      [POD_VOLUME_GLUSTERFS] = true,
    [POD_VOLUME_RBD] = true,      [POD_VOLUME_CEPHFS] = true,     [POD_VOLUME_FLOCKER] = true,
    [POD_VOLUME_FC] = true,       [POD_VOLUME_QUOBYTE] = true,    [POD_VOLUME_PHOTON] = true,
    [POD_VOLUME_SCALE_IO] = true, [POD_VOLUME_STORAGE_OS] = true, [POD_VOLUME_IMAGE] = true,
};

bool source_is_mountable(enum volume_source_kind source)
{
    return !unmountable_sources[source];
}

bool pod_volume_is_mountable(enum pod_volume_type type)
{
    return !unmountable_in_pods[type];
}

bool node_is_berths(const struct node *n)
{
    return strstr(n->system.kubelet_version, "+berth.") != NULL;
}
