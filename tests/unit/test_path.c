#include "tests/unit/test_io.h"

#include "base/cleanup.h"
#include "io/file.h"
#include "io/path.h"

TEST(exists_tells_what_is_there)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct error err = { 0 };
    bool there = true;

    ASSERT_OK(io_exists(in_dir(&d, "f"), &there, &err));
    assert_false(there);
    put_file(in_dir(&d, "f"), "x");
    errno = ENOENT; /* what an earlier call left there says nothing */
    ASSERT_OK(io_exists(in_dir(&d, "f"), &there, &err));
    assert_true(there);
    assert_int_equal(symlink("nowhere", in_dir(&d, "link")), 0);
    there = false;
    ASSERT_OK(io_exists(in_dir(&d, "link"), &there, &err));
    assert_true(there);
    there = false;
    assert_true(io_exists(in_dir(&d, "f/x"), &there, &err) < 0);
    assert_non_null(strstr(err.msg, "f/x"));
}

TEST(relative_paths_start_in_the_working_directory)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct error err = { 0 };
    char cwd[PATH_MAX], here[PATH_MAX], path[PATH_MAX], expected[PATH_MAX + 8], *too_long;

    ASSERT_OK(io_absolute("/a/../b", path, &err));
    ASSERT_STR("/a/../b", path);
    assert_non_null(getcwd(cwd, sizeof cwd));
    assert_int_equal(chdir(d.path), 0);
    assert_non_null(getcwd(here, sizeof here));
    ASSERT_OK(io_absolute("a/b", path, &err));
    (void)snprintf(expected, sizeof expected, "%s/a/b", here);
    ASSERT_STR(expected, path);
    too_long = malloc(PATH_MAX);
    assert_non_null(too_long);
    memset(too_long, 'x', PATH_MAX - 1);
    too_long[PATH_MAX - 1] = '\0';
    ASSERT_ERR(ERR_IO, io_absolute(too_long, path, &err));
    free(too_long);
    assert_int_equal(chdir("/"), 0);
    ASSERT_OK(io_absolute("a", path, &err));
    ASSERT_STR("/a", path);
    assert_int_equal(chdir(d.path), 0);
    test_dir_done(&d);
    assert_true(io_absolute("a", path, &err) < 0); /* a working directory that is gone */
    assert_non_null(strstr(err.msg, "working directory"));
    assert_int_equal(chdir(cwd), 0);
}

TEST(one_file_under_two_names)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();

    assert_false(io_is_same_file(in_dir(&d, "f"), in_dir(&d, "f"))); /* neither is there */
    put_file(in_dir(&d, "f"), "x");
    put_file(in_dir(&d, "g"), "x");
    assert_int_equal(symlink("f", in_dir(&d, "link")), 0);
    assert_int_equal(link(in_dir(&d, "f"), in_dir(&d, "hard")), 0);
    assert_true(io_is_same_file(in_dir(&d, "f"), in_dir(&d, "./f")));
    assert_true(io_is_same_file(in_dir(&d, "f"), in_dir(&d, "link")));
    assert_true(io_is_same_file(in_dir(&d, "f"), in_dir(&d, "hard")));
    assert_false(io_is_same_file(in_dir(&d, "f"), in_dir(&d, "g")));
}

TEST(a_directory_is_free_but_for_locks_and_leftovers)
{
    static const struct {
        const char *name;
        bool is_free;
    } rows[] = { { "lock", true }, { ".berth-tmp-1", true }, { "berth.db", false }, { ".hidden", false } };
    struct error err = { 0 };
    bool is_free;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
        is_free = false;
        ASSERT_OK(io_dir_is_empty(d.path, &is_free, &err));
        assert_true(is_free);
        put_file(in_dir(&d, rows[i].name), "x");
        ASSERT_OK(io_dir_is_empty(d.path, &is_free, &err));
        ASSERT_INT(rows[i].is_free, is_free);
        ASSERT_OK(io_dir_is_empty(in_dir(&d, "missing"), &is_free, &err));
        assert_true(is_free);
        assert_true(io_dir_is_empty(in_dir(&d, rows[i].name), &is_free, &err) < 0); /* a file */
    }
}

TEST(a_temporary_file_goes_into_place)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(0);
    struct error err = { 0 };
    char tmp[PATH_MAX], other[PATH_MAX];
    struct stat st;

    put_file(in_dir(&d, "f"), "old");
    ASSERT_OK(io_tmp_file_beside(in_dir(&d, "f"), tmp, &err));
    ASSERT_OK(io_tmp_file_beside(in_dir(&d, "f"), other, &err));
    assert_string_not_equal(tmp, other);
    assert_true(strncmp(tmp, in_dir(&d, IO_TMP_PREFIX), strlen(in_dir(&d, IO_TMP_PREFIX))) == 0);
    assert_int_equal(stat(tmp, &st), 0);
    ASSERT_INT(0600, st.st_mode & 0777);
    put_file(tmp, "new");
    ASSERT_OK(io_move_into_place(tmp, in_dir(&d, "f"), &err));
    ASSERT_OK(io_read_file(in_dir(&d, "f"), 100, &text, &err));
    ASSERT_STR("new", buf_cstr(&text));
    ASSERT_INT(-1, access(tmp, F_OK));
    io_discard_file(other);
    ASSERT_INT(-1, access(other, F_OK));
    io_discard_file(other); /* it is gone already */
}

TEST(what_cannot_be_made_is_told)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct error err = { 0 };
    char tmp[PATH_MAX] = "untouched";
    static char long_path[PATH_MAX + 10];

    memset(long_path, 'x', sizeof long_path - 1);
    long_path[PATH_MAX - 5] = '/';
    ASSERT_ERR(ERR_NOT_FOUND, io_tmp_file_beside(in_dir(&d, "no/f"), tmp, &err));
    assert_true(io_tmp_file_beside(long_path, tmp, &err) < 0);
    ASSERT_ERR(ERR_NOT_FOUND, io_tmp_dir_below(in_dir(&d, "no"), tmp, &err));
    assert_true(io_tmp_dir_below(long_path, tmp, &err) < 0);
    ASSERT_STR("untouched", tmp);
    ASSERT_ERR(ERR_NOT_FOUND, io_move_into_place(in_dir(&d, "no"), in_dir(&d, "f"), &err));
    put_file(in_dir(&d, "f"), "x");
    ASSERT_ERR(ERR_NOT_FOUND, io_move_into_place(in_dir(&d, "f"), in_dir(&d, "no/f"), &err));
}

TEST(a_temporary_directory_goes_with_its_files_alone)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct error err = { 0 };
    char dir[PATH_MAX], name[PATH_MAX + 16];

    ASSERT_OK(io_tmp_dir_below(d.path, dir, &err));
    (void)snprintf(name, sizeof name, "%s/f", dir);
    put_file(name, "x");
    (void)snprintf(name, sizeof name, "%s/deeper", dir);
    assert_int_equal(mkdir(name, 0700), 0);
    io_discard_dir(dir);
    ASSERT_INT(0, access(name, F_OK)); /* not ours to delete */
    assert_int_equal(rmdir(name), 0);
    io_discard_dir(dir);
    ASSERT_INT(-1, access(dir, F_OK));
    io_discard_dir(dir);
}

TEST_MAIN()
