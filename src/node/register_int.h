/* What the files of the registration share. */
#ifndef BERTH_NODE_REGISTER_INT_H
#define BERTH_NODE_REGISTER_INT_H

#include <stdint.h>

#include "base/error.h"
#include "base/rng.h"

/* Delays after failures, and one line in the log for each reason, not for each failure. */
struct patience {
    struct rng rng;
    unsigned failures; /* in a row */
    struct error last; /* what was logged; "" for nothing */
};

void patience_init(struct patience *p, uint64_t seed);
/* How long to wait before the next try. */
uint64_t patience_fail(struct patience *p, const char *what, const char *node, const struct error *e);
/* It worked: said when it had not before. */
void patience_end(struct patience *p, const char *what, const char *node);

#endif
