/* json.h on any bytes, with jansson as a second opinion.
 *
 * Both take a text or both refuse it, and what they take is the same tree, but for the differences that are
 * known: jansson refuses halves of surrogate pairs, NUL in keys, integers past 64 bits and nesting past 2048;
 * we refuse numbers of more than JSON_NUMBER_BYTES_MAX digits. What is written parses again into an equal
 * tree, and writing that gives the same bytes. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

/* Both libraries have these names; jansson's are others while its header is read. */
#define json_type jansson_type
#define json_copy jansson_copy
#define json_equal jansson_equal
#define JSON_OBJECT JANSSON_OBJECT
#define JSON_ARRAY JANSSON_ARRAY
#define JSON_STRING JANSSON_STRING
#define JSON_TRUE JANSSON_TRUE
#define JSON_FALSE JANSSON_FALSE
#define JSON_NULL JANSSON_NULL
#include <jansson.h>
#undef json_type
#undef json_copy
#undef json_equal
#undef json_is_string
#undef JSON_OBJECT
#undef JSON_ARRAY
#undef JSON_STRING
#undef JSON_TRUE
#undef JSON_FALSE
#undef JSON_NULL

#include "api/json.h"

#define BYTES_MAX ((size_t)1 << 20)

static void check_same(const struct json *d, json_ref v, const json_t *other);

static void check_same_number(const struct json *d, json_ref v, const json_t *other)
{
    char text[JSON_NUMBER_BYTES_MAX + 1];
    struct str digits = json_text(d, v);
    int64_t value;

    if (json_typeof(other) == JSON_INTEGER) {
        FUZZ_CHECK(json_int64(d, v, &value));
        FUZZ_CHECK(value == json_integer_value(other));
        return;
    }
    FUZZ_CHECK(json_typeof(other) == JSON_REAL);
    FUZZ_CHECK(digits.len < sizeof text);
    memcpy(text, digits.s, digits.len);
    text[digits.len] = '\0';
    FUZZ_CHECK(!(strtod(text, NULL) < json_real_value(other)));
    FUZZ_CHECK(!(strtod(text, NULL) > json_real_value(other)));
}

static void check_same_object(const struct json *d, json_ref v, const json_t *other)
{
    FUZZ_CHECK(json_typeof(other) == JANSSON_OBJECT);
    FUZZ_CHECK(json_count(d, v) == json_object_size(other));
    for (json_ref m = json_first(d, v); m; m = json_next(d, m)) {
        struct str key = json_key(d, m);
        const json_t *twin = json_object_getn(other, key.s, key.len);
        FUZZ_CHECK(json_parent(d, m) == v);
        FUZZ_CHECK(json_get_key(d, v, key) == m);
        FUZZ_CHECK(twin);
        check_same(d, m, twin);
    }
}

static void check_same_array(const struct json *d, json_ref v, const json_t *other)
{
    uint32_t index = 0;

    FUZZ_CHECK(json_typeof(other) == JANSSON_ARRAY);
    FUZZ_CHECK(json_count(d, v) == json_array_size(other));
    for (json_ref item = json_first(d, v); item; item = json_next(d, item)) {
        FUZZ_CHECK(json_parent(d, item) == v);
        check_same(d, item, json_array_get(other, index++));
    }
}

static void check_same(const struct json *d, json_ref v, const json_t *other)
{
    switch (json_type(d, v)) {
    case JSON_NULL:
        FUZZ_CHECK(json_typeof(other) == JANSSON_NULL);
        break;
    case JSON_FALSE:
        FUZZ_CHECK(json_typeof(other) == JANSSON_FALSE);
        break;
    case JSON_TRUE:
        FUZZ_CHECK(json_typeof(other) == JANSSON_TRUE);
        break;
    case JSON_NUMBER:
        check_same_number(d, v, other);
        break;
    case JSON_STRING:
        FUZZ_CHECK(json_typeof(other) == JANSSON_STRING);
        FUZZ_CHECK(
            str_eq(json_text(d, v), (struct str){ json_string_value(other), json_string_length(other) }));
        break;
    case JSON_ARRAY:
        check_same_array(d, v, other);
        break;
    case JSON_OBJECT:
        check_same_object(d, v, other);
        break;
    case JSON_NONE:
        FUZZ_CHECK(!"a value of no type");
    }
}

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
