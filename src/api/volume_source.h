/* Volume sources: where the data of a PersistentVolume is.
 *
 * There is one table row per source: its field, its rules, its use in Berth. The rows are in the order in
 * which the API checks them, because the first source found counts and further ones are rejected. All sources
 * are stored and validated; only those that a plugin uses are decoded. */
#ifndef BERTH_API_VOLUME_SOURCE_H
#define BERTH_API_VOLUME_SOURCE_H

#include "api/object.h"
#include "api/validate.h"

enum volume_source_kind {
    SOURCE_NONE,
    SOURCE_HOST_PATH,
    SOURCE_GCE_DISK,
    SOURCE_AWS_DISK,
    SOURCE_GLUSTERFS,
    SOURCE_FLOCKER,
    SOURCE_NFS,
    SOURCE_RBD,
    SOURCE_QUOBYTE,
    SOURCE_CEPHFS,
    SOURCE_ISCSI,
    SOURCE_CINDER,
    SOURCE_FC,
    SOURCE_FLEX,
    SOURCE_AZURE_FILE,
    SOURCE_VSPHERE,
    SOURCE_PHOTON,
    SOURCE_PORTWORX,
    SOURCE_AZURE_DISK,
    SOURCE_SCALE_IO,
    SOURCE_LOCAL,
    SOURCE_STORAGE_OS,
    SOURCE_CSI,
    SOURCE_COUNT,
};

/* --- The view --- */

struct secret_ref {
    const char *ns;
    const char *name; /* "" if there is no reference */
};

struct host_path_source {
    const char *path;
    const char *type; /* "": no check */
};

struct local_source {
    const char *path;
    const char *fs_type;
};

struct nfs_source {
    const char *server;
    const char *path;
    bool is_read_only;
};

struct iscsi_source {
    const char *portal;
    struct texts portals; /* additional ones */
    const char *iqn;
    const char *interface;
    const char *initiator_name;
    const char *fs_type;
    struct secret_ref secret;
    int32_t lun;
    bool is_read_only;
    bool chap_discovery;
    bool chap_session;
};

struct fc_source {
    struct texts wwns;
    struct texts wwids;
    const char *fs_type;
    int32_t lun; /* -1 if not set */
    bool is_read_only;
};

struct flex_source {
    const char *driver;
    const char *fs_type;
    struct secret_ref secret;
    struct kvs options;
    bool is_read_only;
};

enum csi_secret {
    CSI_SECRET_CONTROLLER_PUBLISH,
    CSI_SECRET_NODE_STAGE,
    CSI_SECRET_NODE_PUBLISH,
    CSI_SECRET_CONTROLLER_EXPAND,
    CSI_SECRET_NODE_EXPAND,
    CSI_SECRET_COUNT,
};

struct csi_source {
    const char *driver;
    const char *handle;
    const char *fs_type;
    struct kvs attributes;
    struct secret_ref secrets[CSI_SECRET_COUNT];
    bool is_read_only;
};

struct volume_source {
    union { /* by kind; NULL for sources that are not decoded */
        const struct host_path_source *host_path;
        const struct local_source *local;
        const struct nfs_source *nfs;
        const struct iscsi_source *iscsi;
        const struct fc_source *fc;
        const struct flex_source *flex;
        const struct csi_source *csi;
    };
    uint8_t kind; /* enum volume_source_kind */
};

/* The source in a volume's spec. Absent members read as empty, so that sources of pods are decoded in the
 * same way. */
struct volume_source decode_volume_source(struct decoder *dec, json_ref spec);

/* --- The table --- */

struct volume_source_info {
    const char *name; /* "hostPath" */
    const struct schema *schema;
    const char *const *required; /* required members; ends with NULL, NULL for none */
    /* Adds further errors about the source; NULL for none. */
    void (*validate)(struct validation *v, const struct field_path *p, json_ref source);
    /* Sets absent members; NULL for none. */
    void (*set_defaults)(struct json *d, json_ref source);
    bool takes_mount_options;
    const char *rules_path; /* name in error paths, if it differs; else NULL */
    const char *extra_path; /* the same for the error about a further source */
};

extern const struct volume_source_info volume_sources[SOURCE_COUNT]; /* [SOURCE_NONE] is empty */

/* The first source that is set. */
enum volume_source_kind volume_source_of(const struct json *d, json_ref spec);

void default_volume_source(struct json *d, json_ref spec);

/* Exactly one valid source is required. Returns it. */
enum volume_source_kind validate_volume_source(struct validation *v, const struct field_path *p,
                                               json_ref spec);

/* The schemas of the sources, for other tables. */
extern const struct schema host_path_source_schema;
extern const struct schema gce_disk_source_schema;
extern const struct schema aws_disk_source_schema;
extern const struct schema glusterfs_source_schema;
extern const struct schema flocker_source_schema;
extern const struct schema nfs_source_schema;
extern const struct schema rbd_source_schema;
extern const struct schema quobyte_source_schema;
extern const struct schema cephfs_source_schema;
extern const struct schema iscsi_source_schema;
extern const struct schema cinder_source_schema;
extern const struct schema fc_source_schema;
extern const struct schema flex_source_schema;
extern const struct schema azure_file_source_schema;
extern const struct schema vsphere_source_schema;
extern const struct schema photon_source_schema;
extern const struct schema portworx_source_schema;
extern const struct schema azure_disk_source_schema;
extern const struct schema scale_io_source_schema;
extern const struct schema local_source_schema;
extern const struct schema storage_os_source_schema;
extern const struct schema csi_source_schema;

#endif
