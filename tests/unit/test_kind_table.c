/* The table of kinds as the API documents it, and what each kind writes when its fields are empty. */
#include "tests/unit/test_kind.h"

/* As the flags of the documented table are called. */
#define U KIND_UPDATES_UNCONDITIONALLY
#define C KIND_CREATES_ON_UPDATE
#define O KIND_DELETE_ANSWERS_OBJECT

TEST(kinds_are_addressed_as_documented)
{
    static const struct {
        enum kind kind;
        const char *group, *name, *plural, *shorts;
        bool is_namespaced, has_status;
        unsigned flags;
    } rows[] = {
        { KIND_VOLUME, "", "PersistentVolume", "persistentvolumes", "pv", false, true, U | O },
        { KIND_CLAIM, "", "PersistentVolumeClaim", "persistentvolumeclaims", "pvc", true, true, U | O },
        { KIND_POD, "", "Pod", "pods", "po", true, true, U | O },
        { KIND_NODE, "", "Node", "nodes", "no", false, true, U },
        { KIND_NAMESPACE, "", "Namespace", "namespaces", "ns", false, true, U | O },
        { KIND_EVENT, "", "Event", "events", "ev", true, false, U | C },
        { KIND_CONFIG_MAP, "", "ConfigMap", "configmaps", "cm", true, false, U },
        { KIND_SECRET, "", "Secret", "secrets", "", true, false, U },
        { KIND_SERVICE_ACCOUNT, "", "ServiceAccount", "serviceaccounts", "sa", true, false, U | O },
        { KIND_CLASS, "storage.k8s.io", "StorageClass", "storageclasses", "sc", false, false, U | O },
        { KIND_ATTACHMENT, "storage.k8s.io", "VolumeAttachment", "volumeattachments", "", false, true, O },
        { KIND_CSI_DRIVER, "storage.k8s.io", "CSIDriver", "csidrivers", "", false, false, O },
        { KIND_CSI_NODE, "storage.k8s.io", "CSINode", "csinodes", "", false, false, O },
        { KIND_CSI_CAPACITY, "storage.k8s.io", "CSIStorageCapacity", "csistoragecapacities", "", true, false,
          0 },
        { KIND_ATTRIBUTES_CLASS, "storage.k8s.io", "VolumeAttributesClass", "volumeattributesclasses", "vac",
          false, false, U | O },
        { KIND_LEASE, "coordination.k8s.io", "Lease", "leases", "", true, false, C },
        { KIND_EVENT_V1, "events.k8s.io", "Event", "events", "ev", true, false, U | C },
        { KIND_SNAPSHOT, "snapshot.storage.k8s.io", "VolumeSnapshot", "volumesnapshots", "vs", true, true,
          KIND_IS_CUSTOM },
        { KIND_SNAPSHOT_CONTENT, "snapshot.storage.k8s.io", "VolumeSnapshotContent", "volumesnapshotcontents",
          "vsc vscs", false, true, KIND_IS_CUSTOM },
        { KIND_SNAPSHOT_CLASS, "snapshot.storage.k8s.io", "VolumeSnapshotClass", "volumesnapshotclasses",
          "vsclass vsclasses", false, false, KIND_IS_CUSTOM },
    };

    ASSERT_INT(KIND_COUNT, ARRAY_LEN(rows));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct kind_info *k = kind_info(rows[i].kind);
        _cleanup_(buf_done_p) struct buf shorts = BUF_INIT(100);
        for (const char *const *s = k->short_names; s && *s; s++)
            (void)buf_addf(&shorts, "%s%s", shorts.len ? " " : "", *s);
        ASSERT_STR(rows[i].name, k->name);
        ASSERT_STR(rows[i].group, k->group);
        ASSERT_STR("v1", k->version);
        ASSERT_STR(rows[i].plural, k->plural);
        ASSERT_STR(rows[i].shorts, buf_cstr(&shorts));
        if (k->is_namespaced != rows[i].is_namespaced || k->has_status != rows[i].has_status ||
            k->flags != rows[i].flags)
            fail_msg("%s: scope, status or flags", k->name);
    }
}

TEST(fields_that_selectors_know)
{
    static const struct {
        enum kind kind;
        const char *fields;
    } rows[] = {
        { KIND_POD, "spec.nodeName spec.restartPolicy spec.schedulerName spec.serviceAccountName "
                    "spec.hostNetwork status.phase status.podIP status.nominatedNodeName" },
        { KIND_NODE, "spec.unschedulable" },
        { KIND_NAMESPACE, "status.phase" },
        { KIND_SECRET, "type" },
        { KIND_EVENT, "involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid "
                      "involvedObject.apiVersion involvedObject.resourceVersion involvedObject.fieldPath "
                      "reason reportingComponent source type" },
        { KIND_EVENT_V1, "regarding.kind regarding.namespace regarding.name regarding.uid "
                         "regarding.apiVersion regarding.resourceVersion regarding.fieldPath reason "
                         "reportingController type" },
    };
    const char *want[KIND_COUNT] = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        want[rows[i].kind] = rows[i].fields;
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        _cleanup_(buf_done_p) struct buf fields = BUF_INIT(1000);
        for (const struct selectable *s = kind_info((enum kind)kind)->selectable; s && s->name; s++)
            (void)buf_addf(&fields, "%s%s", fields.len ? " " : "", s->name);
        ASSERT_STR(want[kind] ? want[kind] : "", buf_cstr(&fields));
    }
}

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
