/* The CSI drivers that are registered on this node: the socket and the capabilities of each.
 *
 * The loop adds and removes drivers; worker threads look them up during calls. A mutex guards the table and
 * is held for the length of a copy. (A snapshot per call would have to reach slots that only get a volume's
 * name.) Lookups are O(n): a node has a handful of drivers.
 *
 * The texts of refusals are those of the API. */
#ifndef BERTH_PLUGINS_CSI_DRIVERS_H
#define BERTH_PLUGINS_CSI_DRIVERS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/object.h"
#include "base/cleanup.h"
#include "base/error.h"

#define CSI_DRIVER_NAME_BYTES 256

struct csi_drivers;

/* A version as drivers report it: "1.0.0", "v1.2". */
struct csi_version {
    uint64_t major;
    uint64_t minor;
    uint64_t patch;
};

/* What a worker needs to call a driver. */
struct csi_endpoint {
    char driver[CSI_DRIVER_NAME_BYTES];
    char socket[PATH_MAX];
};

int csi_drivers_new(struct csi_drivers **ret, struct error *err);
struct csi_drivers *csi_drivers_free(struct csi_drivers *d);
DEFINE_CLEANUP(struct csi_drivers, csi_drivers_free)

/* --- On the loop --- */

/* Checks whether the driver may be registered with these versions. caller: the first word of the error text.
 * *ret: the highest supported version. */
int csi_drivers_check(struct csi_drivers *d, const char *caller, const char *name, struct texts versions,
                      struct csi_version *ret, struct error *err);
/* Replaces a driver of that name. */
int csi_drivers_put(struct csi_drivers *d, const char *name, const char *socket, struct csi_version version,
                    struct error *err);
/* A missing driver is not an error. */
void csi_drivers_remove(struct csi_drivers *d, const char *name);

/* --- On any thread --- */

/* ERR_UNAVAILABLE: `driver name %s not found in the list of registered CSI drivers`. */
int csi_drivers_find(struct csi_drivers *d, const char *name, struct csi_endpoint *ret, struct error *err);

/* Two or three numbers; anything after them is ignored. Pure. */
bool csi_version_parse(const char *text, struct csi_version *ret);
int csi_version_cmp(struct csi_version a, struct csi_version b);

#endif
