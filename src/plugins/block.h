/* Raw block volumes on a node: the steps that are the same for all plugins. Blocking: call it on the pool.
 *
 *   GLOBAL/POD-UID     the device, bind-mounted on a file: one per pod that uses it
 *   POD-DIR/NAME       a link to the device, for the container runtime
 *   /dev/loopN         over GLOBAL/POD-UID: keeps the device open, so that another disk cannot silently get
 *                      its device number while the pod uses it
 *
 * All steps are idempotent. */
#ifndef BERTH_PLUGINS_BLOCK_H
#define BERTH_PLUGINS_BLOCK_H

#include "plugins/plugin.h"

struct block_paths {
    char global_dir[PATH_MAX];
    char global_file[PATH_MAX]; /* of the pod */
    char pod_link[PATH_MAX];
};

/* plugins/PLUGIN~NAME/volumeDevices/VOLUME and pods/UID/volumeDevices/PLUGIN~NAME. Pure. */
int block_paths_of(const char *root, const char *plugin, const char *volume, const char *pod_uid,
                   struct block_paths *ret, struct error *err);

/* The same, or the paths of a plugin that has its own. Pure. */
int block_paths_for(const struct volume_plugin *p, const char *root, const char *volume, const char *pod_uid,
                    struct block_paths *ret, struct error *err);

/* Makes the device available to the pod. `device path of the volume is empty`. ret_loop: PATH_MAX bytes, the
 * loop device. After a failure parts may exist: the state is uncertain, and block_unmap() removes them. */
int block_map(const struct volume_env *env, const char *device, const struct block_paths *p, char *ret_loop,
              struct error *err);
/* Removes the loop device, the link and the bind of the pod. */
int block_unmap(const struct volume_env *env, const struct block_paths *p, struct error *err);
/* When no pod uses it, removes the directory; else ERR_BUSY: `the device "…" is still referenced from other
 * Pods […]`. */
int block_unmap_device(const struct volume_env *env, const char *global_dir, struct error *err);

#endif
