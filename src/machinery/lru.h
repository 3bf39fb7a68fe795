/* A cache of so many entries: a new one pushes out the one that was not asked for longest.
 *
 * Each entry has a key, copied, and a value of a fixed size, zeroed at first and without anything to release.
 * Costs: everything O(1), one allocation an entry. */
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

/* The value, which is the newest from here on; NULL when there is none. */
void *lru_get(struct lru *l, struct str key);
/* A value for a key that is not there. NULL when there is no memory; nothing was pushed out then. */
void *lru_add(struct lru *l, struct str key);
/* lru_get(), and lru_add() where that finds nothing. */
void *lru_ensure(struct lru *l, struct str key);
void lru_remove(struct lru *l, void *value);

/* The value that would go next; NULL when the cache is empty. */
void *lru_oldest(const struct lru *l);

static inline size_t lru_count(const struct lru *l)
{
    return l->by_key.count;
}

#endif
