/* What became of the plugins that were once built in: each has a CSI driver that does its work now.
 *
 * A class or volume that names such a plugin belongs to the driver, and the driver's controllers act on it.
 */
#ifndef BERTH_API_MIGRATION_H
#define BERTH_API_MIGRATION_H

#include "api/volume.h"

/* The driver of a plugin: "ebs.csi.aws.com" for "kubernetes.io/aws-ebs"; NULL for one that has not moved. */
const char *migration_driver(const char *plugin);
/* The plugin of a source, where it has moved; NULL for all others. */
const char *migration_plugin(enum volume_source_kind source);

/* What the driver calls the volume, "driver^handle", is appended to ret; false for a volume that has not
 * moved, or whose driver's name for it cannot be told from one member of its source (azureFile). */
bool migration_volume_name(const struct volume *v, struct buf *ret);

#endif
