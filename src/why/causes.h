/* Explanations in one sentence, for answers about many objects (check, tree). */
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
    /* False when it is not known. */
    bool (*find)(void *ctx, const struct object *o, struct cause *ret);
    void *ctx;
};

/* causes: NULL when nobody explains. */
static inline bool causes_find(const struct causes *causes, const struct object *o, struct cause *ret)
{
    return causes && causes->find(causes->ctx, o, ret);
}

#endif
