#include "tests/unit/test_plugins.h"

#include "plugins/plugin_job.h"

#define CLAIM_UID "6ba7b810-9dad-41d1-80b4-00c04fd430c8"

static struct object *claim_with(const char *spec)
{
    return plugin_object(KIND_CLAIM, "{'metadata':{'name':'c','namespace':'ns','uid':'%s'},'spec':{%s}}",
                         CLAIM_UID, spec);
}

static struct object *host_path_volume(const char *path)
{
    return plugin_object(KIND_VOLUME,
                         "{'metadata':{'name':'p'},'spec':{'capacity':{'storage':'1Gi'},"
                         "'hostPath':{'path':'%s'}}}",
                         path);
}

/* The registry */

static bool supports_all(const struct volume_plugin *self, const struct volume_spec *s)
{
    (void)self;
    (void)s;
    return true;
}

/* A table that is needed, and the word for it; none for any plugin. */
struct need {
    size_t table;
    const char *what;
};
#define ANY     \
    {           \
        0, NULL \
    }
#define PROVISIONS                                                 \
    {                                                              \
        offsetof(struct volume_plugin, provision), "provisionable" \
    }
#define DELETES                                             \
    {                                                       \
        offsetof(struct volume_plugin, remove), "deletable" \
    }
#define RECYCLES                                              \
    {                                                         \
        offsetof(struct volume_plugin, recycle), "recyclable" \
    }

/* As a controller does: found, then asked for the table. */
static int require(int r, const struct volume_plugin *p, struct need need, const struct volume_plugin **ret)
{
    if (r == 0 && need.what)
        r = plugin_require(*(const void *const *)((const char *)p + need.table), need.what, &err);
    if (r == 0)
        *ret = p;
    return r;
}

static int by_source(const struct volume_plugin *const *all, const struct volume_spec *s, struct need need,
                     const struct volume_plugin **ret)
{
    const struct volume_plugin *p = NULL;
    int r = plugins_by_source(all, s, &p, &err);

    return require(r, p, need, ret);
}

static int by_name(const char *name, struct need need, const struct volume_plugin **ret)
{
    const struct volume_plugin *p = NULL;
    int r = plugins_by_name(plugins_builtin, name, &p, &err);

    return require(r, p, need, ret);
}

TEST(registry_finds_by_source)
{
    static const struct {
        enum volume_source_kind kind;
        struct need need;
        const struct volume_plugin *expected;
        const char *text;
    } rows[] = {
        { SOURCE_HOST_PATH, ANY, &host_path_plugin, NULL },
        { SOURCE_HOST_PATH, PROVISIONS, &host_path_plugin, NULL },
        { SOURCE_HOST_PATH, DELETES, &host_path_plugin, NULL },
        { SOURCE_HOST_PATH, RECYCLES, &host_path_plugin, NULL },
        { SOURCE_NFS, ANY, &nfs_plugin, NULL },
        { SOURCE_NFS, RECYCLES, &nfs_plugin, NULL },
        { SOURCE_NFS, DELETES, NULL, "no deletable volume plugin matched" },
        { SOURCE_NFS, PROVISIONS, NULL, "no provisionable volume plugin matched" },
        { SOURCE_LOCAL, DELETES, NULL, "no volume plugin matched" },
        { SOURCE_CSI, RECYCLES, NULL, "no volume plugin matched" },
        { SOURCE_NONE, ANY, NULL, "no volume plugin matched" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct volume v = { .source.kind = (uint8_t)rows[i].kind };
        struct volume_spec spec = { .volume = &v };
        const struct volume_plugin *found = NULL;
        int r = by_source(plugins_builtin, &spec, rows[i].need, &found);
        assert_ptr_equal(found, rows[i].expected);
        if (rows[i].text) {
            assert_true(r < 0);
            ASSERT_STR(rows[i].text, err.msg);
        } else {
            ASSERT_OK(r);
        }
    }
}

TEST(registry_refuses_two_for_one_source)
{
    static const struct volume_plugin greedy = { .name = "vendor.io/greedy", .can_support = supports_all };
    static const struct volume_plugin *const all[] = { &host_path_plugin, &nfs_plugin, &greedy, NULL };
    static const struct volume_plugin *const one[] = { &greedy, NULL };
    struct volume v = { .source.kind = SOURCE_NFS };
    struct volume_spec spec = { .volume = &v };
    const struct volume_plugin *found = NULL;

    ASSERT_ERR(ERR_CONFLICT, plugins_by_source(all, &spec, &found, &err));
    ASSERT_STR("multiple volume plugins matched: kubernetes.io/nfs,vendor.io/greedy", err.msg);
    assert_null(found);
    ASSERT_OK(plugins_by_source(one, &spec, &found, &err));
    ASSERT_ERR(ERR_UNSUPPORTED, by_source(one, &spec, (struct need)RECYCLES, &found));
    ASSERT_STR("no recyclable volume plugin matched", err.msg);
}

/* The text of S107. */
TEST(registry_finds_by_name)
{
    const struct volume_plugin *found = NULL;

    ASSERT_OK(by_name("kubernetes.io/host-path", (struct need)PROVISIONS, &found));
    assert_ptr_equal(found, &host_path_plugin);
    assert_false(found->takes_mount_options); /* S101 */
    ASSERT_ERR(ERR_UNSUPPORTED, by_name("kubernetes.io/nfs", (struct need)PROVISIONS, &found));
    ASSERT_STR("no provisionable volume plugin matched", err.msg);
    ASSERT_ERR(ERR_NOT_FOUND, by_name("kubernetes.io/no-provisioner", (struct need)PROVISIONS, &found));
    ASSERT_STR("no volume plugin matched name: kubernetes.io/no-provisioner", err.msg);
    ASSERT_ERR(ERR_NOT_FOUND, plugins_by_name(plugins_builtin, "", &found, &err));
    assert_ptr_equal(found, &host_path_plugin); /* failures leave it alone */
}

/* plugins-13 */
TEST(scrub_limits_go_by_whole_gibibytes)
{
    static const struct {
        const char *size;
        uint64_t nfs_s, host_path_s;
    } rows[] = {
        { "0", 300, 60 },        { "1Gi", 300, 60 }, { "7.9Gi", 300, 210 }, { "20Gi", 600, 600 },
        { "1Ti", 30720, 30720 }, { "3Gi", 300, 90 }, { "-1Gi", 300, 60 },   { "8Ei", 31536000, 31536000 },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(object_unref_p) struct object *o = plugin_object(
            KIND_VOLUME, "{'metadata':{'name':'p'},'spec':{'capacity':{'storage':'%s'}}}", rows[i].size);
        ASSERT_INT(rows[i].nfs_s, plugin_scrub_limit_s(volume_of(o), 300, 30));
        ASSERT_INT(rows[i].host_path_s, plugin_scrub_limit_s(volume_of(o), 60, 30));
    }
}

/* Provisioning */

static void provision(struct fixture *f, const struct object *claim)
{
    struct provision_request q = { .volume_name = "pvc-" CLAIM_UID, .claim = claim_of(claim) };

    host_path_plugin.provision->provision(&f->host, &q, fixture_op(f));
}

TEST(provision_makes_a_directory)
{
    _cleanup_(fixture_free_p) struct fixture *f = fixture_new(NULL, 8);
    _cleanup_(object_unref_p) struct object *c = claim_with(
        "'accessModes':['ReadWriteMany','ReadWriteOnce'],'resources':{'requests':{'storage':'1536Mi'}}");
    struct provision_request q = { .claim = claim_of(c) };
    char expected[TEST_PATH_BYTES * 4], dir[TEST_PATH_BYTES * 3];
    mode_t mask = umask(022);
    struct stat st;

    ASSERT_OK(host_path_plugin.provision->check(&f->host, &q, &err));
    provision(f, c);
    ASSERT_OK(fixture_await(f));
    (void)umask(mask);
    (void)snprintf(dir, sizeof dir, "%s/%s", f->host_path_dir, CLAIM_UID);
    (void)snprintf(
        expected, sizeof expected,
        "{\"metadata\":{\"annotations\":{\"kubernetes.io/createdby\":"
        "\"hostpath-dynamic-provisioner\"}},\"spec\":{\"accessModes\":[\"ReadWriteOnce\","
        "\"ReadWriteMany\"],\"capacity\":{\"storage\":\"1536Mi\"},\"hostPath\":{\"path\":\"%s\"}}}",
        dir);
    ASSERT_STR(expected, buf_cstr(&f->op.volume));
    assert_int_equal(stat(dir, &st), 0);
    ASSERT_INT(S_IFDIR | 0750, st.st_mode);
    provision(f, c); /* repeated after a crash: the same one */
    ASSERT_OK(fixture_await(f));
    ASSERT_STR(expected, buf_cstr(&f->op.volume));
}

TEST(provision_gives_one_writer_when_no_mode_is_asked_for)
{
    _cleanup_(fixture_free_p) struct fixture *f = fixture_new(NULL, 8);
    _cleanup_(object_unref_p) struct object *c = claim_with("'resources':{'requests':{'storage':'5'}}");

    provision(f, c);
    ASSERT_OK(fixture_await(f));
    assert_non_null(strstr(buf_cstr(&f->op.volume), "\"accessModes\":[\"ReadWriteOnce\"]"));
    assert_non_null(strstr(buf_cstr(&f->op.volume), "\"storage\":\"5\""));
}

TEST(provision_makes_up_a_name_where_the_claim_has_no_uid)
{
    _cleanup_(fixture_free_p) struct fixture *f = fixture_new(NULL, 8);
    _cleanup_(object_unref_p) struct object *c =
        plugin_object(KIND_CLAIM, "{'metadata':{'name':'c','uid':'../../escape'}}");
    const char *at;

    provision(f, c);
    ASSERT_OK(fixture_await(f));
    assert_null(strstr(buf_cstr(&f->op.volume), ".."));
    at = strstr(buf_cstr(&f->op.volume), f->host_path_dir);
    assert_non_null(at);
    ASSERT_INT('/', at[strlen(f->host_path_dir)]);
    ASSERT_INT('"', at[strlen(f->host_path_dir) + 37]); /* a UUID and nothing else */
}

/* S102 */
TEST(provision_refuses)
{
    _cleanup_(fixture_free_p) struct fixture *f = fixture_new(NULL, 8);
    _cleanup_(object_unref_p) struct object *block = claim_with("'volumeMode':'Block'");
    struct provision_request q = { .claim = claim_of(block) };

    ASSERT_OK(host_path_plugin.provision->check(&f->host, &q, &err));
    provision(f, block);
    ASSERT_ERR(ERR_UNSUPPORTED, fixture_await(f));
    ASSERT_STR("kubernetes.io/host-path does not support block volume provisioning", err.msg);
    f->host.provisions_host_path = false;
    ASSERT_ERR(ERR_DENIED, host_path_plugin.provision->check(&f->host, &q, &err));
    ASSERT_STR("provisioning in volume plugin \"kubernetes.io/host-path\" is disabled", err.msg);
    provision(f, block);
    ASSERT_ERR(ERR_DENIED, fixture_await(f));
    assert_false(exists(f->host_path_dir));
}

TEST(provision_tells_what_the_machine_refuses)
{
    _cleanup_(fixture_free_p) struct fixture *f = fixture_new(NULL, 8);
    _cleanup_(object_unref_p) struct object *c = claim_with("");

    put_file(f->host_path_dir, "");
    provision(f, c);
    assert_true(fixture_await(f) < 0);
    assert_non_null(strstr(err.msg, f->host_path_dir));
    ASSERT_INT(0, f->op.volume.len);
}

/* Deleting */

static int remove_volume(struct fixture *f, const char *path)
{
    _cleanup_(object_unref_p) struct object *v = host_path_volume(path);

    host_path_plugin.remove->remove(&f->host, volume_of(v), fixture_op(f));
    return fixture_await(f);
}

static int recycle_volume(struct fixture *f, const char *path)
{
    _cleanup_(object_unref_p) struct object *v = host_path_volume(path);

    host_path_plugin.recycle->recycle(&f->host, volume_of(v), fixture_op(f));
    return fixture_await(f);
}

/* DIR/pv/NAME with a file and a directory in it. */
static const char *put_volume(struct fixture *f, const char *name)
{
    static char path[TEST_PATH_BYTES * 3];
    char inside[TEST_PATH_BYTES * 4];

    (void)snprintf(path, sizeof path, "%s/%s", f->host_path_dir, name);
    (void)mkdir(f->host_path_dir, 0755);
    assert_int_equal(mkdir(path, 0755), 0);
    (void)snprintf(inside, sizeof inside, "%s/dir", path);
    assert_int_equal(mkdir(inside, 0755), 0);
    (void)snprintf(inside, sizeof inside, "%s/dir/file", path);
    put_file(inside, "data");
    return path;
}

TEST(delete_removes_what_was_provisioned)
{
    _cleanup_(fixture_free_p) struct fixture *f = fixture_new(NULL, 8);
    const char *path = put_volume(f, "v");

    ASSERT_OK(remove_volume(f, path));
    assert_false(exists(path));
    assert_true(exists(f->host_path_dir));
    ASSERT_OK(remove_volume(f, path)); /* again */
}

/* plugins-12 */
TEST(delete_of_a_hand_made_volume)
{
    _cleanup_(fixture_free_p) struct fixture *f = fixture_new(NULL, 8);
    char path[TEST_PATH_BYTES * 2];

    assert_int_equal(mkdir(in_dir(&f->d, "tmp"), 0755), 0);
    (void)snprintf(path, sizeof path, "%s/tmp/mine", f->d.path); /* in some tmp, outside the provisioner's */
    assert_int_equal(mkdir(path, 0755), 0);
    ASSERT_OK(remove_volume(f, path));
    assert_false(exists(path));
    assert_true(exists(in_dir(&f->d, "tmp")));
}

/* plugins-12 */
TEST(delete_refuses_what_is_not_in_a_tmp)
{
    static const char *const paths[] = {
        "/data/berth-test-absent/x",
        "/",
        "",
        "/etc",
        "/tmp",
        "/tmp/",
        "/var/tmpx/y",
        "relative",
        "/x/../etc/y",
    };
    _cleanup_(fixture_free_p) struct fixture *f = fixture_new(NULL, 8);
    char expected[256];

    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        ASSERT_ERR(ERR_DENIED, remove_volume(f, paths[i]));
        (void)snprintf(expected, sizeof expected,
                       "host_path deleter only supports /tmp/.+ but received provided %s", paths[i]);
        ASSERT_STR(expected, err.msg);
    }
}

TEST(delete_and_recycle_refuse_what_leads_elsewhere)
{
    static const struct {
        const char *path, *expected;
    } rows[] = {
        { "/tmp/../berth-test-absent/x", "'/tmp/../berth-test-absent/x' must not contain '..'" },
        { "/tmp/.", "'/tmp' is too close to the root for a volume's directory" },
        { "/tmp//", "'/tmp' is too close to the root for a volume's directory" },
        { "tmp/tmp/x", "'tmp/tmp/x' is not an absolute path" },
    };
    _cleanup_(fixture_free_p) struct fixture *f = fixture_new(NULL, 8);

    f->host.host_path_dir = "/var/berth-test-absent/pv"; /* so that /tmp is not its parent */
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ASSERT_ERR(ERR_INVALID, remove_volume(f, rows[i].path));
        ASSERT_STR(rows[i].expected, err.msg);
        ASSERT_ERR(ERR_INVALID, recycle_volume(f, rows[i].path));
        ASSERT_STR(rows[i].expected, err.msg);
    }
    ASSERT_ERR(ERR_DENIED, recycle_volume(f, "/")); /* it holds the provisioner's directory, too */
    ASSERT_ERR(ERR_INVALID, recycle_volume(f, ""));
    ASSERT_STR("the path is empty", err.msg);
    ASSERT_ERR(ERR_INVALID, recycle_volume(f, "/etc"));
}

TEST(what_holds_other_volumes_is_no_volume)
{
    _cleanup_(fixture_free_p) struct fixture *f = fixture_new(NULL, 8);
    const char *other = put_volume(f, "other");
    char slashes[TEST_PATH_BYTES * 3];

    (void)snprintf(slashes, sizeof slashes, "%s//", f->host_path_dir);
    ASSERT_ERR(ERR_DENIED, remove_volume(f, f->host_path_dir));
    assert_non_null(strstr(err.msg, "/pv' is the parent directory of other volumes"));
    ASSERT_ERR(ERR_DENIED, remove_volume(f, slashes));
    ASSERT_ERR(ERR_DENIED, recycle_volume(f, f->host_path_dir));
    ASSERT_ERR(ERR_DENIED, recycle_volume(f, f->d.path));
    assert_true(exists(other));
}

TEST(links_in_a_volumes_path_are_refused)
{
    _cleanup_(fixture_free_p) struct fixture *f = fixture_new(NULL, 8);
    char link[TEST_PATH_BYTES * 3], through[TEST_PATH_BYTES * 4];
    const char *path = put_volume(f, "v");

    (void)snprintf(link, sizeof link, "%s/link", f->host_path_dir);
    (void)snprintf(through, sizeof through, "%s/dir", link);
    assert_int_equal(symlink("v", link), 0);
    ASSERT_ERR(ERR_INVALID, remove_volume(f, link));
    ASSERT_ERR(ERR_INVALID, remove_volume(f, through));
    ASSERT_ERR(ERR_INVALID, recycle_volume(f, link));
    ASSERT_ERR(ERR_INVALID, recycle_volume(f, through));
    (void)snprintf(through, sizeof through, "%s/dir/file", path);
    assert_true(exists(through));
    assert_true(exists(link));
}

/* Recycling */

TEST(recycle_empties_and_keeps_the_directory)
{
    _cleanup_(fixture_free_p) struct fixture *f = fixture_new(NULL, 8);
    const char *path = put_volume(f, "v");
    char inside[TEST_PATH_BYTES * 4];

    ASSERT_OK(recycle_volume(f, path));
    assert_true(exists(path));
    (void)snprintf(inside, sizeof inside, "%s/dir", path);
    assert_false(exists(inside));
    ASSERT_OK(recycle_volume(f, path));
}

/* Operations */

struct gate {
    struct pool_work work;
    int begun[2];
    int go[2];
};

static int gate_run(void *ctx)
{
    const struct gate *g = ctx;
    char c;

    return write(g->begun[1], "x", 1) == 1 && read(g->go[0], &c, 1) == 1 ? 0 : -ERR_IO;
}

static void gate_done(void *ctx, int result)
{
    struct gate *g = ctx;

    ASSERT_INT(0, result);
    for (int i = 0; i < 2; i++) {
        (void)close(g->begun[i]);
        (void)close(g->go[i]);
    }
}

/* Occupies the only worker, or waits for it, until gate_open(). */
static void gate_close(struct fixture *f, struct gate *g)
{
    *g = (struct gate){ 0 };
    assert_int_equal(pipe2(g->begun, O_CLOEXEC), 0);
    assert_int_equal(pipe2(g->go, O_CLOEXEC), 0);
    ASSERT_OK(pool_submit(f->pool, &g->work, gate_run, gate_done, g, &err));
}

static void gate_await(const struct gate *g)
{
    char c;

    assert_int_equal(read(g->begun[0], &c, 1), 1);
}

static void gate_open(const struct gate *g)
{
    assert_int_equal(write(g->go[1], "x", 1), 1);
}

TEST(a_dropped_operation_that_waits_never_runs)
{
    _cleanup_(fixture_free_p) struct fixture *f = fixture_new(NULL, 8);
    const char *path = put_volume(f, "v");
    _cleanup_(object_unref_p) struct object *v = host_path_volume(path);
    struct gate g;

    gate_close(f, &g);
    gate_await(&g);
    host_path_plugin.recycle->recycle(&f->host, volume_of(v), fixture_op(f));
    plugin_op_drop(&f->op);
    plugin_op_drop(&f->op); /* again is nothing */
    gate_open(&g);
    pool_drain(f->pool);
    ASSERT_INT(0, f->times_done);
    ASSERT_INT(1, atomic_load(&v->refs.held));
    ASSERT_INT(-1, rmdir(path)); /* still full */
}

TEST(a_dropped_failure_is_not_told)
{
    _cleanup_(fixture_free_p) struct fixture *f = fixture_new(NULL, 8);
    _cleanup_(object_unref_p) struct object *v = host_path_volume("/");

    host_path_plugin.recycle->recycle(&f->host, volume_of(v), fixture_op(f));
    ASSERT_INT(0, f->times_done); /* never from within */
    plugin_op_drop(&f->op);
    while (loop_poll(f->loop))
        ;
    ASSERT_INT(0, f->times_done);
}

TEST(the_pools_end_reports_what_waits)
{
    _cleanup_(fixture_free_p) struct fixture *f = fixture_new(NULL, 8);
    const char *path = put_volume(f, "v");
    _cleanup_(object_unref_p) struct object *v = host_path_volume(path);
    struct gate g;

    gate_close(f, &g);
    gate_await(&g);
    host_path_plugin.remove->remove(&f->host, volume_of(v), fixture_op(f));
    gate_open(&g);
    f->pool = pool_free(f->pool);
    ASSERT_INT(1, f->times_done);
    assert_true(f->r == 0 || f->r == -ERR_CANCELLED);
    ASSERT_INT(f->r < 0, exists(path));
}

TEST(a_full_pool_is_told_as_busy)
{
    _cleanup_(fixture_free_p) struct fixture *f = fixture_new(NULL, 1);
    const char *path = put_volume(f, "v");
    struct gate running, waiting;

    gate_close(f, &running);
    gate_await(&running);
    gate_close(f, &waiting);
    ASSERT_ERR(ERR_BUSY, remove_volume(f, path));
    ASSERT_STR("the worker pool's queue is full (1 waiting)", err.msg);
    gate_open(&running);
    gate_open(&waiting);
    pool_drain(f->pool);
    ASSERT_OK(remove_volume(f, path));
}

TEST(a_scrub_that_takes_too_long_is_stopped)
{
    struct manual_clock clock;
    manual_clock_init(&clock, NS_PER_S, 0);
    _cleanup_(fixture_free_p) struct fixture *f = fixture_new(&clock.clock, 8);
    const char *path = put_volume(f, "v");
    _cleanup_(object_unref_p) struct object *v = host_path_volume(path);
    struct gate g;

    gate_close(f, &g);
    gate_await(&g);
    host_path_plugin.recycle->recycle(&f->host, volume_of(v), fixture_op(f));
    loop_advance(f->loop, &clock, 59 * NS_PER_S);
    assert_false(f->is_done);
    loop_advance(f->loop, &clock, NS_PER_S);
    gate_open(&g);
    pool_drain(f->pool);
    ASSERT_INT(1, f->times_done);
    ASSERT_INT(-ERR_TIMEOUT, f->r);
    ASSERT_STR("not finished within 60 s", f->op_err.msg);
    ASSERT_INT(-1, rmdir(path)); /* still full */
}

TEST(an_env_for_a_worker_is_a_copy)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(4096), none = ARENA_INIT(4);
    char root[] = "/root", path[] = "/bin";
    host_stop stop = 0;
    struct volume_env env = { .root = root, .node_name = "n", .tools.commands_path = path, .warn_ctx = root };
    struct volume_env copy = volume_env_copy(&env, &stop, &a);

    root[1] = path[1] = 'x';
    ASSERT_OK(arena_check(&a, &err));
    ASSERT_STR("/root", copy.root);
    ASSERT_STR("n", copy.node_name);
    ASSERT_STR("/bin", copy.tools.commands_path);
    assert_ptr_equal(&stop, copy.stop);
    assert_ptr_equal(&stop, copy.tools.stop);
    assert_null(copy.warn);
    assert_null(copy.warn_ctx);
    env.tools.commands_path = NULL;
    assert_null(volume_env_copy(&env, &stop, &a).tools.commands_path);
    assert_null(volume_env_copy(&env, &stop, &none).root);
    ASSERT_ERR(ERR_TOO_LARGE, arena_check(&none, &err));
}

TEST_MAIN()
