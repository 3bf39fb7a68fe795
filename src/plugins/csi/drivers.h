/* The CSI drivers that are registered on this node: where each listens, and what it said of itself.
 *
 * The loop adds and removes; workers look a driver up in the middle of a call. A lock guards the table, which
 * is held for the length of a copy: a snapshot for each call would have to reach slots that get no more than
 * a volume's name. A list in the order of names, O(n): a node has a handful of drivers.
 *
 * The texts of refusals are the API's. */
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

/* What a worker needs. */
struct csi_endpoint {
    char driver[CSI_DRIVER_NAME_BYTES];
    char socket[PATH_MAX];
};

int csi_drivers_new(struct csi_drivers **ret, struct error *err);
struct csi_drivers *csi_drivers_free(struct csi_drivers *d);
DEFINE_CLEANUP(struct csi_drivers, csi_drivers_free)

/* --- The loop's --- */

/* May the driver be registered with these versions? caller: who asks, the first word of every refusal. *ret:
 * the highest version that can be used. */
int csi_drivers_check(struct csi_drivers *d, const char *caller, const char *name, struct texts versions,
                      struct csi_version *ret, struct error *err);
/* In place of one of that name. */
int csi_drivers_put(struct csi_drivers *d, const char *name, const char *socket, struct csi_version version,
                    struct error *err);
/* One that is not there is done. */
void csi_drivers_remove(struct csi_drivers *d, const char *name);

/* --- Any thread's --- */

/* ERR_UNAVAILABLE: `driver name %s not found in the list of registered CSI drivers`. */
int csi_drivers_find(struct csi_drivers *d, const char *name, struct csi_endpoint *ret, struct error *err);

/* Two or three numbers; what stands behind them is of no interest. Pure. */
bool csi_version_parse(const char *text, struct csi_version *ret);
int csi_version_cmp(struct csi_version a, struct csi_version b);

#endif
