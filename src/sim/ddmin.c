/* Delta debugging: removes parts of a list while the rest is still sufficient.
 *
 * The list is always sufficient: a part is removed only after is_enough() was true without it. Parts are
 * halved down to single items; the search ends when no single item can be removed. One copy of the list is
 * allocated. */
#include "sim/ddmin.h"

#include <stdlib.h>
#include <string.h>

/* Copies the items without those in [from, to). */
static size_t copy_without(const uint32_t *items, size_t count, size_t from, size_t to, uint32_t *ret)
{
    memcpy(ret, items, from * sizeof *items);
    memcpy(ret + from, items + to, (count - to) * sizeof *items);
    return count - (to - from);
}

/* Removes parts of that size, the last one first; returns how many items are left. */
static size_t remove_parts(uint32_t *items, size_t count, size_t part, uint32_t *rest, ddmin_fn *is_enough,
                           void *ctx)
{
    size_t to = count;

    while (to > 0) {
        size_t from = to > part ? to - part : 0;
        size_t left = copy_without(items, count, from, to, rest);

        if (is_enough(ctx, rest, left)) {
            memcpy(items, rest, left * sizeof *items);
            count = left;
        }
        to = from;
    }
    return count;
}

size_t ddmin_minimize(uint32_t *items, size_t count, ddmin_fn *is_enough, void *ctx)
{
    uint32_t *rest = count ? malloc(count * sizeof *rest) : NULL;
    size_t part = count;

    if (!rest)
        return count; /* nothing to remove, or no memory to try */
    while (part > 0 && count > 0) {
        size_t before = count;

        count = remove_parts(items, count, part, rest, is_enough, ctx);
        if (part > 1)
            part = ((part < count ? part : count) + 1) / 2;
        else if (count == before)
            break;
    }
    free(rest);
    return count;
}
