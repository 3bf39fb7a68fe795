/* Migration of former in-tree volume plugins to CSI drivers.
 *
 * A class or volume that names such a plugin belongs to its CSI driver, whose controllers act on it. The
 * attach controller, the scheduler and the node agent use the translation of such a volume, so that all of
 * them use the same name. A translation is never written to the API. */
#ifndef BERTH_API_MIGRATION_H
#define BERTH_API_MIGRATION_H

#include "api/pod.h"
#include "api/volume.h"

/* On a CSINode: comma-separated plugins whose volumes the node leaves to CSI drivers. */
#define ANN_MIGRATED_PLUGINS "storage.alpha.kubernetes.io/migrated-plugins"

/* The driver of a plugin: "ebs.csi.aws.com" for "kubernetes.io/aws-ebs"; NULL if the plugin was not migrated.
 */
const char *migration_driver(const char *plugin);
/* The plugin of a source, if it was migrated; else NULL. */
const char *migration_plugin(enum volume_source_kind source);
/* The source of a pod's volume, if its plugin was migrated; else SOURCE_NONE. */
enum volume_source_kind migration_source(enum pod_volume_type type);

/* The volume with a CSI source instead of a migrated one, and with the driver's topology key instead of the
 * zone label, in node affinity and labels. Everything else is kept: name, uid, claim. ERR_INVALID: the driver
 * has no handle for it. */
int migration_translate(const struct volume *v, struct object **ret, struct error *err);
/* The PersistentVolume for a volume of a pod: DRIVER-ID, without a uid or a claim. A slash in the ID, which
 * is not allowed in a directory name, is replaced by '~'. */
int migration_translate_inline(const struct pod *p, const struct pod_volume *v, struct object **ret,
                               struct error *err);

#endif
