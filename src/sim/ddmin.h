/* Delta debugging: reduces a list of items to a few that are sufficient for something, here for a failure. */
#ifndef BERTH_SIM_DDMIN_H
#define BERTH_SIM_DDMIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True if these items, in this order, are sufficient. `count` may be 0. */
typedef bool ddmin_fn(void *ctx, const uint32_t *items, size_t count);

/* Returns the number of items that are left, at the beginning of the list and in their order. is_enough() was
 * true for them, or they are all items. None of them can be removed, provided that is_enough() depends only
 * on the items. Removes large parts first, and late ones before early ones. Calls is_enough() between O(log
 * count) and O(count^2) times. */
size_t ddmin_minimize(uint32_t *items, size_t count, ddmin_fn *is_enough, void *ctx);

#endif
