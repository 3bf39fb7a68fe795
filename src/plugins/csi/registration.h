/* Drivers come and go while the program runs: each puts a socket into ROOT/plugins_registry, is asked what it
 * is, taken in or refused, and told so.
 *
 * A socket's way, one step at a time, each a call of gRPC or of the API:
 *
 *   idle → asking (GetInfo) → describing (NodeGetInfo) → installing (Node, CSINode) → confirming → registered
 *             │                   └───────────┴──────► undoing ─┐                        │ failed
 *             └──► refusing (told why) ◄────────────────────────┘      leaving ◄─────────┴── gone, replaced
 *
 * Failures are tried again after 500 ms, twice as long each time, up to 2 minutes. A socket that was made
 * anew under its path is another one: the old is taken out first. What the API refuses while a driver leaves
 * is tried again, as long as the driver stays away. No driver is registered before the node has a CSINode.
 *
 * Costs: a handful of sockets: lists, O(n). */
#ifndef BERTH_PLUGINS_CSI_REGISTRATION_H
#define BERTH_PLUGINS_CSI_REGISTRATION_H

#include "base/cleanup.h"
#include "client/client.h"
#include "io/loop.h"
#include "plugins/csi/drivers.h"
#include "rpc/rpc.h"

struct csi_registration;

struct csi_registration_options {
    struct loop *loop;
    struct rpc_client *rpc; /* freed after the registration */
    struct client *client;
    struct csi_drivers *drivers; /* borrowed */
    const char *root;            /* of the node agent */
    const char *node_name;
    uint64_t seed;
    /* Something went wrong that nobody else is told of. May be NULL. */
    void (*complain)(void *ctx, const char *message);
    /* A driver was registered, or is gone: volumes may be tried again. May be NULL. */
    void (*on_change)(void *ctx, const char *driver, bool is_registered);
    /* csi_registration_is_ready() has become true. May be NULL. */
    void (*on_ready)(void *ctx);
    void *ctx;
};

int csi_registration_new(const struct csi_registration_options *o, struct csi_registration **ret,
                         struct error *err);
/* Calls under way are cancelled. Takes NULL. */
struct csi_registration *csi_registration_free(struct csi_registration *g);
DEFINE_CLEANUP(struct csi_registration, csi_registration_free)

/* The node has its CSINode. Until then the node is not ready: `CSINode is not yet initialized`. */
bool csi_registration_is_ready(const struct csi_registration *g);

/* Asks a driver anew how many volumes the node can have, and tells the API: when its period is over, or when
 * an attachment failed for lack of room. One that is not registered is not asked. */
void csi_registration_refresh(struct csi_registration *g, const char *driver);

#endif
