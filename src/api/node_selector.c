/* Node selectors and topologies: building, matching and formatting. A term uses a label selector for its
 * expressions and a field selector for its fields. Matching allocates nothing and costs O(log labels) per
 * requirement. */
#include "api/node_selector.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "api/selector_int.h"

#define FIELD_OP_COUNT SELECTOR_EXISTS /* In and NotIn */
#define PATH_BYTES_MAX 96
/* In a text for users. */
#define TERMS_SHOWN 3

int node_selector_add_term(struct node_selector *sel, struct arena *a, struct error *err)
{
    struct node_term *terms = selector_grow(a, sel->terms, sel->count, &sel->room, sizeof *terms);

    if (!terms)
        return arena_check(a, err);
    sel->terms = terms;
    sel->terms[sel->count++] = (struct node_term){ 0 };
    return 0;
}

/* Adds the problems of a requirement to the selector's list, which is created on first use. */
static int node_selector_take_problems(struct node_selector *sel, struct arena *a,
                                       const struct problems *found, struct error *err)
{
    sel->terms[sel->count - 1].is_broken = true;
    if (!sel->problems)
        sel->problems = arena_alloc(a, sizeof *sel->problems);
    if (!sel->problems)
        return arena_check(a, err);
    problems_addf(sel->problems, "%s", found->text);
    sel->problems->count += found->count - 1; /* one text may contain several, joined like the list */
    return 0;
}

int node_selector_add_expression(struct node_selector *sel, struct arena *a,
                                 const struct requirement_parts *parts, struct error *err)
{
    struct problems found = { 0 };
    struct node_term *term;
    struct requirement r;
    enum selector_op op;
    char path[PATH_BYTES_MAX];

    assert(sel->count);
    term = &sel->terms[sel->count - 1];
    (void)snprintf(path, sizeof path, "nodeSelectorTerms[%zu].matchExpressions[%zu].", sel->count - 1,
                   term->expressions_count++); /* two numbers fit */
    if (!selector_op_of(parts->op, SELECTOR_OP_COUNT, &op))
        problems_add_operator(&found, path, parts->op, SELECTOR_OP_COUNT);
    else if (requirement_make(&r, a, parts, op, path, &found))
        return label_selector_push(&term->labels, a, &r) ? 0 : arena_check(a, err);
    return found.count ? node_selector_take_problems(sel, a, &found, err) : arena_check(a, err);
}

static int node_term_push_field(struct node_term *term, struct arena *a,
                                const struct requirement_parts *parts, bool is_not, struct error *err)
{
    struct field_selector *fields = &term->fields;
    struct field_term *terms = selector_grow(a, fields->terms, fields->count, &fields->room, sizeof *terms);
    char *field, *value;

    if (!terms)
        return arena_check(a, err);
    fields->terms = terms;
    field = arena_dup(a, parts->key);
    value = arena_dup(a, parts->values[0]);
    if (!field || !value)
        return arena_check(a, err);
    fields->terms[fields->count++] = (struct field_term){ field, { value, parts->values[0].len }, is_not };
    return 0;
}

int node_selector_add_field(struct node_selector *sel, struct arena *a, const struct requirement_parts *parts,
                            struct error *err)
{
    struct problems found = { 0 };
    struct node_term *term;
    enum selector_op op;
    char path[PATH_BYTES_MAX];

    assert(sel->count);
    term = &sel->terms[sel->count - 1];
    (void)snprintf(path, sizeof path, "nodeSelectorTerms[%zu].matchFields[%zu].", sel->count - 1,
                   term->fields_count++); /* two numbers fit */
    if (!selector_op_of(parts->op, FIELD_OP_COUNT, &op))
        problems_add_operator(&found, path, parts->op, FIELD_OP_COUNT);
    else if (parts->values_count != 1)
        problems_add_values(&found, path, parts, "must have one element");
    else
        return node_term_push_field(term, a, parts, op == SELECTOR_NOT_IN, err);
    return node_selector_take_problems(sel, a, &found, err);
}

static const char *node_field(void *ctx, const char *field)
{
    const char *const *name = ctx;

    return strcmp(field, "metadata.name") == 0 ? *name : NULL;
}

static bool node_term_matches(const struct node_term *term, const struct kv *labels, size_t count,
                              const char *node_name)
{
    if (term->is_broken || term->expressions_count + term->fields_count == 0)
        return false;
    if (!label_selector_matches(&term->labels, labels, count))
        return false;
    return !node_name || field_selector_matches(&term->fields, node_field, &node_name);
}

int node_selector_matches(const struct node_selector *sel, const struct kv *labels, size_t count,
                          const char *node_name, struct error *err)
{
    for (size_t i = 0; i < sel->count; i++)
        if (node_term_matches(&sel->terms[i], labels, count, node_name))
            return 1;
    return sel->problems ? problems_error(sel->problems, ERR_INVALID, err) : 0;
}

int node_affinity_check(const struct node_selector *required, const struct kv *labels, size_t count,
                        struct error *err)
{
    int r = 1;

    if (required)
        r = node_selector_matches(required, labels, count, /* node_name= */ NULL, err);
    if (r == 0)
        return error_set(err, ERR_UNAVAILABLE, "no matching NodeSelectorTerms");
    return r < 0 ? r : 0;
}

const struct requirement *node_term_hosts(const struct node_term *t)
{
    for (size_t i = 0; i < t->labels.count; i++)
        if (t->labels.items[i].op == SELECTOR_IN && strcmp(t->labels.items[i].key, LABEL_HOSTNAME) == 0)
            return &t->labels.items[i];
    return NULL;
}

bool node_selector_is_met(const struct node_selector *sel, const struct node_lookup *nodes)
{
    for (size_t i = 0; i < sel->count; i++) {
        const struct requirement *q = node_term_hosts(&sel->terms[i]);

        if (!q)
            return nodes->any(nodes->ctx, sel);
        for (size_t k = 0; k < q->values_count; k++)
            if (nodes->on_host(nodes->ctx, q->values[k], sel))
                return true;
    }
    return false;
}

int topology_selector_add_term(struct topology_selector *sel, struct arena *a, struct error *err)
{
    struct topology_term *terms = selector_grow(a, sel->terms, sel->count, &sel->room, sizeof *terms);

    if (!terms)
        return arena_check(a, err);
    sel->terms = terms;
    sel->terms[sel->count++] = (struct topology_term){ 0 };
    return 0;
}

int topology_selector_add_expression(struct topology_selector *sel, struct arena *a, struct str key,
                                     const struct str *values, size_t values_count, struct error *err)
{
    struct requirement_parts parts = { .key = key, .values = values, .values_count = values_count };
    struct problems ignored = { 0 }; /* the class is already validated; an invalid term matches nothing */
    struct topology_term *term;
    struct requirement r;

    assert(sel->count);
    term = &sel->terms[sel->count - 1];
    if (requirement_make(&r, a, &parts, SELECTOR_IN, "", &ignored))
        return label_selector_push(&term->labels, a, &r) ? 0 : arena_check(a, err);
    if (!ignored.count)
        return arena_check(a, err);
    term->is_broken = true;
    return 0;
}

bool topology_selector_matches(const struct topology_selector *sel, const struct kv *labels, size_t count)
{
    for (size_t i = 0; i < sel->count; i++) {
        const struct topology_term *term = &sel->terms[i];
        if (!term->is_broken && term->labels.count && label_selector_matches(&term->labels, labels, count))
            return true;
    }
    return sel->count == 0;
}

void node_selector_words(const struct node_selector *sel, struct buf *out)
{
    for (size_t i = 0; i < sel->count && i < TERMS_SHOWN; i++) {
        const struct node_term *t = &sel->terms[i];

        buf_add_cstr(out, i ? " or " : "");
        for (size_t k = 0; k < t->labels.count; k++) {
            buf_add_cstr(out, k ? "," : "");
            requirement_words(&t->labels.items[k], out);
        }
        if (t->labels.count == 0)
            buf_add_cstr(out, "(nothing)");
    }
    if (sel->count > TERMS_SHOWN)
        buf_add_cstr(out, " or others");
}
