/* Tokens over their lives, in a time that is set by hand. */
#include "tests/unit/test.h"

#include "base/clock.h"
#include "plugins/tokens.h"

#define S ((int64_t)NS_PER_S)
#define BORN (1700000000 * S)
#define NO_JITTER 0

static struct error err;
static const struct token_key key = { "shop", "db", "", 3600, "web-0", "uid-1" };

static struct tokens *with_token(int64_t life_s, uint64_t random)
{
    struct tokens *t = NULL;

    ASSERT_OK(tokens_new(&t, &err));
    ASSERT_OK(tokens_put(t, &key, STR_LIT("eyJ"), life_s, BORN + life_s * S, random, &err));
    return t;
}

TEST(a_token_is_fetched_again_after_four_fifths_or_a_day)
{
    static const struct {
        int64_t life_s, age_s;
        uint64_t random;
        enum token_state expected;
    } rows[] = {
        { 3600, 0, NO_JITTER, TOKEN_FRESH },
        { 3600, 2880, NO_JITTER, TOKEN_FRESH }, /* exactly 80 % */
        { 3600, 2881, NO_JITTER, TOKEN_STALE },
        { 3600, 2876, 5000, TOKEN_STALE }, /* 5 s earlier */
        { 3600, 2875, 5000, TOKEN_FRESH },
        { 3600, 2870, 9999, TOKEN_FRESH },         /* less than 10 s at most */
        { 3600, 2871, UINT64_MAX, TOKEN_FRESH },   /* 1.615 s */
        { 604800, 86400, NO_JITTER, TOKEN_FRESH }, /* a day */
        { 604800, 86401, NO_JITTER, TOKEN_STALE }, /* long before four fifths */
        { 108000, 86400, NO_JITTER, TOKEN_FRESH }, /* where both meet */
        { 108000, 86401, NO_JITTER, TOKEN_STALE },
        { 600, 480, NO_JITTER, TOKEN_FRESH },
        { 600, 481, NO_JITTER, TOKEN_STALE },
        { 600, 10000, NO_JITTER, TOKEN_STALE }, /* long dead: still asked for */
        { INT64_C(1) << 32, 86401, NO_JITTER, TOKEN_STALE },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        _cleanup_(tokens_free_p) struct tokens *t = with_token(rows[i].life_s, rows[i].random);
        struct str token = { 0 };
        ASSERT_INT(rows[i].expected, tokens_get(t, &key, BORN + rows[i].age_s * S, &token));
        assert_true(str_is(token, "eyJ"));
    }
}

TEST(the_moment_to_fetch_it_again_is_told)
{
    static const struct token_key other = { "shop", "dc", "", 3600, "web-0", "uid-1" };
    _cleanup_(tokens_free_p) struct tokens *t = with_token(3600, NO_JITTER);
    int64_t at = 7;

    assert_false(tokens_refresh_at(t, &other, &at));
    ASSERT_INT(7, at);
    assert_true(tokens_refresh_at(t, &key, &at));
    ASSERT_INT(BORN + 2880 * S, at);
}

TEST(each_account_audience_life_and_pod_has_its_own)
{
    static const struct token_key others[] = {
        { "ship", "db", "", 3600, "web-0", "uid-1" },      { "shop", "dc", "", 3600, "web-0", "uid-1" },
        { "shop", "db", "vault", 3600, "web-0", "uid-1" }, { "shop", "db", "", 601, "web-0", "uid-1" },
        { "shop", "db", "", 3600, "web-1", "uid-1" },      { "shop", "db", "", 3600, "web-0", "uid-2" },
    };
    _cleanup_(tokens_free_p) struct tokens *t = with_token(3600, NO_JITTER);
    struct str token = { 0 };

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ASSERT_INT(TOKEN_NONE, tokens_get(t, &others[i], BORN, &token));
    assert_null(token.s);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ASSERT_OK(tokens_put(t, &others[i], STR_LIT("x"), 600, BORN + 600 * S, 0, &err));
    ASSERT_INT(7, tokens_count(t));
    ASSERT_INT(TOKEN_FRESH, tokens_get(t, &key, BORN, &token));
    assert_true(str_is(token, "eyJ"));
}

TEST(a_new_token_takes_the_place_of_the_old)
{
    _cleanup_(tokens_free_p) struct tokens *t = with_token(3600, NO_JITTER);
    struct str token = { 0 };

    ASSERT_OK(tokens_put(t, &key, STR_LIT("second"), 3600, BORN + 7200 * S, 0, &err));
    ASSERT_INT(1, tokens_count(t));
    ASSERT_INT(TOKEN_FRESH, tokens_get(t, &key, BORN + 3600 * S, &token));
    assert_true(str_is(token, "second"));
}

TEST(a_failed_fetch_falls_back_to_a_token_that_lives)
{
    _cleanup_(tokens_free_p) struct tokens *t = with_token(3600, NO_JITTER);
    struct token_key unknown = key;
    struct error cause = { 0 };
    struct str token = { 0 };

    (void)error_set(&cause, ERR_UNAVAILABLE, "no route to host");
    ASSERT_OK(tokens_fall_back(t, &key, BORN + 3600 * S - 1, &cause, &token, &err));
    assert_true(str_is(token, "eyJ"));

    token = (struct str){ 0 };
    ASSERT_ERR(ERR_UNAVAILABLE, tokens_fall_back(t, &key, BORN + 3600 * S, &cause, &token, &err));
    ASSERT_STR("token \"db\"/\"shop\"/[]/3600/Pod \"web-0\" uid-1 expired and refresh failed: "
               "no route to host",
               err.msg);
    unknown.audience = "vault";
    ASSERT_ERR(ERR_UNAVAILABLE, tokens_fall_back(t, &unknown, BORN, &cause, &token, &err));
    ASSERT_STR("failed to fetch token: no route to host", err.msg);
    assert_null(token.s);
}

TEST(tokens_go_with_their_pod_and_when_they_have_expired)
{
    _cleanup_(tokens_free_p) struct tokens *t = with_token(3600, NO_JITTER);
    struct token_key second = key, other = key;

    second.audience = "vault";
    other.pod_uid = "uid-2";
    ASSERT_OK(tokens_put(t, &second, STR_LIT("b"), 600, BORN + 600 * S, 0, &err));
    ASSERT_OK(tokens_put(t, &other, STR_LIT("c"), 7200, BORN + 7200 * S, 0, &err));
    tokens_drop_expired(t, BORN + 600 * S - 1);
    ASSERT_INT(3, tokens_count(t));
    tokens_drop_expired(t, BORN + 600 * S);
    ASSERT_INT(2, tokens_count(t));
    tokens_drop_pod(t, "uid-1");
    tokens_drop_pod(t, "nobody");
    ASSERT_INT(1, tokens_count(t));
    tokens_drop_expired(t, BORN + 7200 * S);
    ASSERT_INT(0, tokens_count(t));
}

TEST(what_no_server_should_answer_is_refused_and_not_shown)
{
    static const struct {
        const char *token;
        int64_t life_s;
    } rows[] = { { "", 3600 }, { "hush", 0 }, { "hush", -1 }, { "hush", INT64_MAX } };
    _cleanup_(tokens_free_p) struct tokens *t = with_token(3600, NO_JITTER);
    struct str token = { 0 };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ASSERT_ERR(ERR_INVALID, tokens_put(t, &key, str_of(rows[i].token), rows[i].life_s, BORN, 0, &err));
        ASSERT_STR("server returned an unusable token for service account 'shop/db'", err.msg);
    }
    ASSERT_INT(TOKEN_FRESH, tokens_get(t, &key, BORN, &token)); /* the old one stays */
    assert_true(str_is(token, "eyJ"));
}

TEST_MAIN()
