/* VolumeSnapshot, VolumeSnapshotContent, VolumeSnapshotClass: custom resources in a cluster, built in here.
 */
#ifndef BERTH_API_SNAPSHOT_H
#define BERTH_API_SNAPSHOT_H

#include <assert.h>

#include "api/object.h"
#include "api/quantity.h"

#define SNAPSHOT_GROUP "snapshot.storage.k8s.io"

#define ANN_DEFAULT_SNAPSHOT_CLASS "snapshot.storage.kubernetes.io/is-default-class"
/* Of a content: its snapshot is being deleted, which permits the driver's sidecar to delete it. */
#define ANN_SNAPSHOT_BEING_DELETED "snapshot.storage.kubernetes.io/volumesnapshot-being-deleted"
/* Of a content: the driver's ID of the group snapshot that has created its snapshot. */
#define ANN_SNAPSHOT_GROUP_HANDLE "groupsnapshot.storage.k8s.io/volumeGroupSnapshotHandle"
/* Of a content: the secret of calls to the driver. */
#define ANN_SNAPSHOT_SECRET_NAME "snapshot.storage.kubernetes.io/deletion-secret-name"
#define ANN_SNAPSHOT_SECRET_NAMESPACE "snapshot.storage.kubernetes.io/deletion-secret-namespace"

/* Of a snapshot: volumes may be created from it; it is bound to a content that is deleted first. */
#define FINALIZER_SNAPSHOT_SOURCE "snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection"
#define FINALIZER_SNAPSHOT_BOUND "snapshot.storage.kubernetes.io/volumesnapshot-bound-protection"
#define FINALIZER_SNAPSHOT_CONTENT "snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection"
/* Of a snapshot: it belongs to a group snapshot, and is deleted with it. */
#define FINALIZER_SNAPSHOT_IN_GROUP "snapshot.storage.kubernetes.io/volumesnapshot-in-group-protection"
/* Of a claim: a snapshot of its volume is being created. */
#define FINALIZER_SNAPSHOT_CLAIM "snapshot.storage.kubernetes.io/pvc-as-source-protection"
/* Of a snapshot: a volume is being created from it. */
#define FINALIZER_SNAPSHOT_RESTORE "provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection"

struct snapshot {
    struct object obj;
    const char *claim_name; /* source: one of these two is set */
    const char *content_name;
    const char *class_name; /* "" for the default class */
    const char *bound_content_name;
    struct timestamp taken; /* zero if not set */
    bool has_ready;         /* readyToUse is set */
    bool is_ready;
    bool has_restore_size;
    struct quantity restore_size;
    bool has_error;
    const char *error_message;
    struct timestamp error_time; /* zero if not set */
    const char *group_name;      /* the group snapshot that it belongs to; "" for none */
};

struct snapshot_content {
    struct object obj;
    const char *snapshot_ns;
    const char *snapshot_name;
    const char *snapshot_uid;
    const char *driver;
    const char *class_name;
    const char *volume_handle; /* source: one of these two is set */
    const char *source_snapshot_handle;
    const char *snapshot_handle; /* status: created by the driver */
    bool deletes;                /* deletionPolicy Delete, else Retain */
    bool has_ready;              /* readyToUse is set */
    bool is_ready;
    bool has_restore_bytes;
    int64_t taken_ns;
    int64_t restore_bytes;
    bool has_error;
    const char *error_message;
    struct timestamp error_time; /* zero if not set */
};

struct snapshot_class {
    struct object obj;
    const char *driver;
    struct kvs parameters;
    bool deletes;
    bool is_default;
};

extern const struct kind_info snapshot_kind;
extern const struct kind_info snapshot_content_kind;
extern const struct kind_info snapshot_class_kind;

static inline const struct snapshot *snapshot_of(const struct object *o)
{
    assert(o->kind->kind == KIND_SNAPSHOT);
    return (const struct snapshot *)(const void *)o;
}

static inline const struct snapshot_content *snapshot_content_of(const struct object *o)
{
    assert(o->kind->kind == KIND_SNAPSHOT_CONTENT);
    return (const struct snapshot_content *)(const void *)o;
}

static inline const struct snapshot_class *snapshot_class_of(const struct object *o)
{
    assert(o->kind->kind == KIND_SNAPSHOT_CLASS);
    return (const struct snapshot_class *)(const void *)o;
}

#endif
