/* The fields of a pod's containers. Open tables, like all of a pod's: see pod_schema.c. */
#include "api/pod_int.h"

#include "api/meta.h"

/* --- Security, of containers and of pods --- */

const struct schema se_linux_schema = {
    "SELinuxOptions",
    (const struct field[]){
        { "user", FIELD_STRING, .number = 1 },
        { "role", FIELD_STRING, .number = 2 },
        { "type", FIELD_STRING, .number = 3 },
        { "level", FIELD_STRING, .number = 4 },
        { 0 },
    },
    .open = true,
};

const struct schema windows_schema = {
    "WindowsSecurityContextOptions",
    (const struct field[]){
        { "gmsaCredentialSpecName", FIELD_STRING, .flags = FIELD_POINTER, .number = 1 },
        { "gmsaCredentialSpec", FIELD_STRING, .flags = FIELD_POINTER, .number = 2 },
        { "runAsUserName", FIELD_STRING, .flags = FIELD_POINTER, .number = 3 },
        { "hostProcess", FIELD_BOOL, .flags = FIELD_POINTER, .number = 4 },
        { 0 },
    },
    .open = true,
};

const struct schema seccomp_schema = {
    "SeccompProfile",
    (const struct field[]){
        { "type", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.SeccompProfileType", .number = 1 },
        { "localhostProfile", FIELD_STRING, .flags = FIELD_POINTER, .number = 2 },
        { 0 },
    },
    .open = true,
};

const struct schema app_armor_schema = {
    "AppArmorProfile",
    (const struct field[]){
        { "type", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.AppArmorProfileType", .number = 1 },
        { "localhostProfile", FIELD_STRING, .flags = FIELD_POINTER, .number = 2 },
        { 0 },
    },
    .open = true,
};

/* --- Containers --- */

static const struct schema container_port_schema = {
    "ContainerPort",
    (const struct field[]){
        { "name", FIELD_STRING, .number = 1 },
        { "hostPort", FIELD_INT32, .number = 2 },
        { "containerPort", FIELD_INT32, .flags = FIELD_ALWAYS, .number = 3 },
        { "protocol", FIELD_STRING, .go_type = "v1.Protocol", .number = 4 },
        { "hostIP", FIELD_STRING, .number = 5 },
        { 0 },
    },
    .open = true,
};

const struct schema object_field_selector_schema = {
    "ObjectFieldSelector",
    (const struct field[]){
        { "apiVersion", FIELD_STRING, .number = 1 },
        { "fieldPath", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
        { 0 },
    },
    .open = true,
    .atomic = true,
};

static const struct schema config_map_key_schema = {
    "ConfigMapKeySelector",
    (const struct field[]){
        { "name", FIELD_STRING, .number = 1, .within = 1 },
        { "key", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
        { "optional", FIELD_BOOL, .flags = FIELD_POINTER, .number = 3 },
        { 0 },
    },
    .open = true,
    .atomic = true,
};

static const struct schema secret_key_schema = {
    "SecretKeySelector",
    (const struct field[]){
        { "name", FIELD_STRING, .number = 1, .within = 1 },
        { "key", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
        { "optional", FIELD_BOOL, .flags = FIELD_POINTER, .number = 3 },
        { 0 },
    },
    .open = true,
    .atomic = true,
};

static const struct schema file_key_schema = {
    "FileKeySelector",
    (const struct field[]){
        { "volumeName", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
        { "path", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
        { "key", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 3 },
        { "optional", FIELD_BOOL, .flags = FIELD_POINTER, .number = 4 },
        { 0 },
    },
    .open = true,
    .atomic = true,
};

static const struct schema env_source_schema = {
    "EnvVarSource",
    (const struct field[]){
        { "fieldRef", FIELD_OBJECT, .sub = &object_field_selector_schema, .number = 1 },
        { "resourceFieldRef", FIELD_OBJECT, .sub = &resource_field_selector_schema, .number = 2 },
        { "configMapKeyRef", FIELD_OBJECT, .sub = &config_map_key_schema, .number = 3 },
        { "secretKeyRef", FIELD_OBJECT, .sub = &secret_key_schema, .number = 4 },
        { "fileKeyRef", FIELD_OBJECT, .sub = &file_key_schema, .number = 5 },
        { 0 },
    },
    .open = true,
};

static const struct schema env_schema = {
    "EnvVar",
    (const struct field[]){
        { "name", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
        { "value", FIELD_STRING, .number = 2 },
        { "valueFrom", FIELD_OBJECT, .sub = &env_source_schema, .number = 3 },
        { 0 },
    },
    .open = true,
};

static const struct schema config_map_env_schema = {
    "ConfigMapEnvSource",
    (const struct field[]){
        { "name", FIELD_STRING, .number = 1, .within = 1 },
        { "optional", FIELD_BOOL, .flags = FIELD_POINTER, .number = 2 },
        { 0 },
    },
    .open = true,
};

static const struct schema secret_env_schema = {
    "SecretEnvSource",
    (const struct field[]){
        { "name", FIELD_STRING, .number = 1, .within = 1 },
        { "optional", FIELD_BOOL, .flags = FIELD_POINTER, .number = 2 },
        { 0 },
    },
    .open = true,
};

static const struct schema env_from_schema = {
    "EnvFromSource",
    (const struct field[]){
        { "prefix", FIELD_STRING, .number = 1 },
        { "configMapRef", FIELD_OBJECT, .sub = &config_map_env_schema, .number = 2 },
        { "secretRef", FIELD_OBJECT, .sub = &secret_env_schema, .number = 3 },
        { 0 },
    },
    .open = true,
};

static const struct schema resource_claim_schema = {
    "ResourceClaim",
    (const struct field[]){
        { "name", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
        { "request", FIELD_STRING, .number = 2 },
        { 0 },
    },
    .open = true,
};

const struct schema resources_schema = {
    "ResourceRequirements",
    (const struct field[]){
        { "limits", FIELD_MAP, .item = FIELD_QUANTITY, .number = 1 },
        { "requests", FIELD_MAP, .item = FIELD_QUANTITY, .number = 2 },
        { "claims", FIELD_LIST, .item = FIELD_OBJECT, .sub = &resource_claim_schema, .owned_keys = "name",
          .number = 3 },
        { 0 },
    },
    .open = true,
};

static const struct schema resize_policy_schema = {
    "ContainerResizePolicy",
    (const struct field[]){
        { "resourceName", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.ResourceName", .number = 1 },
        { "restartPolicy", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.ResourceResizeRestartPolicy",
          .number = 2 },
        { 0 },
    },
    .open = true,
};

static const struct schema exit_codes_schema = {
    "ContainerRestartRuleOnExitCodes",
    (const struct field[]){
        { "operator", FIELD_STRING, .go_type = "v1.ContainerRestartRuleOnExitCodesOperator", .number = 1 },
        { "values", FIELD_LIST, .item = FIELD_INT32, .flags = FIELD_OWNED_SET, .number = 2 },
        { 0 },
    },
    .open = true,
};

static const struct schema restart_rule_schema = {
    "ContainerRestartRule",
    (const struct field[]){
        { "action", FIELD_STRING, .go_type = "v1.ContainerRestartRuleAction", .number = 1 },
        { "exitCodes", FIELD_OBJECT, .sub = &exit_codes_schema, .number = 2 },
        { 0 },
    },
    .open = true,
};

static const struct schema volume_mount_schema = {
    "VolumeMount",
    (const struct field[]){
        { "name", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
        { "readOnly", FIELD_BOOL, .number = 2 },
        { "recursiveReadOnly", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.RecursiveReadOnlyMode",
          .number = 7 },
        { "mountPath", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 3 },
        { "subPath", FIELD_STRING, .number = 4 },
        { "mountPropagation", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.MountPropagationMode",
          .number = 5 },
        { "subPathExpr", FIELD_STRING, .number = 6 },
        { 0 },
    },
    .open = true,
};

static const struct schema volume_device_schema = {
    "VolumeDevice",
    (const struct field[]){
        { "name", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
        { "devicePath", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
        { 0 },
    },
    .open = true,
};

static const struct schema capabilities_schema = {
    "Capabilities",
    (const struct field[]){
        { "add", FIELD_LIST, .item = FIELD_STRING, .go_type = "v1.Capability", .number = 1 },
        { "drop", FIELD_LIST, .item = FIELD_STRING, .go_type = "v1.Capability", .number = 2 },
        { 0 },
    },
    .open = true,
};

static const struct schema security_context_schema = {
    "SecurityContext",
    (const struct field[]){
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
        { 0 },
    },
    .open = true,
};

/* --- Probes --- */

static const struct schema exec_action_schema = {
    "ExecAction",
    (const struct field[]){
        { "command", FIELD_LIST, .item = FIELD_STRING, .number = 1 },
        { 0 },
    },
    .open = true,
};

static const struct schema http_header_schema = {
    "HTTPHeader",
    (const struct field[]){
        { "name", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
        { "value", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
        { 0 },
    },
    .open = true,
};

static const struct schema http_get_schema = {
    "HTTPGetAction",
    (const struct field[]){
        { "path", FIELD_STRING, .number = 1 },
        { "port", FIELD_INT_OR_STRING, .flags = FIELD_ALWAYS, .number = 2 },
        { "host", FIELD_STRING, .number = 3 },
        { "scheme", FIELD_STRING, .go_type = "v1.URIScheme", .number = 4 },
        { "httpHeaders", FIELD_LIST, .item = FIELD_OBJECT, .sub = &http_header_schema, .number = 5 },
        { 0 },
    },
    .open = true,
};

static const struct schema tcp_socket_schema = {
    "TCPSocketAction",
    (const struct field[]){
        { "port", FIELD_INT_OR_STRING, .flags = FIELD_ALWAYS, .number = 1 },
        { "host", FIELD_STRING, .number = 2 },
        { 0 },
    },
    .open = true,
};

static const struct schema grpc_schema = {
    "GRPCAction",
    (const struct field[]){
        { "port", FIELD_INT32, .flags = FIELD_ALWAYS, .number = 1 },
        { "service", FIELD_STRING, .flags = FIELD_POINTER, .number = 2 },
        { 0 },
    },
    .open = true,
};

static const struct schema sleep_schema = {
    "SleepAction",
    (const struct field[]){
        { "seconds", FIELD_INT64, .flags = FIELD_ALWAYS, .number = 1 },
        { 0 },
    },
    .open = true,
};

static const struct schema probe_schema = {
    "Probe",
    (const struct field[]){
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
        { 0 },
    },
    .open = true,
};

static const struct schema lifecycle_handler_schema = {
    "LifecycleHandler",
    (const struct field[]){
        { "exec", FIELD_OBJECT, .sub = &exec_action_schema, .number = 1 },
        { "httpGet", FIELD_OBJECT, .sub = &http_get_schema, .number = 2 },
        { "tcpSocket", FIELD_OBJECT, .sub = &tcp_socket_schema, .number = 3 },
        { "sleep", FIELD_OBJECT, .sub = &sleep_schema, .number = 4 },
        { 0 },
    },
    .open = true,
};

static const struct schema lifecycle_schema = {
    "Lifecycle",
    (const struct field[]){
        { "postStart", FIELD_OBJECT, .sub = &lifecycle_handler_schema, .number = 1 },
        { "preStop", FIELD_OBJECT, .sub = &lifecycle_handler_schema, .number = 2 },
        { "stopSignal", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.Signal", .number = 3 },
        { 0 },
    },
    .open = true,
};

/* Of all three kinds of containers; those of ephemeral ones are in an embedded struct. */
/* clang-format off */
#define CONTAINER_FIELDS(within_)                                                                            \
    { "name", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1, .within = (within_) },                       \
    { "image", FIELD_STRING, .number = 2, .within = (within_) },                                             \
    { "command", FIELD_LIST, .item = FIELD_STRING, .number = 3, .within = (within_) },                       \
    { "args", FIELD_LIST, .item = FIELD_STRING, .number = 4, .within = (within_) },                          \
    { "workingDir", FIELD_STRING, .number = 5, .within = (within_) },                                        \
    { "ports", FIELD_LIST, .item = FIELD_OBJECT, .sub = &container_port_schema,                              \
      .merge_key = "containerPort", .owned_keys = "containerPort protocol=TCP", .number = 6,                 \
      .within = (within_) },                                                                                 \
    { "envFrom", FIELD_LIST, .item = FIELD_OBJECT, .sub = &env_from_schema, .number = 19,                    \
      .within = (within_) },                                                                                 \
    { "env", FIELD_LIST, .item = FIELD_OBJECT, .sub = &env_schema, .merge_key = "name", .number = 7,         \
      .within = (within_) },                                                                                 \
    { "resources", FIELD_OBJECT, .sub = &resources_schema, .flags = FIELD_ALWAYS, .number = 8,               \
      .within = (within_) },                                                                                 \
    { "resizePolicy", FIELD_LIST, .item = FIELD_OBJECT, .sub = &resize_policy_schema, .number = 23,          \
      .within = (within_) },                                                                                 \
    { "restartPolicy", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.ContainerRestartPolicy",         \
      .number = 24, .within = (within_) },                                                                   \
    { "restartPolicyRules", FIELD_LIST, .item = FIELD_OBJECT, .sub = &restart_rule_schema,                   \
      .number = 25, .within = (within_) },                                                                   \
    { "volumeMounts", FIELD_LIST, .item = FIELD_OBJECT, .sub = &volume_mount_schema,                         \
      .merge_key = "mountPath", .number = 9, .within = (within_) },                                          \
    { "volumeDevices", FIELD_LIST, .item = FIELD_OBJECT, .sub = &volume_device_schema,                       \
      .merge_key = "devicePath", .number = 21, .within = (within_) },                                        \
    { "livenessProbe", FIELD_OBJECT, .sub = &probe_schema, .number = 10, .within = (within_) },              \
    { "readinessProbe", FIELD_OBJECT, .sub = &probe_schema, .number = 11, .within = (within_) },             \
    { "startupProbe", FIELD_OBJECT, .sub = &probe_schema, .number = 22, .within = (within_) },               \
    { "lifecycle", FIELD_OBJECT, .sub = &lifecycle_schema, .number = 12, .within = (within_) },              \
    { "terminationMessagePath", FIELD_STRING, .number = 13, .within = (within_) },                           \
    { "terminationMessagePolicy", FIELD_STRING, .go_type = "v1.TerminationMessagePolicy",                    \
      .number = 20, .within = (within_) },                                                                   \
    { "imagePullPolicy", FIELD_STRING, .go_type = "v1.PullPolicy", .number = 14, .within = (within_) },      \
    { "securityContext", FIELD_OBJECT, .sub = &security_context_schema, .number = 15,                        \
      .within = (within_) },                                                                                 \
    { "stdin", FIELD_BOOL, .number = 16, .within = (within_) },                                              \
    { "stdinOnce", FIELD_BOOL, .number = 17, .within = (within_) },                                          \
    { "tty", FIELD_BOOL, .number = 18, .within = (within_) }
/* clang-format on */

const struct schema container_schema = {
    "Container",
    (const struct field[]){ CONTAINER_FIELDS(0), { 0 } },
    .open = true,
};

const struct schema ephemeral_container_schema = {
    "EphemeralContainer",
    (const struct field[]){
        CONTAINER_FIELDS(1), { "targetContainerName", FIELD_STRING, .number = 2 }, { 0 } },
    .open = true,
};
