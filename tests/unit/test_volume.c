/* PersistentVolume: defaults, rules, what may not change, what the server sees to, the view. */
#include "tests/unit/test_prepare.h"

#include "api/volume.h"

#define META "'kind':'PersistentVolume','apiVersion':'v1','metadata':{'name':'v'}"
#define VOLUME_RAW(rest) "{" META rest "}"
#define VOLUME(spec) VOLUME_RAW(",'spec':{" spec "}")
#define PLAIN "'capacity':{'storage':'5Gi'},'accessModes':['ReadWriteOnce']"
#define NFS "'nfs':{'server':'s','path':'/p'}"
#define LOCAL "'local':{'path':'/mnt/disk'}"
#define CSI "'csi':{'driver':'d.io','volumeHandle':'h'"
#define DEFAULTS ",'persistentVolumeReclaimPolicy':'Retain','volumeMode':'Filesystem'"
#define EXPRESSION(key, rest) "{'key':'" key "','operator':'In','values':['a']" rest "}"
#define AFFINITY(expressions) \
    "'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[" expressions "]}]}}"
#define HOSTNAME AFFINITY(EXPRESSION("kubernetes.io/hostname", ""))

/* --- Form --- */

TEST(volume_defaults_and_canonical_form)
{
    ASSERT_STORED(
        KIND_VOLUME,
        "{" META ",'spec':{'capacity':{'storage':'1Gi'}," NFS ",'accessModes':['ReadWriteOnce']" DEFAULTS
        "},'status':{'phase':'Pending'}}",
        VOLUME("'mountOptions':[],'accessModes':['ReadWriteOnce'],'claimRef':null,"
               "'nfs':{'path':'/p','server':'s','readOnly':false},'capacity':{'storage':'1024Mi'}"));
    ASSERT_STORED(KIND_VOLUME,
                  "{" META ",'spec':{'persistentVolumeReclaimPolicy':'Retain','volumeMode':'Filesystem'},"
                  "'status':{'phase':'Pending'}}",
                  "{" META "}");
    ASSERT_STORED(KIND_VOLUME,
                  "{" META ",'spec':{'capacity':{'storage':'2m'}" DEFAULTS "},'status':{'phase':'Bound'}}",
                  VOLUME_RAW(",'spec':{'capacity':{'storage':'1500u'}},'status':{'phase':'Bound'}"));
}

TEST(apiserver_61_capacity_in_canonical_form)
{
    assert_non_null(strstr(kind_text(KIND_VOLUME, VOLUME("'capacity':{'storage':'1024Mi'}")),
                           "\"capacity\":{\"storage\":\"1Gi\"}"));
}

TEST(volume_wrong_types)
{
    static const struct {
        const char *text, *error;
    } rows[] = {
        { VOLUME("'hostPath':5"), "json: cannot unmarshal number into Go struct field "
                                  "PersistentVolumeSpec.spec.hostPath of type v1.HostPathVolumeSource" },
        { VOLUME("'nfs':{'readOnly':'yes'}"), "json: cannot unmarshal string into Go struct field "
                                              "NFSVolumeSource.spec.nfs.readOnly of type bool" },
        { VOLUME("'accessModes':'ReadWriteOnce'"),
          "json: cannot unmarshal string into Go struct field PersistentVolumeSpec.spec.accessModes of type "
          "[]v1.PersistentVolumeAccessMode" },
        { VOLUME("'volumeMode':true"),
          "json: cannot unmarshal bool into Go struct field "
          "PersistentVolumeSpec.spec.volumeMode of type v1.PersistentVolumeMode" },
        { VOLUME("'iscsi':{'lun':4294967296}"),
          "json: cannot unmarshal number 4294967296 into Go struct field "
          "ISCSIPersistentVolumeSource.spec.iscsi.lun of type int32" },
        { VOLUME("'capacity':{'storage':'5 Gi'}"), "quantities must match the regular expression "
                                                   "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'" },
        { VOLUME_RAW(",'status':{'phase':1}"),
          "json: cannot unmarshal number into Go struct field PersistentVolumeStatus.status.phase of type "
          "v1.PersistentVolumePhase" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_STR(rows[i].error, kind_text(KIND_VOLUME, rows[i].text));
}

TEST(volume_unknown_and_duplicate_fields)
{
    ASSERT_STR("unknown field \"spec.nfs.foo\", duplicate field \"spec.capacity\", unknown field \"Spec\", "
               "unknown field \"status.bar\"",
               kind_report(KIND_VOLUME, VOLUME_RAW(",'spec':{'nfs':{'server':'s','foo':1},'capacity':{},"
                                                   "'capacity':{}},'Spec':{},'status':{'bar':2}")));
    ASSERT_STR("", kind_report(KIND_VOLUME,
                               VOLUME(PLAIN "," NFS ",'claimRef':{'kind':'x','apiVersion':'v1','name':'c',"
                                            "'namespace':'n','uid':'u','resourceVersion':'1'}")));
}

/* --- Rules --- */

TEST(apiserver_57_empty_volume_spec)
{
    ASSERT_CREATE(KIND_VOLUME,
                  "spec.accessModes: Required value\n"
                  "spec.capacity: Required value\n"
                  "spec.capacity: Unsupported value: null: supported values: \"storage\"\n"
                  "spec: Required value: must specify a volume type",
                  VOLUME(""));
}

TEST(apiserver_58_local_volume_without_affinity)
{
    ASSERT_CREATE(KIND_VOLUME, "spec.nodeAffinity: Required value: Local volume requires node affinity",
                  VOLUME(PLAIN "," LOCAL));
    ASSERT_CREATE(KIND_VOLUME, "", VOLUME(PLAIN "," LOCAL "," HOSTNAME));
}

TEST(apiserver_62_bad_name)
{
    ASSERT_CREATE(
        KIND_VOLUME,
        "metadata.name: Invalid value: \"Bad_Name\": a lowercase RFC 1123 subdomain must consist of lower "
        "case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric "
        "character (e.g. 'example.com', regex used for validation is "
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        "{'metadata':{'name':'Bad_Name'},'spec':{" PLAIN "," NFS "}}");
    ASSERT_CREATE(KIND_VOLUME, "metadata.namespace: Forbidden: not allowed on this type",
                  "{'metadata':{'name':'v','namespace':'n'},'spec':{" PLAIN "," NFS "}}");
}

TEST(volume_access_modes)
{
    static const struct {
        const char *modes, *errors;
    } rows[] = {
        { "'ReadWriteOnce','ReadOnlyMany','ReadWriteMany'", "" },
        { "'ReadWriteOncePod'", "" },
        { "'ReadWriteOncePod','ReadWriteOncePod'", "" },
        { "", "spec.accessModes: Required value" },
        { "'RWO'", "spec.accessModes: Unsupported value: \"RWO\": supported values: \"ReadOnlyMany\", "
                   "\"ReadWriteMany\", \"ReadWriteOnce\", \"ReadWriteOncePod\"" },
        { "'RWO','ReadWriteOncePod'",
          "spec.accessModes: Unsupported value: \"RWO\": supported values: \"ReadOnlyMany\", "
          "\"ReadWriteMany\", \"ReadWriteOnce\", \"ReadWriteOncePod\"" },
        { "'ReadWriteOncePod','ReadOnlyMany'",
          "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[512];
        (void)snprintf(text, sizeof text, VOLUME("'capacity':{'storage':'1'},'accessModes':[%s]," NFS),
                       rows[i].modes);
        ASSERT_CREATE(KIND_VOLUME, rows[i].errors, text);
    }
}

TEST(volume_capacity)
{
    static const struct {
        const char *capacity, *errors;
    } rows[] = {
        { "'storage':'1'", "" },
        { "'storage':1500", "" },
        { "'storage':'1500m'", "" },
        { "'storage':'0'", "spec.capacity[storage]: Invalid value: \"0\": must be greater than zero" },
        { "'storage':'0Gi'", "spec.capacity[storage]: Invalid value: \"0\": must be greater than zero" },
        { "'storage':'-1'", "spec.capacity[storage]: Invalid value: -1: must be a valid resource quantity\n"
                            "spec.capacity[storage]: Invalid value: \"-1\": must be greater than zero" },
        { "'cpu':'1'", "spec.capacity: Unsupported value: {\"cpu\":\"1\"}: supported values: \"storage\"" },
        { "'storage':'5Gi','cpu':'0'",
          "spec.capacity: Unsupported value: {\"cpu\":\"0\",\"storage\":\"5Gi\"}: supported values: "
          "\"storage\"\n"
          "spec.capacity[cpu]: Invalid value: \"0\": must be greater than zero" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[512];
        (void)snprintf(text, sizeof text, VOLUME("'capacity':{%s},'accessModes':['ReadWriteOnce']," NFS),
                       rows[i].capacity);
        ASSERT_CREATE(KIND_VOLUME, rows[i].errors, text);
    }
}

TEST(volume_other_rules)
{
    static const struct {
        const char *text, *errors;
    } rows[] = {
        { VOLUME(PLAIN "," NFS ",'persistentVolumeReclaimPolicy':'Recycle'"), "" },
        { VOLUME(PLAIN "," NFS ",'persistentVolumeReclaimPolicy':'Keep'"),
          "spec.persistentVolumeReclaimPolicy: Unsupported value: \"Keep\": supported values: \"Delete\", "
          "\"Recycle\", \"Retain\"" },
        { VOLUME(PLAIN ",'hostPath':{'path':'/'},'persistentVolumeReclaimPolicy':'Delete'"), "" },
        { VOLUME(PLAIN ",'hostPath':{'path':'/a'},'persistentVolumeReclaimPolicy':'Recycle'"), "" },
        { VOLUME(PLAIN ",'hostPath':{'path':'a/..'},'persistentVolumeReclaimPolicy':'Recycle'"),
          "spec.hostPath.path: Invalid value: \"a/..\": must not contain '..'" },
        { VOLUME(PLAIN ",'hostPath':{'path':'//./'},'persistentVolumeReclaimPolicy':'Recycle'"),
          "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'" },
        { VOLUME(PLAIN ",'hostPath':{'path':'/a/../..'},'persistentVolumeReclaimPolicy':'Recycle'"),
          "spec.hostPath.path: Invalid value: \"/a/../..\": must not contain '..'\n"
          "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'" },
        { VOLUME(PLAIN "," NFS ",'storageClassName':'fast.local'"), "" },
        { VOLUME(PLAIN "," NFS ",'storageClassName':''"), "" },
        { VOLUME(PLAIN "," NFS ",'volumeMode':'Block'"), "" },
        { VOLUME(PLAIN "," NFS ",'volumeMode':''"),
          "spec.volumeMode: Unsupported value: \"\": supported values: \"Block\", \"Filesystem\"" },
        { VOLUME(PLAIN "," CSI "},'volumeAttributesClassName':'gold'"), "" },
        { VOLUME(PLAIN "," CSI "},'volumeAttributesClassName':''"),
          "spec.volumeAttributesClassName: Required value: an empty string is disallowed" },
        { VOLUME(PLAIN "," NFS ",'volumeAttributesClassName':'gold'"),
          "spec.csi: Required value: has to be specified when using volumeAttributesClassName" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_CREATE(KIND_VOLUME, rows[i].errors, rows[i].text);
}

TEST(volume_class_names)
{
    static const char subdomain[] =
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
        "must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
    char expected[1024];

    (void)snprintf(expected, sizeof expected,
                   "spec.storageClassName: Invalid value: \"Fast\": %s\n"
                   "spec.volumeAttributesClassName: Invalid value: \"Gold\": %s",
                   subdomain, subdomain);
    ASSERT_CREATE(KIND_VOLUME, expected,
                  VOLUME(PLAIN "," CSI "},'storageClassName':'Fast','volumeAttributesClassName':'Gold'"));
}

TEST(volume_affinity)
{
    static const struct {
        const char *affinity, *errors;
    } rows[] = {
        { HOSTNAME, "" },
        { "'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'n','operator':'Gt',"
          "'values':['5']},{'key':'e','operator':'Exists'}],'matchFields':[{'key':'metadata.name',"
          "'operator':'In','values':['node-1']}]}]}}",
          "" },
        { "'nodeAffinity':{}",
          "spec.nodeAffinity.required: Required value: must specify required node constraints" },
        { "'nodeAffinity':{'required':{}}", "spec.nodeAffinity.required.nodeSelectorTerms: Required value: "
                                            "must have at least one node selector "
                                            "term" },
        { AFFINITY("{'key':'a','operator':'In'}"), "spec.nodeAffinity.required.nodeSelectorTerms[0]."
                                                   "matchExpressions[0].values: Required value: must be "
                                                   "specified when `operator` is 'In' or 'NotIn'" },
        { AFFINITY("{'key':'a','operator':'Exists','values':['b']}"),
          "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].values: Forbidden: may not be "
          "specified when `operator` is 'Exists' or 'DoesNotExist'" },
        { AFFINITY("{'key':'a','operator':'Lt','values':['1','2']}"),
          "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].values: Required value: must "
          "be "
          "specified single value when `operator` is 'Lt' or 'Gt'" },
        { AFFINITY("{'key':'a','operator':'Foo'}"), "spec.nodeAffinity.required.nodeSelectorTerms[0]."
                                                    "matchExpressions[0].operator: Invalid value: \"Foo\": "
                                                    "not a valid selector operator" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[1024];
        (void)snprintf(text, sizeof text, VOLUME(PLAIN "," LOCAL ",%s"), rows[i].affinity);
        ASSERT_CREATE(KIND_VOLUME, rows[i].errors, text);
    }
}

TEST(volume_mount_options_annotation)
{
    static const char refused[] =
        "metadata.annotations.volume.beta.kubernetes.io/mount-options: Forbidden: may not "
        "specify mount options for this volume type";
    static const struct {
        const char *source;
        bool ok;
    } rows[] = {
        { NFS, true },
        { "'hostPath':{'path':'/a'}", false },
        { LOCAL "," HOSTNAME, false },
        { CSI "}", false },
        { "'fc':{'wwids':['w']}", false },
        { "'flexVolume':{'driver':'d'}", false },
        { "'iscsi':{'targetPortal':'p','iqn':'iqn.2001-04.com.example:x','lun':0}", true },
        { "'glusterfs':{'endpoints':'e','path':'p'}", true },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[1024];
        (void)snprintf(
            text, sizeof text,
            "{'metadata':{'name':'v','annotations':{'volume.beta.kubernetes.io/mount-options':'ro'}},"
            "'spec':{" PLAIN ",%s}}",
            rows[i].source);
        ASSERT_CREATE(KIND_VOLUME, rows[i].ok ? "" : refused, text);
    }
}

/* --- Change --- */

TEST(volume_may_change)
{
    ASSERT_UPDATE(KIND_VOLUME, "", VOLUME(PLAIN "," NFS),
                  VOLUME("'capacity':{'storage':'9Gi'},'accessModes':['ReadOnlyMany']," NFS
                         ",'claimRef':{'name':'c','namespace':'n'},'persistentVolumeReclaimPolicy':'Delete',"
                         "'storageClassName':'other','mountOptions':['ro']," HOSTNAME));
    ASSERT_UPDATE(KIND_VOLUME, "", VOLUME(PLAIN "," CSI "}"),
                  VOLUME(PLAIN "," CSI "},'volumeAttributesClassName':'gold'"));
    ASSERT_UPDATE(KIND_VOLUME, "", VOLUME(PLAIN "," CSI "},'volumeAttributesClassName':'gold'"),
                  VOLUME(PLAIN "," CSI "},'volumeAttributesClassName':'silver'"));
}

TEST(volume_source_stays)
{
    static const char words[] =
        "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation\n";
    static const struct {
        const char *old, *text, *diff;
    } rows[] = {
        { NFS, "'nfs':{'server':'s','path':'/q','readOnly':true}",
          "- nfs.path: \"/p\"\n+ nfs.path: \"/q\"\n+ nfs.readOnly: true\n" },
        { NFS, "'hostPath':{'path':'/p'}",
          "+ hostPath: {\"path\":\"/p\",\"type\":\"\"}\n- nfs: {\"server\":\"s\",\"path\":\"/p\"}\n" },
        { CSI ",'volumeAttributes':{'a':'1'}}", CSI ",'volumeAttributes':{'a':'2'}}",
          "- csi.volumeAttributes.a: \"1\"\n+ csi.volumeAttributes.a: \"2\"\n" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char old[512], text[512], expected[1024];
        (void)snprintf(old, sizeof old, VOLUME(PLAIN ",%s"), rows[i].old);
        (void)snprintf(text, sizeof text, VOLUME(PLAIN ",%s"), rows[i].text);
        (void)snprintf(expected, sizeof expected, "%s%s", words, rows[i].diff);
        ASSERT_UPDATE(KIND_VOLUME, expected, old, text);
    }
}

TEST(volume_expand_secret_comes_once)
{
#define SECRET(name) ",'controllerExpandSecretRef':{'name':'" name "','namespace':'n'}"
    ASSERT_UPDATE(KIND_VOLUME, "", VOLUME(PLAIN "," CSI "}"), VOLUME(PLAIN "," CSI SECRET("s") "}"));
    ASSERT_UPDATE(
        KIND_VOLUME,
        "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation\n"
        "- csi.controllerExpandSecretRef.name: \"s\"\n+ csi.controllerExpandSecretRef.name: \"t\"\n",
        VOLUME(PLAIN "," CSI SECRET("s") "}"), VOLUME(PLAIN "," CSI SECRET("t") "}"));
    ASSERT_UPDATE(
        KIND_VOLUME,
        "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation\n"
        "+ csi.readOnly: true\n+ csi.controllerExpandSecretRef: {\"name\":\"s\",\"namespace\":\"n\"}\n",
        VOLUME(PLAIN "," CSI "}"), VOLUME(PLAIN "," CSI ",'readOnly':true" SECRET("s") "}"));
    ASSERT_UPDATE(
        KIND_VOLUME,
        "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation\n"
        "- csi.controllerExpandSecretRef: {\"name\":\"s\",\"namespace\":\"n\"}\n",
        VOLUME(PLAIN "," CSI SECRET("s") "}"), VOLUME(PLAIN "," CSI "}"));
}

TEST(volume_mode_and_attributes_class_stay)
{
    ASSERT_UPDATE(KIND_VOLUME, "volumeMode: Invalid value: \"Block\": field is immutable",
                  VOLUME(PLAIN "," NFS), VOLUME(PLAIN "," NFS ",'volumeMode':'Block'"));
    ASSERT_UPDATE(KIND_VOLUME,
                  "spec.volumeAttributesClassName: Forbidden: update from non-nil value to nil is forbidden",
                  VOLUME(PLAIN "," CSI "},'volumeAttributesClassName':'gold'"), VOLUME(PLAIN "," CSI "}"));
}

TEST(volume_affinity_comes_once)
{
#define FIXED(value) \
    "nodeAffinity: Invalid value: " value ": field is immutable, except for updating from beta label to GA"
#define TERM(key)                                                                  \
    "{\"required\":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"" key \
    "\",\"operator\":\"In\",\"values\":[\"a\"]}]}]}}"
#define BETA_ZONE "failure-domain.beta.kubernetes.io/zone"
#define ZONE "topology.kubernetes.io/zone"
    static const struct {
        const char *old, *text, *errors;
    } rows[] = {
        { "", "," AFFINITY(EXPRESSION("x", "")), "" },
        { "," AFFINITY(EXPRESSION("x", "")), "," AFFINITY(EXPRESSION("x", "")), "" },
        { "," AFFINITY(EXPRESSION("x", "")), "," AFFINITY(EXPRESSION("y", "")), FIXED(TERM("y")) },
        { "," AFFINITY(EXPRESSION("x", "")), "", FIXED("null") },
        { "," AFFINITY(EXPRESSION(BETA_ZONE, "")), "," AFFINITY(EXPRESSION(ZONE, "")), "" },
        { "," AFFINITY(EXPRESSION(ZONE, "")), "," AFFINITY(EXPRESSION(BETA_ZONE, "")),
          FIXED(TERM(BETA_ZONE)) },
        { "," AFFINITY(EXPRESSION(BETA_ZONE, "")),
          "," AFFINITY(EXPRESSION("topology.kubernetes.io/region", "")),
          FIXED(TERM("topology.kubernetes.io/region")) },
        /* each requirement moves by itself */
        { "," AFFINITY(EXPRESSION(BETA_ZONE, "") "," EXPRESSION("beta.kubernetes.io/os", "")),
          "," AFFINITY(EXPRESSION(BETA_ZONE, "") "," EXPRESSION("kubernetes.io/os", "")), "" },
        { "," AFFINITY(EXPRESSION("beta.kubernetes.io/arch", "") "," EXPRESSION(
              "beta.kubernetes.io/instance-type",
              "") "," EXPRESSION("failure-domain.beta.kubernetes.io/region", "")),
          "," AFFINITY(EXPRESSION("kubernetes.io/arch", "") "," EXPRESSION(
              "node.kubernetes.io/instance-type", "") "," EXPRESSION("topology.kubernetes.io/region", "")),
          "" },
        { "," AFFINITY(EXPRESSION(BETA_ZONE, "") "," EXPRESSION("x", "")), "," AFFINITY(EXPRESSION(ZONE, "")),
          FIXED(TERM(ZONE)) },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char old[1024], text[1024];
        (void)snprintf(old, sizeof old, VOLUME(PLAIN "," NFS "%s"), rows[i].old);
        (void)snprintf(text, sizeof text, VOLUME(PLAIN "," NFS "%s"), rows[i].text);
        ASSERT_UPDATE(KIND_VOLUME, rows[i].errors, old, text);
    }
    ASSERT_UPDATE(KIND_VOLUME,
                  FIXED("{\"required\":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"" ZONE
                        "\",\"operator\":\"In\",\"values\":[\"b\"]}]}]}}"),
                  VOLUME(PLAIN "," NFS "," AFFINITY(EXPRESSION(BETA_ZONE, ""))),
                  VOLUME(PLAIN "," NFS "," AFFINITY("{'key':'" ZONE "','operator':'In','values':['b']}")));
}

TEST(volume_status_write_checks_no_spec)
{
    ASSERT_STATUS(KIND_VOLUME, "", VOLUME(PLAIN "," NFS), VOLUME_RAW(",'status':{'phase':'Bound'}"));
    ASSERT_STATUS(KIND_VOLUME, "metadata.name: Invalid value: \"w\": field is immutable",
                  VOLUME(PLAIN "," NFS), "{'metadata':{'name':'w'},'status':{'phase':'Bound'}}");
}

/* --- Preparation --- */

#define SPEC ",'spec':{" PLAIN "," NFS DEFAULTS "}"
#define STORED(phase_and_time)                                                                        \
    "{" META ",'spec':{'capacity':{'storage':'5Gi'}," NFS ",'accessModes':['ReadWriteOnce']" DEFAULTS \
    "},'status':{" phase_and_time "}}"
#define NOW "'lastPhaseTransitionTime':'2024-05-01T10:00:00Z'"
#define BEFORE "'lastPhaseTransitionTime':'2024-01-01T00:00:00Z'"
#define LATER "'lastPhaseTransitionTime':'2025-01-01T00:00:00Z'"

TEST(volume_is_created_pending)
{
    ASSERT_PREPARED(KIND_VOLUME, WRITE_MAIN, STORED("'phase':'Pending'," NOW), NULL,
                    VOLUME_RAW(SPEC ",'status':{'phase':'Bound','message':'m'," BEFORE "}"));
}

TEST(volume_main_write_keeps_status)
{
    ASSERT_PREPARED(KIND_VOLUME, WRITE_MAIN, STORED("'phase':'Available'," BEFORE),
                    VOLUME_RAW(SPEC ",'status':{'phase':'Available'," BEFORE "}"),
                    VOLUME_RAW(SPEC ",'status':{'phase':'Bound'}"));
}

TEST(volume_phase_time)
{
    static const struct {
        const char *old, *text, *stored;
    } rows[] = {
        { "'phase':'Bound'," BEFORE, "'phase':'Bound'", "'phase':'Bound'," BEFORE },
        { "'phase':'Bound'", "'phase':'Bound'", "'phase':'Bound'" },
        { "'phase':'Bound'," BEFORE, "'phase':'Bound'," LATER, "'phase':'Bound'," LATER },
        { "'phase':'Pending'," BEFORE, "'phase':'Bound'", "'phase':'Bound'," NOW },
        { "'phase':'Pending'", "'phase':'Bound'", "'phase':'Bound'," NOW },
        { "'phase':'Pending'," BEFORE, "'phase':'Bound'," BEFORE, "'phase':'Bound'," NOW },
        { "'phase':'Pending'," BEFORE, "'phase':'Bound','message':'m'," LATER,
          "'phase':'Bound','message':'m'," LATER },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char old[512], text[512], stored[512];
        (void)snprintf(old, sizeof old, VOLUME_RAW(SPEC ",'status':{%s}"), rows[i].old);
        (void)snprintf(text, sizeof text, VOLUME_RAW(",'spec':{},'status':{%s}"), rows[i].text);
        (void)snprintf(stored, sizeof stored, STORED("%s"), rows[i].stored);
        ASSERT_PREPARED(KIND_VOLUME, WRITE_STATUS, stored, old, text);
    }
}

/* --- The view --- */

TEST(volume_view)
{
    _cleanup_(object_unref_p) struct object *o = kind_object(
        KIND_VOLUME,
        "{'metadata':{'name':'v','resourceVersion':'7'},'spec':{'capacity':{'storage':'5Gi'},'accessModes':"
        "['ReadWriteMany','ReadWriteOnce']," NFS ",'claimRef':{'namespace':'n','name':'c','uid':'u',"
        "'resourceVersion':'42'},'persistentVolumeReclaimPolicy':'Delete','storageClassName':'fast',"
        "'mountOptions':['ro','nolock'],'volumeMode':'Block','volumeAttributesClassName':'gold'},"
        "'status':{'phase':'Failed','message':'why','reason':'because','lastPhaseTransitionTime':"
        "'2024-05-01T10:00:00Z'}}");
    const struct volume *v = volume_of(o);

    ASSERT_INT(7, o->revision);
    assert_true(v->has_capacity);
    ASSERT_INT(5368709120, quantity_value(&v->capacity));
    ASSERT_INT(ACCESS_RWO | ACCESS_RWX, v->modes);
    assert_true(v->claim.is_set);
    ASSERT_STR("n", v->claim.ns);
    ASSERT_STR("c", v->claim.name);
    ASSERT_STR("u", v->claim.uid);
    ASSERT_STR("42", v->claim.revision);
    ASSERT_INT(RECLAIM_DELETE, v->reclaim);
    ASSERT_STR("fast", v->class);
    ASSERT_STR("fast", v->spec_class);
    ASSERT_STR("gold", v->attributes_class);
    ASSERT_INT(2, v->mount_options.count);
    ASSERT_STR("nolock", v->mount_options.items[1]);
    ASSERT_INT(VOLUME_MODE_BLOCK, v->mode);
    assert_null(v->affinity);
    ASSERT_INT(VOLUME_FAILED, v->phase);
    ASSERT_STR("why", v->message);
    ASSERT_STR("because", v->reason);
    ASSERT_INT(1714557600, v->phase_since.seconds);
    ASSERT_INT(SOURCE_NFS, v->source.kind);
    ASSERT_STR("/p", v->source.nfs->path);
}

TEST(volume_view_of_an_empty_volume)
{
    _cleanup_(object_unref_p) struct object *o = kind_object(KIND_VOLUME, "{'metadata':{'name':'v'}}");
    const struct volume *v = volume_of(o);

    assert_false(v->has_capacity);
    assert_false(v->claim.is_set);
    ASSERT_STR("", v->claim.uid);
    ASSERT_INT(0, v->modes);
    ASSERT_INT(RECLAIM_RETAIN, v->reclaim);
    ASSERT_INT(VOLUME_MODE_FILESYSTEM, v->mode);
    ASSERT_INT(VOLUME_PHASE_UNSET, v->phase);
    ASSERT_INT(SOURCE_NONE, v->source.kind);
    ASSERT_STR("", v->class);
    ASSERT_STR("", v->attributes_class);
    ASSERT_STR("", v->message);
    assert_true(timestamp_is_zero(v->phase_since));
}

TEST(volume_view_of_what_others_wrote)
{
    _cleanup_(object_unref_p) struct object *o = kind_object(
        KIND_VOLUME, "{'metadata':{'name':'v','annotations':{'volume.beta.kubernetes.io/storage-class':''}},"
                     "'spec':{'accessModes':['ReadWriteFoo'],'persistentVolumeReclaimPolicy':'Shred',"
                     "'storageClassName':'fast','claimRef':{}},'status':{'phase':'Dreaming'}}");
    const struct volume *v = volume_of(o);

    ASSERT_STR("", v->class); /* the annotation wins, even empty */
    ASSERT_STR("fast", v->spec_class);
    ASSERT_INT(ACCESS_UNKNOWN, v->modes);
    ASSERT_INT(RECLAIM_UNKNOWN, v->reclaim);
    ASSERT_INT(VOLUME_PHASE_UNSET, v->phase);
    assert_true(v->claim.is_set);
}

TEST(volume_phase_names_both_ways)
{
    for (int i = 0; i < VOLUME_PHASE_COUNT; i++)
        ASSERT_INT(i, volume_phase_parse(str_of(volume_phase_name((enum volume_phase)i))));
    ASSERT_STR("Released", volume_phase_name(VOLUME_RELEASED));
    ASSERT_INT(VOLUME_PHASE_UNSET, volume_phase_parse(STR_LIT("bound")));
}

TEST(volume_kind_row)
{
    _cleanup_(object_unref_p) struct object *o = kind_object(KIND_VOLUME, VOLUME(PLAIN "," NFS));

    assert_ptr_equal(&volume_kind, kind_by_word(STR_LIT("pv")));
    assert_ptr_equal(&volume_kind, kind_by_plural(STR_LIT(""), STR_LIT("v1"), STR_LIT("persistentvolumes")));
    ASSERT_STR("v", object_field(o, "metadata.name"));
    ASSERT_STR("", object_field(o, "metadata.namespace"));
    assert_null(object_field(o, "status.phase"));
}

TEST(volume_warnings)
{
    static const struct {
        const char *text, *warnings;
    } rows[] = {
        { "{'spec':{'nfs':{'server':'s','path':'/'}}}", "" },
        { "{'spec':{'persistentVolumeReclaimPolicy':'Recycle'}}",
          "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the "
          "recommended approach is to use dynamic provisioning." },
        { "{'metadata':{'annotations':{'volume.beta.kubernetes.io/storage-class':'',"
          "'volume.beta.kubernetes.io/mount-options':'ro'}}}",
          "metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "
          "\"storageClassName\" attribute instead\n"
          "metadata.annotations[volume.beta.kubernetes.io/mount-options]: deprecated since v1.31; use "
          "\"mountOptions\" attribute instead" },
        { "{'spec':{'cephfs':{}}}", "spec.cephfs: deprecated in v1.28, non-functional in v1.31+\n"
                                    "spec.cephfs: Berth's node agent cannot mount cephfs volumes" },
        { "{'spec':{'photonPersistentDisk':{}}}",
          "spec.photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+\n"
          "spec.photonPersistentDisk: Berth's node agent cannot mount photonPersistentDisk volumes" },
        { "{'spec':{'scaleIO':{}}}", "spec.scaleIO: deprecated in v1.16, non-functional in v1.22+\n"
                                     "spec.scaleIO: Berth's node agent cannot mount scaleIO volumes" },
        { "{'spec':{'storageos':{}}}", "spec.storageOS: deprecated in v1.22, non-functional in v1.25+\n"
                                       "spec.storageos: Berth's node agent cannot mount storageos volumes" },
        { "{'spec':{'glusterfs':{}}}", "spec.glusterfs: deprecated in v1.25, non-functional in v1.26+\n"
                                       "spec.glusterfs: Berth's node agent cannot mount glusterfs volumes" },
        { "{'spec':{'rbd':{}}}", "spec.rbd: deprecated in v1.28, non-functional in v1.31+\n"
                                 "spec.rbd: Berth's node agent cannot mount rbd volumes" },
        { "{'spec':{'iscsi':{}}}",
          "spec.iscsi: Berth's node agent cannot mount iscsi volumes; only nodes run by a kubelet can" },
        { "{'spec':{'flocker':{}}}", "spec.flocker: Berth's node agent cannot mount flocker volumes" },
        { "{'spec':{'awsElasticBlockStore':{}}}", "" },
        { "{'spec':{'flexVolume':{}}}", "" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_STR(rows[i].warnings, kind_warnings(KIND_VOLUME, NULL, rows[i].text));
    /* Not to the binder and others who write the rest of it. */
    ASSERT_STR("", kind_warnings(KIND_VOLUME, "{'spec':{'fc':{}}}", "{'spec':{'fc':{},'claimRef':{}}}"));
}

TEST_MAIN()
