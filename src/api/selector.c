/* Label selectors: building, matching and formatting of requirements. Text is parsed in selector_text.c.
 * Values are sorted and unique, so that a match uses bisection. Errors collect all problems of a requirement
 * in one message. */
#include "api/selector.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/names.h"
#include "api/quote.h"
#include "api/selector_int.h"
#include "base/cleanup.h"

static const char *const op_names[] = {
    [SELECTOR_IN] = "In",         [SELECTOR_NOT_IN] = "NotIn",
    [SELECTOR_EXISTS] = "Exists", [SELECTOR_DOES_NOT_EXIST] = "DoesNotExist",
    [SELECTOR_GT] = "Gt",         [SELECTOR_LT] = "Lt",
};
static_assert(ARRAY_LEN(op_names) == SELECTOR_OP_COUNT, "name every operator");

#define LABEL_OP_COUNT SELECTOR_GT /* matchExpressions have no Gt and Lt; those of nodes have */

void problems_addf(struct problems *p, const char *fmt, ...)
{
    size_t room = sizeof p->text - p->len;
    va_list args;
    int n;

    if (p->count++ && !p->is_cut && room > 2) {
        memcpy(p->text + p->len, ", ", 3);
        p->len += 2;
        room -= 2;
    }
    if (p->is_cut)
        return;
    va_start(args, fmt);
    n = vsnprintf(p->text + p->len, room, fmt, args);
    va_end(args);
    p->is_cut = n < 0 || (size_t)n >= room;
    p->len += p->is_cut ? strlen(p->text + p->len) : (size_t)n;
    for (int torn = 0; p->is_cut && torn < 3 && !str_is_utf8((struct str){ p->text, p->len }); torn++)
        p->text[--p->len] = '\0'; /* the bytes of a character that was cut */
}

int problems_error(const struct problems *p, enum err code, struct error *err)
{
    assert(p->count);
    return error_set(err, code, p->count > 1 ? "[%s]" : "%s", p->text);
}

bool selector_op_of(struct str op, size_t count, enum selector_op *ret)
{
    for (size_t i = 0; i < count; i++)
        if (str_is(op, op_names[i])) {
            *ret = (enum selector_op)i;
            return true;
        }
    return false;
}

void problems_add_operator(struct problems *p, const char *path, struct str op, size_t count)
{
    char quoted[ERROR_MSG_BYTES_MAX], known[128];
    size_t at = 0;

    for (size_t i = 0; i < count; i++)
        at += (size_t)snprintf(known + at, sizeof known - at, "%s\"%s\"", i ? ", " : "", op_names[i]);
    problems_addf(p, "%soperator: Unsupported value: %s: supported values: %s", path,
                  quote_text(quoted, sizeof quoted, op), known);
}

void problems_add_values(struct problems *p, const char *path, const struct requirement_parts *parts,
                         const char *detail)
{
    char list[ERROR_MSG_BYTES_MAX];
    size_t at = 0;

    if (parts->values_count == 0)
        (void)snprintf(list, sizeof list, "null");
    /* a list that is too long for the message is cut */
    for (size_t i = 0; i < parts->values_count && at + 8 < sizeof list; i++) {
        list[at++] = i ? ',' : '[';
        quote_text(list + at, sizeof list - at - 1, parts->values[i]);
        at += strlen(list + at);
        if (i + 1 == parts->values_count)
            memcpy(list + at, "]", 2);
    }
    problems_addf(p, "%svalues: Invalid value: %s: %s", path, list, detail);
}

/* `<path>: Invalid value: "<value>": <text of the rule>` */
static void problems_add_name(struct problems *p, const char *path, struct str value,
                              const struct name_problems *broken)
{
    _cleanup_(buf_done_p) struct buf details = BUF_INIT(4096);
    char quoted[ERROR_MSG_BYTES_MAX];

    name_problems_join(broken, &details);
    problems_addf(p, "%s: Invalid value: %s: %s", path, quote_text(quoted, sizeof quoted, value),
                  buf_cstr(&details));
}

static void check_values_count(const struct requirement_parts *parts, enum selector_op op, const char *path,
                               struct problems *p)
{
    size_t n = parts->values_count;

    if ((op == SELECTOR_IN || op == SELECTOR_NOT_IN) && n == 0)
        problems_add_values(p, path, parts, "for 'in', 'notin' operators, values set can't be empty");
    else if ((op == SELECTOR_EXISTS || op == SELECTOR_DOES_NOT_EXIST) && n != 0)
        problems_add_values(p, path, parts, "values set must be empty for exists and does not exist");
    else if ((op == SELECTOR_GT || op == SELECTOR_LT) && n != 1)
        problems_add_values(p, path, parts, "for 'Gt', 'Lt' operators, exactly one value is required");
}

/* A signed decimal number with 64 bits. A leading plus is accepted, although no label value can have one. */
static bool parse_bound(struct str value, int64_t *ret)
{
    if (str_has_prefix(value, "+") && !str_has_prefix(value, "+-"))
        value = (struct str){ value.s + 1, value.len - 1 };
    return str_to_int64(value, ret);
}

static void check_values(const struct requirement_parts *parts, enum selector_op op, const char *path,
                         struct problems *p)
{
    char where[ERROR_MSG_BYTES_MAX], quoted[ERROR_MSG_BYTES_MAX];
    struct name_problems broken;
    int64_t ignored;

    for (size_t i = 0; i < parts->values_count && (op == SELECTOR_GT || op == SELECTOR_LT); i++)
        if (!parse_bound(parts->values[i], &ignored))
            problems_addf(
                p, "%svalues[%zu]: Invalid value: %s: for 'Gt', 'Lt' operators, the value must be an integer",
                path, i, quote_text(quoted, sizeof quoted, parts->values[i]));
    for (size_t i = 0; i < parts->values_count; i++) {
        if (name_check(NAME_LABEL_VALUE, parts->values[i], &broken))
            continue;
        (void)snprintf(where, sizeof where, "%svalues[%zu][%.*s]", path, i,
                       STR_ARG(parts->key)); /* may be cut */
        problems_add_name(p, where, parts->values[i], &broken);
    }
}

static void check_parts(const struct requirement_parts *parts, enum selector_op op, const char *path,
                        struct problems *p)
{
    char where[ERROR_MSG_BYTES_MAX];
    struct name_problems broken;

    if (!name_check(NAME_QUALIFIED, parts->key, &broken)) {
        (void)snprintf(where, sizeof where, "%skey", path); /* may be cut */
        problems_add_name(p, where, parts->key, &broken);
    }
    check_values_count(parts, op, path, p);
    check_values(parts, op, path, p);
}

static int cmp_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorts and removes duplicates. */
static void requirement_sort_values(struct requirement *r)
{
    size_t kept = 0;

    if (r->values_count > 1)
        qsort(r->values, r->values_count, sizeof *r->values, cmp_texts);
    for (size_t i = 0; i < r->values_count; i++)
        if (kept == 0 || strcmp(r->values[kept - 1], r->values[i]) != 0)
            r->values[kept++] = r->values[i];
    r->values_count = kept;
}

bool requirement_make(struct requirement *ret, struct arena *a, const struct requirement_parts *parts,
                      enum selector_op op, const char *path, struct problems *p)
{
    struct requirement r = { .op = op, .values_count = parts->values_count };
    size_t before = p->count;

    check_parts(parts, op, path, p);
    if (p->count > before)
        return false;
    r.key = arena_dup(a, parts->key);
    r.values = arena_array(a, parts->values_count, sizeof *r.values);
    for (size_t i = 0; i < parts->values_count && r.values; i++)
        r.values[i] = arena_dup(a, parts->values[i]);
    if (!r.key || !r.values || a->failed)
        return false;
    if (op == SELECTOR_GT || op == SELECTOR_LT)
        (void)parse_bound(parts->values[0], &r.bound); /* already checked */
    requirement_sort_values(&r);
    *ret = r;
    return true;
}

void *selector_grow(struct arena *a, void *items, size_t count, size_t *room, size_t bytes)
{
    size_t want = *room ? *room * 2 : 4;
    void *grown;

    if (count < *room)
        return items;
    grown = arena_array(a, want, bytes);
    if (!grown)
        return NULL;
    if (count)
        memcpy(grown, items, count * bytes);
    *room = want;
    return grown;
}

bool label_selector_push(struct label_selector *sel, struct arena *a, const struct requirement *r)
{
    struct requirement *items = selector_grow(a, sel->items, sel->count, &sel->room, sizeof *items);

    if (!items)
        return false;
    sel->items = items;
    sel->items[sel->count++] = *r;
    return true;
}

static int label_selector_add_op(struct label_selector *sel, struct arena *a,
                                 const struct requirement_parts *parts, enum selector_op op,
                                 struct error *err)
{
    struct problems problems = { 0 };
    struct requirement r;

    if (!requirement_make(&r, a, parts, op, "", &problems))
        return problems.count ? problems_error(&problems, ERR_INVALID, err) : arena_check(a, err);
    return label_selector_push(sel, a, &r) ? 0 : arena_check(a, err);
}

int label_selector_add(struct label_selector *sel, struct arena *a, const struct requirement_parts *parts,
                       struct error *err)
{
    char quoted[ERROR_MSG_BYTES_MAX];
    enum selector_op op;

    if (!selector_op_of(parts->op, LABEL_OP_COUNT, &op))
        return error_set(err, ERR_INVALID, "%s is not a valid label selector operator",
                         quote_text(quoted, sizeof quoted, parts->op));
    return label_selector_add_op(sel, a, parts, op, err);
}

int label_selector_add_label(struct label_selector *sel, struct arena *a, struct str key, struct str value,
                             struct error *err)
{
    struct requirement_parts parts = { .key = key, .values = &value, .values_count = 1 };

    return label_selector_add_op(sel, a, &parts, SELECTOR_IN, err);
}

static bool requirement_has_value(const struct requirement *r, const char *value)
{
    return bsearch(&value, r->values, r->values_count, sizeof *r->values, cmp_texts) != NULL;
}

static bool requirement_matches(const struct requirement *r, const struct kv *labels, size_t count)
{
    const char *value = kv_get(labels, count, r->key);
    int64_t number;

    switch (r->op) {
    case SELECTOR_IN:
        return value && requirement_has_value(r, value);
    case SELECTOR_NOT_IN:
        return !value || !requirement_has_value(r, value);
    case SELECTOR_EXISTS:
        return value != NULL;
    case SELECTOR_DOES_NOT_EXIST:
        return value == NULL;
    case SELECTOR_GT:
        return value && parse_bound(str_of(value), &number) && number > r->bound;
    case SELECTOR_LT:
        return value && parse_bound(str_of(value), &number) && number < r->bound;
    case SELECTOR_OP_COUNT:
        break;
    }
    assert(r->op < SELECTOR_OP_COUNT);
    return false;
}

bool label_selector_matches(const struct label_selector *sel, const struct kv *labels, size_t count)
{
    for (size_t i = 0; i < sel->count; i++)
        if (!requirement_matches(&sel->items[i], labels, count))
            return false;
    return true;
}

static void requirement_format(const struct requirement *r, struct buf *out)
{
    static const char *const between[] = {
        [SELECTOR_IN] = " in (", [SELECTOR_NOT_IN] = " notin (",
        [SELECTOR_EXISTS] = "",  [SELECTOR_DOES_NOT_EXIST] = "",
        [SELECTOR_GT] = ">",     [SELECTOR_LT] = "<",
    };
    static_assert(ARRAY_LEN(between) == SELECTOR_OP_COUNT, "write every operator");

    if (r->op == SELECTOR_DOES_NOT_EXIST)
        buf_add_char(out, '!');
    buf_add_cstr(out, r->key);
    buf_add_cstr(out, between[r->op]);
    for (size_t i = 0; i < r->values_count; i++) {
        if (i)
            buf_add_char(out, ',');
        buf_add_cstr(out, r->values[i]);
    }
    if (r->op == SELECTOR_IN || r->op == SELECTOR_NOT_IN)
        buf_add_char(out, ')');
}

void label_selector_format(const struct label_selector *sel, struct buf *out)
{
    for (size_t i = 0; i < sel->count; i++) {
        if (i)
            buf_add_char(out, ',');
        requirement_format(&sel->items[i], out);
    }
}

void requirement_words(const struct requirement *q, struct buf *out)
{
    struct requirement copy = *q;
    const struct label_selector one = { .items = &copy, .count = 1 };

    if (q->op == SELECTOR_IN && q->values_count == 1)
        buf_addf(out, "%s=%s", q->key, q->values[0]);
    else
        label_selector_format(&one, out);
}
