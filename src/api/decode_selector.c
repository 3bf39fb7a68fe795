#include "api/decode_selector.h"

/* One requirement's parts. The slices of its values are in scratch, for as long as the next call. */
static struct requirement_parts decode_parts(struct decoder *x, json_ref requirement, struct arena *scratch)
{
    json_ref list = json_get(x->d, requirement, "values");
    struct requirement_parts parts = {
        .key = json_get_text(x->d, requirement, "key"),
        .op = json_get_text(x->d, requirement, "operator"),
    };
    struct str *values;

    arena_clear(scratch);
    values = arena_array(scratch, json_count(x->d, list), sizeof *values);
    if (!values && x->r == 0)
        x->r = arena_check(scratch, x->err);
    for (json_ref v = values ? json_first(x->d, list) : 0; v; v = json_next(x->d, v))
        values[parts.values_count++] = json_text(x->d, v);
    parts.values = values;
    return parts;
}

/* A broken rule stays with the selector; anything else is a failure of decoding. */
static void decode_note(struct decoder *x, struct label_selector *sel, int r, const struct error *err)
{
    if (r == 0 || x->r < 0 || sel->error)
        return;
    if (r != -ERR_INVALID) {
        *x->err = *err;
        x->r = r;
        return;
    }
    sel->error = arena_dup(x->arena, str_of(err->msg));
    if (!sel->error)
        x->r = arena_check(x->arena, x->err);
}

/* Room for exactly as many requirements as will come: the selector does not grow by guesses then. */
static void decode_reserve(struct decoder *x, struct label_selector *sel, uint32_t count)
{
    if (x->r < 0 || count == 0)
        return;
    sel->items = arena_array(x->arena, count, sizeof *sel->items);
    sel->room = sel->items ? count : 0;
}

const struct label_selector *decode_label_selector(struct decoder *x, json_ref object, const char *key)
{
    _cleanup_(arena_done_p) struct arena scratch = ARENA_INIT(OBJECT_MEMORY_BYTES_MAX);
    json_ref member = json_get(x->d, object, key);
    struct label_selector *sel = decode_new(x, member, sizeof *sel);
    json_ref labels = json_get(x->d, member, "matchLabels");
    json_ref expressions = json_get(x->d, member, "matchExpressions");
    struct error err;

    if (sel)
        decode_reserve(x, sel, json_count(x->d, labels) + json_count(x->d, expressions));
    for (json_ref m = sel ? json_first(x->d, labels) : 0; m && x->r == 0; m = json_next(x->d, m))
        decode_note(x, sel,
                    label_selector_add_label(sel, x->arena, json_key(x->d, m), json_text(x->d, m), &err),
                    &err);
    for (json_ref m = sel ? json_first(x->d, expressions) : 0; m && x->r == 0; m = json_next(x->d, m)) {
        struct requirement_parts parts = decode_parts(x, m, &scratch);
        decode_note(x, sel, label_selector_add(sel, x->arena, &parts, &err), &err);
    }
    return x->r == 0 ? sel : NULL;
}

static void decode_node_term(struct decoder *x, struct node_selector *sel, json_ref term,
                             struct arena *scratch)
{
    json_ref expressions = json_get(x->d, term, "matchExpressions"),
             fields = json_get(x->d, term, "matchFields");

    if (x->r == 0)
        x->r = node_selector_add_term(sel, x->arena, x->err);
    if (x->r == 0)
        decode_reserve(x, &sel->terms[sel->count - 1].labels, json_count(x->d, expressions));
    for (json_ref m = json_first(x->d, expressions); m && x->r == 0; m = json_next(x->d, m)) {
        struct requirement_parts parts = decode_parts(x, m, scratch);
        if (x->r == 0)
            x->r = node_selector_add_expression(sel, x->arena, &parts, x->err);
    }
    for (json_ref m = json_first(x->d, fields); m && x->r == 0; m = json_next(x->d, m)) {
        struct requirement_parts parts = decode_parts(x, m, scratch);
        if (x->r == 0)
            x->r = node_selector_add_field(sel, x->arena, &parts, x->err);
    }
}

const struct node_selector *decode_node_selector(struct decoder *x, json_ref object, const char *key)
{
    _cleanup_(arena_done_p) struct arena scratch = ARENA_INIT(OBJECT_MEMORY_BYTES_MAX);
    json_ref member = json_get(x->d, object, key);
    struct node_selector *sel = decode_new(x, member, sizeof *sel);
    json_ref terms = json_get(x->d, member, "nodeSelectorTerms");
    uint32_t count = 0;

    if (sel)
        sel->terms = decode_items(x, terms, sizeof *sel->terms, &count);
    for (json_ref t = sel ? json_first(x->d, terms) : 0; t && x->r == 0; t = json_next(x->d, t)) {
        sel->room = count;
        decode_node_term(x, sel, t, &scratch);
    }
    return x->r == 0 ? sel : NULL;
}

const struct node_selector *decode_node_preference(struct decoder *x, json_ref object, const char *key)
{
    _cleanup_(arena_done_p) struct arena scratch = ARENA_INIT(OBJECT_MEMORY_BYTES_MAX);
    json_ref member = json_get(x->d, object, key);
    struct node_selector *sel = decode_new(x, member, sizeof *sel);

    if (sel)
        decode_node_term(x, sel, member, &scratch);
    return x->r == 0 ? sel : NULL;
}

const struct topology_selector *decode_topologies(struct decoder *x, json_ref object, const char *key)
{
    _cleanup_(arena_done_p) struct arena scratch = ARENA_INIT(OBJECT_MEMORY_BYTES_MAX);
    json_ref member = json_get(x->d, object, key);
    struct topology_selector *sel = decode_new(x, member, sizeof *sel);

    for (json_ref t = sel ? json_first(x->d, member) : 0; t && x->r == 0; t = json_next(x->d, t)) {
        json_ref expressions = json_get(x->d, t, "matchLabelExpressions");
        x->r = topology_selector_add_term(sel, x->arena, x->err);
        for (json_ref m = json_first(x->d, expressions); m && x->r == 0; m = json_next(x->d, m)) {
            struct requirement_parts parts = decode_parts(x, m, &scratch);
            if (x->r == 0)
                x->r = topology_selector_add_expression(sel, x->arena, parts.key, parts.values,
                                                        parts.values_count, x->err);
        }
    }
    return x->r == 0 ? sel : NULL;
}
