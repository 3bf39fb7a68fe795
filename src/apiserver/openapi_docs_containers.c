/* Descriptions of the fields of a pod's containers. */
#include "apiserver/openapi_int.h"

#define PULL_POLICIES "Always|IfNotPresent|Never"

#define CONTAINER_FIELDS                                                                                  \
    { "name", "The container's name, unlike any other in the pod.", DOC_REQUIRED },                       \
        { "image", "The image to run." },                                                                 \
        { "command", "What to run instead of the image's entry point. No shell is involved." },           \
        { "args", "Arguments, instead of the image's own." },                                             \
        { "workingDir", "The directory to start in; the image's when it is left out." },                  \
        { "ports", "Ports that the container listens on. To know, not to open them." },                   \
        { "envFrom", "Objects whose keys become environment variables. env goes before them." },          \
        { "env", "Environment variables." },                                                              \
        { "resources", "How much processor and memory the container asks for, and its limits." },         \
        { "resizePolicy", "What a change of a resource does to the running container." },                 \
        { "restartPolicy", "Always, on an init container: it goes on running beside the others." },       \
        { "restartPolicyRules", "Exit codes after which it is restarted, whatever restartPolicy says." }, \
        { "volumeMounts", "The pod's volumes that the container sees as directories or files." },         \
        { "volumeDevices", "The pod's volumes that the container sees as devices." },                     \
        { "livenessProbe", "The container is restarted when this check fails." },                         \
        { "readinessProbe", "The container counts as ready while this check succeeds." },                 \
        { "startupProbe", "No other check runs before this one succeeds." },                              \
        { "lifecycle", "What is done when it starts and before it is stopped." },                         \
        { "terminationMessagePath", "The file that the container may leave its last words in." },         \
        { "terminationMessagePolicy",                                                                     \
          "Where last words come from: the file, or the end of the log on errors.", 0,                    \
          "FallbackToLogsOnError|File" },                                                                 \
        { "imagePullPolicy",                                                                              \
          "When the image is fetched. Left out: Always for :latest or no tag, else IfNotPresent.", 0,     \
          PULL_POLICIES },                                                                                \
        { "securityContext", "What the container may do, and as whom." },                                 \
        { "stdin", "Whether the container gets an open standard input." },                                \
        { "stdinOnce", "Whether standard input closes when the first client goes." },                     \
    {                                                                                                     \
        "tty", "Whether standard input is a terminal."                                                    \
    }

const struct doc openapi_docs_containers[] = {
    TYPE(PACKAGE_CORE, "Container", "A container of a pod."),
    CONTAINER_FIELDS,
    TYPE(PACKAGE_CORE, "EphemeralContainer", "A container added to a running pod, to look into it."),
    CONTAINER_FIELDS,
    { "targetContainerName", "The container whose processes it sees." },
    TYPE(PACKAGE_CORE, "ContainerPort", "A port that a container listens on."),
    { "name", "A name for the port." },
    { "hostPort", "The port of the node that leads to it." },
    { "containerPort", "The port's number.", DOC_REQUIRED },
    { "protocol", "The protocol; TCP when it is left out.", 0, "SCTP|TCP|UDP" },
    { "hostIP", "The address of the node that hostPort is bound to." },
    TYPE(PACKAGE_CORE, "EnvVar", "An environment variable."),
    { "name", "Its name.", DOC_REQUIRED },
    { "value", "Its value. $(NAME) is replaced by earlier variables." },
    { "valueFrom", "Where the value comes from, instead." },
    TYPE(PACKAGE_CORE, "EnvVarSource", "Where the value of a variable comes from."),
    { "fieldRef", "A field of the pod." },
    { "resourceFieldRef", "A limit or request of a container." },
    { "configMapKeyRef", "A key of a ConfigMap." },
    { "secretKeyRef", "A key of a Secret." },
    { "fileKeyRef", "A variable in a file of a volume." },
    TYPE(PACKAGE_CORE, "ResourceRequirements", "How much is asked for of each resource, and the limits."),
    { "limits", "The most that may be used of each resource." },
    { "requests", "What must be there of each resource; the limits when it is left out." },
    { "claims", "Claims of the pod that the container uses." },
    TYPE(PACKAGE_CORE, "VolumeMount", "A volume as a container sees it."),
    { "name", "The volume of the pod.", DOC_REQUIRED },
    { "readOnly", "Mounts it without the right to write." },
    { "recursiveReadOnly", "Whether mounts below it are read-only too: Disabled, IfPossible or Enabled." },
    { "mountPath", "Where it is in the container.", DOC_REQUIRED },
    { "subPath", "The part of the volume to mount; its root when it is left out." },
    { "mountPropagation", "Whether later mounts pass from the node to the container, and back.", 0,
      "Bidirectional|HostToContainer|None" },
    { "subPathExpr", "The same as subPath, with $(NAME) replaced by environment variables." },
    TYPE(PACKAGE_CORE, "VolumeDevice", "A volume as a device in a container."),
    { "name", "The volume of the pod: one of a claim.", DOC_REQUIRED },
    { "devicePath", "Where the device is in the container.", DOC_REQUIRED },
    TYPE(PACKAGE_CORE, "SecurityContext", "What a container may do, and as whom."),
    { "capabilities", "Linux capabilities to add and to remove." },
    { "privileged", "Whether it may do all that the node's root may." },
    { "seLinuxOptions", "The SELinux context of its processes." },
    { "windowsOptions", "Settings of Windows containers." },
    { "runAsUser", "The user id of its processes." },
    { "runAsGroup", "The group id of its processes." },
    { "runAsNonRoot", "Refuses to start it as root." },
    { "readOnlyRootFilesystem", "Whether its root file system is read-only." },
    { "allowPrivilegeEscalation", "Whether a process may gain more rights than its parent." },
    { "procMount", "How /proc is mounted; Default when it is left out.", 0, "Default|Unmasked" },
    { "seccompProfile", "The seccomp profile of its processes." },
    { "appArmorProfile", "The AppArmor profile of its processes." },
    TYPE(PACKAGE_CORE, "SELinuxOptions", "An SELinux context."),
    { "user", "Its user." },
    { "role", "Its role." },
    { "type", "Its type." },
    { "level", "Its level." },
    TYPE(PACKAGE_CORE, "EnvFromSource", "An object whose keys become environment variables."),
    { "prefix", "Text put before the name of each variable." },
    { "configMapRef", "A ConfigMap." },
    { "secretRef", "A Secret." },
    TYPE(PACKAGE_CORE, "ConfigMapEnvSource", "A ConfigMap whose keys become environment variables."),
    TYPE(PACKAGE_CORE, "SecretEnvSource", "A Secret whose keys become environment variables."),
    { "name", "The object's name, in the pod's namespace." },
    { "optional", "Whether the pod may start without the object." },
    TYPE(PACKAGE_CORE, "ConfigMapKeySelector", "A key of a ConfigMap."),
    TYPE(PACKAGE_CORE, "SecretKeySelector", "A key of a Secret."),
    { "name", "The object's name, in the pod's namespace." },
    { "key", "The key whose value is taken.", DOC_REQUIRED },
    { "optional", "Whether the pod may start without the object or the key." },
    TYPE(PACKAGE_CORE, "FileKeySelector", "A variable in a file of a volume."),
    { "volumeName", "The pod's volume that holds the file.", DOC_REQUIRED },
    { "path", "The file, relative to the volume.", DOC_REQUIRED },
    { "key", "The variable in the file.", DOC_REQUIRED },
    { "optional", "Whether the pod may start without the file or the variable." },
    TYPE(PACKAGE_CORE, "ResourceClaim", "A claim of the pod that a container uses."),
    { "name", "The claim: one of spec.resourceClaims.", DOC_REQUIRED },
    { "request", "The request of the claim; all of them when it is left out." },
    TYPE(PACKAGE_CORE, "ContainerResizePolicy", "What a change of one resource does to a running container."),
    { "resourceName", "The resource: cpu or memory.", DOC_REQUIRED },
    { "restartPolicy", "Whether the container is restarted.", DOC_REQUIRED, "NotRequired|RestartContainer" },
    TYPE(PACKAGE_CORE, "ContainerRestartRule",
         "When a container that ended is restarted, whatever restartPolicy says."),
    { "action", "What is done: Restart.", DOC_REQUIRED },
    { "exitCodes", "The exit codes that the rule is about." },
    TYPE(PACKAGE_CORE, "ContainerRestartRuleOnExitCodes", "A set of exit codes."),
    { "operator", "Whether the exit code must be one of the values, or none of them.", DOC_REQUIRED,
      "In|NotIn" },
    { "values", "The exit codes." },
    TYPE(PACKAGE_CORE, "Probe", "A periodic check of a container."),
    { "exec", "Runs a command in the container; exit status 0 is success." },
    { "httpGet", "Sends an HTTP GET request; a status of 200 to 399 is success." },
    { "tcpSocket", "Opens a TCP connection." },
    { "grpc", "Calls the gRPC health service." },
    { "initialDelaySeconds", "Seconds from the start of the container to the first check." },
    { "timeoutSeconds", "Seconds after which a check has failed. 1 when it is left out." },
    { "periodSeconds", "Seconds between checks. 10 when it is left out." },
    { "successThreshold",
      "Successes in a row before a failed check counts as passed. 1 when it is left out." },
    { "failureThreshold", "Failures in a row before the check counts as failed. 3 when it is left out." },
    { "terminationGracePeriodSeconds",
      "Seconds the container has to end after a failed check; the pod's own when it is left out." },
    TYPE(PACKAGE_CORE, "Lifecycle", "What is done when a container starts and before it is stopped."),
    { "postStart", "Done right after the container starts." },
    { "preStop", "Done before the container is stopped." },
    { "stopSignal", "The signal that stops the container; the image's own when it is left out." },
    TYPE(PACKAGE_CORE, "LifecycleHandler", "One action: exactly one of these."),
    { "exec", "Runs a command in the container." },
    { "httpGet", "Sends an HTTP GET request." },
    { "tcpSocket", "Deprecated: not supported." },
    { "sleep", "Waits." },
    TYPE(PACKAGE_CORE, "ExecAction", "A command in a container."),
    { "command", "The command and its arguments. No shell is involved." },
    TYPE(PACKAGE_CORE, "HTTPGetAction", "An HTTP GET request."),
    { "path", "The path." },
    { "port", "The port's number, or the name of a port of the container.", DOC_REQUIRED },
    { "host", "The host name to connect to; the pod's address when it is left out." },
    { "scheme", "HTTP when it is left out.", 0, "HTTP|HTTPS" },
    { "httpHeaders", "Headers of the request." },
    TYPE(PACKAGE_CORE, "HTTPHeader", "A header of a request."),
    { "name", "Its name.", DOC_REQUIRED },
    { "value", "Its value.", DOC_REQUIRED },
    TYPE(PACKAGE_CORE, "TCPSocketAction", "A TCP connection."),
    { "port", "The port's number, or the name of a port of the container.", DOC_REQUIRED },
    { "host", "The host name to connect to; the pod's address when it is left out." },
    TYPE(PACKAGE_CORE, "GRPCAction", "A call of the gRPC health service."),
    { "port", "The port's number.", DOC_REQUIRED },
    { "service", "The service to ask about." },
    TYPE(PACKAGE_CORE, "SleepAction", "A wait."),
    { "seconds", "How many seconds.", DOC_REQUIRED },
    TYPE(PACKAGE_CORE, "Capabilities", "Linux capabilities, beyond those that the container runtime gives."),
    { "add", "Capabilities to add." },
    { "drop", "Capabilities to remove." },
    TYPE(PACKAGE_CORE, "SeccompProfile", "A seccomp profile."),
    TYPE(PACKAGE_CORE, "AppArmorProfile", "An AppArmor profile."),
    { "type", "Which profile: RuntimeDefault, Unconfined, or Localhost for one on the node.", DOC_REQUIRED,
      "Localhost|RuntimeDefault|Unconfined" },
    { "localhostProfile", "The profile on the node, for type Localhost." },
    TYPE(PACKAGE_CORE, "WindowsSecurityContextOptions", "Security settings of Windows containers."),
    { "gmsaCredentialSpecName", "The name of the GMSA credential spec." },
    { "gmsaCredentialSpec", "The contents of the GMSA credential spec." },
    { "runAsUserName", "The user of the processes." },
    { "hostProcess", "Whether the container runs as a process of the node." },
    { 0 },
};
