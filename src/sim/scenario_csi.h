/* Scenario csi: what its parts share. */
#ifndef BERTH_SIM_SCENARIO_CSI_H
#define BERTH_SIM_SCENARIO_CSI_H

#include "sim/csi_backend.h"
#include "sim/daemon.h"

#define CSI_NODES_MAX 3
#define CSI_PLANES_MAX 3
#define CSI_CLAIMS_COUNT 4
#define CSI_PODS_COUNT 3
#define CSI_CLASS_KEEP "keep" /* its volumes are retained */
#define CSI_CLASS_LATER "later"

struct csi_scenario_node {
    struct machine *machine;
    struct sim_daemon_options daemon;
    struct sim_csi_driver driver;
    char name[16];
};

struct csi_scenario {
    struct sim *sim;
    struct machine *plane;
    struct sim_daemon_options planes[CSI_PLANES_MAX];
    struct csi_scenario_node nodes[CSI_NODES_MAX];
    const char *zones[CSI_NODES_MAX];
    unsigned nodes_count;
    struct sim_storage storage;
    struct csi_backend backend;
    struct store_watcher volumes, claims, attachments;
    bool keeps_last; /* nothing is deleted in the last quarter of the fault phase */
};

/* The volume at the driver behind a PersistentVolume; NULL: it never existed there. */
struct backend_volume *csi_scenario_volume(struct csi_scenario *scenario, const struct volume *v);
/* The PersistentVolume that the claim is bound to; NULL: none. */
const struct volume *csi_scenario_bound(const struct csi_scenario *scenario, const struct claim *c);

/* --- csi_settled.c --- */

/* A pod uses the claim. node: where; "" for a pod that is not scheduled, NULL for any pod. except: not this
 * pod; may be NULL. */
bool csi_scenario_has_pod(struct csi_scenario *scenario, const char *claim, const char *node,
                          const struct object *except);
int csi_scenario_settled(void *ctx, struct error *err);

#endif
