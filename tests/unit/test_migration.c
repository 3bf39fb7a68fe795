#include "tests/unit/test_kind.h"

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

/* {labels, source, name} */
TEST(migration_names_volumes_as_drivers_do)
{
    static const struct {
        const char *labels;
        const char *source;
        const char *name; /* "" for none */
    } rows[] = {
        { "", "'awsElasticBlockStore':{'volumeID':'vol-1'}", "ebs.csi.aws.com^vol-1" },
        { "", "'awsElasticBlockStore':{'volumeID':'aws://us-east-1a/vol-1'}", "ebs.csi.aws.com^vol-1" },
        { "", "'awsElasticBlockStore':{'volumeID':'aws:///vol-1'}", "ebs.csi.aws.com^vol-1" },
        { "", "'gcePersistentDisk':{'pdName':'d'}",
          "pd.csi.storage.gke.io^projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d" },
        { "'topology.kubernetes.io/zone':'us-central1-a'", "'gcePersistentDisk':{'pdName':'d'}",
          "pd.csi.storage.gke.io^projects/UNSPECIFIED/zones/us-central1-a/disks/d" },
        { "'failure-domain.beta.kubernetes.io/zone':'us-central1-a'", "'gcePersistentDisk':{'pdName':'d'}",
          "pd.csi.storage.gke.io^projects/UNSPECIFIED/zones/us-central1-a/disks/d" },
        { "'topology.kubernetes.io/zone':'us-central1-a__us-central1-b'",
          "'gcePersistentDisk':{'pdName':'d'}",
          "pd.csi.storage.gke.io^projects/UNSPECIFIED/regions/us-central1/disks/d" },
        { "'topology.kubernetes.io/zone':'a__b'", "'gcePersistentDisk':{'pdName':'d'}",
          "pd.csi.storage.gke.io^projects/UNSPECIFIED/regions/a/disks/d" },
        { "", "'cinder':{'volumeID':'id'}", "cinder.csi.openstack.org^id" },
        { "", "'azureDisk':{'diskName':'n','diskURI':'/subscriptions/x'}",
          "disk.csi.azure.com^/subscriptions/x" },
        { "", "'vsphereVolume':{'volumePath':'[ds] v.vmdk'}", "csi.vsphere.vmware.com^[ds] v.vmdk" },
        { "", "'portworxVolume':{'volumeID':'id'}", "pxd.portworx.com^id" },
        { "", "'azureFile':{'secretName':'s','shareName':'x'}", "" },
        { "", "'hostPath':{'path':'/x'}", "" },
        { "", "'awsElasticBlockStore':{}", "ebs.csi.aws.com^" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(buf_done_p) struct buf quoted = BUF_INIT(4096), name = BUF_INIT(4096);
        _cleanup_(object_unref_p) struct object *o = NULL;
        char text[1024];
        struct json d;
        bool is_moved;

        (void)snprintf(
            text, sizeof text,
            "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'v','labels':{%s}},'spec':{%s}}",
            rows[i].labels, rows[i].source);
        kind_quotes(text, &quoted);
        json_init(&d, 1 << 20);
        ASSERT_OK(object_decode(&volume_kind, buf_str(&quoted), &d, &o, &err));
        is_moved = migration_volume_name(volume_of(o), &name);
        if (is_moved != (rows[i].name[0] != '\0') || strcmp(buf_cstr(&name), rows[i].name) != 0)
            fail_msg("row %zu: %s, expected %s", i, buf_cstr(&name), rows[i].name);
        json_done(&d);
    }
}

TEST_MAIN()
