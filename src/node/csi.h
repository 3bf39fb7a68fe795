/* CSI on this node: the plugin with its drivers, which register themselves, the CSIDrivers of the API, and
 * what has to be fetched before a driver is called.
 *
 * Slots of the plugin run on workers and see their arguments alone (plugins/csi/request.h). So a step that
 * calls a driver is preceded by a fetch: the Secret and the VolumeAttachment are read from the server, tokens
 * are the pod's (node/contents.h), the CSIDriver is in memory. */
#ifndef BERTH_NODE_CSI_H
#define BERTH_NODE_CSI_H

#include "machinery/parts.h"
#include "machinery/write.h"
#include "node/contents.h"
#include "plugins/csi/request.h"
#include "plugins/registry.h"

struct node_csi;

struct node_csi_options {
    struct part_options part;
    struct plugin_registry *plugins; /* gets the plugin, and may outlive this */
    struct contents *contents;
    const char *root;
    const char *node_name;
    bool streams_lists;
    /* The CSIDrivers are known: volumes can be judged. Once. */
    void (*known)(void *ctx);
    /* A driver came or went, or its CSIDriver changed. */
    void (*changed)(void *ctx, const char *driver);
    /* node_csi_check() says something else from here on. */
    void (*ready)(void *ctx);
    void *ctx;
};

int node_csi_new(const struct node_csi_options *o, struct node_csi **ret, struct error *err);
/* Calls under way are told to end. Takes NULL. */
struct node_csi *node_csi_free(struct node_csi *c);
DEFINE_CLEANUP(struct node_csi, node_csi_free)

/* Hears of the CSIDrivers from here on. */
void node_csi_start(struct node_csi *c);
/* There is a Node: drivers may register. Of no effect the second time. */
void node_csi_open(struct node_csi *c);
/* `CSINode is not yet initialized`, ERR_UNAVAILABLE. */
int node_csi_check(const struct node_csi *c, struct error *err);
/* The CSIDriver; NULL for none. */
const struct csi_driver *node_csi_driver(const struct node_csi *c, const char *driver);
/* Is it published again at every sync of the pod? False for volumes of other plugins. */
bool node_csi_requires_remount(const struct node_csi *c, const struct volume_spec *s);
/* An attachment failed for lack of room: the driver is asked anew how much there is. */
void node_csi_refresh(struct node_csi *c, const char *driver);

/* --- Fetches (csi_fetch.c) --- */

/* One fetch, embedded by its owner, zeroed before its first use. One that is done holds all that it needs and
 * may outlive the node_csi. */
struct csi_fetch {
    /* Once, on the loop, never from inside csi_fetch(). What could not be had is in the request: the fetch
     * itself fails without memory, or for names that cannot be. */
    void (*done)(struct csi_fetch *f, int r, const struct error *err);
    /* After done, until csi_fetch_end(). */
    struct csi_request request;

    /* The module's. */
    struct node_csi *csi; /* NULL: nothing is under way */
    struct object *driver;
    struct object *pod;
    struct api_write secret;
    struct api_write attachment;
    struct contents_fetch tokens;
    struct arena arena;
    struct deferred later;
    unsigned waiting;
    struct error failure;
};

/* pod: NULL for a volume that is not the pod's own, where no token is needed: to be grown. */
void csi_fetch(struct node_csi *c, enum csi_step step, const struct object *pod, const struct volume_spec *s,
               bool is_block, struct csi_fetch *f);
/* Ends a fetch, done or not: nobody is told; what it has is gone. Takes a zeroed one. */
void csi_fetch_end(struct csi_fetch *f);

#endif
