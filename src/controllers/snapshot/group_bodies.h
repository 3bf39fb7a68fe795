/* Request bodies for group snapshots and their members. */
#ifndef BERTH_CONTROLLERS_SNAPSHOT_GROUP_BODIES_H
#define BERTH_CONTROLLERS_SNAPSHOT_GROUP_BODIES_H

#include "controllers/snapshot/group_plan.h"

/* New objects, by a plan with the step for them. ERR_INVALID if the class's parameters do not name a secret
 * correctly. */
int group_write_content(const struct group_snapshot *g, const struct group_plan *p, struct buf *out,
                        struct error *err);
int group_write_member(const struct group_snapshot *g, const struct group_plan *p, struct buf *out,
                       struct error *err);
int group_write_member_content(const struct group_snapshot *g, const struct group_plan *p, struct buf *out,
                               struct error *err);

/* Merge patches, with the version of the object as read. */

int group_write_status(const struct group_snapshot *g, const struct group_snapshot_content *c,
                       struct buf *out, struct error *err);
int group_write_error(const struct group_snapshot *g, const char *message, bool is_unready,
                      struct timestamp now, struct buf *out, struct error *err);
int group_write_class(const struct group_snapshot *g, const char *class, struct buf *out, struct error *err);
int group_write_binding(const struct group_snapshot_content *c, const struct group_snapshot *g,
                        struct buf *out, struct error *err);
int group_write_mark(const struct group_snapshot_content *c, struct buf *out, struct error *err);
/* The status of a member's content, as the driver has reported it for the group. */
int group_write_member_status(const struct snapshot_content *c, const struct group_member *member,
                              const char *group_handle, struct buf *out, struct error *err);

#endif
