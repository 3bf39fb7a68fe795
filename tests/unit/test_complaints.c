/* Several complaints in one error. */
#include "tests/unit/test.h"

#include "base/str.h"
#include "client/complaints.h"

static struct error err;

TEST(none_one_and_several)
{
    struct complaints c = { 0 };

    ASSERT_OK(complaints_check(&c, "bad: ", &err));
    complaints_add(&c, "a %d", 1);
    ASSERT_ERR(ERR_INVALID, complaints_check(&c, "bad: ", &err));
    ASSERT_STR("bad: a 1", err.msg);
    complaints_add(&c, "b");
    complaints_add(&c, "c");
    ASSERT_ERR(ERR_INVALID, complaints_check(&c, "bad: ", &err));
    ASSERT_STR("bad: [a 1, b, c]", err.msg);
}

TEST(a_long_list_is_cut_between_characters)
{
    for (size_t shift = 0; shift < 3; shift++) {
        struct complaints c = { 0 };

        complaints_add(&c, "%.*s", (int)shift, "xx");
        for (int i = 0; i < 2000; i++)
            complaints_add(&c, "\xE2\x82\xAC");
        ASSERT_ERR(ERR_INVALID, complaints_check(&c, "", &err));
        assert_true(strlen(err.msg) > ERROR_MSG_BYTES_MAX - 8);
        assert_true(str_is_utf8(str_of(err.msg)));

        c = (struct complaints){ 0 };
        complaints_add(
            &c, "%.*s%s", (int)shift, "xx",
            "€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€"
            "€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€");
        ASSERT_ERR(ERR_INVALID, complaints_check(&c, "", &err));
        assert_true(str_is_utf8(str_of(err.msg)));
    }
}

TEST_MAIN()
