/* Builds a JSON tree from YAML events: keys, anchors, aliases, merges, and their limits.
 *
 * Open containers are a stack of frames; a container is linked into its parent when it opens, so that an
 * error can name its path. An alias is a copy of the tree of its anchor, made immediately after its cost was
 * checked: the size of an anchored value (nodes, bytes, height) is known when it is closed, and an open one
 * cannot be copied.
 *
 * `<<` copies the members of its value to its place. As in kubectl, the last one wins, so that a merge after
 * a key replaces its value; two explicit equal keys are an error. */
#include "api/yaml_int.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "api/json_int.h"
#include "base/cleanup.h"

/* Up to this number comparing all pairs is faster than sorting. */
#define YAML_MEMBERS_SCAN_MAX 16
/* Small documents may consist of aliases. */
#define YAML_ALIAS_NODES_FREE 1000

void yaml_build_start(struct yaml_builder *b, struct json *d)
{
    b->doc = d;
    b->root = 0;
    b->first = d->count ? d->count : 1;
    b->line = 0;
    vec_clear(&b->marks);
    vec_clear(&b->anchors);
    b->bytes = 0;
    b->own_nodes = 0;
    b->alias_nodes = 0;
    b->depth = 0;
}

void yaml_build_done(struct yaml_builder *b)
{
    vec_done(&b->marks);
    vec_done(&b->anchors);
}

static struct yaml_frame *yaml_top(struct yaml_builder *b)
{
    return b->depth ? &b->frames[b->depth - 1] : NULL;
}

static bool yaml_key_is_due(const struct yaml_frame *f)
{
    return f && f->is_map && !f->key.s;
}

int yaml_refuse(const struct yaml_builder *b, enum err code, struct yaml_at at, struct error *err,
                const char *fmt, ...)
{
    _cleanup_(buf_done_p) struct buf where = BUF_INIT(ERROR_MSG_BYTES_MAX / 2);
    const struct yaml_frame *f = b->depth ? &b->frames[b->depth - 1] : NULL;
    char what[ERROR_MSG_BYTES_MAX];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(what, sizeof what, fmt, args); /* a long message may be cut */
    va_end(args);
    if (f)
        json_path_text(b->doc, f->node, &where);
    if (f && f->key.s) {
        buf_add_cstr(&where, where.len ? "." : "");
        buf_add_str(&where, f->key);
    }
    return error_set(err, code, "line %u, column %u%s%s: %s", at.line, at.column, where.len ? ", in " : "",
                     buf_cstr(&where), what);
}

static int yaml_charge(struct yaml_builder *b, size_t bytes, struct yaml_at at, struct error *err)
{
    b->bytes += bytes;
    if (b->bytes > b->doc->bytes_max)
        return yaml_refuse(b, ERR_TOO_LARGE, at, err, "the document is larger than %zu bytes",
                           b->doc->bytes_max);
    return 0;
}

static int yaml_charge_copy(struct yaml_builder *b, uint32_t nodes, size_t bytes, struct yaml_at at,
                            struct error *err)
{
    b->alias_nodes += nodes;
    if (b->alias_nodes > YAML_ALIAS_NODES_MAX ||
        (b->alias_nodes > YAML_ALIAS_NODES_FREE && b->alias_nodes / YAML_ALIAS_RATIO_MAX > b->own_nodes))
        return yaml_refuse(b, ERR_TOO_LARGE, at, err, "document contains excessive aliasing");
    return yaml_charge(b, bytes, at, err);
}

/* --- Positions of members --- */

static int yaml_mark(struct yaml_builder *b, json_ref v, struct yaml_at at, struct error *err)
{
    size_t index = v - b->first;

    assert(index >= b->marks.count); /* values are attached in the order of their creation */
    if (vec_reserve(&b->marks, index + 1 - b->marks.count) < 0)
        return error_no_memory(err);
    while (b->marks.count < index)
        b->marks.items[b->marks.count++] = (struct yaml_at){ 0, 0 };
    b->marks.items[b->marks.count++] = at;
    return 0;
}

/* No position for members from a merge. */
static struct yaml_at yaml_mark_of(const struct yaml_builder *b, json_ref v)
{
    size_t index = v - b->first;

    return index < b->marks.count ? b->marks.items[index] : (struct yaml_at){ 0, 0 };
}

/* --- Anchors --- */

/* The position of the name in the sorted array, or where it would be inserted. */
static size_t yaml_anchor_place(const struct yaml_builder *b, struct str name, bool *found)
{
    size_t low = 0, high = b->anchors.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = str_cmp(b->anchors.items[middle].name, name);
        if (order == 0) {
            *found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *found = false;
    return low;
}

/* The name refers to this anchor from now on; names may be reused. */
static int yaml_set_anchor(struct yaml_builder *b, struct yaml_anchor anchor, struct yaml_at at,
                           struct error *err)
{
    bool found;
    size_t place = yaml_anchor_place(b, anchor.name, &found);

    if (found) {
        b->anchors.items[place] = anchor;
        return 0;
    }
    if (b->anchors.count == YAML_ANCHORS_MAX)
        return yaml_refuse(b, ERR_TOO_LARGE, at, err, "more than %d anchors in a document", YAML_ANCHORS_MAX);
    return vec_insert(&b->anchors, place, anchor) < 0 ? error_no_memory(err) : 0;
}

/* Records the anchor of a value that opens or is a scalar; its size is set when it is closed. */
static int yaml_name_anchor(struct yaml_builder *b, const char *name, struct yaml_anchor anchor,
                            struct yaml_at at, struct str *ret, struct error *err)
{
    char *copy = arena_dup(&b->doc->texts, str_of(name));

    if (!copy)
        return arena_check(&b->doc->texts, err);
    *ret = anchor.name = str_of(copy);
    return yaml_set_anchor(b, anchor, at, err);
}

/* --- Values --- */

/* Adds a new value to the innermost container, or makes it the root. */
static int yaml_attach(struct yaml_builder *b, json_ref v, struct yaml_at at, struct error *err)
{
    struct yaml_frame *f = yaml_top(b);
    struct json_node *n;

    if (!v)
        return json_check(b->doc, err);
    b->own_nodes++;
    if (!f) {
        b->root = v;
        b->line = at.line;
        return 0;
    }
    n = &b->doc->nodes[v];
    n->key = f->is_map ? f->key.s : NULL;
    n->key_len = f->is_map ? (uint32_t)f->key.len : 0;
    if (f->merges)
        n->parent = f->node; /* for paths; it is not a member */
    else
        json_link(b->doc, f->node, v);
    return f->is_map ? yaml_mark(b, v, f->key_at, err) : 0;
}

static int yaml_copy_members(struct yaml_builder *b, json_ref source, struct error *err)
{
    json_ref object = yaml_top(b)->node;

    for (json_ref m = json_first(b->doc, source); m; m = json_next(b->doc, m)) {
        json_ref copy = json_copy(b->doc, m);
        if (!copy)
            return json_check(b->doc, err);
        json_link(b->doc, object, copy);
    }
    return 0;
}

/* The first mapping of a list wins: it is merged last. */
static int yaml_merge_list(struct yaml_builder *b, json_ref list, struct error *err)
{
    _cleanup_(vec_done_p) VEC(json_ref) items = { 0 };
    int r = 0;

    for (json_ref v = json_first(b->doc, list); v; v = json_next(b->doc, v))
        if (vec_push(&items, v) < 0)
            return error_no_memory(err);
    while (items.count && r == 0)
        r = yaml_copy_members(b, items.items[--items.count], err);
    return r;
}

static bool yaml_can_merge(const struct json *d, json_ref v)
{
    if (json_type(d, v) != JSON_ARRAY)
        return json_type(d, v) == JSON_OBJECT;
    for (json_ref item = json_first(d, v); item; item = json_next(d, item))
        if (json_type(d, item) != JSON_OBJECT)
            return false;
    return true;
}

static int yaml_merge(struct yaml_builder *b, const struct yaml_anchor *source, struct error *err)
{
    struct yaml_frame *f = yaml_top(b);
    int r;

    if (!yaml_can_merge(b->doc, source->node))
        return yaml_refuse(b, ERR_BAD_REQUEST, f->key_at, err,
                           "map merge requires map or sequence of maps as the value");
    r = yaml_charge_copy(b, source->nodes, source->bytes, f->key_at, err);
    if (r < 0)
        return r;
    if (f->below + 1 < source->height)
        f->below = source->height - 1;
    return json_type(b->doc, source->node) == JSON_ARRAY ? yaml_merge_list(b, source->node, err)
                                                         : yaml_copy_members(b, source->node, err);
}

/* The innermost container has a complete value. */
static int yaml_complete(struct yaml_builder *b, const struct yaml_anchor *value, struct error *err)
{
    struct yaml_frame *f = yaml_top(b);
    int r = 0;

    if (!f)
        return 0;
    if (f->merges)
        r = yaml_merge(b, value, err);
    else if (f->below < value->height)
        f->below = value->height;
    f->key.s = NULL;
    f->merges = false;
    return r;
}

static json_ref yaml_new_scalar(struct json *d, const struct yaml_scalar *s)
{
    switch (s->kind) {
    case YAML_KIND_NULL:
        return json_new_null(d);
    case YAML_KIND_BOOL:
        return json_new_bool(d, s->truth);
    case YAML_KIND_INT:
    case YAML_KIND_FLOAT:
    case YAML_KIND_NOT_FINITE: /* rejected before, except for keys, which need no node */
        return json_new_number(d, str_of(s->number));
    case YAML_KIND_STRING:
    case YAML_KIND_TIMESTAMP:
    case YAML_KIND_COUNT:
        break;
    }
    return json_new_string(d, s->text);
}

static int yaml_set_key(struct yaml_builder *b, const struct yaml_scalar *s, struct yaml_at at,
                        struct error *err)
{
    struct yaml_frame *f = yaml_top(b);
    char number[YAML_KEY_BYTES_MAX];
    struct str key = s->text;
    char *copy;

    if (s->kind == YAML_KIND_NULL)
        return yaml_refuse(b, ERR_BAD_REQUEST, at, err, "null cannot be a map key");
    if (s->kind == YAML_KIND_BOOL) {
        key = str_of(s->truth ? "true" : "false");
    } else if (s->kind != YAML_KIND_STRING && s->kind != YAML_KIND_TIMESTAMP) {
        yaml_number_key(s, number);
        key = str_of(number);
    }
    copy = arena_dup(&b->doc->texts, key);
    if (!copy)
        return arena_check(&b->doc->texts, err);
    f->key = (struct str){ copy, key.len };
    f->key_at = at;
    f->merges = s->merges;
    return yaml_charge(b, key.len, at, err);
}

/* A key with an anchor: the copy for aliases is in no container. */
static int yaml_name_key(struct yaml_builder *b, const struct yaml_scalar *s, const char *name,
                         struct yaml_at at, struct error *err)
{
    struct yaml_anchor anchor = { .node = yaml_new_scalar(b->doc, s), .nodes = 1, .bytes = s->text.len + 1 };
    struct str unused;

    return anchor.node ? yaml_name_anchor(b, name, anchor, at, &unused, err) : json_check(b->doc, err);
}

int yaml_build_scalar(struct yaml_builder *b, const struct yaml_scalar *s, const char *anchor,
                      struct yaml_at at, struct error *err)
{
    struct yaml_anchor value = { .nodes = 1, .bytes = s->text.len + 1 };
    int r = 0;

    if (s->kind == YAML_KIND_NOT_FINITE && (anchor || !yaml_key_is_due(yaml_top(b))))
        return yaml_refuse(b, ERR_BAD_REQUEST, at, err, "unsupported value: %s is not a JSON number",
                           s->number);
    if (yaml_key_is_due(yaml_top(b))) {
        if (anchor)
            r = yaml_name_key(b, s, anchor, at, err);
        return r < 0 ? r : yaml_set_key(b, s, at, err);
    }
    r = yaml_charge(b, value.bytes, at, err);
    if (r < 0)
        return r;
    value.node = yaml_new_scalar(b->doc, s);
    r = yaml_attach(b, value.node, at, err);
    if (r == 0 && anchor)
        r = yaml_name_anchor(b, anchor, value, at, &value.name, err);
    return r < 0 ? r : yaml_complete(b, &value, err);
}

int yaml_build_open(struct yaml_builder *b, enum json_type type, const char *anchor, struct yaml_at at,
                    struct error *err)
{
    struct yaml_frame frame = { .is_map = type == JSON_OBJECT, .bytes_before = b->bytes };
    int r;

    if (yaml_key_is_due(yaml_top(b)))
        return yaml_refuse(b, ERR_BAD_REQUEST, at, err, "invalid map key: %s cannot be a key",
                           frame.is_map ? "a map" : "a list");
    if (b->depth == YAML_DEPTH_MAX)
        return yaml_refuse(b, ERR_BAD_REQUEST, at, err, "exceeded max depth");
    r = yaml_charge(b, 1, at, err);
    if (r < 0)
        return r;
    frame.node = frame.is_map ? json_new_object(b->doc) : json_new_array(b->doc);
    r = yaml_attach(b, frame.node, at, err);
    if (r == 0 && anchor)
        r = yaml_name_anchor(b, anchor, (struct yaml_anchor){ .node = frame.node }, at, &frame.anchor, err);
    if (r == 0)
        b->frames[b->depth++] = frame;
    return r;
}

/* --- Closing --- */

static bool yaml_same_key(const struct json *d, json_ref a, json_ref b)
{
    return str_eq(json_key(d, a), json_key(d, b));
}

/* The first member, in the text's order, with the key of an earlier one; 0 if there is none. */
static json_ref yaml_find_duplicate(const struct json *d, json_ref object)
{
    for (json_ref v = json_first(d, object); v; v = json_next(d, v))
        for (json_ref w = json_first(d, object); w != v; w = json_next(d, w))
            if (yaml_same_key(d, v, w))
                return v;
    return 0;
}

/* The same for many members, sorted. Members from a merge may be duplicates: all but the last one are removed
 * from their object. */
static json_ref yaml_find_duplicate_sorted(const struct yaml_builder *b, const json_ref *sorted,
                                           uint32_t count, bool *dropped)
{
    json_ref written = 0, duplicate = 0;

    for (uint32_t i = 0; i < count; i++) {
        if (i && !yaml_same_key(b->doc, sorted[i - 1], sorted[i]))
            written = 0;
        else if (i) {
            b->doc->nodes[sorted[i - 1]].parent = 0;
            *dropped = true;
        }
        if (!yaml_mark_of(b, sorted[i]).line)
            continue;
        if (written && (!duplicate || sorted[i] < duplicate))
            duplicate = sorted[i];
        written = sorted[i];
    }
    return duplicate;
}

static int yaml_refuse_duplicate(struct yaml_builder *b, json_ref duplicate, struct error *err)
{
    _cleanup_(buf_done_p) struct buf key = BUF_INIT(ERROR_MSG_BYTES_MAX);

    json_write_string(&key, yaml_excerpt(json_key(b->doc, duplicate)));
    return yaml_refuse(b, ERR_BAD_REQUEST, yaml_mark_of(b, duplicate), err, "key %s already set in map",
                       buf_cstr(&key));
}

static int yaml_settle(struct yaml_builder *b, json_ref object, struct error *err)
{
    struct json *d = b->doc;
    uint32_t count = json_count(d, object), kept = 0;
    _cleanup_(freep) json_ref *members = NULL;
    bool dropped = false;
    json_ref duplicate;

    if (count <= YAML_MEMBERS_SCAN_MAX && !yaml_find_duplicate(d, object))
        return 0;
    members = json_sorted_members(d, object);
    if (!members)
        return error_no_memory(err);
    duplicate = yaml_find_duplicate_sorted(b, members, count, &dropped);
    if (duplicate)
        return yaml_refuse_duplicate(b, duplicate, err);
    if (!dropped)
        return 0;
    for (json_ref v = json_first(d, object); v; v = json_next(d, v))
        if (d->nodes[v].parent)
            members[kept++] = v;
    json_keep_members(d, object, members, kept);
    return 0;
}

int yaml_build_close(struct yaml_builder *b, struct error *err)
{
    struct yaml_frame *f = yaml_top(b);
    struct yaml_anchor value = { .name = f->anchor, .node = f->node, .height = f->below + 1 };
    int r = f->is_map ? yaml_settle(b, f->node, err) : 0;

    if (r < 0)
        return r;
    value.nodes = b->doc->count - f->node; /* all nodes created since belong to it */
    value.bytes = b->bytes - f->bytes_before;
    if (value.name.s) {
        bool found;
        size_t place = yaml_anchor_place(b, value.name, &found);
        if (found && b->anchors.items[place].node == value.node) /* otherwise the name was reused inside */
            b->anchors.items[place] = value;
    }
    b->depth--;
    return yaml_complete(b, &value, err);
}

/* --- Aliases --- */

static int yaml_alias_key(struct yaml_builder *b, json_ref v, struct yaml_at at, struct error *err)
{
    struct yaml_scalar s = { .kind = YAML_KIND_STRING, .text = json_text(b->doc, v) };
    enum json_type type = json_type(b->doc, v);

    if (type == JSON_ARRAY || type == JSON_OBJECT)
        return yaml_refuse(b, ERR_BAD_REQUEST, at, err, "invalid map key: %s cannot be a key",
                           type == JSON_OBJECT ? "a map" : "a list");
    if (type == JSON_NUMBER)
        yaml_resolve(s.text, &s);
    else if (type == JSON_NULL)
        s.kind = YAML_KIND_NULL;
    else if (type != JSON_STRING) {
        s.kind = YAML_KIND_BOOL;
        s.truth = type == JSON_TRUE;
    }
    return yaml_set_key(b, &s, at, err);
}

int yaml_build_alias(struct yaml_builder *b, const char *name, struct yaml_at at, struct error *err)
{
    struct yaml_frame *f = yaml_top(b);
    struct yaml_anchor value;
    bool found;
    size_t place = yaml_anchor_place(b, str_of(name), &found);
    int r;

    if (!found)
        return yaml_refuse(b, ERR_BAD_REQUEST, at, err, "unknown anchor '%s' referenced", name);
    value = b->anchors.items[place];
    if (!value.nodes)
        return yaml_refuse(b, ERR_BAD_REQUEST, at, err, "anchor '%s' value contains itself", name);
    if (yaml_key_is_due(f))
        return yaml_alias_key(b, value.node, at, err);
    if (b->depth + value.height > YAML_DEPTH_MAX)
        return yaml_refuse(b, ERR_BAD_REQUEST, at, err, "exceeded max depth");
    if (f && f->merges) {
        if (json_type(b->doc, value.node) == JSON_ARRAY) /* a list must be written explicitly */
            return yaml_refuse(b, ERR_BAD_REQUEST, at, err,
                               "map merge requires map or sequence of maps as the value");
        return yaml_complete(b, &value, err);
    }
    r = yaml_charge_copy(b, value.nodes, value.bytes, at, err);
    if (r < 0)
        return r;
    value.node = json_copy(b->doc, value.node);
    r = yaml_attach(b, value.node, at, err);
    return r < 0 ? r : yaml_complete(b, &value, err);
}
