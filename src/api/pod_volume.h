/* The volumes of a pod, decoded as far as plugins use them.
 *
 * Sources without a struct here (a claim template, an image, …) only have their type; their users read the
 * rest from the pod's text. */
#ifndef BERTH_API_POD_VOLUME_H
#define BERTH_API_POD_VOLUME_H

#include "api/object.h"
#include "api/volume_source.h"

/* In the order of the API's VolumeSource. */
enum pod_volume_type {
    POD_VOLUME_UNKNOWN, /* unknown to Berth */
    POD_VOLUME_HOST_PATH,
    POD_VOLUME_EMPTY_DIR,
    POD_VOLUME_GCE_DISK,
    POD_VOLUME_AWS_DISK,
    POD_VOLUME_GIT_REPO,
    POD_VOLUME_SECRET,
    POD_VOLUME_NFS,
    POD_VOLUME_ISCSI,
    POD_VOLUME_GLUSTERFS,
    POD_VOLUME_CLAIM,
    POD_VOLUME_RBD,
    POD_VOLUME_FLEX,
    POD_VOLUME_CINDER,
    POD_VOLUME_CEPHFS,
    POD_VOLUME_FLOCKER,
    POD_VOLUME_DOWNWARD_API,
    POD_VOLUME_FC,
    POD_VOLUME_AZURE_FILE,
    POD_VOLUME_CONFIG_MAP,
    POD_VOLUME_VSPHERE,
    POD_VOLUME_QUOBYTE,
    POD_VOLUME_AZURE_DISK,
    POD_VOLUME_PHOTON,
    POD_VOLUME_PROJECTED,
    POD_VOLUME_PORTWORX,
    POD_VOLUME_SCALE_IO,
    POD_VOLUME_STORAGE_OS,
    POD_VOLUME_CSI,
    POD_VOLUME_EPHEMERAL,
    POD_VOLUME_IMAGE,
    POD_VOLUME_TYPE_COUNT,
};

/* The fields' names: "persistentVolumeClaim". */
extern const char *const pod_volume_type_names[];

#define POD_MODE_UNSET (-1)

struct pod_empty_dir {
    const char *medium; /* "", "Memory", "HugePages", "HugePages-2Mi" */
    struct quantity size_limit;
    bool has_size_limit;
};

struct pod_key_path {
    const char *key;
    const char *path;
    int32_t mode; /* POD_MODE_UNSET: the default mode */
};

/* A Secret or ConfigMap whose keys become files. */
struct pod_keyed {
    const char *name;
    const struct pod_key_path *items; /* none: all keys, with their own names */
    uint32_t items_count;
    int32_t default_mode; /* POD_MODE_UNSET in a projected volume, which has one for all */
    bool is_optional;
};

struct pod_downward_item {
    const char *path;
    const char *field_path; /* "" if it shows a resource */
    const char *resource;   /* "limits.memory" */
    const char *container;
    struct quantity divisor; /* 0 if not set */
    int32_t mode;
};

struct pod_downward {
    const struct pod_downward_item *items;
    uint32_t items_count;
    int32_t default_mode;
};

struct pod_token {
    const char *audience;
    const char *path;
    int64_t expiration_seconds;
};

/* A ClusterTrustBundle: only what identifies it. */
struct pod_trust_bundle {
    const char *name;
    const char *signer;
};

enum pod_projection_type {
    PROJECTION_UNKNOWN, /* unknown to Berth */
    PROJECTION_SECRET,
    PROJECTION_CONFIG_MAP,
    PROJECTION_DOWNWARD_API,
    PROJECTION_TOKEN,
    PROJECTION_TRUST_BUNDLE,
    PROJECTION_CERTIFICATE, /* of the pod */
    PROJECTION_TYPE_COUNT,
};

struct pod_projection {
    union {
        const struct pod_keyed *keyed; /* Secret, ConfigMap */
        const struct pod_downward *downward;
        const struct pod_token *token;
        const struct pod_trust_bundle *trust_bundle;
    };
    uint8_t type; /* enum pod_projection_type */
};

struct pod_projected {
    const struct pod_projection *items;
    uint32_t items_count;
    int32_t default_mode;
};

/* Identifies a disk that only one node or one writer may use, to detect conflicts between pods. */
struct pod_disk {
    const char *id; /* pdName, volumeID, or the RBD image */
    const char *pool;
    struct texts monitors;
};

struct pod_volume {
    const char *name;
    union {                     /* by type */
        const char *claim_name; /* CLAIM, EPHEMERAL */
        const struct host_path_source *host_path;
        const struct pod_empty_dir *empty_dir;
        const struct pod_keyed *keyed; /* SECRET, CONFIG_MAP */
        const struct pod_downward *downward;
        const struct pod_projected *projected;
        const struct nfs_source *nfs;
        const struct iscsi_source *iscsi;
        const struct fc_source *fc;
        const struct flex_source *flex;
        const struct csi_source *csi; /* without a handle; secrets are in the pod's namespace */
        const struct pod_disk *disk;  /* GCE_DISK, AWS_DISK, RBD */
    };
    uint8_t type; /* enum pod_volume_type */
    bool is_read_only;
};

struct pod_volumes {
    const struct pod_volume *items;
    uint32_t count;
};

/* The claim of the volume, NULL for none: the named one, or for a generic ephemeral volume the one that is
 * created for it, <pod>-<volume>. */
const char *pod_claim_name(const struct pod_volume *v);

#endif
