/* local volumes: directories, file systems on devices, raw devices. */
#include "tests/unit/test_volume_env.h"

#include <pthread.h>
#include <sys/statvfs.h>

#include "plugins/registry.h"

#define MIB ((off_t)1 << 20)
#define P (&local_plugin)

static struct object *local_volume(const char *path, const char *more)
{
    return plugin_object(KIND_VOLUME, "{'metadata':{'name':'pv'},'spec':{%s'local':{'path':'%s'}}}", more,
                         path);
}

static int set_up(struct volume_bench *b, const struct object *pod, const struct object *v, int64_t group)
{
    struct set_up_request q = volume_bench_request(pod, v);

    q.fs_group = group;
    return P->pods->set_up(P, &b->env, &q, &err);
}

static int tear_down(struct volume_bench *b, int digit)
{
    char uid[64];

    (void)snprintf(uid, sizeof uid, POD_UID "%d", digit);
    return P->pods->tear_down(P, &b->env, "pv", uid, &err);
}

static const char *make_dir(const struct volume_bench *b)
{
    const char *path = in_dir(b->d, "disk");

    assert_int_equal(mkdir(path, 0755), 0);
    put_file(in_dir(b->d, "disk/f"), "data");
    return path;
}

static struct stat stat_of(const char *path)
{
    struct stat st;

    assert_int_equal(lstat(path, &st), 0);
    return st;
}

TEST(local_is_for_persistent_volumes_alone)
{
    _cleanup_(object_unref_p) struct object *v = local_volume("/x", "");
    _cleanup_(object_unref_p) struct object *pod =
        volume_bench_pod(1, "{'name':'v','hostPath':{'path':'/x'}}");
    struct volume_spec pv = { .volume = volume_of(v) },
                       inlined = { .inlined = &pod_of(pod)->volumes.items[0] };
    _cleanup_(buf_done_p) struct buf name = BUF_INIT(100);

    assert_true(P->can_support(P, &pv));
    assert_false(P->can_support(P, &inlined));
    ASSERT_OK(P->volume_name(P, &pv, &name, &err));
    ASSERT_STR("pv", buf_cstr(&name));
    assert_true(plugin_mounts_devices(P, &pv));
    assert_true(P->pods->attributes(P, &pv).is_managed);
    pv.is_read_only = true;
    assert_false(P->pods->attributes(P, &pv).is_managed);
    assert_true(P->pods->attributes(P, &pv).is_read_only);
}

TEST(a_directory_is_bound_and_let_go)
{
    skip_without_private_mounts();
    _cleanup_(volume_bench_free_p) struct volume_bench *b = volume_bench_new();
    _cleanup_(object_unref_p) struct object *pod = volume_bench_pod(1, ""),
                                            *v = local_volume(make_dir(b), "");
    const char *path = volume_bench_path(b, P, 1, "pv");
    struct host_usage usage = { 0 };
    char file[PATH_MAX];

    ASSERT_OK(set_up(b, pod, v, -1));
    assert_true(is_mounted(path));
    (void)snprintf(file, sizeof file, "%s/f", path);
    assert_true(exists(file));
    ASSERT_OK(set_up(b, pod, v, -1)); /* again */
    ASSERT_INT(1, mounts_in(path));
    ASSERT_OK(P->pods->usage(P, &b->env, path, &usage, &err));
    assert_true(usage.capacity > 0);
    ASSERT_OK(tear_down(b, 1));
    assert_false(exists(path));
    assert_true(exists(in_dir(b->d, "disk/f")));
    ASSERT_OK(tear_down(b, 1)); /* again */
    ASSERT_STR("", b->warnings);
}

/* plugins-16 */
TEST(the_first_pods_group_counts)
{
    skip_without_private_mounts();
    _cleanup_(volume_bench_free_p) struct volume_bench *b = volume_bench_new();
    _cleanup_(object_unref_p) struct object *first = volume_bench_pod(1, ""),
                                            *second = volume_bench_pod(2, ""),
                                            *v = local_volume(make_dir(b), "");

    ASSERT_OK(set_up(b, first, v, 1000));
    ASSERT_INT(1000, stat_of(in_dir(b->d, "disk/f")).st_gid);
    ASSERT_INT(1000, stat_of(in_dir(b->d, "disk")).st_gid);
    ASSERT_STR("", b->warnings);
    ASSERT_OK(set_up(b, second, v, 2000));
    assert_true(is_mounted(volume_bench_path(b, P, 2, "pv")));
    ASSERT_STR(
        "AlreadyMountedVolume: The requested fsGroup is 2000, but the volume pv has GID 1000. The volume "
        "may not be shareable.\n",
        b->warnings);
    ASSERT_INT(1000, stat_of(in_dir(b->d, "disk/f")).st_gid);
    b->warnings[0] = '\0';
    ASSERT_OK(tear_down(b, 2));
    ASSERT_OK(set_up(b, second, v, 1000)); /* the same group */
    ASSERT_OK(tear_down(b, 1));
    ASSERT_OK(tear_down(b, 2));
    ASSERT_OK(set_up(b, second, v, 2000)); /* the first, now */
    ASSERT_INT(2000, stat_of(in_dir(b->d, "disk/f")).st_gid);
    ASSERT_STR("", b->warnings);
}

TEST(a_group_is_not_given_read_only_volumes)
{
    skip_without_private_mounts();
    _cleanup_(volume_bench_free_p) struct volume_bench *b = volume_bench_new();
    _cleanup_(object_unref_p) struct object *pod = volume_bench_pod(1, ""),
                                            *v = local_volume(make_dir(b), "");
    struct set_up_request q = volume_bench_request(pod, v);
    struct statvfs st;

    q.spec.is_read_only = true;
    q.fs_group = 1000;
    ASSERT_OK(P->pods->set_up(P, &b->env, &q, &err));
    ASSERT_INT(0, stat_of(in_dir(b->d, "disk/f")).st_gid);
    assert_int_equal(statvfs(volume_bench_path(b, P, 1, "pv"), &st), 0);
    assert_true(st.f_flag & ST_RDONLY);
}

/* Other mounts than pods' are not pods. */
TEST(a_group_is_not_given_what_is_protected)
{
    skip_without_private_mounts();
    _cleanup_(volume_bench_free_p) struct volume_bench *b = volume_bench_new();
    _cleanup_(object_unref_p) struct object *pod = volume_bench_pod(1, ""),
                                            *v = local_volume(make_dir(b), "");
    const char *path = volume_bench_path(b, P, 1, "pv");
    const char *own[] = { in_dir(b->d, "disk"), NULL };
    const struct guard_dirs dirs = { own, NULL };

    b->env.dirs = &dirs;
    ASSERT_ERR(ERR_DENIED, set_up(b, pod, v, 1000));
    assert_non_null(strstr(err.msg, "cannot give the volume to group 1000: "));
    assert_non_null(strstr(err.msg, " is Berth's own directory "));
    ASSERT_INT(0, stat_of(in_dir(b->d, "disk/f")).st_gid);
    assert_false(is_mounted(path));
    ASSERT_OK(set_up(b, pod, v, -1)); /* without a group nothing is changed */
    assert_true(is_mounted(path));
    ASSERT_OK(tear_down(b, 1));
}

/* In mounts of our own, where /srv is a file system of the test's: a mistake costs nothing. */
TEST(a_group_is_not_given_a_system_directory)
{
    skip_without_private_mounts();
    _cleanup_(volume_bench_free_p) struct volume_bench *b = volume_bench_new();
    _cleanup_(object_unref_p) struct object *pod = volume_bench_pod(1, ""), *v = local_volume("/srv", "");
    struct stat st;
    int r;

    assert_int_equal(mount("tmpfs", "/srv", "tmpfs", 0, "size=64k"), 0);
    put_file("/srv/f", "x");
    r = set_up(b, pod, v, 1000);
    st = stat_of("/srv/f");
    assert_int_equal(umount2("/srv", MNT_DETACH), 0);
    ASSERT_INT(-ERR_DENIED, r);
    ASSERT_STR("cannot give the volume to group 1000: '/srv' is the system directory '/srv'", err.msg);
    ASSERT_INT(0, st.st_gid);
    assert_false(is_mounted(volume_bench_path(b, P, 1, "pv")));
}

TEST(an_admins_own_bind_is_no_pod)
{
    skip_without_private_mounts();
    _cleanup_(volume_bench_free_p) struct volume_bench *b = volume_bench_new();
    _cleanup_(object_unref_p) struct object *pod = volume_bench_pod(1, ""),
                                            *v = local_volume(make_dir(b), "");

    assert_int_equal(mkdir(in_dir(b->d, "other"), 0755), 0);
    assert_int_equal(mount(in_dir(b->d, "disk"), in_dir(b->d, "other"), NULL, MS_BIND, NULL), 0);
    ASSERT_OK(set_up(b, pod, v, 1000));
    ASSERT_STR("", b->warnings);
    ASSERT_INT(1000, stat_of(in_dir(b->d, "disk/f")).st_gid);
}

TEST(a_link_to_the_directory_will_do)
{
    skip_without_private_mounts();
    _cleanup_(volume_bench_free_p) struct volume_bench *b = volume_bench_new();
    assert_int_equal(symlink(make_dir(b), in_dir(b->d, "link")), 0);
    _cleanup_(object_unref_p) struct object *pod = volume_bench_pod(1, ""),
                                            *v = local_volume(in_dir(b->d, "link"), "");

    ASSERT_OK(set_up(b, pod, v, 1000));
    ASSERT_INT(1000, stat_of(in_dir(b->d, "disk/f")).st_gid);
    ASSERT_INT(1, mounts_in(volume_bench_path(b, P, 1, "pv")));
}

struct other_worker {
    struct volume_bench *b;
    const struct object *pod, *v;
    int r;
};

static void *other_worker_run(void *ctx)
{
    struct other_worker *w = ctx;
    struct set_up_request q = volume_bench_request(w->pod, w->v);
    struct error ignored;

    q.fs_group = 2000;
    w->r = P->pods->set_up(P, &w->b->env, &q, &ignored);
    return NULL;
}

/* Two pods at once: one group counts, whole, and the other pod's people are told. */
TEST(one_directory_is_set_up_for_one_pod_after_the_other)
{
    skip_without_private_mounts();
    _cleanup_(volume_bench_free_p) struct volume_bench *b = volume_bench_new();
    _cleanup_(object_unref_p) struct object *one = volume_bench_pod(1, ""), *two = volume_bench_pod(2, ""),
                                            *v = local_volume(make_dir(b), "");
    struct other_worker w = { b, two, v, -1 };
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, other_worker_run, &w), 0);
    ASSERT_OK(set_up(b, one, v, 1000));
    assert_int_equal(pthread_join(thread, NULL), 0);
    ASSERT_INT(0, w.r);
    ASSERT_INT(1, mounts_in(volume_bench_path(b, P, 1, "pv")));
    ASSERT_INT(1, mounts_in(volume_bench_path(b, P, 2, "pv")));
    gid_t gid = stat_of(in_dir(b->d, "disk/f")).st_gid;
    assert_true(gid == 1000 || gid == 2000);
    ASSERT_INT(gid, stat_of(in_dir(b->d, "disk")).st_gid);
    assert_non_null(strstr(b->warnings, gid == 1000 ? "fsGroup is 2000" : "fsGroup is 1000"));
}

/* --- Refusals --- */

TEST(paths_that_are_refused)
{
    skip_without_private_mounts();
    _cleanup_(volume_bench_free_p) struct volume_bench *b = volume_bench_new();
    _cleanup_(object_unref_p) struct object *pod = volume_bench_pod(1, "");
    static const struct {
        const char *path, *expected; /* the path: in the directory, unless it is "" */
    } rows[] = {
        { "", "LocalVolume volume \"pv\" path is empty" },
        { "x/../y", "must not contain '..'" },
        { "..", "must not contain '..'" },
        { "file", "only directory and block device are supported" },
        { "fifo", "only directory and block device are supported" },
        { "absent", "does not exist" },
    };

    put_file(in_dir(b->d, "file"), "");
    assert_int_equal(mkfifo(in_dir(b->d, "fifo"), 0600), 0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(object_unref_p) struct object *v =
            local_volume(rows[i].path[0] ? in_dir(b->d, rows[i].path) : "", "");
        assert_true(set_up(b, pod, v, 1000) < 0);
        if (!strstr(err.msg, rows[i].expected))
            fail_msg("%s: %s", rows[i].path, err.msg);
        assert_false(exists(volume_bench_path(b, P, 1, "pv")));
    }
    ASSERT_INT(0, mounts_in(b->d->path));
}

/* A volume of a discovery: the node gives nobody what is below the mount point. */
static struct object *recorded_volume(const char *path, const char *disk, const char *more)
{
    return plugin_object(KIND_VOLUME,
                         "{'metadata':{'name':'pv','annotations':{'volumes.berth.io/disk':'%s'}},"
                         "'spec':{%s'local':{'path':'%s'}}}",
                         disk, more, path);
}

TEST(the_disk_must_be_there)
{
    skip_without_private_mounts();
    _cleanup_(volume_bench_free_p) struct volume_bench *b = volume_bench_new();
    _cleanup_(object_unref_p) struct object *pod = volume_bench_pod(1, ""), *v = NULL;
    const char *path = volume_bench_path(b, P, 1, "pv");

    v = recorded_volume(make_dir(b), "mount:tmpfs:mine", "");
    ASSERT_ERR(ERR_NOT_FOUND, set_up(b, pod, v, 1000));
    assert_non_null(strstr(err.msg, "disk of local volume \"pv\" not found: nothing is mounted at '"));
    assert_false(exists(path));
    ASSERT_INT(0, stat_of(in_dir(b->d, "disk/f")).st_gid); /* nor is it given to the group */
    assert_int_equal(mount("other", in_dir(b->d, "disk"), "tmpfs", 0, NULL), 0);
    ASSERT_ERR(ERR_INVALID, set_up(b, pod, v, -1));
    assert_non_null(strstr(err.msg, "another disk is at '"));
    assert_non_null(strstr(err.msg, "mount:tmpfs:other, and local volume \"pv\" was created for mount:tmpfs:"
                                    "mine"));
    assert_false(exists(path));
    assert_int_equal(umount(in_dir(b->d, "disk")), 0);
    assert_int_equal(mount("mine", in_dir(b->d, "disk"), "tmpfs", 0, NULL), 0);
    ASSERT_OK(set_up(b, pod, v, -1));
    assert_true(is_mounted(path));
    ASSERT_OK(tear_down(b, 1));
}

/* Another device behind the link is neither formatted nor mapped. */
TEST(the_device_must_be_the_same)
{
    skip_without_private_mounts();
    _cleanup_(volume_bench_free_p) struct volume_bench *b = volume_bench_new();
    char device[32], path[PATH_MAX], disk[PATH_MAX], type[DEVICE_FORMAT_BYTES];
    _cleanup_(object_unref_p) struct object *v = NULL, *raw = NULL, *same = NULL;
    struct device_request q = { .device_path = "", .mount_path = path };
    enum format_failure why;

    loop_device_new(b->d, "image", 16 * MIB, device);
    v = recorded_volume(device, "device:loop:/another/image", "");
    raw = recorded_volume(device, "device:loop:/another/image", "'volumeMode':'Block',");
    (void)snprintf(disk, sizeof disk, "device:loop:%s", in_dir(b->d, "image"));
    same = recorded_volume(device, disk, "'volumeMode':'Block',");
    q.spec = (struct volume_spec){ .volume = volume_of(v) };
    ASSERT_OK(P->devices->mount_path(P, &b->env, &q.spec, path, &err));
    ASSERT_ERR(ERR_INVALID, P->devices->mount(P, &b->env, &q, &why, &err));
    ASSERT_OK(device_probe(device, type, &err));
    ASSERT_STR("", type);
    q.spec.volume = volume_of(raw);
    ASSERT_ERR(ERR_INVALID, P->block->map(P, &b->env, &q.spec, "", path, &err));
    q.spec.volume = volume_of(same);
    ASSERT_OK(P->block->map(P, &b->env, &q.spec, "", path, &err));
}

/* plugins-21 */
TEST(the_node_must_fit)
{
    skip_without_private_mounts();
    _cleanup_(volume_bench_free_p) struct volume_bench *b = volume_bench_new();
    _cleanup_(object_unref_p) struct object *pod = volume_bench_pod(1, "");
    _cleanup_(object_unref_p) struct object *v = local_volume(
        make_dir(b), "'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':"
                     "'kubernetes.io/hostname','operator':'In','values':['here']}]}]}},");
    static const char *const names[] = { "there", "here" };
    struct set_up_request q = volume_bench_request(pod, v);

    ASSERT_ERR(ERR_UNAVAILABLE, P->pods->set_up(P, &b->env, &q, &err)); /* not known yet */
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        _cleanup_(object_unref_p) struct object *node = plugin_object(
            KIND_NODE, "{'metadata':{'name':'n','labels':{'kubernetes.io/hostname':'%s'}}}", names[i]);
        q.node = node_of(node);
        int r = P->pods->set_up(P, &b->env, &q, &err);
        ASSERT_INT(i == 0 ? -ERR_UNAVAILABLE : 0, r);
        if (i == 0)
            ASSERT_STR("no matching NodeSelectorTerms", err.msg);
        ASSERT_INT(i, mounts_in(b->d->path));
    }
}

TEST(a_bind_that_fails_leaves_nothing)
{
    skip_without_private_mounts();
    _cleanup_(volume_bench_free_p) struct volume_bench *b = volume_bench_new();
    _cleanup_(object_unref_p) struct object *pod = volume_bench_pod(1, ""),
                                            *v = local_volume(make_dir(b), "'mountOptions':['loop'],");

    b->env.tools.commands_path = b->root; /* where there is no mount command, which "loop" asks for */
    assert_true(set_up(b, pod, v, -1) < 0);
    assert_non_null(strstr(err.msg, "-o bind,remount,loop"));
    assert_false(exists(volume_bench_path(b, P, 1, "pv")));
    ASSERT_INT(0, mounts_in(b->d->path));
}

TEST(a_volumes_options_reach_its_bind)
{
    skip_without_private_mounts();
    _cleanup_(volume_bench_free_p) struct volume_bench *b = volume_bench_new();
    _cleanup_(object_unref_p) struct object *pod = volume_bench_pod(1, ""),
                                            *v = local_volume(make_dir(b),
                                                              "'mountOptions':['noexec','nosuid'],");
    struct statvfs st;

    ASSERT_OK(set_up(b, pod, v, -1));
    assert_int_equal(statvfs(volume_bench_path(b, P, 1, "pv"), &st), 0);
    ASSERT_INT(ST_NOEXEC | ST_NOSUID, st.f_flag & (ST_NOEXEC | ST_NOSUID));
}

/* --- Devices --- */

static int mount_device(struct volume_bench *b, const struct object *v, bool is_read_only,
                        char path[PATH_MAX], enum format_failure *why)
{
    struct device_request q = { .spec = { .volume = volume_of(v), .is_read_only = is_read_only },
                                .device_path = "",
                                .mount_path = path };

    ASSERT_OK(P->devices->mount_path(P, &b->env, &q.spec, path, &err));
    return P->devices->mount(P, &b->env, &q, why, &err);
}

/* plugins-17 */
TEST(a_blank_device_is_formatted_mounted_and_bound)
{
    skip_without_private_mounts();
    _cleanup_(volume_bench_free_p) struct volume_bench *b = volume_bench_new();
    char device[32], path[PATH_MAX], type[DEVICE_FORMAT_BYTES];
    loop_device_new(b->d, "image", 32 * MIB, device);
    _cleanup_(object_unref_p) struct object *pod = volume_bench_pod(1, ""), *v = local_volume(device, "");
    enum format_failure why = FORMAT_FAILED;

    ASSERT_OK(mount_device(b, v, false, path, &why));
    ASSERT_INT(FORMAT_OK, why);
    ASSERT_STR(in_dir(b->d, "root/plugins/kubernetes.io/local-volume/mounts/pv"), path);
    ASSERT_OK(device_probe(device, type, &err));
    ASSERT_STR("ext4", type);
    ASSERT_OK(mount_device(b, v, false, path, &why)); /* again */
    ASSERT_INT(1, mounts_in(path));
    ASSERT_OK(set_up(b, pod, v, 1000));
    const char *pod_path = volume_bench_path(b, P, 1, "pv");
    ASSERT_INT(stat_of(path).st_dev, stat_of(pod_path).st_dev);
    ASSERT_INT(1000, stat_of(pod_path).st_gid);

    _cleanup_(object_unref_p) struct object *found = NULL;
    ASSERT_OK(P->reconstruct(P, &b->env, "pv", POD_UID "1", false, &found, &err));
    ASSERT_STR(device, volume_of(found)->source.local->path);
    ASSERT_STR("pv", found->name);

    ASSERT_OK(tear_down(b, 1));
    ASSERT_OK(P->devices->unmount(P, &b->env, path, &err));
    assert_false(exists(path));
    ASSERT_OK(P->devices->unmount(P, &b->env, path, &err)); /* again */
    ASSERT_OK(device_check_unused(device, &err));
}

/* plugins-18 */
TEST(a_blank_device_to_be_read_is_left_alone)
{
    skip_without_private_mounts();
    _cleanup_(volume_bench_free_p) struct volume_bench *b = volume_bench_new();
    char device[32], path[PATH_MAX], type[DEVICE_FORMAT_BYTES], expected[PATH_MAX];
    loop_device_new(b->d, "image", 32 * MIB, device);
    _cleanup_(object_unref_p) struct object *v = local_volume(device, "");
    enum format_failure why = FORMAT_OK;

    ASSERT_ERR(ERR_INVALID, mount_device(b, v, true, path, &why));
    ASSERT_INT(FORMAT_READ_ONLY, why);
    (void)snprintf(
        expected, sizeof expected,
        "local: failed to mount device %s at %.200s (fstype: ext4), error cannot mount unformatted "
        "disk %s as we are manipulating it in read-only mode",
        device, path, device);
    ASSERT_STR(expected, err.msg);
    assert_false(exists(path));
    ASSERT_OK(device_probe(device, type, &err));
    ASSERT_STR("", type);
}

/* plugins-19 */
TEST(the_users_directory_is_never_unmounted)
{
    skip_without_private_mounts();
    _cleanup_(volume_bench_free_p) struct volume_bench *b = volume_bench_new();
    assert_int_equal(mkdir(in_dir(b->d, "disk"), 0755), 0);
    assert_int_equal(mount("tmpfs", in_dir(b->d, "disk"), "tmpfs", 0, "size=64k"), 0);
    _cleanup_(object_unref_p) struct object *v = local_volume(in_dir(b->d, "disk"), "");
    enum format_failure why;
    char path[PATH_MAX];
    static const char *const others[] = { "root/plugins/kubernetes.io/local-volume/mounts",
                                          "root/plugins/kubernetes.io/local-volume/mountsx/pv" };

    ASSERT_OK(mount_device(b, v, false, path, &why));
    ASSERT_STR(in_dir(b->d, "disk"), path);
    ASSERT_INT(1, mounts_in(b->d->path));
    ASSERT_OK(P->devices->unmount(P, &b->env, path, &err));
    assert_true(is_mounted(path));
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        sh("mkdir -p '%s'", in_dir(b->d, others[i]));
        ASSERT_OK(P->devices->unmount(P, &b->env, in_dir(b->d, others[i]), &err));
        assert_true(exists(in_dir(b->d, others[i])));
    }
    assert_true(P->devices->unmount(P, &b->env, in_dir(b->d, "root/plugins/../x"), &err) < 0);
}

TEST(a_device_with_another_file_system)
{
    skip_without_private_mounts();
    _cleanup_(volume_bench_free_p) struct volume_bench *b = volume_bench_new();
    char device[32], path[PATH_MAX], type[DEVICE_FORMAT_BYTES];
    loop_device_new(b->d, "image", 32 * MIB, device);
    _cleanup_(object_unref_p) struct object *v = plugin_object(
        KIND_VOLUME, "{'metadata':{'name':'pv'},'spec':{'local':{'path':'%s','fsType':'xfs'}}}", device);
    enum format_failure why = FORMAT_OK;

    sh("mkfs.ext4 -q -F %s", device);
    assert_true(mount_device(b, v, false, path, &why) < 0);
    ASSERT_INT(FORMAT_MISMATCH, why);
    assert_non_null(strstr(err.msg, "(fstype: xfs), error mount failed: exit status 32\n"));
    assert_false(exists(path));
    ASSERT_OK(device_probe(device, type, &err));
    ASSERT_STR("ext4", type);
}

/* --- Growing and finding again --- */

TEST(only_file_systems_on_devices_grow)
{
    skip_without_private_mounts();
    _cleanup_(volume_bench_free_p) struct volume_bench *b = volume_bench_new();
    char device[32], path[PATH_MAX];
    loop_device_new(b->d, "image", 128 * MIB, device);
    _cleanup_(object_unref_p) struct object *dir = local_volume(make_dir(b), ""),
                                            *raw = local_volume(device, "'volumeMode':'Block',"),
                                            *fs = plugin_object(KIND_VOLUME,
                                                                "{'metadata':{'name':'pv'},'spec':{'local':{"
                                                                "'path':'%s','fsType':'btrfs'}}}",
                                                                device);
    struct expand_request q = { .spec = { .volume = volume_of(dir) }, .device_path = "", .mount_path = path };
    enum format_failure why;
    struct statvfs before, after;
    bool is_done = false;

    ASSERT_OK(P->expand->expand_on_node(P, &b->env, &q, &is_done, &err));
    assert_true(is_done);
    is_done = false;
    q.spec.volume = volume_of(raw);
    ASSERT_OK(P->expand->expand_on_node(P, &b->env, &q, &is_done, &err));
    assert_true(is_done);
    q.spec.volume = volume_of(fs);
    ASSERT_OK(P->expand->expand_on_node(P, &b->env, &q, &is_done, &err));
    assert_false(is_done); /* blank */
    ASSERT_OK(mount_device(b, fs, false, path, &why));
    assert_int_equal(statvfs(path, &before), 0);
    assert_int_equal(truncate(in_dir(b->d, "image"), 256 * MIB), 0);
    sh("losetup -c %s", device);
    ASSERT_OK(P->expand->expand_on_node(P, &b->env, &q, &is_done, &err));
    assert_true(is_done);
    assert_int_equal(statvfs(path, &after), 0);
    assert_true(after.f_blocks > before.f_blocks);
}

TEST(what_is_found_on_disk)
{
    skip_without_private_mounts();
    _cleanup_(volume_bench_free_p) struct volume_bench *b = volume_bench_new();
    _cleanup_(object_unref_p) struct object *pod = volume_bench_pod(1, ""),
                                            *v = local_volume(make_dir(b), "");
    _cleanup_(object_unref_p) struct object *found = NULL, *raw = NULL, *odd = NULL;

    ASSERT_OK(set_up(b, pod, v, -1));
    ASSERT_OK(P->reconstruct(P, &b->env, "pv", POD_UID "1", false, &found, &err));
    ASSERT_STR("", volume_of(found)->source.local->path); /* a directory's bind tells nothing */
    ASSERT_INT(VOLUME_MODE_FILESYSTEM, volume_of(found)->mode);
    ASSERT_OK(P->reconstruct(P, &b->env, "pv", POD_UID "1", true, &raw, &err));
    ASSERT_INT(VOLUME_MODE_BLOCK, volume_of(raw)->mode);
    ASSERT_OK(P->reconstruct(P, &b->env, "a\"b\\", POD_UID "1", false, &odd, &err));
    ASSERT_STR("a\"b\\", odd->name);
    ASSERT_ERR(ERR_INVALID, P->reconstruct(P, &b->env, "..", POD_UID "1", false, &odd, &err));
}

/* Names that could lead out of the root. */
TEST(names_are_single_components)
{
    static const char *const names[] = { "..", ".", "", "a/b", "../../etc" };
    _cleanup_(volume_bench_free_p) struct volume_bench *b = volume_bench_new();

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        ASSERT_ERR(ERR_INVALID, P->pods->tear_down(P, &b->env, names[i], POD_UID "1", &err));
        ASSERT_ERR(ERR_INVALID, P->pods->tear_down(P, &b->env, "pv", names[i], &err));
    }
}

TEST_MAIN()
