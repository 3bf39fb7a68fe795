/* Mounts that somebody takes away while the agent runs: noticed by the mount table, mounted again, and until
 * then the pod is not ready. */
#include "tests/unit/test_node.h"

#include "node/pod_report.h"

#define V_MOUNT "'volumeMounts':[{'name':'v','mountPath':'/v'}]"
#define PART_MOUNT "'volumeMounts':[{'name':'v','mountPath':'/v','subPath':'part'}]"

static const char *pod_file(const char *uid, const char *name)
{
    static char paths[4][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 4];

    (void)snprintf(path, PATH_MAX, "%s/pods/%s/%s", bench.root, uid, name);
    return path;
}

static bool is_mount(const char *path)
{
    enum host_path_state state;

    ASSERT_OK(host_path_state(path, &state, &err));
    return state == HOST_PATH_MOUNTED;
}

static bool file_says_ready(const char *uid)
{
    char line[64] = "no line";
    FILE *f = fopen(pod_file(uid, "berth.json"), "re");

    assert_non_null(f);
    while (fgets(line, sizeof line, f) && !strstr(line, "\"ready\""))
        ;
    (void)fclose(f);
    return strstr(line, "\"ready\": true");
}

/* "True" or "False REASON", in the condition; and the state file says the same. */
static const char *readiness(const char *uid)
{
    static char text[128];
    bool is_ready = file_says_ready(uid);

    ASSERT_SENT(&bench.w.served, 200, "GET", PODS "/p", NULL);
    (void)snprintf(text, sizeof text, "%s", got(&bench.w.served, "status/conditions/0/status"));
    assert_int_equal(is_ready, strcmp(text, "True") == 0);
    if (!is_ready)
        (void)snprintf(text, sizeof text, "False %s", got(&bench.w.served, "status/conditions/0/reason"));
    return text;
}

/* How often the pod's condition was written since the log was cleared. */
static unsigned tellings(void)
{
    unsigned found = 0;

    for (const char *at = buf_cstr(&bench.w.log); (at = strstr(at, "PATCH " PODS "/p/status")); at++)
        found++;
    buf_clear(&bench.w.log);
    return found;
}

/* A pod with the volume d, really mounted, ready. */
static void mount_one(bool has_device, const char *mounts, char uid[64])
{
    disk.mounts = true;
    disk.has_device = has_device;
    bench_open();
    put_disk("d", "1Gi", "");
    put_pod("p", "{'name':'v','persistentVolumeClaim':{'claimName':'d'}}", mounts, uid);
    pass(3);
    ASSERT_STR("True", readiness(uid));
    buf_clear(&disk.log);
    buf_clear(&bench.w.log);
}

#define WAITING "False WaitingForVolumes"

/* Not ready while it is away, also when bringing it fails at first; then ready again. */
TEST(lost_mount_is_mounted_again)
{
    char uid[64];

    skip_without_private_mounts();
    mount_one(false, V_MOUNT, uid);
    disk_fails("set-up", 2, ERR_IO, "not now");
    sh("umount '%s'", pod_file(uid, "volumes/test.io~disk/d"));
    pass(0);
    ASSERT_STR(WAITING, readiness(uid));
    ASSERT_INT(MOUNT_UNCERTAIN, bench_mount("d", uid)->state);
    pass(10);
    ASSERT_CALLS("set-up d p\nset-up d p\nset-up d p\n");
    ASSERT_STR("True", readiness(uid));
    ASSERT_INT(2, tellings());
    assert_true(is_mount(pod_file(uid, "volumes/test.io~disk/d")));
    ASSERT_INT(1, count_reason("MountLost"));
    pass(30);
    ASSERT_CALLS(""); /* once */
    bench_close();
}

/* The same, so quick that nobody need wait: that it was away is told all the same. */
TEST(short_loss_is_told)
{
    char uid[64];

    skip_without_private_mounts();
    mount_one(false, V_MOUNT, uid);
    sh("umount '%s'", pod_file(uid, "volumes/test.io~disk/d"));
    pass(2);
    ASSERT_CALLS("set-up d p\n");
    ASSERT_STR("True", readiness(uid));
    ASSERT_INT(2, tellings());
    bench_close();
}

/* While no agent runs, and the next one cannot mount it: its start has not changed the file. */
TEST(mount_lost_before_a_restart)
{
    char uid[64];

    skip_without_private_mounts();
    mount_one(false, V_MOUNT, uid);
    process_kill(&bench.w);
    sh("umount '%s'", pod_file(uid, "volumes/test.io~disk/d"));
    disk_fails("set-up", 3, ERR_IO, "not now");
    process_start(&bench.w);
    pass(0);
    assert_false(file_says_ready(uid));
    pass(30);
    ASSERT_STR("True", readiness(uid));
    bench_close();
}

/* The global mount of a device, for all pods that have it. */
TEST(lost_device_is_mounted_again)
{
    char uid[64], path[PATH_MAX];

    skip_without_private_mounts();
    mount_one(true, V_MOUNT, uid);
    (void)snprintf(path, sizeof path, "%s/plugins/kubernetes.io/flexvolume/" DISK "/mounts/d", bench.root);
    disk_fails("mount-device", 1, ERR_IO, "not now");
    sh("umount '%s'", path);
    pass(0);
    ASSERT_STR(WAITING, readiness(uid));
    pass(5);
    ASSERT_CALLS("mount-device d \nmount-device d \nset-up d p\n");
    ASSERT_STR("True", readiness(uid));
    assert_true(is_mount(path));
    bench_close();
}

/* A part of a volume: its bind alone is missing, the volume is not touched. */
TEST(lost_part_is_bound_again)
{
    char uid[64], data[PATH_MAX];
    const char *part;

    skip_without_private_mounts();
    mount_one(false, PART_MOUNT, uid);
    part = pod_file(uid, "volume-subpaths/d/c/0");
    (void)snprintf(data, sizeof data, "%s/data", part);
    sh("echo kept > '%s' && umount '%s'", data, part);
    assert_int_equal(access(data, F_OK), -1);
    pass(2);
    ASSERT_STR("True", readiness(uid));
    ASSERT_INT(2, tellings());
    ASSERT_INT(0, access(data, F_OK));
    ASSERT_CALLS("");
    bench_close();
}

/* Parts show what the volume shows: after the volume came back empty they are not the old one's. */
TEST(parts_follow_their_volume)
{
    char uid[64];
    struct stat whole, part;

    skip_without_private_mounts();
    mount_one(false, PART_MOUNT, uid);
    sh("umount '%s'", pod_file(uid, "volumes/test.io~disk/d"));
    pass(2);
    ASSERT_STR("True", readiness(uid));
    ASSERT_INT(0, stat(pod_file(uid, "volumes/test.io~disk/d/part"), &whole));
    ASSERT_INT(0, stat(pod_file(uid, "volume-subpaths/d/c/0"), &part));
    assert_true(whole.st_dev == part.st_dev && whole.st_ino == part.st_ino);
    bench_close();
}

/* One that cannot be brought back stays what it was for the end: something to be torn down. */
TEST(lost_mount_that_stays_away_is_torn_down_in_the_end)
{
    char uid[64];

    skip_without_private_mounts();
    mount_one(false, V_MOUNT, uid);
    disk_fails("set-up", 1000, ERR_IO, "the disk is gone");
    sh("umount '%s'", pod_file(uid, "volumes/test.io~disk/d"));
    pass(5);
    ASSERT_STR(WAITING, readiness(uid));
    buf_clear(&disk.log);
    ASSERT_SENT(&bench.w.served, 200, "DELETE", PODS "/p", NULL);
    pass(5);
    ASSERT_CALLS("tear-down d\n");
    ASSERT_GONE(&bench.w, PODS "/p");
    bench_close();
}

/* A pod that is ending needs nothing brought back. */
TEST(mount_of_an_ending_pod_is_not_mounted_again)
{
    char uid[64];

    skip_without_private_mounts();
    mount_one(false, V_MOUNT, uid);
    disk_fails("tear-down", 1, ERR_BUSY, "not now");
    ASSERT_SENT(&bench.w.served, 200, "DELETE", PODS "/p", NULL);
    pass(0);
    sh("umount '%s'", pod_file(uid, "volumes/test.io~disk/d"));
    pass(5);
    ASSERT_CALLS("tear-down d\ntear-down d\n");
    ASSERT_GONE(&bench.w, PODS "/p");
    ASSERT_INT(0, count_reason("MountLost"));
    bench_close();
}

/* Memory that is a volume, with the real plugin: it comes back empty. */
TEST(lost_memory_is_mounted_again)
{
    char uid[64];
    const char *path;

    skip_without_private_mounts();
    bench_open();
    put_pod("p", "{'name':'v','emptyDir':{'medium':'Memory'}}", V_MOUNT, uid);
    pass(3);
    path = pod_file(uid, "volumes/kubernetes.io~empty-dir/v");
    assert_true(is_mount(path));
    ASSERT_STR("True", readiness(uid));
    sh("umount '%s'", path);
    pass(2);
    assert_true(is_mount(path));
    ASSERT_STR("True", readiness(uid));
    ASSERT_INT(1, count_reason("MountLost"));
    bench_close();
}

/* Our own operations change the table all the time: none of them is taken for somebody else's. */
TEST(own_operations_are_no_losses)
{
    enum { PODS_COUNT = 30 };
    char name[32], path[64];

    skip_without_private_mounts();
    disk.mounts = disk.has_device = disk.requires_remount = true;
    bench_open();
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < PODS_COUNT; i++) {
            (void)snprintf(name, sizeof name, "p%u-%u", round, i);
            put_disk(name, "1Gi", "");
            put_disk_pod(name, name, NULL);
            parts_pass_ns(&bench.w, 20 * NS_PER_MS); /* in the middle of something */
        }
        pass(1);
        for (unsigned i = 0; i < PODS_COUNT; i++) {
            (void)snprintf(path, sizeof path, PODS "/p%u-%u", round, i);
            ASSERT_SENT(&bench.w.served, 200, "DELETE", path, NULL);
            parts_pass_ns(&bench.w, 20 * NS_PER_MS);
        }
    }
    pass(5);
    ASSERT_INT(0, count_reason("MountLost"));
    ASSERT_INT(0, mounts_in(bench.root));
    bench_close();
}

/* What is unmounted while an operation works on it is noticed when that has ended. */
TEST(loss_during_an_operation_is_noticed_afterwards)
{
    char uid[64];
    struct pending_operation *op;
    struct operation_key key;

    skip_without_private_mounts();
    mount_one(false, V_MOUNT, uid);
    key = volume_key(bench_mount("d", uid)->volume, NULL);
    ASSERT_OK(operations_start(bench_agent()->ops, &key, "volume_fs_resize", &op, &err));
    sh("umount '%s'", pod_file(uid, "volumes/test.io~disk/d"));
    pass(5);
    ASSERT_CALLS("");
    operation_end(op, 0, NULL);
    pass(2);
    ASSERT_CALLS("set-up d p\n");
    ASSERT_STR("True", readiness(uid));
    bench_close();
}

/* A driver may give a plain directory: there is nothing that could be lost. */
TEST(plain_directory_is_no_mount)
{
    char uid[64];

    skip_without_private_mounts();
    mount_one(false, V_MOUNT, uid);
    disk.mounts = false;
    put_disk("e", "1Gi", "");
    put_disk_pod("q", "e", uid);
    pass(3);
    sh("mount -t tmpfs t '%s' && umount '%s'", bench.d->path, bench.d->path);
    pass(3);
    ASSERT_INT(0, count_reason("MountLost"));
    bench_close();
}

TEST_MAIN()
