/* CSI on this node: the plugin, drivers that register themselves, CSIDriver objects, and data that must be
 * fetched before a driver is called.
 *
 * Plugin functions run on workers and use only their arguments (plugins/csi/request.h). A fetch therefore
 * precedes every step that calls a driver: it reads the Secret and the VolumeAttachment from the server and
 * takes the tokens of the pod (node/volume_sources.h) and the CSIDriver from memory. */
#ifndef BERTH_NODE_CSI_H
#define BERTH_NODE_CSI_H

#include "machinery/api_write.h"
#include "machinery/component_deps.h"
#include "node/volume_sources.h"
#include "plugins/csi/request.h"
#include "plugins/registry.h"

struct node_csi;

struct node_csi_options {
    struct component_deps part;
    struct plugin_registry *plugins;                /* the plugin is added to it; may outlive this */
    struct rpc_client *rpc;                         /* outlives the plugin and its workers */
    struct csi_endpoints *endpoints;                /* gets the registered drivers; NULL: nobody reads it */
    const struct csi_configured_driver *configured; /* plugins/csi/registration.h */
    size_t configured_count;
    struct volume_sources *contents;
    const char *root;
    const char *node_name;
    bool streams_lists;
    /* The CSIDrivers are listed: whether a volume is attachable is known. Called once. */
    void (*known)(void *ctx);
    /* A driver registered or unregistered, or its CSIDriver changed. */
    void (*changed)(void *ctx, const char *driver);
    /* The result of node_csi_check() changed. */
    void (*ready)(void *ctx);
    void *ctx;
};

int node_csi_new(const struct node_csi_options *o, struct node_csi **ret, struct error *err);
/* Cancels calls in flight. Accepts NULL. */
struct node_csi *node_csi_free(struct node_csi *c);
DEFINE_CLEANUP(struct node_csi, node_csi_free)

/* Starts the CSIDriver informer. */
void node_csi_start(struct node_csi *c);
/* The Node exists: drivers may register. Idempotent. */
void node_csi_open(struct node_csi *c);
/* `CSINode is not yet initialized`, ERR_UNAVAILABLE. */
int node_csi_check(const struct node_csi *c, struct error *err);
/* The CSIDriver; NULL for none. */
const struct csi_driver *node_csi_driver(const struct node_csi *c, const char *driver);
/* True when the volume is published again at every sync of the pod. False for volumes of other plugins. */
bool node_csi_requires_remount(const struct node_csi *c, const struct volume_spec *s);
/* An attach failed because of the volume limit: asks the driver for its limit again. */
void node_csi_refresh(struct node_csi *c, const char *driver);

/* --- Fetches (csi_fetch.c) --- */

/* One fetch, embedded by its owner, zeroed before its first use. A finished fetch owns everything it refers
 * to and may outlive the node_csi. */
struct csi_fetch {
    /* Called once, on the loop, never from inside csi_fetch(). Objects that could not be read are reported in
     * the request; the fetch itself fails only when out of memory or for invalid names. */
    void (*done)(struct csi_fetch *f, int r, const struct error *err);
    /* After done, until csi_fetch_end(). */
    struct csi_request request;

    /* Private. */
    struct node_csi *csi; /* NULL: not in flight */
    struct object *driver;
    struct object *pod;
    struct api_write secret;
    struct api_write attachment;
    struct volume_sources_fetch tokens;
    struct arena arena;
    struct deferred later;
    unsigned waiting;
    struct error failure;
};

/* pod: NULL when the volume is expanded without a pod, where no token is needed. */
void csi_fetch(struct node_csi *c, enum csi_step step, const struct object *pod, const struct volume_spec *s,
               bool is_block, struct csi_fetch *f);
/* Ends a fetch, finished or not, without calling done, and frees its data. Accepts a zeroed one. */
void csi_fetch_end(struct csi_fetch *f);

#endif
