/* Compares the kernel's mount table with the records, to detect mounts that another program unmounted.
 *
 * The kernel reports every change of the table. A worker then reads the table, and the loop looks up each
 * record in state "mounted". A missing mount becomes uncertain, so that the reconciler mounts it again, and
 * its pod is not ready until then. Changes are batched: while thousands of volumes are mounted the table is
 * read at most twice per second. A snapshot is compared in batches, one per loop iteration, at half a
 * microsecond per record.
 *
 * A snapshot is not compared with mounts that were made after it began (snapshots_begun), nor with volumes
 * that have an operation in flight; those are compared again after the operation. The first snapshot also
 * finds mounts that belong to no record (unknown_mounts.h). Internal to node/. */
#ifndef BERTH_NODE_MOUNT_CHECK_H
#define BERTH_NODE_MOUNT_CHECK_H

#include "base/cleanup.h"
#include "base/error.h"

struct agent;
struct mount_check;

int mount_check_new(struct agent *a, struct mount_check **ret, struct error *err);
/* Accepts NULL. */
struct mount_check *mount_check_free(struct mount_check *c);
DEFINE_CLEANUP(struct mount_check, mount_check_free)

/* The records of volumes on disk exist. Calls known() once, after the first successful snapshot. */
void mount_check_start(struct mount_check *c, void (*known)(void *agent));
/* An operation has ended. */
void mount_check_settle(struct mount_check *c);

#endif
