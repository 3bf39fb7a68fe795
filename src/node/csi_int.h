/* Shared by csi.c and csi_fetch.c only. */
#ifndef BERTH_NODE_CSI_INT_H
#define BERTH_NODE_CSI_INT_H

#include "base/vec.h"
#include "machinery/informer.h"
#include "node/csi.h"
#include "plugins/csi/csi_plugin.h"
#include "plugins/csi/registration.h"

/* The plugin is reference-counted: workers may still use it after its owner is freed. */
struct counted_plugin {
    struct csi_plugin csi; /* the first member */
    struct csi_drivers *drivers;
};

/* A registered driver that is asked periodically how many volumes the node can have. */
struct driver_clock {
    struct node_csi *owner;
    char *driver;
    struct timer timer;
};

struct node_csi {
    struct node_csi_options o;
    struct counted_plugin *plugin;
    struct csi_registration *registration; /* NULL until the Node exists */
    struct informer *drivers;              /* CSIDriver */
    struct informer_handler handler;
    VEC(struct driver_clock *) clocks;
    unsigned fetches;              /* in flight */
    struct metric_family *seconds; /* csi_operations_seconds; NULL: not counted */
};

/* Its object; NULL for none. */
const struct object *node_csi_driver_object(const struct node_csi *c, const char *driver);

#endif
