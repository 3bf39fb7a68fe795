/* What the fields of the storage kinds mean. */
#include "apiserver/openapi_int.h"

#define ACCESS_MODES "ReadOnlyMany|ReadWriteMany|ReadWriteOnce|ReadWriteOncePod"
#define VOLUME_MODES "Block|Filesystem"

const struct schema_doc openapi_docs_storage[] = {
    { PACKAGE_CORE, "PersistentVolume",
      "A piece of storage in the cluster, made by an administrator or by a provisioner. "
      "It belongs to no namespace and outlives the pods that use it; claims bind to it.",
      (const struct field_doc[]){
          { "spec", "What the volume is: its size, where the data is, who may use it and how." },
          { "status", "Where the volume is in its life. Written by the system." },
          { 0 },
      } },
    { PACKAGE_CORE, "PersistentVolumeSpec",
      "What a volume is. Besides the common fields exactly one source says where "
      "the data is; it does not change once the volume exists.",
      (const struct field_doc[]){
          { "capacity", "How much the volume holds, under the key storage." },
          { "gcePersistentDisk", "A Google Compute Engine disk. Deprecated: served by its CSI driver." },
          { "awsElasticBlockStore", "An Amazon EBS disk. Deprecated: served by its CSI driver." },
          { "hostPath",
            "A file or directory of the node itself. For tests on a single node: the data does not "
            "follow a pod to another one." },
          { "glusterfs", "A GlusterFS volume. Deprecated, nothing serves it any more." },
          { "nfs", "A directory that an NFS server exports." },
          { "rbd", "A Ceph block device. Deprecated, nothing serves it any more." },
          { "iscsi", "A disk of an iSCSI target." },
          { "cinder", "An OpenStack Cinder disk. Deprecated: served by its CSI driver." },
          { "cephfs", "A Ceph file system. Deprecated, nothing serves it any more." },
          { "fc", "A disk on a Fibre Channel network." },
          { "flocker", "A Flocker dataset. Deprecated, nothing serves it any more." },
          { "flexVolume", "A volume that a FlexVolume driver, a program on the node, attaches and mounts." },
          { "azureFile", "An Azure file share. Deprecated: served by its CSI driver." },
          { "vsphereVolume", "A vSphere disk. Deprecated: served by its CSI driver." },
          { "quobyte", "A Quobyte volume. Deprecated, nothing serves it any more." },
          { "azureDisk", "An Azure data disk. Deprecated: served by its CSI driver." },
          { "photonPersistentDisk", "A Photon disk. Deprecated, nothing serves it any more." },
          { "portworxVolume", "A Portworx volume. Deprecated: served by its CSI driver." },
          { "scaleIO", "A ScaleIO volume. Deprecated, nothing serves it any more." },
          { "local",
            "A disk, partition or directory of one node. Needs nodeAffinity, so that pods are placed "
            "where the data is." },
          { "storageos", "A StorageOS volume. Deprecated, nothing serves it any more." },
          { "csi", "A volume of a CSI driver." },
          { "accessModes",
            "The ways in which the volume can be mounted. A claim binds only to a volume that "
            "offers every mode it asks for.",
            0, ACCESS_MODES },
          { "claimRef",
            "The claim that the volume is bound to, or reserved for. With a uid it is bound to just "
            "that claim; a name alone reserves it." },
          { "persistentVolumeReclaimPolicy",
            "What happens when the claim is gone: Retain keeps the volume and "
            "its data for an administrator, Delete removes both, Recycle (deprecated) empties it.",
            0, "Delete|Recycle|Retain" },
          { "storageClassName",
            "The class that the volume belongs to. Only claims of the same class bind to it; "
            "empty stands for no class." },
          { "mountOptions",
            "Options for mounting, such as ro or soft. They are not checked: a wrong one makes "
            "the mount fail." },
          { "volumeMode", "Whether pods get a file system or the bare device.", 0, VOLUME_MODES },
          { "nodeAffinity", "The nodes that can reach the volume. Pods that use it run only there." },
          { "volumeAttributesClassName", "The class of tunable attributes that the volume has now, for CSI "
                                         "volumes." },
          { 0 },
      } },
    { PACKAGE_CORE, "PersistentVolumeStatus", "Where a volume is in its life.",
      (const struct field_doc[]){
          { "phase",
            "Pending: not looked at yet. Available: free. Bound: has a claim. Released: its claim is "
            "gone, its data is not. Failed: could not be reclaimed.",
            0, "Available|Bound|Failed|Pending|Released" },
          { "message", "Why it is so, for people." },
          { "reason", "Why it failed, in one word." },
          { "lastPhaseTransitionTime", "When the phase last changed." },
          { 0 },
      } },
    { PACKAGE_CORE, "VolumeNodeAffinity", "The nodes from which a volume can be reached.",
      (const struct field_doc[]){
          { "required", "What must hold of such a node." },
          { 0 },
      } },

    { PACKAGE_CORE, "PersistentVolumeClaim",
      "Somebody's request for storage. The system finds or makes a volume for it "
      "and binds the two to each other; pods then use the claim.",
      (const struct field_doc[]){
          { "spec", "What is asked for." },
          { "status", "What was given. Written by the system." },
          { 0 },
      } },
    { PACKAGE_CORE, "PersistentVolumeClaimTemplate",
      "What a claim is made from, for a pod that brings its own.",
      (const struct field_doc[]){
          { "metadata", "Labels and annotations that the claim gets. Its name follows from the pod's." },
          { "spec", "What the claim asks for.", DOC_REQUIRED },
          { 0 },
      } },
    { PACKAGE_CORE, "PersistentVolumeClaimSpec",
      "What a claim asks for. Once it is made, only the size and the attributes "
      "class of a bound claim can change.",
      (const struct field_doc[]){
          { "accessModes",
            "How the volume is to be mounted: ReadWriteOnce by one node, ReadOnlyMany by many to "
            "read, ReadWriteMany by many, ReadWriteOncePod by a single pod.",
            0, ACCESS_MODES },
          { "selector", "Only volumes with fitting labels will do. Such a claim is never provisioned for." },
          { "resources",
            "How much is asked for, under requests.storage. It can grow later, if the class allows "
            "it." },
          { "volumeName", "The volume bound to the claim. Set beforehand, it asks for that volume." },
          { "storageClassName", "The class asked for. Left out, the default class is used; empty asks for a "
                                "volume without a class, and nothing is provisioned." },
          { "volumeMode", "Whether a file system or a bare device is asked for.", 0, VOLUME_MODES },
          { "dataSource",
            "What the new volume is filled from: a VolumeSnapshot, or another claim in the same "
            "namespace." },
          { "dataSourceRef", "The same for any kind of object that something knows how to fill volumes from. "
                             "Whichever of the two is set also shows in the other." },
          { "volumeAttributesClassName",
            "The class of tunable attributes that the volume should have. It may "
            "be changed while the claim is bound." },
          { 0 },
      } },
    { PACKAGE_CORE, "VolumeResourceRequirements", "How much storage is asked for.",
      (const struct field_doc[]){
          { "limits", "The most that will do." },
          { "requests", "The least that will do, under the key storage." },
          { 0 },
      } },
    { PACKAGE_CORE, "PersistentVolumeClaimStatus", "What a claim was given.",
      (const struct field_doc[]){
          { "phase",
            "Pending: without a volume so far. Bound: has one. Lost: had one that is gone, and the data "
            "with it.",
            0, "Bound|Lost|Pending" },
          { "accessModes", "The ways in which the bound volume can be mounted.", 0, ACCESS_MODES },
          { "capacity", "What the bound volume really holds. It may be more than was asked for." },
          { "conditions", "What is going on with the claim, such as a resize." },
          { "allocatedResources", "The size that is being made ready while the volume grows." },
          { "allocatedResourceStatuses", "How far growing is, for each resource.", 0,
            "ControllerResizeInProgress|ControllerResizeInfeasible|NodeResizePending|NodeResizeInProgress|"
            "NodeResizeInfeasible" },
          { "currentVolumeAttributesClassName", "The attributes class that the volume has now." },
          { "modifyVolumeStatus", "How far a change of the attributes class is." },
          { 0 },
      } },
    { PACKAGE_CORE, "PersistentVolumeClaimCondition", "One thing that is going on with a claim.",
      (const struct field_doc[]){
          { "type", "What it is: Resizing, FileSystemResizePending, ModifyingVolume and others.",
            DOC_REQUIRED },
          { "status", "True, False or Unknown.", DOC_REQUIRED },
          { "lastProbeTime", "When it was last looked at." },
          { "lastTransitionTime", "When the status last changed." },
          { "reason", "Why, in one word." },
          { "message", "Why, for people." },
          { 0 },
      } },
    { PACKAGE_CORE, "ModifyVolumeStatus", "How far a change of the attributes class is.",
      (const struct field_doc[]){
          { "targetVolumeAttributesClassName", "The class that the volume is to have." },
          { "status",
            "Pending: something is missing, such as the class. InProgress: under way. Infeasible: the "
            "driver has refused it.",
            DOC_REQUIRED, "InProgress|Infeasible|Pending" },
          { 0 },
      } },

    { PACKAGE_STORAGE, "StorageClass",
      "A kind of storage on offer: who makes the volumes, how, and what becomes of "
      "them. Claims name the class they want.",
      (const struct field_doc[]){
          { "provisioner",
            "Who makes volumes of this class: a CSI driver or another provisioner. "
            "kubernetes.io/no-provisioner for classes whose volumes are made by hand.",
            DOC_REQUIRED },
          { "parameters", "Settings for the provisioner; what they mean is its affair. They never change." },
          { "reclaimPolicy", "The reclaim policy of volumes made for this class. Delete when it is left out.",
            0, "Delete|Retain" },
          { "mountOptions", "Mount options of volumes made for this class." },
          { "allowVolumeExpansion", "Whether claims of this class may grow." },
          { "volumeBindingMode",
            "Immediate binds and provisions as soon as the claim is there. "
            "WaitForFirstConsumer waits for a pod that uses it, so that volume and pod end up on the same "
            "node.",
            0, "Immediate|WaitForFirstConsumer" },
          { "allowedTopologies", "Where volumes of this class may be made. Anywhere when it is left out." },
          { 0 },
      } },
    { PACKAGE_STORAGE, "VolumeAttributesClass",
      "Attributes of volumes that can change while they are in use, such as "
      "throughput, for one CSI driver.",
      (const struct field_doc[]){
          { "driverName", "The CSI driver that the class is for. It never changes.", DOC_REQUIRED },
          { "parameters", "The attributes; what they mean is the driver's affair. They never change." },
          { 0 },
      } },
    { PACKAGE_STORAGE, "VolumeAttachment",
      "The wish that a volume be attached to a node, or detached again. A controller "
      "makes it, and an attacher sees to it and reports.",
      (const struct field_doc[]){
          { "spec", "What is to be attached to what. It never changes.", DOC_REQUIRED },
          { "status", "How far it is. Written by the attacher." },
          { 0 },
      } },
    { PACKAGE_STORAGE, "VolumeAttachmentSpec", "What is to be attached to what.",
      (const struct field_doc[]){
          { "attacher", "The driver that has to do it.", DOC_REQUIRED },
          { "source", "The volume.", DOC_REQUIRED },
          { "nodeName", "The node.", DOC_REQUIRED },
          { 0 },
      } },
    { PACKAGE_STORAGE, "VolumeAttachmentSource", "The volume to attach: exactly one of the two.",
      (const struct field_doc[]){
          { "persistentVolumeName", "The name of a volume." },
          { "inlineVolumeSpec", "A volume that a pod brought itself, translated for its CSI driver." },
          { 0 },
      } },
    { PACKAGE_STORAGE, "VolumeAttachmentStatus", "How far attaching is.",
      (const struct field_doc[]){
          { "attached", "Whether the volume is attached.", DOC_REQUIRED },
          { "attachmentMetadata", "What the attacher found out and whoever mounts the volume will need." },
          { "attachError", "Why attaching failed the last time." },
          { "detachError", "Why detaching failed the last time." },
          { 0 },
      } },
    { PACKAGE_STORAGE, "VolumeError", "A failure to attach or detach.",
      (const struct field_doc[]){
          { "time", "When it happened." },
          { "message", "What happened. It must hold no secrets." },
          { "errorCode", "The code of the failed CSI call." },
          { 0 },
      } },

    { PACKAGE_STORAGE, "CSIDriver",
      "What the cluster needs to know of a CSI driver. The object has the driver's name.",
      (const struct field_doc[]){
          { "spec", "How the driver wants to be dealt with.", DOC_REQUIRED },
          { 0 },
      } },
    { PACKAGE_STORAGE, "CSIDriverSpec", "How a CSI driver wants to be dealt with.",
      (const struct field_doc[]){
          { "attachRequired", "Whether volumes must be attached to a node before they are mounted. It never "
                              "changes." },
          { "podInfoOnMount", "Whether the driver is told of the pod when it mounts: name, namespace, uid, "
                              "service account." },
          { "volumeLifecycleModes",
            "The volumes that the driver serves: Persistent ones, Ephemeral ones that "
            "live and die with a pod, or both. It never changes.",
            0, "Ephemeral|Persistent" },
          { "storageCapacity",
            "Whether the driver publishes how much it can still make, so that pods go where "
            "there is room." },
          { "fsGroupPolicy",
            "Whether owner and mode of the files are set for a pod's fsGroup: File always, None "
            "never, ReadWriteOnceWithFSType for volumes of one writer with a file system.",
            0, "File|None|ReadWriteOnceWithFSType" },
          { "tokenRequests", "Tokens of the pod's service account that the driver wants to be handed when it "
                             "mounts." },
          { "requiresRepublish",
            "Whether the driver wants to be called again from time to time, to refresh what "
            "it has mounted." },
          { "seLinuxMount", "Whether volumes of the driver can be mounted with an SELinux context." },
          { "nodeAllocatableUpdatePeriodSeconds",
            "How often the number of volumes that fit a node is asked for "
            "anew; at least 10." },
          { "serviceAccountTokenInSecrets",
            "Whether the driver reads the tokens that it requests from the secrets of a mount; otherwise "
            "they are among the volume's attributes, where they may get into logs. Only with "
            "tokenRequests." },
          { "preventPodSchedulingIfMissing",
            "Whether pods stay away from nodes on which the driver is not registered. The server accepts "
            "the field and does not store it: the feature VolumeLimitScaling is off." },
          { 0 },
      } },
    { PACKAGE_STORAGE, "TokenRequest", "A token that a CSI driver wants to be handed.",
      (const struct field_doc[]){
          { "audience", "Whom the token is meant for; empty for the API server.", DOC_REQUIRED },
          { "expirationSeconds", "How long the token is to be valid." },
          { 0 },
      } },
    { PACKAGE_STORAGE, "CSINode", "The CSI drivers that run on a node. The object has the node's name.",
      (const struct field_doc[]){
          { "spec", "The drivers.", DOC_REQUIRED },
          { 0 },
      } },
    { PACKAGE_STORAGE, "CSINodeSpec", "The CSI drivers that run on a node.",
      (const struct field_doc[]){
          { "drivers", "A row for each driver. None means that none is installed.", DOC_REQUIRED },
          { 0 },
      } },
    { PACKAGE_STORAGE, "CSINodeDriver", "A CSI driver on a node.",
      (const struct field_doc[]){
          { "name", "The driver's name.", DOC_REQUIRED },
          { "nodeID", "What the driver calls the node.", DOC_REQUIRED },
          { "topologyKeys", "The labels of the node by which the driver knows where it is." },
          { "allocatable", "How much of the driver's storage fits the node." },
          { 0 },
      } },
    { PACKAGE_STORAGE, "VolumeNodeResources", "How many volumes a node can take.",
      (const struct field_doc[]){
          { "count", "The most volumes of the driver that can be in use on the node. Left out, there is no "
                     "bound." },
          { 0 },
      } },
    { PACKAGE_STORAGE, "CSIStorageCapacity",
      "How much storage of a class can still be made in one place. Published by CSI "
      "drivers for the scheduler.",
      (const struct field_doc[]){
          { "nodeTopology", "The nodes that reach this storage. Left out, it is none; empty, it is all." },
          { "storageClassName", "The class. It never changes.", DOC_REQUIRED },
          { "capacity", "How much is left. Left out, it is not known." },
          { "maximumVolumeSize", "The largest single volume that can be made, where that is known." },
          { 0 },
      } },

    { PACKAGE_SNAPSHOT, "VolumeSnapshot",
      "Somebody's request for a snapshot of a claim's volume, or for one that exists "
      "already.",
      (const struct field_doc[]){
          { "spec", "What is asked for.", DOC_REQUIRED },
          { "status", "What was given. Written by the system." },
          { 0 },
      } },
    { PACKAGE_SNAPSHOT, "VolumeSnapshotSpec", "What a snapshot is asked to be.",
      (const struct field_doc[]){
          { "source", "What the snapshot is of. It never changes.", DOC_REQUIRED },
          { "volumeSnapshotClassName", "The class asked for. Left out, the default class is used." },
          { 0 },
      } },
    { PACKAGE_SNAPSHOT, "VolumeSnapshotSource", "What a snapshot is of: exactly one of the two.",
      (const struct field_doc[]){
          { "persistentVolumeClaimName", "The claim, in the same namespace, whose volume is to be copied." },
          { "volumeSnapshotContentName", "The content that stands for a snapshot which exists already." },
          { 0 },
      } },
    { PACKAGE_SNAPSHOT, "VolumeSnapshotStatus", "What became of a snapshot.",
      (const struct field_doc[]){
          { "boundVolumeSnapshotContentName", "The content that this snapshot is bound to." },
          { "creationTime", "The moment whose data the snapshot holds." },
          { "readyToUse", "Whether a volume can be made from it." },
          { "restoreSize", "The least size of a volume made from it." },
          { "error", "What went wrong the last time." },
          { "volumeGroupSnapshotName", "The group snapshot that this one is part of." },
          { 0 },
      } },
    { PACKAGE_SNAPSHOT, "VolumeSnapshotError", "A failure to take a snapshot.",
      (const struct field_doc[]){
          { "time", "When it happened." },
          { "message", "What happened. It must hold no secrets." },
          { 0 },
      } },
    { PACKAGE_SNAPSHOT, "VolumeSnapshotContent", "A snapshot as it lies in the storage system.",
      (const struct field_doc[]){
          { "spec", "Which snapshot it is.", DOC_REQUIRED },
          { "status", "What the driver says of it. Written by the system." },
          { 0 },
      } },
    { PACKAGE_SNAPSHOT, "VolumeSnapshotContentSpec",
      "Which snapshot in the storage system is meant, and whose it is.",
      (const struct field_doc[]){
          { "volumeSnapshotRef", "The VolumeSnapshot that this content is bound to, or made for.",
            DOC_REQUIRED },
          { "deletionPolicy",
            "What becomes of the snapshot in the storage system when the VolumeSnapshot is "
            "deleted: Delete or Retain.",
            DOC_REQUIRED, "Delete|Retain" },
          { "driver", "The CSI driver that keeps the snapshot.", DOC_REQUIRED },
          { "volumeSnapshotClassName", "The class it was made for." },
          { "source", "Where it comes from. It never changes.", DOC_REQUIRED },
          { "sourceVolumeMode",
            "Whether the volume it was taken of held a file system or was a bare device. It "
            "never changes." },
          { 0 },
      } },
    { PACKAGE_SNAPSHOT, "VolumeSnapshotContentSource", "Where a content comes from: exactly one of the two.",
      (const struct field_doc[]){
          { "volumeHandle", "The volume, as the driver knows it, to take a snapshot of." },
          { "snapshotHandle", "The snapshot, as the driver knows it, that exists already." },
          { 0 },
      } },
    { PACKAGE_SNAPSHOT, "VolumeSnapshotContentStatus", "What the driver says of a snapshot.",
      (const struct field_doc[]){
          { "snapshotHandle", "What the driver calls it." },
          { "creationTime", "The moment whose data it holds, in nanoseconds since 1970." },
          { "restoreSize", "The least size, in bytes, of a volume made from it." },
          { "readyToUse", "Whether a volume can be made from it." },
          { "error", "What went wrong the last time." },
          { "volumeGroupSnapshotHandle", "What the driver calls the group snapshot that it is part of." },
          { 0 },
      } },
    { PACKAGE_SNAPSHOT, "VolumeSnapshotClass",
      "A kind of snapshot on offer: who takes it, how, and what becomes of it.",
      (const struct field_doc[]){
          { "driver", "The CSI driver that takes the snapshots.", DOC_REQUIRED },
          { "parameters", "Settings for the driver; what they mean is its affair." },
          { "deletionPolicy",
            "What becomes of the snapshot in the storage system when its VolumeSnapshot is "
            "deleted: Delete or Retain.",
            DOC_REQUIRED, "Delete|Retain" },
          { 0 },
      } },
    { 0 },
};
