/* Raw block volumes on a node: what is the same for all plugins. Blocks: for the pool.
 *
 *   GLOBAL/POD-UID     the device, bound to a file: one for each pod that uses it
 *   POD-DIR/NAME       a link to the device, for the container's runtime
 *   /dev/loopN         over GLOBAL/POD-UID: it holds the device open, so that another disk cannot silently
 *                      take its number while the pod believes to have it
 *
 * All of it can be repeated: what is there stays, what is gone is done. */
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

/* The same, or what the plugin has in place of it. Pure. */
int block_paths_for(const struct volume_plugin *p, const char *root, const char *volume, const char *pod_uid,
                    struct block_paths *ret, struct error *err);

/* Brings the device to the pod. `device path of the volume is empty`. ret_loop: PATH_MAX bytes, the loop
 * device. On failure some of it may be there: the state is uncertain, and block_unmap() takes it away. */
int block_map(const struct volume_env *env, const char *device, const struct block_paths *p, char *ret_loop,
              struct error *err);
/* Takes it from the pod: lock, link and bind. */
int block_unmap(const struct volume_env *env, const struct block_paths *p, struct error *err);
/* Once no pod has it: `the device "…" is still referenced from other Pods […]`, ERR_BUSY, otherwise the
 * directory goes. */
int block_unmap_device(const struct volume_env *env, const char *global_dir, struct error *err);

#endif
