/* What the fields of volume sources mean: of volumes and of pods. */
#include "apiserver/openapi_int.h"

#define DISK_PARTITION "The partition to mount; 0 or left out for the whole disk."
#define CEPH_MONITORS "Addresses of the Ceph monitors."
#define CEPH_USER "The Ceph user; admin when it is left out."
#define FILE_MODE \
    "The mode bits of the files, 0 to 0777, where a file does not have its own. JSON takes them in decimal."

/* The two forms of these differ only in how they name a Secret. */
static const struct field_doc iscsi_fields[] = {
    { "targetPortal", "The address of the target, with a port when it is not 3260.", DOC_REQUIRED },
    { "iqn", "The target's qualified name.", DOC_REQUIRED },
    { "lun", "The number of the logical unit.", DOC_REQUIRED },
    { "iscsiInterface", "The initiator's interface; \"default\", which is TCP, when it is left out." },
    { "portals", "Further addresses of the target, for several paths to the same disk." },
    { "chapAuthDiscovery", "Whether discovery uses CHAP authentication." },
    { "chapAuthSession", "Whether the session uses CHAP authentication." },
    { "secretRef", "The Secret for CHAP." },
    { "initiatorName", "The initiator's name, in place of the node's own." },
    { 0 },
};
static const struct field_doc rbd_fields[] = {
    { "monitors", CEPH_MONITORS, DOC_REQUIRED },
    { "image", "The name of the image.", DOC_REQUIRED },
    { "pool", "The pool of the image; rbd when it is left out." },
    { "user", CEPH_USER },
    { "keyring", "The key ring's file on the node. A Secret goes before it." },
    { 0 },
};
static const struct field_doc flex_fields[] = {
    { "driver", "The driver: VENDOR/NAME.", DOC_REQUIRED },
    { "secretRef", "The Secret whose contents are handed to the driver." },
    { "options", "What else is handed to the driver." },
    { 0 },
};
static const struct field_doc config_files_fields[] = {
    { "name", "Its name." },
    { "items", "Which keys become files, and where. Left out, every key becomes a file of its name." },
    { "optional", "Whether the pod may start without it, or without one of the keys." },
    { "defaultMode", FILE_MODE },
    { 0 },
};
static const struct field_doc glusterfs_fields[] = {
    { "endpoints", "The Endpoints object with the servers' addresses.", DOC_REQUIRED },
    { "path", "The volume's name.", DOC_REQUIRED },
    { "endpointsNamespace", "The namespace of the Endpoints; the claim's when it is left out." },
    { 0 },
};
static const struct field_doc cinder_fields[] = {
    { "volumeID", "The disk's id.", DOC_REQUIRED },
    { 0 },
};
static const struct field_doc cephfs_fields[] = {
    { "monitors", CEPH_MONITORS, DOC_REQUIRED },
    { "path", "The directory to mount; the root when it is left out." },
    { "user", CEPH_USER },
    { "secretFile", "The file on the node that holds the user's key. A Secret goes before it." },
    { 0 },
};
static const struct field_doc azure_file_fields[] = {
    { "secretName", "The Secret with the name and key of the storage account.", DOC_REQUIRED },
    { "shareName", "The share's name.", DOC_REQUIRED },
    { "secretNamespace", "The Secret's namespace; the claim's when it is left out." },
    { 0 },
};
static const struct field_doc scale_io_fields[] = {
    { "gateway", "The address of the gateway.", DOC_REQUIRED },
    { "system", "The name of the storage system.", DOC_REQUIRED },
    { "secretRef", "The Secret with the user and password.", DOC_REQUIRED },
    { "sslEnabled", "Whether the gateway is spoken to over TLS." },
    { "protectionDomain", "The protection domain." },
    { "storagePool", "The storage pool." },
    { "storageMode", "ThinProvisioned or ThickProvisioned." },
    { "volumeName", "The volume's name." },
    { 0 },
};
static const struct field_doc storage_os_fields[] = {
    { "volumeName", "The volume's name." },
    { "volumeNamespace", "The volume's namespace in StorageOS." },
    { 0 },
};

const struct schema_doc openapi_docs_sources[] = {
    { PACKAGE_CORE, "HostPathVolumeSource", "A file or directory of the node that the pod runs on.",
      (const struct field_doc[]){
          { "path", "Where it is on the node. A link is followed.", DOC_REQUIRED },
          { "type", "What must be there, or is made, before it is mounted; empty checks nothing.", 0,
            "|BlockDevice|CharDevice|Directory|DirectoryOrCreate|File|FileOrCreate|Socket" },
          { 0 },
      } },
    { PACKAGE_CORE, "LocalVolumeSource", "Storage that is attached to one node.",
      (const struct field_doc[]){
          { "path", "Where it is on the node: a directory, or a block device.", DOC_REQUIRED },
          { "fsType",
            "The file system to make on a block device that has none, such as ext4 or xfs. Only for "
            "devices." },
          { 0 },
      } },
    { PACKAGE_CORE, "NFSVolumeSource", "A directory that an NFS server exports.",
      (const struct field_doc[]){
          { "server", "The server's name or address.", DOC_REQUIRED },
          { "path", "The exported path.", DOC_REQUIRED },
          { 0 },
      } },
    { PACKAGE_CORE, "CSIPersistentVolumeSource", "A volume of a CSI driver.",
      (const struct field_doc[]){
          { "driver", "The driver's name.", DOC_REQUIRED },
          { "volumeHandle", "What the driver calls the volume.", DOC_REQUIRED },
          { "volumeAttributes", "What the driver wanted to be told again about the volume." },
          { "controllerPublishSecretRef", "The Secret handed to the driver to attach and detach." },
          { "nodeStageSecretRef", "The Secret handed to the driver to make the volume ready on a node." },
          { "nodePublishSecretRef", "The Secret handed to the driver to mount it for a pod." },
          { "controllerExpandSecretRef", "The Secret handed to the driver to make it larger." },
          { "nodeExpandSecretRef", "The Secret handed to the driver to make its file system larger." },
          { 0 },
      } },
    { PACKAGE_CORE, "CSIVolumeSource", "A volume that a CSI driver makes for one pod and removes with it.",
      (const struct field_doc[]){
          { "driver", "The driver's name.", DOC_REQUIRED },
          { "volumeAttributes", "Settings for the driver; what they mean is its affair." },
          { "nodePublishSecretRef", "The Secret, in the pod's namespace, handed to the driver to mount it." },
          { 0 },
      } },
    { PACKAGE_CORE, "ISCSIPersistentVolumeSource", "A disk of an iSCSI target.", iscsi_fields },
    { PACKAGE_CORE, "ISCSIVolumeSource", "A disk of an iSCSI target.", iscsi_fields },
    { PACKAGE_CORE, "FCVolumeSource",
      "A disk on a Fibre Channel network: by targetWWNs and lun, or by wwids.",
      (const struct field_doc[]){
          { "targetWWNs", "World-wide names of the targets." },
          { "lun", "The number of the logical unit." },
          { "wwids", "World-wide identifiers of the disk." },
          { 0 },
      } },
    { PACKAGE_CORE, "FlexPersistentVolumeSource", "A volume of a FlexVolume driver.", flex_fields },
    { PACKAGE_CORE, "FlexVolumeSource", "A volume of a FlexVolume driver.", flex_fields },

    { PACKAGE_CORE, "GCEPersistentDiskVolumeSource", "A Google Compute Engine disk.",
      (const struct field_doc[]){
          { "pdName", "The disk's name.", DOC_REQUIRED },
          { "partition", DISK_PARTITION },
          { 0 },
      } },
    { PACKAGE_CORE, "AWSElasticBlockStoreVolumeSource", "An Amazon EBS disk.",
      (const struct field_doc[]){
          { "volumeID", "The disk's id.", DOC_REQUIRED },
          { "partition", DISK_PARTITION },
          { 0 },
      } },
    { PACKAGE_CORE, "GlusterfsPersistentVolumeSource", "A GlusterFS volume.", glusterfs_fields },
    { PACKAGE_CORE, "GlusterfsVolumeSource", "A GlusterFS volume.", glusterfs_fields },
    { PACKAGE_CORE, "RBDPersistentVolumeSource", "A Ceph block device.", rbd_fields },
    { PACKAGE_CORE, "RBDVolumeSource", "A Ceph block device.", rbd_fields },
    { PACKAGE_CORE, "CinderPersistentVolumeSource", "An OpenStack Cinder disk.", cinder_fields },
    { PACKAGE_CORE, "CinderVolumeSource", "An OpenStack Cinder disk.", cinder_fields },
    { PACKAGE_CORE, "CephFSPersistentVolumeSource", "A Ceph file system.", cephfs_fields },
    { PACKAGE_CORE, "CephFSVolumeSource", "A Ceph file system.", cephfs_fields },
    { PACKAGE_CORE, "FlockerVolumeSource", "A Flocker dataset.",
      (const struct field_doc[]){
          { "datasetName", "The dataset's name. Deprecated." },
          { "datasetUUID", "The dataset's UUID." },
          { 0 },
      } },
    { PACKAGE_CORE, "AzureFilePersistentVolumeSource", "An Azure file share.", azure_file_fields },
    { PACKAGE_CORE, "AzureFileVolumeSource", "An Azure file share.", azure_file_fields },
    { PACKAGE_CORE, "AzureDiskVolumeSource", "An Azure data disk.",
      (const struct field_doc[]){
          { "diskName", "The disk's name.", DOC_REQUIRED },
          { "diskURI", "Where the disk is: its resource id or address.", DOC_REQUIRED },
          { "cachingMode", "How the host caches it.", 0, "None|ReadOnly|ReadWrite" },
          { "kind", "Whether it is a managed disk, or a blob in a shared or dedicated account.", 0,
            "Dedicated|Managed|Shared" },
          { 0 },
      } },
    { PACKAGE_CORE, "VsphereVirtualDiskVolumeSource", "A vSphere disk.",
      (const struct field_doc[]){
          { "volumePath", "The path of the disk: [datastore] folder/disk.vmdk.", DOC_REQUIRED },
          { "storagePolicyName", "The name of its storage policy." },
          { "storagePolicyID", "The id of its storage policy." },
          { 0 },
      } },
    { PACKAGE_CORE, "QuobyteVolumeSource", "A Quobyte volume.",
      (const struct field_doc[]){
          { "registry", "Addresses of the registries: HOST:PORT, separated by commas.", DOC_REQUIRED },
          { "volume", "The volume's name.", DOC_REQUIRED },
          { "user", "The user that accesses are made as." },
          { "group", "The group that accesses are made as." },
          { "tenant", "The tenant that owns the volume." },
          { 0 },
      } },
    { PACKAGE_CORE, "PhotonPersistentDiskVolumeSource", "A Photon disk.",
      (const struct field_doc[]){
          { "pdID", "The disk's id.", DOC_REQUIRED },
          { 0 },
      } },
    { PACKAGE_CORE, "PortworxVolumeSource", "A Portworx volume.",
      (const struct field_doc[]){
          { "volumeID", "The volume's id.", DOC_REQUIRED },
          { 0 },
      } },
    { PACKAGE_CORE, "ScaleIOPersistentVolumeSource", "A ScaleIO volume.", scale_io_fields },
    { PACKAGE_CORE, "ScaleIOVolumeSource", "A ScaleIO volume.", scale_io_fields },
    { PACKAGE_CORE, "StorageOSPersistentVolumeSource", "A StorageOS volume.", storage_os_fields },
    { PACKAGE_CORE, "StorageOSVolumeSource", "A StorageOS volume.", storage_os_fields },

    { PACKAGE_CORE, "EmptyDirVolumeSource",
      "A directory that is empty when the pod comes to a node, and gone when it "
      "leaves.",
      (const struct field_doc[]){
          { "medium", "What it is kept on: empty for the node's disk, Memory for RAM." },
          { "sizeLimit", "The most it may hold." },
          { 0 },
      } },
    { PACKAGE_CORE, "GitRepoVolumeSource",
      "A copy of a Git repository. Deprecated: let an init container fetch it.",
      (const struct field_doc[]){
          { "repository", "The repository's address.", DOC_REQUIRED },
          { "revision", "The commit to check out." },
          { "directory", "The directory to put it in." },
          { 0 },
      } },
    { PACKAGE_CORE, "PersistentVolumeClaimVolumeSource", "The volume that a claim is bound to.",
      (const struct field_doc[]){
          { "claimName", "The claim, in the pod's namespace.", DOC_REQUIRED },
          { 0 },
      } },
    { PACKAGE_CORE, "EphemeralVolumeSource",
      "A volume of the pod's own: a claim is made for it, and goes with the pod.",
      (const struct field_doc[]){
          { "volumeClaimTemplate",
            "What the claim is made from. Its name is that of the pod and of the volume, "
            "with a dash between them." },
          { 0 },
      } },
    { PACKAGE_CORE, "ImageVolumeSource", "The files of a container image, to be read.",
      (const struct field_doc[]){
          { "reference", "The image." },
          { "pullPolicy", "When the image is fetched.", 0, "Always|IfNotPresent|Never" },
          { 0 },
      } },
    { PACKAGE_CORE, "SecretVolumeSource", "The contents of a Secret as files.",
      (const struct field_doc[]){
          { "secretName", "The Secret, in the pod's namespace." },
          { "items", "Which keys become files, and where. Left out, every key becomes a file of its name." },
          { "defaultMode", FILE_MODE },
          { "optional", "Whether the pod may start without it, or without one of the keys." },
          { 0 },
      } },
    { PACKAGE_CORE, "ConfigMapVolumeSource", "The contents of a ConfigMap as files.", config_files_fields },
    { PACKAGE_CORE, "DownwardAPIVolumeSource", "Facts about the pod as files.",
      (const struct field_doc[]){
          { "items", "The files." },
          { "defaultMode", FILE_MODE },
          { 0 },
      } },
    { PACKAGE_CORE, "ProjectedVolumeSource", "Files from several sources in one directory.",
      (const struct field_doc[]){
          { "sources", "Where the files come from." },
          { "defaultMode", FILE_MODE },
          { 0 },
      } },
    { PACKAGE_CORE, "VolumeProjection", "One source of files: exactly one of these.",
      (const struct field_doc[]){
          { "secret", "A Secret." },
          { "downwardAPI", "Facts about the pod." },
          { "configMap", "A ConfigMap." },
          { "serviceAccountToken", "A token of the pod's service account." },
          { "clusterTrustBundle", "Certificates of certificate authorities." },
          { "podCertificate", "A key and a certificate for the pod." },
          { 0 },
      } },
    { PACKAGE_CORE, "SecretProjection", "The contents of a Secret, among other files.", config_files_fields },
    { PACKAGE_CORE, "ConfigMapProjection", "The contents of a ConfigMap, among other files.",
      config_files_fields },
    { PACKAGE_CORE, "DownwardAPIProjection", "Facts about the pod, among other files.",
      (const struct field_doc[]){
          { "items", "The files." },
          { 0 },
      } },
    { PACKAGE_CORE, "ServiceAccountTokenProjection", "A token of the pod's service account, kept fresh.",
      (const struct field_doc[]){
          { "audience", "Whom the token is meant for; the API server when it is left out." },
          { "expirationSeconds", "How long the token is valid; at least 600." },
          { "path", "The file.", DOC_REQUIRED },
          { 0 },
      } },
    { PACKAGE_CORE, "ClusterTrustBundleProjection", "Certificates of certificate authorities, as one file.",
      (const struct field_doc[]){
          { "name", "One bundle, by name." },
          { "signerName", "All bundles of this signer that labelSelector selects." },
          { "labelSelector", "Which bundles of the signer; none when it is left out." },
          { "optional", "Whether the pod may start without them." },
          { "path", "The file.", DOC_REQUIRED },
          { 0 },
      } },
    { PACKAGE_CORE, "PodCertificateProjection", "A key and a certificate for the pod, kept fresh.",
      (const struct field_doc[]){
          { "signerName", "The signer that issues the certificate.", DOC_REQUIRED },
          { "keyType", "The kind of key: RSA3072, RSA4096, ECDSAP256, ECDSAP384, ECDSAP521 or ED25519.",
            DOC_REQUIRED },
          { "maxExpirationSeconds", "The longest validity; 86400 when it is left out." },
          { "credentialBundlePath", "The file for key and certificates together." },
          { "keyPath", "The file for the key." },
          { "certificateChainPath", "The file for the certificates." },
          { "userAnnotations", "Texts for the signer." },
          { 0 },
      } },
    { PACKAGE_CORE, "KeyToPath", "A key and the file it becomes.",
      (const struct field_doc[]){
          { "key", "The key.", DOC_REQUIRED },
          { "path", "The file, below the volume's directory and without any \"..\".", DOC_REQUIRED },
          { "mode", "The file's mode bits, 0 to 0777." },
          { 0 },
      } },
    { PACKAGE_CORE, "DownwardAPIVolumeFile", "A file with a fact about the pod.",
      (const struct field_doc[]){
          { "path", "The file, below the volume's directory and without any \"..\".", DOC_REQUIRED },
          { "fieldRef", "The field of the pod to show: its name, labels, annotations and the like." },
          { "resourceFieldRef", "The limit or request of a container to show." },
          { "mode", "The file's mode bits, 0 to 0777." },
          { 0 },
      } },
    { PACKAGE_CORE, "ObjectFieldSelector", "A field of the pod.",
      (const struct field_doc[]){
          { "apiVersion", "The version that the path is of; v1 when it is left out." },
          { "fieldPath", "The field: metadata.name.", DOC_REQUIRED },
          { 0 },
      } },
    { PACKAGE_CORE, "ResourceFieldSelector", "A limit or request of a container.",
      (const struct field_doc[]){
          { "containerName", "The container. Files need it." },
          { "resource", "Which: limits.cpu, requests.memory and so on.", DOC_REQUIRED },
          { "divisor", "The unit that the amount is shown in; 1 when it is left out." },
          { 0 },
      } },
    { 0 },
};
