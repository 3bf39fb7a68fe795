/* nfs volumes of pods. The kernel here may have no client: `mount` is a script that binds a directory which
 * stands for the export, and writes down how it was called. */
#include "tests/unit/test_volume_env.h"

#include "io/file.h"

#define P (&nfs_plugin)
#define BINDS "while [ $# -gt 1 ]; do shift; done; exec /bin/mount --bind $export \"$1\""

struct nfs_bench {
    struct volume_bench *b;
    char commands[TEST_PATH_BYTES * 2];
};

static void put_script(const struct nfs_bench *n, const char *name, const char *body)
{
    char path[TEST_PATH_BYTES * 3], text[4096];

    (void)snprintf(path, sizeof path, "%s/%s", n->commands, name);
    (void)snprintf(text, sizeof text, "#!/bin/sh\nexport=%s/export\necho \"%s $*\" >> %s/log\n%s\n",
                   n->b->d->path, name, n->b->d->path, body);
    put_file(path, text);
    assert_int_equal(chmod(path, 0755), 0);
}

static struct nfs_bench *nfs_bench_new(const char *mount_body, const char *umount_body)
{
    struct nfs_bench *n = calloc(1, sizeof *n);

    assert_non_null(n);
    n->b = volume_bench_new();
    (void)snprintf(n->commands, sizeof n->commands, "%s/bin", n->b->d->path);
    assert_int_equal(mkdir(n->commands, 0755), 0);
    assert_int_equal(mkdir(in_dir(n->b->d, "export"), 0755), 0);
    put_file(in_dir(n->b->d, "export/f"), "data");
    put_script(n, "mount", mount_body);
    put_script(n, "umount", umount_body);
    put_script(n, "mount.nfs", "exit 1"); /* it is there; nobody calls it */
    n->b->env.tools.commands_path = n->commands;
    return n;
}

static struct nfs_bench *nfs_bench_free(struct nfs_bench *n)
{
    n->b = volume_bench_free(n->b);
    free(n);
    return NULL;
}
DEFINE_CLEANUP(struct nfs_bench, nfs_bench_free)

/* What was called, with the directory's path cut out. */
static const char *calls(const struct nfs_bench *n)
{
    static char out[4096];
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(0);
    size_t cut = strlen(n->b->d->path), len = 0;

    if (!exists(in_dir(n->b->d, "log")))
        return "";
    ASSERT_OK(io_read_file(in_dir(n->b->d, "log"), 2048, &text, &err));
    for (const char *at = buf_cstr(&text); *at;) {
        bool is_dir = strncmp(at, n->b->d->path, cut) == 0;
        out[len++] = is_dir ? '@' : *at;
        at += is_dir ? cut : 1;
    }
    out[len] = '\0';
    return out;
}

#define POD_PATH "@/root/pods/" POD_UID "1/volumes/kubernetes.io~nfs/v"

static int set_up_inline(struct nfs_bench *n, const char *source)
{
    char volume[512];

    (void)snprintf(volume, sizeof volume, "{'name':'v','nfs':{%s}}", source);
    _cleanup_(object_unref_p) struct object *pod = volume_bench_pod(1, volume);
    struct set_up_request q = volume_bench_request(pod, NULL);
    return P->pods->set_up(P, &n->b->env, &q, &err);
}

TEST(nfs_serves_pods_and_volumes)
{
    _cleanup_(object_unref_p) struct object *pod =
        volume_bench_pod(1, "{'name':'v','nfs':{'server':'h','path':'/e'}}");
    _cleanup_(object_unref_p) struct object *v = plugin_object(
        KIND_VOLUME, "{'metadata':{'name':'pv'},'spec':{'nfs':{'server':'h','path':'/e','readOnly':true}}}");
    struct volume_spec inlined = { .inlined = &pod_of(pod)->volumes.items[0] },
                       pv = { .volume = volume_of(v) };
    _cleanup_(buf_done_p) struct buf name = BUF_INIT(100);

    assert_true(P->can_support(P, &inlined) && P->can_support(P, &pv));
    ASSERT_OK(P->volume_name(P, &inlined, &name, &err));
    ASSERT_STR("h//e", buf_cstr(&name));
    assert_false(P->pods->attributes(P, &inlined).is_managed);
    assert_false(P->pods->attributes(P, &pv).is_read_only); /* the claim's in the pod counts */
    pv.is_read_only = true;
    assert_true(P->pods->attributes(P, &pv).is_read_only);
}

TEST(an_export_is_mounted_and_let_go)
{
    skip_without_private_mounts();
    _cleanup_(nfs_bench_free_p) struct nfs_bench *n = nfs_bench_new(BINDS, "exec /bin/umount \"$1\"");
    const char *path = volume_bench_path(n->b, P, 1, "v");
    struct host_usage usage = { 0 };
    struct stat st;

    ASSERT_OK(set_up_inline(n, "'server':'fs.example','path':'/e x'"));
    assert_true(is_mounted(path));
    ASSERT_OK(set_up_inline(n, "'server':'fs.example','path':'/e x'")); /* again */
    ASSERT_OK(P->pods->usage(P, &n->b->env, path, &usage, &err));
    assert_true(usage.capacity > 0);
    ASSERT_OK(P->pods->tear_down(P, &n->b->env, "v", POD_UID "1", &err));
    assert_false(exists(path));
    ASSERT_OK(P->pods->tear_down(P, &n->b->env, "v", POD_UID "1", &err)); /* again */
    ASSERT_STR("mount -t nfs fs.example:/e x " POD_PATH "\numount " POD_PATH "\n", calls(n));
    assert_int_equal(stat(in_dir(n->b->d, "export/f"), &st), 0);
}

/* plugins-38 and plugins-40 */
TEST(sources_and_options)
{
    static const struct {
        const char *server, *meta, *spec;
        bool is_read_only;
        const char *expected;
    } rows[] = {
        { "fd00::1", "", "", false, "mount -t nfs [fd00::1]:/e " },
        { "[fd00::1]", "", "", false, "mount -t nfs [fd00::1]:/e " },
        { "10.0.0.1", "", "", true, "mount -t nfs -o ro 10.0.0.1:/e " },
        { "h", ",'annotations':{'volume.beta.kubernetes.io/mount-options':'b,a'}", "'mountOptions':['c'],",
          true, "mount -t nfs -o a,b,ro h:/e " },
        { "h", "", "'mountOptions':['vers=3','hard'],", false, "mount -t nfs -o hard,vers=3 h:/e " },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(nfs_bench_free_p) struct nfs_bench *n = nfs_bench_new("exit 32", "exit 0");
        _cleanup_(object_unref_p) struct object *pod = volume_bench_pod(1, "");
        _cleanup_(object_unref_p) struct object *v = plugin_object(
            KIND_VOLUME, "{'metadata':{'name':'v'%s},'spec':{%s'nfs':{'server':'%s','path':'/e'}}}",
            rows[i].meta, rows[i].spec, rows[i].server);
        struct set_up_request q = volume_bench_request(pod, v);
        q.spec.is_read_only = rows[i].is_read_only;
        ASSERT_ERR(ERR_IO, P->pods->set_up(P, &n->b->env, &q, &err));
        if (strncmp(rows[i].expected, calls(n), strlen(rows[i].expected)) != 0)
            fail_msg("row %zu: %s", i, calls(n));
    }
    _cleanup_(nfs_bench_free_p) struct nfs_bench *n = nfs_bench_new("exit 32", "exit 0");
    ASSERT_ERR(ERR_IO, set_up_inline(n, "'server':'h','path':'/e','readOnly':true"));
    ASSERT_STR("mount -t nfs -o ro h:/e " POD_PATH "\n", calls(n));
}

TEST(failures_leave_nothing)
{
    skip_without_private_mounts();
    static const struct {
        const char *mount, *expected;
    } rows[] = {
        { "echo 'no route' >&2; exit 32", "\nOutput: no route\n" },
        { "exit 0", "mount succeeded, but nothing is mounted at" },
        { "while [ $# -gt 1 ]; do shift; done; /bin/mount --bind $export \"$1\"; exit 1", "exit status 1\n" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(nfs_bench_free_p) struct nfs_bench *n =
            nfs_bench_new(rows[i].mount, "exec /bin/umount \"$1\"");
        ASSERT_ERR(ERR_IO, set_up_inline(n, "'server':'h','path':'/e'"));
        assert_non_null(strstr(err.msg, rows[i].expected));
        assert_false(exists(volume_bench_path(n->b, P, 1, "v")));
        ASSERT_INT(0, mounts_in(n->b->d->path));
        assert_true(exists(in_dir(n->b->d, "export/f")));
    }
}

TEST(servers_that_are_options_are_refused)
{
    static const char *const servers[] = { "", "-o", "--bind" };
    char source[128];

    for (size_t i = 0; i < ARRAY_LEN(servers); i++) {
        _cleanup_(nfs_bench_free_p) struct nfs_bench *n = nfs_bench_new("exit 0", "exit 0");
        (void)snprintf(source, sizeof source, "'server':'%s','path':'/e'", servers[i]);
        ASSERT_ERR(ERR_INVALID, set_up_inline(n, source));
        ASSERT_STR("", calls(n));
        assert_false(exists(volume_bench_path(n->b, P, 1, "v")));
    }
}

TEST(being_told_to_stop_ends_the_mount)
{
    _cleanup_(nfs_bench_free_p) struct nfs_bench *n = nfs_bench_new("exec /bin/sleep 600", "exit 0");
    host_stop stop = 1;

    n->b->env.tools.stop = &stop;
    ASSERT_ERR(ERR_UNCERTAIN, set_up_inline(n, "'server':'h','path':'/e'"));
    assert_false(exists(volume_bench_path(n->b, P, 1, "v")));
}

/* A directory that is not mounted and has something in it is somebody's. */
TEST(tearing_down_removes_no_content)
{
    skip_without_private_mounts();
    _cleanup_(nfs_bench_free_p) struct nfs_bench *n = nfs_bench_new(BINDS, "exit 0");
    const char *path = volume_bench_path(n->b, P, 1, "v");

    sh("mkdir -p '%s' && echo data > '%s/f'", path, path);
    assert_true(P->pods->tear_down(P, &n->b->env, "v", POD_UID "1", &err) < 0);
    sh("test -e '%s/f'", path);
    ASSERT_STR("", calls(n));
}

TEST(what_is_found_on_disk)
{
    _cleanup_(nfs_bench_free_p) struct nfs_bench *n = nfs_bench_new("exit 0", "exit 0");
    _cleanup_(object_unref_p) struct object *found = NULL, *none = NULL;

    ASSERT_OK(P->reconstruct(P, &n->b->env, "v\"1", POD_UID "1", false, &found, &err));
    const struct pod *pod = pod_of(found);
    ASSERT_STR(POD_UID "1", found->uid);
    ASSERT_INT(1, pod->volumes.count);
    ASSERT_STR("v\"1", pod->volumes.items[0].name);
    ASSERT_STR("", pod->volumes.items[0].nfs->server);
    ASSERT_STR("v\"1", pod->volumes.items[0].nfs->path);
    ASSERT_ERR(ERR_UNSUPPORTED, P->reconstruct(P, &n->b->env, "v", POD_UID "1", true, &none, &err));
}

TEST_MAIN()
