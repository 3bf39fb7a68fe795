/* The cache of an informer: objects by key, in key order, and by the values of its indexes. Internal to
 * informers; the public interface is informer.h.
 *
 * An entry keeps its address as long as its key is in the cache; a change replaces the object in it. So
 * indexes point at entries, and an update that does not change an object's index values touches no index.
 *
 * The order is namespace, then name, bytewise; objects without a namespace are ordered by name.
 *
 * Costs: an entry takes about 50 bytes and its places in the two maps about 70; in each index about 100 bytes
 * for a value of its own, about 16 for a shared value. Operations that can fail for lack of memory change
 * nothing when they fail; removals never fail. */
#ifndef BERTH_MACHINERY_CACHE_H
#define BERTH_MACHINERY_CACHE_H

#include "base/buf.h"
#include "base/map.h"
#include "base/omap.h"
#include "base/vec.h"
#include "machinery/informer.h"

/* "namespace/name": Kubernetes allows at most 63 + 1 + 253 bytes. */
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
    uint64_t changes; /* number of changes: objects put, removed and cleared */
    struct cache_index indexes[INFORMER_INDEXES_MAX];
    size_t indexes_count;
    struct cache_values before; /* scratch space of a change */
    struct cache_values after;
};

void cache_init(struct cache *c, struct hash_seed seed);
/* Releases every object. The cache can be used again, with the same indexes. */
void cache_clear(struct cache *c);
void cache_done(struct cache *c);

/* Only while the cache is empty. ERR_EXISTS if the name is taken, ERR_TOO_LARGE for too many indexes. */
int cache_add_index(struct cache *c, const struct informer_index *type, struct error *err);

/* False for an object without a name, with a '/' in its name or namespace, or with a key that is too long. */
bool cache_can_hold(const struct object *o);

/* Stores o in place of the object with the same key; takes a reference. Only for objects that
 * cache_can_hold() accepts. */
int cache_put(struct cache *c, const struct object *o, struct error *err);
/* Removes the object with the key of o, if there is one. */
void cache_remove(struct cache *c, const struct object *o);

static inline size_t cache_count(const struct cache *c)
{
    return c->by_key.count;
}

const struct object *cache_get(const struct cache *c, struct str key);
const struct object *cache_get_named(const struct cache *c, const char *ns, const char *name);
/* The object with the same key. */
static inline const struct object *cache_get_like(const struct cache *c, const struct object *o)
{
    return cache_get_named(c, o->ns, o->name);
}

/* Compares namespace and name: negative, 0 or positive. */
int cache_order(const struct object *a, const struct object *b);

const struct object *cache_first(const struct cache *c, struct informer_cursor *ret);
/* The first object after the key, which need not exist; the first of all for an empty key. */
const struct object *cache_first_after(const struct cache *c, struct str key, struct informer_cursor *ret);
const struct object *cache_first_by(const struct cache *c, const char *index, struct str value,
                                    struct informer_cursor *ret);
const struct object *cache_next(struct informer_cursor *c);

#endif
