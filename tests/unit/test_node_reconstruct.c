/* Volumes found again after a restart: set up with the real plugins, forgotten, and looked for. */
#include "tests/unit/test_node_disk.h"

#include "node/reconstruct_int.h"
#include "plugins/block.h"
#include "plugins/flex/prober.h"

#define MIB ((off_t)1 << 20)

struct bench {
    struct disk *d;
    struct flex_prober *prober; /* NULL: none */
    struct plugin_registry *plugins;
    struct reconstruct *scan;
    const struct node_restored *found;
    unsigned times_done;
    int r;
    struct error e;
};

static void on_done(void *ctx, const struct node_restored *found, int r, const struct error *e)
{
    struct bench *k = ctx;

    k->times_done++;
    k->found = found;
    k->r = r;
    k->e = *e;
}

static struct bench *bench_new(const struct volume_plugin *const *all)
{
    struct bench *k = calloc(1, sizeof *k);

    assert_non_null(k);
    k->d = disk_new();
    ASSERT_OK(registry_new(all, NULL, &k->plugins, &err));
    return k;
}

static struct bench *bench_free(struct bench *k)
{
    k->scan = reconstruct_free(k->scan);
    k->plugins = registry_free(k->plugins);
    k->prober = flex_prober_free(k->prober);
    k->d = disk_free(k->d);
    free(k);
    return NULL;
}
DEFINE_CLEANUP(struct bench, bench_free)

/* The env that it is handed does not outlive the call. */
static void begin_scan(struct bench *k)
{
    char root[PATH_MAX];
    struct volume_env env = k->d->b->env;
    struct reconstruct_options o = {
        .loop = k->d->loop,
        .pool = k->d->pool,
        .plugins = k->plugins,
        .env = &env,
        .metrics = k->d->metrics,
        .done = on_done,
        .ctx = k,
    };

    (void)snprintf(root, sizeof root, "%s", k->d->b->root);
    env.root = root;
    k->scan = reconstruct_free(k->scan);
    k->times_done = 0;
    ASSERT_OK(reconstruct_new(&o, &k->scan, &err));
    ASSERT_INT(0, k->times_done);
    memset(root, 'x', sizeof root - 1);
    memset(&env, 0, sizeof env);
}

static const struct node_restored *scan(struct bench *k)
{
    begin_scan(k);
    disk_rest(k->d);
    ASSERT_INT(1, k->times_done);
    return k->found;
}

/* A line for each volume: "POD PLUGIN NAME [block] [KIND] [DEVICE, from the root on]". */
static const char *told(struct bench *k)
{
    static char text[8192];
    size_t len = 0, root = strlen(k->d->b->root);

    text[0] = '\0';
    for (size_t i = 0; i < k->found->volumes_count; i++) {
        const struct restored_volume *v = &k->found->volumes[i];
        const char *device = v->device_mount_path;

        assert_true((v->r == 0) == (v->object != NULL));
        if (v->r < 0)
            ASSERT_INT(-v->r, v->err.code);
        if (strncmp(device, k->d->b->root, root) == 0)
            device += root;
        len += (size_t)snprintf(text + len, sizeof text - len, "%s %s %s%s %s %s\n", v->pod_uid,
                                v->plugin_name, v->name, v->is_block ? " block" : "",
                                v->object ? v->object->kind->name : v->err.msg, device);
        assert_true(len < sizeof text);
    }
    return text;
}

static const struct restored_volume *volume_at(const struct bench *k, size_t i)
{
    assert_true(i < k->found->volumes_count);
    return &k->found->volumes[i];
}

static struct object *local_volume(const char *name, const char *mode, const char *path)
{
    return plugin_object(KIND_VOLUME,
                         "{'metadata':{'name':'%s'},'spec':{'volumeMode':'%s','local':{'path':'%s'}}}", name,
                         mode, path);
}

static void set_up(struct bench *k, const struct volume_plugin *p, const struct object *pod,
                   const struct object *volume)
{
    struct set_up_request q = volume_bench_request(pod, volume);

    ASSERT_OK(p->pods->set_up(p, &k->d->b->env, &q, &err));
}

/* By nothing but what was found. */
static void tear_all_down(struct bench *k)
{
    const struct volume_env *env = &k->d->b->env;

    for (size_t i = 0; i < k->found->volumes_count; i++) {
        const struct restored_volume *v = &k->found->volumes[i];
        struct block_paths paths;

        if (v->is_block) {
            ASSERT_OK(block_paths_of(env->root, v->plugin->name, v->name, v->pod_uid, &paths, &err));
            ASSERT_OK(block_unmap(env, &paths, &err));
            ASSERT_OK(block_unmap_device(env, v->device_mount_path, &err));
            continue;
        }
        if (v->pod_uid[0])
            ASSERT_OK(v->plugin->pods->tear_down(v->plugin, env, v->name, v->pod_uid, &err));
        if (v->device_mount_path[0])
            ASSERT_OK(v->plugin->devices->unmount(v->plugin, env, v->device_mount_path, &err));
    }
    ASSERT_INT(0, mounts_in(env->root));
}

TEST(an_empty_node_has_nothing)
{
    _cleanup_(bench_free_p) struct bench *k = bench_new(plugins_of_node);

    ASSERT_INT(0, scan(k)->volumes_count); /* not even pods/ */
    ASSERT_INT(0, k->r);
    ASSERT_INT(0, k->found->pods_count);
    IN_PODS(k->d, "mkdir -p b/volumes a/volumeDevices c/volumes/kubernetes.io~empty-dir");
    ASSERT_INT(0, scan(k)->volumes_count);
    ASSERT_INT(3, k->found->pods_count);
    ASSERT_STR("a", k->found->pods[0].uid);
    ASSERT_STR("c", k->found->pods[2].uid);
    ASSERT_STR("", k->found->pods[0].state.s);
    assert_number(k->d, "reconstruct_volume_operations_total 0\n");
    ASSERT_STR("", buf_cstr(&k->d->log));
}

/* --- What plugins leave --- */

/* A configMap with one key, as the agent hands it to its plugin. */
static void show_config(struct bench *k, const struct object *pod)
{
    _cleanup_(object_unref_p) struct object *map =
        plugin_object(KIND_CONFIG_MAP, "{'metadata':{'name':'m'},'data':{'key':'value'}}");
    struct volume_content content = { .object = map, .projection = PROJECTION_CONFIG_MAP };
    struct set_up_request q = volume_bench_request(pod, NULL);

    q.contents = &content;
    q.contents_count = 1;
    q.random = 1;
    ASSERT_OK(config_map_plugin.pods->set_up(&config_map_plugin, &k->d->b->env, &q, &err));
}

TEST(directories_of_pods_are_found_again)
{
    skip_without_private_mounts();
    _cleanup_(bench_free_p) struct bench *k = bench_new(plugins_of_node);
    _cleanup_(object_unref_p) struct object *plain = volume_bench_pod(1, "{'name':'cache','emptyDir':{}}");
    _cleanup_(object_unref_p) struct object *memory =
        volume_bench_pod(2, "{'name':'fast','emptyDir':{'medium':'Memory'}}");
    _cleanup_(object_unref_p) struct object *shown =
        volume_bench_pod(1, "{'name':'settings','configMap':{'name':'m','defaultMode':420}}");
    _cleanup_(object_unref_p) struct object *host =
        volume_bench_pod(1, "{'name':'logs','hostPath':{'path':'/tmp'}}");

    set_up(k, &empty_dir_plugin, plain, NULL);
    set_up(k, &empty_dir_plugin, memory, NULL);
    show_config(k, shown);
    set_up(k, &host_path_plugin, host, NULL); /* leaves nothing on disk */
    IN_PODS(k->d, "echo state > " POD_UID "1/berth.json");
    (void)scan(k);
    ASSERT_STR(POD_UID "1 kubernetes.io/configmap settings Pod \n" POD_UID
                       "1 kubernetes.io/empty-dir cache Pod \n" POD_UID
                       "2 kubernetes.io/empty-dir fast Pod \n",
               told(k));
    ASSERT_STR("state\n", k->found->pods[0].state.s);
    ASSERT_INT(6, k->found->pods[0].state.len);
    ASSERT_STR("", k->found->pods[1].state.s);
    ASSERT_STR(POD_UID "1", volume_at(k, 1)->object->uid);
    assert_non_null(pod_volume(pod_of(volume_at(k, 1)->object), "cache"));
    assert_ptr_equal(&empty_dir_plugin, volume_at(k, 1)->plugin);
    assert_number(k->d, "reconstruct_volume_operations_total 3\n");
    assert_number(k->d, "reconstruct_volume_operations_errors_total 0\n");
    tear_all_down(k);
    ASSERT_INT(0, scan(k)->volumes_count);
    ASSERT_STR("", buf_cstr(&k->d->log));
}

/* node-31, the disk's half: what is found has the unique name by which the node's status would know it. */
TEST(a_local_directory_has_no_device)
{
    _cleanup_(buf_done_p) struct buf name = BUF_INIT(256);
    struct volume_spec spec = { 0 };
    skip_without_private_mounts();
    _cleanup_(bench_free_p) struct bench *k = bench_new(plugins_of_node);
    _cleanup_(object_unref_p) struct object *pod = volume_bench_pod(1, "");
    _cleanup_(object_unref_p) struct object *v = NULL;

    sh("mkdir '%s/disk' && echo data > '%s/disk/f'", k->d->b->d->path, k->d->b->d->path);
    v = local_volume("pv", "Filesystem", in_dir(k->d->b->d, "disk"));
    set_up(k, &local_plugin, pod, v);
    (void)scan(k);
    ASSERT_STR(POD_UID "1 kubernetes.io/local-volume pv PersistentVolume \n", told(k));
    spec.volume = volume_of(volume_at(k, 0)->object);
    ASSERT_OK(registry_unique_name(volume_at(k, 0)->plugin, &spec, POD_UID "1", &name, &err));
    ASSERT_STR("kubernetes.io/local-volume/pv", buf_cstr(&name));
    tear_all_down(k);
    assert_true(exists(in_dir(k->d->b->d, "disk/f")));
}

/* The global mount of the device, and its path. */
static void mount_device(struct bench *k, const struct object *v, char path[PATH_MAX])
{
    struct volume_spec spec = { .volume = volume_of(v) };
    struct device_request q = { .spec = spec, .device_path = "", .mount_path = path };
    enum format_failure why;

    ASSERT_OK(local_plugin.devices->mount_path(&local_plugin, &k->d->b->env, &spec, path, &err));
    ASSERT_OK(local_plugin.devices->mount(&local_plugin, &k->d->b->env, &q, &why, &err));
}

/* The table of section 10, with a plugin that mounts a device once and binds it for each pod: what a crash
 * leaves, step by step. */
TEST(a_crash_at_each_step_of_a_device)
{
    skip_without_private_mounts();
    _cleanup_(bench_free_p) struct bench *k = bench_new(plugins_of_node);
    _cleanup_(object_unref_p) struct object *pod = volume_bench_pod(1, ""), *v = NULL;
    const char *alone = " kubernetes.io/local-volume pv PersistentVolume "
                        "/plugins/kubernetes.io/local-volume/mounts/pv\n";
    const char *found = POD_UID "1 kubernetes.io/local-volume pv PersistentVolume "
                                "/plugins/kubernetes.io/local-volume/mounts/pv\n"
                                " kubernetes.io/local-volume pv PersistentVolume "
                                "/plugins/kubernetes.io/local-volume/mounts/pv\n";
    char device[32], global[PATH_MAX];
    const char *dir;

    loop_device_new(k->d->b->d, "image", 16 * MIB, device);
    v = local_volume("pv", "Filesystem", device);
    dir = volume_bench_path(k->d->b, &local_plugin, 1, "pv");
    mount_device(k, v, global);
    (void)scan(k);
    ASSERT_STR(alone, told(k)); /* mounted for all, no pod's directory yet */
    sh("mkdir -p '%s'", dir);
    (void)scan(k);
    ASSERT_STR(found, told(k)); /* the directory is enough */
    set_up(k, &local_plugin, pod, v);
    (void)scan(k);
    ASSERT_STR(found, told(k)); /* bound */
    sh("umount '%s'", dir);
    (void)scan(k);
    ASSERT_STR(found, told(k)); /* unbound, the directory left */
    tear_all_down(k);
    assert_false(exists(dir));
    assert_false(exists(global));
    mount_device(k, v, global);
    (void)scan(k);
    ASSERT_STR(alone, told(k)); /* the pod's directory gone, the device not */
    sh("umount '%s'", global);
    (void)scan(k);
    ASSERT_STR(alone, told(k)); /* unmounted, its directory left */
    tear_all_down(k);
    assert_false(exists(global));
    ASSERT_STR("", buf_cstr(&k->d->log));
}

TEST(a_block_device_is_found_by_its_link)
{
    skip_without_private_mounts();
    _cleanup_(bench_free_p) struct bench *k = bench_new(plugins_of_node);
    struct block_paths paths;
    char device[32], loop[PATH_MAX];

    loop_device_new(k->d->b->d, "image", MIB, device);
    ASSERT_OK(block_paths_of(k->d->b->root, local_plugin.name, "pv", POD_UID "1", &paths, &err));
    ASSERT_OK(block_map(&k->d->b->env, device, &paths, loop, &err));
    (void)scan(k);
    ASSERT_STR(POD_UID "1 kubernetes.io/local-volume pv block PersistentVolume "
                       "/plugins/kubernetes.io~local-volume/volumeDevices/pv\n",
               told(k));
    ASSERT_INT(VOLUME_MODE_BLOCK, volume_of(volume_at(k, 0)->object)->mode);
    tear_all_down(k);
    ASSERT_INT(1, loops_in(k->d->b->d)); /* the image's own */
}

/* What a crash leaves of a raw device: the bind without the pod's link, then the directory alone. */
TEST(a_block_device_is_found_without_its_link)
{
    skip_without_private_mounts();
    _cleanup_(bench_free_p) struct bench *k = bench_new(plugins_of_node);
    const char *global = "/plugins/kubernetes.io~local-volume/volumeDevices/pv";
    struct block_paths paths;
    char device[32], loop[PATH_MAX], expected[512];

    loop_device_new(k->d->b->d, "image", MIB, device);
    ASSERT_OK(block_paths_of(k->d->b->root, local_plugin.name, "pv", POD_UID "1", &paths, &err));
    ASSERT_OK(block_map(&k->d->b->env, device, &paths, loop, &err));
    (void)scan(k);
    (void)snprintf(expected, sizeof expected,
                   POD_UID "1 kubernetes.io/local-volume pv block PersistentVolume %s\n", global);
    ASSERT_STR(expected, told(k)); /* link and bind: once */
    ASSERT_INT(0, unlink(paths.pod_link));
    (void)scan(k);
    ASSERT_STR(expected, told(k));
    tear_all_down(k);
    sh("mkdir -p '%s'", paths.global_dir);
    (void)scan(k);
    (void)snprintf(expected, sizeof expected, " kubernetes.io/local-volume pv block PersistentVolume %s\n",
                   global);
    ASSERT_STR(expected, told(k));
    ASSERT_OK(block_unmap_device(&k->d->b->env, paths.global_dir, &err));
    ASSERT_INT(0, scan(k)->volumes_count);
    ASSERT_STR("", buf_cstr(&k->d->log));
}

/* A driver that went keeps what was found of it. */
TEST(a_flex_volume_is_found_again)
{
    skip_without_private_mounts();
    _cleanup_(bench_free_p) struct bench *k = bench_new(plugins_of_node);
    _cleanup_(object_unref_p) struct object *pod =
        volume_bench_pod(1, "{'name':'v','flexVolume':{'driver':'berth/dummy'}}");
    const char *drivers = in_dir(k->d->b->d, "drivers");
    const struct volume_plugin *p = NULL;

    sh("mkdir -p '%s/berth~dummy' && cp -p '%s/dummy' '%s/berth~dummy/'", drivers, TEST_DRIVERS_DIR, drivers);
    k->plugins = registry_free(k->plugins);
    ASSERT_OK(
        flex_prober_new(k->d->loop, k->d->pool, drivers, true, &(struct host_tools){ 0 }, &k->prober, &err));
    ASSERT_OK(registry_new(plugins_of_node, flex_prober_of(k->prober), &k->plugins, &err));
    pool_drain(k->d->pool); /* its drivers have answered */
    ASSERT_OK(registry_by_name(k->plugins, "berth/dummy", &p, &err));
    set_up(k, p, pod, NULL);
    assert_true(is_mounted(in_pods(k->d, POD_UID "1/volumes/berth~dummy/v")));
    (void)scan(k);
    ASSERT_STR(POD_UID "1 berth/dummy v Pod \n", told(k));
    k->plugins = registry_free(k->plugins);
    tear_all_down(k);
}

/* --- What cannot be reconstructed --- */

static int lost_reconstruct(const struct volume_plugin *self, const struct volume_env *env, const char *name,
                            const char *pod_uid, bool is_block, struct object **ret, struct error *e)
{
    (void)self;
    (void)env;
    (void)name;
    (void)pod_uid;
    (void)is_block;
    (void)ret;
    return error_set(e, ERR_NOT_FOUND, "vol_data.json is missing");
}
static const struct volume_plugin lost_plugin = { .name = "kubernetes.io/lost",
                                                  .reconstruct = lost_reconstruct };
static const struct volume_plugin mute_plugin = { .name = "kubernetes.io/mute" };
static const struct volume_plugin *const odd_plugins[] = { &empty_dir_plugin, &local_plugin, &lost_plugin,
                                                           &mute_plugin, NULL };

TEST(what_is_no_pods_is_not_looked_at)
{
    _cleanup_(bench_free_p) struct bench *k = bench_new(odd_plugins);

    IN_PODS(k->d, "mkdir -p lost+found/volumes/kubernetes.io~empty-dir/v "
                  ".x/volumes/kubernetes.io~empty-dir/v 'q\"{/volumes/kubernetes.io~empty-dir/v' "
                  "u/volumes/kubernetes.io~empty-dir/v");
    (void)scan(k);
    ASSERT_INT(0, k->r);
    ASSERT_STR("u kubernetes.io/empty-dir v Pod \n", told(k));
}

/* node-29: the disk's half. What failed is listed by its names with the reason, counted, and stays where it
 * is. */
TEST(failures_are_listed_and_counted)
{
    _cleanup_(bench_free_p) struct bench *k = bench_new(odd_plugins);

    IN_PODS(k->d,
            "mkdir -p u/volumes/kubernetes.io~lost/v u/volumes/kubernetes.io~mute/v u/volumes/a~b~c/v "
            "u/volumes/kubernetes.io~empty-dir/ok u/volumes/plain/v u/volumeDevices/kubernetes.io~empty-dir "
            "&& ln -s /dev/null u/volumeDevices/kubernetes.io~empty-dir/v");
    (void)scan(k);
    ASSERT_INT(0, k->r);
    ASSERT_STR(
        "u a/b/c v no volume plugin matched name: a/b/c \n"
        "u kubernetes.io/empty-dir ok Pod \n"
        "u kubernetes.io/lost v vol_data.json is missing \n"
        "u kubernetes.io/mute v plugin 'kubernetes.io/mute' cannot reconstruct volumes from directories \n"
        "u plain v no volume plugin matched name: plain \n"
        "u kubernetes.io/empty-dir v block plugin 'kubernetes.io/empty-dir' does not support block volumes "
        "\n",
        told(k));
    assert_null(volume_at(k, 0)->plugin);
    assert_ptr_equal(&lost_plugin, volume_at(k, 2)->plugin);
    assert_number(k->d, "reconstruct_volume_operations_total 6\n");
    assert_number(k->d, "reconstruct_volume_operations_errors_total 5\n");
    assert_true(exists(in_pods(k->d, "u/volumes/kubernetes.io~lost/v")));
}

/* Names that no object can have. */
TEST(hostile_names_stay_names)
{
    _cleanup_(bench_free_p) struct bench *k = bench_new(odd_plugins);

    IN_PODS(k->d, "mkdir -p \"p/volumes/kubernetes.io~empty-dir/$(printf 'v\\377')\" "
                  "'q/volumes/kubernetes.io~empty-dir/..data' 'r/volumes/~~/v' 's/volumes/~/~'");
    (void)scan(k);
    ASSERT_INT(0, k->r);
    ASSERT_INT(4, k->found->volumes_count);
    assert_int_equal(volume_at(k, 0)->r, -ERR_INVALID);
    ASSERT_STR("q", volume_at(k, 1)->pod_uid);
    ASSERT_STR("..data", volume_at(k, 1)->name);
    ASSERT_INT(0, volume_at(k, 1)->r);
    ASSERT_STR("//", volume_at(k, 2)->plugin_name);
    assert_int_equal(volume_at(k, 2)->r, -ERR_NOT_FOUND);
    ASSERT_STR("~", volume_at(k, 3)->name);
}

/* --- What is no volume --- */

TEST(links_and_files_are_no_volumes)
{
    _cleanup_(bench_free_p) struct bench *k = bench_new(odd_plugins);

    sh("cd '%s' && mkdir -p away/volumes/kubernetes.io~empty-dir/v away/kubernetes.io~empty-dir/v away/v "
       "&& echo stolen > away/berth.json",
       k->d->b->d->path);
    IN_PODS(k->d, "A=../../away; mkdir -p u/volumes/kubernetes.io~local-volume "
                  "u/volumeDevices/kubernetes.io~local-volume/dir w; "
                  "ln -s $A pod; : > file; ln -s ../$A/kubernetes.io~empty-dir u/volumes/; "
                  "ln -s ../../../$A/v u/volumes/kubernetes.io~local-volume/v; : > "
                  "u/volumes/kubernetes.io~local-volume/f; "
                  ": > u/volumeDevices/kubernetes.io~local-volume/f; "
                  "ln -s ../$A/volumes w/volumes; ln -s ../$A/berth.json w/berth.json");
    (void)scan(k);
    ASSERT_STR("", told(k));
    ASSERT_INT(2, k->found->pods_count);
    ASSERT_STR("", k->found->pods[1].state.s);
    assert_logged(k->d, "skipping unreadable pod directory or volume", 2); /* both of w */
    assert_logged(k->d, "pod 'w': cannot open directory 'volumes'", 1);
    assert_logged(k->d, "pod 'w': cannot open 'berth.json'", 1);
}

TEST(a_root_that_leads_elsewhere_is_refused)
{
    _cleanup_(bench_free_p) struct bench *k = bench_new(odd_plugins);

    sh("mkdir '%s/away' && ln -s ../away '%s/pods'", k->d->b->d->path, k->d->b->root);
    (void)scan(k);
    assert_true(k->r < 0);
    ASSERT_INT(0, k->found->volumes_count);
    ASSERT_INT(-k->r, k->e.code);
    sh("rm '%s/pods' && : > '%s/pods'", k->d->b->root, k->d->b->root);
    (void)scan(k);
    assert_true(k->r < 0);
}

/* A state file that is none, and does not hold anybody up. */
TEST(state_files_are_read_with_care)
{
    _cleanup_(bench_free_p) struct bench *k = bench_new(odd_plugins);

    IN_PODS(k->d,
            "mkdir -p dir/berth.json empty fifo full huge; : > empty/berth.json; mkfifo fifo/berth.json; "
            "head -c 16777216 /dev/zero > full/berth.json; head -c 16777217 /dev/zero > huge/berth.json");
    (void)scan(k);
    ASSERT_INT(5, k->found->pods_count);
    for (size_t i = 0; i < 5; i++)
        ASSERT_INT(i == 3 ? 16777216 : 0, k->found->pods[i].state.len);
    ASSERT_INT(0, k->found->pods[3].state.s[16777216]);
    for (size_t i = 0; i < 5; i++)
        assert_true(!k->found->pods[i].state_error == (i == 3)); /* an empty one is damaged, too */
    ASSERT_STR("the state file is empty", k->found->pods[1].state_error);
    ASSERT_STR("pod 'huge': 'berth.json' is larger than 16777216 bytes", k->found->pods[4].state_error);
    assert_logged(k->d, "skipping unreadable pod directory or volume", 3);
    assert_logged(k->d, "pod 'fifo': 'berth.json' is not a regular file", 1);
    assert_logged(k->d, "pod 'huge': 'berth.json' is larger than 16777216 bytes", 1);
}

/* All of them together have a limit; those beyond it are read again when their pods end. */
TEST(state_files_have_a_limit_together)
{
    _cleanup_(bench_free_p) struct bench *k = bench_new(odd_plugins);

    IN_PODS(k->d, "for i in a b c d e none; do mkdir $i; done; "
                  "for i in a b c d e; do head -c 16777216 /dev/zero > $i/berth.json; done");
    (void)scan(k);
    ASSERT_INT(6, k->found->pods_count);
    for (size_t i = 0; i < 6; i++) {
        ASSERT_INT(i < 4 ? 16777216 : 0, k->found->pods[i].state.len);
        assert_true(!k->found->pods[i].state_error == (i != 4));
    }
    assert_logged(k->d, "pod 'e': state files of all pods exceed the size limit", 1);
}

TEST(too_many_entries_are_left_out)
{
    _cleanup_(bench_free_p) struct bench *k = bench_new(odd_plugins);

    IN_PODS(k->d, "mkdir -p b/volumes/kubernetes.io~empty-dir/v a/volumes/kubernetes.io~empty-dir && "
                  "cd a/volumes/kubernetes.io~empty-dir && seq 4096 | xargs mkdir");
    ASSERT_INT(4097, scan(k)->volumes_count);
    IN_PODS(k->d, ": > a/volumes/kubernetes.io~empty-dir/one-more"); /* files count, too */
    (void)scan(k);
    ASSERT_STR("b kubernetes.io/empty-dir v Pod \n", told(k));
    ASSERT_INT(2, k->found->pods_count);
    assert_logged(k->d, "pod 'a': directory 'volumes/kubernetes.io~empty-dir' has more than 4096 entries", 1);
}

TEST(error_list_are_bounded)
{
    _cleanup_(bench_free_p) struct bench *k = bench_new(odd_plugins);

    IN_PODS(k->d, "for i in $(seq 103); do mkdir $i && ln -s x $i/volumes; done");
    ASSERT_INT(103, scan(k)->pods_count);
    assert_logged(k->d, "skipping unreadable pod directory or volume", 100);
    assert_logged(k->d, "skipping more unreadable pod directories or volumes directories=3", 1);
}

/* As anybody but root: the others are found nevertheless. */
TEST(a_directory_that_cannot_be_read_is_told)
{
    if (geteuid() != 0)
        skip();
    _cleanup_(bench_free_p) struct bench *k = bench_new(odd_plugins);

    IN_PODS(k->d, "chmod 755 ../.. && mkdir -p a b/volumes c/volumes/kubernetes.io~empty-dir/v && "
                  "chmod 000 a b/volumes");
    assert_int_equal(seteuid(65534), 0);
    begin_scan(k);
    disk_rest(k->d);
    assert_int_equal(seteuid(0), 0);
    ASSERT_STR("c kubernetes.io/empty-dir v Pod \n", told(k));
    ASSERT_INT(3, k->found->pods_count);
    assert_logged(k->d, "cannot open pod directory 'a': Permission denied", 1);
    assert_logged(k->d, "pod 'b': cannot open directory 'volumes': Permission denied", 1);
}

TEST(a_disk_that_fails_is_scanned_again)
{
    static const struct {
        int r;
        const char *path;
        bool is_again;
    } rows[] = {
        { -ERR_IO, "/", true },
        { -ERR_IO, "/nowhere/at/all", true }, /* the error came first: what else there is was not looked at */
        { -ERR_IO, "/proc/self/exe", false }, /* no directory */
        { -ERR_NOT_FOUND, "/nowhere/at/all", false },
        { -ERR_DENIED, "/", false },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct reconstruct_scan s = { .has_disk_error = false };

        scan_note_failure(&s, AT_FDCWD, rows[i].path, rows[i].r);
        ASSERT_INT(rows[i].is_again, s.has_disk_error);
    }
}

/* --- Its end --- */

TEST(free_ends_it_at_any_moment)
{
    for (unsigned turns = 0; turns < 2; turns++) {
        _cleanup_(bench_free_p) struct bench *k = bench_new(odd_plugins);
        uint64_t at;

        IN_PODS(k->d, "mkdir -p u/volumes/kubernetes.io~empty-dir/v");
        begin_scan(k);
        for (unsigned i = 0; i < turns; i++)
            loop_run_once(k->d->loop); /* the list is there, plugins are asked */
        k->scan = reconstruct_free(k->scan);
        disk_rest(k->d);
        ASSERT_INT(0, k->times_done);
        assert_false(loop_next_timer_ns(k->d->loop, &at));
    }
}

TEST_MAIN()
