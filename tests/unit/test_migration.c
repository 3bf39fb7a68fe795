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

static void decode(const struct kind_info *kind, const char *text, struct object **ret)
{
    _cleanup_(buf_done_p) struct buf quoted = BUF_INIT(8192);
    struct json d;

    kind_quotes(text, &quoted);
    json_init(&d, 1 << 20);
    ASSERT_OK(object_decode(kind, buf_str(&quoted), &d, ret, &err));
    json_done(&d);
}

/* What stands at spec.MEMBER of the object's text, in single quotes; "" for nothing. */
static void spec_member(const struct object *o, const char *member, char *ret, size_t size)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(8192);
    struct json d;
    json_ref root, v;

    json_init(&d, 1 << 20);
    ASSERT_OK(json_parse(&d, o->text, &root, &err));
    v = json_path(&d, root, "spec", member);
    if (v)
        json_write(&d, v, &out);
    (void)snprintf(ret, size, "%s", buf_cstr(&out));
    for (char *c = ret; *c; c++)
        if (*c == '"')
            *c = '\'';
    json_done(&d);
}

TEST(migration_gives_volumes_the_source_that_drivers_know)
{
    static const struct {
        const char *labels;
        const char *source;
        const char *csi; /* "!": the words of a failure */
    } rows[] = {
        { "", "'awsElasticBlockStore':{'volumeID':'vol-1'}",
          "{'driver':'ebs.csi.aws.com','volumeHandle':'vol-1','volumeAttributes':{'partition':'0'}}" },
        { "",
          "'awsElasticBlockStore':{'volumeID':'aws://us-east-1a/vol-1','fsType':'xfs','partition':2,"
          "'readOnly':true}",
          "{'driver':'ebs.csi.aws.com','volumeHandle':'vol-1','readOnly':true,'fsType':'xfs',"
          "'volumeAttributes':{'partition':'2'}}" },
        { "", "'awsElasticBlockStore':{'volumeID':'aws:///vol-1'}",
          "{'driver':'ebs.csi.aws.com','volumeHandle':'vol-1','volumeAttributes':{'partition':'0'}}" },
        { "", "'awsElasticBlockStore':{'volumeID':'odd/vol-1'}",
          "{'driver':'ebs.csi.aws.com','volumeHandle':'odd/vol-1','volumeAttributes':{'partition':'0'}}" },
        { "", "'gcePersistentDisk':{'pdName':'d'}",
          "{'driver':'pd.csi.storage.gke.io',"
          "'volumeHandle':'projects/UNSPECIFIED/zones/UNSPECIFIED/disks/"
          "d','volumeAttributes':{'partition':''}}" },
        { "'topology.kubernetes.io/zone':'us-central1-a'", "'gcePersistentDisk':{'pdName':'d','partition':1}",
          "{'driver':'pd.csi.storage.gke.io',"
          "'volumeHandle':'projects/UNSPECIFIED/zones/us-central1-a/disks/d',"
          "'volumeAttributes':{'partition':'1'}}" },
        { "'failure-domain.beta.kubernetes.io/zone':'us-central1-a'", "'gcePersistentDisk':{'pdName':'d'}",
          "{'driver':'pd.csi.storage.gke.io',"
          "'volumeHandle':'projects/UNSPECIFIED/zones/us-central1-a/disks/d',"
          "'volumeAttributes':{'partition':''}}" },
        { "'topology.kubernetes.io/zone':'us-central1-a__us-central1-b'",
          "'gcePersistentDisk':{'pdName':'d'}",
          "{'driver':'pd.csi.storage.gke.io',"
          "'volumeHandle':'projects/UNSPECIFIED/regions/us-central1/disks/d',"
          "'volumeAttributes':{'partition':''}}" },
        { "", "'cinder':{'volumeID':'id','fsType':'ext4'}",
          "{'driver':'cinder.csi.openstack.org','volumeHandle':'id','fsType':'ext4'}" },
        { "",
          "'azureDisk':{'diskName':'n','diskURI':'/subscriptions/x','kind':'Dedicated','fsType':'xfs',"
          "'cachingMode':'None'}",
          "{'driver':'disk.csi.azure.com','volumeHandle':'/subscriptions/x','fsType':'xfs',"
          "'volumeAttributes':{'cachingMode':'None','csi-migration':'true','fsType':'xfs',"
          "'kind':'Dedicated'}}" },
        { "", "'azureDisk':{'diskName':'n','diskURI':'/subscriptions/x'}",
          "{'driver':'disk.csi.azure.com','volumeHandle':'/subscriptions/x',"
          "'volumeAttributes':{'csi-migration':'true','kind':'Managed'}}" },
        { "", "'vsphereVolume':{'volumePath':'[ds] v.vmdk','storagePolicyName':'gold'}",
          "{'driver':'csi.vsphere.vmware.com','volumeHandle':'[ds] v.vmdk',"
          "'volumeAttributes':{'storagepolicyname':'gold'}}" },
        { "", "'portworxVolume':{'volumeID':'id','readOnly':true}",
          "{'driver':'pxd.portworx.com','volumeHandle':'id'}" },
        { "",
          "'azureFile':{'secretName':'azure-storage-account-acme-secret','shareName':'x',"
          "'secretNamespace':'shop','readOnly':true}",
          "{'driver':'file.csi.azure.com','volumeHandle':'#acme#x#v#shop','readOnly':true,"
          "'volumeAttributes':{'sharename':'x'},"
          "'nodeStageSecretRef':{'name':'azure-storage-account-acme-secret','namespace':'shop'}}" },
        { "", "'azureFile':{'secretName':'s','shareName':'x'},'claimRef':{'namespace':'team','name':'c'}",
          "{'driver':'file.csi.azure.com','volumeHandle':'#s#x#v#team','volumeAttributes':{'sharename':'x'},"
          "'nodeStageSecretRef':{'name':'s','namespace':'team'}}" },
        { "", "'azureFile':{'secretName':'s','shareName':'x'}",
          "!could not find a secret namespace in PersistentVolumeSource or ClaimRef" },
        { "", "'hostPath':{'path':'/x'}", "!the volume's source has no CSI driver" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(object_unref_p) struct object *o = NULL, *is = NULL;
        char text[1024], csi[1024];
        struct error why = { 0 };

        (void)snprintf(text, sizeof text,
                       "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'v','uid':'u-1',"
                       "'labels':{%s}},'spec':{%s}}",
                       rows[i].labels, rows[i].source);
        decode(&volume_kind, text, &o);
        if (migration_translate(volume_of(o), &is, &why) < 0) {
            if (rows[i].csi[0] != '!' || strcmp(rows[i].csi + 1, why.msg) != 0)
                fail_msg("row %zu: %s, expected %s", i, why.msg, rows[i].csi);
            continue;
        }
        spec_member(is, "csi", csi, sizeof csi);
        ASSERT_STR(rows[i].csi, csi);
        ASSERT_STR("v", is->name);
        ASSERT_STR("u-1", is->uid);
        assert_int_equal(SOURCE_CSI, volume_of(is)->source.kind);
    }
}

#define ZONE_IS(key, zone) "{'key':'" key "','operator':'In','values':['" zone "']}"
#define AFFINITY(expressions) "{'required':{'nodeSelectorTerms':[{'matchExpressions':[" expressions "]}]}}"

/* Zones are the driver's, in node affinity first, else in labels. */
TEST(migration_gives_volumes_the_topology_of_drivers)
{
    static const struct {
        const char *source;
        const char *labels;
        const char *affinity;
        const char *then;
    } rows[] = {
        { "'awsElasticBlockStore':{'volumeID':'v'}", "", "", "" },
        { "'awsElasticBlockStore':{'volumeID':'v'}", "",
          AFFINITY(ZONE_IS("topology.kubernetes.io/zone", "a") "," ZONE_IS("x", "y")),
          AFFINITY(ZONE_IS("topology.ebs.csi.aws.com/zone", "a") "," ZONE_IS("x", "y")) },
        { "'cinder':{'volumeID':'v'}", "'topology.kubernetes.io/zone':'b'",
          AFFINITY(ZONE_IS("failure-domain.beta.kubernetes.io/zone",
                           "a") "," ZONE_IS("failure-domain.beta.kubernetes.io/region", "r")),
          AFFINITY(ZONE_IS("topology.cinder.csi.openstack.org/zone",
                           "a") "," ZONE_IS("topology.kubernetes.io/region", "r")) },
        { "'gcePersistentDisk':{'pdName':'v'}", "'topology.kubernetes.io/zone':'a__ b'", "",
          AFFINITY("{'key':'topology.gke.io/zone','operator':'In','values':['a','b']}") },
        { "'gcePersistentDisk':{'pdName':'v'}", "'failure-domain.beta.kubernetes.io/zone':'a'",
          AFFINITY(ZONE_IS("x", "y")), AFFINITY(ZONE_IS("x", "y") "," ZONE_IS("topology.gke.io/zone", "a")) },
        { "'portworxVolume':{'volumeID':'v'}", "'topology.kubernetes.io/zone':'a'", "", "" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(object_unref_p) struct object *o = NULL, *is = NULL;
        char text[2048], affinity[1024];

        (void)snprintf(text, sizeof text,
                       "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'v','labels':{%s}},"
                       "'spec':{%s%s%s}}",
                       rows[i].labels, rows[i].source, rows[i].affinity[0] ? ",'nodeAffinity':" : "",
                       rows[i].affinity);
        decode(&volume_kind, text, &o);
        ASSERT_OK(migration_translate(volume_of(o), &is, &err));
        spec_member(is, "nodeAffinity", affinity, sizeof affinity);
        ASSERT_STR(rows[i].then, affinity);
    }
}

/* The disks of one plugin never had more modes than two, whatever was written. */
TEST(migration_narrows_the_modes_of_gce_disks)
{
    static const struct {
        const char *modes, *then;
    } rows[] = {
        { "'ReadWriteMany'", "['ReadWriteOnce']" },
        { "'ReadOnlyMany','ReadWriteOnce'", "['ReadWriteOnce']" },
        { "'ReadOnlyMany'", "['ReadOnlyMany']" },
        { "", "" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(object_unref_p) struct object *o = NULL, *is = NULL;
        char text[512], modes[128];

        (void)snprintf(text, sizeof text,
                       "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'v'},'spec':{"
                       "'gcePersistentDisk':{'pdName':'d'},'accessModes':[%s]}}",
                       rows[i].modes);
        decode(&volume_kind, text, &o);
        ASSERT_OK(migration_translate(volume_of(o), &is, &err));
        spec_member(is, "accessModes", modes, sizeof modes);
        ASSERT_STR(rows[i].then, modes);
    }
}

TEST(migration_gives_a_pods_volume_a_persistent_one)
{
    static const struct {
        const char *source, *name, *handle, *modes;
    } rows[] = {
        { "'awsElasticBlockStore':{'volumeID':'vol-1'}", "ebs.csi.aws.com-vol-1", "vol-1",
          "['ReadWriteOnce']" },
        { "'gcePersistentDisk':{'pdName':'d','readOnly':true}", "pd.csi.storage.gke.io-d",
          "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d", "['ReadOnlyMany']" },
        { "'azureDisk':{'diskName':'n','diskURI':'/subscriptions/x'}", "disk.csi.azure.com-n",
          "/subscriptions/x", "['ReadWriteOnce']" },
        { "'azureFile':{'secretName':'s','shareName':'x'}", "#s#x#data#shop", "#s#x#data#shop",
          "['ReadWriteMany']" },
        { "'cinder':{'volumeID':'id'}", "cinder.csi.openstack.org-id", "id", "['ReadWriteOnce']" },
        { "'vsphereVolume':{'volumePath':'[ds] a/v.vmdk'}", "csi.vsphere.vmware.com-[ds] a~v.vmdk",
          "[ds] a/v.vmdk", "['ReadWriteOnce']" },
        { "'portworxVolume':{'volumeID':'id','readOnly':true}", "pxd.portworx.com-id", "id",
          "['ReadOnlyMany']" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(object_unref_p) struct object *o = NULL, *is = NULL;
        char text[512], modes[128];

        (void)snprintf(text, sizeof text,
                       "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p','namespace':'shop'},'spec':{"
                       "'volumes':[{'name':'other','emptyDir':{}},{'name':'data',%s}]}}",
                       rows[i].source);
        decode(&pod_kind, text, &o);
        ASSERT_OK(migration_translate_inline(pod_of(o), &pod_of(o)->volumes.items[1], &is, &err));
        ASSERT_STR(rows[i].name, is->name);
        ASSERT_STR("", is->uid);
        ASSERT_STR(rows[i].handle, volume_of(is)->source.csi->handle);
        spec_member(is, "accessModes", modes, sizeof modes);
        ASSERT_STR(rows[i].modes, modes);
        assert_false(volume_of(is)->claim.is_set);
    }
}

TEST_MAIN()
