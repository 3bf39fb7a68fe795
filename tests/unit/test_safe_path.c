#include "tests/unit/test_io.h"

#include "base/cleanup.h"
#include "host/mount_syscall.h"
#include "host/safe_path.h"
#include "io/file.h"

static struct error err;

TEST(paths_are_cleaned)
{
    static const struct {
        const char *path, *expected;
    } rows[] = {
        { "/", "/" },
        { "//", "/" },
        { "/.", "/" },
        { "/tmp", "/tmp" },
        { "/tmp/", "/tmp" },
        { "/tmp//x/./y//", "/tmp/x/y" },
        { "/...", "/..." },
        { "/a/..b/c..", "/a/..b/c.." },
        { "/a b/\n", "/a b/\n" },
    };
    char clean[PATH_MAX];

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ASSERT_OK(host_clean_path(rows[i].path, clean, &err));
        ASSERT_STR(rows[i].expected, clean);
    }
}

TEST(paths_that_could_mean_anything_are_refused)
{
    static const struct {
        const char *path, *expected;
    } rows[] = {
        { "", "the path is empty" },
        { "tmp/x", "'tmp/x' is not an absolute path" },
        { "./x", "'./x' is not an absolute path" },
        { "/..", "'/..' must not contain '..'" },
        { "/a/../b", "'/a/../b' must not contain '..'" },
        { "/a/b/..", "'/a/b/..' must not contain '..'" },
    };
    char clean[PATH_MAX] = "untouched", longest[PATH_MAX + 1];

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ASSERT_ERR(ERR_INVALID, host_clean_path(rows[i].path, clean, &err));
        ASSERT_STR(rows[i].expected, err.msg);
        ASSERT_STR("untouched", clean);
    }
    memset(longest, 'x', sizeof longest);
    longest[0] = '/';
    longest[PATH_MAX] = '\0';
    ASSERT_ERR(ERR_INVALID, host_clean_path(longest, clean, &err));
    longest[PATH_MAX - 1] = '\0';
    ASSERT_OK(host_clean_path(longest, clean, &err));
    ASSERT_STR(longest, clean);
}

TEST(depth_counts_components)
{
    ASSERT_INT(0, host_path_depth("/"));
    ASSERT_INT(1, host_path_depth("/etc"));
    ASSERT_INT(2, host_path_depth("/tmp/x"));
    ASSERT_INT(3, host_path_depth("/tmp/x/y"));
}

TEST(below_goes_by_components)
{
    static const struct {
        const char *path, *base;
        bool expected;
    } rows[] = {
        { "/tmp/x", "/tmp", true },     { "/tmp/x/y", "/tmp", true }, { "/tmp", "/tmp", false },
        { "/tmpx", "/tmp", false },     { "/tm", "/tmp", false },     { "/x/tmp/y", "/tmp", false },
        { "/tmp/", "/tmp", false },     { "/x", "/", true },          { "/", "/", false },
        { "/tmp/xy", "/tmp/x", false },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_INT(rows[i].expected, host_path_is_below(rows[i].path, rows[i].base));
}

/* Opening */

TEST(opening_follows_no_link)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    _cleanup_(fd_closep) int at = open(d.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = -1;

    assert_true(at >= 0);
    assert_int_equal(mkdir(in_dir(&d, "real"), 0700), 0);
    assert_int_equal(mkdir(in_dir(&d, "real/sub"), 0700), 0);
    assert_int_equal(symlink("real", in_dir(&d, "link")), 0);
    put_file(in_dir(&d, "file"), "");
    fd = host_open_dir(at, "real/sub", 0);
    assert_true(fd >= 0);
    ASSERT_INT(-ELOOP, host_open_dir(at, "link/sub", 0));
    ASSERT_INT(-ELOOP, host_open_dir(AT_FDCWD, in_dir(&d, "link/sub"), HOST_OPEN_ANY_MOUNT));
    ASSERT_INT(-ENOTDIR, host_open_dir(at, "file", 0));
    ASSERT_INT(-ENOENT, host_open_dir(at, "absent", 0));
    ASSERT_INT(-EXDEV, host_open_dir(at, "..", 0)); /* out of it */
    ASSERT_INT(-EXDEV, host_open_dir(fd, "../../..", HOST_OPEN_ANY_MOUNT));
    int last = host_open_dir(at, "link", 0);
    assert_true(last == -ELOOP || last == -ENOTDIR);
}

TEST(opening_crosses_no_mount)
{
    skip_without_mounts();
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    _cleanup_(fd_closep) int at = open(d.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), across = -1;
    enum host_path_state state = HOST_PATH_MISSING;
    int refused;

    assert_int_equal(mkdir(in_dir(&d, "a"), 0700), 0);
    assert_int_equal(mkdir(in_dir(&d, "b"), 0700), 0);
    ASSERT_OK(host_path_state(in_dir(&d, "b"), &state, &err));
    ASSERT_INT(HOST_PATH_PLAIN, state);
    /* A bind mount within one file system: device numbers do not show it. */
    assert_int_equal(mount(in_dir(&d, "a"), in_dir(&d, "b"), NULL, MS_BIND, NULL), 0);
    refused = host_open_dir(at, "b", 0);
    across = host_open_dir(at, "b", HOST_OPEN_ANY_MOUNT);
    int r = host_path_state(in_dir(&d, "b"), &state, &err);
    assert_int_equal(umount2(in_dir(&d, "b"), MNT_DETACH), 0); /* before anything can fail the test */
    ASSERT_INT(-EXDEV, refused);
    assert_true(across >= 0);
    ASSERT_OK(r);
    ASSERT_INT(HOST_PATH_MOUNTED, state);
}

TEST(links_are_resolved)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    char resolved[PATH_MAX] = "untouched", expected[PATH_MAX];

    assert_int_equal(mkdir(in_dir(&d, "real"), 0700), 0);
    assert_int_equal(symlink("real", in_dir(&d, "link")), 0);
    assert_int_equal(symlink("loop", in_dir(&d, "loop")), 0);
    assert_non_null(realpath(in_dir(&d, "real"), expected));
    ASSERT_ERR(ERR_NOT_FOUND, host_resolve_path(in_dir(&d, "absent"), resolved, &err));
    assert_true(host_resolve_path(in_dir(&d, "loop"), resolved, &err) < 0);
    ASSERT_STR("untouched", resolved);
    ASSERT_OK(host_resolve_path(in_dir(&d, "link/../link/."), resolved, &err));
    ASSERT_STR(expected, resolved);
}

/* Making */

static unsigned mode_of(const char *path)
{
    struct stat st;

    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode;
}

TEST(directories_are_made_once)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    mode_t before = umask(022);

    ASSERT_OK(host_make_dir(in_dir(&d, "x/base"), "v", 0750, &err));
    ASSERT_INT(S_IFDIR | 0750, mode_of(in_dir(&d, "x/base/v")));
    ASSERT_INT(S_IFDIR | 0750, mode_of(in_dir(&d, "x/base")));
    put_file(in_dir(&d, "x/base/v/f"), "kept");
    ASSERT_OK(host_make_dir(in_dir(&d, "x/base"), "v", 0750, &err));
    ASSERT_INT(S_IFREG, mode_of(in_dir(&d, "x/base/v/f")) & S_IFMT);
    (void)umask(before);
}

TEST(what_is_there_must_be_a_directory_of_ours)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    static const char *const names[] = { "", ".", "..", "a/b", "/" };

    assert_int_equal(symlink("/etc", in_dir(&d, "link")), 0);
    put_file(in_dir(&d, "file"), "");
    ASSERT_ERR(ERR_EXISTS, host_make_dir(d.path, "link", 0750, &err));
    assert_non_null(strstr(err.msg, "/link' exists and is not a directory"));
    ASSERT_ERR(ERR_EXISTS, host_make_dir(d.path, "file", 0750, &err));
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        ASSERT_ERR(ERR_INVALID, host_make_dir(d.path, names[i], 0750, &err));
    assert_int_equal(mkdir(in_dir(&d, "base"), 0700), 0);
    assert_int_equal(symlink("base", in_dir(&d, "other")), 0);
    ASSERT_ERR(ERR_INVALID, host_make_dir(in_dir(&d, "other"), "v", 0750, &err));
    assert_int_equal(mkdir(in_dir(&d, "base/sub"), 0700), 0);
    ASSERT_ERR(ERR_INVALID, host_make_dir(in_dir(&d, "other/sub"), "v", 0750, &err));
    assert_non_null(strstr(err.msg, "/other/sub' is or leads through a symbolic link"));
}

TEST(another_users_directories_are_not_taken)
{
    if (geteuid() != 0) {
        print_message("only root can give directories away: skipped\n");
        skip();
    }
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();

    assert_int_equal(mkdir(in_dir(&d, "base"), 0755), 0);
    assert_int_equal(mkdir(in_dir(&d, "base/v"), 0755), 0);
    assert_int_equal(chown(in_dir(&d, "base/v"), 65534, 65534), 0);
    ASSERT_ERR(ERR_EXISTS, host_make_dir(in_dir(&d, "base"), "v", 0750, &err));
    assert_non_null(strstr(err.msg, "is owned by user 65534"));
    assert_int_equal(chown(in_dir(&d, "base"), 65534, 65534), 0);
    ASSERT_ERR(ERR_DENIED, host_make_dir(in_dir(&d, "base"), "w", 0750, &err));
    assert_int_equal(access(in_dir(&d, "base/w"), F_OK), -1);
}

TEST(only_empty_directories_are_removed_plainly)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();

    assert_int_equal(mkdir(in_dir(&d, "v"), 0700), 0);
    put_file(in_dir(&d, "v/f"), "");
    ASSERT_ERR(ERR_IO, host_remove_empty_dir(in_dir(&d, "v"), &err));
    assert_int_equal(unlink(in_dir(&d, "v/f")), 0);
    ASSERT_OK(host_remove_empty_dir(in_dir(&d, "v"), &err));
    ASSERT_OK(host_remove_empty_dir(in_dir(&d, "v"), &err));
    assert_int_equal(access(in_dir(&d, "v"), F_OK), -1);
}

TEST_MAIN()
