/* Delta debugging: few of many items that are enough for something, here for a failure. */
#ifndef BERTH_SIM_DDMIN_H
#define BERTH_SIM_DDMIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Are these, in their order, enough? `count` may be 0. */
typedef bool ddmin_fn(void *ctx, const uint32_t *items, size_t count);

/* The number of items that are left: they stand at the beginning, in their order, and is_enough() was true
 * of them, or of all. No single one of them can be left out, as long as is_enough() depends on nothing but
 * the items. Leaves out large parts first, and late ones before early ones. Asks O(log count) times at best,
 * O(count^2) at worst. */
size_t ddmin(uint32_t *items, size_t count, ddmin_fn *is_enough, void *ctx);

#endif
