/* A hash map from text to pointers.
 *
 * Keys and values are borrowed: the map stores where a key is, so the key must stay in memory, unchanged, as
 * long as its entry. The usual key is a field of the value itself. Remove a value from the map before you
 * free it.
 *
 * Open addressing with Robin Hood linear probing and deletion by shifting back: no tombstones, so lookups
 * stay fast after many insertions and removals. A slot is 24 bytes and at most 4 of 5 are used: 30 to 60
 * bytes per entry. get, put and remove take O(1), whatever the keys, as long as the seed is secret; a put
 * that grows the table moves every entry once. The table never shrinks.
 *
 * The order of iteration is unspecified: it depends on the seed, and no decision may depend on it. */
#ifndef BERTH_BASE_MAP_H
#define BERTH_BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/siphash.h"
#include "base/str.h"

struct map_slot;

struct map {
    struct map_slot *slots; /* a power of two of them; NULL before the first put */
    size_t cap;
    size_t count;
    struct hash_seed seed;
    void *(*alloc)(size_t count, size_t bytes); /* calloc; tests make it fail */
};

void map_init(struct map *m, struct hash_seed seed);
/* Removes every entry and releases the table. The map may be used again. */
void map_done(struct map *m);
/* Removes every entry; keeps the table. */
void map_clear(struct map *m);

/* The value, NULL when the map has no such key. */
void *map_get(const struct map *m, struct str key);

/* map_get() in two steps, for a map that is not in the CPU cache: the first prefetches the memory of the
 * key's slot, so other work before the second hides the latency. The map must not change in between. */
uint32_t map_prefetch(const struct map *m, struct str key);
void *map_get_fetched(const struct map *m, struct str key, uint32_t fetched);

/* Maps key to value, which is not NULL. An existing key gets the new value and its entry refers to the new
 * key's memory; *ret_old is then the old value, else NULL (ret_old may be NULL). Fails with -ERR_NO_MEMORY,
 * or -ERR_TOO_LARGE for a key of 4 GiB, and changes nothing. */
int map_put(struct map *m, struct str key, void *value, void **ret_old);

/* Removes the entry. Returns its value; NULL if there is none. */
void *map_remove(struct map *m, struct str key);

/* Visits every entry once: start with *at == 0, call until NULL comes back. ret_key may be NULL. The map must
 * not change meanwhile.
 *
 *     for (size_t at = 0; (volume = map_next(&m, &at, NULL));) */
void *map_next(const struct map *m, size_t *at, struct str *ret_key);

#endif
