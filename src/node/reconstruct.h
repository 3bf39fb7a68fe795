/* Reconstructs volumes after a restart: finds the volumes of pods by their directories and queries their
 * plugins.
 *
 *   pods/UID/volumes/PLUGIN~NAME/VOLUME and pods/UID/volumeDevices/PLUGIN~NAME/VOLUME
 *
 * and by the directories in plugins/ that exist once per node (reconstruct_devices.c), whose pods may no
 * longer exist.
 *
 * A directory is sufficient, mounted or not: tearing down an unmounted volume is idempotent. The directories
 * are read on a worker, plugins are looked up on the loop, volumes are reconstructed on a worker.
 *
 * Symbolic links are not followed. An entry that is not a directory (for devices: not a link) is ignored. A
 * directory that is unreadable or has too many entries is skipped and logged. */
#ifndef BERTH_NODE_RECONSTRUCT_H
#define BERTH_NODE_RECONSTRUCT_H

#include "io/pool.h"
#include "machinery/metrics.h"
#include "plugins/registry.h"

struct reconstruct;

struct restored_volume {
    const char *pod_uid;     /* "": only its device was found */
    const char *plugin_name; /* "kubernetes.io/empty-dir", from the directory */
    const char *name;        /* of the volume: the last directory */
    bool is_block;
    const struct volume_plugin *plugin; /* a reference while the list lives; NULL: there is no such plugin */
    struct object *object;              /* a PersistentVolume, or a Pod with that one volume; NULL: failed */
    const char *device_mount_path;      /* where its device would be mounted, or mapped; "" for none */
    bool is_mounted;                    /* there or for the pod, or this could not be determined */
    int r;                              /* why it could not be reconstructed; 0 */
    struct error err;
};

struct restored_pod {
    const char *uid;
    /* The text of the pod's state file (state_file.h), NUL-terminated; "" when it is missing or
     * unreadable. */
    struct str state;
    const char *state_error; /* why it cannot be read; NULL: it was read, or is missing */
};

struct node_restored {
    /* Sorted by pod, devices last, then by plugin and name; those of plugins/ follow. A device may be listed
     * in addition to a pod's volume. */
    struct restored_volume *volumes;
    size_t volumes_count;
    struct restored_pod *pods; /* every directory in pods/, by name */
    size_t pods_count;
};

struct reconstruct_options {
    struct loop *loop;
    struct pool *pool;
    struct plugin_registry *plugins;
    const struct volume_env *env; /* without stop; copied */
    struct metrics *metrics;      /* NULL: nothing is counted */
    /* Called once, on the loop. found is valid until reconstruct_free(). r < 0: pods/ could not be read; a
     * missing pods/ counts as empty. */
    void (*done)(void *ctx, const struct node_restored *found, int r, const struct error *err);
    void *ctx;
};

int reconstruct_new(const struct reconstruct_options *o, struct reconstruct **ret, struct error *err);
/* Cancels a scan in progress; must not be called from done. Accepts NULL. */
struct reconstruct *reconstruct_free(struct reconstruct *c);
DEFINE_CLEANUP(struct reconstruct, reconstruct_free)

#endif
