/* The sources of volumes: one row a rule, one view a source that is acted on. */
#include "tests/unit/test_prepare.h"

#include "api/volume.h"
#include "api/volume_source_int.h"

#define NAME_63 "a23456789-123456789-123456789-123456789-123456789-123456789-123"
#define IQN "iqn.2001-04.com.example:storage.disk2"

static const char *source_volume(const char *name, const char *source)
{
    static char text[2048];

    (void)snprintf(
        text, sizeof text,
        "{'metadata':{'name':'%s'},'spec':{'capacity':{'storage':'1'},'accessModes':['ReadWriteOnce'],"
        "%s}}",
        name, source);
    return text;
}

struct row {
    const char *source, *errors;
};

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ASSERT_CREATE(KIND_VOLUME, rows[i].errors, source_volume("v", rows[i].source));
}

#define CHECK(...)                                     \
    do {                                               \
        static const struct row rows_[] = __VA_ARGS__; \
        check_rows(rows_, ARRAY_LEN(rows_));           \
    } while (0)

TEST(source_defaults)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        { "'hostPath':{'path':'/a'}", "'hostPath':{'path':'/a','type':''}" },
        { "'hostPath':{'path':'/a','type':'File'}", "'hostPath':{'path':'/a','type':'File'}" },
        { "'iscsi':{'targetPortal':'p','iqn':'i'}",
          "'iscsi':{'targetPortal':'p','iqn':'i','lun':0,'iscsiInterface':'default'}" },
        { "'rbd':{'monitors':['m'],'image':'i'}",
          "'rbd':{'monitors':['m'],'image':'i','pool':'rbd','user':'admin','keyring':'/etc/ceph/keyring'}" },
        { "'azureDisk':{'diskName':'d','diskURI':'https://u'}",
          "'azureDisk':{'diskName':'d','diskURI':'https://u','cachingMode':'ReadWrite','fsType':'ext4',"
          "'readOnly':false,'kind':'Shared'}" },
        { "'scaleIO':{'gateway':'g','system':'s','volumeName':'v'}",
          "'scaleIO':{'gateway':'g','system':'s','storageMode':'ThinProvisioned','volumeName':'v',"
          "'fsType':'xfs'}" },
        { "'local':{'path':'/a','fsType':''}", "'local':{'path':'/a','fsType':''}" },
        { "'flocker':{}", "'flocker':{}" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(buf_done_p) struct buf want = BUF_INIT(1024);
        kind_quotes(rows[i].out, &want);
        if (!strstr(kind_text(KIND_VOLUME, source_volume("v", rows[i].in)), buf_cstr(&want)))
            fail_msg("%s: not in %s", buf_cstr(&want),
                     kind_text(KIND_VOLUME, source_volume("v", rows[i].in)));
    }
}

TEST(source_exactly_one)
{
    CHECK({
        { "'volumeMode':'Block'", "spec: Required value: must specify a volume type" },
        { "'hostPath':{'path':'/a'},'nfs':{'server':'s','path':'/p'}",
          "spec.nfs: Forbidden: may not specify more than 1 volume type" },
        /* the first one checked is the volume's, whatever the order of the text */
        { "'csi':{},'nfs':{},'hostPath':{'path':'/a'}",
          "spec.nfs: Forbidden: may not specify more than 1 volume type\n"
          "spec.csi: Forbidden: may not specify more than 1 volume type" },
        { "'nfs':{'server':'s','path':'/p'},'cephfs':{},'local':{},'flexVolume':{}",
          "spec.cephFS: Forbidden: may not specify more than 1 volume type\n"
          "spec.flexVolume: Forbidden: may not specify more than 1 volume type\n"
          "spec.local: Forbidden: may not specify more than 1 volume type" },
    });
}

/* Every pair of sources: the earlier row of the table is the volume's, the other is refused. */
TEST(source_pairs)
{
    for (int a = SOURCE_NONE + 1; a < SOURCE_COUNT; a++) {
        for (int b = a + 1; b < SOURCE_COUNT; b++) {
            char text[256], expected[256];
            const char *errors;
            (void)snprintf(text, sizeof text, "'%s':{},'%s':{}", volume_sources[b].name,
                           volume_sources[a].name);
            (void)snprintf(
                expected, sizeof expected, "spec.%s: Forbidden: may not specify more than 1 volume type",
                volume_sources[b].extra_path ? volume_sources[b].extra_path : volume_sources[b].name);
            errors = kind_errors(KIND_VOLUME, WRITE_MAIN, NULL, source_volume("v", text));
            assert_non_null(strstr(errors, expected));
            assert_null(strstr(strstr(errors, expected) + strlen(expected), "may not specify more"));
        }
    }
}

TEST(source_host_path_rules)
{
    CHECK({
        { "'hostPath':{'path':'/a..b/...'}", "" },
        { "'hostPath':{'path':'/a','type':'DirectoryOrCreate'}", "" },
        { "'hostPath':{'type':'Foo'}", "spec.hostPath.path: Required value" },
        { "'hostPath':{'path':'/a/../b'}",
          "spec.hostPath.path: Invalid value: \"/a/../b\": must not contain '..'" },
        { "'hostPath':{'path':'/a','type':'Foo'}",
          "spec.hostPath.type: Unsupported value: \"Foo\": supported values: \"\", \"BlockDevice\", "
          "\"CharDevice\", \"Directory\", \"DirectoryOrCreate\", \"File\", \"FileOrCreate\", \"Socket\"" },
    });
}

TEST(source_local_rules)
{
#define ANYWHERE                                                                                             \
    ",'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'k','operator':'Exists'}" \
    "]}]}}"
    CHECK({
        { "'local':{'path':'/mnt'}" ANYWHERE, "" },
        { "'local':{}" ANYWHERE, "spec.local.path: Required value" },
        { "'local':{'path':'..'}", "spec.local.path: Invalid value: \"..\": must not contain '..'\n"
                                   "spec.nodeAffinity: Required value: Local volume requires node affinity" },
    });
}

TEST(source_nfs_rules)
{
    CHECK({
        { "'nfs':{'server':'s','path':'/'}", "" },
        { "'nfs':{}", "spec.nfs.server: Required value\n"
                      "spec.nfs.path: Required value\n"
                      "spec.nfs.path: Invalid value: \"\": must be an absolute path" },
        { "'nfs':{'server':'s','path':'a'}",
          "spec.nfs.path: Invalid value: \"a\": must be an absolute path" },
    });
}

TEST(source_csi_rules)
{
#define HANDLE "'driver':'d.io','volumeHandle':'h'"
    CHECK({
        { "'csi':{" HANDLE "}", "" },
        { "'csi':{'driver':'Disk.CSI.azure.com','volumeHandle':'h'}", "" },
        { "'csi':{'driver':'d.io'}", "spec.csi.volumeHandle: Required value" },
        { "'csi':{" HANDLE ",'nodePublishSecretRef':{'name':'s','namespace':'n'},"
          "'controllerPublishSecretRef':{'name':'s','namespace':'n'}}",
          "" },
        { "'csi':{" HANDLE ",'nodePublishSecretRef':{}}",
          "spec.csi.nodePublishSecretRef.name: Required value\n"
          "spec.csi.nodePublishSecretRef.namespace: Required value" },
        { "'csi':{" HANDLE ",'controllerPublishSecretRef':{'name':'s'},"
          "'controllerExpandSecretRef':{'namespace':'n'},'nodeExpandSecretRef':{'name':'s'},"
          "'nodeStageSecretRef':{'name':'s'}}",
          "spec.csi.controllerPublishSecretRef.namespace: Required value\n"
          "spec.csi.controllerExpandSecretRef.name: Required value\n"
          "spec.csi.nodeExpandSecretRef.namespace: Required value\n"
          "spec.csi.nodeStageSecretRef.namespace: Required value" },
        { "'csi':{" HANDLE ",'nodeStageSecretRef':{'name':'S','namespace':'n'}}",
          "spec.csi.nodeStageSecretRef.name: Invalid value: \"S\": a lowercase RFC 1123 subdomain must "
          "consist "
          "of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric "
          "character (e.g. 'example.com', regex used for validation is "
          "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')" },
        { "'csi':{" HANDLE ",'nodeStageSecretRef':{'name':'s','namespace':'a_b'}}",
          "spec.csi.nodeStageSecretRef.namespace: Invalid value: \"a_b\": a lowercase RFC 1123 label must "
          "consist "
          "of lower case alphanumeric characters or '-', and must start and end with an alphanumeric "
          "character "
          "(e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')" },
    });
    ASSERT_CREATE(KIND_VOLUME, "spec.csi.driver: Required value\nspec.csi.volumeHandle: Required value",
                  source_volume("v", "'csi':{}"));
    assert_non_null(
        strstr(kind_errors(KIND_VOLUME, WRITE_MAIN, NULL,
                           source_volume("v", "'csi':{'driver':'" NAME_63 "x','volumeHandle':'h'}")),
               "spec.csi.driver: Too long"));
}

TEST(source_iscsi_rules)
{
#define TARGET "'targetPortal':'10.0.0.1:3260','iqn':'" IQN "'"
    CHECK({
        { "'iscsi':{" TARGET ",'lun':255,'chapAuthSession':true,'secretRef':{'name':'s'},"
          "'initiatorName':'eui.0123456789ABCDEF'}",
          "" },
        { "'iscsi':{}", "spec.iscsi.targetPortal: Required value\nspec.iscsi.iqn: Required value" },
        { "'iscsi':{'targetPortal':'p','iqn':'disk'}",
          "spec.iscsi.iqn: Invalid value: \"disk\": must be valid format" },
        { "'iscsi':{" TARGET ",'lun':256}",
          "spec.iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive" },
        { "'iscsi':{" TARGET ",'lun':-1}",
          "spec.iscsi.lun: Invalid value: -1: must be between 0 and 255, inclusive" },
        { "'iscsi':{" TARGET ",'chapAuthDiscovery':true}", "spec.iscsi.secretRef: Required value" },
        { "'iscsi':{" TARGET ",'secretRef':{}}", "spec.iscsi.secretRef.name: Required value" },
        { "'iscsi':{" TARGET ",'initiatorName':''}",
          "spec.iscsi.initiatorname: Invalid value: \"\": must be valid format" },
    });
    ASSERT_CREATE(
        KIND_VOLUME,
        "spec.iscsi.targetportal: Invalid value: \"10.0.0.1:3260\": Total length of <volume "
        "name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.",
        source_volume(NAME_63, "'iscsi':{" TARGET ",'initiatorName':'" IQN "'}"));
}

TEST(iscsi_names)
{
    static const struct {
        const char *name;
        bool ok;
    } rows[] = {
        { IQN, true },
        { "iqn.2001-04.a-b.C9:x y", false },
        { "iqn.2001-04.com.example", false },
        { "iqn.2001-04.com.example:", false },
        { "iqn.2001-04.:x", false },
        { "iqn.2001-4.com:x", false },
        { "iqn.201-04.com:x", false },
        { "iqn.2001-04.com_example:x", false },
        { "iqn.2001-04.com.example:a:b,c", false },
        { "iqn.2001-04.com.example:a:b", true },
        { "iqn.", false },
        { "eui.02004567A425678D", true },
        { "eui.02004567A425678", false },
        { "eui.02004567A425678DD", false },
        { "eui.02004567A425678-", false },
        { "naa.52004567BA64678D52004567BA64678D", true },
        { "naa.52004567BA64678D", false },
        { "2015-02.example.com:test", false },
        { "", false },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (iscsi_name_is_valid(str_of(rows[i].name)) != rows[i].ok)
            fail_msg("%s", rows[i].name);
}

TEST(source_fc_rules)
{
    CHECK({
        { "'fc':{'targetWWNs':['a'],'lun':0}", "" },
        { "'fc':{'wwids':['a'],'lun':999}", "" },
        { "'fc':{}",
          "spec.fc.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both" },
        { "'fc':{'targetWWNs':['a'],'wwids':['b'],'lun':1}",
          "spec.fc.targetWWNs: Invalid value: [\"a\"]: targetWWNs and wwids can not be specified "
          "simultaneously" },
        { "'fc':{'targetWWNs':['a']}",
          "spec.fc.lun: Required value: lun is required if targetWWNs is specified" },
        { "'fc':{'targetWWNs':['a'],'lun':300}",
          "spec.fc.lun: Invalid value: 300: must be between 0 and 255, inclusive" },
    });
}

TEST(source_flex_rules)
{
    CHECK({
        { "'flexVolume':{'driver':'vendor/d','options':{'a.io/b':'c','plain':'d','notk8s.io':'e','a/"
          "k8s.io':'f'}}",
          "" },
        { "'flexVolume':{}", "spec.flexVolume.driver: Required value" },
        { "'flexVolume':{'driver':'d','options':{'a.K8s.io/b':'1','kubernetes.io/fsType':'2','k8s.io':'3'}}",
          "spec.flexVolume.options[a.K8s.io/b]: Invalid value: \"a.K8s.io/b\": kubernetes.io and k8s.io "
          "namespaces are reserved\n"
          "spec.flexVolume.options[k8s.io]: Invalid value: \"k8s.io\": kubernetes.io and k8s.io namespaces "
          "are "
          "reserved\n"
          "spec.flexVolume.options[kubernetes.io/fsType]: Invalid value: \"kubernetes.io/fsType\": "
          "kubernetes.io "
          "and k8s.io namespaces are reserved" },
    });
}

TEST(source_disk_rules)
{
    CHECK({
        { "'gcePersistentDisk':{'pdName':'d','partition':255}", "" },
        { "'gcePersistentDisk':{'partition':256}",
          "spec.persistentDisk.pdName: Required value\n"
          "spec.persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive" },
        { "'awsElasticBlockStore':{'volumeID':'v','partition':0}", "" },
        { "'awsElasticBlockStore':{'partition':-1}",
          "spec.awsElasticBlockStore.volumeID: Required value\n"
          "spec.awsElasticBlockStore.partition: Invalid value: -1: must be between 1 and 255, inclusive" },
        { "'vsphereVolume':{'volumePath':'p','storagePolicyID':'i'}", "" },
        { "'vsphereVolume':{}", "spec.vsphereVolume.volumePath: Required value" },
        { "'photonPersistentDisk':{'pdID':'i'}", "" },
        { "'photonPersistentDisk':{}", "spec.photonPersistentDisk.pdID: Required value" },
        { "'portworxVolume':{'volumeID':'i'}", "" },
        { "'portworxVolume':{}", "spec.portworxVolume.volumeID: Required value" },
        { "'cinder':{'volumeID':'i','secretRef':{'name':'s','namespace':'n'}}", "" },
        { "'cinder':{'secretRef':{}}",
          "spec.cinder.volumeID: Required value\nspec.cinder.secretRef.name: Required value\n"
          "spec.cinder.secretRef.namespace: Required value" },
        { "'scaleIO':{'gateway':'g','system':'s','volumeName':'v','secretRef':{'name':'s'}}", "" },
        { "'scaleIO':{}", "spec.scaleIO.gateway: Required value\nspec.scaleIO.system: Required value\n"
                          "spec.scaleIO.volumeName: Required value" },
    });
}

TEST(source_share_rules)
{
    CHECK({
        { "'glusterfs':{'endpoints':'e','path':'p','endpointsNamespace':'n'}", "" },
        { "'glusterfs':{'endpointsNamespace':''}",
          "spec.glusterfs.endpoints: Required value\nspec.glusterfs.path: Required value\n"
          "spec.glusterfs.endpointsNamespace: Invalid value: \"\": if the endpointnamespace is set, it must "
          "be a "
          "valid namespace name" },
        { "'rbd':{'monitors':['m'],'image':'i'}", "" },
        { "'rbd':{'monitors':[]}", "spec.rbd.monitors: Required value\nspec.rbd.image: Required value" },
        { "'cephfs':{'monitors':['m'],'secretRef':{'name':'s'}}", "" },
        { "'cephfs':{}", "spec.cephfs.monitors: Required value" },
        { "'flocker':{'datasetName':'n'}", "" },
        { "'flocker':{'datasetUUID':'u'}", "" },
        { "'flocker':{}", "spec.flocker: Required value: one of datasetName and datasetUUID is required" },
        { "'flocker':{'datasetName':'a/b','datasetUUID':'u'}",
          "spec.flocker: Invalid value: \"resource\": datasetName and datasetUUID can not be specified "
          "simultaneously\n"
          "spec.flocker.datasetName: Invalid value: \"a/b\": must not contain '/'" },
        { "'azureFile':{'secretName':'s','shareName':'n','secretNamespace':'x'}", "" },
        { "'azureFile':{'secretNamespace':''}",
          "spec.azureFile.secretName: Required value\nspec.azureFile.shareName: Required value\n"
          "spec.azureFile.secretNamespace: Required value" },
        { "'storageos':{'volumeName':'v','volumeNamespace':'n','secretRef':{'name':'s','namespace':'n'}}",
          "" },
        { "'storageos':{'secretRef':{}}",
          "spec.storageos.volumeName: Required value\nspec.storageos.secretRef.name: Required value\n"
          "spec.storageos.secretRef.namespace: Required value" },
    });
    assert_non_null(
        strstr(kind_errors(KIND_VOLUME, WRITE_MAIN, NULL,
                           source_volume("v", "'storageos':{'volumeName':'A','volumeNamespace':'b_c'}")),
               "spec.storageos.volumeNamespace: Invalid value: \"b_c\": a lowercase RFC 1123 label"));
    assert_non_null(strstr(
        kind_errors(KIND_VOLUME, WRITE_MAIN, NULL,
                    source_volume("v", "'glusterfs':{'endpoints':'e','path':'p','endpointsNamespace':'N'}")),
        "spec.glusterfs.endpointsNamespace: Invalid value: \"N\": a lowercase RFC 1123 label"));
}

TEST(source_quobyte_rules)
{
#define PAIRS "must be a host:port pair or multiple pairs separated by commas"
    CHECK({
        { "'quobyte':{'registry':'a:1,[::1]:2','volume':'v'}", "" },
        { "'quobyte':{}",
          "spec.quobyte.registry: Required value: " PAIRS "\nspec.quobyte.volume: Required value" },
        { "'quobyte':{'registry':'a:1,b','volume':'v'}",
          "spec.quobyte.registry: Invalid value: \"a:1,b\": " PAIRS },
        { "'quobyte':{'registry':'a,b:1','volume':'v'}",
          "spec.quobyte.registry: Invalid value: \"a,b:1\": " PAIRS },
        { "'quobyte':{'registry':'a:1','volume':'v','tenant':'" NAME_63 "xy'}",
          "spec.quobyte.tenant: Required value: must be a UUID and may not exceed a length of 64 "
          "characters" },
    });
}

TEST(host_ports)
{
    static const struct {
        const char *text;
        bool ok;
    } rows[] = {
        { "a:1", true },    { ":", true },        { "[::1]:80", true }, { "[]:", true },
        { "a", false },     { "", false },        { "a:b:c", false },   { "[::1]", false },
        { "[::1", false },  { "[::1]80", false }, { "[a]b:80", false }, { "a]:80", false },
        { "a:[80", false }, { "[a[b]:1", false }, { "[a]:1:2", false },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (host_port_is_valid(str_of(rows[i].text)) != rows[i].ok)
            fail_msg("%s", rows[i].text);
}

TEST(source_azure_disk_rules)
{
#define BLOB "\"https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd\""
#define MANAGED \
    "\"/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}\""
    CHECK({
        { "'azureDisk':{'diskName':'d','diskURI':'https://x'}", "" },
        { "'azureDisk':{'diskName':'d','diskURI':'/subscriptions/x','kind':'Managed','cachingMode':'None'}",
          "" },
        { "'azureDisk':{}",
          "spec.azureDisk.diskName: Required value\nspec.azureDisk.diskURI: Required value\n"
          "spec.azureDisk.diskURI: Unsupported value: \"\": supported values: " BLOB },
        { "'azureDisk':{'diskName':'d','diskURI':'https://x','kind':'Managed'}",
          "spec.azureDisk.diskURI: Unsupported value: \"https://x\": supported values: " MANAGED },
        { "'azureDisk':{'diskName':'d','diskURI':'https://x','kind':'Own','cachingMode':'All'}",
          "spec.azureDisk.cachingMode: Unsupported value: \"All\": supported values: \"None\", \"ReadOnly\", "
          "\"ReadWrite\"\n"
          "spec.azureDisk.kind: Unsupported value: \"Own\": supported values: \"Dedicated\", \"Managed\", "
          "\"Shared\"" },
    });
}

/* --- Views --- */

static const struct volume *source_view(const char *source)
{
    static struct object *last;

    last = object_unref(last);
    if (source)
        last = kind_object(KIND_VOLUME, source_volume("v", source));
    return source ? volume_of(last) : NULL;
}

TEST(source_views_of_paths)
{
    const struct volume *v = source_view("'hostPath':{'path':'/a','type':'File'}");

    ASSERT_INT(SOURCE_HOST_PATH, v->source.kind);
    ASSERT_STR("/a", v->source.host_path->path);
    ASSERT_STR("File", v->source.host_path->type);
    v = source_view("'local':{'path':'/dev/b','fsType':'xfs'}");
    ASSERT_INT(SOURCE_LOCAL, v->source.kind);
    ASSERT_STR("/dev/b", v->source.local->path);
    ASSERT_STR("xfs", v->source.local->fs_type);
    v = source_view("'nfs':{'server':'s','path':'/p','readOnly':true}");
    ASSERT_INT(SOURCE_NFS, v->source.kind);
    ASSERT_STR("s", v->source.nfs->server);
    ASSERT_STR("/p", v->source.nfs->path);
    assert_true(v->source.nfs->is_read_only);
    (void)source_view(NULL);
}

TEST(source_views_of_networks)
{
    const struct volume *v =
        source_view("'iscsi':{'targetPortal':'p','portals':['q','r'],'iqn':'i','lun':3,'iscsiInterface':'eth'"
                    ",'fsType':'ext4',"
                    "'readOnly':true,'chapAuthDiscovery':true,'chapAuthSession':true,'initiatorName':'n',"
                    "'secretRef':{'name':'s','namespace':'x'}}");
    const struct iscsi_source *i = v->source.iscsi;

    ASSERT_INT(SOURCE_ISCSI, v->source.kind);
    ASSERT_STR("p", i->portal);
    ASSERT_INT(2, i->portals.count);
    ASSERT_STR("r", i->portals.items[1]);
    ASSERT_STR("i", i->iqn);
    ASSERT_INT(3, i->lun);
    ASSERT_STR("eth", i->interface);
    ASSERT_STR("ext4", i->fs_type);
    ASSERT_STR("n", i->initiator_name);
    ASSERT_STR("s", i->secret.name);
    ASSERT_STR("x", i->secret.ns);
    assert_true(i->is_read_only && i->chap_discovery && i->chap_session);
    v = source_view("'fc':{'targetWWNs':['a','b'],'lun':0,'fsType':'xfs','readOnly':true}");
    ASSERT_INT(SOURCE_FC, v->source.kind);
    ASSERT_INT(2, v->source.fc->wwns.count);
    ASSERT_INT(0, v->source.fc->lun);
    ASSERT_STR("xfs", v->source.fc->fs_type);
    assert_true(v->source.fc->is_read_only);
    v = source_view("'fc':{'wwids':['w']}");
    ASSERT_STR("w", v->source.fc->wwids.items[0]);
    ASSERT_INT(-1, v->source.fc->lun);
    (void)source_view(NULL);
}

TEST(source_views_of_drivers)
{
    const struct volume *v =
        source_view("'flexVolume':{'driver':'d','fsType':'ext4','readOnly':true,'options':{'b':'2','a':'1'},"
                    "'secretRef':{'name':'s'}}");

    ASSERT_INT(SOURCE_FLEX, v->source.kind);
    ASSERT_STR("d", v->source.flex->driver);
    ASSERT_STR("ext4", v->source.flex->fs_type);
    assert_true(v->source.flex->is_read_only);
    ASSERT_STR("2", kv_get(v->source.flex->options.items, v->source.flex->options.count, "b"));
    ASSERT_STR("s", v->source.flex->secret.name);
    ASSERT_STR("", v->source.flex->secret.ns);
    v = source_view("'csi':{'driver':'d','volumeHandle':'h','fsType':'xfs','readOnly':true,"
                    "'volumeAttributes':{'k':'v'},'controllerPublishSecretRef':{'name':'a','namespace':'n'},"
                    "'nodeStageSecretRef':{'name':'b','namespace':'n'},"
                    "'nodePublishSecretRef':{'name':'c','namespace':'n'},"
                    "'controllerExpandSecretRef':{'name':'d','namespace':'n'},"
                    "'nodeExpandSecretRef':{'name':'e','namespace':'m'}}");
    ASSERT_INT(SOURCE_CSI, v->source.kind);
    ASSERT_STR("d", v->source.csi->driver);
    ASSERT_STR("h", v->source.csi->handle);
    ASSERT_STR("xfs", v->source.csi->fs_type);
    assert_true(v->source.csi->is_read_only);
    ASSERT_STR("v", kv_get(v->source.csi->attributes.items, v->source.csi->attributes.count, "k"));
    for (int i = 0; i < CSI_SECRET_COUNT; i++)
        ASSERT_INT("abcde"[i], v -> source.csi->secrets[i].name[0]);
    ASSERT_STR("m", v->source.csi->secrets[CSI_SECRET_NODE_EXPAND].ns);
    v = source_view("'csi':{'driver':'d','volumeHandle':'h'}");
    ASSERT_STR("", v->source.csi->secrets[CSI_SECRET_NODE_STAGE].name);
    (void)source_view(NULL);
}

TEST(source_kinds_without_a_view)
{
    for (int kind = SOURCE_NONE + 1; kind < SOURCE_COUNT; kind++) {
        char source[64];
        (void)snprintf(source, sizeof source, "'%s':{}", volume_sources[kind].name);
        ASSERT_INT(kind, source_view(source)->source.kind);
    }
    assert_null(source_view("'cephfs':{'monitors':['m']}")->source.csi);
    (void)source_view(NULL);
}

/* Every row has a schema, and the spec has a field for it. */
TEST(source_table_is_whole)
{
    for (int kind = SOURCE_NONE + 1; kind < SOURCE_COUNT; kind++) {
        const struct field *f = schema_field(&volume_spec_schema, str_of(volume_sources[kind].name));
        assert_non_null(f);
        assert_ptr_equal(volume_sources[kind].schema, f->sub);
        for (const char *const *key = volume_sources[kind].required; key && *key; key++)
            assert_non_null(schema_field(f->sub, str_of(*key)));
    }
    assert_null(volume_sources[SOURCE_NONE].name);
}

TEST(source_refuses_nul_bytes)
{
    _cleanup_(json_done_p) struct json scratch;
    struct object *o = NULL;

    json_init(&scratch, 1 << 20);
    ASSERT_ERR(ERR_BAD_REQUEST,
               object_decode(
                   &volume_kind,
                   STR_LIT("{\"metadata\":{\"name\":\"v\"},\"spec\":{\"csi\":{\"driver\":\"a\\u0000b\"}}}"),
                   &scratch, &o, &err));
    ASSERT_STR("spec.csi.driver: must not contain a NUL character", err.msg);
}

TEST_MAIN()
