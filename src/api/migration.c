#include "api/migration.h"

#include <string.h>

static const struct {
    const char *plugin;
    const char *driver;
    enum volume_source_kind source;
} moved[] = {
    { "kubernetes.io/aws-ebs", "ebs.csi.aws.com", SOURCE_AWS_DISK },
    { "kubernetes.io/gce-pd", "pd.csi.storage.gke.io", SOURCE_GCE_DISK },
    { "kubernetes.io/azure-disk", "disk.csi.azure.com", SOURCE_AZURE_DISK },
    { "kubernetes.io/azure-file", "file.csi.azure.com", SOURCE_AZURE_FILE },
    { "kubernetes.io/cinder", "cinder.csi.openstack.org", SOURCE_CINDER },
    { "kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com", SOURCE_VSPHERE },
    { "kubernetes.io/portworx-volume", "pxd.portworx.com", SOURCE_PORTWORX },
};

const char *migration_driver(const char *plugin)
{
    for (size_t i = 0; i < ARRAY_LEN(moved); i++)
        if (strcmp(moved[i].plugin, plugin) == 0)
            return moved[i].driver;
    return NULL;
}

const char *migration_plugin(enum volume_source_kind source)
{
    for (size_t i = 0; i < ARRAY_LEN(moved); i++)
        if (moved[i].source == source)
            return moved[i].plugin;
    return NULL;
}
