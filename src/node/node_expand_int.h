/* Decides how a node expands a claim's volume. Pure; internal to node_expand.c and its tests. */
#ifndef BERTH_NODE_NODE_EXPAND_INT_H
#define BERTH_NODE_NODE_EXPAND_INT_H

#include "api/claim.h"
#include "api/volume.h"
#include "base/error.h"

/* Annotation of a claim: no node has to expand it. */
#define ANN_NODE_EXPANSION_NOT_REQUIRED "volume.kubernetes.io/node-expansion-not-required"

enum growth {
    GROWTH_NONE,      /* the claim already has the volume's capacity */
    GROWTH_READ_ONLY, /* the mount is read-only */
    GROWTH_PLAIN,     /* the claim's status has no resize steps: expand, then record the capacity */
    GROWTH_BEGIN,     /* record that the expansion begins, then expand */
    GROWTH_GO_ON,     /* the expansion has begun: expand */
    GROWTH_HERE_TOO,  /* another node has finished; each node expands its own file system */
    GROWTH_OVER,      /* finished for all nodes */
    GROWTH_NOT_NOW,   /* the controller has not finished its part of the expansion */
    GROWTH_COUNT,
};

struct growth_plan {
    enum growth what;
    struct quantity to; /* the target size, when expanding */
};

struct growth_plan growth_plan(const struct claim *c, const struct volume *v, bool in_use, bool is_read_only);

/* The reaction to a call that failed with this code. */
struct growth_failure {
    bool is_over;       /* not a failure: there is nothing to expand */
    bool is_reported;   /* recorded in the claim's status and in the volume's record */
    bool is_infeasible; /* recorded as infeasible at this size */
    bool is_refused;    /* not possible while in use: no more attempts, not an error */
};

/* had_failed: an earlier expansion of this volume failed, at any size. */
struct growth_failure growth_failure(const struct growth_plan *p, const struct claim *c, enum err code,
                                     bool had_failed);

#endif
