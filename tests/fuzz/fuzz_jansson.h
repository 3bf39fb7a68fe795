/* jansson as a second opinion on JSON: its header next to json.h, and the comparison of both trees. */
#ifndef BERTH_TESTS_FUZZ_JANSSON_H
#define BERTH_TESTS_FUZZ_JANSSON_H

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

/* Aborts unless both are the same tree; the order of members does not count. */
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

#endif
