/* The JSON writer: commas, keys, values, and that what it writes parses. */
#include "tests/unit/test.h"

#include "api/json.h"
#include "api/json_out.h"
#include "base/cleanup.h"

static struct error err;

TEST(commas_are_placed_by_what_stands_before)
{
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(4096);
    struct quantity q;

    ASSERT_OK(quantity_parse(STR_LIT("10Gi"), &q, &err));
    json_out_object(&b, NULL);
    json_out_object(&b, "empty");
    json_out_end_object(&b);
    json_out_array(&b, "list");
    json_out_text(&b, NULL, "a");
    json_out_int(&b, NULL, -5);
    json_out_bool(&b, NULL, true);
    json_out_null(&b, NULL);
    json_out_array(&b, NULL);
    json_out_end_array(&b);
    json_out_object(&b, NULL);
    json_out_end_object(&b);
    json_out_end_array(&b);
    json_out_text(&b, "text", "ends with [");
    json_out_text(&b, "none", NULL);
    json_out_str(&b, "part", (struct str){ "abcdef", 3 });
    json_out_textf(&b, "made", "%s-%d", "x\"", 7);
    json_out_bool(&b, "no", false);
    json_out_time(&b, "at", (struct timestamp){ 0, 5000 });
    json_out_time_micro(&b, "exactly", (struct timestamp){ 0, 5000 });
    json_out_quantity(&b, "size", &q);
    json_out_raw(&b, "raw", STR_LIT("{\"x\":[1]}"));
    json_out_key(&b, "later");
    buf_add_cstr(&b, "17");
    json_out_key_str(&b, (struct str){ "keys", 3 });
    json_out_object(&b, NULL);
    json_out_end_object(&b);
    json_out_end_object(&b);
    ASSERT_STR(
        "{\"empty\":{},\"list\":[\"a\",-5,true,null,[],{}],\"text\":\"ends with [\",\"none\":null,"
        "\"part\":\"abc\",\"made\":\"x\\\"-7\",\"no\":false,\"at\":\"1970-01-01T00:00:00Z\","
        "\"exactly\":\"1970-01-01T00:00:00.000005Z\",\"size\":\"10Gi\",\"raw\":{\"x\":[1]},\"later\":17,"
        "\"key\":{}}",
        buf_cstr(&b));
}

TEST(documents_follow_one_another_on_lines)
{
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(4096);

    for (int i = 0; i < 2; i++) {
        json_out_object(&b, NULL);
        json_out_int(&b, "n", i);
        json_out_end_object(&b);
        buf_add_char(&b, '\n');
    }
    ASSERT_STR("{\"n\":0}\n{\"n\":1}\n", buf_cstr(&b));
}

/* Whatever a text ends with, the next member is separated from it, and the texts come back. */
TEST(every_text_reads_back)
{
    for (unsigned c = 1; c < 256; c++) {
        _cleanup_(buf_done_p) struct buf b = BUF_INIT(4096);
        _cleanup_(json_done_p) struct json d;
        const char text[] = { 'a', (char)c, '\0' };
        json_ref root;

        json_init(&d, 4096);
        json_out_object(&b, NULL);
        json_out_text(&b, text, text);
        json_out_text(&b, "next", text);
        json_out_end_object(&b);
        ASSERT_OK(json_parse(&d, buf_str(&b), &root, &err));
        ASSERT_INT(2, (int)json_count(&d, root));
        if (c < 128)
            assert_true(str_is(json_get_text(&d, root, "next"), text));
    }
}

TEST(long_formatted_texts_are_whole)
{
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(8192);
    char long_text[2000];

    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    json_out_textf(&b, NULL, "%s", long_text);
    ASSERT_INT((int)sizeof long_text + 1, (int)b.len);
}

TEST(failures_stick)
{
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(8);

    json_out_object(&b, NULL);
    json_out_text(&b, "key", "value");
    json_out_end_object(&b);
    ASSERT_INT(ERR_TOO_LARGE, b.failed);
}

TEST_MAIN()
