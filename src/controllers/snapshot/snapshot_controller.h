/* The snapshot controller: binds VolumeSnapshots to VolumeSnapshotContents, protects both and the claims that
 * are their sources, and copies the status of contents. It calls no driver: the snapshotter of each driver
 * creates and deletes snapshots in the storage, for contents.
 *
 * Three queues: snapshots (snapshot_sync.c), contents and claims (snapshot_guards.c). */
#ifndef BERTH_CONTROLLERS_SNAPSHOT_SNAPSHOT_CONTROLLER_H
#define BERTH_CONTROLLERS_SNAPSHOT_SNAPSHOT_CONTROLLER_H

#include "controllers/snapshot/snapshot_plan.h"
#include "machinery/component_deps.h"

struct snapshot_controller;

/* Requests the caches, with their indexes. */
int snapshot_caches_open(struct informers *all, struct snapshot_caches *ret, struct error *err);

int snapshot_controller_new(const struct component_deps *o, struct snapshot_controller **ret,
                            struct error *err);
void snapshot_controller_start(struct snapshot_controller *c);
struct snapshot_controller *snapshot_controller_free(struct snapshot_controller *c);
/* NULL if the state in memory is consistent, else what is wrong. For the simulator. */
const char *snapshot_controller_check(const struct snapshot_controller *c);

#endif
