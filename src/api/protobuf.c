/* The walk over a message, led by the tables. The wire is read in protobuf_wire.c.
 *
 * Recursion follows the tables, in which no message contains itself: bodies cannot make it deeper. */
#include "api/protobuf.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/base64.h"
#include "api/json_int.h"
#include "api/protobuf_int.h"
#include "api/times.h"
#include "base/civil.h"
#include "base/cleanup.h"
#include "base/vec.h"

#define NANOS_PER_SECOND 1000000000

static const char magic[] = { 'k', '8', 's', '\0' };

/* --- Values --- */

struct decoder {
    struct json *d;
    struct error *err;
    struct buf text;    /* of one value at a time */
    VEC(json_ref) maps; /* every map made: their keys are told apart at the end, once */
};

/* What is being read, for errors: "ObjectMeta.name". */
struct place {
    const struct schema *schema;
    const struct field *field;
};

static int refuse(struct decoder *x, struct place at, const char *why)
{
    return error_set(x->err, ERR_BAD_REQUEST, "protobuf: %s.%s: %s", at.schema->go_name, at.field->name, why);
}

static int expect_type(struct decoder *x, struct place at, const struct wire_value *v, enum wire_type type)
{
    return v->type == type ? 0 : refuse(x, at, "the field is sent with the wrong wire type");
}

static int check_utf8(struct decoder *x, struct place at, struct str text)
{
    return str_is_utf8(text) ? 0 : refuse(x, at, "not valid UTF-8");
}

/* The fields of a message whose values are texts: key and value, or the text of a quantity. Others are passed
 * over; what is not there stays as it was. */
static int read_texts(struct decoder *x, struct place at, struct str message, struct str *texts,
                      uint32_t count)
{
    struct wire w = { message, x->err };
    struct wire_value v;
    int r;

    while ((r = wire_next(&w, &v)) > 0) {
        if (v.number > count)
            continue;
        r = expect_type(x, at, &v, WIRE_BYTES);
        if (r < 0)
            return r;
        texts[v.number - 1] = v.bytes;
    }
    return r;
}

/* The two numbers of a time. */
static int read_timestamp(struct decoder *x, struct place at, struct str message, struct timestamp *ret)
{
    uint64_t parts[2] = { 0, 0 };
    struct wire w = { message, x->err };
    struct wire_value v;
    int64_t seconds, nanos;
    int r;

    while ((r = wire_next(&w, &v)) > 0) {
        if (v.number > ARRAY_LEN(parts))
            continue;
        r = expect_type(x, at, &v, WIRE_VARINT);
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
        return refuse(x, at, "the time is out of range");
    seconds += nanos / NANOS_PER_SECOND - (nanos % NANOS_PER_SECOND < 0);
    nanos = nanos % NANOS_PER_SECOND + (nanos % NANOS_PER_SECOND < 0 ? NANOS_PER_SECOND : 0);
    *ret = (struct timestamp){ seconds, (int32_t)nanos };
    return 0;
}

static json_ref new_scratch_string(struct decoder *x)
{
    if (x->text.failed && !x->d->failed)
        x->d->failed = x->text.failed;
    return json_new_string(x->d, buf_str(&x->text));
}

/* A time that is not set is no value: *ret is 0. */
static int decode_time(struct decoder *x, struct place at, bool is_micro, struct str message, json_ref *ret)
{
    struct timestamp t;
    int r = read_timestamp(x, at, message, &t);

    if (r < 0)
        return r;
    *ret = 0;
    if (timestamp_is_zero(t))
        return 0;
    buf_clear(&x->text);
    (void)(is_micro ? timestamp_format_micro(t, &x->text) : timestamp_format(t, &x->text));
    *ret = new_scratch_string(x);
    return 0;
}

static int decode_quantity(struct decoder *x, struct place at, struct str message, json_ref *ret)
{
    struct str text = STR_LIT("0");
    int r = read_texts(x, at, message, &text, 1);

    if (r == 0)
        r = check_utf8(x, at, text);
    if (r == 0)
        *ret = json_new_string(x->d, text);
    return r;
}

/* JSON inside of protobuf: the sets of managed fields. */
static int decode_raw_json(struct decoder *x, struct place at, struct str message, json_ref *ret)
{
    struct str text = STR_LIT("");
    int r = read_texts(x, at, message, &text, 1);

    if (r < 0)
        return r;
    *ret = 0;
    if (text.len == 0)
        return 0;
    r = json_parse(x->d, text, ret, x->err);
    return r < 0 ? error_wrap(x->err, "protobuf: %s.%s", at.schema->go_name, at.field->name) : 0;
}

static int decode_bytes(struct decoder *x, struct str bytes, json_ref *ret)
{
    buf_clear(&x->text);
    base64_encode(bytes, &x->text);
    *ret = new_scratch_string(x);
    return 0;
}

static int decode_string(struct decoder *x, struct place at, struct str text, json_ref *ret)
{
    int r = check_utf8(x, at, text);

    if (r == 0)
        *ret = json_new_string(x->d, text);
    return r;
}

/* A value that is neither an object nor a container. *ret stays 0 for one that means "not set", whatever the
 * field. */
static int decode_scalar(struct decoder *x, struct place at, enum field_type type, const struct wire_value *v,
                         json_ref *ret)
{
    bool is_number = type == FIELD_BOOL || type == FIELD_INT32 || type == FIELD_INT64;
    int r = expect_type(x, at, v, is_number ? WIRE_VARINT : WIRE_BYTES);

    if (r < 0)
        return r;
    switch (type) {
    case FIELD_BOOL:
        *ret = json_new_bool(x->d, v->varint != 0);
        return 0;
    case FIELD_INT32: /* too large a number is cut, as protobuf has it */
        *ret = json_new_int(x->d, (int32_t)(uint32_t)v->varint);
        return 0;
    case FIELD_INT64:
        *ret = json_new_int(x->d, (int64_t)v->varint);
        return 0;
    case FIELD_STRING:
        return decode_string(x, at, v->bytes, ret);
    case FIELD_BYTES:
        return decode_bytes(x, v->bytes, ret);
    case FIELD_QUANTITY:
        return decode_quantity(x, at, v->bytes, ret);
    case FIELD_TIME:
    case FIELD_MICRO_TIME:
        return decode_time(x, at, type == FIELD_MICRO_TIME, v->bytes, ret);
    case FIELD_ANY:
        return decode_raw_json(x, at, v->bytes, ret);
    case FIELD_INT_OR_STRING:
    case FIELD_OBJECT:
    case FIELD_LIST:
    case FIELD_MAP:
    case FIELD_TYPE_COUNT:
        assert(!"not in a table");
    }
    return 0;
}

/* --- Messages --- */

static int decode_message(struct decoder *x, const struct proto_field *fields, const struct schema *s,
                          struct str message, json_ref object);

/* The member, made first where there is none. 0 when the document has failed. */
static json_ref ensure_member(struct decoder *x, json_ref object, const struct field *f)
{
    json_ref v = json_get(x->d, object, f->name);

    if (v)
        return v;
    v = f->type == FIELD_LIST ? json_new_array(x->d) : json_new_object(x->d);
    json_set(x->d, object, f->name, v);
    if (f->type == FIELD_MAP && v && vec_push(&x->maps, v) < 0)
        x->d->failed = ERR_NO_MEMORY;
    return x->d->failed ? 0 : v;
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

static int decode_plain(struct decoder *x, struct place at, const struct wire_value *v, json_ref object)
{
    const struct field *f = at.field;
    json_ref value = 0;
    int r = decode_scalar(x, at, f->type, v, &value);

    if (r < 0)
        return r;
    if (!value || (!(f->flags & FIELD_POINTER) && is_unset(f->type, v)))
        (void)json_remove(x->d, object, f->name); /* an earlier value is overridden, too */
    else
        json_set(x->d, object, f->name, value);
    return json_check(x->d, x->err);
}

static int decode_item(struct decoder *x, struct place at, const struct proto_field *p,
                       const struct wire_value *v, json_ref object)
{
    json_ref list = ensure_member(x, object, at.field), item = 0;
    int r;

    if (at.field->item == FIELD_OBJECT) {
        item = json_new_object(x->d);
        r = expect_type(x, at, v, WIRE_BYTES);
        if (r == 0 && item)
            r = decode_message(x, p->sub, at.field->sub, v->bytes, item);
    } else {
        r = decode_scalar(x, at, at.field->item, v, &item);
    }
    if (r < 0)
        return r;
    json_append(x->d, list, item);
    return json_check(x->d, x->err);
}

/* An entry is a message of its own: the key and the value, either of which may be left out. */
static int decode_entry(struct decoder *x, struct place at, const struct wire_value *v, json_ref object)
{
    json_ref map = ensure_member(x, object, at.field), value = 0;
    struct str texts[] = { STR_LIT(""), STR_LIT("") };
    int r = expect_type(x, at, v, WIRE_BYTES);

    if (r == 0)
        r = read_texts(x, at, v->bytes, texts, ARRAY_LEN(texts));
    if (r == 0)
        r = check_utf8(x, at, texts[0]);
    if (r == 0)
        r = decode_scalar(x, at, at.field->item,
                          &(struct wire_value){ .type = WIRE_BYTES, .bytes = texts[1] }, &value);
    if (r < 0)
        return r;
    json_add_member(x->d, map, texts[0], value);
    return json_check(x->d, x->err);
}

static int decode_nested(struct decoder *x, struct place at, const struct proto_field *p,
                         const struct wire_value *v, json_ref object)
{
    int r = expect_type(x, at, v, WIRE_BYTES);
    json_ref inner = r < 0 ? 0 : ensure_member(x, object, at.field);

    if (r < 0)
        return r;
    return inner ? decode_message(x, p->sub, at.field->sub, v->bytes, inner) : json_check(x->d, x->err);
}

static int decode_field(struct decoder *x, const struct proto_field *p, const struct schema *s,
                        const struct wire_value *v, json_ref object)
{
    struct place at = { s, schema_field(s, str_of(p->name)) };

    assert(at.field);
    if (at.field->type == FIELD_OBJECT)
        return decode_nested(x, at, p, v, object);
    if (at.field->type == FIELD_LIST)
        return decode_item(x, at, p, v, object);
    if (at.field->type == FIELD_MAP)
        return decode_entry(x, at, v, object);
    return decode_plain(x, at, v, object);
}

static int decode_message(struct decoder *x, const struct proto_field *fields, const struct schema *s,
                          struct str message, json_ref object)
{
    struct wire w = { message, x->err };
    struct wire_value v;
    int r;

    while ((r = wire_next(&w, &v)) > 0) {
        const struct proto_field *p = fields;

        while (p->number && p->number != v.number)
            p++;
        if (!p->number)
            continue;
        if (p->name)
            r = decode_field(x, p, s, &v, object);
        else if (v.type == WIRE_BYTES)
            r = decode_message(x, p->sub, s, v.bytes, object);
        else
            r = error_set(x->err, ERR_BAD_REQUEST, "protobuf: %s: field %u is no message", s->go_name,
                          v.number);
        if (r < 0)
            return r;
    }
    return r;
}

/* Of the entries with the same key the last one stays. By sorting: looking each key up as it comes would be
 * quadratic. */
static int settle_map(struct decoder *x, json_ref map)
{
    uint32_t count = json_count(x->d, map), kept = 0;
    _cleanup_(freep) json_ref *sorted = json_sorted_members(x->d, map);

    if (!sorted)
        return error_no_memory(x->err);
    for (uint32_t i = 0; i < count; i++)
        if (i + 1 == count || !str_eq(json_key(x->d, sorted[i]), json_key(x->d, sorted[i + 1])))
            sorted[kept++] = sorted[i];
    json_keep_members(x->d, map, sorted, kept);
    return json_check(x->d, x->err);
}

/* --- The envelope --- */

struct envelope {
    struct str api_version;
    struct str kind;
    struct str raw;
    struct str content_encoding;
    struct str content_type;
};

static int read_type_meta(struct str message, struct envelope *e, struct error *err)
{
    struct wire w = { message, err };
    struct wire_value v;
    int r;

    while ((r = wire_next(&w, &v)) > 0) {
        if (v.type == WIRE_BYTES && v.number == 1)
            e->api_version = v.bytes;
        if (v.type == WIRE_BYTES && v.number == 2)
            e->kind = v.bytes;
    }
    return r;
}

static int read_envelope(struct str body, struct envelope *e, struct error *err)
{
    struct wire w = { .err = err };
    struct wire_value v;
    int r;

    if (body.len < sizeof magic || memcmp(body.s, magic, sizeof magic) != 0)
        return error_set(err, ERR_BAD_REQUEST, "protobuf: the body does not begin with 6b 38 73 00");
    w.rest = (struct str){ body.s + sizeof magic, body.len - sizeof magic };
    while ((r = wire_next(&w, &v)) > 0) {
        if (v.type != WIRE_BYTES)
            continue;
        if (v.number == 1)
            r = read_type_meta(v.bytes, e, err);
        else if (v.number == 2)
            e->raw = v.bytes;
        else if (v.number == 3)
            e->content_encoding = v.bytes;
        else if (v.number == 4)
            e->content_type = v.bytes;
        if (r < 0)
            return r;
    }
    return r;
}

static int check_envelope(const struct envelope *e, struct error *err)
{
    if (!str_is_utf8(e->api_version) || !str_is_utf8(e->kind))
        return error_set(err, ERR_BAD_REQUEST, "protobuf: the name of the kind is not valid UTF-8");
    if (e->kind.len == 0 || e->api_version.len == 0)
        return error_set(err, ERR_BAD_REQUEST, "protobuf: the body does not say its kind and apiVersion");
    if (e->content_encoding.len || e->content_type.len)
        return error_set(err, ERR_UNSUPPORTED, "protobuf: the object inside is encoded once more");
    return 0;
}

static int decode_object(struct decoder *x, const struct envelope *e, json_ref *ret)
{
    const struct schema *s = NULL;
    const struct proto_kind *k = proto_kind(e->api_version, e->kind, &s);
    json_ref root;
    int r;

    if (!k)
        return error_set(x->err, ERR_UNSUPPORTED, "protobuf: no form is known for kind '%.*s' of '%.*s'",
                         STR_ARG(e->kind), STR_ARG(e->api_version));
    assert(s);
    root = json_new_object(x->d);
    json_set(x->d, root, "kind", json_new_string(x->d, e->kind));
    json_set(x->d, root, "apiVersion", json_new_string(x->d, e->api_version));
    r = json_check(x->d, x->err);
    if (r == 0)
        r = decode_message(x, k->fields, s, e->raw, root);
    for (size_t i = 0; i < x->maps.count && r == 0; i++)
        r = settle_map(x, x->maps.items[i]);
    if (r < 0)
        return r;
    *ret = root;
    return 0;
}

static void decoder_done(struct decoder *x)
{
    buf_done(&x->text);
    vec_done(&x->maps);
}

int protobuf_decode(struct json *d, struct str body, json_ref *ret, struct str *ret_api_version,
                    struct str *ret_kind, struct error *err)
{
    _cleanup_(decoder_done) struct decoder x = { .d = d, .err = err };
    struct envelope e = { STR_LIT(""), STR_LIT(""), STR_LIT(""), STR_LIT(""), STR_LIT("") };
    json_ref root = 0;
    int r;

    if (body.len > d->bytes_max)
        return error_set(err, ERR_TOO_LARGE, "protobuf: the body has %zu bytes, the limit is %zu", body.len,
                         d->bytes_max);
    buf_init(&x.text, d->bytes_max * 2); /* base64 makes four bytes of three */
    r = read_envelope(body, &e, err);
    if (r == 0)
        r = check_envelope(&e, err);
    if (r == 0)
        r = decode_object(&x, &e, &root);
    if (r < 0)
        return r;
    *ret = root;
    *ret_api_version = json_get_text(d, root, "apiVersion");
    *ret_kind = json_get_text(d, root, "kind");
    return 0;
}
