/* Several complaints in one error. */
#include "tests/unit/test.h"

#include "base/str.h"
#include "client/error_list.h"

static struct error err;

TEST(none_one_and_several)
{
    struct error_list c = { 0 };

    ASSERT_OK(error_list_check(&c, "bad: ", &err));
    error_list_add(&c, "a %d", 1);
    ASSERT_ERR(ERR_INVALID, error_list_check(&c, "bad: ", &err));
    ASSERT_STR("bad: a 1", err.msg);
    error_list_add(&c, "b");
    error_list_add(&c, "c");
    ASSERT_ERR(ERR_INVALID, error_list_check(&c, "bad: ", &err));
    ASSERT_STR("bad: [a 1, b, c]", err.msg);
}

TEST(a_long_list_is_cut_between_characters)
{
    for (size_t shift = 0; shift < 3; shift++) {
        struct error_list c = { 0 };

        error_list_add(&c, "%.*s", (int)shift, "xx");
        for (int i = 0; i < 2000; i++)
            error_list_add(&c, "\xE2\x82\xAC");
        ASSERT_ERR(ERR_INVALID, error_list_check(&c, "", &err));
        assert_true(strlen(err.msg) > ERROR_MSG_BYTES_MAX - 8);
        assert_true(str_is_utf8(str_of(err.msg)));

        c = (struct error_list){ 0 };
        error_list_add(
            &c, "%.*s%s", (int)shift, "xx",
            "€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€"
            "€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€");
        ASSERT_ERR(ERR_INVALID, error_list_check(&c, "", &err));
        assert_true(str_is_utf8(str_of(err.msg)));
    }
}

TEST_MAIN()
