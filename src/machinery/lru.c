/* An LRU cache: a hash map by key and a list in the order of use. One allocation per entry holds key and
 * value. */
#include "machinery/lru.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Followed by the value and the bytes of the key. */
struct lru_entry {
    TAILQ_ENTRY(lru_entry) link;
    struct str key;
};
static_assert(sizeof(struct lru_entry) % _Alignof(uint64_t) == 0, "values follow, aligned");

static void *value_of(struct lru_entry *e)
{
    return e + 1;
}

void lru_init(struct lru *l, size_t value_bytes, size_t count_max, struct hash_seed seed)
{
    assert(count_max > 0);
    *l = (struct lru){ .value_bytes = value_bytes, .count_max = count_max };
    map_init(&l->by_key, seed);
    TAILQ_INIT(&l->order);
}

void lru_done(struct lru *l)
{
    while (!TAILQ_EMPTY(&l->order))
        lru_remove(l, value_of(TAILQ_FIRST(&l->order)));
    map_done(&l->by_key);
}

void *lru_get(struct lru *l, struct str key)
{
    struct lru_entry *e = map_get(&l->by_key, key);

    if (!e)
        return NULL;
    TAILQ_REMOVE(&l->order, e, link);
    TAILQ_INSERT_TAIL(&l->order, e, link);
    return value_of(e);
}

void *lru_add(struct lru *l, struct str key)
{
    _cleanup_(freep) struct lru_entry *e = calloc(1, sizeof *e + l->value_bytes + key.len);
    void *old;
    char *text;

    if (!e)
        return NULL;
    text = (char *)value_of(e) + l->value_bytes;
    if (key.len)
        memcpy(text, key.s, key.len);
    e->key = (struct str){ text, key.len };
    if (map_put(&l->by_key, e->key, e, &old) < 0)
        return NULL;
    assert(!old);
    TAILQ_INSERT_TAIL(&l->order, e, link);
    if (l->by_key.count > l->count_max)
        lru_remove(l, lru_oldest(l));
    return value_of(TAKE(e));
}

void *lru_ensure(struct lru *l, struct str key)
{
    void *value = lru_get(l, key);

    return value ? value : lru_add(l, key);
}

void lru_remove(struct lru *l, void *value)
{
    struct lru_entry *e = (struct lru_entry *)value - 1;

    TAILQ_REMOVE(&l->order, e, link);
    (void)map_remove(&l->by_key, e->key); /* in the map: this entry */
    free(e);
}

void *lru_oldest(const struct lru *l)
{
    return TAILQ_EMPTY(&l->order) ? NULL : value_of(TAILQ_FIRST(&l->order));
}
