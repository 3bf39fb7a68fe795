/* json.h on any bytes, with jansson as a second opinion.
 *
 * Both take a text or both refuse it, and what they take is the same tree, but for the differences that are
 * known: jansson refuses halves of surrogate pairs, NUL in keys, integers past 64 bits and nesting past 2048;
 * we refuse numbers of more than JSON_NUMBER_BYTES_MAX digits. What is written parses again into an equal
 * tree, and writing that gives the same bytes. */
#include "tests/fuzz/fuzz_jansson.h"

#define BYTES_MAX ((size_t)1 << 20)

/* True when the text has an escape of a surrogate, paired or not. */
static bool has_surrogate_escape(struct str s)
{
    for (size_t i = 0; i + 3 < s.len; i++)
        if (s.s[i] == '\\' && s.s[i + 1] == 'u' && (s.s[i + 2] | 0x20) == 'd' && s.s[i + 3] >= '8')
            return true;
    return false;
}

static void check_refusals(struct str text, int r, const struct error *err, const json_t *other,
                           const json_error_t *why)
{
    if (r == 0 && !other) {
        enum json_error_code code = json_error_code(why);
        FUZZ_CHECK(code == json_error_stack_overflow || code == json_error_numeric_overflow ||
                   code == json_error_null_byte_in_key || has_surrogate_escape(text));
    }
    if (r < 0 && other) /* jansson passes over a NUL byte behind a number */
        FUZZ_CHECK(strstr(err->msg, "number out of range") || memchr(text.s, '\0', text.len));
}

static void check_stable(struct json *d, json_ref v)
{
    struct buf once = BUF_INIT(8 * BYTES_MAX), twice = BUF_INIT(8 * BYTES_MAX),
               pretty = BUF_INIT(64 * BYTES_MAX);
    struct error err;
    json_ref again, copy;

    json_write(d, v, &once);
    json_write_pretty(d, v, &pretty);
    FUZZ_CHECK(!once.failed);
    FUZZ_CHECK(json_parse(d, buf_str(&once), &again, &err) == 0);
    FUZZ_CHECK(json_equal(d, v, again));
    json_write(d, again, &twice);
    FUZZ_CHECK(str_eq(buf_str(&once), buf_str(&twice)));
    copy = json_copy(d, v);
    FUZZ_CHECK(json_equal(d, copy, again));
    if (!pretty.failed && pretty.len < BYTES_MAX) {
        FUZZ_CHECK(json_parse(d, buf_str(&pretty), &again, &err) == 0);
        FUZZ_CHECK(json_equal(d, v, again));
    }
    FUZZ_CHECK(json_check(d, &err) == 0);
    buf_done(&once);
    buf_done(&twice);
    buf_done(&pretty);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = { (const char *)data, size };
    struct json d;
    struct error err;
    json_error_t why;
    json_ref v = 0;
    json_t *other = json_loadb(size ? text.s : "", size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);
    int r;

    json_init(&d, BYTES_MAX);
    r = json_parse(&d, text, &v, &err);
    FUZZ_CHECK(r == 0 || v == 0);
    check_refusals(text, r, &err, other, &why);
    if (r == 0 && other)
        check_same(&d, v, other);
    if (r == 0)
        check_stable(&d, v);
    json_decref(other);
    json_done(&d);
    return 0;
}
