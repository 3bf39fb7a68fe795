/* Parsing and reading of JSON documents. Compact texts are parsed by json_scan.c, all others by yajl.
 * Building and editing are in json_edit.c, writing in json_write.c. */
#include "api/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <yajl/yajl_parse.h>

#include "api/json_int.h"
#include "base/cleanup.h"

#define JSON_NODES_FIRST 128
/* Memory that json_clear() keeps for the next use: enough for writes of ordinary objects. A single large
 * request may need a hundred times as much. */
#define JSON_NODES_KEPT (1u << 16)
#define JSON_TEXT_BYTES_KEPT ((size_t)4 << 20)
/* Above this number of members sorting is faster than looking up each one. */
#define JSON_MEMBERS_SCAN_MAX 16

/* One run of the parser. Open containers are linked through their parents. */
struct json_parser {
    struct json *doc;
    yajl_handle yajl;
    char *text;     /* own copy; strings are decoded in place, independent of the parser */
    size_t done;    /* offset after the last token */
    json_ref inner; /* innermost open container */
    json_ref root;
    struct str key; /* key of the member whose value follows */
    uint32_t depth;
    const char *refusal; /* why we aborted the parser; NULL if yajl did */
    enum err refusal_code;
};

void json_init(struct json *d, size_t bytes_max)
{
    *d = (struct json){ .bytes_max = bytes_max < UINT32_MAX ? bytes_max : UINT32_MAX };
    /* Texts that are created by edits are added to the parsed texts. */
    d->texts = ARENA_INIT(d->bytes_max * 4);
}

void json_done(struct json *d)
{
    free(d->nodes);
    arena_done(&d->texts);
    json_init(d, d->bytes_max);
}

void json_clear(struct json *d)
{
    if (d->texts.taken > JSON_TEXT_BYTES_KEPT)
        arena_done(&d->texts);
    else
        arena_clear(&d->texts);
    if (d->cap > JSON_NODES_KEPT) {
        free(d->nodes);
        d->nodes = NULL;
        d->count = d->cap = 0;
    }
    d->count = d->count ? 1 : 0;
    d->duplicates_count = 0;
    d->has_marks = false;
    d->failed = ERR_NONE;
}

int json_check(const struct json *d, struct error *err)
{
    if (d->failed == ERR_NO_MEMORY)
        return error_no_memory(err);
    if (d->failed)
        return error_set(err, d->failed, "the JSON document is larger than %zu bytes", d->bytes_max);
    return 0;
}

bool json_grow_nodes(struct json *d)
{
    /* A value has at least two bytes of text; copies made by patches need some more. */
    uint64_t max = (uint64_t)d->bytes_max * 2 + JSON_NODES_FIRST;
    uint32_t cap = d->cap ? d->cap * 2 : JSON_NODES_FIRST;
    struct json_node *nodes;

    if (cap > max || cap < d->cap) {
        d->failed = ERR_TOO_LARGE;
        return false;
    }
    nodes = realloc(d->nodes, cap * sizeof *nodes);
    if (!nodes) {
        d->failed = ERR_NO_MEMORY;
        return false;
    }
    if (!d->count) {
        nodes[0] = (struct json_node){ .type = JSON_NONE };
        d->count = 1;
    }
    d->nodes = nodes;
    d->cap = cap;
    return true;
}

/* --- The parser's callbacks: 1 goes on, 0 stops --- */

static int json_refuse(struct json_parser *p, enum err code, const char *why)
{
    p->refusal = why;
    p->refusal_code = code;
    return 0;
}

static size_t json_consumed(const struct json_parser *p)
{
    return yajl_get_bytes_consumed(p->yajl);
}

/* Adds the value whose last byte was just consumed to the innermost container. */
static json_ref json_on_value(struct json_parser *p, enum json_type type)
{
    struct json *d = p->doc;
    json_ref v = json_add_node(d, type);

    if (!v) {
        (void)json_refuse(p, d->failed, "too many values");
        return 0;
    }
    p->done = json_consumed(p);
    d->nodes[v].key = p->key.s;
    d->nodes[v].key_len = (uint32_t)p->key.len;
    p->key = (struct str){ NULL, 0 };
    if (p->inner)
        json_link(d, p->inner, v);
    else
        p->root = v;
    return v;
}

static unsigned json_hex4(const char *s)
{
    unsigned value = 0;

    for (int i = 0; i < 4; i++) {
        unsigned char c = (unsigned char)s[i];
        value = value << 4 | (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return value;
}

static char *json_put_utf8(char *out, unsigned code)
{
    if (code < 0x80) {
        *out++ = (char)code;
    } else if (code < 0x800) {
        *out++ = (char)(0xC0 | code >> 6);
        *out++ = (char)(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        *out++ = (char)(0xE0 | code >> 12);
        *out++ = (char)(0x80 | (code >> 6 & 0x3F));
        *out++ = (char)(0x80 | (code & 0x3F));
    } else {
        *out++ = (char)(0xF0 | code >> 18);
        *out++ = (char)(0x80 | (code >> 12 & 0x3F));
        *out++ = (char)(0x80 | (code >> 6 & 0x3F));
        *out++ = (char)(0x80 | (code & 0x3F));
    }
    return out;
}

/* Decodes the \u escape at s (after the 'u') and advances *s. Unpaired surrogates become U+FFFD, as in Go's
 * decoder. */
static char *json_decode_u(const char **s, const char *end, char *out)
{
    unsigned code = json_hex4(*s);

    *s += 4;
    if (code >= 0xD800 && code < 0xE000) {
        unsigned low =
            code < 0xDC00 && end - *s >= 6 && (*s)[0] == '\\' && (*s)[1] == 'u' ? json_hex4(*s + 2) : 0;
        if (low >= 0xDC00 && low < 0xE000) {
            code = 0x10000 + ((code & 0x3FF) << 10) + (low & 0x3FF);
            *s += 6;
        } else {
            code = 0xFFFD;
        }
    }
    return json_put_utf8(out, code);
}

size_t json_decode_string(char *body, size_t len)
{
    const char *s = memchr(body, '\\', len);
    const char *end = body + len;
    char *out = body + (s ? (size_t)(s - body) : len);

    if (!s)
        return len;
    while (s < end) {
        if (*s != '\\') {
            *out++ = *s++;
            continue;
        }
        char c = s[1];
        s += 2;
        switch (c) {
        case 'u':
            out = json_decode_u(&s, end, out);
            break;
        case 'b':
            *out++ = '\b';
            break;
        case 'f':
            *out++ = '\f';
            break;
        case 'n':
            *out++ = '\n';
            break;
        case 'r':
            *out++ = '\r';
            break;
        case 't':
            *out++ = '\t';
            break;
        default:
            *out++ = c;
        }
    }
    return (size_t)(out - body);
}

/* The string literal that was just consumed, decoded. yajl passes a copy for literals with escapes; its
 * position in our text is between the previous token and the closing quote. */
static struct str json_literal(struct json_parser *p)
{
    size_t end = json_consumed(p) - 1;
    size_t start = p->done;

    while (p->text[start] != '"')
        start++;
    start++;
    assert(start <= end);
    assert(p->text[end] == '"');
    return (struct str){ p->text + start, json_decode_string(p->text + start, end - start) };
}

static int json_on_null(void *ctx)
{
    return json_on_value(ctx, JSON_NULL) != 0;
}

static int json_on_boolean(void *ctx, int value)
{
    return json_on_value(ctx, value ? JSON_TRUE : JSON_FALSE) != 0;
}

/* A number that a double cannot represent ("1e999") is rejected, as by Go's decoder. */
static bool json_number_fits(const char *s, size_t len)
{
    char text[JSON_NUMBER_BYTES_MAX + 1];

    if (len < 300 && !memchr(s, 'e', len) && !memchr(s, 'E', len))
        return true;
    memcpy(text, s, len);
    text[len] = '\0';
    return isfinite(strtod(text, NULL));
}

static int json_on_number(void *ctx, const char *s, size_t len)
{
    struct json_parser *p = ctx;
    json_ref v;

    if (len > JSON_NUMBER_BYTES_MAX || !json_number_fits(s, len))
        return json_refuse(p, ERR_BAD_REQUEST, "number out of range");
    v = json_on_value(p, JSON_NUMBER);
    if (!v)
        return 0;
    p->doc->nodes[v].text.s = s;
    p->doc->nodes[v].text.len = (uint32_t)len;
    return 1;
}

static int json_on_string(void *ctx, const unsigned char *s, size_t len)
{
    struct json_parser *p = ctx;
    struct str text = json_literal(p);
    json_ref v = json_on_value(p, JSON_STRING);

    (void)s; /* decoded by yajl: see json_decode_u() for the differences */
    (void)len;
    if (!v)
        return 0;
    p->doc->nodes[v].text.s = text.s;
    p->doc->nodes[v].text.len = (uint32_t)text.len;
    return 1;
}

static int json_on_key(void *ctx, const unsigned char *s, size_t len)
{
    struct json_parser *p = ctx;

    (void)s;
    (void)len;
    p->key = json_literal(p);
    p->done = json_consumed(p);
    return 1;
}

static int json_on_open(struct json_parser *p, enum json_type type)
{
    json_ref v;

    if (p->depth == JSON_DEPTH_MAX)
        return json_refuse(p, ERR_BAD_REQUEST, "exceeded max depth");
    v = json_on_value(p, type);
    if (!v)
        return 0;
    p->inner = v;
    p->depth++;
    return 1;
}

static int json_on_close(struct json_parser *p)
{
    p->done = json_consumed(p);
    p->inner = p->doc->nodes[p->inner].parent;
    p->depth--;
    return 1;
}

static bool json_same_key(const struct json_node *a, const struct json_node *b)
{
    return a->key_len == b->key_len && memcmp(a->key, b->key, a->key_len) == 0;
}

/* A dropped member keeps its parent, for the path in reports. */
static void json_note_duplicate(struct json *d, json_ref object, json_ref v)
{
    d->nodes[v].parent = object;
    d->nodes[v].next = 0;
    if (d->duplicates_count < JSON_DUPLICATES_MAX)
        d->duplicates[d->duplicates_count++] = v;
}

static bool json_has_later_duplicate(const struct json *d, json_ref v)
{
    for (json_ref later = d->nodes[v].next; later; later = d->nodes[later].next)
        if (json_same_key(&d->nodes[v], &d->nodes[later]))
            return true;
    return false;
}

/* Drops earlier duplicates by sorting, because quadratic searches in a large object would be a denial of
 * service. A duplicate is marked by clearing its parent; the others are linked again in their old order. */
static bool json_settle_many(struct json *d, json_ref object, uint32_t count)
{
    _cleanup_(freep) json_ref *sorted = json_sorted_members(d, object);
    bool has_duplicates = false;

    if (!sorted) {
        d->failed = ERR_NO_MEMORY;
        return false;
    }
    for (uint32_t i = 0; i + 1 < count; i++) {
        if (json_same_key(&d->nodes[sorted[i]], &d->nodes[sorted[i + 1]])) {
            d->nodes[sorted[i]].parent = 0;
            has_duplicates = true;
        }
    }
    if (!has_duplicates)
        return true;
    json_ref v = d->nodes[object].child.first;
    d->nodes[object].child.first = d->nodes[object].child.last = 0;
    d->nodes[object].child.count = 0;
    while (v) {
        json_ref next = d->nodes[v].next;
        if (d->nodes[v].parent) {
            d->nodes[v].parent = 0;
            json_link(d, object, v);
        } else {
            json_note_duplicate(d, object, v);
        }
        v = next;
    }
    return true;
}

bool json_settle_duplicates(struct json *d, json_ref object)
{
    uint32_t count = d->nodes[object].child.count;
    json_ref v = d->nodes[object].child.first;

    if (count > JSON_MEMBERS_SCAN_MAX)
        return json_settle_many(d, object, count);
    while (v) {
        json_ref next = d->nodes[v].next;
        if (json_has_later_duplicate(d, v)) {
            json_unlink(d, v);
            json_note_duplicate(d, object, v);
        }
        v = next;
    }
    return true;
}

static int json_on_start_map(void *ctx)
{
    return json_on_open(ctx, JSON_OBJECT);
}

static int json_on_end_map(void *ctx)
{
    struct json_parser *p = ctx;

    if (!json_settle_duplicates(p->doc, p->inner))
        return json_refuse(p, p->doc->failed, "no memory");
    return json_on_close(p);
}

static int json_on_start_array(void *ctx)
{
    return json_on_open(ctx, JSON_ARRAY);
}

static int json_on_end_array(void *ctx)
{
    return json_on_close(ctx);
}

static const yajl_callbacks json_callbacks = {
    .yajl_null = json_on_null,
    .yajl_boolean = json_on_boolean,
    .yajl_number = json_on_number,
    .yajl_string = json_on_string,
    .yajl_start_map = json_on_start_map,
    .yajl_map_key = json_on_key,
    .yajl_end_map = json_on_end_map,
    .yajl_start_array = json_on_start_array,
    .yajl_end_array = json_on_end_array,
};

/* Reports the position and the reason: of the parser, or a limit of ours. */
static int json_parse_error(struct json_parser *p, yajl_status status, size_t offset, struct error *err)
{
    _cleanup_(buf_done_p) struct buf where = BUF_INIT(ERROR_MSG_BYTES_MAX / 2);
    const char *what = p->refusal;
    size_t what_len = what ? strlen(what) : 0;
    unsigned char *text = NULL;

    if (p->doc->failed)
        return json_check(p->doc, err);
    if (!what) {
        text = yajl_get_error(p->yajl, /* verbose= */ 0, NULL, 0);
        what = text ? (const char *)text : yajl_status_to_string(status);
        what_len = strcspn(what, "\n");
    }
    json_path_text(p->doc, p->inner, &where);
    if (p->key.s) {
        buf_add_cstr(&where, where.len ? "." : "");
        buf_add_str(&where, p->key);
    }
    (void)error_set(err, p->refusal ? p->refusal_code : ERR_BAD_REQUEST, "offset %zu%s%s: %.*s", offset,
                    where.len ? ", in " : "", buf_cstr(&where), (int)what_len, what);
    if (text)
        yajl_free_error(p->yajl, text);
    return -(int)err->code;
}

static int json_run_parser(struct json_parser *p, size_t len, struct error *err)
{
    yajl_status status = yajl_parse(p->yajl, (const unsigned char *)p->text, len);
    size_t offset =
        json_consumed(p) < len ? json_consumed(p) : len - 1; /* the added line end is not part of the text */

    if (status == yajl_status_ok)
        status = yajl_complete_parse(p->yajl);
    if (status != yajl_status_ok)
        return json_parse_error(p, status, offset, err);
    assert(p->root);
    return 0;
}

/* yajl accepts vertical tabs and form feeds as white space, which JSON does not allow; inside strings yajl
 * rejects them itself. */
static int json_check_blanks(struct str text, struct error *err)
{
    const char *at = text.len ? memchr(text.s, '\v', text.len) : NULL;

    if (!at && text.len)
        at = memchr(text.s, '\f', text.len);
    if (at)
        return error_set(err, ERR_BAD_REQUEST, "offset %zu: lexical error: invalid char in json text.",
                         (size_t)(at - text.s));
    return 0;
}

static int json_refuse_utf8(struct str text, struct error *err)
{
    struct str rest = text;
    size_t len;

    while ((len = str_utf8_first(rest)))
        rest = (struct str){ rest.s + len, rest.len - len };
    return error_set(err, ERR_BAD_REQUEST, "offset %zu: the JSON text is not valid UTF-8",
                     text.len - rest.len);
}

int json_parse(struct json *d, struct str text, json_ref *ret, struct error *err)
{
    struct json_parser p = { .doc = d };
    int r;

    if (text.len > d->bytes_max)
        return error_set(err, ERR_TOO_LARGE, "the JSON text has %zu bytes, the limit is %zu", text.len,
                         d->bytes_max);
    if (!str_is_utf8(text))
        return json_refuse_utf8(text, err);
    p.text = arena_dup(&d->texts, text);
    if (!p.text)
        return arena_check(&d->texts, err);
    p.text[text.len] = '\n'; /* so that a number at the very end is complete */
    if (json_scan(d, p.text, text.len, ret))
        return 0;
    r = json_check(d, err);
    if (r == 0)
        r = json_check_blanks(text, err);
    if (r < 0)
        return r;
    if (text.len)
        memcpy(p.text, text.s, text.len); /* restores what the scan decoded in place */
    p.yajl = yajl_alloc(&json_callbacks, NULL, &p);
    if (!p.yajl)
        return error_no_memory(err);
    (void)yajl_config(p.yajl, yajl_dont_validate_strings, 1); /* already validated, more strictly */
    r = json_run_parser(&p, text.len + 1, err);
    yajl_free(p.yajl);
    if (r < 0)
        return r;
    *ret = p.root;
    return 0;
}

/* --- Reading --- */

const char *json_type_name(enum json_type type)
{
    static const char *const names[] = {
        [JSON_NONE] = "nothing",  [JSON_NULL] = "null",     [JSON_FALSE] = "bool",  [JSON_TRUE] = "bool",
        [JSON_NUMBER] = "number", [JSON_STRING] = "string", [JSON_ARRAY] = "array", [JSON_OBJECT] = "object",
    };
    return names[type];
}

json_ref json_get_key(const struct json *d, json_ref object, struct str key)
{
    const struct json_node *o = json_read(d, object);

    if (o->type != JSON_OBJECT)
        return 0;
    for (json_ref v = o->child.first; v; v = d->nodes[v].next)
        if (d->nodes[v].key_len == key.len && memcmp(d->nodes[v].key, key.s, key.len) == 0)
            return v;
    return 0;
}

json_ref json_path_(const struct json *d, json_ref v, const char *const *keys)
{
    while (*keys && v)
        v = json_get(d, v, *keys++);
    return v;
}

json_ref json_at(const struct json *d, json_ref array, uint32_t index)
{
    json_ref v = json_type(d, array) == JSON_ARRAY ? json_first(d, array) : 0;

    while (v && index--)
        v = d->nodes[v].next;
    return v;
}

bool json_is_string(const struct json *d, json_ref v, const char *text)
{
    return json_type(d, v) == JSON_STRING && str_is(json_text(d, v), text);
}

bool json_int64(const struct json *d, json_ref v, int64_t *ret)
{
    return json_type(d, v) == JSON_NUMBER && str_to_int64(json_text(d, v), ret);
}

/* Containers of which only the sizes were compared so far. They are kept in a list, so that depth needs no
 * stack. */
struct json_pairs {
    struct json_pair {
        json_ref a, b;
    } * items;
    size_t count;
    size_t cap;
};

/* Compares what can be compared immediately, and adds the rest to the list. */
static bool json_equal_or_later(const struct json *d, json_ref a, json_ref b, struct json_pairs *later)
{
    const struct json_node *node = json_read(d, a), *y = json_read(d, b);

    if (a == b)
        return true;
    if (node->type != y->type)
        return false;
    if (node->type == JSON_STRING || node->type == JSON_NUMBER)
        return str_eq(json_text(d, a), json_text(d, b));
    if (!json_is_container(node))
        return true;
    if (node->child.count != y->child.count)
        return false;
    if (later->count == later->cap) {
        size_t cap = later->cap ? later->cap * 2 : 16;
        struct json_pair *items = realloc(later->items, cap * sizeof *items);
        if (!items)
            return false;
        later->items = items;
        later->cap = cap;
    }
    later->items[later->count++] = (struct json_pair){ a, b };
    return true;
}

static bool json_equal_objects(const struct json *d, json_ref a, json_ref b, struct json_pairs *later)
{
    uint32_t count = json_count(d, a);

    if (count <= JSON_MEMBERS_SCAN_MAX) {
        json_ref at = json_first(d, b); /* usually the members have the same order */
        for (json_ref v = json_first(d, a); v; v = json_next(d, v)) {
            json_ref other =
                at && str_eq(json_key(d, at), json_key(d, v)) ? at : json_get_key(d, b, json_key(d, v));
            if (!other || !json_equal_or_later(d, v, other, later))
                return false;
            at = json_next(d, other);
        }
        return true;
    }
    _cleanup_(freep) json_ref *left = json_sorted_members(d, a);
    _cleanup_(freep) json_ref *right = json_sorted_members(d, b);
    for (uint32_t i = 0; i < count; i++)
        if (!left || !right || !str_eq(json_key(d, left[i]), json_key(d, right[i])) ||
            !json_equal_or_later(d, left[i], right[i], later))
            return false;
    return true;
}

static bool json_equal_arrays(const struct json *d, json_ref a, json_ref b, struct json_pairs *later)
{
    json_ref w = json_first(d, b);

    for (json_ref v = json_first(d, a); v; v = json_next(d, v), w = json_next(d, w))
        if (!json_equal_or_later(d, v, w, later))
            return false;
    return true;
}

bool json_equal(const struct json *d, json_ref a, json_ref b)
{
    struct json_pairs later = { .items = NULL };
    bool equal = json_equal_or_later(d, a, b, &later);

    while (equal && later.count) {
        struct json_pair p = later.items[--later.count];
        equal = json_type(d, p.a) == JSON_OBJECT ? json_equal_objects(d, p.a, p.b, &later)
                                                 : json_equal_arrays(d, p.a, p.b, &later);
    }
    free(later.items);
    return equal;
}

static bool json_is_same_node(const struct json_node *a, const struct json_node *b)
{
    if (a->type != b->type)
        return false;
    if (json_is_container(a))
        return a->child.count == b->child.count;
    return a->type < JSON_NUMBER ||
           (a->text.len == b->text.len && memcmp(a->text.s, b->text.s, a->text.len) == 0);
}

bool json_is_same(const struct json *d, json_ref a, json_ref b)
{
    json_ref v = a, u = b;

    if (!a || !b)
        return a == b;
    while (json_is_same_node(&d->nodes[v], &d->nodes[u])) {
        if (json_first(d, v)) {
            v = d->nodes[v].child.first;
            u = d->nodes[u].child.first;
        } else {
            while (v != a && !d->nodes[v].next) {
                v = d->nodes[v].parent;
                u = d->nodes[u].parent;
            }
            if (v == a)
                return true;
            v = d->nodes[v].next;
            u = d->nodes[u].next;
        }
        if (d->nodes[v].key && !json_same_key(&d->nodes[v], &d->nodes[u]))
            return false;
    }
    return false;
}

bool json_is_empty(const struct json *d, json_ref v)
{
    switch (json_type(d, v)) {
    case JSON_STRING:
        return json_text(d, v).len == 0;
    case JSON_NUMBER:
        return str_is(json_text(d, v), "0");
    case JSON_ARRAY:
    case JSON_OBJECT:
        return json_count(d, v) == 0;
    case JSON_FALSE:
    case JSON_NULL:
    case JSON_NONE:
        return true;
    case JSON_TRUE:
        break;
    }
    return false;
}

static uint32_t json_index_in_parent(const struct json *d, json_ref v)
{
    uint32_t index = 0;

    for (json_ref at = d->nodes[d->nodes[v].parent].child.first; at && at != v; at = d->nodes[at].next)
        index++;
    return index;
}

/* Deep paths show only their last JSON_PATH_STEPS_MAX steps. */
#define JSON_PATH_STEPS_MAX 64

void json_path_text(const struct json *d, json_ref v, struct buf *out)
{
    json_ref steps[JSON_PATH_STEPS_MAX];
    uint32_t count = 0;
    size_t before = out->len;

    for (; v && d->nodes[v].parent && count < JSON_PATH_STEPS_MAX; v = d->nodes[v].parent)
        steps[count++] = v;
    while (count--) {
        const struct json_node *n = &d->nodes[steps[count]];
        if (d->nodes[n->parent].type == JSON_ARRAY) {
            buf_addf(out, "[%u]", json_index_in_parent(d, steps[count]));
        } else {
            buf_add_cstr(out, out->len > before ? "." : "");
            buf_add(out, n->key, n->key_len);
        }
    }
}

uint32_t json_duplicates(const struct json *d, const json_ref **ret)
{
    *ret = d->duplicates;
    return d->duplicates_count;
}
