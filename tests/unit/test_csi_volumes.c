/* The rest of the plugin's slots: raw devices, growing, usage, volumes found again; and what must be fetched
 * for a step, drivers and their versions. */
#include "tests/unit/test_csi_plugin.h"

#include "plugins/block.h"

/* --- Raw devices --- */

struct block_bench {
    struct csi_bench *x;
    struct block_request q;
    struct block_paths paths;
    char device[32];
    char published[PATH_MAX];
};

static void block_bench_init(struct block_bench *k)
{
    const struct volume_plugin *p;

    *k = (struct block_bench){ .x = csi_bench_new() };
    p = &k->x->plugin.plugin;
    bench_volume(k->x, ",'volumeAttributes':{'k':'v'}",
                 ",'volumeMode':'Block','accessModes':['ReadWriteOnce']");
    k->q = (struct block_request){ .spec = k->x->q.spec, .pod = k->x->q.pod, .csi = &k->x->csi };
    ASSERT_OK(p->block->paths(p, k->x->b->root, "pv1", UID1, &k->paths, &err));
}

static void block_bench_done(struct block_bench *k)
{
    k->x = csi_bench_free(k->x);
}

/* The driver's volume is a device. */
static void block_bench_device(struct block_bench *k)
{
    loop_device_new(k->x->b->d, "disk", 1 << 20, k->device);
    sh("mkdir -p '%s/volumes' && ln -sfn '%s' '%s/volumes/" HANDLE "'", k->x->driver.state, k->device,
       k->x->driver.state);
}

static int block_stage(struct block_bench *k)
{
    const struct volume_plugin *p = &k->x->plugin.plugin;

    return p->block->stage(p, &k->x->b->env, &k->q, &err);
}

static int block_publish(struct block_bench *k)
{
    const struct volume_plugin *p = &k->x->plugin.plugin;

    return p->block->publish(p, &k->x->b->env, &k->q, k->published, &err);
}

static int block_unpublish(struct block_bench *k)
{
    const struct volume_plugin *p = &k->x->plugin.plugin;

    return p->block->unmap(p, &k->x->b->env, "pv1", UID1, &err);
}

static int block_unstage(struct block_bench *k)
{
    const struct volume_plugin *p = &k->x->plugin.plugin;

    return p->block->unstage(p, &k->x->b->env, "pv1", &err);
}

static const char *devices(const struct block_bench *k, const char *rest)
{
    static char paths[4][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 4];

    (void)snprintf(path, PATH_MAX, "%s/plugins/kubernetes.io/csi/volumeDevices/%s", k->x->b->root, rest);
    return path;
}

TEST(block_paths_are_the_plugins_own)
{
    skip_without_private_mounts();
    _cleanup_(block_bench_done) struct block_bench k;
    char expected[PATH_MAX];

    block_bench_init(&k);
    ASSERT_STR(devices(&k, "pv1/dev"), k.paths.global_dir);
    ASSERT_STR(devices(&k, "pv1/dev/" UID1), k.paths.global_file);
    (void)snprintf(expected, sizeof expected, "%s/pods/" UID1 "/volumeDevices/kubernetes.io~csi/pv1",
                   k.x->b->root);
    ASSERT_STR(expected, k.paths.pod_link);
}

/* node-34: all of it is there, and goes in reverse. */
TEST(block_volume_comes_and_goes)
{
    skip_without_private_mounts();
    _cleanup_(block_bench_done) struct block_bench k;
    enum file_kind kind;
    char loop[PATH_MAX], line[PATH_MAX + 16];

    block_bench_init(&k);
    block_bench_device(&k);
    ASSERT_OK(block_stage(&k));
    assert_true(exists(devices(&k, "staging/pv1")));
    assert_true(exists(devices(&k, "pv1/data/vol_data.json")));
    ASSERT_ASKED(k.x, "NodeStageVolume", "access=block");
    ASSERT_OK(block_publish(&k));
    ASSERT_STR(devices(&k, "publish/pv1/" UID1), k.published);
    ASSERT_OK(host_file_kind(k.published, &kind, &err));
    ASSERT_INT(FILE_BLOCK_DEVICE, kind);
    ASSERT_ASKED(k.x, "NodePublishVolume", "access=block");
    ASSERT_ASKED(k.x, "NodePublishVolume", "publish_context.lun=7");
    ASSERT_ASKED(k.x, "NodePublishVolume", "volume_context.k=v");
    (void)snprintf(line, sizeof line, "staging=%s\n", devices(&k, "staging/pv1"));
    assert_true(driver_has(&k.x->driver, "request-NodePublishVolume", line));
    ASSERT_OK(block_map(&k.x->b->env, k.published, &k.paths, loop, &err));
    ASSERT_OK(block_stage(&k)); /* all can be repeated */
    ASSERT_OK(block_publish(&k));
    ASSERT_OK(block_map(&k.x->b->env, k.published, &k.paths, loop, &err));

    ASSERT_OK(block_unmap(&k.x->b->env, &k.paths, &err));
    ASSERT_OK(block_unmap(&k.x->b->env, &k.paths, &err)); /* a loop device that is not there is no error */
    ASSERT_OK(block_unpublish(&k));
    assert_false(exists(k.published));
    ASSERT_OK(block_unstage(&k));
    ASSERT_OK(block_unmap_device(&k.x->b->env, k.paths.global_dir, &err));
    assert_false(exists(devices(&k, "staging/pv1")));
    assert_false(exists(devices(&k, "publish/pv1")));
    assert_false(exists(devices(&k, "pv1")));
    ASSERT_OK(block_unpublish(&k));
    ASSERT_OK(block_unstage(&k));
    ASSERT_CALLS(k.x, "NodeStageVolume:0 NodePublishVolume:0 NodeStageVolume:0 NodePublishVolume:0 "
                      "NodeUnpublishVolume:0 NodeUnstageVolume:0");
    ASSERT_CAREFUL(k.x);
}

/* A driver that does not stage is sent the path all the same, and is not asked to unstage. */
TEST(block_driver_that_does_not_stage)
{
    skip_without_private_mounts();
    _cleanup_(block_bench_done) struct block_bench k;
    char line[PATH_MAX + 16];

    block_bench_init(&k);
    block_bench_device(&k);
    driver_set(&k.x->driver, "capabilities", "2");
    bench_csi_driver(k.x, "'podInfoOnMount':true,'tokenRequests':[{'audience':'one'}]");
    ASSERT_OK(block_stage(&k));
    assert_false(exists(devices(&k, "staging/pv1")));
    ASSERT_OK(block_publish(&k));
    (void)snprintf(line, sizeof line, "staging=%s\n", devices(&k, "staging/pv1"));
    assert_true(driver_has(&k.x->driver, "request-NodePublishVolume", line));
    ASSERT_ASKED(k.x, "NodePublishVolume", "volume_context.csi.storage.k8s.io/pod.name=p1");
    ASSERT_NOT_ASKED(k.x, "NodePublishVolume", "tokens"); /* raw volumes get none */
    ASSERT_OK(block_unpublish(&k));
    ASSERT_OK(block_unstage(&k));
    ASSERT_CALLS(k.x, "NodePublishVolume:0 NodeUnpublishVolume:0");
}

TEST(block_stage_that_fails)
{
    skip_without_private_mounts();
    _cleanup_(block_bench_done) struct block_bench k;

    block_bench_init(&k);
    driver_set(&k.x->driver, "fail-NodeStageVolume", "4 late");
    ASSERT_ERR(ERR_UNCERTAIN, block_stage(&k));
    assert_true(exists(devices(&k, "staging/pv1")));
    driver_set(&k.x->driver, "fail-NodeStageVolume", "3 never");
    ASSERT_ERR(ERR_INVALID, block_stage(&k));
    assert_false(exists(devices(&k, "staging/pv1")));
    sh("rmdir '%s' && : > '%s'", devices(&k, "staging"), devices(&k, "staging"));
    ASSERT_ERR(ERR_INCOMPLETE, block_stage(&k)); /* not asked now, but maybe before */
    k.x->csi.attachment = (struct csi_fetched){ .r = -ERR_NOT_FOUND };
    ASSERT_ERR(ERR_UNAVAILABLE, block_stage(&k));
    ASSERT_ERR(ERR_UNAVAILABLE, block_publish(&k));
    csi_drivers_remove(k.x->drivers, "test.csi");
    ASSERT_ERR(ERR_UNAVAILABLE, block_unpublish(&k));
}

/* node-35, the plugin's half: the other pod keeps its device. */
TEST(block_volume_of_two_pods)
{
    skip_without_private_mounts();
    _cleanup_(block_bench_done) struct block_bench k;
    _cleanup_(object_unref_p) struct object *other = volume_bench_pod(2, "");
    char first[PATH_MAX];

    block_bench_init(&k);
    block_bench_device(&k);
    ASSERT_OK(block_stage(&k));
    ASSERT_OK(block_publish(&k));
    memcpy(first, k.published, sizeof first);
    k.q.pod = pod_of(other);
    ASSERT_OK(block_publish(&k));
    ASSERT_OK(block_unpublish(&k)); /* of the first pod */
    assert_false(exists(first));
    assert_true(exists(k.published));
    ASSERT_ERR(ERR_BUSY, block_unstage(&k));
    ASSERT_CAREFUL(k.x);
}

/* --- Growing --- */

static int grow_for(struct csi_bench *x, const char *pod_path, bool *ret_done)
{
    const struct volume_plugin *p = &x->plugin.plugin;
    const struct expand_request q = {
        .spec = x->q.spec,
        .device_path = "/dev/raw",
        .mount_path = x->device_path,
        .pod_path = pod_path,
        .csi = &x->csi,
        .new_bytes = UINT64_C(2) << 30,
        .old_bytes = UINT64_C(1) << 30,
    };

    return p->expand->expand_on_node(p, &x->b->env, &q, ret_done, &err);
}

static int grow(struct csi_bench *x, bool *ret_done)
{
    return grow_for(x, "/the/pod", ret_done);
}

/* The device that was published last may be that of a pod that is gone. */
TEST(raw_volume_grows_where_the_pod_has_it)
{
    skip_without_private_mounts();
    _cleanup_(csi_bench_free_p) struct csi_bench *x = csi_bench_new();
    char file[PATH_MAX], pod_link[PATH_MAX], line[PATH_MAX + 16];
    bool is_done = false;

    bench_volume(x, "", ",'volumeMode':'Block','accessModes':['ReadWriteOnce']");
    (void)snprintf(file, sizeof file, "%s/published", x->b->root);
    (void)snprintf(pod_link, sizeof pod_link, "%s/link", x->b->root);
    sh("touch '%s' && ln -sfn '%s' '%s'", file, file, pod_link);
    ASSERT_OK(grow_for(x, pod_link, &is_done));
    (void)snprintf(line, sizeof line, "path=%s\n", file);
    assert_true(driver_has(&x->driver, "request-NodeExpandVolume", line));
    ASSERT_OK(grow_for(x, "", &is_done));
    ASSERT_ASKED(x, "NodeExpandVolume", "path=/dev/raw");
}

/* node-37, the plugin's half. */
TEST(volume_grows)
{
    skip_without_private_mounts();
    _cleanup_(csi_bench_free_p) struct csi_bench *x = csi_bench_new();
    bool is_done = false;
    char line[PATH_MAX + 16];

    bench_volume(x, ",'fsType':'ext4','nodeExpandSecretRef':{'name':'s','namespace':'a'}",
                 ",'accessModes':['ReadWriteOnce'],'mountOptions':['noatime']");
    ASSERT_ERR(ERR_UNAVAILABLE, grow(x, &is_done));
    ASSERT_STR("fetching NodeExpandSecretRef a/s failed: it was not fetched", err.msg);
    bench_secret(x, "'key':'c2VjcmV0'");
    ASSERT_OK(grow(x, &is_done));
    assert_true(is_done);
    ASSERT_ASKED(x, "NodeExpandVolume", "path=/the/pod");
    ASSERT_ASKED(x, "NodeExpandVolume", "required=2147483648");
    ASSERT_ASKED(x, "NodeExpandVolume", "fs_type=ext4");
    ASSERT_ASKED(x, "NodeExpandVolume", "flag=noatime");
    ASSERT_ASKED(x, "NodeExpandVolume", "secret.key=secret");
    (void)snprintf(line, sizeof line, "staging=%s\n", x->device_path);
    assert_true(driver_has(&x->driver, "request-NodeExpandVolume", line));
    bench_volume(x, "", ",'volumeMode':'Block','accessModes':['ReadWriteOnce']");
    ASSERT_OK(grow(x, &is_done));
    ASSERT_ASKED(x, "NodeExpandVolume", "path=/dev/raw");
    ASSERT_ASKED(x, "NodeExpandVolume", "access=block");
}

/* node-38 and node-39, the plugin's half: which failure it was; section 8, "CSI classification". */
TEST(volume_does_not_grow)
{
    static const struct {
        const char *code;
        enum err expected;
    } rows[] = {
        { "9 in use", ERR_BUSY },     { "3 never", ERR_INVALID },     { "11 too large", ERR_INVALID },
        { "5 unknown", ERR_INVALID }, { "13 broken", ERR_INTERNAL },  { "4 late", ERR_UNCERTAIN },
        { "14 away", ERR_UNCERTAIN }, { "1 stopped", ERR_UNCERTAIN },
    };
    bool is_done = false;

    skip_without_private_mounts();
    _cleanup_(csi_bench_free_p) struct csi_bench *x = csi_bench_new();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        driver_set(&x->driver, "fail-NodeExpandVolume", rows[i].code);
        ASSERT_ERR(rows[i].expected, grow(x, &is_done));
    }
    driver_set(&x->driver, "capabilities", "1 2");
    ASSERT_ERR(ERR_UNSUPPORTED, grow(x, &is_done));
    ASSERT_STR("NodeExpand is not supported by the CSI driver test.csi", err.msg);
    assert_false(is_done);
}

/* --- Usage --- */

/* node-57, the plugin's half. */
TEST(usage_is_the_drivers)
{
    skip_without_private_mounts();
    _cleanup_(csi_bench_free_p) struct csi_bench *x = csi_bench_new();
    const struct volume_plugin *p = &x->plugin.plugin;
    struct host_usage usage = { 0 };
    char line[PATH_MAX + 16];

    ASSERT_OK(stage(x));
    ASSERT_OK(publish(x));
    ASSERT_OK(p->pods->usage(p, &x->b->env, target_of(x), &usage, &err));
    ASSERT_INT(1000, usage.capacity);
    ASSERT_INT(300, usage.used);
    ASSERT_INT(700, usage.available);
    ASSERT_INT(10, usage.inodes);
    ASSERT_INT(3, usage.inodes_used);
    ASSERT_INT(7, usage.inodes_free);
    (void)snprintf(line, sizeof line, "path=%s\n", target_of(x));
    assert_true(driver_has(&x->driver, "request-NodeGetVolumeStats", line));
    driver_set(&x->driver, "no-usage", "");
    ASSERT_ERR(ERR_IO, p->pods->usage(p, &x->b->env, target_of(x), &usage, &err));
    ASSERT_STR("failed to get usage from response. usage is nil", err.msg);
    driver_set(&x->driver, "capabilities", "1");
    ASSERT_ERR(ERR_UNSUPPORTED, p->pods->usage(p, &x->b->env, target_of(x), &usage, &err));
    ASSERT_ERR(ERR_NOT_FOUND, p->pods->usage(p, &x->b->env, "/nowhere/mount", &usage, &err));
}

TEST(usage_of_a_raw_volume)
{
    skip_without_private_mounts();
    _cleanup_(block_bench_done) struct block_bench k;
    const struct volume_plugin *p;
    struct host_usage usage = { 0 };

    block_bench_init(&k);
    block_bench_device(&k);
    p = &k.x->plugin.plugin;
    ASSERT_OK(block_stage(&k));
    ASSERT_OK(block_publish(&k));
    ASSERT_OK(p->pods->usage(p, &k.x->b->env, k.published, &usage, &err));
    ASSERT_INT(1000, usage.capacity);
}

/* --- Found again --- */

TEST(volumes_are_found_again)
{
    skip_without_private_mounts();
    _cleanup_(csi_bench_free_p) struct csi_bench *x = csi_bench_new();
    _cleanup_(object_unref_p) struct object *volume = NULL, *pod = NULL;
    const struct volume_plugin *p = &x->plugin.plugin;
    const struct pod_volume *inlined;

    ASSERT_OK(stage(x));
    ASSERT_OK(publish(x));
    ASSERT_OK(p->reconstruct(p, &x->b->env, "pv1", UID1, false, &volume, &err));
    ASSERT_STR("pv1", volume->name);
    ASSERT_STR("test.csi", volume_of(volume)->source.csi->driver);
    ASSERT_STR(HANDLE, volume_of(volume)->source.csi->handle);
    bench_inline(x, "");
    bench_csi_driver(x, "'volumeLifecycleModes':['Ephemeral']");
    ASSERT_OK(publish(x));
    ASSERT_OK(p->reconstruct(p, &x->b->env, "scratch", UID1, false, &pod, &err));
    inlined = &pod_of(pod)->volumes.items[0];
    ASSERT_STR("scratch", inlined->name);
    ASSERT_INT(POD_VOLUME_CSI, inlined->type);
    ASSERT_STR("test.csi", inlined->csi->driver);
    ASSERT_STR(UID1, pod->uid);
}

TEST(raw_volumes_are_found_again)
{
    skip_without_private_mounts();
    _cleanup_(block_bench_done) struct block_bench k;
    _cleanup_(object_unref_p) struct object *volume = NULL;
    const struct volume_plugin *p;

    block_bench_init(&k);
    p = &k.x->plugin.plugin;
    ASSERT_ERR(ERR_NOT_FOUND, p->reconstruct(p, &k.x->b->env, "pv1", UID1, true, &volume, &err));
    ASSERT_OK(block_stage(&k));
    ASSERT_OK(p->reconstruct(p, &k.x->b->env, "pv1", UID1, true, &volume, &err));
    ASSERT_INT(VOLUME_MODE_BLOCK, volume_of(volume)->mode);
    ASSERT_STR(HANDLE, volume_of(volume)->source.csi->handle);
}

/* --- What must be fetched --- */

static int note_need(void *ctx, const struct csi_need *n)
{
    static const char *const kinds[] = { "secret", "attachment", "token" };
    char *out = ctx;
    size_t len = strlen(out);

    (void)snprintf(out + len, 512 - len, "%s %s/%.4s %s %d %u; ", kinds[n->kind], n->ns, n->name, n->audience,
                   (int)n->expiration_seconds, n->index);
    return 0;
}

TEST(needs_of_the_steps)
{
    static const struct {
        enum csi_step step;
        const char *driver; /* NULL: no object */
        bool is_block;
        const char *expected;
    } rows[] = {
        { CSI_STAGE, NULL, false, "attachment /csi-  0 0; secret sns/stag  0 0; " },
        { CSI_STAGE, "'attachRequired':false", false, "secret sns/stag  0 0; " },
        { CSI_PUBLISH, NULL, false, "attachment /csi-  0 0; secret pns/publ  0 0; " },
        { CSI_PUBLISH,
          "'attachRequired':false,'tokenRequests':[{'audience':'x'},{'audience':'y','expirationSeconds':600}"
          "]",
          false, "secret pns/publ  0 0; token a/runn x 0 0; token a/runn y 600 1; " },
        { CSI_PUBLISH, "'attachRequired':false,'tokenRequests':[{'audience':'x'}]", true,
          "secret pns/publ  0 0; " },
        { CSI_EXPAND, NULL, false, "" },
    };
    _cleanup_(object_unref_p) struct object *volume = plugin_object(
        KIND_VOLUME, "{'metadata':{'name':'pv1'},'spec':{'csi':{'driver':'d','volumeHandle':'h',"
                     "'nodeStageSecretRef':{'name':'stage','namespace':'sns'},"
                     "'nodePublishSecretRef':{'name':'publish','namespace':'pns'}}}}");
    _cleanup_(object_unref_p) struct object *pod = plugin_object(
        KIND_POD,
        "{'metadata':{'name':'p','namespace':'a'},'spec':{'serviceAccountName':'runner','volumes':[{"
        "'name':'v','csi':{'driver':'d','nodePublishSecretRef':{'name':'mine'}}}]}}");
    const struct volume_spec spec = { .volume = volume_of(volume) };
    const struct volume_spec inlined = { .inlined = &pod_of(pod)->volumes.items[0] };
    char out[512];

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(object_unref_p) struct object *driver =
            rows[i].driver
                ? plugin_object(KIND_CSI_DRIVER, "{'metadata':{'name':'d'},'spec':{%s}}", rows[i].driver)
                : NULL;

        out[0] = '\0';
        ASSERT_OK(csi_needs(rows[i].step, &spec, pod_of(pod), "n1", csi_driver_of(driver), rows[i].is_block,
                            note_need, out, &err));
        ASSERT_STR(rows[i].expected, out);
    }
    out[0] = '\0';
    ASSERT_OK(csi_needs(CSI_PUBLISH, &inlined, pod_of(pod), "n1", NULL, false, note_need, out, &err));
    ASSERT_STR("secret a/mine  0 0; ", out);
}

static int stop_at_once(void *ctx, const struct csi_need *n)
{
    (void)n;
    ++*(int *)ctx;
    return 42;
}

TEST(needs_end_when_told)
{
    _cleanup_(object_unref_p) struct object *volume = plugin_object(
        KIND_VOLUME, "{'metadata':{'name':'pv1'},'spec':{'csi':{'driver':'d','volumeHandle':'h',"
                     "'nodeStageSecretRef':{'name':'stage','namespace':'sns'}}}}");
    const struct volume_spec spec = { .volume = volume_of(volume) };
    int count = 0;

    ASSERT_INT(42, csi_needs(CSI_STAGE, &spec, NULL, "n1", NULL, false, stop_at_once, &count, &err));
    ASSERT_INT(1, count);
}

TEST(attachments_are_named_by_their_parts)
{
    char name[CSI_NAME_BYTES];

    ASSERT_OK(csi_attachment_name("driver", "handle", "node", name, &err));
    /* printf handledrivernode | sha256sum */
    sh("test csi-$(printf handledrivernode | sha256sum | cut -c1-64) = %s", name);
}

/* --- Drivers --- */

TEST(versions_are_read)
{
    static const struct {
        const char *text;
        bool is_good;
        struct csi_version expected;
    } rows[] = {
        { "1.0.0", true, { 1, 0, 0 } },
        { "v1.2", true, { 1, 2, 0 } },
        { "1.2.3-rc1", true, { 1, 2, 3 } },
        { "0.3.0", true, { 0, 3, 0 } },
        { "1", false, { 0 } },
        { "", false, { 0 } },
        { "v", false, { 0 } },
        { "x.y", false, { 0 } },
        { "1.", false, { 0 } },
        { "1.x", false, { 0 } },
        { "99999999999999999999.0", false, { 0 } },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct csi_version v = { 0 };

        if (csi_version_parse(rows[i].text, &v) != rows[i].is_good ||
            csi_version_cmp(v, rows[i].expected) != 0)
            fail_msg("'%s'", rows[i].text);
    }
}

/* Section 12.4, "Versions". */
TEST(drivers_are_checked)
{
    static const struct {
        const char *versions[4];
        const char *words; /* NULL: good */
        uint64_t minor;
    } rows[] = {
        { { "1.0.0" }, NULL, 0 },
        { { "1.1.0", "0.9.0", "1.4.0", "2.0.0" }, NULL, 4 },
        { { "rubbish", "1.2.0" }, NULL, 2 },
        { { NULL },
          "RegisterPlugin for CSI driver \"d\" failed. Plugin returned an empty list for supported versions",
          0 },
        { { "0.3.0", "2.0.0" },
          "RegisterPlugin for CSI driver \"d\" failed. None of the versions specified [\"0.3.0\" \"2.0.0\"] "
          "are "
          "supported. err=highest supported version reported is 0.3.0, must be v1.x",
          0 },
        { { "x" },
          "RegisterPlugin for CSI driver \"d\" failed. None of the versions specified [\"x\"] are supported. "
          "err=no supported version in the list",
          0 },
    };
    _cleanup_(csi_drivers_free_p) struct csi_drivers *d = NULL;

    ASSERT_OK(csi_drivers_new(&d, &err));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct texts versions = { rows[i].versions, 0 };
        struct csi_version v = { 0 };

        while (versions.count < 4 && rows[i].versions[versions.count])
            versions.count++;
        int r = csi_drivers_check(d, "RegisterPlugin", "d", versions, &v, &err);
        ASSERT_INT(rows[i].words != NULL, r < 0);
        ASSERT_STR(rows[i].words ? rows[i].words : err.msg, err.msg);
        ASSERT_INT(rows[i].minor, v.minor);
    }
}

TEST(drivers_of_one_name)
{
    static const char *const old[] = { "1.0.0" }, *const new[] = { "1.1.0" };
    _cleanup_(csi_drivers_free_p) struct csi_drivers *d = NULL;
    struct csi_endpoint e;
    struct csi_version v;

    ASSERT_OK(csi_drivers_new(&d, &err));
    ASSERT_OK(csi_drivers_put(d, "b", "/b", (struct csi_version){ 1, 0, 0 }, &err));
    ASSERT_OK(csi_drivers_put(d, "a", "/a", (struct csi_version){ 1, 0, 0 }, &err));
    ASSERT_ERR(ERR_EXISTS, csi_drivers_check(d, "ValidatePlugin", "a", (struct texts){ old, 1 }, &v, &err));
    ASSERT_OK(csi_drivers_check(d, "ValidatePlugin", "a", (struct texts){ new, 1 }, &v, &err));
    ASSERT_OK(csi_drivers_put(d, "a", "/new", v, &err));
    ASSERT_OK(csi_drivers_find(d, "a", &e, &err));
    ASSERT_STR("/new", e.socket);
    ASSERT_OK(csi_drivers_find(d, "b", &e, &err));
    ASSERT_STR("/b", e.socket);
    csi_drivers_remove(d, "a");
    csi_drivers_remove(d, "a");
    ASSERT_ERR(ERR_UNAVAILABLE, csi_drivers_find(d, "a", &e, &err));
    ASSERT_OK(csi_drivers_find(d, "b", &e, &err));
    {
        char name[CSI_DRIVER_NAME_BYTES + 1];

        memset(name, 'n', sizeof name - 1);
        name[sizeof name - 1] = '\0';
        ASSERT_ERR(ERR_INVALID, csi_drivers_put(d, name, "/n", v, &err));
    }
}

static void *look_up(void *ctx)
{
    struct error e = { 0 };
    struct csi_endpoint found;
    unsigned wrong = 0;

    for (unsigned i = 0; i < 2000; i++)
        if (csi_drivers_find(ctx, "b", &found, &e) < 0 || strcmp(found.socket, "/b") != 0)
            wrong++;
    return wrong ? ctx : NULL;
}

/* Workers look one up while others come and go. */
TEST(drivers_are_looked_up_meanwhile)
{
    _cleanup_(csi_drivers_free_p) struct csi_drivers *d = NULL;
    pthread_t threads[2];
    void *wrong;

    ASSERT_OK(csi_drivers_new(&d, &err));
    ASSERT_OK(csi_drivers_put(d, "b", "/b", (struct csi_version){ 1, 0, 0 }, &err));
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, look_up, d), 0);
    for (unsigned i = 0; i < 2000; i++) {
        ASSERT_OK(csi_drivers_put(d, i % 2 ? "a" : "c", "/x", (struct csi_version){ 1, 0, 0 }, &err));
        csi_drivers_remove(d, i % 2 ? "c" : "a");
    }
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
}

/* In a registry it is one plugin among the others. */
TEST(registry_takes_the_plugin)
{
    struct plugin_registry *g = NULL;
    const struct volume_plugin *found = NULL;
    struct csi_plugin p;

    csi_plugin_init(&p, NULL, NULL, NULL);
    ASSERT_OK(registry_new(plugins_of_node, NULL, &g, &err));
    ASSERT_OK(registry_add(g, &p.plugin, &err));
    ASSERT_OK(registry_by_name(g, "kubernetes.io/csi", &found, &err));
    assert_ptr_equal(&p.plugin, found);
    assert_non_null(found->block);
    ASSERT_ERR(ERR_EXISTS, registry_add(g, &p.plugin, &err));
    g = registry_free(g);
}

TEST_MAIN()
