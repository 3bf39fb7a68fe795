/* For csi.c and csi_fetch.c alone. */
#ifndef BERTH_NODE_CSI_INT_H
#define BERTH_NODE_CSI_INT_H

#include "base/vec.h"
#include "machinery/informer.h"
#include "node/csi.h"
#include "plugins/csi/plugin.h"
#include "plugins/csi/registration.h"

/* The plugin is counted, since workers may be busy with it when its owner is gone. */
struct counted_plugin {
    struct csi_plugin csi; /* the first member */
    struct csi_drivers *drivers;
    struct rpc_client *rpc;
};

/* A registered driver that is asked now and then how many volumes the node can have. */
struct driver_clock {
    struct node_csi *owner;
    char *driver;
    struct timer timer;
};

struct node_csi {
    struct node_csi_options o;
    struct counted_plugin *plugin;
    struct csi_registration *registration; /* NULL until there is a Node */
    struct informer *drivers;              /* CSIDriver */
    struct informer_handler handler;
    VEC(struct driver_clock *) clocks;
    unsigned fetches; /* under way */
};

/* Its object; NULL for none. */
const struct object *node_csi_driver_object(const struct node_csi *c, const char *driver);

#endif
