/* The plugin's slots against a driver that really mounts: staging, publishing, and what is left when they
 * fail. The node's half of the scenarios, when which slot is called, is the reconciler's. */
#include "tests/unit/test_csi_plugin.h"

TEST(paths_and_names)
{
    skip_without_private_mounts();
    _cleanup_(csi_bench_free_p) struct csi_bench *x = csi_bench_new();
    _cleanup_(buf_done_p) struct buf name = BUF_INIT(256);
    const struct volume_plugin *p = &x->plugin.plugin;
    char expected[PATH_MAX];

    (void)snprintf(expected, sizeof expected, "%s/pods/" UID1 "/volumes/kubernetes.io~csi/pv1/mount",
                   x->b->root);
    ASSERT_STR(expected, target_of(x));
    (void)snprintf(expected, sizeof expected, "%s/plugins/kubernetes.io/csi/test.csi/", x->b->root);
    assert_memory_equal(expected, x->device_path, strlen(expected));
    ASSERT_INT(strlen(expected) + 64 + strlen("/globalmount"), strlen(x->device_path));
    ASSERT_OK(p->volume_name(p, &x->q.spec, &name, &err));
    ASSERT_STR("test.csi^" HANDLE, buf_cstr(&name));
    assert_true(p->can_support(p, &x->q.spec));
    assert_true(p->devices->can_mount(p, &x->q.spec));
    assert_true(p->attach->can_attach(p, &x->q.spec));
    bench_inline(x, "");
    assert_true(p->can_support(p, &x->q.spec));
    assert_false(p->devices->can_mount(p, &x->q.spec));
    assert_false(p->attach->can_attach(p, &x->q.spec));
}

static bool never(void *ctx, const char *driver)
{
    ASSERT_STR("test.csi", driver);
    return ctx != NULL;
}

TEST(attaching_is_the_drivers_to_say)
{
    skip_without_private_mounts();
    _cleanup_(csi_bench_free_p) struct csi_bench *x = csi_bench_new();
    const struct volume_plugin *p = &x->plugin.plugin;
    char device[PATH_MAX];
    bool is_attached;

    csi_plugin_init(&x->plugin, x->drivers, x->rpc, &(struct csi_facts){ never, NULL });
    assert_false(p->attach->can_attach(p, &x->q.spec));
    csi_plugin_init(&x->plugin, x->drivers, x->rpc, &(struct csi_facts){ never, x });
    assert_true(p->attach->can_attach(p, &x->q.spec));
    ASSERT_OK(p->attach->wait(p, &x->b->env, &x->q.spec, "", NS_PER_S, device, &err));
    ASSERT_STR("", device);
    ASSERT_ERR(ERR_UNSUPPORTED, p->attach->attach(p, &x->b->env, &x->q.spec, "n", device, &err));
    ASSERT_ERR(ERR_UNSUPPORTED, p->attach->detach(p, &x->b->env, "v", "n", &err));
    ASSERT_ERR(ERR_UNSUPPORTED, p->attach->is_attached(p, &x->b->env, &x->q.spec, "n", &is_attached, &err));
}

/* node-1, the plugin's half: stage, publish; node-22: unpublish, unstage, nothing left. */
TEST(volume_comes_and_goes)
{
    skip_without_private_mounts();
    _cleanup_(csi_bench_free_p) struct csi_bench *x = csi_bench_new();

    ASSERT_OK(stage(x));
    assert_true(is_mounted(x->device_path));
    ASSERT_STR("{\"volumeHandle\":\"" HANDLE "\",\"driverName\":\"test.csi\"}",
               file_text(beside(x->device_path, "vol_data.json")));
    ASSERT_OK(publish(x));
    assert_true(is_mounted(target_of(x)));
    sh("touch '%s/file' && test -e '%s/volumes/" HANDLE "/file'", target_of(x), x->driver.state);
    assert_non_null(strstr(file_text(beside(target_of(x), "vol_data.json")),
                           "{\"specVolID\":\"pv1\",\"volumeHandle\":\"" HANDLE
                           "\",\"driverName\":\"test.csi\",\"nodeName\":\"n\","
                           "\"volumeLifecycleMode\":\"Persistent\",\"attachmentID\":\"csi-"));
    ASSERT_OK(stage(x)); /* both can be repeated */
    ASSERT_OK(publish(x));
    ASSERT_OK(unpublish(x));
    assert_false(exists(beside(target_of(x), "")));
    ASSERT_OK(unpublish(x));
    ASSERT_OK(unstage(x));
    assert_false(exists(beside(x->device_path, "")));
    ASSERT_OK(unstage(x));
    ASSERT_INT(0, mounts_in(x->b->root));
    ASSERT_CALLS(x, "NodeStageVolume:0 NodePublishVolume:0 NodeStageVolume:0 NodePublishVolume:0 "
                    "NodeUnpublishVolume:0 NodeUnstageVolume:0");
    ASSERT_CAREFUL(x);
}

TEST(driver_is_told_all_of_it)
{
    skip_without_private_mounts();
    _cleanup_(csi_bench_free_p) struct csi_bench *x = csi_bench_new();
    char line[PATH_MAX + 16];

    bench_volume(x,
                 ",'fsType':'xfs','volumeAttributes':{'pool':'fast'},"
                 "'nodeStageSecretRef':{'name':'s','namespace':'a'},"
                 "'nodePublishSecretRef':{'name':'s','namespace':'a'}",
                 ",'accessModes':['ReadWriteMany','ReadWriteOnce'],'mountOptions':['noatime','discard']");
    bench_secret(x, "'key':'c2VjcmV0'");
    x->csi.mount_context = "system_u:object_r:container_file_t:s0:c1,c2";
    x->q.spec.is_read_only = true;
    ASSERT_OK(stage(x));
    ASSERT_ASKED(x, "NodeStageVolume", "publish_context.lun=7");
    ASSERT_ASKED(x, "NodeStageVolume", "volume_context.pool=fast");
    ASSERT_ASKED(x, "NodeStageVolume", "secret.key=secret");
    ASSERT_ASKED(x, "NodeStageVolume", "fs_type=xfs");
    ASSERT_ASKED(x, "NodeStageVolume", "flag=noatime");
    ASSERT_ASKED(x, "NodeStageVolume", "flag=discard");
    ASSERT_ASKED(x, "NodeStageVolume", "flag=context=\"system_u:object_r:container_file_t:s0:c1,c2\"");
    ASSERT_ASKED(x, "NodeStageVolume", "mode=5"); /* the first of the modes */
    (void)snprintf(line, sizeof line, "staging=%s\n", x->device_path);
    assert_true(driver_has(&x->driver, "request-NodeStageVolume", line));
    ASSERT_OK(publish(x));
    assert_true(driver_has(&x->driver, "request-NodePublishVolume", line));
    (void)snprintf(line, sizeof line, "target=%s\n", target_of(x));
    assert_true(driver_has(&x->driver, "request-NodePublishVolume", line));
    ASSERT_ASKED(x, "NodePublishVolume", "readonly=true");
    ASSERT_ASKED(x, "NodePublishVolume", "publish_context.lun=7");
    ASSERT_ASKED(x, "NodePublishVolume", "volume_context.pool=fast");
    ASSERT_ASKED(x, "NodePublishVolume", "secret.key=secret");
    ASSERT_NOT_ASKED(x, "NodePublishVolume", "csi.storage.k8s.io/");
    assert_non_null(
        strstr(file_text(beside(target_of(x), "vol_data.json")), "\"seLinuxMountContext\":\"system_u"));
}

/* Section 13.5. */
TEST(access_modes_are_the_drivers)
{
    static const struct {
        const char *mode;
        const char *plain, *single;
    } rows[] = {
        { "ReadWriteOnce", "mode=1\n", "mode=7\n" },
        { "ReadOnlyMany", "mode=3\n", "mode=3\n" },
        { "ReadWriteMany", "mode=5\n", "mode=5\n" },
        { "ReadWriteOncePod", "mode=1\n", "mode=6\n" },
    };
    char spec[128];

    skip_without_private_mounts();
    _cleanup_(csi_bench_free_p) struct csi_bench *x = csi_bench_new();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        (void)snprintf(spec, sizeof spec, ",'accessModes':['%s']", rows[i].mode);
        bench_volume(x, "", spec);
        driver_set(&x->driver, "capabilities", "1");
        ASSERT_OK(stage(x));
        assert_true(driver_has(&x->driver, "request-NodeStageVolume", rows[i].plain));
        driver_set(&x->driver, "capabilities", "1 5");
        ASSERT_OK(stage(x));
        assert_true(driver_has(&x->driver, "request-NodeStageVolume", rows[i].single));
    }
}

/* node-8: transient, nothing changes, and after the registration it goes. */
TEST(unregistered_driver_is_waited_for)
{
    skip_without_private_mounts();
    _cleanup_(csi_bench_free_p) struct csi_bench *x = csi_bench_new();

    csi_drivers_remove(x->drivers, "test.csi");
    ASSERT_ERR(ERR_UNAVAILABLE, stage(x));
    ASSERT_STR("driver name test.csi not found in the list of registered CSI drivers", err.msg);
    ASSERT_ERR(ERR_UNAVAILABLE, publish(x));
    ASSERT_STR("driver name test.csi not found in the list of registered CSI drivers", err.msg);
    assert_false(exists(x->device_path));
    ASSERT_OK(
        csi_drivers_put(x->drivers, "test.csi", x->driver.socket, (struct csi_version){ 1, 0, 0 }, &err));
    ASSERT_OK(stage(x));
    ASSERT_OK(publish(x));
    csi_drivers_remove(x->drivers, "test.csi");
    ASSERT_ERR(ERR_UNAVAILABLE, unpublish(x));
    ASSERT_ERR(ERR_UNAVAILABLE, unstage(x));
    assert_true(is_mounted(target_of(x)));
}

/* A driver that cannot say what it can do has begun nothing. */
TEST(dead_driver_has_begun_nothing)
{
    skip_without_private_mounts();
    _cleanup_(csi_bench_free_p) struct csi_bench *x = csi_bench_new();

    driver_set(&x->driver, "fail-NodeGetCapabilities", "13 no idea");
    ASSERT_ERR(ERR_UNAVAILABLE, stage(x));
    ASSERT_ERR(ERR_UNAVAILABLE, publish(x));
    driver_stop(&x->driver);
    ASSERT_ERR(ERR_UNAVAILABLE, stage(x));
    assert_false(exists(x->device_path));
}

/* node-9: it may be going on: the directory stays, and unstaging is asked for. node-11: the retry ends it. */
TEST(stage_without_an_answer_is_uncertain)
{
    static const char *const codes[] = { "1 c", "4 c", "8 c", "10 c", "14 c" };

    skip_without_private_mounts();
    _cleanup_(csi_bench_free_p) struct csi_bench *x = csi_bench_new();
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        driver_set(&x->driver, "fail-NodeStageVolume", codes[i]);
        ASSERT_ERR(ERR_UNCERTAIN, stage(x));
        assert_true(exists(x->device_path));
        assert_true(exists(beside(x->device_path, "vol_data.json")));
    }
    ASSERT_OK(unstage(x));
    ASSERT_CALLS(
        x, "NodeStageVolume:1 NodeStageVolume:4 NodeStageVolume:8 NodeStageVolume:10 NodeStageVolume:14 "
           "NodeUnstageVolume:0");
    driver_set(&x->driver, "fail-NodeStageVolume", "4 late");
    ASSERT_ERR(ERR_UNCERTAIN, stage(x));
    driver_set(&x->driver, "fail-NodeStageVolume", "13 broken");
    ASSERT_ERR(ERR_INTERNAL, stage(x));
    assert_false(exists(beside(x->device_path, "")));
}

/* Ends the call that the driver holds: its process and with it the connection, or our waiting. */
static void *end_held_call(void *ctx)
{
    struct csi_bench *x = ctx;
    const char *line;

    AWAIT((line = strstr(driver_text(&x->driver, "running"), HANDLE " ")) != NULL);
    if (x->csi.is_reconstructed)
        atomic_store(&x->stop, 1);
    else
        (void)kill((pid_t)strtol(line + strlen(HANDLE " "), NULL, 10), SIGKILL);
    return NULL;
}

/* The driver has the call, and what it does with it is not heard of. */
TEST(calls_that_end_on_the_way_are_uncertain)
{
    skip_without_private_mounts();
    for (unsigned i = 0; i < 2; i++) {
        _cleanup_(csi_bench_free_p) struct csi_bench *x = csi_bench_new();
        pthread_t thread;

        x->csi.is_reconstructed = i == 1;
        driver_set(&x->driver, "hold-NodeStageVolume", "");
        assert_int_equal(pthread_create(&thread, NULL, end_held_call, x), 0);
        ASSERT_ERR(ERR_UNCERTAIN, stage(x));
        assert_int_equal(pthread_join(thread, NULL), 0);
        driver_unset(&x->driver, "hold-NodeStageVolume");
        assert_true(exists(x->device_path));
        assert_true(exists(beside(x->device_path, "vol_data.json")));
    }
}

/* What could not be fetched must not take away what an earlier try may have left. */
TEST(transient_failure_keeps_what_is_there)
{
    skip_without_private_mounts();
    _cleanup_(csi_bench_free_p) struct csi_bench *x = csi_bench_new();

    bench_volume(x, ",'nodeStageSecretRef':{'name':'s','namespace':'a'}", ",'accessModes':['ReadWriteOnce']");
    bench_secret(x, "");
    driver_set(&x->driver, "fail-NodeStageVolume", "4 late");
    ASSERT_ERR(ERR_UNCERTAIN, stage(x));
    x->csi.secret = (struct csi_fetched){ .r = -ERR_TIMEOUT };
    (void)error_set(&x->csi.secret.err, ERR_TIMEOUT, "no luck");
    ASSERT_ERR(ERR_UNAVAILABLE, stage(x));
    ASSERT_STR("fetching NodeStageSecretRef a/s failed: no luck", err.msg);
    assert_true(exists(beside(x->device_path, "vol_data.json")));
    ASSERT_CALLS(x, "NodeStageVolume:4");
}

/* node-10: over, and nothing of it stays. */
TEST(stage_that_is_refused_leaves_nothing)
{
    skip_without_private_mounts();
    _cleanup_(csi_bench_free_p) struct csi_bench *x = csi_bench_new();

    driver_set(&x->driver, "fail-NodeStageVolume", "3 bad type");
    ASSERT_ERR(ERR_INVALID, stage(x));
    ASSERT_STR("rpc error: code = InvalidArgument desc = bad type", err.msg);
    assert_false(exists(beside(x->device_path, "")));
    ASSERT_CALLS(x, "NodeStageVolume:3");
}

TEST(attachment_must_be_there)
{
    skip_without_private_mounts();
    _cleanup_(csi_bench_free_p) struct csi_bench *x = csi_bench_new();

    x->csi.attachment = (struct csi_fetched){ .r = -ERR_NOT_FOUND };
    (void)error_set(&x->csi.attachment.err, ERR_NOT_FOUND, "not found");
    ASSERT_ERR(ERR_UNAVAILABLE, stage(x));
    ASSERT_STR("not found", err.msg);
    ASSERT_ERR(ERR_UNAVAILABLE, publish(x));
    assert_false(exists(x->device_path));
    bench_csi_driver(x, "'attachRequired':false"); /* those have none */
    ASSERT_OK(stage(x));
    ASSERT_NOT_ASKED(x, "NodeStageVolume", "publish_context");
}

/* node-13 */
TEST(driver_that_does_not_stage)
{
    skip_without_private_mounts();
    _cleanup_(csi_bench_free_p) struct csi_bench *x = csi_bench_new();

    driver_set(&x->driver, "capabilities", "2");
    bench_volume(x, ",'nodeStageSecretRef':{'name':'s','namespace':'a'}", ",'accessModes':['ReadWriteOnce']");
    ASSERT_OK(stage(x)); /* the secret that is not there is not asked for */
    assert_true(exists(x->device_path));
    assert_false(exists(beside(x->device_path, "vol_data.json")));
    ASSERT_OK(publish(x));
    ASSERT_ASKED(x, "NodePublishVolume", "staging=");
    ASSERT_OK(unpublish(x));
    ASSERT_OK(unstage(x));
    ASSERT_CALLS(x, "NodePublishVolume:0 NodeUnpublishVolume:0");
}

/* node-14: a first mount that is refused leaves nothing; one of a pod that runs is not touched. */
TEST(publish_that_is_refused)
{
    skip_without_private_mounts();
    _cleanup_(csi_bench_free_p) struct csi_bench *x = csi_bench_new();

    ASSERT_OK(stage(x));
    driver_set(&x->driver, "fail-NodePublishVolume", "13 broken");
    ASSERT_ERR(ERR_INTERNAL, publish(x));
    assert_false(exists(beside(target_of(x), "")));
    driver_set(&x->driver, "fail-NodePublishVolume", "4 late");
    ASSERT_ERR(ERR_UNCERTAIN, publish(x));
    assert_true(exists(beside(target_of(x), "vol_data.json")));
    driver_unset(&x->driver, "fail-NodePublishVolume");
    ASSERT_OK(publish(x));
    driver_set(&x->driver, "fail-NodePublishVolume", "13 broken");
    x->q.is_remount = true;
    ASSERT_ERR(ERR_INTERNAL, publish(x));
    assert_true(is_mounted(target_of(x)));
    assert_true(exists(beside(target_of(x), "vol_data.json")));
}

/* node-12, the plugin's half: found on disk, nothing mounted: the directory stays all the same. */
TEST(publish_of_what_was_found_is_refused)
{
    skip_without_private_mounts();
    _cleanup_(csi_bench_free_p) struct csi_bench *x = csi_bench_new();

    x->csi.is_reconstructed = true;
    driver_set(&x->driver, "capabilities", "");
    driver_set(&x->driver, "fail-NodePublishVolume", "13 broken");
    ASSERT_ERR(ERR_INTERNAL, publish(x));
    assert_true(exists(beside(target_of(x), "vol_data.json")));
}

/* node-15, the plugin's half: publishing again brings the new token; what fails changes nothing. */
TEST(republish_brings_the_new_token)
{
    skip_without_private_mounts();
    _cleanup_(csi_bench_free_p) struct csi_bench *x = csi_bench_new();
    struct csi_token token = { "", STR_LIT("first"), "2030-01-01T00:00:00Z" };

    bench_csi_driver(x, "'requiresRepublish':true,'tokenRequests':[{'audience':''}]");
    assert_true(csi_requires_remount(x->csi.driver));
    assert_false(csi_requires_remount(NULL));
    x->csi.tokens = &token;
    x->csi.tokens_count = 1;
    ASSERT_OK(stage(x));
    ASSERT_OK(publish(x));
    x->q.is_remount = true;
    token.token = STR_LIT("second");
    ASSERT_OK(publish(x));
    ASSERT_ASKED(x, "NodePublishVolume",
                 "volume_context.csi.storage.k8s.io/serviceAccount.tokens={\"\":{\"token\":\"second\","
                 "\"expirationTimestamp\":\"2030-01-01T00:00:00Z\"}}");
    x->csi.token.r = -ERR_TIMEOUT;
    (void)error_set(&x->csi.token.err, ERR_TIMEOUT, "no token");
    ASSERT_ERR(ERR_UNAVAILABLE, publish(x));
    ASSERT_STR("no token", err.msg);
    assert_true(is_mounted(target_of(x)));
}

#define TOKENS                                                                              \
    "{\"one\":{\"token\":\"t1\",\"expirationTimestamp\":\"e1\"},\"two\":{\"token\":\"t2\"," \
    "\"expirationTimestamp\":\"e2\"}}"

/* node-16 */
TEST(pod_info_and_tokens)
{
    static const struct csi_token tokens[] = { { "one", STR_LIT("t1"), "e1" },
                                               { "two", STR_LIT("t2"), "e2" } };

    skip_without_private_mounts();
    _cleanup_(csi_bench_free_p) struct csi_bench *x = csi_bench_new();
    bench_volume(x, ",'volumeAttributes':{'csi.storage.k8s.io/pod.name':'mine'}",
                 ",'accessModes':['ReadWriteOnce']");
    bench_csi_driver(x, "'podInfoOnMount':true,'tokenRequests':[{'audience':'one'},{'audience':'two'}]");
    x->csi.tokens = tokens;
    x->csi.tokens_count = 2;
    ASSERT_OK(stage(x));
    ASSERT_OK(publish(x));
    ASSERT_ASKED(x, "NodePublishVolume", "volume_context.csi.storage.k8s.io/pod.name=p1");
    ASSERT_NOT_ASKED(x, "NodePublishVolume", "mine");
    ASSERT_ASKED(x, "NodePublishVolume", "volume_context.csi.storage.k8s.io/pod.namespace=a");
    ASSERT_ASKED(x, "NodePublishVolume", "volume_context.csi.storage.k8s.io/pod.uid=" UID1);
    ASSERT_ASKED(x, "NodePublishVolume", "volume_context.csi.storage.k8s.io/serviceAccount.name=");
    ASSERT_ASKED(x, "NodePublishVolume", "volume_context.csi.storage.k8s.io/ephemeral=false");
    ASSERT_ASKED(x, "NodePublishVolume", "volume_context.csi.storage.k8s.io/serviceAccount.tokens=" TOKENS);
    ASSERT_NOT_ASKED(x, "NodePublishVolume", "secret.");
    bench_csi_driver(x, "'tokenRequests':[{'audience':'one'},{'audience':'two'}],"
                        "'serviceAccountTokenInSecrets':true");
    ASSERT_OK(publish(x));
    ASSERT_ASKED(x, "NodePublishVolume", "secret.csi.storage.k8s.io/serviceAccount.tokens=" TOKENS);
    ASSERT_NOT_ASKED(x, "NodePublishVolume", "volume_context.csi.storage.k8s.io/serviceAccount");
}

/* node-17 */
TEST(volumes_of_pods_need_the_drivers_consent)
{
    skip_without_private_mounts();
    _cleanup_(csi_bench_free_p) struct csi_bench *x = csi_bench_new();

    bench_inline(x, "");
    ASSERT_ERR(ERR_UNAVAILABLE, publish(x));
    ASSERT_STR("volume mode \"Ephemeral\" not supported by driver test.csi (no CSIDriver object)", err.msg);
    bench_csi_driver(x, "'volumeLifecycleModes':['Persistent']");
    ASSERT_ERR(ERR_UNAVAILABLE, publish(x));
    ASSERT_STR("volume mode \"Ephemeral\" not supported by driver test.csi (only supports [\"Persistent\"])",
               err.msg);
    bench_volume(x, "", ",'accessModes':['ReadWriteOnce']");
    bench_csi_driver(x, "'volumeLifecycleModes':['Ephemeral']");
    ASSERT_ERR(ERR_UNAVAILABLE, publish(x));
    ASSERT_STR("volume mode \"Persistent\" not supported by driver test.csi (only supports [\"Ephemeral\"])",
               err.msg);
    ASSERT_CALLS(x, "");
}

/* node-18 */
TEST(volume_of_a_pod)
{
    skip_without_private_mounts();
    _cleanup_(csi_bench_free_p) struct csi_bench *x = csi_bench_new();
    char command[PATH_MAX * 2];

    bench_inline(x, ",'readOnly':true,'volumeAttributes':{'k':'v'},'nodePublishSecretRef':{'name':'s'}");
    bench_csi_driver(x, "'volumeLifecycleModes':['Ephemeral'],'podInfoOnMount':true");
    bench_secret(x, "'key':'c2VjcmV0'");
    x->csi.attachment = (struct csi_fetched){ 0 };
    ASSERT_OK(publish(x));
    (void)snprintf(command, sizeof command,
                   "h=$(printf '%%s' '" UID1
                   "scratch' | sha256sum | cut -c1-64); grep -q \"NodePublishVolume "
                   "csi-$h 0\" '%s'",
                   driver_file(&x->driver, "log"));
    sh("%s", command);
    ASSERT_ASKED(x, "NodePublishVolume", "staging=");
    ASSERT_ASKED(x, "NodePublishVolume", "readonly=true");
    ASSERT_ASKED(x, "NodePublishVolume", "secret.key=secret");
    ASSERT_ASKED(x, "NodePublishVolume", "volume_context.csi.storage.k8s.io/ephemeral=true");
    ASSERT_ASKED(x, "NodePublishVolume", "mode=1");
    assert_true(x->plugin.plugin.pods->attributes(&x->plugin.plugin, &x->q.spec).is_read_only);
    assert_non_null(
        strstr(file_text(beside(target_of(x), "vol_data.json")), "\"volumeLifecycleMode\":\"Ephemeral\""));
    ASSERT_OK(unpublish(x));
    ASSERT_CALLS(x, "NodePublishVolume:0 NodeUnpublishVolume:0");
}

static gid_t group_of(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return st.st_gid;
}

/* node-19, and the rest of the policies: the volume's files are given to the group, or not. */
TEST(group_policies)
{
    static const struct {
        const char *policy; /* NULL: no CSIDriver */
        const char *source, *mode;
        bool is_read_only, is_given;
    } rows[] = {
        { NULL, ",'fsType':'ext4'", "ReadWriteOnce", false, true },
        { NULL, ",'fsType':'ext4'", "ReadWriteOncePod", false, true },
        { NULL, "", "ReadWriteOnce", false, false },
        { NULL, ",'fsType':'ext4'", "ReadWriteOnce", true, false },
        { "ReadWriteOnceWithFSType", ",'fsType':'ext4'", "ReadWriteMany", false, false },
        { "ReadWriteOnceWithFSType", ",'fsType':'ext4'", "ReadWriteOnce", false, true },
        { "File", "", "ReadWriteMany", false, true },
        { "File", "", "ReadWriteMany", true, false },
        { "None", ",'fsType':'ext4'", "ReadWriteOnce", false, false },
    };
    char text[256];

    skip_without_private_mounts();
    _cleanup_(csi_bench_free_p) struct csi_bench *x = csi_bench_new();
    driver_set(&x->driver, "capabilities", "");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        (void)snprintf(text, sizeof text, "'fsGroupPolicy':'%s'", rows[i].policy ? rows[i].policy : "");
        bench_csi_driver(x, rows[i].policy ? text : NULL);
        (void)snprintf(text, sizeof text, ",'accessModes':['%s']", rows[i].mode);
        bench_volume(x, rows[i].source, text);
        x->q.spec.is_read_only = rows[i].is_read_only;
        x->q.fs_group = 1000 + (int64_t)i;
        ASSERT_OK(publish(x));
        if ((group_of(target_of(x)) == 1000 + i) != rows[i].is_given)
            fail_msg("row %zu: group %u", i, group_of(target_of(x)));
        ASSERT_ASKED(x, "NodePublishVolume", "group=");
        ASSERT_OK(unpublish(x));
    }
}

/* node-20 */
TEST(driver_gives_the_group)
{
    skip_without_private_mounts();
    _cleanup_(csi_bench_free_p) struct csi_bench *x = csi_bench_new();

    driver_set(&x->driver, "capabilities", "1 6");
    bench_csi_driver(x, "'fsGroupPolicy':'File'");
    x->q.fs_group = x->csi.fs_group = 1000;
    ASSERT_OK(stage(x));
    ASSERT_ASKED(x, "NodeStageVolume", "group=1000");
    ASSERT_OK(publish(x));
    ASSERT_ASKED(x, "NodePublishVolume", "group=1000");
    ASSERT_INT(getegid(), group_of(target_of(x)));
}

/* What is published and cannot be given to the group is there, and not as it should be. */
TEST(group_that_cannot_be_given)
{
    skip_without_private_mounts();
    _cleanup_(csi_bench_free_p) struct csi_bench *x = csi_bench_new();

    bench_csi_driver(x, "'fsGroupPolicy':'File'");
    ASSERT_OK(stage(x));
    ASSERT_OK(publish(x));
    sh("touch '%s/file'", target_of(x));
    x->q.fs_group = 1000;
    atomic_store(&x->stop, 0);
    driver_set(&x->driver, "capabilities", "1");
    x->b->env.stop = &x->stop;
    sh("umount '%s' && rmdir '%s' && touch '%s'", target_of(x), target_of(x), target_of(x));
    ASSERT_ERR(ERR_INCOMPLETE, publish(x)); /* the driver believes it is published: there is a file */
    assert_non_null(strstr(err.msg, "applyFSGroup failed for vol " HANDLE ": "));
}

/* node-23, the plugin's half: the error is told, and all of it stays. */
TEST(unpublish_that_fails)
{
    skip_without_private_mounts();
    _cleanup_(csi_bench_free_p) struct csi_bench *x = csi_bench_new();

    ASSERT_OK(stage(x));
    ASSERT_OK(publish(x));
    driver_set(&x->driver, "fail-NodeUnpublishVolume", "13 busy");
    ASSERT_ERR(ERR_INTERNAL, unpublish(x));
    assert_true(is_mounted(target_of(x)));
    assert_true(exists(beside(target_of(x), "vol_data.json")));
    driver_set(&x->driver, "fail-NodeUnstageVolume", "13 busy");
    ASSERT_ERR(ERR_INTERNAL, unstage(x));
    assert_true(exists(beside(x->device_path, "vol_data.json")));
}

/* node-29, the plugin's half. */
TEST(tear_down_needs_the_data_file)
{
    skip_without_private_mounts();
    _cleanup_(csi_bench_free_p) struct csi_bench *x = csi_bench_new();
    const struct volume_plugin *p = &x->plugin.plugin;
    struct object *o = NULL;
    char expected[PATH_MAX + 128];

    ASSERT_OK(stage(x));
    ASSERT_OK(publish(x));
    sh("echo '{}' > '%s'", beside(target_of(x), "vol_data.json"));
    ASSERT_ERR(ERR_INVALID, unpublish(x));
    assert_int_equal(unlink(beside(target_of(x), "vol_data.json")), 0);
    ASSERT_ERR(ERR_NOT_FOUND, unpublish(x));
    (void)snprintf(expected, sizeof expected,
                   "unmounter failed to load volume data file [%s]: ", beside(target_of(x), ""));
    assert_memory_equal(err.msg, expected, strlen(expected));
    ASSERT_ERR(ERR_NOT_FOUND, p->reconstruct(p, &x->b->env, "pv1", UID1, false, &o, &err));
    assert_true(is_mounted(target_of(x)));
}

/* Before the call, but not before everything: an earlier one may have been carried out. */
TEST(data_file_that_cannot_be_written_leaves_something)
{
    skip_without_private_mounts();
    _cleanup_(csi_bench_free_p) struct csi_bench *x = csi_bench_new();

    sh("mkdir -p '%s'", beside(x->device_path, "vol_data.json/x"));
    ASSERT_ERR(ERR_INCOMPLETE, stage(x));
    sh("rm -r '%s'", beside(x->device_path, "vol_data.json"));
    sh("rmdir '%s' && : > '%s'", x->device_path, x->device_path);
    ASSERT_ERR(ERR_INCOMPLETE, stage(x)); /* nor can its directory be made */
    ASSERT_INT(0, unlink(x->device_path));
    ASSERT_OK(stage(x));
    sh("mkdir -p '%s'", beside(target_of(x), "vol_data.json/x"));
    ASSERT_ERR(ERR_INCOMPLETE, publish(x));
    sh("rm -r '%s'", beside(target_of(x), "vol_data.json"));
    ASSERT_OK(publish(x));
}

/* A removal that was cut off behind the data file, and one of a data file that was never finished. */
TEST(tear_down_finishes_a_removal)
{
    skip_without_private_mounts();
    _cleanup_(csi_bench_free_p) struct csi_bench *x = csi_bench_new();

    ASSERT_OK(stage(x));
    ASSERT_OK(publish(x));
    ASSERT_OK(unpublish(x));
    assert_false(exists(beside(target_of(x), "")));
    sh("mkdir -p '%s'", beside(target_of(x), ""));
    sh(": > '%s'", beside(target_of(x), ".berth-tmp-0123456789abcdef"));
    ASSERT_OK(unpublish(x));
    assert_false(exists(beside(target_of(x), "")));
}

/* Without the capability, only what is ours goes. */
TEST(unstage_of_a_driver_that_forgot_how)
{
    skip_without_private_mounts();
    _cleanup_(csi_bench_free_p) struct csi_bench *x = csi_bench_new();

    ASSERT_OK(stage(x));
    assert_int_equal(umount2(x->device_path, 0), 0);
    driver_set(&x->driver, "capabilities", "2");
    ASSERT_OK(unstage(x));
    assert_false(exists(beside(x->device_path, "")));
    ASSERT_CALLS(x, "NodeStageVolume:0");
}

/* A stop ends the wait for a driver that does not answer. */
TEST(stopped_call_is_uncertain)
{
    skip_without_private_mounts();
    _cleanup_(csi_bench_free_p) struct csi_bench *x = csi_bench_new();

    ASSERT_OK(stage(x));
    atomic_store(&x->stop, 1);
    ASSERT_ERR(ERR_UNAVAILABLE, publish(x)); /* not even asked what it can do */
    atomic_store(&x->stop, 0);
    ASSERT_OK(publish(x));
}

/* Secrets that are no text are no secrets of the protocol. */
TEST(secret_values_are_texts)
{
    skip_without_private_mounts();
    _cleanup_(csi_bench_free_p) struct csi_bench *x = csi_bench_new();

    bench_volume(x, ",'nodeStageSecretRef':{'name':'s','namespace':'a'}", ",'accessModes':['ReadWriteOnce']");
    bench_secret(x, "'key':'/w=='");
    ASSERT_ERR(ERR_INVALID, stage(x));
    ASSERT_STR("NodeStageSecretRef a/s: value of key 'key' is not text", err.msg);
    assert_false(exists(x->device_path));
}

TEST_MAIN()
