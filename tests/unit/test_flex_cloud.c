/* Whole lives of volumes with real drivers and real mounts: a shell script that mounts a tmpfs, and a cloud
 * whose disks attach to one node at a time. */
#include "tests/unit/test_flex.h"

#include <poll.h>

#include "io/job.h"

#define UNSUPPORTED "echo '{\"status\":\"Not supported\"}'; exit 1"
#define SUCCESS "echo '{\"status\":\"Success\"}'"

struct life {
    struct flex_fixture *f;
    struct object *pv;
    struct object *pod;
    const struct volume_plugin *p;
    struct set_up_request q;
    char device[PATH_MAX];
    char device_dir[PATH_MAX];
    char pod_dir[PATH_MAX];
};

static struct life *life_new(const char *plugin, const char *more)
{
    struct life *x = calloc(1, sizeof *x);

    x->f = flex_fixture_new();
    x->pv = flex_volume(plugin, more);
    x->pod = flex_object(&pod_kind, FLEX_POD);
    x->q = (struct set_up_request){ .spec.volume = volume_of(x->pv), .pod = pod_of(x->pod), .fs_group = -1 };
    return x;
}

static struct life *life_free(struct life *x)
{
    x->f = flex_fixture_free(x->f);
    x->pv = object_unref(x->pv);
    x->pod = object_unref(x->pod);
    free(x);
    return NULL;
}
DEFINE_CLEANUP(struct life, life_free)

static void life_load(struct life *x, const char *dir_name)
{
    x->p = &flex_load(x->f, dir_name)->plugin;
    ASSERT_OK(flex_device_path(x->p, &x->f->env, &x->q.spec, x->device_dir, &err));
    ASSERT_OK(x->p->pods->path(x->p, x->f->root, "u-1", "pv1", &x->q.spec, x->pod_dir, &err));
}

static int set_up(struct life *x)
{
    return x->p->pods->set_up(x->p, &x->f->env, &x->q, &err);
}

static int tear_down(struct life *x)
{
    return x->p->pods->tear_down(x->p, &x->f->env, "pv1", "u-1", &err);
}

static int mount_device(struct life *x)
{
    enum format_failure why = FORMAT_OK;
    struct device_request dq = { .spec = x->q.spec, .device_path = x->device, .mount_path = x->device_dir };

    return x->p->devices->mount(x->p, &x->f->env, &dq, &why, &err);
}

static int unmount_device(struct life *x)
{
    return x->p->devices->unmount(x->p, &x->f->env, x->device_dir, &err);
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

static bool is_mounted(const char *path)
{
    return mounts_in(path) > 0;
}

static gid_t gid_of(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return st.st_gid;
}

/* --- The shell driver --- */

TEST(flex_shell_driver_mounts_and_unmounts)
{
    skip_without_private_mounts();
    _cleanup_(life_free_p) struct life *x = life_new("berth/dummy", ",\"options\":{\"size\":\"2m\"}");
    struct host_usage usage;

    install_file(x->f, "berth~dummy", "dummy");
    life_load(x, "berth~dummy");
    assert_null(x->p->attach);
    assert_null(x->p->devices);
    ASSERT_OK(set_up(x));
    assert_true(is_mounted(x->pod_dir));
    ASSERT_OK(x->p->pods->usage(x->p, &x->f->env, x->pod_dir, &usage, &err));
    ASSERT_INT(2 << 20, usage.capacity);
    ASSERT_OK(set_up(x)); /* again, as after a restart */
    ASSERT_INT(1, mounts_in(x->pod_dir));
    ASSERT_OK(tear_down(x));
    assert_false(is_mounted(x->pod_dir));
    assert_false(is_there(x->pod_dir));
    ASSERT_OK(tear_down(x));
}

/* The group gets the files unless they are only to be read; the driver decides whether that is done at all.
 */
TEST(flex_gives_files_to_the_group)
{
    skip_without_private_mounts();
    static const struct {
        const char *capabilities;
        bool is_read_only;
        gid_t gid;
    } rows[] = {
        { "{\"attach\":false}", false, 2000 },
        { "{\"attach\":false}", true, 0 },
        { "{\"attach\":false,\"fsGroup\":false}", false, 0 },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(life_free_p) struct life *x = life_new("acme/disk", "");
        char body[1024];
        (void)snprintf(
            body, sizeof body,
            "case $1 in init) echo '{\"status\":\"Success\",\"capabilities\":%s}';; mount) mount -t "
            "tmpfs t $2 && touch $2/file && " SUCCESS ";; *) " UNSUPPORTED ";; esac",
            rows[i].capabilities);
        install(x->f, "acme~disk", body);
        life_load(x, "acme~disk");
        x->q.fs_group = 2000;
        x->q.spec.is_read_only = rows[i].is_read_only;
        struct mount_attributes has = x->p->pods->attributes(x->p, &x->q.spec);
        ASSERT_INT(rows[i].is_read_only, has.is_read_only);
        ASSERT_INT(rows[i].gid != 0, has.is_managed);
        ASSERT_OK(set_up(x));
        ASSERT_INT(rows[i].gid, gid_of(x->pod_dir));
        ASSERT_OK(tear_down(x)); /* without the driver: it does not support it */
        assert_false(is_there(x->pod_dir));
    }
}

/* --- Failures leave nothing --- */

TEST(flex_failed_mounts_leave_nothing)
{
    skip_without_private_mounts();
    static const struct {
        const char *body; /* of mount and mountdevice */
        enum err code;
        const char *text;
    } rows[] = {
        { "echo '{\"status\":\"Failure\",\"message\":\"no disk\"}'", ERR_IO,
          "status: Failure, reason: no disk" },
        { "mount -t tmpfs t $2; echo '{\"status\":\"Failure\",\"message\":\"too late\"}'", ERR_IO,
          "too late" },
        { "mount -t tmpfs t $2; echo garbage", ERR_BAD_REQUEST, "invalid response of driver" },
        { "mount -t tmpfs t $2; " SUCCESS "; exit 9", ERR_IO, "exit status 9" },
        { "rmdir $2; echo '{\"status\":\"Failure\"}'", ERR_IO, "status: Failure" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(life_free_p) struct life *x = life_new("acme/disk", "");
        char body[1024];
        (void)snprintf(body, sizeof body, "[ $1 = init ] && " SUCCESS " && exit\n%s", rows[i].body);
        install(x->f, "acme~disk", body);
        life_load(x, "acme~disk");
        ASSERT_ERR(rows[i].code, set_up(x));
        assert_non_null(strstr(err.msg, rows[i].text));
        assert_false(is_there(x->pod_dir));
        ASSERT_ERR(rows[i].code, mount_device(x));
        assert_non_null(strstr(err.msg, rows[i].text));
        assert_false(is_there(x->device_dir));
        ASSERT_INT(0, mounts_in(x->f->root));
    }
}

/* A driver without attach that does not mount: there is nothing to bind. */
TEST(flex_has_nothing_to_bind_without_a_device)
{
    skip_without_private_mounts();
    _cleanup_(life_free_p) struct life *x = life_new("acme/disk", "");

    install(x->f, "acme~disk",
            "[ $1 = init ] && echo '{\"status\":\"Success\",\"capabilities\":{\"attach\":false}}' && "
            "exit\n" UNSUPPORTED);
    life_load(x, "acme~disk");
    assert_true(set_up(x) < 0);
    assert_non_null(strstr(err.msg, "mount failed: "));
    assert_false(is_there(x->pod_dir));
    ASSERT_INT(0, mounts_in(x->f->root));
}

/* A failing unmount keeps what is mounted, and says so. */
TEST(flex_failed_unmounts_change_nothing)
{
    skip_without_private_mounts();
    _cleanup_(life_free_p) struct life *x = life_new("acme/disk", "");

    install(x->f, "acme~disk",
            "case $1 in init) " SUCCESS ";; mount|mountdevice) mount -t tmpfs t $2; " SUCCESS
            ";; *) echo '{\"status\":\"Failure\",\"message\":\"in use\"}';; esac");
    life_load(x, "acme~disk");
    ASSERT_OK(mount_device(x));
    ASSERT_OK(set_up(x));
    ASSERT_ERR(ERR_IO, tear_down(x));
    ASSERT_STR("unmount command failed, status: Failure, reason: in use", err.msg);
    ASSERT_ERR(ERR_IO, unmount_device(x));
    ASSERT_STR("unmountdevice command failed, status: Failure, reason: in use", err.msg);
    assert_true(is_mounted(x->pod_dir));
    assert_true(is_mounted(x->device_dir));
}

/* Names that lead elsewhere are refused before the driver hears of them. */
TEST(flex_refuses_names_that_lead_elsewhere)
{
    skip_without_private_mounts();
    static const char *const names[] = { "..", ".", "", "../../x", "a/b", "/etc" };
    _cleanup_(life_free_p) struct life *x = life_new("berth/dummy", "");
    char path[PATH_MAX];

    install_file(x->f, "berth~dummy", "dummy");
    life_load(x, "berth~dummy");
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct pod_volume v = { .name = names[i],
                                .type = POD_VOLUME_FLEX,
                                .flex = volume_of(x->pv)->source.flex };
        x->q.spec = (struct volume_spec){ .inlined = &v };
        ASSERT_ERR(ERR_INVALID, set_up(x));
        ASSERT_ERR(ERR_INVALID, x->p->pods->tear_down(x->p, &x->f->env, names[i], "u-1", &err));
        ASSERT_ERR(ERR_INVALID, x->p->pods->tear_down(x->p, &x->f->env, "v", names[i], &err));
        ASSERT_ERR(ERR_INVALID, flex_device_path(x->p, &x->f->env, &x->q.spec, path, &err));
    }
    ASSERT_INT(0, mounts_in(x->f->d->path));
}

/* A file or a fifo where the directory should be is no place to mount on, and stays. */
TEST(flex_leaves_what_stands_in_the_way)
{
    skip_without_private_mounts();
    static const char *const ways[] = { "touch", "mkfifo" };

    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        _cleanup_(life_free_p) struct life *x = life_new("berth/dummy", "");
        install_file(x->f, "berth~dummy", "dummy");
        life_load(x, "berth~dummy");
        sh("mkdir -p '%s/pods/u-1/volumes/berth~dummy' && %s '%s'", x->f->root, ways[i], x->pod_dir);
        assert_true(set_up(x) < 0);
        assert_true(is_there(x->pod_dir));
        ASSERT_INT(0, mounts_in(x->f->root));
    }
}

/* --- Devices of the host's --- */

#define ONLY_INIT "[ $1 = init ] && " SUCCESS " && exit\n" UNSUPPORTED

/* A driver that only attaches: the host formats, mounts, binds, grows and takes all of it away. With xfs,
 * since growing a mounted ext4 takes a privilege that root in a container lacks. */
TEST(flex_host_does_the_rest)
{
    skip_without_private_mounts();
    _cleanup_(life_free_p) struct life *x = life_new("acme/disk", ",\"fsType\":\"xfs\"");
    struct expand_request grow = { .spec = x->q.spec,
                                   .device_path = x->device,
                                   .mount_path = x->device_dir,
                                   .new_bytes = 400 << 20,
                                   .old_bytes = 320 << 20 };
    bool done = false;
    char file[PATH_MAX + 8];

    install(x->f, "acme~disk", ONLY_INIT);
    life_load(x, "acme~disk");
    loop_device_new(x->f->d, "disk", 320 << 20, x->device);
    ASSERT_OK(mount_device(x));
    assert_true(is_mounted(x->device_dir));
    ASSERT_OK(set_up(x));
    (void)snprintf(file, sizeof file, "%s/f", x->pod_dir);
    put_file(file, "data");
    (void)snprintf(file, sizeof file, "%s/f", x->device_dir);
    ASSERT_STR("data", text_of(file));
    sh("truncate -s 400M '%s' && losetup -c '%s'", in_dir(x->f->d, "disk"), x->device);
    ASSERT_OK(x->p->expand->expand_on_node(x->p, &x->f->env, &grow, &done, &err));
    assert_true(done);
    struct host_usage usage;
    ASSERT_OK(host_usage_of_fs(x->pod_dir, &usage, &err));
    assert_true(usage.capacity > 330 << 20);
    ASSERT_ERR(ERR_UNSUPPORTED, x->p->pods->usage(x->p, &x->f->env, x->pod_dir, &usage, &err));
    ASSERT_OK(tear_down(x));
    ASSERT_OK(unmount_device(x));
    assert_false(is_there(x->pod_dir));
    assert_false(is_there(x->device_dir));
}

/* Read-only as the claim in the pod says, by the bind alone. */
TEST(flex_binds_read_only)
{
    skip_without_private_mounts();
    _cleanup_(life_free_p) struct life *x = life_new("acme/disk", "");
    char file[PATH_MAX + 8];

    install(x->f, "acme~disk", ONLY_INIT);
    life_load(x, "acme~disk");
    ASSERT_OK(mount_device(x)); /* no device: nothing to mount */
    assert_true(is_there(x->device_dir) && !is_mounted(x->device_dir));
    x->q.spec.is_read_only = true;
    ASSERT_OK(set_up(x));
    (void)snprintf(file, sizeof file, "%s/f", x->pod_dir);
    assert_int_equal(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600), -1);
    ASSERT_INT(EROFS, errno);
    ASSERT_OK(tear_down(x));
    ASSERT_OK(unmount_device(x));
}

/* --- The cloud --- */

static const char *cloud(const struct life *x, const char *name)
{
    static char path[PATH_MAX];

    (void)snprintf(path, sizeof path, "%s/berth~cloud/.cloud/%s", x->f->drivers, name);
    return path;
}

static int attach(struct life *x, const char *node)
{
    return x->p->attach->attach(x->p, &x->f->env, &x->q.spec, node, x->device, &err);
}

TEST(flex_cloud_lives_through_all_stages)
{
    skip_without_private_mounts();
    _cleanup_(life_free_p) struct life *x = life_new("berth/cloud", "");
    char file[PATH_MAX + 8], found[PATH_MAX];
    bool is = true;

    install_file(x->f, "berth~cloud", "cloud");
    life_load(x, "berth~cloud");
    ASSERT_OK(x->p->attach->is_attached(x->p, &x->f->env, &x->q.spec, "n1", &is, &err));
    assert_false(is);
    ASSERT_OK(attach(x, "n1"));
    ASSERT_STR(cloud(x, "disks/pv1"), x->device);
    ASSERT_OK(attach(x, "n1")); /* again, as after a crash */
    ASSERT_ERR(ERR_IO, attach(x, "n2"));
    ASSERT_STR("attach command failed, status: Failure, reason: the disk is attached to node n1", err.msg);
    ASSERT_OK(x->p->attach->is_attached(x->p, &x->f->env, &x->q.spec, "n1", &is, &err));
    assert_true(is);
    ASSERT_OK(x->p->attach->wait(x->p, &x->f->env, &x->q.spec, x->device, NS_PER_S * 20, found, &err));
    ASSERT_STR(x->device, found);
    ASSERT_OK(mount_device(x));
    ASSERT_OK(set_up(x));
    (void)snprintf(file, sizeof file, "%s/f", x->pod_dir);
    put_file(file, "kept");
    ASSERT_OK(tear_down(x));
    ASSERT_OK(unmount_device(x));
    ASSERT_OK(x->p->attach->detach(x->p, &x->f->env, "pv1", "n1", &err));
    ASSERT_OK(x->p->attach->detach(x->p, &x->f->env, "pv1", "n1", &err));
    ASSERT_OK(attach(x, "n2"));
    ASSERT_STR("kept", text_of(cloud(x, "disks/pv1/f")));
    ASSERT_STR("pv1 n2\n", text_of(cloud(x, "attached")));
    ASSERT_STR("", text_of(cloud(x, "violations")));
    ASSERT_STR("", text_of(cloud(x, "running")));
    ASSERT_INT(0, mounts_in(x->f->root));
}

TEST(flex_cloud_fails_when_told)
{
    skip_without_private_mounts();
    _cleanup_(life_free_p) struct life *x = life_new("berth/cloud", "");

    install_file(x->f, "berth~cloud", "cloud");
    life_load(x, "berth~cloud");
    put_file(cloud(x, "fail-attach"), "no \"quota\"\n");
    ASSERT_ERR(ERR_IO, attach(x, "n1"));
    ASSERT_STR("attach command failed, status: Failure, reason: no \"quota\"", err.msg);
    assert_int_equal(unlink(cloud(x, "fail-attach")), 0);
    (void)snprintf(x->device, sizeof x->device, "%s", "/nowhere");
    ASSERT_ERR(ERR_IO, mount_device(x));
    assert_non_null(strstr(text_of(cloud(x, "violations")), "mounted while not attached: volume pv1"));
    ASSERT_OK(attach(x, "n1"));
    ASSERT_OK(mount_device(x));
    ASSERT_OK(x->p->attach->detach(x->p, &x->f->env, "pv1", "n1", &err));
    assert_non_null(strstr(text_of(cloud(x, "violations")), "detached while mounted: volume pv1"));
    ASSERT_OK(unmount_device(x));
}

/* Two calls for one volume at a time, on the pool: the cloud notices. */

struct attach_call {
    struct job job;
    struct life *x;
    char device[PATH_MAX];
    const char *node;
    bool is_done;
    int r;
};

static int attach_run(struct job *j, struct error *e)
{
    struct attach_call *a = CONTAINER_OF(j, struct attach_call, job);
    struct volume_env env = a->x->f->env;

    env.stop = env.tools.stop = &j->stop;
    return a->x->p->attach->attach(a->x->p, &env, &a->x->q.spec, a->node, a->device, e);
}

static void attach_done(void *ctx, struct job *j, int r, const struct error *e)
{
    struct attach_call *a = ctx;

    (void)j;
    (void)e;
    a->r = r;
    a->is_done = true;
}

/* It is the test's. */
static void attach_free_nothing(struct job *j)
{
    (void)j;
}

static const struct job_type attach_job = { "attach", attach_run, attach_free_nothing };

static unsigned lines_of(const char *path)
{
    unsigned count = 0;

    for (const char *at = text_of(path); *at; at++)
        count += *at == '\n';
    return count;
}

TEST(flex_cloud_notices_calls_that_overlap)
{
    skip_without_private_mounts();
    _cleanup_(life_free_p) struct life *x = life_new("berth/cloud", "");
    struct attach_call calls[2] = { { .x = x, .node = "n1" }, { .x = x, .node = "n1" } };
    _cleanup_(loop_free_p) struct loop *l = new_loop(NULL);
    struct pool *pool = NULL;

    install_file(x->f, "berth~cloud", "cloud");
    life_load(x, "berth~cloud");
    put_file(cloud(x, "hold-attach"), "");
    ASSERT_OK(pool_new(l, 2, 2, &pool, &err));
    for (size_t i = 0; i < 2; i++) {
        calls[i].job.type = &attach_job;
        calls[i].job.limit_ns = 20 * NS_PER_S;
        job_begin(&calls[i].job, pool, attach_done, &calls[i]);
    }
    (void)signal(SIGALRM, test_on_deadline);
    (void)alarm(TEST_DEADLINE_S);
    while (lines_of(cloud(x, "running")) < 2)
        (void)poll(NULL, 0, 5);
    (void)alarm(0);
    assert_int_equal(unlink(cloud(x, "hold-attach")), 0);
    for (size_t i = 0; i < 2; i++) {
        run_until(l, &calls[i].is_done);
        ASSERT_INT(0, calls[i].r);
    }
    ASSERT_STR("two calls at a time: volume pv1: attach\n", text_of(cloud(x, "violations")));
    ASSERT_STR("", text_of(cloud(x, "running")));
    pool = pool_free(pool);
}

/* --- After a restart --- */

TEST(flex_reconstructs_volumes)
{
    _cleanup_(life_free_p) struct life *x = life_new("berth/cloud", "");
    _cleanup_(object_unref_p) struct object *o = NULL, *device = NULL;
    _cleanup_(buf_done_p) struct buf name = BUF_INIT(256);
    const struct pod_volume *v;
    struct volume_spec spec = { 0 };

    install_file(x->f, "berth~cloud", "cloud");
    life_load(x, "berth~cloud");
    ASSERT_OK(x->p->reconstruct(x->p, &x->f->env, "vol\"1", "u-9", false, &o, &err));
    ASSERT_STR("u-9", o->uid);
    v = pod_volume(pod_of(o), "vol\"1");
    assert_non_null(v);
    assert_true(x->p->can_support(x->p, &(struct volume_spec){ .inlined = v }));
    ASSERT_OK(x->p->volume_name(x->p, &(struct volume_spec){ .inlined = v }, &name, &err));
    ASSERT_STR("vol\"1", buf_cstr(&name));
    ASSERT_ERR(ERR_UNSUPPORTED, x->p->reconstruct(x->p, &x->f->env, "v", "u-9", true, &o, &err));
    ASSERT_OK(x->p->devices->reconstruct(x->p, &x->f->env, "/root/mounts/vol\"1", &device, &err));
    spec.volume = volume_of(device);
    assert_true(x->p->can_support(x->p, &spec));
    buf_clear(&name);
    ASSERT_OK(x->p->volume_name(x->p, &spec, &name, &err));
    ASSERT_STR("vol\"1", buf_cstr(&name));
}

TEST_MAIN()
