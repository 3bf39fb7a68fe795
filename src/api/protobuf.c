/* The walk over a message, led by the kind's schema. The wire is read in protobuf_wire.c.
 *
 * Recursion follows the schemas, in which no struct contains itself: bodies cannot make it deeper. */
#include "api/protobuf.h"

#include <assert.h>
#include <string.h>

#include "api/base64.h"
#include "api/json_int.h"
#include "api/kind.h"
#include "api/protobuf_int.h"
#include "api/request_kind.h"
#include "api/times.h"
#include "base/civil.h"
#include "base/cleanup.h"
#include "base/vec.h"

#define NANOS_PER_SECOND 1000000000

static const char magic[] = { 'k', '8', 's', '\0' };

/* --- Values --- */

struct proto_decoder {
    struct json *d;
    struct error *err;
    struct buf text;    /* of one value at a time */
    VEC(json_ref) maps; /* every map made: their keys are told apart at the end, once */
};

/* What is being read, for errors: "ObjectMeta.name". */
struct proto_place {
    const struct schema *schema;
    const struct field *field;
};

static int proto_refuse(struct proto_decoder *dec, struct proto_place at, const char *why)
{
    return error_set(dec->err, ERR_BAD_REQUEST, "proto: %s.%s: %s", at.schema->go_name, at.field->name, why);
}

static int expect_type(struct proto_decoder *dec, struct proto_place at, const struct wire_value *v,
                       enum wire_type type)
{
    if (v->type == type)
        return 0;
    return error_set(dec->err, ERR_BAD_REQUEST, "proto: wrong wireType = %d for field %s.%s", (int)v->type,
                     at.schema->go_name, at.field->name);
}

static int check_utf8(struct proto_decoder *dec, struct proto_place at, struct str text)
{
    return str_is_utf8(text) ? 0 : proto_refuse(dec, at, "not valid UTF-8");
}

/* The fields of a message whose values are texts: key and value, or the text of a quantity. Others are passed
 * over; what is not there stays as it was. */
static int read_texts(struct proto_decoder *dec, struct proto_place at, struct str message, struct str *texts,
                      uint32_t count)
{
    struct protobuf_wire w = { message, dec->err };
    struct wire_value v;
    int r;

    while ((r = wire_next(&w, &v)) > 0) {
        if (v.number > count)
            continue;
        r = expect_type(dec, at, &v, WIRE_BYTES);
        if (r < 0)
            return r;
        texts[v.number - 1] = v.bytes;
    }
    return r;
}

/* The two numbers of a time. */
static int read_timestamp(struct proto_decoder *dec, struct proto_place at, struct str message,
                          struct timestamp *ret)
{
    uint64_t parts[2] = { 0, 0 };
    struct protobuf_wire w = { message, dec->err };
    struct wire_value v;
    int64_t seconds, nanos;
    int r;

    while ((r = wire_next(&w, &v)) > 0) {
        if (v.number > ARRAY_LEN(parts))
            continue;
        r = expect_type(dec, at, &v, WIRE_VARINT);
        if (r < 0)
            return r;
        parts[v.number - 1] = v.varint;
    }
    if (r < 0)
        return r;
    seconds = (int64_t)parts[0];
    nanos = (int32_t)(uint32_t)parts[1];
    /* Nanoseconds past a second, or before it, move the second. Away from the ends, so that it can. */
    if (seconds <= CIVIL_UNIX_MIN + 4 || seconds >= CIVIL_UNIX_MAX - 4)
        return proto_refuse(dec, at, "the time is out of range");
    seconds += nanos / NANOS_PER_SECOND - (nanos % NANOS_PER_SECOND < 0);
    nanos = nanos % NANOS_PER_SECOND + (nanos % NANOS_PER_SECOND < 0 ? NANOS_PER_SECOND : 0);
    *ret = (struct timestamp){ seconds, (int32_t)nanos };
    return 0;
}

static json_ref new_scratch_string(struct proto_decoder *dec)
{
    if (dec->text.failed && !dec->d->failed)
        dec->d->failed = dec->text.failed;
    return json_new_string(dec->d, buf_str(&dec->text));
}

/* A time that is not set is no value: *ret is 0. */
static int proto_decode_time(struct proto_decoder *dec, struct proto_place at, bool is_micro,
                             struct str message, json_ref *ret)
{
    struct timestamp t;
    int r = read_timestamp(dec, at, message, &t);

    if (r < 0)
        return r;
    *ret = 0;
    if (timestamp_is_zero(t))
        return 0;
    buf_clear(&dec->text);
    (void)(is_micro ? timestamp_format_micro(t, &dec->text) : timestamp_format(t, &dec->text));
    *ret = new_scratch_string(dec);
    return 0;
}

static int proto_decode_quantity(struct proto_decoder *dec, struct proto_place at, struct str message,
                                 json_ref *ret)
{
    struct str text = STR_LIT("0");
    int r = read_texts(dec, at, message, &text, 1);

    if (r == 0)
        r = check_utf8(dec, at, text);
    if (r == 0)
        *ret = json_new_string(dec->d, text);
    return r;
}

/* JSON inside of protobuf: the sets of managed fields. */
static int decode_raw_json(struct proto_decoder *dec, struct proto_place at, struct str message,
                           json_ref *ret)
{
    struct str text = STR_LIT("");
    int r = read_texts(dec, at, message, &text, 1);

    if (r < 0)
        return r;
    *ret = 0;
    if (text.len == 0)
        return 0;
    r = json_parse(dec->d, text, ret, dec->err);
    return r < 0 ? error_wrap(dec->err, "proto: %s.%s", at.schema->go_name, at.field->name) : 0;
}

static int decode_string(struct proto_decoder *dec, struct proto_place at, struct str text, json_ref *ret)
{
    int r = check_utf8(dec, at, text);

    if (r == 0)
        *ret = json_new_string(dec->d, text);
    return r;
}

/* A number or a text, and which of the two it is. */
static int decode_int_or_string(struct proto_decoder *dec, struct proto_place at, struct str message,
                                json_ref *ret)
{
    uint64_t is_text = 0, number = 0;
    struct str text = STR_LIT("");
    struct protobuf_wire w = { message, dec->err };
    struct wire_value v;
    int r;

    while ((r = wire_next(&w, &v)) > 0) {
        if (v.number > 3)
            continue;
        r = expect_type(dec, at, &v, v.number == 3 ? WIRE_BYTES : WIRE_VARINT);
        if (r < 0)
            return r;
        if (v.number == 1)
            is_text = v.varint;
        else if (v.number == 2)
            number = v.varint;
        else
            text = v.bytes;
    }
    if (r < 0)
        return r;
    if (is_text > 1)
        return proto_refuse(dec, at, "neither a number nor a string");
    if (is_text)
        return decode_string(dec, at, text, ret);
    *ret = json_new_int(dec->d, (int32_t)(uint32_t)number);
    return 0;
}

static int proto_decode_texts(struct proto_decoder *dec, struct proto_place at, struct str message,
                              json_ref *ret)
{
    struct protobuf_wire w = { message, dec->err };
    struct wire_value v;
    int r;

    *ret = json_new_array(dec->d);
    while ((r = wire_next(&w, &v)) > 0) {
        json_ref item = 0;

        if (v.number != 1)
            continue;
        r = expect_type(dec, at, &v, WIRE_BYTES);
        if (r == 0)
            r = decode_string(dec, at, v.bytes, &item);
        if (r < 0)
            return r;
        json_append(dec->d, *ret, item);
    }
    return r < 0 ? r : json_check(dec->d, dec->err);
}

static bool is_number(enum field_type type)
{
    return type == FIELD_BOOL || type == FIELD_INT32 || type == FIELD_INT64;
}

/* A value that is neither an object nor a container. *ret stays 0 for one that means "not set", whatever the
 * field. */
static int decode_scalar(struct proto_decoder *dec, struct proto_place at, enum field_type type,
                         const struct wire_value *v, json_ref *ret)
{
    int r = expect_type(dec, at, v, is_number(type) ? WIRE_VARINT : WIRE_BYTES);

    if (r < 0)
        return r;
    switch (type) {
    case FIELD_BOOL:
        *ret = json_new_bool(dec->d, v->varint != 0);
        return 0;
    case FIELD_INT32: /* too large a number is cut, as protobuf has it */
        *ret = json_new_int(dec->d, (int32_t)(uint32_t)v->varint);
        return 0;
    case FIELD_INT64:
        *ret = json_new_int(dec->d, (int64_t)v->varint);
        return 0;
    case FIELD_STRING:
        return decode_string(dec, at, v->bytes, ret);
    case FIELD_BYTES:
        buf_clear(&dec->text);
        base64_encode(v->bytes, &dec->text);
        *ret = new_scratch_string(dec);
        return 0;
    case FIELD_QUANTITY:
        return proto_decode_quantity(dec, at, v->bytes, ret);
    case FIELD_TIME:
    case FIELD_MICRO_TIME:
        return proto_decode_time(dec, at, type == FIELD_MICRO_TIME, v->bytes, ret);
    case FIELD_ANY:
        return decode_raw_json(dec, at, v->bytes, ret);
    case FIELD_INT_OR_STRING:
        return decode_int_or_string(dec, at, v->bytes, ret);
    case FIELD_LIST: /* inside a map: of texts */
        return proto_decode_texts(dec, at, v->bytes, ret);
    case FIELD_OBJECT:
    case FIELD_MAP:
    case FIELD_TYPE_COUNT:
        assert(!"no single value");
    }
    return 0;
}

/* --- Messages --- */

static int decode_message(struct proto_decoder *dec, const struct schema *s, unsigned within,
                          struct str message, json_ref object);

/* The member, made first where there is none. 0 when the document has failed. */
static json_ref ensure_member(struct proto_decoder *dec, json_ref object, const struct field *f)
{
    json_ref v = json_get(dec->d, object, f->name);

    if (v)
        return v;
    v = f->type == FIELD_LIST ? json_new_array(dec->d) : json_new_object(dec->d);
    json_set(dec->d, object, f->name, v);
    if (f->type == FIELD_MAP && v && vec_push(&dec->maps, v) < 0)
        dec->d->failed = ERR_NO_MEMORY;
    return dec->d->failed ? 0 : v;
}

/* True for what a plain field holds when nobody has set it. */
static bool is_unset(enum field_type type, const struct wire_value *v)
{
    if (type == FIELD_BOOL || type == FIELD_INT64)
        return v->varint == 0;
    if (type == FIELD_INT32)
        return (uint32_t)v->varint == 0;
    return (type == FIELD_STRING || type == FIELD_BYTES) && v->bytes.len == 0;
}

static int decode_plain(struct proto_decoder *dec, struct proto_place at, const struct wire_value *v,
                        json_ref object)
{
    const struct field *f = at.field;
    json_ref value = 0;
    int r = decode_scalar(dec, at, f->type, v, &value);

    if (r < 0)
        return r;
    if (!value || (!(f->flags & FIELD_POINTER) && is_unset(f->type, v)))
        (void)json_remove(dec->d, object, f->name); /* an earlier value is overridden, too */
    else
        json_set(dec->d, object, f->name, value);
    return json_check(dec->d, dec->err);
}

/* Several numbers in one field. */
static int decode_packed(struct proto_decoder *dec, struct proto_place at, struct str packed, json_ref list)
{
    struct protobuf_wire w = { packed, dec->err };
    struct wire_value v = { .type = WIRE_VARINT };

    while (w.rest.len) {
        json_ref item = 0;
        int r = wire_varint(&w, &v.varint);

        if (r == 0)
            r = decode_scalar(dec, at, at.field->item, &v, &item);
        if (r < 0)
            return r;
        json_append(dec->d, list, item);
    }
    return json_check(dec->d, dec->err);
}

static int decode_item(struct proto_decoder *dec, struct proto_place at, const struct wire_value *v,
                       json_ref object)
{
    json_ref list = ensure_member(dec, object, at.field), item = 0;
    int r;

    if (is_number(at.field->item) && v->type == WIRE_BYTES)
        return decode_packed(dec, at, v->bytes, list);
    if (at.field->item == FIELD_OBJECT) {
        item = json_new_object(dec->d);
        r = expect_type(dec, at, v, WIRE_BYTES);
        if (r == 0 && item)
            r = decode_message(dec, at.field->sub, /* within= */ 0, v->bytes, item);
    } else {
        r = decode_scalar(dec, at, at.field->item, v, &item);
    }
    if (r < 0)
        return r;
    json_append(dec->d, list, item);
    return json_check(dec->d, dec->err);
}

/* An entry is a message of its own: the key and the value, either of which may be left out. */
static int decode_entry(struct proto_decoder *dec, struct proto_place at, const struct wire_value *v,
                        json_ref object)
{
    json_ref map = ensure_member(dec, object, at.field), value = 0;
    struct str texts[] = { STR_LIT(""), STR_LIT("") };
    int r = expect_type(dec, at, v, WIRE_BYTES);

    if (r == 0)
        r = read_texts(dec, at, v->bytes, texts, ARRAY_LEN(texts));
    if (r == 0)
        r = check_utf8(dec, at, texts[0]);
    if (r == 0)
        r = decode_scalar(dec, at, at.field->item,
                          &(struct wire_value){ .type = WIRE_BYTES, .bytes = texts[1] }, &value);
    if (r < 0)
        return r;
    json_add_member(dec->d, map, texts[0], value);
    return json_check(dec->d, dec->err);
}

static int decode_nested(struct proto_decoder *dec, struct proto_place at, const struct wire_value *v,
                         json_ref object)
{
    int r = expect_type(dec, at, v, WIRE_BYTES);
    json_ref inner = r < 0 ? 0 : ensure_member(dec, object, at.field);

    if (r < 0)
        return r;
    if (!inner)
        return json_check(dec->d, dec->err);
    return decode_message(dec, at.field->sub, /* within= */ 0, v->bytes, inner);
}

static int decode_field(struct proto_decoder *dec, struct proto_place at, const struct wire_value *v,
                        json_ref object)
{
    if (at.field->type == FIELD_OBJECT)
        return decode_nested(dec, at, v, object);
    if (at.field->type == FIELD_LIST)
        return decode_item(dec, at, v, object);
    if (at.field->type == FIELD_MAP)
        return decode_entry(dec, at, v, object);
    return decode_plain(dec, at, v, object);
}

/* The field of that number, or the first field of the embedded struct that has the number; NULL for a number
 * that is not known. */
static const struct field *field_of_number(const struct schema *s, unsigned within, uint32_t number)
{
    for (const struct field *f = s->fields; f < s->fields + s->fields_count; f++)
        if ((f->number == number && f->within == within) || (!within && f->within == number))
            return f;
    return NULL;
}

/* The fields of one message: of the struct itself, or of the struct that it embeds under the number within.
 * Both are members of the same object. */
static int decode_message(struct proto_decoder *dec, const struct schema *s, unsigned within,
                          struct str message, json_ref object)
{
    struct protobuf_wire w = { message, dec->err };
    struct wire_value v;
    int r;

    while ((r = wire_next(&w, &v)) > 0) {
        struct proto_place at = { s, field_of_number(s, within, v.number) };

        if (!at.field)
            continue;
        if (at.field->within == within)
            r = decode_field(dec, at, &v, object);
        else if (v.type == WIRE_BYTES)
            r = decode_message(dec, s, v.number, v.bytes, object);
        else
            r = error_set(dec->err, ERR_BAD_REQUEST, "proto: wrong wireType = %d for field %u of %s",
                          (int)v.type, v.number, s->go_name);
        if (r < 0)
            return r;
    }
    return r;
}

/* Of the entries with the same key the last one stays. By sorting: looking each key up as it comes would be
 * quadratic. */
static int settle_map(struct proto_decoder *dec, json_ref map)
{
    uint32_t count = json_count(dec->d, map), kept = 0;
    _cleanup_(freep) json_ref *sorted = json_sorted_members(dec->d, map);

    if (!sorted)
        return error_no_memory(dec->err);
    for (uint32_t i = 0; i < count; i++)
        if (i + 1 == count || !str_eq(json_key(dec->d, sorted[i]), json_key(dec->d, sorted[i + 1])))
            sorted[kept++] = sorted[i];
    json_keep_members(dec->d, map, sorted, kept);
    return json_check(dec->d, dec->err);
}

/* --- The envelope --- */

struct envelope {
    struct protobuf_body *body;
    struct str content_encoding;
    struct str content_type;
};

static int expect_text(const struct wire_value *v, const char *name, struct str *ret, struct error *err)
{
    if (v->type != WIRE_BYTES)
        return error_set(err, ERR_BAD_REQUEST, "proto: wrong wireType = %d for field %s", (int)v->type, name);
    if (!str_is_utf8(v->bytes))
        return error_set(err, ERR_BAD_REQUEST, "proto: %s: not valid UTF-8", name);
    *ret = v->bytes;
    return 0;
}

static int read_type_meta(struct str message, struct protobuf_body *b, struct error *err)
{
    struct protobuf_wire w = { message, err };
    struct wire_value v;
    int r;

    while ((r = wire_next(&w, &v)) > 0) {
        if (v.number == 1)
            r = expect_text(&v, "APIVersion", &b->api_version, err);
        else if (v.number == 2)
            r = expect_text(&v, "Kind", &b->kind, err);
        if (r < 0)
            return r;
    }
    return r;
}

static int read_envelope_field(const struct wire_value *v, struct envelope *e, struct error *err)
{
    if (v->number > 4)
        return 0;
    if (v->number == 3)
        return expect_text(v, "ContentEncoding", &e->content_encoding, err);
    if (v->number == 4)
        return expect_text(v, "ContentType", &e->content_type, err);
    if (v->type != WIRE_BYTES)
        return error_set(err, ERR_BAD_REQUEST, "proto: wrong wireType = %d for field %s", (int)v->type,
                         v->number == 1 ? "TypeMeta" : "Raw");
    if (v->number == 1)
        return read_type_meta(v->bytes, e->body, err);
    e->body->raw = v->bytes;
    return 0;
}

int protobuf_open(struct str body, struct protobuf_body *ret, struct error *err)
{
    struct protobuf_body b = { STR_LIT(""), STR_LIT(""), STR_LIT("") };
    struct envelope e = { &b, STR_LIT(""), STR_LIT("") };
    struct protobuf_wire w = { .err = err };
    struct wire_value v;
    int r;

    if (body.len == 0)
        return error_set(err, ERR_BAD_REQUEST, "empty data");
    if (body.len < sizeof magic || memcmp(body.s, magic, sizeof magic) != 0)
        return error_set(err, ERR_BAD_REQUEST,
                         "provided data does not appear to be a protobuf message, expected prefix [107 56 "
                         "115 0]");
    w.rest = (struct str){ body.s + sizeof magic, body.len - sizeof magic };
    while ((r = wire_next(&w, &v)) > 0) {
        r = read_envelope_field(&v, &e, err);
        if (r < 0)
            return r;
    }
    if (r < 0)
        return r;
    if (e.content_encoding.len || (e.content_type.len && !str_is(e.content_type, PROTOBUF_MEDIA_TYPE)))
        return error_set(err, ERR_UNSUPPORTED, "nested content encoding is not supported");
    *ret = b;
    return 0;
}

/* --- Objects --- */

const struct schema *protobuf_schema(struct str api_version, struct str kind)
{
    const struct kind_info *k = kind_by_api_version(api_version, kind);

    if (!k)
        return request_kind_schema(api_version, kind);
    return k->flags & (KIND_IS_CUSTOM | KIND_IS_READ_ONLY) ? NULL : k->schema;
}

static int decode_object(struct proto_decoder *dec, const struct schema *s, const struct protobuf_body *b,
                         json_ref *ret)
{
    json_ref root = json_new_object(dec->d);
    int r;

    json_set(dec->d, root, "kind", json_new_string(dec->d, b->kind));
    json_set(dec->d, root, "apiVersion", json_new_string(dec->d, b->api_version));
    r = json_check(dec->d, dec->err);
    if (r == 0)
        r = decode_message(dec, s, /* within= */ 0, b->raw, root);
    for (size_t i = 0; i < dec->maps.count && r == 0; i++)
        r = settle_map(dec, dec->maps.items[i]);
    if (r < 0)
        return r;
    *ret = root;
    return 0;
}

static void decoder_done(struct proto_decoder *dec)
{
    buf_done(&dec->text);
    vec_done(&dec->maps);
}

int protobuf_decode(struct json *d, const struct schema *s, const struct protobuf_body *b, json_ref *ret,
                    struct error *err)
{
    _cleanup_(decoder_done) struct proto_decoder decoder = { .d = d, .err = err };

    if (b->raw.len > d->bytes_max)
        return error_set(err, ERR_TOO_LARGE, "the message has %zu bytes, the limit is %zu", b->raw.len,
                         d->bytes_max);
    buf_init(&decoder.text, d->bytes_max * 2); /* base64 makes four bytes of three */
    return decode_object(&decoder, s, b, ret);
}
