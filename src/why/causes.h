/* One-sentence explanations, for commands that show many objects (check, tree). */
#ifndef BERTH_WHY_CAUSES_H
#define BERTH_WHY_CAUSES_H

#include <stdbool.h>

#include "api/object.h"
#include "why/report.h"

struct cause {
    char code[64]; /* "too-small"; "none" when nothing is wrong */
    char sentence[WHY_LINE_BYTES_MAX];
};

struct causes {
    /* False when the cause is not known. */
    bool (*find)(void *ctx, const struct object *o, struct cause *ret);
    void *ctx;
};

/* causes: NULL when explanations are not available. */
static inline bool causes_find(const struct causes *causes, const struct object *o, struct cause *ret)
{
    return causes && causes->find(causes->ctx, o, ret);
}

#endif
