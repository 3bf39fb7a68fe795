/* The parameters of a StorageClass or VolumeSnapshotClass for a CSI driver: file system type, references to
 * secrets, and the rest, which goes to the driver. Pure; texts are allocated in an arena or borrowed from the
 * class.
 *
 * Keys with the prefix csi.storage.k8s.io/ are for the provisioner or snapshotter and are not passed to the
 * driver; an unknown one is an error. Secrets are named by pairs of a name and a namespace, which may be
 * templates (`${pvc.name}`). Error texts are those of external-provisioner and csi-snapshotter. */
#ifndef BERTH_CONTROLLERS_CSI_CSI_PARAMETERS_H
#define BERTH_CONTROLLERS_CSI_CSI_PARAMETERS_H

#include "api/claim.h"
#include "api/class.h"
#include "api/snapshot.h"
#include "api/volume_source.h"

enum csi_secret_use {
    CSI_FOR_PROVISIONER,
    CSI_FOR_CONTROLLER_PUBLISH,
    CSI_FOR_NODE_STAGE,
    CSI_FOR_NODE_PUBLISH,
    CSI_FOR_CONTROLLER_EXPAND,
    CSI_FOR_NODE_EXPAND,
    CSI_FOR_CONTROLLER_MODIFY,
    CSI_SECRET_USE_COUNT,
};

/* The secret for one use; name "" for none. claim NULL: only the volume's name can be filled in. */
int csi_secret_reference(struct arena *a, const struct storage_class *class, enum csi_secret_use use,
                         const struct claim *claim, const char *volume_name, struct secret_ref *ret,
                         struct error *err);

/* csi.storage.k8s.io/fstype, or fstype in any case; "" for none. */
int csi_fs_type(const struct storage_class *class, const char **ret, struct error *err);

/* What the driver gets. extra: the claim and volume are named in three further parameters; NULL: not. */
struct csi_extra_metadata {
    const struct claim *claim;
    const char *volume_name;
};
int csi_driver_parameters(struct arena *a, const struct storage_class *class,
                          const struct csi_extra_metadata *extra, struct kvs *ret, struct error *err);

/* --- Of a VolumeSnapshotClass --- */

/* The secret for lists of snapshots; name "" for none. */
int csi_snapshot_list_secret(struct arena *a, const struct kvs *parameters, const char *content_name,
                             struct secret_ref *ret, struct error *err);
/* What the driver gets. extra: the snapshot and content are named in three further parameters; NULL: not. */
int csi_snapshot_parameters(struct arena *a, const struct kvs *parameters,
                            const struct snapshot_content *extra, struct kvs *ret, struct error *err);

#endif
