/* Resource lists. */
#include "tests/unit/test.h"

#include "api/resources.h"
#include "base/cleanup.h"

static struct error err;
static struct json d;

static json_ref list(const char *text)
{
    json_ref v = 0;

    ASSERT_OK(json_parse(&d, str_of(text), &v, &err));
    return v;
}

TEST(resources_storage_of_a_list)
{
    struct quantity q = quantity_of(7, QUANTITY_DECIMAL_SI);

    json_init(&d, 1 << 20);
    assert_false(resources_storage(&d, 0, &q));
    assert_false(resources_storage(&d, list("{\"cpu\":\"1\"}"), &q));
    ASSERT_INT(7, quantity_value(&q));
    assert_true(resources_storage(&d, list("{\"cpu\":\"1\",\"storage\":\"2Ki\"}"), &q));
    ASSERT_INT(2048, quantity_value(&q));
    json_done(&d);
}

TEST(resources_are_equal_by_amount)
{
    static const struct {
        const char *a, *b, *but;
        bool equal;
    } rows[] = {
        { "{}", "{}", NULL, true },
        { "{\"storage\":\"1\"}", "{\"storage\":\"1000m\"}", NULL, true },
        { "{\"storage\":\"1\"}", "{\"storage\":\"2\"}", NULL, false },
        { "{\"storage\":\"1\"}", "{\"storage\":\"2\"}", "storage", true },
        { "{\"storage\":\"1\"}", "{}", "storage", true },
        { "{}", "{\"storage\":\"1\"}", NULL, false },
        { "{\"a\":\"1\",\"storage\":\"1\",\"z\":\"1\"}", "{\"a\":\"1\",\"z\":\"1\"}", "storage", true },
        { "{\"a\":\"1\",\"storage\":\"1\",\"z\":\"1\"}", "{\"a\":\"1\",\"storage\":\"1\",\"z\":\"2\"}",
          "storage", false },
        { "{\"a\":\"1\"}", "{\"b\":\"1\"}", NULL, false },
        { "{\"a\":\"1\"}", "{\"a\":\"1\",\"b\":\"1\"}", "storage", false },
    };
    json_init(&d, 1 << 20);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (resources_equal(&d, list(rows[i].a), list(rows[i].b), rows[i].but) != rows[i].equal)
            fail_msg("%s and %s but %s", rows[i].a, rows[i].b, rows[i].but ? rows[i].but : "none");
    assert_true(resources_equal(&d, 0, list("{}"), NULL));
    json_done(&d);
}

TEST(resources_round_up_once)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        { "1Gi", "1Gi" }, { "1500m", "1500m" }, { "1u", "1m" }, { "2000001u", "2001m" }, { "0", "0" },
    };
    json_init(&d, 1 << 20);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        json_ref v = json_new_object(&d);
        json_set_string(&d, v, "storage", rows[i].in);
        default_resources(&d, v);
        assert_true(str_is(json_get_text(&d, v, "storage"), rows[i].out));
        default_resources(&d, v);
        assert_true(str_is(json_get_text(&d, v, "storage"), rows[i].out));
    }
    default_resources(&d, 0);
    ASSERT_OK(json_check(&d, &err));
    json_done(&d);
}

TEST(resources_round_up_every_amount_in_its_place)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(1000);
    json_ref v;

    json_init(&d, 1 << 20);
    v = list("{\"cpu\":\"100u\",\"memory\":\"1Gi\",\"storage\":\"1n\"}");
    default_resources(&d, v);
    json_write(&d, v, &out);
    ASSERT_STR("{\"cpu\":\"1m\",\"memory\":\"1Gi\",\"storage\":\"1m\"}", buf_cstr(&out));
    json_done(&d);
}

TEST_MAIN()
