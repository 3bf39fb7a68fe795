/* Divides values into the parts that have their own owners, according to the schema. A few parts are stored
 * inline; larger lists are allocated. Parts are sorted by name: O(n log n). */
#include "api/owned_shape.h"

#include <stdlib.h>

#include "api/json_out.h"
#include "base/cleanup.h"

/* --- Types --- */

static struct owned_type owned_list_type(const struct field *f)
{
    struct owned_type t = { .shape = OWNED_WHOLE, .field = f };

    if (f->flags & FIELD_ATOMIC)
        t.shape = OWNED_WHOLE;
    else if (f->flags & (FIELD_SET | FIELD_OWNED_SET))
        t.shape = OWNED_SET;
    else if (f->owned_keys || f->merge_key)
        t.shape = OWNED_KEYED;
    return t;
}

struct owned_type owned_field_type(const struct field *f)
{
    if (!f)
        return owned_type_of(NULL);
    if (f->type == FIELD_LIST)
        return owned_list_type(f);
    if (f->type == FIELD_MAP && !(f->flags & FIELD_ATOMIC))
        return (struct owned_type){ .shape = OWNED_MAP, .field = f };
    if (f->type == FIELD_OBJECT && (!f->sub->atomic || (f->flags & FIELD_GRANULAR)))
        return owned_type_of(f->sub);
    return (struct owned_type){ .shape = OWNED_WHOLE };
}

struct owned_type owned_member_type(struct owned_type t, struct str key, const struct field **ret_field)
{
    const struct field *f = t.shape == OWNED_STRUCT && t.schema ? schema_field(t.schema, key) : NULL;

    *ret_field = f;
    return t.shape == OWNED_STRUCT ? owned_field_type(f) : (struct owned_type){ .shape = OWNED_WHOLE };
}

struct owned_type owned_item_type(struct owned_type t)
{
    if (t.shape == OWNED_KEYED && !t.field->sub->atomic)
        return owned_type_of(t.field->sub);
    return (struct owned_type){ .shape = OWNED_WHOLE };
}

bool owned_divides(const struct json *d, struct owned_type t, json_ref v)
{
    switch (t.shape) {
    case OWNED_STRUCT:
    case OWNED_MAP:
        return json_type(d, v) == JSON_OBJECT;
    case OWNED_KEYED:
    case OWNED_SET:
        return json_type(d, v) == JSON_ARRAY;
    case OWNED_WHOLE:
        break;
    }
    return false;
}

/* --- Names of items --- */

static bool is_scalar(const struct json *d, json_ref v)
{
    return json_type(d, v) >= JSON_FALSE && json_type(d, v) <= JSON_STRING;
}

/* Appends `"key":value`; false if the item has no such key and there is no default. */
static bool name_add_key(const struct json *d, json_ref item, struct str key, struct buf *out)
{
    struct str fallback = key, name = str_next(&fallback, '=');
    json_ref v = json_get_key(d, item, name);

    if (v ? !is_scalar(d, v) : !fallback.s)
        return false;
    json_out_key_str(out, name);
    if (v)
        json_write(d, v, out);
    else
        json_out_str(out, NULL, fallback);
    return true;
}

static bool name_item(const struct json *d, struct owned_type t, json_ref item, struct buf *out)
{
    if (t.shape == OWNED_SET) {
        buf_add_cstr(out, "v:");
        json_write(d, item, out);
        return is_scalar(d, item);
    }
    struct str keys = str_of(t.field->owned_keys ? t.field->owned_keys : t.field->merge_key);
    buf_add_cstr(out, "k:{");
    while (keys.s)
        if (!name_add_key(d, item, str_next(&keys, ' '), out))
            return false;
    json_out_end_object(out);
    return true;
}

/* --- Parts --- */

static int part_cmp(const void *a, const void *b)
{
    const struct owned_part *left = a, *right = b;
    int c = str_cmp(left->name, right->name);

    return c ? c : (left->position > right->position) - (left->position < right->position);
}

static void parts_add_items(struct json *d, struct owned_type t, json_ref list, struct owned_parts *p)
{
    _cleanup_(buf_done_p) struct buf name = BUF_INIT(d->bytes_max);
    uint32_t position = 0;

    for (json_ref v = json_first(d, list); v && !d->failed; v = json_next(d, v), position++) {
        char *copy;
        buf_clear(&name);
        if (!name_item(d, t, v, &name)) {
            p->nameless = p->nameless ? p->nameless : v;
            continue;
        }
        copy = name.failed ? NULL : arena_dup(&d->texts, buf_str(&name));
        if (!copy) {
            d->failed = name.failed ? name.failed : d->texts.failed;
            return;
        }
        p->items[p->count++] = (struct owned_part){ { copy, name.len }, v, position };
    }
}

/* Keeps the first of equal names: they are sorted by position. */
static void parts_drop_duplicates(struct owned_parts *p)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < p->count; i++) {
        if (kept && str_eq(p->items[kept - 1].name, p->items[i].name))
            p->duplicate = p->duplicate ? p->duplicate : p->items[i].v;
        else
            p->items[kept++] = p->items[i];
    }
    p->count = kept;
}

static bool parts_are_sorted(const struct owned_parts *p)
{
    for (uint32_t i = 1; i < p->count; i++)
        if (str_cmp(p->items[i - 1].name, p->items[i].name) >= 0)
            return false;
    return true;
}

void owned_parts_init(struct json *d, struct owned_type t, json_ref v, json_ref from, struct owned_parts *ret)
{
    uint32_t count = json_count(d, v);

    ret->count = 0;
    ret->nameless = ret->duplicate = 0;
    ret->items = count > OWNED_PARTS_FEW ? malloc(count * sizeof *ret->items) : ret->few;
    if (!ret->items) {
        d->failed = d->failed ? d->failed : ERR_NO_MEMORY;
        return;
    }
    if (json_type(d, v) == JSON_ARRAY)
        parts_add_items(d, t, v, ret);
    else
        for (json_ref m = from ? from : json_first(d, v); m; m = json_next(d, m), ret->count++)
            ret->items[ret->count] = (struct owned_part){ json_key(d, m), m, ret->count };
    if (!parts_are_sorted(ret)) {
        qsort(ret->items, ret->count, sizeof *ret->items, part_cmp);
        parts_drop_duplicates(ret);
    }
}

void owned_parts_done_p(struct owned_parts *p)
{
    if (p->items != p->few)
        free(p->items);
}

const struct owned_part *owned_parts_find(const struct owned_parts *p, struct str name)
{
    uint32_t low = 0, high = p->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int c = str_cmp(p->items[middle].name, name);
        if (c == 0)
            return &p->items[middle];
        if (c < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

int owned_part_cmp(struct str element, struct owned_type t, const struct owned_part *part)
{
    if (t.shape == OWNED_KEYED || t.shape == OWNED_SET)
        return str_cmp(element, part->name);
    if (!str_has_prefix(element, "f:"))
        return element.len && element.s[0] < 'f' ? -1 : 1;
    return str_cmp((struct str){ element.s + 2, element.len - 2 }, part->name);
}
