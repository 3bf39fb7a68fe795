/* The hash map: Robin Hood open addressing. Invariant: along a run of used slots the distance of an entry
 * from its home slot rises by at most one per slot. Costs are in map.h. */
#include "base/map.h"

#include <assert.h>
#include <stdlib.h>

#define MAP_FIRST_SLOTS 8
/* Positions come from 32 bits of hash. */
#define MAP_SLOTS_MAX ((size_t)1 << 31)

/* Empty when value is NULL. A search may stop at the first slot that is nearer to its home than the key would
 * be. */
struct map_slot {
    const char *key;
    uint32_t key_len;
    uint32_t hash;
    void *value;
};
static_assert(sizeof(struct map_slot) <= 24, "map.h states 24 bytes per slot");

void map_init(struct map *m, struct hash_seed seed)
{
    *m = (struct map){ .seed = seed, .alloc = calloc };
}

void map_done(struct map *m)
{
    free(m->slots);
    m->slots = NULL;
    m->cap = m->count = 0;
}

void map_clear(struct map *m)
{
    if (m->slots)
        memset(m->slots, 0, m->cap * sizeof *m->slots);
    m->count = 0;
}

/* The distance of slot `at` from the home slot of its hash. */
static inline size_t map_distance(const struct map *m, size_t at)
{
    return (at - m->slots[at].hash) & (m->cap - 1);
}

/* The slot of the key; m->cap if there is none. */
static size_t map_find(const struct map *m, struct str key, uint32_t hash)
{
    size_t distance = 0;

    if (m->count == 0)
        return m->cap;
    for (size_t at = hash & (m->cap - 1);; at = (at + 1) & (m->cap - 1), distance++) {
        const struct map_slot *slot = &m->slots[at];
        if (!slot->value || map_distance(m, at) < distance)
            return m->cap;
        if (slot->hash == hash && str_eq((struct str){ slot->key, slot->key_len }, key))
            return at;
    }
}

static uint32_t map_hash(const struct map *m, struct str key)
{
    return (uint32_t)siphash_hash(m->seed, key);
}

uint32_t map_prefetch(const struct map *m, struct str key)
{
    uint32_t hash = map_hash(m, key);

    if (m->cap > 0)
        __builtin_prefetch(&m->slots[hash & (m->cap - 1)]);
    return hash;
}

void *map_get_fetched(const struct map *m, struct str key, uint32_t fetched)
{
    size_t at = map_find(m, key, fetched);

    return at < m->cap ? m->slots[at].value : NULL;
}

void *map_get(const struct map *m, struct str key)
{
    return map_get_fetched(m, key, map_hash(m, key));
}

/* Adds an entry whose key the map does not have; a free slot exists. Entries nearer to their home are
 * shifted. */
static void map_place(struct map *m, struct map_slot entry)
{
    size_t at = entry.hash & (m->cap - 1);

    for (size_t distance = 0; m->slots[at].value; distance++, at = (at + 1) & (m->cap - 1)) {
        size_t theirs = map_distance(m, at);
        if (theirs < distance) {
            struct map_slot evicted = m->slots[at];
            m->slots[at] = entry;
            entry = evicted;
            distance = theirs;
        }
    }
    m->slots[at] = entry;
    m->count++;
}

static int map_grow(struct map *m)
{
    struct map bigger = *m;

    if (m->cap >= MAP_SLOTS_MAX)
        return -ERR_NO_MEMORY;
    bigger.cap = m->cap ? m->cap * 2 : MAP_FIRST_SLOTS;
    bigger.count = 0;
    bigger.slots = m->alloc(bigger.cap, sizeof *bigger.slots);
    if (!bigger.slots)
        return -ERR_NO_MEMORY;
    for (size_t at = 0; at < m->cap; at++)
        if (m->slots[at].value)
            map_place(&bigger, m->slots[at]);
    free(m->slots);
    *m = bigger;
    return 0;
}

int map_put(struct map *m, struct str key, void *value, void **ret_old)
{
    struct map_slot entry;
    size_t at;

    assert(value);
    if (key.len > UINT32_MAX)
        return -ERR_TOO_LARGE;
    entry = (struct map_slot){ key.s, (uint32_t)key.len, map_hash(m, key), value };
    at = map_find(m, key, entry.hash);
    if (at < m->cap) {
        if (ret_old)
            *ret_old = m->slots[at].value;
        m->slots[at] = entry;
        return 0;
    }
    if (m->count >= m->cap * 4 / 5) {
        int r = map_grow(m);
        if (r < 0)
            return r;
    }
    map_place(m, entry);
    if (ret_old)
        *ret_old = NULL;
    return 0;
}

void *map_remove(struct map *m, struct str key)
{
    size_t at = map_find(m, key, map_hash(m, key));
    void *value;

    if (at == m->cap)
        return NULL;
    value = m->slots[at].value;
    /* Entries that follow in the run and are not in their home slot move one slot back. */
    for (;;) {
        size_t next = (at + 1) & (m->cap - 1);
        if (!m->slots[next].value || map_distance(m, next) == 0)
            break;
        m->slots[at] = m->slots[next];
        at = next;
    }
    m->slots[at] = (struct map_slot){ 0 };
    m->count--;
    return value;
}

void *map_next(const struct map *m, size_t *at, struct str *ret_key)
{
    while (*at < m->cap) {
        const struct map_slot *slot = &m->slots[(*at)++];
        if (!slot->value)
            continue;
        if (ret_key)
            *ret_key = (struct str){ slot->key, slot->key_len };
        return slot->value;
    }
    return NULL;
}
