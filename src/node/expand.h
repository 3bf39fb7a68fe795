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
    EXPAND_LATER,  /* not this node's turn, or there is nothing to grow into yet: after a while again */
    EXPAND_FAILED, /* err says why */
};

/* The volume of this mount may have to grow: its PersistentVolume is larger than what was last heard of, or
 * nothing was, and its plugin can grow file systems. Pure. */
bool expand_is_due(const struct node_mount *m);

/* Looks whether the volume of this mount, which is set up, has to grow, and does it. in_use: the pod runs;
 * else it is being mounted. The mount stays until the end or expand_cancel(). done comes once, on the loop,
 * not from inside; err has a code for EXPAND_FAILED alone. NULL without memory.
 *
 * Events on pod and claim tell of success, and of a growth that a read-only mount does not get; of failures
 * the operation tells. */
struct expand_run *expand_begin(struct agent *a, struct node_mount *m, bool in_use,
                                void (*done)(void *ctx, enum expand_end end, const struct error *err),
                                void *ctx);
/* Nobody is told. Takes NULL. */
struct expand_run *expand_cancel(struct expand_run *x);

#endif
