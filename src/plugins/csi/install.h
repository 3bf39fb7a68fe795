/* What the API knows of a node's drivers: an annotation and labels of the Node, and its CSINode.
 *
 *   Node      csi.volume.kubernetes.io/nodeid: {"DRIVER":"NODE-ID",…}; topology segments as labels
 *   CSINode   spec.drivers[]: name, nodeID, topologyKeys, allocatable.count; owned by the Node
 *
 * One change is a chain of writes with preconditions (machinery/write.h), embedded by its owner: one at a
 * time, its end told once on the loop, never from inside csi_install_start(). Changes of one node are made
 * one after the other: they touch the same two objects. */
#ifndef BERTH_PLUGINS_CSI_INSTALL_H
#define BERTH_PLUGINS_CSI_INSTALL_H

#include "api/object.h"
#include "machinery/write.h"

enum csi_install_what {
    CSI_INSTALL_NODE, /* sees to it that there is a CSINode */
    CSI_INSTALL_DRIVER,
    CSI_UNINSTALL_DRIVER, /* the object and the labels stay */
};

struct csi_install_options {
    enum csi_install_what what;
    struct loop *loop;
    struct client *client;
    struct rng *rng; /* borrowed until the end */
    const char *node_name;
    /* Of a driver; all texts are copied. */
    const char *driver;
    const char *node_id;
    struct kvs topology;
    int64_t volumes_max; /* 0 and less: no limit is told */
    void (*done)(void *ctx, int r, const struct error *err);
    void *ctx;
};

enum csi_install_step { INSTALL_IDLE, INSTALL_NODE, INSTALL_PATCH, INSTALL_CREATE, INSTALL_DELETE };

/* Zeroed before its first use. */
struct csi_install {
    struct csi_install_options o; /* texts in the arena */
    struct arena arena;
    struct api_write write;
    enum csi_install_step step;
    unsigned rounds;         /* of making the CSINode */
    const char *node_uid;    /* in the arena */
    const char *foreign_uid; /* of a CSINode that belongs to a node that is gone; NULL for none */
    bool changes_driver;     /* the entry that is there says something else */
    bool must_remove_first;  /* the server takes no such change */
};

/* `detected topology value collision: driver reported "K":"V" but existing label is "K":"W"`, ERR_CONFLICT.
 * `driverNodeID must not be empty`, ERR_INVALID. */
void csi_install_start(struct csi_install *x, const struct csi_install_options *o);
/* What was sent may still take effect. Takes an idle one, too. */
void csi_install_cancel(struct csi_install *x);

static inline bool csi_install_is_active(const struct csi_install *x)
{
    return x->step != INSTALL_IDLE;
}

#endif
