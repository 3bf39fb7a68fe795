/* The table of volume sources: schemas, required members, defaults and decoding. The rules of single sources
 * are in volume_source_rules.c. Adding a source means adding a schema and a row. */
#include "api/volume_source.h"

#include <assert.h>

#include "api/defaults.h"
#include "api/meta.h"
#include "api/volume_source_int.h"

/* --- Schemas, in the API's own order of fields --- */

/* clang-format off */
#define SECRET_REF(name, number_) { name, FIELD_OBJECT, .sub = &secret_reference_schema, .number = (number_) }
#define MUST(name, number_) { name, FIELD_STRING, .flags = FIELD_ALWAYS, .number = (number_) }
/* clang-format on */

static const struct field host_path_source_fields[] = {
    MUST("path", 1),
    { "type", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.HostPathType", .number = 2 },
};
const struct schema host_path_source_schema = SCHEMA("HostPathVolumeSource", host_path_source_fields);

static const struct field gce_disk_source_fields[] = {
    MUST("pdName", 1),
    { "fsType", FIELD_STRING, .number = 2 },
    { "partition", FIELD_INT32, .number = 3 },
    { "readOnly", FIELD_BOOL, .number = 4 },
};
const struct schema gce_disk_source_schema = SCHEMA("GCEPersistentDiskVolumeSource", gce_disk_source_fields);

static const struct field aws_disk_source_fields[] = {
    MUST("volumeID", 1),
    { "fsType", FIELD_STRING, .number = 2 },
    { "partition", FIELD_INT32, .number = 3 },
    { "readOnly", FIELD_BOOL, .number = 4 },
};
const struct schema aws_disk_source_schema =
    SCHEMA("AWSElasticBlockStoreVolumeSource", aws_disk_source_fields);

static const struct field glusterfs_source_fields[] = {
    MUST("endpoints", 1),
    MUST("path", 2),
    { "readOnly", FIELD_BOOL, .number = 3 },
    { "endpointsNamespace", FIELD_STRING, .flags = FIELD_POINTER, .number = 4 },
};
const struct schema glusterfs_source_schema =
    SCHEMA("GlusterfsPersistentVolumeSource", glusterfs_source_fields);

static const struct field flocker_source_fields[] = {
    { "datasetName", FIELD_STRING, .number = 1 },
    { "datasetUUID", FIELD_STRING, .number = 2 },
};
const struct schema flocker_source_schema = SCHEMA("FlockerVolumeSource", flocker_source_fields);

static const struct field nfs_source_fields[] = {
    MUST("server", 1),
    MUST("path", 2),
    { "readOnly", FIELD_BOOL, .number = 3 },
};
const struct schema nfs_source_schema = SCHEMA("NFSVolumeSource", nfs_source_fields);

static const struct field rbd_source_fields[] = {
    { "monitors", FIELD_LIST, .item = FIELD_STRING, .number = 1 },
    MUST("image", 2),
    { "fsType", FIELD_STRING, .number = 3 },
    { "pool", FIELD_STRING, .number = 4 },
    { "user", FIELD_STRING, .number = 5 },
    { "keyring", FIELD_STRING, .number = 6 },
    SECRET_REF("secretRef", 7),
    { "readOnly", FIELD_BOOL, .number = 8 },
};
const struct schema rbd_source_schema = SCHEMA("RBDPersistentVolumeSource", rbd_source_fields);

static const struct field quobyte_source_fields[] = {
    MUST("registry", 1),
    MUST("volume", 2),
    { "readOnly", FIELD_BOOL, .number = 3 },
    { "user", FIELD_STRING, .number = 4 },
    { "group", FIELD_STRING, .number = 5 },
    { "tenant", FIELD_STRING, .number = 6 },
};
const struct schema quobyte_source_schema = SCHEMA("QuobyteVolumeSource", quobyte_source_fields);

static const struct field cephfs_source_fields[] = {
    { "monitors", FIELD_LIST, .item = FIELD_STRING, .number = 1 },
    { "path", FIELD_STRING, .number = 2 },
    { "user", FIELD_STRING, .number = 3 },
    { "secretFile", FIELD_STRING, .number = 4 },
    SECRET_REF("secretRef", 5),
    { "readOnly", FIELD_BOOL, .number = 6 },
};
const struct schema cephfs_source_schema = SCHEMA("CephFSPersistentVolumeSource", cephfs_source_fields);

static const struct field iscsi_source_fields[] = {
    MUST("targetPortal", 1),
    MUST("iqn", 2),
    { "lun", FIELD_INT32, .flags = FIELD_ALWAYS, .number = 3 },
    { "iscsiInterface", FIELD_STRING, .number = 4 },
    { "fsType", FIELD_STRING, .number = 5 },
    { "readOnly", FIELD_BOOL, .number = 6 },
    { "portals", FIELD_LIST, .item = FIELD_STRING, .number = 7 },
    { "chapAuthDiscovery", FIELD_BOOL, .number = 8 },
    { "chapAuthSession", FIELD_BOOL, .number = 11 },
    SECRET_REF("secretRef", 10),
    { "initiatorName", FIELD_STRING, .flags = FIELD_POINTER, .number = 12 },
};
const struct schema iscsi_source_schema = SCHEMA("ISCSIPersistentVolumeSource", iscsi_source_fields);

static const struct field cinder_source_fields[] = {
    MUST("volumeID", 1),
    { "fsType", FIELD_STRING, .number = 2 },
    { "readOnly", FIELD_BOOL, .number = 3 },
    SECRET_REF("secretRef", 4),
};
const struct schema cinder_source_schema = SCHEMA("CinderPersistentVolumeSource", cinder_source_fields);

static const struct field fc_source_fields[] = {
    { "targetWWNs", FIELD_LIST, .item = FIELD_STRING, .number = 1 },
    { "lun", FIELD_INT32, .flags = FIELD_POINTER, .number = 2 },
    { "fsType", FIELD_STRING, .number = 3 },
    { "readOnly", FIELD_BOOL, .number = 4 },
    { "wwids", FIELD_LIST, .item = FIELD_STRING, .number = 5 },
};
const struct schema fc_source_schema = SCHEMA("FCVolumeSource", fc_source_fields);

static const struct field flex_source_fields[] = {
    MUST("driver", 1),
    { "fsType", FIELD_STRING, .number = 2 },
    SECRET_REF("secretRef", 3),
    { "readOnly", FIELD_BOOL, .number = 4 },
    { "options", FIELD_MAP, .item = FIELD_STRING, .number = 5 },
};
const struct schema flex_source_schema = SCHEMA("FlexPersistentVolumeSource", flex_source_fields);

static const struct field azure_file_source_fields[] = {
    MUST("secretName", 1),
    MUST("shareName", 2),
    { "readOnly", FIELD_BOOL, .number = 3 },
    { "secretNamespace", FIELD_STRING, .flags = FIELD_POINTER, .number = 4 },
};
const struct schema azure_file_source_schema =
    SCHEMA("AzureFilePersistentVolumeSource", azure_file_source_fields);

static const struct field vsphere_source_fields[] = {
    MUST("volumePath", 1),
    { "fsType", FIELD_STRING, .number = 2 },
    { "storagePolicyName", FIELD_STRING, .number = 3 },
    { "storagePolicyID", FIELD_STRING, .number = 4 },
};
const struct schema vsphere_source_schema = SCHEMA("VsphereVirtualDiskVolumeSource", vsphere_source_fields);

static const struct field photon_source_fields[] = {
    MUST("pdID", 1),
    { "fsType", FIELD_STRING, .number = 2 },
};
const struct schema photon_source_schema = SCHEMA("PhotonPersistentDiskVolumeSource", photon_source_fields);

static const struct field portworx_source_fields[] = {
    MUST("volumeID", 1),
    { "fsType", FIELD_STRING, .number = 2 },
    { "readOnly", FIELD_BOOL, .number = 3 },
};
const struct schema portworx_source_schema = SCHEMA("PortworxVolumeSource", portworx_source_fields);

static const struct field azure_disk_source_fields[] = {
    MUST("diskName", 1),
    MUST("diskURI", 2),
    { "cachingMode", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.AzureDataDiskCachingMode",
      .number = 3 },
    { "fsType", FIELD_STRING, .flags = FIELD_POINTER, .number = 4 },
    { "readOnly", FIELD_BOOL, .flags = FIELD_POINTER, .number = 5 },
    { "kind", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.AzureDataDiskKind", .number = 6 },
};
const struct schema azure_disk_source_schema = SCHEMA("AzureDiskVolumeSource", azure_disk_source_fields);

static const struct field scale_io_source_fields[] = {
    MUST("gateway", 1),
    MUST("system", 2),
    SECRET_REF("secretRef", 3),
    { "sslEnabled", FIELD_BOOL, .number = 4 },
    { "protectionDomain", FIELD_STRING, .number = 5 },
    { "storagePool", FIELD_STRING, .number = 6 },
    { "storageMode", FIELD_STRING, .number = 7 },
    { "volumeName", FIELD_STRING, .number = 8 },
    { "fsType", FIELD_STRING, .number = 9 },
    { "readOnly", FIELD_BOOL, .number = 10 },
};
const struct schema scale_io_source_schema = SCHEMA("ScaleIOPersistentVolumeSource", scale_io_source_fields);

static const struct field local_source_fields[] = {
    MUST("path", 1),
    { "fsType", FIELD_STRING, .flags = FIELD_POINTER, .number = 2 },
};
const struct schema local_source_schema = SCHEMA("LocalVolumeSource", local_source_fields);

static const struct field storage_os_source_fields[] = {
    { "volumeName", FIELD_STRING, .number = 1 },
    { "volumeNamespace", FIELD_STRING, .number = 2 },
    { "fsType", FIELD_STRING, .number = 3 },
    { "readOnly", FIELD_BOOL, .number = 4 },
    { "secretRef", FIELD_OBJECT, .sub = &object_reference_schema, .number = 5 },
};
const struct schema storage_os_source_schema =
    SCHEMA("StorageOSPersistentVolumeSource", storage_os_source_fields);

static const struct field csi_source_fields[] = {
    MUST("driver", 1),
    MUST("volumeHandle", 2),
    { "readOnly", FIELD_BOOL, .number = 3 },
    { "fsType", FIELD_STRING, .number = 4 },
    { "volumeAttributes", FIELD_MAP, .item = FIELD_STRING, .number = 5 },
    SECRET_REF("controllerPublishSecretRef", 6),
    SECRET_REF("nodeStageSecretRef", 7),
    SECRET_REF("nodePublishSecretRef", 8),
    SECRET_REF("controllerExpandSecretRef", 9),
    SECRET_REF("nodeExpandSecretRef", 10),
};
const struct schema csi_source_schema = SCHEMA("CSIPersistentVolumeSource", csi_source_fields);

/* --- Defaults --- */

static void default_host_path(struct json *d, json_ref source)
{
    default_text(d, source, "type", "");
}

static void default_iscsi(struct json *d, json_ref source)
{
    default_text(d, source, "iscsiInterface", "default");
}

static void default_rbd(struct json *d, json_ref source)
{
    default_text(d, source, "pool", "rbd");
    default_text(d, source, "user", "admin");
    default_text(d, source, "keyring", "/etc/ceph/keyring");
}

static void default_azure_disk(struct json *d, json_ref source)
{
    default_text(d, source, "cachingMode", "ReadWrite");
    default_text(d, source, "fsType", "ext4");
    default_bool(d, source, "readOnly", false);
    default_text(d, source, "kind", "Shared");
}

static void default_scale_io(struct json *d, json_ref source)
{
    default_text(d, source, "storageMode", "ThinProvisioned");
    default_text(d, source, "fsType", "xfs");
}

/* --- The table --- */

/* clang-format off */
#define REQUIRED(...) .required = (const char *const[]){ __VA_ARGS__, NULL }

const struct volume_source_info volume_sources[SOURCE_COUNT] = {
    [SOURCE_HOST_PATH] = { "hostPath", &host_path_source_schema, REQUIRED("path"),
                           .validate = validate_host_path, .set_defaults = default_host_path },
    [SOURCE_GCE_DISK] = { "gcePersistentDisk", &gce_disk_source_schema, REQUIRED("pdName"),
                          .validate = validate_disk_partition, .takes_mount_options = true,
                          .rules_path = "persistentDisk" },
    [SOURCE_AWS_DISK] = { "awsElasticBlockStore", &aws_disk_source_schema, REQUIRED("volumeID"),
                          .validate = validate_disk_partition, .takes_mount_options = true },
    [SOURCE_GLUSTERFS] = { "glusterfs", &glusterfs_source_schema, REQUIRED("endpoints", "path"),
                           .validate = validate_glusterfs, .takes_mount_options = true },
    [SOURCE_FLOCKER] = { "flocker", &flocker_source_schema, .validate = validate_flocker },
    [SOURCE_NFS] = { "nfs", &nfs_source_schema, REQUIRED("server", "path"), .validate = validate_nfs,
                     .takes_mount_options = true },
    [SOURCE_RBD] = { "rbd", &rbd_source_schema, REQUIRED("monitors", "image"), .set_defaults = default_rbd,
                     .takes_mount_options = true },
    [SOURCE_QUOBYTE] = { "quobyte", &quobyte_source_schema, .validate = validate_quobyte,
                         .takes_mount_options = true },
    [SOURCE_CEPHFS] = { "cephfs", &cephfs_source_schema, REQUIRED("monitors"), .takes_mount_options = true,
                        .extra_path = "cephFS" },
    [SOURCE_ISCSI] = { "iscsi", &iscsi_source_schema, REQUIRED("targetPortal"), .validate = validate_iscsi,
                       .set_defaults = default_iscsi, .takes_mount_options = true },
    [SOURCE_CINDER] = { "cinder", &cinder_source_schema, REQUIRED("volumeID"), .validate = validate_cinder,
                        .takes_mount_options = true },
    [SOURCE_FC] = { "fc", &fc_source_schema, .validate = validate_fc },
    [SOURCE_FLEX] = { "flexVolume", &flex_source_schema, REQUIRED("driver"), .validate = validate_flex },
    [SOURCE_AZURE_FILE] = { "azureFile", &azure_file_source_schema, REQUIRED("secretName", "shareName"),
                            .validate = validate_azure_file, .takes_mount_options = true },
    [SOURCE_VSPHERE] = { "vsphereVolume", &vsphere_source_schema, REQUIRED("volumePath"),
                         .takes_mount_options = true },
    [SOURCE_PHOTON] = { "photonPersistentDisk", &photon_source_schema, REQUIRED("pdID"),
                        .takes_mount_options = true },
    [SOURCE_PORTWORX] = { "portworxVolume", &portworx_source_schema, REQUIRED("volumeID") },
    [SOURCE_AZURE_DISK] = { "azureDisk", &azure_disk_source_schema, REQUIRED("diskName", "diskURI"),
                            .validate = validate_azure_disk, .set_defaults = default_azure_disk,
                            .takes_mount_options = true },
    [SOURCE_SCALE_IO] = { "scaleIO", &scale_io_source_schema, REQUIRED("gateway", "system", "volumeName"),
                          .set_defaults = default_scale_io },
    [SOURCE_LOCAL] = { "local", &local_source_schema, REQUIRED("path"), .validate = validate_local },
    [SOURCE_STORAGE_OS] = { "storageos", &storage_os_source_schema, .validate = validate_storage_os },
    [SOURCE_CSI] = { "csi", &csi_source_schema, .validate = validate_csi },
};
/* clang-format on */

enum volume_source_kind volume_source_of(const struct json *d, json_ref spec)
{
    for (int kind = SOURCE_NONE + 1; kind < SOURCE_COUNT; kind++)
        if (json_get(d, spec, volume_sources[kind].name))
            return (enum volume_source_kind)kind;
    return SOURCE_NONE;
}

void default_volume_source(struct json *d, json_ref spec)
{
    for (int kind = SOURCE_NONE + 1; kind < SOURCE_COUNT; kind++) {
        const struct volume_source_info *info = &volume_sources[kind];
        json_ref source = json_get(d, spec, info->name);
        if (source && info->set_defaults)
            info->set_defaults(d, source);
    }
}

/* --- Decoding --- */

static struct secret_ref decode_secret_ref(struct decoder *dec, json_ref object, const char *key)
{
    json_ref v = json_get(dec->d, object, key);

    return (struct secret_ref){ decode_text(dec, v, "namespace"), decode_text(dec, v, "name") };
}

static const struct host_path_source *decode_host_path(struct decoder *dec, json_ref v)
{
    struct host_path_source *s = decode_new(dec, v, sizeof *s);

    if (s)
        *s = (struct host_path_source){ decode_text(dec, v, "path"), decode_text(dec, v, "type") };
    return s;
}

static const struct local_source *decode_local(struct decoder *dec, json_ref v)
{
    struct local_source *s = decode_new(dec, v, sizeof *s);

    if (s)
        *s = (struct local_source){ decode_text(dec, v, "path"), decode_text(dec, v, "fsType") };
    return s;
}

static const struct nfs_source *decode_nfs(struct decoder *dec, json_ref v)
{
    struct nfs_source *s = decode_new(dec, v, sizeof *s);

    if (s)
        *s = (struct nfs_source){
            .server = decode_text(dec, v, "server"),
            .path = decode_text(dec, v, "path"),
            .is_read_only = decode_bool(dec, v, "readOnly", false),
        };
    return s;
}

static const struct iscsi_source *decode_iscsi(struct decoder *dec, json_ref v)
{
    struct iscsi_source *s = decode_new(dec, v, sizeof *s);

    if (s)
        *s = (struct iscsi_source){
            .portal = decode_text(dec, v, "targetPortal"),
            .portals = decode_texts(dec, v, "portals"),
            .iqn = decode_text(dec, v, "iqn"),
            .interface = decode_text(dec, v, "iscsiInterface"),
            .initiator_name = decode_text(dec, v, "initiatorName"),
            .fs_type = decode_text(dec, v, "fsType"),
            .secret = decode_secret_ref(dec, v, "secretRef"),
            .lun = (int32_t)decode_int(dec, v, "lun", 0),
            .is_read_only = decode_bool(dec, v, "readOnly", false),
            .chap_discovery = decode_bool(dec, v, "chapAuthDiscovery", false),
            .chap_session = decode_bool(dec, v, "chapAuthSession", false),
        };
    return s;
}

static const struct fc_source *decode_fc(struct decoder *dec, json_ref v)
{
    struct fc_source *s = decode_new(dec, v, sizeof *s);

    if (s)
        *s = (struct fc_source){
            .wwns = decode_texts(dec, v, "targetWWNs"),
            .wwids = decode_texts(dec, v, "wwids"),
            .fs_type = decode_text(dec, v, "fsType"),
            .lun = (int32_t)decode_int(dec, v, "lun", -1),
            .is_read_only = decode_bool(dec, v, "readOnly", false),
        };
    return s;
}

static const struct flex_source *decode_flex(struct decoder *dec, json_ref v)
{
    struct flex_source *s = decode_new(dec, v, sizeof *s);

    if (s)
        *s = (struct flex_source){
            .driver = decode_text(dec, v, "driver"),
            .fs_type = decode_text(dec, v, "fsType"),
            .secret = decode_secret_ref(dec, v, "secretRef"),
            .options = decode_map(dec, v, "options"),
            .is_read_only = decode_bool(dec, v, "readOnly", false),
        };
    return s;
}

static const struct csi_source *decode_csi(struct decoder *dec, json_ref v)
{
    static const char *const secrets[] = {
        [CSI_SECRET_CONTROLLER_PUBLISH] = "controllerPublishSecretRef",
        [CSI_SECRET_NODE_STAGE] = "nodeStageSecretRef",
        [CSI_SECRET_NODE_PUBLISH] = "nodePublishSecretRef",
        [CSI_SECRET_CONTROLLER_EXPAND] = "controllerExpandSecretRef",
        [CSI_SECRET_NODE_EXPAND] = "nodeExpandSecretRef",
    };
    static_assert(ARRAY_LEN(secrets) == CSI_SECRET_COUNT, "name every secret");
    struct csi_source *s = decode_new(dec, v, sizeof *s);

    if (!s)
        return NULL;
    s->driver = decode_text(dec, v, "driver");
    s->handle = decode_text(dec, v, "volumeHandle");
    s->fs_type = decode_text(dec, v, "fsType");
    s->attributes = decode_map(dec, v, "volumeAttributes");
    s->is_read_only = decode_bool(dec, v, "readOnly", false);
    for (size_t i = 0; i < CSI_SECRET_COUNT; i++)
        s->secrets[i] = decode_secret_ref(dec, v, secrets[i]);
    return s;
}

struct volume_source decode_volume_source(struct decoder *dec, json_ref spec)
{
    struct volume_source s = { .kind = (uint8_t)volume_source_of(dec->d, spec) };
    json_ref v = s.kind ? json_get(dec->d, spec, volume_sources[s.kind].name) : 0;

    if (s.kind == SOURCE_HOST_PATH)
        s.host_path = decode_host_path(dec, v);
    else if (s.kind == SOURCE_LOCAL)
        s.local = decode_local(dec, v);
    else if (s.kind == SOURCE_NFS)
        s.nfs = decode_nfs(dec, v);
    else if (s.kind == SOURCE_ISCSI)
        s.iscsi = decode_iscsi(dec, v);
    else if (s.kind == SOURCE_FC)
        s.fc = decode_fc(dec, v);
    else if (s.kind == SOURCE_FLEX)
        s.flex = decode_flex(dec, v);
    else if (s.kind == SOURCE_CSI)
        s.csi = decode_csi(dec, v);
    return s;
}
