/* What follows from a pod: which volumes are wanted, and what is said of those that cannot be; and what the
 * node wants to hear before it believes that a volume is attached. */
#include "tests/unit/test_node.h"

#define V_MOUNT "'volumeMounts':[{'name':'v','mountPath':'/v'}]"
#define A_B_MOUNTS "'volumeMounts':[{'name':'a','mountPath':'/a'},{'name':'b','mountPath':'/b'}]"
#define OF(name, claim) "{'name':'" name "','persistentVolumeClaim':{'claimName':'" claim "'}}"
#define UNABLE                                                                                    \
    "Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], failed to " \
    "process volumes=[v]: "

static const char *complaint_of(const char *volume)
{
    return bench_complaint(volume);
}

/* --- Claims --- */

/* Section 3: what the server does not have, or does not say. */
TEST(claims_and_volumes_that_cannot_be_had)
{
    bench_open();
    put_disk_pod("p", "none", NULL);
    put_disk("d", "1Gi", "");
    ASSERT_SENT(&bench.w.served, 200, "MERGE", VOLUMES "/d", "{'metadata':{'finalizers':null}}");
    ASSERT_SENT(&bench.w.served, 200, "DELETE", VOLUMES "/d", NULL);
    put_disk_pod("q", "d", NULL);
    pass(0);
    ASSERT_EVENT(&bench.w, "Warning", "FailedMount",
                 UNABLE "error processing PVC default/none: failed to fetch PVC from API server: "
                        "persistentvolumeclaims \"none\" not found");
    ASSERT_EVENT(&bench.w, "Warning", "FailedMount",
                 UNABLE "error processing PVC default/d: failed to fetch PV d from API server: "
                        "persistentvolumes \"d\" not found");
    ASSERT_CALLS("");
    bench_close();
}

/* Section 3: a claim on its way out, which nothing protects, is not for new pods; one that is protected is.
 */
TEST(claims_that_are_being_deleted)
{
    for (unsigned row = 0; row < 2; row++) {
        bench_open();
        put_disk("d", "1Gi", "");
        ASSERT_SENT(&bench.w.served, 200, "MERGE", CLAIMS "/d",
                    row == 0 ? "{'metadata':{'finalizers':['example.com/hold']}}"
                             : "{'metadata':{'finalizers':['kubernetes.io/pvc-protection']}}");
        ASSERT_SENT(&bench.w.served, 200, "DELETE", CLAIMS "/d", NULL);
        put_disk_pod("p", "d", NULL);
        pass(0);
        if (row == 0)
            ASSERT_EVENT(&bench.w, "Warning", "FailedMount",
                         UNABLE "error processing PVC default/d: PVC is being deleted");
        ASSERT_CALLS(row == 0 ? "" : "set-up d p\n");
        bench_close();
    }
}

/* Section 3: the claim of an ephemeral volume has to be the pod's own. */
TEST(ephemeral_claim_of_another_is_refused)
{
    bench_open();
    put_disk("p-v", "1Gi", "");
    put_pod("p",
            "{'name':'v','ephemeral':{'volumeClaimTemplate':{'spec':{'accessModes':['ReadWriteOnce'],"
            "'resources':{'requests':{'storage':'1Gi'}}}}}}",
            V_MOUNT, NULL);
    pass(0);
    ASSERT_EVENT(&bench.w, "Warning", "FailedMount",
                 UNABLE "PVC default/p-v was not created for pod default/p (pod is not owner)");
    ASSERT_CALLS("");
    bench_close();
}

/* A volume that nobody here knows how to bring. */
TEST(volume_without_a_plugin_says_so)
{
    bench_open();
    put_pod("p", "{'name':'v','flexVolume':{'driver':'example.com/unknown'}}", V_MOUNT, NULL);
    pass(0);
    ASSERT_EVENT(&bench.w, "Warning", "FailedMount",
                 UNABLE "failed to get Plugin from volumeSpec for volume \"v\" err=no volume plugin matched");
    bench_close();
}

/* Section 3: the other volumes of the pod come; its errors are told together, and gone once it has all. */
TEST(failure_of_one_volume_does_not_stop_the_others)
{
    char uid[64];

    bench_open();
    put_disk("b", "1Gi", "");
    put_pod("p", OF("a", "none") "," OF("b", "b"), A_B_MOUNTS, uid);
    pass(2);
    ASSERT_CALLS("set-up b p\n");
    ASSERT_INT(1, agent_pod(bench_agent(), uid)->errors_count);
    put_disk("none", "1Gi", "");
    pass(12);
    ASSERT_CALLS("set-up none p\n");
    ASSERT_INT(0, agent_pod(bench_agent(), uid)->errors_count);
    ASSERT_THERE(&bench.w, "True", PODS "/p", "status/conditions/0/status");
    bench_close();
}

/* Section 3: different ones, and not more than eleven. */
TEST(errors_of_a_pod_are_few_and_different)
{
    char volumes[4096] = "", mounts[4096] = "'volumeMounts':[", uid[64];

    bench_open();
    for (unsigned i = 0; i < 14; i++) {
        size_t v = strlen(volumes), m = strlen(mounts);

        (void)snprintf(volumes + v, sizeof volumes - v,
                       "%s{'name':'v%u','persistentVolumeClaim':{'claimName':'c%u'}}", i ? "," : "", i,
                       i == 1 ? 0 : i);
        (void)snprintf(mounts + m, sizeof mounts - m, "%s{'name':'v%u','mountPath':'/%u'}", i ? "," : "", i,
                       i);
    }
    (void)snprintf(mounts + strlen(mounts), sizeof mounts - strlen(mounts), "]");
    put_pod("p", volumes, mounts, uid);
    pass(0);
    ASSERT_INT(11, agent_pod(bench_agent(), uid)->errors_count);
    assert_non_null(
        strstr(agent_pod(bench_agent(), uid)->errors[1], "default/c2")); /* v1 has the same to say as v0 */
    bench_close();
}

/* What is mounted stays while its claim cannot be read; a restart does not change that. */
TEST(mounted_volume_survives_the_loss_of_its_claim)
{
    char uid[64];

    bench_open();
    put_disk("d", "1Gi", "");
    put_disk_pod("p", "d", uid);
    pass(2);
    ASSERT_CALLS("set-up d p\n");
    ASSERT_SENT(&bench.w.served, 200, "MERGE", CLAIMS "/d", "{'metadata':{'finalizers':null}}");
    ASSERT_SENT(&bench.w.served, 200, "DELETE", CLAIMS "/d", NULL);
    pass(130);
    ASSERT_CALLS("");
    bench_restart();
    pass(130);
    ASSERT_CALLS("reconstruct d\n");
    ASSERT_INT(MOUNT_UNCERTAIN, bench_mount("d", uid)->state);
    ASSERT_SENT(&bench.w.served, 200, "DELETE", PODS "/p", NULL);
    pass(5);
    ASSERT_CALLS("tear-down d\n");
    ASSERT_GONE(&bench.w, PODS "/p");
    bench_close();
}

/* Volumes of init containers are volumes that a container uses. */
TEST(volumes_of_init_containers_are_brought)
{
    bench_open();
    put_disk("d", "1Gi", "");
    ASSERT_SENT(&bench.w.served, 201, "POST", PODS,
                "{'metadata':{'name':'p'},'spec':{'nodeName':'" NODE
                "','initContainers':[{'name':'i','image':'i'," V_MOUNT
                "}],'containers':[{'name':'c','image':'i'}],'volumes':[" OF("v", "d") "]}}");
    pass(2);
    ASSERT_CALLS("set-up d p\n");
    bench_close();
}

/* A pod without volumes is ready at once, and costs no requests about claims. */
TEST(pod_without_volumes_is_ready)
{
    bench_open();
    buf_clear(&bench.w.log);
    put_pod("p", "", "", NULL);
    pass(1);
    ASSERT_THERE(&bench.w, "True", PODS "/p", "status/conditions/0/status");
    assert_null(strstr(buf_cstr(&bench.w.log), "persistentvolume"));
    ASSERT_SENT(&bench.w.served, 200, "DELETE", PODS "/p", NULL);
    pass(2);
    ASSERT_GONE(&bench.w, PODS "/p");
    bench_close();
}

/* --- Attachments --- */

/* Section 5, 2a: the cached Node is not believed alone. */
TEST(attachment_is_verified_with_the_server)
{
    char uid[64];

    disk.is_attachable = true;
    bench_open();
    put_disk("d", "1Gi", "");
    put_disk_pod("p", "d", uid);
    pass(5);
    bench.w.refused = "GET " NODE_PATH;
    report_attached("d");
    pass(1);
    ASSERT_STR("VerifyControllerAttachedVolume failed fetching node from API server: connection reset",
               complaint_of(DISK "/d"));
    ASSERT_CALLS("");
    bench.w.refused = NULL;
    bench.w.is_blind_to[KIND_NODE] = true; /* the detachment is not heard of */
    ASSERT_SENT(&bench.w.served, 200, "MERGE", NODE_PATH "/status", "{'status':{'volumesAttached':null}}");
    pass(5);
    ASSERT_STR("Volume not attached according to node status", complaint_of(DISK "/d"));
    ASSERT_CALLS("");
    report_attached("d");
    pass(60);
    ASSERT_CALLS("wait d\nset-up d p\n");
    bench_close();
}

/* Section 6.1, step 6. */
TEST(device_that_does_not_come_is_told)
{
    char uid[64];

    disk.is_attachable = true;
    bench_open();
    put_disk("d", "1Gi", "");
    report_attached("d");
    disk_fails("wait", 1, ERR_IO, "no such device");
    put_disk_pod("p", "d", uid);
    pass(1);
    ASSERT_EVENT(&bench.w, "Warning", "FailedMount",
                 "MountVolume.WaitForAttach failed for volume \"d\" : no such device");
    pass(2);
    ASSERT_INT(MOUNT_DONE, bench_mount("d", uid)->state);
    bench_close();
}

TEST_MAIN()
