/* CSIDriver, CSINode, CSIStorageCapacity. */
#ifndef BERTH_API_CSI_H
#define BERTH_API_CSI_H

#include "api/decode_selector.h"
#include "api/object.h"
#include "api/quantity.h"

enum fs_group_policy {
    FS_GROUP_RWO_WITH_FS_TYPE, /* only with access mode ReadWriteOnce and a file system type */
    FS_GROUP_FILE,
    FS_GROUP_NONE,
    FS_GROUP_POLICY_COUNT,
};

struct token_request {
    const char *audience;
    int64_t expiration_seconds; /* 0 if not set */
};

struct csi_driver {
    struct object obj;
    bool attach_required;
    bool pod_info_on_mount;
    bool has_persistent; /* volumeLifecycleModes; also if empty */
    bool has_ephemeral;
    bool storage_capacity;
    bool requires_republish;
    bool selinux_mount;
    bool tokens_in_secrets; /* serviceAccountTokenInSecrets */
    enum fs_group_policy fs_group_policy;
    struct texts lifecycle_modes; /* as in the object */
    const struct token_request *token_requests;
    uint32_t token_requests_count;
    int64_t allocatable_period_seconds; /* nodeAllocatableUpdatePeriodSeconds; 0 if not set */
};

struct csi_node_driver {
    const char *name;
    const char *node_id;
    struct texts topology_keys;
    int64_t count_max; /* allocatable.count; -1 for no limit */
};

struct csi_node {
    struct object obj;
    const struct csi_node_driver *drivers;
    uint32_t drivers_count;
};

struct csi_capacity {
    struct object obj;
    const char *class_name;
    const struct label_selector *topology; /* NULL: no node has access */
    bool has_capacity;
    bool has_volume_max;
    struct quantity capacity;
    struct quantity volume_max; /* maximumVolumeSize */
};

extern const struct kind_info csi_driver_kind;
extern const struct kind_info csi_node_kind;
extern const struct kind_info csi_capacity_kind;

/* The node's entry for a driver; NULL if there is none. */
const struct csi_node_driver *csi_node_driver(const struct csi_node *n, const char *driver);

#endif
