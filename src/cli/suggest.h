/* Which of the names that there are somebody may have meant.
 *
 * A name is near when few letters would have to be changed, left out, put in or swapped with their
 * neighbour, or when it begins with what was typed. The first of the nearest is suggested. Short words have
 * neighbours by chance: the shorter, the nearer a name must be. */
#ifndef BERTH_CLI_SUGGEST_H
#define BERTH_CLI_SUGGEST_H

#include <stddef.h>

/* What is longer is no slip of the fingers. */
#define SUGGEST_BYTES_MAX 64

/* typed is set, the rest zero; the text may end at a '=' (a flag with its value). */
struct suggestion {
    const char *typed;
    const char *best; /* NULL: nothing is near */
    size_t distance;  /* of best */
};

void suggestion_consider(struct suggestion *s, const char *name);

#endif
