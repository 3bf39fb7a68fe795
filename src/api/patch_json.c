/* JSON Patch (RFC 6902) with the rules of Kubernetes' API server, which differ from the RFC:
 * - replace adds a missing object member; test and copy treat a missing member as null;
 * - an add, replace or test without "value" has the value null;
 * - array indices may have a sign and leading zeros; negative ones count from the end, including the new item
 *   for an add: -1 appends;
 * - text before the first "/" of a pointer is ignored, and "~" before any character other than 0 and 1 is an
 *   ordinary character;
 * - only replace (by an object or an array) and test accept the whole document;
 * - move removes first: the target path refers to the document without the value;
 * - an unknown operation fails when it is reached, like one that does not fit. */
#include "api/patch.h"

#include <stdarg.h>
#include <stdio.h>

#include "api/json_int.h"
#include "api/patch_int.h"
#include "base/cleanup.h"

enum op_kind { OP_ADD, OP_REMOVE, OP_REPLACE, OP_MOVE, OP_COPY, OP_TEST, OP_KIND_COUNT };

static const struct {
    const char *name;
    const char *verb; /* "adding path '/a'" */
    bool has_from;
} op_kinds[] = {
    [OP_ADD] = { "add", "adding" },
    [OP_REMOVE] = { "remove", "removing" },
    [OP_REPLACE] = { "replace", "replacing" },
    [OP_MOVE] = { "move", "moving to", .has_from = true },
    [OP_COPY] = { "copy", "copying to", .has_from = true },
    [OP_TEST] = { "test", "testing" },
};
static_assert(ARRAY_LEN(op_kinds) == OP_KIND_COUNT, "name every operation");

struct op {
    enum op_kind kind;
    struct str path;
    struct str from;
    json_ref value; /* 0 if it has none */
};

/* The target of a pointer: an existing value, or the place in a container where one can be added. */
struct patch_place {
    const char *verb; /* for errors */
    struct str pointer;
    json_ref parent;
    json_ref at;    /* 0 if there is no value */
    struct str key; /* of a member */
    uint32_t depth; /* number of containers above */
};

/* --- Reading the patch --- */

static int op_refuse(struct patch_run *r, uint32_t index, const char *what)
{
    return error_set(r->err, ERR_INVALID, "operation %u: %s", index, what);
}

static int op_read_kind(struct patch_run *r, uint32_t index, json_ref v, enum op_kind *ret)
{
    for (enum op_kind kind = 0; kind < OP_KIND_COUNT; kind++) {
        if (json_is_string(r->d, v, op_kinds[kind].name)) {
            *ret = kind;
            return 0;
        }
    }
    return op_refuse(r, index, "'op' must be add, remove, replace, move, copy or test");
}

static int op_read(struct patch_run *r, uint32_t index, json_ref v, struct op *ret)
{
    const struct json *d = r->d;
    json_ref path = json_get(d, v, "path"), from = json_get(d, v, "from");
    struct op op = { .value = json_get(d, v, "value"), .path = json_text(d, path) };
    int e = op_read_kind(r, index, json_get(d, v, "op"), &op.kind);

    if (e < 0)
        return e;
    if (json_type(d, path) != JSON_STRING)
        return op_refuse(r, index, "'path' must be a string");
    if (op_kinds[op.kind].has_from) {
        if (json_type(d, from) != JSON_STRING)
            return op_refuse(r, index, "'from' must be a string");
        op.from = json_text(d, from);
    }
    *ret = op;
    return 0;
}

static int ops_refuse(struct patch_run *r, json_ref v, const char *wanted)
{
    return error_set(r->err, ERR_BAD_REQUEST, "json: cannot unmarshal %s into Go value of type jsonpatch.%s",
                     json_type_name(json_type(r->d, v)), wanted);
}

/* A list of objects; null, as in Go's decoder, is no operation or one without members. */
static int ops_check(struct patch_run *r, json_ref patch)
{
    const struct json *d = r->d;
    uint32_t count = json_count(d, patch);

    if (json_type(d, patch) != JSON_ARRAY && json_type(d, patch) != JSON_NULL)
        return ops_refuse(r, patch, "Patch");
    for (json_ref v = json_first(d, patch); v; v = json_next(d, v))
        if (json_type(d, v) != JSON_OBJECT && json_type(d, v) != JSON_NULL)
            return ops_refuse(r, v, "Operation");
    if (count > PATCH_OPERATIONS_MAX)
        return error_set(r->err, ERR_TOO_LARGE,
                         "The allowed maximum operations in a JSON patch is %d, got %u", PATCH_OPERATIONS_MAX,
                         count);
    return 0;
}

/* --- Finding places --- */

/* The start of a text of any length, so that it fits into a message. */
static struct str clip_text(struct str s)
{
    size_t len = s.len < 100 ? s.len : 100;

    while (len < s.len && len && ((unsigned char)s.s[len] & 0xC0) == 0x80)
        len--; /* not inside a character */
    return (struct str){ s.s, len };
}

__attribute__((format(printf, 3, 4))) static int place_refuse(struct patch_run *r,
                                                              const struct patch_place *p, const char *fmt,
                                                              ...)
{
    char what[256];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(what, sizeof what, fmt, args); /* it fits: see clip_text() */
    va_end(args);
    return error_set(r->err, ERR_INVALID, "%s path '%.*s': %s", p->verb, STR_ARG(clip_text(p->pointer)),
                     what);
}

/* Decodes the escapes of one step of a pointer. */
static int pointer_decode(struct patch_run *r, struct str *step)
{
    char *copy, *out;

    if (!step->len || !memchr(step->s, '~', step->len))
        return 0;
    copy = out = arena_dup(&r->d->texts, *step);
    if (!copy)
        return arena_check(&r->d->texts, r->err);
    for (size_t i = 0; i < step->len; i++) {
        char next = i + 1 < step->len ? step->s[i + 1] : '\0';
        bool is_escape = step->s[i] == '~' && (next == '0' || next == '1');
        *out++ = !is_escape ? step->s[i] : next == '0' ? '~' : '/';
        i += is_escape;
    }
    *step = (struct str){ copy, (size_t)(out - copy) };
    return 0;
}

static int place_enter_object(struct patch_run *r, struct patch_place *p, struct str step)
{
    const struct json *d = r->d;
    uint64_t steps = 0;

    p->key = step;
    p->at = json_first(d, p->parent);
    for (; p->at && !str_eq(json_key(d, p->at), step); p->at = json_next(d, p->at))
        steps++;
    return patch_charge(r, steps);
}

/* The place after the last item is valid too: "-" and the index that equals the number of items. Negative
 * indices count from the end, which is one further if an item is added. */
static int place_enter_array(struct patch_run *r, struct patch_place *p, struct str step, bool is_added)
{
    uint32_t count = json_count(r->d, p->parent);
    uint64_t end = (uint64_t)count + is_added, index;
    bool is_negative = step.len && step.s[0] == '-', has_sign = is_negative || (step.len && step.s[0] == '+');

    p->at = 0;
    if (str_is(step, "-"))
        return 0;
    if (!str_to_uint64((struct str){ step.s + has_sign, step.len - has_sign }, &index))
        return place_refuse(r, p, "'%.*s' is not an array index", STR_ARG(clip_text(step)));
    if (is_negative && index > end)
        return place_refuse(r, p, "index %.*s is before the start of an array of %u",
                            STR_ARG(clip_text(step)), count);
    if (is_negative && index)
        index = end - index;
    if (index > count)
        return place_refuse(r, p, "index %.*s is beyond the end of an array of %u", STR_ARG(clip_text(step)),
                            count);
    p->at = json_at(r->d, p->parent, (uint32_t)index);
    return patch_charge(r, index);
}

static int place_enter(struct patch_run *r, struct patch_place *p, struct str step, bool is_added)
{
    enum json_type type = json_type(r->d, p->at);

    p->parent = p->at;
    p->depth++;
    if (type == JSON_OBJECT)
        return place_enter_object(r, p, step);
    if (type == JSON_ARRAY)
        return place_enter_array(r, p, step, is_added);
    if (type == JSON_NONE)
        return place_refuse(r, p, "the parent of '%.*s' does not exist", STR_ARG(clip_text(step)));
    return place_refuse(r, p, "a %s cannot hold '%.*s'", json_type_name(type), STR_ARG(clip_text(step)));
}

/* Walks from the root. The value of the last step need not exist; those before it must. is_added: the last
 * step is where a value is added. */
static int place_find(struct patch_run *r, json_ref root, struct str pointer, const char *verb, bool is_added,
                      struct patch_place *ret)
{
    struct patch_place p = { .verb = verb, .pointer = pointer, .at = root };
    struct str rest = pointer;
    int e = 0;

    (void)str_next(&rest, '/'); /* text before the first "/" */
    if (!rest.s)
        return place_refuse(r, &p,
                            pointer.len ? "a JSON pointer begins with '/'"
                                        : "the whole document can only be replaced or tested");
    while (e == 0 && rest.s) {
        struct str step = str_next(&rest, '/');
        e = pointer_decode(r, &step);
        if (e == 0)
            e = place_enter(r, &p, step, is_added && !rest.s);
    }
    if (e == 0)
        *ret = p;
    return e;
}

static int place_refuse_absent(struct patch_run *r, const struct patch_place *p)
{
    return place_refuse(r, p, "value not found");
}

/* A value that is read: an item must exist, a member need not. */
static int place_find_value(struct patch_run *r, json_ref root, struct str pointer, const char *verb,
                            struct patch_place *ret)
{
    struct patch_place p = { .at = 0 };
    int e = place_find(r, root, pointer, verb, false, &p);

    if (e < 0)
        return e;
    if (!p.at && json_type(r->d, p.parent) == JSON_ARRAY)
        return place_refuse_absent(r, &p);
    *ret = p;
    return 0;
}

/* --- Applying --- */

/* The nesting depth of v, including v. */
static int json_height(struct patch_run *r, json_ref v, uint32_t *ret)
{
    const struct json *d = r->d;
    json_ref at = v;
    uint32_t depth = 0, height = 0;
    uint64_t steps = 0;

    for (;; steps++) {
        if (json_type(d, at) >= JSON_ARRAY && depth + 1 > height)
            height = depth + 1;
        if (json_first(d, at)) {
            at = json_first(d, at);
            depth++;
            continue;
        }
        for (; at != v && !json_next(d, at); at = json_parent(d, at))
            depth--;
        if (at == v)
            break;
        at = json_next(d, at);
    }
    *ret = height;
    return patch_charge(r, steps);
}

static int place_check_depth(struct patch_run *r, const struct patch_place *p, json_ref value)
{
    uint32_t height;
    int e = json_height(r, value, &height);

    if (e == 0 && height + p->depth > JSON_DEPTH_MAX)
        e = place_refuse(r, p, "the document would nest deeper than %d", JSON_DEPTH_MAX);
    return e;
}

/* Puts a value that is in no container into a place: replaces the value there, or adds a member. */
static int place_set(struct patch_run *r, const struct patch_place *p, json_ref value)
{
    int e = place_check_depth(r, p, value);

    if (e < 0)
        return e;
    if (p->at) {
        json_become(r->d, p->at, value);
        return 0;
    }
    json_set_key(r->d, p->parent, p->key, value);
    return patch_charge(r, json_count(r->d, p->parent));
}

/* The same, but inserts before an existing array item. */
static int place_add(struct patch_run *r, const struct patch_place *p, json_ref value)
{
    int e;

    if (json_type(r->d, p->parent) != JSON_ARRAY)
        return place_set(r, p, value);
    e = place_check_depth(r, p, value);
    if (e < 0)
        return e;
    json_insert(r->d, p->parent, p->at, value);
    return p->at ? patch_charge(r, json_count(r->d, p->parent))
                 : 0; /* the insertion searches the previous sibling */
}

static int place_remove(struct patch_run *r, const struct patch_place *p)
{
    if (!p->at)
        return place_refuse_absent(r, p);
    json_unlink(r->d, p->at);
    return patch_charge(r, json_count(r->d, p->parent));
}

static bool value_is_null(const struct json *d, json_ref v)
{
    return !v || json_type(d, v) == JSON_NULL;
}

/* Takes the value of an operation out of the patch; 0 without memory. */
static json_ref op_take_value(struct patch_run *r, const struct op *op)
{
    if (!op->value)
        return json_new_null(r->d);
    json_unlink(r->d, op->value);
    return op->value;
}

static int op_add(struct patch_run *r, const struct op *op, json_ref root, json_ref value)
{
    struct patch_place to = { .at = 0 };
    int e;

    if (!value)
        return json_check(r->d, r->err);
    e = place_find(r, root, op->path, op_kinds[op->kind].verb, true, &to);
    return e < 0 ? e : place_add(r, &to, value);
}

static int op_remove(struct patch_run *r, const struct op *op, json_ref root)
{
    struct patch_place at = { .at = 0 };
    int e = place_find_value(r, root, op->path, op_kinds[op->kind].verb, &at);

    return e < 0 ? e : place_remove(r, &at);
}

static int op_replace(struct patch_run *r, const struct op *op, json_ref root)
{
    struct patch_place at = { .verb = op_kinds[op->kind].verb, .at = root };
    json_ref value = op_take_value(r, op);
    int e;

    if (!value)
        return json_check(r->d, r->err);
    if (op->path.len == 0) {
        if (json_type(r->d, value) < JSON_ARRAY)
            return place_refuse(r, &at, "the whole document must be an object or an array");
        return place_set(r, &at, value);
    }
    e = place_find_value(r, root, op->path, at.verb, &at);
    return e < 0 ? e : place_set(r, &at, value);
}

static int op_move(struct patch_run *r, const struct op *op, json_ref root)
{
    struct patch_place from = { .at = 0 };
    int e = place_find_value(r, root, op->from, "moving from", &from);

    if (e == 0)
        e = place_remove(r, &from);
    return e < 0 ? e : op_add(r, op, root, from.at);
}

static int op_copy(struct patch_run *r, const struct op *op, json_ref root)
{
    struct patch_place from = { .at = 0 };
    int e = place_find_value(r, root, op->from, "copying from", &from);
    size_t left = PATCH_COPY_BYTES_MAX - r->copied, size;

    if (e < 0)
        return e;
    if (!from.at)
        return op_add(r, op, root, json_new_null(r->d));
    size = json_size(r->d, from.at, left);
    if (size > left)
        return place_refuse(r, &from, "the copies of one patch exceed %zu bytes in total",
                            PATCH_COPY_BYTES_MAX);
    r->copied += size;
    return op_add(r, op, root, json_copy(r->d, from.at));
}

static int op_test(struct patch_run *r, const struct op *op, json_ref root)
{
    struct patch_place at = { .verb = op_kinds[op->kind].verb, .at = root };
    int e = op->path.len ? place_find_value(r, root, op->path, at.verb, &at) : 0;
    bool is_equal;

    if (e < 0)
        return e;
    is_equal = value_is_null(r->d, at.at) ? value_is_null(r->d, op->value)
                                          : op->value && json_equal(r->d, at.at, op->value);
    if (is_equal)
        return 0;
    return at.at ? place_refuse(r, &at, "value differs") : place_refuse_absent(r, &at);
}

static int op_apply(struct patch_run *r, const struct op *op, json_ref root)
{
    switch (op->kind) {
    case OP_ADD:
        return op_add(r, op, root, op_take_value(r, op));
    case OP_REMOVE:
        return op_remove(r, op, root);
    case OP_REPLACE:
        return op_replace(r, op, root);
    case OP_MOVE:
        return op_move(r, op, root);
    case OP_COPY:
        return op_copy(r, op, root);
    case OP_TEST:
        return op_test(r, op, root);
    case OP_KIND_COUNT:
        break;
    }
    assert(!"not an operation");
    return 0;
}

int patch_json(struct json *d, json_ref target, json_ref patch, struct error *err)
{
    struct patch_run r = { .d = d, .err = err };
    uint32_t index = 0;
    int e;

    assert(!json_parent(d, target));
    assert(!json_parent(d, patch));
    e = ops_check(&r, patch);
    for (json_ref v = json_first(d, patch); e == 0 && v; v = json_next(d, v)) {
        struct op op = { .value = 0 };
        e = op_read(&r, index++, v, &op);
        if (e == 0)
            e = op_apply(&r, &op, target);
        if (e == 0)
            e = json_check(d, err);
    }
    return e;
}
