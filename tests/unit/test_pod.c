/* Pod: canonical form, defaults, what the server makes of it, the view. */
#include "tests/unit/test_prepare.h"

#include "api/pod.h"

#define META "'metadata':{'name':'p','namespace':'ns'}"
#define POD(spec) "{" META ",'spec':{" spec "}}"
#define PODS(spec, status) "{" META ",'spec':{" spec "},'status':{" status "}}"
#define ONE "'containers':[{'name':'c','image':'i:1'}]"
#define CONTAINER_REST                                                                   \
    "'terminationMessagePath':'/dev/termination-log','terminationMessagePolicy':'File'," \
    "'imagePullPolicy':'IfNotPresent'"
#define ONE_STORED "'containers':[{'name':'c','image':'i:1','resources':{}," CONTAINER_REST "}]"
#define SPEC_HEAD "'restartPolicy':'Always','terminationGracePeriodSeconds':30,'dnsPolicy':'ClusterFirst'"
#define SPEC_TAIL "'securityContext':{},'schedulerName':'default-scheduler','enableServiceLinks':true"
#define STORED(before) "{" META ",'spec':{" before "," SPEC_HEAD "," SPEC_TAIL "},'status':{}}"
#define VOLUME(source) POD("'volumes':[{'name':'v'" source "}]," ONE)
#define VOLUME_STORED(source) STORED("'volumes':[{'name':'v'" source "}]," ONE_STORED)

TEST(pod_defaults)
{
    ASSERT_STORED(KIND_POD, STORED(ONE_STORED), POD(ONE));
    ASSERT_STORED(KIND_POD,
                  "{" META ",'spec':{" ONE_STORED
                  ",'restartPolicy':'Never','terminationGracePeriodSeconds':0,"
                  "'dnsPolicy':'None','serviceAccountName':'sa','serviceAccount':'sa',"
                  "'securityContext':{'fsGroup':0},'schedulerName':'mine','priority':0,"
                  "'enableServiceLinks':false},'status':{}}",
                  POD("'enableServiceLinks':false,'schedulerName':'mine','securityContext':{'fsGroup':0},"
                      "'dnsPolicy':'None','terminationGracePeriodSeconds':0,'restartPolicy':'Never',"
                      "'serviceAccount':'sa','priority':0," ONE));
}

TEST(pod_container_defaults)
{
    ASSERT_STORED(
        KIND_POD,
        STORED("'containers':[{'name':'c','image':'i','ports':[{'containerPort':80,'protocol':'TCP'},"
               "{'containerPort':81,'protocol':'UDP'}],'env':[{'name':'A','valueFrom':{'fieldRef':"
               "{'apiVersion':'v1','fieldPath':'metadata.name'}}}],"
               "'resources':{'limits':{'cpu':'1','memory':'1Gi'},'requests':{'cpu':'500m','memory':'1Gi'}},"
               "'terminationMessagePath':'/x','terminationMessagePolicy':'FallbackToLogsOnError',"
               "'imagePullPolicy':'Always'}]"),
        POD("'containers':[{'name':'c','image':'i','terminationMessagePath':'/x',"
            "'terminationMessagePolicy':'FallbackToLogsOnError',"
            "'ports':[{'containerPort':80},{'containerPort':81,'protocol':'UDP'}],"
            "'env':[{'name':'A','valueFrom':{'fieldRef':{'fieldPath':'metadata.name'}}}],"
            "'resources':{'requests':{'cpu':'0.5'},'limits':{'memory':'1024Mi','cpu':1}}}]"));
    ASSERT_STORED(KIND_POD,
                  "{" META ",'spec':{'containers':[{'name':'c','image':'i:1','ports':[{'hostPort':80,"
                  "'containerPort':80,'protocol':'TCP'}],'resources':{}," CONTAINER_REST "}]," SPEC_HEAD
                  ",'hostNetwork':true," SPEC_TAIL "},'status':{}}",
                  POD("'hostNetwork':true,'containers':[{'name':'c','image':'i:1','ports':"
                      "[{'containerPort':80}]}]"));
}

TEST(pod_defaults_twice_change_nothing)
{
    _cleanup_(buf_done_p) struct buf once = BUF_INIT(1 << 20);

    buf_add_cstr(&once,
                 kind_text(KIND_POD, POD("'volumes':[{'name':'a'},{'name':'b','secret':{'secretName':'s'}},"
                                         "{'name':'e','ephemeral':{'volumeClaimTemplate':{'spec':{}}}}],"
                                         "'serviceAccountName':'sa','containers':[{'name':'c','image':'i',"
                                         "'resources':{'limits':{'cpu':'1'}}}]")));
    ASSERT_OK(buf_check(&once, "pod", &err));
    ASSERT_STR(buf_cstr(&once), kind_text(KIND_POD, buf_cstr(&once)));
}

TEST(pod_amounts_are_rounded_up_to_thousandths)
{
    const char *text =
        kind_text(KIND_POD, POD("'overhead':{'cpu':'1u'},'containers':[{'name':'c','image':'i',"
                                "'resources':{'limits':{'cpu':'1500u'}}}]"));

    assert_non_null(strstr(text, "\"limits\":{\"cpu\":\"2m\"},\"requests\":{\"cpu\":\"2m\"}"));
    assert_non_null(strstr(text, "\"overhead\":{\"cpu\":\"1m\"}"));
}

TEST(pod_image_pull_policy)
{
    static const struct {
        const char *image, *policy;
    } rows[] = {
        { "i", "Always" },
        { "i:latest", "Always" },
        { "i:1", "IfNotPresent" },
        { "host:5000/i", "Always" },
        { "host:5000/i:latest", "Always" },
        { "host:5000/i:2", "IfNotPresent" },
        { "i@sha256:00", "IfNotPresent" },
        { "host:5000/i@sha256:00", "IfNotPresent" },
        { "i:latest@sha256:00", "Always" },
        { "", "IfNotPresent" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[512], policy[64];
        snprintf(text, sizeof text, POD("'containers':[{'name':'c','image':'%s'}]"), rows[i].image);
        snprintf(policy, sizeof policy, "\"imagePullPolicy\":\"%s\"", rows[i].policy);
        if (!strstr(kind_text(KIND_POD, text), policy))
            fail_msg("image '%s': expected %s in %s", rows[i].image, policy, kind_text(KIND_POD, text));
    }
}

TEST(pod_volume_defaults)
{
    static const struct {
        const char *text, *stored;
    } rows[] = {
        { VOLUME(""), VOLUME_STORED(",'emptyDir':{}") },
        { VOLUME(",'emptyDir':{'medium':'Memory','sizeLimit':'1024Mi'}"),
          VOLUME_STORED(",'emptyDir':{'medium':'Memory','sizeLimit':'1Gi'}") },
        { VOLUME(",'hostPath':{'path':'/a'}"), VOLUME_STORED(",'hostPath':{'path':'/a','type':''}") },
        { VOLUME(",'secret':{'secretName':'s'}"),
          VOLUME_STORED(",'secret':{'secretName':'s','defaultMode':420}") },
        { VOLUME(",'secret':{'secretName':'s','defaultMode':0}"),
          VOLUME_STORED(",'secret':{'secretName':'s','defaultMode':0}") },
        { VOLUME(",'configMap':{'name':'s','optional':false}"),
          VOLUME_STORED(",'configMap':{'name':'s','defaultMode':420,'optional':false}") },
        { VOLUME(",'downwardAPI':{'items':[{'path':'a','fieldRef':{'fieldPath':'metadata.name'}},"
                 "{'path':'b','resourceFieldRef':{'resource':'limits.cpu','containerName':'c'}}]}"),
          VOLUME_STORED(",'downwardAPI':{'items':[{'path':'a','fieldRef':{'apiVersion':'v1','fieldPath':"
                        "'metadata.name'}},{'path':'b','resourceFieldRef':{'containerName':'c',"
                        "'resource':'limits.cpu','divisor':'0'}}],'defaultMode':420}") },
        { VOLUME(",'projected':{'sources':[{'serviceAccountToken':{'path':'t'}},{'secret':{'name':'s'}},"
                 "{'downwardAPI':{'items':[{'path':'n','fieldRef':{'fieldPath':'metadata.name'}}]}},"
                 "{'clusterTrustBundle':{'path':'x'}}]}"),
          VOLUME_STORED(",'projected':{'sources':[{'serviceAccountToken':{'expirationSeconds':3600,'path':"
                        "'t'}},{'secret':{'name':'s'}},{'downwardAPI':{'items':[{'path':'n','fieldRef':"
                        "{'apiVersion':'v1','fieldPath':'metadata.name'}}]}},"
                        "{'clusterTrustBundle':{'path':'x'}}],'defaultMode':420}") },
        { VOLUME(",'iscsi':{'targetPortal':'p','iqn':'iqn.x','lun':0}"),
          VOLUME_STORED(",'iscsi':{'targetPortal':'p','iqn':'iqn.x','lun':0,'iscsiInterface':'default'}") },
        { VOLUME(",'rbd':{'monitors':['m'],'image':'i'}"),
          VOLUME_STORED(",'rbd':{'monitors':['m'],'image':'i','pool':'rbd','user':'admin',"
                        "'keyring':'/etc/ceph/keyring'}") },
        { VOLUME(",'ephemeral':{'volumeClaimTemplate':{'spec':{'accessModes':['ReadWriteOnce'],"
                 "'resources':{'requests':{'storage':'1024Mi'}}}}}"),
          VOLUME_STORED(",'ephemeral':{'volumeClaimTemplate':{'metadata':{},'spec':{'accessModes':"
                        "['ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}},"
                        "'volumeMode':'Filesystem'}}}") },
        { VOLUME(",'image':{'reference':'r:1'}"),
          VOLUME_STORED(",'image':{'reference':'r:1','pullPolicy':'IfNotPresent'}") },
        { VOLUME(",'csi':{'driver':'d','readOnly':false,'fsType':''}"),
          VOLUME_STORED(",'csi':{'driver':'d','readOnly':false,'fsType':''}") },
        /* a source nobody here knows is no empty directory */
        { VOLUME(",'future':{'a':null}"), VOLUME_STORED(",'future':{'a':null}") },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_STORED(KIND_POD, rows[i].stored, rows[i].text);
}

TEST(pod_ips_have_twins)
{
    const char *stored =
        "{" META ",'spec':{" ONE_STORED "," SPEC_HEAD "," SPEC_TAIL "},'status':{'podIP':'1',"
        "'podIPs':[{'ip':'1'}]}}";

    ASSERT_STORED(KIND_POD, stored, PODS(ONE, "'podIP':'1'"));
    ASSERT_STORED(KIND_POD, stored, PODS(ONE, "'podIPs':[{'ip':'1'}]"));
    ASSERT_STORED(KIND_POD, stored, PODS(ONE, "'podIP':'1','podIPs':[{'ip':'2'}]"));
}

TEST(apiserver_42_pod_keeps_fields_nobody_here_knows)
{
    const char *text = POD("'claims':[{'name':'r','x':null}],'containers':[{'name':'c','image':'i:1',"
                           "'probe':{'exec':{'command':[]}},'future':{'b':1,'a':2}}],'later':null");

    ASSERT_STORED(KIND_POD,
                  "{" META ",'spec':{'containers':[{'name':'c','image':'i:1','resources':{}," CONTAINER_REST
                  ",'probe':{'exec':{'command':[]}},'future':{'b':1,'a':2}}]," SPEC_HEAD "," SPEC_TAIL
                  ",'claims':[{'name':'r','x':null}],'later':null},'status':{}}",
                  text);
    ASSERT_STR("", kind_report(KIND_POD, text));
    ASSERT_STR("duplicate field \"spec.containers[0].name\"",
               kind_report(KIND_POD, POD("'containers':[{'name':'c','name':'c'}]")));
}

/* What the agent here does not use is in canonical form all the same. */
TEST(pod_fields_that_are_only_carried)
{
    ASSERT_STORED(
        KIND_POD,
        "{" META ",'spec':{'containers':[{'name':'c','image':'i:1','envFrom':[{'secretRef':{'name':'s'}}],"
        "'resources':{},'livenessProbe':{'httpGet':{'port':'web'},'periodSeconds':5}," CONTAINER_REST
        "}]," SPEC_HEAD "," SPEC_TAIL ",'os':{'name':''}},'status':{}}",
        POD("'os':{},'containers':[{'name':'c','image':'i:1','livenessProbe':{'periodSeconds':5,"
            "'timeoutSeconds':0,'httpGet':{'port':'web','path':'','httpHeaders':[]}},'envFrom':"
            "[{'prefix':'','secretRef':{'name':'s'}}]}]"));
}

TEST(pod_wrong_types)
{
    static const struct {
        const char *text, *error;
    } rows[] = {
        { POD("'containers':[{'name':5}]"), "number into Go struct field Container.spec.containers.name of "
                                            "type string" },
        { POD("'ephemeralContainers':[{'name':5}]"),
          "number into Go struct field EphemeralContainer.spec.ephemeralContainers.name of type string" },
        { POD("'containers':[{'livenessProbe':{'httpGet':{'port':true}}}]"),
          "bool into Go struct field HTTPGetAction.spec.containers.livenessProbe.httpGet.port of type "
          "int32" },
        { POD("'affinity':{'podAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{}}}"),
          "object into Go struct field PodAffinity.spec.affinity.podAffinity."
          "requiredDuringSchedulingIgnoredDuringExecution of type []v1.PodAffinityTerm" },
        { POD("'containers':{}"),
          "object into Go struct field PodSpec.spec.containers of type []v1.Container" },
        { POD("'volumes':[{'emptyDir':[]}]"),
          "array into Go struct field Volume.spec.volumes.emptyDir of type v1.EmptyDirVolumeSource" },
        { POD("'volumes':[{'azureDisk':1}]"),
          "number into Go struct field Volume.spec.volumes.azureDisk of type v1.AzureDiskVolumeSource" },
        { POD("'volumes':[{'persistentVolumeClaim':{'claimName':1}}]"),
          "number into Go struct field PersistentVolumeClaimVolumeSource.spec.volumes.persistentVolumeClaim."
          "claimName of type string" },
        { POD("'containers':[{'volumeMounts':[{'readOnly':'yes'}]}]"),
          "string into Go struct field VolumeMount.spec.containers.volumeMounts.readOnly of type bool" },
        { POD("'terminationGracePeriodSeconds':'30'"),
          "string into Go struct field PodSpec.spec.terminationGracePeriodSeconds of type int64" },
        { POD("'priority':2147483648"),
          "number 2147483648 into Go struct field PodSpec.spec.priority of type int32" },
        { PODS(ONE, "'containerStatuses':[{'state':{'terminated':{'exitCode':'1'}}}]"),
          "string into Go struct field ContainerStateTerminated.status.containerStatuses.state.terminated."
          "exitCode of type int32" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char want[512];
        snprintf(want, sizeof want, "json: cannot unmarshal %s", rows[i].error);
        ASSERT_STR(want, kind_text(KIND_POD, rows[i].text));
    }
}

/* --- Before it is stored --- */

#define TOLERATED(key) "{'key':'" key "','operator':'Exists','effect':'NoExecute','tolerationSeconds':300}"
#define TOLERATIONS                                                            \
    "'tolerations':[" TOLERATED("node.kubernetes.io/not-ready") "," TOLERATED( \
        "node.kubernetes.io/unreachable") "]"
#define CREATED(generation) "'metadata':{'name':'p','namespace':'ns','generation':" generation "}"
#define CREATED_SPEC(tolerations)                                            \
    "'spec':{" ONE_STORED "," SPEC_HEAD                                      \
    ",'securityContext':{},'schedulerName':'default-scheduler'," tolerations \
    ",'priority':0,'enableServiceLinks':true,'preemptionPolicy':'PreemptLowerPriority'"

TEST(pod_create_starts_afresh)
{
    ASSERT_PREPARED(KIND_POD, WRITE_MAIN,
                    "{" CREATED("1") "," CREATED_SPEC(TOLERATIONS) "},'status':{'phase':'Pending',"
                                                                   "'qosClass':'BestEffort'}}",
                    NULL, PODS(ONE, "'phase':'Running','podIP':'10.0.0.1','reason':'x'"));
    ASSERT_PREPARED(
        KIND_POD, WRITE_MAIN,
        "{" CREATED("1") "," CREATED_SPEC(TOLERATIONS) ",'schedulingGates':[{'name':'a.io/b'}]},"
                                                       "'status':{'phase':'Pending','conditions':[{'type':'"
                                                       "PodScheduled','status':'False','reason':"
                                                       "'SchedulingGated','message':'Scheduling is blocked "
                                                       "due to non-empty scheduling gates'}],"
                                                       "'qosClass':'BestEffort'}}",
        NULL, POD(ONE ",'schedulingGates':[{'name':'a.io/b'}]"));
}

TEST(pod_create_keeps_tolerations_that_cover_a_silent_node)
{
    static const struct {
        const char *given, *stored;
    } rows[] = {
        { "'tolerations':[{'operator':'Exists'}]", "'tolerations':[{'operator':'Exists'}]" },
        { "'tolerations':[{'operator':'Exists','effect':'NoExecute'}]",
          "'tolerations':[{'operator':'Exists','effect':'NoExecute'}]" },
        { "'tolerations':[{'operator':'Exists','effect':'NoSchedule'}]",
          "'tolerations':[{'operator':'Exists','effect':'NoSchedule'}," TOLERATED(
              "node.kubernetes.io/not-ready") "," TOLERATED("node.kubernetes.io/unreachable") "]" },
        { "'tolerations':[{'key':'node.kubernetes.io/not-ready','operator':'Exists'}]",
          "'tolerations':[{'key':'node.kubernetes.io/not-ready','operator':'Exists'}," TOLERATED(
              "node.kubernetes.io/unreachable") "]" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char given[512], want[2048];
        snprintf(given, sizeof given, POD("%s," ONE), rows[i].given);
        snprintf(want, sizeof want,
                 "{" CREATED("1") "," CREATED_SPEC("%s") "},'status':{'phase':'Pending',"
                                                         "'qosClass':'BestEffort'}}",
                 rows[i].stored);
        ASSERT_PREPARED(KIND_POD, WRITE_MAIN, want, NULL, given);
    }
}

#define NEED(requests, limits) \
    "{'name':'c','image':'i','resources':{'requests':{" requests "},'limits':{" limits "}}}"

TEST(pod_qos_classes)
{
    static const struct {
        const char *spec, *class;
    } rows[] = {
        { "'containers':[" NEED("", "") "]", "BestEffort" },
        { "'containers':[" NEED("'cpu':'0'", "") "]", "BestEffort" },
        { "'containers':[" NEED("'example.com/gpu':'1'", "'example.com/gpu':'1'") "]", "BestEffort" },
        { "'containers':[" NEED("'cpu':'1'", "") "]", "Burstable" },
        { "'containers':[" NEED("", "'cpu':'1'") "]", "Burstable" },
        { "'containers':[" NEED("", "'cpu':'1','memory':'1Gi'") "]", "Guaranteed" },
        { "'containers':[" NEED("'cpu':'1000m','memory':'1Gi'", "'cpu':'1','memory':'1024Mi'") "]",
          "Guaranteed" },
        { "'containers':[" NEED("'cpu':'1','memory':'1Gi'", "'cpu':'2','memory':'1Gi'") "]", "Burstable" },
        { "'containers':[" NEED("", "'cpu':'1','memory':'1Gi'") "," NEED("", "") "]", "Burstable" },
        { "'containers':[" NEED("", "'cpu':'1','memory':'1Gi'") "],'initContainers':[" NEED("", "") "]",
          "Burstable" },
        { "'containers':[" NEED("", "'cpu':'1','memory':'1Gi'") "],'initContainers':[" NEED(
              "", "'cpu':'2','memory':'1Gi'") "]",
          "Guaranteed" },
        { "'containers':[" NEED("", "") "],'resources':{'requests':{'cpu':'1','memory':'1'},'limits':"
                                        "{'cpu':'1','memory':'1'}}",
          "Guaranteed" },
        { "'containers':[" NEED("", "'cpu':'1','memory':'1Gi'") "],'resources':{'requests':{'cpu':'1'}}",
          "Burstable" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[1024], want[64];
        snprintf(text, sizeof text, POD("%s"), rows[i].spec);
        snprintf(want, sizeof want, "\"qosClass\":\"%s\"", rows[i].class);
        if (!strstr(kind_prepared(KIND_POD, WRITE_MAIN, NULL, text), want))
            fail_msg("row %zu: expected %s", i, want);
    }
}

#define OLD(owners)                                                                        \
    "{'metadata':{'name':'p','namespace':'ns','generation':3" owners "},'spec':{" ONE "}," \
    "'status':{'phase':'Pending','qosClass':'BestEffort'}}"
#define OWNERS ",'ownerReferences':[{'apiVersion':'v1','kind':'K','name':'o','uid':'u'}]"
#define TAIL "'status':{'phase':'Pending','qosClass':'BestEffort'}}"

TEST(pod_updates_count_generations)
{
    /* the same spec, whatever generation the writer names */
    ASSERT_PREPARED(KIND_POD, WRITE_MAIN,
                    "{" CREATED("3") ",'spec':{" ONE_STORED "," SPEC_HEAD "," SPEC_TAIL "}," TAIL,
                    OLD(OWNERS), POD(ONE));
    ASSERT_PREPARED(
        KIND_POD, WRITE_MAIN,
        "{" CREATED("4") ",'spec':{'containers':[{'name':'c','image':'i:2','resources':{}," CONTAINER_REST
                         "}]," SPEC_HEAD "," SPEC_TAIL "}," TAIL,
        OLD(""), POD("'containers':[{'name':'c','image':'i:2'}]"));
}

TEST(pod_status_writes_keep_spec_and_owners)
{
    ASSERT_PREPARED(KIND_POD, WRITE_STATUS,
                    "{'metadata':{'name':'p','namespace':'ns','generation':3,'labels':{'a':'b'}" OWNERS
                    "},'spec':{" ONE_STORED "," SPEC_HEAD "," SPEC_TAIL "},'status':{'phase':'Running',"
                    "'qosClass':'BestEffort'}}",
                    OLD(OWNERS),
                    "{'metadata':{'name':'p','namespace':'ns','labels':{'a':'b'},'ownerReferences':"
                    "[{'apiVersion':'v1','kind':'X','name':'x','uid':'x'}]},'status':{'phase':'Running'}}");
    ASSERT_PREPARED(KIND_POD, WRITE_STATUS,
                    "{" CREATED("3") ",'spec':{" ONE_STORED "," SPEC_HEAD "," SPEC_TAIL "},'status':{"
                                     "'phase':'Failed','qosClass':'Burstable'}}",
                    OLD(""), "{" CREATED("9") ",'status':{'phase':'Failed','qosClass':'Burstable'}}");
}

/* --- The view --- */

TEST(pod_view_of_the_spec)
{
    _cleanup_(object_unref_p) struct object *o = kind_object(
        KIND_POD,
        POD("'nodeName':'n1','schedulerName':'s','serviceAccountName':'sa','hostNetwork':true,'priority':7,"
            "'terminationGracePeriodSeconds':5,'activeDeadlineSeconds':60,'restartPolicy':'OnFailure',"
            "'nodeSelector':{'z':'1','a':'2'},'schedulingGates':[{'name':'g'},{'name':'h'}],"
            "'readinessGates':[{'conditionType':'r.io/x'}],"
            "'tolerations':[{'key':'k','operator':'Exists','effect':'NoExecute','tolerationSeconds':9},"
            "{'key':'j','value':'v'},{'operator':'Lt','effect':'Odd'}],"
            "'securityContext':{'fsGroup':2000,'runAsUser':10,'fsGroupChangePolicy':'OnRootMismatch',"
            "'seLinuxChangePolicy':'Recursive','supplementalGroups':[1,2],'seLinuxOptions':{'user':'u',"
            "'role':'r','type':'t','level':'s0:c1'}}," ONE));
    const struct pod *p = pod_of(o);

    ASSERT_STR("n1", p->node_name);
    ASSERT_STR("s", p->scheduler_name);
    ASSERT_STR("sa", p->service_account);
    assert_true(p->uses_host_network);
    ASSERT_INT(7, p->priority);
    ASSERT_INT(5, p->grace_seconds);
    ASSERT_INT(60, p->active_deadline_seconds);
    ASSERT_INT(RESTART_ON_FAILURE, p->restart_policy);
    ASSERT_INT(2, p->node_selector.count);
    ASSERT_STR("a", p->node_selector.items[0].key);
    assert_null(p->required_affinity);
    ASSERT_INT(2, p->scheduling_gates_count);
    ASSERT_INT(1, p->readiness_gates.count);
    ASSERT_STR("r.io/x", p->readiness_gates.items[0]);
    ASSERT_INT(3, p->tolerations.count);
    ASSERT_STR("k", p->tolerations.items[0].key);
    ASSERT_INT(TOLERATION_EXISTS, p->tolerations.items[0].op);
    ASSERT_INT(TAINT_NO_EXECUTE, p->tolerations.items[0].effect);
    ASSERT_INT(9, p->tolerations.items[0].seconds);
    ASSERT_STR("v", p->tolerations.items[1].value);
    ASSERT_INT(TOLERATION_EQUAL, p->tolerations.items[1].op);
    ASSERT_INT(-1, p->tolerations.items[1].seconds);
    ASSERT_INT(TAINT_EFFECT_NONE, p->tolerations.items[1].effect);
    ASSERT_INT(TOLERATION_OP_UNKNOWN, p->tolerations.items[2].op);
    ASSERT_INT(TAINT_EFFECT_UNKNOWN, p->tolerations.items[2].effect);
    ASSERT_INT(2000, p->fs_group);
    ASSERT_INT(10, p->run_as_user);
    assert_true(p->fs_group_on_root_mismatch);
    assert_true(p->se_linux_recursive);
    ASSERT_INT(2, p->supplemental_groups_count);
    ASSERT_INT(2, p->supplemental_groups[1]);
    ASSERT_STR("u", p->se_linux->user);
    ASSERT_STR("r", p->se_linux->role);
    ASSERT_STR("t", p->se_linux->type);
    ASSERT_STR("s0:c1", p->se_linux->level);
}

TEST(pod_view_of_nothing)
{
    _cleanup_(object_unref_p) struct object *o = kind_object(KIND_POD, "{'metadata':{'name':'p'}}");
    const struct pod *p = pod_of(o);

    ASSERT_STR("", p->node_name);
    ASSERT_STR("", p->pod_ip);
    ASSERT_STR("", p->reason);
    ASSERT_INT(POD_PHASE_UNSET, p->phase);
    ASSERT_INT(RESTART_UNSET, p->restart_policy);
    ASSERT_INT(-1, p->fs_group);
    ASSERT_INT(-1, p->run_as_user);
    ASSERT_INT(-1, p->active_deadline_seconds);
    ASSERT_INT(30, p->grace_seconds);
    ASSERT_INT(0, p->containers_count);
    ASSERT_INT(0, p->statuses_count);
    ASSERT_INT(0, p->volumes.count);
    assert_null(p->se_linux);
    assert_false(p->se_linux_recursive);
    assert_false(pod_is_terminated(p));
    assert_null(pod_volume(p, "v"));
    assert_true(kind_by_word(STR_LIT("po")) == &pod_kind);
}

TEST(pod_view_of_containers)
{
    _cleanup_(object_unref_p) struct object *o = kind_object(
        KIND_POD,
        POD("'ephemeralContainers':[{'name':'e'}],'containers':[{'name':'c','image':'i',"
            "'resources':{'requests':{'cpu':'1'},'limits':{'cpu':'2','memory':'1Gi'}},"
            "'securityContext':{'privileged':true,'seLinuxOptions':{'level':'s0'}},"
            "'volumeMounts':[{'name':'v','mountPath':'/m','subPath':'s','readOnly':true,"
            "'mountPropagation':'Bidirectional','recursiveReadOnly':'IfPossible'},"
            "{'name':'w','mountPath':'/n','subPathExpr':'$(A)','mountPropagation':'HostToContainer'}],"
            "'volumeDevices':[{'name':'b','devicePath':'/dev/b'}]}],"
            "'initContainers':[{'name':'i'},{'name':'s','restartPolicy':'Always'}]"));
    const struct pod *p = pod_of(o);
    const struct pod_container *c;

    ASSERT_INT(4, p->containers_count);
    ASSERT_STR("i", p->containers[0].name);
    ASSERT_INT(CONTAINER_INIT, p->containers[0].kind);
    assert_false(p->containers[0].is_sidecar);
    assert_true(p->containers[1].is_sidecar);
    c = &p->containers[2];
    ASSERT_STR("c", c->name);
    ASSERT_INT(CONTAINER_REGULAR, c->kind);
    assert_true(c->is_privileged);
    ASSERT_STR("s0", c->se_linux->level);
    ASSERT_INT(1, quantity_value(amounts_get(&c->requests, "cpu")));
    ASSERT_INT(2, quantity_value(amounts_get(&c->limits, "cpu")));
    ASSERT_INT(2, c->mounts_count);
    ASSERT_STR("v", c->mounts[0].volume);
    ASSERT_STR("/m", c->mounts[0].path);
    ASSERT_STR("s", c->mounts[0].sub_path);
    assert_true(c->mounts[0].is_read_only);
    ASSERT_INT(PROPAGATION_BIDIRECTIONAL, c->mounts[0].propagation);
    ASSERT_INT(RECURSIVE_READ_ONLY_IF_POSSIBLE, c->mounts[0].recursive_read_only);
    ASSERT_STR("$(A)", c->mounts[1].sub_path_expr);
    ASSERT_INT(PROPAGATION_HOST_TO_CONTAINER, c->mounts[1].propagation);
    ASSERT_INT(1, c->devices_count);
    ASSERT_STR("b", c->devices[0].volume);
    ASSERT_STR("/dev/b", c->devices[0].path);
    ASSERT_INT(CONTAINER_EPHEMERAL, p->containers[3].kind);
    assert_null(p->containers[3].se_linux);
}

TEST(pod_view_of_the_status)
{
    _cleanup_(object_unref_p) struct object *o = kind_object(
        KIND_POD,
        PODS(ONE, "'phase':'Running','reason':'R','message':'M','hostIP':'h','podIP':'10.0.0.1',"
                  "'nominatedNodeName':'n2','startTime':'2024-05-01T10:00:00Z',"
                  "'conditions':[{'type':'PodScheduled','status':'False','reason':'Unschedulable',"
                  "'message':'none','observedGeneration':4}],"
                  "'initContainerStatuses':[{'name':'i','state':{'terminated':{'exitCode':3,'signal':9,"
                  "'reason':'Error'}}}],"
                  "'containerStatuses':[{'name':'c','ready':true,'started':true,'restartCount':2,"
                  "'state':{'running':{}},'lastState':{'terminated':{'exitCode':1,"
                  "'finishedAt':'2024-05-01T10:00:00Z'}}},"
                  "{'name':'d','state':{'waiting':{'reason':'CrashLoopBackOff'}}}],"
                  "'ephemeralContainerStatuses':[{'name':'e'}]"));
    const struct pod *p = pod_of(o);
    const struct status_condition *scheduled = condition_get(&p->conditions, "PodScheduled");

    ASSERT_INT(POD_RUNNING, p->phase);
    ASSERT_STR("R", p->reason);
    ASSERT_STR("M", p->message);
    ASSERT_STR("h", p->host_ip);
    ASSERT_INT(1714557600, p->started.seconds);
    ASSERT_STR("Unschedulable", scheduled->reason);
    ASSERT_INT(CONDITION_FALSE, scheduled->status);
    ASSERT_INT(4, scheduled->observed_generation);
    ASSERT_INT(4, p->statuses_count);
    ASSERT_INT(CONTAINER_INIT, p->statuses[0].kind);
    ASSERT_INT(CONTAINER_TERMINATED, p->statuses[0].state);
    ASSERT_INT(3, p->statuses[0].exit_code);
    ASSERT_INT(9, p->statuses[0].signal);
    ASSERT_STR("Error", p->statuses[0].reason);
    ASSERT_STR("c", p->statuses[1].name);
    ASSERT_INT(CONTAINER_RUNNING, p->statuses[1].state);
    ASSERT_INT(2, p->statuses[1].restarts);
    assert_true(p->statuses[1].is_ready);
    assert_true(p->statuses[1].is_started);
    ASSERT_INT(1714557600, p->statuses[1].last_finished.seconds);
    ASSERT_INT(CONTAINER_WAITING, p->statuses[2].state);
    ASSERT_STR("CrashLoopBackOff", p->statuses[2].reason);
    assert_false(p->statuses[2].is_ready);
    ASSERT_INT(CONTAINER_EPHEMERAL, p->statuses[3].kind);
    ASSERT_INT(CONTAINER_SILENT, p->statuses[3].state);
}

TEST(pod_fields_to_select_by)
{
    _cleanup_(object_unref_p) struct object *o = kind_object(
        KIND_POD,
        PODS("'nodeName':'n1','restartPolicy':'Never','schedulerName':'s','serviceAccountName':'sa',"
             "'hostNetwork':true",
             "'phase':'Failed','podIP':'1','nominatedNodeName':'n2'"));
    _cleanup_(object_unref_p) struct object *odd = kind_object(KIND_POD, PODS(ONE, "'phase':'Odd'"));

    ASSERT_STR("p", object_field(o, "metadata.name"));
    ASSERT_STR("ns", object_field(o, "metadata.namespace"));
    ASSERT_STR("n1", object_field(o, "spec.nodeName"));
    ASSERT_STR("Never", object_field(o, "spec.restartPolicy"));
    ASSERT_STR("s", object_field(o, "spec.schedulerName"));
    ASSERT_STR("sa", object_field(o, "spec.serviceAccountName"));
    ASSERT_STR("true", object_field(o, "spec.hostNetwork"));
    ASSERT_STR("Failed", object_field(o, "status.phase"));
    ASSERT_STR("1", object_field(o, "status.podIP"));
    ASSERT_STR("n2", object_field(o, "status.nominatedNodeName"));
    assert_null(object_field(o, "spec.priority"));
    ASSERT_STR("false", object_field(odd, "spec.hostNetwork"));
    ASSERT_STR("Unknown", object_field(odd, "status.phase"));
    ASSERT_STR("", object_field(odd, "spec.nodeName"));
}

TEST(pod_terminated_table)
{
#define DELETED "'metadata':{'name':'p','deletionTimestamp':'2024-05-01T10:00:00Z'},"
#define ALIVE "'metadata':{'name':'p'},"
    static const struct {
        const char *text;
        bool terminated;
    } rows[] = {
        { "{" ALIVE "'status':{'phase':'Succeeded'}}", true },
        { "{" ALIVE "'status':{'phase':'Failed'}}", true },
        { "{" ALIVE "'status':{'phase':'Running'}}", false },
        { "{" ALIVE "'status':{'phase':'Running','containerStatuses':[{'state':{'terminated':{}}}]}}",
          false },
        { "{" DELETED "'status':{'phase':'Running'}}", true },
        { "{" DELETED "'status':{'phase':'Running','containerStatuses':[{'state':{'running':{}}}]}}", false },
        { "{" DELETED "'status':{'phase':'Running','containerStatuses':[{'name':'c'}]}}", false },
        { "{" DELETED "'status':{'phase':'Running','containerStatuses':[{'state':{'waiting':{}}},"
          "{'state':{'terminated':{}}}]}}",
          true },
        { "{" DELETED "'status':{'phase':'Running','containerStatuses':[{'state':{'terminated':{}}}],"
          "'initContainerStatuses':[{'state':{'running':{}}}]}}",
          false },
        { "{" DELETED "'status':{'phase':'Running','containerStatuses':[{'state':{'terminated':{}}}],"
          "'ephemeralContainerStatuses':[{'state':{'running':{}}}]}}",
          false },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(object_unref_p) struct object *o = kind_object(KIND_POD, rows[i].text);
        if (pod_is_terminated(pod_of(o)) != rows[i].terminated)
            fail_msg("row %zu", i);
    }
}

/* Decoding into less and less memory: every place that may run out says so, and nothing else happens. */
TEST(pod_view_without_memory)
{
    const char *text = POD(
        "'volumes':[{'name':'a','hostPath':{'path':'/a'}},{'name':'b','emptyDir':{}},{'name':'c','secret':"
        "{'secretName':'s','items':[{'key':'k','path':'p'}]}},{'name':'d','csi':{'driver':'d'}},"
        "{'name':'e','ephemeral':{}},{'name':'f','rbd':{'monitors':['m']}},{'name':'g','projected':"
        "{'sources':[{'downwardAPI':{'items':[{'path':'x'}]}},{'serviceAccountToken':{'path':'t'}}]}}],"
        "'securityContext':{'seLinuxOptions':{'level':'s0'},'supplementalGroups':[1]},"
        "'containers':[{'name':'c','resources':{'limits':{'cpu':'1'}},'volumeMounts':[{'name':'a'}],"
        "'volumeDevices':[{'name':'b'}]}],'tolerations':[{'key':'k'}],'readinessGates':[{}]");
    _cleanup_(json_done_p) struct json d;
    json_ref v;
    size_t room = 0;
    int r;

    json_init(&d, 1 << 20);
    ASSERT_OK(kind_read(KIND_POD, text, &d, &v, NULL));
    do {
        struct pod p = { .obj = { .name = "p" } };
        struct arena a = ARENA_INIT(room);
        struct decoder x = { .d = &d, .arena = &a, .err = &err };
        pod_kind.decode(&x, v, &p.obj);
        r = x.r;
        if (r < 0)
            ASSERT_INT(-ERR_TOO_LARGE, r);
        arena_done(&a);
        room += 8;
    } while (r < 0 && room < 1 << 16);
    ASSERT_OK(r);
    assert_true(room > 512);
}

TEST_MAIN()
