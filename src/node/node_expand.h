/* The last step of a claim's expansion: its file system, on the node where it is mounted (spec: expansion on
 * the node). The claim's status records the progress between the plugin calls, so that after a crash at any
 * point the same call is repeated. */
#ifndef BERTH_NODE_NODE_EXPAND_H
#define BERTH_NODE_NODE_EXPAND_H

#include "node/node_world.h"

struct agent;
struct expand_run;

/* The result, for the mount operation. */
enum expand_end {
    EXPAND_NOT_NEEDED, /* or not possible, which is not an error */
    EXPAND_DONE,
    EXPAND_LATER,  /* the controller has not finished, or the device has not grown yet: retry later */
    EXPAND_FAILED, /* see err */
};

/* The volume of this mount may have to be expanded: its PersistentVolume is larger than the last known size,
 * or the size is unknown, and its plugin can expand file systems. Pure. */
bool expand_is_due(const struct node_mount *m);

/* Expands the volume of this mount, which is set up, if necessary. in_use: the pod is running; otherwise the
 * volume is being mounted. The mount must exist until done or expand_cancel(). done is called once, on the
 * loop, never from inside; err has a code only for EXPAND_FAILED. NULL when out of memory.
 *
 * Records events on pod and claim for success, and for a read-only mount that cannot be expanded; the
 * operation reports failures. */
struct expand_run *expand_begin(struct agent *a, struct node_mount *m, bool in_use,
                                void (*done)(void *ctx, enum expand_end end, const struct error *err),
                                void *ctx);
/* Cancels without calling done. Accepts NULL. */
struct expand_run *expand_cancel(struct expand_run *run);

#endif
