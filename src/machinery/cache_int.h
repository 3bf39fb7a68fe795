/* Internals shared by cache.c and cache_index.c. */
#ifndef BERTH_MACHINERY_CACHE_INT_H
#define BERTH_MACHINERY_CACHE_INT_H

#include "machinery/cache.h"

struct cache_entry {
    struct object *object;
    uint32_t len;
    char key[]; /* "namespace/name" or "name" */
};

static inline struct str entry_key(const struct cache_entry *e)
{
    return (struct str){ e->key, e->len };
}

/* The only '/' in a key ends its namespace. Mapped below every other byte, it makes bytewise order the order
 * of namespace and name. */
static inline unsigned char key_byte(char c)
{
    return c == '/' ? 0 : (unsigned char)c;
}

static inline int cache_key_cmp(struct str a, struct str b)
{
    size_t len = a.len < b.len ? a.len : b.len;

    for (size_t i = 0; i < len; i++)
        if (a.s[i] != b.s[i])
            return key_byte(a.s[i]) < key_byte(b.s[i]) ? -1 : 1;
    return a.len == b.len ? 0 : a.len < b.len ? -1 : 1;
}

/* The first eight bytes of the key in that order. */
static inline uint64_t entry_rank(const struct cache_entry *e)
{
    uint64_t rank = 0;

    for (uint32_t i = 0; i < 8; i++)
        rank = rank << 8 | (i < e->len ? key_byte(e->key[i]) : 0);
    return rank;
}

struct omap_order cache_entry_order(void);

/* A change of e's object in one index, in two steps, so that only the first can fail. index_add() adds e to
 * the values that o has and old (NULL: none) does not, all or nothing; it returns 1 if the values differ.
 * When every index has added, index_drop_old() removes e from the values that only old has; otherwise
 * index_undo() removes what was added. */
int index_add(struct cache *c, struct cache_index *ix, struct cache_entry *e, const struct object *old,
              const struct object *o, struct error *err);
void index_drop_old(struct cache *c, struct cache_index *ix, struct cache_entry *e, const struct object *old,
                    const struct object *o);
void index_undo(struct cache *c, struct cache_index *ix, struct cache_entry *e, const struct object *old,
                const struct object *o);
/* Removes e from all values of its object. */
void index_remove(struct cache_index *ix, const struct cache_entry *e);
void index_clear(struct cache_index *ix);

const struct object *index_first(const struct cache_index *ix, struct str value, struct informer_cursor *ret);
const struct object *index_next(struct informer_cursor *c);

#endif
