/* Suggests the name that a user probably meant.
 *
 * A name is close when few letters have to be changed, removed, inserted or swapped with their neighbour, or
 * when it begins with the typed text. The first of the closest is suggested. The shorter the word, the closer
 * a name must be, since short words have neighbours by chance. */
#ifndef BERTH_CLI_SUGGEST_H
#define BERTH_CLI_SUGGEST_H

#include <stddef.h>

/* Longer words are not considered typing errors. */
#define SUGGEST_BYTES_MAX 64

/* Set typed, zero the rest; the text may end at a '=' (a flag with its value). */
struct suggestion {
    const char *typed;
    const char *best; /* NULL: nothing is close */
    size_t distance;  /* of best */
};

void suggestion_consider(struct suggestion *s, const char *name);

#endif
