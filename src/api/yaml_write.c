/* Writes YAML: the tree's values as libyaml events. go-yaml's emitter is a port of libyaml, so that the
 * format equals kubectl's, including folding at 80 columns; only the style of strings is decided here. Trees
 * are walked through their links, without recursion. */
#include "api/yaml.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "api/json_int.h"
#include "api/yaml_int.h"
#include "base/cleanup.h"
#include "base/vec.h"

static int yaml_write_bytes(void *ctx, unsigned char *bytes, size_t len)
{
    struct buf *out = ctx;

    buf_add(out, bytes, len);
    return !out->failed;
}

/* All of these return 1, or 0 after a failure, like libyaml. The emitter takes over the event, even after a
 * failure. */

static int yaml_emit_scalar(yaml_emitter_t *e, struct str text, yaml_scalar_style_t style)
{
    yaml_event_t event;

    return text.len <= INT_MAX &&
           yaml_scalar_event_initialize(&event, NULL, NULL, (const unsigned char *)text.s, (int)text.len,
                                        /* plain_implicit= */ 1, /* quoted_implicit= */ 1, style) &&
           yaml_emitter_emit(e, &event);
}

/* Several lines become a literal block, ambiguous strings are double-quoted; the emitter quotes what syntax
 * requires. */
static int yaml_emit_string(yaml_emitter_t *e, struct str text, bool is_key)
{
    yaml_scalar_style_t style = YAML_PLAIN_SCALAR_STYLE;

    if (memchr(text.s, '\n', text.len))
        style = YAML_LITERAL_SCALAR_STYLE;
    else if (yaml_is_ambiguous(text) ||
             (is_key && str_is(text, "<<"))) /* kubectl does not quote `<<`: it would merge */
        style = YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    return yaml_emit_scalar(e, text, style);
}

static int yaml_emit_open(yaml_emitter_t *e, bool is_map)
{
    yaml_event_t event;

    return (is_map ? yaml_mapping_start_event_initialize(&event, NULL, NULL, /* implicit= */ 1,
                                                         YAML_BLOCK_MAPPING_STYLE)
                   : yaml_sequence_start_event_initialize(&event, NULL, NULL, /* implicit= */ 1,
                                                          YAML_BLOCK_SEQUENCE_STYLE)) &&
           yaml_emitter_emit(e, &event);
}

static int yaml_emit_close(yaml_emitter_t *e, bool is_map)
{
    yaml_event_t event;

    return (is_map ? yaml_mapping_end_event_initialize(&event)
                   : yaml_sequence_end_event_initialize(&event)) &&
           yaml_emitter_emit(e, &event);
}

static int yaml_emit_value(yaml_emitter_t *e, const struct json *d, json_ref v)
{
    switch (json_type(d, v)) {
    case JSON_STRING:
        return yaml_emit_string(e, json_text(d, v), /* is_key= */ false);
    case JSON_NUMBER:
        return yaml_emit_scalar(e, json_text(d, v), YAML_PLAIN_SCALAR_STYLE);
    case JSON_TRUE:
        return yaml_emit_scalar(e, STR_LIT("true"), YAML_PLAIN_SCALAR_STYLE);
    case JSON_FALSE:
        return yaml_emit_scalar(e, STR_LIT("false"), YAML_PLAIN_SCALAR_STYLE);
    case JSON_NULL:
    case JSON_NONE:
        break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        return yaml_emit_open(e, json_type(d, v) == JSON_OBJECT);
    }
    return yaml_emit_scalar(e, STR_LIT("null"), YAML_PLAIN_SCALAR_STYLE);
}

static int yaml_emit_tree(yaml_emitter_t *e, const struct json *d, json_ref top)
{
    json_ref v = top;

    for (;;) {
        if (v != top && json_node(d, v)->key && !yaml_emit_string(e, json_key(d, v), /* is_key= */ true))
            return 0;
        if (!yaml_emit_value(e, d, v))
            return 0;
        if (json_first(d, v)) {
            v = json_first(d, v);
            continue;
        }
        if (json_type(d, v) >= JSON_ARRAY && !yaml_emit_close(e, json_type(d, v) == JSON_OBJECT))
            return 0;
        while (v != top && !json_next(d, v)) {
            v = json_parent(d, v);
            if (!yaml_emit_close(e, json_type(d, v) == JSON_OBJECT))
                return 0;
        }
        if (v == top)
            return 1;
        v = json_next(d, v);
    }
}

static int yaml_emit_document(yaml_emitter_t *e, const struct json *d, json_ref v)
{
    yaml_event_t event;

    if (!yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING) || !yaml_emitter_emit(e, &event) ||
        !yaml_document_start_event_initialize(&event, NULL, NULL, NULL, /* implicit= */ 1) ||
        !yaml_emitter_emit(e, &event) || !yaml_emit_tree(e, d, v) ||
        !yaml_document_end_event_initialize(&event, /* implicit= */ 1) || !yaml_emitter_emit(e, &event))
        return 0;
    e->open_ended = 0; /* no "..." after a block that keeps its last newlines */
    return yaml_stream_end_event_initialize(&event) && yaml_emitter_emit(e, &event);
}

int yaml_write(const struct json *d, json_ref v, struct buf *out, struct error *err)
{
    yaml_emitter_t emitter;
    int ok;

    if (!yaml_emitter_initialize(&emitter))
        return error_no_memory(err);
    yaml_emitter_set_output(&emitter, yaml_write_bytes, out);
    yaml_emitter_set_unicode(&emitter, 1);
    ok = yaml_emit_document(&emitter, d, v);
    yaml_emitter_delete(&emitter);
    if (out->failed)
        return buf_check(out, "YAML text", err);
    return ok ? 0 : error_no_memory(err); /* nothing else can fail: the tree's texts are UTF-8 */
}

/* --- Sorting --- */

static bool yaml_is_digit(struct str s)
{
    return s.len && s.s[0] >= '0' && s.s[0] <= '9';
}

/* Signs, digits, letters; non-ASCII characters count as letters. */
static int yaml_char_class(unsigned char c)
{
    if (c >= 0x80 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
        return 2;
    return c >= '0' && c <= '9' ? 1 : 0;
}

static struct str yaml_take_run(struct str *s)
{
    struct str run = { s->s, 0 };

    for (; yaml_is_digit(*s); run.len++)
        *s = (struct str){ s->s + 1, s->len - 1 };
    return run;
}

/* By value; equal values by length: 1, 01, 001, 2, 10. */
static int yaml_compare_runs(struct str a, struct str b)
{
    struct str x = a, y = b;

    while (x.len && x.s[0] == '0')
        x = (struct str){ x.s + 1, x.len - 1 };
    while (y.len && y.s[0] == '0')
        y = (struct str){ y.s + 1, y.len - 1 };
    if (x.len != y.len)
        return x.len < y.len ? -1 : 1;
    int r = str_cmp(x, y);
    return r ? r : (a.len > b.len) - (a.len < b.len);
}

static int yaml_compare_keys(struct str a, struct str b)
{
    while (a.len && b.len) {
        if (yaml_is_digit(a) && yaml_is_digit(b)) {
            int r = yaml_compare_runs(yaml_take_run(&a), yaml_take_run(&b));
            if (r)
                return r;
            continue;
        }
        unsigned char x = (unsigned char)a.s[0], y = (unsigned char)b.s[0];
        if (x != y) {
            int by_class = yaml_char_class(x) - yaml_char_class(y);
            return by_class ? by_class : x - y;
        }
        a = (struct str){ a.s + 1, a.len - 1 };
        b = (struct str){ b.s + 1, b.len - 1 };
    }
    return (a.len > 0) - (b.len > 0);
}

static int yaml_compare_members(const void *a, const void *b, void *ctx)
{
    const struct json *d = ctx;

    return yaml_compare_keys(json_key(d, *(const json_ref *)a), json_key(d, *(const json_ref *)b));
}

static void yaml_sort_object(struct json *d, json_ref object)
{
    _cleanup_(vec_done_p) VEC(json_ref) members = { 0 };

    for (json_ref v = json_first(d, object); v && !d->failed; v = json_next(d, v))
        if (vec_push(&members, v) < 0)
            d->failed = ERR_NO_MEMORY;
    if (d->failed || members.count < 2)
        return;
    qsort_r(members.items, members.count, sizeof *members.items, yaml_compare_members, d);
    json_keep_members(d, object, members.items, (uint32_t)members.count);
}

void yaml_sort(struct json *d, json_ref v)
{
    json_ref at = v;

    while (at && !d->failed) {
        if (json_type(d, at) == JSON_OBJECT)
            yaml_sort_object(d, at);
        if (json_first(d, at)) {
            at = json_first(d, at);
            continue;
        }
        while (at != v && !json_next(d, at))
            at = json_parent(d, at);
        at = at == v ? 0 : json_next(d, at);
    }
}
