/* Every test has a directory with `vol`, the volume, and `out`, which nothing may touch. */
#include "tests/unit/test_io.h"

#include <dirent.h>
#include <linux/fs.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "host/remove.h"
#include "io/file.h"

#define NOBODY 65534

static struct error err;

struct place {
    struct test_dir d;
    char vol[TEST_PATH_BYTES * 2];
    char out[TEST_PATH_BYTES * 2];
};

static struct place place_at(struct test_dir d)
{
    struct place p = { .d = d };

    (void)snprintf(p.vol, sizeof p.vol, "%s/vol", p.d.path);
    (void)snprintf(p.out, sizeof p.out, "%s/out", p.d.path);
    assert_int_equal(mkdir(p.vol, 0755), 0);
    assert_int_equal(mkdir(p.out, 0755), 0);
    put_file(in_dir(&p.d, "out/precious"), "data");
    return p;
}

static struct place place_new(void)
{
    return place_at(test_dir_new());
}

/* In memory where that can be had: for trees that take a disk long to build. */
static struct place place_new_large(void)
{
    struct test_dir d = { "/dev/shm/berth-test-XXXXXX" };

    return mkdtemp(d.path) ? place_at(d) : place_new();
}

/* On the mount of the root: what is to be removed with "/" as its base must be there. */
static struct place place_new_of_root(void)
{
    static const char *const tops[] = { "/tmp", "/var/tmp", "/var/lib", "" };
    struct stat root, st;
    struct test_dir d;
    size_t i = 0;

    assert_int_equal(stat("/", &root), 0);
    while (i + 1 < ARRAY_LEN(tops) && !(stat(tops[i], &st) == 0 && st.st_dev == root.st_dev))
        i++;
    (void)snprintf(d.path, sizeof d.path, "%s/berth-test-XXXXXX", tops[i]);
    assert_non_null(mkdtemp(d.path));
    return place_at(d);
}

static unsigned count_entries(const char *path)
{
    DIR *d = opendir(path);
    unsigned count = 0;
    struct dirent *e;

    assert_non_null(d);
    while ((e = readdir(d)))
        count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    (void)closedir(d);
    return count;
}

static bool exists(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

static void assert_out_is_whole(const struct place *p)
{
    ASSERT_INT(1, count_entries(p->out));
    assert_true(exists(in_dir(&p->d, "out/precious")));
}

static void place_done(struct place *p)
{
    test_dir_done(&p->d);
}

/* vol/NAME with a file in it. */
static void put_dir(const struct place *p, const char *name)
{
    char file[TEST_PATH_BYTES];

    assert_int_equal(mkdir(in_dir(&p->d, name), 0755), 0);
    (void)snprintf(file, sizeof file, "%s/f", name);
    put_file(in_dir(&p->d, file), "x");
}

static void put_some(const struct place *p)
{
    put_dir(p, "vol/a");
    put_dir(p, "vol/a/b");
    put_dir(p, "vol/c");
    put_file(in_dir(&p->d, "vol/.hidden"), "x");
}

/* A chain of directories, `levels` deep, by descriptor since no path is that long. Each holds a file too when
 * asked for. */
static void put_chain(const char *top, const char *name, unsigned levels, bool with_files)
{
    int fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    for (unsigned i = 0; i < levels; i++) {
        assert_true(fd >= 0);
        assert_int_equal(mkdirat(fd, name, 0755), 0);
        if (with_files)
            assert_int_equal(mknodat(fd, "g", S_IFREG | 0644, 0), 0);
        int next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        (void)close(fd);
        fd = next;
    }
    (void)close(fd);
}

/* What it does */

TEST(emptying_keeps_the_directory)
{
    _cleanup_(place_done) struct place p = place_new();
    struct stat before, after;

    put_some(&p);
    assert_int_equal(stat(p.vol, &before), 0);
    ASSERT_OK(host_empty_dir(p.vol, NULL, NULL, &err));
    ASSERT_INT(0, count_entries(p.vol));
    assert_int_equal(stat(p.vol, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    ASSERT_OK(host_empty_dir(p.vol, NULL, NULL, &err)); /* again */
    assert_out_is_whole(&p);
}

/* Unmounted meanwhile: the directory below is somebody else's. */
TEST(emptying_a_mount_spares_a_bare_directory)
{
    _cleanup_(place_done) struct place p = place_new();
    size_t before;

    put_some(&p);
    before = (size_t)count_entries(p.vol);
    ASSERT_ERR(ERR_INVALID, host_empty_mount(p.vol, NULL, NULL, &err));
    ASSERT_INT(before, count_entries(p.vol));
    ASSERT_ERR(ERR_NOT_FOUND, host_empty_mount(in_dir(&p.d, "absent/vol"), NULL, NULL, &err));
    assert_out_is_whole(&p);
}

TEST(removing_takes_the_directory)
{
    _cleanup_(place_done) struct place p = place_new();

    put_some(&p);
    ASSERT_OK(host_remove_tree(NULL, in_dir(&p.d, "vol//"), NULL, NULL, &err)); /* slashes mean nothing */
    assert_false(exists(p.vol));
    ASSERT_OK(host_remove_tree(NULL, p.vol, NULL, NULL, &err)); /* again */
    ASSERT_OK(host_empty_dir(p.vol, NULL, NULL, &err));
    ASSERT_OK(host_empty_dir(in_dir(&p.d, "absent/vol"), NULL, NULL, &err));
    ASSERT_OK(host_remove_tree(NULL, in_dir(&p.d, "absent/vol"), NULL, NULL, &err));
    assert_out_is_whole(&p);
}

TEST(everything_that_is_no_directory_goes)
{
    _cleanup_(place_done) struct place p = place_new();
    char longest[NAME_MAX + 5] = "vol/";

    memset(longest + 4, 'n', NAME_MAX);
    put_file(in_dir(&p.d, longest), "");
    put_file(in_dir(&p.d, "vol/line\nend"), "");
    put_file(in_dir(&p.d, "vol/\xff\xfe"), "");
    put_file(in_dir(&p.d, "vol/..."), "");
    put_file(in_dir(&p.d, "vol/-rf"), "");
    assert_int_equal(mkfifo(in_dir(&p.d, "vol/fifo"), 0600), 0); /* opening it would block */
    assert_int_equal(mknod(in_dir(&p.d, "vol/socket"), S_IFSOCK | 0600, 0), 0);
    assert_int_equal(link(in_dir(&p.d, "out/precious"), in_dir(&p.d, "vol/hard")), 0);
    assert_int_equal(mkdir(in_dir(&p.d, "vol/locked"), 0), 0);
    ASSERT_OK(host_remove_tree(NULL, p.vol, NULL, NULL, &err));
    assert_false(exists(p.vol));
    assert_out_is_whole(&p);
}

TEST(a_volume_may_be_a_file)
{
    _cleanup_(place_done) struct place p = place_new();

    put_file(in_dir(&p.d, "disk"), "x");
    ASSERT_ERR(ERR_INVALID, host_empty_dir(in_dir(&p.d, "disk"), NULL, NULL, &err));
    assert_non_null(strstr(err.msg, "/disk' is not a directory"));
    assert_true(exists(in_dir(&p.d, "disk")));
    ASSERT_OK(host_remove_tree(NULL, in_dir(&p.d, "disk"), NULL, NULL, &err));
    assert_false(exists(in_dir(&p.d, "disk")));
}

TEST(stopping_leaves_the_rest)
{
    _cleanup_(place_done) struct place p = place_new();
    host_stop stop = 1;

    put_some(&p);
    ASSERT_ERR(ERR_CANCELLED, host_remove_tree(NULL, p.vol, NULL, &stop, &err));
    ASSERT_INT(3, count_entries(p.vol));
    ASSERT_ERR(ERR_CANCELLED, host_empty_dir(p.vol, NULL, &stop, &err));
    atomic_store(&stop, 0);
    ASSERT_OK(host_remove_tree(NULL, p.vol, NULL, &stop, &err));
}

/* Refusals: a volume at `/`, near it, or at no place at all */

TEST(paths_that_are_no_volumes_are_refused)
{
    static const struct {
        const char *path, *expected;
    } rows[] = {
        { "", "the path is empty" },
        { "/", "'/' is too close to the root for a volume's directory" },
        { "//", "'//' is too close to the root for a volume's directory" },
        { "/.", "'/.' is too close to the root for a volume's directory" },
        { "/berth-test-absent", "'/berth-test-absent' is too close to the root for a volume's directory" },
        { "/berth-test-absent/.",
          "'/berth-test-absent/.' is too close to the root for a volume's directory" },
        { "berth-test-absent/x", "'berth-test-absent/x' is not an absolute path" },
        { ".", "'.' is not an absolute path" },
        { "/berth-test-absent/../x", "'/berth-test-absent/../x' must not contain '..'" },
        { "/berth-test-absent/x/..", "'/berth-test-absent/x/..' must not contain '..'" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ASSERT_ERR(ERR_INVALID, host_empty_dir(rows[i].path, NULL, NULL, &err));
        ASSERT_STR(rows[i].expected, err.msg);
        ASSERT_ERR(ERR_INVALID, host_remove_tree(NULL, rows[i].path, NULL, NULL, &err));
        ASSERT_STR(rows[i].expected, err.msg);
    }
}

TEST(a_base_is_not_left)
{
    _cleanup_(place_done) struct place p = place_new_of_root();

    put_some(&p);
    ASSERT_ERR(ERR_INVALID, host_remove_tree(p.vol, p.vol, NULL, NULL, &err));
    ASSERT_ERR(ERR_INVALID, host_remove_tree(p.vol, p.out, NULL, NULL, &err));
    ASSERT_ERR(ERR_INVALID, host_remove_tree(p.vol, p.d.path, NULL, NULL, &err));
    ASSERT_ERR(ERR_INVALID, host_remove_tree(p.vol, in_dir(&p.d, "volume"), NULL, NULL, &err));
    ASSERT_ERR(ERR_INVALID, host_remove_tree(p.vol, in_dir(&p.d, "vol/../out"), NULL, NULL, &err));
    ASSERT_ERR(ERR_INVALID, host_remove_tree("", p.vol, NULL, NULL, &err));
    assert_out_is_whole(&p);
    ASSERT_INT(3, count_entries(p.vol));
    ASSERT_OK(host_remove_tree(p.vol, in_dir(&p.d, "vol/a/b"), NULL, NULL, &err));
    assert_true(exists(in_dir(&p.d, "vol/a/f")));
    ASSERT_OK(host_remove_tree(p.vol, in_dir(&p.d, "vol/a"), NULL, NULL, &err));
    ASSERT_INT(2, count_entries(p.vol));
    ASSERT_OK(
        host_remove_tree("/", in_dir(&p.d, "vol/c"), NULL, NULL, &err)); /* on the same mount, or busy */
    ASSERT_OK(host_remove_tree(in_dir(&p.d, "absent"), in_dir(&p.d, "absent/x"), NULL, NULL, &err));
}

TEST(links_inside_go_and_what_they_point_to_stays)
{
    _cleanup_(place_done) struct place p = place_new();

    assert_int_equal(mkdir(in_dir(&p.d, "vol/a"), 0755), 0);
    assert_int_equal(symlink(p.out, in_dir(&p.d, "vol/dir")), 0);
    assert_int_equal(symlink("../../out", in_dir(&p.d, "vol/a/up")), 0);
    assert_int_equal(symlink("../out/precious", in_dir(&p.d, "vol/file")), 0);
    assert_int_equal(symlink("/", in_dir(&p.d, "vol/root")), 0);
    assert_int_equal(symlink("nowhere", in_dir(&p.d, "vol/dangling")), 0);
    assert_int_equal(symlink("loop", in_dir(&p.d, "vol/loop")), 0);
    assert_int_equal(symlink("..", in_dir(&p.d, "vol/parent")), 0);
    ASSERT_OK(host_empty_dir(p.vol, NULL, NULL, &err));
    ASSERT_INT(0, count_entries(p.vol));
    assert_out_is_whole(&p);
}

TEST(a_link_in_the_path_is_refused)
{
    _cleanup_(place_done) struct place p = place_new();

    put_some(&p);
    assert_int_equal(symlink("vol", in_dir(&p.d, "link")), 0);
    assert_int_equal(symlink("nowhere", in_dir(&p.d, "dangling")), 0);
    ASSERT_ERR(ERR_INVALID, host_empty_dir(in_dir(&p.d, "link"), NULL, NULL, &err));
    assert_non_null(strstr(err.msg, "/link' is a symbolic link"));
    ASSERT_ERR(ERR_INVALID, host_remove_tree(NULL, in_dir(&p.d, "link"), NULL, NULL, &err));
    assert_non_null(strstr(err.msg, "/link' is a symbolic link"));
    ASSERT_ERR(ERR_INVALID, host_remove_tree(NULL, in_dir(&p.d, "dangling"), NULL, NULL, &err));
    ASSERT_ERR(ERR_INVALID, host_empty_dir(in_dir(&p.d, "link/a"), NULL, NULL, &err));
    assert_non_null(strstr(err.msg, "/link/a' leads through a symbolic link or a file"));
    ASSERT_ERR(ERR_INVALID, host_remove_tree(NULL, in_dir(&p.d, "link/a"), NULL, NULL, &err));
    ASSERT_ERR(ERR_INVALID, host_remove_tree(in_dir(&p.d, "link"), in_dir(&p.d, "link/a"), NULL, NULL, &err));
    ASSERT_ERR(ERR_INVALID, host_remove_tree(p.d.path, in_dir(&p.d, "link/a/b"), NULL, NULL, &err));
    assert_true(exists(in_dir(&p.d, "link")));
    assert_true(exists(in_dir(&p.d, "vol/a/b/f")));
}

/* Mounts */

static void assert_untouched(const struct place *p)
{
    assert_true(exists(in_dir(&p->d, "vol/a/f")));
    assert_true(exists(in_dir(&p->d, "vol/a/b/f")));
    assert_true(exists(in_dir(&p->d, "vol/c/f")));
    assert_true(exists(in_dir(&p->d, "vol/.hidden")));
    assert_out_is_whole(p);
}

TEST(a_mount_inside_is_found_before_anything_is_removed)
{
    static const struct {
        const char *source, *target, *type;
        unsigned long flags;
    } rows[] = {
        { "out", "vol/a/b", NULL, MS_BIND },          /* the same file system */
        { "out/precious", "vol/c/f", NULL, MS_BIND }, /* a file */
        { "tmpfs", "vol/c", "tmpfs", 0 },             /* another one */
    };
    skip_without_mounts();
    _cleanup_(place_done) struct place p = place_new();

    put_some(&p);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error empty_err = { 0 }, remove_err = { 0 };
        const char *source = rows[i].type ? rows[i].source : in_dir(&p.d, rows[i].source);
        assert_int_equal(mount(source, in_dir(&p.d, rows[i].target), rows[i].type, rows[i].flags, NULL), 0);
        int empty_r = host_empty_dir(p.vol, NULL, NULL, &empty_err);
        int remove_r = host_remove_tree(NULL, p.vol, NULL, NULL, &remove_err);
        int base_r = host_remove_tree(p.vol, in_dir(&p.d, rows[i].target), NULL, NULL, &err);
        assert_int_equal(umount(in_dir(&p.d, rows[i].target)), 0);
        ASSERT_INT(-ERR_BUSY, empty_r);
        ASSERT_INT(-ERR_BUSY, remove_r);
        assert_true(base_r == -ERR_BUSY);
        assert_non_null(strstr(empty_err.msg, rows[i].target));
        assert_non_null(strstr(remove_err.msg, rows[i].target));
        assert_untouched(&p);
    }
    ASSERT_OK(host_remove_tree(NULL, p.vol, NULL, NULL, &err));
}

TEST(a_volume_that_is_a_mount_point_can_be_emptied_not_removed)
{
    skip_without_mounts();
    _cleanup_(place_done) struct place p = place_new();

    assert_int_equal(mount("tmpfs", p.vol, "tmpfs", 0, "size=1m"), 0);
    put_some(&p);
    int remove_r = host_remove_tree(NULL, p.vol, NULL, NULL, &err);
    unsigned kept = count_entries(p.vol);
    int base_r = host_remove_tree(p.d.path, in_dir(&p.d, "vol/a"), NULL, NULL, &err); /* past the mount */
    int empty_r = host_empty_dir(p.vol, NULL, NULL, &err);
    unsigned left = count_entries(p.vol);
    assert_int_equal(umount(p.vol), 0);
    ASSERT_INT(-ERR_BUSY, remove_r);
    ASSERT_INT(3, kept);
    ASSERT_INT(-ERR_BUSY, base_r);
    ASSERT_INT(0, empty_r);
    ASSERT_INT(0, left);
    assert_true(exists(p.vol));
}

/* What cannot be removed is named */

/* Runs fn as a user without privileges, in a child when we are root; its result and words come back. */
static int as_nobody(int (*fn)(const char *path), const char *path)
{
    int pipes[2], status;

    if (geteuid() != 0)
        return fn(path);
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
            _exit(99);
        err = (struct error){ 0 };
        int r = fn(path);
        (void)!write(pipes[1], err.msg, strlen(err.msg));
        _exit(-r);
    }
    (void)close(pipes[1]);
    memset(err.msg, 0, sizeof err.msg);
    assert_true(read(pipes[0], err.msg, sizeof err.msg - 1) >= 0);
    (void)close(pipes[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return -WEXITSTATUS(status);
}

static int call_empty(const char *path)
{
    return host_empty_dir(path, NULL, NULL, &err);
}

static int call_remove(const char *path)
{
    return host_remove_tree(NULL, path, NULL, NULL, &err);
}

static void give_to_nobody(const struct place *p, const char *name)
{
    if (geteuid() == 0)
        assert_int_equal(lchown(in_dir(&p->d, name), NOBODY, NOBODY), 0);
}

TEST(without_privileges_ones_own_goes)
{
    _cleanup_(place_done) struct place p = place_new();
    static const char *const names[] = { ".", "vol", "vol/a", "vol/a/b", "vol/c" };

    put_some(&p);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        give_to_nobody(&p, names[i]);
    ASSERT_OK(as_nobody(call_empty, p.vol));
    ASSERT_INT(0, count_entries(p.vol));
    ASSERT_OK(as_nobody(call_remove, p.vol));
    assert_false(exists(p.vol));
}

TEST(what_may_not_be_removed_is_named)
{
    _cleanup_(place_done) struct place p = place_new();

    put_dir(&p, "vol/a");
    give_to_nobody(&p, ".");
    give_to_nobody(&p, "vol");
    give_to_nobody(&p, "vol/a");
    assert_int_equal(chmod(in_dir(&p.d, "vol/a"), 0555), 0); /* nothing in it may go */
    ASSERT_ERR(ERR_DENIED, as_nobody(call_remove, p.vol));
    assert_non_null(strstr(err.msg, "cannot remove \"/"));
    assert_non_null(strstr(err.msg, "/vol/a/f\": Permission denied"));
    assert_int_equal(chmod(in_dir(&p.d, "vol/a"), 0), 0); /* not even listed */
    ASSERT_ERR(ERR_DENIED, as_nobody(call_empty, p.vol));
    assert_non_null(strstr(err.msg, "/vol/a\": Permission denied"));
    assert_int_equal(chmod(in_dir(&p.d, "vol/a"), 0755), 0);
    assert_true(exists(in_dir(&p.d, "vol/a/f")));
    assert_int_equal(chmod(p.d.path, 0555), 0); /* the volume's own directory may not go */
    ASSERT_ERR(ERR_DENIED, as_nobody(call_remove, p.vol));
    assert_non_null(strstr(err.msg, "cannot remove directory '/"));
    assert_int_equal(chmod(p.d.path, 0755), 0);
}

static bool set_flags(const char *path, int flags)
{
    _cleanup_(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);

    return fd >= 0 && ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0;
}

TEST(an_immutable_file_is_named)
{
    struct place p = place_new();

    put_some(&p);
    if (!set_flags(in_dir(&p.d, "vol/c/f"), FS_IMMUTABLE_FL)) {
        place_done(&p);
        print_message("cannot make files immutable here: skipped\n");
        skip();
    }
    int r = host_remove_tree(NULL, p.vol, NULL, NULL, &err);
    assert_true(set_flags(in_dir(&p.d, "vol/c/f"), 0)); /* before anything can fail the test */
    assert_true(set_flags(in_dir(&p.d, "vol/c"), FS_APPEND_FL));
    ASSERT_INT(-ERR_DENIED, r);
    assert_non_null(strstr(err.msg, "/vol/c/f\": it is immutable"));
    r = host_remove_tree(NULL, p.vol, NULL, NULL, &err);
    assert_true(set_flags(in_dir(&p.d, "vol/c"), 0));
    ASSERT_INT(-ERR_DENIED, r);
    assert_non_null(strstr(err.msg, "/vol/c/f\""));
    ASSERT_OK(host_remove_tree(NULL, p.vol, NULL, NULL, &err)); /* repeated, once it can be done */
    place_done(&p);
}

/* Trees that were built to hurt */

TEST(deep_trees_need_no_path_and_few_descriptors)
{
    _cleanup_(place_done) struct place p = place_new_large();
    char name[NAME_MAX + 1];
    unsigned before = count_entries("/proc/self/fd");

    memset(name, 'd', NAME_MAX);
    name[NAME_MAX] = '\0';
    put_chain(p.vol, name, 1000, true);
    ASSERT_OK(host_empty_dir(p.vol, NULL, NULL, &err));
    ASSERT_INT(0, count_entries(p.vol));
    ASSERT_INT(before, count_entries("/proc/self/fd"));
}

TEST(a_place_too_deep_for_words_is_still_named)
{
    _cleanup_(place_done) struct place p = place_new();
    host_stop stop = 1;
    char name[NAME_MAX + 1];
    unsigned before = count_entries("/proc/self/fd");

    if (geteuid() != 0) {
        print_message("only root can make files immutable: skipped\n");
        place_done(&p);
        skip();
    }
    memset(name, 'd', NAME_MAX);
    name[NAME_MAX] = '\0';
    put_chain(p.vol, name, 50, false);
    int fd = open(p.vol, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 50; i++) {
        int next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        (void)close(fd);
        fd = next;
    }
    assert_int_equal(mknodat(fd, "last", S_IFREG | 0644, 0), 0);
    int file = openat(fd, "last", O_RDONLY | O_CLOEXEC), flags = FS_IMMUTABLE_FL;
    bool can = ioctl(file, FS_IOC_SETFLAGS, &flags) == 0;
    int r = can ? host_empty_dir(p.vol, NULL, NULL, &err) : -ERR_DENIED;
    flags = 0;
    if (can)
        assert_int_equal(ioctl(file, FS_IOC_SETFLAGS, &flags), 0);
    (void)close(file);
    (void)close(fd);
    ASSERT_INT(-ERR_DENIED, r);
    if (can)
        assert_non_null(strstr(err.msg, "/vol/.../last\": it is immutable"));
    ASSERT_INT(before, count_entries("/proc/self/fd")); /* failures close too */
    ASSERT_ERR(ERR_CANCELLED, host_empty_dir(p.vol, NULL, &stop, &err));
    ASSERT_OK(host_empty_dir(p.vol, NULL, NULL, &err));
}

TEST(many_deep_siblings_are_all_found_again)
{
    _cleanup_(place_done) struct place p = place_new_large();
    char name[32];

    for (unsigned i = 0; i < 20; i++) {
        (void)snprintf(name, sizeof name, "vol/s%u", i);
        put_dir(&p, name);
        put_chain(in_dir(&p.d, name), "d", i * 4, i % 2); /* below and above what stays open */
    }
    ASSERT_OK(host_remove_tree(NULL, p.vol, NULL, NULL, &err));
    assert_false(exists(p.vol));
    assert_out_is_whole(&p);
}

TEST(wide_directories_are_listed_to_their_end)
{
    _cleanup_(place_done) struct place p = place_new_large();
    _cleanup_(fd_closep) int fd = open(p.vol, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char name[32];

    for (unsigned i = 0; i < 5000; i++) {
        (void)snprintf(name, sizeof name, "entry-%u", i);
        assert_int_equal(i % 10 ? mknodat(fd, name, S_IFREG | 0600, 0) : mkdirat(fd, name, 0700), 0);
        (void)snprintf(name, sizeof name, "entry-%u/f", i);
        if (i % 20 == 0)
            assert_int_equal(mknodat(fd, name, S_IFREG | 0600, 0), 0);
    }
    ASSERT_OK(host_empty_dir(p.vol, NULL, NULL, &err));
    ASSERT_INT(0, count_entries(p.vol));
}

/* Somebody changes it meanwhile */

struct rival {
    struct place *place;
    atomic_bool is_over;
    atomic_uint rounds;
    unsigned made;
};

static pthread_t rival_start(struct rival *r, void *(*fn)(void *))
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, fn, r), 0);
    while (atomic_load(&r->rounds) == 0)
        (void)sched_yield(); /* until it is at work */
    return thread;
}

static void rival_end(struct rival *r, pthread_t thread)
{
    atomic_store(&r->is_over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

#define SWAPPED_COUNT 32

/* Directories of the volume become links to the outside, and back. */
static void *rival_swaps(void *ctx)
{
    struct rival *r = ctx;
    int top = open(r->place->d.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char dir[32], link[32];

    for (; !atomic_load(&r->is_over); atomic_fetch_add(&r->rounds, 1)) {
        (void)snprintf(dir, sizeof dir, "vol/dir-%u", atomic_load(&r->rounds) % SWAPPED_COUNT);
        (void)snprintf(link, sizeof link, "trap-%u", atomic_load(&r->rounds) % SWAPPED_COUNT);
        (void)renameat2(top, dir, top, link, RENAME_EXCHANGE);
    }
    (void)close(top);
    return NULL;
}

TEST(a_directory_swapped_for_a_link_leads_nowhere)
{
    for (int round = 0; round < 60; round++) {
        struct place p = place_new_large();
        struct rival rival = { .place = &p };
        char name[32];

        for (unsigned i = 0; i < SWAPPED_COUNT; i++) {
            (void)snprintf(name, sizeof name, "vol/dir-%u", i);
            put_dir(&p, name);
            (void)snprintf(name, sizeof name, "trap-%u", i);
            assert_int_equal(symlink("../out", in_dir(&p.d, name)), 0);
        }
        pthread_t thread = rival_start(&rival, rival_swaps);
        int r = host_empty_dir(p.vol, NULL, NULL, &err);
        rival_end(&rival, thread);
        assert_true(r == 0 || r == -ERR_BUSY || r == -ERR_CONFLICT);
        assert_out_is_whole(&p);
        ASSERT_OK(host_empty_dir(p.vol, NULL, NULL, &err));
        ASSERT_INT(0, count_entries(p.vol));
        place_done(&p);
    }
}

/* A directory deep in the volume is moved outside, beside what must stay, and back. */
static void *rival_moves(void *ctx)
{
    struct rival *r = ctx;
    char deep[TEST_PATH_BYTES * 3], away[TEST_PATH_BYTES * 3];

    (void)snprintf(deep, sizeof deep, "%s/vol/d/d/d/d/d", r->place->d.path);
    (void)snprintf(away, sizeof away, "%s/out/moved", r->place->d.path);
    for (; !atomic_load(&r->is_over); atomic_fetch_add(&r->rounds, 1))
        (void)(rename(deep, away) == 0 && rename(away, deep));
    return NULL;
}

TEST(a_directory_moved_away_does_not_take_us_along)
{
    for (int round = 0; round < 20; round++) {
        struct place p = place_new_large();
        struct rival rival = { .place = &p };

        put_chain(p.vol, "d", 60, false); /* more than stay open: the way up goes through ".." */
        pthread_t thread = rival_start(&rival, rival_moves);
        int r = host_empty_dir(p.vol, NULL, NULL, &err);
        rival_end(&rival, thread);
        assert_true(r == 0 || r == -ERR_BUSY || r == -ERR_CONFLICT);
        assert_true(exists(in_dir(&p.d, "out/precious")));
        if (exists(in_dir(&p.d, "out/moved")))
            ASSERT_OK(host_remove_tree(NULL, in_dir(&p.d, "out/moved"), NULL, NULL, &err));
        ASSERT_OK(host_empty_dir(p.vol, NULL, NULL, &err));
        place_done(&p);
    }
}

static void *rival_writes(void *ctx)
{
    struct rival *r = ctx;
    char path[TEST_PATH_BYTES * 3];

    for (; !atomic_load(&r->is_over); atomic_fetch_add(&r->rounds, 1)) {
        (void)snprintf(path, sizeof path, "%s/vol/a/new-%u", r->place->d.path, r->made++);
        (void)mknod(path, S_IFREG | 0600, 0);
    }
    return NULL;
}

TEST(a_writer_cannot_hold_us_forever)
{
    _cleanup_(place_done) struct place p = place_new();
    struct rival rival = { .place = &p };

    put_some(&p);
    pthread_t thread = rival_start(&rival, rival_writes);
    int r = host_remove_tree(NULL, p.vol, NULL, NULL, &err);
    rival_end(&rival, thread);
    if (r < 0) {
        ASSERT_INT(-ERR_BUSY, r);
        assert_non_null(strstr(err.msg, "another process keeps writing to"));
    }
    ASSERT_OK(host_remove_tree(NULL, p.vol, NULL, NULL, &err));
    assert_out_is_whole(&p);
}

TEST_MAIN()
