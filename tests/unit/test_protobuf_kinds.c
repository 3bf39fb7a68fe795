/* Protobuf bodies kind by kind: what kubectl sends, every number of every kind, and the tables against the
 * schemas. */
#include "tests/unit/test_protobuf.h"

#include "api/kind.h"
#include "apiserver/resource.h"

/* --- Bodies as kubectl 1.32 sends them --- */

static const struct {
    const char *hex;
    const char *expected; /* in canonical form */
} captured[] = {
    /* create namespace team-a */
    { "6b3873000a0f0a02763112094e616d657370616365121e0a160a067465616d2d6112001a0022002a0032003800420012001a"
      "020a001a002200",
      "{'kind':'Namespace','apiVersion':'v1','metadata':{'name':'team-a'},'spec':{},'status':{}}" },
    /* create configmap settings --from-literal=color=blue --from-literal=size= */
    { "6b3873000a0f0a0276311209436f6e6669674d617012330a180a0873657474696e677312001a0022002a0032003800420012"
      "0d0a05636f6c6f721204626c756512080a0473697a6512001a002200",
      "{'kind':'ConfigMap','apiVersion':'v1','metadata':{'name':'settings'},'data':{'color':'blue','size':''}"
      "}" },
    /* create configmap blob --from-file=bin */
    { "6b3873000a0f0a0276311209436f6e6669674d617012230a140a04626c6f6212001a0022002a003200380042001a0b0a0362"
      "696e120461ff00621a002200",
      "{'kind':'ConfigMap','apiVersion':'v1','metadata':{'name':'blob'},'binaryData':{'bin':'Yf8AYg=='}}" },
    /* create secret generic login --from-literal=user=admin --from-literal=password= */
    { "6b3873000a0c0a027631120653656372657412360a150a056c6f67696e12001a0022002a00320038004200120c0a08706173"
      "73776f72641200120d0a0475736572120561646d696e1a001a002200",
      "{'kind':'Secret','apiVersion':'v1','metadata':{'name':'login'},'data':{'password':'','user':"
      "'YWRtaW4='}}" },
    /* create serviceaccount builder -n shop */
    { "6b3873000a140a027631120e536572766963654163636f756e74121d0a1b0a076275696c64657212001a0473686f7022002a"
      "003200380042001a002200",
      "{'kind':'ServiceAccount','apiVersion':'v1','metadata':{'name':'builder','namespace':'shop'}}" },
    /* create token builder --duration=1h --audience=vault --bound-object-kind=Secret … */
    { "6b3873000a280a1861757468656e7469636174696f6e2e6b38732e696f2f7631120c546f6b656e52657175657374125f0a10"
      "0a0012001a0022002a0032003800420012450a057661756c741a390a06536563726574120276311a056c6f67696e22243131"
      "3131313131312d323232322d333333332d343434342d35353535353535353535353520901c1a040a0012001a002200",
      "{'kind':'TokenRequest','apiVersion':'authentication.k8s.io/v1','metadata':{},'spec':{'audiences':"
      "['vault'],'expirationSeconds':3600,'boundObjectRef':{'kind':'Secret','apiVersion':'v1','name':'login',"
      "'uid':'11111111-2222-3333-4444-555555555555'}}}" },
    /* create token builder */
    { "6b3873000a280a1861757468656e7469636174696f6e2e6b38732e696f2f7631120c546f6b656e52657175657374121a0a10"
      "0a0012001a0022002a0032003800420012001a040a0012001a002200",
      "{'kind':'TokenRequest','apiVersion':'authentication.k8s.io/v1','metadata':{},'spec':{}}" },
    /* auth can-i create pv */
    { "6b3873000a320a17617574686f72697a6174696f6e2e6b38732e696f2f7631121753656c665375626a656374416363657373"
      "526576696577123d0a100a0012001a0022002a00320038004200121f0a1d0a0764656661756c7412066372656174651a0022"
      "002a02707632003a001a08080012001a0020001a002200",
      "{'kind':'SelfSubjectAccessReview','apiVersion':'authorization.k8s.io/v1','metadata':{},'spec':"
      "{'resourceAttributes':{'namespace':'default','verb':'create','resource':'pv'}}}" },
    /* auth can-i get /metrics */
    { "6b3873000a320a17617574686f72697a6174696f6e2e6b38732e696f2f7631121753656c665375626a656374416363657373"
      "526576696577122f0a100a0012001a0022002a003200380042001211120f0a082f6d65747269637312036765741a08080012"
      "001a0020001a002200",
      "{'kind':'SelfSubjectAccessReview','apiVersion':'authorization.k8s.io/v1','metadata':{},'spec':"
      "{'nonResourceAttributes':{'path':'/metrics','verb':'get'}}}" },
    /* auth can-i list pods/log -n shop */
    { "6b3873000a320a17617574686f72697a6174696f6e2e6b38732e696f2f7631121753656c665375626a656374416363657373"
      "526576696577123d0a100a0012001a0022002a00320038004200121f0a1d0a0473686f7012046c6973741a0022002a04706f"
      "647332003a036c6f671a08080012001a0020001a002200",
      "{'kind':'SelfSubjectAccessReview','apiVersion':'authorization.k8s.io/v1','metadata':{},'spec':"
      "{'resourceAttributes':{'namespace':'shop','verb':'list','resource':'pods','name':'log'}}}" },
    /* auth can-i --list -n shop */
    { "6b3873000a310a17617574686f72697a6174696f6e2e6b38732e696f2f7631121653656c665375626a65637452756c657352"
      "657669657712200a100a0012001a0022002a0032003800420012060a0473686f701a04180022001a002200",
      "{'kind':'SelfSubjectRulesReview','apiVersion':'authorization.k8s.io/v1','metadata':{},'spec':"
      "{'namespace':'shop'}}" },
    /* auth whoami */
    { "6b3873000a2d0a1861757468656e7469636174696f6e2e6b38732e696f2f7631121153656c665375626a6563745265766965"
      "77121a0a100a0012001a0022002a0032003800420012060a040a0012001a002200",
      "{'kind':'SelfSubjectReview','apiVersion':'authentication.k8s.io/v1','metadata':{}}" },
};

/* As the server takes it: decoded, then brought into canonical form with nothing to report. */
TEST(kubectl_bodies_are_understood)
{
    for (size_t i = 0; i < ARRAY_LEN(captured); i++) {
        _cleanup_(buf_done_p) struct buf body = BUF_INIT(BYTES_MAX), out = BUF_INIT(BYTES_MAX);
        _cleanup_(field_report_done_p) struct field_report report = FIELD_REPORT_INIT;
        _cleanup_(json_done_p) struct json d;
        const struct schema *s = NULL;
        json_ref v;

        json_init(&d, BYTES_MAX);
        proto_hex(&body, str_of(captured[i].hex));
        ASSERT_OK(proto_decode(&d, buf_str(&body), &v));
        s = protobuf_schema(json_get_text(&d, v, "apiVersion"), json_get_text(&d, v, "kind"));
        assert_non_null(s);
        ASSERT_OK(schema_normalize(s, &d, v, SCHEMA_DROP_UNKNOWN, &report, &err));
        ASSERT_INT(0, report.count);
        json_write(&d, v, &out);
        ASSERT_STR(kind_row(captured[i].expected), buf_cstr(&out));
    }
}

/* --- Every number of every kind --- */

static void check_kind(const char *api_version, const char *kind, const char *message, const char *expected)
{
    _cleanup_(buf_done_p) struct buf whole = BUF_INIT(BYTES_MAX);

    buf_addf(&whole, "{'kind':'%s','apiVersion':'%s',%s}", kind, api_version, expected);
    ASSERT_STR(kind_row(buf_cstr(&whole)), proto_text(api_version, kind, message));
}

#define REFERENCE "{1'K' 2'ns' 3'n' 4'u' 5'v1' 6'7' 7'spec.x'}"
#define REFERENCE_JSON                                                                                       \
    "{'kind':'K','namespace':'ns','name':'n','uid':'u','apiVersion':'v1','resourceVersion':'7','fieldPath':" \
    "'spec.x'}"

TEST(metadata)
{
    check_kind(
        "v1", "ConfigMap",
        "1{1'n' 2'g' 3'ns' 4'link' 5'u' 6'9' 7#2 8{1#60} 9{1#120} 10#30 11{1'l' 2'1'} 12{1'a' 2'2'} "
        "13{1'K' 3'n' 4'u' 5'v1' 6#1 7#0} 14'f' 17{1'm' 2'Apply' 3'v1' 4{1#60} 6'FieldsV1' "
        "7{1'{}'} 8'status'}}",
        "'metadata':{'name':'n','generateName':'g','namespace':'ns','selfLink':'link','uid':'u',"
        "'resourceVersion':'9','generation':2,'creationTimestamp':'1970-01-01T00:01:00Z',"
        "'deletionTimestamp':'1970-01-01T00:02:00Z','deletionGracePeriodSeconds':30,'labels':{'l':'1'},"
        "'annotations':{'a':'2'},'ownerReferences':[{'kind':'K','name':'n','uid':'u','apiVersion':'v1',"
        "'controller':true,'blockOwnerDeletion':false}],'finalizers':['f'],'managedFields':[{'manager':"
        "'m','operation':'Apply','apiVersion':'v1','time':'1970-01-01T00:01:00Z','fieldsType':"
        "'FieldsV1','fieldsV1':{},'subresource':'status'}]}");
}

TEST(volume)
{
    check_kind(
        "v1", "PersistentVolume",
        "2{1{1'storage' 2{1'5Gi'}} 2{20{1'/d' 2'xfs'}} 3'ReadWriteOnce' 4" REFERENCE
        " 5'Delete' 6'fast' 7'ro' 8'Block' 9{1{1{1{1'k' 2'In' 3'a' 3'b'} 2{1'metadata.name' 2'In' 3'n'}}}} "
        "10'gold'} 3{1'Bound' 2'm' 3'r' 4{1#60}}",
        "'spec':{'capacity':{'storage':'5Gi'},'local':{'path':'/d','fsType':'xfs'},'accessModes':"
        "['ReadWriteOnce'],'claimRef':" REFERENCE_JSON ",'persistentVolumeReclaimPolicy':'Delete',"
        "'storageClassName':'fast','mountOptions':['ro'],'volumeMode':'Block','nodeAffinity':{'required':"
        "{'nodeSelectorTerms':[{'matchExpressions':[{'key':'k','operator':'In','values':['a','b']}],"
        "'matchFields':[{'key':'metadata.name','operator':'In','values':['n']}]}]}},"
        "'volumeAttributesClassName':'gold'},'status':{'phase':'Bound','message':'m','reason':'r',"
        "'lastPhaseTransitionTime':'1970-01-01T00:01:00Z'}");
}

TEST(volume_sources)
{
    static const char *const rows[][2] = {
        { "1{1'p' 2'f' 3#2 4#1}",
          "'gcePersistentDisk':{'pdName':'p','fsType':'f','partition':2,'readOnly':true}" },
        { "2{1'v' 2'f' 3#2 4#1}",
          "'awsElasticBlockStore':{'volumeID':'v','fsType':'f','partition':2,'readOnly':true}" },
        { "3{1'/p' 2'File'}", "'hostPath':{'path':'/p','type':'File'}" },
        { "4{1'e' 2'p' 3#1 4'n'}",
          "'glusterfs':{'endpoints':'e','path':'p','readOnly':true,'endpointsNamespace':'n'}" },
        { "5{1's' 2'/p' 3#1}", "'nfs':{'server':'s','path':'/p','readOnly':true}" },
        { "6{1'm' 2'i' 3'f' 4'p' 5'u' 6'k' 7{1's' 2'n'} 8#1}",
          "'rbd':{'monitors':['m'],'image':'i','fsType':'f','pool':'p','user':'u','keyring':'k','secretRef':"
          "{'name':'s','namespace':'n'},'readOnly':true}" },
        { "7{1't' 2'q' 3#4 4'i' 5'f' 6#1 7'p' 8#1 11#1 10{1's'} 12'n'}",
          "'iscsi':{'targetPortal':'t','iqn':'q','lun':4,'iscsiInterface':'i','fsType':'f','readOnly':true,"
          "'portals':['p'],'chapAuthDiscovery':true,'chapAuthSession':true,'secretRef':{'name':'s'},"
          "'initiatorName':'n'}" },
        { "8{1'v' 2'f' 3#1 4{1's'}}",
          "'cinder':{'volumeID':'v','fsType':'f','readOnly':true,'secretRef':{'name':'s'}}" },
        { "9{1'm' 2'p' 3'u' 4'f' 5{1's'} 6#1}",
          "'cephfs':{'monitors':['m'],'path':'p','user':'u','secretFile':'f','secretRef':{'name':'s'},"
          "'readOnly':true}" },
        { "10{1'w' 2#0 3'f' 4#1 5'i'}",
          "'fc':{'targetWWNs':['w'],'lun':0,'fsType':'f','readOnly':true,'wwids':['i']}" },
        { "11{1'n' 2'u'}", "'flocker':{'datasetName':'n','datasetUUID':'u'}" },
        { "12{1'd' 2'f' 3{1's'} 4#1 5{1'k' 2'v'}}",
          "'flexVolume':{'driver':'d','fsType':'f','secretRef':{'name':'s'},'readOnly':true,'options':{'k':"
          "'v'}}" },
        { "13{1's' 2'h' 3#1 4'n'}",
          "'azureFile':{'secretName':'s','shareName':'h','readOnly':true,'secretNamespace':'n'}" },
        { "14{1'p' 2'f' 3'n' 4'i'}",
          "'vsphereVolume':{'volumePath':'p','fsType':'f','storagePolicyName':'n','storagePolicyID':'i'}" },
        { "15{1'r' 2'v' 3#1 4'u' 5'g' 6't'}",
          "'quobyte':{'registry':'r','volume':'v','readOnly':true,'user':'u','group':'g','tenant':'t'}" },
        { "16{1'n' 2'u' 3'None' 4'f' 5#0 6'Managed'}",
          "'azureDisk':{'diskName':'n','diskURI':'u','cachingMode':'None','fsType':'f','readOnly':false,'"
          "kind':"
          "'Managed'}" },
        { "17{1'p' 2'f'}", "'photonPersistentDisk':{'pdID':'p','fsType':'f'}" },
        { "18{1'v' 2'f' 3#1}", "'portworxVolume':{'volumeID':'v','fsType':'f','readOnly':true}" },
        { "19{1'g' 2's' 3{1'r'} 4#1 5'd' 6'p' 7'm' 8'v' 9'f' 10#1}",
          "'scaleIO':{'gateway':'g','system':'s','secretRef':{'name':'r'},'sslEnabled':true,'"
          "protectionDomain':"
          "'d','storagePool':'p','storageMode':'m','volumeName':'v','fsType':'f','readOnly':true}" },
        { "20{1'/p'}", "'local':{'path':'/p'}" },
        { "21{1'v' 2'n' 3'f' 4#1 5" REFERENCE "}",
          "'storageos':{'volumeName':'v','volumeNamespace':'n','fsType':'f','readOnly':true,'secretRef'"
          ":" REFERENCE_JSON "}" },
        { "22{1'd' 2'h' 3#1 4'f' 5{1'a' 2'b'} 6{1'1'} 7{1'2'} 8{1'3'} 9{1'4'} 10{1'5' 2'n'}}",
          "'csi':{'driver':'d','volumeHandle':'h','readOnly':true,'fsType':'f','volumeAttributes':{'a':'b'},"
          "'controllerPublishSecretRef':{'name':'1'},'nodeStageSecretRef':{'name':'2'},'nodePublishSecretRef'"
          ":"
          "{'name':'3'},'controllerExpandSecretRef':{'name':'4'},'nodeExpandSecretRef':{'name':'5','"
          "namespace':"
          "'n'}}" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char message[300], expected[600];
        (void)snprintf(message, sizeof message, "2{2{%s}}", rows[i][0]);
        (void)snprintf(expected, sizeof expected, "'spec':{%s}", rows[i][1]);
        check_kind("v1", "PersistentVolume", message, expected);
    }
}

TEST(claim)
{
    check_kind(
        "v1", "PersistentVolumeClaim",
        "2{1'ReadWriteOnce' 2{1{1'storage' 2{1'9Gi'}} 2{1'storage' 2{1'5Gi'}}} 3'pv' "
        "4{1{1'k' 2'v'} 2{1'e' 2'Exists'}} 5'' 6'Block' 7{1'g' 2'K' 3'n'} 8{1'g' 2'K' 3'n' 4'ns'} 9'gold'} "
        "3{1'Bound' 2'ReadOnlyMany' 3{1'storage' 2{1'5Gi'}} 4{1'Resizing' 2'True' 3{1#60} 4{1#120} 5'r' "
        "6'm'} 5{1'storage' 2{1'9Gi'}} 7{1'storage' 2'NodeResizePending'} 8'gold' 9{1'gold' 2'Pending'}}",
        "'spec':{'accessModes':['ReadWriteOnce'],'resources':{'limits':{'storage':'9Gi'},'requests':"
        "{'storage':'5Gi'}},'volumeName':'pv','selector':{'matchLabels':{'k':'v'},'matchExpressions':"
        "[{'key':'e','operator':'Exists'}]},'storageClassName':'','volumeMode':'Block','dataSource':"
        "{'apiGroup':'g','kind':'K','name':'n'},'dataSourceRef':{'apiGroup':'g','kind':'K','name':'n',"
        "'namespace':'ns'},'volumeAttributesClassName':'gold'},'status':{'phase':'Bound','accessModes':"
        "['ReadOnlyMany'],'capacity':{'storage':'5Gi'},'conditions':[{'type':'Resizing','status':'True',"
        "'lastProbeTime':'1970-01-01T00:01:00Z','lastTransitionTime':'1970-01-01T00:02:00Z','reason':'r',"
        "'message':'m'}],'allocatedResources':{'storage':'9Gi'},'allocatedResourceStatuses':{'storage':"
        "'NodeResizePending'},'currentVolumeAttributesClassName':'gold','modifyVolumeStatus':"
        "{'targetVolumeAttributesClassName':'gold','status':'Pending'}}");
}

TEST(core_kinds)
{
    check_kind("v1", "Namespace", "2{1'kubernetes'} 3{1'Active' 2{1'T' 2'True' 4{1#60} 5'r' 6'm'}}",
               "'spec':{'finalizers':['kubernetes']},'status':{'phase':'Active','conditions':[{'type':'T',"
               "'status':'True','lastTransitionTime':'1970-01-01T00:01:00Z','reason':'r','message':'m'}]}");
    check_kind("v1", "ConfigMap", "2{1'k' 2'v'} 3{1'b' 2'w'} 4#1",
               "'data':{'k':'v'},'binaryData':{'b':'dw=='},'immutable':true");
    check_kind("v1", "Secret", "2{1'k' 2'v'} 3'Opaque' 4{1's' 2't'} 5#0",
               "'data':{'k':'dg=='},'type':'Opaque','stringData':{'s':'t'},'immutable':false");
    check_kind("v1", "ServiceAccount", "2{3'token'} 3{1'pull'} 4#1",
               "'secrets':[{'name':'token'}],'imagePullSecrets':[{'name':'pull'}],"
               "'automountServiceAccountToken':true");
    check_kind("v1", "Binding", "1{1'pod'} 2" REFERENCE,
               "'metadata':{'name':'pod'},'target':" REFERENCE_JSON);
    check_kind(
        "v1", "Event",
        "2" REFERENCE " 3'r' 4'm' 5{1'c' 2'h'} 6{1#60} 7{1#120} 8#3 9'Normal' 10{1#60 2#1000} "
        "11{1#2 2{1#120}} 12'a' 13{1'K'} 14'rc' 15'ri'",
        "'involvedObject':" REFERENCE_JSON ",'reason':'r','message':'m','source':{'component':'c','host':"
        "'h'},'firstTimestamp':'1970-01-01T00:01:00Z','lastTimestamp':'1970-01-01T00:02:00Z','count':3,"
        "'type':'Normal','eventTime':'1970-01-01T00:01:00.000001Z','series':{'count':2,"
        "'lastObservedTime':'1970-01-01T00:02:00.000000Z'},'action':'a','related':{'kind':'K'},"
        "'reportingComponent':'rc','reportingInstance':'ri'");
}

TEST(storage_kinds)
{
    check_kind("storage.k8s.io/v1", "StorageClass",
               "2'p' 3{1'k' 2'v'} 4'Retain' 5'ro' 6#0 7'Immediate' 8{1{1'zone' 2'a' 2'b'}}",
               "'provisioner':'p','parameters':{'k':'v'},'reclaimPolicy':'Retain','mountOptions':['ro'],"
               "'allowVolumeExpansion':false,'volumeBindingMode':'Immediate','allowedTopologies':"
               "[{'matchLabelExpressions':[{'key':'zone','values':['a','b']}]}]");
    check_kind(
        "storage.k8s.io/v1", "VolumeAttachment",
        "2{1'a' 2{1'pv' 2{2{22{1'd'}}}} 3'n'} 3{1#1 2{1'k' 2'v'} 3{1{1#60} 2'm' 3#0} 4{2'x'}}",
        "'spec':{'attacher':'a','source':{'persistentVolumeName':'pv','inlineVolumeSpec':{'csi':{'driver':"
        "'d'}}},'nodeName':'n'},'status':{'attached':true,'attachmentMetadata':{'k':'v'},'attachError':"
        "{'time':'1970-01-01T00:01:00Z','message':'m','errorCode':0},'detachError':{'message':'x'}}");
    check_kind("storage.k8s.io/v1", "CSIDriver",
               "2{1#0 2#1 3'Persistent' 4#1 5'File' 6{1'' 2#600} 7#0 8#1 9#60 10#1 11#0}",
               "'spec':{'attachRequired':false,'podInfoOnMount':true,'volumeLifecycleModes':['Persistent'],"
               "'storageCapacity':true,'fsGroupPolicy':'File','tokenRequests':[{'expirationSeconds':600}],"
               "'requiresRepublish':false,'seLinuxMount':true,'nodeAllocatableUpdatePeriodSeconds':60,"
               "'serviceAccountTokenInSecrets':true,'preventPodSchedulingIfMissing':false}");
    check_kind(
        "storage.k8s.io/v1", "CSINode", "2{1{1'd' 2'id' 3'zone' 4{1#5}}}",
        "'spec':{'drivers':[{'name':'d','nodeID':'id','topologyKeys':['zone'],'allocatable':{'count':5}}]}");
    check_kind("storage.k8s.io/v1", "CSIStorageCapacity", "2{1{1'k' 2'v'}} 3'fast' 4{1'5Gi'} 5{1'1Gi'}",
               "'nodeTopology':{'matchLabels':{'k':'v'}},'storageClassName':'fast','capacity':'5Gi',"
               "'maximumVolumeSize':'1Gi'");
    check_kind("storage.k8s.io/v1", "VolumeAttributesClass", "2'd' 3{1'k' 2'v'}",
               "'driverName':'d','parameters':{'k':'v'}");
}

TEST(leases_and_events)
{
    check_kind("coordination.k8s.io/v1", "Lease",
               "2{1'me' 2#15 3{1#60} 4{1#120 2#5000} 5#0 6'OldestEmulationVersion' 7'b'}",
               "'spec':{'holderIdentity':'me','leaseDurationSeconds':15,'acquireTime':"
               "'1970-01-01T00:01:00.000000Z','renewTime':'1970-01-01T00:02:00.000005Z','leaseTransitions':0,"
               "'strategy':"
               "'OldestEmulationVersion','preferredHolder':'b'}");
    check_kind(
        "events.k8s.io/v1", "Event",
        "2{1#60} 3{1#2 2{1#120}} 4'rc' 5'ri' 6'a' 7'r' 8{1'K'} 9{1'L'} 10'n' 11'Normal' 12{1'c'} 13{1#60} "
        "14{1#120} 15#3",
        "'eventTime':'1970-01-01T00:01:00.000000Z','series':{'count':2,'lastObservedTime':"
        "'1970-01-01T00:02:00.000000Z'},'reportingController':'rc','reportingInstance':'ri','action':'a',"
        "'reason':'r','regarding':{'kind':'K'},'related':{'kind':'L'},'note':'n','type':'Normal',"
        "'deprecatedSource':{'component':'c'},'deprecatedFirstTimestamp':'1970-01-01T00:01:00Z',"
        "'deprecatedLastTimestamp':'1970-01-01T00:02:00Z','deprecatedCount':3");
}

TEST(kinds_that_are_sent_only)
{
    check_kind(
        "v1", "DeleteOptions", "1#5 2{1'u' 2'9'} 3#0 4'Orphan' 5'All'",
        "'gracePeriodSeconds':5,'preconditions':{'uid':'u','resourceVersion':'9'},'orphanDependents':false,"
        "'propagationPolicy':'Orphan','dryRun':['All']");
    check_kind("policy/v1", "Eviction", "1{1'pod'} 2{1#0}",
               "'metadata':{'name':'pod'},'deleteOptions':{'gracePeriodSeconds':0}");
    check_kind(
        "authorization.k8s.io/v1", "SelfSubjectAccessReview",
        "2{1{1'ns' 2'get' 3'g' 4'v1' 5'pods' 6'log' 7'n'} 2{1'/x' 2'get'}} 3{1#1}",
        "'spec':{'resourceAttributes':{'namespace':'ns','verb':'get','group':'g','version':'v1','resource':"
        "'pods','subresource':'log','name':'n'},'nonResourceAttributes':{'path':'/x','verb':'get'}}");
    check_kind("authorization.k8s.io/v1", "SelfSubjectRulesReview", "2{1'ns'}", "'spec':{'namespace':'ns'}");
    check_kind("authentication.k8s.io/v1beta1", "SelfSubjectReview", "1{} 2{1{1'u'}}", "'metadata':{}");
    check_kind(
        "authentication.k8s.io/v1", "TokenRequest", "2{1'a' 1'b' 3{1'Pod' 2'v1' 3'n' 4'u'} 4#600}",
        "'spec':{'audiences':['a','b'],'boundObjectRef':{'kind':'Pod','apiVersion':'v1','name':'n','uid':"
        "'u'},'expirationSeconds':600}");
}

/* --- The numbers --- */

/* In one message, where an embedded struct has a number, too. */
static bool have_same_number(const struct field *a, const struct field *b)
{
    if (a->within == b->within)
        return a->number == b->number;
    return (!a->within && a->number == b->within) || (!b->within && b->number == a->within);
}

/* What is sent in protobuf has a number, and no two fields of a message have the same. */
static void check_numbers(const struct schema *s, unsigned depth)
{
    assert_true(depth < 16);
    for (const struct field *f = s->fields; f < s->fields + s->fields_count; f++) {
        bool is_envelope = strcmp(f->name, "kind") == 0 || strcmp(f->name, "apiVersion") == 0;
        bool is_answer = f->type == FIELD_ANY && (f->flags & FIELD_DROPPED);

        if (!f->number && !is_answer && (!is_envelope || schema_field(s, STR_LIT("uid"))))
            fail_msg("%s.%s has no number", s->go_name, f->name);
        for (const struct field *other = s->fields; other < f; other++)
            if (f->number && have_same_number(f, other))
                fail_msg("%s: %s and %s have the same number", s->go_name, f->name, other->name);
        if (f->type == FIELD_MAP)
            assert_true(f->item == FIELD_STRING || f->item == FIELD_BYTES || f->item == FIELD_QUANTITY ||
                        f->item == FIELD_LIST);
        if (f->sub)
            check_numbers(f->sub, depth + 1);
    }
}

/* Every kind that the server takes a body of: but custom ones, which a stock server does not take so. */
TEST(every_kind_that_is_served_has_numbers)
{
    size_t count;
    const struct resource *r = resource_table(&count);
    unsigned kinds = 0;

    for (size_t i = 0; i < count; i++) {
        _cleanup_(buf_done_p) struct buf version = BUF_INIT(256);
        const struct schema *s;

        buf_addf(&version, "%s%s%s", r[i].group, r[i].group[0] ? "/" : "", r[i].version);
        s = protobuf_schema(buf_str(&version), str_of(r[i].kind));
        if (r[i].info && (r[i].info->flags & (KIND_IS_CUSTOM | KIND_IS_READ_ONLY)))
            assert_null(s);
        else if (!s && (r[i].verbs & (VERB_BIT(VERB_CREATE) | VERB_BIT(VERB_UPDATE))))
            fail_msg("%s of %s cannot be sent", r[i].kind, buf_cstr(&version));
        else if (s)
            check_numbers(s, 0);
        kinds += s != NULL;
        for (const struct subresource *sub = r[i].subs; sub->name; sub++) {
            if (!sub->kind || sub->id == SUB_EXEC)
                continue;
            buf_clear(&version);
            buf_addf(&version, "%s%s%s", sub->group, sub->group[0] ? "/" : "", sub->version);
            s = protobuf_schema(buf_str(&version), str_of(sub->kind));
            assert_non_null(s);
            check_numbers(s, 0);
            kinds++;
        }
    }
    ASSERT_INT(28, kinds);
    check_numbers(protobuf_schema(STR_LIT("v1"), STR_LIT("DeleteOptions")), 0);
}

TEST_MAIN()
