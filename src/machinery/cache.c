/* Implementation of an informer's cache: a hash map by key, an ordered map of the same entries, and the
 * indexes.
 *
 * A change is applied in two steps: what may fail for lack of memory first (new index places), then what
 * cannot fail. So a failed change leaves the cache as it was. */
#include "machinery/cache.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "machinery/cache_int.h"

/* --- Keys --- */

/* Writes the key into `room` of CACHE_KEY_BYTES_MAX; s is NULL if it does not fit. */
static struct str key_of(const char *ns, const char *name, char *room)
{
    size_t ns_len = strlen(ns), name_len = strlen(name);
    size_t len = ns_len ? ns_len + 1 : 0;

    if (ns_len > CACHE_KEY_BYTES_MAX || name_len > CACHE_KEY_BYTES_MAX ||
        len + name_len > CACHE_KEY_BYTES_MAX)
        return (struct str){ NULL, 0 };
    memcpy(room, ns, ns_len);
    if (ns_len)
        room[ns_len] = '/';
    memcpy(room + len, name, name_len);
    return (struct str){ room, len + name_len };
}

bool cache_can_hold(const struct object *o)
{
    char room[CACHE_KEY_BYTES_MAX];

    return o->name[0] != '\0' && !strchr(o->name, '/') && !strchr(o->ns, '/') &&
           key_of(o->ns, o->name, room).s;
}

int cache_order(const struct object *a, const struct object *b)
{
    char a_room[CACHE_KEY_BYTES_MAX], b_room[CACHE_KEY_BYTES_MAX];

    return cache_key_cmp(key_of(a->ns, a->name, a_room), key_of(b->ns, b->name, b_room));
}

/* --- Entries --- */

static int entry_cmp(void *ctx, const void *a, const void *b)
{
    (void)ctx;
    return cache_key_cmp(entry_key(a), entry_key(b));
}

static struct cache_entry *entry_free(struct cache_entry *e)
{
    if (!e)
        return NULL;
    object_unref(e->object);
    free(e);
    return NULL;
}
DEFINE_CLEANUP(struct cache_entry, entry_free)

struct omap_order cache_entry_order(void)
{
    return (struct omap_order){ .cmp = entry_cmp, .cmp_key = entry_cmp };
}

/* --- The cache --- */

void cache_init(struct cache *c, struct hash_seed seed)
{
    *c = (struct cache){ 0 };
    map_init(&c->by_key, seed);
    omap_init(&c->ordered, cache_entry_order());
    buf_init(&c->before.text, OBJECT_TEXT_BYTES_MAX);
    buf_init(&c->after.text, OBJECT_TEXT_BYTES_MAX);
}

void cache_clear(struct cache *c)
{
    struct cache_entry *e;

    c->changes++;
    for (size_t i = 0; i < c->indexes_count; i++)
        index_clear(&c->indexes[i]);
    omap_clear(&c->ordered);
    for (size_t at = 0; (e = map_next(&c->by_key, &at, NULL));)
        entry_free(e);
    map_done(&c->by_key);
}

void cache_done(struct cache *c)
{
    cache_clear(c);
    buf_done(&c->before.text);
    buf_done(&c->after.text);
    vec_done(&c->before.items);
    vec_done(&c->after.items);
}

int cache_add_index(struct cache *c, const struct informer_index *type, struct error *err)
{
    for (size_t i = 0; i < c->indexes_count; i++)
        if (strcmp(c->indexes[i].type->name, type->name) == 0)
            return error_set(err, ERR_EXISTS, "index '%s' already exists", type->name);
    assert(cache_count(c) == 0);
    if (c->indexes_count == INFORMER_INDEXES_MAX)
        return error_set(err, ERR_TOO_LARGE, "more than %d indexes", INFORMER_INDEXES_MAX);
    c->indexes[c->indexes_count] = (struct cache_index){ .type = type };
    map_init(&c->indexes[c->indexes_count].buckets, c->by_key.seed);
    c->indexes_count++;
    return 0;
}

/* Adds e to every index under the values that o has and old does not; all or nothing. *ret_changed has a bit
 * for each index in which the values of the two objects differ. */
static int cache_index_new(struct cache *c, struct cache_entry *e, const struct object *old,
                           const struct object *o, unsigned *ret_changed, struct error *err)
{
    unsigned changed = 0;

    for (size_t i = 0; i < c->indexes_count; i++) {
        int r = index_add(c, &c->indexes[i], e, old, o, err);

        if (r < 0) {
            while (i-- > 0)
                index_undo(c, &c->indexes[i], e, old, o);
            return r;
        }
        changed |= (unsigned)r << i;
    }
    *ret_changed = changed;
    return 0;
}

static int cache_insert(struct cache *c, struct str key, const struct object *o, struct error *err)
{
    _cleanup_(entry_free_p) struct cache_entry *e = malloc(sizeof *e + key.len);
    unsigned changed;
    int r;

    if (!e)
        return error_no_memory(err);
    e->object = NULL;
    e->len = (uint32_t)key.len;
    memcpy(e->key, key.s, key.len);
    r = map_put(&c->by_key, entry_key(e), e, NULL);
    if (r < 0)
        return error_no_memory(err);
    r = omap_insert(&c->ordered, entry_rank(e), e);
    assert(r != -ERR_EXISTS);
    if (r == 0) {
        r = cache_index_new(c, e, /* old= */ NULL, o, &changed, err);
        if (r == 0) {
            e->object = object_ref(o);
            e = NULL;
            return 0;
        }
        (void)omap_remove(&c->ordered, entry_rank(e), e);
    }
    (void)map_remove(&c->by_key, key);
    return error_no_memory(err);
}

int cache_put(struct cache *c, const struct object *o, struct error *err)
{
    char room[CACHE_KEY_BYTES_MAX];
    struct str key = key_of(o->ns, o->name, room);
    struct cache_entry *e;
    unsigned changed;
    int r;

    assert(key.s);
    c->changes++;
    e = map_get(&c->by_key, key);
    if (!e)
        return cache_insert(c, key, o, err);
    r = cache_index_new(c, e, e->object, o, &changed, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < c->indexes_count; i++)
        if (changed & 1u << i)
            index_drop_old(c, &c->indexes[i], e, e->object, o);
    object_unref(e->object);
    e->object = object_ref(o);
    return 0;
}

void cache_remove(struct cache *c, const struct object *o)
{
    char room[CACHE_KEY_BYTES_MAX];
    struct str key = key_of(o->ns, o->name, room);
    struct cache_entry *e = key.s ? map_remove(&c->by_key, key) : NULL;

    if (!e)
        return;
    c->changes++;
    for (size_t i = 0; i < c->indexes_count; i++)
        index_remove(&c->indexes[i], e);
    (void)omap_remove(&c->ordered, entry_rank(e), e);
    entry_free(e);
}

/* --- Reading --- */

const struct object *cache_get(const struct cache *c, struct str key)
{
    const struct cache_entry *e = map_get(&c->by_key, key);

    return e ? e->object : NULL;
}

const struct object *cache_get_named(const struct cache *c, const char *ns, const char *name)
{
    char room[CACHE_KEY_BYTES_MAX];
    struct str key = key_of(ns, name, room);

    return key.s ? cache_get(c, key) : NULL;
}

const struct object *cache_first(const struct cache *c, struct informer_cursor *ret)
{
    const struct cache_entry *e;

    *ret = (struct informer_cursor){ 0 };
    e = omap_first(&c->ordered, &ret->at);
    return e ? e->object : NULL;
}

const struct object *cache_first_after(const struct cache *c, struct str key, struct informer_cursor *ret)
{
    union {
        struct cache_entry entry;
        char room[sizeof(struct cache_entry) + CACHE_KEY_BYTES_MAX];
    } wanted;
    const struct cache_entry *e;

    if (key.len == 0)
        return cache_first(c, ret);
    assert(key.len <= CACHE_KEY_BYTES_MAX);
    *ret = (struct informer_cursor){ 0 };
    wanted.entry.len = (uint32_t)key.len;
    memcpy(wanted.room + offsetof(struct cache_entry, key), key.s, key.len);
    e = omap_lower_bound(&c->ordered, entry_rank(&wanted.entry), &wanted.entry, &ret->at);
    if (e && str_eq(entry_key(e), key))
        e = omap_next(&ret->at);
    return e ? e->object : NULL;
}

const struct object *cache_first_by(const struct cache *c, const char *index, struct str value,
                                    struct informer_cursor *ret)
{
    *ret = (struct informer_cursor){ 0 };
    for (size_t i = 0; i < c->indexes_count; i++)
        if (strcmp(c->indexes[i].type->name, index) == 0)
            return index_first(&c->indexes[i], value, ret);
    assert(!"unknown index");
    return NULL;
}

const struct object *cache_next(struct informer_cursor *c)
{
    const struct cache_entry *e;

    if (c->bucket)
        return index_next(c);
    e = c->at.map ? omap_next(&c->at) : NULL;
    return e ? e->object : NULL;
}
