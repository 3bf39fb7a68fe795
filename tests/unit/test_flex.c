/* Calls of drivers: what they are given, what stands for commands that they do not support, and drivers that
 * misbehave. */
#include "tests/unit/test_flex.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>

#include "api/base64.h"
#include "plugins/registry.h"

/* Writes down its arguments and answers what a file beside it says; Success without one. */
#define RECORDER                                                            \
    "d=${0%/*}\necho \"$*\" >> \"$d/.log\"\n"                               \
    "[ -e \"$d/.answer-$1\" ] && { cat \"$d/.answer-$1\"; exit 1; }\necho " \
    "'{\"status\":\"Success\",\"device\":\"/dev/x\","                       \
    "\"attached\":true}'"
#define UNSUPPORTED "{\"status\":\"Not supported\"}"

static struct flex_driver *record(struct flex_fixture *f)
{
    struct flex_driver *d;

    install(f, "acme~disk", RECORDER);
    d = flex_load(f, "acme~disk");
    sh("rm -f '%s/acme~disk/.log'", f->drivers);
    return d;
}

static void answer(const struct flex_fixture *f, const char *command, const char *text)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof path, "%s/acme~disk/.answer-%s", f->drivers, command);
    put_file(path, text);
}

/* What the driver was told since the last time. */
static const char *recorded(const struct flex_fixture *f)
{
    char path[PATH_MAX];
    const char *text;

    (void)snprintf(path, sizeof path, "%s/acme~disk/.log", f->drivers);
    text = text_of(path);
    (void)unlink(path);
    return text;
}

#define JSON_RW                                                                                \
    "{\"kubernetes.io/fsType\":\"\",\"kubernetes.io/pvOrVolumeName\":\"pv1\",\"kubernetes.io/" \
    "readwrite\":\"rw\"}"

/* --- Arguments --- */

TEST(flex_attach_family_passes_arguments)
{
    _cleanup_(flex_fixture_free_p) struct flex_fixture *f = flex_fixture_new();
    _cleanup_(object_unref_p) struct object *pv = flex_volume("acme/disk", "");
    struct flex_driver *d = record(f);
    const struct volume_plugin *p = &d->plugin;
    struct volume_spec spec = { .volume = volume_of(pv) };
    char device[PATH_MAX] = "?";
    bool is = false;

    assert_true(plugin_attaches(p, &spec));
    ASSERT_OK(p->attach->attach(p, &f->env, &spec, "n7", device, &err));
    ASSERT_STR("/dev/x", device);
    ASSERT_STR("attach " JSON_RW " n7\n", recorded(f));
    ASSERT_OK(p->attach->detach(p, &f->env, "pv1", "n7", &err));
    ASSERT_STR("detach pv1 n7\n", recorded(f));
    ASSERT_OK(p->attach->is_attached(p, &f->env, &spec, "n7", &is, &err));
    ASSERT_STR("isattached " JSON_RW " n7\n", recorded(f));
    assert_true(is);
    ASSERT_OK(p->attach->wait(p, &f->env, &spec, "/dev/y", 10 * NS_PER_S, device, &err));
    ASSERT_STR("waitforattach /dev/y " JSON_RW "\n", recorded(f));
    ASSERT_STR("/dev/x", device);
}

TEST(flex_expand_family_passes_arguments)
{
    _cleanup_(flex_fixture_free_p) struct flex_fixture *f = flex_fixture_new();
    _cleanup_(object_unref_p) struct object *pv = flex_volume("acme/disk", "");
    struct flex_driver *d = record(f);
    struct expand_request q = { .spec.volume = volume_of(pv),
                                .device_path = "/dev/x",
                                .mount_path = "/m",
                                .new_bytes = UINT64_MAX,
                                .old_bytes = 7 };
    uint64_t bytes = 0;
    bool done = false;

    assert_true(d->plugin.expand->needs_fs_resize);
    ASSERT_OK(d->plugin.expand->expand(&d->plugin, &f->env, &q, &bytes, &err));
    ASSERT_STR("expandvolume " JSON_RW " /m 18446744073709551615 7\n", recorded(f));
    assert_true(bytes == UINT64_MAX);
    ASSERT_OK(d->plugin.expand->expand_on_node(&d->plugin, &f->env, &q, &done, &err));
    ASSERT_STR("expandfs " JSON_RW " /dev/x /m 18446744073709551615 7\n", recorded(f));
    assert_true(done);
}

TEST(flex_mount_family_passes_arguments)
{
    skip_without_private_mounts();
    _cleanup_(flex_fixture_free_p) struct flex_fixture *f = flex_fixture_new();
    _cleanup_(object_unref_p) struct object *pv = flex_volume("acme/disk", ""),
                                            *pod = flex_object(&pod_kind, FLEX_POD);
    const struct volume_plugin *p = &record(f)->plugin;
    struct set_up_request q = { .spec.volume = volume_of(pv), .pod = pod_of(pod), .fs_group = -1 };
    char path[PATH_MAX], expected[PATH_MAX * 2];
    struct device_request dq = { .spec = q.spec, .device_path = "/dev/x", .mount_path = path };
    enum format_failure why;
    struct stat st;

    ASSERT_OK(p->devices->mount_path(p, &f->env, &q.spec, path, &err));
    (void)snprintf(expected, sizeof expected, "%s/plugins/kubernetes.io/flexvolume/acme/disk/mounts/pv1",
                   f->root);
    ASSERT_STR(expected, path);
    ASSERT_OK(p->devices->mount(p, &f->env, &dq, &why, &err));
    (void)snprintf(expected, sizeof expected, "mountdevice %s /dev/x " JSON_RW "\n", path);
    ASSERT_STR(expected, recorded(f));
    assert_int_equal(stat(path, &st), 0);
    ASSERT_INT(0750, st.st_mode & 07777);
    assert_int_equal(mount("t", path, "tmpfs", 0, NULL), 0);
    ASSERT_OK(p->devices->mount(p, &f->env, &dq, &why, &err));
    ASSERT_STR("", recorded(f));                                        /* it is mounted already */
    ASSERT_INT(-ERR_BUSY, p->devices->unmount(p, &f->env, path, &err)); /* says yes and does nothing */
    (void)snprintf(expected, sizeof expected, "unmountdevice %s\n", path);
    ASSERT_STR(expected, recorded(f));
    assert_int_equal(umount(path), 0);
    ASSERT_OK(p->devices->unmount(p, &f->env, path, &err));
    ASSERT_STR("", recorded(f)); /* nothing is mounted: only the directory goes */
    assert_int_equal(access(path, F_OK), -1);
    ASSERT_OK(p->devices->unmount(p, &f->env, path, &err));
    ASSERT_STR("", recorded(f));

    ASSERT_OK(p->pods->path(p, f->root, "u-1", "pv1", &q.spec, path, &err));
    (void)snprintf(expected, sizeof expected, "%s/pods/u-1/volumes/acme~disk/pv1", f->root);
    ASSERT_STR(expected, path);
    ASSERT_OK(p->pods->tear_down(p, &f->env, "pv1", "u-1", &err));
    ASSERT_STR("", recorded(f)); /* not there: the driver is not asked */
    ASSERT_OK(p->pods->set_up(p, &f->env, &q, &err));
    (void)snprintf(expected, sizeof expected,
                   "mount %s {\"kubernetes.io/fsType\":\"\",\"kubernetes.io/pod.name\":\"web\","
                   "\"kubernetes.io/pod.namespace\":\"shop\",\"kubernetes.io/pod.uid\":\"u-1\","
                   "\"kubernetes.io/pvOrVolumeName\":\"pv1\",\"kubernetes.io/readwrite\":\"rw\","
                   "\"kubernetes.io/serviceAccount.name\":\"runner\"}\n",
                   path);
    ASSERT_STR(expected, recorded(f));
    assert_int_equal(stat(path, &st), 0);
    ASSERT_INT(0750, st.st_mode & 07777);
    ASSERT_OK(p->pods->tear_down(p, &f->env, "pv1", "u-1", &err));
    (void)snprintf(expected, sizeof expected, "unmount %s\n", path);
    ASSERT_STR(expected, recorded(f));
    assert_int_equal(access(path, F_OK), -1);
}

/* --- The JSON argument --- */

static void check_json(const struct volume_spec *s, const struct set_up_request *q, const char *expected)
{
    _cleanup_(buf_done_p) struct buf json = BUF_INIT(FLEX_JSON_BYTES_MAX);

    ASSERT_OK(flex_volume_json(s, q, &json, &err));
    ASSERT_STR(expected, buf_cstr(&json));
}

/* plugins-52: the user's options win over everything. */
TEST(flex_options_override)
{
    _cleanup_(object_unref_p) struct object *pv = flex_volume(
        "acme/disk", ",\"fsType\":\"ext4\",\"options\":{\"kubernetes.io/fsType\":\"xfs\",\"a\":\"q\\\"1\","
                     "\"kubernetes.io/readwrite\":\"mine\",\"z\":\"\"}");

    check_json(&(struct volume_spec){ .volume = volume_of(pv), .is_read_only = true }, NULL,
               "{\"a\":\"q\\\"1\",\"kubernetes.io/fsType\":\"xfs\",\"kubernetes.io/pvOrVolumeName\":\"pv1\","
               "\"kubernetes.io/readwrite\":\"mine\",\"z\":\"\"}");
}

/* A PersistentVolume is read-only by the pod's claim, a pod's own volume by its source. */
TEST(flex_says_read_only)
{
    _cleanup_(object_unref_p) struct object *pv = flex_volume("acme/disk", ",\"readOnly\":true"),
                                            *pod = flex_object(
                                                &pod_kind,
                                                "{\"spec\":{\"volumes\":[{\"name\":\"v\",\"flexVolume\":{"
                                                "\"driver\":\"acme/disk\",\"readOnly\":true}}]}}");

    check_json(&(struct volume_spec){ .volume = volume_of(pv) }, NULL, JSON_RW);
    check_json(&(struct volume_spec){ .inlined = pod_volume(pod_of(pod), "v") }, NULL,
               "{\"kubernetes.io/fsType\":\"\",\"kubernetes.io/pvOrVolumeName\":\"v\","
               "\"kubernetes.io/readwrite\":\"ro\"}");
}

#define SECRET(type)                                                                                     \
    "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"key\",\"namespace\":\"shop\"}," \
    "\"type\":\"" type "\",\"data\":{\"user\":\"Ym9i\",\"bytes\":\"AAH/\"}}"

TEST(flex_mounts_get_the_secret)
{
    _cleanup_(object_unref_p) struct object *pv =
                                                flex_volume("acme/disk", ",\"secretRef\":{\"name\":\"key\"}"),
                                            *pod = flex_object(&pod_kind, FLEX_POD),
                                            *secret = flex_object(&secret_kind, SECRET("acme/disk"));
    struct volume_content content = { .object = secret };
    struct set_up_request q = { .spec.volume = volume_of(pv),
                                .pod = pod_of(pod),
                                .contents = &content,
                                .contents_count = 1,
                                .fs_group = 2000 };

    check_json(&q.spec, &q,
               "{\"kubernetes.io/fsType\":\"\",\"kubernetes.io/mounterArgs.FsGroup\":\"2000\","
               "\"kubernetes.io/pod.name\":\"web\",\"kubernetes.io/pod.namespace\":\"shop\","
               "\"kubernetes.io/pod.uid\":\"u-1\",\"kubernetes.io/pvOrVolumeName\":\"pv1\","
               "\"kubernetes.io/readwrite\":\"rw\",\"kubernetes.io/secret/bytes\":\"AAH/\","
               "\"kubernetes.io/secret/user\":\"Ym9i\",\"kubernetes.io/serviceAccount.name\":\"runner\"}");
    check_json(&q.spec, NULL, JSON_RW); /* of other commands nothing is secret */
}

TEST(flex_refuses_secrets_that_are_not_its_own)
{
    _cleanup_(object_unref_p) struct object
        *pv = flex_volume("acme/disk", ",\"secretRef\":{\"name\":\"key\"}"),
        *far = flex_volume("acme/disk", ",\"secretRef\":{\"name\":\"key\",\"namespace\":\"vault\"}"),
        *pod = flex_object(&pod_kind, FLEX_POD), *secret = flex_object(&secret_kind, SECRET("Opaque")),
        *map = flex_object(&config_map_kind, "{\"metadata\":{\"name\":\"key\"}}");
    struct volume_content missing = { .r = -ERR_NOT_FOUND,
                                      .err = { ERR_NOT_FOUND, "secrets \"key\" not found" } };
    struct volume_content wrong_type = { .object = secret }, wrong_kind = { .object = map };
    const struct {
        const struct object *volume;
        const struct volume_content *content;
        enum err code;
        const char *text;
    } rows[] = {
        { pv, &missing, ERR_NOT_FOUND, "couldn't get secret shop/key err: secrets \"key\" not found" },
        { far, &missing, ERR_NOT_FOUND, "couldn't get secret vault/key err: secrets \"key\" not found" },
        { pv, &wrong_type, ERR_INVALID,
          "couldn't get secret shop/key err: cannot get secret of type acme/disk" },
        { pv, &wrong_kind, ERR_INTERNAL, "couldn't get secret shop/key err: it is not a Secret" },
        { pv, NULL, ERR_UNAVAILABLE, "couldn't get secret shop/key err: it was not fetched" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(buf_done_p) struct buf json = BUF_INIT(FLEX_JSON_BYTES_MAX);
        struct set_up_request q = { .spec.volume = volume_of(rows[i].volume),
                                    .pod = pod_of(pod),
                                    .contents = rows[i].content,
                                    .contents_count = rows[i].content ? 1 : 0,
                                    .fs_group = -1 };
        ASSERT_ERR(rows[i].code, flex_volume_json(&q.spec, &q, &json, &err));
        ASSERT_STR(rows[i].text, err.msg);
    }
}

/* A driver that shows its arguments shows them to nobody. */
TEST(flex_errors_keep_secrets)
{
    skip_without_private_mounts();
    _cleanup_(flex_fixture_free_p) struct flex_fixture *f = flex_fixture_new();
    _cleanup_(object_unref_p) struct object *pv =
                                                flex_volume("acme/disk", ",\"secretRef\":{\"name\":\"key\"}"),
                                            *pod = flex_object(&pod_kind, FLEX_POD),
                                            *secret = flex_object(&secret_kind, SECRET("acme/disk"));
    struct volume_content content = { .object = secret };
    struct set_up_request q = { .spec.volume = volume_of(pv),
                                .pod = pod_of(pod),
                                .contents = &content,
                                .contents_count = 1,
                                .fs_group = -1 };
    static const char *const ends[] = { "", "exit 1", "kill -KILL $$" };

    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        char body[512];
        (void)snprintf(body, sizeof body,
                       "[ $1 = init ] && echo '{\"status\":\"Success\"}' && exit\necho \"$@\" >&2\n%s",
                       ends[i]);
        install(f, "acme~disk", body);
        const struct volume_plugin *p = &flex_load(f, "acme~disk")->plugin;
        assert_true(p->pods->set_up(p, &f->env, &q, &err) < 0);
        assert_null(strstr(err.msg, "Ym9i"));
    }
}

/* What the kernel would not take as one argument is an error, with many options as with a large one. */
TEST(flex_options_have_a_limit)
{
    for (unsigned many = 0; many < 2; many++) {
        _cleanup_(buf_done_p) struct buf json = BUF_INIT(FLEX_JSON_BYTES_MAX), text = BUF_INIT(4 << 20);
        buf_add_cstr(
            &text,
            "{\"metadata\":{\"name\":\"pv1\"},\"spec\":{\"flexVolume\":{\"driver\":\"a/b\",\"options\":{");
        for (unsigned i = 0; i < (many ? 100000 : 1); i++)
            buf_addf(&text, "%s\"k%u\":\"%0*d\"", i ? "," : "", i, many ? 1 : 131072, 0);
        buf_add_cstr(&text, "}}}}");
        _cleanup_(object_unref_p) struct object *pv = flex_object(&volume_kind, buf_cstr(&text));
        ASSERT_ERR(ERR_TOO_LARGE,
                   flex_volume_json(&(struct volume_spec){ .volume = volume_of(pv) }, NULL, &json, &err));
        assert_true(strlen(err.msg) < 200);
    }
}

/* --- Not supported --- */

/* plugins-49: what a driver does not support is asked once, and again of a driver that was replaced. */
TEST(flex_asks_once_for_what_is_not_supported)
{
    _cleanup_(flex_fixture_free_p) struct flex_fixture *f = flex_fixture_new();
    _cleanup_(object_unref_p) struct object *pv = flex_volume("acme/disk", "");
    struct volume_spec spec = { .volume = volume_of(pv) };
    const struct volume_plugin *p = &record(f)->plugin;
    char device[PATH_MAX] = "";

    answer(f, "waitforattach", UNSUPPORTED);
    for (unsigned i = 0; i < 3; i++) {
        ASSERT_OK(p->attach->wait(p, &f->env, &spec, "/dev/given", NS_PER_S * 9, device, &err));
        ASSERT_STR("/dev/given", device);
        ASSERT_STR(i == 0 ? "waitforattach /dev/given " JSON_RW "\n" : "", recorded(f));
    }
    ASSERT_OK(p->attach->attach(p, &f->env, &spec, "n", device, &err)); /* another command is asked */
    ASSERT_STR("attach " JSON_RW " n\n", recorded(f));
    p = &flex_load(f, "acme~disk")->plugin;
    (void)recorded(f);
    ASSERT_OK(p->attach->wait(p, &f->env, &spec, "/dev/given", NS_PER_S * 9, device, &err));
    ASSERT_STR("waitforattach /dev/given " JSON_RW "\n", recorded(f));
}

TEST(flex_does_without_what_is_not_supported)
{
    static const char *const commands[] = { "attach", "detach", "isattached", "expandvolume", "expandfs" };
    _cleanup_(flex_fixture_free_p) struct flex_fixture *f = flex_fixture_new();
    _cleanup_(object_unref_p) struct object *pv =
        flex_object(&volume_kind, "{\"metadata\":{\"name\":\"pv1\"},\"spec\":{\"volumeMode\":\"Block\","
                                  "\"flexVolume\":{\"driver\":\"acme/disk\"}}}");
    struct volume_spec spec = { .volume = volume_of(pv) };
    struct expand_request q = { .spec = spec, .device_path = "", .mount_path = "/m", .new_bytes = 9 };
    const struct volume_plugin *p = &record(f)->plugin;
    char device[PATH_MAX] = "?";
    bool is = true, done = false;
    uint64_t bytes = 0;

    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        answer(f, commands[i], UNSUPPORTED);
    ASSERT_OK(p->attach->attach(p, &f->env, &spec, "n", device, &err));
    ASSERT_STR("", device);
    ASSERT_OK(p->attach->detach(p, &f->env, "pv1", "n", &err));
    ASSERT_ERR(ERR_UNSUPPORTED, p->attach->is_attached(p, &f->env, &spec, "n", &is, &err));
    ASSERT_OK(p->expand->expand(p, &f->env, &q, &bytes, &err));
    ASSERT_INT(9, bytes);
    ASSERT_OK(p->expand->expand_on_node(p, &f->env, &q, &done, &err)); /* of a block volume nothing grows */
    assert_true(done);
}

/* --- Drivers that misbehave --- */

static int call(struct flex_fixture *f, const char *body, uint64_t limit_ns, char device[PATH_MAX])
{
    _cleanup_(object_unref_p) struct object *pv = flex_volume("acme/disk", "");
    struct volume_spec spec = { .volume = volume_of(pv) };
    char script[4096];
    const struct volume_plugin *p;

    (void)snprintf(script, sizeof script,
                   "d=${0%%/*}\n[ $1 = init ] && echo '{\"status\":\"Success\"}' && exit\n%s", body);
    install(f, "acme~disk", script);
    p = &flex_load(f, "acme~disk")->plugin;
    return p->attach->wait(p, &f->env, &spec, "/dev/given", limit_ns, device, &err);
}

TEST(flex_tells_what_drivers_do_wrong)
{
    _cleanup_(flex_fixture_free_p) struct flex_fixture *f = flex_fixture_new();
    static const struct {
        const char *body;
        enum err code;
        const char *text; /* a part of it */
    } rows[] = {
        { "echo garbage", ERR_BAD_REQUEST, "waitforattach command: invalid response of driver: " },
        { "exit 0", ERR_BAD_REQUEST, "waitforattach command: invalid response of driver: " },
        { "exit 3", ERR_BAD_REQUEST, "waitforattach command: invalid response of driver: " },
        { "echo '{\"status\":\"Failure\",\"message\":\"m\"}'", ERR_IO,
          "waitforattach command failed, status: Failure, reason: m" },
        { "echo '{\"status\":\"Failure\",\"message\":\"m\"}'; exit 1", ERR_IO,
          "waitforattach command failed, status: Failure, reason: m" },
        { "echo '{\"status\":\"Success\"}'; exit 7", ERR_IO, "waitforattach command: exit status 7" },
        { "echo debug >&2; echo '{\"status\":\"Success\"}'", ERR_BAD_REQUEST,
          "invalid response of driver: " },
        { "kill -SEGV $$", ERR_UNCERTAIN, "killed by signal 11" },
        { "head -c 100000000 /dev/zero", ERR_BAD_REQUEST, "response of driver is longer than 65536 bytes" },
        { "head -c 70000 /dev/zero | tr '\\0' ' '; echo '{\"status\":\"Success\"}'", ERR_BAD_REQUEST,
          "response of driver is longer than 65536 bytes" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char device[PATH_MAX] = "?";
        ASSERT_ERR(rows[i].code, call(f, rows[i].body, 20 * NS_PER_S, device));
        if (!strstr(err.msg, rows[i].text))
            fail_msg("row %zu: '%s' is not in '%s'", i, rows[i].text, err.msg);
        ASSERT_STR("?", device);
    }
}

/* A driver that mounts and then fails, and what it mounted cannot be unmounted: it is there all the same. */
TEST(flex_tells_of_a_mount_that_cannot_be_undone)
{
    skip_without_private_mounts();
    _cleanup_(flex_fixture_free_p) struct flex_fixture *f = flex_fixture_new();
    _cleanup_(object_unref_p) struct object *pv = flex_volume("acme/disk", "");
    const struct volume_plugin *p;
    char path[PATH_MAX], inner[PATH_MAX + 4];
    struct device_request q = { .spec.volume = volume_of(pv), .device_path = "/dev/x", .mount_path = path };
    enum format_failure why;

    install(f, "acme~disk",
            "[ $1 = init ] && echo '{\"status\":\"Success\"}' && exit\n"
            "mount -t tmpfs t \"$2\"; mkdir \"$2/x\"; mount -t tmpfs t \"$2/x\"; exit 1");
    p = &flex_load(f, "acme~disk")->plugin;
    ASSERT_OK(p->devices->mount_path(p, &f->env, &q.spec, path, &err));
    ASSERT_ERR(ERR_INCOMPLETE, p->devices->mount(p, &f->env, &q, &why, &err));
    (void)snprintf(inner, sizeof inner, "%s/x", path);
    assert_int_equal(umount(inner), 0);
    assert_int_equal(umount(path), 0);
}

/* On standard error alone an answer is one. */
TEST(flex_reads_both_outputs)
{
    _cleanup_(flex_fixture_free_p) struct flex_fixture *f = flex_fixture_new();
    char device[PATH_MAX];

    ASSERT_OK(call(f, "echo '{\"status\":\"Success\",\"device\":\"/dev/e\"}' >&2", 20 * NS_PER_S, device));
    ASSERT_STR("/dev/e", device);
    ASSERT_OK(call(f, "printf '{\"status\":'; printf '\"Success\",' >&2; echo '\"device\":\"/dev/b\"}'",
                   20 * NS_PER_S, device));
    ASSERT_STR("/dev/b", device);
}

/* Gone, or dead and not yet buried by whoever inherited it. */
static bool is_running(long pid)
{
    char path[64];
    const char *stat_text, *end;

    (void)snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    stat_text = text_of(path);
    end = strrchr(stat_text, ')');
    return end && end[2] != 'Z' && end[2] != 'X';
}

static long child_of(const struct flex_fixture *f)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof path, "%s/acme~disk/.child", f->drivers);
    return strtol(text_of(path), NULL, 10);
}

/* A hanging driver is ended at its limit, with its children. */
TEST(flex_ends_drivers_that_hang)
{
    _cleanup_(flex_fixture_free_p) struct flex_fixture *f = flex_fixture_new();
    char device[PATH_MAX];

    ASSERT_ERR(ERR_UNCERTAIN, call(f, "sleep 1000 & echo $! > $d/.child; wait", 300 * NS_PER_MS, device));
    ASSERT_STR("timeout", err.msg);
    (void)signal(SIGALRM, test_on_deadline);
    (void)alarm(TEST_DEADLINE_S);
    while (is_running(child_of(f)))
        (void)poll(NULL, 0, 5);
    (void)alarm(0);
}

/* What a driver leaves behind lives on (a daemon that serves the mount), and does not hold the answer up. */
TEST(flex_does_not_wait_for_what_drivers_leave)
{
    _cleanup_(flex_fixture_free_p) struct flex_fixture *f = flex_fixture_new();
    char device[PATH_MAX];
    long child;

    ASSERT_OK(call(f,
                   "sleep 1000 & echo $! > $d/.child\necho '{\"status\":\"Success\",\"device\":\"/dev/l\"}'",
                   20 * NS_PER_S, device));
    ASSERT_STR("/dev/l", device);
    child = child_of(f);
    assert_true(child > 1 && is_running(child));
    assert_int_equal(kill((pid_t)child, SIGKILL), 0);
}

/* Stops once the driver runs. */
static void *stop_later(void *ctx)
{
    struct flex_fixture *f = ctx;
    char path[PATH_MAX];

    (void)snprintf(path, sizeof path, "%s/acme~disk/.child", f->drivers);
    while (access(path, F_OK) != 0)
        (void)poll(NULL, 0, 5);
    atomic_store(&f->stop, 1);
    return NULL;
}

TEST(flex_heeds_stop)
{
    _cleanup_(flex_fixture_free_p) struct flex_fixture *f = flex_fixture_new();
    const struct flex_call init = { .command = FLEX_INIT };
    struct flex_answer a;
    char device[PATH_MAX];
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, stop_later, f), 0);
    ASSERT_ERR(ERR_UNCERTAIN, call(f, "echo $$ > $d/.child; exec sleep 1000", 20 * NS_PER_S, device));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_false(is_running(child_of(f)));
    ASSERT_ERR(ERR_UNAVAILABLE, flex_run(f->driver, &f->env, &init, &a, &err));
    ASSERT_STR("init command: cancelled before start", err.msg);
}

/* The call never began: what was before still holds. */
TEST(flex_tells_when_nothing_began)
{
    _cleanup_(flex_fixture_free_p) struct flex_fixture *f = flex_fixture_new();
    const struct flex_call detach = { .command = FLEX_DETACH, .args = { "v", "n" } };
    struct flex_driver *d = record(f), *none = NULL;
    struct flex_answer a;

    sh("chmod a-x '%s/acme~disk/disk'", f->drivers);
    ASSERT_ERR(ERR_UNAVAILABLE, flex_run(d, &f->env, &detach, &a, &err));
    sh("rm '%s/acme~disk/disk'", f->drivers);
    ASSERT_ERR(ERR_UNAVAILABLE, flex_run(d, &f->env, &detach, &a, &err));
    ASSERT_ERR(ERR_UNAVAILABLE, flex_driver_new(f->drivers, "acme~disk", &f->env.tools, NULL, &none, &err));
    assert_null(none);
}

TEST_MAIN()
