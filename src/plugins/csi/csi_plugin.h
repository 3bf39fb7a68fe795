/* The plugin kubernetes.io/csi: volumes of drivers that run as other programs on this node and are called by
 * gRPC.
 *
 *   plugins/kubernetes.io/csi/DRIVER/SHA256/globalmount       where a driver stages a volume
 *   pods/UID/volumes/kubernetes.io~csi/NAME/mount             where it publishes it to a pod
 *   plugins/kubernetes.io/csi/volumeDevices/…                 raw devices: see csi_block.c
 *   …/vol_data.json                                           next to each: which volume it is, for cleanup
 *
 * The driver creates and removes what is mounted; the directories around it are created and removed here. The
 * error code says in which state a failed call left the volume (plugins/plugin.h). A call ends after
 * CSI_CALL_LIMIT_NS, or soon after env->stop is set. Objects of the API come with the request:
 * plugins/csi/request.h. */
#ifndef BERTH_PLUGINS_CSI_CSI_PLUGIN_H
#define BERTH_PLUGINS_CSI_CSI_PLUGIN_H

#include "plugins/csi/drivers.h"
#include "plugins/csi/request.h"
#include "rpc/rpc.h"

#define CSI_CALL_LIMIT_NS (120 * NS_PER_S)

/* What must be known on the loop before a call. */
struct csi_facts {
    /* CSIDriver.spec.attachRequired; true if there is no such object. */
    bool (*is_attach_required)(void *ctx, const char *driver);
    void *ctx;
};

struct csi_plugin {
    struct volume_plugin plugin; /* for registry_add(); not reference-counted */
    struct csi_drivers *drivers;
    struct rpc_client *rpc;
    struct csi_facts facts;
};

/* Must outlive the registry and every call. drivers and rpc are borrowed. facts: NULL if all drivers attach.
 */
void csi_plugin_init(struct csi_plugin *p, struct csi_drivers *drivers, struct rpc_client *rpc,
                     const struct csi_facts *facts);

/* The driver of an observed call (rpc_client_observe()); ret_migrated: "true" or "false". */
const char *csi_note_read(const char *note, const char **ret_migrated);

/* The paths slot, for callers that only find its directories. Pure. */
int csi_block_paths(const struct volume_plugin *self, const char *root, const char *name, const char *pod_uid,
                    struct block_paths *ret, struct error *err);

#endif
