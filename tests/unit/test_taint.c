/* Taints and tolerations: who tolerates what. */
#include "tests/unit/test_kind.h"

#include "api/taint.h"

TEST(toleration_match_table)
{
    static const struct {
        struct toleration toleration;
        bool matches; /* the taint k=v:NoSchedule */
    } rows[] = {
        { { "k", "v", -1, TOLERATION_EQUAL, TAINT_NO_SCHEDULE }, true },
        { { "k", "v", -1, TOLERATION_EQUAL, TAINT_EFFECT_NONE }, true },
        { { "k", "w", -1, TOLERATION_EQUAL, TAINT_EFFECT_NONE }, false },
        { { "j", "v", -1, TOLERATION_EQUAL, TAINT_EFFECT_NONE }, false },
        { { "k", "v", -1, TOLERATION_EQUAL, TAINT_NO_EXECUTE }, false },
        { { "k", "", -1, TOLERATION_EXISTS, TAINT_NO_SCHEDULE }, true },
        { { "k", "", -1, TOLERATION_EXISTS, TAINT_PREFER_NO_SCHEDULE }, false },
        { { "", "", -1, TOLERATION_EXISTS, TAINT_EFFECT_NONE }, true },
        { { "", "v", -1, TOLERATION_EQUAL, TAINT_EFFECT_NONE }, true },
        { { "", "", -1, TOLERATION_EQUAL, TAINT_EFFECT_NONE }, false },
        { { "k", "v", -1, TOLERATION_OP_UNKNOWN, TAINT_EFFECT_NONE }, false },
        { { "k", "v", -1, TOLERATION_EQUAL, TAINT_EFFECT_UNKNOWN }, false },
    };
    const struct taint taint = { "k", "v", TAINT_NO_SCHEDULE };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_INT(rows[i].matches, toleration_matches(&rows[i].toleration, &taint));
}

TEST(one_toleration_of_many_is_enough)
{
    const struct toleration items[] = {
        { "a", "", -1, TOLERATION_EXISTS, TAINT_EFFECT_NONE },
        { "k", "", -1, TOLERATION_EXISTS, TAINT_EFFECT_NONE },
    };
    const struct taint taint = { "k", "v", TAINT_NO_EXECUTE };

    assert_true(tolerations_match(&(struct tolerations){ items, 2 }, &taint));
    assert_false(tolerations_match(&(struct tolerations){ items, 1 }, &taint));
    assert_false(tolerations_match(&(struct tolerations){ NULL, 0 }, &taint));
}

TEST_MAIN()
