/* Raw block volumes: the bind, the link and the loop device that holds it. */
#include "tests/unit/test_volume_env.h"

#include "host/block_files.h"
#include "plugins/block.h"

#define MIB ((off_t)1 << 20)

struct block_bench {
    struct volume_bench *b;
    struct object *v;
    char device[32];
    struct block_paths paths[2]; /* of two pods */
};

static struct block_bench block_bench_new(void)
{
    struct block_bench k = { .b = volume_bench_new() };

    loop_device_new(k.b->d, "image", 16 * MIB, k.device);
    k.v = plugin_object(KIND_VOLUME,
                        "{'metadata':{'name':'pv'},'spec':{'volumeMode':'Block','local':{'path':'%s/'}}}",
                        k.device);
    ASSERT_OK(block_paths_of(k.b->root, local_plugin.name, "pv", POD_UID "1", &k.paths[0], &err));
    ASSERT_OK(block_paths_of(k.b->root, local_plugin.name, "pv", POD_UID "2", &k.paths[1], &err));
    return k;
}

static void block_bench_done(struct block_bench *k)
{
    k->v = object_unref(k->v);
    k->b = volume_bench_free(k->b);
}

static dev_t device_at(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    assert_true(S_ISBLK(st.st_mode));
    return st.st_rdev;
}

/* plugins-20 */
TEST(a_local_device_is_linked_and_bound)
{
    skip_without_private_mounts();
    _cleanup_(block_bench_done) struct block_bench k = block_bench_new();
    struct volume_spec spec = { .volume = volume_of(k.v) };
    char device[PATH_MAX], loop[PATH_MAX], again[PATH_MAX], file[PATH_MAX], link[PATH_MAX] = "";
    struct host_usage usage = { 0 };

    ASSERT_OK(local_plugin.block->map(&local_plugin, &k.b->env, &spec, "", device, &err));
    ASSERT_STR(k.device, device); /* clean */
    ASSERT_OK(block_map(&k.b->env, device, &k.paths[0], loop, &err));
    ASSERT_STR(in_dir(k.b->d, "root/pods/" POD_UID "1/volumeDevices/kubernetes.io~local-volume/pv"),
               k.paths[0].pod_link);
    ASSERT_STR(in_dir(k.b->d, "root/plugins/kubernetes.io~local-volume/volumeDevices/pv/" POD_UID "1"),
               k.paths[0].global_file);
    assert_true(readlink(k.paths[0].pod_link, link, sizeof link - 1) > 0);
    ASSERT_STR(k.device, link);
    ASSERT_INT(device_at(k.device), device_at(k.paths[0].global_file));
    loop_file_of(strrchr(loop, '/') + 1, file);
    ASSERT_STR(k.paths[0].global_file, file);
    ASSERT_OK(block_map(&k.b->env, device, &k.paths[0], again, &err)); /* again */
    ASSERT_STR(loop, again);
    ASSERT_INT(1, mounts_in(k.b->d->path));
    ASSERT_OK(local_plugin.pods->usage(&local_plugin, &k.b->env, k.paths[0].pod_link, &usage, &err));
    ASSERT_INT(16 * MIB, usage.capacity);
    ASSERT_OK(local_plugin.block->unmap(&local_plugin, &k.b->env, "pv", POD_UID "1", &err));
}

TEST(each_pod_has_a_lock_of_its_own)
{
    skip_without_private_mounts();
    _cleanup_(block_bench_done) struct block_bench k = block_bench_new();
    char first[PATH_MAX], second[PATH_MAX], expected[1024];

    ASSERT_OK(block_map(&k.b->env, k.device, &k.paths[0], first, &err));
    ASSERT_OK(block_map(&k.b->env, k.device, &k.paths[1], second, &err));
    assert_string_not_equal(first, second);
    ASSERT_ERR(ERR_BUSY, block_unmap_device(&k.b->env, k.paths[0].global_dir, &err));
    (void)snprintf(expected, sizeof expected,
                   "the device \"%.300s\" is still referenced from other Pods [" POD_UID "1 " POD_UID "2]",
                   k.paths[0].global_dir);
    ASSERT_STR(expected, err.msg);
    ASSERT_OK(block_unmap(&k.b->env, &k.paths[0], &err));
    ASSERT_INT(device_at(k.device), device_at(k.paths[1].pod_link)); /* the other's stays */
    ASSERT_INT(2, loops_in(k.b->d));                                 /* the disk, and the other's lock */
    assert_false(exists(k.paths[0].pod_link));
    assert_false(exists(k.paths[0].global_file));
    ASSERT_ERR(ERR_BUSY, block_unmap_device(&k.b->env, k.paths[0].global_dir, &err));
    ASSERT_OK(block_unmap(&k.b->env, &k.paths[1], &err));
    ASSERT_OK(block_unmap_device(&k.b->env, k.paths[0].global_dir, &err));
    assert_false(exists(k.paths[0].global_dir));
    ASSERT_INT(1, loops_in(k.b->d));
    ASSERT_INT(0, mounts_in(k.b->d->path));
    ASSERT_OK(block_unmap(&k.b->env, &k.paths[0], &err)); /* all of it again */
    ASSERT_OK(block_unmap_device(&k.b->env, k.paths[0].global_dir, &err));
}

/* After a crash some of it is there. */
TEST(halves_are_finished_and_taken_away)
{
    skip_without_private_mounts();
    _cleanup_(block_bench_done) struct block_bench k = block_bench_new();
    char loop[PATH_MAX];

    for (unsigned done = 0; done < 4; done++) {
        const struct block_paths *p = &k.paths[0];
        if (done >= 1) /* an empty file, not bound yet */
            sh("mkdir -p '%s' && : > '%s'", p->global_dir, p->global_file);
        if (done >= 2)
            ASSERT_OK(block_bind(&k.b->env.tools, k.device, p->global_file, &err));
        if (done >= 3)
            ASSERT_OK(block_link("/dev/another", p->pod_link, &err)); /* of an earlier life */
        if (done % 2 == 0)
            ASSERT_OK(block_map(&k.b->env, k.device, p, loop, &err));
        ASSERT_OK(block_unmap(&k.b->env, p, &err));
        assert_false(exists(p->global_file));
        assert_false(exists(p->pod_link));
        ASSERT_INT(1, loops_in(k.b->d));
        ASSERT_INT(0, mounts_in(k.b->d->path));
    }
}

TEST(a_link_of_an_earlier_device_is_replaced)
{
    skip_without_private_mounts();
    _cleanup_(block_bench_done) struct block_bench k = block_bench_new();
    char loop[PATH_MAX];

    ASSERT_OK(block_link("/dev/another", k.paths[0].pod_link, &err));
    ASSERT_OK(block_map(&k.b->env, k.device, &k.paths[0], loop, &err));
    ASSERT_INT(device_at(k.device), device_at(k.paths[0].pod_link));
}

TEST(what_is_no_device_is_not_mapped)
{
    skip_without_private_mounts();
    _cleanup_(block_bench_done) struct block_bench k = block_bench_new();
    char loop[PATH_MAX];
    static const char *const names[] = { "file", "fifo", "dir" };

    put_file(in_dir(k.b->d, "file"), "");
    assert_int_equal(mkfifo(in_dir(k.b->d, "fifo"), 0600), 0);
    assert_int_equal(mkdir(in_dir(k.b->d, "dir"), 0700), 0);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        ASSERT_ERR(ERR_INVALID, block_map(&k.b->env, in_dir(k.b->d, names[i]), &k.paths[0], loop, &err));
    ASSERT_ERR(ERR_NOT_FOUND, block_map(&k.b->env, in_dir(k.b->d, "absent"), &k.paths[0], loop, &err));
    ASSERT_ERR(ERR_INVALID, block_map(&k.b->env, "", &k.paths[0], loop, &err));
    ASSERT_STR("device path of the volume is empty", err.msg);
    assert_false(exists(k.paths[0].global_file));
    ASSERT_INT(0, mounts_in(k.b->d->path));
}

TEST(only_links_are_replaced_and_removed)
{
    skip_without_private_mounts();
    _cleanup_(block_bench_done) struct block_bench k = block_bench_new();
    char loop[PATH_MAX];

    sh("mkdir -p '%s'", k.paths[0].pod_link);
    ASSERT_ERR(ERR_EXISTS, block_map(&k.b->env, k.device, &k.paths[0], loop, &err));
    ASSERT_ERR(ERR_EXISTS, block_unmap(&k.b->env, &k.paths[0], &err));
    assert_true(exists(k.paths[0].pod_link));
}

TEST(names_that_lead_out_are_refused)
{
    static const char *const names[] = { "", ".", "..", "a/b" };
    struct block_paths p;

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        ASSERT_ERR(ERR_INVALID, block_paths_of("/r", "x/y", names[i], POD_UID "1", &p, &err));
        ASSERT_ERR(ERR_INVALID, block_paths_of("/r", "x/y", "v", names[i], &p, &err));
    }
    ASSERT_ERR(ERR_INVALID, block_paths_of("/r", "..", "v", POD_UID "1", &p, &err));
}

/* After a restart the device is mapped again, under a pod that runs: the link is never away. */
TEST(link_that_is_right_stays)
{
    skip_without_private_mounts();
    _cleanup_(block_bench_done) struct block_bench k = block_bench_new();
    const char *path = k.paths[0].pod_link;
    struct stat before, after;

    ASSERT_OK(block_link("/dev/one", path, &err));
    ASSERT_INT(0, lstat(path, &before));
    ASSERT_OK(block_link("/dev/one", path, &err));
    ASSERT_INT(0, lstat(path, &after));
    assert_true(before.st_ino == after.st_ino && before.st_ctim.tv_nsec == after.st_ctim.tv_nsec);
    ASSERT_OK(block_link("/dev/two", path, &err));
    ASSERT_INT(0, lstat(path, &after));
    assert_false(before.st_ino == after.st_ino && before.st_ctim.tv_nsec == after.st_ctim.tv_nsec);
}

TEST_MAIN()
