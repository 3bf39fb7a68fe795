/* VolumeSnapshot, VolumeSnapshotContent, VolumeSnapshotClass: custom resources in a cluster, built in here.
 */
#ifndef BERTH_API_SNAPSHOT_H
#define BERTH_API_SNAPSHOT_H

#include "api/object.h"
#include "api/quantity.h"

#define ANN_DEFAULT_SNAPSHOT_CLASS "snapshot.storage.kubernetes.io/is-default-class"

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
    const char *error_message;
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
    const char *error_message;
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

#endif
