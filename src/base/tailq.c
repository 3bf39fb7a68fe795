/* Verifies the links of a TAILQ of any type, for checks of memory. O(items), bounded by the caller's limit.
 */
#include "base/tailq.h"

#include <string.h>

/* The layout of TAILQ_HEAD and TAILQ_ENTRY of any type. Read as bytes because the types differ. */
struct links {
    const void *next; /* of a head: the first item */
    const void *const
        *prev; /* the address of the pointer to this item; of a head: the address of the last item's next */
};

static struct links links_at(const void *at)
{
    struct links l;

    memcpy(&l, at, sizeof l);
    return l;
}

bool tailq_is_sound(const void *head, size_t link, size_t max, size_t *ret_count)
{
    const struct links h = links_at(head);
    const void *at = head; /* the address of the pointer to the next item */
    struct links l = h;
    size_t count = 0;

    while (l.next) {
        const char *item = l.next;

        l = links_at(item + link);
        if (count++ == max || (const void *)l.prev != at)
            return false;
        at = item + link;
    }
    *ret_count = count;
    return (const void *)h.prev == at;
}
