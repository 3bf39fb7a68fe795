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

TEST(the_locale_says_whether_lines_may_be_drawn)
{
    static const struct {
        const char *all, *ctype, *lang; /* in the order in which they count; "" is as good as unset */
        bool is_utf8;
    } rows[] = {
        { "", "", "", false },
        { "", "", "C", false },
        { "", "", "en_US", false },
        { "", "", "C.UTF-8", true },
        { "", "", "de_DE.utf8@euro", true },
        { "", "", "de_DE.ISO-8859-1", false },
        { "", "C.UTF-8", "C", true },
        { "C", "C.UTF-8", "C.UTF-8", false },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(setenv("LC_ALL", rows[i].all, 1), 0);
        assert_int_equal(setenv("LC_CTYPE", rows[i].ctype, 1), 0);
        assert_int_equal(setenv("LANG", rows[i].lang, 1), 0);
        if (io_is_utf8() != rows[i].is_utf8)
            fail_msg("row %zu", i);
    }
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
