/* The plugin kubernetes.io/csi: volumes whose drivers are other programs on this node, spoken to by gRPC.
 *
 *   plugins/kubernetes.io/csi/DRIVER/SHA256/globalmount       where a driver stages a volume
 *   pods/UID/volumes/kubernetes.io~csi/NAME/mount             where it publishes it to a pod
 *   plugins/kubernetes.io/csi/volumeDevices/…                 raw devices: see block.c
 *   …/vol_data.json                                           beside each: whose volume it is, for afterwards
 *
 * A driver makes and removes what is mounted; the directories around it are made and removed here. How a
 * failed call left things is said by its code (plugins/plugin.h). A call ends after CSI_CALL_LIMIT_NS, or
 * soon after env->stop is set. What the API has to say comes with the request: plugins/csi/request.h. */
#ifndef BERTH_PLUGINS_CSI_PLUGIN_H
#define BERTH_PLUGINS_CSI_PLUGIN_H

#include "plugins/csi/drivers.h"
#include "plugins/csi/request.h"
#include "rpc/rpc.h"

#define CSI_CALL_LIMIT_NS (120 * NS_PER_S)

/* What must be known on the loop before any call. */
struct csi_facts {
    /* CSIDriver.spec.attachRequired; true when there is no such object. */
    bool (*is_attach_required)(void *ctx, const char *driver);
    void *ctx;
};

struct csi_plugin {
    struct volume_plugin plugin; /* for registry_add(); not counted */
    struct csi_drivers *drivers;
    struct rpc_client *rpc;
    struct csi_facts facts;
};

/* Lives as long as the registry and every call that was begun. drivers and rpc: borrowed. facts: NULL when
 * all drivers attach. */
void csi_plugin_init(struct csi_plugin *p, struct csi_drivers *drivers, struct rpc_client *rpc,
                     const struct csi_facts *facts);

/* The slot of that name, for whoever has no plugin but finds its directories. Pure. */
int csi_block_paths(const struct volume_plugin *self, const char *root, const char *name, const char *pod_uid,
                    struct block_paths *ret, struct error *err);

#endif
