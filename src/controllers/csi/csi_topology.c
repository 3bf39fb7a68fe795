/* Computes topology requirements. Terms are kept sorted by key and compared pair by pair; lists of terms are
 * sorted and have no duplicates, so that equal inputs give equal requests. */
#include "controllers/csi/csi_topology.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* --- Terms --- */

static int compare_terms(const void *left, const void *right)
{
    const struct kvs *a = left, *b = right;

    for (uint32_t i = 0; i < a->count && i < b->count; i++) {
        int order = strcmp(a->items[i].key, b->items[i].key);

        if (order == 0)
            order = strcmp(a->items[i].value, b->items[i].value);
        if (order != 0)
            return order;
    }
    return (a->count > b->count) - (a->count < b->count);
}

/* Every segment of the term is one of `of`. */
static bool term_is_subset(const struct kvs *term, const struct kvs *of)
{
    for (uint32_t i = 0; i < term->count; i++) {
        const char *value = kv_get(of->items, of->count, term->items[i].key);

        if (!value || strcmp(value, term->items[i].value) != 0)
            return false;
    }
    return true;
}

/* Sorts the terms and drops duplicates. */
static void sort_terms(struct csi_terms *t)
{
    uint32_t kept = 0;

    if (t->count == 0)
        return;
    qsort(t->items, t->count, sizeof *t->items, compare_terms);
    for (uint32_t i = 0; i < t->count; i++)
        if (i == 0 || compare_terms(&t->items[i], &t->items[kept - 1]) != 0)
            t->items[kept++] = t->items[i];
    t->count = kept;
}

static int rotate_terms(struct arena *a, const struct csi_terms *from, uint32_t first, struct csi_terms *ret,
                        struct error *err)
{
    struct kvs *items = arena_array(a, from->count, sizeof *items);

    if (!items)
        return arena_check(a, err);
    for (uint32_t i = 0; i < from->count; i++)
        items[i] = from->items[(first + i) % from->count];
    *ret = (struct csi_terms){ items, from->count };
    return 0;
}

static void write_term_words(struct buf *out, const struct kvs *term)
{
    buf_add_char(out, '[');
    for (uint32_t i = 0; i < term->count; i++)
        buf_addf(out, "%s{%s %s}", i ? " " : "", term->items[i].key, term->items[i].value);
    buf_add_char(out, ']');
}

static void write_terms_words(struct buf *out, const struct csi_terms *terms)
{
    buf_add_char(out, '[');
    for (uint32_t i = 0; i < terms->count; i++) {
        if (i)
            buf_add_char(out, ' ');
        write_term_words(out, &terms->items[i]);
    }
    buf_add_char(out, ']');
}

/* --- Nodes --- */

static const struct csi_node *csi_node_view(const struct object *o)
{
    assert(o->kind->kind == KIND_CSI_NODE);
    return (const struct csi_node *)(const void *)o;
}

/* The values of these labels of a node; false if one is missing. */
static bool term_of_node(struct arena *a, const struct object *node, const struct texts *keys,
                         struct kvs *ret)
{
    struct kv *items = arena_array(a, keys->count + 1, sizeof *items);

    if (!items)
        return false;
    for (uint32_t i = 0; i < keys->count; i++) {
        const char *value = object_label(node, keys->items[i]);

        if (!value)
            return false;
        items[i] = (struct kv){ keys->items[i], value };
    }
    kv_sort(items, keys->count);
    *ret = (struct kvs){ items, keys->count };
    return true;
}

/* The terms of all nodes that have these labels. */
static int terms_of_nodes(struct arena *a, const struct informer *nodes, const struct texts *keys,
                          struct csi_terms *ret, struct error *err)
{
    struct csi_terms all = { arena_array(a, informer_count(nodes) + 1, sizeof *all.items), 0 };
    struct informer_cursor at;

    if (!all.items)
        return arena_check(a, err);
    for (const struct object *node = informer_first(nodes, &at); node; node = informer_next(&at))
        if (term_of_node(a, node, keys, &all.items[all.count]))
            all.count++;
    sort_terms(&all);
    *ret = all;
    return arena_check(a, err);
}

/* The topology keys of a random node that runs the driver and has some. */
static struct texts keys_of_any_node(const struct informer *csi_nodes, const char *driver, struct rng *rng)
{
    struct texts found = { 0 };
    struct informer_cursor at;
    uint64_t candidates = 0;

    for (const struct object *o = informer_first(csi_nodes, &at); o; o = informer_next(&at)) {
        const struct csi_node_driver *d = csi_node_driver(csi_node_view(o), driver);

        /* Each of n candidates is kept with the same probability. */
        if (d && d->topology_keys.count > 0 && (!rng || rng_below(rng, ++candidates) == 0))
            found = d->topology_keys;
        if (!rng && found.count)
            break;
    }
    return found;
}

/* --- allowedTopologies --- */

/* The number of combinations of a term's values; more than the limit: any number above it. */
static size_t count_combinations(const struct topology_term *term)
{
    size_t combinations = term->labels.count ? 1 : 0;

    for (size_t i = 0; i < term->labels.count && combinations <= CSI_TOPOLOGY_TERMS_MAX; i++)
        combinations *= term->labels.items[i].values_count;
    return combinations;
}

/* Appends the combinations of the term's values: {zone in (a,b), rack in (1)} are two terms. */
static int flatten_term(struct arena *a, const struct topology_term *term, struct csi_terms *all,
                        struct error *err)
{
    const struct label_selector *l = &term->labels;
    size_t combinations = count_combinations(term);

    for (size_t n = 0; n < combinations; n++) {
        struct kv *items = arena_array(a, l->count, sizeof *items);
        size_t rest = n;

        if (!items)
            return arena_check(a, err);
        for (size_t i = 0; i < l->count; i++) {
            items[i] = (struct kv){ l->items[i].key, l->items[i].values[rest % l->items[i].values_count] };
            rest /= l->items[i].values_count;
        }
        kv_sort(items, l->count);
        all->items[all->count++] = (struct kvs){ items, (uint32_t)l->count };
    }
    return 0;
}

static int flatten_allowed(struct arena *a, const struct topology_selector *allowed, struct csi_terms *ret,
                           struct error *err)
{
    struct csi_terms all = { 0 };
    size_t count = 0;
    int r;

    for (size_t i = 0; i < allowed->count && count <= CSI_TOPOLOGY_TERMS_MAX; i++)
        count += count_combinations(&allowed->terms[i]);
    if (count > CSI_TOPOLOGY_TERMS_MAX)
        return error_set(err, ERR_INVALID, "allowedTopologies have more than %d combinations",
                         CSI_TOPOLOGY_TERMS_MAX);
    all.items = arena_array(a, count + 1, sizeof *all.items);
    r = arena_check(a, err);
    for (size_t i = 0; i < allowed->count && r == 0; i++)
        r = flatten_term(a, &allowed->terms[i], &all, err);
    if (r == 0)
        *ret = all;
    return r;
}

static bool has_allowed(const struct csi_topology_request *q)
{
    return q->class->topologies && q->class->topologies->count > 0;
}

/* --- The requirement --- */

/* The term of the selected node. */
static int selected_term(struct arena *a, const struct csi_topology_request *q, struct texts *ret_keys,
                         struct kvs *ret, struct error *err)
{
    const char *name = q->node->obj.name;
    const struct object *o = informer_get(q->csi_nodes, "", name);
    const struct csi_node_driver *d;

    if (!o)
        return error_set(err, ERR_NOT_FOUND,
                         "error getting CSINode for selected node \"%s\": csinode \"%s\" not found", name,
                         name);
    d = csi_node_driver(csi_node_view(o), q->driver);
    if (!d || d->topology_keys.count == 0)
        return error_set(err, ERR_UNAVAILABLE, "no topology key found for node %s", name);
    if (!term_of_node(a, &q->node->obj, &d->topology_keys, ret))
        return error_set(err, ERR_UNAVAILABLE, "topology labels from selected node \"%s\" are incomplete",
                         name);
    *ret_keys = d->topology_keys;
    return 0;
}

/* With strict topology only the selected node's term counts, which must be allowed. */
static int strict_requisite(struct arena *a, const struct csi_topology_request *q, const struct kvs *selected,
                            struct csi_terms *ret, struct error *err)
{
    _cleanup_(buf_done_p) struct buf words = BUF_INIT(ERROR_MSG_BYTES_MAX);
    struct csi_terms allowed = { 0 };
    bool is_allowed = !has_allowed(q);
    int r = has_allowed(q) ? flatten_allowed(a, q->class->topologies, &allowed, err) : 0;

    if (r < 0)
        return r;
    for (uint32_t i = 0; i < allowed.count && !is_allowed; i++)
        is_allowed = term_is_subset(&allowed.items[i], selected);
    if (!is_allowed) {
        write_term_words(&words, selected);
        buf_add_cstr(&words, "' is not in allowed topologies: ");
        write_terms_words(&words, &allowed);
        return error_set(err, ERR_UNAVAILABLE, "selected node '\"%s\"' topology '%s", q->node->obj.name,
                         buf_cstr(&words));
    }
    ret->items = arena_array(a, 1, sizeof *ret->items);
    ret->count = ret->items ? 1 : 0;
    if (ret->items)
        ret->items[0] = *selected;
    return arena_check(a, err);
}

static int requisite_of(struct arena *a, const struct csi_topology_request *q, const struct texts *keys,
                        struct csi_terms *ret, struct error *err)
{
    struct texts any;
    int r;

    if (has_allowed(q))
        return flatten_allowed(a, q->class->topologies, ret, err);
    if (!q->node && q->has_no_immediate)
        return 0;
    any = q->node ? *keys : keys_of_any_node(q->csi_nodes, q->driver, q->rng);
    r = any.count ? terms_of_nodes(a, q->nodes, &any, ret, err) : 0;
    if (r == 0 && ret->count == 0)
        return error_set(err, ERR_UNAVAILABLE, "no available topology found");
    return r;
}

/* The term of the selected node first. */
static int prefer_selected(struct arena *a, const struct csi_topology_request *q, const struct kvs *selected,
                           const struct csi_terms *requisite, struct csi_terms *ret, struct error *err)
{
    _cleanup_(buf_done_p) struct buf words = BUF_INIT(ERROR_MSG_BYTES_MAX);

    for (uint32_t i = 0; i < requisite->count; i++)
        if (term_is_subset(&requisite->items[i], selected))
            return rotate_terms(a, requisite, i, ret, err);
    write_term_words(&words, selected);
    buf_addf(&words, " from selected node \"%s\" is not in requisite: ", q->node->obj.name);
    write_terms_words(&words, requisite);
    return error_set(err, ERR_UNAVAILABLE, "topology %s", buf_cstr(&words));
}

int csi_topology_of(struct arena *a, const struct csi_topology_request *q, struct csi_topology *ret,
                    struct error *err)
{
    struct csi_topology t = { 0 };
    struct texts keys = { 0 };
    struct kvs selected = { 0 };
    int r = q->node ? selected_term(a, q, &keys, &selected, err) : 0;

    if (r == 0)
        r = q->node && q->is_strict ? strict_requisite(a, q, &selected, &t.requisite, err)
                                    : requisite_of(a, q, &keys, &t.requisite, err);
    if (r < 0)
        return r;
    sort_terms(&t.requisite);
    if (t.requisite.count > 0)
        r = q->node ? prefer_selected(a, q, &selected, &t.requisite, &t.preferred, err)
                    : rotate_terms(a, &t.requisite, csi_topology_offset(q->claim_name) % t.requisite.count,
                                   &t.preferred, err);
    if (r == 0)
        *ret = t;
    return r;
}

/* --- Segments --- */

int csi_topology_segments(struct arena *a, const struct csi_segments_request *q, struct csi_terms *ret,
                          struct error *err)
{
    struct csi_terms all = { arena_array(a, informer_count(q->csi_nodes) + 1, sizeof *all.items), 0 };
    struct informer_cursor at;

    if (!all.items)
        return arena_check(a, err);
    for (const struct object *o = informer_first(q->csi_nodes, &at); o; o = informer_next(&at)) {
        const struct csi_node_driver *d = csi_node_driver(csi_node_view(o), q->driver);
        const struct object *node = d ? informer_get(q->nodes, "", o->name) : NULL;

        if (node && (!q->node_name || strcmp(o->name, q->node_name) == 0) &&
            term_of_node(a, node, &d->topology_keys, &all.items[all.count]))
            all.count++;
    }
    sort_terms(&all);
    *ret = all;
    return arena_check(a, err);
}

bool csi_topology_is_of_node(const struct csi_segments_request *q)
{
    const struct object *o = informer_get(q->csi_nodes, "", q->node_name);
    const struct csi_node_driver *d = o ? csi_node_driver(csi_node_view(o), q->driver) : NULL;
    const struct object *node =
        d && d->topology_keys.count == 1 ? informer_get(q->nodes, "", q->node_name) : NULL;
    const char *value = node ? object_label(node, d->topology_keys.items[0]) : NULL;

    return value && strcmp(value, q->node_name) == 0;
}

bool csi_terms_cover(const struct csi_terms *terms, const struct kvs *segment)
{
    for (uint32_t i = 0; i < terms->count; i++)
        if (term_is_subset(&terms->items[i], segment))
            return true;
    return terms->count == 0;
}

/* --- Spreading --- */

/* FNV-1 with 32 bits: multiply, then xor. */
static uint32_t hash_fnv1(struct str text)
{
    uint32_t hash = UINT32_C(2166136261);

    for (size_t i = 0; i < text.len; i++)
        hash = (hash * UINT32_C(16777619)) ^ (uint8_t)text.s[i];
    return hash;
}

static struct str behind_last_dash(struct str s)
{
    const char *dash = memrchr(s.s, '-', s.len);

    return dash ? (struct str){ dash + 1, s.len - (size_t)(dash + 1 - s.s) } : s;
}

uint32_t csi_topology_offset(const char *claim_name)
{
    struct str base = str_of(claim_name), ordinal = behind_last_dash(base);
    uint64_t index = 0;

    /* TEMPLATE-SET-ORDINAL, the name of a StatefulSet's claim: hash the set, add the ordinal. */
    if (ordinal.len < base.len && str_to_uint64(ordinal, &index) && index <= UINT32_MAX) {
        base.len -= ordinal.len + 1;
        base = behind_last_dash(base);
    } else {
        index = 0;
    }
    return hash_fnv1(base) + (uint32_t)index;
}

/* --- Text --- */

void csi_topology_write_affinity(struct buf *out, const struct csi_terms *terms)
{
    if (terms->count == 0)
        return;
    json_out_object(out, "nodeAffinity");
    json_out_object(out, "required");
    json_out_array(out, "nodeSelectorTerms");
    for (uint32_t i = 0; i < terms->count; i++) {
        json_out_object(out, NULL);
        json_out_array(out, "matchExpressions");
        for (uint32_t k = 0; k < terms->items[i].count; k++) {
            json_out_object(out, NULL);
            json_out_text(out, "key", terms->items[i].items[k].key);
            json_out_text(out, "operator", "In");
            json_out_array(out, "values");
            json_out_text(out, NULL, terms->items[i].items[k].value);
            json_out_end_array(out);
            json_out_end_object(out);
        }
        json_out_end_array(out);
        json_out_end_object(out);
    }
    json_out_end_array(out);
    json_out_end_object(out);
    json_out_end_object(out);
}

static void write_terms(struct buf *out, const char *key, const struct csi_terms *terms)
{
    json_out_array(out, key);
    for (uint32_t i = 0; i < terms->count; i++) {
        json_out_object(out, NULL);
        for (uint32_t k = 0; k < terms->items[i].count; k++)
            json_out_text(out, terms->items[i].items[k].key, terms->items[i].items[k].value);
        json_out_end_object(out);
    }
    json_out_end_array(out);
}

void csi_topology_write(struct buf *out, const char *key, const struct csi_topology *t)
{
    json_out_object(out, key);
    write_terms(out, "requisite", &t->requisite);
    write_terms(out, "preferred", &t->preferred);
    json_out_end_object(out);
}

static int read_terms(struct arena *a, const struct json *d, json_ref from, struct csi_terms *ret,
                      struct error *err)
{
    struct csi_terms all = { arena_array(a, (size_t)json_count(d, from) + 1, sizeof *all.items), 0 };

    if (!all.items)
        return arena_check(a, err);
    for (json_ref term = json_first(d, from); term; term = json_next(d, term)) {
        struct kv *items = arena_array(a, (size_t)json_count(d, term) + 1, sizeof *items);
        uint32_t count = 0;

        if (!items)
            return arena_check(a, err);
        for (json_ref m = json_first(d, term); m; m = json_next(d, m))
            items[count++] = (struct kv){ arena_dup(a, json_key(d, m)), arena_dup(a, json_text(d, m)) };
        if (arena_check(a, err) < 0)
            return -(int)err->code;
        kv_sort(items, count);
        all.items[all.count++] = (struct kvs){ items, count };
    }
    *ret = all;
    return 0;
}

int csi_topology_read(struct arena *a, const struct json *d, json_ref from, struct csi_topology *ret,
                      struct error *err)
{
    struct csi_topology t;
    int r = read_terms(a, d, json_get(d, from, "requisite"), &t.requisite, err);

    if (r == 0)
        r = read_terms(a, d, json_get(d, from, "preferred"), &t.preferred, err);
    if (r == 0)
        *ret = t;
    return r;
}
