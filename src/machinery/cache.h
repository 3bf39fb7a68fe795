/* An informer's cache: objects by key, in the order of keys, and by the values of its indexes. Internal to
 * informers: informer.h is what others see.
 *
 * An entry stays where it is as long as its key is there; a change puts another object into it. So indexes
 * point at entries, and an update that leaves an object's values as they were touches no index.
 *
 * The order is that of namespace, then name, bytewise; objects without a namespace are ordered by name.
 *
 * Costs: an entry takes some 50 bytes, its places by key and in order some 70 more; in each index some 100
 * where it has a value of its own, some 16 where many share one. What may fail for lack of memory changes
 * nothing then; what takes away never fails. */
#ifndef BERTH_MACHINERY_CACHE_H
#define BERTH_MACHINERY_CACHE_H

#include "base/buf.h"
#include "base/map.h"
#include "base/omap.h"
#include "base/vec.h"
#include "machinery/informer.h"

/* "namespace/name": 63, 1 and 253 are the most that Kubernetes knows. */
#define CACHE_KEY_BYTES_MAX 512

struct cache_index {
    const struct informer_index *type;
    struct map buckets; /* by value */
};

/* The values of one object in one index: sorted, each once. */
struct cache_values {
    struct buf text;
    VEC(struct str) items;
};

struct cache {
    struct map by_key;
    struct omap ordered;
    uint64_t changes; /* counts them: objects put, removed and cleared */
    struct cache_index indexes[INFORMER_INDEXES_MAX];
    size_t indexes_count;
    struct cache_values before; /* scratch of a change */
    struct cache_values after;
};

void cache_init(struct cache *c, struct hash_seed seed);
/* Lets go of every object. May be used again, with the same indexes. */
void cache_clear(struct cache *c);
void cache_done(struct cache *c);

/* While the cache is empty. ERR_EXISTS for a second one of that name, ERR_TOO_LARGE for one too many. */
int cache_add_index(struct cache *c, const struct informer_index *type, struct error *err);

/* False for what has no place here: no name, a '/' where none can be, a key beyond measure. */
bool cache_can_hold(const struct object *o);

/* o in place of what its key has; takes a reference. Only what cache_can_hold(). */
int cache_put(struct cache *c, const struct object *o, struct error *err);
/* Takes out what has o's key, if anything has. */
void cache_remove(struct cache *c, const struct object *o);

static inline size_t cache_count(const struct cache *c)
{
    return c->by_key.count;
}

const struct object *cache_get(const struct cache *c, struct str key);
const struct object *cache_get_named(const struct cache *c, const char *ns, const char *name);
/* What has the same key. */
static inline const struct object *cache_get_like(const struct cache *c, const struct object *o)
{
    return cache_get_named(c, o->ns, o->name);
}

/* By namespace and name: negative, 0 or positive. */
int cache_order(const struct object *a, const struct object *b);

const struct object *cache_first(const struct cache *c, struct informer_cursor *ret);
/* The first behind the key, which need not be there; the very first for an empty key. */
const struct object *cache_first_after(const struct cache *c, struct str key, struct informer_cursor *ret);
const struct object *cache_first_by(const struct cache *c, const char *index, struct str value,
                                    struct informer_cursor *ret);
const struct object *cache_next(struct informer_cursor *c);

#endif
