/* The VolumeCapability of a PersistentVolume in controller calls. */
#ifndef BERTH_CONTROLLERS_CSI_CSI_CAPABILITY_H
#define BERTH_CONTROLLERS_CSI_CSI_CAPABILITY_H

#include <rpc/proto/csi.pb-c.h>

#include "api/volume.h"
#include "base/arena.h"

/* One access mode for all of the volume's: ReadWriteMany before all others. ERR_INVALID: modes that no single
 * one covers. has_single_modes: the driver knows the modes of one writer. Texts are borrowed. */
int csi_volume_capability(struct arena *a, const struct volume *v, bool has_single_modes,
                          Csi__V1__VolumeCapability **ret, struct error *err);

#endif
