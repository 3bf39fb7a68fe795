/* Volumes as directories of an NFS export that is mounted on this machine.
 *
 * Nothing is created or deleted unless the export is mounted: mount_dir is a mount point, and its marker file
 * names this export and has the id that the volumes record. An export without a marker gets one if no volume
 * of it is known, or if all of their directories are in it. */
#ifndef BERTH_CONTROLLERS_PROVISIONER_NFS_SUBDIR_H
#define BERTH_CONTROLLERS_PROVISIONER_NFS_SUBDIR_H

#include "controllers/provisioner/blocking.h"

#define NFS_SUBDIR_MOUNT_DIR "/persistentvolumes"
/* In the root of the export, so that it is recognised (host/mount_identity.h). */
#define NFS_SUBDIR_MARKER ".berth-export.json"
/* On each volume: the id in the marker of the export that has its directory. */
#define ANN_EXPORT_ID "volumes.berth.io/export-id"

/* The ctx of the type. */
struct nfs_subdir {
    const char *server;
    const char *path;      /* of the export on the server: clean and absolute */
    const char *mount_dir; /* mount point on this machine; not a link */
    bool may_be_plain;     /* mount_dir need not be a mount point */
};

extern const struct blocking_type nfs_subdir_type;

/* The directory of a claim's volume, relative to the export: the class's pathPattern with its tokens
 * replaced, or `<namespace>-<claim>-<volume>`. Pure; whether the path is allowed is checked elsewhere. */
int nfs_subdir_path(const struct provisioner_request *q, struct buf *ret, struct error *err);

#endif
