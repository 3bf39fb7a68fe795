/* The schema of a pod's containers. Open tables, like all tables of pods: see pod_schema.c. */
#include "api/pod_int.h"

#include "api/meta.h"

/* --- Security, of containers and of pods --- */

static const struct field se_linux_fields[] = {
    { "user", FIELD_STRING, .number = 1 },
    { "role", FIELD_STRING, .number = 2 },
    { "type", FIELD_STRING, .number = 3 },
    { "level", FIELD_STRING, .number = 4 },
};
const struct schema se_linux_schema = SCHEMA_OPEN("SELinuxOptions", se_linux_fields);

static const struct field windows_fields[] = {
    { "gmsaCredentialSpecName", FIELD_STRING, .flags = FIELD_POINTER, .number = 1 },
    { "gmsaCredentialSpec", FIELD_STRING, .flags = FIELD_POINTER, .number = 2 },
    { "runAsUserName", FIELD_STRING, .flags = FIELD_POINTER, .number = 3 },
    { "hostProcess", FIELD_BOOL, .flags = FIELD_POINTER, .number = 4 },
};
const struct schema windows_schema = SCHEMA_OPEN("WindowsSecurityContextOptions", windows_fields);

static const struct field seccomp_fields[] = {
    { "type", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.SeccompProfileType", .number = 1 },
    { "localhostProfile", FIELD_STRING, .flags = FIELD_POINTER, .number = 2 },
};
const struct schema seccomp_schema = SCHEMA_OPEN("SeccompProfile", seccomp_fields);

static const struct field app_armor_fields[] = {
    { "type", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.AppArmorProfileType", .number = 1 },
    { "localhostProfile", FIELD_STRING, .flags = FIELD_POINTER, .number = 2 },
};
const struct schema app_armor_schema = SCHEMA_OPEN("AppArmorProfile", app_armor_fields);

/* --- Containers --- */

static const struct field container_port_fields[] = {
    { "name", FIELD_STRING, .number = 1 },
    { "hostPort", FIELD_INT32, .number = 2 },
    { "containerPort", FIELD_INT32, .flags = FIELD_ALWAYS, .number = 3 },
    { "protocol", FIELD_STRING, .go_type = "v1.Protocol", .number = 4 },
    { "hostIP", FIELD_STRING, .number = 5 },
};
static const struct schema container_port_schema = SCHEMA_OPEN("ContainerPort", container_port_fields);

static const struct field object_field_selector_fields[] = {
    { "apiVersion", FIELD_STRING, .number = 1 },
    { "fieldPath", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
};
const struct schema object_field_selector_schema =
    SCHEMA_OPEN_ATOMIC("ObjectFieldSelector", object_field_selector_fields);

static const struct field key_selector_fields[] = {
    { "name", FIELD_STRING, .number = 1, .within = 1 },
    { "key", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
    { "optional", FIELD_BOOL, .flags = FIELD_POINTER, .number = 3 },
};
static const struct schema config_map_key_schema =
    SCHEMA_OPEN_ATOMIC("ConfigMapKeySelector", key_selector_fields);

static const struct schema secret_key_schema = SCHEMA_OPEN_ATOMIC("SecretKeySelector", key_selector_fields);

static const struct field file_key_fields[] = {
    { "volumeName", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "path", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
    { "key", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 3 },
    { "optional", FIELD_BOOL, .flags = FIELD_POINTER, .number = 4 },
};
static const struct schema file_key_schema = SCHEMA_OPEN_ATOMIC("FileKeySelector", file_key_fields);

static const struct field env_source_fields[] = {
    { "fieldRef", FIELD_OBJECT, .sub = &object_field_selector_schema, .number = 1 },
    { "resourceFieldRef", FIELD_OBJECT, .sub = &resource_field_selector_schema, .number = 2 },
    { "configMapKeyRef", FIELD_OBJECT, .sub = &config_map_key_schema, .number = 3 },
    { "secretKeyRef", FIELD_OBJECT, .sub = &secret_key_schema, .number = 4 },
    { "fileKeyRef", FIELD_OBJECT, .sub = &file_key_schema, .number = 5 },
};
static const struct schema env_source_schema = SCHEMA_OPEN("EnvVarSource", env_source_fields);

static const struct field env_fields[] = {
    { "name", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "value", FIELD_STRING, .number = 2 },
    { "valueFrom", FIELD_OBJECT, .sub = &env_source_schema, .number = 3 },
};
static const struct schema env_schema = SCHEMA_OPEN("EnvVar", env_fields);

static const struct field env_all_fields[] = {
    { "name", FIELD_STRING, .number = 1, .within = 1 },
    { "optional", FIELD_BOOL, .flags = FIELD_POINTER, .number = 2 },
};
static const struct schema config_map_env_schema = SCHEMA_OPEN("ConfigMapEnvSource", env_all_fields);

static const struct schema secret_env_schema = SCHEMA_OPEN("SecretEnvSource", env_all_fields);

static const struct field env_from_fields[] = {
    { "prefix", FIELD_STRING, .number = 1 },
    { "configMapRef", FIELD_OBJECT, .sub = &config_map_env_schema, .number = 2 },
    { "secretRef", FIELD_OBJECT, .sub = &secret_env_schema, .number = 3 },
};
static const struct schema env_from_schema = SCHEMA_OPEN("EnvFromSource", env_from_fields);

static const struct field resource_claim_fields[] = {
    { "name", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "request", FIELD_STRING, .number = 2 },
};
static const struct schema resource_claim_schema = SCHEMA_OPEN("ResourceClaim", resource_claim_fields);

static const struct field resources_fields[] = {
    { "limits", FIELD_MAP, .item = FIELD_QUANTITY, .number = 1 },
    { "requests", FIELD_MAP, .item = FIELD_QUANTITY, .number = 2 },
    { "claims", LIST_OF(resource_claim_schema), .owned_keys = "name", .number = 3 },
};
const struct schema resources_schema = SCHEMA_OPEN("ResourceRequirements", resources_fields);

static const struct field resize_policy_fields[] = {
    { "resourceName", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.ResourceName", .number = 1 },
    { "restartPolicy", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.ResourceResizeRestartPolicy",
      .number = 2 },
};
static const struct schema resize_policy_schema = SCHEMA_OPEN("ContainerResizePolicy", resize_policy_fields);

static const struct field exit_codes_fields[] = {
    { "operator", FIELD_STRING, .go_type = "v1.ContainerRestartRuleOnExitCodesOperator", .number = 1 },
    { "values", FIELD_LIST, .item = FIELD_INT32, .flags = FIELD_OWNED_SET, .number = 2 },
};
static const struct schema exit_codes_schema =
    SCHEMA_OPEN("ContainerRestartRuleOnExitCodes", exit_codes_fields);

static const struct field restart_rule_fields[] = {
    { "action", FIELD_STRING, .go_type = "v1.ContainerRestartRuleAction", .number = 1 },
    { "exitCodes", FIELD_OBJECT, .sub = &exit_codes_schema, .number = 2 },
};
static const struct schema restart_rule_schema = SCHEMA_OPEN("ContainerRestartRule", restart_rule_fields);

static const struct field volume_mount_fields[] = {
    { "name", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "readOnly", FIELD_BOOL, .number = 2 },
    { "recursiveReadOnly", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.RecursiveReadOnlyMode",
      .number = 7 },
    { "mountPath", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 3 },
    { "subPath", FIELD_STRING, .number = 4 },
    { "mountPropagation", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.MountPropagationMode",
      .number = 5 },
    { "subPathExpr", FIELD_STRING, .number = 6 },
};
static const struct schema volume_mount_schema = SCHEMA_OPEN("VolumeMount", volume_mount_fields);

static const struct field volume_device_fields[] = {
    { "name", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "devicePath", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
};
static const struct schema volume_device_schema = SCHEMA_OPEN("VolumeDevice", volume_device_fields);

static const struct field capabilities_fields[] = {
    { "add", FIELD_LIST, .item = FIELD_STRING, .go_type = "v1.Capability", .number = 1 },
    { "drop", FIELD_LIST, .item = FIELD_STRING, .go_type = "v1.Capability", .number = 2 },
};
static const struct schema capabilities_schema = SCHEMA_OPEN("Capabilities", capabilities_fields);

static const struct field security_context_fields[] = {
    { "capabilities", FIELD_OBJECT, .sub = &capabilities_schema, .number = 1 },
    { "privileged", FIELD_BOOL, .flags = FIELD_POINTER, .number = 2 },
    { "seLinuxOptions", FIELD_OBJECT, .sub = &se_linux_schema, .number = 3 },
    { "windowsOptions", FIELD_OBJECT, .sub = &windows_schema, .number = 10 },
    { "runAsUser", FIELD_INT64, .flags = FIELD_POINTER, .number = 4 },
    { "runAsGroup", FIELD_INT64, .flags = FIELD_POINTER, .number = 8 },
    { "runAsNonRoot", FIELD_BOOL, .flags = FIELD_POINTER, .number = 5 },
    { "readOnlyRootFilesystem", FIELD_BOOL, .flags = FIELD_POINTER, .number = 6 },
    { "allowPrivilegeEscalation", FIELD_BOOL, .flags = FIELD_POINTER, .number = 7 },
    { "procMount", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.ProcMountType", .number = 9 },
    { "seccompProfile", FIELD_OBJECT, .sub = &seccomp_schema, .number = 11 },
    { "appArmorProfile", FIELD_OBJECT, .sub = &app_armor_schema, .number = 12 },
};
static const struct schema security_context_schema = SCHEMA_OPEN("SecurityContext", security_context_fields);

/* --- Probes --- */

static const struct field exec_action_fields[] = {
    { "command", FIELD_LIST, .item = FIELD_STRING, .number = 1 },
};
static const struct schema exec_action_schema = SCHEMA_OPEN("ExecAction", exec_action_fields);

static const struct field http_header_fields[] = {
    { "name", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "value", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
};
static const struct schema http_header_schema = SCHEMA_OPEN("HTTPHeader", http_header_fields);

static const struct field http_get_fields[] = {
    { "path", FIELD_STRING, .number = 1 },
    { "port", FIELD_INT_OR_STRING, .flags = FIELD_ALWAYS, .number = 2 },
    { "host", FIELD_STRING, .number = 3 },
    { "scheme", FIELD_STRING, .go_type = "v1.URIScheme", .number = 4 },
    { "httpHeaders", LIST_OF(http_header_schema), .number = 5 },
};
static const struct schema http_get_schema = SCHEMA_OPEN("HTTPGetAction", http_get_fields);

static const struct field tcp_socket_fields[] = {
    { "port", FIELD_INT_OR_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "host", FIELD_STRING, .number = 2 },
};
static const struct schema tcp_socket_schema = SCHEMA_OPEN("TCPSocketAction", tcp_socket_fields);

static const struct field grpc_fields[] = {
    { "port", FIELD_INT32, .flags = FIELD_ALWAYS, .number = 1 },
    { "service", FIELD_STRING, .flags = FIELD_POINTER, .number = 2 },
};
static const struct schema grpc_schema = SCHEMA_OPEN("GRPCAction", grpc_fields);

static const struct field sleep_fields[] = {
    { "seconds", FIELD_INT64, .flags = FIELD_ALWAYS, .number = 1 },
};
static const struct schema sleep_schema = SCHEMA_OPEN("SleepAction", sleep_fields);

static const struct field probe_fields[] = {
    { "exec", FIELD_OBJECT, .sub = &exec_action_schema, .number = 1, .within = 1 },
    { "httpGet", FIELD_OBJECT, .sub = &http_get_schema, .number = 2, .within = 1 },
    { "tcpSocket", FIELD_OBJECT, .sub = &tcp_socket_schema, .number = 3, .within = 1 },
    { "grpc", FIELD_OBJECT, .sub = &grpc_schema, .number = 4, .within = 1 },
    { "initialDelaySeconds", FIELD_INT32, .number = 2 },
    { "timeoutSeconds", FIELD_INT32, .number = 3 },
    { "periodSeconds", FIELD_INT32, .number = 4 },
    { "successThreshold", FIELD_INT32, .number = 5 },
    { "failureThreshold", FIELD_INT32, .number = 6 },
    { "terminationGracePeriodSeconds", FIELD_INT64, .flags = FIELD_POINTER, .number = 7 },
};
static const struct schema probe_schema = SCHEMA_OPEN("Probe", probe_fields);

static const struct field lifecycle_handler_fields[] = {
    { "exec", FIELD_OBJECT, .sub = &exec_action_schema, .number = 1 },
    { "httpGet", FIELD_OBJECT, .sub = &http_get_schema, .number = 2 },
    { "tcpSocket", FIELD_OBJECT, .sub = &tcp_socket_schema, .number = 3 },
    { "sleep", FIELD_OBJECT, .sub = &sleep_schema, .number = 4 },
};
static const struct schema lifecycle_handler_schema =
    SCHEMA_OPEN("LifecycleHandler", lifecycle_handler_fields);

static const struct field lifecycle_fields[] = {
    { "postStart", FIELD_OBJECT, .sub = &lifecycle_handler_schema, .number = 1 },
    { "preStop", FIELD_OBJECT, .sub = &lifecycle_handler_schema, .number = 2 },
    { "stopSignal", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.Signal", .number = 3 },
};
static const struct schema lifecycle_schema = SCHEMA_OPEN("Lifecycle", lifecycle_fields);

/* Fields of all three kinds of containers; in ephemeral containers they are an embedded struct. */
/* clang-format off */
#define CONTAINER_FIELDS(in)                                                                                 \
    { "name", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1, .within = in },                              \
    { "image", FIELD_STRING, .number = 2, .within = in },                                                    \
    { "command", FIELD_LIST, .item = FIELD_STRING, .number = 3, .within = in },                              \
    { "args", FIELD_LIST, .item = FIELD_STRING, .number = 4, .within = in },                                 \
    { "workingDir", FIELD_STRING, .number = 5, .within = in },                                               \
    { "ports", LIST_OF(container_port_schema), .merge_key = "containerPort",                                 \
      .owned_keys = "containerPort protocol=TCP", .number = 6, .within = in },                               \
    { "envFrom", LIST_OF(env_from_schema), .number = 19, .within = in },                                     \
    { "env", LIST_OF(env_schema), .merge_key = "name", .number = 7, .within = in },                          \
    { "resources", FIELD_OBJECT, .sub = &resources_schema, .flags = FIELD_ALWAYS, .number = 8,               \
      .within = in },                                                                                        \
    { "resizePolicy", LIST_OF(resize_policy_schema), .number = 23, .within = in },                           \
    { "restartPolicy", FIELD_STRING, .flags = FIELD_POINTER,                                                 \
      .go_type = "v1.ContainerRestartPolicy", .number = 24, .within = in },                                  \
    { "restartPolicyRules", LIST_OF(restart_rule_schema), .number = 25, .within = in },                      \
    { "volumeMounts", LIST_OF(volume_mount_schema), .merge_key = "mountPath", .number = 9, .within = in },   \
    { "volumeDevices", LIST_OF(volume_device_schema), .merge_key = "devicePath", .number = 21,               \
      .within = in },                                                                                        \
    { "livenessProbe", FIELD_OBJECT, .sub = &probe_schema, .number = 10, .within = in },                     \
    { "readinessProbe", FIELD_OBJECT, .sub = &probe_schema, .number = 11, .within = in },                    \
    { "startupProbe", FIELD_OBJECT, .sub = &probe_schema, .number = 22, .within = in },                      \
    { "lifecycle", FIELD_OBJECT, .sub = &lifecycle_schema, .number = 12, .within = in },                     \
    { "terminationMessagePath", FIELD_STRING, .number = 13, .within = in },                                  \
    { "terminationMessagePolicy", FIELD_STRING, .go_type = "v1.TerminationMessagePolicy",                    \
      .number = 20, .within = in },                                                                          \
    { "imagePullPolicy", FIELD_STRING, .go_type = "v1.PullPolicy", .number = 14, .within = in },             \
    { "securityContext", FIELD_OBJECT, .sub = &security_context_schema, .number = 15, .within = in },        \
    { "stdin", FIELD_BOOL, .number = 16, .within = in },                                                     \
    { "stdinOnce", FIELD_BOOL, .number = 17, .within = in },                                                 \
    { "tty", FIELD_BOOL, .number = 18, .within = in }
/* clang-format on */

static const struct field container_fields[] = {
    CONTAINER_FIELDS(0),
};
const struct schema container_schema = SCHEMA_OPEN("Container", container_fields);

static const struct field ephemeral_container_fields[] = {
    CONTAINER_FIELDS(1),
    { "targetContainerName", FIELD_STRING, .number = 2 },
};
const struct schema ephemeral_container_schema =
    SCHEMA_OPEN("EphemeralContainer", ephemeral_container_fields);
