/* For tests of a file without memory: the file is included whole, behind this header, and asks here. */
#ifndef BERTH_TESTS_TEST_STINGY_H
#define BERTH_TESTS_TEST_STINGY_H

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/omap.h"
#include "base/vec.h"

static bool is_stingy;
static unsigned allocs_left; /* when it is */

static inline bool is_granted(void)
{
    return !is_stingy || (allocs_left && allocs_left--);
}

static inline void *stingy_malloc(size_t bytes)
{
    return is_granted() ? malloc(bytes) : NULL;
}

static inline void *stingy_calloc(size_t count, size_t bytes)
{
    return is_granted() ? calloc(count, bytes) : NULL;
}

static inline char *stingy_strdup(const char *text)
{
    return is_granted() ? strdup(text) : NULL;
}

static inline int stingy_vec_grow(void *items, size_t *cap, size_t count, size_t more, size_t item_bytes)
{
    if (count + more > *cap && !is_granted())
        return -ERR_NO_MEMORY;
    return vec_grow(items, cap, count, more, item_bytes);
}

static inline void stingy_omap_init(struct omap *m, struct omap_order order)
{
    omap_init(m, order);
    m->alloc = stingy_malloc;
}

static inline void stingy_map_init(struct map *m, struct hash_seed seed)
{
    map_init(m, seed);
    m->alloc = stingy_calloc;
}

#define malloc stingy_malloc
#define calloc stingy_calloc
#define strdup stingy_strdup
#define vec_grow stingy_vec_grow
#define omap_init stingy_omap_init
#define map_init stingy_map_init

#endif
