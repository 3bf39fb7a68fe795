/* The last step of a claim's growth: its file system, on the node where it is mounted (spec: expansion on the
 * node). Between the plugin's calls the claim's status says how far it is, so that a crash at any point is
 * followed by the same call again. */
#ifndef BERTH_NODE_EXPAND_H
#define BERTH_NODE_EXPAND_H

#include "node/world.h"

struct agent;
struct expand_run;

/* How it ended, for the mount's operation. */
enum expand_end {
    EXPAND_NOT_NEEDED, /* or not possible, and that is no error */
    EXPAND_DONE,
    EXPAND_FAILED, /* err says why */
};

/* Looks whether the volume of this mount, which is set up, has to grow, and does it. in_use: the pod runs;
 * else it is being mounted. done comes once, on the loop, not from inside. NULL without memory. */
struct expand_run *expand_begin(struct agent *a, struct node_mount *m, bool in_use,
                                void (*done)(void *ctx, enum expand_end end, const struct error *err),
                                void *ctx);
/* Nobody is told. Takes NULL. */
struct expand_run *expand_cancel(struct expand_run *x);

#endif
