#include "tests/unit/test.h"

#include <unistd.h>

#include "io/env.h"

TEST(a_variable_is_its_value_or_nothing)
{
    assert_int_equal(setenv("BERTH_TEST", "x", 1), 0);
    ASSERT_STR("x", io_env("BERTH_TEST"));
    assert_int_equal(setenv("BERTH_TEST", "", 1), 0);
    assert_null(io_env("BERTH_TEST"));
    assert_int_equal(unsetenv("BERTH_TEST"), 0);
    assert_null(io_env("BERTH_TEST"));
}

TEST(root_is_who_may_do_everything)
{
    ASSERT_INT(geteuid() == 0, io_is_root());
}

TEST(a_file_is_no_terminal)
{
    int saved = dup(STDERR_FILENO);
    FILE *f = tmpfile();
    bool is_terminal;

    assert_true(saved >= 0);
    assert_non_null(f);
    assert_true(dup2(fileno(f), STDERR_FILENO) >= 0);
    is_terminal = io_stderr_is_terminal();
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    assert_false(is_terminal);
    assert_int_equal(close(saved), 0);
    assert_int_equal(fclose(f), 0);
}

TEST_MAIN()
