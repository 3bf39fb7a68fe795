#include "tests/unit/test_io.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "io/memory_file.h"

TEST(content_is_found_under_the_path)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(1 << 20);
    _cleanup_(fd_closep) int fd = -1;
    char path[MEMORY_FILE_PATH_BYTES];
    struct error err = { 0 };

    ASSERT_OK(memory_file("a key", STR_LIT("some\0text"), path, &fd, &err));
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    for (unsigned i = 0; i < 2; i++) { /* opened anew, it begins anew */
        ASSERT_OK(io_read_file(path, 100, &text, &err));
        assert_true(str_eq(buf_str(&text), STR_LIT("some\0text")));
    }
    assert_true(write(fd, "x", 1) < 0);
    assert_true(ftruncate(fd, 0) < 0);
}

TEST(nothing_is_content_too)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(1 << 20);
    _cleanup_(fd_closep) int fd = -1;
    char path[MEMORY_FILE_PATH_BYTES];
    struct error err = { 0 };

    ASSERT_OK(memory_file("nothing", STR_LIT(""), path, &fd, &err));
    ASSERT_OK(io_read_file(path, 100, &text, &err));
    ASSERT_INT(0, text.len);
}

TEST(no_room_for_it)
{
    static char name[1000]; /* longer than the kernel takes */
    char path[MEMORY_FILE_PATH_BYTES] = "untouched";
    struct error err = { 0 };
    int fd = -1;

    memset(name, 'x', sizeof name - 1);
    assert_true(memory_file(name, STR_LIT("x"), path, &fd, &err) < 0);
    ASSERT_INT(-1, fd);
    ASSERT_STR("untouched", path);
}

TEST_MAIN()
