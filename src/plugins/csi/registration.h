/* Registration of CSI drivers while the program runs: a driver creates a socket in ROOT/plugins_registry, is
 * queried, registered or refused, and notified of the result.
 *
 * The states of a socket; each step is a call by gRPC or to the API:
 *
 *   idle → asking (GetInfo) → describing (NodeGetInfo) → installing (Node, CSINode) → confirming → registered
 *             │                   └───────────┴──────► undoing ─┐                        │ failed
 *             └──► refusing (notified) ◄────────────────────────┘      leaving ◄─────────┴── removed
 *
 * A configured driver has no registrar: its own socket is asked (GetPluginInfo instead of GetInfo), nobody is
 * notified, and it stays registered. When its session has ended and the driver is back, it is described
 * again.
 *
 * Failures are retried after 500 ms, with the delay doubled each time, up to 2 minutes. A socket that was
 * created again under its path is another socket: the old one is unregistered first. A failure of the API
 * while a driver leaves is retried until the driver returns. No driver is registered before the node has a
 * CSINode.
 *
 * Costs: O(n) per step, for a handful of sockets. */
#ifndef BERTH_PLUGINS_CSI_REGISTRATION_H
#define BERTH_PLUGINS_CSI_REGISTRATION_H

#include "base/cleanup.h"
#include "client/client.h"
#include "io/loop.h"
#include "plugins/csi/drivers.h"
#include "rpc/rpc.h"

struct csi_registration;

/* A driver without a registrar. Borrowed while the registration exists. */
struct csi_configured_driver {
    const char *driver; /* which it must report */
    const char *socket;
};

struct csi_registration_options {
    struct loop *loop;
    struct rpc_client *rpc; /* freed after the registration */
    struct client *client;
    struct metrics *metrics;     /* NULL: not counted */
    struct csi_drivers *drivers; /* borrowed */
    const struct csi_configured_driver *configured;
    size_t configured_count;
    const char *root; /* of the node agent */
    const char *node_name;
    uint64_t seed;
    /* Reports a failure that is reported nowhere else. May be NULL. */
    void (*complain)(void *ctx, const char *message);
    /* A driver was registered or removed: volumes may be retried. May be NULL. */
    void (*on_change)(void *ctx, const char *driver, bool is_registered);
    /* csi_registration_is_ready() has become true. May be NULL. */
    void (*on_ready)(void *ctx);
    void *ctx;
};

int csi_registration_new(const struct csi_registration_options *o, struct csi_registration **ret,
                         struct error *err);
/* Cancels calls in flight. Accepts NULL. */
struct csi_registration *csi_registration_free(struct csi_registration *g);
DEFINE_CLEANUP(struct csi_registration, csi_registration_free)

/* The node has its CSINode. Until then the node is not ready: `CSINode is not yet initialized`. */
bool csi_registration_is_ready(const struct csi_registration *g);

/* Queries the volume limit of a driver again and updates the API: periodically, or when an attachment failed
 * because the limit was reached. Does nothing for a driver that is not registered. */
void csi_registration_refresh(struct csi_registration *g, const char *driver);

#endif
