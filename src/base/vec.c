/* Growth of vec.h's arrays. The capacity doubles, so that a push is O(1) amortized. */
#include "base/vec.h"

#include <stdint.h>

#define VEC_FIRST_ITEMS 4

int vec_grow(void *items, size_t *cap, size_t count, size_t more, size_t item_bytes)
{
    size_t next = *cap ? *cap : VEC_FIRST_ITEMS;
    void *old, *grown;

    if (*cap - count >= more)
        return 0;
    /* PTRDIFF_MAX, not SIZE_MAX: a larger object breaks the difference of two pointers into it. */
    if (more > PTRDIFF_MAX / item_bytes || count > PTRDIFF_MAX / item_bytes - more)
        return -ERR_NO_MEMORY;
    while (next < count + more)
        next = next > PTRDIFF_MAX / item_bytes / 2 ? count + more : next * 2;
    memcpy(&old, items, sizeof old); /* a T ** may not be read as a void ** */
    grown = realloc(old, next * item_bytes);
    if (!grown)
        return -ERR_NO_MEMORY;
    memcpy(items, &grown, sizeof grown);
    *cap = next;
    return 0;
}
