/* For the tests of protobuf bodies: messages written as text, trees out.
 *
 * A message is a list of fields, NUMBER and value:
 *     1'text'      the bytes of the text
 *     2{1'a' 2#5}  a message
 *     3#-5         a varint
 *     4%4 5%8      four (eight) bytes, all 0
 *     6~00ff~      bytes in hexadecimal
 *     7( … 7)      a group */
#ifndef BERTH_TESTS_TEST_PROTOBUF_H
#define BERTH_TESTS_TEST_PROTOBUF_H

#include "tests/unit/test_kind.h"

#include "api/protobuf.h"

#define BYTES_MAX ((size_t)1 << 20)

static void proto_varint(struct buf *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        buf_add_char(out, (char)((value & 0x7F) | 0x80));
    buf_add_char(out, (char)value);
}

static void proto_bytes(struct buf *out, uint64_t number, struct str bytes)
{
    proto_varint(out, number << 3 | 2);
    proto_varint(out, bytes.len);
    buf_add_str(out, bytes);
}

static inline void proto_hex(struct buf *out, struct str hex)
{
    char digits[3] = { 0 };

    assert_int_equal(hex.len % 2, 0);
    for (size_t i = 0; i < hex.len; i += 2) {
        memcpy(digits, hex.s + i, 2);
        buf_add_char(out, (char)strtoul(digits, NULL, 16));
    }
}

/* What stands between the mark at *at and its twin; *at moves behind that. */
static inline struct str proto_between(const char **at)
{
    const char *start = *at + 1, *end = strchr(start, **at);

    assert_non_null(end);
    *at = end + 1;
    return (struct str){ start, (size_t)(end - start) };
}

static inline void proto_message(const char **at, struct buf *out);

static inline void proto_value(const char **at, uint64_t number, struct buf *out)
{
    _cleanup_(buf_done_p) struct buf inner = BUF_INIT(BYTES_MAX * 8);
    char *end;

    switch (**at) {
    case '\'':
        proto_bytes(out, number, proto_between(at));
        break;
    case '~':
        proto_hex(&inner, proto_between(at));
        proto_bytes(out, number, buf_str(&inner));
        break;
    case '{':
        (*at)++;
        proto_message(at, &inner);
        assert_int_equal(*(*at)++, '}');
        proto_bytes(out, number, buf_str(&inner));
        break;
    case '#':
        proto_varint(out, number << 3);
        proto_varint(out, (uint64_t)strtoll(*at + 1, &end, 10));
        *at = end;
        break;
    case '%':
        proto_varint(out, number << 3 | ((*at)[1] == '8' ? 1 : 5));
        buf_add(out, "\0\0\0\0\0\0\0\0", (*at)[1] == '8' ? 8 : 4);
        *at += 2;
        break;
    case '(':
    case ')':
        proto_varint(out, number << 3 | (**at == '(' ? 3 : 4));
        (*at)++;
        break;
    default:
        fail_msg("no value at '%s'", *at);
    }
}

static inline void proto_message(const char **at, struct buf *out)
{
    char *end;

    for (*at += strspn(*at, " "); **at && **at != '}'; *at += strspn(*at, " ")) {
        uint64_t number = strtoull(*at, &end, 10);
        assert_ptr_not_equal(end, *at);
        *at = end;
        proto_value(at, number, out);
    }
}

/* The body of a kind's message. */
static void proto_body(const char *api_version, const char *kind, struct str raw, struct buf *out)
{
    _cleanup_(buf_done_p) struct buf type = BUF_INIT(4096);

    proto_bytes(&type, 1, str_of(api_version));
    proto_bytes(&type, 2, str_of(kind));
    buf_add(out, "k8s", 4);
    proto_bytes(out, 1, buf_str(&type));
    proto_bytes(out, 2, raw);
    proto_bytes(out, 3, STR_LIT(""));
    proto_bytes(out, 4, STR_LIT(""));
}

static inline void proto_body_text(const char *api_version, const char *kind, const char *message,
                                   struct buf *out)
{
    _cleanup_(buf_done_p) struct buf raw = BUF_INIT(BYTES_MAX * 8);

    proto_message(&message, &raw);
    assert_int_equal(*message, '\0');
    proto_body(api_version, kind, buf_str(&raw), out);
}

/* Decodes into d, which is cleared first. Every byte before and behind the body is the sanitizer's. */
static int proto_decode(struct json *d, struct str body, json_ref *ret)
{
    _cleanup_(freep) char *copy = malloc(body.len ? body.len : 1);
    struct protobuf_body b;
    const struct schema *s;
    int r;

    assert_non_null(copy);
    memcpy(copy, body.s, body.len);
    json_clear(d);
    r = protobuf_open((struct str){ copy, body.len }, &b, &err);
    if (r < 0)
        return r;
    s = protobuf_schema(b.api_version, b.kind);
    if (!s)
        return error_set(&err, ERR_NOT_FOUND, "no such kind");
    r = protobuf_decode(d, s, &b, ret, &err);
    if (r == 0) {
        assert_true(str_eq(b.api_version, json_get_text(d, *ret, "apiVersion")));
        assert_true(str_eq(b.kind, json_get_text(d, *ret, "kind")));
    }
    return r;
}

/* The tree's text, or the error's. Lives until the next call. */
static inline const char *proto_text(const char *api_version, const char *kind, const char *message)
{
    static struct buf out = { .len_max = 16 << 20 };
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(BYTES_MAX * 8);
    _cleanup_(json_done_p) struct json d;
    json_ref v;

    json_init(&d, BYTES_MAX);
    buf_clear(&out);
    proto_body_text(api_version, kind, message, &body);
    if (proto_decode(&d, buf_str(&body), &v) < 0)
        buf_addf(&out, "%s: %s", error_name(err.code), err.msg);
    else
        json_write(&d, v, &out);
    return buf_cstr(&out);
}

#endif
