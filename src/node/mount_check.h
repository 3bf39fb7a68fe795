/* The mount table held against the records: what the agent mounted and somebody else unmounted.
 *
 * The kernel tells of every change of the table; a worker then reads it, and on the loop each record that
 * says "mounted" is looked up in it. What is missing becomes uncertain, which the reconciler mends by the
 * ordinary operation, and its pod is not ready until then. Changes that come together are one look, and two
 * looks are some time apart: while thousands of volumes are mounted the table is read twice a second at most.
 * A look is compared in parts, one for each turn of the loop, of half a microsecond for each record.
 *
 * A look says nothing about what was marked after it began (looks_begun), nor about what an operation is
 * working on: that is looked at once more when the operation has ended. The first look also finds mounts that
 * belong to no record (unknown_mounts.h). For the files of node/ alone. */
#ifndef BERTH_NODE_MOUNT_CHECK_H
#define BERTH_NODE_MOUNT_CHECK_H

#include "base/cleanup.h"
#include "base/error.h"

struct agent;
struct mount_check;

int mount_check_new(struct agent *a, struct mount_check **ret, struct error *err);
/* Takes NULL. */
struct mount_check *mount_check_free(struct mount_check *c);
DEFINE_CLEANUP(struct mount_check, mount_check_free)

/* The records are those of the disk. known() comes once, after the first look that went well. */
void mount_check_start(struct mount_check *c, void (*known)(void *agent));
/* An operation has ended. */
void mount_check_settle(struct mount_check *c);

#endif
