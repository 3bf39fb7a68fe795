/* The fields of pods that Berth knows. Every table is open: fields that are not here are kept as they
 * came. */
#include "api/pod_int.h"

#include "api/meta.h"

static const struct schema se_linux_schema = {
    "SELinuxOptions",
    (const struct field[]){
        { "user", FIELD_STRING },
        { "role", FIELD_STRING },
        { "type", FIELD_STRING },
        { "level", FIELD_STRING },
        { 0 },
    },
    .open = true,
};

/* --- Containers --- */

static const struct schema container_port_schema = {
    "ContainerPort",
    (const struct field[]){
        { "name", FIELD_STRING },
        { "hostPort", FIELD_INT32 },
        { "containerPort", FIELD_INT32, .flags = FIELD_ALWAYS },
        { "protocol", FIELD_STRING, .go_type = "v1.Protocol" },
        { "hostIP", FIELD_STRING },
        { 0 },
    },
    .open = true,
};

const struct schema object_field_selector_schema = {
    "ObjectFieldSelector",
    (const struct field[]){
        { "apiVersion", FIELD_STRING },
        { "fieldPath", FIELD_STRING, .flags = FIELD_ALWAYS },
        { 0 },
    },
    .open = true,
    .atomic = true,
};

static const struct schema env_source_schema = {
    "EnvVarSource",
    (const struct field[]){
        { "fieldRef", FIELD_OBJECT, .sub = &object_field_selector_schema },
        { 0 },
    },
    .open = true,
};

static const struct schema env_schema = {
    "EnvVar",
    (const struct field[]){
        { "name", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "value", FIELD_STRING },
        { "valueFrom", FIELD_OBJECT, .sub = &env_source_schema },
        { 0 },
    },
    .open = true,
};

static const struct schema resources_schema = {
    "ResourceRequirements",
    (const struct field[]){
        { "limits", FIELD_MAP, .item = FIELD_QUANTITY },
        { "requests", FIELD_MAP, .item = FIELD_QUANTITY },
        { 0 },
    },
    .open = true,
};

static const struct schema volume_mount_schema = {
    "VolumeMount",
    (const struct field[]){
        { "name", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "readOnly", FIELD_BOOL },
        { "recursiveReadOnly", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.RecursiveReadOnlyMode" },
        { "mountPath", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "subPath", FIELD_STRING },
        { "mountPropagation", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.MountPropagationMode" },
        { "subPathExpr", FIELD_STRING },
        { 0 },
    },
    .open = true,
};

static const struct schema volume_device_schema = {
    "VolumeDevice",
    (const struct field[]){
        { "name", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "devicePath", FIELD_STRING, .flags = FIELD_ALWAYS },
        { 0 },
    },
    .open = true,
};

static const struct schema security_context_schema = {
    "SecurityContext",
    (const struct field[]){
        { "privileged", FIELD_BOOL, .flags = FIELD_POINTER },
        { "seLinuxOptions", FIELD_OBJECT, .sub = &se_linux_schema },
        { "runAsUser", FIELD_INT64, .flags = FIELD_POINTER },
        { "runAsGroup", FIELD_INT64, .flags = FIELD_POINTER },
        { "runAsNonRoot", FIELD_BOOL, .flags = FIELD_POINTER },
        { "readOnlyRootFilesystem", FIELD_BOOL, .flags = FIELD_POINTER },
        { "allowPrivilegeEscalation", FIELD_BOOL, .flags = FIELD_POINTER },
        { 0 },
    },
    .open = true,
};

/* Of all three kinds of containers. */
/* clang-format off */
#define CONTAINER_FIELDS                                                                                     \
    { "name", FIELD_STRING, .flags = FIELD_ALWAYS },                                                         \
    { "image", FIELD_STRING },                                                                               \
    { "command", FIELD_LIST, .item = FIELD_STRING },                                                         \
    { "args", FIELD_LIST, .item = FIELD_STRING },                                                            \
    { "workingDir", FIELD_STRING },                                                                          \
    { "ports", FIELD_LIST, .item = FIELD_OBJECT, .sub = &container_port_schema,                              \
      .merge_key = "containerPort", .owned_keys = "containerPort protocol=TCP" },                            \
    { "env", FIELD_LIST, .item = FIELD_OBJECT, .sub = &env_schema, .merge_key = "name" },                    \
    { "resources", FIELD_OBJECT, .sub = &resources_schema, .flags = FIELD_ALWAYS },                          \
    { "restartPolicy", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.ContainerRestartPolicy" },       \
    { "volumeMounts", FIELD_LIST, .item = FIELD_OBJECT, .sub = &volume_mount_schema,                         \
      .merge_key = "mountPath" },                                                                            \
    { "volumeDevices", FIELD_LIST, .item = FIELD_OBJECT, .sub = &volume_device_schema,                       \
      .merge_key = "devicePath" },                                                                           \
    { "terminationMessagePath", FIELD_STRING },                                                              \
    { "terminationMessagePolicy", FIELD_STRING, .go_type = "v1.TerminationMessagePolicy" },                  \
    { "imagePullPolicy", FIELD_STRING, .go_type = "v1.PullPolicy" },                                         \
    { "securityContext", FIELD_OBJECT, .sub = &security_context_schema },                                    \
    { "stdin", FIELD_BOOL },                                                                                 \
    { "stdinOnce", FIELD_BOOL },                                                                             \
    { "tty", FIELD_BOOL }
/* clang-format on */

static const struct schema container_schema = {
    "Container",
    (const struct field[]){ CONTAINER_FIELDS, { 0 } },
    .open = true,
};

static const struct schema ephemeral_container_schema = {
    "EphemeralContainer",
    (const struct field[]){ CONTAINER_FIELDS, { "targetContainerName", FIELD_STRING }, { 0 } },
    .open = true,
};

/* --- Spec --- */

static const struct schema preferred_term_schema = {
    "PreferredSchedulingTerm",
    (const struct field[]){
        { "weight", FIELD_INT32, .flags = FIELD_ALWAYS },
        { "preference", FIELD_OBJECT, .sub = &node_selector_term_schema, .flags = FIELD_ALWAYS },
        { 0 },
    },
    .open = true,
};

static const struct schema node_affinity_schema = {
    "NodeAffinity",
    (const struct field[]){
        { "requiredDuringSchedulingIgnoredDuringExecution", FIELD_OBJECT, .sub = &node_selector_schema },
        { "preferredDuringSchedulingIgnoredDuringExecution", FIELD_LIST, .item = FIELD_OBJECT,
          .sub = &preferred_term_schema },
        { 0 },
    },
    .open = true,
};

static const struct schema affinity_schema = {
    "Affinity",
    (const struct field[]){
        { "nodeAffinity", FIELD_OBJECT, .sub = &node_affinity_schema },
        { 0 },
    },
    .open = true,
};

static const struct schema pod_security_context_schema = {
    "PodSecurityContext",
    (const struct field[]){
        { "seLinuxOptions", FIELD_OBJECT, .sub = &se_linux_schema },
        { "runAsUser", FIELD_INT64, .flags = FIELD_POINTER },
        { "runAsGroup", FIELD_INT64, .flags = FIELD_POINTER },
        { "runAsNonRoot", FIELD_BOOL, .flags = FIELD_POINTER },
        { "supplementalGroups", FIELD_LIST, .item = FIELD_INT64 },
        { "supplementalGroupsPolicy", FIELD_STRING, .flags = FIELD_POINTER,
          .go_type = "v1.SupplementalGroupsPolicy" },
        { "fsGroup", FIELD_INT64, .flags = FIELD_POINTER },
        { "fsGroupChangePolicy", FIELD_STRING, .flags = FIELD_POINTER,
          .go_type = "v1.PodFSGroupChangePolicy" },
        { "seLinuxChangePolicy", FIELD_STRING, .flags = FIELD_POINTER,
          .go_type = "v1.PodSELinuxChangePolicy" },
        { 0 },
    },
    .open = true,
};

static const struct schema host_alias_schema = {
    "HostAlias",
    (const struct field[]){
        { "ip", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "hostnames", FIELD_LIST, .item = FIELD_STRING },
        { 0 },
    },
    .open = true,
};

static const struct schema readiness_gate_schema = {
    "PodReadinessGate",
    (const struct field[]){
        { "conditionType", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.PodConditionType" },
        { 0 },
    },
    .open = true,
};

static const struct schema scheduling_gate_schema = {
    "PodSchedulingGate",
    (const struct field[]){
        { "name", FIELD_STRING, .flags = FIELD_ALWAYS },
        { 0 },
    },
    .open = true,
};

static const struct schema spread_constraint_schema = {
    "TopologySpreadConstraint",
    (const struct field[]){
        { "maxSkew", FIELD_INT32, .flags = FIELD_ALWAYS },
        { "topologyKey", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "whenUnsatisfiable", FIELD_STRING, .flags = FIELD_ALWAYS,
          .go_type = "v1.UnsatisfiableConstraintAction" },
        { "labelSelector", FIELD_OBJECT, .sub = &label_selector_schema },
        { 0 },
    },
    .open = true,
};

const struct schema pod_spec_schema = {
    "PodSpec",
    (const struct field[]){
        { "volumes", FIELD_LIST, .item = FIELD_OBJECT, .sub = &pod_volume_schema, .flags = FIELD_RETAIN_KEYS,
          .merge_key = "name" },
        { "initContainers", FIELD_LIST, .item = FIELD_OBJECT, .sub = &container_schema, .merge_key = "name" },
        { "containers", FIELD_LIST, .item = FIELD_OBJECT, .sub = &container_schema, .flags = FIELD_ALWAYS,
          .merge_key = "name" },
        { "ephemeralContainers", FIELD_LIST, .item = FIELD_OBJECT, .sub = &ephemeral_container_schema,
          .merge_key = "name" },
        { "restartPolicy", FIELD_STRING, .go_type = "v1.RestartPolicy" },
        { "terminationGracePeriodSeconds", FIELD_INT64, .flags = FIELD_POINTER },
        { "activeDeadlineSeconds", FIELD_INT64, .flags = FIELD_POINTER },
        { "dnsPolicy", FIELD_STRING, .go_type = "v1.DNSPolicy" },
        { "nodeSelector", FIELD_MAP, .item = FIELD_STRING, .flags = FIELD_ATOMIC },
        { "serviceAccountName", FIELD_STRING },
        { "serviceAccount", FIELD_STRING },
        { "automountServiceAccountToken", FIELD_BOOL, .flags = FIELD_POINTER },
        { "nodeName", FIELD_STRING },
        { "hostNetwork", FIELD_BOOL },
        { "hostPID", FIELD_BOOL },
        { "hostIPC", FIELD_BOOL },
        { "shareProcessNamespace", FIELD_BOOL, .flags = FIELD_POINTER },
        { "securityContext", FIELD_OBJECT, .sub = &pod_security_context_schema },
        { "imagePullSecrets", FIELD_LIST, .item = FIELD_OBJECT, .sub = &local_object_reference_schema,
          .merge_key = "name" },
        { "hostname", FIELD_STRING },
        { "subdomain", FIELD_STRING },
        { "affinity", FIELD_OBJECT, .sub = &affinity_schema },
        { "schedulerName", FIELD_STRING },
        { "tolerations", FIELD_LIST, .item = FIELD_OBJECT, .sub = &toleration_schema },
        { "hostAliases", FIELD_LIST, .item = FIELD_OBJECT, .sub = &host_alias_schema, .merge_key = "ip" },
        { "priorityClassName", FIELD_STRING },
        { "priority", FIELD_INT32, .flags = FIELD_POINTER },
        { "readinessGates", FIELD_LIST, .item = FIELD_OBJECT, .sub = &readiness_gate_schema },
        { "runtimeClassName", FIELD_STRING, .flags = FIELD_POINTER },
        { "enableServiceLinks", FIELD_BOOL, .flags = FIELD_POINTER },
        { "preemptionPolicy", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.PreemptionPolicy" },
        { "overhead", FIELD_MAP, .item = FIELD_QUANTITY },
        { "topologySpreadConstraints", FIELD_LIST, .item = FIELD_OBJECT, .sub = &spread_constraint_schema,
          .merge_key = "topologyKey", .owned_keys = "topologyKey whenUnsatisfiable" },
        { "schedulingGates", FIELD_LIST, .item = FIELD_OBJECT, .sub = &scheduling_gate_schema,
          .merge_key = "name" },
        { "resources", FIELD_OBJECT, .sub = &resources_schema },
        { 0 },
    },
    .open = true,
};

/* --- Status --- */

static const struct schema pod_condition_schema = {
    "PodCondition",
    (const struct field[]){
        { "type", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.PodConditionType" },
        { "observedGeneration", FIELD_INT64 },
        { "status", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.ConditionStatus" },
        { "lastProbeTime", FIELD_TIME },
        { "lastTransitionTime", FIELD_TIME },
        { "reason", FIELD_STRING },
        { "message", FIELD_STRING },
        { 0 },
    },
    .open = true,
};

static const struct schema pod_ip_schema = {
    "PodIP",
    (const struct field[]){ { "ip", FIELD_STRING, .flags = FIELD_ALWAYS }, { 0 } },
    .open = true,
};

static const struct schema host_ip_schema = {
    "HostIP",
    (const struct field[]){ { "ip", FIELD_STRING, .flags = FIELD_ALWAYS }, { 0 } },
    .open = true,
};

static const struct schema waiting_schema = {
    "ContainerStateWaiting",
    (const struct field[]){
        { "reason", FIELD_STRING },
        { "message", FIELD_STRING },
        { 0 },
    },
    .open = true,
};

static const struct schema running_schema = {
    "ContainerStateRunning",
    (const struct field[]){ { "startedAt", FIELD_TIME }, { 0 } },
    .open = true,
};

static const struct schema terminated_schema = {
    "ContainerStateTerminated",
    (const struct field[]){
        { "exitCode", FIELD_INT32, .flags = FIELD_ALWAYS },
        { "signal", FIELD_INT32 },
        { "reason", FIELD_STRING },
        { "message", FIELD_STRING },
        { "startedAt", FIELD_TIME },
        { "finishedAt", FIELD_TIME },
        { "containerID", FIELD_STRING },
        { 0 },
    },
    .open = true,
};

static const struct schema container_state_schema = {
    "ContainerState",
    (const struct field[]){
        { "waiting", FIELD_OBJECT, .sub = &waiting_schema },
        { "running", FIELD_OBJECT, .sub = &running_schema },
        { "terminated", FIELD_OBJECT, .sub = &terminated_schema },
        { 0 },
    },
    .open = true,
};

static const struct schema container_status_schema = {
    "ContainerStatus",
    (const struct field[]){
        { "name", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "state", FIELD_OBJECT, .sub = &container_state_schema, .flags = FIELD_ALWAYS },
        { "lastState", FIELD_OBJECT, .sub = &container_state_schema, .flags = FIELD_ALWAYS },
        { "ready", FIELD_BOOL, .flags = FIELD_ALWAYS },
        { "restartCount", FIELD_INT32, .flags = FIELD_ALWAYS },
        { "image", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "imageID", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "containerID", FIELD_STRING },
        { "started", FIELD_BOOL, .flags = FIELD_POINTER },
        { "allocatedResources", FIELD_MAP, .item = FIELD_QUANTITY },
        { "resources", FIELD_OBJECT, .sub = &resources_schema },
        { 0 },
    },
    .open = true,
};

static const struct schema pod_status_schema = {
    "PodStatus",
    (const struct field[]){
        { "observedGeneration", FIELD_INT64 },
        { "phase", FIELD_STRING, .go_type = "v1.PodPhase" },
        { "conditions", FIELD_LIST, .item = FIELD_OBJECT, .sub = &pod_condition_schema, .merge_key = "type" },
        { "message", FIELD_STRING },
        { "reason", FIELD_STRING },
        { "nominatedNodeName", FIELD_STRING },
        { "hostIP", FIELD_STRING },
        { "hostIPs", FIELD_LIST, .item = FIELD_OBJECT, .sub = &host_ip_schema, .flags = FIELD_ATOMIC,
          .merge_key = "ip" },
        { "podIP", FIELD_STRING },
        { "podIPs", FIELD_LIST, .item = FIELD_OBJECT, .sub = &pod_ip_schema, .merge_key = "ip" },
        { "startTime", FIELD_TIME },
        { "initContainerStatuses", FIELD_LIST, .item = FIELD_OBJECT, .sub = &container_status_schema },
        { "containerStatuses", FIELD_LIST, .item = FIELD_OBJECT, .sub = &container_status_schema },
        { "qosClass", FIELD_STRING, .go_type = "v1.PodQOSClass" },
        { "ephemeralContainerStatuses", FIELD_LIST, .item = FIELD_OBJECT, .sub = &container_status_schema },
        { 0 },
    },
    .open = true,
};

const struct schema pod_schema = {
    "Pod",
    (const struct field[]){
        SCHEMA_OBJECT_FIELDS,
        { "spec", FIELD_OBJECT, .sub = &pod_spec_schema, .flags = FIELD_ALWAYS },
        { "status", FIELD_OBJECT, .sub = &pod_status_schema, .flags = FIELD_ALWAYS },
        { 0 },
    },
    .open = true,
};
