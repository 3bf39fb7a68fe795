/* From a pod to its volumes and back: what is asked of plugins, in which order, and what people are told. */
#include "tests/unit/test_node.h"

#include "node/volume_ops.h"

#define V_MOUNT "'volumeMounts':[{'name':'v','mountPath':'/v'}]"

static unsigned requests_of(const char *text)
{
    unsigned count = 0;

    for (const char *at = buf_cstr(&bench.w.log); (at = strstr(at, text)); at++)
        count++;
    return count;
}

static void assert_mounted(const char *volume, const char *uid)
{
    const struct node_mount *m = bench_mount(volume, uid);

    assert_non_null(m);
    ASSERT_INT(MOUNT_DONE, m->state);
}

/* node-1, node-3: in use is written first, the controller's word is awaited, then the device is mounted and
 * the volume set up. No event says that it went well. */
TEST(attached_volume_is_reported_awaited_and_mounted)
{
    char uid[64];

    disk.is_attachable = disk.has_device = true;
    bench_open();
    put_disk("d", "1Gi", "");
    put_disk_pod("p", "d", uid);
    pass(5);
    ASSERT_THERE(&bench.w, DISK "/d", NODE_PATH, "status/volumesInUse/0");
    ASSERT_CALLS("");
    buf_clear(&bench.w.log);
    pass(120);
    ASSERT_INT(0, operations_pending(bench_agent()->ops)); /* it waits, and asks for nothing meanwhile */
    ASSERT_INT(0, requests_of("GET " NODE_PATH));
    report_attached("d");
    pass(1);
    ASSERT_CALLS("wait d\nmount-device d /dev/test\nset-up d p\n");
    assert_mounted("d", uid);
    ASSERT_THERE(&bench.w, "True", PODS "/p", "status/conditions/0/status");
    ASSERT_INT(0, count_reason("SuccessfulMountVolume"));
    bench_close();
}

/* The last one told, and how many. */
struct told {
    char volume[64];
    char waits_for[128];
    char complaint[512];
    unsigned count;
};

static void on_wait(void *ctx, const struct agent_wait *w)
{
    struct told *t = ctx;

    t->count++;
    (void)snprintf(t->volume, sizeof t->volume, "%s", w->volume);
    (void)snprintf(t->waits_for, sizeof t->waits_for, "%s", w->waits_for);
    (void)snprintf(t->complaint, sizeof t->complaint, "%s", w->op.message);
}

/* node-2: nothing is done before the server has acknowledged that the volume is in use. */
TEST(volume_that_is_not_reported_in_use_waits)
{
    char uid[64];

    disk.is_attachable = disk.has_device = true;
    bench_open();
    put_disk("d", "1Gi", "");
    report_attached("d");
    bench.w.refused = "PATCH " NODE_PATH;
    put_disk_pod("p", "d", uid);
    pass(30);
    ASSERT_CALLS("");
    ASSERT_INT(0, operations_pending(bench_agent()->ops));
    struct told told = { 0 };
    assert_true(agent_each_wait(bench_agent(), uid, on_wait, &told));
    ASSERT_INT(1, told.count);
    ASSERT_STR("the node's status to list it in volumesInUse", told.waits_for);
    assert_false(agent_each_wait(bench_agent(), "nobody", on_wait, &told));
    bench.w.refused = NULL;
    pass(60);
    assert_true(agent_each_wait(bench_agent(), uid, on_wait, &told));
    ASSERT_INT(1, told.count); /* nothing any more */
    ASSERT_CALLS("wait d\nmount-device d /dev/test\nset-up d p\n");
    bench_close();
}

/* node-2: what the Node said of attached volumes does not count any more when volumesInUse was without the
 * volume since it was asked: the controllers may have had it detached. */
TEST(answer_from_before_a_withdrawal_is_not_believed)
{
    struct node_volume *v;
    char uid[64];

    disk.is_attachable = disk.has_device = true;
    bench_open();
    put_disk("d", "1Gi", "");
    put_disk_pod("p", "d", uid);
    pass(5);
    v = bench_mount("d", uid)->volume;
    volume_op_verify(bench_agent(), v);
    assert_false(v->was_withdrawn);
    v->was_withdrawn = true; /* as by a status without it, while the server is being asked */
    parts_rest(&bench.w);
    ASSERT_STR("volumesInUse was without the volume meanwhile", bench_complaint(DISK "/d"));
    report_attached("d");
    pass(60);
    ASSERT_CALLS("wait d\nmount-device d /dev/test\nset-up d p\n");
    bench_close();
}

/* node-4 */
TEST(volume_that_no_container_uses_is_never_mounted)
{
    bench_open();
    put_disk("d", "1Gi", "");
    put_pod("p", "{'name':'v','persistentVolumeClaim':{'claimName':'d'}},{'name':'e','emptyDir':{}}",
            "'volumeMounts':[{'name':'e','mountPath':'/e'}]", NULL);
    pass(2);
    ASSERT_CALLS("");
    ASSERT_THERE(&bench.w, "True", PODS "/p", "status/conditions/0/status");
    bench_close();
}

/* node-5: at once, and not after two minutes. Once it is bound it comes. */
TEST(claim_that_is_not_bound_is_told_at_once)
{
    char uid[64];

    bench_open();
    ASSERT_SENT(&bench.w.served, 201, "POST", CLAIMS,
                "{'metadata':{'name':'d'},'spec':{'accessModes':['ReadWriteOnce'],'storageClassName':'',"
                "'volumeName':'d','resources':{'requests':{'storage':'1Gi'}}}}");
    put_disk_pod("p", "d", uid);
    pass(0);
    ASSERT_EVENT(&bench.w, "Warning", "FailedMount",
                 "Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], failed to "
                 "process volumes=[v]: error processing PVC default/d: PVC is not bound");
    ASSERT_SENT(&bench.w.served, 200, "MERGE", CLAIMS "/d", "{'metadata':{'finalizers':null}}");
    ASSERT_SENT(&bench.w.served, 200, "DELETE", CLAIMS "/d", NULL);
    put_disk("d", "1Gi", "");
    pass(15);
    ASSERT_CALLS("set-up d p\n");
    bench_close();
}

struct refusal {
    const char *claim;  /* MERGE of the claim; "" for none */
    const char *status; /* of its status */
    const char *volume; /* MERGE of the volume */
    const char *words;
};

/* Section 3: what is wrong with a claim or its volume, in words. */
TEST(claims_that_cannot_be_used_say_why)
{
    static const struct refusal rows[] = {
        { "", "{'status':{'phase':'Pending'}}", "", "error processing PVC default/d: PVC is not bound" },
        { "", "{'status':{'phase':'Lost'}}", "", "error processing PVC default/d: PVC is not bound" },
        { "", "", "{'spec':{'claimRef':null}}",
          "error processing PVC default/d: found PV object d but it has a nil pv.Spec.ClaimRef indicating it "
          "is not yet bound to the claim" },
        { "", "", "{'spec':{'claimRef':{'uid':'other'}}}",
          "error processing PVC default/d: found PV object d but its pv.Spec.ClaimRef.UID other does not "
          "point to claim.UID %" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char words[1024], claim[64];
        const char *percent = strchr(rows[i].words, '%');

        bench_open();
        put_disk("d", "1Gi", "");
        ASSERT_SENT(&bench.w.served, 200, "GET", CLAIMS "/d", NULL);
        (void)snprintf(claim, sizeof claim, "%s", got(&bench.w.served, "metadata/uid"));
        if (rows[i].status[0])
            ASSERT_SENT(&bench.w.served, 200, "MERGE", CLAIMS "/d/status", rows[i].status);
        if (rows[i].volume[0])
            ASSERT_SENT(&bench.w.served, 200, "MERGE", VOLUMES "/d", rows[i].volume);
        put_disk_pod("p", "d", NULL);
        pass(0);
        (void)snprintf(words, sizeof words,
                       "Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], "
                       "failed to process volumes=[v]: %.*s%s",
                       percent ? (int)(percent - rows[i].words) : (int)strlen(rows[i].words), rows[i].words,
                       percent ? claim : "");
        ASSERT_EVENT(&bench.w, "Warning", "FailedMount", words);
        ASSERT_CALLS("");
        bench_close();
    }
}

/* node-6, and the other way round. */
TEST(volume_mode_and_use_must_agree)
{
    bench_open();
    put_disk("b", "1Gi", ",'volumeMode':'Block'");
    put_disk("f", "1Gi", "");
    put_disk_pod("p", "b", NULL);
    put_pod("q", "{'name':'v','persistentVolumeClaim':{'claimName':'f'}}",
            "'volumeDevices':[{'name':'v','devicePath':'/dev/x'}]", NULL);
    pass(0);
    ASSERT_EVENT(&bench.w, "Warning", "FailedMount",
                 "Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], failed to "
                 "process volumes=[v]: volume v has volumeMode Block, but is specified in volumeMounts");
    ASSERT_EVENT(
        &bench.w, "Warning", "FailedMount",
        "Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], failed to "
        "process volumes=[v]: volume v has volumeMode Filesystem, but is specified in volumeDevices");
    ASSERT_CALLS("");
    bench_close();
}

/* node-7 */
TEST(claim_under_two_names_is_one_mount)
{
    bench_open();
    put_disk("d", "1Gi", "");
    put_pod("p",
            "{'name':'a','persistentVolumeClaim':{'claimName':'d'}},{'name':'b','persistentVolumeClaim':{"
            "'claimName':'d'}}",
            "'volumeMounts':[{'name':'a','mountPath':'/a'},{'name':'b','mountPath':'/b'}]", NULL);
    pass(2);
    ASSERT_CALLS("set-up d p\n");
    ASSERT_THERE(&bench.w, "True", PODS "/p", "status/conditions/0/status");
    bench_close();
}

/* node-9: a device whose mount may still be going on is unmounted before the volume leaves volumesInUse. */
TEST(uncertain_device_is_unmounted_when_the_pod_goes)
{
    char uid[64];

    disk.is_attachable = disk.has_device = true;
    bench_open();
    put_disk("d", "1Gi", "");
    disk_fails("mount-device", 1000, ERR_UNCERTAIN, "deadline exceeded");
    put_disk_pod("p", "d", uid);
    report_attached("d");
    pass(1);
    ASSERT_INT(MOUNT_UNCERTAIN, bench_mount("d", uid)->volume->device);
    ASSERT_EVENT(&bench.w, "Warning", "FailedMount",
                 "MountVolume.MountDevice failed for volume \"d\" : deadline exceeded");
    buf_clear(&disk.log);
    disk_fails("unmount-device", 1, ERR_IO, "busy");
    ASSERT_SENT(&bench.w.served, 200, "DELETE", PODS "/p", NULL);
    pass(0);
    ASSERT_THERE(&bench.w, DISK "/d", NODE_PATH, "status/volumesInUse/0");
    pass(5);
    ASSERT_CALLS("unmount-device d\nunmount-device d\n");
    pass(1);
    ASSERT_THERE(&bench.w, "-", NODE_PATH, "status/volumesInUse/0");
    ASSERT_GONE(&bench.w, PODS "/p");
    bench_close();
}

/* node-10: a failure that is final leaves nothing, and nothing is unmounted. */
TEST(device_that_failed_for_good_is_not_unmounted)
{
    char uid[64];

    disk.has_device = true;
    bench_open();
    put_disk("d", "1Gi", "");
    disk_fails("mount-device", 1000, ERR_IO, "bad superblock");
    put_disk_pod("p", "d", uid);
    pass(1);
    ASSERT_INT(MOUNT_NONE, bench_mount("d", uid)->volume->device);
    buf_clear(&disk.log);
    ASSERT_SENT(&bench.w.served, 200, "DELETE", PODS "/p", NULL);
    pass(5);
    ASSERT_CALLS("");
    ASSERT_GONE(&bench.w, PODS "/p");
    assert_null(node_world_find_volume(&bench_agent()->world, DISK "/d"));
    bench_close();
}

/* node-11 */
TEST(uncertain_device_that_then_fails_for_good_is_not_mounted)
{
    char uid[64];

    disk.has_device = true;
    bench_open();
    put_disk("d", "1Gi", "");
    disk_fails("mount-device", 1, ERR_UNCERTAIN, "deadline exceeded");
    disk_fails("mount-device", 1000, ERR_IO, "bad superblock");
    put_disk_pod("p", "d", uid);
    pass(3);
    ASSERT_INT(MOUNT_NONE, bench_mount("d", uid)->volume->device);
    bench_close();
}

/* The same for what is set up for the pod, and one that never began. */
TEST(failures_of_setting_up_leave_their_state)
{
    static const struct {
        enum err first, second;
        enum mount_state state;
    } rows[] = {
        { ERR_IO, ERR_IO, MOUNT_NONE },
        { ERR_UNCERTAIN, ERR_IO, MOUNT_NONE },
        { ERR_UNCERTAIN, ERR_UNCERTAIN, MOUNT_UNCERTAIN },
        { ERR_UNAVAILABLE, ERR_UNAVAILABLE, MOUNT_NONE },
        { ERR_UNCERTAIN, ERR_UNAVAILABLE, MOUNT_UNCERTAIN },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char uid[64];

        bench_open();
        put_disk("d", "1Gi", "");
        disk_fails("set-up", 1, rows[i].first, "first");
        disk_fails("set-up", 1000, rows[i].second, "second");
        put_disk_pod("p", "d", uid);
        pass(3);
        ASSERT_INT(rows[i].state, bench_mount("d", uid)->state);
        bench_close();
    }
}

/* node-15: set up again with every look at the pod; a failure is told and the pod keeps what it has. */
TEST(volume_that_shows_something_is_set_up_again)
{
    char uid[64];

    disk.requires_remount = true;
    bench_open();
    put_disk("d", "1Gi", "");
    put_disk_pod("p", "d", uid);
    pass(2);
    ASSERT_CALLS("set-up d p\n");
    pass(70);
    ASSERT_CALLS("set-up d p again\n");
    disk_fails("set-up", 1, ERR_IO, "no token");
    pass(60);
    ASSERT_CALLS("set-up d p again\nset-up d p again\n");
    ASSERT_EVENT(&bench.w, "Warning", "FailedMount", "MountVolume.SetUp failed for volume \"d\" : no token");
    assert_mounted("d", uid);
    bench_close();
}

/* node-21 */
TEST(volume_for_one_pod_alone_waits_for_the_other)
{
    char p[64], q[64];

    bench_open();
    put_disk("d", "1Gi", "");
    ASSERT_SENT(&bench.w.served, 200, "MERGE", VOLUMES "/d", "{'spec':{'accessModes':['ReadWriteOncePod']}}");
    disk_fails("set-up", 1, ERR_UNCERTAIN, "slow");
    disk_fails("set-up", 3, ERR_UNAVAILABLE, "slow");
    disk.has_device = true;
    put_disk_pod("p", "d", p);
    pass(0);
    put_disk_pod("q", "d", q);
    pass(3);
    ASSERT_EVENT(&bench.w, "Warning", "FailedMount",
                 "MountVolume.SetUp failed for volume \"d\" : volume uses the ReadWriteOncePod access mode "
                 "and is already in use by another pod");
    pass(600); /* both have their turns, and share the delays */
    assert_mounted("d", p);
    ASSERT_INT(MOUNT_NONE, bench_mount("d", q)->state);
    ASSERT_SENT(&bench.w.served, 200, "DELETE", PODS "/p", NULL);
    pass(150);
    assert_mounted("d", q);
    bench_close();
}

/* node-22, node-23: parts first, then the pod's, then the device, then the report; a failure is repeated and
 * keeps the pod's directory. */
TEST(volume_is_taken_away_in_order)
{
    char uid[64], dir[PATH_MAX];

    disk.is_attachable = disk.has_device = true;
    bench_open();
    put_disk("d", "1Gi", "");
    put_disk_pod("p", "d", uid);
    report_attached("d");
    pass(2);
    assert_mounted("d", uid);
    buf_clear(&disk.log);
    disk_fails("tear-down", 2, ERR_IO, "busy");
    ASSERT_SENT(&bench.w.served, 200, "DELETE", PODS "/p", NULL);
    pass(0);
    ASSERT_INT(MOUNT_UNCERTAIN, bench_mount("d", uid)->state);
    (void)snprintf(dir, sizeof dir, "%s/pods/%s", bench.root, uid);
    ASSERT_INT(0, access(dir, F_OK));
    ASSERT_THERE(&bench.w, DISK "/d", NODE_PATH, "status/volumesInUse/0");
    pass(5);
    ASSERT_CALLS("tear-down d\ntear-down d\ntear-down d\nunmount-device d\n");
    ASSERT_THERE(&bench.w, "-", NODE_PATH, "status/volumesInUse/0");
    ASSERT_INT(-1, access(dir, F_OK));
    ASSERT_GONE(&bench.w, PODS "/p");
    bench_close();
}

/* Section 6.1: checks before anything is done. */
TEST(what_cannot_be_mounted_says_why)
{
    bench_open();
    put_disk("d", "1Gi",
             ",'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'zone','operator'"
             ":'In','values':['z']}]}]}}");
    put_disk("o", "1Gi", ",'mountOptions':['noatime']");
    char uid[64];
    put_disk_pod("p", "d", uid);
    put_disk_pod("q", "o", NULL);
    pass(1);
    struct told told = { 0 };
    assert_true(agent_each_wait(bench_agent(), uid, on_wait, &told));
    ASSERT_INT(1, told.count);
    assert_true(strstr(told.complaint, "no matching NodeSelectorTerms"));
    ASSERT_EVENT(&bench.w, "Warning", "FailedMount",
                 "MountVolume.NodeAffinity check failed for volume \"d\" : no matching NodeSelectorTerms");
    ASSERT_EVENT(&bench.w, "Warning", "FailedMount",
                 "MountVolume.MountOptionSupport check failed for volume \"o\" : mount options are not "
                 "supported for this volume type");
    ASSERT_CALLS("");
    bench_close();
}

/* Section 21: a device with another file system than asked for is told on the volume. */
TEST(file_system_mismatch_is_told_on_the_volume)
{
    disk.has_device = true;
    bench_open();
    put_disk("d", "1Gi", "");
    disk_fails("mount-device", 1, ERR_INVALID, "xfs, not ext4");
    put_disk_pod("p", "d", NULL);
    pass(0);
    ASSERT_SENT(&bench.w.served, 200, "GET", EVENTS "?fieldSelector=involvedObject.kind=PersistentVolume",
                NULL);
    ASSERT_GOT(&bench.w.served, "FailedMountOnFilesystemMismatch", "items/0/reason");
    ASSERT_GOT(&bench.w.served, "MountVolume failed for volume \"d\" xfs, not ext4", "items/0/message");
    bench_close();
}

/* A node that attaches its volumes itself. */
TEST(node_may_attach_by_itself)
{
    char uid[64];

    disk.is_attachable = true;
    bench.o.attaches_itself = true;
    bench_open();
    put_disk("d", "1Gi", "");
    disk_fails("attach", 1, ERR_IO, "no slot");
    put_disk_pod("p", "d", uid);
    pass(2);
    ASSERT_CALLS("attach d\nattach d\nwait d\nset-up d p\n");
    ASSERT_EVENT(&bench.w, "Warning", "FailedAttachVolume",
                 "AttachVolume.Attach failed for volume \"d\" : no slot");
    ASSERT_EVENT(&bench.w, "Normal", "SuccessfulAttachVolume",
                 "AttachVolume.Attach succeeded for volume \"d\" ");
    ASSERT_SENT(&bench.w.served, 200, "DELETE", PODS "/p", NULL);
    pass(2);
    ASSERT_CALLS("tear-down d\ndetach d\n");
    bench_close();
}

/* Two pods of one volume: one device, and it stays for the second. */
TEST(device_is_shared_by_pods)
{
    char p[64], q[64];

    disk.has_device = true;
    bench_open();
    put_disk("d", "1Gi", "");
    put_disk_pod("p", "d", p);
    pass(1);
    put_disk_pod("q", "d", q);
    pass(1);
    ASSERT_CALLS("mount-device d \nset-up d p\nset-up d q\n");
    ASSERT_SENT(&bench.w.served, 200, "DELETE", PODS "/p", NULL);
    pass(2);
    ASSERT_CALLS("tear-down d\n");
    assert_mounted("d", q);
    ASSERT_SENT(&bench.w.served, 200, "DELETE", PODS "/q", NULL);
    pass(2);
    ASSERT_CALLS("tear-down d\nunmount-device d\n");
    bench_close();
}

TEST_MAIN()
