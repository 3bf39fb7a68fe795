/* The identity of the disk at a path. Blocks: call it from the pool.
 *
 * A disk is identified by a text that is the same after a reboot and in every mount namespace:
 *
 *   uuid:UUID            a file system, mounted at the path
 *   uuid:UUID:/dir       a directory of it: a bind mount, a subvolume
 *   mount:TYPE:SOURCE    a file system without UUID (tmpfs, NFS), by its source; with :/dir as above
 *   device:KIND:ID       a block device, by its identifier in sysfs: device mapper, wwid, serial, loop
 *   mount, device        a mount or device about which nothing more is known
 *
 * Bytes that are not printable ASCII are written as %XX. */
#ifndef BERTH_HOST_DISK_H
#define BERTH_HOST_DISK_H

#include "base/error.h"
#include "host/mount_table.h"

#define DISK_NAME_BYTES 512
#define DISK_ANY_MOUNT "mount"
#define DISK_ANY_DEVICE "device"

/* table: NULL reads it. path: without links in its directories; a link to a block device is followed.
 * ERR_NOT_FOUND when the path does not exist or nothing is mounted there; ERR_INVALID for what is neither
 * directory nor block device. */
int disk_identify(const struct mount_table *table, const char *path, char ret[DISK_NAME_BYTES],
                  struct error *err);

enum disk_match {
    DISK_SAME,
    DISK_UNSURE, /* not enough is known about one of the two */
    DISK_OTHER,
};
/* Pure. */
enum disk_match disk_compare(const char *recorded, const char *present);

#endif
