/* What is on disk after a restart: the volumes of pods, found by their directories and asked of their
 * plugins.
 *
 *   pods/UID/volumes/PLUGIN~NAME/VOLUME and pods/UID/volumeDevices/PLUGIN~NAME/VOLUME
 *
 * and by those in plugins/ that are there once for the node (reconstruct_devices.c), which may have lost
 * their pods, or never have had one.
 *
 * A directory is enough: whether something is mounted there does not count, since tearing down what is not
 * mounted is done too. The directories are read on a worker, plugins are found on the loop, volumes are
 * reconstructed on a worker.
 *
 * No link is followed. What is no directory (of devices, no link) is no volume; a directory that cannot be
 * read, or has more in it than any node needs, is left out with a word in the log. */
#ifndef BERTH_NODE_RECONSTRUCT_H
#define BERTH_NODE_RECONSTRUCT_H

#include "io/pool.h"
#include "machinery/metrics.h"
#include "plugins/registry.h"

struct reconstruct;

struct found_volume {
    const char *pod_uid;     /* "": its device alone was found */
    const char *plugin_name; /* "kubernetes.io/empty-dir", as the directory says */
    const char *name;        /* of the volume: the last directory */
    bool is_block;
    const struct volume_plugin *plugin; /* a reference while the list lives; NULL: there is no such plugin */
    struct object *object;              /* a PersistentVolume, or a Pod with that one volume; NULL: failed */
    const char *device_mount_path;      /* where its device would be mounted, or mapped; "" for none */
    int r;                              /* why it could not be reconstructed; 0 */
    struct error err;
};

struct found_pod {
    const char *uid;
    /* The text of the pod's state file (state_file.h), NUL-terminated; "" when there is none or it cannot be
     * read. */
    struct str state;
    const char *state_error; /* why it cannot be read; NULL: it was, or there is none */
};

struct found {
    /* By pod, devices last, then by plugin and name; those of plugins/ behind. A device may be there that a
     * pod's volume has too. */
    struct found_volume *volumes;
    size_t volumes_count;
    struct found_pod *pods; /* every directory in pods/, by name */
    size_t pods_count;
};

struct reconstruct_options {
    struct loop *loop;
    struct pool *pool;
    struct plugin_registry *plugins;
    const struct volume_env *env; /* without stop; copied */
    struct metrics *metrics;      /* NULL: nothing is counted */
    /* Once, on the loop. found lives until reconstruct_free(). r < 0: pods/ could not be read; one that is
     * not there is empty. */
    void (*done)(void *ctx, const struct found *found, int r, const struct error *err);
    void *ctx;
};

int reconstruct_new(const struct reconstruct_options *o, struct reconstruct **ret, struct error *err);
/* Ends a scan under way; not from done. Takes NULL. */
struct reconstruct *reconstruct_free(struct reconstruct *c);
DEFINE_CLEANUP(struct reconstruct, reconstruct_free)

#endif
