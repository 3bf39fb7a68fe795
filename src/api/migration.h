/* What became of the plugins that were once built in: each has a CSI driver that does its work now.
 *
 * A class or volume that names such a plugin belongs to the driver, and the driver's controllers act on it.
 * The attach controller, the scheduler and the node agent act on the translation of such a volume, so that
 * all of them call it by the same name. A translation is never written to the API.
 */
#ifndef BERTH_API_MIGRATION_H
#define BERTH_API_MIGRATION_H

#include "api/pod.h"
#include "api/volume.h"

/* On a CSINode: the plugins whose volumes the node leaves to CSI drivers, with commas between them. */
#define ANN_MIGRATED_PLUGINS "storage.alpha.kubernetes.io/migrated-plugins"

/* The driver of a plugin: "ebs.csi.aws.com" for "kubernetes.io/aws-ebs"; NULL for one that has not moved. */
const char *migration_driver(const char *plugin);
/* The plugin of a source, where it has moved; NULL for all others. */
const char *migration_plugin(enum volume_source_kind source);
/* The source of a pod's volume, where its plugin has moved; SOURCE_NONE for all others. */
enum volume_source_kind migration_source(enum pod_volume_type type);

/* The volume with a CSI source in place of one that has moved, and with the driver's topology key in place of
 * the zone's, in node affinity as in labels. Everything else is kept: name, uid, claim.
 * ERR_INVALID: the driver has no name for it. */
int migration_translate(const struct volume *v, struct object **ret, struct error *err);
/* The PersistentVolume that stands for a volume of a pod: DRIVER-ID, without a uid or a claim. A slash in the
 * id, which could not be part of a directory's name, is '~' there. */
int migration_translate_inline(const struct pod *p, const struct pod_volume *v, struct object **ret,
                               struct error *err);

#endif
