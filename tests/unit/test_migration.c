#include "tests/unit/test.h"

#include "api/migration.h"

static const struct {
    enum volume_source_kind source;
    const char *plugin;
    const char *driver;
} moved[] = {
    { SOURCE_AWS_DISK, "kubernetes.io/aws-ebs", "ebs.csi.aws.com" },
    { SOURCE_GCE_DISK, "kubernetes.io/gce-pd", "pd.csi.storage.gke.io" },
    { SOURCE_AZURE_DISK, "kubernetes.io/azure-disk", "disk.csi.azure.com" },
    { SOURCE_AZURE_FILE, "kubernetes.io/azure-file", "file.csi.azure.com" },
    { SOURCE_CINDER, "kubernetes.io/cinder", "cinder.csi.openstack.org" },
    { SOURCE_VSPHERE, "kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com" },
    { SOURCE_PORTWORX, "kubernetes.io/portworx-volume", "pxd.portworx.com" },
};

TEST(migration_knows_what_has_moved)
{
    unsigned others = 0;

    for (size_t i = 0; i < ARRAY_LEN(moved); i++) {
        ASSERT_STR(moved[i].plugin, migration_plugin(moved[i].source));
        ASSERT_STR(moved[i].driver, migration_driver(moved[i].plugin));
        assert_null(migration_driver(moved[i].driver));
    }
    for (unsigned s = SOURCE_NONE; s < SOURCE_COUNT; s++)
        others += migration_plugin((enum volume_source_kind)s) == NULL;
    ASSERT_INT(SOURCE_COUNT - ARRAY_LEN(moved), others);
    assert_null(migration_driver("kubernetes.io/host-path"));
    assert_null(migration_driver(""));
}

TEST_MAIN()
