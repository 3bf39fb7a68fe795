#include "api/decode_selector.h"

/* The values of a requirement as slices; they live in the document. */
static const struct str *decode_values(struct decoder *x, json_ref list, size_t *ret_count)
{
    uint32_t count, n = 0;
    struct str *values = decode_items(x, list, sizeof *values, &count);

    for (json_ref v = values ? json_first(x->d, list) : 0; v; v = json_next(x->d, v))
        values[n++] = json_text(x->d, v);
    *ret_count = count;
    return values;
}

static struct requirement_parts decode_parts(struct decoder *x, json_ref requirement)
{
    struct requirement_parts parts = {
        .key = json_get_text(x->d, requirement, "key"),
        .op = json_get_text(x->d, requirement, "operator"),
    };

    parts.values = decode_values(x, json_get(x->d, requirement, "values"), &parts.values_count);
    return parts;
}

/* A selector of its own kind, empty, when the object has the member; else NULL. */
static void *decode_new(struct decoder *x, json_ref member, size_t bytes)
{
    void *made = x->r == 0 && member ? arena_alloc(x->arena, bytes) : NULL;

    if (x->r == 0 && member && !made)
        x->r = arena_check(x->arena, x->err);
    return made;
}

/* A broken rule stays with the selector; anything else is a failure of decoding. */
static void decode_note(struct decoder *x, struct label_selector *sel, int r, const struct error *err)
{
    if (r == 0 || x->r < 0 || sel->error)
        return;
    if (r == -ERR_INVALID) {
        sel->error = arena_dup(x->arena, str_of(err->msg));
        if (sel->error)
            return;
    }
    *x->err = *err;
    x->r = r == -ERR_INVALID ? error_no_memory(x->err) : r;
}

const struct label_selector *decode_label_selector(struct decoder *x, json_ref object, const char *key)
{
    json_ref member = json_get(x->d, object, key);
    struct label_selector *sel = decode_new(x, member, sizeof *sel);
    json_ref labels = json_get(x->d, member, "matchLabels");
    json_ref expressions = json_get(x->d, member, "matchExpressions");
    struct error err;

    for (json_ref m = sel ? json_first(x->d, labels) : 0; m && x->r == 0; m = json_next(x->d, m))
        decode_note(x, sel,
                    label_selector_add_label(sel, x->arena, json_key(x->d, m), json_text(x->d, m), &err),
                    &err);
    for (json_ref m = sel ? json_first(x->d, expressions) : 0; m && x->r == 0; m = json_next(x->d, m)) {
        struct requirement_parts parts = decode_parts(x, m);
        decode_note(x, sel, label_selector_add(sel, x->arena, &parts, &err), &err);
    }
    return x->r == 0 ? sel : NULL;
}

static void decode_node_term(struct decoder *x, struct node_selector *sel, json_ref term)
{
    json_ref expressions = json_get(x->d, term, "matchExpressions"),
             fields = json_get(x->d, term, "matchFields");

    if (x->r == 0)
        x->r = node_selector_add_term(sel, x->arena, x->err);
    for (json_ref m = json_first(x->d, expressions); m && x->r == 0; m = json_next(x->d, m)) {
        struct requirement_parts parts = decode_parts(x, m);
        if (x->r == 0)
            x->r = node_selector_add_expression(sel, x->arena, &parts, x->err);
    }
    for (json_ref m = json_first(x->d, fields); m && x->r == 0; m = json_next(x->d, m)) {
        struct requirement_parts parts = decode_parts(x, m);
        if (x->r == 0)
            x->r = node_selector_add_field(sel, x->arena, &parts, x->err);
    }
}

const struct node_selector *decode_node_selector(struct decoder *x, json_ref object, const char *key)
{
    json_ref member = json_get(x->d, object, key);
    struct node_selector *sel = decode_new(x, member, sizeof *sel);
    json_ref terms = json_get(x->d, member, "nodeSelectorTerms");

    for (json_ref t = sel ? json_first(x->d, terms) : 0; t; t = json_next(x->d, t))
        decode_node_term(x, sel, t);
    return x->r == 0 ? sel : NULL;
}

const struct topology_selector *decode_topologies(struct decoder *x, json_ref object, const char *key)
{
    json_ref member = json_get(x->d, object, key);
    struct topology_selector *sel = decode_new(x, member, sizeof *sel);

    for (json_ref t = sel ? json_first(x->d, member) : 0; t && x->r == 0; t = json_next(x->d, t)) {
        json_ref expressions = json_get(x->d, t, "matchLabelExpressions");
        x->r = topology_selector_add_term(sel, x->arena, x->err);
        for (json_ref m = json_first(x->d, expressions); m && x->r == 0; m = json_next(x->d, m)) {
            struct requirement_parts parts = decode_parts(x, m);
            if (x->r == 0)
                x->r = topology_selector_add_expression(sel, x->arena, parts.key, parts.values,
                                                        parts.values_count, x->err);
        }
    }
    return x->r == 0 ? sel : NULL;
}
