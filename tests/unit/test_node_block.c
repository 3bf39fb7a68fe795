/* Devices that are real: raw block volumes from a pod to its link, bind and lock and back, and file systems
 * on devices that somebody else holds on to. */
#include "tests/unit/test_node.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#define MIB ((off_t)1 << 20)
#define LOCAL "kubernetes.io/local-volume"
#define V_DEVICE "'volumeDevices':[{'name':'v','devicePath':'/dev/x'}]"

/* --- The stage --- */

/* A bench with a loop device of 16 MiB: "/dev/loop3". */
static void open_with_device(char device[32])
{
    skip_without_private_mounts();
    bench_open();
    loop_device_new(bench.d, "disk.img", 16 * MIB, device);
}

static void put_local(const char *name, const char *path, const char *mode, const char *zone)
{
    char body[2048], target[256], uid[64];

    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'%s'},'spec':{'accessModes':['ReadWriteOnce'],'storageClassName':'',"
                   "'volumeMode':'%s','volumeName':'%s','resources':{'requests':{'storage':'16Mi'}}}}",
                   name, mode, name);
    ASSERT_SENT(&bench.w.served, 201, "POST", CLAIMS, body);
    (void)snprintf(uid, sizeof uid, "%s", got(&bench.w.served, "metadata/uid"));
    (void)snprintf(target, sizeof target, CLAIMS "/%s/status", name);
    ASSERT_SENT(&bench.w.served, 200, "MERGE", target,
                "{'status':{'phase':'Bound','capacity':{'storage':'16Mi'}}}");
    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'%s'},'spec':{'capacity':{'storage':'16Mi'},'volumeMode':'%s',"
                   "'accessModes':['ReadWriteOnce'],'local':{'path':'%s'},'nodeAffinity':{'required':{"
                   "'nodeSelectorTerms':[{'matchExpressions':[{'key':'kubernetes.io/os','operator':'In',"
                   "'values':['%s']}]}]}},'claimRef':{'namespace':'default','name':'%s','uid':'%s'}}}",
                   name, mode, path, zone, name, uid);
    ASSERT_SENT(&bench.w.served, 201, "POST", VOLUMES, body);
}

/* A pod with one claim, as a device. */
static void put_device_pod(const char *name, const char *claim, bool is_read_only, char *ret_uid)
{
    char volumes[512];

    (void)snprintf(volumes, sizeof volumes,
                   "{'name':'v','persistentVolumeClaim':{'claimName':'%s','readOnly':%s}}", claim,
                   is_read_only ? "true" : "false");
    put_pod(name, volumes, V_DEVICE, ret_uid);
}

static void delete_pod(const char *name)
{
    char path[256];

    (void)snprintf(path, sizeof path, PODS "/%s", name);
    ASSERT_SENT(&bench.w.served, 200, "DELETE", path, NULL);
}

/* "ROOT/…" in one of a few buffers that are used in turn. */
__attribute__((format(printf, 1, 2))) static const char *at_root(const char *format, ...)
{
    static char paths[4][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 4];
    int len = snprintf(path, PATH_MAX, "%s/", bench.root);
    va_list args;

    va_start(args, format);
    (void)vsnprintf(path + len, PATH_MAX - (size_t)len, format, args);
    va_end(args);
    return path;
}

static const char *global_dir(const char *volume)
{
    return at_root("plugins/kubernetes.io~local-volume/volumeDevices/%s", volume);
}

static const char *pod_link(const char *uid, const char *volume)
{
    return at_root("pods/%s/volumeDevices/kubernetes.io~local-volume/%s", uid, volume);
}

static bool is_there(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

/* Bind, link and lock. */
static void assert_mapped(const char *volume, const char *uid, const char *device)
{
    char file[PATH_MAX], to[PATH_MAX] = "";
    struct stat st, real;

    (void)snprintf(file, sizeof file, "%s/%s", global_dir(volume), uid);
    ASSERT_INT(0, stat(file, &st));
    ASSERT_INT(0, stat(device, &real));
    assert_true(S_ISBLK(st.st_mode) && st.st_rdev == real.st_rdev);
    assert_true(readlink(pod_link(uid, volume), to, sizeof to - 1) > 0);
    ASSERT_STR(device, to);
    ASSERT_INT(1, loops_below(file, /* detach= */ false));
}

static void assert_nothing_is_left(const char *volume)
{
    char name[512];

    assert_false(is_there(global_dir(volume)));
    ASSERT_INT(0, mounts_in(bench.root));
    ASSERT_INT(0, loops_below(bench.root, /* detach= */ false));
    (void)snprintf(name, sizeof name, LOCAL "/%s", volume);
    assert_null(node_world_find_volume(&bench_agent()->world, name));
}

static void assert_complaint(const char *volume, const char *words)
{
    const char *said;
    char name[512];

    (void)snprintf(name, sizeof name, LOCAL "/%s", volume);
    said = bench_complaint(name);
    assert_non_null(said);
    ASSERT_STR(words, said);
}

static struct node_volume *local_volume(const char *volume)
{
    char name[512];

    (void)snprintf(name, sizeof name, LOCAL "/%s", volume);
    return node_world_find_volume(&bench_agent()->world, name);
}

/* The state file has the words. */
static void assert_state(const char *uid, const char *words)
{
    char text[16384] = "";
    FILE *f = fopen(at_root("pods/%s/berth.json", uid), "re");

    assert_non_null(f);
    assert_true(fread(text, 1, sizeof text - 1, f) > 0);
    (void)fclose(f);
    if (!strstr(text, words))
        fail_msg("no %s in\n%s", words, text);
}

/* --- Mapping --- */

/* node-34, what is the same for all plugins: the bind, the link and the lock, two events; and away again. */
TEST(block_volume_is_mapped_and_unmapped)
{
    char device[32], uid[64], words[PATH_MAX * 2];

    open_with_device(device);
    put_local("b", device, "Block", "linux");
    put_device_pod("p", "b", false, uid);
    pass(2);
    assert_mapped("b", uid, device);
    ASSERT_INT(MOUNT_DONE, local_volume("b")->device);
    ASSERT_STR(device, local_volume("b")->device_path);
    (void)snprintf(words, sizeof words,
                   "MapVolume.MapPodDevice succeeded for volume \"b\" globalMapPath \"%s\"", global_dir("b"));
    ASSERT_EVENT(&bench.w, "Normal", "SuccessfulMountVolume", words);
    ASSERT_GOT(&bench.w.served, "kubelet", "items/0/source/component");
    ASSERT_GOT(&bench.w.served, NODE, "items/0/source/host");
    (void)snprintf(words, sizeof words,
                   "MapVolume.MapPodDevice succeeded for volume \"b\" volumeMapPath \"%s\"",
                   at_root("pods/%s/volumeDevices/kubernetes.io~local-volume", uid));
    ASSERT_EVENT(&bench.w, "Normal", "SuccessfulMountVolume", words);
    ASSERT_THERE(&bench.w, "True", PODS "/p", "status/conditions/0/status");
    assert_state(uid, "\"permissions\": \"mrw\"");
    assert_state(uid, pod_link(uid, "b"));

    delete_pod("p");
    pass(3);
    assert_nothing_is_left("b");
    assert_false(is_there(at_root("pods/%s", uid)));
    ASSERT_GONE(&bench.w, PODS "/p");
    ASSERT_INT(1, loops_in(bench.d)); /* the device itself is the person's */
    bench_close();
}

/* node-34: whatever of it is gone already is no error. */
TEST(parts_of_a_mapping_that_are_missing_are_no_error)
{
    for (unsigned row = 0; row < 3; row++) {
        char device[32], uid[64];

        open_with_device(device);
        put_local("b", device, "Block", "linux");
        put_device_pod("p", "b", false, uid);
        pass(2);
        assert_mapped("b", uid, device);
        ASSERT_INT(1, loops_below(global_dir("b"), /* detach= */ row == 0 || row == 2));
        if (row > 0)
            ASSERT_INT(0, unlink(pod_link(uid, "b")));
        if (row == 2)
            sh("umount '%s/%s' && rm '%s/%s'", global_dir("b"), uid, global_dir("b"), uid);
        delete_pod("p");
        pass(3);
        assert_nothing_is_left("b");
        ASSERT_GONE(&bench.w, PODS "/p");
        bench_close();
    }
}

/* node-35 */
TEST(block_volume_of_two_pods_is_unmapped_for_one)
{
    char device[32], p[64], q[64];

    open_with_device(device);
    put_local("b", device, "Block", "linux");
    put_device_pod("p", "b", false, p);
    put_device_pod("q", "b", false, q);
    pass(3);
    assert_mapped("b", p, device);
    assert_mapped("b", q, device);
    delete_pod("p");
    pass(3);
    ASSERT_GONE(&bench.w, PODS "/p");
    assert_false(is_there(pod_link(p, "b")));
    assert_mapped("b", q, device);
    ASSERT_INT(1, loops_below(global_dir("b"), /* detach= */ false));
    ASSERT_INT(MOUNT_DONE, local_volume("b")->device);
    delete_pod("q");
    pass(3);
    assert_nothing_is_left("b");
    bench_close();
}

/* node-36 */
TEST(read_only_block_volume_is_said_to_be)
{
    char device[32], uid[64];

    open_with_device(device);
    put_local("b", device, "Block", "linux");
    put_device_pod("p", "b", true, uid);
    pass(2);
    assert_mapped("b", uid, device);
    assert_state(uid, "\"permissions\": \"r\"");
    bench_close();
}

/* --- What goes wrong --- */

/* Section 7: Warnings with the step's name; once there is a device it is mapped. */
TEST(what_cannot_be_mapped_says_why)
{
    char device[32], uid[64], missing[PATH_MAX], words[PATH_MAX * 2];

    open_with_device(device);
    (void)snprintf(missing, sizeof missing, "%s/later", bench.d->path);
    put_local("far", device, "Block", "plan9");
    put_local("late", missing, "Block", "linux");
    put_disk("flex", "16Mi", ",'volumeMode':'Block'");
    put_device_pod("p", "far", false, NULL);
    put_device_pod("q", "late", false, uid);
    put_device_pod("r", "flex", false, NULL);
    pass(0);
    ASSERT_EVENT(&bench.w, "Warning", "FailedMapVolume",
                 "MapVolume.NodeAffinity check failed for volume \"far\" : no matching NodeSelectorTerms");
    ASSERT_EVENT(&bench.w, "Warning", "FailedMapVolume",
                 "MapVolume.FindMapperPluginBySpec failed for volume \"flex\" : no volume plugin matched");
    (void)snprintf(words, sizeof words,
                   "MapVolume.MapBlockVolume failed for volume \"late\" : cannot resolve '%s': No such file "
                   "or directory",
                   missing);
    ASSERT_EVENT(&bench.w, "Warning", "FailedMapVolume", words);
    ASSERT_INT(MOUNT_UNCERTAIN, node_world_find_mount(local_volume("late"), uid)->state);
    ASSERT_INT(0, symlink(device, missing));
    pass(10);
    assert_mapped("late", uid, device); /* without the link of the person */
    delete_pod("p");
    delete_pod("q");
    delete_pod("r");
    pass(5);
    assert_nothing_is_left("late");
    ASSERT_GONE(&bench.w, PODS "/q");
    bench_close();
}

/* One that failed half way is taken away with the pod. */
TEST(mapping_that_failed_half_way_is_undone)
{
    char device[32], uid[64];

    open_with_device(device);
    put_device_pod("p", "b", false, uid);
    sh("mkdir -p '%s/x'", pod_link(uid, "b")); /* where the link should be */
    put_local("b", device, "Block", "linux");
    pass(15);
    ASSERT_INT(MOUNT_UNCERTAIN, node_world_find_mount(local_volume("b"), uid)->state);
    ASSERT_INT(1, mounts_in(global_dir("b")));
    sh("rm -r '%s'", pod_link(uid, "b"));
    delete_pod("p");
    pass(5);
    assert_nothing_is_left("b");
    ASSERT_GONE(&bench.w, PODS "/p");
    bench_close();
}

/* node-21 with devices: it is the other pod's, even while that is uncertain. */
TEST(block_volume_for_one_pod_alone_waits_for_the_other)
{
    char device[32], p[64], q[64];

    open_with_device(device);
    put_local("b", device, "Block", "linux");
    ASSERT_SENT(&bench.w.served, 200, "MERGE", VOLUMES "/b", "{'spec':{'accessModes':['ReadWriteOncePod']}}");
    put_device_pod("p", "b", false, p);
    pass(2);
    put_device_pod("q", "b", false, q);
    pass(0);
    ASSERT_EVENT(&bench.w, "Warning", "FailedMapVolume",
                 "MapVolume.SetUpDevice failed for volume \"b\" : volume uses the ReadWriteOncePod access "
                 "mode and is already in use by another pod");
    assert_false(is_there(pod_link(q, "b")));
    delete_pod("p");
    pass(130);
    assert_mapped("b", q, device);
    bench_close();
}

/* node-25: a device that somebody still has open is not given up. */
TEST(device_that_is_still_open_is_kept)
{
    char device[32], uid[64];
    int fd;

    open_with_device(device);
    put_local("b", device, "Block", "linux");
    put_device_pod("p", "b", false, uid);
    pass(2);
    fd = open(device, O_RDONLY | O_EXCL | O_CLOEXEC);
    assert_true(fd >= 0);
    delete_pod("p");
    pass(3);
    ASSERT_GONE(&bench.w, PODS "/p"); /* of the pod nothing is left */
    ASSERT_INT(MOUNT_UNCERTAIN, local_volume("b")->device);
    assert_complaint("b", "UnmapDevice failed for volume \"b\" : the device is in use when it was no longer "
                          "expected to be in use");
    (void)close(fd);
    pass(130);
    assert_nothing_is_left("b");
    bench_close();
}

/* node-25 with a file system: the same, and the volume stays in use for the node until then. */
TEST(attached_device_that_is_still_open_is_in_use)
{
    char device[32], body[512], uid[64];
    int fd;

    disk.is_attachable = disk.has_device = true;
    open_with_device(device);
    put_disk("d", "1Gi", "");
    put_disk_pod("p", "d", uid);
    (void)snprintf(body, sizeof body,
                   "{'status':{'volumesAttached':[{'name':'" DISK "/d','devicePath':'%s'}]}}", device);
    ASSERT_SENT(&bench.w.served, 200, "MERGE", NODE_PATH "/status", body);
    pass(2);
    ASSERT_INT(MOUNT_DONE, bench_mount("d", uid)->state);
    fd = open(device, O_RDONLY | O_EXCL | O_CLOEXEC);
    assert_true(fd >= 0);
    delete_pod("p");
    pass(3);
    ASSERT_GONE(&bench.w, PODS "/p");
    ASSERT_STR("UnmountDevice failed for volume \"d\" : the device is in use when it was no longer expected "
               "to be in use",
               bench_complaint(DISK "/d"));
    ASSERT_THERE(&bench.w, DISK "/d", NODE_PATH, "status/volumesInUse/0");
    (void)close(fd);
    pass(130);
    ASSERT_THERE(&bench.w, "-", NODE_PATH, "status/volumesInUse/0");
    bench_close();
}

/* node-24: what a person shows elsewhere is not unmounted under them; the pod goes all the same. */
TEST(device_mount_that_others_show_is_kept)
{
    char device[32], uid[64], words[PATH_MAX * 3], global[PATH_MAX], foreign[PATH_MAX];

    open_with_device(device);
    sh("mkfs.ext4 -q %s", device);
    put_local("f", device, "Filesystem", "linux");
    put_disk_pod("p", "f", uid);
    pass(2);
    (void)snprintf(global, sizeof global, "%s", at_root("plugins/" LOCAL "/mounts/f"));
    (void)snprintf(foreign, sizeof foreign, "%s/foreign", bench.d->path);
    ASSERT_INT(1, mounts_in(global));
    ASSERT_INT(1, mounts_in(at_root("pods/%s", uid)));
    sh("mkdir '%s' && mount --bind '%s' '%s'", foreign, global, foreign);
    delete_pod("p");
    pass(3);
    ASSERT_GONE(&bench.w, PODS "/p");
    ASSERT_INT(1, mounts_in(global));
    ASSERT_INT(MOUNT_DONE, local_volume("f")->device); /* nothing was touched */
    (void)snprintf(words, sizeof words,
                   "GetDeviceMountRefs check failed for volume \"f\" : the device mount path \"%s\" is still "
                   "mounted by other references [%s]",
                   global, foreign);
    assert_complaint("f", words);
    sh("umount '%s'", foreign);
    pass(130);
    ASSERT_INT(0, mounts_in(bench.root));
    assert_null(local_volume("f"));
    assert_false(is_there(global));
    bench_close();
}

/* --- Restarts --- */

/* Brings the pod p with the block volume b. */
static void map_one(char device[32], char uid[64])
{
    open_with_device(device);
    put_local("b", device, "Block", "linux");
    put_device_pod("p", "b", false, uid);
    pass(2);
    assert_mapped("b", uid, device);
}

/* The mapping is made again, which changes nothing: the same lock, the same link. */
TEST(block_volume_survives_a_restart)
{
    char device[32], uid[64], file[PATH_MAX], before[PATH_MAX], after[PATH_MAX];

    map_one(device, uid);
    (void)snprintf(file, sizeof file, "%s/%s", global_dir("b"), uid);
    ASSERT_OK(loop_find(file, before, &err));
    bench_restart();
    pass(3);
    assert_mapped("b", uid, device);
    ASSERT_OK(loop_find(file, after, &err));
    ASSERT_STR(before, after);
    ASSERT_INT(1, mounts_in(bench.root));
    ASSERT_INT(MOUNT_DONE, node_world_find_mount(local_volume("b"), uid)->state);
    delete_pod("p");
    pass(3);
    assert_nothing_is_left("b");
    bench_close();
}

/* A pod that goes while the agent is away leaves nothing behind, wherever its mapping had got to. */
TEST(block_volume_of_a_pod_that_went_meanwhile_is_unmapped)
{
    for (unsigned row = 0; row < 2; row++) {
        char device[32], uid[64];

        map_one(device, uid);
        bench_kill();
        ASSERT_SENT(&bench.w.served, 200, "DELETE", PODS "/p", "{'gracePeriodSeconds':0}");
        if (row == 1)
            ASSERT_INT(1, loops_below(global_dir("b"), /* detach= */ true));
        bench_revive();
        pass(3);
        assert_nothing_is_left("b");
        assert_false(is_there(at_root("pods/%s", uid)));
        bench_close();
    }
}

TEST_MAIN()
