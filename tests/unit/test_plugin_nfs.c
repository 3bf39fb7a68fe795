/* Recycling an export: the commands are scripts here, which write down how they were called. Where we may
 * mount, the script of `mount` binds a directory that stands for the export. */
#include "tests/unit/test_plugins.h"

#include <sched.h>

#include "base/buf.h"
#include "host/command.h"
#include "io/file.h"

struct nfs_fixture {
    struct fixture *f;
    char mount_dir[TEST_PATH_BYTES * 2];
    char commands[TEST_PATH_BYTES * 2];
};

static void put_script(const struct nfs_fixture *n, const char *name, const char *body)
{
    char path[TEST_PATH_BYTES * 3], text[4096];

    (void)snprintf(path, sizeof path, "%s/%s", n->commands, name);
    (void)snprintf(text, sizeof text, "#!/bin/sh\nlog=%s/log\nexport=%s/export\necho \"%s $*\" >> $log\n%s\n",
                   n->f->d.path, n->f->d.path, name, body);
    put_file(path, text);
    assert_int_equal(chmod(path, 0755), 0);
}

static struct nfs_fixture nfs_new(const char *mount_body, const char *umount_body)
{
    struct nfs_fixture n = { .f = fixture_new(NULL, 8) };

    (void)snprintf(n.mount_dir, sizeof n.mount_dir, "%s/mounts", n.f->d.path);
    (void)snprintf(n.commands, sizeof n.commands, "%s/bin", n.f->d.path);
    assert_int_equal(mkdir(n.commands, 0755), 0);
    assert_int_equal(mkdir(in_dir(&n.f->d, "export"), 0755), 0);
    assert_int_equal(mkdir(in_dir(&n.f->d, "export/dir"), 0755), 0);
    put_file(in_dir(&n.f->d, "export/dir/file"), "data");
    put_script(&n, "mount", mount_body);
    put_script(&n, "umount", umount_body);
    put_script(&n, "mount.nfs", "exit 1"); /* it is there; nobody calls it */
    return n;
}

static void nfs_done(struct nfs_fixture *n)
{
    n->f = fixture_free(n->f);
}

/* The host is filled in here, since the fixture has moved to its place by now. */
static int recycle_with(struct nfs_fixture *n, const struct object *v, struct host_guard *guard)
{
    struct plugin_op *op = fixture_op(n->f);

    op->guard = guard;
    n->f->host.mount_dir = n->mount_dir;
    n->f->host.commands_path = n->commands;
    nfs_plugin.recycle->recycle(&n->f->host, volume_of(v), op);
    return fixture_await(n->f);
}

static int recycle(struct nfs_fixture *n, const struct object *v)
{
    return recycle_with(n, v, NULL);
}

static struct object *nfs_volume(const char *server, const char *more)
{
    return plugin_object(KIND_VOLUME,
                         "{'metadata':{'name':'p'%s},'spec':{'capacity':{'storage':'1Gi'},"
                         "'nfs':{'server':'%s','path':'/exports/a b'}}}",
                         more, server);
}

/* What was called, with the directory's path cut out. */
static const char *calls(const struct nfs_fixture *n)
{
    static char out[4096];
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(0);
    size_t cut = strlen(n->f->d.path), len = 0;
    const char *at;

    if (!exists(in_dir(&n->f->d, "log")))
        return "";
    ASSERT_OK(io_read_file(in_dir(&n->f->d, "log"), 2048, &text, &err));
    for (at = buf_cstr(&text); *at;) {
        if (strncmp(at, n->f->d.path, cut) == 0) {
            at += cut;
            out[len++] = '@';
        } else {
            out[len++] = *at++;
        }
    }
    out[len] = '\0';
    return out;
}

static bool export_is_full(const struct nfs_fixture *n)
{
    return exists(in_dir(&n->f->d, "export/dir/file"));
}

#define BINDS "while [ $# -gt 1 ]; do shift; done; exec /bin/mount --bind $export $1"
#define UNBINDS "exec /bin/umount $1"

TEST(recycle_mounts_empties_and_unmounts)
{
    skip_without_mounts();
    _cleanup_(nfs_done) struct nfs_fixture n = nfs_new(BINDS, UNBINDS);
    _cleanup_(object_unref_p) struct object *v = nfs_volume("fs.example", "");

    ASSERT_OK(recycle(&n, v));
    ASSERT_STR("mount -t nfs fs.example:/exports/a b @/mounts/p\numount @/mounts/p\n", calls(&n));
    assert_false(exists(in_dir(&n.f->d, "export/dir")));
    assert_true(exists(in_dir(&n.f->d, "export")));
    assert_false(exists(in_dir(&n.f->d, "mounts/p")));
    ASSERT_OK(recycle(&n, v)); /* again */
}

/* Another volume has a directory of the export: nothing is mounted. Berth's own directory is what the export
 * shows: nothing is removed. */
TEST(recycle_asks_the_guard)
{
    skip_without_mounts();
    _cleanup_(nfs_done) struct nfs_fixture n = nfs_new(BINDS, UNBINDS);
    _cleanup_(object_unref_p) struct object *v = nfs_volume("fs.example", "");
    const char *own[] = { in_dir(&n.f->d, "export/dir"), NULL };
    const struct guard_dirs dirs = { own, NULL };
    struct host_guard *guard;

    ASSERT_OK(host_guard_new(NULL, &guard, &err));
    host_guard_add_volume(guard, "other", "fs.example", "/exports/a b/c");
    ASSERT_ERR(ERR_DENIED, recycle_with(&n, v, guard));
    ASSERT_STR("'/exports/a b' contains the path of volume \"other\"", err.msg);
    ASSERT_STR("", calls(&n));
    ASSERT_OK(host_guard_new(&dirs, &guard, &err));
    ASSERT_ERR(ERR_DENIED, recycle_with(&n, v, guard));
    assert_non_null(strstr(err.msg, "contains Berth's own directory"));
    assert_true(export_is_full(&n));
    assert_false(exists(in_dir(&n.f->d, "mounts/p")));
}

TEST(recycle_passes_options)
{
    static const struct {
        const char *more, *spec, *expected;
    } rows[] = {
        { "", "'mountOptions':['vers=3','hard'],", "-o hard,vers=3 [fd00::1]:" },
        { ",'annotations':{'volume.beta.kubernetes.io/mount-options':'b,a'}", "'mountOptions':['c'],",
          "-o a,b [fd00::1]:" },
        { "", "", "nfs [fd00::1]:" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(nfs_done) struct nfs_fixture n = nfs_new("exit 1", "exit 0");
        _cleanup_(object_unref_p) struct object *v = plugin_object(
            KIND_VOLUME, "{'metadata':{'name':'p'%s},'spec':{%s'nfs':{'server':'fd00::1','path':'/e'}}}",
            rows[i].more, rows[i].spec);
        assert_true(recycle(&n, v) < 0);
        assert_non_null(strstr(calls(&n), rows[i].expected));
    }
    _cleanup_(nfs_done) struct nfs_fixture n = nfs_new("exit 1", "exit 0");
    _cleanup_(object_unref_p) struct object *v = plugin_object(
        KIND_VOLUME,
        "{'metadata':{'name':'p'},'spec':{'nfs':{'server':'[::1]','path':'/e','readOnly':true}}}");
    assert_true(recycle(&n, v) < 0);
    ASSERT_STR("mount -t nfs -o ro [::1]:/e @/mounts/p\n", calls(&n));
}

/* plugins-15: a scrub that fails says why, and leaves nothing behind. */
TEST(a_failing_mount_is_told_in_its_words)
{
    _cleanup_(nfs_done) struct nfs_fixture n =
        nfs_new("echo 'mount.nfs: no route to host' >&2; exit 32", "exit 0");
    _cleanup_(object_unref_p) struct object *v = nfs_volume("10.0.0.9", "");

    ASSERT_ERR(ERR_IO, recycle(&n, v));
    assert_non_null(strstr(err.msg, "mount failed: exit status 32\nMounting command: mount\n"
                                    "Mounting arguments: -t nfs 10.0.0.9:/exports/a b "));
    assert_non_null(strstr(err.msg, "/mounts/p\nOutput: mount.nfs: no route to host\n"));
    assert_false(exists(in_dir(&n.f->d, "mounts/p"))); /* nothing stays behind */
    assert_true(export_is_full(&n));
}

TEST(a_missing_helper_is_told_instead)
{
    _cleanup_(nfs_done) struct nfs_fixture n = nfs_new("echo 'mount: bad option' >&2; exit 32", "exit 0");
    _cleanup_(object_unref_p) struct object *v = nfs_volume("fs.example", "");

    assert_int_equal(unlink(in_dir(&n.f->d, "bin/mount.nfs")), 0);
    ASSERT_ERR(ERR_IO, recycle(&n, v));
    ASSERT_STR("mount.nfs is not installed: install nfs-common", err.msg);
}

TEST(a_mount_that_does_nothing_is_no_clean_volume)
{
    _cleanup_(nfs_done) struct nfs_fixture n = nfs_new("exit 0", "exit 0");
    _cleanup_(object_unref_p) struct object *v = nfs_volume("fs.example", "");

    ASSERT_ERR(ERR_IO, recycle(&n, v));
    assert_non_null(strstr(err.msg, "mount succeeded, but nothing is mounted at"));
    assert_true(export_is_full(&n));
}

TEST(a_missing_command_is_told)
{
    _cleanup_(nfs_done) struct nfs_fixture n = nfs_new("exit 0", "exit 0");
    _cleanup_(object_unref_p) struct object *v = nfs_volume("fs.example", "");

    (void)snprintf(n.commands, sizeof n.commands, "%s/absent", n.f->d.path);
    assert_true(recycle(&n, v) < 0);
    assert_non_null(strstr(err.msg, "mount failed: cannot start 'mount': command not found in PATH"));
}

TEST(servers_that_are_options_are_refused)
{
    _cleanup_(nfs_done) struct nfs_fixture n = nfs_new("exit 0", "exit 0");
    _cleanup_(object_unref_p) struct object *dash = nfs_volume("--bind", "");
    _cleanup_(object_unref_p) struct object *none = nfs_volume("", "");

    ASSERT_ERR(ERR_INVALID, recycle(&n, dash));
    ASSERT_STR("'--bind' is not a valid NFS server", err.msg);
    ASSERT_ERR(ERR_INVALID, recycle(&n, none));
    ASSERT_STR("", calls(&n));
}

/* plugins-14: no pod scrubs here, so that none of an earlier try can be in the way; its mount can. */
TEST(what_a_crash_left_mounted_is_unmounted_first)
{
    skip_without_mounts();
    _cleanup_(nfs_done) struct nfs_fixture n = nfs_new(BINDS, UNBINDS);
    _cleanup_(object_unref_p) struct object *v = nfs_volume("fs.example", "");

    assert_int_equal(mkdir(n.mount_dir, 0700), 0);
    assert_int_equal(mkdir(in_dir(&n.f->d, "mounts/p"), 0700), 0);
    assert_int_equal(mkdir(in_dir(&n.f->d, "other"), 0700), 0);
    put_file(in_dir(&n.f->d, "other/precious"), "");
    assert_int_equal(mount(in_dir(&n.f->d, "other"), in_dir(&n.f->d, "mounts/p"), NULL, MS_BIND, NULL), 0);
    ASSERT_OK(recycle(&n, v));
    ASSERT_STR("umount @/mounts/p\nmount -t nfs fs.example:/exports/a b @/mounts/p\numount @/mounts/p\n",
               calls(&n));
    assert_false(export_is_full(&n));
    assert_true(exists(in_dir(&n.f->d, "other/precious")));
}

TEST(a_failing_unmount_is_told_although_all_is_clean)
{
    skip_without_mounts();
    _cleanup_(nfs_done) struct nfs_fixture n = nfs_new(BINDS, "echo 'target is busy' >&2; exit 16");
    _cleanup_(object_unref_p) struct object *v = nfs_volume("fs.example", "");
    int r = recycle(&n, v);
    int unmounted = umount(in_dir(&n.f->d, "mounts/p"));

    ASSERT_INT(0, unmounted);
    ASSERT_INT(-ERR_IO, r);
    assert_non_null(strstr(err.msg, "unmount failed: exit status 16\nUnmounting arguments: "));
    assert_non_null(strstr(err.msg, "/mounts/p\nOutput: target is busy\n"));
    assert_false(export_is_full(&n));
}

TEST(a_mount_inside_the_export_is_refused)
{
    skip_without_mounts();
    _cleanup_(nfs_done) struct nfs_fixture n = nfs_new(
        "while [ $# -gt 1 ]; do shift; done; exec /bin/mount --rbind $export $1", "exec /bin/umount -l $1");
    _cleanup_(object_unref_p) struct object *v = nfs_volume("fs.example", "");

    assert_int_equal(mkdir(in_dir(&n.f->d, "export/inner"), 0755), 0);
    assert_int_equal(mount("tmpfs", in_dir(&n.f->d, "export/inner"), "tmpfs", 0, "size=64k"), 0);
    int r = recycle(&n, v);
    int unmounted = umount(in_dir(&n.f->d, "export/inner"));
    ASSERT_INT(0, unmounted);
    ASSERT_INT(-ERR_BUSY, r);
    assert_non_null(strstr(err.msg, "/mounts/p/inner\""));
    assert_true(export_is_full(&n));
}

/* Waits for the script to have begun, then lets go of the operation: the command must end by itself. */
TEST(dropping_ends_a_command_that_hangs)
{
    _cleanup_(nfs_done) struct nfs_fixture n = nfs_new("exec sleep 600", "exit 0");
    _cleanup_(object_unref_p) struct object *v = nfs_volume("fs.example", "");

    n.f->host.mount_dir = n.mount_dir;
    n.f->host.commands_path = n.commands;
    nfs_plugin.recycle->recycle(&n.f->host, volume_of(v), fixture_op(n.f));
    (void)alarm(TEST_DEADLINE_S);
    while (!exists(in_dir(&n.f->d, "log")))
        (void)sched_yield();
    plugin_op_drop(&n.f->op);
    pool_drain(n.f->pool);
    (void)alarm(0);
    ASSERT_INT(0, n.f->times_done);
    assert_false(exists(in_dir(&n.f->d, "mounts/p")));
}

/* Commands */

TEST(commands_have_a_limit)
{
    const char *argv[] = { "sleep", "600", NULL };
    struct command c = { .what = "sleep", .argv = argv, .limit_ns = NS_PER_MS };
    atomic_int stop = 1;

    ASSERT_ERR(ERR_TIMEOUT, command_run(&c, &err));
    c.limit_ns = 600 * NS_PER_S;
    c.stop = &stop;
    ASSERT_ERR(ERR_CANCELLED, command_run(&c, &err));
    ASSERT_STR("sleep was cancelled", err.msg);
}

TEST(commands_get_a_fixed_environment)
{
    const char *argv[] = { "sh", "-c", "test \"$PATH\" = /usr/sbin:/usr/bin:/sbin:/bin && test -z \"$HOME\"",
                           NULL };
    struct command c = { .what = "sh", .argv = argv, .limit_ns = 60 * NS_PER_S };

    ASSERT_OK(command_run(&c, &err));
}

TEST_MAIN()
