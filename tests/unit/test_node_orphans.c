/* Directories of pods that are gone: which go, which stay and why, and when they are looked at. */
#include "tests/unit/test_node_disk.h"

#include "host/sub_path.h"
#include "node/orphans.h"
#include "plugins/block.h"

#define EMPTY "volumes/kubernetes.io~empty-dir"
#define HELD_MAX 4

struct bench {
    struct disk *d;
    struct orphans *orphans;
    const char *held[HELD_MAX + 1];
    enum pod_hold hold; /* of those */
    unsigned asked;     /* how often whether a pod is held */
};

static enum pod_hold hold(void *ctx, const char *uid)
{
    struct bench *k = ctx;

    k->asked++;
    for (size_t i = 0; k->held[i]; i++)
        if (strcmp(k->held[i], uid) == 0)
            return k->hold;
    return POD_HOLD_NONE;
}

static struct bench *bench_new(void)
{
    struct bench *k = calloc(1, sizeof *k);
    struct orphans_options o = { .hold = hold, .ctx = k };

    assert_non_null(k);
    k->hold = POD_HOLD_KNOWN;
    k->d = disk_new();
    o.part =
        (struct component_deps){ .loop = k->d->loop, .clock = &k->d->clock.clock, .metrics = k->d->metrics };
    o.pool = k->d->pool;
    o.env = &k->d->b->env;
    ASSERT_OK(orphans_new(&o, &k->orphans, &err));
    return k;
}

static struct bench *bench_free(struct bench *k)
{
    k->orphans = orphans_free(k->orphans);
    k->d = disk_free(k->d);
    free(k);
    return NULL;
}
DEFINE_CLEANUP(struct bench, bench_free)

static void pass(struct bench *k, uint64_t ns)
{
    disk_rest(k->d);
    loop_advance(k->d->loop, &k->d->clock, ns);
    disk_rest(k->d);
}

static int remove_u(struct bench *k)
{
    return pod_dir_remove(&k->d->b->env, "u", &err);
}

/* --- One directory --- */

/* How it is made, and what keeps it; NULL for nothing. ROOT stands for pods/u. */
static const struct {
    const char *make;
    const char *why;
} rows[] = {
    { "mkdir u", NULL },
    { "mkdir -p u/" EMPTY "/v u/volumes/a~b/c/", NULL },
    { "mkdir -p u/volumes/kubernetes.io~csi/pv/mount", NULL },
    { "mkdir -p u/volumes/kubernetes.io~csi/pv/mount && : > "
      "u/volumes/kubernetes.io~csi/pv/.berth-tmp-0123456789abcdef",
      NULL },
    { "mkdir -p u/plugins/kubernetes.io~empty-dir/v && : > u/plugins/kubernetes.io~empty-dir/v/ready && "
      "echo state > u/berth.json && mkdir -p u/containers/c/deep && echo x > u/etc-hosts",
      NULL },
    { "mkdir -p u/volumes u/volume-subpaths/v/c/0 && : > u/volume-subpaths/v/c/1", NULL },
    { "mkdir -p u/volumeDevices/a~b && ln -s /dev/null u/volumeDevices/a~b/v", NULL },
    /* A link inside is removed, not followed. */
    { "mkdir -p u/containers && ln -s ../../../../away u/containers/l", NULL },
    /* node-32 */
    { "mkdir -p u/" EMPTY "/v && echo data > u/" EMPTY "/v/file",
      "failed to rmdir() volume at path ROOT/" EMPTY "/v: Directory not empty" },
    { "mkdir -p u/" EMPTY "/v/dir",
      "failed to rmdir() volume at path ROOT/" EMPTY "/v: Directory not empty" },
    { "mkdir -p u/" EMPTY " && echo data > u/" EMPTY "/file",
      "failed to rmdir() volume at path ROOT/" EMPTY "/file: Not a directory" },
    { "mkdir -p u/volumes/kubernetes.io~csi/pv/mount && echo {} > "
      "u/volumes/kubernetes.io~csi/pv/vol_data.json",
      "failed to rmdir() volume at path ROOT/volumes/kubernetes.io~csi/pv: Directory not empty" },
    { "mkdir -p u/volumes/kubernetes.io~csi/pv/mount && : > u/volumes/kubernetes.io~csi/pv/mount/file",
      "failed to rmdir() volume at path ROOT/volumes/kubernetes.io~csi/pv: Directory not empty" },
    { "mkdir -p u/volumes && : > u/volumes/file",
      "cannot list 'ROOT': cannot open directory 'volumes/file': Not a directory" },
    { "mkdir -p u/" EMPTY " && ln -s ../../../../../away u/" EMPTY "/v",
      "failed to rmdir() volume at path ROOT/" EMPTY "/v: Not a directory" },
    { "mkdir -p u/volumes && ln -s ../../../../away u/volumes/a~b",
      "cannot list 'ROOT': cannot open directory 'volumes/a~b': Not a directory" },
    { "mkdir -p u && ln -s ../../../away u/volumes",
      "cannot list 'ROOT': cannot open directory 'volumes': Not a directory" },
    { "mkdir -p u && : > u/volumes", "cannot list 'ROOT': cannot open directory 'volumes': Not a directory" },
    { "mkdir -p u && ln -s ../../../away u/plugins", "'ROOT/plugins' is a symbolic link" },
    { "ln -s ../../away u", "cannot open directory 'ROOT': Not a directory" },
    { "echo x > u", "cannot open directory 'ROOT': Not a directory" },
    { "mkdir -p u/" EMPTY " && cd u/" EMPTY " && seq 4097 | xargs mkdir",
      "cannot list 'ROOT': directory '" EMPTY "' has more than 4096 entries" },
};

/* Puts the pod's directory where ROOT stands. */
static void spell(const struct bench *k, const char *why, char *ret, size_t size)
{
    const char *root = strstr(why, "ROOT");

    if (root)
        (void)snprintf(ret, size, "orphaned pod \"u\" found, but %.*s%s%s", (int)(root - why), why,
                       in_pods(k->d, "u"), root + 4);
    else
        (void)snprintf(ret, size, "orphaned pod \"u\" found, but %s", why);
}

TEST(empty_directories_go_and_data_stays)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(bench_free_p) struct bench *k = bench_new();
        char expected[PATH_MAX];
        int r;

        sh("mkdir -p '%s/away/v' && echo data > '%s/away/file'", k->d->b->d->path, k->d->b->d->path);
        IN_PODS(k->d, "%s", rows[i].make);
        r = remove_u(k);
        if (!rows[i].why && r < 0)
            fail_msg("%s: %s", rows[i].make, err.msg);
        if (rows[i].why) {
            assert_true(r < 0);
            spell(k, rows[i].why, expected, sizeof expected);
            ASSERT_STR(expected, err.msg);
        }
        assert_int_equal(exists(in_pods(k->d, "u")), rows[i].why != NULL);
        assert_true(exists(in_dir(k->d->b->d, "away/file")));
        assert_true(exists(in_dir(k->d->b->d, "away/v")));
        ASSERT_OK(pod_dir_remove(&k->d->b->env, "nobody", &err)); /* not there: done */
    }
}

TEST(names_lead_nowhere_else)
{
    static const char *const bad[] = { "", ".", "..", "../pods", "a/b" };
    _cleanup_(bench_free_p) struct bench *k = bench_new();

    ASSERT_OK(remove_u(k)); /* not even pods/ */
    IN_PODS(k->d, "mkdir -p a/b");
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        ASSERT_ERR(ERR_INVALID, pod_dir_remove(&k->d->b->env, bad[i], &err));
    assert_true(exists(in_pods(k->d, "a/b")));
}

/* node-33: nothing of it is touched. Wherever below the pod's directory something is mounted, and also where
 * a block device of it is bound. */
TEST(a_mount_keeps_the_whole_directory)
{
    static const char *const points[] = { "u",
                                          "u/volumes",
                                          "u/volumes/kubernetes.io~empty-dir/v",
                                          "u/volumes/kubernetes.io~csi/pv/mount",
                                          "u/volume-subpaths/v/c/0",
                                          "u/containers/c" };

    skip_without_private_mounts();
    for (size_t i = 0; i < ARRAY_LEN(points); i++) {
        _cleanup_(bench_free_p) struct bench *k = bench_new();
        char expected[PATH_MAX * 2];

        IN_PODS(k->d, "mkdir -p u/" EMPTY "/a u/plugins '%s' && mount -t tmpfs none '%s'", points[i],
                points[i]);
        ASSERT_ERR(ERR_BUSY, remove_u(k));
        (void)snprintf(expected, sizeof expected,
                       "orphaned pod \"u\" found, but something is still mounted at \"%s\"",
                       in_pods(k->d, points[i]));
        ASSERT_STR(expected, err.msg);
        IN_PODS(k->d, "umount '%s' && test -d u/" EMPTY "/a && test -d u/plugins", points[i]);
        ASSERT_OK(remove_u(k));
        assert_false(exists(in_pods(k->d, "u")));
    }
}

TEST(a_bound_block_device_keeps_the_directory)
{
    skip_without_private_mounts();
    _cleanup_(bench_free_p) struct bench *k = bench_new();
    struct block_paths paths;
    char device[32], loop[PATH_MAX];

    loop_device_new(k->d->b->d, "image", 1 << 20, device);
    ASSERT_OK(block_paths_of(k->d->b->root, "kubernetes.io/local-volume", "pv", "u", &paths, &err));
    ASSERT_OK(block_map(&k->d->b->env, device, &paths, loop, &err));
    ASSERT_ERR(ERR_BUSY, remove_u(k));
    assert_non_null(strstr(err.msg, paths.global_file));
    assert_true(exists(paths.pod_link));
    sh("losetup -d %s && umount '%s'", loop, paths.global_file);
    ASSERT_OK(remove_u(k));
    assert_false(exists(in_pods(k->d, "u")));
}

/* As anybody but root. */
TEST(what_cannot_be_read_stays)
{
    if (geteuid() != 0)
        skip();
    _cleanup_(bench_free_p) struct bench *k = bench_new();
    int r;

    IN_PODS(k->d, "chmod 755 ../.. && mkdir -p u/volumes && chmod 000 u/volumes && chown 65534 . u");
    assert_int_equal(seteuid(65534), 0);
    r = remove_u(k);
    assert_int_equal(seteuid(0), 0);
    ASSERT_ERR(ERR_DENIED, r);
    assert_non_null(strstr(err.msg, "cannot open directory 'volumes': Permission denied"));
    assert_true(exists(in_pods(k->d, "u/volumes")));
}

TEST(a_removal_can_be_stopped)
{
    _cleanup_(bench_free_p) struct bench *k = bench_new();
    struct volume_env env = k->d->b->env;
    host_stop stop = 1;

    IN_PODS(k->d, "mkdir -p u/containers && : > u/containers/file");
    env.stop = &stop;
    ASSERT_ERR(ERR_CANCELLED, pod_dir_remove(&env, "u", &err));
    assert_true(exists(in_pods(k->d, "u/containers/file")));
    ASSERT_OK(remove_u(k));
}

/* --- Looks --- */

TEST(orphans_go_and_held_ones_stay)
{
    _cleanup_(bench_free_p) struct bench *k = bench_new();

    IN_PODS(k->d, "mkdir -p a/" EMPTY "/v b c/volumes lost+found .hidden && : > file");
    k->held[0] = "b";
    orphans_scan(k->orphans); /* too early */
    pass(k, 10 * NS_PER_S);
    ASSERT_INT(0, k->asked);
    orphans_start(k->orphans);
    assert_true(exists(in_pods(k->d, "a"))); /* not from within */
    pass(k, 0);
    ASSERT_INT(3, k->asked);
    assert_false(exists(in_pods(k->d, "a")));
    assert_true(exists(in_pods(k->d, "b")));
    assert_false(exists(in_pods(k->d, "c")));
    assert_true(exists(in_pods(k->d, "lost+found")));
    assert_true(exists(in_pods(k->d, ".hidden")));
    assert_true(exists(in_pods(k->d, "file")));
    assert_number(k->d, "orphan_pod_cleaned_volumes 2\n");
    assert_number(k->d, "orphan_pod_cleaned_volumes_errors 0\n");
    assert_logged(k->d, "orphaned pod directory removed pod=a", 1);
    assert_logged(k->d, "orphaned pod directory not removed pod=lost+found reason=\"name is not a pod UID\"",
                  1);
    assert_logged(k->d, "pod=b", 0);
}

/* node-32, node-33: told and counted, tried again after ever longer delays, and no more once it is gone. */
TEST(what_stays_is_tried_again)
{
    skip_without_private_mounts();
    _cleanup_(bench_free_p) struct bench *k = bench_new();
    uint64_t at;

    IN_PODS(k->d, "mkdir -p a/" EMPTY "/v b/" EMPTY "/v c && echo data > a/" EMPTY "/v/file && "
                  "mount -t tmpfs none b/" EMPTY "/v");
    orphans_start(k->orphans);
    pass(k, 0);
    assert_number(k->d, "orphan_pod_cleaned_volumes 3\n");
    assert_number(k->d, "orphan_pod_cleaned_volumes_errors 2\n");
    assert_logged(k->d, "orphaned pod directory not removed", 2);
    assert_logged(k->d, "pod=a reason=\"orphaned pod \\\"a\\\" found, but failed to rmdir() volume at path",
                  1);
    assert_logged(k->d, "pod=b reason=\"orphaned pod \\\"b\\\" found, but something is still mounted at", 1);
    ASSERT_INT(3, k->asked);
    pass(k, 2 * NS_PER_S - 1);
    ASSERT_INT(3, k->asked);
    pass(k, 1);
    ASSERT_INT(5, k->asked); /* c is gone */
    pass(k, 4 * NS_PER_S - 1);
    ASSERT_INT(5, k->asked);
    pass(k, 1);
    ASSERT_INT(7, k->asked);
    assert_logged(k->d, "orphaned pod directory not removed", 2); /* said once */
    IN_PODS(k->d, "umount b/" EMPTY "/v && echo b > b/" EMPTY "/v/file");
    pass(k, 8 * NS_PER_S);
    assert_logged(k->d, "orphaned pod directory not removed", 3); /* another reason */
    IN_PODS(k->d, "rm */" EMPTY "/v/file");
    pass(k, 16 * NS_PER_S);
    assert_number(k->d, "orphan_pod_cleaned_volumes 2\n");
    assert_number(k->d, "orphan_pod_cleaned_volumes_errors 0\n");
    assert_false(exists(in_pods(k->d, "a")));
    assert_false(exists(in_pods(k->d, "b")));
    assert_false(loop_next_timer_ns(k->d->loop, &at)); /* nothing polls */
}

/* node-32: whoever unmounts it says why it stays; it counts here all the same. */
TEST(volumes_that_may_be_mounted_are_counted)
{
    _cleanup_(bench_free_p) struct bench *k = bench_new();
    uint64_t at;

    IN_PODS(k->d, "mkdir -p a/" EMPTY "/v b");
    k->held[0] = "a";
    k->hold = POD_HOLD_VOLUMES;
    orphans_start(k->orphans);
    pass(k, 0);
    assert_true(exists(in_pods(k->d, "a")));
    assert_false(exists(in_pods(k->d, "b")));
    assert_number(k->d, "orphan_pod_cleaned_volumes 2\n");
    assert_number(k->d, "orphan_pod_cleaned_volumes_errors 1\n");
    assert_logged(k->d, "orphaned pod directory not removed", 0);
    k->held[0] = NULL;
    pass(k, 2 * NS_PER_S);
    assert_false(exists(in_pods(k->d, "a")));
    assert_number(k->d, "orphan_pod_cleaned_volumes_errors 0\n");
    assert_false(loop_next_timer_ns(k->d->loop, &at));
}

TEST(the_delay_has_an_end)
{
    _cleanup_(bench_free_p) struct bench *k = bench_new();

    IN_PODS(k->d, "mkdir -p a/" EMPTY "/v/dir");
    orphans_start(k->orphans);
    pass(k, 0);
    for (unsigned s = 2; s < 128; s *= 2)
        pass(k, s * NS_PER_S);
    ASSERT_INT(7, k->asked);
    for (unsigned i = 1; i <= 3; i++) {
        pass(k, 120 * NS_PER_S);
        ASSERT_INT(7 + i, k->asked);
    }
}

TEST(looks_are_asked_for)
{
    _cleanup_(bench_free_p) struct bench *k = bench_new();
    uint64_t at;

    k->held[0] = "a";
    IN_PODS(k->d, "mkdir a");
    orphans_start(k->orphans);
    pass(k, 0);
    ASSERT_INT(1, k->asked);
    assert_false(loop_next_timer_ns(k->d->loop, &at));
    k->held[0] = NULL;
    for (unsigned i = 0; i < 100; i++)
        orphans_scan(k->orphans);
    pass(k, 2 * NS_PER_S - 1); /* not so soon */
    ASSERT_INT(1, k->asked);
    pass(k, 1);
    ASSERT_INT(2, k->asked); /* one for all of them */
    assert_false(exists(in_pods(k->d, "a")));
    pass(k, 60 * NS_PER_S);
    IN_PODS(k->d, "mkdir b");
    orphans_scan(k->orphans); /* long after the last: at once */
    pass(k, 0);
    assert_false(exists(in_pods(k->d, "b")));
}

/* One that is asked for while another is under way comes behind it. */
TEST(a_look_behind_a_look)
{
    _cleanup_(bench_free_p) struct bench *k = bench_new();

    IN_PODS(k->d, "mkdir a");
    orphans_start(k->orphans);
    (void)loop_poll(k->d->loop); /* its job is begun */
    orphans_scan(k->orphans);
    pass(k, 0);
    IN_PODS(k->d, "mkdir b");
    pass(k, 2 * NS_PER_S);
    assert_false(exists(in_pods(k->d, "b")));
}

TEST(pods_that_cannot_be_listed_are_told)
{
    _cleanup_(bench_free_p) struct bench *k = bench_new();

    sh("ln -s / '%s/pods'", k->d->b->root);
    orphans_start(k->orphans);
    pass(k, 0);
    ASSERT_INT(0, k->asked);
    assert_logged(k->d, "cannot scan for orphaned pod directories", 1);
    sh("rm '%s/pods' && mkdir -p '%s/pods/a'", k->d->b->root, k->d->b->root);
    pass(k, 2 * NS_PER_S);
    assert_false(exists(in_pods(k->d, "a")));
}

TEST(free_ends_it_at_any_moment)
{
    for (unsigned turns = 0; turns < 4; turns++) {
        _cleanup_(bench_free_p) struct bench *k = bench_new();
        uint64_t at;

        IN_PODS(k->d, "mkdir -p a/" EMPTY "/v/dir");
        orphans_start(k->orphans);
        if (turns == 3)
            pass(k, 0); /* the next try is due some time */
        for (unsigned i = 0; i < turns && turns < 3; i++)
            loop_run_once(k->d->loop);
        k->orphans = orphans_free(k->orphans);
        assert_false(loop_next_timer_ns(k->d->loop, &at));
        disk_rest(k->d);
        ASSERT_STR("", turns < 3 ? buf_cstr(&k->d->log) : "");
    }
    assert_null(orphans_free(NULL));
}

TEST_MAIN()
