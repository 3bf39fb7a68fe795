/* What a CSI driver has staged and published, found again after a restart: a crash between any two steps. */
#include "tests/unit/test_csi_plugin.h"

#include "base/log.h"
#include "io/pool.h"
#include "node/reconstruct.h"
#include "plugins/block.h"
#include "plugins/registry.h"

#define MIB ((off_t)1 << 20)
#define POD_FOUND UID1 " kubernetes.io/csi pv1"
#define STAGED_AT "/plugins/kubernetes.io/csi/test.csi/STAGED/globalmount"
#define BLOCK_AT "/plugins/kubernetes.io/csi/volumeDevices/pv1/dev"

struct bench {
    struct csi_bench *x;
    struct manual_clock clock;
    struct loop *loop;
    struct pool *pool;
    struct plugin_registry *plugins;
    struct reconstruct *scan;
    const struct node_restored *found;
    struct logger logger;
    struct buf log;
};

static void keep_log(void *ctx, const char *line, size_t len)
{
    struct bench *k = ctx;

    buf_add(&k->log, line, len);
}

static struct bench *bench_new(void)
{
    static const struct volume_plugin *const none[] = { NULL };
    struct bench *k = calloc(1, sizeof *k);

    assert_non_null(k);
    k->x = csi_bench_new();
    manual_clock_init(&k->clock, NS_PER_S, 0);
    k->loop = new_loop(&k->clock.clock);
    ASSERT_OK(pool_new(k->loop, 1, 16, &k->pool, &err));
    ASSERT_OK(registry_new(none, NULL, &k->plugins, &err));
    ASSERT_OK(registry_add(k->plugins, &k->x->plugin.plugin, &err));
    k->log = BUF_INIT((size_t)1 << 20);
    k->logger =
        (struct logger){ .level = LOG_LEVEL_INFO, .clock = &k->clock.clock, .sink = keep_log, .ctx = k };
    log_install(&k->logger);
    return k;
}

static struct bench *bench_free(struct bench *k)
{
    k->scan = reconstruct_free(k->scan);
    k->plugins = registry_free(k->plugins);
    k->pool = pool_free(k->pool);
    k->loop = loop_free(k->loop);
    log_install(NULL);
    buf_done(&k->log);
    k->x = csi_bench_free(k->x);
    free(k);
    return NULL;
}
DEFINE_CLEANUP(struct bench, bench_free)

static void on_done(void *ctx, const struct node_restored *found, int r, const struct error *e)
{
    struct bench *k = ctx;

    (void)e;
    ASSERT_INT(0, r);
    k->found = found;
}

/* Scans, and writes a line for each volume: "POD PLUGIN NAME [block] HANDLE DEVICE", the digest of the handle
 * as STAGED; of a failure its words. */
static const char *scan(struct bench *k)
{
    static char text[8192];
    struct reconstruct_options o = { .loop = k->loop,
                                     .pool = k->pool,
                                     .plugins = k->plugins,
                                     .env = &k->x->b->env,
                                     .done = on_done,
                                     .ctx = k };
    size_t len = 0, root = strlen(k->x->b->root);

    k->scan = reconstruct_free(k->scan);
    k->found = NULL;
    ASSERT_OK(reconstruct_new(&o, &k->scan, &err));
    for (unsigned i = 0; i < 8; i++) {
        while (loop_poll(k->loop)) {
        }
        pool_drain(k->pool);
    }
    assert_non_null(k->found);
    text[0] = '\0';
    for (size_t i = 0; i < k->found->volumes_count; i++) {
        const struct restored_volume *v = &k->found->volumes[i];
        const char *device = v->device_mount_path;

        if (strcmp(device, k->x->device_path) == 0)
            device = STAGED_AT;
        else if (strncmp(device, k->x->b->root, root) == 0)
            device += root;
        len +=
            (size_t)snprintf(text + len, sizeof text - len, "%s %s %s%s %s %s\n", v->pod_uid, v->plugin_name,
                             v->pod_uid[0] || v->is_block ? v->name : "-", v->is_block ? " block" : "",
                             v->object ? volume_of(v->object)->source.csi->handle : v->err.msg, device);
        assert_true(len < sizeof text);
    }
    return text;
}

#define DEVICE_ALONE " kubernetes.io/csi - vol-1 " STAGED_AT "\n"
#define POD_AND_DEVICE POD_FOUND " vol-1 " STAGED_AT "\n" DEVICE_ALONE

/* The rows of the reconstruction's table: on disk is what a kill at that moment leaves. */
TEST(a_crash_at_each_step_of_a_csi_volume)
{
    skip_without_private_mounts();
    _cleanup_(bench_free_p) struct bench *k = bench_new();
    struct csi_bench *x = k->x;

    driver_set(&x->driver, "fail-NodeStageVolume", "4 no answer");
    ASSERT_ERR(ERR_UNCERTAIN, stage(x));
    ASSERT_STR(DEVICE_ALONE, scan(k)); /* asked to stage, no answer */
    driver_unset(&x->driver, "fail-NodeStageVolume");
    ASSERT_OK(stage(x));
    ASSERT_STR(DEVICE_ALONE, scan(k)); /* staged, no pod yet */
    driver_set(&x->driver, "fail-NodePublishVolume", "4 no answer");
    ASSERT_ERR(ERR_UNCERTAIN, publish(x));
    ASSERT_STR(POD_AND_DEVICE, scan(k)); /* asked to publish, no answer */
    driver_unset(&x->driver, "fail-NodePublishVolume");
    ASSERT_OK(publish(x));
    ASSERT_STR(POD_AND_DEVICE, scan(k)); /* published */
    driver_set(&x->driver, "fail-NodeUnpublishVolume", "14 not now");
    assert_true(unpublish(x) < 0);
    ASSERT_STR(POD_AND_DEVICE, scan(k)); /* asked to unpublish */
    driver_unset(&x->driver, "fail-NodeUnpublishVolume");
    ASSERT_OK(unpublish(x));
    ASSERT_STR(DEVICE_ALONE, scan(k)); /* the pod's part is gone, the staged one not */
    driver_set(&x->driver, "fail-NodeUnstageVolume", "14 not now");
    assert_true(unstage(x) < 0);
    ASSERT_STR(DEVICE_ALONE, scan(k)); /* asked to unstage */
    driver_unset(&x->driver, "fail-NodeUnstageVolume");
    ASSERT_OK(k->found->volumes[0].plugin->devices->unmount(&x->plugin.plugin, &x->b->env,
                                                            k->found->volumes[0].device_mount_path, &err));
    ASSERT_STR("", scan(k)); /* by nothing but what was found */
    ASSERT_STR("", driver_text(&x->driver, "staged"));
    ASSERT_INT(0, mounts_in(x->b->root));
    ASSERT_CAREFUL(x);
    ASSERT_STR("", buf_cstr(&k->log)); /* no warning at any of these starts */
}

/* A driver that stages nothing leaves an empty directory, which is no volume. */
TEST(a_driver_that_does_not_stage_leaves_nothing)
{
    skip_without_private_mounts();
    _cleanup_(bench_free_p) struct bench *k = bench_new();

    driver_set(&k->x->driver, "capabilities", "");
    ASSERT_OK(stage(k->x));
    ASSERT_STR("", scan(k));
    ASSERT_STR("", buf_cstr(&k->log));
}

/* A data file that is damaged, or another volume's: told as what cannot be reconstructed, never guessed. */
TEST(a_damaged_data_file_is_told)
{
    skip_without_private_mounts();
    _cleanup_(bench_free_p) struct bench *k = bench_new();
    const char *file;

    ASSERT_OK(stage(k->x));
    file = beside(k->x->device_path, "vol_data.json");
    sh("echo '{' > '%s'", file);
    assert_non_null(strstr(scan(k), "vol_data.json"));
    assert_null(k->found->volumes[0].object);
    sh("echo '{\"driverName\":\"test.csi\",\"volumeHandle\":\"vol-2\"}' > '%s'", file);
    assert_non_null(strstr(scan(k), "belongs to volume 'vol-2' of driver 'test.csi'"));
    assert_null(k->found->volumes[0].object);
}

/* --- Raw devices --- */

static int block_step(struct bench *k, struct block_paths *paths, const char *step)
{
    const struct volume_plugin *p = &k->x->plugin.plugin;
    const struct volume_env *env = &k->x->b->env;
    struct block_request q = { .spec = k->x->q.spec, .pod = pod_of(k->x->pod), .csi = &k->x->csi };
    char device[PATH_MAX], loop[PATH_MAX];
    int r = 0;

    ASSERT_OK(block_paths_for(p, env->root, "pv1", UID1, paths, &err));
    if (strcmp(step, "stage") == 0)
        return p->block->stage(p, env, &q, &err);
    if (strcmp(step, "unmap") == 0)
        return p->block->unmap(p, env, "pv1", UID1, &err);
    if (strcmp(step, "unstage") == 0)
        return p->block->unstage(p, env, "pv1", &err);
    r = p->block->publish(p, env, &q, device, &err);
    return r < 0 || strcmp(step, "publish") == 0 ? r : block_map(env, device, paths, loop, &err);
}

#define BLOCK_ALONE " kubernetes.io/csi pv1 block vol-1 " BLOCK_AT "\n"
#define BLOCK_OF_POD POD_FOUND " block vol-1 " BLOCK_AT "\n"

TEST(a_crash_at_each_step_of_a_raw_csi_volume)
{
    skip_without_private_mounts();
    _cleanup_(bench_free_p) struct bench *k = bench_new();
    struct csi_bench *x = k->x;
    struct block_paths paths;
    char device[32];

    loop_device_new(x->b->d, "image", MIB, device);
    bench_volume(x, "", ",'volumeMode':'Block','accessModes':['ReadWriteOnce']");
    sh("mkdir -p '%s' && ln -s %s '%s/" HANDLE "'", driver_file(&x->driver, "volumes"), device,
       driver_file(&x->driver, "volumes"));
    ASSERT_OK(block_step(k, &paths, "stage"));
    ASSERT_STR(BLOCK_ALONE, scan(k)); /* staged, no pod yet */
    driver_set(&x->driver, "fail-NodePublishVolume", "3 never");
    assert_true(block_step(k, &paths, "publish") < 0);
    ASSERT_STR(BLOCK_ALONE, scan(k)); /* refused */
    driver_set(&x->driver, "fail-NodePublishVolume", "4 no answer");
    ASSERT_ERR(ERR_UNCERTAIN, block_step(k, &paths, "publish"));
    ASSERT_STR(BLOCK_OF_POD, scan(k)); /* asked to publish, no answer */
    driver_set(&x->driver, "fail-NodePublishVolume", "3 never");
    assert_true(block_step(k, &paths, "publish") < 0);
    ASSERT_STR(BLOCK_OF_POD, scan(k)); /* refused, and the call before may still be worked on */
    driver_set(&x->driver, "fail-NodeUnpublishVolume", "14 not now");
    assert_true(block_step(k, &paths, "unmap") < 0);
    ASSERT_STR(BLOCK_OF_POD, scan(k)); /* asked to unpublish */
    driver_unset(&x->driver, "fail-NodeUnpublishVolume");
    ASSERT_OK(block_step(k, &paths, "unmap"));
    ASSERT_STR(BLOCK_ALONE, scan(k));
    driver_unset(&x->driver, "fail-NodePublishVolume");
    ASSERT_OK(block_step(k, &paths, "publish"));
    ASSERT_STR(BLOCK_OF_POD, scan(k)); /* published, neither bound nor linked */
    ASSERT_OK(block_step(k, &paths, "map"));
    ASSERT_STR(BLOCK_OF_POD, scan(k)); /* bound and linked: once */
    ASSERT_INT(0, unlink(paths.pod_link));
    ASSERT_STR(BLOCK_OF_POD, scan(k)); /* bound alone */
    ASSERT_OK(block_unmap(&x->b->env, &paths, &err));
    ASSERT_STR(BLOCK_OF_POD, scan(k)); /* still published */
    ASSERT_OK(block_step(k, &paths, "unmap"));
    ASSERT_STR(BLOCK_ALONE, scan(k)); /* staged alone */
    driver_set(&x->driver, "fail-NodeUnstageVolume", "14 not now");
    assert_true(block_step(k, &paths, "unstage") < 0);
    ASSERT_STR(BLOCK_ALONE, scan(k));
    driver_unset(&x->driver, "fail-NodeUnstageVolume");
    ASSERT_OK(block_step(k, &paths, "unstage"));
    ASSERT_STR("", scan(k));
    ASSERT_STR("", driver_text(&x->driver, "staged"));
    ASSERT_INT(0, mounts_in(x->b->root));
    ASSERT_STR("", buf_cstr(&k->log));
}

TEST_MAIN()
