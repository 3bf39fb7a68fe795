/* Names of the objects that the controllers of CSI drivers keep, for one process or for the processes of all
 * nodes: shared by the controllers, and by the API server, which lets a node write only its own. */
#ifndef BERTH_API_CSI_OBJECTS_H
#define BERTH_API_CSI_OBJECTS_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

/* Labels of CSIStorageCapacity objects. */
#define LABEL_CAPACITY_DRIVER "csi.storage.k8s.io/drivername"
#define LABEL_CAPACITY_MANAGER "csi.storage.k8s.io/managed-by"
/* Annotation of a record of calls (controllers/call_record.h): the node whose process keeps it. */
#define ANN_RECORD_NODE "csi.berth.io/node"

/* The value of LABEL_CAPACITY_MANAGER: "external-provisioner", with the name of the node, or its digest if
 * that is too long for a label. node NULL: not per node. */
#define CSI_MANAGER_BYTES 64
int csi_capacity_manager(const char *node, char ret[CSI_MANAGER_BYTES], struct error *err);

/* The name of the ConfigMap with the record of calls: `berth-csi-DRIVER[-NODE]`. node may be NULL. */
void csi_record_name(const char *driver, const char *node, struct buf *out);
/* It may be the name of a record of the node. Names of nodes may end like others: the annotation decides. */
bool csi_record_is_of_node(struct str name, struct str node);

#endif
