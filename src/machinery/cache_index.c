/* The indexes of a cache: from a value to the entries that have it, in key order.
 *
 * Most values belong to one object (a volume's claim), some to thousands (a class). So a bucket stores one
 * entry inline, up to BUCKET_FEW_MAX in a sorted array, and more in an ordered map, which costs a kilobyte
 * from the start. A bucket with a map keeps it until the bucket is empty and freed. */
#include "machinery/cache_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define BUCKET_FEW_MAX 32

struct cache_bucket {
    uint32_t count; /* unused with a map */
    uint32_t cap;   /* 1: in `one`; up to BUCKET_FEW_MAX: in `few`; 0: in `many` */
    union {
        struct cache_entry *one;
        struct cache_entry **few;
        struct omap *many;
    };
    uint32_t value_len;
    char value[];
};

/* --- Buckets --- */

static void bucket_free(struct cache_bucket *b)
{
    if (b->cap == 0) {
        omap_done(b->many);
        free(b->many);
    } else if (b->cap > 1) {
        free(b->few);
    }
    free(b);
}

static struct cache_entry **bucket_items(struct cache_bucket *b)
{
    assert(b->cap > 0);
    return b->cap == 1 ? &b->one : b->few;
}

/* The index of e in the array, or where it would be inserted. */
static uint32_t bucket_place(struct cache_bucket *b, const struct cache_entry *e)
{
    struct cache_entry **items = bucket_items(b);
    uint32_t low = 0, high = b->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (cache_key_cmp(entry_key(items[middle]), entry_key(e)) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int bucket_become_map(struct cache_bucket *b)
{
    struct omap *many = malloc(sizeof *many);

    if (!many)
        return -ERR_NO_MEMORY;
    omap_init(many, cache_entry_order());
    for (uint32_t i = 0; i < b->count; i++)
        if (omap_insert(many, entry_rank(b->few[i]), b->few[i]) < 0) {
            omap_done(many);
            free(many);
            return -ERR_NO_MEMORY;
        }
    free(b->few);
    b->many = many;
    b->count = b->cap = 0;
    return 0;
}

/* Makes room for one more entry. */
static int bucket_grow(struct cache_bucket *b)
{
    struct cache_entry **few;
    uint32_t cap = b->cap * 2;

    if (b->cap == 0 || b->count < b->cap)
        return 0;
    if (b->cap == BUCKET_FEW_MAX)
        return bucket_become_map(b);
    few = realloc(b->cap == 1 ? NULL : b->few, cap * sizeof *few);
    if (!few)
        return -ERR_NO_MEMORY;
    if (b->cap == 1)
        few[0] = b->one;
    b->few = few;
    b->cap = cap;
    return 0;
}

static int bucket_add(struct cache_bucket *b, struct cache_entry *e)
{
    struct cache_entry **items;
    uint32_t at;
    int r = bucket_grow(b);

    if (r < 0)
        return r;
    if (b->cap == 0) {
        r = omap_insert(b->many, entry_rank(e), e);
        assert(r != -ERR_EXISTS);
        return r;
    }
    at = bucket_place(b, e);
    items = bucket_items(b);
    assert(at == b->count || items[at] != e);
    memmove(items + at + 1, items + at, (b->count - at) * sizeof *items);
    items[at] = e;
    b->count++;
    return 0;
}

/* True if the bucket is empty now. */
static bool bucket_remove(struct cache_bucket *b, const struct cache_entry *e)
{
    struct cache_entry **items;
    uint32_t at;

    if (b->cap == 0) {
        (void)omap_remove(b->many, entry_rank(e), e);
        return b->many->count == 0;
    }
    at = bucket_place(b, e);
    items = bucket_items(b);
    if (at < b->count && items[at] == e) {
        b->count--;
        memmove(items + at, items + at + 1, (b->count - at) * sizeof *items);
    }
    return b->count == 0;
}

/* --- One value of one entry --- */

static int index_add_value(struct cache_index *ix, struct str value, struct cache_entry *e)
{
    struct cache_bucket *b = map_get(&ix->buckets, value);
    int r;

    if (b)
        return bucket_add(b, e);
    b = malloc(sizeof *b + value.len);
    if (!b)
        return -ERR_NO_MEMORY;
    *b = (struct cache_bucket){ .cap = 1, .value_len = (uint32_t)value.len };
    if (value.len)
        memcpy(b->value, value.s, value.len);
    r = map_put(&ix->buckets, (struct str){ b->value, b->value_len }, b, NULL);
    if (r == 0)
        return bucket_add(b, e); /* the first entry is stored inline: no allocation */
    bucket_free(b);
    return r;
}

static void index_drop_value(struct cache_index *ix, struct str value, const struct cache_entry *e)
{
    struct cache_bucket *b = map_get(&ix->buckets, value);

    if (b && bucket_remove(b, e)) {
        (void)map_remove(&ix->buckets, value);
        bucket_free(b);
    }
}

/* --- The values of an object --- */

static void on_value(void *ctx, struct str value)
{
    struct cache_values *v = ctx;

    /* A failure is kept in the text buffer; if the vector cannot grow, the buffer is marked as failed too. */
    buf_add_str(&v->text, value);
    if (!v->text.failed && vec_push(&v->items, value) < 0)
        buf_fail(&v->text, ERR_NO_MEMORY);
}

static int values_read(struct cache_values *v, const struct cache_index *ix, const struct object *o,
                       struct error *err)
{
    const char *at;

    buf_clear(&v->text);
    vec_clear(&v->items);
    if (!o)
        return 0;
    ix->type->values(o, on_value, v);
    if (v->text.failed)
        return error_no_memory(err);
    at = buf_cstr(&v->text);
    for (size_t i = 0; i < v->items.count; i++) {
        v->items.items[i].s = at; /* the buffer does not move any more */
        at += v->items.items[i].len;
    }
    return 0;
}

static bool values_are_equal(const struct cache_values *a, const struct cache_values *b)
{
    if (a->items.count != b->items.count || !str_eq(buf_str(&a->text), buf_str(&b->text)))
        return false;
    for (size_t i = 0; i < a->items.count; i++)
        if (a->items.items[i].len != b->items.items[i].len)
            return false;
    return true;
}

static int value_cmp(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static void values_sort(struct cache_values *v)
{
    size_t kept = 0;

    if (v->items.count < 2)
        return;
    qsort(v->items.items, v->items.count, sizeof *v->items.items, value_cmp);
    for (size_t i = 0; i < v->items.count; i++)
        if (kept == 0 || !str_eq(v->items.items[kept - 1], v->items.items[i]))
            v->items.items[kept++] = v->items.items[i];
    v->items.count = kept;
}

/* The next value of `v` from *at on that `other` does not have; both are sorted. False at the end. */
static bool values_next(const struct cache_values *v, const struct cache_values *other, size_t *at,
                        size_t *other_at, struct str *ret)
{
    while (*at < v->items.count) {
        struct str value = v->items.items[(*at)++];

        while (*other_at < other->items.count && str_cmp(other->items.items[*other_at], value) < 0)
            (*other_at)++;
        if (*other_at < other->items.count && str_eq(other->items.items[*other_at], value))
            continue;
        *ret = value;
        return true;
    }
    return false;
}

/* --- All values of an entry --- */

int index_add(struct cache *c, struct cache_index *ix, struct cache_entry *e, const struct object *old,
              const struct object *o, struct error *err)
{
    size_t at = 0, old_at = 0, added;
    struct str value;
    int r = values_read(&c->before, ix, old, err);

    if (r == 0)
        r = values_read(&c->after, ix, o, err);
    if (r < 0)
        return r;
    if (values_are_equal(&c->before, &c->after))
        return 0;
    values_sort(&c->before);
    values_sort(&c->after);
    while (values_next(&c->after, &c->before, &at, &old_at, &value)) {
        if (index_add_value(ix, value, e) == 0)
            continue;
        added = at - 1;
        at = old_at = 0;
        while (values_next(&c->after, &c->before, &at, &old_at, &value) && at <= added)
            index_drop_value(ix, value, e);
        return error_no_memory(err);
    }
    return 1;
}

/* Removes e from the values that only one of the objects has, after index_add() has read the same objects. */
static void index_take(struct cache *c, struct cache_index *ix, struct cache_entry *e,
                       const struct object *old, const struct object *o, bool takes_new)
{
    const struct cache_values *from = takes_new ? &c->after : &c->before;
    const struct cache_values *keep = takes_new ? &c->before : &c->after;
    struct error err = { 0 };
    size_t at = 0, keep_at = 0;
    struct str value;

    if (values_read(&c->before, ix, old, &err) < 0 || values_read(&c->after, ix, o, &err) < 0)
        assert(!"values for which there was room a moment ago");
    values_sort(&c->before);
    values_sort(&c->after);
    while (values_next(from, keep, &at, &keep_at, &value))
        index_drop_value(ix, value, e);
}

void index_drop_old(struct cache *c, struct cache_index *ix, struct cache_entry *e, const struct object *old,
                    const struct object *o)
{
    index_take(c, ix, e, old, o, /* takes_new= */ false);
}

void index_undo(struct cache *c, struct cache_index *ix, struct cache_entry *e, const struct object *old,
                const struct object *o)
{
    index_take(c, ix, e, old, o, /* takes_new= */ true);
}

struct index_removal {
    struct cache_index *ix;
    const struct cache_entry *entry;
};

static void on_removed_value(void *ctx, struct str value)
{
    const struct index_removal *removal = ctx;

    index_drop_value(removal->ix, value, removal->entry);
}

void index_remove(struct cache_index *ix, const struct cache_entry *e)
{
    ix->type->values(e->object, on_removed_value, &(struct index_removal){ ix, e });
}

void index_clear(struct cache_index *ix)
{
    struct cache_bucket *b;

    for (size_t at = 0; (b = map_next(&ix->buckets, &at, NULL));)
        bucket_free(b);
    map_done(&ix->buckets);
}

/* --- Reading --- */

const struct object *index_first(const struct cache_index *ix, struct str value, struct informer_cursor *ret)
{
    struct cache_bucket *b = map_get(&ix->buckets, value);
    const struct cache_entry *e;

    *ret = (struct informer_cursor){ .bucket = b };
    if (!b)
        return NULL;
    if (b->cap == 0) {
        e = omap_first(b->many, &ret->at);
    } else {
        e = bucket_items(b)[0]; /* no bucket is empty */
        ret->next = 1;
    }
    return e ? e->object : NULL;
}

const struct object *index_next(struct informer_cursor *c)
{
    const struct cache_bucket *b = c->bucket;
    const struct cache_entry *e;

    if (b->cap == 0) {
        e = omap_next(&c->at);
        return e ? e->object : NULL;
    }
    if (c->next >= b->count)
        return NULL;
    e = b->cap == 1 ? b->one : b->few[c->next];
    c->next++;
    return e->object;
}
