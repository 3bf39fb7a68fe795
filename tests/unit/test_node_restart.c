/* The agent ends and starts anew, with nothing but the directories and the mount table to know what was. */
#include "tests/unit/test_node.h"

#include <sys/stat.h>

/* A pod with the volume d, mounted, and nothing in the log. */
static void mount_one(char uid[64])
{
    bench_open();
    put_disk("d", "1Gi", "");
    put_disk_pod("p", "d", uid);
    if (disk.is_attachable && !bench.o.attaches_itself)
        report_attached("d");
    pass(2);
    assert_non_null(bench_mount("d", uid));
    ASSERT_INT(MOUNT_DONE, bench_mount("d", uid)->state);
    buf_clear(&disk.log);
}

static void delete_pod_at_once(const char *path)
{
    ASSERT_SENT(&bench.w.served, 200, "DELETE", path, "{'gracePeriodSeconds':0}");
}

/* The agent is away while fn() happens. */
static void restart_after(void (*fn)(void))
{
    bench_kill();
    fn();
    bench_revive();
}

static void nothing(void)
{
}

/* node-26: set up again, taken away never. */
TEST(running_pod_survives_a_restart)
{
    char uid[64];

    disk.has_device = true;
    mount_one(uid);
    restart_after(nothing);
    ASSERT_CALLS("reconstruct d\nreconstruct d\nmount-device d \nset-up d p\n"); /* pod's and device's */
    ASSERT_INT(MOUNT_DONE, bench_mount("d", uid)->state);
    assert_false(bench_mount("d", uid)->is_found);
    bench_close();
}

static void pod_vanishes(void)
{
    delete_pod_at_once(PODS "/p");
}

/* node-27: after the pods and the node's status are known. */
TEST(pod_that_went_meanwhile_is_cleaned_away)
{
    char uid[64], dir[PATH_MAX];

    disk.has_device = disk.is_attachable = true;
    mount_one(uid);
    restart_after(pod_vanishes);
    ASSERT_CALLS("reconstruct d\nreconstruct d\ntear-down d\nunmount-device d\n");
    (void)snprintf(dir, sizeof dir, "%s/pods/%s", bench.root, uid);
    pass(5);
    ASSERT_INT(-1, access(dir, F_OK));
    ASSERT_THERE(&bench.w, "-", NODE_PATH, "status/volumesInUse/0");
    bench_close();
}

static void server_goes(void)
{
    bench.w.is_down = true;
}

/* node-28: without the server nothing is unmounted, and what was reported as in use stays reported. */
TEST(restart_without_a_server_unmounts_nothing)
{
    char uid[64], dir[PATH_MAX];

    disk.has_device = disk.is_attachable = true;
    mount_one(uid);
    restart_after(server_goes);
    pass(120);
    ASSERT_CALLS("reconstruct d\nreconstruct d\n");
    (void)snprintf(dir, sizeof dir, "%s/pods/%s/volumes/test.io~disk/d", bench.root, uid);
    ASSERT_INT(0, access(dir, F_OK));
    ASSERT_THERE(&bench.w, DISK "/d", NODE_PATH, "status/volumesInUse/0");
    bench.w.is_down = false;
    pass(120);
    ASSERT_CALLS("wait d\nmount-device d /dev/test\nset-up d p\n");
    ASSERT_THERE(&bench.w, DISK "/d", NODE_PATH, "status/volumesInUse/0");
    bench_close();
}

/* node-12: what may be mounted from before is not declared unmounted by a failure now. */
TEST(found_device_stays_uncertain_after_a_final_failure)
{
    char uid[64];

    disk.has_device = true;
    mount_one(uid);
    disk_fails("mount-device", 1000, ERR_IO, "bad superblock");
    restart_after(nothing);
    ASSERT_INT(MOUNT_UNCERTAIN, bench_mount("d", uid)->volume->device);
    buf_clear(&disk.log);
    ASSERT_SENT(&bench.w.served, 200, "DELETE", PODS "/p", NULL);
    pass(5);
    ASSERT_CALLS("tear-down d\nunmount-device d\n");
    bench_close();
}

/* node-29: told to go once, by its plugin's name; whether that helps or not. */
TEST(volume_that_cannot_be_reconstructed_is_told_to_go_once)
{
    char uid[64], dir[PATH_MAX];

    mount_one(uid);
    disk_fails("reconstruct", 1000, ERR_NOT_FOUND, "no data file");
    disk_fails("tear-down", 1, ERR_IO, "busy");
    restart_after(pod_vanishes);
    pass(30);
    ASSERT_CALLS("reconstruct d\ntear-down d\n");
    (void)snprintf(dir, sizeof dir, "%s/pods/%s/volumes/test.io~disk/d", bench.root, uid);
    assert_metric(&bench.w, "\nforce_cleaned_failed_volume_operations_total 1\n");
    assert_metric(&bench.w, "\nforce_cleaned_failed_volume_operation_errors_total 1\n");
    assert_metric(&bench.w, "\nreconstruct_volume_operations_errors_total 1\n");
    bench_close();
}

static char stays_mounted[PATH_MAX];

static void pod_vanishes_and_mount_stays(void)
{
    pod_vanishes();
    sh("mount -t tmpfs t '%s'", stays_mounted);
}

/* A failure is not the end while something is mounted: a minute later it is told to go again. */
TEST(forced_unmount_that_failed_is_tried_again)
{
    char uid[64];

    skip_without_private_mounts();
    mount_one(uid);
    disk_fails("reconstruct", 1000, ERR_INVALID, "damaged");
    disk_fails("tear-down", 1, ERR_IO, "busy");
    (void)snprintf(stays_mounted, sizeof stays_mounted, "%s/pods/%s/volumes/test.io~disk/d", bench.root, uid);
    restart_after(pod_vanishes_and_mount_stays);
    pass(30);
    ASSERT_CALLS("reconstruct d\ntear-down d\n");
    sh("umount '%s'", stays_mounted); /* as a plugin that succeeds does it */
    pass(40);
    ASSERT_CALLS("tear-down d\n");
    assert_metric(&bench.w, "\nforce_cleaned_failed_volume_operations_total 2\n");
    assert_metric(&bench.w, "\nforce_cleaned_failed_volume_operation_errors_total 1\n");
    pass(120);
    ASSERT_CALLS(""); /* nothing is mounted there any more */
    ASSERT_INT(-1, access(stays_mounted, F_OK));
    bench_close();
}

/* The same when the pod still wants it: it is set up as any other. */
TEST(volume_that_cannot_be_reconstructed_but_is_wanted_stays)
{
    char uid[64];

    mount_one(uid);
    disk_fails("reconstruct", 1000, ERR_NOT_FOUND, "no data file");
    restart_after(nothing);
    pass(5);
    ASSERT_CALLS("reconstruct d\nset-up d p\n");
    bench_close();
}

static void pod_ends_with_containers(void)
{
    ASSERT_SENT(&bench.w.served, 200, "MERGE", PODS "/p/status",
                "{'status':{'containerStatuses':[{'name':'c','image':'i','imageID':'','ready':true,"
                "'restartCount':0,'state':{'running':{}}}]}}");
    ASSERT_SENT(&bench.w.served, 200, "DELETE", PODS "/p", NULL);
}

/* node-30: until its containers have stopped. */
TEST(ending_pod_keeps_its_volumes_while_something_runs)
{
    char uid[64];

    mount_one(uid);
    restart_after(pod_ends_with_containers);
    pass(60);
    ASSERT_CALLS("reconstruct d\nset-up d p\n");
    ASSERT_SENT(&bench.w.served, 200, "MERGE", PODS "/p/status",
                "{'status':{'containerStatuses':[{'name':'c','image':'i','imageID':'','ready':false,"
                "'restartCount':0,'state':{'terminated':{'exitCode':0}}}]}}");
    pass(2);
    ASSERT_CALLS("tear-down d\n");
    ASSERT_GONE(&bench.w, PODS "/p");
    bench_close();
}

/* One that could not be reconstructed goes under no pod either; it is told to when its pod is over. */
TEST(ending_pod_keeps_what_cannot_be_reconstructed_while_something_runs)
{
    char uid[64];

    mount_one(uid);
    disk_fails("reconstruct", 1000, ERR_NOT_FOUND, "no data file");
    restart_after(pod_ends_with_containers);
    pass(60);
    ASSERT_CALLS("reconstruct d\n");
    ASSERT_SENT(&bench.w.served, 200, "MERGE", PODS "/p/status",
                "{'status':{'containerStatuses':[{'name':'c','image':'i','imageID':'','ready':false,"
                "'restartCount':0,'state':{'terminated':{'exitCode':0}}}]}}");
    pass(2);
    ASSERT_CALLS("tear-down d\n");
    bench_close();
}

static void pod_is_deleted(void)
{
    ASSERT_SENT(&bench.w.served, 200, "DELETE", PODS "/p", NULL);
}

/* A pod that is over before its first round is does not keep the node from knowing its pods. */
TEST(pod_that_is_over_at_once_is_cleaned_away)
{
    char uid[64];

    mount_one(uid);
    restart_after(pod_is_deleted);
    pass(5);
    ASSERT_CALLS("reconstruct d\ntear-down d\n");
    ASSERT_GONE(&bench.w, PODS "/p");
    assert_null(agent_pod(bench_agent(), uid));
    bench_close();
}

static void attachment_goes(void)
{
    ASSERT_SENT(&bench.w.served, 200, "MERGE", NODE_PATH "/status", "{'status':{'volumesAttached':null}}");
    delete_pod_at_once(PODS "/p");
}

/* node-31: what is not attached is not in use, and its remains are taken away. */
TEST(found_volume_that_is_not_attached_is_not_in_use)
{
    char uid[64];

    disk.has_device = disk.is_attachable = true;
    mount_one(uid);
    disk_fails("tear-down", 3, ERR_IO, "busy");
    restart_after(attachment_goes);
    ASSERT_INT(ATTACH_NO, bench_mount("d", uid)->volume->attach);
    ASSERT_THERE(&bench.w, "-", NODE_PATH, "status/volumesInUse/0");
    pass(30);
    assert_null(bench_mount("d", uid));
    bench_close();
}

static void attachment_alone_goes(void)
{
    ASSERT_SENT(&bench.w.served, 200, "MERGE", NODE_PATH "/status", "{'status':{'volumesAttached':null}}");
}

/* Beyond the stock system: a wanted volume that is not reported as attached is not mounted on an old word. */
TEST(found_volume_waits_for_its_attachment)
{
    char uid[64];

    disk.has_device = disk.is_attachable = true;
    mount_one(uid);
    restart_after(attachment_alone_goes);
    pass(30);
    ASSERT_CALLS("reconstruct d\nreconstruct d\n");
    report_attached("d");
    pass(1);
    ASSERT_CALLS("wait d\nmount-device d /dev/test\nset-up d p\n");
    bench_close();
}

static char lost_pod[PATH_MAX];

/* The pod, and its directory: as when the agent was killed before it made it, or after it removed it. */
static void pod_vanishes_without_a_trace(void)
{
    pod_vanishes();
    ASSERT_INT(0, nftw(lost_pod, test_dir_remove_one, 16, FTW_DEPTH | FTW_PHYS));
}

static void lose_pod(const char *uid)
{
    (void)snprintf(lost_pod, sizeof lost_pod, "%s/pods/%s", bench.root, uid);
    restart_after(pod_vanishes_without_a_trace);
}

/* A device that is mounted and has lost its pods, by its own directory. */
TEST(device_without_a_pod_is_unmounted)
{
    char uid[64];

    disk.has_device = true;
    mount_one(uid);
    lose_pod(uid);
    ASSERT_CALLS("reconstruct d\nunmount-device d\n");
    assert_null(node_world_find_volume(&bench_agent()->world, DISK "/d"));
    bench_close();
}

/* The same without a plugin: nothing is forced, since there is no pod to force it for. */
TEST(device_without_a_plugin_stays)
{
    char path[PATH_MAX];
    struct error e = { 0 };

    bench_open();
    ASSERT_OK(layout_plugin_path(bench.root, "kubernetes.io/gone", "mounts/d", path, &e));
    ASSERT_OK(host_make_path(path, 0755, &e));
    restart_after(nothing);
    pass(5);
    ASSERT_INT(0, access(path, F_OK));
    bench_close();
}

/* What the node attached itself it also detaches, when nothing but its status tells of it. */
TEST(node_detaches_what_it_attached_before)
{
    char uid[64];

    disk.is_attachable = bench.o.attaches_itself = true;
    mount_one(uid);
    ASSERT_THERE(&bench.w, DISK "/d", NODE_PATH, "status/volumesInUse/0");
    lose_pod(uid);
    ASSERT_CALLS("detach d\n");
    pass(2);
    ASSERT_THERE(&bench.w, "-", NODE_PATH, "status/volumesInUse/0");
    bench_close();
}

/* And attaches again what is wanted: whether it still is, and where, is not known. */
TEST(node_attaches_again_what_is_wanted)
{
    char uid[64];

    disk.is_attachable = bench.o.attaches_itself = true;
    mount_one(uid);
    restart_after(nothing);
    ASSERT_CALLS("reconstruct d\nattach d\nwait d\nset-up d p\n");
    ASSERT_INT(MOUNT_DONE, bench_mount("d", uid)->state);
    bench_close();
}

static void pod_ends(void)
{
    ASSERT_SENT(&bench.w.served, 200, "DELETE", PODS "/p", NULL);
}

/* A pod that was deleted while the agent was away, and whose volumes are found, has no round: the others' are
 * known all the same. */
TEST(pod_that_ends_meanwhile_does_not_hold_up_the_others)
{
    char uid[64];

    disk.has_device = true;
    mount_one(uid);
    restart_after(pod_ends);
    assert_true(bench_agent()->has_pods);
    pass(5);
    ASSERT_SENT(&bench.w.served, 404, "GET", PODS "/p", NULL);
    bench_close();
}

/* --- What cannot be reconstructed --- */

static char unknown_path[PATH_MAX];
static const char *last_in_use; /* as JSON */

/* The pod goes, and so does what its volume was: a mount stays, and the status of the agent before. */
static void mount_stays(void)
{
    char body[512];

    if (lost_pod[0])
        pod_vanishes_without_a_trace();
    sh("mkdir -p '%s' && mount -t tmpfs t '%s'", unknown_path, unknown_path);
    (void)snprintf(body, sizeof body, "{'status':{'volumesInUse':%s}}", last_in_use);
    ASSERT_SENT(&bench.w.served, 200, "MERGE", NODE_PATH "/status", body);
}

static void stay_unknown(const char *below_root, const char *in_use)
{
    (void)snprintf(unknown_path, sizeof unknown_path, "%s/%s", bench.root, below_root);
    last_in_use = in_use;
    restart_after(mount_stays);
}

/* The condition's status; "-" without one. */
static const char *unknown_mounts_told(void)
{
    static char status[16];
    char path[64];

    (void)snprintf(status, sizeof status, "-");
    ASSERT_SENT(&bench.w.served, 200, "GET", NODE_PATH, NULL);
    for (unsigned i = 0; i < 8; i++) {
        (void)snprintf(path, sizeof path, "status/conditions/%u/type", i);
        if (strcmp(got(&bench.w.served, path), "volumes.berth.io/unknown-mounts") != 0)
            continue;
        (void)snprintf(path, sizeof path, "status/conditions/%u/status", i);
        (void)snprintf(status, sizeof status, "%s", got(&bench.w.served, path));
    }
    return status;
}

#define IN_USE_AT(i) "status/volumesInUse/" #i

/* The volume of a directory whose data is damaged may be any of its plugin's: all of them stay in use, and no
 * others, until nothing is mounted there any more. */
TEST(unknown_mount_keeps_its_plugins_volumes_in_use)
{
    char uid[64];

    skip_without_private_mounts();
    disk.has_device = disk.is_attachable = true;
    mount_one(uid);
    disk_fails("reconstruct", 1000, ERR_INVALID, "damaged");
    (void)snprintf(lost_pod, sizeof lost_pod, "%s/pods/%s", bench.root, uid);
    stay_unknown("plugins/kubernetes.io/flexvolume/" DISK "/mounts/d",
                 "['" DISK "/d','" DISK "/e','kubernetes.io/other/x']");
    lost_pod[0] = '\0';
    pass(60);
    ASSERT_CALLS("reconstruct d\n");
    ASSERT_THERE(&bench.w, DISK "/d", NODE_PATH, IN_USE_AT(0));
    ASSERT_GOT(&bench.w.served, DISK "/e", IN_USE_AT(1));
    ASSERT_GOT(&bench.w.served, "-", IN_USE_AT(2));
    ASSERT_STR("True", unknown_mounts_told());
    ASSERT_INT(1, count_reason("UnknownMounts"));
    bench_restart(); /* the list outlives the agent that wrote it */
    ASSERT_THERE(&bench.w, DISK "/d", NODE_PATH, IN_USE_AT(0));
    ASSERT_STR("True", unknown_mounts_told());
    sh("umount '%s'", unknown_path);
    pass(2);
    ASSERT_THERE(&bench.w, "-", NODE_PATH, IN_USE_AT(0));
    ASSERT_STR("False", unknown_mounts_told());
    bench_close();
}

/* A plugin that this program does not have, a layout that it does not know, a raw device of a CSI driver. */
TEST(unknown_mounts_are_found_wherever_volumes_are)
{
    static const struct {
        const char *path, *plugin;
    } rows[] = {
        { "plugins/kubernetes.io/gone/mounts/d", "kubernetes.io/gone" },
        { "plugins/kubernetes.io/gone/some/where/else", "kubernetes.io/gone" },
        { "plugins/kubernetes.io/flexvolume/v/gone/mounts/d", "v/gone" },
        { "plugins/kubernetes.io~gone/volumeDevices/d/u", "kubernetes.io/gone" },
        { "plugins/kubernetes.io/csi/test.csi/abc/globalmount", "kubernetes.io/csi" },
        { "plugins/kubernetes.io/csi/volumeDevices/staging/d", "kubernetes.io/csi" },
        { "plugins/kubernetes.io/csi/volumeDevices/publish/d/u", "kubernetes.io/csi" },
        { "pods/u/volumes/kubernetes.io~gone/d", "kubernetes.io/gone" },
        { "pods/u/volume-subpaths/d/c/0", "kubernetes.io/gone" }, /* of whatever plugin */
    };

    skip_without_private_mounts();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char in_use[256];

        bench_open();
        (void)snprintf(in_use, sizeof in_use, "['%s/d']", rows[i].plugin);
        stay_unknown(rows[i].path, in_use);
        pass(10);
        (void)snprintf(in_use, sizeof in_use, "%s/d", rows[i].plugin);
        ASSERT_THERE(&bench.w, in_use, NODE_PATH, IN_USE_AT(0));
        ASSERT_STR("True", unknown_mounts_told());
        sh("umount '%s'", unknown_path);
        pass(2);
        ASSERT_THERE(&bench.w, "-", NODE_PATH, IN_USE_AT(0));
        ASSERT_STR("False", unknown_mounts_told());
        bench_close();
    }
}

/* Drivers and programs have mounts of their own below the root. */
TEST(mounts_that_are_no_volumes_are_not_told)
{
    static const char *const rows[] = { "plugins/test.csi/cache",
                                        "plugins/kubernetes.io/local-volume/mounts",
                                        "pods",
                                        "pods/u",
                                        "pods/u/containers/c",
                                        "elsewhere" };

    skip_without_private_mounts();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bench_open();
        stay_unknown(rows[i], "['kubernetes.io/csi/d']");
        pass(10);
        ASSERT_STR("-", unknown_mounts_told());
        ASSERT_THERE(&bench.w, "-", NODE_PATH, IN_USE_AT(0));
        bench_close();
    }
}

static void pods_cannot_be_read(void)
{
    mount_stays();
    sh("mv '%s/pods' '%s/away' && ln -s away '%s/pods'", bench.root, bench.root, bench.root);
}

/* A scan that fails as a whole makes no volume unused either. */
TEST(directories_that_cannot_be_read_keep_volumes_in_use)
{
    skip_without_private_mounts();
    bench_open();
    (void)snprintf(unknown_path, sizeof unknown_path, "%s/plugins/kubernetes.io/gone/mounts/d", bench.root);
    last_in_use = "['kubernetes.io/gone/d']";
    sh("mkdir -p '%s/pods'", bench.root);
    restart_after(pods_cannot_be_read);
    pass(10);
    ASSERT_THERE(&bench.w, "kubernetes.io/gone/d", NODE_PATH, IN_USE_AT(0));
    bench_close();
}

/* A volume that its pod still wants is set up again, and known from then on. */
TEST(unknown_mount_of_a_wanted_volume_is_known_again)
{
    char uid[64];

    skip_without_private_mounts();
    disk.mounts = disk.is_attachable = true;
    mount_one(uid);
    disk_fails("reconstruct", 1000, ERR_INVALID, "damaged");
    disk_fails("set-up", 1, ERR_IO, "not now");
    restart_after(nothing);
    ASSERT_INT(1, count_reason("UnknownMounts"));
    ASSERT_THERE(&bench.w, DISK "/d", NODE_PATH, IN_USE_AT(0));
    pass(15);
    ASSERT_INT(MOUNT_DONE, bench_mount("d", uid)->state);
    ASSERT_STR("False", unknown_mounts_told());
    ASSERT_THERE(&bench.w, DISK "/d", NODE_PATH, IN_USE_AT(0));
    bench_close();
}

/* Where the node attaches, it also detaches nothing that may be mounted. */
TEST(node_does_not_detach_what_may_be_mounted)
{
    skip_without_private_mounts();
    disk.is_attachable = bench.o.attaches_itself = true;
    bench_open();
    disk_fails("reconstruct", 1000, ERR_INVALID, "damaged");
    stay_unknown("plugins/kubernetes.io/flexvolume/" DISK "/mounts/d", "['" DISK "/d']");
    pass(60);
    ASSERT_CALLS("reconstruct d\n");
    ASSERT_THERE(&bench.w, DISK "/d", NODE_PATH, IN_USE_AT(0));
    sh("umount '%s'", unknown_path);
    pass(2);
    ASSERT_CALLS("detach d\n");
    ASSERT_THERE(&bench.w, "-", NODE_PATH, IN_USE_AT(0));
    bench_close();
}

TEST_MAIN()
