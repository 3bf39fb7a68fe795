/* Numbers of the protobuf fields of every kind that may be sent so: Kubernetes fixed them, and none ever
 * changes its meaning. Messages shared by several kinds come first, then the kinds in their groups.
 *
 * Tables refer only to tables above them, so that no message can contain itself: that bounds how deep a body
 * can nest. */
#include "api/protobuf_int.h"

#include "api/kind.h"
#include "api/request_kind.h"

/* clang-format off */
#define MESSAGE(name) static const struct proto_field name[]
#define END { 0, NULL, NULL }
/* clang-format on */

/* --- Shared --- */

MESSAGE(owner_reference) = {
    { 1, "kind" },
    { 3, "name" },
    { 4, "uid" },
    { 5, "apiVersion" },
    { 6, "controller" },
    { 7, "blockOwnerDeletion" },
    END,
};

MESSAGE(managed_fields) = {
    { 1, "manager" },    { 2, "operation" }, { 3, "apiVersion" },  { 4, "time" },
    { 6, "fieldsType" }, { 7, "fieldsV1" },  { 8, "subresource" }, END,
};

MESSAGE(object_meta) = {
    { 1, "name" },
    { 2, "generateName" },
    { 3, "namespace" },
    { 4, "selfLink" },
    { 5, "uid" },
    { 6, "resourceVersion" },
    { 7, "generation" },
    { 8, "creationTimestamp" },
    { 9, "deletionTimestamp" },
    { 10, "deletionGracePeriodSeconds" },
    { 11, "labels" },
    { 12, "annotations" },
    { 13, "ownerReferences", owner_reference },
    { 14, "finalizers" },
    { 17, "managedFields", managed_fields },
    END,
};

/* clang-format off */
#define METADATA { 1, "metadata", object_meta }
/* clang-format on */

MESSAGE(object_reference) = {
    { 1, "kind" },       { 2, "namespace" },       { 3, "name" },      { 4, "uid" },
    { 5, "apiVersion" }, { 6, "resourceVersion" }, { 7, "fieldPath" }, END,
};

MESSAGE(local_reference) = { { 1, "name" }, END };
MESSAGE(secret_reference) = { { 1, "name" }, { 2, "namespace" }, END };

/* Requirements of label selectors and of node selectors. */
MESSAGE(requirement) = { { 1, "key" }, { 2, "operator" }, { 3, "values" }, END };
MESSAGE(label_selector) = { { 1, "matchLabels" }, { 2, "matchExpressions", requirement }, END };
MESSAGE(node_selector_term) = { { 1, "matchExpressions", requirement },
                                { 2, "matchFields", requirement },
                                END };
MESSAGE(node_selector) = { { 1, "nodeSelectorTerms", node_selector_term }, END };

/* --- Sources of volumes --- */

MESSAGE(gce_disk) = { { 1, "pdName" }, { 2, "fsType" }, { 3, "partition" }, { 4, "readOnly" }, END };
MESSAGE(aws_disk) = { { 1, "volumeID" }, { 2, "fsType" }, { 3, "partition" }, { 4, "readOnly" }, END };
MESSAGE(host_path) = { { 1, "path" }, { 2, "type" }, END };
MESSAGE(glusterfs) = {
    { 1, "endpoints" }, { 2, "path" }, { 3, "readOnly" }, { 4, "endpointsNamespace" }, END
};
MESSAGE(nfs) = { { 1, "server" }, { 2, "path" }, { 3, "readOnly" }, END };
MESSAGE(flocker) = { { 1, "datasetName" }, { 2, "datasetUUID" }, END };
MESSAGE(photon) = { { 1, "pdID" }, { 2, "fsType" }, END };
MESSAGE(portworx) = { { 1, "volumeID" }, { 2, "fsType" }, { 3, "readOnly" }, END };
MESSAGE(local) = { { 1, "path" }, { 2, "fsType" }, END };

MESSAGE(rbd) = {
    { 1, "monitors" },
    { 2, "image" },
    { 3, "fsType" },
    { 4, "pool" },
    { 5, "user" },
    { 6, "keyring" },
    { 7, "secretRef", secret_reference },
    { 8, "readOnly" },
    END,
};

MESSAGE(iscsi) = {
    { 1, "targetPortal" },
    { 2, "iqn" },
    { 3, "lun" },
    { 4, "iscsiInterface" },
    { 5, "fsType" },
    { 6, "readOnly" },
    { 7, "portals" },
    { 8, "chapAuthDiscovery" },
    { 10, "secretRef", secret_reference },
    { 11, "chapAuthSession" },
    { 12, "initiatorName" },
    END,
};

MESSAGE(cinder) = {
    { 1, "volumeID" }, { 2, "fsType" }, { 3, "readOnly" }, { 4, "secretRef", secret_reference }, END,
};

MESSAGE(cephfs) = {
    { 1, "monitors" },
    { 2, "path" },
    { 3, "user" },
    { 4, "secretFile" },
    { 5, "secretRef", secret_reference },
    { 6, "readOnly" },
    END,
};

MESSAGE(fc) = { { 1, "targetWWNs" }, { 2, "lun" }, { 3, "fsType" }, { 4, "readOnly" }, { 5, "wwids" }, END };

MESSAGE(flex) = {
    { 1, "driver" },   { 2, "fsType" },  { 3, "secretRef", secret_reference },
    { 4, "readOnly" }, { 5, "options" }, END,
};

MESSAGE(azure_file) = {
    { 1, "secretName" }, { 2, "shareName" }, { 3, "readOnly" }, { 4, "secretNamespace" }, END,
};

MESSAGE(vsphere) = {
    { 1, "volumePath" }, { 2, "fsType" }, { 3, "storagePolicyName" }, { 4, "storagePolicyID" }, END,
};

MESSAGE(quobyte) = {
    { 1, "registry" },
    { 2, "volume" },
    { 3, "readOnly" },
    { 4, "user" },
    { 5, "group" },
    { 6, "tenant" },
    END,
};

MESSAGE(azure_disk) = {
    { 1, "diskName" },
    { 2, "diskURI" },
    { 3, "cachingMode" },
    { 4, "fsType" },
    { 5, "readOnly" },
    { 6, "kind" },
    END,
};

MESSAGE(scale_io) = {
    { 1, "gateway" },
    { 2, "system" },
    { 3, "secretRef", secret_reference },
    { 4, "sslEnabled" },
    { 5, "protectionDomain" },
    { 6, "storagePool" },
    { 7, "storageMode" },
    { 8, "volumeName" },
    { 9, "fsType" },
    { 10, "readOnly" },
    END,
};

MESSAGE(storage_os) = {
    { 1, "volumeName" },
    { 2, "volumeNamespace" },
    { 3, "fsType" },
    { 4, "readOnly" },
    { 5, "secretRef", object_reference },
    END,
};

MESSAGE(csi) = {
    { 1, "driver" },
    { 2, "volumeHandle" },
    { 3, "readOnly" },
    { 4, "fsType" },
    { 5, "volumeAttributes" },
    { 6, "controllerPublishSecretRef", secret_reference },
    { 7, "nodeStageSecretRef", secret_reference },
    { 8, "nodePublishSecretRef", secret_reference },
    { 9, "controllerExpandSecretRef", secret_reference },
    { 10, "nodeExpandSecretRef", secret_reference },
    END,
};

MESSAGE(volume_source) = {
    { 1, "gcePersistentDisk", gce_disk },
    { 2, "awsElasticBlockStore", aws_disk },
    { 3, "hostPath", host_path },
    { 4, "glusterfs", glusterfs },
    { 5, "nfs", nfs },
    { 6, "rbd", rbd },
    { 7, "iscsi", iscsi },
    { 8, "cinder", cinder },
    { 9, "cephfs", cephfs },
    { 10, "fc", fc },
    { 11, "flocker", flocker },
    { 12, "flexVolume", flex },
    { 13, "azureFile", azure_file },
    { 14, "vsphereVolume", vsphere },
    { 15, "quobyte", quobyte },
    { 16, "azureDisk", azure_disk },
    { 17, "photonPersistentDisk", photon },
    { 18, "portworxVolume", portworx },
    { 19, "scaleIO", scale_io },
    { 20, "local", local },
    { 21, "storageos", storage_os },
    { 22, "csi", csi },
    END,
};

/* --- Volumes and claims --- */

MESSAGE(volume_affinity) = { { 1, "required", node_selector }, END };

MESSAGE(volume_spec) = {
    { 1, "capacity" },
    { 2, NULL, volume_source },
    { 3, "accessModes" },
    { 4, "claimRef", object_reference },
    { 5, "persistentVolumeReclaimPolicy" },
    { 6, "storageClassName" },
    { 7, "mountOptions" },
    { 8, "volumeMode" },
    { 9, "nodeAffinity", volume_affinity },
    { 10, "volumeAttributesClassName" },
    END,
};

MESSAGE(volume_status) = {
    { 1, "phase" }, { 2, "message" }, { 3, "reason" }, { 4, "lastPhaseTransitionTime" }, END,
};

MESSAGE(volume) = { METADATA, { 2, "spec", volume_spec }, { 3, "status", volume_status }, END };

MESSAGE(claim_resources) = { { 1, "limits" }, { 2, "requests" }, END };
MESSAGE(data_source) = { { 1, "apiGroup" }, { 2, "kind" }, { 3, "name" }, END };
MESSAGE(data_source_ref) = { { 1, "apiGroup" }, { 2, "kind" }, { 3, "name" }, { 4, "namespace" }, END };

MESSAGE(claim_spec) = {
    { 1, "accessModes" },
    { 2, "resources", claim_resources },
    { 3, "volumeName" },
    { 4, "selector", label_selector },
    { 5, "storageClassName" },
    { 6, "volumeMode" },
    { 7, "dataSource", data_source },
    { 8, "dataSourceRef", data_source_ref },
    { 9, "volumeAttributesClassName" },
    END,
};

MESSAGE(claim_condition) = {
    { 1, "type" },
    { 2, "status" },
    { 3, "lastProbeTime" },
    { 4, "lastTransitionTime" },
    { 5, "reason" },
    { 6, "message" },
    END,
};

MESSAGE(modify_status) = { { 1, "targetVolumeAttributesClassName" }, { 2, "status" }, END };

MESSAGE(claim_status) = {
    { 1, "phase" },
    { 2, "accessModes" },
    { 3, "capacity" },
    { 4, "conditions", claim_condition },
    { 5, "allocatedResources" },
    { 7, "allocatedResourceStatuses" },
    { 8, "currentVolumeAttributesClassName" },
    { 9, "modifyVolumeStatus", modify_status },
    END,
};

MESSAGE(claim) = { METADATA, { 2, "spec", claim_spec }, { 3, "status", claim_status }, END };

/* --- The rest of the core group --- */

MESSAGE(namespace_spec) = { { 1, "finalizers" }, END };
MESSAGE(namespace_condition) = {
    { 1, "type" }, { 2, "status" }, { 4, "lastTransitionTime" }, { 5, "reason" }, { 6, "message" }, END,
};
MESSAGE(namespace_status) = { { 1, "phase" }, { 2, "conditions", namespace_condition }, END };
MESSAGE(namespace) = { METADATA, { 2, "spec", namespace_spec }, { 3, "status", namespace_status }, END };

MESSAGE(config_map) = { METADATA, { 2, "data" }, { 3, "binaryData" }, { 4, "immutable" }, END };
MESSAGE(secret) = { METADATA, { 2, "data" }, { 3, "type" }, { 4, "stringData" }, { 5, "immutable" }, END };

MESSAGE(service_account) = {
    METADATA,
    { 2, "secrets", object_reference },
    { 3, "imagePullSecrets", local_reference },
    { 4, "automountServiceAccountToken" },
    END,
};

MESSAGE(event_source) = { { 1, "component" }, { 2, "host" }, END };
MESSAGE(event_series) = { { 1, "count" }, { 2, "lastObservedTime" }, END };

MESSAGE(event) = {
    METADATA,
    { 2, "involvedObject", object_reference },
    { 3, "reason" },
    { 4, "message" },
    { 5, "source", event_source },
    { 6, "firstTimestamp" },
    { 7, "lastTimestamp" },
    { 8, "count" },
    { 9, "type" },
    { 10, "eventTime" },
    { 11, "series", event_series },
    { 12, "action" },
    { 13, "related", object_reference },
    { 14, "reportingComponent" },
    { 15, "reportingInstance" },
    END,
};

/* --- storage.k8s.io, coordination.k8s.io, events.k8s.io --- */

MESSAGE(topology_requirement) = { { 1, "key" }, { 2, "values" }, END };
MESSAGE(topology_term) = { { 1, "matchLabelExpressions", topology_requirement }, END };

MESSAGE(class) = {
    METADATA,
    { 2, "provisioner" },
    { 3, "parameters" },
    { 4, "reclaimPolicy" },
    { 5, "mountOptions" },
    { 6, "allowVolumeExpansion" },
    { 7, "volumeBindingMode" },
    { 8, "allowedTopologies", topology_term },
    END,
};

MESSAGE(attachment_source) = { { 1, "persistentVolumeName" }, { 2, "inlineVolumeSpec", volume_spec }, END };
MESSAGE(attachment_spec) = { { 1, "attacher" }, { 2, "source", attachment_source }, { 3, "nodeName" }, END };
MESSAGE(attachment_error) = { { 1, "time" }, { 2, "message" }, { 3, "errorCode" }, END };

MESSAGE(attachment_status) = {
    { 1, "attached" },
    { 2, "attachmentMetadata" },
    { 3, "attachError", attachment_error },
    { 4, "detachError", attachment_error },
    END,
};

MESSAGE(attachment) = { METADATA, { 2, "spec", attachment_spec }, { 3, "status", attachment_status }, END };

MESSAGE(csi_token_request) = { { 1, "audience" }, { 2, "expirationSeconds" }, END };

MESSAGE(csi_driver_spec) = {
    { 1, "attachRequired" },
    { 2, "podInfoOnMount" },
    { 3, "volumeLifecycleModes" },
    { 4, "storageCapacity" },
    { 5, "fsGroupPolicy" },
    { 6, "tokenRequests", csi_token_request },
    { 7, "requiresRepublish" },
    { 8, "seLinuxMount" },
    { 9, "nodeAllocatableUpdatePeriodSeconds" },
    { 10, "serviceAccountTokenInSecrets" },
    { 11, "preventPodSchedulingIfMissing" },
    END,
};

MESSAGE(csi_driver) = { METADATA, { 2, "spec", csi_driver_spec }, END };

MESSAGE(allocatable) = { { 1, "count" }, END };
MESSAGE(csi_node_driver) = {
    { 1, "name" }, { 2, "nodeID" }, { 3, "topologyKeys" }, { 4, "allocatable", allocatable }, END
};
MESSAGE(csi_node_spec) = { { 1, "drivers", csi_node_driver }, END };
MESSAGE(csi_node) = { METADATA, { 2, "spec", csi_node_spec }, END };

MESSAGE(csi_capacity) = {
    METADATA,
    { 2, "nodeTopology", label_selector },
    { 3, "storageClassName" },
    { 4, "capacity" },
    { 5, "maximumVolumeSize" },
    END,
};

MESSAGE(attributes_class) = { METADATA, { 2, "driverName" }, { 3, "parameters" }, END };

MESSAGE(lease_spec) = {
    { 1, "holderIdentity" },   { 2, "leaseDurationSeconds" },
    { 3, "acquireTime" },      { 4, "renewTime" },
    { 5, "leaseTransitions" }, { 6, "strategy" },
    { 7, "preferredHolder" },  END,
};

MESSAGE(lease) = { METADATA, { 2, "spec", lease_spec }, END };

MESSAGE(event_v1) = {
    METADATA,
    { 2, "eventTime" },
    { 3, "series", event_series },
    { 4, "reportingController" },
    { 5, "reportingInstance" },
    { 6, "action" },
    { 7, "reason" },
    { 8, "regarding", object_reference },
    { 9, "related", object_reference },
    { 10, "note" },
    { 11, "type" },
    { 12, "deprecatedSource", event_source },
    { 13, "deprecatedFirstTimestamp" },
    { 14, "deprecatedLastTimestamp" },
    { 15, "deprecatedCount" },
    END,
};

/* --- Sent, never stored --- */

MESSAGE(preconditions) = { { 1, "uid" }, { 2, "resourceVersion" }, END };

MESSAGE(delete_options) = {
    { 1, "gracePeriodSeconds" },
    { 2, "preconditions", preconditions },
    { 3, "orphanDependents" },
    { 4, "propagationPolicy" },
    { 5, "dryRun" },
    END,
};

MESSAGE(eviction) = { METADATA, { 2, "deleteOptions", delete_options }, END };
MESSAGE(binding) = { METADATA, { 2, "target", object_reference }, END };

MESSAGE(resource_attributes) = {
    { 1, "namespace" }, { 2, "verb" },        { 3, "group" }, { 4, "version" },
    { 5, "resource" },  { 6, "subresource" }, { 7, "name" },  END,
};

MESSAGE(non_resource_attributes) = { { 1, "path" }, { 2, "verb" }, END };

MESSAGE(access_review_spec) = {
    { 1, "resourceAttributes", resource_attributes },
    { 2, "nonResourceAttributes", non_resource_attributes },
    END,
};

MESSAGE(access_review) = { METADATA, { 2, "spec", access_review_spec }, END };
MESSAGE(rules_review_spec) = { { 1, "namespace" }, END };
MESSAGE(rules_review) = { METADATA, { 2, "spec", rules_review_spec }, END };
MESSAGE(self_review) = { METADATA, END };

MESSAGE(bound_object) = { { 1, "kind" }, { 2, "apiVersion" }, { 3, "name" }, { 4, "uid" }, END };
MESSAGE(token_request_spec) = {
    { 1, "audiences" }, { 3, "boundObjectRef", bound_object }, { 4, "expirationSeconds" }, END
};
MESSAGE(token_request) = { METADATA, { 2, "spec", token_request_spec }, END };

#define STORAGE "storage.k8s.io/v1"
#define AUTHENTICATION "authentication.k8s.io/v1"
#define AUTHORIZATION "authorization.k8s.io/v1"

const struct proto_kind proto_kinds[] = {
    { "v1", "PersistentVolume", volume },
    { "v1", "PersistentVolumeClaim", claim },
    { "v1", "Namespace", namespace },
    { "v1", "ConfigMap", config_map },
    { "v1", "Secret", secret },
    { "v1", "ServiceAccount", service_account },
    { "v1", "Event", event },
    { "v1", "Binding", binding },
    { STORAGE, "StorageClass", class },
    { STORAGE, "VolumeAttachment", attachment },
    { STORAGE, "CSIDriver", csi_driver },
    { STORAGE, "CSINode", csi_node },
    { STORAGE, "CSIStorageCapacity", csi_capacity },
    { STORAGE, "VolumeAttributesClass", attributes_class },
    { "coordination.k8s.io/v1", "Lease", lease },
    { "events.k8s.io/v1", "Event", event_v1 },
    { "policy/v1", "Eviction", eviction },
    { AUTHORIZATION, "SelfSubjectAccessReview", access_review },
    { AUTHORIZATION, "SelfSubjectRulesReview", rules_review },
    { AUTHENTICATION, "SelfSubjectReview", self_review },
    { AUTHENTICATION "beta1", "SelfSubjectReview", self_review },
    { AUTHENTICATION, "TokenRequest", token_request },
    { NULL, "DeleteOptions", delete_options },
    { 0 },
};

const struct proto_kind *proto_kind(struct str api_version, struct str kind, const struct schema **ret_schema)
{
    for (const struct proto_kind *k = proto_kinds; k->kind; k++) {
        const struct kind_info *info;

        if (!str_is(kind, k->kind) || (k->api_version && !str_is(api_version, k->api_version)))
            continue;
        info = kind_by_api_version(api_version, kind);
        *ret_schema = info ? info->schema : request_kind_schema(api_version, kind);
        return k;
    }
    return NULL;
}
