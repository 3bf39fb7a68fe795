/* The fields of a pod's volumes. Open tables, like all of a pod's: see pod_schema.c. */
#include "api/pod_int.h"

#include "api/claim.h"
#include "api/meta.h"

/* Sources that Berth only carries: they are objects, and whatever is in them stays. */
#define CARRIED_SOURCE(go_name) \
    (&(const struct schema){ go_name, (const struct field[]){ { 0 } }, .open = true })

static const struct schema host_path_schema = {
    "HostPathVolumeSource",
    (const struct field[]){
        { "path", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "type", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.HostPathType" },
        { 0 },
    },
    .open = true,
};

static const struct schema empty_dir_schema = {
    "EmptyDirVolumeSource",
    (const struct field[]){
        { "medium", FIELD_STRING, .go_type = "v1.StorageMedium" },
        { "sizeLimit", FIELD_QUANTITY, .flags = FIELD_POINTER },
        { 0 },
    },
    .open = true,
};

static const struct schema gce_disk_schema = {
    "GCEPersistentDiskVolumeSource",
    (const struct field[]){
        { "pdName", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "fsType", FIELD_STRING },
        { "partition", FIELD_INT32 },
        { "readOnly", FIELD_BOOL },
        { 0 },
    },
    .open = true,
};

static const struct schema aws_disk_schema = {
    "AWSElasticBlockStoreVolumeSource",
    (const struct field[]){
        { "volumeID", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "fsType", FIELD_STRING },
        { "partition", FIELD_INT32 },
        { "readOnly", FIELD_BOOL },
        { 0 },
    },
    .open = true,
};

static const struct schema git_repo_schema = {
    "GitRepoVolumeSource",
    (const struct field[]){
        { "repository", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "revision", FIELD_STRING },
        { "directory", FIELD_STRING },
        { 0 },
    },
    .open = true,
};

static const struct schema key_to_path_schema = {
    "KeyToPath",
    (const struct field[]){
        { "key", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "path", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "mode", FIELD_INT32, .flags = FIELD_POINTER },
        { 0 },
    },
    .open = true,
};

static const struct schema secret_source_schema = {
    "SecretVolumeSource",
    (const struct field[]){
        { "secretName", FIELD_STRING },
        { "items", FIELD_LIST, .item = FIELD_OBJECT, .sub = &key_to_path_schema },
        { "defaultMode", FIELD_INT32, .flags = FIELD_POINTER },
        { "optional", FIELD_BOOL, .flags = FIELD_POINTER },
        { 0 },
    },
    .open = true,
};

static const struct schema nfs_schema = {
    "NFSVolumeSource",
    (const struct field[]){
        { "server", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "path", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "readOnly", FIELD_BOOL },
        { 0 },
    },
    .open = true,
};

static const struct schema iscsi_schema = {
    "ISCSIVolumeSource",
    (const struct field[]){
        { "targetPortal", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "iqn", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "lun", FIELD_INT32, .flags = FIELD_ALWAYS },
        { "iscsiInterface", FIELD_STRING },
        { "fsType", FIELD_STRING },
        { "readOnly", FIELD_BOOL },
        { "portals", FIELD_LIST, .item = FIELD_STRING },
        { "chapAuthDiscovery", FIELD_BOOL },
        { "chapAuthSession", FIELD_BOOL },
        { "secretRef", FIELD_OBJECT, .sub = &local_object_reference_schema },
        { "initiatorName", FIELD_STRING, .flags = FIELD_POINTER },
        { 0 },
    },
    .open = true,
};

static const struct schema claim_source_schema = {
    "PersistentVolumeClaimVolumeSource",
    (const struct field[]){
        { "claimName", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "readOnly", FIELD_BOOL },
        { 0 },
    },
    .open = true,
};

static const struct schema rbd_schema = {
    "RBDVolumeSource",
    (const struct field[]){
        { "monitors", FIELD_LIST, .item = FIELD_STRING },
        { "image", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "fsType", FIELD_STRING },
        { "pool", FIELD_STRING },
        { "user", FIELD_STRING },
        { "keyring", FIELD_STRING },
        { "secretRef", FIELD_OBJECT, .sub = &local_object_reference_schema },
        { "readOnly", FIELD_BOOL },
        { 0 },
    },
    .open = true,
};

static const struct schema flex_schema = {
    "FlexVolumeSource",
    (const struct field[]){
        { "driver", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "fsType", FIELD_STRING },
        { "secretRef", FIELD_OBJECT, .sub = &local_object_reference_schema },
        { "readOnly", FIELD_BOOL },
        { "options", FIELD_MAP, .item = FIELD_STRING },
        { 0 },
    },
    .open = true,
};

static const struct schema resource_ref_schema = {
    "ResourceFieldSelector",
    (const struct field[]){
        { "containerName", FIELD_STRING },
        { "resource", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "divisor", FIELD_QUANTITY, .flags = FIELD_ALWAYS },
        { 0 },
    },
    .open = true,
    .atomic = true,
};

static const struct schema downward_file_schema = {
    "DownwardAPIVolumeFile",
    (const struct field[]){
        { "path", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "fieldRef", FIELD_OBJECT, .sub = &object_field_selector_schema },
        { "resourceFieldRef", FIELD_OBJECT, .sub = &resource_ref_schema },
        { "mode", FIELD_INT32, .flags = FIELD_POINTER },
        { 0 },
    },
    .open = true,
};

static const struct schema downward_source_schema = {
    "DownwardAPIVolumeSource",
    (const struct field[]){
        { "items", FIELD_LIST, .item = FIELD_OBJECT, .sub = &downward_file_schema },
        { "defaultMode", FIELD_INT32, .flags = FIELD_POINTER },
        { 0 },
    },
    .open = true,
};

static const struct schema fc_schema = {
    "FCVolumeSource",
    (const struct field[]){
        { "targetWWNs", FIELD_LIST, .item = FIELD_STRING },
        { "lun", FIELD_INT32, .flags = FIELD_POINTER },
        { "fsType", FIELD_STRING },
        { "readOnly", FIELD_BOOL },
        { "wwids", FIELD_LIST, .item = FIELD_STRING },
        { 0 },
    },
    .open = true,
};

static const struct schema config_map_source_schema = {
    "ConfigMapVolumeSource",
    (const struct field[]){
        { "name", FIELD_STRING },
        { "items", FIELD_LIST, .item = FIELD_OBJECT, .sub = &key_to_path_schema },
        { "defaultMode", FIELD_INT32, .flags = FIELD_POINTER },
        { "optional", FIELD_BOOL, .flags = FIELD_POINTER },
        { 0 },
    },
    .open = true,
};

/* --- Projected --- */

static const struct schema secret_projection_schema = {
    "SecretProjection",
    (const struct field[]){
        { "name", FIELD_STRING },
        { "items", FIELD_LIST, .item = FIELD_OBJECT, .sub = &key_to_path_schema },
        { "optional", FIELD_BOOL, .flags = FIELD_POINTER },
        { 0 },
    },
    .open = true,
};

static const struct schema downward_projection_schema = {
    "DownwardAPIProjection",
    (const struct field[]){
        { "items", FIELD_LIST, .item = FIELD_OBJECT, .sub = &downward_file_schema },
        { 0 },
    },
    .open = true,
};

static const struct schema config_map_projection_schema = {
    "ConfigMapProjection",
    (const struct field[]){
        { "name", FIELD_STRING },
        { "items", FIELD_LIST, .item = FIELD_OBJECT, .sub = &key_to_path_schema },
        { "optional", FIELD_BOOL, .flags = FIELD_POINTER },
        { 0 },
    },
    .open = true,
};

static const struct schema token_projection_schema = {
    "ServiceAccountTokenProjection",
    (const struct field[]){
        { "audience", FIELD_STRING },
        { "expirationSeconds", FIELD_INT64, .flags = FIELD_POINTER },
        { "path", FIELD_STRING, .flags = FIELD_ALWAYS },
        { 0 },
    },
    .open = true,
};

static const struct schema projection_schema = {
    "VolumeProjection",
    (const struct field[]){
        { "secret", FIELD_OBJECT, .sub = &secret_projection_schema },
        { "downwardAPI", FIELD_OBJECT, .sub = &downward_projection_schema },
        { "configMap", FIELD_OBJECT, .sub = &config_map_projection_schema },
        { "serviceAccountToken", FIELD_OBJECT, .sub = &token_projection_schema },
        { 0 },
    },
    .open = true,
};

static const struct schema projected_schema = {
    "ProjectedVolumeSource",
    (const struct field[]){
        { "sources", FIELD_LIST, .item = FIELD_OBJECT, .sub = &projection_schema },
        { "defaultMode", FIELD_INT32, .flags = FIELD_POINTER },
        { 0 },
    },
    .open = true,
};

/* --- CSI, ephemeral --- */

static const struct schema csi_schema = {
    "CSIVolumeSource",
    (const struct field[]){
        { "driver", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "readOnly", FIELD_BOOL, .flags = FIELD_POINTER },
        { "fsType", FIELD_STRING, .flags = FIELD_POINTER },
        { "volumeAttributes", FIELD_MAP, .item = FIELD_STRING },
        { "nodePublishSecretRef", FIELD_OBJECT, .sub = &local_object_reference_schema },
        { 0 },
    },
    .open = true,
};

static const struct schema claim_template_schema = {
    "PersistentVolumeClaimTemplate",
    (const struct field[]){
        { "metadata", FIELD_OBJECT, .sub = &meta_schema, .flags = FIELD_ALWAYS },
        { "spec", FIELD_OBJECT, .sub = &claim_spec_schema, .flags = FIELD_ALWAYS },
        { 0 },
    },
    .open = true,
};

static const struct schema ephemeral_schema = {
    "EphemeralVolumeSource",
    (const struct field[]){
        { "volumeClaimTemplate", FIELD_OBJECT, .sub = &claim_template_schema },
        { 0 },
    },
    .open = true,
};

static const struct schema image_schema = {
    "ImageVolumeSource",
    (const struct field[]){
        { "reference", FIELD_STRING },
        { "pullPolicy", FIELD_STRING, .go_type = "v1.PullPolicy" },
        { 0 },
    },
    .open = true,
};

const struct schema pod_volume_schema = {
    "Volume",
    (const struct field[]){
        { "name", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "hostPath", FIELD_OBJECT, .sub = &host_path_schema },
        { "emptyDir", FIELD_OBJECT, .sub = &empty_dir_schema },
        { "gcePersistentDisk", FIELD_OBJECT, .sub = &gce_disk_schema },
        { "awsElasticBlockStore", FIELD_OBJECT, .sub = &aws_disk_schema },
        { "gitRepo", FIELD_OBJECT, .sub = &git_repo_schema },
        { "secret", FIELD_OBJECT, .sub = &secret_source_schema },
        { "nfs", FIELD_OBJECT, .sub = &nfs_schema },
        { "iscsi", FIELD_OBJECT, .sub = &iscsi_schema },
        { "glusterfs", FIELD_OBJECT, .sub = CARRIED_SOURCE("GlusterfsVolumeSource") },
        { "persistentVolumeClaim", FIELD_OBJECT, .sub = &claim_source_schema },
        { "rbd", FIELD_OBJECT, .sub = &rbd_schema },
        { "flexVolume", FIELD_OBJECT, .sub = &flex_schema },
        { "cinder", FIELD_OBJECT, .sub = CARRIED_SOURCE("CinderVolumeSource") },
        { "cephfs", FIELD_OBJECT, .sub = CARRIED_SOURCE("CephFSVolumeSource") },
        { "flocker", FIELD_OBJECT, .sub = CARRIED_SOURCE("FlockerVolumeSource") },
        { "downwardAPI", FIELD_OBJECT, .sub = &downward_source_schema },
        { "fc", FIELD_OBJECT, .sub = &fc_schema },
        { "azureFile", FIELD_OBJECT, .sub = CARRIED_SOURCE("AzureFileVolumeSource") },
        { "configMap", FIELD_OBJECT, .sub = &config_map_source_schema },
        { "vsphereVolume", FIELD_OBJECT, .sub = CARRIED_SOURCE("VsphereVirtualDiskVolumeSource") },
        { "quobyte", FIELD_OBJECT, .sub = CARRIED_SOURCE("QuobyteVolumeSource") },
        { "azureDisk", FIELD_OBJECT, .sub = CARRIED_SOURCE("AzureDiskVolumeSource") },
        { "photonPersistentDisk", FIELD_OBJECT, .sub = CARRIED_SOURCE("PhotonPersistentDiskVolumeSource") },
        { "projected", FIELD_OBJECT, .sub = &projected_schema },
        { "portworxVolume", FIELD_OBJECT, .sub = CARRIED_SOURCE("PortworxVolumeSource") },
        { "scaleIO", FIELD_OBJECT, .sub = CARRIED_SOURCE("ScaleIOVolumeSource") },
        { "storageos", FIELD_OBJECT, .sub = CARRIED_SOURCE("StorageOSVolumeSource") },
        { "csi", FIELD_OBJECT, .sub = &csi_schema },
        { "ephemeral", FIELD_OBJECT, .sub = &ephemeral_schema },
        { "image", FIELD_OBJECT, .sub = &image_schema },
        { 0 },
    },
    .open = true,
};
