/* Status patches for the expansion of a claim, for the control plane and the node.
 *
 * Written as strategic merge patches with preconditions (merge_patch.h): other conditions stay as they are,
 * and a condition that already has the right content keeps its time of transition. */
#ifndef BERTH_MACHINERY_RESIZE_PATCH_H
#define BERTH_MACHINERY_RESIZE_PATCH_H

#include "api/claim.h"
#include "api/volume.h"
#include "base/buf.h"
#include "base/error.h"

/* The start of the status value, up to its conditions: `wanted` (NULL: none) becomes true with `message`
 * (NULL: none); with drops, all other conditions about expansion are removed. */
void resize_patch_conditions(struct buf *out, const struct claim *c, const char *wanted, const char *message,
                             bool drops, struct timestamp now);
/* One more member: the state of the expansion; RESIZE_NONE: not in progress. */
void resize_patch_status(struct buf *out, enum resize_status status);

/* The conditions are those of an expansion in progress, and no others. */
bool resize_has_begun(const struct claim *c);

/* The expansion is complete: the claim has this size. */
int resize_write_done(const struct claim *c, const struct quantity *size, struct buf *out, struct error *err);
/* The volume is expanded; the node expands the file system. */
int resize_write_node_pending(const struct claim *c, struct timestamp now, struct buf *out,
                              struct error *err);
/* The volume has this size. before: its size before, recorded until the node is done; NULL: not recorded. */
int resize_write_capacity(const struct volume *v, const struct quantity *size, const struct quantity *before,
                          struct buf *out, struct error *err);
/* The size before the expansion is not needed any more. */
int resize_write_forgotten(const struct volume *v, struct buf *out, struct error *err);

#endif
