/* Mounting and unmounting, in a mount namespace of our own. What a command would do is done by scripts that
 * write down how they were called. */
#include "tests/unit/test_mounts.h"

#include <sys/statvfs.h>

#include "host/mount_syscall.h"
#include "io/file.h"

static struct error err;
static const struct host_tools tools = { 0 };

static enum host_path_state state_of(const char *path)
{
    enum host_path_state state;

    ASSERT_OK(host_path_state(path, &state, &err));
    return state;
}

static unsigned long flags_of(const char *path)
{
    struct statvfs st;

    assert_int_equal(statvfs(path, &st), 0);
    return st.f_flag;
}

static struct test_dir *dir_with(const char *const *names)
{
    struct test_dir *d = mounts_dir_new();

    for (; *names; names++)
        assert_int_equal(mkdir(in_dir(d, *names), 0755), 0);
    return d;
}
#define DIR_WITH(...) dir_with((const char *const[]){ __VA_ARGS__, NULL })

TEST(a_tmpfs_with_its_options)
{
    skip_without_private_mounts();
    _cleanup_(mounts_dir_free_p) struct test_dir *d = DIR_WITH("m");
    struct mount_plan plan = { "tmpfs", in_dir(d, "m"), "tmpfs", LIST("size=128k", "noexec", "mode=0700") };
    struct statvfs st;

    ASSERT_OK(host_mount(&tools, &plan, &err));
    ASSERT_INT(HOST_PATH_MOUNTED, state_of(in_dir(d, "m")));
    assert_int_equal(statvfs(in_dir(d, "m"), &st), 0);
    ASSERT_INT(128 * 1024, st.f_blocks * st.f_frsize);
    assert_true(st.f_flag & ST_NOEXEC);
    ASSERT_OK(host_unmount(&tools, in_dir(d, "m"), &err));
    ASSERT_INT(HOST_PATH_PLAIN, state_of(in_dir(d, "m")));
}

/* plugins-41: the flags come with the second step, and the source's own are kept. */
TEST(a_bind_takes_all_options_and_keeps_the_sources)
{
    skip_without_private_mounts();
    _cleanup_(mounts_dir_free_p) struct test_dir *d = DIR_WITH("from", "to");
    struct mount_plan plan = { in_dir(d, "from"), in_dir(d, "to"), "", LIST("bind", "ro", "remount") };

    assert_int_equal(mount("tmpfs", plan.source, "tmpfs", MS_NODEV | MS_NOSUID | MS_NOATIME, NULL), 0);
    ASSERT_OK(host_mount(&tools, &plan, &err));
    ASSERT_INT(ST_RDONLY | ST_NODEV | ST_NOSUID | ST_NOATIME,
               flags_of(plan.target) & (ST_RDONLY | ST_NODEV | ST_NOSUID | ST_NOATIME));
    ASSERT_INT(0, flags_of(plan.source) & ST_RDONLY); /* the bind alone */
    ASSERT_INT(-1, open(in_dir(d, "to/x"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_INT(EROFS, errno);
    ASSERT_OK(host_unmount(&tools, plan.target, &err));
    plan.options = LIST("bind");
    ASSERT_OK(host_mount(&tools, &plan, &err));
    ASSERT_INT(ST_NODEV | ST_NOSUID | ST_NOATIME,
               flags_of(plan.target) & (ST_RDONLY | ST_NODEV | ST_NOSUID | ST_NOATIME));
}

static void put_command(struct test_dir *d, const char *name, const char *body)
{
    char text[TEST_PATH_BYTES * 4];

    (void)snprintf(text, sizeof text, "#!/bin/sh\necho \"%s $*\" >> %s/log\n%s\n", name, d->path, body);
    put_file(in_dir(d, name), text);
    assert_int_equal(chmod(in_dir(d, name), 0755), 0);
}

/* What was called, with the directory's path cut out. */
static const char *calls(const struct test_dir *d)
{
    static char out[4096];
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(0);
    size_t cut = strlen(d->path), len = 0;

    if (access(in_dir(d, "log"), F_OK) < 0)
        return "";
    ASSERT_OK(io_read_file(in_dir(d, "log"), 2048, &text, &err));
    for (const char *at = buf_cstr(&text); *at;) {
        bool is_dir = strncmp(at, d->path, cut) == 0;
        out[len++] = is_dir ? '@' : *at;
        at += is_dir ? cut : 1;
    }
    out[len] = '\0';
    return out;
}

/* plugins-41: two invocations, as a command shows them. An option of mount(8)'s own makes it one. */
TEST(a_bind_is_two_invocations)
{
    _cleanup_(mounts_dir_free_p) struct test_dir *d = DIR_WITH("from", "to");
    struct host_tools own = { .commands_path = d->path };
    struct mount_plan plan = { in_dir(d, "from"), in_dir(d, "to"), "fuse.x", LIST("bind", "_netdev", "ro") };
    char expected[512];

    put_command(d, "mount", "exit 0");
    ASSERT_OK(host_mount(&own, &plan, &err));
    (void)snprintf(expected, sizeof expected,
                   "mount -t fuse.x -o bind,_netdev @/from @/to\n"
                   "mount -t fuse.x -o bind,remount,_netdev,ro");
    assert_non_null(strstr(calls(d), expected));
    assert_non_null(strstr(calls(d), " @/from @/to\n"));
}

TEST(a_bind_whose_second_step_fails_is_undone)
{
    skip_without_private_mounts();
    _cleanup_(mounts_dir_free_p) struct test_dir *d = DIR_WITH("from", "to");
    struct mount_plan plan = { in_dir(d, "from"), in_dir(d, "to"), "", LIST("bind", "no-such-option=1") };
    int r = host_mount(&tools, &plan, &err);

    if (r < 0) /* a kernel that looks at the options of a bind's file system */
        assert_non_null(strstr(err.msg, "Mounting arguments: -o bind,remount,no-such-option=1"));
    else
        ASSERT_OK(host_unmount(&tools, plan.target, &err));
    ASSERT_INT(HOST_PATH_PLAIN, state_of(plan.target));
    struct host_tools own = { .commands_path = d->path };
    put_command(
        d, "mount",
        "case \"$*\" in *remount*) echo no >&2; exit 32;; *) exec /bin/mount --bind \"$5\" \"$6\";; esac");
    plan.type = "fuse.x";
    plan.options = LIST("bind", "ro");
    ASSERT_ERR(ERR_IO, host_mount(&own, &plan, &err));
    assert_non_null(strstr(err.msg, "Output: no\n"));
    ASSERT_INT(HOST_PATH_PLAIN, state_of(plan.target));
}

TEST(files_are_bound_by_descriptor)
{
    skip_without_private_mounts();
    _cleanup_(mounts_dir_free_p) struct test_dir *d = DIR_WITH("from", "other");
    _cleanup_(fd_closep) int fd = -1;
    char byte = 0;

    put_file(in_dir(d, "from/f"), "x");
    put_file(in_dir(d, "other/f"), "y");
    put_file(in_dir(d, "to"), "");
    fd = open(in_dir(d, "from/f"), O_PATH | O_CLOEXEC);
    assert_int_equal(rename(in_dir(d, "from"), in_dir(d, "moved")), 0); /* another stands there now */
    assert_int_equal(rename(in_dir(d, "other"), in_dir(d, "from")), 0);
    ASSERT_OK(host_bind_fd(&tools, fd, in_dir(d, "to"), LIST("bind", "ro"), &err));
    _cleanup_(fd_closep) int bound = open(in_dir(d, "to"), O_RDONLY | O_CLOEXEC);
    ASSERT_INT(1, read(bound, &byte, 1));
    ASSERT_INT('x', byte);
    assert_true(flags_of(in_dir(d, "to")) & ST_RDONLY);
    ASSERT_ERR(ERR_INTERNAL, host_bind_fd(&tools, fd, in_dir(d, "to"), LIST("ro"), &err));
}

TEST(failures_read_like_the_commands)
{
    skip_without_private_mounts();
    _cleanup_(mounts_dir_free_p) struct test_dir *d = DIR_WITH("m");
    char expected[1024];
    struct mount_plan plan = { "tmpfs", in_dir(d, "m"), "tmpfs", LIST("size=nonsense") };

    plan.secret_options = LIST("password=p1", "password=p2");
    assert_true(host_mount(&tools, &plan, &err) < 0);
    (void)snprintf(expected, sizeof expected,
                   "mount failed: exit status 32\nMounting command: mount\nMounting arguments: -t tmpfs -o "
                   "size=nonsense,<masked>,<masked> tmpfs %s\nOutput: mount: %s: ",
                   plan.target, plan.target);
    assert_int_equal(strncmp(expected, err.msg, strlen(expected)), 0);
    assert_null(strstr(err.msg, "password"));
    plan = (struct mount_plan){ in_dir(d, "absent"), in_dir(d, "m"), "", LIST("bind") };
    assert_true(host_mount(&tools, &plan, &err) < 0);
    assert_non_null(strstr(err.msg, "Mounting arguments: -o bind "));
    plan = (struct mount_plan){ "tmpfs", in_dir(d, "absent"), "tmpfs", LIST(NULL) };
    ASSERT_ERR(ERR_NOT_FOUND, host_mount(&tools, &plan, &err));
    assert_non_null(strstr(err.msg, "Mounting arguments: -t tmpfs tmpfs "));
    ASSERT_INT(0, mounts_in(d->path));
}

TEST(what_needs_a_helper_is_a_command)
{
    static const struct {
        const char *type;
        const char *const options[4];
        const char *source, *expected;
    } rows[] = {
        { "nfs", { "hard", "vers=3" }, "h:/x", "mount -t nfs -o hard,vers=3 h:/x @/m\n" },
        { "nfs", { NULL }, "h:/x", "mount -t nfs h:/x @/m\n" },
        { "cifs", { "ro" }, "", "mount -t cifs -o ro @/m\n" },
        { "", { "remount" }, "", "" }, /* the kernel's own */
        { "ext4", { "loop" }, "/f", "mount -t ext4 -o loop /f @/m\n" },
        { "ext4", { "X-mount.mkdir" }, "/f", "mount -t ext4 -o X-mount.mkdir /f @/m\n" },
        { "xfs", { "X-mount.subdir=x" }, "/f", "mount -t xfs -o X-mount.subdir=x /f @/m\n" },
        { "tmpfs", { "helper=evil" }, "t", "mount -t tmpfs -o helper=evil t @/m\n" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(mounts_dir_free_p) struct test_dir *d = DIR_WITH("m");
        struct host_tools own = { .commands_path = d->path };
        struct mount_plan plan = { rows[i].source, in_dir(d, "m"), rows[i].type, texts_of(rows[i].options) };
        put_command(d, "mount", "exit 0");
        int r = host_mount(&own, &plan, &err);
        if (strcmp(rows[i].expected, calls(d)) != 0 || (rows[i].expected[0] && r < 0))
            fail_msg("row %zu: %d, %s", i, r, calls(d));
    }
}

TEST(a_commands_failure_and_its_limit)
{
    _cleanup_(mounts_dir_free_p) struct test_dir *d = DIR_WITH("m");
    struct host_tools own = { .commands_path = d->path };
    struct mount_plan plan = { "h:/x", "/m", "nfs", LIST("hard") };
    atomic_int stop = 1;

    put_command(d, "mount.nfs", "exit 1"); /* it is there */
    put_command(d, "mount", "echo one; echo two >&2; exit 32");
    plan.secret_options = LIST("password=p");
    ASSERT_ERR(ERR_IO, host_mount(&own, &plan, &err));
    ASSERT_STR("mount failed: exit status 32\nMounting command: mount\nMounting arguments: -t nfs -o "
               "hard,<masked> h:/x /m\nOutput: one\ntwo\n",
               err.msg);
    ASSERT_STR("mount -t nfs -o hard,password=p h:/x /m\n", calls(d));
    put_command(d, "mount", "exec /bin/sleep 600");
    plan.limit_ns = NS_PER_MS * 100;
    ASSERT_ERR(ERR_UNCERTAIN, host_mount(&own, &plan, &err));
    assert_non_null(strstr(err.msg, "mount failed: mount did not end within 100 ms\n"));
    plan.limit_ns = 0;
    own.stop = &stop;
    ASSERT_ERR(ERR_UNCERTAIN, host_mount(&own, &plan, &err));
    plan.source = "--all";
    ASSERT_ERR(ERR_INVALID, host_mount(&own, &plan, &err));
}

/* A table of what is missing, of what is there, and of what is said of it at the next try. */
TEST(a_helper_that_is_missing_is_the_cause)
{
    static const struct {
        const char *type, *there, *expected; /* NULL: as mount(8) says it */
    } rows[] = {
        { "nfs", "mount", "mount.nfs is not installed: install nfs-common" },
        { "nfs", "mount.nfs4", "mount.nfs is not installed: install nfs-common" },
        { "nfs", "mount.nfs", NULL },
        { "nfs4", "mount", "mount.nfs4 is not installed: install nfs-common" },
        { "cifs", "mount", "mount.cifs is not installed: install cifs-utils" },
        { "ceph", "mount", "mount.ceph is not installed: install ceph-common" },
        { "glusterfs", "mount", "mount.glusterfs is not installed: install glusterfs-client" },
        { "fuse.sshfs", "mount", "mount.fuse is not installed: install fuse3" },
        { "fuse.sshfs", "mount.fuse", NULL },
        { "fuse.sshfs", "mount.fuse.sshfs", NULL },
        { "lustre", "mount", "mount.lustre is not installed" },
        { "f2fs", "mount", NULL }, /* the kernel's own */
        { "nfsx", "mount", NULL },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(mounts_dir_free_p) struct test_dir *d = DIR_WITH("m");
        struct host_tools own = { .commands_path = d->path };
        struct mount_plan plan = { "h:/x", in_dir(d, "m"), rows[i].type };

        put_command(d, rows[i].there, "exit 1");
        put_command(d, "mount", "echo noise; exit 32");
        ASSERT_ERR(ERR_IO, host_mount(&own, &plan, &err));
        if (rows[i].expected)
            ASSERT_STR(rows[i].expected, err.msg);
        else
            assert_true(str_has_suffix(str_of(err.msg), "Output: noise\n"));
        put_command(d, "mount", "exit 0"); /* mounted without a helper, whatever the table says */
        ASSERT_OK(host_mount(&own, &plan, &err));
    }
}

/* --- Unmounting --- */

/* plugins-42 */
TEST(unmounting_what_is_not_mounted_is_done)
{
    skip_without_private_mounts();
    _cleanup_(mounts_dir_free_p) struct test_dir *d = DIR_WITH("m");
    char expected[1024];

    ASSERT_OK(host_unmount(&tools, in_dir(d, "m"), &err));
    ASSERT_OK(host_unmount_lazily(in_dir(d, "m"), &err));
    ASSERT_ERR(ERR_NOT_FOUND, host_unmount(&tools, in_dir(d, "absent"), &err));
    (void)snprintf(expected, sizeof expected,
                   "unmount failed: exit status 32\nUnmounting arguments: %s/absent\nOutput: umount: "
                   "%s/absent: No such file or directory\n",
                   d->path, d->path);
    ASSERT_STR(expected, err.msg);
}

/* plugins-42: of a command, the words decide. */
TEST(a_commands_not_mounted_is_done)
{
    _cleanup_(mounts_dir_free_p) struct test_dir *d = DIR_WITH("m");
    struct host_tools own = { .commands_path = d->path };

    put_command(d, "umount", "echo \"umount: $1: not mounted.\" >&2; exit 32");
    ASSERT_OK(host_unmount_forced(&own, "/m", NS_PER_S * 20, &err));
    put_command(d, "umount", "echo \"umount: $1: odd\" >&2; exit 32");
    ASSERT_ERR(ERR_IO, host_unmount_forced(&own, "/m", NS_PER_S * 20, &err));
    ASSERT_STR("unmount failed: exit status 32\nUnmounting arguments: /m\nOutput: umount: /m: odd\n",
               err.msg);
    ASSERT_ERR(ERR_INVALID, host_unmount_forced(&own, "-a", NS_PER_S * 20, &err));
}

/* plugins-39 */
TEST(what_hangs_is_unmounted_by_force)
{
    _cleanup_(mounts_dir_free_p) struct test_dir *d = DIR_WITH("m");
    struct host_tools own = { .commands_path = d->path };

    put_command(d, "umount", "[ \"$1\" = -f ] || exec /bin/sleep 600");
    ASSERT_OK(host_unmount_forced(&own, "/m", NS_PER_MS * 200, &err));
    ASSERT_STR("umount /m\numount -f /m\n", calls(d));
}

TEST(a_busy_target_is_told_and_left_lazily)
{
    skip_without_private_mounts();
    _cleanup_(mounts_dir_free_p) struct test_dir *d = DIR_WITH("m");
    _cleanup_(fd_closep) int fd = -1;

    assert_int_equal(mount("tmpfs", in_dir(d, "m"), "tmpfs", 0, "size=64k"), 0);
    fd = open(in_dir(d, "m"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ASSERT_ERR(ERR_BUSY, host_unmount(&tools, in_dir(d, "m"), &err));
    assert_non_null(strstr(err.msg, "/m: target is busy.\n"));
    ASSERT_OK(host_unmount_lazily(in_dir(d, "m"), &err));
    ASSERT_INT(HOST_PATH_PLAIN, state_of(in_dir(d, "m")));
}

TEST(a_link_is_not_unmounted_through)
{
    skip_without_private_mounts();
    _cleanup_(mounts_dir_free_p) struct test_dir *d = DIR_WITH("m");

    assert_int_equal(mount("tmpfs", in_dir(d, "m"), "tmpfs", 0, "size=64k"), 0);
    assert_int_equal(symlink("m", in_dir(d, "link")), 0);
    ASSERT_INT(HOST_PATH_PLAIN, state_of(in_dir(d, "link")));
    ASSERT_OK(host_unmount(&tools, in_dir(d, "link"), &err));
    ASSERT_INT(HOST_PATH_MOUNTED, state_of(in_dir(d, "m")));
    assert_true(host_clean_mount_point(&tools, in_dir(d, "link"), 0, &err) < 0);
    ASSERT_INT(HOST_PATH_MOUNTED, state_of(in_dir(d, "m")));
}

/* --- States and cleaning --- */

TEST(corrupted_mounts_by_errno)
{
    static const int corrupted[] = { ENOTCONN, ESTALE, EIO, EACCES, EHOSTDOWN, EWOULDBLOCK, ENODEV };
    static const int others[] = { 0, ENOENT, EINVAL, EBUSY, ENOTDIR, ELOOP, ENOMEM };

    for (size_t i = 0; i < ARRAY_LEN(corrupted); i++)
        assert_true(host_is_corrupted_errno(corrupted[i]));
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        assert_false(host_is_corrupted_errno(others[i]));
}

TEST(states_of_paths)
{
    _cleanup_(mounts_dir_free_p) struct test_dir *d = DIR_WITH("m");
    enum host_path_state state = HOST_PATH_MOUNTED;
    char longest[PATH_MAX];

    put_file(in_dir(d, "f"), "");
    ASSERT_INT(HOST_PATH_PLAIN, state_of(in_dir(d, "m")));
    ASSERT_INT(HOST_PATH_PLAIN, state_of(in_dir(d, "f")));
    ASSERT_INT(HOST_PATH_MISSING, state_of(in_dir(d, "m/x")));
    ASSERT_INT(HOST_PATH_MOUNTED, state_of("/proc"));
    assert_true(host_path_state(in_dir(d, "f/x"), &state, &err) < 0);
    ASSERT_INT(HOST_PATH_MOUNTED, state); /* untouched */
    (void)snprintf(longest, sizeof longest, "%s/f/x", d->path);
    ASSERT_ERR(ERR_IO, host_clean_mount_point(&tools, longest, 0, &err));
    assert_non_null(strstr(err.msg, "Error checking path: "));
}

/* plugins-43: a file system whose daemon is gone. */
TEST(a_dead_mount_is_cleaned)
{
    skip_without_private_mounts();
    int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (fuse < 0) {
        print_message("no /dev/fuse: skipped\n");
        skip();
    }
    _cleanup_(mounts_dir_free_p) struct test_dir *d = DIR_WITH("m");
    char options[128];
    struct stat st;

    (void)snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
    int mounted = mount("test", in_dir(d, "m"), "fuse", 0, options);
    (void)close(fuse); /* dead */
    ASSERT_INT(0, mounted);
    ASSERT_INT(-1, stat(in_dir(d, "m"), &st));
    ASSERT_INT(ENOTCONN, errno);
    ASSERT_INT(HOST_PATH_CORRUPTED, state_of(in_dir(d, "m/below")));
    ASSERT_OK(host_clean_mount_point(&tools, in_dir(d, "m"), 0, &err));
    ASSERT_INT(HOST_PATH_MISSING, state_of(in_dir(d, "m")));
}

/* plugins-44 */
TEST(cleaning_never_removes_content)
{
    skip_without_private_mounts();
    _cleanup_(mounts_dir_free_p) struct test_dir *d = DIR_WITH("full", "m");

    put_file(in_dir(d, "full/f"), "kept");
    assert_true(host_clean_mount_point(&tools, in_dir(d, "full"), 0, &err) < 0);
    assert_non_null(strstr(err.msg, "Directory not empty"));
    ASSERT_INT(HOST_PATH_PLAIN, state_of(in_dir(d, "full/f")));
    ASSERT_ERR(ERR_IO, host_clean_mount_point(&tools, in_dir(d, "full/f"), 0, &err));
    ASSERT_INT(HOST_PATH_PLAIN, state_of(in_dir(d, "full/f")));
    put_file(in_dir(d, "m/f"), "kept"); /* below a mount */
    assert_int_equal(mount("tmpfs", in_dir(d, "m"), "tmpfs", 0, "size=64k"), 0);
    assert_true(host_clean_mount_point(&tools, in_dir(d, "m"), 0, &err) < 0);
    ASSERT_INT(HOST_PATH_PLAIN, state_of(in_dir(d, "m/f")));
}

TEST(mount_points_are_cleaned)
{
    skip_without_private_mounts();
    _cleanup_(mounts_dir_free_p) struct test_dir *d = DIR_WITH("m", "plain");

    ASSERT_OK(host_clean_mount_point(&tools, in_dir(d, "absent"), 0, &err));
    ASSERT_OK(host_clean_mount_point(&tools, in_dir(d, "plain"), 0, &err));
    ASSERT_INT(HOST_PATH_MISSING, state_of(in_dir(d, "plain")));
    assert_int_equal(mount("tmpfs", in_dir(d, "m"), "tmpfs", 0, "size=64k"), 0);
    assert_int_equal(mount("tmpfs", in_dir(d, "m"), "tmpfs", 0, "size=64k"), 0); /* one on the other */
    ASSERT_ERR(ERR_BUSY, host_clean_mount_point(&tools, in_dir(d, "m"), 0, &err));
    assert_int_equal(strncmp("failed to cleanup mount point /", err.msg, 31), 0);
    ASSERT_OK(host_clean_mount_point(&tools, in_dir(d, "m"), 60 * NS_PER_S, &err)); /* by umount(8) */
    ASSERT_INT(HOST_PATH_MISSING, state_of(in_dir(d, "m")));
    put_file(in_dir(d, "f"), "x");
    put_file(in_dir(d, "bound"), "");
    assert_int_equal(mount(in_dir(d, "f"), in_dir(d, "bound"), NULL, MS_BIND, NULL), 0);
    ASSERT_OK(host_clean_mount_point(&tools, in_dir(d, "bound"), 0, &err));
    ASSERT_INT(HOST_PATH_MISSING, state_of(in_dir(d, "bound")));
    ASSERT_INT(HOST_PATH_PLAIN, state_of(in_dir(d, "f")));
}

/* --- Options --- */

TEST(options_are_joined)
{
    static const struct {
        const char *const user[5], *const ours[3];
        const char *expected;
    } rows[] = {
        { { "b", "a" }, { "ro" }, "a,b,ro" },
        { { "b", "", "a", "b" }, { "ro", "a" }, "a,b,ro" },
        { { NULL }, { "ro", "bind" }, "bind,ro" },
        { { "Z", "a=1" }, { NULL }, "Z,a=1" },
        { { NULL }, { NULL }, "" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_done_p) struct arena a = ARENA_INIT(4096);
        char joined[64] = "";
        struct texts all;
        ASSERT_OK(host_join_options(&a, texts_of(rows[i].user), texts_of(rows[i].ours), &all, &err));
        for (uint32_t k = 0; k < all.count; k++)
            (void)snprintf(joined + strlen(joined), sizeof joined - strlen(joined), "%s%s", k ? "," : "",
                           all.items[k]);
        ASSERT_STR(rows[i].expected, joined);
    }
    struct arena none = ARENA_INIT(0);
    struct texts all = { NULL, 7 };
    ASSERT_ERR(ERR_NO_MEMORY, host_join_options(&none, LIST("a"), LIST("b"), &all, &err));
    ASSERT_INT(7, all.count);
}

TEST_MAIN()
