/* Computes the canonical form (schema.h): one walk over the tree, controlled by the tables. */
#include "api/schema.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/base64.h"
#include "api/json_int.h"
#include "api/quantity.h"
#include "api/quote.h"
#include "api/times.h"
#include "base/cleanup.h"

#define SCHEMA_FIELDS_MAX 96
#define SCHEMA_DEPTH_MAX 24
/* A hundred of these fit into the report. */
#define REPORT_PATH_BYTES_MAX 600

struct problem {
    json_ref at;     /* position: references increase with the position in the text */
    json_ref member; /* the member whose path is shown */
    bool duplicate;
};

/* One pass over an object. */
struct normalizer {
    struct json *d;
    bool drop_unknown;
    bool is_applied;    /* body of an apply: nothing is added, and empty values are kept */
    bool keeps_unknown; /* an unknown field was kept: a later pass may have to drop it */
    struct error *err;
    const char *path[SCHEMA_DEPTH_MAX]; /* fields above, as in Go's errors: without indexes and map keys */
    unsigned depth;
    bool reporting;
    struct problem problems[FIELD_REPORT_COUNT_MAX];
    uint32_t problems_count;
};

static int normalize_object(struct normalizer *n, const struct schema *s, json_ref v);

/* --- Marks --- */

/* True if an earlier pass normalized v and nothing has changed since. */
static bool normalize_is_done(const struct normalizer *n, json_ref v)
{
    return !n->is_applied && json_is_canonical(n->d, v);
}

static void normalize_set_done(struct normalizer *n, json_ref v)
{
    if (!n->is_applied && !n->keeps_unknown)
        json_mark_canonical(n->d, v);
}

/* --- Reports --- */

const char *field_report_next(const struct field_report *r, const char *line)
{
    const char *next = line ? line + strlen(line) + 1 : buf_cstr(&r->lines);

    return next < buf_cstr(&r->lines) + r->lines.len ? next : NULL;
}

static void normalize_note(struct normalizer *n, struct problem problem)
{
    if (n->reporting && n->problems_count < FIELD_REPORT_COUNT_MAX)
        n->problems[n->problems_count++] = problem;
}

static int problem_cmp(const void *a, const void *b)
{
    const struct problem *left = a, *right = b;

    if (left->at != right->at)
        return left->at < right->at ? -1 : 1;
    return left->duplicate - right->duplicate;
}

/* True if v is, or was before it was dropped as a duplicate, below root. */
static bool json_is_below(const struct json *d, json_ref v, json_ref root)
{
    while (v && v != root)
        v = json_parent(d, v);
    return v == root;
}

/* The first dropped member with the key and parent of v; 0 for none. */
static json_ref json_find_duplicate(const struct json *d, json_ref v, const json_ref *dropped, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (json_parent(d, dropped[i]) == json_parent(d, v) &&
            str_eq(json_key(d, dropped[i]), json_key(d, v)))
            return dropped[i];
    return 0;
}

/* A key that occurs several times is reported once, at its second occurrence. Must run before anything is
 * moved, because paths are built from the links as parsed. */
static void normalize_note_duplicates(struct normalizer *n, json_ref root)
{
    const json_ref *dropped;
    uint32_t count = json_duplicates(n->d, &dropped);

    for (uint32_t i = 0; i < count && n->reporting; i++) {
        json_ref v = dropped[i], second;
        if (!json_is_below(n->d, v, root) || json_find_duplicate(n->d, v, dropped, i))
            continue;
        second = json_find_duplicate(n->d, v, dropped + i + 1, count - i - 1);
        if (!second)
            second = json_get_key(n->d, json_parent(n->d, v), json_key(n->d, v));
        normalize_note(n, (struct problem){ .at = second, .member = v, .duplicate = true });
    }
}

static void normalize_write_report(struct normalizer *n, struct field_report *report)
{
    _cleanup_(buf_done_p) struct buf path = BUF_INIT(n->d->bytes_max + 4096);
    char quoted[REPORT_PATH_BYTES_MAX];

    qsort(n->problems, n->problems_count, sizeof *n->problems, problem_cmp);
    for (uint32_t i = 0; i < n->problems_count && report->count < FIELD_REPORT_COUNT_MAX; i++) {
        const struct problem *p = &n->problems[i];
        buf_clear(&path);
        json_path_text(n->d, p->member, &path);
        buf_addf(&report->lines, "%s field %s", p->duplicate ? "duplicate" : "unknown",
                 quote_text(quoted, sizeof quoted, buf_str(&path)));
        buf_add_char(&report->lines, '\0');
        if (!report->lines.failed)
            report->count++;
    }
}

/* --- Errors, with the texts of Go's decoder --- */

static void go_type_name(const struct field *f, enum field_type type, struct buf *out)
{
    static const char *const names[] = {
        [FIELD_STRING] = "string",
        [FIELD_BOOL] = "bool",
        [FIELD_INT32] = "int32",
        [FIELD_INT64] = "int64",
        [FIELD_QUANTITY] = "Quantity",
        [FIELD_TIME] = "v1.Time",
        [FIELD_BYTES] = "[]uint8",
        [FIELD_MICRO_TIME] = "v1.MicroTime",
        [FIELD_INT_OR_STRING] = "intstr.IntOrString",
        [FIELD_OBJECT] = "struct",
        [FIELD_LIST] = "[]",
        [FIELD_MAP] = "map[string]",
        [FIELD_ANY] = "interface {}",
    };
    static_assert(ARRAY_LEN(names) == FIELD_TYPE_COUNT, "name every type");

    if (type == FIELD_LIST || type == FIELD_MAP) {
        buf_add_cstr(out, names[type]);
        go_type_name(f, f->item, out);
    } else if (f->go_type) {
        buf_add_cstr(out, f->go_type);
    } else if (type == FIELD_OBJECT) {
        buf_addf(out, "v1.%s", f->sub->go_name);
    } else {
        buf_add_cstr(out, names[type]);
    }
}

/* v does not have the type of field f (or, with type = f->item, of its items). */
static int normalize_mismatch(struct normalizer *n, const struct schema *s, const struct field *f,
                              enum field_type type, json_ref v)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(ERROR_MSG_BYTES_MAX);
    enum json_type have = json_type(n->d, v);
    bool is_int = type == FIELD_INT32 || type == FIELD_INT64;

    buf_addf(&text, "json: cannot unmarshal %s", json_type_name(have));
    if (have == JSON_NUMBER && is_int)
        buf_addf(&text, " %.*s", STR_ARG(json_text(n->d, v)));
    buf_addf(&text, " into Go struct field %s.", s->go_name);
    for (unsigned i = 0; i < n->depth; i++)
        buf_addf(&text, "%s.", n->path[i]);
    buf_addf(&text, "%s of type ", f->name);
    go_type_name(f, type, &text);
    return error_set(n->err, ERR_BAD_REQUEST, "%s", buf_cstr(&text));
}

/* --- Values --- */

/* Makes v a string with this text, in place, so that a list of any length stays linear. */
static void normalize_text(struct normalizer *n, json_ref v, struct str text)
{
    json_ref made;

    if (json_type(n->d, v) == JSON_STRING && str_eq(json_text(n->d, v), text))
        return;
    made = json_new_string(n->d, text);
    if (made)
        json_become(n->d, v, made);
}

static int normalize_quantity(struct normalizer *n, json_ref v)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(2048);
    enum json_type type = json_type(n->d, v);
    struct quantity q;
    int r;

    if (type == JSON_NULL) {
        normalize_text(n, v, STR_LIT("0"));
        return 0;
    }
    r = quantity_parse(str_trim(json_text(n->d, v)), &q, n->err);
    if (r < 0)
        return r;
    quantity_format(&q, &text);
    normalize_text(n, v, buf_str(&text));
    return 0;
}

static int normalize_time(struct normalizer *n, const struct schema *s, const struct field *f, json_ref v,
                          bool micro)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(64);
    struct timestamp t;
    int r;

    if (json_type(n->d, v) != JSON_STRING)
        return normalize_mismatch(n, s, f, FIELD_STRING, v);
    r = micro ? timestamp_parse_micro(json_text(n->d, v), &t, n->err)
              : timestamp_parse(json_text(n->d, v), &t, n->err);
    if (r < 0 || timestamp_is_canonical(json_text(n->d, v), micro))
        return r;
    (void)(micro ? timestamp_format_micro(t, &text) : timestamp_format(t, &text)); /* 64 bytes are enough */
    normalize_text(n, v, buf_str(&text));
    return 0;
}

static int normalize_bytes(struct normalizer *n, const struct schema *s, const struct field *f,
                           enum field_type type, json_ref v)
{
    _cleanup_(buf_done_p) struct buf bytes = BUF_INIT(n->d->bytes_max);
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(n->d->bytes_max * 2);
    int r;

    if (json_type(n->d, v) != JSON_STRING)
        return normalize_mismatch(n, s, f, type, v);
    r = base64_decode(json_text(n->d, v), &bytes, n->err);
    if (r < 0)
        return r;
    base64_encode(buf_str(&bytes), &text);
    r = buf_check(&text, "base64 text", n->err);
    if (r == 0)
        normalize_text(n, v, buf_str(&text));
    return r;
}

/* True if v is such an integer. -0 becomes 0. */
static bool normalize_int(struct normalizer *n, json_ref v, int64_t low, int64_t high)
{
    int64_t value;
    json_ref zero;

    if (!json_int64(n->d, v, &value) || value < low || value > high)
        return false;
    if (value == 0 && !str_is(json_text(n->d, v), "0")) {
        zero = json_new_int(n->d, 0);
        if (zero)
            json_become(n->d, v, zero);
    }
    return true;
}

static int normalize_list(struct normalizer *n, const struct schema *s, const struct field *f, json_ref v);
static int normalize_map(struct normalizer *n, const struct schema *s, const struct field *f, json_ref v);

static int normalize_nested(struct normalizer *n, const struct field *f, json_ref v)
{
    int r;

    assert(n->depth < SCHEMA_DEPTH_MAX);
    n->path[n->depth++] = f->name;
    r = normalize_object(n, f->sub, v);
    n->depth--;
    return r;
}

/* Checks one value of field f and normalizes it. */
static int normalize_value(struct normalizer *n, const struct schema *s, const struct field *f,
                           enum field_type type, json_ref v)
{
    enum json_type have = json_type(n->d, v);
    bool ok = false;

    switch (type) {
    case FIELD_STRING:
        ok = have == JSON_STRING;
        break;
    case FIELD_BOOL:
        ok = have == JSON_TRUE || have == JSON_FALSE;
        break;
    case FIELD_INT32:
        ok = normalize_int(n, v, INT32_MIN, INT32_MAX);
        break;
    case FIELD_INT64:
        ok = normalize_int(n, v, INT64_MIN, INT64_MAX);
        break;
    case FIELD_INT_OR_STRING:
        ok = have == JSON_STRING || normalize_int(n, v, INT32_MIN, INT32_MAX);
        type = FIELD_INT32; /* anything that does not start like a string is read as a number */
        break;
    case FIELD_ANY:
        ok = true;
        break;
    case FIELD_QUANTITY:
        return normalize_quantity(n, v);
    case FIELD_TIME:
    case FIELD_MICRO_TIME:
        return normalize_time(n, s, f, v, type == FIELD_MICRO_TIME);
    case FIELD_BYTES:
        return normalize_bytes(n, s, f, type, v);
    case FIELD_OBJECT:
        return have == JSON_OBJECT ? normalize_nested(n, f, v) : normalize_mismatch(n, s, f, type, v);
    case FIELD_LIST:
        return have == JSON_ARRAY ? normalize_list(n, s, f, v) : normalize_mismatch(n, s, f, type, v);
    case FIELD_MAP:
        return have == JSON_OBJECT ? normalize_map(n, s, f, v) : normalize_mismatch(n, s, f, type, v);
    case FIELD_TYPE_COUNT:
        assert(!"not a type");
    }
    return ok ? 0 : normalize_mismatch(n, s, f, type, v);
}

/* The value of a null item: the zero value of its type. */
static json_ref json_new_zero(struct json *d, enum field_type type)
{
    switch (type) {
    case FIELD_BOOL:
        return json_new_bool(d, false);
    case FIELD_INT32:
    case FIELD_INT64:
    case FIELD_INT_OR_STRING:
        return json_new_int(d, 0);
    case FIELD_OBJECT:
    case FIELD_MAP:
        return json_new_object(d);
    case FIELD_LIST:
        return json_new_array(d);
    case FIELD_STRING:
    case FIELD_BYTES:
        return json_new_string(d, STR_LIT(""));
    case FIELD_QUANTITY:
        return json_new_string(d, STR_LIT("0"));
    case FIELD_TIME: /* an unset time is written as null */
    case FIELD_MICRO_TIME:
    case FIELD_ANY:
    case FIELD_TYPE_COUNT:
        break;
    }
    return json_new_null(d);
}

/* The items of a list, or the values of a map. */
static int normalize_items(struct normalizer *n, const struct schema *s, const struct field *f,
                           json_ref container)
{
    bool is_list_in_map = f->type == FIELD_MAP && json_type(n->d, container) == JSON_ARRAY;
    enum field_type type = is_list_in_map ? FIELD_STRING : f->item;

    for (json_ref item = json_first(n->d, container); item; item = json_next(n->d, item)) {
        if (json_type(n->d, item) == JSON_NULL && type != FIELD_ANY) {
            json_ref zero = json_new_zero(n->d, type);
            if (!zero)
                return json_check(n->d, n->err);
            json_become(n->d, item, zero);
            if (type == FIELD_LIST || type == FIELD_MAP)
                normalize_set_done(n, item);
            if (type != FIELD_OBJECT)
                continue;
        }
        int r = normalize_value(n, s, f, type, item);
        if (r < 0)
            return r;
    }
    return json_check(n->d, n->err);
}

static int normalize_list(struct normalizer *n, const struct schema *s, const struct field *f, json_ref v)
{
    int r = normalize_is_done(n, v) ? 0 : normalize_items(n, s, f, v);

    if (r == 0)
        normalize_set_done(n, v);
    return r;
}

static int normalize_map(struct normalizer *n, const struct schema *s, const struct field *f, json_ref v)
{
    int r = normalize_is_done(n, v) ? 0 : normalize_items(n, s, f, v);

    if (r < 0 || normalize_is_done(n, v))
        return r;
    json_sort_members(n->d, v);
    normalize_set_done(n, v);
    return json_check(n->d, n->err);
}

/* --- Objects --- */

/* Whether a field is written: *v is 0 if not; it may be a new value for fields that are always written. */
static void normalize_presence(struct normalizer *n, const struct field *f, json_ref *v)
{
    bool is_list = f->type == FIELD_LIST || f->type == FIELD_MAP;
    bool is_struct = f->type == FIELD_OBJECT || f->type == FIELD_ANY; /* {} is a value: emptyDir: {} */

    if (*v && (f->flags & FIELD_DROPPED))
        *v = 0;
    if (n->is_applied)
        return;
    if (*v && !is_struct && json_is_empty(n->d, *v) && !(f->flags & FIELD_ALWAYS) &&
        (is_list || !(f->flags & FIELD_POINTER)))
        *v = 0;
    if (!*v && (f->flags & FIELD_ALWAYS))
        *v = json_new_zero(n->d, f->type);
}

const struct field *schema_field(const struct schema *s, struct str name)
{
    for (const struct field *f = s->fields; f < s->fields + s->fields_count && name.len; f++)
        if (f->name[0] == name.s[0] && str_is(name, f->name))
            return f;
    return NULL;
}

/* The field of that name, searched from `from` on and then from the start: members are usually in order. */
static const struct field *field_from(const struct schema *s, const struct field *from, struct str name)
{
    for (const struct field *f = from; f < s->fields + s->fields_count && name.len; f++)
        if (f->name[0] == name.s[0] && str_is(name, f->name))
            return f;
    return from == s->fields ? NULL : schema_field(s, name);
}

/* Sorts the members by their fields, unknown ones after the known. Returns the number of unknown members. */
static uint32_t normalize_sort_out(struct normalizer *n, const struct schema *s, json_ref v, json_ref *slots,
                                   json_ref *others)
{
    const struct field *from = s->fields;
    uint32_t count = 0;

    for (json_ref m = json_first(n->d, v); m; m = json_next(n->d, m)) {
        const struct field *f = field_from(s, from, json_key(n->d, m));
        if (f) {
            slots[f - s->fields] = m;
            from = f + 1;
            continue;
        }
        if (!s->open) {
            normalize_note(n, (struct problem){ .at = m, .member = m });
            n->keeps_unknown |= !n->drop_unknown;
        }
        if (s->open || !n->drop_unknown)
            others[count++] = m;
    }
    return count;
}

static int normalize_fields(struct normalizer *n, const struct schema *s, json_ref v, json_ref *slots)
{
    for (const struct field *f = s->fields; f < s->fields + s->fields_count; f++) {
        json_ref *slot = &slots[f - s->fields];
        int r = 0;

        if (json_type(n->d, *slot) == JSON_NULL)
            *slot = 0;
        if (*slot)
            r = normalize_value(n, s, f, f->type, *slot);
        if (r < 0)
            return r;
        normalize_presence(n, f, slot);
        if (*slot && !json_parent(n->d, *slot)) {
            json_set(n->d, v, f->name, *slot);
            /* Some of its own fields may always be written. */
            if (f->type == FIELD_OBJECT || f->type == FIELD_LIST || f->type == FIELD_MAP)
                r = normalize_value(n, s, f, f->type, *slot);
            if (r < 0)
                return r;
        }
    }
    return json_check(n->d, n->err);
}

/* kept has room for the object's members and one more per field of the schema. */
static int normalize_members(struct normalizer *n, const struct schema *s, json_ref v, json_ref *kept)
{
    json_ref slots[SCHEMA_FIELDS_MAX];
    uint32_t fields = s->fields_count, count = 0, others;
    int r;

    assert(fields <= SCHEMA_FIELDS_MAX);
    memset(slots, 0, fields * sizeof *slots);
    others = normalize_sort_out(n, s, v, slots, kept + fields);
    r = normalize_fields(n, s, v, slots);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < fields; i++)
        if (slots[i])
            kept[count++] = slots[i];
    memmove(kept + count, kept + fields, others * sizeof *kept);
    json_keep_members(n->d, v, kept, count + others);
    normalize_set_done(n, v);
    return json_check(n->d, n->err);
}

static int normalize_object(struct normalizer *n, const struct schema *s, json_ref v)
{
    json_ref small[SCHEMA_FIELDS_MAX * 2], *large;
    size_t members = json_count(n->d, v);
    int r;

    if (normalize_is_done(n, v))
        return 0;
    if (members <= SCHEMA_FIELDS_MAX)
        return normalize_members(n, s, v, small);
    large = malloc((members + SCHEMA_FIELDS_MAX) * sizeof *large);
    if (!large)
        return error_no_memory(n->err);
    r = normalize_members(n, s, v, large);
    free(large);
    return r;
}

static int normalize_root(struct normalizer *n, const struct schema *s, json_ref v,
                          struct field_report *report)
{
    int r;

    if (json_type(n->d, v) != JSON_OBJECT)
        return error_set(n->err, ERR_BAD_REQUEST, "json: cannot unmarshal %s into Go value of type v1.%s",
                         json_type_name(json_type(n->d, v)), s->go_name);
    n->reporting = report != NULL;
    normalize_note_duplicates(n, v);
    r = normalize_object(n, s, v);
    if (r < 0)
        return r;
    if (report)
        normalize_write_report(n, report);
    return 0;
}

int schema_normalize(const struct schema *s, struct json *d, json_ref v, enum schema_unknown unknown,
                     struct field_report *report, struct error *err)
{
    struct normalizer n = { .d = d, .drop_unknown = unknown == SCHEMA_DROP_UNKNOWN, .err = err };

    return normalize_root(&n, s, v, report);
}

bool schema_is_normalized(const struct json *d, json_ref v)
{
    return json_is_canonical(d, v);
}

int schema_normalize_applied(const struct schema *s, struct json *d, json_ref v, enum schema_unknown unknown,
                             struct field_report *report, struct error *err)
{
    struct normalizer n = {
        .d = d,
        .drop_unknown = unknown == SCHEMA_DROP_UNKNOWN,
        .is_applied = true,
        .err = err,
    };

    return normalize_root(&n, s, v, report);
}
