/* What each kind writes of fields that are empty: kept, left out, or always there. */
#include "tests/unit/test_kind.h"

/* The canonical form, without defaults. */
static const char *canonical(enum kind kind, const char *text)
{
    static struct buf out = { .len_max = 1 << 20 };
    _cleanup_(buf_done_p) struct buf quoted = BUF_INIT(1 << 20);
    _cleanup_(json_done_p) struct json d;
    json_ref v;

    json_init(&d, 1 << 20);
    buf_clear(&out);
    kind_quotes(text, &quoted);
    ASSERT_OK(json_parse(&d, buf_str(&quoted), &v, &err));
    ASSERT_OK(schema_normalize(kind_info(kind)->schema, &d, v, SCHEMA_DROP_UNKNOWN, NULL, &err));
    json_write(&d, v, &out);
    return buf_cstr(&out);
}

TEST(empty_fields_are_written_as_documented)
{
    static const struct {
        enum kind kind;
        const char *text, *stored;
    } rows[] = {
        { KIND_CLASS, "{}", "{'metadata':{},'provisioner':''}" },
        { KIND_CLASS,
          "{'provisioner':'','parameters':{},'reclaimPolicy':'','mountOptions':[],'allowVolumeExpansion':"
          "false,'volumeBindingMode':'','allowedTopologies':[]}",
          "{'metadata':{},'provisioner':'','reclaimPolicy':'','allowVolumeExpansion':false,'"
          "volumeBindingMode':''}" },
        { KIND_ATTRIBUTES_CLASS, "{'parameters':{}}", "{'metadata':{},'driverName':''}" },
        { KIND_CSI_DRIVER, "{}", "{'metadata':{},'spec':{}}" },
        { KIND_CSI_DRIVER,
          "{'spec':{'attachRequired':false,'podInfoOnMount':false,'volumeLifecycleModes':[],'storageCapacity'"
          ":false,'fsGroupPolicy':'','tokenRequests':[{},{'expirationSeconds':0}],'requiresRepublish':false,'"
          "seLinuxMount':false,'nodeAllocatableUpdatePeriodSeconds':0}}",
          "{'metadata':{},'spec':{'attachRequired':false,'podInfoOnMount':false,'storageCapacity':false,'"
          "fsGroupPolicy':'','tokenRequests':[{'audience':''},{'audience':'','expirationSeconds':0}],'"
          "requiresRepublish':false,'seLinuxMount':false,'nodeAllocatableUpdatePeriodSeconds':0}}" },
        { KIND_CSI_NODE, "{}", "{'metadata':{},'spec':{'drivers':[]}}" },
        { KIND_CSI_NODE,
          "{'spec':{'drivers':[{'allocatable':{}},{'topologyKeys':[],'allocatable':{'count':0}}]}}",
          "{'metadata':{},'spec':{'drivers':[{'name':'','nodeID':'','allocatable':{}},{'name':'','nodeID':'',"
          "'allocatable':{'count':0}}]}}" },
        { KIND_CSI_CAPACITY, "{'nodeTopology':{}}",
          "{'metadata':{},'nodeTopology':{},'storageClassName':''}" },
        { KIND_ATTACHMENT,
          "{'spec':{'source':{'persistentVolumeName':''}},'status':{'attached':false,'attachmentMetadata':{},"
          "'attachError':{'errorCode':0,'message':''}}}",
          "{'metadata':{},'spec':{'attacher':'','source':{'persistentVolumeName':''},'nodeName':''},'status':"
          "{'attached':false,'attachError':{'errorCode':0}}}" },
        { KIND_LEASE, "{}", "{'metadata':{},'spec':{}}" },
        { KIND_LEASE, "{'spec':{'holderIdentity':'','leaseDurationSeconds':0,'leaseTransitions':0}}",
          "{'metadata':{},'spec':{'holderIdentity':'','leaseDurationSeconds':0,'leaseTransitions':0}}" },
        { KIND_VOLUME, "{}", "{'metadata':{},'spec':{},'status':{}}" },
        { KIND_VOLUME,
          "{'spec':{'capacity':{},'accessModes':[],'claimRef':{},'persistentVolumeReclaimPolicy':'','"
          "storageClassName':'','mountOptions':[],'volumeMode':'','nodeAffinity':{'required':{}},'"
          "volumeAttributesClassName':''},'status':{'phase':'','message':'','reason':''}}",
          "{'metadata':{},'spec':{'claimRef':{},'volumeMode':'','nodeAffinity':{'required':{'"
          "nodeSelectorTerms':[]}},'volumeAttributesClassName':''},'status':{}}" },
        { KIND_CLAIM, "{}", "{'metadata':{},'spec':{'resources':{}},'status':{}}" },
        { KIND_CLAIM,
          "{'spec':{'accessModes':[],'selector':{},'resources':{'limits':{},'requests':{}},'volumeName':'','"
          "storageClassName':'','volumeMode':'','dataSource':{'apiGroup':''},'dataSourceRef':{'apiGroup':'','"
          "namespace':''},'volumeAttributesClassName':''},'status':{'phase':'','conditions':[{}],'"
          "currentVolumeAttributesClassName':'','modifyVolumeStatus':{}}}",
          "{'metadata':{},'spec':{'selector':{},'resources':{},'storageClassName':'','volumeMode':'','"
          "dataSource':{'apiGroup':'','kind':'','name':''},'dataSourceRef':{'apiGroup':'','kind':'','name':''"
          ",'namespace':''},'volumeAttributesClassName':''},'status':{'conditions':[{'type':'','status':''}],"
          "'currentVolumeAttributesClassName':'','modifyVolumeStatus':{'status':''}}}" },
        { KIND_NAMESPACE, "{'spec':{'finalizers':[]},'status':{'conditions':[{}]}}",
          "{'metadata':{},'spec':{},'status':{'conditions':[{'type':'','status':''}]}}" },
        { KIND_CONFIG_MAP, "{'immutable':false,'data':{},'binaryData':{}}",
          "{'metadata':{},'immutable':false}" },
        { KIND_SECRET, "{'immutable':false,'data':{},'type':''}", "{'metadata':{},'immutable':false}" },
        { KIND_SERVICE_ACCOUNT, "{'secrets':[],'imagePullSecrets':[{}],'automountServiceAccountToken':false}",
          "{'metadata':{},'imagePullSecrets':[{}],'automountServiceAccountToken':false}" },
        { KIND_EVENT, "{'count':0,'series':{'count':0}}",
          "{'metadata':{},'involvedObject':{},'source':{},'series':{},'reportingComponent':'','"
          "reportingInstance':''}" },
        { KIND_EVENT_V1, "{'deprecatedCount':0,'series':{'count':0}}",
          "{'metadata':{},'series':{'count':0},'regarding':{},'deprecatedSource':{}}" },
        { KIND_SNAPSHOT,
          "{'spec':{'source':{'persistentVolumeClaimName':'','volumeSnapshotContentName':''},'"
          "volumeSnapshotClassName':''},'status':{'boundVolumeSnapshotContentName':'','readyToUse':false,'"
          "error':{'message':''},'volumeGroupSnapshotName':''}}",
          "{'metadata':{},'spec':{'source':{'persistentVolumeClaimName':'','volumeSnapshotContentName':''},'"
          "volumeSnapshotClassName':''},'status':{'boundVolumeSnapshotContentName':'','readyToUse':false,'"
          "error':{'message':''},'volumeGroupSnapshotName':''}}" },
        { KIND_SNAPSHOT_CONTENT,
          "{'spec':{'volumeSnapshotClassName':'','source':{'volumeHandle':'','snapshotHandle':''},'"
          "sourceVolumeMode':''},'status':{'snapshotHandle':'','creationTime':0,'restoreSize':0,'readyToUse':"
          "false,'error':{},'volumeGroupSnapshotHandle':''}}",
          "{'metadata':{},'spec':{'volumeSnapshotClassName':'','source':{'volumeHandle':'','snapshotHandle':'"
          "'},'sourceVolumeMode':''},'status':{'snapshotHandle':'','creationTime':0,'restoreSize':0,'"
          "readyToUse':false,'error':{},'volumeGroupSnapshotHandle':''}}" },
        { KIND_SNAPSHOT_CLASS, "{'driver':'','parameters':{},'deletionPolicy':''}", "{'metadata':{}}" },
        { KIND_NODE, "{'status':{'conditions':[{}],'addresses':[{}],'volumesAttached':[{}]}}",
          "{'metadata':{},'spec':{},'status':{'conditions':[{'type':'','status':''}],'addresses':[{'type':'',"
          "'address':''}],'daemonEndpoints':{'kubeletEndpoint':{'Port':0}},'nodeInfo':{'machineID':'','"
          "systemUUID':'','bootID':'','kernelVersion':'','osImage':'','containerRuntimeVersion':'','"
          "kubeletVersion':'','kubeProxyVersion':'','operatingSystem':'','architecture':''},'volumesAttached'"
          ":[{'name':'','devicePath':''}]}}" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_STR(kind_row(rows[i].stored), canonical(rows[i].kind, rows[i].text));
}

TEST_MAIN()
