/* Publishes how much storage a driver has: one CSIStorageCapacity per class of the driver and topology
 * segment, for the scheduler. A part of the provisioner, under its lease.
 *
 *   classes, nodes, CSIDriver ──► plan: which objects there should be
 *   plan, timer, created and deleted volumes ──► GetCapacity ──► object created or patched, if it differs
 *   objects of the driver that are not in the plan ──► deleted
 *
 * The name of an object follows from its class and segment, so that a process that continues after a crash
 * makes no second one. Objects under other names, as external-provisioner leaves them, are replaced: deleted
 * as soon as the object in their place exists.
 *
 * Costs: a plan O(classes × segments + nodes), per change of classes or of labels of nodes; at most
 * CSI_CAPACITY_ITEMS_MAX objects; one call per object and period. */
#ifndef BERTH_CONTROLLERS_CSI_CSI_CAPACITY_H
#define BERTH_CONTROLLERS_CSI_CSI_CAPACITY_H

#include <rpc/proto/csi.pb-c.h>

#include "api/node_selector.h"
#include "controllers/csi/csi_function.h"
#include "controllers/csi/csi_topology.h"

#define CSI_CAPACITY_ITEMS_MAX 10000 /* further ones are not published */

struct csi_capacity_publisher;

/* True if capacity of the driver is to be published, provided that its CSIDriver says so. */
bool csi_capacity_is_wanted(const struct csi_peer *p, const struct csi_driver_settings *s);
/* Before the caches start. */
int csi_capacity_prepare(const struct component_deps *part, struct error *err);

int csi_capacity_new(const struct csi_function_options *o, struct csi_capacity_publisher **ret,
                     struct error *err);
void csi_capacity_start(struct csi_capacity_publisher *p);
/* Accepts NULL. */
struct csi_capacity_publisher *csi_capacity_free(struct csi_capacity_publisher *p);
DEFINE_CLEANUP(struct csi_capacity_publisher, csi_capacity_free)
/* NULL if its queues are consistent, else what is wrong. For the simulator. */
const char *csi_capacity_check(const struct csi_capacity_publisher *p);

/* The question for the capacity of a class in a segment, in the arena; texts are borrowed. */
int csi_capacity_request(struct arena *a, const struct storage_class *class, const struct kvs *segment,
                         Csi__V1__GetCapacityRequest **ret, struct error *err);

/* A volume that is accessible from these terms was created: the segments of the terms have less. Without
 * terms: all segments. These accept a publisher that is NULL. */
void csi_capacity_on_created(struct csi_capacity_publisher *p, const struct csi_terms *terms);
/* The same for a volume that was deleted; affinity NULL: all segments. */
void csi_capacity_on_deleted(struct csi_capacity_publisher *p, const struct node_selector *affinity);
/* No volume of this class could be created. */
void csi_capacity_on_failed(struct csi_capacity_publisher *p, const char *class_name);

#endif
