#include "tests/unit/test_io.h"

#include <dirent.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "io/file.h"

static void assert_content(const char *path, const char *expected)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(0);
    struct error err = { 0 };

    ASSERT_OK(io_read_file(path, 1 << 20, &text, &err));
    ASSERT_STR(expected, buf_cstr(&text));
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

static int replace(const char *path, const char *text, struct error *err)
{
    return io_replace_file(path, text, strlen(text), 0600, err);
}

/* Replacing */

TEST(replace_makes_and_replaces)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct error err = { 0 };
    struct stat before, after;

    ASSERT_OK(replace(in_dir(&d, "f"), "one", &err));
    assert_content(in_dir(&d, "f"), "one");
    assert_int_equal(stat(in_dir(&d, "f"), &before), 0);
    ASSERT_OK(replace(in_dir(&d, "f"), "", &err));
    assert_content(in_dir(&d, "f"), "");
    assert_int_equal(stat(in_dir(&d, "f"), &after), 0);
    assert_int_not_equal(before.st_ino, after.st_ino); /* a new file, not the old one written over */
    assert_int_equal(count_entries(d.path), 1);
}

TEST(replace_sets_the_mode_whatever_the_umask)
{
    static const mode_t modes[] = { 0600, 0644, 0666, 0755, 0400 };
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct error err = { 0 };
    mode_t old = umask(077);

    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        struct stat st;
        ASSERT_OK(io_replace_file(in_dir(&d, "f"), "x", 1, modes[i], &err));
        assert_int_equal(stat(in_dir(&d, "f"), &st), 0);
        assert_int_equal(st.st_mode & 07777, modes[i]);
    }
    (void)umask(old);
}

TEST(replace_keeps_an_open_reader_on_the_old_file)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    _cleanup_(fd_closep) int fd = -1;
    struct error err = { 0 };
    char text[8] = "";

    ASSERT_OK(replace(in_dir(&d, "f"), "old", &err));
    fd = open(in_dir(&d, "f"), O_RDONLY | O_CLOEXEC);
    ASSERT_OK(replace(in_dir(&d, "f"), "new", &err));
    assert_int_equal(read(fd, text, sizeof text - 1), 3);
    ASSERT_STR("old", text);
}

TEST(replace_replaces_a_link_not_its_target)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct error err = { 0 };

    put_file(in_dir(&d, "target"), "kept");
    assert_int_equal(symlink("target", in_dir(&d, "link")), 0);
    ASSERT_OK(replace(in_dir(&d, "link"), "new", &err));
    assert_content(in_dir(&d, "target"), "kept");
    assert_content(in_dir(&d, "link"), "new");
}

TEST(replace_works_in_a_directory_by_descriptor)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    _cleanup_(fd_closep) int fd = open(d.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct error err = { 0 };

    ASSERT_OK(io_replace_file_at(fd, "f", "a\0b", 3, 0600, &err));
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(0);
    ASSERT_OK(io_read_file(in_dir(&d, "f"), 3, &text, &err));
    assert_int_equal(text.len, 3);
    assert_memory_equal(text.data, "a\0b", 3);
    ASSERT_ERR(ERR_IO, io_replace_file_at(-1, "f", "x", 1, 0600, &err));
    ASSERT_STR("cannot replace 'f': cannot create a temporary file: Bad file descriptor", err.msg);
}

TEST(create_excludes_others)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    _cleanup_(fd_closep) int fd = open(d.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(0);
    struct error err = { 0 };
    struct stat st;

    ASSERT_OK(io_create_file_at(fd, "f", "first", 5, 0640, &err));
    ASSERT_ERR(ERR_EXISTS, io_create_file_at(fd, "f", "second", 6, 0600, &err));
    ASSERT_STR("cannot create 'f': cannot give the new file its name: File exists", err.msg);
    ASSERT_OK(io_read_file(in_dir(&d, "f"), 10, &text, &err));
    ASSERT_STR("first", buf_cstr(&text));
    assert_int_equal(stat(in_dir(&d, "f"), &st), 0);
    ASSERT_INT(0640, st.st_mode & 07777);
    ASSERT_INT(1, st.st_nlink);
    assert_int_equal(symlink("/nowhere", in_dir(&d, "link")), 0);
    assert_int_equal(mkdir(in_dir(&d, "sub"), 0700), 0);
    ASSERT_ERR(ERR_EXISTS, io_create_file_at(fd, "link", "x", 1, 0600, &err));
    ASSERT_ERR(ERR_EXISTS, io_create_file_at(fd, "sub", "x", 1, 0600, &err));
    ASSERT_ERR(ERR_INVALID, io_create_file_at(fd, "sub/f", "x", 1, 0600, &err));
    ASSERT_ERR(ERR_IO, io_create_file_at(-1, "f", "x", 1, 0600, &err));
    assert_int_equal(count_entries(d.path), 3); /* no temporary file is left */
}

TEST(replace_refuses_what_is_no_file_name)
{
    static const char *const paths[] = { "", "/", ".", "..", "x/", "x/.", "x/.." };
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    _cleanup_(fd_closep) int fd = open(d.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct error err = { 0 };
        char expected[64];
        (void)snprintf(expected, sizeof expected, "'%s' is not the name of a file", paths[i]);
        ASSERT_ERR(ERR_INVALID, replace(paths[i], "x", &err));
        ASSERT_STR(expected, err.msg);
        ASSERT_ERR(ERR_INVALID, io_replace_file_at(fd, paths[i], "x", 1, 0600, &err));
    }
    struct error err = { 0 };
    ASSERT_ERR(ERR_INVALID, io_replace_file_at(fd, "sub/f", "x", 1, 0600, &err));
}

TEST(replace_over_a_directory_leaves_nothing_behind)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct error err = { 0 };

    assert_int_equal(mkdir(in_dir(&d, "sub"), 0700), 0);
    ASSERT_ERR(ERR_IO, replace(in_dir(&d, "sub"), "x", &err));
    assert_non_null(strstr(err.msg, "/sub': cannot rename the new file into place: Is a directory"));
    assert_int_equal(count_entries(d.path), 1);
}

TEST(replace_in_a_missing_directory_names_it)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct error err = { 0 };
    char expected[TEST_PATH_BYTES * 3];

    (void)snprintf(expected, sizeof expected,
                   "cannot replace '%s/no/f': cannot open directory '%s/no/': No such file or directory",
                   d.path, d.path);
    ASSERT_ERR(ERR_NOT_FOUND, replace(in_dir(&d, "no/f"), "x", &err));
    ASSERT_STR(expected, err.msg);
}

/* Runs fn in a child without root's power over permissions; its exit code is the test's. */
static void as_nobody(void (*fn)(const char *path), const char *path)
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
            _exit(99);
        fn(path);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void replace_is_denied(const char *path)
{
    struct error err = { 0 };

    if (replace(path, "new", &err) != -ERR_DENIED)
        _exit(1);
    if (!strstr(err.msg, path) || !strstr(err.msg, "cannot create a temporary file: Permission denied"))
        _exit(2);
}

TEST(replace_in_a_read_only_directory_keeps_the_old_file)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();

    put_file(in_dir(&d, "f"), "old");
    assert_int_equal(chmod(d.path, 0555), 0);
    as_nobody(replace_is_denied, in_dir(&d, "f"));
    assert_int_equal(chmod(d.path, 0700), 0);
    assert_content(in_dir(&d, "f"), "old");
    assert_int_equal(count_entries(d.path), 1);
}

TEST(replace_on_a_full_disk_keeps_the_old_file)
{
    skip_without_mounts();
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    static char big[1 << 20];
    struct error err = { 0 };

    assert_int_equal(mount("tmpfs", d.path, "tmpfs", 0, "size=64k"), 0);
    put_file(in_dir(&d, "f"), "old");
    int r = io_replace_file(in_dir(&d, "f"), big, sizeof big, 0600, &err);
    unsigned entries = count_entries(d.path);
    char text[8] = "";
    FILE *f = fopen(in_dir(&d, "f"), "re");
    bool is_read = f && fgets(text, sizeof text, f);
    if (f)
        (void)fclose(f);
    assert_int_equal(umount(d.path), 0); /* before anything can fail the test */
    assert_int_equal(r, -ERR_IO);
    assert_non_null(strstr(err.msg, "/f': cannot write 1048576 bytes: No space left on device"));
    assert_int_equal(entries, 1);
    assert_true(is_read);
    ASSERT_STR("old", text);
}

/* Reading */

TEST(read_is_bounded)
{
    static const struct {
        size_t size, max;
        int r;
    } rows[] = {
        { 0, 0, 0 },         { 1, 0, -ERR_TOO_LARGE },
        { 10, 10, 0 },       { 11, 10, -ERR_TOO_LARGE },
        { 10, 1000, 0 },     { 16384, 16384, 0 },
        { 16385, 16385, 0 }, { 16385, 16384, -ERR_TOO_LARGE },
        { 50000, 99999, 0 }, { 50000, 20000, -ERR_TOO_LARGE },
    };
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    static char data[50000];

    memset(data, 'x', sizeof data);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(buf_done_p) struct buf text = BUF_INIT(100);
        struct error err = { 0 };
        buf_add_cstr(&text, "before");
        ASSERT_OK(io_replace_file(in_dir(&d, "f"), data, rows[i].size, 0600, &err));
        assert_int_equal(io_read_file(in_dir(&d, "f"), rows[i].max, &text, &err), rows[i].r);
        if (rows[i].r < 0)
            ASSERT_STR("before", buf_cstr(&text));
        else
            assert_int_equal(text.len, rows[i].size);
    }
}

TEST(read_names_the_file_that_is_too_large)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(0);
    struct error err = { 0 };

    ASSERT_ERR(ERR_TOO_LARGE, io_read_file("/dev/zero", 4096, &text, &err)); /* and it ends */
    ASSERT_STR("'/dev/zero' is larger than 4096 bytes", err.msg);
}

TEST(read_takes_files_without_a_size)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(0);
    struct error err = { 0 };

    ASSERT_OK(io_read_file("/proc/self/stat", 4096, &text, &err));
    assert_true(text.len > 10);
}

TEST(read_fails_with_the_path)
{
    static const struct {
        const char *path;
        enum err code;
        const char *msg;
    } rows[] = {
        { "/nonexistent/x", ERR_NOT_FOUND, "cannot open '/nonexistent/x': No such file or directory" },
        { "/", ERR_IO, "cannot read '/': Is a directory" },
        { "/dev/null/x", ERR_IO, "cannot open '/dev/null/x': Not a directory" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(buf_done_p) struct buf text = BUF_INIT(0);
        struct error err = { 0 };
        ASSERT_ERR(rows[i].code, io_read_file(rows[i].path, 100, &text, &err));
        ASSERT_STR(rows[i].msg, err.msg);
    }
}

/* Directories */

static void assert_is_dir(const char *path, mode_t mode)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    assert_int_equal(st.st_mode & 07777, mode);
}

TEST(mkdirs_makes_what_is_missing)
{
    static const char *const paths[] = { "a/b/c", "a/b/c", "a", "x//y///z//", "k/", "a/../m/n" };
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct error err = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        ASSERT_OK(io_mkdirs(in_dir(&d, paths[i]), 0750, &err));
    assert_is_dir(in_dir(&d, "a"), 0750);
    assert_is_dir(in_dir(&d, "a/b/c"), 0750);
    assert_is_dir(in_dir(&d, "x/y/z"), 0750);
    assert_is_dir(in_dir(&d, "k"), 0750);
    assert_is_dir(in_dir(&d, "m/n"), 0750);
    ASSERT_OK(io_mkdirs(in_dir(&d, "a"), 0700, &err));
    assert_is_dir(in_dir(&d, "a"), 0750); /* what is there stays as it is */
    ASSERT_OK(io_mkdirs("/", 0700, &err));
    ASSERT_OK(io_mkdirs(".", 0700, &err));
}

TEST(mkdirs_takes_relative_paths)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    _cleanup_(fd_closep) int back = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct error err = { 0 };

    assert_int_equal(chdir(d.path), 0);
    int r = io_mkdirs("rel/sub", 0700, &err);
    int r2 = replace("rel-file", "x", &err);
    assert_int_equal(fchdir(back), 0);
    ASSERT_OK(r);
    ASSERT_OK(r2);
    assert_is_dir(in_dir(&d, "rel/sub"), 0700);
    assert_content(in_dir(&d, "rel-file"), "x");
}

TEST(mkdirs_refuses_a_file_in_the_way)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    char expected[TEST_PATH_BYTES * 2];
    struct error err = { 0 };

    put_file(in_dir(&d, "f"), "x");
    (void)snprintf(expected, sizeof expected, "cannot create directory '%s/f': a file of that name exists",
                   d.path);
    ASSERT_ERR(ERR_EXISTS, io_mkdirs(in_dir(&d, "f"), 0700, &err));
    ASSERT_STR(expected, err.msg);
    ASSERT_ERR(ERR_EXISTS, io_mkdirs(in_dir(&d, "f/sub"), 0700, &err));
    ASSERT_STR(expected, err.msg);
    assert_int_equal(symlink("nowhere", in_dir(&d, "dangling")), 0);
    ASSERT_ERR(ERR_NOT_FOUND, io_mkdirs(in_dir(&d, "dangling"), 0700, &err));
    ASSERT_ERR(ERR_INVALID, io_mkdirs("", 0700, &err));
}

TEST(paths_too_long_are_refused)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    char path[8192];
    int fd = -1;
    struct error err = { 0 };

    memset(path, 'a', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    memcpy(path, d.path, strlen(d.path));
    path[strlen(d.path)] = '/'; /* a name of 8 KB in the directory */
    ASSERT_ERR(ERR_IO, io_mkdirs(path, 0700, &err));
    ASSERT_ERR(ERR_IO, io_lock_dir(path, &fd, &err));
    ASSERT_ERR(ERR_IO, replace(path, "x", &err));
    path[sizeof path - 3] = '/'; /* and a directory of that length */
    ASSERT_ERR(ERR_IO, replace(path, "x", &err));
    assert_int_equal(count_entries(d.path), 0);
}

/* Locking */

TEST(lock_excludes_a_second_one_in_the_same_process)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    _cleanup_(fd_closep) int fd = -1;
    char expected[TEST_PATH_BYTES * 2], pid[32];
    int second = -1;
    struct error err = { 0 };

    ASSERT_OK(io_lock_dir(d.path, &fd, &err));
    (void)snprintf(pid, sizeof pid, "%d\n", getpid());
    assert_content(in_dir(&d, "lock"), pid);
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    (void)snprintf(expected, sizeof expected, "'%s' is in use by process %d", d.path, getpid());
    ASSERT_ERR(ERR_BUSY, io_lock_dir(d.path, &second, &err));
    ASSERT_STR(expected, err.msg);
    assert_int_equal(second, -1);
    assert_int_equal(close(take_fd(&fd)), 0);
    ASSERT_OK(io_lock_dir(d.path, &fd, &err));
}

TEST(lock_of_another_process_holds_until_it_dies)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    _cleanup_(fd_closep) int fd = -1;
    char expected[TEST_PATH_BYTES * 2], ready;
    struct error err = { 0 };
    int fds[2];

    put_file(in_dir(&d, "lock"), "123456789012345678\n"); /* a longer one, left by an earlier holder */
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int lock;
        (void)!write(fds[1], io_lock_dir(d.path, &lock, &err) == 0 ? "y" : "n", 1);
        for (;;)
            (void)pause();
    }
    assert_int_equal(read(fds[0], &ready, 1), 1);
    assert_int_equal(ready, 'y');
    (void)snprintf(expected, sizeof expected, "'%s' is in use by process %d", d.path, pid);
    int r = io_lock_dir(d.path, &fd, &err);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(r, -ERR_BUSY);
    ASSERT_STR(expected, err.msg);
    ASSERT_OK(io_lock_dir(d.path, &fd, &err));
    (void)close(fds[0]);
    (void)close(fds[1]);
}

/* A holder that is killed while it starts a child: the child has the lock until it comes to its exec(). */
TEST(lock_of_a_dead_holder_is_waited_for)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    _cleanup_(fd_closep) int fd = -1;
    struct error err = { 0 };
    int lock, status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        if (io_lock_dir(d.path, &lock, &err) < 0)
            _exit(1);
        if (fork() == 0)
            (void)poll(NULL, 0, 50); /* longer than the first try takes; the lock goes with this process */
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    ASSERT_OK(io_lock_dir(d.path, &fd, &err));
}

TEST(lock_without_a_readable_holder_is_refused_plainly)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    _cleanup_(fd_closep) int fd = -1;
    char expected[TEST_PATH_BYTES * 2];
    int second = -1;
    struct error err = { 0 };

    ASSERT_OK(io_lock_dir(d.path, &fd, &err));
    put_file(in_dir(&d, "lock"), "not a number\n");
    (void)snprintf(expected, sizeof expected, "'%s' is in use by another process", d.path);
    ASSERT_ERR(ERR_BUSY, io_lock_dir(d.path, &second, &err));
    ASSERT_STR(expected, err.msg);
}

TEST(lock_of_a_missing_directory_fails)
{
    struct error err = { 0 };
    int fd = -1;

    ASSERT_ERR(ERR_NOT_FOUND, io_lock_dir("/nonexistent", &fd, &err));
    ASSERT_STR("cannot open '/nonexistent/lock': No such file or directory", err.msg);
}

TEST(a_locked_file_is_held_under_every_name)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    _cleanup_(fd_closep) int fd = -1;
    char expected[TEST_PATH_BYTES * 2];
    int second = -1;
    struct error err = { 0 };

    ASSERT_ERR(ERR_NOT_FOUND, io_lock_file(in_dir(&d, "file"), &fd, &err));
    put_file(in_dir(&d, "file"), "content");
    ASSERT_OK(io_lock_file(in_dir(&d, "file"), &fd, &err));
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_int_equal(link(in_dir(&d, "file"), in_dir(&d, "other")), 0);
    ASSERT_ERR(ERR_BUSY, io_lock_file(in_dir(&d, "other"), &second, &err));
    (void)snprintf(expected, sizeof expected, "'%s' is in use by process %d", in_dir(&d, "other"), getpid());
    ASSERT_STR(expected, err.msg);
    assert_content(in_dir(&d, "file"), "content");
    assert_int_equal(symlink("file", in_dir(&d, "link")), 0);
    ASSERT_ERR(ERR_INVALID, io_lock_file(in_dir(&d, "link"), &second, &err));
    assert_non_null(strstr(err.msg, "is a symbolic link"));
    assert_int_equal(close(take_fd(&fd)), 0);
    ASSERT_OK(io_lock_file(in_dir(&d, "other"), &fd, &err));
}

TEST_MAIN()
