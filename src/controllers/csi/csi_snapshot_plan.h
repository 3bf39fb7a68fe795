/* What the snapshotter of a driver does next for a VolumeSnapshotContent. Pure.
 *
 *   dynamic            marked ──CreateSnapshot──► handle ──CreateSnapshot again──► ready
 *   pre-provisioned    ListSnapshots ──► ready
 *   being deleted      the end of a marked creation ──► DeleteSnapshot ──► handle cleared ──► released
 *
 * The mark is an annotation that is written before the first CreateSnapshot and removed when its result is
 * known: a content that has it and is being deleted may have a snapshot whose handle nobody knows. */
#ifndef BERTH_CONTROLLERS_CSI_CSI_SNAPSHOT_PLAN_H
#define BERTH_CONTROLLERS_CSI_CSI_SNAPSHOT_PLAN_H

#include "api/snapshot.h"

#define ANN_SNAPSHOT_BEING_CREATED "snapshot.storage.kubernetes.io/volumesnapshot-being-created"
#define ANN_GROUP_SNAPSHOT_HANDLE "groupsnapshot.storage.k8s.io/volumeGroupSnapshotHandle"
#define LABEL_SNAPSHOT_NODE "snapshot.storage.kubernetes.io/managed-by"

enum csi_snapshot_step {
    CSI_SNAPSHOT_REST,    /* nothing */
    CSI_SNAPSHOT_CREATE,  /* CreateSnapshot: the first time, after an unknown result, or until it is ready */
    CSI_SNAPSHOT_FIND,    /* ListSnapshots, for a handle that somebody wrote */
    CSI_SNAPSHOT_UNMARK,  /* remove the mark of a creation that has ended */
    CSI_SNAPSHOT_DELETE,  /* DeleteSnapshot, then release */
    CSI_SNAPSHOT_RELEASE, /* remove the finalizer */
    CSI_SNAPSHOT_STEP_COUNT,
};

enum csi_snapshot_step csi_snapshot_next(const struct snapshot_content *c);
/* An update after which the next step may be another one. Not the snapshotter's own writes, or its delays
 * would be without effect: the status, finalizers, and the mark. */
bool csi_snapshot_differs(const struct snapshot_content *old, const struct snapshot_content *now);

#endif
