/* The directory layout below the root of the node agent, which other programs know too. Pure.
 *
 *   pods/UID/volumes/PLUGIN~NAME/VOLUME          a volume of a pod
 *   pods/UID/volumeDevices/PLUGIN~NAME/VOLUME    a link to its block device
 *   pods/UID/plugins/PLUGIN~NAME/VOLUME          files of a plugin about it
 *   pods/UID/volume-subpaths/VOLUME/CONTAINER/N  subpaths of it
 *   plugins/PLUGIN/NAME/...                      what exists once per node
 *
 * Names come from objects: a name that cannot be a single path component is refused. */
#ifndef BERTH_PLUGINS_LAYOUT_H
#define BERTH_PLUGINS_LAYOUT_H

#include <limits.h>

#include "base/error.h"

struct volume_plugin;
struct volume_spec;

/* "kubernetes.io/nfs" <-> "kubernetes.io~nfs". */
int layout_escape(const char *plugin, char ret[NAME_MAX + 1], struct error *err);
int layout_unescape(const char *dir_name, char ret[NAME_MAX + 1], struct error *err);

int layout_pod_dir(const char *root, const char *pod_uid, char ret[PATH_MAX], struct error *err);
/* sub: "volumes", "plugins", "volumeDevices". volume: NULL for the plugin's directory. */
int layout_pod_path(const char *root, const char *pod_uid, const char *sub, const char *plugin,
                    const char *volume, char ret[PATH_MAX], struct error *err);
/* The path slot of plugins with the default layout: the pod's directory for that plugin and volume. */
int layout_path_slot(const struct volume_plugin *self, const char *root, const char *pod_uid,
                     const char *name, const struct volume_spec *spec, char ret[PATH_MAX], struct error *err);
/* <root>/plugins/<plugin>[/<rest>]; rest may have several components, none of them "..". */
int layout_plugin_path(const char *root, const char *plugin, const char *rest, char ret[PATH_MAX],
                       struct error *err);

#endif
