/* The plugins that are compiled in. */
#ifndef BERTH_PLUGINS_BUILTIN_H
#define BERTH_PLUGINS_BUILTIN_H

#include "plugins/plugin.h"

#define HOST_PATH_DIR "/tmp/hostpath_pv"
#define NFS_MOUNT_DIR "/run/berth/recycle"

/* hostPath: a directory of this machine. Mounts, provisions, deletes and recycles: for development, on one
 * node. */
extern const struct volume_plugin host_path_plugin;
/* nfs: an export of a server. Mounts and recycles. */
extern const struct volume_plugin nfs_plugin;
/* iscsi, fc: attachable, but nothing has to be done for it. */
extern const struct volume_plugin iscsi_plugin;
extern const struct volume_plugin fc_plugin;
/* local: a directory or a block device of one node. */
extern const struct volume_plugin local_plugin;
/* emptyDir: directories that exist as long as their pod. */
extern const struct volume_plugin empty_dir_plugin;
/* Objects as files, in a directory that the emptyDir plugin creates. */
extern const struct volume_plugin config_map_plugin;
extern const struct volume_plugin secret_plugin;
extern const struct volume_plugin downward_api_plugin;
extern const struct volume_plugin projected_plugin;

#endif
