/* Decodes label selectors, node selectors and topologies of objects. An invalid selector does not fail the
 * decoding: the error is stored in the selector. Arrays are allocated with their final size in the object's
 * arena. */
#include "api/decode_selector.h"

/* The parts of one requirement. Its values are in scratch until the next call. */
static struct requirement_parts decode_parts(struct decoder *dec, json_ref requirement, struct arena *scratch)
{
    json_ref list = json_get(dec->d, requirement, "values");
    struct requirement_parts parts = {
        .key = json_get_text(dec->d, requirement, "key"),
        .op = json_get_text(dec->d, requirement, "operator"),
    };
    struct str *values;

    arena_clear(scratch);
    values = arena_array(scratch, json_count(dec->d, list), sizeof *values);
    if (!values && dec->r == 0)
        dec->r = arena_check(scratch, dec->err);
    for (json_ref v = values ? json_first(dec->d, list) : 0; v; v = json_next(dec->d, v))
        values[parts.values_count++] = json_text(dec->d, v);
    parts.values = values;
    return parts;
}

/* Stores a violated rule in the selector; other errors fail the decoding. */
static void decode_note(struct decoder *dec, struct label_selector *sel, int r, const struct error *err)
{
    if (r == 0 || dec->r < 0 || sel->error)
        return;
    if (r != -ERR_INVALID) {
        *dec->err = *err;
        dec->r = r;
        return;
    }
    sel->error = arena_dup(dec->arena, str_of(err->msg));
    if (!sel->error)
        dec->r = arena_check(dec->arena, dec->err);
}

/* Allocates exactly as many requirements as needed. */
static void decode_reserve(struct decoder *dec, struct label_selector *sel, uint32_t count)
{
    if (dec->r < 0 || count == 0)
        return;
    sel->items = arena_array(dec->arena, count, sizeof *sel->items);
    sel->room = sel->items ? count : 0;
}

const struct label_selector *decode_label_selector(struct decoder *dec, json_ref object, const char *key)
{
    _cleanup_(arena_done_p) struct arena scratch = ARENA_INIT(OBJECT_MEMORY_BYTES_MAX);
    json_ref member = json_get(dec->d, object, key);
    struct label_selector *sel = decode_new(dec, member, sizeof *sel);
    json_ref labels = json_get(dec->d, member, "matchLabels");
    json_ref expressions = json_get(dec->d, member, "matchExpressions");
    struct error err;

    if (sel)
        decode_reserve(dec, sel, json_count(dec->d, labels) + json_count(dec->d, expressions));
    for (json_ref m = sel ? json_first(dec->d, labels) : 0; m && dec->r == 0; m = json_next(dec->d, m))
        decode_note(
            dec, sel,
            label_selector_add_label(sel, dec->arena, json_key(dec->d, m), json_text(dec->d, m), &err), &err);
    for (json_ref m = sel ? json_first(dec->d, expressions) : 0; m && dec->r == 0; m = json_next(dec->d, m)) {
        struct requirement_parts parts = decode_parts(dec, m, &scratch);
        decode_note(dec, sel, label_selector_add(sel, dec->arena, &parts, &err), &err);
    }
    return dec->r == 0 ? sel : NULL;
}

static void decode_node_term(struct decoder *dec, struct node_selector *sel, json_ref term,
                             struct arena *scratch)
{
    json_ref expressions = json_get(dec->d, term, "matchExpressions"),
             fields = json_get(dec->d, term, "matchFields");

    if (dec->r == 0)
        dec->r = node_selector_add_term(sel, dec->arena, dec->err);
    if (dec->r == 0)
        decode_reserve(dec, &sel->terms[sel->count - 1].labels, json_count(dec->d, expressions));
    for (json_ref m = json_first(dec->d, expressions); m && dec->r == 0; m = json_next(dec->d, m)) {
        struct requirement_parts parts = decode_parts(dec, m, scratch);
        if (dec->r == 0)
            dec->r = node_selector_add_expression(sel, dec->arena, &parts, dec->err);
    }
    for (json_ref m = json_first(dec->d, fields); m && dec->r == 0; m = json_next(dec->d, m)) {
        struct requirement_parts parts = decode_parts(dec, m, scratch);
        if (dec->r == 0)
            dec->r = node_selector_add_field(sel, dec->arena, &parts, dec->err);
    }
}

const struct node_selector *decode_node_selector(struct decoder *dec, json_ref object, const char *key)
{
    _cleanup_(arena_done_p) struct arena scratch = ARENA_INIT(OBJECT_MEMORY_BYTES_MAX);
    json_ref member = json_get(dec->d, object, key);
    struct node_selector *sel = decode_new(dec, member, sizeof *sel);
    json_ref terms = json_get(dec->d, member, "nodeSelectorTerms");
    uint32_t count = 0;

    if (sel)
        sel->terms = decode_items(dec, terms, sizeof *sel->terms, &count);
    for (json_ref t = sel ? json_first(dec->d, terms) : 0; t && dec->r == 0; t = json_next(dec->d, t)) {
        sel->room = count;
        decode_node_term(dec, sel, t, &scratch);
    }
    return dec->r == 0 ? sel : NULL;
}

const struct node_selector *decode_node_preference(struct decoder *dec, json_ref object, const char *key)
{
    _cleanup_(arena_done_p) struct arena scratch = ARENA_INIT(OBJECT_MEMORY_BYTES_MAX);
    json_ref member = json_get(dec->d, object, key);
    struct node_selector *sel = decode_new(dec, member, sizeof *sel);

    if (sel)
        decode_node_term(dec, sel, member, &scratch);
    return dec->r == 0 ? sel : NULL;
}

const struct topology_selector *decode_topologies(struct decoder *dec, json_ref object, const char *key)
{
    _cleanup_(arena_done_p) struct arena scratch = ARENA_INIT(OBJECT_MEMORY_BYTES_MAX);
    json_ref member = json_get(dec->d, object, key);
    struct topology_selector *sel = decode_new(dec, member, sizeof *sel);

    for (json_ref t = sel ? json_first(dec->d, member) : 0; t && dec->r == 0; t = json_next(dec->d, t)) {
        json_ref expressions = json_get(dec->d, t, "matchLabelExpressions");
        dec->r = topology_selector_add_term(sel, dec->arena, dec->err);
        for (json_ref m = json_first(dec->d, expressions); m && dec->r == 0; m = json_next(dec->d, m)) {
            struct requirement_parts parts = decode_parts(dec, m, &scratch);
            if (dec->r == 0)
                dec->r = topology_selector_add_expression(sel, dec->arena, parts.key, parts.values,
                                                          parts.values_count, dec->err);
        }
    }
    return dec->r == 0 ? sel : NULL;
}
