/* The schema of a pod's volumes. Open tables, like all tables of pods: see pod_schema.c. Sources that
 * PersistentVolumes have in the same form use the closed tables of volume_source.c. */
#include "api/pod_int.h"

#include "api/claim.h"
#include "api/meta.h"
#include "api/volume_source.h"

static const struct field empty_dir_fields[] = {
    { "medium", FIELD_STRING, .go_type = "v1.StorageMedium", .number = 1 },
    { "sizeLimit", FIELD_QUANTITY, .flags = FIELD_POINTER, .number = 2 },
};
static const struct schema empty_dir_schema = SCHEMA_OPEN("EmptyDirVolumeSource", empty_dir_fields);

static const struct field git_repo_fields[] = {
    { "repository", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "revision", FIELD_STRING, .number = 2 },
    { "directory", FIELD_STRING, .number = 3 },
};
static const struct schema git_repo_schema = SCHEMA_OPEN("GitRepoVolumeSource", git_repo_fields);

static const struct field key_to_path_fields[] = {
    { "key", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "path", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
    { "mode", FIELD_INT32, .flags = FIELD_POINTER, .number = 3 },
};
static const struct schema key_to_path_schema = SCHEMA_OPEN("KeyToPath", key_to_path_fields);

static const struct field secret_source_fields[] = {
    { "secretName", FIELD_STRING, .number = 1 },
    { "items", LIST_OF(key_to_path_schema), .number = 2 },
    { "defaultMode", FIELD_INT32, .flags = FIELD_POINTER, .number = 3 },
    { "optional", FIELD_BOOL, .flags = FIELD_POINTER, .number = 4 },
};
static const struct schema secret_source_schema = SCHEMA_OPEN("SecretVolumeSource", secret_source_fields);

static const struct field iscsi_fields[] = {
    { "targetPortal", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "iqn", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
    { "lun", FIELD_INT32, .flags = FIELD_ALWAYS, .number = 3 },
    { "iscsiInterface", FIELD_STRING, .number = 4 },
    { "fsType", FIELD_STRING, .number = 5 },
    { "readOnly", FIELD_BOOL, .number = 6 },
    { "portals", FIELD_LIST, .item = FIELD_STRING, .number = 7 },
    { "chapAuthDiscovery", FIELD_BOOL, .number = 8 },
    { "chapAuthSession", FIELD_BOOL, .number = 11 },
    { "secretRef", FIELD_OBJECT, .sub = &local_object_reference_schema, .number = 10 },
    { "initiatorName", FIELD_STRING, .flags = FIELD_POINTER, .number = 12 },
};
static const struct schema iscsi_schema = SCHEMA_OPEN("ISCSIVolumeSource", iscsi_fields);

static const struct field claim_source_fields[] = {
    { "claimName", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "readOnly", FIELD_BOOL, .number = 2 },
};
static const struct schema claim_source_schema =
    SCHEMA_OPEN("PersistentVolumeClaimVolumeSource", claim_source_fields);

static const struct field rbd_fields[] = {
    { "monitors", FIELD_LIST, .item = FIELD_STRING, .number = 1 },
    { "image", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
    { "fsType", FIELD_STRING, .number = 3 },
    { "pool", FIELD_STRING, .number = 4 },
    { "user", FIELD_STRING, .number = 5 },
    { "keyring", FIELD_STRING, .number = 6 },
    { "secretRef", FIELD_OBJECT, .sub = &local_object_reference_schema, .number = 7 },
    { "readOnly", FIELD_BOOL, .number = 8 },
};
static const struct schema rbd_schema = SCHEMA_OPEN("RBDVolumeSource", rbd_fields);

static const struct field flex_fields[] = {
    { "driver", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "fsType", FIELD_STRING, .number = 2 },
    { "secretRef", FIELD_OBJECT, .sub = &local_object_reference_schema, .number = 3 },
    { "readOnly", FIELD_BOOL, .number = 4 },
    { "options", FIELD_MAP, .item = FIELD_STRING, .number = 5 },
};
static const struct schema flex_schema = SCHEMA_OPEN("FlexVolumeSource", flex_fields);

static const struct field resource_field_selector_fields[] = {
    { "containerName", FIELD_STRING, .number = 1 },
    { "resource", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
    { "divisor", FIELD_QUANTITY, .flags = FIELD_ALWAYS, .number = 3 },
};
const struct schema resource_field_selector_schema =
    SCHEMA_OPEN_ATOMIC("ResourceFieldSelector", resource_field_selector_fields);

static const struct field downward_file_fields[] = {
    { "path", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "fieldRef", FIELD_OBJECT, .sub = &object_field_selector_schema, .number = 2 },
    { "resourceFieldRef", FIELD_OBJECT, .sub = &resource_field_selector_schema, .number = 3 },
    { "mode", FIELD_INT32, .flags = FIELD_POINTER, .number = 4 },
};
static const struct schema downward_file_schema = SCHEMA_OPEN("DownwardAPIVolumeFile", downward_file_fields);

static const struct field downward_source_fields[] = {
    { "items", LIST_OF(downward_file_schema), .number = 1 },
    { "defaultMode", FIELD_INT32, .flags = FIELD_POINTER, .number = 2 },
};
static const struct schema downward_source_schema =
    SCHEMA_OPEN("DownwardAPIVolumeSource", downward_source_fields);

static const struct field config_map_source_fields[] = {
    { "name", FIELD_STRING, .number = 1, .within = 1 },
    { "items", LIST_OF(key_to_path_schema), .number = 2 },
    { "defaultMode", FIELD_INT32, .flags = FIELD_POINTER, .number = 3 },
    { "optional", FIELD_BOOL, .flags = FIELD_POINTER, .number = 4 },
};
static const struct schema config_map_source_schema =
    SCHEMA_OPEN("ConfigMapVolumeSource", config_map_source_fields);

/* --- Sources that Berth only stores --- */

static const struct field glusterfs_fields[] = {
    { "endpoints", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "path", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
    { "readOnly", FIELD_BOOL, .number = 3 },
};
static const struct schema glusterfs_schema = SCHEMA_OPEN("GlusterfsVolumeSource", glusterfs_fields);

static const struct field cinder_fields[] = {
    { "volumeID", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "fsType", FIELD_STRING, .number = 2 },
    { "readOnly", FIELD_BOOL, .number = 3 },
    { "secretRef", FIELD_OBJECT, .sub = &local_object_reference_schema, .number = 4 },
};
static const struct schema cinder_schema = SCHEMA_OPEN("CinderVolumeSource", cinder_fields);

static const struct field cephfs_fields[] = {
    { "monitors", FIELD_LIST, .item = FIELD_STRING, .number = 1 },
    { "path", FIELD_STRING, .number = 2 },
    { "user", FIELD_STRING, .number = 3 },
    { "secretFile", FIELD_STRING, .number = 4 },
    { "secretRef", FIELD_OBJECT, .sub = &local_object_reference_schema, .number = 5 },
    { "readOnly", FIELD_BOOL, .number = 6 },
};
static const struct schema cephfs_schema = SCHEMA_OPEN("CephFSVolumeSource", cephfs_fields);

static const struct field azure_file_fields[] = {
    { "secretName", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "shareName", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
    { "readOnly", FIELD_BOOL, .number = 3 },
};
static const struct schema azure_file_schema = SCHEMA_OPEN("AzureFileVolumeSource", azure_file_fields);

static const struct field scale_io_fields[] = {
    { "gateway", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "system", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
    { "secretRef", FIELD_OBJECT, .sub = &local_object_reference_schema, .number = 3 },
    { "sslEnabled", FIELD_BOOL, .number = 4 },
    { "protectionDomain", FIELD_STRING, .number = 5 },
    { "storagePool", FIELD_STRING, .number = 6 },
    { "storageMode", FIELD_STRING, .number = 7 },
    { "volumeName", FIELD_STRING, .number = 8 },
    { "fsType", FIELD_STRING, .number = 9 },
    { "readOnly", FIELD_BOOL, .number = 10 },
};
static const struct schema scale_io_schema = SCHEMA_OPEN("ScaleIOVolumeSource", scale_io_fields);

static const struct field storage_os_fields[] = {
    { "volumeName", FIELD_STRING, .number = 1 },
    { "volumeNamespace", FIELD_STRING, .number = 2 },
    { "fsType", FIELD_STRING, .number = 3 },
    { "readOnly", FIELD_BOOL, .number = 4 },
    { "secretRef", FIELD_OBJECT, .sub = &local_object_reference_schema, .number = 5 },
};
static const struct schema storage_os_schema = SCHEMA_OPEN("StorageOSVolumeSource", storage_os_fields);

/* --- Projected --- */

static const struct field key_projection_fields[] = {
    { "name", FIELD_STRING, .number = 1, .within = 1 },
    { "items", LIST_OF(key_to_path_schema), .number = 2 },
    { "optional", FIELD_BOOL, .flags = FIELD_POINTER, .number = 4 },
};
static const struct schema secret_projection_schema = SCHEMA_OPEN("SecretProjection", key_projection_fields);

static const struct field downward_projection_fields[] = {
    { "items", LIST_OF(downward_file_schema), .number = 1 },
};
static const struct schema downward_projection_schema =
    SCHEMA_OPEN("DownwardAPIProjection", downward_projection_fields);

static const struct schema config_map_projection_schema =
    SCHEMA_OPEN("ConfigMapProjection", key_projection_fields);

static const struct field token_projection_fields[] = {
    { "audience", FIELD_STRING, .number = 1 },
    { "expirationSeconds", FIELD_INT64, .flags = FIELD_POINTER, .number = 2 },
    { "path", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 3 },
};
static const struct schema token_projection_schema =
    SCHEMA_OPEN("ServiceAccountTokenProjection", token_projection_fields);

static const struct field trust_bundle_fields[] = {
    { "name", FIELD_STRING, .flags = FIELD_POINTER, .number = 1 },
    { "signerName", FIELD_STRING, .flags = FIELD_POINTER, .number = 2 },
    { "labelSelector", FIELD_OBJECT, .sub = &label_selector_schema, .number = 3 },
    { "optional", FIELD_BOOL, .flags = FIELD_POINTER, .number = 5 },
    { "path", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 4 },
};
static const struct schema trust_bundle_schema =
    SCHEMA_OPEN("ClusterTrustBundleProjection", trust_bundle_fields);

static const struct field pod_certificate_fields[] = {
    { "signerName", FIELD_STRING, .number = 1 },
    { "keyType", FIELD_STRING, .number = 2 },
    { "maxExpirationSeconds", FIELD_INT32, .flags = FIELD_POINTER, .number = 3 },
    { "credentialBundlePath", FIELD_STRING, .number = 4 },
    { "keyPath", FIELD_STRING, .number = 5 },
    { "certificateChainPath", FIELD_STRING, .number = 6 },
    { "userAnnotations", FIELD_MAP, .item = FIELD_STRING, .number = 7 },
};
static const struct schema pod_certificate_schema =
    SCHEMA_OPEN("PodCertificateProjection", pod_certificate_fields);

static const struct field projection_fields[] = {
    { "secret", FIELD_OBJECT, .sub = &secret_projection_schema, .number = 1 },
    { "downwardAPI", FIELD_OBJECT, .sub = &downward_projection_schema, .number = 2 },
    { "configMap", FIELD_OBJECT, .sub = &config_map_projection_schema, .number = 3 },
    { "serviceAccountToken", FIELD_OBJECT, .sub = &token_projection_schema, .number = 4 },
    { "clusterTrustBundle", FIELD_OBJECT, .sub = &trust_bundle_schema, .number = 5 },
    { "podCertificate", FIELD_OBJECT, .sub = &pod_certificate_schema, .number = 6 },
};
static const struct schema projection_schema = SCHEMA_OPEN("VolumeProjection", projection_fields);

static const struct field projected_fields[] = {
    { "sources", LIST_OF(projection_schema), .number = 1 },
    { "defaultMode", FIELD_INT32, .flags = FIELD_POINTER, .number = 2 },
};
static const struct schema projected_schema = SCHEMA_OPEN("ProjectedVolumeSource", projected_fields);

/* --- CSI, ephemeral --- */

static const struct field csi_fields[] = {
    { "driver", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "readOnly", FIELD_BOOL, .flags = FIELD_POINTER, .number = 2 },
    { "fsType", FIELD_STRING, .flags = FIELD_POINTER, .number = 3 },
    { "volumeAttributes", FIELD_MAP, .item = FIELD_STRING, .number = 4 },
    { "nodePublishSecretRef", FIELD_OBJECT, .sub = &local_object_reference_schema, .number = 5 },
};
static const struct schema csi_schema = SCHEMA_OPEN("CSIVolumeSource", csi_fields);

static const struct field claim_template_fields[] = {
    { "metadata", FIELD_OBJECT, .sub = &meta_schema, .flags = FIELD_ALWAYS, .number = 1 },
    { "spec", FIELD_OBJECT, .sub = &claim_spec_schema, .flags = FIELD_ALWAYS, .number = 2 },
};
static const struct schema claim_template_schema =
    SCHEMA_OPEN("PersistentVolumeClaimTemplate", claim_template_fields);

static const struct field ephemeral_fields[] = {
    { "volumeClaimTemplate", FIELD_OBJECT, .sub = &claim_template_schema, .number = 1 },
};
static const struct schema ephemeral_schema = SCHEMA_OPEN("EphemeralVolumeSource", ephemeral_fields);

static const struct field image_fields[] = {
    { "reference", FIELD_STRING, .number = 1 },
    { "pullPolicy", FIELD_STRING, .go_type = "v1.PullPolicy", .number = 2 },
};
static const struct schema image_schema = SCHEMA_OPEN("ImageVolumeSource", image_fields);

static const struct field pod_volume_fields[] = {
    { "name", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "hostPath", FIELD_OBJECT, .sub = &host_path_source_schema, .number = 1, .within = 2 },
    { "emptyDir", FIELD_OBJECT, .sub = &empty_dir_schema, .number = 2, .within = 2 },
    { "gcePersistentDisk", FIELD_OBJECT, .sub = &gce_disk_source_schema, .number = 3, .within = 2 },
    { "awsElasticBlockStore", FIELD_OBJECT, .sub = &aws_disk_source_schema, .number = 4, .within = 2 },
    { "gitRepo", FIELD_OBJECT, .sub = &git_repo_schema, .number = 5, .within = 2 },
    { "secret", FIELD_OBJECT, .sub = &secret_source_schema, .number = 6, .within = 2 },
    { "nfs", FIELD_OBJECT, .sub = &nfs_source_schema, .number = 7, .within = 2 },
    { "iscsi", FIELD_OBJECT, .sub = &iscsi_schema, .number = 8, .within = 2 },
    { "glusterfs", FIELD_OBJECT, .sub = &glusterfs_schema, .number = 9, .within = 2 },
    { "persistentVolumeClaim", FIELD_OBJECT, .sub = &claim_source_schema, .number = 10, .within = 2 },
    { "rbd", FIELD_OBJECT, .sub = &rbd_schema, .number = 11, .within = 2 },
    { "flexVolume", FIELD_OBJECT, .sub = &flex_schema, .number = 12, .within = 2 },
    { "cinder", FIELD_OBJECT, .sub = &cinder_schema, .number = 13, .within = 2 },
    { "cephfs", FIELD_OBJECT, .sub = &cephfs_schema, .number = 14, .within = 2 },
    { "flocker", FIELD_OBJECT, .sub = &flocker_source_schema, .number = 15, .within = 2 },
    { "downwardAPI", FIELD_OBJECT, .sub = &downward_source_schema, .number = 16, .within = 2 },
    { "fc", FIELD_OBJECT, .sub = &fc_source_schema, .number = 17, .within = 2 },
    { "azureFile", FIELD_OBJECT, .sub = &azure_file_schema, .number = 18, .within = 2 },
    { "configMap", FIELD_OBJECT, .sub = &config_map_source_schema, .number = 19, .within = 2 },
    { "vsphereVolume", FIELD_OBJECT, .sub = &vsphere_source_schema, .number = 20, .within = 2 },
    { "quobyte", FIELD_OBJECT, .sub = &quobyte_source_schema, .number = 21, .within = 2 },
    { "azureDisk", FIELD_OBJECT, .sub = &azure_disk_source_schema, .number = 22, .within = 2 },
    { "photonPersistentDisk", FIELD_OBJECT, .sub = &photon_source_schema, .number = 23, .within = 2 },
    { "projected", FIELD_OBJECT, .sub = &projected_schema, .number = 26, .within = 2 },
    { "portworxVolume", FIELD_OBJECT, .sub = &portworx_source_schema, .number = 24, .within = 2 },
    { "scaleIO", FIELD_OBJECT, .sub = &scale_io_schema, .number = 25, .within = 2 },
    { "storageos", FIELD_OBJECT, .sub = &storage_os_schema, .number = 27, .within = 2 },
    { "csi", FIELD_OBJECT, .sub = &csi_schema, .number = 28, .within = 2 },
    { "ephemeral", FIELD_OBJECT, .sub = &ephemeral_schema, .number = 29, .within = 2 },
    { "image", FIELD_OBJECT, .sub = &image_schema, .number = 30, .within = 2 },
};
const struct schema pod_volume_schema = SCHEMA_OPEN("Volume", pod_volume_fields);
