/* The plugins that are compiled in. */
#ifndef BERTH_PLUGINS_BUILTIN_H
#define BERTH_PLUGINS_BUILTIN_H

#include "plugins/plugin.h"

#define HOST_PATH_DIR "/tmp/hostpath_pv"
#define NFS_MOUNT_DIR "/run/berth/recycle"

/* hostPath: a directory of this machine. Provisions, deletes, recycles: for development, on one node. */
extern const struct volume_plugin host_path_plugin;
/* nfs: an export of a server. Recycles. */
extern const struct volume_plugin nfs_plugin;

#endif
