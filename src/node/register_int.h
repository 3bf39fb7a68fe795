/* Shared by the files of the registration. */
#ifndef BERTH_NODE_REGISTER_INT_H
#define BERTH_NODE_REGISTER_INT_H

#include <stdint.h>

#include "base/error.h"
#include "base/rng.h"

/* Retry delays, and log lines that are written once per reason instead of once per failure. */
struct patience {
    struct rng rng;
    unsigned failures; /* consecutive */
    struct error last; /* the error that was logged; "" for none */
};

void patience_init(struct patience *p, uint64_t seed);
/* Returns the delay before the next attempt. */
uint64_t patience_fail(struct patience *p, const char *what, const char *node, const struct error *e);
/* The request succeeded: logged if it had failed before. */
void patience_end(struct patience *p, const char *what, const char *node);

#endif
