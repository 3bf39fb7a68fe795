/* Files of our own: what is refused in their place, writing over them, space that is kept in one. */
#include "tests/unit/test_io.h"

#include <sys/statvfs.h>

#include "base/cleanup.h"
#include "io/file.h"
#include "io/own_file.h"

TEST(only_a_plain_file_of_ours_is_our_own)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    const char *path = in_dir(&d, "file");
    struct error err = { 0 };

    ASSERT_OK(io_check_own_file(path, &err));
    put_file(path, "x");
    ASSERT_OK(io_check_own_file(path, &err));
    assert_int_equal(link(path, in_dir(&d, "second")), 0);
    ASSERT_ERR(ERR_INVALID, io_check_own_file(path, &err));
    assert_non_null(strstr(err.msg, "has 2 names (hard links)"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("second", path), 0);
    ASSERT_ERR(ERR_INVALID, io_check_own_file(path, &err));
    assert_non_null(strstr(err.msg, "is a symbolic link"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    ASSERT_ERR(ERR_INVALID, io_check_own_file(path, &err));
    assert_non_null(strstr(err.msg, "is not a regular file"));
    if (geteuid() == 0) {
        /* root takes it from a service that ran under another user; another user does not. */
        assert_int_equal(chmod(d.path, 0711), 0);
        assert_int_equal(chown(in_dir(&d, "second"), 1, (gid_t)-1), 0);
        ASSERT_OK(io_check_own_file(in_dir(&d, "second"), &err));
        assert_int_equal(seteuid(2), 0);
        ASSERT_ERR(ERR_DENIED, io_check_own_file(in_dir(&d, "second"), &err));
        assert_int_equal(seteuid(0), 0);
        assert_non_null(strstr(err.msg, "is owned by user 1, but this process runs as user 2"));
    }
}

TEST(a_file_of_our_own_is_opened_and_written_over)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(0);
    _cleanup_(fd_closep) int fd = -1;
    int other = -1;
    const char *path = in_dir(&d, "file");
    struct error err = { 0 };

    ASSERT_ERR(ERR_NOT_FOUND, io_open_own_file(path, &fd, &err));
    ASSERT_OK(io_make_own_file(path, &fd, &err));
    assert_int_equal(io_overwrite(fd, str_of("first")), 0);
    assert_int_equal(io_overwrite(fd, str_of("2nd")), 0);
    ASSERT_OK(io_read_file(path, 100, &text, &err));
    ASSERT_STR("2ndst", buf_cstr(&text));
    assert_int_equal(symlink("file", in_dir(&d, "link")), 0);
    ASSERT_ERR(ERR_INVALID, io_open_own_file(in_dir(&d, "link"), &other, &err));
    ASSERT_ERR(ERR_INVALID, io_make_own_file(in_dir(&d, "link"), &other, &err));
    assert_int_equal(other, -1);
}

#define MIB (UINT64_C(1) << 20)

TEST(space_is_taken_and_given_back)
{
    skip_without_mounts();
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    _cleanup_(fd_closep) int fd = -1;
    struct error err = { 0 };
    uint64_t held, left;

    assert_int_equal(mount("tmpfs", d.path, "tmpfs", 0, "size=4m"), 0);
    ASSERT_OK(io_make_own_file(in_dir(&d, "file"), &fd, &err));
    assert_int_equal(io_set_space(fd, 3 * MIB), 0);
    ASSERT_OK(io_space(fd, &held, &left, &err));
    ASSERT_INT(3 * MIB, held);
    assert_true(left <= MIB);
    assert_int_equal(io_set_space(fd, 5 * MIB), -ENOSPC);
    ASSERT_OK(io_space(fd, &held, &left, &err));
    ASSERT_INT(3 * MIB, held);
    assert_true(left > 0);
    assert_int_equal(io_set_space(fd, MIB), 0);
    ASSERT_OK(io_space(fd, &held, &left, &err));
    ASSERT_INT(MIB, held);
    assert_true(left > 2 * MIB);
    assert_int_equal(close(take_fd(&fd)), 0);
    assert_int_equal(umount(d.path), 0);
}

TEST_MAIN()
