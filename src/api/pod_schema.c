/* The schema of pods: all fields of Kubernetes 1.36. Every table is open: unknown fields are kept. Containers
 * are in pod_container_schema.c, volumes in pod_volume_schema.c. */
#include "api/pod_int.h"

#include "api/meta.h"

/* --- Spec --- */

static const struct field preferred_term_fields[] = {
    { "weight", FIELD_INT32, .flags = FIELD_ALWAYS, .number = 1 },
    { "preference", FIELD_OBJECT, .sub = &node_selector_term_schema, .flags = FIELD_ALWAYS, .number = 2 },
};
static const struct schema preferred_term_schema =
    SCHEMA_OPEN("PreferredSchedulingTerm", preferred_term_fields);

static const struct field node_affinity_fields[] = {
    { "requiredDuringSchedulingIgnoredDuringExecution", FIELD_OBJECT, .sub = &node_selector_schema,
      .number = 1 },
    { "preferredDuringSchedulingIgnoredDuringExecution", LIST_OF(preferred_term_schema), .number = 2 },
};
static const struct schema node_affinity_schema = SCHEMA_OPEN("NodeAffinity", node_affinity_fields);

static const struct field pod_affinity_term_fields[] = {
    { "labelSelector", FIELD_OBJECT, .sub = &label_selector_schema, .number = 1 },
    { "namespaces", FIELD_LIST, .item = FIELD_STRING, .number = 2 },
    { "topologyKey", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 3 },
    { "namespaceSelector", FIELD_OBJECT, .sub = &label_selector_schema, .number = 4 },
    { "matchLabelKeys", FIELD_LIST, .item = FIELD_STRING, .number = 5 },
    { "mismatchLabelKeys", FIELD_LIST, .item = FIELD_STRING, .number = 6 },
};
static const struct schema pod_affinity_term_schema =
    SCHEMA_OPEN("PodAffinityTerm", pod_affinity_term_fields);

static const struct field weighted_term_fields[] = {
    { "weight", FIELD_INT32, .flags = FIELD_ALWAYS, .number = 1 },
    { "podAffinityTerm", FIELD_OBJECT, .sub = &pod_affinity_term_schema, .flags = FIELD_ALWAYS, .number = 2 },
};
static const struct schema weighted_term_schema =
    SCHEMA_OPEN("WeightedPodAffinityTerm", weighted_term_fields);

static const struct field pod_affinity_fields[] = {
    { "requiredDuringSchedulingIgnoredDuringExecution", LIST_OF(pod_affinity_term_schema), .number = 1 },
    { "preferredDuringSchedulingIgnoredDuringExecution", LIST_OF(weighted_term_schema), .number = 2 },
};
static const struct schema pod_affinity_schema = SCHEMA_OPEN("PodAffinity", pod_affinity_fields);

static const struct schema pod_anti_affinity_schema = SCHEMA_OPEN("PodAntiAffinity", pod_affinity_fields);

static const struct field affinity_fields[] = {
    { "nodeAffinity", FIELD_OBJECT, .sub = &node_affinity_schema, .number = 1 },
    { "podAffinity", FIELD_OBJECT, .sub = &pod_affinity_schema, .number = 2 },
    { "podAntiAffinity", FIELD_OBJECT, .sub = &pod_anti_affinity_schema, .number = 3 },
};
static const struct schema affinity_schema = SCHEMA_OPEN("Affinity", affinity_fields);

static const struct field sysctl_fields[] = {
    { "name", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "value", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
};
static const struct schema sysctl_schema = SCHEMA_OPEN("Sysctl", sysctl_fields);

static const struct field pod_security_context_fields[] = {
    { "seLinuxOptions", FIELD_OBJECT, .sub = &se_linux_schema, .number = 1 },
    { "windowsOptions", FIELD_OBJECT, .sub = &windows_schema, .number = 8 },
    { "runAsUser", FIELD_INT64, .flags = FIELD_POINTER, .number = 2 },
    { "runAsGroup", FIELD_INT64, .flags = FIELD_POINTER, .number = 6 },
    { "runAsNonRoot", FIELD_BOOL, .flags = FIELD_POINTER, .number = 3 },
    { "supplementalGroups", FIELD_LIST, .item = FIELD_INT64, .number = 4 },
    { "supplementalGroupsPolicy", FIELD_STRING, .flags = FIELD_POINTER,
      .go_type = "v1.SupplementalGroupsPolicy", .number = 12 },
    { "fsGroup", FIELD_INT64, .flags = FIELD_POINTER, .number = 5 },
    { "sysctls", LIST_OF(sysctl_schema), .number = 7 },
    { "fsGroupChangePolicy", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.PodFSGroupChangePolicy",
      .number = 9 },
    { "seccompProfile", FIELD_OBJECT, .sub = &seccomp_schema, .number = 10 },
    { "appArmorProfile", FIELD_OBJECT, .sub = &app_armor_schema, .number = 11 },
    { "seLinuxChangePolicy", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.PodSELinuxChangePolicy",
      .number = 13 },
};
static const struct schema pod_security_context_schema =
    SCHEMA_OPEN("PodSecurityContext", pod_security_context_fields);

static const struct field host_alias_fields[] = {
    { "ip", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "hostnames", FIELD_LIST, .item = FIELD_STRING, .number = 2 },
};
static const struct schema host_alias_schema = SCHEMA_OPEN("HostAlias", host_alias_fields);

static const struct field readiness_gate_fields[] = {
    { "conditionType", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.PodConditionType", .number = 1 },
};
static const struct schema readiness_gate_schema = SCHEMA_OPEN("PodReadinessGate", readiness_gate_fields);

static const struct field scheduling_gate_fields[] = {
    { "name", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
};
static const struct schema scheduling_gate_schema = SCHEMA_OPEN("PodSchedulingGate", scheduling_gate_fields);

static const struct field spread_constraint_fields[] = {
    { "maxSkew", FIELD_INT32, .flags = FIELD_ALWAYS, .number = 1 },
    { "topologyKey", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
    { "whenUnsatisfiable", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.UnsatisfiableConstraintAction",
      .number = 3 },
    { "labelSelector", FIELD_OBJECT, .sub = &label_selector_schema, .number = 4 },
    { "minDomains", FIELD_INT32, .flags = FIELD_POINTER, .number = 5 },
    { "nodeAffinityPolicy", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.NodeInclusionPolicy",
      .number = 6 },
    { "nodeTaintsPolicy", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.NodeInclusionPolicy",
      .number = 7 },
    { "matchLabelKeys", FIELD_LIST, .item = FIELD_STRING, .number = 8 },
};
static const struct schema spread_constraint_schema =
    SCHEMA_OPEN("TopologySpreadConstraint", spread_constraint_fields);

static const struct field dns_option_fields[] = {
    { "name", FIELD_STRING, .number = 1 },
    { "value", FIELD_STRING, .flags = FIELD_POINTER, .number = 2 },
};
static const struct schema dns_option_schema = SCHEMA_OPEN("PodDNSConfigOption", dns_option_fields);

static const struct field dns_config_fields[] = {
    { "nameservers", FIELD_LIST, .item = FIELD_STRING, .number = 1 },
    { "searches", FIELD_LIST, .item = FIELD_STRING, .number = 2 },
    { "options", LIST_OF(dns_option_schema), .number = 3 },
};
static const struct schema dns_config_schema = SCHEMA_OPEN("PodDNSConfig", dns_config_fields);

static const struct field pod_os_fields[] = {
    { "name", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.OSName", .number = 1 },
};
static const struct schema pod_os_schema = SCHEMA_OPEN("PodOS", pod_os_fields);

static const struct field pod_resource_claim_fields[] = {
    { "name", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "resourceClaimName", FIELD_STRING, .flags = FIELD_POINTER, .number = 3 },
    { "resourceClaimTemplateName", FIELD_STRING, .flags = FIELD_POINTER, .number = 4 },
};
static const struct schema pod_resource_claim_schema =
    SCHEMA_OPEN("PodResourceClaim", pod_resource_claim_fields);

static const struct field scheduling_group_fields[] = {
    { "podGroupName", FIELD_STRING, .flags = FIELD_POINTER, .number = 1 },
};
static const struct schema scheduling_group_schema =
    SCHEMA_OPEN("PodSchedulingGroup", scheduling_group_fields);

static const struct field pod_spec_fields[] = {
    { "volumes", LIST_OF(pod_volume_schema), .flags = FIELD_RETAIN_KEYS, .merge_key = "name", .number = 1 },
    { "initContainers", LIST_OF(container_schema), .merge_key = "name", .number = 20 },
    { "containers", LIST_OF(container_schema), .flags = FIELD_ALWAYS, .merge_key = "name", .number = 2 },
    { "ephemeralContainers", LIST_OF(ephemeral_container_schema), .merge_key = "name", .number = 34 },
    { "restartPolicy", FIELD_STRING, .go_type = "v1.RestartPolicy", .number = 3 },
    { "terminationGracePeriodSeconds", FIELD_INT64, .flags = FIELD_POINTER, .number = 4 },
    { "activeDeadlineSeconds", FIELD_INT64, .flags = FIELD_POINTER, .number = 5 },
    { "dnsPolicy", FIELD_STRING, .go_type = "v1.DNSPolicy", .number = 6 },
    { "nodeSelector", FIELD_MAP, .item = FIELD_STRING, .flags = FIELD_ATOMIC, .number = 7 },
    { "serviceAccountName", FIELD_STRING, .number = 8 },
    { "serviceAccount", FIELD_STRING, .number = 9 },
    { "automountServiceAccountToken", FIELD_BOOL, .flags = FIELD_POINTER, .number = 21 },
    { "nodeName", FIELD_STRING, .number = 10 },
    { "hostNetwork", FIELD_BOOL, .number = 11 },
    { "hostPID", FIELD_BOOL, .number = 12 },
    { "hostIPC", FIELD_BOOL, .number = 13 },
    { "shareProcessNamespace", FIELD_BOOL, .flags = FIELD_POINTER, .number = 27 },
    { "securityContext", FIELD_OBJECT, .sub = &pod_security_context_schema, .number = 14 },
    { "imagePullSecrets", LIST_OF(local_object_reference_schema), .merge_key = "name", .number = 15 },
    { "hostname", FIELD_STRING, .number = 16 },
    { "subdomain", FIELD_STRING, .number = 17 },
    { "affinity", FIELD_OBJECT, .sub = &affinity_schema, .number = 18 },
    { "schedulerName", FIELD_STRING, .number = 19 },
    { "tolerations", LIST_OF(toleration_schema), .number = 22 },
    { "hostAliases", LIST_OF(host_alias_schema), .merge_key = "ip", .number = 23 },
    { "priorityClassName", FIELD_STRING, .number = 24 },
    { "priority", FIELD_INT32, .flags = FIELD_POINTER, .number = 25 },
    { "dnsConfig", FIELD_OBJECT, .sub = &dns_config_schema, .number = 26 },
    { "readinessGates", LIST_OF(readiness_gate_schema), .number = 28 },
    { "runtimeClassName", FIELD_STRING, .flags = FIELD_POINTER, .number = 29 },
    { "enableServiceLinks", FIELD_BOOL, .flags = FIELD_POINTER, .number = 30 },
    { "preemptionPolicy", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.PreemptionPolicy",
      .number = 31 },
    { "overhead", FIELD_MAP, .item = FIELD_QUANTITY, .number = 32 },
    { "topologySpreadConstraints", LIST_OF(spread_constraint_schema), .merge_key = "topologyKey",
      .owned_keys = "topologyKey whenUnsatisfiable", .number = 33 },
    { "setHostnameAsFQDN", FIELD_BOOL, .flags = FIELD_POINTER, .number = 35 },
    { "os", FIELD_OBJECT, .sub = &pod_os_schema, .number = 36 },
    { "hostUsers", FIELD_BOOL, .flags = FIELD_POINTER, .number = 37 },
    { "schedulingGates", LIST_OF(scheduling_gate_schema), .merge_key = "name", .number = 38 },
    { "resourceClaims", LIST_OF(pod_resource_claim_schema), .flags = FIELD_RETAIN_KEYS, .merge_key = "name",
      .number = 39 },
    { "resources", FIELD_OBJECT, .sub = &resources_schema, .number = 40 },
    { "hostnameOverride", FIELD_STRING, .flags = FIELD_POINTER, .number = 41 },
    { "schedulingGroup", FIELD_OBJECT, .sub = &scheduling_group_schema, .number = 43 },
};
const struct schema pod_spec_schema = SCHEMA_OPEN("PodSpec", pod_spec_fields);

/* --- Status --- */

static const struct field pod_condition_fields[] = {
    { "type", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.PodConditionType", .number = 1 },
    { "observedGeneration", FIELD_INT64, .number = 7 },
    { "status", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.ConditionStatus", .number = 2 },
    { "lastProbeTime", FIELD_TIME, .number = 3 },
    { "lastTransitionTime", FIELD_TIME, .number = 4 },
    { "reason", FIELD_STRING, .number = 5 },
    { "message", FIELD_STRING, .number = 6 },
};
static const struct schema pod_condition_schema = SCHEMA_OPEN("PodCondition", pod_condition_fields);

static const struct field ip_fields[] = {
    { "ip", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
};
static const struct schema pod_ip_schema = SCHEMA_OPEN("PodIP", ip_fields);

static const struct schema host_ip_schema = SCHEMA_OPEN("HostIP", ip_fields);

static const struct field waiting_fields[] = {
    { "reason", FIELD_STRING, .number = 1 },
    { "message", FIELD_STRING, .number = 2 },
};
static const struct schema waiting_schema = SCHEMA_OPEN("ContainerStateWaiting", waiting_fields);

static const struct field running_fields[] = {
    { "startedAt", FIELD_TIME, .number = 1 },
};
static const struct schema running_schema = SCHEMA_OPEN("ContainerStateRunning", running_fields);

static const struct field terminated_fields[] = {
    { "exitCode", FIELD_INT32, .flags = FIELD_ALWAYS, .number = 1 },
    { "signal", FIELD_INT32, .number = 2 },
    { "reason", FIELD_STRING, .number = 3 },
    { "message", FIELD_STRING, .number = 4 },
    { "startedAt", FIELD_TIME, .number = 5 },
    { "finishedAt", FIELD_TIME, .number = 6 },
    { "containerID", FIELD_STRING, .number = 7 },
};
static const struct schema terminated_schema = SCHEMA_OPEN("ContainerStateTerminated", terminated_fields);

static const struct field container_state_fields[] = {
    { "waiting", FIELD_OBJECT, .sub = &waiting_schema, .number = 1 },
    { "running", FIELD_OBJECT, .sub = &running_schema, .number = 2 },
    { "terminated", FIELD_OBJECT, .sub = &terminated_schema, .number = 3 },
};
static const struct schema container_state_schema = SCHEMA_OPEN("ContainerState", container_state_fields);

static const struct field image_status_fields[] = {
    { "imageRef", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
};
static const struct schema image_status_schema = SCHEMA_OPEN("ImageVolumeStatus", image_status_fields);

static const struct field mounted_volume_fields[] = {
    { "image", FIELD_OBJECT, .sub = &image_status_schema, .number = 1 },
};
static const struct schema mounted_volume_schema = SCHEMA_OPEN("VolumeStatus", mounted_volume_fields);

static const struct field volume_mount_status_fields[] = {
    { "name", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "mountPath", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
    { "readOnly", FIELD_BOOL, .number = 3 },
    { "recursiveReadOnly", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.RecursiveReadOnlyMode",
      .number = 4 },
    { "volumeStatus", FIELD_OBJECT, .sub = &mounted_volume_schema, .number = 5 },
};
static const struct schema volume_mount_status_schema =
    SCHEMA_OPEN("VolumeMountStatus", volume_mount_status_fields);

static const struct field linux_user_fields[] = {
    { "uid", FIELD_INT64, .flags = FIELD_ALWAYS, .number = 1 },
    { "gid", FIELD_INT64, .flags = FIELD_ALWAYS, .number = 2 },
    { "supplementalGroups", FIELD_LIST, .item = FIELD_INT64, .number = 3 },
};
static const struct schema linux_user_schema = SCHEMA_OPEN("LinuxContainerUser", linux_user_fields);

static const struct field container_user_fields[] = {
    { "linux", FIELD_OBJECT, .sub = &linux_user_schema, .number = 1 },
};
static const struct schema container_user_schema = SCHEMA_OPEN("ContainerUser", container_user_fields);

static const struct field resource_health_fields[] = {
    { "resourceID", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.ResourceID", .number = 1 },
    { "health", FIELD_STRING, .go_type = "v1.ResourceHealthStatus", .number = 2 },
    { "message", FIELD_STRING, .flags = FIELD_POINTER, .number = 6 },
};
static const struct schema resource_health_schema = SCHEMA_OPEN("ResourceHealth", resource_health_fields);

static const struct field resource_status_fields[] = {
    { "name", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.ResourceName", .number = 1 },
    { "resources", LIST_OF(resource_health_schema), .owned_keys = "resourceID", .number = 2 },
};
static const struct schema resource_status_schema = SCHEMA_OPEN("ResourceStatus", resource_status_fields);

static const struct field container_status_fields[] = {
    { "name", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "state", FIELD_OBJECT, .sub = &container_state_schema, .flags = FIELD_ALWAYS, .number = 2 },
    { "lastState", FIELD_OBJECT, .sub = &container_state_schema, .flags = FIELD_ALWAYS, .number = 3 },
    { "ready", FIELD_BOOL, .flags = FIELD_ALWAYS, .number = 4 },
    { "restartCount", FIELD_INT32, .flags = FIELD_ALWAYS, .number = 5 },
    { "image", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 6 },
    { "imageID", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 7 },
    { "containerID", FIELD_STRING, .number = 8 },
    { "started", FIELD_BOOL, .flags = FIELD_POINTER, .number = 9 },
    { "allocatedResources", FIELD_MAP, .item = FIELD_QUANTITY, .number = 10 },
    { "resources", FIELD_OBJECT, .sub = &resources_schema, .number = 11 },
    { "volumeMounts", LIST_OF(volume_mount_status_schema), .number = 12 },
    { "user", FIELD_OBJECT, .sub = &container_user_schema, .number = 13 },
    { "allocatedResourcesStatus", LIST_OF(resource_status_schema), .number = 14 },
    { "stopSignal", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.Signal", .number = 15 },
};
static const struct schema container_status_schema = SCHEMA_OPEN("ContainerStatus", container_status_fields);

static const struct field claim_status_fields[] = {
    { "name", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "resourceClaimName", FIELD_STRING, .flags = FIELD_POINTER, .number = 2 },
};
static const struct schema claim_status_schema = SCHEMA_OPEN("PodResourceClaimStatus", claim_status_fields);

static const struct field extended_request_fields[] = {
    { "containerName", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "resourceName", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
    { "requestName", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 3 },
};
static const struct schema extended_request_schema =
    SCHEMA_OPEN("ContainerExtendedResourceRequest", extended_request_fields);

static const struct field extended_claim_fields[] = {
    { "requestMappings", LIST_OF(extended_request_schema), .flags = FIELD_ALWAYS, .number = 1 },
    { "resourceClaimName", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
};
static const struct schema extended_claim_schema =
    SCHEMA_OPEN("PodExtendedResourceClaimStatus", extended_claim_fields);

static const struct field allocatable_claim_fields[] = {
    { "resourceClaimName", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "containers", FIELD_LIST, .item = FIELD_STRING, .flags = FIELD_OWNED_SET, .number = 2 },
    { "resources", FIELD_MAP, .item = FIELD_QUANTITY, .number = 3 },
};
static const struct schema allocatable_claim_schema =
    SCHEMA_OPEN("NodeAllocatableResourceClaimStatus", allocatable_claim_fields);

static const struct field pod_status_fields[] = {
    { "observedGeneration", FIELD_INT64, .number = 17 },
    { "phase", FIELD_STRING, .go_type = "v1.PodPhase", .number = 1 },
    { "conditions", LIST_OF(pod_condition_schema), .merge_key = "type", .number = 2 },
    { "message", FIELD_STRING, .number = 3 },
    { "reason", FIELD_STRING, .number = 4 },
    { "nominatedNodeName", FIELD_STRING, .number = 11 },
    { "hostIP", FIELD_STRING, .number = 5 },
    { "hostIPs", LIST_OF(host_ip_schema), .flags = FIELD_ATOMIC, .merge_key = "ip", .number = 16 },
    { "podIP", FIELD_STRING, .number = 6 },
    { "podIPs", LIST_OF(pod_ip_schema), .merge_key = "ip", .number = 12 },
    { "startTime", FIELD_TIME, .number = 7 },
    { "initContainerStatuses", LIST_OF(container_status_schema), .number = 10 },
    { "containerStatuses", LIST_OF(container_status_schema), .number = 8 },
    { "qosClass", FIELD_STRING, .go_type = "v1.PodQOSClass", .number = 9 },
    { "ephemeralContainerStatuses", LIST_OF(container_status_schema), .number = 13 },
    { "resize", FIELD_STRING, .go_type = "v1.PodResizeStatus", .number = 14 },
    { "resourceClaimStatuses", LIST_OF(claim_status_schema), .flags = FIELD_RETAIN_KEYS, .merge_key = "name",
      .number = 15 },
    { "extendedResourceClaimStatus", FIELD_OBJECT, .sub = &extended_claim_schema, .number = 18 },
    { "allocatedResources", FIELD_MAP, .item = FIELD_QUANTITY, .number = 19 },
    { "resources", FIELD_OBJECT, .sub = &resources_schema, .number = 20 },
    { "nodeAllocatableResourceClaimStatuses", LIST_OF(allocatable_claim_schema), .number = 21 },
};
static const struct schema pod_status_schema = SCHEMA_OPEN("PodStatus", pod_status_fields);

static const struct field pod_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "spec", FIELD_OBJECT, .sub = &pod_spec_schema, .flags = FIELD_ALWAYS, .number = 2 },
    { "status", FIELD_OBJECT, .sub = &pod_status_schema, .flags = FIELD_ALWAYS, .number = 3 },
};
const struct schema pod_schema = SCHEMA_OPEN("Pod", pod_fields);
