/* Descriptions of the fields of a pod's containers. */
#include "apiserver/openapi_int.h"

#define PULL_POLICIES "Always|IfNotPresent|Never"

#define CONTAINER_FIELDS                                                                                   \
    { "name", "The container's name, unique in the pod.", DOC_REQUIRED },                                  \
        { "image", "The container image." },                                                               \
        { "command", "The command, which replaces the image's entry point. No shell is involved." },       \
        { "args", "Arguments, which replace the image's own." },                                           \
        { "workingDir", "The working directory; default: that of the image." },                            \
        { "ports", "Ports that the container listens on. Informational: the field does not open ports." }, \
        { "envFrom", "Objects whose keys become environment variables. env takes precedence." },           \
        { "env", "Environment variables." },                                                               \
        { "resources", "Requests and limits for CPU, memory and other resources." },                       \
        { "resizePolicy", "How the running container is resized." },                                       \
        { "restartPolicy", "Always, for an init container: it keeps running beside the others." },         \
        { "restartPolicyRules", "Restart rules by exit code. They take precedence over restartPolicy." },  \
        { "volumeMounts", "The pod's volumes that are mounted in the container." },                        \
        { "volumeDevices", "The pod's block volumes that the container sees as devices." },                \
        { "livenessProbe", "A check whose failure restarts the container." },                              \
        { "readinessProbe", "A check that decides whether the container is ready." },                      \
        { "startupProbe", "A check that must succeed before the other checks run." },                      \
        { "lifecycle", "Actions after the start and before the stop." },                                   \
        { "terminationMessagePath", "The file to which the container can write a termination message." },  \
        { "terminationMessagePolicy",                                                                      \
          "The source of the termination message: the file, or the end of the log on errors.", 0,          \
          "FallbackToLogsOnError|File" },                                                                  \
        { "imagePullPolicy",                                                                               \
          "When the image is pulled. Default Always for :latest or no tag, else IfNotPresent.", 0,         \
          PULL_POLICIES },                                                                                 \
        { "securityContext", "Security settings of the container." },                                      \
        { "stdin", "Whether standard input is kept open." },                                               \
        { "stdinOnce", "Whether standard input closes when the first client disconnects." },               \
    {                                                                                                      \
        "tty", "Whether standard input is a terminal."                                                     \
    }

const struct doc openapi_docs_containers[] = {
    TYPE(PACKAGE_CORE, "Container", "A container of a pod."),
    CONTAINER_FIELDS,
    TYPE(PACKAGE_CORE, "EphemeralContainer", "A container that is added to a running pod for debugging."),
    CONTAINER_FIELDS,
    { "targetContainerName", "The container whose processes it sees." },
    TYPE(PACKAGE_CORE, "ContainerPort", "A port that a container listens on."),
    { "name", "A name for the port." },
    { "hostPort", "The port of the node that is forwarded to the container." },
    { "containerPort", "The port's number.", DOC_REQUIRED },
    { "protocol", "The protocol. Default TCP.", 0, "SCTP|TCP|UDP" },
    { "hostIP", "The address of the node that hostPort is bound to." },
    TYPE(PACKAGE_CORE, "EnvVar", "An environment variable."),
    { "name", "Its name.", DOC_REQUIRED },
    { "value", "Its value. $(NAME) is replaced by the value of an earlier variable." },
    { "valueFrom", "The source of the value, instead of value." },
    TYPE(PACKAGE_CORE, "EnvVarSource", "The source of a variable's value."),
    { "fieldRef", "A field of the pod." },
    { "resourceFieldRef", "A limit or request of a container." },
    { "configMapKeyRef", "A key of a ConfigMap." },
    { "secretKeyRef", "A key of a Secret." },
    { "fileKeyRef", "A variable in a file of a volume." },
    TYPE(PACKAGE_CORE, "ResourceRequirements", "Requests and limits for resources."),
    { "limits", "The maximum amount of each resource." },
    { "requests", "The minimum amount of each resource; default: the limits." },
    { "claims", "Resource claims of the pod that the container uses." },
    TYPE(PACKAGE_CORE, "VolumeMount", "A mount of a volume in a container."),
    { "name", "The volume of the pod.", DOC_REQUIRED },
    { "readOnly", "Mounts the volume read-only." },
    { "recursiveReadOnly", "Whether mounts below it are also read-only: Disabled, IfPossible or Enabled." },
    { "mountPath", "The mount point in the container.", DOC_REQUIRED },
    { "subPath", "The path in the volume to mount; default: its root directory." },
    { "mountPropagation",
      "Whether later mounts are propagated from the node to the container, and from the container to the "
      "node.",
      0, "Bidirectional|HostToContainer|None" },
    { "subPathExpr", "The same as subPath, with $(NAME) replaced by environment variables." },
    TYPE(PACKAGE_CORE, "VolumeDevice", "A block device of a volume in a container."),
    { "name", "The volume of the pod. It must refer to a claim.", DOC_REQUIRED },
    { "devicePath", "The path of the device in the container.", DOC_REQUIRED },
    TYPE(PACKAGE_CORE, "SecurityContext", "Security settings of a container."),
    { "capabilities", "Linux capabilities to add and to remove." },
    { "privileged", "Whether the container has all privileges of root on the node." },
    { "seLinuxOptions", "The SELinux context of its processes." },
    { "windowsOptions", "Settings of Windows containers." },
    { "runAsUser", "The user ID of its processes." },
    { "runAsGroup", "The group ID of its processes." },
    { "runAsNonRoot", "If true, the container does not start as root." },
    { "readOnlyRootFilesystem", "Whether its root file system is read-only." },
    { "allowPrivilegeEscalation", "Whether a process may gain more privileges than its parent." },
    { "procMount", "How /proc is mounted. Default Default.", 0, "Default|Unmasked" },
    { "seccompProfile", "The seccomp profile of its processes." },
    { "appArmorProfile", "The AppArmor profile of its processes." },
    TYPE(PACKAGE_CORE, "SELinuxOptions", "An SELinux context."),
    { "user", "Its user." },
    { "role", "Its role." },
    { "type", "Its type." },
    { "level", "Its level." },
    TYPE(PACKAGE_CORE, "EnvFromSource", "An object whose keys become environment variables."),
    { "prefix", "A prefix for the names of the variables." },
    { "configMapRef", "A ConfigMap." },
    { "secretRef", "A Secret." },
    TYPE(PACKAGE_CORE, "ConfigMapEnvSource", "A ConfigMap whose keys become environment variables."),
    TYPE(PACKAGE_CORE, "SecretEnvSource", "A Secret whose keys become environment variables."),
    { "name", "The object's name, in the pod's namespace." },
    { "optional", "Whether the object may be missing." },
    TYPE(PACKAGE_CORE, "ConfigMapKeySelector", "A key of a ConfigMap."),
    TYPE(PACKAGE_CORE, "SecretKeySelector", "A key of a Secret."),
    { "name", "The object's name, in the pod's namespace." },
    { "key", "The key of the value.", DOC_REQUIRED },
    { "optional", "Whether the object or the key may be missing." },
    TYPE(PACKAGE_CORE, "FileKeySelector", "A variable in a file of a volume."),
    { "volumeName", "The pod's volume with the file.", DOC_REQUIRED },
    { "path", "The file, relative to the volume.", DOC_REQUIRED },
    { "key", "The variable in the file.", DOC_REQUIRED },
    { "optional", "Whether the file or the variable may be missing." },
    TYPE(PACKAGE_CORE, "ResourceClaim", "A resource claim of the pod that a container uses."),
    { "name", "The claim: one of spec.resourceClaims.", DOC_REQUIRED },
    { "request", "The request of the claim; default: all requests." },
    TYPE(PACKAGE_CORE, "ContainerResizePolicy", "How a running container is resized for one resource."),
    { "resourceName", "The resource: cpu or memory.", DOC_REQUIRED },
    { "restartPolicy", "Whether the container is restarted.", DOC_REQUIRED, "NotRequired|RestartContainer" },
    TYPE(PACKAGE_CORE, "ContainerRestartRule",
         "A rule for restarting a terminated container. It takes precedence over restartPolicy."),
    { "action", "The action: Restart.", DOC_REQUIRED },
    { "exitCodes", "The exit codes of the rule." },
    TYPE(PACKAGE_CORE, "ContainerRestartRuleOnExitCodes", "A set of exit codes."),
    { "operator", "Whether the exit code must be among the values (In) or not (NotIn).", DOC_REQUIRED,
      "In|NotIn" },
    { "values", "The exit codes." },
    TYPE(PACKAGE_CORE, "Probe", "A periodic check of a container."),
    { "exec", "Runs a command in the container; exit status 0 is success." },
    { "httpGet", "Sends an HTTP GET request; a status of 200 to 399 is success." },
    { "tcpSocket", "Opens a TCP connection." },
    { "grpc", "Calls the gRPC health service." },
    { "initialDelaySeconds", "Seconds between the start of the container and the first check." },
    { "timeoutSeconds", "Seconds after which a check fails. Default 1." },
    { "periodSeconds", "Seconds between checks. Default 10." },
    { "successThreshold",
      "Consecutive successes after which a failed check counts as successful. Default 1." },
    { "failureThreshold", "Consecutive failures after which the check counts as failed. Default 3." },
    { "terminationGracePeriodSeconds",
      "Seconds that the container has to shut down after a failed check; default: the pod's grace period." },
    TYPE(PACKAGE_CORE, "Lifecycle", "Actions after the start and before the stop of a container."),
    { "postStart", "The action after the container has started." },
    { "preStop", "The action before the container is stopped." },
    { "stopSignal", "The signal that stops the container; default: that of the image." },
    TYPE(PACKAGE_CORE, "LifecycleHandler", "An action. Exactly one of the fields is set."),
    { "exec", "Runs a command in the container." },
    { "httpGet", "Sends an HTTP GET request." },
    { "tcpSocket", "Deprecated: not supported." },
    { "sleep", "Waits for a number of seconds." },
    TYPE(PACKAGE_CORE, "ExecAction", "A command in a container."),
    { "command", "The command and its arguments. No shell is involved." },
    TYPE(PACKAGE_CORE, "HTTPGetAction", "An HTTP GET request."),
    { "path", "The path." },
    { "port", "The port's number, or the name of a port of the container.", DOC_REQUIRED },
    { "host", "The host name to connect to; default: the pod's address." },
    { "scheme", "The scheme. Default HTTP.", 0, "HTTP|HTTPS" },
    { "httpHeaders", "Headers of the request." },
    TYPE(PACKAGE_CORE, "HTTPHeader", "A header of a request."),
    { "name", "Its name.", DOC_REQUIRED },
    { "value", "Its value.", DOC_REQUIRED },
    TYPE(PACKAGE_CORE, "TCPSocketAction", "A TCP connection."),
    { "port", "The port's number, or the name of a port of the container.", DOC_REQUIRED },
    { "host", "The host name to connect to; default: the pod's address." },
    TYPE(PACKAGE_CORE, "GRPCAction", "A call of the gRPC health service."),
    { "port", "The port's number.", DOC_REQUIRED },
    { "service", "The service to check." },
    TYPE(PACKAGE_CORE, "SleepAction", "A wait."),
    { "seconds", "The number of seconds.", DOC_REQUIRED },
    TYPE(PACKAGE_CORE, "Capabilities",
         "Linux capabilities, relative to the default of the container runtime."),
    { "add", "Capabilities to add." },
    { "drop", "Capabilities to remove." },
    TYPE(PACKAGE_CORE, "SeccompProfile", "A seccomp profile."),
    TYPE(PACKAGE_CORE, "AppArmorProfile", "An AppArmor profile."),
    { "type", "The profile: RuntimeDefault, Unconfined, or Localhost for a profile on the node.",
      DOC_REQUIRED, "Localhost|RuntimeDefault|Unconfined" },
    { "localhostProfile", "The profile on the node, for type Localhost." },
    TYPE(PACKAGE_CORE, "WindowsSecurityContextOptions", "Security settings of Windows containers."),
    { "gmsaCredentialSpecName", "The name of the GMSA credential spec." },
    { "gmsaCredentialSpec", "The contents of the GMSA credential spec." },
    { "runAsUserName", "The user of the processes." },
    { "hostProcess", "Whether the container runs as a process of the node." },
    { 0 },
};
