/* The bodies of what tests/unit/test_kind.h declares. */
#include "tests/unit/test_kind.h"

struct error err;

void kind_quotes(const char *text, struct buf *out)
{
    size_t len = strlen(text);
    char *at = buf_grow(out, len);

    assert_non_null(at);
    memcpy(at, text, len);
    for (size_t i = 0; i < len; i++)
        if (at[i] == '\'')
            at[i] = '"';
}

int kind_read(enum kind kind, const char *text, struct json *d, json_ref *ret, struct field_report *report)
{
    _cleanup_(buf_done_p) struct buf quoted = BUF_INIT(16 << 20);
    int r;

    kind_quotes(text, &quoted);
    r = json_parse(d, buf_str(&quoted), ret, &err);
    if (r == 0)
        r = schema_normalize(kind_info(kind)->schema, d, *ret, SCHEMA_DROP_UNKNOWN, report, &err);
    if (r == 0) {
        kind_info(kind)->set_defaults(d, *ret);
        r = schema_normalize(kind_info(kind)->schema, d, *ret, SCHEMA_KEEP_UNKNOWN, NULL, &err);
    }
    return r;
}

const char *kind_text(enum kind kind, const char *text)
{
    static struct buf out = { .len_max = 16 << 20 };
    _cleanup_(json_done_p) struct json d;
    json_ref v;

    json_init(&d, 16 << 20);
    buf_clear(&out);
    if (kind_read(kind, text, &d, &v, NULL) < 0)
        buf_add_cstr(&out, err.msg);
    else
        json_write(&d, v, &out);
    return buf_cstr(&out);
}

const char *kind_report(enum kind kind, const char *text)
{
    static struct buf out = { .len_max = 1 << 20 };
    _cleanup_(json_done_p) struct json d;
    _cleanup_(field_report_done_p) struct field_report report = FIELD_REPORT_INIT;
    json_ref v;

    json_init(&d, 16 << 20);
    buf_clear(&out);
    ASSERT_OK(kind_read(kind, text, &d, &v, &report));
    for (const char *line = field_report_next(&report, NULL); line; line = field_report_next(&report, line))
        buf_addf(&out, "%s%s", out.len ? ", " : "", line);
    return buf_cstr(&out);
}

const char *kind_warnings(enum kind kind, const char *old, const char *text)
{
    static struct buf out = { .len_max = 1 << 20 };
    _cleanup_(json_done_p) struct json d;
    _cleanup_(field_report_done_p) struct field_report report = FIELD_REPORT_INIT;
    json_ref v, before = 0;

    json_init(&d, 16 << 20);
    buf_clear(&out);
    ASSERT_OK(kind_read(kind, text, &d, &v, NULL));
    if (old)
        ASSERT_OK(kind_read(kind, old, &d, &before, NULL));
    kind_info(kind)->warn(&d, v, before, &report);
    for (const char *line = field_report_next(&report, NULL); line; line = field_report_next(&report, line))
        buf_addf(&out, "%s%s", out.len ? "\n" : "", line);
    return buf_cstr(&out);
}

const char *kind_errors(enum kind kind, enum write_part part, const char *old, const char *text)
{
    static struct buf out = { .len_max = 16 << 20 };
    _cleanup_(json_done_p) struct json d;
    _cleanup_(field_errors_done_p) struct field_errors errors = FIELD_ERRORS_INIT;
    struct validation v = { .kind = kind_info(kind), .d = &d, .part = part, .errors = &errors };

    json_init(&d, 64 << 20);
    buf_clear(&out);
    ASSERT_OK(kind_read(kind, text, &d, &v.object, NULL));
    if (old)
        ASSERT_OK(kind_read(kind, old, &d, &v.old, NULL));
    object_validate(&v);
    for (uint32_t i = 0; i < errors.count; i++) {
        buf_add_cstr(&out, i ? "\n" : "");
        field_error_text(&errors.items[i], &out);
    }
    return buf_cstr(&out);
}

const char *kind_row(const char *text)
{
    static struct buf out = { .len_max = 16 << 20 };

    buf_clear(&out);
    kind_quotes(text, &out);
    return buf_cstr(&out);
}

struct object *kind_object(enum kind kind, const char *text)
{
    _cleanup_(buf_done_p) struct buf quoted = BUF_INIT(16 << 20);
    _cleanup_(json_done_p) struct json scratch;
    struct object *o = NULL;

    json_init(&scratch, 16 << 20);
    kind_quotes(text, &quoted);
    ASSERT_OK(object_decode(kind_info(kind), buf_str(&quoted), &scratch, &o, &err));
    return o;
}
