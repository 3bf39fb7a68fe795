/* The rules of pods: containers, mounts, the rest of the spec, what may change, status. */
#include "tests/unit/test_kind.h"

#include "api/pod.h"

#define META "'metadata':{'name':'p','namespace':'ns'}"
#define POD(spec) "{" META ",'spec':{" spec "}}"
#define STATUS(status) "{" META ",'spec':{" ONE "},'status':{" status "}}"
#define ONE "'containers':[{'name':'c','image':'i'}]"
#define CONTAINER(rest) POD("'containers':[{'name':'c','image':'i'," rest "}]")
#define VOLUMES                                                                                \
    "'volumes':[{'name':'v'},{'name':'w','persistentVolumeClaim':{'claimName':'x'}},"          \
    "{'name':'e','ephemeral':{'volumeClaimTemplate':{'spec':{'accessModes':['ReadWriteOnce']," \
    "'resources':{'requests':{'storage':'1'}}}}}},{'name':'img','image':{'reference':'r'}}]"
#define MOUNTS(list) POD(VOLUMES ",'containers':[{'name':'c','image':'i','volumeMounts':[" list "]}]")
#define DEVICES(list) POD(VOLUMES ",'containers':[{'name':'c','image':'i','volumeDevices':[" list "]}]")
#define BOTH(mounts, devices)                                                    \
    POD(VOLUMES ",'containers':[{'name':'c','image':'i','volumeMounts':[" mounts \
                "],'volumeDevices':[" devices "]}]")
#define C0 "spec.containers[0]."

struct row {
    const char *text, *errors;
};

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ASSERT_CREATE(KIND_POD, rows[i].errors, rows[i].text);
}

TEST(pod_containers)
{
    static const struct row rows[] = {
        { POD(ONE), "" },
        { POD(""), "spec.containers: Required value" },
        { POD("'containers':[]"), "spec.containers: Required value" },
        { POD("'containers':[{}]"), C0 "name: Required value\n" C0 "image: Required value" },
        { POD("'containers':[{'name':'a.b','image':' i '}]"),
          C0 "name: Invalid value: \"a.b\": must not contain dots\n" C0
             "image: Invalid value: \" i \": must not have leading or trailing whitespace" },
        { POD("'containers':[{'name':'c','image':'i'},{'name':'d','image':'i'},{'name':'c','image':'i'}]"),
          "spec.containers[2].name: Duplicate value: \"c\"" },
        { POD("'initContainers':[{'name':'c','image':'i'},{'name':'d','image':'i'},{'name':'d',"
              "'image':'i'}]," ONE),
          "spec.initContainers[0].name: Duplicate value: \"c\"\n"
          "spec.initContainers[2].name: Duplicate value: \"d\"" },
        { CONTAINER("'imagePullPolicy':'Sometimes'"),
          C0 "imagePullPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", "
             "\"IfNotPresent\", \"Never\"" },
        { CONTAINER("'terminationMessagePolicy':'Mail'"),
          C0 "terminationMessagePolicy: Unsupported value: \"Mail\": supported values: "
             "\"FallbackToLogsOnError\", \"File\"" },
        { CONTAINER("'env':[{'value':'x'}]"), C0 "env[0].name: Required value" },
        { CONTAINER("'restartPolicy':'Always'"),
          C0 "restartPolicy: Forbidden: may not be set for non-init containers" },
        { POD("'initContainers':[{'name':'s','image':'i','restartPolicy':'Always'}]," ONE), "" },
        { POD("'initContainers':[{'name':'s','image':'i','restartPolicy':'Never'}]," ONE),
          "spec.initContainers[0].restartPolicy: Unsupported value: \"Never\": supported values: "
          "\"Always\"" },
        { CONTAINER("'securityContext':{'runAsUser':-1,'runAsGroup':2147483648}"),
          C0 "securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive\n" C0
             "securityContext.runAsGroup: Invalid value: 2147483648: must be between 0 and 2147483647, "
             "inclusive" },
    };
    check_rows(rows, ARRAY_LEN(rows));
}

TEST(pod_ephemeral_containers)
{
    ASSERT_CREATE(KIND_POD, "spec.ephemeralContainers: Forbidden: cannot be set on create",
                  POD(ONE ",'ephemeralContainers':[{'name':'e','image':'i','targetContainerName':'c'}]"));
    ASSERT_CREATE(KIND_POD,
                  "spec.ephemeralContainers[0].name: Duplicate value: \"c\"\n"
                  "spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container\n"
                  "spec.ephemeralContainers[0].volumeMounts[0].subPath: Forbidden: cannot be set for an "
                  "Ephemeral Container\n"
                  "spec.ephemeralContainers[0].volumeMounts[1].subPathExpr: Forbidden: cannot be set for an "
                  "Ephemeral Container\n"
                  "spec.ephemeralContainers[0].targetContainerName: Not found: \"x\"\n"
                  "spec.ephemeralContainers: Forbidden: cannot be set on create",
                  POD(VOLUMES "," ONE
                              ",'ephemeralContainers':[{'name':'c','image':'i','targetContainerName':'x',"
                              "'ports':[{'containerPort':1}],'volumeMounts':[{'name':'v','mountPath':'/m',"
                              "'subPath':'a'},{'name':'v','mountPath':'/n','subPathExpr':'b'}]}]"));
}

TEST(pod_resources)
{
    static const struct row rows[] = {
        { CONTAINER("'resources':{'requests':{'cpu':'500m','disk':'5'},'limits':{'cpu':'0.5','a':'1'}}"),
          "" },
        { CONTAINER("'resources':{'requests':{'cpu':'2'},'limits':{'cpu':'1','memory':'-1'}}"),
          C0 "resources.limits[memory]: Invalid value: \"-1\": must be greater than or equal to 0\n" C0
             "resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1\n" C0
             "resources.requests[memory]: Invalid value: \"-1\": must be greater than or equal to 0" },
    };
    check_rows(rows, ARRAY_LEN(rows));
}

TEST(pod_mounts)
{
    static const struct row rows[] = {
        { MOUNTS("{'name':'v','mountPath':'/a'},{'name':'v','mountPath':'/b','subPath':'x/y'}"), "" },
        { MOUNTS("{'name':'x','mountPath':'/a'}"), C0 "volumeMounts[0].name: Not found: \"x\"" },
        { MOUNTS("{}"),
          C0 "volumeMounts[0].name: Required value\n" C0 "volumeMounts[0].name: Not found: \"\"\n" C0
             "volumeMounts[0].mountPath: Required value" },
        { MOUNTS("{'name':'v','mountPath':'/a'},{'name':'w','mountPath':'/a'}"),
          C0 "volumeMounts[1].mountPath: Invalid value: \"/a\": must be unique" },
        { MOUNTS("{'name':'v','mountPath':'/a','subPath':'/x','subPathExpr':'../$(B)'}"),
          C0 "volumeMounts.subPath: Invalid value: \"/x\": must be a relative path\n" C0
             "volumeMounts[0].subPathExpr: Invalid value: \"../$(B)\": subPathExpr and subPath are mutually "
             "exclusive\n" C0 "volumeMounts.subPathExpr: Invalid value: \"../$(B)\": must not contain '..'" },
        { MOUNTS("{'name':'img','mountPath':'/a','subPath':'x'}"),
          C0 "volumeMounts[0].subPath: Invalid value: \"x\": not allowed in image volume sources" },
        { MOUNTS("{'name':'img','mountPath':'/a','subPathExpr':'x'}"),
          C0 "volumeMounts[0].subPathExpr: Invalid value: \"x\": not allowed in image volume sources" },
        { MOUNTS("{'name':'v','mountPath':'/a','mountPropagation':'HostToContainer'}"), "" },
        { MOUNTS("{'name':'v','mountPath':'/a','mountPropagation':'Bidirectional'}"),
          C0 "volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available only to "
             "privileged containers" },
        { MOUNTS("{'name':'v','mountPath':'/a','mountPropagation':'Out'}"),
          C0 "volumeMounts.mountPropagation: Unsupported value: \"Out\": supported values: "
             "\"Bidirectional\", \"HostToContainer\", \"None\"" },
        { MOUNTS("{'name':'v','mountPath':'/a','readOnly':true,'recursiveReadOnly':'Enabled'}"), "" },
        { MOUNTS("{'name':'v','mountPath':'/a','recursiveReadOnly':'IfPossible',"
                 "'mountPropagation':'HostToContainer'}"),
          C0 "volumeMounts.recursiveReadOnly: Forbidden: may only be specified when readOnly is true\n" C0
             "volumeMounts.recursiveReadOnly: Forbidden: may only be specified when mountPropagation is None "
             "or not specified" },
        { MOUNTS("{'name':'v','mountPath':'/a','recursiveReadOnly':'Yes'}"),
          C0 "volumeMounts.recursiveReadOnly: Unsupported value: \"Yes\": supported values: \"Disabled\", "
             "\"Enabled\", \"IfPossible\"" },
        { POD(VOLUMES ",'containers':[{'name':'c','image':'i','securityContext':{'privileged':true},"
                      "'volumeMounts':[{'name':'v','mountPath':'/a','mountPropagation':'Bidirectional'}]}]"),
          "" },
        /* a volume that is wrong is not there */
        { POD("'volumes':[{'name':'v','hostPath':{}}],'containers':[{'name':'c','image':'i',"
              "'volumeMounts':[{'name':'v','mountPath':'/a'}]}]"),
          "spec.volumes[0].hostPath.path: Required value\n" C0 "volumeMounts[0].name: Not found: \"v\"" },
    };
    check_rows(rows, ARRAY_LEN(rows));
}

TEST(pod_devices)
{
    static const struct row rows[] = {
        { DEVICES("{'name':'w','devicePath':'/dev/a'},{'name':'e','devicePath':'/dev/b'}"), "" },
        { DEVICES("{'name':'v','devicePath':'/dev/a'}"),
          C0 "volumeDevices[0].name: Invalid value: \"v\": can only use volume source type of "
             "PersistentVolumeClaim or Ephemeral for block mode" },
        { DEVICES("{'name':'x','devicePath':'/dev/../a'}"),
          C0 "volumeDevices[0].name: Not found: \"x\"\n" C0
             "volumeDevices[0].devicePath: Invalid value: \"/dev/../a\": can not contain backsteps ('..')" },
        { DEVICES("{}"),
          C0 "volumeDevices[0].name: Required value\n" C0 "volumeDevices[0].name: Not found: \"\"\n" C0
             "volumeDevices[0].devicePath: Required value" },
        { DEVICES("{'name':'w','devicePath':'/dev/a'},{'name':'w','devicePath':'/dev/a'}"),
          C0 "volumeDevices[1].name: Invalid value: \"w\": must be unique\n" C0
             "volumeDevices[1].devicePath: Invalid value: \"/dev/a\": must be unique" },
        { BOTH("{'name':'w','mountPath':'/a'}", "{'name':'w','devicePath':'/a'}"),
          C0 "volumeMounts[0].name: Invalid value: \"w\": must not already exist in volumeDevices\n" C0
             "volumeMounts[0].mountPath: Invalid value: \"/a\": must not already exist as a path in "
             "volumeDevices\n" C0
             "volumeDevices[0].name: Invalid value: \"w\": must not already exist in volumeMounts\n" C0
             "volumeDevices[0].devicePath: Invalid value: \"/a\": must not already exist as a path in "
             "volumeMounts" },
    };
    check_rows(rows, ARRAY_LEN(rows));
}

#define REST(rest) POD(ONE "," rest)
#define REQUIRED_AFFINITY "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
#define LABEL_TEXT                                                                                          \
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start " \
    "and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "  \
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
#define NAME_PART_TEXT                                                                                    \
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " \
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "  \
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
#define SUBDOMAIN_TEXT                                                                                \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', " \
    "and must start and end with an alphanumeric character (e.g. 'example.com', regex used for "      \
    "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

TEST(pod_rest_of_the_spec)
{
    static const struct row rows[] = {
        { REST("'restartPolicy':'Perhaps'"), "spec.restartPolicy: Unsupported value: \"Perhaps\": supported "
                                             "values: \"Always\", \"Never\", \"OnFailure\"" },
        { REST("'dnsPolicy':'X'"), "spec.dnsPolicy: Unsupported value: \"X\": supported values: "
                                   "\"ClusterFirst\", \"ClusterFirstWithHostNet\", \"Default\", \"None\"" },
        { REST("'preemptionPolicy':'X'"), "spec.preemptionPolicy: Unsupported value: \"X\": supported "
                                          "values: \"Never\", \"PreemptLowerPriority\"" },
        { REST("'nodeSelector':{'a':'b'}"), "" },
        { REST("'nodeSelector':{'':'b'}"),
          "spec.nodeSelector: Invalid value: \"\": name part must be non-empty\n"
          "spec.nodeSelector: Invalid value: \"\": name part must consist of alphanumeric characters, '-', "
          "'_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  "
          "or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')" },
        { REST("'securityContext':{'fsGroup':-1,'runAsUser':-2,'runAsGroup':-3,'supplementalGroups':[0,-4],"
               "'fsGroupChangePolicy':'X','supplementalGroupsPolicy':'Y','seLinuxChangePolicy':'Z'}"),
          "spec.securityContext.fsGroup: Invalid value: -1: must be between 0 and 2147483647, inclusive\n"
          "spec.securityContext.runAsUser: Invalid value: -2: must be between 0 and 2147483647, inclusive\n"
          "spec.securityContext.runAsGroup: Invalid value: -3: must be between 0 and 2147483647, inclusive\n"
          "spec.securityContext.supplementalGroups[1]: Invalid value: -4: must be between 0 and 2147483647, "
          "inclusive\n"
          "spec.securityContext.fsGroupChangePolicy: Unsupported value: \"X\": supported values: \"Always\", "
          "\"OnRootMismatch\"\n"
          "spec.securityContext.supplementalGroupsPolicy: Unsupported value: \"Y\": supported values: "
          "\"Merge\", \"Strict\"\n"
          "spec.securityContext.seLinuxChangePolicy: Unsupported value: \"Z\": supported values: "
          "\"MountOption\", \"Recursive\"" },
        { REST("'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':"
               "{'nodeSelectorTerms':[{'matchExpressions':[{'key':'k','operator':'In','values':['a']}]}]},"
               "'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':100,'preference':{}}]}}"),
          "" },
        { REST("'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':"
               "{'nodeSelectorTerms':[]}}}"),
          REQUIRED_AFFINITY "nodeSelectorTerms: Required value: must have at least one node selector term" },
        { REST("'affinity':{'nodeAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':"
               "[{'weight':0},{'weight':101}]}}"),
          "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid "
          "value: 0: must be in the range 1-100\n"
          "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[1].weight: Invalid "
          "value: 101: must be in the range 1-100" },
        { REST("'schedulingGates':[{'name':'a.io/b'},{'name':'c'}]"), "" },
        { REST("'schedulingGates':[{'name':'a'},{'name':'a'}]"),
          "spec.schedulingGates[1]: Duplicate value: \"a\"" },
        { REST("'schedulingGates':[{'name':'a'}],'nodeName':'n'"),
          "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared" },
        { REST("'nodeName':'N'"), "spec.nodeName: Invalid value: \"N\": " SUBDOMAIN_TEXT },
        { REST("'serviceAccountName':'S'"),
          "spec.serviceAccountName: Invalid value: \"S\": " SUBDOMAIN_TEXT },
        { REST("'hostname':'a.b'"), "spec.hostname: Invalid value: \"a.b\": must not contain dots" },
        { REST("'activeDeadlineSeconds':0"),
          "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive" },
        { REST("'readinessGates':[{'conditionType':'a.io/B'}]"), "" },
        { REST("'readinessGates':[{'conditionType':'a.io/B'},{'conditionType':'-'}]"),
          "spec.readinessGates[1].conditionType: Invalid value: \"-\": " NAME_PART_TEXT },
        { REST("'schedulingGates':[{'name':'a.io/b'},{'name':'-'}]"),
          "spec.schedulingGates[1]: Invalid value: \"-\": " NAME_PART_TEXT },
        { REST("'subdomain':'S'"), "spec.subdomain: Invalid value: \"S\": " LABEL_TEXT },
        { REST("'priorityClassName':'P'"), "spec.priorityClassName: Invalid value: \"P\": " SUBDOMAIN_TEXT },
        { REST("'runtimeClassName':'R'"), "spec.runtimeClassName: Invalid value: \"R\": " SUBDOMAIN_TEXT },
    };
    check_rows(rows, ARRAY_LEN(rows));
}

#define TOLERATION(list) REST("'tolerations':[" list "]")

TEST(pod_tolerations)
{
    static const struct row rows[] = {
        { TOLERATION("{'operator':'Exists'},{'key':'k','value':'v','effect':'NoSchedule'},"
                     "{'key':'k','operator':'Exists','effect':'NoExecute','tolerationSeconds':0}"),
          "" },
        { TOLERATION("{'key':'k'},{}"),
          "spec.tolerations[1].operator: Invalid value: \"\": operator must be Exists when `key` is empty, "
          "which means \"match all values and all keys\"" },
        { TOLERATION("{'key':'k','operator':'Exists','value':'v'}"),
          "spec.tolerations[0].operator: Invalid value: \"v\": value must be empty when `operator` is "
          "'Exists'" },
        { TOLERATION("{'key':'k','operator':'Near'}"),
          "spec.tolerations[0].operator: Unsupported value: \"Near\": supported values: \"Equal\", "
          "\"Exists\"" },
        { TOLERATION("{'key':'k','effect':'NoSchedule','tolerationSeconds':1}"),
          "spec.tolerations[0].effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute' when "
          "`tolerationSeconds` is set" },
        { TOLERATION("{'key':'k','effect':'Never'}"),
          "spec.tolerations[0].effect: Unsupported value: \"Never\": supported values: \"NoExecute\", "
          "\"NoSchedule\", \"PreferNoSchedule\"" },
        { TOLERATION("{'key':'-k','operator':'Exists'}"),
          "spec.tolerations[0].key: Invalid value: \"-k\": name part must consist of alphanumeric "
          "characters, "
          "'-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or "
          "'my.name',  or '123-abc', regex used for validation is "
          "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')" },
    };
    check_rows(rows, ARRAY_LEN(rows));
}

/* --- Changes --- */

#define FORBIDDEN                                                                                        \
    "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"          \
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to " \
    "existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "     \
    "previously negative)\n"
#define T(key, seconds) \
    "{'key':'" key "','operator':'Exists','effect':'NoExecute','tolerationSeconds':" seconds "}"

TEST(pod_changes)
{
    static const struct {
        const char *old, *now, *errors;
    } rows[] = {
        { POD(ONE), POD(ONE), "" },
        { POD(ONE), "{'metadata':{'name':'p','namespace':'ns','labels':{'a':'b'}},'spec':{" ONE "}}", "" },
        { POD(ONE), POD("'containers':[{'name':'c','image':'j','imagePullPolicy':'Always'}]"), "" },
        { POD(ONE), POD("'containers':[{'name':'c','image':'i'},{'name':'d','image':'i'}]"),
          "spec.containers: Forbidden: pod updates may not add or remove containers" },
        { POD(ONE ",'initContainers':[{'name':'d','image':'i'}]"), POD(ONE),
          "spec.initContainers: Forbidden: pod updates may not add or remove containers" },
        { POD(ONE ",'initContainers':[{'name':'d','image':'i:1'}]"),
          POD(ONE ",'initContainers':[{'name':'d','image':'i:2'}]"), "" },
        { POD(ONE), REST("'activeDeadlineSeconds':5"), "" },
        { REST("'activeDeadlineSeconds':5"), REST("'activeDeadlineSeconds':4"), "" },
        { REST("'activeDeadlineSeconds':5"), REST("'activeDeadlineSeconds':6"),
          "spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value" },
        { REST("'activeDeadlineSeconds':5"), POD(ONE),
          "spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil "
          "value" },
        { TOLERATION(T("a", "1")), TOLERATION(T("b", "1") "," T("a", "2")), "" },
        { TOLERATION(T("a", "1") "," T("b", "1")), TOLERATION(T("a", "1")),
          "spec.tolerations: Forbidden: existing toleration can not be modified except its "
          "tolerationSeconds" },
        { REST("'schedulingGates':[{'name':'a'},{'name':'b'}]"), REST("'schedulingGates':[{'name':'b'}]"),
          "" },
        { REST("'schedulingGates':[{'name':'a'}]"), POD(ONE), "" },
        { REST("'schedulingGates':[{'name':'a'}]"), REST("'schedulingGates':[{'name':'a'},{'name':'b'}]"),
          "spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate "
          "'b'" },
        { REST("'terminationGracePeriodSeconds':-1"), REST("'terminationGracePeriodSeconds':1"), "" },
        { REST("'terminationGracePeriodSeconds':-1"), REST("'terminationGracePeriodSeconds':2"),
          FORBIDDEN "- spec.terminationGracePeriodSeconds: -1\n+ spec.terminationGracePeriodSeconds: 2\n" },
        { REST("'terminationGracePeriodSeconds':5"), REST("'terminationGracePeriodSeconds':1"),
          FORBIDDEN "- spec.terminationGracePeriodSeconds: 5\n+ spec.terminationGracePeriodSeconds: 1\n" },
        { POD(ONE), REST("'nodeName':'n','volumes':[{'name':'v'}]"),
          FORBIDDEN "+ spec.volumes: [{\"name\":\"v\",\"emptyDir\":{}}]\n+ spec.nodeName: \"n\"\n" },
        { REST("'future':1"), REST("'future':1"), "" },
        { REST("'future':1"), REST("'future':2"), FORBIDDEN "- spec.future: 1\n+ spec.future: 2\n" },
        /* what may differ is not shown as different */
        { REST("'nodeSelector':{'a':'b'}"),
          POD("'nodeSelector':{'a':'c'},'activeDeadlineSeconds':1,'containers':[{'name':'c','image':'j'}]"),
          FORBIDDEN "- spec.nodeSelector.a: \"b\"\n+ spec.nodeSelector.a: \"c\"\n" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_UPDATE(KIND_POD, rows[i].errors, rows[i].old, rows[i].now);
}

/* Neither through the pod nor through its status. */
TEST(pods_stay_mirror_pods_or_not)
{
#define ANNOTATED(annotations) \
    "{'metadata':{'name':'p','namespace':'ns','annotations':{" annotations "}},'spec':{" ONE "}}"
#define MIRROR_AT "metadata.annotations[kubernetes.io/config.mirror]: Forbidden: "
    static const struct {
        const char *old, *now, *errors;
    } rows[] = {
        { ANNOTATED("'kubernetes.io/config.mirror':'x'"), ANNOTATED("'kubernetes.io/config.mirror':'x'"),
          "" },
        { ANNOTATED("'kubernetes.io/config.mirror':'x'"),
          ANNOTATED("'kubernetes.io/config.mirror':'x','a':'b'"), "" },
        { ANNOTATED("'kubernetes.io/config.mirror':'x'"), POD(ONE),
          MIRROR_AT "may not remove or update mirror pod annotation" },
        { ANNOTATED("'kubernetes.io/config.mirror':'x'"), ANNOTATED("'kubernetes.io/config.mirror':''"),
          MIRROR_AT "may not remove or update mirror pod annotation" },
        { POD(ONE), ANNOTATED("'kubernetes.io/config.mirror':'x'"),
          MIRROR_AT "may not add mirror pod annotation" },
        { ANNOTATED("'a':'b'"), ANNOTATED("'kubernetes.io/config.mirror':''"),
          MIRROR_AT "may not add mirror pod annotation" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ASSERT_UPDATE(KIND_POD, rows[i].errors, rows[i].old, rows[i].now);
        ASSERT_STATUS(KIND_POD, rows[i].errors, rows[i].old, rows[i].now);
    }
}

TEST(pod_containers_change_their_image_alone)
{
    static const struct row rows[] = {
        { POD("'containers':[{'name':'d','image':'i'}]"), "+ spec.containers: [{\"name\":\"d\"" },
        { CONTAINER("'command':['x']"), "\"command\":[\"x\"]" },
        { REST("'ephemeralContainers':[{'name':'e','image':'i'}]"), "+ spec.ephemeralContainers: [{" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *errors = kind_errors(KIND_POD, WRITE_MAIN, POD(ONE), rows[i].text);
        if (strncmp(errors, FORBIDDEN, strlen(FORBIDDEN)) != 0 || !strstr(errors, rows[i].errors))
            fail_msg("row %zu: %s", i, errors);
    }
}

TEST(pod_status)
{
    ASSERT_STATUS(KIND_POD, "", STATUS("'qosClass':'Burstable'"),
                  STATUS("'qosClass':'Burstable','phase':'Running','nominatedNodeName':'n','conditions':"
                         "[{'type':'Ready','status':'True'},{'type':'a.io/B','status':'True'}]"));
    ASSERT_STATUS(KIND_POD,
                  "metadata.conditions[0].Type: Invalid value: \"-\": name part must consist of alphanumeric "
                  "characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. "
                  "'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
                  "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')\n"
                  "status.nominatedNodeName: Invalid value: \"N\": " SUBDOMAIN_TEXT "\n"
                  "status.qosClass: Invalid value: \"Guaranteed\": field is immutable",
                  STATUS("'qosClass':'Burstable'"),
                  STATUS("'qosClass':'Guaranteed','nominatedNodeName':'N','conditions':[{'type':'-'}]"));
    /* a status write is not the place to judge the spec */
    ASSERT_STATUS(KIND_POD, "", POD(""), POD("'restartPolicy':'Perhaps'"));
}

/* As many names as a request can hold are compared in time, and the list of errors has an end. */
TEST(pod_with_a_great_many_volumes)
{
    enum { COUNT = 120000 };
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(8 << 20);

    buf_add_cstr(&text, "{" META ",'spec':{" ONE ",'volumes':[");
    for (int i = 0; i < COUNT; i++)
        buf_addf(&text, "%s{'name':'v'}", i ? "," : "");
    buf_add_cstr(&text, "]}}");
    assert_non_null(strstr(kind_errors(KIND_POD, WRITE_MAIN, NULL, buf_cstr(&text)),
                           "spec.volumes[1].name: Duplicate value: \"v\""));
}

TEST_MAIN()
