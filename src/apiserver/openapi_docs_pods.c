/* What the fields of pods mean. Pods have more fields than Berth knows; these are the ones it does. */
#include "apiserver/openapi_int.h"

#define PULL_POLICIES "Always|IfNotPresent|Never"
#define TAINT_EFFECTS "NoExecute|NoSchedule|PreferNoSchedule"

#define CONTAINER_FIELDS                                                                              \
    { "name", "The container's name, unlike any other in the pod.", DOC_REQUIRED },                   \
        { "image", "The image to run." },                                                             \
        { "command", "What to run instead of the image's entry point. No shell is involved." },       \
        { "args", "Arguments, instead of the image's own." },                                         \
        { "workingDir", "The directory to start in; the image's when it is left out." },              \
        { "ports", "Ports that the container listens on. To know, not to open them." },               \
        { "env", "Environment variables." },                                                          \
        { "resources", "How much processor and memory the container asks for, and its limits." },     \
        { "restartPolicy", "Always, on an init container: it goes on running beside the others." },   \
        { "volumeMounts", "The pod's volumes that the container sees as directories or files." },     \
        { "volumeDevices", "The pod's volumes that the container sees as devices." },                 \
        { "terminationMessagePath", "The file that the container may leave its last words in." },     \
        { "terminationMessagePolicy",                                                                 \
          "Where last words come from: the file, or the end of the log on errors.", 0,                \
          "FallbackToLogsOnError|File" },                                                             \
        { "imagePullPolicy",                                                                          \
          "When the image is fetched. Left out: Always for :latest or no tag, else IfNotPresent.", 0, \
          PULL_POLICIES },                                                                            \
        { "securityContext", "What the container may do, and as whom." },                             \
        { "stdin", "Whether the container gets an open standard input." },                            \
        { "stdinOnce", "Whether standard input closes when the first client goes." },                 \
    {                                                                                                 \
        "tty", "Whether standard input is a terminal."                                                \
    }

static const struct field_doc requirements_fields[] = {
    { "limits", "The most that may be used of each resource." },
    { "requests", "What must be there of each resource; the limits when it is left out." },
    { 0 },
};
static const struct field_doc address_fields[] = {
    { "ip", "The address.", DOC_REQUIRED },
    { 0 },
};

const struct schema_doc openapi_docs_pods[] = {
    { PACKAGE_CORE, "Pod", "Containers that run together on one node, with the volumes they share.",
      (const struct field_doc[]){
          { "spec", "What is to run, and where." },
          { "status", "What runs now. Written by the node's agent." },
          { 0 },
      } },
    { PACKAGE_CORE, "PodSpec", "What is to run, and where.",
      (const struct field_doc[]){
          { "volumes", "The volumes that the containers can mount." },
          { "initContainers",
            "Containers that run one after the other, each to its end, before the others start." },
          { "containers", "The containers, at least one.", DOC_REQUIRED },
          { "ephemeralContainers", "Containers added to a running pod, to look into it." },
          { "restartPolicy", "When containers that ended are started again. Always when it is left out.", 0,
            "Always|Never|OnFailure" },
          { "terminationGracePeriodSeconds",
            "How long the containers may take to end. 30 when it is left out." },
          { "activeDeadlineSeconds", "How long the pod may run." },
          { "dnsPolicy", "How names are looked up. ClusterFirst when it is left out.", 0,
            "ClusterFirst|ClusterFirstWithHostNet|Default|None" },
          { "nodeSelector", "Labels that the node must have." },
          { "serviceAccountName", "The service account that the pod runs as." },
          { "serviceAccount", "Deprecated: use serviceAccountName." },
          { "automountServiceAccountToken", "Whether the containers get a token of the service account." },
          { "nodeName",
            "The node that the pod runs on. Set by the scheduler, or beforehand to go without one." },
          { "hostNetwork", "Whether the pod uses the node's network." },
          { "hostPID", "Whether the pod sees the node's processes." },
          { "hostIPC", "Whether the pod shares the node's memory segments and the like." },
          { "shareProcessNamespace", "Whether the containers see each other's processes." },
          { "securityContext", "As whom the containers run, and whose the files of volumes are." },
          { "imagePullSecrets", "Secrets with credentials for fetching the images." },
          { "hostname", "The pod's host name; its name when it is left out." },
          { "subdomain", "The subdomain of its full host name." },
          { "affinity", "Which nodes the pod must or should run on." },
          { "schedulerName", "The scheduler that places the pod. default-scheduler when it is left out." },
          { "tolerations", "Taints of nodes that the pod puts up with." },
          { "hostAliases", "Further lines for the hosts file." },
          { "priorityClassName", "The class that the pod's priority comes from." },
          { "priority", "How important the pod is; the higher, the more." },
          { "readinessGates", "Conditions that must also hold for the pod to be ready." },
          { "runtimeClassName", "The runtime class that the containers run with." },
          { "enableServiceLinks", "Whether Services show as environment variables." },
          { "preemptionPolicy", "Whether less important pods may have to go for this one.", 0,
            "Never|PreemptLowerPriority" },
          { "overhead", "What the pod needs beyond its containers." },
          { "topologySpreadConstraints", "How pods like this one are spread over the cluster." },
          { "schedulingGates", "Whoever must agree before the pod is placed. They can only be removed." },
          { "resources", "How much the pod as a whole asks for, and its limits." },
          { 0 },
      } },
    { PACKAGE_CORE, "Volume", "A volume that containers of the pod can mount: a name and exactly one source.",
      (const struct field_doc[]){
          { "name", "The volume's name, unlike any other in the pod.", DOC_REQUIRED },
          { "hostPath", "A file or directory of the node." },
          { "emptyDir", "A directory that is empty at first and goes with the pod." },
          { "gcePersistentDisk", "A Google Compute Engine disk. Deprecated." },
          { "awsElasticBlockStore", "An Amazon EBS disk. Deprecated." },
          { "gitRepo", "A copy of a Git repository. Deprecated." },
          { "secret", "The contents of a Secret as files." },
          { "nfs", "A directory that an NFS server exports." },
          { "iscsi", "A disk of an iSCSI target." },
          { "glusterfs", "A GlusterFS volume. Deprecated." },
          { "persistentVolumeClaim", "The volume that a claim is bound to." },
          { "rbd", "A Ceph block device. Deprecated." },
          { "flexVolume", "A volume of a FlexVolume driver. Deprecated." },
          { "cinder", "An OpenStack Cinder disk. Deprecated." },
          { "cephfs", "A Ceph file system. Deprecated." },
          { "flocker", "A Flocker dataset. Deprecated." },
          { "downwardAPI", "Facts about the pod as files." },
          { "fc", "A disk on a Fibre Channel network." },
          { "azureFile", "An Azure file share. Deprecated." },
          { "configMap", "The contents of a ConfigMap as files." },
          { "vsphereVolume", "A vSphere disk. Deprecated." },
          { "quobyte", "A Quobyte volume. Deprecated." },
          { "azureDisk", "An Azure data disk. Deprecated." },
          { "photonPersistentDisk", "A Photon disk. Deprecated." },
          { "projected", "Files from several sources in one directory." },
          { "portworxVolume", "A Portworx volume. Deprecated." },
          { "scaleIO", "A ScaleIO volume. Deprecated." },
          { "storageos", "A StorageOS volume. Deprecated." },
          { "csi", "A volume that a CSI driver makes for this pod alone." },
          { "ephemeral", "A volume with a claim of the pod's own." },
          { "image", "The files of a container image." },
          { 0 },
      } },
    { PACKAGE_CORE, "Container", "A container of a pod.",
      (const struct field_doc[]){
          CONTAINER_FIELDS,
          { 0 },
      } },
    { PACKAGE_CORE, "EphemeralContainer", "A container added to a running pod, to look into it.",
      (const struct field_doc[]){
          CONTAINER_FIELDS,
          { "targetContainerName", "The container whose processes it sees." },
          { 0 },
      } },
    { PACKAGE_CORE, "ContainerPort", "A port that a container listens on.",
      (const struct field_doc[]){
          { "name", "A name for the port." },
          { "hostPort", "The port of the node that leads to it." },
          { "containerPort", "The port's number.", DOC_REQUIRED },
          { "protocol", "The protocol; TCP when it is left out.", 0, "SCTP|TCP|UDP" },
          { "hostIP", "The address of the node that hostPort is bound to." },
          { 0 },
      } },
    { PACKAGE_CORE, "EnvVar", "An environment variable.",
      (const struct field_doc[]){
          { "name", "Its name.", DOC_REQUIRED },
          { "value", "Its value. $(NAME) is replaced by earlier variables." },
          { "valueFrom", "Where the value comes from, instead." },
          { 0 },
      } },
    { PACKAGE_CORE, "EnvVarSource", "Where the value of a variable comes from.",
      (const struct field_doc[]){
          { "fieldRef", "A field of the pod." },
          { 0 },
      } },
    { PACKAGE_CORE, "ResourceRequirements", "How much is asked for of each resource, and the limits.",
      requirements_fields },
    { PACKAGE_CORE, "VolumeMount", "A volume as a container sees it.",
      (const struct field_doc[]){
          { "name", "The volume of the pod.", DOC_REQUIRED },
          { "readOnly", "Mounts it without the right to write." },
          { "recursiveReadOnly",
            "Whether mounts below it are read-only too: Disabled, IfPossible or Enabled." },
          { "mountPath", "Where it is in the container.", DOC_REQUIRED },
          { "subPath", "The part of the volume to mount; its root when it is left out." },
          { "mountPropagation", "Whether later mounts pass from the node to the container, and back.", 0,
            "Bidirectional|HostToContainer|None" },
          { "subPathExpr", "The same as subPath, with $(NAME) replaced by environment variables." },
          { 0 },
      } },
    { PACKAGE_CORE, "VolumeDevice", "A volume as a device in a container.",
      (const struct field_doc[]){
          { "name", "The volume of the pod: one of a claim.", DOC_REQUIRED },
          { "devicePath", "Where the device is in the container.", DOC_REQUIRED },
          { 0 },
      } },
    { PACKAGE_CORE, "SecurityContext", "What a container may do, and as whom.",
      (const struct field_doc[]){
          { "privileged", "Whether it may do all that the node's root may." },
          { "seLinuxOptions", "The SELinux context of its processes." },
          { "runAsUser", "The user id of its processes." },
          { "runAsGroup", "The group id of its processes." },
          { "runAsNonRoot", "Refuses to start it as root." },
          { "readOnlyRootFilesystem", "Whether its root file system is read-only." },
          { "allowPrivilegeEscalation", "Whether a process may gain more rights than its parent." },
          { 0 },
      } },
    { PACKAGE_CORE, "PodSecurityContext",
      "As whom the containers of a pod run, and whose the files of volumes are.",
      (const struct field_doc[]){
          { "seLinuxOptions", "The SELinux context of the processes and of the volumes." },
          { "runAsUser", "The user id of the processes." },
          { "runAsGroup", "The group id of the processes." },
          { "runAsNonRoot", "Refuses to start containers as root." },
          { "supplementalGroups", "Further groups of the processes." },
          { "supplementalGroupsPolicy", "Whether groups of the image count as well.", 0, "Merge|Strict" },
          { "fsGroup", "The group that files of volumes belong to, where the volume allows it." },
          { "fsGroupChangePolicy",
            "Whether files are changed on every mount, or only if the volume's root does not "
            "fit.",
            0, "Always|OnRootMismatch" },
          { "seLinuxChangePolicy", "How volumes get their SELinux context: MountOption or Recursive." },
          { 0 },
      } },
    { PACKAGE_CORE, "SELinuxOptions", "An SELinux context.",
      (const struct field_doc[]){
          { "user", "Its user." },
          { "role", "Its role." },
          { "type", "Its type." },
          { "level", "Its level." },
          { 0 },
      } },
    { PACKAGE_CORE, "Affinity", "Which nodes a pod must or should run on.",
      (const struct field_doc[]){
          { "nodeAffinity", "By what the nodes are." },
          { 0 },
      } },
    { PACKAGE_CORE, "NodeAffinity", "Which nodes a pod must or should run on, by what they are.",
      (const struct field_doc[]){
          { "requiredDuringSchedulingIgnoredDuringExecution",
            "What a node must have for the pod to be placed "
            "there." },
          { "preferredDuringSchedulingIgnoredDuringExecution", "What makes one node better than another." },
          { 0 },
      } },
    { PACKAGE_CORE, "PreferredSchedulingTerm", "What makes a node better, and by how much.",
      (const struct field_doc[]){
          { "weight", "By how much: 1 to 100.", DOC_REQUIRED },
          { "preference", "What the node should have.", DOC_REQUIRED },
          { 0 },
      } },
    { PACKAGE_CORE, "Toleration", "A taint of nodes that a pod puts up with.",
      (const struct field_doc[]){
          { "key", "The taint's key; empty, with Exists, for all." },
          { "operator", "Exists: whatever the value. Equal, the default: only this value.", 0,
            "Equal|Exists" },
          { "value", "The taint's value." },
          { "effect", "The taint's effect; empty for all.", 0, TAINT_EFFECTS },
          { "tolerationSeconds", "How long a NoExecute taint is put up with; for ever when it is left out." },
          { 0 },
      } },
    { PACKAGE_CORE, "HostAlias", "A line of the hosts file.",
      (const struct field_doc[]){
          { "ip", "The address.", DOC_REQUIRED },
          { "hostnames", "The names." },
          { 0 },
      } },
    { PACKAGE_CORE, "PodReadinessGate", "A condition that must hold for a pod to be ready.",
      (const struct field_doc[]){
          { "conditionType", "The condition's type.", DOC_REQUIRED },
          { 0 },
      } },
    { PACKAGE_CORE, "TopologySpreadConstraint", "How pods are spread over the cluster.",
      (const struct field_doc[]){
          { "maxSkew", "By how many pods places may differ.", DOC_REQUIRED },
          { "topologyKey", "The label of nodes that says where they are.", DOC_REQUIRED },
          { "whenUnsatisfiable", "What to do with a pod that cannot be placed so.", DOC_REQUIRED,
            "DoNotSchedule|ScheduleAnyway" },
          { "labelSelector", "The pods that are counted." },
          { 0 },
      } },
    { PACKAGE_CORE, "PodSchedulingGate", "Something that keeps a pod from being placed.",
      (const struct field_doc[]){
          { "name", "Its name.", DOC_REQUIRED },
          { 0 },
      } },

    { PACKAGE_CORE, "PodStatus", "What runs now.",
      (const struct field_doc[]){
          { "observedGeneration", "The generation of the pod that this status is about." },
          { "phase",
            "Pending: not running yet. Running. Succeeded and Failed: all containers have ended. Unknown: "
            "the node does not answer.",
            0, "Failed|Pending|Running|Succeeded|Unknown" },
          { "conditions", "How far the pod is: PodScheduled, Initialized, Ready and others." },
          { "message", "Why it is so, for people." },
          { "reason", "Why it is so, in one word." },
          { "nominatedNodeName", "The node where room is being made for the pod." },
          { "hostIP", "The node's address." },
          { "hostIPs", "The node's addresses." },
          { "podIP", "The pod's address." },
          { "podIPs", "The pod's addresses, at most one of each family." },
          { "startTime", "When the node took the pod." },
          { "initContainerStatuses", "How the init containers are." },
          { "containerStatuses", "How the containers are." },
          { "qosClass", "How the pod is treated when its node runs short.", 0,
            "BestEffort|Burstable|Guaranteed" },
          { "ephemeralContainerStatuses", "How the ephemeral containers are." },
          { 0 },
      } },
    { PACKAGE_CORE, "PodCondition", "One thing about a pod.",
      (const struct field_doc[]){
          { "type", "What it is: PodScheduled, Initialized, ContainersReady, Ready and others.",
            DOC_REQUIRED },
          { "observedGeneration", "The generation of the pod that it is about." },
          { "status", "True, False or Unknown.", DOC_REQUIRED },
          { "lastProbeTime", "When it was last looked at." },
          { "lastTransitionTime", "When the status last changed." },
          { "reason", "Why, in one word." },
          { "message", "Why, for people." },
          { 0 },
      } },
    { PACKAGE_CORE, "HostIP", "An address of a node.", address_fields },
    { PACKAGE_CORE, "PodIP", "An address of a pod.", address_fields },
    { PACKAGE_CORE, "ContainerStatus", "How a container is.",
      (const struct field_doc[]){
          { "name", "The container's name.", DOC_REQUIRED },
          { "state", "What it does now." },
          { "lastState", "How it ended the last time." },
          { "ready", "Whether it is ready for work.", DOC_REQUIRED },
          { "restartCount", "How often it was started again.", DOC_REQUIRED },
          { "image", "The image that it runs.", DOC_REQUIRED },
          { "imageID", "The image's id.", DOC_REQUIRED },
          { "containerID", "The container's id: RUNTIME://ID." },
          { "started", "Whether it has got through its start." },
          { "allocatedResources", "What the node has given it." },
          { "resources", "What it asks for, as it runs." },
          { 0 },
      } },
    { PACKAGE_CORE, "ContainerState", "What a container does: one of the three; waiting when there is none.",
      (const struct field_doc[]){
          { "waiting", "It is not running yet." },
          { "running", "It is running." },
          { "terminated", "It has ended." },
          { 0 },
      } },
    { PACKAGE_CORE, "ContainerStateWaiting", "Why a container is not running yet.",
      (const struct field_doc[]){
          { "reason", "Why, in one word." },
          { "message", "Why, for people." },
          { 0 },
      } },
    { PACKAGE_CORE, "ContainerStateRunning", "Since when a container runs.",
      (const struct field_doc[]){
          { "startedAt", "When it was started." },
          { 0 },
      } },
    { PACKAGE_CORE, "ContainerStateTerminated", "How a container ended.",
      (const struct field_doc[]){
          { "exitCode", "Its exit status.", DOC_REQUIRED },
          { "signal", "The signal that ended it." },
          { "reason", "Why it ended, in one word." },
          { "message", "Its last words." },
          { "startedAt", "When it was started." },
          { "finishedAt", "When it ended." },
          { "containerID", "The container's id: RUNTIME://ID." },
          { 0 },
      } },
    { 0 },
};
