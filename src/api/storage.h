/* Definitions that volumes, claims and classes share: modes, policies, annotations, finalizers. */
#ifndef BERTH_API_STORAGE_H
#define BERTH_API_STORAGE_H

#include "api/object.h"
#include "api/validate.h"

/* Annotations on volumes and claims. Only the presence counts for those with the value "yes". */
#define ANN_BOUND_BY_CONTROLLER "pv.kubernetes.io/bound-by-controller"
#define ANN_BIND_COMPLETED "pv.kubernetes.io/bind-completed"
#define ANN_PROVISIONED_BY "pv.kubernetes.io/provisioned-by"
#define ANN_MIGRATED_TO "pv.kubernetes.io/migrated-to"
#define ANN_SELECTED_NODE "volume.kubernetes.io/selected-node"
#define ANN_PROVISIONER "volume.kubernetes.io/storage-provisioner"
#define ANN_PROVISIONER_BETA "volume.beta.kubernetes.io/storage-provisioner"
#define ANN_CLASS_BETA "volume.beta.kubernetes.io/storage-class"
#define ANN_PRE_RESIZE_CAPACITY "volume.alpha.kubernetes.io/pre-resize-capacity"
#define ANN_RESIZER "volume.kubernetes.io/storage-resizer"
#define ANN_MOUNT_OPTIONS_BETA "volume.beta.kubernetes.io/mount-options"

/* Annotations on classes; the value is exactly "true". */
#define ANN_DEFAULT_CLASS "storageclass.kubernetes.io/is-default-class"
#define ANN_DEFAULT_CLASS_BETA "storageclass.beta.kubernetes.io/is-default-class"

#define FINALIZER_CLAIM_PROTECTION "kubernetes.io/pvc-protection"
#define FINALIZER_VOLUME_PROTECTION "kubernetes.io/pv-protection"
#define FINALIZER_ATTRIBUTES_CLASS_PROTECTION "kubernetes.io/vac-protection"
#define FINALIZER_RECLAIM "kubernetes.io/pv-controller"
#define FINALIZER_EXTERNAL_RECLAIM "external-provisioner.volume.kubernetes.io/finalizer"

#define PROVISIONER_NONE "kubernetes.io/no-provisioner"

/* Sets of access modes, as bits in the order in which they are shown: RWO, ROX, RWX, RWOP. */
enum {
    ACCESS_RWO = 1 << 0,
    ACCESS_ROX = 1 << 1,
    ACCESS_RWX = 1 << 2,
    ACCESS_RWOP = 1 << 3,
    ACCESS_UNKNOWN = 1 << 4, /* an unknown mode was requested */
};

enum volume_mode { VOLUME_MODE_FILESYSTEM, VOLUME_MODE_BLOCK, VOLUME_MODE_COUNT };
enum reclaim_policy { RECLAIM_RETAIN, RECLAIM_RECYCLE, RECLAIM_DELETE, RECLAIM_UNKNOWN, RECLAIM_COUNT };

/* Each ends with NULL; indexed by the enum, for access modes by the bit's number. */
extern const char *const access_mode_names[];
extern const char *const volume_mode_names[];
extern const char *const reclaim_policy_names[];

unsigned decode_access_modes(struct decoder *dec, json_ref object, const char *key);
enum volume_mode decode_volume_mode(struct decoder *dec, json_ref object);

/* Access modes as `kubectl get` shows them: "RWO,RWX". */
void access_modes_short(unsigned modes, struct buf *out);

/* spec.accessModes of volumes and claims: known values, ReadWriteOncePod only without others. */
void validate_access_modes(struct validation *v, const struct field_path *p, json_ref modes);

#endif
