/* Kinds of file systems; directories made and trees removed below a directory of ours. */
#include "tests/unit/test_mounts.h"

#include "host/fs.h"
#include "host/remove.h"
#include "host/safe_path.h"

static struct error err;

static bool exists(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

TEST(kinds_of_file_systems)
{
    skip_without_private_mounts();
    _cleanup_(mounts_dir_free_p) struct test_dir *d = mounts_dir_new();
    enum host_fs_kind kind;
    uint64_t bytes = 0;

    ASSERT_OK(host_fs_kind("/proc", &kind, NULL, &err));
    ASSERT_INT(HOST_FS_OTHER, kind);
    ASSERT_INT(0, mount("tmpfs", d->path, "tmpfs", 0, NULL));
    ASSERT_OK(host_fs_kind(d->path, &kind, &bytes, &err));
    ASSERT_INT(HOST_FS_TMPFS, kind);
    ASSERT_INT(sysconf(_SC_PAGESIZE), bytes);
    ASSERT_ERR(ERR_NOT_FOUND, host_fs_kind(in_dir(d, "none"), &kind, NULL, &err));
}

/* What the kernel says without a mount is what it does with one. */
TEST(noswap_is_taken_or_not)
{
    skip_without_private_mounts();
    _cleanup_(mounts_dir_free_p) struct test_dir *d = mounts_dir_new();

    ASSERT_INT(host_tmpfs_takes_noswap(), mount("tmpfs", d->path, "tmpfs", 0, "noswap") == 0);
}

TEST(mounts_of_our_own)
{
    _cleanup_(mounts_dir_free_p) struct test_dir *d = mounts_dir_new();
    pid_t child = fork();
    int status;

    assert_true(child >= 0);
    if (child == 0) {
        bool may = host_enter_private_mounts(&err) == 0;
        if (!may)
            _exit(err.code == ERR_DENIED ? 0 : 1);
        _exit(mount("tmpfs", d->path, "tmpfs", 0, NULL) == 0 ? 0 : 2);
    }
    ASSERT_INT(child, waitpid(child, &status, 0));
    ASSERT_INT(0, status);
    ASSERT_INT(0, mounts_in(d->path));
}

TEST(directories_below)
{
    static const struct {
        const char *path, *made; /* NULL: refused */
    } rows[] = {
        { "a", "a" },          { "a/b/c", "a/b/c" },  { "//x/./y/", "x/y" }, { "", "." },
        { "inside/z", "a/z" }, /* a link that stays below */
        { "..", NULL },        { "a/../../x", NULL }, { "outside/z", NULL }, { "absolute/z", NULL },
        { "file/z", NULL },    { "fifo", NULL },
    };
    _cleanup_(mounts_dir_free_p) struct test_dir *d = mounts_dir_new();
    char base[TEST_PATH_BYTES * 2];
    mode_t old = umask(0077);
    struct stat st;

    (void)snprintf(base, sizeof base, "%s/base", d->path);
    ASSERT_INT(0, mkdir(base, 0700));
    ASSERT_INT(0, symlink("a", in_dir(d, "base/inside")));
    ASSERT_INT(0, symlink("..", in_dir(d, "base/outside")));
    ASSERT_INT(0, symlink("/tmp", in_dir(d, "base/absolute")));
    ASSERT_INT(0, mkfifo(in_dir(d, "base/fifo"), 0600));
    ASSERT_INT(0, close(open(in_dir(d, "base/file"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int r = host_make_below(base, rows[i].path, 0755, &err);
        char made[TEST_PATH_BYTES];
        if (rows[i].made ? r < 0 : r == 0)
            fail_msg("'%s': %d, %s", rows[i].path, r, err.msg);
        if (!rows[i].made)
            continue;
        (void)snprintf(made, sizeof made, "base/%s", rows[i].made);
        ASSERT_INT(0, stat(in_dir(d, made), &st));
        assert_true(S_ISDIR(st.st_mode));
        ASSERT_INT(strcmp(rows[i].made, ".") == 0 ? 0700 : 0755, st.st_mode & 07777);
    }
    (void)umask(old);
    assert_false(exists(in_dir(d, "x")));
    assert_false(exists(in_dir(d, "z")));
    assert_false(exists("/tmp/z"));
    ASSERT_ERR(ERR_NOT_FOUND, host_make_below(in_dir(d, "none"), "a", 0755, &err));
}

TEST(a_path_that_is_too_long_is_refused)
{
    _cleanup_(mounts_dir_free_p) struct test_dir *d = mounts_dir_new();
    char path[PATH_MAX + 2], name[NAME_MAX + 2];

    memset(path, 'a', sizeof path - 1);
    for (size_t i = 100; i < sizeof path; i += 100)
        path[i] = '/';
    path[sizeof path - 1] = '\0';
    ASSERT_ERR(ERR_INVALID, host_make_below(d->path, path, 0755, &err));
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    ASSERT_ERR(ERR_INVALID, host_make_below(d->path, name, 0755, &err));
}

/* Nothing mounted is entered, though the table is not read. */
TEST(a_tree_of_ours_goes_but_for_what_is_mounted_in_it)
{
    skip_without_private_mounts();
    _cleanup_(mounts_dir_free_p) struct test_dir *d = mounts_dir_new();

    ASSERT_OK(host_make_below(d->path, "data/kept", 0755, &err));
    ASSERT_OK(host_make_below(d->path, "tree/m", 0755, &err));
    ASSERT_OK(host_make_below(d->path, "tree/a/b", 0755, &err));
    ASSERT_INT(0, mount(in_dir(d, "data"), in_dir(d, "tree/m"), NULL, MS_BIND, NULL));
    ASSERT_ERR(ERR_BUSY, host_remove_own_tree(d->path, in_dir(d, "tree/m"), NULL, &err));
    ASSERT_ERR(ERR_BUSY, host_remove_own_tree(d->path, in_dir(d, "tree"), NULL, &err));
    assert_true(exists(in_dir(d, "data/kept")));
    ASSERT_INT(0, umount(in_dir(d, "tree/m")));
    ASSERT_ERR(ERR_INVALID, host_remove_own_tree(in_dir(d, "data"), in_dir(d, "tree"), NULL, &err));
    ASSERT_OK(host_remove_own_tree(d->path, in_dir(d, "tree"), NULL, &err));
    assert_false(exists(in_dir(d, "tree")));
    assert_true(exists(in_dir(d, "data/kept")));
}

TEST_MAIN()
