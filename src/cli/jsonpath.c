/* Evaluates templates: each step maps a list of values to the next list.
 *
 * The lists are vectors of references; the document is not copied. Every visited value counts against a
 * budget, so that no template costs more than JSONPATH_STEPS_MAX. */
#include "cli/jsonpath.h"

#include <stdlib.h>

#include "cli/jsonpath_int.h"
#include "cli/print.h"
#include "cli/session.h"

#define SHOWN_BYTES_MAX 64

struct evaluation {
    struct json *d;
    uint64_t steps;
    struct buf *out;
    struct error *err;
};

static int run_steps(struct evaluation *e, const struct jsonpath_node *steps, json_ref v,
                     struct jsonpath_values *ret);

/* --- Lists of values --- */

static void values_done_p(struct jsonpath_values *v)
{
    free(v->items);
}

static int add_value(struct evaluation *e, struct jsonpath_values *to, json_ref v)
{
    if (++e->steps > JSONPATH_STEPS_MAX)
        return error_set(e->err, ERR_TOO_LARGE, "the template matches too many values");
    return vec_push(to, v) < 0 ? error_no_memory(e->err) : 0;
}

/* --- Steps --- */

/* The non-empty containers at and below v, top down. The walk follows the links of the tree. */
static int add_containers(struct evaluation *e, json_ref v, struct jsonpath_values *out)
{
    json_ref at = v;
    int r = 0;

    while (r == 0) {
        if (json_first(e->d, at))
            r = add_value(e, out, at);
        if (json_first(e->d, at)) {
            at = json_first(e->d, at);
            continue;
        }
        while (at != v && !json_next(e->d, at))
            at = json_parent(e->d, at);
        if (at == v)
            break;
        at = json_next(e->d, at);
        e->steps++;
    }
    return r;
}

static int not_a_list(struct evaluation *e, json_ref v)
{
    _cleanup_(buf_done_p) struct buf shown = BUF_INIT(SESSION_BYTES_MAX);

    jsonpath_write_value(e->d, v, &shown);
    return error_set(e->err, ERR_INVALID, "%.*s is not array or slice",
                     (int)(shown.len < SHOWN_BYTES_MAX ? shown.len : SHOWN_BYTES_MAX), buf_cstr(&shown));
}

static int out_of_bounds(struct evaluation *e, int64_t index, int64_t len)
{
    return error_set(e->err, ERR_INVALID, "array index out of bounds: index %lld, length %lld",
                     (long long)index, (long long)len);
}

/* Bounds of a slice in a list of that length; an empty slice is valid anywhere. */
static int place_slice(struct evaluation *e, const struct slice *s, int64_t len, int64_t *ret_start,
                       int64_t *ret_end)
{
    int64_t start = s->has_start ? s->start : 0, end = len;

    if (start < 0)
        start += len;
    if (s->is_index)
        end = start + 1;
    else if (s->has_end)
        end = s->end < 0 ? s->end + len : s->end;
    if (start != end) {
        if (start >= len || start < 0)
            return out_of_bounds(e, start, len);
        if (end > len || end < 0)
            return out_of_bounds(e, end - 1, len);
        if (start > end)
            return error_set(e->err, ERR_INVALID, "starting index %lld is greater than ending index %lld",
                             (long long)start, (long long)end);
    }
    *ret_start = start;
    *ret_end = end;
    return 0;
}

static int add_slice(struct evaluation *e, const struct slice *s, json_ref v, struct jsonpath_values *out)
{
    int64_t start = 0, end = 0, at = 0, step = s->has_step ? s->step : 1;
    int r;

    if (json_type(e->d, v) == JSON_NULL)
        return 0;
    if (json_type(e->d, v) != JSON_ARRAY)
        return not_a_list(e, v);
    if (step <= 0)
        return error_set(e->err, ERR_INVALID, "step must be > 0");
    r = place_slice(e, s, json_count(e->d, v), &start, &end);
    for (json_ref c = json_first(e->d, v); r == 0 && c && at < end; c = json_next(e->d, c), at++)
        if (at >= start && (at - start) % step == 0)
            r = add_value(e, out, c);
    return r;
}

/* --- Filters --- */

/* As a double: sufficient for ordering. */
static double number_of(const struct json *d, json_ref v)
{
    struct str text = json_text(d, v);
    char digits[JSON_NUMBER_BYTES_MAX + 1];

    if (text.len > JSON_NUMBER_BYTES_MAX)
        return 0;
    memcpy(digits, text.s, text.len);
    digits[text.len] = '\0';
    return strtod(digits, NULL);
}

static bool is_bool(enum json_type t)
{
    return t == JSON_TRUE || t == JSON_FALSE;
}

static int compare_scalars(struct evaluation *e, json_ref a, json_ref b, int *ret)
{
    enum json_type left = json_type(e->d, a), right = json_type(e->d, b);

    if (left == JSON_NUMBER && right == JSON_NUMBER) {
        double x = number_of(e->d, a), y = number_of(e->d, b);
        *ret = x < y ? -1 : x > y;
    } else if (left == JSON_STRING && right == JSON_STRING) {
        *ret = str_cmp(json_text(e->d, a), json_text(e->d, b));
    } else if ((is_bool(left) && is_bool(right)) || left == JSON_NULL || right == JSON_NULL) {
        *ret = (int)left - (int)right;
    } else {
        return error_set(e->err, ERR_INVALID, "incompatible types for comparison");
    }
    return 0;
}

static bool operator_holds(enum filter_op op, int order)
{
    switch (op) {
    case FILTER_EQ:
        return order == 0;
    case FILTER_NE:
        return order != 0;
    case FILTER_LT:
        return order < 0;
    case FILTER_LE:
        return order <= 0;
    case FILTER_GT:
        return order > 0;
    case FILTER_GE:
        return order >= 0;
    case FILTER_EXISTS:
        break;
    }
    return true;
}

static json_ref literal_value(struct evaluation *e, const struct jsonpath_node *n)
{
    if (n->literal == JSON_STRING)
        return json_new_string(e->d, n->text);
    if (n->literal == JSON_NUMBER)
        return json_new_number(e->d, n->text);
    return is_bool(n->literal) ? json_new_bool(e->d, n->literal == JSON_TRUE) : json_new_null(e->d);
}

static int run_operand(struct evaluation *e, const struct jsonpath_node *n, json_ref item,
                       struct jsonpath_values *ret)
{
    if (n->type == NODE_LITERAL)
        return add_value(e, ret, literal_value(e, n));
    return run_steps(e, n->steps, item, ret);
}

static int filter_matches(struct evaluation *e, const struct jsonpath_node *n, json_ref item, bool *ret)
{
    _cleanup_(values_done_p) struct jsonpath_values left = { 0 }, right = { 0 };
    int order = 0, r = run_operand(e, n->left, item, &left);

    *ret = left.count > 0;
    if (r < 0 || n->op == FILTER_EXISTS || left.count == 0)
        return r;
    r = run_operand(e, n->right, item, &right);
    if (r < 0)
        return r;
    *ret = false;
    if (right.count == 0)
        return 0;
    if (left.count > 1 || right.count > 1)
        return error_set(e->err, ERR_INVALID, "can only compare one element at a time");
    r = compare_scalars(e, left.items[0], right.items[0], &order);
    *ret = r == 0 && operator_holds(n->op, order);
    return r;
}

static int add_filtered(struct evaluation *e, const struct jsonpath_node *n, json_ref v,
                        struct jsonpath_values *out)
{
    int r = 0;

    if (json_type(e->d, v) == JSON_NULL)
        return 0;
    if (json_type(e->d, v) != JSON_ARRAY)
        return not_a_list(e, v);
    for (json_ref c = json_first(e->d, v); c && r == 0; c = json_next(e->d, c)) {
        bool is_in;

        r = filter_matches(e, n, c, &is_in);
        if (r == 0 && is_in)
            r = add_value(e, out, c);
    }
    return r;
}

/* --- Paths --- */

static int run_step(struct evaluation *e, const struct jsonpath_node *n, json_ref v,
                    struct jsonpath_values *out)
{
    json_ref member;
    int r = 0;

    switch (n->type) {
    case NODE_FIELD:
        member = json_get_key(e->d, v, n->text);
        return member ? add_value(e, out, member) : 0;
    case NODE_SELF:
        return add_value(e, out, v);
    case NODE_WILDCARD:
        for (member = json_first(e->d, v); member && r == 0; member = json_next(e->d, member))
            r = add_value(e, out, member);
        return r;
    case NODE_SLICE:
        return add_slice(e, &n->slice, v, out);
    case NODE_FILTER:
        return add_filtered(e, n, v, out);
    case NODE_RECURSIVE:
        return add_containers(e, v, out);
    case NODE_UNION:
    case NODE_TEXT:
    case NODE_PATH:
    case NODE_RANGE:
    case NODE_LITERAL:
        break;
    }
    return 0;
}

static int run_on_all(struct evaluation *e, const struct jsonpath_node *steps,
                      const struct jsonpath_values *from, struct jsonpath_values *ret);

/* Choice by choice: first all values of the first one. */
static int run_union(struct evaluation *e, const struct jsonpath_node *n, const struct jsonpath_values *from,
                     struct jsonpath_values *out)
{
    int r = 0;

    for (const struct jsonpath_node *c = n->choices; c && r == 0; c = c->next) {
        _cleanup_(values_done_p) struct jsonpath_values found = { 0 };

        r = run_on_all(e, c->steps, from, &found);
        for (size_t i = 0; i < found.count && r == 0; i++)
            r = add_value(e, out, found.items[i]);
    }
    return r;
}

static int run_on_all(struct evaluation *e, const struct jsonpath_node *steps,
                      const struct jsonpath_values *from, struct jsonpath_values *ret)
{
    struct jsonpath_values now = { 0 };
    const struct jsonpath_node *before = NULL;
    int r = 0;

    for (size_t i = 0; i < from->count && r == 0; i++)
        r = add_value(e, &now, from->items[i]);
    for (const struct jsonpath_node *n = steps; n && r == 0; before = n, n = n->next) {
        struct jsonpath_values next = { 0 };
        bool wants_list;

        if (n->type == NODE_UNION)
            r = run_union(e, n, &now, &next);
        /* After "..", values that are not lists are skipped by an index or a filter. */
        wants_list =
            before && before->type == NODE_RECURSIVE && (n->type == NODE_SLICE || n->type == NODE_FILTER);
        for (size_t i = 0; i < now.count && r == 0; i++)
            if (!wants_list || json_type(e->d, now.items[i]) == JSON_ARRAY)
                r = run_step(e, n, now.items[i], &next);
        vec_done(&now);
        now = next;
    }
    vec_done(ret);
    *ret = now;
    return r;
}

static int run_steps(struct evaluation *e, const struct jsonpath_node *steps, json_ref v,
                     struct jsonpath_values *ret)
{
    struct jsonpath_values from = { .items = &v, .count = v ? 1 : 0 };

    return run_on_all(e, steps, &from, ret);
}

/* --- Templates --- */

static int run_nodes(struct evaluation *e, const struct jsonpath_node *nodes, json_ref v)
{
    int r = 0;

    for (const struct jsonpath_node *n = nodes; n && r == 0; n = n->next) {
        _cleanup_(values_done_p) struct jsonpath_values found = { 0 };

        if (n->type == NODE_TEXT) {
            buf_add_str(e->out, n->text);
            continue;
        }
        r = run_steps(e, n->steps, v, &found);
        for (size_t i = 0; i < found.count && r == 0; i++) {
            if (n->type == NODE_RANGE) {
                r = run_nodes(e, n->body, found.items[i]);
                continue;
            }
            if (i)
                buf_add_char(e->out, ' ');
            jsonpath_write_value(e->d, found.items[i], e->out);
        }
        if (r == 0)
            r = buf_check(e->out, "output", e->err);
    }
    return r;
}

int jsonpath_print(const struct jsonpath *p, struct json *d, json_ref v, struct buf *out, struct error *err)
{
    struct evaluation e = { .d = d, .out = out, .err = err };

    return run_nodes(&e, p->nodes, v);
}

int jsonpath_find(const struct jsonpath *p, struct json *d, json_ref v, struct jsonpath_values *ret,
                  struct error *err)
{
    struct evaluation e = { .d = d, .err = err };
    const struct jsonpath_node *n = p->nodes;

    while (n && n->type != NODE_PATH)
        n = n->next;
    ret->count = 0;
    return n ? run_steps(&e, n->steps, v, ret) : 0;
}

void jsonpath_write_value(const struct json *d, json_ref v, struct buf *out)
{
    switch (json_type(d, v)) {
    case JSON_STRING:
    case JSON_NUMBER:
        buf_add_str(out, json_text(d, v));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        buf_add_cstr(out, json_type(d, v) == JSON_TRUE ? "true" : "false");
        break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        print_json_compact(d, v, out);
        break;
    case JSON_NULL:
    case JSON_NONE:
        buf_add_cstr(out, "null");
        break;
    }
}
