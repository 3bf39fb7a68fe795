/* VolumeGroupSnapshot, VolumeGroupSnapshotContent, VolumeGroupSnapshotClass: snapshots of several volumes at
 * one point in time. Custom resources in a cluster, built in here. */
#ifndef BERTH_API_GROUP_SNAPSHOT_H
#define BERTH_API_GROUP_SNAPSHOT_H

#include <assert.h>

#include "api/object.h"
#include "api/selector.h"

#define GROUP_SNAPSHOT_GROUP "groupsnapshot.storage.k8s.io"

#define ANN_DEFAULT_GROUP_SNAPSHOT_CLASS "groupsnapshot.storage.kubernetes.io/is-default-class"

/* Of a content: its group snapshot is being deleted, which permits the driver's sidecar to delete it. */
#define ANN_GROUP_SNAPSHOT_BEING_DELETED \
    "groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-being-deleted"
/* Of a content: the secret of calls to the driver. */
#define ANN_GROUP_SNAPSHOT_SECRET_NAME "groupsnapshot.storage.kubernetes.io/deletion-secret-name"
#define ANN_GROUP_SNAPSHOT_SECRET_NAMESPACE "groupsnapshot.storage.kubernetes.io/deletion-secret-namespace"

#define FINALIZER_GROUP_SNAPSHOT "groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-bound-protection"
#define FINALIZER_GROUP_SNAPSHOT_CONTENT \
    "groupsnapshot.storage.kubernetes.io/volumegroupsnapshotcontent-bound-protection"

struct group_snapshot {
    struct object obj;
    const struct label_selector *selector; /* source: one of these two is set; NULL: not set */
    const char *content_name;
    const char *class_name; /* "" for the default class */
    const char *bound_content_name;
    struct timestamp taken; /* zero if not set */
    bool has_ready;         /* readyToUse is set */
    bool is_ready;
    bool has_error;
    const char *error_message;
    struct timestamp error_time; /* zero if not set */
};

/* One snapshot of a group, as the driver reports it. */
struct group_member {
    const char *volume_handle;
    const char *snapshot_handle;
    bool has_ready;
    bool is_ready;
    bool has_taken;
    bool has_restore_bytes;
    int64_t taken_ns;
    int64_t restore_bytes;
};

struct group_snapshot_content {
    struct object obj;
    const char *group_ns;
    const char *group_name;
    const char *group_uid;
    const char *driver;
    const char *class_name;
    struct texts volume_handles; /* source: one of these two is set */
    bool has_handles;            /* groupSnapshotHandles */
    bool deletes;                /* deletionPolicy Delete, else Retain */
    const char *handle;          /* status: of the group snapshot; "" if not set */
    struct timestamp taken;      /* zero if not set */
    bool has_ready;              /* readyToUse is set */
    bool is_ready;
    bool has_error;
    const char *error_message;
    struct timestamp error_time; /* zero if not set */
    const struct group_member *members;
    uint32_t members_count;
};

struct group_snapshot_class {
    struct object obj;
    const char *driver;
    struct kvs parameters;
    bool deletes;
    bool is_default;
};

extern const struct kind_info group_snapshot_kind;
extern const struct kind_info group_snapshot_content_kind;
extern const struct kind_info group_snapshot_class_kind;

static inline const struct group_snapshot *group_snapshot_of(const struct object *o)
{
    assert(o->kind->kind == KIND_GROUP_SNAPSHOT);
    return (const struct group_snapshot *)(const void *)o;
}

static inline const struct group_snapshot_content *group_snapshot_content_of(const struct object *o)
{
    assert(o->kind->kind == KIND_GROUP_SNAPSHOT_CONTENT);
    return (const struct group_snapshot_content *)(const void *)o;
}

static inline const struct group_snapshot_class *group_snapshot_class_of(const struct object *o)
{
    assert(o->kind->kind == KIND_GROUP_SNAPSHOT_CLASS);
    return (const struct group_snapshot_class *)(const void *)o;
}

#endif
