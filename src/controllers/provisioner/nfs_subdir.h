/* Volumes as directories of an NFS export that is mounted on this machine. */
#ifndef BERTH_CONTROLLERS_PROVISIONER_NFS_SUBDIR_H
#define BERTH_CONTROLLERS_PROVISIONER_NFS_SUBDIR_H

#include "controllers/provisioner/blocking.h"

#define NFS_SUBDIR_MOUNT_DIR "/persistentvolumes"

/* The ctx of the type. */
struct nfs_subdir {
    const char *server;
    const char *path;      /* of the export on the server: clean and absolute */
    const char *mount_dir; /* mount point on this machine; not a link */
};

extern const struct blocking_type nfs_subdir_type;

/* The directory of a claim's volume, relative to the export: the class's pathPattern with its tokens
 * replaced, or `<namespace>-<claim>-<volume>`. Pure; whether the path is allowed is checked elsewhere. */
int nfs_subdir_path(const struct provisioner_request *q, struct buf *ret, struct error *err);

#endif
