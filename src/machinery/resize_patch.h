/* The growth of a claim in its status, for whoever takes a step of it: the control plane and the node.
 *
 * Written by strategic merge, on condition that the claim is as it was read (merge_patch.h): conditions of
 * others stay as they are, and one that says the right thing already keeps its time. */
#ifndef BERTH_MACHINERY_RESIZE_PATCH_H
#define BERTH_MACHINERY_RESIZE_PATCH_H

#include "api/claim.h"
#include "base/buf.h"
#include "base/error.h"

/* The beginning of the status' value, up to its conditions: `wanted` (NULL for none) is true from now on and
 * says `message` (NULL for nothing); with drops, no other condition about growth is left. */
void resize_patch_conditions(struct buf *out, const struct claim *c, const char *wanted, const char *message,
                             bool drops, struct timestamp now);
/* A further member: "capacity", "allocatedResources". */
void resize_patch_storage(struct buf *out, const char *key, const struct quantity *q);
/* How far it is; RESIZE_NONE: not under way. */
void resize_patch_status(struct buf *out, enum resize_status status);

/* The conditions are those of growth under way, and no other. */
bool resize_has_begun(const struct claim *c);

/* All done: the claim has this size. */
int resize_write_done(const struct claim *c, const struct quantity *size, struct buf *out, struct error *err);

#endif
