/* A cache with a maximum number of entries: a new entry evicts the least recently used one.
 *
 * An entry has a copied key and a value of fixed size, zeroed at first, that owns nothing. Costs: all
 * operations O(1), one allocation per entry. */
#ifndef BERTH_MACHINERY_LRU_H
#define BERTH_MACHINERY_LRU_H

#include <stddef.h>
#include <sys/queue.h>

#include "base/map.h"
#include "base/str.h"

struct lru_entry;

struct lru {
    struct map by_key;
    TAILQ_HEAD(lru_order, lru_entry) order; /* the oldest first */
    size_t value_bytes;
    size_t count_max;
};

void lru_init(struct lru *l, size_t value_bytes, size_t count_max, struct hash_seed seed);
void lru_done(struct lru *l);

/* The value, which becomes the most recently used; NULL if there is none. */
void *lru_get(struct lru *l, struct str key);
/* A value for a new key. NULL without memory; then nothing was evicted. */
void *lru_add(struct lru *l, struct str key);
/* lru_get(), or lru_add() if the key is new. */
void *lru_ensure(struct lru *l, struct str key);
void lru_remove(struct lru *l, void *value);

/* The value that would be evicted next; NULL if the cache is empty. */
void *lru_oldest(const struct lru *l);

static inline size_t lru_count(const struct lru *l)
{
    return l->by_key.count;
}

#endif
