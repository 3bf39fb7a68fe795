/* The API objects about the drivers of a node: an annotation and labels of the Node, and its CSINode.
 *
 *   Node      csi.volume.kubernetes.io/nodeid: {"DRIVER":"NODE-ID",…}; topology segments as labels
 *   CSINode   spec.drivers[]: name, nodeID, topologyKeys, allocatable.count; owned by the Node
 *
 * A change is a sequence of writes with preconditions (machinery/api_write.h), embedded by its owner: one at
 * a time; done() is called once from the loop, never from inside csi_install_start(). Changes of one node
 * must not overlap, because they write the same two objects. */
#ifndef BERTH_PLUGINS_CSI_INSTALL_H
#define BERTH_PLUGINS_CSI_INSTALL_H

#include "api/object.h"
#include "machinery/api_write.h"

#define CSI_INSTALL_MANAGER "berth-node" /* field manager */

enum csi_install_what {
    CSI_INSTALL_NODE, /* creates the CSINode if it is missing */
    CSI_INSTALL_DRIVER,
    CSI_UNINSTALL_DRIVER, /* the object and the labels stay */
};

struct csi_install_options {
    enum csi_install_what what;
    struct api api; /* its rng must stay valid until the end */
    const char *node_name;
    /* For a driver; all texts are copied. */
    const char *driver;
    const char *node_id;
    struct kvs topology;
    int64_t volumes_max; /* 0 or less: no limit is written */
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
    unsigned rounds;         /* of creating the CSINode */
    const char *node_uid;    /* in the arena */
    const char *foreign_uid; /* of a CSINode that belongs to a deleted node; NULL: none */
    bool changes_driver;     /* the existing entry differs */
    bool must_remove_first;  /* the server refuses such a change */
};

/* `detected topology value collision: driver reported "K":"V" but existing label is "K":"W"`, ERR_CONFLICT.
 * `driverNodeID must not be empty`, ERR_INVALID. */
void csi_install_start(struct csi_install *install, const struct csi_install_options *o);
/* Requests that were sent may still take effect. Accepts an idle one. */
void csi_install_cancel(struct csi_install *install);

static inline bool csi_install_is_active(const struct csi_install *install)
{
    return install->step != INSTALL_IDLE;
}

#endif
