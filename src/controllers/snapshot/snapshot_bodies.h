/* Request bodies of the snapshot controller. */
#ifndef BERTH_CONTROLLERS_SNAPSHOT_SNAPSHOT_BODIES_H
#define BERTH_CONTROLLERS_SNAPSHOT_SNAPSHOT_BODIES_H

#include "controllers/snapshot/snapshot_plan.h"

/* The content of a new snapshot, by a plan of SNAPSHOT_CREATE_CONTENT. ERR_INVALID if the class's parameters
 * do not name a secret correctly. */
int snapshot_write_content(const struct snapshot *s, const struct snapshot_plan *p, struct buf *out,
                           struct error *err);

/* Merge patches, with the version of the object as read. */

/* The snapshot's status, from its content. */
int snapshot_write_status(const struct snapshot *s, const struct snapshot_content *c, struct buf *out,
                          struct error *err);
/* The snapshot's status: an error. */
int snapshot_write_error(const struct snapshot *s, const char *message, bool is_unready, struct timestamp now,
                         struct buf *out, struct error *err);
/* The snapshot's class. */
int snapshot_write_class(const struct snapshot *s, const char *class, struct buf *out, struct error *err);
/* The content's reference to the snapshot, and its class if the snapshot has one. */
int snapshot_write_binding(const struct snapshot_content *c, const struct snapshot *s, struct buf *out,
                           struct error *err);
/* The content's annotation that its snapshot is being deleted. */
int snapshot_write_mark(const struct snapshot_content *c, struct buf *out, struct error *err);

#endif
