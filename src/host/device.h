/* Block devices: contents, creating and growing file systems, loop devices. Blocks: call it from the pool.
 *
 * A device that contains any data is never formatted: libblkid probes first, and a device that it cannot read
 * or does not recognise as empty is not touched. */
#ifndef BERTH_HOST_DEVICE_H
#define BERTH_HOST_DEVICE_H

#include <limits.h>

#include "host/mount_syscall.h"

/* Kinds of failures of device_format_and_mount(), for events and metrics. */
enum format_failure {
    FORMAT_OK,
    FORMAT_MISMATCH,   /* a file system of another type: the mount was tried and failed */
    FORMAT_HAS_ERRORS, /* fsck could not correct them */
    FORMAT_READ_ONLY,  /* blank, and to be mounted read-only */
    FORMAT_FAILED,     /* mkfs */
    FORMAT_UNREADABLE, /* the probe */
    FORMAT_MOUNT_FAILED,
};

#define DEVICE_PARTITIONS "unknown data, probably partitions"
#define DEVICE_FORMAT_BYTES 64

/* "ext4", "" for a blank device, DEVICE_PARTITIONS for a partition table. */
int device_probe(const char *device, char ret[DEVICE_FORMAT_BYTES], struct error *err);

#define DEVICE_UUID_BYTES 64
/* The UUID of the file system of this type on the device, as its tools write it; "" when it has none. */
int device_uuid(const char *device, const char *type, char ret[DEVICE_UUID_BYTES], struct error *err);

/* The order of the specification: probe, mkfs on a blank device, fsck -a on one that is not, mount. type: ""
 * means ext4. "defaults" is added to the options. secret_options are used for the mount only. */
int device_format_and_mount(const struct host_tools *t, const struct mount_plan *plan,
                            enum format_failure *ret_why, struct error *err);

/* Grows the file system on the device, mounted at path, to the size of the device. *ret_grown is false for a
 * blank device. */
int device_grow(const struct host_tools *t, const char *device, const char *path, bool *ret_grown,
                struct error *err);
/* The same, but only if device_needs_growing() says that it is needed. *ret_done is false for a blank device:
 * it has no file system yet. */
int device_grow_if_needed(const struct host_tools *t, const char *device, const char *path, bool *ret_done,
                          struct error *err);
int device_needs_growing(const struct host_tools *t, const char *device, const char *path, bool *ret,
                         struct error *err);

int device_size(const char *device, uint64_t *ret, struct error *err);
/* ERR_BUSY when something has the device open exclusively (a mount, a swap, dm). ERR_NOT_FOUND. */
int device_check_unused(const char *device, struct error *err);

/* Attaches a file or a block device to a loop device, or finds the one it has. ret: "/dev/loop7". It stays
 * until loop_detach() or a reboot. Two calls for one file return the same device. */
int loop_attach(const char *file, bool is_read_only, char ret[PATH_MAX], struct error *err);
/* The loop device of that file; ERR_NOT_FOUND. */
int loop_find(const char *file, char ret[PATH_MAX], struct error *err);
/* A device that is not attached is not an error. */
int loop_detach(const char *device, struct error *err);

#endif
