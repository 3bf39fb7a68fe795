/* What a node does about a claim that grows. Pure; for expand.c and its tests. */
#ifndef BERTH_NODE_EXPAND_INT_H
#define BERTH_NODE_EXPAND_INT_H

#include "api/claim.h"
#include "api/volume.h"
#include "base/error.h"

/* On a claim: no node has to grow anything. */
#define ANN_NODE_EXPANSION_NOT_REQUIRED "volume.kubernetes.io/node-expansion-not-required"

enum growth {
    GROWTH_NONE,      /* the claim has all that its volume has */
    GROWTH_READ_ONLY, /* a mount that cannot change anything */
    GROWTH_PLAIN,     /* the claim's status knows no steps: grow, then say so */
    GROWTH_BEGIN,     /* say that it begins, then grow */
    GROWTH_GO_ON,     /* it has begun: grow */
    GROWTH_HERE_TOO,  /* another node has finished it; each one has to grow its own */
    GROWTH_OVER,      /* somebody has finished it for all */
    GROWTH_NOT_NOW,   /* it is not the node's turn */
    GROWTH_COUNT,
};

struct growth_plan {
    enum growth what;
    struct quantity to; /* the size that is aimed at, where something grows */
};

struct growth_plan growth_plan(const struct claim *c, const struct volume *v, bool in_use, bool is_read_only);

/* What to do about a call that failed with this code. */
struct growth_failure {
    bool is_over;       /* no failure at all: there is nothing to call */
    bool is_told;       /* the claim's status says so, and so do we remember it */
    bool is_infeasible; /* and that it cannot be at this size */
    bool is_refused;    /* not while it is in use: no more tries, and no error */
};

/* had_failed: this volume, at some size, before. */
struct growth_failure growth_failure(const struct growth_plan *p, const struct claim *c, enum err code,
                                     bool had_failed);

#endif
