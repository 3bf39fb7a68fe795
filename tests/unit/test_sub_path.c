/* Every test has a directory with `vol`, the volume, `out`, which nothing may touch, and `pod`, the pod's
 * directory. Mounts are real, in a namespace of the test's own. */
#include "tests/unit/test_mounts.h"

#include <sys/statvfs.h>

#include "host/sub_path.h"

static struct error err;
static const struct host_tools tools;

static struct test_dir *place_new(void)
{
    struct test_dir *d = mounts_dir_new();

    assert_int_equal(mkdir(in_dir(d, "vol"), 0755), 0);
    assert_int_equal(mkdir(in_dir(d, "out"), 0755), 0);
    assert_int_equal(mkdir(in_dir(d, "pod"), 0755), 0);
    put_file(in_dir(d, "out/precious"), "data");
    return d;
}

static unsigned mode_of(const char *path)
{
    struct stat st;

    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

static bool exists(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

static bool is_same(const char *a, const char *b)
{
    struct stat x, y;

    return lstat(a, &x) == 0 && lstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Binds vol/path as mount 3 of container c; the target. */
static int bind_path(const struct test_dir *d, const char *path, bool is_read_only, char ret[PATH_MAX])
{
    char volume[PATH_MAX], pod[PATH_MAX];
    struct sub_path s = { volume, path, "data", "c", pod, 3, is_read_only };

    (void)snprintf(volume, sizeof volume, "%s/vol", d->path);
    (void)snprintf(pod, sizeof pod, "%s/pod", d->path);
    return sub_path_bind(&tools, &s, ret, &err);
}

/* As text */

TEST(paths_that_are_refused)
{
    static const struct {
        const char *path, *text;
    } rows[] = {
        { "a/b", NULL },
        { "..a/b..", NULL },
        { "", NULL },
        { "/a", "error SubPath `/a` must not be an absolute path" },
        { "..", "unable to provision SubPath `..`: must not contain '..'" },
        { "a/../b", "unable to provision SubPath `a/../b`: must not contain '..'" },
        { "a/..", "unable to provision SubPath `a/..`: must not contain '..'" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (!rows[i].text) {
            ASSERT_OK(sub_path_check(rows[i].path, &err));
            continue;
        }
        ASSERT_ERR(ERR_INVALID, sub_path_check(rows[i].path, &err));
        ASSERT_STR(rows[i].text, err.msg);
        ASSERT_ERR(ERR_INVALID, sub_path_make("/nonexistent", rows[i].path, &err));
        ASSERT_STR(rows[i].text, err.msg);
    }
}

/* Making */

TEST(new_directories_have_the_root_s_mode)
{
    _cleanup_(mounts_dir_free_p) struct test_dir *d = place_new();
    mode_t mask;
    int r;

    assert_int_equal(mkdir(in_dir(d, "vol/old"), 0700), 0);
    assert_int_equal(chmod(in_dir(d, "vol"), 02775), 0);
    mask = umask(0077);
    r = sub_path_make(in_dir(d, "vol"), "old/./a//b", &err);
    (void)umask(mask);
    ASSERT_OK(r);
    ASSERT_INT(0700, mode_of(in_dir(d, "vol/old")));
    ASSERT_INT(02775, mode_of(in_dir(d, "vol/old/a")));
    ASSERT_INT(02775, mode_of(in_dir(d, "vol/old/a/b")));
    assert_int_equal(chmod(in_dir(d, "vol/old/a/b"), 0711), 0);
    ASSERT_OK(sub_path_make(in_dir(d, "vol"), "old/a/b", &err)); /* what is there stays */
    ASSERT_INT(0711, mode_of(in_dir(d, "vol/old/a/b")));
    put_file(in_dir(d, "vol/file"), "x");
    ASSERT_OK(sub_path_make(in_dir(d, "vol"), "file", &err));
    assert_true(sub_path_make(in_dir(d, "vol"), "file/below", &err) < 0);
}

TEST(making_follows_links_within_the_volume_only)
{
    static const struct {
        const char *target;
        const char *made; /* NULL: refused */
    } rows[] = {
        { "dir", "vol/dir/new/x" }, { "dir/up", "vol/dir/new/x" }, { "/etc", NULL }, { "../out", NULL },
        { "dir/../../out", NULL },  { ".", "vol/new/x" },          { "link", NULL }, { "nowhere", NULL },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(mounts_dir_free_p) struct test_dir *d = place_new();
        assert_int_equal(mkdir(in_dir(d, "vol/dir"), 0755), 0);
        assert_int_equal(symlink("../dir", in_dir(d, "vol/dir/up")), 0);
        assert_int_equal(symlink(rows[i].target, in_dir(d, "vol/link")), 0);
        int r = sub_path_make(in_dir(d, "vol"), "link/new/x", &err);
        if (rows[i].made) {
            ASSERT_OK(r);
            assert_true(exists(in_dir(d, rows[i].made)));
        } else {
            assert_true(r < 0);
        }
        assert_false(exists(in_dir(d, "out/new")));
    }
    assert_false(exists("/etc/new"));
}

TEST(a_way_out_is_named)
{
    _cleanup_(mounts_dir_free_p) struct test_dir *d = place_new();
    char text[PATH_MAX * 2];

    assert_int_equal(symlink("../out", in_dir(d, "vol/link")), 0);
    ASSERT_ERR(ERR_DENIED, sub_path_make(in_dir(d, "vol"), "link/new", &err));
    (void)snprintf(text, sizeof text, "path %s/vol/link/new is outside of allowed base %s/vol", d->path,
                   d->path);
    ASSERT_STR(text, err.msg);
}

/* 2,000 levels, and 60 links, which is more than the kernel follows. */
TEST(deep_paths_and_long_chains_of_links)
{
    _cleanup_(mounts_dir_free_p) struct test_dir *d = place_new();
    char path[PATH_MAX], name[32], target[32];

    for (size_t i = 0; i < 4000; i++)
        path[i] = i % 2 ? '/' : 'x';
    path[3999] = '\0';
    ASSERT_OK(sub_path_make(in_dir(d, "vol"), path, &err));
    ASSERT_OK(sub_path_make(in_dir(d, "vol"), path, &err));
    memset(path, 'y', 300);
    ASSERT_ERR(ERR_INVALID, sub_path_make(in_dir(d, "vol"), path, &err));
    for (int i = 0; i < 60; i++) {
        (void)snprintf(name, sizeof name, "vol/l%d", i);
        (void)snprintf(target, sizeof target, "l%d", i + 1);
        assert_int_equal(symlink(target, in_dir(d, name)), 0);
    }
    assert_true(sub_path_make(in_dir(d, "vol"), "l0/x", &err) < 0);
    sh("rm -rf %s/vol/x", d->path); /* deeper than the tests' own cleaning goes */
}

/* Binding */

TEST(a_directory_is_bound)
{
    skip_without_private_mounts();
    _cleanup_(mounts_dir_free_p) struct test_dir *d = place_new();
    char target[PATH_MAX] = "", again[PATH_MAX] = "", pod[PATH_MAX];

    ASSERT_OK(sub_path_make(in_dir(d, "vol"), "a/b", &err));
    put_file(in_dir(d, "vol/a/b/f"), "x");
    ASSERT_OK(bind_path(d, "a/b", false, target));
    ASSERT_STR(in_dir(d, "pod/volume-subpaths/data/c/3"), target);
    assert_true(is_same(in_dir(d, "vol/a/b/f"), in_dir(d, "pod/volume-subpaths/data/c/3/f")));
    ASSERT_INT(0750, mode_of(in_dir(d, "pod/volume-subpaths/data/c")));
    ASSERT_OK(bind_path(d, "a/b", false, again)); /* the same: reused */
    ASSERT_INT(1, mounts_in(in_dir(d, "pod")));
    (void)snprintf(pod, sizeof pod, "%s/pod", d->path);
    ASSERT_OK(sub_paths_clean(&tools, pod, "data", &err));
    ASSERT_INT(0, mounts_in(pod));
    assert_false(exists(in_dir(d, "pod/volume-subpaths")));
    assert_true(exists(in_dir(d, "vol/a/b/f")));
    ASSERT_OK(sub_paths_clean(&tools, pod, "data", &err)); /* again */
}

TEST(files_sockets_and_fifos_are_bound_upon_files)
{
    static const char *const names[] = { "file", "fifo", "link" };

    skip_without_private_mounts();
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        _cleanup_(mounts_dir_free_p) struct test_dir *d = place_new();
        char target[PATH_MAX] = "", pod[PATH_MAX];
        put_file(in_dir(d, "vol/file"), "x");
        assert_int_equal(mkfifo(in_dir(d, "vol/fifo"), 0600), 0);
        assert_int_equal(symlink("file", in_dir(d, "vol/link")), 0);
        ASSERT_OK(bind_path(d, names[i], false, target));
        assert_true(is_same(in_dir(d, i == 1 ? "vol/fifo" : "vol/file"), target));
        (void)snprintf(pod, sizeof pod, "%s/pod", d->path);
        ASSERT_OK(sub_paths_clean(&tools, pod, "data", &err));
        assert_false(exists(in_dir(d, "pod/volume-subpaths")));
        assert_true(exists(in_dir(d, "vol/file")));
    }
}

static bool is_read_only(const char *path)
{
    struct statvfs st;

    assert_int_equal(statvfs(path, &st), 0);
    return st.f_flag & ST_RDONLY;
}

TEST(a_read_only_bind_is_read_only)
{
    skip_without_private_mounts();
    _cleanup_(mounts_dir_free_p) struct test_dir *d = place_new();
    char target[PATH_MAX] = "";

    assert_int_equal(mkdir(in_dir(d, "vol/a"), 0755), 0);
    ASSERT_OK(bind_path(d, "a", true, target));
    assert_true(is_read_only(target));
    assert_false(is_read_only(in_dir(d, "vol/a")));
    /* A crash between the bind and its remount: the same file, and still to be written to. */
    assert_int_equal(umount(target), 0);
    assert_int_equal(mount(in_dir(d, "vol/a"), target, NULL, MS_BIND, NULL), 0);
    ASSERT_OK(bind_path(d, "a", true, target));
    assert_true(is_read_only(target));
    ASSERT_INT(1, mounts_in(target));
}

/* plugins-45 */
TEST(a_link_out_of_the_volume_is_refused)
{
    static const char *const targets[] = { "/etc", "../out", "dir/../../out", "/proc/self/root", ".." };

    skip_without_private_mounts();
    for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
        _cleanup_(mounts_dir_free_p) struct test_dir *d = place_new();
        char target[PATH_MAX] = "untouched", text[PATH_MAX * 2];
        assert_int_equal(mkdir(in_dir(d, "vol/dir"), 0755), 0);
        assert_int_equal(symlink(targets[i], in_dir(d, "vol/link")), 0);
        ASSERT_ERR(ERR_DENIED, bind_path(d, "link", false, target));
        (void)snprintf(text, sizeof text, "subpath \"link\" not within volume path \"%s/vol\"", d->path);
        ASSERT_STR(text, err.msg);
        ASSERT_STR("untouched", target);
        ASSERT_INT(0, mounts_in(d->path));
        assert_false(exists(in_dir(d, "pod/volume-subpaths")));
    }
}

/* plugins-47 */
TEST(another_file_is_bound_anew)
{
    skip_without_private_mounts();
    _cleanup_(mounts_dir_free_p) struct test_dir *d = place_new();
    char target[PATH_MAX] = "";
    int held;

    assert_int_equal(mkdir(in_dir(d, "vol/a"), 0755), 0);
    ASSERT_OK(bind_path(d, "a", false, target));
    held = open(target, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* a plain unmount would be refused */
    assert_int_equal(rename(in_dir(d, "vol/a"), in_dir(d, "vol/before")), 0);
    assert_int_equal(mkdir(in_dir(d, "vol/a"), 0755), 0);
    assert_false(is_same(in_dir(d, "vol/a"), target));
    ASSERT_OK(bind_path(d, "a", false, target));
    assert_true(is_same(in_dir(d, "vol/a"), target));
    ASSERT_INT(1, mounts_in(target));
    /* And a file where a directory was. */
    assert_int_equal(rename(in_dir(d, "vol/a"), in_dir(d, "vol/after")), 0);
    put_file(in_dir(d, "vol/a"), "x");
    ASSERT_OK(bind_path(d, "a", false, target));
    assert_true(is_same(in_dir(d, "vol/a"), target));
    ASSERT_INT(1, mounts_in(target));
    (void)close(held);
}

TEST(a_failure_leaves_nothing)
{
    skip_without_private_mounts();
    _cleanup_(mounts_dir_free_p) struct test_dir *d = place_new();
    char target[PATH_MAX] = "";
    struct sub_path bad = { d->path, "vol", "../x", "c", d->path, 0, false };

    ASSERT_ERR(ERR_NOT_FOUND, bind_path(d, "none", false, target));
    assert_false(exists(in_dir(d, "pod/volume-subpaths")));
    ASSERT_ERR(ERR_INVALID, sub_path_bind(&tools, &bad, target, &err));
    bad.volume_name = "data";
    bad.container = "..";
    ASSERT_ERR(ERR_INVALID, sub_path_bind(&tools, &bad, target, &err));
    ASSERT_ERR(ERR_INVALID, sub_paths_clean(&tools, d->path, "..", &err));
    /* What was bound before goes with the failure; what stands in the way stays. */
    assert_int_equal(mkdir(in_dir(d, "vol/a"), 0755), 0);
    ASSERT_OK(bind_path(d, "a", false, target));
    assert_int_equal(rmdir(in_dir(d, "vol/a")), 0);
    ASSERT_ERR(ERR_NOT_FOUND, bind_path(d, "a", false, target));
    ASSERT_INT(0, mounts_in(d->path));
    assert_int_equal(mkdir(in_dir(d, "vol/a"), 0755), 0);
    assert_int_equal(symlink("../out", in_dir(d, "pod/volume-subpaths")), 0);
    ASSERT_ERR(ERR_INVALID, bind_path(d, "a", false, target));
    ASSERT_INT(0, mounts_in(d->path));
    assert_true(exists(in_dir(d, "out/precious")));
}

/* Section 8, Clean: all containers' binds, and nothing else. */
TEST(cleaning_ends_all_binds_of_the_volume)
{
    skip_without_private_mounts();
    _cleanup_(mounts_dir_free_p) struct test_dir *d = place_new();
    char volume[PATH_MAX], pod[PATH_MAX], target[PATH_MAX];

    (void)snprintf(volume, sizeof volume, "%s/vol", d->path);
    (void)snprintf(pod, sizeof pod, "%s/pod", d->path);
    assert_int_equal(mkdir(in_dir(d, "vol/a"), 0755), 0);
    put_file(in_dir(d, "vol/f"), "x");
    for (unsigned i = 0; i < 12; i++) {
        char container[16];
        (void)snprintf(container, sizeof container, "c%u", i % 3);
        struct sub_path s = { volume, i % 2 ? "a" : "f", i < 9 ? "data" : "more", container, pod, i, false };
        ASSERT_OK(sub_path_bind(&tools, &s, target, &err));
    }
    ASSERT_INT(12, mounts_in(pod));
    ASSERT_OK(sub_paths_clean(&tools, pod, "data", &err));
    ASSERT_INT(3, mounts_in(pod));
    assert_true(exists(in_dir(d, "pod/volume-subpaths/more")));
    ASSERT_OK(sub_paths_clean(&tools, pod, "more", &err));
    assert_false(exists(in_dir(d, "pod/volume-subpaths")));
    assert_true(exists(in_dir(d, "vol/f")));
}

TEST(cleaning_removes_no_content)
{
    _cleanup_(mounts_dir_free_p) struct test_dir *d = place_new();
    char pod[PATH_MAX];

    (void)snprintf(pod, sizeof pod, "%s/pod", d->path);
    sh("mkdir -p %s/volume-subpaths/data/c/0 && echo x > %s/volume-subpaths/data/c/0/kept", pod, pod);
    assert_true(sub_paths_clean(&tools, pod, "data", &err) < 0);
    assert_true(exists(in_dir(d, "pod/volume-subpaths/data/c/0/kept")));
}

TEST_MAIN()
