/* The checksum at the end of a file. */
#include "tests/unit/test_io.h"

#include "base/cleanup.h"
#include "io/seal.h"

static void put_blocks(const char *path, size_t count)
{
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    for (size_t i = 0; i < count * SEAL_BLOCK_BYTES; i++)
        assert_true(fputc((int)(i % 251), f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void count_tick(void *ctx)
{
    ++*(unsigned *)ctx;
}

TEST(a_file_is_what_was_sealed)
{
    static const size_t blocks[] = { 0, 1, 3, 9000 };
    struct error err = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(blocks); i++) {
        _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
        const char *path = in_dir(&d, "file");
        unsigned ticks = 0;
        bool is_sealed = true;
        struct stat st;
        put_blocks(path, blocks[i]);
        ASSERT_OK(seal_check(path, NULL, NULL, &is_sealed, &err));
        assert_false(is_sealed);
        ASSERT_OK(seal_add(path, NULL, NULL, &err));
        assert_int_equal(stat(path, &st), 0);
        ASSERT_INT(blocks[i] * SEAL_BLOCK_BYTES + SEAL_BYTES, st.st_size);
        ASSERT_OK(seal_check(path, count_tick, &ticks, &is_sealed, &err));
        assert_true(is_sealed);
        assert_true(blocks[i] == 0 || ticks > 0);
        ASSERT_ERR(ERR_INVALID, seal_add(path, NULL, NULL, &err)); /* once is enough */
    }
}

TEST(what_was_changed_or_cut_is_refused)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    const char *path = in_dir(&d, "file");
    struct error err = { 0 };
    bool is_sealed;

    ASSERT_ERR(ERR_NOT_FOUND, seal_check(path, NULL, NULL, &is_sealed, &err));
    put_blocks(path, 2);
    ASSERT_OK(seal_add(path, NULL, NULL, &err));
    for (off_t at = 0; at < 2 * SEAL_BLOCK_BYTES + SEAL_BYTES; at++) {
        int fd = open(path, O_RDWR | O_CLOEXEC);
        unsigned char byte, other;
        assert_true(fd >= 0);
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        other = byte ^ 0x10;
        assert_int_equal(pwrite(fd, &other, 1, at), 1);
        ASSERT_ERR(ERR_INVALID, seal_check(path, NULL, NULL, &is_sealed, &err));
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        assert_int_equal(close(fd), 0);
    }
    ASSERT_OK(seal_check(path, NULL, NULL, &is_sealed, &err));
    for (off_t left = 2 * SEAL_BLOCK_BYTES + SEAL_BYTES - 1; left > 0; left--) {
        assert_int_equal(truncate(path, left), 0);
        if (left % SEAL_BLOCK_BYTES == 0)
            continue; /* nothing is left of the seal */
        ASSERT_ERR(ERR_INVALID, seal_check(path, NULL, NULL, &is_sealed, &err));
        assert_non_null(strstr(err.msg, path));
    }
}

TEST_MAIN()
