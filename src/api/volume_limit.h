/* Volume limits in the Node: one resource per FlexVolume driver with a limit, in capacity and allocatable.
 * The node agent writes them, the scheduler uses them. Limits of CSI drivers are in the CSINode. */
#ifndef BERTH_API_VOLUME_LIMIT_H
#define BERTH_API_VOLUME_LIMIT_H

#include "base/error.h"

#define VOLUME_LIMIT_PREFIX "attachable-volumes-flex-"
#define VOLUME_LIMIT_KEY_BYTES 64

/* The resource of a driver: "attachable-volumes-flex-acme_disk" for acme/disk. A long name is cut to 23
 * characters, followed by 16 digits of its SHA-256. */
int volume_limit_key(const char *driver, char ret[VOLUME_LIMIT_KEY_BYTES], struct error *err);

#endif
