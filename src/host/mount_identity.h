/* A directory that holds volumes is recognised, not assumed: it is a mount point, and a marker file in it
 * identifies the file system.
 *
 * Otherwise the directory of a disk or export that is not mounted, or where another one is mounted, would
 * look like one whose volumes are all gone: new volumes would be created in the wrong place, and deleted
 * ones would keep their data.
 *
 * The marker is a JSON file: {"format":1,"kind":KIND,"about":ABOUT,"id":UUID}. The id is random; volumes
 * record it, so that a file system with another marker of the same kind and the same `about` is detected too.
 * The caller decides when a file system without a marker gets one.
 *
 * All work uses the descriptor that was checked: it stays on that file system, whatever is mounted or
 * unmounted at the path later. No link is followed, in the path or below it. Blocks: call it from the pool.
 */
#ifndef BERTH_HOST_MOUNT_IDENTITY_H
#define BERTH_HOST_MOUNT_IDENTITY_H

#include <stdbool.h>

#include "api/uid.h"
#include "base/error.h"

/* What must be there. Texts are borrowed. */
struct mount_identity {
    const char *path;    /* of the directory: absolute and clean */
    bool may_be_plain;   /* it need not be a mount point, */
    const char *setting; /* as this setting says, for messages: "requireMount: false" */
    const char *marker;  /* name of the marker file */
    const char *kind;    /* what it is, in the marker and in messages: "export" */
    const char *about;   /* which one, in the marker and in messages: "nfs.example:/srv/nfs" */
};

/* Opens the directory and checks that it is a mount point and that its marker, if there is one, is of this
 * kind and about the same. *ret_fd: the directory; ret_id: the id in its marker, "" without a marker.
 * ERR_UNAVAILABLE with the reason and the remedy for everything that is not as it must be. */
int mount_identity_open(const struct mount_identity *m, int *ret_fd, char ret_id[UID_BYTES],
                        struct error *err);

/* Writes a marker into the open directory. id: "" for a new one. ret_id: the id that the directory has now,
 * which may be that of another process that did the same. */
int mount_identity_create(const struct mount_identity *m, int fd, const char *id, char ret_id[UID_BYTES],
                          struct error *err);

#endif
