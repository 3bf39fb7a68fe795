/* Code that all patch types share, and patches on texts. Work is kept on an explicit stack, so that nothing
 * recurses, and charged to a budget of steps. */
#include "api/patch.h"

#include "api/patch_int.h"
#include "base/cleanup.h"

#define PATCH_STACK_FIRST 64

int patch_charge(struct patch_run *r, uint64_t steps)
{
    if (steps > PATCH_STEPS_MAX - r->steps)
        return error_set(r->err, ERR_TOO_LARGE, "the patch takes more than %d steps to apply",
                         PATCH_STEPS_MAX);
    r->steps += steps;
    return 0;
}

int patch_push(struct patch_run *r, json_ref target, json_ref patch, const struct schema *s)
{
    if (r->count == r->cap) {
        uint32_t cap = r->cap ? r->cap * 2 : PATCH_STACK_FIRST;
        struct patch_work *stack = cap > r->cap ? realloc(r->stack, cap * sizeof *stack) : NULL;
        if (!stack)
            return error_no_memory(r->err);
        r->stack = stack;
        r->cap = cap;
    }
    r->stack[r->count++] = (struct patch_work){ target, patch, s };
    return 0;
}

void patch_keep_order(struct patch_run *r, uint32_t mark)
{
    for (uint32_t low = mark, high = r->count; low + 1 < high; low++, high--) {
        struct patch_work swap = r->stack[low];
        r->stack[low] = r->stack[high - 1];
        r->stack[high - 1] = swap;
    }
}

/* --- Index --- */

bool patch_label_item(const struct json *d, json_ref item, const char *field, struct patch_label *ret)
{
    json_ref v = field ? json_get(d, item, field) : item;
    enum json_type type = json_type(d, v);

    if (type < JSON_FALSE || type > JSON_STRING)
        return false;
    *ret = (struct patch_label){ json_text(d, v), type };
    return true;
}

static bool patch_label_member(const struct json *d, json_ref member, const char *prefix,
                               struct patch_label *ret)
{
    struct str name = json_key(d, member);
    size_t skip = prefix ? strlen(prefix) : 0;

    if (prefix && !str_has_prefix(name, prefix))
        return false;
    *ret = patch_label_name((struct str){ name.s + skip, name.len - skip });
    return true;
}

static int patch_label_cmp(const struct patch_label *a, const struct patch_label *b)
{
    if (a->type != b->type)
        return a->type < b->type ? -1 : 1;
    return str_cmp(a->text, b->text);
}

static int patch_entry_cmp(const void *a, const void *b)
{
    const struct patch_entry *left = a, *right = b;
    int c = patch_label_cmp(&left->label, &right->label);

    return c ? c : (left->position > right->position) - (left->position < right->position);
}

/* Fills the entries and counts the steps for finding the labels: a merge key may come after many other
 * members. */
static uint64_t patch_index_fill(const struct json *d, struct patch_index *index, json_ref container,
                                 const char *by)
{
    bool members = json_type(d, container) == JSON_OBJECT;
    uint64_t steps = 0;
    uint32_t position = 0;

    for (json_ref v = json_first(d, container); v; v = json_next(d, v), position++) {
        struct patch_entry *e = &index->entries[index->count];
        bool labelled =
            members ? patch_label_member(d, v, by, &e->label) : patch_label_item(d, v, by, &e->label);
        steps += 1 + (members ? 0 : json_count(d, v));
        if (labelled && json_type(d, v) != JSON_NONE) {
            e->node = v;
            e->position = position;
            index->count++;
        }
    }
    return steps;
}

int patch_index_init(struct patch_run *r, struct patch_index *index, json_ref container, const char *by,
                     uint32_t lookups)
{
    uint32_t count = json_count(r->d, container);
    uint64_t steps;

    index->entries = count > PATCH_INDEX_FEW ? malloc(count * sizeof *index->entries) : index->few;
    if (!index->entries)
        return error_no_memory(r->err);
    steps = patch_index_fill(r->d, index, container, by);
    index->sorted = index->count > PATCH_INDEX_FEW && lookups > PATCH_INDEX_FEW;
    if (index->sorted)
        qsort(index->entries, index->count, sizeof *index->entries, patch_entry_cmp);
    return patch_charge(r, steps + (uint64_t)index->count * (index->sorted ? PATCH_SORT_STEPS : lookups));
}

void patch_index_done_p(struct patch_index *index)
{
    if (index->entries != index->few)
        free(index->entries);
}

const struct patch_entry *patch_index_find(const struct patch_index *index, struct patch_label label)
{
    uint32_t low = 0, high = index->count;

    if (!index->sorted) {
        for (uint32_t i = 0; i < index->count; i++)
            if (patch_label_cmp(&index->entries[i].label, &label) == 0)
                return &index->entries[i];
        return NULL;
    }
    while (low < high) { /* the first that is not less */
        uint32_t middle = low + (high - low) / 2;
        if (patch_label_cmp(&index->entries[middle].label, &label) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < index->count && patch_label_cmp(&index->entries[low].label, &label) == 0
               ? &index->entries[low]
               : NULL;
}

/* --- Go's print format --- */

static void patch_write_go_scalar(const struct json *d, json_ref v, struct buf *out)
{
    enum json_type type = json_type(d, v);

    if (type == JSON_STRING || type == JSON_NUMBER)
        buf_add_str(out, json_text(d, v));
    else if (type == JSON_TRUE || type == JSON_FALSE)
        buf_add_cstr(out, type == JSON_TRUE ? "true" : "false");
    else
        buf_add_cstr(out, "<nil>");
}

void patch_write_go(struct json *d, json_ref v, struct buf *out)
{
    json_ref top = v;

    while (!out->failed) {
        enum json_type type = json_type(d, v);
        if (v != top && json_type(d, json_parent(d, v)) == JSON_OBJECT) {
            buf_add_str(out, json_key(d, v));
            buf_add_char(out, ':');
        }
        if (type == JSON_OBJECT)
            json_sort_members(d, v);
        if (type == JSON_OBJECT || type == JSON_ARRAY) {
            buf_add_cstr(out, type == JSON_OBJECT ? "map[" : "[");
            if (json_first(d, v)) {
                v = json_first(d, v);
                continue;
            }
            buf_add_char(out, ']');
        } else {
            patch_write_go_scalar(d, v, out);
        }
        for (; v != top && !json_next(d, v); v = json_parent(d, v))
            buf_add_char(out, ']');
        if (v == top)
            break;
        buf_add_char(out, ' ');
        v = json_next(d, v);
    }
}

/* --- Texts --- */

int patch_apply_text(enum patch_type type, const struct schema *s, struct str target, struct str patch,
                     struct buf *out, struct error *err)
{
    _cleanup_(json_done_p) struct json d;
    json_ref t, p;
    int e;

    json_init(&d, out->len_max);
    e = json_parse(&d, target, &t, err);
    if (e < 0)
        return error_wrap(err, "error decoding the object to patch");
    e = json_parse(&d, patch, &p, err);
    if (e < 0)
        return error_wrap(err, "error decoding patch");
    switch (type) {
    case PATCH_JSON:
        e = patch_json(&d, t, p, err);
        break;
    case PATCH_MERGE:
        e = patch_merge(&d, t, p, err);
        break;
    case PATCH_STRATEGIC:
        e = patch_strategic(s, &d, t, p, err);
        break;
    }
    if (e < 0)
        return e;
    json_write(&d, t, out);
    return buf_check(out, "the patched object", err);
}
