/* The volumes of pods: rules and views. */
#include "tests/unit/test_kind.h"

#include "api/pod.h"

#define POD(volumes)                                                                                       \
    "{'metadata':{'name':'p','namespace':'ns'},'spec':{'volumes':[" volumes "],'containers':[{'name':'c'," \
    "'image':'i'}]}}"
#define VOLUME(source) POD("{'name':'v'," source "}")
#define AT "spec.volumes[0]."
#define TEMPLATE(rest) VOLUME("'ephemeral':{'volumeClaimTemplate':{" rest "}}")
#define TEMPLATE_AT AT "ephemeral.volumeClaimTemplate."
#define CLAIM_SPEC "'spec':{'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}}}"
#define SUBDOMAIN_TEXT                                                                                \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', " \
    "and must start and end with an alphanumeric character (e.g. 'example.com', regex used for "      \
    "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
#define NAME_PART_TEXT                                                                                    \
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " \
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "  \
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
#define LABEL_VALUE_TEXT                                                                                     \
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and "     \
    "must "                                                                                                  \
    "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used " \
    "for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
#define MODE_TEXT "must be a number between 0 and 0777 (octal), both inclusive"

struct row {
    const char *text, *errors;
};

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ASSERT_CREATE(KIND_POD, rows[i].errors, rows[i].text);
}

TEST(pod_volume_names)
{
    static const struct row rows[] = {
        { POD("{'name':'a'},{'name':'b'}"), "" },
        { POD("{}"), "spec.volumes[0].name: Required value" },
        { POD("{'name':'a'},{'name':'b'},{'name':'a'}"), "spec.volumes[2].name: Duplicate value: \"a\"" },
        { POD("{'name':'a.b'}"), "spec.volumes[0].name: Invalid value: \"a.b\": must not contain dots" },
        { POD("{'name':'A'}"),
          "spec.volumes[0].name: Invalid value: \"A\": a lowercase RFC 1123 label must consist of lower case "
          "alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. "
          "'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')" },
    };
    check_rows(rows, ARRAY_LEN(rows));
}

TEST(pod_volume_has_one_source)
{
    static const struct row rows[] = {
        { VOLUME("'emptyDir':{},'hostPath':{'path':''}"),
          AT "hostPath: Forbidden: may not specify more than 1 volume type" },
        { VOLUME("'csi':{'driver':'d.io'},'downwardAPI':{},'cephfs':{'monitors':['m']}"),
          AT "downwarAPI: Forbidden: may not specify more than 1 volume type\n" AT
             "csi: Forbidden: may not specify more than 1 volume type" },
        { VOLUME("'rbd':{'monitors':['m'],'image':'i'},'cephfs':{}"),
          AT "cephFS: Forbidden: may not specify more than 1 volume type" },
        { VOLUME("'future':{}"), "" },
    };
    check_rows(rows, ARRAY_LEN(rows));
}

TEST(pod_volume_required_members)
{
    static const struct row rows[] = {
        { VOLUME("'persistentVolumeClaim':{'claimName':'c'}"), "" },
        { VOLUME("'persistentVolumeClaim':{}"), AT "persistentVolumeClaim.claimName: Required value" },
        { VOLUME("'secret':{}"), AT "secret.secretName: Required value" },
        { VOLUME("'configMap':{}"), AT "configMap.name: Required value" },
        { VOLUME("'gitRepo':{}"), AT "gitRepo.repository: Required value" },
        { VOLUME("'gcePersistentDisk':{}"), AT "persistentDisk.pdName: Required value" },
        { VOLUME("'awsElasticBlockStore':{}"), AT "awsElasticBlockStore.volumeID: Required value" },
        { VOLUME("'glusterfs':{'endpoints':''}"),
          AT "glusterfs.endpoints: Required value\n" AT "glusterfs.path: Required value" },
        { VOLUME("'rbd':{}"), AT "rbd.monitors: Required value\n" AT "rbd.image: Required value" },
        { VOLUME("'cephfs':{'monitors':[]}"), AT "cephfs.monitors: Required value" },
        { VOLUME("'cephfs':{'monitors':['m']}"), "" },
        { VOLUME("'azureFile':{'secretName':'s'}"), AT "azureFile.shareName: Required value" },
        { VOLUME("'scaleIO':{'gateway':null}"),
          AT "scaleIO.gateway: Required value\n" AT "scaleIO.system: Required value\n" AT
             "scaleIO.volumeName: Required value" },
        { VOLUME("'flexVolume':{}"), AT "flexVolume.driver: Required value" },
        { VOLUME("'image':{}"), AT "image.reference: Required value" },
        { VOLUME("'flocker':{}"),
          AT "flocker: Required value: one of datasetName and datasetUUID is required" },
        { VOLUME("'quobyte':{'registry':'h:1'}"), AT "quobyte.volume: Required value" },
    };
    check_rows(rows, ARRAY_LEN(rows));
}

TEST(pod_volume_rules_of_single_sources)
{
    static const struct row rows[] = {
        { VOLUME("'emptyDir':{'medium':'Memory','sizeLimit':'0'}"), "" },
        { VOLUME("'emptyDir':{'sizeLimit':'-1'}"),
          AT "emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity" },
        { VOLUME("'hostPath':{'path':'/a','type':'DirectoryOrCreate'}"), "" },
        { VOLUME("'hostPath':{}"), AT "hostPath.path: Required value" },
        { VOLUME("'hostPath':{'path':'/a/../b','type':'Pipe'}"),
          AT "hostPath.path: Invalid value: \"/a/../b\": must not contain '..'\n" AT
             "hostPath.type: Unsupported value: \"Pipe\": supported values: \"\", \"BlockDevice\", "
             "\"CharDevice\", \"Directory\", \"DirectoryOrCreate\", \"File\", \"FileOrCreate\", \"Socket\"" },
        { VOLUME("'gitRepo':{'repository':'r','directory':'/x'}"),
          AT "gitRepo.directory: Invalid value: \"/x\": must be a relative path" },
        { VOLUME("'nfs':{'server':'s','path':'/p'}"), "" },
        { VOLUME("'nfs':{'server':'s','path':'p'}"),
          AT "nfs.path: Invalid value: \"p\": must be an absolute path" },
        { VOLUME("'iscsi':{'targetPortal':'t','iqn':'iqn.2001-04.com.example:d','lun':0}"), "" },
        { VOLUME("'iscsi':{'targetPortal':'t','iqn':'iqn.x','lun':0,'initiatorName':'y'}"), AT
          "iscsi.iqn: Invalid value: \"iqn.x\": must be valid format\n" AT
          "iscsi.initiatorname: Invalid value: \"y\": must be valid format starting with iqn, eui, or naa" },
        { VOLUME("'iscsi':{'targetPortal':'0123456789012345678901234567890123456789012345678901234567890123',"
                 "'iqn':'iqn.2001-04.com.example:d','lun':0,'initiatorName':'iqn.2001-04.com.example:i'}"),
          AT
          "name: Invalid value: \"v\": Total length of <volume name>:<iscsi.targetPortal> must be under 64 "
          "characters if iscsi.initiatorName is specified." },
        { VOLUME("'gcePersistentDisk':{'pdName':'g','partition':256}"),
          AT "persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive" },
        { VOLUME("'iscsi':{'targetPortal':'t','iqn':'x','lun':256,'chapAuthSession':true}"),
          AT "iscsi.iqn: Invalid value: \"x\": must be valid format starting with iqn, eui, or naa\n" AT
             "iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive\n" AT
             "iscsi.secretRef: Required value" },
        { VOLUME("'fc':{'targetWWNs':['w'],'lun':1}"), "" },
        { VOLUME("'fc':{'wwids':['w']}"), "" },
        { VOLUME("'fc':{}"),
          AT "fc.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both" },
        { VOLUME("'fc':{'targetWWNs':['w'],'wwids':['x']}"),
          AT "fc.targetWWNs: Invalid value: [\"w\"]: targetWWNs and wwids can not be specified "
             "simultaneously\n" AT "fc.lun: Required value: lun is required if targetWWNs is specified" },
        { VOLUME("'fc':{'targetWWNs':['w'],'lun':-1}"),
          AT "fc.lun: Invalid value: -1: must be between 0 and 255, inclusive" },
        { VOLUME("'flexVolume':{'driver':'d','options':{'a':'b','notkubernetes.io':'x'}}"), "" },
        { VOLUME("'flexVolume':{'driver':'d','options':{'K8S.io/a':'b','x.kubernetes.io/y':'z'}}"),
          AT "flexVolume.options[K8S.io/a]: Invalid value: \"K8S.io/a\": kubernetes.io and k8s.io namespaces "
             "are reserved\n" AT "flexVolume.options[x.kubernetes.io/y]: Invalid value: "
             "\"x.kubernetes.io/y\": kubernetes.io and k8s.io namespaces are reserved" },
        { VOLUME("'csi':{'driver':'Hostpath.CSI.k8s.io','nodePublishSecretRef':{'name':'s'}}"), "" },
        { VOLUME("'csi':{'driver':'d','nodePublishSecretRef':{}}"),
          AT "csi.nodePublishSecretRef.name: Required value" },
        { VOLUME("'csi':{'driver':'d','nodePublishSecretRef':{'name':'A'}}"), AT
          "csi.name: Invalid value: \"A\": a lowercase RFC 1123 subdomain must consist of lower case "
          "alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. "
          "'example.com', regex used for validation is "
          "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')" },
    };
    check_rows(rows, ARRAY_LEN(rows));
}

TEST(pod_volume_csi_driver_is_required)
{
    const char *errors = kind_errors(KIND_POD, WRITE_MAIN, NULL, VOLUME("'csi':{}"));

    assert_true(strncmp(errors, AT "csi.driver: Required value", strlen(AT "csi.driver: Required value")) ==
                0);
}

TEST(pod_volume_keys_as_files)
{
    static const struct row rows[] = {
        { VOLUME("'configMap':{'name':'m','defaultMode':511,'items':[{'key':'k','path':'a/b','mode':0}]}"),
          "" },
        { VOLUME("'secret':{'secretName':'s','defaultMode':512}"),
          AT "secret.defaultMode: Invalid value: 512: " MODE_TEXT },
        { VOLUME("'secret':{'secretName':'s','items':[{'key':'k','path':'p'},{'mode':-1}]}"),
          AT "secret.items[1].key: Required value\n" AT "secret.items[1].path: Required value\n" AT
             "secret.items[1].mode: Invalid value: -1: " MODE_TEXT },
        { VOLUME("'configMap':{'name':'m','items':[{'key':'k','path':'/p'},{'key':'k','path':'a/../b'},"
                 "{'key':'k','path':'..x'}]}"),
          AT "configMap.items[0].path: Invalid value: \"/p\": must be a relative path\n" AT
             "configMap.items[1].path: Invalid value: \"a/../b\": must not contain '..'\n" AT
             "configMap.items[2].path: Invalid value: \"..x\": must not start with '..'" },
    };
    check_rows(rows, ARRAY_LEN(rows));
}

#define DOWNWARD(item) VOLUME("'downwardAPI':{'items':[{'path':'f'," item "}]}")
#define FIELD(path) DOWNWARD("'fieldRef':{'fieldPath':" path "}")

TEST(pod_volume_downward_api)
{
    static const struct row rows[] = {
        { FIELD("'metadata.name'"), "" },
        { FIELD("'metadata.labels'"), "" },
        { FIELD("'metadata.annotations[\\u0027a.io/B\\u0027]'"), "" },
        { FIELD("'metadata.labels[\\u0027a.io/b\\u0027]'"), "" },
        { FIELD("'metadata.labels[\\u0027A.io/b\\u0027]'"),
          AT "downwardAPI.fieldRef: Invalid value: \"A.io/b\": prefix part " SUBDOMAIN_TEXT },
        { FIELD("'metadata.annotations[\\u0027A.b/c\\u0027]'"), "" },
        { FIELD("'metadata.annotations[\\u0027-\\u0027]'"),
          AT "downwardAPI.fieldRef: Invalid value: \"-\": " NAME_PART_TEXT },
        { FIELD("''"), AT "downwardAPI.fieldRef.fieldPath: Required value" },
        { FIELD("'spec.nodeName'"),
          AT "downwardAPI.fieldRef.fieldPath: Unsupported value: \"spec.nodeName\": supported values: "
             "\"metadata.annotations\", \"metadata.labels\", \"metadata.name\", \"metadata.namespace\", "
             "\"metadata.uid\"" },
        { FIELD("'spec.x'"), AT "downwardAPI.fieldRef.fieldPath: Invalid value: \"spec.x\": error converting "
                                "fieldPath: field label not supported: spec.x" },
        { FIELD("'metadata.name[\\u0027a\\u0027]'"),
          AT "downwardAPI.fieldRef.fieldPath: Invalid value: \"metadata.name['a']\": error converting "
             "fieldPath: field label does not support subscript: metadata.name['a']" },
        { DOWNWARD("'resourceFieldRef':{'containerName':'c','resource':'limits.memory'}"), "" },
        { DOWNWARD("'resourceFieldRef':{'containerName':'c','resource':'requests.hugepages-2Mi'}"), "" },
        { DOWNWARD("'resourceFieldRef':{'resource':'limits.cpu'}"),
          AT "downwardAPI.resourceFieldRef.containerName: Required value" },
        { DOWNWARD("'resourceFieldRef':{'containerName':'c'}"),
          AT "downwardAPI.resourceFieldRef.resource: Required value" },
        { DOWNWARD("'resourceFieldRef':{'containerName':'c','resource':'limits.pods'}"),
          AT "downwardAPI.resourceFieldRef.resource: Unsupported value: \"limits.pods\": supported values: "
             "\"limits.cpu\", \"limits.ephemeral-storage\", \"limits.memory\", \"requests.cpu\", "
             "\"requests.ephemeral-storage\", \"requests.memory\"" },
        { DOWNWARD("'mode':512"),
          AT "downwardAPI: Required value: one of fieldRef and resourceFieldRef is required\n" AT
             "downwardAPI.mode: Invalid value: 512: " MODE_TEXT },
        { DOWNWARD("'fieldRef':{'fieldPath':'metadata.uid'},'resourceFieldRef':{}"),
          AT "downwardAPI: Invalid value: \"resource\": fieldRef and resourceFieldRef can not be specified "
             "simultaneously" },
        { VOLUME("'downwardAPI':{'defaultMode':-1,'items':[{'fieldRef':{'fieldPath':'metadata.uid'}}]}"),
          AT "downwardAPI.defaultMode: Invalid value: -1: " MODE_TEXT "\n" AT
             "downwardAPI.path: Required value" },
    };
    check_rows(rows, ARRAY_LEN(rows));
}

#define PROJECTED(sources) VOLUME("'projected':{'sources':[" sources "]}")

TEST(pod_volume_projected)
{
    static const struct row rows[] = {
        { PROJECTED("{'secret':{'name':'s','items':[{'key':'k','path':'a'}]}},{'configMap':{'name':'m'}},"
                    "{'serviceAccountToken':{'path':'t','expirationSeconds':600}},{'clusterTrustBundle':{}}"),
          "" },
        { PROJECTED("{'secret':{}}"), AT "projected.sources[0].secret.name: Required value" },
        { PROJECTED("{'configMap':{'items':[{'path':'a'}]}}"),
          AT "projected.sources[0].configMap.name: Required value\n" AT
             "projected.sources[0].configMap.items[0].key: Required value" },
        { PROJECTED("{'downwardAPI':{'items':[{'path':'a'}]}}"),
          AT "projected.sources[0].downwardAPI: Required value: one of fieldRef and resourceFieldRef is "
             "required" },
        { PROJECTED("{},{'serviceAccountToken':{'expirationSeconds':599}}"), AT
          "projected.sources[1].serviceAccountToken.expirationSeconds: Invalid value: 599: may not specify "
          "a duration less than 10 minutes\n" AT "projected.path: Required value" },
        { PROJECTED("{'serviceAccountToken':{'path':'t','expirationSeconds':4294967297}}"),
          AT "projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 4294967297: may not "
             "specify a duration larger than 2^32 seconds" },
        { PROJECTED("{'secret':{'name':'s'},'configMap':{'name':'m'}}"),
          AT "projected.sources[0]: Forbidden: may not specify more than 1 volume type per source" },
        { PROJECTED("{'secret':{'name':'s','items':[{'key':'k','path':'a'}]}},"
                    "{'configMap':{'name':'m','items':[{'key':'k','path':'a'},{'key':'l','path':'b'}]}},"
                    "{'downwardAPI':{'items':[{'path':'b','fieldRef':{'fieldPath':'metadata.name'}}]}}"),
          AT "projected: Invalid value: \"m\": conflicting duplicate paths\n" AT
             "projected: Invalid value: \"b\": conflicting duplicate paths" },
    };
    check_rows(rows, ARRAY_LEN(rows));
}

TEST(pod_volume_claim_templates)
{
    static const struct row rows[] = {
        { TEMPLATE(CLAIM_SPEC), "" },
        { TEMPLATE("'metadata':{'labels':{'a':'b'},'annotations':{'A.io/"
                   "x':'y'},'creationTimestamp':null}," CLAIM_SPEC),
          "" },
        { VOLUME("'ephemeral':{}"), AT "ephemeral.volumeClaimTemplate: Required value" },
        { TEMPLATE("'metadata':{'name':'n','uid':'u','finalizers':['a.io/b']}," CLAIM_SPEC),
          TEMPLATE_AT "metadata.name: Forbidden: cannot be set\n" TEMPLATE_AT
                      "metadata.uID: Forbidden: cannot be set\n" TEMPLATE_AT
                      "metadata.finalizers: Forbidden: cannot be set" },
        { TEMPLATE("'metadata':{'labels':{'a':'-'},'annotations':{'-':''}}," CLAIM_SPEC),
          TEMPLATE_AT "metadata.annotations: Invalid value: \"-\": " NAME_PART_TEXT "\n" TEMPLATE_AT
                      "metadata.labels: Invalid value: \"-\": " LABEL_VALUE_TEXT },
        { TEMPLATE("'spec':{}"),
          TEMPLATE_AT "spec.accessModes: Required value: at least 1 access mode is required\n" TEMPLATE_AT
                      "spec.resources[storage]: Required value" },
        { TEMPLATE("'spec':{'accessModes':['Sometimes'],'resources':{'requests':{'storage':'0'}}}"),
          TEMPLATE_AT
          "spec.accessModes: Unsupported value: \"Sometimes\": supported values: "
          "\"ReadOnlyMany\", \"ReadWriteMany\", \"ReadWriteOnce\", \"ReadWriteOncePod\"\n" TEMPLATE_AT
          "spec.resources[storage]: Invalid value: \"0\": must be greater than zero" },
        { POD("{'name':'v','ephemeral':{'volumeClaimTemplate':{" CLAIM_SPEC "}}},"
              "{'name':'w','persistentVolumeClaim':{'claimName':'p-v'}},"
              "{'name':'x','persistentVolumeClaim':{'claimName':'p-x'}}"),
          "spec.volumes[1].persistentVolumeClaim.claimName: Invalid value: \"p-v\": must not reference a PVC "
          "that gets created for an ephemeral volume" },
    };
    check_rows(rows, ARRAY_LEN(rows));
}

TEST(pod_volume_claim_name_must_fit)
{
    char text[1024], name[254];

    memset(name, 'a', sizeof name);
    name[252] = '\0'; /* with "-v" one more than a name may have */
    snprintf(text, sizeof text,
             "{'metadata':{'name':'%s','namespace':'ns'},'spec':{'volumes':[{'name':'v','ephemeral':"
             "{'volumeClaimTemplate':{" CLAIM_SPEC "}}}],'containers':[{'name':'c','image':'i'}]}}",
             name);
    const char *errors = kind_errors(KIND_POD, WRITE_MAIN, NULL, text);
    assert_non_null(strstr(errors, "spec.volumes[0].name: Invalid value: \"v\": PVC name \"aaaa"));
    assert_non_null(strstr(errors, "-v\": must be no more than 253 characters"));
}

TEST(pod_volume_template_annotations_have_bounds)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(1 << 20);

    buf_add_cstr(&text,
                 "{'metadata':{'name':'p','namespace':'ns'},'spec':{'volumes':[{'name':'v','ephemeral':"
                 "{'volumeClaimTemplate':{" CLAIM_SPEC ",'metadata':{'annotations':{'a':'");
    for (size_t i = 0; i < (size_t)256 << 10; i++) /* one too many, with the key */
        buf_add_char(&text, 'x');
    buf_add_cstr(&text, "'}}}}}],'containers':[{'name':'c','image':'i'}]}}");
    assert_true(!text.failed);
    ASSERT_CREATE(KIND_POD, TEMPLATE_AT "metadata.annotations: Too long: may not be more than 262144 bytes",
                  buf_cstr(&text));
}

/* Sizes that would take hours if a look-up walked the list. */
TEST(pod_with_many_volumes_and_mounts)
{
    enum { COUNT = 20000 };
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(8 << 20);

    buf_add_cstr(&text, "{'metadata':{'name':'p','namespace':'ns'},'spec':{'volumes':[");
    for (int i = 0; i < COUNT; i++)
        buf_addf(&text, "%s{'name':'v%d','persistentVolumeClaim':{'claimName':'c%d'}}", i ? "," : "", i, i);
    buf_add_cstr(&text, "],'containers':[{'name':'c','image':'i','volumeMounts':[");
    for (int i = 0; i < COUNT; i++)
        buf_addf(&text, "%s{'name':'v%d','mountPath':'/%d'}", i ? "," : "", COUNT - 1 - i, i);
    buf_add_cstr(&text, "]}]}}");
    assert_int_equal(0, text.failed);
    ASSERT_CREATE(KIND_POD, "", buf_cstr(&text));
}

/* --- Views --- */

static const struct pod_volume *only_volume(const struct object *o)
{
    assert_int_equal(1, pod_of(o)->volumes.count);
    return &pod_of(o)->volumes.items[0];
}

TEST(pod_volume_types_and_claims)
{
    for (int type = POD_VOLUME_UNKNOWN + 1; type < POD_VOLUME_TYPE_COUNT; type++) {
        char text[512];
        snprintf(text, sizeof text, VOLUME("'%s':{'readOnly':true}"), pod_volume_type_names[type]);
        _cleanup_(object_unref_p) struct object *o = kind_object(KIND_POD, text);
        const struct pod_volume *v = only_volume(o);
        ASSERT_INT(type, v->type);
        ASSERT_STR("v", v->name);
        assert_true(v->is_read_only);
        assert_true((pod_claim_name(v) != NULL) ==
                    (type == POD_VOLUME_CLAIM || type == POD_VOLUME_EPHEMERAL));
        assert_true(pod_volume(pod_of(o), "v") == v);
    }
}

TEST(pod_volume_claim_names)
{
    _cleanup_(object_unref_p) struct object *claim =
        kind_object(KIND_POD, VOLUME("'persistentVolumeClaim':{'claimName':'data'}"));
    _cleanup_(object_unref_p) struct object *ephemeral =
        kind_object(KIND_POD, VOLUME("'ephemeral':{'volumeClaimTemplate':{'spec':{}}}"));
    _cleanup_(object_unref_p) struct object *future = kind_object(KIND_POD, VOLUME("'future':{}"));

    ASSERT_STR("data", pod_claim_name(only_volume(claim)));
    assert_false(only_volume(claim)->is_read_only);
    ASSERT_STR("p-v", pod_claim_name(only_volume(ephemeral)));
    ASSERT_INT(POD_VOLUME_UNKNOWN, only_volume(future)->type);
    assert_null(pod_claim_name(only_volume(future)));
}

TEST(pod_volume_view_of_directories)
{
    _cleanup_(object_unref_p) struct object *host =
        kind_object(KIND_POD, VOLUME("'hostPath':{'path':'/a','type':'File'}"));
    _cleanup_(object_unref_p) struct object *memory =
        kind_object(KIND_POD, VOLUME("'emptyDir':{'medium':'Memory','sizeLimit':'1Ki'}"));
    _cleanup_(object_unref_p) struct object *disk = kind_object(KIND_POD, VOLUME("'emptyDir':{}"));

    ASSERT_STR("/a", only_volume(host)->host_path->path);
    ASSERT_STR("File", only_volume(host)->host_path->type);
    ASSERT_STR("Memory", only_volume(memory)->empty_dir->medium);
    assert_true(only_volume(memory)->empty_dir->has_size_limit);
    ASSERT_INT(1024, quantity_value(&only_volume(memory)->empty_dir->size_limit));
    ASSERT_STR("", only_volume(disk)->empty_dir->medium);
    assert_false(only_volume(disk)->empty_dir->has_size_limit);
}

TEST(pod_volume_view_of_keys)
{
    _cleanup_(object_unref_p) struct object *secret =
        kind_object(KIND_POD, VOLUME("'secret':{'secretName':'s','optional':true,'defaultMode':256,'items':"
                                     "[{'key':'k','path':'a/b','mode':0},{'key':'l','path':'c'}]}"));
    _cleanup_(object_unref_p) struct object *map = kind_object(KIND_POD, VOLUME("'configMap':{'name':'m'}"));
    const struct pod_keyed *k = only_volume(secret)->keyed;

    ASSERT_STR("s", k->name);
    assert_true(k->is_optional);
    ASSERT_INT(256, k->default_mode);
    ASSERT_INT(2, k->items_count);
    ASSERT_STR("k", k->items[0].key);
    ASSERT_STR("a/b", k->items[0].path);
    ASSERT_INT(0, k->items[0].mode);
    ASSERT_INT(POD_MODE_UNSET, k->items[1].mode);
    ASSERT_STR("m", only_volume(map)->keyed->name);
    assert_false(only_volume(map)->keyed->is_optional);
    ASSERT_INT(0, only_volume(map)->keyed->items_count);
}

TEST(pod_volume_view_of_projections)
{
    _cleanup_(object_unref_p) struct object *o = kind_object(
        KIND_POD,
        VOLUME(
            "'projected':{'defaultMode':384,'sources':[{'secret':{'name':'s'}},{'configMap':{'name':'m',"
            "'optional':true}},{'downwardAPI':{'items':[{'path':'f','fieldRef':{'fieldPath':'metadata.uid'}},"
            "{'path':'r','mode':256,'resourceFieldRef':{'containerName':'c','resource':'limits.memory',"
            "'divisor':'1Mi'}}]}},{'serviceAccountToken':{'audience':'a','path':'t',"
            "'expirationSeconds':900}},{'clusterTrustBundle':{'name':'b','path':'c'}},"
            "{'podCertificate':{'keyType':'ED25519'}},{'other':{}}]}"));
    const struct pod_projected *p = only_volume(o)->projected;
    const struct pod_downward *w;

    ASSERT_INT(384, p->default_mode);
    ASSERT_INT(7, p->items_count);
    ASSERT_INT(PROJECTION_SECRET, p->items[0].type);
    ASSERT_STR("s", p->items[0].keyed->name);
    ASSERT_INT(POD_MODE_UNSET, p->items[0].keyed->default_mode);
    ASSERT_INT(PROJECTION_CONFIG_MAP, p->items[1].type);
    assert_true(p->items[1].keyed->is_optional);
    ASSERT_INT(PROJECTION_DOWNWARD_API, p->items[2].type);
    w = p->items[2].downward;
    ASSERT_INT(2, w->items_count);
    ASSERT_STR("f", w->items[0].path);
    ASSERT_STR("metadata.uid", w->items[0].field_path);
    ASSERT_STR("", w->items[0].resource);
    ASSERT_INT(POD_MODE_UNSET, w->items[0].mode);
    ASSERT_STR("limits.memory", w->items[1].resource);
    ASSERT_STR("c", w->items[1].container);
    ASSERT_INT(1 << 20, quantity_value(&w->items[1].divisor));
    ASSERT_INT(256, w->items[1].mode);
    ASSERT_INT(PROJECTION_TOKEN, p->items[3].type);
    ASSERT_STR("a", p->items[3].token->audience);
    ASSERT_STR("t", p->items[3].token->path);
    ASSERT_INT(900, p->items[3].token->expiration_seconds);
    ASSERT_INT(PROJECTION_TRUST_BUNDLE, p->items[4].type);
    ASSERT_STR("b", p->items[4].trust_bundle->name);
    ASSERT_STR("", p->items[4].trust_bundle->signer);
    ASSERT_INT(PROJECTION_CERTIFICATE, p->items[5].type);
    ASSERT_INT(PROJECTION_UNKNOWN, p->items[6].type);
}

TEST(pod_volume_view_of_a_downward_volume)
{
    _cleanup_(object_unref_p) struct object *o = kind_object(
        KIND_POD, VOLUME("'downwardAPI':{'defaultMode':1,'items':[{'path':'l','fieldRef':{'fieldPath':"
                         "'metadata.labels'}}]}"));

    ASSERT_INT(1, only_volume(o)->downward->default_mode);
    ASSERT_INT(1, only_volume(o)->downward->items_count);
    ASSERT_STR("metadata.labels", only_volume(o)->downward->items[0].field_path);
}

TEST(pod_volume_view_of_csi_and_disks)
{
    _cleanup_(object_unref_p) struct object *csi = kind_object(
        KIND_POD, VOLUME("'csi':{'driver':'d.io','readOnly':true,'fsType':'ext4','volumeAttributes':{'b':'2',"
                         "'a':'1'},'nodePublishSecretRef':{'name':'s'}}"));
    _cleanup_(object_unref_p) struct object *rbd =
        kind_object(KIND_POD, VOLUME("'rbd':{'monitors':['m1','m2'],'pool':'p','image':'i'}"));
    _cleanup_(object_unref_p) struct object *gce =
        kind_object(KIND_POD, VOLUME("'gcePersistentDisk':{'pdName':'g','readOnly':true}"));
    _cleanup_(object_unref_p) struct object *aws =
        kind_object(KIND_POD, VOLUME("'awsElasticBlockStore':{'volumeID':'w'}"));
    _cleanup_(object_unref_p) struct object *iscsi =
        kind_object(KIND_POD, VOLUME("'iscsi':{'targetPortal':'t','iqn':'iqn.q','lun':1}"));
    _cleanup_(object_unref_p) struct object *nfs =
        kind_object(KIND_POD, VOLUME("'nfs':{'server':'s','path':'/p'}"));
    _cleanup_(object_unref_p) struct object *fc = kind_object(KIND_POD, VOLUME("'fc':{'wwids':['w']}"));
    _cleanup_(object_unref_p) struct object *flex =
        kind_object(KIND_POD, VOLUME("'flexVolume':{'driver':'f','options':{'a':'b'}}"));

    ASSERT_STR("d.io", only_volume(csi)->csi->driver);
    ASSERT_STR("ext4", only_volume(csi)->csi->fs_type);
    ASSERT_STR("s", only_volume(csi)->csi->secrets[CSI_SECRET_NODE_PUBLISH].name);
    assert_true(only_volume(csi)->is_read_only);
    ASSERT_INT(2, only_volume(csi)->csi->attributes.count);
    ASSERT_STR("a", only_volume(csi)->csi->attributes.items[0].key);
    ASSERT_STR("i", only_volume(rbd)->disk->id);
    ASSERT_STR("p", only_volume(rbd)->disk->pool);
    ASSERT_INT(2, only_volume(rbd)->disk->monitors.count);
    ASSERT_STR("g", only_volume(gce)->disk->id);
    assert_true(only_volume(gce)->is_read_only);
    ASSERT_STR("w", only_volume(aws)->disk->id);
    ASSERT_STR("iqn.q", only_volume(iscsi)->iscsi->iqn);
    ASSERT_STR("/p", only_volume(nfs)->nfs->path);
    ASSERT_STR("w", only_volume(fc)->fc->wwids.items[0]);
    ASSERT_STR("f", only_volume(flex)->flex->driver);
    ASSERT_STR("b", only_volume(flex)->flex->options.items[0].value);
}

/* What Kubernetes says comes first. */
TEST(pod_volume_warnings)
{
    static const char volumes[] = "{'spec':{'volumes':[{'name':'a','emptyDir':{}},"
                                  "{'name':'b','iscsi':{'targetPortal':'t','iqn':'iqn.q','lun':1}},"
                                  "{'name':'c','gitRepo':{'repository':'r'}},{'name':'d','image':{}},"
                                  "{'name':'e','storageos':{}},{'name':'f','cinder':{'volumeID':'v'}}]}}";

    ASSERT_STR("spec.volumes[2].gitRepo: deprecated in v1.11, and disabled by default in v1.33+\n"
               "spec.volumes[4].storageOS: deprecated in v1.22, non-functional in v1.25+\n"
               "spec.volumes[1].iscsi: Berth's node agent cannot mount iscsi volumes; only nodes run by a "
               "kubelet can\n"
               "spec.volumes[2].gitRepo: Berth's node agent cannot mount gitRepo volumes\n"
               "spec.volumes[3].image: Berth's node agent cannot mount image volumes; only nodes run by a "
               "kubelet can\n"
               "spec.volumes[4].storageos: Berth's node agent cannot mount storageos volumes",
               kind_warnings(KIND_POD, NULL, volumes));
    ASSERT_STR("", kind_warnings(KIND_POD, volumes, volumes));
}

TEST_MAIN()
