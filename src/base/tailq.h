/* Verifies that a TAILQ of sys/queue.h is linked correctly in both directions: for checks of memory. */
#ifndef BERTH_BASE_TAILQ_H
#define BERTH_BASE_TAILQ_H

#include <stdbool.h>
#include <stddef.h>

/* link: the offset of the TAILQ_ENTRY in an item. False when a link is wrong or the list has more than `max`
 * items: a list that is linked to itself has no end. *ret_count is the number of items. */
bool tailq_is_sound(const void *head, size_t link, size_t max, size_t *ret_count);

#endif
