/* Objects from any text: what decodes has a canonical text that decodes to itself, loses nothing that was
 * said, and passes through everything the server does with it. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "api/event.h"
#include "api/list.h"
#include "api/object.h"
#include "api/validate.h"
#include "base/cleanup.h"

#define TEXT_BYTES_MAX ((size_t)4 << 20)

/* --- Nothing is lost --- */

static bool is_empty(const struct json *d, json_ref v)
{
    switch (json_type(d, v)) {
    case JSON_STRING:
        return json_text(d, v).len == 0;
    case JSON_NUMBER:
        return str_is(json_text(d, v), "0");
    case JSON_ARRAY:
    case JSON_OBJECT:
        return json_count(d, v) == 0;
    case JSON_TRUE:
        return false;
    case JSON_NONE:
    case JSON_NULL:
    case JSON_FALSE:
        break;
    }
    return true;
}

static void check_kept(const struct json *d, const struct schema *s, json_ref in, json_ref out);

/* `in` stands in a field, or is an item of one; out is what became of it. */
static void check_value(const struct json *d, const struct field *f, enum field_type type, json_ref in,
                        json_ref out)
{
    switch (type) {
    case FIELD_QUANTITY:
    case FIELD_TIME:
    case FIELD_MICRO_TIME:
    case FIELD_BYTES: /* each has several texts for one value */
        FUZZ_CHECK(json_type(d, out) == JSON_STRING);
        break;
    case FIELD_OBJECT:
        FUZZ_CHECK(json_type(d, out) == JSON_OBJECT);
        check_kept(d, f->sub, in, out);
        break;
    case FIELD_LIST:
        FUZZ_CHECK(json_count(d, in) == json_count(d, out));
        for (json_ref a = json_first(d, in), b = json_first(d, out); a;
             a = json_next(d, a), b = json_next(d, b))
            if (json_type(d, a) != JSON_NULL)
                check_value(d, f, f->item, a, b);
        break;
    case FIELD_MAP:
        FUZZ_CHECK(json_count(d, in) == json_count(d, out));
        for (json_ref a = json_first(d, in); a; a = json_next(d, a))
            if (json_type(d, a) != JSON_NULL)
                check_value(d, f, f->item, a, json_get_key(d, out, json_key(d, a)));
        break;
    case FIELD_STRING:
    case FIELD_BOOL:
    case FIELD_INT32:
    case FIELD_INT64:
    case FIELD_INT_OR_STRING:
    case FIELD_ANY:
    case FIELD_TYPE_COUNT:
        FUZZ_CHECK(json_equal(d, in, out));
    }
}

static void check_kept(const struct json *d, const struct schema *s, json_ref in, json_ref out)
{
    for (json_ref m = json_first(d, in); m; m = json_next(d, m)) {
        const struct field *f = schema_field(s, json_key(d, m));
        json_ref kept = json_get_key(d, out, json_key(d, m));
        if (!f)
            FUZZ_CHECK(json_equal(d, m, kept)); /* unknown: to the letter */
        else if (kept && json_type(d, m) != JSON_NULL)
            check_value(d, f, f->type, m, kept);
        else if (!kept && !(f->flags & FIELD_DROPPED))
            FUZZ_CHECK(is_empty(d, m));
    }
}

static void check_nothing_lost(struct str text, const struct object *o)
{
    _cleanup_(json_done_p) struct json d;
    struct error err;
    json_ref in, out;

    json_init(&d, TEXT_BYTES_MAX);
    FUZZ_CHECK(json_parse(&d, text, &in, &err) == 0);
    FUZZ_CHECK(json_parse(&d, o->text, &out, &err) == 0);
    check_kept(&d, o->kind->schema, in, out);
}

/* --- The text is canonical --- */

static void check_stable(const struct object *o)
{
    _cleanup_(json_done_p) struct json d;
    _cleanup_(object_unref_p) struct object *again = NULL;
    struct error err;

    json_init(&d, TEXT_BYTES_MAX);
    FUZZ_CHECK(object_decode(o->kind, o->text, &d, &again, &err) == 0);
    FUZZ_CHECK(str_eq(o->text, again->text));
}

/* A store's row: what was canonical is the same again; what is not makes some object, or none. */
static void check_stored(const struct kind_info *k, struct str text, bool is_canonical)
{
    _cleanup_(json_done_p) struct json d;
    _cleanup_(object_unref_p) struct object *o = NULL;
    struct error err;
    int r;

    json_init(&d, TEXT_BYTES_MAX);
    r = object_decode_stored(k, text, &d, &o, &err);
    if (r == 0)
        FUZZ_CHECK(str_eq(text, o->text));
    else
        FUZZ_CHECK(!is_canonical);
}

static void check_list(const struct object *o)
{
    _cleanup_(json_done_p) struct json d;
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(TEXT_BYTES_MAX);
    struct list_meta meta = { .resource_version = STR_LIT("1"), .remaining = -1 };
    struct list_reader list;
    struct object *item = NULL;
    struct error err;
    json_ref v;

    json_init(&d, TEXT_BYTES_MAX);
    list_write(o->kind, &meta, (const struct object *const[]){ o, o }, 2, &text);
    FUZZ_CHECK(json_parse(&d, buf_str(&text), &v, &err) == 0);
    FUZZ_CHECK(list_open(&d, v, NULL, &list, &err) == 0);
    FUZZ_CHECK(list.count == 2);
    while (list_next(&list, &item, &err) > 0) {
        FUZZ_CHECK(str_eq(o->text, item->text));
        item = object_unref(item);
    }
    FUZZ_CHECK(list.next == 2);
}

static void check_event_forms(const struct object *o)
{
    _cleanup_(json_done_p) struct json d;
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(TEXT_BYTES_MAX);
    bool is_core = o->kind->kind == KIND_EVENT;
    struct error err;
    json_ref v;

    json_init(&d, TEXT_BYTES_MAX);
    FUZZ_CHECK(json_parse(&d, o->text, &v, &err) == 0);
    FUZZ_CHECK((is_core ? event_to_v1 : event_to_core)(&d, v, &err) == 0);
    FUZZ_CHECK((is_core ? event_to_core : event_to_v1)(&d, v, &err) == 0);
    json_write(&d, v, &text);
    FUZZ_CHECK(str_eq(o->text, buf_str(&text)));
}

/* --- What the server does with a write --- */

static void normalize(const struct kind_info *k, struct json *d, json_ref v, struct buf *ret_text)
{
    struct error err;

    FUZZ_CHECK(schema_normalize(k->schema, d, v, SCHEMA_DROP_UNKNOWN, /* report= */ NULL, &err) == 0);
    buf_clear(ret_text);
    json_write(d, v, ret_text);
}

static void check_server(const struct object *o)
{
    _cleanup_(json_done_p) struct json d;
    _cleanup_(buf_done_p) struct buf once = BUF_INIT(TEXT_BYTES_MAX);
    _cleanup_(buf_done_p) struct buf twice = BUF_INIT(TEXT_BYTES_MAX);
    _cleanup_(field_errors_done_p) struct field_errors errors = FIELD_ERRORS_INIT;
    const struct timestamp now = { .seconds = 1767323045 };
    const struct kind_info *k = o->kind;
    struct validation v = { .kind = k, .d = &d, .errors = &errors };
    struct error err;

    json_init(&d, TEXT_BYTES_MAX);
    FUZZ_CHECK(json_parse(&d, o->text, &v.object, &err) == 0);
    k->set_defaults(&d, v.object);
    normalize(k, &d, v.object, &once);
    k->set_defaults(&d, v.object);
    normalize(k, &d, v.object, &twice);
    FUZZ_CHECK(str_eq(buf_str(&once), buf_str(&twice)));
    v.old = json_copy(&d, v.object);
    k->prepare_create(&d, v.object, now);
    normalize(k, &d, v.object, &once);
    object_validate(&v);
    for (v.part = WRITE_MAIN; v.part <= WRITE_STATUS; v.part++) {
        k->prepare_update(&d, v.object, v.old, v.part, now);
        normalize(k, &d, v.object, &once);
        object_validate(&v);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = { size ? (const char *)data : "", size };
    _cleanup_(json_done_p) struct json scratch;
    _cleanup_(object_unref_p) struct object *o = NULL;
    struct error err;

    json_init(&scratch, TEXT_BYTES_MAX);
    check_stored(kind_info((enum kind)(size % KIND_COUNT)), text, /* is_canonical= */ false);
    if (object_decode_any(text, &scratch, &o, &err) < 0)
        return 0;
    check_stable(o);
    check_stored(o->kind, o->text, /* is_canonical= */ true);
    check_nothing_lost(text, o);
    check_list(o);
    if (o->kind->kind == KIND_EVENT || o->kind->kind == KIND_EVENT_V1)
        check_event_forms(o);
    check_server(o);
    return 0;
}
