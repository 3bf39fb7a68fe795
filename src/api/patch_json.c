/* JSON Patch (RFC 6902). All operations are read before the first is applied, so that a patch nobody can
 * understand is told from one that does not fit. */
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
    bool has_value;
    bool has_from;
} op_kinds[] = {
    [OP_ADD] = { "add", "adding", .has_value = true },
    [OP_REMOVE] = { "remove", "removing" },
    [OP_REPLACE] = { "replace", "replacing", .has_value = true },
    [OP_MOVE] = { "move", "moving to", .has_from = true },
    [OP_COPY] = { "copy", "copying to", .has_from = true },
    [OP_TEST] = { "test", "testing", .has_value = true },
};
static_assert(ARRAY_LEN(op_kinds) == OP_KIND_COUNT, "name every operation");

struct op {
    enum op_kind kind;
    struct str path;
    struct str from;
    json_ref value;
};

/* Where a pointer leads: the value there, or the place in a container where one could be put. */
struct place {
    const char *verb; /* for errors */
    struct str pointer;
    json_ref parent; /* 0 at the root */
    json_ref at;     /* 0 when nothing is there */
    struct str key;  /* of a member */
    uint32_t depth;  /* of containers above */
};

/* --- Reading the patch --- */

static int op_bad(struct patch_run *r, uint32_t index, const char *what)
{
    return error_set(r->err, ERR_BAD_REQUEST, "error decoding patch: operation %u: %s", index, what);
}

/* A pointer is empty or begins with "/"; "~" stands only in front of 0 and 1. */
static bool pointer_is_valid(struct str p)
{
    if (p.len && p.s[0] != '/')
        return false;
    for (size_t i = 0; i < p.len; i++)
        if (p.s[i] == '~' && (i + 1 == p.len || (p.s[i + 1] != '0' && p.s[i + 1] != '1')))
            return false;
    return true;
}

static int op_read_pointer(struct patch_run *r, uint32_t index, json_ref v, const char *name, struct str *ret)
{
    char what[64];

    if (json_type(r->d, v) != JSON_STRING)
        (void)snprintf(what, sizeof what, "'%s' must be a string", name);
    else if (!pointer_is_valid(json_text(r->d, v)))
        (void)snprintf(what, sizeof what, "'%s' is no JSON pointer", name);
    else {
        *ret = json_text(r->d, v);
        return 0;
    }
    return op_bad(r, index, what);
}

static int op_read_kind(struct patch_run *r, uint32_t index, json_ref v, enum op_kind *ret)
{
    if (json_type(r->d, v) != JSON_STRING)
        return op_bad(r, index, "'op' must be a string");
    for (enum op_kind kind = 0; kind < OP_KIND_COUNT; kind++) {
        if (json_is_string(r->d, v, op_kinds[kind].name)) {
            *ret = kind;
            return 0;
        }
    }
    return op_bad(r, index, "'op' must be add, remove, replace, move, copy or test");
}

static int op_read(struct patch_run *r, uint32_t index, json_ref v, struct op *op)
{
    const struct json *d = r->d;
    int e;

    if (json_type(d, v) != JSON_OBJECT)
        return op_bad(r, index, "must be an object");
    e = op_read_kind(r, index, json_get(d, v, "op"), &op->kind);
    if (e == 0)
        e = op_read_pointer(r, index, json_get(d, v, "path"), "path", &op->path);
    if (e == 0 && op_kinds[op->kind].has_from)
        e = op_read_pointer(r, index, json_get(d, v, "from"), "from", &op->from);
    if (e == 0 && op_kinds[op->kind].has_value) {
        op->value = json_get(d, v, "value");
        if (!op->value)
            return op_bad(r, index, "'value' is missing");
    }
    return e;
}

static int ops_check(struct patch_run *r, json_ref patch)
{
    uint32_t count = json_count(r->d, patch);

    if (json_type(r->d, patch) != JSON_ARRAY)
        return error_set(r->err, ERR_BAD_REQUEST,
                         "error decoding patch: a JSON patch is an array of operations, not %s",
                         json_type_name(json_type(r->d, patch)));
    if (count > PATCH_OPERATIONS_MAX)
        return error_set(r->err, ERR_TOO_LARGE,
                         "The allowed maximum operations in a JSON patch is %d, got %u", PATCH_OPERATIONS_MAX,
                         count);
    return 0;
}

static int ops_read(struct patch_run *r, json_ref patch, struct op *ops)
{
    uint32_t index = 0;
    int e = 0;

    for (json_ref v = json_first(r->d, patch); e == 0 && v; v = json_next(r->d, v), index++)
        e = op_read(r, index, v, &ops[index]);
    return e;
}

/* --- Finding places --- */

/* The beginning of a text that may be of any length, so that a message has room for the rest. */
static struct str clip(struct str s)
{
    size_t len = s.len < 100 ? s.len : 100;

    while (len < s.len && len && ((unsigned char)s.s[len] & 0xC0) == 0x80)
        len--; /* not inside a character */
    return (struct str){ s.s, len };
}

__attribute__((format(printf, 3, 4))) static int place_refuse(struct patch_run *r, const struct place *p,
                                                              const char *fmt, ...)
{
    char what[256];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(what, sizeof what, fmt, args); /* it fits: see clip() */
    va_end(args);
    return error_set(r->err, ERR_INVALID, "%s path '%.*s': %s", p->verb, STR_ARG(clip(p->pointer)), what);
}

/* The step of a pointer without its escapes. */
static int pointer_decode(struct patch_run *r, struct str *step)
{
    char *copy, *out;

    if (!step->len || !memchr(step->s, '~', step->len))
        return 0;
    copy = out = arena_dup(&r->d->texts, *step);
    if (!copy)
        return arena_check(&r->d->texts, r->err);
    for (size_t i = 0; i < step->len; i++) {
        bool escape = step->s[i] == '~';
        *out++ = !escape ? step->s[i] : step->s[i + 1] == '0' ? '~' : '/';
        i += escape;
    }
    *step = (struct str){ copy, (size_t)(out - copy) };
    return 0;
}

static int place_enter_object(struct patch_run *r, struct place *p, struct str step)
{
    const struct json *d = r->d;
    uint64_t steps = 0;

    p->key = step;
    p->at = json_first(d, p->parent);
    for (; p->at && !str_eq(json_key(d, p->at), step); p->at = json_next(d, p->at))
        steps++;
    return patch_charge(r, steps);
}

/* "-" is behind the last item; digits without a leading zero are an item, or the place behind the last. */
static int place_enter_array(struct patch_run *r, struct place *p, struct str step)
{
    uint32_t count = json_count(r->d, p->parent);
    uint64_t index;

    p->at = 0;
    if (str_is(step, "-"))
        return 0;
    if (!str_to_uint64(step, &index) || (step.len > 1 && step.s[0] == '0'))
        return place_refuse(r, p, "'%.*s' is no index of an array", STR_ARG(clip(step)));
    if (index > count)
        return place_refuse(r, p, "index %.*s is behind the end of an array of %u", STR_ARG(clip(step)),
                            count);
    p->at = json_at(r->d, p->parent, (uint32_t)index);
    return patch_charge(r, index);
}

static int place_enter(struct patch_run *r, struct place *p, struct str step)
{
    enum json_type type = json_type(r->d, p->at);

    p->parent = p->at;
    p->depth++;
    if (type == JSON_OBJECT)
        return place_enter_object(r, p, step);
    if (type == JSON_ARRAY)
        return place_enter_array(r, p, step);
    if (type == JSON_NONE)
        return place_refuse(r, p, "there is nothing to hold '%.*s'", STR_ARG(clip(step)));
    return place_refuse(r, p, "a %s cannot hold '%.*s'", json_type_name(type), STR_ARG(clip(step)));
}

/* Walks from the root. The last step may lead to nothing yet; those before it must not. */
static int place_find(struct patch_run *r, json_ref root, struct str pointer, const char *verb,
                      struct place *ret)
{
    struct place p = { .verb = verb, .pointer = pointer, .at = root };
    struct str rest = pointer;
    int e = 0;

    (void)str_next(&rest, '/'); /* the nothing in front of the first "/" */
    while (e == 0 && rest.s) {
        struct str step = str_next(&rest, '/');
        e = pointer_decode(r, &step);
        if (e == 0)
            e = place_enter(r, &p, step);
    }
    if (e == 0)
        *ret = p;
    return e;
}

static int place_find_value(struct patch_run *r, json_ref root, struct str pointer, const char *verb,
                            struct place *ret)
{
    struct place p = { .at = 0 };
    int e = place_find(r, root, pointer, verb, &p);

    if (e < 0)
        return e;
    if (!p.at)
        return place_refuse(r, &p, "there is no such value");
    *ret = p;
    return 0;
}

/* --- Applying --- */

/* How many containers are nested in v, itself included. */
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

static int place_check_depth(struct patch_run *r, const struct place *p, json_ref value)
{
    uint32_t height;
    int e = json_height(r, value, &height);

    if (e == 0 && height + p->depth > JSON_DEPTH_MAX)
        e = place_refuse(r, p, "the document would nest deeper than %d", JSON_DEPTH_MAX);
    return e;
}

/* Puts a value that stands nowhere into a place: over a member, in front of an item, or where nothing is yet.
 */
static int place_put(struct patch_run *r, const struct place *p, json_ref root, json_ref value)
{
    struct json *d = r->d;
    int e = place_check_depth(r, p, value);

    if (e < 0)
        return e;
    if (!p->parent) {
        json_become(d, root, value);
        return 0;
    }
    if (json_type(d, p->parent) == JSON_ARRAY) {
        json_insert(d, p->parent, p->at, value);
        return p->at ? patch_charge(r, json_count(d, p->parent)) : 0; /* it looks for the sibling in front */
    }
    if (p->at) {
        json_become(d, p->at, value);
        return 0;
    }
    json_set_key(d, p->parent, p->key, value);
    return patch_charge(r, json_count(d, p->parent));
}

static int place_remove(struct patch_run *r, const struct place *p)
{
    if (!p->parent)
        return place_refuse(r, p, "the whole document cannot be removed");
    json_unlink(r->d, p->at);
    return patch_charge(r, json_count(r->d, p->parent));
}

static int op_add(struct patch_run *r, const struct op *op, json_ref root, json_ref value)
{
    struct place to = { .at = 0 };
    int e = place_find(r, root, op->path, op_kinds[op->kind].verb, &to);

    return e < 0 ? e : place_put(r, &to, root, value);
}

static int op_remove(struct patch_run *r, const struct op *op, json_ref root)
{
    struct place at = { .at = 0 };
    int e = place_find_value(r, root, op->path, op_kinds[op->kind].verb, &at);

    return e < 0 ? e : place_remove(r, &at);
}

static int op_replace(struct patch_run *r, const struct op *op, json_ref root)
{
    struct place at = { .at = 0 };
    int e = place_find_value(r, root, op->path, op_kinds[op->kind].verb, &at);

    if (e == 0)
        e = place_check_depth(r, &at, op->value);
    if (e == 0)
        json_become(r->d, at.at, op->value);
    return e;
}

static int op_move(struct patch_run *r, const struct op *op, json_ref root)
{
    struct place from = { .at = 0 };
    int e = place_find_value(r, root, op->from, "moving from", &from);

    if (e < 0 || str_eq(op->from, op->path))
        return e;
    /* Pointers have one spelling each, so texts can be compared. */
    if (op->path.len > op->from.len && op->path.s[op->from.len] == '/' &&
        str_eq((struct str){ op->path.s, op->from.len }, op->from))
        return place_refuse(r, &from, "a value cannot be moved into itself");
    e = place_remove(r, &from);
    return e < 0 ? e : op_add(r, op, root, from.at);
}

static int op_copy(struct patch_run *r, const struct op *op, json_ref root)
{
    struct place from = { .at = 0 };
    int e = place_find_value(r, root, op->from, "copying from", &from);
    size_t left = PATCH_COPY_BYTES_MAX - r->copied, size;
    json_ref copy;

    if (e < 0)
        return e;
    size = json_size(r->d, from.at, left);
    if (size > left)
        return place_refuse(r, &from, "the copies of one patch may have %zu bytes together",
                            PATCH_COPY_BYTES_MAX);
    r->copied += size;
    copy = json_copy(r->d, from.at);
    return copy ? op_add(r, op, root, copy) : json_check(r->d, r->err);
}

static int op_test(struct patch_run *r, const struct op *op, json_ref root)
{
    struct place at = { .at = 0 };
    int e = place_find_value(r, root, op->path, op_kinds[op->kind].verb, &at);

    if (e < 0)
        return e;
    return json_equal(r->d, at.at, op->value) ? 0 : place_refuse(r, &at, "value differs");
}

static int op_apply(struct patch_run *r, const struct op *op, json_ref root)
{
    switch (op->kind) {
    case OP_ADD:
        json_unlink(r->d, op->value);
        return op_add(r, op, root, op->value);
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
    uint32_t count = json_count(d, patch);
    int e = ops_check(&r, patch);
    struct op *ops;

    assert(!json_parent(d, target));
    assert(!json_parent(d, patch));
    if (e < 0)
        return e;
    ops = calloc((size_t)count + 1, sizeof *ops);
    if (!ops)
        return error_no_memory(err);
    e = ops_read(&r, patch, ops);
    for (uint32_t i = 0; e == 0 && i < count; i++) {
        e = op_apply(&r, &ops[i], target);
        if (e == 0)
            e = json_check(d, err);
    }
    free(ops);
    return e;
}
