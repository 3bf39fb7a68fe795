/* Base64: RFC 4648's vectors, and the offsets that Go's decoder names. */
#include "tests/unit/test.h"

#include "api/base64.h"
#include "base/cleanup.h"

static struct error err;

TEST(vectors)
{
    static const char *const rows[][2] = {
        { "", "" },
        { "f", "Zg==" },
        { "fo", "Zm8=" },
        { "foo", "Zm9v" },
        { "foob", "Zm9vYg==" },
        { "fooba", "Zm9vYmE=" },
        { "foobar", "Zm9vYmFy" },
        { "\xFB\xFF\xBE", "+/++" },
        { "\xFF\xFF", "//8=" },
    };
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(64);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        buf_clear(&out);
        base64_encode(str_of(rows[i][0]), &out);
        ASSERT_STR(rows[i][1], buf_cstr(&out));
        buf_clear(&out);
        ASSERT_OK(base64_decode(str_of(rows[i][1]), &out, &err));
        ASSERT_STR(rows[i][0], buf_cstr(&out));
    }
}

TEST(line_ends_are_passed_over)
{
    static const char *const rows[][2] = {
        { "\n", "" },      { "\r\nZm9v\r\n", "foo" }, { "Zm9v\nYmFy\n", "foobar" }, { "Z\nm\r9\n\nv", "foo" },
        { "Zg\n==", "f" }, { "Zg=\n=\n", "f" },       { "Zm8\r\n=\r\n", "fo" },
    };
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(64);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        buf_clear(&out);
        ASSERT_OK(base64_decode(str_of(rows[i][0]), &out, &err));
        ASSERT_STR(rows[i][1], buf_cstr(&out));
    }
}

TEST(unused_bits_do_not_matter)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(64);

    ASSERT_OK(base64_decode(STR_LIT("Zh=="), &out, &err));
    ASSERT_OK(base64_decode(STR_LIT("Zm9="), &out, &err));
    ASSERT_STR("ffo", buf_cstr(&out));
}

TEST(wrong_text_is_refused_at_its_offset)
{
    static const struct {
        const char *text;
        unsigned offset;
    } rows[] = {
        { "!!!!", 0 },     { "====", 0 },    { "x===", 1 },   { "=AAA", 0 },      { "A=AA", 1 },
        { "AA=A", 2 },  /* the padding that is not completed */
        { "AA==A", 4 }, /* something behind it */
        { "AAA=AAAA", 4 }, { "AAAA=", 4 },   { "AAA==", 4 },  { "AA===", 4 },     { "AAAAA=", 5 },
        { "AAAA====", 4 }, { "A!==", 1 },    { "AA\nA!", 4 }, { "Zm9v Zm9v", 4 }, { "Zm9v-_", 4 },
        { "A", 0 }, /* cut short: where the group starts */
        { "AA", 0 },       { "AAA", 0 },     { "AAAAA", 4 },  { "AAAAAA", 4 },    { "AA=", 3 },
        { "AA=\n", 4 },    { "AAAAAA=", 7 }, { "A\nA", 1 }, /* line ends shift it, in Go too */
    };
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(64);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char expected[64];
        (void)snprintf(expected, sizeof expected, "illegal base64 data at input byte %u", rows[i].offset);
        ASSERT_ERR(ERR_BAD_REQUEST, base64_decode(str_of(rows[i].text), &out, &err));
        if (strcmp(expected, err.msg) != 0)
            fail_msg("\"%s\": %s, expected %s", rows[i].text, err.msg, expected);
        ASSERT_INT(0, out.len);
    }
}

TEST(failure_leaves_the_buffer_as_it_was)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(8);

    buf_add_cstr(&out, "kept");
    ASSERT_ERR(ERR_BAD_REQUEST, base64_decode(STR_LIT("Zm9vYmFy!"), &out, &err));
    ASSERT_STR("kept", buf_cstr(&out));
    ASSERT_ERR(ERR_TOO_LARGE, base64_decode(STR_LIT("Zm9vYmFy"), &out, &err));
    ASSERT_STR("base64 data is larger than 8 bytes", err.msg);
}

TEST(all_bytes_survive)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(4096), back = BUF_INIT(4096);
    char bytes[1024];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7 + i / 256);
    for (size_t len = 0; len < sizeof bytes; len += 1 + len / 16) {
        buf_clear(&text);
        buf_clear(&back);
        base64_encode((struct str){ bytes, len }, &text);
        ASSERT_INT((len + 2) / 3 * 4, text.len);
        ASSERT_OK(base64_decode(buf_str(&text), &back, &err));
        ASSERT_INT(len, back.len);
        if (len)
            assert_memory_equal(bytes, back.data, len);
    }
}

TEST(the_form_for_urls)
{
    static const char *const rows[][2] = {
        { "", "" },
        { "f", "Zg" },
        { "fo", "Zm8" },
        { "foo", "Zm9v" },
        { "foob", "Zm9vYg" },
        { "\xFB\xFF\xBE", "-_--" },
        { "\xFF\xFF", "__8" },
    };
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(64);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        buf_clear(&out);
        base64url_encode(str_of(rows[i][0]), &out);
        ASSERT_STR(rows[i][1], buf_cstr(&out));
        buf_clear(&out);
        ASSERT_OK(base64url_decode(str_of(rows[i][1]), &out, &err));
        ASSERT_STR(rows[i][0], buf_cstr(&out));
    }
}

TEST(the_form_for_urls_appends)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(64);

    buf_add_cstr(&out, "a+/=");
    base64url_encode(STR_LIT(""), &out);
    base64url_encode(STR_LIT("\xFF"), &out);
    ASSERT_STR("a+/=_w", buf_cstr(&out));
}

TEST(the_form_for_urls_knows_no_padding)
{
    static const char *const rows[] = { "Zg==", "Zm8=", "Z", "Zm9vY", "+/++", "Zm9v\n", "Zm 9v", "=" };
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(64);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ASSERT_ERR(ERR_BAD_REQUEST, base64url_decode(str_of(rows[i]), &out, &err));
        ASSERT_INT(0, out.len);
    }
}

TEST_MAIN()
