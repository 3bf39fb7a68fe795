/* The topology that a volume must be accessible from: from the nodes of the driver, the class's
 * allowedTopologies and the node that the scheduler selected, as CSI's TopologyRequirement; and the segments
 * of a driver. Pure: reads caches, and allocates in an arena.
 *
 * A term is a set of segments (`topology.kubernetes.io/zone=a`), sorted by key. Error texts are those of
 * external-provisioner. Costs: O(nodes) for a claim without allowedTopologies. */
#ifndef BERTH_CONTROLLERS_CSI_CSI_TOPOLOGY_H
#define BERTH_CONTROLLERS_CSI_CSI_TOPOLOGY_H

#include "api/class.h"
#include "api/csi.h"
#include "api/json_out.h"
#include "api/node.h"
#include "base/rng.h"
#include "machinery/informer.h"

/* Allowed topologies multiply: terms beyond this are an error. */
#define CSI_TOPOLOGY_TERMS_MAX 10000

struct csi_terms {
    struct kvs *items;
    uint32_t count;
};

struct csi_topology {
    struct csi_terms requisite;
    struct csi_terms preferred; /* the same terms, rotated: the best first */
};

struct csi_topology_request {
    const char *driver;
    const char *claim_name;
    const struct storage_class *class;
    const struct node *node; /* selected; NULL: none */
    const struct informer *nodes, *csi_nodes;
    bool is_strict;
    bool has_no_immediate; /* without a selected node and allowedTopologies: no requirement */
    struct rng *rng;       /* chooses the node whose keys count, of an Immediate claim */
};

/* Both empty: no requirement. ERR_NOT_FOUND: the selected node has no CSINode, and another one should be
 * selected. Other errors: retry. */
int csi_topology_of(struct arena *a, const struct csi_topology_request *q, struct csi_topology *ret,
                    struct error *err);

/* The topology segments of a driver, for what is published per segment. */
struct csi_segments_request {
    const char *driver;
    const char *node_name; /* only the segment of this node; NULL: of all nodes */
    const struct informer *nodes, *csi_nodes;
};

/* The terms of the nodes that run the driver, sorted, each once. A node that lacks a label of the driver's
 * keys has none yet; a driver without keys has one term without segments. Texts are borrowed from the
 * caches. */
int csi_topology_segments(struct arena *a, const struct csi_segments_request *q, struct csi_terms *ret,
                          struct error *err);
/* The driver has one topology key, whose value is the name of the node: it is deployed per node. */
bool csi_topology_is_of_node(const struct csi_segments_request *q);
/* One of the terms has only segments of this one; true without terms. */
bool csi_terms_cover(const struct csi_terms *terms, const struct kvs *segment);

/* How far to rotate the sorted terms for a claim without a selected node, so that the members of a
 * StatefulSet get different terms and the claims of one member the same. Pure. */
uint32_t csi_topology_offset(const char *claim_name);

/* spec.nodeAffinity of a volume that is accessible from these terms; writes nothing without terms. */
void csi_topology_write_affinity(struct buf *out, const struct csi_terms *terms);

/* As JSON, and back: a retry sends the same terms (call_record.h). */
void csi_topology_write(struct buf *out, const char *key, const struct csi_topology *t);
int csi_topology_read(struct arena *a, const struct json *d, json_ref from, struct csi_topology *ret,
                      struct error *err);

#endif
