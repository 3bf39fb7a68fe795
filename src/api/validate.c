/* Validation rules that several kinds share. Rules for metadata are in validate_meta.c, rules for single
 * fields in validate_fields.c. */
#include "api/validate.h"

#include <stdlib.h>

#include "api/names.h"
#include "api/quantity.h"
#include "base/cleanup.h"

struct str validate_required_text(struct validation *v, const struct field_path *p, json_ref object,
                                  const char *key)
{
    struct str text = json_get_text(v->d, object, key);
    struct field_path at = path_child(p, key);

    if (text.len == 0)
        errors_required(v->errors, &at, "");
    return text;
}

void validate_one_of(struct validation *v, const struct field_path *p, struct str text,
                     const char *const *names)
{
    for (const char *const *name = names; *name; name++)
        if (str_is(text, *name))
            return;
    errors_not_supported(v->errors, p, show_text(v->errors, text), names);
}

static void validate_add_problems(struct validation *v, const struct field_path *p, struct str shown,
                                  const struct name_problems *problems)
{
    for (size_t i = 0; i < problems->count; i++) {
        const struct name_problem *problem = &problems->items[i];
        switch (problem->type) {
        case NAME_REQUIRED:
            errors_required(v->errors, p, problem->detail);
            break;
        case NAME_TOO_LONG:
            errors_too_long(v->errors, p, problem->detail);
            break;
        case NAME_INVALID:
            errors_invalid(v->errors, p, show_text(v->errors, shown), problem->detail);
            break;
        }
    }
}

void validate_name(struct validation *v, const struct field_path *p, enum name_rule rule, struct str name)
{
    struct name_problems problems;

    if (!name_check(rule, name, &problems))
        validate_add_problems(v, p, name, &problems);
}

void validate_name_prefix(struct validation *v, const struct field_path *p, enum name_rule rule,
                          struct str prefix)
{
    struct name_problems problems;

    if (!name_check_prefix(rule, prefix, &problems))
        validate_add_problems(v, p, prefix, &problems);
}

void validate_labels(struct validation *v, const struct field_path *p, json_ref labels)
{
    for (json_ref m = json_first(v->d, labels); m; m = json_next(v->d, m)) {
        validate_name(v, p, NAME_QUALIFIED, json_key(v->d, m));
        validate_name(v, p, NAME_LABEL_VALUE, json_text(v->d, m));
    }
}

void validate_immutable(struct validation *v, const struct field_path *p, json_ref now, json_ref old)
{
    if (!json_equal(v->d, now, old))
        errors_invalid(v->errors, p, show_value(v->errors, v->d, now), "field is immutable");
}

struct list_value {
    struct str text;
    uint32_t index;
};

static int list_value_cmp(const void *a, const void *b)
{
    const struct list_value *left = a, *right = b;
    int r = str_cmp(left->text, right->text);

    return r ? r : (left->index > right->index) - (left->index < right->index);
}

static int index_cmp(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Writes the values one after another into texts, to which the entries point. Returns their number. */
static uint32_t list_values_collect(struct validation *v, json_ref list, const char *key,
                                    struct list_value *values, struct buf *texts)
{
    uint32_t index = 0, n = 0;
    const char *at;

    for (json_ref m = json_first(v->d, list); m; m = json_next(v->d, m), index++) {
        json_ref value = key ? json_get(v->d, m, key) : m;
        size_t before = texts->len;
        if (!value)
            continue;
        json_write(v->d, value, texts);
        values[n++] = (struct list_value){ { NULL, texts->len - before }, index };
    }
    at = buf_cstr(texts);
    for (uint32_t i = 0; i < n; i++) {
        values[i].text.s = at;
        at += values[i].text.len;
    }
    return n;
}

/* Sorts, so that a list of any length costs O(n log n). Stores the indexes of duplicates and returns their
 * number. */
static uint32_t list_values_find_duplicates(struct list_value *values, uint32_t n, uint32_t *indexes)
{
    uint32_t found = 0;

    if (n > 1)
        qsort(values, n, sizeof *values, list_value_cmp);
    for (uint32_t i = 1; i < n; i++)
        if (str_eq(values[i].text, values[i - 1].text))
            indexes[found++] = values[i].index;
    if (found > 1)
        qsort(indexes, found, sizeof *indexes, index_cmp);
    return found;
}

uint32_t validate_find_duplicates(struct validation *v, json_ref list, const char *key, const uint32_t **ret)
{
    _cleanup_(buf_done_p) struct buf texts = BUF_INIT(v->d->bytes_max * 8);
    uint32_t count = json_count(v->d, list), n = 0, found = 0;
    uint32_t *indexes;
    struct list_value *values;

    if (count < 2)
        return 0;
    indexes = arena_array(&v->errors->arena, count, sizeof *indexes);
    values = indexes ? calloc(count, sizeof *values) : NULL;
    if (values)
        n = list_values_collect(v, list, key, values, &texts);
    if (values && !texts.failed)
        found = list_values_find_duplicates(values, n, indexes);
    if (!values || texts.failed)
        errors_no_room(v->errors);
    free(values);
    *ret = indexes;
    return found;
}

void validate_unique(struct validation *v, const struct field_path *p, json_ref list, const char *key)
{
    const uint32_t *duplicates = NULL;
    uint32_t left = validate_find_duplicates(v, list, key, &duplicates), index = 0;

    for (json_ref m = json_first(v->d, list); m && left; m = json_next(v->d, m), index++) {
        struct field_path item = path_index(p, index), member = path_child(&item, key);
        if (index != *duplicates)
            continue;
        if (v->errors->count == FIELD_ERRORS_COUNT_MAX)
            return;
        errors_duplicate(v->errors, key ? &member : &item,
                         show_value(v->errors, v->d, key ? json_get(v->d, m, key) : m));
        duplicates++;
        left--;
    }
}

void validate_nothing(struct validation *v)
{
    (void)v;
}

void default_nothing(struct json *d, json_ref object)
{
    (void)d;
    (void)object;
}

void validate_bytes_max(struct validation *v, const struct field_path *p, size_t bytes, size_t bytes_max)
{
    if (bytes > bytes_max)
        errors_too_long(v->errors, p, errors_printf(v->errors, "may not be more than %zu bytes", bytes_max));
}

void validate_no_updates(struct validation *v, const char *key)
{
    struct field_path at = path_child(NULL, key);

    if (!json_equal(v->d, json_get(v->d, v->object, key), json_get(v->d, v->old, key)))
        errors_forbidden(v->errors, &at, errors_printf(v->errors, "updates to %s are forbidden.", key));
}

void validate_quantity_not_negative(struct validation *v, const struct field_path *p, json_ref quantity)
{
    struct error ignored; /* canonical form has only quantities that parse */
    struct quantity q;

    if (quantity && quantity_parse(json_text(v->d, quantity), &q, &ignored) == 0 && quantity_sign(&q) < 0)
        errors_invalid(v->errors, p, show_value(v->errors, v->d, quantity),
                       "must be greater than or equal to 0");
}

/* --- Selectors --- */

static void validate_operator(struct validation *v, const struct field_path *p, struct str op,
                              uint32_t values_count, bool has_order)
{
    struct field_path values = path_child(p, "values"), at = path_child(p, "operator");

    if (str_is(op, "In") || str_is(op, "NotIn")) {
        if (values_count == 0)
            errors_required(v->errors, &values, "must be specified when `operator` is 'In' or 'NotIn'");
    } else if (str_is(op, "Exists") || str_is(op, "DoesNotExist")) {
        if (values_count > 0)
            errors_forbidden(v->errors, &values,
                             "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    } else if (has_order && (str_is(op, "Gt") || str_is(op, "Lt"))) {
        if (values_count != 1)
            errors_required(v->errors, &values,
                            "must be specified single value when `operator` is 'Lt' or 'Gt'");
    } else {
        errors_invalid(v->errors, &at, show_text(v->errors, op), "not a valid selector operator");
    }
}

/* A requirement of a label selector, or of a node selector, which has more operators. */
static void validate_expression(struct validation *v, const struct field_path *p, json_ref expression,
                                bool has_order)
{
    struct field_path key = path_child(p, "key"), values = path_child(p, "values");
    json_ref list = json_get(v->d, expression, "values");
    uint32_t i = 0;

    validate_operator(v, p, json_get_text(v->d, expression, "operator"), json_count(v->d, list), has_order);
    validate_name(v, &key, NAME_QUALIFIED, json_get_text(v->d, expression, "key"));
    for (json_ref m = json_first(v->d, list); m; m = json_next(v->d, m)) {
        struct field_path at = path_index(&values, i++);
        validate_name(v, &at, NAME_LABEL_VALUE, json_text(v->d, m));
    }
}

static void validate_expressions(struct validation *v, const struct field_path *p, json_ref list,
                                 bool has_order)
{
    struct field_path expressions = path_child(p, "matchExpressions");
    uint32_t i = 0;

    for (json_ref m = json_first(v->d, list); m; m = json_next(v->d, m)) {
        struct field_path at = path_index(&expressions, i++);
        validate_expression(v, &at, m, has_order);
    }
}

void validate_label_selector(struct validation *v, const struct field_path *p, json_ref selector)
{
    struct field_path labels = path_child(p, "matchLabels");

    validate_labels(v, &labels, json_get(v->d, selector, "matchLabels"));
    validate_expressions(v, p, json_get(v->d, selector, "matchExpressions"), /* has_order= */ false);
}

/* The only field by which nodes can be selected is their name. */
static void validate_node_field(struct validation *v, const struct field_path *p, json_ref requirement)
{
    struct field_path key = path_child(p, "key"), op = path_child(p, "operator"),
                      values = path_child(p, "values");
    struct str name = json_get_text(v->d, requirement, "operator");
    struct str field = json_get_text(v->d, requirement, "key");
    json_ref list = json_get(v->d, requirement, "values");
    uint32_t i = 0;

    if (str_is(name, "In") || str_is(name, "NotIn")) {
        if (json_count(v->d, list) != 1)
            errors_required(
                v->errors, &values,
                "must be only one value when `operator` is 'In' or 'NotIn' for node field selector");
    } else {
        errors_invalid(v->errors, &op, show_text(v->errors, name), "not a valid selector operator");
    }
    if (!str_is(field, "metadata.name")) {
        errors_invalid(v->errors, &key, show_text(v->errors, field), "not a valid field selector key");
        return;
    }
    for (json_ref m = json_first(v->d, list); m; m = json_next(v->d, m)) {
        struct field_path at = path_index(&values, i++);
        validate_name(v, &at, NAME_DNS_SUBDOMAIN, json_text(v->d, m));
    }
}

void validate_node_selector(struct validation *v, const struct field_path *p, json_ref selector)
{
    struct field_path terms = path_child(p, "nodeSelectorTerms");
    json_ref list = json_get(v->d, selector, "nodeSelectorTerms");
    uint32_t term = 0;

    if (json_count(v->d, list) == 0)
        errors_required(v->errors, &terms, "must have at least one node selector term");
    for (json_ref t = json_first(v->d, list); t; t = json_next(v->d, t)) {
        struct field_path at = path_index(&terms, term++);
        struct field_path fields = path_child(&at, "matchFields");
        uint32_t i = 0;
        validate_expressions(v, &at, json_get(v->d, t, "matchExpressions"), /* has_order= */ true);
        for (json_ref m = json_first(v->d, json_get(v->d, t, "matchFields")); m; m = json_next(v->d, m)) {
            struct field_path each = path_index(&fields, i++);
            validate_node_field(v, &each, m);
        }
    }
}
